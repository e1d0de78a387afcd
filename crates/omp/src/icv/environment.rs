//! Reads the environment into [`Globals`]: every OMP_* and GOMP_* variable of libgomp 12, with its
//! messages, and ours.

use super::allocators::{self, Allocator};
use super::parse::{self, boolean, list, positive};
use super::places::{self, Place, ProcBind};
use super::read::{reported, say_unknown};
use super::settings::Settings;
use super::{Globals, Icvs, RunSched, Sched, UNDECIDED_DEVICE};
use crate::sys::env::{get, secure};
use crate::sys::limits;
use crate::warn;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The number of threads that a process goes on with from before it read OMP_NUM_THREADS; 0: there is none.
/// Memory, so a later checkpoint has it. Relaxed: it is written while all threads are frozen.
static GOES_ON_WITH: AtomicU32 = AtomicU32::new(0);

/// run-sched-var where nobody says otherwise.
const DEFAULT_SCHEDULE: RunSched = RunSched { kind: Sched::Dynamic, chunk: 1, monotonic: false };

/// OMP_NUM_THREADS is to be read as if it began with `n`.
pub fn go_on_with(n: u32) {
    GOES_ON_WITH.store(n, Relaxed);
}

/// Parses variable `name` if it is set; an invalid value is reported and counts as unset.
fn var<T>(name: &str, parser: impl Fn(&str) -> Option<T>) -> Option<T> {
    let v = get(name)?;
    let r = parser(&v);
    if r.is_none() {
        warn!("Invalid value for environment variable {name}: {v:?}");
    }
    r
}

/// A variable of which there is one for each device: NAME is the host's, NAME_ALL everybody's who has none
/// of its own. (NAME_DEV and NAME_DEV_n are those of devices.)
fn host_var<T>(name: &str, parser: impl Fn(&str) -> Option<T>) -> Option<T> {
    if get(name).is_some() { var(name, parser) } else { var(&format!("{name}_ALL"), parser) }
}

/// A variable of device `number`: NAME_DEV_n goes before NAME_DEV, which goes before NAME_ALL.
fn device_var<T>(number: u32, name: &str, parser: impl Fn(&str) -> Option<T>) -> Option<T> {
    [format!("{name}_DEV_{number}"), format!("{name}_DEV"), format!("{name}_ALL")]
        .iter()
        .find(|n| get(n).is_some())
        .and_then(|n| var(n, parser))
}

/// OMP_NUM_TEAMS or OMP_TEAMS_THREAD_LIMIT of device `number`.
pub fn number_of_device(number: u32, name: &str) -> Option<i32> {
    device_var(number, name, positive).map(|n| n as i32)
}

/// The initial task's ICVs on device `number`: `host`'s, but for the variables of devices.
pub fn of_device(number: u32, host: Icvs) -> Icvs {
    let threads = device_var(number, "OMP_NUM_THREADS", |s| list(s, positive));
    let levels = |s: &str| parse::number(s).filter(|&n| n <= i32::MAX as u64);
    let active = device_var(number, "OMP_MAX_ACTIVE_LEVELS", levels);
    Icvs {
        threads: threads.and_then(|l| l.first().copied()).unwrap_or(host.threads),
        dynamic: device_var(number, "OMP_DYNAMIC", boolean).unwrap_or(host.dynamic),
        max_active_levels: active
            .map_or(host.max_active_levels, |n| (n as u32).min(super::MAX_ACTIVE_LEVELS)),
        sched: device_var(number, "OMP_SCHEDULE", parse::schedule).unwrap_or(host.sched),
        thread_limit: device_var(number, "OMP_THREAD_LIMIT", positive).unwrap_or(host.thread_limit),
        ..host
    }
}

fn int(s: &str) -> Option<i32> {
    let t = s.trim();
    let (neg, t) = t.strip_prefix('-').map_or((false, t), |t| (true, t));
    let n = parse::number(t).filter(|&n| n <= i32::MAX as u64)? as i32;
    Some(if neg { -n } else { n })
}

/// OMP_NUM_THREADS, as a list.
fn threads_list() -> Vec<u32> {
    let mut list = host_var("OMP_NUM_THREADS", |s| list(s, positive)).unwrap_or_default();
    match (GOES_ON_WITH.load(Relaxed), list.first_mut()) {
        (0, _) => {}
        (n, Some(first)) => *first = n,
        (n, None) => list.push(n),
    }
    list
}

/// Where threads are to be.
struct Binding {
    /// OMP_PROC_BIND as a list.
    list: Vec<ProcBind>,
    /// bind-var.
    policy: ProcBind,
    /// The place list; empty when threads are not bound.
    places: Vec<Place>,
    /// OMP_PLACES or GOMP_CPU_AFFINITY as given.
    text: Option<String>,
    /// Processors this process may use.
    procs: u32,
}

impl Binding {
    fn read() -> Self {
        let list = host_var("OMP_PROC_BIND", parse::binds).unwrap_or_default();
        let text = get("OMP_PLACES").or_else(|| get("GOMP_CPU_AFFINITY"));
        // Where threads are to be bound, libgomp has bound this one already. Elsewhere its mask is the
        // program's own wish.
        let binds = list.first().map_or(text.is_some(), |&b| b != ProcBind::False);
        let allowed = if binds { limits::at_load() } else { limits::affinity_mask() };
        let given = var("OMP_PLACES", |s| places::parse(s, &allowed))
            .or_else(|| var("GOMP_CPU_AFFINITY", |s| places::parse_cpu_list(s, &allowed)));
        let by_places = if given.is_some() { ProcBind::True } else { ProcBind::False };
        let policy = list.first().copied().unwrap_or(by_places);
        let places = match given {
            _ if policy == ProcBind::False => Vec::new(),
            Some(places) => places,
            None => places::parse("cores", &allowed).unwrap_or_default(),
        };
        Self { list, policy, places, text, procs: allowed.len().max(1) as u32 }
    }
}

/// max-active-levels-var; `lists`: a variable says what holds at several levels.
fn max_active_levels(lists: bool) -> u32 {
    let nested = host_var("OMP_NESTED", boolean);
    let active = host_var("OMP_MAX_ACTIVE_LEVELS", |s| parse::number(s).filter(|&n| n <= i32::MAX as u64));
    let supported = super::MAX_ACTIVE_LEVELS;
    match (active, nested) {
        (Some(n), _) => (n as u32).min(supported),
        (None, Some(true)) => supported,
        (None, Some(false)) => 1,
        (None, None) if lists => supported,
        (None, None) => 1,
    }
}

fn target_offload(s: &str) -> Option<u32> {
    match s.trim().to_ascii_lowercase().as_str() {
        "default" => Some(0),
        "mandatory" => Some(1),
        "disabled" => Some(2),
        _ => None,
    }
}

/// OMP_DISPLAY_ENV.
fn display_env() -> u32 {
    match get("OMP_DISPLAY_ENV").as_deref().map(str::trim) {
        None => 0,
        Some(v) if v.eq_ignore_ascii_case("true") => 1,
        Some(v) if v.eq_ignore_ascii_case("verbose") => 2,
        Some(v) if v.eq_ignore_ascii_case("false") => 0,
        Some(v) => {
            warn!("Invalid value for environment variable OMP_DISPLAY_ENV: {v:?}");
            0
        }
    }
}

/// The runtime's own settings.
fn own_settings() -> Settings {
    if secure() {
        return Settings::default();
    }
    let settings = reported(Settings::read);
    if settings.verbose >= 1 {
        say_unknown();
    }
    settings
}

fn wait_active(s: &str) -> Option<bool> {
    match s.trim().to_ascii_lowercase().as_str() {
        "active" => Some(true),
        "passive" => Some(false),
        _ => None,
    }
}

fn spin_count(s: &str) -> Option<u64> {
    let t = s.trim();
    if t.eq_ignore_ascii_case("infinite") || t.eq_ignore_ascii_case("infinity") {
        return Some(u64::MAX);
    }
    let (t, mul) = match t.bytes().last()?.to_ascii_lowercase() {
        b'k' => (&t[..t.len() - 1], 1_000),
        b'm' => (&t[..t.len() - 1], 1_000_000),
        b'g' => (&t[..t.len() - 1], 1_000_000_000),
        _ => (t, 1),
    };
    parse::number(t)?.checked_mul(mul)
}

/// Reads everything.
pub(crate) fn read() -> Globals {
    let threads_list = threads_list();
    let binding = Binding::read();
    let cpu_quota = limits::cgroup_quota();
    let procs = cpu_quota.map_or(binding.procs, |q| binding.procs.min(q));
    let max_active_levels = max_active_levels(threads_list.len() > 1 || binding.list.len() > 1);
    let sched = host_var("OMP_SCHEDULE", parse::schedule).unwrap_or(DEFAULT_SCHEDULE);
    let described = host_var("OMP_ALLOCATOR", allocators::parse);
    let target_offload = var("OMP_TARGET_OFFLOAD", target_offload).unwrap_or(0);
    let initial = Icvs {
        threads: threads_list.first().copied().unwrap_or(procs),
        list_index: 0,
        dynamic: host_var("OMP_DYNAMIC", boolean).unwrap_or(false),
        bind: binding.policy,
        max_active_levels,
        sched,
        thread_limit: host_var("OMP_THREAD_LIMIT", positive).unwrap_or(u32::MAX),
        default_device: var("OMP_DEFAULT_DEVICE", |s| int(s).filter(|&n| n >= 0))
            .unwrap_or(if target_offload == 1 { UNDECIDED_DEVICE } else { 0 }),
        device: 0,
        allocator: match &described {
            Some(Allocator::Predefined(handle)) => *handle,
            Some(Allocator::Described(_)) => allocators::FROM_ENVIRONMENT,
            None => 1,
        },
    };
    Globals {
        initial: crate::sys::own::Own::new(initial),
        display_env: display_env(),
        promp: own_settings(),
        threads_list,
        bind_list: binding.list,
        places: binding.places,
        places_text: binding.text,
        cancellation: var("OMP_CANCELLATION", boolean).unwrap_or(false),
        max_task_priority: var("OMP_MAX_TASK_PRIORITY", |s| int(s).filter(|&n| n >= 0)).unwrap_or(0),
        stack_size: host_var("OMP_STACKSIZE", parse::stack_size)
            .or_else(|| var("GOMP_STACKSIZE", parse::stack_size))
            .unwrap_or(0),
        wait_active: host_var("OMP_WAIT_POLICY", wait_active),
        spin_count: var("GOMP_SPINCOUNT", spin_count),
        display_affinity: var("OMP_DISPLAY_AFFINITY", boolean).unwrap_or(false),
        affinity_format: get("OMP_AFFINITY_FORMAT")
            .or_else(|| get("OMP_AFFINITY_FORMAT_ALL"))
            .unwrap_or_else(|| "level %L thread %i affinity %A".to_string()),
        target_offload,
        num_teams: host_var("OMP_NUM_TEAMS", positive).unwrap_or(0) as i32,
        teams_thread_limit: host_var("OMP_TEAMS_THREAD_LIMIT", positive).unwrap_or(0) as i32,
        allocator: match described {
            Some(Allocator::Described(d)) => Some(d),
            _ => None,
        },
        procs,
        cpu_quota,
    }
}
