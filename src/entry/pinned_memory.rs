//! Pinned memory: mappings that are locked. What a process may lock is little (`ulimit -l`), so small blocks
//! share pages.

use crate::device::first_fit::Ranges;
use crate::sys::lock::Locked;

const PAGE: usize = 4096;
/// Larger blocks have pages of their own.
const SMALL: usize = PAGE / 2;

/// A page of small blocks.
struct Page {
    base: usize,
    blocks: Ranges,
}

static PAGES: Locked<Vec<Page>> = Locked::new(Vec::new());

/// Zeroed pages that stay in memory; `None` where the system refuses.
fn lock(len: usize) -> Option<usize> {
    let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping, given back where it cannot be locked.
    unsafe {
        let p = libc::mmap(core::ptr::null_mut(), len, prot, flags, -1, 0);
        if p == libc::MAP_FAILED {
            return None;
        }
        if libc::mlock(p, len) != 0 {
            libc::munmap(p, len);
            return None;
        }
        Some(p as usize)
    }
}

/// At least `bytes` zeroed bytes, a multiple of 16, that stay in memory; null where the system refuses.
pub(crate) fn allocate(bytes: usize) -> *mut libc::c_void {
    if bytes > SMALL {
        let len = bytes.checked_next_multiple_of(PAGE);
        return len.and_then(lock).map_or(core::ptr::null_mut(), |p| p as *mut libc::c_void);
    }
    let bytes = bytes.next_multiple_of(16);
    let at = PAGES.with(|pages| {
        if let Some(at) = pages.iter_mut().find_map(|p| p.blocks.take(bytes).map(|at| p.base + at)) {
            // SAFETY: a block that nobody has, of a page of ours.
            unsafe { core::ptr::write_bytes(at as *mut u8, 0, bytes) };
            return Some(at);
        }
        let mut page = Page { base: lock(PAGE)?, blocks: Ranges::new(PAGE) };
        let at = page.blocks.take(bytes)?;
        let base = page.base;
        pages.push(page);
        Some(base + at)
    });
    at.map_or(core::ptr::null_mut(), |p| p as *mut libc::c_void)
}

/// Gives back what [`allocate`] gave for `bytes`.
pub(crate) fn free(base: *mut libc::c_void, bytes: usize) {
    let unmap = |at: usize, len: usize| {
        // SAFETY: a mapping of ours in which no block is used any more.
        unsafe { libc::munmap(at as *mut libc::c_void, len) };
    };
    if bytes > SMALL {
        return unmap(base as usize, bytes.next_multiple_of(PAGE));
    }
    PAGES.with(|pages| {
        let page = base as usize & !(PAGE - 1);
        let Some(i) = pages.iter().position(|p| p.base == page) else { return };
        pages[i].blocks.put(base as usize - page);
        if pages[i].blocks.is_empty() {
            pages.swap_remove(i);
            unmap(page, PAGE);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_blocks_share_a_page() {
        let first = allocate(100);
        if first.is_null() {
            eprintln!("skipped: the system locks no memory here");
            return;
        }
        free(first, 100);
        let blocks: Vec<usize> = (0..20).map(|_| allocate(100) as usize).collect();
        assert!(blocks.iter().all(|b| b & !(PAGE - 1) == blocks[0] & !(PAGE - 1) && b % 16 == 0));
        // SAFETY: blocks of ours.
        unsafe {
            core::ptr::write_bytes(blocks[7] as *mut u8, 0xff, 100);
            free(blocks[7] as *mut libc::c_void, 100);
            let again = allocate(90);
            assert_eq!(again as usize, blocks[7]);
            assert!(core::slice::from_raw_parts(again.cast::<u8>(), 90).iter().all(|&b| b == 0));
            free(again, 90);
        }
        for &b in blocks.iter().filter(|&&b| b != blocks[7]) {
            free(b as *mut libc::c_void, 100);
        }
        PAGES.with(|pages| assert!(pages.is_empty()));
    }
}
