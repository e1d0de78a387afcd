//! Creating tasks, waiting for dependences, fulfilling events.

use super::depend::{self, Children, Dep, Deps};
use super::lightness::{INCLUDED, PLAIN, is_special};
use super::pool::TaskPool;
use super::task_body;
use super::{Task, detach, flag};
use crate::icv::globals;
use crate::observe;
use crate::observe::event::{Event, Pause, Set, TaskForm};
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::*;

/// What `GOMP_task` is given.
#[derive(Clone, Copy)]
pub struct Spec {
    /// Body.
    pub func: usize,
    /// The generating task's data.
    pub data: usize,
    /// Copies `data` to the task's block, or 0: plain copy.
    pub copy: Option<unsafe extern "C" fn(usize, usize)>,
    /// Bytes of the block.
    pub size: usize,
    /// Its alignment.
    pub align: usize,
    /// The if clause.
    pub deferred: bool,
    /// See [`flag`].
    pub flags: u32,
    /// Dependences, or null.
    pub depend: *const usize,
    /// Priority clause.
    pub priority: i32,
    /// Where the event handle goes (detach).
    pub event: *mut usize,
    /// A taskloop's task: the first two words of its block.
    pub bounds: Option<(u64, u64)>,
}

/// Is the task to be executed at once, and no more than a call of its function (included_tasks.rs)?
#[inline(always)]
pub fn is_just_a_call(thr: &'static Thread, s: &Spec) -> bool {
    let light = thr.light.get();
    let at_once = || !s.deferred || light & INCLUDED != 0 || thr.team().tasks.is_enough(thr);
    light & PLAIN != 0 && !is_special(s.flags, light) && at_once()
}

/// Creates a task. The task, if it is to be executed at once: the caller gives it to [`execute`]. Where
/// somebody listens to tasks, no call is light.
#[inline(always)]
pub fn spawn(thr: &'static Thread, s: &Spec) -> Option<&'static Task> {
    let at_once = if !thr.has_light_calls() { spawn_told(thr, s) } else { spawn_or_tell::<false>(thr, s) };
    if let Some(t) = at_once {
        prepare_now(thr, t, s);
    }
    at_once
}

/// Creates a task, or executes it at once.
pub(crate) fn spawn_or_execute(thr: &'static Thread, s: &Spec) {
    match spawn(thr, s) {
        Some(t) if observe::wants(Set::TASKS) => execute::<true>(thr, t),
        Some(t) => execute::<false>(thr, t),
        None => {}
    }
}

/// [`spawn`] where somebody may listen.
#[cold]
#[inline(never)]
fn spawn_told(thr: &'static Thread, s: &Spec) -> Option<&'static Task> {
    spawn_or_tell::<true>(thr, s)
}

fn tell_create(thr: &'static Thread, t: &'static Task, s: &Spec, undeferred: bool, deps: &[Dep]) {
    let form = TaskForm {
        function: s.func,
        undeferred,
        last: t.clauses.in_final.get(),
        taskloop: s.bounds.is_some(),
        dependences: deps.len() as u32,
    };
    thr.tell(Event::TaskCreate { task: &t.words, form });
    if !deps.is_empty() {
        thr.tell(Event::TaskDepends { task: &t.words, on: deps });
    }
}

/// Creates a task. The task, if it is to be executed at once.
#[inline(always)]
fn spawn_or_tell<const TELL: bool>(thr: &'static Thread, s: &Spec) -> Option<&'static Task> {
    if s.flags & (flag::DEPEND | flag::DETACH | flag::PRIORITY) != 0 {
        return spawn_special::<TELL>(thr, s);
    }
    let (team, parent) = (thr.team(), thr.task());
    if is_cancelled(thr, parent) {
        return None;
    }
    let t = Task::explicit(thr);
    if s.flags & flag::FINAL != 0 {
        t.clauses.in_final.set(true);
    }
    let now =
        !s.deferred || team.level.get() == 0 || parent.clauses.in_final.get() || team.tasks.is_enough(thr);
    if TELL {
        tell_create(thr, t, s, now, &[]);
    }
    if now {
        return Some(t);
    }
    prepare(thr, t, s);
    team.tasks.add(thr, t);
    TaskPool::call_helper(team);
    None
}

#[inline]
fn is_cancelled(thr: &'static Thread, parent: &Task) -> bool {
    globals().cancellation
        && (thr.team().is_cancelled() || parent.group.get().is_some_and(|g| g.is_cancelled()))
}

/// Makes the argument block of a task that will be executed later.
#[inline(always)]
pub(crate) fn prepare(thr: &'static Thread, t: &'static Task, s: &Spec) {
    let p = t.make_block(s.size, s.align);
    fill(thr, t, s, p);
    t.call.set((s.func, p));
    t.args.set((p, s.size));
    t.clauses.copied.set(s.copy.is_some());
    thr.task().spawned.set(true);
}

/// Tasks with dependences, a priority or an event.
#[inline(never)]
fn spawn_special<const TELL: bool>(thr: &'static Thread, s: &Spec) -> Option<&'static Task> {
    let (team, parent) = (thr.team(), thr.task());
    if is_cancelled(thr, parent) {
        return None;
    }
    // SAFETY: GCC's format, as the entry point's contract says.
    let deps = if s.flags & flag::DEPEND != 0 { unsafe { depend::decode(s.depend) } } else { Deps::new() };
    let detached = s.flags & flag::DETACH != 0;
    let t = Task::explicit(thr);
    if s.flags & flag::FINAL != 0 {
        t.clauses.in_final.set(true);
    }
    if s.flags & flag::PRIORITY != 0 {
        t.clauses.priority.set(s.priority.clamp(0, globals().max_task_priority));
    }
    if detached {
        t.clauses.detach.store(detach::CLAUSE, Relaxed);
        let handle = core::ptr::from_ref(t) as usize;
        // SAFETY: the program's event variable, and the first word of its data, take the handle.
        unsafe {
            *s.event = handle;
            if s.data != 0 {
                *(s.data as *mut usize) = handle;
            }
        }
    }
    let enough = || deps.is_empty() && !detached && team.tasks.is_enough(thr);
    let now = !s.deferred || team.level.get() == 0 || parent.clauses.in_final.get() || enough();
    if TELL {
        tell_create(thr, t, s, now, &deps);
    }
    if now {
        if !deps.is_empty() {
            wait_for_quietly(thr, &deps);
        }
        return Some(t);
    }
    prepare(thr, t, s);
    let ready = if deps.is_empty() {
        team.tasks.add(thr, t);
        true
    } else {
        team.tasks.add_dependent::<TELL>(thr, t, Children::of(parent), &deps)
    };
    if ready {
        TaskPool::call_helper(team);
    }
    None
}

#[inline(always)]
fn fill(thr: &'static Thread, t: &'static Task, s: &Spec, block: usize) {
    match s.copy {
        Some(copy) => {
            let (outer, frame) = (thr.task.get(), thr.frame.get());
            thr.task.set(Some(t));
            // SAFETY: the compiler's copy function for this block and data.
            unsafe { copy(block, s.data) };
            thr.task.set(outer);
            thr.frame.set(frame);
            thr.in_runtime.store(1, Relaxed);
        }
        // SAFETY: the block has `size` bytes, and so has the data.
        None => unsafe { copy_block(s.data, block, s.size) },
    }
    set_bounds(s, block);
}

/// Copies an argument block. Most are a few words: no call then.
///
/// # Safety
/// `size` bytes can be read at `from` and written at `to`.
#[inline(always)]
pub(crate) unsafe fn copy_block(from: usize, to: usize, size: usize) {
    macro_rules! words {
        ($($n:literal)*) => {
            // SAFETY: by the caller's promise.
            match size {
                0 => {}
                $(n if n == 8 * $n => unsafe {
                    (to as *mut [u64; $n]).write_unaligned((from as *const [u64; $n]).read_unaligned());
                },)*
                _ => unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, size) },
            }
        };
    }
    words!(1 2 3 4 5 6 7 8)
}

/// Writes a taskloop task's bounds into its block: the copy function leaves them out.
fn set_bounds(s: &Spec, block: usize) {
    if let Some(bounds) = s.bounds {
        write_bounds(block, bounds);
    }
}

/// Writes bounds into the block of a taskloop's task.
pub(crate) fn write_bounds(block: usize, (lo, hi): (u64, u64)) {
    // SAFETY: a taskloop's block begins with two 8-byte words.
    unsafe {
        *(block as *mut u64) = lo;
        *(block as *mut u64).add(1) = hi;
    }
}

/// Makes the argument block of a task that will be executed at once: the generating task's data, where the
/// compiler does not want a copy.
#[inline(never)]
fn prepare_now(thr: &'static Thread, t: &'static Task, s: &Spec) {
    let arg = match s.copy {
        Some(_) => {
            let p = t.make_block(s.size, s.align);
            fill(thr, t, s, p);
            t.args.set((p, s.size));
            p
        }
        None => {
            set_bounds(s, s.data);
            t.args.set((s.data, s.size));
            s.data
        }
    };
    t.call.set((s.func, arg));
    t.team.set(None);
}

/// Executes a task at once. Tasks within tasks within tasks: each takes the stack of all that is on the way
/// to its body, so this is as little as can be.
#[inline(always)]
pub fn execute<const TELL: bool>(thr: &'static Thread, t: &'static Task) {
    task_body::run_body_or_tell::<TELL>(thr, t);
    if t.clauses.detach.load(Relaxed) & detach::CLAUSE != 0 {
        t.clauses.detach.fetch_or(detach::ENDED, AcqRel);
        TaskPool::wait_below(thr, Pause::Taskwait, || {
            t.clauses.detach.load(Acquire) & detach::FULFILLED != 0
        });
        t.children.close();
    }
    task_body::end(thr, t, t.parent_task(), false);
}

/// Waits until the current task's children that `deps` depend on are done, executing children meanwhile.
pub fn wait_for(thr: &'static Thread, deps: &[Dep]) {
    if !thr.has_light_calls() {
        wait_for_told(thr, deps);
    } else {
        wait_for_quietly(thr, deps);
    }
}

/// [`wait_for`] where somebody may listen: it is an empty task for them, which its creator waits for.
#[cold]
#[inline(never)]
fn wait_for_told(thr: &'static Thread, deps: &[Dep]) {
    let waiter = Task::explicit(thr);
    waiter.team.set(None);
    let form = TaskForm { undeferred: true, dependences: deps.len() as u32, ..TaskForm::default() };
    thr.tell(Event::TaskCreate { task: &waiter.words, form });
    thr.tell(Event::TaskDepends { task: &waiter.words, on: deps });
    if let Some(children) = thr.task().depends.get() {
        wait_as::<true>(thr, waiter, children, deps);
    }
    thr.tell(Event::TaskSkipped { task: &waiter.words });
    waiter.free(thr, false);
}

fn wait_for_quietly(thr: &'static Thread, deps: &[Dep]) {
    let Some(children) = thr.task().depends.get() else { return };
    let waiter = Task::explicit(thr);
    waiter.team.set(None);
    wait_as::<false>(thr, waiter, children, deps);
    waiter.free(thr, false);
}

#[inline(always)]
fn wait_as<const TELL: bool>(
    thr: &'static Thread,
    waiter: &'static Task,
    children: &'static Children,
    deps: &[Dep],
) {
    if !children.register::<TELL>(thr, waiter, deps, false) {
        TaskPool::wait_below(thr, Pause::Taskwait, || waiter.unmet.load(Acquire) == 0);
        // Whoever met the last dependence has let go of the waiter once it has left.
        children.settle();
    }
}

/// `taskwait depend nowait`: an empty task with dependences.
pub fn empty(thr: &'static Thread, deps: &[Dep]) {
    let (team, parent) = (thr.team(), thr.task());
    if team.level.get() == 0 {
        return;
    }
    let t = Task::explicit(thr);
    t.call.set((0, 0));
    let form = TaskForm { dependences: deps.len() as u32, ..TaskForm::default() };
    thr.tell(Event::TaskCreate { task: &t.words, form });
    let ready = if !thr.has_light_calls() {
        thr.tell(Event::TaskDepends { task: &t.words, on: deps });
        team.tasks.add_dependent::<true>(thr, t, Children::of(parent), deps)
    } else {
        team.tasks.add_dependent::<false>(thr, t, Children::of(parent), deps)
    };
    if ready {
        TaskPool::call_helper(team);
    }
}

/// `omp_fulfill_event`.
pub fn fulfill(thr: &'static Thread, handle: usize) {
    // SAFETY: the program passes a handle that `spawn` gave it, of a task that is not done before this call.
    let t: &'static Task = unsafe { &*(handle as *const Task) };
    let team = t.team.get();
    let before = t.clauses.detach.fetch_or(detach::FULFILLED, AcqRel);
    thr.tell(Event::TaskFulfil { task: &t.words, ended: before & detach::ENDED != 0 });
    match team {
        Some(team) if before & detach::ENDED != 0 => team.tasks.done(thr, t),
        Some(team) => team.event.notify(),
        // Undeferred: its creator waits in its own team.
        None => thr.team().event.notify(),
    }
}
