//! `GOMP_single_*` and `GOMP_scope_start`.

use super::loops::enter_with;
use crate::observe::event::{Event, Sync, Work};
use crate::save::{self, SaveKind};
use crate::stub;
use crate::team::event_count::Patience;
use crate::team::thread::{Thread, current};
use core::sync::atomic::Ordering::*;

/// Enters a construct that one thread executes; true for that one: the first to come. Members count the constructs of this kind
/// they come to, the team those that somebody has come to; they need nothing else, however far apart the members are. A member that
/// has fallen behind looks at the team's count once for all that the others have come to since.
fn elect(thr: &'static Thread) -> bool {
    let m = thr.member();
    m.finish_chunk();
    let seq = m.singles.get();
    m.singles.set(seq + 1);
    if m.singles_met.get() != seq {
        thr.tell(Event::Single { executes: false });
        return false;
    }
    // Relaxed: what the construct before left behind is ordered by its barrier, if it has one.
    let found = thr.team().singles.compare_exchange(seq, seq + 1, Relaxed, Relaxed);
    m.singles_met.set(found.map_or_else(|met| met, |_| seq + 1));
    let executes = found.is_ok();
    thr.tell(Event::Single { executes });
    executes
}

pub(super) extern "C" fn start() -> bool {
    let thr = current();
    let first = elect(thr);
    save::point(thr, SaveKind::After(first as usize));
    first
}

/// How long a member waits for the one that executed the last construct with copyprivate: longer than a line's way.
const BRIEFLY: Patience = Patience { rounds: 8, crowded: false, yields: 0 };

/// The data of copyprivate come from the executing thread's memory. If that is the same one each time, large data lie in its cache and
/// go one way only; so the others let it go first, if it comes at about the same time.
fn let_last_one_go_first(thr: &'static Thread) {
    let (m, team) = (thr.member(), thr.team());
    let (last, me, seq) = (team.copier.load(Relaxed), m.num.get(), m.singles.get());
    if last != me && last < team.size() && m.singles_met.get() == seq {
        BRIEFLY.stay(|| team.singles.load(Relaxed) != seq);
    }
}

/// Null for the executing thread; the others wait for its data.
extern "C" fn copy_start() -> *mut u8 {
    let thr = current();
    let_last_one_go_first(thr);
    let data = if elect(thr) {
        let (copier, me) = (&thr.team().copier, thr.num());
        if copier.load(Relaxed) != me {
            copier.store(me, Relaxed);
        }
        core::ptr::null_mut()
    } else {
        thr.team().synchronise(thr, Sync::Copy, false);
        thr.team().copyprivate.load(Acquire)
    };
    save::point(thr, SaveKind::After(data as usize));
    data
}

extern "C" fn copy_end(data: *mut u8) {
    let thr = current();
    thr.team().copyprivate.store(data, Release);
    super::sync::pass_barrier(thr, Sync::Copy, || ());
}

extern "C" fn scope_start(reductions: *mut usize) {
    let thr = current();
    // SAFETY: the compiler's argument.
    unsafe { enter_with(thr, None, |_| (), reductions, core::ptr::null_mut()) };
    let s = thr.member().share();
    thr.tell(Event::WorkEnd { work: Work::Scope });
    thr.team().shares.leave(s, thr.team().size());
    save::point(thr, SaveKind::After(0));
}

stub! {
    GOMP_single_copy_start => copy_start;
    GOMP_single_copy_end => copy_end;
    GOMP_scope_start => scope_start;
    GOMP_scope_start_with_end => scope_start;
    GOMP_single_start_with_end => start;
}
