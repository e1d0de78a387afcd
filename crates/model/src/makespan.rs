//! Carries a schedule out on a profile: what each thread has to do, and when the last one is done.
//!
//! Exact for the given costs: the same chunks go to the same threads as in a run in which every iteration
//! takes what the profile says. Static schedules are sums. Dynamic and guided ones go by time: a chunk goes
//! to the thread that is free first. Where many chunks cost the same they are dealt at once: n equal chunks
//! begin at the n earliest of the times r_i + k · d_i (thread i is free at r_i and takes d_i for each), which
//! a bisection finds. So a loop of a thousand million chunks costs no more than one of a thousand.

use crate::{Kind, Profile, Schedule};

/// What a schedule comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Loads {
    /// Until when each thread works, dispatching included.
    pub ends: Vec<f64>,
    /// The variance of each.
    pub variances: Vec<f64>,
    /// How many chunks were dealt.
    pub chunks: u64,
}

impl Loads {
    /// When the last thread is done.
    pub fn makespan(&self) -> f64 {
        self.ends.iter().copied().fold(0.0, f64::max)
    }

    /// The mean of the threads' times.
    pub fn mean(&self) -> f64 {
        self.ends.iter().sum::<f64>() / self.ends.len().max(1) as f64
    }

    /// The makespan's expected value and standard deviation, with costs that scatter: the largest of several
    /// times that scatter is larger than each one's mean (Clark's formulas for the maximum of normal
    /// variables, one thread after the other).
    pub fn expected(&self) -> (f64, f64) {
        let pairs = self.ends.iter().copied().zip(self.variances.iter().copied());
        let (mean, variance) = pairs.reduce(larger).unwrap_or((0.0, 0.0));
        (mean.max(self.makespan()), variance.max(0.0).sqrt())
    }
}

/// Mean and variance of the larger of two independent normal variables.
fn larger((m1, v1): (f64, f64), (m2, v2): (f64, f64)) -> (f64, f64) {
    let a = (v1 + v2).sqrt();
    if a <= 1e-12 * (m1.abs() + m2.abs()) {
        return if m1 >= m2 { (m1, v1) } else { (m2, v2) };
    }
    let x = (m1 - m2) / a;
    let density = libm::exp(-x * x / 2.0) / (2.0 * core::f64::consts::PI).sqrt();
    let (p, q) = (normal(x), normal(-x));
    let mean = m1 * p + m2 * q + a * density;
    let square = (m1 * m1 + v1) * p + (m2 * m2 + v2) * q + (m1 + m2) * a * density;
    (mean, (square - mean * mean).max(0.0))
}

/// The normal distribution function (Abramowitz and Stegun, 26.2.17; error below 10⁻⁷).
fn normal(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - normal(-x);
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    1.0 - libm::exp(-x * x / 2.0) / (2.0 * core::f64::consts::PI).sqrt() * series
}

/// Deals the iterations of `profile` to threads of these speeds (1: a whole CPU, 0.5: half of one).
/// `dispatch` is what it costs a thread to get a chunk.
pub fn loads(profile: &Profile, schedule: Schedule, speeds: &[f64], dispatch: f64) -> Loads {
    let p = speeds.len().max(1);
    let mut d = Dealing {
        profile,
        speeds,
        dispatch,
        loads: Loads { ends: vec![0.0; p], variances: vec![0.0; p], chunks: 0 },
    };
    match schedule {
        Schedule { kind: Kind::Static, chunk: 0 } => d.blocks(),
        Schedule { kind: Kind::Static, chunk } => d.round_robin(chunk),
        Schedule { kind: Kind::Dynamic, chunk } => d.dynamic(0, chunk.max(1)),
        Schedule { kind: Kind::Guided, chunk } => d.guided(chunk.max(1)),
    }
    if schedule.kind != Kind::Static {
        d.spread_variance();
    }
    d.loads
}

struct Dealing<'a> {
    profile: &'a Profile,
    speeds: &'a [f64],
    dispatch: f64,
    loads: Loads,
}

impl Dealing<'_> {
    fn threads(&self) -> usize {
        self.loads.ends.len()
    }

    fn speed(&self, thread: usize) -> f64 {
        self.speeds.get(thread).copied().unwrap_or(1.0).max(1e-9)
    }

    /// `thread` executes `times` chunks like [lo, hi).
    fn give(&mut self, thread: usize, lo: u64, hi: u64, times: u64) {
        let (speed, n) = (self.speed(thread), times as f64);
        self.loads.ends[thread] += n * (self.profile.cost(lo, hi) / speed + self.dispatch);
        self.loads.variances[thread] += n * self.profile.variance(lo, hi) / (speed * speed);
        self.loads.chunks += times;
    }

    /// Static without a chunk: the first N mod p threads have one iteration more.
    fn blocks(&mut self) {
        let (n, p) = (self.profile.total(), self.threads() as u64);
        let (q, rest) = (n / p, n % p);
        for i in 0..p {
            let lo = i * q + i.min(rest);
            let hi = lo + q + u64::from(i < rest);
            if lo < hi {
                self.give(i as usize, lo, hi, 1);
            }
        }
    }

    /// Static with a chunk. Rounds within a bucket are all alike.
    fn round_robin(&mut self, chunk: u64) {
        let (total, p) = (self.profile.total(), self.threads() as u64);
        let round = chunk.saturating_mul(p);
        let mut lo = 0u64;
        let mut thread = 0;
        while lo < total {
            if thread == 0 {
                let left = self.profile.start(self.profile.bucket_of(lo) + 1) - lo;
                let rounds = left / round;
                if rounds > 0 {
                    (0..self.threads()).for_each(|i| self.give(i, lo, lo + chunk, rounds));
                    lo += rounds * round;
                    continue;
                }
            }
            let hi = lo.saturating_add(chunk).min(total);
            self.give(thread, lo, hi, 1);
            thread = (thread + 1) % self.threads();
            lo = hi;
        }
    }

    /// The thread that is free first.
    fn first_free(&self) -> usize {
        let ends = &self.loads.ends;
        (1..ends.len()).fold(0, |best, i| if ends[i] < ends[best] { i } else { best })
    }

    /// Dynamic, from iteration `lo` on. Chunks within a bucket are all alike.
    fn dynamic(&mut self, mut lo: u64, chunk: u64) {
        let total = self.profile.total();
        while lo < total {
            let alike = (self.profile.start(self.profile.bucket_of(lo) + 1) - lo) / chunk;
            if alike > 4 * self.threads() as u64 {
                self.equal(lo, lo + chunk, alike);
                lo += alike * chunk;
            } else {
                let hi = lo.saturating_add(chunk).min(total);
                self.give(self.first_free(), lo, hi, 1);
                lo = hi;
            }
        }
    }

    /// `n` chunks like [lo, hi), first come, first served.
    fn equal(&mut self, lo: u64, hi: u64, n: u64) {
        let cost = self.profile.cost(lo, hi);
        let each: Vec<f64> = (0..self.threads()).map(|i| cost / self.speed(i) + self.dispatch).collect();
        let least = self.loads.ends.iter().copied().fold(f64::INFINITY, f64::min);
        if each.iter().any(|d| *d <= least.abs() * 1e-13) {
            // They cost nothing.
            self.give(0, lo, hi, n);
            return;
        }
        // How many each thread begins until `level`.
        let begun = |ends: &[f64], level: f64| -> Vec<u64> {
            let count = |(r, d): (&f64, &f64)| if *r > level { 0 } else { ((level - r) / d) as u64 + 1 };
            ends.iter().zip(&each).map(count).collect()
        };
        let sum = |v: &[u64]| v.iter().fold(0u64, |a, b| a.saturating_add(*b));
        let most = self.loads.ends.iter().copied().fold(0.0, f64::max);
        let (mut low, mut high) =
            (least - each[0], most + n as f64 * each.iter().copied().fold(0.0, f64::max));
        for _ in 0..100 {
            let middle = low + (high - low) / 2.0;
            if sum(&begun(&self.loads.ends, middle)) <= n { low = middle } else { high = middle }
        }
        let counts = begun(&self.loads.ends, low);
        let mut rest = n - sum(&counts).min(n);
        for (i, count) in counts.into_iter().enumerate() {
            self.give(i, lo, hi, count);
        }
        while rest > 0 {
            // As many begin at the same time.
            self.give(self.first_free(), lo, hi, 1);
            rest -= 1;
        }
    }

    /// Guided: ceil(left / p), not less than `chunk`.
    fn guided(&mut self, chunk: u64) {
        let (total, p) = (self.profile.total(), self.threads() as u64);
        let mut lo = 0;
        while lo < total {
            let size = (total - lo).div_ceil(p);
            if size <= chunk {
                return self.dynamic(lo, chunk);
            }
            self.give(self.first_free(), lo, lo + size, 1);
            lo += size;
        }
    }

    /// Where chunks are dealt by time, what one takes longer the others take over: all have the mean's
    /// variance.
    fn spread_variance(&mut self) {
        let p = self.threads() as f64;
        let variance = self.loads.variances.iter().sum::<f64>() / (p * p);
        self.loads.variances.fill(variance);
        // They are not independent then, and the largest is no larger than the mean by this: only the first
        // one keeps it.
        self.loads.variances.iter_mut().skip(1).for_each(|v| *v = 0.0);
        // The one that ends last carries the variance.
        let last =
            (1..self.threads()).fold(0, |b, i| if self.loads.ends[i] > self.loads.ends[b] { i } else { b });
        self.loads.variances.swap(0, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dealt(p: &Profile, s: &str, threads: usize) -> Loads {
        loads(p, s.parse().unwrap(), &vec![1.0; threads], 0.0)
    }

    #[test]
    fn by_hand() {
        // 8 iterations of 1, 1, 1, 1, 3, 3, 3, 3.
        let p = Profile::new(8, &[(1.0, 0.0), (3.0, 0.0)]);
        assert_eq!(dealt(&p, "static", 2).ends, [4.0, 12.0]);
        assert_eq!(dealt(&p, "static,1", 2).ends, [8.0, 8.0]);
        assert_eq!(dealt(&p, "static,3", 2).ends, [3.0 + 6.0, 7.0]);
        // Dynamic, chunks of 3: [1 1 1] [1 3 3] [3 3]: 3 | 7 | the first takes the third: 9.
        assert_eq!(dealt(&p, "dynamic,3", 2).ends, [9.0, 7.0]);
        // Guided: 4 (4), 2 (6), 1, 1: thread 0 until 4, 7; thread 1 until 6, 9.
        assert_eq!(dealt(&p, "guided", 2).ends, [7.0, 9.0]);
        assert_eq!(dealt(&p, "guided", 2).chunks, 4);
        // A thread with half a CPU.
        let half = loads(&p, "static".parse().unwrap(), &[1.0, 0.5], 0.0);
        assert_eq!(half.ends, [4.0, 24.0]);
        // Each chunk costs 1 to get.
        assert_eq!(loads(&p, "dynamic,4".parse().unwrap(), &[1.0; 2], 1.0).ends, [5.0, 13.0]);
        assert_eq!(dealt(&Profile::uniform(0, 1.0), "dynamic", 3).ends, [0.0; 3]);
    }

    #[test]
    fn many_chunks_cost_no_more_than_few() {
        let p = Profile::uniform(4_000_000_000_000, 1e-12);
        let l = loads(&p, "dynamic,1".parse().unwrap(), &[1.0; 4], 0.0);
        assert!((l.makespan() - 1.0).abs() < 1e-6 && l.chunks == p.total());
        let l = loads(&p, "static,1".parse().unwrap(), &[1.0; 4], 0.0);
        assert!((l.makespan() - 1.0).abs() < 1e-9 && l.chunks == p.total());
    }

    #[test]
    fn the_largest_of_equals_is_larger() {
        // Two independent normal variables of deviation 1: 1/√π more.
        let l = Loads { ends: vec![10.0, 10.0], variances: vec![1.0, 1.0], chunks: 2 };
        assert!((l.expected().0 - 10.0 - 0.564_19).abs() < 1e-4, "{:?}", l.expected());
        let l = Loads { ends: vec![10.0, 1.0], variances: vec![0.04, 0.0], chunks: 2 };
        assert!((l.expected().0 - 10.0).abs() < 1e-9 && (l.expected().1 - 0.2).abs() < 1e-9);
    }

    /// Chunk by chunk.
    fn plainly(p: &Profile, chunk: u64, speeds: &[f64], dispatch: f64) -> f64 {
        let mut ends = vec![0.0; speeds.len()];
        let mut lo = 0;
        while lo < p.total() {
            let hi = (lo + chunk).min(p.total());
            let i = (1..ends.len()).fold(0, |b, i| if ends[i] < ends[b] { i } else { b });
            ends[i] += p.cost(lo, hi) / speeds[i] + dispatch;
            lo = hi;
        }
        ends.into_iter().fold(0.0, f64::max)
    }

    fn profile() -> impl Strategy<Value = Profile> {
        (1u64..3000, proptest::collection::vec(0.1..5.0f64, 1..64))
            .prop_map(|(n, r)| Profile::new(n, &r.iter().map(|r| (*r, 0.01)).collect::<Vec<_>>()))
    }

    fn any_schedule() -> impl Strategy<Value = Schedule> {
        (prop_oneof![Just(Kind::Static), Just(Kind::Dynamic), Just(Kind::Guided)], 0u64..200)
            .prop_map(|(k, c)| Schedule::new(k, c))
    }

    proptest! {
        #[test]
        fn equal_chunks_dealt_at_once_end_as_one_by_one(
            p in profile(),
            chunk in 1u64..40,
            speeds in proptest::collection::vec(0.25..1.0f64, 1..9),
            dispatch in 0.0..0.5f64,
        ) {
            let quick = loads(&p, Schedule::new(Kind::Dynamic, chunk), &speeds, dispatch).makespan();
            let slow = plainly(&p, chunk, &speeds, dispatch);
            prop_assert!((quick - slow).abs() <= 1e-6 * slow + 1e-9, "{} {}", quick, slow);
        }

        #[test]
        fn bounds_hold(p in profile(), s in any_schedule(), threads in 1usize..17) {
            let l = loads(&p, s, &vec![1.0; threads], 0.0);
            let slack = 1e-9 * p.sum();
            // Everything is done once.
            prop_assert!((l.ends.iter().sum::<f64>() - p.sum()).abs() <= slack);
            prop_assert!(l.makespan() >= p.sum() / threads as f64 - slack);
            prop_assert!(l.makespan() >= p.longest() - slack);
            prop_assert!(l.makespan() <= p.sum() + slack);
            prop_assert!(l.expected().0 >= l.makespan());
            if s.kind == Kind::Dynamic {
                // Graham: at most the mean and one chunk more.
                let chunk = s.chunk.max(1) as f64 * p.longest();
                prop_assert!(l.makespan() <= p.sum() / threads as f64 + chunk + slack);
            }
        }

        #[test]
        fn one_thread_does_it_all(p in profile(), s in any_schedule()) {
            prop_assert!((loads(&p, s, &[1.0], 0.0).makespan() - p.sum()).abs() <= 1e-9 * p.sum());
        }

        #[test]
        fn static_chunks_are_exact_sums(p in profile(), chunk in 1u64..100, threads in 1usize..9) {
            let l = loads(&p, Schedule::new(Kind::Static, chunk), &vec![1.0; threads], 0.0);
            let mut sums = vec![0.0; threads];
            for (i, lo) in (0..p.total()).step_by(chunk as usize).enumerate() {
                sums[i % threads] += p.cost(lo, (lo + chunk).min(p.total()));
            }
            for (a, b) in l.ends.iter().zip(&sums) {
                prop_assert!((a - b).abs() <= 1e-9 * p.sum(), "{:?} {:?}", l.ends, sums);
            }
        }
    }
}
