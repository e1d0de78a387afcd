//! All ways to execute a construct, compared on the same work: `promp tune --exact`.
//!
//! Who makes a construct's descriptor takes a checkpoint first ([`begin`]); the last member that leaves notes
//! what the whole took and goes back to it ([`concluded`]), so that the next candidate executes the same
//! iterations on the same memory, with the other threads where they were. What was measured lies in memory
//! that is not put back. When all is known, the last execution is the one that counts: the program goes on
//! from there.
//!
//! ```text
//! ACTIVE  false --begin--> true --point--> [execution --concluded--> back]… --concluded, all known--> false
//!                                             +--too short, or no going back--> false: as without
//! ```
//!
//! ACTIVE is ordinary memory, so that after a rollback because of a failure it says what is true there. A
//! process that goes on from such a checkpoint after a restart has no trials: they are the former one's.
//! Constructs that are made meanwhile, in other teams, are tuned as ever; what becomes of that is undone.
//! Those who can go back are above this folder: they offer it ([`Machine`]).

use super::decisions::less;
use super::site_names;
use super::site_table::Site;
use crate::icv::{globals, globals_if_ready};
use crate::say;
use crate::sys::own::Own;
use crate::sys::{preserved_memory, syscall, time};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use promp_model::choice::Choice;
use promp_model::exhaustive_search::{self, Tried};
use promp_model::tuning_file::What;

/// Who takes checkpoints and goes back to them.
pub trait Machine: Sync {
    /// Takes one, and returns its number, again and again.
    fn point(&self) -> Result<u64, String>;
    /// Goes back to it; or returns why not.
    fn back(&self, point: u64) -> String;
}

/// Candidates there is room for.
const MOST: usize = 48;
/// Shorter executions (seconds) are mostly what follows from having been stopped: threads that are woken,
/// caches that are cold.
const SHORT: f64 = 200e-6;
/// How long (ns) the threads have until all of them are on their CPUs again.
const SETTLE_NS: u64 = 300_000;
/// A site is searched at its first and at its second execution, of which the first may be the odd one; the
/// latter counts.
pub(crate) const SEARCHES: u32 = 2;

/// Classes of trip counts, teams and schedules of one call that are compared: a call that has a new one each
/// time would never come to an end.
const OF_A_CALL: usize = 8;

/// A candidate.
struct Candidate {
    choice: AtomicU64,
    count: AtomicU32,
    /// Bits of seconds for an iteration.
    times: [AtomicU64; exhaustive_search::MOST],
}

/// What outlives going back. Only one thread at a time writes it; the keeper's hand-over orders the rest.
struct Kept {
    /// What to go back to.
    point: AtomicU64,
    /// The candidate that is executed.
    current: AtomicU32,
    used: AtomicU32,
    list: [Candidate; MOST],
}

static MACHINE: Own<Option<&'static dyn Machine>> = Own::new(None);
static KEPT: AtomicPtr<Kept> = AtomicPtr::new(core::ptr::null_mut());
/// The process that KEPT is of: its number, and its kept region.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static INCARNATION: AtomicU64 = AtomicU64::new(0);
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Constructs that were compared, and those that were too short, for the summary.
static COMPARED: AtomicU32 = AtomicU32::new(0);
static TOO_SHORT: AtomicU32 = AtomicU32::new(0);
static REFUSED: AtomicU32 = AtomicU32::new(0);

/// From here on constructs are compared by `machine`; once, under the initialisation lock. False: there is
/// no memory for it.
pub fn start(machine: &'static dyn Machine) -> bool {
    let Some(p) = preserved_memory::pages(size_of::<Kept>()) else { return false };
    MACHINE.set(Some(machine));
    PROCESS.store(syscall::getpid(), Relaxed);
    INCARNATION.store(preserved_memory::incarnation(), Relaxed);
    // Zeroed memory is an empty table.
    KEPT.store(p.cast(), Release);
    // SAFETY: the handler lives as long as the process.
    unsafe { libc::atexit(at_exit) };
    true
}

fn kept() -> Option<&'static Kept> {
    // A process that goes on from a checkpoint has the pointer, and other things in that place; its child has
    // neither.
    let here = PROCESS.load(Relaxed) == syscall::getpid()
        && preserved_memory::on()
        && INCARNATION.load(Relaxed) == preserved_memory::incarnation();
    // SAFETY: null, or memory of this process' kept region that is never given back; all of it is atomics.
    here.then(|| unsafe { KEPT.load(Acquire).as_ref() }).flatten()
}

/// How often a site at a call of which `others` are known is to be searched.
pub(crate) fn searches(others: usize) -> u32 {
    if kept().is_some() && others < OF_A_CALL { SEARCHES } else { 0 }
}

impl Kept {
    fn begin(&self, ways: &[Choice]) {
        for (c, way) in self.list.iter().zip(ways) {
            c.choice.store(way.pack(), Relaxed);
            c.count.store(0, Relaxed);
        }
        self.used.store(ways.len().min(MOST) as u32, Relaxed);
        self.current.store(0, Relaxed);
    }

    fn current(&self) -> &Candidate {
        &self.list[self.current.load(Relaxed) as usize]
    }

    /// The current candidate took so long.
    fn took(&self, seconds: f64) {
        let c = self.current();
        let n = c.count.load(Relaxed) as usize;
        if let Some(t) = c.times.get(n) {
            t.store(seconds.to_bits(), Relaxed);
            c.count.store(n as u32 + 1, Relaxed);
        }
    }

    fn tried(&self) -> Vec<Tried> {
        let of = |c: &Candidate| Tried {
            choice: Choice::unpack(c.choice.load(Relaxed)),
            times: (c.times.iter().take(c.count.load(Relaxed) as usize))
                .map(|t| f64::from_bits(t.load(Relaxed)))
                .collect(),
        };
        self.list.iter().take(self.used.load(Relaxed) as usize).map(of).collect()
    }
}

/// A construct of `total` iterations is about to be executed: how, and the time for an iteration at which
/// that is cut short. Returns again whenever it is to be executed another time. `None`: not this one.
pub(crate) fn begin(site: &Site, total: u64) -> Option<(Choice, Option<f64>)> {
    let (before, machine) = (kept()?, MACHINE.get()?);
    if ACTIVE.compare_exchange(false, true, Acquire, Relaxed).is_err() {
        return None;
    }
    before.begin(&site.search.with(|s| s.ways(total)));
    site.exactly.set(true);
    let point = machine.point();
    // Here another process may go on.
    let Some(kept) = kept() else { return restarted(site) };
    match point {
        Ok(point) => kept.point.store(point, Relaxed),
        Err(why) => {
            refused(site, &format!("no checkpoint can be taken: {why}"));
            over(site);
            return None;
        }
    }
    settle();
    let least = kept.tried().iter().filter(|t| !t.times.is_empty()).map(Tried::least).reduce(f64::min);
    Some((Choice::unpack(kept.current().choice.load(Relaxed)), least))
}

/// All threads have just been let go: those who sleep come to their CPUs before times are taken.
fn settle() {
    let until = time::now_ns() + SETTLE_NS;
    while time::now_ns() < until {
        syscall::sched_yield();
    }
}

/// The construct of `site` was executed and took `seconds`. Returns what all candidates took, if all is
/// known; `None`: it is not compared.
pub(crate) fn concluded(site: &Site, total: u64, seconds: f64) -> Option<Vec<Tried>> {
    let machine = MACHINE.get()?;
    let Some(kept) = kept() else { return restarted(site) };
    kept.took(seconds / total.max(1) as f64);
    let tried = kept.tried();
    // By the program's own way; or by another's, which cannot be that much better.
    let under = |t: &Tried, limit: f64| t.least() * (total as f64) < limit;
    if under(&tried[0], SHORT) || tried.iter().any(|t| under(t, SHORT / 4.0)) {
        TOO_SHORT.fetch_add(1, Relaxed);
        site.exact.store(0, Relaxed);
        over(site);
        return None;
    }
    if let Some(i) = exhaustive_search::next(&tried) {
        kept.current.store(i as u32, Relaxed);
        let why = machine.back(kept.point.load(Relaxed));
        refused(site, &format!("the program cannot go back to its beginning: {why}"));
        over(site);
        return None;
    }
    if site.exact.fetch_sub(1, Relaxed) == SEARCHES {
        COMPARED.fetch_add(1, Relaxed);
    }
    told(site, &tried);
    over(site);
    Some(tried)
}

/// The process goes on from a checkpoint of another one.
fn restarted<T>(site: &Site) -> Option<T> {
    site.exact.store(0, Relaxed);
    if globals().promp.verbose >= 1 {
        say!(
            "exact: {}: the process was restarted while ways were compared; what was measured is gone, and \
             loops are searched from execution to execution from here on",
            name(site)
        );
    }
    over(site);
    None
}

fn over(site: &Site) {
    site.exactly.set(false);
    ACTIVE.store(false, Release);
}

fn name(site: &Site) -> String {
    let what = if site.key.what == What::Loop { "loop" } else { "region" };
    let function = site_names::of(site.key.at, site.key.what == What::Loop).map_or("?".into(), |(.., f)| f);
    match site.key.what {
        What::Loop => format!("{what} in {function}, some 2^{} iterations", site.key.class),
        What::Region => format!("{what} {function}"),
    }
}

/// It is searched as without --exact.
fn refused(site: &Site, why: &str) {
    site.exact.store(0, Relaxed);
    REFUSED.fetch_add(1, Relaxed);
    if globals().promp.verbose >= 1 {
        say!("exact: {}: {why}; it is searched from execution to execution instead", name(site));
    }
}

fn told(site: &Site, tried: &[Tried]) {
    if globals().promp.verbose < 1 {
        return;
    }
    let executions: usize = tried.iter().map(|t| t.times.len()).sum();
    let best = &tried[exhaustive_search::best(tried)];
    let found = match best.choice {
        Choice::GIVEN => "the program's own way stays".into(),
        c => format!("{c}{}", less(best.least() / tried[0].least())),
    };
    say!("exact: {}: {} ways, {executions} executions from one state: {found}", name(site), tried.len());
}

/// The program ends: what there was.
extern "C" fn at_exit() {
    if globals_if_ready().is_some_and(|g| g.promp.verbose >= 1) {
        let [compared, short, refused] = [&COMPARED, &TOO_SHORT, &REFUSED].map(|n| n.load(Relaxed));
        say!(
            "exact: {compared} compared from one state, {short} too short for that (less than {:.0} us), \
             {refused} that cannot be",
            SHORT * 1e6
        );
    }
}
