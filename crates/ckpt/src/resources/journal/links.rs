//! The journal's own links: a file that the program removes is kept by another link to it, in the checkpoint
//! directory, until nobody goes back behind that. The kernel counts it. The program must not see it: whoever
//! locks by link(2) asks whether there are two, and whoever looks whether a log was removed, whether there is
//! none. So the calls that tell of links are answered without ours.
//!
//! What is noted here goes back with the program. Whether a link is still there is looked at when it counts.
//! Not seen: what other processes are told.

use super::name::{Name, Short, look};
use crate::sys;
use crate::sys::got::calls_instead;
use core::ffi::{c_char, c_int, c_long, c_uint};
use core::sync::atomic::Ordering::*;
use core::sync::atomic::{AtomicU64, AtomicUsize};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Links that are remembered, and how many places there are for each.
const LINKS: usize = 1 << 12;
const PLACES: usize = 8;
/// Bits of a copy's number.
const COPY: u32 = 24;

/// A link: what it leads to, hashed, and its era and number; 0: none.
static NOTED: [[AtomicU64; 2]; LINKS] = [const { [const { AtomicU64::new(0) }; 2] }; LINKS];
/// There are so many.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Edge: one more before the keeper removes a link while the program runs, and after it. A call that was told
/// of the file in between is made again.
static FORGOTTEN: AtomicU64 = AtomicU64::new(0);
/// A function that tells the checkpoint directory.
static FOLDER: AtomicUsize = AtomicUsize::new(0);

type Folder = fn() -> *const c_char;

/// The journal begins, in the directory that `folder` tells.
pub(crate) fn begin(folder: Folder) {
    FOLDER.store(folder as usize, Relaxed);
}

fn key(device: u64, inode: u64) -> u64 {
    (device ^ inode.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

fn places(key: u64) -> impl Iterator<Item = &'static [AtomicU64; 2]> {
    (0..PLACES).map(move |i| &NOTED[((key >> 40) as usize + i) % LINKS])
}

/// Number `copy` of `era` will be a link to this file. In a note: system calls and memory of the stack only.
pub(crate) fn note(device: u64, inode: u64, era: u64, copy: u32) {
    let key = key(device, inode);
    // The one that has been there longest gives way.
    if let Some([what, which]) = places(key).min_by_key(|[_, which]| which.load(Relaxed)) {
        which.store(0, Relaxed);
        what.store(key, Relaxed);
        which.store(era << COPY | u64::from(copy), Release);
        COUNT.fetch_add(1, Relaxed);
    }
}

/// Is there still such a link?
fn is_there(which: u64, device: u64, inode: u64) -> bool {
    let folder = FOLDER.load(Relaxed);
    if which == 0 || folder == 0 {
        return false;
    }
    // SAFETY: stored by `begin`.
    let folder = unsafe { core::mem::transmute::<usize, Folder>(folder) }();
    if folder.is_null() {
        return false;
    }
    // SAFETY: a C string.
    let Some(mut path) = (unsafe { Name::of(libc::AT_FDCWD, folder) }) else { return false };
    let name = Short::journals(which >> COPY, which as u32 & ((1 << COPY) - 1));
    path.push(b"/").and_then(|()| path.push(name.name().to_bytes())).is_some()
        && look(&path, libc::AT_SYMLINK_NOFOLLOW).is_ok_and(|s| (s.st_dev, s.st_ino) == (device, inode))
}

/// The number of the link to this file that `era` has already. In a note.
pub(crate) fn of_era(device: u64, inode: u64, era: u64) -> Option<u32> {
    let key = key(device, inode);
    places(key)
        .filter(|[what, _]| what.load(Relaxed) == key)
        .map(|[_, which]| which.load(Acquire))
        .find(|&which| which >> COPY == era && is_there(which, device, inode))
        .map(|which| which as u32 & ((1 << COPY) - 1))
}

/// Removes what the journal does not need any more. On the keeper.
pub(crate) fn forget(remove: impl FnOnce()) {
    FORGOTTEN.fetch_add(1, AcqRel);
    remove();
    FORGOTTEN.fetch_add(1, AcqRel);
}

/// How many links to a file are the journal's own.
fn own(device: u64, inode: u64) -> u64 {
    if COUNT.load(Relaxed) == 0 {
        return 0;
    }
    let key = key(device, inode);
    let ours = |[what, which]: &&[AtomicU64; 2]| {
        what.load(Relaxed) == key && is_there(which.load(Acquire), device, inode)
    };
    places(key).filter(ours).count() as u64
}

/// How many names a file has, as far as the program knows.
pub(crate) fn of(about: &Metadata) -> u64 {
    about.nlink().saturating_sub(own(about.dev(), about.ino()))
}

type Path = *const c_char;
type Stat = *mut libc::stat;
type Statx = *mut libc::statx;

/// Makes a call that tells of a file: device, inode and the number of links, which `of` finds in what it has
/// told. Without our links.
fn told<R: From<i8> + PartialEq>(call: impl Fn() -> R, of: impl Fn() -> (u64, u64), less: impl Fn(u64)) -> R {
    loop {
        let before = FORGOTTEN.load(Acquire);
        let r = call();
        if r != R::from(0) || COUNT.load(Relaxed) == 0 {
            return r;
        }
        let (device, inode) = of();
        let key = key(device, inode);
        if !places(key).any(|[what, _]| what.load(Relaxed) == key) {
            return r;
        }
        let own = own(device, inode);
        if before.is_multiple_of(2) && FORGOTTEN.load(Acquire) == before {
            less(own);
            return r;
        }
        // SAFETY: no pointers.
        unsafe { sys!(libc::SYS_sched_yield) };
    }
}

/// In a `struct stat`.
fn stat_told<R: From<i8> + PartialEq>(call: impl Fn() -> R, to: Stat) -> R {
    // SAFETY (both): the kernel has just written it, where the caller wants it.
    let of = || unsafe { ((*to).st_dev, (*to).st_ino) };
    told(call, of, |own| unsafe { (*to).st_nlink = (*to).st_nlink.saturating_sub(own) })
}

/// In a `struct statx`.
fn statx_told<R: From<i8> + PartialEq>(call: impl Fn() -> R, to: Statx) -> R {
    // SAFETY (both): the kernel has just written it, where the caller wants it.
    let of = || unsafe { (libc::makedev((*to).stx_dev_major, (*to).stx_dev_minor), (*to).stx_ino) };
    told(call, of, |own| unsafe { (*to).stx_nlink = (*to).stx_nlink.saturating_sub(own as u32) })
}

calls_instead! {
    fn stat(path: Path, to: Stat) -> c_int = |real| stat_told(real, to);
    fn stat64(path: Path, to: Stat) -> c_int = |real| stat_told(real, to);
    fn lstat(path: Path, to: Stat) -> c_int = |real| stat_told(real, to);
    fn lstat64(path: Path, to: Stat) -> c_int = |real| stat_told(real, to);
    fn fstat(fd: c_int, to: Stat) -> c_int = |real| stat_told(real, to);
    fn fstat64(fd: c_int, to: Stat) -> c_int = |real| stat_told(real, to);
    fn fstatat(at: c_int, path: Path, to: Stat, flags: c_int) -> c_int = |real| stat_told(real, to);
    fn fstatat64(at: c_int, path: Path, to: Stat, flags: c_int) -> c_int = |real| stat_told(real, to);
    fn __xstat(version: c_int, path: Path, to: Stat) -> c_int = |real| stat_told(real, to);
    fn __xstat64(version: c_int, path: Path, to: Stat) -> c_int = |real| stat_told(real, to);
    fn __lxstat(version: c_int, path: Path, to: Stat) -> c_int = |real| stat_told(real, to);
    fn __lxstat64(version: c_int, path: Path, to: Stat) -> c_int = |real| stat_told(real, to);
    fn __fxstat(version: c_int, fd: c_int, to: Stat) -> c_int = |real| stat_told(real, to);
    fn __fxstat64(version: c_int, fd: c_int, to: Stat) -> c_int = |real| stat_told(real, to);
    fn __fxstatat(version: c_int, at: c_int, path: Path, to: Stat, flags: c_int) -> c_int =
        |real| stat_told(real, to);
    fn __fxstatat64(version: c_int, at: c_int, path: Path, to: Stat, flags: c_int) -> c_int =
        |real| stat_told(real, to);
    fn statx(at: c_int, path: Path, flags: c_int, mask: c_uint, to: Statx) -> c_int =
        |real| statx_told(real, to);
    fn syscall(nr: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long =
        |real| match nr {
            libc::SYS_stat | libc::SYS_lstat | libc::SYS_fstat => stat_told(real, b as Stat),
            libc::SYS_newfstatat => stat_told(real, c as Stat),
            libc::SYS_statx => statx_told(real, e as Statx),
            _ => real(),
        };
}
