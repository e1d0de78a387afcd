//! How often: the interval between two checkpoints, from the mean time between failures and what a
//! checkpoint costs.
//!
//! What a failure loses, half an interval and the rest of it, and what checkpoints cost, their cost an
//! interval, add up to least at Daly's interval (J. T. Daly, FGCS 22, 2006), which is Young's
//! √(2·cost·MTBF) to the first order. The cost is measured: how long the threads stand still, and the CPU
//! time that the keeper takes from them otherwise. Until there is a measurement, and with `reliability:R`,
//! the interval is the one in which no failure strikes with probability R (P3).

/// The interval in which no failure strikes with probability `r`, where they come `mtbf_ns` apart on average.
pub fn reliable_ns(r: f64, mtbf_ns: u64) -> u64 {
    (-libm::log(r) * mtbf_ns as f64) as u64
}

/// Daly's interval for checkpoints that cost `cost_ns` each, not counting that cost.
pub fn daly_ns(cost_ns: u64, mtbf_ns: u64) -> u64 {
    let (c, m) = (cost_ns as f64, mtbf_ns as f64);
    if c >= 2.0 * m {
        return mtbf_ns;
    }
    let x = c / (2.0 * m);
    (libm::sqrt(2.0 * c * m) * (1.0 + libm::sqrt(x) / 3.0 + x / 9.0) - c) as u64
}

/// What checkpoints cost lately: each new one counts for a fourth.
pub fn smoothed_ns(before_ns: u64, cost_ns: u64) -> u64 {
    if before_ns == 0 { cost_ns } else { (3 * before_ns + cost_ns) / 4 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected time of work between two checkpoints, with failures (Daly's model without restart
    /// time), per unit of work.
    fn overhead(t: f64, c: f64, m: f64) -> f64 {
        m * (libm::exp((t + c) / m) - 1.0) / t
    }

    #[test]
    fn no_other_interval_is_better() {
        for (c, m) in [(1e6, 1e12), (1e9, 1e12), (5e7, 3e9), (1e9, 1e10)] {
            let best = daly_ns(c as u64, m as u64) as f64;
            let least = overhead(best, c, m);
            for factor in [0.25, 0.5, 0.8, 1.25, 2.0, 4.0] {
                assert!(least < overhead(best * factor, c, m), "{c} {m} {factor}");
            }
        }
        assert_eq!(daly_ns(30, 10), 10);
    }

    #[test]
    fn p3s_rule() {
        // A hundredth of the time between failures, and a little more.
        assert_eq!(reliable_ns(0.99, 100_000_000_000) / 1_000_000, 1005);
    }

    #[test]
    fn costs_are_smoothed() {
        assert_eq!((smoothed_ns(0, 8), smoothed_ns(8, 16)), (8, 10));
    }
}
