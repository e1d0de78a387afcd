//! What a thread of this process waits for, as the kernel tells it (proc(5), `/proc/PID/task/TID/syscall`).

use crate::maps;
use core::fmt;
use std::ffi::CString;

/// What a thread does at the moment in which it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It computes, or waits for what goes back with it: a word of memory (futex), a time, a signal, or what
    /// comes to descriptors, each of which is saved or refused for its own sake.
    Inside,
    /// It is in this system call, whose end may come from somewhere else: another process, a device.
    Call(i64),
    /// The kernel does not tell, or the thread is gone.
    Unknown,
}

/// What host `tid` waits for.
pub fn of(tid: u32) -> Waits {
    call(tid).map_or(Waits::Unknown, |text| read(&text))
}

/// What the kernel tells of the system call in which host `tid` is: "running", the call's number, its
/// arguments, and the stack's and the program's address, or -1 and these.
pub fn call(tid: u32) -> Option<String> {
    let path = CString::new(format!("/proc/self/task/{tid}/syscall")).ok()?;
    maps::read_file(&path).map(|text| String::from_utf8_lossy(&text).into_owned())
}

/// futex_wait(2), since Linux 6.7.
const FUTEX_WAIT: i64 = 455;

/// The calls whose wait begins anew, or goes on, after a rollback (`ckpt/freeze/syscall_restart.rs`).
const INSIDE: [i64; 18] = [
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    FUTEX_WAIT,
    libc::SYS_sched_yield,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_pause,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
];

/// By what [`call`] has said.
fn read(text: &str) -> Waits {
    let first = text.split_whitespace().next().unwrap_or("");
    match (first, first.parse()) {
        ("running", _) | (_, Ok(-1)) => Waits::Inside,
        (_, Ok(call)) if INSIDE.contains(&call) => Waits::Inside,
        (_, Ok(call)) => Waits::Call(call),
        (_, Err(_)) => Waits::Unknown,
    }
}

/// The calls in which threads wait most.
const NAMES: [(i64, &str); 16] = [
    (libc::SYS_accept, "accept"),
    (libc::SYS_accept4, "accept"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_write, "write"),
    (libc::SYS_openat, "open"),
    (libc::SYS_wait4, "waitpid"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_msgrcv, "msgrcv"),
    (libc::SYS_semop, "semop"),
    (libc::SYS_semtimedop, "semtimedop"),
];

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inside => f.write_str("at work"),
            Self::Call(nr) => match NAMES.iter().find(|(n, _)| n == nr) {
                Some((_, name)) => write!(f, "in {name}"),
                None => write!(f, "in system call {nr}"),
            },
            Self::Unknown => f.write_str("state unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[test]
    fn the_kernels_words() {
        assert_eq!(read("running\n"), Waits::Inside);
        assert_eq!(read("202 0x7f 0x80 0x2 0x0 0x0 0xffffffff 0x7ffc 0x7f4a\n"), Waits::Inside);
        assert_eq!(read("-1 0x7ffc 0x7f4a\n"), Waits::Inside);
        assert_eq!(read("34 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc 0x7f4a\n"), Waits::Inside);
        assert_eq!(read("73 0x3 0x2 0x0 0x0 0x0 0x0 0x7ffc 0x7f4a\n").to_string(), "in flock");
        assert_eq!(read("7777 0x0\n").to_string(), "in system call 7777");
        assert_eq!(read(""), Waits::Unknown);
        assert_eq!(read("what\n"), Waits::Unknown);
    }

    /// Threads that wait in these ways are seen to.
    #[test]
    fn threads_are_told_apart() {
        let waits = |f: fn(), want: fn(Waits) -> bool| {
            let (tell, told) = mpsc::channel();
            std::thread::spawn(move || {
                tell.send(syscall::gettid()).unwrap();
                f();
            });
            let tid = told.recv().unwrap();
            let until = Instant::now() + Duration::from_secs(60);
            while !want(of(tid)) {
                assert!(Instant::now() < until, "{}", of(tid));
                std::thread::yield_now();
            }
        };
        let parks = || loop {
            std::thread::park();
        };
        waits(parks, |w| w == Waits::Inside);
        // SAFETY (both): wait, and touch nothing.
        waits(|| unsafe { assert!(libc::pause() < 0) }, |w| w == Waits::Inside);
        // Locked by another description of it.
        let lock_twice = || unsafe {
            let open = || libc::open(c"/tmp".as_ptr(), libc::O_TMPFILE | libc::O_RDWR, 0o600);
            let first = open();
            let name = std::ffi::CString::new(format!("/proc/self/fd/{first}")).unwrap();
            let second = libc::open(name.as_ptr(), libc::O_RDWR);
            assert!(first >= 0 && second >= 0 && libc::flock(first, libc::LOCK_EX) == 0);
            libc::flock(second, libc::LOCK_EX);
        };
        waits(lock_twice, |w| w == Waits::Call(libc::SYS_flock));
        assert_eq!(of(u32::MAX >> 2), Waits::Unknown);
    }
}
