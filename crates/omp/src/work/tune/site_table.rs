//! Call sites with their searches: a table that only grows.
//!
//! An entry is found by hashing and looking at a few places in a row. A place is empty (null) or has an
//! entry for good: made under a lock, published by a release store, read by acquire loads.

use super::{deal, exact, store};
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use crossbeam_utils::CachePadded;
use promp_model::choice::Choice;
use promp_model::doall::Overheads;
use promp_model::search::{Plan, Search};
use promp_model::tuning_file::What;
use promp_model::{Profile, Schedule, Sums};

/// Entries there is room for.
const SIZE: usize = 1024;
/// Places that are looked at.
const REACH: usize = 16;
/// Bits of [`Site::word`], beside the choice: it is settled …
const SETTLED: u64 = 1 << 20;
/// … and executions are long enough to measure each.
const MEASURE: u64 = 1 << 21;
/// Loops that take longer (ns) can afford the threads' CPU clocks for their profiles.
const LONG_ENOUGH: u64 = 500_000;
/// Nothing is to be chosen.
const FIXED: u64 = 1 << 22;
const FLAGS: u64 = SETTLED | MEASURE | FIXED;
/// Buckets of profiles.
const BUCKETS: usize = 32;

/// What an entry is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The call site.
    pub at: usize,
    /// Binary logarithm of the number of iterations.
    pub class: u32,
    /// Threads in the team.
    pub threads: u32,
    /// The program's own schedule.
    pub own: Schedule,
    /// A loop; or a region, by its outlined function.
    pub what: What,
}

/// What a member has timed of the construct that is being profiled. Its own until it leaves.
#[derive(Default)]
pub(crate) struct Timed {
    /// The chunk in hand: first iteration, end, clock ticks when it was handed out.
    pub hand: (u64, u64, u64),
    /// Ticks that dispatching took, and chunks.
    pub dispatch: (u64, u64),
    /// Ticks that looking at the clock takes.
    pub clock: u64,
    /// Chunks that are done.
    pub sums: Sums,
}

/// An entry of the table.
pub(crate) struct Site {
    /// What it is found by.
    pub key: Key,
    /// The search.
    pub search: Locked<Search>,
    /// The choice, when it is settled; of a trial that is to come, while executions by it come before that.
    word: AtomicU64,
    executions: AtomicU64,
    /// When it is settled and short: the number of the execution that is measured next.
    due: AtomicU64,
    /// See the states in mod.rs.
    busy: AtomicU32,
    /// Of the measured construct: the choice. Written by who makes it.
    choice: Own<Choice>,
    /// A trial, before which come executions by the same choice. As above.
    trial: Own<Option<Plan>>,
    /// Of the measured construct: when a trial is cut short (ns after it was made). As above.
    pub limit: Own<u64>,
    /// Of the measured construct: how long until the last member has left (ns).
    pub latest: AtomicU64,
    /// Of the measured construct: how many have left.
    pub left: AtomicU32,
    /// Of the measured construct: chunks are timed by the threads' CPU clocks (ns), not by ticks. As above.
    pub by_cpu: Own<bool>,
    /// What the last measured execution took (ns).
    took: AtomicU64,
    /// So often all ways are still to be compared (exact.rs).
    pub exact: AtomicU32,
    /// Of the measured construct: it is one of those that are compared. Written by who makes it.
    pub exactly: Own<bool>,
    /// A place a member, made for the first profile.
    timed: AtomicPtr<Vec<CachePadded<Locked<Timed>>>>,
}

static TABLE: [AtomicPtr<Site>; SIZE] = [const { AtomicPtr::new(core::ptr::null_mut()) }; SIZE];
static MAKING: Locked<()> = Locked::new(());

fn at(i: usize) -> Option<&'static Site> {
    // SAFETY: null, or an entry that is never freed.
    unsafe { TABLE[i].load(Acquire).as_ref() }
}

/// The entry of that number, which is in use.
pub(crate) fn by_index(i: u16) -> &'static Site {
    at(usize::from(i)).expect("entries stay")
}

/// All entries.
pub(crate) fn all() -> impl Iterator<Item = &'static Site> {
    (0..SIZE).filter_map(at)
}

fn first_place(key: &Key) -> usize {
    let hash = (key.at >> 2) ^ (key.class as usize) << 7 ^ (key.threads as usize) << 3;
    hash.wrapping_mul(0x9E37_79B9) >> 8
}

/// The entry for `key`, made if there is none; `None`: there is no room.
#[inline]
pub(crate) fn find(key: Key, search: impl FnOnce() -> Search) -> Option<(u16, &'static Site)> {
    let i = first_place(&key) % SIZE;
    match at(i) {
        Some(s) if s.key == key => Some((i as u16, s)),
        _ => find_further(key, search),
    }
}

#[cold]
#[inline(never)]
fn find_further(key: Key, search: impl FnOnce() -> Search) -> Option<(u16, &'static Site)> {
    let first = first_place(&key);
    let places = || (0..REACH).map(|i| (first + i) % SIZE);
    let look = || {
        places()
            .map(|i| (i, at(i)))
            .find(|(_, s)| s.is_none_or(|s| s.key == key))
            .and_then(|(i, s)| Some((i as u16, s?)))
    };
    look().or_else(|| {
        MAKING.with(|()| {
            look().or_else(|| {
                let i = places().find(|i| at(*i).is_none())?;
                TABLE[i].store(Box::into_raw(Box::new(Site::new(key, search()))), Release);
                look()
            })
        })
    })
}

impl Site {
    fn new(key: Key, mut search: Search) -> Self {
        let kept = if search.is_fixed() { None } else { store::kept(&key) };
        if let Some((choice, usual)) = kept {
            search.keep(choice, usual);
        }
        let compared = match search.settled() {
            Some(_) => 0,
            None if !search.is_modelled() => 0,
            None => exact::searches(all().filter(|s| s.key.at == key.at).count()),
        };
        Self {
            key,
            word: AtomicU64::new(word(&search)),
            search: Locked::new(search),
            executions: AtomicU64::new(0),
            due: AtomicU64::new(0),
            busy: AtomicU32::new(0),
            choice: Own::new(Choice::GIVEN),
            trial: Own::new(None),
            limit: Own::new(0),
            latest: AtomicU64::new(0),
            left: AtomicU32::new(0),
            by_cpu: Own::new(false),
            took: AtomicU64::new(0),
            exact: AtomicU32::new(compared),
            exactly: Own::new(false),
            timed: AtomicPtr::default(),
        }
    }

    /// What to do with an execution over `total` iterations that begins; a plan if it is to be measured, as
    /// one is for sure that is `due`.
    #[inline]
    pub(crate) fn next(&self, total: u64, due: bool) -> (Choice, Option<Plan>) {
        let (w, count) = (self.word.load(Relaxed), self.executions.fetch_add(1, Relaxed));
        let known = if w & SETTLED != 0 { Choice::unpack(w & !FLAGS) } else { Choice::GIVEN };
        let leave_out = match w & FLAGS {
            FIXED => true,
            SETTLED => !due && count < self.due.load(Relaxed),
            _ => false,
        };
        let compares = self.exact.load(Relaxed) > 0;
        if leave_out && !compares || self.busy.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            return (known, None);
        }
        let plan = self.plan(total, compares);
        if plan.warm > 0 {
            // Not measured; who sees `due` may have the choice by `word`, or not yet.
            self.busy.store(0, Release);
            return (plan.choice, None);
        }
        (plan.choice, Some(plan))
    }

    #[cold]
    #[inline(never)]
    fn plan(&self, total: u64, compares: bool) -> Plan {
        let mut plan = match self.trial.get() {
            Some(plan) => Plan { warm: 0, ..plan },
            None => self.search.with(Search::plan),
        };
        self.trial.set(Some(plan).filter(|p| p.warm > 0));
        if plan.warm > 0 {
            self.word.store(plan.choice.pack() | SETTLED, Relaxed);
            self.due.store(self.executions.load(Relaxed) + u64::from(plan.warm) - 1, Relaxed);
            return plan;
        }
        if compares && let Some((choice, limit)) = exact::begin(self, total) {
            plan = Plan::trial(choice, limit);
        }
        self.choice.set(plan.choice);
        self.limit.set(plan.limit.map_or(u64::MAX, |l| (l * total as f64 * 1e9) as u64));
        plan
    }

    /// How many executions of a region by the choice of one thread alone come before the next one that is to
    /// be measured.
    pub(crate) fn unmeasured_alone(&self) -> u32 {
        let w = self.word.load(Relaxed);
        let settled = w & FLAGS == SETTLED && Choice::unpack(w & !FLAGS).threads == 1;
        if !settled || self.exact.load(Relaxed) > 0 {
            return 0;
        }
        self.search.with(|s| s.interval()) as u32 - 1
    }

    /// How often it was executed, as far as that was counted: regions that one thread goes on to execute are
    /// not asked about each time.
    pub(crate) fn executions(&self) -> u64 {
        self.executions.load(Relaxed)
    }

    /// The measured construct is to be profiled.
    pub(crate) fn begin_profile(&self, total: u64) {
        self.by_cpu.set(self.took.load(Relaxed) > LONG_ENOUGH);
        if self.timed.load(Relaxed).is_null() {
            let all = (0..self.key.threads).map(|_| Default::default()).collect();
            self.timed.store(Box::into_raw(Box::new(all)), Relaxed);
        }
        for t in self.timed() {
            t.with(|t| {
                (t.hand, t.dispatch, t.clock) = Default::default();
                t.sums.begin(total, BUCKETS);
            });
        }
    }

    /// Places for what members time. The members come to the construct behind an acquire load.
    pub(crate) fn timed(&self) -> &[CachePadded<Locked<Timed>>] {
        // SAFETY: null, or made by `begin_profile` and never freed.
        unsafe { self.timed.load(Relaxed).as_ref() }.map_or(&[], |v| v)
    }

    /// The last member has left the measured construct, of `total` iterations.
    pub(crate) fn conclude(&self, total: u64, profiled: bool, n: u32) {
        let took = self.latest.swap(0, Relaxed);
        self.took.store(took, Relaxed);
        let seconds = took as f64 * 1e-9;
        self.left.store(0, Relaxed);
        // Goes back and does not return, until all is known.
        let compared = self.exactly.get().then(|| exact::concluded(self, total, seconds)).flatten();
        let choice = self.choice.get();
        self.search.with(|s| {
            if let Some(tried) = compared {
                s.compared(tried);
            } else if profiled {
                let (profile, dispatch) = self.profile();
                let costs = Overheads { dispatch, scatter: 0.1, ..Overheads::default() };
                s.profiled(&profile, &costs, &vec![1.0; n as usize]);
            } else {
                s.done(choice, total, seconds);
            }
            self.due.store(self.executions.load(Relaxed) + s.interval() - 1, Relaxed);
            self.word.store(word(s), Relaxed);
        });
        self.busy.store(0, Release);
    }

    /// What the members have timed, and what a chunk costs to hand out.
    fn profile(&self) -> (Profile, f64) {
        let (mut sums, mut dispatch) = (vec![], (0, 0));
        for t in self.timed() {
            t.with(|t| {
                dispatch = (dispatch.0 + t.dispatch.0, dispatch.1 + t.dispatch.1);
                sums.push(t.sums.clone());
            });
        }
        let second = if self.by_cpu.get() { 1e-9 } else { deal::seconds(1) };
        (Profile::from_sums(&sums).in_units_of(second), second * dispatch.0 as f64 / dispatch.1.max(1) as f64)
    }
}

fn word(s: &Search) -> u64 {
    match s.settled() {
        _ if s.is_fixed() => FIXED,
        None => 0,
        Some(c) => {
            let each = s.interval() == 1;
            c.pack() | SETTLED | if each { MEASURE } else { 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use promp_model::Kind;
    use promp_model::search::May;

    #[test]
    fn entries_are_found_again_and_differ_by_all_of_the_key() {
        let own = Schedule::new(Kind::Dynamic, 1);
        let may = May { schedule: true, threads: true };
        let find = |key| find(key, || Search::new(2, own, may));
        let key = Key { at: 0x4000, class: 5, threads: 2, own, what: What::Loop };
        let (i, a) = find(key).expect("room");
        assert!(core::ptr::eq(find(key).expect("there").1, a) && core::ptr::eq(by_index(i), a));
        for other in [
            Key { at: 0x4004, ..key },
            Key { class: 6, ..key },
            Key { threads: 3, ..key },
            Key { what: What::Region, ..key },
            Key { own: Schedule::new(Kind::Dynamic, 2), ..key },
        ] {
            assert!(!core::ptr::eq(find(other).expect("room").1, a));
        }
    }

    #[test]
    fn one_construct_is_measured_at_a_time() {
        let own = Schedule::new(Kind::Dynamic, 1);
        let key = Key { at: 0x5000, class: 5, threads: 2, own, what: What::Loop };
        let new = || Search::new(2, own, May { schedule: true, threads: true });
        let (_, s) = find(key, new).expect("room");
        assert!(s.next(32, false).1.is_some());
        assert_eq!(s.next(32, false), (Choice::GIVEN, None));
        s.latest.store(1_000_000, Relaxed);
        s.conclude(32, false, 2);
        // The second one is profiled.
        assert!(s.next(32, false).1.is_some_and(|p| p.profile));
    }

    /// What is short, settled and compared with nothing any more is measured every 250 us of its time, and
    /// between that nobody is asked.
    #[test]
    fn a_settled_short_loop_is_seldom_measured() {
        let own = Schedule::new(Kind::Dynamic, 1);
        let key = Key { at: 0x6000, class: 5, threads: 2, own, what: What::Loop };
        let (_, s) = find(key, || Search::new(2, own, May { schedule: true, threads: true })).expect("room");
        let execute = || {
            let (choice, plan) = s.next(32, false);
            if plan.is_some() {
                // The first thread to come does it all in a microsecond.
                s.latest.store(if choice.threads == 1 { 1000 } else { 3000 }, Relaxed);
                s.conclude(32, false, 2);
            }
            plan.is_some()
        };
        let measured = |n: u32| (0..n).filter(|_| execute()).count();
        assert!(measured(50_000) > 200, "rivals are compared");
        let every = s.search.with(|s| s.interval()) as u32;
        assert!((249..=251).contains(&every), "{every}");
        assert_eq!(measured(every * 100), 100);
        assert_eq!(s.executions(), u64::from(50_000 + every * 100));
    }
}
