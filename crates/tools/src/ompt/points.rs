//! The functions that a tool may call (OpenMP 5.1, section 4.6.1), which it finds by their names.

use super::abi::{self, Frame, Level, STATES, state};
use super::info::{TaskInfo, TeamInfo, ThreadInfo};
use super::{ALWAYS, PHASE, STARTS, end, is_active};
use crate::device;
use crate::icv::globals;
use crate::observe::{self, Set};
use crate::team::thread::{self, Thread};
use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering::*};

/// The host's number among the devices, which tools get at the beginning: what is behind the last one.
pub(super) fn host() -> i32 {
    device::expected() as i32
}

/// The caller, if the runtime knows it: asking makes nobody known.
fn me() -> Option<(&'static Thread, &'static ThreadInfo)> {
    let thr = thread::known()?;
    Some((thr, ThreadInfo::find(thr)?))
}

/// Writes an answer where there is a place for it.
///
/// # Safety
/// `at` is null or writable.
unsafe fn put<T>(at: *mut T, value: T) {
    if !at.is_null() {
        // SAFETY: by the caller's promise.
        unsafe { at.write(value) }
    }
}

/// Has the thread a word of the kind? What functions answer that tell of levels.
const NOT_THERE: i32 = 0;
const THERE: i32 = 2;

/// All events that what is registered comes from.
pub(super) fn wanted() -> Set {
    let rows = abi::ALL.iter().filter(|(n, ..)| abi::get(*n) != 0).map(|&(_, _, rows)| rows);
    rows.fold(Set::NONE, Set::and)
}

extern "C" fn set_callback(event: u32, callback: usize) -> i32 {
    if !is_active() && PHASE.load(Relaxed) != STARTS {
        return Level::Error as i32;
    }
    let Some((level, rows)) = abi::set(event as usize, callback) else { return Level::Error as i32 };
    if is_active() && callback != 0 {
        observe::want(ALWAYS.and(rows));
    }
    level as i32
}

extern "C" fn get_callback(event: u32, callback: *mut usize) -> i32 {
    let known = abi::ALL.iter().any(|(n, ..)| *n == event as usize);
    let f = if known { abi::get(event as usize) } else { 0 };
    // SAFETY: the tool's variable.
    unsafe { put(callback, f) };
    i32::from(f != 0)
}

extern "C" fn enumerate_states(current: i32, next: *mut i32, name: *mut *const c_char) -> i32 {
    let at = STATES.iter().position(|(s, _)| *s as i32 == current);
    let Some((value, text)) = at.and_then(|i| STATES.get(i + 1)) else { return 0 };
    // SAFETY: the tool's variables.
    unsafe {
        put(next, *value as i32);
        put(name, abi::text(text));
    }
    1
}

/// Of `ompt_mutex_impl_none` there is one more: futex locks.
const FUTEX: (i32, &CStr) = (1, c"promp_mutex_impl_futex");

extern "C" fn enumerate_mutex_impls(current: i32, next: *mut i32, name: *mut *const c_char) -> i32 {
    if current != 0 {
        return 0;
    }
    // SAFETY: the tool's variables.
    unsafe {
        put(next, FUTEX.0);
        put(name, abi::text(FUTEX.1));
    }
    1
}

extern "C" fn get_thread_data() -> *mut u64 {
    me().map_or(null_mut(), |(_, i)| i.data.ptr())
}

extern "C" fn get_num_procs() -> i32 {
    globals().procs_now() as i32
}

extern "C" fn get_num_places() -> i32 {
    globals().places.len() as i32
}

/// Copies as many as there is room for; answers how many there are.
///
/// # Safety
/// `out` is null or has `size` places.
unsafe fn copy(all: impl ExactSizeIterator<Item = u32>, size: i32, out: *mut i32) -> i32 {
    let n = all.len() as i32;
    for (i, v) in all.take(if out.is_null() { 0 } else { size.max(0) as usize }).enumerate() {
        // SAFETY: by the caller's promise.
        unsafe { *out.add(i) = v as i32 };
    }
    n
}

extern "C" fn get_place_proc_ids(place: i32, size: i32, ids: *mut i32) -> i32 {
    let all = usize::try_from(place).ok().and_then(|p| globals().places.get(p));
    // SAFETY: the tool's array.
    all.map_or(0, |p| unsafe { copy(p.iter().copied(), size, ids) })
}

extern "C" fn get_place_num() -> i32 {
    let place = thread::known().and_then(|t| t.member.get()).map_or(u32::MAX, |m| m.place.get().2);
    if place == u32::MAX { -1 } else { place as i32 }
}

extern "C" fn get_partition_place_nums(size: i32, nums: *mut i32) -> i32 {
    let Some(m) = thread::known().and_then(|t| t.member.get()) else { return 0 };
    let (first, n, _) = m.place.get();
    // SAFETY: the tool's array.
    unsafe { copy((0..n as usize).map(|i| first + i as u32), size, nums) }
}

extern "C" fn get_proc_id() -> i32 {
    // SAFETY: asks the kernel which CPU this is.
    unsafe { libc::sched_getcpu() }
}

/// Async-signal-safe, like all below it.
extern "C" fn get_state(lock: *mut u64) -> i32 {
    let Some((thr, info)) = me() else { return state::UNDEFINED as i32 };
    let now = info.state.load(Relaxed);
    if (state::WAIT_LOCK..=state::WAIT_ORDERED).contains(&now) {
        // SAFETY: the tool's variable.
        unsafe { put(lock, info.lock.load(Relaxed) as u64) };
    }
    let works = matches!(now, state::WORK_SERIAL | state::WORK_PARALLEL | state::WORK_REDUCTION);
    let inside = thr.in_runtime.load(Relaxed) != 0 && thr.calls_out.load(Relaxed) == 0;
    (if works && inside { state::OVERHEAD } else { now }) as i32
}

extern "C" fn get_parallel_info(level: i32, data: *mut *mut u64, size: *mut i32) -> i32 {
    let mut team = me().and_then(|(_, i)| i.current.get()).and_then(|t| t.team.get());
    for _ in 0..level {
        team = team.and_then(|t: &TeamInfo| t.outer.get());
    }
    let Some(team) = team.filter(|_| level >= 0) else { return NOT_THERE };
    // SAFETY: the tool's variables.
    unsafe {
        put(data, team.data.ptr());
        put(size, team.size.get() as i32);
    }
    THERE
}

/// A task of the caller, or one that it is in.
fn task_at(level: i32) -> Option<&'static TaskInfo> {
    let (thr, info) = me()?;
    let mut t = info.current.get()?;
    if level == 0 {
        t.note_frames(thr);
    }
    for _ in 0..level {
        t = t.outer.get()?;
    }
    (level >= 0).then_some(t)
}

extern "C" fn get_task_info(
    level: i32,
    flags: *mut i32,
    data: *mut *mut u64,
    frame: *mut *mut Frame,
    parallel: *mut *mut u64,
    num: *mut i32,
) -> i32 {
    let Some(t) = task_at(level) else { return NOT_THERE };
    // SAFETY: the tool's variables.
    unsafe {
        put(flags, t.flags.get() as i32);
        put(data, t.data.ptr());
        put(frame, t.frame());
        put(parallel, t.parallel());
        put(num, t.num.get() as i32);
    }
    THERE
}

extern "C" fn get_task_memory(at: *mut *mut c_void, size: *mut usize, _block: i32) -> i32 {
    let task = me().and_then(|(thr, _)| thr.task.get());
    let (memory, bytes) = task.filter(|t| t.is_explicit()).map_or((0, 0), |t| t.args.get());
    // SAFETY: the tool's variables.
    unsafe {
        put(at, memory as *mut c_void);
        put(size, bytes);
    }
    // There is one block.
    0
}

extern "C" fn get_target_info(device: *mut u64, target: *mut u64, operation: *mut u64) -> i32 {
    let Some(t) = me().map(|(_, i)| &i.target).filter(|t| t.depth.get() > 0) else { return 0 };
    // SAFETY: the tool's variables; the operation's word is the caller's.
    unsafe {
        put(device, t.device.get() as u64);
        put(target, t.id.get());
        put(operation, *t.operation.ptr());
    }
    1
}

extern "C" fn get_num_devices() -> i32 {
    host()
}

/// A number that nobody else gets.
pub(super) fn unique_id() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Relaxed) + 1
}

extern "C" fn get_unique_id() -> u64 {
    unique_id()
}

extern "C" fn finalize_tool() {
    end();
}

macro_rules! points {
    ($($name:literal => $f:ident,)*) => {
        /// What there is by its name; 0 for what there is not: device tracing.
        pub(crate) extern "C" fn lookup(name: *const c_char) -> usize {
            // SAFETY: the tool's string.
            let name = unsafe { CStr::from_ptr(name) };
            match name.to_str() {
                $(Ok($name) => $f as *const () as usize,)*
                _ => 0,
            }
        }
    };
}

points! {
    "ompt_enumerate_states" => enumerate_states,
    "ompt_enumerate_mutex_impls" => enumerate_mutex_impls,
    "ompt_set_callback" => set_callback,
    "ompt_get_callback" => get_callback,
    "ompt_get_thread_data" => get_thread_data,
    "ompt_get_num_procs" => get_num_procs,
    "ompt_get_num_places" => get_num_places,
    "ompt_get_place_proc_ids" => get_place_proc_ids,
    "ompt_get_place_num" => get_place_num,
    "ompt_get_partition_place_nums" => get_partition_place_nums,
    "ompt_get_proc_id" => get_proc_id,
    "ompt_get_state" => get_state,
    "ompt_get_parallel_info" => get_parallel_info,
    "ompt_get_task_info" => get_task_info,
    "ompt_get_task_memory" => get_task_memory,
    "ompt_get_target_info" => get_target_info,
    "ompt_get_num_devices" => get_num_devices,
    "ompt_get_unique_id" => get_unique_id,
    "ompt_finalize_tool" => finalize_tool,
}
