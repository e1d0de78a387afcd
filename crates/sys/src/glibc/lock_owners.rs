//! Locks of the program's that a thread holds. Nobody keeps a list of them: libc's mutexes, and read-write
//! locks that are held for writing, note the kernel's id of the thread that holds them, so a look through
//! the program's memory finds them. Only after a failure, in work from which a lock can have been taken.
//!
//! Memory is read through the kernel, for other threads go on, and only pages that are there: a lock that is
//! held lies in one of them.

use crate::door::Door;
use crate::maps::Mapping;
use crate::sys;
use crate::{libc_locks, mutexes};

const PAGE: usize = 4096;
/// Pages that are asked for at once.
const ASKED: usize = 16384;
/// Pages that are read at once.
const READ: usize = 16;
/// What follows an address that is looked at: the rest of the lock.
const REST: usize = 56;

/// Of a mutex's kind: all that it can be.
const KINDS: u32 = 0x3f3;
/// … what says whether it can be taken by its owner again, and that value.
const TYPE: u32 = 3;
const RECURSIVE: u32 = 1;
/// … that its thread has it in a list.
const ROBUST: u32 = 16;
/// Of a robust mutex, or one with priority inheritance, the first word: the owner.
const OWNER: u32 = 0x3fff_ffff;
/// A read-write lock's first word, while it is held for writing.
const WRITING: u32 = 3;
/// … how far above it is the number of readers, and of the second word, the number of writers, what is none.
const READERS: u32 = 3;
const HANDED_OVER: u32 = 1 << 31;
/// The next two, on which readers and writers sleep: a bit of state, and whether somebody does.
const SLEEPS: u32 = 3;
/// No lock is taken or waited for so often.
const MANY: u32 = 1 << 16;

/// Where in memory a lock is (its note of the owner) that the thread with this pointer holds, whose host is
/// or was `id`.
pub fn lock_of(thread_pointer: usize, id: u32, maps: &[Mapping]) -> Option<usize> {
    let ids: Vec<u32> =
        mutexes::ids_before().filter(|b| b.0 == thread_pointer).map(|b| b.1).chain([id]).collect();
    let door = Door::open();
    let may = |m: &&Mapping| m.prot & libc::PROT_WRITE != 0 && !m.path.starts_with("/dev/");
    maps.iter().filter(may).find_map(|m| in_mapping(m, &ids, &door))
}

fn in_mapping(m: &Mapping, ids: &[u32], door: &Door) -> Option<usize> {
    let mut there = vec![0u8; ASKED];
    for at in (m.start..m.end).step_by(ASKED * PAGE) {
        let pages = (m.end - at).div_ceil(PAGE).min(ASKED);
        // SAFETY: the kernel writes a byte a page.
        if unsafe { sys!(libc::SYS_mincore, at, pages * PAGE, there.as_mut_ptr()) } < 0 {
            continue;
        }
        let mut p = 0;
        while p < pages {
            let n = there[p..pages].iter().take(READ).take_while(|t| **t & 1 != 0).count();
            if n > 0 {
                let start = at + p * PAGE;
                // A lock may reach into the next page; that one may not be there.
                let mut bytes = vec![0u8; n * PAGE + REST];
                let all = start + bytes.len() <= m.end && door.read(start, &mut bytes);
                if !all {
                    bytes.truncate(n * PAGE);
                }
                if (all || door.read(start, &mut bytes))
                    && let Some(offset) = in_bytes(&bytes, ids)
                    && !libc_locks::has(start + offset)
                {
                    return Some(start + offset);
                }
            }
            p += n.max(1);
        }
    }
    None
}

/// Where in `bytes`, which begin at an address for locks, the note is of one that one of `ids` holds.
fn in_bytes(bytes: &[u8], ids: &[u32]) -> Option<usize> {
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    (0..bytes.len()).step_by(8).find(|&at| {
        let lock = |before: usize, i: usize| at.checked_sub(before).and_then(|l| word(l + 4 * i));
        let Some(id) = word(at).filter(|w| ids.contains(w)) else { return false };
        let mutex = || {
            let (first, count, users, kind) = (lock(8, 0)?, lock(8, 1)?, lock(8, 3)?, lock(8, 4)?);
            let held = matches!(first, 1 | 2) || first & OWNER == id;
            let counts = if kind & (TYPE | ROBUST) == RECURSIVE { 1..MANY } else { 0..MANY };
            let counted = counts.contains(&count) && (1..MANY).contains(&users);
            // Numbers of the program's often look like the rest; it would have to end like a mutex, too.
            let list = [lock(8, 6)?, lock(8, 7)?, lock(8, 8)?, lock(8, 9)?];
            Some(held && counted && kind & !KINDS == 0 && (kind & ROBUST != 0 || list == [0; 4]))
        };
        let writer = || {
            let (readers, pads) = (lock(24, 0)?, [lock(24, 4)?, lock(24, 5)?, lock(24, 10)?, lock(24, 11)?]);
            let waiting = [readers >> READERS, lock(24, 1)? & !HANDED_OVER];
            let sleep = [lock(24, 2)?, lock(24, 3)?];
            let plausible = waiting.iter().all(|n| *n < MANY) && sleep.iter().all(|w| *w <= SLEEPS);
            Some(readers & WRITING == WRITING && plausible && pads == [0; 4] && lock(24, 7)? <= 1)
        };
        mutex() == Some(true) || writer() == Some(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{maps, syscall};

    #[repr(align(8))]
    struct Locks(libc::pthread_mutex_t, libc::pthread_rwlock_t);

    #[test]
    fn what_the_caller_holds_is_found_as_long_as_it_does() {
        let l = Box::leak(Box::new(Locks(libc::PTHREAD_MUTEX_INITIALIZER, libc::PTHREAD_RWLOCK_INITIALIZER)));
        let range = &raw const *l as usize..&raw const *l as usize + size_of::<Locks>();
        // Other tests' threads may have left what looks like a lock in their memory: only this one's page.
        let all = maps::all();
        let mut page = maps::find(&all, range.start).expect("mapped").clone();
        page.start = range.start & !(PAGE - 1);
        page.end = (range.end + PAGE - 1) & !(PAGE - 1);
        let page = [page];
        let of = |id| lock_of(1, id, &page);
        let found = || of(syscall::gettid()).is_some_and(|at| range.contains(&at));
        // SAFETY: valid locks.
        unsafe {
            assert!(!found());
            libc::pthread_mutex_lock(&mut l.0);
            assert!(found());
            assert_eq!(of(syscall::gettid() + 1), None, "another's");
            libc::pthread_mutex_unlock(&mut l.0);
            assert!(!found());
            libc::pthread_rwlock_wrlock(&mut l.1);
            assert!(found());
            libc::pthread_rwlock_unlock(&mut l.1);
            assert!(!found());
        }
    }

    #[test]
    fn numbers_that_are_no_locks() {
        let cut_off = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        let bytes = |words: &[u32]| [cut_off(words), vec![0; 40 - 4 * words.len()]].concat();
        assert_eq!(in_bytes(&bytes(&[1, 0, 77, 1, 0, 0]), &[77]), Some(8));
        assert_eq!(in_bytes(&bytes(&[0, 0, 77, 1, 0, 0]), &[77]), None, "free");
        assert_eq!(in_bytes(&bytes(&[1, 0, 77, 0, 0, 0]), &[77]), None, "no user");
        assert_eq!(in_bytes(&bytes(&[1, 0, 77, 1, 4096, 0]), &[77]), None, "no kind");
        assert_eq!(in_bytes(&bytes(&[1, 0, 78, 1, 0, 0]), &[77]), None, "another's");
        assert_eq!(in_bytes(&bytes(&[77 | 1 << 31, 1, 77, 1, 16, 0]), &[77]), Some(8), "robust");
        assert_eq!(in_bytes(&bytes(&[1, 1, 77, 1, 1, 0]), &[77]), Some(8), "recursive");
        assert_eq!(in_bytes(&bytes(&[1, 0, 77, 1, 1, 0]), &[77]), None, "recursive, and never taken");
        assert_eq!(in_bytes(&bytes(&[1, 2, 77, 4, 5, 6, 7, 8, 9, 10]), &[77]), None, "numbers in a row");
        assert_eq!(
            in_bytes(&bytes(&[1, 0, 77, 1, 0, 0, 7, 0, 0, 0]), &[77]),
            None,
            "in a list, and not robust"
        );
        assert_eq!(in_bytes(&cut_off(&[77, 77, 77]), &[77]), None, "cut off");
        let writer = |first: [u32; 4]| {
            in_bytes(&cut_off(&[&first[..], &[0, 0, 77, 0, 0, 0, 0, 0, 0, 0]].concat()), &[77])
        };
        assert_eq!(writer([3, 0, 1, 1]), Some(24), "held for writing");
        assert_eq!(writer([3 | 2 << 3, 1, 3, 3]), Some(24), "two readers and a writer wait");
        assert_eq!(writer([u32::MAX, u32::MAX, 0x7fff, 0]), None, "words of a stack");
    }
}
