//! Where a failure would have been refused, and for how long: for the report (`promp-cc --explain`).
//!
//! A verdict says what can be executed again. Work that has come to something that cannot (a mark,
//! price.rs), or whose old values are not saved because that costs too much, cannot, until the next save
//! point. Nor can a part of a construct behind a save point in it that has another verdict than the first
//! part. With PROMP_REPORT the time of both is added up: by the *site* that is the reason, or the part's
//! text, of all threads, and by loop, of the thread that accounts for the loop.
//!
//! Relaxed: sums that are read when the program ends.

use super::across_points;
use super::price::{Site, of_reason};
use crate::proofs::segment_tables::{self, Verdict};
use crate::sys::claim::claim;
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use crate::sys::{maps, time};
use crate::team::thread::Thread;
use crate::work::site;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU64, AtomicUsize};
use promp_settings::save_budget::Budget;

/// What a site has made unsafe, of all threads.
struct Total {
    /// Its address; of a part its text's, with [`PART`].
    site: AtomicUsize,
    times: AtomicU64,
    ns: AtomicU64,
    /// What saving took when it was given up (f64 bits).
    percent: AtomicU64,
}

const SIZE: usize = 256;
static TOTALS: [Total; SIZE] = [const {
    Total {
        site: AtomicUsize::new(0),
        times: AtomicU64::new(0),
        ns: AtomicU64::new(0),
        percent: AtomicU64::new(0),
    }
}; SIZE];
/// A site of an object that has been unloaded.
const GONE: usize = 1;
/// No address of a program's has this bit.
const PART: usize = 1 << 63;
/// What they had.
static OF_OTHERS: Locked<Vec<Unsafe>> = Locked::new(Vec::new());

/// Work that could not have been executed again.
#[derive(Clone, Debug)]
pub struct Unsafe {
    /// "file:line: what".
    pub text: String,
    /// How often that began.
    pub times: u64,
    /// Time of all threads (ns).
    pub ns: u64,
    /// It is saving that was given up.
    pub stopped: Option<Stopped>,
}

/// Saving that was given up.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// What it took, in percent of the loop's time without it.
    pub percent: f64,
    /// What it may take, and whether -fpromp-budget says so.
    pub budget: (Budget, bool),
}

/// The work since `thr`'s save point cannot be executed again from here on, if that was not so before.
#[inline]
pub fn begins(thr: &'static Thread) {
    if site::keeps_accounts() && thr.unsaved.since.get() == 0 {
        thr.unsaved.since.set(time::now_ns());
    }
}

/// There is a new save point; the work before it was lost for the reason `why`.
#[cold]
pub(crate) fn ends(thr: &'static Thread, why: usize) {
    if thr.gauge.across.is_on() {
        across_points::settle(thr);
    }
    let since = take(&thr.unsaved.since);
    if since != 0
        && let Some(site) = of_reason(why)
    {
        add(thr, core::ptr::from_ref(site) as usize, since, Some(site));
    }
}

/// There is a new save point, `behind` the call of which the work goes on. In a construct the part that
/// begins there may be one that cannot be executed again.
#[cold]
pub(crate) fn part_begins(thr: &'static Thread, behind: bool) {
    part_ends(thr);
    let (clock, began) = (&thr.unsaved, began(thr));
    if !behind || began == 0 || began == clock.left.get() {
        return;
    }
    let entry = thr.save.current().and_then(|s| s.resumes_at()).and_then(segment_tables::behind_call);
    if let Some(e) = entry.filter(|e| e.verdict == Verdict::Opaque) {
        clock.part.set(e.text().as_ptr() as usize | PART);
        clock.since.set(time::now_ns());
    }
}

/// If it was lost on its way, that has been told.
fn part_ends(thr: &'static Thread) {
    let at = thr.unsaved.part.get();
    thr.unsaved.part.set(0);
    if at != 0 {
        let since = take(&thr.unsaved.since);
        if since != 0 {
            add(thr, at, since, None);
        }
    }
}

/// When the construct that `thr` is in began; 0: it is in none.
fn began(thr: &'static Thread) -> u64 {
    thr.member().share.get().map_or(0, |s| s.shape.peek().began)
}

/// Work that could not have been executed again since then has ended; of a part there is no site.
fn add(thr: &'static Thread, at: usize, since: u64, site: Option<&'static Site>) {
    let (clock, now, began) = (&thr.unsaved, time::now_ns(), began(thr));
    if began != 0 && began != clock.left.get() {
        let always = site.is_none_or(|s| s.is_opaque() || s.is_private());
        let sum = if always { &clock.marks } else { &clock.unsaved };
        sum.set(sum.get() + now.saturating_sub(since.max(began)));
    }
    if let Some(t) = claim(&TOTALS, at, |t| &t.site) {
        t.times.fetch_add(1, Relaxed);
        t.ns.fetch_add(now.saturating_sub(since), Relaxed);
        if let Some(site) = site.filter(|s| !s.is_opaque()) {
            let percent = site.percent().to_bits();
            if site.points_of().is_some() {
                t.percent.store(percent, Relaxed); // the better, the more often both ways were gone
            } else {
                // The measurement goes on, or begins anew: the most counts, as bits of positive numbers.
                t.percent.fetch_max(percent, Relaxed);
            }
        }
    }
}

/// `thr` leaves the construct that began at `began`. How long its work there was lost because of things that
/// cannot be executed twice, and because of old values that are not saved (ns).
#[cold]
pub(crate) fn of_construct(thr: &'static Thread, began: u64) -> (u64, u64) {
    let at = thr.undo.lost();
    if at != 0 {
        let counts = thr.unsaved.since.get() != 0;
        ends(thr, at);
        if counts && thr.gauge.regions.is_without() {
            begins(thr);
        }
    }
    part_ends(thr);
    thr.unsaved.left.set(began);
    (take(&thr.unsaved.marks), take(&thr.unsaved.unsaved))
}

fn take(word: &Own<u64>) -> u64 {
    let had = word.get();
    word.set(0);
    had
}

fn told(t: &Total) -> Option<Unsafe> {
    let at = t.site.load(Relaxed);
    if at <= GONE {
        return None;
    }
    let (times, ns) = (t.times.load(Relaxed), t.ns.load(Relaxed));
    if at & PART != 0 {
        // SAFETY: a text in the constant data of an object that is loaded: those of others are marked by
        // `forget`.
        let text = unsafe { core::ffi::CStr::from_ptr((at & !PART) as *const libc::c_char) };
        return Some(Unsafe { text: text.to_string_lossy().into(), times, ns, stopped: None });
    }
    // SAFETY: a site of a loaded object, likewise.
    let site = unsafe { &*(at as *const Site) };
    let text = match site.text() {
        "" => "?: more old values than can be kept".into(),
        text => text.into(),
    };
    let percent = f64::from_bits(t.percent.load(Relaxed));
    let stopped = (!site.is_opaque()).then(|| Stopped { percent, budget: site.budget() });
    Some(Unsafe { text, times, ns, stopped })
}

/// The object with something at `part` goes: its sites are kept as texts.
pub fn forget(part: usize) {
    let maps = maps::all();
    let path = |a| maps::find(&maps, a).map_or("", |m| &m.path);
    for t in TOTALS.iter().filter(|t| t.site.load(Relaxed) > GONE) {
        if path(t.site.load(Relaxed) & !PART) == path(part) {
            OF_OTHERS.with(|v| v.extend(told(t)));
            t.site.store(GONE, Relaxed);
        }
    }
}

/// All of it, the longest first.
pub fn all() -> Vec<Unsafe> {
    let mut all: Vec<Unsafe> = TOTALS.iter().filter_map(told).collect();
    OF_OTHERS.with(|v| all.extend(v.iter().cloned()));
    all.sort_by_key(|u| core::cmp::Reverse(u.ns));
    all
}
