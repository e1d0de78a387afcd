//! The check of a decision: other ways are compared with the chosen one while the program runs on.
//!
//! A few trials of a search say which way is much better; which of two good ones is better by some per cent
//! they cannot say where others use the machine, too. So each *rival* is executed once in a while, between
//! executions by the choice, and its time compared with those of its two neighbours:
//!
//! ```text
//! choice  choice  RIVAL  choice  choice  choice  RIVAL  choice  …
//!             └─────┴──────┘                 └─────┴──────┘
//!                one pair                       one pair
//! ```
//!
//! What changes slowly is in all three of them. Where a program's executions take turns (long, short, long,
//! …), the neighbours are those [`lag`](Check::lag) executions away: as far as makes executions by the choice
//! most alike. The gaps change, so that turns which are not noticed do not give one of the two all the long
//! ones. Of the pairs' *differences*, r − c, the mean is what counts: who is disturbed by another program now
//! and then loses by that as often as it is. A rival takes the choice's place when it is better by
//! [`GAIN`] or more and that is no chance, and leaves when it cannot be that much better any more. The
//! error is that of the differences, but no less than what executions by the choice differ by among
//! themselves. What has lost its place is a rival once again, and then no more: so there is no flip-flop.
//!
//! What a check may cost is bounded: a rival is executed only while what all of them together took longer
//! than the choice would have, and what it took to think about them, is less than [`SHARE`] of the time of
//! all executions.

use crate::choice::Choice;
use crate::samples;

/// Of the whole time.
pub const SHARE: f64 = 0.005;
/// A change must be worth so much.
pub const GAIN: f64 = 0.02;
/// Pairs before anything is decided for a rival, and against one that is not far off.
const FOR: usize = 5;
const AGAINST: usize = 3;
/// More pairs than this do not help.
const MOST: usize = 96;
/// So many standard errors are no chance, and with few pairs more: so many mean twice that.
const SURELY: f64 = 2.3;
const FEW: f64 = 5.0;
/// Where it was expected, less will do.
const LIKELY: f64 = 1.0;
/// A rival that takes longer by this part, each of two times, or by twice the time at once, is out.
const FAR: f64 = 0.1;
const HOPELESS: f64 = 0.8;
/// By so much may take longer what nothing is known of.
const UNKNOWN: f64 = 1.0;
/// What is expected counts as much as so many pairs.
const PRIOR: f64 = 3.0;
/// A difference is not known better than this, however well few pairs agree.
const FLOOR: f64 = 0.004;
/// Executions of the choice that are kept.
const KEPT: usize = 24;
/// Turns of so many executions are noticed.
const TURNS: usize = 4;
/// A difference is an outlier, and counts no more, from so many times the usual one, but at least from this.
const OUTLIER: f64 = 4.0;
const OUTLIES: f64 = 1.5;
/// What a rival costs may come out less by then: it is worked out again when the total time has grown so.
const PATIENCE: f64 = 1.1;
/// After so many pairs one must look better, and after four times as many by what counts.
const PROMISING: usize = 12;

#[derive(Clone, Debug, PartialEq)]
struct Rival {
    choice: Choice,
    /// By what part of the choice's time it is expected to take longer.
    more: Option<f64>,
    /// On a machine that disturbs executions it is expected to be better.
    is_fair: bool,
    /// Executions for each time that is measured.
    each: f64,
    /// What it took, and what the choice did around it.
    pairs: Vec<(f64, f64)>,
}

impl Rival {
    fn new(choice: Choice, more: Option<f64>) -> Self {
        Self { choice, more, is_fair: false, each: 1.0, pairs: vec![] }
    }

    /// By how much it took longer, as parts of what the choice takes. An outlier counts no more than what is
    /// none.
    fn differences(&self) -> Vec<f64> {
        let usual = self.pairs.iter().map(|p| p.1).sum::<f64>() / self.pairs.len().max(1) as f64;
        let all: Vec<f64> =
            self.pairs.iter().map(|p| if usual > 0.0 { (p.0 - p.1) / usual } else { 0.0 }).collect();
        let most = outlies(&mut all.iter().map(|d| d.abs()).collect::<Vec<_>>());
        all.into_iter().map(|d| d.clamp(-most, most)).collect()
    }

    /// By how much it takes longer, and how well that is known, where executions by the choice differ by
    /// `spread` among themselves.
    fn more(&self, spread: f64) -> (f64, f64) {
        let (d, n) = (self.differences(), self.pairs.len().max(1) as f64);
        let m = mean(&d);
        let variance = d.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / (n - 1.0).max(1.0);
        // Two of them differ by √2 standard deviations, one from the mean of two by √1.5.
        let least = (0.75f64 / n).sqrt() * spread;
        (m, (variance / n).sqrt().max(least).max(FLOOR))
    }

    /// What is not noise of what it has cost.
    fn cost(&self, spread: f64) -> f64 {
        let (m, error) = self.more(spread);
        let usual: f64 = self.pairs.iter().map(|p| p.1).sum();
        usual * (m - error).max(0.0) * self.each
    }
}

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// The first one that can be afforded is compared.
    rivals: Vec<Rival>,
    /// What the choice took the last times, in a row but for rivals (`None`).
    last: Vec<Option<f64>>,
    /// Which rival was executed, what it took, how many executions ago, how far apart it is compared.
    open: Option<(Choice, f64, usize, usize)>,
    /// Executions.
    count: usize,
    /// So many executions by the choice come before the next rival.
    gap: u32,
    seed: u32,
    /// The time of all executions, and by how much rivals took longer.
    total: f64,
    excess: f64,
    /// Below this total time no rival can be afforded, so none is looked at: looking costs more than a short
    /// region takes.
    wait: f64,
    /// Ways that have lost their place.
    lost: Vec<Choice>,
    /// What [`lag`](Self::lag) has found, until something is noted.
    known_lag: Option<(usize, f64)>,
}

impl Check {
    /// A way to be compared, after those that promise more. `more`: by what part of the choice's time it is
    /// expected to take longer; `None`: nothing is known.
    pub fn add(&mut self, choice: Choice, more: Option<f64>) {
        if self.rivals.iter().any(|r| r.choice == choice) {
            return;
        }
        // By whole per cent: what is as good comes in the order in which it was added.
        self.wait = 0.0;
        let key = |more: Option<f64>| (more.unwrap_or(UNKNOWN / 2.0) * 100.0) as u64;
        let at = self.rivals.iter().position(|r| key(r.more) > key(more)).unwrap_or(self.rivals.len());
        self.rivals.insert(at, Rival::new(choice, more));
    }

    /// Likewise, of a way that is as good as the choice, and better where something disturbs the threads.
    pub fn add_fair(&mut self, choice: Choice, more: Option<f64>) {
        self.add(choice, more);
        self.rivals.iter_mut().filter(|r| r.choice == choice).for_each(|r| r.is_fair = true);
    }

    /// All executions so far, which took so long, count towards what may be spent.
    pub fn credit(&mut self, time: f64) {
        self.total += time;
    }

    /// Is there nothing left to be compared?
    pub fn is_over(&self) -> bool {
        self.rivals.is_empty()
    }

    /// The rival that is to be executed now instead of the choice, which usually takes `usual`; and whether
    /// nothing at all is known of it. `thought`: what it takes to think about its time; `warm`: how many
    /// executions come before the one that is measured.
    pub fn next(&mut self, usual: f64, thought: f64, warm: u32) -> Option<(Choice, bool)> {
        if self.total < self.wait
            || self.rivals.is_empty()
            || self.open.is_some()
            || self.gap > 0
            || usual == 0.0
        {
            return None;
        }
        // As many in a row as turns may be long: what comes before it must be known.
        let (lag, spread) = self.lag();
        if self.last.len() <= 2 * TURNS || self.last.iter().rev().take(lag).any(|t| t.is_none()) {
            return None;
        }
        let each = f64::from(1 + warm);
        let spent = self.excess + self.rivals.iter().map(|r| r.cost(spread)).sum::<f64>();
        let needed = |r: &Rival| {
            // Where executions differ as much as that, a few pairs say little.
            let (prior, n) = (r.more.unwrap_or(UNKNOWN), r.pairs.len() as f64);
            let weight = if spread < FAR && n > 0.0 { 0.0 } else { PRIOR };
            let more = (weight * prior + n * r.more(spread).0) / (weight + n);
            (spent + more.max(0.0) * usual * each + thought) / SHARE
        };
        let Some(rival) = self.rivals.iter().position(|r| needed(r) <= self.total) else {
            let least = self.rivals.iter().map(needed).fold(f64::INFINITY, f64::min);
            self.wait = least.min(self.total * PATIENCE);
            return None;
        };
        // Each has all turns in turn.
        let rival = &mut self.rivals[rival];
        rival.each = each;
        let turn = self.count % lag == rival.pairs.len() % lag;
        turn.then_some((rival.choice, rival.more.is_none() && rival.pairs.is_empty()))
    }

    /// The rival has taken `time`.
    pub fn rival(&mut self, choice: Choice, time: f64, thought: f64) {
        if self.open.is_none() && self.rivals.iter().any(|r| r.choice == choice) {
            self.total += time;
            self.excess += thought;
            self.open = Some((choice, time, 0, self.lag().0));
            self.note(None);
        }
    }

    fn note(&mut self, time: Option<f64>) {
        self.count += 1;
        self.known_lag = None;
        self.last.push(time);
        if self.last.len() > KEPT {
            self.last.remove(0);
        }
    }

    /// How far apart executions are most alike; and how alike, as the root of the mean square difference,
    /// beside outliers. Farther ones must be much more alike.
    fn lag(&mut self) -> (usize, f64) {
        let known = self.known_lag.unwrap_or_else(|| self.most_alike());
        self.known_lag = Some(known);
        known
    }

    fn most_alike(&self) -> (usize, f64) {
        let (sum, n) = self.last.iter().flatten().fold((0.0, 0.0), |s, t| (s.0 + t, s.1 + 1.0));
        let each = if sum > 0.0 { n / sum } else { 0.0 };
        let alike = |lag: usize| {
            // Differences between executions of the choice that lie so far apart.
            let (mut all, mut count) = ([0.0; KEPT], 0);
            for (a, b) in self.last.iter().zip(self.last.iter().skip(lag)) {
                if let (Some(a), Some(b)) = (a, b) {
                    all[count] = ((a - b) * each).abs();
                    count += 1;
                }
            }
            let all = &mut all[..count];
            let most = outlies(all);
            let squares: f64 = all.iter().map(|d| d.min(most) * d.min(most)).sum();
            (squares / all.len().max(1) as f64).sqrt()
        };
        let mut best = (1, alike(1));
        for lag in 2..=TURNS {
            let there = alike(lag);
            if there < best.1 / 2.0 {
                best = (lag, there);
            }
        }
        best
    }

    /// The choice has taken `time`, as have `like` executions. Returns the rival that is to take its place.
    pub fn choice(&mut self, time: f64, like: f64) -> Option<Choice> {
        self.total += time * like;
        self.gap = self.gap.saturating_sub(1);
        self.note(Some(time));
        let (choice, rival, since, lag) = self.open?;
        self.open = (since + 1 < lag).then_some((choice, rival, since + 1, lag));
        if self.open.is_some() {
            return None;
        }
        let spread = self.lag().1;
        let since = since + 1;
        let at = self.last.len() - 1 - since;
        let before = *self.last.get(at.checked_sub(lag)?)?;
        let behind = *self.last.get(at + lag)?;
        let around = (before? + behind?) / 2.0;
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.gap = self.seed >> 30;
        let i = self.rivals.iter().position(|r| r.choice == choice)?;
        self.rivals[i].pairs.push((rival, around));
        let verdict = self.rivals[i].verdict(spread, lag);
        if verdict == Verdict::Open {
            return None;
        }
        let over = self.rivals.remove(i);
        self.excess += over.cost(spread);
        (verdict == Verdict::Better).then_some(over.choice)
    }

    /// A rival has taken the place of `old`: all others are compared with the new choice.
    pub fn changed(&mut self, old: Choice) {
        self.excess += self.rivals.iter().map(|r| r.cost(0.0)).sum::<f64>();
        for r in &mut self.rivals {
            r.pairs.clear();
            r.is_fair = false;
        }
        self.last.clear();
        self.known_lag = None;
        self.open = None;
        self.wait = 0.0;
        if !self.lost.contains(&old) {
            self.lost.push(old);
            self.add(old, Some(GAIN));
        }
    }
}

/// From where on differences of these sizes, which it puts into another order, count no more.
fn outlies(sizes: &mut [f64]) -> f64 {
    (OUTLIER * samples::middle(sizes)).max(OUTLIES)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Open,
    Out,
    Better,
}

fn mean(d: &[f64]) -> f64 {
    d.iter().sum::<f64>() / d.len().max(1) as f64
}

impl Rival {
    /// What is known of it by now.
    fn verdict(&self, spread: f64, lag: usize) -> Verdict {
        let n = self.pairs.len();
        // All turns as often.
        if !n.is_multiple_of(lag) && n < MOST {
            return Verdict::Open;
        }
        let (m, error) = self.more(spread);
        let least = self.differences().into_iter().fold(f64::INFINITY, f64::min);
        let surely =
            if self.is_fair && spread >= FAR { LIKELY } else { SURELY } * (1.0 + FEW / n as f64) * error;
        if spread < FAR && (least > HOPELESS || n >= 2 && least > FAR) {
            Verdict::Out
        } else if n >= FOR && m <= -GAIN && m + surely < 0.0 {
            Verdict::Better
        } else if n >= MOST
            || n >= AGAINST.max(2 * lag) && m - 2.0 * error > -GAIN
            || n >= PROMISING && m > 0.0 && error < FAR
            || n >= 4 * PROMISING && m > -GAIN
        {
            Verdict::Out
        } else {
            Verdict::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Deal;

    const RIVAL: Choice = Choice { deal: Deal::Blocks, threads: 0 };

    /// Executes `n` times; `time`: of the choice's way or the rival's, at that execution. Returns who has
    /// won, and how often the rival was executed.
    fn run(check: &mut Check, n: usize, mut time: impl FnMut(bool, usize) -> f64) -> (bool, usize) {
        let mut tried = 0;
        for i in 0..n {
            match check.next(1.0, 0.0, 0) {
                Some((c, _)) => {
                    tried += 1;
                    check.rival(c, time(true, i), 0.0);
                }
                None if check.choice(time(false, i), 1.0).is_some() => return (true, tried),
                None => {}
            }
        }
        (false, tried)
    }

    fn against(more: Option<f64>) -> Check {
        let mut c = Check::default();
        c.add(RIVAL, more);
        c
    }

    #[test]
    fn a_rival_that_is_better_wins_and_one_that_is_not_leaves() {
        let (won, tried) = run(&mut against(Some(0.0)), 100, |r, _| if r { 0.95 } else { 1.0 });
        assert!(won && tried == FOR, "{tried}");
        let mut same = against(Some(0.0));
        assert_eq!(run(&mut same, 100, |_, _| 1.0), (false, AGAINST));
        assert!(same.is_over());
    }

    #[test]
    fn what_is_bad_is_tried_when_it_can_be_afforded_and_no_more() {
        let mut c = against(None);
        let (won, tried) = run(&mut c, (1.0 / SHARE) as usize, |r, _| if r { 3.0 } else { 1.0 });
        assert_eq!((won, tried), (false, 0));
        let (won, tried) = run(&mut c, 1000, |r, _| if r { 3.0 } else { 1.0 });
        assert!(!won && tried == 1 && c.is_over(), "{tried}");
    }

    #[test]
    fn what_cannot_be_afforded_is_not_worked_out_each_time() {
        let mut c = against(None);
        let (mut waits, mut last) = (0, 0.0);
        for _ in 0..150 {
            assert!(c.next(1.0, 0.0, 0).is_none());
            c.choice(1.0, 1.0);
            waits += u32::from(c.wait != last);
            last = c.wait;
        }
        assert!((5..30).contains(&waits), "{waits}");
        // Another way may be.
        c.add(Choice::GIVEN, Some(0.0));
        let next = (0..8).find_map(|_| {
            c.choice(1.0, 1.0);
            c.next(1.0, 0.0, 0)
        });
        assert_eq!(next.map(|n| n.0), Some(Choice::GIVEN));
    }

    #[test]
    fn thinking_is_paid_for() {
        // Rivals that are as good cost nothing but thought: three executions' time each.
        let mut c = against(Some(0.0));
        let mut tried = 0;
        for i in 0..3000 {
            if let Some((rival, _)) = c.next(1.0, 3.0, 0) {
                c.rival(rival, 1.0, 3.0);
                tried += 1;
                assert!(tried as f64 * 3.0 <= SHARE * (i + 1) as f64, "{tried} in {i}");
            } else {
                c.choice(1.0, 1.0);
            }
        }
        assert_eq!(tried, AGAINST);
    }

    #[test]
    fn executions_that_take_turns_do_not_deceive() {
        for period in [2, 3, 5] {
            let mut c = against(Some(0.0));
            let (won, _) = run(&mut c, 10_000, |_, i| if i % period == 0 { 3.0 } else { 1.0 });
            assert!(!won && c.is_over(), "{period}: {c:?}");
        }
    }

    #[test]
    fn what_has_lost_comes_back_once() {
        let mut c = against(Some(0.0));
        c.changed(Choice::GIVEN);
        c.rivals.retain(|r| r.choice == Choice::GIVEN);
        assert_eq!(c.rivals.len(), 1);
        c.rivals.clear();
        c.changed(Choice::GIVEN);
        assert!(c.is_over());
    }
}
