//! What is known about call sites of worksharing constructs: whether the construct that starts there ends in a barrier and takes long
//! (learned), and what promp-cc has proved about it.
//!
//! A direct-mapped table of return addresses; a collision forgets. Relaxed: an entry is complete in one word.

use crate::proofs::join;
use crate::proofs::segment_tables::{self, Verdict};
use crate::sys::claim::claim;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

const SIZE: usize = 512;
static TABLE: [AtomicU64; SIZE] = [const { AtomicU64::new(0) }; SIZE];

const BARRIER: u64 = 1;
const SHARED: u64 = 2;
const PROVED: u64 = 4;
const DEALT: u64 = 8;
/// Where the number of constructs is that were timed: three bits.
const TIMES: u32 = 4;
const TIMED: u64 = 7;
/// Where the binary logarithm of a fragment's iterations is: addresses leave five bits free.
const PIECE: u32 = 59;
const LONGEST: u32 = 31;
const FACTS: u64 = 0xff | (LONGEST as u64) << PIECE;

/// A fragment is worth its price (about 0.1 µs) if it takes at least this long (ns).
const PIECE_NS: u64 = 32_000;
/// The most fragments of a thread's chunk.
const MOST_PIECES: u64 = 64;

/// What is known about a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The construct ends in a barrier, as far as is known.
    pub ends_in_barrier: bool,
    /// Proved: chunks may be executed again.
    pub proved: bool,
    /// Proved: a chunk does the same whichever thread of the team executes it.
    pub shared: bool,
    /// Proved: the iterations of the static loop may be dealt in any way.
    pub dealt: bool,
    /// The iterations of a fragment, as a binary logarithm, that is worth its price in a proved construct:
    /// learned from the fastest of the first times.
    piece: Option<u32>,
}

#[inline(always)]
fn slot(site: usize) -> &'static AtomicU64 {
    &TABLE[(site >> 2).wrapping_mul(0x9E37_79B9) % SIZE]
}

/// A word without facts: the site, and the generation of promp-cc's tables.
fn key(site: usize) -> u64 {
    (site as u64) << 12 & !FACTS | u64::from(segment_tables::generation() & 0xf) << 8
}

impl Facts {
    /// What [`word`] says.
    pub(crate) fn of(v: u64) -> Self {
        let has = |bit| v & bit != 0;
        let piece = has(TIMED << TIMES).then_some((v >> PIECE) as u32);
        Self {
            ends_in_barrier: has(BARRIER),
            proved: has(PROVED),
            shared: has(SHARED),
            dealt: has(DEALT),
            piece,
        }
    }

    /// Into how many fragments a thread's chunk of `len` iterations is worth cutting, as far as is known.
    pub(crate) fn pieces(&self, len: u64) -> Option<u64> {
        self.piece.map(|p| (len >> p).clamp(1, MOST_PIECES))
    }
}

/// The piece of a chunk of `len` iterations that have taken so long, as a binary logarithm.
fn piece(len: u64, took_ns: u64) -> u32 {
    let worth = len.saturating_mul(PIECE_NS).div_ceil(took_ns.max(1));
    worth.clamp(1, 1 << LONGEST).next_power_of_two().ilog2()
}

/// What is known about `site`, as one word: another one where something else is known.
#[inline]
pub(crate) fn word(site: usize) -> u64 {
    if site == 0 {
        return 0;
    }
    let v = slot(site).load(Relaxed);
    if v & !FACTS == key(site) { v } else { first_time(site) }
}

/// Is what is known about `site` still `facts`, as [`word`] said while promp-cc's tables were what they are?
#[inline(always)]
pub(crate) fn knows(site: usize, facts: u64) -> bool {
    site == 0 || slot(site).load(Relaxed) == facts
}

/// What is known about `site`.
#[inline]
pub(crate) fn facts(site: usize) -> Facts {
    Facts::of(word(site))
}

#[cold]
fn first_time(site: usize) -> u64 {
    join::settle();
    let mut v = key(site);
    if segment_tables::any()
        && let Some(e) = segment_tables::behind_call(site).filter(|e| e.verdict != Verdict::Opaque)
    {
        v |= PROVED | if e.shared { SHARED } else { 0 } | if e.dealt { DEALT } else { 0 };
    }
    slot(site).store(v, Relaxed);
    v
}

/// Learns how the construct started at `site` ended, and, where it is of use, how long it took, with `len`
/// iterations for each thread. The first time may have waited for memory: the fastest counts.
#[inline]
pub(crate) fn learn(site: usize, barrier: bool, len: impl FnOnce() -> u64, took_ns: impl FnOnce() -> u64) {
    let s = slot(site);
    let v = s.load(Relaxed);
    if site == 0 || v & !FACTS != key(site) {
        return;
    }
    let mut new = v & !BARRIER | if barrier { BARRIER } else { 0 };
    let times = v >> TIMES & TIMED;
    if v & PROVED != 0 && times < TIMED {
        let had = if times == 0 { 0 } else { v >> PIECE };
        let longest = had.max(u64::from(piece(len(), took_ns())));
        new = new & !(TIMED << TIMES) & !(u64::from(LONGEST) << PIECE)
            | (times + 1) << TIMES
            | longest << PIECE;
    }
    if v != new {
        s.store(new, Relaxed);
    }
}

/// What the constructs started at a site have taken, for the report. A construct's first thread accounts for it.
struct Total {
    site: AtomicUsize,
    times: AtomicU64,
    ns: AtomicU64,
    /// Time in which its work could not be executed again: behind marks, and where saving had stopped.
    marks: AtomicU64,
    unsaved: AtomicU64,
}

static TOTALS: [Total; SIZE] = [const {
    Total {
        site: AtomicUsize::new(0),
        times: AtomicU64::new(0),
        ns: AtomicU64::new(0),
        marks: AtomicU64::new(0),
        unsaved: AtomicU64::new(0),
    }
}; SIZE];
static ACCOUNTS: AtomicBool = AtomicBool::new(false);

/// Accounts for the time of constructs from here on.
pub fn keep_accounts() {
    ACCOUNTS.store(true, Relaxed);
}

/// Is the time of constructs accounted for?
#[inline]
pub fn keeps_accounts() -> bool {
    ACCOUNTS.load(Relaxed)
}

/// A construct started at `site` has taken `ns`, and `marks` and `unsaved` of that could not be executed
/// again (save/unsaved_time.rs). Where the table is full of other sites it is left out.
#[cold]
pub(crate) fn account(site: usize, ns: u64, marks: u64, unsaved: u64) {
    if let Some(t) = claim(&TOTALS, site, |t| &t.site) {
        t.times.fetch_add(1, Relaxed);
        t.ns.fetch_add(ns, Relaxed);
        t.marks.fetch_add(marks.min(ns), Relaxed);
        t.unsaved.fetch_add(unsaved.min(ns - marks.min(ns)), Relaxed);
    }
}

/// What constructs that were started at a site have taken.
pub struct Account {
    /// The return address of the call.
    pub site: usize,
    /// Constructs.
    pub times: u64,
    /// Their time (ns); … of that behind things that cannot be executed twice; … while saving had stopped.
    pub ns: u64,
    /// See above.
    pub marks: u64,
    /// See above.
    pub unsaved: u64,
}

/// A site whose account has been taken away.
const TAKEN: usize = 1;

impl Total {
    fn read(&self) -> Account {
        Account {
            site: self.site.load(Relaxed),
            times: self.times.load(Relaxed),
            ns: self.ns.load(Relaxed),
            marks: self.marks.load(Relaxed),
            unsaved: self.unsaved.load(Relaxed),
        }
    }
}

/// All sites, those that took longest first.
pub fn accounts() -> Vec<Account> {
    let mut all: Vec<_> = TOTALS.iter().map(Total::read).filter(|a| a.site > TAKEN).collect();
    all.sort_by_key(|a| core::cmp::Reverse(a.ns));
    all
}

/// Those for which `f` holds, which are no longer there afterwards: their code is about to go.
pub fn take(f: impl Fn(usize) -> bool) -> Vec<Account> {
    let mut all = Vec::new();
    for t in TOTALS.iter().filter(|t| t.site.load(Relaxed) > TAKEN && f(t.site.load(Relaxed))) {
        all.push(t.read());
        t.site.store(TAKEN, Relaxed);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_those_of_the_fastest_of_the_first_times() {
        let site = 0x7fff_1234_5678;
        let known = |f: u64| slot(site).store(key(site) | f, Relaxed);
        let took = |len: u64, us: u64| learn(site, true, || len, || us * 1000);
        known(0);
        took(1000, 320);
        assert_eq!((facts(site).pieces(1000), facts(site).ends_in_barrier), (None, true), "not proved");
        known(PROVED | SHARED);
        took(1000, 3200);
        assert_eq!(facts(site).pieces(1000), Some(62), "100 would be too many");
        took(1000, 320);
        assert_eq!([10, 1000, 1 << 40].map(|n| facts(site).pieces(n)), [Some(1), Some(7), Some(64)]);
        took(1000, 6400);
        assert_eq!(facts(site).pieces(1000), Some(7));
        took(1000, 40);
        assert_eq!([1000, 3000].map(|n| facts(site).pieces(n)), [Some(1), Some(2)], "a piece is 800");
        (0..7).for_each(|_| took(1000, 1));
        let f = facts(site);
        assert_eq!((f.proved, f.shared, f.dealt, f.ends_in_barrier), (true, true, false, true));
        known(PROVED);
        (0..7).for_each(|_| took(1 << 20, 320));
        took(1 << 20, 10);
        assert_eq!(facts(site).pieces(1 << 20), Some(8), "later ones are not timed");
    }
}
