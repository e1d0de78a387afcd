//! The search for the best way to execute a piece of work that can be gone back to: every candidate on the
//! same work, from the same state (`promp tune --exact`).
//!
//! Nothing has to be guessed, so there is no model in it. In the first rounds every candidate is executed
//! twice; then those that are close to the best, and the program's own way, in turn, until each has five
//! times. Since the work is the same each time, the least time of a candidate is what it takes when nobody
//! disturbs it. Where that says that another is better than the program's own way, but the times as a whole
//! do not, these two are executed further. The program's own way stays unless the other is better by 3 % and
//! not by chance ([`samples::is_less`]), as in the other search.

use crate::choice::Choice;
use crate::samples;

/// Times that a candidate has at most.
pub const MOST: usize = 12;
/// Times of each candidate.
const FIRST: usize = 2;
/// Times of those that stay.
const EACH: usize = 5;
/// So many stay after the first rounds, beside the program's own way.
const STAY: usize = 4;
/// None stays that took over so many times as long as the best.
const CLOSE: f64 = 1.3;

/// A candidate and what it took, in seconds for an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// How.
    pub choice: Choice,
    /// Each time.
    pub times: Vec<f64>,
}

impl Tried {
    /// What it takes when nothing disturbs it.
    pub fn least(&self) -> f64 {
        least(&self.times)
    }
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Which of them is to be executed next; `None`: all is known. The first one is the program's own way.
pub fn next(tried: &[Tried]) -> Option<usize> {
    // In turn: what disturbs the machine for a while disturbs all of them.
    let fewest = |among: &mut dyn Iterator<Item = usize>, most: usize| {
        among.filter(|i| tried[*i].times.len() < most).min_by_key(|i| tried[*i].times.len())
    };
    if let Some(i) = fewest(&mut (0..tried.len()), FIRST) {
        return Some(i);
    }
    let stay = stay(tried);
    if stay.is_empty() {
        return None;
    }
    if let Some(i) = fewest(&mut core::iter::once(0).chain(stay.iter().copied()), EACH) {
        return Some(i);
    }
    let other = *stay.iter().min_by(|a, b| tried[**a].least().total_cmp(&tried[**b].least()))?;
    let doubtful = tried[other].least() < tried[0].least() * (1.0 - samples::LEAST)
        && !samples::is_less(&tried[other].times, &tried[0].times);
    fewest(&mut [0, other].into_iter(), MOST).filter(|_| doubtful)
}

/// Those that are close to the best by the first rounds alone: who stays must not change from then on.
fn stay(tried: &[Tried]) -> Vec<usize> {
    let first = |i: usize| least(&tried[i].times[..FIRST]);
    let best = (0..tried.len()).map(first).fold(f64::INFINITY, f64::min);
    let mut stay: Vec<usize> = (1..tried.len()).filter(|i| first(*i) <= best * CLOSE).collect();
    stay.sort_by(|a, b| first(*a).total_cmp(&first(*b)));
    stay.truncate(STAY);
    stay
}

/// The one that is chosen.
pub fn best(tried: &[Tried]) -> usize {
    let known = |i: &usize| tried[*i].times.len() >= EACH;
    let other = (1..tried.len()).filter(known).min_by(|a, b| tried[*a].least().total_cmp(&tried[*b].least()));
    other.filter(|i| samples::is_less(&tried[*i].times, &tried[0].times)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Deal;

    fn candidates(n: u32) -> Vec<Tried> {
        let other = |parts| Choice { deal: Deal::Dynamic { parts }, threads: 0 };
        let all = core::iter::once(Choice::GIVEN).chain((1..n).map(other));
        all.map(|choice| Tried { choice, times: vec![] }).collect()
    }

    /// Executes until all is known; `time`: of a candidate, the n-th time. Returns how many executions.
    fn search(tried: &mut [Tried], time: impl Fn(usize, usize) -> f64) -> usize {
        let mut n = 0;
        while let Some(i) = next(tried) {
            let t = time(i, tried[i].times.len());
            tried[i].times.push(t);
            n += 1;
            assert!(n < 200, "it ends");
        }
        n
    }

    #[test]
    fn the_best_is_found_and_what_is_far_off_is_tried_once() {
        let mut all = candidates(17);
        let n = search(&mut all, |i, k| {
            (if i == 9 { 0.5 } else { 1.0 + i as f64 / 100.0 }) * (1.0 + k as f64 / 1000.0)
        });
        assert_eq!(best(&all), 9);
        // All of them twice; the program's own way and the best three times more.
        assert_eq!(n, 17 * FIRST + 2 * (EACH - FIRST));
    }

    #[test]
    fn what_is_good_stays() {
        let mut all = candidates(17);
        // The others are as good, by less than counts, or a disturbance's.
        let n = search(&mut all, |i, k| if i == 3 && k == 0 { 0.98 } else { 1.0 - (i % 3) as f64 / 100.0 });
        assert_eq!(best(&all), 0);
        assert_eq!(n, 17 * FIRST + (STAY + 1) * (EACH - FIRST));
    }

    #[test]
    fn where_all_others_are_worse_the_first_rounds_are_enough() {
        let mut all = candidates(5);
        assert_eq!(search(&mut all, |i, _| 1.0 + i as f64), 5 * FIRST);
        assert_eq!(best(&all), 0);
    }

    #[test]
    fn disturbances_are_outlasted() {
        // Every other time somebody else has the CPU, too. The second candidate takes half of the time.
        let mut all = candidates(2);
        let disturbed =
            |i: usize, k: usize| if (k + i).is_multiple_of(2) { 1.0 } else { 1.5 + (k % 3) as f64 / 2.0 };
        let n = search(&mut all, |i, k| disturbed(i, k) / (i + 1) as f64);
        assert!((2 * EACH..=2 * MOST).contains(&n), "{n}");
        assert_eq!(best(&all), 1, "{all:?}");
        // As good: nobody is fooled, however long it takes.
        let mut all = candidates(2);
        let n = search(&mut all, disturbed);
        assert!(n <= 2 * MOST && best(&all) == 0, "{all:?}");
    }
}
