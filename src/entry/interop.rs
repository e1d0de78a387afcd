//! Interoperability objects (OpenMP 6.0, chapter 26). The host has no foreign runtime, so its objects are
//! `omp_interop_none`, of which there is nothing to know but what the routines' arguments mean.

use super::omp::export;
use crate::save::{self, SaveKind};
use crate::stub;
use crate::task::{depend, spawn};
use crate::team::thread::current;
use core::ffi::{CStr, c_char};
use core::ptr::{null, null_mut};

/// The properties: from −1 down.
const PROPERTIES: [&CStr; 9] = [
    c"fr_id",
    c"fr_name",
    c"vendor",
    c"vendor_name",
    c"device_num",
    c"platform",
    c"device",
    c"device_context",
    c"targetsync",
];

/// Return codes.
mod code {
    pub(super) const EMPTY: i32 = -1;
    pub(super) const OUT_OF_RANGE: i32 = -2;
}

/// What return codes mean: from 1 down.
const MEANINGS: [&CStr; 7] = [
    c"no meaningful value available",
    c"successful",
    c"provided interoperability object is equal to omp_interop_none",
    c"property ID is out of range",
    c"property type is integer; use omp_get_interop_int",
    c"property type is pointer; use omp_get_interop_ptr",
    c"property type is string; use omp_get_interop_str",
];

fn text_or_null(list: &[&'static CStr], index: i32) -> *const c_char {
    usize::try_from(index).ok().and_then(|i| list.get(i)).map_or(null(), |s| s.as_ptr())
}

fn name(property: i32) -> *const c_char {
    text_or_null(&PROPERTIES, property.saturating_add(1).saturating_neg())
}

/// Notes why a property has no value.
fn no_value(property: i32, result: *mut i32) {
    // SAFETY: null, or the program's variable.
    if let Some(r) = unsafe { result.as_mut() } {
        *r = if name(property).is_null() { code::OUT_OF_RANGE } else { code::EMPTY };
    }
}

/// The interop construct: objects made, used and destroyed. Done at once, after its dependences.
#[allow(clippy::too_many_arguments)]
extern "C" fn interop(
    _device: i32,
    made: i32,
    objects: *const *mut usize,
    _types: *const i32,
    _prefer: *const *const u8,
    _used: i32,
    _using: *const usize,
    destroyed: i32,
    gone: *const *mut usize,
    _flags: u32,
    depend: *const usize,
) {
    let thr = current();
    if !depend.is_null() {
        // SAFETY: the compiler's argument.
        spawn::wait_for(thr, &unsafe { depend::decode(depend) });
    }
    for (n, list) in [(made, objects), (destroyed, gone)] {
        for i in 0..n.max(0) as usize {
            // SAFETY: the compiler's lists of the program's variables.
            unsafe { **list.add(i) = 0 };
        }
    }
    save::point(thr, SaveKind::After(0));
}

stub! {
    GOMP_interop [5] => interop;
}

/// What Fortran gets for a string: its address and length.
///
/// # Safety
/// `text` is null or a constant, and both results can be written.
pub(super) unsafe fn fortran_string(text: *const c_char, at: *mut *const c_char, len: *mut usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        *at = text;
        *len = if text.is_null() { 0 } else { CStr::from_ptr(text).to_bytes().len() };
    }
}

export! {
    /// Section 26.1: how many properties beyond the specification's the object has.
    fn omp_get_num_interop_properties(_object: usize) -> i32 { 0 }
    /// Section 26.2.
    fn omp_get_interop_int(_object: usize, property: i32, result: *mut i32) -> isize {
        no_value(property, result);
        0
    }
    /// Section 26.3.
    fn omp_get_interop_ptr(_object: usize, property: i32, result: *mut i32) -> *mut u8 {
        no_value(property, result);
        null_mut()
    }
    /// Section 26.4.
    fn omp_get_interop_str(_object: usize, property: i32, result: *mut i32) -> *const c_char {
        no_value(property, result);
        null()
    }
    /// Section 26.5.
    fn omp_get_interop_name(_object: usize, property: i32) -> *const c_char { name(property) }
    /// Section 26.6: what type a property of this object has; of none, nobody can say.
    fn omp_get_interop_type_desc(_object: usize, _property: i32) -> *const c_char { null() }
    /// Section 26.7.
    fn omp_get_interop_rc_desc(_object: usize, result: i32) -> *const c_char {
        text_or_null(&MEANINGS, 1i32.saturating_sub(result))
    }
    /// Fortran.
    fn omp_get_interop_str_(
        at: *mut *const c_char,
        len: *mut usize,
        object: usize,
        property: i32,
        r: *mut i32
    ) {
        // SAFETY: the compiler's variables.
        unsafe { fortran_string(omp_get_interop_str(object, property, r), at, len) }
    }
    /// Fortran.
    fn omp_get_interop_name_(at: *mut *const c_char, len: *mut usize, object: usize, property: i32) {
        // SAFETY: the compiler's variables.
        unsafe { fortran_string(omp_get_interop_name(object, property), at, len) }
    }
    /// Fortran.
    fn omp_get_interop_type_desc_(at: *mut *const c_char, len: *mut usize, object: usize, property: i32) {
        // SAFETY: the compiler's variables.
        unsafe { fortran_string(omp_get_interop_type_desc(object, property), at, len) }
    }
    /// Fortran.
    fn omp_get_interop_rc_desc_(at: *mut *const c_char, len: *mut usize, object: usize, result: i32) {
        // SAFETY: the compiler's variables.
        unsafe { fortran_string(omp_get_interop_rc_desc(object, result), at, len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_at_the_edges() {
        for p in [i32::MIN, -10, 0, 1, i32::MAX] {
            let mut r = 9;
            omp_get_interop_int(0, p, &mut r);
            assert!(r == code::OUT_OF_RANGE && name(p).is_null(), "{p}");
        }
        // SAFETY: constants.
        assert_eq!(unsafe { CStr::from_ptr(name(-9)) }, c"targetsync");
        for r in [i32::MIN, -6, 2, i32::MAX] {
            assert!(omp_get_interop_rc_desc(0, r).is_null(), "{r}");
        }
    }
}
