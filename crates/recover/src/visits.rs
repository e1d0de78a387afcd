//! The first thread's visits of places: they are counted, and noted for the report, from which `promp
//! plan` finds the best ones; a plan (PROMP_CKPT_PLAN) says at which of them checkpoints are taken.
//!
//! All of it is the program's memory: after a rollback the count is what it was, and so the plan goes on.

use crate::ckpt::image::checkpoint_plan::{At, Plan};
use crate::ckpt::site_choice::Advice;
use crate::icv::Globals;
use crate::say;
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use crate::sys::{maps, objects, time};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use promp_report::{Report, Site, Visit};

/// Of one place so many visits are noted between two checkpoints, at most.
const PART: u64 = 64;
/// Less than one of so many parts of an interval after a checkpoint another one is too close.
const CLOSE: u64 = 3;
/// From so many visits on, it is known how fast they follow each other.
const ENOUGH: u64 = 4;
/// So many are noted in all.
const MOST: usize = 1 << 16;

/// One that was noted.
#[derive(Clone, Copy)]
struct Noted {
    number: u64,
    at: usize,
    at_ns: u64,
    bytes: u64,
}

/// Visits so far. The first thread writes it.
static COUNT: AtomicU64 = AtomicU64::new(0);
static NOTED: Locked<Vec<Noted>> = Locked::new(Vec::new());
/// Are visits noted?
static NOTES: Own<bool> = Own::new(false);
static BEGAN: Own<u64> = Own::new(0);
static PACE: Own<Pace> = Own::new(Pace { last_ns: 0, at: 0, each_ns: 0 });
static PLAN: Own<Option<&'static Plan>> = Own::new(None);

/// Begins, while the runtime is initialised.
pub(crate) fn start(g: &Globals) {
    let Some(c) = crate::ckpt::settings::asked() else { return };
    BEGAN.set(time::now_ns());
    // One that leaves all to the rule is none.
    let plan = c.plan.clone().filter(|p| !p.take.is_empty());
    PLAN.set(plan.map(|p| &*Box::leak(Box::new((*p).clone()))));
    if g.promp.report.is_some() {
        NOTES.set(true);
        super::report::also(add);
    }
}

/// Is there a plan that the program keeps to?
pub(crate) fn is_planned() -> bool {
    PLAN.get().is_some()
}

/// Is visit `number` the rule's, though there is a plan?
pub(crate) fn is_left(number: u64) -> bool {
    PLAN.get().is_some_and(|p| p.leaves(number))
}

/// Is the first thread's next visit? Seen from another one, about.
pub(crate) fn next_is_left() -> bool {
    is_left(COUNT.load(Relaxed) + 1)
}

/// The first thread visits the place `at`: the number of the visit. `last_ns`: when a checkpoint was taken
/// last. `may_be_taken`: a plan may have it.
pub(crate) fn note(
    at: usize,
    dead: u64,
    (now_ns, last_ns): (u64, u64),
    interval_ns: u64,
    may_be_taken: bool,
) -> u64 {
    let number = COUNT.load(Relaxed) + 1;
    COUNT.store(number, Relaxed);
    if is_planned() {
        PACE.change(|p| p.visit(number, last_ns));
    }
    if NOTES.get() && may_be_taken {
        NOTED.with(|all| {
            let last = all.iter().rev().take(64).find(|n| n.at == at);
            let is_due = last.is_none_or(|l| now_ns.saturating_sub(l.at_ns) >= interval_ns / PART);
            if is_due && all.len() < MOST {
                all.push(Noted { number, at, at_ns: now_ns, bytes: resident().saturating_sub(dead) });
            }
        });
    }
    number
}

/// The program's own memory that is there, in bytes.
fn resident() -> u64 {
    let text = maps::read_file(c"/proc/self/statm").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut pages = text.split_whitespace().skip(1).filter_map(|w| w.parse::<u64>().ok());
    let (all, files) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    all.saturating_sub(files) * 4096
}

/// How fast visits follow each other.
#[derive(Clone, Copy, Default)]
struct Pace {
    /// When a checkpoint was taken last, and at which visit, about.
    last_ns: u64,
    at: u64,
    /// From visit to visit, in the interval before; 0: it is not known.
    each_ns: u64,
}

impl Pace {
    fn visit(&mut self, number: u64, last_ns: u64) {
        if last_ns != self.last_ns {
            let since = last_ns.saturating_sub(self.last_ns);
            let visits = number.saturating_sub(self.at + 1);
            let is_known = self.last_ns > 0 && visits > 0;
            *self = Self {
                last_ns,
                at: number - 1,
                each_ns: if is_known { since / visits } else { self.each_ns },
            };
        }
    }

    /// … at visit `number`.
    fn now(&self, number: u64, now_ns: u64) -> u64 {
        let since = number.saturating_sub(self.at);
        if since < ENOUGH { self.each_ns } else { now_ns.saturating_sub(self.last_ns) / since }
    }
}

/// A visit, between checkpoints.
pub(crate) struct When {
    /// Now.
    pub now_ns: u64,
    /// When a checkpoint was taken last.
    pub last_ns: u64,
    /// From one to the next.
    pub interval_ns: u64,
    /// From a visit to the copy.
    pub lead_ns: u64,
}

/// What the plan has for visit `number`, at the place `at` if one can be taken there, and for the next one.
/// What it leaves to the rule is the rule's.
/// The program may be slower than it was when the plan was made: where the plan's next visit would come too
/// late, the rule without a plan (`own`) finds the last one that does not; and one that follows too closely
/// upon that is left out if the one behind it is in time.
pub(crate) fn advise(number: u64, at: Option<usize>, own: Advice, when: When) -> Advice {
    let each = PACE.get().now(number, when.now_ns);
    let comes = |visit: u64| when.now_ns.saturating_add(each.saturating_mul(visit - number));
    let due = when.last_ns.saturating_add(when.interval_ns).saturating_sub(when.lead_ns);
    let is_taken = |visit: u64, at: Option<usize>, own: bool| {
        if is_left(visit) {
            return own;
        }
        let after = PLAN.get().and_then(|p| p.after(visit));
        let in_time = after.is_some_and(|v| comes(v) <= due);
        // Where the pace is not known yet nothing is known of when it comes.
        let is_close = each > 0 && comes(visit) < when.last_ns.saturating_add(when.interval_ns / CLOSE);
        if is_due(visit, at) { !(is_close && in_time) } else { own && !in_time }
    };
    Advice {
        here: at.is_some() && is_taken(number, at, own.here),
        next: is_taken(number + 1, None, own.next),
    }
}

/// Does the plan have a checkpoint at visit `number`? `at`: the place where that is now, if it is come to
/// already.
pub(crate) fn is_due(number: u64, at: Option<usize>) -> bool {
    let Some(planned) = PLAN.get().and_then(|p| p.at(number)) else { return false };
    let Some(at) = at else { return true };
    if is_there(planned, at) {
        return true;
    }
    PLAN.set(None);
    say!(
        "the program does not keep to its plan (PROMP_CKPT_PLAN): visit {number} is of another \
         place; from here on places are chosen as without one"
    );
    false
}

fn is_there(planned: &At, at: usize) -> bool {
    objects::around(at).is_some_and(|o| {
        let last = |p: &str| p.rsplit('/').next().unwrap_or(p).to_owned();
        last(&o.path) == last(&planned.module) && (at - o.base) as u64 == planned.offset
    })
}

fn add(report: &mut Report) {
    let mut places: Vec<usize> = Vec::new();
    let began = BEGAN.get();
    report.candidates.visits = NOTED.with(|all| {
        let visit = |n: &Noted| {
            let place = places.iter().position(|p| *p == n.at).unwrap_or_else(|| {
                places.push(n.at);
                places.len() - 1
            });
            Visit { number: n.number, place, at_s: time::seconds(began, n.at_ns), bytes: n.bytes }
        };
        all.iter().map(visit).collect()
    });
    report.candidates.places = places.into_iter().map(site).collect();
}

fn site(at: usize) -> Site {
    match objects::around(at) {
        Some(o) => Site {
            module: o.path,
            build_id: o.build_id.iter().map(|b| format!("{b:02x}")).collect(),
            offset: (at - o.base) as u64,
        },
        None => Site { module: String::new(), build_id: String::new(), offset: at as u64 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckpt::image::{MappedFile, checkpoint_plan};

    const MS: u64 = 1_000_000;

    /// A visit of a plan is left out where it follows closely upon another checkpoint, and the one behind it
    /// is in time; not where the pace of the visits is not known yet, as in front of the first one.
    #[test]
    fn planned_visits_are_taken_until_the_pace_is_known() {
        let program = MappedFile { path: String::new(), length: 0, sum: 0, changed: 0 };
        let take = vec![(2, 0), (5, 0)];
        let places = vec![At { module: String::new(), offset: 0 }];
        let p = Plan { promp_plan: checkpoint_plan::VERSION, program, places, take, leave: Vec::new() };
        PLAN.set(Some(Box::leak(Box::new(p))));
        let own = Advice { here: false, next: false };
        let when = |now_ns| When { now_ns, last_ns: MS, interval_ns: 1000 * MS, lead_ns: 0 };
        let next = |each_ns, now_ns| {
            PACE.set(Pace { last_ns: MS, at: 0, each_ns });
            advise(1, None, own, when(now_ns)).next
        };
        assert!(next(0, 200 * MS));
        assert!(!next(10 * MS, 200 * MS), "210 ms after one, and visit 5 comes soon");
        assert!(next(10 * MS, 500 * MS), "not close");
        assert!(next(300 * MS, 20 * MS), "close, but visit 5 would be late");
        PLAN.set(None);
    }
}
