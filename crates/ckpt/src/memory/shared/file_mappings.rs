//! Files that the program writes to as memory.

use super::owners::{Owners, is_file};
use crate::contents::{self, Opened};
use crate::files;
use crate::image::{Description, Map, OpenFile};
use crate::resources::resource::No;
use crate::store::Store;
use crate::sys;
use crate::sys::fcntl_locks;
use std::os::fd::IntoRawFd;

/// Files that are not open, or only to be read, by descriptors of ours.
#[derive(Default)]
pub(crate) struct Unopened(pub Vec<OpenFile>);

impl Unopened {
    /// Those that `maps` write to, and that are not among the `open` ones. The error says of which one the
    /// content could not be put back.
    pub(crate) fn of(maps: &[Map], open: &[OpenFile]) -> Result<Self, String> {
        let mut found = Self::default();
        for m in maps.iter().filter(|m| m.shared && m.prot & libc::PROT_WRITE != 0 && !m.is_nameless()) {
            if !open.iter().chain(&found.0).any(|f| is_mapped(f, m) && f.is_writable()) {
                found.0.push(opened(m)?);
            }
        }
        Ok(found)
    }
}

impl Drop for Unopened {
    fn drop(&mut self) {
        for f in &self.0 {
            // SAFETY: a descriptor of ours.
            unsafe { sys!(libc::SYS_close, f.fd) };
        }
    }
}

/// Opens the file that is mapped, if its name leads to it.
fn opened(m: &Map) -> Result<OpenFile, String> {
    let wrong = |why: &str| wrong(m, why);
    if !is_file(m) {
        return Err(with_others(m));
    }
    // To close it again would give back locks.
    if fcntl_locks::held(m.inode) {
        return Err(wrong("the file is locked, and not open"));
    }
    let (path, flags, inode) = (m.path.clone(), libc::O_RDWR, m.inode);
    let f = open(&OpenFile { path, flags, inode, regular: true, ..OpenFile::default() });
    let f = f.map_err(|why| wrong(&format!("its file is not open, nor can it be opened: {why}")))?;
    let mut opened = Unopened(vec![f]);
    if !is_mapped(&opened.0[0], m) {
        return Err(wrong("its file, which is not open, is not the one of that name"));
    }
    Ok(opened.0.remove(0))
}

/// Opens the file of `f`, and describes it anew.
fn open(f: &OpenFile) -> Result<OpenFile, String> {
    let fd = f.open_again(f.flags)?.into_raw_fd();
    files::described(fd, f).ok_or_else(|| {
        // SAFETY: a descriptor of ours.
        unsafe { sys!(libc::SYS_close, fd) };
        "it is no regular file".into()
    })
}

/// Is it the file of a mapping? File systems that lie over others have two devices.
fn is_mapped(f: &OpenFile, m: &Map) -> bool {
    f.regular && f.inode == m.inode && f.path == m.path
}

/// Tells the shared memory in `maps` of a process at rest which of the files `all` it is, of those whose
/// content is saved; what is none of them has to be this process' alone, and without a name.
pub(crate) fn bind(maps: &mut [Map], all: &[OpenFile], owners: &Owners) -> Result<(), No> {
    let written: Vec<Map> =
        maps.iter().filter(|m| m.shared && m.prot & libc::PROT_WRITE != 0).cloned().collect();
    for m in maps.iter_mut().filter(|m| m.shared) {
        // What this process only reads stays what others make it.
        let by = written.iter().find(|w| w.is_of(m));
        if by.is_none() && !m.is_nameless() {
            continue;
        }
        match owners.is_own(by.unwrap_or(m)) {
            None => return Err(No::Later),
            Some(true) => {}
            Some(false) => return Err(No::Refused(with_others(m))),
        }
        let file = all.iter().find(|f| is_mapped(f, m));
        if file.is_some_and(|f| f.inherited) {
            return Err(No::Refused(wrong(m, "the program was started with its file open")));
        }
        match file.map(|f| f.content) {
            Some(None) => {
                let why = "its file's content is not saved: PROMP_CKPT_FILES allows too little";
                return Err(No::Refused(wrong(m, why)));
            }
            content => m.content = content.flatten(),
        }
    }
    Ok(())
}

fn with_others(m: &Map) -> String {
    if m.path.starts_with("/[aio]") {
        return "the program uses asynchronous input and output of the kernel's (io_setup)".into();
    }
    let what = match m.path.starts_with("/secretmem") {
        true => "nobody but the program may read its memory: memfd_secret(2)",
        false => "memory is shared with others",
    };
    format!("{what} ({:x}-{:x} {})", m.start, m.end, m.path)
}

fn wrong(m: &Map, why: &str) -> String {
    format!("memory is shared, and {why} ({:x}-{:x} {})", m.start, m.end, m.path)
}

/// When the program's open files are what they were: makes those what they were that are not open, and maps
/// all of them.
pub(crate) fn put_back(about: &Description, store: &Store) -> Result<(), String> {
    let mut closed = Unopened::default();
    for f in &about.unopened {
        let now = open(f).map_err(|why| format!("{} cannot be opened again: {why}", f.path))?;
        closed.0.push(OpenFile { fd: now.fd, ..f.clone() });
    }
    contents::put_back(&closed.0, store)?;
    closed.0.iter().try_for_each(|f| files::put_length_back(f, &[]))?;
    let all: Vec<OpenFile> = about.files.iter().chain(&closed.0).cloned().collect();
    let mapped = |f: &OpenFile| about.maps.iter().any(|m| m.content.is_some() && m.content == f.content);
    for (f, _) in contents::saved(&all).filter(|(f, _)| mapped(f)) {
        let file =
            Opened::new(f).map_err(|why| format!("{}: cannot be opened to be mapped: {why}", f.path))?;
        for m in about.maps.iter().filter(|m| m.content == f.content) {
            file.map(m)?;
        }
    }
    Ok(())
}
