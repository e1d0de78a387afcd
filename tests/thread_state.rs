//! What the kernel keeps for each thread stays the logical thread's: through a change of host, a rollback,
//! a restart. And no host of the runtime's own keeps rights that the program has given up.

use crate::common::draws::Draws;
use crate::common::kept::*;
use crate::common::*;

const FOUR: (&str, &str) = ("OMP_NUM_THREADS", "4");
const HOW: [&str; 7] = ["setuid", "groups", "and back", "reuid", "keepcaps", "capset", "no new"];

/// Runs rights.c; false if this user has no rights to give up.
fn gives_up(how: &str, env: &[(&str, &str)]) -> bool {
    let exe = build("ft/rights.c", &[]);
    let r = promp(&exe, &[how], &[&[FOUR][..], env].concat());
    assert!(!r.hung, "{how} {env:?}: {}", r.err);
    if r.status == 77 || r.out == "not possible\n" {
        println!("SKIPPED: only root has rights to give up");
        return false;
    }
    assert_eq!((r.status, &r.out[..]), (0, "3192000000, others 0\n"), "{how} {env:?}: {}", r.err);
    true
}

#[test]
fn no_thread_keeps_rights_that_the_program_gives_up() {
    for how in HOW {
        let kill = "kill@region=3,thread=0,at=region";
        let plain = gives_up(how, &[]);
        if !plain {
            return;
        }
        gives_up(how, &[("PROMP_WATCHDOG", "10s")]);
        gives_up(how, &[("PROMP_FAULT", kill), ("PROMP_REPLAY", "assume")]);
        let scratch = saved::Scratch::new("rights");
        let dir = scratch.path("ckpt");
        gives_up(how, &[("PROMP_CKPT_DIR", saved::text(&dir)), ("PROMP_CKPT_INTERVAL", "10ms")]);
    }
}

#[test]
fn kept_through_changes_of_host() {
    let exe = build("ft/state.c", &[]);
    kept(&promp(&exe, &["10"], &[FOUR]), "no fault");
    for thread in 0..3 {
        // Not at a chunk: a thread may get none.
        for at in ["barrier", "region"] {
            let fault =
                format!("kill@region=3,thread={thread},at={at};kill@region=5,thread={thread},at={at}");
            let r = promp(&exe, &["10"], &[FOUR, ("PROMP_FAULT", &fault), ("PROMP_REPLAY", "assume")]);
            kept(&r, &fault);
            assert!(r.err.contains("failed (kill)"), "{fault}: {}", r.err);
        }
    }
}

/// Runs 300 regions of `exe` with this fault, and checkpoints so often.
fn killed(exe: &std::path::Path, fault: &str, interval: &str) -> Run {
    // One a program: tests run side by side.
    let scratch = saved::Scratch::new(exe.file_name().and_then(|n| n.to_str()).expect("UTF-8"));
    let dir = scratch.path("ckpt");
    let dir = ("PROMP_CKPT_DIR", saved::text(&dir));
    promp(exe, &["300"], &[FOUR, dir, ("PROMP_FAULT", fault), ("PROMP_CKPT_INTERVAL", interval)])
}

#[test]
fn kept_through_rollbacks() {
    let exe = build("ft/state.c", &[]);
    let (mut back, mut draws) = (0, Draws::between(3, 60));
    while let Some(seed) = draws.next(back > 0) {
        let fault = format!("kill@mtbf=40ms,count=5,seed={seed}");
        let r = killed(&exe, &fault, "20ms");
        kept(&r, &fault);
        back += r.err.matches("rolled back").count();
    }
    assert!(back > 0, "the faults do not strike");
}

/// Threads of low priority that are nearly always where they must not stop: they get time to go on, on one
/// CPU with who stops them, too.
#[test]
fn stops_of_threads_that_are_about_to_use_their_ids() {
    let exe = build("ft/raises.c", &[]);
    let (mut stops, mut took) = (0, 0.0);
    for seed in 1..4 {
        let scratch = saved::Scratch::new("raises");
        let (dir, report) = (scratch.path("ckpt"), scratch.path("report"));
        let fault = format!("kill@mtbf=60ms,count=3,seed={seed}");
        let env = [
            ("OMP_NUM_THREADS", "3"),
            ("PROMP_FAULT", &fault[..]),
            ("PROMP_CKPT_DIR", saved::text(&dir)),
            ("PROMP_CKPT_INTERVAL", "10ms"),
            ("PROMP_REPORT", saved::text(&report)),
        ];
        let r = promp(&exe, &["100"], &env);
        assert_eq!((r.status, &r.out[..]), (0, "0 failed, 2455200\n"), "{fault}: {r:?}");
        let text = std::fs::read(&report).expect("the report");
        let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        for c in report["checkpoints"].as_array().expect("checkpoints") {
            (stops, took) = (stops + 1, took + c["stop_s"].as_f64().expect("seconds"));
        }
    }
    assert!(stops > 3 && took / f64::from(stops) < 0.05, "{stops} stops took {took} s");
}

/// A thread that has just asked for its id uses it in the next call: no checkpoint lies between the two.
#[test]
fn ids_that_are_about_to_be_used() {
    let exe = build("ft/ids.c", &[]);
    let mut back = 0;
    for seed in 0..6 {
        let fault = format!("kill@mtbf=40ms,count=8,seed={seed}");
        let r = killed(&exe, &fault, "5ms");
        assert_eq!((r.status, r.hung), (0, false), "{fault}: {r:?}");
        back += r.err.matches("rolled back").count();
    }
    assert!(back > 0, "the faults do not strike");
}

#[test]
fn kept_through_a_restart() {
    let exe = build("ft/state.c", &[]);
    let scratch = saved::Scratch::new("state-restart");
    let dir = scratch.path("ckpt");
    // Later, if it dies before its first checkpoint.
    for regions in [250, 1000, 4000, 16_000] {
        let (fault, steps) = (format!("die@region={regions}"), (regions + 150).to_string());
        let env = [
            FOUR,
            ("PROMP_FAULT", &*fault),
            ("PROMP_CKPT_DIR", saved::text(&dir)),
            ("PROMP_CKPT_INTERVAL", "20ms"),
        ];
        let died = promp(&exe, &[&steps], &env);
        assert_eq!(died.status, 137, "{died:?}");
        if saved::has_generation(&dir) {
            break;
        }
    }
    let mut again = saved::restart(&dir);
    again.env_remove("PROMP_FAULT");
    kept(&limited(again, LIMIT), "restart");
}

/// Runs anew.c; `None` if the kernel or this user's rights do not allow what it is to do.
fn anew(args: &[&str], env: &[(&str, &str)]) -> Option<Run> {
    let exe = build("ft/anew.c", &[]);
    let r = promp(&exe, args, &[&[FOUR][..], env].concat());
    assert!(!r.hung, "{args:?} {env:?}: {r:?}");
    if r.status == 77 {
        println!("SKIPPED: {args:?} is not possible here");
        return None;
    }
    Some(r)
}

#[test]
fn what_clone_makes_anew_and_cpu_time_go_on_on_other_hosts() {
    kept(&anew(&["10"], &[]).expect("it is possible"), "no fault");
    for thread in 0..3 {
        let kill = |region: u32, at: &str| format!("kill@region={region},thread={thread},at={at}");
        let fault = [kill(3, "barrier"), kill(5, "region"), kill(8, "barrier")].join(";");
        let r = anew(&["10"], &[("PROMP_FAULT", &fault), ("PROMP_REPLAY", "assume")]).expect("possible");
        kept(&r, &fault);
        assert!(r.err.contains("failed (kill)"), "{fault}: {}", r.err);
    }
}

#[test]
fn what_clone_makes_anew_and_cpu_time_go_on_through_rollbacks() {
    let (mut back, mut draws) = (0, Draws::between(3, 60));
    while let Some(seed) = draws.next(back >= 5) {
        let scratch = saved::Scratch::new("anew");
        let dir = scratch.path("ckpt");
        let fault = format!("memerr@mtbf=40ms,count=5,seed={seed}");
        let env = [
            ("PROMP_FAULT", &fault[..]),
            ("PROMP_CKPT_DIR", saved::text(&dir)),
            ("PROMP_CKPT_INTERVAL", "20ms"),
        ];
        let r = anew(&["300"], &env).expect("possible");
        // Lost before the first checkpoint.
        if r.status != 70 || !r.err.contains("no checkpoint to return to") {
            kept(&r, &fault);
        }
        assert!(!r.err.contains("have not followed"), "{fault}: {}", r.err);
        back += r.err.matches("rolled back").count();
    }
    assert!(back >= 5, "the faults do not strike");
}

#[test]
fn what_clone_makes_anew_and_cpu_time_go_on_after_a_restart() {
    let scratch = saved::Scratch::new("anew-restart");
    let dir = scratch.path("ckpt");
    for regions in [350, 1400, 5600] {
        let (fault, steps) = (format!("die@region={regions}"), (regions + 50).to_string());
        let env = [
            ("PROMP_FAULT", &*fault),
            ("PROMP_CKPT_DIR", saved::text(&dir)),
            ("PROMP_CKPT_INTERVAL", "20ms"),
        ];
        let died = anew(&[&steps], &env).expect("possible");
        assert_eq!(died.status, 137, "{died:?}");
        if saved::has_generation(&dir) {
            break;
        }
    }
    let mut again = saved::restart(&dir);
    again.env_remove("PROMP_FAULT");
    kept(&limited(again, LIMIT), "restart");
}

/// Folders, descriptors, namespaces of a thread's own, another root folder, rights given up by Landlock: no
/// checkpoint has them, and none is gone back to.
#[test]
fn what_cannot_be_put_back_is_refused() {
    for what in [
        &["folder"][..],
        &["folder", "number"],
        &["files"],
        &["uts"],
        &["joins"],
        &["joins", "number"],
        &["root"],
        &["landlock"],
    ] {
        let mut refused = false;
        // There is a checkpoint before it is done, unless the machine is slow.
        for _ in 0..10 {
            let scratch = saved::Scratch::new("apart");
            let dir = scratch.path("ckpt");
            let env = [
                ("PROMP_FAULT", "memerr@region=120"),
                ("PROMP_CKPT_DIR", saved::text(&dir)),
                ("PROMP_CKPT_INTERVAL", "10ms"),
            ];
            let Some(r) = anew(&[&["140"], what].concat(), &env) else { return };
            assert_eq!((r.status, &r.out[..]), (70, ""), "{what:?}: {}", r.err);
            refused = r.err.contains("which cannot be put back");
            if refused {
                break;
            }
            assert!(r.err.contains("no checkpoint to return to"), "{what:?}: {}", r.err);
        }
        assert!(refused, "{what:?}: no checkpoint in time");
    }
}

/// A keyring of a thread's own: its host cannot be replaced.
#[test]
fn a_keyring_is_not_lost() {
    let fault = [("PROMP_FAULT", "kill@region=60,thread=1,at=barrier"), ("PROMP_REPLAY", "assume")];
    let Some(r) = anew(&["70", "keyring"], &fault) else { return };
    assert_eq!((r.status, &r.out[..]), (70, ""), "{}", r.err);
    assert!(r.err.contains("a keyring of its own"), "{}", r.err);
}

/// When the limit of cpu_limit.c has struck, by what it has printed: seconds of CPU time.
fn struck_at(r: &Run, what: &str) -> f64 {
    let word = |l: &str| l.split(['t', ' ', ',']).filter_map(|w| w.parse::<f64>().ok()).next_back();
    let line = r.out.lines().rfind(|l| l.starts_with("struck 1") || l.parse::<f64>().is_ok());
    line.and_then(word).unwrap_or_else(|| panic!("{what}: {r:?}"))
}

/// When a limit of four seconds strikes: the kernel counts ticks for it, which on a crowded machine are up to
/// half more or less than what clocks tell. One that counts anew after 3.4 seconds strikes later than that.
const STRIKES: std::ops::Range<f64> = 2.8..7.0;

/// A limit on CPU time that the program has set strikes when it would have, whatever it has used in processes
/// before; and the program finds what it has set.
#[test]
fn a_limit_on_cpu_time_strikes_when_it_would_have() {
    let exe = build("ft/cpu_limit.c", &[]);
    for (how, status) in [("soft", 0), ("hard", 137)] {
        let want = reference(&exe, &[how], &[]);
        let at = struck_at(&want, how);
        assert!(want.status == status && STRIKES.contains(&at), "{want:?}");
        let scratch = saved::Scratch::new("cpu-limit");
        let dir = scratch.path("ckpt");
        // It dies twice, if the limit has not struck before: what both processes have used counts.
        let env = [
            ("PROMP_FAULT", "die@region=90;die@region=170"),
            ("PROMP_CKPT_DIR", saved::text(&dir)),
            ("PROMP_CKPT_INTERVAL", "20ms"),
        ];
        let mut run = promp(&exe, &[how], &env);
        let mut out = run.out.clone();
        assert_eq!(run.status, 137, "{run:?}");
        let mut deaths = 0;
        while run.status == 137 && deaths < 2 {
            deaths += 1;
            run = limited(saved::restart(&dir), LIMIT);
            out += &run.out;
        }
        run.out = out;
        assert_eq!(run.status, status, "{run:?}");
        let now = struck_at(&run, how);
        assert!(STRIKES.contains(&now), "{how}: {now}: {}", run.err);
        if how == "soft" {
            let rest = |r: &Run| r.out[r.out.find(", limits").expect("the last lines")..].to_string();
            assert_eq!(rest(&run), rest(&want), "{run:?}");
            assert!(rest(&run).contains("as they were set\na child has them\nspawned 50\n"), "{run:?}");
        }
    }
}

/// Timers that send to threads, or count their CPU time, go on with them: every expiration comes once, to the
/// thread's host of then.
#[test]
fn timers_go_on_on_other_hosts() {
    let exe = build("ft/timers.c", &[]);
    let scratch = saved::Scratch::new("timers-on-other-hosts");
    let dir = scratch.path("ckpt");
    // The kernel tells whose a timer by CPU time is if it was asked for by name: by promp, with checkpoints.
    for (how, saves) in [("", false), ("function", false), ("named", false), ("cpu", true), ("process", true)]
    {
        let want = reference(&exe, &["300", how], &[]);
        assert_eq!((want.status, &want.out[..]), (0, "kept\n"), "{want:?}");
        for (thread, at) in [(0, "barrier"), (1, "region"), (2, "barrier"), (2, "region")] {
            let kill = |region: u32| format!("kill@region={region},thread={thread},at={at}");
            let fault = [kill(30), kill(60), kill(90)].join(";");
            let mut env = vec![("PROMP_FAULT", &fault[..]), ("PROMP_REPLAY", "assume")];
            env.extend(saves.then_some(("PROMP_CKPT_DIR", saved::text(&dir))));
            let r = promp(&exe, &["300", how], &env);
            assert_eq!((r.status, &r.out), (0, &want.out), "{how}, {fault}: {}", r.err);
            assert_eq!(r.err.matches("failed (kill)").count(), 3, "{how}, {fault}: {}", r.err);
            assert!(!r.err.contains("rolled back"), "{how}, {fault}: {}", r.err);
        }
    }
}

/// A time of the thread's CPU time is one of the program's, not of its present host's.
#[test]
fn timers_expire_at_a_time_of_the_threads() {
    let exe = build("ft/until.c", &[]);
    let want = reference(&exe, &[], &[]);
    assert_eq!((want.status, &want.out[..]), (0, "expired\n"), "{want:?}");
    let scratch = saved::Scratch::new("timers-until");
    let dir = scratch.path("ckpt");
    let env = [("PROMP_REPLAY", "assume"), ("PROMP_CKPT_DIR", saved::text(&dir))];
    for fault in ["", "kill@region=50,thread=0,at=barrier", "kill@region=20,thread=0;kill@region=80,thread=0"]
    {
        let killed = (!fault.is_empty()).then_some(("PROMP_FAULT", fault));
        let r = promp(&exe, &[], &env.into_iter().chain(killed).collect::<Vec<_>>());
        assert_eq!((r.status, &r.out), (0, &want.out), "{fault}: {}", r.err);
        assert_eq!(
            r.err.matches("failed (kill)").count(),
            fault.matches("kill").count(),
            "{fault}: {}",
            r.err
        );
    }
}

/// Without checkpoints nobody can tell whose CPU time a timer counts.
#[test]
fn timers_by_a_threads_cpu_time_are_not_lost() {
    let exe = build("ft/timers.c", &[]);
    let fault = [("PROMP_FAULT", "kill@region=30,thread=0,at=barrier"), ("PROMP_REPLAY", "assume")];
    let r = promp(&exe, &["100", "cpu"], &fault);
    assert_eq!((r.status, &r.out[..]), (70, ""), "{}", r.err);
    assert!(r.err.contains("a timer of its CPU time"), "{}", r.err);
}

#[test]
fn timers_go_on_through_rollbacks_and_restarts() {
    let exe = build_kept("ft/timers.c");
    for how in ["", "function", "cpu", "process"] {
        kept_throughout(&exe, &["1000", how], 3, |seed| [400 + 10 * (seed % 50), 900], "60ms");
    }
}

/// What has expired unseen is noted of each timer that is made again.
#[test]
fn timers_that_have_expired_several_times_go_on() {
    let exe = build_kept("ckpt/overruns.c");
    kept(&reference(&exe, &["50"], &[]), "without promp");
    kept_throughout(&exe, &["1000"], 3, |seed| [400 + 10 * (seed % 50), 900], "60ms");
}

/// Interval timers (setitimer, alarm): each by its clock; those that expire once do so once.
const ALARMS: [[&str; 2]; 5] = [["0", "once"], ["0", "every"], ["1", "once"], ["2", "every"], ["0", "far"]];

#[test]
fn interval_timers_go_on_on_other_hosts() {
    let exe = build("ft/alarms.c", &[]);
    for [which, how] in ALARMS {
        let want = reference(&exe, &["300", which, how], &[]);
        assert_eq!((want.status, &want.out[..]), (0, "kept\n"), "{want:?}");
        let kill = |region: u32, thread: u32| format!("kill@region={region},thread={thread},at=region");
        let fault = [kill(30, 0), kill(60, 1), kill(90, 0)].join(";");
        let env = [("PROMP_FAULT", &fault[..]), ("PROMP_REPLAY", "assume")];
        let r = promp(&exe, &["300", which, how], &env);
        assert_eq!((r.status, &r.out), (0, &want.out), "{which} {how}: {}", r.err);
        assert_eq!(r.err.matches("failed (kill)").count(), 3, "{which} {how}: {}", r.err);
    }
}

#[test]
fn interval_timers_go_on_through_rollbacks_and_restarts() {
    let exe = build_kept("ft/alarms.c");
    for [which, how] in ALARMS {
        kept_throughout(&exe, &["700", which, how], 2, |seed| [200 + 10 * (seed % 30), 600], "50ms");
    }
}
