//! `DIR/run`: what `promp run` started with its checkpoints in this directory, so that only this is
//! continued; and `DIR/owner`: which process of that run the checkpoints are of.

use crate::Word;
use crate::directory::{open_directory, open_if_there};
use crate::scripts::{self, Script};
use promp_files::{open_in, remove_in, rename_in};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The record's name.
pub const FILE: &str = "run";
/// The name of the owner's record.
pub const OWNER: &str = "owner";
/// What such a file is called until it is whole.
pub(crate) const ASIDE: &str = "new-run";
/// The value (sigqueue(3)) with which `promp run` passes a signal on to a process that is not its child.
pub const PASSED_ON: usize = 0x7072_6f6d;
/// The version of the records' form.
const FORMAT: u32 = 1;
/// Longer than any command line can be made.
const LONGEST: u64 = 64 << 20;

/// What was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    format: u32,
    /// The version of promp that wrote it.
    pub(crate) promp: String,
    /// The command as it was typed.
    pub command: Vec<Word>,
    /// Its program's file, without links.
    pub program: Word,
    /// By which name it was called: its folder without links, and the last word of its path.
    #[serde(default)]
    called: Option<Word>,
    /// The working directory, without links.
    pub(crate) directory: Word,
    /// The scripts that the command names.
    #[serde(default)]
    scripts: Vec<Script>,
    /// What tells this run from all others.
    pub nonce: String,
}

/// Whose the checkpoints are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    format: u32,
    /// The run's number ([`Run::nonce`]).
    pub nonce: String,
    /// The process.
    pub pid: u32,
    /// Is it the one that was started, rather than a descendant?
    pub started: bool,
    /// Its program's file.
    pub program: Word,
}

impl Run {
    /// A new run of `command`, whose program is `program`, from the working directory.
    pub fn new(command: &[OsString], program: &Path) -> io::Result<Self> {
        let word = |w: &Path| Word::from(w.as_os_str().as_bytes());
        Ok(Self {
            format: FORMAT,
            promp: env!("CARGO_PKG_VERSION").into(),
            command: command.iter().map(|w| Word::from(w.as_bytes())).collect(),
            program: word(&program.canonicalize()?),
            called: called(program).map(|path| word(&path)),
            directory: word(&std::env::current_dir()?.canonicalize()?),
            scripts: scripts::of(command, program),
            nonce: nonce()?,
        })
    }

    /// The record of `dir`, if there is one. What cannot be read is no record of anything.
    pub fn read(dir: &Path) -> Result<Option<Self>, String> {
        read(dir, FILE)
    }

    /// Writes it: aside, synced, renamed.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        write(dir, FILE, self)
    }

    /// The command, for people.
    pub(crate) fn shown(&self) -> String {
        self.command.iter().map(Word::to_string).collect::<Vec<_>>().join(" ")
    }

    /// What was typed as the program, without its folders.
    pub fn name(&self) -> String {
        self.command.first().map_or_else(String::new, last_part)
    }

    /// What is another in `now`: which command, program or directory this was.
    pub fn difference(&self, now: &Self) -> Option<String> {
        if !self.is_called_as(now) || self.command.get(1..) != now.command.get(1..) {
            return Some(format!("another command ({})", self.shown()));
        }
        if self.program != now.program {
            return Some(format!("another program ({}; now {})", self.program, now.program));
        }
        let (was, is) = (&self.directory, &now.directory);
        if was != is {
            return Some(format!("this command in another working directory ({was}; now {is})"));
        }
        scripts::changed(&self.scripts, &now.scripts)
            .map(|path| format!("this command with another text of {path}"))
    }

    /// By another path to the same name in the same folder it is the same program. By another name it may
    /// do something else, and a link in another folder may be what makes it so (Python's environments).
    fn is_called_as(&self, now: &Self) -> bool {
        match (&self.called, &now.called) {
            (Some(was), Some(is)) => was == is,
            _ => self.command.first() == now.command.first(),
        }
    }
}

fn called(program: &Path) -> Option<PathBuf> {
    let folder = program.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(program.file_name()?))
}

impl Owner {
    /// Process `pid`, which executes `program`.
    pub fn new(nonce: &str, pid: u32, started: bool, program: &str) -> Self {
        Self { format: FORMAT, nonce: nonce.into(), pid, started, program: program.as_bytes().into() }
    }

    /// The record of `dir`, if there is one.
    pub fn read(dir: &Path) -> Result<Option<Self>, String> {
        read(dir, OWNER)
    }

    /// Writes it: aside, synced, renamed.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        write(dir, OWNER, self)
    }

    /// Whose the checkpoints in `dir` are, for people: a descendant's of what `run` has started; `ended`: it
    /// was, and `run` was to be continued.
    pub fn is_not_the_started(&self, run: &Run, dir: &Path, ended: bool) -> String {
        let (dir, name, start) = (dir.display(), last_part(&self.program), run.name());
        if ended {
            return format!(
                "the checkpoints in {dir} were those of {name} ({}), started by {start}: it has ended by \
                 itself, and {start} cannot be continued (--steps can). Without --resume it begins anew.",
                self.pid
            );
        }
        format!(
            "checkpoints in {dir} are those of {name} ({}), started by {start}: a restart (`promp restart \
             {dir}`) continues {name}, not {start}. Give --steps, or put promp run in front of {name} there.",
            self.pid
        )
    }
}

fn last_part(path: &Word) -> String {
    let name = Path::new(path.as_os_str()).file_name().unwrap_or(path.as_os_str());
    Word::from(name.as_bytes()).to_string()
}

/// What PROMP_RUN says: its fields, with colons between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started<'a> {
    /// The process.
    pub pid: u32,
    /// The number of its run.
    pub nonce: &'a str,
    /// When: nanoseconds since 1970, of the clock that times of files are of.
    pub began_ns: u64,
    /// What [`faults_of_children`] was for the process then.
    pub children: u64,
    /// Has been said that promp has no part in the program?
    pub said: bool,
}

impl<'a> Started<'a> {
    /// The calling process, which goes on as that of run `nonce`.
    pub fn now(nonce: &'a str, said: bool) -> Self {
        let (pid, began_ns) = (std::process::id(), coarse_now());
        Self { pid, nonce, began_ns, children: faults_of_children(), said }
    }

    /// Its child, process `pid`.
    pub fn child(self, pid: u32) -> Self {
        Self { pid, children: 0, ..self }
    }

    /// Of the variable's value.
    pub fn parse(value: &'a str) -> Option<Self> {
        let mut fields = value.split(':');
        let pid = fields.next()?.parse().ok()?;
        let nonce = fields.next()?;
        let mut number = || fields.next()?.parse().ok();
        let (began_ns, children) = (number().unwrap_or(0), number().unwrap_or(0));
        Some(Self { pid, nonce, began_ns, children, said: number() == Some(1) })
    }

    /// The variable's value.
    pub fn value(&self) -> String {
        let Self { pid, nonce, began_ns, children, said } = self;
        format!("{pid}:{nonce}:{began_ns}:{children}:{}", u32::from(*said))
    }
}

/// The time, by the clock that times of files are of.
pub fn coarse_now() -> u64 {
    // SAFETY: zeros are a value of it; the kernel writes it.
    let t = unsafe {
        let mut t: libc::timespec = core::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut t);
        t
    };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Page faults of the process' children that have been waited for: each has some. They count on through
/// exec.
pub fn faults_of_children() -> u64 {
    // SAFETY: zeros are a value of it; the kernel writes it.
    unsafe {
        let mut used: libc::rusage = core::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut used);
        used.ru_minflt as u64
    }
}

/// A number that no other run has.
pub fn nonce() -> io::Result<String> {
    Ok(format!("{:016x}", promp_files::random()?))
}

fn read<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<Option<T>, String> {
    #[derive(Deserialize)]
    struct Form {
        format: u32,
    }
    let path = dir.join(name);
    let shown = path.display();
    let Some(file) = open_if_there(dir, name)? else { return Ok(None) };
    let mut text = Vec::new();
    let read = file.take(LONGEST).read_to_end(&mut text);
    read.map_err(|e| format!("{shown} cannot be read: {}", e.kind()))?;
    let damaged = |e| format!("{shown} is damaged, or no record of promp's ({e})");
    let form: Form = serde_json::from_slice(&text).map_err(damaged)?;
    if form.format != FORMAT {
        let n = form.format;
        return Err(format!("{shown} is of another version of promp (form {n}, expected {FORMAT})"));
    }
    serde_json::from_slice(&text).map(Some).map_err(damaged)
}

fn write(dir: &Path, name: &str, what: &impl Serialize) -> io::Result<()> {
    write_aside(dir, name, ASIDE, &serde_json::to_vec(what)?)
}

/// Writes a file of a checkpoint directory: to `aside`, synced, renamed.
pub(crate) fn write_aside(dir: &Path, name: &str, aside: &str, text: &[u8]) -> io::Result<()> {
    let (folder, aside) = (open_directory(dir).map_err(io::Error::other)?, OsStr::new(aside));
    match remove_in(&folder, aside) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let mut file = File::from(open_in(&folder, aside, flags, 0o600)?);
    promp_files::within_limit(|| file.write_all(text))?;
    file.sync_all()?;
    rename_in(&folder, aside, name.as_ref())?;
    folder.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

    fn scratch(name: &str) -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("promp-{name}-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&dir).unwrap();
        dir
    }

    fn run(words: &[&[u8]]) -> Run {
        let words: Vec<OsString> = words.iter().map(|w| OsString::from_vec(w.to_vec())).collect();
        Run::new(&words, Path::new("/proc/self/exe")).unwrap()
    }

    #[test]
    fn what_was_started_is_said_in_a_word() {
        let s = Started { said: true, ..Started::now("00ff", false) };
        assert_eq!(Started::parse(&s.value()), Some(s));
        let child = s.child(7);
        assert_eq!(Started::parse(&child.value()).map(|c| (c.pid, c.children)), Some((7, 0)));
        assert_eq!(Started::parse("12:ab").map(|s| (s.pid, s.nonce, s.said)), Some((12, "ab", false)));
        for bad in ["", "12", ":", "x:1", "-1:2"] {
            assert_eq!(Started::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let dir = scratch("run-record");
        assert_eq!(Run::read(&dir), Ok(None));
        let r = run(&[b"./a", b"", b"\xff b", b"x\ny"]);
        fs::write(dir.join(ASIDE), "half").unwrap();
        r.write(&dir).unwrap();
        assert_eq!(Run::read(&dir), Ok(Some(r.clone())));
        assert_eq!(fs::metadata(dir.join(FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        let o = Owner::new(&r.nonce, 7, false, "/bin/a");
        o.write(&dir).unwrap();
        assert_eq!(Owner::read(&dir), Ok(Some(o)));
        assert!(!dir.join(ASIDE).exists());
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let dir = scratch("no-record");
        let r = run(&[b"a"]);
        r.write(&dir).unwrap();
        let whole = fs::read(dir.join(FILE)).unwrap();
        let with = |text: &[u8]| {
            fs::write(dir.join(FILE), text).unwrap();
            Run::read(&dir)
        };
        for n in 0..whole.len() {
            assert!(with(&whole[..n]).is_err_and(|e| e.contains("damaged")), "{n}");
        }
        let newer = String::from_utf8_lossy(&whole).replace("\"format\":1", "\"format\":2");
        assert!(with(newer.as_bytes()).is_err_and(|e| e.contains("another version")));
        assert!(with(br#"{"format":2,"else":0}"#).is_err_and(|e| e.contains("another version")));
        assert!(with(b"the user's own").is_err_and(|e| e.contains("no record")));
        assert_eq!(with(&whole), Ok(Some(r)));
        // Neither followed nor believed.
        fs::rename(dir.join(FILE), dir.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.join(FILE)).unwrap();
        assert!(Run::read(&dir).is_err_and(|e| e.contains("symbolic link")));
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_differs_is_named() {
        let r = run(&[b"./a", b"1"]);
        assert_eq!(r.difference(&run(&[b"./a", b"1"])), None, "another nonce is no difference");
        for other in [&[&b"./a"[..], b"2"][..], &[b"./a"], &[b"./a", b"1", b""], &[b"./a 1"]] {
            let said = run(other).difference(&r).unwrap();
            assert!(said.starts_with("another command"), "{said}");
        }
        assert_eq!(run(&[b"a", b"1"]).difference(&r), None, "called by another path");
        let other = Run { called: Some("/bin/b".as_bytes().into()), ..r.clone() };
        assert!(other.difference(&r).is_some_and(|d| d.contains("another command")));
        let older = Run { called: None, ..run(&[b"a", b"1"]) };
        assert!(older.difference(&r).is_some_and(|d| d.contains("another command")));
        let program = Run { program: "/x/a".as_bytes().into(), ..r.clone() };
        assert!(program.difference(&r).is_some_and(|d| d.contains("another program (/x/a")));
        let directory = Run { directory: "/x".as_bytes().into(), ..r.clone() };
        assert!(directory.difference(&r).is_some_and(|d| d.contains("working directory (/x;")));
    }
}
