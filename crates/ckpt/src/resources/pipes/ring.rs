//! The last of what a pipe has taken: a file, mapped, so that it outlives the process; a byte is at its place in the stream modulo the ring's size.
//!
//! The file grows as the ring is filled for the first time, with space that the system has promised: a full file system must be an error, not a
//! SIGBUS.

use crate::sys;
use crate::sys::preserved_memory::{OUTPUT, OUTPUT_SIZE};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use promp_files::Folder;
use std::os::fd::AsRawFd;

/// Bytes of a ring.
pub(crate) const SIZE: u64 = OUTPUT_SIZE as u64;
/// By so much the file grows.
const STEP: u64 = 1 << 20;

/// A ring; mapped at an address of its slot's own.
#[repr(C)]
pub(crate) struct Ring {
    at: AtomicU64,
    /// Bytes of the file that are there.
    ready: AtomicU64,
    /// The directory that the file is in.
    folder: AtomicPtr<Folder>,
    /// The slot, which its name has.
    slot: AtomicU32,
}

impl Ring {
    /// Maps the file of slot `slot` in `folder`; `anew`: it is made, empty. False: not possible. On the keeper's host.
    pub(crate) fn open(&self, folder: &'static Folder, slot: usize, anew: bool) -> bool {
        self.folder.store(core::ptr::from_ref(folder).cast_mut(), Relaxed);
        self.slot.store(slot as u32, Relaxed);
        let fd = self.file(if anew { libc::O_CREAT | libc::O_TRUNC } else { 0 });
        if fd < 0 {
            return false;
        }
        let at = OUTPUT + slot * OUTPUT_SIZE;
        // SAFETY: a file of ours, mapped where nothing else is.
        let (p, length) = unsafe {
            let flags = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
            let p = sys!(libc::SYS_mmap, at, SIZE, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0);
            let length = sys!(libc::SYS_lseek, fd, 0, libc::SEEK_END);
            sys!(libc::SYS_close, fd);
            (p, length)
        };
        self.at.store(at as u64, Relaxed);
        self.ready.store(length.max(0) as u64, Relaxed);
        p == at as isize && length >= 0
    }

    /// Makes it memory that ends with the process.
    pub(crate) fn reserve(&self, slot: usize) -> bool {
        let at = OUTPUT + slot * OUTPUT_SIZE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: mapped where nothing else is.
        let p = unsafe {
            sys!(libc::SYS_mmap, at, SIZE, libc::PROT_READ | libc::PROT_WRITE, flags, usize::MAX, 0)
        };
        self.at.store(at as u64, Relaxed);
        self.ready.store(SIZE, Relaxed);
        p == at as isize
    }

    fn file(&self, more: i32) -> isize {
        let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC | more;
        let mut name = *b"sent-0\0";
        name[5] += self.slot.load(Relaxed) as u8;
        // SAFETY: null, or what `open` was given; a C string.
        unsafe {
            let Some(folder) = self.folder.load(Relaxed).as_ref() else { return -1 };
            match folder.open() {
                Ok(dir) => sys!(libc::SYS_openat, dir.as_raw_fd(), name.as_ptr(), flags, 0o600),
                Err(_) => -1,
            }
        }
    }

    /// Is there space up to `upto`? On any thread: system calls only.
    fn prepare(&self, upto: u64) -> bool {
        let ready = self.ready.load(Relaxed);
        if upto <= ready {
            return true;
        }
        let size = upto.next_multiple_of(STEP);
        let fd = self.file(0);
        if fd < 0 {
            return false;
        }
        // SAFETY: a file of ours.
        let there = promp_files::within_limit(|| unsafe {
            let zero = [0u8; 4096];
            let r = sys!(libc::SYS_fallocate, fd, 0, ready, size - ready);
            let there = match r == -(libc::EOPNOTSUPP as isize) {
                false => r == 0,
                true => (ready..size)
                    .step_by(zero.len())
                    .all(|at| sys!(libc::SYS_pwrite64, fd, zero.as_ptr(), zero.len(), at) > 0),
            };
            sys!(libc::SYS_close, fd);
            there
        });
        if there {
            self.ready.store(size, Relaxed);
        }
        there
    }

    /// Offset and length in the ring of the parts of `len` bytes from `place` on.
    fn parts(place: u64, len: usize) -> [(u64, usize); 2] {
        let offset = place % SIZE;
        let first = len.min((SIZE - offset) as usize);
        [(offset, first), (0, len - first)]
    }

    /// Keeps `len` bytes at `from` as those from `place` on. False: there is no space.
    ///
    /// # Safety
    /// The bytes are there, and at most [`SIZE`].
    pub(crate) unsafe fn write(&self, place: u64, from: usize, len: usize) -> bool {
        let mut from = from;
        for (offset, n) in Self::parts(place, len).into_iter().filter(|p| p.1 > 0) {
            if !self.prepare(offset + n as u64) {
                return false;
            }
            let to = self.at.load(Relaxed) + offset;
            // SAFETY: mapped, and prepared; the bytes by the caller's promise.
            unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, n) };
            from += n;
        }
        true
    }

    /// What was kept as the bytes from `place` on. False: it is not there.
    pub(crate) fn read(&self, place: u64, to: &mut [u8]) -> bool {
        let mut rest = to;
        for (offset, n) in Self::parts(place, rest.len()).into_iter().filter(|p| p.1 > 0) {
            if offset + n as u64 > self.ready.load(Relaxed) {
                return false;
            }
            let from = self.at.load(Relaxed) + offset;
            let (part, left) = rest.split_at_mut(n);
            // SAFETY: mapped, and there.
            unsafe { core::ptr::copy_nonoverlapping(from as *const u8, part.as_mut_ptr(), n) };
            rest = left;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_ring() {
        assert_eq!(Ring::parts(5, 7), [(5, 7), (0, 0)]);
        assert_eq!(Ring::parts(3 * SIZE - 2, 7), [(SIZE - 2, 2), (0, 5)]);
        assert_eq!(Ring::parts(SIZE, 1), [(0, 1), (0, 0)]);
    }
}
