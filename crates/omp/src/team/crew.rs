//! A team's workers: they are called for a region, and come to its end (see orders.rs).

use super::event_count::{Patience, Waiters};
use super::orders::{FEW, SELDOM, led};
use super::team::Team;
use super::thread::{Order, Thread};
use crate::sys::sync::{full_fence, spin_hint};

/// How many orders ahead the lines for them are fetched, which takes as long as an order's way to its worker:
/// they come at the same time. Not all at once, since the workers look at these lines again and again.
const AHEAD: u32 = 8;

/// The number of a team without a tree.
pub(crate) const NO_CREW: u32 = 0;

/// A crowded team of more members than this goes without the tree: where hundreds share a CPU, what a leader
/// would pass on waits for its turn there, and lines that move are the least of what a region costs.
const MANY: u32 = 256;

/// Is this such a team?
pub(crate) fn is_too_large(n: u32, patience: Patience) -> bool {
    n > MANY && patience.crowded
}

/// Workers of `team` come or go.
pub(crate) fn changes(team: &'static Team) {
    let crew = &team.primary.crew;
    crew.set(crew.get().wrapping_add(1).max(NO_CREW + 1));
}

/// Orders will be handed over soon, to those whom the primary thread leads.
#[inline(always)]
pub(crate) fn expect_orders(team: &'static Team) {
    let n = team.size();
    if n > FEW {
        return expect_to_lead(team, 0);
    }
    (1..n).for_each(|i| team.member(i).worker().dock.expect());
}

#[inline(never)]
fn expect_to_lead(team: &'static Team, me: u32) {
    led(me, team.size()).rev().for_each(|i| team.member(i).worker().dock.expect());
}

/// The workers' orders. Everything that a member reads of the team, and of other members, has been written.
#[inline(always)]
pub(crate) fn call_workers(team: &'static Team, epoch: u64, call: (usize, usize)) {
    let n = team.size();
    if n == 1 {
        return;
    }
    let since = team.primary.since.get();
    if n > FEW {
        return call_many(team, epoch, since, call);
    }
    let order = |i| Order { member: team.member(i), epoch, since, call, crew: NO_CREW, passes: false };
    for i in 1..n {
        team.member(i).worker().dock.post(Some(order(i)));
    }
    full_fence();
    for i in 1..n {
        team.member(i).worker().dock.wake();
    }
    // One may sleep at the end of the last region: see `region::finish`.
    team.event.wake_sleepers();
}

#[inline(never)]
fn call_many(team: &'static Team, epoch: u64, since: u64, call: (usize, usize)) {
    let (n, crew) = (team.size(), team.primary.crew.get());
    let passes = team.primary.known.get() == crew && !is_too_large(n, team.patience.get());
    let order = Order { member: team.member(0), epoch, since, call, crew, passes };
    if passes {
        team.call.publish(epoch, crew, (since, call));
        hand_on(team, order);
    } else {
        team.primary.known.set(crew);
        for i in 1..n {
            if i + AHEAD <= n {
                team.member(i + AHEAD - 1).worker().dock.expect();
            }
            let member = team.member(i);
            member.worker().dock.post(Some(Order { member, ..order }));
        }
    }
    full_fence();
    if team.call.is_drowsy() || !passes {
        wake_all(team);
    }
    // As above.
    team.event.wake_sleepers();
}

#[cold]
fn wake_all(team: &'static Team) {
    team.members()[1..].iter().for_each(|m| m.worker().dock.wake());
}

/// To those whom `order.member` leads.
fn hand_on(team: &'static Team, order: Order) {
    for i in led(order.member.num.get(), team.size()).rev() {
        let member = team.member(i);
        member.worker().dock.post(Some(Order { member, ..order }));
    }
}

/// A worker has got its order, in a team with a tree.
#[inline(never)]
pub(crate) fn pass_on(order: Order) {
    let (team, me) = (order.member.team(), order.member.num.get());
    if order.passes {
        expect_to_lead(team, me);
        hand_on(team, order);
    }
    order.member.end.expect_to_pass_up();
}

/// The order that has been published for the worker whose last one was `last`.
pub(crate) fn ahead(last: Option<Order>) -> Option<Order> {
    let last = last.filter(|o| o.crew != NO_CREW)?;
    let (epoch, (since, call)) = last.member.team().call.newer(last.epoch, last.crew)?;
    Some(Order { epoch, since, call, passes: true, ..last })
}

/// It is about to sleep.
pub(crate) fn drowse(last: Option<Order>) {
    if let Some(last) = last.filter(|o| o.crew != NO_CREW) {
        last.member.team().call.drowse();
    }
}

/// Have all workers of a team of `n` come to the end of region `epoch`?
#[inline(always)]
pub(crate) fn all_came(team: &'static Team, n: u32, epoch: u64) -> bool {
    (1..n).all(|i| team.member(i).end.has_come(epoch))
}

/// Have those whom member `me` of `n` leads, with all below them?
fn came_below(team: &'static Team, me: u32, n: u32, epoch: u64) -> bool {
    led(me, n).all(|i| team.member(i).end.has_passed_up(epoch))
}

/// The primary thread waits awake until all have come, in a team with a tree, or there are tasks. Are they?
#[inline(never)]
pub(crate) fn await_ends(team: &'static Team, epoch: u64, patience: Patience) -> bool {
    let (n, mut looks) = (team.size(), 0u32);
    patience.stay(|| {
        looks = looks.wrapping_add(1);
        let far = patience.crowded || looks.is_multiple_of(SELDOM);
        came_below(team, 0, n, epoch) || team.tasks.has_been_used() || (far && all_came(team, n, epoch))
    })
}

/// Member `me` has come to its region's end: the primary thread is woken if it waits for this one.
#[inline(always)]
pub(crate) fn tell_awaiting(team: &'static Team, me: u32) {
    team.event.notify_if(Waiters::Inside, || team.awaited.is(me));
}

/// A worker has come to its region's end, in a team with a tree; its orders so far are `seen`.
#[inline(never)]
pub(crate) fn come(thr: &'static Thread, order: Order, seen: u32) {
    let Order { member, epoch, .. } = order;
    let team = member.team();
    let (me, n, patience) = (member.num.get(), team.size(), team.patience.get());
    let leads = led(me, n).next().is_some();
    member.end.come(epoch);
    if !leads {
        member.end.pass_up(epoch);
    }
    tell_awaiting(team, me);
    if leads && !is_too_large(n, patience) {
        for round in 1..=patience.rounds {
            if came_below(team, me, n, epoch) {
                return member.end.pass_up(epoch);
            }
            if team.tasks.has_been_used() || (round.is_multiple_of(SELDOM) && is_over(thr, team, epoch, seen))
            {
                return;
            }
            spin_hint();
        }
    }
}

/// May a worker leave its region: has that ended, or is the worker called for another?
#[inline(always)]
pub(crate) fn is_over(thr: &'static Thread, team: &'static Team, epoch: u64, seen: u32) -> bool {
    thr.dock.called(seen) || team.call.has_ended(epoch)
}
