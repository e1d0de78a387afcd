//! Messages on standard error: formatted into a buffer on the stack, one `write`, no locks, no allocation.
//! Safe on any host and in signal handlers.
//!
//! Descriptor 2 is not always standard error: a service is started with it closed, or closes it, and the next
//! file that is opened gets its number. So a message goes there only while the file behind it is the one that
//! was there when the library was loaded.

use crate::own::Own;
use crate::sys;
use crate::syscall;
use core::fmt::{self, Write};

/// What standard error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nobody has looked yet.
    Unknown,
    /// There is none.
    Nowhere,
    /// Device and inode.
    File(u64, u64),
}

impl Place {
    fn now() -> Self {
        syscall::stat(2).map_or(Self::Nowhere, |s| Self::File(s.st_dev, s.st_ino))
    }

    /// Device and inode, if there is a file.
    pub fn file(self) -> Option<(u64, u64)> {
        if let Self::File(device, inode) = self { Some((device, inode)) } else { None }
    }
}

/// Written while the library is loaded, and in a restart while all threads stand.
static PLACE: Own<Place> = Own::new(Place::Unknown);

/// The library is loaded: what is behind descriptor 2 is standard error, if anything is.
pub fn begin() {
    if PLACE.get() == Place::Unknown {
        PLACE.set(Place::now());
    }
}

/// Where messages go.
pub fn place() -> Place {
    PLACE.get()
}

/// They go there, also if memory has been put back to what another process knew.
pub fn go_on(there: Place) {
    PLACE.set(there);
}

/// A restart has opened the files. `is_there`: what is behind descriptor 2 is the program's standard error.
pub fn begin_anew(is_there: bool) {
    PLACE.set(if is_there { Place::now() } else { Place::Nowhere });
}

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

impl Line {
    fn of(args: fmt::Arguments<'_>) -> Self {
        let mut line = Self { buf: [0; 1024], len: 0 };
        let _ = line.write_fmt(args);
        line
    }

    fn text(&self) -> &[u8] {
        &self.buf[..self.len]
    }
}

/// Writes `args` to standard error, in one call.
pub fn stderr(args: fmt::Arguments<'_>) {
    write(Line::of(args).text());
}

/// Writes `args` to descriptor 2, whatever that is, if there was one.
pub fn to_2(args: fmt::Arguments<'_>) {
    if PLACE.get() != Place::Nowhere {
        promp_files::within_limit(|| as_the_program(2, Line::of(args).text()));
    }
}

/// All of `text` goes to standard error; nowhere if that is not there, or no more. A log that may not become
/// so long, or a pipe that nobody reads, does not get it; no signal comes for that.
pub fn write(text: &[u8]) {
    if PLACE.get() == Place::Unknown || PLACE.get() == Place::now() {
        promp_files::within_limit(|| as_the_program(2, text));
    }
}

/// All of `text` goes to a descriptor, whatever that is now: the program has asked for it.
pub fn as_the_program(fd: i32, mut text: &[u8]) {
    while !text.is_empty() {
        // SAFETY: the text is readable for its length.
        match unsafe { sys!(libc::SYS_write, fd, text.as_ptr(), text.len()) } {
            n if n > 0 => text = &text[n as usize..],
            n if n == -libc::EINTR as isize => {}
            _ => return,
        }
    }
}

/// Prints `promp: …` and a newline to stderr.
#[macro_export]
macro_rules! say {
    ($($arg:tt)*) => { $crate::out::stderr(format_args!("promp: {}\n", format_args!($($arg)*))) };
}

/// Prints a message of a setting in libgomp's manner (`libgomp: …`): programs and tests look for these words.
/// libgomp prints it while it is loaded.
#[macro_export]
macro_rules! warn {
    ($($arg:tt)*) => { $crate::out::stderr(format_args!("\nlibgomp: {}\n", format_args!($($arg)*))) };
}

/// Prints a message of a call in libgomp's manner, to descriptor 2 as that does.
#[macro_export]
macro_rules! complain {
    ($($arg:tt)*) => { $crate::out::to_2(format_args!("\nlibgomp: {}\n", format_args!($($arg)*))) };
}
