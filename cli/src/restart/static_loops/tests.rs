//! Static loops of GCC's against what looks like them.

use super::*;
use std::path::Path;
use std::process::Command;

/// The routines whose calls are taken for the user's, in a program with this in a region before and
/// behind a static loop.
fn found(before: &str, loops: &str, level: &str) -> Vec<&'static str> {
    let dir = std::env::temp_dir().join(format!("promp-static-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (c, exe) = (dir.join("a.c"), dir.join("a"));
    let text = format!(
        "#include <omp.h>\nstatic double a[4000], b[4000]; int chunk, who[64]; long n = 1000;\n\
         __attribute__((noinline)) double f(double x, int y) {{ return x * y; }}\n\
         static __attribute__((noinline)) void of_all(int n) {{\n#pragma omp for\n\
         for (int i = 0; i < n; i++) a[i] += i;\n}}\n\
         static __attribute__((noinline)) void of_each(int n) {{ chunk = n;\n#pragma omp barrier\n}}\n\
         static __attribute__((noinline)) void by_hand(int n) {{ of_each(n / omp_get_num_threads()); }}\n\
         void break_here(void) {{ chunk++; }}\n\
         int main(int argc, char **argv) {{\n#pragma omp parallel\n {{\n{before}\n{loops}\n}}\n\
         return a[argc] + chunk + who[argc] + b[7]; }}\n"
    );
    std::fs::write(&c, text).unwrap();
    let done = Command::new("gcc")
        .args([level, "-w", "-fopenmp", "-foffload=disable", "-o"])
        .args([&exe, &c])
        .status();
    assert!(done.unwrap().success());
    let data = std::fs::read(&exe).unwrap();
    uses(&data).into_iter().map(|u| u.0).collect()
}

#[test]
fn static_loops_are_told_from_the_users_calls() {
    if Command::new("gcc").arg("--version").output().is_err() || !Path::new("/usr/include").exists() {
        return;
    }
    let one = "#pragma omp for\n for (int i = 0; i < 1000 * argc; i++) a[i] = i;\n";
    let more = "#pragma omp for\n for (long i = 0; i < n; i++) a[i] = f(a[i], i);\n\
                #pragma omp for nowait\n for (unsigned i = 3; i < n; i++) b[i] += a[i];\n";
    for level in ["-O1", "-O2", "-O3"] {
        // Vectorised loops count by q otherwise: they are not told from the user's.
        if level != "-O3" {
            let none: [&str; 0] = [];
            assert_eq!(found("", one, level), none, "{level}");
            assert_eq!(found("", &format!("{one}{more}{one}"), level), none, "{level}");
            for counted in [
                "#pragma omp for collapse(2)\n for (int i = 0; i < argc * 9; i++)\n\
                 for (int j = 0; j < argc * 7; j++) a[i * 50 + j] = b[j * 90 + i];\n",
                "#pragma omp for\n for (long i = 0; i < n; i++) a[i * argc] = b[i * (argc + n)];\n",
            ] {
                assert_eq!(found("", counted, level), none, "{level}: {counted}");
                assert_eq!(found(one, &format!("{counted}{more}{counted}"), level), none, "{level}");
            }
            // In a function, which ends with a call of the barrier.
            assert_eq!(found("of_all(n);", one, level), none, "{level}");
        }
        // Where q is the user's, and GCC's for the same loop.
        for body in [
            "if (n / omp_get_num_threads() < 100) chunk = 3;",
            "for (long k = 0; k < n / omp_get_num_threads(); k++) who[k & 63] = i;",
            "if (i < n / omp_get_num_threads()) chunk = i;",
            "if (i == n / omp_get_num_threads()) break_here();",
            "who[i & 63] = i + n / omp_get_num_threads();",
            "who[i & 63] = i * argc + n / omp_get_num_threads();",
            "if (i * argc < n / omp_get_num_threads()) chunk = i;",
        ] {
            let loops = "#pragma omp for\n for (long i = 0; i < n; i++)";
            let all = format!("{loops} {{ a[i * argc] = b[i * (argc + n)]; {body} }}\n");
            assert!(!found("", &all, level).is_empty(), "{level}: {body}");
            // Among others, and executed by one thread.
            if level == "-O2" {
                assert!(!found(one, &format!("{all}{more}"), level).is_empty(), "{body}");
                let single = "#pragma omp single\n for (long i = 0; i < n; i++)";
                let all = format!("{more}\n{single} {{ {body} }}\n{more}");
                assert!(!found("", &all, level).is_empty(), "{body}");
            }
        }
        for users in [
            "#pragma omp single\n for (long k = 0; k < n / omp_get_num_threads(); k++) who[k & 63] = 1;",
            "#pragma omp single\n chunk = n / omp_get_num_threads();",
            "#pragma omp single\n chunk = n % omp_get_num_threads();",
            "who[omp_get_thread_num()] = argc;",
            "if (omp_get_thread_num() == 0) chunk = 2;",
            "#pragma omp single\n chunk = f(2, omp_get_thread_num());",
            "#pragma omp single\n chunk = f(omp_get_num_threads(), 1);",
            "by_hand(n);",
            "int (*p)(void) = omp_get_thread_num; chunk = (long)p;",
            "if (omp_get_thread_num() < n % omp_get_num_threads()) chunk = 3;",
        ] {
            assert!(!found(users, one, level).is_empty(), "{level}: {users}");
            assert!(!found(users, more, level).is_empty(), "{level}: {users}");
            assert!(!found(one, users, level).is_empty(), "{level}: {users}");
        }
    }
}
