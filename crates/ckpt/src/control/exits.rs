//! The end by `exit`, or by returning from `main`: recorded (ends.rs) when all that `exit` calls has been,
//! by the thread that ends the process.
//!
//! Several threads may do that at once (C leaves open what happens then; the C library hands out what is to
//! be called among them, and the first one that finds nothing left ends the process, in the middle of what
//! the others have been handed). So each thread has to find [`has_ended`] before it finds nothing: it
//! stands behind what unloads the libraries, several times, and each call puts it there again.

use crate::ends;
use crate::region;
use crate::sys::{env, got::calls_instead, objects};
use core::ffi::{c_int, c_void};
use promp_settings::CKPT_DIR;

/// Exit status of a restart that is refused.
pub(crate) const REFUSED: i32 = 71;

/// So many threads may have been handed [`has_ended`] and not have put it back yet.
const AT_ONCE: u32 = 32;

unsafe extern "C" {
    fn on_exit(what: unsafe extern "C" fn(c_int, *mut c_void), with: *mut c_void) -> c_int;
}

/// Has `exit` call [`has_ended`] after what it is doing.
fn will_end() {
    // SAFETY: a function for which nobody but the process has to be there. If there is no memory for it there
    // is no record, either.
    unsafe { on_exit(has_ended, core::ptr::null_mut()) };
}

/// # Safety
/// Any thread may call it in `exit`.
unsafe extern "C" fn has_ended(status: c_int, _: *mut c_void) {
    // Once more, by who has recorded it: nothing was left but this.
    if !ends::is_to_record(status) {
        return;
    }
    will_end();
    // What waits in buffers is written first: after the mark nothing would write it.
    // SAFETY: flushes all streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    ends::mark(status);
}

/// The library is loaded. What a library registers that comes with the program is called behind what unloads
/// the libraries; of one that comes later it would be called before that, when there is still something to
/// write.
pub(crate) fn at_load() {
    if env::is_set(CKPT_DIR.c_name) && objects::comes_with_the_program(has_ended as *const () as usize) {
        (0..AT_ONCE).for_each(|_| will_end());
    }
}

/// The program ends by itself: soon there is nothing to restart.
///
/// Called by the library's destructor. Libraries that are left after it may still have something to write
/// (Fortran's has all that the program has written), so the record is written when all have been.
pub fn program_ends() {
    if region::on() {
        will_end();
    }
}

/// What is called instead of libc's functions.
pub(crate) use calls::instead;

mod calls {
    use super::*;

    calls_instead! {
        fn exit(status: c_int) -> c_int = |real| {
            ends::let_the_first_one_end();
            // In what `exit` calls, by the thread that has recorded it.
            if ends::ends_otherwise(status) {
                will_end();
            }
            real()
        };
    }
}
