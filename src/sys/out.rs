//! Messages on stderr: formatted into a buffer on the stack, one `write`, no locks, no allocation. Safe on any host
//! and in signal handlers.

use crate::sys;
use core::fmt::{self, Write};

/// A fixed buffer that formats a message; what does not fit is cut.
pub struct Line {
    buf: [u8; 1024],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let n = s.len().min(self.buf.len() - self.len);
        self.buf[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// Writes `args` to file descriptor 2 in one call.
pub fn stderr(args: fmt::Arguments<'_>) {
    let mut line = Line { buf: [0; 1024], len: 0 };
    let _ = line.write_fmt(args);
    // SAFETY: the buffer is readable for `len` bytes.
    unsafe { sys!(libc::SYS_write, 2, line.buf.as_ptr(), line.len) };
}

/// Prints `promp: …` and a newline to stderr.
#[macro_export]
macro_rules! say {
    ($($arg:tt)*) => { $crate::sys::out::stderr(format_args!("promp: {}\n", format_args!($($arg)*))) };
}

/// Prints a message in libgomp's manner (`libgomp: …`): programs and tests look for these words.
#[macro_export]
macro_rules! complain {
    ($($arg:tt)*) => { $crate::sys::out::stderr(format_args!("\nlibgomp: {}\n", format_args!($($arg)*))) };
}
