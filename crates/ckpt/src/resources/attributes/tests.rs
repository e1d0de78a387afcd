//! The table of all that the kernel keeps of a process, its threads and its mappings (task_struct,
//! signal_struct, mm_struct, cred and nsproxy of Linux 6.18): docs/internals/attributes.md is made from it.
//! What is one number has its rows where it is read and set (values.rs, thread_values.rs); the rest is here,
//! with the file that has it.

use super::{thread_values, values};
use Fate::*;

/// What becomes of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is what it was.
    PutBack,
    /// It is what it was if the program has changed it; else it is what the new process was given.
    IfChanged,
    /// What has come since stays, which is said where it matters.
    Stays,
    /// It is the new process's, whatever the old one had.
    Surroundings,
    /// There is no checkpoint.
    Refused,
    /// It is gone.
    Lost,
}

impl Fate {
    fn text(self) -> &'static str {
        match self {
            PutBack => "put back",
            IfChanged => "put back if changed",
            Stays => "stays",
            Surroundings => "surroundings",
            Refused => "refused",
            Lost => "**lost**",
        }
    }
}

/// Whose it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Process,
    Thread,
    Mapping,
}
use Of::*;

#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    of: Of,
    by: &'static str,
    rollback: Fate,
    restart: Fate,
    /// By its crate's folder and its own; empty: nothing is done.
    file: &'static str,
}

const fn row(
    name: &'static str,
    of: Of,
    by: &'static str,
    (rollback, restart): (Fate, Fate),
    file: &'static str,
) -> Row {
    Row { name, of, by, rollback, restart, file }
}

const BOTH: (Fate, Fate) = (PutBack, PutBack);
const OWN: (Fate, Fate) = (PutBack, IfChanged);
const NO: (Fate, Fate) = (Refused, Refused);
const OTHERS: (Fate, Fate) = (Stays, Surroundings);
const GONE: (Fate, Fate) = (Stays, Lost);

/// What is more than one number.
const OTHER: &[Row] = &[
    // Who it is.
    row("process id", Process, "getpid(2)", (Stays, PutBack), "cli/src/restart"),
    row("thread ids", Thread, "gettid(2)", (Stays, Surroundings), "sys/glibc/host.rs"),
    row("parent", Process, "getppid(2)", OTHERS, ""),
    row("session and process group, others'", Process, "getsid(2), getpgid(2)", OTHERS, ""),
    row("controlling terminal", Process, "ioctl(TIOCSCTTY)", OTHERS, ""),
    row("children", Process, "wait(2)", (PutBack, Refused), "ckpt/resources/children.rs"),
    row(
        "threads' names",
        Thread,
        "/proc/PID/task/TID/comm",
        BOTH,
        "ckpt/resources/attributes/thread_settings.rs",
    ),
    row("arguments as others see them", Process, "/proc/PID/cmdline", BOTH, "ckpt/resources/command_line.rs"),
    row("file as others see it", Process, "prctl(PR_SET_MM_EXE_FILE)", GONE, ""),
    row("users", Thread, "setresuid(2), setfsuid(2)", BOTH, "ckpt/resources/own_state.rs"),
    row("groups", Thread, "setresgid(2), setfsgid(2), setgroups(2)", BOTH, "ckpt/resources/own_state.rs"),
    // What it may do.
    row(
        "capabilities, bounding and ambient set",
        Thread,
        "capset(2), prctl(2)",
        BOTH,
        "ckpt/resources/own_state.rs",
    ),
    row("securebits, with keepcaps", Thread, "prctl(PR_SET_SECUREBITS)", OWN, "ckpt/resources/own_state.rs"),
    row(
        "no new privileges",
        Thread,
        "prctl(PR_SET_NO_NEW_PRIVS)",
        (Stays, PutBack),
        "ckpt/resources/own_state.rs",
    ),
    row("filters of system calls", Thread, "seccomp(2)", (Stays, Refused), "ckpt/resources/own_state.rs"),
    row(
        "rules of files and ports",
        Thread,
        "landlock_restrict_self(2)",
        NO,
        "ckpt/resources/irreversible_calls.rs",
    ),
    row("labels of security modules", Thread, "/proc/PID/attr", OTHERS, ""),
    row("keyring of a thread", Thread, "keyctl(2)", NO, "ckpt/resources/own_state.rs"),
    row("keyring of the process or session", Process, "keyctl(2)", OTHERS, ""),
    row("who may trace it", Process, "prctl(PR_SET_PTRACER)", GONE, ""),
    row("soft limits", Process, "setrlimit(2)", OWN, "ckpt/resources/attributes/resource_limits.rs"),
    row("hard limits", Process, "setrlimit(2)", OWN, "ckpt/resources/attributes/resource_limits.rs"),
    row("limit on CPU time", Process, "setrlimit(RLIMIT_CPU)", OWN, "sys/kernel/cpu_limit.rs"),
    row("ports of devices", Thread, "ioperm(2), iopl(2)", GONE, ""),
    row("audit's user and session", Process, "/proc/PID/loginuid", OTHERS, ""),
    // Where it is.
    row("namespaces", Thread, "unshare(2), setns(2)", NO, "ckpt/resources/irreversible_calls.rs"),
    row("control groups", Process, "/proc/PID/cgroup", OTHERS, ""),
    row("root folder", Process, "chroot(2)", NO, "ckpt/resources/irreversible_calls.rs"),
    row("working folder", Process, "chdir(2)", BOTH, "ckpt/resources/process.rs"),
    row(
        "folder or files of a thread's own",
        Thread,
        "unshare(CLONE_FS, CLONE_FILES)",
        NO,
        "ckpt/resources/irreversible_calls.rs",
    ),
    row("mask of new files' permissions", Process, "umask(2)", BOTH, "ckpt/resources/process.rs"),
    row("clocks since the system's start", Process, "clock_gettime(2)", (Stays, PutBack), "cli/src/restart"),
    // How it is executed.
    row("registers", Thread, "the signal's frame", BOTH, "ckpt/freeze/seats.rs"),
    row(
        "thread pointer, segment bases",
        Thread,
        "arch_prctl(ARCH_SET_FS, ARCH_SET_GS)",
        BOTH,
        "sys/glibc/host.rs",
    ),
    row("segments of its own", Process, "modify_ldt(2)", NO, "ckpt/resources/attributes/values.rs"),
    row("segments of 32-bit code", Thread, "set_thread_area(2)", GONE, ""),
    row(
        "tags in addresses",
        Process,
        "arch_prctl(ARCH_ENABLE_TAGGED_ADDR)",
        NO,
        "ckpt/resources/attributes/values.rs",
    ),
    row("shadow stack", Thread, "arch_prctl(ARCH_SHSTK_ENABLE)", NO, "ckpt/resources/own_state.rs"),
    row("CPUs", Thread, "sched_setaffinity(2)", OWN, "ckpt/resources/attributes/thread_settings.rs"),
    row(
        "policy, nice value, priority",
        Thread,
        "sched_setattr(2)",
        OWN,
        "ckpt/resources/attributes/thread_settings.rs",
    ),
    row("clamps of utilisation, slice", Thread, "sched_setattr(2)", GONE, ""),
    row("group of cores", Thread, "prctl(PR_SCHED_CORE)", OTHERS, ""),
    row("I/O priority", Thread, "ioprio_set(2)", OWN, "ckpt/resources/attributes/thread_settings.rs"),
    row("timer slack", Thread, "prctl(PR_SET_TIMERSLACK)", OWN, "ckpt/resources/own_state.rs"),
    row(
        "writes what memory is given back for",
        Thread,
        "prctl(PR_SET_IO_FLUSHER)",
        OWN,
        "ckpt/resources/own_state.rs",
    ),
    row(
        "system calls handed to itself",
        Thread,
        "prctl(PR_SET_SYSCALL_USER_DISPATCH)",
        NO,
        "ckpt/resources/irreversible_calls.rs",
    ),
    row("CPU time", Thread, "clock_gettime(2), getrusage(2)", (Stays, PutBack), "sys/kernel/cpu_time.rs"),
    row("other accounts (faults, I/O, most memory)", Process, "getrusage(2)", GONE, ""),
    row("counters of the CPU", Thread, "perf_event_open(2)", NO, "ckpt/memory/anonymous.rs"),
    // Signals and time.
    row("handlers", Process, "sigaction(2)", BOTH, "ckpt/resources/dispositions.rs"),
    row("blocked signals, alternate stack", Thread, "the signal's frame", BOTH, "ckpt/freeze/seats.rs"),
    row("waiting signals", Thread, "/proc/PID/task/TID/status", BOTH, "sys/kernel/pending_signals.rs"),
    row("waiting real-time signals", Thread, "/proc/PID/task/TID/status", NO, "ckpt/keeper/attempts.rs"),
    row(
        "signal at the parent's death",
        Thread,
        "prctl(PR_SET_PDEATHSIG)",
        OWN,
        "ckpt/resources/own_state.rs",
    ),
    row("what a failure of memory does", Thread, "prctl(PR_MCE_KILL)", OWN, "ckpt/resources/own_state.rs"),
    row("interval timers", Process, "setitimer(2)", BOTH, "ckpt/resources/alarms.rs"),
    row("timers", Process, "timer_create(2)", BOTH, "ckpt/resources/timers.rs"),
    row(
        "signals of descriptors",
        Process,
        "fcntl(F_SETOWN, F_NOTIFY)",
        (Stays, Refused),
        "ckpt/resources/files.rs",
    ),
    // What libc has registered.
    row("word to clear, robust list, rseq", Thread, "set_robust_list(2), rseq(2)", BOTH, "sys/glibc/host.rs"),
    row("fences of all threads", Process, "membarrier(2)", (Stays, PutBack), "ckpt/resources/membarriers.rs"),
    row(
        "own semaphores of System V, undo lists",
        Process,
        "semop(2)",
        BOTH,
        "ckpt/resources/semaphore_sets.rs",
    ),
    row("others' semaphores of System V", Process, "semop(2)", NO, "ckpt/resources/system_v.rs"),
    // Memory.
    row("break", Process, "brk(2)", BOTH, "ckpt/memory/mod.rs"),
    row("memory policy", Thread, "set_mempolicy(2)", OWN, "ckpt/resources/own_state.rs"),
    row("memory policy", Mapping, "mbind(2)", BOTH, "ckpt/resources/attributes/memory_advice.rs"),
    row(
        "not in children, dumps; empty in children",
        Mapping,
        "madvise(2)",
        BOTH,
        "ckpt/resources/attributes/memory_advice.rs",
    ),
    row(
        "huge pages, merging, read ahead",
        Mapping,
        "madvise(2)",
        BOTH,
        "ckpt/resources/attributes/memory_advice.rs",
    ),
    row("locked", Mapping, "mlock(2), mlock2(2)", BOTH, "ckpt/resources/attributes/memory_advice.rs"),
    row("sealed", Mapping, "mseal(2)", (Refused, PutBack), "ckpt/resources/attributes/memory_advice.rs"),
    row("guards, not of files", Mapping, "madvise(MADV_GUARD_INSTALL)", BOTH, "sys/memory/guards.rs"),
    row("protection keys", Mapping, "pkey_alloc(2)", NO, "ckpt/resources/irreversible_calls.rs"),
    row(
        "pages poisoned, or moved elsewhere",
        Mapping,
        "madvise(MADV_HWPOISON), ioctl(UFFDIO_POISON)",
        OTHERS,
        "",
    ),
    row(
        "grows downwards, may be dropped",
        Mapping,
        "mmap(MAP_GROWSDOWN, MAP_DROPPABLE)",
        BOTH,
        "ckpt/resources/attributes/memory_advice.rs",
    ),
    row("secret", Mapping, "memfd_secret(2)", NO, "ckpt/memory/shared/file_mappings.rs"),
    row("name", Mapping, "prctl(PR_SET_VMA)", GONE, ""),
];

/// All rows.
fn all() -> Vec<Row> {
    let values = values::ALL.iter().map(|v| {
        let rollback = if v.stays { Stays } else { PutBack };
        row(v.name, Process, v.by, (rollback, IfChanged), "ckpt/resources/attributes/values.rs")
    });
    let of_threads = thread_values::ALL
        .iter()
        .map(|v| row(v.name, Thread, v.by, OWN, "ckpt/resources/attributes/thread_values.rs"));
    OTHER.iter().copied().chain(values).chain(of_threads).collect()
}

/// As docs/internals/attributes.md shows them.
fn markdown() -> String {
    let mut text = String::from("| what | by | rollback | restart | where |\n|---|---|---|---|---|\n");
    for (of, title) in [(Process, "the process"), (Thread, "each thread"), (Mapping, "each mapping")] {
        text += &format!("| **of {title}** | | | | |\n");
        for r in all().iter().filter(|r| r.of == of) {
            let (back, again) = (r.rollback.text(), r.restart.text());
            let file = if r.file.is_empty() { String::new() } else { format!("`{}`", r.file) };
            text += &format!("| {} | {} | {back} | {again} | {file} |\n", r.name, r.by);
        }
    }
    text
}

const BEGIN: &str = concat!(
    "<!-- made from ckpt/resources/attributes/tests.rs: ",
    "PROMP_WRITE_DOCS=1 cargo test -p promp-ckpt attributes -->\n"
);
const END: &str = "<!-- end -->\n";

#[test]
fn the_document_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/attributes.md");
    let now = std::fs::read_to_string(path).expect("docs/internals/attributes.md");
    let (head, rest) = now.split_once(BEGIN).expect("where the table begins");
    let (_, tail) = rest.split_once(END).expect("where it ends");
    let want = [head, BEGIN, &markdown(), END, tail].concat();
    if std::env::var_os("PROMP_WRITE_DOCS").is_some() {
        std::fs::write(path, want).expect("written");
    } else {
        assert!(now == want, "docs/internals/attributes.md is not the table: PROMP_WRITE_DOCS=1 writes it");
    }
}

#[test]
fn files_that_are_named_are_there() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for r in all().iter().filter(|r| !r.file.is_empty()) {
        let there = |at: &str| std::path::Path::new(root).join(at).exists();
        let of_crate = |(name, file)| there(&format!("crates/{name}/src/{file}"));
        assert!(
            there(r.file)
                || there(&format!("src/{}", r.file))
                || r.file.split_once('/').is_some_and(of_crate),
            "{}: {}",
            r.name,
            r.file
        );
    }
}

#[test]
fn a_kind_is_one_row() {
    let all = all();
    assert!(all.len() >= 80, "{}", all.len());
    for (i, r) in all.iter().enumerate() {
        assert!(!all[..i].iter().any(|o| (o.name, o.of) == (r.name, r.of)), "{} twice", r.name);
        assert!(!r.file.is_empty() || matches!(r.restart, Surroundings | Lost), "{}: by whom?", r.name);
    }
}
