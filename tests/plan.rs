//! `promp plan`: the best places for checkpoints (docs/internals/live-sets.md).

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::Path;
use std::process::Command;

fn promp_command(args: &[&str]) -> Run {
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(args);
    limited(c, LIMIT)
}

fn planned(exe: &Path, args: &[&str], dir: &Path, more: &[&str]) -> Run {
    let _ = fs::remove_dir_all(dir);
    let run = ["run", "--threads", "4", "--every", "50ms", "--ckpt", text(dir)];
    promp_command(&[&run[..], more, &["--", text(exe)], args].concat())
}

fn json(file: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(file).expect("a file")).expect("JSON")
}

#[test]
fn a_plan_is_made_and_kept_to() {
    let s = Scratch::new("plan");
    let exe = build("ckpt/places.c", &[]);
    let (dir, report, plan) = (s.path("ckpt"), s.path("report"), s.path("plan"));
    // As many steps as it takes here to come to three checkpoints at least.
    let mut steps = 300;
    let r = loop {
        let n = steps.to_string();
        let want = reference(&exe, &[&n], &[THREADS]).out;
        let run = planned(&exe, &[&n], &dir, &["--report", text(&report)]);
        assert_eq!((run.status, &run.out), (0, &want), "{}", run.err);
        let r = json(&report);
        let large = |c: &&serde_json::Value| c["left_out"].as_u64() > Some(3_000_000);
        let all = r["checkpoints"].as_array().unwrap();
        if steps >= 20_000 || (all.len() >= 5 && all.iter().filter(large).count() > 0) {
            break r;
        }
        steps *= 2;
    };
    let n = &*steps.to_string();
    let want = reference(&exe, &[n], &[THREADS]).out;
    assert_eq!(r["places"].as_array().map(Vec::len), Some(3));
    let visits = r["visits"].as_array().expect("visits");
    // Where most is dead least is live.
    let mean = |place: u64| {
        let bytes = visits.iter().filter(|v| v["place"] == place).map(|v| v["bytes"].as_u64().unwrap());
        let all: Vec<u64> = bytes.collect();
        all.iter().sum::<u64>() / all.len().max(1) as u64
    };
    assert!(mean(0) + 1_000_000 < mean(1) && mean(1) + 1_000_000 < mean(2), "{} {}", mean(0), mean(1));
    // The rule without a plan finds the best place, too.
    let both =
        r["checkpoints"].as_array().unwrap().iter().filter(|c| c["left_out"].as_u64() > Some(3_000_000));
    assert!(both.count() > 0, "{}", r["checkpoints"]);

    // As on a machine on which steps take a tenth of the interval.
    assert!(paced(&r, &report, |_| 0.005 / 3.0) > 0.2);
    let made = promp_command(&["plan", text(&report), "-o", text(&plan)]);
    assert_eq!(made.status, 0, "{}", made.err);
    assert!(json(&plan)["leave"].as_array().is_some_and(Vec::is_empty), "{}", made.out);
    assert!(made.out.contains("place 1: ") && made.out.contains("against places by chance"), "{}", made.out);
    let take = json(&plan)["take"].as_array().map_or(0, Vec::len);
    // One that is come to while the one before is still being written is left out: on a slow disk many.
    let (mut taken, mut draws) = (0, Draws::between(1, 20));
    while draws.next(taken > 1).is_some() {
        let run = planned(&exe, &[n], &dir, &["--report", text(&report), "--plan", text(&plan)]);
        assert_eq!((run.status, &run.out), (0, &want), "{}", run.err);
        assert!(!run.err.contains("does not keep"), "{}", run.err);
        taken = json(&report)["checkpoints"].as_array().map_or(0, Vec::len);
    }
    assert!(take > 1 && taken > 1, "{taken} of {take} planned");

    // Failures in between, with what was left out full of NaNs.
    let fault = ["--fault", "crash@mtbf=150ms,count=3", "--plan", text(&plan)];
    let mut c = Command::new(command());
    clean(&mut c);
    let _ = fs::remove_dir_all(&dir);
    c.args(["run", "--threads", "4", "--every", "50ms", "--ckpt", text(&dir)]).args(fault).arg("--");
    c.arg(&exe).arg(n).env("PROMP_CKPT_POISON", "1");
    let run = limited(c, LIMIT);
    assert_eq!((run.hung, run.status, &run.out), (false, 0, &want), "{}", run.err);

    // It goes another way than the plan's.
    let want = reference(&exe, &[n, "c"], &[THREADS]).out;
    let run = planned(&exe, &[n, "c"], &dir, &["--plan", text(&plan)]);
    assert_eq!((run.status, &run.out), (0, &want), "{}", run.err);

    // Another program's, and none at all.
    let other = build("ckpt/elastic.c", &[]);
    let run = planned(&other, &["3"], &dir, &["--plan", text(&plan)]);
    assert!(run.status == 64 && run.err.contains("the plan of another program"), "{}", run.err);
    assert!(run.out.is_empty(), "it has run: {}", run.out);
    fs::write(&plan, "[1]").unwrap();
    let run = planned(&exe, &["3"], &dir, &["--plan", text(&plan)]);
    assert!(run.status == 64 && run.err.contains("no plan"), "{}", run.err);
}

/// The report `r` in the file `to`, with every visit, and `each` of them so many seconds after the one
/// before: how long that run is.
fn paced(r: &serde_json::Value, to: &Path, each: impl Fn(u64) -> f64) -> f64 {
    let mut r = r.clone();
    let last = r["visits"].as_array().and_then(|v| v.last()?["number"].as_u64()).expect("visits");
    let mean = |place: u64| {
        let of = r["visits"].as_array().unwrap().iter().filter(|v| v["place"] == place);
        let all: Vec<u64> = of.map(|v| v["bytes"].as_u64().unwrap()).collect();
        all.iter().sum::<u64>() / all.len().max(1) as u64
    };
    let bytes = [0, 1, 2].map(mean);
    let mut at = 0.0;
    let visit = |number: u64| {
        at += each(number);
        let place = (number - 1) % 3;
        serde_json::json!({"number": number, "place": place, "at_s": at, "bytes": bytes[place as usize]})
    };
    r["visits"] = (1..=last).map(visit).collect();
    r["wall_s"] = at.into();
    // What a checkpoint stops is the machine's, too.
    for c in r["checkpoints"].as_array_mut().expect("checkpoints") {
        c["stop_s"] = 0.0.into();
    }
    fs::write(to, r.to_string()).unwrap();
    at
}

/// Where few visits fall into an interval there is nothing to plan, and the rule without a plan takes its
/// checkpoints: in all of a run, or in a part of it. The times are written into the report.
#[test]
fn loops_of_few_visits_are_left_to_the_rule() {
    let s = Scratch::new("fewvisits");
    let exe = build("ckpt/places.c", &[]);
    let (dir, report, plan) = (s.path("ckpt"), s.path("report"), s.path("plan"));
    let (few, many) = (0.022, 0.003);
    let (mut n, mut draws, mut enough) = (String::new(), Draws::between(1, 6), false);
    let mut r = serde_json::Value::Null;
    // Three visits a step, and as many checkpoints as it takes until memory was counted.
    while let Some(i) = draws.next(enough) {
        n = (300u64 << i).to_string();
        let run = planned(&exe, &[&n], &dir, &["--report", text(&report)]);
        assert_eq!(run.status, 0, "{}", run.err);
        r = json(&report);
        enough = r["checkpoints"].as_array().is_some_and(|c| c.len() > 2);
    }
    let want = reference(&exe, &[&n], &[THREADS]).out;
    let make = || {
        let made = promp_command(&["plan", text(&report), "-o", text(&plan), "--every", "50ms"]);
        assert_eq!(made.status, 0, "{}", made.err);
        made.out
    };
    let keep = |faults: &[&str]| {
        let args = [&["--report", text(&report), "--plan", text(&plan)], faults].concat();
        let run = planned(&exe, &[&n], &dir, &args);
        assert_eq!((run.status, &run.out), (0, &want), "{}", run.err);
        assert!(!run.err.contains("does not keep"), "{}", run.err);
        json(&report)["checkpoints"].as_array().map_or(0, Vec::len)
    };

    // All of it.
    paced(&r, &report, |_| few);
    let said = make();
    let p = json(&plan);
    let visits = r["visits"].as_array().and_then(|v| v.last()?["number"].as_u64()).unwrap();
    assert_eq!(
        (&p["take"], &p["leave"]),
        (&serde_json::json!([]), &serde_json::json!([[1, visits]])),
        "{said}"
    );
    for part in ["a plan needs 4", "to an interval of 0.05 s", "nothing is planned"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // The rule takes them, as without a plan.
    let mut draws = Draws::between(1, 20);
    let mut taken = 0;
    while draws.next(taken > 1).is_some() {
        taken = keep(&[]);
    }
    assert!(taken > 1, "{taken}");

    // The middle of it.
    let middle = visits / 3..visits * 2 / 3;
    paced(&r, &report, |i| if middle.contains(&i) { few } else { many });
    let said = make();
    let p = json(&plan);
    let left = p["leave"].as_array().expect("stretches");
    assert!(left.len() == 1 && said.contains("left to the rule without a plan: 2."), "{said}");
    let (first, last) = (left[0][0].as_u64().unwrap(), left[0][1].as_u64().unwrap());
    assert!(first.abs_diff(middle.start) < 20 && last.abs_diff(middle.end) < 20, "{said}");
    let take: Vec<u64> = p["take"].as_array().unwrap().iter().map(|t| t[0].as_u64().unwrap()).collect();
    assert!(take.iter().all(|t| *t < first || *t > last), "{p}");
    assert!(take.iter().any(|t| *t < first) && take.iter().any(|t| *t > last), "{p}");
    keep(&["--fault", "crash@mtbf=150ms,count=2"]);

    // A file of an older promp.
    let mut old = p.clone();
    old.as_object_mut().unwrap().remove("leave");
    fs::write(&plan, old.to_string()).unwrap();
    keep(&[]);
}

#[test]
fn reports_without_visits() {
    let s = Scratch::new("noplan");
    let exe = build("ckpt/elastic.c", &[]);
    let (dir, report, plan) = (s.path("ckpt"), s.path("report"), s.path("plan"));
    let run = planned(&exe, &["30"], &dir, &["--report", text(&report)]);
    assert_eq!(run.status, 0, "{}", run.err);
    let made = promp_command(&["plan", text(&report), "-o", text(&plan)]);
    assert!(made.status == 65 && made.err.contains("came to no place") && !plan.exists(), "{}", made.err);
    fs::write(&report, "not JSON").unwrap();
    let made = promp_command(&["plan", text(&report), "-o", text(&plan)]);
    assert!(made.status == 65 && made.err.contains("not a promp report"), "{}", made.err);
    let made = promp_command(&["plan", "/nowhere", "-o", text(&plan)]);
    assert_eq!(made.status, 66, "{}", made.err);
}
