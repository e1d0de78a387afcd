//! What happens, as the tool's callbacks have it. Each event keeps what is known of the thread up to date and
//! calls what the tool has registered for it.

use super::abi::{self, call, cancel, parallel, scope, state, sync, task, work};
use super::info::{TaskInfo, TeamInfo, ThreadInfo};
use super::is_active;
use super::lock_callbacks::state_of_lock;
use crate::observe::event::{Cancelled, Event, Pause, Sync, Work};
use crate::observe::{OfTeam, Told};
use crate::say;
use crate::sys::syscall::exit_group;
use crate::team::thread::Thread;
use crate::team::{setup, worker_pool};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::*;

/// A thread to which something happens.
#[derive(Clone, Copy)]
pub(super) struct Me {
    pub(super) thr: &'static Thread,
    pub(super) info: &'static ThreadInfo,
}

/// See the module's text.
pub(super) fn told(t: &Told) {
    let Some(thr) = t.thread.map(Thread::of) else { return };
    if !is_active() {
        return;
    }
    if thr.calls_out.load(Relaxed) != 0 {
        return by_the_tool(t.event);
    }
    if let Event::ThreadBegin { worker } = *t.event {
        return thread_begins(thr, worker);
    }
    let Some(info) = ThreadInfo::find(thr) else { return };
    Me { thr, info }.tell(t.event);
}

/// The tool itself calls the runtime in a callback: nothing is told of that, and there is no region in it.
fn by_the_tool(event: &Event) {
    if let Event::ParallelBegin { .. } = event {
        say!(
            "a callback of the OMPT tool begins a parallel region, which OpenMP does not allow (5.1, section \
             4.5.2); stopping"
        );
        exit_group(70);
    }
}

/// A thread becomes known.
pub(super) fn thread_begins(thr: &'static Thread, worker: bool) {
    let Some(info) = ThreadInfo::of(thr) else { return };
    info.data.clear();
    info.current.set(None);
    info.is(if worker { state::IDLE } else { state::WORK_SERIAL });
    let me = Me { thr, info };
    let kind = if worker { abi::thread::WORKER } else { abi::thread::INITIAL };
    me.calls(|_| call::thread_begin(kind, info.data.ptr()));
    if !worker {
        me.initial_task_begins();
    }
}

/// The program ends in `thr`: its tasks, and threads that wait for regions, with it.
pub(super) fn program_ends(thr: &'static Thread) {
    if thr.calls_out.load(Relaxed) != 0 {
        return;
    }
    if thr.team().level.get() == 0 && !thr.in_explicit_task() {
        let before = thr.in_runtime.swap(1, Relaxed);
        setup::release_hot(thr);
        worker_pool::dismiss_idle();
        thr.in_runtime.store(before, Relaxed);
    }
    if let Some(info) = ThreadInfo::find(thr) {
        Me { thr, info }.thread_ends();
    }
}

fn kind_of(s: Sync) -> u32 {
    match s {
        Sync::Barrier => sync::BARRIER_EXPLICIT,
        Sync::Work => sync::BARRIER_IMPLICIT_WORKSHARE,
        Sync::Copy => sync::BARRIER_IMPLEMENTATION,
        Sync::Join => sync::BARRIER_IMPLICIT_PARALLEL,
        Sync::Taskwait => sync::TASKWAIT,
        Sync::Taskgroup => sync::TASKGROUP,
    }
}

fn state_of_barrier(s: Sync) -> u32 {
    match s {
        Sync::Work => state::WAIT_BARRIER_IMPLICIT_WORKSHARE,
        Sync::Copy => state::WAIT_BARRIER_IMPLEMENTATION,
        Sync::Join => state::WAIT_BARRIER_IMPLICIT_PARALLEL,
        Sync::Barrier | Sync::Taskwait | Sync::Taskgroup => state::WAIT_BARRIER_EXPLICIT,
    }
}

fn kind_of_work(w: Work) -> u32 {
    match w {
        Work::Loop => work::LOOP,
        Work::Sections => work::SECTIONS,
        Work::Scope => work::SCOPE,
        Work::Taskloop => work::TASKLOOP,
    }
}

const REGION: u32 = parallel::INVOKER_RUNTIME | parallel::TEAM;

impl Me {
    /// What happens to the thread.
    fn tell(self, event: &Event) {
        match *event {
            Event::ThreadEnd => self.thread_ends(),
            Event::ParallelBegin { team, size, asked, .. } => self.parallel_begins(team, size, asked),
            Event::ParallelEnd { team } => self.parallel_ends(team),
            Event::ImplicitBegin { team } => self.implicit_begins(team),
            Event::ImplicitEnd { .. } => self.implicit_ends(),
            Event::LeagueBegin { teams, .. } => self.league_begins(teams),
            Event::InitialBegin { number, teams } => self.initial_begins(number, teams),
            Event::InitialEnd { number } => self.initial_ends(number),
            Event::LeagueEnd => self.league_ends(),
            Event::SyncArrive { sync } => self.arrives(sync),
            Event::SyncLeave { sync } => self.goes_on(sync),
            Event::TaskSyncBegin { sync } => self.sync_region(scope::BEGIN, kind_of(sync)),
            Event::TaskSyncArrive { sync } => self.sync_wait(scope::BEGIN, kind_of(sync)),
            Event::TaskSyncLeave { sync } => {
                self.sync_wait(scope::END, kind_of(sync));
                self.sync_region(scope::END, kind_of(sync));
            }
            Event::WorkBegin { work, construct } => self.work_begins(work, construct.total),
            Event::WorkEnd { work } => self.work_ends(work),
            Event::Single { executes } => self.single(executes),
            Event::SingleEnd => self.single_is_over(),
            Event::MaskedBegin => self.masked(scope::BEGIN),
            Event::MaskedEnd => self.masked(scope::END),
            Event::Chunk { work, lo, hi } => self.chunk(work, lo, hi),
            Event::LockInit { .. }
            | Event::LockDestroy { .. }
            | Event::LockWait { .. }
            | Event::LockGot { .. }
            | Event::LockGive { .. }
            | Event::LockNest { .. } => self.tell_of_lock(event),
            Event::TaskCreate { .. }
            | Event::TaskDepends { .. }
            | Event::TaskWaits { .. }
            | Event::TaskBegin { .. }
            | Event::TaskEnd { .. }
            | Event::TaskSkipped { .. }
            | Event::TaskFulfil { .. } => self.tell_of_task(event),
            Event::HelpBegin => self.info.enter(state::WORK_PARALLEL),
            Event::PauseBegin { pause } => self.pauses(pause),
            Event::HelpEnd | Event::PauseEnd { .. } => self.info.leave(),
            Event::Cancel { what } => self.cancels(what, cancel::ACTIVATED),
            Event::CancelFound { what } => self.cancels(what, cancel::DETECTED),
            Event::Error { fatal, message } => self.error(fatal, message),
            Event::DeviceBegin { number, name } => self.device_begins(number, name),
            Event::DeviceEnd { number } => self.device_ends(number),
            Event::ImageBegin { number, image } => self.image_is_loaded(number, image),
            Event::ImageEnd { number, image } => self.calls(|_| call::device_unload(number, image as u64)),
            Event::TargetMap { mapped } => self.target_maps(mapped),
            Event::TargetBegin { target, device } => self.target_begins(target, device),
            Event::TargetEnd { target, .. } => self.target_ends(target),
            Event::TargetData { end, op, moved } => self.target_moves(end, op, moved),
            Event::TargetSubmit { end, teams } => self.target_is_submitted(end, teams),
            _ => {} // The interface has no callback for the others.
        }
    }

    /// Calls the tool: `f` gets where the runtime was called.
    pub(super) fn calls(self, f: impl FnOnce(usize)) {
        let site = self.thr.call_place();
        self.thr.call_out(|| f(site));
    }

    /// The task that the thread executes.
    pub(super) fn task(self) -> Option<&'static TaskInfo> {
        self.info.current.get()
    }

    /// The tool's words of its region and its task.
    pub(super) fn words(self) -> (*mut u64, *mut u64) {
        self.task().map_or((null_mut(), null_mut()), |t| (t.parallel(), t.data.ptr()))
    }

    fn initial_task_begins(self) {
        let m = self.thr.member();
        let (Some(t), Some(team)) = (TaskInfo::of(&m.implicit.words), TeamInfo::of(&m.team().words)) else {
            return;
        };
        team.data.clear();
        team.size.set(1);
        t.renew(task::INITIAL, None);
        t.team.set(Some(team));
        t.begin(self.thr, self.info);
        self.calls(|_| {
            call::implicit_task(scope::BEGIN, team.data.ptr(), t.data.ptr(), 1, 1, task::INITIAL);
        });
    }

    fn thread_ends(self) {
        if let Some(t) = self.task()
            && t.flags.get() & task::INITIAL != 0
        {
            // The specification has null for the region. Archer wants to have it, as it gets it of libomp.
            let end = || call::implicit_task(scope::END, t.parallel(), t.data.ptr(), 0, 1, task::INITIAL);
            self.calls(|_| end());
        }
        self.info.current.set(None);
        self.info.is(state::UNDEFINED);
        self.calls(|_| call::thread_end(self.info.data.ptr()));
    }

    fn parallel_begins(self, team: &'static OfTeam, size: u32, asked: u32) {
        let (Some(team), Some(t)) = (TeamInfo::of(team), self.task()) else { return };
        t.note_frames(self.thr);
        team.data.clear();
        team.size.set(size);
        team.outer.set(t.team.get());
        team.encountered.set(Some(t));
        let site = self.thr.call_place();
        team.site.set(site);
        let asked = if asked != 0 { asked } else { self.thr.task().icvs.get().threads };
        self.info.enter(state::OVERHEAD);
        self.calls(|_| call::parallel_begin(t.data.ptr(), t.frame(), team.data.ptr(), asked, REGION, site));
    }

    fn parallel_ends(self, team: &'static OfTeam) {
        let (Some(team), Some(t)) = (TeamInfo::of(team), self.task()) else { return };
        self.info.leave();
        self.calls(|site| call::parallel_end(team.data.ptr(), t.data.ptr(), REGION, site));
        t.leaves_runtime();
    }

    fn implicit_begins(self, team: &'static OfTeam) {
        let (Some(team), m) = (TeamInfo::of(team), self.thr.member()) else { return };
        let num = m.num.get();
        let t = if num == 0 {
            let Some(t) = TaskInfo::of(&m.implicit.words) else { return };
            t
        } else {
            // The member may be another thread's before this one has told of its end.
            self.info.implicit.stands_for(&m.implicit.words);
            &self.info.implicit
        };
        t.renew(task::IMPLICIT, team.encountered.get());
        t.team.set(Some(team));
        t.begin(self.thr, self.info);
        self.info.enter(state::WORK_PARALLEL);
        let size = team.size.get();
        self.calls(|_| {
            call::implicit_task(scope::BEGIN, team.data.ptr(), t.data.ptr(), size, num, task::IMPLICIT);
        });
    }

    fn implicit_ends(self) {
        let Some(t) = self.task() else { return };
        let num = t.num.get();
        self.calls(|_| call::implicit_task(scope::END, null_mut(), t.data.ptr(), 0, num, task::IMPLICIT));
        self.info.leave();
        self.info.current.set(if num == 0 { t.outer.get() } else { None });
    }

    fn arrives(self, sync: Sync) {
        self.single_is_over();
        self.info.enter(state_of_barrier(sync));
        self.sync_region(scope::BEGIN, kind_of(sync));
        self.sync_wait(scope::BEGIN, kind_of(sync));
    }

    fn goes_on(self, sync: Sync) {
        if let (Sync::Join, Some(t)) = (sync, self.task()) {
            // The region is over; the team may be in its next one.
            t.team.set(None);
        }
        self.sync_wait(scope::END, kind_of(sync));
        self.sync_region(scope::END, kind_of(sync));
        self.info.leave();
    }

    fn pauses(self, pause: Pause) {
        let (state, lock) = match pause {
            Pause::Lock { mutex, at } => (state_of_lock(mutex), at),
            Pause::Taskwait => (state::WAIT_TASKWAIT, 0),
            Pause::Taskgroup => (state::WAIT_TASKGROUP, 0),
        };
        self.info.lock.store(lock, Relaxed);
        self.info.enter(state);
    }

    fn error(self, fatal: bool, message: &[u8]) {
        let severity = if fatal { abi::severity::FATAL } else { abi::severity::WARNING };
        self.calls(|site| call::error(severity, message.as_ptr(), message.len(), site));
    }

    fn sync_region(self, endpoint: u32, kind: u32) {
        let (region, task) = self.words();
        self.calls(|site| call::sync_region(kind, endpoint, region, task, site));
    }

    fn sync_wait(self, endpoint: u32, kind: u32) {
        let (region, task) = self.words();
        self.calls(|site| call::sync_region_wait(kind, endpoint, region, task, site));
    }

    /// Where a construct was encountered: combined with the region, where that was.
    fn site_of_construct(self, site: usize) -> usize {
        let of_region = || self.task().and_then(|t| t.team.get()).map_or(0, |t| t.site.get());
        if site != 0 { site } else { of_region() }
    }

    fn tell_work(self, kind: u32, endpoint: u32, count: u64) {
        let (region, task) = self.words();
        self.calls(|site| call::work(kind, endpoint, region, task, count, self.site_of_construct(site)));
    }

    fn work_begins(self, work: Work, count: u64) {
        let Some(t) = self.task() else { return };
        let (of_work, of_taskloop) = t.counts.get();
        if work == Work::Taskloop {
            t.counts.set((of_work, count));
        } else {
            self.single_is_over();
            t.counts.set((count, of_taskloop));
        }
        self.tell_work(kind_of_work(work), scope::BEGIN, count);
    }

    fn work_ends(self, work: Work) {
        let Some(t) = self.task() else { return };
        let (of_work, of_taskloop) = t.counts.get();
        let count = if work == Work::Taskloop { of_taskloop } else { of_work };
        self.tell_work(kind_of_work(work), scope::END, count);
    }

    fn single(self, executes: bool) {
        self.single_is_over();
        if executes {
            self.tell_work(work::SINGLE_EXECUTOR, scope::BEGIN, 1);
            if let Some(t) = self.task() {
                t.single.set(true);
            }
        } else {
            self.tell_work(work::SINGLE_OTHER, scope::BEGIN, 1);
            self.tell_work(work::SINGLE_OTHER, scope::END, 1);
        }
    }

    /// The compiled code says nothing where a `single` ends. Where the thread comes to what cannot be within
    /// one, a barrier or another worksharing construct, it has ended.
    fn single_is_over(self) {
        if let Some(t) = self.task()
            && t.single.get()
        {
            t.single.set(false);
            self.tell_work(work::SINGLE_EXECUTOR, scope::END, 1);
        }
    }

    fn masked(self, endpoint: u32) {
        let (region, task) = self.words();
        self.calls(|site| call::masked(endpoint, region, task, site));
    }

    fn chunk(self, work: Work, lo: u64, hi: u64) {
        let (region, task) = self.words();
        if work == Work::Sections {
            // Where the section's code is nobody knows here: it is behind the call.
            return self.calls(|site| {
                call::dispatch(region, task, abi::dispatch::SECTION, self.site_of_construct(site) as u64);
            });
        }
        let chunk = abi::DispatchChunk { start: lo, iterations: hi - lo };
        let at = (&raw const chunk).addr() as u64;
        self.calls(|_| call::dispatch(region, task, abi::dispatch::LOOP_CHUNK, at));
    }

    fn cancels(self, what: Cancelled, how: u32) {
        let Some(t) = self.task() else { return };
        let what = match what {
            Cancelled::Parallel => cancel::PARALLEL,
            Cancelled::Loop => cancel::LOOP,
            Cancelled::Sections => cancel::SECTIONS,
            Cancelled::Taskgroup => cancel::TASKGROUP,
        };
        if what == cancel::TASKGROUP {
            t.cancelled.set(true);
        }
        self.calls(|site| call::cancel(t.data.ptr(), what | how, site));
    }
}
