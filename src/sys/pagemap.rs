//! What the kernel tells of pages, and its noting of writes to them: PAGEMAP_SCAN (Linux 6.7) and userfaultfd's asynchronous write
//! protection.

use super::syscall::high;
use crate::sys;

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

/// Flag: what is told of is armed.
pub const WP_MATCHING: u64 = 1 << 0;
/// Flag: EPERM where writes are not noted.
pub const CHECK_WPASYNC: u64 = 1 << 1;

const PAGEMAP_SCAN: u64 = 0xc060_6610;

/// `request` takes a pointer to a `T`.
fn ioctl<T>(fd: i32, request: u64, arg: &mut T) -> isize {
    // SAFETY: the requests in this file are used with the structures they take.
    unsafe { sys!(libc::SYS_ioctl, fd, request, arg as *mut T) }
}

/// /proc/self/pagemap.
#[derive(Debug)]
pub struct Pagemap(pub i32);

impl Pagemap {
    /// Opens it; -1 inside if it cannot be.
    pub fn open() -> Self {
        let path = c"/proc/self/pagemap".as_ptr();
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
        let n = ioctl(self.0, PAGEMAP_SCAN, &mut arg);
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

/// A userfaultfd that notes writes.
#[derive(Debug)]
pub struct Uffd(pub i32);

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct WriteProtect {
    start: u64,
    len: u64,
    mode: u64,
}

const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const UFFDIO_WRITEPROTECT: u64 = 0xc018_aa06;
const MODE_WP: u64 = 2;
const WP_ASYNC: u64 = 1 << 15;
const USER_MODE_ONLY: i32 = 1;

impl Uffd {
    /// Opens one, if this kernel can note writes.
    pub fn open() -> Option<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY;
        // SAFETY: plain call.
        let fd = high(unsafe { sys!(libc::SYS_userfaultfd, flags) });
        let mut api = Api { api: 0xaa, features: WP_ASYNC, ioctls: 0 };
        (fd >= 0 && ioctl(fd, UFFDIO_API, &mut api) == 0).then_some(Self(fd))
    }

    /// Has writes to the mappings in [start, end) noted, once their pages are armed.
    pub fn watch(&self, start: usize, end: usize) {
        let (start, len) = (start as u64, (end - start) as u64);
        ioctl(self.0, UFFDIO_REGISTER, &mut Register { start, len, mode: MODE_WP, ioctls: 0 });
    }

    /// Takes marks off the pages of [start, end), which is watched: all are written then.
    pub fn clear(&self, start: usize, end: usize) {
        let (start, len) = (start as u64, (end - start) as u64);
        ioctl(self.0, UFFDIO_WRITEPROTECT, &mut WriteProtect { start, len, mode: 0 });
    }
}
