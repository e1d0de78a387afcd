//! Undoing what was noted. By the keeper, while the threads are frozen or, in a restart, before there are any.

use super::note::copy_all;
use super::{FIXED, Journal, Record, What, era_of, prefix};
use crate::say;
use crate::sys;
use core::sync::atomic::Ordering::*;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

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
fn files(dir: &Path) -> Vec<(u64, String)> {
    let dir = std::ffi::CString::new(dir.as_os_str().as_bytes()).unwrap_or_default();
    sys::maps::names(&dir).into_iter().filter_map(|n| Some((era_of(&n)?, n))).collect()
}

/// Removes what was noted before `era`.
pub fn forget(dir: &Path, era: u64) {
    for (of, name) in files(dir) {
        if of < era {
            let _ = fs::remove_file(dir.join(name));
        }
    }
}

impl Journal {
    /// Undoes what was noted from `era` on, the last call first; then another era begins. `limit`: bytes for copies in it.
    pub fn undo(&self, dir: &Path, era: u64, limit: u64) -> Result<(), String> {
        if super::broken().load(Relaxed) > era {
            return Err(
                "what has become of files since the checkpoint could not be noted (is the disk full?)".into(),
            );
        }
        let mut eras: Vec<u64> = files(dir).into_iter().map(|f| f.0).filter(|&e| e >= era).collect();
        eras.sort_unstable();
        eras.dedup();
        // All of it can be read before anything is undone.
        let noted: Vec<Vec<Read>> = eras.iter().map(|&e| records(dir, e)).collect::<Result<_, _>>()?;
        let mut lost = BTreeSet::new();
        for (&e, records) in eras.iter().zip(&noted).rev() {
            undo_era(dir, e, records, &mut lost)?;
        }
        for path in lost {
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

/// What was noted in an era.
fn records(dir: &Path, era: u64) -> Result<Vec<Read>, String> {
    let path = dir.join(prefix(era));
    let c = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    let bytes = sys::maps::read_file(&c).unwrap_or_default();
    parse(&bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// `lost`: files that could not be made what they were, by the names that they have when the records so far are undone.
fn undo_era(dir: &Path, era: u64, records: &[Read], lost: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    let path = dir.join(prefix(era));
    for r in records.iter().rev() {
        undo_one(&dir.join(format!("{}-{}", prefix(era), r.record.copy)), r, lost)?;
        // Whoever is killed now does not begin anew.
        let open = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(&path);
        open.and_then(|f| f.set_len(r.at as u64)).map_err(|e| format!("{}: {}", path.display(), e.kind()))?;
    }
    for (of, name) in files(dir) {
        if of == era {
            let _ = fs::remove_file(dir.join(name));
        }
    }
    Ok(())
}

/// Nothing to do if it is not there.
fn unless_missing(r: io::Result<()>) -> io::Result<()> {
    r.or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
}

fn undo_one(copy: &Path, r: &Read, lost: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    let [a, b] = &r.names;
    let Some(what) = What::from_number(r.record.what) else { return Ok(()) };
    match what {
        What::Lost if !r.is_as_it_was(a) => _ = lost.insert(a.clone()),
        What::Made | What::Removed | What::Content => _ = lost.remove(a),
        What::Renamed if lost.remove(b) => _ = lost.insert(a.clone()),
        _ => {}
    }
    let done = match what {
        What::Made => unless_missing(fs::remove_file(a)),
        What::MadeDirectory => {
            // What it holds is not ours to remove.
            let _ = fs::remove_dir(a);
            Ok(())
        }
        What::RemovedDirectory if fs::symlink_metadata(a).is_err() => {
            fs::create_dir(a).and_then(|()| fs::set_permissions(a, fs::Permissions::from_mode(r.record.mode)))
        }
        What::Renamed if r.is_the_file(b) && fs::symlink_metadata(a).is_err() => fs::rename(b, a),
        What::Removed if fs::symlink_metadata(a).is_err() => {
            if r.is_the_file(copy) {
                fs::hard_link(copy, a)
            } else {
                r.fill(a, copy)
            }
        }
        What::RemovedDirectory | What::Renamed | What::Removed => Ok(()),
        What::Length => OpenOptions::new().write(true).open(a).and_then(|f| {
            let longer = f.metadata()?.len() > r.record.length;
            if longer { f.set_len(r.record.length) } else { Ok(()) }
        }),
        What::Content => r.fill(a, copy),
        What::Lost => Ok(()),
    };
    done.map_err(|e| format!("{} cannot be made what it was: {}", a.display(), e.kind()))
}

impl Read {
    fn is_the_file(&self, path: &Path) -> bool {
        let m = fs::symlink_metadata(path);
        m.is_ok_and(|m| (m.dev(), m.ino()) == (self.record.device, self.record.inode))
    }

    /// Has nobody written to it? Some programs open what they only read for writing, too.
    fn is_as_it_was(&self, path: &Path) -> bool {
        let written = |m: &fs::Metadata| m.mtime() * 1_000_000_000 + m.mtime_nsec();
        fs::metadata(path).is_ok_and(|m| {
            let r = &self.record;
            (m.dev(), m.ino(), m.len(), written(&m)) == (r.device, r.inode, r.length, r.written)
        })
    }

    /// Makes `path` hold what `copy` holds, if there is one.
    fn fill(&self, path: &Path, copy: &Path) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let r = &self.record;
        let to = OpenOptions::new().write(true).create(true).truncate(false).mode(r.mode).open(path)?;
        if r.copy > 0 {
            let from = File::open(copy)?;
            if !copy_all(from.as_raw_fd(), to.as_raw_fd(), r.length) {
                return Err(io::Error::last_os_error());
            }
        }
        to.set_len(r.length)
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
