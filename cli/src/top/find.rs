//! Which process to watch, and why one cannot be watched.

use crate::{Failure, library, process_stat};
use promp_report::live::{self, Snapshot, View};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

/// More than a live file has.
const LONGEST: u64 = 1 << 30;
/// A header is shorter.
const FRONT: usize = 4096;

/// A process that is being measured.
pub struct Watched {
    /// Its number.
    pub pid: u32,
    path: String,
    file: File,
}

/// The process with this number, or the only one of the user's that is measured.
pub fn find(pid: Option<u32>) -> Result<Watched, Failure> {
    if let Some(pid) = pid {
        return open(pid);
    }
    let uid = user();
    let prefix = live::prefix(uid);
    let mut pids: Vec<u32> = fs::read_dir(live::DIRECTORY)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok())
        .collect();
    pids.sort_unstable();
    let mut found: Vec<Watched> = pids.into_iter().filter_map(|p| open(p).ok()).collect();
    match found.len() {
        0 => Err(Failure::new(
            66,
            "no program of yours is being measured; start it with `promp run --monitor -- CMD` \
             (PROMP_MONITOR=segments)",
        )),
        1 => Ok(found.remove(0)),
        _ => {
            let all: Vec<String> =
                found.iter().map(|w| format!("\n  {:>8}  {}", w.pid, program(w.pid))).collect();
            Err(Failure::new(64, format!("which one? `promp top PID`, with one of{}", all.concat())))
        }
    }
}

/// Opens the live file of a process that must be there, be ours, and be measured.
fn open(pid: u32) -> Result<Watched, Failure> {
    let no = |why: String| Failure::new(66, why);
    let Ok(meta) = fs::metadata(format!("/proc/{pid}")) else {
        return Err(no(format!("there is no process {pid}: it has ended, or never was")));
    };
    let (uid, us) = (meta.uid(), user());
    if uid != us && us != 0 {
        return Err(no(format!(
            "process {pid} belongs to user {uid}: only that user and root can look at it"
        )));
    }
    let path = live::path(uid, pid);
    let file = match opened(pid, Path::new(&path)) {
        Ok(f) => f,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(no(unmeasured(pid))),
        Err(e) => return Err(no(format!("{path}, the live file of process {pid}, cannot be read: {e}"))),
    };
    let meta = file.metadata().map_err(|e| no(format!("{path}: {e}")))?;
    if !meta.is_file() || meta.uid() != uid {
        return Err(no(format!(
            "{path} is not a file of process {pid}'s: it belongs to user {}",
            meta.uid()
        )));
    }
    let watched = Watched { pid, path, file };
    let first = watched.snapshot()?;
    let header = (first.header.pid, first.header.process_start);
    if header != (u64::from(pid), started(pid).unwrap_or(0)) {
        return Err(no(format!(
            "{} was left behind by an earlier process {pid}; this one, {}, is not measured",
            watched.path,
            program(pid)
        )));
    }
    Ok(watched)
}

/// The live file at `path`: a link to a descriptor of the process's own, which may have been closed since.
fn opened(pid: u32, path: &Path) -> io::Result<File> {
    let own = format!("/proc/{pid}/fd/");
    let is_own = |to: &PathBuf| to.to_str().and_then(|t| t.strip_prefix(&own)?.parse::<u32>().ok()).is_some();
    let to = fs::read_link(path).ok().filter(is_own);
    let flags = if to.is_some() { libc::O_NONBLOCK } else { libc::O_NOFOLLOW | libc::O_NONBLOCK };
    let file = OpenOptions::new().read(true).custom_flags(flags).open(to.as_deref().unwrap_or(path));
    match file {
        Err(e) if to.is_some() && e.kind() == io::ErrorKind::NotFound => {
            Err(io::Error::other("the program has closed it"))
        }
        file => file,
    }
}

/// Why a process has no live file.
fn unmeasured(pid: u32) -> String {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let with = maps.lines().any(|m| library::is_a_promp(m.as_bytes()));
    format!(
        "process {pid} ({}) {}; start it with `promp run --monitor -- CMD` (PROMP_MONITOR=segments)",
        program(pid),
        if with { "runs with promp, but is not measured" } else { "does not run with promp" }
    )
}

impl Watched {
    /// What the file says now. It is read, not mapped: somebody may cut it.
    pub fn snapshot(&self) -> Result<Snapshot, Failure> {
        let bad = |why: String| Failure::new(65, format!("{}: {why}", self.path));
        let length = self.file.metadata().map_err(|e| bad(e.to_string()))?.len();
        if length > LONGEST {
            return Err(bad(format!("it has {length} bytes, expected at most {LONGEST}")));
        }
        let mut bytes = vec![0; length as usize & !7];
        // The counts stand in front, and are read before the rows that they count.
        let (front, rest) = bytes.split_at_mut(FRONT.min(length as usize & !7));
        let read =
            self.file.read_exact_at(front, 0).and_then(|()| self.file.read_exact_at(rest, FRONT as u64));
        read.map_err(|e| bad(e.to_string()))?;
        let word = |w: &[u8; 8]| AtomicU64::new(u64::from_ne_bytes(*w));
        let words: Vec<AtomicU64> = bytes.as_chunks().0.iter().map(word).collect();
        View::new(&words).map(|v| v.read()).map_err(|e| bad(e.to_string()))
    }

    /// Is it the process that it was when it was found?
    pub fn alive(&self, snapshot: &Snapshot) -> bool {
        started(self.pid) == Some(snapshot.header.process_start)
    }
}

fn user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// When a process began: the 22nd field of its stat, behind a name that may hold anything. Nothing for a dead
/// one that nobody has waited for.
fn started(pid: u32) -> Option<u64> {
    let fields = process_stat::fields(pid).filter(|f| !process_stat::has_ended(f))?;
    fields.get(19)?.parse().ok()
}

/// The program that a process runs.
pub fn program(pid: u32) -> String {
    match fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(p) => p.display().to_string(),
        Err(_) => fs::read_to_string(format!("/proc/{pid}/comm"))
            .map(|c| c.trim().to_owned())
            .unwrap_or_else(|_| "?".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_a_beginning() {
        assert!(started(std::process::id()).is_some_and(|s| s > 0));
        assert_eq!(started(0), None);
    }
}
