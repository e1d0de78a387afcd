//! What a checkpoint has of open files: their names and offsets, kernel objects behind descriptors, and where
//! the program is in pipes that it was started with.

use serde::{Deserialize, Serialize};

/// An open file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFile {
    /// Descriptor.
    pub fd: i32,
    /// Path, or what it is (`pipe:[1]`).
    pub path: String,
    /// A stream that the program was started with.
    pub inherited: bool,
    /// Is it a regular file (with an offset to go back to)?
    pub regular: bool,
    /// Flags of open(2).
    pub flags: i32,
    /// File offset.
    pub offset: u64,
    /// Length of the file; the room in a pipe of the program's own.
    pub length: u64,
    /// Device of the file.
    pub device: u64,
    /// Inode of the file.
    pub inode: u64,
    /// Whose it is, and since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Its permissions.
    pub mode: u32,
    /// The number of its content, if that is saved ([`file_pages`](super::file_pages)); all descriptors of a
    /// file have the same.
    pub content: Option<u32>,
    /// A descriptor with a smaller number that has the same offset and flags, because one was made from the
    /// other.
    pub same_as: Option<i32>,
    /// The descriptor that the program was started with, of which this is a duplicate; for streams without
    /// a name.
    #[serde(default)]
    pub duplicate_of: Option<i32>,
    /// A pipe from which the program has read.
    #[serde(default)]
    pub was_read: bool,
    /// A pipe from which nothing more can come.
    #[serde(default)]
    pub has_ended: bool,
    /// What it holds, if it is a pipe of the program's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<u8>,
    /// What it is, if it is no file but an object of the kernel's that only this process has.
    #[serde(default)]
    pub object: Option<Object>,
    /// What else is to be known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peculiarity: Option<Peculiarity>,
    /// Locks that the program holds by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<FileLock>,
}

/// What tells a file from another one that has its number later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The user that it belongs to.
    pub owner: u32,
    /// When it was made, in nanoseconds since 1970, where the file system knows it.
    pub born: Option<i64>,
}

/// What matters where a new process is to have a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Peculiarity {
    /// It is memory of memfd_create that can never be sealed (F_SEAL_SEAL).
    Unsealable,
    /// It is a symbolic link itself (O_PATH, O_NOFOLLOW).
    Link,
    /// The name by which it was opened is gone, and it has another one.
    OtherName,
    /// It sends the process signals (F_SETOWN, F_NOTIFY).
    Signals,
}

/// A directory, and what tells it from another one that has its path later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Form")]
pub struct Place {
    /// Its path.
    pub path: String,
    /// Its inode; 0: not known.
    pub(crate) inode: u64,
    /// When it was made, in nanoseconds since 1970, where the file system knows it.
    pub(crate) born: Option<i64>,
}

/// How a [`Place`] is written; at first it was its path alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Path(String),
    Whole { path: String, inode: u64, born: Option<i64> },
}

impl From<Form> for Place {
    fn from(form: Form) -> Self {
        match form {
            Form::Path(path) => Self { path, inode: 0, born: None },
            Form::Whole { path, inode, born } => Self { path, inode, born },
        }
    }
}

/// An advisory lock of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLock {
    /// Whose it is.
    pub kind: LockKind,
    /// Is it for writing?
    pub write: bool,
    /// Its first byte. (flock(2)'s are of the whole file.)
    pub start: u64,
    /// How many bytes it has; 0: all to the file's end, however long it becomes.
    pub length: u64,
}

/// Whose a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LockKind {
    /// An open file's, of all of it: flock(2).
    Whole,
    /// An open file's: F_OFD_SETLK.
    OpenFile,
    /// The process's: F_SETLK, lockf(3).
    Process,
}

/// An object of the kernel's behind a descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Object {
    /// eventfd(2).
    Event {
        /// Its count.
        count: u64,
        /// Does a read take one only?
        semaphore: bool,
    },
    /// timerfd_create(2). Times in seconds and nanoseconds.
    Timer {
        /// Its clock.
        clock: i32,
        /// How often it has expired since it was last read.
        ticks: u64,
        /// Its interval.
        every: [u64; 2],
        /// The time until it expires next.
        left: [u64; 2],
    },
    /// signalfd(2): the signals.
    Signals(u64),
    /// epoll(7).
    Watches(Vec<Watched>),
}

/// A descriptor in a set of epoll(7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// Descriptor.
    pub fd: i32,
    /// What is waited for.
    pub events: u32,
    /// What the program is told then.
    pub data: u64,
    /// Inode of the file.
    pub inode: u64,
}

impl OpenFile {
    /// Can it be read from?
    pub fn is_readable(&self) -> bool {
        self.flags & libc::O_ACCMODE != libc::O_WRONLY
    }

    /// Can it be written to?
    pub fn is_writable(&self) -> bool {
        self.flags & libc::O_ACCMODE != libc::O_RDONLY
    }

    /// Does no name lead to it?
    pub fn has_no_name(&self) -> bool {
        !self.path.starts_with('/') || self.path.ends_with(" (deleted)")
    }

    /// The name of memory of memfd_create.
    pub fn memory(&self) -> Option<&str> {
        self.path.strip_prefix("/memfd:")?.strip_suffix(" (deleted)")
    }

    /// Can a new process open it?
    pub fn can_be_opened_again(&self) -> bool {
        let made_anew = self.content.is_some() || self.object.is_some() || self.is_own_pipe();
        match self.peculiarity {
            Some(Peculiarity::Signals) => false,
            Some(Peculiarity::Link | Peculiarity::OtherName) => self.inherited,
            _ => self.inherited || !self.has_no_name() || made_anew,
        }
    }

    /// Does the descriptor only say where it is? (O_PATH)
    pub(crate) fn is_place(&self) -> bool {
        self.flags & libc::O_PATH != 0
    }

    /// Is it a pipe that the program has made itself? A new one that holds the same does as well.
    pub fn is_own_pipe(&self) -> bool {
        !self.inherited && self.path.starts_with("pipe:")
    }
}

/// How much the program has read from a pipe that it was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Device of the pipe.
    pub device: u64,
    /// Inode of the pipe.
    pub inode: u64,
    /// Bytes.
    pub position: u64,
}

/// How much the program has sent to a pipe that it was started with. The last 64 MiB of it are in
/// `DIR/sent-SLOT`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Slot.
    pub slot: u32,
    /// Device of the pipe.
    pub device: u64,
    /// Inode of the pipe.
    pub inode: u64,
    /// Bytes.
    pub position: u64,
    /// Bytes that had gone out by then: more, while the program repeats what it has sent. Older versions: 0.
    #[serde(default)]
    pub end: u64,
    /// Where its output differs from what it was before a rollback.
    #[serde(default)]
    pub lines: Option<SentLines>,
}

/// Lines that the program is expected to send once more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentLines {
    /// Their checksums.
    pub sums: Vec<u64>,
    /// The pipe ends with a part of a line that does not go on.
    pub cut: bool,
    /// What has not been sent of the program's line because it is as it was: its place in the stream, and
    /// its length.
    pub held: [u64; 2],
}
