//! The words of OpenMP's tools interface (OpenMP 5.1, chapter 4), as include/omp-tools.h has them for tools:
//! the callbacks with their numbers and arguments, the values of its enumerations, and its structures.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// The version of the specification that tools are told of: 5.1.
pub(crate) const VERSION: u32 = 202_011;

/// `ompt_data_t`: a word of the tool's, which the runtime never looks at.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct Data(UnsafeCell<u64>);

// SAFETY: the tool's own affair; the runtime only sets it to 0, where nobody knows of it yet.
unsafe impl Sync for Data {}

/// As callbacks get it.
pub(crate) type DataPtr = *mut u64;

impl Data {
    /// Where it is.
    pub(crate) fn ptr(&self) -> DataPtr {
        self.0.get()
    }

    /// For a new object: nobody knows of it yet.
    pub(crate) fn clear(&self) {
        // SAFETY: see above.
        unsafe { *self.0.get() = 0 }
    }
}

/// `ompt_frame_t`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Frame {
    /// Where the task begins: the frame that has called its first procedure; 0 for an initial task.
    pub exit: usize,
    /// Where the task is in the runtime: the frame of the entry; 0 if it is not.
    pub enter: usize,
    /// What the two are: [`FRAME`].
    pub flags: [i32; 2],
}

/// Both are frames of the runtime's (`ompt_frame_runtime`), given as frame pointers.
pub(crate) const FRAME: i32 = 0x20;

/// `ompt_dispatch_chunk_t`.
#[repr(C)]
pub(crate) struct DispatchChunk {
    /// The first logical iteration.
    pub start: u64,
    /// How many.
    pub iterations: u64,
}

/// `ompt_dependence_t`.
#[repr(C)]
pub(crate) struct Dependence {
    /// The address, as `ompt_data_t`.
    pub at: u64,
    /// `ompt_dependence_type_t`.
    pub how: u32,
}

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub(crate) struct Started {
    /// Called at once.
    pub initialize: Option<extern "C" fn(lookup: usize, initial_device: i32, data: *mut u64) -> i32>,
    /// Called at the end.
    pub finalize: Option<extern "C" fn(data: *mut u64)>,
    /// The tool's own.
    pub data: Data,
}

/// What `ompt_set_callback` answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub(crate) enum Level {
    /// `ompt_set_error`: there is no such callback.
    Error = 0,
    /// `ompt_set_never`: registered, and never called.
    Never = 1,
    /// `ompt_set_sometimes`: not for everything that it stands for; what begins may not end.
    Sometimes = 3,
    /// `ompt_set_always`.
    Always = 5,
}

macro_rules! values {
    ($($(#[$doc:meta])* $module:ident { $($name:ident = $value:expr,)* })*) => { $(
        $(#[$doc])*
        #[allow(missing_docs, dead_code)] // the specification's names and values
        pub(crate) mod $module {
            $(pub(crate) const $name: u32 = $value;)*
        }
    )* };
}

values! {
    /// `ompt_scope_endpoint_t`.
    scope { BEGIN = 1, END = 2, }
    /// `ompt_thread_t`.
    thread { INITIAL = 1, WORKER = 2, }
    /// `ompt_parallel_flag_t`.
    parallel { INVOKER_RUNTIME = 2, LEAGUE = 0x4000_0000, TEAM = 0x8000_0000, }
    /// `ompt_task_flag_t`.
    task {
        INITIAL = 1,
        IMPLICIT = 2,
        EXPLICIT = 4,
        TASKWAIT = 0x10,
        UNDEFERRED = 0x0800_0000,
        FINAL = 0x2000_0000,
    }
    /// `ompt_task_status_t`.
    status {
        COMPLETE = 1,
        CANCEL = 3,
        DETACH = 4,
        EARLY_FULFILL = 5,
        LATE_FULFILL = 6,
        SWITCH = 7,
        TASKWAIT_COMPLETE = 8,
    }
    /// `ompt_work_t`.
    work { LOOP = 1, SECTIONS = 2, SINGLE_EXECUTOR = 3, SINGLE_OTHER = 4, TASKLOOP = 7, SCOPE = 8, }
    /// `ompt_dispatch_t`; chunks are OpenMP 5.2's.
    dispatch { SECTION = 2, LOOP_CHUNK = 3, }
    /// `ompt_sync_region_t`.
    sync {
        BARRIER_EXPLICIT = 3,
        BARRIER_IMPLEMENTATION = 4,
        TASKWAIT = 5,
        TASKGROUP = 6,
        REDUCTION = 7,
        BARRIER_IMPLICIT_WORKSHARE = 8,
        BARRIER_IMPLICIT_PARALLEL = 9,
    }
    /// `ompt_mutex_t`.
    mutex {
        LOCK = 1,
        TEST_LOCK = 2,
        NEST_LOCK = 3,
        TEST_NEST_LOCK = 4,
        CRITICAL = 5,
        ATOMIC = 6,
        ORDERED = 7,
    }
    /// `ompt_dependence_type_t`.
    dependence { IN = 1, INOUT = 3, MUTEXINOUTSET = 4, INOUTSET = 7, }
    /// `ompt_severity_t`.
    severity { WARNING = 1, FATAL = 2, }
    /// `ompt_cancel_flag_t`.
    cancel {
        PARALLEL = 1,
        SECTIONS = 2,
        LOOP = 4,
        TASKGROUP = 8,
        ACTIVATED = 0x10,
        DETECTED = 0x20,
        DISCARDED_TASK = 0x40,
    }
    /// `ompt_state_t`.
    state {
        WORK_SERIAL = 0x000,
        WORK_PARALLEL = 0x001,
        WORK_REDUCTION = 0x002,
        WAIT_BARRIER_IMPLICIT_PARALLEL = 0x011,
        WAIT_BARRIER_IMPLICIT_WORKSHARE = 0x012,
        WAIT_BARRIER_EXPLICIT = 0x014,
        WAIT_BARRIER_IMPLEMENTATION = 0x015,
        WAIT_TASKWAIT = 0x020,
        WAIT_TASKGROUP = 0x021,
        WAIT_LOCK = 0x041,
        WAIT_CRITICAL = 0x042,
        WAIT_ATOMIC = 0x043,
        WAIT_ORDERED = 0x044,
        IDLE = 0x100,
        OVERHEAD = 0x101,
        UNDEFINED = 0x102,
    }
}

/// The states that threads can be in here, with their names.
pub(crate) const STATES: &[(u32, &core::ffi::CStr)] = &[
    (state::WORK_SERIAL, c"ompt_state_work_serial"),
    (state::WORK_PARALLEL, c"ompt_state_work_parallel"),
    (state::WORK_REDUCTION, c"ompt_state_work_reduction"),
    (state::WAIT_BARRIER_IMPLICIT_PARALLEL, c"ompt_state_wait_barrier_implicit_parallel"),
    (state::WAIT_BARRIER_IMPLICIT_WORKSHARE, c"ompt_state_wait_barrier_implicit_workshare"),
    (state::WAIT_BARRIER_EXPLICIT, c"ompt_state_wait_barrier_explicit"),
    (state::WAIT_BARRIER_IMPLEMENTATION, c"ompt_state_wait_barrier_implementation"),
    (state::WAIT_TASKWAIT, c"ompt_state_wait_taskwait"),
    (state::WAIT_TASKGROUP, c"ompt_state_wait_taskgroup"),
    (state::WAIT_LOCK, c"ompt_state_wait_lock"),
    (state::WAIT_CRITICAL, c"ompt_state_wait_critical"),
    (state::WAIT_ATOMIC, c"ompt_state_wait_atomic"),
    (state::WAIT_ORDERED, c"ompt_state_wait_ordered"),
    (state::IDLE, c"ompt_state_idle"),
    (state::OVERHEAD, c"ompt_state_overhead"),
    (state::UNDEFINED, c"ompt_state_undefined"),
];

macro_rules! callbacks {
    ($(
        $name:ident = $number:literal, $level:ident, [$($row:ident),*]
        $(, ($($arg:ident: $t:ty),*) $(-> $r:ty)?)?;
    )*) => {
        /// All callbacks: number, how completely it is called, the events that it comes from.
        pub(crate) const ALL: &[(usize, Level, Set)] =
            &[$(($number, Level::$level, Set::of(&[$(Row::$row),*])),)*];
        const MOST: usize = {
            let (mut i, mut most) = (0, 0);
            while i < ALL.len() {
                if ALL[i].0 > most { most = ALL[i].0; }
                i += 1;
            }
            most + 1
        };

        /// Calls of the tool's callbacks, if it has registered them.
        pub(crate) mod call {
            #![allow(missing_docs)] // as the specification has them
            use super::*;
            $($(
                #[allow(clippy::too_many_arguments)]
                pub(crate) fn $name($($arg: $t),*) $(-> Option<$r>)? {
                    type F = extern "C" fn($($t),*) $(-> $r)?;
                    let f = get($number);
                    // SAFETY: the tool has registered it for this event, whose arguments these are.
                    let f = (f != 0).then(|| unsafe { core::mem::transmute::<usize, F>(f) });
                    callbacks!(@ call f, ($($arg),*) $(, $r)?)
                }
            )?)*
        }
    };
    (@ call $f:ident, ($($arg:ident),*)) => { if let Some(f) = $f { f($($arg),*) } };
    (@ call $f:ident, ($($arg:ident),*), $r:ty) => { $f.map(|f| f($($arg),*)) };
}

use crate::observe::event::{Row, Set};

callbacks! {
    thread_begin = 1, Always, [ThreadBegin], (kind: u32, thread: DataPtr);
    thread_end = 2, Always, [ThreadEnd], (thread: DataPtr);
    parallel_begin = 3, Always, [ParallelBegin, LeagueBegin], (
        task: DataPtr, frame: *const Frame, parallel: DataPtr, asked: u32, flags: u32, site: usize);
    parallel_end = 4, Always, [ParallelEnd, LeagueEnd], (
        parallel: DataPtr, task: DataPtr, flags: u32, site: usize);
    task_create = 5, Always, [TaskCreate], (
        task: DataPtr, frame: *const Frame, new: DataPtr, flags: u32, dependences: i32, site: usize);
    task_schedule = 6, Always, [TaskBegin, TaskEnd, TaskSkipped, TaskFulfil], (
        prior: DataPtr, status: u32, next: DataPtr);
    implicit_task = 7, Always, [ImplicitBegin, ImplicitEnd, InitialBegin, InitialEnd], (
        endpoint: u32, parallel: DataPtr, task: DataPtr, size: u32, index: u32, flags: u32);
    target = 8, Always, [TargetBegin, TargetEnd], (
        kind: u32, endpoint: u32, device: i32, task: DataPtr, target: u64, site: usize);
    target_data_op = 9, Always, [TargetData], (
        target: u64, id: u64, op: u32, from: usize, from_device: i32, to: usize, to_device: i32,
        bytes: usize, site: usize);
    target_submit = 10, Always, [TargetSubmit], (target: u64, id: u64, teams: u32);
    control_tool = 11, Always, [], (command: u64, modifier: u64, argument: *mut c_void, site: usize) -> i32;
    device_initialize = 12, Always, [DeviceBegin], (
        device: i32, kind: *const c_char, handle: usize, lookup: usize, documentation: *const c_char);
    device_finalize = 13, Always, [DeviceEnd], (device: i32);
    device_load = 14, Always, [ImageBegin], (
        device: i32, file: *const c_char, offset: i64, at_in_file: usize, bytes: usize, host: usize,
        on_device: usize, module: u64);
    device_unload = 15, Always, [ImageEnd], (device: i32, module: u64);
    sync_region_wait = 16, Always, [TaskSyncArrive, TaskSyncLeave], (
        kind: u32, endpoint: u32, parallel: DataPtr, task: DataPtr, site: usize);
    mutex_released = 17, Always, [LockGive], (kind: u32, id: usize, site: usize);
    dependences = 18, Always, [TaskDepends], (task: DataPtr, on: *const Dependence, n: i32);
    task_dependence = 19, Always, [TaskWaits], (source: DataPtr, sink: DataPtr);
    work = 20, Sometimes, [WorkBegin, WorkEnd, Single, SingleEnd], (
        kind: u32, endpoint: u32, parallel: DataPtr, task: DataPtr, count: u64, site: usize);
    masked = 21, Sometimes, [MaskedBegin, MaskedEnd], (
        endpoint: u32, parallel: DataPtr, task: DataPtr, site: usize);
    target_map = 22, Always, [TargetMap], (
        target: u64, n: u32, host: *const usize, device: *const usize, bytes: *const usize,
        flags: *const u32, site: usize);
    sync_region = 23, Always, [TaskSyncBegin, TaskSyncLeave], (
        kind: u32, endpoint: u32, parallel: DataPtr, task: DataPtr, site: usize);
    lock_init = 24, Always, [LockInit], (kind: u32, hint: u32, implementation: u32, id: usize, site: usize);
    lock_destroy = 25, Always, [LockDestroy], (kind: u32, id: usize, site: usize);
    mutex_acquire = 26, Always, [LockWait, LockNest], (
        kind: u32, hint: u32, implementation: u32, id: usize, site: usize);
    mutex_acquired = 27, Always, [LockWait, LockGot], (kind: u32, id: usize, site: usize);
    nest_lock = 28, Always, [LockNest], (endpoint: u32, id: usize, site: usize);
    flush = 29, Never, [];
    cancel = 30, Always, [Cancel, CancelFound, TaskSkipped], (task: DataPtr, flags: u32, site: usize);
    reduction = 31, Sometimes, [LockGot, LockGive], (
        kind: u32, endpoint: u32, parallel: DataPtr, task: DataPtr, site: usize);
    dispatch = 32, Sometimes, [Chunk], (parallel: DataPtr, task: DataPtr, kind: u32, instance: u64);
    target_emi = 33, Always, [TargetBegin, TargetEnd], (
        kind: u32, endpoint: u32, device: i32, task: DataPtr, target_task: DataPtr, target: DataPtr,
        site: usize);
    target_data_op_emi = 34, Always, [TargetData], (
        endpoint: u32, target_task: DataPtr, target: DataPtr, id: *mut u64, op: u32, from: usize,
        from_device: i32, to: usize, to_device: i32, bytes: usize, site: usize);
    target_submit_emi = 35, Always, [TargetSubmit], (
        endpoint: u32, target: DataPtr, id: *mut u64, teams: u32);
    target_map_emi = 36, Always, [TargetMap], (
        target: DataPtr, n: u32, host: *const usize, device: *const usize, bytes: *const usize,
        flags: *const u32, site: usize);
    error = 37, Always, [Error], (severity: u32, message: *const u8, length: usize, site: usize);
}

/// What the tool has registered, by number.
static REGISTERED: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];

/// The callback that is registered for an event; 0: none.
#[inline]
pub(crate) fn get(number: usize) -> usize {
    REGISTERED[number].load(Acquire)
}

/// Registers a callback, or none; what it comes from. `None`: there is no such event.
pub(crate) fn set(number: usize, callback: usize) -> Option<(Level, Set)> {
    let &(_, level, rows) = ALL.iter().find(|(n, ..)| *n == number)?;
    REGISTERED[number].store(callback, Release);
    Some((level, rows))
}

/// A C string's address, for tools.
pub(crate) fn text(s: &'static core::ffi::CStr) -> *const c_char {
    s.as_ptr()
}
