//! Reports as people look at them: as text, as a page in a real browser, as a trace, beside another one.
//!
//! The reports are made here, about a program that was just built, so that what must be shown is known: the
//! places come from the disassembler, lines from addr2line.

use crate::common::browser::browse;
use crate::common::draws::Draws;
use crate::common::*;
use promp_report::{By, Checkpoint, Efficiency, Failure, Mark, Report, Segment, Site, Span, Trace, Track};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn cli(args: &[&str]) -> Run {
    let mut c = Command::new(library().with_file_name("promp"));
    clean(&mut c);
    c.args(args);
    limited(c, LIMIT)
}

fn said(c: &mut Command) -> String {
    let out = c.output().unwrap_or_else(|e| panic!("{c:?}: {e}"));
    assert!(out.status.success(), "{c:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn build_id(exe: &Path) -> String {
    let notes = said(Command::new("readelf").arg("-n").arg(exe));
    notes.split("Build ID: ").nth(1).and_then(|s| s.split_whitespace().next()).unwrap_or_default().to_owned()
}

/// Return addresses of the calls of `function` in `exe`, by address.
fn calls(exe: &Path, function: &str) -> Vec<u64> {
    let text = said(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(exe));
    let mut all = Vec::new();
    let mut lines = text.lines();
    while let Some(l) = lines.next() {
        if l.contains("call") && l.contains(&format!("<{function}@plt>")) {
            let next = lines.next().and_then(|n| n.split(':').next()).unwrap_or_default().trim();
            all.push(u64::from_str_radix(next, 16).expect("an address"));
        }
    }
    assert!(!all.is_empty(), "{} does not call {function}", exe.display());
    all
}

/// What binutils say of the call that returns to `offset`: "adi.c:39".
fn line_of(exe: &Path, offset: u64) -> String {
    let out = said(Command::new("addr2line").arg("-e").arg(exe).arg(format!("{:#x}", offset - 1)));
    out.split_whitespace().next().unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned()
}

/// A report of `exe`, which is npb/adi.c: one region, five barriers, six segments; the second of the
/// barriers' is the worst.
fn adi(exe: &Path) -> Report {
    let id = build_id(exe);
    let site = |offset| Some(Site { module: exe.display().to_string(), build_id: id.clone(), offset });
    let region = calls(exe, "GOMP_parallel")[0];
    let barriers = calls(exe, "GOMP_barrier");
    let mut ends = vec![("region", region)];
    ends.extend(barriers.iter().map(|b| ("barrier", *b)));
    ends.push(("region end", region));
    let segments = ends
        .windows(2)
        .enumerate()
        .map(|(i, w)| {
            let wre = [0.01, 0.3, 0.05, 0.02, 0.2, 0.0][i % 6];
            Segment {
                from: w[0].0.into(),
                to: w[1].0.into(),
                construct: "region".into(),
                begin: site(w[0].1),
                end: site(w[1].1),
                threads: 4,
                visits: 100,
                busy_s: vec![0.5, 0.5, 0.5, 2.0],
                wait_s: vec![1.5, 1.5, 1.5, 0.0],
                runtime_s: vec![0.01; 4],
                stolen_s: vec![0.0; 4],
                tp_s: 2.0,
                wre,
                gain_s: wre * 10.0,
                cause: "load_balance".into(),
                ..Segment::default()
            }
        })
        .collect();
    let span =
        |at_s, for_s, what: &str, segment| Span { at_s, for_s, what: what.into(), segment, again: false };
    Report {
        promp: "0.1.0".into(),
        program: exe.display().to_string(),
        pid: 4711,
        threads: 4,
        wall_s: 10.0,
        regions: 1,
        failures: vec![Failure {
            kind: "kill".into(),
            thread: 1,
            region: 1,
            construct: "loop".into(),
            ordinal: 1,
            at_s: 3.25,
            recovery: "recompute".into(),
            lost_iterations: 100,
            recomputed_by: vec![By { thread: 2, iterations: 100 }],
            recovery_s: 0.001,
            ..Failure::default()
        }],
        checkpoints: vec![Checkpoint {
            generation: 7,
            at_s: 5.0,
            bytes: 3 << 20,
            stop_s: 0.004,
            ..Default::default()
        }],
        efficiency: Some(Efficiency {
            parallel: 0.44,
            load_balance: 0.5,
            scheduling: 0.95,
            serial: 0.93,
            ..Efficiency::default()
        }),
        segments,
        trace: Some(Trace {
            seen: 12,
            thinned: 0,
            every: 1,
            threads: (0..4)
                .map(|thread| Track {
                    thread,
                    level: 1,
                    team: 0,
                    spans: vec![
                        span(0.1, 9.0, "region", None),
                        span(0.1, 2.0, "busy", Some(0)),
                        span(2.1, 1.0, "wait", Some(0)),
                        span(3.1, 4.0, "busy", Some(1)),
                    ],
                })
                .collect(),
            marks: vec![Mark {
                at_s: 6.0,
                kind: "rollback".into(),
                text: "to generation 7".into(),
                ..Mark::default()
            }],
        }),
        ..Report::default()
    }
}

fn written(name: &str, r: &Report) -> PathBuf {
    let path = out_dir().join(name);
    std::fs::create_dir_all(out_dir()).unwrap();
    std::fs::write(&path, serde_json::to_string(r).unwrap()).unwrap();
    path
}

#[test]
fn every_segment_has_function_and_line() {
    let exe = build("npb/adi.c", &["-g"]);
    let report = written("adi-report.json", &adi(&exe));
    let run = cli(&["report", report.to_str().unwrap()]);
    assert_eq!(run.status, 0, "{run:?}");
    for b in calls(&exe, "GOMP_barrier") {
        assert!(run.out.contains(&format!("run  {}", line_of(&exe, b))), "{}: {run:?}", line_of(&exe, b));
    }
    for word in
        ["44 %", "schedule(dynamic)", "thread 3 works 2.3 times", "30 % of the run", "░", "generation 7"]
    {
        assert!(run.out.contains(word), "{word}: {}", run.out);
    }
    assert!(!run.out.contains('\x1b'), "colours in a file");
    let json: serde_json::Value =
        serde_json::from_str(&cli(&["report", "--json", report.to_str().unwrap()]).out).unwrap();
    for s in json["segments"].as_array().unwrap() {
        assert!(s["function"].as_str().unwrap().starts_with("run"), "{s}");
        assert!(s["file"].as_str().unwrap().ends_with("adi.c") && s["line"].as_u64().unwrap() > 20, "{s}");
        assert!(!s["advice"].as_str().unwrap().is_empty(), "{s}");
    }
}

#[test]
fn what_is_missing_is_said_and_nothing_is_lost() {
    let exe = build("npb/adi.c", &["-g"]);
    let whole = adi(&exe);
    let show = |name: &str, r: &Report| {
        let path = written(name, r);
        let run = cli(&["report", path.to_str().unwrap()]);
        let page = cli(&["report", path.to_str().unwrap(), "--html", "-"]);
        assert!(run.status == 0 && page.status == 0 && page.out.ends_with("</html>"), "{run:?} {page:?}");
        (run.out, page.out)
    };
    // Without segments.
    let none = Report { segments: vec![], efficiency: None, trace: None, ..whole.clone() };
    let (text, page) = show("none-report.json", &none);
    assert!(text.contains("promp run --monitor") && text.contains("generation 7"), "{text}");
    assert!(page.contains("promp run --monitor") && page.contains("recompute"), "{page}");
    let no_trace = cli(&["report", out_dir().join("none-report.json").to_str().unwrap(), "--trace", "-"]);
    assert!(no_trace.status == 65 && no_trace.err.contains("--monitor=trace"), "{no_trace:?}");
    // Without debug information, and without symbols.
    let (plain, bare) = (out_dir().join("adi-plain"), out_dir().join("adi-bare"));
    for (flag, to) in [("--strip-debug", &plain), ("--strip-all", &bare)] {
        said(Command::new("strip").arg(flag).arg("-o").arg(to).arg(&exe));
    }
    let moved = |to: &Path| {
        let mut r = whole.clone();
        for s in &mut r.segments {
            for site in [&mut s.begin, &mut s.end].into_iter().flatten() {
                site.module = to.display().to_string();
            }
        }
        r
    };
    let (text, page) = show("plain-report.json", &moved(&plain));
    assert!(
        text.contains("run  ") && text.contains("adi-plain+0x") && text.contains("build with -g"),
        "{text}"
    );
    assert!(page.contains("adi-plain+0x") && page.contains("no debug information"), "{page}");
    let (text, _) = show("bare-report.json", &moved(&bare));
    assert!(text.contains("(unknown function)") && text.contains("adi-bare+0x"), "{text}");
    // Gone, or another build.
    let (text, _) = show("gone-report.json", &moved(Path::new("/nonexistent/adi")));
    assert!(text.contains("/nonexistent/adi cannot be read") && text.contains("adi+0x"), "{text}");
    let mut other = whole.clone();
    for s in &mut other.segments {
        s.end.as_mut().unwrap().build_id = "0123456789abcdef".into();
    }
    let (text, _) = show("other-report.json", &other);
    assert!(text.contains("has been built anew since that run"), "{text}");
    // The source is not here.
    let mut nowhere = whole.clone();
    for s in &mut nowhere.segments {
        (s.file, s.line, s.function) = (Some("/nonexistent/x.c".into()), Some(7), Some("f".into()));
    }
    let (text, page) = show("nowhere-report.json", &nowhere);
    assert!(text.contains("x.c:7") && page.contains("/nonexistent/x.c is not here"), "{page}");
}

#[test]
fn a_stranger_cannot_put_code_on_the_page() {
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
    let mut r = adi(&build("npb/adi.c", &["-g"]));
    (r.program, r.failures[0].construct, r.segments[0].function) =
        (evil.into(), evil.into(), Some(evil.into()));
    (r.segments[0].from, r.segments[0].cause, r.segments[0].advice) =
        (evil.into(), evil.into(), Some(evil.into()));
    let trace = r.trace.as_mut().unwrap();
    (trace.marks[0].text, trace.threads[0].spans[0].what) = (evil.into(), evil.into());
    (r.segments[1].busy_s, r.segments[1].wait_s) = (vec![-1.0, 1e300], vec![]);
    trace.threads[1].spans[2].segment = Some(u32::MAX);
    let page = cli(&["report", written("evil-report.json", &r).to_str().unwrap(), "--html", "-"]);
    assert_eq!(page.status, 0, "{page:?}");
    for bad in ["<script>alert", "<img", "</script><script>alert"] {
        assert!(!page.out.contains(bad), "{bad}");
    }
    // The style, the data, the script: three elements, and no address to load from.
    assert_eq!(page.out.matches("<script").count(), 2, "scripts");
    assert!(page.out.contains("default-src 'none'") && !page.out.contains("src=\"http"));
}

/// The names in the first column of the page's table, from top to bottom.
fn rows(dom: &str) -> Vec<String> {
    let table =
        dom.split("id=\"segments\"").nth(1).and_then(|t| t.split("<section").next()).unwrap_or_default();
    table.split("class=\"at\">").skip(1).map(|r| r.split('<').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_browser_reads_the_table_back() {
    let exe = build("npb/adi.c", &["-g"]);
    let r = adi(&exe);
    let report = written("page-report.json", &r);
    let page = out_dir().join("page-report.html");
    let run = cli(&["report", report.to_str().unwrap(), "--html", page.to_str().unwrap()]);
    assert!(run.status == 0 && run.out.is_empty(), "{run:?}");
    let Some(dom) = browse(&page) else { return };
    let barriers: Vec<String> = calls(&exe, "GOMP_barrier").iter().map(|b| line_of(&exe, *b)).collect();
    // By what is to be gained: segments 1, 4, 2, 3, 0, 5; each but the last is named by the barrier that it
    // ends with.
    let after = format!("after {}", barriers[4]);
    let want = [&barriers[1], &barriers[4], &barriers[2], &barriers[3], &barriers[0], &after];
    assert_eq!(rows(&dom).iter().collect::<Vec<_>>(), want);
    assert!(dom.contains("30 %") && dom.contains("LOOP()"), "gain and the source");
    // The timeline was drawn: the script has given its canvas a size.
    let canvas = dom.split("<canvas").nth(1).and_then(|c| c.split('>').next()).unwrap_or_default();
    assert!(canvas.contains("width=\"1") && canvas.contains("height="), "{canvas}");

    // A click sorts the other way round, a row opens, and keys move the timeline.
    let text = std::fs::read_to_string(&page).unwrap();
    let act = "<script>document.querySelectorAll('thead button')[3].click();\
               document.querySelector('#s2 .open').click();\
               document.getElementById('timeline').dispatchEvent(new KeyboardEvent('keydown', { key: '+' }));\
               </script></body>";
    let clicked = out_dir().join("page-clicked.html");
    std::fs::write(&clicked, text.replace("</body>", act)).unwrap();
    let dom = browse(&clicked).expect("the same browser");
    assert_eq!(rows(&dom).iter().rev().collect::<Vec<_>>(), want);
    assert!(dom.contains("aria-sort=\"ascending\"") && !dom.contains("aria-sort=\"descending\""));
    assert_eq!(dom.matches("aria-expanded=\"true\"").count(), 2);
    assert!(dom.contains("2.000000 s to 8.000000 s"), "the timeline did not zoom");
}

#[test]
fn a_trace_nests_and_has_a_track_a_thread() {
    let report = written("trace-report.json", &adi(&build("npb/adi.c", &["-g"])));
    let out = out_dir().join("trace-chrome.json");
    let run = cli(&["report", report.to_str().unwrap(), "--trace", out.to_str().unwrap()]);
    assert_eq!(run.status, 0, "{run:?}");
    let v: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let events = v["traceEvents"].as_array().unwrap();
    let names: Vec<_> =
        events.iter().filter(|e| e["name"] == "thread_name").map(|e| &e["args"]["name"]).collect();
    assert_eq!(names, ["thread 0", "thread 1", "thread 2", "thread 3"]);
    for tid in 1..=4 {
        let mut open: Vec<f64> = Vec::new();
        for e in events.iter().filter(|e| e["ph"] == "X" && e["tid"] == tid) {
            let (at, end) =
                (e["ts"].as_f64().unwrap(), e["ts"].as_f64().unwrap() + e["dur"].as_f64().unwrap());
            open.retain(|o| *o > at + 1e-6);
            assert!(open.iter().all(|o| *o >= end - 1e-6), "{e} does not nest");
            open.push(end);
        }
    }
    assert!(events.iter().any(|e| e["name"].as_str().is_some_and(|n| n.starts_with("run adi.c:"))));
    for kind in ["failure", "rollback", "checkpoint"] {
        assert!(events.iter().any(|e| e["ph"] == "i" && e["cat"] == kind), "{kind}");
    }
}

#[test]
fn two_runs_side_by_side() {
    let exe = build("npb/adi.c", &["-g"]);
    let (before, mut after) = (adi(&exe), adi(&exe));
    after.wall_s = 7.0;
    after.segments[1].busy_s = vec![0.9; 4];
    after.segments[1].wait_s = vec![0.0; 4];
    after.segments[1].wre = 0.0;
    after.segments.pop();
    let (a, b) = (written("before.json", &before), written("after.json", &after));
    let args = ["report", "--diff", a.to_str().unwrap(), b.to_str().unwrap()];
    let run = cli(&args);
    assert_eq!(run.status, 0, "{run:?}");
    for word in ["-30.0 %", "only before", &line_of(&exe, calls(&exe, "GOMP_barrier")[1])] {
        assert!(run.out.contains(word), "{word}: {}", run.out);
    }
    let json: serde_json::Value = serde_json::from_str(&cli(&[&args[..], &["--json"]].concat()).out).unwrap();
    assert_eq!((&json["after"]["wall_s"], json["segments"].as_array().unwrap().len()), (&7.0.into(), 6));
    let missing = cli(&["report", "--diff", a.to_str().unwrap(), "/nonexistent.json"]);
    assert!(missing.status == 66 && missing.err.contains("/nonexistent.json"), "{missing:?}");
}

/// `exe` under `promp run --monitor`, and its report with names.
fn measured(exe: &Path, args: &[&str], what: &str) -> (PathBuf, Report) {
    let file = out_dir().join(format!("measured-{}.json", exe.file_name().unwrap().display()));
    let run = cli(&[
        &["run", what, "--threads", "3", "--report", file.to_str().unwrap(), "--", exe.to_str().unwrap()],
        args,
    ]
    .concat());
    assert_eq!(run.status, 0, "{run:?}");
    let json = cli(&["report", "--json", file.to_str().unwrap()]);
    (file, serde_json::from_str(&json.out).unwrap_or_else(|e| panic!("{e}: {json:?}")))
}

#[test]
fn measured_programs_carry_names_and_lines() {
    for (source, words) in [
        ("npb/adi.c", &["run"][..]),
        ("npb/cg.c", &["dot"]),
        ("npb/mg.c", &["residual", "smooth", "interpolate", "restrict_to"]),
        ("npb/mg.f90", &["__grids_MOD_residual", "__grids_MOD_smooth"]),
    ] {
        let (file, r) = measured(&build(source, &["-g"]), &["S"], "--monitor=trace");
        assert!(!r.segments.is_empty() && r.trace.is_some(), "{source}: {r:?}");
        for s in &r.segments {
            assert!(s.function.is_some() && s.file.is_some() && s.line.is_some(), "{source}: {s:?}");
        }
        for word in words {
            let named = |s: &Segment| s.function.as_ref().is_some_and(|f| f.starts_with(word));
            assert!(r.segments.iter().any(named), "{source}: {word}");
        }
        let trace = cli(&["report", file.to_str().unwrap(), "--trace", "-"]);
        assert!(trace.status == 0 && trace.out.contains("thread 2"), "{source}");
    }
}

#[test]
fn the_example_of_the_documents_names_the_line_to_change() {
    let exe = build("monitor/pairs.c", &["-g"]);
    let source = std::fs::read_to_string(root().join("c-tests/monitor/pairs.c")).unwrap();
    let line = source.lines().position(|l| l == "#pragma omp for").unwrap() as u32 + 1;
    // The worst one is another one where others take the CPUs in the middle of it: once more, then.
    let (mut file, mut worst, mut draws) = (PathBuf::new(), Segment::default(), Draws::between(1, 20));
    let right = |s: &Segment| s.line == Some(line) && s.construct == "region";
    while draws.next(right(&worst)).is_some() {
        let (its, r) = measured(&exe, &["1500", "20"], "--monitor");
        file = its;
        worst = r.segments.into_iter().max_by(|a, b| a.gain_s.total_cmp(&b.gain_s)).unwrap();
    }
    assert!(right(&worst), "{worst:?}");
    let text = cli(&["report", file.to_str().unwrap(), "--segments", "1"]).out;
    assert!(text.contains(&format!("pairs.c:{line}")), "{text}");
}

/// A program that is running, as `promp top` sees it.
#[test]
fn a_measured_program_can_be_watched() {
    let exe = build("monitor/pairs.c", &["-g"]);
    let mut c = Command::new(library().with_file_name("promp"));
    clean(&mut c);
    c.args(["run", "--monitor", "--threads", "2", "--"]).arg(&exe).args(["1500", "1000000"]);
    c.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = started(&mut c);
    let pid = child.id().to_string();
    let start = std::time::Instant::now();
    let seen = loop {
        let top = cli(&["top", &pid, "--once"]);
        if top.status == 0 && top.out.contains("forces") {
            break Some(top.out);
        }
        if start.elapsed() > LIMIT {
            eprintln!("{top:?}");
            break None;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let _ = child.kill();
    let _ = child.wait();
    // Killed, it has left its file behind.
    // SAFETY: no pointers.
    let _ = std::fs::remove_file(promp_report::live::path(unsafe { libc::geteuid() }, child.id()));
    let seen = seen.expect("the program on the screen");
    assert!(seen.contains("pairs.c:") && seen.contains("thread   1"), "{seen}");
}
