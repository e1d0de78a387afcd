//! A failure behind the end record: in what a library does last of all, or in another thread meanwhile. The
//! end that was recorded has not happened then, and nobody says that it has.

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::PathBuf;

/// Computes, with a line a step; a thread of its own fails when the library has begun with what it does last.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern int is(const char *word), first(const char *what);
extern void fails(void);
extern volatile int at_last;
static void *thread(void *unused) {
    int n = 0;
    /* With that the runtime knows it. */
    if (!is("stranger"))
#pragma omp parallel reduction(+ : n)
        n++;
    while (!at_last)
        usleep(1000);
    if (is("always") || first("failed"))
        fails();
    return NULL;
}
int main(int argc, char **argv) {
    int n = 0;
    pthread_t t;
    if (is("thread"))
        pthread_create(&t, NULL, thread, NULL);
    for (int step = 0; step < 60; step++) {
#pragma omp parallel reduction(+ : n)
        n++;
        usleep(5000);
        printf("%d\n", step);
        fflush(stdout);
        /* Went back: killed before its end. */
        if (is("dies") && access(getenv("FAILS_ONCE"), F_OK) == 0 && first("died"))
            kill(getpid(), SIGKILL);
    }
    return 3;
}
"#;

/// Its function is the last that `exit` calls: behind the end record.
const LIBRARY: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile int at_last;
int is(const char *word) {
    char *how = getenv("FAILS_HOW");
    return how && strstr(how, word) != NULL;
}
/* Is it the first time in all processes? A folder is made, without libc: what goes back leaves it. */
int first(const char *what) {
    char *once = getenv("FAILS_ONCE"), name[4096];
    snprintf(name, sizeof name, "%s%s", once, strcmp(what, "failed") ? what : "");
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "0"(83L), "D"(name), "S"(0700L) : "rcx", "r11", "memory");
    return once && r == 0;
}
void fails(void) {
    if (is("abort"))
        abort();
    *(volatile int *)8 = 0;
}
static void last(int status, void *unused) {
    at_last = 1;
    /* Checkpoints are taken behind the record. */
    if (is("behind"))
        usleep(400000);
    if (is("thread"))
        usleep(200000);
    else if (is("always") || (is("until") ? access(getenv("FAILS_ONCE"), F_OK) != 0 : first("failed")))
        fails();
}
__attribute__((constructor)) static void begins(void) { on_exit(last, 0); }
"#;

fn program() -> PathBuf {
    let library = compiled("ended_failed", "liblast.so", LIBRARY, &["-O1", "-shared", "-fPIC"]);
    let folder = library.parent().expect("a folder").to_owned();
    let with =
        ["-O1", "-fopenmp", "-pthread", "-Wl,--no-as-needed", text(&library), "-Wl,-rpath", text(&folder)];
    compiled("ended_failed", "steps", PROGRAM, &with)
}

fn whole() -> String {
    (0..60).map(|n| format!("{n}\n")).collect()
}

/// Runs it, with `--resume`: `how` it fails.
fn job(s: &Scratch, how: &str) -> Run {
    let mut c = run(&s.path("ckpt"), &["--resume", "--every", "20ms"], &program(), &[]);
    c.env("FAILS_ONCE", s.path("once")).env("FAILS_HOW", how);
    limited(c, LIMIT)
}

fn finished(s: &Scratch) -> bool {
    promp_image::Directory::open(&s.path("ckpt")).is_ok_and(|d| d.finished())
}

/// It goes back, and ends again: that end is recorded. So it is where it went back to behind the record.
#[test]
fn an_end_that_failed_is_followed_by_another() {
    for how in ["once", "thread once", "behind once", "behind thread once"] {
        let s = Scratch::new(&format!("failed-{}", how.replace(' ', "-")));
        // A checkpoint may find the thread between deciding to fail and failing: then it always does.
        let mut runs = (0..20).map(|_| anew(&s, how));
        let r = runs.find(|r| !r.err.contains("this is the program's own error")).expect("a run that ends");
        assert_eq!((r.status, &r.out), (3, &whole()), "{how}: {}", r.err);
        assert!(r.err.contains("rolled back"), "{how}: {}", r.err);
        let ended = promp_image::Directory::open(&s.path("ckpt")).ok().and_then(|d| d.ended());
        assert_eq!(ended.map(|e| e.status), Some(3), "{how}: {}", r.err);
        let again = job(&s, how);
        assert_eq!((again.status, again.out.as_str()), (3, ""), "{how}: {}", again.err);
        assert!(again.err.contains("has ended by itself"), "{how}: {}", again.err);
    }
}

/// A restart from behind the record: it is written again, for nobody else would.
#[test]
fn a_restart_from_behind_the_record() {
    for how in ["behind until", "behind abort until"] {
        let s = Scratch::new(&format!("failed-{}", how.replace(' ', "-")));
        let r = job(&s, how);
        assert!(r.status > 128 && !finished(&s), "{how}: {r:?}");
        fs::create_dir(s.path("once")).expect("it fails no more");
        let again = job(&s, how);
        assert_eq!((again.status, again.out.as_str()), (3, ""), "{how}: {}", again.err);
        assert!(again.err.contains("restarted from checkpoint"), "{how}: {}", again.err);
        let last = job(&s, how);
        assert_eq!((last.status, last.out.as_str()), (3, ""), "{how}: {}", last.err);
        assert!(last.err.contains("has ended by itself"), "{how}: {}", last.err);
    }
}

/// Killed on its way to the next one, it has not ended: it goes on.
#[test]
fn killed_before_it_ends_again() {
    for how in ["dies", "thread dies"] {
        let s = Scratch::new(&format!("failed-{}", how.replace(' ', "-")));
        // It may go back to a checkpoint behind the place where it is killed, or at which it fails again.
        let mut runs = (0..20).map(|_| anew(&s, how));
        let r = runs.find(|r| r.status == 128 + libc::SIGKILL).expect("no checkpoint before the end");
        assert!(r.err.contains("rolled back") && !finished(&s), "{how}: {}", r.err);
        let again = job(&s, how);
        assert_eq!(again.status, 3, "{how}: {}", again.err);
        assert!(whole().ends_with(&again.out), "{how}: {again:?}");
        assert!(!again.err.contains("has ended by itself"), "{how}: {}", again.err);
        assert!(job(&s, how).err.contains("has ended by itself"), "{how}");
    }
}

/// The first run of its kind.
fn anew(s: &Scratch, how: &str) -> Run {
    for left in ["once", "oncedied"] {
        let _ = fs::remove_dir(s.path(left));
    }
    let _ = fs::remove_dir_all(s.path("ckpt"));
    job(s, how)
}

/// It always fails: the process ends by that, and not as was recorded.
#[test]
fn an_end_that_always_fails() {
    for (how, signal) in [
        ("always", libc::SIGSEGV),
        ("stranger thread always", libc::SIGSEGV),
        ("abort always", libc::SIGABRT),
    ] {
        let s = Scratch::new(&format!("failed-{}", how.replace(' ', "-")));
        for _ in 0..2 {
            let r = job(&s, how);
            assert_eq!(r.status, 128 + signal, "{how}: {r:?}");
            assert!(!r.err.contains("has ended by itself") && !finished(&s), "{how}: {}", r.err);
        }
        let _ = fs::remove_dir_all(s.path("ckpt"));
    }
}
