//! A team: its members, what they share, and the region it executes.

use super::barrier::Barrier;
use super::event::{Event, Patience, Waiters};
use super::member::Member;
use super::setup::Asked;
use super::thread::Thread;
use crate::icv::{Icvs, globals};
use crate::observe::event::{Event as Told, Set, Sync};
use crate::observe::{self, OfTeam};
use crate::sys::own::Own;
use crate::task::Task;
use crate::task::group::Group;
use crate::task::pool::{Scope, TaskPool};
use crate::work::share::{Share, ShareRing};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use crossbeam_utils::CachePadded;

/// Teams live in the arena and are reused, never unmapped. [`Own`] fields are written by the primary thread
/// while no worker is in the region; workers read them after the acquire load of their order. The first
/// ones are mostly the same from region to region and only written where they are not, so that the workers
/// keep their lines; what changes stands apart.
#[repr(C)]
pub struct Team {
    members: Box<[Member]>,
    /// Number of threads in the region.
    pub size: Own<u32>,
    /// Nesting level; 0 for the team of one that executes serial code.
    pub level: Own<u32>,
    /// Nesting level of active (more than one thread) regions.
    pub active_level: Own<u32>,
    /// `promp_replayable` as it stood where the region was encountered.
    pub vouched: Own<u8>,
    /// `promp_recompute` and `promp_frags` in front of the region: for its first construct.
    pub wishes: Own<(u8, u32)>,
    /// The ICVs every implicit task starts with.
    pub icvs: Own<Icvs>,
    /// The task that encountered the region.
    pub parent_task: Own<Option<&'static Task>>,
    /// The primary thread's place in a league of teams.
    pub league: Own<(u32, u32)>,
    /// How long a waiting member stays awake.
    pub patience: Own<Patience>,
    /// A combined construct's descriptor (`GOMP_parallel_loop_…`): every member starts inside it.
    pub combined: Own<Option<&'static Share>>,
    /// The taskgroup of the region's task reductions.
    pub group: Own<Option<&'static Group>>,
    /// Was `cancel parallel` encountered?
    pub cancelled: AtomicU32,
    /// The primary thread's own notes.
    pub primary: CachePadded<Primary>,
    /// The last epoch that has ended completely (release by the primary). Idle workers look at it now and
    /// then only.
    pub finished: CachePadded<AtomicU64>,
    /// Single constructs that some member has come to, in this region.
    pub singles: CachePadded<AtomicU32>,
    /// The team barrier.
    pub barrier: Barrier,
    /// What members wait on.
    pub event: Event,
    /// Worksharing constructs.
    pub shares: ShareRing,
    /// Explicit tasks.
    pub tasks: TaskPool,
    /// copyprivate's data of the last single.
    pub copyprivate: AtomicPtr<u8>,
    /// The number of the member that they are of (a hint).
    pub copier: AtomicU32,
    /// What listeners keep with it.
    pub words: OfTeam,
}

/// What changes with every region; workers need none of it unless a thread fails.
#[derive(Default)]
pub struct Primary {
    /// The primary thread's membership in the enclosing team.
    pub parent: Own<Option<&'static Member>>,
    /// What it returns to outside the region.
    pub outside: Own<Outside>,
    /// Ordinal of the outermost region.
    pub region: Own<u64>,
    /// What the team was set up from (setup.rs).
    pub asked: Own<Asked>,
    /// The number of that setting-up.
    pub since: Own<u64>,
    /// The tuner measures the region: the number of its entry, when the region began (ns).
    pub measured: Own<Option<(u16, u64)>>,
    /// What [`Team::combined`] and [`Team::group`] are to be in the region that starts.
    pub combined: Own<Option<&'static Share>>,
    /// See `combined`.
    pub group: Own<Option<&'static Group>>,
    /// Number of regions this team has executed; identifies the current one.
    pub epoch: AtomicU64,
    /// The number of members that the barrier's counter is set to.
    pub counted: Own<u32>,
}

/// What the primary thread returns to at the region's end.
#[derive(Clone, Copy, Default)]
pub struct Outside {
    /// Current task.
    pub task: Option<&'static Task>,
    /// Activation base.
    pub base: usize,
    /// Activation call.
    pub call: (usize, usize),
    /// Locks held.
    pub held: u32,
    /// What calls may be light.
    pub light: u32,
}

impl Team {
    /// A team for up to `capacity` members.
    pub fn create(capacity: u32) -> &'static Team {
        let team: &'static Team = Box::leak(Box::new(Team {
            members: (0..capacity).map(|_| Member::new()).collect(),
            size: Own::new(0),
            level: Own::new(0),
            active_level: Own::new(0),
            vouched: Own::new(0),
            wishes: Own::new((0, 0)),
            icvs: Own::new(globals().initial),
            parent_task: Own::new(None),
            league: Own::new((0, 1)),
            patience: Own::default(),
            combined: Own::new(None),
            group: Own::new(None),
            cancelled: AtomicU32::new(0),
            primary: Default::default(),
            finished: Default::default(),
            singles: Default::default(),
            barrier: Barrier::default(),
            event: Event::default(),
            shares: ShareRing::default(),
            tasks: TaskPool::default(),
            copyprivate: AtomicPtr::default(),
            copier: AtomicU32::new(0),
            words: OfTeam::default(),
        }));
        for (i, m) in team.members.iter().enumerate() {
            m.team.set(Some(team));
            m.num.set(i as u32);
        }
        team
    }

    /// How many members it has room for.
    pub fn capacity(&self) -> u32 {
        self.members.len() as u32
    }

    /// Member `i` (of the capacity).
    #[inline(always)]
    pub fn member(&'static self, i: u32) -> &'static Member {
        &self.members[i as usize]
    }

    /// The members of the current region.
    pub fn members(&'static self) -> &'static [Member] {
        &self.members[..self.size.get() as usize]
    }

    /// The primary thread.
    pub fn primary_thread(&'static self) -> &'static Thread {
        self.members[0].thread.get().expect("a team in use has a primary thread")
    }

    /// Number of threads.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.size.get()
    }

    /// The next region begins, no member is in it yet: its epoch.
    #[inline(always)]
    pub fn begin_region(&self) -> u64 {
        self.tasks.begin_region();
        if self.singles.load(Relaxed) != 0 {
            self.singles.store(0, Relaxed);
        }
        let epoch = self.primary.epoch.load(Relaxed) + 1;
        self.primary.epoch.store(epoch, Relaxed);
        epoch
    }

    /// Is the region cancelled?
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed) != 0
    }

    /// [`Team::barrier`] as synchronisation `sync`.
    #[inline(always)]
    pub fn synchronise(&'static self, thr: &'static Thread, sync: Sync, cancellable: bool) -> bool {
        if observe::wants(Set::SYNC) {
            return self.tell_barrier(thr, sync, cancellable);
        }
        self.barrier(thr, cancellable)
    }

    #[cold]
    #[inline(never)]
    fn tell_barrier(&'static self, thr: &'static Thread, sync: Sync, cancellable: bool) -> bool {
        thr.tell(Told::SyncArrive { sync });
        let passed = self.barrier(thr, cancellable);
        thr.tell(Told::SyncLeave { sync });
        passed
    }

    /// The team barrier for `thr`, which executes tasks while it waits. Returns false if the region was
    /// cancelled while (or before) it waited and `cancellable` is set.
    pub fn barrier(&'static self, thr: &'static Thread, cancellable: bool) -> bool {
        let n = self.size();
        if n == 1 && self.tasks.idle(self) {
            return !(cancellable && self.is_cancelled());
        }
        if cancellable && self.is_cancelled() {
            return false;
        }
        if n == 2
            && let Some(passed) = self.meet(thr, cancellable)
        {
            return passed;
        }
        let seen = self.barrier.generation();
        // The last one holds the round until all tasks are done: it executes them like everybody else.
        let last = self.barrier.arrive();
        let stop = || cancellable && self.is_cancelled();
        self.wait_at_end(thr, Waiters::Inside, self.patience.get(), || {
            stop() || if last { self.tasks.idle(self) } else { self.barrier.passed(seen) }
        });
        if stop() && !self.barrier.passed(seen) {
            return false;
        }
        if last {
            self.barrier.release(n);
            self.event.notify_only(Waiters::Inside);
        }
        true
    }

    /// The barrier of two members; `None`: they go on to the one that waits for tasks.
    #[inline]
    fn meet(&'static self, thr: &'static Thread, cancellable: bool) -> Option<bool> {
        let m = thr.member();
        let (me, round, busy) = (m.num.get() as usize, m.rounds.get() + 1, self.tasks.has_been_used());
        m.rounds.set(round);
        self.barrier.tell(me, round, busy);
        let met = || self.barrier.is_met(me, round);
        let stop = || cancellable && self.is_cancelled();
        let patience = self.patience.get();
        // Only one that has come before can be asleep, and its note is there then. So the fence of the
        // notice comes when the lines have crossed: before, it would wait for the own line's way.
        let awake = patience.stay(|| met() || stop() || self.tasks.has_been_used());
        self.event.notify_only(Waiters::Inside);
        if !met() {
            self.wait_at_end(thr, Waiters::Inside, patience.after(awake), || met() || stop());
        }
        if !met() {
            return Some(false);
        }
        if self.barrier.goes_on(me, round, busy) { None } else { Some(true) }
    }

    /// Waits at the end of a piece of the region until `done`, as one of `kind`, executing any of the
    /// team's tasks meanwhile.
    pub fn wait_at_end(
        &'static self,
        thr: &'static Thread,
        kind: Waiters,
        patience: Patience,
        done: impl Fn() -> bool,
    ) {
        let scope = Scope::Any(thr.member().epoch.get());
        let mut worked = false;
        while !done() {
            if self.tasks.run_one(thr, scope) {
                worked = true;
                continue;
            }
            if worked {
                // Somebody may wait for these to be the last tasks.
                worked = false;
                self.event.notify_only(Waiters::Inside);
                continue;
            }
            self.event.wait_as(kind, patience, || done() || self.tasks.has_ready(thr, scope));
        }
    }

    /// `cancel parallel`: marks the region and wakes those who wait.
    pub fn cancel(&self) {
        self.cancelled.store(1, Release);
        self.event.notify();
    }
}
