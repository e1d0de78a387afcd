//! Calls of library functions. A thread that dies in one may leave a lock held or a structure half changed: the allocator's, a
//! stream's, those of any library that the program uses.
//!
//! A stop from outside waits until the call has returned, as it does for the runtime's own calls, only that nobody tells when
//! this is: the agent sends it again and again. A crash, or a thread that really hangs, cannot wait.

use super::agent;
use super::inject::state;
use super::spec::Kind;
use super::stop::is_crash;
use crate::icv::globals;
use crate::icv::settings::Replay;
use crate::proofs::join;
use crate::proofs::segment_tables as proofs;
use crate::sys::code::{Call, Callee};
use crate::sys::door::Door;
use crate::sys::got;
use crate::sys::maps::{self, Mapping};
use crate::sys::own::Own;
use crate::sys::signals::Interrupted;
use crate::sys::time;
use crate::sys::unwind::{self, Frame};
use crate::team::thread::Thread;
use core::ffi::CStr;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering::*;

/// How often a stop is sent again before it strikes where it is: after at least a tenth of a second.
const TRIES: u32 = 2000;
/// The thread goes on for so many ns between two looks, and for so many times the duration of a look: several stops can wait for
/// the same thread.
const PAUSE_NS: u64 = 20_000;
const PAUSE_LOOKS: u64 = 8;
/// After so many tries twice as long, so often at most. Each ends a wait of a program with handlers (EINTR),
/// and a wait that is made again and again takes that for time that has gone by.
const TRIES_AT_A_PACE: u32 = 256;
const PACES: u32 = 6;

/// A thread's stop that waits.
pub(crate) struct Waiting {
    /// How often it was sent again.
    tries: Own<u32>,
    /// The addresses of the library that it was last found in.
    library: Own<(usize, usize)>,
}

/// Whose code is it?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Code {
    /// The program's, or that of the library with the region's function, unless that [`is_foreign`]; that of
    /// another library with summaries of its functions, where what is proved decides.
    Application,
    /// A function that takes no lock and keeps no state.
    Pure,
    /// This library: with `Thread::in_runtime` clear a stub's last instructions, a query such as omp_get_thread_num, or the caller of the
    /// activation's function.
    Runtime,
    /// Anything else.
    Library,
}

/// What [`Code`] is at which address.
struct Classes<'a> {
    maps: &'a [Mapping],
    func: usize,
    exe: String,
    /// The region's function is a library's call in progress.
    foreign: bool,
    /// Nobody vouches for anything: what may be executed again is what is proved.
    proven: bool,
}

impl<'a> Classes<'a> {
    fn new(maps: &'a [Mapping], thr: &'static Thread) -> Self {
        let exe = std::fs::read_link("/proc/thread-self/exe").ok();
        let exe = exe.map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
        let (func, foreign) = (thr.call.get().0, is_foreign(thr, maps).is_some());
        Self { maps, func, exe, foreign, proven: is_proven(thr) }
    }

    fn of(&self, pc: usize) -> Code {
        let (Some(at), Some(own)) = (maps::find(self.maps, pc), maps::find(self.maps, self.func)) else {
            return Code::Library;
        };
        let or_library = |yes: bool, code: Code| if yes { code } else { Code::Library };
        if at.path == "[vdso]" {
            // Reads the clock.
            return Code::Pure;
        }
        if at.path.is_empty() || at.path.starts_with('[') {
            return or_library(at.start == own.start, Code::Application);
        }
        if at.path == self.exe {
            return Code::Application;
        }
        if at.path == own.path {
            return or_library(!self.foreign, Code::Application);
        }
        let name = at.path.rsplit('/').next().unwrap_or("");
        if ["libm.so", "libm-", "libmvec"].iter().any(|n| name.starts_with(n)) {
            return Code::Pure;
        }
        if name.starts_with("libc.so") || name.starts_with("libc-") {
            return or_library(is_pure_libc_function(pc), Code::Pure);
        }
        let runtime = maps::find(self.maps, Self::new as *const () as usize);
        if runtime.is_some_and(|m| m.path == at.path) {
            return Code::Runtime;
        }
        // Built by promp-cc: there are marks in front of what must not end in the middle.
        let lies_there = |p: usize| maps::find(self.maps, p).is_some_and(|m| m.path == at.path);
        or_library(self.proven && !self.foreign && join::any_at(lies_there), Code::Application)
    }

    /// Entries of the program's tables for functions of `wanted` names, in order: before the first call the
    /// loader has yet to find them.
    fn slots(&self, wanted: &dyn Fn(&[u8]) -> bool) -> Vec<usize> {
        let maps = self.maps;
        let door = Door::open();
        let pick = |name: &CStr| wanted(name.to_bytes()).then_some(());
        let region = maps::find(maps, self.func);
        let own = region.into_iter().chain(maps.iter().filter(|m| m.path == self.exe));
        let objects = own.filter_map(|o| maps.iter().find(|m| m.path == o.path && m.offset == 0));
        let mut slots: Vec<usize> = objects
            .filter_map(|o| got::picked(maps, o, &pick, &|at, to| door.read(at, to)))
            .flatten()
            .map(|(slot, ())| slot)
            .collect();
        slots.sort_unstable();
        slots
    }

    /// See the function of this name.
    fn in_progress(&self, thr: &'static Thread, at: &Interrupted, kind: Kind) -> bool {
        let base = thr.base.load(Relaxed);
        let (mut library, mut application) = (false, false);
        unwind::interrupted(at.pc, &mut |f: Frame| {
            let code = if f.sp < base { self.of(f.pc) } else { Code::Runtime };
            if code == Code::Runtime && f.sp < base && !application {
                // A library may have made this call: one of libc's that is noted (ckpt/journal).
                return ControlFlow::Continue(());
            }
            library |= code == Code::Library;
            application |= matches!(code, Code::Application | Code::Runtime);
            if library || code == Code::Runtime || (application && is_crash(&kind)) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        // Where the tables say nothing of the functions around a library's, they say nothing of what called it.
        library || (!application && !matches!(self.of(at.pc), Code::Application | Code::Runtime))
    }
}

/// Is what may be executed again what is proved, since nobody vouches for more?
fn is_proven(thr: &'static Thread) -> bool {
    thr.vouched.get() == 0 && globals().promp.replay == Replay::Proven
}

/// Is `thr` in a region of a library that promp-cc has not built, in a program that it has? Nothing is proved
/// of that region, and its threads may well wait for each other in ways of their own: for the program it is
/// one call of a library. The library.
pub(crate) fn is_foreign<'a>(thr: &'static Thread, maps: &'a [Mapping]) -> Option<&'a Mapping> {
    if !is_proven(thr) || !proofs::any() {
        return None;
    }
    let own = maps::find(maps, thr.call.get().0).filter(|m| !m.path.is_empty())?;
    let exe = std::fs::read_link("/proc/thread-self/exe").ok()?;
    let of = |at: usize| maps::find(maps, at).is_some_and(|m| m.path == own.path);
    (*own.path != *exe.to_string_lossy() && !proofs::any_at(of)).then_some(own)
}

/// Functions of libc's that take no lock and keep no state: those that move or compare memory, sleep, or ask
/// for the time or the like.
const PURE: [&CStr; 34] = [
    c"memcpy",
    c"memmove",
    c"memset",
    c"memcmp",
    c"memchr",
    c"strlen",
    c"strcmp",
    c"strncmp",
    c"strcpy",
    c"bcmp",
    c"clock_nanosleep",
    c"nanosleep",
    c"usleep",
    c"sleep",
    c"sched_yield",
    c"poll",
    c"select",
    c"clock_gettime",
    c"gettimeofday",
    c"time",
    c"abs",
    c"rand_r",
    // Only a system call.
    c"syscall",
    c"_exit",
    c"getpid",
    c"getppid",
    c"getpgid",
    c"getpgrp",
    c"getsid",
    c"gettid",
    c"getuid",
    c"geteuid",
    c"sched_getcpu",
    c"getcpu",
];

/// Is `pc` in one of [`PURE`]?
fn is_pure_libc_function(pc: usize) -> bool {
    is_named(pc, &PURE)
}

/// Functions that nothing comes back from: who calls one ends the process.
const NEVER_RETURN: [&CStr; 3] = [c"__stack_chk_fail", c"abort", c"__assert_fail"];

/// Functions that take a lock of which nobody notes who holds it.
pub(crate) const UNOWNED: [&CStr; 10] = [
    c"pthread_spin_lock",
    c"pthread_spin_trylock",
    c"sem_wait",
    c"sem_trywait",
    c"sem_timedwait",
    c"sem_clockwait",
    c"pthread_rwlock_rdlock",
    c"pthread_rwlock_tryrdlock",
    c"pthread_rwlock_timedrdlock",
    c"pthread_rwlock_clockrdlock",
];

/// What begins with the first use of a static variable, in the function that has it.
pub(crate) const GUARD: [&CStr; 1] = [c"__cxa_guard_acquire"];

/// Is `pc` in one of these functions?
fn is_named(pc: usize, names: &[&CStr]) -> bool {
    let here = unwind::function_around(pc);
    here != 0
        && names.iter().any(|n| {
            // SAFETY: resolves a libc symbol (the variant chosen for this CPU).
            let f = unsafe { libc::dlsym(libc::RTLD_NEXT, n.as_ptr()) } as usize;
            f != 0 && unwind::function_around(f) == here
        })
}

/// Is a library's function in progress in `thr`'s activation, interrupted at `at`, that must not end here? It is not enough to look at
/// the innermost function: `realloc` copies with `memcpy` while it holds a lock, `qsort` calls the program back.
///
/// A crash can have destroyed the stack: what lies outside the innermost function of the application is not looked at then.
pub(crate) fn in_progress(thr: &'static Thread, maps: &[Mapping], at: &Interrupted, kind: Kind) -> bool {
    Classes::new(maps, thr).in_progress(thr, at, kind)
}

/// What a function is that `thr`'s work calls: the program's own, one that can be repeated wherever it ended,
/// or one that cannot.
pub(crate) fn callees<'a>(thr: &'static Thread, maps: &'a [Mapping]) -> impl Fn(Call) -> Callee + 'a {
    let classes = Classes::new(maps, thr);
    // Functions that are harmless whatever they are now. The runtime's own may be no save point, and so what
    // is behind them counts, too.
    let slots = classes.slots(&|name: &[u8]| {
        let known = PURE.iter().chain(&NEVER_RETURN).any(|n| n.to_bytes() == name);
        known || name.starts_with(b"GOMP_") || name.starts_with(b"omp_")
    });
    move |call| match classes.of(call.at) {
        _ if slots.binary_search(&call.slot).is_ok() => Callee::Harmless,
        Code::Application => Callee::Walk,
        Code::Pure => Callee::Harmless,
        // By another name: libc's, which lead here (sys/glibc/mutexes.rs, say).
        Code::Runtime => Callee::Unknown,
        Code::Library if is_named(call.at, &NEVER_RETURN) => Callee::Harmless,
        Code::Library => Callee::Unknown,
    }
}

/// For `sys::code::may_call`: a function called one of `names` is unknown; `inside`: those of
/// the program's own are looked at.
pub(crate) fn named<'a>(
    thr: &'static Thread,
    maps: &'a [Mapping],
    names: &'static [&'static CStr],
    inside: bool,
) -> impl Fn(Call) -> Callee + 'a {
    let classes = Classes::new(maps, thr);
    let slots = classes.slots(&|name: &[u8]| names.iter().any(|n| n.to_bytes() == name));
    move |call| match classes.of(call.at) {
        _ if slots.binary_search(&call.slot).is_ok() => Callee::Unknown,
        Code::Application if inside => Callee::Walk,
        Code::Library | Code::Runtime if is_named(call.at, names) => Callee::Unknown,
        _ => Callee::Harmless,
    }
}

/// May a stop of `thr` in the middle of application code wait, because a library's function is in progress? Then it is sent again.
pub(crate) fn waits(thr: &'static Thread, kind: Kind, at: &Interrupted) -> bool {
    let began = time::now_ns();
    let w = &state(thr).library;
    let real_hang = kind == Kind::Hang && state(thr).fence().load(Relaxed) != 0;
    let may = thr.is_in_region() && agent::runs() && !real_hang && w.tries.get() < TRIES;
    if !may || !(w.is_still_in(at.pc) || w.looks(thr, kind, at)) {
        w.tries.set(0);
        w.library.set((0, 0));
        return false;
    }
    w.tries.set(w.tries.get() + 1);
    let slower = (w.tries.get() / TRIES_AT_A_PACE).min(PACES);
    let pause = (PAUSE_NS << slower) + PAUSE_LOOKS * (time::now_ns() - began);
    agent::arm(thr, usize::MAX, kind, pause, false);
    true
}

impl Waiting {
    /// The quick answer, which needs no list of mappings.
    fn is_still_in(&self, pc: usize) -> bool {
        let (start, end) = self.library.get();
        start <= pc && pc < end
    }

    fn looks(&self, thr: &'static Thread, kind: Kind, at: &Interrupted) -> bool {
        let maps = maps::all();
        let classes = Classes::new(&maps, thr);
        let yes = classes.in_progress(thr, at, kind);
        if yes
            && classes.of(at.pc) == Code::Library
            && let Some(m) = maps::find(&maps, at.pc)
        {
            self.library.set((m.start, m.end));
        }
        yes
    }
}
