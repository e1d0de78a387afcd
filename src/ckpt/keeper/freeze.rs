//! Stopping every thread, and letting them go on.

use super::super::keep;
use super::super::seats::{self, GO, Seat};
use super::{Keeper, No};
use crate::sys;
use crate::sys::{futex, syscall, time};
use core::sync::atomic::{Ordering::*, fence};

/// How long threads may take to answer the freeze signal.
const PATIENCE_NS: u64 = 2_000_000_000;

impl Keeper {
    /// Stops every thread. Afterwards exactly those that have arrived must be let go.
    pub(super) fn freeze(&mut self) -> Result<Vec<&'static Seat>, No> {
        let k = keep::get();
        // Pairs with `transition_begins`: whoever sees the other one's word gives way.
        k.started.store(1, SeqCst);
        fence(SeqCst);
        if k.transitions.load(SeqCst) > 0 || k.seats.iter().any(|s| s.going.load(Acquire) != 0) {
            self.thaw(&[]);
            return Err(No::Later);
        }
        if k.agent.load(Acquire) != 0 {
            k.agent_rests.store(1, Release);
            crate::fault::agent::ring();
            let until = time::now_ns() + PATIENCE_NS;
            while k.agent_rests.load(Acquire) != 2 && time::now_ns() < until {
                syscall::sched_yield();
            }
        }
        let seats: Vec<&'static Seat> = k
            .seats
            .iter()
            .filter(|s| !s.thread.load(Acquire).is_null() && s.host.load(Acquire) != 0)
            .collect();
        // Threads without a seat: of the program's own, or on their way (a worker that is being made).
        let strangers = |tids: &[u32]| {
            tids.iter().copied().find(|&t| {
                !seats.iter().any(|s| s.host.load(Relaxed) == t)
                    && !k.own_hosts.iter().chain(&k.crew).any(|o| o.load(Relaxed) == t)
                    && k.parked.load(Relaxed) != t
            })
        };
        if let Some(t) = strangers(&hosts()) {
            self.thaw(&[]);
            return Err(self.stranger(t));
        }
        if let Some(s) = seats.iter().find(|s| s.is_the_programs_own()) {
            let t = s.host.load(Relaxed);
            self.thaw(&[]);
            return Err(No::Refused(format!("the program has threads of its own (kernel thread {t})")));
        }
        k.counter.store(seats.len() as u32, Release);
        for s in &seats {
            syscall::tgkill(s.host.load(Relaxed), seats::signal());
        }
        let until = time::now_ns() + PATIENCE_NS;
        loop {
            let left = k.counter.load(Acquire);
            // One that failed meanwhile does not arrive.
            if seats.iter().all(|s| s.hold() || s.host.load(Acquire) == 0) {
                break;
            }
            if time::now_ns() > until || k.transitions.load(SeqCst) > 0 {
                let late = k.transitions.load(SeqCst) == 0;
                self.thaw(&seats);
                return Err(if late {
                    No::Refused("a thread does not answer (it blocks signals)".into())
                } else {
                    No::Later
                });
            }
            futex::wait_until(&k.counter, left, time::now_ns() + 200_000);
        }
        // Threads made while the others were stopped.
        let all = hosts();
        if let Some(t) = strangers(&all) {
            self.thaw(&seats);
            return Err(self.stranger(t));
        }
        Ok(seats.into_iter().filter(|s| s.hold()).collect())
    }

    /// Kernel thread `tid` has no seat. A new worker takes its seat, and a failed host ends, within microseconds.
    fn stranger(&mut self, tid: u32) -> No {
        const PASSING_NS: u64 = 100_000_000;
        let now = time::now_ns();
        match self.stranger {
            Some((t, since)) if t == tid && now - since > PASSING_NS => {
                No::Refused(format!("the program has threads of its own (kernel thread {tid})"))
            }
            Some((t, _)) if t == tid => No::Later,
            _ => {
                self.stranger = Some((tid, now));
                No::Later
            }
        }
    }

    /// Lets the threads go on as before. One that arrives later finds Started cleared and goes on by itself.
    pub(super) fn thaw(&self, seats: &[&'static Seat]) {
        let k = keep::get();
        k.started.store(0, SeqCst);
        for s in seats {
            if s.hold() {
                s.order(GO);
            }
        }
        self.wake_agent();
    }

    /// The agent works again.
    pub(super) fn wake_agent(&self) {
        let k = keep::get();
        k.agent_rests.store(0, Release);
        futex::wake(&k.agent_rests, 1);
    }
}

/// Kernel ids of all hosts of the process.
fn hosts() -> Vec<u32> {
    sys::maps::names(c"/proc/self/task").iter().filter_map(|n| n.parse().ok()).collect()
}
