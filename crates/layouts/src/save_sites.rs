//! Sites: what compiled code keeps for a loop that saves old values, or for something that cannot be executed
//! twice. Words of 64 bits: the state, and in its upper half what -fpromp-budget says; two that the runtime
//! counts in; the address of a text ("file:line: what").
//! Compiled code reads the state; the runtime may change it at any time.

/// Words of a site.
pub const SITE_WORDS: usize = 4;
/// Where, in the words of a thread, is said whether it is in a region (not 0).
pub const THREAD_BASE: usize = 16;

/// Not known yet: save and measure.
pub const SITE_OPEN: u32 = 0;
/// Save.
pub const SITE_ON: u32 = 1;
/// Do not save: what follows cannot be executed again. Compiled code leaves the version that saves.
pub const SITE_OFF: u32 = 2;
/// Something follows that cannot be executed twice; behind it comes a save point.
pub const SITE_OPAQUE: u32 = 3;
/// Save, whatever it costs.
pub const SITE_ALWAYS: u32 = 4;
/// In a loop that waits: there is always a save point behind it, which costs nobody's time. What only reads
/// there has no mark in front of it.
pub const SITE_WAITS: u32 = 5;
/// Like [`SITE_OPAQUE`], but executed so often that save points behind it would cost too much: there are
/// none.
pub const SITE_CROWDED: u32 = 6;
/// Like [`SITE_OFF`], with PROMP_SDC=chunks: chunks that are to be verified save all the same. Compiled code
/// does not leave because of it.
pub const SITE_SELDOM: u32 = 7;
/// Like [`SITE_OPEN`], where it is known that saving takes more than the budget, but not more in all than it
/// may before that counts.
pub const SITE_LENT: u32 = 8;
/// Private data that is not copied.
pub const SITE_PRIVATE: u32 = 9;
