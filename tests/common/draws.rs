//! Seeds for what depends on the machine: on a fast one programs end before much has struck, on a slow one
//! they die before their first checkpoint. So a test draws until it has seen enough, and at least so often.
//!
//! PROMP_TEST_FIRST and PROMP_TEST_COUNT: a sweep begins with that seed, and draws so many. So a long one can
//! be executed in parts.
//!
//! PROMP_TEST_MTBF=4: random failures and kills come four times as late, as on a machine four times as fast
//! (1 if it is not set). Every test passes with 4 and with 0.5.

use super::{long, scale};
use std::process::Command;
use std::time::Duration;

/// Numbers from 1 on, until enough was seen.
pub struct Draws {
    next: u64,
    least: u64,
    most: u64,
}

impl Draws {
    /// At least `n`, in long runs more, and at most twenty times as many.
    pub fn of(n: u64) -> Self {
        Self::between(n * scale(), 20 * n * scale())
    }

    pub fn between(least: u64, most: u64) -> Self {
        Self { next: 1, least, most }
    }

    /// At least `few`, in long runs `many`, and at most `most` (PROMP_TEST_FIRST, PROMP_TEST_COUNT).
    pub fn sweep(few: u64, many: u64, most: u64) -> Self {
        let least = set_count(if long() { many } else { few });
        Self::between(least, least.max(most)).from(first_seed())
    }

    /// The same from another first one.
    pub fn from(self, first: u64) -> Self {
        Self { next: first, least: first - 1 + self.least, most: first - 1 + self.most }
    }

    /// The next one, unless what was seen is `enough`.
    pub fn next(&mut self, enough: bool) -> Option<u64> {
        let go_on = self.next <= self.least || (!enough && self.next <= self.most);
        self.next += u64::from(go_on);
        go_on.then(|| self.next - 1)
    }
}

/// PROMP_TEST_FIRST.
pub fn first_seed() -> u64 {
    number("PROMP_TEST_FIRST").unwrap_or(1)
}

/// PROMP_TEST_COUNT, or what is usual.
pub fn set_count(usual: u64) -> u64 {
    number("PROMP_TEST_COUNT").unwrap_or(usual)
}

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value}: a whole number is expected")))
}

/// PROMP_TEST_MTBF.
pub fn rarity() -> f64 {
    let factor = std::env::var("PROMP_TEST_MTBF").ok().map(|v| v.parse().expect("PROMP_TEST_MTBF: a number"));
    factor.unwrap_or(1.0)
}

/// How long something would have taken on such a machine.
pub fn here(took: Duration) -> Duration {
    took.div_f64(rarity())
}

/// `faults` with every `mtbf` that much longer.
pub fn spaced(faults: &str) -> String {
    let factor = rarity();
    if factor == 1.0 {
        return faults.to_string();
    }
    let mut pieces = faults.split("mtbf=");
    let mut all = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let digits = piece.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(piece.len());
        let (number, rest) = piece.split_at(digits);
        let end = rest.find([',', ';']).unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(end);
        let ns = match unit {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" | "" => 1e9,
            "h" => 3.6e12,
            other => panic!("{other}: a unit that is not known here"),
        };
        let mean = number.parse::<f64>().expect("a number") * ns * factor;
        all += &format!("mtbf={}us{rest}", (mean / 1e3).ceil());
    }
    all
}

/// The same for the faults in a command's environment; those in its arguments are the caller's.
pub fn space(cmd: &mut Command) {
    let faults = cmd.get_envs().find(|(k, _)| *k == "PROMP_FAULT").and_then(|(_, v)| v?.to_str());
    if let Some(faults) = faults.filter(|f| f.contains("mtbf=")).map(spaced) {
        cmd.env("PROMP_FAULT", faults);
    }
}
