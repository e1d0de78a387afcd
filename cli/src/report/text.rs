//! A report as text: the run, its efficiencies, the segments that cost most, checkpoints, failures.

use super::columns::{Columns, number, text};
use super::picture::{Picture, Row, Times};
use super::verdicts;
use anstyle::{AnsiColor, Style};
use promp_report::numbers::{mebibytes, percent, round, seconds};
use promp_report::{Checkpoint, Efficiency, Failure, Report, Tuned};
use std::fmt::Write;

const STRONG: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const FAIR: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();
/// Columns of a thread's bar.
const BAR: usize = 40;
/// The most losses that are listed.
const LOSSES: usize = 3;
/// The most threads that have a bar each; more share a line.
const BARS: usize = 8;

/// The whole summary, with the `most` costliest segments.
pub fn summary(p: &Picture, most: usize) -> String {
    let r = &p.report;
    let mut t = String::new();
    let _ = writeln!(t, "program    {} (pid {}, promp {})", r.program, r.pid, r.promp);
    let _ = writeln!(t, "threads    {}    wall time {:.3} s", r.threads, r.wall_s);
    let _ = writeln!(t, "regions    {}    chunks through the runtime {}", r.regions, r.chunks);
    if let Some(why) = &r.why {
        let _ = writeln!(t, "           none: {why}");
    }
    if r.faults_not_fired > 0 {
        let _ = writeln!(t, "not fired  {} of the injected faults", r.faults_not_fired);
    }
    t.push_str(&verdicts::summary(r));
    if let Some(s) = r.sdc.as_ref().filter(|s| s.chunks > 0) {
        let _ = writeln!(
            t,
            "silent     {} of {} chunks checked; {} errors found, {} repaired ({})",
            s.chunks_verified, s.chunks, s.found, s.repaired, s.mode
        );
        if !s.cpus_left.is_empty() {
            let _ = writeln!(t, "           CPUs that were wrong: {:?}", s.cpus_left);
        }
    } else if let Some(s) = &r.sdc {
        let _ = writeln!(
            t,
            "silent     {} of {} kernels not checked; {} errors found, {} repaired ({})",
            s.unverified.len(),
            s.kernels,
            s.found,
            s.repaired,
            s.mode
        );
    }
    tuning(&mut t, &r.tuning);
    checkpoints(&mut t, &r.checkpoints);
    failures(&mut t, &r.failures);
    if let Some(e) = &r.efficiency {
        t.push('\n');
        efficiency(&mut t, p, e);
    }
    if !p.rows.is_empty() {
        segments(&mut t, p, most);
    } else if r.efficiency.is_some() {
        t.push_str("segments   none: the program had no parallel region while it was measured\n");
    } else {
        t.push_str(
            "segments   not measured: `promp run --monitor -- CMD` shows where threads wait for each other\n",
        );
    }
    t
}

/// What the tuner decided, the most executed first.
fn tuning(t: &mut String, all: &[Tuned]) {
    let mut all: Vec<&Tuned> = all.iter().collect();
    all.sort_by_key(|d| core::cmp::Reverse(d.executions));
    for (i, d) in all.iter().enumerate() {
        let decision = if d.decision.is_empty() { "searching" } else { &d.decision };
        let trips = if d.what == "loop" { format!(", 2^{} iterations", d.class) } else { String::new() };
        let _ = writeln!(
            t,
            "{:<10} {} {}+{:#x}{trips}, {} threads: {decision}; {} executions, {} to search. {}",
            if i == 0 { "tuning" } else { "" },
            d.what,
            d.function,
            d.offset,
            d.threads,
            d.executions,
            d.searched,
            d.advice
        );
    }
}

/// What checkpoints cost, and the last one.
fn checkpoints(t: &mut String, all: &[Checkpoint]) {
    let Some(last) = all.last() else { return };
    let stopped = all.iter().fold(0.0, |a, c| a + c.stop_s);
    let longest = all.iter().map(|c| c.stop_s).fold(0.0, f64::max);
    let written: u64 = all.iter().map(|c| c.bytes).sum();
    let _ = writeln!(
        t,
        "checkpoints {}: {} written; the program stood still for {} in all, {} at most",
        all.len(),
        mebibytes(written),
        seconds(stopped),
        seconds(longest)
    );
    let _ = writeln!(
        t,
        "           the last: generation {} at {:.3} s, {} pages had changed, written in {:.3} s",
        last.generation, last.at_s, last.dirty_pages, last.write_s
    );
}

/// The failures as a table.
pub(crate) fn failed(all: &[Failure]) -> Columns {
    let heads = [
        number("at"),
        text("kind"),
        number("thread"),
        number("region"),
        text("construct"),
        text("recovery"),
        number("iterations again"),
        number("took"),
        text("by"),
    ];
    let row = |f: &Failure| {
        let by = f.recomputed_by.iter().map(|b| format!("thread {}: {}", b.thread, b.iterations));
        let ordinal = if f.ordinal > 0 { format!(" {}", f.ordinal) } else { String::new() };
        vec![
            format!("{} s", round(f.at_s)),
            f.kind.clone(),
            f.thread.to_string(),
            f.region.to_string(),
            format!("{}{ordinal}", f.construct),
            f.recovery.clone(),
            f.lost_iterations.to_string(),
            seconds(f.recovery_s),
            by.collect::<Vec<_>>().join(", "),
        ]
    };
    // Thread 0 is one as well.
    Columns::with(&heads, all.iter().map(row).collect(), &["thread"])
}

/// The checkpoints as a table.
pub(crate) fn taken(all: &[Checkpoint]) -> Columns {
    let heads = [
        number("generation"),
        number("at"),
        number("written"),
        number("pages changed"),
        number("stood still"),
        number("writing took"),
    ];
    let row = |c: &Checkpoint| {
        vec![
            c.generation.to_string(),
            format!("{} s", round(c.at_s)),
            mebibytes(c.bytes),
            c.dirty_pages.to_string(),
            seconds(c.stop_s),
            seconds(c.write_s),
        ]
    };
    Columns::new(&heads, all.iter().map(row).collect())
}

fn failures(t: &mut String, all: &[Failure]) {
    if all.is_empty() {
        t.push_str("failures   none\n");
        return;
    }
    let _ = writeln!(t, "failures   {}\n\n{}", all.len(), failed(all).text());
    let lost: u64 = all.iter().map(|f| f.lost_iterations).sum();
    let took = all.iter().fold(0.0, |a, f| a + f.recovery_s);
    let _ = writeln!(t, "{lost} iterations recomputed; {} from failure to recovery in all", seconds(took));
}

fn efficiency(t: &mut String, p: &Picture, e: &Efficiency) {
    let show = |v: f64| {
        let c = grade(v);
        format!("{c}{}{c:#}", percent(v))
    };
    let _ = writeln!(
        t,
        "{STRONG}parallel efficiency{STRONG:#} {} of the threads' time was work \
         = load balance {} x scheduling {} x serialization {}",
        show(e.parallel),
        show(e.load_balance),
        show(e.scheduling),
        show(e.serial)
    );
    let _ = writeln!(t, "           {DIM}80 % and more of each is fine{DIM:#}");
    for (i, loss) in p.losses.iter().take(LOSSES).enumerate() {
        let _ = writeln!(t, "{:<10} {}", if i == 0 { "most lost" } else { "" }, loss.text);
    }
    if p.losses.is_empty() && !p.rows.is_empty() {
        t.push_str("most lost  nothing costs 1 % of the threads' time\n");
    }
}

/// The colour of an efficiency.
fn grade(v: f64) -> Style {
    match v {
        v if v >= 0.8 => GOOD,
        v if v >= 0.6 => FAIR,
        _ => BAD,
    }
}

/// The costliest segments, and what could not be found of them.
pub fn segments(t: &mut String, p: &Picture, most: usize) {
    let r = &p.report;
    let shown = most.min(p.rows.len());
    let _ = writeln!(
        t,
        "\n{STRONG}Where threads wait{STRONG:#}: {shown} of {} segments, by what their advice can give",
        p.rows.len()
    );
    let _ = writeln!(t, "{DIM}█ working  ▓ in the runtime  ▒ CPU someone else's  ░ waiting{DIM:#}");
    let mut numbers = 1..=shown;
    for rows in p.functions() {
        for (i, (row, number)) in rows.iter().zip(&mut numbers).enumerate() {
            if i == 0 && rows.len() > 1 {
                let worth = rows.iter().fold(0.0, |a, r| a + r.worth);
                let _ = writeln!(
                    t,
                    "\n{STRONG}{}{STRONG:#}: {} segments, up to {} of the run",
                    row.name,
                    rows.len(),
                    percent(worth)
                );
            }
            segment(t, number, row, r);
        }
    }
    let rest = &p.rows[shown..];
    if !rest.is_empty() {
        let _ = writeln!(
            t,
            "\n{} segments more, up to {} of the run together (--segments {} shows all)",
            rest.len(),
            percent(rest.iter().fold(0.0, |a, r| a + r.worth)),
            p.rows.len()
        );
    }
    if r.segments_left_out > 0 {
        let _ = writeln!(t, "\n{} segments found no room in the tables", r.segments_left_out);
    }
    for note in &p.notes {
        let _ = writeln!(t, "\nnote: {note}");
    }
}

fn segment(t: &mut String, number: usize, row: &Row, r: &Report) {
    let s = &row.segment;
    let _ = writeln!(
        t,
        "\n{number:>2}  {STRONG}{}{STRONG:#}  {}{}",
        row.name,
        row.at,
        row.via.as_deref().map_or(String::new(), |v| format!("  ({v})"))
    );
    let own = match s.wre_own {
        Some(o) if (o - s.wre).abs() > 0.005 => format!(" ({} without what others took)", percent(o)),
        _ => String::new(),
    };
    let _ = writeln!(
        t,
        "    to gain {} of {} s; WRE {}{own}; {}; {} visits, {} threads",
        seconds(row.worth * r.wall_s),
        round(r.wall_s),
        percent(s.wre),
        row.kind,
        s.visits,
        s.threads
    );
    let _ = writeln!(t, "    {DIM}from {}{DIM:#}", row.between);
    bars(t, row);
    let _ = writeln!(t, "    cause: {}", row.cause);
    let _ = writeln!(t, "    {STRONG}->{STRONG:#} {}", row.advice);
}

/// A bar a thread; of many threads a line of blocks.
fn bars(t: &mut String, row: &Row) {
    let longest = row.threads.iter().map(Times::sum).fold(0.0, f64::max);
    if longest <= 0.0 {
        return;
    }
    if row.threads.len() > BARS {
        blocks(t, row);
        return;
    }
    for (i, x) in row.threads.iter().enumerate() {
        let _ = writeln!(
            t,
            "    {i:>3} {}  {} working, {} waiting",
            bar(x, longest),
            seconds(x.busy),
            seconds(x.wait)
        );
    }
}

/// Parts of a bar whose whole is `longest`; each ends where the sum up to it says, so that no rounding adds
/// up.
fn bar(x: &Times, longest: f64) -> String {
    let mut line = String::new();
    let (mut sum, mut drawn) = (0.0, 0);
    for (part, glyph) in [(x.busy, '█'), (x.runtime, '▓'), (x.stolen, '▒'), (x.wait, '░')] {
        sum += part;
        let to = ((sum / longest * BAR as f64).round() as usize).min(BAR);
        line.extend(std::iter::repeat_n(glyph, to.saturating_sub(drawn)));
        drawn = drawn.max(to);
    }
    line.extend(std::iter::repeat_n(' ', BAR - drawn));
    line
}

/// The busy times of many threads, a block each, or each the average of several.
fn blocks(t: &mut String, row: &Row) {
    let most = row.threads.iter().map(|x| x.busy).fold(0.0, f64::max);
    let least = row.threads.iter().map(|x| x.busy).fold(f64::INFINITY, f64::min);
    let each = row.threads.len().div_ceil(64);
    let line: String = row
        .threads
        .chunks(each)
        .map(|c| {
            let mean = c.iter().map(|x| x.busy).sum::<f64>() / c.len() as f64;
            let level = if most > 0.0 { (mean / most * 7.0).round() as usize } else { 0 };
            ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][level.min(7)]
        })
        .collect();
    let _ = writeln!(
        t,
        "    working, threads 0 to {}: {line}  {} to {}",
        row.threads.len() - 1,
        seconds(least),
        seconds(most)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_one_length_whatever_the_parts() {
        let x = Times { busy: 0.31, runtime: 0.013, stolen: 0.0, wait: 0.677 };
        for longest in [1.0, 1.0001, 2.0, 1e9] {
            assert_eq!(bar(&x, longest).chars().count(), BAR);
        }
        assert!(bar(&x, 1.0).starts_with("████████████"));
        assert!(bar(&x, 1.0).ends_with('░'));
    }
}
