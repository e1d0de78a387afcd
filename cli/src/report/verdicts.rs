//! promp-cc's verdicts on a run: how the time in loops is shared between them, where, why, and what would
//! change most.
//!
//! Two views of one account: a few lines in the summary, and the whole of it (`promp report --explain`,
//! `promp-cc --explain`).

use promp_report::numbers::{fixed, seconds};
use promp_report::{Loop, Report, Stopped, Unsafe};
use promp_settings::SAVE_BUDGET;
use promp_settings::save_budget::{named, points_of, told};
use std::fmt::Write;

/// The verdicts, the best first.
const VERDICTS: [&str; 5] = ["idempotent", "undo", "in parts", "opaque", "unknown"];
/// The most loops and sites that are listed.
const MOST: usize = 20;
/// The most changes that are proposed.
const CHANGES: usize = 5;

/// Time of all loops, and in how much of it a failure would have been refused.
fn total(loops: &[Loop]) -> (f64, f64) {
    loops.iter().fold((0.0, 0.0), |(all, lost), l| (all + l.seconds, lost + l.unsafe_s))
}

fn share(part: f64, whole: f64) -> String {
    format!("{} %", fixed(part / whole * 100.0, 1))
}

/// The shares of the verdicts, and the loops that cannot be executed again.
pub fn summary(r: &Report) -> String {
    let mut t = String::new();
    let (all, lost) = total(&r.loops);
    if all == 0.0 {
        return t;
    }
    let time = |v: &str| total(&with(&r.loops, v)).0;
    let shares: Vec<String> = VERDICTS
        .iter()
        .filter(|v| r.loops.iter().any(|l| l.verdict == **v))
        .map(|v| format!("{} {v}", share(time(v), all)))
        .collect();
    let _ = writeln!(t, "loops      {all:.3} s: {}", shares.join(", "));
    if lost > 0.0 {
        let _ = writeln!(t, "           {}", again(&r.replay, &share(all - lost, all)));
    }
    for l in r.loops.iter().filter(|l| l.verdict == "opaque") {
        let _ = writeln!(
            t,
            "           {:.3} s in {} executions at {}, opaque: {}",
            l.seconds, l.times, l.at, l.why
        );
    }
    t
}

/// How much of the loops' time is executed again after a failure: by promp-cc's proofs that is `proved`, but
/// PROMP_REPLAY has the last word.
fn again(replay: &str, proved: &str) -> String {
    let why = "`promp report --explain` says why the rest is not";
    match replay {
        "assume" => {
            format!("all of it is executed again, as PROMP_REPLAY=assume says; {proved} is proved: {why}")
        }
        "never" => format!("none of it is executed again, as PROMP_REPLAY=never says; {proved} is proved"),
        "" | "proven" => {
            format!("{proved} of it can be executed again; `promp report --explain` says why the rest cannot")
        }
        names => format!(
            "{proved} of it is proved, and what PROMP_REPLAY={names} names is executed again as well: {why}"
        ),
    }
}

fn with(loops: &[Loop], verdict: &str) -> Vec<Loop> {
    loops.iter().filter(|l| l.verdict == verdict).cloned().collect()
}

/// All of it.
pub fn explanation(r: &Report) -> String {
    let mut t = format!("program    {}, {} threads, {:.3} s\n", r.program, r.threads, r.wall_s);
    let (all, lost) = total(&r.loops);
    if all == 0.0 {
        t.push_str(
            "loops      none of which promp-cc has said something: build the program with it, \
             -fopenmp and -O1 or more\n",
        );
        // Tasks are no loops.
        sites(&mut t, r);
        return t;
    }
    let _ = writeln!(
        t,
        "loops      {} in {} loops, as the first thread of each team sees them",
        seconds(all),
        r.loops.len()
    );
    let _ = writeln!(t, "proved     {} of that: work lost then is executed again\n", share(all - lost, all));
    let _ = writeln!(t, "{:<12} {:>8} {:>9}  of it not proved", "verdict", "share", "time");
    for v in VERDICTS {
        let loops = with(&r.loops, v);
        if !loops.is_empty() {
            let (time, lost) = total(&loops);
            let _ = writeln!(t, "{v:<12} {:>8} {:>9}  {}", share(time, all), seconds(time), seconds(lost));
        }
    }
    places(&mut t, r, all);
    sites(&mut t, r);
    let changes = changes(r);
    if !changes.is_empty() {
        t.push_str("\nWhat would prove most\n");
    }
    for (change, gain, at) in changes.iter().take(CHANGES) {
        let _ = writeln!(t, "{:>8}  {change} ({})", format!("+{}", share(*gain, all)), at.join(", "));
    }
    t
}

/// The loops, the longest first.
fn places(t: &mut String, r: &Report, all: f64) {
    let _ = writeln!(t, "\n{:>8} {:>9} {:>11}  loop", "share", "time", "not proved");
    let mut loops: Vec<&Loop> = r.loops.iter().collect();
    loops.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    for l in loops.iter().take(MOST) {
        let why = if l.why.is_empty() { String::new() } else { format!(": {}", l.why) };
        let _ = writeln!(
            t,
            "{:>8} {:>9} {:>11}  {}: {}{why}",
            share(l.seconds, all),
            seconds(l.seconds),
            seconds(l.unsafe_s),
            l.at,
            l.verdict
        );
    }
    let rest = &loops[loops.len().min(MOST)..];
    if !rest.is_empty() {
        let (time, lost) = rest.iter().fold((0.0, 0.0), |s, l| (s.0 + l.seconds, s.1 + l.unsafe_s));
        let _ = writeln!(
            t,
            "{:>8} {:>9} {:>11}  {} loops more",
            share(time, all),
            seconds(time),
            seconds(lost),
            rest.len()
        );
    }
}

/// Is it private data that was not copied (crates/values/src/save_budget.rs)?
fn is_private(u: &Unsafe) -> bool {
    u.what.contains("of private data")
}

/// What the work came to that made it work that cannot be executed again.
fn sites(t: &mut String, r: &Report) {
    let (stopped, marks): (Vec<_>, Vec<_>) = r.unsafe_sites.iter().partition(|u| u.stopped.is_some());
    if !stopped.is_empty() {
        t.push_str(
            "\nLoops that stopped saving old values, or private data; and for how long (all threads)\n",
        );
    }
    for u in stopped.iter().take(MOST) {
        let s = u.stopped.as_ref().expect("looked at above");
        let _ = writeln!(t, "{:>9}  {}: {}", seconds(u.seconds), u.at, price(u, s));
    }
    if !marks.is_empty() {
        t.push_str(
            "\nWhat cannot be executed twice, and for how long work was lost behind it (all threads)\n",
        );
    }
    for u in marks.iter().take(MOST) {
        let _ = writeln!(t, "{:>9}  {}: {}, {} times", seconds(u.seconds), u.at, u.what, u.times);
    }
}

/// What saving at `u` took when it was given up, and what it might.
fn price(u: &Unsafe, s: &Stopped) -> String {
    let (allowed, budget) =
        (s.budget.trim_end_matches('%').parse(), named(&s.budget, s.compiled, SAVE_BUDGET.name));
    let of = points_of(&u.what);
    let took = match s.percent > allowed.unwrap_or(0.0) {
        true => told(s.percent, of.is_some()),
        false => "too much".into(),
    };
    let what = if of.is_some() { u.what.as_str() } else { "it" };
    match (is_private(u), s.percent > 0.0) {
        (false, false) if of.is_some_and(|of| of != "loop") => {
            format!("{}: a few times there were none, to learn what they take; {budget}", u.what)
        }
        (false, false) if s.compiled => format!("{}: none is done; {budget}", u.what),
        (false, _) => format!("{what} took {took} of the {}'s time; {budget}", of.unwrap_or("loop")),
        (true, true) => format!("{}; copying it would take {took} of the time; {budget}", u.what),
        (true, false) => u.what.clone(),
    }
}

/// What could be changed, what that would prove (s), and the loops; the most first.
fn changes(r: &Report) -> Vec<(String, f64, Vec<String>)> {
    let mut all: Vec<(String, f64, Vec<String>)> = Vec::new();
    let (private, stopped): (Vec<&Unsafe>, Vec<&Unsafe>) = r.unsafe_sites.iter().partition(|u| is_private(u));
    let sites = || stopped.iter().filter_map(|u| u.stopped.as_ref());
    let dear = sites().map(|s| s.percent).fold(0.0, f64::max);
    let none = sites().find(|s| s.compiled && s.percent == 0.0);
    for l in r.loops.iter().filter(|l| l.unsafe_s > 0.0) {
        let is_large = match l.verdict.as_str() {
            "idempotent" => !private.is_empty(),
            "undo" => stopped.is_empty(),
            _ => false,
        };
        let what = match none {
            _ if is_large => LARGE.into(),
            Some(s) if dear == 0.0 && l.verdict == "undo" => saving(s),
            _ => change(l, dear),
        };
        let entry = match all.iter_mut().find(|c| c.0 == what) {
            Some(known) => known,
            None => {
                all.push((what, 0.0, Vec::new()));
                all.last_mut().expect("just pushed")
            }
        };
        entry.1 += l.unsafe_s;
        if !entry.2.contains(&l.at) {
            entry.2.push(l.at.clone());
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// What helps where private data is not copied.
const LARGE: &str =
    "put large private arrays on the heap, or PROMP_SAVE_BUDGET=all: copies take what they take";

/// What helps where code was compiled to save nothing.
fn saving(s: &Stopped) -> String {
    format!("PROMP_SAVE_BUDGET=2%, or more than {}", named(&s.budget, true, SAVE_BUDGET.name))
}

/// What would have the work of `l` proved; saving old values took up to `dear` percent where it stopped.
fn change(l: &Loop, dear: f64) -> String {
    let why = l.why.split("; else ").next().unwrap_or("");
    let called = || why.strip_prefix("calls ").and_then(|w| w.split([' ', ',']).next()).unwrap_or("it");
    let says = |what: &str| why.contains(what);
    match l.verdict.as_str() {
        "unknown" => "build this file with promp-cc, -fopenmp and -O1 or more".into(),
        // Of what is idempotent there are save points that stopped.
        "undo" | "idempotent" if l.verdict == "undo" || dear > 0.0 => {
            let enough = (dear.max(1.0) * 1.1).ceil();
            let budget = if enough < 100.0 { format!("{enough}%") } else { "all".into() };
            format!("PROMP_SAVE_BUDGET={budget}: saving went on then, at that price")
        }
        _ if called().starts_with("_gfortran_") => "take input and output out of the loop".into(),
        _ if says("which promp-cc has not built") || says("of which nothing is known") => {
            format!("build the file with {} with promp-cc, too", called())
        }
        _ if says("which cannot be executed again (") => {
            let (_, inner) = why.split_once('(').unwrap_or(("", ""));
            format!("take this out of {}: {}", called(), inner.trim_end_matches(')'))
        }
        _ if says("through a pointer") => "call the function by its name".into(),
        _ if says("atomic update") || says("updates memory atomically") => {
            "collect in a variable of the thread's own (a reduction) what is updated atomically".into()
        }
        _ if says("-fpromp-elements") => "build it with -fpromp-elements: saving takes what it takes".into(),
        _ if says("the extent of what is written to") => {
            "have the loops' bounds and the arrays' extents stand in the loop, or use `restrict`".into()
        }
        _ if says("between flushes") => "use atomic accesses for what other threads wait for".into(),
        _ if says("volatile") => "use no volatile variable there, or an atomic one beside the loop".into(),
        _ if says("another file") => "make the function that holds the region `static`".into(),
        _ if why.starts_with("calls ") => format!("take the call of {} out of the loop", called()),
        _ => "take checkpoints (PROMP_CKPT_DIR): here nothing else helps".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const ACROSS: &str = "save points where iterations wait for each other";

    fn one(at: &str, verdict: &str, why: &str, seconds: f64, unsafe_s: f64) -> Loop {
        Loop { at: at.into(), verdict: verdict.into(), why: why.into(), times: 1, seconds, unsafe_s }
    }

    fn report() -> Report {
        Report {
            loops: vec![
                one("a.c:1", "idempotent", "", 1.0, 0.0),
                one(
                    "a.c:2",
                    "in parts",
                    "calls f at line 3, which promp-cc has not built; else undo: x",
                    4.0,
                    3.0,
                ),
                one(
                    "b.c:9",
                    "in parts",
                    "calls f at line 9, which promp-cc has not built; else idempotent",
                    1.0,
                    1.0,
                ),
                one("a.c:5", "opaque", "atomic update at line 6", 2.0, 2.0),
                one("a.c:7", "undo", "x is read and written at line 7", 2.0, 1.5),
            ],
            unsafe_sites: vec![Unsafe {
                at: "a.c:7".into(),
                what: "saving old values".into(),
                times: 3,
                seconds: 2.9,
                stopped: Some(Stopped { percent: 31.4, budget: "5%".into(), compiled: false }),
            }],
            ..Report::default()
        }
    }

    #[test]
    fn shares_add_up_and_say_what_is_proved() {
        let t = explanation(&report());
        let share = |v: &str| {
            let line = t.lines().find(|l| l.starts_with(v)).unwrap_or_else(|| panic!("{v}: {t}"));
            line[v.len()..]
                .trim_start()
                .split(' ')
                .next()
                .and_then(|n| n.parse::<f64>().ok())
                .expect("a share")
        };
        assert_eq!(share("proved"), 25.0, "{t}");
        let all: f64 = ["idempotent", "undo", "in parts", "opaque"].map(share).iter().sum();
        assert_eq!((all, share("in parts")), (100.0, 50.0), "{t}");
        assert!(t.contains("a.c:7: it took 31 % of the loop's time; PROMP_SAVE_BUDGET=5%"), "{t}");
    }

    #[test]
    fn the_change_that_proves_most_comes_first() {
        let all = changes(&report());
        let gains: Vec<(f64, &[String])> = all.iter().map(|c| (c.1, &c.2[..])).collect();
        assert_eq!(gains[0], (4.0, &["a.c:2".to_string(), "b.c:9".into()][..]));
        assert!(all[0].0.contains("build the file with f"), "{all:?}");
        assert!(all[1].0.contains("reduction") && all[2].0.contains("PROMP_SAVE_BUDGET=35%"), "{all:?}");
    }

    #[test]
    fn what_was_compiled_to_save_nothing_is_told_so() {
        let mut r = report();
        let site = &mut r.unsafe_sites[0];
        site.stopped = Some(Stopped { percent: 0.0, budget: "0%".into(), compiled: true });
        let t = explanation(&r);
        assert!(t.contains("a.c:7: saving old values: none is done; -fpromp-budget=0%\n"), "{t}");
        assert!(t.contains("PROMP_SAVE_BUDGET=2%, or more than -fpromp-budget=0% (a.c:7)"), "{t}");
        r.unsafe_sites[0].what = ACROSS.into();
        assert!(explanation(&r).contains(": none is done; -fpromp-budget=0%\n"));
        r.unsafe_sites[0].stopped = Some(Stopped { percent: 1534.0, budget: "5%".into(), compiled: true });
        let t = explanation(&r);
        let said = "took 1500 % (to a factor of 3) of the loop's time; -fpromp-budget=5%";
        assert!(t.contains(&format!("a.c:7: {ACROSS} {said}")), "{t}");
    }

    #[test]
    fn a_program_without_verdicts_is_told_so() {
        assert!(explanation(&Report::default()).contains("build the program with it"));
        assert_eq!(summary(&Report::default()), "");
    }

    #[test]
    fn the_summary_names_all_verdicts() {
        let t = summary(&report());
        assert!(t.contains("10.0 % idempotent, 20.0 % undo, 50.0 % in parts, 20.0 % opaque"), "{t}");
        assert!(t.contains("25.0 % of it can be executed again"), "{t}");
        for (replay, says) in [
            ("assume", "all of it is executed again"),
            ("never", "none of it is executed again"),
            ("main*,f", "PROMP_REPLAY=main*,f names"),
        ] {
            let t = summary(&Report { replay: replay.into(), ..report() });
            assert!(t.contains(says) && !t.contains("can be executed again"), "{replay}: {t}");
        }
    }
}
