//! Checkpoints where a container limits what a process may have and do.

use crate::common::draws::{Draws, spaced};
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A control group with a limit for memory.
struct Limited(PathBuf);

impl Limited {
    fn new(mib: u64) -> Option<Self> {
        let old = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes");
        let new = ("/sys/fs/cgroup", "memory.max");
        [old, new].into_iter().find_map(|(root, file)| {
            let group = Self(Path::new(root).join(format!("promp-test-{}", std::process::id())));
            fs::create_dir(&group.0).ok()?;
            // Not in a group without the controller: writing makes no files there.
            fs::write(group.0.join(file), (mib << 20).to_string()).ok().map(|()| group)
        })
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// With checkpoints a program can have as much of a container's memory as without: what the runtime has for the copies it gives back.
#[test]
fn the_memory_of_a_container() {
    let s = Scratch::new("container");
    let (exe, dir) = (build("ckpt/grows.c", &[]), s.path("ckpt"));
    let (mut back, mut draws) = (false, Draws::between(2, 20));
    while let Some(seed) = draws.next(back) {
        let fault = (seed > 1).then(|| spaced(&format!("kill@mtbf=700ms,seed={},count=4", seed - 1)));
        let Some(group) = Limited::new(700) else {
            return eprintln!("SKIPPED: no cgroup with a limit for memory can be made here");
        };
        let _ = fs::remove_dir_all(&dir);
        let mut c = Command::new("/bin/sh");
        c.args([
            "-c",
            "echo $$ >\"$0/cgroup.procs\" && exec \"$@\"",
            text(&group.0),
            text(&command()),
            "run",
        ]);
        c.args(["--threads", "2", "--every", "200ms", "--ckpt", text(&dir)]);
        c.args(fault.iter().flat_map(|f| ["--fault", f]));
        // While a checkpoint is being written, its copies take up to half of what the program has left.
        c.args(["--", text(&exe), "200", "400", "520"]);
        let out = s.path("out");
        let _ = fs::remove_file(&out);
        let status = start(c, &out, None).expect("ends");
        let err = messages(&out);
        assert!(status.success(), "{fault:?} {status}: {err}");
        assert_eq!(fs::read_to_string(&out).unwrap(), "all changes are there\n", "{fault:?}: {err}");
        assert!(has_generation(&dir), "{fault:?}: {err}");
        back |= fault.is_some() && err.contains("rolled back");
    }
    assert!(back, "the faults do not strike");
}

/// Has system calls refused that the default filter of Docker, Podman and Kubernetes refuses and the runtime uses: userfaultfd(2), and
/// personality(2) but for asking. clone3(2) is unknown to it.
fn forbid(c: &mut Command) {
    use libc::*;
    let load = |k| sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k };
    let equal = |k: u32, jt, jf| sock_filter { code: (BPF_JMP | BPF_JEQ | BPF_K) as u16, jt, jf, k };
    let answer = |k| sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k };
    const FIRST_ARGUMENT: u32 = 16;
    let filter = [
        load(0),
        equal(SYS_userfaultfd as u32, 5, 0),
        equal(SYS_clone3 as u32, 5, 0),
        equal(SYS_personality as u32, 0, 2),
        load(FIRST_ARGUMENT),
        equal(u32::MAX, 0, 1),
        answer(SECCOMP_RET_ALLOW),
        answer(SECCOMP_RET_ERRNO | EPERM as u32),
        answer(SECCOMP_RET_ERRNO | ENOSYS as u32),
    ];
    // SAFETY: two system calls between fork and exec, on memory of the closure.
    unsafe {
        c.pre_exec(move || {
            let program = sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            match prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
}

/// Failures are rolled back without the kernel's notes. That a dead process cannot be continued is said at the beginning, and when it is tried.
#[test]
fn system_calls_that_containers_forbid() {
    let s = Scratch::new("forbidden");
    let exe = build("ft/update.c", &[]);
    let want = reference(&exe, &[], &[THREADS]);
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let random = fs::read_to_string("/proc/sys/kernel/randomize_va_space").is_ok_and(|v| v.trim() != "0");
    const MESSAGE: &str = "addresses are random here";
    let (mut back, mut draws) = (0, Draws::between(4, 80));
    while let Some(seed) = draws.next(back > 3) {
        let kind = ["memerr", "kill", "crash"][seed as usize % 3];
        let _ = fs::remove_dir_all(&dir);
        let _ = fs::remove_file(&out);
        let mut c = Command::new(&exe);
        forbid(&mut c);
        let fault = format!("{kind}@mtbf=60ms,seed={seed},count=4");
        let status = start_with(c, &out, None, |c| {
            c.env("LD_PRELOAD", library()).env(THREADS.0, THREADS.1).env("PROMP_FAULT", &fault);
            c.env("PROMP_CKPT_DIR", &dir).env("PROMP_CKPT_INTERVAL", "50ms");
        });
        let err = messages(&out);
        assert!(status.expect("ends").success(), "{fault}: {err}");
        assert_eq!(fs::read_to_string(&out).unwrap(), want.out, "{fault}: {err}");
        assert_eq!(err.contains(MESSAGE), random, "{fault}: {err}");
        back += err.matches("rolled back to checkpoint").count();
    }
    assert!(back > 3, "only {back} rollbacks");
    if !random {
        return;
    }
    let _ = fs::remove_dir_all(&dir);
    let mut c = first_run(&build("ckpt/refuse.c", &[]), &["nothing", "30"], &dir); // it lasts
    forbid(&mut c);
    let killed = start_with(c, &out, Some(&|_| has_generation(&dir)), |_| ());
    assert!(killed.is_none(), "no checkpoint before its end");
    let mut c = restart(&dir);
    forbid(&mut c);
    refused(c, &out, MESSAGE);
}

/// Without /proc there are no checkpoints, which is said. Failures are answered without them: threads that had nothing in hand go on, all else ends the
/// program with a message.
#[test]
fn no_proc() {
    let s = Scratch::new("no-proc");
    let exe = build("ft/update.c", &[]);
    let want = reference(&exe, &[], &[THREADS]);
    let out = s.path("out");
    let at_random = (1..=4).map(|seed| format!("kill@mtbf=60ms,seed={seed},count=4"));
    for fault in ["kill@thread=1,region=any,count=4".to_owned()].into_iter().chain(at_random) {
        let _ = fs::remove_file(&out);
        let mut c = Command::new("unshare");
        c.args(["--map-root-user", "--mount", "/bin/sh", "-c"]);
        c.args(["mount -t tmpfs none /proc || exit 125; exec \"$@\"", "sh", "env"]);
        c.args([&format!("LD_PRELOAD={}", library().display()), &format!("PROMP_FAULT={}", spaced(&fault))]);
        c.args([&format!("PROMP_CKPT_DIR={}", s.path("ckpt").display()), "OMP_NUM_THREADS=4", text(&exe)]);
        let status = start(c, &out, None).expect("ends");
        let err = messages(&out);
        if status.code() == Some(125) || err.contains("unshare: ") {
            return eprintln!("SKIPPED: /proc cannot be hidden from a process here: {err}");
        }
        assert!(err.contains("is /proc mounted?"), "{fault} {status}: {err}");
        if fault.contains("mtbf") && status.code() == Some(70) {
            assert!(err.contains("no checkpoint to return to; stopping"), "{fault}: {err}");
            continue;
        }
        assert!(status.success(), "{fault} {status}: {err}");
        assert!(fault.contains("mtbf") || err.contains("nothing was lost, it goes on"), "{fault}: {err}");
        assert_eq!(fs::read_to_string(&out).unwrap(), want.out, "{fault}: {err}");
    }
}

/// A shell in a container whose first processes' ids have gone to others: `script` runs after `others` more.
fn numbered(others: u32, script: &str, arguments: &[&str]) -> Command {
    let mut c = Command::new("unshare");
    c.args(["--map-root-user", "--mount-proc", "--pid", "--fork", "--kill-child", "bash", "-c"]);
    c.arg(format!("for ((i = 0; i < {others}; i++)); do /bin/true; done; {script}"));
    c.arg("bash").args(arguments);
    c
}

/// In a container that has just begun ids of threads are the same as in the one before, but other threads': locks that note their holders' ids
/// (held all the time by c-tests/ckpt/recursive.c) still belong to whom they belonged.
#[test]
fn ids_of_other_threads() {
    let s = Scratch::new("ids");
    let (exe, dir, out) = (build("ckpt/recursive.c", &[]), s.path("ckpt"), s.path("out"));
    let want = reference(&exe, &["100"], &[THREADS]);
    let own = command();
    for others in 0..8 {
        for f in [&dir, &out] {
            let _ = fs::remove_dir_all(f).or_else(|_| fs::remove_file(f));
        }
        let killed = format!(
            "\"$@\" & while ! ls {0}/gen-* >{0}.ls 2>&1 && kill -0 $!; do sleep 0.01; done; kill -9 $!; wait",
            text(&dir)
        );
        let mut first =
            vec![text(&own), "run", "--threads", "4", "--every", "50ms", "--ckpt", text(&dir), "--"];
        first.extend([text(&exe), "100"]);
        start(numbered(3, &killed, &first), &out, None);
        if !has_generation(&dir) {
            return eprintln!(
                "SKIPPED: no namespace for ids of processes can be made here: {}",
                messages(&out)
            );
        }
        let again = numbered(others, "\"$@\"; exit $?", &[text(&own), "restart", text(&dir)]);
        let status = start(again, &out, None).expect("ends");
        let err = messages(&out);
        assert!(status.success(), "{others}: {status}: {err}");
        assert_eq!(fs::read_to_string(&out).unwrap(), want.out, "{others}: {err}");
    }
}
