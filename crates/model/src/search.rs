//! The search for the best way to execute a loop: P5's scan, with the model in front of it.
//!
//! One [`Search`] for each call site, trip-count class and team size. It is asked for a [`Plan`] before an
//! execution and told what that took:
//!
//! ```text
//!             first             profiled            model: in doubt       all have 3
//!   Warm ──────────────► Profile ──────────► (rank) ────────────► Trials ──────────► Settled
//!    │ too short to profile                     │ beyond doubt                          │ ▲
//!    └──────────► Trials                        └──────────────────────────► Settled    │ │ a step of cost
//!                                                                                       └─┘ → Profile
//! ```
//!
//! The program's own way is always among the trials, executed in turn with the others, and stays unless
//! another is better by 3 % and not by chance ([`samples::is_less`]). After a step of cost the search
//! begins anew; each time the next step must last twice as long, so that noise cannot keep it searching.
//! What a search can lose is bounded: a candidate that takes over three times as long as the best is not
//! tried again, and none can take longer than one thread alone does.
//! Times are seconds for an iteration, since executions of a class differ in length.

use crate::choice::{Choice, Deal};
use crate::doall::{Loop, Overheads};
use crate::exact::{self, Tried};
use crate::samples::{self, IN_A_ROW};
use crate::scaling::Scaling;
use crate::{Estimate, Kind, Profile, Schedule};

/// Executions of each candidate.
const EACH: usize = 3;
/// Candidates beside the program's own way.
const OTHERS: usize = 1;
/// An execution of less than this (seconds) is too short for a profile: stamps would be most of it.
pub const SHORT: f64 = 20e-6;
/// A trial that takes so many times as long as the best is cut short, and not repeated.
const HOPELESS: f64 = 3.0;
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

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Search {
    p: u32,
    given: Schedule,
    may: May,
    /// Numbers of threads to try, where nothing can be profiled.
    counts: Vec<u32>,
    state: State,
    runs: Vec<Run>,
    /// The run that is the choice.
    best: usize,
    /// What it usually takes.
    usual: f64,
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
        let own = Run { choice: Choice::GIVEN, expected: None, times: vec![], hopeless: false };
        let nothing_to_change = p <= 1 || !(may.schedule || may.threads);
        Self {
            p,
            given,
            may,
            counts: vec![],
            state: if nothing_to_change { State::Settled } else { State::Warm },
            runs: vec![own],
            best: 0,
            usual: 0.0,
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
        Self {
            counts: halves(p).collect(),
            ..Self::new(p, Schedule::BLOCKS, May { schedule: false, threads: true })
        }
    }

    /// Is there nothing to be chosen?
    pub fn is_fixed(&self) -> bool {
        self.p <= 1 || !(self.may.schedule || self.may.threads)
    }

    /// With a choice made in an earlier run, which usually took so long (seconds for an iteration).
    pub fn with_choice(p: u32, given: Schedule, may: May, choice: Choice, usual: f64) -> Self {
        let mut s = Self::new(p, given, may);
        s.keep(choice, usual);
        s
    }

    /// Takes a choice of an earlier run over, if it may be made here.
    pub fn keep(&mut self, choice: Choice, usual: f64) {
        let s = self;
        if allowed(s.may, choice, s.p) && s.state != State::Settled {
            s.runs.push(Run { choice, expected: None, times: vec![], hopeless: false });
            s.best = if choice == Choice::GIVEN { 0 } else { 1 };
            s.state = State::Settled;
            s.usual = usual;
        }
    }

    /// The choice, if the search is over.
    pub fn settled(&self) -> Option<Choice> {
        (self.state == State::Settled).then(|| self.runs[self.best].choice)
    }

    /// What the choice usually takes for an iteration; 0: not known.
    pub fn usual(&self) -> f64 {
        self.usual
    }

    /// What the program's own way took for an iteration, if it was tried.
    pub fn own(&self) -> Option<f64> {
        (!self.runs[0].times.is_empty()).then(|| samples::median(&self.runs[0].times))
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
        let of = |choice, profile: bool, limit| Plan { choice, profile, measure: !profile, limit };
        match self.state {
            State::Warm => of(Choice::GIVEN, false, None),
            State::Profile => of(Choice::GIVEN, true, None),
            State::Trials => {
                let least = self.least();
                let next = self.runs.iter().filter(|r| !r.hopeless).min_by_key(|r| r.times.len());
                let choice = next.map_or(Choice::GIVEN, |r| r.choice);
                Plan::trial(choice, (least > 0.0).then_some(least))
            }
            State::Settled => of(self.runs[self.best].choice, false, None),
        }
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
                if !self.counts.is_empty() {
                    for threads in self.counts.clone() {
                        self.add(Choice { deal: Deal::Given, threads }, None);
                    }
                    self.state = State::Trials;
                } else if seconds < SHORT {
                    self.short(total);
                } else {
                    self.state = State::Profile;
                }
            }
            State::Profile => {}
            State::Trials => {
                self.searched += 1;
                let least = self.least();
                let own = self.runs[0].expected;
                if let Some(r) = self.runs.iter_mut().find(|r| r.choice == choice) {
                    r.times.push(one);
                    // Where the model is sure, one bad time is a disturbance.
                    let sure = r.expected.zip(own).is_some_and(|(a, b)| a.is_surely_less_than(b));
                    let bad = r.times.iter().filter(|t| **t > least * HOPELESS).count();
                    r.hopeless = least > 0.0 && choice != Choice::GIVEN && bad > 2 * usize::from(sure);
                }
                self.judge();
            }
            State::Settled if self.runs[self.best].choice == choice => self.watch(one),
            State::Settled => {}
        }
    }

    /// What can be tried of loops too short for a profile: half of the team is fed, …, the first to come does
    /// it all; or blocks.
    fn short(&mut self, total: u64) {
        if self.may.threads {
            for threads in halves(self.p).filter(|k| u64::from(*k) < total) {
                self.add(Choice { deal: Deal::Given, threads }, None);
            }
        } else if self.may.schedule && self.given != Schedule::BLOCKS && total > 1 {
            self.add(Choice { deal: Deal::Blocks, threads: 0 }, None);
        }
        self.state = State::Trials;
        self.judge();
    }

    fn add(&mut self, choice: Choice, expected: Option<Estimate>) {
        self.runs.push(Run { choice, expected, times: vec![], hopeless: false });
    }

    /// An execution was profiled. `scatter`: by what part whole executions differ.
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
        let time = |c: Choice| {
            let k = if c.threads == 0 { speeds.len() } else { (c.threads as usize).min(speeds.len()) };
            l.time(c.schedule(total, self.given, self.p), &speeds[..k.max(1)], costs)
        };
        let scale = Estimate::exact(1.0 / total.max(1) as f64);
        let own = time(Choice::GIVEN);
        self.runs.truncate(1);
        self.runs[0].expected = Some(own.times(scale));
        self.runs[0].times.clear();
        let mut all: Vec<(Choice, Estimate)> = self.candidates().into_iter().map(|c| (c, time(c))).collect();
        all.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        // What could be better by as much as counts.
        let worth = |e: &Estimate| e.mean < own.mean * (1.0 - samples::LEAST);
        let others: Vec<_> = all.into_iter().filter(|(_, e)| worth(e)).take(OTHERS).collect();
        for (c, e) in others {
            self.add(c, Some(e.times(scale)));
        }
        self.state = State::Trials;
        self.judge();
    }

    /// All ways to execute it, `total` iterations long, the program's own one first.
    pub fn ways(&self, total: u64) -> Vec<Choice> {
        if !self.counts.is_empty() {
            let of = |threads: &u32| Choice { deal: Deal::Given, threads: *threads };
            return core::iter::once(Choice::GIVEN).chain(self.counts.iter().map(of)).collect();
        }
        let mut ways: Vec<(Choice, Schedule)> = vec![];
        let few = if self.may.threads { self.p } else { 1 };
        let fewer = halves(few).filter(|k| u64::from(*k) < total);
        let fewer = fewer.map(|threads| Choice { deal: Deal::Given, threads });
        let deals = self.candidates().into_iter().filter(|c| c.threads == 0);
        for c in core::iter::once(Choice::GIVEN).chain(deals).chain(fewer) {
            let by = c.schedule(total, self.given, self.p);
            // Some come to the same.
            if !ways.iter().any(|w| w.1 == by) {
                ways.push((c, by));
            }
        }
        ways.into_iter().map(|w| w.0).collect()
    }

    /// All ways have been executed from one state: what follows from that stays. `tried`: the program's own
    /// one first.
    pub fn compared(&mut self, tried: Vec<Tried>) {
        self.searched += tried.iter().map(|t| t.times.len() as u32).sum::<u32>();
        let run =
            |t: &Tried| Run { choice: t.choice, expected: None, times: t.times.clone(), hopeless: false };
        self.runs = tried.iter().map(run).collect();
        self.best = exact::best(&tried);
        (self.predicted, self.state) = (None, State::Settled);
        // With memory as warm as it usually is, executions take another time.
        self.usual = 0.0;
        self.recent.clear();
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

    /// P5's scan, in parts of the iteration space: N/(i · p).
    fn candidates(&self) -> Vec<Choice> {
        let mut all = vec![];
        if self.may.schedule {
            all.push(Choice { deal: Deal::Blocks, threads: 0 });
            for i in [2, 4, 8, 16, 32, 64, 256] {
                let parts = i * self.p;
                all.push(Choice { deal: Deal::Dynamic { parts }, threads: 0 });
                // Shrinking chunks are no whole numbers of the program's own, unless that is 1.
                if self.given.chunk <= 1 || self.given.kind == Kind::Guided {
                    all.push(Choice { deal: Deal::Guided { parts }, threads: 0 });
                }
            }
        }
        if self.may.threads {
            all.push(Choice { deal: Deal::Given, threads: 1 });
        }
        all
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
    fn watch(&mut self, one: f64) {
        self.recent.push(one);
        if self.recent.len() > KEPT.max(self.patience()) {
            self.recent.remove(0);
        }
        if self.usual == 0.0 {
            if self.recent.len() >= IN_A_ROW {
                self.usual = samples::median(&self.recent);
            }
            return;
        }
        if !self.is_fixed()
            && self.resets < MOST_RESETS
            && samples::has_stepped(self.usual, &self.recent, self.patience())
        {
            self.resets += 1;
            self.runs.truncate(1);
            self.runs[0].times.clear();
            self.best = 0;
            self.usual = 0.0;
            self.recent.clear();
            self.state = State::Warm;
        }
    }

    fn patience(&self) -> usize {
        IN_A_ROW << self.resets
    }
}

/// Half of `p`, half of that, …, 1.
fn halves(p: u32) -> impl Iterator<Item = u32> {
    core::iter::successors(Some(p / 2), |n| Some(n / 2)).take_while(|n| *n > 0)
}

/// Is a choice of an earlier run one that may be made here?
fn allowed(may: May, c: Choice, p: u32) -> bool {
    (may.schedule || c.deal == Deal::Given) && (may.threads || c.threads == 0) && c.threads <= p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::makespan::loads;

    const ALL: May = May { schedule: true, threads: true };
    const COSTS: Overheads = Overheads {
        fork: crate::doall::Linear { fixed: 0.0, each: 0.0 },
        join: crate::doall::Linear { fixed: 0.0, each: 0.0 },
        dispatch: 2e-8,
        line: 2e-8,
        scatter: 0.1,
    };

    /// A machine on which executions take what the model says, but for noise; seeded.
    struct Machine {
        profile: Profile,
        given: Schedule,
        seed: u64,
        noise: f64,
    }

    impl Machine {
        fn noisy(&mut self) -> f64 {
            self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            1.0 + self.noise * ((self.seed >> 40) as f64 / (1u64 << 24) as f64)
        }

        fn time(&self, c: Choice) -> f64 {
            let n = self.profile.total();
            let k = if c.threads == 0 { 2 } else { c.threads as usize };
            loads(&self.profile, c.schedule(n, self.given, 2), &vec![1.0; k], COSTS.dispatch).makespan()
        }

        fn execute(&mut self, s: &mut Search) -> f64 {
            let plan = s.plan();
            let t = self.time(plan.choice) * self.noisy();
            if plan.profile {
                s.profiled(&self.profile, &COSTS, &[1.0; 2]);
            }
            if plan.measure {
                s.done(plan.choice, self.profile.total(), t);
            }
            t
        }
    }

    fn skewed(given: &str) -> Machine {
        // The second half costs nine times as much.
        let p = Profile::new(1000, &[(1e-6, 0.0), (9e-6, 0.0)]);
        Machine { profile: p, given: given.parse().unwrap(), seed: 1, noise: 0.01 }
    }

    fn settle(m: &mut Machine, s: &mut Search) -> u32 {
        (0..50)
            .find(|_| {
                m.execute(s);
                s.settled().is_some()
            })
            .expect("it settles")
            + 1
    }

    #[test]
    fn skew_is_found_within_eight_executions() {
        let mut m = skewed("static");
        let mut s = Search::new(2, m.given, ALL);
        let n = settle(&mut m, &mut s);
        assert!(n <= 8, "{n}");
        let (chosen, own) = (s.settled().unwrap(), m.time(Choice::GIVEN));
        assert!(m.time(chosen) < 0.6 * own, "{chosen}");
        // Within 5 % of the best there is.
        assert!(m.time(chosen) < 1.05 * m.profile.sum() / 2.0, "{chosen}");
        assert_eq!(s.searched(), n);
    }

    #[test]
    fn what_is_good_stays() {
        for seed in 0..50 {
            let mut m = Machine {
                seed,
                noise: 0.1,
                profile: Profile::uniform(1000, 1e-6),
                given: "dynamic,8".parse().unwrap(),
            };
            let mut s = Search::new(2, m.given, ALL);
            settle(&mut m, &mut s);
            assert_eq!(s.settled(), Some(Choice::GIVEN), "seed {seed}");
        }
    }

    #[test]
    fn a_step_of_cost_leads_to_a_new_search_and_noise_to_none() {
        let mut m = skewed("static");
        let mut s = Search::new(2, m.given, ALL);
        settle(&mut m, &mut s);
        let searched = s.searched();
        m.noise = 0.2;
        for _ in 0..200 {
            m.execute(&mut s);
        }
        assert_eq!(s.searched(), searched);
        m.noise = 0.01;
        // Now the first half is the long one, and all costs more.
        m.profile = Profile::new(1000, &[(30e-6, 0.0), (1e-6, 0.0)]);
        let back = (1..40).find(|_| m.execute(&mut s) < 1.1 * m.profile.sum() / 2.0 && s.settled().is_some());
        assert!(back.is_some_and(|n| n <= 14), "{back:?}");
    }

    #[test]
    fn a_machine_that_disturbs_most_executions_does_not_hide_the_gain() {
        let (mut m, mut found) = (skewed("static"), 0);
        for seed in 0..40 {
            m.seed = seed;
            let mut s = Search::new(2, m.given, ALL);
            while s.settled().is_none() {
                let plan = s.plan();
                if plan.profile {
                    s.profiled(&m.profile, &COSTS, &[1.0; 2]);
                    continue;
                }
                // Half of the executions take up to twenty times as long.
                let late = (m.noisy() - 1.0) / m.noise;
                let t = m.time(plan.choice) * if late > 0.5 { 1.0 + 40.0 * (late - 0.5) } else { 1.0 };
                s.done(plan.choice, m.profile.total(), t);
            }
            found += u32::from(s.settled() != Some(Choice::GIVEN));
        }
        assert!(found >= 20, "{found} of 40");
    }

    #[test]
    fn tiny_loops_go_to_one_thread_if_that_is_less() {
        let mut s = Search::new(2, Schedule::new(Kind::Dynamic, 1), ALL);
        for _ in 0..10 {
            let plan = s.plan();
            s.done(plan.choice, 10, if plan.choice.threads == 1 { 4e-7 } else { 1e-6 });
        }
        assert_eq!(s.settled(), Some(Choice { deal: Deal::Given, threads: 1 }));
    }

    #[test]
    fn short_loops_feed_as_many_threads_as_are_best() {
        for best in [1, 2, 4, 0] {
            let mut s = Search::new(8, Schedule::new(Kind::Dynamic, 1), ALL);
            for _ in 0..16 {
                let plan = s.plan();
                s.done(plan.choice, 100, if plan.choice.threads == best { 4e-6 } else { 8e-6 });
            }
            assert_eq!(s.settled(), Some(Choice { deal: Deal::Given, threads: best }));
        }
        // A loop of three iterations: not more threads than that make sense.
        let mut s = Search::new(8, Schedule::new(Kind::Dynamic, 1), ALL);
        s.done(Choice::GIVEN, 3, 1e-6);
        let tried: Vec<u32> = s.runs.iter().map(|r| r.choice.threads).collect();
        assert_eq!(tried, [0, 2, 1]);
    }

    proptest::proptest! {
        /// Whatever the loop is like and however it is dealt, the executions of a search take no longer than
        /// so many of the program's own, and of one thread's.
        #[test]
        fn what_a_search_loses_is_bounded(
            costs in proptest::collection::vec(1e-8..1e-4f64, 1..32),
            total in 2u64..100_000,
            given in proptest::sample::select(vec!["static", "static,16", "dynamic", "guided,4"]),
            seed: u64,
        ) {
            let profile = Profile::new(total, &costs.iter().map(|c| (*c, 0.0)).collect::<Vec<_>>());
            let mut m = Machine { profile, given: given.parse().unwrap(), seed, noise: 0.05 };
            let mut s = Search::new(2, m.given, ALL);
            let (own, serial) = (m.time(Choice::GIVEN), m.profile.sum() + 1e-7);
            let mut spent = 0.0;
            let mut executions = 0;
            while s.settled().is_none() {
                spent += m.execute(&mut s);
                executions += 1;
                proptest::prop_assert!(executions <= 8);
            }
            // Warming up, a profile in small chunks, three of the program's own, three trials.
            proptest::prop_assert!(spent <= 1.06 * (5.0 * own + 3.0 * serial.min(HOPELESS * own).max(own)),
                "{} of {} {}", spent, own, serial);
        }
    }

    #[test]
    fn regions_get_the_number_of_threads_that_is_best() {
        for (times, best) in [([4.0, 3.0, 9.0], 2), ([1.0, 2.0, 4.0], 0), ([9.0, 5.0, 1.0], 1)] {
            let mut s = Search::of_region(4);
            for _ in 0..12 {
                let plan = s.plan();
                assert!(!plan.profile);
                s.done(
                    plan.choice,
                    1,
                    1e-3 * times[match plan.choice.threads {
                        0 => 0,
                        2 => 1,
                        _ => 2,
                    }],
                );
            }
            assert_eq!(s.settled(), Some(Choice { deal: Deal::Given, threads: best }));
        }
    }

    #[test]
    fn a_hopeless_trial_is_not_repeated() {
        let mut s = Search::new(2, Schedule::new(Kind::Dynamic, 1), ALL);
        let mut tried = 0;
        for _ in 0..10 {
            let plan = s.plan();
            tried += u32::from(plan.choice.threads == 1);
            assert!(plan.choice == Choice::GIVEN || plan.limit.is_some());
            s.done(plan.choice, 10, if plan.choice.threads == 1 { 9e-6 } else { 1e-6 });
        }
        assert_eq!((s.settled(), tried), (Some(Choice::GIVEN), 1));
    }

    #[test]
    fn nothing_to_change_is_settled_from_the_start() {
        let none = May { schedule: false, threads: false };
        assert_eq!(Search::new(2, Schedule::BLOCKS, none).settled(), Some(Choice::GIVEN));
        assert_eq!(Search::new(1, Schedule::BLOCKS, ALL).settled(), Some(Choice::GIVEN));
    }

    #[test]
    fn a_kept_choice_searches_nothing_unless_it_may_not_be_made() {
        let c: Choice = "dynamic,N/8".parse().unwrap();
        let mut m = skewed("dynamic");
        let usual = m.time(c) / 1000.0;
        let mut s = Search::with_choice(2, m.given, ALL, c, usual);
        for _ in 0..20 {
            m.execute(&mut s);
        }
        assert_eq!((s.settled(), s.searched()), (Some(c), 0));
        let only_threads = May { schedule: false, threads: true };
        assert_eq!(Search::with_choice(2, m.given, only_threads, c, usual).settled(), None);
        assert_eq!(Search::with_choice(2, m.given, ALL, Choice { threads: 4, ..c }, usual).settled(), None);
    }
}
