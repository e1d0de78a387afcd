//! A prediction with its interval.

/// How many standard deviations on both sides hold 90 % of a normal distribution.
pub const Z90: f64 = 1.6449;

/// A predicted time, and the interval that the measured one lies in nine times of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The expected value.
    pub mean: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

impl Estimate {
    /// Without any doubt.
    pub fn exact(mean: f64) -> Self {
        Self { mean, low: mean, high: mean }
    }

    /// With standard deviation `sd`. No time is negative.
    pub fn normal(mean: f64, sd: f64) -> Self {
        Self { mean, low: (mean - Z90 * sd).max(0.0), high: mean + Z90 * sd }
    }

    /// The sum of two that are independent of each other.
    pub fn plus(self, other: Self) -> Self {
        let mean = self.mean + other.mean;
        let low = libm::hypot(self.mean - self.low, other.mean - other.low);
        let high = libm::hypot(self.high - self.mean, other.high - other.mean);
        Self { mean, low: (mean - low).max(0.0), high: mean + high }
    }

    /// The product with a factor that has an interval of its own.
    pub fn times(self, factor: Self) -> Self {
        let mean = self.mean * factor.mean;
        let relative = |e: Self, edge: f64| if e.mean > 0.0 { (edge - e.mean) / e.mean } else { 0.0 };
        let low = libm::hypot(relative(self, self.low), relative(factor, factor.low));
        let high = libm::hypot(relative(self, self.high), relative(factor, factor.high));
        Self { mean, low: (mean * (1.0 - low)).max(0.0), high: mean * (1.0 + high) }
    }

    /// The interval `factor` times as wide on both sides.
    pub fn stretched(self, factor: f64) -> Self {
        let (below, above) = ((self.mean - self.low) * factor, (self.high - self.mean) * factor);
        Self { low: (self.mean - below).max(0.0), high: self.mean + above, ..self }
    }

    /// Is `time` in the interval?
    pub fn covers(self, time: f64) -> bool {
        self.low <= time && time <= self.high
    }

    /// P2's relative error: (model − measured) / measured.
    pub fn error(self, measured: f64) -> f64 {
        (self.mean - measured) / measured
    }

    /// Is it less than `other`, whatever the two turn out to be within their intervals?
    pub fn is_surely_less_than(self, other: Self) -> bool {
        self.high < other.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_carry_their_doubt() {
        let a = Estimate { mean: 10.0, low: 7.0, high: 13.0 };
        let b = Estimate { mean: 5.0, low: 1.0, high: 9.0 };
        assert_eq!(a.plus(b), Estimate { mean: 15.0, low: 10.0, high: 20.0 });
        let f = Estimate { mean: 2.0, low: 1.2, high: 2.8 };
        // 30 % and 40 %: 50 %.
        let t = a.times(f);
        assert!((t.mean - 20.0).abs() < 1e-12 && (t.low - 10.0).abs() < 1e-9 && (t.high - 30.0).abs() < 1e-9);
        assert_eq!(a.times(Estimate::exact(1.0)), Estimate { mean: 10.0, low: 7.0, high: 13.0 });
    }

    #[test]
    fn the_sign_of_an_error_is_the_papers() {
        assert_eq!(Estimate::exact(1.0).error(4.0), -0.75);
        assert!(Estimate::normal(1.0, 0.1).covers(1.16) && !Estimate::normal(1.0, 0.1).covers(1.17));
        assert_eq!(Estimate::normal(1.0, 100.0).low, 0.0);
        assert!(Estimate::normal(1.0, 0.1).is_surely_less_than(Estimate::normal(2.0, 0.1)));
        assert!(!Estimate::normal(1.0, 0.5).is_surely_less_than(Estimate::normal(2.0, 0.5)));
    }
}
