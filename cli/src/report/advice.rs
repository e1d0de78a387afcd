//! Why a segment costs what it costs, and one line of what to do about it.
//!
//! The cause is the runtime's, from its measurements. The advice is a rule for each cause and construct: what
//! a person who knows OpenMP would try first, with the numbers filled in. Where the tuner has decided or
//! advised, its word stands.

use super::losses::{SHORT_NS, WORTH, work_of_a_visit_ns};
use super::picture::{Row, Times};
use promp_report::Segment;
use promp_report::numbers::percent;
use promp_settings::schedules::Sched;

/// Chunks that are shorter than this (ns) cost more to hand out than they should.
const SHORT_CHUNK_NS: f64 = 5_000.0;

/// The cause in words.
pub fn cause(s: &Segment) -> String {
    match s.cause.as_str() {
        "load_balance" => "uneven work".into(),
        "scheduling" => "scheduling and runtime".into(),
        "serial" => "one thread works".into(),
        "stolen" => "CPUs someone else's".into(),
        "" => "little lost".into(),
        other => other.replace('_', " "),
    }
}

/// One line of what to do.
pub fn advice(r: &Row) -> String {
    if let Some(a) = &r.segment.advice {
        return a.clone();
    }
    let gain = format!("up to {} of the run", percent(r.worth));
    if let Some(d) = &r.segment.decision {
        return format!("the tuner chose {d}: {gain} at stake");
    }
    if r.worth < WORTH {
        return "fine as it is".into();
    }
    match r.segment.cause.as_str() {
        "load_balance" => balance(r, &gain),
        "scheduling" => scheduling(r, &gain),
        "serial" => format!("let this work run in parallel, or beside other work (nowait, task): {gain}"),
        "stolen" => {
            format!("use fewer threads (OMP_NUM_THREADS) or keep other programs off the CPUs: {gain}")
        }
        _ => format!("{gain} could be saved"),
    }
}

fn balance(r: &Row, gain: &str) -> String {
    let s = &r.segment;
    let team = r.threads.len().max(1) as f64;
    let visits = s.visits.max(1) as f64;
    let each = s.iterations as f64 / visits;
    match s.construct.as_str() {
        "single" => {
            return format!(
                "one thread works in `single`: make its work tasks, or loops of the team: {gain}"
            );
        }
        "serial" => return format!("let this work run in parallel: {gain}"),
        "task" | "taskloop" => {
            return format!("make the tasks smaller, and create the longest ones first: {gain}");
        }
        "sections" => {
            return format!("sections of unequal length: use tasks, or a loop with smaller parts: {gain}");
        }
        _ => {}
    }
    if s.iterations > 0 && each < team {
        return format!(
            "{each:.0} iterations for {team:.0} threads: collapse(2) with an inner loop, or make \
             another loop the parallel one: {gain}"
        );
    }
    let kind = s.schedule.as_deref().unwrap_or("static");
    let now: u64 = kind.split(',').nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let is_dealt =
        |k: &Sched| !matches!(k, Sched::Static | Sched::Auto) && kind.split(',').next() == Some(k.word());
    if Sched::ALL.iter().any(is_dealt) {
        let fits = chunk(each, team);
        return if now > fits {
            format!("schedule(dynamic,{fits}) in place of {kind}: smaller chunks even out the end: {gain}")
        } else {
            format!("the longest iterations decide: split them, or nest parallel work in them: {gain}")
        };
    }
    let (busiest, times) = busiest(&r.threads);
    let way = if s.iterations > 0 {
        format!("schedule(dynamic,{})", chunk(each, team))
    } else {
        "schedule(dynamic) or schedule(guided)".into()
    };
    if times >= 1.1 {
        format!("{way}: thread {busiest} works {times:.1} times as long as the average: {gain}")
    } else {
        format!("{way}: another thread is the slowest each time: {gain}")
    }
}

fn scheduling(r: &Row, gain: &str) -> String {
    let s = &r.segment;
    let sum = r.total();
    let per_chunk = if s.chunks > 0 { sum.busy / s.chunks as f64 * 1e9 } else { f64::INFINITY };
    if s.chunks > 0 && per_chunk < SHORT_CHUNK_NS {
        let size = s.iterations as f64 / s.chunks as f64;
        let larger = (size * (4.0 * SHORT_CHUNK_NS / per_chunk.max(1.0))).ceil().max(2.0) as u64;
        return format!(
            "chunks last {per_chunk:.0} ns each: schedule(dynamic,{}), or static if iterations are \
             alike: {gain}",
            rounded(larger)
        );
    }
    let visit = work_of_a_visit_ns(r);
    match s.construct.as_str() {
        "task" | "taskloop" => format!("more work in a task (a cut-off, or grainsize on taskloop): {gain}"),
        _ if visit < SHORT_NS => format!(
            "{:.1} us of work a visit: join it with its neighbours, or use fewer threads here \
             (if, num_threads): {gain}",
            visit / 1e3
        ),
        _ if sum.runtime > 0.2 * sum.wait => {
            format!("threads wait for locks, critical sections or tasks: shorten what is inside: {gain}")
        }
        _ => format!(
            "threads begin or go on late, though the work is even: more threads than CPUs, or slow to wake \
             (OMP_WAIT_POLICY=active): {gain}"
        ),
    }
}

/// A chunk size that gives each thread some sixteen chunks a visit.
fn chunk(iterations: f64, team: f64) -> u64 {
    rounded((iterations / (team * 16.0)).floor().max(1.0) as u64)
}

/// Down to a power of two: numbers that look chosen.
fn rounded(n: u64) -> u64 {
    if n < 2 { 1 } else { 1 << n.ilog2() }
}

/// The thread that works longest, and how many times the average.
fn busiest(threads: &[Times]) -> (usize, f64) {
    let mean = threads.iter().map(|t| t.busy).sum::<f64>() / threads.len().max(1) as f64;
    let (i, most) =
        threads.iter().map(|t| t.busy).enumerate().fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
    (i, if mean > 0.0 { most / mean } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cause: &str, construct: &str, schedule: Option<&str>, busy: &[f64]) -> Row {
        Row {
            worth: 0.18,
            threads: busy.iter().map(|b| Times { busy: *b, ..Times::default() }).collect(),
            segment: Segment {
                cause: cause.into(),
                construct: construct.into(),
                schedule: schedule.map(str::to_owned),
                visits: 10,
                iterations: 10_000,
                ..Segment::default()
            },
            ..Row::default()
        }
    }

    #[test]
    fn advice_fits_the_cause() {
        let uneven = [4.0, 1.0, 1.0, 1.0];
        let said = advice(&row("load_balance", "loop", Some("static"), &uneven));
        assert!(said.contains("schedule(dynamic,8)") && said.contains("thread 0 works 2.3 times"), "{said}");
        assert!(said.contains("18 % of the run"), "{said}");
        let said = advice(&row("load_balance", "loop", Some("dynamic,500"), &uneven));
        assert!(said.contains("in place of dynamic,500"), "{said}");
        let said = advice(&row("load_balance", "loop", Some("static"), &[1.0; 4]));
        assert!(said.contains("another thread"), "{said}");
        let mut few = row("load_balance", "loop", Some("dynamic,1"), &uneven);
        few.segment.iterations = 30;
        assert!(advice(&few).contains("collapse"), "{}", advice(&few));
        let mut short = row("scheduling", "loop", Some("dynamic,1"), &[0.001; 4]);
        short.segment.chunks = 10_000;
        assert!(advice(&short).contains("schedule(dynamic,32)"), "{}", advice(&short));
        assert!(advice(&row("serial", "serial", None, &[1.0])).contains("in parallel"));
        assert!(advice(&row("stolen", "loop", None, &[1.0])).contains("OMP_NUM_THREADS"));
        assert_eq!(
            advice(&Row { worth: 0.001, ..row("load_balance", "loop", None, &uneven) }),
            "fine as it is"
        );
        let mut tuned = row("load_balance", "loop", None, &uneven);
        tuned.segment.advice = Some("as I say".into());
        assert_eq!(advice(&tuned), "as I say");
    }
}
