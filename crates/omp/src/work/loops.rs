//! Loops and sections: entering a construct, the next chunk, leaving. One implementation for all schedules, both integer
//! widths, ordered, runtime and doacross loops; sections are a dynamic loop with chunks of one.

use super::shape::Shape;
use super::share::{Maker, Share};
use super::shared_batches::{self, Many};
use super::want::{Asked, Circumstances, Want, Wishes};
use super::{
    batch, dispenser::Range, equal_shares, ledger::Before, ordered_loops, shape_choice, site, survivors, tune,
};
use crate::observe::event::{Construct, Event, Row, Set};
use crate::save::{proof, unsaved_time};
use crate::team::{event_count::Waiters, member::Member, promises, team::Team, thread::Thread};
use crate::{icv::Sched, observe, recovery, sys::time};

/// Enters the next construct, which is to be what `want` says; `None`: it has no iterations. True if `thr` is
/// the first; then `made` may add to the descriptor before others see it.
#[inline]
pub fn enter(
    thr: &'static Thread,
    want: Option<&Want>,
    made: impl FnOnce(&'static Share),
) -> (&'static Share, bool) {
    let (m, team) = (thr.member(), thr.team());
    let wishes = begin(thr, m);
    let (s, made) = m.enter_construct(&team.shares, m.epoch.get(), |s: &'static Share| {
        match want {
            Some(want) => shape_choice::make(s, team, want, now(wishes)),
            None => s.set_shape(Asked::NOTHING, Shape::NONE),
        }
        made(s);
    });
    (s, made.is_some())
}

/// A loop, or sections, that have nothing else to them. No closure: it is to be made where it is entered.
#[derive(Clone, Copy)]
struct Plain<'a> {
    team: &'static Team,
    want: &'a Want,
    wishes: Wishes,
    /// Is the first chunk to be taken, if there is nothing to think of?
    lightly: bool,
}

impl Maker for Plain<'_> {
    #[inline(always)]
    fn make(self, s: &'static Share) -> u64 {
        shape_choice::make(s, self.team, self.want, now(self.wishes));
        let shape = s.shape.peek();
        if !self.lightly || !shape.singly {
            return 0;
        }
        let most = match shape.sched {
            Sched::Guided => size(Sched::Guided, shape, self.team, shape.total),
            _ => shape.chunk,
        };
        let n = most.min(shape.total);
        s.dispenser.take_first(n);
        n
    }
}

/// [`enter`] for a loop, or sections, that have nothing else to them; and the first chunk, if there is
/// nothing to think of. There is no save point then. Who makes the descriptor has its chunk before others see
/// that.
#[inline(always)]
pub fn enter_plain(thr: &'static Thread, m: &'static Member, want: &Want) -> (&'static Share, Light) {
    const TOLD: Set = Set::of(&[Row::WorkBegin, Row::Chunk]);
    let (team, wishes) = (m.team(), begin(thr, m));
    let lightly = !thr.saving.get() && !observe::wants(TOLD);
    let (s, made) = m.enter_construct(&team.shares, m.epoch.get(), Plain { team, want, wishes, lightly });
    let first = match made {
        _ if !lightly => Light::Ask,
        Some(n @ 1..) => noted(m, s.shape.peek(), Range { lo: 0, hi: n }),
        _ => singly(m, s),
    };
    tell_begin(thr);
    (s, first)
}

#[inline(always)]
fn now(wishes: Wishes) -> Circumstances {
    Circumstances { wishes, state: promises::state(), recomputes: promises::recomputes }
}

/// What comes before a construct.
#[inline(always)]
fn begin(thr: &'static Thread, m: &'static Member) -> Wishes {
    m.finish_chunk();
    let wishes = Wishes { recompute: thr.recompute.get(), fragments: thr.fragments.get() };
    if !wishes.are_none() {
        thr.recompute.set(0);
        thr.fragments.set(0);
    }
    wishes
}

/// The next chunk of the current construct for `thr`, in the loop's own values: [start, end).
#[inline]
pub fn next_bounds(thr: &'static Thread) -> Option<(u64, u64)> {
    let m = thr.member();
    let r = next(thr, m)?;
    Some(m.share().shape.peek().values(r))
}

/// What the light way to a chunk has found.
pub enum Light {
    /// A chunk, in the loop's own values: [start, end).
    Chunk(u64, u64),
    /// There is none left.
    Nothing,
    /// There is more to think of: the usual way is to be gone.
    Ask,
}

/// The next chunk, if there is nothing else to think of: from the thread's own batch, or the dispenser. There
/// is no save point. What is noted of the chunk before is replaced, so that one is in flight all the time.
#[inline(always)]
pub fn next_lightly(thr: &'static Thread) -> Light {
    let m = thr.member();
    let ledger = &m.ledger;
    if observe::wants(Set::one(Row::Chunk)) || !ledger.is_plain() {
        return Light::Ask;
    }
    let s = m.share();
    // Where chunks come one at a time others take them, too: the sooner the dispenser's line is asked for.
    if !s.shape.peek().singly
        && let Some((lo, hi)) = in_batch(m)
    {
        return Light::Chunk(lo, hi);
    }
    let found = if ledger.is_unmarked() {
        singly(m, s)
    } else if ledger.ends_plainly() && ends_for_all(s) {
        // It has had the last one. So nobody need be asked.
        Light::Nothing
    } else {
        Light::Ask
    };
    if let Light::Nothing = found {
        m.finish_chunk();
    }
    found
}

/// Can no others' chunks come to a thread that finds none left in `s`, and need nobody be told?
#[inline(always)]
fn ends_for_all(s: &'static Share) -> bool {
    let shape = s.shape.peek();
    shape.began == 0 && !shape.ordered && !s.dispenser.has_orphans()
}

/// A chunk from the dispenser, of a construct whose chunks come from there one at a time.
#[inline(always)]
fn singly(m: &'static Member, s: &'static Share) -> Light {
    let shape = s.shape.peek();
    if !shape.singly || s.dispenser.has_orphans() {
        return Light::Ask;
    }
    let taken = match shape.sched {
        Sched::Guided => guided(m, s, shape),
        _ => s.dispenser.take(shape.total, shape.chunk),
    };
    match taken {
        Some(r) => noted(m, shape, r),
        None if ends_for_all(s) => Light::Nothing,
        None => Light::Ask,
    }
}

/// Notes that the thread has taken `r`.
#[inline(always)]
fn noted(m: &'static Member, shape: &Shape, r: Range) -> Light {
    m.ledger.take(m.construct(), r, shape.is_last(r));
    let (lo, hi) = shape.values(r);
    Light::Chunk(lo, hi)
}

/// How many iterations a chunk of a loop of this kind has where `left` are left.
#[inline(always)]
fn size(kind: Sched, shape: &Shape, team: &Team, left: u64) -> u64 {
    kind.size(left, shape.total, shape.chunk, team.size().into()).unwrap_or(shape.chunk)
}

#[inline(always)]
fn guided(m: &'static Member, s: &'static Share, shape: &Shape) -> Option<Range> {
    s.dispenser.take_sized(shape.total, |left| size(Sched::Guided, shape, m.team(), left))
}

/// The next chunk from the thread's own batch, if there is nothing else to think of. There is no save point.
#[inline(always)]
fn next_in_batch(thr: &'static Thread) -> Option<(u64, u64)> {
    let m = thr.member();
    if observe::wants(Set::one(Row::Chunk)) || !m.ledger.is_plain() {
        return None;
    }
    in_batch(m)
}

#[inline(always)]
fn in_batch(m: &'static Member) -> Option<(u64, u64)> {
    let (construct, shape) = m.batched.peek();
    let r = shape.range(m.batch.take(*construct)?);
    m.ledger.take(*construct, r, shape.is_last(r));
    Some(shape.values(r))
}

/// [`next_in_batch`] for a thread that saves, where a save point would be in vain.
#[inline]
pub fn next_without_save_point(thr: &'static Thread) -> Option<(u64, u64)> {
    if thr.undo.leaves_out(|| proof::is_given_up(thr)) { next_in_batch(thr) } else { None }
}

/// The next chunk of the current construct, normalised.
#[inline]
pub fn next(thr: &'static Thread, m: &'static Member) -> Option<Range> {
    let s = m.share();
    // Nobody writes it before the last thread has left the construct.
    let shape = s.shape.peek();
    match m.ledger.before_next() {
        Before::Nothing => {}
        Before::Again(r) => return Some(r),
        Before::Look => recovery().chunk_ends(thr),
    }
    if shape.ordered {
        ordered_loops::pass_turn(m, s);
    }
    m.finish_chunk();
    take(thr, m, s, shape)
}

/// The first chunk of construct `s`, which `thr` has just entered: nothing is in flight, and nothing to be done
/// again.
#[inline]
pub fn first(thr: &'static Thread, m: &'static Member, s: &'static Share) -> Option<Range> {
    take(thr, m, s, s.shape.peek())
}

/// [`first`], in the loop's own values.
#[inline]
pub fn first_bounds(thr: &'static Thread, m: &'static Member, s: &'static Share) -> Option<(u64, u64)> {
    Some(s.shape.peek().values(first(thr, m, s)?))
}

#[inline(always)]
fn take(thr: &'static Thread, m: &'static Member, s: &'static Share, shape: &Shape) -> Option<Range> {
    let taken = if s.is_cancelled() || m.team().is_cancelled() { None } else { hand_out(m, s, shape) };
    if let Some(r) = taken
        && observe::wants(Set::one(Row::Chunk))
    {
        tell_chunk(thr, shape, r);
    }
    taken
}

#[cold]
#[inline(never)]
fn tell_chunk(thr: &'static Thread, shape: &Shape, r: Range) {
    thr.tell(Event::Chunk { work: shape.work, lo: r.lo, hi: r.hi });
}

#[inline(always)]
fn hand_out(m: &'static Member, s: &'static Share, shape: &Shape) -> Option<Range> {
    if s.dispenser.has_orphans()
        && let Some(r) = survivors::orphan(m, s, shape)
    {
        return Some(r);
    }
    let n = || u64::from(m.team().size());
    let r = match shape.sched {
        Sched::Dynamic if shape.quick => batched(m, s, shape),
        // Who has had the last chunk need not ask, which would fetch the dispenser's line in vain.
        Sched::Dynamic | Sched::Guided if m.ledger.had_last() => None,
        Sched::Dynamic if !shape.wide => s.dispenser.take(shape.total, shape.chunk),
        Sched::Guided => guided(m, s, shape),
        Sched::Static if shape.ordered => static_chunk(m, shape, n()),
        _ => of_other(m, s, shape, n()),
    };
    match r {
        Some(r) => {
            m.ledger.take(m.construct(), r, shape.is_last(r));
            Some(r)
        }
        None if !shape.monotonic && (shape.began != 0 || s.dispenser.has_orphans()) => {
            survivors::last_resort(m, s, shape, promises::recomputes())
        }
        None => None,
    }
}

/// A chunk of a loop of any other kind.
#[inline(never)]
fn of_other(m: &'static Member, s: &'static Share, shape: &Shape, n: u64) -> Option<Range> {
    match shape.sched {
        Sched::Static if shape.fragments <= 1 => static_chunk(m, shape, n),
        Sched::Static => fragment(m, shape, n),
        Sched::Auto => tune::next(m, s, shape),
        kind => s.dispenser.take_sized(shape.total, |left| size(kind, shape, m.team(), left)),
    }
}

/// The next chunk of a loop in batches: from the thread's own batch, the dispenser or, if a thread's chunks may come in any order,
/// another's batch.
#[inline(never)]
fn batched(m: &'static Member, s: &'static Share, shape: &Shape) -> Option<Range> {
    let (construct, team) = (m.construct(), m.team());
    if let Some(number) = m.batch.take(construct) {
        return Some(shape.range(number));
    }
    let threads = team.size();
    let mut position = m.position.trip.get();
    if position == 0 {
        m.batched.set((construct, *shape));
    }
    let steal = || {
        // Behind the last iteration a thread takes nothing more (lastprivate).
        if m.ledger.had_last() {
            return None;
        }
        (1..threads).find_map(|i| team.member((m.num.get() + i) % threads).batch.steal(construct))
    };
    let many = Many { total: shape.total, chunk: shape.chunk, threads };
    let more = if shape.ascending && threads > 1 {
        let most = m.pace.most(position == 0);
        s.dispenser.take_several(shape.total, shape.chunk, u64::from(threads), most, &mut position)
    } else if !many.is_short() || threads == 1 {
        let most = batch::MOST;
        let own = s.dispenser.take_several(shape.total, shape.chunk, u64::from(threads), most, &mut position);
        own.or_else(steal)
    } else if threads > shared_batches::FEW {
        return batched_by_many(m, s, shape, many);
    } else {
        many.more_of_few(&s.dispenser, &mut position, steal)
    };
    m.position.trip.set(position);
    let (first, n) = more?;
    m.pace.took(n);
    Some(shape.range(m.batch.fill(construct, first, n)))
}

/// [`batched`] in a short loop of a team of many whose chunks may come in any order, if the thread's own batch is empty.
#[inline(never)]
fn batched_by_many(m: &'static Member, s: &'static Share, shape: &Shape, many: Many) -> Option<Range> {
    let (construct, team) = (m.construct(), m.team());
    let mut own = shared_batches::Own { position: m.position.trip.get(), holds: m.position.holds.get() };
    let may = !m.ledger.had_last();
    let more = many.more(&s.dispenser, m.num.get(), &mut own, |victim| {
        if may { team.member(victim).batch.steal(construct) } else { None }
    });
    m.position.trip.set(own.position);
    m.position.holds.set(own.holds);
    let (first, n) = more?;
    Some(shape.range(m.batch.fill(construct, first, n)))
}

/// The static schedule: blocks of the given chunk, dealt round robin, or one block a thread.
fn static_chunk(m: &Member, shape: &Shape, n: u64) -> Option<Range> {
    let (trip, num, total) = (m.position.trip.get(), u64::from(m.num.get()), shape.total);
    m.position.trip.set(trip + 1);
    if shape.chunk == 0 {
        return if trip > 0 { None } else { equal_shares::share(total, n, num) };
    }
    let lo = trip.checked_mul(n)?.checked_add(num)?.checked_mul(shape.chunk)?;
    (lo < total).then(|| Range { lo, hi: lo.saturating_add(shape.chunk).min(total) })
}

/// The next fragment of a static chunk: of `len` iterations in m fragments, ceil(len/m) (P1, PR_FRAGS).
fn fragment(m: &Member, shape: &Shape, n: u64) -> Option<Range> {
    let (mut lo, mut end) = m.position.rest.get();
    if lo == end {
        let r = static_chunk(m, shape, n)?;
        (lo, end) = (r.lo, r.hi);
    }
    let whole = if shape.chunk == 0 { shape.total / n + 1 } else { shape.chunk };
    let hi = lo.saturating_add(whole.div_ceil(shape.fragments)).min(end);
    m.position.rest.set((hi, end));
    Some(Range { lo, hi })
}

/// Leaves the construct, without a barrier or for one that can be cancelled (`barrier`).
#[inline]
pub fn leave(thr: &'static Thread, barrier: bool) {
    leave_by(thr, thr.member(), barrier, |s, team| team.shares.leave(s, team.size()));
}

/// Leaves the construct for a barrier that all members come to; behind that, [`Member::settle_construct`].
#[inline(always)]
pub fn leave_for_barrier(thr: &'static Thread, m: &'static Member) {
    leave_by(thr, m, true, |s, team| team.shares.leave_for_barrier(s, || team.size()));
}

#[inline(always)]
fn leave_by(
    thr: &'static Thread,
    m: &'static Member,
    barrier: bool,
    leave: impl FnOnce(&'static Share, &'static Team),
) {
    let team = m.team();
    m.finish_chunk();
    m.scanning.set(false);
    if let Some(s) = m.share.get() {
        let shape = s.shape.peek();
        if shape.began != 0 {
            leave_timed(thr, m, shape, barrier);
        }
        if team.is_cancelled() {
            // Chunks that were not handed out, or lost, do not matter any more.
            s.cancel();
        }
        if observe::wants(Set::one(Row::WorkEnd)) {
            tell_end(thr, shape);
        }
        leave(s, team);
    }
    promises::construct_ended(thr, team);
}

#[cold]
#[inline(never)]
fn tell_end(thr: &'static Thread, shape: &Shape) {
    thr.tell(Event::WorkEnd { work: shape.work });
}

/// `m` leaves a construct that has noted when it began.
#[inline(never)]
fn leave_timed(thr: &'static Thread, m: &'static Member, shape: &Shape, barrier: bool) {
    let took = || time::now_ns().saturating_sub(shape.began);
    let len = || shape.total / u64::from(m.team().size());
    site::learn(shape.site, barrier, len, took);
    if shape.tune != 0 {
        tune::left(m, shape, took());
    }
    if site::keeps_accounts() {
        account(thr, shape, took());
    }
    // Survivors that stay in the construct look at the ledgers again.
    m.team().event.notify_only(Waiters::Staying);
}

/// `thr` leaves a construct of this shape, which has taken `ns`. Its first thread accounts for it.
#[cold]
fn account(thr: &'static Thread, shape: &Shape, ns: u64) {
    let (marks, unsaved) = unsaved_time::of_construct(thr, shape.began);
    if thr.member().num.get() != 0 {
        return;
    }
    let site = match shape.site {
        // It began with its region: what stands behind the calls for chunks.
        0 => thr.save.current().and_then(|s| s.resumes_at()).unwrap_or_else(|| thr.call_site()),
        site => site,
    };
    if site != 0 {
        site::account(site, ns, marks, unsaved);
    }
}

/// `thr` is inside the construct that it has just entered.
#[inline(always)]
pub fn tell_begin(thr: &'static Thread) {
    if observe::wants(Set::one(Row::WorkBegin))
        && let Some(s) = thr.member().share.get()
    {
        let shape = s.shape.peek();
        let construct = Construct { schedule: shape.sched as u8, total: shape.total, chunk: shape.chunk };
        thr.tell(Event::WorkBegin { work: shape.work, construct });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chunks_of_a_batch_are_taken_once(first in 0..batch::MOST_CHUNKS - batch::MOST, n in 1..=batch::MOST, construct: u64, steps in proptest::collection::vec(any::<bool>(), 1..100)) {
            let b = batch::Batch::default();
            let mut got = vec![b.fill(construct, first, n)];
            prop_assert!(b.steal(construct.wrapping_add(1)).is_none());
            prop_assert!(b.take(construct.wrapping_add(1)).is_none());
            for own in steps.into_iter().chain([true; batch::MOST as usize]) {
                if own {
                    got.extend(b.take(construct));
                } else if let Some((f, n)) = b.steal(construct) {
                    got.extend(f..f + n);
                }
            }
            got.sort_unstable();
            prop_assert_eq!(got, (first..first + n).collect::<Vec<_>>());
        }
    }
}
