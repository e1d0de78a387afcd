//! What the integration tests share: building the C, C++ and Fortran programs once, running them with a hard time limit, and
//! finding the library.
#![allow(dead_code)]

pub mod archive;
pub mod at_end;
pub mod browser;
pub mod built;
pub mod draws;
pub mod driven;
pub mod faults;
pub mod filled;
pub mod freezer;
pub mod hostile;
pub mod jobs;
pub mod kept;
pub mod left;
pub mod pages;
pub mod prefix;
pub mod saved;
pub mod scripts;
pub mod traced;

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The project's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("checks/ is in it")
}

/// libpromp.so, in the release build.
pub fn library() -> PathBuf {
    let exe = std::env::current_exe().expect("this test's path");
    let target = exe.ancestors().nth(3).expect("target/PROFILE/deps/TEST");
    let lib = target.join("release/libpromp.so");
    assert!(lib.exists(), "{} is missing: run `make build plugin` first", lib.display());
    lib
}

/// `promp-cc`, `promp-c++` or `promp-fc` beside the library, if the plugin was built.
pub fn driver(name: &str) -> Option<PathBuf> {
    let dir = library().parent().expect("a folder").to_path_buf();
    if !dir.join("promp_plugin.so").exists() {
        println!(
            "SKIPPED: promp_plugin.so is not there (make plugin; it needs gcc-12-plugin-dev or the like)"
        );
        return None;
    }
    Some(dir.join(name))
}

/// A folder of the running test's own: no two tests write to the same file. (`FILE::TEST` is the name of its
/// thread; one that has a process for itself is named in the arguments.)
pub fn out_dir() -> PathBuf {
    let names = std::thread::current().name().map(str::to_string).into_iter().chain(std::env::args().skip(1));
    let test = names.into_iter().find(|name| name.contains("::")).unwrap_or("any".into());
    let d = shared_dir().join("tests").join(test.replace("::", "-"));
    std::fs::create_dir_all(&d).expect("target is writable");
    d
}

/// Where lies what tests share: written by whoever has locked it ([`built::once`]).
pub fn shared_dir() -> PathBuf {
    let d = root().join("target/c-tests");
    std::fs::create_dir_all(&d).expect("target is writable");
    d
}

/// A folder in it.
pub fn shared_folder(name: &str) -> PathBuf {
    let d = shared_dir().join(name);
    std::fs::create_dir_all(&d).expect("target is writable");
    d
}

/// A folder in [`out_dir`].
pub fn out_folder(name: &str) -> PathBuf {
    let d = out_dir().join(name);
    std::fs::create_dir_all(&d).expect("target is writable");
    d
}

/// Likewise; it is empty.
pub fn empty_folder(name: &str) -> PathBuf {
    let _ = std::fs::remove_dir_all(out_dir().join(name));
    out_folder(name)
}

/// Runs a compiler, a linker or the like in `folder`; it must succeed.
pub fn tool_in(folder: &Path, program: &Path, args: &[&str]) {
    let mut c = Command::new(program);
    c.args(args).current_dir(folder);
    let r = limited(c, Duration::from_secs(120));
    assert_eq!(r.status, 0, "{program:?} {args:?}: {}", r.err);
}

/// Builds `source` (relative to c-tests/) with `flags`; the same request is built once.
pub fn build(source: &str, flags: &[&str]) -> PathBuf {
    let path = root().join("c-tests").join(source);
    let dead = poison();
    let name = format!("{source} {} {}", flags.join(" "), if dead { "dead" } else { "" });
    let name = name.replace(['/', ' ', '=', '.', '-', ','], "_").trim_end_matches('_').to_string();
    let exe = shared_dir().join(&name);
    let (gcc, ours) = match path.extension().and_then(|e| e.to_str()) {
        Some("f90") => ("gfortran", "promp-fc"),
        Some("cpp") => ("g++", "promp-c++"),
        _ => ("gcc", "promp-cc"),
    };
    let compiler = if dead { driver(ours).expect("PROMP_TEST_POISON needs it") } else { gcc.into() };
    // What is said to be dead is the compiler's word: so its newest.
    let plugin = library().with_file_name("promp_plugin.so");
    let mut words = flags.to_vec();
    words.extend(if dead { plugin.to_str() } else { None });
    built::once(&built::Request { exe: &exe, compiler: &compiler, words: &words }, |tmp, read| {
        let modules = tmp.with_extension("mod");
        std::fs::create_dir_all(&modules).expect("target is writable");
        let fortran = ["-cpp".as_ref(), "-J".as_ref(), modules.as_os_str()];
        let run = Command::new(&compiler)
            .args(if dead { &["-fpromp-foresee", "-fno-promp-runtime"][..] } else { &[] })
            // The host's versions alone, also where the compiler has others for a device.
            .args(["-O2", "-fopenmp", "-w", "-foffload=disable"])
            .args(flags)
            .args(if gcc == "gfortran" { &fortran[..] } else { &[] })
            .args(["-I".as_ref(), root().join("include").as_os_str()])
            .args(["-MMD".as_ref(), "-MF".as_ref(), read.as_os_str()])
            .args(["-o".as_ref(), tmp.as_os_str(), path.as_os_str()])
            .args(["-lm", "-lpthread", "-ldl"])
            .output()
            .unwrap_or_else(|e| panic!("{compiler:?} is needed to build the test programs: {e}"));
        assert!(run.status.success(), "{compiler:?} {source}: {}", String::from_utf8_lossy(&run.stderr));
        let _ = std::fs::remove_dir_all(&modules);
    });
    exe
}

/// Builds a generated program, `text`, in a folder of `target/c-tests`.
pub fn compiled(folder: &str, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let dir = shared_folder(folder);
    let (source, exe) = (dir.join(format!("{name}.c")), dir.join(name));
    let words = [&[text][..], flags].concat();
    built::once(&built::Request { exe: &exe, compiler: Path::new("gcc"), words: &words }, |tmp, _| {
        std::fs::write(&source, text).expect("target is writable");
        let mut c = Command::new("gcc");
        c.args(["-O2", "-w", "-foffload=disable"]).args(flags).arg("-o").arg(tmp).arg(&source);
        assert!(c.status().expect("gcc").success(), "{name} does not compile:\n{text}");
    });
    exe
}

/// What a run did.
#[derive(Debug, Clone)]
pub struct Run {
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// Exit status; 128 + signal if it was killed by one.
    pub status: i32,
    /// It ran past its limit.
    pub hung: bool,
    /// How long it took.
    pub took: Duration,
}

impl Run {
    /// A run of `what`, in which threads fail: has it been refused? If not it has printed `out`, and ended
    /// well.
    pub fn was_refused(&self, out: &str, what: &dyn std::fmt::Display) -> bool {
        assert!(!self.hung, "{what}: hangs\n{}", self.err);
        if self.status == 70 {
            assert!(self.err.contains("stopping"), "{what}: {}", self.err);
            return true;
        }
        let (status, said, err) = (self.status, &self.out, &self.err);
        assert!(status == 0 && said == out, "{what}: {status} {said} instead of {out}\n{err}");
        false
    }

    /// A fault at a random time struck serial code, which nobody else can execute: without a checkpoint that
    /// is refused, whatever a test is about. On a busy machine serial code takes longer.
    pub fn was_in_serial_work(&self) -> bool {
        self.status == 70 && self.err.contains(" in serial work, and no checkpoint to return to")
    }

    /// How often work was executed again.
    pub fn executed_again(&self) -> usize {
        self.err.matches("repeated").count() + self.err.matches("recomputed").count()
    }
}

/// Runs `cmd` with a hard time limit.
pub fn limited(mut cmd: Command, limit: Duration) -> Run {
    cmd.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(started(&mut cmd), limit)
}

/// Starts `cmd` for [`ended`].
pub fn started(cmd: &mut Command) -> Child {
    draws::space(cmd);
    cmd.process_group(0).spawn().unwrap_or_else(|e| panic!("{cmd:?}: {e}"))
}

/// Reads what `child`, which leads its process group, writes to pipes of ours, until it ends, at the latest `limit` from now.
pub fn ended(mut child: Child, limit: Duration) -> Run {
    let (start, pid) = (Instant::now(), child.id() as i32);
    let read = |r: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut v = Vec::new();
            let _ = r.map(|mut r| r.read_to_end(&mut v));
            String::from_utf8_lossy(&v).into_owned()
        })
    };
    let o = read(child.stdout.take().map(|o| Box::new(o) as _));
    let e = read(child.stderr.take().map(|e| Box::new(e) as _));
    let mut hung = false;
    let status = loop {
        if let Some(s) = child.try_wait().expect("waiting for a child") {
            break s;
        }
        if start.elapsed() > limit {
            hung = true;
            // SAFETY: signals the process group of the child.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
            break child.wait().expect("waiting for a child");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    // SAFETY: as above; grandchildren that still hold the pipes would keep the readers.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
    let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Run {
        out: o.join().unwrap_or_default(),
        err: e.join().unwrap_or_default(),
        status,
        hung,
        took: start.elapsed(),
    }
}

/// The environment variables that must not leak into runs.
pub fn clean(cmd: &mut Command) {
    for (k, _) in std::env::vars() {
        if ["OMP_", "GOMP_", "PROMP_", "LD_"].iter().any(|p| k.starts_with(p)) {
            cmd.env_remove(k);
        }
    }
}

/// A program with arguments, under the system's libgomp.
pub fn reference(exe: &Path, args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut c = Command::new(exe);
    clean(&mut c);
    c.args(args).envs(env.iter().copied());
    let run = limited(c, LIMIT);
    assert!(!run.hung, "{} {args:?} does not end within the time limit without promp", exe.display());
    run
}

/// The same under promp.
pub fn promp(exe: &Path, args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut c = Command::new(exe);
    clean(&mut c);
    c.args(args).env("LD_PRELOAD", library()).envs(everywhere()).envs(env.iter().copied());
    limited(c, LIMIT)
}

/// Instructions of such a run by one thread, as callgrind counts them.
pub fn instructions(exe: &Path, args: &[&str], env: &[(&str, &str)]) -> f64 {
    let mut c = Command::new("valgrind");
    clean(&mut c);
    c.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(exe).args(args);
    c.env("LD_PRELOAD", library()).env("OMP_NUM_THREADS", "1").envs(env.iter().copied());
    let r = limited(c, Duration::from_secs(300));
    let refs = r.err.split("refs:").nth(1).and_then(|t| t.lines().next());
    refs.and_then(|n| n.trim().replace(',', "").parse().ok()).unwrap_or_else(|| panic!("{exe:?}: {}", r.err))
}

/// Settings that all runs under promp get that do not set them otherwise: PROMP_TEST_WITH, as in
/// "PROMP_MONITOR=trace;PROMP_TUNE=on". With that all sweeps are sweeps with it. And those of [`poison`].
pub fn everywhere() -> Vec<(String, String)> {
    let mut text = std::env::var("PROMP_TEST_WITH").unwrap_or_default();
    if poison() {
        // Failures are rolled back, not made good in place.
        text += ";PROMP_CKPT_POISON=1;PROMP_REPLAY=never";
    }
    let all = text.split(';').filter(|s| !s.is_empty());
    all.map(|s| s.split_once('=').expect("VARIABLE=value")).map(|(k, v)| (k.into(), v.into())).collect()
}

/// PROMP_TEST_POISON=1: the programs are built by promp-cc, which finds what is dead at places of its own,
/// and where that was left out of a checkpoint it is full of NaNs after each rollback and restart.
pub fn poison() -> bool {
    std::env::var_os("PROMP_TEST_POISON").is_some()
}

/// No run of a test takes this long unless it hangs.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A seeded stream of numbers for sampling.
pub struct Seeded(pub u64);

impl Seeded {
    /// The next number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ x >> 31) % n
    }
    /// One of `v`.
    pub fn pick<'a, T>(&mut self, v: &'a [T]) -> &'a T {
        &v[self.below(v.len() as u64) as usize]
    }
}

/// Has the process fewer CPUs by a cgroup's quota than by its affinity mask? promp goes by both, libgomp by the mask.
pub fn cpu_quota() -> bool {
    let read = |f: &str| std::fs::read_to_string(f).unwrap_or_default();
    let (v2, v1) = (read("/sys/fs/cgroup/cpu.max"), read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"));
    v2.starts_with(|c: char| c.is_ascii_digit()) || v1.starts_with(|c: char| c.is_ascii_digit())
}

/// `make test-long` sets PROMP_TEST_LONG: sweeps are larger by this factor.
pub fn scale() -> u64 {
    if long() { 12 } else { 1 }
}

/// Are the long tests asked for (`make test-long`)?
pub fn long() -> bool {
    std::env::var_os("PROMP_TEST_LONG").is_some()
}

/// Part of a long run: PROMP_TEST_ONLY=f90, or mg_c,jacobi, has the programs in whose paths that is.
pub fn is_asked_for(exe: &Path) -> bool {
    let only = std::env::var("PROMP_TEST_ONLY").unwrap_or_default();
    only.split(',').any(|part| exe.to_str().is_some_and(|exe| exe.contains(part)))
}

/// Waits for a package's program or prints why the test is skipped.
pub fn available(what: &str, ok: bool) -> bool {
    if !ok {
        eprintln!("skipped: {what} is not installed and the registry was out of reach");
    }
    ok
}
