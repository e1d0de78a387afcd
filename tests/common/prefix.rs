//! An installation of what was built, in a folder of its own, as `make install` makes it.

use super::saved::{Scratch, text};
use super::*;
use std::fs;

/// Where promp is installed; removed at the test's end.
pub struct Installed {
    scratch: Scratch,
    /// The prefix: its name has a blank.
    pub prefix: PathBuf,
}

/// `make install` or `make uninstall` with these variables: tools/install.py does it.
pub fn make(what: &str, variables: &[(&str, &str)]) -> Run {
    let mut c = Command::new("python3");
    for name in ["PREFIX", "DESTDIR", "LIBDIR", "PARTS"] {
        c.env_remove(name);
    }
    c.arg(root().join("tools/install.py")).arg(what).envs(variables.iter().copied());
    limited(c, LIMIT)
}

impl Installed {
    /// Installed below one folder, and moved to another.
    pub fn moved(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let (first, prefix) = (scratch.path("first"), scratch.path("moved here"));
        let run = make("install", &[("PREFIX", text(&first))]);
        assert_eq!(run.status, 0, "{}", run.err);
        fs::rename(&first, &prefix).expect("it can be moved");
        Self { scratch, prefix }
    }

    /// Gives it the library of a newer version.
    pub fn make_newer(&self) {
        for library in ["lib/libpromp.so.0", "lib/promp/libgomp.so.1"] {
            let file = self.file(library).canonicalize().expect("it is there");
            let bytes = newer(&file);
            fs::remove_file(&file).and_then(|()| fs::write(&file, bytes)).expect("writable");
        }
    }

    /// One of its files.
    pub fn file(&self, path: &str) -> PathBuf {
        let file = self.prefix.join(path);
        assert!(file.exists(), "{} is not installed", file.display());
        file
    }

    /// A path beside the prefix.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    /// A command of it, or another program, with nothing of promp's in the environment.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> Command {
        let mut c = Command::new(program);
        clean(&mut c);
        c.args(args).current_dir(&self.scratch.0);
        c
    }

    /// The same, run.
    pub fn run(&self, program: impl AsRef<std::ffi::OsStr>, args: &[&str], env: &[(&str, &str)]) -> Run {
        let mut c = self.command(program, args);
        c.envs(env.iter().copied());
        limited(c, LIMIT)
    }
}

/// A folder in `folder` that has the wheel's module.
pub fn python_site(folder: &Path) -> PathBuf {
    let site = folder.join("site");
    fs::create_dir_all(site.join("promp")).expect("target is writable");
    let text = fs::read_to_string(root().join("packaging/wheel/__init__.py")).expect("the module");
    let text = text.replace("{version}", env!("CARGO_PKG_VERSION"));
    fs::write(site.join("promp/__init__.py"), text).expect("target is writable");
    site
}

/// The library with another version: 2.00.
pub fn newer(library: &Path) -> Vec<u8> {
    let mut bytes = fs::read(library).expect("the library");
    // What answers promp_version: `mov eax, 100; ret`.
    let code = [0xb8, 100, 0, 0, 0, 0xc3];
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(&code)).collect();
    assert!(!places.is_empty(), "its code");
    places.iter().for_each(|at| bytes[at + 1] = 200);
    bytes
}

/// Everything below a folder, by its path there.
pub fn below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            let path = entry.path();
            found.push(path.strip_prefix(folder).expect("is below it").display().to_string());
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                todo.push(path);
            }
        }
    }
    found.sort();
    found
}
