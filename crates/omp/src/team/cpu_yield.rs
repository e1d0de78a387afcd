//! Stepping aside: giving the CPU to another thread, as long as it comes back soon.
//!
//! With more threads than CPUs, a thread that waits gives its CPU away: whoever it waits for may want it, and
//! that costs less than sleeping and being woken. Where another process computes on the same CPU it is wrong:
//! that one keeps the CPU for a whole slice of time (1.4 to 4 ms), while a sleeper that is woken gets it at
//! once, since the kernel knows that it has had less than its share. It is the same with threads of the
//! program's own beside a team. So where slices are lost again and again, and not to members of teams, nobody
//! steps aside for a while, and for longer if it is still so afterwards (docs/internals/performance.md,
//! "Beside others").

use super::cpus::cpus;
use crate::sys::syscall;
use crate::sys::time::now_ns;
use crate::upward::cpu_time_of_members;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

/// Nanoseconds after which the CPU did not come back soon.
const LONG: u64 = 1_200_000;
/// So many times, or so many soon after a pause, are no accident...
const OFTEN: (u32, u32) = (4, 2);
/// ... within a time from this to that many nanoseconds: the kernel notes some of the CPU time used 4 ms
/// later.
const WINDOW: (u64, u64) = (16_000_000, 64_000_000);
/// How long nobody steps aside then, in nanoseconds, at first and at most.
const PAUSE: (u64, u64) = (50_000_000, 800_000_000);

/// What was seen of it. All relaxed: hints; an update that is lost costs a slice.
struct Aside {
    /// Since when slices are counted.
    since: AtomicU64,
    lost: AtomicU32,
    /// Has been looked at.
    seen: AtomicBool,
    pause: AtomicU64,
    /// Until when nobody steps aside.
    until: AtomicU64,
}

static ASIDE: Aside = Aside::new();

/// Gives the CPU to another thread that wants it. False if the caller had better sleep.
pub(crate) fn step_aside() -> bool {
    let began = now_ns();
    if ASIDE.is_paused(began) {
        return false;
    }
    syscall::sched_yield();
    let now = now_ns();
    now.saturating_sub(began) < LONG || !ASIDE.lost_a_slice(now, u64::from(cpus()), cpu_time_of_members)
}

impl Aside {
    const fn new() -> Self {
        Self {
            since: AtomicU64::new(0),
            lost: AtomicU32::new(0),
            seen: AtomicBool::new(false),
            pause: AtomicU64::new(0),
            until: AtomicU64::new(0),
        }
    }

    fn is_paused(&self, now: u64) -> bool {
        // Not `<`: in a process that was restarted after a reboot the clock may be far behind.
        self.until.load(Relaxed).wrapping_sub(now) <= PAUSE.1
    }

    /// Notes that a slice was lost at `now`; `used` tells what CPU time of `cpus` CPUs members of teams have
    /// used since it was asked last. True if that is no accident.
    fn lost_a_slice(&self, now: u64, cpus: u64, used: impl FnOnce() -> u64) -> bool {
        let time = now.wrapping_sub(self.since.load(Relaxed));
        if time > WINDOW.1 {
            self.since.store(now, Relaxed);
            used();
            self.lost.store(1, Relaxed);
            self.seen.store(false, Relaxed);
            return false;
        }
        let last = self.pause.load(Relaxed);
        let again = now.wrapping_sub(self.until.load(Relaxed)) < last;
        let (often, pause) = if again { (OFTEN.1, (2 * last).min(PAUSE.1)) } else { (OFTEN.0, PAUSE.0) };
        let lost = self.lost.fetch_add(1, Relaxed) + 1;
        // Once: telling the time takes the kernel longer the more threads there are.
        if lost < often || time < WINDOW.0 || self.seen.swap(true, Relaxed) {
            return false;
        }
        // Nothing is lost where members had the CPUs.
        if used() > time * cpus / 8 * 5 {
            return false;
        }
        self.pause.store(pause, Relaxed);
        self.until.store(now + pause, Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Slices lost at these times, in ms, while members used so many ms of CPU time each ms.
    fn lost(a: &Aside, times: impl IntoIterator<Item = u64>, share: u64) -> bool {
        let mut asked = 0;
        times.into_iter().fold(false, |p, t| {
            p | a.lost_a_slice(t * MS, 2, || share * MS * (t - core::mem::replace(&mut asked, t)))
        })
    }

    #[test]
    fn slices_lost_now_and_then_are_accidents() {
        let a = Aside::new();
        assert!(!lost(&a, (1000..9000).step_by(30), 0));
    }

    #[test]
    fn nothing_is_lost_to_members() {
        let a = Aside::new();
        assert!(!lost(&a, 1000..1500, 2));
        assert!(lost(&a, 2000..2100, 1));
    }

    #[test]
    fn many_at_once_say_nothing() {
        let a = Aside::new();
        assert!((0..1000).all(|i| !a.lost_a_slice(1000 * MS + i, 2, || 0)));
    }

    #[test]
    fn the_pause_doubles_while_slices_are_lost_and_is_short_again_afterwards() {
        let a = Aside::new();
        let mut now = 1_000;
        for (slices, pause) in [(4, 50), (2, 100), (2, 200), (2, 400), (2, 800), (2, 800)] {
            let last = now + 16 * (slices - 1);
            assert!(!lost(&a, (now..last).step_by(16), 0), "{pause}");
            assert!(lost(&a, [last], 0), "{pause}");
            assert!(a.is_paused(last * MS) && a.is_paused((last + pause) * MS));
            assert!(!a.is_paused((last + pause) * MS + 1));
            now = last + pause + 10;
        }
        assert!(lost(&a, [9000, 9005, 9010, 9020], 0));
        assert!(a.is_paused(9070 * MS) && !a.is_paused(9071 * MS));
    }

    #[test]
    fn a_clock_that_begins_anew_ends_the_pause() {
        let a = Aside::new();
        assert!(lost(&a, (1_000_000..1_000_100).step_by(5), 0));
        assert!(!a.is_paused(5 * MS));
    }
}
