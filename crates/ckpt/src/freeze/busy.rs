//! Blocks of memory that change from checkpoint to checkpoint. Noting writes to them is in vain: it costs the program a fault for every page after
//! every checkpoint, and has the kernel take its huge pages apart. So they are left as they are, written, which means changed. What has
//! not changed is found out by the checksums of what is copied; a block of which much has not is armed again.

use crate::image::{Entry, PAGE};
use crate::pages::UNPLACED;
use crate::ranges;
use crate::tracker::{Run, changed};

/// Bytes of a block: what one page of the kernel's tables describes, and a huge page.
pub(crate) const BLOCK: usize = 512 * PAGE;

/// Seven eighths of a block.
const NEARLY_ALL: usize = BLOCK / 8 * 7;

/// Has so much of a block not changed, of which `changed` pages have, that writes to it are worth noting?
pub(crate) fn is_calm(changed: usize) -> bool {
    changed * PAGE < NEARLY_ALL
}

struct Block {
    start: usize,
    /// Changed pages in what has been copied of it.
    changed: usize,
}

/// See the module's text. In order.
#[derive(Default)]
pub(crate) struct Busy(Vec<Block>);

impl Busy {
    /// Those among the runs of memory that have changed nearly as a whole, as far as the kernel knows; `dense` is what had content when
    /// writes to it were first noted.
    pub(crate) fn look(runs: &[Run], dense: &[(usize, usize)]) -> Self {
        let changed = changed(runs);
        let is_busy = |start: &usize| {
            let mut bytes = 0;
            ranges::parts(&changed, *start, start + BLOCK, |a, b, is| bytes += if is { b - a } else { 0 });
            bytes >= NEARLY_ALL
        };
        let blocks = dense.iter().flat_map(|&(from, to)| {
            (from.next_multiple_of(BLOCK)..).step_by(BLOCK).take_while(move |b| b + BLOCK <= to)
        });
        Self(blocks.filter(is_busy).map(|start| Block { start, changed: 0 }).collect())
    }

    /// Where they begin.
    pub(crate) fn starts(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|b| b.start)
    }

    /// What is not armed: [start, end), in order.
    pub(crate) fn unarmed(&self) -> Vec<(usize, usize)> {
        ranges::joined(self.starts().map(|start| (start, start + BLOCK)))
    }

    /// `entries`, in order, are of pages that have been copied.
    pub(crate) fn count(&mut self, entries: &[Entry]) {
        let first = |address: usize| entries.partition_point(|e| e.page < (address / PAGE) as u64);
        for b in &mut self.0 {
            let pages = &entries[first(b.start)..first(b.start + BLOCK)];
            b.changed += pages.iter().filter(|e| e.slot == UNPLACED).count();
        }
    }

    /// What is in `ranges`, in order, is somebody else's affair.
    pub(crate) fn forget(&mut self, ranges: &[(usize, usize)]) {
        self.0.retain(|b| !ranges::meet(ranges, b.start, b.start + BLOCK));
    }

    /// When all has been copied: blocks that are not busy any more. They are to be armed: [start, end), in order.
    pub(crate) fn calm(self) -> Vec<(usize, usize)> {
        let calm = self.0.into_iter().filter(|b| is_calm(b.changed));
        ranges::joined(calm.map(|b| (b.start, b.start + BLOCK)))
    }
}

#[cfg(test)]
mod tests;
