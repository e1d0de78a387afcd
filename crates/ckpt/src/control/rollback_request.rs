//! Asking for a rollback, from the thread that has failed or for one that has: whether there is a checkpoint
//! to go back to, and how a host leaves its seat to it. The keeper does the rest (keeper/restore.rs).

use crate::program_requests::{ring, until_written};
use crate::sys::{futex, host, reach, signals, syscall, tls};
use crate::{keep, seats};
use core::sync::atomic::Ordering::*;
use core::time::Duration;

/// Is there a checkpoint to go back to?
pub fn can_roll_back() -> bool {
    let Some(k) = keep::if_on() else { return false };
    // One that is in memory is soon whole on disk: that is the one to go back to, and it counts
    // (rollback_limits.rs).
    until_written(k);
    k.last.generation.load(Acquire) > 0
}

/// Why there is no checkpoint to go back to, though checkpoints are taken; None: there is one, or they are
/// off.
pub fn none_because() -> Option<String> {
    let k = keep::if_on().filter(|k| k.last.generation.load(Acquire) == 0)?;
    let why = k.rewind.why.get();
    Some(if why.is_empty() { "the first has not been taken yet".into() } else { why })
}

/// Has a thread failed for which memory will be put back?
pub fn rollback_is_due() -> bool {
    keep::if_on().is_some_and(|k| k.failed.load(Acquire) > 0)
}

/// For a thread that is no logical one and has crashed, in the handler of that: if memory will be put back,
/// waits until it is stopped for that. True: try again, for nothing was put back, or without this thread.
pub fn await_rollback() -> bool {
    if !rollback_is_due() {
        return false;
    }
    // Woken by the freeze's signal only, and from time to time.
    let mask = signals::set_mask(!(1u64 << (seats::signal() - 1)));
    while rollback_is_due() {
        futex::wait_for(&keep::get().epoch, epoch(), Duration::from_millis(1));
    }
    signals::set_mask(mask);
    true
}

/// The calling host, whose thread has seat `number`, has failed in a way that only a rollback helps. All
/// signals are blocked. `spoil` runs when the keeper knows, so that what others suffer from it counts as the
/// same failure.
pub fn roll_back(number: u32, spoil: impl FnOnce()) -> ! {
    let k = keep::get();
    let Some(seat) = keep::numbered(number) else { syscall::exit_group(70) };
    note_parked();
    // Who sends to it meanwhile may go on for a while, and must not hear that there is no such thread.
    reach::is_to_go_back(tls::thread_pointer(), syscall::gettid());
    seat.going.store(1, Relaxed);
    k.failed.fetch_add(1, AcqRel);
    spoil();
    seat.host.store(0, Release);
    ring(k);
    // The keeper may wait for this thread to arrive.
    futex::wake(&k.freeze.counter, 1);
    host::vanish(&seat.going)
}

/// Host `id`, whose thread has seat `number` and this thread pointer, has ended by itself, and only a
/// rollback helps. All signals are blocked.
pub fn roll_back_ended(number: u32, id: u32, thread_pointer: Option<usize>) {
    let k = keep::get();
    note_parked_host(id);
    if let Some(thread_pointer) = thread_pointer {
        reach::is_to_go_back(thread_pointer, id);
    }
    if let Some(seat) = keep::numbered(number) {
        seat.host.store(0, Release);
    }
    k.failed.fetch_add(1, AcqRel);
    ring(k);
    futex::wake(&k.freeze.counter, 1);
}

/// Rollbacks so far: what was arranged before one does not count after it.
#[inline]
pub fn epoch() -> u32 {
    keep::if_on().map_or(0, |k| k.epoch.load(Relaxed))
}

/// The calling host is about to vanish: the process' first one parks instead.
pub fn note_parked() {
    note_parked_host(syscall::gettid());
}

/// Host `id` has gone: the process' first one stays as a shell, even if it has ended.
pub fn note_parked_host(id: u32) {
    if let Some(k) = keep::if_on()
        && id == syscall::getpid()
    {
        k.hosts.parked.store(syscall::getpid(), Release);
    }
}
