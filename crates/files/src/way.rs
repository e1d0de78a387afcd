//! The way to a file, part by part, each opened without following links.

use crate::entries::again;
use crate::found::{Found, born};
use crate::{c, done, hidden_name, open_at, stat_of};
use std::collections::VecDeque;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// More links than the kernel follows.
const MOST_LINKS: u32 = 40;

/// What a file was, so that another one that has its name now is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Was {
    /// Its inode.
    pub inode: u64,
    /// The user that it belonged to, if that is known.
    pub owner: Option<u32>,
    /// Was it a regular file?
    pub regular: bool,
    /// When it was made, in nanoseconds since 1970, if that is known: numbers of inodes are used again.
    pub born: Option<i64>,
}

/// The way to a file.
pub struct Way {
    /// The directory that holds it (O_PATH).
    folder: OwnedFd,
    /// Its name there.
    name: CString,
    /// What is there, if there is something.
    found: Option<Found>,
    /// Symbolic links were followed.
    links: bool,
    /// The first directory in which somebody else could have put what lies on the way.
    others: Option<PathBuf>,
}

/// May a user other than root and this one give `entry` its name in `folder`? (`None`: make one.)
fn others_may(folder: &libc::stat, entry: Option<&libc::stat>, me: u32) -> bool {
    let ours = |uid| uid == 0 || uid == me;
    if !ours(folder.st_uid) {
        return true;
    }
    if folder.st_mode & 0o022 == 0 {
        return false;
    }
    // In a sticky directory nobody takes away what is not theirs; but who may read and write a file may give
    // it another name there.
    let sticky = folder.st_mode & libc::S_ISVTX != 0;
    let alone = |e: &libc::stat| e.st_nlink == 1 || e.st_mode & libc::S_IFMT == libc::S_IFDIR;
    !(sticky && entry.is_none_or(|e| ours(e.st_uid) && alone(e)))
}

/// What a link says.
fn target(link: &OwnedFd) -> io::Result<PathBuf> {
    const PROC: i64 = 0x9fa0;
    let mut text = vec![0u8; libc::PATH_MAX as usize];
    let fd = link.as_raw_fd();
    // SAFETY: zeros are a value of it; the kernel writes it, and the buffer of that length.
    let n = unsafe {
        let mut s: libc::statfs = core::mem::zeroed();
        done(libc::syscall(libc::SYS_fstatfs, fd, &raw mut s))?;
        if s.f_type == PROC {
            // It leads where its text does not.
            return Err(io::Error::from_raw_os_error(libc::EXDEV));
        }
        done(libc::syscall(libc::SYS_readlinkat, fd, c"".as_ptr(), text.as_mut_ptr(), text.len()))?
    };
    text.truncate(n as usize);
    Ok(OsString::from_vec(text).into())
}

/// One step's name.
enum Step {
    /// `/` or `..`.
    To(&'static CStr),
    Down(OsString),
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> + '_ {
    path.components().filter_map(|part| match part {
        Component::RootDir => Some(Step::To(c"/")),
        Component::ParentDir => Some(Step::To(c"..")),
        Component::Normal(name) => Some(Step::Down(name.into())),
        Component::CurDir | Component::Prefix(_) => None,
    })
}

const FOLDER: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;

impl Way {
    /// Walks to `path`, whose last part may be missing. An error: a directory on the way is missing.
    pub fn to(path: &Path) -> io::Result<Self> {
        Self::walk(path, true)
    }

    /// The same, for a name: if the last part is a link, that is what is there.
    pub fn to_name(path: &Path) -> io::Result<Self> {
        Self::walk(path, false)
    }

    fn walk(path: &Path, follow: bool) -> io::Result<Self> {
        // SAFETY: no pointers.
        let me = unsafe { libc::geteuid() };
        let mut left: VecDeque<Step> = steps(path).collect();
        let mut at = open_at(libc::AT_FDCWD, c".", FOLDER, 0)?;
        let (mut links, mut others) = (0, None);
        let mut walked = PathBuf::new();
        while let Some(step) = left.pop_front() {
            let name = match step {
                Step::Down(name) => name,
                Step::To(folder) => {
                    at = open_at(at.as_raw_fd(), folder, FOLDER, 0)?;
                    walked.push(OsStr::from_bytes(folder.to_bytes()));
                    continue;
                }
            };
            let folder = stat_of(&at)?;
            let here = c(&name)?;
            let mut note = |entry: Option<&libc::stat>| {
                if others.is_none() && others_may(&folder, entry, me) {
                    others = Some(if walked.as_os_str().is_empty() { ".".into() } else { walked.clone() });
                }
            };
            let next = match open_at(at.as_raw_fd(), &here, libc::O_PATH | libc::O_NOFOLLOW, 0) {
                Err(e) if e.kind() == io::ErrorKind::NotFound && left.is_empty() => {
                    note(None);
                    return Ok(Self { folder: at, name: here, found: None, links: links > 0, others });
                }
                r => r?,
            };
            let about = stat_of(&next)?;
            note(Some(&about));
            match about.st_mode & libc::S_IFMT {
                libc::S_IFLNK if follow || !left.is_empty() => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(io::Error::from_raw_os_error(libc::ELOOP));
                    }
                    for step in steps(&target(&next)?).rev() {
                        left.push_front(step);
                    }
                }
                _ if left.is_empty() => {
                    let found = Some(Found { file: next, about });
                    return Ok(Self { folder: at, name: here, found, links: links > 0, others });
                }
                libc::S_IFDIR => {
                    at = next;
                    walked.push(&name);
                }
                _ => return Err(io::Error::from_raw_os_error(libc::ENOTDIR)),
            }
        }
        if path.as_os_str().is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        // A directory without a name of its own (`/`, `..`).
        let found = Some(Found::new(again(&at)?)?);
        Ok(Self { folder: at, name: c".".into(), found, links: links > 0, others })
    }

    /// The way to a name in a directory that is open.
    pub fn in_folder(folder: &impl AsRawFd, name: &OsStr) -> io::Result<Self> {
        let (folder, name) = (again(folder)?, c(name)?);
        let found = match open_at(folder.as_raw_fd(), &name, libc::O_PATH | libc::O_NOFOLLOW, 0) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            file => Some(Found::new(file?)?),
        };
        Ok(Self { folder, name, found, links: false, others: None })
    }

    /// What is there, if there is something.
    pub fn found(&self) -> Option<&Found> {
        self.found.as_ref()
    }

    /// A directory of the way in which somebody else could have put what is there; none: nobody could have.
    pub fn others(&self) -> Option<&Path> {
        self.others.as_deref()
    }

    /// The directory that holds it.
    pub(crate) fn folder(&self) -> RawFd {
        self.folder.as_raw_fd()
    }

    /// Its name in [`Way::folder`].
    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }

    /// Is the directory the one that the path named when there were no links in it, or one to which only this
    /// user and root could have led? An error says who could have led elsewhere.
    pub fn is_straight(&self) -> Result<(), String> {
        match &self.others {
            Some(folder) if self.links => Err(format!(
                "the way to it has symbolic links, and others may have put them there (they may write to {})",
                folder.display()
            )),
            _ => Ok(()),
        }
    }

    /// Is the directory that holds it the one that had this inode, or one of those `made` since (device and
    /// inode), or is it this user's own affair which one it is? The error says why not.
    pub fn is_in(&self, inode: u64, made: &[(u64, u64)]) -> Result<(), String> {
        let Some(others) = &self.others else { return Ok(()) };
        let now = stat_of(&self.folder).map_err(|e| e.kind().to_string())?;
        if now.st_ino == inode || made.contains(&(now.st_dev, now.st_ino)) {
            return Ok(());
        }
        Err(format!(
            "its directory is another one (inode {}, expected {inode}), and others may have put it there \
             (they may write to {})",
            now.st_ino,
            others.display()
        ))
    }

    /// Does what is there belong to this user, or is it the user's own affair whose it is?
    pub fn is_ours(&self) -> Result<(), String> {
        // SAFETY: no pointers.
        let me = unsafe { libc::geteuid() };
        match (&self.others, &self.found) {
            (Some(others), Some(found)) if found.owner().0 != me => Err(format!(
                "it belongs to user {}, expected {me}, and others may have put it there (they may write \
                 to {})",
                found.owner().0,
                others.display()
            )),
            _ => Ok(()),
        }
    }

    /// Is what is there what was there, at a path that had no links? By its inode (another mount of the same
    /// file system has another device) and birth; and where nobody else could have put it there, what is
    /// there is the user's own affair. The error says why not.
    pub fn is(&self, was: &Was) -> Result<&Found, String> {
        let Some(found) = &self.found else { return Err("it is not there".into()) };
        let now = &found.about;
        // SAFETY: no pointers.
        let me = unsafe { libc::geteuid() };
        if found.is_regular() != was.regular {
            let kind = |regular| if regular { "a regular file" } else { "something else" };
            return Err(format!("it is {} now, expected {}", kind(!was.regular), kind(was.regular)));
        }
        if was.owner.is_some_and(|owner| now.st_uid != owner && now.st_uid != me) {
            let (is, owner) = (now.st_uid, was.owner.unwrap_or(me));
            return Err(format!("it belongs to user {is} now, expected {owner}"));
        }
        let born = was.born.zip(born(&found.file)).is_none_or(|(then, now)| then == now);
        let same = !self.links && now.st_ino == was.inode && born;
        match &self.others {
            Some(folder) if !same => Err(format!(
                "it is another file (inode {}, expected {}), and others may have put it there (they may \
                 write to {})",
                now.st_ino,
                was.inode,
                folder.display()
            )),
            _ => Ok(found),
        }
    }

    /// Makes the file, which must not be there, with permissions `mode`; `flags`: how it is opened.
    pub fn make(&self, flags: i32, mode: u32) -> io::Result<OwnedFd> {
        let how = flags & !libc::O_TRUNC | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        open_at(self.folder.as_raw_fd(), &self.name, how, mode)
    }

    /// Makes a file without a name in the directory, for reading and writing.
    pub fn make_nameless(&self, mode: u32) -> io::Result<OwnedFd> {
        let folder = self.folder.as_raw_fd();
        open_at(folder, c".", libc::O_RDWR | libc::O_TMPFILE, mode).or_else(|_| {
            // File systems that have no such thing.
            let name = hidden_name()?;
            let how = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
            let file = open_at(folder, &name, how, mode)?;
            // SAFETY: a C string.
            done(unsafe { libc::syscall(libc::SYS_unlinkat, folder, name.as_ptr(), 0) }).map(|_| file)
        })
    }

    /// Removes its name. `directory`: it is one, and empty.
    pub fn remove(&self, directory: bool) -> io::Result<()> {
        let flags = if directory { libc::AT_REMOVEDIR } else { 0 };
        let (folder, name) = (self.folder.as_raw_fd(), self.name.as_ptr());
        // SAFETY: a C string.
        done(unsafe { libc::syscall(libc::SYS_unlinkat, folder, name, flags) }).map(drop)
    }

    /// Makes a directory of that name; its device and inode.
    pub fn make_directory(&self, mode: u32) -> io::Result<(u64, u64)> {
        let (folder, name) = (self.folder.as_raw_fd(), self.name.as_ptr());
        // SAFETY: a C string.
        done(unsafe { libc::syscall(libc::SYS_mkdirat, folder, name, mode) })?;
        let made = open_at(folder, &self.name, FOLDER & !libc::O_PATH, 0)?;
        // SAFETY: a descriptor of ours. The mask of this process has taken some of them.
        done(unsafe { libc::syscall(libc::SYS_fchmod, made.as_raw_fd(), mode) })?;
        stat_of(&made).map(|s| (s.st_dev, s.st_ino))
    }

    /// Gives it the name that `to` leads to, where nothing is.
    pub fn rename(&self, to: &Self) -> io::Result<()> {
        const NOREPLACE: u32 = 1;
        let (from, name) = (self.folder.as_raw_fd(), self.name.as_ptr());
        let (folder, new) = (to.folder.as_raw_fd(), to.name.as_ptr());
        // SAFETY (both): C strings.
        let r = done(unsafe { libc::syscall(libc::SYS_renameat2, from, name, folder, new, NOREPLACE) });
        match r {
            // File systems without that flag: the caller has looked.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
                done(unsafe { libc::syscall(libc::SYS_renameat, from, name, folder, new) }).map(drop)
            }
            r => r.map(drop),
        }
    }

    /// Gives it, a file, a second name: the one that `to` leads to, where nothing is. A symbolic link on
    /// another file system is made anew. Device and inode of what is there then.
    pub fn link(&self, to: &Self) -> io::Result<(u64, u64)> {
        let (from, name) = (self.folder.as_raw_fd(), self.name.as_ptr());
        let (folder, new) = (to.folder.as_raw_fd(), to.name.as_ptr());
        // SAFETY: C strings.
        done(unsafe { libc::syscall(libc::SYS_linkat, from, name, folder, new, 0) })
            .and_then(|_| stat_of(&open_at(folder, &to.name, libc::O_PATH | libc::O_NOFOLLOW, 0)?))
            .map(|s| (s.st_dev, s.st_ino))
            .or_else(|e| self.leads_to().ok().flatten().ok_or(e).and_then(|text| to.lead_to(&text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("promp-way-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir(&dir).unwrap();
            fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
            Self(dir.canonicalize().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn was(path: &Path) -> Was {
        let m = fs::symlink_metadata(path).unwrap();
        let born = fs::File::open(path).ok().and_then(|f| born(&f));
        Was { inode: m.ino(), owner: Some(m.uid()), regular: m.is_file(), born }
    }

    fn open_to_others(path: &Path) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }

    #[test]
    fn the_same_file_by_any_way() {
        let f = Folder::new("same");
        fs::write(f.path("a"), "x").unwrap();
        let then = was(&f.path("a"));
        symlink("a", f.path("b")).unwrap();
        symlink(&f.0, f.path("c")).unwrap();
        let name = f.0.file_name().unwrap();
        let all =
            [f.path("a"), f.path("b"), f.path("c/a"), f.path("c/c/b"), f.path("c/..").join(name).join("a")];
        for path in &all {
            let way = Way::to(path).unwrap();
            assert_eq!(way.is(&then).unwrap().file().1, then.inode, "{}", path.display());
            assert_eq!(way.name(), c"a");
        }
        open_to_others(&f.0);
        for (i, path) in all.iter().enumerate() {
            assert_eq!(Way::to(path).unwrap().is(&then).is_ok(), i == 0, "{}", path.display());
        }
        // The number of an inode is used again.
        let reused = Was { born: then.born.map(|t| t - 1), ..then };
        assert_eq!(Way::to(&all[0]).unwrap().is(&reused).is_ok(), then.born.is_none());
    }

    #[test]
    fn another_file_is_taken_where_nobody_else_can_have_put_it() {
        let f = Folder::new("other");
        fs::write(f.path("a"), "x").unwrap();
        let then = was(&f.path("a"));
        fs::write(f.path("new"), "y").unwrap();
        fs::rename(f.path("new"), f.path("a")).unwrap();
        assert!(Way::to(&f.path("a")).unwrap().is(&then).is_ok());
        symlink("a", f.path("link")).unwrap();
        assert!(Way::to(&f.path("link")).unwrap().is(&then).is_ok());
        open_to_others(&f.0);
        for name in ["a", "link"] {
            let why = Way::to(&f.path(name)).unwrap().is(&then).err().unwrap();
            assert!(why.contains("another file") && why.contains(f.0.to_str().unwrap()), "{why}");
        }
        // Sticky: nobody else takes away what is ours, but a second name may be theirs.
        fs::set_permissions(&f.0, fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(Way::to(&f.path("a")).unwrap().is(&then).is_ok());
        fs::hard_link(f.path("a"), f.path("second")).unwrap();
        assert!(Way::to(&f.path("a")).unwrap().is(&then).is_err());
    }

    #[test]
    fn other_kinds_and_owners() {
        let f = Folder::new("kinds");
        fs::write(f.path("a"), "x").unwrap();
        let then = was(&f.path("a"));
        fs::create_dir(f.path("d")).unwrap();
        let said = |w: Way, was: &Was| w.is(was).err().unwrap();
        assert!(said(Way::to(&f.path("d")).unwrap(), &then).contains("expected a regular file"));
        assert!(said(Way::to(&f.path("none")).unwrap(), &then).contains("not there"));
        // SAFETY: no pointers.
        if unsafe { libc::geteuid() } == 0 {
            std::os::unix::fs::chown(f.path("a"), Some(12345), None).unwrap();
            assert!(said(Way::to(&f.path("a")).unwrap(), &then).contains("belongs to user 12345"));
        }
    }

    #[test]
    fn links_of_others_lead_nowhere() {
        let f = Folder::new("links");
        fs::create_dir(f.path("there")).unwrap();
        symlink("there", f.path("ours")).unwrap();
        assert!(Way::to(&f.path("ours/new")).unwrap().is_straight().is_ok());
        open_to_others(&f.0);
        assert!(Way::to(&f.path("there/new")).unwrap().is_straight().is_ok());
        assert!(Way::to(&f.path("ours/new")).unwrap().is_straight().is_err());
        symlink("loop", f.path("loop")).unwrap();
        assert_eq!(Way::to(&f.path("loop")).err().unwrap().raw_os_error(), Some(libc::ELOOP));
        assert_eq!(Way::to(&f.path("none/x")).err().unwrap().kind(), io::ErrorKind::NotFound);
        assert!(Way::to(Path::new("")).is_err());
        for path in ["/", "/..", "/tmp/.."] {
            let root = Way::to(Path::new(path)).unwrap();
            assert!(root.is(&was(Path::new("/"))).is_ok() && root.remove(true).is_err(), "{path}");
        }
    }

    #[test]
    fn directories_of_others_are_not_taken() {
        let f = Folder::new("is-in");
        fs::create_dir(f.path("d")).unwrap();
        fs::write(f.path("d/a"), "").unwrap();
        let inode = fs::metadata(f.path("d")).unwrap().ino();
        let way = || Way::to_name(&f.path("d/a")).unwrap();
        assert!(
            way().is_in(inode + 1, &[]).is_ok() && way().is_ours().is_ok(),
            "nobody else can write there"
        );
        open_to_others(&f.0);
        assert!(way().is_in(inode, &[]).is_ok() && way().is_ours().is_ok());
        assert!(way().is_in(inode + 1, &[]).is_err_and(|why| why.contains("another one")));
        let number = (fs::metadata(f.path("d")).unwrap().dev(), inode);
        assert!(way().is_in(inode + 1, &[number]).is_ok());
        // SAFETY: no pointers.
        if unsafe { libc::geteuid() } == 0 {
            std::os::unix::fs::chown(f.path("d/a"), Some(12345), None).unwrap();
            assert!(way().is_ours().is_err_and(|why| why.contains("belongs to user 12345")));
        }
    }

    #[test]
    fn what_is_made_replaces_nothing() {
        let f = Folder::new("make");
        let way = Way::to(&f.path("a")).unwrap();
        drop(way.make(libc::O_WRONLY, 0o640).unwrap());
        assert!(way.make(libc::O_WRONLY, 0o640).is_err());
        let b = Way::to(&f.path("b")).unwrap();
        way.link(&b).unwrap();
        assert!(way.rename(&b).is_err(), "there is one");
        b.remove(false).unwrap();
        way.rename(&b).unwrap();
        assert!(!f.path("a").exists() && f.path("b").exists());
        let d = Way::to(&f.path("d")).unwrap();
        d.make_directory(0o777).unwrap();
        assert_eq!(fs::metadata(f.path("d")).unwrap().mode() & 0o7777, 0o777);
        d.remove(true).unwrap();
    }
}
