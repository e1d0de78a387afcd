//! Checkpoints that must not be taken or used: state that cannot be saved, folders, damaged and foreign images, settings.

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use promp_image::{Directory, Sums};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What cannot be saved: the checkpoint is refused with a reason, the run goes on.
#[test]
fn state_that_cannot_be_saved() {
    let s = Scratch::new("refuse");
    let exe = build("ckpt/refuse.c", &[]);
    for (what, reason) in [
        ("thread", "threads of its own"),
        ("thread", "in flock); PROMP_CKPT_THREADS=all"),
        ("blocks", "blocks signals"),
        ("clone", "without libc"),
        ("socket", "is a socket"),
        ("pipe", "that nobody has read"),
        ("shared", "shared with others"),
        ("named", "shared with others"),
        ("held", "shared with others"),
        ("large", "PROMP_CKPT_FILES allows too little"),
        ("unfound", "its file is not open, nor can it be opened"),
        ("grandchild", "/dev/shm/sem."),
        ("child", "child process"),
        ("timer", "timer_create"),
        ("memfd", "/memfd:x (deleted), which is sealed"),
        ("inotify", "anon_inode:inotify"),
        ("watches", "waits for a file"),
        ("queue", "is the message queue"),
        ("closes", "closed descriptors"),
    ] {
        // The first checkpoint is due after 0.1 s, and a thread without a seat may be one on its way for as long: too short on a busy machine.
        let threads = ("PROMP_CKPT_THREADS", if what == "thread" { "inside" } else { "all" });
        let mut run = checkpointed(&exe, &[what, "0.25"], &s.path("ckpt"), &[threads]);
        let said = |run: &Run| run.err.contains("no checkpoint now") && run.err.contains(reason);
        if !said(&run) {
            run = checkpointed(&exe, &[what, "5"], &s.path("ckpt"), &[threads]);
        }
        assert_eq!((run.status, run.out.as_str()), (0, "done 0\n"), "{what}: {run:?}");
        assert!(said(&run), "{what}: expected \"{reason}\": {}", run.err);
    }
    let run = checkpointed(&exe, &["nothing"], &s.path("ckpt"), &[]);
    assert!(!run.err.contains("no checkpoint"), "{}", run.err);
    // A reason is told once, whatever the child's number.
    let run = checkpointed(&exe, &["children"], &s.path("ckpt"), &[("PROMP_CKPT_INTERVAL", "20ms")]);
    assert_eq!((run.status, run.out.as_str()), (0, "done 0\n"), "{run:?}");
    assert_eq!(run.err.matches("child process").count(), 1, "{}", run.err);
}

/// Threads of the program's own that compute or wait for each other are saved and rolled back without being
/// asked for; with PROMP_CKPT_THREADS=team they are not.
#[test]
fn threads_that_wait_inside_the_process() {
    let s = Scratch::new("inside");
    let exe = build("ckpt/own.c", &[]);
    let args = ["300", "inside"];
    let want = reference(&exe, &args, &[THREADS]).out;
    let (mut back, mut draws) = (0, Draws::between(1, 100));
    while let Some(seed) = draws.next(back >= 5) {
        let fault = format!("memerr@mtbf=100ms,count=3,seed={seed}");
        let set = [("PROMP_FAULT", &*fault), ("PROMP_CKPT_INTERVAL", "20ms")];
        let run = checkpointed(&exe, &args, &s.path("ckpt"), &set);
        // A failure before the first checkpoint.
        if run.status == 70 && run.err.contains("no checkpoint yet") {
            continue;
        }
        assert_eq!((run.status, &run.out), (0, &want), "{fault}: {}", run.err);
        back += run.err.matches("rolled back to checkpoint").count();
    }
    assert!(back >= 5, "{back} rollbacks");
    let run = checkpointed(&exe, &args, &s.path("ckpt"), &[("PROMP_CKPT_THREADS", "team")]);
    assert_eq!((run.status, &run.out), (0, &want), "{}", run.err);
    assert!(run.err.contains("no checkpoint now: the program has threads of its own"), "{}", run.err);
    let newest = Directory::open(&s.path("ckpt")).ok().and_then(|d| d.newest(|_| true, drop));
    assert!(newest.is_none_or(|g| g.number == 1), "one was taken behind that of the program's beginning");
}

/// Who must stop is told why there is no checkpoint though there are to be some, or why it is in vain.
#[test]
fn why_there_is_no_checkpoint_yet() {
    let s = Scratch::new("none-yet");
    let exe = build("ckpt/refuse.c", &[]);
    let ends = |region: &u32| {
        let fault = format!("memerr@region={region}");
        let set = [("PROMP_FAULT", &*fault), ("PROMP_CKPT_INTERVAL", "20ms")];
        let run = checkpointed(&exe, &["thread", "60"], &s.path("ckpt"), &set);
        assert_eq!(run.status, 70, "{run:?}");
        assert!(["yet: the", "for a rollback: the"].iter().any(|w| run.err.contains(w)), "{}", run.err);
        run.err.contains(": the program has threads of its own")
    };
    // The thread is taken for the program's own after a while only.
    assert!([1, 10_000, 100_000, 1_000_000].iter().any(ends));
}

#[test]
fn directories_that_cannot_be_used() {
    let s = Scratch::new("dirs");
    let exe = build("ckpt/refuse.c", &[]);
    let expect = |dir: &Path, word: &str| {
        let run = promp(&exe, &["nothing"], &[("PROMP_CKPT_DIR", text(dir))]);
        assert_eq!((run.status, run.out.as_str()), (64, ""), "{}: {run:?}", dir.display());
        assert!(run.err.contains(word) && run.err.contains("PROMP_CKPT_DIR"), "{word}: {}", run.err);
    };
    let open = s.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    expect(&open, "mode 755");
    let file = s.path("file");
    fs::write(&file, "").unwrap();
    expect(&file, "not a directory");
    fs::create_dir(s.path("real")).unwrap();
    symlink(s.path("real"), s.path("link")).unwrap();
    expect(&s.path("link"), "symbolic link");
    expect(Path::new("/proc/promp"), "cannot make the directory");
    // A link in the place of a file.
    let dir = s.path("linked");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    symlink("/etc/passwd", dir.join("pages")).unwrap();
    expect(&dir, "pages");
    // A second process on the same directory.
    let dir = s.path("busy");
    let mut first = Command::new(&exe);
    first
        .args(["nothing", "3"])
        .env("LD_PRELOAD", library())
        .env("PROMP_CKPT_DIR", &dir)
        .stdout(Stdio::null());
    let mut child = first.spawn().unwrap();
    while !has_generation(&dir) {
        std::thread::sleep(Duration::from_millis(5));
    }
    expect(&dir, "in use by another process");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A file system without room: the run goes on; a read-only one: refused at once. Needs the right to mount.
#[test]
fn no_space_and_read_only() {
    let s = Scratch::new("space");
    let exe = build("npb/mg.c", &[]);
    let script = format!(
        "mount -t tmpfs -o size=6m,mode=700 none {d} || exit 99
         PROMP_CKPT_DIR={d}/c PROMP_CKPT_INTERVAL=20ms OMP_NUM_THREADS=4 LD_PRELOAD={lib} {exe} W; echo status $?
         mount -o remount,ro {d}
         PROMP_CKPT_DIR={d}/e LD_PRELOAD={lib} {exe} S; echo status $?",
        d = s.0.display(),
        lib = library().display(),
        exe = exe.display()
    );
    let mut c = Command::new("unshare");
    c.args(["-m", "bash", "-c", &script]);
    let run = limited(c, LIMIT);
    if run.status == 99 || run.out.is_empty() {
        eprintln!("SKIPPED: no right to mount a file system: {}", run.err);
        return;
    }
    assert!(run.out.contains("verification successful\nstatus 0\nstatus 64\n"), "{run:?}");
    assert!(run.err.contains("no storage space") && run.err.contains("read-only filesystem"), "{}", run.err);
}

/// A directory with one checkpoint of a killed program.
fn killed(s: &Scratch, exe: &Path) -> PathBuf {
    let dir = s.path("killed");
    let mut c = Command::new(exe);
    c.args(["nothing", "30"])
        .env("LD_PRELOAD", library())
        .envs([THREADS, ("PROMP_CKPT_INTERVAL", "20ms")])
        .env("PROMP_CKPT_DIR", &dir);
    let mut child = c.stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while promp_image::generation_files(&dir).first().is_none_or(|&g| g < 5) {
        assert!(began.elapsed() < LIMIT, "no checkpoints");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    dir
}

fn copy_dir(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for e in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(e.file_name());
        if e.path().is_dir() {
            copy_dir(&e.path(), &to);
        } else {
            fs::copy(e.path(), to).unwrap();
        }
    }
}

/// Every refusal of a restart, and every kind of damage.
#[test]
fn restarts_that_are_refused() {
    let s = Scratch::new("damage");
    let exe = s.path("program");
    // By another process: a file that this one has open for writing, if only for an instant in a child of another test, cannot be
    // executed (ETXTBSY).
    assert!(Command::new("cp").arg(build("ckpt/refuse.c", &[])).arg(&exe).status().unwrap().success());
    let good = killed(&s, &exe);
    // Only the newest generation, so that a damaged one has no older one to give way to.
    let d = Directory::open(&good).unwrap();
    let newest = d.generations()[0];
    for g in &d.generations()[1..] {
        fs::remove_file(good.join(format!("gen-{g}"))).unwrap();
    }
    let gen_file = format!("gen-{newest}");
    let g = d.read(newest).unwrap();
    d.verify(&g, |_| ()).unwrap();
    let bad = s.path("bad");
    let bytes = fs::read(good.join(&gen_file)).unwrap();
    let json = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    for (at, word) in [
        (3, "first bytes"),
        (20, "header is damaged"),
        (70, "description is damaged"),
        (64 + json + 30, "index is damaged"),
    ] {
        copy_dir(&good, &bad);
        let mut b = bytes.clone();
        b[at] ^= 0x10;
        fs::write(bad.join(&gen_file), b).unwrap();
        refused(restart(&bad), &s.path("out"), word);
    }
    copy_dir(&good, &bad);
    fs::write(bad.join(&gen_file), &bytes[..bytes.len() - 100]).unwrap();
    refused(restart(&bad), &s.path("out"), "truncated");
    // A page.
    copy_dir(&good, &bad);
    let mut pages = fs::read(good.join("pages")).unwrap();
    let at = g.index[g.index.len() / 2].slot as usize * 4096 + 1234;
    pages[at] ^= 1;
    fs::write(bad.join("pages"), &pages).unwrap();
    refused(restart(&bad), &s.path("out"), "damaged (checksum)");
    let inspect = |args: &[&str]| {
        let mut c = Command::new(command());
        c.arg("inspect").args(args).arg(&bad);
        limited(c, LIMIT)
    };
    assert_eq!(inspect(&[]).status, 0);
    let run = inspect(&["--verify"]);
    assert!(run.status == 66 && run.out.contains("damaged (checksum)"), "{run:?}");
    pages[at] ^= 1;
    let last = g.index.iter().map(|e| e.slot).max().unwrap();
    fs::write(bad.join("pages"), &pages[..last as usize * 4096 + 100]).unwrap();
    refused(restart(&bad), &s.path("out"), "truncated");
    // The checksums: of a page, of one that the generation does not have, none.
    copy_dir(&good, &bad);
    let mut sums = fs::read(good.join(promp_image::SUMS)).unwrap();
    let at = 8 * g.index[g.index.len() / 2].slot as usize + 3;
    sums[at] ^= 4;
    fs::write(bad.join(promp_image::SUMS), &sums).unwrap();
    refused(restart(&bad), &s.path("out"), "the checksums of the pages in slots");
    assert_eq!(inspect(&[]).status, 66);
    fs::write(bad.join(promp_image::SUMS), &sums[..at]).unwrap();
    refused(restart(&bad), &s.path("out"), "sums, for");
    fs::remove_file(bad.join(promp_image::SUMS)).unwrap();
    refused(restart(&bad), &s.path("out"), "sums: ");
    // Rights, owners, links.
    copy_dir(&good, &bad);
    fs::set_permissions(bad.join(&gen_file), fs::Permissions::from_mode(0o644)).unwrap();
    refused(restart(&bad), &s.path("out"), "mode 644");
    copy_dir(&good, &bad);
    fs::set_permissions(&bad, fs::Permissions::from_mode(0o755)).unwrap();
    refused(restart(&bad), &s.path("out"), "mode 755");
    copy_dir(&good, &bad);
    fs::remove_file(bad.join("pages")).unwrap();
    symlink(good.join("pages"), bad.join("pages")).unwrap();
    refused(restart(&bad), &s.path("out"), "symbolic link");
    copy_dir(&good, &bad);
    if std::os::unix::fs::chown(bad.join("pages"), Some(1), None).is_ok() {
        refused(restart(&bad), &s.path("out"), "belongs to user 1");
    }
    // Another machine, other settings.
    copy_dir(&good, &bad);
    let mut about = g.about.clone();
    about.cpu.push("avx9000".into());
    fs::write(bad.join(&gen_file), promp_image::encode(newest, &about, &g.index, Sums::Aside)).unwrap();
    refused(restart(&bad), &s.path("out"), "avx9000");
    let mut about = g.about.clone();
    about.vdso += 4096;
    fs::write(bad.join(&gen_file), promp_image::encode(newest, &about, &g.index, Sums::Aside)).unwrap();
    refused(restart(&bad), &s.path("out"), "vDSO");
    copy_dir(&good, &bad);
    let mut c = Command::new(command());
    c.arg("restart").arg(&bad).env("OMP_NUM_THREADS", "7");
    let run = limited(c, LIMIT);
    assert!(run.status == 71 && run.err.contains("OMP_NUM_THREADS=7"), "{run:?}");
    // The program has changed.
    let mut program = fs::read(&exe).unwrap();
    let n = program.len();
    program[n - 1] ^= 1;
    fs::write(&exe, program).unwrap();
    refused(restart(&bad), &s.path("out"), "has changed since the checkpoint");
    fs::remove_file(&exe).unwrap();
    refused(restart(&bad), &s.path("out"), "is gone");
}

/// `cmd` with this soft limit on the stack, in bytes.
fn with_stack(limit: &str, cmd: &Command) -> Command {
    let mut c = Command::new("prlimit");
    c.arg(format!("--stack={limit}")).arg(cmd.get_program()).args(cmd.get_args());
    c
}

/// The kernel lays mappings out by the limit on the stack, which is as it was in a restarted process; if that may not be, it is refused.
#[test]
fn another_stack_limit() {
    let exe = build("npb/cg.c", &[]);
    for (run, hard, lower) in
        [("unlimited:unlimited", "unlimited", "8388608"), ("50331648:50331648", "67108864", "4194304")]
    {
        let s = Scratch::new("stack");
        let (dir, out) = (s.path("ckpt"), s.path("out"));
        // With its second checkpoint, or with its first one where it ends before that.
        let (mut killed, mut draws) = (false, Draws::between(1, 20));
        while let Some(n) = draws.next(killed) {
            let _ = (fs::remove_dir_all(&dir), fs::remove_file(&out));
            let before = u64::from(n < 4);
            let saved = |_| promp_image::generation_files(&dir).first().is_some_and(|&g| g > before);
            let first = with_stack(run, &first_run(&exe, &["W"], &dir));
            killed = start_with(first, &out, Some(&saved), |_| ()).is_none() && !had_ended(&dir);
        }
        assert!(killed, "{}", messages(&out));
        refused(with_stack(&format!("{lower}:{lower}"), &restart(&dir)), &out, "ulimit -H -s");
        let status = start(with_stack(&format!("{lower}:{hard}"), &restart(&dir)), &out, None);
        assert!(status.is_some_and(|s| s.success()), "{status:?}: {}", messages(&out));
        assert!(read(&out).contains("verification successful"), "{}", read(&out));
    }
}

#[test]
fn a_program_that_has_ended_is_not_restarted() {
    let s = Scratch::new("ended");
    let run = checkpointed(&build("ckpt/refuse.c", &[]), &["nothing"], &s.path("ckpt"), &[]);
    assert_eq!(run.status, 0);
    refused(restart(&s.path("ckpt")), &s.path("out"), "ended by itself");
    refused(restart(&s.path("nowhere")), &s.path("out"), "nowhere");
}

#[test]
fn bad_settings_stop_the_program() {
    let exe = build("ckpt/refuse.c", &[]);
    for (name, value) in [
        ("PROMP_CKPT_DIR", ""),
        ("PROMP_CKPT_INTERVAL", "soon"),
        ("PROMP_CKPT_INTERVAL", "auto"),
        ("PROMP_CKPT_TRACK", "x"),
        ("PROMP_CKPT_COPY", "x"),
        ("PROMP_CKPT_THREADS", "x"),
    ] {
        let run = promp(&exe, &["nothing"], &[(name, value)]);
        assert!(run.status == 64 && run.err.contains(name), "{name}={value}: {run:?}");
    }
}
