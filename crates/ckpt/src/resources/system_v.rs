//! Semaphores of System V: the kernel keeps their values for all processes, and what a process is to give
//! back when it ends. Those of a set that the process has made for itself are saved as long as nobody else
//! uses it (`semaphore_sets.rs`); that it is made and removed bars the way back behind that. Others a
//! rollback cannot put back, and after a restart somebody else may have what was given back: from the first
//! call on there are no checkpoints, and no way back to an older one, neither in the process ([`apart`]) nor
//! by a restart: that is noted before each call that may change them. Its messages and memory, and queues of
//! POSIX, which may be nobody's by the next checkpoint, only bar the way back behind their use
//! (journal/file_calls.rs).

use crate::irreversible_calls;
use crate::journal::file_calls::{irrevocably, undisturbed};
use crate::semaphore_sets::{self as sets, Undone};
use crate::sys::got::calls_instead;
use crate::sys::{signals, time};
use crate::{seats, suspend};
use core::ffi::{c_int, c_long, c_ulong, c_void};

/// Is it one of their system calls?
pub(crate) fn is_call(number: c_long) -> bool {
    matches!(number, libc::SYS_semget | libc::SYS_semop | libc::SYS_semctl | libc::SYS_semtimedop)
}

/// May it change what is outside of the process? Asking for a set that others have made does not.
pub(crate) fn changes(number: c_long, flags: c_int) -> bool {
    is_call(number) && (number != libc::SYS_semget || flags & libc::IPC_CREAT != 0)
}

/// Makes such a call.
pub(crate) fn noted<R>(call: impl Fn() -> R) -> R {
    irrevocably("semaphores of System V", call)
}

/// Whoever has them changes them; a call that fails changes nothing, and may be about another's.
fn used(changes: bool, call: impl Fn() -> c_int) -> c_int {
    let r = if changes { noted(call) } else { call() };
    if r >= 0 {
        irreversible_calls::uses_semaphores();
    }
    r
}

/// semget(2). That a set is made is not undone, nor by a restart.
fn get([key, count, flags]: [c_int; 3], call: impl Fn() -> c_int) -> c_int {
    if !sets::is_own(key, count) {
        return used(changes(libc::SYS_semget, flags), call);
    }
    let made = |r| {
        if !sets::made(r, count) {
            irreversible_calls::uses_semaphores()
        }
    };
    noted(|| counted(&call, made))
}

/// A call that does not wait, and what counts what it has done: one to checkpoints.
fn counted(call: &impl Fn() -> c_int, count: impl FnOnce(c_int)) -> c_int {
    undisturbed(|| {
        let r = call();
        if r >= 0 {
            count(r);
        }
        r
    })
}

/// semop(2) and semtimedop(2).
///
/// # Safety
/// So many operations, if any; a time or null.
unsafe fn operate(
    id: c_int,
    (first, count): (*const libc::sembuf, usize),
    limit: *const c_void,
    call: impl Fn() -> c_int,
) -> c_int {
    let Some(set) = sets::of(id) else { return used(true, call) };
    if first.is_null() || count == 0 {
        return call();
    }
    // SAFETY: by the caller's promise.
    let operations = unsafe { core::slice::from_raw_parts(first, count) };
    let limit = Limit { given: limit.cast(), began_ns: time::now_ns() };
    const LATER: isize = -(libc::EAGAIN as isize);
    let r = match Undone::of((set, id), operations) {
        Err(()) => return used(true, call),
        // The call is made again after a freeze as it is (freeze/syscall_restart.rs).
        Ok(None) if limit.given.is_null() => return call(),
        Ok(None) => limit.uninterrupted(|limit| sets::operate(id, operations, limit)),
        Ok(Some(undone)) => loop {
            match undisturbed(|| undone.try_now()) {
                LATER => match limit.uninterrupted(|limit| undone.wait(limit)) {
                    0 => {}
                    error => break error,
                },
                done => break done,
            }
        },
    };
    if r >= 0 {
        return r as c_int;
    }
    // SAFETY: the caller's.
    unsafe { *libc::__errno_location() = -r as c_int };
    -1
}

/// How long a call may wait.
struct Limit {
    /// As the caller has given it; null: for ever.
    given: *const libc::timespec,
    /// When that began.
    began_ns: u64,
}

impl Limit {
    /// Makes a call that waits, and makes it again after each interruption by signals of ours. As in
    /// freeze/syscall_restart.rs: a program that has handlers itself gets EINTR.
    fn uninterrupted(&self, call: impl Fn(*const libc::timespec) -> isize) -> isize {
        const INTERRUPTED: isize = -(libc::EINTR as isize);
        loop {
            let left = self.left(time::now_ns());
            let r = call(left.as_ref().map_or(self.given, core::ptr::from_ref));
            if r != INTERRUPTED || signals::has_handlers(suspend::ours() | seats::signals()) {
                return r;
            }
        }
    }

    /// What is left of it, all of it where the clock has begun anew; none where the caller's is no time.
    fn left(&self, now_ns: u64) -> Option<libc::timespec> {
        const SECOND: u64 = 1_000_000_000;
        // SAFETY: null, or the caller's time.
        let given = unsafe { self.given.as_ref() }?;
        let ns = u64::try_from(given.tv_nsec).ok().filter(|&ns| ns < SECOND)?;
        let whole = u64::try_from(given.tv_sec).ok()?.saturating_mul(SECOND).saturating_add(ns);
        let left = whole.saturating_sub(now_ns.saturating_sub(self.began_ns));
        Some(libc::timespec { tv_sec: (left / SECOND) as i64, tv_nsec: (left % SECOND) as i64 })
    }
}

/// semctl(2).
fn control(id: c_int, number: c_int, command: c_int, call: impl Fn() -> c_int) -> c_int {
    let Some(set) = sets::of(id) else { return used(true, call) };
    match command {
        sets::GETVAL | sets::GETALL | sets::GETPID | sets::GETNCNT | sets::GETZCNT | libc::IPC_STAT => call(),
        sets::SETVAL => counted(&call, |_| set.is_set(Some(number))),
        sets::SETALL => counted(&call, |_| set.is_set(None)),
        libc::IPC_RMID => noted(|| counted(&call, |_| set.is_gone())),
        _ => used(true, call),
    }
}

calls_instead! {
    fn semget(key: c_int, count: c_int, flags: c_int) -> c_int = |real| get([key, count, flags], real);
    fn semop(set: c_int, operations: *const libc::sembuf, count: usize) -> c_int = |real|
        // SAFETY: the caller's arguments.
        unsafe { operate(set, (operations, count), core::ptr::null(), real) };
    fn semtimedop(set: c_int, operations: *const libc::sembuf, count: usize, limit: *const c_void) -> c_int =
        // SAFETY: as above.
        |real| unsafe { operate(set, (operations, count), limit, real) };
    fn semctl(set: c_int, number: c_int, command: c_int, argument: c_ulong) -> c_int =
        |real| control(set, number, command, real);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_limit() {
        let given = libc::timespec { tv_sec: 2, tv_nsec: 5 };
        let limit = Limit { given: &raw const given, began_ns: 100 };
        let left = |now| limit.left(now).map(|t| (t.tv_sec, t.tv_nsec));
        assert_eq!([100, 1_000_000_104, 9_000_000_000].map(left), [(2, 5), (1, 1), (0, 0)].map(Some));
        assert_eq!(left(7), Some((2, 5)), "another boot's clock");
        let wrong = libc::timespec { tv_sec: 2, tv_nsec: -1 };
        assert!(Limit { given: &raw const wrong, began_ns: 0 }.left(0).is_none(), "the kernel refuses it");
        assert!(Limit { given: core::ptr::null(), began_ns: 0 }.left(0).is_none());
    }

    #[test]
    fn all_four_calls_are_known() {
        assert!([64, 65, 66, 220].into_iter().all(is_call) && ![63, 67, 219].into_iter().any(is_call));
    }
}
