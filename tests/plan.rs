//! `promp plan`: the best places for checkpoints (docs/live-sets.md).

mod common;
use common::draws::Draws;
use common::saved::*;
use common::*;
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

    let made = promp_command(&["plan", text(&report), "-o", text(&plan)]);
    assert_eq!(made.status, 0, "{}", made.err);
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
    assert!(made.status == 65 && made.err.contains("no report"), "{}", made.err);
    let made = promp_command(&["plan", "/nowhere", "-o", text(&plan)]);
    assert_eq!(made.status, 66, "{}", made.err);
}
