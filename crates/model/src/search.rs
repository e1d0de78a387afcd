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
//! another is better by 3 % and not by chance ([`samples::is_less`](crate::samples::is_less)). What is
//! settled is compared on with other ways that may be as good, and with the program's own, as far as that
//! costs next to nothing ([`Check`]). After a step of cost a profile is made again, and what is then expected
//! to be better is tried against the choice; each time the next step must last twice as long, so that noise
//! cannot keep it searching. What a search can lose is bounded: a candidate that takes over three times as
//! long as the best is not tried again, and none can take longer than one thread alone does. Times are
//! seconds for an iteration, since executions of a class differ in length.
//!
//! Here are what a search is, how it begins, and its step from execution to execution. Its parts: the trials
//! (search/trials.rs), what comes when they are over (change_detection.rs), what can be asked of it
//! (queries.rs).

mod change_detection;
mod queries;
mod trials;

use crate::choice::{Choice, Deal};
use crate::exhaustive_search::{self, Tried};
use crate::rival_check::Check;
use crate::{Estimate, Schedule, candidates, samples};

/// Executions of each candidate.
const EACH: usize = 3;
/// An execution of less than this (seconds) is too short for a profile: stamps would be most of it.
pub const SHORT: f64 = 20e-6;
/// Of what is so short one execution in so many is measured when it is settled that they take this long
/// (seconds), and while other ways are still compared: to measure one is some 0.3 µs. But at least one in so
/// many, and at most. No even numbers: a program's executions may take turns.
const APART: f64 = 250e-6;
const APART_FOR_RIVALS: f64 = 50e-6;
/// To think about a rival's time (seconds), which counts as time that the rival has cost.
const THOUGHT: f64 = 3e-6;
const SELDOM: u64 = 17;
/// Executions of a short loop by a rival before the one that is measured.
const WARM: u32 = 2;
const SELDOMEST: u64 = 2001;
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
    /// So many executions come before it by the same choice, of which nobody tells: the first ones find in
    /// each thread's cache what it had by another choice.
    pub warm: u32,
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
    /// What a whole execution by it takes; 0: not known.
    lasts: f64,
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
        Self { choice, profile: false, measure: true, limit, warm: 0 }
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
            lasts: 0.0,
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
        Self::by(Ways::Threads(candidates::halves(p).collect()), p, Schedule::BLOCKS, may)
    }

    /// For a loop of which a profile would say nothing, since its iterations wait for each other: these
    /// `ways` are compared with the program's own.
    pub fn of_these(p: u32, given: Schedule, ways: Vec<Choice>) -> Self {
        let may = May { schedule: !ways.is_empty(), threads: ways.iter().any(|c| c.threads != 0) };
        Self::by(Ways::Listed(ways), p, given, may)
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

    /// One execution in so many by the choice is to be measured. What has just taken another time than usual
    /// is looked at more closely.
    pub fn interval(&self) -> u64 {
        let is_alone = self.is_alone();
        let is_odd = || self.recent.last().is_some_and(|t| samples::beyond(self.usual, *t) != 0);
        match self.lasts {
            t if self.usual == 0.0 || t == 0.0 || t >= SHORT => 1,
            _ if is_alone && is_odd() => 1,
            t => {
                let apart = if is_alone || self.check.is_over() { APART } else { APART_FOR_RIVALS };
                ((apart / t) as u64).clamp(SELDOM, SELDOMEST) | 1
            }
        }
    }

    /// Is the choice that one thread executes a region?
    fn is_alone(&self) -> bool {
        matches!(self.ways, Ways::Threads(_)) && self.current().threads == 1
    }

    /// To think about a rival of a short loop, counted as times are: for an iteration.
    fn thought(&self) -> f64 {
        if (f64::MIN_POSITIVE..SHORT).contains(&self.lasts) { self.usual * THOUGHT / self.lasts } else { 0.0 }
    }

    /// How many executions come before a rival's that is measured.
    fn warms(&self) -> u32 {
        if self.interval() > 1 && matches!(self.ways, Ways::Modelled) { WARM } else { 0 }
    }

    fn current(&self) -> Choice {
        self.runs[self.best].choice
    }

    /// What to do next.
    pub fn plan(&mut self) -> Plan {
        self.executions += 1;
        // A profiled execution is dealt as is best for that: what it takes says nothing of a choice.
        let of = |choice, profile: bool| Plan { choice, profile, measure: !profile, limit: None, warm: 0 };
        match self.state {
            State::Warm => of(self.current(), false),
            State::Profile => of(self.current(), true),
            State::Trials => {
                let (next, least) = (self.turn(), self.least());
                Plan::trial(next, (least > 0.0).then_some(least))
            }
            State::Settled => match self.check.next(self.usual, self.thought(), self.warms()) {
                Some((rival, unknown)) => {
                    Plan { warm: self.warms(), ..Plan::trial(rival, unknown.then_some(self.usual)) }
                }
                None => of(self.current(), false),
            },
        }
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
                let like = self.interval() as f64;
                if let Some(winner) = self.check.choice(one, like) {
                    self.change(winner);
                } else {
                    self.watch(one, total);
                }
            }
            State::Settled => {
                self.searched += 1;
                self.check.rival(choice, one, self.thought());
                self.noted(choice, one);
            }
        }
        if self.state == State::Settled && self.usual > 0.0 {
            self.lasts = self.usual * total as f64;
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

    /// All ways have been executed from one state: what follows from that stays. `tried`: the program's own
    /// one first.
    pub fn compared(&mut self, tried: Vec<Tried>) {
        self.searched += tried.iter().map(|t| t.times.len() as u32).sum::<u32>();
        let run = |t: &Tried| Run { times: t.times.clone(), ..Run::new(t.choice, None) };
        self.runs = tried.iter().map(run).collect();
        self.own = tried.first().map(|t| t.times.clone()).unwrap_or_default();
        self.best = exhaustive_search::best(&tried);
        (self.predicted, self.state) = (None, State::Settled);
        // With memory as warm as it usually is, executions take another time.
        self.usual = 0.0;
        self.recent.clear();
        self.check = Check::default();
        self.resets = MOST_RESETS;
        self.compared = tried;
    }
}

#[cfg(test)]
mod tests;
