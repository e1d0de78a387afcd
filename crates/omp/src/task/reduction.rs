//! Task reductions. The compiler describes them in arrays of words that the runtime completes:
//!
//! | word | meaning |
//! |---|---|
//! | 0 | number of variables |
//! | 1 | bytes of one thread's copies |
//! | 2 | alignment; on return the address of the memory, one block a thread |
//! | 4 | next array of the same registration, or 0; on return the last one points to the enclosing registration |
//! | 5 | on return non-zero in the first array of a registration |
//! | 6 | on return the end of the memory |
//! | 7+3i, 8+3i | address of variable i, its offset in a thread's block |

use super::taskgroup;
use crate::complain;
use crate::observe::event::Sync;
use crate::sys::syscall::exit_group;
use crate::team::thread::Thread;
use std::alloc::{Layout, alloc_zeroed, dealloc};

/// Registers `data` in front of `outer`. With `shared`, another thread has registered the same construct already and
/// its memory is used.
///
/// # Safety
/// `data` (and `shared`) point to chains in the format above; `outer` is 0 or a registered one.
unsafe fn register(data: usize, outer: usize, shared: usize, threads: u32) {
    let mut d = data as *mut usize;
    let mut first = shared as *const usize;
    // SAFETY: the chain's words, by the caller's promise.
    unsafe {
        loop {
            if first.is_null() {
                let size = *d.add(1) * threads as usize;
                let layout =
                    Layout::from_size_align(size.max(1), (*d.add(2)).max(8)).expect("alignment of a C type");
                let p = alloc_zeroed(layout) as usize;
                // The layout is needed again when the memory is freed.
                *d.add(3) = layout.align();
                *d.add(2) = p;
                *d.add(6) = p + size;
            } else {
                *d.add(2) = *first.add(2);
                *d.add(3) = *first.add(3);
                *d.add(6) = *first.add(6);
                first = *first.add(4) as *const usize;
            }
            *d.add(5) = 0;
            if *d.add(4) == 0 {
                *d.add(4) = outer;
                break;
            }
            d = *d.add(4) as *mut usize;
        }
        *(data as *mut usize).add(5) = 1;
    }
}

/// `GOMP_taskgroup_reduction_register`: for the current task's taskgroup.
///
/// # Safety
/// See [`register`].
pub unsafe fn register_taskgroup(thr: &'static Thread, data: usize) {
    let g = thr.task().group.get().expect("a reduction is registered inside a taskgroup");
    // SAFETY: by the caller's promise.
    unsafe { register(data, g.reductions.get(), 0, thr.team().size()) };
    g.reductions.set(data);
}

/// `GOMP_taskgroup_reduction_unregister`: frees the memory of a registration.
///
/// # Safety
/// See [`register`]; nobody uses the memory any more.
pub unsafe fn unregister(data: usize) {
    let mut d = data as *mut usize;
    // SAFETY: registered arrays, each with the memory that `register` allocated.
    unsafe {
        loop {
            let (p, end, align) = (*d.add(2), *d.add(6), *d.add(3));
            if p != 0 {
                dealloc(p as *mut u8, Layout::from_size_align_unchecked((end - p).max(1), align));
                *d.add(2) = 0;
            }
            d = *d.add(4) as *mut usize;
            if d.is_null() || *d.add(5) != 0 {
                break;
            }
        }
    }
}

/// A worksharing construct (or scope) with task reductions begins for `thr`: `first` is the registration of the first
/// thread to come, 0 for that thread itself.
///
/// # Safety
/// See [`register`].
pub unsafe fn begin_workshare(thr: &'static Thread, data: usize, first: usize) {
    let g = taskgroup::start(thr);
    g.workshare.set(true);
    // SAFETY: by the caller's promise.
    unsafe { register(data, g.reductions.get(), first, thr.team().size()) };
    g.reductions.set(data);
}

/// `GOMP_workshare_task_reduction_unregister`: the construct's end, with its barrier unless it was cancelled.
pub fn end_workshare(thr: &'static Thread, cancelled: bool) {
    let data = thr.task().group.get().map_or(0, |g| g.reductions.get());
    taskgroup::end(thr);
    if !cancelled {
        thr.team().synchronise(thr, Sync::Work, false);
    }
    if thr.num() == 0 {
        // SAFETY: registered by `begin_workshare`; all members have passed the barrier or left the construct.
        unsafe { unregister(data) };
    }
}

/// A region with task reductions (`GOMP_parallel_reductions`): registers them before its members exist.
///
/// # Safety
/// See [`register`].
pub unsafe fn begin_region(thr: &'static Thread, data: usize, threads: u32) {
    let outer = thr.task().group.get().map_or(0, |g| g.reductions.get());
    // SAFETY: by the caller's promise.
    unsafe { register(data, outer, 0, threads) };
}

/// `GOMP_task_reduction_remap`: replaces the addresses of reduction variables by the calling thread's copies; for the first
/// `originals` of them the original addresses follow behind the `count` pointers.
///
/// # Safety
/// `ptrs` has `count + originals` words; the registrations are intact.
pub unsafe fn remap(thr: &'static Thread, count: usize, originals: usize, ptrs: *mut usize) {
    let id = thr.num() as usize;
    // A task that is only a call (included_tasks.rs) is in the group of the one around it: it need not be
    // made.
    let chain = thr.task.get().and_then(|t| t.group.get()).map_or(0, |g| g.reductions.get());
    for i in 0..count {
        // SAFETY: by the caller's promise.
        unsafe {
            let ptr = *ptrs.add(i);
            let Some((copy, original)) = find(chain as *const usize, ptr, id) else {
                complain!(
                    "couldn't find matching task_reduction or reduction with task modifier for {ptr:#x}"
                );
                exit_group(1);
            };
            *ptrs.add(i) = copy;
            if i < originals {
                *ptrs.add(count + i) = original;
            }
        }
    }
}

/// The copy of thread `id` and the original address of the variable that `ptr` (an original or any copy) belongs to.
///
/// # Safety
/// `d` is null or a registered chain.
unsafe fn find(mut d: *const usize, ptr: usize, id: usize) -> Option<(usize, usize)> {
    while !d.is_null() {
        // SAFETY: registered arrays.
        unsafe {
            let (n, size, mem, end) = (*d, *d.add(1), *d.add(2), *d.add(6));
            let var = |j: usize| (*d.add(7 + 3 * j), *d.add(8 + 3 * j));
            if let Some((orig, off)) = (0..n).map(var).find(|v| v.0 == ptr) {
                return Some((mem + id * size + off, orig));
            }
            if mem <= ptr && ptr < end {
                let off = (ptr - mem) % size;
                let orig = (0..n).map(var).find(|v| v.1 == off).map_or(0, |v| v.0);
                return Some((mem + id * size + off, orig));
            }
            d = *d.add(4) as *const usize;
        }
    }
    None
}
