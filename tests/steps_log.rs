//! Steps of a script at once that write to one log (`promp run --steps`): whatever is killed where, the log
//! has each line once in the end. With PROMP_TEST_LONG: sixty random rounds.

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::scripts::*;
use crate::common::*;
use std::fs;

/// Nothing is saved but at the beginning, and where the test says so.
const OPTIONS: [&str; 2] = ["--every", "1h"];

fn field(script: &str) -> Field {
    let mut f = Field::new(script);
    f.options = OPTIONS.into();
    f
}

/// The lines of a file, in their order: steps at once have none between them.
fn lines(f: &Field, file: &str) -> Vec<String> {
    let mut all: Vec<String> = read(&f.work.join(file)).lines().map(str::to_owned).collect();
    all.sort();
    all
}

/// The line is repeated until the script is done; the file has these lines then.
fn comes_to(f: &Field, file: &str, want: &[String]) {
    let end = f.end(f.start());
    assert_eq!(end.status, 0, "{}", end.err);
    assert_eq!(lines(f, file), want, "{}", end.err);
}

/// What a script writes that is left alone.
fn alone(f: &Field, file: &str) -> Vec<String> {
    let end = f.end(f.start());
    assert_eq!(end.status, 0, "{}", end.err);
    let all = lines(f, file);
    f.clear();
    all
}

/// A checkpoint in the midst of what is repeated, and again it is killed.
#[test]
fn saved_while_it_repeats() {
    for script in [
        "GATES a 3 & GATES b 1 & wait",
        "GATES b 1 & GATES a 3 & wait",
        "GATES a 3 >>out & GATES b 1 >>out & wait",
        // Alone, but messages are written there, too.
        "exec 2>&1; GATES b 1; GATES a 3",
        "GATES b 1; GATES a 3; echo behind",
    ] {
        let f = field(script);
        let file = if script.contains("out") { "out" } else { "log" };
        let at_once = script.contains('&') && !script.contains("2>&1");
        let want = alone(&f, file);
        f.gate("a", 3, true);
        if at_once {
            f.gate("b", 1, true);
        }
        let promp = f.start();
        f.at("a", 3);
        if at_once {
            f.at("b", 1);
        }
        f.kill(promp);
        f.gate("a", 1, true);
        let promp = f.start();
        f.checkpoint(f.at("a", 1));
        f.kill(promp);
        f.gate("a", 3, false);
        f.gate("a", 1, false);
        if at_once {
            f.gate("b", 1, false);
        }
        let promp = f.start();
        let end = f.end(promp);
        assert_eq!(end.status, 0, "{script}: {}", end.err);
        let is_own = |l: &String| !l.starts_with("promp:");
        let got: Vec<String> = lines(&f, file).into_iter().filter(is_own).collect();
        let want: Vec<String> = want.into_iter().filter(is_own).collect();
        assert_eq!(got, want, "{script}: {}", end.err);
    }
}

/// Killed right before it writes a line, or right behind, by a step that has been told of both.
#[test]
fn killed_where_it_writes() {
    for (more, written) in [("0", true), ("0", false), ("30", false), ("9000", true), ("9000", false)] {
        let f = field(&format!("GATES a 3 {more} & GATES b 2 & wait"));
        let want = alone(&f, "log");
        [("a", 1), ("b", 1)].iter().for_each(|(name, n)| f.gate(name, *n, true));
        let promp = f.start();
        f.at("b", 1);
        let pid = f.at("a", 1);
        f.checkpoint(pid);
        let mut shut = true;
        let killed = traced::kill_at(pid, |call| {
            if std::mem::take(&mut shut) {
                f.gate("a", 1, false);
            }
            let writes = call.number == libc::SYS_write && call.arguments[0] == 1;
            writes && call.result.is_some_and(|n| n > 0) == written && (written || call.result.is_none())
        });
        match killed {
            Err(why) => {
                f.kill(promp);
                return println!("SKIPPED: ptrace: {why}");
            }
            Ok(killed) => assert!(killed, "it has ended before"),
        }
        // The other one writes now, and that is saved.
        f.gate("b", 2, true);
        f.gate("b", 1, false);
        f.checkpoint(f.at("b", 2));
        f.kill(promp);
        f.gate("b", 2, false);
        comes_to(&f, "log", &want);
    }
}

/// A step that is done for longer finds the log as it has left it, whoever else goes back.
#[test]
fn the_log_of_others_is_not_cut() {
    let f = field(
        "a() { GATES a 2 >>out & }
b() { GATES b 2 >>out & }
if [ -e again ]; then a; until [ -e goes-on ]; do sleep 0.01; done; b
else b; until [ -s out ]; do sleep 0.01; done; a; fi
wait",
    );
    let want = alone(&f, "out");
    f.gate("a", 1, true);
    f.gate("b", 1, true);
    let promp = f.start();
    let b = f.at("b", 1);
    f.at("a", 1);
    f.checkpoint(b);
    f.kill(promp);
    f.put("again", "");
    f.gate("a", 0, true);
    let promp = f.start();
    f.at("a", 0);
    f.put("goes-on", "");
    f.at("b", 1);
    f.gate("a", 0, false);
    f.gate("a", 1, false);
    f.gate("b", 1, false);
    let end = f.end(promp);
    assert_eq!(end.status, 0, "{}", end.err);
    assert_eq!(lines(&f, "out"), want, "{}", end.err);
}

/// One is killed and continued again and again, while the other one goes on writing.
#[test]
fn one_goes_back_while_the_other_writes() {
    let mut f = field("GATES a 3 & GATES b 40 & wait");
    let want = alone(&f, "log");
    f.options.extend(["--auto-restart", "9"]);
    f.gate("a", 2, true);
    f.gate("b", 0, true);
    let promp = f.start();
    f.at("b", 0);
    let mut pid = f.at("a", 2);
    for n in 0..6 {
        let before = began(pid);
        kill(pid, libc::SIGKILL);
        if n == 2 {
            f.gate("b", 0, false);
        }
        wait("it goes on", || {
            pid = f.at("a", 2);
            began(pid) != before
        });
    }
    f.gate("a", 2, false);
    let end = f.end(promp);
    assert_eq!(end.status, 0, "{}", end.err);
    assert_eq!(lines(&f, "log"), want, "{}", end.err);
}

/// Lines that are never the same again: of a step at work with others those that it had written before stay.
/// One that is alone has its log cut. None of the other one's is missing.
#[test]
fn lines_that_do_not_come_again() {
    for (script, once) in [("GATES a 3 t & GATES b 3 & wait", false), ("GATES b 3; GATES a 3 t", true)] {
        let f = field(script);
        f.gate("a", 3, true);
        let promp = f.start();
        f.at("a", 3);
        if !once {
            wait("the other one", || read(&f.work.join("log")).matches("b ").count() == 3);
        }
        f.kill(promp);
        f.gate("a", 3, false);
        let end = f.end(f.start());
        assert_eq!(end.status, 0, "{}", end.err);
        let of = |name: &str| lines(&f, "log").iter().filter(|l| l.starts_with(name)).count();
        assert_eq!((of("a "), of("b ")), (if once { 3 } else { 6 }, 3), "{}", end.err);
    }
}

#[test]
fn killed_at_random() {
    let mut f = Field::new("STEP one 25 & STEP two 25 & STEP three 25 >>own & STEP four 25 >>own & wait");
    f.options = vec!["--every", "20ms"];
    let mut rng = Seeded(7);
    let end = f.end(f.start());
    assert_eq!(end.status, 0, "{}", end.err);
    let want = ["log", "own"].map(|file| lines(&f, file));
    for round in 0..if long() { 60 } else { 4 } {
        f.clear();
        let mut said = String::new();
        for kills in 0.. {
            let promp = f.start();
            if kills < 8 {
                let_use(promp.id() as i32, 20 + rng.below(200), LIMIT);
                let one = owners(&f).into_iter().nth(rng.below(4) as usize);
                match one.filter(|_| rng.below(2) == 0) {
                    Some(pid) => kill(pid, libc::SIGKILL),
                    None => kill(promp.id() as i32, libc::SIGKILL),
                }
            }
            let end = f.end(promp);
            said += &end.err;
            let done = fs::read_dir(f.s.path("ckpt/steps")).expect("steps").flatten();
            let done = done.filter(|e| e.file_name().to_string_lossy().ends_with(".ended")).count();
            if end.status == 0 && done == 4 {
                break;
            }
            assert!(kills < 20, "it does not come to its end: {said}");
        }
        assert_eq!(["log", "own"].map(|file| lines(&f, file)), want, "{round}: {said}");
    }
}
