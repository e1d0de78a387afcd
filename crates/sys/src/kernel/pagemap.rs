//! What the kernel tells of pages: PAGEMAP_SCAN (Linux 6.7). The writes that it notes are those of uffd.rs.

use crate::sys;
use crate::syscall::high;

/// Pages of one kind.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// Behind the last.
    pub end: u64,
    /// What they are, of what was asked for.
    pub categories: u64,
}

/// The argument of PAGEMAP_SCAN.
#[repr(C)]
#[derive(Default)]
struct ScanArg {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    question: Question,
}

/// What to tell of.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Question {
    /// Categories that are turned around, for the masks below.
    pub inverted: u64,
    /// Pages with all of these,
    pub all: u64,
    /// and one of these,
    pub any: u64,
    /// are told of, together where they agree in these.
    pub tell: u64,
}

/// Writes to it are noted.
pub const WP_ALLOWED: u64 = 1 << 0;
/// Written to since it was armed; or not noted.
pub const WRITTEN: u64 = 1 << 1;
/// Of a file.
pub const FILE: u64 = 1 << 2;
/// In memory.
pub const PRESENT: u64 = 1 << 3;
/// In the swap space, or a marker.
pub const SWAPPED: u64 = 1 << 4;
/// The page of zeros.
pub const ZERO: u64 = 1 << 5;
/// A guard (Linux 6.15).
pub const GUARD: u64 = 1 << 8;

/// Flag: what is told of is armed.
pub const WP_MATCHING: u64 = 1 << 0;
/// Flag: EPERM where writes are not noted.
pub const CHECK_WPASYNC: u64 = 1 << 1;

const PAGEMAP_SCAN: u64 = 0xc060_6610;

/// /proc/self/pagemap.
#[derive(Debug)]
pub struct Pagemap(pub i32);

impl Pagemap {
    /// Opens it; -1 inside if it cannot be.
    pub fn open() -> Self {
        let path = c"/proc/thread-self/pagemap".as_ptr();
        // SAFETY: plain call.
        Self(high(unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC) }))
    }

    /// What the kernel tells of [at, end), and how far that goes, which is some way; or its error.
    pub fn ask<'a>(
        &self,
        (at, end): (u64, u64),
        flags: u64,
        question: Question,
        regions: &'a mut [Region],
    ) -> Result<(&'a [Region], u64), i32> {
        let mut arg = ScanArg {
            size: size_of::<ScanArg>() as u64,
            flags,
            start: at,
            end,
            vec: regions.as_mut_ptr() as u64,
            vec_len: regions.len() as u64,
            question,
            ..ScanArg::default()
        };
        // SAFETY: the request takes this structure.
        let n = unsafe { sys!(libc::SYS_ioctl, self.0, PAGEMAP_SCAN, &raw mut arg) };
        if n < 0 {
            return Err(-n as i32);
        }
        let told = &regions[..n as usize];
        // Linux (seen with 6.18) leaves `walk_end` behind when the walk went on after its buffer of 512 regions was full once: what
        // it has told of must not be asked for again.
        let reached = arg.walk_end.max(told.last().map_or(at, |r| r.end));
        if reached > at { Ok((told, reached)) } else { Err(libc::EIO) }
    }
}
