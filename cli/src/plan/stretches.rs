//! Which stretches of a run are worth a plan.
//!
//! A plan is better than the rule without one by what it sees ahead. It pays for that by holding to visits
//! that the next run comes to at somewhat other times. Where few visits fall into an interval it has nothing
//! to choose, but for those that its own run came to just in time; and where none is surely in time, by the
//! times seen in the report, it can only guess. There the rule, which measures while the program goes on,
//! keeps to the interval better. So such stretches are left to it, and the file says so.

use super::{behind, near_enough};
use promp_report::Visit;
use std::ops::Range;

/// What is planned for itself: the visits behind `from` (`None`: the run's beginning) and before `to`.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub from: Option<usize>,
    pub to: usize,
    /// When it ends.
    pub end: f64,
}

/// A stretch that is left to the rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// Its visits, first and last.
    pub numbers: (u64, u64),
    /// From when to when.
    at_s: (f64, f64),
    /// Moments to an interval, on average.
    moments: f64,
    /// What the rule is expected to do: checkpoints, bytes in all, and the longest gap.
    checkpoints: usize,
    bytes: u64,
    gap_s: f64,
}

/// A plan has something to choose from so many moments in an interval on.
pub const ENOUGH: usize = 4;
/// Visits less than one of so many parts of an interval apart are one moment: to choose between them moves no
/// checkpoint to another time.
const MOMENT: f64 = 16.0;
/// Left stretches that are not as many intervals long are planned, and planned ones left.
const LEFT_LEAST: f64 = 1.0;
const PLANNED_LEAST: f64 = 2.0;

/// Moments with visits in the interval from visit `i` on. At the run's end: in its last interval.
fn in_interval(visits: &[Visit], i: usize, every: f64) -> usize {
    let last = visits.last().map_or(0.0, |v| v.at_s);
    let first = visits[i].at_s.min((last - every).max(0.0));
    let behind = |at: f64| visits.partition_point(|v| v.at_s <= at);
    let to = behind(first + every);
    let (mut at, mut count) = (behind(first), 0);
    while at < to {
        count += 1;
        at = visits.partition_point(|v| v.at_s < visits[at].at_s + every / MOMENT);
    }
    count
}

/// Ranges of equal values.
fn runs(all: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for i in 0..all.len() {
        match runs.last_mut() {
            Some(r) if all[r.start] == all[i] => r.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

/// Which visits belong to stretches that are worth a plan.
fn worth(visits: &[Visit], every: f64, near: &[usize]) -> Vec<bool> {
    let is_worth = |i: usize| {
        let is_last = i + 1 == visits.len();
        in_interval(visits, i, every) >= ENOUGH && (is_last || near[i + 1] > i + 1)
    };
    let mut all: Vec<bool> = (0..visits.len()).map(is_worth).collect();
    for (value, least) in [(false, LEFT_LEAST), (true, PLANNED_LEAST)] {
        for r in runs(&all) {
            let is_all = r.len() == all.len();
            let is_short = visits[r.end - 1].at_s - visits[r.start].at_s < least * every;
            if all[r.start] == value && is_short && !is_all {
                all[r].fill(!value);
            }
        }
    }
    all
}

/// What is planned, and what is left.
pub fn stretches(visits: &[Visit], (every, near): (f64, &[usize]), end: f64) -> (Vec<Part>, Vec<Left>) {
    let (mut parts, mut left) = (Vec::new(), Vec::new());
    // It ends before the first checkpoint is due.
    if end <= every {
        return (vec![Part { from: None, to: visits.len(), end }], left);
    }
    let worth = worth(visits, every, near);
    for r in runs(&worth) {
        let is_last = r.end == visits.len();
        if worth[r.start] {
            let from = (r.start > 0).then_some(r.start);
            parts.push(Part { from, to: r.end, end: if is_last { end } else { visits[r.end - 1].at_s } });
        } else {
            left.push(leave(visits, (every, near), r, end));
        }
    }
    (parts, left)
}

/// The stretch `r`, left to the rule: it takes the last visit that is surely in time, or else the next one.
fn leave(visits: &[Visit], (every, near): (f64, &[usize]), r: Range<usize>, end: f64) -> Left {
    let first = if r.start == 0 { 1 } else { visits[r.start].number };
    let last = visits.get(r.end).map_or(visits[r.end - 1].number, |v| v.number - 1);
    let began = if r.start == 0 { 0.0 } else { visits[r.start].at_s };
    let until = visits.get(r.end).map_or(end, |v| v.at_s);
    let all: usize = r.clone().map(|i| in_interval(visits, i, every)).sum();
    let mut left = Left {
        numbers: (first, last),
        at_s: (began, until),
        moments: all as f64 / r.len() as f64,
        checkpoints: 0,
        bytes: 0,
        gap_s: 0.0,
    };
    let (mut from, mut at) = (r.start.checked_sub(1), began);
    while behind(from) < r.end && until > at + every {
        let next = near_enough(near, from).min(r.end) - 1;
        left.checkpoints += 1;
        left.bytes += visits[next].bytes;
        left.gap_s = left.gap_s.max(visits[next].at_s - at);
        (from, at) = (Some(next), visits[next].at_s);
    }
    left
}

impl Left {
    /// A line for the user. `every`: the interval.
    pub fn show(&self, every: f64) -> String {
        let ((first, last), (from, to)) = (self.numbers, self.at_s);
        let why = if self.moments < ENOUGH as f64 {
            format!("{:.1} visits to an interval of {every} s, a plan needs {ENOUGH}", self.moments)
        } else {
            format!("by the times seen not even the next one is surely within an interval of {every} s")
        };
        format!(
            "visits {first} to {last} ({from:.1} to {to:.1} s) are left to the rule without a plan: {why}; \
             there it is expected to take {} checkpoints, {:.2} s apart at most, {:.1} MB in all",
            self.checkpoints,
            self.gap_s,
            self.bytes as f64 / 1e6
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::{choose, near};
    use super::*;

    /// Visits of one place, so far apart each.
    fn visits(apart: impl IntoIterator<Item = f64>) -> Vec<Visit> {
        let mut at_s = 0.0;
        let visit = |(i, apart): (usize, f64)| {
            at_s += apart;
            Visit { number: i as u64 + 1, place: 0, at_s, bytes: 1_000_000 }
        };
        apart.into_iter().enumerate().map(visit).collect()
    }

    fn found(v: &[Visit], every: f64) -> (Vec<Part>, Vec<Left>) {
        stretches(v, (every, &near(v, every, 0.0)), v.last().unwrap().at_s)
    }

    #[test]
    fn few_visits_are_left_and_many_are_planned() {
        for (apart, is_planned) in [(0.7, false), (0.4, false), (0.3, false), (0.24, true), (0.01, true)] {
            let v = visits(vec![apart; 400]);
            let (parts, left) = found(&v, 1.0);
            assert_eq!(
                (parts.len(), left.len()),
                (usize::from(is_planned), usize::from(!is_planned)),
                "{apart}"
            );
            if !is_planned {
                assert_eq!(left[0].numbers, (1, 400));
                assert!(left[0].gap_s <= 1.0 && left[0].checkpoints > 100, "{left:?}");
            }
        }
        // Three places at once have no more to choose from than one.
        let close = visits([0.398, 0.001, 0.001].repeat(200));
        assert!(found(&close, 1.0).0.is_empty());
        // Less than a whole interval.
        let (parts, left) = found(&visits([0.4, 0.4]), 1.0);
        assert_eq!((parts.len(), left.len()), (1, 0));
    }

    #[test]
    fn a_loop_of_few_visits_between_others() {
        let times = [vec![0.05; 200], vec![0.4; 50], vec![0.05; 200]].concat();
        let v = visits(times);
        let (parts, left) = found(&v, 1.0);
        assert_eq!((parts.len(), left.len()), (2, 1), "{parts:?} {left:?}");
        let (first, last) = left[0].numbers;
        // To an interval.
        assert!((180..=201).contains(&first) && (246..=251).contains(&last), "{left:?}");
        assert!((2.0..4.0).contains(&left[0].moments), "{left:?}");
        let said = left[0].show(1.0);
        assert!(said.contains("left to the rule") && said.contains("visits to an interval of 1 s"), "{said}");
    }

    #[test]
    fn times_that_scatter_more_than_the_interval() {
        // Ten to an interval; but again and again the next one comes too late.
        let times = |slow: f64| {
            let mut times = vec![0.1; 600];
            times.iter_mut().step_by(10).for_each(|t| *t = slow);
            visits(times)
        };
        let (parts, left) = found(&times(1.05), 1.0);
        assert_eq!((parts.len(), left.len()), (0, 1), "{parts:?}");
        assert!(left[0].moments > 4.0, "{left:?}");
        let said = left[0].show(1.0);
        assert!(said.contains("not even the next one is surely within"), "{said}");
        let (parts, left) = found(&times(0.1), 1.0);
        assert_eq!((parts.len(), left.len()), (1, 0));
        // One pause in a long loop is no scatter.
        let mut times = vec![0.05; 400];
        times[200] = 3.0;
        let v = visits(times);
        let (parts, left) = found(&v, 1.0);
        assert_eq!((parts.len(), left.len()), (1, 0), "{left:?}");
        let taken = choose(&v, (1.0, &near(&v, 1.0, 0.0)), &parts[0]).visits;
        assert!(taken.contains(&199) && taken.contains(&200) && taken.len() < 30, "{taken:?}");
    }

    /// Whatever the times: each visit is left or belongs to one part; parts and stretches are in order; and
    /// what is chosen in a part lies in it.
    #[test]
    fn every_visit_is_planned_or_left() {
        let mut seed = 1u64;
        let mut part = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut both, mut none) = (0, 0);
        for round in 0..300 {
            let mut times = Vec::new();
            for _ in 0..1 + round % 5 {
                let (mean, n) =
                    ([0.03, 0.1, 0.5, 2.0][(part() * 4.0) as usize], 1 + (part() * 60.0) as usize);
                times.extend((0..n).map(|_| mean * (0.5 + part())));
            }
            let v = visits(times);
            let sure = near(&v, 1.0, 0.0);
            let end = v.last().unwrap().at_s + part();
            let (parts, left) = stretches(&v, (1.0, &sure), end);
            let mut owners = vec![0; v.len()];
            for p in &parts {
                owners[p.from.unwrap_or(0)..p.to].iter_mut().for_each(|o| *o += 1);
                let chosen = choose(&v, (1.0, &sure), p).visits;
                assert!(chosen.windows(2).all(|w| w[0] < w[1]));
                assert!(chosen.iter().all(|i| (behind(p.from)..p.to).contains(i)), "{p:?} {chosen:?}");
            }
            for l in &left {
                let (from, to) = l.numbers;
                owners[from as usize - 1..to as usize].iter_mut().for_each(|o| *o += 1);
            }
            assert!(owners.iter().all(|o| *o == 1), "{parts:?} {left:?}");
            assert!(left.windows(2).all(|w| w[0].numbers.1 < w[1].numbers.0));
            both += usize::from(!parts.is_empty() && !left.is_empty());
            none += usize::from(parts.is_empty());
        }
        assert!(both > 30 && none > 30, "{both} {none}");
    }
}
