//! What checkpoints ask of a logical thread, answered.
//!
//! [`resize`](LogicalThread::resize): another default number of threads, in a process that goes on from a
//! checkpoint taken while the program's first thread was alone in serial code. Its teams are left without
//! workers, which end in order; the next region makes what it needs. The keeper does this on memory that has
//! been put back and that nobody executes yet.

use super::thread::Thread;
use super::worker_pool;
use crate::ckpt::dead_memory_claims::Claims;
use crate::ckpt::logical_threads::LogicalThread;
use crate::icv::globals_if_ready;
use crate::sys::own::Own;
use core::sync::atomic::Ordering::Relaxed;

impl LogicalThread for Thread {
    fn number(&self) -> u32 {
        self.num()
    }

    fn is_worker(&self) -> bool {
        self.worker.get()
    }

    fn seat_number(&self) -> &Own<u32> {
        &self.seat_number
    }

    fn has_to_stop(&self) -> bool {
        self.pending.load(Relaxed) != 0 || self.calls_out.load(Relaxed) > 0xff
    }

    fn has_died(&self) -> bool {
        self.has_ended()
    }

    fn is_at_work(&self) -> bool {
        self.is_in_region()
    }

    fn claims(&self) -> Option<&'static Claims> {
        self.claims.get()
    }

    fn is_carried_by(&self, tid: u32) {
        self.host.store(tid, Relaxed);
    }

    fn is_in_serial_code(&'static self, waits: bool) -> bool {
        let Some(m) = self.member.get() else { return false };
        let in_its_task = self.task.get().is_some_and(|t| core::ptr::eq(t, &m.implicit));
        !self.is_in_region()
            && (waits || self.in_runtime.load(Relaxed) == 0)
            && self.lazy.get() == 0
            && in_its_task
            && m.team().level.get() == 0
            && worker_pool::is_free()
    }

    fn resize(&'static self, n: u32) {
        let change = |mut icvs: crate::icv::Icvs| {
            icvs.threads = n;
            icvs
        };
        if let Some(g) = globals_if_ready() {
            g.initial.set(change(g.initial.get()));
        }
        let task = &self.member().implicit;
        task.icvs.set(change(task.icvs.get()));
        dismiss_workers(self);
        worker_pool::dismiss_without_waiting();
    }
}

/// The workers of the teams that `thr` keeps end, and theirs.
fn dismiss_workers(thr: &'static Thread) {
    thr.unprepare();
    for team in thr.hot.get().into_iter().flatten() {
        // Those that rest at the end of its last region.
        team.event.notify_frozen();
        for m in team.members().iter().skip(1) {
            let worker = m.worker();
            dismiss_workers(worker);
            worker.dock.dismiss_frozen();
        }
        team.size.set(team.size().min(1));
    }
}
