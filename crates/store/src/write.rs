//! What makes a generation whole: pages, checksums and the generation's file are on the disk before that gets
//! its name.

use super::{Problem, Store, c, problem};
use crate::sys;
use crate::sys::syscall::{high, write_all};
use promp_image::{Entry, SUMS, file_copies};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

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

    /// Makes generation `number` whole, whose file holds `bytes`: that is written aside, all is brought to
    /// the disk, with `others`, and it gets its name.
    pub(super) fn make_whole(&self, number: u64, bytes: &[u8], others: &[File]) -> Result<(), Problem> {
        let temporary = format!("new-{number}");
        let path = self.dir.join(&temporary);
        let (aside, name) = (c(Path::new(&temporary)), c(Path::new(&format!("gen-{number}"))));
        let wrong = |r: isize| problem("cannot write", &path, r);
        let done = |r: isize| if r < 0 { Err(wrong(r)) } else { Ok(()) };
        // SAFETY: C strings, descriptors of ours.
        unsafe {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW | libc::O_CLOEXEC;
            let opened = sys!(libc::SYS_openat, self.dir_fd, aside.as_ptr(), flags, 0o600);
            done(opened)?;
            let fd = high(opened);
            let written = write_all(fd, bytes, 0).map_err(wrong);
            let written = written.and_then(|()| self.sync((fd, &path), others));
            sys!(libc::SYS_close, fd);
            let (from, to) = (aside.as_ptr(), name.as_ptr());
            let r = written.and_then(|()| done(sys!(libc::SYS_renameat, self.dir_fd, from, self.dir_fd, to)));
            if r.is_err() {
                self.unlink(&temporary);
                return r;
            }
            sys!(libc::SYS_fsync, self.dir_fd);
        }
        Ok(())
    }

    /// Pages, checksums, a generation's file and `others` are on the disk. All are handed to it before one
    /// is waited for: a file system with a journal commits them together.
    fn sync(&self, (generation, path): (i32, &Path), others: &[File]) -> Result<(), Problem> {
        let of_store = |name: &str| self.dir.join(name);
        let own =
            [(self.slots.file, of_store("pages")), (self.sums, of_store(SUMS)), (generation, path.into())];
        let others = others.iter().map(|f| (f.as_raw_fd(), of_store(file_copies::FOLDER)));
        let all: Vec<_> = others.chain(own).collect();
        for (file, _) in &all {
            // SAFETY: an open descriptor. What goes wrong is told when it is waited for.
            unsafe { sys!(libc::SYS_sync_file_range, *file, 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
        }
        for (file, path) in &all {
            // SAFETY: as above.
            let r = unsafe { sys!(libc::SYS_fdatasync, *file) };
            if r < 0 {
                return Err(problem("cannot sync", path, r));
            }
        }
        Ok(())
    }
}
