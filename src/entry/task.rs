//! `GOMP_task*`, `GOMP_taskloop*`, `omp_fulfill_event`.

use crate::icv::globals;
use crate::observe;
use crate::observe::event::{Set, Sync};
use crate::save::{self, SaveKind};
use crate::stub;
use crate::task::spawn::{self, Spec};
use crate::task::{Task, depend, flag, reduction, taskgroup, taskloop, taskwait as waits};
use crate::team::thread::{Thread, current};
use crate::work::bounds::Bounds;

type Copy = Option<unsafe extern "C" fn(usize, usize)>;

fn done(thr: &'static Thread) {
    save::point(thr, SaveKind::After(0));
}

/// Where all tasks have the same priority (OMP_MAX_TASK_PRIORITY is 0, as it is by default), none has one.
#[inline]
fn without_priority(flags: u32) -> u32 {
    if globals().max_task_priority == 0 { flags & !flag::PRIORITY } else { flags }
}

/// What is left to the caller.
pub(super) const NOTHING: usize = 0;
/// To call the task's function with its data.
pub(super) const CALL: usize = 1;

/// [`NOTHING`], [`CALL`], or the address of the task that the caller is to give to [`at_once`].
#[allow(clippy::too_many_arguments)]
pub(super) extern "C" fn task(
    func: usize,
    data: usize,
    copy: Copy,
    size: i64,
    align: i64,
    deferred: bool,
    flags: u32,
    depend: *const usize,
    priority: i32,
    event: *mut usize,
) -> usize {
    let thr = current();
    let (size, align, flags) = (size as usize, align as usize, without_priority(flags));
    let s = Spec { func, data, copy, size, align, deferred, flags, depend, priority, event, bounds: None };
    // With a copy function it is called in the light way, or made.
    if s.copy.is_none() && spawn::is_just_a_call(thr, &s) {
        return CALL;
    }
    match spawn::spawn(thr, &s) {
        Some(t) => core::ptr::from_ref(t) as usize,
        None => {
            done(thr);
            NOTHING
        }
    }
}

/// Executes the task that [`task`] has made.
pub(super) extern "C" fn at_once(t: &'static Task) {
    if observe::wants(Set::TASKS) {
        // The last that is done here: its frame takes the place of this one.
        return at_once_told(t);
    }
    let thr = current();
    spawn::execute::<false>(thr, t);
    done(thr);
}

#[cold]
#[inline(never)]
extern "C" fn at_once_told(t: &'static Task) {
    let thr = current();
    spawn::execute::<true>(thr, t);
    done(thr);
}

#[allow(clippy::too_many_arguments)]
fn any_taskloop(
    func: usize,
    data: usize,
    copy: Copy,
    size: i64,
    align: i64,
    flags: u32,
    num: u64,
    priority: i32,
    b: Bounds,
) {
    let thr = current();
    let base = Spec {
        func,
        data,
        copy,
        size: size as usize,
        align: align as usize,
        deferred: true,
        flags: without_priority(flags),
        depend: core::ptr::null(),
        priority,
        event: core::ptr::null_mut(),
        bounds: None,
    };
    taskloop::run(thr, &base, b, num);
    done(thr);
}

#[allow(clippy::too_many_arguments)]
extern "C" fn taskloop_long(
    func: usize,
    data: usize,
    copy: Copy,
    size: i64,
    align: i64,
    flags: u32,
    num_tasks: u64,
    priority: i32,
    start: i64,
    end: i64,
    step: i64,
) {
    any_taskloop(func, data, copy, size, align, flags, num_tasks, priority, Bounds::long(start, end, step));
}

#[allow(clippy::too_many_arguments)]
extern "C" fn taskloop_ull(
    func: usize,
    data: usize,
    copy: Copy,
    size: i64,
    align: i64,
    flags: u32,
    num_tasks: u64,
    priority: i32,
    start: u64,
    end: u64,
    step: u64,
) {
    let up = flags & flag::UP != 0;
    any_taskloop(
        func,
        data,
        copy,
        size,
        align,
        flags,
        num_tasks,
        priority,
        Bounds::ull(up, start, end, step),
    );
}

/// `taskwait` where calls are light: nobody listens.
pub(super) extern "C" fn taskwait() {
    let thr = current();
    waits::taskwait(thr);
    done(thr);
}

/// `taskwait` elsewhere.
pub(super) extern "C" fn taskwait_told() {
    let thr = current();
    waits::tell_wait(thr, Sync::Taskwait, || waits::taskwait(thr));
    done(thr);
}

extern "C" fn taskwait_depend(depend: *const usize) {
    let thr = current();
    // SAFETY: the compiler's argument.
    let deps = unsafe { depend::decode(depend) };
    waits::tell_wait(thr, Sync::Taskwait, || spawn::wait_for(thr, &deps));
    done(thr);
}

extern "C" fn taskwait_depend_nowait(depend: *const usize) {
    let thr = current();
    // SAFETY: the compiler's argument.
    spawn::empty(thr, &unsafe { depend::decode(depend) });
    done(thr);
}

pub(super) extern "C" fn taskyield() {
    done(current());
}

extern "C" fn taskgroup_start() {
    let thr = current();
    taskgroup::start(thr);
    done(thr);
}

extern "C" fn taskgroup_end() {
    let thr = current();
    taskgroup::end(thr);
    done(thr);
}

extern "C" fn taskgroup_reduction_register(data: usize) {
    let thr = current();
    // SAFETY: the compiler's argument.
    unsafe { reduction::register_taskgroup(thr, data) };
    done(thr);
}

extern "C" fn taskgroup_reduction_unregister(data: usize) {
    let thr = current();
    // SAFETY: the compiler's argument, registered before.
    unsafe { reduction::unregister(data) };
    done(thr);
}

pub(super) extern "C" fn task_reduction_remap(count: usize, originals: usize, ptrs: *mut usize) {
    let thr = current();
    // SAFETY: the compiler's arguments.
    unsafe { reduction::remap(thr, count, originals, ptrs) };
    done(thr);
}

extern "C" fn workshare_task_reduction_unregister(cancelled: bool) {
    let thr = current();
    reduction::end_workshare(thr, cancelled);
    done(thr);
}

extern "C" fn fulfill_event(event: usize) {
    let thr = current();
    spawn::fulfill(thr, event);
    done(thr);
}

stub! {
    GOMP_taskloop [5] => taskloop_long;
    GOMP_taskloop_ull [5] => taskloop_ull;
    GOMP_taskwait_depend => taskwait_depend;
    GOMP_taskwait_depend_nowait => taskwait_depend_nowait;
    GOMP_taskgroup_start => taskgroup_start;
    GOMP_taskgroup_end => taskgroup_end;
    GOMP_taskgroup_reduction_register => taskgroup_reduction_register;
    GOMP_taskgroup_reduction_unregister => taskgroup_reduction_unregister;
    GOMP_workshare_task_reduction_unregister => workshare_task_reduction_unregister;
    omp_fulfill_event => fulfill_event;
    omp_fulfill_event_ => fulfill_event;
}
