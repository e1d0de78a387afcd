//! A program whose end record takes its time, on a slow disk: no checkpoint waits for the thread that writes
//! it.

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::time::{Duration, Instant};

const PROGRAM: &str = r#"
#include <unistd.h>
int main(void) {
    int n = 0;
    for (int step = 0; step < 300; step++) {
#pragma omp parallel reduction(+ : n)
        n++;
        usleep(1000);
    }
    return n > 0 ? 3 : 4;
}
"#;

/// For longer than threads may take to answer.
const LONG: Duration = Duration::from_millis(3500);

#[test]
fn no_checkpoint_waits_for_a_thread_that_records_the_end() {
    let s = Scratch::new("end-waits");
    let exe = compiled("end_waits", "counts", PROGRAM, &["-O1", "-fopenmp"]);
    let mut c = run(&s.path("ckpt"), &["--every", "10ms"], &exe, &[]);
    let promp = started(c.env("PROMP_VERBOSE", "1"));
    wait("a checkpoint", || has_generation(&s.path("ckpt")));
    let (mut held, began) = (None, Instant::now());
    let followed = traced::kill_at(program_of(&promp, &exe, None), |call| {
        // It begins: the thread stands still, and takes no signals.
        if call.number == libc::SYS_fsync && call.result.is_none() && held.is_none() {
            held = Some(began.elapsed());
            std::thread::sleep(LONG);
        }
        false
    });
    if let Err(why) = followed {
        println!("SKIPPED: the system lets nobody follow a process: {why}");
        let _ = ended(promp, LIMIT);
        return;
    }
    let r = ended(promp, LIMIT);
    assert!(r.status == 3 && held.is_some(), "{held:?} {r:?}");
    assert!(!r.err.contains("no checkpoint now"), "{}", r.err);
    let ended = promp_image::Directory::open(&s.path("ckpt")).ok().and_then(|d| d.ended());
    assert_eq!(ended.map(|e| e.status), Some(3));
}
