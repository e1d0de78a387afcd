//! Guided: a p-th of what is left, not less than the chunk.

#[inline(always)]
pub(super) fn size(left: u64, _total: u64, chunk: u64, threads: u64) -> u64 {
    left.div_ceil(threads).max(chunk)
}
