//! The profile of a loop: what its iterations cost, along the iteration space.
//!
//! The space 0..N is cut into equal *buckets*. In a bucket an iteration costs the same everywhere, with a
//! variance. Costs come from chunks that were timed: a chunk's time is spread over the buckets that it lies
//! in. A bucket in which nothing was timed costs what the others do on average.

/// More buckets do not pay: their number is a profile's resolution, and each of them must be timed.
pub const MOST_BUCKETS: usize = 64;

/// See the module's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    total: u64,
    /// A bucket's cost of an iteration, and its variance.
    buckets: Vec<(f64, f64)>,
    /// Cost of everything before a bucket.
    before: Vec<f64>,
    /// Variance of everything before a bucket.
    doubt: Vec<f64>,
}

impl Profile {
    /// `total` iterations with these costs and variances of one iteration, a bucket each. There are not more
    /// buckets than iterations.
    pub fn new(total: u64, buckets: &[(f64, f64)]) -> Self {
        let n = buckets.len().clamp(1, MOST_BUCKETS).min(total.max(1) as usize);
        let mut buckets: Vec<_> = buckets.iter().copied().take(n).collect();
        buckets.resize(n, (0.0, 0.0));
        let mut p =
            Self { total, buckets, before: Vec::with_capacity(n + 1), doubt: Vec::with_capacity(n + 1) };
        let (mut cost, mut variance) = (0.0, 0.0);
        for i in 0..n {
            p.before.push(cost);
            p.doubt.push(variance);
            let len = (p.start(i + 1) - p.start(i)) as f64;
            cost += p.buckets[i].0 * len;
            variance += p.buckets[i].1 * len;
        }
        p.before.push(cost);
        p.doubt.push(variance);
        p
    }

    /// `total` iterations of `cost` each.
    pub fn uniform(total: u64, cost: f64) -> Self {
        Self::new(total, &[(cost, 0.0)])
    }

    /// From timed chunks: (first iteration, behind the last, seconds).
    pub fn from_chunks(
        total: u64,
        buckets: usize,
        chunks: impl IntoIterator<Item = (u64, u64, f64)>,
    ) -> Self {
        let mut sums = Sums::default();
        sums.begin(total, buckets);
        chunks.into_iter().for_each(|(lo, hi, seconds)| sums.add(lo, hi, seconds));
        Self::from_sums([&sums])
    }

    /// From what several threads have added up, of the same loop.
    pub fn from_sums<'a>(all: impl IntoIterator<Item = &'a Sums>) -> Self {
        let mut both = Sums::default();
        for s in all {
            if both.buckets == 0 {
                (both.total, both.buckets) = (s.total, s.buckets);
            }
            for (a, b) in both.sums.iter_mut().zip(&s.sums) {
                *a = (a.0 + b.0, a.1 + b.1, a.2 + b.2, a.3 + b.3);
            }
        }
        Self::new(both.total, &costs(&both.sums[..both.buckets]))
    }

    /// Number of iterations, N.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of buckets.
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Has it no iteration?
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The cost of an iteration in bucket `i`.
    pub fn rate(&self, i: usize) -> f64 {
        self.buckets[i].0
    }

    /// The first iteration of bucket `i`; N for the one behind the last.
    pub fn start(&self, i: usize) -> u64 {
        start(self.total, self.buckets.len(), i)
    }

    /// The bucket that iteration `i` < N lies in.
    pub fn bucket_of(&self, i: u64) -> usize {
        bucket_of(self.total, self.buckets.len(), i)
    }

    /// The cost of iterations [lo, hi).
    pub fn cost(&self, lo: u64, hi: u64) -> f64 {
        self.between(lo, hi, &self.before, |b| b.0)
    }

    /// The variance of that cost.
    pub fn variance(&self, lo: u64, hi: u64) -> f64 {
        self.between(lo, hi, &self.doubt, |b| b.1)
    }

    fn between(&self, lo: u64, hi: u64, before: &[f64], of: impl Fn(&(f64, f64)) -> f64) -> f64 {
        if lo >= hi {
            return 0.0;
        }
        let (first, last) = (self.bucket_of(lo), self.bucket_of(hi - 1));
        if first == last {
            return (hi - lo) as f64 * of(&self.buckets[first]);
        }
        (self.start(first + 1) - lo) as f64 * of(&self.buckets[first])
            + (before[last] - before[first + 1])
            + (hi - self.start(last)) as f64 * of(&self.buckets[last])
    }

    /// The cost of all iterations: the serial time, ts.
    pub fn sum(&self) -> f64 {
        self.before[self.buckets.len()]
    }

    /// The most that one iteration costs.
    pub fn longest(&self) -> f64 {
        self.buckets.iter().map(|b| b.0).fold(0.0, f64::max)
    }

    /// The same with every time multiplied by `unit`.
    pub fn in_units_of(&self, unit: f64) -> Self {
        let scaled: Vec<_> = self.buckets.iter().map(|b| (b.0 * unit, b.1 * unit * unit)).collect();
        Self::new(self.total, &scaled)
    }

    /// The same shape over another number of iterations.
    pub fn resized(&self, total: u64) -> Self {
        Self::new(total, &self.buckets)
    }
}

fn start(total: u64, n: usize, i: usize) -> u64 {
    (u128::from(total) * i as u128 / n as u128) as u64
}

fn bucket_of(total: u64, n: usize, i: u64) -> usize {
    // The last bucket that starts at or before i.
    (((u128::from(i) + 1) * n as u128 - 1) / u128::from(total.max(1))) as usize
}

/// What a thread has timed of a loop, by bucket: without memory of its own, to be added to on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    total: u64,
    buckets: usize,
    /// Iterations timed, their time, Σ len · (cost of one)², samples.
    sums: [(f64, f64, f64, f64); MOST_BUCKETS],
}

impl Default for Sums {
    fn default() -> Self {
        Self { total: 0, buckets: 0, sums: [(0.0, 0.0, 0.0, 0.0); MOST_BUCKETS] }
    }
}

impl Sums {
    /// Begins anew, for `total` iterations.
    pub fn begin(&mut self, total: u64, buckets: usize) {
        *self = Self::default();
        self.total = total;
        self.buckets = buckets.clamp(1, MOST_BUCKETS).min(total.max(1) as usize);
    }

    /// Iterations [lo, hi) took `seconds`.
    pub fn add(&mut self, lo: u64, hi: u64, seconds: f64) {
        if lo >= hi || hi > self.total {
            return;
        }
        let (total, n) = (self.total, self.buckets);
        let one = seconds / (hi - lo) as f64;
        let last = bucket_of(total, n, hi - 1);
        for (i, s) in self.sums.iter_mut().enumerate().take(last + 1).skip(bucket_of(total, n, lo)) {
            let part = (hi.min(start(total, n, i + 1)) - lo.max(start(total, n, i))) as f64;
            *s = (s.0 + part, s.1 + part * one, s.2 + part * one * one, s.3 + 1.0);
        }
    }
}

/// Costs and variances of buckets from (iterations, time, Σ len · cost², samples).
fn costs(sums: &[(f64, f64, f64, f64)]) -> Vec<(f64, f64)> {
    let (all, time) = sums.iter().fold((0.0, 0.0), |(a, t), s| (a + s.0, t + s.1));
    let average = if all > 0.0 { time / all } else { 0.0 };
    let of = |&(len, time, squares, samples): &(f64, f64, f64, f64)| {
        if len <= 0.0 {
            return (average, average * average);
        }
        let mean = time / len;
        // The scatter of chunks' means is a chunk's length smaller than that of iterations.
        let scatter = (squares / len - mean * mean).max(0.0);
        let unbiased = if samples > 1.0 { samples / (samples - 1.0) } else { 1.0 };
        (mean, scatter * unbiased * (len / samples).max(1.0))
    };
    sums.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn costs_are_sums_of_buckets() {
        let p = Profile::new(10, &[(1.0, 0.0), (2.0, 0.5)]);
        assert_eq!((p.start(1), p.bucket_of(4), p.bucket_of(5), p.len()), (5, 0, 1, 2));
        assert_eq!((p.sum(), p.cost(0, 5), p.cost(4, 7), p.cost(9, 10)), (15.0, 5.0, 5.0, 2.0));
        assert_eq!((p.variance(0, 10), p.variance(4, 6)), (2.5, 0.5));
        assert_eq!((p.longest(), p.resized(20).sum()), (2.0, 30.0));
        assert_eq!(Profile::uniform(0, 1.0).sum(), 0.0);
    }

    #[test]
    fn timed_chunks_make_a_profile() {
        // 0..50 costs 1 an iteration, 50..100 costs 3; the second half of it was not timed.
        let p = Profile::from_chunks(100, 4, [(0, 25, 25.0), (25, 50, 25.0), (50, 75, 75.0), (80, 80, 9.0)]);
        assert_eq!((p.rate(0), p.rate(1), p.rate(2)), (1.0, 1.0, 3.0));
        assert!((p.rate(3) - 125.0 / 75.0).abs() < 1e-12);
        // A chunk over several buckets is spread over them.
        assert_eq!(Profile::from_chunks(8, 4, [(0, 8, 16.0)]), Profile::new(8, &[(2.0, 0.0); 4]));
        // Fewer iterations than buckets.
        assert_eq!(Profile::from_chunks(3, 64, [(0, 3, 3.0)]).len(), 3);
    }

    proptest! {
        #[test]
        fn buckets_cover_the_space(total in 1u64.., n in 1usize..=64, at: u64) {
            let p = Profile::new(total, &vec![(1.0, 0.0); n]);
            let i = at % total;
            let b = p.bucket_of(i);
            prop_assert!(p.start(b) <= i && i < p.start(b + 1), "{} in bucket {}", i, b);
            prop_assert_eq!((p.start(0), p.start(p.len())), (0, total));
        }

        #[test]
        fn parts_add_up(
            total in 1u64..10_000,
            rates in proptest::collection::vec(0.0..5.0f64, 1..64),
            cuts in proptest::collection::vec(any::<u64>(), 0..9),
        ) {
            let p = Profile::new(total, &rates.iter().map(|r| (*r, 0.0)).collect::<Vec<_>>());
            let mut cuts: Vec<u64> = cuts.iter().map(|c| c % (total + 1)).chain([0, total]).collect();
            cuts.sort_unstable();
            let parts: f64 = cuts.windows(2).map(|w| p.cost(w[0], w[1])).sum();
            prop_assert!((parts - p.sum()).abs() <= 1e-9 * p.sum().max(1.0));
        }
    }
}
