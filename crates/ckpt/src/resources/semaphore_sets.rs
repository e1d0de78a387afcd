//! Sets of semaphores of System V that the program has made for itself (IPC_PRIVATE): the kernel keeps their
//! values for all processes, and for each process what it is to give back when it ends (SEM_UNDO). Their
//! values are part of a checkpoint as long as nobody else can have used them: the kernel notes who has used
//! each semaphore last, and a child that was made since may have been told of them. What is to be given back
//! the kernel does not tell, so that is counted here, in memory that goes back with the program's: a call by
//! which it changes and its count are one to checkpoints ([`Undone`]).
//!
//! A set with a key is for others, too (`system_v.rs`).

use super::children::children_ended;
use super::resource::{Back, Frozen, No, Resource};
use crate::image::Description;
use crate::sys;
use crate::sys::syscall;
use core::ffi::c_int;
use core::sync::atomic::Ordering::*;
use core::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize};

#[cfg(test)]
mod tests;

/// Sets, and semaphores of a set, that are counted.
const SETS: usize = 32;
const EACH: usize = 32;
/// Operations of one call with SEM_UNDO.
const OPERATIONS: usize = 16;

/// semctl(2)'s commands.
pub(super) const GETPID: c_int = 11;
pub(super) const GETVAL: c_int = 12;
pub(super) const GETALL: c_int = 13;
pub(super) const GETNCNT: c_int = 14;
pub(super) const GETZCNT: c_int = 15;
pub(super) const SETVAL: c_int = 16;
pub(super) const SETALL: c_int = 17;
const SEM_UNDO: i16 = 0x1000;
const NOWAIT: i16 = libc::IPC_NOWAIT as i16;

pub(super) struct Set {
    /// Its id and one more; 0: there is none.
    id: AtomicI32,
    count: AtomicUsize,
    /// Of each semaphore, what is added to it when the process ends (the kernel's semadj).
    at_end: [AtomicI32; EACH],
}

static SETS_MADE: [Set; SETS] = [const {
    Set { id: AtomicI32::new(0), count: AtomicUsize::new(0), at_end: [const { AtomicI32::new(0) }; EACH] }
}; SETS];

/// What [`children_ended`] said when the first set was made, or the process began to go on.
static CHILDREN: AtomicU64 = AtomicU64::new(0);

/// Does semget(2) with these arguments make a set for the process itself? And is there a place to count it?
pub(super) fn is_own(key: c_int, count: c_int) -> bool {
    key == libc::IPC_PRIVATE
        && (1..=EACH as c_int).contains(&count)
        && SETS_MADE.iter().any(|s| s.id.load(Relaxed) == 0)
}

/// This process has made set `id`. False: there is no place for it any more.
pub(super) fn made(id: c_int, count: c_int) -> bool {
    if !any() {
        CHILDREN.store(children_ended(), Relaxed);
    }
    let free = |s: &&Set| s.id.compare_exchange(0, id + 1, Relaxed, Relaxed).is_ok();
    let place = SETS_MADE.iter().find(free);
    if let Some(s) = place {
        s.at_end.iter().for_each(|a| a.store(0, Relaxed));
        s.count.store(count as usize, Relaxed);
    }
    place.is_some()
}

fn any() -> bool {
    SETS_MADE.iter().any(|s| s.id.load(Relaxed) != 0)
}

/// The one with this id, if this process has made it.
pub(super) fn of(id: c_int) -> Option<&'static Set> {
    SETS_MADE.iter().find(|s| id >= 0 && s.id.load(Relaxed) == id + 1)
}

impl Set {
    /// It has been removed.
    pub(super) fn is_gone(&self) {
        self.id.store(0, Relaxed);
    }

    /// Its values have been set, of semaphore `number` or of all: nothing is given back by any process.
    pub(super) fn is_set(&self, number: Option<c_int>) {
        let these = self.at_end.iter().enumerate().filter(|(i, _)| number.is_none_or(|n| n == *i as c_int));
        these.for_each(|(_, a)| a.store(0, Relaxed));
    }

    fn count(&self, operations: &[libc::sembuf]) {
        for o in operations.iter().filter(|o| o.sem_flg & SEM_UNDO != 0) {
            if let Some(a) = self.at_end.get(usize::from(o.sem_num)) {
                a.fetch_sub(o.sem_op.into(), Relaxed);
            }
        }
    }
}

/// Operations of a call with SEM_UNDO, which a checkpoint finds done and counted, or not at all.
pub(super) struct Undone<'a> {
    set: (&'a Set, c_int),
    operations: &'a [libc::sembuf],
}

impl<'a> Undone<'a> {
    /// Those of a call of semop(2); `None`: none of them has SEM_UNDO. An error: they are too many.
    pub(super) fn of(set: (&'a Set, c_int), operations: &'a [libc::sembuf]) -> Result<Option<Self>, ()> {
        match operations.iter().any(|o| o.sem_flg & SEM_UNDO != 0) {
            true if operations.len() > OPERATIONS => Err(()),
            true => Ok(Some(Self { set, operations })),
            false => Ok(None),
        }
    }

    /// Does them if that can be done at once: what semop(2) returns. No checkpoint meanwhile.
    pub(super) fn try_now(&self) -> isize {
        let mut now = [libc::sembuf { sem_num: 0, sem_op: 0, sem_flg: 0 }; OPERATIONS];
        let now = &mut now[..self.operations.len()];
        for (to, from) in now.iter_mut().zip(self.operations) {
            *to = libc::sembuf { sem_flg: from.sem_flg | NOWAIT, ..*from };
        }
        let r = operate(self.set.1, now, core::ptr::null());
        if r == 0 {
            self.set.0.count(self.operations);
        }
        r
    }

    /// Waits until they can be done, and does nothing: the same operations and their contraries, as one. What
    /// semtimedop(2) returns, with `limit`.
    pub(super) fn wait(&self, limit: *const libc::timespec) -> isize {
        let mut all = [libc::sembuf { sem_num: 0, sem_op: 0, sem_flg: 0 }; 2 * OPERATIONS];
        let n = self.operations.len();
        for (i, o) in self.operations.iter().enumerate() {
            let flags = o.sem_flg & !SEM_UNDO;
            all[i] = libc::sembuf { sem_flg: flags, ..*o };
            // A wait for zero has none: it is asked again, which is right before the others are undone.
            all[2 * n - 1 - i] = libc::sembuf { sem_op: o.sem_op.wrapping_neg(), sem_flg: flags, ..*o };
        }
        operate(self.set.1, &all[..2 * n], limit)
    }
}

/// semtimedop(2); `limit`: null, or a time.
pub(super) fn operate(id: c_int, operations: &[libc::sembuf], limit: *const libc::timespec) -> isize {
    // SAFETY: so many operations, which the kernel reads; the limit is the caller's, or none.
    unsafe { sys!(libc::SYS_semtimedop, id, operations.as_ptr(), operations.len(), limit) }
}

fn control(id: c_int, number: usize, command: c_int, argument: usize) -> isize {
    // SAFETY: a number, or the address of enough memory, as the command wants it.
    unsafe { sys!(libc::SYS_semctl, id, number, command, argument) }
}

const BY_OTHERS: &str = "another process has used the program's System V semaphores";
const BY_CHILDREN: &str = "a child process may have used the program's System V semaphores";

/// Has nobody used it but the processes with numbers `ours`?
fn is_ours_alone(id: c_int, count: usize, ours: &[u32]) -> Result<(), String> {
    for number in 0..count {
        let by = control(id, number, GETPID, 0);
        if by < 0 {
            return Err(format!("a set of System V semaphores is not there any more: {}", sys::why(by)));
        }
        if by != 0 && !ours.contains(&(by as u32)) {
            return Err(format!("{BY_OTHERS} (process {by})"));
        }
    }
    Ok(())
}

/// Ids; of each semaphore the value, and what is added to it when the process ends.
type Saved = Vec<(c_int, Vec<(u16, i32)>)>;

/// All that the program has made, as they are now. The error: why there is no checkpoint.
fn saved() -> Result<Saved, String> {
    if any() && children_ended() != CHILDREN.load(Relaxed) {
        return Err(BY_CHILDREN.into());
    }
    let mut all = Vec::new();
    for (set, id) in SETS_MADE.iter().map(|s| (s, s.id.load(Relaxed) - 1)).filter(|(_, id)| *id >= 0) {
        let count = set.count.load(Relaxed);
        is_ours_alone(id, count, &[syscall::getpid()])?;
        let mut values = [0u16; EACH];
        let r = control(id, 0, GETALL, values.as_mut_ptr() as usize);
        if r < 0 {
            return Err(format!("System V semaphores cannot be read: {}", sys::why(r)));
        }
        let each = values.into_iter().zip(set.at_end.iter().map(|a| a.load(Relaxed)));
        all.push((id, each.take(count).collect()));
    }
    Ok(all)
}

/// Sets that the program has made for itself.
#[derive(Default)]
pub(crate) struct SemaphoreSets;

impl Resource for SemaphoreSets {
    fn save(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        about.registered.semaphores = saved()?;
        Ok(())
    }

    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        put_back(&about.registered.semaphores, about.pid, to.new_process)
    }
}

/// They are as they were, for the process that had number `before`, too, whose memory has been put back.
fn put_back(sets: &Saved, before: u32, new_process: bool) -> Result<(), String> {
    let children = children_ended();
    match new_process {
        true => CHILDREN.store(children, Relaxed),
        false if !sets.is_empty() && children != CHILDREN.load(Relaxed) => return Err(BY_CHILDREN.into()),
        false => {}
    }
    for (id, each) in sets {
        is_ours_alone(*id, each.len(), &[syscall::getpid(), before])?;
        for (number, &(value, at_end)) in each.iter().enumerate() {
            set_one(*id, number, i32::from(value), at_end)
                .map_err(|r| format!("System V semaphores cannot be put back: {}", sys::why(r)))?;
        }
    }
    Ok(())
}

/// The value that a semaphore is set to, and the operations that bring it to `value` from there, such that
/// `at_end` is added to it when the process ends: the first one with SEM_UNDO.
fn way_to(value: i32, at_end: i32) -> (i32, i32, i32) {
    let base = at_end.max(0);
    (base, -at_end, value - (base - at_end))
}

fn set_one(id: c_int, number: usize, value: i32, at_end: i32) -> Result<(), isize> {
    let (base, counted, plain) = way_to(value, at_end);
    let r = control(id, number, SETVAL, base as usize);
    if r < 0 {
        return Err(r);
    }
    for (by, flags) in [(counted, SEM_UNDO), (plain, 0)].into_iter().filter(|(by, _)| *by != 0) {
        let one = libc::sembuf { sem_num: number as u16, sem_op: by as i16, sem_flg: flags | NOWAIT };
        let r = operate(id, &[one], core::ptr::null());
        if r < 0 {
            return Err(r);
        }
    }
    Ok(())
}
