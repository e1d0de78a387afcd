//! Numbers as reports show them: few digits, a unit that suits, and no sign in front of what rounds to zero.

/// With so many digits behind the point; what rounds to zero has no sign.
pub fn fixed(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| b"0.".contains(&b)) => rest.to_owned(),
        _ => text,
    }
}

/// Three digits.
pub fn round(x: f64) -> String {
    match x.abs() {
        a if a >= 99.95 => fixed(x, 0),
        a if a >= 9.995 => fixed(x, 1),
        _ => fixed(x, 2),
    }
}

/// A time with the unit that suits it.
pub fn seconds(s: f64) -> String {
    match s {
        s if s >= 0.9995 => format!("{} s", round(s)),
        s if s >= 0.9995e-3 => format!("{} ms", round(s * 1e3)),
        s if s > 0.0 => format!("{} us", round(s * 1e6)),
        _ => "0 s".into(),
    }
}

/// "18 %", "2.5 %".
pub fn percent(share: f64) -> String {
    let p = share * 100.0;
    format!("{} %", fixed(p, usize::from(p < 9.95)))
}

/// "2.0 MiB".
pub fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", fixed(bytes as f64 / 1048576.0, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let all =
            [(12.34, "12.3 s"), (0.0123, "12.3 ms"), (2.5e-6, "2.50 us"), (0.0, "0 s"), (1234.5, "1234 s")];
        for (s, said) in all {
            assert_eq!(seconds(s), said);
        }
    }

    #[test]
    fn nothing_has_no_sign() {
        for x in [-0.0, -1e-9, -0.0004, 0.0004, f64::MIN_POSITIVE, -f64::MIN_POSITIVE] {
            for said in [percent(x), round(x), seconds(x), fixed(x, 0)] {
                assert!(!said.contains('-') && !said.starts_with('+'), "{x:e}: {said}");
            }
        }
        assert_eq!([percent(-0.5), round(-0.5), fixed(-0.06, 1)], ["-50.0 %", "-0.50", "-0.1"]);
    }
}
