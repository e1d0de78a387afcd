//! More threads than the system can have are asked for: it is said how many there can be.

use crate::common::saved::*;
use crate::common::*;
use std::process::Command;

const TEXT: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int n = 0, wanted = argc > 1 ? atoi(argv[1]) : 0;
    if (wanted) omp_set_num_threads(wanted);
    for (int i = 0; i < 2; i++) {
#pragma omp parallel reduction(+ : n)
        n++;
    }
    puts(n >= 2 ? "went on" : "nobody");
    return 0;
}
"#;

/// With little memory, or there would be as many threads as the system has.
#[test]
fn as_many_as_there_can_be() {
    let exe = compiled("many-threads", "many", TEXT, &["-fopenmp"]);
    let (lib, scratch) = (library(), Scratch::new("many-threads"));
    let dir = scratch.path("ckpt");
    for (variable, wanted) in [("10000000", ""), ("100000000", ""), ("2147483647", ""), ("4", "300000000")] {
        for checkpoints in [false, true] {
            let mut c = Command::new("bash");
            clean(&mut c);
            c.args(["-c", "ulimit -v 3000000; LD_PRELOAD=$LIB exec \"$@\"", "bash"]).arg(&exe).arg(wanted);
            c.env("LIB", &lib).env("OMP_NUM_THREADS", variable).env("PROMP_VERBOSE", "1");
            if checkpoints {
                c.env("PROMP_CKPT_DIR", &dir);
            }
            let r = limited(c, LIMIT);
            assert_eq!((r.status, &r.out[..]), (0, "went on\n"), "{variable} {wanted}: {}", r.err);
            assert!(r.err.contains("threads was asked for; the system can have"), "{variable}: {}", r.err);
        }
    }
}
