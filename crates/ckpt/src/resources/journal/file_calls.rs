//! The calls that are noted before they are made: libc's functions that make, open for writing, cut, rename and remove files.
//!
//! They are caught where programs and libraries keep libc's addresses, in the tables that the loader fills
//! for every object (`sys/glibc/got.rs`): those entries lead here instead. So only processes with checkpoints
//! have it, and nothing more is exported than an OpenMP runtime's symbols. Objects that are loaded later get
//! it when `dlopen` returns (if the name says where the object is; for others the loader looks at who asks)
//! or at the next checkpoint.

use super::name::Name;
use super::note::{Hold, Intent};
use super::{Journal, links};
use crate::step_files::{by_flags, by_mode};
use crate::sys::cfi::{grow, pop, push, shrink};
use crate::sys::door::Door;
use crate::sys::got::{self, Instead, calls_instead};
use crate::sys::maps::{self, Mapping};
use crate::sys::{mutexes, signals};
use crate::{attributes::memory_advice, pipes::received, pipes::sent};
use crate::{credentials, exec, keep, masks, open_descriptors, suspend, system_v};
use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use promp_calls::{Call, Effect, FALLOCATE, LINKAT, OPENAT2, PWRITEV2, RENAMEAT2, UNLINKAT, unknown_fcntl};

const HERE: c_int = libc::AT_FDCWD;
/// Objects that are remembered, and how many places there are for each.
const OBJECTS: usize = 512;
const PLACES: usize = 16;

/// Objects whose tables lead here: a key and the place of one entry each (0: it has none).
pub(crate) struct Done([(AtomicU64, AtomicUsize); OBJECTS]);

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
pub(crate) fn undisturbed<R>(f: impl FnOnce() -> R) -> R {
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
type Parts = *const libc::iovec;

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
        if by_flags(HERE, path, flags); |j| j.opening(Name::of(HERE, path), Intent::of_flags(flags));
    fn open64(path: Path, flags: c_int, mode: c_uint) -> c_int;
        if by_flags(HERE, path, flags); |j| j.opening(Name::of(HERE, path), Intent::of_flags(flags));
    fn __open_2(path: Path, flags: c_int) -> c_int;
        if by_flags(HERE, path, flags); |j| j.opening(Name::of(HERE, path), Intent::of_flags(flags));
    fn __open64_2(path: Path, flags: c_int) -> c_int;
        if by_flags(HERE, path, flags); |j| j.opening(Name::of(HERE, path), Intent::of_flags(flags));
    fn openat(at: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int;
        if by_flags(at, path, flags); |j| j.opening(Name::of(at, path), Intent::of_flags(flags));
    fn openat64(at: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int;
        if by_flags(at, path, flags); |j| j.opening(Name::of(at, path), Intent::of_flags(flags));
    fn creat(path: Path, mode: c_uint) -> c_int;
        if by_flags(HERE, path, libc::O_CREAT); |j| j.opening(Name::of(HERE, path), Intent::of_mode(c"w"));
    fn creat64(path: Path, mode: c_uint) -> c_int;
        if by_flags(HERE, path, libc::O_CREAT); |j| j.opening(Name::of(HERE, path), Intent::of_mode(c"w"));
    fn fopen(path: Path, mode: Path) -> Stream;
        if by_mode(path, mode); |j| j.opening(Name::of(HERE, path), of_mode(mode));
    fn fopen64(path: Path, mode: Path) -> Stream;
        if by_mode(path, mode); |j| j.opening(Name::of(HERE, path), of_mode(mode));
    fn freopen(path: Path, mode: Path, stream: Stream) -> Stream;
        if by_mode(path, mode); |j| j.opening(reopened(path, stream), of_mode(mode));
    fn freopen64(path: Path, mode: Path, stream: Stream) -> Stream;
        if by_mode(path, mode); |j| j.opening(reopened(path, stream), of_mode(mode));
    fn truncate(path: Path, length: c_long) -> c_int; |j| j.cutting(Name::of(HERE, path));
    fn truncate64(path: Path, length: c_long) -> c_int; |j| j.cutting(Name::of(HERE, path));
    fn ftruncate(fd: c_int, length: c_long) -> c_int; |j| j.cutting(Name::of_descriptor(fd));
    fn ftruncate64(fd: c_int, length: c_long) -> c_int; |j| j.cutting(Name::of_descriptor(fd));
    fn mkdir(path: Path, mode: c_uint) -> c_int; |j| j.making(Name::of(HERE, path), true);
    fn mkdirat(at: c_int, path: Path, mode: c_uint) -> c_int; |j| j.making(Name::of(at, path), true);
    fn link(from: Path, to: Path) -> c_int; |j| j.making(Name::of(HERE, to), false);
    fn symlink(text: Path, path: Path) -> c_int; |j| j.making(Name::of(HERE, path), false);
    fn linkat(a: c_int, from: Path, b: c_int, to: Path, flags: c_int) -> c_int;
        |j| understood(j, &LINKAT, flags as u64) && j.making(Name::of(b, to), false);
    fn symlinkat(text: Path, at: c_int, path: Path) -> c_int; |j| j.making(Name::of(at, path), false);
    fn unlink(path: Path) -> c_int; |j| j.removing(Name::of(HERE, path));
    fn unlinkat(at: c_int, path: Path, flags: c_int) -> c_int;
        |j| understood(j, &UNLINKAT, flags as u64) && j.removing(Name::of(at, path));
    fn mkfifo(path: Path, mode: c_uint) -> c_int; |j| j.making(Name::of(HERE, path), false);
    fn mkfifoat(at: c_int, path: Path, mode: c_uint) -> c_int; |j| j.making(Name::of(at, path), false);
    fn mknod(path: Path, mode: c_uint, device: u64) -> c_int; |j| j.making(Name::of(HERE, path), false);
    fn mknodat(at: c_int, path: Path, mode: c_uint, device: u64) -> c_int;
        |j| j.making(Name::of(at, path), false);
    fn shm_open(name: Path, flags: c_int, mode: c_uint) -> c_int;
        if Intent::of_flags(flags).matters();
        |j| j.opening(Name::of_shared(b"", name), Intent::of_flags(flags));
    fn shm_unlink(name: Path) -> c_int; |j| j.removing(Name::of_shared(b"", name));
    fn sem_open(name: Path, flags: c_int, mode: c_uint, value: c_uint) -> *mut c_void;
        |j| j.opening(Name::of_shared(b"sem.", name), Intent::of_flags(flags | libc::O_RDWR));
    fn sem_unlink(name: Path) -> c_int; |j| j.removing(Name::of_shared(b"sem.", name));
    fn fallocate(fd: c_int, mode: c_int, from: c_long, length: c_long) -> c_int;
        if matters(&FALLOCATE, mode); |j| overwriting(j, fd, &FALLOCATE, mode);
    fn fallocate64(fd: c_int, mode: c_int, from: c_long, length: c_long) -> c_int;
        if matters(&FALLOCATE, mode); |j| overwriting(j, fd, &FALLOCATE, mode);
    fn pwritev2(fd: c_int, parts: Parts, count: c_int, at: c_long, flags: c_int) -> isize;
        if matters(&PWRITEV2, flags) && appends(fd);
        |j| overwriting(j, fd, &PWRITEV2, flags);
    fn pwritev64v2(fd: c_int, parts: Parts, count: c_int, at: c_long, flags: c_int) -> isize;
        if matters(&PWRITEV2, flags) && appends(fd);
        |j| overwriting(j, fd, &PWRITEV2, flags);
    fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
        if appends_no_more(fd, command, argument) || unknown_fcntl(command).is_some();
        |j| controlling(j, fd, command);
    fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int;
        if appends_no_more(fd, command, argument) || unknown_fcntl(command).is_some();
        |j| controlling(j, fd, command);
    fn mmap(at: *mut c_void, len: usize, prot: c_int, how: c_int, fd: c_int, offset: c_long) -> *mut c_void;
        if is_written_as_memory(how, fd) || memory_advice::is_unusual(how); |j| j.mapping(how, fd);
    fn mmap64(at: *mut c_void, len: usize, prot: c_int, how: c_int, fd: c_int, offset: c_long) -> *mut c_void;
        if is_written_as_memory(how, fd) || memory_advice::is_unusual(how); |j| j.mapping(how, fd);
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

/// The file that freopen(3) opens: by a null pointer the one that the stream has.
///
/// # Safety
/// Null or a C string; a stream.
unsafe fn reopened(path: Path, stream: Stream) -> Option<Name> {
    // SAFETY: by the caller's promise.
    unsafe {
        match path.is_null() {
            true => Name::of_descriptor(libc::fileno(stream.cast())),
            false => Name::of(HERE, path),
        }
    }
}

/// Does a call do more with these flags than without?
fn matters(call: &Call, flags: c_int) -> bool {
    call.effect(flags as u64) != Effect::Same
}

/// Can what a call does with these flags be undone by its note? If not, that is noted.
fn understood(j: &Journal, call: &Call, flags: u64) -> bool {
    let can = call.effect(flags) != Effect::NotUndone;
    if !can {
        j.cannot_undo(call.named(flags).bytes());
    }
    can
}

/// What renameat2(2) is about to do with two names.
fn renaming(j: &Journal, [from, to]: [Option<Name>; 2], flags: c_uint) -> Hold {
    let names = from.is_some() && to.is_some();
    if understood(j, &RENAMEAT2, flags.into()) {
        match flags & libc::RENAME_EXCHANGE {
            0 => _ = j.renaming(from, to),
            _ if names => _ = j.exchanging(from, to),
            _ => j.cannot_undo(b"renameat2 RENAME_EXCHANGE"),
        }
    }
    true
}

/// The content of the file behind a descriptor is about to change, by a call with these flags.
fn overwriting(j: &Journal, fd: c_int, call: &Call, flags: c_int) -> Hold {
    if understood(j, call, flags as u64) {
        j.cutting(Name::of_descriptor(fd));
    }
    true
}

/// Notes fcntl(2), which may make it so that a file is written to anywhere, or is not known.
fn controlling(j: &Journal, fd: c_int, command: c_int) -> Hold {
    unknown_fcntl(command)
        .map_or_else(|| _ = j.cutting(Name::of_descriptor(fd)), |name| j.cannot_undo(name.bytes()));
    true
}

/// Of a file that was opened so only the length is noted.
fn appends(fd: c_int) -> bool {
    let flags = open_descriptors::flags_of(fd);
    flags >= 0 && flags & libc::O_APPEND != 0
}

/// Is a file about to be written to at any place that was only written to at its end?
fn appends_no_more(fd: c_int, command: c_int, flags: usize) -> bool {
    command == libc::F_SETFL && flags & libc::O_APPEND as usize == 0 && appends(fd)
}

/// Likewise, as memory.
fn is_written_as_memory(flags: c_int, fd: c_int) -> bool {
    flags & (libc::MAP_SHARED | libc::MAP_ANONYMOUS) == libc::MAP_SHARED && appends(fd)
}

/// `struct open_how`.
type How = [u64; 3];

/// openat2(2), which has no function of libc's.
///
/// # Safety
/// The caller's arguments.
unsafe fn openat2(at: c_int, path: Path, how: *const How, size: usize, real: impl Fn() -> c_long) -> c_long {
    if size < size_of::<How>() {
        return real(); // EINVAL
    }
    // SAFETY: by the caller's promise.
    let [flags, _, resolve] = unsafe { *how };
    let intent = Intent::of_flags(flags as c_int);
    noted(
        // SAFETY: as above.
        unsafe { by_flags(at, path, flags as c_int) },
        |j| match size == size_of::<How>() {
            // SAFETY: as above.
            true => understood(j, &OPENAT2, resolve) && j.opening(unsafe { Name::of(at, path) }, intent),
            false => {
                j.cannot_undo(b"openat2 with more than is known");
                false
            }
        },
        real,
    )
}

/// Does what cannot be undone. It may take for ever, so there are checkpoints meanwhile, behind each of which
/// that is so, too.
pub(crate) fn irrevocably<R>(what: &str, call: impl Fn() -> R) -> R {
    let note = |j: &Journal| {
        j.cannot_undo(what.as_bytes());
        false
    };
    let r = noted(true, note, call);
    noted(true, note, || ());
    r
}

const MESSAGES: &str = "a message queue of System V";
const MEMORY: &str = "shared memory of System V";
const QUEUE: &str = "a message queue of POSIX";

/// What others may have, without a name among files.
mod of_others {
    use super::{MEMORY, MESSAGES, Path, QUEUE, irrevocably};
    use crate::sys::got::calls_instead;
    use core::ffi::{c_int, c_long, c_uint, c_void};

    calls_instead! {
        fn msgget(key: c_int, flags: c_int) -> c_int = |real| irrevocably(MESSAGES, real);
        fn msgsnd(queue: c_int, message: *const c_void, len: usize, flags: c_int) -> c_int = |real|
            irrevocably(MESSAGES, real);
        fn msgrcv(queue: c_int, to: *mut c_void, len: usize, kind: c_long, flags: c_int) -> isize = |real|
            irrevocably(MESSAGES, real);
        fn msgctl(queue: c_int, what: c_int, to: *mut c_void) -> c_int = |real| irrevocably(MESSAGES, real);
        fn shmget(key: c_int, len: usize, flags: c_int) -> c_int = |real| irrevocably(MEMORY, real);
        fn shmat(id: c_int, at: *const c_void, how: c_int) -> *mut c_void = |real|
            irrevocably(MEMORY, real);
        fn shmdt(at: *const c_void) -> c_int = |real| irrevocably(MEMORY, real);
        fn shmctl(id: c_int, command: c_int, to: *mut c_void) -> c_int = |real| irrevocably(MEMORY, real);
        fn mq_open(name: Path, flags: c_int, mode: c_uint, how: *mut c_void) -> c_int = |real|
            irrevocably(QUEUE, real);
        fn mq_unlink(name: Path) -> c_int = |real| irrevocably(QUEUE, real);
    }
}

/// System calls by their numbers.
mod by_number {
    use super::{MEMORY, MESSAGES, Path, QUEUE, caught as to, irrevocably, openat2};
    use crate::sys::got::calls_instead;
    use crate::system_v;
    use core::ffi::{c_int, c_long};
    use core::sync::atomic::Ordering::Relaxed;

    /// io_uring_setup(2).
    const RINGS: c_long = 425;

    /// Has libc such a function?
    fn has(function: to::Number) -> bool {
        to::REAL[function as usize].load(Relaxed) != 0
    }

    calls_instead! {
        fn syscall(nr: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long = |real| {
            // SAFETY: the caller's arguments, which are what libc's function of that name has.
            let r = unsafe {
                match nr {
                    libc::SYS_open => to::open(a as Path, b as _, c as _),
                    libc::SYS_openat => to::openat(a as _, b as Path, c as _, d as _),
                    libc::SYS_creat => to::creat(a as Path, b as _),
                    libc::SYS_truncate => to::truncate(a as Path, b as _),
                    libc::SYS_ftruncate => to::ftruncate(a as _, b as _),
                    libc::SYS_mkdir => to::mkdir(a as Path, b as _),
                    libc::SYS_mkdirat => to::mkdirat(a as _, b as Path, c as _),
                    libc::SYS_link => to::link(a as Path, b as Path),
                    libc::SYS_linkat => to::linkat(a as _, b as Path, c as _, d as Path, e as _),
                    libc::SYS_symlink => to::symlink(a as Path, b as Path),
                    libc::SYS_symlinkat => to::symlinkat(a as Path, b as _, c as Path),
                    libc::SYS_unlink => to::unlink(a as Path),
                    libc::SYS_unlinkat => to::unlinkat(a as _, b as Path, c as _),
                    libc::SYS_rmdir => to::rmdir(a as Path),
                    libc::SYS_rename => to::rename(a as Path, b as Path),
                    libc::SYS_renameat => to::renameat(a as _, b as Path, c as _, d as Path),
                    libc::SYS_renameat2 if has(to::Number::renameat2) =>
                        to::renameat2(a as _, b as Path, c as _, d as Path, e as _),
                    libc::SYS_mknod if has(to::Number::mknod) => to::mknod(a as Path, b as _, c as _),
                    libc::SYS_mknodat if has(to::Number::mknodat) =>
                        to::mknodat(a as _, b as Path, c as _, d as _),
                    libc::SYS_fallocate => to::fallocate(a as _, b as _, c as _, d as _),
                    libc::SYS_fcntl => to::fcntl(a as _, b as _, c),
                    libc::SYS_mmap => return to::mmap(a as _, b, c as _, d as _, e as _, f as _) as c_long,
                    libc::SYS_pwritev2 if has(to::Number::pwritev2) =>
                        return to::pwritev2(a as _, b as _, c as _, d as _, f as _) as c_long,
                    libc::SYS_openat2 => return openat2(a as _, b as Path, c as _, d, real),
                    RINGS => return irrevocably("io_uring", real),
                    libc::SYS_msgget | libc::SYS_msgsnd | libc::SYS_msgrcv | libc::SYS_msgctl => {
                        return irrevocably(MESSAGES, real);
                    }
                    libc::SYS_shmget | libc::SYS_shmat | libc::SYS_shmctl | libc::SYS_shmdt => {
                        return irrevocably(MEMORY, real);
                    }
                    libc::SYS_mq_open | libc::SYS_mq_unlink => return irrevocably(QUEUE, real),
                    _ if system_v::changes(nr, c as c_int) => return system_v::noted(real),
                    _ => return real(),
                }
            };
            r.into()
        };
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
    type Loads = unsafe extern "C" fn(Path, c_int) -> *mut c_void;
    // SAFETY: libc's function, with the caller's arguments.
    let r = unsafe { core::mem::transmute::<usize, Loads>(DLOPEN.load(Relaxed))(path, flags) };
    match keep::if_on() {
        // What is open meanwhile, and what has been read of it, is nothing that a checkpoint could have.
        Some(k) => _ = undisturbed(|| catch(&k.journal, &maps::all(), &Door::open())),
        None => masks::look(),
    }
    r
}

/// What is called instead of dlopen(3).
pub(crate) fn of_dlopen() -> Instead {
    Instead { name: c"dlopen", version: None, real: &DLOPEN, address: dlopen as *const () as usize }
}

/// All calls that are caught as long as there are checkpoints.
fn all() -> Vec<Instead> {
    [
        instead(),
        of_others::instead(),
        links::instead(),
        by_number::instead(),
        vec![of_dlopen()],
        masks::instead(),
        suspend::instead(),
        system_v::instead(),
        memory_advice::instead(),
        exec::calls(),
        credentials::instead(),
        sent::output_calls::instead(),
        received::input_calls::instead(),
    ]
    .concat()
}

/// Finds libc's functions and makes the program's calls lead here. Once, while the program has one thread in the runtime.
pub(crate) fn begin(j: &Journal) {
    let (list, maps, door) = (all(), maps::all(), Door::open());
    list.iter().for_each(Instead::learn);
    got::chain(&list);
    sent::output_calls::begin(&maps, &door);
    received::input_calls::begin(&maps, &door);
    catch(j, &maps, &door);
}

/// Makes the calls of objects in `maps` lead here that do not yet. Was the loader still to look any up?
pub(crate) fn catch(j: &Journal, maps: &[Mapping], door: &Door) -> bool {
    let mut left = false;
    let list = [&all()[..], &mutexes::instead()].concat();
    for object in got::objects(maps) {
        let key =
            (object.start as u64 ^ object.inode.rotate_left(48)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let place = |i: usize| &j.done.0[((key >> 40) as usize + i) % OBJECTS];
        let with = |key: u64| (0..PLACES).map(place).find(|p| p.0.load(Acquire) == key);
        let (known, entry) = with(key).or_else(|| with(0)).unwrap_or(place(0));
        // An object may have been loaded anew where it was.
        let still =
            |at: usize| at == 0 || got::word(door, at).is_some_and(|w| list.iter().any(|i| i.address == w));
        if known.load(Acquire) != key || !still(entry.load(Relaxed)) {
            let (led, was_left) = got::lead(maps, object, &list, door);
            entry.store(led.unwrap_or(0), Relaxed);
            known.store(key, Release);
            left |= was_left;
        }
    }
    left
}
