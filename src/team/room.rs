//! A CPU for each thread.
//!
//! The kernel may leave two threads of a team on one CPU while another is free: a new thread waits on its creator's, a woken one on its
//! waker's. Members that wait for each other then take turns, a sleep and a wake-up for every barrier (a hundred microseconds
//! instead of a tenth), and the kernel's balancing takes its time, because both have just run. So a thread that begins or wakes up on the
//! CPU of the one that started or woke it steps aside, to an allowed CPU on which none of the runtime's threads was seen lately. Its affinity
//! mask is the same afterwards. Only where a thread has slept, at most once in a millisecond, and not
//! if there are more threads than CPUs or threads are bound.

use super::event::Patience;
use crate::sys::syscall::{self, CpuSet};
use crate::sys::{time, tls};
use core::sync::atomic::{AtomicU32, Ordering::*};

const CPUS: usize = 1024;
const INTERVAL_NS: u64 = 1_000_000;

/// When a thread of the runtime was last seen to begin or wake up on each CPU, in milliseconds; 0: never. Hints.
static SEEN: [AtomicU32; CPUS] = [const { AtomicU32::new(0) }; CPUS];

/// Who starts or wakes a thread: the CPU that it was on.
#[derive(Default)]
pub struct Waker(AtomicU32);

impl Waker {
    /// The caller is about to.
    pub fn is_here(&self) {
        self.0.store(syscall::cpu(), Relaxed);
    }

    /// The caller has been started or woken, and means to wait with `patience`.
    pub fn leave_cpu_to(&self, patience: Patience) {
        if !patience.crowded {
            step_aside(self.0.load(Relaxed));
        }
    }
}

/// Leaves CPU `other`.
#[cold]
fn step_aside(other: u32) {
    let Some(thr) = tls::get() else { return };
    let (cpu, now) = (syscall::cpu(), time::now_ns());
    note(cpu, now);
    if cpu != other || thr.bound.get() != u32::MAX || now < thr.moved.get() + INTERVAL_NS {
        return;
    }
    thr.moved.set(now);
    let Some(allowed) = syscall::CpuSet::of_host(0) else { return };
    let after = |c: &u32| c.wrapping_sub(cpu + 1); // the ones behind this one first
    let free = allowed.cpus().filter(|&c| c != cpu && (c as usize) < CPUS);
    if let Some(to) = free.min_by_key(|c| (SEEN[*c as usize].load(Relaxed), after(c))) {
        CpuSet::of(&[to]).apply(0);
        allowed.apply(0);
        note(to, now);
    }
}

fn note(cpu: u32, now: u64) {
    if let Some(seen) = SEEN.get(cpu as usize) {
        seen.store((now / 1_000_000) as u32, Relaxed);
    }
}
