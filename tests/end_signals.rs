//! Programs that end by a crash signal behind the end record, or with another status: abort(3) by whomever,
//! what a program sends itself, and what others send it, which is no end of its own.

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::path::PathBuf;
use std::sync::OnceLock;

const PROGRAM: &str = r#"
#include <stdlib.h>
extern void installs(void);
int main(void) {
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n++;
    installs();
    return n > 0 ? 3 : 4;
}
"#;

/// Its function is the last that `exit` calls: behind the end record. ENDS_BY says what it does.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static const char *how(void) { return getenv("ENDS_BY") ? getenv("ENDS_BY") : ""; }
static int is(const char *word) { return !strcmp(how(), word); }
static void reports(int s) { write(2, "reported\n", 9); }
static void reports_and_ends(int s) {
    write(2, "reported\n", 9);
    signal(s, SIG_DFL);
    raise(s);
}
static void leaves(int s) { _exit(9); }
void installs(void) {
    if (is("abort-handler"))
        signal(SIGABRT, reports);
    if (is("assert-handler"))
        signal(SIGABRT, reports_and_ends);
    if (is("fault-handler"))
        signal(SIGSEGV, reports_and_ends);
    if (is("leaving-handler"))
        signal(SIGABRT, leaves);
    if (is("ignored-abort"))
        signal(SIGABRT, SIG_IGN);
    if (is("ignored"))
        signal(SIGTRAP, SIG_IGN);
}
static void *thread(void *unused) { abort(); }
static void last(int status, void *unused) {
    union sigval value = {0};
    pthread_t t;
    pid_t me = getpid(), child;
    if (is("abort") || is("abort-handler") || is("ignored-abort") || is("leaving-handler"))
        abort();
    if (is("assert") || is("assert-handler"))
        assert(!"here");
    if (is("free")) {
        void *volatile p = malloc(5000);
        free((char *)p + 8);
    }
    if (is("fortify")) {
        extern void __chk_fail(void) __attribute__((noreturn));
        __chk_fail();
    }
    if (is("thread"))
        pthread_create(&t, NULL, thread, NULL), pthread_join(t, NULL);
    if (is("raise-ABRT")) raise(SIGABRT);
    if (is("raise-SEGV")) raise(SIGSEGV);
    if (is("raise-QUIT")) raise(SIGQUIT);
    if (is("raise-SYS")) raise(SIGSYS);
    if (is("kill-SEGV")) kill(me, SIGSEGV);
    if (is("kill-XCPU")) kill(me, SIGXCPU);
    if (is("kill-ILL")) syscall(SYS_kill, me, SIGILL);
    if (is("tgkill-BUS")) syscall(SYS_tgkill, me, syscall(SYS_gettid), SIGBUS);
    if (is("pthread_kill-TRAP")) pthread_kill(pthread_self(), SIGTRAP);
    if (is("sigqueue-FPE")) sigqueue(me, SIGFPE, value);
    if (is("sigqueue-ABRT")) sigqueue(me, SIGABRT, value);
    if (is("number-ABRT")) {
        long r;
        __asm__ volatile("syscall" : "=a"(r) : "0"(62L), "D"((long)me), "S"(6L) : "rcx", "r11", "memory");
    }
    if (is("int3"))
        __asm__ volatile("int3");
    if (is("fault-handler"))
        *(volatile int *)8 = 0;
    if (is("ignored"))
        raise(SIGTRAP);
    if (is("child")) {
        if ((child = fork()) == 0)
            abort();
        waitpid(child, NULL, 0);
    }
    if (is("other-ABRT") || is("other-SEGV")) {
        if ((child = fork()) == 0) {
            kill(me, is("other-ABRT") ? SIGABRT : SIGSEGV);
            _exit(0);
        }
        sleep(60);
    }
    if (is("_exit")) _exit(9);
    if (is("quick_exit")) quick_exit(9);
    if (is("exit")) exit(9);
    if (is("exit_group")) syscall(SYS_exit_group, 9);
}
__attribute__((constructor)) static void begins(void) { on_exit(last, 0); }
"#;

fn program() -> PathBuf {
    static DONE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let library = compiled("end_signals", "liblast.so", LIBRARY, &["-O1", "-shared", "-fPIC", "-w"]);
        let folder = library.parent().expect("a folder").to_owned();
        let with = ["-O1", "-fopenmp", "-Wl,--no-as-needed", text(&library), "-Wl,-rpath", text(&folder)];
        compiled("end_signals", "ends", PROGRAM, &with)
    };
    DONE.get_or_init(make).clone()
}

fn job(s: &Scratch, how: &str) -> Run {
    let mut c = run(&s.path("ckpt"), &["--resume", "--every", "1h"], &program(), &[]);
    c.env("ENDS_BY", how);
    limited(c, LIMIT)
}

fn recorded(s: &Scratch) -> Option<i32> {
    let d = promp_image::Directory::open(&s.path("ckpt")).expect("the directory");
    assert_eq!(d.finished(), d.ended().is_some(), "the record and the mark");
    d.ended().map(|e| e.status)
}

/// The process has not ended as was recorded: it goes on from its last checkpoint.
#[test]
fn its_own_crash_signals_take_the_record_back() {
    let by = [
        ("abort", libc::SIGABRT),
        ("assert", libc::SIGABRT),
        ("free", libc::SIGABRT),
        ("fortify", libc::SIGABRT),
        ("thread", libc::SIGABRT),
        ("raise-ABRT", libc::SIGABRT),
        ("raise-SEGV", libc::SIGSEGV),
        ("raise-QUIT", libc::SIGQUIT),
        ("raise-SYS", libc::SIGSYS),
        ("kill-SEGV", libc::SIGSEGV),
        ("kill-XCPU", libc::SIGXCPU),
        ("kill-ILL", libc::SIGILL),
        ("tgkill-BUS", libc::SIGBUS),
        ("pthread_kill-TRAP", libc::SIGTRAP),
        ("sigqueue-FPE", libc::SIGFPE),
        ("sigqueue-ABRT", libc::SIGABRT),
        ("number-ABRT", libc::SIGABRT),
        ("int3", libc::SIGTRAP),
        ("ignored-abort", libc::SIGABRT),
    ];
    for (how, signal) in by {
        let s = Scratch::new(&format!("end-signal-{how}"));
        let r = job(&s, how);
        assert_eq!((r.status, recorded(&s)), (128 + signal, None), "{how}: {}", r.err);
        if how == "assert" {
            let again = job(&s, how);
            assert_eq!((again.status, recorded(&s)), (128 + signal, None), "{how}: {}", again.err);
            assert!(again.err.contains("restarted from checkpoint"), "{how}: {}", again.err);
        }
    }
}

/// Handlers of the program's are called once, as ever.
#[test]
fn handlers_of_the_programs_report_and_end_it() {
    let by = [
        ("abort-handler", libc::SIGABRT),
        ("assert-handler", libc::SIGABRT),
        ("fault-handler", libc::SIGSEGV),
    ];
    for (how, signal) in by {
        let s = Scratch::new(&format!("end-handler-{how}"));
        let r = job(&s, how);
        assert_eq!((r.status, recorded(&s)), (128 + signal, None), "{how}: {}", r.err);
        assert_eq!(r.err.matches("reported").count(), 1, "{how}: {}", r.err);
    }
    let s = Scratch::new("end-handler-leaves");
    let r = job(&s, "leaving-handler");
    assert_eq!((r.status, recorded(&s)), (9, Some(9)), "{}", r.err);
}

/// Another status counts, however it comes.
#[test]
fn another_status_is_recorded() {
    for how in ["_exit", "quick_exit", "exit", "exit_group"] {
        let s = Scratch::new(&format!("end-status-{how}"));
        let r = job(&s, how);
        assert_eq!((r.status, recorded(&s)), (9, Some(9)), "{how}: {}", r.err);
        let again = job(&s, how);
        assert!(again.status == 9 && again.err.contains("has ended by itself"), "{how}: {}", again.err);
    }
}

/// What does not end it, and what others have sent: it has ended before.
#[test]
fn what_others_send_takes_nothing_back() {
    let by = [
        ("", 3),
        ("ignored", 3),
        ("child", 3),
        ("other-ABRT", 128 + libc::SIGABRT),
        ("other-SEGV", 128 + libc::SIGSEGV),
    ];
    for (how, status) in by {
        let s = Scratch::new(&format!("end-others-{how}"));
        let r = job(&s, how);
        assert_eq!((r.status, recorded(&s)), (status, Some(3)), "{how}: {}", r.err);
        let again = job(&s, how);
        assert!(again.status == 3 && again.err.contains("has ended by itself"), "{how}: {}", again.err);
    }
}
