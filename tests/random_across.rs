//! Random programs spread over three files, killed at random. What they print must be what the same program
//! prints that gcc has built and that runs under libgomp, or the run is refused.
//!
//! Each iteration works on rows of its own, so the programs are free of races; what it calls reads, updates,
//! covers, keeps and passes on what it is given, in other files, through variables, tables, structures and
//! numbers, with lock sections in between. Every update changes the value, so that work which is wrongly
//! executed twice shows in the sum.

use crate::common::draws::Draws;
use crate::common::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const FUNCTIONS: u64 = 9;

/// Declarations that all files share.
const HEADER: &str = "#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 240, M = 6 };
struct box { double *at; double value; };
extern struct box boxes[N], *chain[N];
extern double a[N][M], b[N][M], level, table[M];
extern double *kept[N], memo[N];
extern double *rows[N];
extern volatile double noise[N];
extern long tally;
double outside(int i, double *x, double s);
extern double (*const way)(int i, double *x, double s);
";

/// A file that gcc builds: what nothing is known of. What it does shows if it is done twice.
const OUTSIDE: &str = "#include \"random_across.h\"
static double inside[N];
volatile double noise[N];
double outside(int i, double *x, double s) {
    inside[i] = inside[i] * 0.5 + s;
    x[0] = x[0] * 0.5 + inside[i] + 1;
    return inside[i];
}
double (*const way)(int i, double *x, double s) = outside;
";

/// A statement of a function of file `own`. Gentle ones work on what they are given only.
fn statement(rng: &mut Seeded, own: u64, gentle: bool, depth: u32) -> String {
    let j = rng.below(6);
    let c = 1 + rng.below(7);
    let value = match rng.below(if gentle { 5 } else { 8 }) {
        0 => format!("x[{j}] * 0.5"),
        1 => format!("y[{j}] + {c}"),
        2 => "s * 0.25".into(),
        3 => format!("table[{j}] + level"),
        4 => format!("t[{j}] - 0.125"),
        5 => "memo[i] * 0.5".into(),
        6 => format!("hidden{own}[i] + 0.5"),
        _ => format!("{c}"),
    };
    if rng.below(8) == 0 {
        // What cannot be executed twice, or only if the program goes on; sometimes seldom.
        let when = rng.pick(&["", "if (i % 7 == 3) ", "if (i == 100) ", "if (s > 1e300) "]);
        let what = match rng.below(if gentle { 3 } else { 6 }) {
            0 => format!("s = s * 0.5 + outside(i, x, {value}) * 0.25;"),
            1 => format!("s = s * 0.5 + way(i, y, {value}) * 0.25;"),
            2 => format!("noise[i] = noise[i] * 0.5 + {value};"),
            3 => format!("{{ fprintf(stderr, \"%g\\n\", x[{j}]); t[1] += {c}; }}"),
            4 => format!("{{ s = s * 0.75 + noise[i]; x[{j}] = x[{j}] * 0.5 + s; }}"),
            _ => format!("{{ __sync_synchronize(); x[{j}] = x[{j}] * 0.5 + {c}; }}"),
        };
        return format!("{when}{what}");
    }
    if rng.below(10) == 0 {
        // A call of the runtime, here or in a function of this file alone: others' segments end there.
        return match rng.below(3) {
            0 => format!("{{\n#pragma omp critical(tally)\n    tally += {c}; }}"),
            1 => format!("if (i % 3 == 1) {{\n#pragma omp critical(tally)\n    tally += {c}; }}"),
            _ => format!("s = s * 0.5 + count{own}(i, x, {value});"),
        };
    }
    let kind = rng.below(if depth > 0 { 23 } else { 19 });
    let kind = if gentle && (6..12).contains(&kind) { kind - 6 } else { kind };
    match kind {
        0 | 1 => format!("x[{j}] = {value};"),
        2 => format!("x[{j}] = x[{j}] * 0.75 + {value};"),
        3 => format!("y[{j}] = {value};"),
        4 => format!("t[{j}] = {value};"),
        5 => format!("s = s * 0.5 + {value};"),
        6 => format!("memo[i] = memo[i] * 0.25 + {value};"),
        7 => format!("hidden{own}[i] = hidden{own}[i] * 0.5 + {value};"),
        8 => format!("for (int k = 0; k < M; k++) x[k] = {value};"),
        9 => format!("for (int k = 0; k < M; k++) s += x[k] * 0.125 + {value} * 0.01;"),
        10 => format!("kept[i] = {};", rng.pick(&["rows[i]", "a[i]", "b[i]"])),
        11 => format!("if (kept[i]) kept[i][{j}] = kept[i][{j}] * 0.5 + {value};"),
        12 => format!("memcpy(t, {}, sizeof t);", rng.pick(&["x", "y"])),
        13 => format!("if (s > {c}) {{ {} }}", statement(rng, own, gentle, 0)),
        // Arrays behind structures, which are exchanged, freed and made anew.
        14 => format!("boxes[i].at[{j}] = boxes[i].at[{j}] * 0.5 + {value};"),
        15 => format!("for (int k = 0; k < M; k++) chain[i]->at[k] = chain[i]->at[k] * 0.5 + {value};"),
        16 => format!(
            "{{ double *z = malloc(M * sizeof *z); \
             for (int k = 0; k < M; k++) z[k] = boxes[i].at[k] + {value}; \
             free(boxes[i].at); boxes[i].at = z; }}"
        ),
        17 => format!("{{ boxes[i].at = realloc(boxes[i].at, 8 * (M + i % 3)); chain[i]->value += {c}; }}"),
        18 => format!(
            "{{ struct box z = {{ {}, s }}; z.at[{j}] = z.at[{j}] * 0.5 + z.value; }}",
            rng.pick(&["x", "t", "boxes[i].at"])
        ),
        _ => {
            let f = rng.below(FUNCTIONS);
            let (p, q) = match rng.below(6) {
                0 => ("x", "y"),
                1 => ("y", "x"),
                2 => ("t", "x"),
                3 => ("x", "t"),
                4 => ("t", "t"),
                _ => ("rows[i]", "x"),
            };
            // Deeper calls end: each takes one of the depth.
            format!("if (n > 0) s = s * 0.5 + f{f}(n - 1, i, {p}, {q}, s) * 0.25;")
        }
    }
}

/// The text of one file: its functions, and in the first one the loops.
fn file(rng: &mut Seeded, number: u64, gentle: bool) -> String {
    let mut text = String::from("#include \"random_across.h\"\n");
    for f in 0..FUNCTIONS {
        let _ = writeln!(text, "double f{f}(int n, int i, double *x, double *y, double s);");
    }
    let _ = writeln!(text, "static double hidden{number}[N];");
    let before = rng.pick(&["", "    x[2] = x[2] * 0.5 + s;\n", "    if (i % 5 == 2) return s;\n"]);
    let behind = rng.pick(&["", "    x[3] = x[3] * 0.75 + s;\n", "    memo[i] = memo[i] * 0.5 + x[1];\n"]);
    let _ = writeln!(
        text,
        "static __attribute__((noinline)) double count{number}(int i, double *x, double s) {{\n{before}\
         #pragma omp critical(tally)\n    tally++;\n{behind}    return x[i % M] * 0.5;\n}}"
    );
    for f in (0..FUNCTIONS).filter(|f| f % 3 == number) {
        let _ = writeln!(
            text,
            "double f{f}(int n, int i, double *x, double *y, double s) {{\n    double t[M] = {{1, 2, 3}};"
        );
        for _ in 0..2 + rng.below(4) {
            let _ = writeln!(text, "    {}", statement(rng, number, gentle, 1));
        }
        let _ = writeln!(text, "    return s + t[1] * 0.5;\n}}");
    }
    if number == 0 {
        text += "#include <stdio.h>
long tally;
double a[N][M], b[N][M], level = 0.5, table[M] = {1, 2, 3, 4, 5, 6}, *kept[N], memo[N], *rows[N];
static double c[N][M];
struct box boxes[N], *chain[N];
int main(void) {
    for (int i = 0; i < N; i++) {
        rows[i] = c[i];
        boxes[i].at = calloc(M, sizeof(double));
        chain[i] = &boxes[i];
        for (int j = 0; j < M; j++) a[i][j] = i % 17 + j * 0.5, b[i][j] = i % 13 - j * 0.25;
    }
    for (int r = 0; r < 40; r++) {
";
        for _ in 0..3 {
            let schedule =
                rng.pick(&["", " schedule(dynamic, 7)", " schedule(guided)", " schedule(static, 5)"]);
            let _ =
                writeln!(text, "#pragma omp parallel for{schedule}\n        for (int i = 0; i < N; i++) {{");
            for _ in 0..1 + rng.below(2) {
                match rng.below(7) {
                    5 => text += "            if (i % 5 == 1) noise[i] += a[i][4];\n",
                    6 => text += "            b[i][2] = outside(i, b[i], r) * 0.5;\n",
                    0 => text += "            a[i][2] = b[i][1] + 1;\n",
                    1 => text += "            a[i][0] = a[i][0] * 0.5 + 1;\n",
                    _ => {}
                }
                let f = rng.below(FUNCTIONS);
                let (p, q) = rng.pick(&[
                    ("a[i]", "b[i]"),
                    ("rows[i]", "a[i]"),
                    ("t", "a[i]"),
                    ("b[i]", "t"),
                    ("t", "t"),
                ]);
                let to = rng.pick(&["a[i][1] =", "b[i][3] +=", "memo[i] =", "double z =", ""]);
                let _ = writeln!(
                    text,
                    "            {{ double t[M] = {{3, 2, 1}}; {to} f{f}(3, i, {p}, {q}, r * 0.5);"
                );
                let _ = writeln!(
                    text,
                    "            b[i][5] = b[i][5] * 0.5 + t[2] * 0.5{}; }}",
                    if to.starts_with("double") { " + z" } else { "" }
                );
            }
            text += "            for (int k = 0; k < 60; k++)\n";
            text += "                b[i][4] = sqrt(b[i][4] * b[i][4] + 0.5) * 0.5;\n        }\n";
        }
        text += "    }
    double s = 0;
    for (int i = 0; i < N; i++) {
        s = s * 0.999 + memo[i] + noise[i] + outside(i, memo, 1) + boxes[i].value * 0.01;
        for (int j = 0; j < M; j++) s = s * 0.999 + boxes[i].at[j];
        for (int j = 0; j < M; j++) s = s * 0.999 + a[i][j] + 2 * b[i][j] + 3 * c[i][j];
    }
    printf(\"%.17g %ld\\n\", s, tally);
    return 0;
}
";
    }
    text
}

#[derive(Default, Debug)]
struct Tally {
    programs: u64,
    recomputed: u64,
    refused: u64,
    unharmed: u64,
    /// Loops by verdict.
    repeatable: u64,
    in_parts: u64,
    opaque: u64,
}

fn run(program: &Path, args: &[&str], dir: &Path) {
    let mut c = Command::new(program);
    c.args(args).current_dir(dir);
    let r = limited(c, Duration::from_secs(120));
    assert_eq!(r.status, 0, "{program:?} {args:?} in {dir:?}: {}", r.err);
}

fn check(cc: &Path, seed: u64, t: &mut Tally) {
    let dir = out_folder(&format!("random_across/p{}", seed % 16));
    let mut rng = Seeded(seed.wrapping_mul(0x9E37_79B9));
    std::fs::write(dir.join("random_across.h"), HEADER).expect("target is writable");
    for n in 0..3 {
        std::fs::write(dir.join(format!("u{n}.c")), file(&mut rng, n, seed.is_multiple_of(2)))
            .expect("target is writable");
    }
    std::fs::write(dir.join("outside.c"), OUTSIDE).expect("target is writable");
    let sources = ["u0.c", "u1.c", "u2.c"];
    let plain = ["-O1", "-ffp-contract=off", "-fopenmp", "-o", "plain"];
    run(Path::new("gcc"), &[&plain[..], &sources, &["outside.c", "-lm"]].concat(), &dir);
    run(Path::new("gcc"), &["-O1", "-ffp-contract=off", "-c", "outside.c"], &dir);
    let want = reference(&dir.join("plain"), &[], &[("OMP_NUM_THREADS", "1")]);
    assert_eq!(want.status, 0, "{seed}: {}", want.err);
    let mut flags =
        vec![*rng.pick(&["-O1", "-O2", "-O2", "-O3"]), "-ffp-contract=off", "-fopenmp", "-fno-promp-runtime"];
    if rng.below(4) == 0 {
        flags.push("-flto");
    }
    for s in &sources {
        run(cc, &[&flags[..], &["-c", s]].concat(), &dir);
    }
    run(cc, &[&flags[..], &["-o", "built", "u0.o", "u1.o", "u2.o", "outside.o", "-lm"]].concat(), &dir);
    let built = dir.join("built");
    let report = dir.join("report.json");
    let undamaged =
        promp(&built, &[], &[("OMP_NUM_THREADS", "4"), ("PROMP_REPORT", report.to_str().expect("UTF-8"))]);
    assert!(undamaged.status == 0 && undamaged.out == want.out, "{seed}: {} {}", undamaged.out, want.out);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&report).expect("the report")).expect("JSON");
    for l in report["loops"].as_array().expect("loops") {
        match l["verdict"].as_str().expect("a verdict") {
            "idempotent" | "undo" => t.repeatable += 1,
            "in parts" => t.in_parts += 1,
            _ => t.opaque += 1,
        }
    }
    t.programs += 1;
    for k in 0..4 {
        let fault = format!(
            "{}@mtbf={}us,count=6,seed={}",
            rng.pick(&["kill", "crash"]),
            300 << rng.below(4),
            seed * 8 + k
        );
        let r = promp(
            &built,
            &[],
            &[
                ("OMP_NUM_THREADS", "4"),
                ("PROMP_FAULT", &fault),
                ("PROMP_SAVE_BUDGET", "all"),
                ("PROMP_VERBOSE", "1"),
            ],
        );
        *(if r.was_refused(&want.out, &format!("{seed}, {fault}")) {
            &mut t.refused
        } else if r.executed_again() > 0 {
            &mut t.recomputed
        } else {
            &mut t.unharmed
        }) += 1;
    }
}

/// PROMP_TEST_LONG=1: 2,000 programs. Otherwise as many as it takes to see work that was executed again.
#[test]
fn random_programs_of_three_files() {
    let Some(cc): Option<PathBuf> = driver("promp-cc") else { return };
    let mut t = Tally::default();
    let mut draws = Draws::sweep(8, 2000, 200);
    while let Some(seed) = draws.next(t.recomputed >= 5) {
        check(&cc, seed, &mut t);
    }
    println!("{t:?}");
    assert!(t.recomputed >= 5, "too few failures struck work in flight: {t:?}");
}
