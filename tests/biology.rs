//! Programs nobody here wrote (Debian), with threads that are killed or crash and processes that die: the
//! output that they write under libgomp, or, without checkpoints, a refusal. FastTree, Clustal Omega and
//! MUSCLE compare sequences; long: IQ-TREE, too, G'MIC's filters of pictures, R with data.table.

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Relatives of one random ancestor in FASTA format; letters change, and are lost, with these chances in percent.
fn family(letters: &[u8], members: u64, length: u64, changed: u64, lost: u64) -> String {
    let mut rng = Seeded(members * length);
    let ancestor: Vec<u8> = (0..length).map(|_| *rng.pick(letters)).collect();
    let mut text = String::new();
    for i in 0..members {
        text += &format!(">s{i}\n");
        for &letter in &ancestor {
            if rng.below(100) >= lost {
                text.push(char::from(if rng.below(100) < changed { *rng.pick(letters) } else { letter }));
            }
        }
        text.push('\n');
    }
    text
}

const PROTEINS: &str = "proteins.fa";
const GENES: &str = "genes.fa";

/// What R computes: groups, a sort, a file written and read by several threads.
const TABLE: &str = r#"
library(data.table)
setDTthreads(4)
set.seed(1)
n <- 600000
d <- data.table(id = sample(50000, n, TRUE), k = sample(letters, n, TRUE), x = runif(n), y = rnorm(n))
setkey(d, k, id)
a <- d[, .(s = sum(x), m = mean(y), n = .N), by = .(k, id %% 100L)]
fwrite(d, "table.csv")
e <- fread("table.csv")
b <- merge(e[1:50000], e[50001:90000], by = "id", allow.cartesian = TRUE)
fwrite(list(a$s, a$m, a$n), "out")
z <- sprintf("%.9f", sum(frollmean(d$x, 50), na.rm = TRUE))
cat(nrow(b), sum(frank(d$y)), z, "\n", file = "out", append = TRUE)
"#;
const SCRIPT: &str = "table.R";

struct Program {
    path: &'static str,
    args: &'static [&'static str],
    /// The file that it writes; none: to standard output.
    writes: Option<&'static str>,
}

const SHORT: [Program; 3] = [
    Program { path: "/usr/bin/fasttreeMP", args: &["-nt", "-quiet", "-nosupport", GENES], writes: None },
    Program {
        path: "/usr/bin/clustalo",
        args: &["-i", PROTEINS, "--threads=4", "--force", "-o", "out"],
        writes: Some("out"),
    },
    Program {
        path: "/usr/bin/muscle",
        args: &["-align", PROTEINS, "-output", "out", "-threads", "4"],
        writes: Some("out"),
    },
];

/// In the long form only.
const LONG: [Program; 3] = [
    Program {
        path: "/usr/bin/iqtree2-omp",
        args: &["-s", GENES, "-nt", "2", "-seed", "1", "-m", "GTR+G", "-redo", "-pre", "out", "-quiet"],
        writes: Some("out.treefile"),
    },
    Program {
        path: "/usr/bin/gmic",
        args: &[
            "400,300,1,3,sin(x*y/100)*127+128*c",
            "blur",
            "3",
            "equalize",
            "256",
            "sharpen",
            "100",
            "bilateral",
            "8,10",
            "median",
            "5",
            "o",
            "out.dlm",
        ],
        writes: Some("out.dlm"),
    },
    Program { path: "/usr/bin/Rscript", args: &[SCRIPT], writes: Some("out") },
];

struct Case<'a> {
    s: &'a Scratch,
    program: &'a Program,
    want: String,
}

impl Case<'_> {
    /// One run: its exit status, what it wrote, its messages. `wrapped` is the command that runs the program.
    fn run(&self, mut wrapped: Command, what: &str) -> (Option<i32>, String, String) {
        let _ = fs::remove_dir_all(self.s.path("ckpt"));
        let log = self.s.path("log");
        let written = self.program.writes.map_or(log.clone(), |f| self.s.path(f));
        for f in [&written, &log] {
            let _ = fs::remove_file(f);
        }
        wrapped.args(self.program.args).current_dir(&self.s.0).env(THREADS.0, THREADS.1);
        // Some have handlers of their own for crashes, which only say that there was one.
        wrapped.env("PROMP_CRASHES", "runtime");
        let status = start(wrapped, &log, None).unwrap_or_else(|| panic!("{what}: hangs"));
        (status.code(), read(&written), messages(&log))
    }

    /// The failure-free output, or a refusal where one is allowed. True if a thread failed and the program went on.
    fn survives(&self, wrapped: Command, may_refuse: bool, what: &str) -> bool {
        let (status, out, err) = self.run(wrapped, what);
        if status == Some(70) && may_refuse {
            assert!(err.contains("stopping"), "{what}: {err}");
            return false;
        }
        assert!(status == Some(0) && out == self.want, "{what}: {status:?} {err}");
        err.contains(" failed (")
    }
}

#[test]
fn programs_of_others() {
    let s = Scratch::new("biology");
    let (proteins, genes) = if long() { ((24, 220), (60, 1200)) } else { ((16, 150), (30, 600)) };
    let amino_acids = b"ACDEFGHIKLMNPQRSTVWY";
    fs::write(s.path(PROTEINS), family(amino_acids, proteins.0, proteins.1, 30, 5)).expect("a file");
    fs::write(s.path(GENES), family(b"ACGT", genes.0, genes.1, 20, 0)).expect("a file");
    fs::write(s.path(SCRIPT), TABLE).expect("a file");
    for p in SHORT.iter().chain(LONG.iter().filter(|_| long())) {
        let program = p.path;
        if !available(program, Path::new(program).exists()) {
            continue;
        }
        let mut case = Case { s: &s, program: p, want: String::new() };
        let (status, want, err) = case.run(Command::new(program), program);
        assert!(status == Some(0) && want.len() > 500, "{program}: {err}");
        case.want = want;
        let preloaded = || {
            let mut c = Command::new(program);
            c.env("LD_PRELOAD", library());
            c
        };
        case.survives(preloaded(), false, program);
        let ckpt = s.path("ckpt");
        let (mut survived, mut runs, mut draws) = (0, 0, Draws::between(if long() { 20 } else { 2 }, 40));
        while let Some(seed) = draws.next(survived > 0) {
            for (kind, checkpoints) in [("kill", false), ("kill", true), ("crash", true), ("memerr", true)] {
                let fault = format!("{kind}@mtbf=100ms,seed={seed},count=3");
                let what = format!("{program} {fault}, checkpoints: {checkpoints}");
                let mut c = preloaded();
                c.env("PROMP_FAULT", &fault).env("PROMP_VERBOSE", "1");
                if checkpoints {
                    c.env("PROMP_CKPT_DIR", &ckpt).env("PROMP_CKPT_INTERVAL", "50ms");
                }
                runs += 1;
                survived += u32::from(case.survives(c, !checkpoints, &what));
            }
            // The whole process dies, after its first checkpoint.
            let fault = format!("die@mtbf=150ms,seed={seed},count=2");
            let mut c = dying(&ckpt, &["--every", "50ms"], &fault);
            c.arg(program);
            let (status, out, err) = case.run(c, &fault);
            let too_early = status == Some(71) && err.contains("died before its first one was complete");
            assert!(
                too_early || (status == Some(0) && out == case.want),
                "{program} {fault}: {status:?} {err}"
            );
        }
        println!("{program}: failed and went on in {survived} of {runs} runs");
        assert!(survived > 0, "{program}: the faults do not strike");
    }
}
