//! What becomes of signals: the program's handlers, and what has been sent to the process and waits.

use super::resource::{Back, Frozen, No, Resource};
use crate::image::{Description, Disposition};
use crate::runtime::runtime;
use crate::seats;
use crate::sys;
use crate::sys::{pending_signals, signals, syscall};

/// Those of the process. What waits for a thread is the thread's.
#[derive(Default)]
pub(crate) struct Dispositions;

impl Resource for Dispositions {
    fn save(&mut self, process: &Frozen, about: &mut Description) -> Result<(), No> {
        about.signals = dispositions();
        about.pending |= waiting(process.blocked);
        Ok(())
    }

    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        // What threads have been sent since, they will be sent again.
        let ours = seats::signals();
        let waiting = to.hosts.iter().fold(0, |set, tid| set | pending_signals::of_host(*tid, ours));
        pending_signals::forget(waiting & !pending_signals::set_of(0, "ShdPnd").unwrap_or(0));
        dispose(&about.signals);
        Ok(())
    }

    fn resume(&mut self, _: bool, about: &Description) -> Result<Vec<String>, String> {
        send(about.pending);
        Ok(Vec::new())
    }
}

/// Signals that have been sent to the process and that everybody blocks, as `blocked` are.
fn waiting(blocked: u64) -> u64 {
    if blocked == 0 { 0 } else { pending_signals::set_of(0, "ShdPnd").unwrap_or(0) & blocked }
}

/// Sends those in `set` that do not wait.
fn send(set: u64) {
    if set != 0 {
        let there = pending_signals::set_of(0, "ShdPnd").unwrap_or(0);
        pending_signals::of_set(set & !there).for_each(|s| {
            // SAFETY: plain call.
            unsafe { sys!(libc::SYS_kill, syscall::getpid(), s) };
        });
    }
}

/// All dispositions that are not the default.
fn dispositions() -> Vec<Disposition> {
    (1..65)
        .filter_map(|signal| {
            let mut action = [0u64; 4];
            // SAFETY: the kernel writes 32 bytes.
            let r = unsafe { sys!(libc::SYS_rt_sigaction, signal, 0, action.as_mut_ptr(), 8) };
            (r == 0 && action != [0; 4]).then_some(Disposition { signal, action })
        })
        .collect()
}

/// Makes the dispositions what they were; but a stop of ours that was sent before a rollback to a time
/// without its handler must not end the process.
fn dispose(saved: &[Disposition]) {
    let stop = signals::stop_signal();
    for signal in 1..65 {
        let then = saved.iter().find(|d| d.signal == signal);
        if signal == stop && then.is_none() && signals::is_handled(stop, runtime().stop_handler()) {
            continue;
        }
        let action = then.map_or([0; 4], |d| d.action);
        // SAFETY: what the kernel gave for this program; handlers are code that is mapped again.
        unsafe { sys!(libc::SYS_rt_sigaction, signal, action.as_ptr(), 0, 8) };
    }
}
