//! What functions do, and under which assumptions segments can be executed again. Plain data:
//! section_reader.rs makes it of the sections.

/// Where memory is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum At {
    /// Where a parameter leads.
    Behind(u32),
    /// A variable: its address and size.
    Variable(usize, usize),
    /// A thread-local variable, by its name.
    Thread(&'static str),
}

/// An access of a function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Touch {
    pub at: At,
    pub writes: bool,
    /// Between these two bytes only.
    pub bytes: Option<(i64, i64)>,
    /// It accesses all of them whenever it returns.
    pub always: bool,
}

/// What a call hands over for one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Nothing that leads to memory.
    None,
    /// Memory that does not count.
    Private,
    /// What a parameter of the calling function leads to, and how many bytes behind that if it is known.
    Parameter(u32, Option<i64>),
    /// A variable.
    Variable(usize, usize),
    /// A pointer of a segment, which knows by itself what it may lead to.
    Pointer,
    /// Anything.
    Anything,
    /// What this call of the calling function has returned, until [`know_results`].
    Result(u32),
}

/// A call of a function of another unit.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The address that it is bound to, 0 if none.
    pub target: usize,
    /// Nothing is left of it in the code.
    pub gone: bool,
    /// No exception may come out of it.
    pub quiet: bool,
    /// It is made whenever the function returns that makes it.
    pub always: bool,
    /// It is taken for the C++ library's own function.
    pub library: bool,
    /// The function may return what it returns.
    pub result: bool,
    /// The address of a word: if its lowest bit is set, there is a mark in front of the call; if it is not
    /// 0, a save point behind it (plugin/src/segments/split.cc). 0: there is none.
    pub guard: usize,
    pub name: &'static str,
    pub line: u32,
    pub arguments: Vec<Argument>,
}

/// A word that has a function save what it writes by itself (plugin/src/segments/inside.cc).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Word {
    /// The parameter behind which it writes; `None`: any other memory.
    pub behind: Option<u32>,
    pub at: usize,
    pub bits: u32,
}

/// What a function does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// It does what cannot be repeated, or is not told.
    pub opaque: bool,
    pub throws: bool,
    /// It reads memory that is not listed.
    pub reads_more: bool,
    /// There are marks in it, in front of what cannot be repeated.
    pub marked: bool,
    /// What it writes it saves by itself, if `words` are set.
    pub saves: bool,
    /// It writes memory that is not listed.
    pub writes_more: bool,
    /// It is the C++ library's own (bound.rs): for calls that say so only.
    pub library: bool,
    /// It returns a block that it has allocated, or what those of its calls return that say so.
    pub makes: bool,
    /// "file:line: function: effect".
    pub text: &'static str,
    pub touches: Vec<Touch>,
    pub calls: Vec<Call>,
    pub words: Vec<Word>,
}

/// What takes part in pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The segment's own access: to a variable, a thread-local one, or of which no more is known.
    Own,
    /// A call reads behind an argument, beyond so many bytes from its start.
    Reads(usize, u32, i64),
    Writes(usize, u32),
    ReadsElsewhere(usize),
    WritesElsewhere(usize),
}

impl What {
    /// The call that does it.
    pub(super) fn call(self) -> Option<usize> {
        match self {
            What::Own => None,
            What::Reads(c, ..) | What::Writes(c, _) | What::ReadsElsewhere(c) | What::WritesElsewhere(c) => {
                Some(c)
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Actor {
    pub what: What,
    /// Of the segment's own accesses.
    pub at: Option<At>,
    pub saved: bool,
    /// Of writes behind an argument: the slot that says what of it is saved in front of the call.
    pub slot: Option<usize>,
    pub name: &'static str,
    pub line: u32,
}

/// Under which a segment's verdict holds.
#[derive(Clone, Debug)]
pub(super) struct Assumptions {
    pub verdict: u32,
    /// There are fences in it: others may wait for what it writes, and may have changed it since.
    pub fenced: bool,
    /// "file:line".
    pub place: &'static str,
    pub calls: Vec<Call>,
    pub actors: Vec<Actor>,
    /// Reads and writes of which each of the first may meet each of the second: if both happen, the written
    /// value must be saved.
    pub pairs: Vec<(Vec<usize>, Vec<usize>)>,
}
