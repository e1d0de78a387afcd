//! A wheel beside a newer package: two versions of promp in one tree of processes. Each command runs its own,
//! and a process has one of them.

use crate::common::prefix::Installed;
use crate::common::saved::{Scratch, text};
use crate::common::*;
use std::fs;
use std::path::PathBuf;

const THREADS: (&str, &str) = ("OMP_NUM_THREADS", "4");
const REGIONS: &str = include_str!("../c-tests/install/regions.c");
const VERSION: &str = include_str!("../c-tests/install/version.c");
/// Writes the files of the wheel below a folder.
const WHEEL: &str = "
import pathlib, sys
sys.path.insert(0, 'tools')
from packing import wheel
to = pathlib.Path(sys.argv[1])
for name, (data, mode) in wheel.contents(to / 'made').items():
    path = to / 'site' / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
";

/// A package of version 2.00, the wheel of this one, and programs.
struct Both {
    _wheel: Scratch,
    site: String,
    package: Installed,
    regions: PathBuf,
    version: PathBuf,
}

impl Both {
    fn new(name: &str) -> Self {
        let wheel = Scratch::new(&format!("{name}-wheel"));
        let mut c = std::process::Command::new("python3");
        c.args(["-c", WHEEL, text(&wheel.0)]).current_dir(root());
        let made = limited(c, LIMIT);
        assert_eq!(made.status, 0, "{}", made.err);
        let package = Installed::moved(name);
        package.make_newer();
        let include = format!("-I{}", root().join("include").display());
        Self {
            site: text(&wheel.path("site")).into(),
            _wheel: wheel,
            package,
            regions: compiled("install", "regions", REGIONS, &["-fopenmp"]),
            version: compiled("install", "version", VERSION, &["-fopenmp", &include]),
        }
    }

    /// A script: $P is the package's command, $V and $R the programs, and `wheel` the wheel's command.
    fn run(&self, script: &str, env: &[(&str, &str)]) -> Run {
        let promp = self.package.file("bin/promp");
        let script = format!("wheel() {{ python3 -m promp \"$@\"; }}\n{script}");
        let names = [("P", &promp), ("V", &self.version), ("R", &self.regions)].map(|(n, p)| (n, text(p)));
        let env = [&names[..], &[("PYTHONPATH", &self.site), THREADS], env].concat();
        self.package.run("bash", &["-c", &script], &env)
    }
}

#[test]
fn each_command_runs_its_own() {
    let b = Both::new("beside");
    let path = b.package.file("lib/promp/libgomp.so.1");
    let path = ("LD_LIBRARY_PATH", text(path.parent().expect("a folder")));
    for (script, env, want) in [
        ("$V; \"$P\" run $V; wheel run $V", &[][..], "0\n200\n100\n"),
        ("\"$P\" run python3 -m promp run $V; wheel run \"$P\" run $V", &[], "100\n200\n"),
        ("\"$P\" run bash -c '$V; python3 -m promp run $V; $V'", &[], "200\n100\n200\n"),
        (
            "wheel run bash -c '$V; \"$P\" run bash -c \"$V; python3 -m promp run $V\"; $V'",
            &[],
            "100\n200\n100\n100\n",
        ),
        ("\"$P\" run --steps --ckpt c bash -c '$V; python3 -m promp run $V; $V'", &[], "200\n100\n200\n"),
        ("$V; wheel run $V; \"$P\" run $V", &[path], "200\n100\n200\n"),
    ] {
        let run = b.run(script, env);
        assert_eq!((run.status, &*run.out), (0, want), "{script}: {}", run.err);
    }
}

/// What one has saved the other continues.
#[test]
fn checkpoints_of_the_other_one() {
    let b = Both::new("beside-saved");
    let want = reference(&b.regions, &[], &[THREADS]).out;
    let options = "--every 10ms --fault die@region=120 --ckpt c";
    for (first, second) in [
        (format!("\"$P\" run {options} $R"), "wheel restart c"),
        (format!("wheel run {options} $R"), "\"$P\" run --resume --ckpt c $R"),
        ("true".into(), "\"$P\" run --every 10ms --ckpt c python3 -m promp run $R"),
    ] {
        let run = b.run(&format!("rm -rf c out; {first} >>out; {second} >>out; s=$?; cat out; exit $s"), &[]);
        assert_eq!((run.status, &run.out), (0, &want), "{first}; {second}: {}", run.err);
    }
}

/// The package is replaced by the older version while a run is interrupted: that is said, and nothing is
/// continued.
#[test]
fn a_package_that_was_exchanged() {
    let b = Both::new("beside-exchanged");
    let library = b.package.file("lib/libpromp.so.0").canonicalize().expect("the library");
    let died = b.run("\"$P\" run --every 10ms --fault die@region=120 --ckpt c $R", &[]);
    assert_eq!(died.status, 137, "{}", died.err);
    fs::remove_file(&library).expect("it is there");
    fs::copy(format!("{}/promp/lib/libpromp.so.0", b.site), &library).expect("writable");
    let run = b.run("\"$P\" restart c", &[]);
    assert!(run.status == 71 && run.err.contains(text(&library)), "{run:?}");
}
