//! Parsers of the values of environment variables: pure functions from text to values, each total on any input.

use super::places::ProcBind;
use super::{RunSched, Sched};

/// A boolean as libgomp takes it: `true` or `false`, any case, blanks around.
pub fn boolean(s: &str) -> Option<bool> {
    let s = s.trim();
    if s.eq_ignore_ascii_case("true") {
        Some(true)
    } else if s.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

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

/// A number of at least 1 that fits a C `int`.
pub fn positive(s: &str) -> Option<u32> {
    number(s).filter(|&n| (1..=i32::MAX as u64).contains(&n)).map(|n| n as u32)
}

/// A comma-separated, non-empty list.
pub fn list<T>(s: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    s.split(',').map(|p| item(p.trim())).collect()
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

/// OMP_SCHEDULE: `[monotonic:|nonmonotonic:]kind[,chunk]`.
pub fn schedule(s: &str) -> Option<RunSched> {
    let s = s.trim();
    let (modifier, rest) = match s.split_once(':') {
        Some((m, r)) => (Some(m.trim()), r.trim()),
        None => (None, s),
    };
    let (kind, chunk) = match rest.split_once(',') {
        Some((k, c)) => (k.trim(), Some(number(c).filter(|&n| n <= i32::MAX as u64)?)),
        None => (rest, None),
    };
    let kind = match kind.to_ascii_lowercase().as_str() {
        "static" => Sched::Static,
        "dynamic" => Sched::Dynamic,
        "guided" => Sched::Guided,
        "auto" if chunk.is_none() => Sched::Auto,
        _ => return None,
    };
    let monotonic = match modifier.map(str::to_ascii_lowercase).as_deref() {
        None => kind == Sched::Static,
        Some("monotonic") => true,
        Some("nonmonotonic") => false,
        Some(_) => return None,
    };
    let default = u64::from(kind != Sched::Static);
    let chunk = match chunk {
        Some(0) | None => default,
        Some(c) => c,
    };
    Some(RunSched { kind, chunk, monotonic })
}

/// OMP_PROC_BIND: one policy, or a list of those that say where threads go (OpenMP 5.1, section 6.4).
pub fn binds(s: &str) -> Option<Vec<ProcBind>> {
    let all = list(s, bind)?;
    let somewhere = |b: &ProcBind| !matches!(b, ProcBind::False | ProcBind::True);
    (all.len() == 1 || all.iter().all(somewhere)).then_some(all)
}

/// One item of OMP_PROC_BIND.
pub fn bind(s: &str) -> Option<ProcBind> {
    Some(match s.to_ascii_lowercase().as_str() {
        "false" => ProcBind::False,
        "true" => ProcBind::True,
        "master" | "primary" => ProcBind::Primary,
        "close" => ProcBind::Close,
        "spread" => ProcBind::Spread,
        _ => return None,
    })
}

/// A duration with its unit (`250us`, `20ms`, `1.5s`, `3m`, `2h`; also `ns`), in nanoseconds.
pub fn duration_ns(s: &str) -> Option<u64> {
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
    fn schedules() {
        let s = |k, c, m| Some(RunSched { kind: k, chunk: c, monotonic: m });
        assert_eq!(schedule("dynamic"), s(Sched::Dynamic, 1, false));
        assert_eq!(schedule(" Static , 7 "), s(Sched::Static, 7, true));
        assert_eq!(schedule("monotonic:guided,3"), s(Sched::Guided, 3, true));
        assert_eq!(schedule("nonmonotonic: dynamic,0"), s(Sched::Dynamic, 1, false));
        assert_eq!(schedule("auto"), s(Sched::Auto, 1, false));
        for bad in [
            "",
            "auto,3",
            "dynamic,",
            "dynamic,-1",
            "dynamic,99999999999",
            "fast",
            "mono:static",
            "static,1,2",
        ] {
            assert_eq!(schedule(bad), None, "{bad}");
        }
    }

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
            let _ = (boolean(&s), number(&s), positive(&s), stack_size(&s), schedule(&s), duration_ns(&s));
            let _ = list(&s, bind);
        }

        #[test]
        fn chunks_survive(c in 1u64..1_000_000) {
            prop_assert_eq!(schedule(&format!("guided,{c}")).unwrap().chunk, c);
        }
    }
}
