//! Bringing memory into the caches, and keeping it out of them.

use core::arch::x86_64::*;

/// Bytes of a line.
const LINE: usize = 64;

/// Brings the first `lines` cache lines of the memory at `at` into the cache. There need not be any memory.
pub fn fetch(at: usize, lines: usize) {
    for line in 0..lines {
        // SAFETY: a hint; no address faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>((at + line * LINE) as *const i8) };
    }
}

/// Copies past the caches: what is copied to is not read first, which is a third of the work, and nothing of the program's leaves them.
/// Others see it after [`done`] only.
///
/// # Safety
/// `from` can be read and `to` written, `len` bytes; both are aligned to 64 bytes and apart, and `len` is a multiple of that.
pub unsafe fn copy_past(from: *const u8, to: *mut u8, len: usize) {
    debug_assert!((from as usize | to as usize | len).is_multiple_of(LINE));
    let words = LINE / size_of::<__m128i>();
    let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
    for line in (0..len / size_of::<__m128i>()).step_by(words) {
        // SAFETY: by the caller's promise; every x86-64 has SSE2.
        unsafe {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| _mm_load_si128(from.add(line + i)));
            _mm_stream_si128(to.add(line), a);
            _mm_stream_si128(to.add(line + 1), b);
            _mm_stream_si128(to.add(line + 2), c);
            _mm_stream_si128(to.add(line + 3), d);
        }
    }
}

/// What [`copy_past`] has written so far is there before anything that follows: such writes are not ordered by release stores.
pub fn done() {
    // SAFETY: every x86-64 has SSE.
    unsafe { _mm_sfence() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies() {
        #[repr(align(64))]
        struct Page([u8; 4096]);
        let from = Page(core::array::from_fn(|i| (i * 7 + i / 256) as u8));
        let mut to = Page([0; 4096]);
        // SAFETY: as many bytes, aligned.
        unsafe { copy_past(from.0.as_ptr(), to.0.as_mut_ptr(), 4096) };
        done();
        assert_eq!(from.0, to.0);
    }
}
