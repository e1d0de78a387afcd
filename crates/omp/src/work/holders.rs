//! Who has a batch that others can take from, in short loops of teams of many.
//!
//! A thread that finds the dispenser empty would look at the batches of all others: as many lines as there
//! are threads, for each of them, where mostly nothing is left. So each says whether it has a batch of
//! several chunks: one bit, on the dispenser's own line, which it fetches to take that batch. It sets the bit
//! before it takes its first one, and clears it when it takes a single chunk or finds the dispenser empty.
//! Who finds that empty fetches no line to see who has more, and looks at those batches only.
//!
//! Bits are hints, and relaxed: a chunk that nobody comes for is executed by whose batch it is in. One that
//! is set in vain, perhaps by an earlier loop, costs a look.

use crate::sys::sync::{AtomicU64, Ordering::*, touch};
use core::array::from_fn;

/// Words of bits: with the dispenser's other words they fill a line.
const WORDS: usize = 5;
/// Of more members it is not known.
const KNOWN: u32 = 64 * WORDS as u32;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Holders([AtomicU64; WORDS]);

impl Holders {
    /// Member `me` has a batch of several chunks, or has none any more.
    pub(crate) fn note(&self, me: u32, holds: bool) {
        let Some(word) = self.0.get(me as usize / 64) else { return };
        touch(word);
        let bit = 1 << (me % 64);
        if holds {
            word.fetch_or(bit, Relaxed);
        } else {
            word.fetch_and(!bit, Relaxed);
        }
    }

    /// Those of `n` members, other than `me`, that hold a batch, from the next one on.
    pub(crate) fn others(&self, me: u32, n: u32) -> impl Iterator<Item = u32> {
        // Read once: others may take the line meanwhile.
        let words: [u64; WORDS] = from_fn(|i| {
            if 64 * (i as u32) >= n {
                return 0;
            }
            touch(&self.0[i]);
            self.0[i].load(Relaxed)
        });
        let holds = move |i: &u32| n > KNOWN || words[*i as usize / 64] >> (i % 64) & 1 != 0;
        (1..n).map(move |i| (me + i) % n).filter(holds)
    }
}
