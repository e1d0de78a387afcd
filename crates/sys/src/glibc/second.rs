//! A second promp in the program. Two installations can meet in one: by LD_PRELOAD, LD_LIBRARY_PATH and what
//! it is linked with. The one that comes first in the loader's order answers everybody. The other does
//! nothing at all: both would take checkpoints of the same process.

use crate::out;
use crate::runtimes::{OF_WHOLE, first, wanted};

/// This one's version, as 10000·major + 100·minor + patch.
pub const VERSION: i32 = 10_000 * digits(env!("CARGO_PKG_VERSION_MAJOR"))
    + 100 * digits(env!("CARGO_PKG_VERSION_MINOR"))
    + digits(env!("CARGO_PKG_VERSION_PATCH"));

/// The number that these digits are.
const fn digits(text: &str) -> i32 {
    let (mut n, mut i) = (0, 0);
    while i < text.len() {
        n = 10 * n + (text.as_bytes()[i] - b'0') as i32;
        i += 1;
    }
    n
}

/// Is there another promp, which this one leaves everything to? Says so if it is of another version. To be
/// called when the library is loaded, before all else.
pub fn stands_aside() -> bool {
    let Some(before) = first(|d| d.has(wanted(OF_WHOLE)) && d.has(wanted(c"promp_register_segments"))) else {
        return false;
    };
    let here = stands_aside as *const () as usize;
    if before.0.memory.contains(&here) {
        return false;
    }
    // SAFETY: as it comes first it is the other's function that is found; it answers a number.
    let other = unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"promp_version".as_ptr());
        core::mem::transmute::<*mut libc::c_void, Option<extern "C" fn() -> i32>>(found).map(|f| f())
    };
    if other != Some(VERSION) {
        let own = first(|d| d.memory.contains(&here)).map_or(c"this one", |f| f.1);
        let [other, own] = [before.1, own].map(|p| p.to_str().unwrap_or("?"));
        out::begin();
        say!(
            "two versions of promp are in this program: {other}, which comes first, is used, and {own} is not"
        );
    }
    true
}
