//! What the runtime joins when a program is loaded. 32-bit words; references are distances from their own
//! places. Those "by a table" are of an entry in the global offset table: there stands what this object's
//! calls are really bound to, whichever definition the linkers have chosen. Entries belong to their
//! function's section group, and go with their function's section.
//!
//! ```text
//! promp_summaries    function - .   summary - .
//! summary            flags, text, number of touches, of calls, of words; all these
//! word               the parameter behind which it writes, or -1 (any other memory); the function's word,
//!                    bits
//! touch              kind | flags, parameter or reference, low, high
//!
//! promp_assumptions  first - .   last - .   assumptions - .        (a site whose verdict assumes something)
//! assumptions        verdict if they hold | flag, text "file:line", number of calls, of actors, of groups of
//!                    pairs; all these
//! actor              kind | flags, call or reference, argument or size, bytes, text, line, slot or 0
//! slot               two 64-bit words: where in the argument old values are saved in front of the call, and
//!                    how many bytes
//! group              number of reading actors, of writing ones; all these: each of the first with each of
//!                    the second
//! call               target, flags, text, the word that has a mark in front of it be executed, or 0, line,
//!                    number of arguments; for each: kind, parameter, call or reference, offset or size,
//!                    flags
//! ```

/// A function does what cannot be repeated, or is not told.
pub const SUMMARY_OPAQUE: i32 = 1;
/// An exception may leave it.
pub const SUMMARY_THROWS: i32 = 2;
/// It reads more than is listed.
pub const SUMMARY_READS_MORE: i32 = 4;
/// There are marks in it, in front of what cannot be repeated.
pub const SUMMARY_MARKED: i32 = 8;
/// It saves what it writes, if words say so.
pub const SUMMARY_SAVES: i32 = 16;
/// It writes more than is listed.
pub const SUMMARY_WRITES_MORE: i32 = 32;
/// It returns a block that it has allocated, or what such calls return.
pub const SUMMARY_MAKES: i32 = 64;

/// Where the touched memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Touched {
    /// Behind a parameter.
    Parameter,
    /// A variable.
    Variable,
    /// A thread-local variable.
    ThreadLocal,
    /// Nowhere: the code does not name it any more.
    Nothing,
}
crate::from_number!(Touched: i32 { Parameter Variable ThreadLocal Nothing });

/// The kind of a touch, and of an actor, in their first words.
pub const KIND_OF: i32 = 0xff;
/// It writes.
pub const TOUCH_WRITES: i32 = 0x100;
/// Between the two bytes only.
pub const TOUCH_FIXED: i32 = 0x200;
/// All of them, whenever the function returns.
pub const TOUCH_ALWAYS: i32 = 0x400;
/// The reference of a touch or of an actor is by a table.
pub const REFERENCE_BY_TABLE: i32 = 0x800;

/// What an actor is: something that a segment, or a function that it calls, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Acts {
    /// The segment's own access.
    Itself,
    /// A call reads behind its argument; the first bytes do not count.
    Reads,
    /// It writes there.
    Writes,
    /// It reads anything else.
    ReadsElsewhere,
    /// It writes anything else.
    WritesElsewhere,
}
crate::from_number!(Acts: i32 { Itself Reads Writes ReadsElsewhere WritesElsewhere });

/// The old value of what an actor writes is saved whenever it is executed.
pub const ACTOR_SAVED: i32 = 0x100;
/// It touches a variable.
pub const ACTOR_VARIABLE: i32 = 0x200;
/// ... a thread-local one.
pub const ACTOR_THREAD_LOCAL: i32 = 0x400;

/// Beside the verdict of assumptions: what calls write, and is not behind their arguments, others may wait
/// for.
pub const ASSUMPTIONS_FENCED: i32 = 0x100;

/// A call has no target.
pub const CALL_GONE: i32 = 1;
/// The target is the function itself, not by a table.
pub const CALL_DIRECT: i32 = 2;
/// No exception may leave it.
pub const CALL_QUIET: i32 = 4;
/// It is made whenever the function returns.
pub const CALL_ALWAYS: i32 = 8;
/// It must be the C++ library's own.
pub const CALL_LIBRARY: i32 = 16;
/// The function may return what it returns.
pub const CALL_RESULT: i32 = 32;

/// What a call hands over for one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Handed {
    /// Nothing that leads to memory.
    Nothing,
    /// Memory on the caller's own stack.
    Private,
    /// What a parameter of the caller leads to.
    Parameter,
    /// A variable.
    Global,
    /// What a pointer leads to of which the caller's segment knows.
    Pointer,
    /// Anything.
    Anything,
    /// What a call of the caller's has returned.
    Result,
}
crate::from_number!(Handed: i32 { Nothing Private Parameter Global Pointer Anything Result });

/// The offset of an argument is fixed.
pub const ARGUMENT_FIXED: i32 = 1;
/// The reference is by a table.
pub const ARGUMENT_BY_TABLE: i32 = 2;
