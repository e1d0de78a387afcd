//! Memory allocators (OpenMP 5.1, sections 2.13 and 3.13).
//!
//! The program's memory comes from the program's `malloc`, pinned memory from pinned_memory.rs. In front of
//! every block lies a header with the original pointer, its size, and the allocator whose pool it counts for.
//! All memory spaces are ordinary memory, as in libgomp on a machine without special ones; GNU's managed
//! memory, which devices share, there is none.

use super::omp::export;
use super::pinned_memory;
use crate::complain;
use crate::icv::allocators::FROM_ENVIRONMENT;
use crate::icv::globals;
use crate::sys::lock::Locked;
use crate::sys::syscall::exit_group;
use crate::team::hold::guarded;
use crate::team::thread::current;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Handles of predefined allocators; 0 is the null allocator, those of allocators that the program makes are
/// addresses.
const PINNED: usize = 200;
const MANAGED: usize = 201;
const LEAST_ADDRESS: usize = 4096;
const LAST_SPACE: usize = 4;
/// Memory that host and devices share.
const MANAGED_SPACE: usize = 200;

mod key {
    pub(super) const SYNC_HINT: i32 = 1;
    pub(super) const ALIGNMENT: i32 = 2;
    pub(super) const ACCESS: i32 = 3;
    pub(super) const POOL_SIZE: i32 = 4;
    pub(super) const FALLBACK: i32 = 5;
    pub(super) const FB_DATA: i32 = 6;
    pub(super) const PINNED: i32 = 7;
    pub(super) const PARTITION: i32 = 8;
}

mod value {
    pub(super) const DEFAULT: usize = usize::MAX;
    pub(super) const FALSE: usize = 0;
    pub(super) const TRUE: usize = 1;
    pub(super) const DEFAULT_MEM_FB: usize = 11;
    pub(super) const NULL_FB: usize = 12;
    pub(super) const ABORT_FB: usize = 13;
    pub(super) const ALLOCATOR_FB: usize = 14;
}

/// `omp_alloctrait_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Trait {
    key: i32,
    value: usize,
}

struct Allocator {
    /// Cannot be had.
    managed: bool,
    pinned: bool,
    alignment: usize,
    pool_size: usize,
    used: AtomicUsize,
    fallback: usize,
    fb_data: usize,
}

#[repr(C)]
struct Header {
    base: *mut libc::c_void,
    size: usize,
    allocator: usize,
    total: usize,
    /// Is it pinned memory? Otherwise `malloc` gave it.
    pinned: bool,
    pad: usize,
}

fn own(handle: usize) -> Option<&'static Allocator> {
    match handle {
        PINNED => Some(&GNU_PINNED),
        MANAGED => Some(&GNU_MANAGED),
        FROM_ENVIRONMENT => Some(from_environment()),
        // SAFETY: a handle beyond the predefined ones was made by `omp_init_allocator` and not destroyed yet.
        LEAST_ADDRESS.. => Some(unsafe { &*(handle as *const Allocator) }),
        _ => None,
    }
}

/// The one that OMP_ALLOCATOR describes.
fn from_environment() -> &'static Allocator {
    static MADE: OnceLock<Allocator> = OnceLock::new();
    MADE.get_or_init(|| {
        let d = globals().allocator.clone().unwrap_or_default();
        let traits: Vec<Trait> = d.traits.iter().map(|&(key, value)| Trait { key, value }).collect();
        make(d.space, &traits).unwrap_or_else(plain)
    })
}

/// One without traits.
const fn plain() -> Allocator {
    Allocator {
        managed: false,
        pinned: false,
        alignment: 1,
        pool_size: usize::MAX,
        used: AtomicUsize::new(0),
        fallback: value::DEFAULT_MEM_FB,
        fb_data: 0,
    }
}
static GNU_PINNED: Allocator = Allocator { pinned: true, fallback: value::NULL_FB, ..plain() };
static GNU_MANAGED: Allocator = Allocator { managed: true, ..plain() };

fn default_allocator() -> usize {
    current().task().icvs.get().allocator
}

/// Reads the traits; `None` if one is not valid.
fn make(space: usize, traits: &[Trait]) -> Option<Allocator> {
    if space > LAST_SPACE && space != MANAGED_SPACE {
        return None;
    }
    let mut a = Allocator { managed: space == MANAGED_SPACE, ..plain() };
    for t in traits {
        let v = t.value;
        match t.key {
            key::SYNC_HINT if v == value::DEFAULT || (3..=6).contains(&v) => {}
            key::ALIGNMENT if v == value::DEFAULT => a.alignment = 1,
            key::ALIGNMENT if v.is_power_of_two() => a.alignment = v,
            key::ACCESS if v == value::DEFAULT || (7..=10).contains(&v) => {}
            key::POOL_SIZE if v == value::DEFAULT => a.pool_size = usize::MAX,
            key::POOL_SIZE => a.pool_size = v,
            key::FALLBACK if v == value::DEFAULT => a.fallback = value::DEFAULT_MEM_FB,
            key::FALLBACK if (value::DEFAULT_MEM_FB..=value::ALLOCATOR_FB).contains(&v) => a.fallback = v,
            key::FB_DATA => a.fb_data = v,
            key::PINNED if v == value::DEFAULT || v == value::FALSE => a.pinned = false,
            key::PINNED if v == value::TRUE => a.pinned = true,
            key::PARTITION if v == value::DEFAULT || (15..=18).contains(&v) => {}
            _ => return None,
        }
    }
    Some(a)
}

/// Takes `size` bytes from the allocator's pool.
fn reserve(a: &Allocator, size: usize) -> bool {
    let take = |used: usize| used.checked_add(size).filter(|&n| n <= a.pool_size);
    a.pool_size == usize::MAX || a.used.fetch_update(Relaxed, Relaxed, take).is_ok()
}

fn allocate(align: usize, size: usize, handle: usize, zeroed: bool) -> *mut u8 {
    if size == 0 {
        return core::ptr::null_mut();
    }
    let mut handle = if handle == 0 { default_allocator() } else { handle };
    // What falls back to another allocator is aligned as the one that was asked has promised, too.
    let mut align = align.max(16);
    loop {
        let a = own(handle);
        align = align.max(a.map_or(1, |a| a.alignment));
        let total = size.checked_add(size_of::<Header>() + align);
        if let Some(total) = total
            && a.is_none_or(|a| reserve(a, total))
        {
            let (base, pinned) = match a {
                Some(a) if a.managed => (core::ptr::null_mut(), false),
                Some(a) if a.pinned => (guarded(|| pinned_memory::allocate(total)), true),
                // SAFETY: plain libc allocation.
                _ => (unsafe { if zeroed { libc::calloc(1, total) } else { libc::malloc(total) } }, false),
            };
            if !base.is_null() {
                let p = (base as usize + size_of::<Header>()).next_multiple_of(align);
                let header = Header { base, size, allocator: handle, total, pinned, pad: 0 };
                // SAFETY: the header lies between the block's start and `p`.
                unsafe { (p as *mut Header).sub(1).write(header) };
                return p as *mut u8;
            }
            if let Some(a) = a.filter(|a| a.pool_size != usize::MAX) {
                a.used.fetch_sub(total, Relaxed);
            }
        }
        match a.map_or(value::NULL_FB, |a| a.fallback) {
            value::DEFAULT_MEM_FB => handle = 1,
            value::ABORT_FB => {
                complain!("Out of memory allocating {size} bytes");
                exit_group(1);
            }
            value::ALLOCATOR_FB => handle = a.map_or(0, |a| a.fb_data).max(1),
            _ => return core::ptr::null_mut(),
        }
    }
}

fn free(p: *mut u8) {
    if p.is_null() {
        return;
    }
    // SAFETY: `allocate` put the header in front of every block that it gave.
    unsafe {
        let h = p.cast::<Header>().sub(1).read();
        if let Some(a) = own(h.allocator).filter(|a| a.pool_size != usize::MAX) {
            a.used.fetch_sub(h.total, Relaxed);
        }
        if h.pinned {
            guarded(|| pinned_memory::free(h.base, h.total));
        } else {
            libc::free(h.base);
        }
    }
    if TRACKED.load(Relaxed) > 0 {
        forget(p);
    }
}

/// Blocks that Fortran's allocatable variables have from here, which a later `deallocate` must tell from
/// `malloc`'s.
static BLOCKS: Locked<BTreeSet<usize>> = Locked::new(BTreeSet::new());
/// How many there are.
static TRACKED: AtomicUsize = AtomicUsize::new(0);

fn forget(p: *mut u8) {
    guarded(|| {
        BLOCKS.with(|blocks| {
            if blocks.remove(&(p as usize)) {
                TRACKED.fetch_sub(1, Relaxed);
            }
        })
    });
}

export! {
    /// Section 3.13.2.
    fn omp_init_allocator(space: usize, n: i32, traits: *const Trait) -> usize {
        // SAFETY: the program passes `n` traits.
        let traits = if n > 0 { unsafe { core::slice::from_raw_parts(traits, n as usize) } } else { &[] };
        guarded(|| make(space, traits).map_or(0, |a| Box::into_raw(Box::new(a)) as usize))
    }
    /// Section 3.13.3.
    fn omp_destroy_allocator(handle: usize) {
        if handle >= LEAST_ADDRESS {
            // SAFETY: made by `omp_init_allocator`; the program is done with it.
            guarded(|| drop(unsafe { Box::from_raw(handle as *mut Allocator) }));
        }
    }
    /// Section 3.13.4.
    fn omp_set_default_allocator(handle: usize) {
        let thr = current();
        let mut icvs = thr.task().icvs.get();
        icvs.allocator = if handle == 0 { 1 } else { handle };
        thr.set_icvs(icvs);
    }
    /// Section 3.13.5.
    fn omp_get_default_allocator() -> usize { default_allocator() }
    /// Section 3.13.6.
    fn omp_alloc(size: usize, handle: usize) -> *mut u8 { allocate(1, size, handle, false) }
    /// Section 3.13.6.
    fn omp_aligned_alloc(align: usize, size: usize, handle: usize) -> *mut u8 {
        if align.is_power_of_two() { allocate(align, size, handle, false) } else { core::ptr::null_mut() }
    }
    /// Section 3.13.7.
    fn omp_free(p: *mut u8, _handle: usize) { free(p) }
    /// Section 3.13.8.
    fn omp_calloc(n: usize, size: usize, handle: usize) -> *mut u8 {
        n.checked_mul(size).map_or(core::ptr::null_mut(), |b| allocate(1, b, handle, true))
    }
    /// Section 3.13.8.
    fn omp_aligned_calloc(align: usize, n: usize, size: usize, handle: usize) -> *mut u8 {
        match n.checked_mul(size) {
            Some(b) if align.is_power_of_two() => allocate(align, b, handle, true),
            _ => core::ptr::null_mut(),
        }
    }
    /// Section 3.13.9.
    fn omp_realloc(p: *mut u8, size: usize, handle: usize, free_handle: usize) -> *mut u8 {
        if p.is_null() {
            return allocate(1, size, handle, false);
        }
        if size == 0 {
            free(p);
            return core::ptr::null_mut();
        }
        // SAFETY: a block of ours has its header in front.
        let (old, from) = unsafe { ((*p.cast::<Header>().sub(1)).size, (*p.cast::<Header>().sub(1)).allocator) };
        let _ = free_handle;
        // The old block makes room in its pool for the new one, and takes it back if there is none.
        // SAFETY: as above.
        let total = unsafe { (*p.cast::<Header>().sub(1)).total };
        let pool = own(from).filter(|a| a.pool_size != usize::MAX);
        if let Some(a) = pool {
            a.used.fetch_sub(total, Relaxed);
        }
        let new = allocate(1, size, if handle == 0 { from } else { handle }, false);
        if let Some(a) = pool {
            a.used.fetch_add(total, Relaxed);
        }
        if !new.is_null() {
            // SAFETY: both blocks have at least this many bytes.
            unsafe { core::ptr::copy_nonoverlapping(p, new, old.min(size)) };
            free(p);
        }
        new
    }
    /// The allocate clause.
    fn GOMP_alloc(align: usize, size: usize, handle: usize) -> *mut u8 {
        let p = allocate(align, size, handle, false);
        if p.is_null() && size > 0 {
            complain!("Out of memory allocating {size} bytes");
            exit_group(1);
        }
        p
    }
    /// The allocate clause.
    fn GOMP_free(p: *mut u8, _handle: usize) { free(p) }
    /// A Fortran variable has its memory from here (`-fopenmp-allocators`).
    fn GOMP_add_alloc(p: *mut u8) {
        guarded(|| {
            BLOCKS.with(|blocks| {
                if !p.is_null() && blocks.insert(p as usize) {
                    TRACKED.fetch_add(1, Relaxed);
                }
            })
        });
    }
    /// Has it?
    fn GOMP_is_alloc(p: *mut u8) -> bool {
        TRACKED.load(Relaxed) > 0 && guarded(|| BLOCKS.with(|blocks| blocks.contains(&(p as usize))))
    }
    /// Fortran.
    fn omp_get_default_allocator_() -> usize { default_allocator() }
    /// Fortran.
    fn omp_set_default_allocator_(handle: *const usize) {
        // SAFETY: Fortran passes a reference.
        omp_set_default_allocator(unsafe { *handle })
    }
    /// Fortran.
    fn omp_destroy_allocator_(handle: *const usize) {
        // SAFETY: Fortran passes a reference.
        omp_destroy_allocator(unsafe { *handle })
    }
    /// Fortran.
    fn omp_init_allocator_(space: *const usize, n: *const i32, traits: *const Trait) -> usize {
        // SAFETY: Fortran passes references.
        unsafe { omp_init_allocator(*space, *n, traits) }
    }
    /// Fortran, 8-byte integers.
    fn omp_init_allocator_8_(space: *const usize, n: *const i64, traits: *const Trait) -> usize {
        // SAFETY: Fortran passes references.
        unsafe { omp_init_allocator(*space, (*n).min(i64::from(i32::MAX)) as i32, traits) }
    }
}
