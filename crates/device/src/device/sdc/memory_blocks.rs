//! The device's memory as a section knows it: blocks with their copies. Small pieces share blocks.

use super::super::backend::Addr;
use super::super::fail;
use super::super::first_fit::Ranges;
use super::Guarded;
use super::section::Section;
use crate::device::signature::Signature;

/// Smaller pieces of memory share blocks of this size.
const SLAB: usize = 1 << 20;
pub(super) const SMALL: usize = 64 << 10;
pub(super) const ALIGN: usize = 256;

/// Memory of the device's own and its copies.
pub(super) struct Block {
    pub(super) bytes: usize,
    /// As it was when the section began; 0 until it is needed.
    pub(super) before: Addr,
    /// Results set aside; 0 where signatures do.
    pub(super) aside: Addr,
    /// Of the pieces of `before`, where they are used, but for those in `unsigned`: from here to there.
    pub(super) signatures: Vec<Signature>,
    pub(super) unsigned: Option<(usize, usize)>,
    /// `before` is what the block was, but for `changed`.
    pub(super) valid: bool,
    pub(super) changed: Vec<(usize, usize)>,
    /// For small pieces.
    pub(super) pieces: Option<Ranges>,
    /// Freed by the program, while a section needs it.
    pub(super) gone: bool,
    /// An image's, never freed.
    pub(super) foreign: bool,
}

impl Block {
    pub(super) fn new(bytes: usize) -> Self {
        let pieces = None;
        Self {
            bytes,
            before: 0,
            aside: 0,
            signatures: Vec::new(),
            unsigned: None,
            valid: false,
            changed: Vec::new(),
            pieces,
            gone: false,
            foreign: false,
        }
    }
    /// The part that can hold anything.
    pub(super) fn used(&self) -> usize {
        self.pieces.as_ref().map_or(self.bytes, Ranges::top)
    }

    /// Bytes of its copies.
    pub(super) fn kept(&self) -> usize {
        self.bytes * [self.before, self.aside].iter().filter(|&&copy| copy != 0).count()
    }

    /// This part of `before` is new.
    pub(super) fn renewed(&mut self, from: usize, bytes: usize) {
        let (lo, hi) = self.unsigned.unwrap_or((from, from));
        self.unsigned = Some((lo.min(from), hi.max(from + bytes)));
    }
}

impl Guarded {
    /// Copies of a block for the two ends of a section; false if there is no memory for them.
    pub(super) fn provide(&self, block: &mut Block, signs: bool) -> bool {
        let get = |copy: &mut Addr| {
            if *copy == 0 {
                *copy = self.inner.alloc(block.bytes).unwrap_or(0);
            }
            *copy != 0
        };
        get(&mut block.before) && (signs || get(&mut block.aside))
    }

    /// There is no memory for the copies of a block: one of each is enough with signatures.
    pub(super) fn is_short(&self, s: &mut Section, bytes: usize) {
        if self.give_up_copies(s) {
            return;
        }
        let copies = if s.signs { "copy" } else { "two copies" };
        fail(format_args!(
            "no memory left on device {} for the {copies} of {bytes} bytes that PROMP_SDC needs \
             (PROMP_SDC=off runs without)",
            self.number
        ));
    }

    /// Memory of the device's own for the program, if need be in place of copies.
    pub(super) fn obtain(&self, s: &mut Section, bytes: usize) -> Option<Addr> {
        self.inner.alloc(bytes).or_else(|| self.give_up_copies(s).then(|| self.inner.alloc(bytes)).flatten())
    }

    /// Memory changed outside of a section.
    pub(super) fn note_change(s: &mut Section, to: Addr, bytes: usize) {
        if let Some((&at, b)) = s.blocks.range_mut(..=to).next_back()
            && to < at + b.bytes
        {
            // Many small changes are one large one.
            if b.changed.len() >= 32 {
                b.valid = false;
                b.changed.clear();
            }
            if b.valid {
                b.changed.push((to - at, bytes.min(b.bytes - (to - at))));
            }
        }
    }

    /// A piece of a shared block.
    pub(super) fn small(&self, s: &mut Section, bytes: usize) -> Option<Addr> {
        let open = s.open;
        for (&at, b) in &mut s.blocks {
            let Some(pieces) = &mut b.pieces else { continue };
            let top = pieces.top();
            let Some(from) = pieces.take(bytes) else { continue };
            let grown = pieces.top() - top;
            // What was never used before is in no copy of the block yet.
            if grown > 0 && open {
                self.copies(&[(b.before + top, at + top, grown)]);
                b.renewed(top, grown);
            } else if grown > 0 && b.valid {
                b.changed.push((top, grown));
            }
            return Some(at + from);
        }
        let at = self.obtain(s, SLAB)?;
        let mut block = Block::new(SLAB);
        let mut pieces = Ranges::new(SLAB);
        let from = pieces.take(bytes)?;
        block.pieces = Some(pieces);
        self.enter(s, at, block);
        Some(at + from)
    }

    pub(super) fn enter(&self, s: &mut Section, at: Addr, mut block: Block) {
        if s.open {
            // Whatever is in it now is what it has each time the section runs.
            while !self.provide(&mut block, s.signs) {
                self.is_short(s, block.bytes);
            }
            self.copies(&[(block.before, at, block.bytes)]);
            block.renewed(0, block.bytes);
            block.valid = true;
        }
        s.blocks.insert(at, block);
    }

    pub(super) fn release(&self, s: &mut Section, at: Addr) {
        if let Some(b) = s.blocks.remove(&at) {
            for memory in [at, b.before, b.aside] {
                if memory != 0 && !self.inner.free(memory) {
                    self.failed();
                }
            }
        }
    }
}
