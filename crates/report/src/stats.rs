//! PROMP_STATS: a report in a few lines, which a process prints when it ends.

use crate::numbers::{fixed, mebibytes, percent, seconds};
use crate::{Checkpoint, Efficiency, Failure, Report, Sdc};

/// Lines have at most so many characters.
const WIDE: usize = 100;

/// It in at most twelve lines.
impl core::fmt::Display for Report {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&text(self))
    }
}

fn text(r: &Report) -> String {
    let mut lines = vec![
        format!("promp: {}, process {}: {}, {} threads", program(r), r.pid, seconds(r.wall_s), r.threads),
        line("regions", format!("{}; {} chunks handed out", r.regions, r.chunks)),
    ];
    lines.extend(r.why.iter().map(|why| line("", why.clone())));
    failures(&mut lines, &r.failures);
    if r.faults_not_fired > 0 {
        lines.push(line("not struck", format!("{} of the faults of PROMP_FAULT", r.faults_not_fired)));
    }
    lines.push(line("checkpoints", checkpoints(&r.checkpoints, r.wall_s)));
    lines.extend(r.sdc.iter().map(|s| line("silent", silent(s))));
    if !r.tuning.is_empty() {
        let decided = r.tuning.iter().filter(|t| !t.decision.is_empty()).count();
        lines.push(line("tuning", format!("{decided} of {} loops and regions decided", r.tuning.len())));
    }
    lines.push(line("efficiency", r.efficiency.as_ref().map_or_else(unmeasured, efficiency)));
    lines.iter().map(|l| cut(l) + "\n").collect()
}

fn line(name: &str, what: String) -> String {
    format!("       {name:<12} {what}")
}

/// At most as wide as lines may be.
fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDE) {
        Some(_) => line.chars().take(WIDE - 1).chain(['…']).collect(),
        None => line.to_owned(),
    }
}

/// The program's path, or its end.
fn program(r: &Report) -> String {
    const MOST: usize = 48;
    let printable = |c: char| if c.is_control() { '?' } else { c };
    let all: Vec<char> = r.program.chars().map(printable).collect();
    match all.len().checked_sub(MOST) {
        Some(over) if over > 0 => ['…'].iter().chain(&all[over + 1..]).collect(),
        _ => all.into_iter().collect(),
    }
}

/// "2 kill, 1 crash": how many there are of each word, in the order of `words`, then of the others.
fn tally<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for word in all {
        match counts.iter_mut().find(|c| c.0 == word) {
            Some(c) => c.1 += 1,
            None => counts.push((word, 1)),
        }
    }
    counts.iter().map(|(word, n)| format!("{n} {word}")).collect::<Vec<_>>().join(", ")
}

fn failures(lines: &mut Vec<String>, all: &[Failure]) {
    if all.is_empty() {
        return lines.push(line("failures", "none".into()));
    }
    lines.push(line("failures", format!("{}: {}", all.len(), tally(all.iter().map(|f| f.kind.as_str())))));
    let (lost, survived): (Vec<&Failure>, Vec<&Failure>) = all.iter().partition(|f| f.recovery == "refused");
    if !survived.is_empty() {
        let how = tally(survived.iter().map(|f| recovered(&f.recovery)));
        let again: u64 = survived.iter().map(|f| f.lost_iterations).sum();
        let took = survived.iter().fold(0.0, |a, f| a + f.recovery_s);
        let what = format!("{how}; {again} iterations again; took {}", seconds(took));
        lines.push(line("survived", what));
    }
    if !lost.is_empty() {
        lines.push(line("not survived", tally(lost.iter().map(|f| f.kind.as_str()))));
    }
}

/// A word of the report's as a participle.
fn recovered(recovery: &str) -> &str {
    match recovery {
        "recompute" => "recomputed",
        "resume" => "lost nothing",
        "rollback" => "rolled back",
        "restart" => "restarted",
        other => other,
    }
}

fn checkpoints(all: &[Checkpoint], wall_s: f64) -> String {
    if all.is_empty() {
        return "none".into();
    }
    let of = |f: fn(&Checkpoint) -> f64| all.iter().fold(0.0, |a, c| a + f(c));
    let share = if wall_s > 0.0 { of(|c| c.cost_s) / wall_s } else { 0.0 };
    format!(
        "{}: {} written; stood still for {}; cost {}, {} of the time",
        all.len(),
        mebibytes(all.iter().map(|c| c.bytes).sum()),
        seconds(of(|c| c.stop_s)),
        seconds(of(|c| c.cost_s)),
        percent(share)
    )
}

fn silent(s: &Sdc) -> String {
    let checked = match s.chunks {
        0 => format!("{} of {} kernels", s.kernels.saturating_sub(s.unverified_launches), s.kernels),
        chunks => format!("{} of {chunks} chunks", s.chunks_verified),
    };
    format!("{checked} checked ({}): {} errors found, {} repaired", s.mode, s.found, s.repaired)
}

fn efficiency(e: &Efficiency) -> String {
    let whole = |x: f64| format!("{} %", fixed(x * 100.0, 0));
    format!(
        "parallel {} = load balance {} x scheduling {} x serialization {}",
        whole(e.parallel),
        whole(e.load_balance),
        whole(e.scheduling),
        whole(e.serial)
    )
}

fn unmeasured() -> String {
    "not measured: PROMP_MONITOR=segments does".into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tuned;

    fn fits(r: &Report) -> String {
        let t = text(r);
        assert!(t.lines().count() <= 12 && t.ends_with('\n'), "{t}");
        assert!(t.lines().all(|l| l.chars().count() <= 100), "{t}");
        assert!(!t.contains("-0"), "{t}");
        t
    }

    /// Everything that can be said, as long as it gets.
    fn full() -> Report {
        let words = ["recompute", "resume", "rollback", "restart", "refused"];
        let kinds = ["kill", "crash", "hang", "memerr", "die", "ended"];
        let failure = |i: usize| Failure {
            kind: kinds[i % 6].into(),
            recovery: words[i % 5].into(),
            lost_iterations: u64::MAX / 70_000,
            recovery_s: 12345.678,
            ..Failure::default()
        };
        let one = Checkpoint { bytes: 1 << 44, stop_s: 1234.5, cost_s: 5e5, ..Checkpoint::default() };
        Report {
            program: format!("/{}", "very/long/".repeat(40)),
            pid: u32::MAX,
            threads: u32::MAX,
            wall_s: 1e9,
            regions: u64::MAX,
            chunks: u64::MAX,
            why: Some("w".repeat(300)),
            faults_not_fired: u64::MAX,
            failures: (0..65_536).map(failure).collect(),
            checkpoints: vec![one; 16_384],
            efficiency: Some(Efficiency { parallel: 1.0, serial: -0.0, ..Efficiency::default() }),
            tuning: vec![Tuned::default(); 3],
            sdc: Some(Sdc { mode: "chunks:100%".into(), chunks: u64::MAX, ..Sdc::default() }),
            ..Report::default()
        }
    }

    #[test]
    fn it_fits_whatever_there_is_to_say() {
        for r in [Report::default(), full(), Report { program: "ü\x1b[31m".repeat(30), ..full() }] {
            fits(&r);
        }
    }

    #[test]
    fn failures_and_how_they_were_survived() {
        let t = fits(&full());
        for word in ["recomputed", "lost nothing", "rolled back", "restarted", "not survived", "kill", "…"]
        {
            assert!(t.contains(word), "{word}: {t}");
        }
        let t = fits(&Report { regions: 3, ..Report::default() });
        for word in ["failures     none", "checkpoints  none", "regions      3", "PROMP_MONITOR=segments"] {
            assert!(t.contains(word), "{word}: {t}");
        }
        assert!(!t.contains("tuning") && !t.contains("silent"), "{t}");
        let most = Efficiency {
            parallel: 1.0,
            load_balance: 1.0,
            scheduling: 1.0,
            serial: 1.0,
            ..Efficiency::default()
        };
        let t = fits(&Report { efficiency: Some(most), ..Report::default() });
        assert!(t.ends_with("x serialization 100 %\n"), "{t}");
    }
}
