//! Crash signals behind the end record: a program that ends by one has not ended as was recorded.
//!
//! A thread that crashes comes to the handlers of stop.rs. `abort` inside libc, what the program sends itself
//! and signals for which it has handlers of its own come to one that is put in front of what is there when
//! the end is recorded. It takes the record back, puts back what was there, and lets the signal come again.
//!
//! What another process sends is no end of the program's own: it has ended before.

use crate::ckpt;
use crate::sys;
use crate::sys::{signals, syscall};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use libc::siginfo_t;

/// By these a process ends with a core. First those that a thread's own instructions raise.
const ALL: [i32; 10] = [
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGQUIT,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];
const RAISED: usize = 6;

/// What the kernel had for each: handler, flags, restorer, mask.
static BEFORE: [[AtomicU64; 4]; ALL.len()] = [const { [const { AtomicU64::new(0) }; 4] }; ALL.len()];

/// The end of the program is about to be recorded: from now on the record is taken back before the program
/// ends by one of these. System calls only.
pub(crate) fn heed() {
    for (&signal, before) in ALL.iter().zip(&BEFORE) {
        let mut now = [0u64; 4];
        // SAFETY: the kernel writes 32 bytes.
        unsafe { sys!(libc::SYS_rt_sigaction, signal, 0, now.as_mut_ptr(), 8) };
        // `abort` ends the process all the same.
        let ignored = now[0] == libc::SIG_IGN as u64 && signal != libc::SIGABRT;
        if !ignored && now[0] != on_signal as *const () as u64 && !signals::have_ours(&[signal]) {
            before.iter().zip(now).for_each(|(to, word)| to.store(word, Relaxed));
            // SAFETY: zeros are an action, which is filled in; all signals are blocked meanwhile.
            unsafe {
                let mut action: libc::sigaction = core::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
                (&raw mut action.sa_mask).write_bytes(0xff, 1);
                libc::sigaction(signal, &raw const action, core::ptr::null_mut());
            }
        }
    }
}

/// Is a crash signal that came like this the program's own doing? Not what others send, the kernel for a
/// limit, or a terminal.
///
/// # Safety
/// They are a handler's arguments.
pub(crate) unsafe fn is_own(signal: i32, info: *const siginfo_t) -> bool {
    // SAFETY: by the caller's promise; with these codes there is a sender.
    unsafe {
        match (*info).si_code {
            libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL => (*info).si_pid() as u32 == syscall::getpid(),
            raised => raised < 0 || ALL[..RAISED].contains(&signal),
        }
    }
}

extern "C" fn on_signal(signal: i32, info: *mut siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel's arguments.
    if unsafe { is_own(signal, info) } {
        let _ = ckpt::take_end_back();
    }
    let before = ALL.iter().position(|s| *s == signal).map(|i| BEFORE[i].each_ref().map(|w| w.load(Relaxed)));
    let action = before.unwrap_or_default();
    // SAFETY: what the kernel had; the kernel's arguments. Not all that instructions raise comes again by
    // itself (a breakpoint).
    unsafe {
        sys!(libc::SYS_rt_sigaction, signal, action.as_ptr(), 0, 8);
        signals::send_again(signal, info);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a handler is told that another process, the caller, or the kernel has sent.
    fn told(code: i32, sender: u32) -> siginfo_t {
        let mut words = [0u32; 32];
        (words[2], words[4]) = (code as u32, sender);
        // SAFETY: of the same size; any bytes are one.
        unsafe { core::mem::transmute(words) }
    }

    #[test]
    fn whose_doing_it_is() {
        let me = syscall::getpid();
        let own = |signal, code, sender| {
            let info = told(code, sender);
            // SAFETY: a description.
            unsafe { is_own(signal, &raw const info) }
        };
        for signal in ALL {
            for code in [libc::SI_USER, libc::SI_QUEUE, libc::SI_TKILL] {
                assert!(own(signal, code, me) && !own(signal, code, me + 1), "{signal} {code}");
            }
            // A timer of its own; there is no sender.
            assert!(own(signal, libc::SI_TIMER, 0));
        }
        for (signal, is) in [(libc::SIGSEGV, true), (libc::SIGTRAP, true), (libc::SIGQUIT, false)] {
            assert_eq!(own(signal, libc::SI_KERNEL, 0), is, "{signal}");
        }
        assert!(!own(libc::SIGXCPU, libc::SI_KERNEL, 0), "a limit");
    }
}
