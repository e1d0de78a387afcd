//! The table of what is present, by itself.

use super::*;

fn table(keys: &[Key]) -> Table {
    let mut t = Table::default();
    for &k in keys {
        let b = t.block(k.0 * 10, false);
        t.insert(k, b, k.0 * 10, 1);
        t.leave(b);
    }
    t
}

fn found(t: &Table, start: usize, bytes: usize) -> Option<Key> {
    t.find(start, bytes).map(|id| t.key(id))
}

#[test]
fn overlaps_are_found() {
    let t = table(&[(100, 200), (200, 300), (400, 400), (500, 600)]);
    for (start, bytes, key) in [
        (100, 100, Some((100, 200))),
        (150, 1, Some((100, 200))),
        (90, 10, None),
        (90, 11, Some((100, 200))),
        (300, 100, None),
        (390, 200, Some((500, 600))),
        (200, 0, Some((200, 300))),
        (300, 0, Some((200, 300))),
        (400, 0, Some((400, 400))),
        (400, 8, None),
        (350, 0, None),
        (600, 0, Some((500, 600))),
    ] {
        assert_eq!(found(&t, start, bytes), key, "{start}+{bytes}");
    }
    assert_eq!(t.exact((200, 300)).map(|id| t.translate(id, 210)), Some(2010));
    assert_eq!((t.exact((200, 290)), t.host(5050), t.host(3000)), (None, Some(550), None));
}

#[test]
fn a_block_goes_with_its_last_range() {
    let mut t = Table::default();
    let b = t.block(4096, false);
    let first = t.insert((10, 20), b, 4096, 1);
    let second = t.insert((30, 40), b, 4160, 1);
    assert!(matches!(t.leave(b), Left::Used));
    assert!(matches!(t.remove(first), Left::Used));
    assert!(matches!(t.remove(second), Left::Free(4096)));
    let own = t.block(1, true);
    assert!(matches!(t.leave(own), Left::Used));
}

#[test]
fn numbers_of_blocks_are_given_anew() {
    let mut t = Table::default();
    let ids: Vec<_> = (0..3).map(|at| t.block(at, false)).collect();
    assert!(matches!(t.leave(ids[1]), Left::Free(1)) && matches!(t.leave(ids[0]), Left::Free(0)));
    let mut anew = [t.block(7, false), t.block(8, false)];
    assert_eq!((t.at(anew[0]), t.at(anew[1]), t.at(ids[2])), (7, 8, 2));
    anew.sort();
    assert_eq!((anew[0], anew[1], t.block(9, false)), (ids[0], ids[1], 3));
}

#[test]
fn members_of_a_structure_have_one_count() {
    let mut t = Table::default();
    let b = t.block(4096, false);
    let ids = [(10, 14), (16, 24), (24, 32)].map(|k| t.insert(k, b, 4096 + k.0 - 10, 1));
    t.join(&ids);
    let other = t.insert((40, 44), b, 4160, 1);
    t.leave(b);
    assert_eq!(t.hold(t.counted(ids[2]), true), Some(10));
    assert_eq!((t.count(ids[1]), t.count(other)), (2, 1));
    assert!(matches!([t.release(ids[0], 1), t.release(ids[1], 1)], [Left::Used, Left::Used]));
    assert_eq!((t.len(), t.key(other)), (1, (40, 44)));
    assert!(matches!(t.remove(other), Left::Free(4096)));
}

#[test]
fn a_directive_holds_a_range_once() {
    let mut t = table(&[(10, 20)]);
    let id = t.exact((10, 20)).expect("there");
    let mut again = || {
        t.begin_directive();
        [t.hold(id, false), t.hold(id, false), t.hold(id, true)]
    };
    assert_eq!([again(), again()], [[Some(10), None, Some(10)]; 2]);
    assert_eq!(t.count(id), 5);
}

proptest::proptest! {
    /// An old number never finds another range: against a plain list of ranges.
    #[test]
    fn as_a_list_of_ranges(steps in proptest::collection::vec((0usize..3, 0usize..40), 1..300)) {
        let (mut t, mut list, mut gone) = (Table::default(), Vec::<(Key, Id)>::new(), Vec::new());
        for (what, n) in steps {
            // Two lengths, so that a later range of another length begins where one began before.
            let key = (64 * (n / 2 + 1), 64 * (n / 2 + 1) + 16 + 32 * (n % 2));
            let there = list.iter().copied().find(|(k, _)| k.0 < key.1 && key.0 < k.1);
            proptest::prop_assert_eq!(t.find(key.0, key.1 - key.0), there.map(|l| l.1));
            let holds = there.filter(|(k, _)| k.1 >= key.1).map(|l| l.1);
            proptest::prop_assert_eq!(t.holding(key.1 - 1), holds);
            match (what, there) {
                (0, None) => {
                    let b = t.block(key.1, false);
                    list.push((key, t.insert(key, b, key.1, n as u64 + 1)));
                    t.leave(b);
                }
                (1, Some((_, id))) => {
                    t.remove(id);
                    list.retain(|l| l.1 != id);
                    gone.push(id);
                }
                _ => {}
            }
            for &(k, id) in &list {
                proptest::prop_assert_eq!((t.key(id), t.device(id), t.count(id) > 0), (k, k.1, true));
            }
            proptest::prop_assert!(gone.iter().all(|&id| t.get(id).is_none()));
        }
    }
}
