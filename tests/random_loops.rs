//! Random programs against the compile side: worksharing loops that read what they write, through pointers that may alias, through
//! indices, in inner loops, under conditions, in functions; built with promp-cc and killed at random times. The expected result comes
//! from interpreting the program here, serially.

mod interpreter;

use crate::common::draws::{Draws, first_seed, set_count};
use crate::common::*;
use interpreter::interpret;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const ARRAYS: usize = 4;
const WIDTH: usize = 8;

/// Where an element lies: arrays have `n * WIDTH` of them.
#[derive(Clone, Copy, PartialEq)]
enum Index {
    /// i
    Own,
    /// perm[i]
    Permuted,
    /// i * WIDTH + (j + k) % WIDTH, in an inner loop over j
    Row(usize),
    /// A fixed distance from i, anywhere in the array: only of arrays that the loop does not write.
    Far(usize),
}

#[derive(Clone)]
enum Expr {
    Constant(i64),
    I,
    Load(usize, Index),
    Sum(Box<Expr>, Box<Expr>),
    Product(Box<Expr>, i64),
    /// A function that reads through a pointer.
    Peek(usize, Index),
}

#[derive(Clone)]
enum Statement {
    Store(usize, Index, Expr),
    Add(usize, Index, Expr),
    If(Expr, Box<Statement>),
    /// for j in 0..WIDTH
    Inner(Vec<Statement>),
    /// A function that writes (false) or updates (true) through a pointer.
    Call(bool, usize, Index, Expr),
    /// A private array, or a block that is allocated for it (true), is filled and summed into an element.
    Scratch(bool, usize, Index, Expr),
    /// Each half of the iteration's row is cleared and used, also behind its end.
    Halves(usize, Clearing, Use, Expr),
    /// Exchanges two elements.
    Swap(usize, usize, Index),
    /// Adds to, or subtracts from (true), a counter of so many bytes, atomically: which one, and how much.
    Count(bool, usize, Expr, Expr),
}

/// Counters of each size.
const COUNTERS: usize = 13;
const SIZES: [(usize, &str); 4] =
    [(1, "unsigned char"), (2, "unsigned short"), (4, "unsigned"), (8, "unsigned long")];

/// How a half row is cleared.
#[derive(Clone, Copy)]
enum Clearing {
    /// By memset.
    Whole,
    /// By a loop over as many elements as the first one says, perhaps none.
    Part,
    /// By memset, if the first one is odd.
    Perhaps,
}

/// What is done with a half row, at four subscripts (j * step + k), up to the row's end.
#[derive(Clone, Copy)]
struct Use {
    updates: bool,
    step: usize,
    k: usize,
}

const HALF: usize = WIDTH / 2;

struct Loop {
    /// Parameter k stands for this array; two may be the same.
    parameters: Option<[usize; ARRAYS]>,
    schedule: &'static str,
    body: Vec<Statement>,
    sum: Option<Expr>,
}

struct Program {
    n: usize,
    rounds: usize,
    loops: Vec<Loop>,
}

/// How the loop reaches each array: None: only reads, anywhere.
type Kinds = [Option<Index>; ARRAYS];

fn index(r: &mut Seeded, kind: Option<Index>, inner: bool, n: usize) -> Index {
    match kind {
        Some(Index::Row(_)) if inner => Index::Row(r.below(WIDTH as u64) as usize),
        Some(k) => k,
        None if inner && r.below(2) == 0 => Index::Row(r.below(WIDTH as u64) as usize),
        None => Index::Far(r.below((n * WIDTH) as u64) as usize),
    }
}

/// May array `a` be touched here?
fn usable(kinds: &Kinds, a: usize, inner: bool) -> bool {
    inner || !matches!(kinds[a], Some(Index::Row(_)))
}

fn expr(r: &mut Seeded, kinds: &Kinds, inner: bool, n: usize, depth: u32) -> Expr {
    let a = r.below(ARRAYS as u64) as usize;
    match r.below(if depth == 0 { 4 } else { 7 }) {
        0 => Expr::Constant(r.below(100) as i64),
        1 => Expr::I,
        2 | 3 if usable(kinds, a, inner) => {
            let at = index(r, kinds[a], inner, n);
            if r.below(4) == 0 { Expr::Peek(a, at) } else { Expr::Load(a, at) }
        }
        2 | 3 => Expr::Constant(7),
        4 | 5 => Expr::Sum(
            Box::new(expr(r, kinds, inner, n, depth - 1)),
            Box::new(expr(r, kinds, inner, n, depth - 1)),
        ),
        _ => Expr::Product(Box::new(expr(r, kinds, inner, n, depth - 1)), 1 + r.below(9) as i64),
    }
}

fn statement(r: &mut Seeded, kinds: &Kinds, inner: bool, n: usize, depth: u32) -> Statement {
    let rows: Vec<usize> = (0..ARRAYS).filter(|&a| matches!(kinds[a], Some(Index::Row(_)))).collect();
    if !inner && !rows.is_empty() && r.below(3) == 0 {
        let clearing = *r.pick(&[Clearing::Whole, Clearing::Part, Clearing::Perhaps]);
        let way = Use { updates: r.below(2) == 0, step: 1 + r.below(3) as usize, k: r.below(4) as usize };
        return Statement::Halves(*r.pick(&rows), clearing, way, expr(r, kinds, false, n, 1));
    }
    let written: Vec<usize> =
        (0..ARRAYS).filter(|&a| kinds[a].is_some() && usable(kinds, a, inner)).collect();
    if written.is_empty() || (!inner && depth > 0 && r.below(3) == 0) {
        let k = 1 + r.below(2);
        return Statement::Inner((0..k).map(|_| statement(r, kinds, true, n, 0)).collect());
    }
    let a = *r.pick(&written);
    let at = index(r, kinds[a], inner, n);
    let e = expr(r, kinds, inner, n, 2);
    match r.below(if depth > 0 { 9 } else { 8 }) {
        0 | 1 => Statement::Store(a, at, e),
        2 | 3 => Statement::Add(a, at, e),
        4 => Statement::Call(r.below(2) == 0, a, at, e),
        5 => Statement::Scratch(r.below(2) == 0, a, at, e),
        6 | 7 => {
            let others: Vec<usize> = written.iter().copied().filter(|&b| kinds[b] == kinds[a]).collect();
            Statement::Swap(a, *r.pick(&others), at)
        }
        _ => Statement::If(e, Box::new(statement(r, kinds, inner, n, depth - 1))),
    }
}

fn program(seed: u64) -> Program {
    let mut r = Seeded(seed * 6007 + 13);
    let n = 500 + r.below(3500) as usize;
    let loops = (0..3 + r.below(4))
        .map(|_| {
            let mut kinds: Kinds = [None; ARRAYS];
            for _ in 0..1 + r.below(3) {
                let a = r.below(ARRAYS as u64) as usize;
                kinds[a] = Some(*r.pick(&[Index::Own, Index::Own, Index::Permuted, Index::Row(0)]));
            }
            // Parameters with two names for one array: only where both are reached in the same way.
            let parameters = (r.below(2) == 0).then(|| {
                let mut p = [0, 1, 2, 3];
                if r.below(2) == 0 {
                    let (a, b) = (r.below(ARRAYS as u64) as usize, r.below(ARRAYS as u64) as usize);
                    if kinds[a].is_some() || kinds[b].is_none() {
                        kinds[b] = kinds[a];
                        p[b] = p[a];
                    }
                }
                p
            });
            let body = (0..1 + r.below(3)).map(|_| statement(&mut r, &kinds, false, n, 2)).collect();
            let mut body: Vec<Statement> = body;
            for _ in 0..r.below(5).saturating_sub(2) {
                let size = r.pick(&SIZES).0;
                let [which, much] = [0; 2].map(|_| expr(&mut r, &kinds, false, n, 1));
                let count = Statement::Count(r.below(2) == 0, size, which, much);
                let at = r.below(body.len() as u64 + 1) as usize;
                body.insert(
                    at,
                    match r.below(3) {
                        0 => Statement::If(expr(&mut r, &kinds, false, n, 1), Box::new(count)),
                        1 => Statement::Inner(vec![count]),
                        _ => count,
                    },
                );
            }
            let sum = (r.below(3) == 0).then(|| expr(&mut r, &kinds, false, n, 1));
            let schedule =
                *r.pick(&["", "", "", "schedule(static,5)", "schedule(dynamic,3)", "schedule(guided)"]);
            Loop { parameters, schedule, body, sum }
        })
        .collect();
    Program { n, rounds: 4 + r.below(12) as usize, loops }
}

// --- The C program -------------------------------------------------------------------------------------------------

fn c_index(k: Index, n: usize) -> String {
    match k {
        Index::Own => "i".into(),
        Index::Permuted => "perm[i]".into(),
        Index::Row(0) => format!("i * {WIDTH} + j"),
        Index::Row(k) => format!("i * {WIDTH} + (j + {k}) % {WIDTH}"),
        Index::Far(k) => format!("(i + {k}) % {}", n * WIDTH),
    }
}

fn c_expr(e: &Expr, n: usize) -> String {
    match e {
        Expr::Constant(c) => format!("{c}ul"),
        Expr::I => "(unsigned long)i".into(),
        Expr::Load(a, k) => format!("a{a}[{}]", c_index(*k, n)),
        Expr::Peek(a, k) => format!("peek(&a{a}[{}])", c_index(*k, n)),
        Expr::Sum(a, b) => format!("({} + {})", c_expr(a, n), c_expr(b, n)),
        Expr::Product(a, c) => format!("{} * {c}ul", c_expr(a, n)),
    }
}

fn c_statement(s: &Statement, n: usize) -> String {
    match s {
        Statement::Store(a, k, e) => format!("a{a}[{}] = {};", c_index(*k, n), c_expr(e, n)),
        Statement::Add(a, k, e) => format!("a{a}[{}] += {};", c_index(*k, n), c_expr(e, n)),
        Statement::If(e, s) => format!("if ({} & 1) {{ {} }}", c_expr(e, n), c_statement(s, n)),
        Statement::Inner(body) => format!(
            "for (int j = 0; j < {WIDTH}; j++) {{ {} }}",
            body.iter().map(|s| c_statement(s, n)).collect::<Vec<_>>().join(" ")
        ),
        Statement::Call(update, a, k, e) => {
            format!("{}(&a{a}[{}], {});", if *update { "bump" } else { "poke" }, c_index(*k, n), c_expr(e, n))
        }
        Statement::Scratch(heap, a, k, e) => {
            let (declared, freed) = if *heap {
                let grow = format!("if (v & 1) t = realloc(t, 2 * {WIDTH} * sizeof *t);");
                (format!("*t = malloc({WIDTH} * sizeof *t), v = {}, r = 0; {grow}", c_expr(e, n)), "free(t);")
            } else {
                (format!("t[{WIDTH}], v = {}, r = 0;", c_expr(e, n)), "")
            };
            let at = c_index(*k, n);
            format!(
                "{{ W {declared} fill(t, v); for (int w = 0; w < {WIDTH}; w++) r += t[w]; {freed} a{a}[{at}] = r; }}"
            )
        }
        Statement::Halves(a, clearing, way, e) => {
            let clear = match clearing {
                Clearing::Whole => format!("memset(row, 0, {HALF} * sizeof *row);"),
                Clearing::Part => {
                    format!("for (int x = 0, y = row[0] % {}; x < y; x++) row[x] = 0;", HALF + 1)
                }
                Clearing::Perhaps => format!("if (row[0] & 1) memset(row, 0, {HALF} * sizeof *row);"),
            };
            let element = format!("row[(j * {} + {}) % ({WIDTH} - h * {HALF})]", way.step, way.k);
            let (used, end) = if way.updates {
                (format!("{element} = {element} * 3 + v;"), String::new())
            } else {
                (format!("sum += {element};"), format!("a{a}[i * {WIDTH} + {}] = sum;", WIDTH - 1))
            };
            let v = c_expr(e, n);
            format!(
                "{{ W sum = 0, v = {v}; for (int h = 0; h < 2; h++) {{ W *row = a{a} + i * {WIDTH} + h * {HALF}; {clear} \
                 for (int j = 0; j < 4; j++) {used} }} {end} }}"
            )
        }
        Statement::Count(down, size, which, much) => {
            let sign = if *down { '-' } else { '+' };
            let (which, much) = (c_expr(which, n), c_expr(much, n));
            // Of the counter's own type: else it is a loop that compares and swaps.
            let kind = SIZES.iter().find(|s| s.0 == *size).expect("a size").1;
            format!(
                "{{ W which = ({which}) % {COUNTERS}; {kind} much = {much};\n\
                 #pragma omp atomic\nc{size}[which] {sign}= much; }}"
            )
        }
        Statement::Swap(a, b, k) => {
            let k = c_index(*k, n);
            format!("{{ unsigned long x = a{a}[{k}], y = a{b}[{k}]; a{a}[{k}] = y; a{b}[{k}] = x + 1; }}")
        }
    }
}

fn c_program(p: &Program, seed: u64) -> String {
    let (n, mut r) = (p.n, Seeded(seed + 99));
    let mut c = format!(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\ntypedef unsigned long W;\n#define SMALL __attribute__((noinline)) static\n\
         SMALL W peek(const W *p) {{ return *p * 3 + 1; }}\nSMALL void poke(W *p, W v) {{ *p = v; }}\n\
         SMALL void bump(W *p, W v) {{ *p += v; }}\n\
         SMALL void fill(W *t, W v) {{ for (int w = 0; w < {WIDTH}; w++) t[w] = v * (w + 1); }}\n\
         static int perm[{n}];\nstatic W total;\n"
    );
    let heap = r.below(2) == 0;
    let names: Vec<String> = (0..ARRAYS).map(|a| format!("a{a}")).collect();
    for a in &names {
        let _ =
            if heap { writeln!(c, "static W *{a};") } else { writeln!(c, "static W {a}[{}];", n * WIDTH) };
    }
    for (size, kind) in SIZES {
        let _ = writeln!(c, "static {kind} c{size}[{COUNTERS}];");
    }
    for (k, l) in p.loops.iter().enumerate() {
        let body: String = l.body.iter().map(|s| c_statement(s, n)).collect::<Vec<_>>().join("\n        ");
        let (clause, add) = match &l.sum {
            Some(e) => ("reduction(+ : s)", format!("s += {};", c_expr(e, n))),
            None => ("", String::new()),
        };
        let parameters =
            if l.parameters.is_some() { "W *a0, W *a1, W *a2, W *a3".to_string() } else { "void".into() };
        let inside = r.below(2) == 0;
        let head = if inside {
            format!("#pragma omp parallel\n    {{\n#pragma omp for {} {clause}", l.schedule)
        } else {
            format!("#pragma omp parallel for {} {clause}", l.schedule)
        };
        let _ = writeln!(
            c,
            "static void loop{k}({parameters}) {{\n    W s = 0;\n{head}\n    for (int i = 0; i < {n}; i++) {{\n        {body}\n        {add}\n    }}\n{}    total = total * 3 + s;\n}}",
            if inside { "    }\n" } else { "" }
        );
    }
    let _ = writeln!(c, "int main(void) {{");
    for (a, name) in names.iter().enumerate() {
        if heap {
            let _ = writeln!(c, "    {name} = malloc(sizeof(W) * {});", n * WIDTH);
        }
        let _ =
            writeln!(c, "    for (int x = 0; x < {}; x++) {name}[x] = (x * 7 + {a} * 13) % 101;", n * WIDTH);
    }
    let _ = writeln!(c, "    for (int i = 0; i < {n}; i++) perm[i] = {n} - 1 - i;");
    let _ = writeln!(c, "    for (int round = 0; round < {}; round++) {{", p.rounds);
    for (k, l) in p.loops.iter().enumerate() {
        let args = l.parameters.map_or(String::new(), |p| p.map(|a| format!("a{a}")).join(", "));
        let _ = writeln!(c, "        loop{k}({args});");
    }
    let _ = writeln!(c, "    }}\n    W h = 0;");
    for a in &names {
        let _ = writeln!(c, "    for (int x = 0; x < {}; x++) h = h * 31 + {a}[x];", n * WIDTH);
    }
    for (size, _) in SIZES {
        let _ = writeln!(c, "    for (int x = 0; x < {COUNTERS}; x++) h = h * 31 + c{size}[x];");
    }
    let _ = writeln!(c, "    printf(\"%lu %lu\\n\", h, total);\n    return 0;\n}}");
    c
}

// --- The test ------------------------------------------------------------------------------------------------------

/// What became of the runs.
#[derive(Default, Debug)]
struct Tally {
    recomputed: u32,
    undamaged: u32,
    refused: u32,
}

fn check(cc: &Path, dir: &Path, seed: u64, kills: u64, tally: &mut Tally) {
    let p = program(seed);
    let expected = interpret(&p);
    let (source, exe) = (dir.join(format!("{seed}.c")), dir.join(format!("{seed}")));
    std::fs::write(&source, c_program(&p, seed)).expect("target is writable");
    let level = ["-O2", "-O2", "-O3", "-O1", "-O0"][seed as usize % 5];
    let mut c = Command::new(cc);
    c.args([level, "-fopenmp", "-fno-promp-runtime", "-w", "-o"]).arg(&exe).arg(&source);
    let r = limited(c, Duration::from_secs(60));
    assert_eq!(r.status, 0, "program {seed}: {}", r.err);
    let r = reference(&exe, &[], &[("OMP_NUM_THREADS", "3")]);
    assert_eq!((r.status, &r.out), (0, &expected), "program {seed} ({level}) under libgomp");
    for k in 0..kills {
        let threads = ["2", "3", "4"][(seed + k) as usize % 3];
        // At a chunk, and a while later: in the middle of it, or of a later one.
        let fault = match k % 3 {
            0 => format!(
                "kill@thread={},region={},delay={}us",
                k % 2,
                1 + (seed + k * 5) % 9,
                1 + seed * 7 % 60
            ),
            1 => format!("kill@mtbf={}us,seed={seed},count=6", 200 + seed % 400),
            _ => format!("crash@thread=1,region={},nth={},delay={}us", 1 + seed % 7, 1 + k % 3, seed % 30),
        };
        // Loops save what they overwrite, or leave that in the middle as soon as it has been measured.
        let budget = ["all", "0%", "all", "2%"][(seed / 5 + k) as usize % 4];
        let env =
            [("OMP_NUM_THREADS", threads), ("PROMP_FAULT", fault.as_str()), ("PROMP_SAVE_BUDGET", budget)];
        let r = promp(&exe, &[], &env);
        let what = format!("program {seed} ({level}) {threads} threads, {fault}");
        *(if r.was_refused(&expected, &what) {
            &mut tally.refused
        } else if r.executed_again() > 0 {
            &mut tally.recomputed
        } else {
            &mut tally.undamaged
        }) += 1;
    }
    let _ = std::fs::remove_file(&exe);
    let _ = std::fs::remove_file(&source);
}

#[test]
fn random_loops_give_what_interpretation_gives() {
    let cc: PathBuf = library().with_file_name("promp-cc");
    if !library().with_file_name("promp_plugin.so").exists() {
        println!(
            "SKIPPED: promp_plugin.so is not there (make plugin; it needs gcc-12-plugin-dev or the like)"
        );
        return;
    }
    let dir = out_folder("random_loops");
    let (first, programs) = (first_seed(), set_count(if long() { 2000 } else { 40 }));
    let mut tally: Vec<Tally> = std::thread::scope(|s| {
        let workers: Vec<_> = (0..2u64)
            .map(|w| {
                let (cc, dir) = (&cc, &dir);
                s.spawn(move || {
                    let mut t = Tally::default();
                    (first..first + programs)
                        .filter(|n| n % 2 == w)
                        .for_each(|n| check(cc, dir, n, 6, &mut t));
                    t
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    });
    let mut draws = Draws::between(0, 10 * programs).from(first + programs);
    let enough = |t: &[Tally]| t.iter().map(|t| u64::from(t.recomputed)).sum::<u64>() > programs / 4;
    while let Some(seed) = draws.next(enough(&tally)) {
        check(&cc, &dir, seed, 6, &mut tally[0]);
    }
    let all = |f: fn(&Tally) -> u32| tally.iter().map(f).sum::<u32>();
    let (recomputed, refused) = (all(|t| t.recomputed), all(|t| t.refused));
    println!(
        "{programs} programs: {recomputed} runs recomputed, {refused} refused, {} without loss",
        all(|t| t.undamaged)
    );
    assert!(enough(&tally), "too few failures struck work in flight");
}
