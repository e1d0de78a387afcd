//! `promp import`: a checkpoint directory of what `promp export` has written (archive/ has its form).

use crate::archive::{self, Head, LINKS, Problem, Taker};
use crate::sober::sober;
use crate::{Failure, Outcome, args};
use nix::sys::statvfs::fstatvfs;
use promp_files::{Way, names_in, open_in, remove_in};
use promp_image::{Directory, Generation, file_copies};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

const USAGE: u8 = 64;
const NOT_ONE: u8 = 65;
const UNREADABLE: u8 = 66;
const IO: u8 = 74;
/// What takes more is said before it is unpacked.
const MUCH: u64 = 1_000_000_000;

/// Makes a checkpoint directory of a file.
pub fn import(i: &args::Import) -> Outcome {
    let shown = i.file.display();
    let from = File::open(&i.file).map_err(|e| Failure::new(UNREADABLE, format!("{shown}: {e}")))?;
    let failed = |p: Problem| match p {
        Problem::Bad(why) => Failure::new(NOT_ONE, format!("{shown} cannot be imported: {why}")),
        Problem::System(e) => Failure::new(IO, format!("{shown} cannot be imported: {e}")),
        Problem::Taker(failure) => failure,
    };
    let begin = |head: Head| {
        let target = Target::new(&i.dir, head.number)?;
        target.has_room(&i.file, head.room).map(|()| target)
    };
    let read = archive::read(from, |head| begin(head).map_err(Problem::Taker));
    let g = read.map_err(failed)?.whole()?;
    let to = i.dir.display();
    println!("checkpoint {} of {}: {} pages in {to}", g.number, sober(&g.about.program), g.index.len());
    Ok(())
}

/// The directory that is made; if it is not made as a whole it is removed: half of a checkpoint is none.
struct Target<'a> {
    path: &'a Path,
    folder: File,
    /// It was there, empty.
    existed: bool,
    /// The files in it so far.
    made: Vec<PathBuf>,
    /// The folder of copies, when there is one.
    copies: Option<File>,
    /// The generation.
    number: u64,
    is_whole: bool,
}

impl Taker for Target<'_> {
    /// The generation's file, which is the last one, makes a checkpoint of them.
    fn file(&mut self, name: &str, length: u64, content: &mut dyn Read) -> Result<(), Problem> {
        if let Some(link) = name.strip_prefix(LINKS) {
            return self.make_link(link, content);
        }
        let mut f = self.make(name, length)?;
        let mut piece = vec![0; 1 << 20];
        loop {
            match content.read(&mut piece)? {
                0 => break,
                n => f.write_all(&piece[..n]).map_err(Problem::System)?,
            }
        }
        f.sync_all().map_err(Problem::System)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if !self.is_whole {
            self.remove();
        }
    }
}

impl<'a> Target<'a> {
    fn new(path: &'a Path, number: u64) -> Result<Self, Failure> {
        let shown = path.display();
        let existed = match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                return Err(Failure::new(IO, format!("{shown}: {e}")));
            }
            made => made.is_err(),
        };
        let folder = promp_image::open_directory(path).map_err(|why| Failure::new(UNREADABLE, why))?;
        match names_in(&folder) {
            Ok(names) if names.is_empty() => {}
            Ok(_) => {
                let why = format!("{shown} is not empty: give a directory that is not there yet");
                return Err(Failure::new(USAGE, why));
            }
            Err(e) => return Err(Failure::new(UNREADABLE, format!("{shown}: {e}"))),
        }
        Ok(Self { path, folder, existed, made: Vec::new(), copies: None, number, is_whole: false })
    }

    /// Is there room for `file`, which will take `room` bytes?
    fn has_room(&self, file: &Path, room: u64) -> Result<(), Failure> {
        let (file, shown) = (file.display(), self.path.display());
        let size = |n: u64| format!("{:.1} GB", n as f64 / 1e9);
        let free = fstatvfs(&self.folder).map(|s| s.blocks_available() * s.fragment_size());
        match free {
            Ok(free) if room > free => Err(Failure::new(
                IO,
                format!(
                    "{file} takes {} unpacked, and {shown} is on a disk with {} free: make room, or give a \
                     directory on another one",
                    size(room),
                    size(free)
                ),
            )),
            _ => {
                if room > MUCH {
                    eprintln!("promp: {file} takes {} unpacked in {shown}", size(room));
                }
                Ok(())
            }
        }
    }

    /// Makes a symbolic link with this text.
    fn make_link(&mut self, name: &str, content: &mut dyn Read) -> Result<(), Problem> {
        let mut text = Vec::new();
        content.read_to_end(&mut text)?;
        let bad = |what: &str| Problem::Bad(format!("it is damaged ({name} {what})"));
        let place = format!("/proc/thread-self/fd/{}/{name}", self.folder.as_raw_fd());
        symlink(OsStr::from_bytes(&text), place).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => bad("comes twice"),
            ErrorKind::InvalidInput | ErrorKind::NotFound => bad("leads nowhere"),
            _ => Problem::System(e),
        })?;
        self.made.push(name.into());
        Ok(())
    }

    /// Makes a file, which will get `length` bytes: there is room for it, or that is said now.
    fn make(&mut self, name: &str, length: u64) -> Result<File, Problem> {
        let how = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let file = match name.strip_prefix(file_copies::FOLDER).and_then(|n| n.strip_prefix('/')) {
            // A program is executed.
            Some(copy) => open_in(self.copies()?, copy.as_ref(), how, 0o700),
            None => open_in(&self.folder, name.as_ref(), how, 0o600),
        };
        let file = File::from(file.map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Problem::Bad(format!("it is damaged ({name} comes twice)")),
            _ => Problem::System(e),
        })?);
        self.made.push(name.into());
        // SAFETY: plain call.
        let r = unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, length as i64) };
        match io::Error::last_os_error() {
            e if r < 0 && length > 0 && e.raw_os_error() != Some(libc::EOPNOTSUPP) => Err(Problem::System(e)),
            _ => Ok(file),
        }
    }

    fn copies(&mut self) -> Result<&File, Problem> {
        if self.copies.is_none() {
            let made = file_copies::make_folder(&self.folder, self.path);
            self.copies = Some(made.map_err(|why| Problem::System(io::Error::other(why)))?);
        }
        self.copies.as_ref().ok_or_else(|| Problem::System(ErrorKind::NotFound.into()))
    }

    /// The generation, verified.
    fn whole(mut self) -> Result<Generation, Failure> {
        let read = |d: Directory| {
            let g = d.read(self.number)?;
            d.verify(&g, |_| ())?;
            Ok(g)
        };
        let folder = self.folder.try_clone().map_err(|e| e.to_string());
        let g = folder.and_then(|f| Directory::within(f, self.path)).and_then(read);
        self.is_whole = g.is_ok();
        g.map_err(|why| Failure::new(NOT_ONE, format!("what was imported is not a checkpoint: {why}")))
    }

    /// Removes what has been made. What cannot be removed stays.
    fn remove(&self) {
        for name in &self.made {
            let (folder, name) = match name.strip_prefix(file_copies::FOLDER) {
                Ok(copy) => (self.copies.as_ref(), copy.as_os_str()),
                Err(_) => (Some(&self.folder), name.as_os_str()),
            };
            let _ = folder.map(|f| remove_in(f, name));
        }
        let below = Way::in_folder(&self.folder, OsStr::new(file_copies::FOLDER));
        let _ = below.and_then(|way| way.remove(true));
        if self.existed {
            return;
        }
        if let (Ok(way), Ok(own)) = (Way::to_name(self.path), self.folder.metadata())
            && way.found().is_some_and(|f| f.file() == (own.dev(), own.ino()))
        {
            let _ = way.remove(true);
        }
    }
}
