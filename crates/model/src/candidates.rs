//! The ways to execute a loop that a search knows of: P5's scan, and which of them are worth comparing.

use crate::choice::{Choice, Deal};
use crate::search::May;
use crate::{Estimate, Kind, Schedule};

/// Chunks of N/(i · p), for these i.
const PARTS: [u32; 7] = [2, 4, 8, 16, 32, 64, 256];
/// Likewise round robin.
const ROUNDS: [u32; 3] = [2, 8, 64];
/// What is expected to take longer than the best by this part need not be compared …
const NEAR: f64 = 0.15;
/// … and of one kind not those whose chunks differ by less than this factor.
const APART: u64 = 4;
/// So many are compared.
const RIVALS: usize = 6;

fn all(deal: Deal) -> Choice {
    Choice { deal, threads: 0 }
}

/// Half of `p`, half of that, …, 1.
pub fn halves(p: u32) -> impl Iterator<Item = u32> {
    core::iter::successors(Some(p / 2), |n| Some(n / 2)).take_while(|n| *n > 0)
}

/// Half of the team is fed, a quarter, …, one, where there are more iterations than that.
pub fn fewer(p: u32, total: u64) -> impl Iterator<Item = Choice> {
    halves(p).filter(move |k| u64::from(*k) < total).map(|threads| Choice { deal: Deal::Given, threads })
}

/// P5's scan, in parts of the iteration space: N/(i · p).
pub fn scan(p: u32, given: Schedule, may: May) -> Vec<Choice> {
    let mut ways = vec![];
    if may.schedule {
        ways.push(all(Deal::Blocks));
        ways.extend(ROUNDS.map(|i| all(Deal::Cyclic { parts: i * p })));
        for parts in PARTS.map(|i| i * p) {
            ways.push(all(Deal::Dynamic { parts }));
            if may_shrink(given) {
                ways.push(all(Deal::Guided { parts }));
            }
        }
    }
    if may.threads {
        ways.push(Choice { deal: Deal::Given, threads: 1 });
    }
    ways
}

/// Shrinking chunks are no whole numbers of the program's own, unless that is 1.
fn may_shrink(given: Schedule) -> bool {
    given.chunk <= 1 || given.kind == Kind::Guided
}

/// What is compared with the program's own way where nothing can be predicted: few, and different ones.
pub fn different(p: u32, given: Schedule, may: May, total: u64) -> Vec<Choice> {
    let parts = 16 * p;
    let deals = [Deal::Cyclic { parts }, Deal::Dynamic { parts }, Deal::Blocks, Deal::Guided { parts }];
    let deals = deals.into_iter().filter(|d| match d {
        Deal::Guided { .. } => may_shrink(given),
        _ => true,
    });
    let others = [64, 2].map(|i| Deal::Cyclic { parts: i * p });
    let deals = deals.chain(others).filter(|_| may.schedule).map(all);
    distinct(p, given, total, deals)
}

/// What may be done with a doacross loop. That its chunks are handed out in order, of the program's own size,
/// is what iterations may count on that wait for later ones, so nothing can be changed with a dynamic
/// schedule. With a guided one chunks may be smaller than they were; where the choice is the
/// implementation's, there is nothing to count on.
pub fn in_order(p: u32, given: Schedule, chosen_here: bool, total: u64) -> Vec<Choice> {
    // As many chunks as the longest loop of the class has iterations.
    let parts = u32::try_from(total).unwrap_or(1 << 31).saturating_add(1).checked_next_power_of_two();
    let finest = Deal::Dynamic { parts: parts.unwrap_or(1 << 31) };
    let coarser = [16 * p, 4 * p].map(|parts| Deal::Dynamic { parts });
    let deals = match given.kind {
        _ if chosen_here => vec![finest, coarser[0], coarser[1]],
        Kind::Guided => vec![finest],
        _ => vec![],
    };
    let alone = fewer(p, total).filter(|_| chosen_here);
    distinct(p, given, total, deals.into_iter().map(all).chain(alone))
}

/// Those that do not come to the same, with each other and with the program's own way.
fn distinct(p: u32, given: Schedule, total: u64, ways: impl IntoIterator<Item = Choice>) -> Vec<Choice> {
    let mut kept = vec![(Choice::GIVEN, given)];
    for c in ways {
        let by = c.schedule(total, given, p);
        if kept.iter().all(|k| k.1 != by) {
            kept.push((c, by));
        }
    }
    kept.drain(1..).map(|k| k.0).collect()
}

/// All ways, the program's own one first.
pub fn every(p: u32, given: Schedule, may: May, total: u64) -> Vec<Choice> {
    let deals = scan(p, given, may).into_iter().filter(|c| c.threads == 0);
    let few = fewer(if may.threads { p } else { 1 }, total);
    core::iter::once(Choice::GIVEN).chain(distinct(p, given, total, deals.chain(few))).collect()
}

/// Does it give every thread what it can take, in chunks that are neither long nor many? Whatever disturbs
/// the threads, or is otherwise than the profile says, costs little then.
pub fn is_fair(c: Choice, p: u32) -> bool {
    matches!(c.deal, Deal::Dynamic { parts } if (8 * p..=32 * p).contains(&parts)) && c.threads == 0
}

/// Is it as fair, or more so, with more chunks?
pub fn is_as_fair(c: Choice, given: Schedule, p: u32) -> bool {
    match c.deal {
        Deal::Given => given.kind == Kind::Dynamic,
        Deal::Dynamic { parts } => parts >= 8 * p,
        _ => false,
    }
}

/// Of what is expected of all ways, the best one first: the one to be tried. One that is fair is as good as
/// one that is expected to be better by less than one per cent.
pub fn first(p: u32, ranked: &[(Choice, Estimate)]) -> Option<(Choice, Estimate)> {
    let best = *ranked.first()?;
    let close = |r: &&(Choice, Estimate)| is_fair(r.0, p) && r.1.mean <= best.1.mean * 1.01;
    Some(ranked.iter().find(close).copied().unwrap_or(best))
}

/// Of what is expected of all ways, the best one first: those that a choice is worth being compared with.
/// Near the best, of all kinds, with different chunks. The first one gives every thread what it can take:
/// where somebody else uses a CPU it is the best, and the profile knows nothing of it. If it costs no more,
/// with many chunks: with the last of them, the thread whose CPU is taken keeps all others waiting.
pub fn rivals(p: u32, given: Schedule, total: u64, ranked: &[(Choice, Estimate)]) -> Vec<(Choice, f64)> {
    let Some(best) = ranked.first().map(|r| r.1.mean) else { return vec![] };
    let mut kept: Vec<(Choice, f64, Schedule)> = vec![];
    let near = |part: f64| move |r: &&(Choice, Estimate)| r.1.mean <= best * (1.0 + part);
    let mut add = |(c, e): &(Choice, Estimate), first_of_its_kind: bool| {
        let by = c.schedule(total, given, p);
        let close = |k: &(Choice, f64, Schedule)| {
            let (a, b) = (by.chunk.max(1), k.2.chunk.max(1));
            let apart = a >= b.saturating_mul(APART) || b >= a.saturating_mul(APART);
            k.2.kind == by.kind && (first_of_its_kind || !apart)
        };
        if kept.len() < RIVALS && !kept.iter().any(close) {
            kept.push((*c, e.mean, by));
        }
    };
    let fine = |r: &&(Choice, Estimate)| matches!(r.0.deal, Deal::Dynamic { parts } if parts >= 16 * p);
    ranked.iter().filter(near(NEAR)).filter(|r| is_fair(r.0, p)).filter(fine).for_each(|r| add(r, true));
    ranked.iter().filter(near(2.0 * NEAR)).filter(|r| is_fair(r.0, p)).for_each(|r| add(r, true));
    ranked.iter().filter(near(NEAR)).for_each(|r| add(r, true));
    ranked.iter().filter(near(NEAR)).for_each(|r| add(r, false));
    kept.into_iter().map(|k| (k.0, k.1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: May = May { schedule: true, threads: true };

    #[test]
    fn ways_that_come_to_the_same_are_one() {
        let dynamic: Schedule = "dynamic,1".parse().expect("a schedule");
        assert_eq!(every(2, dynamic, ALL, 1000).len(), 19);
        // Of four iterations: static, shrinking chunks, two at a time, one thread.
        let few = every(2, dynamic, ALL, 4);
        assert!(few.len() <= 5 && few[0] == Choice::GIVEN, "{few:?}");
    }

    #[test]
    fn doacross_loops_keep_what_they_may_count_on() {
        let of = |s: &str, here| in_order(2, s.parse().expect("a schedule"), here, 100);
        assert_eq!(of("dynamic", false), []);
        assert_eq!(of("static,1", false), []);
        let text = |v: Vec<Choice>| v.iter().map(|c| c.to_string()).collect::<Vec<_>>();
        assert_eq!(text(of("guided,4", false)), ["dynamic,N/128"]);
        let free = ["dynamic,N/128", "dynamic,N/32", "dynamic,N/8", "given@1"];
        assert_eq!(text(of("static", true)), free);
        // Chunks of the program's own size, whatever the class' loop.
        let finest = of("guided,4", false)[0];
        assert_eq!(finest.schedule(100, Schedule::new(Kind::Guided, 4), 2), Schedule::new(Kind::Dynamic, 4));
    }

    #[test]
    fn rivals_are_near_and_different() {
        let dynamic = |parts| all(Deal::Dynamic { parts });
        let of = |c, mean| (c, Estimate::exact(mean));
        let ranked = [
            of(dynamic(64), 1.0),
            of(dynamic(128), 1.01),
            of(all(Deal::Guided { parts: 64 }), 1.02),
            of(Choice::GIVEN, 1.1),
            of(dynamic(512), 1.14),
            of(dynamic(16), 1.2),
            of(Choice { deal: Deal::Given, threads: 1 }, 2.0),
        ];
        let kept = |ranked: &[(Choice, Estimate)]| -> Vec<String> {
            rivals(2, Schedule::BLOCKS, 1024, ranked).iter().map(|r| r.0.to_string()).collect()
        };
        assert_eq!(kept(&ranked), ["dynamic,N/64", "guided,N/64", "given", "dynamic,N/512"]);
        // Chunks that cost something are long ones at first.
        let dear = [ranked[3], of(dynamic(16), 1.2), of(dynamic(64), 1.3)];
        assert_eq!(kept(&dear), ["dynamic,N/16", "given"]);
    }
}
