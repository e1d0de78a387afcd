//! The report (PROMP_REPORT): one JSON object, written at exit to a temporary file that is then renamed; and
//! the statistics (PROMP_STATS), which are a few lines of the same.

use super::failure_records::{self, BY, Recovery};
use super::{inject, no_regions, unmade};
use crate::ckpt;
use crate::icv::{Globals, globals_if_ready};
use crate::proofs::segment_tables::{self, Verdict};
use crate::save::unsaved_time;
use crate::say;
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use crate::sys::{syscall, time};
use crate::team::registry::threads;
use crate::team::thread;
use crate::team::{region, worker_pool};
use crate::work::{site, tune};
use core::sync::atomic::{AtomicBool, Ordering::*};
use promp_report::{By, Checkpoint, Failure, Loop, Report, Sdc, Stopped, Unsafe};

static STARTED: Own<u64> = Own::new(0);
/// Who knows of silent errors; set when the library is loaded.
pub static SDC: Own<Option<Collect>> = Own::new(None);
/// What it says for the report.
pub(crate) type Collect = fn() -> Option<Sdc>;
static WRITTEN: AtomicBool = AtomicBool::new(false);
/// Is this a child that the process has made by `fork`?
static FORKED: AtomicBool = AtomicBool::new(false);

/// A call site's account as the report has it.
fn account(a: site::Account) -> Loop {
    let entry = segment_tables::behind_call(a.site);
    let (at, verdict, why) = parts(entry.map_or("", |e| e.text()));
    // Where it turns out that no old values are needed, they may be missing.
    let lost = match entry.map(|e| e.verdict) {
        None | Some(Verdict::Opaque) => a.ns,
        Some(Verdict::Idempotent) => a.marks,
        Some(Verdict::Undo) => a.marks + a.unsaved,
    };
    let (seconds, unsafe_s) = (a.ns as f64 * 1e-9, lost as f64 * 1e-9);
    Loop { at, verdict, why, times: a.times, seconds, unsafe_s }
}

/// "file:line: verdict: why".
fn parts(text: &str) -> (String, String, String) {
    let (at, rest) = text.split_once(": ").unwrap_or(("?", "unknown"));
    let (verdict, why) = rest.split_once(": ").unwrap_or((rest, ""));
    (at.into(), verdict.into(), why.into())
}

/// Sites because of which a failure would have been refused for a time.
fn unsafe_sites() -> Vec<Unsafe> {
    unsaved_time::all()
        .into_iter()
        .map(|u| {
            let (at, what) = u.text.split_once(": ").unwrap_or(("?", &u.text));
            let stopped = u.stopped.map(|s| {
                let (budget, compiled) = s.budget;
                Stopped { percent: s.percent, budget: budget.to_string(), compiled }
            });
            Unsafe { at: at.into(), what: what.into(), times: u.times, seconds: u.ns as f64 * 1e-9, stopped }
        })
        .collect()
}

/// Loops of objects that have been unloaded, or whose destructors have run: they may run before the report is
/// written.
static OF_OTHERS: Locked<Vec<Loop>> = Locked::new(Vec::new());

/// The object goes whose table lies at `start`: what is known of its loops is kept as texts.
pub fn object_goes(start: *const i32) {
    if site::keeps_accounts() {
        let gone = site::take(|at| segment_tables::is_of(start, at));
        OF_OTHERS.with(|v| v.extend(gone.into_iter().map(account)));
        unsaved_time::forget(start as usize);
    }
}

fn loops() -> Vec<Loop> {
    let mut all: Vec<Loop> = site::accounts().into_iter().map(account).collect();
    OF_OTHERS.with(|v| all.extend(v.iter().cloned()));
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    all
}

/// What others add to the report; written while the runtime is initialised.
static ALSO: Own<[Option<Add>; 4]> = Own::new([None; 4]);

/// Adds something to a report.
pub(crate) type Add = fn(&mut Report);

/// Has `f` add to the report. Called while the runtime is initialised.
pub fn also(f: Add) {
    let mut all = ALSO.get();
    if let Some(free) = all.iter_mut().find(|a| a.is_none()) {
        *free = Some(f);
    }
    ALSO.set(all);
}

/// The time of the library's loading, until the runtime is used.
pub(crate) fn begins() {
    STARTED.set(time::now_ns());
}

/// Notes the time and arranges for the report at exit.
pub(crate) fn start(g: &Globals) {
    STARTED.set(time::now_ns());
    if g.promp.report.is_some() {
        site::keep_accounts();
    }
    let unmade = unmade::start(g);
    if g.promp.stats {
        // SAFETY: the handler lives as long as the process.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    }
    let asked = g.promp.report.is_some() || g.promp.stats;
    if asked || !super::settings::get().faults.is_empty() || unmade {
        // SAFETY: the handler lives as long as the process.
        unsafe { libc::atexit(at_exit) };
    }
}

extern "C" fn at_exit() {
    if let Some(thr) = thread::known() {
        // A stop would find the arena's lock held: from here on it waits.
        thr.in_runtime.store(1, Relaxed);
    }
    let Some(g) = globals_if_ready() else { return };
    if g.promp.ft && g.promp.verbose >= 1 {
        let n = inject::not_fired();
        if n > 0 {
            say!(
                "{n} of the faults in PROMP_FAULT did not strike, or not as often as they should: their points were not \
                 reached, or there was not enough time"
            );
        }
    }
    unmade::at_end(g);
    write();
}

/// What a child has inherited is not its own: its parent's statistics say it.
extern "C" fn forked() {
    FORKED.store(true, Relaxed);
}

/// Writes the report and the statistics, once.
pub(crate) fn write() {
    let Some(g) = globals_if_ready() else { return };
    let stats = g.promp.stats && !FORKED.load(Relaxed);
    if (g.promp.report.is_none() && !stats) || WRITTEN.swap(true, AcqRel) {
        return;
    }
    let path = g.promp.report.as_deref().filter(|path| !no_regions::is_there_already(path));
    if path.is_none() && !stats {
        return;
    }
    let mut report = collect();
    ALSO.get().into_iter().flatten().for_each(|add| add(&mut report));
    tune::decisions::add(&mut report);
    if let Some(path) = path {
        publish(path, &report);
    }
    if stats {
        crate::sys::out::write(report.to_string().as_bytes());
    }
}

/// Writes the report of a process that has not used OpenMP.
pub(crate) fn write_unused(path: &str) {
    publish(path, &Report { threads: 0, ..collect() });
}

fn publish(path: &str, report: &Report) {
    // A trace has a hundred thousand lines.
    let json = match report.trace {
        Some(_) => serde_json::to_string(report),
        None => serde_json::to_string_pretty(report),
    };
    let text = json.unwrap_or_default() + "\n";
    if path == "-" {
        crate::sys::out::write(text.as_bytes());
        return;
    }
    if let Err(e) = promp_files::replace(path.as_ref(), text.as_bytes()) {
        say!("cannot write the report {path}: {}", e.kind());
    }
}

/// `struct promp_statistics`.
#[repr(C)]
pub struct PrompStatistics {
    /// Parallel regions started at the outermost level.
    pub regions: u64,
    /// Chunks handed out in regions that have ended.
    pub chunks: u64,
    /// Failures so far.
    pub failures: u64,
    /// Worker threads created.
    pub workers: u64,
}

/// Counts for `promp_stats`.
pub fn statistics() -> PrompStatistics {
    PrompStatistics {
        regions: region::count(),
        chunks: chunks(),
        failures: failure_records::all().len() as u64,
        workers: u64::from(worker_pool::workers()),
    }
}

/// Chunks handed out so far.
pub(crate) fn chunks() -> u64 {
    threads().iter().map(|t| t.chunks.get()).sum()
}

fn collect() -> Report {
    let began = STARTED.get();
    let program =
        std::fs::read_link("/proc/thread-self/exe").map(|p| p.display().to_string()).unwrap_or_default();
    let records = failure_records::all();
    let failures = records.iter().map(|r| {
        let repeated = r.recovery.get() == Recovery::Recompute;
        Failure {
            kind: r.kind.name().into(),
            thread: r.place.thread,
            region: r.place.region,
            construct: r.place.construct.into(),
            ordinal: r.place.ordinal,
            chunk: r.place.chunk,
            at_s: time::seconds(began, r.at_ns),
            recovery: r.recovery.get().name().into(),
            lost_iterations: if repeated { r.place.iterations } else { 0 },
            recomputed_by: (0..BY)
                .map(|thread| By { thread: thread as u32, iterations: r.by[thread].load(Relaxed) })
                .filter(|b| b.iterations > 0)
                .collect(),
            recovery_s: r.took_ns.load(Relaxed) as f64 * 1e-9,
        }
    });
    Report {
        promp: env!("CARGO_PKG_VERSION").into(),
        program,
        pid: syscall::getpid(),
        threads: worker_pool::workers() + 1,
        wall_s: time::seconds(began, time::now_ns()),
        regions: region::count(),
        why: no_regions::why(),
        replay: globals_if_ready().map_or(String::new(), |g| g.promp.replay.to_string()),
        chunks: chunks(),
        faults_not_fired: if globals_if_ready().is_some_and(|g| g.promp.ft) {
            inject::not_fired()
        } else {
            0
        },
        failures: failures.collect(),
        checkpoints: ckpt::taken()
            .iter()
            .map(|t| Checkpoint {
                generation: t.generation,
                at_s: time::seconds(began, t.at_ns),
                bytes: t.bytes,
                dirty_pages: t.dirty_pages,
                stop_s: t.stop_ns as f64 / 1e9,
                write_s: t.write_ns as f64 / 1e9,
                left_out: t.left_out,
                cost_s: t.cost_ns as f64 / 1e9,
                interval_s: t.interval_ns as f64 / 1e9,
            })
            .collect(),
        loops: loops(),
        unsafe_sites: unsafe_sites(),
        sdc: SDC.get().and_then(|collect| collect()),
        ..Report::default()
    }
}
