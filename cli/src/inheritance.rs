//! This process as the program in front of which it stands, or whose place it takes, is to find it: what that
//! inherits, and what goes on beside it.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Descriptors 0, 1 and 2 that are closed lead to nothing: no file that is opened gets their numbers.
pub(crate) fn open_what_is_closed() {
    for fd in 0..3 {
        // SAFETY: plain calls; a C string. The lowest number is taken.
        unsafe {
            if libc::fcntl(fd, libc::F_GETFD) < 0 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
    }
}

/// Writes a line to standard error, in one call.
pub(crate) fn say(what: Arguments) {
    let line = format!("{what}\n");
    let _ = promp_files::within_limit(|| io::stderr().write_all(line.as_bytes()));
}

/// Becomes what `c` says, or comes back with why it cannot. SIGPIPE stays ignored where it was at the
/// beginning: Rust's own way would have it end the program.
pub(crate) fn exec(c: &mut Command) -> io::Error {
    // SAFETY: plain calls, in this process, which has one thread.
    unsafe {
        let pipe = libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if pipe == libc::SIG_IGN {
            c.pre_exec(|| {
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
                Ok(())
            });
        }
    }
    c.exec()
}
