//! Logical threads, as checkpoints know them: by their addresses, which are written down, and by what the
//! runtime says of them.

use crate::dead_memory_claims::Claims;
use crate::runtime::runtime;
use crate::sys::own::Own;
use crate::sys::tls;

/// One of them. It lies in memory that checkpoints save, and is never freed. All of it may be asked by the
/// keeper while the thread is frozen, and in handlers of signals: nothing is allocated, no lock waited for.
pub trait LogicalThread {
    /// Its number in its team.
    fn number(&self) -> u32;

    /// Is this a worker of the pool (not a thread of the program's own)?
    fn is_worker(&self) -> bool;

    /// The number of its seat (`seats.rs`), from 1; 0 if it has none.
    fn seat_number(&self) -> &Own<u32>;

    /// Is a stop due at the exit of the call that it is in?
    fn has_to_stop(&self) -> bool;

    /// Has its host ended without a word, and nobody seen to it yet?
    fn has_died(&self) -> bool;

    /// Does it execute a region's function, or a task?
    fn is_at_work(&self) -> bool;

    /// Is it in serial code, where nobody needs its workers? `waits`: it is in the runtime, at a place where
    /// all is as between two calls.
    fn is_in_serial_code(&'static self, waits: bool) -> bool;

    /// What it has said of memory at the next place for a checkpoint.
    fn claims(&self) -> Option<&'static Claims>;

    /// Memory has been put back: the host with this kernel id carries it now.
    fn is_carried_by(&self, tid: u32);

    /// From here on its regions have `n` threads unless they say otherwise.
    fn resize(&'static self, n: u32);
}

/// The address by which it is known.
pub fn address(thread: &'static dyn LogicalThread) -> *mut () {
    core::ptr::from_ref(thread).cast::<()>().cast_mut()
}

/// The calling one; None if it has not called the runtime yet.
pub fn calling() -> Option<&'static dyn LogicalThread> {
    // SAFETY: the runtime has set it.
    tls::logical_thread().map(|p| unsafe { runtime().logical(p) })
}
