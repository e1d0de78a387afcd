//! The log: what was saved comes back.

use super::*;
use proptest::prelude::*;

proptest! {
    /// Whatever is overwritten after it was saved comes back.
    #[test]
    fn what_was_saved_comes_back(
        grids in prop::collection::vec(
            (0usize..64, 1usize..40, 0usize..6, 0usize..6, -9isize..10, -30isize..31),
            0..8,
        ),
        junk: u8,
    ) {
        let mut memory: Vec<u8> = (0..400u32).map(|i| (i * 7) as u8).collect();
        let before = memory.clone();
        let log = Log::default();
        let base = memory.as_mut_ptr() as usize;
        // Each twice: what is there already is saved once.
        for (at, size, n0, n1, s0, s1) in grids.iter().chain(&grids).copied() {
            let g = Grid { start: base + 160 + at, size, count: [n0, n1], stride: [s0, s1] };
            let mut inside = true;
            g.pieces(|p, n| inside &= p >= base && p + n <= base + 400);
            if inside {
                // SAFETY: within `memory`.
                unsafe {
                    if g.count != [1, 1] || !log.save_one(g.start, g.size) {
                        log.save(g);
                    }
                    g.pieces(|p, n| core::ptr::write_bytes(p as *mut u8, junk, n));
                }
            }
        }
        // SAFETY: within `memory`.
        unsafe { log.put_back() };
        prop_assert_eq!(memory, before);
    }
}

/// What was added is subtracted, whatever others have added meanwhile; what was overwritten comes back.
#[test]
fn additions_are_taken_back() {
    let log = Log::default();
    let mut n = [250u64, 3, u64::MAX - 1];
    let at = n.as_mut_ptr() as usize;
    let add = |at: usize, size: usize, value: u64| {
        log.note_addition(at, size, value);
        // SAFETY: within `n`.
        unsafe { addition::add(at, size, value) };
    };
    assert!(!log.has_additions());
    for (at, size, value) in [(at, 1, 9), (at + 16, 8, 5), (at + 12, 4, 7), (at + 10, 2, u64::MAX)] {
        add(at, size, value);
    }
    // SAFETY: within `n`.
    unsafe {
        log.save(Grid { start: at + 8, size: 2, count: [1, 1], stride: [0, 0] });
        ((at + 8) as *mut u16).write(77);
        addition::add(at + 16, 8, 40); // another thread's
    }
    assert!(log.has_additions() && n == [3, 77 | 0xffff << 16 | 7 << 32, 43]);
    assert!(log.reaches(at + 13, 1) && !log.reaches(at + 24, 8));
    // SAFETY: likewise.
    unsafe { log.put_back() };
    assert_eq!(n, [250, 3, 38]);
    assert!(!log.has_additions());
}

#[test]
fn save_points_are_left_out_once_some_have_been_in_vain() {
    let log = Log::default();
    let stops = |yes: bool| {
        log.stop(8);
        let left_out = log.leaves_out(|| yes);
        assert!(log.lost() == 8 && log.has_left_out() == left_out);
        log.clear(|site| assert_eq!(site, 8));
        assert!(log.lost() == 0 && !log.has_left_out() && !log.leaves_out(|| true));
        left_out
    };
    let often = |yes| [stops(yes), stops(yes), stops(yes), stops(yes)];
    assert_eq!(often(true), [false, false, true, true]);
    assert_eq!(often(false), [false; 4], "an idempotent segment is not refused");
    log.clear(|_| ()); // nothing was lost
    assert_eq!(often(true), [false, false, true, true]);
    log.lose(16); // by something that happens now and then
    log.stop(8);
    assert!(!log.leaves_out(|| true));
    log.clear(|site| assert_eq!(site, 16));
    assert_eq!(often(true), [false, false, true, true]);
}

#[test]
fn where_iterations_wait_for_each_other_save_points_are_left_out_until_one_is_taken() {
    let log = Log::default();
    log.goes_without(8);
    assert!(log.is_without() && log.has_left_out() && log.lost() == 8);
    assert!(!log.leaves_out(|| true), "no batch of chunks is taken for that");
    log.takes_points();
    assert!(!log.is_without() && log.has_left_out() && log.lost() == 8, "lost up to the next one");
    log.clear(|site| assert_eq!(site, 8));
    assert!(log.lost() == 0 && !log.has_left_out());
    log.takes_points();
    assert!(!log.has_left_out(), "nothing was left out");
    log.lose(16);
    log.goes_without(8);
    assert!(log.is_without() && log.lost() == 16, "the first reason stays");
    log.clear(|site| assert_eq!(site, 16));
    assert!(!log.is_without());
}

#[test]
fn what_is_saved_again_before_the_next_save_point_is_in_the_log() {
    let (log, words) = (Log::default(), [0u64; 64]);
    let at = |i: usize| core::ptr::from_ref(&words[i]) as usize;
    let row = |i: usize, n: usize| Grid { start: at(i), size: 8, count: [n, 1], stride: [8, 0] };
    let one = |i: usize, size: usize| Grid { start: at(i), size, count: [1, 1], stride: [0, 0] };
    let save = |g: Grid| {
        let had = log.used.get();
        // SAFETY: of `words`, which nobody else has.
        unsafe {
            if g.count != [1, 1] || !log.save_one(g.start, g.size) {
                log.save(g);
            }
        }
        log.used.get() - had
    };
    for _ in 0..3 {
        let all = [one(1, 4), one(1, 8), one(2, 8), row(2, 9), row(2, 10), one(3, 8)];
        for g in all {
            assert!(save(g) > g.length(), "{g:?}");
            assert_eq!(save(g), 0, "{g:?}");
        }
        assert_eq!((save(one(1, 4)), save(one(2, 4))), (0, 0), "parts of what was saved");
        log.clear(|_| ());
        // What was there before an addition that begins the log is of an earlier one.
        log.note_addition(at(60), 8, 1);
        assert!(save(one(1, 8)) > 0 && save(row(2, 9)) > 0);
        log.clear(|_| ());
    }
}

#[test]
fn the_memory_of_a_long_log_is_given_back_when_nothing_is_saved_any_more() {
    let (log, words) = (Log::default(), vec![7u64; KEPT / 8 + 1]);
    let all = Grid { start: words.as_ptr() as usize, size: 8, count: [words.len(), 1], stride: [8, 0] };
    for stops in [false, true, false] {
        // SAFETY: of `words`, which nobody else has.
        unsafe { log.save(all) };
        assert!(log.used.get() > KEPT);
        if stops {
            log.stop(8);
        }
        log.clear(|_| ());
        assert_eq!(log.memory.get().1 > KEPT, !stops);
    }
}

#[test]
fn too_much_is_given_up_and_forgotten_at_the_next_save_point() {
    let log = Log::default();
    // SAFETY: nothing is read of a grid beyond the limit.
    unsafe { log.save(Grid { start: 8, size: usize::MAX, count: [2, 2], stride: [1, 1] }) };
    assert_ne!(log.lost(), 0);
    log.clear(|_| ());
    assert_eq!(log.lost(), 0);
}
