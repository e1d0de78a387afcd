//! What the settings say of checkpoints: PROMP_CKPT_*, PROMP_MTBF, PROMP_ON_SIGNAL (docs/environment.md).

use crate::runtime::{General, runtime};
use crate::sys::env;
use crate::sys::environment_reader::{Reader, fatal, reported};
use crate::sys::own::Own;
use crate::{image, open_descriptors};
use image::checkpoint_plan::Plan;
use image::cpu::Level;
use image::on_signal::OnSignal;
use promp_model::interval;
use promp_settings::times::{self, Interval};
use promp_settings::{
    CKPT_COPY, CKPT_CPU, CKPT_DIR, CKPT_FILES, CKPT_INTERVAL, CKPT_KEEP, CKPT_LIVE, CKPT_PLAN, CKPT_POISON,
    CKPT_SELF_CONTAINED, CKPT_THREADS, CKPT_TRACK, CKPT_WHERE, MTBF, ON_SIGNAL, quantities,
};
use std::path::PathBuf;
use std::sync::Arc;

/// PROMP_CKPT_FILES unless it says another size.
const FILES: u64 = 64 << 20;

/// PROMP_CKPT_THREADS: which threads that the program has made itself are saved (keeper/strangers.rs). With
/// any other there is no checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strangers {
    /// Those that compute, or wait for what goes back with them (`sys/kernel/blocking_call.rs`).
    #[default]
    Inside,
    /// None.
    Team,
    /// All.
    All,
}

/// PROMP_CKPT_COPY: when memory is copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copying {
    /// While the program runs, where much has changed as a whole.
    #[default]
    Auto,
    /// While the threads are frozen.
    Stopped,
    /// While the program runs, wherever that is possible: for tests.
    Running,
    /// As `Auto`, but from a block on: for tests.
    Small,
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
    pub inherited: Vec<open_descriptors::Inherited>,
}

impl Settings {
    /// Reads them; bad values are handed on. None: there are to be no checkpoints.
    pub fn read(from: &mut Reader, verbose: u32) -> Option<Self> {
        let mtbf = from.value(&MTBF, times::duration_ns);
        let (interval_ns, auto_mtbf_ns) = Self::interval(from, mtbf);
        let files = from.value(&CKPT_FILES, quantities::stack_size);
        let mut s = Self {
            interval_ns,
            auto_mtbf_ns,
            compare: from.word(&CKPT_TRACK) == 1,
            copying: [Copying::Auto, Copying::Stopped, Copying::Running, Copying::Small]
                [from.word(&CKPT_COPY)],
            strangers: [Strangers::Inside, Strangers::Team, Strangers::All][from.word(&CKPT_THREADS)],
            live: from.word(&CKPT_LIVE) == 0,
            poison: from.word(&CKPT_POISON) == 1,
            in_serial: from.word(&CKPT_WHERE) == 1,
            contained: from.word(&CKPT_SELF_CONTAINED) == 1,
            level: from.value(&CKPT_CPU, Level::parse),
            keep: from.number(&CKPT_KEEP) as usize,
            files: files.map_or(FILES, |bytes| bytes as u64),
            on_signal: from.parsed(&ON_SIGNAL, OnSignal::parse).unwrap_or_default(),
            verbose,
            ..Default::default()
        };
        if s.on_signal != OnSignal::default() && from.get(CKPT_DIR.name).is_none() {
            let (on_signal, dir) = (ON_SIGNAL.name, CKPT_DIR.name);
            from.stop(format!("{on_signal} needs {dir}, the directory for the checkpoints"));
        }
        let dir = from.get(CKPT_DIR.name)?;
        if let Err(why) = CKPT_DIR.check(&dir) {
            from.stop(CKPT_DIR.complaint(&dir, &why));
            return None;
        }
        s.dir = std::path::absolute(dir).unwrap_or_default();
        Some(s)
    }

    /// The interval; where it comes of what checkpoints cost, the mean time between failures, too.
    fn interval(from: &mut Reader, mtbf: Option<u64>) -> (u64, Option<u64>) {
        const DEFAULT: (u64, Option<u64>) = (30_000_000_000, None);
        let interval = from.parsed(&CKPT_INTERVAL, |v| match (Interval::parse(v)?, mtbf) {
            (Interval::Every(ns), _) => Ok((ns, None)),
            // Until it is known what a checkpoint costs: P3's rule.
            (Interval::Auto, Some(m)) => Ok((interval::reliable_ns(0.99, m), Some(m))),
            (Interval::Reliability(r), Some(m)) => Ok((interval::reliable_ns(r, m), None)),
            (_, None) => Err(format!("it needs {}, the mean time between failures", MTBF.name)),
        });
        interval.map_or(DEFAULT, |(ns, auto)| (ns.max(1_000_000), auto))
    }

    /// Reads the plan. Not when the library is loaded: a shell that starts the program is another one.
    fn with_plan(mut self, from: &mut Reader) -> Self {
        let program = std::path::Path::new("/proc/self/exe");
        self.plan = from.parsed(&CKPT_PLAN, |v| Plan::read(v, program)).map(Arc::new);
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
    use crate::sys::environment_reader::of_pairs as of;

    fn read(pairs: &[(&str, &str)]) -> (Option<Settings>, Vec<String>) {
        let (s, warn, stop) = of(pairs, |from| Settings::read(from, 1));
        assert!(warn.is_empty(), "{warn:?}");
        (s, stop)
    }

    #[test]
    fn defaults_are_those_of_the_table() {
        let dir = ("PROMP_CKPT_DIR", "/x");
        let all: Vec<_> = [dir].into_iter().chain(crate::sys::environment_reader::defaults()).collect();
        assert_eq!(read(&all), read(&[dir]));
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
