//! Requests for checkpoints from outside: by signals (PROMP_ON_SIGNAL), and by `promp checkpoint`,
//! through words of the state that the command has mapped, too.
//!
//! A signal's handler notes what is asked for and rings; so does the freeze signal, by which the command
//! makes the process look. The keeper does the rest. If the program is to end, or to stop, its threads
//! are not let go after the copy: nothing happens that a later process would do again.
//!
//! ```text
//! nothing asked --a signal that ends--> ending --checkpoint whole--> exit status 85
//!                                         |----second such signal--> ended at once, as without promp
//!                                         +----no checkpoint within GRACE_NS--> the same
//! ```
//! Batch systems and service managers send a signal to all processes of a job. Then the program gets it from
//! them, and again from its parent, which passes on what it has got itself (`promp` in front of it, a job's
//! script), or from `promp` in front of both. That is one request: what comes from these is counted by
//! itself, and so is what does not, and a second one of either kind counts, or one of the other kind that
//! comes later ([`SAME_NS`]).
//!
//! A program that has a handler of its own for such a signal, or ignores it, gets it as ever: its handler
//! has replaced ours (sigaction), or was there before.

use crate::image::on_signal::{OnSignal, name};
use crate::image::state::{self, Then};
use crate::keep::{self, Keep};
use crate::program_requests::ring;
use crate::say;
use crate::sys;
use crate::sys::{pending_signals, shared_text, signals, syscall, time};
use crate::{ends, image, seats};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// How long it is tried to take a checkpoint after which the program is to end.
pub(crate) const GRACE_NS: u64 = 10_000_000_000;

/// The same request, sent to all processes of a job, comes by all ways within this time.
const SAME_NS: u64 = 2_000_000_000;

/// Ways by which a signal can have come.
const PASSED_ON: u32 = 4;
const FROM_PARENT: u32 = 2;
const FROM_OTHERS: u32 = 1;

/// What signals ask for. In the kept region. Zeroed memory is its initial state.
pub struct Ending {
    /// The signal after which the program ends when a checkpoint is whole; 0: none has come.
    pub signal: AtomicU32,
    /// By which ways such signals have come, and when the first one did.
    ways: AtomicU32,
    since_ns: AtomicU64,
    /// Signals that ask for a checkpoint, and those after which the program ends.
    goes_on: AtomicU64,
    pub(crate) ends: AtomicU64,
}

/// Installs the handler for the signals of the settings for which the program has no disposition of its own.
pub(crate) fn install(on: &OnSignal) {
    for signal in pending_signals::of_set(on.signals()) {
        signals::install(signal, on_signal, true);
    }
    follow(on);
}

/// The signals of the settings mean that. In a process that goes on from a checkpoint the handlers are there
/// already: they are the program's dispositions.
pub(crate) fn follow(on: &OnSignal) {
    keep::get().ending.goes_on.store(on.goes_on, Relaxed);
    keep::get().ending.ends.store(on.ends, Relaxed);
}

/// Signals that are handled here now.
pub(crate) fn handled(k: &Keep) -> u64 {
    let all = k.ending.goes_on.load(Relaxed) | k.ending.ends.load(Relaxed);
    let handled = |s: &i32| signals::is_handled(*s, on_signal);
    pending_signals::of_set(all).filter(handled).map(pending_signals::bit).sum()
}

/// Which way has it come?
fn way(info: *const libc::siginfo_t) -> u32 {
    if info.is_null() {
        return FROM_OTHERS;
    }
    // SAFETY: what the kernel has handed to the handler; with these codes there is a sender, or a value.
    unsafe {
        match (*info).si_code {
            libc::SI_USER if (*info).si_pid() == syscall::getppid() => FROM_PARENT,
            libc::SI_QUEUE if (*info).si_value().sival_ptr.addr() == image::run_record::PASSED_ON => {
                PASSED_ON
            }
            _ => FROM_OTHERS,
        }
    }
}

/// Notes that the program is to end by `signal`. False: that has been asked for before.
fn asks_to_end(k: &Keep, signal: i32, way: u32, now: u64) -> bool {
    // Whoever sees `ending` set sees since when, and by which ways.
    let _ = k.ending.since_ns.compare_exchange(0, now.max(1), AcqRel, Relaxed);
    let seen = k.ending.ways.fetch_or(way, AcqRel);
    if k.ending.signal.compare_exchange(0, signal as u32, AcqRel, Acquire).is_ok() {
        return true;
    }
    seen & way == 0 && now.saturating_sub(k.ending.since_ns.load(Relaxed)) < SAME_NS
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // A child made by fork has no keeper.
    let Some(k) = keep::if_on() else { return by_default(signal) };
    let ends = k.ending.ends.load(Relaxed) & pending_signals::bit(signal) != 0;
    if ends && !asks_to_end(k, signal, way(info), time::now_ns()) {
        ends::others_end_it(signal);
        return by_default(signal);
    }
    k.asking.ask(|| ring(k));
    // The keeper takes such signals, too, when all others are frozen: it has no wait of the program's.
    if !sys::preserved_memory::on_its_stack() {
        seats::wait_goes_on(context as usize, None);
    }
}

/// What the signal does without a handler; it ends the process.
pub(crate) fn by_default(signal: i32) {
    let default = [0u64; 4];
    // SAFETY: what the kernel takes for a disposition. The calling host gets the signal at once.
    unsafe { sys!(libc::SYS_rt_sigaction, signal, default.as_ptr(), 0, 8) };
    let mask = signals::set_mask(0);
    signals::set_mask(mask & !pending_signals::bit(signal));
    syscall::tgkill(syscall::gettid(), signal);
}

/// A request by the command that has not been answered: its number, and what follows.
pub(crate) fn waiting() -> Option<(u64, Then)> {
    let state = crate::state();
    let number = state[state::REQUEST].load(Acquire);
    (number != state[state::ANSWERED].load(Relaxed))
        .then(|| (number, Then::of(state[state::THEN].load(Relaxed))))
}

/// Until when no checkpoint is taken ([`state::ASKED_TO_END`]); 0: somebody outside asks for one.
pub(crate) fn ends_until(k: &Keep) -> u64 {
    let asked = waiting().is_some() || k.ending.signal.load(Acquire) != 0;
    if asked { 0 } else { crate::state()[state::ASKED_TO_END].load(Acquire) }
}

/// For the freeze signal's handler when nobody freezes: somebody outside may have sent it.
pub(crate) fn look(k: &Keep) {
    if waiting().is_some() {
        ring(k);
    }
}

/// Request `number` has led to this generation, or to none for a reason.
pub(crate) fn answer(number: u64, led_to: Result<u64, &str>) {
    let state = crate::state();
    shared_text::put(&state[state::WHY], led_to.err().unwrap_or(""));
    state[state::GENERATION].store(led_to.unwrap_or(0), Relaxed);
    // The command reads the rest when it sees this.
    state[state::ANSWERED].store(number, Release);
}

/// The checkpoint after which the program is to end is whole: it ends.
pub(crate) fn end(generation: u64, signal: u32, verbose: u32) -> ! {
    if verbose >= 1 {
        let by = if signal == 0 { "promp checkpoint".into() } else { name(signal as i32) };
        say!(
            "{by}: checkpoint {generation} is whole; ending with status {}. It goes on with `promp restart` or \
             `promp run --resume`.",
            image::state::EXIT_STATUS
        );
    }
    let _ = ends::take_back_now();
    syscall::exit_group(image::state::EXIT_STATUS)
}

/// There was no checkpoint in time: the signal does what it does without promp.
pub(crate) fn end_without(signal: i32, generation: u64, why: &str) {
    let last = match generation {
        0 => "there is none before".into(),
        n => format!("the last one is checkpoint {n}"),
    };
    say!("{}: no checkpoint could be taken: {why}; {last}. Ending as by the signal.", name(signal));
    ends::others_end_it(signal);
    by_default(signal);
}
