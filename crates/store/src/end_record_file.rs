//! The end record being written (`promp_image::end_record`). A program may end in a signal's handler, at any
//! moment, and the disk may be full then: so the record's text is made ready beforehand, with room for it in
//! the directory, and only system calls write it.

use crate::sys;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use promp_image::end_record::{ASIDE, Ended, NAME};
use promp_image::{self as image, Word};
use std::os::fd::RawFd;

/// What is behind the text.
const STATUS: &str = "0}";
/// Room for the status and what is behind it.
const ROOM: [u8; 4] = [b' '; 4];

/// The record's text but for the status, and what comes behind it. Zeroed memory: there is to be no record.
#[derive(Debug)]
pub struct EndRecord {
    text: AtomicPtr<u8>,
    len: AtomicUsize,
}

impl EndRecord {
    /// The end can be recorded from now on, in `dir`, where that is open: it is `program`, with `arguments`.
    pub fn prepare(&self, dir: Option<RawFd>, program: String, arguments: Vec<Word>) {
        let Ok(whole) = (Ended { program, arguments, status: 0 }).text() else { return };
        let Some(text) = whole.strip_suffix(STATUS.as_bytes()) else { return };
        if let Some(dir) = dir {
            make_room(dir, text);
        }
        // Rollbacks leave it alone.
        let Some(at) = sys::preserved_memory::pages(text.len().next_multiple_of(image::PAGE)) else { return };
        // SAFETY: fresh memory of at least that length.
        unsafe { at.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        self.len.store(text.len(), Relaxed);
        self.text.store(at, Release); // the edge to `text`
    }

    /// Empty: there is to be no record.
    fn text(&self) -> &[u8] {
        let at = self.text.load(Acquire);
        // SAFETY: what `prepare` has made.
        if at.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(at, self.len.load(Relaxed)) } }
    }

    /// Is there to be one?
    pub fn is_wanted(&self) -> bool {
        !self.text().is_empty()
    }

    /// Writes it to `dir`: aside, synced, renamed. False: it cannot be written.
    pub fn write(&self, dir: RawFd, status: i32) -> bool {
        let text = self.text();
        let mut room = ROOM;
        let first = [100, 10].iter().filter(|&&n| status < n).count();
        for (to, n) in room.iter_mut().zip(&[100, 10, 1][first..]) {
            *to = b'0' + (status / n % 10) as u8;
        }
        room[3 - first] = b'}';
        let all = |fd: isize, bytes: &[u8], at: usize| {
            // SAFETY: the kernel reads the bytes.
            unsafe { sys!(libc::SYS_pwrite64, fd, bytes.as_ptr(), bytes.len(), at) == bytes.len() as isize }
        };
        let how = libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: C strings; descriptors of our own.
        unsafe {
            let fd = sys!(libc::SYS_openat, dir, ASIDE.as_ptr(), how, 0o600);
            let whole = fd >= 0
                && all(fd, text, 0)
                && all(fd, &room, text.len())
                && sys!(libc::SYS_ftruncate, fd, text.len() + room.len()) == 0
                && sys!(libc::SYS_fsync, fd) == 0
                && sys!(libc::SYS_renameat, dir, ASIDE.as_ptr(), dir, NAME.as_ptr()) == 0;
            sys!(libc::SYS_close, fd);
            whole
        }
    }

    /// Removes it from `dir`, and makes room for another one. Was it there? The error is the system's, for
    /// which it stays.
    pub fn remove(&self, dir: RawFd) -> Result<bool, isize> {
        let how = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: C strings; descriptors of our own.
        unsafe {
            match sys!(libc::SYS_unlinkat, dir, NAME.as_ptr(), 0) {
                0 => {}
                r if r == -(libc::ENOENT as isize) => return Ok(false),
                r => return Err(r),
            }
            let fd = sys!(libc::SYS_openat, dir, c".".as_ptr(), how);
            sys!(libc::SYS_fsync, fd);
            sys!(libc::SYS_close, fd);
        }
        make_room(dir, self.text());
        Ok(true)
    }
}

/// The record, with room for the status. Where there is none now, the end tries again.
fn make_room(dir: RawFd, text: &[u8]) {
    let how = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: C strings; the kernel reads the bytes; descriptors of our own.
    unsafe {
        sys!(libc::SYS_unlinkat, dir, ASIDE.as_ptr(), 0);
        let fd = sys!(libc::SYS_openat, dir, ASIDE.as_ptr(), how, 0o600);
        sys!(libc::SYS_fallocate, fd, libc::FALLOC_FL_KEEP_SIZE, 0, text.len() + ROOM.len());
        sys!(libc::SYS_write, fd, text.as_ptr(), text.len());
        sys!(libc::SYS_write, fd, ROOM.as_ptr(), ROOM.len());
        sys!(libc::SYS_close, fd);
    }
}
