//! Jobs that run unattended: signals, deaths, requests from outside (docs/internals/jobs.md).

use crate::common::draws::{Draws, spaced};
use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// TERM, INT and HUP, to `promp`, to the program or to both, before the first checkpoint, after it, after a
/// restart:
/// never a restart, never an orphan.
#[test]
fn whoever_is_asked_to_end_ends() {
    let s = Scratch::new("asked");
    let exe = steps();
    let mut rng = Seeded(5);
    for (i, signal) in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGTERM].into_iter().enumerate() {
        for whom in ["promp", "program", "all of it"] {
            for deaths in [0, 1] {
                if !long() && (i + whom.len() + deaths) % 2 == 0 {
                    continue;
                }
                let dir = s.path("ckpt");
                let _ = fs::remove_dir_all(&dir);
                let c = &mut run(&dir, &["--every", "20ms", "--auto-restart", "5"], &exe, &["1000000"]);
                let promp = started(c);
                let mut program = program_of(&promp, &exe, None);
                for _ in 0..deaths {
                    wait("a checkpoint", || has_generation(&dir));
                    program = die(&promp, &exe);
                }
                std::thread::sleep(Duration::from_millis(rng.below(120)));
                let pid = promp.id() as i32;
                kill(
                    if whom == "promp" {
                        pid
                    } else if whom == "program" {
                        program
                    } else {
                        -pid
                    },
                    signal,
                );
                let end = ended(promp, LIMIT);
                let what = format!("signal {signal}, to {whom}, {deaths} deaths: {}", end.err);
                assert!(!end.hung, "{what}");
                assert_eq!(end.status, 128 + signal, "{what}");
                assert!(end.err.matches("continuing").count() == deaths, "{what}");
                wait("no orphan", || is_gone(program));
            }
        }
    }
}

/// `promp` is killed: so is the program.
#[test]
fn nobody_is_left_behind() {
    let s = Scratch::new("orphan");
    let exe = steps();
    let promp = started(&mut run(&s.path("ckpt"), &["--auto-restart", "5"], &exe, &["1000000"]));
    let program = program_of(&promp, &exe, None);
    kill(promp.id() as i32, libc::SIGKILL);
    wait("no orphan", || is_gone(program));
    assert_eq!(ended(promp, LIMIT).status, 128 + libc::SIGKILL);
}

/// A program that deals with the request by itself, and is killed only later because it takes too long:
/// that is not answered by a restart either.
#[test]
fn a_program_that_takes_its_time_to_end() {
    let s = Scratch::new("handles");
    let exe = steps();
    let dir = s.path("ckpt");
    let promp =
        started(&mut run(&dir, &["--every", "20ms", "--auto-restart", "5"], &exe, &["1000000", "handles"]));
    let program = program_of(&promp, &exe, None);
    let has_term = |set: &str| signals_of(program, set) & 1 << (libc::SIGTERM - 1) != 0;
    wait("its handler", || has_term("SigCgt:"));
    wait("a checkpoint", || has_generation(&dir));
    kill(promp.id() as i32, libc::SIGTERM);
    wait("it has heard", || !has_term("ShdPnd:"));
    std::thread::sleep(Duration::from_millis(50));
    assert!(!is_gone(program));
    kill(program, libc::SIGKILL);
    let end = ended(promp, LIMIT);
    assert_eq!(end.status, 128 + libc::SIGKILL, "{}", end.err);
    assert!(!end.err.contains("continuing"), "{}", end.err);
}

/// Deaths before the first region are survived: checkpoints begin when the program does.
#[test]
fn deaths_in_serial_code() {
    let s = Scratch::new("serial");
    let exe = steps();
    let want = reference(&exe, &["60"], &[]).out;
    let dir = s.path("ckpt");
    let (mut early, mut draws) = (false, Draws::between(1, 20));
    while draws.next(early).is_some() {
        let _ = fs::remove_dir_all(&dir);
        let promp = started(&mut run(&dir, &["--every", "20ms", "--auto-restart", "99"], &exe, &["60"]));
        let mut seen = 0;
        for deaths in 0..3 {
            wait("a checkpoint", || promp_image::generation_files(&dir).first().is_some_and(|n| *n > seen));
            seen = promp_image::generation_files(&dir)[0];
            std::thread::sleep(Duration::from_millis(10 * deaths));
            die(&promp, &exe);
        }
        let end = ended(promp, LIMIT);
        assert_eq!(end.status, 0, "{}", end.err);
        assert!(as_announced(&end.out, &want, &end.err), "{}{}", end.out, end.err);
        early = end.err.contains("(region 0)");
    }
    assert!(early, "no death before the first region");
}

/// Killed before its first checkpoint is whole a program is begun anew only if that is allowed; an older
/// run's checkpoints are not its own.
#[test]
fn no_checkpoint_yet() {
    let s = Scratch::new("none-yet");
    let exe = steps();
    let dir = s.path("ckpt");
    let die = |options: &[&str]| {
        let all = [&["--every", "1h", "--auto-restart", "2"], options].concat();
        for _ in 0..20 {
            let promp = started(&mut run(&dir, &all, &exe, &["20", "late"]));
            kill(program_of(&promp, &exe, None), libc::SIGKILL);
            let end = ended(promp, LIMIT);
            if !end.err.contains("restarted from") {
                return end;
            }
            // It was killed too late, on a busy machine.
            let _ = fs::remove_dir_all(&dir);
        }
        panic!("never killed before its first checkpoint");
    };
    let end = die(&[]);
    assert_eq!(end.status, 71, "{}", end.err);
    assert!(end.err.contains("--from-start"), "{}", end.err);
    let want = reference(&exe, &["20", "late"], &[]).out;
    let end = die(&["--from-start"]);
    assert_eq!(end.status, 0, "{}", end.err);
    assert!(end.err.contains("beginning anew") && end.out.ends_with(&want), "{} {}", end.err, end.out);
    // Another run leaves some.
    assert_eq!(limited(run(&dir, &["--every", "20ms"], &exe, &["60"]), LIMIT).status, 0);
    assert!(has_generation(&dir));
    let end = die(&[]);
    assert_eq!((end.status, end.out.as_str()), (71, ""), "{}", end.err);
}

/// Random deaths go on after a restart, and so does the watchdog; what did not strike is reported.
#[test]
fn faults_and_the_watchdog_after_a_restart() {
    let s = Scratch::new("again");
    let exe = steps();
    let want = reference(&exe, &["10", "", "40000"], &[]).out;
    let dir = s.path("ckpt");
    // Where it dies before its first checkpoint, or too seldom, it is begun anew, with other times.
    let deaths = |end: &Run| end.err.matches("killed by signal 9").count();
    let go = |fault: &str, least: usize| {
        let attempt = |seed: u32| {
            let _ = fs::remove_dir_all(&dir);
            let fault = spaced(&fault.replace("SEED", &seed.to_string()));
            let options =
                ["--every", "20ms", "--auto-restart", "20", "--watchdog", "400ms", "--fault", &fault];
            let end = limited(run(&dir, &options, &exe, &["10", "", "40000"]), LIMIT);
            if end.status == 71 && end.err.contains("died before its first one was complete") {
                return None;
            }
            assert_eq!(end.status, 0, "{fault}: {}", end.err);
            assert!(as_announced(&end.out, &want, &end.err), "{fault}: {}{}", end.out, end.err);
            (deaths(&end) >= least).then_some(end)
        };
        (1..=100).find_map(attempt).expect("a run that dies often enough behind its first checkpoint")
    };
    let end = go("die@mtbf=100ms,count=5,seed=SEED", 2);
    assert!(deaths(&end) == 5 || end.err.contains("did not strike"), "{}", end.err);
    let end = go("die@region=200;hang@region=400,thread=1", 1);
    assert!(end.err.contains("restarted from") && end.err.contains("failed (hang)"), "{}", end.err);
    let end = go("die@mtbf=1h,count=5", 0);
    assert!(end.err.contains("1 of the faults in PROMP_FAULT did not strike"), "{}", end.err);
}

/// The environment of a program may hold tokens: it is shown only if it is asked for.
#[test]
fn the_environment_is_kept_to_itself() {
    let s = Scratch::new("inspect");
    let dir = s.path("ckpt");
    let mut c = run(&dir, &["--every", "20ms"], &steps(), &["60"]);
    c.env("A_TOKEN", "of-somebody");
    assert_eq!(limited(c, LIMIT).status, 0);
    for (options, shown) in [
        (&[][..], false),
        (&["--json"], false),
        (&["--json", "--verify"], false),
        (&["--json", "--env"], true),
        (&["--env"], true),
    ] {
        let o = Command::new(command()).arg("inspect").args(options).arg(&dir).output().expect("promp");
        let text = String::from_utf8_lossy(&o.stdout).into_owned() + &String::from_utf8_lossy(&o.stderr);
        assert!(o.status.success() && text.contains("steps"), "{text}");
        assert_eq!(text.contains("of-somebody"), shown, "{options:?}");
        assert!(o.status.signal().is_none());
    }
}

/// A task may wait for what its creator, or a sibling, does next: below 64 tasks for each thread it is left
/// to whoever is idle.
#[test]
fn tasks_that_wait_for_their_creator() {
    let exe = build("jobs/progress.c", &[]);
    let kinds = [
        "flag",
        "condition",
        "semaphore",
        "pipe",
        "sibling",
        "nested",
        "together",
        "released",
        "pieces",
        "last piece",
        "nogroup",
    ];
    for kind in kinds {
        for before in ["0", "10", "40"] {
            let want = format!("small {} waited 100\n", 100 * before.parse::<u32>().expect("a number"));
            for setting in [("PROMP_FT", "on"), ("PROMP_FT", "off"), ("PROMP_REPLAY", "assume")] {
                let mut c = Command::new(&exe);
                clean(&mut c);
                c.args([kind, "100", before]).env("LD_PRELOAD", library()).env(setting.0, setting.1);
                let end = limited(c, LIMIT);
                assert!(!end.hung, "{kind} behind {before} tasks hangs, {setting:?}");
                assert_eq!((end.status, end.out.as_str()), (0, want.as_str()), "{kind} {before} {setting:?}");
            }
        }
    }
}

/// `promp run --resume --on-signal TERM=checkpoint-exit`, asked to end at random times until it is done:
/// its output is that of a run that was left alone.
#[test]
fn asked_to_end_until_it_is_done() {
    let s = Scratch::new("resume");
    let exe = steps();
    // Its serial steps alone take 0.6 s of CPU time: it is asked, after 0.5 s at most, before it has ended.
    let args = ["150", "", "4000"];
    let want = reference(&exe, &args, &[]).out;
    let mut rng = Seeded(11);
    for round in 0..2 * scale() {
        let (dir, out) = (s.path(&format!("ckpt{round}")), s.path(&format!("out{round}")));
        let mut ends = 0;
        for turn in 0.. {
            assert!(turn < 60, "it does not come to its end");
            let mut c =
                run(&dir, &["--every", "1h", "--resume", "--on-signal", "TERM=checkpoint-exit"], &exe, &args);
            let log = fs::OpenOptions::new().create(true).append(true).open(&out).expect("the output");
            let promp = started(c.stdout(log));
            let pid = promp.id() as i32;
            let_use(pid, 100 + rng.below(400), LIMIT);
            kill(pid, libc::SIGTERM);
            let end = ended(promp, LIMIT);
            assert!(!end.hung, "{}", end.err);
            match end.status {
                0 => break,
                85 => ends += 1,
                // Before the handler was there: nothing has been done yet.
                143 if ends == 0 && read(&out).is_empty() => {}
                // Killed on its way from the image: nothing was lost.
                143 => {}
                other => panic!("status {other}: {}", end.err),
            }
        }
        assert_eq!(read(&out), want, "after {ends} checkpoints");
        assert!(ends > 0, "it has not been asked");
        // Repeated, it does nothing.
        let c = run(&dir, &["--resume"], &exe, &args);
        let again = limited(c, LIMIT);
        assert_eq!((again.status, again.out.as_str()), (0, ""), "{}", again.err);
        let c = run(&dir, &["--resume"], &exe, &["1"]);
        assert_eq!(limited(c, LIMIT).status, 71, "another command");
    }
}

/// Checkpoints of which none can be read are neither continued nor overwritten by `--resume`.
#[test]
fn what_cannot_be_read_is_not_overwritten() {
    let s = Scratch::new("unreadable");
    let dir = s.path("ckpt");
    let c = run(&dir, &["--every", "20ms"], &steps(), &["60"]);
    assert_eq!(limited(c, LIMIT).status, 0);
    let images = || {
        let all = fs::read_dir(&dir).expect("the directory").map(|e| e.expect("an entry").path());
        let mut all: Vec<_> = all.filter(|p| p.is_file()).collect();
        all.sort();
        all
    };
    let damaged: Vec<_> =
        images().into_iter().filter(|p| fs::metadata(p).is_ok_and(|m| m.len() > 0)).collect();
    assert!(!damaged.is_empty());
    damaged.iter().for_each(|p| fs::write(p, "not an image").expect("damage"));
    let before: Vec<_> = images().iter().map(|p| fs::read(p).expect("readable")).collect();
    let again = limited(run(&dir, &["--resume"], &steps(), &["60"]), LIMIT);
    assert_eq!(again.status, 71, "{}", again.err);
    assert!(again.out.is_empty() && again.err.contains("remove it to begin anew"), "{}", again.err);
    let after: Vec<_> = images().iter().map(|p| fs::read(p).expect("readable")).collect();
    assert!(before == after, "something was overwritten");
}

/// Requests by `promp checkpoint`, and what is refused.
#[test]
fn checkpoints_on_request() {
    let s = Scratch::new("request");
    let exe = steps();
    let dir = s.path("ckpt");
    let promp = started(&mut run(&dir, &["--every", "1h"], &exe, &["1000000"]));
    let pid = promp.id() as i32;
    let ask = |args: &[&str]| {
        let o = Command::new(command()).arg("checkpoint").args(args).output().expect("promp");
        (
            o.status.code(),
            String::from_utf8_lossy(&o.stdout).into_owned() + &String::from_utf8_lossy(&o.stderr),
        )
    };
    let number = pid.to_string();
    wait("it takes checkpoints", || ask(&[&number]).0 == Some(0));
    let (status, said) = ask(&[text(&dir), "--wait"]);
    assert!(status == Some(0) && said.contains("is whole"), "{said}");
    assert!(has_generation(&dir));
    let (status, said) = ask(&[&number, "--wait", "--then", "stop"]);
    assert_eq!(status, Some(0), "{said}");
    wait("it stops", || {
        fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default().contains("(stopped)")
    });
    kill(pid, libc::SIGCONT);
    let (status, said) = ask(&[&number, "--wait", "--then", "exit"]);
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(ended(promp, LIMIT).status, 85);
    for whose in [number.as_str(), text(&dir), "nothing", "1"] {
        assert_eq!(ask(&[whose, "--wait"]).0, Some(66), "{whose}");
    }
    // A bad value stops the program before it has done anything.
    for (spec, status) in [("KILL=checkpoint", 64), ("TERM", 64), ("TERM=checkpoint-exit", 0)] {
        let end = limited(run(&s.path("other"), &["--on-signal", spec], &exe, &["3"]), LIMIT);
        assert_eq!(end.status, status, "{spec}: {}", end.err);
    }
    let end = crate::common::promp(&exe, &["3"], &[("PROMP_ON_SIGNAL", "TERM=checkpoint-exit")]);
    assert!(end.status == 64 && end.err.contains("PROMP_CKPT_DIR") && end.out.is_empty(), "{}", end.err);
}

/// A job script and its program write to one log; the program is killed, and the script goes on and
/// continues it.
#[test]
fn a_log_that_others_write_to() {
    let s = Scratch::new("log");
    let exe = steps();
    let want = reference(&exe, &["80", "", "3000"], &[]).out;
    let script = "echo 'job begins'
\"$P\" run --threads 2 --ckpt \"$D\" --every 20ms -- \"$E\" 80 '' 3000 & p=$!
while ! ls \"$D\"/gen-* >/dev/null 2>&1; do sleep 0.01; done; sleep 0.15
kill -9 $p; wait $p 2>/dev/null
echo 'job goes on'
echo 'job: other work'
\"$P\" restart \"$D\"; echo \"job ends $?\"";
    for how in [">", ">>", ">> 2>&1"] {
        let (dir, log) = (s.path("ckpt"), s.path("log"));
        let _ = fs::remove_dir_all(&dir);
        fs::write(&log, "").expect("a log");
        let mut c = Command::new("bash");
        clean(&mut c);
        c.args(["-c", script]).env("P", command()).env("D", &dir).env("E", &exe);
        let open = |append| fs::OpenOptions::new().write(true).append(append).open(&log).expect("the log");
        let file = open(how != ">");
        let errors = if how.ends_with("2>&1") {
            file.try_clone().expect("a copy")
        } else {
            fs::File::create(s.path("err")).expect("messages")
        };
        c.stdin(Stdio::null()).stdout(file).stderr(errors);
        let end = ended(started(&mut c), LIMIT);
        assert!(!end.hung, "{how}");
        let all = read(&log);
        let of = |job: bool| -> Vec<&str> {
            all.lines().filter(|l| !l.starts_with("promp:") && l.starts_with("job") == job).collect()
        };
        assert_eq!(of(false).join("\n") + "\n", want, "{how}: {}", read(&s.path("err")));
        assert_eq!(of(true).len(), 4, "{how}: {all}");
    }
}

/// What is gone from a log is sent anew: it was emptied, as by a restart that was killed in its turn; or that
/// restart did not write to its end.
#[test]
fn a_log_that_was_emptied() {
    let s = Scratch::new("emptied");
    let exe = steps();
    let args = ["80", "late", "300"];
    let want = reference(&exe, &args, &[]).out;
    // Killed when it has written something, but before a checkpoint of that, and again before another one and
    // before its end (else 77: once more).
    let start = "\"$P\" run --threads 2 --ckpt \"$D\" --every 250ms -- \"$E\" 80 late 300 1<>\"$L\" & p=$!
while :; do N=$(ls \"$D\"/gen-* 2>/dev/null); [ -s \"$L\" ] && break; G=$N; sleep 0.01; done
kill -9 $p; wait $p 2>/dev/null; cp \"$L\" \"$L.then\"
[ -n \"$G\" ] && [ \"$(ls \"$D\"/gen-*)\" = \"$G\" ] || exit 77\n";
    let killed = "\"$P\" restart \"$D\" 1<>\"$L\" & p=$!
sleep 0.1; pkill -9 -P $p; kill -9 $p; wait $p 2>/dev/null
[ ! -e \"$D/ended\" ] && [ \"$(ls \"$D\"/gen-*)\" = \"$G\" ] || exit 77\n";
    let (emptied, from_its_beginning, at_its_end) = (": > \"$L\"\n", "1<>\"$L\"", ">>\"$L\"");
    for (between, redirections) in [
        (emptied.into(), &[from_its_beginning, at_its_end][..]),
        (format!("{killed}{emptied}"), &[from_its_beginning, at_its_end]),
        // What it has written itself it has not noted, so it would come twice at the file's end.
        (killed.to_string(), &[from_its_beginning]),
    ] {
        for redirected in redirections {
            let (dir, log) = (s.path("ckpt"), s.path("log"));
            let script = format!("{start}{between}\"$P\" restart \"$D\" {redirected}");
            let attempt = || {
                let _ = fs::remove_dir_all(&dir);
                fs::write(&log, "").expect("a log");
                let mut c = Command::new("bash");
                clean(&mut c);
                c.args(["-c", &script]).env("P", command()).env("D", &dir).env("E", &exe).env("L", &log);
                limited(c, LIMIT)
            };
            let mut end = attempt();
            for _ in 0..100 {
                if end.status != 77 {
                    break;
                }
                end = attempt();
            }
            assert_eq!(end.status, 0, "{script}: {}", end.err);
            assert!(!read(&s.path("log.then")).is_empty());
            assert_eq!(read(&log), want, "{script}: {}", end.err);
        }
    }
}
