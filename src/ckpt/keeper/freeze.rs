//! Stopping every thread, and letting them go on.

use super::super::keep;
use super::super::seats::{self, GO, Seat};
use super::strangers::{OWN, has_come_to_the_runtime, has_ended, strangers};
use super::{Keeper, No};
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
            self.thaw();
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
        let seats = match self.seats() {
            Ok(seats) => seats,
            Err(no) => {
                self.thaw();
                return Err(no);
            }
        };
        k.counter.store(seats.len() as u32, Release);
        for s in &seats {
            syscall::tgkill(s.host.load(Relaxed), seats::signal());
        }
        let until = time::now_ns() + PATIENCE_NS;
        loop {
            let left = k.counter.load(Acquire);
            // One that failed meanwhile does not arrive.
            if seats.iter().all(|s| s.hold() || s.host.load(Acquire) == 0 || has_ended(s)) {
                break;
            }
            let busy = k.transitions.load(SeqCst) > 0 || seats.iter().any(|s| has_come_to_the_runtime(s));
            if busy || time::now_ns() > until {
                self.thaw();
                return Err(if busy {
                    No::Later
                } else {
                    No::Refused("a thread does not answer (it blocks signals)".into())
                });
            }
            futex::wait_until(&k.counter, left, time::now_ns() + 200_000);
        }
        // Threads made while the others were stopped.
        let late = strangers(&seats).first().copied();
        if let Some(t) = late {
            self.thaw();
            return Err(self.stranger(t, OWN));
        }
        let held: Vec<_> = seats.iter().copied().filter(|s| s.hold()).collect();
        if let Some(s) = held.iter().find(|s| s.is_strangers() && s.libcs.load(Relaxed) == 0) {
            let why = format!("kernel thread {} was made without libc", s.host.load(Relaxed));
            self.thaw();
            return Err(No::Refused(why));
        }
        Ok(held)
    }

    /// Lets the threads go on as before. One that arrives later finds Started cleared and goes on by itself.
    pub(super) fn thaw(&self) {
        let k = keep::get();
        k.started.store(0, SeqCst);
        // All seats: one may have answered late, and wait though this time nobody has called it.
        for s in k.seats.iter().filter(|s| s.hold()) {
            s.order(GO);
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
