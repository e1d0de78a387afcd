//! The `omp_*` routines on ICVs, threads, levels, time and devices (OpenMP 5.1, chapter 3). Queries take no
//! stub: they wait for nobody and change nothing that recovery looks at.

use crate::device;
use crate::icv::MAX_ACTIVE_LEVELS;
use crate::icv::devices::MOST;
use crate::icv::environment;
use crate::icv::{INITIAL_DEVICE, INVALID_DEVICE, Icvs, Sched, globals};
use crate::team::hold::guarded;
use crate::team::member::Member;
use crate::team::team::Team;
use crate::team::thread::current;
use core::sync::atomic::{AtomicI32, Ordering::*};

pub(super) fn icvs() -> Icvs {
    current().task().icvs.get()
}

pub(super) fn change(f: impl FnOnce(&mut Icvs)) {
    let mut i = icvs();
    f(&mut i);
    current().set_icvs(i);
}

/// Defines exported C functions.
macro_rules! export {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)? $body:block)*) => {
        $($(#[$doc])* #[allow(non_snake_case, clippy::not_unsafe_ptr_arg_deref)] pub(crate) extern "C" fn $name($($arg: $t),*) $(-> $r)? $body
        $crate::export_names!($name);)*
    };
}
pub(crate) use export;

/// An ICV of which the host (0) and each device behind it (its number and one) have one: -1 until it is set
/// or first asked for.
struct OfEach([AtomicI32; MOST as usize + 1]);

impl OfEach {
    const fn new() -> Self {
        Self([const { AtomicI32::new(-1) }; MOST as usize + 1])
    }
    fn mine(&self) -> (usize, &AtomicI32) {
        let device = usize::from(icvs().device);
        (device, &self.0[device])
    }
    fn set(&self, n: i32) {
        if n >= 0 {
            self.mine().1.store(n, Relaxed);
        }
    }
    fn get(&self, name: &str, host: i32) -> i32 {
        let (device, value) = self.mine();
        let n = value.load(Relaxed);
        match device.checked_sub(1) {
            _ if n >= 0 => n,
            None => host,
            Some(number) => {
                let n = environment::number_of_device(number as u32, name).unwrap_or(host);
                // Relaxed: a number by itself; one that has been set meanwhile stays.
                value.compare_exchange(-1, n, Relaxed, Relaxed).map_or_else(|set| set, |_| n)
            }
        }
    }
}

static NUM_TEAMS: OfEach = OfEach::new();
static TEAMS_THREAD_LIMIT: OfEach = OfEach::new();

/// nteams-var.
pub(crate) fn num_teams() -> i32 {
    NUM_TEAMS.get("OMP_NUM_TEAMS", globals().num_teams)
}

/// teams-thread-limit-var.
pub(crate) fn teams_thread_limit() -> i32 {
    TEAMS_THREAD_LIMIT.get("OMP_TEAMS_THREAD_LIMIT", globals().teams_thread_limit)
}

/// The membership of the calling thread's ancestor at `level`, if there is one.
pub(super) fn ancestor(level: i32) -> Option<&'static Member> {
    let mut m = current().member();
    let here = m.team().level.get() as i32;
    if level == 1 && here == 0 && current().plainly.get() {
        return Some(m);
    }
    if level < 0 || level > here {
        return None;
    }
    for _ in level..here {
        m = m.team().primary.parent.get()?;
    }
    Some(m)
}

fn team() -> &'static Team {
    current().team()
}

/// The number of enclosing regions. One that is executed as serial code again counts where it is asked from:
/// a function that the compiler takes for constant, called in it, has been in a region before.
fn level() -> i32 {
    match team().level.get() {
        0 => i32::from(current().plainly.get()),
        n => n as i32,
    }
}

/// `omp_get_num_threads` (section 3.2.2), behind the light way.
pub(super) extern "C" fn num_threads() -> i32 {
    team().size() as i32
}

/// `omp_get_thread_num` (section 3.2.4), behind the light way.
pub(super) extern "C" fn thread_num() -> i32 {
    current().num() as i32
}

export! {
    /// `omp_get_max_threads` for code of promp-cc's that only shows the value
    /// (plugin/src/checkpoints/taint.cc): it is not noted (asks.rs).
    fn promp_shown_max_threads() -> i32 { icvs().threads as i32 }
    /// `omp_get_num_procs`, as above.
    fn promp_shown_num_procs() -> i32 { globals().procs_now() as i32 }
    /// `omp_get_num_threads`: `promp restart` knows it from those of others.
    fn promp_shown_num_threads() -> i32 { num_threads() }
    /// `omp_get_thread_num`, as above.
    fn promp_shown_thread_num() -> i32 { thread_num() }
    /// Section 3.2.5.
    fn omp_in_parallel() -> i32 { i32::from(team().active_level.get() > 0) }
    /// Section 3.2.6.
    fn omp_set_dynamic(on: i32) { change(|i| i.dynamic = on != 0) }
    /// Section 3.2.7.
    fn omp_get_dynamic() -> i32 { i32::from(icvs().dynamic) }
    /// Section 3.2.8.
    fn omp_get_cancellation() -> i32 { i32::from(globals().cancellation) }
    /// Section 3.2.9.
    fn omp_set_nested(on: i32) {
        change(|i| {
            if on == 0 {
                i.max_active_levels = 1;
            } else if i.max_active_levels <= 1 {
                i.max_active_levels = MAX_ACTIVE_LEVELS;
            }
        })
    }
    /// Section 3.2.10.
    fn omp_get_nested() -> i32 {
        let active = team().active_level.get();
        i32::from(icvs().max_active_levels > active && icvs().max_active_levels > 1)
    }
    /// Section 3.2.11. Bit 31 of the kind is the monotonic modifier.
    fn omp_set_schedule(kind: u32, chunk: i32) {
        let Some(k) = Sched::from_number(u64::from(kind & 0x7fff_ffff)) else { return };
        change(|i| {
            i.sched.kind = k;
            i.sched.chunk = match k {
                Sched::Static => chunk.max(0) as u64,
                Sched::Auto => i.sched.chunk,
                _ => chunk.max(1) as u64,
            };
            i.sched.monotonic = kind >> 31 != 0;
        })
    }
    /// Section 3.2.13.
    fn omp_get_thread_limit() -> i32 { icvs().thread_limit.min(i32::MAX as u32) as i32 }
    /// Section 3.2.14.
    fn omp_get_supported_active_levels() -> i32 { MAX_ACTIVE_LEVELS as i32 }
    /// Section 3.2.15.
    fn omp_set_max_active_levels(n: i32) {
        if n >= 0 {
            change(|i| i.max_active_levels = (n as u32).min(MAX_ACTIVE_LEVELS));
        }
    }
    /// Section 3.2.16.
    fn omp_get_max_active_levels() -> i32 { icvs().max_active_levels as i32 }
    /// Section 3.2.17.
    fn omp_get_level() -> i32 { level() }
    /// Section 3.2.20.
    fn omp_get_active_level() -> i32 { team().active_level.get() as i32 }
    /// Section 3.3.1.
    fn omp_get_proc_bind() -> i32 { icvs().bind as i32 }
    /// Section 3.4.1.
    fn omp_get_num_teams() -> i32 { current().league.get().1 as i32 }
    /// Section 3.4.2.
    fn omp_get_team_num() -> i32 { current().league.get().0 as i32 }
    /// Section 3.4.3.
    fn omp_set_num_teams(n: i32) { NUM_TEAMS.set(n) }
    /// Section 3.4.4.
    fn omp_get_max_teams() -> i32 { num_teams() }
    /// Section 3.4.5.
    fn omp_set_teams_thread_limit(n: i32) { TEAMS_THREAD_LIMIT.set(n) }
    /// Section 3.4.6.
    fn omp_get_teams_thread_limit() -> i32 { teams_thread_limit() }
    /// Section 3.5.1.
    fn omp_get_max_task_priority() -> i32 { globals().max_task_priority }
    /// Section 3.5.3 of OpenMP 5.2.
    fn omp_in_explicit_task() -> i32 { i32::from(current().in_explicit_task()) }
    /// Section 3.5.2.
    fn omp_in_final() -> i32 { i32::from(current().is_in_final()) }
    /// Section 3.7.2.
    fn omp_set_default_device(n: i32) {
        // `omp_default_device` leaves it, and so do numbers that mean nothing.
        if n >= 0 || n == INITIAL_DEVICE || n == INVALID_DEVICE {
            change(|i| i.default_device = n);
        }
    }
    /// Section 3.7.3.
    fn omp_get_default_device() -> i32 { guarded(|| device::default_of(&icvs())) }
    /// Section 3.7.4.
    fn omp_get_num_devices() -> i32 { guarded(|| device::all().len() as i32) }
    /// Section 3.7.5.
    fn omp_get_device_num() -> i32 {
        match icvs().device {
            0 => omp_get_num_devices(),
            n => i32::from(n) - 1,
        }
    }
    /// Section 3.7.6.
    fn omp_is_initial_device() -> i32 { i32::from(icvs().device == 0) }
    /// Section 3.7.7: the host's number is behind those of the devices.
    fn omp_get_initial_device() -> i32 { omp_get_num_devices() }
    /// Section 3.10.1.
    fn omp_get_wtime() -> f64 { crate::sys::time::now_ns() as f64 * 1e-9 }
    /// Section 3.10.2.
    fn omp_get_wtick() -> f64 { 1e-9 }
    /// Section 3.6.1: ends the workers that are not in a region. Kinds: 1 soft, 2 hard.
    fn omp_pause_resource(kind: i32, device: i32) -> i32 {
        let known = guarded(|| device::routines::pause(device));
        if !(1..=2).contains(&kind) || !known || level() != 0 {
            return -1;
        }
        guarded(|| {
            crate::team::setup::release_hot(current());
            crate::team::worker_pool::dismiss_idle();
        });
        0
    }
    /// Section 3.6.2.
    fn omp_pause_resource_all(kind: i32) -> i32 { omp_pause_resource(kind, omp_get_initial_device()) }
    /// Section 3.15.
    fn omp_display_env(verbose: i32) {
        guarded(|| {
            let g = globals();
            let device = device::default_of(&g.initial.get());
            let text = crate::icv::display::text(g, verbose != 0, device);
            crate::sys::out::as_the_program(2, text.as_bytes());
        })
    }
}

/// Section 3.2.12. Bit 31 of the kind is the monotonic modifier.
///
/// # Safety
/// Both pointers are writable.
pub(crate) unsafe extern "C" fn omp_get_schedule(kind: *mut u32, chunk: *mut i32) {
    let s = icvs().sched;
    let monotonic = if s.monotonic { 1 << 31 } else { 0 };
    // SAFETY: by the caller's promise.
    unsafe {
        *kind = s.kind as u32 | monotonic;
        *chunk = s.chunk as i32;
    }
}

crate::export_names! {
    omp_get_schedule
}
