//! Semaphores of System V: the kernel keeps their values for all processes, and what a process is to give
//! back when it ends. Those of a set that the process has made for itself are saved as long as nobody else
//! uses it (`semaphore_sets.rs`); that it is made and removed bars the way back behind that. Others a
//! rollback cannot put back, and after a restart somebody else may have what was given back: from the first
//! call on there are no checkpoints, and no way back to an older one, neither in the process ([`apart`]) nor
//! by a restart: that is noted before each call that may change them. Its messages and memory, and queues of
//! POSIX, which may be nobody's by the next checkpoint, only bar the way back behind their use
//! (journal/calls.rs).

use crate::apart;
use crate::journal::calls::{irrevocably, undisturbed};
use crate::semaphore_sets::{self as sets, Undone};
use crate::sys::tables::calls_instead;
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
        apart::uses_semaphores();
    }
    r
}

/// semget(2). That a set is made is not undone, nor by a restart.
fn get([key, count, flags]: [c_int; 3], call: impl Fn() -> c_int) -> c_int {
    if !sets::is_own(key, count) {
        return used(changes(libc::SYS_semget, flags), call);
    }
    let r = noted(call);
    if r >= 0 && !sets::made(r, count) {
        apart::uses_semaphores();
    }
    r
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
    let undone = match Undone::of((set, id), operations) {
        Ok(None) => return call(),
        Ok(Some(undone)) => undone,
        Err(()) => return used(true, call),
    };
    const LATER: isize = -(libc::EAGAIN as isize);
    let r = loop {
        match undisturbed(|| undone.try_now()) {
            LATER => match undone.wait(limit) {
                0 => {}
                error => break error,
            },
            done => break done,
        }
    };
    if r >= 0 {
        return r as c_int;
    }
    // SAFETY: the caller's.
    unsafe { *libc::__errno_location() = -r as c_int };
    -1
}

/// semctl(2).
fn control(id: c_int, number: c_int, command: c_int, call: impl Fn() -> c_int) -> c_int {
    let Some(set) = sets::of(id) else { return used(true, call) };
    let counted = |number: Option<c_int>| {
        undisturbed(|| {
            let r = call();
            if r >= 0 {
                set.is_set(number);
            }
            r
        })
    };
    match command {
        sets::GETVAL | sets::GETALL | sets::GETPID | sets::GETNCNT | sets::GETZCNT | libc::IPC_STAT => call(),
        sets::SETVAL => counted(Some(number)),
        sets::SETALL => counted(None),
        libc::IPC_RMID => {
            let r = noted(call);
            if r >= 0 {
                set.is_gone();
            }
            r
        }
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
    fn all_four_calls_are_known() {
        assert!([64, 65, 66, 220].into_iter().all(is_call) && ![63, 67, 219].into_iter().any(is_call));
    }
}
