//! Signatures of device memory: 128 bits for a piece of up to 16 KiB, in place of a copy of it.
//!
//! Each word is mixed with its place in the piece, one to one; the signature is the sum and the exclusive or
//! of the mixed words. So a difference in one word always shows, and pieces that differ in more words have
//! one signature with a probability below 2^-90. The order of the words does not matter to sum and
//! exclusive or: any number of a device's threads can share the work (cuda/sign.ptx computes the same).

use super::backend::{Addr, Backend, Failed};
use crate::sys::random::{STEP, mix};

/// What is signed at once, at most.
pub(crate) const PIECE: usize = 16 << 10;

/// Sum and exclusive or.
pub(crate) type Signature = [u64; 2];

/// The signature of a piece.
pub(crate) fn of(bytes: &[u8]) -> Signature {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let rest = (!rest.is_empty()).then_some(last);
    let (mut sum, mut or) = (0u64, 0u64);
    for (i, word) in (0u64..).zip(words.iter().chain(&rest)) {
        let m = mix(u64::from_le_bytes(*word).wrapping_add(i.wrapping_mul(STEP)));
        sum = sum.wrapping_add(m);
        or ^= m;
    }
    [sum, or]
}

/// Signatures by the host, of pieces that are brought to it.
pub(crate) fn by_host<B: Backend + ?Sized>(
    device: &B,
    pieces: &[(Addr, usize)],
) -> Result<Vec<Signature>, Failed> {
    let mut here = vec![0u8; PIECE];
    let one = |&(at, bytes): &(Addr, usize)| {
        let piece = here.get_mut(..bytes).ok_or(Failed)?;
        if !device.copy_out(piece.as_mut_ptr() as usize, at, bytes, None) {
            return Err(Failed);
        }
        Ok(of(piece))
    };
    pieces.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_difference_shows(
            data in prop::collection::vec(0u8.., 1..400),
            flips in prop::collection::vec((any::<usize>(), 1u8..), 1..5),
        ) {
            let mut other = data.clone();
            flips.iter().for_each(|(at, mask)| other[at % data.len()] ^= mask);
            prop_assert_eq!(of(&data) == of(&other), data == other);
        }

        #[test]
        fn words_that_change_places_show(
            words in prop::collection::vec(any::<u64>(), 2..50), a: usize, b: usize,
        ) {
            let (a, b) = (a % words.len(), b % words.len());
            let mut other = words.clone();
            other.swap(a, b);
            let bytes = |w: &[u64]| w.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
            prop_assert_eq!(of(&bytes(&words)) == of(&bytes(&other)), words == other);
        }
    }

    /// Sign bits turned over in pairs, which a sum of multiples would not show.
    #[test]
    fn pairs_of_top_bits_show() {
        let zeros = vec![0u8; 800];
        for a in 0..100 {
            for b in a + 1..100 {
                let mut other = zeros.clone();
                (other[8 * a + 7], other[8 * b + 7]) = (128, 128);
                assert_ne!(of(&zeros), of(&other), "{a} {b}");
            }
        }
    }
}
