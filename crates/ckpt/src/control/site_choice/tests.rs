//! Tests of places for checkpoints.

use super::*;

const DUE: u64 = 1_000_000;
const PERIOD: u64 = DUE / 20;

impl Places {
    fn come(&self, at: usize, dead: u64, now_ns: u64, due_ns: u64) -> Advice {
        self.visit(at, dead, now_ns, DUE);
        self.advise(now_ns, due_ns, DUE)
    }
}

/// A loop with two places, the second of which has more dead bytes, from `start` on, every period: which
/// are advised, and when, until the first one is.
fn first(start: u64, dead: [u64; 2], apart: u64) -> Option<(usize, u64)> {
    let p = Places::new();
    let mut now = start;
    while now < 2 * DUE {
        for (at, dead, now) in [(7, dead[0], now), (8, dead[1], now + apart)] {
            if p.come(at, dead, now, DUE).here {
                return Some((at, now));
            }
        }
        now += PERIOD;
    }
    None
}

#[test]
fn the_last_visit_in_time_of_the_place_where_most_is_dead() {
    // Within the last iteration before it is due, and what is allowed for.
    let is_last = |when: u64| when <= DUE && when + PERIOD * 6 / 5 > DUE;
    for start in [0, 13, 37, 55, 99].map(|s| s * PERIOD / 100) {
        let (at, when) = first(start, [0, 1 << 20], PERIOD * 2 / 5).unwrap();
        assert!(at == 8 && is_last(when), "{start}: {when}");
        let (at, when) = first(start, [1 << 20, 0], PERIOD * 2 / 5).unwrap();
        assert!(at == 7 && is_last(when), "{start}: {when}");
        // Where there is no difference it is the last of all.
        let (_, when) = first(start, [5, 5], PERIOD * 2 / 5).unwrap();
        assert!(is_last(when), "{start}: {when}");
    }
}

#[test]
fn a_loop_that_has_ended_is_not_waited_for() {
    let p = Places::new();
    for now in [0, 100, 200] {
        p.come(8, 1 << 30, now * 1000, DUE);
    }
    // Another one, whose last visit in time this is.
    for now in [500, 680] {
        assert!(!p.come(7, 0, now * 1000, DUE).here);
    }
    assert!(p.come(7, 0, 900_000, DUE).here);
    // What was noted in a process whose clock was ahead.
    let p = Places::new();
    p.come(8, 1 << 30, 1 << 40, DUE);
    p.come(8, 1 << 30, (1 << 40) + 10, DUE);
    assert!(p.come(7, 0, 900_000, DUE).here);
}

#[test]
fn the_next_visit_is_named_one_ahead() {
    let p = Places::new();
    let mut named = None;
    for step in 0..40 {
        for (at, dead, now) in [(7, 0, PERIOD * step), (8, 1 << 20, PERIOD * step + PERIOD * 2 / 5)] {
            if named == Some(()) {
                assert_eq!((at, now), (8, PERIOD * 97 / 5));
                return;
            }
            let advice = p.come(at, dead, now, DUE);
            if step > 2 && advice.next {
                named = Some(());
            }
        }
    }
    panic!("none was named");
}

/// Numbers by chance.
struct Random(u64);

impl Random {
    /// In (0, 1].
    fn part(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// How long an iteration takes, of 1 on average.
#[derive(Clone, Copy, Debug)]
enum Times {
    /// A tenth of deviation, about normal.
    Normal,
    /// Between a half and three halves.
    Even,
    /// One of fifty three times as long.
    Spikes,
    /// Slower and faster by a half, over ten intervals.
    Drift,
    /// Ten of the one kind, ten four times as long.
    Phases,
}

impl Times {
    fn next(self, random: &mut Random, step: u64, now: u64) -> f64 {
        match self {
            Self::Normal => 1.0 + 0.1 * ((0..12).map(|_| random.part()).sum::<f64>() - 6.0),
            Self::Even => 0.5 + random.part(),
            Self::Spikes => (if random.part() < 0.02 { 3.0 } else { 1.0 }) * (0.98 + 0.04 * random.part()),
            Self::Drift => 1.0 + 0.5 * (now as f64 / DUE as f64 * 0.628).sin(),
            Self::Phases => {
                if (step / 10).is_multiple_of(2) {
                    1.0
                } else {
                    4.0
                }
            }
        }
    }
}

/// Checkpoints of a loop with two places, at the second of which more is dead: how many gaps could be no
/// longer than the interval, how many are, and how many intervals went by in all.
fn gaps(seed: u64, times: Times, per_interval: f64, in_region: bool) -> (u64, u64, f64) {
    let mut random = Random(seed | 1);
    let p = Places::new();
    let (mut now, mut last, mut visited, mut named) = (7 * DUE, 7 * DUE, false, false);
    let (mut all, mut kept) = (0, 0);
    for step in 0.. {
        let iteration = times.next(&mut random, step, now) / per_interval;
        for (at, dead, part) in [(7, 0, 0.4), (8, 1 << 20, 0.6)] {
            now += (iteration * part * DUE as f64) as u64;
            // The keeper waits for half an interval more where a place was come to.
            let mut gap = |to: u64, could: bool, last: &mut u64| {
                all += u64::from(could);
                kept += u64::from(could && to - *last <= DUE);
                *last = to;
            };
            while now > last + DUE + if visited { DUE / 2 } else { 0 } {
                let whole = last + DUE + if visited { DUE / 2 } else { 0 };
                gap(whole, visited, &mut last);
                (visited, named) = (false, false);
            }
            visited = true;
            p.visit(at, dead, now, DUE);
            let take = if in_region { named } else { p.advise(now, last + DUE, DUE).here };
            if take {
                let began = now;
                now += (random.part() * DUE as f64 / 200.0) as u64;
                gap(now, true, &mut last);
                let lead = now - began;
                now += (random.part() * DUE as f64 / 200.0) as u64;
                p.stood(now - began, Some(lead));
                visited = false;
            }
            named = in_region && p.advise(now, last + DUE, DUE).next;
        }
        if all >= 1000 {
            return (all, kept, (now - 7 * DUE) as f64 / DUE as f64);
        }
    }
    unreachable!()
}

/// Times vary, and all the same no more than an interval goes by between two checkpoints.
#[test]
fn gaps_are_no_longer_than_the_interval() {
    for in_region in [false, true] {
        for times in [Times::Normal, Times::Even, Times::Spikes, Times::Drift, Times::Phases] {
            let (mut all, mut kept) = (0, 0);
            for per_interval in [2.7, 4.1, 7.3, 15.0, 60.0, 300.0] {
                let (a, k, intervals) = gaps(all + 1, times, per_interval, in_region);
                let what = format!("region {in_region}, {times:?}, {per_interval}");
                // At the price of a few more, where there are visits enough.
                let most = if per_interval < 15.0 || matches!(times, Times::Phases) { 3.0 } else { 1.4 };
                assert!(a as f64 <= most * intervals, "{what}: {a} in {intervals}");
                (all, kept) = (all + a, kept + k);
            }
            assert!(100 * kept >= 99 * all, "region {in_region}, {times:?}: {kept} of {all}");
        }
    }
}
