//! Threads that have been set apart from the process: by `unshare` and `setns` a thread gets namespaces, a
//! folder or descriptors of its own, by Landlock fewer rights. The kernel keeps that for the thread alone
//! and takes none of it back, nor a change of the root folder (`chroot`). A new host has it from the one
//! that it replaces. But a process that goes on from a checkpoint would not, and the keeper does not see
//! what such a thread sees. So from then on there are no checkpoints, and no way back to an older one within
//! the process. So it is with what the program has done to something outside that keeps no older state.

use super::resource::{Back, Resource};
use crate::image::Description;
use crate::sys;
use crate::sys::got::calls_instead;
use core::ffi::{c_int, c_long, c_uint};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// What a thread has done: an index of [`WHAT`] and one more.
static DONE: AtomicU32 = AtomicU32::new(0);
const WHAT: [&str; 5] = [
    "the program has set a thread apart (unshare or setns), which cannot be put back",
    "the program has given up rights (Landlock), which cannot be put back",
    "the program uses System V semaphores, whose values cannot be put back",
    "the program has system calls handed to itself (PR_SET_SYSCALL_USER_DISPATCH), which cannot be put back",
    "the program uses protection keys (pkey_alloc), which cannot be put back",
];

/// The program has begun to use System V semaphores.
pub(crate) fn uses_semaphores() {
    DONE.store(3, Relaxed);
}

/// A prctl(2) with these arguments has returned `r`.
pub(crate) fn controls(what: c_int, first: usize, r: c_long) {
    const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;
    if what == PR_SET_SYSCALL_USER_DISPATCH && first != 0 && r == 0 {
        DONE.store(4, Relaxed);
    }
}

/// The program has asked for a protection key, and got `r`.
pub(crate) fn has_key(r: c_long) {
    if r > 0 {
        DONE.store(5, Relaxed);
    }
}

/// The root folder that the process began with: device and number. 0: not known.
static ROOT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

fn root() -> [u64; 2] {
    // SAFETY: zeros are a description; the kernel writes one.
    let mut s: libc::stat = unsafe { core::mem::zeroed() };
    let r = unsafe { sys!(libc::SYS_stat, c"/".as_ptr(), &raw mut s) };
    if r == 0 { [s.st_dev, s.st_ino] } else { [0; 2] }
}

/// The process begins, or goes on as another one.
pub(crate) fn begin() {
    ROOT.iter().zip(root()).for_each(|(w, v)| w.store(v, Relaxed));
}

/// What sets it apart.
#[derive(Default)]
pub(crate) struct Apart;

impl Resource for Apart {
    fn obstacle(&self) -> Option<String> {
        what().map(Into::into)
    }

    fn put_back(&mut self, to: &Back, _: &mut Description) -> Result<(), String> {
        if to.new_process {
            begin();
        }
        Ok(())
    }
}

/// What cannot be put back.
pub(crate) fn what() -> Option<&'static str> {
    if ROOT[1].load(Relaxed) != 0 && ROOT.each_ref().map(|w| w.load(Relaxed)) != root() {
        return Some("the program has another root folder (chroot), which cannot be put back");
    }
    WHAT.get((DONE.load(Relaxed) as usize).wrapping_sub(1)).copied()
}

/// A system call has been made that sets the caller apart; `flags`: its first argument.
pub(crate) fn numbered(number: c_long, flags: usize) {
    match number {
        libc::SYS_unshare if flags == 0 => {}
        libc::SYS_unshare | libc::SYS_setns => DONE.store(1, Relaxed),
        _ => DONE.store(2, Relaxed),
    }
}

calls_instead! {
    fn pkey_alloc(flags: c_uint, rights: c_uint) -> c_int = |real| {
        let r = real();
        has_key(r.into());
        r
    };
    fn unshare(flags: c_int) -> c_int = |real| {
        let r = real();
        if r == 0 {
            numbered(libc::SYS_unshare, flags as usize);
        }
        r
    };
    fn setns(descriptor: c_int, kind: c_int) -> c_int = |real| {
        let r = real();
        if r == 0 {
            numbered(libc::SYS_setns, 0);
        }
        r
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_can_be_put_back() {
        numbered(libc::SYS_unshare, 0);
        assert_eq!(what(), None);
        for (number, which) in [(libc::SYS_setns, 0), (libc::SYS_landlock_restrict_self, 1)] {
            numbered(number, 0);
            assert_eq!(what(), Some(WHAT[which]));
        }
        DONE.store(0, Relaxed);
    }
}
