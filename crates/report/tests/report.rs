//! Reports of all versions load, and nothing is renamed.

use promp_report::*;

const FIRST: &str = r#"{
    "promp": "0.1.0", "program": "/bin/app", "pid": 1, "threads": 4, "wall_s": 1.2, "regions": 120,
    "chunks": 5000,
    "failures": [ {
        "kind": "kill", "thread": 1, "region": 2, "construct": "loop", "ordinal": 1, "at_s": 0.31,
        "recovery": "recompute", "lost_iterations": 100,
        "recomputed_by": [ { "thread": 0, "iterations": 34 } ], "recovery_s": 0.0012
    } ]
}"#;

#[test]
fn a_report_of_the_first_version_loads() {
    let r: Report = serde_json::from_str(FIRST).unwrap();
    assert_eq!((r.failures[0].recomputed_by[0].iterations, r.segments.len(), r.trace), (34, 0, None));
}

#[test]
fn fields_of_later_versions_are_no_obstacle() {
    let more =
        FIRST.replacen('{', r#"{ "later": [1, {"x": 2}], "segments": [ { "wre": 0.5, "new": null } ],"#, 1);
    let r: Report = serde_json::from_str(&more).unwrap();
    assert_eq!(r.segments[0].wre, 0.5);
}

#[test]
fn all_fields_survive_and_have_the_documented_names() {
    let r = Report {
        efficiency: Some(Efficiency { parallel: 0.81, load_balance: 0.9, ..Default::default() }),
        segments: vec![Segment {
            function: Some("main".into()),
            file: Some("a.c".into()),
            line: Some(12),
            from: "region".into(),
            to: "barrier".into(),
            schedule: Some("dynamic,4".into()),
            begin: Some(Site { module: "/bin/app".into(), build_id: "ab".into(), offset: 7 }),
            busy_s: vec![1.0, 2.0],
            interval_s: Some([0.9, 1.2]),
            predicted_s: Some(1.0),
            decision: Some("dynamic,8".into()),
            advice: Some("…".into()),
            ..Default::default()
        }],
        trace: Some(Trace {
            seen: 3,
            thinned: 1,
            every: 2,
            threads: vec![Track {
                spans: vec![Span { what: "busy".into(), ..Default::default() }],
                ..Default::default()
            }],
            marks: vec![Mark { kind: "rollback".into(), ..Default::default() }],
        }),
        sdc: Some(Sdc { mode: "lazy".into(), ..Default::default() }),
        ..serde_json::from_str(FIRST).unwrap()
    };
    let v = serde_json::to_value(&r).unwrap();
    for name in
        "promp program pid threads wall_s regions chunks faults_not_fired failures checkpoints efficiency \
                 segments sdc"
            .split_whitespace()
    {
        assert!(v.get(name).is_some(), "{name}");
    }
    for name in "function file line from to construct schedule threads visits iterations busy_s wait_s \
                 runtime_s stolen_s tp_s wre gain_s cause predicted_s interval_s decision advice"
        .split_whitespace()
    {
        assert!(v["segments"][0].get(name).is_some(), "{name}");
    }
    for name in "mode sections kernels found repaired unverified run_s copy_s again_s compare_s predicted_s"
        .split_whitespace()
    {
        assert!(v["sdc"].get(name).is_some(), "{name}");
    }
    for name in ["parallel", "load_balance", "scheduling", "serial", "stolen_s"] {
        assert!(v["efficiency"].get(name).is_some(), "{name}");
    }
    assert_eq!(serde_json::from_value::<Report>(v).unwrap(), r);
}
