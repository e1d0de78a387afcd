//! Time in which a program did not run: it was stopped, frozen, or goes on in a system of another time.

use crate::common::freezer::Freezer;
use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs uneven.c with a watchdog of a second, and makes it stand still as often, and each time for so many
/// milliseconds.
fn stands_still(stops: u32, pause: u64, begins: impl Fn(i32), stop: impl Fn(i32, bool)) {
    let exe = build("jobs/uneven.c", &[]);
    let mut c = Command::new(&exe);
    clean(&mut c);
    c.env("LD_PRELOAD", library()).env("PROMP_WATCHDOG", "1s").env("OMP_NUM_THREADS", "2");
    c.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = started(&mut c);
    let pid = child.id() as i32;
    begins(pid);
    for _ in 0..stops {
        std::thread::sleep(Duration::from_millis(20));
        stop(pid, true);
        std::thread::sleep(Duration::from_millis(pause));
        stop(pid, false);
    }
    let end = ended(child, LIMIT);
    assert_eq!((end.status, end.out.as_str()), (0, "s 56\n"), "{}", end.err);
    assert!(!end.err.contains("failed"), "{}", end.err);
}

/// Time in which nobody could run is nobody's failure: the process, or all of it again and again, stands
/// still for longer than the watchdog's limit.
#[test]
fn a_job_that_stands_still() {
    for (stops, pause) in [(2, 1500), (30, 80)] {
        let stop = |pid, still| kill(pid, if still { libc::SIGSTOP } else { libc::SIGCONT });
        stands_still(stops, pause, |_| {}, stop);
    }
}

/// The same for a job that its system freezes (containers that are paused, laptops that save power).
#[test]
fn a_job_that_is_frozen() {
    let Some(freezer) = Freezer::new() else {
        println!("SKIPPED: no control group can be made here");
        return;
    };
    for (stops, pause) in [(2, 1500), (30, 80)] {
        stands_still(stops, pause, |pid| freezer.takes(pid), |_, still| freezer.freezes(still));
    }
}

/// Continued on a system that was started later, or earlier (a time namespace stands for it): clocks do not
/// go back, and waits until a time of theirs end then.
#[test]
fn clocks_of_another_start_of_the_system() {
    let exe = build("jobs/clocks.c", &[]);
    let right = "back 0 late 0 early 0\n";
    let uptime = fs::read_to_string("/proc/uptime").expect("it is there");
    let up: f64 = uptime.split(' ').next().and_then(|w| w.parse().ok()).expect("seconds");
    let later = -(up as i64 - 30).max(0);
    for offset in [0, later, 100_000] {
        let s = Scratch::new("clocks");
        let dir = s.path("ckpt");
        let promp = started(&mut run(&dir, &["--every", "20ms"], &exe, &["120"]));
        wait("a checkpoint", || has_generation(&dir));
        std::thread::sleep(Duration::from_millis(100));
        kill(promp.id() as i32, libc::SIGKILL);
        if ended(promp, LIMIT).out == right {
            continue; // it was faster
        }
        let mut c = Command::new("unshare");
        clean(&mut c);
        c.arg("--time").args([format!("--monotonic={offset}"), format!("--boottime={offset}")]);
        c.arg("--fork").arg(command()).arg("restart").arg(&dir);
        let end = limited(c, LIMIT);
        if end.err.starts_with("unshare:") {
            println!("SKIPPED: {}", end.err);
            return;
        }
        assert!(!end.hung, "{offset}: {end:?}");
        assert_eq!((end.status, end.out.as_str()), (0, right), "{offset}: {}", end.err);
    }
}
