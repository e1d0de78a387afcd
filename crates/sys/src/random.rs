//! Random numbers: SplitMix64 (Steele, Lea, Flood 2014). A stream depends on its seed alone.

/// From a number's seed to the next one's.
pub const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A bit mixer: a stream's first number, if `x` is its seed.
#[inline]
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(STEP);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// A stream.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// The one that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next of all 64-bit numbers.
    pub fn number(&mut self) -> u64 {
        let x = mix(self.0);
        self.skip(1);
        x
    }

    /// The next one below `n`; 0 if `n` is.
    pub fn below(&mut self, n: u64) -> u64 {
        self.number() % n.max(1)
    }

    /// Exponentially distributed with the given mean, at least 1.
    pub fn exponential(&mut self, mean: f64) -> u64 {
        let u = ((self.number() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        (-libm::log(u) * mean).max(1.0) as u64
    }

    /// Trials until the first success, with it, where each succeeds with probability `p`.
    pub fn trials(&mut self, p: f64) -> u64 {
        let u = ((self.number() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        // From p = 1 on: 0 by minus infinity.
        1 + (libm::log(u) / libm::log1p(-p.min(1.0))) as u64
    }

    /// Past the next `n` numbers.
    pub fn skip(&mut self, n: u64) {
        self.0 = self.0.wrapping_add(n.wrapping_mul(STEP));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authors_numbers() {
        let mut r = Random::new(1_234_567);
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first.map(|_| r.number()), first);
    }

    #[test]
    fn skipping_is_drawing() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        a.skip(5);
        for _ in 0..5 {
            b.number();
        }
        assert_eq!(a.number(), b.number());
    }

    #[test]
    fn means() {
        let mut r = Random::new(1);
        let sum: u64 = (0..100_000).map(|_| r.exponential(1000.0)).sum();
        assert!((95_000_000..105_000_000).contains(&sum), "{sum}");
        assert_eq!(r.below(0), 0);
        let sum: u64 = (0..100_000).map(|_| r.trials(0.05)).sum();
        assert!((1_900_000..2_100_000).contains(&sum), "{sum}");
        let firsts = (0..100_000).filter(|_| r.trials(0.05) == 1).count();
        assert!((4_700..5_300).contains(&firsts), "{firsts}");
        assert!((0..1000).all(|_| r.trials(1.0) == 1));
    }
}
