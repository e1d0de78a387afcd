//! `GOMP_cancel` and `GOMP_cancellation_point` (OpenMP 5.1, section 2.20).

use crate::icv::globals;
use crate::observe::event::{Cancelled, Event};
use crate::save::{self, SaveKind};
use crate::stub;
use crate::team::thread::{Thread, current};
use core::sync::atomic::Ordering::*;

const LOOP: i32 = 2;
const SECTIONS: i32 = 4;
const TASKGROUP: i32 = 8;

/// What the ABI's number stands for.
fn construct(which: i32) -> Cancelled {
    match which {
        w if w & LOOP != 0 => Cancelled::Loop,
        w if w & SECTIONS != 0 => Cancelled::Sections,
        w if w & TASKGROUP != 0 => Cancelled::Taskgroup,
        _ => Cancelled::Parallel,
    }
}

fn is_cancelled(thr: &'static Thread, which: i32) -> bool {
    if which & (LOOP | SECTIONS) != 0 {
        return thr.member().share.get().is_some_and(|s| s.is_cancelled());
    }
    if which & TASKGROUP != 0 && thr.task().group.get().is_some_and(|g| g.is_cancelled()) {
        return true;
    }
    thr.team().is_cancelled()
}

extern "C" fn cancellation_point(which: i32) -> bool {
    let thr = current();
    let r = globals().cancellation && is_cancelled(thr, which);
    if r {
        thr.tell(Event::CancelFound { what: construct(which) });
    }
    save::point(thr, SaveKind::After(r as usize));
    r
}

extern "C" fn cancel(which: i32, doit: bool) -> bool {
    let thr = current();
    if !globals().cancellation {
        return false;
    }
    if !doit {
        return cancellation_point(which);
    }
    thr.tell(Event::Cancel { what: construct(which) });
    if which & (LOOP | SECTIONS) != 0 {
        if let Some(s) = thr.member().share.get() {
            s.cancel();
        }
        thr.team().event.notify();
    } else if which & TASKGROUP != 0 {
        let mut g = thr.task().group.get();
        if let Some(outer) = g.filter(|g| g.workshare.get()).and_then(|g| g.outer.get()) {
            g = Some(outer);
        }
        if let Some(g) = g {
            g.cancelled.store(true, Release);
        }
    } else {
        thr.team().cancel();
    }
    save::point(thr, SaveKind::After(1));
    true
}

stub! {
    GOMP_cancel => cancel;
    GOMP_cancellation_point => cancellation_point;
}
