//! What a thread keeps of the time in which its work could not have been executed again (unsaved_time.rs).

use crate::sys::own::Own;

/// A thread's clock. The logical thread's own.
#[derive(Default)]
pub(crate) struct Clock {
    /// Since when the work in flight cannot be executed again; 0: it can, or nobody asks.
    pub(super) since: Own<u64>,
    /// In the current construct, because of something that cannot be executed twice, or of private data that
    /// is not copied (ns).
    pub(super) marks: Own<u64>,
    /// ... and because old values are not saved.
    pub(super) unsaved: Own<u64>,
    /// The construct that was left last, by the time at which it began.
    pub(super) left: Own<u64>,
    /// The part that cannot be executed again, as in that file's table; 0: it can.
    pub(super) part: Own<usize>,
}
