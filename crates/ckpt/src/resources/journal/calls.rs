//! The calls that are noted before they are made: libc's functions that make, open for writing, cut, rename and remove files.
//!
//! They are caught where programs and libraries keep libc's addresses, in the tables that the loader fills for every object (`sys/glibc/tables.rs`):
//! those entries lead here instead. So only processes with checkpoints have it, and nothing more is exported than an OpenMP runtime's
//! symbols. Objects that are loaded later get it when `dlopen` returns (if the name says where the object is; for others the
//! loader looks at who asks) or at the next checkpoint.

use super::Journal;
use super::name::Name;
use super::note::{Hold, Intent};
use crate::attributes::memory_advice;
use crate::pipes::{received, sent};
use crate::sys::cfi::{grow, pop, push, shrink};
use crate::sys::door::Door;
use crate::sys::maps::{self, Mapping};
use crate::sys::tables::{self, Instead, calls_instead};
use crate::sys::{mutexes, signals};
use crate::{apart, executed, keep, masks, rights, suspend, system_v};
use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

const HERE: c_int = libc::AT_FDCWD;
/// Objects that are remembered, and how many places there are for each.
const OBJECTS: usize = 512;
const PLACES: usize = 16;

/// Objects whose tables lead here: a key and the place of one entry each (0: it has none).
pub struct Done([(AtomicU64, AtomicUsize); OBJECTS]);

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}
const PTHREAD_CANCEL_DISABLE: c_int = 1;

/// Makes a call, after the note if it `matters` and there are checkpoints. Where something is held during the call, the thread is not cancelled before
/// it is given back.
fn noted<R>(matters: bool, note: impl FnOnce(&Journal) -> Hold, call: impl Fn() -> R) -> R {
    let Some(k) = keep::if_on().filter(|_| matters) else { return call() };
    undisturbed(|| note(&k.journal).then(&call)).unwrap_or_else(call)
}

/// Runs `f`, during which there is no checkpoint, no signal and no cancelling.
fn undisturbed<R>(f: impl FnOnce() -> R) -> R {
    let mask = signals::block_all();
    let r = uncancelled(|| {
        crate::transition_begins();
        let r = f();
        crate::transition_is_over();
        r
    });
    signals::set_mask(mask);
    r
}

/// Runs `f`, which is not a point at which its thread can be cancelled.
fn uncancelled<R>(f: impl FnOnce() -> R) -> R {
    let mut cancel = 0;
    // SAFETY: plain call; likewise below.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut cancel) };
    let r = f();
    // SAFETY: see above.
    unsafe { pthread_setcancelstate(cancel, core::ptr::null_mut()) };
    r
}

/// The functions, with what is noted before each; `if`: only then. `after`: the name is known only then; less is lost without the note than without
/// the call.
macro_rules! noted_calls {
    ($(fn $name:ident($($arg:ident: $t:ty),*) -> $r:ty; $(if $matters:expr;)? |$j:ident| $note:expr; $(after |$k:ident| $after:expr;)?)*) => {
        calls_instead! {
            $(fn $name($($arg: $t),*) -> $r = |real| {
                let call = || {
                    let r = real();
                    $(
                        if let Some(k) = keep::if_on() {
                            let $k = &k.journal;
                            // SAFETY: the caller's arguments, which are what libc's function expects.
                            unsafe { $after }
                        }
                    )?
                    r
                };
                // SAFETY (both): as above.
                #[allow(unused_unsafe)]
                noted(true $(&& unsafe { $matters })?, |$j| unsafe { $note }, call)
            };)*
        }
    };
}

type Path = *const c_char;
type Stream = *mut c_void;

/// The intent of fopen(3).
///
/// # Safety
/// `mode` is a C string.
unsafe fn of_mode(mode: Path) -> Intent {
    // SAFETY: by the caller's promise.
    Intent::of_mode(unsafe { CStr::from_ptr(mode) })
}

noted_calls! {
    fn open(path: Path, flags: c_int, mode: c_uint) -> c_int;
        if Intent::of_flags(flags).matters(); |j| j.opening(Name::of(HERE, path), Intent::of_flags(flags));
    fn open64(path: Path, flags: c_int, mode: c_uint) -> c_int;
        if Intent::of_flags(flags).matters(); |j| j.opening(Name::of(HERE, path), Intent::of_flags(flags));
    fn __open_2(path: Path, flags: c_int) -> c_int;
        if Intent::of_flags(flags).matters(); |j| j.opening(Name::of(HERE, path), Intent::of_flags(flags));
    fn __open64_2(path: Path, flags: c_int) -> c_int;
        if Intent::of_flags(flags).matters(); |j| j.opening(Name::of(HERE, path), Intent::of_flags(flags));
    fn openat(at: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int;
        if Intent::of_flags(flags).matters(); |j| j.opening(Name::of(at, path), Intent::of_flags(flags));
    fn openat64(at: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int;
        if Intent::of_flags(flags).matters(); |j| j.opening(Name::of(at, path), Intent::of_flags(flags));
    fn creat(path: Path, mode: c_uint) -> c_int;
        |j| j.opening(Name::of(HERE, path), Intent::of_mode(c"w"));
    fn creat64(path: Path, mode: c_uint) -> c_int;
        |j| j.opening(Name::of(HERE, path), Intent::of_mode(c"w"));
    fn fopen(path: Path, mode: Path) -> Stream;
        if of_mode(mode).matters(); |j| j.opening(Name::of(HERE, path), of_mode(mode));
    fn fopen64(path: Path, mode: Path) -> Stream;
        if of_mode(mode).matters(); |j| j.opening(Name::of(HERE, path), of_mode(mode));
    fn freopen(path: Path, mode: Path, stream: Stream) -> Stream;
        if !path.is_null() && of_mode(mode).matters(); |j| j.opening(Name::of(HERE, path), of_mode(mode));
    fn freopen64(path: Path, mode: Path, stream: Stream) -> Stream;
        if !path.is_null() && of_mode(mode).matters(); |j| j.opening(Name::of(HERE, path), of_mode(mode));
    fn truncate(path: Path, length: c_long) -> c_int; |j| j.cutting(Name::of(HERE, path));
    fn truncate64(path: Path, length: c_long) -> c_int; |j| j.cutting(Name::of(HERE, path));
    fn ftruncate(fd: c_int, length: c_long) -> c_int; |j| j.cutting(Name::of_descriptor(fd));
    fn ftruncate64(fd: c_int, length: c_long) -> c_int; |j| j.cutting(Name::of_descriptor(fd));
    fn mkdir(path: Path, mode: c_uint) -> c_int; |j| j.making(Name::of(HERE, path), true);
    fn mkdirat(at: c_int, path: Path, mode: c_uint) -> c_int; |j| j.making(Name::of(at, path), true);
    fn link(from: Path, to: Path) -> c_int; |j| j.making(Name::of(HERE, to), false);
    fn symlink(text: Path, path: Path) -> c_int; |j| j.making(Name::of(HERE, path), false);
    fn linkat(a: c_int, from: Path, b: c_int, to: Path, flags: c_int) -> c_int; |j| j.making(Name::of(b, to), false);
    fn symlinkat(text: Path, at: c_int, path: Path) -> c_int; |j| j.making(Name::of(at, path), false);
    fn unlink(path: Path) -> c_int; |j| j.removing(Name::of(HERE, path));
    fn unlinkat(at: c_int, path: Path, flags: c_int) -> c_int; |j| j.removing(Name::of(at, path));
    fn remove(path: Path) -> c_int; |j| j.removing(Name::of(HERE, path));
    fn rmdir(path: Path) -> c_int; |j| j.removing(Name::of(HERE, path));
    fn rename(from: Path, to: Path) -> c_int; |j| j.renaming(Name::of(HERE, from), Name::of(HERE, to));
    fn renameat2(a: c_int, from: Path, b: c_int, to: Path, flags: c_uint) -> c_int;
        |j| renaming(j, [Name::of(a, from), Name::of(b, to)], flags);
    fn mkstemp(path: Path) -> c_int; |_j| true; after |j| j.made(Name::of(HERE, path));
    fn mkstemp64(path: Path) -> c_int; |_j| true; after |j| j.made(Name::of(HERE, path));
    fn mkstemps(path: Path, suffix: c_int) -> c_int; |_j| true; after |j| j.made(Name::of(HERE, path));
    fn mkstemps64(path: Path, suffix: c_int) -> c_int; |_j| true; after |j| j.made(Name::of(HERE, path));
    fn mkostemp(path: Path, flags: c_int) -> c_int; |_j| true; after |j| j.made(Name::of(HERE, path));
    fn mkostemp64(path: Path, flags: c_int) -> c_int; |_j| true; after |j| j.made(Name::of(HERE, path));
    fn mkostemps(path: Path, suffix: c_int, flags: c_int) -> c_int; |_j| true; after |j| j.made(Name::of(HERE, path));
    fn mkostemps64(path: Path, suffix: c_int, flags: c_int) -> c_int; |_j| true; after |j| j.made(Name::of(HERE, path));
    fn mkdtemp(path: Path) -> *mut c_char; |_j| true; after |j| j.made(Name::of(HERE, path));
    fn renameat(a: c_int, from: Path, b: c_int, to: Path) -> c_int;
        |j| j.renaming(Name::of(a, from), Name::of(b, to));
}

/// renameat2(2) by its number, for which older C libraries have no function: as that is. None: this one has
/// none, or nothing is noted.
///
/// # Safety
/// The caller's arguments.
pub unsafe fn renames_by_number(a: usize, from: usize, b: usize, to: usize, flags: usize) -> Option<c_long> {
    let there = caught::REAL[caught::Number::renameat2 as usize].load(Relaxed) != 0;
    let (from, to) = (from as Path, to as Path);
    // SAFETY: by the caller's promise.
    there.then(|| unsafe { caught::renameat2(a as c_int, from, b as c_int, to, flags as c_uint) }.into())
}

/// What renameat2(2) is about to do with two names.
fn renaming(j: &Journal, [from, to]: [Option<Name>; 2], flags: c_uint) -> Hold {
    match flags {
        0 | libc::RENAME_NOREPLACE => j.renaming(from, to),
        libc::RENAME_EXCHANGE if from.is_some() && to.is_some() => j.exchanging(from, to),
        _ => {
            apart::renames_oddly();
            true
        }
    }
}

/// Libc's dlopen.
static DLOPEN: AtomicUsize = AtomicUsize::new(0);

/// dlopen(3). Where the loader looks for an object without a folder depends on who calls, so that call goes on as it is.
#[unsafe(naked)]
unsafe extern "C" fn dlopen(path: Path, flags: c_int) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        push!("rdi" "rsi"),
        grow!(8),
        "call {says_where}",
        shrink!(8),
        pop!("rsi" "rdi"),
        "test al, al",
        "jnz {load}",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        ".cfi_endproc",
        says_where = sym says_where,
        load = sym load,
        real = sym DLOPEN,
    )
}

unsafe extern "C" fn says_where(path: Path) -> bool {
    // SAFETY: null or a C string.
    let name = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }.to_bytes());
    name.is_some_and(|n| n.contains(&b'/') && !n.contains(&b'$'))
}

unsafe extern "C" fn load(path: Path, flags: c_int) -> *mut c_void {
    // SAFETY: libc's function, with the caller's arguments.
    let r = unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(Path, c_int) -> *mut c_void>(DLOPEN.load(Relaxed))(
            path, flags,
        )
    };
    match keep::if_on() {
        // What is open meanwhile, and what has been read of it, is nothing that a checkpoint could have.
        Some(k) => undisturbed(|| catch(&k.journal, &maps::all(), &Door::open())),
        None => masks::look(),
    }
    r
}

/// What is called instead of dlopen(3).
pub fn of_dlopen() -> Instead {
    Instead { name: c"dlopen", version: None, real: &DLOPEN, address: dlopen as *const () as usize }
}

/// All calls that are caught as long as there are checkpoints.
fn all() -> Vec<Instead> {
    [
        instead(),
        vec![of_dlopen()],
        masks::instead(),
        suspend::instead(),
        system_v::instead(),
        memory_advice::instead(),
        executed::calls(),
        rights::instead(),
        sent::calls::instead(),
        received::calls::instead(),
    ]
    .concat()
}

/// Finds libc's functions and makes the program's calls lead here. Once, while the program has one thread in the runtime.
pub fn begin(j: &Journal) {
    let list = all();
    list.iter().for_each(Instead::learn);
    tables::chain(&list);
    let (maps, door) = (maps::all(), Door::open());
    sent::calls::begin(&maps, &door);
    received::calls::begin(&maps, &door);
    catch(j, &maps, &door);
}

/// Makes the calls of objects in `maps` lead here that do not yet.
pub fn catch(j: &Journal, maps: &[Mapping], door: &Door) {
    let list = [&all()[..], &mutexes::instead()].concat();
    for object in tables::objects(maps) {
        let key =
            (object.start as u64 ^ object.inode.rotate_left(48)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let place = |i: usize| &j.done.0[((key >> 40) as usize + i) % OBJECTS];
        let with = |key: u64| (0..PLACES).map(place).find(|p| p.0.load(Acquire) == key);
        let (known, entry) = with(key).or_else(|| with(0)).unwrap_or(place(0));
        // An object may have been loaded anew where it was.
        let still = |at: usize| {
            at == 0 || tables::word(door, at).is_some_and(|w| list.iter().any(|i| i.address == w))
        };
        if known.load(Acquire) != key || !still(entry.load(Relaxed)) {
            entry.store(tables::lead(maps, object, &list, door).unwrap_or(0), Relaxed);
            known.store(key, Release);
        }
    }
}
