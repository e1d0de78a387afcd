//! A run in which nothing of OpenMP happens: whoever has asked `promp run` for checkpoints, failures or a
//! report hears so at its end, and gets a report that says so. Only the process speaks that was started. What
//! its descendants have done it does not know, but for reports: so where there were any it speaks of nothing
//! else.

use super::report;
use crate::icv::globals_if_ready;
use crate::say;
use crate::sys::{env, objects, own::Own, preserved_memory, syscall};
use crate::team::region;
use promp_image::run_record::{Started, coarse_now, faults_of_children};
use promp_settings::{CKPT_DIR, FAULT, REPORT, SDC, Setting, VERBOSE, internal::RUN};
use std::time::{SystemTime, UNIX_EPOCH};

/// What the process that was started was asked for.
#[derive(Clone)]
struct Asked {
    pid: u32,
    /// [`Started::children`].
    children: u64,
    /// Nothing more need be said.
    said: bool,
    /// Settings, and what there is not, as [`promp_settings::NEED_PROMP`] has them.
    what: Vec<(&'static Setting, &'static str)>,
    /// PROMP_REPORT.
    report: Option<String>,
}

/// Written while the library is loaded; none in processes that were not started by `promp run`.
static ASKED: Own<Option<&'static Asked>> = Own::new(None);
/// When the run began, or this process where there is no run: nanoseconds since 1970. Written while the
/// library is loaded, where a report is asked for.
static BEGAN: Own<u64> = Own::new(0);

/// The library is loaded.
pub fn at_load() {
    if env::secure() {
        return;
    }
    let value = env::get(RUN.name);
    let run = value.as_deref().and_then(Started::parse);
    if env::is_set(REPORT.c_name) {
        BEGAN.set(run.map_or_else(coarse_now, |r| r.began_ns));
        report::begins();
    }
    let Some(run) = run.filter(|r| r.pid == syscall::getpid()) else { return };
    let asked = |setting: &Setting| env::get(setting.name).filter(|v| promp_settings::asks(v));
    let all = promp_settings::NEED_PROMP.into_iter();
    let what: Vec<_> = all.filter(|(setting, _)| asked(setting).is_some()).collect();
    let quiet = env::get(VERBOSE.name).is_some_and(|v| v.trim() == "0");
    let (pid, children, said, report) = (run.pid, run.children, run.said || quiet, asked(&REPORT));
    let a = Asked { pid, children, said, what, report };
    ASKED.set((!a.what.is_empty()).then(|| &*Box::leak(Box::new(a))));
}

fn nothing_happened() -> bool {
    region::count() == 0 && report::chunks() == 0
}

/// Why the report has no region, if so.
pub(crate) fn why() -> Option<String> {
    (region::count() == 0).then(|| match another_runtime() {
        Some(path) => format!("its OpenMP runtime is {path}, whose place promp does not take"),
        None if globals_if_ready().is_none() => "it has not called its OpenMP runtime".into(),
        None => "it has executed no parallel region".into(),
    })
}

/// LLVM's runtime, if it is loaded, as what is found in the end.
fn another_runtime() -> Option<String> {
    let is_it = |o: &objects::Object| {
        let name = o.path.rsplit('/').next().unwrap_or_default();
        ["libomp.so", "libiomp5.so", "libomp-"].iter().any(|n| name.starts_with(n))
    };
    objects::loaded().into_iter().find(is_it).map(|o| o.path)
}

/// Has another process of the run written a report there, and this one has nothing to say?
pub(crate) fn is_there_already(path: &str) -> bool {
    let written = || {
        let at = std::fs::metadata(path).ok()?.modified().ok()?;
        Some(SystemTime::duration_since(&at, UNIX_EPOCH).ok()?.as_nanos() as u64)
    };
    nothing_happened() && written().is_some_and(|at| at >= BEGAN.get())
}

/// Has this process started others? The kernel knows those that have been waited for, and those that are
/// there.
fn had_children(a: &Asked) -> bool {
    // SAFETY: zeros are a value of it; the kernel writes it.
    let some_are_there = unsafe {
        let mut one: libc::siginfo_t = core::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &raw mut one, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) == 0
    };
    some_are_there || faults_of_children() != a.children
}

/// The program ends. `devices`: it has used some.
pub fn at_end(devices: bool) {
    let Some(a) = ASKED.get().filter(|a| a.pid == syscall::getpid()) else { return };
    if !nothing_happened() || devices {
        return;
    }
    let others = had_children(a);
    let mine = |path: &&str| if *path == "-" { !others } else { !is_there_already(path) };
    let report = a.report.as_deref().filter(mine);
    if let Some(path) = report
        && globals_if_ready().is_none()
    {
        report::write_unused(path);
    }
    let why = why().unwrap_or_default();
    if a.said {
        return;
    }
    if others {
        if let Some(path) = report {
            say!("{path} says of nothing: {why}, and no process that it has started has written a report");
        }
        return;
    }
    let is_news = |name: &str| match name {
        // Where the keeper is there, a checkpoint was possible.
        _ if name == CKPT_DIR.name => !preserved_memory::on(),
        // It has been said what became of them.
        _ if [FAULT.name, SDC.name].contains(&name) => globals_if_ready().is_none(),
        _ => true,
    };
    let news = a.what.iter().filter(|(setting, _)| is_news(setting.name));
    let what: Vec<_> = news.map(|&(setting, what)| (setting.typed(), what)).collect();
    if !what.is_empty() {
        let (program, lacks) = (program(), promp_settings::lacks(&what, true));
        say!("{program} has ended, and {why}: {lacks}. `promp doctor {program}` says what promp is to it");
    }
}

fn program() -> String {
    std::fs::read_link("/proc/thread-self/exe").map_or("the program".into(), |p| p.display().to_string())
}
