//! Trials: what is tried after a first execution or a profile, whose turn it is, and when enough is known.

use super::{EACH, HOPELESS, Run, SHORT, Search, State, WORSE, Ways};
use crate::choice::{Choice, Deal};
use crate::doall::{Loop, Overheads};
use crate::samples;
use crate::scaling::Scaling;
use crate::{Estimate, Profile, Schedule, candidates};

impl Search {
    /// Whose turn it is: forwards in one round and backwards in another, so that of two ways each has as many
    /// first and second places, whatever the program does by turns.
    pub(super) fn turn(&self) -> Choice {
        let waiting = || self.runs.iter().filter(|r| !r.hopeless);
        let round = waiting().map(|r| r.times.len()).min().unwrap_or(0);
        let mut these = waiting().filter(|r| r.times.len() == round);
        let next = if round.count_ones().is_multiple_of(2) { these.next() } else { these.next_back() };
        next.map_or(Choice::GIVEN, |r| r.choice)
    }

    /// The least median so far.
    pub(super) fn least(&self) -> f64 {
        let medians = self.runs.iter().filter(|r| !r.times.is_empty()).map(|r| samples::median(&r.times));
        medians.reduce(f64::min).unwrap_or(0.0)
    }

    /// It was executed once, in `seconds`.
    pub(super) fn warm(&mut self, total: u64, seconds: f64) {
        self.lasts = seconds;
        self.near.clear();
        match self.ways.clone() {
            Ways::Modelled if seconds >= SHORT => self.state = State::Profile,
            Ways::Modelled => self.short(total),
            Ways::Threads(counts) => {
                let of = |threads: &u32| Choice { deal: Deal::Given, threads: *threads };
                self.tries(counts.iter().map(of).collect());
            }
            Ways::Listed(list) => {
                self.near = list.into_iter().map(|c| (c, 0.0)).collect();
                self.judge();
            }
        }
    }

    /// What can be tried of loops too short for a profile: half of the team is fed, …, the first to come does
    /// it all; or blocks. Other schedules are compared when that can be afforded.
    fn short(&mut self, total: u64) {
        let unknown = candidates::different(self.p, self.given, self.may, total);
        self.near = unknown.into_iter().map(|c| (c, 0.0)).collect();
        let first = if self.may.threads {
            candidates::fewer(self.p, total).collect()
        } else if self.may.schedule && self.given != Schedule::BLOCKS && total > 1 {
            vec![Choice { deal: Deal::Blocks, threads: 0 }]
        } else {
            vec![]
        };
        self.tries(first);
    }

    /// These are tried, and the program's own way, against the choice.
    fn tries(&mut self, others: Vec<Choice>) {
        let choice = self.current();
        let all = core::iter::once(Choice::GIVEN).chain(others).filter(|c| *c != choice);
        self.runs = core::iter::once(choice).chain(all).map(|c| Run::new(c, None)).collect();
        self.best = 0;
        self.state = State::Trials;
        self.judge();
    }

    /// A trial took so long.
    pub(super) fn trial_took(&mut self, choice: Choice, one: f64) {
        let (least, reference, own) = (self.least(), self.runs[0].choice, self.runs[0].expected);
        if let Some(r) = self.runs.iter_mut().find(|r| r.choice == choice) {
            r.times.push(one);
            // Where the model is sure, one bad time is a disturbance.
            let sure = r.expected.zip(own).is_some_and(|(a, b)| a.is_surely_less_than(b));
            let bad = r.times.iter().filter(|t| **t > least * HOPELESS).count();
            let worse = r.times.len() >= 2 && r.times.iter().all(|t| *t > least * WORSE);
            let hopeless = bad > 2 * usize::from(sure) || worse && !sure;
            r.hopeless = least > 0.0 && choice != reference && hopeless;
        }
        self.noted(choice, one);
    }

    /// An execution was profiled.
    pub fn profiled(&mut self, profile: &Profile, costs: &Overheads, speeds: &[f64]) {
        if self.state != State::Profile {
            return;
        }
        self.searched += 1;
        let total = profile.total();
        let l = Loop {
            profile: profile.clone(),
            scaling: Scaling::fit([(self.p, &[1.0][..], 1.0)]),
            scatter: samples::LEAST / 2.0,
        };
        let scale = Estimate::exact(1.0 / total.max(1) as f64);
        let time = |c: Choice| {
            let k = if c.threads == 0 { speeds.len() } else { (c.threads as usize).min(speeds.len()) };
            l.time(c.schedule(total, self.given, self.p), &speeds[..k.max(1)], costs).times(scale)
        };
        let choice = self.current();
        let own = time(choice);
        let all = core::iter::once(Choice::GIVEN).chain(candidates::scan(self.p, self.given, self.may));
        let mut all: Vec<(Choice, Estimate)> = all.map(|c| (c, time(c))).collect();
        all.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        self.near = candidates::rivals(self.p, self.given, total, &all);
        self.runs = vec![Run::new(choice, Some(own))];
        self.best = 0;
        self.own.clear();
        // What could be better by as much as counts.
        let better = |e: &Estimate| e.mean < own.mean * (1.0 - samples::LEAST);
        if let Some((c, e)) = candidates::first(self.p, &all).filter(|(_, e)| better(e)) {
            self.runs.push(Run::new(c, Some(e)));
        }
        self.state = State::Trials;
        self.judge();
    }

    /// Are the trials over?
    pub(super) fn judge(&mut self) {
        let waiting = |r: &Run| !r.hopeless && r.times.len() < EACH;
        if self.runs.len() > 1 && self.runs.iter().any(waiting) {
            return;
        }
        self.best = 0;
        for i in 1..self.runs.len() {
            if self.is_better(&self.runs[i], &self.runs[self.best]) {
                self.best = i;
            }
        }
        self.usual = samples::median(&self.runs[self.best].times);
        self.predicted = self.runs[self.best].expected;
        self.recent.clear();
        self.state = State::Settled;
        self.check();
    }

    /// What the choice is compared with from here on: what it was tried with, and what else may be as good.
    fn check(&mut self) {
        let best = &self.runs[self.best];
        let by = |took: f64, than: f64| if than > 0.0 { (took / than - 1.0).max(0.0) } else { 0.0 };
        let choice = best.choice;
        let expected = best.expected.map_or(0.0, |e| e.mean);
        for r in self.runs.iter().filter(|r| r.choice != choice && !r.hopeless && !r.times.is_empty()) {
            // A few times may have been anything, as may a profile.
            let took = by(samples::median(&r.times), self.usual);
            let more = r.expected.filter(|_| expected > 0.0).map_or(took, |e| by(e.mean, expected).min(took));
            self.check.add(r.choice, Some(more));
        }
        for (c, mean) in self.near.iter().filter(|n| n.0 != choice) {
            let known = *mean > 0.0 && expected > 0.0;
            let more = known.then(|| by(*mean, expected));
            let close = more.is_some_and(|m| m <= 0.01);
            if close && candidates::is_fair(*c, self.p) && !candidates::is_as_fair(choice, self.given, self.p)
            {
                self.check.add_fair(*c, more);
            } else {
                self.check.add(*c, more);
            }
        }
        if choice != Choice::GIVEN {
            self.check.add(Choice::GIVEN, None);
        }
    }

    /// By what was measured; or the model is sure of it, and the best of the trials agree: where others use
    /// the machine, too, that is what a few times can say.
    fn is_better(&self, a: &Run, b: &Run) -> bool {
        let sure = a.expected.zip(b.expected).is_some_and(|(a, b)| a.is_surely_less_than(b));
        let least = |r: &Run| r.times.iter().copied().fold(f64::INFINITY, f64::min);
        !a.hopeless
            && (samples::is_less(&a.times, &b.times)
                || (sure && least(a) < least(b) * (1.0 - samples::LEAST)))
    }
}
