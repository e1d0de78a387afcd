//! Transitions: what no checkpoint may find half done. A host that is being replaced, and a call that changes
//! files together with its note, hold freezes off; a freeze that has begun holds transitions off.
//!
//! Each side says its own word first and looks at the other's then (a full fence between), so at most one of
//! them goes on; the transition gives way (loom model: a freeze and a replacement exclude each other).

use crate::runtime::runtime;
use crate::sys::{signals, syscall};
use crate::{keep, seats};
use core::sync::atomic::{Ordering::*, fence};

/// A host begins to be replaced, or a call that changes files is noted: no checkpoint until
/// [`transition_ends`] or [`transition_is_over`]. Called with all signals blocked.
pub fn transition_begins() {
    let Some(k) = keep::if_on() else { return };
    loop {
        k.freeze.transitions.fetch_add(1, SeqCst);
        // Pairs with the one in keeper/freeze.rs (loom model: a freeze and a replacement exclude each other).
        fence(SeqCst);
        if k.freeze.started.load(SeqCst) == 0 {
            return;
        }
        k.freeze.transitions.fetch_sub(1, SeqCst);
        // Lets the freeze find this thread here.
        let mask = signals::set_mask(!(1u64 << (seats::signal() - 1)));
        syscall::sched_yield();
        signals::set_mask(mask);
    }
}

/// Does `f` with no freeze on its way, from code of the program's as from the runtime's. A stop waits.
pub fn transition_begins_from_anywhere(f: impl FnOnce()) {
    let mut f = Some(f);
    runtime().undisturbed(&mut || {
        let mask = signals::block_all();
        transition_begins();
        if let Some(f) = f.take() {
            f();
        }
        transition_is_over();
        signals::set_mask(mask);
    });
}

/// The thread with seat `number` has its new host.
pub fn transition_ends(number: u32, tid: u32) {
    if keep::if_on().is_some()
        && let Some(s) = keep::numbered(number)
    {
        s.host.store(tid, Release);
    }
    transition_is_over();
}

/// What began with [`transition_begins`] is over: no host has changed.
pub fn transition_is_over() {
    if let Some(k) = keep::if_on() {
        k.freeze.transitions.fetch_sub(1, SeqCst);
    }
}
