//! The error directive (OpenMP 5.1, section 2.5.4).

use super::omp::export;
use crate::complain;

/// The directive's message: `len` bytes, a C string if `len` is `usize::MAX`, or none.
fn message(p: *const u8, len: usize) -> String {
    if p.is_null() {
        return String::new();
    }
    // SAFETY: the compiler's argument.
    let bytes = unsafe {
        let n = if len == usize::MAX { libc::strlen(p.cast()) } else { len };
        core::slice::from_raw_parts(p, n)
    };
    format!(": {}", String::from_utf8_lossy(bytes))
}

export! {
    /// severity(warning).
    fn GOMP_warning(p: *const u8, len: usize) { complain!("error directive encountered{}", message(p, len)) }
    /// severity(fatal): ends the program.
    fn GOMP_error(p: *const u8, len: usize) {
        complain!("fatal error: error directive encountered{}", message(p, len));
        // SAFETY: ends the process like any C program: handlers run.
        unsafe { libc::exit(1) }
    }
}
