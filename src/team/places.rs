//! Which place is the best for the next checkpoint: what a thread knows of the places that it comes to
//! again and again. Loops repeat: how long it takes from one visit of a place to its next, and how much is
//! dead there, is as it was last time.
//!
//! A checkpoint is taken at the last visit of a place that is not later than it is due, unless another
//! place, at which more is dead, is come to between that visit and then. That is the shortest path of
//! `promp plan`, as far as one can see ahead.

use crate::sys::own::Own;

/// So many places are told apart; others take the room of the one that has not been visited for longest.
const MOST: usize = 16;
/// More dead bytes than this are worth waiting for.
const WORTH_IT: u64 = 64 << 10;

/// A place, as it was at its last visit.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Seen {
    /// The return address of the call; 0: none.
    at: usize,
    last_ns: u64,
    /// From the visit before to the last one; 0: it is not known.
    every_ns: u64,
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
}

/// Is the visit of `seen[i]` at `at_ns` the one to take, if a checkpoint is due at `due_ns`? Where it is not
/// known when the place is come to next: after `unknown_ns`.
fn is_best(seen: &[Seen], i: usize, at_ns: u64, due_ns: u64, unknown_ns: u64) -> bool {
    let me = &seen[i];
    let again = at_ns + if me.every_ns == 0 { unknown_ns } else { me.every_ns };
    let is_better =
        |s: &Seen| s.dead > me.dead + WORTH_IT && s.next_ns(at_ns).is_some_and(|t| t > at_ns && t <= due_ns);
    again > due_ns && !seen.iter().any(is_better)
}

/// What one thread knows. Zeroed memory knows nothing.
pub struct Places {
    seen: [Own<Seen>; MOST],
    last: Own<Option<u8>>,
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
        Self { seen: core::array::from_fn(|_| Own::new(Seen::default())), last: Own::new(None) }
    }

    /// The thread is at `at`, where so many bytes are dead. A checkpoint is due at `due_ns`; there is one
    /// every `interval_ns`.
    pub fn visit(&self, at: usize, dead: u64, now_ns: u64, due_ns: u64, interval_ns: u64) -> Advice {
        let all = || self.seen.iter().map(Own::get);
        let known = all().position(|s| s.at == at);
        let oldest = || all().enumerate().min_by_key(|(_, s)| s.last_ns).map_or(0, |(i, _)| i);
        let i = known.unwrap_or_else(oldest);
        let before = self.seen[i].get();
        // What it was before a restart may be anything.
        let since = now_ns.checked_sub(before.last_ns).filter(|_| known.is_some());
        let every_ns = since.map_or(0, |s| s.min(interval_ns));
        let next = before.next.filter(|_| known.is_some());
        self.seen[i].set(Seen { at, last_ns: now_ns, every_ns, dead, next });
        if let Some(last) = self.last.get() {
            let from = &self.seen[usize::from(last)];
            from.set(Seen { next: Some(i as u8), ..from.get() });
        }
        self.last.set(Some(i as u8));
        let seen: [Seen; MOST] = core::array::from_fn(|k| self.seen[k].get());
        let unknown = interval_ns / 2;
        let follower = seen[i].next.map_or(i, usize::from);
        let f = &seen[follower];
        let then = f.next_ns(now_ns).filter(|t| *t > now_ns).unwrap_or(now_ns + unknown);
        Advice {
            here: is_best(&seen, i, now_ns, due_ns, unknown),
            next: is_best(&seen, follower, then, due_ns, unknown),
        }
    }

    /// The thread has stood still for so long: that is no time of the program's.
    pub fn stood(&self, ns: u64) {
        for s in &self.seen {
            let mut seen = s.get();
            if seen.at != 0 {
                seen.last_ns += ns;
                s.set(seen);
            }
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

    const DUE: u64 = 1000;

    /// A loop with two places, the second of which has more dead bytes, from `start` on, every 100: which are
    /// advised, and when, until the first one is.
    fn first(start: u64, dead: [u64; 2], apart: u64) -> Option<(usize, u64)> {
        let p = Places::new();
        let mut now = start;
        while now < 2 * DUE {
            for (at, dead, now) in [(7, dead[0], now), (8, dead[1], now + apart)] {
                if p.visit(at, dead, now, DUE, DUE).here {
                    return Some((at, now));
                }
            }
            now += 100;
        }
        None
    }

    #[test]
    fn the_last_visit_in_time_of_the_place_where_most_is_dead() {
        // Within the last iteration before it is due.
        for start in [0, 13, 37, 55, 99] {
            let (at, when) = first(start, [0, 1 << 20], 40).unwrap();
            assert_eq!(at, 8, "{start}");
            assert!(when <= DUE && when + 100 > DUE, "{start}: {when}");
            let (at, when) = first(start, [1 << 20, 0], 40).unwrap();
            assert!(at == 7 && when <= DUE && when + 100 > DUE, "{start}: {when}");
            // Where there is no difference it is the last of all.
            let (_, when) = first(start, [5, 5], 40).unwrap();
            assert!(when <= DUE && when + 100 > DUE, "{start}: {when}");
        }
    }

    #[test]
    fn a_loop_that_has_ended_is_not_waited_for() {
        let p = Places::new();
        for now in [0, 100, 200] {
            p.visit(8, 1 << 30, now, DUE, DUE);
        }
        // Another one, whose last visit in time this is.
        for now in [500, 700] {
            assert!(!p.visit(7, 0, now, DUE, DUE).here);
        }
        assert!(p.visit(7, 0, 900, DUE, DUE).here);
        // What was noted in a process whose clock was ahead.
        let p = Places::new();
        p.visit(8, 1 << 30, 1 << 40, DUE, DUE);
        p.visit(8, 1 << 30, (1 << 40) + 10, DUE, DUE);
        assert!(p.visit(7, 0, 900, DUE, DUE).here);
    }

    #[test]
    fn the_next_visit_is_named_one_ahead() {
        let p = Places::new();
        let mut named = None;
        for step in 0..20 {
            for (at, dead, now) in [(7, 0, 100 * step), (8, 1 << 20, 100 * step + 40)] {
                if named == Some(()) {
                    assert_eq!((at, now), (8, 940));
                    return;
                }
                let advice = p.visit(at, dead, now, DUE, DUE);
                if step > 2 && advice.next {
                    named = Some(());
                }
            }
        }
        panic!("none was named");
    }
}
