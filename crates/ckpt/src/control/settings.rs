//! What the settings say of checkpoints: PROMP_CKPT_*, PROMP_MTBF, PROMP_ON_SIGNAL (docs/environment.md).

use crate::keeper::Copying;
use crate::runtime::{General, runtime};
use crate::sys::env;
use crate::sys::own::Own;
use crate::sys::variables::{Reader, fatal, reported};
use crate::{files, image, interval};
use image::cpu::{LEVELS, Level};
use image::on_signal::OnSignal;
use image::plan::Plan;
use promp_settings::quantities;
use promp_settings::times::Interval;
use std::path::PathBuf;
use std::sync::Arc;

/// The variable that asks for self-contained checkpoints.
pub const CONTAINED: &str = "PROMP_CKPT_SELF_CONTAINED";
/// The same.
pub const CONTAINED_NAME: &core::ffi::CStr = c"PROMP_CKPT_SELF_CONTAINED";
/// So many generations can be kept.
const MOST_KEPT: usize = 1000;

/// PROMP_CKPT_THREADS: which threads that the program has made itself are saved (keeper/strangers.rs). With
/// any other there is no checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strangers {
    /// Those that compute, or wait for what goes back with them (`sys/kernel/waiting.rs`).
    #[default]
    Inside,
    /// None.
    Team,
    /// All.
    All,
}

/// What the settings say of checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// PROMP_CKPT_DIR.
    pub dir: PathBuf,
    /// PROMP_CKPT_INTERVAL.
    pub interval_ns: u64,
    /// PROMP_CKPT_INTERVAL=auto: the mean time between failures, from which and what checkpoints cost the
    /// interval is found.
    pub auto_mtbf_ns: Option<u64>,
    /// PROMP_CKPT_TRACK=compare.
    pub compare: bool,
    /// PROMP_CKPT_COPY.
    pub copying: Copying,
    /// PROMP_CKPT_KEEP: so many generations stay whole, 1 at least.
    pub keep: usize,
    /// PROMP_CKPT_THREADS.
    pub strangers: Strangers,
    /// PROMP_CKPT_FILES: bytes of the files whose content is saved.
    pub files: u64,
    /// PROMP_CKPT_LIVE: is dead memory left out?
    pub live: bool,
    /// PROMP_CKPT_POISON: is what was left out filled with NaNs after it was put back?
    pub poison: bool,
    /// PROMP_CKPT_PLAN.
    pub plan: Option<Arc<Plan>>,
    /// PROMP_CKPT_WHERE=serial: are they taken in serial code, if the program comes there in time?
    pub in_serial: bool,
    /// PROMP_CKPT_SELF_CONTAINED: are copies of all files that are mapped kept with the checkpoints?
    pub contained: bool,
    /// PROMP_CKPT_CPU: the level of the CPUs that the run is bound to.
    pub level: Option<Level>,
    /// PROMP_ON_SIGNAL.
    pub on_signal: OnSignal,
    /// PROMP_VERBOSE.
    pub verbose: u32,
    /// Default number of threads of a region, in a process that goes on from a checkpoint; 0: the runtime
    /// knows.
    pub threads: u32,
    /// Descriptors that the program was started with.
    pub inherited: Vec<files::Inherited>,
}

impl Settings {
    /// Reads them; bad values are handed on. None: there are to be no checkpoints.
    pub fn read(from: &mut Reader, verbose: u32) -> Option<Self> {
        const FILES: u64 = 64 << 20;
        let least = |from: &mut Reader, name: &str, least_ns: u64| {
            let v = from.get(name)?;
            let n = quantities::duration_ns(v.trim()).filter(|&n| n >= least_ns);
            if n.is_none() {
                let least = least_ns / 1_000_000;
                from.stop(format!("{name}={v}: expected a duration like 20ms or 1.5s, at least {least}ms"));
            }
            n
        };
        let mtbf = least(from, "PROMP_MTBF", 1_000_000);
        let (interval, auto_mtbf_ns) = Self::interval(from, mtbf);
        // Which of the words; the first is the default.
        let mut choice = |name: &str, words: &[&str]| {
            let Some(v) = from.get(name) else { return 0 };
            words.iter().position(|&w| w == v.trim()).unwrap_or_else(|| {
                from.stop(format!("{name}={v}: accepted are {}", words.join(", ")));
                0
            })
        };
        let compare = choice("PROMP_CKPT_TRACK", &["auto", "compare"]) == 1;
        let copying = [Copying::Auto, Copying::Stopped, Copying::Running, Copying::Small]
            [choice("PROMP_CKPT_COPY", &["auto", "stopped", "running", "small"])];
        let strangers = [Strangers::Inside, Strangers::Team, Strangers::All]
            [choice("PROMP_CKPT_THREADS", &["inside", "team", "all"])];
        let live = choice("PROMP_CKPT_LIVE", &["on", "off"]) == 0;
        let poison = choice("PROMP_CKPT_POISON", &["0", "1"]) == 1;
        let in_serial = choice("PROMP_CKPT_WHERE", &["anywhere", "serial"]) == 1;
        let contained = choice(CONTAINED, &["0", "1"]) == 1;
        let levels = LEVELS.map(Level::name);
        let level = from.get("PROMP_CKPT_CPU").and_then(|v| {
            let level = Level::parse(v.trim());
            if level.is_none() {
                from.stop(format!("PROMP_CKPT_CPU={v}: accepted are {}", levels.join(", ")));
            }
            level
        });
        let keep = match from.get("PROMP_CKPT_KEEP").map(|v| (v.trim().parse().ok(), v)) {
            None => 1,
            Some((Some(n @ 1..=MOST_KEPT), _)) => n,
            Some((_, v)) => {
                from.stop(format!("PROMP_CKPT_KEEP={v}: expected a number from 1 to {MOST_KEPT}"));
                1
            }
        };
        let files = match from.get("PROMP_CKPT_FILES").map(|v| (quantities::stack_size(&v), v)) {
            Some((None, v)) => {
                from.stop(format!("PROMP_CKPT_FILES={v}: expected a size like 64M"));
                FILES
            }
            Some((Some(bytes), _)) => bytes as u64,
            None => FILES,
        };
        let on_signal = match from.get("PROMP_ON_SIGNAL").map(|v| (OnSignal::parse(v.trim()), v)) {
            None => OnSignal::default(),
            Some((Ok(on), _)) => on,
            Some((Err(why), v)) => {
                from.stop(format!("PROMP_ON_SIGNAL={v}: {why}"));
                OnSignal::default()
            }
        };
        if on_signal != OnSignal::default() && from.get("PROMP_CKPT_DIR").is_none() {
            from.stop("PROMP_ON_SIGNAL needs PROMP_CKPT_DIR, the directory for the checkpoints".into());
        }
        let dir = from.get("PROMP_CKPT_DIR")?;
        if dir.is_empty() {
            from.stop("PROMP_CKPT_DIR=: expected a directory".into());
            return None;
        }
        let dir = std::path::absolute(dir).unwrap_or_default();
        Some(Self {
            dir,
            interval_ns: interval.max(1_000_000),
            auto_mtbf_ns,
            compare,
            copying,
            keep,
            strangers,
            live,
            poison,
            in_serial,
            contained,
            level,
            files,
            on_signal,
            verbose,
            ..Default::default()
        })
    }

    /// The interval; where it comes of what checkpoints cost, the mean time between failures, too.
    fn interval(from: &mut Reader, mtbf: Option<u64>) -> (u64, Option<u64>) {
        const NAME: &str = "PROMP_CKPT_INTERVAL";
        const DEFAULT: (u64, Option<u64>) = (30_000_000_000, None);
        let Some(v) = from.get(NAME) else { return DEFAULT };
        match (Interval::parse(&v), mtbf) {
            (Ok(Interval::Every(ns)), _) => (ns, None),
            // Until it is known what a checkpoint costs: P3's rule.
            (Ok(Interval::Auto), Some(m)) => (interval::reliable_ns(0.99, m), Some(m)),
            (Ok(Interval::Reliability(r)), Some(m)) => (interval::reliable_ns(r, m), None),
            (Ok(_), None) => {
                from.stop(format!("{NAME}={v} needs PROMP_MTBF, the mean time between failures"));
                DEFAULT
            }
            (Err(why), _) => {
                from.stop(format!("{NAME}={v}: {why}"));
                DEFAULT
            }
        }
    }

    /// Reads the plan. Not when the library is loaded: a shell that starts the program is another one.
    fn with_plan(mut self, from: &mut Reader) -> Self {
        let program = std::path::Path::new("/proc/self/exe");
        match from.get("PROMP_CKPT_PLAN").map(|v| (Plan::read(v.trim(), program), v)) {
            Some((Ok(plan), _)) => self.plan = Some(Arc::new(plan)),
            Some((Err(why), v)) => from.stop(format!("PROMP_CKPT_PLAN={v}: {why}")),
            None => {}
        }
        self
    }
}

/// Written once, before checkpoints begin.
static ASKED: Own<Option<&'static Settings>> = Own::new(None);

/// The settings of the checkpoints that are asked for, whether there can be any or not.
pub fn asked() -> Option<&'static Settings> {
    ASKED.get()
}

/// Reads them in a program that is to have checkpoints.
pub(crate) fn ask(verbose: u32) -> Option<&'static Settings> {
    if !env::secure() && ASKED.get().is_none() {
        let read = reported(|from| Settings::read(from, verbose).map(|s| s.with_plan(from)));
        ASKED.set(read.map(|s| &*Box::leak(Box::new(s))));
    }
    asked()
}

/// The same before the runtime's other settings are known. None: nor with PROMP_FT=off.
pub(crate) fn ask_at_load() -> Option<&'static Settings> {
    let General { ft, verbose } = fatal(|from| runtime().general(from));
    ft.then(|| ask(verbose)).flatten()
}

/// Those of a process that goes on from a checkpoint: the program's own come back with its memory.
pub(crate) fn again() -> Option<Settings> {
    fatal(|from| {
        let General { verbose, .. } = runtime().general(from);
        Settings::read(from, verbose)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::variables::of_pairs as of;

    fn read(pairs: &[(&str, &str)]) -> (Option<Settings>, Vec<String>) {
        let (s, warn, stop) = of(pairs, |from| Settings::read(from, 1));
        assert!(warn.is_empty(), "{warn:?}");
        (s, stop)
    }

    #[test]
    fn bad_values_stop() {
        for (name, value) in [
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
            ("PROMP_CKPT_SELF_CONTAINED", "yes"),
            ("PROMP_CKPT_CPU", "x86-64-v9"),
            ("PROMP_CKPT_FILES", "many"),
            ("PROMP_CKPT_KEEP", "0"),
            ("PROMP_CKPT_KEEP", "-1"),
            ("PROMP_CKPT_KEEP", "all"),
            ("PROMP_ON_SIGNAL", "TERM=checkpoint-exit"),
        ] {
            let (_, stop) = read(&[(name, value)]);
            assert!(stop.len() == 1 && stop[0].contains(name), "{name}: {stop:?}");
        }
    }

    #[test]
    fn intervals() {
        let (c, stop) =
            read(&[("PROMP_CKPT_DIR", "/x"), ("PROMP_CKPT_INTERVAL", "auto"), ("PROMP_MTBF", "100s")]);
        assert!(stop.is_empty());
        let c = c.unwrap();
        assert_eq!((c.interval_ns / 1_000_000, c.auto_mtbf_ns), (1005, Some(100_000_000_000)));
        let reliable = |r| {
            let set = [("PROMP_CKPT_DIR", "/x"), ("PROMP_CKPT_INTERVAL", r), ("PROMP_MTBF", "100s")];
            let (c, stop) = read(&set);
            (c.unwrap().interval_ns / 1_000_000, stop.len())
        };
        assert_eq!(reliable("reliability:0.99"), (1005, 0));
        assert_eq!(reliable("reliability:0.9"), (10536, 0));
        assert_eq!(reliable("reliability:1.5"), (30000, 1));
    }

    #[test]
    fn a_plan_that_cannot_be_read_stops_where_checkpoints_begin() {
        let set = [("PROMP_CKPT_DIR", "/x"), ("PROMP_CKPT_PLAN", "/nowhere")];
        assert!(read(&set).1.is_empty());
        let (s, _, stop) = of(&set, |from| Settings::read(from, 1).map(|s| s.with_plan(from)));
        assert!(stop.len() == 1 && stop[0].contains("PROMP_CKPT_PLAN=/nowhere"), "{stop:?}");
        assert!(s.unwrap().plan.is_none());
    }
}
