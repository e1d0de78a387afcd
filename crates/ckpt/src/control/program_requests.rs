//! Checkpoints that the program's threads ask for: the first one, those at places that the program names, and
//! those that the runtime wants. How an attempt is counted and answered: request_protocol.rs.

use crate::sys;
use crate::sys::futex;
use crate::{keep, request_protocol, seats};
use core::sync::atomic::Ordering::*;

/// The first checkpoint in the program, which cannot always put back what it did before its first region.
pub fn first() {
    if let Some(k) = keep::if_on().filter(|k| k.asking.is_new()) {
        ask_and_wait(k);
    }
}

/// Asks for one, and waits until the attempt is over.
pub(crate) fn ask_and_wait(k: &keep::Keep) {
    // After a rollback or a restart the thread's seat may be another one.
    let says = |what| {
        if let Some(s) = seats::callers() {
            s.standing.store(what, Release);
        }
    };
    says(request_protocol::ASKS);
    k.asking.ask_and_wait(|| ring(k));
    says(request_protocol::AWAY);
}

/// Waits until a checkpoint that is in memory is whole, or has come to nothing.
pub(crate) fn until_written(k: &keep::Keep) {
    while k.last.in_memory.load(Acquire) != 0 {
        futex::wait_until(&k.last.in_memory, 1, sys::time::now_ns() + 10_000_000);
    }
}

/// Asks for a checkpoint, and does not wait for it.
pub fn ask() {
    if let Some(k) = keep::if_on() {
        k.asking.ask(|| ring(k));
    }
}

/// The keeper looks what there is to do.
pub(crate) fn ring(k: &keep::Keep) {
    k.bell.fetch_add(1, Release);
    futex::wake(&k.bell, 1);
}

/// `promp_potential_ckpt`: a good place for a checkpoint; taken if half the interval has gone by since the
/// last one.
pub fn potential() {
    let Some(k) = keep::if_on() else { return };
    if sys::time::now_ns().saturating_sub(k.last_ns()) >= k.interval_ns.load(Relaxed) / 2 {
        ask_and_wait(k);
    }
}
