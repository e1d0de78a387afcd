//! Random trees of processes, of shells, Pythons and C programs, with OpenMP and without, side by side, in
//! pipes, in place of each other: under `promp run --ckpt` the same lines and the same status as without, and
//! nobody is left. With PROMP_TEST_LONG: 1,000.

use crate::common::draws::Draws;
use crate::common::jobs::run;
use crate::common::left::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The nodes of a tree that are still to be made, and what they are made with.
struct Maker<'a> {
    rng: Seeded,
    folder: &'a Path,
    /// [`node`](../c-tests/jobs/node.c) with OpenMP, and without.
    nodes: [String; 2],
    made: u64,
}

impl Maker<'_> {
    /// A tree, of at most `depth` generations; the path of its first process.
    fn tree(&mut self, depth: u64) -> String {
        let id = self.made;
        self.made += 1;
        let most = if depth == 0 || self.made > 9 { 0 } else { 3 };
        let children = if id == 0 { 1 + self.rng.below(3) } else { self.rng.below(most + 1) };
        let children: Vec<String> = (0..children).map(|_| self.tree(depth.saturating_sub(1))).collect();
        let text = match self.rng.below(if children.is_empty() { 2 } else { 6 }) {
            0..=2 => self.compiled(id, &children),
            3 | 4 if !children.is_empty() => self.shell(id, &children),
            _ => self.python(id, &children),
        };
        let path = self.folder.join(format!("n{id}"));
        fs::write(&path, text).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        path.display().to_string()
    }

    fn compiled(&mut self, id: u64, children: &[String]) -> String {
        let openmp = self.rng.below(3) != 0;
        let mut how = String::from("-");
        how.extend("rtfbe".chars().filter(|_| self.rng.below(2) == 0));
        let (node, status) = (&self.nodes[usize::from(!openmp)], self.rng.below(4));
        format!("#!{node}\n{id} {status} {how} {}\n", children.join(" "))
    }

    fn shell(&mut self, id: u64, children: &[String]) -> String {
        let mut text = format!("#!/bin/bash\necho {id} shell\ns={}\n", self.rng.below(4));
        let mut background = Vec::new();
        for (i, c) in children.iter().enumerate() {
            let last = i + 1 == children.len();
            text += &match self.rng.below(7) {
                0 => format!("{c}\ns=$((s + $?))\n"),
                1 => format!("({c}; exit $?)\ns=$((s + $?))\n"),
                2 => format!("{c} | cat\ns=$((s + PIPESTATUS[0]))\n"),
                3 => format!("x=$({c})\ns=$((s + $?))\necho \"$x\"\n"),
                4 => format!("{c} > f{id}.{i}\ns=$((s + $?))\ncat f{id}.{i}\n"),
                5 if last && background.is_empty() => format!("exec {c}\n"),
                _ => {
                    background.push(i);
                    format!("{c} &\np{i}=$!\n")
                }
            };
        }
        for i in background {
            text += &format!("wait $p{i}\ns=$((s + $?))\n");
        }
        text + "exit $((s % 100))\n"
    }

    fn python(&mut self, id: u64, children: &[String]) -> String {
        let mut text = format!(
            "#!/usr/bin/env python3\nimport os, subprocess\nos.write(1, b'{id} python\\n')\n\
             s = {}\nps = []\n",
            self.rng.below(4)
        );
        for c in children {
            text += &match self.rng.below(5) {
                0 => format!("s += subprocess.run(['{c}']).returncode\n"),
                1 => format!("s += os.WEXITSTATUS(os.system('{c}'))\n"),
                2 => format!(
                    "p = os.fork()\nif not p: os.execv('{c}', ['{c}'])\n\
                     s += os.WEXITSTATUS(os.waitpid(p, 0)[1])\n"
                ),
                3 => format!(
                    "r = subprocess.run(['{c}'], capture_output=True)\n\
                     os.write(1, r.stdout + r.stderr)\ns += r.returncode\n"
                ),
                _ => format!("ps.append(subprocess.Popen(['{c}']))\n"),
            };
        }
        text + "s += sum(p.wait() for p in ps)\nraise SystemExit(s % 100)\n"
    }
}

/// What was written, line by line in order: those side by side come in any.
fn lines(r: &Run) -> Vec<&str> {
    let mut all: Vec<&str> = r.out.lines().collect();
    all.sort_unstable();
    all
}

#[test]
fn the_same_trees_with_checkpoints() {
    let s = Scratch::new("trees");
    let folder = s.0.canonicalize().expect("the folder").join("tree");
    let plain = build("jobs/node.c", &["-fno-openmp"]).display().to_string();
    let nodes = [build("jobs/node.c", &[]).display().to_string(), plain];
    let mut draws = Draws::sweep(30, 1000, 0);
    let (mut run_so_far, mut had) = (0, 0);
    while let Some(seed) = draws.next(true) {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        let mut maker = Maker { rng: Seeded(seed), folder: &folder, nodes: nodes.clone(), made: 0 };
        let first = maker.tree(3);
        let mut c = Command::new(&first);
        clean(&mut c);
        c.current_dir(&folder).env("OMP_NUM_THREADS", "2");
        let want = limited(c, LIMIT);
        assert!(!want.hung, "seed {seed} hangs without promp");
        let dir = s.path("ckpt");
        let _ = fs::remove_dir_all(&dir);
        let mut c = run(&dir, &["--every", "50ms"], first.as_ref(), &[]);
        c.current_dir(&folder);
        let log = s.path("log");
        let _ = fs::remove_file(&log);
        let got = end_of(start_into(c, &log), &log);
        wait_for_none(&folder, &format_args!("seed {seed}"));
        let both = (want.status, lines(&want)) == (got.status, lines(&got));
        assert!(both && !got.hung, "seed {seed}:\n{want:?}\n{got:?}");
        let theirs: Vec<&str> = got.err.lines().filter(|l| !l.starts_with("promp:")).collect();
        assert_eq!(theirs.join("\n"), want.err.trim_end(), "seed {seed}");
        run_so_far += 1;
        had += u64::from(has_generation(&dir));
    }
    println!("{run_so_far} trees, {had} with checkpoints");
    assert!(had > 0, "no tree of {run_so_far} has checkpoints");
}
