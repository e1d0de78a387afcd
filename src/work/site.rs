//! What is known about call sites of worksharing constructs: whether the construct that starts there ends in a barrier and takes long
//! (learned), and what promp-cc has proved about it.
//!
//! A direct-mapped table of return addresses; a collision forgets. Relaxed: an entry is complete in one word.

use crate::fault::join;
use crate::fault::tables::{self, Verdict};
use crate::sys::claim::claim;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

const SIZE: usize = 512;
static TABLE: [AtomicU64; SIZE] = [const { AtomicU64::new(0) }; SIZE];

const BARRIER: u64 = 1;
const SHARED: u64 = 2;
const PROVED: u64 = 4;
const TIMED: u64 = 8;
/// Where the binary logarithm of the number of fragments is: three bits.
const PIECES: u32 = 4;
const DEALT: u64 = 0x80;
const FACTS: u64 = 0xff;

/// A fragment is worth its price (about 0.1 µs) if it takes at least this long (ns).
const PIECE_NS: u64 = 32_000;
/// The most fragments, as a binary logarithm.
const MOST_PIECES: u32 = 6;

/// What is known about a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The construct ends in a barrier, as far as is known.
    pub ends_in_barrier: bool,
    /// Proved: chunks may be executed again.
    pub proved: bool,
    /// Proved: a chunk does the same whichever thread of the team executes it.
    pub shared: bool,
    /// Proved: the iterations of the static loop may be dealt in any way.
    pub dealt: bool,
    /// Into how many fragments a thread's chunk of a proved construct is worth cutting, learned from the time it took the first time.
    pub pieces: Option<u64>,
}

fn slot(site: usize) -> &'static AtomicU64 {
    &TABLE[(site >> 2).wrapping_mul(0x9E37_79B9) % SIZE]
}

/// A word without facts: the site, and the generation of promp-cc's tables.
fn key(site: usize) -> u64 {
    (site as u64) << 12 | u64::from(tables::generation() & 0xf) << 8
}

fn read(v: u64) -> Facts {
    let has = |bit| v & bit != 0;
    let pieces = has(TIMED).then(|| 1 << (v >> PIECES & 7));
    Facts {
        ends_in_barrier: has(BARRIER),
        proved: has(PROVED),
        shared: has(SHARED),
        dealt: has(DEALT),
        pieces,
    }
}

/// What is known about `site`.
#[inline]
pub fn facts(site: usize) -> Facts {
    if site == 0 {
        return read(0);
    }
    let v = slot(site).load(Relaxed);
    read(if v & !FACTS == key(site) { v } else { first_time(site) })
}

#[cold]
fn first_time(site: usize) -> u64 {
    join::settle();
    let mut v = key(site);
    if tables::any()
        && let Some(e) = tables::behind_call(site).filter(|e| e.verdict != Verdict::Opaque)
    {
        v |= PROVED | if e.shared { SHARED } else { 0 } | if e.dealt { DEALT } else { 0 };
    }
    slot(site).store(v, Relaxed);
    v
}

/// Learns how the construct started at `site` ended, and, where it is of use, how long it took.
#[inline]
pub fn learn(site: usize, barrier: bool, took_ns: impl FnOnce() -> u64) {
    let s = slot(site);
    let v = s.load(Relaxed);
    if site == 0 || v & !FACTS != key(site) {
        return;
    }
    let mut new = v & !BARRIER | if barrier { BARRIER } else { 0 };
    if v & (PROVED | TIMED) == PROVED {
        let pieces = (took_ns() / PIECE_NS).max(1).ilog2().min(MOST_PIECES);
        new |= TIMED | u64::from(pieces) << PIECES;
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
/// again (fault/unsaved.rs). Where the table is full of other sites it is left out.
#[cold]
pub fn account(site: usize, ns: u64, marks: u64, unsaved: u64) {
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
