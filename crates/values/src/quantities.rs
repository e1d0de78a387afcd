//! Numbers, sizes and durations as settings have them: pure functions from text to values, each total on any
//! input.

/// A decimal (or 0x-, 0-prefixed) unsigned number.
pub fn number(s: &str) -> Option<u64> {
    let s = s.trim();
    let s = s.strip_prefix('+').unwrap_or(s);
    if let Some(h) = s.strip_prefix("0x").or_else(|| s.strip_prefix("0X")) {
        return u64::from_str_radix(h, 16).ok();
    }
    if s.is_empty() || !s.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    s.parse().ok()
}

/// A size with an optional unit B, K, M, G; without one, kilobytes (OMP_STACKSIZE).
pub fn stack_size(s: &str) -> Option<usize> {
    let s = s.trim();
    let (digits, shift) = match s.bytes().last()?.to_ascii_lowercase() {
        b'b' => (&s[..s.len() - 1], 0),
        b'k' => (&s[..s.len() - 1], 10),
        b'm' => (&s[..s.len() - 1], 20),
        b'g' => (&s[..s.len() - 1], 30),
        _ => (s, 10),
    };
    let n = number(digits)?;
    n.checked_mul(1 << shift).filter(|&n| n <= isize::MAX as u64).map(|n| n as usize)
}

/// A duration with its unit (`250us`, `20ms`, `1.5s`, `3m`, `2h`; also `ns`), in nanoseconds.
pub(crate) fn duration_ns(s: &str) -> Option<u64> {
    let s = s.trim();
    let split = s.find(|c: char| c.is_ascii_alphabetic())?;
    let (value, unit) = s.split_at(split);
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    if value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let v: f64 = value.parse().ok()?;
    let ns = v * scale;
    (ns.is_finite() && ns <= 1e18).then_some(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_and_durations() {
        assert_eq!(stack_size("512"), Some(512 << 10));
        assert_eq!(stack_size("64 k"), Some(64 << 10));
        assert_eq!(stack_size("3G"), Some(3 << 30));
        assert_eq!(stack_size("10B"), Some(10));
        for bad in ["", "k", "1t", "-1", "99999999999999999999", "18446744073709551615G", "1.5M"] {
            assert_eq!(stack_size(bad), None, "{bad}");
        }
        assert_eq!(duration_ns("250us"), Some(250_000));
        assert_eq!(duration_ns("1.5s"), Some(1_500_000_000));
        assert_eq!(duration_ns("2h"), Some(7_200_000_000_000));
        for bad in ["", "s", "5", "1e3s", "-1s", "1 s", "inf", "nans", "1..5s", "99999999999999h"] {
            assert_eq!(duration_ns(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(s in "\\PC{0,40}") {
            let _ = (number(&s), stack_size(&s), duration_ns(&s));
        }
    }
}
