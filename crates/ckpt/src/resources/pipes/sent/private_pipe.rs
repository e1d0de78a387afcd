//! The private pipe: a piece's way to a pipe that the program was started with, if somebody who outlives the
//! process has given one (`promp run --auto-restart`, cli/src/restart/private_pipes.rs).
//!
//! Whether a pipe has taken what a dead process wrote nobody can tell. But whether bytes were *moved* from
//! one pipe to another the first one tells: splice(2) does it under the locks of both, and a process is not
//! killed within. So a piece is put into the private pipe, that is noted (`staged`), and then it is moved.
//! Of what was staged the pipe has taken what is not in the private pipe any more; the next process, which
//! has the same private pipe, counts it.
//!
//! What is moved does not share a place (a page) of the pipe with other pieces, as what is written does. A
//! reader who is behind must not make the program wait any earlier for that. So the pipe gets more places,
//! and bytes of places are left empty by pieces that nobody has read yet only as far as these reach; other
//! pieces are written as ever.

use super::super::{Identity, behind};
use super::STREAMS;
use crate::sys;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*};
use promp_settings::internal::PRIVATE_PIPES;

/// Bytes of a place. A piece of at most so many is moved as a whole.
const PLACE: u64 = 4096;
/// A pipe with fewer was made small on purpose: it stays as it is.
const USUAL: u64 = 16;
/// So many are given to a pipe at most: what a user without privileges may.
const MOST: u64 = 256;
/// Pieces that are remembered.
const MARKS: u64 = 512;

/// The private pipes that this process was given: descriptor and inode.
static GIVEN: [(AtomicI32, AtomicU64); STREAMS] = [const { (AtomicI32::new(0), AtomicU64::new(0)) }; STREAMS];

/// Notes the pipes that this process was given ("descriptor:inode" each, separated by commas), before the
/// program has done anything. Returns their descriptors.
pub(crate) fn find() -> Vec<i32> {
    let text = sys::env::get(PRIVATE_PIPES.name).unwrap_or_default();
    let one = |t: &str| -> Option<(i32, u64)> {
        let (fd, inode) = t.split_once(':')?;
        let (fd, inode) = (fd.parse().ok()?, inode.parse().ok()?);
        // A child of a program that was given some has closed them.
        (fd > 2 && behind(fd)?[1] == inode).then_some((fd, inode))
    };
    let all: Vec<_> = text.split(',').take(STREAMS).map(one).collect();
    for ((fd, inode), given) in GIVEN.iter().zip(&all) {
        let (number, of) = given.unwrap_or_default();
        fd.store(number, Relaxed);
        inode.store(of, Relaxed);
    }
    all.into_iter().flatten().map(|(fd, _)| fd).collect()
}

/// The private pipe of one that is followed. Zeroed memory: there is none. Used with the stream's lock held.
#[repr(C)]
pub(crate) struct Private {
    /// Its descriptor, open for reading and writing; 0: there is none.
    fd: AtomicI32,
    /// 1: what was sent last was not moved; the place where it ends may have room.
    open: AtomicU32,
    pipe: [AtomicU64; 2],
    /// Bytes of places that may be left empty before it is looked again what has been read.
    left: AtomicU64,
    /// That were left empty so far.
    empty: AtomicU64,
    /// Pieces that were moved.
    count: AtomicU64,
    /// Of the last ones: the place in the stream where each ends, and `empty` then.
    marks: [[AtomicU64; 2]; MARKS as usize],
}

impl Private {
    /// The one that this process was given for a slot. Others do not inherit it from here on.
    pub(crate) fn begin(&self, slot: usize) {
        let (fd, inode) = (GIVEN[slot].0.load(Relaxed), GIVEN[slot].1.load(Relaxed));
        let Some(pipe) = behind(fd).filter(|p| fd > 2 && p[1] == inode) else { return };
        // SAFETY: a descriptor of ours.
        unsafe { sys!(libc::SYS_fcntl, fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        self.pipe.iter().zip(pipe).for_each(|(w, v)| w.store(v, Relaxed));
        self.fd.store(fd, Relaxed);
    }

    /// It is not needed.
    pub(crate) fn end(&self) {
        let fd = self.fd.swap(0, Relaxed);
        if fd > 0 {
            // SAFETY: a descriptor of ours.
            unsafe { sys!(libc::SYS_close, fd) };
        }
    }

    /// Its descriptor; negative: there is none.
    pub(crate) fn descriptor(&self) -> i32 {
        if self.is_there() { self.fd.load(Relaxed) } else { -1 }
    }

    /// Sending begins at `end` of the pipe `to`, which had `places` at first. What is in there from before
    /// may have left empty all that it could.
    pub(crate) fn starts(&self, to: i32, end: u64, places: u64) {
        let spare = places_of(to).saturating_sub(places) * PLACE;
        if unread(to) > 0 && self.is_there() {
            self.count.store(1, Relaxed);
            self.empty.store(spare, Relaxed);
            self.marks[0].iter().zip([end, spare]).for_each(|(w, v)| w.store(v, Relaxed));
        }
    }

    fn identity(&self) -> Identity {
        [0, 1].map(|i| self.pipe[i].load(Relaxed))
    }

    /// What tells it from other pipes; 0: there is none.
    pub(crate) fn number(&self) -> u64 {
        if self.is_there() { self.identity()[1] } else { 0 }
    }

    /// Some programs close all descriptors that they do not know: the number may be something else's.
    fn is_there(&self) -> bool {
        let fd = self.fd.load(Relaxed);
        let there = fd > 0 && behind(fd) == Some(self.identity());
        if !there {
            self.fd.store(0, Relaxed);
        }
        there
    }

    /// Bytes in it.
    pub(crate) fn inside(&self) -> u64 {
        unread(self.fd.load(Relaxed))
    }

    /// Bytes of places that a piece leaves empty if it is moved.
    fn left_by(&self, len: u64) -> u64 {
        let before = u64::from(self.open.load(Relaxed)) * PLACE;
        before + len.next_multiple_of(PLACE) - len
    }

    /// May `len` bytes, behind those up to `end`, be moved to `to`, which had `places` at first?
    pub(crate) fn takes(&self, to: i32, len: usize, end: u64, places: u64) -> bool {
        let empty = self.left_by(len as u64);
        self.fd.load(Relaxed) != 0
            && (empty <= self.left.load(Relaxed) || self.look(to, empty, end, places))
            && self.is_there()
    }

    /// Looks whether `more` bytes may be left empty.
    fn look(&self, to: i32, more: u64, end: u64, places: u64) -> bool {
        let bytes = unread(to);
        let empty = self.empty_among(bytes, end);
        let mut there = places_of(to);
        let spare = |there: u64| there.saturating_sub(places) * PLACE;
        while spare(there) < empty.saturating_add(more) && grow(to, there) {
            there = places_of(to);
        }
        let left = spare(there).saturating_sub(empty);
        self.left.store(left, Relaxed);
        // The first piece has a place to itself in any case.
        more <= left || bytes == 0
    }

    /// Bytes that are left empty by pieces of ours among the last `bytes` of the stream up to `end`.
    fn empty_among(&self, bytes: u64, end: u64) -> u64 {
        let (count, total) = (self.count.load(Relaxed), self.empty.load(Relaxed));
        let known = count.min(MARKS);
        let read = (1..=known)
            .map(|i| self.marks[((count - i) % MARKS) as usize].each_ref().map(|w| w.load(Relaxed)))
            .find(|[at, _]| at + bytes <= end);
        match read {
            Some([_, then]) => total - then,
            None if count <= MARKS => total,
            None => u64::MAX,
        }
    }

    /// Puts the `len` bytes at `at` into it. Returns how many; or the system's error.
    pub(crate) fn put(&self, at: usize, len: usize) -> isize {
        // SAFETY: the kernel checks the address.
        unsafe { sys!(libc::SYS_write, self.fd.load(Relaxed), at, len) }
    }

    /// Moves `len` bytes to `to`, as many as go without waiting, the stream being at `end` before. Returns
    /// how many; or the system's error.
    pub(crate) fn pass_on(&self, to: i32, len: usize, end: u64) -> isize {
        let from = self.fd.load(Relaxed);
        // SAFETY: descriptors, and no places in them.
        let n = unsafe { sys!(libc::SYS_splice, from, 0, to, 0, len, libc::SPLICE_F_NONBLOCK) };
        if n > 0 {
            let empty = self.left_by(n as u64);
            let count = self.count.fetch_add(1, Relaxed);
            let total = self.empty.fetch_add(empty, Relaxed) + empty;
            let mark = &self.marks[(count % MARKS) as usize];
            mark.iter().zip([end + n as u64, total]).for_each(|(w, v)| w.store(v, Relaxed));
            self.left.store(self.left.load(Relaxed).saturating_sub(empty), Relaxed);
            self.open.store(0, Relaxed);
        }
        n
    }

    /// Something was sent without it.
    pub(crate) fn is_passed_by(&self) {
        self.open.store(1, Relaxed);
    }

    /// Throws away what is in it.
    pub(crate) fn clear(&self) {
        let fd = self.descriptor();
        let mut text = [0u8; PLACE as usize];
        // SAFETY: a buffer of that length. The descriptor does not wait; a negative one is an error.
        while unsafe { sys!(libc::SYS_read, fd, text.as_mut_ptr(), text.len()) } > 0 {}
    }
}

/// Bytes in a pipe.
fn unread(fd: i32) -> u64 {
    let mut n = 0i32;
    // SAFETY: the kernel writes an integer.
    let r = unsafe { sys!(libc::SYS_ioctl, fd, libc::FIONREAD, &raw mut n) };
    if r < 0 { u64::MAX / 2 } else { n as u64 }
}

/// Places of a pipe; 0: it is none.
pub(crate) fn places_of(fd: i32) -> u64 {
    // SAFETY: plain call.
    let r = unsafe { sys!(libc::SYS_fcntl, fd, libc::F_GETPIPE_SZ) };
    r.max(0) as u64 / PLACE
}

/// Gives a pipe with so many places more.
fn grow(fd: i32, places: u64) -> bool {
    // SAFETY: plain call.
    (USUAL..MOST).contains(&places)
        && unsafe { sys!(libc::SYS_fcntl, fd, libc::F_SETPIPE_SZ, 2 * places * PLACE) } >= 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe: its ends. Closed with the process.
    fn pipe() -> [i32; 2] {
        let mut ends = [0; 2];
        // SAFETY: two integers.
        unsafe { assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK), 0) };
        ends
    }

    fn private() -> Box<Private> {
        // SAFETY: zeroed memory is a value of it.
        let p: Box<Private> = unsafe { Box::new_zeroed().assume_init() };
        let path = format!("/proc/self/fd/{}\0", pipe()[0]);
        let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
        // SAFETY: a C string.
        let fd = unsafe { libc::open(path.as_ptr().cast(), flags) };
        p.pipe.iter().zip(behind(fd).expect("a pipe")).for_each(|(w, v)| w.store(v, Relaxed));
        p.fd.store(fd, Relaxed);
        p
    }

    fn read_from(fd: i32, most: usize) -> Vec<u8> {
        let mut text = vec![0u8; most];
        // SAFETY: a buffer of that length.
        let n = unsafe { libc::read(fd, text.as_mut_ptr().cast(), most) };
        text.truncate(n.max(0) as usize);
        text
    }

    #[test]
    fn what_is_inside_was_not_taken() {
        let (p, [from, to]) = (private(), pipe());
        // SAFETY: a descriptor of this test.
        unsafe { libc::fcntl(to, libc::F_SETPIPE_SZ, 4096) };
        let text = vec![b'x'; 9000];
        assert_eq!(p.put(text.as_ptr() as usize, 9000), 9000);
        assert_eq!((p.pass_on(to, 9000, 0), p.inside()), (4096, 4904));
        assert_eq!((p.pass_on(to, 4904, 4096), p.inside()), (-(libc::EAGAIN as isize), 4904));
        assert_eq!(read_from(from, 10000).len(), 4096);
        assert_eq!((p.pass_on(to, 4904, 4096), p.inside()), (4096, 808));
        p.clear();
        assert_eq!(p.inside(), 0);
        assert_eq!(p.put(8, 5), -(libc::EFAULT as isize));
        assert_eq!(p.pass_on(to, 5, 8192), -(libc::EAGAIN as isize));
        assert!(p.pass_on(from, 5, 8192) < 0 && p.pass_on(p.descriptor(), 5, 8192) < 0);
    }

    #[test]
    fn one_that_is_closed_is_not_used() {
        let (p, [from, to]) = (private(), pipe());
        assert!(p.takes(to, 5, 0, places_of(to)) && p.number() != 0);
        // SAFETY: descriptors of this test; the number is something else's now.
        unsafe { libc::dup2(from, p.descriptor()) };
        assert!(!p.takes(to, 5, 0, places_of(to)));
        assert_eq!((p.descriptor(), p.number()), (-1, 0));
    }

    /// Sends pieces of these lengths in turn to a pipe with so many places, until it is full: how many bytes
    /// it has taken, and how many pieces were moved.
    fn filled(lens: &[usize], places: u64, private: Option<&Private>) -> (u64, u64) {
        let [from, to] = pipe();
        // SAFETY: a descriptor of this test.
        unsafe { libc::fcntl(to, libc::F_SETPIPE_SZ, places * PLACE) };
        let (mut end, mut moved) = (0, 0);
        for &len in lens.iter().cycle() {
            let text = vec![b'x'; len];
            let n = match private.filter(|p| p.takes(to, len, end, places)) {
                Some(p) => {
                    assert_eq!(p.put(text.as_ptr() as usize, len), len as isize);
                    let n = p.pass_on(to, len, end);
                    p.clear();
                    moved += u64::from(n > 0);
                    n
                }
                None => {
                    private.inspect(|p| p.is_passed_by());
                    // SAFETY: a buffer of that length.
                    unsafe { libc::write(to, text.as_ptr().cast(), len) }
                }
            };
            if n < 0 {
                break;
            }
            end += n as u64;
        }
        // When all has been read they go the better way again.
        while !read_from(from, 1 << 20).is_empty() {}
        assert!(private.is_none_or(|p| p.takes(to, lens[0], end, places)));
        for fd in [from, to] {
            // SAFETY: descriptors of this test.
            unsafe { libc::close(fd) };
        }
        (end, moved)
    }

    /// Whatever goes by which way, a pipe that nobody reads from takes what it did, but for the last place:
    /// pieces are not parted.
    #[test]
    fn a_pipe_takes_no_less() {
        for lens in [&[1][..], &[50], &[4096, 1], &[2000, 3000, 10], &[5000], &[8192]] {
            for places in [1, 4, 16, 32] {
                let (plain, _) = filled(lens, places, None);
                let (end, moved) = filled(lens, places, Some(&private()));
                assert!(end + PLACE > plain && moved > 0, "{lens:?} {places}: {end} {plain} {moved}");
            }
        }
    }
}
