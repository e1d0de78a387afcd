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
mod tests {
    use super::*;

    fn run(start: usize, end: usize, changed: bool) -> Run {
        Run { start: start * PAGE, end: end * PAGE, changed, present: true }
    }

    #[test]
    fn blocks_are_busy_while_their_content_changes() {
        let dense = [(100 * PAGE, 3000 * PAGE), (3072 * PAGE, 3584 * PAGE), (4096 * PAGE, 4500 * PAGE)];
        // Blocks from 512, 1024, 1536, 2048 lie in the first, 3072 in the second, none in the third.
        let runs = [
            run(0, 1100, true),
            run(1100, 1500, false),
            run(1500, 1700, true),
            run(1710, 2000, true),
            run(2000, 2048, true),
            run(2048, 2130, true),
            run(2130, 2560, false),
            run(3000, 5000, true),
        ];
        let mut busy = Busy::look(&runs, &dense);
        assert_eq!(
            busy.unarmed(),
            [(512, 1024), (1536, 2048), (3072, 3584)].map(|r| (r.0 * PAGE, r.1 * PAGE))
        );
        // Copied in two parts: of the first block all has changed, of the second three quarters, of the last nearly all.
        let entry = |page: u64| {
            let same = (1600..1720).contains(&page) || (3100..3150).contains(&page);
            Entry { page, slot: if same { 7 } else { UNPLACED }, sum: 0 }
        };
        busy.count(&(0..1800).map(entry).collect::<Vec<_>>());
        busy.count(&(1800..4000).map(entry).collect::<Vec<_>>());
        assert_eq!(busy.calm(), [(1536 * PAGE, 2048 * PAGE)]);
    }
}
