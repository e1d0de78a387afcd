//! The control words of floating point arithmetic.

/// The SSE and x87 control words (rounding, exception masks, flush-to-zero).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct FpControl {
    mxcsr: u32,
    x87: u16,
}

impl FpControl {
    /// The calling host's.
    #[inline]
    pub fn read() -> Self {
        let mut c = Self::default();
        // SAFETY: both instructions store to the given words.
        unsafe {
            core::arch::asm!("stmxcsr [{0}]", "fnstcw [{1}]", in(reg) &raw mut c.mxcsr, in(reg) &raw mut
                             c.x87, options(nostack, preserves_flags));
        }
        c
    }
    /// Makes them the calling host's.
    pub fn load(self) {
        // SAFETY: the words were read by `read`, so they are valid.
        unsafe {
            core::arch::asm!("ldmxcsr [{0}]", "fldcw [{1}]", in(reg) &raw const self.mxcsr, in(reg) &raw const
                             self.x87, options(nostack));
        }
    }
}
