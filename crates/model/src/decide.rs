//! Decisions from predictions: is a loop worth several threads, which schedule, which chunk, which tile.

use crate::doacross::Nest;
use crate::doall::{Loop, Overheads};
use crate::{Estimate, Kind, Schedule};

/// Which of two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The first is less, beyond doubt.
    First,
    /// The second is.
    Second,
    /// The intervals overlap: only a trial can tell. The first is expected to be less.
    PerhapsFirst,
    /// As above, for the second.
    PerhapsSecond,
}

/// Which of two estimates is less.
pub fn less(first: Estimate, second: Estimate) -> Verdict {
    if first.is_surely_less_than(second) {
        Verdict::First
    } else if second.is_surely_less_than(first) {
        Verdict::Second
    } else if first.mean <= second.mean {
        Verdict::PerhapsFirst
    } else {
        Verdict::PerhapsSecond
    }
}

/// Is the loop worth `p` threads? First: serial.
pub fn parallel(l: &Loop, schedule: Schedule, p: u32, costs: &Overheads) -> Verdict {
    less(l.serial(), l.time(schedule, &vec![1.0; p as usize], costs))
}

/// Something that can be done with a loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// How its iterations are dealt.
    pub schedule: Schedule,
    /// To how many threads.
    pub threads: u32,
}

/// P5's scan: static, dynamic and guided, with chunks of N/(i · p), i = n … 1, each once.
pub fn candidates(total: u64, p: u32, n: u64) -> Vec<Candidate> {
    let of = |kind, chunk| Candidate { schedule: Schedule::new(kind, chunk), threads: p };
    let mut all = vec![of(Kind::Static, 0)];
    for kind in [Kind::Static, Kind::Dynamic, Kind::Guided] {
        let mut chunks: Vec<u64> =
            (1..=n.max(1)).rev().map(|i| (total / (i * u64::from(p.max(1)))).max(1)).collect();
        if kind != Kind::Static {
            chunks.insert(0, 1);
        }
        chunks.dedup();
        all.extend(chunks.into_iter().map(|c| of(kind, c)));
    }
    all
}

/// The candidates with their predicted times on threads of these speeds (the first `threads` of them), the
/// best first. Of equals the one that was named first.
pub fn rank(
    l: &Loop,
    candidates: &[Candidate],
    speeds: &[f64],
    costs: &Overheads,
) -> Vec<(Candidate, Estimate)> {
    let mut all: Vec<_> = candidates
        .iter()
        .filter(|c| c.threads >= 1 && c.threads as usize <= speeds.len())
        .map(|c| (*c, l.time(c.schedule, &speeds[..c.threads as usize], costs)))
        .collect();
    all.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    all
}

/// The whole tile that is best: b* rounded to the better side.
pub fn tile(nest: &Nest, p: u32) -> u64 {
    let b = nest.best_tile(p);
    let (down, up) = (libm::floor(b).max(1.0), libm::ceil(b).max(1.0));
    if nest.time(p, down).mean <= nest.time(p, up).mean { down as u64 } else { up as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::doall::Linear;
    use crate::scaling::Scaling;

    fn the_loop(profile: Profile) -> Loop {
        Loop { profile, scaling: Scaling::fit([(2, &[1.0][..], 1.0), (4, &[1.0][..], 1.0)]), scatter: 0.01 }
    }

    const COSTS: Overheads = Overheads {
        fork: Linear { fixed: 1e-6, each: 0.5e-6 },
        join: Linear { fixed: 0.5e-6, each: 0.0 },
        dispatch: 50e-9,
        line: 100e-9,
        scatter: 0.3,
    };

    #[test]
    fn tiny_loops_stay_serial_and_long_ones_do_not() {
        let of = |ns: f64| {
            parallel(&the_loop(Profile::uniform(100, ns * 1e-9 / 100.0)), Schedule::BLOCKS, 2, &COSTS)
        };
        assert_eq!(of(500.0), Verdict::First);
        assert_eq!(of(100_000.0), Verdict::Second);
        assert!(matches!(of(4_000.0), Verdict::PerhapsFirst | Verdict::PerhapsSecond));
    }

    #[test]
    fn skew_wants_small_chunks_and_evenness_static() {
        // A triangle: iteration i costs i.
        let rates: Vec<_> = (0..64).map(|i| (f64::from(i) * 1e-6, 0.0)).collect();
        let best = |p: &Profile| {
            rank(&the_loop(p.clone()), &candidates(p.total(), 2, 8), &[1.0; 2], &COSTS)[0].0.schedule
        };
        let triangle = best(&Profile::new(640, &rates));
        assert_ne!(triangle, Schedule::BLOCKS);
        assert_eq!(best(&Profile::uniform(100_000, 1e-8)), Schedule::BLOCKS);
        // One slow thread, even iterations: whoever is free takes more.
        let l = the_loop(Profile::uniform(640, 1e-5));
        let slow = rank(&l, &candidates(640, 2, 8), &[1.0, 0.5], &COSTS)[0].0.schedule;
        assert_ne!(slow.kind, Kind::Static);
    }

    #[test]
    fn the_scan_is_the_papers() {
        let c = candidates(64, 2, 4);
        let chunks =
            |k| c.iter().filter(|c| c.schedule.kind == k).map(|c| c.schedule.chunk).collect::<Vec<_>>();
        assert_eq!(chunks(Kind::Static), [0, 8, 10, 16, 32]);
        assert_eq!(chunks(Kind::Dynamic), [1, 8, 10, 16, 32]);
        assert_eq!(candidates(1, 4, 8).iter().filter(|c| c.schedule.kind == Kind::Guided).count(), 1);
    }

    #[test]
    fn tiles_are_whole() {
        let e = Estimate::exact;
        let n = Nest { n1: 8.0, n2: 16.0, t1: e(1.0), t2: e(2.0) };
        let best = (1..=16u64).min_by(|a, b| n.time(2, *a as f64).mean.total_cmp(&n.time(2, *b as f64).mean));
        assert!(
            best == Some(tile(&n, 2))
                || n.time(2, tile(&n, 2) as f64).mean <= 1.05 * n.time(2, best.unwrap() as f64).mean
        );
        assert_eq!(tile(&n, 1), 16);
    }
}
