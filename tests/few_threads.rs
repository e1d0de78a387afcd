//! A system that gives too few threads (RLIMIT_NPROC) for the runtime's own, or for a new host: it is said,
//! and nothing waits for ever.

use crate::common::saved::*;
use crate::common::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const PROGRAM: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main(void) {
    long n = 0;
    for (int step = 0; step < 300; step++) {
#pragma omp parallel for reduction(+ : n)
        for (int i = 0; i < 20000; i++)
            n += i % 7;
        usleep(1000);
    }
    printf("%ld\n", n);
    return 0;
}
"#;

/// Four threads, and the keeper.
const ALL: u64 = 5;

/// By a user who has nothing else, whose number is in `s`, and who may have so many threads.
fn with_threads(s: &Scratch, mut c: Command, most: u64) -> Run {
    let user = fs::metadata(s.path("home")).expect("a folder").uid();
    c.uid(user).gid(user).current_dir("/");
    // SAFETY: a system call.
    unsafe {
        c.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            match libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    limited(c, LIMIT)
}

/// The program, the library and the command where any user finds them.
fn copied(s: &Scratch) {
    let program = compiled("few_threads", "counts", PROGRAM, &["-O2", "-fopenmp"]);
    for (from, to) in
        [(program, "counts"), (library(), "libpromp.so"), (library().with_file_name("promp"), "promp")]
    {
        fs::copy(from, s.path(to)).expect("a copy");
        fs::set_permissions(s.path(to), Permissions::from_mode(0o755)).expect("permissions");
    }
    // What is in it are the user's folders; no two tests have the same user.
    static USERS: AtomicU32 = AtomicU32::new(0);
    let user = 1_000_000 + 8 * std::process::id() + USERS.fetch_add(1, Relaxed);
    fs::create_dir(s.path("home")).expect("a folder");
    std::os::unix::fs::chown(s.path("home"), Some(user), Some(user)).expect("another owner");
}

fn checkpoints(s: &Scratch) -> PathBuf {
    s.path("home/ckpt")
}

fn counts(s: &Scratch, env: &[(&str, &str)]) -> Command {
    let mut c = Command::new(s.path("counts"));
    clean(&mut c);
    let _ = fs::remove_dir_all(checkpoints(s));
    c.env("LD_PRELOAD", s.path("libpromp.so")).env("PROMP_CKPT_DIR", checkpoints(s));
    c.envs([THREADS, ("PROMP_VERBOSE", "1"), ("PROMP_CKPT_INTERVAL", "20ms")]);
    c.envs(env.iter().copied());
    c
}

/// Root has no such limit, and may become anybody; others cannot know what their user has.
fn may_try() -> bool {
    // SAFETY: a plain call.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        println!("SKIPPED: only root can become a user who has no other process");
    }
    root
}

#[test]
fn too_few_threads_are_said() {
    if !may_try() {
        return;
    }
    let s = Scratch::new("few-threads");
    copied(&s);
    let want = "17999100\n";
    for most in 1..=ALL {
        let r = with_threads(&s, counts(&s, &[]), most);
        assert_eq!((r.status, r.out.as_str()), (0, want), "{most}: {}", r.err);
        assert_eq!(r.err.contains("no checkpoints: the system gives no thread"), most == 1, "{}", r.err);
        let workers = format!("going on with {} worker threads", most.saturating_sub(2));
        assert_eq!(r.err.contains(&workers), most < ALL, "{most}: {}", r.err);
        assert_eq!(r.err.contains("(ulimit -u?)"), most < ALL, "{most}: {}", r.err);
    }
}

/// A killed thread's work needs a host more than there may be: memory goes back instead, and then there may
/// be one again, but where the first host stays as long as the process.
#[test]
fn a_host_that_cannot_be_had_is_a_case_for_a_checkpoint() {
    if !may_try() {
        return;
    }
    let s = Scratch::new("few-hosts");
    copied(&s);
    for fault in ["kill@region=200,thread=1", "kill@region=200,thread=0", "memerr@region=200,thread=2"] {
        let r = with_threads(&s, counts(&s, &[("PROMP_FAULT", fault)]), ALL);
        assert!(!r.hung, "{fault}: {r:?}");
        if !too_early(&r) {
            let went_on = (r.status, r.out.as_str()) == (0, "17999100\n") && r.err.contains("rolled back");
            let stopped = r.status == 70 && r.err.contains("no host for a thread (ulimit -u?)");
            assert!(if fault.contains("thread=0") { stopped } else { went_on }, "{fault}: {r:?}");
        }
    }
}

/// A failure that meets a checkpoint's stop on its way out is not saved: it would come back for ever.
#[test]
fn a_failure_in_a_checkpoints_stop_is_not_saved() {
    if !may_try() {
        return;
    }
    let s = Scratch::new("few-saved");
    copied(&s);
    for n in 0..12 {
        let fault = [("PROMP_FAULT", "kill@region=200,thread=1"), ("PROMP_CKPT_INTERVAL", "2ms")];
        let r = with_threads(&s, counts(&s, &fault), ALL);
        assert!(!r.hung, "run {n}: {r:?}");
        assert!(too_early(&r) || (r.status, r.out.as_str()) == (0, "17999100\n"), "run {n}: {r:?}");
    }
}

#[test]
fn a_restart_with_too_few_threads_is_refused() {
    if !may_try() {
        return;
    }
    let s = Scratch::new("few-restart");
    copied(&s);
    let died = with_threads(&s, counts(&s, &[("PROMP_FAULT", "die@region=250")]), 20);
    assert_eq!(died.status, 137, "{died:?}");
    if !has_generation(&checkpoints(&s)) {
        return;
    }
    for most in [2, 4, 20] {
        let mut c = Command::new(s.path("promp"));
        clean(&mut c);
        c.arg("restart").arg(checkpoints(&s));
        let r = with_threads(&s, c, most);
        let refused =
            r.status == 71 && r.err.contains("the system gives no ") && r.err.contains("(ulimit -u?)");
        let went_on = (r.status, r.out.as_str()) == (0, "17999100\n");
        assert!(if most == 20 { went_on } else { refused }, "{most}: {r:?}");
    }
}
