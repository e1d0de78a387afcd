//! Signals behind the end record: a program that ends by one has not ended as was recorded.
//!
//! A thread that crashes comes to the handlers of stop.rs. `abort` inside libc, what the program sends
//! itself, its timers, a write to a pipe that nobody reads, and crash signals for which it has handlers of
//! its own come to one that is put in front of what is there when the end is recorded. It takes the record
//! back, puts back what was there, and lets the signal come again.
//!
//! What another process sends is no end of the program's own: it has ended before, which is noted. All other
//! ways (a handler of the program's that lets SIGTERM come again, what the kernel ends without asking a
//! handler) `promp` sees, which waits for the process (cli/src/restart/left_record.rs).

use crate::ckpt;
use crate::sys;
use crate::sys::{signals, syscall};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use libc::siginfo_t;

/// By these a process ends with a core.
const CORES: [i32; 10] = [
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

/// By these, and by real-time signals, it ends without one.
const OTHERS: [i32; 12] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGSTKFLT,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
];

/// The kernel sends these for a terminal, or a limit.
const FOR_OTHERS: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGXCPU];

/// What the kernel had for each: handler, flags, restorer, mask.
static BEFORE: [[AtomicU64; 4]; 65] = [const { [const { AtomicU64::new(0) }; 4] }; 65];

/// The end of the program is about to be recorded: from now on the record is taken back before the program
/// ends by a signal. System calls only.
pub(crate) fn heed() {
    let others = OTHERS.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX());
    for signal in CORES.into_iter().chain(others) {
        let mut now = [0u64; 4];
        // SAFETY: the kernel writes 32 bytes.
        unsafe { sys!(libc::SYS_rt_sigaction, signal, 0, now.as_mut_ptr(), 8) };
        // A handler mostly is in front of the end where there is a core, and the program's everyday business
        // where there is none. `abort` ends the process even where it is ignored.
        let ends = match now[0] as usize {
            libc::SIG_DFL => true,
            libc::SIG_IGN => signal == libc::SIGABRT,
            handler => CORES.contains(&signal) && handler != on_signal as *const () as usize,
        };
        if ends && !signals::have_ours(&[signal]) {
            BEFORE[signal as usize].iter().zip(now).for_each(|(to, word)| to.store(word, Relaxed));
            if now[0] as usize == libc::SIG_DFL {
                signals::stands_in(on_signal, signal);
            }
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

/// The program ends by a signal that came like this: the record is taken back, or it is noted that others
/// have sent it.
///
/// # Safety
/// They are a handler's arguments.
pub(crate) unsafe fn ends_by(signal: i32, info: *const siginfo_t) {
    // SAFETY: by the caller's promise.
    match unsafe { is_own(signal, info) } {
        true => _ = ckpt::take_end_back(),
        false => ckpt::others_end_it(signal),
    }
}

/// Is a signal that came like this the program's own doing?
///
/// # Safety
/// They are a handler's arguments.
unsafe fn is_own(signal: i32, info: *const siginfo_t) -> bool {
    // SAFETY: by the caller's promise; with these codes there is a sender.
    unsafe {
        match (*info).si_code {
            libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL => (*info).si_pid() as u32 == syscall::getpid(),
            libc::SI_KERNEL => !FOR_OTHERS.contains(&signal),
            _ => true,
        }
    }
}

extern "C" fn on_signal(signal: i32, info: *mut siginfo_t, _: *mut libc::c_void) {
    let action = BEFORE[signal as usize].each_ref().map(|word| word.load(Relaxed));
    // SAFETY: the kernel's arguments; what it had. Not all that instructions raise comes again by itself (a
    // breakpoint).
    unsafe {
        ends_by(signal, info);
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
        for signal in CORES.into_iter().chain(OTHERS) {
            for code in [libc::SI_USER, libc::SI_QUEUE, libc::SI_TKILL] {
                assert!(own(signal, code, me) && !own(signal, code, me + 1), "{signal} {code}");
            }
            // A timer of its own; there is no sender.
            assert!(own(signal, libc::SI_TIMER, 0));
        }
        for signal in [libc::SIGSEGV, libc::SIGTRAP, libc::SIGALRM, libc::SIGPROF] {
            assert!(own(signal, libc::SI_KERNEL, 0), "{signal}");
        }
        for signal in FOR_OTHERS {
            assert!(!own(signal, libc::SI_KERNEL, 0), "{signal}");
        }
        assert!(own(libc::SIGIO, 1, 0), "a descriptor of its own");
    }
}
