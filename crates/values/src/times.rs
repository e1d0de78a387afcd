//! Settings that are times, all with the same limits: how often checkpoints are taken, how long a thread may
//! hold up its team. Options of the command that are times have them, too.

use crate::quantities;

/// The shortest time of these.
const LEAST_NS: u64 = 1_000_000;

/// What is expected of one.
macro_rules! expected {
    () => {
        "a duration like 20ms, 500ms or 1.5s, at least 1ms"
    };
}

/// What is expected of a time.
pub const DURATION: &str = expected!();
/// What PROMP_CKPT_INTERVAL says.
pub const INTERVAL: &str = concat!(expected!(), "; or auto, or reliability:R");
/// What PROMP_WATCHDOG says.
pub const WATCHDOG: &str = concat!("off, or ", expected!());

/// A time that a setting says, in nanoseconds.
pub fn duration_ns(v: &str) -> Option<u64> {
    quantities::duration_ns(v).filter(|&n| n >= LEAST_NS)
}

/// PROMP_CKPT_INTERVAL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// This long, in nanoseconds.
    Every(u64),
    /// As follows from PROMP_MTBF and what checkpoints cost.
    Auto,
    /// No failure within it with this probability, by PROMP_MTBF.
    Reliability(f64),
}

impl Interval {
    /// The variable's value; the error says what is expected.
    pub fn parse(v: &str) -> Result<Self, String> {
        let v = v.trim();
        if v == "auto" {
            return Ok(Self::Auto);
        }
        if let Some(r) = v.strip_prefix("reliability:") {
            let r = r.parse().ok().filter(|r| *r > 0.0 && *r < 1.0);
            return r.map(Self::Reliability).ok_or("expected a number between 0 and 1, like 0.99".into());
        }
        duration_ns(v).map(Self::Every).ok_or_else(|| format!("expected {INTERVAL}"))
    }

    /// Does it come of PROMP_MTBF?
    pub fn needs_mtbf(self) -> bool {
        !matches!(self, Self::Every(_))
    }
}

/// PROMP_WATCHDOG in nanoseconds; nothing where it is off.
pub fn watchdog_ns(v: &str) -> Option<Option<u64>> {
    match v.trim() {
        "off" => Some(None),
        v => duration_ns(v).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn intervals_and_watchdogs() {
        assert_eq!(Interval::parse(" 20ms "), Ok(Interval::Every(20_000_000)));
        assert_eq!(Interval::parse("auto"), Ok(Interval::Auto));
        assert_eq!(Interval::parse("reliability:0.9"), Ok(Interval::Reliability(0.9)));
        for bad in ["", "5", "0", "1us", "soon", "reliability:", "reliability:1.5", "reliability:nan", "-1s"]
        {
            assert!(Interval::parse(bad).is_err(), "{bad}");
        }
        assert_eq!((watchdog_ns("off"), watchdog_ns("2s")), (Some(None), Some(Some(2_000_000_000))));
        assert_eq!((watchdog_ns("20"), watchdog_ns("0"), watchdog_ns("")), (None, None, None));
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(v in "\\PC{0,30}") {
            let _ = (Interval::parse(&v), watchdog_ns(&v));
        }
    }
}
