//! Programs that tests share are built once, whoever asks first: each test is a process of its own, and
//! several run at the same time.
//!
//! Beside a program lies `.NAME.built`, which is locked while somebody builds or looks. It holds a number for
//! all that the program was made from: the request, the compiler, the files that were read, and the program
//! as it was left. A program of another number is built again, beside the old one, and then takes its place.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a program is made from.
pub struct Request<'a> {
    /// The program.
    pub exe: &'a Path,
    /// A program's name or its path.
    pub compiler: &'a Path,
    /// Whatever else decides what comes out.
    pub words: &'a [&'a str],
}

/// Builds it unless it is of today. `make` is given where to put it, and where to say what it has read (in
/// the form that `-MMD -MF` has).
pub fn once(request: &Request, make: impl FnOnce(&Path, &Path)) {
    let name = request.exe.file_name().expect("a program").display();
    let mut stamp = locked(&request.exe.with_file_name(format!(".{name}.built")));
    let mut old = String::new();
    stamp.read_to_string(&mut old).expect("target is readable");
    if old.split_once('\n').is_some_and(|(number, read)| number == request.number(read)) {
        return;
    }
    let tmp = request.exe.with_file_name(format!(".{name}.new"));
    let read = request.exe.with_file_name(format!(".{name}.d"));
    make(&tmp, &read);
    fs::rename(&tmp, request.exe).expect("moving the program");
    let read = prerequisites(&fs::read_to_string(&read).unwrap_or_default());
    stamp.rewind().and_then(|()| stamp.set_len(0)).expect("target is writable");
    write!(stamp, "{}\n{read}", request.number(&read)).expect("target is writable");
}

/// Opens a file that nobody else has locked so; closing it unlocks it.
pub fn locked(path: &Path) -> fs::File {
    let opened = fs::File::options().read(true).write(true).create(true).truncate(false).open(path);
    let file = opened.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    file.lock().unwrap_or_else(|e| panic!("locking {}: {e}", path.display()));
    file
}

impl Request<'_> {
    /// A number for it as it is now; `read` has a line for each file that was read.
    fn number(&self, read: &str) -> String {
        let mut all = DefaultHasher::new();
        (self.words, age(self.exe), age(&self.found())).hash(&mut all);
        let named = self.words.iter().filter(|w| w.starts_with('/')).copied();
        for file in read.lines().chain(named) {
            (file, fs::read(file).ok()).hash(&mut all);
        }
        format!("{:016x}", all.finish())
    }

    /// Where the compiler is.
    fn found(&self) -> PathBuf {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&path).map(|folder| folder.join(self.compiler));
        places.find(|p| p.exists()).unwrap_or_else(|| self.compiler.into())
    }
}

/// When a file was written, and its size.
fn age(path: &Path) -> Option<(SystemTime, u64)> {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// The files behind the colon of a rule for make, a line each.
fn prerequisites(rule: &str) -> String {
    let files = rule.split_once(": ").map_or("", |(_, files)| files);
    files.split_whitespace().filter(|word| *word != "\\").map(|file| format!("{file}\n")).collect()
}
