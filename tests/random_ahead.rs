//! Random programs against what comes of going ahead from a place (crates/foresee): grids of several
//! levels behind pointers in a table, which are exchanged; interiors and halos written apart, with and
//! without parts that are missing; loops over levels, functions, tiles, rows, steps of two, conditions;
//! numbers and flags that threads carry from one iteration to the next, nowait loops, `single` whose branch
//! goes on behind it, cycles that are no loops, neighbours in one loop. At every place what is said to be
//! dead is filled with ones (c-tests/compiler/poison.c). The expected result is that of the same program
//! built by GCC alone, where nothing is filled.

mod functions;

use crate::common::filled::Filled;
use crate::common::*;
use functions::{by_reference, cycles, wraps};

/// Levels 1 to so many; level l has 2^l rows, and a halo.
const TOP: u64 = 4;

struct Writer {
    r: Seeded,
    /// Is what is written in a region?
    region: bool,
    /// Are most of its statements peculiar?
    odd: bool,
    /// Are counters handed over by reference?
    by_reference: bool,
}

impl Writer {
    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of[self.r.below(of.len() as u64) as usize]
    }

    fn array(&mut self) -> &'static str {
        self.one(&["a", "b", "c"])
    }

    /// Of level `l`, a nest over its interior, or what looks like it.
    fn interior(&mut self, l: &str) -> String {
        let (x, y) = (self.array(), self.array());
        let n = format!("g[{l}].n");
        let k = match self.r.below(8) {
            0 => format!("for (int k = {n}; k >= 1; k--)"),
            1 => format!("for (int k = 2; k <= {n}; k++)"),
            2 => format!("for (int k = 1; k < {n} + 1; k++)"),
            _ => format!("for (int k = 1; k <= {n}; k++)"),
        };
        let j = match self.r.below(7) {
            0 => format!("for (int j = {n}; j > 0; j--) {{"),
            1 => format!(
                "for (int jj = 1; jj <= {n}; jj += 4) for (int j = jj; j < jj + 4 && j <= {n}; j++) {{"
            ),
            2 => format!("for (int j = 1; j <= {n}; j++) if ((j + k) % 5) {{"),
            _ => format!("for (int j = 1; j <= {n}; j++) {{"),
        };
        let (dj, dk) = (self.one(&["-1", "", "+1"]), self.one(&["-1", "", "+1"]));
        // Odd, like all numbers that something is multiplied by: nothing is lost in a product.
        let f = 3 + 2 * self.r.below(5);
        let value = match self.r.below(6) {
            0 => format!("y[at(n, j, k)] * {f} + t"),
            1 => format!("y[at(n, n + 1 - j, k)] + x[at(n, j, k)] * {f}"),
            2 => format!("(y ? y[at(n, j{dj}, k)] : 5) * {f}"),
            3 => format!("y[at(n, (j + 1) / 2, (k + (t & 1)) / 2)] + {f} * j"),
            _ => format!("y[at(n, j{dj}, k{dk})] * {f} + j * k + t"),
        };
        // What threads read of each other's is racy: of another array only.
        let y = if x == y { ["b", "c", "a"][x.as_bytes()[0] as usize - 97] } else { y };
        self.shared(
            &format!("u *x = g[{l}].{x}, *y = g[{l}].{y}; int n = {n}; (void)y;"),
            &k,
            &format!("{j} x[at(n, j, k)] = {value}; }}"),
        )
    }

    /// A loop whose iterations are shared by the threads, or one of them executes.
    fn shared(&mut self, before: &str, head: &str, body: &str) -> String {
        let directive = match self.r.below(9) {
            0 => "#pragma omp single",
            1 => "#pragma omp for schedule(dynamic, 2)",
            2 => "#pragma omp for schedule(guided)",
            3 => "#pragma omp for nowait",
            _ => "#pragma omp for",
        };
        let after = if directive.ends_with("nowait") { "#pragma omp barrier\n" } else { "" };
        if self.region {
            return format!("{{ {before}\n{directive}\n{head} {{ {body} }}\n{after} }}\n");
        }
        match self.r.below(3) {
            0 => format!("{{ {before} {head} {{ {body} }} }}\n"),
            _ => format!("{{ {before}\n#pragma omp parallel for\n{head} {{ {body} }} }}\n"),
        }
    }

    fn statement(&mut self, l: &str, deep: u64) -> String {
        let (x, y) = (self.array(), self.array());
        let single = if self.region { "#pragma omp single\n" } else { "" };
        if self.by_reference && self.r.below(2) == 0 {
            return self.handed_over(l);
        }
        if self.r.below(if self.odd { 3 } else { 8 }) < 2 {
            return self.special(l);
        }
        match self.r.below(18) {
            0..=3 => self.interior(l),
            4..=7 => {
                let kinds = if self.r.below(2) == 0 { 1 } else { 6 };
                let kind = self.r.below(kinds);
                let wrap = if self.region { "wrap" } else { "wrap_all" };
                format!("{wrap}{kind}(g[{l}].{x}, g[{l}].n);\n")
            }
            8 | 9 if x != y => {
                format!("{single}{{ u *s = g[{l}].{x}; g[{l}].{x} = g[{l}].{y}; g[{l}].{y} = s; }}\n")
            }
            10 => {
                let first = self.r.below(4) / 3;
                self.shared(
                    &format!("u *x = g[{l}].{x}; int n = g[{l}].n;"),
                    &format!("for (int k = {first}; k <= n + 1; k++)"),
                    "memset(x + at(n, 0, k), 0, (n + 2) * sizeof(u));",
                )
            }
            11 => {
                let by = 1 + self.r.below(2);
                self.shared(
                    &format!("u *x = g[{l}].{x}; int n = (g[{l}].n + 2) * (g[{l}].n + 2);"),
                    &format!("for (int i = 0; i < n / {by}; i++)"),
                    if by == 2 { "x[2 * i + 1] = i + t, x[2 * i] = i;" } else { "x[i] = i * 3 + t;" },
                )
            }
            12 => format!("{single} acc += g[{l}].{x}[{}];\n", self.r.below(16)),
            13 if x != y => format!(
                "{single} memcpy(g[{l}].{x}, g[{l}].{y}, (g[{l}].n + 2) * (g[{l}].n + {}) * sizeof(u));\n",
                1 + self.r.below(2)
            ),
            14 => format!(
                "{single}{{ u *x = g[{l}].{x}, s = 0; int n = (g[{l}].n + 2) * (g[{l}].n + 2);\n\
                 for (int i = 0; i < n; i++) {{ x[i] = i + t; s += x[{}]; }} acc += s; }}\n",
                self.one(&["i", "n - 1 - i", "i / 2", "(i + 1) % n", "i + 1 < n ? i + 1 : 0"])
            ),
            15 if deep > 0 => {
                let c = match self.r.below(4) {
                    0 => "t % 3 == 0".to_string(),
                    1 => format!("g[{l}].n > 4"),
                    2 => "never".to_string(),
                    _ => format!("g[{l}].{y}[9] & 1"),
                };
                let body = self.statement(l, deep - 1);
                // Nobody changes what the condition is about before all have seen it.
                let all = if self.region { "#pragma omp barrier\n" } else { "" };
                format!("{{ int c = {c};\n{all} if (c) {{\n{body} }} }}\n{all}")
            }
            16 if l != "1" && deep > 0 => {
                let kind = self.r.below(2);
                let up = if self.region { "" } else { "#pragma omp parallel\n" };
                // Only where there is a coarser level.
                format!("if ({l} > 1) {{\n{up} between{kind}(&g[{l}], &g[{l} - 1]);\n }}\n")
            }
            _ if deep > 0 => {
                let head = self.one(&[
                    "for (int l = TOP; l > 1; l--)",
                    "for (int l = 1; l <= TOP; l++)",
                    "for (int l = 2; l < TOP; l++)",
                ]);
                let n = 1 + self.r.below(4);
                let body: String = (0..n).map(|_| self.statement("l", deep - 1)).collect();
                format!("{head} {{\n{body} }}\n")
            }
            _ => self.interior(l),
        }
    }

    /// What is easily taken for something else; then, maybe, what it has read or left out is written anew.
    fn special(&mut self, l: &str) -> String {
        let first = self.peculiar(l);
        let mut again = String::new();
        for name in ["e", "a", "b", "c"] {
            let value = if name == "e" { "t * 5 + 8" } else { "i * 5 + t" };
            if self.r.below(2) == 0 {
                let shared = if self.region { "#pragma omp for\n" } else { "" };
                let each = "for (int i = 0; i < n; i++)";
                again += &format!("{shared} {each} g[{l}].{name}[i] = {value};\n");
            }
        }
        format!("{first}{{ int n = (g[{l}].n + 2) * (g[{l}].n + 2); (void)n;\n{again} }}\n")
    }

    /// `g[l].e` has the same number everywhere, so that it does not
    /// matter which of its elements is read.
    fn peculiar(&mut self, l: &str) -> String {
        let (x, y) = (self.array(), self.array());
        let z = if x == y { ["b", "c", "a"][x.as_bytes()[0] as usize - 97] } else { y };
        let vars = format!(
            "u *x = g[{l}].{x}, *y = g[{l}].{z}, *e = g[{l}].e; int n = (g[{l}].n + 2) * (g[{l}].n + 2);\n\
             (void)x, (void)y, (void)e;"
        );
        let chunk = 1 + self.r.below(5);
        // Which iterations are whose is the same in all runtimes.
        let shared = match (self.region, self.r.below(2)) {
            (true, 0) => format!("#pragma omp for schedule(static, {chunk})\n"),
            (true, _) => format!("#pragma omp for schedule(static, {chunk}) nowait\n"),
            (_, 0) => String::new(),
            _ => format!("#pragma omp parallel for schedule(static, {chunk})@\n"),
        };
        let fixed = |own: &str| shared.replace('@', own);
        let any = if self.region {
            self.one(&[
                "#pragma omp for\n",
                "#pragma omp for schedule(dynamic, 3)\n",
                "#pragma omp for schedule(guided)\n",
            ])
        } else {
            ""
        };
        let barrier = if self.region { "#pragma omp barrier\n" } else { "" };
        let single = if self.region { "#pragma omp single\n" } else { "" };
        let i = self.one(&["i", "i", "n - 1 - i"]);
        let each = "for (int i = 0; i < n; i++)";
        match self.r.below(19) {
            // Numbers that a thread carries on.
            0 => format!("{{ {vars} int k = 0;\n{any} {each} {{ x[i] = e[i - k] * 3 + i; k++; }} }}\n"),
            1 => format!(
                "{{ {vars} int k = 0;\n{} {each} {{ x[i] = y[i - k] * 5 + t; k += {}; }}\n{barrier} }}\n",
                fixed(" firstprivate(k)"),
                self.one(&["1", "i > 3"])
            ),
            2 => format!(
                "{{ {vars} int first = 1;\n{} {each}\n\
                 {{ if (first) {{ first = 0; {} }} else x[{i}] = t * 3 + i; }}\n{barrier} }}\n",
                fixed(" firstprivate(first)"),
                if self.r.below(2) == 0 { String::new() } else { format!("x[{i}] = x[{i}] * 3 + 1;") }
            ),
            3 => format!(
                "{{ {vars} u *p = x + {};\n{any} {each} {{ {} }} }}\n",
                self.r.below(2),
                self.one(&["x[i] = e[p - x] + t; if (p < x + n - 1) p++;", "x[i] = i * t + 1; p = x + i;"])
            ),
            // What is the same everywhere, anew.
            4 | 5 => format!("{{ {vars}\n{any} {each} e[{i}] = t * 9 + 4; }}\n"),
            // One after the other, with no barrier between; the same thread has the same iterations.
            6 => {
                let c = self.one(&["y[i] * 3 + t", "t * 3 + i", "y[i] + x[i]"]);
                let d = self.one(&["x[i] * 5 + 1", "x[i] + y[i] * 7", "i + t"]);
                let fixed = fixed("");
                format!("{{ {vars}\n{fixed} {each} x[i] = {c};\n{fixed} {each} y[i] = {d};\n{barrier} }}\n")
            }
            // Only some threads read, all of them the same.
            7 | 8 if self.region => {
                let nowait = self.one(&["", "nowait"]);
                let does = self.one(&[
                    "",
                    "acc += t * 3;",
                    "x[1] = t * 5;",
                    "for (int i = 0; i < n; i++) x[i] = i * t;",
                ]);
                let reads = self.one(&[
                    "mine += y[5] * 3;",
                    "mine += e[3]; else mine += 0;",
                    "for (int i = 0; i < n; i++) mine += y[i] * 3;",
                ]);
                format!(
                    "{{ {vars} int c = 0;\n#pragma omp single {nowait}\n {{ c = 1; {does} }}\n\
                     if (!c) {reads}\n{barrier} }}\n"
                )
            }
            // Neighbours in one loop.
            9 | 10 => {
                let (own, other) = [
                    ("x[i] = i * 3 + t;", "x[i + 1]"),
                    ("x[i + 1] = i * 3 + t;", "x[i]"),
                    ("x[i] = i + t, x[i + 1] = i * 5;", "x[i + 1]"),
                    ("memset(x + i, 0, 2 * sizeof(u)); x[i] = t;", "x[i] + x[i + 1]"),
                    ("if (i < n - 2) x[i] = t * 7;", "x[i]"),
                ][self.r.below(5) as usize];
                let by = self.one(&["1", "1", "2"]);
                let ends = self.one(&["", "x[0] = t * 3, x[n - 1] = t;"]);
                let (a, b) = if self.r.below(3) == 0 {
                    (format!("s += {other};"), own.to_string())
                } else {
                    (own.to_string(), format!("s += {other};"))
                };
                format!(
                    "{single}{{ {vars} u s = 0; {ends}\n\
                     for (int i = 0; i < n - 1; i += {by}) {{ {a} {b} s = s * 3; }} acc += s; }}\n"
                )
            }
            // A row is left out.
            14 => {
                let rows = |from: &str, to: &str| {
                    format!(
                        "{any} for (int k = {from}; k <= {to}; k++)\n\
                         for (int j = 1; j <= m; j++) x[at(m, j, k)] = j * k + t;\n"
                    )
                };
                let (a, b) = (rows("1", "m / 2"), rows("m / 2 + 2", "m + 1"));
                format!("{{ {vars} int m = g[{l}].n;\n{a}{b} }}\n")
            }
            // Where it is written depends on data, or on the iteration.
            15 => format!(
                "{single}{{ {vars} {each} {{ {} }} }}\n",
                self.one(&["x[y[i] & 7] = i * 3 + t;", "x[(y[i] + t) & 1] = i;", "x[y[i] % 3] = t;"])
            ),
            16 => {
                let c = self.one(&["(i + t) & 1", "y[i] & 1", "i > n / 2"]);
                format!(
                    "{{ {vars}\n{any} {each} {{ u *p = {c} ? x : e; if (p == x) p[i] = i * 3 + t; }} }}\n"
                )
            }
            17 => format!(
                "{single}{{ {vars} {each} {{ u *p = {} ? x : y; p[i] = i * 3 + t; }} }}\n",
                self.one(&["(i + t) & 1", "y[i] & 1", "i > n / 2"])
            ),
            // A number in memory that is carried on.
            18 => format!(
                "{{ {vars} long k[2] = {{ 0, 0 }};\n{any} {each} {{ x[i] = {} * 3 + i; k[never]++; }} }}\n",
                self.one(&["e[k[never]]", "e[n - 1 - k[never]]"])
            ),
            // Cycles that are no loops.
            11 => format!(
                "{single}{{ {vars} for (int r = 0; r < 2; r++) cycle{}(x, n, r + (int)t); }}\n",
                self.r.below(2)
            ),
            12 => {
                let n = self.one(&["n", "n - 1", "n / 2"]);
                let call = match self.r.below(4) {
                    0 => format!("memmove(x + {}, x, ({n} - 1) * sizeof(u));", self.r.below(2)),
                    // Nothing is known of what it does.
                    1 => format!("acc += memcmp(x, e, {n} * sizeof(u)) > 0;"),
                    2 => format!("memcpy(x, y, {n} * sizeof(u)); memcpy(y, x + 1, (n - 1) * sizeof(u));"),
                    _ => format!("memset(x + {}, 3, ({n} - 1) * sizeof(u));", self.r.below(2)),
                };
                format!("{single}{{ {vars} {call} }}\n")
            }
            _ => format!(
                "{{ {vars}\n{} {each} {{ last = i; {} }}\n{barrier}{single} acc += x[last / 2] * 3; }}\n",
                any.replace('\n', " lastprivate(last)\n"),
                self.one(&["x[i] = t + i;", "y[i] = x[i] * 3;"])
            ),
        }
    }

    /// Counters whose address is taken, as Fortran has them, and what can be taken for one.
    fn handed_over(&mut self, l: &str) -> String {
        let (x, y) = (self.array(), self.array());
        let y = if x == y { ["b", "c", "a"][x.as_bytes()[0] as usize - 97] } else { y };
        let put = self.one(&["put", "put", "put_of_others"]);
        let any = if self.region {
            self.one(&["#pragma omp for\n", "#pragma omp for schedule(guided)\n"])
        } else {
            ""
        };
        let single = if self.region { "#pragma omp single\n" } else { "" };
        let vars = format!(
            "u *x = g[{l}].{x}, *y = g[{l}].{y}; int i, j, m = g[{l}].n + 2, n = m * m;\n\
             (void)y, (void)i, (void)j;"
        );
        let c = self.one(&["i == 5", "never", "y[i] & 1", "t & 1"]);
        let each = self.one(&["for (i = 0; i < n; i++)", "for (i = n - 1; i >= 0; i--)"]);
        let serial = match self.r.below(14) {
            0 | 1 => format!("{each} {put}(x, &i, &t);"),
            2 => format!("for (j = 0; j < m; j++) for (i = 0; i < m; i++) {put}2(x, &m, &i, &j);"),
            3 => format!(
                "for (j = 0; j < m; j++) {{ for (i = 0; i < m; i++) {put}2(x, &m, &i, &j);\n\
                 i = j; {put}(x, &i, &t); }}"
            ),
            4 => format!("for (i = 0; i < n; on(&i)) {put}(x, &i, &t);"),
            5 => format!("for (i = 0; i < n; i++) {{ {put}(x, &i, &t); if ({c}) i++; }}"),
            6 => format!("i = 2; const int *p = same(&i); {each} if (i < n - 1) {put}(x, p, &t);"),
            7 => format!("kept = &i; {each} {{ {put}(x, kept, &t); }} kept = 0;"),
            8 => format!(
                "for (i = 0; i < n / 2; i++) {put}(x, &i, &t);\n\
                 {put}(x, &i, &t); for (; i < n; i++) {put}(x, &i, &t);"
            ),
            9 => format!("{each} {{ j = i; if ({c}) j = n - 1 - i; {put}(x, &j, &t); }}"),
            10 => format!("i = 0; do {{ {put}(x, &i, &t); i++; }} while (i < n - {});", self.r.below(2)),
            11 => format!("u s = 0; {each} s = s * 3 + got(x, &i); acc += s;"),
            12 => format!("j = 0; {each} {{ {put}(x, &j, &t); j = i; }}"),
            _ => format!("{each} {{ u s[2]; Part d = {{ s }}; both(&d, y, &i); x[i] = s[0] + s[1] * 3; }}"),
        };
        if self.r.below(3) > 0 {
            return format!("{single}{{ {vars} {serial} }}\n");
        }
        let to = self.one(&["i = q;", "i = n - 1 - q;", "i = q; if (q & 1) i = q - 1;", "i = q / 2;"]);
        let does = match self.r.below(3) {
            0 => "u s[2]; Part d = { s }; both(&d, y, &i); x[i] = s[0] + s[1] * 3;".to_string(),
            _ => format!("{put}(x, &i, &t);"),
        };
        // Nobody writes what another one writes.
        let any = if to.contains("if") || to.contains('/') { single } else { any };
        format!("{{ {vars}\n{any} for (int q = 0; q < n; q++) {{ int i; {to} {does} }} }}\n")
    }

    fn body(&mut self) -> String {
        let n = if self.odd { 2 + self.r.below(3) } else { 3 + self.r.below(8) };
        (0..n)
            .map(|_| {
                let l = self.one(&["1", "2", "3", "4", "TOP", "top"]);
                self.statement(l, 2)
            })
            .collect()
    }
}

fn source(seed: u64) -> String {
    let mut w = Writer { r: Seeded(seed), region: false, odd: seed % 2 == 1, by_reference: seed % 4 == 2 };
    w.region = w.r.below(3) > 0;
    let inlined = if w.r.below(2) == 0 { "static __attribute__((noinline))" } else { "static inline" };
    let before = if w.r.below(2) == 0 { w.body() } else { String::new() };
    let body = w.body();
    let steps = if w.region {
        format!(
            "#pragma omp parallel firstprivate(top)\n {{ u t = 0, mine = 0;\n{before}\
             for (t = 0; t < 7; t++) {{\n#pragma promp checkpoint\n{body}#pragma omp barrier\n }}\n\
             #pragma omp atomic\n acc += mine;\n }}\n"
        )
    } else {
        format!(" u t = 0;\n{before} for (t = 0; t < 7; t++) {{\n#pragma promp checkpoint\n{body} }}\n")
    };
    let (wraps, cycles, table) =
        (wraps(), cycles(), if w.r.below(6) == 0 { "Level g[TOP + 1];" } else { "static Level g[TOP + 1];" });
    format!(
        "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         typedef uint64_t u;\nenum {{ TOP = {TOP} }};\ntypedef struct {{ int n; u *a, *b, *c, *e; }} Level;\n\
         static u acc;\nstatic int never, last;\n\
         static u mixed(u s, u v) {{ return ((s ^ v) << 7 | (s ^ v) >> 57) * 0x9E3779B97F4A7C15; }}\n\
         typedef struct {{ u *p; }} Part;\nstatic const int *kept;\n{}\
         {inlined} long at(int n, int j, int k) {{ return (long)k * (n + 2) + j; }}\n{wraps}{cycles}\
         static void between0(Level *f, Level *c) {{\n#pragma omp for\n for (int k = 1; k <= c->n; k++)\n\
         for (int j = 1; j <= c->n; j++) c->a[at(c->n, j, k)] = f->a[at(f->n, 2 * j, 2 * k)] + j;\n}}\n\
         static void between1(Level *f, Level *c) {{\n#pragma omp for\n for (int k = 1; k <= f->n; k++)\n\
         for (int j = 1; j <= f->n; j++) {{ u s = 0;\n\
         for (int d = 0; d < 4; d++) s += c->b[at(c->n, (j + (d & 1)) / 2, (k + (d >> 1)) / 2)];\n\
         f->b[at(f->n, j, k)] = s; }}\n}}\n\
         int main(int argc, char **argv) {{\n int top = TOP - 1 + argc;\n {table}\n never = argc - 1;\n\
         for (int l = 1; l <= TOP; l++) {{\n int n = g[l].n = 1 << l; long all = (n + 2) * (n + 2);\n\
         long b = all * sizeof(u);\n\
         g[l].a = malloc(b), g[l].b = malloc(b), g[l].c = malloc(b), g[l].e = malloc(b);\n\
         for (long i = 0; i < all; i++) g[l].e[i] = 5;\n\
         for (long i = 0; i < all; i++) g[l].a[i] = i * l, g[l].b[i] = i * 3 + l, g[l].c[i] = i * 5 + 1; }}\n\
         {steps}\
         u s = acc;\n for (int l = 1; l <= TOP; l++)\n\
         for (long i = 0; i < (g[l].n + 2) * (g[l].n + 2); i++)\n\
         s = mixed(mixed(mixed(mixed(s, g[l].a[i]), g[l].b[i]), g[l].c[i]), g[l].e[i]);\n\
         printf(\"%lu\\n\", (unsigned long)s);\n return 0;\n}}\n",
        by_reference()
    )
}

/// Some in CI; PROMP_TEST_LONG=1: 2,000, from PROMP_TEST_FIRST on.
#[test]
fn what_comes_of_going_ahead_is_dead() {
    let (name, option, told) = ("randomahead", "-fpromp-foresee", "ahead ");
    Filled { name, source, option, told, few: 12 }.give_the_same_results();
}
