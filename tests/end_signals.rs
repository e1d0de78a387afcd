//! Programs that end behind the end record by a signal, or with another status: abort(3) by whomever, what a
//! program sends itself, what the kernel ends, other threads, other programs; and what others send it, which
//! is no end of its own.

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::os::unix::fs::DirBuilderExt;
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
#include <err.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
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
    if (is("handled-TERM"))
        signal(SIGTERM, reports_and_ends);
    if (is("handled-ALRM"))
        signal(SIGALRM, reports);
}
static void *thread(void *unused) { abort(); }
static void *exits(void *unused) { exit(9); }
static void *errs(void *unused) { err(9, "here"); }
static void begins_a(void *(*f)(void *)) {
    pthread_t t;
    pthread_create(&t, NULL, f, NULL);
    pthread_join(t, NULL);
}
static int deep(int n) {
    volatile char room[4096];
    room[n % 4096] = n;
    return n < 0 ? 0 : deep(n + 1) + room[n % 4096];
}
static void *overflows(void *unused) {
    /* No stack for a handler. */
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    deep(0);
    return NULL;
}
static void busy(int which) {
    struct itimerval soon = {.it_value.tv_usec = 20000};
    setitimer(which, &soon, NULL);
    for (;;)
        getppid();
}
/* A system call of its own, without libc. */
static long number(long n, long a, long b) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "0"(n), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return r;
}
static void last(int status, void *unused) {
    union sigval value = {0};
    pid_t me = getpid(), child;
    int ends[2];
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
        begins_a(thread);
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
    if (is("number-ABRT")) number(SYS_kill, me, SIGABRT);
    if (is("raise-TERM") || is("handled-TERM")) raise(SIGTERM);
    if (is("raise-HUP")) raise(SIGHUP);
    if (is("raise-USR1")) raise(SIGUSR1);
    if (is("raise-PROF")) raise(SIGPROF);
    if (is("kill-INT")) kill(me, SIGINT);
    if (is("kill-PIPE")) kill(me, SIGPIPE);
    if (is("kill-real-time")) kill(me, 40);
    if (is("tgkill-VTALRM")) syscall(SYS_tgkill, me, syscall(SYS_gettid), SIGVTALRM);
    if (is("pthread_kill-PWR")) pthread_kill(pthread_self(), SIGPWR);
    if (is("sigqueue-STKFLT")) sigqueue(me, SIGSTKFLT, value);
    if (is("number-USR2")) number(SYS_kill, me, SIGUSR2);
    if (is("request")) raise(SIGTERM), sleep(1);
    if (is("kill-KILL")) kill(me, SIGKILL);
    if (is("alarm")) busy(ITIMER_REAL);
    if (is("virtual")) busy(ITIMER_VIRTUAL);
    if (is("profile")) busy(ITIMER_PROF);
    if (is("handled-ALRM")) raise(SIGALRM);
    if (is("timer")) {
        struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
        struct itimerspec soon = {.it_value.tv_nsec = 20000000};
        timer_t t;
        timer_create(CLOCK_MONOTONIC, &e, &t), timer_settime(t, 0, &soon, NULL), sleep(60);
    }
    if (is("pipe")) {
        pipe(ends), close(ends[0]);
        write(ends[1], "x", 1);
    }
    if (is("ready")) {
        pipe(ends);
        fcntl(ends[0], F_SETOWN, me), fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
        write(ends[1], "x", 1), sleep(60);
    }
    if (is("size")) {
        struct rlimit none = {0, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &none);
        write(open("/tmp", O_TMPFILE | O_RDWR, 0600), "x", 1);
    }
    if (is("stack")) begins_a(overflows);
    if (is("filter")) {
        struct sock_filter f[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog all = {4, f};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
        number(SYS_getppid, 0, 0);
    }
    if (is("executed-TERM")) execl("/bin/sh", "sh", "-c", "kill -TERM $$", NULL);
    if (is("executed")) execl("/bin/sh", "sh", "-c", "exit 9", NULL);
    if (is("not-executed")) execl("/nowhere/sh", "sh", NULL);
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
        if ((child = fork()) == 0)
            raise(SIGTERM);
        waitpid(child, NULL, 0);
        if ((child = vfork()) == 0)
            execl("/bin/sh", "sh", "-c", "exit 9", NULL);
        waitpid(child, NULL, 0);
    }
    if (!strncmp(how(), "other-", 6)) {
        if ((child = fork()) == 0) {
            kill(me, atoi(how() + 6));
            _exit(0);
        }
        sleep(60);
    }
    if (is("_exit")) _exit(9);
    if (is("quick_exit")) quick_exit(9);
    if (is("exit")) exit(9);
    if (is("exit_group")) syscall(SYS_exit_group, 9);
    if (is("number-exit_group")) number(SYS_exit_group, 9, 0);
    if (is("err")) err(9, "here");
    if (is("thread-exit")) begins_a(exits);
    if (is("thread-err")) begins_a(errs);
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
fn its_own_signals_take_the_record_back() {
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
        ("raise-TERM", libc::SIGTERM),
        ("handled-TERM", libc::SIGTERM),
        ("raise-HUP", libc::SIGHUP),
        ("raise-USR1", libc::SIGUSR1),
        ("raise-PROF", libc::SIGPROF),
        ("kill-INT", libc::SIGINT),
        ("kill-PIPE", libc::SIGPIPE),
        ("kill-real-time", 40),
        ("tgkill-VTALRM", libc::SIGVTALRM),
        ("pthread_kill-PWR", libc::SIGPWR),
        ("sigqueue-STKFLT", libc::SIGSTKFLT),
        ("number-USR2", libc::SIGUSR2),
        ("alarm", libc::SIGALRM),
        ("virtual", libc::SIGVTALRM),
        ("profile", libc::SIGPROF),
        ("timer", libc::SIGUSR2),
        ("pipe", libc::SIGPIPE),
        ("ready", libc::SIGIO),
        ("size", libc::SIGXFSZ),
        ("stack", libc::SIGSEGV),
        ("filter", libc::SIGSYS),
        ("executed-TERM", libc::SIGTERM),
    ];
    for (how, signal) in by {
        let s = Scratch::new(&format!("end-signal-{how}"));
        let r = job(&s, how);
        assert_eq!((r.status, recorded(&s)), (128 + signal, None), "{how}: {}", r.err);
        if ["assert", "raise-TERM", "filter"].contains(&how) {
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

/// Without `promp` in front of it the runtime sees to it.
#[test]
fn nobody_waits_for_the_process() {
    let by = [
        ("abort", 128 + libc::SIGABRT, None),
        ("raise-TERM", 128 + libc::SIGTERM, None),
        ("alarm", 128 + libc::SIGALRM, None),
        ("pipe", 128 + libc::SIGPIPE, None),
        ("executed", 9, None),
        ("not-executed", 3, Some(3)),
        ("exit", 9, Some(9)),
        ("handled-ALRM", 3, Some(3)),
        ("other-15", 128 + libc::SIGTERM, Some(3)),
    ];
    for (how, status, left) in by {
        let s = Scratch::new(&format!("end-alone-{how}"));
        let dir = s.path("ckpt");
        std::fs::DirBuilder::new().mode(0o700).create(&dir).expect("a folder");
        let env = [("PROMP_CKPT_DIR", text(&dir)), ("PROMP_CKPT_INTERVAL", "1h"), ("ENDS_BY", how)];
        let r = promp(&program(), &[], &env);
        assert_eq!((r.status, recorded(&s)), (status, left), "{how}: {}", r.err);
    }
}

/// Another program has not ended as this one did; where there is none, nothing has changed.
#[test]
fn another_program_behind_the_record() {
    for (how, status, left) in [("executed", 9, None), ("not-executed", 3, Some(3))] {
        let s = Scratch::new(&format!("end-program-{how}"));
        for _ in 0..2 {
            let r = job(&s, how);
            assert_eq!((r.status, recorded(&s)), (status, left), "{how}: {}", r.err);
        }
    }
}

/// A checkpoint behind the record by which the program ends: what is left to do is done next time.
#[test]
fn a_request_behind_the_record() {
    let s = Scratch::new("end-request");
    let with = ["--resume", "--every", "1h", "--on-signal", "TERM=checkpoint-exit"];
    let job = || {
        let mut c = run(&s.path("ckpt"), &with, &program(), &[]);
        c.env("ENDS_BY", "request");
        limited(c, LIMIT)
    };
    let r = job();
    assert_eq!((r.status, recorded(&s)), (85, None), "{}", r.err);
    let again = job();
    assert!(again.status == 3 && again.err.contains("restarted from checkpoint"), "{}", again.err);
    assert_eq!(recorded(&s), Some(3), "{}", again.err);
}

/// Another status counts, however it comes.
#[test]
fn another_status_is_recorded() {
    let by = [
        "_exit",
        "quick_exit",
        "exit",
        "exit_group",
        "number-exit_group",
        "err",
        "thread-exit",
        "thread-err",
    ];
    for how in by {
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
        ("handled-ALRM", 3),
        ("other-1", 128 + libc::SIGHUP),
        ("other-6", 128 + libc::SIGABRT),
        ("other-9", 128 + libc::SIGKILL),
        ("other-10", 128 + libc::SIGUSR1),
        ("other-11", 128 + libc::SIGSEGV),
        ("other-15", 128 + libc::SIGTERM),
        ("other-50", 128 + 50),
        // Nobody can tell who has sent it.
        ("kill-KILL", 128 + libc::SIGKILL),
    ];
    for (how, status) in by {
        let s = Scratch::new(&format!("end-others-{how}"));
        let r = job(&s, how);
        assert_eq!((r.status, recorded(&s)), (status, Some(3)), "{how}: {}", r.err);
        let again = job(&s, how);
        assert!(again.status == 3 && again.err.contains("has ended by itself"), "{how}: {}", again.err);
    }
}
