//! What promp-cc says of calls that ask for the number of threads: is it only shown, or where does it get?
//! (plugin/src/checkpoints/taint.cc; restarts by it: tests/elsewhere.rs.)

use crate::common::*;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// What is said if it is.
const SHOWN: &str = "is shown only";

/// Compiles `head` and a line for each case (@: `omp_get_max_threads()`) at all levels; what is said of a
/// line has its word.
fn check(compiler: &str, name: &str, head: &str, cases: &[(&str, &str)], levels: &[&[&str]]) {
    let Some(compiler) = driver(compiler) else { return };
    let dir = out_folder("shown");
    let mut text = head.to_string();
    cases.iter().for_each(|(code, _)| text += &format!("{}\n", code.replace('@', "omp_get_max_threads()")));
    fs::write(dir.join(name), text).expect("a file");
    let first = head.lines().count() + 1;
    for flags in levels {
        let mut c = Command::new(&compiler);
        c.args(*flags).args(["-fopenmp", "-w", "-fpromp-report", "-c", name, "-o"]).arg(format!("{name}.o"));
        let built = limited(tidy(c, &dir), Duration::from_secs(120));
        assert_eq!(built.status, 0, "{flags:?}: {}", built.err);
        for (k, (code, word)) in cases.iter().enumerate() {
            let line = format!("{name}:{}:", first + k);
            let said = built.err.lines().filter(|l| l.contains(&line) && l.contains("promp: omp_get_"));
            let said: Vec<&str> = said.collect();
            assert!(!said.is_empty(), "{flags:?}: nothing of {code}\n{}", built.err);
            // One of a line's calls does if it is not shown only, else it is all of them.
            let good = |l: &&str| l.contains(word);
            let right = if *word == SHOWN { said.iter().all(good) } else { said.iter().any(good) };
            assert!(right, "{flags:?}: {code}\nwanted {word}: {said:#?}");
        }
    }
}

fn tidy(mut c: Command, dir: &std::path::Path) -> Command {
    clean(&mut c);
    c.current_dir(dir);
    c
}

const LEVELS: [&[&str]; 6] =
    [&["-O0"], &["-O1"], &["-O2", "-g"], &["-O3"], &["-O2", "-flto"], &["-O2", "-fPIC"]];

#[test]
fn in_c() {
    let head = "#include <omp.h>\n#include <math.h>\n#include <stdio.h>\n\
                #include <stdlib.h>\n#include <string.h>\n\
                struct two { int a, b; };\nvoid outside(int); void with(struct two);\n";
    let cases = [
        (r#"void a1(void) { printf("%d%%\n", @); puts("x"); }"#, SHOWN),
        (r#"static int b1; void b2(void) { b1 = @; } void b3(void) { fprintf(stderr, "%d", b1); }"#, SHOWN),
        (r#"static void c1(int n) { printf("%d", n); } void c2(void) { c1(@); }"#, SHOWN),
        (
            r#"static int d1(int n) { return n ? d1(n - 1) : 0; } void d2(void) { printf("%d", d1(@)); }"#,
            SHOWN,
        ),
        (r#"void e1(void) { if (@ > 1) puts("several"); else fputs("one", stderr); }"#, SHOWN),
        (r#"void f1(void) { for (int i = 0; i < @; i++) printf("thread %d\n", i); }"#, SHOWN),
        (r#"void g1(double t) { printf("%g %g", t / @, fabs(1.0 - @)); }"#, SHOWN),
        (r#"void h1(int *x) { _Pragma("omp parallel num_threads(@)") x[0]++; }"#, SHOWN),
        (r#"void i1(int *x) { _Pragma("omp parallel if(@ > 1)") x[0]++; }"#, SHOWN),
        (
            concat!(
                r#"void j_1(void) { int n; _Pragma("omp parallel") "#,
                r#"{ if (omp_get_thread_num() == 0) n = omp_get_num_threads(); } printf("%d", n); }"#
            ),
            SHOWN,
        ),
        (r#"void k1(int *x) { if (omp_get_thread_num() == 0) x[0]++; }"#, SHOWN),
        (r#"void l1(void) { struct two v; v.a = @; v.b = 1; printf("%d", v.a); }"#, SHOWN),
        (r#"static void m1(void) { puts("many"); } void m2(void) { if (@ > 4) m1(); }"#, SHOWN),
        (r#"void *A1(void) { return malloc(@ * 8); }"#, "gets into an argument of"),
        (
            r#"static int B1; void B2(void) { if (@ > 2) B1 = 1; } int B3(void) { return B1; }"#,
            "is returned by B3",
        ),
        (r#"void C1(void) { outside(@); }"#, "gets into an argument of outside"),
        (r#"void D1(int *k) { printf("%d%n", @, k); }"#, "gets into an argument of"),
        (r#"void E1(void) { printf(@ > 1 ? "a" : "b"); }"#, "gets into an argument of"),
        (r#"void F1(char *to) { snprintf(to, 9, "%d", @); }"#, "gets into an argument of"),
        (r#"void G1(double *x) { for (int i = 0; i < @; i++) x[i] = 0; }"#, "is stored in"),
        (r#"int G2; void G3(void) { G2 = @; }"#, "is stored in G2"),
        (r#"static int H1; int *H2 = &H1; void H3(void) { H1 = @; }"#, "whose address is taken"),
        (r#"static int I1; void I2(int *to) { I1 = @; memcpy(to, &I1, sizeof I1); }"#, "is stored in to"),
        (r#"void J1(void) { asm volatile("" ::"r"(@)); }"#, "assembler code"),
        (
            r#"static int by_name; void K1(void) { by_name = @; } asm(".set K2, by_name");"#,
            "is stored in by_name",
        ),
        (r#"void L1(FILE *f) { fprintf(f, "%d", @); }"#, "gets into an argument of"),
        (r#"int M1(void) { return printf("%d", @); }"#, "is returned by M1"),
        (
            r#"static int N1; void N2(void) { switch (@) { case 1: N1 = 3; } } int N3(void) { return N1; }"#,
            "is returned by N3",
        ),
        (r#"void O1(int *x) { if (omp_get_thread_num() == 1) x[0]++; }"#, "is stored in"),
        (r#"void P1(int *x) { if ((unsigned char)omp_get_thread_num() == 0) x[0]++; }"#, "is stored in"),
        (r#"void Q1(double *x) { x[omp_get_thread_num()] = 1; }"#, "decides where"),
        (
            r#"void R1(void) { int n; _Pragma("omp parallel") n = omp_get_num_threads(); outside(n); }"#,
            "argument of outside",
        ),
        (r#"void S1(void) { int n = 0; _Pragma("omp parallel") { int *p = &n; *p = @; } }"#, "is stored in"),
        (r#"void T1(void) { double x[@]; with(*(struct two *)x); }"#, "argument of"),
        (r#"static _Thread_local int U1; void U2(void) { U1 = @; }"#, "is stored in U1"),
        (r#"void V1(void) { if (@ < 4) exit(1); }"#, "decides whether exit is called"),
        (r#"int W1(void) { int i = 0; while (i < @) i++; return i; }"#, "is returned by W1"),
        (r#"void X1(void (*p[2])(void)) { p[@ > 1](); }"#, "decides what is called"),
        (r#"void Y1(int *x, int *y) { *(@ > 1 ? x : y) = 1; }"#, "decides where"),
        (r#"void Z1(void) { struct two v = { @, 1 }; with(v); }"#, "argument of with"),
        (r#"static int t1; void t2(void) { _Pragma("omp atomic write") t1 = @; }"#, "argument of __atomic"),
        (
            r#"static int u1(int n) { return n; } int (*u2)(int) = u1; int u3(void) { return u1(@); }"#,
            "is returned by u1",
        ),
        (r#"int v1(int *x) { if (@ > 1) { x[0] = 1; puts("x"); } return 0; }"#, "is stored in"),
        (
            concat!(
                "static int w1; static void w2(void) { w1 = 1; } void w3(void) { if (@ > 1) w2(); } ",
                "int w4(void) { return w1; }"
            ),
            "is returned by w4",
        ),
        (r#"void x1(int *x) { int d = 0; if (@ > 1) d = 4; x[d] = 1; }"#, "decides where"),
        (r#"void y_1(void) { exit(@); }"#, "gets into an argument of exit"),
        (r#"int z1(int n) { while (n > 0) { n--; if (n == @) break; } return n; }"#, "is returned by z1"),
    ];
    check("promp-cc", "cases.c", head, &cases, &LEVELS);
}

#[test]
fn in_cxx() {
    let head = "#include <iostream>\n#include <sstream>\n#include <string>\n\
                #include <vector>\n#include <omp.h>\n\
                ";
    let cases = [
        (r#"void a1() { std::cout << "n: " << @ << ' ' << 1.5 * @ << std::endl; }"#, SHOWN),
        (r#"void b1(const std::string &s) { if (@ > 1) std::cerr << s << @ << "\n"; }"#, SHOWN),
        (
            r#"namespace { int c1; } void c2() { c1 = @; } void c3() { std::clog << c1 << std::flush; }"#,
            SHOWN,
        ),
        (r#"void d1(std::ostream &s) { s << @; }"#, "gets into an argument of"),
        (r#"std::string e1() { std::ostringstream s; s << @; return s.str(); }"#, "gets into an argument of"),
        (r#"std::vector<double> f1() { return std::vector<double>(@); }"#, "its value "),
        (r#"struct G { int n; G() : n(@) {} }; G g1;"#, "is stored in"),
        (
            concat!(
                "struct H {}; std::ostream &operator<<(std::ostream &s, H) { return s; } ",
                "void h1() { std::cout << H() << @; }"
            ),
            "gets into an argument of",
        ),
        (r#"void i1() { if (@ > 1) throw 1; }"#, "decides whether"),
        (r#"int j1() { return std::cout.width(@); }"#, "is stored in"),
    ];
    check("promp-c++", "cases.cc", head, &cases, &LEVELS);
}

#[test]
fn in_fortran() {
    // GCC gives these calls no line: one file each.
    let cases = [
        ("print *, n(), 2 * n()", SHOWN),
        ("write (*, '(a,i0)') 'threads ', n()", SHOWN),
        ("write (0, *) n()", SHOWN),
        ("k = n(); if (k > 1) print *, 'several', k", SHOWN),
        ("write (text, *) n(); print *, text", "whose address is taken"),
        ("write (11, *) n()", "whose address is taken"),
        ("write (*, *, iostat=k) n(); print *, x(k)", "whose address is taken"),
        ("allocate (a(n()))", "its value "),
        ("x(n()) = 1; print *, x", "decides where"),
        ("if (n() > 1) x(1) = 2; print *, x", "is stored in"),
        ("call outside(n())", "whose address is taken"),
    ];
    let Some(compiler) = driver("promp-fc") else { return };
    let dir = out_folder("shown");
    for (code, word) in cases {
        let text = format!(
            "subroutine case(x)\n  use omp_lib, n => omp_get_max_threads\n  integer :: x(9), k\n  \
             character(20) :: text\n  real, allocatable :: a(:)\n  {code}\nend subroutine\n"
        );
        fs::write(dir.join("case.f90"), text).expect("a file");
        for flags in [&["-O0"][..], &["-O2"], &["-O3", "-flto"]] {
            let mut c = Command::new(&compiler);
            c.args(flags).args(["-fopenmp", "-w", "-fpromp-report", "-c", "case.f90", "-o", "case.o"]);
            let built = limited(tidy(c, &dir), Duration::from_secs(120));
            assert_eq!(built.status, 0, "{code}: {}", built.err);
            let said: Vec<&str> = built.err.lines().filter(|l| l.contains("promp: omp_get_")).collect();
            let right = said.iter().all(|l| l.contains(word));
            assert!(right && !said.is_empty(), "{flags:?}: {code}\nwanted {word}: {said:#?}");
        }
    }
}

/// The calls are others, which note nothing, and there is nothing else: with or without promp.
#[test]
fn calls_that_note_nothing() {
    let Some(compiler) = driver("promp-cc") else { return };
    let dir = out_folder("shown");
    fs::write(
        dir.join("both.c"),
        "#include <omp.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n\
         printf(\"%d\\n\", omp_get_max_threads());\n#pragma omp parallel\n#pragma omp critical\n\
         printf(\"%d %d\\n\", omp_get_num_threads(), omp_get_thread_num() / 8);\n\
         double *p = calloc(omp_get_num_procs(), 8); printf(\"%g\\n\", p[0]);\n}\n",
    )
    .expect("a file");
    for flags in [&["-O0"][..], &["-O3"], &["-O2", "-flto"]] {
        let mut c = Command::new(&compiler);
        c.args(flags).args(["-fopenmp", "-w", "-fno-promp-runtime", "both.c", "-o", "both"]);
        let built = limited(tidy(c, &dir), Duration::from_secs(120));
        assert_eq!(built.status, 0, "{flags:?}: {}", built.err);
        let mut nm = Command::new("nm");
        nm.args(["-u", "both"]);
        let names = limited(tidy(nm, &dir), Duration::from_secs(60)).out;
        let names: Vec<&str> = names.split_whitespace().collect();
        let has = |start: &str| names.iter().any(|n| n.starts_with(start));
        assert!(has("promp_shown_max_threads") && has("promp_shown_thread_num"), "{flags:?}: {names:?}");
        assert!(!has("promp_shown_num_procs") && has("omp_get_num_procs"), "{flags:?}: {names:?}");
        let env = [("OMP_NUM_THREADS", "3")];
        let want = "3\n3 0\n3 0\n3 0\n0\n";
        assert_eq!(reference(&dir.join("both"), &[], &env).out, want, "{flags:?}");
        assert_eq!(promp(&dir.join("both"), &[], &env).out, want, "{flags:?}");
    }
}
