//! What is known about call sites of worksharing constructs: whether the construct that starts there ends in a barrier and takes long
//! (learned), and what promp-cc has proved about it.
//!
//! A direct-mapped table of return addresses; a collision forgets. Relaxed: an entry is complete in one word.

use crate::fault::tables::{self, Verdict};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SIZE: usize = 512;
static TABLE: [AtomicU64; SIZE] = [const { AtomicU64::new(0) }; SIZE];

const BARRIER: u64 = 1;
const SHARED: u64 = 2;
const PROVED: u64 = 4;
const SHORT: u64 = 8;
const LONG: u64 = 16;
const FACTS: u64 = 0xff;

/// Constructs that take longer than this are long (ns).
const LONG_NS: u64 = 300_000;

/// How long a construct takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// It has not ended yet.
    Unknown,
    /// Shorter than 0.3 ms the first time.
    Short,
    /// Longer.
    Long,
}

/// What is known about a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The construct ends in a barrier, as far as is known.
    pub ends_in_barrier: bool,
    /// Proved: chunks may be executed again.
    pub proved: bool,
    /// Proved: a chunk does the same whichever thread of the team executes it.
    pub shared: bool,
    /// How long it takes, learned of proved constructs.
    pub length: Length,
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
    let length = if has(LONG) {
        Length::Long
    } else if has(SHORT) {
        Length::Short
    } else {
        Length::Unknown
    };
    Facts { ends_in_barrier: has(BARRIER), proved: has(PROVED), shared: has(SHARED), length }
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
    let mut v = key(site);
    if tables::any()
        && let Some(e) = tables::behind_call(site).filter(|e| e.verdict != Verdict::Opaque)
    {
        v |= PROVED | if e.shared { SHARED } else { 0 };
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
    if v & (PROVED | SHORT | LONG) == PROVED {
        new |= if took_ns() > LONG_NS { LONG } else { SHORT };
    }
    if v != new {
        s.store(new, Relaxed);
    }
}
