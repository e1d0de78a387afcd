//! Undoing what was noted. By the keeper, while the threads are frozen or, in a restart, before there are any.

use super::{FIXED, Journal, Record, What, links};
use crate::image::Description;
use crate::keep;
use crate::resources::resource::{Back, Resource};
use crate::say;
use crate::store::undo_names::{era_of, prefix};
use crate::sys;
use core::sync::atomic::Ordering::*;
use promp_files::{Found, Was, Way};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the program has done to files by name. (The keeper begins an era of the journal at each checkpoint.)
#[derive(Default)]
pub(crate) struct Names;

impl Resource for Names {
    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        keep::get().journal.undo(about.era, to.files)
    }
}

/// A record as read, and where it begins.
struct Read {
    at: usize,
    record: Record,
    names: [PathBuf; 2],
}

/// The records of an era. One that ends too early was not followed by its call.
fn parse(bytes: &[u8]) -> Result<Vec<Read>, String> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some((fixed, rest)) = bytes[at..].split_first_chunk::<FIXED>() {
        let record = Record::from_bytes(fixed);
        let [a, b] = record.names.map(usize::from);
        let Some((names, sum)) = rest.split_at_checked(a + b) else { break };
        let Some(sum) = sum.first_chunk() else { break };
        let names = [&names[..a], &names[a..]];
        if record.sum(names) != u64::from_le_bytes(*sum) || What::from_number(record.what).is_none() {
            return Err(format!("the record at byte {at} is damaged (checksum)"));
        }
        all.push(Read { at, record, names: names.map(|n| OsStr::from_bytes(n).into()) });
        at += FIXED + a + b + 8;
    }
    Ok(all)
}

/// Files of the journal in `dir`, with their eras.
fn files(dir: &OwnedFd) -> Vec<(u64, String)> {
    let path = std::ffi::CString::new(format!("/proc/thread-self/fd/{}", dir.as_raw_fd()));
    let names = sys::maps::names(&path.unwrap_or_default());
    names.into_iter().filter_map(|n| Some((era_of(&n)?, n))).collect()
}

/// Removes the files of some eras. What cannot be removed stays.
fn remove(dir: &OwnedFd, is_one: impl Fn(u64) -> bool) {
    for (_, name) in files(dir).into_iter().filter(|f| is_one(f.0)) {
        links::forget(|| _ = promp_files::remove_in(dir, name.as_ref()));
    }
}

/// Opens a file of the journal.
fn open(dir: &OwnedFd, name: &str, access: i32) -> io::Result<File> {
    promp_files::open_in(dir, name.as_ref(), access | libc::O_NOFOLLOW, 0).map(File::from)
}

impl Journal {
    /// Why there is no way back to `era`; the rest of what may be wrong [`Journal::undo`] says.
    pub fn no_way_back(&self, era: u64) -> Option<String> {
        let dir = self.folder.open().ok()?;
        since(&dir, era).ok().and_then(|(_, noted)| irrevocable(&noted))
    }

    /// Removes what was noted before `era`.
    pub fn forget(&self, era: u64) {
        if let Ok(dir) = self.folder.open() {
            remove(&dir, |of| of < era);
        }
    }

    /// Undoes what was noted from `era` on, the last call first; then another era begins. `limit`: bytes for copies in it.
    pub fn undo(&self, era: u64, limit: u64) -> Result<(), String> {
        if super::broken().load(Relaxed) > era {
            return Err(
                "what has become of files since the checkpoint could not be noted (is the disk full?)".into(),
            );
        }
        let dir = &self.folder.opened()?;
        // All of it can be read before anything is undone.
        let (eras, noted) = since(dir, era)?;
        if let Some(why) = irrevocable(&noted) {
            return Err(why);
        }
        let mut undone = Undone::default();
        for (&e, records) in eras.iter().zip(&noted).rev() {
            undo_era(dir, e, records, &mut undone)?;
        }
        for path in undone.lost {
            say!(
                "{} was overwritten or removed after the checkpoint and is not put back: it was larger than PROMP_CKPT_FILES allows, or locked",
                path.display()
            );
        }
        self.era.fetch_max(eras.last().copied().unwrap_or(0).max(era), Relaxed);
        self.next_era(limit);
        Ok(())
    }
}

/// What was noted from `era` on, and in which eras.
fn since(dir: &OwnedFd, era: u64) -> Result<(Vec<u64>, Vec<Vec<Read>>), String> {
    let mut eras: Vec<u64> = files(dir).into_iter().map(|f| f.0).filter(|&e| e >= era).collect();
    eras.sort_unstable();
    eras.dedup();
    let noted = eras.iter().map(|&e| records(dir, e)).collect::<Result<_, _>>()?;
    Ok((eras, noted))
}

/// What cannot be undone.
fn irrevocable(noted: &[Vec<Read>]) -> Option<String> {
    let found = noted.iter().flatten().find(|r| r.record.what == What::NotUndone as u32)?;
    let what = found.names[0].display();
    Some(format!("the program has used {what} since the checkpoint, which cannot be undone"))
}

/// What was noted in an era.
fn records(dir: &OwnedFd, era: u64) -> Result<Vec<Read>, String> {
    let (name, mut bytes) = (prefix(era), Vec::new());
    match open(dir, &name, libc::O_RDONLY).and_then(|mut f| f.read_to_end(&mut bytes)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(format!("{name}: {}", why(e))),
        _ => {} // Copies alone: they were made for a record that was not written.
    }
    parse(&bytes).map_err(|e| format!("{name}: {e}"))
}

/// What is known of files while records are undone.
#[derive(Default)]
struct Undone {
    /// Those that could not be made what they were, by the names that they have when the records so far are
    /// undone.
    lost: BTreeSet<PathBuf>,
    /// Device and inode of files and directories that were made anew.
    made: Vec<(u64, u64)>,
}

fn undo_era(dir: &OwnedFd, era: u64, records: &[Read], undone: &mut Undone) -> Result<(), String> {
    let name = prefix(era);
    for r in records.iter().rev() {
        undo_one(&Copy { dir, name: format!("{name}-{}", r.record.copy) }, r, undone)?;
        // Whoever is killed now does not begin anew.
        let noted = open(dir, &name, libc::O_WRONLY).and_then(|f| f.set_len(r.at as u64));
        noted.map_err(|e| format!("{name}: {}", why(e)))?;
    }
    remove(dir, |of| of == era);
    Ok(())
}

/// What a record's file held, in the journal's directory.
struct Copy<'a> {
    dir: &'a OwnedFd,
    name: String,
}

fn undo_one(copy: &Copy, r: &Read, undone: &mut Undone) -> Result<(), String> {
    let [a, b] = &r.names;
    let Some(what) = What::from_number(r.record.what) else { return Ok(()) };
    let lost = &mut undone.lost;
    match what {
        What::Lost if !r.is_as_it_was(a) => _ = lost.insert(a.clone()),
        What::Made | What::Removed | What::Content => _ = lost.remove(a),
        What::Renamed if lost.remove(b) => _ = lost.insert(a.clone()),
        _ => {}
    }
    let done = match what {
        What::Length | What::Content => r.put_back(what, copy, &mut undone.made),
        What::Lost | What::NotUndone => Ok(()),
        _ => r.take_back(what, copy, &mut undone.made),
    };
    done.map_err(|why| format!("{} cannot be made what it was: {why}", a.display()))
}

fn why(e: io::Error) -> String {
    e.kind().to_string()
}

/// The way to a name, which others cannot have led elsewhere.
fn straight(path: &Path, folder: u64, made: &[(u64, u64)]) -> Result<Option<Way>, String> {
    match Way::to_name(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(why(e)),
        Ok(way) => {
            way.is_straight()?;
            way.is_in(folder, made)?;
            Ok(Some(way))
        }
    }
}

/// Is it one of those that were made anew?
fn is_made(found: Option<&Found>, made: &[(u64, u64)]) -> bool {
    found.is_some_and(|f| made.contains(&f.file()))
}

impl Read {
    fn is_the_file(&self, found: Option<&Found>) -> bool {
        found.is_some_and(|f| f.file() == (self.record.device, self.record.inode))
    }

    /// Has nobody written to it? Some programs open what they only read for writing, too.
    fn is_as_it_was(&self, path: &Path) -> bool {
        let Ok(way) = Way::to(path) else { return false };
        let as_then = |f: &Found| (f.length(), f.written()) == (self.record.length, self.record.written);
        self.is_the_file(way.found()) && way.found().is_some_and(as_then)
    }

    /// Undoes what was done with names.
    fn take_back(&self, what: What, copy: &Copy, made: &mut Vec<(u64, u64)>) -> Result<(), String> {
        let ([a, b], [in_a, in_b]) = (&self.names, self.record.folders);
        let Some(way) = straight(a, in_a, made)? else {
            return match what {
                What::Made | What::MadeDirectory => Ok(()),
                _ => Err(why(io::ErrorKind::NotFound.into())),
            };
        };
        let done = match (what, way.found()) {
            (What::Made, Some(_)) => {
                way.is_ours()?;
                way.remove(false)
            }
            (What::MadeDirectory, Some(_)) => {
                way.is_ours()?;
                // What it holds is not ours to remove.
                let _ = way.remove(true);
                Ok(())
            }
            (What::RemovedDirectory, None) => way.make_directory(self.record.mode).map(|new| made.push(new)),
            (What::Renamed, None) => match straight(b, in_b, made)? {
                Some(from) if self.is_the_file(from.found()) || is_made(from.found(), made) => {
                    from.rename(&way)
                }
                _ => Ok(()),
            },
            (What::Removed, None) => match Way::in_folder(copy.dir, copy.name.as_ref()) {
                Ok(kept) if self.is_the_file(kept.found()) => kept.link(&way).map(drop),
                // A symbolic link that was imported.
                Ok(kept) if kept.found().is_some_and(|f| !f.is_regular()) => {
                    way.is_straight()?;
                    way.is_in(in_a, made)?;
                    kept.link(&way).map(|new| made.push(new))
                }
                _ => return self.fill(&way, copy, made),
            },
            _ => Ok(()),
        };
        done.map_err(why)
    }

    /// Undoes what was done with a file's length or content.
    fn put_back(&self, what: What, copy: &Copy, made: &mut Vec<(u64, u64)>) -> Result<(), String> {
        let way = Way::to(&self.names[0]).map_err(why)?;
        if what == What::Content {
            return self.fill(&way, copy, made);
        }
        let f = self.open(&way, made)?;
        let longer = f.metadata().map_err(why)?.len() > self.record.length;
        if longer { f.set_len(self.record.length).map_err(why) } else { Ok(()) }
    }

    /// Opens the file for writing, if it is the one that it was, or was made anew.
    fn open(&self, way: &Way, made: &[(u64, u64)]) -> Result<File, String> {
        let r = &self.record;
        let was = Was { inode: r.inode, owner: None, regular: true, born: None };
        let anew = way.found().filter(|f| f.is_regular() && made.contains(&f.file()));
        let found = anew.map_or_else(|| way.is(&was), Ok)?;
        found.open(libc::O_WRONLY).map(File::from).map_err(why)
    }

    /// Makes the file hold what `copy` holds, if there is one.
    fn fill(&self, way: &Way, copy: &Copy, made: &mut Vec<(u64, u64)>) -> Result<(), String> {
        let r = &self.record;
        let to = if way.found().is_some() {
            self.open(way, made)?
        } else {
            way.is_straight()?;
            way.is_in(r.folders[0], made)?;
            let new = File::from(way.make(libc::O_WRONLY, r.mode).map_err(why)?);
            let m = new.metadata().map_err(why)?;
            made.push((m.dev(), m.ino()));
            new
        };
        if r.copy > 0 {
            let from = open(copy.dir, &copy.name, libc::O_RDONLY).map_err(why)?;
            promp_files::copy(from.as_raw_fd(), to.as_raw_fd(), r.length).map_err(why)?;
        }
        to.set_len(r.length).map_err(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_records_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }

    #[test]
    fn a_record_is_whole_or_not_there() {
        let r = Record {
            what: What::Renamed as u32,
            mode: 0o644,
            length: 5,
            written: 6,
            device: 1,
            inode: 2,
            folders: [7, 8],
            copy: 3,
            names: [2, 3],
        };
        let mut bytes = [&r.bytes()[..], b"/a/bb", &r.sum([b"/a", b"/bb"]).to_le_bytes()].concat();
        let read = parse(&bytes).unwrap();
        assert_eq!((read[0].record, &read[0].names[1]), (r, &PathBuf::from("/bb")));
        for len in 0..bytes.len() {
            assert_eq!(parse(&bytes[..len]).unwrap().len(), 0);
        }
        for i in FIXED - 4..bytes.len() {
            bytes[i] ^= 1;
            assert!(parse(&bytes).map_or(true, |r| r.is_empty()), "{i}");
            bytes[i] ^= 1;
        }
    }
}
