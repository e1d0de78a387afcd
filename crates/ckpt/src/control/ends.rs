//! The end of the program: a mark for who looks at it now, and the end record, by which `--resume` does not
//! run it again (crates/store/src/end_record_file.rs).
//!
//! A program ends by `exit`, by returning from `main` (exits.rs), or at once: by `_exit`, `_Exit`,
//! `quick_exit`, or by the system call. The latter lead here (as in ckpt/interpose/credentials.rs). They may
//! come from a signal's handler, at any moment.
//!
//! Where `promp` waits for the process, it makes the record agree with how that has ended
//! (cli/src/restart/left_record.rs).
//!
//! A checkpoint notes with a thread that it has recorded the end. Whoever goes back to it finds the record as
//! it was then; going back to an earlier one takes the record back.

use crate::image::{self, Word};
use crate::keep::{self, Keep};
use crate::runtime::runtime;
use crate::store::end_record_file::EndRecord;
use crate::sys;
use crate::sys::{futex, got::calls_instead, signals, syscall, time};
use crate::transition::{transition_begins, transition_is_over};
use crate::{region, requests, rollback_request, say, state};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*};
use core::time::Duration;
use std::os::fd::AsRawFd;

/// The record, and who writes it.
pub struct Ready {
    record: EndRecord,
    /// Who ends the process ([`caller`]); 0: nobody.
    who: AtomicU64,
}

/// How long a thread waits for another one that ends the process.
const PATIENCE_NS: u64 = 10_000_000_000;
/// The part of [`Ready::who`] that is a thread.
const TID: u64 = u32::MAX as u64;

/// What quick_exit(3) was called with.
static QUICK: AtomicI32 = AtomicI32::new(0);

/// The program's end can be recorded from now on: it is `program`, with `arguments`.
pub(crate) fn prepare(k: &Keep, program: String, arguments: Vec<Word>) {
    let dir = k.journal.folder.open().ok();
    k.end.record.prepare(dir.as_ref().map(AsRawFd::as_raw_fd), program, arguments);
}

/// Something has failed behind the end that may have been recorded, and ends the process: that end has not
/// happened. Who is recording it just now is waited for. System calls only. The error is the system's, for
/// which the record stays.
pub fn take_back() -> Result<(), isize> {
    let Some(k) = keep::if_on().filter(|k| is_ours(k)) else { return Ok(()) };
    await_record(k);
    take_back_now()
}

/// Waits for another thread that is recording the end just now.
fn await_record(k: &Keep) {
    let (own, until) = (caller(), time::now_ns() + PATIENCE_NS);
    let records = || is_another(k.end.who.load(Acquire), own) && ended().load(Acquire) == 0;
    while records() && waits(until) {}
}

/// See [`image::state::ENDED`].
fn ended() -> &'static AtomicU64 {
    &state()[image::state::ENDED]
}

/// The status with which the end is recorded.
fn status() -> Option<i32> {
    (ended().load(Acquire) as u32).checked_sub(1).map(|s| s as i32)
}

/// The same where no thread records an end.
pub(crate) fn take_back_now() -> Result<(), isize> {
    let Some(k) = keep::if_on().filter(|k| is_ours(k)) else { return Ok(()) };
    ended().store(0, Release);
    k.end.who.store(0, Release);
    let Ok(dir) = k.journal.folder.open() else { return Ok(()) };
    if k.end.record.remove(dir.as_raw_fd())? {
        // SAFETY: the page of the counters.
        unsafe { sys!(libc::SYS_msync, region::STATE, image::PAGE, libc::MS_SYNC) };
    }
    Ok(())
}

/// Somebody else ends the process by this signal: if its end is recorded, it has ended before. System calls.
pub fn others_end_it(signal: i32) {
    // Nobody records an end before the counters' page is there.
    if keep::if_on().is_some_and(|k| is_ours(k) && k.end.who.load(Acquire) != 0) && status().is_some() {
        ended().fetch_or((signal as u64) << 32, AcqRel);
    }
}

/// The process, ours, is about to become another program: it has not ended yet. The status that it had
/// recorded, for [`has_recorded`] if it stays what it is.
pub(crate) fn goes_on_as_another(k: &Keep) -> Option<i32> {
    await_record(k);
    status().filter(|_| take_back_now().is_ok())
}

/// The status with which host `id` has recorded the end of the program, which is nobody else's since.
pub(crate) fn recorded_by(k: &Keep, id: u32) -> Option<i32> {
    let status = status()?;
    (k.end.who.load(Acquire) == host(id)).then_some(status)
}

/// Everything has gone back to a time when the thread that has host `id` now had recorded the end, with this
/// status. Before it goes on.
pub(crate) fn has_recorded(k: &Keep, id: u32, status: i32) {
    if self::status() != Some(status) {
        record(k, status);
    }
    k.end.who.store(host(id), Release);
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
/// Of several threads the first one does: others wait here. What they would record is not how it ends.
pub(crate) fn mark(status: i32) {
    let Some(k) = keep::if_on().filter(|k| is_ours(k)) else { return };
    let Some(mask) = begins_to_record(k) else { return };
    // Another thread may crash meanwhile.
    runtime().end_is_recorded();
    record(k, status & 0xff);
    transition_is_over();
    signals::set_mask(mask);
}

/// The calling thread is the first one that ends the process: all signals are blocked, and no checkpoint is
/// taken until the transition is over, for on a slow disk it would wait in vain for this thread to answer.
/// Returns the mask before that.
fn begins_to_record(k: &Keep) -> Option<u64> {
    while is_first(k) {
        let mask = signals::block_all();
        transition_begins();
        // A rollback, or a restart, may have come in between.
        if k.end.who.load(Acquire) == caller() {
            return Some(mask);
        }
        transition_is_over();
        signals::set_mask(mask);
    }
    None
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
pub(crate) fn let_the_first_one_end() {
    let Some(k) = keep::if_on().filter(|k| is_ours(k)) else { return };
    let (own, until) = (caller(), time::now_ns() + PATIENCE_NS);
    while is_another(k.end.who.load(Acquire), own) && waits(until) {}
}

/// Has the calling thread an end with this status to record, which it has not yet?
pub(crate) fn is_to_record(status: i32) -> bool {
    let recorded = |k: &Keep| recorded_by(k, syscall::gettid()) == Some(status & 0xff);
    keep::if_on().is_some_and(|k| is_ours(k) && !recorded(k))
}

/// Has it recorded another one, in what `exit` calls?
pub(crate) fn ends_otherwise(status: i32) -> bool {
    is_to_record(status) && keep::if_on().is_some_and(|k| recorded_by(k, syscall::gettid()).is_some())
}

/// The calling thread.
fn caller() -> u64 {
    host(syscall::gettid())
}

/// A host since the last rollback: who ended the process before does not any more.
fn host(id: u32) -> u64 {
    u64::from(rollback_request::epoch()) << 32 | u64::from(id)
}

/// Where it cannot be written (a full disk) the mark is what there is.
fn record(k: &Keep, status: i32) {
    let folder = &k.journal.folder;
    let write = || {
        let dir = folder.open();
        k.end.record.write(dir.as_ref().map_or(-1, AsRawFd::as_raw_fd), status)
    };
    if folder.name().is_some() && k.end.record.is_wanted() && !promp_files::within_limit(write) {
        say!("how the program has ended cannot be noted beside its checkpoints; --resume will say so");
    }
    ended().store((requests::handled(k) << 40) | (1 + status as u64), Release);
}

/// What is called instead of libc's functions.
pub(crate) use calls::instead;

#[allow(non_snake_case)]
mod calls {
    use super::*;

    calls_instead! {
        fn _exit(status: c_int) -> c_int = |real| { mark(status); real() };
        fn _Exit(status: c_int) -> c_int = |real| { mark(status); real() };
        fn quick_exit(status: c_int) -> c_int = |real| { QUICK.store(status, Relaxed); real() };
    }
}

#[cfg(test)]
mod tests;
