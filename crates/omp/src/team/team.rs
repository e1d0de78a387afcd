//! A team: its members, what they share, and the region it executes.

use super::barrier::{Barrier, Shape};
use super::barrier_way::Way;
use super::event_count::{Event, Patience};
use super::member::Member;
use super::orders::{Awaited, Call};
use super::region_request::Asked;
use super::thread::{Called, Thread};
use crate::icv::{Icvs, globals};
use crate::observe::OfTeam;
use crate::sys::own::Own;
use crate::task::Task;
use crate::task::group::Group;
use crate::task::pool::TaskPool;
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
    /// How they meet at barriers.
    pub way: Own<Way>,
    /// Nesting level; 0 for the team of one that executes serial code.
    pub level: Own<u32>,
    /// Nesting level of active (more than one thread) regions.
    pub active_level: Own<u32>,
    /// What it has from where the region was encountered.
    pub(crate) origin: Origin,
    /// How long a waiting member stays awake.
    pub patience: Own<Patience>,
    /// What every member begins in.
    pub(crate) begins: Begins,
    /// Was `cancel parallel` encountered?
    pub(crate) cancelled: AtomicU32,
    /// The primary thread's own notes.
    pub primary: CachePadded<Primary>,
    /// Its workers' call.
    pub(crate) call: CachePadded<Call<Called>>,
    /// Single constructs that some member has come to, in this region.
    pub singles: CachePadded<AtomicU32>,
    /// The team barrier.
    pub(crate) barrier: Barrier,
    /// What members wait on.
    pub event: Event,
    /// Whom the primary thread waits for at the region's end.
    pub(crate) awaited: Awaited,
    /// Worksharing constructs.
    pub shares: ShareRing,
    /// Explicit tasks.
    pub(crate) tasks: TaskPool,
    /// copyprivate's data of the last single.
    pub copyprivate: AtomicPtr<u8>,
    /// The number of the member that they are of (a hint).
    pub copier: AtomicU32,
    /// What listeners keep with it.
    pub words: OfTeam,
}

/// What a team has from where its region was encountered.
#[repr(C)]
pub(crate) struct Origin {
    /// `promp_replayable` as it stood there.
    pub vouched: Own<u8>,
    /// `promp_recompute` and `promp_frags` in front of the region: for its first construct.
    pub wishes: Own<(u8, u32)>,
    /// The ICVs every implicit task starts with.
    pub icvs: Own<Icvs>,
    /// The task that encountered it.
    pub task: Own<Option<&'static Task>>,
    /// The primary thread's place in a league of teams.
    pub league: Own<(u32, u32)>,
}

/// What the members of a region begin in.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Begins {
    /// A combined construct's descriptor (`GOMP_parallel_loop_…`): every member starts inside it.
    pub combined: Own<Option<&'static Share>>,
    /// The taskgroup of the region's task reductions.
    pub group: Own<Option<&'static Group>>,
    /// Does it go without save points? See save/region_points.rs.
    pub(crate) without: Own<usize>,
}

/// What changes with every region; workers need none of it unless a thread fails.
#[derive(Default)]
pub struct Primary {
    /// The primary thread's membership in the enclosing team.
    pub parent: Own<Option<&'static Member>>,
    /// What it returns to outside the region.
    pub(crate) outside: Own<Outside>,
    /// Ordinal of the outermost region.
    pub region: Own<u64>,
    /// What the team was set up from (setup.rs).
    pub(crate) asked: Own<Asked>,
    /// The number of that setting-up.
    pub(crate) since: Own<u64>,
    /// The tuner measures the region: the number of its entry, when the region began (ns).
    pub(crate) measured: Own<Option<(u16, u64)>>,
    /// What [`Team::begins`] is to be in the region that starts.
    pub combined: Own<Option<&'static Share>>,
    /// See `combined`.
    pub group: Own<Option<&'static Group>>,
    /// Number of regions this team has executed; identifies the current one.
    pub(crate) epoch: AtomicU64,
    /// The crew's number (orders.rs), and that of the last one whose workers know it.
    pub(crate) crew: Own<u32>,
    /// See `crew`.
    pub(crate) known: Own<u32>,
    /// What the barrier's tree is prepared for.
    pub(crate) shape: Own<Option<Shape>>,
}

/// What the primary thread returns to at the region's end.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outside {
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
    pub(crate) fn create(capacity: u32) -> &'static Team {
        let team: &'static Team = Box::leak(Box::new(Team {
            members: (0..capacity).map(|_| Member::new()).collect(),
            size: Own::new(0),
            way: Own::default(),
            level: Own::new(0),
            active_level: Own::new(0),
            origin: Origin {
                vouched: Own::new(0),
                wishes: Own::new((0, 0)),
                icvs: Own::new(globals().initial.get()),
                task: Own::new(None),
                league: Own::new((0, 1)),
            },
            patience: Own::default(),
            begins: Begins::default(),
            cancelled: AtomicU32::new(0),
            primary: Default::default(),
            call: Default::default(),
            singles: Default::default(),
            barrier: Barrier::new(Shape::of(capacity)),
            event: Event::default(),
            awaited: Awaited::default(),
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
    pub(crate) fn capacity(&self) -> u32 {
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

    /// `cancel parallel`: marks the region and wakes those who wait.
    pub fn cancel(&self) {
        self.cancelled.store(1, Release);
        self.event.notify();
    }
}
