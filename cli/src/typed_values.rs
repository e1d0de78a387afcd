//! What is typed is checked before anything is started, by the parsers of the settings: the runtime would
//! refuse it, or use a default, when the program is running already.

use crate::args::Run;
use crate::{Failure, Outcome};
use promp_image::plan::Plan;
use promp_settings::times::{self, Interval};
use promp_settings::{devices, quantities, replay_policy::Replay, silent_faults, spec};
use std::path::Path;
use std::time::Duration;

/// The text itself, where `value` says that it is one.
fn known<T>(text: &str, value: Option<T>, accepted: &str) -> Result<String, String> {
    value.map(|_| text.to_owned()).ok_or_else(|| format!("accepted are {accepted}"))
}

/// A number in these bounds.
pub fn number<T: TryFrom<u64>, const LEAST: u64, const MOST: u64>(text: &str) -> Result<T, String> {
    let n = text.trim().parse().ok().filter(|n| (LEAST..=MOST).contains(n));
    n.and_then(|n| T::try_from(n).ok()).ok_or_else(|| format!("expected a number from {LEAST} to {MOST}"))
}

/// `--fault`.
pub fn fault(text: &str) -> Result<String, String> {
    let (_, others) = silent_faults::split(text)?;
    others.map_or(Ok(Vec::new()), |others| spec::parse(&others))?;
    Ok(text.to_owned())
}

/// `--replay`.
pub fn replay(text: &str) -> Result<String, String> {
    known(text, Replay::parse(text.trim()), Replay::ACCEPTED)
}

/// `--devices`.
pub fn devices(text: &str) -> Result<String, String> {
    known(text, devices::which(text.trim()), devices::WHICH)
}

/// `--sdc`.
pub fn sdc(text: &str) -> Result<String, String> {
    known(text, devices::mode(text.trim()), devices::MODE)
}

/// `--watchdog`.
pub fn watchdog(text: &str) -> Result<String, String> {
    known(text, times::watchdog_ns(text), times::WATCHDOG)
}

/// `--every` of checkpoints.
pub fn interval(text: &str) -> Result<String, String> {
    Interval::parse(text).map(|_| text.to_owned())
}

/// A duration as in settings: `250us`, `20ms`, `1.5s`, `3m`, `2h`; between 20 ms and a day.
pub fn duration(text: &str) -> Result<Duration, String> {
    const DAY: Duration = Duration::from_secs(86400);
    let what = "a duration is a number with us, ms, s, m or h, such as 500ms";
    let d = Duration::from_nanos(quantities::duration_ns(text).ok_or(what)?);
    if !(Duration::from_millis(20)..=DAY).contains(&d) {
        return Err("it must lie between 20ms and 24h".into());
    }
    Ok(d)
}

/// What `promp run` needs beside the values: files that can be read and written, settings that go with
/// others.
pub fn run(r: &Run) -> Outcome {
    let interval = r.every.as_deref().and_then(|v| Interval::parse(v).ok().filter(|i| i.needs_mtbf()));
    if let (Some(_), Some(v)) = (interval, &r.every)
        && std::env::var_os("PROMP_MTBF").is_none()
    {
        return Err(Failure::new(
            64,
            format!(
                "--every {v} needs the mean time between failures: set PROMP_MTBF, to 24h say, or give a \
                 duration"
            ),
        ));
    }
    if let Some(plan) = &r.plan {
        let shown = plan.display();
        Plan::load(plan).map_err(|why| Failure::new(64, format!("--plan {shown}: {why}")))?;
    }
    for (flag, file) in [("--report", &r.report), ("--tune", &r.tune)] {
        if let Some(file) =
            file.as_deref().filter(|f| !["-", "on", "off"].iter().any(|w| f.as_os_str() == *w))
        {
            writable(flag, file)?;
        }
    }
    Ok(())
}

/// Can the runtime put the file there? It writes another one beside it, and renames that.
pub fn writable(flag: &str, file: &Path) -> Outcome {
    let refused = |why: String| Failure::new(74, format!("{flag} {}: {why}", file.display()));
    let there = std::fs::metadata(file).ok();
    if there.as_ref().is_some_and(|m| m.is_dir()) {
        return Err(refused("it is a directory; give a file in it".into()));
    }
    if there.is_some_and(|m| !m.is_file()) {
        return Ok(());
    }
    promp_files::Replacement::new(file, 0o666).map(drop).map_err(|e| {
        refused(format!("it cannot be written ({e}); give a file in a directory that you may write to"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        for bad in ["", "s", "1", "1 s", "-1s", "1ms", "nans", "infs", "9e9h", "1d", "1ä"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_have_bounds() {
        assert_eq!((number::<u32, 1, 9>("9"), number::<usize, 0, 9>(" 0 ")), (Ok(9), Ok(0)));
        for bad in ["0", "10", "-1", "", "x", "1.5", "99999999999999999999"] {
            assert_eq!(number::<u64, 1, 9>(bad), Err("expected a number from 1 to 9".into()), "{bad}");
        }
    }

    #[test]
    fn values_are_those_of_the_settings() {
        for good in ["kill@thread=1", "sdc@kernel=2;die", "sdc"] {
            assert_eq!(fault(good).as_deref(), Ok(good));
        }
        for (bad, word) in [("kil", "kil"), ("sdc@x=1", "x"), ("kill@thread", "key=value"), ("", "kind")] {
            assert!(fault(bad).is_err_and(|e| e.contains(word)), "{bad}");
        }
        assert!(devices("gpu").is_err_and(|e| e.contains("nvptx")));
        assert!(sdc("lasy").is_err_and(|e| e.contains("eager")) && sdc(" lazy:4 ").is_ok());
        assert!(replay("a b").is_err_and(|e| e.contains("proven")) && replay("work*").is_ok());
        assert!(watchdog("20").is_err_and(|e| e.contains("20ms")) && watchdog("off").is_ok());
        assert!(interval("5").is_err_and(|e| e.contains("1.5s")) && interval("auto").is_ok());
    }
}
