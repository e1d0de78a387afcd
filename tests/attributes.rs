//! What the kernel keeps of a process, its threads and its mappings (docs/internals/attributes.md) is what
//! the program has made it: after a change of host, a rollback and a restart.

use crate::common::kept::*;
use crate::common::saved::*;
use crate::common::*;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What is set in each step, and what is set once for all.
const HOW: [&[&str]; 2] = [&[], &["once"]];

fn args<'a>(steps: &'a str, how: &[&'a str]) -> Vec<&'a str> {
    [&[steps], how].concat()
}

#[test]
fn kept_through_changes_of_host() {
    let exe = build("ckpt/hardened.c", &[]);
    for how in HOW {
        kept(&reference(&exe, &args("100", how), &[THREADS]), "without promp");
        for thread in 0..3 {
            let fault = format!(
                "kill@region=20,thread={thread},at=barrier;kill@region=70,thread={thread},at=barrier"
            );
            let env = [THREADS, ("PROMP_FAULT", &fault), ("PROMP_REPLAY", "assume")];
            kept(&promp(&exe, &args("100", how), &env), &fault);
        }
    }
}

#[test]
fn kept_through_rollbacks_and_restarts() {
    let exe = build_kept("ckpt/hardened.c");
    for how in HOW {
        let died = |seed: u64| [400 + 10 * (seed % 50), 900];
        kept_throughout(&exe, &args("1000", how), 3, died, "60ms");
    }
}

/// `command` by a user who is nobody, if that can be: root may read all files of a process, also of one that
/// is not dumpable.
fn by_nobody(command: &Command) -> Option<Command> {
    const NOBODY: [&str; 6] = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"];
    let test = Command::new("setpriv").args(NOBODY).args(["test", "-r"]).arg(library()).status();
    if !test.is_ok_and(|s| s.success()) {
        println!("SKIPPED: nobody may not read the library, or one may not become nobody");
        return None;
    }
    let mut c = Command::new("setpriv");
    c.args(NOBODY).arg(command.get_program()).args(command.get_args());
    c.envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
    Some(c)
}

/// What the kernel hides from a process that is not dumpable is known before.
#[test]
fn a_process_that_is_not_dumpable_is_what_it_was() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("not-dumpable");
    let (dir, out, again) = (scratch.path("ckpt"), scratch.path("out"), scratch.path("again"));
    let exe = scratch.path("hardened");
    std::fs::copy(build("ckpt/hardened.c", &[]), &exe).expect("a copy");
    std::fs::set_permissions(&scratch.0, PermissionsExt::from_mode(0o777)).expect("ours");
    let Some(run) = by_nobody(&first_run(&exe, &["1000000", "once"], &dir)) else { return };
    let saved = |since| since > Duration::from_millis(200) && has_generation(&dir);
    let coloured = |c: &mut Command| {
        c.env("COLOUR", "green");
    };
    assert!(start_with(run, &out, Some(&saved), coloured).is_none(), "{}", messages(&out));
    let last = *promp_image::generation_files(&dir).last().expect("an image");
    let image = std::fs::read(dir.join(format!("gen-{last}"))).expect("the image");
    let text = String::from_utf8_lossy(&image);
    assert!(text.contains("COLOUR=green") && text.contains("OMP_NUM_THREADS=4"), "its environment");
    let restart = by_nobody(&restart(&dir)).expect("as before");
    let went_on = start(restart, &again, Some(Duration::from_secs(1)));
    assert!(went_on.is_none(), "{went_on:?}: {}", messages(&again));
}

/// Runs `exe` until it has checkpoints, as one that may not raise hard limits; it is killed. The first two
/// are the program's beginning, and its first region's.
fn killed(exe: &Path, scratch: &Scratch, args: &[&str]) {
    let newest = || promp_image::generation_files(&scratch.path("ckpt")).first().copied();
    let saved = |since| since > Duration::from_millis(200) && newest() > Some(2);
    let run = first_run(exe, args, &scratch.path("ckpt"));
    assert!(start_with(powerless(&run), &scratch.path("out"), Some(&saved), |_| ()).is_none(), "it ended");
}

/// `command` by one who may do nothing more than others.
fn powerless(command: &Command) -> Command {
    // SAFETY: plain call.
    let root = unsafe { libc::geteuid() } == 0;
    let mut c = Command::new(if root { "setpriv" } else { "env" });
    c.args(if root { &["--bounding-set=-all", "--inh-caps=-all"][..] } else { &[] });
    c.arg(command.get_program()).args(command.get_args());
    c.envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
    c
}

/// A hard limit below what the program has set, and nobody who may raise it.
#[test]
fn what_a_new_process_may_not_have_is_refused() {
    let exe = build("ckpt/hardened.c", &[]);
    let scratch = Scratch::new("hard-limits");
    killed(&exe, &scratch, &["1000000", "once"]);
    for (which, most, word) in [("-n", "700", "RLIMIT_NOFILE"), ("-c", "10", "RLIMIT_CORE")] {
        let again = powerless(&restart(&scratch.path("ckpt")));
        let mut c = Command::new("bash");
        c.args(["-c", &format!("ulimit {which} {most}; exec \"$@\""), "bash"]);
        c.arg(again.get_program()).args(again.get_args());
        refused(c, &scratch.path("again"), word);
    }
    // And with what it had it goes on.
    let again = powerless(&restart(&scratch.path("ckpt")));
    let went_on = start(again, &scratch.path("again"), Some(Duration::from_secs(1)));
    assert!(went_on.is_none(), "{went_on:?}: {}", messages(&scratch.path("again")));
}
