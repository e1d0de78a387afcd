//! The file of pages: slots of a page each.

use super::image::PAGE;
use crate::sys;
use core::sync::atomic::{AtomicBool, Ordering::*};
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
