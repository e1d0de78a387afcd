//! Loops in which a chunk was lost: who executes it, and who waits for chunks that may be.

use super::dispenser::Range;
use super::shape::Shape;
use super::share::Share;
use crate::sys::time;
use crate::team::event_count::Waiters;
use crate::team::member::Member;

/// Nothing is left but, perhaps, orphans; `recomputes`: lost chunks are executed by others.
#[cold]
pub(crate) fn last_resort(
    m: &'static Member,
    s: &'static Share,
    shape: &Shape,
    recomputes: bool,
) -> Option<Range> {
    if shape.began != 0
        && shape.ends_in_barrier
        && recomputes
        && let Some(r) = stay(m, s, shape)
    {
        return Some(r);
    }
    // Whoever could have taken this thread's own orphan may have left the construct meanwhile.
    let mine = |owner| owner == m.num.get();
    if !s.dispenser.has_orphans() || m.ledger.had_last() {
        return None;
    }
    let (r, failure) = s.dispenser.take_orphan(1, mine)?;
    m.ledger.take_orphan(s.seq(), r, shape.is_last(r), failure);
    Some(r)
}

/// A piece of an orphan that `m` may execute. A thread that has had the construct's last iteration takes
/// nothing more: compiled code looks at the last chunk it got to decide who assigns lastprivate
/// variables. The orphans of `m` itself are for the survivors, as long as one of them is at work in the
/// construct and will come back.
#[cold]
pub(crate) fn orphan(m: &Member, s: &Share, shape: &Shape) -> Option<Range> {
    if m.ledger.had_last() {
        return None;
    }
    let (me, seq, team) = (m.num.get(), s.seq(), m.team());
    let survivors = || team.members().iter().any(|o| o.num.get() != me && o.ledger.is_in_flight(seq));
    let own = shape.monotonic || !survivors();
    let wanted = |owner| if owner == me { own } else { !shape.monotonic };
    let (r, failure) = s.dispenser.take_orphan(u64::from(team.size()), wanted)?;
    m.ledger.take_orphan(seq, r, shape.is_last(r), failure);
    Some(r)
}

/// Chunks shorter than this are not worth waiting for: if one is lost, its own logical thread repeats it.
const WORTH_WAITING_NS: u64 = 20_000;

/// Nothing is left to hand out, but the construct ends in a barrier: instead of waiting there, a survivor
/// waits here while chunks are in flight, so that it can take over those that are lost.
#[cold]
fn stay(m: &'static Member, s: &'static Share, shape: &Shape) -> Option<Range> {
    let team = m.team();
    let chunks = shape.total.checked_div(shape.chunk).map_or(u64::from(team.size()), |n| n + 1);
    let per_chunk = time::now_ns().saturating_sub(shape.began) * u64::from(team.size()) / chunks;
    if per_chunk < WORTH_WAITING_NS || m.ledger.had_last() {
        return None;
    }
    // Others that stay may have waited for the chunk that this thread has just finished.
    team.event.notify_only(Waiters::Staying);
    let seq = s.seq();
    let in_flight = || team.members().iter().any(|o| o.ledger.is_in_flight(seq));
    let mut orphans = 0;
    loop {
        if let Some(r) = orphan(m, s, shape) {
            return Some(r);
        }
        let over = || s.is_cancelled() || team.is_cancelled() || (!in_flight() && !s.dispenser.has_orphans());
        if over() {
            return None;
        }
        // Orphans that are there already are our own: somebody is at work who will take them.
        team.event.wait_as(Waiters::Staying, team.patience.get(), || {
            over() || !in_flight() || s.dispenser.pushed() != orphans
        });
        orphans = s.dispenser.pushed();
    }
}
