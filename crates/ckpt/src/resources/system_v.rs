//! Semaphores of System V: the kernel keeps their values for all processes, and what a process is to give
//! back when it ends. A rollback cannot put them back, and after a restart somebody else may have what was
//! given back. So from the first call on there are no checkpoints, and no way back to an older one, neither
//! in the process ([`apart`]) nor by a restart: that is noted before each call that may change them. Its
//! messages and memory, and queues of POSIX, which may be nobody's by the next checkpoint, only bar the way
//! back behind their use (journal/calls.rs).

use crate::apart;
use crate::journal::calls::irrevocably;
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

calls_instead! {
    fn semget(key: c_int, count: c_int, flags: c_int) -> c_int =
        |real| used(changes(libc::SYS_semget, flags), real);
    fn semop(set: c_int, operations: *mut c_void, count: usize) -> c_int = |real| used(true, real);
    fn semtimedop(set: c_int, operations: *mut c_void, count: usize, limit: *const c_void) -> c_int =
        |real| used(true, real);
    fn semctl(set: c_int, number: c_int, command: c_int, argument: c_ulong) -> c_int =
        |real| used(true, real);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_four_calls_are_known() {
        assert!([64, 65, 66, 220].into_iter().all(is_call) && ![63, 67, 219].into_iter().any(is_call));
    }
}
