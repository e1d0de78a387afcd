//! Which blocks are busy.

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
    assert_eq!(busy.unarmed(), [(512, 1024), (1536, 2048), (3072, 3584)].map(|r| (r.0 * PAGE, r.1 * PAGE)));
    // Copied in two parts: of the first block all has changed, of the second three quarters, of the last
    // nearly all.
    let entry = |page: u64| {
        let same = (1600..1720).contains(&page) || (3100..3150).contains(&page);
        Entry { page, slot: if same { 7 } else { UNPLACED }, sum: 0 }
    };
    busy.count(&(0..1800).map(entry).collect::<Vec<_>>());
    busy.count(&(1800..4000).map(entry).collect::<Vec<_>>());
    assert_eq!(busy.calm(), [(1536 * PAGE, 2048 * PAGE)]);
}
