//! Stops: how a failure reaches a host, and what the host does last.
//!
//! `Thread::in_runtime` and `pending` are written and read by the same host (a handler counts as one):
//! program order is enough. A stop in the runtime sets `pending`; the stub's exit clears `in_runtime` first
//! and then looks at `pending`, so a signal between the two finds `in_runtime` clear and acts at once. Either
//! way the stop is not lost.

use super::failure_records::{self, Recovery};
use super::inject::state;
use super::policy::{self, Refusal};
use super::recover::{self, Order, Way};
use super::spec::{Fault, Kind, Loses, Sent};
use super::{ending_signals, inject, library_calls, report, rollback};
use crate::ckpt::{
    self,
    rollback_limits::{self, Cause, NoProgress},
};
use crate::icv::{globals, globals_if_ready};
use crate::say;
use crate::sys::anew;
use crate::sys::attempt;
use crate::sys::host::{self, Identity};
use crate::sys::signals::{self, Interrupted};
use crate::sys::syscall::{exit_group, gettid};
use crate::sys::{futex, reach, sanitizer, timers, tls};
use crate::team::member::tfd;
use crate::team::shrink;
use crate::team::thread::{self, Thread};
use core::sync::atomic::{AtomicU32, Ordering::*};

/// Crashes of one thread at one save point that are taken for faults of the machine; one more is the
/// program's own bug.
const CRASH_TRIES: u32 = 2;

/// Installs the crash handlers, where the program has none of its own or PROMP_CRASHES says that they come
/// first; returns the signals left to the program. Once at the beginning, and once more before the first
/// worker is made: where a library's constructor has used OpenMP, a Fortran program installs its handlers,
/// which only report, after the first time. The stop signal's is installed when it is needed.
pub(crate) fn install(before_the_programs: bool) -> impl Iterator<Item = i32> {
    let theirs = signals::CRASHES.map(|sig| !signals::install(sig, on_crash, !before_the_programs));
    signals::CRASHES.into_iter().zip(theirs).filter(|&(_, theirs)| theirs).map(|(sig, _)| sig)
}

/// Before the first worker is made: installs the crash handlers where that is possible only now. Where
/// failures are to be survived (checkpoints, or faults that crash), says that the program's crashes are its
/// own affair.
pub(crate) fn install_at_last() {
    let p = &globals().promp;
    let left = install(p.takes_crashes).count();
    let crash = |f: &Fault| is_crash(&f.kind) || f.kind.loses() == Loses::Memory;
    if left > 0
        && p.verbose >= 1
        && (ckpt::keep::if_on().is_some() || super::settings::get().faults.iter().any(crash))
    {
        say!(
            "the program has handlers of its own for crashes (SIGSEGV, SIGBUS, SIGFPE or SIGILL), which get them first; \
             PROMP_CRASHES=runtime has crashes in regions survived instead"
        );
    }
}

/// Is it sent as a crash?
pub(crate) fn is_crash(kind: &Kind) -> bool {
    matches!(kind.sent(), Sent::Signal(_))
}

/// Installs the stop signal's handler.
pub fn install_stop_signal() {
    signals::install(signals::stop_signal(), on_signal, false);
}

/// The stop signal: a kill, or a hang (injected, or found by the watchdog).
pub(crate) extern "C" fn on_signal(_sig: i32, info: *mut libc::siginfo_t, ctx: *mut libc::c_void) {
    signals::unguard();
    let Some(thr) = thread::known() else { return };
    // SAFETY: the kernel's argument.
    let Some(kind) = (unsafe { inject::sent(info) }) else { return };
    // SAFETY: the kernel's context.
    let at = unsafe { Interrupted::from_context(ctx) };
    let library = || kind.loses() != Loses::Memory && library_calls::waits(thr, kind, &at);
    let waits = thr.waits_with(kind as u32) || library();
    if !waits && (kind.loses() != Loses::Progress || hangs(thr)) {
        lose(thr, kind, at);
    }
    // Nothing has happened yet: the program's wait must not see it.
    ckpt::seats::wait_goes_on(ctx as usize, Some(&state(thr).due));
}

/// The thread hangs, now or, in serial code, later. See [`hang`].
fn hangs(thr: &'static Thread) -> bool {
    if !thr.is_in_region() {
        state(thr).defer_hang();
        return false;
    }
    hang(thr)
}

/// SIGSEGV, SIGBUS, SIGFPE, SIGILL: of a thread, or in an attempt to read memory that may be gone.
pub(crate) extern "C" fn on_crash(sig: i32, info: *mut libc::siginfo_t, ctx: *mut libc::c_void) {
    // SAFETY: the kernel's arguments.
    let (sent, at) = unsafe { ((*info).si_code <= 0, Interrupted::from_context(ctx)) };
    // SAFETY: as above.
    if !sent && unsafe { attempt::end(ctx) } {
        return;
    }
    // SAFETY: the kernel's argument.
    let injected = if sent { unsafe { inject::sent(info) }.filter(is_crash) } else { None };
    let of_keeper = || ckpt::keep::if_on().is_some_and(|k| k.hosts.is_own(gettid()));
    if sent && injected.is_none() && (of_keeper() || ckpt::lost::are_blocked(at.mask)) {
        // SAFETY: as above.
        return unsafe { signals::leave_to_others(sig, info, ctx) };
    }
    let give_up = || give_up(sig, info, sent);
    let Some(thr) = thread::known() else {
        // A thread of the program's own may read memory that is lost before it is stopped for the rollback.
        return if sent || !ckpt::await_rollback() {
            give_up()
        };
    };
    if !sent && ckpt::rollback_is_due() {
        // On memory that is lost already: part of the same failure, wherever it strikes.
        rollback::roll_back(thr, Kind::Crash);
    }
    if thr.calls_out.load(Relaxed) != 0 || thr.in_runtime.load(Relaxed) != 0 {
        if let Some(kind) = injected {
            thr.waits_with(kind as u32);
        } else {
            if thr.calls_out.load(Relaxed) != 0 && !sent {
                say!("the OMPT tool crashes in a callback (signal {sig} at {:#x})", at.pc);
            }
            give_up();
        }
        return;
    }
    if let Some(kind) = injected {
        lose(thr, kind, at);
    }
    if sent || globals_if_ready().is_none() {
        // kill(2) from outside: the program's own affair.
        return give_up();
    }
    let own = |again: &dyn core::fmt::Display| {
        let (n, whose) = (thr.num(), Whose(rollback_limits::just_restarted_from()));
        say!("thread {n} crashed again {again} (signal {sig} at {:#x}): {whose}", at.pc);
        give_up();
    };
    if inject::count_crash(thr) > CRASH_TRIES {
        return own(&"at the same save point");
    }
    match policy::verdict(thr, &at, Kind::Crash) {
        Ok(()) => lose(thr, Kind::Crash, at),
        Err(_) if ckpt::can_roll_back() => match rollback_limits::may_roll_back(Cause::Crash) {
            Ok(()) => rollback::roll_back(thr, Kind::Crash),
            Err(after) => own(&format_args!("after {after}")),
        },
        Err(_) => give_up(),
    }
}

/// Leaves a crash signal to the program, or to the system. What faults does so again when the handler
/// returns; what was sent does not come again by itself.
fn give_up(sig: i32, info: *mut libc::siginfo_t, sent: bool) {
    signals::give_back(sig);
    // SAFETY: the kernel's arguments of the handler.
    unsafe {
        // Most likely it ends by this, and not as was recorded.
        ending_signals::ends_by(sig, info);
        if sent {
            signals::send_again(sig, info);
        }
    }
}

/// Whose error a crash is that comes back; after a restart from that checkpoint, before another was whole.
struct Whose(Option<u64>);

impl core::fmt::Display for Whose {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            None => f.write_str("this is the program's own error"),
            Some(n) => write!(
                f,
                "it came after the restart from checkpoint {n}, before another one was whole, so it is the \
                 program's own error or that of a restart in other surroundings (another machine, files or \
                 devices than before); `promp restart --generation` goes on from an older one"
            ),
        }
    }
}

/// An injected hang: no progress, until the watchdog takes the thread for failed. False if a checkpoint was
/// taken meanwhile and the thread is back in it: then the failure that followed is undone with all the rest,
/// and the thread goes on.
fn hang(thr: &'static Thread) -> bool {
    let epoch = ckpt::epoch();
    let fence = state(thr).fence();
    // A hung thread can still be stopped for a checkpoint or a rollback.
    let mask = signals::set_mask(!(1u64 << (ckpt::seats::signal() - 1)));
    state(thr).hanging().store(true, Relaxed);
    while ckpt::epoch() == epoch && fence.swap(0, Acquire) == 0 {
        futex::wait(fence, 0);
    }
    state(thr).hanging().store(false, Relaxed);
    signals::set_mask(mask);
    ckpt::epoch() == epoch
}

/// The thread fails in application code, with work in flight. All signals are blocked.
fn lose(thr: &'static Thread, kind: Kind, at: Interrupted) -> ! {
    if kind.loses() == Loses::Memory {
        lose_memory(thr, kind, at.sp);
    }
    match policy::verdict(thr, &at, kind) {
        Ok(()) => {
            sanitizer::forget_frames(at.sp, thr.base.load(Relaxed));
            leave(thr, kind, Way::again(thr), at.mask)
        }
        Err(r) => refuse(thr, kind, r),
    }
}

/// An uncorrectable memory error: a page of the thread's working set, here of its stack, is lost. Only older
/// content helps.
fn lose_memory(thr: &'static Thread, kind: Kind, sp: usize) -> ! {
    if !ckpt::can_roll_back() {
        refuse(thr, kind, Refusal { why: "memory whose content is lost", advice: "Set PROMP_CKPT_DIR." });
    }
    rollback::roll_back_after(thr, kind, || {
        let page = (sp & !4095) as *mut u8;
        let handler: usize;
        // SAFETY: reads the stack pointer; then destroys a page of the failed thread's stack, unless the
        // handler itself runs there.
        unsafe {
            core::arch::asm!("mov {0}, rsp", out(reg) handler, options(nomem, nostack, preserves_flags));
            if handler.abs_diff(page as usize) > 64 * 1024 {
                page.write_bytes(0xdb, 4096);
                crate::sys!(libc::SYS_mprotect, page, 4096, libc::PROT_NONE);
            }
        }
    })
}

/// A stop that waited in a function without a stub: it is sent again, and strikes at once.
#[cold]
pub(crate) fn deliver(thr: &'static Thread) {
    if let Some(kind) = Kind::from_u32(thr.pending.swap(0, Relaxed)) {
        inject::send(thr, kind);
    }
}

/// A stop that waited takes effect at a stub's exit: the new host returns `rax` on the same frame.
extern "C" fn at_exit(thr: &'static Thread, frame: usize, rax: usize) -> ! {
    stop_idle(thr, Way::Return { frame, rax })
}

/// A stop that waited takes effect before an activation's function is called: the new host calls it.
extern "C" fn at_enter(thr: &'static Thread, base: usize) -> ! {
    stop_idle(thr, Way::Enter { base })
}

crate::callback!(promp_stops_at_exit => at_exit);
crate::callback!(promp_stops_at_enter => at_enter);

fn stop_idle(thr: &'static Thread, way: Way) -> ! {
    let mask = signals::block_all();
    let kind = Kind::from_u32(thr.pending.swap(0, Relaxed)).unwrap_or(Kind::Kill);
    if thr.calls_out.load(Relaxed) != 0 {
        // A tool's own call, within another one of the program's, whose end sees to it.
        thr.waits_with(kind as u32);
        // SAFETY: the frame of the call that is returning, or the base of the activation, on this very host.
        unsafe { recover::go_on(thr, way, mask) }
    }
    if kind.loses() == Loses::Progress {
        let failed = if let (0, Way::Return { .. }) = (thr.base.load(Relaxed), way) {
            state(thr).defer_hang();
            false
        } else {
            // Not in the runtime any more, as far as the watchdog can see.
            thr.in_runtime.store(0, Relaxed);
            let failed = hang(thr);
            thr.in_runtime.store(1, Relaxed);
            failed
        };
        if !failed {
            // SAFETY: the frame of the call that is returning, or the base of the activation that is entered,
            // on this very host.
            unsafe { recover::go_on(thr, way, mask) }
        }
    }
    if kind.loses() == Loses::Memory {
        let (Way::Return { frame: sp, .. } | Way::Enter { base: sp }) = way else {
            unreachable!("idle ways only")
        };
        lose_memory(thr, kind, sp);
    }
    leave(thr, kind, way, mask)
}

fn refuse(thr: &'static Thread, kind: Kind, r: Refusal) -> ! {
    let own = state(thr).hangs_by_itself().swap(false, Relaxed) && kind == Kind::Hang;
    if ckpt::can_roll_back() {
        // How often injected failures come is the user's word.
        let may = if own { rollback_limits::may_roll_back(Cause::Hang) } else { Ok(()) };
        match may {
            Ok(()) => rollback::roll_back(thr, kind),
            Err(after) => no_progress(thr, kind, after),
        }
    }
    refuse_for_good(thr, kind, &r)
}

/// The failure has come back after so many rollbacks: the process stops.
pub(crate) fn no_progress(thr: &'static Thread, kind: Kind, after: NoProgress) -> ! {
    let place = policy::place(thr);
    failure_records::open(kind, place, Recovery::Refused);
    failure_records::say_no_progress(kind, &place, after);
    report::write();
    exit_group(70)
}

/// No rung of the ladder helps: the process stops.
pub(crate) fn refuse_for_good(thr: &'static Thread, kind: Kind, r: &Refusal) -> ! {
    let place = policy::place(thr);
    failure_records::open(kind, place, Recovery::Refused);
    let none = ckpt::none_because();
    let advice = none.map(|why| format!("PROMP_CKPT_DIR is set, but there is no checkpoint yet: {why}."));
    failure_records::say_refused(kind, &place, r.why, advice.as_deref().unwrap_or(r.advice));
    report::write();
    exit_group(70)
}

/// Hands the logical thread to a spare host and vanishes.
fn leave(thr: &'static Thread, kind: Kind, way: Way, mask: u64) -> ! {
    thr.in_runtime.store(1, Relaxed);
    if let Some(why) = anew::irreplaceable() {
        refuse(thr, kind, Refusal { why, advice: "Set PROMP_CKPT_DIR." });
    }
    // A freeze that has begun finds it here: as one that is about to stop, with which nothing is saved.
    thr.pending.store(kind as u32, Relaxed);
    ckpt::transition_begins();
    thr.pending.store(0, Relaxed);
    ckpt::note_parked();
    ckpt::credentials::begin(); // the process's first host stays, as one of the runtime's; ids change
    let member = thr.member();
    let lost = matches!(way, Way::Repeat | Way::Reenter);
    let recovery = if lost { Recovery::Recompute } else { Recovery::Resume };
    let failure = failure_records::open(kind, policy::place(thr), recovery);
    member.tfd.store(tfd::FAILED, Release);
    shrink::thread_failed();
    let Some(stack) = host::new_stack() else { cannot_replace(thr, kind) };
    reach::leaves(tls::thread_pointer(), gettid());
    let (signals, timers) = timers::leaves(ckpt::seats::signals());
    let order: &'static Order = Box::leak(Box::new(Order {
        thread: thr,
        way,
        failure,
        identity: Identity::of_caller(mask),
        anew: Some(anew::Anew::of_caller()),
        signals,
        timers,
        fp: crate::sys::fp_control::FpControl::read(),
        stack: stack as usize,
        gone: AtomicU32::new(1),
    }));
    // SAFETY: a fresh stack; `recover::main` keeps to what a spare host may do.
    if unsafe { host::spawn(stack, recover::main, core::ptr::from_ref(order) as usize) }.is_none() {
        cannot_replace(thr, kind);
    }
    host::vanish(&order.gone)
}

/// The last member leaves a construct in which a lost chunk was not executed again. It cannot happen as far
/// as we know; should it, the result would be wrong, so the process ends.
#[cold]
pub(crate) fn orphans_left_behind() -> ! {
    say!(
        "a lost chunk was not executed again before its loop ended; stopping, for the result would be wrong"
    );
    report::write();
    exit_group(70)
}

fn cannot_replace(thr: &'static Thread, kind: Kind) -> ! {
    ckpt::transition_is_over();
    refuse(
        thr,
        kind,
        Refusal {
            why: "a process that cannot get another host (thread)",
            advice: "Raise the limit on threads (ulimit -u) or memory.",
        },
    )
}
