//! Explicit tasks, as the tool's callbacks have them.

use super::abi::{self, call, cancel, status, task};
use super::info::TaskInfo;
use super::tell::Me;
use crate::observe::OfTask;
use crate::observe::event::{Dep, Depend, Event, TaskForm};
use core::ptr::null_mut;
use smallvec::SmallVec;

impl Me {
    /// An event of a task.
    pub(super) fn tell_of_task(self, event: &Event) {
        match *event {
            Event::TaskCreate { task, form } => self.task_is_created(task, form),
            Event::TaskDepends { task, on } => self.task_depends(task, on),
            Event::TaskWaits { task, before } => {
                let (Some(sink), Some(source)) = (TaskInfo::of(task), TaskInfo::of(before)) else { return };
                self.calls(|_| call::task_dependence(source.data.ptr(), sink.data.ptr()));
            }
            Event::TaskBegin { task, .. } => self.task_begins(task),
            Event::TaskEnd { task, detached, .. } => self.task_ends(task, detached),
            Event::TaskSkipped { task } => self.task_is_skipped(task),
            Event::TaskFulfil { task, ended } => {
                let Some(t) = TaskInfo::of(task) else { return };
                let how = if ended { status::LATE_FULFILL } else { status::EARLY_FULFILL };
                self.calls(|_| call::task_schedule(t.data.ptr(), how, null_mut()));
            }
            _ => {}
        }
    }

    fn task_is_created(self, new: &'static OfTask, form: TaskForm) {
        let (Some(new), Some(t)) = (TaskInfo::of(new), self.task()) else { return };
        t.note_frames(self.thr);
        let mut flags = if form.function == 0 { task::TASKWAIT } else { task::EXPLICIT };
        for (yes, flag) in [(form.undeferred, task::UNDEFERRED), (form.last, task::FINAL)] {
            flags |= if yes { flag } else { 0 };
        }
        new.renew(flags, Some(t));
        let depends = i32::from(form.dependences > 0);
        self.calls(|site| call::task_create(t.data.ptr(), t.frame(), new.data.ptr(), flags, depends, site));
        t.leaves_runtime();
    }

    fn task_depends(self, task: &'static OfTask, on: &[Dep]) {
        let Some(t) = TaskInfo::of(task) else { return };
        let how = |d: Depend| match d {
            Depend::In => abi::dependence::IN,
            Depend::Set => abi::dependence::INOUTSET,
            // out and inout look alike in what GCC compiles.
            Depend::Out => abi::dependence::INOUT,
            Depend::Mutex => abi::dependence::MUTEXINOUTSET,
        };
        let list: SmallVec<[abi::Dependence; 8]> =
            on.iter().map(|&(at, d)| abi::Dependence { at: at as u64, how: how(d) }).collect();
        self.calls(|_| call::dependences(t.data.ptr(), list.as_ptr(), list.len() as i32));
    }

    fn task_begins(self, task: &'static OfTask) {
        let (Some(next), Some(before)) = (TaskInfo::of(task), self.task()) else { return };
        before.note_frames(self.thr);
        next.outer.set(Some(before));
        self.calls(|_| call::task_schedule(before.data.ptr(), status::SWITCH, next.data.ptr()));
        next.begin(self.thr, self.info);
    }

    fn task_ends(self, task: &'static OfTask, detached: bool) {
        let Some(t) = TaskInfo::of(task) else { return };
        let Some(next) = t.outer.get() else { return };
        let how = match (t.cancelled.get(), detached) {
            (true, _) => status::CANCEL,
            (_, true) => status::DETACH,
            _ => status::COMPLETE,
        };
        self.calls(|_| call::task_schedule(t.data.ptr(), how, next.data.ptr()));
        self.info.current.set(Some(next));
        next.leaves_runtime();
    }

    fn task_is_skipped(self, task: &'static OfTask) {
        let Some(t) = TaskInfo::of(task) else { return };
        if t.flags.get() & task::TASKWAIT != 0 {
            self.calls(|_| call::task_schedule(t.data.ptr(), status::TASKWAIT_COMPLETE, null_mut()));
        } else {
            let flags = cancel::TASKGROUP | cancel::DISCARDED_TASK;
            self.calls(|_| call::cancel(t.data.ptr(), flags, 0));
        }
    }
}
