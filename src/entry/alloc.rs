//! Memory allocators (OpenMP 5.1, sections 2.13 and 3.13).
//!
//! The program's memory comes from the program's `malloc`. In front of every block lies a header with the original pointer, its
//! size, and the allocator whose pool it counts for. All memory spaces are ordinary memory, as in libgomp on a machine
//! without special ones; pinned memory is not offered.

use super::omp::export;
use crate::complain;
use crate::sys::syscall::exit_group;
use crate::team::thread::current;
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// Handles of predefined allocators are 1 to 8; 0 is the null allocator.
const LAST_PREDEFINED: usize = 8;
const LAST_SPACE: usize = 4;

mod key {
    pub const SYNC_HINT: i32 = 1;
    pub const ALIGNMENT: i32 = 2;
    pub const ACCESS: i32 = 3;
    pub const POOL_SIZE: i32 = 4;
    pub const FALLBACK: i32 = 5;
    pub const FB_DATA: i32 = 6;
    pub const PINNED: i32 = 7;
    pub const PARTITION: i32 = 8;
}

mod value {
    pub const DEFAULT: usize = usize::MAX;
    pub const FALSE: usize = 0;
    pub const TRUE: usize = 1;
    pub const DEFAULT_MEM_FB: usize = 11;
    pub const NULL_FB: usize = 12;
    pub const ABORT_FB: usize = 13;
    pub const ALLOCATOR_FB: usize = 14;
}

/// `omp_alloctrait_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Trait {
    key: i32,
    value: usize,
}

struct Allocator {
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
}

fn own(handle: usize) -> Option<&'static Allocator> {
    // SAFETY: a handle beyond the predefined ones was made by `omp_init_allocator` and not destroyed yet.
    (handle > LAST_PREDEFINED).then(|| unsafe { &*(handle as *const Allocator) })
}

fn default_allocator() -> usize {
    current().task().icvs.get().allocator
}

/// Reads the traits; `None` if one is not valid.
fn make(traits: &[Trait]) -> Option<Allocator> {
    let mut a = Allocator {
        alignment: 1,
        pool_size: usize::MAX,
        used: AtomicUsize::new(0),
        fallback: value::DEFAULT_MEM_FB,
        fb_data: 0,
    };
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
            key::PINNED if v == value::DEFAULT || v == value::FALSE => {}
            key::PINNED if v == value::TRUE => return None,
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
    loop {
        let a = own(handle);
        let align = align.max(a.map_or(1, |a| a.alignment)).max(16);
        let total = size.checked_add(size_of::<Header>() + align);
        if let Some(total) = total
            && a.is_none_or(|a| reserve(a, total))
        {
            // SAFETY: plain libc allocation.
            let base = unsafe { if zeroed { libc::calloc(1, total) } else { libc::malloc(total) } };
            if !base.is_null() {
                let p = (base as usize + size_of::<Header>()).next_multiple_of(align);
                // SAFETY: the header lies between the block's start and `p`.
                unsafe { (p as *mut Header).sub(1).write(Header { base, size, allocator: handle, total }) };
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
        libc::free(h.base);
    }
}

export! {
    /// Section 3.13.2.
    fn omp_init_allocator(space: usize, n: i32, traits: *const Trait) -> usize {
        // SAFETY: the program passes `n` traits.
        let traits = if n > 0 { unsafe { core::slice::from_raw_parts(traits, n as usize) } } else { &[] };
        if space > LAST_SPACE {
            return 0;
        }
        super::guarded(|| make(traits).map_or(0, |a| Box::into_raw(Box::new(a)) as usize))
    }
    /// Section 3.13.3.
    fn omp_destroy_allocator(handle: usize) {
        if handle > LAST_PREDEFINED {
            // SAFETY: made by `omp_init_allocator`; the program is done with it.
            super::guarded(|| drop(unsafe { Box::from_raw(handle as *mut Allocator) }));
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
