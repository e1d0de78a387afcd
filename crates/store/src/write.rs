//! What makes a generation whole: checksums, then the generation's file, each on the disk before the next.

use super::{Problem, Store, problem};
use crate::sys;
use crate::sys::syscall::write_all;
use promp_image::{Entry, SUMS};
use std::ffi::CString;

impl Store {
    /// Writes the checksums of `entries` to the places of their slots; gives the bytes written. Slots that
    /// a generation which is kept refers to have theirs already: they are written as they are.
    pub(super) fn write_sums(&self, entries: &[Entry]) -> Result<usize, Problem> {
        for row in entries.chunk_by(|a, b| a.slot + 1 == b.slot) {
            let bytes: Vec<u8> = row.iter().flat_map(|e| e.sum.to_le_bytes()).collect();
            write_all(self.sums, &bytes, 8 * row[0].slot)
                .map_err(|e| problem("cannot write to", &self.dir.join(SUMS), e))?;
        }
        Ok(8 * entries.len())
    }

    /// Pages and checksums are on the disk.
    pub(super) fn sync_pages(&self) -> Result<(), Problem> {
        for (file, name) in [(self.slots.file, "pages"), (self.sums, SUMS)] {
            // SAFETY: a descriptor of ours.
            let r = unsafe { sys!(libc::SYS_fdatasync, file) };
            if r < 0 {
                return Err(problem("cannot sync", &self.dir.join(name), r));
            }
        }
        Ok(())
    }

    /// Generation `number` has its file, which holds `bytes`.
    pub(super) fn write_generation(&self, number: u64, bytes: &[u8]) -> Result<(), Problem> {
        let path = self.dir.join(format!("new-{number}"));
        let temporary = CString::new(format!("new-{number}")).unwrap_or_default();
        let name = CString::new(format!("gen-{number}")).unwrap_or_default();
        // SAFETY: C strings, descriptors of ours.
        unsafe {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW | libc::O_CLOEXEC;
            let fd = sys!(libc::SYS_openat, self.dir_fd, temporary.as_ptr(), flags, 0o600);
            if fd < 0 {
                return Err(problem("cannot write", &path, fd));
            }
            let done = |r: isize| if r < 0 { Err(r) } else { Ok(()) };
            let written = write_all(fd as i32, bytes, 0).and_then(|()| done(sys!(libc::SYS_fsync, fd)));
            sys!(libc::SYS_close, fd);
            let (from, to) = (temporary.as_ptr(), name.as_ptr());
            let r = written.and_then(|()| done(sys!(libc::SYS_renameat, self.dir_fd, from, self.dir_fd, to)));
            if let Err(e) = r {
                self.unlink(&format!("new-{number}"));
                return Err(problem("cannot write", &path, e));
            }
            sys!(libc::SYS_fsync, self.dir_fd);
        }
        Ok(())
    }
}
