//! What is typed is checked before anything is started, by the parsers of the settings: the runtime would
//! refuse it, or use a default, when the program is running already.

use crate::args::Run;
use crate::{Failure, Outcome};
use promp_image::checkpoint_plan::Plan;
use promp_settings::times::{self, Interval};
use promp_settings::{CKPT_INTERVAL, CKPT_PLAN, MTBF, REPORT, Setting, TUNE};
use std::path::Path;
use std::time::Duration;

/// A number in these bounds.
pub fn number<T: TryFrom<u64>, const LEAST: u64, const MOST: u64>(text: &str) -> Result<T, String> {
    let n = text.trim().parse().ok().filter(|n| (LEAST..=MOST).contains(n));
    n.and_then(|n| T::try_from(n).ok()).ok_or_else(|| format!("expected a number from {LEAST} to {MOST}"))
}

/// A value of a setting; the error says what is expected.
pub fn of(setting: &'static Setting) -> impl Fn(&str) -> Result<String, String> + Clone {
    |text| setting.check(text).map(|()| text.to_owned())
}

/// A duration as in settings, with their limits.
pub fn duration(text: &str) -> Result<Duration, String> {
    let ns = times::duration_ns(text).ok_or_else(|| format!("expected {}", times::DURATION))?;
    Ok(Duration::from_nanos(ns))
}

/// What `promp run` needs beside the values: files that can be read and written, settings that go with
/// others.
pub fn run(r: &Run) -> Outcome {
    let every = r.options.text(&CKPT_INTERVAL);
    if let Some(v) = every
        && Interval::parse(v).is_ok_and(Interval::needs_mtbf)
        && std::env::var_os(MTBF.name).is_none()
    {
        let (flag, mtbf) = (CKPT_INTERVAL.typed(), MTBF.name);
        return Err(Failure::new(
            64,
            format!(
                "{flag} {v} needs the mean time between failures: set {mtbf}, to 24h say, or give a duration"
            ),
        ));
    }
    if let Some(plan) = r.options.path(&CKPT_PLAN) {
        let (flag, shown) = (CKPT_PLAN.typed(), plan.display());
        Plan::load(plan).map_err(|why| Failure::new(64, format!("{flag} {shown}: {why}")))?;
    }
    for setting in [&REPORT, &TUNE] {
        let file =
            r.options.path(setting).filter(|f| !["-", "on", "off"].iter().any(|w| f.as_os_str() == *w));
        file.map_or(Ok(()), |file| writable(setting.typed(), file))?;
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
        assert_eq!(duration("1ms"), Ok(Duration::from_millis(1)));
        for bad in ["", "s", "1", "1 s", "-1s", "999us", "nans", "infs", "9e9h", "1d", "1ä"] {
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
        use promp_settings::{DEVICES, FAULT, REPLAY, SDC, WATCHDOG};
        for good in ["kill@thread=1", "sdc@kernel=2;die", "sdc"] {
            assert_eq!(of(&FAULT)(good).as_deref(), Ok(good));
        }
        for (bad, word) in [("kil", "kil"), ("sdc@x=1", "x"), ("kill@thread", "key=value"), ("", "kind")] {
            assert!(of(&FAULT)(bad).is_err_and(|e| e.contains(word)), "{bad}");
        }
        assert!(of(&DEVICES)("gpu").is_err_and(|e| e.contains("nvptx")));
        assert!(of(&SDC)("lasy").is_err_and(|e| e.contains("eager")) && of(&SDC)(" lazy:4 ").is_ok());
        assert!(of(&REPLAY)("a b").is_err_and(|e| e.contains("proven")) && of(&REPLAY)("work*").is_ok());
        assert!(of(&WATCHDOG)("20").is_err_and(|e| e.contains("20ms")) && of(&WATCHDOG)("off").is_ok());
        let interval = of(&CKPT_INTERVAL);
        assert!(interval("5").is_err_and(|e| e.contains("1.5s")) && interval("auto").is_ok());
    }
}
