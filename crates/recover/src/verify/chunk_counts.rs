//! What is counted of verified chunks, and what the report says of them.

use super::{Check, chunk_bit_flips, chunk_selection};
use crate::icv::devices::{Mode, percent};
use crate::icv::globals_if_ready;
use crate::policy;
use crate::proofs::segment_tables;
use crate::say;
use crate::sys::lock::Locked;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use promp_report::Sdc;
use std::collections::BTreeSet;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Chunks whose result stands.
    Verified,
    /// Chunks of which more is lost than could be kept, or that had save points of their own.
    Lost,
    /// Chunks whose executions differed; all of them are repaired.
    Found,
}

static COUNTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// The checks of all threads there have been.
static CHECKS: Locked<Vec<&'static Check>> = Locked::new(Vec::new());
/// First executions of verified chunks.
pub(crate) static FIRST_NS: AtomicU64 = AtomicU64::new(0);
/// All that came after, until their results stood.
pub(crate) static AGAIN_NS: AtomicU64 = AtomicU64::new(0);
static UNVERIFIED: Locked<BTreeSet<String>> = Locked::new(BTreeSet::new());
static WRONG: Locked<BTreeSet<u32>> = Locked::new(BTreeSet::new());

/// Arranges for the word at exit.
pub(crate) fn start() {
    // SAFETY: the handler lives as long as the process.
    unsafe { libc::atexit(at_exit) };
}

/// A thread's check, whose chunks count.
pub(crate) fn watch(c: &'static Check) {
    CHECKS.with(|v| v.push(c));
}

/// Counts one.
pub(crate) fn count(k: Kind) {
    COUNTS[k as usize].fetch_add(1, Relaxed);
}

/// Adds up times.
pub(crate) fn took(what: &AtomicU64, ns: u64) {
    what.fetch_add(ns, Relaxed);
}

/// "file:line" of the loop or sections construct behind the call that returns to `site`.
fn place(site: usize) -> String {
    match segment_tables::behind_call(site).map(|e| e.text()) {
        Some(t) => t.split_once(": ").map_or(t, |t| t.0).into(),
        None => crate::sys::maps::function_name(site).unwrap_or_else(|| format!("{site:#x}")),
    }
}

/// The construct behind the call that returns to `site` cannot be verified.
pub(crate) fn unverified(site: usize, why: &str) {
    let text = format!("{}: {why}", place(site));
    UNVERIFIED.with(|v| {
        v.insert(text);
    });
}

/// `cpu` was wrong.
pub(crate) fn accuse(cpu: u32) {
    WRONG.with(|v| {
        v.insert(cpu);
    });
}

/// "chunk [0,100) of the loop at file.c:12", of the chunk in flight.
pub(crate) fn chunk(thr: &'static Thread) -> String {
    let p = policy::place(thr);
    let site = thr.save.current().and_then(crate::save::Slot::resumes_at).unwrap_or(0);
    let (lo, hi) = p.chunk.unwrap_or_default();
    format!("chunk [{lo},{hi}) of the {} at {}", p.construct, place(site))
}

extern "C" fn at_exit() {
    let verified = COUNTS[Kind::Verified as usize].load(Relaxed);
    let Some(g) = globals_if_ready() else { return };
    if verified == 0 && g.promp.verbose >= 1 {
        let why = UNVERIFIED.with(|v| v.iter().next().cloned());
        let why = why.unwrap_or_else(|| "no chunk of a loop was handed out and chosen".into());
        say!("PROMP_SDC=chunks has verified nothing ({why})");
    }
}

/// For the report; `None` where chunks are not verified.
pub fn collect() -> Option<Sdc> {
    let Mode::Chunks(_) = globals_if_ready()?.promp.devices.sdc else { return None };
    let n = |k: Kind| COUNTS[k as usize].load(Relaxed);
    Some(Sdc {
        mode: format!("chunks:{}", percent(chunk_selection::share())),
        chunks: CHECKS.with(|v| v.iter().map(|c| c.seen.load(Relaxed)).sum()),
        chunks_verified: n(Kind::Verified),
        found: n(Kind::Found),
        repaired: n(Kind::Found),
        injected: chunk_bit_flips::struck(),
        unverified: UNVERIFIED.with(|v| v.iter().cloned().collect()),
        unverified_launches: n(Kind::Lost),
        cpus_left: WRONG.with(|v| v.iter().copied().collect()),
        run_s: FIRST_NS.load(Relaxed) as f64 * 1e-9,
        again_s: AGAIN_NS.load(Relaxed) as f64 * 1e-9,
        ..Sdc::default()
    })
}
