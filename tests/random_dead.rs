//! Random programs against what promp-cc says is dead where a checkpoint may be taken: static arrays, blocks
//! of the heap behind pointers that are passed, kept in structures, exchanged and freed, nests of loops with
//! bounds that the compiler does not know, conditions, functions. At every place what is said to be dead is
//! filled with ones (c-tests/compiler/poison.c). The expected result is that of the same program built by GCC
//! alone, where nothing is filled.

use crate::common::filled::Filled;
use crate::common::*;
use std::fmt::Write;

/// Elements of an array, as rows and columns.
const N: u64 = 1536;
const ROWS: u64 = 48;
const COLUMNS: u64 = 32;
/// Static arrays, local pointers and static pointers to the heap, by their names.
const ARRAYS: [&str; 7] = ["s0", "s1", "p0", "p1", "p2", "g0", "g1"];
const POINTERS: [&str; 5] = ["p0", "p1", "p2", "g0", "g1"];

struct Writer {
    r: Seeded,
    /// Functions, and the time loop's body.
    functions: String,
    body: String,
    /// The body is executed by all threads of a region.
    region: bool,
    has_region: bool,
}

impl Writer {
    fn array(&mut self) -> &'static str {
        ARRAYS[self.r.below(7) as usize]
    }

    /// What is written to element `i` of `to`; what is read from others at other places.
    fn value(&mut self, to: &str, i: &str) -> String {
        let k = 1 + 2 * self.r.below(500);
        let from = self.array();
        match self.r.below(6) {
            0 | 1 => format!("{i} * {k}u + t"),
            2 => format!("{to}[{i}] * {k}u + t"),
            _ if from == to => format!("{i} + t * {k}u"),
            3 => format!("{from}[{i}] * {k}u + t"),
            _ => format!("{from}[({i} + {}) % N] + {k}u", self.r.below(N)),
        }
    }

    /// A loop nest that writes `to`, from which nothing else is read than the same element; how many of its
    /// loops can be collapsed.
    fn nest(&mut self, to: &str, value: &str) -> (u32, String) {
        if self.r.below(2) == 0 { (1, self.rows(to, value)) } else { self.tiles(to, value) }
    }

    /// In tiles, by two elements, by strides that are found out first, by three loops; all of it, or nearly.
    fn tiles(&mut self, to: &str, value: &str) -> (u32, String) {
        let (n, rows, columns) = match self.r.below(3) {
            0 => ("N".into(), ROWS.to_string(), COLUMNS.to_string()),
            _ => ("n".to_string(), "rows".to_string(), "columns".to_string()),
        };
        let (from, less) = *self.r.pick(&[(0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (1, 0), (0, 1)]);
        let step = *self.r.pick(&[1, 3, 8, 16, 20]);
        let wide = *self.r.pick(&[step, step, step, step, step + 1, step - 1]).max(&1);
        let kind = self.r.pick(&["int", "long", "unsigned"]);
        let which = self.r.below(7);
        // What is written twice by several threads must not be read.
        if value.contains(&format!("{to}[i]")) && (wide > step || which == 5) {
            return (1, self.rows(to, value));
        }
        // The end of a tile in one test, in two, or cut off elsewhere.
        let end = |r: &mut Seeded, from: &str, all: &str| match r.below(4) {
            0 => format!("x < ({from} + {wide} < {all} ? {from} + {wide} : {all})"),
            1 if wide == step => format!("x < {from} + {wide} && x < {all} - {less}"),
            _ => format!("x < {from} + {wide} && x < {all}"),
        };
        match which {
            0 => {
                let end = end(&mut self.r, "w", &n);
                let text = format!(
                    "for ({kind} w = {from}; w < {n} - {less}; w += {step})\n\
                     for ({kind} x = w; {end}; x++) {{\n long i = x; {to}[i] = {value}; }}\n"
                );
                (1, text)
            }
            1 | 2 => {
                let end = end(&mut self.r, "w", &columns);
                let text = format!(
                    "for (int y = {from}; y < {rows}; y++)\n\
                     for ({kind} w = 0; w < {columns} - {less}; w += {step})\n\
                     for ({kind} x = w; {end}; x++) {{\n long i = y * {columns} + x; {to}[i] = {value}; }}\n"
                );
                (2, text)
            }
            3 => {
                let text = format!(
                    "for ({kind} y = {from}; y < {rows} - {less}; y++)\n\
                     for ({kind} x = 0; x < {columns}; x++) {{\n\
                     long i = y * {columns} + x; {to}[i] = {value}; }}\n"
                );
                (2, text)
            }
            4 => {
                let text = format!(
                    "for ({kind} z = 0; z < 2; z++)\n for (int y = {from}; y < {rows} / 2; y++)\n\
                     for (int x = 0; x < {columns} - {less}; x += 2) {{\n\
                     {{ long i = (z * ({rows} / 2) + y) * {columns} + x; {to}[i] = {value}; }}\n\
                     {{ long i = (z * ({rows} / 2) + y) * {columns} + x + 1; {to}[i] = {value}; }} }}\n"
                );
                (*self.r.pick(&[1, 2, 3]), text)
            }
            5 => {
                let test =
                    *self.r.pick(&["never == 0", "unit == 1 && rows == 48", "t & 1", "never", "t > 3"]);
                let text = format!(
                    "for (long y = {from}; y < {rows} - {less}; y++)\n\
                     for (long x = 0; x < {columns}; x++) {{\n\
                     long first = {test} ? y * {columns} : y;\n\
                     long i = first + x * unit; {to}[i] = {value}; }}\n"
                );
                (*self.r.pick(&[1, 2]), text)
            }
            _ => {
                let text = format!(
                    "for (long j = {from} * 2; j < {n} - {less}; j += 2) {{\n\
                     {{ long i = j; {to}[i] = {value}; }}\n\
                     {{ long i = j + 1; {to}[i] = {value}; }} }}\n"
                );
                (1, text)
            }
        }
    }

    fn rows(&mut self, to: &str, value: &str) -> String {
        let (n, rows, columns) = match self.r.below(3) {
            0 => ("N".into(), ROWS.to_string(), COLUMNS.to_string()),
            _ => ("n".to_string(), "rows".to_string(), "columns".to_string()),
        };
        let (from, less) = *self.r.pick(&[(0, 0), (0, 0), (0, 0), (0, 0), (1, 0), (0, 1)]);
        match self.r.below(5) {
            0 => format!(
                "for (long y = 0; y < {rows}; y++)\n for (long x = {from}; x < {columns} - {less}; x++) {{\n\
                 long i = y * {columns} + x; {to}[i] = {value}; }}\n"
            ),
            1 => format!(
                "for (int x = {from}; x < {columns}; x++)\n for (int y = 0; y < {rows} - {less}; y++) {{\n\
                 int i = y * {columns} + x; {to}[i] = {value}; }}\n"
            ),
            2 => format!(
                "for (long y = 0; y < {rows} - {less}; y++)\n\
                 for (unsigned long i = y * {columns}; i < (y + 1) * {columns}; i++) {to}[i] = {value};\n"
            ),
            3 => format!("for (int i = {from}; i <= {n} - 1 - {less}; i++) {to}[i] = {value};\n"),
            _ => format!("for (long i = {from}; i < {n} - {less}; i++) {to}[i] = {value};\n"),
        }
    }

    /// By a worksharing loop, or by one thread.
    fn shared(&mut self, (loops, nest): (u32, String)) -> String {
        let schedule = *self.r.pick(&["", " schedule(dynamic, 5)", " schedule(static, 7)"]);
        let collapse =
            if loops > 1 && self.r.below(4) > 0 { format!(" collapse({loops})") } else { "".into() };
        let schedule = format!("{schedule}{collapse}");
        match (self.r.below(4), self.region) {
            (0, true) => format!("#pragma omp single\n {{\n{nest}}}\n"),
            (0, false) => nest,
            (1, true) => format!("#pragma omp for nowait{schedule}\n{nest}#pragma omp barrier\n"),
            (_, true) => format!("#pragma omp for{schedule}\n{nest}"),
            (_, false) => {
                self.has_region = true;
                format!("#pragma omp parallel\n {{\n#pragma omp for{schedule}\n{nest}}}\n")
            }
        }
    }

    /// Once, if the body is executed by several threads.
    fn once(&self, what: &str) -> String {
        if self.region { format!("#pragma omp single\n {{ {what} }}\n") } else { format!("{{ {what} }}\n") }
    }

    /// A function that writes to and reads from what it is given.
    fn function(&mut self) -> String {
        let k = self.functions.matches("static void f").count();
        let factor = 1 + 2 * self.r.below(100);
        let value = match self.r.below(3) {
            0 => format!("i * {factor}u + t"),
            1 => format!("b[i] * {factor}u"),
            _ => format!("b[(i + {}) % N] + t", self.r.below(N)),
        };
        let nest = self.nest("a", &value);
        let done = self.shared(nest);
        let inline = self.r.pick(&["__attribute__((noinline)) ", ""]);
        writeln!(self.functions, "{inline}static void f{k}(u *a, const u *b, u t) {{\n{done}}}").unwrap();
        format!("f{k}")
    }

    fn deed(&mut self, deep: u64) {
        let to = self.array();
        let other =
            ARRAYS[(ARRAYS.iter().position(|a| *a == to).unwrap() + 1 + self.r.below(6) as usize) % 7];
        let text = match self.r.below(16) {
            0..5 => {
                let value = self.value(to, "i");
                let nest = self.nest(to, &value);
                self.shared(nest)
            }
            5 | 6 => format!(" {}({to}, {other}, t);\n", self.function()),
            7 => {
                let (a, b) = (*self.r.pick(&POINTERS), *self.r.pick(&POINTERS));
                self.once(&format!("u *x = {a}; {a} = {b}; {b} = x;"))
            }
            8 if deep > 0 => {
                let before = std::mem::take(&mut self.body);
                let of = self.array();
                self.deed(0);
                let inner = std::mem::replace(&mut self.body, before);
                let test = match self.r.below(3) {
                    0 => "t % 3 == 1".to_string(),
                    1 => "never".to_string(),
                    _ => format!("({of}[{}] & 1)", self.r.below(N)),
                };
                // Everybody has to have looked before somebody writes.
                let barrier = if self.region { "#pragma omp barrier\n" } else { "" };
                format!(" {{ int yes = !!({test});\n{barrier} if (yes) {{\n{inner}}}\n{barrier}}}\n")
            }
            9 => {
                let value = format!("i * {}u + t", 1 + self.r.below(99));
                let nest = self.nest("q", &value);
                let done = self.shared(nest);
                format!(" {{ u *q = t & 1 ? {to} : {other};\n{done} }}\n")
            }
            10 => self.once(&format!("memcpy({to}, {other}, N * sizeof(u));")),
            11 => {
                let n = N - self.r.below(2);
                self.once(&format!("memset({to}, t & 63, {n} * sizeof(u));"))
            }
            12 => self.once(&format!(
                "for (int i = 0; i < N; i++) {{\n\
                 if (i > 700 && {other}[i] % 64 == 5) break;\n {to}[i] = i + t; }}"
            )),
            13 => {
                let nest = self.nest("st.a", "i * 5u + t + st.b[7]");
                let done = self.shared(nest);
                let keeps = self.once(&format!("st.a = {to}; st.b = {other};"));
                format!("{keeps}{done}")
            }
            14 => {
                let p = *self.r.pick(&POINTERS);
                self.once(&format!(
                    "free({p}); {p} = malloc(N * sizeof(u)); for (int i = 0; i < N; i++) {p}[i] = i * 3 + t;"
                ))
            }
            _ => match self.r.below(3) {
                0 => self.once("n = N - (t & 1);"),
                1 => self.once(&format!("s += peek({to});")),
                _ => self.once(&format!("s = s * 31 + {to}[t * 7 % N] + {other}[N - 1 - t % 5];")),
            },
        };
        self.body += &text;
    }
}

fn source(seed: u64) -> String {
    let mut w = Writer {
        r: Seeded(seed),
        functions: String::new(),
        body: String::new(),
        region: false,
        has_region: false,
    };
    w.region = w.r.below(3) == 0;
    for _ in 0..3 + w.r.below(7) {
        w.deed(1);
    }
    // Without a pragma places are the heads of loops around regions.
    let pragma = w.region || !w.has_region || w.r.below(3) > 0;
    let place = if pragma { "#pragma promp checkpoint\n" } else { "" };
    let (functions, body) = (&w.functions, &w.body);
    let steps = if w.region {
        format!(
            "#pragma omp parallel\n for (u t = 0; t < 9; t++) {{\n{place}{body}#pragma omp barrier\n }}\n"
        )
    } else {
        format!(" for (u t = 0; t < 9; t++) {{\n{place}{body} }}\n")
    };
    // In a function of its own, or in main, with the arrays in scope there.
    let start = "p0 = make(3), p1 = make(5), p2 = make(7)";
    let end = " for (int i = 0; i < N; i++)\n\
        s = mixed(mixed(mixed(s, p0[i]), p1[i]), p2[i]),\n\
        s = mixed(mixed(mixed(mixed(s, s0[i]), s1[i]), g0[i]), g1[i]);\n";
    let (outside, run) = match w.r.below(3) {
        0 => (
            format!("static void run(u *p0, u *p1, u *p2) {{\n{steps}{end}}}\n"),
            "run(make(3), make(5), make(7));\n".to_string(),
        ),
        1 => (
            format!("static u *p0, *p1, *p2;\n{functions}static void run(void) {{\n{steps}}}\n"),
            format!("{start};\n run();\n{end}"),
        ),
        _ => (String::new(), format!("u *{};\n{steps}{end}", start.replace(", p", ", *p"))),
    };
    let functions =
        if outside.contains(functions.as_str()) && !functions.is_empty() { "" } else { functions };
    format!(
        "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         typedef uint64_t u;\nenum {{ N = {N} }};\nstatic u s0[N], s1[N], *g0, *g1, s;\n\
         static struct {{ u *a; const u *b; }} st;\n\
         static int n, rows, columns, never, unit;\n\
         static u mixed(u s, u v) {{ return ((s ^ v) << 7 | (s ^ v) >> 57) * 0x9E3779B97F4A7C15; }}\n\
         static u *make(u k) {{\n u *p = malloc(N * sizeof(u));\n\
         for (int i = 0; i < N; i++) p[i] = i * k + 1;\n return p;\n}}\n\
         static __attribute__((noinline)) u peek(const u *p) {{\n u x = 0;\n\
         for (int i = 0; i < N; i += 3) x = x * 7 + p[i];\n return x;\n}}\n\
         {functions}{outside}int main(int argc, char **argv) {{\n\
         n = N - 1 + argc, rows = {ROWS} - 1 + argc, columns = {COLUMNS} - 1 + argc;\n\
         never = argc - 1, unit = argc;\n\
         for (int i = 0; i < N; i++) s0[i] = i * 11, s1[i] = i * 13;\n g0 = make(17), g1 = make(19);\n\
         {run} printf(\"%lu\\n\", (unsigned long)s);\n return 0;\n}}\n"
    )
}

/// Some dozens in CI; PROMP_TEST_LONG=1: 2,000.
#[test]
fn what_is_said_to_be_dead_is() {
    let (name, option, told) = ("randomdead", "-fno-promp-runtime", "poisoned ");
    Filled { name, source, option, told, few: 30 }.give_the_same_results();
}
