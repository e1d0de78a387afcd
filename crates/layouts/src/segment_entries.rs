//! Section `promp_segments`: an entry for each *segment*, the code between a runtime call and the next ones.
//!
//! ```text
//! entry  first - .   last - .   verdict and flags   text - .
//! ```
//!
//! 32-bit words, distances from their own places. The return address of the call at the segment's start lies
//! behind `first` and not behind `last`; both are the function's own address for the segment at its entry.
//! The text is "file:line: verdict".

/// Words of an entry.
pub const SEGMENT_WORDS: usize = 4;
/// Where in its third word the verdict is.
pub const SEGMENT_VERDICT: u32 = 0xff;
/// What is lost of a chunk may be executed by any thread of the team.
pub const SEGMENT_SHARED: u32 = 0x100;
/// It begins at its function's entry.
pub const SEGMENT_ENTRY: u32 = 0x200;
/// Its code says what it writes.
pub const SEGMENT_TOLD: u32 = 0x400;
/// The iterations of the static loop that starts here may be dealt in any way.
pub const SEGMENT_DEALT: u32 = 0x800;

/// A segment's verdict: the work in it may be executed again, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Verdict {
    /// … as it is.
    Idempotent,
    /// … when the saved old values have been put back.
    Undo,
    /// … not.
    Opaque,
}

crate::from_number!(Verdict: u32 { Idempotent Undo Opaque });
