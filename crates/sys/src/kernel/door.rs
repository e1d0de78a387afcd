//! The process' memory as a file.

use crate::attempt::Attempt;
use crate::sys;
use crate::syscall::high;

/// The process' memory as a file: also what is not readable or writable by its protection.
#[derive(Debug)]
pub struct Door(pub i32);

impl Drop for Door {
    fn drop(&mut self) {
        // SAFETY: a descriptor of ours.
        unsafe { sys!(libc::SYS_close, self.0) };
    }
}

impl Door {
    /// Opens it.
    pub fn open() -> Self {
        // SAFETY: plain call.
        Self(high(unsafe {
            sys!(
                libc::SYS_openat,
                libc::AT_FDCWD,
                c"/proc/thread-self/mem".as_ptr(),
                libc::O_RDWR | libc::O_CLOEXEC
            )
        }))
    }

    /// Reads the memory at `from`; false if it cannot be read.
    pub fn read(&self, from: usize, to: &mut [u8]) -> bool {
        // SAFETY: the kernel checks the addresses.
        let n = unsafe { sys!(libc::SYS_pread64, self.0, to.as_mut_ptr(), to.len(), from) };
        n == to.len() as isize
    }

    /// Reads the memory at `from`, which may be gone, in the fastest way that there is; false if it cannot be read.
    pub fn read_if_there(&self, attempt: Option<&Attempt>, from: usize, to: &mut [u8]) -> bool {
        attempt.is_some_and(|a| a.copy(from, to)) || self.copy(from, to) || self.read(from, to)
    }

    /// Reads the memory at `from`, which must be readable by its protection, in half the time that [`Door::read`] takes: it is copied once.
    fn copy(&self, from: usize, to: &mut [u8]) -> bool {
        let here = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
        let there = libc::iovec { iov_base: from as *mut _, iov_len: to.len() };
        // SAFETY: the kernel checks the addresses.
        let n = unsafe {
            sys!(
                libc::SYS_process_vm_readv,
                crate::syscall::getpid(),
                &raw const here,
                1,
                &raw const there,
                1,
                0
            )
        };
        n == to.len() as isize
    }

    /// Writes to the memory at `to`, whatever its protection; false if it cannot be written.
    pub fn write(&self, to: usize, from: &[u8]) -> bool {
        // SAFETY: the kernel checks the addresses; the caller means to replace that memory, and its threads are frozen.
        let n = unsafe { sys!(libc::SYS_pwrite64, self.0, from.as_ptr(), from.len(), to) };
        n == from.len() as isize
    }
}
