//! What becomes of parts of blocks.

use super::*;

fn work(blocks: &[usize], pool: Pool) -> Work {
    let starts: Vec<_> = blocks.iter().map(|b| (b * BLOCK, false)).collect();
    let mut w = Work::default();
    assert!(w.begin(&starts, None, pool).is_empty());
    w
}

/// Part `part` of a block.
fn at(block: usize, part: usize) -> usize {
    block * BLOCK + part * PART + 5
}

#[test]
fn parts_are_copied_once_and_urgent_ones_first() {
    let mut w = work(&[1, 2, 5, 6, 7], Pool { ready: 9, most: 9, price_ns: 0 });
    let next = |w: &mut Work| w.claim().map(|c| c.parts);
    let block = |i: usize| i * PARTS..(i + 1) * PARTS;
    assert_eq!((next(&mut w), next(&mut w)), (Some(block(0)), Some(block(1))));
    assert_eq!((w.find(at(6, 2)), w.find(at(3, 0)), w.find(at(8, 0))), (Some(3 * PARTS + 2), None, None));
    w.urgent.extend([PARTS, 3 * PARTS + 2]); // one is being copied already
    assert!(w.is_urgent());
    // What is left of its block comes next, the next block, then what is left.
    let (urgent, last) = (3 * PARTS + 2, 3 * PARTS + 3..4 * PARTS);
    assert_eq!([next(&mut w), next(&mut w)], [Some(urgent..urgent + 1), Some(last)]);
    assert_eq!([next(&mut w), next(&mut w)], [Some(block(4)), Some(block(2))]);
    assert_eq!([next(&mut w), next(&mut w)], [Some(3 * PARTS..urgent), None]);
    assert!(!w.waits() && w.moving == 7);
    // All are uncopied until they are not moving any more.
    let mut open = Vec::new();
    w.copied(2 * PARTS, Copied { is_new: false, changed: PART_PAGES }, &mut open);
    assert_eq!(open, [(5 * BLOCK, 5 * BLOCK + PART)]);
    assert!(w.is_uncopied((at(6, 0), at(6, 0) + 1)) && w.is_uncopied((at(5, 0), at(6, 0))));
    assert!(!w.is_uncopied((at(5, 0), at(5, 0) + 1)) && !w.is_uncopied((3 * BLOCK, 5 * BLOCK)));
    assert_eq!(w.begin(&[], None, Pool::default())[1], (5 * BLOCK + PART, 8 * BLOCK));
}

#[test]
fn what_becomes_of_a_part_that_is_copied() {
    let mut w = work(&[4], Pool { ready: 1, most: 1, price_ns: 0 });
    w.parts[1].restless = true;
    w.parts[2].wanted.push(at(4, 2));
    w.parts[4].wanted.push(at(4, 4));
    w.claim().unwrap();
    let all = |is_new| Copied { is_new, changed: PART_PAGES };
    let little = Copied { is_new: false, changed: FEW - 1 };
    let mut open = Vec::new();
    // New; known to go on changing; waited for; not new; little has changed, where somebody waits and where
    // nobody does.
    for (i, c) in [all(true), all(true), all(true), all(false), little, little].into_iter().enumerate() {
        w.copied(i, c, &mut open);
    }
    let part = |i| (4 * BLOCK + i * PART, 4 * BLOCK + (i + 1) * PART);
    let page = at(4, 4) / PAGE * PAGE;
    assert_eq!(open, [part(1), part(2), part(3), (page, page + PAGE)]);
    let states: Vec<_> = w.parts.iter().map(|p| (p.state, p.calm)).collect();
    use State::*;
    assert_eq!(states[..3], [(Kept, false), (Open, false), (Open, false)]);
    assert_eq!(states[3..7], [(Open, false), (Kept, true), (Kept, true), (Moving, false)]);
    // All of the block is opened that is copied.
    assert_eq!(w.open(0, at(4, 0)), (4 * BLOCK, 4 * BLOCK + 6 * PART));
    assert!(w.parts[..6].iter().all(|p| p.state == Open));
}

#[test]
fn of_calm_blocks_a_few_pages_are_opened_until_all_is_kept_again() {
    let mut w = work(&[4, 5], Pool::default());
    for p in &mut w.parts {
        (p.state, p.calm) = (State::Kept, p.start < 5 * BLOCK);
    }
    let at = |n: usize| 4 * BLOCK + n * PAGE;
    for _ in 0..2 {
        (0..SINGLE).for_each(|n| assert_eq!(w.open(0, at(n) + 9), (at(n), at(n + 1))));
        assert_eq!((w.open(0, at(0)), w.parts[0].state), ((at(0), 5 * BLOCK), State::Open));
        assert_eq!((w.open(PARTS, 5 * BLOCK), w.parts[PARTS].state), ((5 * BLOCK, 6 * BLOCK), State::Open));
        w.keep_calm();
        assert_eq!((w.parts[0].state, w.parts[PARTS].state), (State::Kept, State::Open));
    }
    // Whether that was in vain is not known yet.
    assert_eq!(w.balance.opened, 0);
    w.open(0, at(0));
    w.keep_calm();
    assert_eq!(w.balance.opened, 1);
    w.begin(&[(4 * BLOCK, false), (6 * BLOCK, false)], None, Pool::default());
    assert_eq!((w.parts[0].tried, w.parts[PARTS].tried), (SINGLE, 0));
}

#[test]
fn what_is_opened_where_no_block_is() {
    let mut w = work(&[4], Pool::default());
    w.held = vec![(3 * BLOCK + 8 * PAGE, 5 * BLOCK + 8 * PAGE)];
    assert_eq!(w.around(3 * BLOCK + 9 * PAGE + 7), (3 * BLOCK + 8 * PAGE, 4 * BLOCK));
    assert_eq!(w.around(5 * BLOCK), (5 * BLOCK, 5 * BLOCK + 8 * PAGE));
    assert_eq!(w.around(9 * BLOCK + PAGE + 3), (9 * BLOCK + PAGE, 9 * BLOCK + 2 * PAGE));
}
