//! Blocks of memory that change from checkpoint to checkpoint. Noting writes to them is in vain and costs the program a fault for every page after
//! every checkpoint. So they are left as they are, written, which means changed; after some checkpoints they are armed again, to see whether
//! they still change: at first after three, then after twice as many each time.

use super::image::PAGE;
use super::tracker::Run;

/// Bytes of a block: what one page of the kernel's tables describes.
const BLOCK: usize = 512 * PAGE;
/// Changed bytes that make a block a busy one.
const NEARLY_ALL: usize = BLOCK / 8 * 7;
const SHORTEST: u64 = 3;
const LONGEST: u64 = 32;

struct Block {
    start: usize,
    /// The checkpoint by which it is armed again.
    until: u64,
    /// How many checkpoints it was left alone for.
    rest: u64,
}

/// See the module's text. In order.
#[derive(Default)]
pub struct Busy(Vec<Block>);

impl Busy {
    /// Looks at the runs of memory before checkpoint `number`; `dense` is what had content when the kernel began to note writes to it.
    pub fn look(&mut self, runs: &[Run], dense: &[(usize, usize)], number: u64) {
        let mut old = core::mem::take(&mut self.0).into_iter().peekable();
        for start in full(runs, dense) {
            while old.next_if(|b| b.start < start).is_some() {}
            let block = match old.next_if(|b| b.start == start) {
                // It was not armed, so this says nothing.
                Some(b) if number <= b.until => b,
                known => {
                    let rest = known.map_or(SHORTEST, |b| (2 * b.rest).min(LONGEST));
                    Block { start, until: number + rest, rest }
                }
            };
            self.0.push(block);
        }
    }

    /// What checkpoint `number` does not arm: [start, end), in order.
    pub fn unarmed(&self, number: u64) -> Vec<(usize, usize)> {
        let mut out: Vec<(usize, usize)> = Vec::new();
        for b in self.0.iter().filter(|b| number < b.until) {
            match out.last_mut() {
                Some(l) if l.1 == b.start => l.1 += BLOCK,
                _ => out.push((b.start, b.start + BLOCK)),
            }
        }
        out
    }
}

/// The blocks inside of `dense` that have changed nearly as a whole.
fn full(runs: &[Run], dense: &[(usize, usize)]) -> Vec<usize> {
    let mut out = Vec::new();
    let mut changed = runs.iter().filter(|r| r.changed).peekable();
    for &(from, to) in dense {
        let mut start = from.next_multiple_of(BLOCK);
        while start + BLOCK <= to {
            let end = start + BLOCK;
            while changed.next_if(|r| r.end <= start).is_some() {}
            let mut bytes = 0;
            while let Some(r) = changed.peek().filter(|r| r.start < end) {
                bytes += r.end.min(end) - r.start.max(start);
                if r.end > end {
                    break;
                }
                changed.next();
            }
            if bytes >= NEARLY_ALL {
                out.push(start);
            }
            start = end;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: usize, end: usize, changed: bool) -> Run {
        Run { start: start * PAGE, end: end * PAGE, changed, present: true }
    }

    #[test]
    fn blocks_are_full_where_content_has_changed() {
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
        assert_eq!(full(&runs, &dense), [512 * PAGE, 1536 * PAGE, 3072 * PAGE]);
    }

    #[test]
    fn they_rest_longer_and_longer_while_they_change() {
        let dense = [(0, BLOCK)];
        let (all, none) = ([run(0, 512, true)], [run(0, 512, false)]);
        let mut busy = Busy::default();
        let mut armed = Vec::new();
        for number in 1..116 {
            busy.look(&all, &dense, number);
            if busy.unarmed(number).is_empty() {
                armed.push(number);
            }
        }
        assert_eq!(armed, [4, 11, 24, 49, 82, 115]);
        // Armed by the last one, it is seen to have stopped.
        busy.look(&none, &dense, 116);
        assert!(busy.0.is_empty());
    }
}
