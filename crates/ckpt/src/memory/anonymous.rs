//! Descriptors without a file (the kernel says "anon_inode"): objects of which only this process knows: counters (eventfd), timers (timerfd), sets of signals (signalfd), and sets of
//! descriptors that are waited for (epoll). The kernel tells what is in them (proc(5), "fdinfo"), so that a rollback and a restart make new ones that are as those were.
//!
//! A timer has the time that was left. One that is due, but of which no CPU has been told yet, looks to the kernel's lists like one that is not set: in a virtual machine for 20 to 50 µs
//! each time it expires. (A program that sets one for a millisecond again and again waited for ever after one of 1,000 rollbacks.) So it is looked at once more when every CPU has had time to be told.
//!
//! What an edge-triggered set has told of, and the program has not dealt with, it tells of again.

use crate::image::{Object, OpenFile, Watched};
use crate::sys;
use crate::sys::initial_affinity;
use crate::sys::syscall::{CpuSet, getpid, high};
use crate::sys::time;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// `struct itimerspec`: the interval and the value, in seconds and nanoseconds.
type Times = [[u64; 2]; 2];

/// How late a CPU that runs is told of a timer that is due, at most.
const LATE_NS: u64 = 100_000;

/// What is behind the descriptors of a frozen process.
#[derive(Default)]
pub(crate) struct Anonymous {
    /// Every CPU has had time to be told of timers since the threads were frozen.
    told: bool,
}

impl Anonymous {
    /// What is behind a descriptor of which the kernel says `info`, if it is named like this; the error says why it cannot be saved.
    pub(crate) fn behind(&mut self, fd: i32, name: &str, info: &str) -> Result<Object, String> {
        match name {
            "anon_inode:[timerfd]" => self.timer(fd).ok_or_else(|| unclear(name)),
            _ => behind(fd, name, info),
        }
    }

    fn timer(&mut self, fd: i32) -> Option<Object> {
        // It may come as often as it is asked.
        let mut tries = 50;
        loop {
            let mut times: Times = [[0; 2]; 2];
            // One that comes again and again, and has not been read since it last expired, is set for the next time by being asked.
            // SAFETY: the kernel writes times.
            unsafe { sys!(libc::SYS_timerfd_gettime, fd, &raw mut times) };
            let found = timer(&fs::read_to_string(format!("/proc/thread-self/fdinfo/{fd}")).ok()?)?;
            match found {
                Object::Timer { ticks: 0, left: [0, 0], .. } if !self.told => {
                    tell_all_cpus();
                    self.told = true;
                }
                Object::Timer { clock, ticks: ticks @ 1.., every, left: [0, 0] } if every != [0, 0] => {
                    if tries == 0 {
                        return Some(Object::Timer { clock, ticks, every, left: every });
                    }
                    tries -= 1;
                }
                _ => return Some(found),
            }
        }
    }
}

/// Runs on each CPU for as long as it may take it to be told of a timer: one that runs, runs the interrupt first.
fn tell_all_cpus() {
    let until = |ns| while time::now_ns() < ns {};
    for cpu in initial_affinity::at_load().iter().flat_map(|set| set.cpus()) {
        CpuSet::of(&[cpu]).apply(0);
        until(time::now_ns() + LATE_NS);
    }
    initial_affinity::use_all();
}

fn unclear(name: &str) -> String {
    format!("{name}, of which this kernel does not tell enough")
}

fn behind(fd: i32, name: &str, info: &str) -> Result<Object, String> {
    let unclear = || unclear(name);
    match name.strip_prefix("anon_inode:") {
        Some("[eventfd]") => event(info).ok_or_else(unclear),
        Some("[signalfd]") => field(info, "sigmask:").and_then(hex).map(Object::Signals).ok_or_else(unclear),
        Some("[eventpoll]") => {
            let watched = watched(info).ok_or_else(unclear)?;
            match watched.iter().find(|w| !is_watched(fd, w, &watched)) {
                Some(w) => Err(format!("{name}, which waits for a file that descriptor {} was", w.fd)),
                None => Ok(Object::Watches(watched)),
            }
        }
        _ => Err(name.into()),
    }
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|l| l.strip_prefix(name)).map(str::trim)
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn event(info: &str) -> Option<Object> {
    // Before Linux 6.5 the kernel does not say whether it is a semaphore.
    let semaphore = field(info, "eventfd-semaphore:")? != "0";
    Some(Object::Event { count: field(info, "eventfd-count:").and_then(hex)?, semaphore })
}

fn timer(info: &str) -> Option<Object> {
    const CANCEL_ON_SET: u64 = 2;
    let number = |name| field(info, name)?.parse::<u64>().ok();
    let pair = |name| {
        let (s, ns) = field(info, name)?.strip_prefix('(')?.strip_suffix(')')?.split_once(", ")?;
        Some([s.parse().ok()?, ns.parse().ok()?])
    };
    let flags = u64::from_str_radix(field(info, "settime flags:")?, 8).ok()?;
    (flags & CANCEL_ON_SET == 0).then_some(())?;
    Some(Object::Timer {
        clock: number("clockid:")? as i32,
        ticks: number("ticks:")?,
        every: pair("it_interval:")?,
        left: pair("it_value:")?,
    })
}

fn watched(info: &str) -> Option<Vec<Watched>> {
    let of = |l: &str| {
        let mut words = l.split_whitespace();
        let mut after = |name: &str| words.by_ref().skip_while(|w| *w != name).nth(1).map(str::to_owned);
        Some(Watched {
            fd: after("tfd:")?.parse().ok()?,
            events: hex(&after("events:")?)? as u32,
            data: hex(&after("data:")?)?,
            inode: words.find_map(|w| w.strip_prefix("ino:")).and_then(hex)?,
        })
    };
    info.lines().filter(|l| l.starts_with("tfd:")).map(of).collect()
}

/// Is what `set` waits for still open by that number? A set goes on with a file whose descriptor has been closed, if there is another one for it.
fn is_watched(set: i32, w: &Watched, all: &[Watched]) -> bool {
    const KCMP_EPOLL_TFD: usize = 7;
    let slot = [set as u32, w.fd as u32, 0];
    let me = getpid();
    // SAFETY: the kernel reads three words.
    let r = unsafe { sys!(libc::SYS_kcmp, me, me, KCMP_EPOLL_TFD, w.fd, slot.as_ptr(), 0) };
    // Where the system does not compare: it is the same inode, at least.
    let same_inode =
        || fs::metadata(format!("/proc/thread-self/fd/{}", w.fd)).is_ok_and(|m| m.ino() == w.inode);
    let once = all.iter().filter(|o| o.fd == w.fd).count() == 1;
    once && (r == 0
        || (r < 0 && r != -(libc::EBADF as isize) && r != -(libc::ENOENT as isize) && same_inode()))
}

/// Makes the objects that `saved` tells of anew, when all other files are open.
pub(crate) fn put_back(saved: &[OpenFile]) -> Result<(), String> {
    let all = || saved.iter().filter_map(|s| Some((s, s.object.as_ref()?)));
    let failed = |s: &OpenFile, e: isize| format!("descriptor {} ({}): {}", s.fd, s.path, sys::why(e));
    for (s, object) in all() {
        let r = match s.same_as {
            // SAFETY: descriptors of the program.
            Some(first) => unsafe { sys!(libc::SYS_dup3, first, s.fd, s.flags & libc::O_CLOEXEC) },
            None => make(s, object),
        };
        if r < 0 {
            return Err(failed(s, r));
        }
    }
    for (s, object) in all().filter(|(s, _)| s.same_as.is_none()) {
        let Object::Watches(watched) = object else { continue };
        for w in watched {
            let event = libc::epoll_event { events: w.events, u64: w.data };
            // SAFETY: descriptors of the program, and an event.
            let r = unsafe { sys!(libc::SYS_epoll_ctl, s.fd, libc::EPOLL_CTL_ADD, w.fd, &raw const event) };
            if r < 0 {
                return Err(failed(s, r));
            }
        }
    }
    Ok(())
}

/// A new object where the one of `s` was. What is negative is the system's error.
fn make(s: &OpenFile, object: &Object) -> isize {
    // SAFETY: plain calls, and words that the kernel reads.
    let new = unsafe {
        match object {
            Object::Event { semaphore, .. } => {
                sys!(libc::SYS_eventfd2, 0, if *semaphore { libc::EFD_SEMAPHORE } else { 0 })
            }
            Object::Timer { clock, .. } => sys!(libc::SYS_timerfd_create, *clock, 0),
            Object::Signals(set) => sys!(libc::SYS_signalfd4, -1isize, &raw const *set, 8, 0),
            Object::Watches(_) => sys!(libc::SYS_epoll_create1, 0),
        }
    };
    if new < 0 {
        return new;
    }
    let new = high(new);
    // SAFETY: descriptors of ours and of the program's, words that the kernel reads.
    unsafe {
        let mut r = fill(new, object);
        if r >= 0 {
            r = sys!(libc::SYS_dup3, new, s.fd, s.flags & libc::O_CLOEXEC);
        }
        if r >= 0 {
            r = sys!(libc::SYS_fcntl, s.fd, libc::F_SETFL, s.flags);
        }
        sys!(libc::SYS_close, new);
        r
    }
}

/// Gives a new object its content, but for what a set waits for.
fn fill(new: i32, object: &Object) -> isize {
    /// `TFD_IOC_SET_TICKS`.
    const SET_TICKS: usize = 0x4008_5400;
    // SAFETY: words that the kernel reads.
    unsafe {
        match object {
            Object::Event { count: count @ 1.., .. } => sys!(libc::SYS_write, new, &raw const *count, 8),
            Object::Timer { ticks, every, left, .. } => {
                let times: Times = [*every, *left];
                let r = sys!(libc::SYS_timerfd_settime, new, 0, &raw const times, 0);
                match *ticks {
                    1.. if r >= 0 => sys!(libc::SYS_ioctl, new, SET_TICKS, &raw const *ticks),
                    _ => r,
                }
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
