//! Random programs of tasks: graphs of dependences of every kind, nested tasks, recursion, groups with reductions, task loops, events,
//! worksharing that makes tasks, with failures at random times while checkpoints are taken. All arithmetic is on unsigned integers and what
//! tasks share is ordered, so a run prints what the same program prints that was compiled without OpenMP.

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use std::path::PathBuf;
use std::process::Command;

const PRELUDE: &str = r#"
#include <stdio.h>
#ifdef _OPENMP
#include <omp.h>
#define FULFILL(event) omp_fulfill_event(event)
#else
#define FULFILL(event)
#endif
typedef unsigned long word;
static word v[16], z[64], w[2][300], total, counted, updated;

static word mix(word a, word b, word work) {
    for (word i = 0; i < work; i++) a = ((a ^ (b + i)) * 0x9E3779B97F4A7C15ul) ^ (a >> 29);
    return a;
}

static word tree(int depth, word seed, word work) {
    if (!depth) return mix(seed, 7, work);
    word a, b;
#pragma omp task shared(a) final(depth < 2) untied
    a = tree(depth - 1, seed * 2 + 1, work);
#pragma omp task shared(b) if(depth & 1) mergeable
    b = tree(depth - 1, seed * 2 + 2, work);
#pragma omp taskwait
    return a * 31 + b;
}
"#;

const SCHEDULES: [&str; 5] =
    ["", "schedule(static,3)", "schedule(dynamic)", "schedule(guided,2)", "schedule(nonmonotonic:dynamic,5)"];

/// Writes a program.
struct Writer {
    r: Seeded,
    text: String,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn work(&mut self) -> u64 {
        let most = *self.r.pick(&[1, 30, 300, 1500]);
        1 + self.r.below(most)
    }

    /// Clauses that change how a task is executed, not what it computes.
    fn manner(&mut self) -> &'static str {
        const ALL: &[&str] = &["", "", "", "untied", "priority(3)", "if(round & 1)", "mergeable", "if(0)"];
        self.r.pick::<&str>(ALL)
    }

    /// Something that the thread which makes the tasks of a graph does next.
    fn step(&mut self) {
        let (a, b, k, work, manner) =
            (self.r.below(8), 8 + self.r.below(4), self.r.below(1000), self.work(), self.manner());
        let schedule = *self.r.pick(&SCHEDULES);
        let other = (a + 1 + self.r.below(7)) % 8;
        match self.r.below(18) {
            0..=3 => self.line(&format!(
                "#pragma omp task depend(in: v[{a}]) depend(inout: v[{other}]) {manner}\nv[{other}] = mix(v[{other}], v[{a}] + {k}, {work});"
            )),
            4 => self.line(&format!(
                "#pragma omp task depend(out: v[{a}]) {manner}\nv[{a}] = mix(round, {k}, {work});"
            )),
            5 | 6 => self.line(&format!(
                "#pragma omp task depend(mutexinoutset: v[{b}]) depend(in: v[{a}]) {manner}\nv[{b}] += mix(v[{a}], {k}, {work});"
            )),
            7 => self.line(&format!(
                "#pragma omp task depend(iterator(q = 0:4), in: v[q]) depend(inout: v[{}]) {manner}\nfor (int q = 0; q < 4; q++) v[{0}] = mix(v[{0}] + {k}, v[q], {work});",
                4 + a % 4
            )),
            8 => self.line(&format!("#pragma omp taskwait depend(in: v[{a}])\ntotal = mix(total, v[{a}], 1);")),
            9 => self.line(&format!("#pragma omp taskwait\ntotal = mix(total, v[{a}] + v[{b}], 1);")),
            // Tasks of a task, with dependences among themselves.
            10 => self.line(&format!(
                "#pragma omp task depend(inout: v[{a}]) {manner}\n{{\nword l[3] = {{v[{a}], {k}, round}};\nfor (int q = 0; q < 6; q++) {{\n#pragma omp task shared(l) depend(inout: l[q % 3]) depend(in: l[(q + 1) % 3])\nl[q % 3] = mix(l[q % 3], l[(q + 1) % 3], {work});\n}}\n#pragma omp taskwait\nv[{a}] = l[0] + l[1] * 3 + l[2] * 7;\n}}"
            )),
            11 => self.line(&format!(
                "#pragma omp task depend(inout: v[{a}]) {manner}\nv[{a}] += tree({}, {k}, {});",
                2 + k % 3,
                work / 4 + 1
            )),
            // An event, fulfilled by another task.
            12 => self.line(&format!(
                "{{\n#ifdef _OPENMP\nomp_event_handle_t event;\n#endif\n#pragma omp task depend(inout: v[{a}]) detach(event)\nv[{a}] = mix(v[{a}], {k}, {work});\n#pragma omp task\n{{ word x = mix({k}, round, {work});\n#pragma omp atomic\nupdated += x;\nFULFILL(event); }}\n}}"
            )),
            // A team of its own.
            13 => self.line(&format!(
                "#pragma omp task depend(inout: v[{a}]) {manner}\n{{\nword s = 0;\n#pragma omp parallel for num_threads({}) reduction(+: s) {schedule}\nfor (int q = 0; q < 20; q++) s += mix(q, {k}, {work} / 4);\nv[{a}] += s;\n}}",
                1 + k % 3
            )),
            14 => {
                let size = *self.r.pick(&["", "grainsize(3)", "num_tasks(5)", "grainsize(40) untied", "num_tasks(9) priority(2)"]);
                self.line(&format!(
                    "#pragma omp taskloop {size}\nfor (int i = 0; i < 60; i++) w[1][i] = mix(w[0][i], i + {k}, {work} / 8);\nfor (int i = 0; i < 60; i++) w[0][i] ^= w[1][i];"
                ))
            }
            15 => self.line(&format!(
                "{{ word s = 0;\n#pragma omp taskloop collapse(2) reduction(+: s) {manner}\nfor (int i = 0; i < 7; i++) for (int j = 0; j < 9; j++) s += mix(i * 100 + j, {k}, {work} / 8);\ntotal += s; }}"
            )),
            16 => self.line(&format!(
                "{{ word s = 0, p = 1;\n#pragma omp taskgroup task_reduction(+: s) task_reduction(*: p)\nfor (int q = 0; q < 9; q++) {{\n#pragma omp task in_reduction(+: s) {manner}\ns += mix(q, {k}, {work});\n#pragma omp task in_reduction(*: p)\np *= mix(q, {k}, 3) | 1;\n}}\ntotal = mix(total, s ^ p, 1); }}"
            )),
            _ => self.line(&format!(
                "#pragma omp task {manner}\n{{ word x = mix({k}, round, {work});\n#pragma omp critical\ncounted += x;\n#pragma omp taskyield\n}}"
            )),
        }
    }

    /// A region.
    fn region(&mut self) {
        let (k, work, schedule) = (self.r.below(1000), self.work(), *self.r.pick(&SCHEDULES));
        let monotonic = SCHEDULES[k as usize % 4];
        let threads = ["", "", "num_threads(2)", "num_threads(5)"][k as usize % 4];
        match self.r.below(12) {
            0..=5 => {
                let by = *self.r.pick(&["single", "single nowait", "master", "masked"]);
                self.line(&format!("#pragma omp parallel {threads}\n#pragma omp {by}\n{{"));
                for _ in 0..6 + self.r.below(20) {
                    self.step();
                }
                self.line("}");
            }
            // Tasks made by all threads.
            6 => self.line(&format!(
                "#pragma omp parallel for {threads} {schedule}\nfor (int i = 0; i < 100; i++) {{\n#pragma omp task\nw[1][i] = mix(w[0][i], i + {k}, {work});\nw[1][i + 100] = mix(w[0][i + 100], {k}, {work});\n}}\nfor (int i = 0; i < 300; i++) w[0][i] += w[1][i];"
            )),
            7 => self.line(&format!(
                "{{ word s = 0;\n#pragma omp parallel {threads} reduction(task, +: s)\n#pragma omp single\nfor (int q = 0; q < 12; q++) {{\n#pragma omp task in_reduction(+: s)\ns += mix(q, {k}, {work});\n}}\ntotal += s; }}"
            )),
            8 => self.line(&format!(
                "#pragma omp parallel master taskloop {threads} grainsize(7)\nfor (int i = 0; i < 200; i++) w[1][i] = mix(w[0][i], i ^ {k}, {work} / 4);\nfor (int i = 0; i < 300; i++) w[0][i] += w[1][i];"
            )),
            9 => self.line(&format!(
                "#pragma omp parallel for {threads} ordered {monotonic}\nfor (int i = 0; i < 60; i++) {{\nword x = mix(i, {k}, {work});\n#pragma omp ordered\ntotal = total * 31 + x;\n}}"
            )),
            10 => self.line(&format!(
                "{{ word s = {k};\n#pragma omp parallel for {threads} reduction(inscan, +: s)\nfor (int i = 0; i < 80; i++) {{\ns += mix(i, {k}, {work} / 4);\n#pragma omp scan inclusive(s)\nw[1][i] = s;\n}}\nfor (int i = 0; i < 300; i++) w[0][i] ^= w[1][i] + s; }}"
            )),
            _ => self.line(&format!(
                "#pragma omp parallel {threads}\n{{\nword shared_by_one;\n#pragma omp single copyprivate(shared_by_one)\nshared_by_one = mix(total, {k}, {work});\n#pragma omp sections\n{{\n#pragma omp section\nz[1] += shared_by_one;\n#pragma omp section\n{{\n#pragma omp task\nz[2] = mix(shared_by_one, {k}, {work});\n#pragma omp taskwait\nz[3] += z[2];\n}}\n}}\n}}"
            )),
        }
    }
}

fn program(seed: u64) -> String {
    let mut w = Writer { r: Seeded(seed * 104_729 + 3), text: String::from(PRELUDE) };
    w.line("int main(void) {\nfor (word round = 0; round < 250; round++) {");
    for _ in 0..2 + w.r.below(4) {
        w.region();
    }
    w.line("}\nword h = total ^ counted ^ updated;\nfor (int i = 0; i < 16; i++) h = mix(h, v[i], 1);\nfor (int i = 0; i < 64; i++) h = mix(h, z[i], 1);");
    w.line("for (int i = 0; i < 300; i++) h = mix(h, w[0][i] + w[1][i], 1);\nprintf(\"%lx %lx\\n\", h, total);\nreturn 0;\n}");
    w.text
}

fn compile(seed: u64, openmp: bool) -> PathBuf {
    let (name, flags) = if openmp { ("tasks", &["-fopenmp"][..]) } else { ("tasks-serial", &[][..]) };
    compiled("random", &format!("{name}{seed}"), &program(seed), flags)
}

/// Failures of every kind are rolled back to the right result. Without checkpoints it is right or there is a refusal.
#[test]
fn random_tasks_and_failures() {
    let s = Scratch::new("random-tasks");
    let (mut same, mut refused, mut back) = (0, 0, 0);
    let mut draws = Draws::of(12);
    while let Some(seed) = draws.next(back > 10) {
        let want = limited(Command::new(compile(seed, false)), LIMIT);
        assert_eq!(want.status, 0, "program {seed}: {want:?}");
        let exe = compile(seed, true);
        let mut r = Seeded(seed);
        for k in 0..6u64 {
            let kind = *r.pick(&["kill", "crash", "memerr"]);
            let fault = format!("{kind}@mtbf={}ms,seed={},count=5", 2 + r.below(60), 1 + r.below(1000));
            let threads = (1 + r.below(6)).to_string();
            let mut env = vec![("OMP_NUM_THREADS", threads.as_str()), ("OMP_MAX_ACTIVE_LEVELS", "2")];
            let got = match k {
                0 => promp(&exe, &[], &[&env[..], &[("PROMP_FT", "off")]].concat()),
                1 => promp(&exe, &[], &env),
                2 => promp(&exe, &[], &[&env[..], &[("PROMP_FAULT", &fault)]].concat()),
                _ => {
                    env.extend([("PROMP_FAULT", fault.as_str()), ("PROMP_CKPT_INTERVAL", "10ms")]);
                    checkpointed(&exe, &[], &s.path("ckpt"), &env)
                }
            };
            let what = format!("program {seed} {env:?} {fault}: {}", got.err);
            assert!(!got.hung, "hung: {what}");
            if k == 2 && got.status == 70 && got.err.contains("; stopping") {
                refused += 1;
                continue;
            }
            assert_eq!((got.status, &got.out), (0, &want.out), "wrong: {what}");
            same += 1;
            back += got.err.matches("rolled back to checkpoint").count();
        }
    }
    eprintln!("same {same}, refused {refused}, rollbacks {back}");
    assert!(back > 10, "only {back} rollbacks");
}
