//! What the kernel keeps of a program's work outside of its memory: files that change places, open folders,
//! registrations, semaphores of System V; and crash signals that are sent.

use crate::common::kept::*;
use crate::common::saved::*;
use crate::common::*;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Rollbacks and restarts of `exe`, which has a folder of its own; not where the system has no such thing.
fn goes_on(source: &str, how: &[&str]) {
    let exe = build_kept(source);
    let scratch = Scratch::new(&[source, how.first().unwrap_or(&"")].concat().replace(['/', '.'], "-"));
    let folder = scratch.path("folder");
    let args = |steps| [&[steps, text(&folder)][..], how].concat();
    let want = reference(&exe, &args("3"), &[]);
    if want.out.contains("not here") {
        println!("SKIPPED: {source} {how:?}: the system does not have it");
        return;
    }
    kept(&want, "without promp");
    std::fs::remove_dir_all(&folder).expect("its folder");
    kept_throughout(&exe, &args("1000"), 2, |seed| [300 + 10 * (seed % 50), 800], "60ms");
}

#[test]
fn files_that_change_places_are_put_back() {
    for how in ["files", "folders", "number", "no"] {
        goes_on("ckpt/swaps.c", &[how]);
    }
}

#[test]
fn open_folders_go_on_where_they_were() {
    goes_on("ckpt/lists.c", &[]);
}

#[test]
fn fences_are_registered_again() {
    let exe = build_kept("ckpt/fences.c");
    let want = reference(&exe, &["3"], &[]);
    if want.out.contains("not here") {
        println!("SKIPPED: the system has no membarrier, or does not tell of registrations");
        return;
    }
    kept(&want, "without promp");
    kept_throughout(&exe, &["1000"], 2, |seed| [300 + 10 * (seed % 50), 800], "60ms");
}

/// A semaphore of System V that a test's programs share.
struct Semaphore(i32);

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: no pointers; what is not there is not removed.
        unsafe {
            let id = libc::semget(self.0, 0, 0);
            if id >= 0 {
                libc::semctl(id, 0, libc::IPC_RMID);
            }
        }
    }
}

#[test]
fn semaphores_of_system_v_are_refused() {
    let exe = build("ckpt/tokens.c", &[]);
    let semaphore = Semaphore(0x7072_0000 + std::process::id() as i32 % 0x1_0000);
    let key = semaphore.0.to_string();
    for how in ["count", "token", "gone", "number"] {
        let mut refused = false;
        // There is a checkpoint before it is done, unless the machine is slow.
        for _ in 0..10 {
            let scratch = Scratch::new("tokens");
            let env = [("PROMP_FAULT", "memerr@region=180"), ("PROMP_CKPT_INTERVAL", "10ms")];
            let r = checkpointed(&exe, &["200", how, &key], &scratch.path("ckpt"), &env);
            assert_eq!((r.status, &r.out[..]), (70, ""), "{how}: {}", r.err);
            refused = r.err.contains("System V semaphores");
            if refused {
                // A new process would find them as they are now, too.
                let again = limited(restart(&scratch.path("ckpt")), LIMIT);
                assert_eq!(again.status, 71, "{how}: {again:?}");
                assert!(again.err.contains("semaphores of System V"), "{how}: {again:?}");
                break;
            }
            assert!(r.err.contains("no checkpoint to return to"), "{how}: {}", r.err);
        }
        assert!(refused, "{how}: no checkpoint in time");
    }
}

/// Those that the program has made itself have their values again, and what is given back at its end.
#[test]
fn own_semaphores_of_system_v_are_put_back() {
    let exe = build_kept("ckpt/sets.c");
    if reference(&exe, &["1", "private"], &[]).out.contains("not here") {
        println!("SKIPPED: the system has no semaphores");
        return;
    }
    for how in ["private", "turn", "undo", "all"] {
        let args = |steps| [steps, how];
        kept(&reference(&exe, &args("3"), &[]), "without promp");
        kept_throughout(&exe, &args("300"), 2, |seed| [60 + 10 * (seed % 10), 200], "60ms");
    }
}

#[test]
fn semaphores_that_a_child_may_have_used_are_refused() {
    let exe = build("ckpt/sets.c", &[]);
    let scratch = Scratch::new("sets-child");
    let env = [("PROMP_FAULT", "memerr@region=180"), ("PROMP_CKPT_INTERVAL", "10ms")];
    let r = checkpointed(&exe, &["200", "child"], &scratch.path("ckpt"), &env);
    assert_eq!((r.status, &r.out[..]), (70, ""), "{}", r.err);
    assert!(r.err.contains("a child process may have used the program's System V semaphores"), "{}", r.err);
}

/// Who has none, and only asks for another's, has its checkpoints.
#[test]
fn semaphores_of_others_are_their_affair() {
    let exe = build_kept("ckpt/tokens.c");
    kept_throughout(&exe, &["1000", "asks", "0"], 2, |seed| [600 + 10 * (seed % 30), 900], "200ms");
}

/// A crash signal that is sent ends a program, whoever sends it, and whether its thread is known.
#[test]
fn crash_signals_that_are_sent_end_a_program() {
    let exe = build("ckpt/raises.c", &[]);
    let scratch = Scratch::new("raises");
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
        for how in ["raise", "region", "thread", "outside", "handler"] {
            let args = [&signal.to_string()[..], how];
            for r in [
                reference(&exe, &args, &[]),
                promp(&exe, &args, &[]),
                checkpointed(&exe, &args, &scratch.path("ckpt"), &[]),
            ] {
                assert_eq!((r.status, &r.out[..]), (128 + signal, ""), "{signal} {how}: {}", r.err);
            }
        }
    }
}

/// So does one that is sent to `promp run`, at whatever moment: before there is a program, too.
#[test]
fn crash_signals_that_are_sent_to_the_command_end_it() {
    use std::os::unix::process::ExitStatusExt;
    for step in 0..24 {
        let mut c = Command::new(command());
        let mut run = c.args(["run", "--", "sleep", "20"]).stderr(Stdio::null()).spawn().expect("promp");
        // The signal is to meet it at another point each time.
        std::thread::sleep(Duration::from_micros(400 * step));
        // SAFETY: a child that has not been waited for.
        unsafe { libc::kill(run.id() as i32, libc::SIGSEGV) };
        let since = Instant::now();
        while run.try_wait().expect("a child").is_none() {
            assert!(since.elapsed() < LIMIT, "{step}: the signal is lost");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(run.wait().expect("a child").signal(), Some(libc::SIGSEGV), "{step}");
    }
}
