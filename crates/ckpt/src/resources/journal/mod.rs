//! The journal: what becomes of files by name after a checkpoint.
//!
//! A program that opens a file, appends a line and closes it again, makes a file that must not be there yet, removes what it has read, or puts a new
//! version in an old one's place would find, after a rollback, files of the future. The content of files that are open when a
//! checkpoint is taken is part of it (`contents.rs`); for all others the calls that change them are noted before they are made:
//! `file_calls.rs` has the calls, `note.rs` what is written down, `undo.rs` how a rollback or restart makes
//! them undone, the last one first.
//!
//! **Eras.** Every copy of the program's state begins an era; the description of a checkpoint has its era's number. What is noted in an era
//! goes to `DIR/undo-ERA`, and what files held to `DIR/undo-ERA-N`. To go back to a checkpoint is to undo its era and all later
//! ones. A call and its note belong to the same era: no checkpoint is taken between them (`transition_begins`).
//!
//! **A record** is on the disk's side of the system before the call is made, so a process that is killed at any instruction leaves no
//! call without a record. It may leave a record without its call: undoing one looks whether the call has been made. Since every call that changes
//! names is noted, a name means, while the records behind it have been undone, what it meant when the record was written; so files are known by
//! their names. Content is noted once an era and file.

pub(crate) mod file_calls;
pub(crate) mod links;
pub(crate) mod name;
pub(crate) mod note;
pub(crate) mod undo;

use crate::image;
use core::sync::atomic::Ordering::*;
use core::sync::atomic::{AtomicU32, AtomicU64};
use promp_files::Folder;

/// Files whose content has been noted are remembered here, a word each.
const SEEN: usize = 1 << 12;

/// What is known of the journal, in the kept region. Zeroed memory: there is none yet.
pub struct Journal {
    /// The checkpoint directory.
    pub folder: Folder,
    /// The era.
    pub era: AtomicU64,
    /// Files with what others held, so far in this era.
    copies: AtomicU32,
    /// Bytes that may still be copied in this era.
    left: AtomicU64,
    /// See [`SEEN`].
    seen: [AtomicU64; SEEN],
    /// Objects whose tables of addresses are done: see `file_calls.rs`.
    done: file_calls::Done,
}

impl Journal {
    /// Begins: notes go to `dir`, which is open as `fd`.
    pub fn begin(&self, dir: &std::path::Path, fd: i32, limit: u64) {
        self.left.store(limit, Relaxed);
        self.folder.begin(dir, fd);
        links::begin(|| {
            let name = crate::keep::if_on().and_then(|k| k.journal.folder.name());
            name.map_or(core::ptr::null(), |n| n.as_ptr())
        });
    }

    /// A new era begins. The threads are frozen.
    pub fn next_era(&self, limit: u64) {
        self.era.fetch_add(1, Relaxed);
        self.copies.store(0, Relaxed);
        self.left.store(limit, Relaxed);
    }
}

/// A note of the era before this one could not be written; 0: all were. Outlives the process.
fn broken() -> &'static AtomicU64 {
    let state = crate::state();
    &state[state.len() - 1]
}

/// What has been done, or is about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum What {
    /// A file was made (a link, too).
    Made = 1,
    /// A file was opened for writing or cut: a copy has what it held.
    Content,
    /// A file was opened for appending: it had this length.
    Length,
    /// A file got another name.
    Renamed,
    /// A file was removed or replaced: a copy has what it held, or is the file.
    Removed,
    /// A directory was made.
    MadeDirectory,
    /// A directory was removed.
    RemovedDirectory,
    /// A file was overwritten or removed that was too large for a copy.
    Lost,
    /// Something was done that cannot be undone; its name says what.
    NotUndone,
}

impl What {
    fn from_number(n: u32) -> Option<Self> {
        use What::*;
        let all = [Made, Content, Length, Renamed, Removed, MadeDirectory, RemovedDirectory, Lost, NotUndone];
        all.into_iter().find(|w| *w as u32 == n)
    }
}

/// The fixed part of a record; the names follow, and a checksum of all that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Record {
    what: u32,
    /// Permissions.
    mode: u32,
    /// Length of the file.
    length: u64,
    /// When it was written to last, in ns since 1970.
    written: i64,
    device: u64,
    inode: u64,
    /// Inodes of the directories that the names are in; 0: not known.
    folders: [u64; 2],
    /// Number of the copy; 0: none.
    copy: u32,
    /// Lengths of the names.
    names: [u16; 2],
}

/// Bytes of the fixed part.
const FIXED: usize = size_of::<Record>();

impl Record {
    /// Its bytes.
    fn bytes(&self) -> &[u8; FIXED] {
        // SAFETY: plain integers without padding.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    fn from_bytes(b: &[u8; FIXED]) -> Self {
        // SAFETY: plain integers, any of which are valid.
        unsafe { core::ptr::from_ref(b).cast::<Self>().read_unaligned() }
    }

    /// The checksum of it with its names.
    fn sum(&self, names: [&[u8]; 2]) -> u64 {
        names.iter().fold(image::sum(self.bytes()), |s, n| s.rotate_left(7) ^ image::sum(n))
    }
}
