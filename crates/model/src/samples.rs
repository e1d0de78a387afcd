//! Decisions from measurements: which of two series of times is less, and has a series changed?
//!
//! Times have outliers upwards (an interrupt, another process), so medians and ranks are compared, not means.
//! A difference counts if the medians differ by [`LEAST`] *and* the Mann-Whitney test says that it is no
//! chance (one-sided, 5 %; exact for the few samples that there are).

/// A change must be worth so much.
pub const LEAST: f64 = 0.03;
/// A difference that comes about by chance in so many cases is none.
const CHANCE: f64 = 0.05;
/// A cost that has changed by this part is another one.
const STEP: f64 = 0.25;
/// Times that were seen so often are nothing new.
const FAMILIAR: usize = 2;
/// So many in a row make a step, the first time.
pub const IN_A_ROW: usize = 3;

/// The middle one.
pub fn median(times: &[f64]) -> f64 {
    middle(&mut times.to_vec())
}

/// The same of a slice that is put into another order.
pub fn middle(v: &mut [f64]) -> f64 {
    let n = v.len();
    if n == 0 {
        return 0.0;
    }
    let (lower, upper, _) = v.select_nth_unstable_by(n / 2, f64::total_cmp);
    match lower.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if n.is_multiple_of(2) => (lower + *upper) / 2.0,
        _ => *upper,
    }
}

/// A robust standard deviation: from the median distance to the median.
pub fn deviation(times: &[f64]) -> f64 {
    let m = median(times);
    1.4826 * median(&times.iter().map(|t| (t - m).abs()).collect::<Vec<_>>())
}

/// Is `a` less than `b`, by [`LEAST`] and not by chance?
pub fn is_less(a: &[f64], b: &[f64]) -> bool {
    !a.is_empty() && !b.is_empty() && median(a) < median(b) * (1.0 - LEAST) && chance(a, b) <= CHANCE
}

/// The probability that ranks as favourable to `a` come about if both are the same: the distribution of U by
/// counting.
fn chance(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len().min(12), b.len().min(12));
    let (a, b) = (&a[a.len() - n..], &b[b.len() - m..]);
    // U: pairs in which a is larger. Small is good for a.
    let u = a.iter().flat_map(|x| b.iter().map(move |y| x >= y)).filter(|larger| *larger).count();
    // ways[i][j][u]: orders of i of a and j of b with that U.
    let mut ways = vec![vec![vec![0f64; n * m + 1]; m + 1]; n + 1];
    for i in 0..=n {
        for j in 0..=m {
            if i == 0 || j == 0 {
                ways[i][j][0] = 1.0;
                continue;
            }
            for u in 0..=i * j {
                // The largest is one of a's, above all j of b, or one of b's.
                let of_a = if u >= j { ways[i - 1][j][u - j] } else { 0.0 };
                ways[i][j][u] = of_a + ways[i][j - 1][u];
            }
        }
    }
    let all: f64 = ways[n][m].iter().sum();
    ways[n][m][..=u].iter().sum::<f64>() / all
}

/// Have the last `row` times left what was usual, all to the same side? Then what was decided is out of date.
/// But not where there were such times before: then they are usual, too.
pub fn has_stepped(usual: f64, last: &[f64], row: usize) -> bool {
    if last.len() < row {
        return false;
    }
    let (before, latest) = last.split_at(last.len() - row);
    let beyond = |t: &f64| beyond(usual, *t);
    let side = latest.first().map_or(0, beyond);
    let new = before.iter().filter(|t| beyond(t) == side).count() < FAMILIAR;
    side != 0 && new && latest.iter().all(|t| beyond(t) == side)
}

/// Do most of these times lie on the same side of what was usual? Then that is no longer so, in a row or not.
pub fn have_left(usual: f64, times: &[f64]) -> bool {
    let on = |side| times.iter().filter(|t| beyond(usual, **t) == side).count();
    2 * on(1).max(on(-1)) > times.len()
}

/// On which side a time is no longer what is usual: 1, -1, or 0 if it is.
pub fn beyond(usual: f64, time: f64) -> i32 {
    i32::from(time > usual * (1.0 + STEP)) - i32::from(time < usual / (1.0 + STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(
            (median(&[]), median(&[3.0]), median(&[4.0, 1.0]), median(&[9.0, 1.0, 2.0])),
            (0.0, 3.0, 2.5, 2.0)
        );
        assert!((deviation(&[1.0, 2.0, 3.0, 4.0, 100.0]) - 1.4826).abs() < 1e-12);
    }

    #[test]
    fn chance_is_counted() {
        // Three below three: one order of 20.
        assert!((chance(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - 0.05).abs() < 1e-12);
        // Two below two: one of 6.
        assert!((chance(&[1.0, 2.0], &[4.0, 5.0]) - 1.0 / 6.0).abs() < 1e-12);
        assert!((chance(&[4.0, 5.0], &[1.0, 2.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_change_needs_size_and_significance() {
        assert!(is_less(&[1.0, 1.01, 0.99], &[1.1, 1.12, 1.09]));
        // Too small, too few, not separated.
        assert!(!is_less(&[1.0, 1.001, 0.999], &[1.02, 1.021, 1.019]));
        assert!(!is_less(&[1.0, 1.0], &[2.0, 2.0]));
        assert!(!is_less(&[1.0, 1.3, 0.9], &[1.1, 1.2, 0.95]));
        assert!(!is_less(&[], &[1.0]));
        // An outlier does not hide it if there are enough others.
        assert!(is_less(&[1.0, 9.0, 1.0, 1.0, 1.01, 0.99], &[1.2, 1.21, 1.19, 1.2, 1.22, 1.18]));
    }

    #[test]
    fn steps() {
        assert!(has_stepped(1.0, &[1.0, 1.3, 1.4, 1.5, 1.3], 4));
        assert!(has_stepped(1.0, &[0.5; 4], 4));
        assert!(!has_stepped(1.0, &[1.3, 1.3, 1.3], 4));
        assert!(!has_stepped(1.0, &[1.3, 0.5, 1.3, 1.3], 4));
        assert!(!has_stepped(1.0, &[2.0, 1.0, 2.1, 1.0, 2.0, 2.0, 2.0], 3));
    }
}
