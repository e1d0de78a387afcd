//! A logical thread's membership in a team: its number, where it is in the sequence of worksharing constructs, its
//! ledger, its implicit task and its entry in the team's thread failure descriptor.

use super::orders::End;
use super::team::Team;
use super::thread::Thread;
use crate::sys::own::Own;
use crate::task::Task;
use crate::task::pool::MemberTasks;
use crate::work::batch::Batch;
use crate::work::batch_size::Pace;
use crate::work::ledger::Ledger;
use crate::work::shape::Shape;
use crate::work::share::{Maker, Share, ShareRing};
use core::sync::atomic::AtomicU32;
use crossbeam_utils::CachePadded;

/// TFD entries (P1's E1 … Ek).
pub mod tfd {
    /// The host runs.
    pub(crate) const ALIVE: u32 = 0;
    /// The host has failed, the logical thread waits for another.
    pub const FAILED: u32 = 1;
    /// The host has failed in this region and another one has taken over.
    pub const REHOSTED: u32 = 2;
}

/// See the module's text. Fields in [`Own`] are written by the logical thread itself, or by the primary thread while the
/// member is not in a region.
/// The first ones seldom change: the primary reads them at every region's start.
#[repr(C, align(128))]
pub struct Member {
    /// The team.
    pub team: Own<Option<&'static Team>>,
    /// The thread number.
    pub num: Own<u32>,
    /// The logical thread.
    pub thread: Own<Option<&'static Thread>>,
    /// Place partition (offset, length) and place of the implicit task; place `u32::MAX` when not bound.
    pub place: Own<(u32, u32, u32)>,
    /// The last region of the team that the member has come to the end of.
    pub(crate) end: End,
    /// The team's current region.
    pub epoch: Own<u64>,
    /// Worksharing constructs of this region.
    pub(crate) constructs: Constructs,
    /// Single constructs come to so far in this region.
    pub singles: Own<u32>,
    /// Those that somebody had come to when this member looked last, if it is not ahead.
    pub singles_met: Own<u32>,
    /// The construct the thread is in, or was in last.
    pub share: Own<Option<&'static Share>>,
    /// Barriers.
    pub(crate) barriers: Barriers,
    /// In the current construct.
    pub(crate) position: Position,
    /// Chunks of the current dynamic loop taken and not begun; others take from it, too.
    pub(crate) batch: CachePadded<Batch>,
    /// The loop that `batch` is of, and its sequence number: next to it, so that the next chunk needs nothing else.
    pub(crate) batched: Own<(u64, Shape)>,
    /// How many chunks of a dynamic loop it takes at once, where it must get them in order.
    pub(crate) pace: Pace,
    /// Inside a construct with scratch memory (scan).
    pub scanning: Own<bool>,
    /// The thread failure descriptor's entry. Set by the failing host (release), reset by the primary at region start.
    pub tfd: AtomicU32,
    /// Tasks created and done, and those that are ready.
    pub tasks: MemberTasks,
    /// Chunks taken and finished.
    pub ledger: Ledger,
    /// The implicit task.
    pub implicit: Task,
}

/// Worksharing constructs that a member has come to in its region.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Constructs {
    /// Entered so far.
    pub entered: Own<u64>,
    /// So many of them all members are known to have left, because a barrier came behind them.
    pub settled: Own<u64>,
}

/// Barriers that a member has come to.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Barriers {
    /// While the team had two members.
    pub pairs: Own<u64>,
    /// Rounds of the barrier's tree.
    pub(crate) gathered: Own<u32>,
}

/// Where a member is in its current construct.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Position {
    /// Static schedules: trips done; loops in batches: how far the dispenser was.
    pub trip: Own<u64>,
    /// In a loop of a team of many: it has said that it has a batch (work/shared_batches.rs).
    pub holds: Own<bool>,
    /// What is left of the current chunk of a static schedule that is handed out in fragments: (first iteration,
    /// end).
    pub rest: Own<(u64, u64)>,
}

impl Member {
    /// A member without a team.
    pub(crate) fn new() -> Self {
        Self {
            team: Own::new(None),
            num: Own::new(0),
            thread: Own::new(None),
            place: Own::new((0, 0, u32::MAX)),
            end: End::default(),
            epoch: Own::new(0),
            constructs: Constructs::default(),
            singles: Own::new(0),
            singles_met: Own::new(0),
            share: Own::new(None),
            barriers: Barriers::default(),
            position: Position::default(),
            batch: CachePadded::new(Batch::default()),
            batched: Own::new((0, Shape::NONE)),
            pace: Pace::default(),
            scanning: Own::new(false),
            tfd: AtomicU32::new(tfd::ALIVE),
            tasks: MemberTasks::default(),
            ledger: Ledger::default(),
            implicit: Task::implicit(),
        }
    }

    /// The team; a member in use has one.
    #[inline(always)]
    pub fn team(&self) -> &'static Team {
        self.team.get().expect("a member in use belongs to a team")
    }

    /// Its thread: a member in use, other than a team's first, is a worker's.
    #[inline(always)]
    pub(crate) fn worker(&self) -> &'static Thread {
        self.thread.get().expect("a member in use has a thread")
    }

    /// The sequence number of the construct the thread is in. The descriptor has it, too, on a line that
    /// others change.
    #[inline(always)]
    pub(crate) fn construct(&self) -> u64 {
        self.constructs.entered.get() - 1
    }

    /// Enters the next one of `shares`, the team's; see [`ShareRing::enter`].
    #[inline(always)]
    pub(crate) fn enter_construct(
        &self,
        shares: &'static ShareRing,
        epoch: u64,
        make: impl Maker,
    ) -> (&'static Share, Option<u64>) {
        let seq = self.constructs.entered.get();
        self.constructs.entered.set(seq + 1);
        self.position.trip.set(0);
        self.position.rest.set((0, 0));
        self.ledger.begin_construct();
        let entered = shares.enter(epoch, seq, &self.constructs.settled, make);
        self.share.set(Some(entered.0));
        entered
    }

    /// It has passed the barrier at its last construct's end.
    #[inline]
    pub fn settle_construct(&self) {
        if let Some(s) = self.share.get() {
            let settled = self.constructs.entered.get();
            self.constructs.settled.set(settled);
            // One looks.
            if self.num.get() == 0 {
                self.team().shares.settle(s, self.epoch.get(), settled);
            }
        }
    }

    /// The chunk in flight is done.
    #[inline(always)]
    pub fn finish_chunk(&self) {
        self.ledger.finish_chunk(|| self.num.get());
    }

    /// The construct the thread is in; entered before it is asked for.
    #[inline(always)]
    pub fn share(&self) -> &'static Share {
        self.share.get().expect("inside a worksharing construct")
    }
}

impl Default for Member {
    fn default() -> Self {
        Self::new()
    }
}
