//! Copying while the program runs: blocks of memory that have changed as a whole are not copied while the
//! threads are frozen. Writes to them are held by the kernel (`sys/kernel/uffd.rs`) until they have been
//! copied, part by part where threads wait; the copies wait in trays, in the staging buffer, until they are
//! written (trays.rs).
//!
//! The *guard*, a host of its own, hears from the kernel who waits to write where. The states of a part of a
//! block, all under one lock:
//!
//! | from | when | to |
//! |---|---|---|
//! | waiting | a helper or the keeper has room for it: those first to which a thread waits to write | moving
//! |
//! | moving | it is copied; it is new, nobody waits to write to it, and it is not known to go on changing; or
//! little of it has changed | kept |
//! | moving | it is copied | open |
//! | kept | a thread wants to write to it, or to another part of the block; not the first times if little of
//! it changes: for them only a page is opened | open |
//! | open | the threads are frozen for the next checkpoint, and what they have written to is held anew;
//! little of it changes | kept |
//!
//! Open parts are written to freely and count as changed; those that are kept, and what else the mapping
//! holds, are known to be as they were saved for as long as nobody has written to them: until the next
//! checkpoint asks the kernel.
//!
//! What is given back to the system, or moved, before it is copied ends the attempt. The kernel tells of
//! memory that is unmapped when it is gone already, and something else may be there when the copy is made.
//! But it takes no change of a mapping's protection until somebody has heard of that, so a copy counts when
//! such a change has been made after it.

mod trays;
mod window;
mod work;

use crate::image::{Entry, PAGE};
use crate::keep as kept;
use crate::pages::{self, Known, UNPLACED};
use crate::ranges;
use crate::runtime::runtime;
use crate::sys::attempt::Attempt;
use crate::sys::uffd::{Event, Uffd};
use crate::sys::{cache, host, preserved_memory, syscall};
use core::fmt;
use core::sync::atomic::Ordering::*;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use trays::PARTS;
pub(crate) use trays::{PLACES, Pool};
pub(crate) use window::Window;
pub(crate) use work::{Balance, Failure, How, PAGES};
use work::{Copied, PART, PART_PAGES, State, Work};

/// How long the guard waits before it tries again what the kernel did not take, or there was no room for.
const AGAIN_NS: u64 = 200_000;

/// A piece of a part that stays in a CPU's own cache from when it is read until it is copied, past the
/// caches: as in a stop (copy.rs), but the memory may be gone.
#[repr(align(4096))]
struct Buffer([u8; Buffer::PAGES * PAGE]);

impl Buffer {
    const PAGES: usize = 16;
    const NEW: Self = Self([0; Self::PAGES * PAGE]);
}

/// The guard's descriptor is not ours any more.
pub(crate) const CLOSED: &str = "the program has closed a descriptor of the runtime's";

/// What guard, keeper and helpers share.
pub(crate) struct Guard {
    /// What holds the writes.
    pub uffd: Uffd,
    /// A page of ours, which it watches.
    sign: (usize, usize),
    work: Mutex<Work>,
    /// There may be something to do, for those who have nothing.
    bell: Condvar,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uffd.fmt(f)
    }
}

impl Guard {
    /// With nothing to guard. In the kept region, for good. `None` where the system does not let writes be
    /// held.
    pub(crate) fn new() -> Option<&'static Self> {
        let uffd = Uffd::holding()?;
        let page = preserved_memory::pages(PAGE)? as usize;
        let sign = (page, page + PAGE);
        let (work, bell) = (Mutex::new(Work::default()), Condvar::new());
        uffd.watch(sign).then(|| preserved_memory::leak(Self { uffd, sign, work, bell }) as &Self)
    }

    /// Makes its host. While the threads run.
    pub(crate) fn hire(&'static self) -> bool {
        let (Some(stack), Some(tp)) = (host::new_kept_stack(), host::own_thread_pointer()) else {
            return false;
        };
        // SAFETY: a fresh stack and a control block of its own; `main` keeps to what such a host may do.
        let tid = unsafe { host::spawn_with(stack, tp, main, core::ptr::from_ref(self) as usize) };
        if let Some(tid) = tid {
            kept::get().hosts.own[2].store(tid, Relaxed);
        }
        tid.is_some()
    }

    /// Does it still watch what it has to? Not if the program has closed the descriptor.
    pub(crate) fn is_intact(&self, noting: &Uffd) -> bool {
        let lost = noting.watch(self.sign);
        if lost {
            noting.unwatch(self.sign);
        }
        !lost
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mappings whose writes are held from now on, in order. While nobody can write to them.
    pub(crate) fn hold(&self, held: &[(usize, usize)]) {
        let mut w = self.work();
        w.held = held.into();
        w.keep_calm();
    }

    /// What holding writes was good for, since this was last asked for.
    pub(crate) fn balance(&self) -> Balance {
        core::mem::take(&mut self.work().balance)
    }

    /// Where mappings have been moved to since this was asked for. They are held there, and their marks say
    /// nothing of what is saved.
    pub(crate) fn moved(&self) -> Vec<usize> {
        core::mem::take(&mut self.work().moved)
    }

    /// `blocks`, in order, of what is held are to be copied, by way of the trays in `pool`; some are known to
    /// go on changing. What was to be copied before is forgotten, and opened if somebody wants to write to
    /// it.
    pub(crate) fn expect(&self, blocks: &[(usize, bool)], how: How, pool: Pool) {
        self.work().begin(blocks, Some(how), pool);
    }

    /// The guard's life.
    pub(crate) fn attend(&self) -> ! {
        let mut buffer = Buffer::NEW;
        loop {
            let again = {
                let mut w = self.work();
                !w.shut.is_empty() || (w.waits() && !w.urgent.is_empty())
            };
            self.uffd.wait(again.then_some(AGAIN_NS));
            // The descriptor may have been closed, and be another file's.
            if !matches!(self.uffd.hold(self.sign), Ok(()) | Err(libc::EAGAIN)) {
                let mut w = self.work();
                w.fail(Failure::Lost(CLOSED));
                self.bell.notify_all();
                drop(w);
                syscall::exit();
            }
            self.hear();
            while self.work().is_urgent() {
                drop(self.copy_one(&mut buffer, true));
                self.hear();
            }
        }
    }

    /// Hears what has happened to the mappings. Under the lock from the moment when it is heard of: who did
    /// it goes on then.
    fn hear(&self) {
        loop {
            let mut w = self.work();
            match self.uffd.read() {
                None => break,
                Some(Event::Write(at)) => self.wanted(w, at),
                // Nobody asks this one for such.
                Some(Event::Missing { .. }) => {}
                Some(Event::Gone(start, end)) => {
                    if w.is_uncopied((start, end)) {
                        w.fail(Failure::Lost(
                            "the program has given back memory that was still to be copied",
                        ));
                    }
                }
                Some(Event::Moved(from, to, len)) => {
                    if w.is_uncopied((from, from + len)) {
                        w.fail(Failure::Lost("the program has moved memory that was still to be copied"));
                    }
                    // It is held there, too, with its marks; how long it is now is not told.
                    w.held.push((to, to + len));
                    w.moved.push(to);
                }
            }
        }
        let shut = {
            let mut w = self.work();
            // One part that is urgent the guard copies itself.
            if w.urgent.len() > 1 || w.failed.is_some() {
                self.bell.notify_all();
            }
            core::mem::take(&mut w.shut)
        };
        shut.into_iter().for_each(|range| self.open(range));
    }

    fn open(&self, range: (usize, usize)) {
        match self.uffd.clear(range) {
            Ok(()) => {}
            Err(libc::EAGAIN) => self.work().shut.push(range),
            // A part of it is gone.
            Err(_) => {
                for page in (range.0..range.1).step_by(PAGE).map(|at| (at, at + PAGE)) {
                    if self.uffd.clear(page) == Err(libc::EAGAIN) {
                        self.work().shut.push(page);
                    }
                }
            }
        }
    }

    /// Nothing is to be copied any more: threads that wait go on.
    fn give_up(&self) {
        let uncopied = self.work().begin(&[], None, Pool::default());
        uncopied.into_iter().for_each(|range| self.open(range));
    }

    /// A thread waits to write at `at`.
    fn wanted(&self, mut w: MutexGuard<Work>, at: usize) {
        let range = match w.find(at) {
            None => w.around(at),
            Some(i) => match w.parts[i].state {
                State::Waiting => {
                    w.parts[i].wanted.push(at);
                    return w.urgent.push_back(i);
                }
                State::Moving => return w.parts[i].wanted.push(at),
                // If it is open: it has been opened since, or is about to be.
                State::Kept | State::Open => w.open(i, at),
            },
        };
        drop(w);
        self.open(range);
    }

    /// Copies something, if there is something to copy and room for it: by the guard, or somebody else.
    fn copy_one(&self, buffer: &mut Buffer, by_guard: bool) -> MutexGuard<'_, Work> {
        let mut w = self.work();
        let (Some(how), Some(claim)) = (w.how.clone(), w.claim()) else { return w };
        drop(w);
        let n = claim.parts.len();
        let attempt = Attempt::begin(runtime().crash_handler());
        let (mut read, mut copied) = (true, [Copied::default(); PARTS]);
        for (i, copied) in copied.iter_mut().enumerate().take(n) {
            // SAFETY: a part of a tray that the claim has given to this host alone, and its entries.
            let to = unsafe { how.parts(claim.tray, claim.at + i, 1) };
            match copy_part(&how, attempt.as_ref(), claim.start + i * PART, to, buffer) {
                Some(c) => *copied = c,
                None => read = false,
            }
        }
        cache::done();
        drop((attempt, how));
        let counts = self.settle(by_guard);
        let mut w = self.work();
        w.moving -= 1;
        if !read || !counts {
            w.fail(Failure::Lost("memory that was to be copied cannot be read"));
        }
        w.trays.copied(claim.tray, n);
        let mut open = Vec::new();
        claim.parts.zip(copied).for_each(|(i, c)| w.copied(i, c, &mut open));
        self.bell.notify_all();
        drop(w);
        ranges::joined(open.into_iter()).into_iter().for_each(|range| self.open(range));
        self.work()
    }

    /// Waits until whatever has happened to the mappings has been heard of. False if the descriptor is not
    /// ours any more.
    fn settle(&self, by_guard: bool) -> bool {
        loop {
            match self.uffd.hold(self.sign) {
                Err(libc::EAGAIN) if by_guard => self.hear(),
                Err(libc::EAGAIN) => syscall::sched_yield(),
                done => return done.is_ok(),
            }
        }
    }

    /// Waits for the bell.
    fn sleep<'a>(&self, w: MutexGuard<'a, Work>) -> MutexGuard<'a, Work> {
        self.bell.wait(w).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies the part of a block that begins at `start`. `None` if it cannot be read.
fn copy_part(
    how: &How,
    attempt: Option<&Attempt>,
    start: usize,
    (content, entries): (&mut [u8], &mut [Entry]),
    buffer: &mut Buffer,
) -> Option<Copied> {
    let first = (start / PAGE) as u64;
    let mut known = Known::from(&how.old, first);
    let is_new = known.none_before(first + PART_PAGES as u64);
    let (mut read, mut changed) = (true, 0);
    for (piece, entries) in entries.chunks_mut(Buffer::PAGES).enumerate() {
        read &= how.door.read_if_there(attempt, start + piece * buffer.0.len(), &mut buffer.0);
        for (n, (entry, now)) in entries.iter_mut().zip(buffer.0.chunks_exact(PAGE)).enumerate() {
            let n = piece * Buffer::PAGES + n;
            let page = first + n as u64;
            *entry = pages::entry(page, now, true, known.of(page));
            if entry.slot == UNPLACED {
                changed += 1;
                // SAFETY: pages of the buffer and of the tray, which are apart and aligned.
                unsafe { cache::copy_past(now.as_ptr(), content[n * PAGE..].as_mut_ptr(), PAGE) };
            }
        }
    }
    read.then_some(Copied { is_new, changed })
}

/// The guard's host. Signals are blocked in it, as in the keeper's, from which it is made.
///
/// # Safety
/// For [`host::spawn_with`]; `arg` is a leaked [`Guard`].
unsafe extern "C" fn main(arg: usize) -> ! {
    crate::sys::follow::begin();
    // SAFETY: by the caller's promise.
    unsafe { &*(arg as *const Guard) }.attend()
}
