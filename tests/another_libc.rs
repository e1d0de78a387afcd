//! Checkpoints that hold all files they need go from one root of the file system to another, whose libc is
//! another build, and back (docs/internals/restart-elsewhere.md). The other libc is a package of the system's
//! registry; where that is out of reach, or no other build is in it, the tests say so and do nothing.

use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

const STEPS: &str = "1500";

/// What a command prints, if it goes well.
fn output(program: &str, args: &[&str], folder: &Path) -> Option<String> {
    let mut c = Command::new(program);
    c.args(args).current_dir(folder);
    let run = limited(c, Duration::from_secs(120));
    (run.status == 0).then_some(run.out)
}

/// The package of another build of libc than the one that is installed: fetched once, while nobody else
/// looks.
fn package() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let alone = || {
        let _others_wait = built::locked(&shared_folder("another-libc").join(".fetched"));
        fetched()
    };
    FOUND.get_or_init(alone).clone()
}

fn fetched() -> Option<PathBuf> {
    let folder = shared_folder("another-libc");
    let kept = || {
        let files = fs::read_dir(&folder).ok()?.flatten().map(|e| e.path());
        let is_one = |p: &PathBuf| p.extension().is_some_and(|e| e == "deb");
        files.into_iter().find(is_one)
    };
    let installed = output("dpkg-query", &["-W", "-f", "${Version}", "libc6"], &folder)?;
    if let Some(file) = kept() {
        let version = output("dpkg-deb", &["-f", text(&file), "Version"], &folder)?;
        if version.trim() != installed.trim() {
            return Some(file);
        }
        fs::remove_file(file).ok()?;
    }
    // A newer one of the same release would do as well.
    let table = output("apt-cache", &["madison", "libc6"], &folder)?;
    let versions = table.lines().filter_map(|l| l.split('|').nth(1)).map(str::trim);
    let release = installed.split('-').next()?;
    let mut others = versions.filter(|v| *v != installed.trim() && v.starts_with(release));
    others.find_map(|v| {
        output("apt-get", &["download", &format!("libc6={v}")], &folder)?;
        kept()
    })
}

/// Another root: libc of another build, and nothing else but promp, the program and what both need.
struct Root {
    scratch: Scratch,
    exe: PathBuf,
}

impl Root {
    fn new(name: &str) -> Option<Self> {
        let folder = shared_folder("another-libc");
        let may = output("unshare", &["--mount", "true"], &folder).is_some();
        if !available("unshare(1), with the right to mount,", may) {
            return None;
        }
        let package = package();
        if !available("another build of libc6", package.is_some()) {
            return None;
        }
        let root = Self { scratch: Scratch::new(name), exe: build("ckpt/elastic.c", &[]) };
        let to = root.folder();
        fs::create_dir_all(&to).expect("a folder");
        let package = package?;
        output("dpkg-deb", &["-x", text(&package), text(&to)], &folder).expect("dpkg-deb");
        // As here, where the folders of libraries are those below /usr, if they are.
        for name in ["lib", "lib64"].iter().filter(|n| Path::new("/").join(n).is_symlink()) {
            let merge = "mkdir -p usr/$0 && cp -a $0/. usr/$0 && rm -r $0 && ln -s usr/$0 $0";
            output("sh", &["-c", merge, name], &to).expect("a folder of libraries");
        }
        for path in ["proc", "dev", "tmp", &text(&root.shared())[1..]] {
            fs::create_dir_all(to.join(path)).expect("a folder");
        }
        fs::create_dir_all(root.shared()).expect("a folder");
        let other = |path: &Path| to.join(path.strip_prefix("/").expect("a path"));
        let copy = |from: &Path| {
            fs::create_dir_all(other(from).parent().expect("a folder")).expect("a folder");
            fs::copy(from, other(from)).expect("a copy");
        };
        for file in [&root.exe, &command(), &library()] {
            copy(file);
            let said = output("ldd", &[text(file)], &folder).expect("ldd");
            let path = |l: &str| l.split_whitespace().find(|w| w.starts_with('/')).map(PathBuf::from);
            // What the package has is not the system's.
            said.lines().filter_map(path).filter(|p| !other(p).exists()).for_each(|p| copy(&p));
        }
        Some(root)
    }

    fn folder(&self) -> PathBuf {
        self.scratch.path("root")
    }

    /// It has the same name in both roots.
    fn shared(&self) -> PathBuf {
        self.scratch.path("shared")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.shared().join(name)
    }

    /// `promp` with these arguments, here or there.
    fn promp(&self, there: bool, args: &[&str]) -> Command {
        if !there {
            let mut c = Command::new(command());
            c.args(args).current_dir("/"); // the other one has it, too
            return c;
        }
        let mounted = "set -e; for d in /proc /dev \"$1\"; do mount --bind $d \"$0$d\"; done; r=$0; shift; \
                       exec chroot \"$r\" \"$@\"";
        let mut c = Command::new("unshare");
        c.args(["--mount", "--propagation", "private", "sh", "-c", mounted]);
        c.args([text(&self.folder()), text(&self.shared()), text(&command())]).args(args);
        c
    }

    fn done(&self, there: bool, args: &[&str]) {
        let run = limited(self.promp(there, args), LIMIT);
        assert_eq!(run.status, 0, "{args:?}: {}", run.err);
    }

    /// The program, killed on one side when it has some checkpoints in `dir`.
    fn killed(&self, there: bool, dir: &Path, options: &[&str]) {
        let mut args = vec!["run", "--threads", "2", "--every", "40ms", "--ckpt", text(dir)];
        args.extend(options.iter().chain(&["--", text(&self.exe), STEPS]));
        let due = |_| promp_image::generation_files(dir).first() > Some(&1);
        let out = self.path("out");
        let _ = fs::remove_file(&out);
        let ended = start_with(self.promp(there, &args), &out, Some(&due), |_| ());
        assert!(ended.is_none(), "{ended:?} {}", messages(&out));
    }

    /// It goes on from `dir` to its end on one side: what it says.
    fn goes_on(&self, there: bool, dir: &Path, want: &str) -> String {
        let out = self.path("out");
        let ended = start(self.promp(there, &["restart", text(dir)]), &out, None).expect("it ends");
        let said = messages(&out);
        assert!(went_well(ended, &said), "{ended}: {said}");
        assert_eq!(read(&out), want, "{said}");
        said
    }
}

#[test]
fn from_one_root_to_another_and_back() {
    let Some(r) = Root::new("anotherlibc") else { return };
    let want = reference(&r.exe, &[STEPS], &[("OMP_NUM_THREADS", "2")]).out;
    let contained = ["--self-contained"];
    for there in [true, false] {
        let side = |name: &str| r.path(&format!("{name}-{there}"));
        let (dir, file, then) = (side("ckpt"), side("file"), side("then"));
        // Killed on this side, it goes on on the other.
        r.killed(!there, &dir, &contained);
        r.done(!there, &["export", text(&dir), "-o", text(&file)]);
        fs::remove_dir_all(&dir).expect("a folder");
        r.done(there, &["import", text(&file), text(&then)]);
        let said = r.goes_on(there, &then, &want);
        assert!(said.contains("libc.so.6 is taken from its copy"), "{said}");
    }
}

#[test]
fn another_libc_is_refused_without_copies() {
    let Some(r) = Root::new("anotherlibcno") else { return };
    let dir = r.path("ckpt");
    r.killed(false, &dir, &[]);
    refused(
        r.promp(true, &["restart", text(&dir)]),
        &r.path("out"),
        "libc.so.6 has changed since the checkpoint",
    );
    // There it still is what it was.
    let want = reference(&r.exe, &[STEPS], &[("OMP_NUM_THREADS", "2")]).out;
    r.goes_on(false, &dir, &want);
}
