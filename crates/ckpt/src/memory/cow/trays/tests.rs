//! Who gets which tray.

use super::*;

/// A block's.
fn tray(t: &mut Trays) -> Option<usize> {
    t.has_room().then(|| t.give(PARTS, false)).flatten().map(|(tray, at, n)| {
        assert_eq!((at, n), (0, PARTS));
        t.copied(tray, n);
        tray
    })
}

/// Writes one, which takes so long.
fn write(t: &mut Trays, ns: u64) -> Option<(usize, usize)> {
    t.write().inspect(|(tray, _)| t.written(*tray, ns))
}

#[test]
fn places_are_used_again_rather_than_touched() {
    let mut t = Trays::new(Pool { ready: 2, most: 4, price_ns: 1000 }, (0, 0));
    assert_eq!([tray(&mut t), tray(&mut t), tray(&mut t)], [Some(0), Some(1), None]);
    assert_eq!(write(&mut t, 500), Some((0, PARTS)));
    assert_eq!([tray(&mut t), tray(&mut t)], [Some(0), None]);
    // Writing takes longer than touching memory.
    assert_eq!(write(&mut t, 100_000), Some((1, PARTS)));
    assert_eq!([0; 4].map(|_| tray(&mut t)), [Some(1), Some(2), Some(3), None]);
    assert_eq!(t.used(), 4);
    // Lately it has been faster.
    let mut t = Trays::new(Pool { ready: 2, most: 4, price_ns: 1000 }, (1, 100_000));
    for _ in 0..200 {
        tray(&mut t);
        write(&mut t, 500);
    }
    assert_eq!([tray(&mut t), tray(&mut t), tray(&mut t)], [Some(0), Some(1), None]);
    // But what is being written now does not come to an end.
    t.write().unwrap();
    while !t.has_room() {
        std::thread::yield_now();
    }
}

#[test]
fn parts_for_which_threads_wait_share_a_tray() {
    let mut t = Trays::new(Pool { ready: 3, most: 3, price_ns: 0 }, (0, 0));
    let urgent = |t: &mut Trays| t.give(1, true);
    assert_eq!(urgent(&mut t), Some((0, 0, 1)));
    assert_eq!(t.give(PARTS, false), Some((1, 0, PARTS))); // one of its own
    assert_eq!(t.give(2, false), Some((2, 0, 2)));
    // None is free: it is the one that is open.
    assert_eq!(t.give(2, false), Some((0, 1, 2)));
    for at in 3..PARTS {
        assert_eq!(urgent(&mut t), Some((0, at, 1)));
    }
    assert!(!t.has_room() && urgent(&mut t).is_none());
    // Full is what is copied as a whole, or as far as it has been given away.
    t.copied(0, PARTS - 1);
    assert!(!t.has_full());
    t.copied(2, 2);
    t.copied(0, 1);
    assert_eq!(
        [write(&mut t, 1), write(&mut t, 1), write(&mut t, 1)],
        [Some((2, 2)), Some((0, PARTS)), None]
    );
    // When nothing is left, what is open is closed: at once, or when what has been given away is copied.
    assert_eq!(urgent(&mut t), Some((0, 0, 1)));
    t.close();
    assert!(!t.has_full() && t.has_room());
    t.copied(0, 1);
    assert_eq!(t.write(), Some((0, 1)));
    assert_eq!(urgent(&mut t), Some((2, 0, 1)));
    t.copied(2, 1);
    assert!(!t.has_full());
    t.close();
    assert_eq!(t.write(), Some((2, 1)));
}
