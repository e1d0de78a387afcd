//! Memory in a logical thread for what recovery, which stands above, keeps of it.

use crate::sys::own::Own;
use core::ptr::NonNull;

/// Words of a [`Room`].
const WORDS: usize = 32;

/// Nobody but recovery looks into it: zeros at first, as it was when the thread is used again.
#[derive(Default)]
#[repr(C, align(16))]
pub struct Room(Own<[u64; WORDS]>);

impl Room {
    /// Where it is.
    #[inline(always)]
    pub fn memory(&'static self) -> NonNull<()> {
        NonNull::from(self).cast()
    }
}
