//! How a tool is found, what it may ask, and what it must not do.

use crate::common::*;
use std::process::Command;

/// The program with a tool of its own, also where the linker has not exported that.
#[test]
fn a_tool_asks_where_it_is() {
    for flags in [&["-O0"][..], &["-O2", "-rdynamic"], &["-O2", "-no-pie"]] {
        let exe = build("ompt/asks.c", flags);
        for which in ["levels", "states", "names", "places"] {
            let env = [("RECORDER_OUT", "/dev/null"), ("OMP_PLACES", "threads")];
            let run = promp(&exe, &[which], &env);
            assert_eq!((run.status, run.out.as_str()), (0, "asked enough\n"), "{which} {flags:?}");
        }
    }
}

#[test]
fn how_a_tool_is_found() {
    let exe = build("observe/events.c", &[]);
    let bad = build("ompt/bad.c", &["-shared", "-fPIC"]);
    let bad = bad.to_str().expect("UTF-8");
    let run = |env: &[(&str, &str)]| {
        let run = promp(&exe, &["regions"], env);
        assert_eq!(run.status, 0, "{env:?}: {}", run.err);
        run.err
    };
    let works = "regions: 4\n";
    assert_eq!(run(&[("OMP_TOOL_LIBRARIES", bad)]), works);
    assert_eq!(run(&[("OMP_TOOL_LIBRARIES", bad), ("OMP_TOOL", "disabled")]), "");
    assert_eq!(run(&[("OMP_TOOL_LIBRARIES", bad), ("OMP_TOOL", "enabled")]), works);
    let said = run(&[("OMP_TOOL_LIBRARIES", bad), ("OMP_TOOL", "perhaps")]);
    assert!(said.contains("OMP_TOOL=perhaps is not understood: accepted are enabled, disabled"), "{said}");
    // Missing, without the function, unwilling: the next one is asked.
    let missing = "/nonexistent/tool.so";
    let list = format!("{missing}:libm.so.6:{bad}");
    assert_eq!(run(&[("OMP_TOOL_LIBRARIES", &list)]), works);
    let said = run(&[("OMP_TOOL_LIBRARIES", missing)]);
    assert!(said.starts_with(&format!("promp: OMP_TOOL_LIBRARIES={missing}: no tool there")), "{said}");
    let said = run(&[("OMP_TOOL_LIBRARIES", "libm.so.6")]);
    assert!(said.contains("libm.so.6 has no ompt_start_tool"), "{said}");
    for how in ["null", "unwilling", "empty"] {
        assert_eq!(run(&[("OMP_TOOL_LIBRARIES", bad), ("BAD", how)]), "", "{how}");
    }
    // What was tried is said where it is asked for.
    let said = run(&[("OMP_TOOL_LIBRARIES", &list), ("OMP_TOOL_VERBOSE_INIT", "stderr")]);
    for what in ["the program and what is loaded with it have none", missing, "libm.so.6 has no", "started"] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let said = run(&[("OMP_TOOL_LIBRARIES", bad), ("BAD", "null"), ("OMP_TOOL_VERBOSE_INIT", "stderr")]);
    assert!(said.contains("it answers null: no tool") && said.contains("there is none"), "{said}");
    let file = out_dir().join(format!("ompt-log-{}", std::process::id()));
    let path = file.to_str().expect("UTF-8");
    assert_eq!(run(&[("OMP_TOOL_LIBRARIES", bad), ("OMP_TOOL_VERBOSE_INIT", path)]), works);
    assert!(std::fs::read_to_string(&file).expect("written").contains("started"));
    let _ = std::fs::remove_file(&file);
    // A library that is loaded with the program comes first.
    let both = format!("{}:{bad}", library().display());
    let mut c = Command::new(&exe);
    clean(&mut c);
    c.arg("regions").env("LD_PRELOAD", both).env("OMP_TOOL_LIBRARIES", missing);
    let run = limited(c, LIMIT);
    assert_eq!((run.status, run.err.as_str()), (0, works));
}

#[test]
fn what_tools_do_that_they_should_not() {
    let exe = build("observe/events.c", &[]);
    let bad = build("ompt/bad.c", &["-shared", "-fPIC"]);
    let run = |how: &str| {
        let env = [("OMP_TOOL_LIBRARIES", bad.to_str().expect("UTF-8")), ("BAD", how)];
        let run = promp(&exe, &["regions"], &env);
        (run.status, run.err)
    };
    // Locks and questions work, and are not told of; so do questions while it is initialised.
    assert_eq!(run("calls"), (0, "regions: 4\n".into()));
    assert_eq!(run("early"), (0, "regions: 4\n".into()));
    let (status, said) = run("region");
    assert!(status == 70 && said.contains("begins a parallel region, which OpenMP does not allow"), "{said}");
    let (status, said) = run("crash");
    assert!(status == 139 && said.contains("the OMPT tool crashes in a callback"), "{said}");
}
