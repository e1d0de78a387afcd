//! What the kernel tells of descriptors without a file.

use super::*;

const TIMER: &str = "anon_inode:[timerfd]";

/// The texts are those of proc(5).
#[test]
fn what_the_kernel_tells() {
    let event = "pos:\t0\nflags:\t02\nmnt_id:\t10\neventfd-count:               1f\n";
    assert!(behind(3, "anon_inode:[eventfd]", event).is_err(), "a semaphore or not");
    let event = [event, "eventfd-id: 4\neventfd-semaphore: 1\n"].concat();
    let semaphore = Object::Event { count: 31, semaphore: true };
    assert_eq!(behind(3, "anon_inode:[eventfd]", &event), Ok(semaphore));
    let signals = "pos:\t0\nflags:\t04002\nsigmask:\t0000000000000006\n";
    assert_eq!(behind(3, "anon_inode:[signalfd]", signals), Ok(Object::Signals(6)));
    let text = "pos:\t0\nflags:\t02\n\
                tfd:       11 events:       19 data: 1234567800000005  pos:0 ino:1a8 sdev:f\n\
                tfd:        9 events: 80000001 data:               9  pos:0 ino:2 sdev:10\n";
    let want = [(11, 0x19, 0x1234_5678_0000_0005, 0x1a8), (9, 0x8000_0001, 9, 2)];
    let want = want.map(|(fd, events, data, inode)| Watched { fd, events, data, inode });
    assert_eq!(watched(text), Some(want.to_vec()));
    let text = "clockid: 1\nticks: 2\nsettime flags: 01\nit_value: (0, 49406829)\nit_interval: (1, 5)\n";
    let want = Object::Timer { clock: 1, ticks: 2, every: [1, 5], left: [0, 49_406_829] };
    assert_eq!(timer(text), Some(want));
    assert_eq!(timer(&text.replace("flags: 01", "flags: 03")), None);
    assert!(behind(3, "anon_inode:[io_uring]", "").is_err() && behind(3, "/memfd:x", "").is_err());
}

/// A timer that is set for `ns`, and then every `interval` ns.
fn set(ns: i64, interval: i64) -> i32 {
    let of = |tv_nsec| libc::timespec { tv_sec: 0, tv_nsec };
    let times = libc::itimerspec { it_interval: of(interval), it_value: of(ns) };
    // SAFETY: plain calls.
    unsafe {
        let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC);
        assert!(fd >= 0 && libc::timerfd_settime(fd, 0, &times, core::ptr::null_mut()) == 0);
        fd
    }
}

#[test]
fn a_timer_that_is_due_has_expired() {
    for ns in (1..200).map(|i| i * 1000) {
        let fd = set(ns, 0);
        let begin = time::now_ns();
        while time::now_ns() < begin + ns as u64 {}
        let found = Anonymous::default().behind(fd, TIMER, "");
        assert_eq!(found, Ok(Object::Timer { clock: 1, ticks: 1, every: [0, 0], left: [0, 0] }), "{ns}");
        // SAFETY: our own.
        unsafe { libc::close(fd) };
    }
}

#[test]
fn a_timer_that_comes_again_goes_on() {
    for interval in [1, 50_000, 10_000_000] {
        let fd = set(1000, interval);
        let Ok(Object::Timer { left, every, .. }) = Anonymous::default().behind(fd, TIMER, "") else {
            panic!("{interval}")
        };
        assert!(left != [0, 0] && left <= every && every == [0, interval as u64], "{interval}: {left:?}");
        // SAFETY: our own.
        unsafe { libc::close(fd) };
    }
}
