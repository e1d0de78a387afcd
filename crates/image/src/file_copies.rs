//! Copies of the files that a program has mapped: `DIR/files/SUM-LENGTH`, by content.
//!
//! A self-contained checkpoint (`promp run --self-contained`) can be gone on from where the program, its
//! libraries, the loader or promp itself have been replaced or removed: what is not as it was is taken from
//! its copy.

use crate::directory::{open_directory, open_folder_in, open_in};
use crate::{Description, MappedFile};
use promp_files::{Replacement, Way};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The folder in a checkpoint directory.
pub const FOLDER: &str = "files";

/// The name of a copy in [`FOLDER`].
pub fn name(f: &MappedFile) -> String {
    format!("{:016x}-{:x}", f.sum, f.length)
}

/// Is it such a name?
pub fn is_name(text: &str) -> bool {
    let is_hex = |t: &str, most: usize| {
        !t.is_empty() && t.len() <= most && t.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    text.split_once('-').is_some_and(|(sum, length)| sum.len() == 16 && is_hex(sum, 16) && is_hex(length, 16))
}

/// Where the copy of `f` is, or is to be.
pub fn place(dir: &Path, f: &MappedFile) -> PathBuf {
    dir.join(FOLDER).join(name(f))
}

/// A file that is to be taken from its copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its path in the image.
    pub from: String,
    /// That of its copy.
    pub to: String,
}

/// Opens the folder of `within`, the directory at `dir`; makes it, if there is none yet.
pub fn make_folder(within: &File, dir: &Path) -> Result<File, String> {
    match Way::in_folder(within, FOLDER.as_ref()).and_then(|way| way.make_directory(0o700)) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("{}: {}", dir.join(FOLDER).display(), e.kind()))
        }
        _ => open_folder_in(within, dir, FOLDER),
    }
}

/// The names of the copies in `within`, the directory at `dir`.
pub fn names(within: &File, dir: &Path) -> BTreeSet<String> {
    let all = open_folder_in(within, dir, FOLDER).ok().and_then(|f| promp_files::names_in(&f).ok());
    all.unwrap_or_default().into_iter().filter_map(|n| n.into_string().ok()).filter(|n| is_name(n)).collect()
}

/// What the copy of `f` holds in `within`, the directory at `dir`.
pub fn read(within: &File, dir: &Path, f: &MappedFile) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let folder = open_folder_in(within, dir, FOLDER)?;
    let file = open_in(&folder, &dir.join(FOLDER), &name(f))?;
    let read = file.take(f.length + 1).read_to_end(&mut bytes);
    read.map_err(|e| format!("{}: {}", place(dir, f).display(), e.kind()))?;
    Ok(bytes)
}

/// Is there a copy of `f`, as far as its length says? After a power cut one may have no content.
fn is_there(dir: &Path, f: &MappedFile) -> bool {
    fs::symlink_metadata(place(dir, f)).is_ok_and(|m| m.is_file() && m.len() == f.length)
}

/// Makes the copy of `f`, if there is none yet; as [`write`]. One that is there may be another process's,
/// which had no time to sync it. `content`: what that holds which is no file.
pub fn keep(dir: &Path, f: &MappedFile, content: Option<&[u8]>) -> Result<File, String> {
    let failed = |what: &Path, e: &io::Error| format!("{}: {}", what.display(), e.kind());
    if is_there(dir, f) {
        let folder = open_folder_in(&open_directory(dir)?, dir, FOLDER)?;
        return open_in(&folder, &place(dir, f), &name(f));
    }
    if let Some(bytes) = content {
        return write(dir, &name(f), bytes);
    }
    let from = Path::new(&f.path);
    let bytes = fs::read(from).map_err(|e| failed(from, &e))?;
    if bytes.len() as u64 != f.length || crate::sum(&bytes) != f.sum {
        return Err(format!("{} has changed", f.path));
    }
    write(dir, &name(f), &bytes)
}

/// Writes a file of the folder, which is made if there is none, readable and executable by its owner. It has
/// its name when it is written; who counts on it after a power cut has yet to sync it.
pub fn write(dir: &Path, name: &str, bytes: &[u8]) -> Result<File, String> {
    let folder = make_folder(&open_directory(dir)?, dir)?;
    let written = Way::in_folder(&folder, name.as_ref()).and_then(|way| {
        let mut aside = Replacement::at(way, 0o700)?;
        aside.file().write_all(bytes)?;
        let file = aside.file().try_clone()?;
        aside.finish(false).map(|()| file)
    });
    written.map_err(|e| format!("{}: {}", dir.join(FOLDER).join(name).display(), e.kind()))
}

/// Removes the copies that no checkpoint in `dir` names. True: the newest one names all that are left. If one
/// of them cannot be read, all stay.
pub fn remove_unnamed(dir: &Path) -> Result<bool, String> {
    let checkpoints = crate::Directory::open(dir)?;
    let those_of = |number: u64| -> Result<BTreeSet<String>, String> {
        let about = checkpoints.read(number)?.about;
        Ok(about.mapped.iter().chain(&about.kernel).map(name).collect())
    };
    let named = checkpoints.generations().into_iter().map(those_of).collect::<Result<Vec<_>, _>>()?;
    let Some(newest) = named.first() else { return Ok(false) };
    let mut all = true;
    let folder = open_folder_in(checkpoints.folder(), dir, FOLDER)?;
    for copy in names(checkpoints.folder(), dir).difference(newest) {
        if named.iter().any(|n| n.contains(copy)) {
            all = false;
        } else {
            promp_files::remove_in(&folder, copy.as_ref()).map_err(|e| format!("{copy}: {}", e.kind()))?;
        }
    }
    Ok(all)
}

/// The path of a file as the kernel tells it of a mapping. (libc's way to it would allocate.)
fn real(path: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let file = fs::File::open(path).ok()?;
    fs::read_link(format!("/proc/thread-self/fd/{}", file.as_raw_fd())).ok()
}

/// Is the file at `path` what `f` was?
fn is_same(path: &str, f: &MappedFile) -> bool {
    crate::recognise(path).is_some_and(|now| {
        now.length == f.length && if f.sum != 0 { now.sum == f.sum } else { now.changed == f.changed }
    })
}

/// May the copy be loaded, and executed? That is done by its name, which nobody else may be able to give to
/// another file.
fn trusted(copy: &Path) -> Result<(), String> {
    let folder = copy.parent().unwrap_or(copy);
    crate::check_owner(folder, true).and_then(|()| crate::check_owner(copy, false))?;
    let way = Way::to(copy).map_err(|e| format!("{}: {}", copy.display(), e.kind()))?;
    match way.others() {
        Some(others) => {
            Err(format!("others may put another file in its place (they may write to {})", others.display()))
        }
        None => Ok(()),
    }
}

/// The files that are to be taken from their copies in `dir`, because they are not what they were; the
/// error says which one is neither here nor there.
pub fn moved(dir: &Path, about: &Description) -> Result<Vec<Moved>, String> {
    let mut all = Vec::new();
    for f in about.mapped.iter().filter(|f| !is_same(&f.path, f)) {
        let there = fs::symlink_metadata(&f.path).is_ok();
        let what = if there { "has changed since the checkpoint" } else { "is gone" };
        if !about.contained {
            return Err(format!("{} {what} (`promp run --self-contained` keeps copies)", f.path));
        }
        let copy = place(dir, f);
        if let Err(why) = trusted(&copy) {
            return Err(format!("{} {what}, and its copy cannot be used: {why}", f.path));
        }
        let copy = real(&copy).unwrap_or(copy).to_string_lossy().into_owned();
        if f.sum == 0 || !is_same(&copy, f) {
            return Err(format!("{} {what}, and its copy {copy} is damaged", f.path));
        }
        all.push(Moved { from: f.path.clone(), to: copy });
    }
    Ok(all)
}

/// The path of a file by what has been `moved`.
pub fn now<'a>(path: &'a str, moved: &'a [Moved]) -> &'a str {
    moved.iter().find(|m| m.from == path).map_or(path, |m| &m.to)
}

impl Description {
    /// The program's file, as it is mapped.
    pub fn executable(&self) -> &str {
        if self.executable.is_empty() { &self.program } else { &self.executable }
    }

    /// Files have other paths from now on.
    pub fn take_from(&mut self, moved: &[Moved]) {
        let mapped = self.mapped.iter_mut().map(|f| &mut f.path);
        self.maps.iter_mut().map(|m| &mut m.path).chain(mapped).for_each(|path| follow(path, moved));
        self.load_from(moved);
    }

    /// Of these, those that are needed to start the program.
    pub fn load_from(&mut self, moved: &[Moved]) {
        let executable = now(self.executable(), moved).to_owned();
        if executable != self.program {
            self.executable = executable;
        }
        self.libraries.iter_mut().chain([&mut self.loader]).for_each(|path| follow(path, moved));
    }
}

fn follow(path: &mut String, moved: &[Moved]) {
    if let Some(m) = moved.iter().find(|m| m.from == *path) {
        path.clone_from(&m.to);
    }
}

/// `program` with the loader at `path`: the name, which is not part of the memory that the program is given,
/// is put at the end of its file.
pub fn with_loader(program: &[u8], path: &str) -> Option<Vec<u8>> {
    const INTERPRETER: u32 = 3;
    const SIZE: usize = 56;
    let word = |at: usize| Some(u64::from_le_bytes(program.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_le_bytes(program.get(at..at + 2)?.try_into().ok()?));
    let headers = usize::try_from(word(32)?).ok()?;
    if program.get(..5)? != b"\x7fELF\x02" || usize::from(half(54)?) != SIZE {
        return None;
    }
    let at = (0..usize::from(half(56)?)).map(|i| headers + i * SIZE).find(|&at| {
        program.get(at..at + 4).is_some_and(|t| u32::from_le_bytes([t[0], t[1], t[2], t[3]]) == INTERPRETER)
    })?;
    program.get(at..at + SIZE)?;
    let mut new = program.to_vec();
    new[at + 8..at + 16].copy_from_slice(&(program.len() as u64).to_le_bytes());
    new[at + 32..at + 40].copy_from_slice(&(path.len() as u64 + 1).to_le_bytes());
    new.extend_from_slice(path.as_bytes());
    new.push(0);
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::DirBuilderExt;

    /// A folder of this test's own.
    struct Folder(PathBuf);
    impl Folder {
        fn new(name: &str) -> Self {
            let d = std::env::temp_dir().join(format!("promp-kept-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&d);
            fs::DirBuilder::new().mode(0o700).create(&d).unwrap();
            Self(d)
        }
    }
    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn about(path: &Path, contained: bool) -> Description {
        let f = crate::recognise(path.to_str().unwrap()).unwrap();
        Description { mapped: vec![f], contained, program: "/p".into(), ..Default::default() }
    }

    #[test]
    fn what_has_changed_is_taken_from_its_copy() {
        let d = Folder::new("changed");
        let file = d.0.join("lib.so");
        fs::write(&file, b"old").unwrap();
        let a = about(&file, true);
        keep(&d.0, &a.mapped[0], None).unwrap();
        assert_eq!(moved(&d.0, &a), Ok(vec![]));
        fs::write(&file, b"new").unwrap();
        let m = moved(&d.0, &a).unwrap();
        assert_eq!((m.len(), fs::read(&m[0].to).unwrap()), (1, b"old".to_vec()));
        fs::remove_file(&file).unwrap();
        assert_eq!(moved(&d.0, &a).unwrap(), m);
        // It is not made from what has other content.
        fs::remove_file(&m[0].to).unwrap();
        assert!(moved(&d.0, &a).unwrap_err().contains("is gone, and its copy cannot be used"));
        fs::write(&file, b"new").unwrap();
        assert!(keep(&d.0, &a.mapped[0], None).unwrap_err().contains("has changed"));
    }

    #[test]
    fn copies_that_cannot_be_trusted() {
        let d = Folder::new("trust");
        let file = d.0.join("lib.so");
        fs::write(&file, b"old").unwrap();
        let a = about(&file, true);
        keep(&d.0, &a.mapped[0], None).unwrap();
        fs::write(&file, b"new").unwrap();
        let plain = Description { contained: false, ..a.clone() };
        assert!(moved(&d.0, &plain).unwrap_err().contains("--self-contained"));
        let copy = place(&d.0, &a.mapped[0]);
        fs::write(&copy, b"odd").unwrap();
        assert!(moved(&d.0, &a).unwrap_err().contains("is damaged"));
        fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert!(moved(&d.0, &a).unwrap_err().contains("others could have changed it"));
        fs::remove_file(&copy).unwrap();
        std::os::unix::fs::symlink(&file, &copy).unwrap();
        assert!(moved(&d.0, &a).unwrap_err().contains("symbolic link"));
    }

    #[test]
    fn names() {
        let f = MappedFile { path: String::new(), length: 0x1f, sum: 7, changed: 0 };
        assert!(is_name(&name(&f)) && name(&f) == "0000000000000007-1f");
        for bad in
            ["", "7-1f", "0000000000000007", "0000000000000007-", "000000000000000g-1", "../../../../x-1"]
        {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_program_with_another_loader() {
        let me = fs::read("/proc/self/exe").unwrap();
        let new = with_loader(&me, "/nowhere/ld.so").unwrap();
        assert_eq!(new.len(), me.len() + "/nowhere/ld.so".len() + 1);
        let changed = me.iter().zip(&new).filter(|(a, b)| a != b).count();
        assert!(0 < changed && changed <= 16, "{changed}");
        assert!(with_loader(b"#!/bin/sh", "/x").is_none());
        for i in (0..me.len().min(4096)).step_by(7) {
            let _ = with_loader(&me[..i], "/x");
        }
    }

    #[test]
    fn paths_follow() {
        let mut a = Description {
            program: "/p".into(),
            libraries: vec!["/a".into(), "/b".into()],
            ..Default::default()
        };
        a.take_from(&[Moved { from: "/b".into(), to: "/c".into() }]);
        assert_eq!((a.executable(), &a.libraries[..]), ("/p", &["/a".to_owned(), "/c".into()][..]));
        a.take_from(&[Moved { from: "/p".into(), to: "/q".into() }]);
        assert_eq!((a.executable(), &*a.program), ("/q", "/p"));
        a.take_from(&[Moved { from: "/q".into(), to: "/r".into() }]);
        assert_eq!((a.executable(), &*a.program), ("/r", "/p"));
    }
}
