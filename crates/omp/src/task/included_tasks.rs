//! Tasks that are executed at once, as calls.
//!
//! Such a task is a call of its function and little else, so it becomes one: no activation, and no [`Task`].
//! The thread counts those that it is in ([`Thread::lazy`]); they are the innermost ones it executes. Only if
//! one does something for which it must be a task of its own (creates another, starts a region, sets an ICV
//! …: whatever asks for [`Thread::task`]), all that are counted are made, in [`settle`], and the count is 0.
//! When the function returns and the count is 0, this has happened to its task, which is then ended in
//! [`end_settled`]; else the count goes down. The calls themselves are in entry/light.rs.
//!
//! As far as fault tolerance is concerned, what happens in them is work of the caller. That is right only
//! where calls are not save points and faults are not injected at them; [`Thread::light`] says so
//! (lightness.rs).

use super::{Task, task_body};
use crate::sys::time;
use crate::team::activation::activate;
use crate::team::hold::hold_off;
use crate::team::thread::Thread;

/// Clock ticks (about a third of a nanosecond) that a taskloop's task may take to count as short; that
/// handing one over costs is about as much.
const SHORT_TICKS: u64 = 600;

impl Thread {
    /// The current task.
    #[inline(always)]
    pub fn task(&'static self) -> &'static Task {
        if self.lazy.get() != 0 {
            settle(self);
        }
        self.task.get().expect("a thread in the runtime has a task")
    }
}

/// Makes the tasks that are only counted; the innermost is the current one then.
#[cold]
#[inline(never)]
fn settle(thr: &'static Thread) {
    hold_off(thr, || {
        let m = thr.member();
        let count = thr.lazy.get();
        thr.lazy.set(0);
        for _ in 0..count {
            let t = Task::explicit(thr);
            t.team.set(None);
            t.run_by(thr);
            t.outer_floor.set(m.tasks.raise_floor());
            thr.task.set(Some(t));
        }
    });
}

/// The current task, which [`settle`] has made, is over.
pub fn end_settled(thr: &'static Thread) {
    let t = thr.task();
    let parent = t.parent_task();
    thr.member().tasks.set_floor(t.outer_floor.get());
    thr.task.set(Some(parent));
    task_body::end(thr, t, parent, false);
}

/// A task that is only counted, as long as it need not be made, is what `f` does.
#[inline]
fn counted(thr: &'static Thread, f: impl FnOnce()) {
    thr.lazy.set(thr.lazy.get() + 1);
    f();
    match thr.lazy.get() {
        0 => hold_off(thr, || end_settled(thr)),
        n => thr.lazy.set(n - 1),
    }
}

/// Executes a task as a call within the runtime call.
pub fn call(thr: &'static Thread, call: (usize, usize)) {
    counted(thr, || activate(thr, call, (0, 0)));
}

/// A taskloop's tasks that are executed at once.
pub(crate) struct Several {
    /// The thread.
    pub thr: &'static Thread,
    /// Body and block.
    pub call: (usize, usize),
    /// How many.
    pub count: u64,
    /// The first one's bounds, and what leads from one's to the next one's.
    pub bounds: (u64, u64, u64),
}

impl Several {
    /// Calls the body for each, in one activation; ends early if they take long. How many were executed.
    pub(crate) fn run(mut self) -> u64 {
        let this = core::ptr::from_mut(&mut self) as usize;
        activate(self.thr, (Self::body as *const () as usize, this), (0, 0));
        self.count
    }

    /// [`Several::run`] as task `t` of the thread's own, whose call and block are others then.
    pub(crate) fn run_as(mut self, t: &'static Task) -> u64 {
        t.call.set((Self::body as *const () as usize, core::ptr::from_mut(&mut self) as usize));
        t.args.set((0, 0));
        task_body::run_body(self.thr, t);
        self.count
    }

    /// # Safety
    /// `this` is a [`Several`].
    unsafe extern "C" fn body(this: &mut Several) {
        const LOOK: u64 = 8; // how often to look at the clock
        const FIRST: u64 = 4; // so many times as long may the first one take, for what it finds cold
        let (thr, block) = (this.thr, this.call.1 as *mut u64);
        let (mut lo, mut hi, step) = this.bounds;
        let mut last = time::ticks();
        // One is counted throughout: where one ends the next one begins.
        let mut outside = thr.lazy.get();
        thr.lazy.set(outside + 1);
        let (mut left, mut some, mut limit) = (this.count, 1, FIRST * SHORT_TICKS);
        while left > 0 {
            some = left.min(some);
            for _ in 0..some {
                // SAFETY: compiled OpenMP code gave function and block for this purpose; a taskloop's block
                // begins with the bounds.
                unsafe {
                    *block = lo;
                    *block.add(1) = hi;
                    core::mem::transmute::<usize, extern "C" fn(*mut u64)>(this.call.0)(block);
                }
                if thr.lazy.get() == 0 {
                    hold_off(thr, || end_settled(thr));
                    outside = 0;
                    thr.lazy.set(1);
                }
                (lo, hi) = (hi, hi.wrapping_add(step));
            }
            left -= some;
            let now = time::ticks();
            if now.wrapping_sub(last) > limit {
                break;
            }
            (last, some, limit) = (now, LOOK, LOOK * SHORT_TICKS);
        }
        this.count -= left;
        thr.lazy.set(outside);
    }
}
