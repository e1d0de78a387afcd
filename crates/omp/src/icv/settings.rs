//! The runtime's own settings: the `PROMP_*` variables (docs/environment.md) that several rooms ask for.
//! Those of checkpoints are read by ckpt/control/settings.rs, those of failures by recover/settings.rs.

use super::read::Reader;
use super::{devices, parse, silent, tuner_settings};
pub use promp_settings::replay_policy::Replay;
use promp_settings::save_budget::Budget;
use promp_settings::{
    AFTER, CRASHES, FAULT, FT, RECOMPUTE, REPLAY, REPORT, REPRODUCIBLE, SAVE_BUDGET, SDC, STATS, VERBOSE,
    WATCHDOG, times,
};

/// How orphans are scheduled over the survivors (PROMP_RECOMPUTE; PR_SCHE of P1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Recompute {
    /// Equal blocks, one a survivor.
    Static = 1,
    /// First come, first served, in shrinking pieces.
    Dynamic = 2,
}

/// What is to be done when a worksharing construct is made, beyond making it: one word, looked at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constructs {
    /// Nothing.
    Plain,
    /// It may be recomputed if somebody has vouched for it.
    Vouched,
    /// … or something is proved.
    Proven,
    /// It may be recomputed.
    Always,
    /// The tuner looks at it; of the rest, see [`Settings::untuned`].
    Tuned,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// PROMP_FT.
    pub ft: bool,
    /// PROMP_REPLAY.
    pub replay: Replay,
    /// PROMP_RECOMPUTE.
    pub recompute: Recompute,
    /// PROMP_REPRODUCIBLE.
    pub reproducible: bool,
    /// PROMP_AFTER=shrink.
    pub(crate) shrink: bool,
    /// PROMP_CRASHES=runtime.
    pub takes_crashes: bool,
    /// PROMP_SAVE_BUDGET.
    pub(crate) save_budget: Option<Budget>,
    /// PROMP_WATCHDOG in nanoseconds.
    pub watchdog_ns: Option<u64>,
    /// The silent errors of PROMP_FAULT.
    pub silent: Vec<silent::Fault>,
    /// PROMP_REPORT.
    pub report: Option<String>,
    /// PROMP_STATS.
    pub stats: bool,
    /// PROMP_VERBOSE.
    pub verbose: u32,
    /// PROMP_DEVICES and PROMP_SDC*.
    pub devices: devices::Settings,
    /// PROMP_TUNE and PROMP_TUNE_THREADS.
    pub tune: tuner_settings::Settings,
    /// What follows from all of them for worksharing constructs.
    pub(crate) constructs: Constructs,
    /// The same without the tuner.
    pub(crate) untuned: Constructs,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ft: true,
            replay: Replay::Proven,
            recompute: Recompute::Dynamic,
            reproducible: false,
            shrink: false,
            takes_crashes: false,
            save_budget: None,
            watchdog_ns: None,
            silent: Vec::new(),
            report: None,
            stats: false,
            verbose: 1,
            devices: devices::Settings::default(),
            tune: tuner_settings::Settings::default(),
            constructs: Constructs::Proven,
            untuned: Constructs::Proven,
        }
    }
}

impl Settings {
    /// Reads them; bad values are handed on.
    pub fn read(from: &mut Reader) -> Self {
        let mut s = Self::default();
        s.ft = from.word(&FT) == 1;
        s.replay = from.value(&REPLAY, Replay::parse).unwrap_or(s.replay);
        s.recompute = [Recompute::Dynamic, Recompute::Static][from.word(&RECOMPUTE)];
        s.reproducible = from.word(&REPRODUCIBLE) == 1;
        s.shrink = from.word(&AFTER) == 1;
        s.takes_crashes = from.word(&CRASHES) == 1;
        s.save_budget = from.value(&SAVE_BUDGET, Budget::parse);
        s.watchdog_ns = from.value(&WATCHDOG, times::watchdog_ns).flatten();
        let verbose = from.value(&VERBOSE, |v| parse::number(v).filter(|&n| n <= 3));
        s.verbose = verbose.map_or(s.verbose, |n| n as u32);
        s.stats = from.word(&STATS) == 1;
        s.report = from.value(&REPORT, |v| (!v.is_empty()).then(|| v.to_string()));
        s.silent = from.parsed(&FAULT, |v| silent::split(v).map(|(silent, _)| silent)).unwrap_or_default();
        s.devices = devices::Settings::read(&from.getter(), |why| from.stop(why));
        if let devices::Mode::Chunks(_) = s.devices.sdc {
            let forbids = match s.replay {
                _ if !s.ft => Some((&FT, "off")),
                Replay::Never => Some((&REPLAY, "never")),
                _ => None,
            };
            if let Some((other, value)) = forbids {
                let (sdc, other) = (SDC.name, other.name);
                from.stop(format!("{sdc}=chunks executes chunks again, which {other}={value} forbids"));
            }
        }
        s.tune = tuner_settings::Settings::read(from, s.reproducible);
        s.untuned = match s.replay {
            _ if !s.ft || s.reproducible => Constructs::Plain,
            Replay::Assume | Replay::Functions(_) => Constructs::Always,
            Replay::Proven => Constructs::Proven,
            Replay::Never => Constructs::Vouched,
        };
        s.constructs = if s.tune.mode == tuner_settings::Mode::Off { s.untuned } else { Constructs::Tuned };
        s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>, Vec<String>) {
        crate::sys::environment_reader::of_pairs(pairs, Settings::read)
    }

    #[test]
    fn defaults_are_those_of_the_table() {
        let (said, warn, stop) = read(&crate::sys::environment_reader::defaults());
        assert!(warn.is_empty() && stop.is_empty(), "{warn:?} {stop:?}");
        let default = Settings { save_budget: Some(Budget::DEFAULT), ..Settings::default() };
        assert_eq!(format!("{said:?}"), format!("{default:?}"));
        assert_eq!(format!("{:?}", read(&[]).0), format!("{:?}", Settings::default()));
    }

    #[test]
    fn good_values() {
        let (s, w, e) = read(&[
            ("PROMP_FT", "on"),
            ("PROMP_REPLAY", "main._omp_fn.*,work?"),
            ("PROMP_RECOMPUTE", "static"),
            ("PROMP_AFTER", "shrink"),
            ("PROMP_CRASHES", "runtime"),
            ("PROMP_SAVE_BUDGET", "all"),
            ("PROMP_WATCHDOG", "20ms"),
            ("PROMP_VERBOSE", "3"),
        ]);
        assert!(w.is_empty() && e.is_empty(), "{w:?} {e:?}");
        assert_eq!(s.replay, Replay::Functions(vec!["main._omp_fn.*".into(), "work?".into()]));
        assert!(s.shrink);
        assert_eq!(s.save_budget, Some(Budget::Unlimited));
        assert_eq!((s.watchdog_ns, s.verbose), (Some(20_000_000), 3));
    }

    #[test]
    fn bad_values_are_named_and_defaulted() {
        for (name, value) in [
            ("PROMP_FT", "yes"),
            ("PROMP_REPLAY", "a b"),
            ("PROMP_RECOMPUTE", "guided"),
            ("PROMP_REPRODUCIBLE", "2"),
            ("PROMP_AFTER", "retire"),
            ("PROMP_CRASHES", "mine"),
            ("PROMP_SAVE_BUDGET", "much"),
            ("PROMP_WATCHDOG", "20"),
            ("PROMP_VERBOSE", "9"),
            ("PROMP_REPORT", ""),
        ] {
            let (_, w, e) = read(&[(name, value)]);
            assert!(
                w.len() == 1 && w[0].contains(name) && w[0].contains(value) && e.is_empty(),
                "{name}: {w:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(v in "\\PC{0,30}") {
            for n in ["PROMP_FT", "PROMP_REPLAY", "PROMP_WATCHDOG", "PROMP_FAULT", "PROMP_SAVE_BUDGET"] {
                let _ = read(&[(n, &v)]);
            }
        }
    }
}
