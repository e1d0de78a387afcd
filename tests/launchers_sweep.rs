//! Whatever stands in front of a program: `promp run` of it is asked to end, or killed, at random times, and
//! the same line is repeated until the program is done. Then its output and files are those of a run that was
//! left alone, or it has been said that what was started cannot be continued, or is begun anew; and no
//! process is left. With PROMP_TEST_LONG: ten times each.

use crate::common::draws::Draws;
use crate::common::jobs::*;
use crate::common::left::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

/// What is run.
struct Row {
    name: &'static str,
    /// Does the process that was started become a program that is linked with OpenMP? Then it is continued,
    /// whenever it is struck: its checkpoints begin before it has done anything.
    becomes: bool,
    words: Vec<String>,
    /// What it writes, beside its standard output.
    files: &'static [&'static str],
}

impl Row {
    fn of(name: &'static str, becomes: bool, words: &[&str]) -> Self {
        Self { name, becomes, words: words.iter().map(|&w| w.to_owned()).collect(), files: &[] }
    }

    fn is_there(&self) -> bool {
        let first = &self.words[0];
        let found = Command::new("which").arg(first).output().is_ok_and(|o| o.status.success());
        let has =
            |module| Command::new(first).args(["-c", module]).output().is_ok_and(|o| o.status.success());
        found && (self.name != "joblib" || has("import joblib"))
    }
}

/// A library that a Python, or an R, can call: lines, and regions.
const LIBRARY: &str = r#"
#include <stdio.h>
void work(int *steps) {
    unsigned long s = 0;
    for (int i = 0; i < *steps; i++) {
        for (int k = 0; k < 20; k++) {
#pragma omp parallel for reduction(+ : s)
            for (int j = 0; j < 100000; j++)
                s += (unsigned)j * 2654435761u >> i % 16;
        }
        printf("line %d %lu\n", i, s);
        fflush(stdout);
    }
}
"#;

/// Serial steps and regions: some tenths of a second.
const ARGS: &str = "25 - 2000";

/// An executable script, or a file that a program is told of.
fn file(s: &Scratch, name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = s.path(name);
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path.display().to_string()
}

/// All rows; those whose programs are not there are left out, with a word.
fn rows(s: &Scratch) -> Vec<Row> {
    let exe = steps();
    let exe = text(&exe);
    let program = format!("{exe} {ARGS}");
    let in_front = |name, becomes, front: &str| {
        let words: Vec<&str> = front.split_whitespace().chain(program.split(' ')).collect();
        Row::of(name, becomes, &words)
    };
    let mut all = vec![
        in_front("nothing", true, ""),
        in_front("taskset", true, "taskset -c 0,1"),
        in_front("numactl", true, "numactl --localalloc"),
        in_front("env", true, "env A=1"),
        in_front("env -i", false, "env -i OMP_NUM_THREADS=2"),
        in_front("nice", true, "nice"),
        in_front("stdbuf", true, "stdbuf -oL"),
        in_front("setsid", true, "setsid -w"),
        in_front("nohup", true, "nohup"),
        in_front("timeout", false, "timeout 300"),
        in_front("time", false, "/usr/bin/time -o /dev/null"),
        Row::of("bash -c", true, &["bash", "-c", &program]),
    ];
    all.extend(scripts(s, exe, &program));
    all.extend(interpreters(s, exe, &program));
    all.into_iter().filter(|r| available(r.name, r.is_there())).collect()
}

fn scripts(s: &Scratch, exe: &str, program: &str) -> Vec<Row> {
    let execs = file(s, "execs.sh", &format!("#!/bin/bash\nexport X=1\nexec {program}\n"));
    let three = format!("#!/bin/bash -e\necho one\n{program}\n{exe} 15\necho three\n");
    let rules = format!("all: x y\nx y:\n\t@{exe} 15 - 900 > $@.new\n\t@mv $@.new $@.out\n");
    let make = ["make", "-s", "-j2", "-f", &file(s, "Makefile", &rules)];
    let xargs = format!("printf '800\\n900\\n' | xargs -P2 -n1 {exe} 10 - | sort");
    vec![
        Row::of("a script that execs", true, &[&execs]),
        Row::of("a script of three steps", false, &[&file(s, "three.sh", &three)]),
        Row { files: &["x.out", "y.out"], ..Row::of("make -j2", false, &make) },
        Row::of("xargs -P2", false, &["bash", "-o", "pipefail", "-c", &xargs]),
    ]
}

fn interpreters(s: &Scratch, exe: &str, program: &str) -> Vec<Row> {
    let library = compiled("launchers", "libwork.so", LIBRARY, &["-fopenmp", "-shared", "-fPIC"]);
    let library = text(&library);
    let starts = format!(
        "#!/usr/bin/env python3\nimport subprocess\nprint('one', flush=True)\n\
         subprocess.run('{program}'.split(), check=True)\nprint('three', flush=True)\n"
    );
    let calls = format!("import ctypes\nctypes.CDLL('{library}').work(ctypes.byref(ctypes.c_int(20)))\n");
    let pool = format!(
        "from joblib import Parallel, delayed\nimport subprocess\n\
         def one(n):\n    \
             return subprocess.run(['{exe}', '15', '-', str(n)], capture_output=True).stdout\n\
         if __name__ == '__main__':\n    \
             print(b''.join(Parallel(n_jobs=2)(delayed(one)(n) for n in (900, 901))).decode(), end='')\n"
    );
    let python = root().join(".venv/bin/python");
    let python = text(&python);
    let r = format!("dyn.load('{library}'); invisible(.C('work', 20L))");
    let octave = format!("printf('one\\n'); fflush(stdout); system('{program}');");
    vec![
        Row::of("Python that starts it", false, &[&file(s, "starts.py", &starts)]),
        Row::of("a venv's Python", false, &[python, &file(s, "calls.py", &calls)]),
        Row::of("joblib", false, &[python, &file(s, "pool.py", &pool)]),
        Row::of("Rscript", false, &["Rscript", "-e", &r]),
        Row::of("octave-cli", false, &["octave-cli", "--no-init-file", "--eval", &octave]),
    ]
}

/// What is done to a run.
#[derive(Clone, Copy, Debug)]
enum Strike {
    AsksPromp,
    AsksAll,
    AsksProgram,
    KillsProgram,
    KillsPromp,
}

const STRIKES: [Strike; 5] =
    [Strike::AsksPromp, Strike::AsksAll, Strike::AsksProgram, Strike::KillsProgram, Strike::KillsPromp];

impl Strike {
    fn do_it(self, promp: &Child, dir: &std::path::Path) {
        let pid = promp.id() as i32;
        let others = descendants(promp.id());
        let owner = read(&dir.join("lock")).trim().parse().ok().filter(|o| others.contains(o));
        let program = owner.or(others.last().copied()).map_or(pid, |p| p as i32);
        match self {
            Self::AsksPromp => kill(pid, libc::SIGTERM),
            Self::AsksAll => kill(-pid, libc::SIGTERM),
            Self::AsksProgram => kill(program, libc::SIGTERM),
            Self::KillsProgram => kill(program, libc::SIGKILL),
            Self::KillsPromp => kill(pid, libc::SIGKILL),
        }
    }
}

/// Where a row is run, and what has come of it.
struct Field {
    s: Scratch,
    work: PathBuf,
}

impl Field {
    fn new() -> Self {
        let s = Scratch::new("launchers");
        let work = s.0.canonicalize().expect("the folder").join("work");
        Self { s, work }
    }

    fn clear(&self) {
        for path in [&self.work, &self.s.path("ckpt")] {
            let _ = fs::remove_dir_all(path);
        }
        fs::create_dir(&self.work).expect("a folder");
    }

    /// Its standard output, and its files.
    fn result(&self, row: &Row) -> Vec<String> {
        let files = row.files.iter().map(|f| read(&self.work.join(f)));
        std::iter::once(read(&self.work.join("log"))).chain(files).collect()
    }

    /// Starts it in the folder, its output added to the log.
    fn start(&self, mut c: Command) -> Child {
        c.current_dir(&self.work);
        start_into(c, &self.work.join("log"))
    }

    fn end_of(&self, child: Child) -> Run {
        end_of(child, &self.work.join("log"))
    }
}

/// What has come of a row that was struck.
enum Outcome {
    /// It was continued to its end.
    Same,
    /// It was said that it cannot be continued, or that it begins anew behind what it has done.
    Said,
}

fn strike(f: &Field, row: &Row, want: &[String], (seed, strike): (u64, Strike)) -> Outcome {
    f.clear();
    let (mut rng, dir) = (Seeded(seed), f.s.path("ckpt"));
    let requests: &[&str] = if rng.below(2) == 0 { &["--on-signal", "TERM=checkpoint-exit"] } else { &[] };
    let options = [&["--resume", "--every", "50ms"], requests].concat();
    let words: Vec<&str> = row.words.iter().map(String::as_str).collect();
    let what = format!("{}, {strike:?}, seed {seed} {requests:?}", row.name);
    let (mut said, mut statuses) = (String::new(), Vec::new());
    for turn in 0..8 {
        let promp = f.start(run(&dir, &options, words[0].as_ref(), &words[1..]));
        if turn < 2 {
            let_use(promp.id() as i32, rng.below(250), LIMIT);
            strike.do_it(&promp, &dir);
        }
        let end = f.end_of(promp);
        said += &end.err;
        statuses.push(end.status);
        assert!(!end.hung, "{what} hangs:\n{said}");
        wait_for_none(&f.work, &format_args!("{what}: {said}"));
        let cannot = ["put promp run in front of", "cannot be continued", "LD_PRELOAD"];
        let cannot = cannot.iter().any(|w| said.contains(w));
        match end.status {
            0 if f.result(row) == want => return Outcome::Same,
            0 if !row.becomes && (cannot || said.contains("complete: it begins anew")) => {
                return Outcome::Said;
            }
            0 => panic!("{what} {statuses:?}: another result: {:?}\nfor {want:?}\n{said}", f.result(row)),
            71 if !row.becomes && cannot => return Outcome::Said,
            // Octave handles the request, and ends by itself: that of its promp is known.
            _ if matches!(strike, Strike::AsksProgram)
                && !row.becomes
                && end.err.contains("has ended by itself, with status") =>
            {
                return Outcome::Said;
            }
            _ => {}
        }
    }
    panic!("{what}: it does not come to its end: {statuses:?}\n{said}");
}

#[test]
fn whatever_stands_in_front() {
    let f = Field::new();
    let mut counts = Vec::new();
    for row in rows(&f.s).iter().filter(|r| is_asked_for(r.name.as_ref())) {
        f.clear();
        let mut c = Command::new(&row.words[0]);
        clean(&mut c);
        c.args(&row.words[1..]).env("OMP_NUM_THREADS", "2");
        let alone = f.end_of(f.start(c));
        assert_eq!(alone.status, 0, "{}: {}", row.name, alone.err);
        let want = f.result(row);
        let (mut same, mut said) = (0, 0);
        let mut draws = Draws::sweep(2, 50, 0);
        while let Some(seed) = draws.next(true) {
            let number = (seed + counts.len() as u64) as usize;
            match strike(&f, row, &want, (seed, STRIKES[number % STRIKES.len()])) {
                Outcome::Same => same += 1,
                Outcome::Said => said += 1,
            }
        }
        println!("{}: {same} continued, {said} said", row.name);
        counts.push((row.name, same, said));
    }
    assert!(counts.iter().any(|(_, same, _)| *same > 0), "{counts:?}");
}
