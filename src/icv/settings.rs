//! The runtime's own settings: the `PROMP_*` variables (docs/environment.md).

use super::{devices, parse, silent, tune};
use crate::ckpt;
use crate::ckpt::image::on_signal::OnSignal;
use crate::ckpt::image::plan::Plan;
use crate::ckpt::interval;
use crate::ckpt::keeper::Copying;
use crate::fault::saving::Budget;
use crate::fault::spec::{self, Fault};
use crate::say;
use std::sync::Arc;

/// Which work counts as replayable (PROMP_REPLAY).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Only what is proved, or vouched for by `promp_replayable(1)`.
    Proven,
    /// Everything: the user vouches.
    Assume,
    /// Nothing.
    Never,
    /// Regions whose outlined function's name matches one of the globs.
    Functions(Vec<String>),
}

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
pub enum Constructs {
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
    pub shrink: bool,
    /// PROMP_CRASHES=runtime.
    pub takes_crashes: bool,
    /// PROMP_WATCHDOG in nanoseconds.
    pub watchdog_ns: Option<u64>,
    /// PROMP_SAVE_BUDGET.
    pub save_budget: Budget,
    /// PROMP_FAULT.
    pub faults: Vec<Fault>,
    /// ... the silent errors among them.
    pub silent: Vec<silent::Fault>,
    /// PROMP_REPORT.
    pub report: Option<String>,
    /// PROMP_VERBOSE.
    pub verbose: u32,
    /// PROMP_CKPT_DIR and what belongs to it.
    pub checkpoints: Option<ckpt::Settings>,
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
            save_budget: Budget::DEFAULT,
            faults: Vec::new(),
            silent: Vec::new(),
            report: None,
            verbose: 1,
            checkpoints: None,
            devices: devices::Settings::default(),
            tune: tune::Settings::default(),
            constructs: Constructs::Proven,
            untuned: Constructs::Proven,
        }
    }
}

/// What a bad value leads to.
pub enum Bad {
    /// One line, and the default is used.
    Warn(String),
    /// The program stops with exit status 64 before it has done anything.
    Stop(String),
}

impl Settings {
    /// Reads the settings through `get`; bad values are handed to `bad`.
    pub fn read(get: impl Fn(&str) -> Option<String>, mut bad: impl FnMut(Bad)) -> Self {
        let mut s = Self::default();
        let mut choice = |name: &str, accepted: &str, set: &mut dyn FnMut(&str) -> Option<()>| {
            if let Some(v) = get(name)
                && set(v.trim()).is_none()
            {
                bad(Bad::Warn(format!(
                    "{name}={v} is not understood: accepted are {accepted}; using the default"
                )));
            }
        };
        choice("PROMP_FT", "off, on", &mut |v| on_off(v).map(|b| s.ft = b));
        choice("PROMP_REPLAY", "proven, assume, never, or a list of function-name globs", &mut |v| {
            replay(v).map(|r| s.replay = r)
        });
        choice("PROMP_RECOMPUTE", "dynamic, static", &mut |v| recompute(v).map(|r| s.recompute = r));
        choice("PROMP_REPRODUCIBLE", "0, 1", &mut |v| zero_one(v).map(|b| s.reproducible = b));
        choice("PROMP_AFTER", "respawn, shrink", &mut |v| {
            second(v, ["respawn", "shrink"]).map(|b| s.shrink = b)
        });
        choice("PROMP_CRASHES", "program, runtime", &mut |v| {
            second(v, ["program", "runtime"]).map(|b| s.takes_crashes = b)
        });
        choice("PROMP_WATCHDOG", "off, or a duration like 20ms or 1.5s (at least 1ms)", &mut |v| match v {
            "off" => Some(()),
            _ => parse::duration_ns(v).filter(|&n| n >= 1_000_000).map(|n| s.watchdog_ns = Some(n)),
        });
        choice("PROMP_SAVE_BUDGET", "a share of a loop's time like 2%, or all", &mut |v| {
            Budget::parse(v).map(|b| s.save_budget = b)
        });
        choice("PROMP_VERBOSE", "0, 1, 2, 3", &mut |v| {
            parse::number(v).filter(|&n| n <= 3).map(|n| s.verbose = n as u32)
        });
        choice("PROMP_REPORT", "a path, or - for stderr", &mut |v| {
            (!v.is_empty()).then(|| s.report = Some(v.to_string()))
        });
        if let Some(v) = get("PROMP_FAULT") {
            let parsed = silent::split(&v).and_then(|(silent, rest)| {
                s.silent = silent;
                rest.map_or(Ok(Vec::new()), |r| spec::parse(&r))
            });
            match parsed {
                Ok(f) => s.faults = f,
                Err(e) => bad(Bad::Stop(format!("PROMP_FAULT={v}: {e}"))),
            }
        }
        s.checkpoints = checkpoints(&get, s.verbose, |why| bad(Bad::Stop(why)));
        s.devices = devices::Settings::read(&get, |why| bad(Bad::Stop(why)));
        if let devices::Mode::Chunks(_) = s.devices.sdc {
            let forbids = if !s.ft {
                Some("PROMP_FT=off")
            } else if s.replay == Replay::Never {
                Some("PROMP_REPLAY=never")
            } else {
                None
            };
            if let Some(f) = forbids {
                bad(Bad::Stop(format!("PROMP_SDC=chunks executes chunks again, which {f} forbids")));
            }
        }
        if matches!(s.devices.sdc, devices::Mode::Chunks(_)) && get("PROMP_SAVE_BUDGET").is_none() {
            // What is not saved cannot be verified.
            s.save_budget = Budget::Unlimited;
        }
        s.tune = tune::Settings::read(&get, s.reproducible, |why| bad(Bad::Warn(why)));
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

/// Acts on a bad value: prints, and stops where it must.
pub fn report_bad(b: Bad) {
    match b {
        Bad::Warn(m) => say!("{m}"),
        Bad::Stop(m) => {
            say!("{m}");
            crate::sys::syscall::exit_group(64);
        }
    }
}

/// The settings of checkpoints; bad values are handed to `bad`.
fn checkpoints(
    get: &impl Fn(&str) -> Option<String>,
    verbose: u32,
    mut bad: impl FnMut(String),
) -> Option<ckpt::Settings> {
    const DEFAULT_NS: u64 = 30_000_000_000;
    const FILES: u64 = 64 << 20;
    let mut least = |name: &str, least_ns: u64| {
        let v = get(name)?;
        let n = parse::duration_ns(v.trim()).filter(|&n| n >= least_ns);
        if n.is_none() {
            bad(format!(
                "{name}={v}: expected a duration like 20ms or 1.5s, at least {}ms",
                least_ns / 1_000_000
            ));
        }
        n
    };
    let mtbf = least("PROMP_MTBF", 1_000_000);
    let mut auto_mtbf_ns = None;
    let word = get("PROMP_CKPT_INTERVAL");
    let reliability = word.as_deref().and_then(|w| w.trim().strip_prefix("reliability:")).map(str::to_owned);
    let interval = match (word.as_deref().map(str::trim), reliability, mtbf) {
        (Some("auto"), _, None) | (_, Some(_), None) => {
            let what = word.unwrap_or_default();
            bad(format!("PROMP_CKPT_INTERVAL={what} needs PROMP_MTBF, the mean time between failures"));
            DEFAULT_NS
        }
        // Until it is known what a checkpoint costs: P3's rule.
        (Some("auto"), _, Some(m)) => {
            auto_mtbf_ns = Some(m);
            interval::reliable_ns(0.99, m)
        }
        (_, Some(r), Some(m)) => match r.parse::<f64>() {
            Ok(r) if r > 0.0 && r < 1.0 => interval::reliable_ns(r, m),
            _ => {
                bad(format!(
                    "PROMP_CKPT_INTERVAL=reliability:{r}: expected a number between 0 and 1, like 0.99"
                ));
                DEFAULT_NS
            }
        },
        _ => least("PROMP_CKPT_INTERVAL", 1_000_000).unwrap_or(DEFAULT_NS),
    };
    // Which of the words; the first is the default.
    let mut choice = |name: &str, words: &[&str]| {
        let Some(v) = get(name) else { return 0 };
        words.iter().position(|&w| w == v.trim()).unwrap_or_else(|| {
            bad(format!("{name}={v}: accepted are {}", words.join(", ")));
            0
        })
    };
    let compare = choice("PROMP_CKPT_TRACK", &["auto", "compare"]) == 1;
    let copying = [Copying::Auto, Copying::Stopped, Copying::Running, Copying::Small]
        [choice("PROMP_CKPT_COPY", &["auto", "stopped", "running", "small"])];
    let all_threads = choice("PROMP_CKPT_THREADS", &["team", "all"]) == 1;
    let live = choice("PROMP_CKPT_LIVE", &["on", "off"]) == 0;
    let poison = choice("PROMP_CKPT_POISON", &["0", "1"]) == 1;
    let in_serial = choice("PROMP_CKPT_WHERE", &["anywhere", "serial"]) == 1;
    let files = match get("PROMP_CKPT_FILES").map(|v| (parse::stack_size(&v), v)) {
        Some((None, v)) => {
            bad(format!("PROMP_CKPT_FILES={v}: expected a size like 64M"));
            FILES
        }
        Some((Some(bytes), _)) => bytes as u64,
        None => FILES,
    };
    let on_signal = match get("PROMP_ON_SIGNAL").map(|v| (OnSignal::parse(v.trim()), v)) {
        None => OnSignal::default(),
        Some((Ok(on), _)) => on,
        Some((Err(why), v)) => {
            bad(format!("PROMP_ON_SIGNAL={v}: {why}"));
            OnSignal::default()
        }
    };
    if on_signal != OnSignal::default() && get("PROMP_CKPT_DIR").is_none() {
        bad("PROMP_ON_SIGNAL needs PROMP_CKPT_DIR, the directory for the checkpoints".into());
    }
    let dir = get("PROMP_CKPT_DIR")?;
    if dir.is_empty() {
        bad("PROMP_CKPT_DIR=: expected a directory".into());
        return None;
    }
    let dir = std::path::absolute(dir).unwrap_or_default();
    let program = std::path::Path::new("/proc/self/exe");
    let plan = match get("PROMP_CKPT_PLAN").map(|v| (Plan::read(v.trim(), program), v)) {
        Some((Err(why), v)) => {
            bad(format!("PROMP_CKPT_PLAN={v}: {why}"));
            None
        }
        read => read.and_then(|(plan, _)| plan.ok()).map(Arc::new),
    };
    Some(ckpt::Settings {
        dir,
        interval_ns: interval.max(1_000_000),
        auto_mtbf_ns,
        compare,
        copying,
        all_threads,
        live,
        poison,
        in_serial,
        plan,
        files,
        on_signal,
        verbose,
        ..Default::default()
    })
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

fn replay(v: &str) -> Option<Replay> {
    match v {
        "" => None,
        "proven" => Some(Replay::Proven),
        "assume" => Some(Replay::Assume),
        "never" => Some(Replay::Never),
        globs => {
            let list: Vec<String> = globs.split([',', ':']).map(|g| g.trim().to_string()).collect();
            let sound = |g: &String| {
                !g.is_empty() && g.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.$*?@~".contains(&b))
            };
            list.iter().all(sound).then_some(Replay::Functions(list))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>, Vec<String>) {
        let (mut warn, mut stop) = (vec![], vec![]);
        let s = Settings::read(
            |n| pairs.iter().find(|(k, _)| *k == n).map(|(_, v)| v.to_string()),
            |b| match b {
                Bad::Warn(m) => warn.push(m),
                Bad::Stop(m) => stop.push(m),
            },
        );
        (s, warn, stop)
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
            ("PROMP_FAULT", "kill@thread=1"),
            ("PROMP_VERBOSE", "3"),
        ]);
        assert!(w.is_empty() && e.is_empty(), "{w:?} {e:?}");
        assert_eq!(s.replay, Replay::Functions(vec!["main._omp_fn.*".into(), "work?".into()]));
        assert!(s.shrink);
        assert_eq!((s.watchdog_ns, s.faults.len(), s.verbose), (Some(20_000_000), 1, 3));
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
        for (name, value) in [
            ("PROMP_FAULT", "explode"),
            ("PROMP_CKPT_DIR", ""),
            ("PROMP_CKPT_INTERVAL", "5"),
            ("PROMP_CKPT_INTERVAL", "auto"),
            ("PROMP_CKPT_INTERVAL", "reliability:0.99"),
            ("PROMP_MTBF", "soon"),
            ("PROMP_CKPT_TRACK", "magic"),
            ("PROMP_CKPT_COPY", "later"),
            ("PROMP_CKPT_THREADS", "some"),
            ("PROMP_CKPT_LIVE", "yes"),
            ("PROMP_CKPT_POISON", "on"),
            ("PROMP_CKPT_WHERE", "here"),
            ("PROMP_CKPT_FILES", "many"),
            ("PROMP_ON_SIGNAL", "TERM=checkpoint-exit"),
        ] {
            let (_, _, e) = read(&[(name, value)]);
            assert!(e.len() == 1 && e[0].contains(name), "{name}: {e:?}");
        }
        let (s, _, e) =
            read(&[("PROMP_CKPT_DIR", "/x"), ("PROMP_CKPT_INTERVAL", "auto"), ("PROMP_MTBF", "100s")]);
        assert!(e.is_empty());
        let c = s.checkpoints.unwrap();
        assert_eq!((c.interval_ns / 1_000_000, c.auto_mtbf_ns), (1005, Some(100_000_000_000)));
        let reliable = |r| {
            let set = [("PROMP_CKPT_DIR", "/x"), ("PROMP_CKPT_INTERVAL", r), ("PROMP_MTBF", "100s")];
            let (s, _, e) = read(&set);
            (s.checkpoints.unwrap().interval_ns / 1_000_000, e.len())
        };
        assert_eq!(reliable("reliability:0.99"), (1005, 0));
        assert_eq!(reliable("reliability:0.9"), (10536, 0));
        assert_eq!(reliable("reliability:1.5"), (30000, 1));
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
