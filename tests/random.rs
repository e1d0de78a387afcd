//! Random programs and random failures: seeded C programs of worksharing loops whose iterations write only what they do not read,
//! with random schedules, nesting of constructs and reductions, killed at random times. A run prints what the program computes
//! serially (compiled without OpenMP), or refuses.

use crate::common::draws::Draws;
use crate::common::*;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// A random replayable program. All arithmetic is on integers, so that order does not matter.
fn program(seed: u64) -> String {
    let mut r = Seeded(seed * 7919 + 1);
    let n = 200 + r.below(800);
    let mut body = String::new();
    for k in 0..2 + r.below(4) {
        let schedule = *r.pick(&[
            "",
            "schedule(static,3)",
            "schedule(dynamic)",
            "schedule(dynamic,7)",
            "schedule(guided)",
            "schedule(guided,5)",
            "schedule(monotonic:dynamic,4)",
            "schedule(nonmonotonic:dynamic,11)",
            "schedule(runtime)",
        ]);
        let (a, b) = (r.below(4), 4 + r.below(4));
        let (c, d, work) = (1 + r.below(97), r.below(1000), 10 + r.below(400));
        let switch = format!(
            "switch (x % 9) {{ case 0: x = x * 3 + {d}; break; case 1: x ^= i; break; case 2: x += v[{a}][(i + 1) % {n}]; break; case 3: x -= i * {c}; break; case 5: x = -x; break; case 6: for (int w = 0; w < {c}; w++) x = x * 5 % 10007; break; case 7: x = v[{a}][x % 100] - x; break; default: x++; }}"
        );
        let switch = if r.below(2) == 0 { &switch } else { "" };
        let statement = format!(
            "{{ long x = v[{a}][i]; for (int w = 0; w < {work}; w++) x = (x * 31 + {c} + w) % 1000003; {switch} v[{b}][i] = x + {d}; }}"
        );
        let loop_ = format!("for (long i = 0; i < {n}; i++)");
        let _ = match r.below(6) {
            0 => write!(body, "#pragma omp parallel for {schedule}\n{loop_} {statement}\n"),
            1 => write!(
                body,
                "long s{k} = 0;\n#pragma omp parallel for {schedule} reduction(+:s{k})\n{loop_} {{ {statement} s{k} += v[{b}][i]; }}\ntotal = total * 3 + s{k};\n"
            ),
            2 => write!(
                body,
                "#pragma omp parallel\n{{\n#pragma omp for {schedule} nowait\n{loop_} {statement}\n#pragma omp for {schedule}\n{loop_} {{ u[i] = v[{a}][i] * 2 + {d}; }}\n}}\n"
            ),
            3 => write!(
                body,
                "long m{k} = -1, last{k} = 0;\n#pragma omp parallel for {schedule} reduction(max:m{k}) lastprivate(last{k})\n{loop_} {{ {statement} last{k} = i * {c}; m{k} = v[{b}][i] > m{k} ? v[{b}][i] : m{k}; }}\ntotal += m{k} + last{k};\n"
            ),
            4 => write!(
                body,
                "#pragma omp parallel\n{{\n#pragma omp single\nu[{c}] = {d};\n#pragma omp for {schedule}\n{loop_} {statement}\n#pragma omp sections\n{{\n#pragma omp section\nu[0] = v[{b}][0];\n#pragma omp section\nu[1] = v[{b}][1];\n}}\n#pragma omp critical\ncount++;\n}}\n"
            ),
            _ => write!(
                body,
                "#pragma omp parallel for collapse(2) {schedule}\nfor (long j = 0; j < {n} / 10; j++) for (long k = 0; k < 10; k++) {{ long i = j * 10 + k; {statement} }}\n"
            ),
        };
        // What was written becomes what is read.
        let _ = writeln!(body, "for (long i = 0; i < {n}; i++) v[{a}][i] = v[{b}][i] + u[i % 200];");
    }
    format!(
        "#include <stdio.h>\nstatic long v[8][1000], u[1000], total, count;\nint main(void) {{\nfor (int k = 0; k < 8; k++) for (long i = 0; i < 1000; i++) v[k][i] = (k * 131 + i * 17) % 1009;\nfor (int round = 0; round < 12; round++) {{\n{body}}}\nlong h = total;\nfor (int k = 0; k < 8; k++) for (long i = 0; i < {n}; i++) h = (h * 131 + v[k][i] + u[i]) % 1000000007;\nprintf(\"%ld\\n\", h);\nreturn 0;\n}}\n"
    )
}

fn compile(seed: u64, openmp: bool) -> PathBuf {
    let (name, flags) = if openmp { ("p", &["-fopenmp"][..]) } else { ("serial", &[][..]) };
    compiled("random", &format!("{name}{seed}"), &program(seed), flags)
}

#[test]
fn random_programs_and_failures() {
    let (mut same, mut refused, mut failures) = (0, 0, 0);
    let mut draws = Draws::of(12);
    while let Some(seed) = draws.next(failures > 20 && same > refused) {
        let want = limited(Command::new(compile(seed, false)), LIMIT);
        let exe = compile(seed, true);
        let mut r = Seeded(seed);
        for k in 0..5u64 {
            let kind = *r.pick(&["kill", "kill", "crash"]);
            let spec = match k {
                0 => String::new(),
                1 => {
                    format!("{kind}@thread={},region={},nth={}", r.below(4), 1 + r.below(30), 1 + r.below(9))
                }
                _ => format!("{kind}@mtbf={}us,seed={},count=40", 200 + r.below(3000), r.below(1000)),
            };
            let threads = (1 + r.below(6)).to_string();
            let schedule = *r.pick(&["static", "dynamic,2", "guided"]);
            let mut env = vec![
                ("OMP_NUM_THREADS", threads.as_str()),
                ("OMP_SCHEDULE", schedule),
                ("PROMP_REPLAY", "assume"),
            ];
            if !spec.is_empty() {
                env.push(("PROMP_FAULT", &spec));
            }
            if k == 4 {
                env.push(("PROMP_REPRODUCIBLE", "1"));
            }
            let got = promp(&exe, &[], &env);
            let what = format!("program {seed} {env:?}: stderr {}", got.err);
            assert!(!got.hung, "hung: {what}");
            failures += got.err.matches(" failed (").count();
            if got.status == 70 && got.err.contains("; stopping") {
                refused += 1;
                continue;
            }
            assert_eq!((got.status, &got.out), (0, &want.out), "wrong: {what}");
            same += 1;
        }
    }
    eprintln!("same {same}, refused {refused}, failures survived or refused {failures}");
    assert!(failures > 20 && same > refused);
}
