//! The end of the program: a mark for who looks at it now, and the end record, by which `--resume` does not
//! run it again (crates/image/src/end_record.rs).
//!
//! A program ends by `exit`, by returning from `main`, or at once: by `_exit`, `_Exit`, `quick_exit`, or by
//! the system call. The latter lead here (as in ckpt/interpose/credentials.rs). They may come from a signal's
//! handler, at any moment: so the record's text is made ready beforehand, and only system calls write it.

use crate::image::{self, Word};
use crate::keep::{self, Keep};
use crate::sys;
use crate::sys::{futex, got::calls_instead, signals, syscall, time};
use crate::transition::{transition_begins, transition_is_over};
use crate::{region, rollback_request, say, state};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use core::time::Duration;
use std::os::fd::AsRawFd;

/// The record's text but for the status, and what comes behind it.
pub struct Ready {
    text: AtomicPtr<u8>,
    len: AtomicUsize,
    /// Who ends the process ([`caller`]); 0: nobody.
    who: AtomicU64,
}

/// How long a thread waits for another one that ends the process.
const PATIENCE_NS: u64 = 10_000_000_000;
/// The part of [`Ready::who`] that is a thread.
const TID: u64 = u32::MAX as u64;
/// What is behind the text.
const STATUS: &str = "0}";
/// Room for the status and what is behind it.
const ROOM: [u8; 4] = [b' '; 4];

/// What quick_exit(3) was called with.
static QUICK: AtomicI32 = AtomicI32::new(0);

/// The program's end can be recorded from now on: it is `program`, with `arguments`.
pub(crate) fn prepare(k: &Keep, program: String, arguments: Vec<Word>) {
    let Ok(whole) = image::end_record::Ended { program, arguments, status: 0 }.text() else { return };
    let Some(text) = whole.strip_suffix(STATUS.as_bytes()) else { return };
    make_room(k, text);
    // Rollbacks leave it alone.
    let Some(at) = sys::preserved_memory::pages(text.len().next_multiple_of(4096)) else { return };
    // SAFETY: fresh memory of at least that length.
    unsafe { at.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    k.end.len.store(text.len(), Relaxed);
    k.end.text.store(at, Release); // the edge to `write`
}

/// The record, with room for the status: when the program ends, the disk may be full.
fn make_room(k: &Keep, text: &[u8]) {
    let Ok(dir) = k.journal.folder.open() else { return };
    let (at, aside) = (dir.as_raw_fd(), image::end_record::ASIDE.as_ptr());
    let how = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: C strings; the kernel reads the bytes; descriptors of our own. Where there is no room now, the
    // end tries again.
    unsafe {
        sys!(libc::SYS_unlinkat, at, aside, 0);
        let fd = sys!(libc::SYS_openat, at, aside, how, 0o600);
        sys!(libc::SYS_fallocate, fd, libc::FALLOC_FL_KEEP_SIZE, 0, text.len() + ROOM.len());
        sys!(libc::SYS_write, fd, text.as_ptr(), text.len());
        sys!(libc::SYS_write, fd, ROOM.as_ptr(), ROOM.len());
        sys!(libc::SYS_close, fd);
    }
}

/// Something has failed behind the end that may have been recorded, and ends the process: that end has not
/// happened. Who is recording it just now is waited for. System calls only. The error is the system's, for
/// which the record stays.
pub fn take_back() -> Result<(), isize> {
    let Some(k) = keep::if_on().filter(|k| is_ours(k)) else { return Ok(()) };
    let (own, until) = (caller(), time::now_ns() + PATIENCE_NS);
    let records = || is_another(k.end.who.load(Acquire), own) && ended().load(Acquire) == 0;
    while records() && waits(until) {}
    take_back_now()
}

fn ended() -> &'static AtomicU64 {
    &state()[image::state::ENDED]
}

/// The same where no thread records an end.
pub(crate) fn take_back_now() -> Result<(), isize> {
    let Some(k) = keep::if_on().filter(|k| is_ours(k)) else { return Ok(()) };
    ended().store(0, Release);
    k.end.who.store(0, Release);
    let Ok(dir) = k.journal.folder.open() else { return Ok(()) };
    let (at, how) = (dir.as_raw_fd(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC);
    // SAFETY: C strings; descriptors of our own; the page of the counters.
    unsafe {
        match sys!(libc::SYS_unlinkat, at, image::end_record::NAME.as_ptr(), 0) {
            0 => {}
            r if r == -(libc::ENOENT as isize) => return Ok(()),
            r => return Err(r),
        }
        let fd = sys!(libc::SYS_openat, at, c".".as_ptr(), how);
        sys!(libc::SYS_fsync, fd);
        sys!(libc::SYS_close, fd);
        sys!(libc::SYS_msync, region::STATE, image::PAGE, libc::MS_SYNC);
    }
    make_room(k, text(k));
    Ok(())
}

/// Of functions that quick_exit(3) calls ours is the last. Before the program has named any.
pub(crate) fn begin() {
    unsafe extern "C" fn has_ended(_: *mut c_void) {
        mark(QUICK.load(Relaxed));
    }
    type Name = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void) -> c_int;
    // SAFETY: looks up a function of libc's and calls it, with one that may be called at any time.
    unsafe {
        let name = libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_at_quick_exit".as_ptr());
        if !name.is_null() {
            core::mem::transmute::<*mut c_void, Name>(name)(has_ended, core::ptr::null_mut());
        }
    }
}

/// Is the caller of the process that has checkpoints? A child made by `vfork` has its memory.
pub(crate) fn is_ours(k: &Keep) -> bool {
    let keeper = k.hosts.own[0].load(Relaxed);
    region::on() && keeper != 0 && syscall::tgkill(keeper, 0)
}

/// The calling thread ends the program with this status: soon there is nothing to restart. System calls only.
///
/// Of several threads that end it the first one does: the others wait here, for what they would record is
/// not how it ends.
pub(crate) fn mark(status: i32) {
    let Some(k) = keep::if_on().filter(|k| is_ours(k)) else { return };
    let mask = loop {
        if !is_first(k) {
            return;
        }
        // No checkpoint meanwhile: on a slow disk it would wait in vain for this thread to answer.
        let mask = signals::block_all();
        transition_begins();
        // A rollback, or a restart, may have come in between.
        if k.end.who.load(Acquire) == caller() {
            break mask;
        }
        transition_is_over();
        signals::set_mask(mask);
    };
    // Where it cannot be written (a full disk) the mark is what there is.
    promp_files::within_limit(|| write(k, status & 0xff));
    ended().store(1, Release);
    transition_is_over();
    signals::set_mask(mask);
}

/// Is it the calling thread that ends the process? A thread that finds another one waits for the end.
fn is_first(k: &Keep) -> bool {
    let own = caller();
    let until = time::now_ns() + PATIENCE_NS;
    loop {
        let found = k.end.who.load(Acquire);
        // Its own: a handler has interrupted the calling thread's record, and ends the process instead.
        if found == own {
            return true;
        }
        if !is_another(found, own) && k.end.who.compare_exchange(found, own, AcqRel, Relaxed).is_ok() {
            return true;
        }
        if !waits(until) {
            return false;
        }
    }
}

/// Is `found` a thread that is there, and ends the process, other than `own`?
fn is_another(found: u64, own: u64) -> bool {
    let present = found != 0 && found & !TID == own & !TID;
    present && found != own && syscall::tgkill((found & TID) as u32, 0)
}

/// Waits a little; false: long enough.
fn waits(until: u64) -> bool {
    futex::wait_for(&AtomicU32::new(0), 0, Duration::from_micros(100));
    time::now_ns() < until
}

/// The calling thread is about to call `exit`: where another one has recorded the end it waits for it. In
/// there it might find nothing left to do, and end the process before the other one, with another status.
fn let_the_first_one_end() {
    let Some(k) = keep::if_on().filter(|k| is_ours(k)) else { return };
    let (own, until) = (caller(), time::now_ns() + PATIENCE_NS);
    while is_another(k.end.who.load(Acquire), own) && waits(until) {}
}

/// Has the calling thread a record to write, which it has not yet?
pub(crate) fn is_to_record() -> bool {
    keep::if_on().is_some_and(|k| is_ours(k) && k.end.who.load(Relaxed) != caller())
}

/// The calling thread, since the last rollback: who ended the process before does not any more.
fn caller() -> u64 {
    u64::from(rollback_request::epoch()) << 32 | u64::from(syscall::gettid())
}

/// The record's text but for the status; none if there is to be no record.
fn text(k: &Keep) -> &[u8] {
    let at = k.end.text.load(Acquire);
    // SAFETY: what `prepare` has made.
    if at.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(at, k.end.len.load(Relaxed)) } }
}

/// Aside, synced, renamed.
fn write(k: &Keep, status: i32) {
    let text = text(k);
    if k.journal.folder.name().is_none() || text.is_empty() {
        return;
    }
    let dir = k.journal.folder.open();
    let at = dir.as_ref().map_or(-1, AsRawFd::as_raw_fd);
    let mut room = ROOM;
    let first = [100, 10].iter().filter(|&&n| status < n).count();
    for (to, n) in room.iter_mut().zip(&[100, 10, 1][first..]) {
        *to = b'0' + (status / n % 10) as u8;
    }
    room[3 - first] = b'}';
    let (aside, name) = (image::end_record::ASIDE.as_ptr(), image::end_record::NAME.as_ptr());
    let all = |fd: isize, bytes: &[u8], at: usize| {
        // SAFETY: the kernel reads the bytes.
        unsafe { sys!(libc::SYS_pwrite64, fd, bytes.as_ptr(), bytes.len(), at) == bytes.len() as isize }
    };
    let how = libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: C strings; descriptors of our own.
    let done = unsafe {
        let fd = sys!(libc::SYS_openat, at, aside, how, 0o600);
        let whole = fd >= 0
            && all(fd, text, 0)
            && all(fd, &room, text.len())
            && sys!(libc::SYS_ftruncate, fd, text.len() + room.len()) == 0
            && sys!(libc::SYS_fsync, fd) == 0
            && sys!(libc::SYS_renameat, at, aside, at, name) == 0;
        sys!(libc::SYS_close, fd);
        whole
    };
    if !done {
        say!("how the program has ended cannot be noted beside its checkpoints; --resume will say so");
    }
}

/// What is called instead of libc's functions.
pub(crate) use calls::instead;

#[allow(non_snake_case)]
mod calls {
    use super::*;

    calls_instead! {
        fn exit(status: c_int) -> c_int = |real| { let_the_first_one_end(); real() };
        fn _exit(status: c_int) -> c_int = |real| { mark(status); real() };
        fn _Exit(status: c_int) -> c_int = |real| { mark(status); real() };
        fn quick_exit(status: c_int) -> c_int = |real| { QUICK.store(status, Relaxed); real() };
        fn abort() -> () = |real| { let _ = take_back(); real() };
    }
}
