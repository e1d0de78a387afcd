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
mod tests {
    use super::*;

    const DUE: u64 = 1_000_000;
    const PERIOD: u64 = DUE / 20;

    impl Places {
        fn come(&self, at: usize, dead: u64, now_ns: u64, due_ns: u64) -> Advice {
            self.visit(at, dead, now_ns, DUE);
            self.advise(now_ns, due_ns, DUE)
        }
    }

    /// A loop with two places, the second of which has more dead bytes, from `start` on, every period: which
    /// are advised, and when, until the first one is.
    fn first(start: u64, dead: [u64; 2], apart: u64) -> Option<(usize, u64)> {
        let p = Places::new();
        let mut now = start;
        while now < 2 * DUE {
            for (at, dead, now) in [(7, dead[0], now), (8, dead[1], now + apart)] {
                if p.come(at, dead, now, DUE).here {
                    return Some((at, now));
                }
            }
            now += PERIOD;
        }
        None
    }

    #[test]
    fn the_last_visit_in_time_of_the_place_where_most_is_dead() {
        // Within the last iteration before it is due, and what is allowed for.
        let is_last = |when: u64| when <= DUE && when + PERIOD * 6 / 5 > DUE;
        for start in [0, 13, 37, 55, 99].map(|s| s * PERIOD / 100) {
            let (at, when) = first(start, [0, 1 << 20], PERIOD * 2 / 5).unwrap();
            assert!(at == 8 && is_last(when), "{start}: {when}");
            let (at, when) = first(start, [1 << 20, 0], PERIOD * 2 / 5).unwrap();
            assert!(at == 7 && is_last(when), "{start}: {when}");
            // Where there is no difference it is the last of all.
            let (_, when) = first(start, [5, 5], PERIOD * 2 / 5).unwrap();
            assert!(is_last(when), "{start}: {when}");
        }
    }

    #[test]
    fn a_loop_that_has_ended_is_not_waited_for() {
        let p = Places::new();
        for now in [0, 100, 200] {
            p.come(8, 1 << 30, now * 1000, DUE);
        }
        // Another one, whose last visit in time this is.
        for now in [500, 680] {
            assert!(!p.come(7, 0, now * 1000, DUE).here);
        }
        assert!(p.come(7, 0, 900_000, DUE).here);
        // What was noted in a process whose clock was ahead.
        let p = Places::new();
        p.come(8, 1 << 30, 1 << 40, DUE);
        p.come(8, 1 << 30, (1 << 40) + 10, DUE);
        assert!(p.come(7, 0, 900_000, DUE).here);
    }

    #[test]
    fn the_next_visit_is_named_one_ahead() {
        let p = Places::new();
        let mut named = None;
        for step in 0..40 {
            for (at, dead, now) in [(7, 0, PERIOD * step), (8, 1 << 20, PERIOD * step + PERIOD * 2 / 5)] {
                if named == Some(()) {
                    assert_eq!((at, now), (8, PERIOD * 97 / 5));
                    return;
                }
                let advice = p.come(at, dead, now, DUE);
                if step > 2 && advice.next {
                    named = Some(());
                }
            }
        }
        panic!("none was named");
    }

    /// Numbers by chance.
    struct Random(u64);

    impl Random {
        /// In (0, 1].
        fn part(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            ((self.0 >> 11) + 1) as f64 / (1u64 << 53) as f64
        }
    }

    /// How long an iteration takes, of 1 on average.
    #[derive(Clone, Copy, Debug)]
    enum Times {
        /// A tenth of deviation, about normal.
        Normal,
        /// Between a half and three halves.
        Even,
        /// One of fifty three times as long.
        Spikes,
        /// Slower and faster by a half, over ten intervals.
        Drift,
        /// Ten of the one kind, ten four times as long.
        Phases,
    }

    impl Times {
        fn next(self, random: &mut Random, step: u64, now: u64) -> f64 {
            match self {
                Self::Normal => 1.0 + 0.1 * ((0..12).map(|_| random.part()).sum::<f64>() - 6.0),
                Self::Even => 0.5 + random.part(),
                Self::Spikes => {
                    (if random.part() < 0.02 { 3.0 } else { 1.0 }) * (0.98 + 0.04 * random.part())
                }
                Self::Drift => 1.0 + 0.5 * (now as f64 / DUE as f64 * 0.628).sin(),
                Self::Phases => {
                    if (step / 10).is_multiple_of(2) {
                        1.0
                    } else {
                        4.0
                    }
                }
            }
        }
    }

    /// Checkpoints of a loop with two places, at the second of which more is dead: how many gaps could be no
    /// longer than the interval, how many are, and how many intervals went by in all.
    fn gaps(seed: u64, times: Times, per_interval: f64, in_region: bool) -> (u64, u64, f64) {
        let mut random = Random(seed | 1);
        let p = Places::new();
        let (mut now, mut last, mut visited, mut named) = (7 * DUE, 7 * DUE, false, false);
        let (mut all, mut kept) = (0, 0);
        for step in 0.. {
            let iteration = times.next(&mut random, step, now) / per_interval;
            for (at, dead, part) in [(7, 0, 0.4), (8, 1 << 20, 0.6)] {
                now += (iteration * part * DUE as f64) as u64;
                // The keeper waits for half an interval more where a place was come to.
                let mut gap = |to: u64, could: bool, last: &mut u64| {
                    all += u64::from(could);
                    kept += u64::from(could && to - *last <= DUE);
                    *last = to;
                };
                while now > last + DUE + if visited { DUE / 2 } else { 0 } {
                    let whole = last + DUE + if visited { DUE / 2 } else { 0 };
                    gap(whole, visited, &mut last);
                    (visited, named) = (false, false);
                }
                visited = true;
                p.visit(at, dead, now, DUE);
                let take = if in_region { named } else { p.advise(now, last + DUE, DUE).here };
                if take {
                    let began = now;
                    now += (random.part() * DUE as f64 / 200.0) as u64;
                    gap(now, true, &mut last);
                    let lead = now - began;
                    now += (random.part() * DUE as f64 / 200.0) as u64;
                    p.stood(now - began, Some(lead));
                    visited = false;
                }
                named = in_region && p.advise(now, last + DUE, DUE).next;
            }
            if all >= 1000 {
                return (all, kept, (now - 7 * DUE) as f64 / DUE as f64);
            }
        }
        unreachable!()
    }

    /// Times vary, and all the same no more than an interval goes by between two checkpoints.
    #[test]
    fn gaps_are_no_longer_than_the_interval() {
        for in_region in [false, true] {
            for times in [Times::Normal, Times::Even, Times::Spikes, Times::Drift, Times::Phases] {
                let (mut all, mut kept) = (0, 0);
                for per_interval in [2.7, 4.1, 7.3, 15.0, 60.0, 300.0] {
                    let (a, k, intervals) = gaps(all + 1, times, per_interval, in_region);
                    let what = format!("region {in_region}, {times:?}, {per_interval}");
                    // At the price of a few more, where there are visits enough.
                    let most = if per_interval < 15.0 || matches!(times, Times::Phases) { 3.0 } else { 1.4 };
                    assert!(a as f64 <= most * intervals, "{what}: {a} in {intervals}");
                    (all, kept) = (all + a, kept + k);
                }
                assert!(100 * kept >= 99 * all, "region {in_region}, {times:?}: {kept} of {all}");
            }
        }
    }
}
