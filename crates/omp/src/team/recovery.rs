//! What teams, tasks and worksharing ask of recovery, which stands above them. None of it is asked on a way
//! that programs go often: what save points and chunks need is in the thread's own memory, or in one word
//! that is looked at first.

use super::thread::Thread;
use crate::sys::environment_reader::Reader;

/// Who recovers.
pub trait Recovery: Sync {
    /// Before the program begins, which is to have checkpoints.
    fn begins_with_checkpoints(&self);

    /// Reads its settings, only to find those that are wrong.
    fn check_settings(&self, from: &mut Reader);

    /// Before the first worker is made.
    fn workers_come(&self);

    /// In a child after fork: the runtime's other hosts are gone.
    fn after_fork(&self);

    /// A stop of `thr` that waited in a function without a stub takes effect.
    fn deliver(&self, thr: &'static Thread);

    /// `thr` has been handed a chunk, at a save point, and some chunks are verified.
    fn chunk_begins(&self, thr: &'static Thread);

    /// A chunk of `thr` that was to be looked at is done. Returns when its result stands.
    fn chunk_ends(&self, thr: &'static Thread);

    /// Thread number `by` has executed `iterations` again that were lost by failure number `failure`.
    fn recomputed(&self, failure: u32, by: u32, iterations: u64);

    /// The last member leaves a construct in which a lost chunk was not executed again.
    fn chunk_left_behind(&self) -> !;
}
