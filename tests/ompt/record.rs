//! What the tool c-tests/ompt/recorder.c writes down, read, and held against the rules of the specification
//! that hold for every program.

use crate::common::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The tool.
pub fn recorder() -> PathBuf {
    build("ompt/recorder.c", &["-shared", "-fPIC"])
}

/// One callback.
#[derive(Debug, Clone)]
pub struct Call {
    pub name: String,
    pub thread: u64,
    pub end: bool,
    pub words: HashMap<String, String>,
}

impl Call {
    pub fn of(line: &str) -> Option<Call> {
        let mut words = line.split(' ');
        let name = words.next()?.to_string();
        let thread = words.next()?.parse().ok()?;
        let rest: Vec<&str> = words.collect();
        let words =
            rest.iter().filter_map(|w| w.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect();
        Some(Call { name, thread, end: rest.first() == Some(&"end"), words })
    }
    pub fn word(&self, name: &str) -> &str {
        self.words.get(name).unwrap_or_else(|| panic!("{name} in {self:?}"))
    }
    pub fn n(&self, name: &str) -> u64 {
        self.word(name).parse().unwrap_or_else(|_| panic!("{name} in {self:?}"))
    }
    pub fn hex(&self, name: &str) -> u64 {
        let w = self.word(name);
        if w == "(nil)" { 0 } else { u64::from_str_radix(w.trim_start_matches("0x"), 16).expect("a number") }
    }
}

/// All that the tool was told in a run.
pub struct Record {
    /// Several threads come to the runtime for the first time at once: where from is not known then.
    pub first_calls_meet: bool,
    pub lines: Vec<String>,
    pub calls: Vec<Call>,
    pub run: Run,
}

/// How a task is, as its callbacks have said.
#[derive(Default)]
struct TaskIs {
    begun: bool,
    over: bool,
}

/// What a thread is in, as its callbacks have said.
#[derive(Default)]
struct ThreadIs {
    begun: bool,
    ended: bool,
    /// Its tasks: the last one is the current one.
    tasks: Vec<u64>,
    /// Regions that it has begun.
    regions: Vec<u64>,
    /// Synchronisations: kind, does it wait.
    syncs: Vec<(u64, bool)>,
    works: Vec<(u64, u64)>,
    wants: Option<String>,
    has: Vec<String>,
}

impl Record {
    /// Runs `exe` with the tool.
    pub fn of(exe: &Path, args: &[&str], env: &[(&str, &str)]) -> Record {
        let name = format!("ompt-{}-{:?}", std::process::id(), std::thread::current().id());
        let file = out_dir().join(name.replace(['(', ')'], ""));
        let _ = std::fs::remove_file(&file);
        let tool = recorder();
        let mut all = vec![
            ("OMP_TOOL_LIBRARIES", tool.to_str().expect("UTF-8")),
            ("RECORDER_OUT", file.to_str().expect("UTF-8")),
        ];
        all.extend(env);
        let run = promp(exe, args, &all);
        assert_eq!((run.status, run.hung), (0, false), "{args:?}: {}", run.err);
        let text = std::fs::read_to_string(&file).expect("what the tool has written");
        let _ = std::fs::remove_file(&file);
        let lines: Vec<String> = text.lines().map(String::from).collect();
        let calls = lines.iter().filter_map(|l| Call::of(l)).collect();
        Record { first_calls_meet: false, lines, calls, run }
    }

    pub fn count(&self, what: impl Fn(&Call) -> bool) -> usize {
        self.calls.iter().filter(|c| what(c)).count()
    }

    /// How often each callback was called, by name and kind: "name begin kind=1".
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for c in &self.calls {
            let mut what = c.name.clone();
            if c.end {
                what += " end";
            }
            for key in ["kind", "type", "status"] {
                if let Some(v) = c.words.get(key) {
                    what += &format!(" {v}");
                }
            }
            *counts.entry(what).or_insert(0) += 1;
        }
        counts
    }

    /// The rules of the specification that hold for all programs.
    pub fn check(&self) {
        let faults: Vec<_> = self.lines.iter().filter(|l| l.starts_with("FAULT")).collect();
        assert!(faults.is_empty(), "{faults:?}");
        let mut threads: HashMap<u64, ThreadIs> = HashMap::new();
        let mut tasks: HashMap<u64, TaskIs> = HashMap::new();
        let mut regions: HashSet<u64> = HashSet::new();
        for c in &self.calls {
            let t = threads.entry(c.thread).or_default();
            assert!(!t.ended, "behind its thread's end: {c:?}");
            let current = t.tasks.last().copied().unwrap_or(0);
            match c.name.as_str() {
                "thread_begin" => {
                    assert!(!t.begun, "{c:?}");
                    t.begun = true;
                }
                "thread_end" => {
                    assert!(t.tasks.is_empty() && t.regions.is_empty() && t.syncs.is_empty(), "{c:?}");
                    t.ended = true;
                }
                "parallel_begin" => {
                    assert_eq!(c.n("task"), current, "{c:?}");
                    assert!(regions.insert(c.n("region")));
                    t.regions.push(c.n("region"));
                    assert!(self.first_calls_meet || c.hex("site") != 0 && c.hex("enter") != 0, "{c:?}");
                }
                "parallel_end" => {
                    assert_eq!(t.regions.pop(), Some(c.n("region")), "{c:?}");
                    assert!(regions.remove(&c.n("region")));
                    assert_eq!(c.n("task"), current, "{c:?}");
                }
                "implicit_task" if c.end => {
                    assert_eq!(t.tasks.pop(), Some(c.n("task")), "{c:?}");
                    assert_eq!(c.n("size"), 0, "{c:?}");
                    assert!(t.works.is_empty() && t.syncs.is_empty(), "{c:?}");
                }
                "implicit_task" => {
                    let initial = c.word("flags") == "1";
                    assert!(initial || regions.contains(&c.n("region")), "{c:?}");
                    t.tasks.push(c.n("task"));
                    let is = TaskIs { begun: true, over: false };
                    assert!(tasks.insert(c.n("task"), is).is_none(), "{c:?}");
                }
                "task_create" => {
                    assert_eq!(c.n("task"), current, "{c:?}");
                    assert!(tasks.insert(c.n("new"), TaskIs::default()).is_none());
                    assert!(c.hex("site") != 0 && c.hex("enter") != 0, "{c:?}");
                }
                "task_schedule" => {
                    let (prior, next) = (c.n("prior"), c.n("next"));
                    match c.n("status") {
                        5 | 6 | 8 => assert_eq!(next, 0, "{c:?}"),
                        7 => {
                            assert_eq!(prior, current, "{c:?}");
                            let n = tasks.get_mut(&next).expect("created");
                            assert!(!n.begun, "{c:?}");
                            n.begun = true;
                            t.tasks.push(next);
                        }
                        _ => {
                            assert_eq!(t.tasks.pop(), Some(prior), "{c:?}");
                            assert_eq!(t.tasks.last(), Some(&next), "{c:?}");
                            let p = tasks.get_mut(&prior).expect("created");
                            assert!(p.begun && !p.over, "{c:?}");
                            p.over = true;
                        }
                    }
                }
                "sync_region" if c.end => assert_eq!(t.syncs.pop(), Some((c.n("kind"), false)), "{c:?}"),
                "sync_region" => t.syncs.push((c.n("kind"), false)),
                "sync_region_wait" => {
                    let last = t.syncs.last_mut().expect("in a synchronisation");
                    assert_eq!(*last, (c.n("kind"), c.end), "{c:?}");
                    last.1 = !c.end;
                    let waits = u64::from_str_radix(c.word("state"), 16).expect("hexadecimal");
                    if c.n("kind") != 5 && c.n("kind") != 6 {
                        assert!((0x10..0x20).contains(&waits), "{c:?}");
                    }
                }
                "work" if c.end => {
                    assert_eq!(t.works.pop(), Some((c.n("type"), c.n("count"))), "{c:?}");
                }
                "work" => {
                    assert_eq!(c.n("task"), current, "{c:?}");
                    assert!(c.hex("site") != 0, "{c:?}");
                    t.works.push((c.n("type"), c.n("count")));
                }
                "dispatch" => assert_eq!(c.n("task"), current, "{c:?}"),
                "mutex_acquire" => t.wants = Some(c.word("at").into()),
                "mutex_acquired" => {
                    assert_eq!(t.wants.take().as_deref(), Some(c.word("at")), "{c:?}");
                    t.has.push(c.word("at").into());
                }
                "mutex_released" => {
                    let i = t.has.iter().position(|l| l == c.word("at"));
                    t.has.remove(i.unwrap_or_else(|| panic!("{c:?}")));
                }
                _ => {}
            }
        }
        for (n, t) in &threads {
            assert!(t.begun && t.ended, "thread {n}");
            assert!(t.has.is_empty(), "thread {n} has locks");
        }
        assert!(regions.is_empty());
        assert!(self.lines.last().is_some_and(|l| l.starts_with("finalize")));
    }
}
