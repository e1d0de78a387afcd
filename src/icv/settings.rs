//! The runtime's own settings: the `PROMP_*` variables (docs/environment.md) that several rooms ask for.
//! Those of checkpoints are read by ckpt/control/settings.rs, those of failures by fault/settings.rs.

use super::read::Reader;
use super::{devices, parse, silent, tune};
pub(crate) use promp_settings::replay_policy::Replay;
use promp_settings::times;

/// How orphans are scheduled over the survivors (PROMP_RECOMPUTE; PR_SCHE of P1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Recompute {
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
pub(crate) struct Settings {
    /// PROMP_FT.
    pub ft: bool,
    /// PROMP_REPLAY.
    pub replay: Replay,
    /// PROMP_RECOMPUTE.
    pub recompute: Recompute,
    /// PROMP_REPRODUCIBLE.
    pub reproducible: bool,
    /// PROMP_AFTER=shrink.
    pub shrink: bool,
    /// PROMP_CRASHES=runtime.
    pub takes_crashes: bool,
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
    pub tune: tune::Settings,
    /// What follows from all of them for worksharing constructs.
    pub constructs: Constructs,
    /// The same without the tuner.
    pub untuned: Constructs,
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
            watchdog_ns: None,
            silent: Vec::new(),
            report: None,
            stats: false,
            verbose: 1,
            devices: devices::Settings::default(),
            tune: tune::Settings::default(),
            constructs: Constructs::Proven,
            untuned: Constructs::Proven,
        }
    }
}

impl Settings {
    /// Reads them; bad values are handed on.
    pub(crate) fn read(from: &mut Reader) -> Self {
        let mut s = Self::default();
        let mut choice = |name: &str, accepted: &str, set: &mut dyn FnMut(&str) -> Option<()>| {
            from.choice(name, accepted, set)
        };
        choice("PROMP_FT", "off, on", &mut |v| on_off(v).map(|b| s.ft = b));
        choice("PROMP_REPLAY", Replay::ACCEPTED, &mut |v| Replay::parse(v).map(|r| s.replay = r));
        choice("PROMP_RECOMPUTE", "dynamic, static", &mut |v| recompute(v).map(|r| s.recompute = r));
        choice("PROMP_REPRODUCIBLE", "0, 1", &mut |v| zero_one(v).map(|b| s.reproducible = b));
        choice("PROMP_AFTER", "respawn, shrink", &mut |v| {
            second(v, ["respawn", "shrink"]).map(|b| s.shrink = b)
        });
        choice("PROMP_CRASHES", "program, runtime", &mut |v| {
            second(v, ["program", "runtime"]).map(|b| s.takes_crashes = b)
        });
        choice("PROMP_WATCHDOG", times::WATCHDOG, &mut |v| times::watchdog_ns(v).map(|n| s.watchdog_ns = n));
        choice("PROMP_VERBOSE", "0, 1, 2, 3", &mut |v| {
            parse::number(v).filter(|&n| n <= 3).map(|n| s.verbose = n as u32)
        });
        choice("PROMP_STATS", "0, 1", &mut |v| zero_one(v).map(|b| s.stats = b));
        choice("PROMP_REPORT", "a path, or - for stderr", &mut |v| {
            (!v.is_empty()).then(|| s.report = Some(v.to_string()))
        });
        match from.get("PROMP_FAULT").map(|v| (silent::split(&v), v)) {
            Some((Ok((silent, _)), _)) => s.silent = silent,
            Some((Err(e), v)) => from.stop(format!("PROMP_FAULT={v}: {e}")),
            None => {}
        }
        s.devices = devices::Settings::read(&from.getter(), |why| from.stop(why));
        if let devices::Mode::Chunks(_) = s.devices.sdc {
            let forbids = if !s.ft {
                Some("PROMP_FT=off")
            } else if s.replay == Replay::Never {
                Some("PROMP_REPLAY=never")
            } else {
                None
            };
            if let Some(f) = forbids {
                from.stop(format!("PROMP_SDC=chunks executes chunks again, which {f} forbids"));
            }
        }
        s.tune = tune::Settings::read(&from.getter(), s.reproducible, |why| from.warn(why));
        s.untuned = match s.replay {
            _ if !s.ft || s.reproducible => Constructs::Plain,
            Replay::Assume | Replay::Functions(_) => Constructs::Always,
            Replay::Proven => Constructs::Proven,
            Replay::Never => Constructs::Vouched,
        };
        s.constructs = if s.tune.mode == tune::Mode::Off { s.untuned } else { Constructs::Tuned };
        s
    }
}

/// Is it the second of the two?
fn second(v: &str, words: [&str; 2]) -> Option<bool> {
    words.iter().position(|&w| w == v).map(|i| i == 1)
}

fn on_off(v: &str) -> Option<bool> {
    second(v, ["off", "on"])
}

fn zero_one(v: &str) -> Option<bool> {
    second(v, ["0", "1"])
}

fn recompute(v: &str) -> Option<Recompute> {
    match v {
        "dynamic" => Some(Recompute::Dynamic),
        "static" => Some(Recompute::Static),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>, Vec<String>) {
        crate::sys::variables::of_pairs(pairs, Settings::read)
    }

    #[test]
    fn good_values() {
        let (s, w, e) = read(&[
            ("PROMP_FT", "on"),
            ("PROMP_REPLAY", "main._omp_fn.*,work?"),
            ("PROMP_RECOMPUTE", "static"),
            ("PROMP_AFTER", "shrink"),
            ("PROMP_CRASHES", "runtime"),
            ("PROMP_WATCHDOG", "20ms"),
            ("PROMP_VERBOSE", "3"),
        ]);
        assert!(w.is_empty() && e.is_empty(), "{w:?} {e:?}");
        assert_eq!(s.replay, Replay::Functions(vec!["main._omp_fn.*".into(), "work?".into()]));
        assert!(s.shrink);
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
            for n in ["PROMP_FT", "PROMP_REPLAY", "PROMP_WATCHDOG", "PROMP_FAULT", "PROMP_VERBOSE"] {
                let _ = read(&[(n, &v)]);
            }
        }
    }
}
