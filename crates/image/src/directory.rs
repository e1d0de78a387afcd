//! A checkpoint directory, for reading. What somebody else could have written is refused.

use super::end_record;
use super::format::{Entry, FILES, Generation, PAGE, decode, page_sum, words};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Refuses a directory or file that somebody else could have written. By its name: what is opened by that
/// name afterwards is looked at once more ([`Directory::open`]).
pub fn check_owner(path: &Path, directory: bool) -> Result<(), String> {
    let m = fs::symlink_metadata(path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => format!("{}: there is no such {}", path.display(), kind(directory)),
        _ => failed(path, &e),
    })?;
    check(path, &m, directory)
}

fn failed(path: &Path, e: &io::Error) -> String {
    format!("{}: {}", path.display(), e.kind())
}

fn kind(directory: bool) -> &'static str {
    if directory { "directory" } else { "regular file" }
}

/// The same of what `path` was opened as.
fn check(path: &Path, m: &Metadata, directory: bool) -> Result<(), String> {
    let shown = path.display();
    if m.file_type().is_symlink() {
        return Err(format!("{shown} is a symbolic link; images are not followed through links"));
    }
    if directory != m.is_dir() || (!directory && !m.is_file()) {
        return Err(format!("{shown} is not a {}", kind(directory)));
    }
    // SAFETY: no pointers.
    let me = unsafe { libc::geteuid() };
    if m.uid() != me {
        return Err(format!("{shown} belongs to user {}, expected {me}", m.uid()));
    }
    if m.mode() & 0o077 != 0 {
        let want = if directory { 0o700 } else { 0o600 };
        return Err(format!(
            "{shown} has mode {:o}: others could have changed it; expected {want:o} (chmod {want:o} {shown}, \
             if nobody has)",
            m.mode() & 0o777
        ));
    }
    Ok(())
}

/// Numbers of the generations whose files are in `dir`, newest first.
pub fn generation_files(dir: &Path) -> Vec<u64> {
    let number = |e: fs::DirEntry| e.file_name().to_str()?.strip_prefix("gen-")?.parse().ok();
    let mut all: Vec<u64> = fs::read_dir(dir).into_iter().flatten().flatten().filter_map(number).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}

/// Opens the directory itself; refuses what is not safely the caller's own.
pub fn open_directory(path: &Path) -> Result<File, String> {
    check_owner(path, true)?;
    let folder = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | NO_LINK).open(path);
    checked(path, folder, true)
}

/// What was opened at `path`, if it is safely the caller's own.
fn checked(path: &Path, file: io::Result<File>, directory: bool) -> Result<File, String> {
    let file = match file {
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => {
            let shown = path.display();
            return Err(format!("{shown} is a symbolic link; images are not followed through links"));
        }
        file => file.map_err(|e| failed(path, &e))?,
    };
    check(path, &file.metadata().map_err(|e| failed(path, &e))?, directory)?;
    Ok(file)
}

/// Opens folder `name` of `folder`, which is at `path`.
pub(crate) fn open_folder_in(folder: &File, path: &Path, name: &str) -> Result<File, String> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let opened = promp_files::open_in(folder, name.as_ref(), flags, 0);
    checked(&path.join(name), opened.map(File::from), true)
}

const NO_LINK: i32 = libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// Opens file `name` of `folder`, which is at `path`, for reading, without following links.
pub(crate) fn open_in(folder: &File, path: &Path, name: &str) -> Result<File, String> {
    // A pipe of somebody else's is not waited for.
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let opened = promp_files::open_in(folder, name.as_ref(), flags, 0);
    checked(&path.join(name), opened.map(File::from), false)
}

/// Opens file `name` of the image directory `dir` for reading; `None`: there is none.
pub fn open_if_there(dir: &Path, name: &str) -> Result<Option<File>, String> {
    if fs::symlink_metadata(dir.join(name)).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    open_in(&open_directory(dir)?, dir, name).map(Some)
}

/// The file that has the checksum of each slot's page.
pub const SUMS: &str = "sums";

/// A checkpoint directory, for reading.
pub struct Directory {
    /// Where.
    pub path: PathBuf,
    /// The very directory that was looked at: what is read is a file of this one.
    folder: File,
    pages: File,
}

impl Directory {
    /// Opens it; refuses what is not safely the caller's own.
    pub fn open(path: &Path) -> Result<Self, String> {
        Self::within(open_directory(path)?, path)
    }

    /// The one that has been opened ([`open_directory`]) at `path`.
    pub fn within(folder: File, path: &Path) -> Result<Self, String> {
        Ok(Self { path: path.into(), pages: open_in(&folder, path, "pages")?, folder })
    }

    /// Opens another of its files for reading.
    pub fn open_file(&self, name: &str) -> Result<File, String> {
        match name.strip_prefix("undo-").is_some_and(|n| n.contains('-')) {
            true => self.open_kept(name),
            false => open_in(&self.folder, &self.path, name),
        }
    }

    /// What a symbolic link that the journal has kept leads to; none: it is something else.
    pub fn link(&self, name: &str) -> Option<PathBuf> {
        fs::read_link(format!("/proc/thread-self/fd/{}/{name}", self.folder.as_raw_fd())).ok()
    }

    /// Opens a file that the program has removed or changed, which its journal has kept here under a second
    /// name: the directory is ours, so whose the file is, and who may write to it, does not matter.
    fn open_kept(&self, name: &str) -> Result<File, String> {
        let shown = self.path.join(name);
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = promp_files::open_in(&self.folder, name.as_ref(), flags, 0).map(File::from);
        let file = file.map_err(|e| failed(&shown, &e))?;
        match file.metadata() {
            Ok(m) if m.is_file() => Ok(file),
            _ => Err(format!("{} is not a regular file", shown.display())),
        }
    }

    /// The very directory.
    pub fn folder(&self) -> &File {
        &self.folder
    }

    /// The numbers of the generations whose files are there, newest first.
    pub fn generations(&self) -> Vec<u64> {
        generation_files(Path::new(&format!("/proc/thread-self/fd/{}", self.folder.as_raw_fd())))
    }

    /// Reads generation `number`, without its pages.
    pub fn read(&self, number: u64) -> Result<Generation, String> {
        let name = format!("gen-{number}");
        let (path, mut bytes) = (self.path.join(&name), Vec::new());
        self.open_file(&name)?
            .read_to_end(&mut bytes)
            .map_err(|e| format!("{}: {}", path.display(), e.kind()))?;
        let mut sums = None;
        let mut aside = |slot, n| {
            let file = match &sums {
                Some(file) => file,
                None => sums.insert(self.open_file(SUMS)?),
            };
            let at = |e: io::Error| format!("{SUMS}, for {n} pages from slot {slot} on: {}", e.kind());
            let mut bytes = vec![0; 8 * n];
            file.read_exact_at(&mut bytes, 8 * slot).map_err(at)?;
            Ok(words(&bytes).collect())
        };
        let g = decode(&bytes, &mut aside).map_err(|e| format!("{}: {}", path.display(), e))?;
        if g.number != number {
            return Err(format!("{} says it is generation {}", path.display(), g.number));
        }
        Ok(g)
    }

    /// Reads the page of `e` and compares its checksum.
    pub fn page(&self, e: &Entry, content: &mut [u8; PAGE]) -> Result<(), String> {
        let whose = if e.page < FILES { "page" } else { "page of a file," };
        let at = |what: &str| format!("{whose} {:#x} in slot {}: {what}", e.page << 12, e.slot);
        self.pages
            .read_exact_at(content, e.slot * PAGE as u64)
            .map_err(|x| at(&format!("truncated or unreadable: {}", x.kind())))?;
        if page_sum(e.page, content) != e.sum {
            return Err(at("damaged (checksum)"));
        }
        Ok(())
    }

    /// Reads every page of `g`; `progress` is told how many are done.
    pub fn verify(&self, g: &Generation, mut progress: impl FnMut(usize)) -> Result<(), String> {
        let mut content = [0; PAGE];
        for (i, e) in g.index.iter().enumerate() {
            self.page(e, &mut content)?;
            if i % 4096 == 0 {
                progress(i);
            }
        }
        Ok(())
    }

    /// Bytes of the page store.
    pub fn store_bytes(&self) -> u64 {
        (&self.pages).seek(SeekFrom::End(0)).unwrap_or(0)
    }

    /// Has the program ended by itself? The record says more ([`Directory::ended`]).
    pub fn finished(&self) -> bool {
        if fs::symlink_metadata(self.path.join(end_record::FILE)).is_ok() {
            return true;
        }
        let mut word = [0u8; 8];
        self.open_file("state").is_ok_and(|f| f.read_exact_at(&mut word, 0).is_ok()) && word != [0; 8]
    }

    /// The newest generation that can be read, is `wanted`, and whose pages are whole; what is wrong with
    /// newer ones is told to `say`.
    pub fn newest(
        &self,
        wanted: impl Fn(&Generation) -> bool,
        mut say: impl FnMut(String),
    ) -> Option<Generation> {
        self.generations().into_iter().find_map(|n| {
            let g = self.read(n).and_then(|g| match wanted(&g) {
                true => self.verify(&g, |_| ()).map(|()| Some(g)),
                false => Ok(None),
            });
            g.unwrap_or_else(|e| {
                say(format!("checkpoint {n} is not used: {e}"));
                None
            })
        })
    }
}
