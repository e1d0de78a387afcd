//! Guards: pages that nobody may touch, whatever their mapping allows (MADV_GUARD_INSTALL, Linux 6.13). The
//! kernel tells of them since 6.15.

use crate::maps;
use crate::pagemap::{GUARD, Pagemap, Question, Region};
use crate::ranges;
use crate::sys;

/// libc has no names for these yet.
const INSTALL: i32 = 102;
/// See [`INSTALL`].
const REMOVE: i32 = 103;
/// What the kernel says EINVAL to.
const UNKNOWN: i32 = -1;

/// What is said to the kernel for `advice`. To install guards in a file's mapping to which it notes writes it
/// tries for ever (seen with Linux 6.18): there it is what Linux before 6.15 says EINVAL to, too.
pub fn may_be(advice: i32, at: usize) -> i32 {
    let of_file = advice == INSTALL && maps::find(&maps::all(), at).is_some_and(|m| m.inode != 0);
    if of_file { UNKNOWN } else { advice }
}

/// A piece of memory: [start, end).
type Range = (usize, usize);

/// Guards in `asked`, in order; none where the kernel does not tell.
pub fn among(pagemap: &Pagemap, asked: impl Iterator<Item = Range>) -> Vec<Range> {
    let question = Question { all: GUARD, tell: GUARD, ..Question::default() };
    let mut found = Vec::new();
    for (start, end) in asked {
        let mut at = start as u64;
        while at < end as u64 {
            let mut regions = [Region::default(); 64];
            let Ok((told, reached)) = pagemap.ask((at, end as u64), 0, question, &mut regions) else { break };
            found.extend(told.iter().map(|r| (r.start as usize, r.end as usize)));
            at = reached;
        }
    }
    ranges::ordered(found)
}

/// Memory that has the guards `have` gets those that it is to have, `want`; both in order. What is locked
/// gets none: it is locked no more then. The error: where that is not possible, and the system's.
pub fn change(have: &[Range], want: &[Range]) -> Result<(), (usize, isize)> {
    for (ranges, how) in [(ranges::without(have, want), REMOVE), (ranges::without(want, have), INSTALL)] {
        for (start, end) in ranges {
            // SAFETY: memory of the program, whose threads are frozen; what has guards has no content.
            let advise = || unsafe { sys!(libc::SYS_madvise, start, end - start, how) };
            let mut r = advise();
            if how == INSTALL && r == -(libc::EINVAL as isize) {
                // SAFETY: as above.
                unsafe { sys!(libc::SYS_munlock, start, end - start) };
                r = advise();
            }
            if r < 0 {
                return Err((start, r));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall;

    #[test]
    fn guards_are_found_and_changed() {
        const PAGE: usize = 4096;
        let (at, pagemap) = (syscall::map_anonymous(16 * PAGE).expect("memory") as usize, Pagemap::open());
        let pages = |from: usize, to: usize| (at + from * PAGE, at + to * PAGE);
        let found = || among(&pagemap, [pages(0, 8), pages(8, 16)].into_iter());
        let (first, second) = ([pages(2, 4), pages(7, 9)], [pages(0, 1), pages(3, 5), pages(7, 9)]);
        if change(&[], &first).is_err() || found().is_empty() {
            println!("SKIPPED: the kernel has no guards, or does not tell of them");
            return;
        }
        assert_eq!(found(), first);
        change(&first, &second).expect("guards");
        assert_eq!(found(), second);
        change(&second, &[]).expect("none");
        // SAFETY: memory of this test's. Where nothing may be locked this is the same again.
        unsafe { sys!(libc::SYS_mlock, at, 16 * PAGE) };
        change(&[], &first).expect("guards in locked memory");
        assert_eq!(found(), first);
        change(&first, &[]).expect("none");
        assert!(found().is_empty());
        assert_eq!(change(&[], &[(64, 4096)]).map_err(|e| e.0), Err(64));
    }
}
