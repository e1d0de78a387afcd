//! OMP_DISPLAY_ENV and `omp_display_env`: the ICVs on stderr, in the form of OpenMP 5.1, section 6.12.

use super::{Globals, RunSched};
use crate::sys::env;
use promp_settings::{ALL, Audience, Setting};
use std::fmt::Write;

/// A schedule as OMP_SCHEDULE would have it.
fn schedule(s: RunSched) -> String {
    let kind = s.kind.word().to_uppercase();
    let prefix = if s.monotonic && s.kind != super::Sched::Static { "MONOTONIC:" } else { "" };
    if s.chunk > 1 { format!("{prefix}{kind},{}", s.chunk) } else { format!("{prefix}{kind}") }
}

/// What holds of our own: what is set, if it is a value, or the default, if there is one.
fn held(setting: &Setting) -> Option<String> {
    let set = if env::secure() { None } else { env::get(setting.name) };
    set.filter(|v| setting.check(v).is_ok()).or(setting.default.map(str::to_owned))
}

/// A place as OMP_PLACES would have it.
fn place(cpus: &[u32]) -> String {
    format!("{{{}}}", cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
}

/// The whole text. `default_device`: the ICV, as far as it is known.
pub fn text(g: &Globals, verbose: bool, default_device: i32) -> String {
    let i = &g.initial.get();
    let yes = |b: bool| if b { "TRUE" } else { "FALSE" };
    let join = |v: Vec<String>| v.join(",");
    let mut t = String::from("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '201511'\n");
    let mut line = |name: &str, value: String| {
        let _ = writeln!(t, "  {name} = '{value}'");
    };
    line("OMP_DYNAMIC", yes(i.dynamic).into());
    line("OMP_NESTED", yes(i.max_active_levels > 1).into());
    line(
        "OMP_NUM_THREADS",
        if g.threads_list.is_empty() {
            i.threads.to_string()
        } else {
            join(g.threads_list.iter().map(u32::to_string).collect())
        },
    );
    line("OMP_SCHEDULE", schedule(i.sched));
    line(
        "OMP_PROC_BIND",
        if g.bind_list.is_empty() {
            format!("{:?}", i.bind).to_uppercase()
        } else {
            join(g.bind_list.iter().map(|b| format!("{b:?}").to_uppercase()).collect())
        },
    );
    line("OMP_PLACES", join(g.places.iter().map(|p| place(p)).collect()));
    line("OMP_STACKSIZE", g.stack_size.to_string());
    line("OMP_WAIT_POLICY", if g.wait_active == Some(true) { "ACTIVE" } else { "PASSIVE" }.into());
    line("OMP_THREAD_LIMIT", i.thread_limit.to_string());
    line("OMP_MAX_ACTIVE_LEVELS", i.max_active_levels.to_string());
    line("OMP_NUM_TEAMS", g.num_teams.to_string());
    line("OMP_TEAMS_THREAD_LIMIT", g.teams_thread_limit.to_string());
    line("OMP_CANCELLATION", yes(g.cancellation).into());
    line("OMP_DEFAULT_DEVICE", default_device.to_string());
    line("OMP_MAX_TASK_PRIORITY", g.max_task_priority.to_string());
    line("OMP_DISPLAY_AFFINITY", yes(g.display_affinity).into());
    line("OMP_AFFINITY_FORMAT", g.affinity_format.clone());
    line("OMP_ALLOCATOR", env::get("OMP_ALLOCATOR").unwrap_or_else(|| i.allocator.to_string()));
    line("OMP_TARGET_OFFLOAD", ["DEFAULT", "MANDATORY", "DISABLED"][g.target_offload as usize].into());
    if verbose {
        line("GOMP_CPU_AFFINITY", g.places_text.clone().unwrap_or_default());
        line("GOMP_STACKSIZE", g.stack_size.to_string());
        line("GOMP_SPINCOUNT", g.spin_count.map_or("".into(), |n| n.to_string()));
    }
    for setting in ALL.iter().filter(|s| s.audience == Audience::Users) {
        if let Some(value) = held(setting) {
            line(setting.name, value);
        }
    }
    t.push_str("OPENMP DISPLAY ENVIRONMENT END\n");
    t
}
