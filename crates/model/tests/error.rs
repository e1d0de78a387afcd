//! How far predictions lie off, for loops whose every iteration is known: the truth is the schedule carried
//! out iteration by iteration, the prediction comes of a profile as the runtime records it, from chunks that
//! were timed with noise.

use promp_model::choice::{Choice, Deal};
use promp_model::makespan::loads;
use promp_model::{Kind, Profile, Schedule};

const DISPATCH: f64 = 5e-8;
const SIZES: [usize; 3] = [128, 512, 4096];
const SCHEDULES: [&str; 9] = [
    "static",
    "static,1",
    "static,8",
    "dynamic",
    "dynamic,4",
    "dynamic,16",
    "dynamic,64",
    "guided",
    "guided,8",
];

struct Seeded(u64);

impl Seeded {
    /// In [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// Costs of all iterations, by kind of loop.
fn shapes(n: usize) -> Vec<(&'static str, Vec<f64>)> {
    let of = |f: &dyn Fn(usize) -> f64| (0..n).map(|i| 1e-6 * f(i)).collect::<Vec<f64>>();
    let x = n as f64;
    let mut seed = Seeded(n as u64);
    let random: Vec<f64> = (0..n).map(|_| seed.next()).collect();
    vec![
        ("even", of(&|_| 1.0)),
        ("triangle", of(&|i| i as f64 / x)),
        ("upper", of(&|i| 1.0 - i as f64 / x)),
        ("power", of(&|i| 20.0 / (1.0 + i as f64))),
        ("prefix", of(&|i| if i < n / 8 { 8.0 } else { 0.125 })),
        ("alternating", of(&|i| if i % 2 == 1 { 2.0 } else { 0.0625 })),
        ("blocks", of(&|i| if i / (n / 8 + 1) % 2 == 1 { 2.0 } else { 0.0625 })),
        ("ends", of(&|i| if i < n / 16 || i >= n - n / 16 { 6.0 } else { 0.0625 })),
        ("single", of(&|i| if i == n / 2 { 20.0 } else { 0.125 })),
        ("wave", of(&|i| 1.0 + (12.0 * i as f64 / x).sin())),
        ("random", of(&|i| 2.0 * random[i])),
        ("rare", of(&|i| if random[i] > 0.95 { 10.0 } else { 0.3 })),
    ]
}

/// The schedule, iteration by iteration.
fn truth(costs: &[f64], s: Schedule, p: usize) -> f64 {
    let (n, mut at) = (costs.len(), vec![0.0; p]);
    let chunk = s.chunk as usize;
    let sum = |lo: usize, hi: usize| costs[lo..hi].iter().sum::<f64>();
    if s.kind == Kind::Static && chunk == 0 {
        for (t, all) in at.iter_mut().enumerate() {
            let lo = t * (n / p) + t.min(n % p);
            *all = sum(lo, lo + n / p + usize::from(t < n % p)) + DISPATCH;
        }
    } else {
        let (mut lo, mut turn) = (0, 0);
        while lo < n {
            let size = match s.kind {
                Kind::Guided => (n - lo).div_ceil(p).max(chunk),
                _ => chunk.max(1),
            };
            let hi = (lo + size).min(n);
            let first = (0..p).min_by(|a, b| at[*a].total_cmp(&at[*b])).expect("threads");
            let t = if s.kind == Kind::Static { turn % p } else { first };
            at[t] += DISPATCH + sum(lo, hi);
            (lo, turn) = (hi, turn + 1);
        }
    }
    at.into_iter().fold(0.0, f64::max)
}

/// What the runtime would record of it.
fn profile(costs: &[f64], p: usize, seed: &mut Seeded) -> Profile {
    let n = costs.len();
    let chunk = (n / (64 * p)).max(1);
    let chunks = (0..n).step_by(chunk).map(|lo| {
        let hi = (lo + chunk).min(n);
        let noise = 0.97 + 0.06 * seed.next();
        (lo as u64, hi as u64, noise * costs[lo..hi].iter().sum::<f64>())
    });
    Profile::from_chunks(n as u64, 32, chunks.collect::<Vec<_>>())
}

fn predicted(profile: &Profile, s: Schedule, p: usize) -> f64 {
    loads(profile, s, &vec![1.0; p], DISPATCH).makespan()
}

fn quantile(v: &mut [f64], q: f64) -> f64 {
    v.sort_by(f64::total_cmp);
    v[((v.len() - 1) as f64 * q) as usize]
}

#[test]
fn errors_are_within_what_is_stated() {
    for p in [2, 3, 4] {
        let (mut errors, mut seed) = (vec![], Seeded(7));
        for n in SIZES {
            for (_, costs) in shapes(n) {
                let seen = profile(&costs, p, &mut seed);
                for s in SCHEDULES {
                    let s: Schedule = s.parse().expect("a schedule");
                    let t = truth(&costs, s, p);
                    errors.push((predicted(&seen, s, p) - t).abs() / t);
                }
            }
        }
        let (median, most) = (quantile(&mut errors, 0.5), quantile(&mut errors, 0.9));
        println!("{p} threads: median {median:.4}, 90 % within {most:.4} of {}", errors.len());
        assert!(median <= 0.01 && most <= 0.05, "{p} threads: median {median}, 90 % within {most}");
    }
}

/// What the model would choose without a trial, against the best of what it could choose.
#[test]
fn choices_without_a_trial_are_near_the_best() {
    for p in [2u32, 4] {
        let (mut ratios, mut seed) = (vec![], Seeded(9));
        for n in SIZES {
            for (_, costs) in shapes(n) {
                let seen = profile(&costs, p as usize, &mut seed);
                let parts = [2, 4, 8, 16, 32, 64, 256].map(|i| i * p);
                let candidates: Vec<Schedule> = [Deal::Blocks]
                    .into_iter()
                    .chain(parts.iter().flat_map(|&parts| [Deal::Dynamic { parts }, Deal::Guided { parts }]))
                    .map(|deal| Choice { deal, threads: 0 }.schedule(n as u64, Schedule::BLOCKS, p))
                    .collect();
                let by = |f: &dyn Fn(Schedule) -> f64| {
                    let best = candidates.iter().min_by(|a, b| f(**a).total_cmp(&f(**b)));
                    truth(&costs, *best.expect("candidates"), p as usize)
                };
                let chosen = by(&|s| predicted(&seen, s, p as usize));
                ratios.push(chosen / by(&|s| truth(&costs, s, p as usize)));
            }
        }
        let (median, most) = (quantile(&mut ratios, 0.5), quantile(&mut ratios, 0.9));
        println!("{p} threads: median {median:.4}, 90 % within {most:.4} of {}", ratios.len());
        assert!(median <= 1.03 && most <= 1.08, "{p} threads: median {median}, 90 % within {most}");
    }
}
