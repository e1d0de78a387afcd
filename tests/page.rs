//! The page of a report fits a window of 1280 pixels, whatever the names in it, and shows no column in vain.

use crate::common::browser::wider_than_its_place;
use crate::common::*;
use promp_report::{By, Checkpoint, Efficiency, Failure, Report, Segment, Site, Unsafe};
use std::path::PathBuf;
use std::process::Command;

/// A page made of `r`.
fn page(name: &str, r: &Report) -> PathBuf {
    let folder = out_folder("page");
    let (report, page) = (folder.join(format!("{name}.json")), folder.join(format!("{name}.html")));
    std::fs::write(&report, serde_json::to_string(r).unwrap()).unwrap();
    let mut c = Command::new(library().with_file_name("promp"));
    clean(&mut c);
    c.arg("report").arg(&report).arg("--html").arg(&page);
    let run = limited(c, LIMIT);
    assert_eq!(run.status, 0, "{run:?}");
    page
}

fn segment(function: &str, module: &str, offset: u64, threads: usize) -> Segment {
    Segment {
        from: "region".into(),
        to: "region end".into(),
        construct: "loop".into(),
        schedule: Some("dynamic,18446744073709551615".into()),
        function: Some(function.into()),
        begin: Some(Site { module: module.into(), offset, ..Site::default() }),
        level: Some(1),
        threads: threads as u32,
        visits: 123_456_789,
        iterations: u64::MAX,
        chunks: u64::MAX,
        busy_s: (1..=threads).map(|i| i as f64 * 111.0).collect(),
        wait_s: vec![1234.5; threads],
        runtime_s: vec![10.0; threads],
        stolen_s: vec![5.0; threads],
        wall_s: Some(5000.0),
        tp_s: 4000.0,
        gain_s: 1000.0 / offset as f64,
        wre: 0.25 / offset as f64,
        cause: "load_balance".into(),
        ..Segment::default()
    }
}

/// As wide as it gets: names without a place to break, many threads, large numbers.
fn widest(name: &str, threads: usize) -> Report {
    let module = format!("/{name}/_k_means_lloyd.cpython-311-x86_64-linux-gnu.so");
    let failure = Failure {
        kind: "kill".into(),
        thread: u32::MAX,
        region: u64::MAX,
        construct: name.into(),
        ordinal: u64::MAX,
        at_s: 1e6,
        recovery: "recompute".into(),
        lost_iterations: u64::MAX,
        recomputed_by: (0..64).map(|thread| By { thread, iterations: u64::MAX }).collect(),
        recovery_s: 1e5,
        ..Failure::default()
    };
    let taken =
        Checkpoint { generation: u64::MAX, bytes: u64::MAX, dirty_pages: u64::MAX, ..Checkpoint::default() };
    let mut segments: Vec<Segment> = (1..20).map(|i| segment(name, &module, i, threads)).collect();
    segments.extend((20..24).map(|i| segment(&format!("f{i}"), &module, i, threads)));
    // Its source is this file.
    (segments[0].file, segments[0].line) =
        (Some(root().join("tests/page.rs").display().to_string()), Some(8));
    segments[3].advice = Some(name.into());
    Report {
        program: format!("/{name}/{name}"),
        threads: threads as u32,
        wall_s: 10_000.0,
        regions: u64::MAX,
        failures: vec![failure.clone(), Failure { recomputed_by: vec![], ..failure }],
        checkpoints: vec![Checkpoint { stop_s: 1.5, write_s: 123.0, ..taken }; 2],
        efficiency: Some(Efficiency { parallel: 0.5, serial_s: 100.0, ..Efficiency::default() }),
        unsafe_sites: vec![Unsafe { at: name.into(), ..Unsafe::default() }],
        segments,
        ..Report::default()
    }
}

#[test]
fn nothing_is_wider_than_its_place() {
    let cpp =
        "std::function<std::vector<std::map<std::string,std::pair<int,double>>>(Grid<double>const&)>::apply";
    for (name, r) in [
        ("word", widest(&"x".repeat(300), 4)),
        ("cython", widest("sklearn.cluster._k_means_lloyd.lloyd_iter_chunked_dense", 2)),
        ("cpp", widest(cpp, 128)),
        ("wide-characters", widest(&"漢".repeat(200), 1)),
        ("short", widest("f", 256)),
        ("empty", Report::default()),
    ] {
        let Some(wide) = wider_than_its_place(&page(name, &r)) else { return };
        assert_eq!(wide, "", "{name}");
    }
}

#[test]
fn modules_are_short_and_whole_in_the_tooltip() {
    let text = std::fs::read_to_string(page("modules", &widest("f", 2))).unwrap();
    assert!(text.contains(">_k_means_lloyd+0x2</span>"), "the module's short name");
    let whole = "title=\"/f/_k_means_lloyd.cpython-311-x86_64-linux-gnu.so+0x2\"";
    assert!(text.contains(whole), "the whole in the tooltip");
    // The 19 segments of one function have a row of its own in front.
    assert!(text.contains("19 segments") && !text.contains(">4 segments"), "functions");
}

#[test]
fn empty_columns_and_signs_of_nothing_are_left_out() {
    let full = widest("f", 2);
    let text = std::fs::read_to_string(page("full", &full)).unwrap();
    let columns = [">pages changed<", ">iterations again<", ">Perfect balance would save<", "<th>waiting"];
    for column in columns {
        assert!(text.contains(column), "{column}");
    }
    let bare = |s: &Segment| Segment {
        wre: -0.0,
        wre_own: Some(-1e-9),
        gain_s: -0.0,
        wait_s: vec![-0.0; 2],
        stolen_s: vec![],
        cause: String::new(),
        tp_s: 5000.0,
        ..s.clone()
    };
    let r = Report {
        failures: full.failures[1..].iter().map(|f| Failure { lost_iterations: 0, ..f.clone() }).collect(),
        checkpoints: full.checkpoints.iter().map(|c| Checkpoint { dirty_pages: 0, ..*c }).collect(),
        segments: full.segments[..3].iter().map(bare).collect(),
        efficiency: Some(Efficiency { parallel: -0.0, serial: -1e-6, ..Efficiency::default() }),
        ..full
    };
    let text = std::fs::read_to_string(page("bare", &r)).unwrap();
    for column in columns {
        assert!(!text.contains(column), "{column}");
    }
    let bad = ["-0 ", "-0.0", "\u{2212}0", "-0<"];
    assert!(bad.iter().all(|b| !text.contains(b)), "a sign of nothing");
}
