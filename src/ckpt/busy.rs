//! Blocks of memory that change from checkpoint to checkpoint. Noting writes to them is in vain and costs the program a fault for every page after
//! every checkpoint. So they are left as they are, written, which means changed, but for a sample of each: while that changes, the
//! block counts as changed. The sample is another part of the block every time.

use super::image::PAGE;
use super::ranges;
use super::tracker::Run;

/// Bytes of a block: what one page of the kernel's tables describes.
const BLOCK: usize = 512 * PAGE;
/// Bytes of its sample.
const SAMPLE: usize = BLOCK / 16;

/// The sample that checkpoint `number` arms of the block at `start`.
fn sample(start: usize, number: u64) -> (usize, usize) {
    // Each part before one again, none next to the one before.
    let at = start + (number as usize * 5) % (BLOCK / SAMPLE) * SAMPLE;
    (at, at + SAMPLE)
}

/// Starts of blocks, in order.
#[derive(Default)]
pub struct Busy {
    /// Those that have been left alone but for their samples.
    sampled: Vec<usize>,
    /// Those that turned out to be busy since.
    found: Vec<usize>,
}

impl Busy {
    /// Looks at the runs of memory before checkpoint `number`; `dense` is what had content when the kernel began to note writes to it.
    pub fn look(&mut self, runs: &[Run], dense: &[(usize, usize)], number: u64) {
        let changed: Vec<_> = runs.iter().filter(|r| r.changed).map(|r| (r.start, r.end)).collect();
        self.found.clear();
        let nearly_all = |(from, to): (usize, usize)| {
            let mut bytes = 0;
            ranges::parts(&changed, from, to, |a, b, changed| bytes += if changed { b - a } else { 0 });
            bytes >= (to - from) / 8 * 7
        };
        for &(from, to) in dense {
            let blocks = (from.next_multiple_of(BLOCK)..).step_by(BLOCK).take_while(|b| b + BLOCK <= to);
            self.found.extend(blocks.filter(|&start| {
                nearly_all((start, start + BLOCK))
                    && (self.sampled.binary_search(&start).is_err() || nearly_all(sample(start, number - 1)))
            }));
        }
    }

    /// What checkpoint `number` does not arm: [start, end), in order.
    pub fn unarmed(&self, number: u64) -> Vec<(usize, usize)> {
        let mut out: Vec<(usize, usize)> = Vec::with_capacity(2 * self.found.len());
        for &start in &self.found {
            let (from, to) = sample(start, number);
            for part in [(start, from), (to, start + BLOCK)] {
                match out.last_mut() {
                    Some(last) if last.1 == part.0 => last.1 = part.1,
                    _ => out.push(part),
                }
            }
        }
        out.retain(|part| part.0 < part.1);
        out
    }

    /// The checkpoint has armed the rest.
    pub fn left_alone(&mut self) {
        core::mem::swap(&mut self.sampled, &mut self.found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: usize, end: usize, changed: bool) -> Run {
        Run { start: start * PAGE, end: end * PAGE, changed, present: true }
    }

    #[test]
    fn blocks_are_busy_where_content_has_changed() {
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
        let mut busy = Busy::default();
        busy.look(&runs, &dense, 2);
        assert_eq!(busy.found, [512 * PAGE, 1536 * PAGE, 3072 * PAGE]);
    }

    /// A block of which a part stops changing is found out when that part is the sample, at the latest after 16 checkpoints.
    #[test]
    fn they_are_busy_while_their_samples_change() {
        let dense = [(0, 2 * BLOCK)];
        let mut busy = Busy::default();
        let mut seen = Vec::new();
        for number in 2..18 {
            busy.look(&[run(0, 1024, true)], &dense, number);
            assert_eq!(busy.found, [0, BLOCK]);
            let unarmed = busy.unarmed(number);
            assert_eq!(unarmed.iter().map(|u| u.1 - u.0).sum::<usize>(), 2 * (BLOCK - SAMPLE));
            busy.left_alone();
            let armed = sample(0, number);
            assert!(unarmed.iter().all(|u| u.1 <= armed.0 || armed.1 <= u.0) && armed.1 <= BLOCK);
            seen.push(armed.0 / SAMPLE);
        }
        seen.sort_unstable();
        assert_eq!(seen, Vec::from_iter(0..16));
        // The sample of checkpoint 17 in the second block is as it was: what is not armed counts as changed all the same.
        let (from, to) = sample(BLOCK, 17);
        let runs =
            [run(0, from / PAGE, true), run(from / PAGE, to / PAGE, false), run(to / PAGE, 1024, true)];
        busy.look(&runs, &dense, 18);
        assert_eq!(busy.found, [0]);
        busy.left_alone();
        // It has been armed as a whole, and changes again.
        busy.look(&[run(0, 1024, true)], &dense, 19);
        assert_eq!(busy.found, [0, BLOCK]);
    }
}
