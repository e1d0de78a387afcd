//! A process that becomes another program while a checkpoint begins: to that one the freeze signal is none of
//! its own, and would be its end.

use crate::common::jobs::run;
use crate::common::saved::*;
use crate::common::*;

#[test]
fn none_is_ended_by_a_signal_of_ours() {
    let s = Scratch::new("executes");
    let exe = build("ckpt/executes.c", &[]);
    let times = (20 * scale()).to_string();
    for every in ["1ms", "2ms", "5ms"] {
        let dir = s.path(every);
        let end = limited(run(&dir, &["--every", every], &exe, &[&times]), LIMIT * 10);
        assert_eq!((end.status, &*end.out), (0, "done 14286\n"), "{every}: {}", end.err);
    }
    // A child made by vfork has the memory of the process: what it executes is no affair of its checkpoints.
    let dir = s.path("vfork");
    let exe = compiled("executes", "vforks", VFORKS, &["-fopenmp"]);
    let end = limited(run(&dir, &["--every", "5ms"], &exe, &[]), LIMIT);
    assert_eq!((end.status, &*end.out), (0, "done\n"), "{}", end.err);
    let newest = promp_image::generation_files(&dir)[0];
    assert!(newest > 5, "no checkpoints any more, the last is {newest}");
}

const VFORKS: &str = r#"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 20; i++) {
        pid_t child = vfork();
        if (!child) {
            execl("/bin/true", "true", (char *)0);
            _exit(1);
        }
        int status;
        waitpid(child, &status, 0);
    }
    volatile unsigned long s = 0;
    for (int k = 0; k < 300; k++)
#pragma omp parallel for
        for (int i = 0; i < 1000; i++)
            if (i % 10 == 0)
                usleep(10);
    puts("done");
    return s;
}"#;
