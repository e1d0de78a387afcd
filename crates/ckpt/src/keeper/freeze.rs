//! Stopping every thread, and letting them go on.

use super::strangers::{Stranger, has_come_to_the_runtime, has_ended, strangers};
use crate::keep;
use crate::requests;
use crate::resources::resource::No;
use crate::runtime::runtime;
use crate::seats::{self, GO, Seat};
use crate::settings::Strangers;
use crate::sys::{futex, pending_signals, signals, silence, syscall, time};
use core::sync::atomic::{Ordering::*, fence};

/// How long threads may take to answer the freeze signal.
const PATIENCE_NS: u64 = 2_000_000_000;
/// After so long a thread that has not answered is sent the signal again, unless it still waits for it.
const AGAIN_NS: u64 = 100_000_000;
/// How long calls that are being noted, and hosts that are being replaced, are waited for at once.
const DRAIN_NS: u64 = 1_000_000;

/// Who does that.
pub(super) struct Freezer {
    /// Which threads of the program's own are saved.
    pub(super) saved: Strangers,
    /// A thread without a seat, and since when it has been seen.
    pub(super) stranger: Option<Stranger>,
}

impl Freezer {
    /// Stops every thread. Afterwards exactly those that have arrived must be let go.
    pub(super) fn freeze(&mut self) -> Result<Vec<&'static Seat>, No> {
        let stopped = self.stop();
        if stopped.is_err() {
            self.thaw();
        }
        stopped
    }

    fn stop(&mut self) -> Result<Vec<&'static Seat>, No> {
        begin()?;
        let called: Vec<_> = self.seats()?.into_iter().map(|s| (s, s.host.load(Relaxed))).collect();
        call(&called)?;
        let held: Vec<_> = called.into_iter().map(|(s, _)| s).filter(|s| s.hold()).collect();
        // Threads made while the others were stopped.
        if let Some(&t) = strangers(&held).first() {
            return Err(self.newcomer(t));
        }
        match held.iter().find(|s| s.is_strangers() && s.libcs.load(Relaxed) == 0) {
            Some(s) => {
                let host = s.host.load(Relaxed);
                Err(No::Refused(format!("kernel thread {host} was made without libc")))
            }
            None => Ok(held),
        }
    }

    /// Lets the threads go on as before. One that arrives later finds Started cleared and goes on by itself.
    /// Returns the time at which they can: the caller may come to a CPU much later.
    pub(super) fn thaw(&self) -> u64 {
        let k = keep::get();
        k.freeze.started.store(0, SeqCst);
        // All seats: one may have answered late, and wait though this time nobody has called it.
        for s in k.seats.iter().filter(|s| s.hold()) {
            s.order(GO);
        }
        let now = time::now_ns();
        k.freeze.send_orders();
        self.wake_agent();
        now
    }

    /// The agent works again.
    pub(super) fn wake_agent(&self) {
        let k = keep::get();
        k.freeze.agent_rests.store(0, Release);
        futex::wake(&k.freeze.agent_rests, 1);
    }
}

/// From here on no transition begins, no host is replaced, and the agent rests.
fn begin() -> Result<(), No> {
    let (k, f) = (keep::get(), &keep::get().freeze);
    let handlers = signals::has_handlers(seats::signals() | requests::handled(k));
    f.handlers.store(u32::from(handlers), Relaxed);
    // Pairs with `transition_begins`: whoever sees the other one's word gives way.
    f.started.store(1, SeqCst);
    fence(SeqCst);
    // Those that have begun end by themselves, and none begins any more: a program that makes files all
    // the time would otherwise never be caught.
    let until = time::now_ns() + DRAIN_NS;
    while f.transitions.load(SeqCst) > 0 && time::now_ns() < until {
        syscall::sched_yield();
    }
    if f.transitions.load(SeqCst) > 0 || k.seats.iter().any(|s| s.going.load(Acquire) != 0) {
        return Err(No::Later);
    }
    if f.agent.load(Acquire) != 0 {
        f.agent_rests.store(1, Release);
        runtime().ring_agent();
        let until = time::now_ns() + PATIENCE_NS;
        while f.agent_rests.load(Acquire) != 2 && time::now_ns() < until {
            syscall::sched_yield();
        }
    }
    Ok(())
}

/// Sends the freeze signal to the `called`, and waits until all that are still there have answered.
fn call(called: &[(&'static Seat, u32)]) -> Result<(), No> {
    let f = &keep::get().freeze;
    f.counter.store(called.len() as u32, Release);
    for (_, tid) in called {
        syscall::tgkill(*tid, seats::signal());
    }
    let (until, mut again) = (time::now_ns() + PATIENCE_NS, time::now_ns() + AGAIN_NS);
    loop {
        let left = f.counter.load(Acquire);
        // One that has failed or ended meanwhile does not arrive; another may have taken its seat.
        let silent = called.iter().find(|c| is_silent(c) && !has_ended(c.0));
        let Some((silent, tid)) = silent else { return Ok(()) };
        let has_died = |s: &Seat| s.logical().is_some_and(|t| t.has_died());
        if f.transitions.load(SeqCst) > 0
            || called.iter().any(|(s, _)| has_come_to_the_runtime(s) || has_died(s))
        {
            return Err(No::Later);
        }
        if time::now_ns() > until {
            let why = silence::of(*tid, seats::signal(), silent.tried_at.load(Relaxed));
            return Err(No::Refused(format!("a thread does not answer ({why})")));
        }
        send_to_those_not_here(called);
        if time::now_ns() > again {
            send_again(called);
            again = time::now_ns() + AGAIN_NS;
        }
        futex::wait_until(&f.counter, left, time::now_ns() + 200_000);
    }
}

/// To those of the `called` that could not stop where they were.
fn send_to_those_not_here(called: &[(&'static Seat, u32)]) {
    let elsewhere = |s: &Seat, tid: u32| s.not_here.swap(0, Acquire) != 0 && s.host.load(Acquire) == tid;
    called.iter().filter(|(s, tid)| elsewhere(s, *tid)).for_each(|(_, tid)| {
        syscall::tgkill(*tid, seats::signal());
    });
}

/// Has one of the called not answered, which is still there?
fn is_silent((s, tid): &&(&'static Seat, u32)) -> bool {
    !s.hold() && s.host.load(Acquire) == *tid
}

/// To those of the `called` that have not answered and have no freeze signal waiting: somebody else has taken
/// it. Twice does no harm: where no freeze is on its way it does nothing.
fn send_again(called: &[(&'static Seat, u32)]) {
    for (_, tid) in called.iter().filter(is_silent) {
        if pending_signals::of_host(*tid, 0) & pending_signals::bit(seats::signal()) == 0 {
            syscall::tgkill(*tid, seats::signal());
        }
    }
}
