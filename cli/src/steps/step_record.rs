//! Which files a step has opened, and what they held: a step is not left out, or continued, if they hold
//! something else now.
//!
//! Of one that has ended, what each held at its end counts, for steps change files. What a later step of the
//! script, or one at the same time, has made of a file is no change: that is left out, too, or finds it
//! itself. Of one that was cut, only what it has read and nobody in the run has written is compared: what it
//! has written itself, the restart looks after.

use super::redirections::{Stream, Streams};
use super::step_place::{Place, beside};
use promp_calls::file_list::{self, Held};
use promp_files::replace;
use promp_image::Word;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The version of the record's form.
const FORMAT: u32 = 1;
/// No list and no record is longer.
const LONGEST: u64 = 256 << 20;

/// What a step has left behind.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    format: u32,
    /// The files that it has opened, and what they held.
    files: Vec<(Word, Held)>,
    /// Where in its standard input it began and ended, if that is a regular file.
    input: Option<(i64, i64)>,
    /// Has it read from its standard input, if that is a pipe?
    pub(super) has_read: bool,
}

/// Where in its standard input this process is, if that is a regular file.
pub(super) fn offset(streams: &Streams) -> Option<i64> {
    // SAFETY: plain call.
    let at = unsafe { libc::lseek(0, 0, libc::SEEK_CUR) };
    (matches!(streams.input(), Stream::File(_)) && at >= 0).then_some(at)
}

impl Record {
    /// Writes that of the step, which has ended by itself. `begin`: where it began in its input.
    pub(super) fn write(
        place: &Place,
        streams: &Streams,
        begin: Option<i64>,
        has_read: bool,
    ) -> io::Result<()> {
        let paths: BTreeSet<PathBuf> =
            list(&place.dir)?.into_iter().map(|(path, _)| path_of(&path)).collect();
        let files = paths.into_iter().map(|p| (p.as_os_str().as_bytes().into(), content(&p))).collect();
        let input = begin.zip(offset(streams));
        let record = Self { format: FORMAT, files, input, has_read };
        replace(&place.beside("ended"), &serde_json::to_vec(&record)?)
    }

    /// That of the step at `dir`. None: there is none, or it cannot be read.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        let text = promp_files::read(&beside(dir, "ended"), LONGEST).ok()?;
        let record: Self = serde_json::from_slice(&text).ok()?;
        (record.format == FORMAT).then_some(record)
    }

    /// The input is where the step found it: it is where the step has left it from now on. Or why it is not.
    pub(super) fn go_to_input(&self, streams: &Streams) -> Result<(), String> {
        let Some((begin, end)) = self.input else { return Ok(()) };
        if offset(streams) != Some(begin) {
            return Err("its standard input is at another place".into());
        }
        // SAFETY: plain call.
        unsafe { libc::lseek(0, end, libc::SEEK_SET) };
        Ok(())
    }
}

/// Notes files that the step has not opened itself: the program, what it is started with.
pub(super) fn note(place: &Place, program: &Path, streams: &Streams) -> io::Result<()> {
    let mut how = OpenOptions::new();
    let mut list = how.append(true).create(true).mode(0o600).open(place.beside("files"))?;
    let input = match streams.input() {
        Stream::File(path) => Some(path.as_path()),
        _ => None,
    };
    let read = [Some(program), input].into_iter().flatten().map(|p| (p, false));
    let written = streams.output_files().map(|(_, p)| (p, true));
    for (path, writes) in read.chain(written) {
        let path = path.canonicalize().unwrap_or_else(|_| path.into());
        let held = if writes { Held::Any } else { content(&path) };
        let entry = [&held.head()[..], path.as_os_str().as_bytes(), b"\0"].concat();
        promp_files::within_limit(|| list.write_all(&entry))?;
    }
    Ok(())
}

/// What `path` holds, if it is a regular file.
fn content(path: &Path) -> Held {
    let file = promp_files::open(path, libc::O_RDONLY | libc::O_NONBLOCK).ok();
    file.and_then(|f| Held::of(f.as_raw_fd())).unwrap_or(Held::Nothing)
}

/// What the step at `dir` has opened.
fn list(dir: &Path) -> io::Result<Vec<(PathBuf, Held)>> {
    match promp_files::read(&beside(dir, "files"), LONGEST) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        text => file_list::parse(&text?),
    }
}

/// One name for each file: its folder without links.
fn path_of(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|p| p.canonicalize().ok());
    folder.zip(path.file_name()).map_or_else(|| path.into(), |(folder, name)| folder.join(name))
}

fn written(all: &[(PathBuf, Held)]) -> BTreeSet<PathBuf> {
    all.iter().filter(|(_, held)| *held == Held::Any).map(|(path, _)| path_of(path)).collect()
}

/// The file that is another than it was for the step, if there is one.
pub(super) fn changed(place: &Place, record: Option<&Record>) -> io::Result<Option<PathBuf>> {
    let (own, later) = (list(&place.dir)?, place.later());
    let Some(record) = record else { return changed_before_the_end(&own, &later) };
    // What the last of the later steps has left.
    let mut left: BTreeMap<PathBuf, Held> = BTreeMap::new();
    for dir in &later {
        let (written, Some(record)) = (written(&list(dir)?), Record::read(dir)) else { continue };
        let all = record.files.into_iter().map(|(path, held)| (PathBuf::from(path.as_os_str()), held));
        left.extend(all.filter(|(path, _)| written.contains(path)));
    }
    // One that was cut may have left anything in what it writes.
    let cut = later.iter().filter(|dir| Record::read(dir).is_none());
    let cut = cut.map(|dir| Ok(written(&list(dir)?))).collect::<io::Result<Vec<_>>>()?;
    let same = |path: &PathBuf, held: &Held| {
        let now = content(path);
        now == *held || left.get(path) == Some(&now) || cut.iter().any(|written| written.contains(path))
    };
    let files = record.files.iter().map(|(path, held)| (PathBuf::from(path.as_os_str()), held));
    Ok(files.into_iter().find(|(path, held)| !same(path, held)).map(|(path, _)| path))
}

/// Of a step that was cut, or has ended without a record.
fn changed_before_the_end(own: &[(PathBuf, Held)], later: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    let mut excepted = written(own);
    for dir in later {
        excepted.extend(written(&list(dir)?));
    }
    // The last time that it was opened counts.
    let read: BTreeMap<PathBuf, Held> = own.iter().map(|(path, held)| (path_of(path), *held)).collect();
    let other = |(path, held): &(PathBuf, Held)| !excepted.contains(path) && content(path) != *held;
    Ok(read.into_iter().find(other).map(|(path, _)| path))
}

/// Is the output file behind `fd` shorter than it was when a step that was cut wrote to it? Then somebody has
/// emptied it.
pub(super) fn emptied(fd: i32, length: u64) -> bool {
    fs::metadata(format!("/proc/self/fd/{fd}")).is_ok_and(|m| m.len() < length)
}
