//! A CPU for each thread.
//!
//! The kernel may leave two threads of a team on one CPU while another is free: a new thread waits on its
//! creator's, a woken one on its waker's, and where the kernel takes each CPU for a cache of its own
//! (virtual machines) it looks for no other. Members that wait for each other then take turns, a sleep
//! and a wake-up for every barrier (a hundred microseconds instead of a tenth), and the kernel's
//! balancing takes its time, because both have just run. Neither ever sees the other awake there. So
//! every thread has a *home*, a CPU that is nobody else's: the one that it begins or wakes up on, or, if
//! that is another's home or its waker's CPU, one that is nobody's, to which it steps aside. Its affinity
//! mask is the same afterwards. Only where a thread has slept, at most once in a millisecond, and not if
//! there are more threads than CPUs or threads are bound.

use super::event_count::Patience;
use crate::sys::own::Own;
use crate::sys::signals;
use crate::sys::syscall::{self, CpuSet};
use crate::sys::time;
use crate::upward::home_of_caller;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

const CPUS: usize = 1024;
const INTERVAL_NS: u64 = 1_000_000;
/// No CPU.
const NOWHERE: u32 = u32::MAX;

/// Where a thread is at home. Its own.
pub(crate) struct Home {
    /// The CPU.
    cpu: Own<u32>,
    /// Place the host is bound to; `u32::MAX`: not bound.
    pub(crate) bound: Own<u32>,
    /// When the thread stepped aside last, in nanoseconds.
    moved: Own<u64>,
}

impl Default for Home {
    fn default() -> Self {
        Self { cpu: Own::new(NOWHERE), bound: Own::new(u32::MAX), moved: Own::new(0) }
    }
}

/// Whose home each CPU is: the address of a thread's [`Home`], 0: nobody's. This table decides; what a thread
/// remembers may be over. All relaxed: hints, only a home is never two threads'.
struct Homes<const N: usize>([AtomicUsize; N]);

static HOMES: Homes<CPUS> = Homes([const { AtomicUsize::new(0) }; CPUS]);

impl<const N: usize> Homes<N> {
    /// Makes `cpu` the home of `who` if it is nobody else's; does so of a CPU beyond the table, too.
    fn take(&self, who: usize, cpu: u32) -> bool {
        let Some(home) = self.0.get(cpu as usize) else { return true };
        home.compare_exchange(0, who, Relaxed, Relaxed).map_or_else(|is| is == who, |_| true)
    }

    /// `who` runs on `cpu`, and whoever had its home there sleeps, or shares it.
    fn take_over(&self, who: usize, cpu: u32) {
        if let Some(home) = self.0.get(cpu as usize)
            && home.load(Relaxed) != who
        {
            home.store(who, Relaxed);
        }
    }

    fn is_of(&self, who: usize, cpu: u32) -> bool {
        self.0.get(cpu as usize).is_some_and(|h| h.load(Relaxed) == who)
    }

    fn leave(&self, who: usize, cpu: u32) {
        if let Some(home) = self.0.get(cpu as usize) {
            let _ = home.compare_exchange(who, 0, Relaxed, Relaxed);
        }
    }

    /// A home for `who` among `allowed`, elsewhere than on `cpu`: the one it has (`home`), or else the
    /// next behind
    /// `cpu` that is nobody's.
    fn find(
        &self,
        who: usize,
        cpu: u32,
        home: u32,
        allowed: impl Iterator<Item = u32> + Clone,
    ) -> Option<u32> {
        let behind = |c: &u32| *c > cpu;
        let others = || allowed.clone().filter(|&c| c != cpu && (c as usize) < N);
        if others().any(|c| c == home) && self.is_of(who, home) {
            return Some(home);
        }
        let (mut after, mut before) = (others().filter(behind), others().filter(|c| !behind(c)));
        after.find(|&c| self.take(who, c)).or_else(|| before.find(|&c| self.take(who, c)))
    }
}

/// Who starts or wakes a thread: the CPU that it was on.
#[derive(Default)]
pub(crate) struct Waker(AtomicU32);

impl Waker {
    /// The caller is about to.
    pub(crate) fn is_here(&self) {
        let cpu = syscall::cpu();
        self.0.store(cpu, Relaxed);
        if let Some(me) = home_of_caller()
            && !HOMES.is_of(address(me), cpu)
        {
            move_in(me, cpu, || HOMES.take_over(address(me), cpu));
        }
    }

    /// The caller has been started or woken, and means to wait with `patience`.
    pub(crate) fn leave_cpu_to(&self, patience: Patience) {
        if !patience.crowded {
            step_aside(self.0.load(Relaxed));
        }
    }
}

fn address(me: &Home) -> usize {
    core::ptr::from_ref(me).addr()
}

/// A thread has taken `cpu` for its home, which `take` does.
fn move_in(me: &Home, cpu: u32, take: impl FnOnce()) {
    let before = me.cpu.get();
    take();
    if before != cpu {
        HOMES.leave(address(me), before);
        me.cpu.set(cpu);
    }
}

/// The thread ends.
pub(crate) fn move_out(me: &Home) {
    HOMES.leave(address(me), me.cpu.get());
    me.cpu.set(NOWHERE);
}

/// In a child after fork there are no others.
pub(crate) fn forget_others() {
    HOMES.0.iter().for_each(|h| h.store(0, Relaxed));
}

/// Signals that come from elsewhere.
const ALL_BUT_CRASHES: u64 = {
    let (mut set, mut i) = (u64::MAX, 0);
    while i < signals::CRASHES.len() {
        set &= !(1 << (signals::CRASHES[i] - 1));
        i += 1;
    }
    set
};

/// Leaves CPU `other`, or another's home.
#[cold]
fn step_aside(other: u32) {
    let Some(home) = home_of_caller() else { return };
    let (me, cpu) = (address(home), syscall::cpu());
    if cpu != other && HOMES.take(me, cpu) {
        return move_in(home, cpu, || ());
    }
    let now = time::now_ns();
    note(cpu, now);
    if home.bound.get() != u32::MAX || now < home.moved.get() + INTERVAL_NS {
        return;
    }
    home.moved.set(now);
    // No checkpoint in between: where it is continued other CPUs may be allowed.
    let mask = signals::block(ALL_BUT_CRASHES);
    leave(home, cpu, other, now);
    signals::set_mask(mask);
}

/// Leaves `cpu`, where a thread that woke this one was on `other`, and may run wherever it could before.
fn leave(home: &'static Home, cpu: u32, other: u32, now: u64) {
    let me = address(home);
    let Some(allowed) = syscall::CpuSet::of_host(0) else { return };
    let to = match HOMES.find(me, cpu, home.cpu.get(), allowed.cpus()) {
        Some(to) => {
            move_in(home, to, || ());
            to
        }
        // More threads than CPUs in all, if not in this team: at least not the waker's.
        None if cpu == other => {
            let after = |c: &u32| c.wrapping_sub(cpu + 1);
            let others = allowed.cpus().filter(|&c| c != cpu && (c as usize) < CPUS);
            let Some(to) = others.min_by_key(|c| (SEEN[*c as usize].load(Relaxed), after(c))) else { return };
            to
        }
        None => return,
    };
    CpuSet::of(&[to]).apply(0);
    allowed.apply(0);
    note(to, now);
}

/// When a thread of the runtime was last seen to step aside on, or to, each CPU, in milliseconds; 0: never.
static SEEN: [AtomicU32; CPUS] = [const { AtomicU32::new(0) }; CPUS];

fn note(cpu: u32, now: u64) {
    if let Some(seen) = SEEN.get(cpu as usize) {
        seen.store((now / 1_000_000) as u32, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes() -> Homes<8> {
        Homes([const { AtomicUsize::new(0) }; 8])
    }

    #[test]
    fn a_home_is_one_threads() {
        let h = homes();
        assert!(h.take(1, 3) && h.take(1, 3) && !h.take(2, 3));
        h.leave(2, 3);
        assert!(!h.take(2, 3));
        h.leave(1, 3);
        assert!(h.take(2, 3));
        assert!(h.take(1, 9) && h.take(2, 9), "nobody knows about CPUs beyond the table");
    }

    #[test]
    fn who_meets_another_goes_home_or_to_the_next_free_one() {
        let h = homes();
        assert!(h.take(1, 2) && h.take(2, 3));
        assert_eq!(h.find(3, 2, NOWHERE, 0..8), Some(4));
        assert_eq!(h.find(3, 2, 4, 0..8), Some(4), "it has that one");
        assert_eq!(h.find(4, 6, NOWHERE, 0..7), Some(0), "round the end");
        assert_eq!(h.find(5, 2, NOWHERE, [2, 3, 4].into_iter()), None, "all are others'");
        assert_eq!(h.find(3, 4, 4, 0..8), Some(5), "its waker runs on its own home");
    }

    #[test]
    fn a_waker_takes_the_home_of_a_sleeper_who_then_finds_the_wakers() {
        let h = homes();
        assert!(h.take(1, 0) && h.take(2, 1));
        h.take_over(1, 1);
        h.leave(1, 0);
        assert_eq!(h.find(2, 1, 1, 0..2), Some(0));
    }

    #[test]
    fn threads_that_look_at_the_same_time_find_different_homes() {
        for _ in 0..50 {
            let h = homes();
            let found = std::sync::Mutex::new(Vec::new());
            std::thread::scope(|s| {
                for me in 1..=7 {
                    let (h, found) = (&h, &found);
                    s.spawn(move || found.lock().unwrap().push(h.find(me, 0, NOWHERE, 0..8)));
                }
            });
            let mut found = found.into_inner().unwrap();
            found.sort_unstable();
            assert_eq!(found, (1..8).map(Some).collect::<Vec<_>>());
        }
    }
}
