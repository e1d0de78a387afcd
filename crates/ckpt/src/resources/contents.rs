//! The content of files that the program writes to: what it changes in them after a checkpoint is undone with its memory, or a program that
//! reads a part of a file, changes it and writes it back would change it twice.
//!
//! A file is saved like memory, in pages of the store, whose numbers lie above all addresses ([`image::file_pages`]). Every checkpoint
//! reads all of it while the threads are frozen — nobody says what has changed in a file — and writes the pages whose checksums are
//! different. So there is a limit for what is saved (PROMP_CKPT_FILES).

use crate::image::{self, Entry, Map, OpenFile, PAGE};
use crate::open_descriptors;
use crate::store::Store;
use crate::sys;
use crate::sys::{fcntl_locks, syscall};
use core::ops::Range;
use std::os::fd::IntoRawFd;

/// What [`choose`] has found.
#[derive(Default)]
pub(crate) struct Chosen {
    /// The files whose content is saved, with the numbers of their pages.
    pub files: Vec<(Range<u64>, Opened)>,
    /// Why others are not, although the program may read what it has written to them.
    pub left_out: Vec<String>,
}

/// Chooses the files of `all` whose content is saved and gives each a number. `messages`: standard error, as
/// device and inode. `limit`: bytes for all of them.
///
/// First come files that are open for reading, too, or that no name leads to, then the others; in both the small ones first.
pub(crate) fn choose(all: &mut [OpenFile], messages: Option<(u64, u64)>, limit: u64) -> Chosen {
    let of = |f: &OpenFile| (f.device, f.inode);
    let mut wanted: Vec<(bool, u64, usize)> = Vec::new();
    for (i, f) in all.iter().enumerate() {
        let kernels = image::is_the_kernels(f.path.as_bytes());
        let known = wanted.iter().any(|w| of(&all[w.2]) == of(f));
        if f.regular && f.is_writable() && !kernels && !known && Some(of(f)) != messages {
            let read = f.has_no_name() || all.iter().any(|g| of(g) == of(f) && g.is_readable());
            // What the program was started with and only writes to is a stream.
            if read || !f.inherited {
                wanted.push((!read, f.length, i));
            }
        }
    }
    wanted.sort_unstable();
    let (mut left, mut chosen) = (limit, Chosen::default());
    for (only_written, length, i) in wanted {
        let opened = if length > left.min(image::LONGEST_FILE) {
            Err(format!("PROMP_CKPT_FILES allows {limit} bytes for all files"))
        } else {
            Opened::new(best(all, |f| f.regular && of(f) == of(&all[i])).unwrap_or(&all[i]))
        };
        match opened {
            Ok(opened) => {
                left -= length;
                let (number, file) = (chosen.files.len() as u32 + 1, of(&all[i]));
                chosen.files.push((image::file_pages(number, length), opened));
                all.iter_mut().filter(|f| f.regular && of(f) == file).for_each(|f| f.content = Some(number));
            }
            Err(why) if !only_written => {
                chosen
                    .left_out
                    .push(format!("what is overwritten in {} will not be put back: {why}", all[i].path));
            }
            Err(_) => {}
        }
    }
    chosen
}

/// The descriptor among those that are `one`s for a file with which most can be done: writing, then reading.
fn best(all: &[OpenFile], one: impl Fn(&OpenFile) -> bool) -> Option<&OpenFile> {
    all.iter().filter(|f| one(f)).rev().max_by_key(|f| (f.is_writable(), f.is_readable()))
}

/// The files of `all` whose content is saved: each once, by the descriptor with which most can be done, with its pages.
pub(crate) fn saved(all: &[OpenFile]) -> impl Iterator<Item = (&OpenFile, Range<u64>)> {
    all.iter().filter_map(|f| {
        let number = f.content.filter(|_| f.is_writable())?;
        let chosen = best(all, |g| g.content == f.content)?;
        core::ptr::eq(chosen, f).then(|| (f, image::file_pages(number, f.length)))
    })
}

/// Bytes of them.
pub(crate) fn bytes(all: &[OpenFile]) -> usize {
    saved(all).map(|(f, _)| f.length as usize).sum()
}

/// A file that the program has open, for reading and writing at any place.
///
/// By the program's own descriptor where that can do both: to close another one would give back the locks that the process holds on the file
/// (fcntl(2), F_SETLK).
pub(crate) struct Opened {
    fd: i32,
    is_ours: bool,
    /// The flags of the program's descriptor.
    flags: i32,
}

impl Opened {
    /// Opens the file behind a descriptor of the program's that can be written to; the error says why that is not possible.
    pub(crate) fn new(f: &OpenFile) -> Result<Self, String> {
        if f.is_readable() {
            return Ok(Self { fd: f.fd, is_ours: false, flags: f.flags });
        }
        if fcntl_locks::held(f.inode) {
            return Err("it is locked, and open for writing only".into());
        }
        let fd = promp_files::open_again(f.fd, libc::O_RDWR).map_err(|e| e.kind().to_string())?;
        Ok(Self { fd: fd.into_raw_fd(), is_ours: true, flags: 0 })
    }

    /// Maps it as shared memory, as `m` was.
    pub(crate) fn map(&self, m: &Map) -> Result<(), String> {
        let (len, flags) = (m.end - m.start, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: the program's threads are frozen, and this is what was mapped there.
        let p = unsafe { sys!(libc::SYS_mmap, m.start, len, m.prot, flags, self.fd, m.offset) };
        if p != m.start as isize {
            return Err(format!("{}: cannot be mapped again: {}", m.path, sys::why(p)));
        }
        Ok(())
    }

    /// Takes off the program's descriptor what keeps it from being written to at any place, or puts that back.
    fn set_anywhere(&self, yes: bool) {
        const NOT_ANYWHERE: i32 = libc::O_APPEND | libc::O_DIRECT;
        if self.flags & NOT_ANYWHERE != 0 {
            let flags = if yes { self.flags & !NOT_ANYWHERE } else { self.flags };
            // SAFETY: plain call.
            unsafe { sys!(libc::SYS_fcntl, self.fd, libc::F_SETFL, flags) };
        }
    }

    /// Reads a page; what lies behind the file's end is zero. False if it cannot be read.
    pub(crate) fn read(&self, page: u64, to: &mut [u8]) -> bool {
        let mut done = 0;
        while done < to.len() {
            let (rest, at) = (&mut to[done..], image::file_offset(page) + done as u64);
            // SAFETY: the slice is writable.
            let n = unsafe { sys!(libc::SYS_pread64, self.fd, rest.as_mut_ptr(), rest.len(), at) };
            match n {
                0 => break,
                n if n < 0 => return false,
                n => done += n as usize,
            }
        }
        to[done..].fill(0);
        true
    }

    /// Writes the beginning of a page; the error is the system's.
    fn write(&self, page: u64, from: &[u8]) -> Result<(), isize> {
        syscall::write_all(self.fd, from, image::file_offset(page))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: a descriptor of ours.
            unsafe { sys!(libc::SYS_close, self.fd) };
        }
    }
}

/// Makes the content of files what it was when `store`'s last generation was taken. They are open by the numbers that they had then.
pub(crate) fn put_back(all: &[OpenFile], store: &Store) -> Result<(), String> {
    let mut now = vec![0; PAGE];
    let mut then = vec![0; PAGE];
    for (f, pages) in saved(all) {
        let wrong = |what: &str, e: isize| format!("{}: cannot {what}: {}", f.path, sys::why(e));
        let opened =
            Opened::new(f).map_err(|why| format!("{}: cannot be opened for its content: {why}", f.path))?;
        opened.set_anywhere(true);
        let length = open_descriptors::length_of(f.fd);
        let first = store.index.partition_point(|e: &Entry| e.page < pages.start);
        let mut entries = store.index[first..].iter().peekable();
        for p in pages {
            match entries.next_if(|e| e.page == p) {
                Some(e) => store.read(core::slice::from_ref(e), &mut then)?,
                None => then.fill(0),
            }
            if !opened.read(p, &mut now) {
                return Err(format!("{}: cannot be read", f.path));
            }
            let at = image::file_offset(p);
            let len = (f.length - at).min(PAGE as u64);
            // What is zero because it lies behind the end is not there.
            if now[..len as usize] != then[..len as usize] || at + len > length {
                opened.write(p, &then[..len as usize]).map_err(|e| wrong("write its content", e))?;
            }
        }
        opened.set_anywhere(false);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
