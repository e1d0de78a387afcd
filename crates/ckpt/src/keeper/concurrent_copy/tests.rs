//! Which blocks are copied while the program runs.

use super::*;

fn map(start: usize, end: usize, prot: i32, inode: u64) -> Map {
    Map { start, end, prot, inode, ..Map::default() }
}

#[test]
fn whole_blocks_of_writable_memory() {
    let b = |n: usize| n * BLOCK;
    let maps =
        [map(b(1), b(10), 3, 0), map(b(10), b(14), 1, 0), map(b(14), b(16), 3, 7), map(b(20), b(30), 3, 0)];
    let run = |start, end, changed, present| Run { start, end, changed, present };
    let runs = [
        run(b(1) + 4096, b(4) - 4096, true, true),
        run(b(4), b(6), false, true),
        run(b(6), b(7), true, false),
        run(b(7), b(8) + 4096, true, true),
        run(b(10), b(16), true, true),
        run(b(20), b(21), true, true),
    ];
    let whole = |everything, least, held: &[_]| whole_blocks(&maps, &runs, everything, least, held);
    let any = usize::MAX;
    assert_eq!(whole(false, (BLOCK, any), &[]), [(0, vec![b(2), b(7)]), (3, vec![b(20)])]);
    assert_eq!(whole(true, (BLOCK, any), &[])[0].1, [b(2), b(4), b(5), b(7)]);
    assert_eq!(whole(false, (2 * BLOCK, any), &[]), [(0, vec![b(2), b(7)])]);
    assert!(whole(false, (3 * BLOCK, any), &[]).is_empty());
    // Two of the six blocks that the first mapping has: less than half of it, unless it is held already.
    assert_eq!(whole(false, (BLOCK, 2), &[]), [(3, vec![b(20)])]);
    assert_eq!(whole(false, (BLOCK, 2), &[(b(1), b(10))])[0], (0, vec![b(2), b(7)]));
    // What is left to be copied in the stop.
    let running = Running { blocks: vec![(b(2), false), (b(7), true)], ..Running::default() };
    let rest = running.rest(runs.to_vec());
    let want = [run(b(1) + 4096, b(2), true, true), run(b(3), b(4) - 4096, true, true), runs[1], runs[2]];
    assert_eq!(rest[..4], want);
    assert_eq!(rest[4..], [run(b(8), b(8) + 4096, true, true), runs[4], runs[5]]);
}
