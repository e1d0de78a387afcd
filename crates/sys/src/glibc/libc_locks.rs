//! The locks that the C library and the dynamic loader have among their own data. Recursive mutexes (the
//! loader's) and read-write locks that are held for writing (`setlocale`'s and others of libc's) note the
//! kernel's id of the thread that holds them, which the thread's descriptor has, too. A logical thread that
//! goes on on another host, in the middle of dlopen, say, has another id from then on, and could neither take
//! such a lock again nor give it back. So the notes are brought up to date with the descriptor. A thread that
//! is about to use either is not frozen (`midway.rs`). (The program's locks: `mutexes.rs`.)

use crate::midway::extent;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

/// Where the data are, [start, end): the loader's (`_rtld_global`), libc's. Zeros where they are not known.
static DATA: [[AtomicUsize; 2]; 2] = [const { [const { AtomicUsize::new(0) }; 2] }; 2];

/// More bytes are not libc's alone: a program that is linked statically.
const LARGEST: usize = 1 << 20;
/// Words of a lock that are looked at (see [`crate::mutexes::Mutex`] and [`crate::mutexes::RwLock`]).
const WORDS: usize = 8;
const RECURSIVE: u32 = 1;
/// More levels of recursion than such a lock has.
const DEEP: u32 = 1 << 16;
/// A read-write lock's first word, while it is held for writing.
const WRITING: u32 = 3;

/// Finds the data: call once, on an ordinary thread.
pub fn learn() {
    for (at, found) in DATA.iter().zip([loader(), libc_data()]) {
        if let Some((start, end)) = found {
            at[1].store(end, Relaxed);
            at[0].store(start, Relaxed);
        }
    }
}

/// The loader's data, by the symbol table.
fn loader() -> Option<(usize, usize)> {
    // SAFETY: looks up a symbol.
    extent(unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_rtld_global".as_ptr()) } as usize)
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
pub(crate) fn owner_has_moved(before: u32, now: u32) {
    if before != now && before != 0 {
        // Others may take and give back locks meanwhile, but not those that `before` holds.
        data().flat_map(|words| notes(words, before)).for_each(|owner| owner.store(now, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall;

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
