//! Regret and cost of the search on a simulated machine (machine/mod.rs): the search that the runtime uses,
//! against every schedule there is, whatever the loop is like, the program's own schedule and the
//! disturbances. Nothing depends on the machine that executes it.
//!
//!     cargo test --release -p promp-model --test regret -- --nocapture
//!     PROMP_TEST_LONG=1 …    all of them, and longer runs

mod machine;

use machine::{Machine, NOISES, Noise, Seeded, Site, Work};
use promp_model::search::{May, Search};
use promp_model::{Kind, Schedule};

const ORACLE: [&str; 12] = [
    "static",
    "static,1",
    "static,8",
    "static,64",
    "dynamic,1",
    "dynamic,4",
    "dynamic,16",
    "dynamic,64",
    "guided",
    "guided,8",
    // One thread.
    "dynamic,4096",
    "dynamic,128",
];
const OWN: [&str; 4] = ["static", "dynamic,1", "guided,1", "dynamic,64"];
/// What an iteration costs on average: loops of some microseconds, and of milliseconds.
const COSTS: [f64; 3] = [20e-9, 400e-9, 6e-6];

fn is_long() -> bool {
    std::env::var_os("PROMP_TEST_LONG").is_some()
}

fn always(_: u64, _: usize) -> usize {
    0
}
fn in_turn(execution: u64, n: usize) -> usize {
    execution as usize % n
}
/// Executions of a run; of very short loops many more.
const RUN: u64 = 1200;
const SHORT_RUN: u64 = 10 * RUN;
/// One phase, and then another.
fn phases(execution: u64, n: usize) -> usize {
    ((execution / (RUN / 2)) as usize).min(n - 1)
}

/// All loops of `n` iterations of this cost on average.
fn loops(n: usize, cost: f64) -> Vec<Work> {
    let x = n as f64;
    let of = |f: &dyn Fn(usize) -> f64| {
        let costs: Vec<f64> = (0..n).map(f).collect();
        let mean = costs.iter().sum::<f64>() / x;
        costs.into_iter().map(|c| c * cost / mean).collect::<Vec<f64>>()
    };
    let up = of(&|i| 1.0 + i as f64);
    let down = of(&|i| x - i as f64);
    let even = of(&|_| 1.0);
    let random = |seed: u64, tail: bool| {
        let mut s = Seeded(seed);
        let all: Vec<f64> = (0..n).map(|_| s.next()).collect();
        of(&|i| if tail { (1.0 / (1.0 - 0.999 * all[i])).powf(0.8) } else { 0.2 + all[i] })
    };
    let one = |name: &str, costs: Vec<f64>| Work::new(name, vec![costs], always);
    let mut far = one("placed", even.clone());
    far.far = 1.4;
    vec![
        one("even", even.clone()),
        one("triangle", up.clone()),
        one("upper", down.clone()),
        one("power", of(&|i| 1.0 / (1.0 + i as f64))),
        one("prefix", of(&|i| if i < n / 8 { 8.0 } else { 0.125 })),
        one("alternating", of(&|i| if i % 2 == 1 { 2.0 } else { 0.0625 })),
        one("blocks", of(&|i| if i / (n / 8 + 1) % 2 == 1 { 2.0 } else { 0.0625 })),
        one("ends", of(&|i| if i < n / 16 || i >= n - n / 16 { 6.0 } else { 0.0625 })),
        one("single", of(&|i| if i == n / 2 { x / 4.0 } else { 0.7 })),
        one("wave", of(&|i| 1.0 + (12.0 * i as f64 / x).sin())),
        one("tail", random(5, true)),
        Work::new("random", (0..7).map(|k| random(11 + k, false)).collect(), in_turn),
        Work::new("two phases", vec![up.clone(), down.clone()], phases),
        Work::new("dearer", vec![even.clone(), up.iter().map(|c| 2.5 * c).collect()], phases),
        Work::new("in turn", vec![up, even.iter().map(|c| 0.3 * c).collect()], in_turn),
        far,
    ]
}

/// One loop under one noise, from one schedule.
#[derive(Debug)]
struct Outcome {
    what: String,
    noise: &'static str,
    /// The latter part of a run over the best schedule's, and over the program's own.
    regret: f64,
    own: f64,
    /// The whole run over one by the program's own schedule.
    whole: f64,
    changes: usize,
}

fn outcome(w: &Work, given: &str, noise: Noise, p: usize) -> Outcome {
    let own: Schedule = given.parse().expect("a schedule");
    let may = May { schedule: true, threads: true };
    let mut site = Site::new(Search::new(p as u32, own, may), own);
    let (mut tuned, mut off) = (Machine::new(p, noise, 3), Machine::new(p, noise, 3));
    let run = if Machine::new(p, NOISES[0], 1).time(w, own) < 20e-6 { SHORT_RUN } else { RUN };
    let executions = if is_long() { 3 * run } else { run };
    let mut whole = 0.0;
    for _ in 0..executions {
        whole += site.execute(&mut tuned, w);
    }
    let without: f64 = (0..executions).map(|_| off.time(w, own)).sum();
    // From here on each by itself, on the same machine.
    let then = || Machine::new(p, noise, 17).at_execution(executions);
    let latter = if is_long() { 1200 } else { 420 };
    let mut m = then();
    let found: f64 = (0..latter).map(|_| site.execute(&mut m, w)).sum();
    let by = |s: &str| {
        let (mut m, s) = (then(), s.parse().expect("a schedule"));
        (0..latter).map(|_| m.time(w, s)).sum::<f64>()
    };
    // What may be done with the program's own schedule: whole chunks of it.
    let conforms = |s: &&&str| {
        let s: Schedule = s.parse().expect("a schedule");
        own.chunk <= 1 || s.kind != Kind::Guided && s.chunk.is_multiple_of(own.chunk) && s.chunk > 0
    };
    let (best, least) = ORACLE
        .iter()
        .filter(conforms)
        .map(|s| (*s, by(s)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .expect("schedules");
    let chosen = site.changes.iter().map(|c| c.to_string()).collect::<Vec<_>>().join(" → ");
    Outcome {
        what: format!(
            "{:12} {:6.1} us from {given:10} {:10} {p}: best {best:10} found {chosen}",
            w.name,
            1e6 * least / latter as f64,
            noise.name
        ),
        noise: noise.name,
        regret: found / least,
        own: found / by(given),
        whole: whole / without,
        changes: site.changes.len(),
    }
}

fn quantile(all: &[Outcome], f: impl Fn(&Outcome) -> f64, q: f64) -> f64 {
    let mut v: Vec<f64> = all.iter().map(f).collect();
    v.sort_by(f64::total_cmp);
    v[((v.len() - 1) as f64 * q).round() as usize]
}

/// Short loops whose data are in the caches of the threads that had them last: the first execution by another
/// schedule is one that moves them.
#[test]
fn data_in_caches() {
    let mut all = vec![];
    for (cost, moved) in [(10e-9, 3.0), (20e-9, 2.0), (20e-9, 4.0), (40e-9, 3.0), (60e-9, 4.0)] {
        for name in ["triangle", "upper", "wave", "ends"] {
            for given in ["static", "static,64", "guided,1"] {
                for noise in &NOISES[..2] {
                    let mut w = loops(256, cost).into_iter().find(|w| w.name == name).expect("it is there");
                    w.moved = moved;
                    all.push(outcome(&w, given, *noise, 2));
                }
            }
        }
    }
    all.sort_by(|a, b| b.regret.total_cmp(&a.regret));
    for o in all.iter().take(12) {
        println!("{:.3} own {:.3} whole {:.3} {}", o.regret, o.own, o.whole, o.what);
    }
    let part = |ok: &dyn Fn(&Outcome) -> bool| all.iter().filter(|o| ok(o)).count() as f64 / all.len() as f64;
    println!(
        "data in caches, {} runs: regret median {:.3}; {:.1} % within 1.03, {:.1} % within 1.08; \
         whole: {:.1} % within 1.01, worst {:.3}",
        all.len(),
        quantile(&all, |o| o.regret, 0.5),
        100.0 * part(&|o| o.regret <= 1.03),
        100.0 * part(&|o| o.regret <= 1.08),
        100.0 * part(&|o| o.whole <= 1.01),
        quantile(&all, |o| o.whole, 1.0)
    );
    assert!(quantile(&all, |o| o.regret, 0.5) <= 1.01 && part(&|o| o.regret <= 1.03) >= 0.9, "regret");
    assert!(quantile(&all, |o| o.whole, 0.5) <= 1.0 && part(&|o| o.whole <= 1.03) >= 0.95, "whole");
}

#[test]
fn regret_and_cost_of_the_search() {
    let mut all = vec![];
    let step = if is_long() { 1 } else { 3 };
    let mut number = 0;
    for cost in COSTS {
        for w in loops(256, cost) {
            for given in OWN {
                for noise in NOISES {
                    number += 1;
                    if (number + number / 16) % step == 0 {
                        all.push(outcome(&w, given, noise, 2));
                    }
                }
            }
        }
    }
    all.sort_by(|a, b| b.regret.total_cmp(&a.regret));
    let part = |ok: &dyn Fn(&Outcome) -> bool| all.iter().filter(|o| ok(o)).count() as f64 / all.len() as f64;
    for o in all.iter().take(if is_long() { 60 } else { 12 }) {
        println!("{:.3} own {:.3} whole {:.3} {}", o.regret, o.own, o.whole, o.what);
    }
    println!("worst against the own way, and as a whole:");
    let by = |f: &dyn Fn(&Outcome) -> f64| all.iter().max_by(|a, b| f(a).total_cmp(&f(b))).expect("some");
    for o in [by(&|o| o.own), by(&|o| o.whole)] {
        println!("{:.3} own {:.3} whole {:.3} {}", o.regret, o.own, o.whole, o.what);
    }
    println!(
        "{} runs: regret median {:.3}, 95 % {:.3}, worst {:.3}; {:.1} % within 1.03",
        all.len(),
        quantile(&all, |o| o.regret, 0.5),
        quantile(&all, |o| o.regret, 0.95),
        all[0].regret,
        100.0 * part(&|o| o.regret <= 1.03)
    );
    for n in NOISES {
        let of: Vec<&Outcome> = all.iter().filter(|o| o.noise == n.name).collect();
        let part = |f: &dyn Fn(&Outcome) -> bool| {
            100.0 * of.iter().filter(|o| f(o)).count() as f64 / of.len() as f64
        };
        println!(
            "  {:10} {:.1} % within 1.03, {:.1} % within 1.08; whole: {:.1} % within 1.01",
            n.name,
            part(&|o| o.regret <= 1.03),
            part(&|o| o.regret <= 1.08),
            part(&|o| o.whole <= 1.01)
        );
    }
    println!(
        "whole median {:.3}, 95 % {:.3}, worst {:.3}; {:.1} % within 1.01",
        quantile(&all, |o| o.whole, 0.5),
        quantile(&all, |o| o.whole, 0.95),
        quantile(&all, |o| o.whole, 1.0),
        100.0 * part(&|o| o.whole <= 1.01)
    );
    println!(
        "against the own way: worst {:.3}; {:.1} % within 1.01; changes at most {}",
        quantile(&all, |o| o.own, 1.0),
        100.0 * part(&|o| o.own <= 1.01),
        all.iter().map(|o| o.changes).max().unwrap_or(0)
    );
    // Where nothing, or little, disturbs the machine; and on all of them.
    let calm: Vec<&Outcome> = all.iter().filter(|o| ["quiet", "busy"].contains(&o.noise)).collect();
    let of_calm =
        |f: &dyn Fn(&Outcome) -> bool| calm.iter().filter(|o| f(o)).count() as f64 / calm.len() as f64;
    assert!(of_calm(&|o| o.regret <= 1.03) >= 0.95, "regret");
    assert!(quantile(&all, |o| o.regret, 0.5) <= 1.01 && part(&|o| o.regret <= 1.08) >= 0.95, "regret");
    assert!(part(&|o| o.whole <= 1.01) >= 0.97 && quantile(&all, |o| o.whole, 1.0) <= 1.06, "whole");
    assert!(part(&|o| o.own <= 1.01) >= 0.97 && quantile(&all, |o| o.own, 1.0) <= 1.06, "worse than before");
    // No flip-flop.
    assert!(all.iter().all(|o| o.changes <= 8), "changes");
}
