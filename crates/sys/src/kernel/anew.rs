//! What clone(2) makes anew instead of copying it, so that a new host, made by the one that it replaces,
//! would not have it: the signal at its parent's death, scheduling with SCHED_RESET_ON_FORK, and what it has
//! used of the CPU. The rest of that kind cannot be handed over: then the host cannot be replaced.

use crate::cpu_time::{self, Used};
use crate::scheduling::Scheduling;
use crate::sys;
use crate::syscall::gettid;
use crate::timers::{self, Timer, To};

/// The calling host's.
#[derive(Clone, Copy)]
pub struct Anew {
    death_signal: i32,
    scheduling: Option<Scheduling>,
    used: Used,
}

impl Anew {
    /// The caller's.
    pub fn of_caller() -> Self {
        Self {
            death_signal: death_signal(),
            scheduling: Scheduling::of(0),
            used: cpu_time::of_thread(crate::tls::thread_pointer(), gettid()),
        }
    }

    /// The calling host gets it, for the thread with this thread pointer. False if the system does not allow
    /// it.
    pub fn give(&self, thread_pointer: usize) -> bool {
        let (now, tid) = (Scheduling::of(0), gettid());
        let scheduled = self.scheduling.is_none_or(|s| now == Some(s) || s.give(0));
        cpu_time::goes_on(thread_pointer, tid, self.used);
        scheduled && (self.death_signal == 0 || set_death_signal(self.death_signal))
    }
}

/// What a host has that no other one could have.
pub fn irreplaceable() -> Option<&'static str> {
    if has_keyring() {
        return Some("a thread with a keyring of its own (keyctl), which no other host can have");
    }
    if is_timed(gettid()) {
        return Some(
            "a thread with a timer of its CPU time (before Linux 6.15: that sends to it, SIGEV_THREAD_ID)",
        );
    }
    None
}

/// The signal that the caller gets when its parent dies.
pub fn death_signal() -> i32 {
    let mut signal = 0i32;
    // SAFETY: the kernel writes a word.
    unsafe { sys!(libc::SYS_prctl, libc::PR_GET_PDEATHSIG, &raw mut signal) };
    signal
}

fn set_death_signal(signal: i32) -> bool {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, signal) == 0 }
}

/// Has the caller a keyring that is its alone?
pub fn has_keyring() -> bool {
    const GET_KEYRING_ID: usize = 0;
    const OF_THREAD: isize = -1;
    // SAFETY: no pointers; none is made.
    unsafe { sys!(libc::SYS_keyctl, GET_KEYRING_ID, OF_THREAD, 0) >= 0 }
}

/// Has host `tid` a timer that no other host could have? The kernel does not say of which thread a timer by
/// "the thread's CPU time" is (CLOCK_THREAD_CPUTIME_ID, which it shows as the clock of thread 0): of any.
/// With checkpoints the kernel is asked for the thread's clock by its number (ckpt/resources/timers.rs).
fn is_timed(tid: u32) -> bool {
    let of_any = |t: &Timer| cpu_time::thread_of(t.clock) == Some(0);
    // What another host has not taken yet would be taken back.
    let to_another = |t: &Timer| matches!(t.to, To::Host(to) if to != tid);
    let stays = |t: &Timer| of_any(t) || t.is_of(tid) && (!timers::can_be_made_again() || to_another(t));
    timers::all().iter().any(stays)
}

/// The CPU time of a host that has ended, and of which a timer counts it, is not known any more.
pub fn was_timed(host: u32) -> bool {
    let by_cpu = |t: &Timer| cpu_time::thread_of(t.clock).is_some_and(|of| of == host || of == 0);
    timers::all().iter().any(by_cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_given_to_another_host() {
        let (death, used) = std::thread::spawn(|| {
            assert!(set_death_signal(libc::SIGUSR1));
            let a = Anew::of_caller();
            let there = std::thread::spawn(move || {
                assert_eq!(death_signal(), 0);
                let tp = crate::tls::thread_pointer();
                assert!(a.give(tp));
                (death_signal(), cpu_time::of_thread(tp, gettid()).ns >= a.used.ns)
            });
            there.join().expect("the other host")
        })
        .join()
        .expect("the host");
        assert_eq!((death, used), (libc::SIGUSR1, true));
    }
}
