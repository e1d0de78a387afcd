//! Signals: the stop signal, the crash signals, masks and alternate stacks.

use crate::own::Own;
use crate::pending_signals;
use crate::sys;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The signals that a crash raises.
pub const CRASHES: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];
/// Bytes of the alternate stack a thread gets before it can die.
pub const ALT_STACK_BYTES: usize = 128 * 1024;

/// The signal that stops a host: high in the real-time range, where programs rarely are.
pub fn stop_signal() -> i32 {
    libc::SIGRTMAX() - promp_settings::debugger_signals::STOP
}

/// A three-argument handler.
pub type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs `handler` for `sig` on the alternate stack with every signal blocked, unless the program has a disposition
/// of its own for it and `only_default` is set. True if installed.
pub fn install(sig: i32, handler: Handler, only_default: bool) -> bool {
    // SAFETY: plain sigaction calls with initialised structures.
    unsafe {
        let mut old = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        if libc::sigaction(sig, core::ptr::null(), &mut old) != 0 {
            return false;
        }
        let first = old.sa_sigaction != 0 && old.sa_sigaction == FIRST.get() && sig == libc::SIGSEGV;
        if let Some(behind) = BEHIND.get().filter(|_| first) {
            old = behind;
        }
        if old.sa_sigaction == handler as *const () as usize {
            return true;
        }
        if only_default && old.sa_sigaction != libc::SIG_DFL && !only_reports(old.sa_sigaction) {
            return false;
        }
        if let Some(i) = CRASHES.iter().position(|&c| c == sig) {
            BEFORE[i].set(Some(old));
            OURS[i].store(handler as *const () as u64, Relaxed);
        }
        let mut act = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        act.sa_sigaction = handler as *const () as usize;
        act.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        // All of them: sigfillset leaves out the one that pthread_cancel sends, and a thread would be unwound from within our handler.
        (&raw mut act.sa_mask).write_bytes(0xff, 1);
        if first {
            BEHIND.set(Some(act));
            return true;
        }
        libc::sigaction(sig, &act, core::ptr::null_mut()) == 0
    }
}

/// What the crash signals had before; written before there are workers.
static BEFORE: [Own<Option<libc::sigaction>>; 4] = [const { Own::new(None) }; 4];

/// The handlers for crashes that were installed here.
static OURS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// A handler for SIGSEGV that comes before all others and passes on what is not its own
/// (device/guard.rs); 0: none.
static FIRST: Own<usize> = Own::new(0);

/// What it passes on to: what was installed before it, or since by [`install`].
static BEHIND: Own<Option<libc::sigaction>> = Own::new(None);

/// Puts `handler` before what SIGSEGV has now.
pub fn put_first(handler: Handler) {
    // SAFETY: plain sigaction calls with initialised structures.
    unsafe {
        let mut old = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        libc::sigaction(libc::SIGSEGV, core::ptr::null(), &mut old);
        if old.sa_sigaction == handler as *const () as usize {
            return;
        }
        BEHIND.set(Some(old));
        FIRST.set(handler as *const () as usize);
        let mut act = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        act.sa_sigaction = handler as *const () as usize;
        act.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGSEGV, &act, core::ptr::null_mut());
    }
}

/// See [`BEHIND`].
pub fn behind_first() -> Option<libc::sigaction> {
    BEHIND.get()
}

/// Is `handler` that of `sig` now, or the one that the first one passes on to?
pub fn is_handled(sig: i32, handler: Handler) -> bool {
    leads_to(sig, handler as *const () as u64)
}

/// Are the handlers of these crash signals those that were installed here?
pub fn have_ours(crashes: &[i32]) -> bool {
    let installed = CRASHES.iter().zip(&OURS).map(|(c, o)| (*c, o.load(Relaxed)));
    crashes.iter().all(|s| installed.clone().any(|(c, o)| c == *s && o != 0 && leads_to(c, o)))
}

fn leads_to(sig: i32, wanted: u64) -> bool {
    disposition(sig).is_some_and(|now| {
        let first = sig == libc::SIGSEGV && now[0] != 0 && now[0] == FIRST.get() as u64;
        now[0] == wanted || (first && BEHIND.get().is_some_and(|b| b.sa_sigaction as u64 == wanted))
    })
}

/// Is `handler` one that prints a message and lets the program die? gfortran's programs have such handlers without asking.
fn only_reports(handler: usize) -> bool {
    let maps = crate::maps::all();
    crate::maps::find(&maps, handler)
        .is_some_and(|m| m.path.rsplit('/').next().unwrap_or("").starts_with("libgfortran"))
}

/// Gives the crash signal `sig` the disposition back that it had before.
pub fn give_back(sig: i32) {
    let before = CRASHES.iter().position(|&c| c == sig).and_then(|i| BEFORE[i].get());
    // SAFETY: as above.
    unsafe {
        let act = before.unwrap_or_else(|| {
            let mut act = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            act.sa_sigaction = libc::SIG_DFL;
            act
        });
        libc::sigaction(sig, &act, core::ptr::null_mut());
    }
}

/// For a handler, when [`give_back`] has given its signal's disposition back: sends it again, as it came, to
/// the calling host, which takes it when the handler returns.
///
/// # Safety
/// They are the handler's arguments.
pub unsafe fn send_again(sig: i32, info: *const libc::siginfo_t) {
    let (process, me) = (crate::syscall::getpid(), crate::syscall::gettid());
    // SAFETY: by the caller's promise.
    if unsafe { sys!(libc::SYS_rt_tgsigqueueinfo, process, me, sig, info) } != 0 {
        crate::syscall::tgkill(me, sig);
    }
}

/// Sets the calling host's signal mask (raw: also the signals libc keeps for itself); returns the old one.
pub fn set_mask(mask: u64) -> u64 {
    let mut old = 0u64;
    // SAFETY: the kernel reads and writes 8 bytes.
    unsafe { sys!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, &raw mut old, 8) };
    old
}

/// Blocks those in `set`, too, on the calling host; returns what it blocked before.
pub fn block(set: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: the kernel reads and writes 8 bytes.
    unsafe { sys!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &raw const set, &raw mut before, 8) };
    before
}

/// What is to be called before memory of the program's is used where a fault would not be survived; 0:
/// nothing (device/guard.rs, which keeps the heap shut). Written before it can matter; Relaxed: a function.
static UNGUARD: AtomicUsize = AtomicUsize::new(0);

/// What is to be called, with `true`, before a library's function that may use the program's heap, and with
/// `false` behind it; 0: nothing. Like [`UNGUARD`].
static LEND: AtomicUsize = AtomicUsize::new(0);

/// See [`UNGUARD`] and [`LEND`].
pub fn unguard_with(open: extern "C" fn(), lend: extern "C" fn(bool)) {
    LEND.store(lend as *const () as usize, Relaxed);
    UNGUARD.store(open as *const () as usize, Relaxed);
}

/// Calls `f`, in which a library's function may use the program's heap.
pub fn lent<R>(f: impl FnOnce() -> R) -> R {
    let lend = LEND.load(Relaxed);
    if lend == 0 {
        return f();
    }
    // SAFETY: stored above, a function of this type.
    let lend = unsafe { core::mem::transmute::<usize, extern "C" fn(bool)>(lend) };
    lend(true);
    let r = f();
    lend(false);
    r
}

/// Makes all memory of the program's usable from here on. Async-signal-safe.
pub fn unguard() {
    let f = UNGUARD.load(Relaxed);
    if f != 0 {
        // SAFETY: stored above, a function of this type.
        unsafe { core::mem::transmute::<usize, extern "C" fn()>(f)() };
    }
}

/// Blocks every signal; returns the old mask.
pub fn block_all() -> u64 {
    unguard();
    set_mask(u64::MAX)
}

/// Makes `[stack, stack + len)` the calling host's alternate signal stack.
pub fn set_alt_stack(stack: *mut u8, len: usize) {
    let ss = libc::stack_t { ss_sp: stack.cast(), ss_flags: 0, ss_size: len };
    // SAFETY: the memory stays the host's for its life.
    unsafe { sys!(libc::SYS_sigaltstack, &raw const ss, 0) };
}

/// The calling host's alternate signal stack: where it is, and its length; 0: there is none.
pub fn alt_stack() -> (usize, usize) {
    let mut ss = libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: the kernel fills `ss`.
    unsafe { sys!(libc::SYS_sigaltstack, 0, &raw mut ss) };
    if ss.ss_flags & libc::SS_DISABLE != 0 { (0, 0) } else { (ss.ss_sp as usize, ss.ss_size) }
}

/// Takes the calling host's alternate signal stack away.
pub fn no_alt_stack() {
    let ss = libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: the caller does not run on it.
    unsafe { sys!(libc::SYS_sigaltstack, &raw const ss, 0) };
}

/// Gives the calling thread an alternate stack if the program has not given it one.
pub fn ensure_alt_stack() {
    // SAFETY: the kernel fills `ss`.
    unsafe {
        let mut ss = MaybeUninit::<libc::stack_t>::zeroed().assume_init();
        sys!(libc::SYS_sigaltstack, 0, &raw mut ss);
        if ss.ss_flags & libc::SS_DISABLE != 0
            && let Some(p) = crate::syscall::map_anonymous(ALT_STACK_BYTES)
        {
            set_alt_stack(p, ALT_STACK_BYTES);
        }
    }
}

/// The value that was sent with a signal ([`crate::syscall::tgqueue`], sigqueue(3)); `None` for one that the kernel raised or
/// that came without a value.
///
/// # Safety
/// `info` is the pointer the kernel gave the handler.
pub unsafe fn value_of(info: *const libc::siginfo_t) -> Option<u64> {
    // SAFETY: by the caller's promise.
    unsafe { ((*info).si_code == libc::SI_QUEUE).then(|| (*info).si_value().sival_ptr as u64) }
}

/// What the handler learns of the interrupted code.
#[derive(Clone, Copy, Default)]
pub struct Interrupted {
    /// Program counter.
    pub pc: usize,
    /// Stack pointer.
    pub sp: usize,
    /// Signal mask of the interrupted code.
    pub mask: u64,
}

impl Interrupted {
    /// Reads a handler's third argument.
    ///
    /// # Safety
    /// `ctx` is the pointer the kernel gave the handler.
    pub unsafe fn from_context(ctx: *const libc::c_void) -> Self {
        // SAFETY: by the caller's promise.
        let uc = unsafe { &*ctx.cast::<libc::ucontext_t>() };
        let regs = &uc.uc_mcontext.gregs;
        // SAFETY: the kernel's mask is the first 8 bytes of the set.
        let mask = unsafe { *(&raw const uc.uc_sigmask).cast::<u64>() };
        Self { pc: regs[libc::REG_RIP as usize] as usize, sp: regs[libc::REG_RSP as usize] as usize, mask }
    }
}

/// For a handler: its signal was sent to the process, or to the calling host alone, and is not for that to
/// take now: it blocks it from when the handler returns on. Others may take what was sent to the process.
///
/// # Safety
/// They are the handler's arguments.
pub unsafe fn leave_to_others(signal: i32, info: *const libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: by the caller's promise; the kernel's mask is the first 8 bytes of the set.
    unsafe {
        *(&raw mut (*context.cast::<libc::ucontext_t>()).uc_sigmask).cast::<u64>() |=
            pending_signals::bit(signal);
        let process = crate::syscall::getpid();
        if (*info).si_code == libc::SI_TKILL {
            sys!(libc::SYS_rt_tgsigqueueinfo, process, crate::syscall::gettid(), signal, info);
            return;
        }
        // What kill(2) has sent only kill(2) sends; the sender is then this process.
        if sys!(libc::SYS_rt_sigqueueinfo, process, signal, info) != 0 {
            sys!(libc::SYS_kill, process, signal);
        }
    }
}

/// Makes `signal` one that is ignored; what waits of it is gone.
pub fn ignore(signal: i32) {
    let ignore = [libc::SIG_IGN as u64, 0, 0, 0];
    // SAFETY: what the kernel takes for a disposition.
    unsafe { sys!(libc::SYS_rt_sigaction, signal, ignore.as_ptr(), 0, 8) };
}

/// Does the program have a handler after which system calls are not made again?
pub fn any_interrupts() -> bool {
    any(|_, flags| flags & libc::SA_RESTART as u64 == 0)
}

/// Does the program have handlers, but for errors (gfortran's programs have those without asking)? `ours`: the set of our signals.
pub fn has_handlers(ours: u64) -> bool {
    const ERRORS: [i32; 6] =
        [libc::SIGQUIT, libc::SIGABRT, libc::SIGTRAP, libc::SIGSYS, libc::SIGXCPU, libc::SIGXFSZ];
    // Before those that programs can have there are libc's own.
    let of_libc = 32..libc::SIGRTMIN();
    let others = |s: i32| {
        of_libc.contains(&s)
            || ours & pending_signals::bit(s) != 0
            || CRASHES.contains(&s)
            || ERRORS.contains(&s)
    };
    any(|signal, _| !others(signal))
}

/// A handler of ours that stands for the default actions of these signals (a set): to the program there is
/// none.
static STAND_IN: AtomicU64 = AtomicU64::new(0);
static STOOD_IN_FOR: AtomicU64 = AtomicU64::new(0);

/// `handler` stands for the default action of `signal` from now on: it is no handler of the program's.
/// Relaxed: who has installed it, or who looks while all threads stand, sees it.
pub fn stands_in(handler: Handler, signal: i32) {
    STAND_IN.store(handler as *const () as u64, Relaxed);
    STOOD_IN_FOR.fetch_or(pending_signals::bit(signal), Relaxed);
}

/// Is this a handler, and not one of ours for a default action?
fn is_handler(signal: i32, handler: u64) -> bool {
    let stands_in = || {
        handler == STAND_IN.load(Relaxed) && STOOD_IN_FOR.load(Relaxed) & pending_signals::bit(signal) != 0
    };
    handler > libc::SIG_IGN as u64 && !stands_in()
}

/// The signals for which the program has handlers. Not those of crashes that have ours, nor libc's own.
pub fn handled() -> u64 {
    let ours = |s: i32, h: u64| CRASHES.iter().zip(&OURS).any(|(c, o)| *c == s && o.load(Relaxed) == h);
    let is = |s: &i32| disposition(*s).is_some_and(|[h, ..]| is_handler(*s, h) && !ours(*s, h));
    (1..32).chain(libc::SIGRTMIN()..65).filter(is).fold(0, |set, s| set | pending_signals::bit(s))
}

/// Is there a handler for a signal that `is` says it is, by its flags?
fn any(is: impl Fn(i32, u64) -> bool) -> bool {
    (1..65).any(|signal| {
        disposition(signal)
            .is_some_and(|[handler, flags, ..]| is_handler(signal, handler) && is(signal, flags))
    })
}

/// What the kernel has for `signal`: handler, flags, restorer, mask.
fn disposition(signal: i32) -> Option<[u64; 4]> {
    let mut action = [0u64; 4];
    // SAFETY: the kernel writes 32 bytes.
    let r = unsafe { sys!(libc::SYS_rt_sigaction, signal, 0, action.as_mut_ptr(), 8) };
    (r == 0).then_some(action)
}
