//! Copies of stacks.

/// Copies `len` bytes of a stack to or from its saved copy. Not by `memcpy`: AddressSanitizer replaces that
/// by a function that takes the gaps which it leaves between variables for errors.
///
/// # Safety
/// Both ranges are valid for `len` bytes and do not overlap.
#[inline(always)]
pub unsafe fn copy_stack(from: usize, to: usize, len: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        core::arch::asm!(
            "cmp rcx, 2048",
            "jae 4f",
            "2:",
            "cmp rcx, 64",
            "jb 3f",
            "movups {a}, [rsi]",
            "movups {b}, [rsi + 16]",
            "movups {c}, [rsi + 32]",
            "movups {d}, [rsi + 48]",
            "movups [rdi], {a}",
            "movups [rdi + 16], {b}",
            "movups [rdi + 32], {c}",
            "movups [rdi + 48], {d}",
            "add rsi, 64",
            "add rdi, 64",
            "sub rcx, 64",
            "jmp 2b",
            "3:",
            "cmp rcx, 16",
            "jb 5f",
            "movups {a}, [rsi]",
            "movups [rdi], {a}",
            "add rsi, 16",
            "add rdi, 16",
            "sub rcx, 16",
            "jmp 3b",
            "5:",
            "test rcx, rcx",
            "jz 6f",
            "4:",
            "rep movsb",
            "6:",
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            inout("rsi") from => _, inout("rdi") to => _, inout("rcx") len => _,
            options(nostack)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_copied_whole_and_no_more() {
        let from: Vec<u8> = (0..3000).map(|i| i as u8 | 1).collect();
        for len in (0..=80).chain([127, 128, 129, 255, 290, 2047, 2048, 2049, 2990]) {
            let mut to = vec![0u8; 3000];
            // SAFETY: within the two vectors.
            unsafe { copy_stack(from[3..].as_ptr() as usize, to.as_mut_ptr() as usize, len) };
            assert!(to[..len] == from[3..3 + len] && to[len..].iter().all(|&b| b == 0), "{len}");
        }
    }
}
