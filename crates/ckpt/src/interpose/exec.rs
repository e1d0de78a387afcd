//! Programs that are executed inherit the mask of the thread that executes them, and that one is not quite
//! the program's: our signals stay out of it (masks.rs), and a mark stands for SIGSEGV and SIGBUS (lost.rs).
//! So the calls that execute a program lead here, which has the thread block for their duration what the
//! program has asked for.
//!
//! Which of *our* signals it wants to be blocked each thread notes, with the mask that it got then. A mask
//! that has come about otherwise, in a thread just made or by a handler's return, is not noted: then ours
//! count as blocked where all others are, for that is how a set is made that has them.
//!
//! `system` waits for the end of what it executes: for so long a thread cannot block what stops it. So where
//! it matters its shell is started here. Not seen: system calls made without libc. A limit on CPU time is
//! inherited, too, and in a restarted process it is lower than the program's (sys/kernel/cpu_limit.rs).

use crate::sys;
use crate::sys::cfi::{grow, shrink};
use crate::sys::got::{Instead, calls_instead};
use crate::sys::lock::Locked;
use crate::sys::{cpu_limit, pending_signals, signals, syscall, tls};
use crate::transition::{transition_begins, transition_is_over};
use crate::{ends, keep, lost, seats};
use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU64, AtomicUsize};
use smallvec::SmallVec;

/// In the first word of a note: there is one. (The bit of SIGHUP, which is not ours.)
const NOTED: u64 = 1;

/// The mask that the process began with, without our signals, and which of these it had. Written before
/// there are other threads.
static BEGAN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The process has begun with this mask, out of which ours have been taken.
pub(crate) fn began(mask: u64) {
    BEGAN[0].store(mask & !seats::signals(), Relaxed);
    BEGAN[1].store(mask & seats::signals(), Relaxed);
}

/// Those of our signals that the calling thread blocks, as far as the program knows; `mask`: what it blocks.
fn of_ours(mask: u64) -> u64 {
    // SAFETY: the calling thread's own words.
    let [noted, with] = unsafe { *tls::mask_note() };
    let ours = seats::signals();
    if noted & NOTED != 0 && with == mask {
        return noted & ours;
    }
    if BEGAN[0].load(Relaxed) == mask && BEGAN[1].load(Relaxed) != 0 {
        return BEGAN[1].load(Relaxed);
    }
    // Those of libc's own cannot be blocked.
    let never = [libc::SIGKILL, libc::SIGSTOP].into_iter().chain(32..libc::SIGRTMIN());
    let never = never.fold(0, |set, s| set | pending_signals::bit(s));
    if lost::in_earnest(mask) | never | ours == u64::MAX { ours } else { 0 }
}

/// The calling thread is about to ask for a change of its mask by `set`.
pub(crate) fn asks(how: c_int, set: u64) {
    let (ours, before) = (seats::signals(), of_ours(signals::block(0)));
    let then = match how {
        libc::SIG_BLOCK => before | set & ours,
        libc::SIG_UNBLOCK => before & !set,
        libc::SIG_SETMASK => set & ours,
        _ => return,
    };
    // SAFETY: the calling thread's own word.
    unsafe { (*tls::mask_note())[0] = then | NOTED };
}

/// It has been changed.
pub(crate) fn has_asked() {
    // SAFETY: the calling thread's own word.
    unsafe { (*tls::mask_note())[1] = signals::block(0) };
}

/// Executes `f` with the mask that the program has asked for.
fn in_earnest<R>(f: impl FnOnce() -> R) -> R {
    let now = signals::block(0);
    let theirs = lost::in_earnest(now) | of_ours(now);
    if theirs == now {
        return f();
    }
    signals::set_mask(theirs);
    let r = f();
    signals::set_mask(now);
    r
}

/// The calling process becomes another program, for which a freeze signal would be the end: no checkpoint
/// begins, and a recorded end has not come. A child made by `vfork` has the memory of who has checkpoints.
fn executes<R>(f: impl FnOnce() -> R) -> R {
    cpu_limit::executes();
    let Some(k) = keep::if_on().filter(|k| ends::is_ours(k)) else { return in_earnest(f) };
    let mask = signals::block_all();
    transition_begins();
    signals::set_mask(mask);
    let ended = ends::goes_on_as_another(k);
    let r = in_earnest(f);
    if let Some(status) = ended {
        ends::has_recorded(k, syscall::gettid(), status);
    }
    transition_is_over();
    r
}

/// A program is executed in a child.
fn spawns<R>(f: impl FnOnce() -> R) -> R {
    cpu_limit::for_children(|| in_earnest(f))
}

/// What the kernel takes for a disposition.
type Disposition = [u64; 4];
/// While there are shells SIGINT and SIGQUIT are ignored; how many there are, and what was before.
static SHELLS: Locked<(u32, [Disposition; 2])> = Locked::new((0, [[0; 4]; 2]));
const IGNORED: [c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

fn dispose(signal: c_int, new: Option<&Disposition>) -> Disposition {
    let mut before = [0; 4];
    let new = new.map_or(core::ptr::null(), |d| d.as_ptr());
    // SAFETY: the kernel reads and writes four words.
    unsafe { sys!(libc::SYS_rt_sigaction, signal, new, before.as_mut_ptr(), 8) };
    before
}

/// In a child after fork the shells are the parent's; it has the dispositions of then, as libc leaves them.
pub(crate) fn after_fork() {
    SHELLS.raw().reset();
    SHELLS.with(|s| s.0 = 0);
}

/// What libc's `system` does, where the shell would inherit what is ours. It cannot be cancelled.
fn shell(command: Path) -> c_int {
    let now = signals::block(pending_signals::bit(libc::SIGCHLD));
    let theirs = lost::in_earnest(now) | of_ours(now);
    let before = SHELLS.with(|s| {
        s.0 += 1;
        if s.0 == 1 {
            s.1 = IGNORED.map(|signal| dispose(signal, Some(&[libc::SIG_IGN as u64, 0, 0, 0])));
        }
        s.1
    });
    let (mut pid, mut status) = (0, 127 << 8);
    // SAFETY: attributes that are initialised, set and destroyed; C strings, and the environment.
    let made = unsafe {
        let mut how: libc::posix_spawnattr_t = core::mem::zeroed();
        libc::posix_spawnattr_init(&raw mut how);
        let (mut by_default, mut mask): (libc::sigset_t, libc::sigset_t) = core::mem::zeroed();
        for (signal, _) in IGNORED.iter().zip(&before).filter(|(_, d)| d[0] != libc::SIG_IGN as u64) {
            libc::sigaddset(&raw mut by_default, *signal);
        }
        (&raw mut mask).cast::<u64>().write(theirs);
        libc::posix_spawnattr_setsigdefault(&raw mut how, &raw const by_default);
        libc::posix_spawnattr_setsigmask(&raw mut how, &raw const mask);
        let flags = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;
        libc::posix_spawnattr_setflags(&raw mut how, flags as i16);
        let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), command, core::ptr::null()].map(|p| p.cast_mut());
        let made = cpu_limit::for_children(|| {
            let (pid, list) = (&raw mut pid, arguments.as_ptr());
            libc::posix_spawn(pid, c"/bin/sh".as_ptr(), core::ptr::null(), &raw const how, list, environ)
        });
        libc::posix_spawnattr_destroy(&raw mut how);
        made
    };
    if made == 0 {
        // SAFETY: the kernel writes a status.
        let wait = |at: &mut c_int| unsafe { sys!(libc::SYS_wait4, pid, core::ptr::from_mut(at), 0, 0) };
        let mut r = wait(&mut status);
        while r == -(libc::EINTR as isize) {
            r = wait(&mut status);
        }
        if r < 0 {
            status = -1;
            // SAFETY: the calling thread's.
            unsafe { *libc::__errno_location() = -r as c_int };
        }
    }
    SHELLS.with(|s| {
        s.0 -= 1;
        if s.0 == 0 {
            IGNORED.iter().zip(&s.1).for_each(|(signal, d)| _ = dispose(*signal, Some(d)));
        }
    });
    signals::set_mask(now);
    status
}

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// Would a shell inherit something else than the program's?
fn differs(command: Path) -> bool {
    let now = signals::block(0);
    !command.is_null() && (cpu_limit::is_lower() || lost::in_earnest(now) | of_ours(now) != now)
}

/// What a thread begins with.
type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What a new thread begins with, and its creator's note.
struct Inherits {
    start: Start,
    argument: *mut c_void,
    note: [u64; 2],
}

/// For a thread that the calling one makes; null if there is nothing to be noted.
fn inherits(start: Start, argument: *mut c_void) -> *mut Inherits {
    let mask = signals::block(0);
    // SAFETY: the calling thread's own word.
    let nothing = unsafe { (*tls::mask_note())[0] } == 0;
    let note = [of_ours(mask) | NOTED, mask];
    if nothing { core::ptr::null_mut() } else { Box::into_raw(Box::new(Inherits { start, argument, note })) }
}

unsafe extern "C" fn begins(inherits: *mut c_void) -> *mut c_void {
    // SAFETY: what `inherits` has made, for this thread alone; its own words.
    let Inherits { start, argument, note } = *unsafe { Box::from_raw(inherits.cast::<Inherits>()) };
    unsafe {
        // Unless it begins with a mask of its own (pthread_attr_setsigmask_np).
        if signals::block(0) == note[1] {
            *tls::mask_note() = note;
        }
        start(argument)
    }
}

type Path = *const c_char;
type List = *const Path;
type Actions = *const libc::posix_spawn_file_actions_t;
type Attributes = *const libc::posix_spawnattr_t;

calls_instead! {
    fn execve(path: Path, arguments: List, environment: List) -> c_int = |real| executes(real);
    fn execv(path: Path, arguments: List) -> c_int = |real| executes(real);
    fn execvp(file: Path, arguments: List) -> c_int = |real| executes(real);
    fn execvpe(file: Path, arguments: List, environment: List) -> c_int = |real| executes(real);
    fn fexecve(fd: c_int, arguments: List, environment: List) -> c_int = |real| executes(real);
    fn execveat(at: c_int, path: Path, arguments: List, environment: List, flags: c_int) -> c_int =
        |real| executes(real);
    fn posix_spawn(pid: *mut c_int, path: Path, actions: Actions, attributes: Attributes, arguments: List,
        environment: List) -> c_int = |real| spawns(real);
    fn posix_spawnp(pid: *mut c_int, file: Path, actions: Actions, attributes: Attributes, arguments: List,
        environment: List) -> c_int = |real| spawns(real);
    fn pthread_create(id: *mut libc::pthread_t, how: *const libc::pthread_attr_t, start: Start,
        argument: *mut c_void) -> c_int {
            let inherits = inherits(start, argument);
            let start = if inherits.is_null() { start } else { begins };
            let argument = if inherits.is_null() { argument } else { inherits.cast() };
        } = |real| {
            let r = real();
            if r != 0 && !inherits.is_null() {
                // SAFETY: nobody has got it.
                drop(unsafe { Box::from_raw(inherits) });
            }
            r
        };
    fn popen(command: Path, mode: Path) -> *mut c_void = |real| spawns(real);
    fn system(command: Path) -> c_int = |real| if differs(command) { shell(command) } else { real() };
}

/// A function of a list of arguments: its registers, and behind them what lies on the stack, are those of
/// `body`.
macro_rules! of_lists {
    ($(fn $name:ident = $body:ident;)*) => {$(
        #[unsafe(naked)]
        unsafe extern "C" fn $name() -> c_int {
            naked_asm!(
                ".cfi_startproc",
                grow!(56),
                "mov qword ptr [rsp], rdi",
                "mov qword ptr [rsp + 8], rsi",
                "mov qword ptr [rsp + 16], rdx",
                "mov qword ptr [rsp + 24], rcx",
                "mov qword ptr [rsp + 32], r8",
                "mov qword ptr [rsp + 40], r9",
                "mov rdi, rsp",
                "lea rsi, [rsp + 64]",
                "call {body}",
                shrink!(56),
                "ret",
                ".cfi_endproc",
                body = sym $body,
            )
        }
    )*};
}

of_lists! {
    fn execl = of_execl;
    fn execlp = of_execlp;
    fn execle = of_execle;
}

/// The arguments of a call: those in registers, and the others.
struct Listed(*const Path, *const Path);

impl Listed {
    /// The argument with this number.
    ///
    /// # Safety
    /// There is one.
    unsafe fn get(&self, i: usize) -> Path {
        // SAFETY: by the caller's promise.
        unsafe { if i < 6 { *self.0.add(i) } else { *self.1.add(i - 6) } }
    }

    /// Those behind the first one, with the null at their end.
    ///
    /// # Safety
    /// There is a null.
    unsafe fn list(&self) -> SmallVec<[Path; 256]> {
        let mut all: SmallVec<[Path; 256]> = SmallVec::new();
        loop {
            // SAFETY: by the caller's promise.
            all.push(unsafe { self.get(all.len() + 1) });
            if all.last().is_some_and(|p| p.is_null()) {
                return all;
            }
        }
    }
}

unsafe extern "C" fn of_execl(registers: *const Path, stack: *const Path) -> c_int {
    let a = Listed(registers, stack);
    // SAFETY: the caller's arguments.
    unsafe { caught::execv(a.get(0), a.list().as_ptr()) }
}

unsafe extern "C" fn of_execlp(registers: *const Path, stack: *const Path) -> c_int {
    let a = Listed(registers, stack);
    // SAFETY: the caller's arguments.
    unsafe { caught::execvp(a.get(0), a.list().as_ptr()) }
}

unsafe extern "C" fn of_execle(registers: *const Path, stack: *const Path) -> c_int {
    let a = Listed(registers, stack);
    // SAFETY: the caller's arguments; behind the null there is the environment.
    unsafe {
        let list = a.list();
        caught::execve(a.get(0), list.as_ptr(), a.get(list.len() + 1).cast())
    }
}

/// Libc's functions of lists, which nobody calls here.
static REAL: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// All calls that execute a program.
pub(crate) fn calls() -> Vec<Instead> {
    let lists: [(&'static CStr, unsafe extern "C" fn() -> c_int); 3] =
        [(c"execl", execl), (c"execlp", execlp), (c"execle", execle)];
    let one = |(i, (name, f)): (usize, (&'static CStr, unsafe extern "C" fn() -> c_int))| Instead {
        name,
        version: None,
        real: &REAL[i],
        address: f as usize,
    };
    [instead(), lists.into_iter().enumerate().map(one).collect()].concat()
}
