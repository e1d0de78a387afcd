//! `promp run --steps`: a script is interrupted, and the same line repeated until it is done. Its steps that
//! have ended are left out, those that were cut go on, and those whose output or input is another are
//! executed again. With PROMP_TEST_LONG: fifty interruptions.

use crate::common::jobs::*;
use crate::common::left::{start_with_input, terminal};
use crate::common::saved::*;
use crate::common::scripts::*;
use crate::common::*;
use std::fs;
use std::io::Write;
use std::process::{Child, Command};

/// Five steps and what is between them: one reads what another one has written by `$(…)`, two run at once,
/// one changes the file that it begins with.
const SCRIPT: &str = "echo 5 >in
STEP one 20 in out1
x=$(STEP two 5 out1)
echo \"${x##* }\" >got
STEP three 20 got state &
STEP four 20 out1 out4
wait $!
STEP grows 10 state state";
const FILES: [&str; 4] = ["out1", "got", "state", "out4"];

fn interrupt(f: &Field, promp: &Child, rng: &mut Seeded) -> &'static str {
    let pid = promp.id() as i32;
    match rng.below(4) {
        0 => {
            kill(pid, libc::SIGTERM);
            "asked promp"
        }
        1 => {
            kill(-pid, libc::SIGTERM);
            "asked all"
        }
        2 => {
            kill(pid, libc::SIGKILL);
            "killed promp"
        }
        _ => {
            owners(f).first().into_iter().for_each(|pid| kill(*pid, libc::SIGKILL));
            "killed a program"
        }
    }
}

#[test]
fn interrupted_until_it_is_done() {
    let f = &mut Field::new(SCRIPT);
    let mut rng = Seeded(3);
    let end = f.end(f.start());
    assert_eq!(end.status, 0, "{}", end.err);
    // Two at once write to the log: their lines have no order.
    let result = |f: &Field| -> Vec<Vec<String>> {
        let lines = |text: String| text.lines().map(str::to_owned).collect();
        let mut all: Vec<Vec<String>> = f.result(&FILES).into_iter().map(lines).collect();
        all[0].sort();
        all
    };
    let want = result(f);
    let (all, mut done, mut left_out) = (if long() { 50 } else { 5 }, 0, 0);
    while done < all {
        f.clear();
        f.options.truncate(2);
        if rng.below(2) == 0 {
            f.options.extend(["--on-signal", "TERM=checkpoint-exit"]);
        }
        let (mut said, mut here) = (format!("{:?}\n", f.options), 0);
        loop {
            let promp = f.start();
            if here < 6 {
                let_use(promp.id() as i32, 50 + rng.below(400), LIMIT);
                said += &format!("{}\n", interrupt(f, &promp, &mut rng));
            }
            let end = f.end(promp);
            here += 1;
            said += &format!("status {}:\n{}", end.status, end.err);
            left_out += end.err.matches("has ended before").count();
            if end.status == 0 {
                break;
            }
            assert!(here < 12, "it does not come to its end:\n{said}");
        }
        done += here;
        let got = result(f);
        let other = got.iter().zip(&want).find(|(got, want)| got != want);
        assert!(other.is_none(), "{other:?}\n{said}");
    }
    assert!(left_out > 0, "no step was left out");
}

/// Whoever is asked: the run ends with 85, and what stands behind the step is not executed.
#[test]
fn nothing_goes_on_behind_a_step_that_was_cut() {
    for script in
        ["STEP lasts 40; echo behind >behind", "trap ': >seen' TERM; STEP lasts 40; echo behind >behind"]
    {
        for whom in ["promp", "program", "all"] {
            let f = &mut Field::new(&format!("set +e; {script}"));
            f.options.extend(["--on-signal", "TERM=checkpoint-exit"]);
            let promp = f.start();
            wait("a step", || !owners(f).is_empty());
            let_use(promp.id() as i32, 150, LIMIT);
            match whom {
                "promp" => kill(promp.id() as i32, libc::SIGTERM),
                "program" => owners(f).iter().for_each(|pid| kill(*pid, libc::SIGTERM)),
                _ => kill(-(promp.id() as i32), libc::SIGTERM),
            }
            let end = f.end(promp);
            let what = format!("{script}, {whom}: {}", end.err);
            assert_eq!(end.status, 85, "{what}");
            assert!(!f.work.join("behind").exists(), "{what}");
            let end = f.end(f.start());
            assert_eq!(end.status, 0, "{what}{}", end.err);
            assert!(f.work.join("behind").exists() && end.err.contains("goes on"), "{what}{}", end.err);
            assert_eq!(end.out.lines().count(), 40, "{what}{}", end.out);
        }
    }
}

/// Two equal commands at once, of which nothing but where they write is different: each goes on with its own.
#[test]
fn two_equal_commands_side_by_side() {
    let f = Field::new("STEP equal 20 - >>one & STEP equal 20 - >>two & wait");
    let mut rng = Seeded(11);
    let end = f.end(f.start());
    assert_eq!(end.status, 0, "{}", end.err);
    let want = f.result(&["one", "two"]);
    assert_eq!(want[1].lines().count(), 20, "{want:?}");
    for round in 0..if long() { 30 } else { 3 } {
        f.clear();
        let (mut said, mut kills) = (String::new(), 0);
        loop {
            let promp = f.start();
            if kills < 4 {
                let_use(promp.id() as i32, 50 + rng.below(200), LIMIT);
                match owners(&f).into_iter().nth(rng.below(3) as usize) {
                    Some(one) => kill(one, libc::SIGKILL),
                    None => kill(promp.id() as i32, libc::SIGKILL),
                }
            }
            let end = f.end(promp);
            said += &end.err;
            kills += 1;
            // The script does not ask how its steps have ended.
            let done = fs::read_dir(f.s.path("ckpt/steps")).expect("steps").flatten();
            let done = done.filter(|e| e.file_name().to_string_lossy().ends_with(".ended")).count();
            if end.status == 0 && done == 2 {
                break;
            }
            assert!(kills < 12, "it does not come to its end: {said}");
        }
        assert_eq!(f.result(&["one", "two"]), want, "{round}: {said}");
    }
}

/// What a step has asked for at a terminal is not asked for again when it has ended, nor where it goes on
/// behind the answer.
#[test]
fn a_step_that_asks_at_a_terminal() {
    let f = Field::new("STEP asks 60; STEP asks-more 2");
    let script = f.s.path("script.sh");
    let start = |answers: &str| {
        let (mut typed, terminal) = terminal();
        let options = ["--steps", "--every", "50ms"];
        let mut c = run(&f.s.path("ckpt"), &options, "bash".as_ref(), &[text(&script)]);
        c.current_dir(&f.work);
        let child = start_with_input(c, terminal.into(), &f.work.join("log"));
        typed.write_all(answers.as_bytes()).expect("the terminal");
        (child, typed)
    };
    let (promp, _typed) = start("3\n4\n");
    let end = f.end(promp);
    assert_eq!(end.status, 0, "{}", end.err);
    let want = read(&f.work.join("log"));
    // Nothing is typed: it would wait for it.
    let (promp, _typed) = start("");
    let end = f.end(promp);
    assert_eq!(end.err.matches("has ended before").count(), 2, "{}", end.err);
    f.clear();
    let (promp, _typed) = start("3\n");
    wait("ten lines", || read(&f.work.join("log")).lines().count() >= 10);
    f.checkpoint(owners(&f)[0]);
    kill(-(promp.id() as i32), libc::SIGKILL);
    let cut = f.end(promp);
    let (promp, _typed) = start("4\n");
    let end = f.end(promp);
    assert!(end.status == 0 && end.err.contains("goes on"), "{}{}", cut.err, end.err);
    assert_eq!(read(&f.work.join("log")), want, "{}", end.err);
}

/// Is a step that has ended executed again when the line is repeated after `then`?
fn again(script: &str, then: impl FnOnce(&Field)) -> (Run, Field) {
    let f = Field::new(script);
    f.put("in", "5\n");
    let end = f.once();
    assert_eq!(end.status, 0, "{}", end.err);
    then(&f);
    let end = f.once();
    assert_eq!(end.status, 0, "{}", end.err);
    (end, f)
}

#[test]
fn a_step_that_has_ended_is_left_out() {
    for script in [
        "STEP a 2 in out",
        "STEP a 2 in out >/dev/null",
        "STEP a 2 in out >>same",
        "STEP a 2 in out; STEP a 2 in out",
        "STEP a 2 in & STEP a 2 in & wait",
        "N=1 STEP a 2 in out & N=2 STEP a 2 in out & wait",
        "STEP a 2 out out; STEP b 2 out out",
        "cd /; STEP a 2",
        "exec STEP a 2 in out",
        "STEP a 2 <in",
        "STEP a 2 no-such-file out",
    ] {
        let (end, _) = again(script, |_| ());
        let steps = script.matches("STEP").count();
        assert_eq!(
            end.err.matches("has ended before, with status 0").count(),
            steps,
            "{script}: {}",
            end.err
        );
        assert_eq!(end.out, "", "{script}");
    }
}

#[test]
fn what_is_not_there_any_more_is_made_again() {
    type Then = fn(&Field);
    let cases: [(&str, Then, &str); 8] = [
        ("STEP a 2 in out", |f| f.put("in", "6\n"), "in is not what it was"),
        ("STEP a 2 in out", |f| fs::remove_file(f.work.join("out")).unwrap(), "out is not what it was"),
        ("STEP a 2 in out >text", |_| (), "text is not what it was"),
        ("STEP a 2 in out | cat >text", |_| (), "its output goes to a pipe"),
        ("STEP a 2 in out 2>&1 >text | cat", |_| (), "its output goes to a pipe"),
        ("STEP a 2 maybe out", |f| f.put("maybe", "1\n"), "maybe is not what it was"),
        ("STEP a 2 <in", |f| f.put("in", "6\n"), "in is not what it was"),
        ("echo 3 | STEP asks 2", |_| (), "a pipe"),
    ];
    for (script, then, why) in cases {
        let (end, _) = again(script, then);
        assert!(!end.err.contains("has ended before"), "{script}: {}", end.err);
        // Who writes its messages to a pipe says nothing.
        assert!(end.err.contains(why) || script.contains("2>"), "{script}: {why}? {}", end.err);
    }
}

/// What a later step, or the script, makes of a file is no change of the user's; what is made anew is.
#[test]
fn steps_change_the_files_of_others() {
    let chain = "STEP a 2 - x; STEP b 2 x x; STEP c 2 x x";
    let (end, f) = again(chain, |_| ());
    assert_eq!(end.err.matches("has ended before").count(), 3, "{}", end.err);
    let want = read(&f.work.join("x"));
    // All of it is made again behind the first one that is.
    let (end, f) = again(chain, |f| f.put("x", "0\n"));
    assert!(!end.err.contains("has ended before"), "{}", end.err);
    assert_eq!(read(&f.work.join("x")), want);
    let (end, f) = again("cp in x; STEP a 2 x x; STEP b 2 x x", |_| ());
    assert!(!end.err.contains("has ended before"), "{}", end.err);
    assert_ne!(read(&f.work.join("x")), want);
    // Lines that are read by the steps of a loop.
    let lines = "for i in 1 2 3; do STEP asks-$i 2 - x$i; done <numbers";
    let f = Field::new(lines);
    f.put("numbers", "1\n2\n3\n");
    let result = |f: &Field| ["x1", "x2", "x3"].map(|x| read(&f.work.join(x)));
    assert_eq!(f.once().status, 0);
    let first = result(&f);
    let end = f.once();
    assert_eq!(end.err.matches("has ended before").count(), 3, "{}", end.err);
    assert_eq!(result(&f), first);
    assert!(first[0] != first[1] && first[1] != first[2], "{first:?}");
}

#[test]
fn a_script_that_has_changed_is_refused() {
    let f = Field::new("STEP a 2 in out");
    assert_eq!(f.once().status, 0);
    f.write("STEP a 2 in out; STEP b 2 in out");
    let end = f.once();
    assert_eq!(end.status, 71, "{}", end.err);
    assert!(end.err.contains("another text of") && end.err.contains("give another directory"), "{}", end.err);
    // Nor is it begun without the steps.
    let script = f.s.path("script.sh");
    for options in [&["--resume"][..], &[]] {
        let end = limited(run(&f.s.path("ckpt"), options, "bash".as_ref(), &[text(&script)]), LIMIT);
        assert!([64, 71].contains(&end.status) && end.err.contains("give --steps"), "{}", end.err);
    }
    // Nor steps where a program has its checkpoints.
    let other = f.s.path("other");
    assert_eq!(limited(run(&other, &[], &steps(), &["5"]), LIMIT).status, 0);
    let end = limited(run(&other, &["--steps"], "bash".as_ref(), &[text(&script)]), LIMIT);
    assert!(end.status == 71 && end.err.contains("without --steps"), "{} {}", end.status, end.err);
}

#[test]
fn a_step_that_ends_by_a_signal_does_so_again() {
    let f = Field::new("STEP fails 2 || echo status $? >status");
    for turn in 0..2 {
        let end = f.once();
        assert_eq!((end.status, read(&f.work.join("status"))), (0, "status 134\n".into()), "{}", end.err);
        assert_eq!(end.err.contains("goes on from its last checkpoint"), turn == 1, "{}", end.err);
    }
    // With another status it has ended.
    let f = Field::new("STEP asks 2 </dev/null || echo status $? >status");
    for turn in 0..2 {
        let end = f.once();
        assert_eq!((end.status, read(&f.work.join("status"))), (0, "status 4\n".into()), "{}", end.err);
        assert_eq!(end.err.contains("has ended before, with status 4"), turn == 1, "{}", end.err);
    }
}

#[test]
fn two_runs_of_one_script_at_once_are_refused() {
    let f = Field::new("STEP lasts 100");
    let promp = f.start();
    wait("a step", || !owners(&f).is_empty());
    let script = f.s.path("script.sh");
    let mut c = run(&f.s.path("ckpt"), &["--steps"], "bash".as_ref(), &[text(&script)]);
    c.current_dir(&f.work);
    let end = limited(c, LIMIT);
    assert!(end.status == 64 && end.err.contains("in use by another process"), "{}", end.err);
    kill(promp.id() as i32, libc::SIGTERM);
    assert_eq!(f.end(promp).status, 143);
}

#[test]
fn what_is_no_step_is_said() {
    let f = Field::new("true");
    let end = f.once();
    assert!(end.status == 0 && end.err.contains("no program that is linked with OpenMP"), "{}", end.err);
    let library = "int n;\nvoid work(void) {\n#pragma omp parallel\n    __sync_fetch_and_add(&n, 1);\n}\n";
    let library = compiled("steps", "libwork.so", library, &["-fopenmp", "-shared", "-fPIC"]);
    let f = Field::new(&format!("python3 -c 'import ctypes; ctypes.CDLL(\"{}\").work()'", text(&library)));
    let end = f.once();
    assert!(end.status == 0 && end.err.contains("is no step"), "{}", end.err);
    let mut c = Command::new(command());
    c.args(["run", "--steps", "--", "true"]);
    assert_eq!(limited(c, LIMIT).status, 64, "--steps needs --ckpt");
}
