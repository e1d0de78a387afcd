//! The time model of LazyFT (Journal of Software 22(10), 2011, section 3) and the choice of how many
//! kernels make a section. Pure arithmetic: no clock, no device.

/// What a device costs, measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Costs {
    /// Seconds that the checks of a section take however little data there are.
    pub fixed: f64,
    /// Bytes a second, copied on the device.
    pub copy: f64,
    /// Bytes a second, compared (of one of both blocks) or signed.
    pub look: f64,
    /// How often each byte of data is copied a section ...
    pub copied: f64,
    /// ... and looked at.
    pub looked: f64,
}

impl Costs {
    /// Results are set aside, the data of the beginning put back, both results compared.
    pub(crate) const COPIES: Self = Self { fixed: 1e-4, copy: 1e9, look: 1e9, copied: 2.0, looked: 1.0 };
    /// Both results are signed; what the kernels have changed is put back, and is the next section's
    /// beginning in the end.
    pub(crate) const SIGNATURES: Self = Self { looked: 2.0, ..Self::COPIES };

    /// Seconds of verification a section of `bytes` bytes of device data, beside running the kernels
    /// again.
    pub(crate) fn verification(&self, bytes: f64) -> f64 {
        self.fixed + bytes * (self.copied / self.copy + self.looked / self.look)
    }

    /// Learns from a section: `seconds` were measured where `verification` had said something else. Half
    /// way at a time.
    pub(crate) fn correct(&mut self, bytes: f64, seconds: f64) {
        let said = self.verification(bytes);
        if said > 0.0 && seconds > 0.0 {
            let factor = (0.5 * (1.0 + seconds / said)).clamp(0.25, 4.0);
            self.fixed *= factor;
            self.copy /= factor;
            self.look /= factor;
        }
    }
}

/// Failures a second of a device whose mean time between failures is `mtbf` seconds.
pub(crate) fn rate(mtbf: Option<f64>) -> f64 {
    mtbf.map_or(0.0, |m| 1.0 / m)
}

/// The probability that a section fails: its kernels run twice, and the checks run, too (P4: p = 1 -
/// e^(-lambda t_gpu)).
pub(crate) fn failure(rate: f64, kernels: f64, verification: f64) -> f64 {
    -libm::expm1(-rate * (2.0 * kernels + verification))
}

/// Expected seconds of a section whose kernels take `kernels` seconds once: E = (checks + 2 modular) / (1
/// - p).
pub(crate) fn expected(rate: f64, kernels: f64, verification: f64) -> f64 {
    (2.0 * kernels + verification) / (1.0 - failure(rate, kernels, verification))
}

/// T(n): expected seconds of a loop of `count` kernels of `t` seconds each, `n` of them a section.
#[cfg(test)]
pub(crate) fn total(rate: f64, n: u64, count: u64, t: f64, verification: f64) -> f64 {
    let (whole, rest) = (count / n, count % n);
    let last = if rest > 0 { expected(rate, rest as f64 * t, verification) } else { 0.0 };
    whole as f64 * expected(rate, n as f64 * t, verification) + last
}

/// Without a rate: verification shall cost at most this part of the kernels' time. Running everything
/// twice, the whole is then within 1.5 % of what the longest section would cost.
const SHARE: f64 = 0.03;

/// How many kernels a section should have: of `t` seconds each, with `verification` seconds a section,
/// sections no longer than `latency` seconds, cut at multiples of `period`. With a rate of failures the n
/// of least expected time a kernel, else the smallest whose verification costs 3 % of the kernels' time.
pub(crate) fn choose(rate: f64, t: f64, verification: f64, latency: f64, period: u64) -> u64 {
    let period = period.max(1);
    let most = ((latency / t.max(1e-9)) as u64).clamp(1, 1 << 20);
    let whole = |n: u64| (n.div_ceil(period) * period).min((most / period).max(1) * period).max(1);
    if rate <= 0.0 {
        return whole((libm::ceil(verification / (SHARE * t.max(1e-9))) as u64).clamp(1, most));
    }
    // The expected time a kernel has one minimum: from there on failures cost more than checks.
    let cost = |n: u64| expected(rate, n as f64 * t, verification) / n as f64;
    let mut best = whole(1);
    let mut n = best;
    while n + period <= most {
        n += period.max(n / 64 / period * period);
        if cost(n) < cost(best) {
            best = n;
        } else if n > 4 * best {
            break;
        }
    }
    best
}

/// The period of a sequence of call sites: the smallest p such that each is the one p before it; 1 if
/// there is none.
pub(crate) fn period(sites: &[usize]) -> usize {
    let n = sites.len();
    (1..=n / 2).find(|&p| (p..n).all(|i| sites[i] == sites[i - p])).unwrap_or(1)
}

/// Where a sequence of kernels between two forced ends is cut best: the numbers of kernels of the
/// sections. `t` are the kernels' times; P4's dynamic programming over E.
#[cfg(test)]
pub(crate) fn cuts(rate: f64, t: &[f64], verification: f64) -> Vec<usize> {
    let n = t.len();
    let mut sum = vec![0.0; n + 1];
    for i in 0..n {
        sum[i + 1] = sum[i] + t[i];
    }
    // best[j]: least expected time of the first j kernels, and the last section's first kernel.
    let mut best = vec![(0.0, 0usize); n + 1];
    for j in 1..=n {
        best[j] = (0..j)
            .map(|i| (best[i].0 + expected(rate, sum[j] - sum[i], verification), i))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((0.0, 0));
    }
    let (mut out, mut j) = (Vec::new(), n);
    while j > 0 {
        out.push(j - best[j].1);
        j = best[j].1;
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn verification_and_its_correction() {
        let mut c = Costs { copy: 1e9, look: 2e9, ..Costs::COPIES };
        assert!((c.verification(1e9) - (1e-4 + 2.0 + 0.5)).abs() < 1e-12);
        for _ in 0..40 {
            c.correct(1e9, 1.25);
        }
        assert!((c.verification(1e9) - 1.25).abs() < 1e-3);
    }

    #[test]
    fn the_formulas_of_the_paper() {
        // lambda = 1/100 s, kernels 10 s, checks 2 s: p = 1 - e^(-22/100), E = 22 / e^(-22/100).
        assert!((failure(0.01, 10.0, 2.0) - (1.0 - (-0.22f64).exp())).abs() < 1e-12);
        assert!((expected(0.01, 10.0, 2.0) - 22.0 * 0.22f64.exp()).abs() < 1e-9);
        // 10 kernels of 1 s in sections of 4, 4 and 2.
        let e = |k: f64| (2.0 * k + 0.5) * (0.01 * (2.0 * k + 0.5)).exp();
        assert!((total(0.01, 4, 10, 1.0, 0.5) - (2.0 * e(4.0) + e(2.0))).abs() < 1e-9);
        assert_eq!(total(0.0, 5, 10, 1.0, 0.5), 21.0);
    }

    #[test]
    fn sections_without_a_rate_cost_three_percent() {
        // 1 ms a kernel, 0.24 ms of checks: eight kernels.
        assert_eq!(choose(0.0, 1e-3, 2.39e-4, 1.0, 1), 8);
        // Cut at the ends of a loop of seven kernels: fourteen.
        assert_eq!(choose(0.0, 1e-3, 2.39e-4, 1.0, 7), 14);
        // An error may live 5 ms at most: five.
        assert_eq!(choose(0.0, 1e-3, 4e-4, 5e-3, 1), 5);
        assert_eq!(choose(0.0, 10.0, 4e-4, 1.0, 1), 1);
    }

    #[test]
    fn periods() {
        assert_eq!(period(&[1, 2, 3, 1, 2, 3, 1]), 3);
        assert_eq!(period(&[5, 5, 5, 5]), 1);
        assert_eq!(period(&[1, 2, 3, 4]), 1);
        assert_eq!(period(&[]), 1);
    }

    proptest! {
        #[test]
        fn the_chosen_n_is_within_two_percent_of_the_best(
            mtbf in 1.0f64..1e4, t in 1e-4f64..1e-2, v in 1e-5f64..1e-1
        ) {
            let (r, count) = (rate(Some(mtbf)), 1 << 16);
            let n = choose(r, t, v, 1e9, 1);
            let best = (1..4096u64).map(|n| expected(r, n as f64 * t, v) / n as f64).fold(f64::MAX, f64::min);
            prop_assert!(expected(r, n as f64 * t, v) / n as f64 <= best * 1.02, "n {n} of {count}");
        }

        #[test]
        fn cuts_are_the_best_of_all(t in prop::collection::vec(0.1f64..3.0, 1..9), v in 0.0f64..2.0) {
            let r = 0.05;
            let cost = |cut: &[usize]| {
                let mut at = 0;
                let one = |&n: &usize| {
                    at += n;
                    expected(r, t[at - n..at].iter().sum(), v)
                };
                cut.iter().map(one).sum::<f64>()
            };
            let found = cuts(r, &t, v);
            prop_assert_eq!(found.iter().sum::<usize>(), t.len());
            for mask in 0u32..1 << (t.len() - 1) {
                let (mut cut, mut n) = (Vec::new(), 1);
                for i in 0..t.len() - 1 {
                    if mask >> i & 1 == 1 { cut.push(n); n = 1; } else { n += 1; }
                }
                cut.push(n);
                prop_assert!(cost(&found) <= cost(&cut) + 1e-9);
            }
        }
    }
}
