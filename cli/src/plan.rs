//! `promp plan`: at which visits of its places a program is best checkpointed, from the report of a run.
//!
//! Of all visits that were noted those are chosen whose bytes are least in sum, where from the run's
//! beginning to the first one, from each to the next, and from the last one to the end no more than the
//! interval goes by. That is a shortest path from visit to visit. Where no visit is near enough the next
//! one is taken, however late.
//!
//! The next run is not the same to the millisecond. So a visit counts as near enough if it was so wherever
//! as many visits were counted from the same place, within a few intervals, and what a checkpoint takes is
//! added ([`near`]).
//!
//! Not every loop is worth it: [`stretches`].

use crate::report::symbolizer::{Places, base};
use crate::{Failure, Outcome, args, report};
use promp_image::checkpoint_plan::{At, Plan, VERSION};
use promp_report::{Candidates, Visit};
use stretches::{Part, stretches};

mod stretches;

/// Chosen visits, by their index, and what they cost.
#[derive(Debug, Default, PartialEq)]
struct Choice {
    visits: Vec<usize>,
    bytes: u64,
}

/// Other times are looked for so many intervals before and behind a visit, at so many visits at most.
const AROUND: f64 = 6.0;
const SAMPLES: usize = 64;
/// So many stretches that are left are printed.
const SHOWN: usize = 8;

/// When visit `number` was, by those noted before and behind it; `None`: the run was over.
fn time_of(visits: &[Visit], number: u64) -> Option<f64> {
    let i = visits.partition_point(|v| v.number < number);
    let behind = visits.get(i)?;
    let before = visits[..i].last().filter(|_| behind.number > number);
    Some(before.map_or(behind.at_s, |b| {
        let part = (number - b.number) as f64 / (behind.number - b.number) as f64;
        b.at_s + part * (behind.at_s - b.at_s)
    }))
}

/// Where nothing comes for half an interval, and that is so at most once more near by, is a pause of this
/// run, and says nothing of how times scatter. How many there were before each visit.
fn pauses(visits: &[Visit], every: f64) -> Vec<usize> {
    let is_long = |i: &usize| visits[*i].at_s - visits[*i - 1].at_s > every / 2.0;
    let long: Vec<usize> = (1..visits.len()).filter(is_long).collect();
    let around = |at: f64| {
        let to = |at: f64| long.partition_point(|&i| visits[i].at_s <= at);
        to(at + AROUND * every) - to(at - AROUND * every)
    };
    let mut count = 0;
    let pauses = (0..visits.len()).map(|i| {
        count += usize::from(long.binary_search(&i).is_ok() && around(visits[i].at_s) <= 2);
        count
    });
    pauses.collect()
}

/// How many visits are near enough to follow the beginning and then each visit, counted from the first of
/// all: with `cost` seconds for a checkpoint not later than `every` behind it, in this run, and in each part
/// of it near by that is like it. Over a pause ([`pauses`]) it is not.
fn near(visits: &[Visit], every: f64, cost: f64) -> Vec<usize> {
    let to = |at: f64| visits.partition_point(|v| v.at_s + cost <= at + every);
    let pauses = pauses(visits, every);
    // From one visit to the other, by their numbers.
    let has_pause = |from: u64, to: u64| {
        let i = |number: u64| visits.partition_point(|v| v.number < number).min(visits.len() - 1);
        pauses[i(from)] < pauses[i(to)]
    };
    let mut all = vec![to(0.0)];
    for (i, v) in visits.iter().enumerate() {
        let around = visits.partition_point(|o| o.at_s < v.at_s - AROUND * every)
            ..visits.partition_point(|o| o.at_s <= v.at_s + AROUND * every);
        let like: Vec<&Visit> = visits[around].iter().filter(|o| o.place == v.place).collect();
        let step = like.len().div_ceil(SAMPLES).max(1);
        let is_near = |f: &Visit| {
            let visits_later = f.number - v.number;
            like.iter().step_by(step).all(|o| {
                let number = o.number + visits_later;
                time_of(visits, number).is_none_or(|t| t + cost <= o.at_s + every)
                    || has_pause(o.number, number)
            })
        };
        let most = to(v.at_s).max(i + 1);
        all.push(i + 1 + visits[i + 1..most].partition_point(is_near));
    }
    all
}

/// The visits of `part` that may follow `from`: those that are near enough, or else the next one. Empty: the
/// end may follow, and nothing else has to.
fn followers(part: &Part, from: Option<usize>, near: &[usize]) -> std::ops::Range<usize> {
    behind(from)..near_enough(near, from).min(part.to)
}

/// The visits behind `from` end here that are near enough, or the next one does.
fn near_enough(near: &[usize], from: Option<usize>) -> usize {
    let first = behind(from);
    near[first].max(first + 1)
}

/// The first visit behind `from`; `None`: the beginning.
fn behind(from: Option<usize>) -> usize {
    from.map_or(0, |i| i + 1)
}

/// May the end of `part` follow?
fn ends(visits: &[Visit], part: &Part, from: Option<usize>, every: f64) -> bool {
    let at = from.map_or(0.0, |i| visits[i].at_s);
    part.end <= at + every || behind(from) == part.to
}

/// The cheapest selection in `part`.
fn choose(visits: &[Visit], (every, near): (f64, &[usize]), part: &Part) -> Choice {
    // From the last one backwards: the least that is to be paid from there on, and what follows.
    let mut rest: Vec<(u64, Option<usize>)> = vec![(0, None); visits.len() + 1];
    let best = |rest: &[(u64, Option<usize>)], from: Option<usize>| {
        if ends(visits, part, from, every) {
            return (0, None);
        }
        let cost = |j: usize| (visits[j].bytes.saturating_add(rest[j].0), j);
        // Of equal ones the last, so that there are few.
        let least = followers(part, from, near).map(cost).min_by_key(|(c, j)| (*c, usize::MAX - j));
        least.map_or((0, None), |(c, j)| (c, Some(j)))
    };
    for i in (behind(part.from)..part.to).rev() {
        rest[i] = best(&rest, Some(i));
    }
    let (bytes, mut next) = best(&rest, part.from);
    let mut chosen = Vec::new();
    while let Some(i) = next {
        chosen.push(i);
        next = rest[i].1;
    }
    Choice { visits: chosen, bytes }
}

/// What a choice by chance costs on average: each time any of the visits in the second half of the interval.
fn by_chance(visits: &[Visit], (every, near): (f64, &[usize]), part: &Part) -> f64 {
    let mut rest = vec![0.0; visits.len() + 1];
    let mean = |rest: &[f64], from: Option<usize>| {
        if ends(visits, part, from, every) {
            return 0.0;
        }
        let all = followers(part, from, near);
        let at = from.map_or(0.0, |i| visits[i].at_s);
        let late = all.start + visits[all.clone()].partition_point(|v| v.at_s < at + every / 2.0);
        let some = if late < all.end { late..all.end } else { all };
        let n = some.len().max(1) as f64;
        some.map(|j| visits[j].bytes as f64 + rest[j]).sum::<f64>() / n
    };
    for i in (behind(part.from)..part.to).rev() {
        rest[i] = mean(&rest, Some(i));
    }
    mean(&rest, part.from)
}

/// Can a plan be made of these? An error says why not.
fn check(all: &Candidates) -> Result<(), &'static str> {
    let Candidates { places, visits } = all;
    if visits.is_empty() {
        return Err("the program came to no place, or took no checkpoints: mark places (#pragma promp \
             checkpoint, promp_potential_ckpt), or build it with promp-cc, and run it with `promp run \
             --ckpt DIR --report FILE`");
    }
    let is_sound = visits.iter().all(|v| v.place < places.len())
        && visits.windows(2).all(|w| w[0].number < w[1].number && w[0].at_s <= w[1].at_s);
    if is_sound { Ok(()) } else { Err("its visits are out of order") }
}

/// Prints how often each place was come to, and how many of `chosen` are at it.
fn print_places(all: &Candidates, chosen: &[usize]) {
    let Candidates { places, visits } = all;
    let mut names = Places::default();
    for (i, site) in places.iter().enumerate() {
        let of = |v: &&Visit| v.place == i;
        let bytes = visits.iter().filter(of).map(|v| v.bytes);
        let (n, least) = (bytes.clone().count(), bytes.min().unwrap_or(0));
        let taken = chosen.iter().filter(|&&v| visits[v].place == i).count();
        let found = names.find(site);
        let function = found.function.as_deref().unwrap_or_else(|| base(&site.module));
        println!(
            "place {}: {function} ({}), {n} visits noted, {:.1} MB and more live; {taken} checkpoints",
            i + 1,
            found.short(),
            least as f64 / 1e6
        );
    }
}

/// Makes a plan of a report.
pub fn plan(p: &args::Plan) -> Outcome {
    let shown = p.report.display();
    let bad = |why: &str| Failure::new(65, format!("{shown}: {why}"));
    let report = report::file::load(&p.report)?;
    let Candidates { places: sites, visits } = &report.candidates;
    check(&report.candidates).map_err(bad)?;
    let every = match (p.every, report.checkpoints.last()) {
        (Some(d), _) => d.as_secs_f64(),
        (None, Some(c)) => c.interval_s,
        (None, None) => return Err(bad("the run took no checkpoint: say how often they shall be (--every)")),
    };
    let program = promp_image::recognise(&report.program)
        .ok_or_else(|| bad(&format!("its program, {}, cannot be read", report.program)))?;
    // The first one copies what no later one does. Before the threads stand still memory is looked through.
    let stop = report.checkpoints.iter().skip(1).map(|c| c.stop_s).fold(0.0, f64::max);
    let near = near(visits, every, 2.0 * stop);
    let (parts, left) = stretches(visits, (every, &near), report.wall_s);
    let (mut choice, mut chance) = (Choice::default(), 0.0);
    for part in &parts {
        let chosen = choose(visits, (every, &near), part);
        choice.visits.extend(chosen.visits);
        choice.bytes += chosen.bytes;
        chance += by_chance(visits, (every, &near), part);
    }
    let take = choice.visits.iter().map(|&i| (visits[i].number, visits[i].place)).collect();
    let places = sites.iter().map(|s| At { module: s.module.clone(), offset: s.offset }).collect();
    let leave = left.iter().map(|l| l.numbers).collect();
    let plan = Plan { promp_plan: VERSION, program, places, take, leave };
    let text = serde_json::to_string(&plan).map_err(|e| Failure::new(74, e.to_string()))?;
    promp_files::replace(&p.output, (text + "\n").as_bytes())
        .map_err(|e| Failure::new(74, format!("{}: {e}", p.output.display())))?;
    print_places(&report.candidates, &choice.visits);
    for l in left.iter().take(SHOWN) {
        println!("{}", l.show(every));
    }
    if left.len() > SHOWN {
        println!("... and {} more such stretches", left.len() - SHOWN);
    }
    if plan.take.is_empty() && !left.is_empty() {
        println!(
            "{}: nothing is planned, as no stretch is worth it: a run with this plan does what one without a \
             plan does",
            p.output.display()
        );
        return Ok(());
    }
    let less = if chance > 0.0 { 100.0 * (choice.bytes as f64 / chance - 1.0) } else { 0.0 };
    println!(
        "{}: {} checkpoints, {every} s apart at most, {:.1} MB in all ({less:+.1} % against places by \
         chance, {:.1} MB)",
        p.output.display(),
        plan.take.len(),
        choice.bytes as f64 / 1e6,
        chance / 1e6
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(seed: u64, n: u64) -> Vec<Visit> {
        let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x % n
        };
        let mut at = 0.0;
        (1..=n)
            .map(|number| {
                at += (1 + below(30)) as f64 / 10.0;
                Visit { number, place: 0, at_s: at, bytes: 1 + below(1000) }
            })
            .collect()
    }

    fn whole(v: &[Visit], end: f64) -> Part {
        Part { from: None, to: v.len(), end }
    }

    /// Without a margin.
    fn exactly(v: &[Visit], every: f64) -> Vec<usize> {
        let to = |at: f64| v.partition_point(|f| f.at_s <= at + every);
        std::iter::once(0.0).chain(v.iter().map(|v| v.at_s)).map(to).collect()
    }

    /// The least of all selections that keep to the interval, by trying them all; none keeps to it: `None`.
    fn exhaustive(v: &[Visit], every: f64, end: f64) -> Option<u64> {
        let fits = |set: u32| {
            let mut last = 0.0;
            let chosen = (0..v.len()).filter(|i| set & 1 << i != 0).map(|i| v[i].at_s).chain([end]);
            chosen.into_iter().all(|t| {
                let near = t <= last + every;
                last = t;
                near
            })
        };
        let cost = |set: u32| (0..v.len()).filter(|i| set & 1 << i != 0).map(|i| v[i].bytes).sum();
        (0..1u32 << v.len()).filter(|s| fits(*s)).map(cost).min()
    }

    #[test]
    fn no_selection_is_cheaper() {
        let mut compared = 0;
        for seed in 0..60 {
            let v = visits(seed, 3 + seed % 12);
            let end = v.last().unwrap().at_s + 1.0;
            for every in [2.0, 4.0, 7.5, 100.0] {
                let near = exactly(&v, every);
                let found = choose(&v, (every, &near), &whole(&v, end));
                assert_eq!(found.bytes, found.visits.iter().map(|&i| v[i].bytes).sum::<u64>());
                if let Some(least) = exhaustive(&v, every, end) {
                    assert_eq!(found.bytes, least, "{seed} {every}");
                    assert!(by_chance(&v, (every, &near), &whole(&v, end)) >= found.bytes as f64);
                    compared += 1;
                }
            }
        }
        assert!(compared > 100);
    }

    #[test]
    fn gaps_that_cannot_be_kept_are_as_short_as_can_be() {
        let v: Vec<Visit> = [1.0, 9.0, 10.0]
            .iter()
            .enumerate()
            .map(|(i, &at_s)| Visit { number: i as u64 + 1, place: 0, at_s, bytes: 5 })
            .collect();
        let chosen = |v: &[Visit], end| choose(v, (2.0, &near(v, 2.0, 0.0)), &whole(v, end)).visits;
        assert_eq!(chosen(&v, 11.0), [0, 1]);
        assert_eq!(chosen(&v, 99.0), [0, 1, 2]);
        assert!(chosen(&[], 99.0).is_empty());
    }

    /// Two runs of a loop whose iterations take `jitter` more or less by chance: how many gaps of the plan of
    /// the first one are longer than the interval in the second one, of how many.
    fn second_run(seed: u64, every: f64, jitter: f64, margin: bool) -> (usize, usize) {
        let run = |seed: u64| {
            let mut all = visits(seed, 3000);
            let by_chance: Vec<f64> = all.iter().map(|v| v.bytes as f64 / 1000.0).collect();
            let mut at = 0.0;
            for (i, v) in all.iter_mut().enumerate() {
                // Two places by turns, of which the first one has less to be saved.
                at += [0.03, 0.07][i % 2] * (1.0 + jitter * (by_chance[i] - 0.5));
                (v.at_s, v.place, v.bytes) = (at, i % 2, [5, 9][i % 2]);
            }
            all
        };
        let (first, second) = (run(seed), run(seed + 1000));
        let near = if margin { near(&first, every, 0.0) } else { exactly(&first, every) };
        let chosen = choose(&first, (every, &near), &whole(&first, first.last().unwrap().at_s)).visits;
        let late = chosen.windows(2).filter(|w| second[w[1]].at_s - second[w[0]].at_s > every).count();
        (late, chosen.len() - 1)
    }

    #[test]
    fn a_second_run_keeps_to_the_interval() {
        for jitter in [0.02, 0.1, 0.5] {
            let sum = |margin: bool| {
                let each = (0..20).map(|seed| second_run(seed, 2.0 + seed as f64 / 30.0, jitter, margin));
                each.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
            };
            let ((late, all), (without, _)) = (sum(true), sum(false));
            assert!(all > 1000 && 100 * late <= all, "{jitter}: {late} of {all}");
            assert!(20 * without > all, "{jitter}: {without} of {all} without a margin");
        }
    }
}
