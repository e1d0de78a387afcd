//! The device's memory as a section knows it: blocks with their two copies. Small pieces share blocks.

use super::super::backend::Addr;
use super::super::fail;
use super::super::ranges::Ranges;
use super::Guarded;
use super::section::Section;

/// Smaller pieces of memory share blocks of this size.
const SLAB: usize = 1 << 20;
pub(super) const SMALL: usize = 64 << 10;
pub(super) const ALIGN: usize = 256;

/// Memory of the device's own and its two copies.
pub(super) struct Block {
    pub(super) bytes: usize,
    /// As it was when the section began; 0 until it is needed.
    pub(super) before: Addr,
    /// Results set aside.
    pub(super) aside: Addr,
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
}

impl Guarded {
    /// Copies of a block for the two ends of a section.
    pub(super) fn provide(&self, block: &mut Block) {
        let bytes = block.bytes;
        for copy in [&mut block.before, &mut block.aside] {
            if *copy == 0 {
                *copy = self.inner.alloc(bytes).unwrap_or_else(|| {
                    fail(format_args!(
                        "no memory left on device {} for the two copies of {bytes} bytes that PROMP_SDC \
                         needs \
                         (PROMP_SDC=off runs without)",
                        self.number
                    ))
                });
            }
        }
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
            } else if grown > 0 && b.valid {
                b.changed.push((top, grown));
            }
            return Some(at + from);
        }
        let at = self.inner.alloc(SLAB)?;
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
            self.provide(&mut block);
            self.copies(&[(block.before, at, block.bytes)]);
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
