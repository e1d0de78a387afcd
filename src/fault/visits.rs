//! The first thread's visits of places: they are counted, and noted for the report, from which `promp
//! plan` finds the best ones; a plan (PROMP_CKPT_PLAN) says at which of them checkpoints are taken.
//!
//! All of it is the program's memory: after a rollback the count is what it was, and so the plan goes on.

use crate::ckpt::image::plan::{At, Plan};
use crate::icv::Globals;
use crate::say;
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use crate::sys::{maps, objects, time};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use promp_report::{Report, Site, Visit};

/// Of one place so many visits are noted between two checkpoints, at most.
const PART: u64 = 64;
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
static PLAN: Own<Option<&'static Plan>> = Own::new(None);

/// Begins, while the runtime is initialised.
pub fn start(g: &Globals) {
    let Some(c) = crate::ckpt::settings::asked() else { return };
    BEGAN.set(time::now_ns());
    PLAN.set(c.plan.clone().map(|p| &*Box::leak(Box::new((*p).clone()))));
    if g.promp.report.is_some() {
        NOTES.set(true);
        super::report::also(add);
    }
}

/// Is there a plan that the program keeps to?
pub fn is_planned() -> bool {
    PLAN.get().is_some()
}

/// The first thread visits the place `at`: the number of the visit. `may_be_taken`: a plan may have it.
pub fn note(at: usize, dead: u64, now_ns: u64, interval_ns: u64, may_be_taken: bool) -> u64 {
    let number = COUNT.load(Relaxed) + 1;
    COUNT.store(number, Relaxed);
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

/// Does the plan have a checkpoint at visit `number`? `at`: the place where that is now, if it is come to
/// already.
pub fn is_due(number: u64, at: Option<usize>) -> bool {
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
    report.visits = NOTED.with(|all| {
        let visit = |n: &Noted| {
            let place = places.iter().position(|p| *p == n.at).unwrap_or_else(|| {
                places.push(n.at);
                places.len() - 1
            });
            Visit { number: n.number, place, at_s: time::seconds(began, n.at_ns), bytes: n.bytes }
        };
        all.iter().map(visit).collect()
    });
    report.places = places.into_iter().map(site).collect();
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
