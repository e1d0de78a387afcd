//! Random programs with memory that is dead where their checkpoints are taken, as an analysis here finds
//! it, element by element: swaps, writes to parts, conditions, calls. What was left out is full of NaNs
//! after every rollback and restart. The expected result comes from interpreting the program here,
//! serially.

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

/// Arrays, and elements of each.
const ARRAYS: usize = 5;
const N: usize = 4000;

/// What every step does to arrays, by the names that they have then.
#[derive(Clone, Debug)]
enum Deed {
    /// to[i] = from[(i + shift) % N] * factor + step, in a range; called with a dynamic schedule, or in
    /// place.
    Copy { to: usize, from: usize, shift: usize, range: Range<usize>, factor: u64, call: bool },
    /// to[i] += from[i] * factor
    Add { to: usize, from: usize, range: Range<usize>, factor: u64 },
    /// to[i] = i * factor + step
    Make { to: usize, range: Range<usize>, factor: u64 },
    /// The names are exchanged.
    Swap(usize, usize),
    /// If an element of `of` is odd: to[i] = from[i] + factor
    Perhaps { of: usize, to: usize, from: usize, factor: u64 },
}
use Deed::*;

struct Program {
    deeds: Vec<Deed>,
    steps: u64,
    /// The steps are in one region.
    region: bool,
    /// What is dead is said by way of what is live.
    reversed: bool,
}

fn range(r: &mut Seeded) -> Range<usize> {
    match r.below(3) {
        0 => {
            let from = r.below(N as u64 / 2) as usize;
            from..from + 1 + r.below((N - from) as u64) as usize
        }
        _ => 0..N,
    }
}

fn program(r: &mut Seeded) -> Program {
    let deeds = (0..3 + r.below(7)).map(|_| {
        let to = r.below(ARRAYS as u64) as usize;
        let other = |r: &mut Seeded| (to + 1 + r.below(ARRAYS as u64 - 1) as usize) % ARRAYS;
        let (from, factor) = (other(r), 1 + 2 * r.below(1000));
        match r.below(8) {
            0..3 => {
                let shift = [0, 0, r.below(N as u64) as usize][r.below(3) as usize];
                Copy { to, from, shift, range: range(r), factor, call: r.below(2) == 0 }
            }
            3 => Add { to, from, range: range(r), factor },
            4 | 5 => Make { to, range: range(r), factor },
            6 => Swap(to, from),
            _ => Perhaps { of: other(r), to, from, factor },
        }
    });
    let deeds = deeds.collect();
    Program { deeds, steps: 300, region: r.below(2) == 0, reversed: r.below(2) == 0 }
}

/// What is live at the head of a step, for each name: all is printed behind the last one, so all is live at
/// its end.
fn live(p: &Program) -> Vec<Vec<bool>> {
    let mut live = vec![vec![true; N]; ARRAYS];
    for d in p.deeds.iter().rev() {
        match d.clone() {
            Copy { to, from, shift, range, .. } => {
                live[to][range.clone()].fill(false);
                range.for_each(|i| live[from][(i + shift) % N] = true);
            }
            Add { to, from, range, .. } => {
                live[to][range.clone()].fill(true);
                live[from][range].fill(true);
            }
            Make { to, range, .. } => live[to][range].fill(false),
            Swap(a, b) => live.swap(a, b),
            Perhaps { of, from, .. } => {
                live[of].fill(true);
                live[from].fill(true);
            }
        }
    }
    live
}

/// [start, end) of what is `wanted`.
fn ranges(of: &[bool], wanted: bool) -> Vec<Range<usize>> {
    let parts = of.chunk_by(|a, b| a == b);
    let mut at = 0;
    parts
        .filter_map(|part| {
            at += part.len();
            (part[0] == wanted).then(|| at - part.len()..at)
        })
        .collect()
}

fn first(array: usize, i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(2 * array as u64 + 0x9E37_79B9)
}

/// What it prints.
fn expected(p: &Program) -> String {
    let mut a: Vec<Vec<u64>> = (0..ARRAYS).map(|k| (0..N).map(|i| first(k, i)).collect()).collect();
    for t in 0..p.steps {
        for d in &p.deeds {
            match d.clone() {
                Copy { to, from, shift, range, factor, .. } => range.for_each(|i| {
                    a[to][i] = a[from][(i + shift) % N].wrapping_mul(factor).wrapping_add(t);
                }),
                Add { to, from, range, factor } => range.for_each(|i| {
                    a[to][i] = a[to][i].wrapping_add(a[from][i].wrapping_mul(factor));
                }),
                Make { to, range, factor } => range.for_each(|i| a[to][i] = i as u64 * factor + t),
                Swap(x, y) => a.swap(x, y),
                Perhaps { of, to, from, factor } => {
                    if a[of][(t as usize * 7) % N] & 1 == 1 {
                        (0..N).for_each(|i| a[to][i] = a[from][i].wrapping_add(factor));
                    }
                }
            }
        }
    }
    let mut out = String::new();
    for (k, array) in a.iter().enumerate() {
        let sum =
            array.iter().enumerate().fold(0u64, |s, (i, v)| s.wrapping_mul(31).wrapping_add(v ^ i as u64));
        writeln!(out, "{k} {sum}").unwrap();
    }
    out
}

fn source(p: &Program) -> String {
    let mut s = format!(
        "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\ntypedef uint64_t u;\n\
         enum {{ K = {ARRAYS}, N = {N} }};\nstatic u *p[K];\n\
         void promp_dead(const void *, size_t) __attribute__((weak));\n\
         void promp_live(const void *, size_t) __attribute__((weak));\n\
         void promp_potential_ckpt(void) __attribute__((weak));\n\
         static __attribute__((noinline)) void copy(u *to, const u *from, long shift, long lo, long hi, u f, u t) {{\n\
         #pragma omp for schedule(dynamic, 64)\n for (long i = lo; i < hi; i++) to[i] = from[(i + shift) % N] * f + t;\n}}\n\
         static void place(void) {{\n if (!promp_dead) return;\n"
    );
    for (k, of) in live(p).iter().enumerate() {
        let mut say = |what: &str, r: Range<usize>| {
            writeln!(s, " promp_{what}(p[{k}] + {}, {});", r.start, 8 * r.len()).unwrap();
        };
        if p.reversed {
            say("dead", 0..N);
            ranges(of, true).into_iter().for_each(|r| say("live", r));
        } else {
            ranges(of, false).into_iter().for_each(|r| say("dead", r));
        }
    }
    s += " promp_potential_ckpt();\n}\nstatic void step(u t) {\n";
    for d in &p.deeds {
        let done = match d.clone() {
            Copy { to, from, shift, range, factor, call: true } => {
                let Range { start, end } = range;
                writeln!(s, " copy(p[{to}], p[{from}], {shift}, {start}, {end}, {factor}u, t);")
            }
            Copy { to, from, shift, range, factor, .. } => writeln!(
                s,
                "#pragma omp for\n for (long i = {}; i < {}; i++) p[{to}][i] = p[{from}][(i + {shift}) % N] * {factor}u + t;",
                range.start, range.end
            ),
            Add { to, from, range, factor } => writeln!(
                s,
                "#pragma omp for\n for (long i = {}; i < {}; i++) p[{to}][i] += p[{from}][i] * {factor}u;",
                range.start, range.end
            ),
            Make { to, range, factor } => writeln!(
                s,
                "#pragma omp for\n for (long i = {}; i < {}; i++) p[{to}][i] = (u)i * {factor}u + t;",
                range.start, range.end
            ),
            Swap(a, b) => {
                writeln!(s, "#pragma omp single\n {{ u *x = p[{a}]; p[{a}] = p[{b}], p[{b}] = x; }}")
            }
            Perhaps { of, to, from, factor } => writeln!(
                s,
                " if (p[{of}][(t * 7) % N] & 1) {{\n#pragma omp for\n for (long i = 0; i < N; i++) p[{to}][i] = p[{from}][i] + {factor}u;\n }}\n#pragma omp barrier"
            ),
        };
        done.unwrap();
    }
    let steps = p.steps;
    let body = match p.region {
        true => format!("#pragma omp parallel\n for (u t = 0; t < {steps}; t++) {{ place(); step(t); }}\n"),
        false => {
            format!(" for (u t = 0; t < {steps}; t++) {{ place();\n#pragma omp parallel\n step(t); }}\n")
        }
    };
    s += "}\nint main(void) {\n for (int k = 0; k < K; k++) {\n p[k] = malloc(N * sizeof(u));\n";
    s += " for (u i = 0; i < N; i++) p[k][i] = (i + 1) * (2 * k + 0x9E3779B9u);\n }\n";
    s += &body;
    s +=
        " for (int k = 0; k < K; k++) {\n u s = 0;\n for (u i = 0; i < N; i++) s = s * 31 + (p[k][i] ^ i);\n";
    s += " printf(\"%d %lu\\n\", k, (unsigned long)s);\n }\n return 0;\n}\n";
    s
}

fn built(p: &Program, seed: u64) -> PathBuf {
    compiled("random-live", &format!("p{}", seed % 16), &source(p), &["-fopenmp"])
}

/// A few in CI; PROMP_TEST_LONG=1: 2,000.
#[test]
fn random_programs_with_dead_memory() {
    let s = Scratch::new("randomlive");
    let (mut back, mut restarts, mut out) = (0, 0, 0);
    let enough = |back, restarts, out| back > 0 && (restarts > 0 || !long()) && out > 10;
    let mut draws = Draws::sweep(6, 2000, 200);
    while let Some(seed) = draws.next(enough(back, restarts, out)) {
        let p = program(&mut Seeded(seed));
        let (exe, want) = (built(&p, seed), expected(&p));
        let kind = ["kill", "crash", "memerr"][seed as usize % 3];
        let fault = format!("{kind}@mtbf=25ms,seed={seed},count=5");
        let report = s.path("report");
        let set = [
            ("PROMP_CKPT_POISON", "1"),
            ("PROMP_FAULT", &*fault),
            ("PROMP_CKPT_INTERVAL", "10ms"),
            ("PROMP_REPORT", text(&report)),
        ];
        let run = checkpointed(&exe, &[], &s.path("ckpt"), &set);
        let about = || format!("seed {seed}, {fault}: {}\n{:?}\n{}", run.err, p.deeds, source(&p));
        assert_eq!((run.hung, run.status, &run.out), (false, 0, &want), "{}", about());
        assert!(!proof_was_wrong(&run), "{}", about());
        back += run.err.matches("rolled back to checkpoint").count();
        let report: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        let all = report["checkpoints"].as_array().unwrap();
        out += all.iter().filter(|c| c["left_out"].as_u64() > Some(0)).count();
        // The whole process dies, and goes on.
        let to = s.path("out");
        let _ = fs::remove_file(&to);
        let fault = format!("die@mtbf=40ms,seed={seed},count=3");
        let mut c = dying(&s.path("dies"), &["--every", "10ms"], &fault);
        c.arg(&exe);
        let status = start_with(c, &to, None, |c| {
            c.env("PROMP_CKPT_POISON", "1");
        });
        let err = messages(&to);
        if err.contains("died before its first one was complete") {
            continue;
        }
        assert!(went_well(status.expect("it ends"), &err), "seed {seed}: {err}");
        assert_eq!(fs::read_to_string(&to).unwrap(), want, "seed {seed}, {fault}: {err}\n{}", source(&p));
        restarts += err.matches("continuing").count();
    }
    println!("{back} rollbacks, {restarts} restarts, {out} checkpoints without what is dead");
    assert!(enough(back, restarts, out), "{back}, {restarts}, {out}");
}
