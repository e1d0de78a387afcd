//! The search for the best way to execute a loop: P5's scan, with the model in front of it.
//!
//! One [`Search`] for each call site, trip-count class and team size. It is asked for a [`Plan`] before an
//! execution and told what that took:
//!
//! ```text
//!             first             profiled            model: in doubt       all have 3
//!   Warm ──────────────► Profile ──────────► (rank) ────────────► Trials ──────────► Settled
//!    │ too short to profile  ▲                  │ beyond doubt                        │ ▲ │
//!    ├──────────► Trials     │                  └─────────────────────────────────────┼─┘ │
//!    │ nothing is predicted  └────────────────────────────────────────────────────────┘   │
//!    └──────────► Settled                          a step of cost                  Check ◄┘
//! ```
//!
//! The program's own way is always among the trials, executed in turn with the others, and stays unless
//! another is better by 3 % and not by chance ([`samples::is_less`]). What is settled is compared on with
//! other ways that may be as good, and with the program's own, as far as that costs next to nothing
//! ([`Check`]). After a step of cost a profile is made again, and what is then expected to be better is tried
//! against the choice; each time the next step must last twice as long, so that noise cannot keep it
//! searching.
//! What a search can lose is bounded: a candidate that takes over three times as long as the best is not
//! tried again, and none can take longer than one thread alone does.
//! Times are seconds for an iteration, since executions of a class differ in length.

use crate::check::Check;
use crate::choice::{Choice, Deal};
use crate::doall::{Loop, Overheads};
use crate::exact::{self, Tried};
use crate::samples::{self, IN_A_ROW};
use crate::scaling::Scaling;
use crate::{Estimate, Profile, Schedule, ways};

/// Executions of each candidate.
const EACH: usize = 3;
/// An execution of less than this (seconds) is too short for a profile: stamps would be most of it.
pub const SHORT: f64 = 20e-6;
/// One execution in so many of such a loop is measured when it is settled. No power of two: a program's
/// executions may take turns.
pub const SELDOM: u64 = 17;
/// A trial that takes so many times as long as the best is cut short, and not repeated.
const HOPELESS: f64 = 3.0;
/// What took so many times as long as the best, twice, is not tried a third time.
const WORSE: f64 = 1.3;
/// Times kept of a settled choice.
const KEPT: usize = 16;
/// More resets than this are a machine's noise: the choice then stays.
const MOST_RESETS: u32 = 5;

/// What may be changed without changing what the program means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct May {
    /// The schedule.
    pub schedule: bool,
    /// How many threads get work.
    pub threads: bool,
}

/// What to do with the next execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How.
    pub choice: Choice,
    /// Time every chunk, dealt as is best for that.
    pub profile: bool,
    /// Tell what it took.
    pub measure: bool,
    /// When a trial has taken so long (seconds for an iteration of the loop), it is cut short.
    pub limit: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Warm,
    Profile,
    Trials,
    Settled,
}

/// A candidate and what it took.
#[derive(Clone, Debug)]
struct Run {
    choice: Choice,
    expected: Option<Estimate>,
    times: Vec<f64>,
    hopeless: bool,
}

impl Run {
    fn new(choice: Choice, expected: Option<Estimate>) -> Self {
        Self { choice, expected, times: vec![], hopeless: false }
    }
}

/// Where candidates come from.
#[derive(Clone, Debug)]
enum Ways {
    /// A loop: a profile and the model say which.
    Modelled,
    /// These alone, each against the choice, when it can be afforded.
    Listed(Vec<Choice>),
    /// A region: so many threads.
    Threads(Vec<u32>),
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Search {
    p: u32,
    given: Schedule,
    may: May,
    ways: Ways,
    state: State,
    /// The first one is what the others are compared with: the program's own way; after a step of cost, the
    /// choice.
    runs: Vec<Run>,
    /// The run that is the choice.
    best: usize,
    /// What else may be as good, and what it is expected to take.
    near: Vec<(Choice, f64)>,
    check: Check,
    /// What the program's own way took.
    own: Vec<f64>,
    /// What the choice usually takes.
    usual: f64,
    /// Is that too short a time to be measured each time?
    is_short: bool,
    recent: Vec<f64>,
    executions: u64,
    resets: u32,
    searched: u32,
    predicted: Option<Estimate>,
    compared: Vec<Tried>,
}

impl Plan {
    /// An execution by `choice`, where the least that another has taken is so much.
    pub fn trial(choice: Choice, least: Option<f64>) -> Self {
        let limit = least.filter(|_| choice != Choice::GIVEN).map(|l| l * HOPELESS);
        Self { choice, profile: false, measure: true, limit }
    }
}

impl Search {
    /// For a loop that the program deals by `given` to `p` threads.
    pub fn new(p: u32, given: Schedule, may: May) -> Self {
        Self::by(Ways::Modelled, p, given, may)
    }

    fn by(ways: Ways, p: u32, given: Schedule, may: May) -> Self {
        let nothing_to_change = p <= 1 || !(may.schedule || may.threads);
        Self {
            p,
            given,
            may,
            ways,
            state: if nothing_to_change { State::Settled } else { State::Warm },
            runs: vec![Run::new(Choice::GIVEN, None)],
            best: 0,
            near: vec![],
            check: Check::default(),
            own: vec![],
            usual: 0.0,
            is_short: false,
            recent: vec![],
            executions: 0,
            resets: 0,
            searched: 0,
            predicted: None,
            compared: vec![],
        }
    }

    /// For a region that may be executed by fewer than `p` threads: by half of them, …, by one. Nothing is
    /// profiled, and times are those of the whole.
    pub fn of_region(p: u32) -> Self {
        let may = May { schedule: false, threads: true };
        Self::by(Ways::Threads(ways::halves(p).collect()), p, Schedule::BLOCKS, may)
    }

    /// For a loop of which a profile would say nothing, since its iterations wait for each other: these
    /// `ways` are compared with the program's own.
    pub fn of_these(p: u32, given: Schedule, ways: Vec<Choice>) -> Self {
        let may = May { schedule: !ways.is_empty(), threads: ways.iter().any(|c| c.threads != 0) };
        Self::by(Ways::Listed(ways), p, given, may)
    }

    /// Is there nothing to be chosen?
    pub fn is_fixed(&self) -> bool {
        self.p <= 1 || !(self.may.schedule || self.may.threads)
    }

    /// Are candidates found by the model?
    pub fn is_modelled(&self) -> bool {
        !matches!(self.ways, Ways::Listed(_))
    }

    /// With a choice made in an earlier run, which usually took so long (seconds for an iteration).
    pub fn with_choice(p: u32, given: Schedule, may: May, choice: Choice, usual: f64) -> Self {
        let mut s = Self::new(p, given, may);
        s.keep(choice, usual);
        s
    }

    /// Takes a choice of an earlier run over, if it may be made here.
    pub fn keep(&mut self, choice: Choice, usual: f64) {
        if self.is_allowed(choice) && self.state != State::Settled {
            (self.runs, self.best) = (vec![Run::new(choice, None)], 0);
            self.state = State::Settled;
            self.usual = usual;
        }
    }

    /// Is a choice of an earlier run one that may be made here?
    fn is_allowed(&self, c: Choice) -> bool {
        match &self.ways {
            Ways::Listed(ways) => c == Choice::GIVEN || ways.contains(&c),
            _ => {
                (self.may.schedule || c.deal == Deal::Given)
                    && (self.may.threads || c.threads == 0)
                    && c.threads <= self.p
            }
        }
    }

    /// The choice, if the search is over.
    pub fn settled(&self) -> Option<Choice> {
        (self.state == State::Settled).then(|| self.current())
    }

    fn current(&self) -> Choice {
        self.runs[self.best].choice
    }

    /// What the choice usually takes for an iteration; 0: not known.
    pub fn usual(&self) -> f64 {
        self.usual
    }

    /// What the program's own way took for an iteration, if it was tried.
    pub fn own(&self) -> Option<f64> {
        (!self.own.is_empty()).then(|| samples::median(&self.own))
    }

    /// What the model expected of the choice, for an iteration.
    pub fn predicted(&self) -> Option<Estimate> {
        self.predicted
    }

    /// Executions that were part of a search.
    pub fn searched(&self) -> u32 {
        self.searched
    }

    /// Executions in all.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// What to do next.
    pub fn plan(&mut self) -> Plan {
        self.executions += 1;
        // A profiled execution is dealt as is best for that: what it takes says nothing of a choice.
        let of = |choice, profile: bool| Plan { choice, profile, measure: !profile, limit: None };
        match self.state {
            State::Warm => of(self.current(), false),
            State::Profile => of(self.current(), true),
            State::Trials => {
                let (next, least) = (self.turn(), self.least());
                Plan::trial(next, (least > 0.0).then_some(least))
            }
            State::Settled => match self.check.next(self.usual) {
                Some((rival, unknown)) => Plan::trial(rival, unknown.then_some(self.usual)),
                None => of(self.current(), false),
            },
        }
    }

    /// Whose turn it is: forwards in one round and backwards in another, so that of two ways each has as many
    /// first and second places, whatever the program does by turns.
    fn turn(&self) -> Choice {
        let waiting = || self.runs.iter().filter(|r| !r.hopeless);
        let round = waiting().map(|r| r.times.len()).min().unwrap_or(0);
        let mut these = waiting().filter(|r| r.times.len() == round);
        let next = if round.count_ones().is_multiple_of(2) { these.next() } else { these.next_back() };
        next.map_or(Choice::GIVEN, |r| r.choice)
    }

    /// The least median so far.
    fn least(&self) -> f64 {
        let medians = self.runs.iter().filter(|r| !r.times.is_empty()).map(|r| samples::median(&r.times));
        medians.reduce(f64::min).unwrap_or(0.0)
    }

    /// An execution by `choice` over `total` iterations took `seconds`.
    pub fn done(&mut self, choice: Choice, total: u64, seconds: f64) {
        let one = seconds / total.max(1) as f64;
        match self.state {
            State::Warm => {
                self.searched += 1;
                self.check.credit(one);
                self.warm(total, seconds);
            }
            State::Profile => {}
            State::Trials => {
                self.searched += 1;
                self.check.credit(one);
                self.trial_took(choice, one);
                self.judge();
            }
            State::Settled if self.current() == choice => {
                // Of those that are not measured nobody tells.
                let like = if self.is_short { SELDOM as f64 } else { 1.0 };
                if let Some(winner) = self.check.choice(one, like) {
                    self.change(winner);
                } else {
                    self.watch(one, total);
                }
            }
            State::Settled => {
                self.searched += 1;
                self.check.rival(choice, one);
                self.noted(choice, one);
            }
        }
    }

    /// What the program's own way took is kept.
    fn noted(&mut self, choice: Choice, one: f64) {
        if choice == Choice::GIVEN {
            self.own.push(one);
            if self.own.len() > KEPT {
                self.own.remove(0);
            }
        }
    }

    /// It was executed once, in `seconds`.
    fn warm(&mut self, total: u64, seconds: f64) {
        self.is_short = seconds < SHORT;
        self.near.clear();
        match self.ways.clone() {
            Ways::Modelled if !self.is_short => self.state = State::Profile,
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
        let unknown = ways::different(self.p, self.given, self.may, total);
        self.near = unknown.into_iter().map(|c| (c, 0.0)).collect();
        let first = if self.may.threads {
            ways::fewer(self.p, total).collect()
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
    fn trial_took(&mut self, choice: Choice, one: f64) {
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
        let all = core::iter::once(Choice::GIVEN).chain(ways::scan(self.p, self.given, self.may));
        let mut all: Vec<(Choice, Estimate)> = all.map(|c| (c, time(c))).collect();
        all.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        self.near = ways::rivals(self.p, self.given, total, &all);
        self.runs = vec![Run::new(choice, Some(own))];
        self.best = 0;
        self.own.clear();
        // What could be better by as much as counts.
        let better = |e: &Estimate| e.mean < own.mean * (1.0 - samples::LEAST);
        if let Some((c, e)) = ways::first(self.p, &all).filter(|(_, e)| better(e)) {
            self.runs.push(Run::new(c, Some(e)));
        }
        self.state = State::Trials;
        self.judge();
    }

    /// All ways to execute it, `total` iterations long, the program's own one first.
    pub fn ways(&self, total: u64) -> Vec<Choice> {
        let own = core::iter::once(Choice::GIVEN);
        match &self.ways {
            Ways::Modelled => ways::every(self.p, self.given, self.may, total),
            Ways::Listed(list) => own.chain(list.iter().copied()).collect(),
            Ways::Threads(counts) => {
                own.chain(counts.iter().map(|n| Choice { deal: Deal::Given, threads: *n })).collect()
            }
        }
    }

    /// All ways have been executed from one state: what follows from that stays. `tried`: the program's own
    /// one first.
    pub fn compared(&mut self, tried: Vec<Tried>) {
        self.searched += tried.iter().map(|t| t.times.len() as u32).sum::<u32>();
        let run = |t: &Tried| Run { times: t.times.clone(), ..Run::new(t.choice, None) };
        self.runs = tried.iter().map(run).collect();
        self.own = tried.first().map(|t| t.times.clone()).unwrap_or_default();
        self.best = exact::best(&tried);
        (self.predicted, self.state) = (None, State::Settled);
        // With memory as warm as it usually is, executions take another time.
        self.usual = 0.0;
        self.recent.clear();
        self.check = Check::default();
        self.resets = MOST_RESETS;
        self.compared = tried;
    }

    /// What all ways took from one state, if they were compared.
    pub fn tried(&self) -> &[Tried] {
        &self.compared
    }

    /// Likewise for the program's own way; 0: it was not tried.
    pub fn takes_own(&self) -> f64 {
        self.compared.first().map_or_else(|| self.own().unwrap_or(0.0), Tried::least)
    }

    /// What the choice takes: from one state, if that was measured; else what it usually does.
    pub fn takes(&self) -> f64 {
        match self.compared.get(self.best) {
            Some(t) => t.least(),
            None => self.usual,
        }
    }

    /// Are the trials over?
    fn judge(&mut self) {
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
            if close && ways::is_fair(*c, self.p) && !ways::is_as_fair(choice, self.given, self.p) {
                self.check.add_fair(*c, more);
            } else {
                self.check.add(*c, more);
            }
        }
        if choice != Choice::GIVEN {
            self.check.add(Choice::GIVEN, None);
        }
    }

    /// A rival has turned out to be better.
    fn change(&mut self, winner: Choice) {
        let old = self.current();
        let expected = self.near.iter().find(|n| n.0 == winner).map(|n| n.1).filter(|e| *e > 0.0);
        self.check.changed(old);
        (self.runs, self.best) = (vec![Run::new(winner, None)], 0);
        self.predicted = expected.map(|e| Estimate::normal(e, e * samples::LEAST / 2.0));
        self.usual = 0.0;
        self.recent.clear();
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

    /// A settled execution: is it as usual?
    fn watch(&mut self, one: f64, total: u64) {
        self.recent.push(one);
        if self.recent.len() > KEPT + self.patience() {
            self.recent.remove(0);
        }
        if self.usual == 0.0 {
            if self.recent.len() >= IN_A_ROW {
                self.usual = samples::median(&self.recent);
                self.is_short = self.usual * (total as f64) < SHORT;
            }
            return;
        }
        if !self.is_fixed()
            && self.resets < MOST_RESETS
            && samples::has_stepped(self.usual, &self.recent, self.patience())
        {
            self.stepped(total);
        }
    }

    /// What was decided is out of date.
    fn stepped(&mut self, total: u64) {
        self.resets += 1;
        let now = samples::median(&self.recent[self.recent.len() - IN_A_ROW..]) * total as f64;
        (self.runs, self.best) = (vec![Run::new(self.current(), None)], 0);
        (self.usual, self.predicted) = (0.0, None);
        self.recent.clear();
        self.own.clear();
        self.check = Check::default();
        self.warm(total, now);
    }

    fn patience(&self) -> usize {
        IN_A_ROW << self.resets
    }
}

#[cfg(test)]
mod tests;
