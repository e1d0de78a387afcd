//! Semaphores of System V: the kernel keeps their values for all processes, and what a process is to give
//! back when it ends. A rollback cannot put them back, and after a restart somebody else may have what was
//! given back. So from the first call on there are no checkpoints, and no way back to an older one
//! ([`apart`]). Its messages and memory, and queues of POSIX, which may be nobody's by the next checkpoint,
//! only bar the way back behind their use (journal/calls.rs).

use crate::apart;
use crate::sys::tables::calls_instead;
use core::ffi::{c_int, c_long, c_ulong, c_void};

/// Is it one of their system calls?
pub(crate) fn is_call(number: c_long) -> bool {
    matches!(number, libc::SYS_semget | libc::SYS_semop | libc::SYS_semctl | libc::SYS_semtimedop)
}

/// Whoever has them changes them; a call that fails changes nothing, and may be about another's.
fn used(r: c_int) -> c_int {
    if r >= 0 {
        apart::uses_semaphores();
    }
    r
}

calls_instead! {
    fn semget(key: c_int, count: c_int, flags: c_int) -> c_int = |real| used(real());
    fn semop(set: c_int, operations: *mut c_void, count: usize) -> c_int = |real| used(real());
    fn semtimedop(set: c_int, operations: *mut c_void, count: usize, limit: *const c_void) -> c_int =
        |real| used(real());
    fn semctl(set: c_int, number: c_int, command: c_int, argument: c_ulong) -> c_int = |real| used(real());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_four_calls_are_known() {
        assert!([64, 65, 66, 220].into_iter().all(is_call) && ![63, 67, 219].into_iter().any(is_call));
    }
}
