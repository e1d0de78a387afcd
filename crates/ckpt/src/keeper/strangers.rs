//! Threads that are not the runtime's: those that the program has made itself.
//!
//! One that computes, or waits for what goes back with it (`sys/kernel/blocking_call.rs`: another thread, a
//! time, a signal, something to read), is saved and rolled back like the others. What one waits for in
//! another system call may lie outside of the process (a lock of a file, a driver) and does not go back with
//! it, which only the user can judge: then a checkpoint is refused, unless PROMP_CKPT_THREADS=all says that
//! it may be saved. It is looked at before the freeze: a thread that begins to wait in between is one that
//! computed, and what its call could lead to outside (a socket, a child, a device) is refused for its own
//! sake.
//!
//! Threads that have come to the runtime have logical threads and seats; the rest get seats here. So does
//! the thread that the program began with, as long as it has not come to the runtime: checkpoints begin
//! before the first region.

use super::freeze::Freezer;
use crate::keep;
use crate::resources::resource::No;
use crate::seats::Seat;
use crate::settings::Strangers;
use crate::sigev_thread;
use crate::sys;
use crate::sys::blocking_call::{self, Waits};
use crate::sys::{pending_signals, syscall, time};
use core::sync::atomic::Ordering::*;

const BLOCKS: &str = "a thread of the program's own blocks signals";

impl Freezer {
    /// The seats of all threads; strangers get theirs if they may be saved.
    pub(super) fn seats(&mut self) -> Result<Vec<&'static Seat>, No> {
        let k = keep::get();
        // In this order: who sits down meanwhile is no stranger.
        let all_hosts = hosts();
        let known = |s: &&Seat| s.logical().is_some() && s.host.load(Acquire) != 0;
        let mut seats: Vec<&'static Seat> = k.seats.iter().filter(known).collect();
        let strangers = without_seat(all_hosts, &seats);
        // The thread that the program began with may not have come to the runtime yet.
        let own = strangers.iter().copied().filter(|&t| !keep::is_initial(t));
        let seated = || seats.iter().filter(|s| s.is_the_programs_own()).map(|s| s.host.load(Relaxed));
        if let Some(why) = own.chain(seated()).find_map(|t| self.stands_in_the_way(t)) {
            return Err(why);
        }
        self.stranger.take_if(|s| seated().any(|t| s.tid == t));
        // The host of a thread that has just been put back has not said yet who it is.
        if seats.iter().any(|s| s.host.load(Relaxed) == u32::MAX) {
            return Err(No::Later);
        }
        for s in k.seats.iter().filter(|s| s.is_strangers()) {
            if s.host.load(Relaxed) == u32::MAX {
                return Err(No::Later);
            }
            if !strangers.contains(&s.host.load(Relaxed)) {
                s.leave();
            }
        }
        for t in strangers {
            // So do a worker that is being made, and a host that ends.
            if blocks_signals(t) {
                return Err(self.stranger(t, &format!("{BLOCKS} (kernel thread {t})")));
            }
            // Only for a moment, as libc's functions do (and sys/kernel/reach.rs).
            self.stranger.take_if(|s| s.tid == t);
            let has = |s: &&Seat| s.is_strangers() && s.host.load(Relaxed) == t;
            match k.seats.iter().find(has).or_else(|| k.seats.iter().find(|s| s.occupy(None, t))) {
                Some(s) => seats.push(s),
                None => return Err(No::Refused("the program has too many threads".into())),
            }
        }
        Ok(seats)
    }

    /// Is there no checkpoint while the program has this thread of its own?
    fn stands_in_the_way(&mut self, tid: u32) -> Option<No> {
        if self.saved == Strangers::All || sigev_thread::is_helper(tid) {
            return None;
        }
        let waits = blocking_call::of(tid);
        let saved = self.saved == Strangers::Inside && waits == Waits::Inside;
        (!saved).then(|| self.stranger(tid, &own(tid, waits)))
    }

    /// Thread `tid` was made while the others were stopped.
    pub(super) fn newcomer(&mut self, tid: u32) -> No {
        self.stranger(tid, &own(tid, blocking_call::of(tid)))
    }

    /// Kernel thread `tid` cannot be saved. If it is a worker that is being made, or a failed host, that is
    /// over within microseconds of CPU time.
    fn stranger(&mut self, tid: u32, why: &str) -> No {
        let now = time::now_ns();
        match &self.stranger {
            Some(s) if s.tid == tid && now - s.since > s.patience() => No::Refused(why.into()),
            Some(s) if s.tid == tid => No::Later,
            _ => {
                self.stranger = Some(Stranger { tid, since: now, used: time::of_thread_ns(tid) });
                No::Later
            }
        }
    }
}

/// A thread that was found without a seat.
pub(super) struct Stranger {
    tid: u32,
    /// When that was.
    since: u64,
    /// The CPU time that it had used until then.
    used: u64,
}

impl Stranger {
    /// How long it may be seen before it is taken for the program's own.
    fn patience(&self) -> u64 {
        const PASSING_NS: u64 = 100_000_000;
        // On a crowded machine it may not have had a CPU since. And the program's first thread comes to the
        // runtime, or makes a thread.
        const COMING_NS: u64 = 2_000_000_000;
        const ENOUGH_NS: u64 = 5_000_000;
        let had_none = || time::of_thread_ns(self.tid).saturating_sub(self.used) < ENOUGH_NS;
        if keep::is_initial(self.tid) || (had_none() && !sleeps(self.tid)) { COMING_NS } else { PASSING_NS }
    }
}

/// Does thread `tid` wait for something else than a CPU, a page or its end?
fn sleeps(tid: u32) -> bool {
    pending_signals::status(tid).is_some_and(|s| s.lines().any(|l| l.starts_with("State:\tS")))
}

/// Why there is no checkpoint with a thread of the program's own.
fn own(tid: u32, waits: Waits) -> String {
    format!(
        "the program has threads of its own (kernel thread {tid}, {waits}); PROMP_CKPT_THREADS=all saves \
         them, too"
    )
}

/// Kernel ids of the process' threads that have no seat among `seats`, and are none of the runtime's own
/// hosts.
pub(super) fn strangers(seats: &[&'static Seat]) -> Vec<u32> {
    without_seat(hosts(), seats)
}

fn hosts() -> Vec<u32> {
    sys::maps::names(c"/proc/self/task").iter().filter_map(|n| n.parse().ok()).collect()
}

fn without_seat(mut tids: Vec<u32>, seats: &[&'static Seat]) -> Vec<u32> {
    let k = keep::get();
    tids.retain(|&t| {
        !seats.iter().any(|s| s.host.load(Relaxed) == t)
            && !k.hosts.is_own(t)
            && k.hosts.parked.load(Relaxed) != t
    });
    tids
}

/// Has a stranger that is to freeze in its seat got one of its own meanwhile, in which it answers?
pub(super) fn has_come_to_the_runtime(s: &Seat) -> bool {
    let tid = s.host.load(Relaxed);
    s.is_strangers() && keep::get().seats.iter().any(|o| o.logical().is_some() && o.host.load(Relaxed) == tid)
}

/// Has a stranger ended since it got its seat? The next freeze takes it from it.
pub(super) fn has_ended(s: &Seat) -> bool {
    s.is_strangers() && !syscall::tgkill(s.host.load(Relaxed), 0)
}

/// Does thread `tid` block the freeze signal now?
fn blocks_signals(tid: u32) -> bool {
    pending_signals::set_of(tid, "SigBlk")
        .is_none_or(|m| m & pending_signals::bit(crate::seats::signal()) != 0)
}
