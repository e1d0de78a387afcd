//! Which place is the best for the next checkpoint: what a thread knows of the places that it comes to
//! again and again. Loops repeat: how long it takes from one visit of a place to its next, and how much is
//! dead there, is about as it was last time.
//!
//! A checkpoint is taken at the last visit of a place that is not later than it is due, unless another
//! place, at which more is dead, is come to between that visit and then. That is the shortest path of
//! `promp plan`, as far as one can see ahead.
//!
//! A visit is the last one in time if the next one *may* be too late: times vary. It may be as late as
//! three mean deviations behind the mean, and as late as the longest time of the last intervals
//! ([`Seen::most_ns`]). What is due is the copy, so what has lately gone by from a visit to the copy
//! ([`Places::lead_ns`]) is taken off. The allowance never makes checkpoints come more often than three an
//! interval ([`LEAST`]): a place that is come to twice in an interval or more is judged in time all the same.

use crate::sys::own::Own;

/// So many places are told apart; others take the room of the one that has not been visited for longest.
const MOST: usize = 16;
/// More dead bytes than this are worth waiting for.
const WORTH_IT: u64 = 64 << 10;
/// In the first part of the interval, one of so many, nothing is taken because a visit may be late.
const LEAST: u64 = 3;
/// Weights of what is new: one of so many, in the mean of times, in their deviation.
const IN_MEAN: i64 = 8;
const IN_DEVIATION: i64 = 4;
/// Deviations behind the mean that a visit may come.
const DEVIATIONS: u64 = 3;
/// The longest time is forgotten, by this part of what it is above the mean, an interval.
const FORGOTTEN: u64 = 8;

/// A place, as it was at its last visit.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Seen {
    /// The return address of the call; 0: none.
    at: usize,
    last_ns: u64,
    /// From the visit before to the last one; 0: it is not known.
    every_ns: u64,
    /// The mean of these times, their mean deviation, and the longest, each of lately.
    mean_ns: u64,
    deviation_ns: u64,
    longest_ns: u64,
    dead: u64,
    /// The place that was visited next.
    next: Option<u8>,
}

impl Seen {
    /// When it is come to next, seen from `now_ns`; `None`: who knows.
    fn next_ns(&self, now_ns: u64) -> Option<u64> {
        let next = self.last_ns.checked_add(self.every_ns)?;
        // A visit that should have been long ago is none of a loop that goes on.
        let goes_on = self.last_ns <= now_ns && now_ns < next.saturating_add(self.every_ns / 2);
        (self.every_ns > 0 && goes_on).then_some(next.max(now_ns))
    }

    /// A visit at `now_ns`, `every_ns` after the last one; 0: it is not known how long.
    fn visited(&mut self, now_ns: u64, every_ns: u64, interval_ns: u64) {
        self.last_ns = now_ns;
        let is_first = self.mean_ns == 0;
        self.every_ns = every_ns;
        if every_ns == 0 {
            return;
        }
        if is_first {
            (self.mean_ns, self.deviation_ns, self.longest_ns) = (every_ns, every_ns / 8, every_ns);
            return;
        }
        let off = every_ns as i64 - self.mean_ns as i64;
        let change = off.abs() - self.deviation_ns as i64;
        self.deviation_ns = self.deviation_ns.saturating_add_signed(change / IN_DEVIATION);
        self.mean_ns = self.mean_ns.saturating_add_signed(off / IN_MEAN);
        let above = self.longest_ns.saturating_sub(self.mean_ns);
        let part = every_ns as f64 / (FORGOTTEN * interval_ns.max(1)) as f64;
        self.longest_ns = self.longest_ns.saturating_sub((above as f64 * part) as u64).max(every_ns);
    }

    /// How long it may take to the next visit; `None`: it is not known at all.
    fn most_ns(&self) -> Option<u64> {
        let late = self.mean_ns.saturating_add(DEVIATIONS.saturating_mul(self.deviation_ns));
        (self.every_ns > 0).then(|| late.max(self.longest_ns))
    }
}

/// When the next checkpoint is due.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// … if the copy began at once.
    at_ns: u64,
    /// Before that no visit is taken because the next one may be late.
    early_ns: u64,
    /// What is assumed where it is not known when a place is come to next.
    unknown_ns: u64,
}

/// Is the visit of `seen[i]` at `at_ns` the one to take?
fn is_best(seen: &[Seen], i: usize, at_ns: u64, due: Due) -> bool {
    let me = &seen[i];
    let again = |after: Option<u64>| at_ns.saturating_add(after.unwrap_or(due.unknown_ns)) > due.at_ns;
    let is_last = again((me.every_ns > 0).then_some(me.every_ns));
    let may_be_last = at_ns >= due.early_ns && again(me.most_ns());
    let is_better = |s: &Seen| {
        let comes = s.next_ns(at_ns).is_some_and(|t| t > at_ns && t <= due.at_ns);
        let in_time = s.most_ns().is_some_and(|m| s.last_ns.saturating_add(m) <= due.at_ns);
        s.dead > me.dead + WORTH_IT && comes && in_time
    };
    (is_last || may_be_last) && !seen.iter().any(is_better)
}

/// What one thread knows. Zeroed memory knows nothing.
pub struct Places {
    seen: [Own<Seen>; MOST],
    last: Own<Option<u8>>,
    /// How long it takes from a visit to the copy.
    lead_ns: Own<u64>,
}

/// What is to be done at a visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advice {
    /// A checkpoint is to be taken here.
    pub here: bool,
    /// … at the next visit of whatever place.
    pub next: bool,
}

impl Places {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            seen: core::array::from_fn(|_| Own::new(Seen::default())),
            last: Own::new(None),
            lead_ns: Own::new(0),
        }
    }

    /// The thread is at `at`, where so many bytes are dead. There is a checkpoint every `interval_ns`.
    pub fn visit(&self, at: usize, dead: u64, now_ns: u64, interval_ns: u64) {
        let all = || self.seen.iter().map(Own::get);
        let known = all().position(|s| s.at == at);
        let oldest = || all().enumerate().min_by_key(|(_, s)| s.last_ns).map_or(0, |(i, _)| i);
        let i = known.unwrap_or_else(oldest);
        let mut me = if known.is_some() { self.seen[i].get() } else { Seen { at, ..Seen::default() } };
        // What it was before a restart may be anything.
        let since = now_ns.checked_sub(me.last_ns).filter(|_| known.is_some());
        me.visited(now_ns, since.map_or(0, |s| s.min(interval_ns)), interval_ns);
        me.dead = dead;
        self.seen[i].set(me);
        if let Some(last) = self.last.get() {
            let from = &self.seen[usize::from(last)];
            from.set(Seen { next: Some(i as u8), ..from.get() });
        }
        self.last.set(Some(i as u8));
    }

    /// At the visit just noted: what is to be done, if a checkpoint is due at `due_ns`?
    pub fn advise(&self, now_ns: u64, due_ns: u64, interval_ns: u64) -> Advice {
        let seen: [Seen; MOST] = core::array::from_fn(|k| self.seen[k].get());
        let i = self.last.get().map_or(0, usize::from);
        let due = Due {
            at_ns: due_ns.saturating_sub(self.lead_ns(interval_ns)),
            early_ns: due_ns.saturating_sub(interval_ns - interval_ns / LEAST),
            unknown_ns: interval_ns / 2,
        };
        let follower = seen[i].next.map_or(i, usize::from);
        let f = &seen[follower];
        // It, too, may come late.
        let late = f.most_ns().map(|m| f.last_ns.saturating_add(m)).filter(|t| *t > now_ns);
        let then = match late {
            None => now_ns + due.unknown_ns,
            Some(late) => {
                let early = f.next_ns(now_ns).unwrap_or(now_ns);
                if early < due.early_ns { early } else { late.min(due.at_ns).max(early) }
            }
        };
        Advice { here: is_best(&seen, i, now_ns, due), next: is_best(&seen, follower, then, due) }
    }

    /// How long it takes from a visit to the copy.
    pub fn lead_ns(&self, interval_ns: u64) -> u64 {
        self.lead_ns.get().min(interval_ns / 4)
    }

    /// The thread has stood still for so long: that is no time of the program's. For a copy, made `lead_ns`
    /// after the visit began: what it was before counts, too, a little less.
    pub fn stood(&self, ns: u64, lead_ns: Option<u64>) {
        for s in &self.seen {
            let mut seen = s.get();
            if seen.at != 0 {
                seen.last_ns += ns;
                s.set(seen);
            }
        }
        if let Some(lead) = lead_ns {
            let before = self.lead_ns.get();
            self.lead_ns.set(lead.max(before - before / (4 * FORGOTTEN)));
        }
    }
}

impl Default for Places {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
