//! What a tool can be told of threads, tasks and teams: kept with them in the words that listeners have there
//! (observe/), made when they are needed first, and used again with them. All of it is `'static`: tools may
//! look at it from a signal handler, and at the tasks above their own, which other threads execute.
//!
//! A task's frames. While a task executes, its activation's base (sys/arch/asm.rs) says where it begins, and
//! the thread's last frame where it is in the runtime; both are looked up when they are asked for. When the
//! thread leaves the task for another one, they are noted in it.

use super::abi::{Data, Frame, state, task};
use crate::observe::{OfTask, OfTeam, Word};
use crate::sys::asm::FRAME_POINTER;
use crate::sys::own::Own;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

/// The listener's place among the words.
pub(super) static WORD: Own<Option<Word>> = Own::new(None);

/// States that a thread goes back to.
const DEPTH: usize = 16;

/// Of a thread; written by itself.
#[derive(Default)]
pub(super) struct ThreadInfo {
    /// The tool's.
    pub data: Data,
    /// The task that it executes.
    pub current: Own<Option<&'static TaskInfo>>,
    /// A worker's implicit task.
    pub implicit: TaskInfo,
    /// The league that it executes, and the initial task of the team that it has come to there.
    pub league: TeamInfo,
    /// See `league`.
    pub initial: TaskInfo,
    /// What it does (`ompt_state_t`), and which lock it waits for.
    pub state: AtomicU32,
    /// See `state`.
    pub lock: AtomicUsize,
    before: [Own<u32>; DEPTH],
    depth: Own<usize>,
    /// The device construct that it is in.
    pub target: TargetInfo,
    /// Does the lock that it wants come by a test?
    pub tests: Own<bool>,
}

/// Of a device construct; one within another, on the host, is not told apart.
#[derive(Default)]
pub(super) struct TargetInfo {
    /// The tool's.
    pub data: Data,
    /// The number that the runtime gives it, 0 outside of one.
    pub id: Own<u64>,
    /// How many it is in.
    pub depth: Own<u32>,
    /// Its device.
    pub device: Own<i32>,
    /// The number of the operation that is under way: the tool's, or the runtime's.
    pub operation: Data,
}

/// Of a task; written by who creates it, then by who executes it.
#[derive(Default)]
pub(super) struct TaskInfo {
    /// The tool's.
    pub data: Data,
    frame: FrameCell,
    /// `ompt_task_flag_t`.
    pub flags: Own<u32>,
    /// The number of the thread that executes it.
    pub num: Own<u32>,
    /// The task that its thread has left for it; of an implicit task, the one that encountered the region.
    pub outer: Own<Option<&'static TaskInfo>>,
    /// Its team.
    pub team: Own<Option<&'static TeamInfo>>,
    /// The base of the activation that it was begun in.
    base: Own<usize>,
    /// What the constructs that it is in have to do: worksharing, taskloop.
    pub counts: Own<(u64, u64)>,
    /// Is it in a `single` whose end it has not come to, as far as is known?
    pub single: Own<bool>,
    /// Has it cancelled something, or found it cancelled?
    pub cancelled: Own<bool>,
}

/// Of a team in a region; written by its primary thread.
#[derive(Default)]
pub(super) struct TeamInfo {
    /// The tool's.
    pub data: Data,
    /// Number of threads.
    pub size: Own<u32>,
    /// The team of the task that encountered the region.
    pub outer: Own<Option<&'static TeamInfo>>,
    /// That task.
    pub encountered: Own<Option<&'static TaskInfo>>,
    /// Where the region was encountered.
    pub site: Own<usize>,
}

/// A frame that tools get the address of.
#[derive(Default)]
#[repr(transparent)]
struct FrameCell(core::cell::UnsafeCell<Frame>);

// SAFETY: written by the thread that executes the task.
unsafe impl Sync for FrameCell {}

/// What `word` leads to; made where there is nothing yet.
fn made<T: Default>(word: &Own<usize>) -> &'static T {
    if word.get() == 0 {
        word.set(core::ptr::from_ref::<T>(Box::leak(Box::default())).addr());
    }
    // SAFETY: set above, or by another call for the same kind of object, to what lives for ever.
    unsafe { &*(word.get() as *const T) }
}

impl ThreadInfo {
    /// That of `thr`, which is made if need be: by the thread itself.
    pub(super) fn of(thr: &'static Thread) -> Option<&'static Self> {
        Some(made(thr.words.of(WORD.get()?)))
    }

    /// That of `thr`, if there is one.
    pub(super) fn find(thr: &'static Thread) -> Option<&'static Self> {
        let at = thr.words.of(WORD.get()?).get() as *const Self;
        // SAFETY: null, or set by `of` to what lives for ever.
        unsafe { at.as_ref() }
    }

    /// It begins to be in a state, for good.
    pub(super) fn is(&self, state: u32) {
        self.depth.set(0);
        self.state.store(state, Relaxed);
    }

    /// It begins to be in a state for some time.
    pub(super) fn enter(&self, state: u32) {
        let depth = self.depth.get();
        if let Some(b) = self.before.get(depth) {
            b.set(self.state.load(Relaxed));
        }
        self.depth.set(depth + 1);
        self.state.store(state, Relaxed);
    }

    /// It goes back to the one before.
    pub(super) fn leave(&self) {
        let depth = self.depth.get().saturating_sub(1);
        self.depth.set(depth);
        let before = self.before.get(depth).map_or(state::UNDEFINED, Own::get);
        self.state.store(before, Relaxed);
    }
}

impl TaskInfo {
    /// That of a task.
    pub(super) fn of(task: &'static OfTask) -> Option<&'static Self> {
        Some(made(task.of(WORD.get()?)))
    }

    /// Puts a thread's own in the place of what a task has.
    pub(super) fn stands_for(&'static self, task: &'static OfTask) {
        if let Some(word) = WORD.get() {
            task.of(word).set(core::ptr::from_ref(self).addr());
        }
    }

    /// A task begins its life: of the team of the task `by`.
    pub(super) fn renew(&self, flags: u32, by: Option<&'static TaskInfo>) {
        self.data.clear();
        self.set_frame(0, 0);
        self.flags.set(flags);
        self.num.set(0);
        self.outer.set(by);
        self.team.set(by.and_then(|t| t.team.get()));
        self.base.set(0);
        self.counts.set((0, 0));
        self.single.set(false);
        self.cancelled.set(false);
    }

    /// `thr` is about to execute it.
    pub(super) fn begin(&'static self, thr: &'static Thread, me: &ThreadInfo) {
        self.base.set(thr.base.load(Relaxed));
        self.num.set(thr.num());
        me.current.set(Some(self));
    }

    fn set_frame(&self, exit: usize, enter: usize) {
        use super::abi::FRAME;
        // SAFETY: by the thread that executes the task; tools read it in that thread, or know what they do.
        unsafe { *self.frame.0.get() = Frame { exit, enter, flags: [FRAME; 2] } }
    }

    /// Notes its frames as they are in `thr`, which executes it.
    pub(super) fn note_frames(&self, thr: &'static Thread) {
        let (base, frame) = (thr.base.load(Relaxed), thr.call_frame());
        // Before its own activation, and when that has ended, the base is the one before.
        let within = base != self.base.get();
        let exit = if within { base + FRAME_POINTER } else { 0 };
        let initial = self.flags.get() & task::INITIAL != 0;
        let inside = thr.in_runtime.load(Relaxed) != 0 && frame != 0 && (within || initial);
        self.set_frame(exit, if inside { frame + FRAME_POINTER } else { 0 });
    }

    /// Its thread is about to go on with it.
    pub(super) fn leaves_runtime(&self) {
        // SAFETY: as in `set_frame`.
        unsafe { (*self.frame.0.get()).enter = 0 }
    }

    /// Where its frames are.
    pub(super) fn frame(&self) -> *mut Frame {
        self.frame.0.get()
    }

    /// The tool's word of its region.
    pub(super) fn parallel(&self) -> *mut u64 {
        self.team.get().map_or(core::ptr::null_mut(), |t| t.data.ptr())
    }
}

impl TeamInfo {
    /// That of a team.
    pub(super) fn of(team: &'static OfTeam) -> Option<&'static Self> {
        Some(made(team.of(WORD.get()?)))
    }
}
