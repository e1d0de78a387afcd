//! The environment, without the lock and the memory of std's own.

use std::ffi::CStr;

/// Names of variables are shorter.
const LONGEST_NAME: usize = 64;

/// The value of an environment variable, as libgomp takes it. Runs before any allocation of std's own
/// environment lock.
pub fn get(name: &str) -> Option<String> {
    let mut bytes = [0; LONGEST_NAME];
    bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    let c = CStr::from_bytes_until_nul(&bytes).ok()?;
    // SAFETY: getenv returns null or a C string that nobody changes during initialisation.
    let p = unsafe { libc::getenv(c.as_ptr()) };
    // SAFETY: as above.
    (!p.is_null()).then(|| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned())
}

/// Was the program started with more rights than its user has?
pub fn secure() -> bool {
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Is the variable set? Needs no memory: asked when the library is loaded.
pub fn is_set(name: &CStr) -> bool {
    // SAFETY: getenv on a C string.
    unsafe { !libc::getenv(name.as_ptr()).is_null() }
}

/// Is a variable set whose name begins so? Needs no memory either.
pub fn any_begins_with(what: &[u8]) -> bool {
    any(|line| line.to_bytes().starts_with(what))
}

/// Does `is` hold for a line of the environment? They are asked in order, as far as to the first.
pub fn any(mut is: impl FnMut(&CStr) -> bool) -> bool {
    unsafe extern "C" {
        static environ: *const *const libc::c_char;
    }
    // SAFETY: null, or a list of C strings with null at its end, which nobody changes while a library is
    // loaded or the runtime is initialised.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            if is(CStr::from_ptr(*at)) {
                return true;
            }
            at = at.add(1);
        }
    }
    false
}
