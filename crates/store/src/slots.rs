//! The file of pages: slots of a page each.

use crate::sys;
use core::sync::atomic::{AtomicBool, Ordering::*};
use promp_image::PAGE;
use std::path::PathBuf;

/// Consecutive pages of some content, and the slots that they are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The first page.
    pub at: usize,
    /// How many.
    pub n: usize,
    /// The first slot.
    pub slot: usize,
}

/// The file, for several hosts at the same time.
#[derive(Debug)]
pub struct Slots {
    /// Its descriptor.
    pub file: i32,
    /// The same without the system's cache; -1: the file system has no such thing.
    pub direct: i32,
    /// What is written suits the device.
    suits: AtomicBool,
    /// Its path, for messages.
    pub path: PathBuf,
}

impl Slots {
    /// For descriptors that are open.
    pub fn new(file: i32, direct: i32, path: PathBuf) -> Self {
        Self { file, direct, suits: AtomicBool::new(direct >= 0), path }
    }

    /// Writes `rows` of `content`.
    ///
    /// # Errors
    /// The message names the file.
    pub fn write(&self, content: &[u8], rows: &[Row]) -> Result<(), String> {
        for r in rows {
            let done = self.write_at(&content[r.at * PAGE..(r.at + r.n) * PAGE], r.slot * PAGE);
            done.map_err(|e| format!("cannot write to {}: {}", self.path.display(), sys::why(e)))?;
        }
        Ok(())
    }

    /// Do long pieces go past the system's cache, to a device?
    pub fn are_on_a_device(&self) -> bool {
        /// As `linux/magic.h` has it.
        const RAMFS: i64 = 0x8584_58f6;
        self.suits.load(Relaxed)
            && self.file_system().is_some_and(|fs| fs.f_type != libc::TMPFS_MAGIC && fs.f_type != RAMFS)
    }

    /// Slots that the file may become longer by, as far as the file system has room.
    pub fn room(&self) -> usize {
        self.file_system().map_or(0, |fs| (fs.f_bavail as usize).saturating_mul(fs.f_bsize as usize) / PAGE)
    }

    fn file_system(&self) -> Option<libc::statfs> {
        let mut fs = core::mem::MaybeUninit::uninit();
        // SAFETY: the kernel fills it if it says so.
        unsafe { (sys!(libc::SYS_fstatfs, self.file, fs.as_mut_ptr()) == 0).then(|| fs.assume_init()) }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        // SAFETY: asks for the end of a file of ours, in which everything is written with an offset.
        let end = unsafe { sys!(libc::SYS_lseek, self.file, 0, libc::SEEK_END) };
        usize::try_from(end).unwrap_or(0) / PAGE
    }

    /// Only the first `slots` are left.
    pub fn cut(&self, slots: usize) {
        // SAFETY: a file of ours.
        unsafe { sys!(libc::SYS_ftruncate, self.file, slots * PAGE) };
    }

    /// Long pieces go past the system's cache: copying them there and writing them back from there costs several times as much of the CPUs' time,
    /// which the program wants. Short ones would wait for the disk one by one.
    fn write_at(&self, mut bytes: &[u8], mut offset: usize) -> Result<(), isize> {
        const LONG: usize = 256 << 10;
        while !bytes.is_empty() {
            let past = bytes.len() >= LONG && self.suits.load(Relaxed);
            let fd = if past { self.direct } else { self.file };
            // SAFETY: the slice is readable.
            let r = unsafe { sys!(libc::SYS_pwrite64, fd, bytes.as_ptr(), bytes.len(), offset) };
            if past && r == -(libc::EINVAL as isize) {
                // The memory or the length does not suit the device.
                self.suits.store(false, Relaxed);
                continue;
            }
            if r <= 0 {
                return Err(if r == 0 { -(libc::ENOSPC as isize) } else { r });
            }
            bytes = &bytes[r as usize..];
            offset += r as usize;
        }
        Ok(())
    }
}
