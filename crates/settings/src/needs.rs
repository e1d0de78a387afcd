//! What was asked for in vain where promp is not the program's OpenMP runtime.

use crate::catalogue::{CKPT_DIR, FAULT, MONITOR, REPORT, SDC, TUNE};
use crate::row::Setting;

/// Settings that then come to nothing, and what there is not.
pub static NEED_PROMP: [(&Setting, &str); 6] = [
    (&CKPT_DIR, "checkpoints"),
    (&FAULT, "failures"),
    (&MONITOR, "measurements"),
    (&REPORT, "report"),
    (&TUNE, "tuning"),
    (&SDC, "search for silent errors"),
];

/// Does the value of one of [`NEED_PROMP`] ask for anything?
pub fn asks(value: &str) -> bool {
    !["", "off"].contains(&value.trim())
}

/// What there is not, and by which options or variables it was asked for (these come first in `asked`): "no
/// checkpoints, no report (--ckpt, --report)". `empty`: there is a report, and nothing in it.
pub fn lacks<A: AsRef<str>>(asked: &[(A, &str)], empty: bool) -> String {
    let by: Vec<&str> = asked.iter().map(|(by, _)| by.as_ref()).collect();
    let mut what: Vec<&str> = asked.iter().map(|(_, what)| *what).collect();
    what.dedup();
    let is_not = |what: &&str| match *what {
        "report" if empty => "nothing in the report".into(),
        _ => format!("no {what}"),
    };
    format!("{} ({})", what.iter().map(is_not).collect::<Vec<_>>().join(", "), by.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_not_is_there_once() {
        let what = [("--resume", "checkpoints"), ("--ckpt", "checkpoints"), ("--report", "report")];
        assert_eq!(lacks(&what, false), "no checkpoints, no report (--resume, --ckpt, --report)");
        assert_eq!(lacks(&what[1..], true), "no checkpoints, nothing in the report (--ckpt, --report)");
    }
}
