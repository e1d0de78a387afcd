//! Internal control variables (OpenMP 5.1, section 2.4): the device-wide ones, read once from the
//! environment, and the set that every task carries; the machine's limits; the runtime's own settings
//! (`PROMP_*`).

pub mod affinity_format;
pub mod allocators;
pub mod display;
pub mod environment;
pub(crate) mod parse;
pub(crate) mod places;
pub mod settings;
pub mod silent;
pub mod tuner_settings;

pub use promp_settings::devices;
pub use promp_settings::schedules::Sched;
/// By this name for all who have settings of OpenMP.
pub use promp_sys::environment_reader as read;

use crate::sys::own::Own;
use crate::sys::syscall::CpuSet;
use places::{Place, ProcBind};
use promp_settings::save_budget::Budget;
use settings::Settings;

/// `omp_initial_device`.
pub const INITIAL_DEVICE: i32 = -1;
/// default-device-var before anybody asked for it, where only a device will do: the first one, or none.
pub const UNDECIDED_DEVICE: i32 = i32::MIN;
/// `omp_default_device` of GCC 16.
pub const DEFAULT_DEVICE: i32 = -5;
/// `omp_invalid_device`.
pub const INVALID_DEVICE: i32 = -4;

/// The run-sched ICV.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunSched {
    /// Kind.
    pub kind: Sched,
    /// Chunk size; 0 = the kind's default.
    pub chunk: u64,
    /// Was `monotonic` asked for (in OMP_SCHEDULE also by `static` without a modifier, as with libgomp)?
    pub monotonic: bool,
}

/// The ICVs of a data environment: every task has a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Icvs {
    /// nthreads-var.
    pub threads: u32,
    /// How far this nesting level is in the list of OMP_NUM_THREADS.
    pub(crate) list_index: u8,
    /// dyn-var.
    pub dynamic: bool,
    /// bind-var.
    pub bind: ProcBind,
    /// max-active-levels-var.
    pub max_active_levels: u32,
    /// run-sched-var.
    pub sched: RunSched,
    /// thread-limit-var.
    pub thread_limit: u32,
    /// default-device-var.
    pub default_device: i32,
    /// The device that the task runs for and one more; 0 for the host.
    pub device: u8,
    /// def-allocator-var: a handle.
    pub allocator: usize,
}

/// What is read once, before the first use.
pub struct Globals {
    /// The initial task's ICVs.
    pub initial: Own<Icvs>,
    /// OMP_NUM_THREADS as a list (nesting levels).
    pub(crate) threads_list: Vec<u32>,
    /// OMP_PROC_BIND as a list.
    pub(crate) bind_list: Vec<ProcBind>,
    /// The place list; empty when threads are not bound.
    pub places: Vec<Place>,
    /// OMP_PLACES or GOMP_CPU_AFFINITY as given.
    pub(crate) places_text: Option<String>,
    /// cancel-var.
    pub cancellation: bool,
    /// OMP_DYNAMIC etc. that have no place in [`Icvs`].
    pub max_task_priority: i32,
    /// stacksize-var in bytes; 0 = the system's.
    pub(crate) stack_size: usize,
    /// OMP_WAIT_POLICY: some(true) active, some(false) passive.
    pub(crate) wait_active: Option<bool>,
    /// GOMP_SPINCOUNT.
    pub(crate) spin_count: Option<u64>,
    /// display-affinity-var.
    pub(crate) display_affinity: bool,
    /// affinity-format-var at start.
    pub affinity_format: String,
    /// target-offload-var: 0 default, 1 mandatory, 2 disabled.
    pub target_offload: u32,
    /// nteams-var.
    pub num_teams: i32,
    /// teams-thread-limit-var.
    pub teams_thread_limit: i32,
    /// OMP_ALLOCATOR, where it describes an allocator of its own.
    pub allocator: Option<allocators::Described>,
    /// OMP_DISPLAY_ENV: 0 no, 1 yes, 2 verbose.
    pub(crate) display_env: u32,
    /// Processors this process may use.
    pub(crate) procs: u32,
    /// The quota of CPUs that the process's control groups have, if there is one.
    pub(crate) cpu_quota: Option<u32>,
    /// The runtime's own settings.
    pub promp: Settings,
}

impl Globals {
    /// Processors that are available now: what the calling thread may run on, which may have changed since
    /// the beginning. Where threads are bound its mask is a place of the runtime's, and says nothing.
    pub fn procs_now(&self) -> u32 {
        if !self.places.is_empty() {
            return self.procs;
        }
        let now = CpuSet::of_host(0).map_or(self.procs, |set| set.count());
        self.cpu_quota.map_or(now, |quota| now.min(quota)).max(1)
    }

    /// default-device-var at start, as far as it can be said before devices are looked for.
    pub(crate) fn default_device(&self) -> i32 {
        match (self.initial.get().default_device, &self.promp.devices.which) {
            (UNDECIDED_DEVICE, devices::Which::Auto | devices::Which::Nothing) => INVALID_DEVICE,
            (UNDECIDED_DEVICE, _) => 0,
            (n, _) => n,
        }
    }
}

static GLOBALS: Own<Option<&'static Globals>> = Own::new(None);

/// Installs the globals: called once, by the runtime's initialisation, under its lock.
pub(crate) fn install(g: Globals) -> &'static Globals {
    let g: &'static Globals = Box::leak(Box::new(g));
    GLOBALS.set(Some(g));
    g
}

/// Nesting levels of active regions supported (`omp_get_supported_active_levels`).
pub const MAX_ACTIVE_LEVELS: u32 = 255;

/// The globals. The runtime is initialised before any thread can get here.
#[inline(always)]
pub fn globals() -> &'static Globals {
    match GLOBALS.get() {
        Some(g) => g,
        None => crate::INITIALISE(),
    }
}

/// PROMP_SAVE_BUDGET, or the default.
pub(crate) fn save_budget() -> Budget {
    set_save_budget().unwrap_or_default()
}

/// PROMP_SAVE_BUDGET, if it is set; nothing before the runtime is initialised.
pub(crate) fn set_save_budget() -> Option<Budget> {
    globals_if_ready().and_then(|g| g.promp.save_budget)
}

/// The globals, if the runtime was initialised.
pub fn globals_if_ready() -> Option<&'static Globals> {
    GLOBALS.get()
}
