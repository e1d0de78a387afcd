//! The process' interval timers (setitimer, alarm) are part of a checkpoint: the time that was left, by the
//! clock that each counts, and the interval. What one has sent and nobody has taken is, too.

use super::resource::{Back, Frozen, No, Resource};
use crate::image::Description;
use crate::sys;
use crate::sys::{pending_signals, syscall};
use core::ffi::c_int;

/// By the time of day, by the program's own CPU time, by all of its CPU time: what they send.
const SIGNALS: [c_int; 3] = [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF];

/// Microseconds: until it expires (0: it does not), and from then on.
type Alarm = [u64; 2];

/// How often it is looked whether none has expired while signals were looked for.
const LOOKS: usize = 100;

/// All three.
#[derive(Default)]
pub(crate) struct Alarms;

impl Resource for Alarms {
    fn look(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        let (alarms, sent) = saved();
        about.alarms = alarms;
        // Nobody tells the next process that a timer has sent it.
        about.pending |= sent;
        Ok(())
    }

    fn put_back(&mut self, to: &Back, _: &mut Description) -> Result<(), String> {
        if !to.new_process {
            stop();
        }
        Ok(())
    }

    fn resume(&mut self, _: bool, about: &Description) -> Result<Vec<String>, String> {
        for (which, alarm) in about.alarms.iter().enumerate().filter(|(_, a)| a[0] != 0) {
            if which >= SIGNALS.len() || !start(which, *alarm) {
                return Err("the system does not give the program its interval timer back (setitimer)".into());
            }
        }
        Ok(Vec::new())
    }
}

fn set() -> u64 {
    SIGNALS.iter().fold(0, |set, s| set | pending_signals::bit(*s))
}

fn now(which: usize) -> Alarm {
    let mut t = [0i64; 4];
    // SAFETY: the kernel writes an itimerval: the interval, then what is left.
    unsafe { sys!(libc::SYS_getitimer, which, t.as_mut_ptr()) };
    let us = |s: i64, us: i64| s as u64 * 1_000_000 + us as u64;
    [us(t[2], t[3]), us(t[0], t[1])]
}

fn start(which: usize, [left, interval]: Alarm) -> bool {
    let t = [interval / 1_000_000, interval % 1_000_000, left / 1_000_000, left % 1_000_000];
    // SAFETY: the kernel reads an itimerval.
    unsafe { sys!(libc::SYS_setitimer, which, t.as_ptr(), 0) == 0 }
}

/// Is `b`, read later than `a`, what it can be if it has not expired in between?
fn went_on(a: &Alarm, b: &Alarm) -> bool {
    b[0] <= a[0] && (b[0] != 0 || a[0] == 0)
}

/// One with an interval goes on although nothing is left: the kernel stops the first one until its signal has
/// been taken; the others are due, by clocks that it counts in ticks, and it has not looked at them yet.
fn goes_on(which: usize, a: &mut Alarm) {
    if a[0] == 0 && a[1] != 0 {
        a[0] = if which == 0 { a[1] } else { 1 };
    }
}

/// All three, and which of their signals wait for the process. Its threads are frozen.
fn saved() -> (Vec<Alarm>, u64) {
    let all = || [0, 1, 2].map(now);
    let mut alarms = all();
    let mut waits = 0;
    for _ in 0..LOOKS {
        waits = pending_signals::set_of(0, "ShdPnd").unwrap_or(0) & set();
        let before = core::mem::replace(&mut alarms, all());
        if before.iter().zip(&alarms).all(|(a, b)| went_on(a, b)) {
            break;
        }
    }
    alarms.iter_mut().enumerate().for_each(|(which, a)| goes_on(which, a));
    let any = alarms.iter().any(|a| a[0] != 0);
    (if any { alarms.to_vec() } else { Vec::new() }, waits)
}

/// For a rollback: they stop, and what they have sent since the checkpoint has not been sent. All signals are
/// blocked, the program's threads are frozen.
fn stop() {
    for which in 0..SIGNALS.len() {
        start(which, [0, 0]);
    }
    // What others have sent stays.
    let mut others: Vec<pending_signals::Info> = Vec::new();
    while pending_signals::set_of(0, "ShdPnd").unwrap_or(0) & set() != 0 {
        let Some(info) = pending_signals::take_one(set()) else { break };
        let by_the_kernel = (info[1] as i32) == libc::SI_KERNEL;
        others.extend((!by_the_kernel).then_some(info));
    }
    for info in others {
        // SAFETY: what the kernel has written.
        unsafe { sys!(libc::SYS_rt_sigqueueinfo, syscall::getpid(), info[0] as i32, info.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_with_an_interval_are_never_off() {
        let after = |which, mut a: Alarm| {
            goes_on(which, &mut a);
            a[0]
        };
        assert_eq!([after(0, [0, 8]), after(1, [0, 8]), after(2, [0, 8])], [8, 1, 1]);
        assert_eq!([after(0, [0, 0]), after(2, [0, 0]), after(2, [5, 8])], [0, 0, 5]);
    }

    #[test]
    fn what_can_be_if_none_has_expired() {
        assert!(went_on(&[0, 0], &[0, 0]) && went_on(&[9, 5], &[3, 5]));
        assert!(!went_on(&[9, 0], &[0, 0]) && !went_on(&[1, 5], &[5, 5]));
    }
}
