//! Slots made ready: what the file of pages will be too short by is written to once before the checkpoint that needs it.
//!
//! A place of a file that has never been written to is slow. The file system must find room for it and note that it is in use, and so must the host of
//! a virtual machine (docs/internals/checkpoints.md, "Cost"); during a checkpoint, threads wait for that. So
//! from a fourth of an interval before it on, while nobody waits, first what has come to rest is written, and
//! then the file is made as much longer as the rest will need, by writing anything, as databases do with
//! their logs. If that is worth it, which depends on the disk: a little is written twice first, and the times
//! are compared.

use super::copier::{Copier, Lent};
use crate::image::PAGE;
use crate::keep as kept;
use crate::ranges;
use crate::say;
use crate::settings::Copying;
use crate::slots::Slots;
use crate::store::Store;
use crate::sys;
use crate::sys::preserved_memory::{self, FILLER, FILLER_SIZE};
use crate::sys::time;
use crate::tracker::changed;
use core::sync::atomic::Ordering::*;

/// Pieces that are written twice to find out whether it is worth it.
const TRIED: usize = 16;
/// That may take one of so many parts of an interval, and it is looked at most so often what has changed.
const PARTS: u64 = 16;
/// What is written: not zeros, which a device may leave out.
const ANYTHING: u8 = 0xa5;

/// What is known of it.
pub(super) struct Ready {
    /// Is it worth it? None: not tried yet.
    worth: Option<bool>,
    /// The rest is for the checkpoint after this generation.
    generation: u64,
    /// So many slots are to have been written to.
    wanted: usize,
    /// All have been.
    done: bool,
    /// When to look again at what has changed.
    again: u64,
}

impl Ready {
    pub(super) fn new(copying: Copying, slots: &Slots) -> Self {
        let worth = match copying {
            Copying::Auto | Copying::Stopped => (!slots.are_on_a_device()).then_some(false),
            // For tests, it always is.
            Copying::Running | Copying::Small => Some(true),
        };
        Self { worth, generation: 0, wanted: 0, done: false, again: 0 }
    }
}

/// Is it worth it, if writing something takes `first` and writing to the same place again `second`?
fn is_worth_it(first: u64, second: u64) -> bool {
    second + second / 4 < first
}

impl Copier {
    /// Does a little of it, for a checkpoint that is due at `due`. Returns when it wants to go on.
    pub(super) fn make_ready(&mut self, due: u64, lent: &mut Lent) -> u64 {
        let least = self.copying.worth_it() / PAGE;
        let may_grow = self.grows || lent.store.fresh() >= least;
        let is_known = !self.unknown && self.tracker.notes_writes();
        let ready = &mut self.ready;
        if ready.generation != lent.generation {
            let generation = lent.generation;
            *ready = Ready { worth: ready.worth, generation, wanted: 0, done: false, again: 0 };
        }
        if ready.worth == Some(false) || ready.done || !may_grow || !is_known {
            return u64::MAX;
        }
        let now = time::now_ns();
        let begin = due.saturating_sub(lent.interval_ns / 4);
        let is_short = lent.store.reached() < ready.wanted;
        if now < begin || (now < ready.again && !is_short) {
            return begin.max(ready.again);
        }
        if is_short {
            ready.extend(lent.store, lent.interval_ns / PARTS, self.verbose);
            if ready.worth == Some(false) {
                forget();
            }
            return 0;
        }
        ready.again = now + lent.interval_ns / PARTS;
        if self.write_ahead(lent.store, lent.dead).is_err() {
            return 0; // a failure, or everything is unknown now
        }
        let (_, runs) = self.look(lent);
        // Slots that a checkpoint taken now would need.
        let needed = ranges::bytes(&changed(&runs)) / PAGE;
        let missing = needed.saturating_sub(lent.store.spare());
        if missing >= least && missing <= lent.store.slots().room() / 2 && fill() {
            self.ready.wanted = lent.store.reached() + missing;
            return 0;
        }
        self.ready.done = true;
        forget();
        u64::MAX
    }
}

impl Ready {
    /// Makes the file a piece longer, or tries for `most_ns` whether that is worth it.
    fn extend(&mut self, store: &mut Store, most_ns: u64, verbose: u32) {
        // SAFETY: memory of ours that nobody else uses, filled before anything was wanted.
        let content = unsafe { core::slice::from_raw_parts(FILLER as *const u8, FILLER_SIZE) };
        let worth = match self.worth {
            None => try_to_extend(store, content, most_ns, verbose),
            worth => store.extend(content).map(|()| worth),
        };
        // What cannot be written now may be when the checkpoint is taken, which says so if it cannot.
        self.worth = worth.unwrap_or(Some(false));
    }
}

/// Is it worth it? None: there is a failure, which does not wait.
fn try_to_extend(
    store: &mut Store,
    content: &[u8],
    most_ns: u64,
    verbose: u32,
) -> Result<Option<bool>, String> {
    let from = store.reached();
    let mut took = [0; 2];
    for i in 0..2 * TRIED {
        if kept::get().failed.load(Acquire) > 0 {
            return Ok(None);
        }
        let began = time::now_ns();
        match i.checked_sub(TRIED) {
            None => store.extend(content)?,
            Some(i) => store.overwrite(content, from + i * FILLER_SIZE / PAGE)?,
        }
        took[i / TRIED] += time::now_ns() - began;
        if took[0] + took[1] > most_ns {
            took = [0; 2];
            break;
        }
    }
    let worth = is_worth_it(took[0], took[1]);
    if !worth {
        store.shorten(from);
    }
    if verbose >= 2 {
        let speed = took.map(|ns| (TRIED * FILLER_SIZE) as f64 / ns as f64);
        match worth {
            true => say!("slots are made ready: {:.1} GB/s, afterwards {:.1}", speed[0], speed[1]),
            false => say!("slots are not made ready: it makes no difference, or takes too long"),
        }
    }
    Ok(Some(worth))
}

/// Provides what is written. False if the system has no memory for it.
fn fill() -> bool {
    let usable = preserved_memory::commit(FILLER, FILLER_SIZE);
    if usable {
        // SAFETY: memory of ours, just made usable, that only the keeper uses. As one huge page a third of writing it is spared: its pages are not looked up
        // one by one.
        unsafe {
            sys!(libc::SYS_madvise, FILLER, FILLER_SIZE, libc::MADV_HUGEPAGE);
            core::ptr::write_bytes(FILLER as *mut u8, ANYTHING, FILLER_SIZE);
        }
    }
    usable
}

/// Gives back what is written.
fn forget() {
    // SAFETY: memory of ours, which is filled before more is wanted.
    unsafe { sys!(libc::SYS_madvise, FILLER, FILLER_SIZE, libc::MADV_DONTNEED) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_worth_it_if_the_second_time_is_faster_by_a_fourth() {
        assert!(is_worth_it(126, 100) && !is_worth_it(125, 100) && !is_worth_it(90, 100));
        assert!(!is_worth_it(0, 0)); // it took too long
    }
}
