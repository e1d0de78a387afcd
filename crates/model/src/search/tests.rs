//! The search on a machine on which executions take what the model says.

use super::*;
use crate::doall::Overheads;
use crate::makespan::loads;
use crate::{Kind, Profile};

const ALL: May = May { schedule: true, threads: true };
const COSTS: Overheads = Overheads {
    fork: crate::doall::Linear { fixed: 0.0, each: 0.0 },
    join: crate::doall::Linear { fixed: 0.0, each: 0.0 },
    dispatch: 2e-8,
    line: 2e-8,
    scatter: 0.1,
};

/// A machine on which executions take what the model says, but for noise; seeded.
struct Machine {
    profile: Profile,
    given: Schedule,
    seed: u64,
    noise: f64,
}

impl Machine {
    fn noisy(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        1.0 + self.noise * ((self.seed >> 40) as f64 / (1u64 << 24) as f64)
    }

    fn time(&self, c: Choice) -> f64 {
        let n = self.profile.total();
        let k = if c.threads == 0 { 2 } else { c.threads as usize };
        loads(&self.profile, c.schedule(n, self.given, 2), &vec![1.0; k], COSTS.dispatch).makespan()
    }

    fn execute(&mut self, s: &mut Search) -> f64 {
        let plan = s.plan();
        let t = self.time(plan.choice) * self.noisy();
        if plan.profile {
            s.profiled(&self.profile, &COSTS, &[1.0; 2]);
        }
        if plan.measure {
            s.done(plan.choice, self.profile.total(), t);
        }
        t
    }
}

fn skewed(given: &str) -> Machine {
    // The second half costs nine times as much.
    let p = Profile::new(1000, &[(1e-6, 0.0), (9e-6, 0.0)]);
    Machine { profile: p, given: given.parse().unwrap(), seed: 1, noise: 0.01 }
}

fn settle(m: &mut Machine, s: &mut Search) -> u32 {
    (0..50)
        .find(|_| {
            m.execute(s);
            s.settled().is_some()
        })
        .expect("it settles")
        + 1
}

#[test]
fn skew_is_found_within_eight_executions() {
    let mut m = skewed("static");
    let mut s = Search::new(2, m.given, ALL);
    let n = settle(&mut m, &mut s);
    assert!(n <= 8, "{n}");
    let (chosen, own) = (s.settled().unwrap(), m.time(Choice::GIVEN));
    assert!(m.time(chosen) < 0.6 * own, "{chosen}");
    // Within 5 % of the best there is.
    assert!(m.time(chosen) < 1.05 * m.profile.sum() / 2.0, "{chosen}");
    assert_eq!(s.searched(), n);
}

#[test]
fn what_is_good_stays() {
    for seed in 0..50 {
        let mut m = Machine {
            seed,
            noise: 0.1,
            profile: Profile::uniform(1000, 1e-6),
            given: "dynamic,8".parse().unwrap(),
        };
        let mut s = Search::new(2, m.given, ALL);
        settle(&mut m, &mut s);
        assert_eq!(s.settled(), Some(Choice::GIVEN), "seed {seed}");
    }
}

#[test]
fn a_step_of_cost_leads_to_a_new_search_and_noise_to_none() {
    let mut m = skewed("static");
    let mut s = Search::new(2, m.given, ALL);
    settle(&mut m, &mut s);
    m.noise = 0.2;
    for _ in 0..200 {
        m.execute(&mut s);
    }
    assert_eq!(s.resets, 0);
    m.noise = 0.01;
    // Now the first half is the long one, and all costs more.
    m.profile = Profile::new(1000, &[(30e-6, 0.0), (1e-6, 0.0)]);
    let back = (1..40).find(|_| m.execute(&mut s) < 1.1 * m.profile.sum() / 2.0 && s.settled().is_some());
    assert!(back.is_some_and(|n| n <= 14), "{back:?}");
}

/// Three executions say that it is a step, one is the profile, and of two ways each is tried three times.
#[test]
fn ten_executions_after_a_step_of_cost_it_is_as_good_as_before() {
    let steps: [(&str, &[(f64, f64)]); 4] = [
        ("the other half is the long one", &[(30e-6, 0.0), (1e-6, 0.0)]),
        (
            "all costs more, and most of it in the middle",
            &[(3e-6, 0.0), (60e-6, 0.0), (3e-6, 0.0), (3e-6, 0.0)],
        ),
        (
            "all costs less, and most of it at the end",
            &[(0.1e-6, 0.0), (0.1e-6, 0.0), (0.1e-6, 0.0), (4e-6, 0.0)],
        ),
        ("all costs the same", &[(40e-6, 0.0)]),
    ];
    for seed in 1..20 {
        for (what, costs) in steps {
            let even = Profile::uniform(1000, 1e-6);
            let mut m = Machine { profile: even, seed, given: "static".parse().unwrap(), noise: 0.01 };
            let mut s = Search::new(2, m.given, ALL);
            settle(&mut m, &mut s);
            for _ in 0..100 {
                m.execute(&mut s);
            }
            // What is right before is wrong behind the step.
            assert_eq!((s.settled(), s.resets), (Some(Choice::GIVEN), 0), "{what}");
            m.profile = Profile::new(1000, costs);
            for _ in 0..10 {
                m.execute(&mut s);
            }
            assert_eq!(s.resets, 1, "{what}: no step was noticed");
            let choice = s.settled().expect("the search is over");
            // Of all there is: nobody is faster than half of the work by each of the two.
            assert!(m.time(choice) <= 1.1 * m.profile.sum() / 2.0, "seed {seed}, {what}: {choice}");
        }
    }
}

/// Times that come now and then at first are no step when they go on. But they are what is usual then: not
/// each of them is looked at.
#[test]
fn what_is_usual_follows_without_a_step() {
    let mut s = Search::of_region(2);
    let execute = |s: &mut Search, alone: f64| {
        let plan = s.plan();
        s.done(plan.choice, 1, if plan.choice.threads == 1 { alone } else { 4.0 * alone });
    };
    for _ in 0..100 {
        execute(&mut s, 16e-6);
    }
    assert!(s.settled().is_some_and(|c| c.threads == 1) && s.interval() > 1);
    for alone in [5e-6, 5e-6, 16e-6].repeat(10) {
        execute(&mut s, alone);
    }
    for _ in 0..100 {
        execute(&mut s, 5e-6);
    }
    let usual = s.takes();
    assert!((4.9e-6..5.1e-6).contains(&usual) && s.interval() > 1, "{usual} {}", s.interval());
}

#[test]
fn a_machine_that_disturbs_most_executions_does_not_hide_the_gain() {
    let (mut m, mut found) = (skewed("static"), 0);
    for seed in 0..40 {
        m.seed = seed;
        let mut s = Search::new(2, m.given, ALL);
        while s.settled().is_none() {
            let plan = s.plan();
            if plan.profile {
                s.profiled(&m.profile, &COSTS, &[1.0; 2]);
                continue;
            }
            // Half of the executions take up to twenty times as long.
            let late = (m.noisy() - 1.0) / m.noise;
            let t = m.time(plan.choice) * if late > 0.5 { 1.0 + 40.0 * (late - 0.5) } else { 1.0 };
            s.done(plan.choice, m.profile.total(), t);
        }
        found += u32::from(s.settled() != Some(Choice::GIVEN));
    }
    assert!(found >= 20, "{found} of 40");
}

#[test]
fn tiny_loops_go_to_one_thread_if_that_is_less() {
    let mut s = Search::new(2, Schedule::new(Kind::Dynamic, 1), ALL);
    for _ in 0..10 {
        let plan = s.plan();
        s.done(plan.choice, 10, if plan.choice.threads == 1 { 4e-7 } else { 1e-6 });
    }
    assert_eq!(s.settled(), Some(Choice { deal: Deal::Given, threads: 1 }));
}

#[test]
fn short_loops_feed_as_many_threads_as_are_best() {
    for best in [1, 2, 4, 0] {
        let mut s = Search::new(8, Schedule::new(Kind::Dynamic, 1), ALL);
        for _ in 0..16 {
            let plan = s.plan();
            s.done(plan.choice, 100, if plan.choice.threads == best { 4e-6 } else { 8e-6 });
        }
        assert_eq!(s.settled(), Some(Choice { deal: Deal::Given, threads: best }));
    }
    // A loop of three iterations: not more threads than that make sense.
    let mut s = Search::new(8, Schedule::new(Kind::Dynamic, 1), ALL);
    s.done(Choice::GIVEN, 3, 1e-6);
    let tried: Vec<u32> = s.runs.iter().map(|r| r.choice.threads).collect();
    assert_eq!(tried, [0, 2, 1]);
}

proptest::proptest! {
    /// Whatever the loop is like and however it is dealt, the executions of a search take no longer than
    /// so many of the program's own, and of one thread's.
    #[test]
    fn what_a_search_loses_is_bounded(
        costs in proptest::collection::vec(1e-8..1e-4f64, 1..32),
        total in 2u64..100_000,
        given in proptest::sample::select(vec!["static", "static,16", "dynamic", "guided,4"]),
        seed: u64,
    ) {
        let profile = Profile::new(total, &costs.iter().map(|c| (*c, 0.0)).collect::<Vec<_>>());
        let mut m = Machine { profile, given: given.parse().unwrap(), seed, noise: 0.05 };
        let mut s = Search::new(2, m.given, ALL);
        let (own, serial) = (m.time(Choice::GIVEN), m.profile.sum() + 1e-7);
        let mut spent = 0.0;
        let mut executions = 0;
        while s.settled().is_none() {
            spent += m.execute(&mut s);
            executions += 1;
            proptest::prop_assert!(executions <= 8);
        }
        // Warming up, a profile in small chunks, three of the program's own, three trials.
        proptest::prop_assert!(spent <= 1.06 * (5.0 * own + 3.0 * serial.min(HOPELESS * own).max(own)),
            "{} of {} {}", spent, own, serial);
    }
}

#[test]
fn regions_get_the_number_of_threads_that_is_best() {
    for (times, best) in [([4.0, 3.0, 9.0], 2), ([1.0, 2.0, 4.0], 0), ([9.0, 5.0, 1.0], 1)] {
        let mut s = Search::of_region(4);
        for _ in 0..12 {
            let plan = s.plan();
            assert!(!plan.profile);
            s.done(
                plan.choice,
                1,
                1e-3 * times[match plan.choice.threads {
                    0 => 0,
                    2 => 1,
                    _ => 2,
                }],
            );
        }
        assert_eq!(s.settled(), Some(Choice { deal: Deal::Given, threads: best }));
    }
}

#[test]
fn a_short_region_of_one_thread_is_measured_seldom() {
    // 250 us are so many executions, no fewer than of loops, and not too many.
    for (one, alone, want) in [
        (0.25e-6, true, 1000),
        (1e-9, true, 2000),
        (19e-6, true, SELDOM),
        (1e-3, true, 1),
        (0.25e-6, false, 1000),
    ] {
        let mut s = Search::of_region(2);
        let took = |c: Choice| if (c.threads == 1) == alone { one } else { 3.0 * one };
        for _ in 0..20 {
            let choice = s.plan().choice;
            s.done(choice, 1, took(choice));
        }
        let threads = u32::from(alone);
        assert_eq!(s.settled(), Some(Choice { deal: Deal::Given, threads }), "{one}");
        assert!(s.interval().abs_diff(want) <= 1, "{one}: {} and not {want}", s.interval());
        if alone && want > SELDOM {
            // One other time is looked into at once, and was nothing.
            let choice = s.settled().expect("see above");
            s.done(choice, 1, 1.3 * one);
            assert_eq!(s.interval(), 1);
            s.done(choice, 1, one);
            assert!(s.interval().abs_diff(want) <= 1, "{one}");
        }
    }
}

#[test]
fn a_hopeless_trial_is_not_repeated() {
    let mut s = Search::new(2, Schedule::new(Kind::Dynamic, 1), ALL);
    let mut tried = 0;
    for _ in 0..10 {
        let plan = s.plan();
        tried += u32::from(plan.choice.threads == 1);
        assert!(plan.choice == Choice::GIVEN || plan.limit.is_some());
        s.done(plan.choice, 10, if plan.choice.threads == 1 { 9e-6 } else { 1e-6 });
    }
    assert_eq!((s.settled(), tried), (Some(Choice::GIVEN), 1));
}

#[test]
fn nothing_to_change_is_settled_from_the_start() {
    let none = May { schedule: false, threads: false };
    assert_eq!(Search::new(2, Schedule::BLOCKS, none).settled(), Some(Choice::GIVEN));
    assert_eq!(Search::new(1, Schedule::BLOCKS, ALL).settled(), Some(Choice::GIVEN));
}

#[test]
fn a_kept_choice_searches_nothing_unless_it_may_not_be_made() {
    let c: Choice = "dynamic,N/8".parse().unwrap();
    let mut m = skewed("dynamic");
    let usual = m.time(c) / 1000.0;
    let mut s = Search::with_choice(2, m.given, ALL, c, usual);
    for _ in 0..20 {
        m.execute(&mut s);
    }
    assert_eq!((s.settled(), s.searched()), (Some(c), 0));
    let only_threads = May { schedule: false, threads: true };
    assert_eq!(Search::with_choice(2, m.given, only_threads, c, usual).settled(), None);
    assert_eq!(Search::with_choice(2, m.given, ALL, Choice { threads: 4, ..c }, usual).settled(), None);
}

/// While a short loop has rivals it is measured every 50 us; what is thought about them is paid for.
#[test]
fn a_short_loop_is_measured_more_often_while_it_has_rivals() {
    let mut s = Search::new(2, Schedule::new(Kind::Dynamic, 1), ALL);
    let took = |c: Choice| if c.threads == 1 { 1e-6 } else { 3e-6 };
    let (mut executions, mut rivals) = (0, 0);
    while s.settled().is_none() || !s.check.is_over() {
        let settled = s.settled().is_some();
        let choice = s.plan().choice;
        s.done(choice, 10, took(choice));
        if settled {
            assert!([17, 49, 51, 249, 251, 1].contains(&s.interval()), "{}", s.interval());
            executions += s.interval();
            rivals += u64::from(Some(choice) != s.settled());
        }
        assert!(executions < 1_000_000, "it ends");
    }
    assert!((1..40).contains(&rivals) && executions > rivals * 400, "{rivals} of {executions}");
    assert!(s.interval().abs_diff(250) <= 1, "{}", s.interval());
}
