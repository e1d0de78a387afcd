//! One OpenMP runtime to a program. A binary of a newer compiler may ask for functions that this library does
//! not have; where another runtime is loaded beside it, the loader binds these to that one. There each thread
//! of a team would be alone, in a team of one, and the program's results wrong without a word. So whoever
//! asks another runtime for one of its names stops the program before it has done anything.
//!
//! When is looked: before the first constructor of any object of the program, at the first use, and before
//! the first constructor of whatever is loaded later. For the compiler's start-up code of each object,
//! `_init` in crti.o, calls `__gmon_start__` where somebody has it: nobody but the start-up code of profiled
//! programs, and this library. That calls `look`, which asks the loader whether anything has been added since
//! the last time.
//!
//! What counts is the pair of name and version, as for the loader. Names of `GOMP_` and `GOACC_` belong to
//! GCC's runtime, whoever has them. Names that begin with `omp_` or `acc_` can be anybody's; they count if
//! their version is one of GCC's runtime, or if whoever has them has a GCC runtime's names, too. Not so for
//! objects of compilers that call `__kmpc_` functions: they have a runtime of their own, beside this one.
//!
//! Objects in other namespaces (dlmopen) have their own runtime as a whole, and the loader does not show
//! them.

use crate::dynamic::{Dynamic, Wanted};
use crate::syscall;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use libc::{dl_iterate_phdr, dl_phdr_info};

/// The exit status of a program in which two runtimes would have met (docs/environment.md).
pub const TWO_RUNTIMES: i32 = 76;

/// How many objects had been loaded, and how many unloaded, when was last looked; how many were there.
/// Written under the loader's lock, which `dl_iterate_phdr` holds.
static ADDED: AtomicU64 = AtomicU64::new(0);
static REMOVED: AtomicU64 = AtomicU64::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);

/// Names that only GCC's runtime has, or who stands in for it.
const OF_GCC: [&CStr; 2] = [c"GOMP_parallel", c"GOMP_barrier"];
/// One that nobody but a whole runtime has: neither stand-ins of a program's own, nor tools that watch calls.
pub(super) const OF_WHOLE: &CStr = c"GOMP_offload_unregister_ver";

pub(super) const fn wanted(name: &CStr) -> Wanted<'_> {
    Wanted { name, version: None }
}

/// Called by the start-up code of every object; see the module's text.
#[cfg(not(test))]
#[unsafe(no_mangle)]
pub extern "C" fn __gmon_start__() {
    look();
}

/// One look at the objects.
struct Look {
    /// Number of the next object.
    next: usize,
    /// Those before it have been looked at.
    from: usize,
    /// All that is asked for was found.
    complete: bool,
    /// This library, as soon as it is needed.
    own: Option<Dynamic<'static>>,
}

/// Looks at the objects that were loaded since the last time. Does not return if one of them asks another
/// runtime for one of its names.
pub fn look() {
    let mut l = Look { next: 0, from: 0, complete: true, own: None };
    // SAFETY: `visit` gets the look.
    unsafe { dl_iterate_phdr(Some(visit), (&raw mut l).cast()) };
    if !l.complete {
        // Another thread is loading what is asked for: all is looked at again then.
        ADDED.store(0, Relaxed);
    }
}

unsafe extern "C" fn visit(info: *mut dl_phdr_info, _: usize, l: *mut c_void) -> c_int {
    // SAFETY: the loader's description of an object, which its lock keeps; `l` is the look.
    let (info, l) = unsafe { (&*info, &mut *l.cast::<Look>()) };
    if l.next == 0 {
        let removed = REMOVED.load(Relaxed) != info.dlpi_subs;
        let added = ADDED.swap(info.dlpi_adds, Relaxed);
        if added == info.dlpi_adds && !removed {
            return 1;
        }
        REMOVED.store(info.dlpi_subs, Relaxed);
        // New ones come last; after one has gone nobody knows any more which they are.
        l.from = if added == 0 || removed { 0 } else { SEEN.load(Relaxed) };
    }
    if l.next >= l.from {
        // SAFETY: as above.
        unsafe { examine(info, l) };
    }
    l.next += 1;
    SEEN.store(l.next, Relaxed);
    0
}

/// Looks at what an object asks for.
///
/// # Safety
/// The object is `dl_iterate_phdr`'s, which is under way.
unsafe fn examine(info: &dl_phdr_info, l: &mut Look) {
    // SAFETY: the caller's promise.
    let Some(object) = (unsafe { Dynamic::of(info) }) else { return };
    let (mut of_gcc, mut of_others, mut lacks) = (false, false, false);
    object.wanted(is_of_openmp, |w| {
        if is_of_others(w) {
            of_others = true;
        } else {
            of_gcc |= is_gccs(w);
            lacks = lacks || !ourselves(&mut l.own).has(w);
        }
    });
    if !lacks {
        return;
    }
    let own = ourselves(&mut l.own);
    // One that comes before this library answers everybody: nothing is mixed.
    if !first(|d| d.has(wanted(OF_WHOLE))).is_some_and(|(d, _)| d.memory == own.memory) {
        return;
    }
    let complete = &mut l.complete;
    object.wanted(is_of_openmp, |w| {
        if is_of_others(w) || own.has(w) {
            return;
        }
        let Some((other, name)) = first(|d| d.memory != object.memory && d.has(w)) else {
            *complete = false;
            return;
        };
        let of_a_runtime = is_gccs(w)
            || !of_others
                && (of_gcc || !other.has(wanted(c"__kmpc_fork_call")))
                && (is_version_of_gccs(w) || OF_GCC.iter().any(|n| other.has(wanted(n))));
        if of_a_runtime {
            stop(info, w, name);
        }
    });
}

/// Does a name begin like those of OpenMP runtimes?
fn is_of_openmp(beginning: [u8; 4]) -> bool {
    matches!(&beginning, b"GOMP" | b"GOAC" | b"omp_" | b"acc_" | b"__km")
}

fn is_of_others(w: Wanted) -> bool {
    w.name.to_bytes().starts_with(b"__kmpc_")
}

/// Can only GCC's runtime be meant?
fn is_gccs(w: Wanted) -> bool {
    [b"GOMP_".as_slice(), b"GOACC_"].iter().any(|p| w.name.to_bytes().starts_with(p))
}

fn is_version_of_gccs(w: Wanted) -> bool {
    w.version
        .is_some_and(|v| [b"OMP_".as_slice(), b"GOMP_", b"OACC_"].iter().any(|p| v.to_bytes().starts_with(p)))
}

/// This library.
fn ourselves<'l>(own: &'l mut Option<Dynamic<'static>>) -> &'l Dynamic<'static> {
    let here = look as *const () as usize;
    own.get_or_insert_with(|| first(|d| d.memory.contains(&here)).expect("this library is loaded").0)
}

/// An object and its path.
pub(super) type Found = Option<(Dynamic<'static>, &'static CStr)>;

/// The first object, as the loader asks them, for which `is` holds. For those who are called by
/// `dl_iterate_phdr`: its lock keeps the objects.
pub(super) fn first(is: impl Fn(&Dynamic) -> bool) -> Found {
    struct Search<F> {
        is: F,
        found: Found,
    }
    unsafe extern "C" fn visit<F: Fn(&Dynamic) -> bool>(
        info: *mut dl_phdr_info,
        _: usize,
        s: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's description of an object; `s` is the search; the name is the loader's.
        unsafe {
            let (info, s) = (&*info, &mut *s.cast::<Search<F>>());
            s.found = Dynamic::of(info).filter(|d| (s.is)(d)).map(|d| (d, CStr::from_ptr(info.dlpi_name)));
            c_int::from(s.found.is_some())
        }
    }
    fn search<F: Fn(&Dynamic) -> bool>(s: &mut Search<F>) {
        // SAFETY: `visit` gets the search.
        unsafe { dl_iterate_phdr(Some(visit::<F>), core::ptr::from_mut(s).cast()) };
    }
    let mut s = Search { is, found: None };
    search(&mut s);
    s.found
}

/// Says why, and ends the process.
fn stop(info: &dl_phdr_info, w: Wanted, other: &CStr) -> ! {
    // SAFETY: the loader's name of the object.
    let object = unsafe { CStr::from_ptr(info.dlpi_name) };
    let object = if object.is_empty() { program() } else { object };
    let [object, name, other, version] =
        [object, w.name, other, w.version.unwrap_or(c"(none)")].map(|s| s.to_str().unwrap_or("?"));
    say!(
        "{object} calls {name}, version {version}, which this promp does not have: {other} would answer. \
         Two OpenMP runtimes in one program give wrong results; stopping before anything is done.\n       \
         Run it without promp, or with a promp that knows its compiler, or build it with an older compiler."
    );
    syscall::exit_group(TWO_RUNTIMES)
}

/// The program, by the name it was called by.
fn program() -> &'static CStr {
    unsafe extern "C" {
        static program_invocation_name: *const core::ffi::c_char;
    }
    // SAFETY: libc's, set before any constructor.
    unsafe {
        if program_invocation_name.is_null() {
            c"the program"
        } else {
            CStr::from_ptr(program_invocation_name)
        }
    }
}
