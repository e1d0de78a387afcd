//! The error directive (OpenMP 5.1, section 2.5.4).

use crate::complain;
use crate::observe::event::Event;
use crate::save::{self, SaveKind};
use crate::stub;
use crate::team::thread::current;

/// The directive's message: `len` bytes, a C string if `len` is `usize::MAX`, or none. Whoever listens is
/// told of it first.
fn message(fatal: bool, p: *const u8, len: usize) -> String {
    let bytes = if p.is_null() {
        &[]
    } else {
        // SAFETY: the compiler's argument.
        unsafe {
            let n = if len == usize::MAX { libc::strlen(p.cast()) } else { len };
            core::slice::from_raw_parts(p, n)
        }
    };
    current().tell(Event::Error { fatal, message: bytes });
    if p.is_null() { String::new() } else { format!(": {}", String::from_utf8_lossy(bytes)) }
}

/// severity(warning).
extern "C" fn warning(p: *const u8, len: usize) {
    complain!("error directive encountered{}", message(false, p, len));
    save::point(current(), SaveKind::After(0));
}

/// severity(fatal): ends the program.
extern "C" fn error(p: *const u8, len: usize) {
    complain!("fatal error: error directive encountered{}", message(true, p, len));
    // SAFETY: ends the process like any C program: handlers run.
    unsafe { libc::exit(1) }
}

stub! {
    GOMP_warning => warning;
    GOMP_error => error;
}
