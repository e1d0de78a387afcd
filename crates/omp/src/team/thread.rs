//! A logical thread: what the program sees as an OpenMP thread. It owns a stack and thread-local data (a
//! libc thread's), its memberships in teams, and the place where its private state is saved; the *host*,
//! the kernel's thread under it, can be replaced.
//!
//! Objects of this type live in the arena and are never unmapped, so `&'static Thread` is always valid
//! memory.

use super::recovery_state::Room;
use super::{alone::Alone, cpu_spread::Home, member::Member, orders::Dock, team::Team};
use crate::ckpt::dead_memory_claims::Claims;
use crate::observe::{self, Event, OfThread};
use crate::save::{Save, gauge::Gauge, unsaved_clock};
use crate::sys::host::{self, Identity};
use crate::sys::{asm, own::Own, tls};
use crate::task::{Task, group, slab::Slab};
use crate::undo;
use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use crossbeam_utils::CachePadded;

/// Teams that a thread keeps ready for its next regions, by nesting depth.
pub(crate) const HOT_DEPTH: usize = 8;

/// The thread is in a call of a tool's.
const CALLS_OUT: u32 = 1;

/// See the module's text. [`Own`] fields are written by the logical thread itself unless said otherwise.
#[repr(C, align(128))]
pub struct Thread {
    /// 1 while the host is in the runtime: a stop then waits for the exit. Written by the stubs.
    pub in_runtime: AtomicU32,
    /// The kind of a stop that waits (fault::spec::Kind), or 0.
    pub pending: AtomicU32,
    /// The frame of the current or last runtime call.
    pub frame: Own<usize>,
    /// Where the current activation's frames begin; 0 in serial code.
    pub base: AtomicUsize,
    /// Locks, critical and ordered sections held (the ledger of held locks). With `progress` one word for
    /// those that change both.
    pub held: Own<u32>,
    /// Runtime calls made, counted by the stubs: the watchdog's sign of life.
    pub progress: AtomicU32,
    /// The current task; see [`Thread::task`].
    pub task: Own<Option<&'static Task>>,
    /// Tasks below it that it is in and that are no tasks yet (task/included_tasks.rs).
    pub(crate) lazy: Own<u32>,
    /// What calls may be light here (task/lightness.rs).
    pub(crate) light: Own<u32>,
    /// The current membership.
    pub member: Own<Option<&'static Member>>,
    /// The current team's address and this thread's number in it, for the agent.
    pub seat: (AtomicUsize, AtomicU32),
    /// Chunks taken in all regions that have ended.
    pub chunks: Own<u64>,
    /// Are stacks copied at save points?
    pub saving: Own<bool>,
    /// `promp_replayable`: 0 no word, 1 replayable, 2 not.
    pub vouched: Own<u8>,
    /// `promp_recompute` for the next construct: 0 nothing said, or the number of `settings::Recompute`.
    pub recompute: Own<u8>,
    /// `promp_frags` for the next construct: 0 nothing said.
    pub fragments: Own<u32>,
    /// Function and argument of the current activation.
    pub call: Own<(usize, usize)>,
    /// Teams this thread is the primary of, by depth, and how many are in use.
    pub(crate) hot: Own<[Option<&'static Team>; HOT_DEPTH]>,
    /// The team for regions that it executes alone though more threads could (setup.rs).
    pub(crate) alone: Own<Option<&'static Team>>,
    /// Those regions.
    pub alone_in: Alone,
    /// Is it in one of them that is executed as serial code ([`region::execute_plainly`])?
    ///
    /// [`region::execute_plainly`]: super::region::execute_plainly
    pub plainly: Own<bool>,
    /// The membership, and the number of the setting-up, that it is prepared for: see setup.rs.
    pub(crate) prepared: Own<Option<(&'static Member, u64)>>,
    /// Depth of regions this thread is the primary of.
    pub(crate) depth: Own<u32>,
    /// The host's kernel thread id; 0 while nobody carries it.
    pub host: AtomicU32,
    /// What a new host takes over if the host ends without a word. As it was when the thread began.
    pub identity: Own<Option<Identity>>,
    /// When it was found that the host has ended, in nanoseconds; 0: it has not.
    pub ended: AtomicU64,
    /// Is this a worker of the pool (not a thread of the program's own)?
    pub worker: Own<bool>,
    /// Its CPU, and the place that its host is bound to.
    pub(crate) home: Home,
    /// The host's CPU time when it was looked at last (team/cpu_yield.rs), in nanoseconds.
    pub(crate) used: AtomicU64,
    /// What OMP_DISPLAY_AFFINITY has shown last: (thread, size, place).
    pub(crate) shown: Own<(u32, u32, u32)>,
    /// Its seat for checkpoints (ckpt/freeze/seats.rs), from 1; 0 if it has none.
    pub seat_number: Own<u32>,
    /// What it has said of memory at the next place for a checkpoint, once it has said something.
    pub claims: Own<Option<&'static Claims>>,
    /// Are OpenACC's tools not told of this thread's events?
    pub tools_off: Own<bool>,
    /// Host team's number in a league (teams construct): (team_num, num_teams).
    pub league: Own<(u32, u32)>,
    /// Memory of the tasks it creates.
    pub(crate) slab: Slab,
    /// Taskgroups that it has ended.
    pub(crate) groups: group::Kept,
    /// Saved private state.
    pub save: Save,
    /// Is the chunk in flight watched, so that what it writes is noted (PROMP_SDC=chunks)?
    pub watched: Own<bool>,
    /// Old values of what it overwrites.
    pub undo: undo::Log,
    /// What saving old values costs.
    pub gauge: Gauge,
    /// For how long its work could not have been executed again.
    pub(crate) unsaved: unsaved_clock::Clock,
    /// What recovery keeps of it.
    pub room: Room,
    /// What listeners keep with it.
    pub words: OfThread,
    /// Not 0 while the runtime calls a tool of others (tools/ompt): a stop then waits, whatever the tool
    /// does; its kind stands above the first byte. Written by the thread's own host.
    pub calls_out: AtomicU32,
    /// Where the worker waits for regions.
    pub(crate) dock: CachePadded<Dock<Order>>,
}

const _: () = assert!(offset_of!(Thread, in_runtime) == asm::IN_RUNTIME);
const _: () = assert!(offset_of!(Thread, pending) == asm::PENDING);
const _: () = assert!(offset_of!(Thread, frame) == asm::FRAME);
const _: () = assert!(offset_of!(Thread, base) == asm::BASE);
const _: () = assert!(offset_of!(Thread, held) == asm::HELD);
const _: () = assert!(offset_of!(Thread, progress) == asm::PROGRESS && asm::PROGRESS == asm::HELD + 4);
const _: () = assert!(offset_of!(Thread, light) == asm::LIGHT);
const _: () = assert!(offset_of!(Thread, task) == asm::TASK);
const _: () = assert!(offset_of!(Thread, lazy) == asm::LAZY);
const _: () = assert!(offset_of!(Thread, member) == asm::MEMBER && asm::MEMBER < asm::STUBS_KNOW);

impl Thread {
    /// A fresh logical thread in the arena.
    pub(crate) fn create(worker: bool) -> &'static Thread {
        Box::leak(Box::new(Thread {
            in_runtime: AtomicU32::new(1),
            pending: AtomicU32::new(0),
            frame: Own::new(0),
            base: AtomicUsize::new(0),
            held: Own::new(0),
            progress: AtomicU32::new(0),
            task: Own::new(None),
            lazy: Own::new(0),
            light: Own::new(0),
            member: Own::new(None),
            seat: Default::default(),
            chunks: Own::new(0),
            saving: Own::new(false),
            vouched: Own::new(0),
            recompute: Own::new(0),
            fragments: Own::new(0),
            call: Own::new((0, 0)),
            hot: Own::new([None; HOT_DEPTH]),
            alone: Own::new(None),
            alone_in: Alone::default(),
            plainly: Own::new(false),
            prepared: Own::new(None),
            depth: Own::new(0),
            host: AtomicU32::new(0),
            identity: Own::new(None),
            ended: AtomicU64::new(0),
            worker: Own::new(worker),
            home: Home::default(),
            used: AtomicU64::new(0),
            shown: Own::new((u32::MAX, 0, 0)),
            seat_number: Own::new(0),
            claims: Own::new(None),
            tools_off: Own::new(false),
            league: Own::new((0, 1)),
            slab: Slab::default(),
            groups: group::Kept::default(),
            save: Save::default(),
            watched: Own::new(false),
            undo: undo::Log::default(),
            gauge: Gauge::default(),
            unsaved: unsaved_clock::Clock::default(),
            room: Room::default(),
            words: OfThread::default(),
            calls_out: AtomicU32::new(0),
            dock: CachePadded::new(Dock::default()),
        }))
    }

    /// The thread whose words these are.
    pub fn of(words: &'static OfThread) -> &'static Thread {
        let at = core::ptr::from_ref(words).addr() - offset_of!(Thread, words);
        // SAFETY: an `OfThread` exists only as a `Thread`'s field, and those are never unmapped.
        unsafe { &*(at as *const Thread) }
    }

    /// Something happens to the calling thread.
    #[inline(always)]
    pub fn tell(&'static self, event: Event) {
        observe::tell(&self.words, event);
    }

    /// The frame of the current runtime call, or the last one; 0 if there is none.
    #[inline]
    pub fn call_frame(&self) -> usize {
        match self.frame.get() {
            0 => tls::first_frame(),
            f => f,
        }
    }

    /// Where the current runtime call was made; 0 if there is none.
    #[inline]
    pub fn call_site(&self) -> usize {
        match self.call_frame() {
            0 => 0,
            // SAFETY: the frame of the call in progress; its return address lies behind the saved registers.
            f => unsafe { *((f + asm::FRAME_BYTES) as *const usize) },
        }
    }

    /// The same, for people and tools. An outlined function that ends in a jump to the runtime has not left
    /// where that is: its own beginning stands for it (one more, as it is looked in front of return
    /// addresses).
    pub fn call_place(&self) -> usize {
        match self.call_site() {
            at if asm::is_trampoline(at) => self.call.get().0 + 1,
            at => at,
        }
    }

    /// The current membership: every thread that has entered the runtime has one, at least of its own team
    /// of one.
    #[inline(always)]
    pub fn member(&self) -> &'static Member {
        self.member.get().expect("a thread in the runtime has a team")
    }

    /// The current team.
    #[inline(always)]
    pub fn team(&self) -> &'static Team {
        self.member().team()
    }

    /// The thread number in the current team.
    #[inline(always)]
    pub fn num(&self) -> u32 {
        self.member().num.get()
    }

    /// Is `task` the current task?
    #[inline(always)]
    pub(crate) fn is_in(&self, task: Option<&'static Task>) -> bool {
        let address = |t: Option<&'static Task>| t.map(core::ptr::from_ref);
        self.lazy.get() == 0 && address(self.task.get()) == address(task)
    }

    /// Makes `m` the current membership, with its implicit task.
    #[inline]
    pub fn enter(&'static self, m: &'static Member) {
        self.member.set(Some(m));
        self.seat.0.store(m.team() as *const Team as usize, Relaxed);
        self.seat.1.store(m.num.get(), Relaxed);
        self.task.set(Some(&m.implicit));
    }

    /// In a handler: does a stop of this kind have to wait, since the thread is in the runtime? It is noted
    /// then.
    pub fn waits_with(&self, kind: u32) -> bool {
        if self.calls_out.load(Relaxed) != 0 {
            self.calls_out.store(CALLS_OUT | kind << 8, Relaxed);
            return true;
        }
        let inside = self.in_runtime.load(Relaxed) != 0;
        if inside {
            self.pending.store(kind, Relaxed);
        }
        inside
    }

    /// Calls `f`, a tool's, in the runtime. What its own calls of the runtime change of that is put back.
    pub fn call_out<R>(&self, f: impl FnOnce() -> R) -> R {
        let frame = self.frame.get();
        self.calls_out.store(CALLS_OUT, Relaxed);
        let r = f();
        self.in_runtime.store(1, Relaxed);
        self.frame.set(frame);
        let kind = self.calls_out.swap(0, Relaxed) >> 8;
        if kind != 0 {
            self.pending.store(kind, Relaxed);
        }
        r
    }

    /// Does it execute a region's function, or a task? Others may ask.
    #[inline(always)]
    pub fn is_in_region(&self) -> bool {
        self.base.load(Relaxed) != 0
    }

    /// The word that the kernel clears when the host ends: libc's.
    pub fn id_word(&self) -> Option<&'static AtomicU32> {
        // SAFETY: libc has made the thread, or the loader the first one; the word is there as long as the
        // thread has not ended in order.
        self.identity.get().and_then(|i| unsafe { host::id_word(i.thread_pointer) })
    }

    /// Has the host ended without a word, and nobody seen to it yet (recover/host_deaths.rs)?
    pub fn has_ended(&self) -> bool {
        self.host.load(Acquire) != 0 && self.id_word().is_some_and(|w| w.load(Acquire) == 0)
    }

    /// Is it in an explicit task?
    pub fn in_explicit_task(&self) -> bool {
        self.lazy.get() != 0 || self.task.get().is_some_and(Task::is_explicit)
    }

    /// Is its current task final? One that is only counted is so where the task it is in is.
    pub fn is_in_final(&self) -> bool {
        self.task.get().is_some_and(|t| t.clauses.in_final.get())
    }

    /// One more or one fewer lock held.
    #[inline]
    pub fn hold(&self, delta: i32) {
        self.held.set(self.held.get().saturating_add_signed(delta));
    }
}

/// The calling logical thread; None if it has not called the runtime yet.
#[inline(always)]
pub fn known() -> Option<&'static Thread> {
    // SAFETY: set by `set_current` only; threads are never freed.
    tls::logical_thread().map(|p| unsafe { p.cast().as_ref() })
}

/// Makes `thr` the calling logical thread; None: nobody is.
pub(crate) fn set_current(thr: Option<&'static Thread>) {
    tls::set_logical_thread(thr.map(|t| NonNull::from(t).cast()));
}

/// The calling logical thread.
#[inline(always)]
pub fn current() -> &'static Thread {
    match known() {
        Some(t) => t,
        None => crate::upward::adopt_caller(),
    }
}

/// What a worker is called for: all that changes from region to region, in one line with the word that it
/// waits on.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    /// The membership.
    pub member: &'static Member,
    /// The team's region.
    pub epoch: u64,
    /// The setting-up that it comes from.
    pub since: u64,
    /// The outlined function and its argument.
    pub call: (usize, usize),
    /// The crew's number; [`super::crew::NO_CREW`]: the team has no tree.
    pub crew: u32,
    /// Does who gets it pass it on?
    pub passes: bool,
}

/// What members' orders have in common, of that which changes: [`Order::since`], [`Order::call`].
pub(crate) type Called = (u64, (usize, usize));

const _: () = assert!(size_of::<Dock<Order>>() <= 64);
