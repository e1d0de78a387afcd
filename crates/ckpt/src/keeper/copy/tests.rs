//! What is copied, and what an index is made of.

use super::*;

/// Pages 0 to 20 are in the last index but for 4; 3 to 8 and 10 were noted ahead, of which 3, 5, 6 were
/// written and 7 was empty; 12 to 15 changed.
#[test]
fn an_index_of_what_was_where() {
    let entry = |page, slot| Entry { page, slot, sum: page };
    let old: Vec<Entry> = (0..20).filter(|&p| p != 4).map(|p| entry(p, 100 + p)).collect();
    let entries = [(3, 203), (5, 205), (6, 206), (7, EMPTY)].map(|(page, slot)| entry(page, slot)).to_vec();
    let mut ahead = Ahead::default();
    (ahead.noted, ahead.entries) = (vec![(3, 8), (10, 11)], entries);
    let mut held = Held::new(ahead, Busy::default());
    assert_eq!(held.unchanged(0, 12)[..], [(4, 5), (10, 11)]);
    assert!(held.unchanged(15, 18).is_empty());
    held.done = vec![entry(12, 300), entry(4, 301), entry(10, 302)]; // what was staged, written
    let index = held.index(&old);
    let want = [(0, 100), (1, 101), (2, 102), (3, 203), (4, 301), (5, 205), (6, 206), (8, 108)];
    let rest = [(9, 109), (10, 302), (11, 111), (12, 300), (15, 115), (16, 116), (17, 117)];
    let slots: Vec<_> = index.iter().map(|e| (e.page, e.slot)).collect();
    assert_eq!(slots, [&want[..], &rest].concat());
}

#[test]
fn a_list_is_copied_load_by_load() {
    let how = Reading { source: Source::Door, must: true, anonymous: true, compare: false };
    let mut list = List::default();
    for pages in [(3, 8), (9, 9), (20, 21), (21, 30)] {
        list.add(pages, how);
    }
    let all: Vec<(u64, usize)> = (3..8).chain(20..30).zip(0..).collect();
    for room in 1..20 {
        let loads: Vec<_> = list.loads(room).collect();
        assert!(loads.iter().all(|load| load.len() <= room) && loads.len() == all.len().div_ceil(room));
        let copied = loads.into_iter().flat_map(|load| list.pages(load).map(|p| (p.0, p.1)));
        assert_eq!(copied.collect::<Vec<_>>(), all);
    }
}
