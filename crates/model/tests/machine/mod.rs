//! A machine that exists in numbers only: threads execute loops whose every iteration's cost is known, chunks
//! are handed out as the runtime does it, and what disturbs it comes from a seed. What the tuner decides on
//! it depends on nothing else.
//!
//! - A chunk that a static schedule gives costs a few nanoseconds; one from the dispenser the way of its
//!   cache line, where another thread had it last, and who comes meanwhile waits. Loops of many chunks have
//!   batches (crates/omp/src/work/batch.rs): of a thread's own batch a chunk is cheap, and who finds nothing
//!   left takes half of another's.
//! - The line's way is 40, 100 or 400 ns, and changes every 0.2 s.
//! - A thread's CPU may be taken away: for a while now and then, or half of the time.
//! - Executions differ by some per cent, each thread's part by itself.

#![allow(dead_code)]

use promp_model::choice::{Choice, Deal};
use promp_model::doall::Overheads;
use promp_model::search::{Plan, Search};
use promp_model::{Kind, Profile, Schedule};

/// Seconds.
const STATIC_CHUNK: f64 = 4e-9;
const BATCHED_CHUNK: f64 = 9e-9;
const STAMP: f64 = 25e-9;
const CPU_CLOCK: f64 = 250e-9;
const LEAVING: f64 = 30e-9;
/// Loops that take longer are profiled by CPU clocks (crates/omp/src/work/tune/site_table.rs).
const BY_CPU: f64 = 500e-6;
/// Chunks above which a trial is not cut short (crates/omp/src/work/tune/deal.rs).
const FEW: u64 = 64;
const LINES: [f64; 3] = [40e-9, 100e-9, 400e-9];

pub(crate) struct Seeded(pub u64);

impl Seeded {
    /// In [0, 1).
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as f64) / (1u64 << 31) as f64
    }
}

/// What disturbs executions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    pub name: &'static str,
    /// By what part executions, and threads' parts of them, differ.
    pub jitter: f64,
    /// A CPU is taken away for so long, every so often (the latter half of it at random).
    pub stolen: f64,
    pub every: f64,
    /// Thread 0 has its CPU for so long, and then not for so long.
    pub competitor: f64,
}

pub(crate) const NOISES: [Noise; 4] = [
    Noise { name: "quiet", jitter: 0.005, stolen: 0.0, every: 0.0, competitor: 0.0 },
    Noise { name: "busy", jitter: 0.02, stolen: 100e-6, every: 5e-3, competitor: 0.0 },
    Noise { name: "crowded", jitter: 0.03, stolen: 1e-3, every: 8e-3, competitor: 0.0 },
    Noise { name: "competitor", jitter: 0.01, stolen: 0.0, every: 0.0, competitor: 2e-3 },
];

/// When a thread's CPU is taken away.
struct Thefts {
    seed: Seeded,
    noise: Noise,
    /// The next one: from, to.
    next: (f64, f64),
    has_competitor: bool,
}

impl Thefts {
    fn new(noise: Noise, thread: usize, seed: u64) -> Self {
        let seed = Seeded(seed ^ (thread as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let none = (f64::INFINITY, f64::INFINITY);
        let mut t = Self { seed, noise, next: none, has_competitor: thread == 0 && noise.competitor > 0.0 };
        t.further(0.0);
        t
    }

    fn further(&mut self, now: f64) {
        if self.has_competitor {
            let begin = now + self.noise.competitor * (0.8 + 0.4 * self.seed.next());
            self.next = (begin, begin + self.noise.competitor * (0.8 + 0.4 * self.seed.next()));
        } else if self.noise.stolen > 0.0 {
            let begin = now + self.noise.every * (0.5 + self.seed.next());
            self.next = (begin, begin + self.noise.stolen * (0.5 + self.seed.next()));
        }
    }

    /// When `work` that is begun at `from` is done.
    fn done(&mut self, from: f64, work: f64) -> f64 {
        let (mut at, mut left) = (from, work);
        loop {
            while self.next.1 <= at {
                self.further(self.next.1);
            }
            if at >= self.next.0 {
                at = self.next.1;
                continue;
            }
            if at + left <= self.next.0 {
                return at + left;
            }
            left -= self.next.0 - at;
            at = self.next.1;
        }
    }
}

/// A loop: what its iterations cost, added up, in each of several executions that are different.
pub(crate) struct Work {
    pub name: String,
    sums: Vec<Vec<f64>>,
    /// Which of them an execution is like.
    like: fn(u64, usize) -> usize,
    /// Iterations cost so many times as much in a thread that is not the one of a static schedule: their data
    /// are with that one.
    pub far: f64,
    /// Likewise in a thread that is not the one of the execution before: they are in that one's cache.
    pub moved: f64,
}

impl Work {
    pub(crate) fn new(name: &str, costs: Vec<Vec<f64>>, like: fn(u64, usize) -> usize) -> Self {
        let sums = costs.iter().map(|c| {
            let add = |s: &mut f64, x: &f64| {
                *s += x;
                Some(*s)
            };
            core::iter::once(0.0).chain(c.iter().scan(0.0, add)).collect()
        });
        Self { name: name.into(), sums: sums.collect(), like, far: 1.0, moved: 1.0 }
    }

    pub(crate) fn total(&self) -> u64 {
        self.sums[0].len() as u64 - 1
    }
}

pub(crate) struct Machine {
    p: usize,
    now: f64,
    seed: Seeded,
    noise: Noise,
    thefts: Vec<Thefts>,
    executions: u64,
    /// Who has executed each iteration last.
    had: Vec<u8>,
}

/// How an execution went.
struct Went {
    took: f64,
    /// (first, behind the last, its time, the time by CPU clock), of a profiled one.
    chunks: Vec<(u64, u64, f64, f64)>,
    dispatch: f64,
}

/// How chunks are handed out.
enum Dealing {
    Blocks,
    RoundRobin,
    One,
    Batches(Vec<(u64, u64)>),
    Guided,
}

impl Machine {
    pub(crate) fn new(p: usize, noise: Noise, seed: u64) -> Self {
        let thefts = (0..p).map(|t| Thefts::new(noise, t, seed)).collect();
        Self { p, now: 0.0, seed: Seeded(seed), noise, thefts, executions: 0, had: vec![] }
    }

    /// So many executions are over: phases are those of that time.
    pub(crate) fn at_execution(mut self, n: u64) -> Self {
        self.executions = n;
        self
    }

    fn line(&self) -> f64 {
        LINES[((self.now / 0.2) as usize * 7 / 3) % LINES.len()]
    }

    /// Executes by a schedule. `limit`: from when on a trial's chunks are fine ones.
    fn execute(&mut self, w: &Work, s: Schedule, limit: f64, profiled: Option<f64>) -> Went {
        let (n, p) = (w.total(), self.p as u64);
        let sums = &w.sums[(w.like)(self.executions, w.sums.len())];
        let line = self.line();
        let whole = 1.0 + self.noise.jitter * (self.seed.next() - 0.5);
        let jitter: Vec<f64> =
            (0..self.p).map(|_| whole * (1.0 + self.noise.jitter * (self.seed.next() - 0.5))).collect();
        let began = self.now;
        // The threads are told one after the other.
        let mut at: Vec<f64> =
            (0..self.p).map(|t| began + t as f64 * line * (1.5 + self.seed.next())).collect();
        let mut went = Went { took: 0.0, chunks: vec![], dispatch: 0.0 };
        let clock = profiled.unwrap_or(0.0);
        let chunk = s.chunk.max(1);
        let watched = profiled.is_some() || limit.is_finite() && n / chunk <= FEW;
        let mut dealing = match s.kind {
            Kind::Static if s.chunk == 0 => Dealing::Blocks,
            Kind::Static => Dealing::RoundRobin,
            Kind::Guided => Dealing::Guided,
            Kind::Dynamic if n / chunk > 8 * p && !watched => Dealing::Batches(vec![(0, 0); self.p]),
            Kind::Dynamic => Dealing::One,
        };
        // The dispenser: what it stands at, when it is free, who had it last.
        let (mut next, mut free, mut last) = (0u64, began, 0);
        let mut trips = vec![0u64; self.p];
        let mut done = vec![false; self.p];
        let (mut dispatched, mut dispatches) = (0.0, 0u32);
        while let Some(t) = (0..self.p).filter(|t| !done[*t]).min_by(|a, b| at[*a].total_cmp(&at[*b])) {
            let asked = at[t];
            let mut visit = |at: &mut f64| {
                let way = if last == t { STATIC_CHUNK } else { line };
                *at = at.max(free) + way;
                (free, last) = (*at, t);
            };
            let taken = match &mut dealing {
                Dealing::Blocks => {
                    let (q, rest, num) = (n / p, n % p, t as u64);
                    let lo = num * q + num.min(rest);
                    at[t] += STATIC_CHUNK;
                    (trips[t] == 0).then(|| (lo, lo + q + u64::from(num < rest)))
                }
                Dealing::RoundRobin => {
                    let lo = (trips[t] * p + t as u64) * chunk;
                    at[t] += STATIC_CHUNK;
                    (lo < n).then(|| (lo, (lo + chunk).min(n)))
                }
                Dealing::One | Dealing::Guided => {
                    visit(&mut at[t]);
                    let late = at[t] - began > limit;
                    let size = match dealing {
                        _ if late => (n / (64 * p)).max(1).min(chunk),
                        Dealing::Guided => (n - next.min(n)).div_ceil(p).max(chunk),
                        _ => chunk,
                    };
                    let lo = next;
                    next = (next + size).min(n);
                    (lo < n).then_some((lo, next))
                }
                Dealing::Batches(own) => {
                    if own[t].0 == own[t].1 {
                        let many = ((n - next.min(n)) / (2 * p * chunk)).clamp(1, 64);
                        if next < n {
                            visit(&mut at[t]);
                            own[t] = (next, (next + many * chunk).min(n));
                            next = own[t].1;
                        } else if let Some(v) =
                            (1..self.p).map(|i| (t + i) % self.p).find(|v| own[*v].1 - own[*v].0 > 0)
                        {
                            // Half of it, from the end.
                            let chunks = (own[v].1 - own[v].0).div_ceil(chunk);
                            let cut = own[v].0 + (chunks - chunks.div_ceil(2)) * chunk;
                            own[t] = (cut, own[v].1);
                            own[v].1 = cut;
                            at[t] += line;
                        }
                    }
                    at[t] += BATCHED_CHUNK;
                    let lo = own[t].0;
                    (lo < own[t].1).then(|| {
                        own[t].0 = (lo + chunk).min(own[t].1);
                        (lo, own[t].0)
                    })
                }
            };
            trips[t] += 1;
            if profiled.is_some() {
                dispatched += at[t] - asked + clock;
                dispatches += 1;
                at[t] += 2.0 * clock;
            } else if watched {
                at[t] += STAMP;
            }
            let Some((lo, hi)) = taken else {
                done[t] = true;
                continue;
            };
            let far = if w.far > 1.0 && (lo + hi) / 2 * p / n != t as u64 { w.far } else { 1.0 };
            let mut cost = sums[hi as usize] - sums[lo as usize];
            if w.moved > 1.0 {
                self.had.resize(n as usize, 0);
                for i in lo as usize..hi as usize {
                    if core::mem::replace(&mut self.had[i], t as u8) != t as u8 {
                        cost += (w.moved - 1.0) * (sums[i + 1] - sums[i]);
                    }
                }
            }
            let work = cost * jitter[t] * far;
            let from = at[t];
            at[t] = self.thefts[t].done(from, work);
            if profiled.is_some() {
                went.chunks.push((lo, hi, at[t] - from + clock, work + clock));
            }
        }
        let end = at.iter().copied().fold(0.0, f64::max) + LEAVING;
        went.took = end - began;
        went.dispatch = dispatched / f64::from(dispatches.max(1));
        // What the program does between its loops.
        self.now = end + 1e-6;
        self.executions += 1;
        went
    }

    /// The time of an execution by a schedule.
    pub(crate) fn time(&mut self, w: &Work, s: Schedule) -> f64 {
        self.execute(w, s, f64::INFINITY, None).took
    }
}

/// A call site, as crates/omp/src/work/tune/site_table.rs has it.
pub(crate) struct Site {
    pub search: Search,
    given: Schedule,
    executions: u64,
    due: u64,
    took: f64,
    /// A trial, and how many executions by it come before the one that is measured.
    warms: Option<(Plan, u32)>,
    pub changes: Vec<Choice>,
}

impl Site {
    pub(crate) fn new(search: Search, given: Schedule) -> Self {
        Self { search, given, executions: 0, due: 0, took: 0.0, warms: None, changes: vec![] }
    }

    /// The program executes the loop; how long it takes.
    pub(crate) fn execute(&mut self, m: &mut Machine, w: &Work) -> f64 {
        let (n, p) = (w.total(), m.p as u32);
        let settled = self.search.settled();
        let each = self.search.interval() == 1;
        let count = self.executions;
        self.executions += 1;
        let warms = self.warms.take();
        if let Some((plan, left @ 1..)) = warms {
            self.warms = Some((plan, left - 1));
            return m.time(w, plan.choice.schedule(n, self.given, p));
        }
        if warms.is_none()
            && let Some(c) = settled
            && (self.search.is_fixed() || !each && count < self.due)
        {
            return m.time(w, c.schedule(n, self.given, p));
        }
        let plan: Plan = warms.map_or_else(|| self.search.plan(), |w| w.0);
        if warms.is_none() && plan.warm > 0 {
            self.warms = Some((plan, plan.warm - 1));
            return m.time(w, plan.choice.schedule(n, self.given, p));
        }
        let took = if plan.profile {
            let fine = Choice { deal: Deal::Dynamic { parts: 64 * p }, threads: 0 };
            let by_cpu = self.took > BY_CPU;
            let clock = if by_cpu { CPU_CLOCK } else { STAMP };
            let went = m.execute(w, fine.schedule(n, self.given, p), f64::INFINITY, Some(clock));
            // The clock's own time is known.
            let known = |c: &(u64, u64, f64, f64)| (c.0, c.1, if by_cpu { c.3 } else { c.2 } - clock);
            let profile = Profile::from_chunks(n, 32, went.chunks.iter().map(known));
            let dispatch = (went.dispatch - clock).max(0.0);
            let costs = Overheads { dispatch, scatter: 0.1, ..Overheads::default() };
            self.search.profiled(&profile, &costs, &vec![1.0; m.p]);
            went.took
        } else {
            let limit = plan.limit.map_or(f64::INFINITY, |l| l * n as f64);
            let took = m.execute(w, plan.choice.schedule(n, self.given, p), limit, None).took;
            self.search.done(plan.choice, n, took);
            took
        };
        self.took = took;
        self.due = self.executions + self.search.interval() - 1;
        if let Some(c) = self.search.settled()
            && self.changes.last() != Some(&c)
        {
            self.changes.push(c);
        }
        took
    }
}
