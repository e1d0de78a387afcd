//! What the tuner gains on a simulated machine (machine/mod.rs), where the program's own schedule is wrong.
//! Nothing depends on the machine that executes it.

mod machine;

use machine::{Machine, NOISES, Noise, Site, Work};
use promp_model::Schedule;
use promp_model::search::{May, Search};

const N: usize = 256;
const P: usize = 2;

/// What iteration i of n costs, in proportion.
type Cost = fn(f64, f64) -> f64;

fn noise(name: &str) -> Noise {
    NOISES.into_iter().find(|n| n.name == name).expect("one of them")
}

/// A loop whose iterations cost `mean` on average, in these proportions.
fn work(name: &str, mean: f64, f: impl Fn(usize) -> f64) -> (Work, Vec<f64>) {
    let costs: Vec<f64> = (0..N).map(f).collect();
    let scale = mean * N as f64 / costs.iter().sum::<f64>();
    let costs: Vec<f64> = costs.into_iter().map(|c| c * scale).collect();
    (Work::new(name, vec![costs.clone()], |_, _| 0), costs)
}

/// What `latter` executions behind `first` ones take: tuned, and by the program's own schedule.
fn latter(w: &Work, own: &str, noise: Noise, first: u64, latter: u64) -> (f64, f64) {
    let own: Schedule = own.parse().expect("a schedule");
    let may = May { schedule: true, threads: true };
    let mut site = Site::new(Search::new(P as u32, own, may), own);
    let mut m = Machine::new(P, noise, 3);
    for _ in 0..first {
        site.execute(&mut m, w);
    }
    let (mut m, mut off) = (Machine::new(P, noise, 17), Machine::new(P, noise, 17));
    let tuned = (0..latter).map(|_| site.execute(&mut m, w)).sum();
    (tuned, (0..latter).map(|_| off.time(w, own)).sum())
}

/// Skewed loops take what the balance of their iterations allows: half of all, or the longest one.
#[test]
fn skewed_loops_get_what_their_balance_allows() {
    let x = N as f64;
    let kinds: [(&str, Cost); 8] = [
        ("triangle", |i, _| 1.0 + i),
        ("upper", |i, n| n - i),
        ("power", |i, _| 1.0 / (1.0 + i)),
        ("prefix", |i, n| if i < n / 8.0 { 8.0 } else { 0.125 }),
        ("blocks", |i, n| if (i / (n / 8.0 + 1.0)) as u64 % 2 == 1 { 2.0 } else { 0.0625 }),
        ("ends", |i, n| if i < n / 16.0 { 6.0 } else { 0.0625 }),
        ("single", |i, n| if i == n / 2.0 { n / 4.0 } else { 0.7 }),
        ("wave", |i, n| 1.0 + (12.0 * i / n).sin()),
    ];
    for mean in [400e-9, 6e-6, 60e-6] {
        for (name, f) in kinds {
            let (w, costs) = work(name, mean, |i| f(i as f64, x));
            let longest = costs.iter().copied().fold(0.0, f64::max);
            let allowed = (costs.iter().sum::<f64>() / P as f64).max(longest);
            let (tuned, own) = latter(&w, "static", noise("quiet"), 300, 300);
            let part = 300.0 * allowed / tuned;
            println!("{name:10} {mean:e}: {part:.3} of what is allowed, gain {:.2}", own / tuned);
            assert!(part >= 0.95, "{name} {mean:e}: {part}");
        }
    }
}

/// Sweeps over even lines, dealt by a static schedule, while another process takes half of one CPU: the other
/// and a half do the work of one and a half, where a static schedule waits for the half.
#[test]
fn line_sweeps_gain_while_half_of_a_cpu_is_taken() {
    let mut full = 0;
    for mean in [20e-6, 60e-6, 200e-6, 600e-6] {
        let (w, _) = work("lines", mean, |_| 1.0);
        let (tuned, own) = latter(&w, "static", noise("competitor"), 300, 300);
        let by = |s: &str| {
            let (mut m, s) = (Machine::new(P, noise("competitor"), 17), s.parse().expect("a schedule"));
            (0..300).map(|_| m.time(&w, s)).sum::<f64>()
        };
        // A chunk that is in hand when the CPU goes is held for a turn, by whatever schedule.
        let best = ["dynamic,1", "dynamic,2", "dynamic,4", "dynamic,8", "guided", "guided,4"].map(by);
        let possible = own / best.into_iter().fold(f64::INFINITY, f64::min);
        println!("{mean:e}: gain {:.3} where {possible:.3} is possible", own / tuned);
        full += u32::from(possible >= 1.47);
        assert!(possible < 1.47 || own / tuned >= 1.4, "{mean:e}");
        assert!(own / tuned >= 0.94 * possible, "{mean:e}");
    }
    assert!(full >= 1);
}
