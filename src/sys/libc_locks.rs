//! The locks that the C library and the dynamic loader have among their own data. Recursive mutexes (the
//! loader's) and read-write locks that are held for writing (`setlocale`'s and others of libc's) note the
//! kernel's id of the thread that holds them, which the thread's descriptor has, too. A logical thread that
//! goes on on another host, in the middle of dlopen, say, has another id from then on, and could neither take
//! such a lock again nor give it back. So the notes are brought up to date with the descriptor. A thread that
//! has the id, or the note, in a register is not stopped. (The program's locks: `mutexes.rs`.)

use super::signals::Interrupted;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

/// Where the data are, [start, end): the loader's (`_rtld_global`), libc's. Zeros where they are not known.
static DATA: [[AtomicUsize; 2]; 2] = [const { [const { AtomicUsize::new(0) }; 2] }; 2];

/// More bytes are not libc's alone: a program that is linked statically.
const LARGEST: usize = 1 << 20;
/// Words of a lock that are looked at (see [`super::mutexes::Mutex`] and [`super::mutexes::RwLock`]).
const WORDS: usize = 8;
const RECURSIVE: u32 = 1;
/// More levels of recursion than such a lock has.
const DEEP: u32 = 1 << 16;
/// A read-write lock's first word, while it is held for writing.
const WRITING: u32 = 3;

unsafe extern "C" {
    /// See dladdr(3); glibc.
    fn dladdr1(
        addr: *const libc::c_void,
        info: *mut libc::Dl_info,
        more: *mut *const libc::Elf64_Sym,
        flags: i32,
    ) -> i32;
}
const RTLD_DL_SYMENT: i32 = 1;

/// The code of libc's functions for locks, [start, end); zeros where it is not known.
static CODE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// The first and the last of them, and some between: libc's files are linked in the order of their names, so
/// what these functions share lies between them, too.
const FUNCTIONS: [&CStr; 8] = [
    c"pthread_mutex_clocklock",
    c"pthread_mutex_lock",
    c"pthread_mutex_timedlock",
    c"pthread_mutex_trylock",
    c"pthread_mutex_unlock",
    c"pthread_rwlock_rdlock",
    c"pthread_rwlock_unlock",
    c"pthread_rwlock_wrlock",
];
/// They have less code than this, if they are one object's.
const MOST_CODE: usize = 1 << 16;

/// Finds data and code: call once, on an ordinary thread.
pub fn learn() {
    if let Some((start, end)) = functions() {
        CODE[1].store(end, Relaxed);
        CODE[0].store(start, Relaxed);
    }
    for (at, found) in DATA.iter().zip([symbol(c"_rtld_global"), libc_data()]) {
        if let Some((start, end)) = found {
            at[1].store(end, Relaxed);
            at[0].store(start, Relaxed);
        }
    }
}

/// Where a function or an object lies, by the symbol table.
fn symbol(name: &CStr) -> Option<(usize, usize)> {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::uninit();
    let mut symbol = core::ptr::null::<libc::Elf64_Sym>();
    // SAFETY: looks up a symbol; both results are written before they are read.
    unsafe {
        let start = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        let found = !start.is_null()
            && dladdr1(start, info.as_mut_ptr(), &raw mut symbol, RTLD_DL_SYMENT) != 0
            && !symbol.is_null();
        found.then(|| (start as usize, start as usize + (*symbol).st_size as usize))
    }
}

/// From the beginning of the first of the [`FUNCTIONS`] to the end of the last one.
fn functions() -> Option<(usize, usize)> {
    let all: Vec<_> = FUNCTIONS.iter().filter_map(|name| symbol(name)).collect();
    let start = all.iter().map(|f| f.0).min()?;
    let end = all.iter().map(|f| f.1).max()?;
    (end - start <= MOST_CODE).then_some((start, end))
}

/// Has the calling thread been interrupted where a register may hold its id, for a lock? It is about to note
/// itself as the owner, or to look whether it is. On another host it would note, or look for, the
/// former one: it has to get out of there first, which it does within a few instructions.
///
/// Not behind a system call: it may sleep in it for ever, and none has an id in a register. `id`: 0 where it
/// is not known.
///
/// # Safety
/// `context` is the pointer that the kernel gave the handler.
pub unsafe fn holds_id(context: *const libc::c_void, id: u32) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    // SAFETY: by the caller's promise.
    let Interrupted { pc, .. } = unsafe { Interrupted::from_context(context) };
    if !(CODE[0].load(Relaxed) + SYSCALL.len()..CODE[1].load(Relaxed)).contains(&pc) {
        return false;
    }
    // SAFETY: the code of a function; the bytes before may be those of another one.
    let [before, at] = unsafe { *((pc - SYSCALL.len()) as *const [[u8; 2]; 2]) };
    // SAFETY: by the caller's promise.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let has = |r: i32| registers[r as usize] == i64::from(id);
    id != 0 && before != SYSCALL && at != SYSCALL && (libc::REG_R8..=libc::REG_RCX).any(has)
}

/// The data of the object that has libc's read-write locks.
fn libc_data() -> Option<(usize, usize)> {
    struct Search {
        code: usize,
        data: Option<(usize, usize)>,
    }
    unsafe extern "C" fn visit(o: *mut libc::dl_phdr_info, _: usize, search: *mut libc::c_void) -> i32 {
        // SAFETY: as dl_iterate_phdr(3) says; `search` is the caller's variable.
        let (o, search) = unsafe { (&*o, &mut *search.cast::<Search>()) };
        // SAFETY: the object's program headers.
        let segments = unsafe { core::slice::from_raw_parts(o.dlpi_phdr, o.dlpi_phnum.into()) };
        let of = |s: &libc::Elf64_Phdr| {
            let start = o.dlpi_addr as usize + s.p_vaddr as usize;
            start..start + s.p_memsz as usize
        };
        let loaded = || segments.iter().filter(|s| s.p_type == libc::PT_LOAD);
        if !loaded().any(|s| of(s).contains(&search.code)) {
            return 0;
        }
        let data = loaded().find(|s| s.p_flags & libc::PF_W != 0).map(of);
        search.data = data.filter(|d| d.len() <= LARGEST).map(|d| (d.start.next_multiple_of(4), d.end));
        1
    }
    // SAFETY: looks up a symbol; the visitor keeps to the interface.
    unsafe {
        let code = libc::dlsym(libc::RTLD_DEFAULT, c"pthread_rwlock_unlock".as_ptr()) as usize;
        let mut search = Search { code, data: None };
        libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast());
        search.data
    }
}

/// Those of `words` that note thread `id` as the one who holds a lock.
fn notes(words: &[AtomicU32], id: u32) -> impl Iterator<Item = &AtomicU32> {
    words.iter().enumerate().filter(move |(_, w)| w.load(Relaxed) == id).filter_map(move |(i, owner)| {
        // The words from `before` this one on.
        let around = |before: usize| {
            let lock = words.get(i.checked_sub(before)?..)?.first_chunk::<WORDS>()?;
            Some(lock.each_ref().map(|w| w.load(Relaxed)))
        };
        let mutex = around(2).is_some_and(|[lock, count, _, users, kind, ..]| {
            matches!(lock, 1 | 2) && (1..DEEP).contains(&count) && users >= 1 && kind == RECURSIVE
        });
        let writer = around(6).is_some_and(|[readers, _, _, _, pad, more, _, shared]| {
            readers & WRITING == WRITING && [pad, more, shared] == [0; 3]
        });
        (mutex || writer).then_some(owner)
    })
}

/// The words of libc's and the loader's data.
fn data() -> impl Iterator<Item = &'static [AtomicU32]> {
    let range = |at: &[AtomicUsize; 2]| (at[0].load(Relaxed), at[1].load(Relaxed));
    DATA.iter().map(range).filter(|(start, _)| *start != 0).map(|(start, end)| {
        // SAFETY: these data stay mapped; that others write to them meanwhile is what atomics are for.
        unsafe { core::slice::from_raw_parts(start as *const AtomicU32, (end - start) / 4) }
    })
}

/// Are there data of libc's or the loader's at this address?
pub fn has(at: usize) -> bool {
    DATA.iter().any(|d| (d[0].load(Relaxed)..d[1].load(Relaxed)).contains(&at))
}

/// The logical thread whose id was `before` has the id `now`.
pub fn owner_has_moved(before: u32, now: u32) {
    if before != now && before != 0 {
        // Others may take and give back locks meanwhile, but not those that `before` holds.
        data().flat_map(|words| notes(words, before)).for_each(|owner| owner.store(now, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::syscall;

    /// Where locks of thread `id` are among `words`.
    fn found(words: &[u32], id: u32) -> Vec<usize> {
        let words: Vec<AtomicU32> = words.iter().copied().map(AtomicU32::new).collect();
        let all = notes(&words, id);
        all.map(|n| words.element_offset(n).expect("one of them")).collect()
    }

    #[test]
    fn held_locks_are_found() {
        let words = [7, 1, 2, 41, 1, 1, 0, 0, 41, 0, 0, 1, 41, 1, 0, 1, 1, 41, 1, 1, 0, 0, 0, 0];
        assert_eq!(found(&words, 41), [3, 17]);
        assert!(found(&words, 40).is_empty());
        // Held for writing; by readers; by another; with others that wait; cut off.
        let held = [3, 0, 1, 1, 0, 0, 41, 0];
        let locks =
            [held, [10, 0, 1, 1, 0, 0, 41, 0], [3, 0, 1, 1, 0, 0, 42, 0], [7, 2, 3, 3, 0, 0, 41, 0]].concat();
        assert_eq!(found(&locks, 41), [6, 30]);
        assert!(found(&held[1..], 41).is_empty());
        assert!(found(&held[..7], 41).is_empty());
    }

    /// A handler's context at `pc`, with `id` in one register.
    fn interrupted(pc: usize, id: u32, register: i32) -> Box<libc::ucontext_t> {
        // SAFETY: a context without pointers that are followed.
        let mut c: Box<libc::ucontext_t> = Box::new(unsafe { core::mem::zeroed() });
        c.uc_mcontext.gregs[libc::REG_RIP as usize] = pc as i64;
        c.uc_mcontext.gregs[register as usize] = i64::from(id);
        c
    }

    #[test]
    fn an_id_in_a_register_matters_in_functions_for_locks() {
        learn();
        let at = |pc: usize, register: i32| {
            let c = interrupted(pc, 41, register);
            // SAFETY: such a context; the code is libc's.
            unsafe { holds_id((&raw const *c).cast(), 41) }
        };
        for name in FUNCTIONS {
            let (start, end) = symbol(name).expect("a function of libc's");
            assert!(end - start > 8, "{name:?}");
            for register in [libc::REG_RAX, libc::REG_RDX, libc::REG_RBP, libc::REG_R8, libc::REG_R13] {
                assert!(at(start + 4, register), "{name:?}");
            }
            assert!(!at(start + 4, libc::REG_RSP), "{name:?}");
            let none = interrupted(start + 4, 0, libc::REG_RAX);
            // SAFETY: the same.
            assert!(!unsafe { holds_id((&raw const *none).cast(), 0) }, "{name:?}: no id is known");
        }
        let (start, end) = (CODE[0].load(Relaxed), CODE[1].load(Relaxed));
        assert!(!at(start - 8, libc::REG_RAX) && !at(end, libc::REG_RAX));
        // SAFETY: libc's code.
        let code = unsafe { core::slice::from_raw_parts(start as *const u8, end - start) };
        for call in code.windows(2).enumerate().filter(|(_, w)| *w == [0x0f, 0x05]).map(|(i, _)| start + i) {
            assert!(!at(call, libc::REG_RAX) && !at(call + 2, libc::REG_RAX), "a system call");
        }
    }

    /// How many locks among the data the calling thread holds.
    fn mine() -> usize {
        data().flat_map(|words| notes(words, syscall::gettid())).count()
    }

    /// glibc holds one of the loader's locks while it visits the loaded objects.
    #[test]
    fn a_lock_of_the_loader_is_found_while_it_is_held() {
        learn();
        unsafe extern "C" fn visit(_: *mut libc::dl_phdr_info, _: usize, held: *mut libc::c_void) -> i32 {
            // SAFETY: the caller's variable.
            unsafe { *held.cast::<usize>() = mine() };
            1
        }
        let ranges = DATA.iter().map(|d| d[1].load(Relaxed) - d[0].load(Relaxed)).collect::<Vec<_>>();
        assert!(ranges.iter().all(|r| *r >= 2048), "data not found: {ranges:?}");
        let mut held = 0usize;
        // SAFETY: the visitor keeps to the interface.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut held).cast()) };
        assert_eq!(held, 1);
        assert_eq!(mine(), 0);
    }
}
