//! Threads that block all signals, as helpers of libraries do which leave them to the program's other threads (GLib, ZeroMQ, libuv), must be found by a freeze all the
//! same. So our signals stay out of the sets that the program blocks, or waits for: its calls lead here
//! (sys/glibc/got.rs).
//!
//! Sets that libc passes to the kernel by itself are as they were: while it makes a thread, in its own helpers (`timer_create` with SIGEV_THREAD, asynchronous
//! input and output), and those of handlers (`sa_mask`). A thread that blocks the freeze signal there is waited for, or there is no checkpoint.
//!
//! It begins when the library is loaded: such helpers may be there before the first region, with which checkpoints begin.

use crate::attributes::memory_advice;
use crate::journal::file_calls;
use crate::sys::door::Door;
use crate::sys::got::{self, Instead, calls_instead};
use crate::sys::lock::Locked;
use crate::sys::{maps, signals};
use crate::{exec, lost, seats, suspend, system_v};
use core::ffi::{c_int, c_void};
use libc::{epoll_event, sigset_t, timespec};

/// A set without our signals, and whether there is one.
pub(crate) struct Filtered(sigset_t, bool);

impl Filtered {
    /// Of what a caller passes to libc.
    ///
    /// # Safety
    /// Null or a set.
    pub(crate) unsafe fn of(set: *const sigset_t) -> Self {
        // SAFETY: by the caller's promise; zeros are a set, too, and the kernel's part of one is its first word.
        unsafe {
            let mut own = if set.is_null() { core::mem::zeroed() } else { *set };
            *(&raw mut own).cast::<u64>() &= !seats::signals();
            Self(own, !set.is_null())
        }
    }

    /// Of what the calling thread is to block, or not to block any more, as `how` says.
    ///
    /// # Safety
    /// Null or a set.
    unsafe fn mask(how: c_int, set: *const sigset_t) -> Self {
        // SAFETY: by the caller's promise; the kernel's part of a set is its first word.
        unsafe {
            let mut own = Self::of(set);
            if own.1 {
                exec::asks(how, *set.cast::<u64>());
                let word = (&raw mut own.0).cast::<u64>();
                *word = lost::left_open(how, *word);
            }
            own
        }
    }

    /// What to pass on.
    pub(crate) fn set(&self) -> *const sigset_t {
        if self.1 { &raw const self.0 } else { core::ptr::null() }
    }
}

/// Null, or a set.
pub(crate) type Set = *const sigset_t;

type Events = *mut epoll_event;
type Time = *const timespec;

/// Calls with a set: in brackets what it becomes; behind `tells` where the calling thread's mask is told.
macro_rules! calls_with_sets {
    ($(fn $name:ident[$set:ident = $of:expr]($($arg:ident: $t:ty),*) $(tells $old:ident)?;)*) => {
        calls_instead! {
            $(fn $name($($arg: $t),*) -> c_int { let own = $of; let $set = own.set(); } = |real| {
                let r = real();
                $(if r == 0 {
                    if !$set.is_null() {
                        exec::has_asked();
                    }
                    // SAFETY: libc's function has written it.
                    unsafe { lost::tell($old) }
                })?
                r
            };)*
        }
    };
}

calls_with_sets! {
    fn pthread_sigmask[set = Filtered::mask(how, set)](how: c_int, set: Set, old: *mut sigset_t) tells old;
    fn sigprocmask[set = Filtered::mask(how, set)](how: c_int, set: Set, old: *mut sigset_t) tells old;
    fn pthread_attr_setsigmask_np[set = Filtered::of(set)](attributes: *mut c_void, set: Set);
    fn sigwait[set = Filtered::of(set)](set: Set, signal: *mut c_int);
    fn sigwaitinfo[set = Filtered::of(set)](set: Set, info: *mut c_void);
    fn sigtimedwait[set = Filtered::of(set)](set: Set, info: *mut c_void, limit: Time);
    fn epoll_pwait[set = Filtered::of(set)](fd: c_int, to: Events, most: c_int, limit: c_int, set: Set);
    fn epoll_pwait2[set = Filtered::of(set)](fd: c_int, to: Events, most: c_int, limit: Time, set: Set);
}

/// Objects whose calls lead here: where they begin, and their inodes.
static SEEN: Locked<Vec<(usize, u64)>> = Locked::new(Vec::new());

/// The process begins, which will have checkpoints. It may have been started with all signals blocked.
pub(crate) fn begin() {
    let before = signals::block_all();
    signals::set_mask(before & !seats::signals());
    exec::began(before);
    all().iter().for_each(Instead::learn);
    look();
}

/// Makes the calls of objects lead here that have been loaded since. Once there are checkpoints they see to it.
pub(crate) fn look() {
    let (maps, door, list) = (maps::all(), Door::open(), all());
    for object in got::objects(&maps) {
        let new = SEEN.with(|seen| {
            let it = (object.start, object.inode);
            let new = !seen.contains(&it);
            seen.extend(new.then_some(it));
            new
        });
        if new {
            got::lead(&maps, object, &list, &door);
        }
    }
}

fn all() -> Vec<Instead> {
    [
        instead(),
        suspend::instead(),
        exec::calls(),
        system_v::instead(),
        memory_advice::instead(),
        vec![file_calls::of_dlopen()],
    ]
    .concat()
}
