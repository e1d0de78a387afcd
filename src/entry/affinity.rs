//! Places and the affinity format (OpenMP 5.1, section 3.3).

use super::omp::export;
use crate::icv::{affinity_format, globals};
use crate::sys::lock::Locked;
use crate::team::affinity_text;
use crate::team::hold::guarded;
use crate::team::thread::current;

fn place() -> (u32, u32, u32) {
    current().member().place.get()
}

fn cpus(place: i32) -> &'static [u32] {
    usize::try_from(place).ok().and_then(|p| globals().places.get(p)).map_or(&[], |p| p)
}

/// The places of the current partition.
fn partition() -> impl Iterator<Item = u32> {
    let (off, len, _) = place();
    off..off + len
}

export! {
    /// Section 3.3.2.
    fn omp_get_num_places() -> i32 { globals().places.len() as i32 }
    /// Section 3.3.3.
    fn omp_get_place_num_procs(place: i32) -> i32 { cpus(place).len() as i32 }
    /// Section 3.3.5.
    fn omp_get_place_num() -> i32 { if place().2 == u32::MAX { -1 } else { place().2 as i32 } }
    /// Section 3.3.6.
    fn omp_get_partition_num_places() -> i32 { place().1 as i32 }
    /// Fortran.
    fn omp_get_num_places_() -> i32 { omp_get_num_places() }
    /// Fortran.
    fn omp_get_place_num_() -> i32 { omp_get_place_num() }
    /// Fortran.
    fn omp_get_partition_num_places_() -> i32 { omp_get_partition_num_places() }
}

macro_rules! lists {
    ($($procs_f:ident, $count_f:ident, $nums:ident: $t:ty;)*) => {$(
        /// Section 3.3.4 (Fortran form).
        ///
        /// # Safety
        /// `ids` has room for the place's processors.
        pub(crate) unsafe extern "C" fn $procs_f(place: *const $t, ids: *mut $t) {
            // SAFETY: by the caller's promise.
            unsafe { cpus(*place as i32).iter().enumerate().for_each(|(i, &c)| *ids.add(i) = c as $t) }
        }
        /// Section 3.3.3 (Fortran form).
        ///
        /// # Safety
        /// The argument is readable.
        pub(crate) unsafe extern "C" fn $count_f(place: *const $t) -> i32 {
            // SAFETY: by the caller's promise.
            omp_get_place_num_procs(unsafe { *place } as i32)
        }
        /// Section 3.3.7.
        ///
        /// # Safety
        /// `nums` has room for the partition's places.
        pub(crate) unsafe extern "C" fn $nums(nums: *mut $t) {
            // SAFETY: by the caller's promise.
            unsafe { partition().enumerate().for_each(|(i, p)| *nums.add(i) = p as $t) }
        }
        crate::export_names!($procs_f $count_f $nums);
    )*};
}

lists! {
    omp_get_place_proc_ids_, omp_get_place_num_procs_, omp_get_partition_place_nums_: i32;
    omp_get_place_proc_ids_8_, omp_get_place_num_procs_8_, omp_get_partition_place_nums_8_: i64;
}

/// Section 3.3.4.
///
/// # Safety
/// `ids` has room for the place's processors.
pub(crate) unsafe extern "C" fn omp_get_place_proc_ids(place: i32, ids: *mut i32) {
    // SAFETY: by the caller's promise.
    unsafe { omp_get_place_proc_ids_(&place, ids) }
}

/// Section 3.3.7.
///
/// # Safety
/// `nums` has room for the partition's places.
pub(crate) unsafe extern "C" fn omp_get_partition_place_nums(nums: *mut i32) {
    // SAFETY: by the caller's promise.
    unsafe { omp_get_partition_place_nums_(nums) }
}

static FORMAT: Locked<Option<String>> = Locked::new(None);

fn format() -> String {
    FORMAT.with(|f| f.clone()).unwrap_or_else(|| globals().affinity_format.clone())
}

/// # Safety
/// `p` is null or a string of `len` bytes, or with `usize::MAX` a C string.
unsafe fn text(p: *const u8, len: usize) -> String {
    if p.is_null() {
        return String::new();
    }
    // SAFETY: by the caller's promise.
    let bytes = unsafe {
        let n = if len == usize::MAX { libc::strlen(p.cast()) } else { len };
        core::slice::from_raw_parts(p, n)
    };
    let s = String::from_utf8_lossy(bytes);
    if len == usize::MAX { s.into_owned() } else { s.trim_end_matches(' ').to_string() }
}

/// Copies `s` as a C string into `size` bytes; returns the length it needs.
///
/// # Safety
/// `buf` has `size` bytes.
unsafe fn put_c(s: &str, buf: *mut u8, size: usize) -> usize {
    if size > 0 {
        let n = s.len().min(size - 1);
        // SAFETY: by the caller's promise.
        unsafe {
            core::ptr::copy_nonoverlapping(s.as_ptr(), buf, n);
            *buf.add(n) = 0;
        }
    }
    s.len()
}

/// Copies `s` into a blank-padded Fortran string.
///
/// # Safety
/// `buf` has `size` bytes.
unsafe fn put_f(s: &str, buf: *mut u8, size: usize) -> i32 {
    if size > 0 {
        let n = s.len().min(size);
        // SAFETY: by the caller's promise.
        unsafe {
            buf.write_bytes(b' ', size);
            core::ptr::copy_nonoverlapping(s.as_ptr(), buf, n);
        }
    }
    s.len() as i32
}

fn expand(f: &str) -> String {
    let own;
    let f = if f.is_empty() {
        own = format();
        &own
    } else {
        f
    };
    affinity_format::expand(f, &affinity_text::fields(current()))
}

macro_rules! unsafe_export {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)? $body:block)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        /// The buffers have the lengths given; C strings end in 0.
        pub(crate) unsafe extern "C" fn $name($($arg: $t),*) $(-> $r)? {
            // SAFETY: by the caller's promise.
            guarded(|| unsafe { $body })
        }
        crate::export_names!($name);)*
    };
}

unsafe_export! {
    /// Section 3.3.8.
    fn omp_set_affinity_format(f: *const u8) { let s = text(f, usize::MAX); FORMAT.with(|x| *x = Some(s)); }
    /// Section 3.3.9.
    fn omp_get_affinity_format(buf: *mut u8, size: usize) -> usize { put_c(&format(), buf, size) }
    /// Section 3.3.10.
    fn omp_display_affinity(f: *const u8) {
        let line = expand(&text(f, usize::MAX)) + "\n";
        crate::sys::out::as_the_program(2, line.as_bytes());
    }
    /// Section 3.3.11.
    fn omp_capture_affinity(buf: *mut u8, size: usize, f: *const u8) -> usize {
        put_c(&expand(&text(f, usize::MAX)), buf, size)
    }
    /// Fortran.
    fn omp_set_affinity_format_(f: *const u8, len: usize) { let s = text(f, len); FORMAT.with(|x| *x = Some(s)); }
    /// Fortran.
    fn omp_get_affinity_format_(buf: *mut u8, size: usize) -> i32 { put_f(&format(), buf, size) }
    /// Fortran.
    fn omp_display_affinity_(f: *const u8, len: usize) {
        let line = expand(&text(f, len)) + "\n";
        crate::sys::out::as_the_program(2, line.as_bytes());
    }
    /// Fortran.
    fn omp_capture_affinity_(buf: *mut u8, f: *const u8, size: usize, len: usize) -> i32 {
        put_f(&expand(&text(f, len)), buf, size)
    }
}

crate::export_names! {
    omp_get_place_proc_ids
    omp_get_partition_place_nums
}
