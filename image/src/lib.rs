//! The image on disk: what a checkpoint directory holds, and how it is read back and verified.
//!
//! ```text
//! DIR/pages     pages of memory and of files in slots of 4 KiB; a slot that the last whole generation refers to is never overwritten
//! DIR/gen-N     generation N: header, description (JSON), index (page, slot, checksums); written aside, synced, renamed
//! DIR/sent-N    the last 64 MiB that were sent to a pipe, in a ring
//! DIR/undo-E    what has become of files in era E of the journal; undo-E-N: what they held
//! DIR/state     counters that outlive the process (faults that have struck; has the program ended by itself?)
//! DIR/files/    the kernel's vDSO; copies of the files that are mapped, if it is self-contained (kept.rs)
//! DIR/lock      held (flock) by the process that writes
//! ```
//!
//! Every byte of a generation is under a checksum: the header under its own, description and index under two in the header,
//! each page under one in the index that is made of the page's number, too. A kill between any two instructions leaves the last
//! generation that was renamed whole.

pub mod cpu;
pub mod ended;
pub mod fit;
pub mod kept;
pub mod layout;
pub mod on_signal;
pub mod plan;
pub mod state;
pub mod xsave;

use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// Bytes of a page and of a slot.
pub const PAGE: usize = 4096;
const MAGIC: [u8; 8] = *b"prompckp";
/// Version of the format.
pub const VERSION: u32 = 4;
const HEADER: usize = 64;
/// The most pages of a row in the index: consecutive pages in consecutive slots.
const ROW: usize = 1 << 16;
/// Bits of a slot's number.
const SLOT_BITS: u32 = 48;

/// Pages from this number on, above all addresses, are parts of files: see [`file_pages`].
pub const FILES: u64 = 1 << 50;
const FILE_BITS: u32 = 28;
/// Bytes of the longest file whose content can be saved.
pub const LONGEST_FILE: u64 = (PAGE as u64) << FILE_BITS;

/// The numbers of the pages of a file of `length` bytes whose content has number `content`.
pub fn file_pages(content: u32, length: u64) -> Range<u64> {
    let first = FILES + (u64::from(content) << FILE_BITS);
    first..first + length.div_ceil(PAGE as u64)
}

/// Where in its file a page lies, in bytes.
pub fn file_offset(page: u64) -> u64 {
    (page & ((1 << FILE_BITS) - 1)) * PAGE as u64
}

/// One saved page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Address divided by [`PAGE`]; from [`FILES`] on: a page of a file.
    pub page: u64,
    /// Its slot in `pages`.
    pub slot: u64,
    /// Checksum of its content and of `page`.
    pub sum: u64,
}

/// A mapping of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// First address.
    pub start: usize,
    /// Behind the last.
    pub end: usize,
    /// PROT_* bits.
    pub prot: i32,
    /// Shared (files that are only read, and semaphores).
    pub shared: bool,
    /// Offset in the file.
    pub offset: usize,
    /// Device of the file, as in /proc/self/maps.
    pub dev: String,
    /// Inode of the file; 0: anonymous memory.
    pub inode: u64,
    /// Path of the file, `[heap]`, `[stack]`, or empty.
    pub path: String,
}

/// A mapping of the memory that a semaphore gets which is put back.
pub const SEMAPHORE: &std::ffi::CStr = c"promp-semaphore";

impl Map {
    /// Is it a POSIX semaphore whose first name is gone, or one that was put back?
    pub fn is_semaphore(&self) -> bool {
        let name = self.path.strip_suffix(" (deleted)");
        let made = name.and_then(|n| n.strip_prefix("/memfd:"));
        let kind = name.is_some_and(|n| n.starts_with("/dev/shm/sem."))
            || made.is_some_and(|n| n.as_bytes() == SEMAPHORE.to_bytes());
        self.shared && self.prot & libc::PROT_WRITE != 0 && self.end - self.start == PAGE && kind
    }

    /// Is its content part of a checkpoint, as far as it is not a file's?
    pub fn is_saved(&self) -> bool {
        !self.shared || self.is_semaphore()
    }
}

/// What the kernel keeps of a thread for everybody to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// Its name, as in /proc/PID/task/TID/comm.
    pub name: Word,
    /// The CPUs that it may use, if they are others than the process began with.
    pub cpus: Option<Vec<u32>>,
    /// How it is scheduled, if in another way than the process began with.
    pub scheduling: Option<Scheduling>,
    /// Signals that have been sent to it and that it blocks, a bit a signal.
    #[serde(default)]
    pub pending: u64,
    /// Its memory policy (mode and nodes), if another than the process began with.
    #[serde(default)]
    pub memory_policy: Option<(u32, Vec<u64>)>,
    /// Its I/O priority, if another than the process began with.
    #[serde(default)]
    pub io_priority: Option<u32>,
    /// Its timer slack in nanoseconds, if another than the process began with.
    #[serde(default)]
    pub timer_slack: Option<u64>,
    /// What it may do.
    #[serde(default)]
    pub rights: Option<Rights>,
    /// What else only the thread itself can tell. None: written by an older version.
    #[serde(default)]
    pub own: Option<Own>,
}

/// What the kernel keeps for a thread and tells only the thread itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// The signal at its parent's death (PR_SET_PDEATHSIG), if another than the process began with.
    pub death_signal: Option<u32>,
    /// What becomes of it when its memory fails (PR_MCE_KILL), likewise.
    pub memory_failure: Option<u32>,
    /// Does it write what memory is given back for (PR_SET_IO_FLUSHER)? Likewise.
    pub flusher: Option<u32>,
    /// securebits (capabilities(7)), likewise.
    pub securebits: Option<u32>,
    /// The base of its segment GS.
    pub gs: usize,
    /// CPU time: nanoseconds; of those microseconds in the program, in the system.
    pub used: [u64; 3],
}

/// What a thread may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// User ids: real, effective, saved, of the file system.
    pub users: [u32; 4],
    /// Group ids: likewise.
    pub groups: [u32; 4],
    /// Supplementary groups.
    pub also: Vec<u32>,
    /// Capabilities: inheritable, permitted, effective, bounding, ambient.
    pub capabilities: [u64; 5],
    /// It gets no new privileges by executing a program (PR_SET_NO_NEW_PRIVS).
    pub no_new: bool,
    /// Filters of system calls: the mode, and how many there are.
    pub filters: (u32, u32),
}

/// How a thread is scheduled: of sched_setattr(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduling {
    /// SCHED_OTHER (0), SCHED_FIFO …
    pub policy: u32,
    /// Nice value.
    pub nice: i32,
    /// Priority of a real-time policy.
    pub priority: u32,
    /// SCHED_FLAG_…
    #[serde(default)]
    pub flags: u64,
    /// Of SCHED_DEADLINE: runtime, deadline, period.
    #[serde(default)]
    pub times: [u64; 3],
}

/// A limit on a resource of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// RLIMIT_CPU (0) …
    pub resource: u32,
    /// The soft limit; `u64::MAX`: none.
    pub soft: u64,
    /// Has the program set it itself?
    pub own: bool,
}

/// A logical thread's context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Number of its seat.
    pub seat: u32,
    /// Address of its `Thread`.
    pub thread: usize,
    /// Address of the kernel's signal context on its stack.
    pub context: usize,
    /// Its thread pointer.
    pub thread_pointer: usize,
    /// Its robust list's head.
    pub robust_head: usize,
    /// Is it the one that the program began with?
    pub initial: bool,
    /// What the kernel keeps of it for everybody to see.
    pub attributes: Attributes,
}

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
    /// Length of the file.
    pub length: u64,
    /// Device of the file.
    pub device: u64,
    /// Inode of the file.
    pub inode: u64,
    /// Its permissions.
    pub mode: u32,
    /// The number of its content, if that is saved ([`file_pages`]); all descriptors of a file have the same.
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

    /// Can a new process open it?
    pub fn can_be_opened_again(&self) -> bool {
        self.inherited
            || !self.has_no_name()
            || self.content.is_some()
            || self.object.is_some()
            || self.is_own_pipe()
    }

    /// Is it a pipe that the program has made itself? A new one that holds the same does as well.
    pub fn is_own_pipe(&self) -> bool {
        !self.inherited && self.path.starts_with("pipe:")
    }
}

/// A file that is mapped, and how to know it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedFile {
    /// Path.
    pub path: String,
    /// Length.
    pub length: u64,
    /// Checksum of the content; 0 for files too large to read, which are known by length and time of change.
    pub sum: u64,
    /// Time of the last change, nanoseconds since 1970; compared where `sum` is 0.
    pub changed: i128,
}

/// A signal's disposition, as the kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disposition {
    /// Signal number.
    pub signal: i32,
    /// Handler, flags, restorer, mask.
    pub action: [u64; 4],
}

/// An argument or a line of the environment: text, or bytes where it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Word {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl Word {
    /// As the system has it.
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(match self {
            Self::Text(t) => t.as_bytes(),
            Self::Bytes(b) => b,
        })
    }
}

impl From<&[u8]> for Word {
    fn from(b: &[u8]) -> Self {
        core::str::from_utf8(b).map_or_else(|_| Self::Bytes(b.into()), |t| Self::Text(t.into()))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_os_str().display().fmt(f)
    }
}

/// What a generation is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Version of promp that wrote it.
    pub promp: String,
    /// The program's file.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<Word>,
    /// Its environment, `NAME=value`.
    pub environment: Vec<Word>,
    /// Its working directory.
    pub directory: String,
    /// File creation mask.
    pub umask: u32,
    /// The soft limit on the stack when it began, on which it depends where mappings lie; `u64::MAX`: none.
    pub stack_limit: u64,
    /// Its limits.
    pub limits: Vec<Limit>,
    /// Its process id.
    pub pid: u32,
    /// Seconds since 1970.
    pub written: u64,
    /// Seconds since the program's start.
    pub at_s: Seconds,
    /// Outermost regions started.
    pub region: u64,
    /// OMP_NUM_THREADS' value or the default.
    pub threads: u32,
    /// CPU time of the process and of the children that it has waited for, as in [`Own`].
    #[serde(default)]
    pub used: [[u64; 3]; 2],
    /// The break.
    pub brk: usize,
    /// Address of the kernel's vDSO.
    pub vdso: usize,
    /// CPU features, as in /proc/cpuinfo.
    pub cpu: Vec<String>,
    /// Mappings.
    pub maps: Vec<Map>,
    /// Mapped files.
    pub mapped: Vec<MappedFile>,
    /// Threads.
    pub contexts: Vec<Context>,
    /// Open files.
    pub files: Vec<OpenFile>,
    /// The era of the journal of files that begins with it (`DIR/undo-ERA`).
    pub era: u64,
    /// Signal dispositions.
    pub signals: Vec<Disposition>,
    /// Signals that have been sent to the process and that everybody blocks, a bit a signal.
    #[serde(default)]
    pub pending: u64,
    /// The clocks that count from the system's start.
    #[serde(default)]
    pub clocks: Clocks,
    /// The run of the system that it was written in.
    #[serde(default)]
    pub boot: String,
    /// Where the program was in its output to pipes.
    #[serde(default)]
    pub sent: Vec<Sent>,
    /// Where it was in its input from pipes.
    #[serde(default)]
    pub received: Vec<Received>,
    /// Was the initial thread alone in the program then, in serial code? Its workers had nothing to do.
    #[serde(default)]
    pub alone: bool,
    /// What the program had asked of the number of threads, or said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<Asked>,
    /// Memory that was left out because it was dead: [start, end), in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead: Vec<(usize, usize)>,
    /// Has the directory copies of the files that are mapped?
    #[serde(default)]
    pub contained: bool,
    /// The program's file as it is mapped, if that is not `program` any more: a copy.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub executable: String,
    /// The libraries that the loader had loaded before the program began, in that order, as they are
    /// mapped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<String>,
    /// The loader's file, as it is mapped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub loader: String,
    /// The kernel's vDSO, of which there is a copy.
    #[serde(default)]
    pub kernel: Option<MappedFile>,
    /// The level that the run was bound to.
    #[serde(default)]
    pub level: Option<cpu::Level>,
    /// The form of registers in signals' frames.
    #[serde(default)]
    pub registers: xsave::Form,
}

/// A routine of OpenMP's that tells the number of threads, or sets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Its name.
    pub routine: String,
    /// The return address of its first call.
    pub at: usize,
}

/// Clocks that begin anew with the system, in nanoseconds. For the program they go on: its differences and
/// deadlines are by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// CLOCK_MONOTONIC.
    pub monotonic: u64,
    /// CLOCK_BOOTTIME.
    pub boottime: u64,
}

impl Clocks {
    /// What they say now.
    pub fn now() -> Self {
        let read = |clock| {
            let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `t` is writable.
            unsafe { libc::clock_gettime(clock, &mut t) };
            t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
        };
        Self { monotonic: read(libc::CLOCK_MONOTONIC), boottime: read(libc::CLOCK_BOOTTIME) }
    }

    /// By how much each of them is behind what it was: the system has been started since, or it is another
    /// one.
    pub fn behind(&self, was: &Self) -> Self {
        Self {
            monotonic: was.monotonic.saturating_sub(self.monotonic),
            boottime: was.boottime.saturating_sub(self.boottime),
        }
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

/// Seconds; compared in tests only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds(pub f64);
impl Eq for Seconds {}

/// A generation as read from its file.
#[derive(Debug)]
pub struct Generation {
    /// Its number.
    pub number: u64,
    /// What it is about.
    pub about: Description,
    /// Its pages, by address.
    pub index: Vec<Entry>,
}

/// The checksum of a page: of its content, moved by its number, so that another page's content is not taken
/// for its. (A hash with a seed would take a third longer.)
pub fn page_sum(page: u64, content: &[u8]) -> u64 {
    /// Odd: no two numbers give the same.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    sum(content) ^ page.wrapping_mul(SPREAD)
}

/// The checksum of anything else.
pub fn sum(content: &[u8]) -> u64 {
    XxHash3_64::oneshot(content)
}

/// [`sum`] of what comes piece by piece.
#[derive(Default)]
pub struct Sum(XxHash3_64);

impl Sum {
    /// More of it.
    pub fn add(&mut self, bytes: &[u8]) {
        core::hash::Hasher::write(&mut self.0, bytes);
    }

    /// The sum of all so far.
    pub fn value(&self) -> u64 {
        core::hash::Hasher::finish(&self.0)
    }
}

/// The bytes of a generation's file. The index is a list of rows, in the order of their pages: the first
/// page, its slot with the number of further pages above it (16 bits), the checksum of each page. All
/// numbers are little-endian words.
pub fn encode(number: u64, about: &Description, index: &[Entry]) -> Vec<u8> {
    let json = serde_json::to_vec(about).expect("plain data");
    let rows = || {
        index.chunk_by(|a, b| (a.page + 1, a.slot + 1) == (b.page, b.slot)).flat_map(|row| row.chunks(ROW))
    };
    let index_len = 8 * (index.len() + 2 * rows().count());
    let mut out = Vec::with_capacity(HEADER + json.len() + index_len);
    out.resize(HEADER, 0);
    out.extend_from_slice(&json);
    for row in rows() {
        out.extend_from_slice(&row[0].page.to_le_bytes());
        out.extend_from_slice(&(row[0].slot | (row.len() as u64 - 1) << SLOT_BITS).to_le_bytes());
        row.iter().for_each(|e| out.extend_from_slice(&e.sum.to_le_bytes()));
    }
    let index_sum = sum(&out[HEADER + json.len()..]);
    let words = [number, json.len() as u64, sum(&json), index_len as u64, index_sum];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..16].copy_from_slice(&(PAGE as u32).to_le_bytes());
    for (i, w) in words.iter().enumerate() {
        out[16 + 8 * i..24 + 8 * i].copy_from_slice(&w.to_le_bytes());
    }
    let s = sum(&out[..HEADER - 8]);
    out[HEADER - 8..HEADER].copy_from_slice(&s.to_le_bytes());
    out
}

/// The index that `bytes` hold; see [`encode`].
fn decode_index(bytes: &[u8]) -> Option<Vec<Entry>> {
    let mut index = Vec::with_capacity(bytes.len() / 8);
    let mut words = bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("8 bytes")));
    while let Some(page) = words.next() {
        let (slot, more) = words.next().map(|w| (w & ((1 << SLOT_BITS) - 1), w >> SLOT_BITS))?;
        for i in 0..=more {
            index.push(Entry { page: page.checked_add(i)?, slot: slot + i, sum: words.next()? });
        }
    }
    Some(index)
}

/// Reads a generation's file; the error says what is wrong with it.
pub fn decode(bytes: &[u8]) -> Result<Generation, String> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    if bytes.len() < HEADER {
        return Err(format!("truncated: {} bytes, a header has {HEADER}", bytes.len()));
    }
    if bytes[..8] != MAGIC {
        return Err("not an image of promp (the first bytes are wrong)".into());
    }
    if word(HEADER - 8) != sum(&bytes[..HEADER - 8]) {
        return Err("the header is damaged (checksum)".into());
    }
    let version = word(8) as u32;
    if version != VERSION || (word(8) >> 32) as usize != PAGE {
        return Err(format!(
            "format version {version}; this promp reads version {VERSION} with pages of {PAGE} bytes"
        ));
    }
    let (json_len, index_len) = (word(24) as usize, word(40) as usize);
    let want = index_len.checked_add(json_len).and_then(|n| n.checked_add(HEADER));
    if want != Some(bytes.len()) {
        return Err(format!("truncated: {} bytes, expected {}", bytes.len(), want.unwrap_or(usize::MAX)));
    }
    let (json, index) = bytes[HEADER..].split_at(json_len);
    if sum(json) != word(32) {
        return Err("the description is damaged (checksum)".into());
    }
    if sum(index) != word(48) {
        return Err("the index is damaged (checksum)".into());
    }
    let about = serde_json::from_slice(json).map_err(|e| format!("the description cannot be read: {e}"))?;
    let index = decode_index(index).ok_or("the index cannot be read")?;
    Ok(Generation { number: word(16), about, index })
}

/// Refuses a directory or file that somebody else could have written: `what` names it in the message.
fn check_owner(path: &Path, directory: bool) -> Result<(), String> {
    let m = fs::symlink_metadata(path).map_err(|e| format!("{}: {}", path.display(), e.kind()))?;
    let shown = path.display();
    if m.file_type().is_symlink() {
        return Err(format!("{shown} is a symbolic link; images are not followed through links"));
    }
    if directory != m.is_dir() || (!directory && !m.is_file()) {
        return Err(format!("{shown} is not a {}", if directory { "directory" } else { "regular file" }));
    }
    // SAFETY: no pointers.
    let me = unsafe { libc::geteuid() };
    if m.uid() != me {
        return Err(format!("{shown} belongs to user {}, expected {me}", m.uid()));
    }
    if m.mode() & 0o077 != 0 {
        let want = if directory { 0o700 } else { 0o600 };
        return Err(format!(
            "{shown} has mode {:o}: others could have changed it; expected {want:o}",
            m.mode() & 0o777
        ));
    }
    Ok(())
}

/// Refuses a directory that is not safely the caller's own.
pub fn check_directory(path: &Path) -> Result<(), String> {
    check_owner(path, true)
}

/// Numbers of the generations whose files are in `dir`, newest first.
pub fn generation_files(dir: &Path) -> Vec<u64> {
    let number = |e: fs::DirEntry| e.file_name().to_str()?.strip_prefix("gen-")?.parse().ok();
    let mut all: Vec<u64> = fs::read_dir(dir).into_iter().flatten().flatten().filter_map(number).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}

/// Opens a file of an image directory for reading, without following links.
fn open(path: &Path) -> Result<File, String> {
    check_owner(path, false)?;
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
        .map_err(|e| format!("{}: {}", path.display(), e.kind()))
}

/// A checkpoint directory, for reading.
pub struct Directory {
    /// Where.
    pub path: PathBuf,
    pages: File,
}

impl Directory {
    /// Opens it; refuses what is not safely the caller's own.
    pub fn open(path: &Path) -> Result<Self, String> {
        check_owner(path, true)?;
        Ok(Self { path: path.into(), pages: open(&path.join("pages"))? })
    }

    /// Opens another of its files for reading.
    pub fn open_file(&self, name: &str) -> Result<File, String> {
        open(&self.path.join(name))
    }

    /// The numbers of the generations whose files are there, newest first.
    pub fn generations(&self) -> Vec<u64> {
        generation_files(&self.path)
    }

    /// Reads generation `number`, without its pages.
    pub fn read(&self, number: u64) -> Result<Generation, String> {
        let path = self.path.join(format!("gen-{number}"));
        let mut bytes = Vec::new();
        open(&path)?.read_to_end(&mut bytes).map_err(|e| format!("{}: {}", path.display(), e.kind()))?;
        let g = decode(&bytes).map_err(|e| format!("{}: {}", path.display(), e))?;
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
        if fs::symlink_metadata(self.path.join(ended::FILE)).is_ok() {
            return true;
        }
        let mut word = [0u8; 8];
        open(&self.path.join("state")).is_ok_and(|f| f.read_exact_at(&mut word, 0).is_ok()) && word != [0; 8]
    }

    /// The newest generation that is `wanted`, can be read, and whose pages are whole.
    pub fn newest_where(&self, wanted: impl Fn(&Generation) -> bool) -> Option<Generation> {
        let read = |n| self.read(n).ok().filter(&wanted);
        self.generations().into_iter().filter_map(read).find(|g| self.verify(g, |_| ()).is_ok())
    }

    /// The newest generation that can be read and whose pages are whole; what is wrong with newer ones is
    /// told to `say`.
    pub fn newest(&self, mut say: impl FnMut(String)) -> Option<Generation> {
        self.generations().into_iter().find_map(|n| {
            let g = self.read(n).and_then(|g| self.verify(&g, |_| ()).map(|()| g));
            g.map_err(|e| say(format!("checkpoint {n} is not used: {e}"))).ok()
        })
    }
}

/// How to know a mapped file again.
pub fn recognise(path: &str) -> Option<MappedFile> {
    const TOO_LARGE: u64 = 256 << 20;
    let m = fs::metadata(path).ok()?;
    let sum = if m.len() > TOO_LARGE { 0 } else { sum(&fs::read(path).ok()?) };
    let changed = i128::from(m.mtime()) * 1_000_000_000 + i128::from(m.mtime_nsec());
    Some(MappedFile { path: path.into(), length: m.len(), sum, changed })
}

/// Features of this machine's CPUs.
pub fn cpu_features() -> Vec<String> {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find_map(|l| l.strip_prefix("flags")?.split_once(':').map(|x| x.1.to_string()));
    flags.unwrap_or_default().split_whitespace().map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let about = Description { program: "/bin/true".into(), region: 3, ..Default::default() };
        let index: Vec<Entry> = (0..5).map(|i| Entry { page: 100 + i, slot: i, sum: i * 7 }).collect();
        encode(9, &about, &index)
    }

    #[test]
    fn pages_of_files_are_apart() {
        let a = file_pages(1, 2 * PAGE as u64 + 1);
        let b = file_pages(2, LONGEST_FILE);
        assert_eq!((a.end - a.start, file_offset(a.start), file_offset(a.end)), (3, 0, 3 * PAGE as u64));
        assert!(a.end < b.start && file_offset(b.end - 1) == LONGEST_FILE - PAGE as u64);
        assert!(FILES < a.start && b.end < u64::MAX / PAGE as u64);
    }

    #[test]
    fn what_is_written_is_read() {
        let g = decode(&sample()).unwrap();
        assert_eq!((g.number, g.about.region, g.index.len(), g.index[4].page), (9, 3, 5, 104));
    }

    /// Rows end where pages or slots do, and where they are as long as one can be.
    #[test]
    fn an_index_of_rows_is_read_as_it_was() {
        let entry = |page, slot| Entry { page, slot, sum: page ^ slot << 20 };
        let mut index: Vec<Entry> = (0..2 * ROW as u64 + 3).map(|i| entry(100 + i, 7 + i)).collect();
        index.extend(
            [(300_000, 5), (300_001, 4), (300_003, 300), (FILES + 1, 301), (FILES + 2, 302)]
                .map(|e| entry(e.0, e.1)),
        );
        let bytes = encode(1, &Description::default(), &index);
        assert_eq!(decode(&bytes).unwrap().index, index);
        let json = serde_json::to_vec(&Description::default()).unwrap().len();
        assert_eq!(bytes.len(), HEADER + json + 8 * (index.len() + 2 * 7));
        // Checksums are right, what they are about is not.
        for index in [&[1u64][..], &[1, 2], &[1, 2 | 1 << SLOT_BITS, 3], &[u64::MAX, 1 << SLOT_BITS, 3, 4]] {
            let bytes: Vec<u8> = index.iter().flat_map(|w| w.to_le_bytes()).collect();
            assert!(decode_index(&bytes).is_none(), "{index:?}");
        }
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let good = sample();
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[i] ^= 1 << bit;
                assert!(decode(&bad).is_err(), "byte {i} bit {bit}");
            }
            assert!(decode(&good[..i]).is_err(), "{i}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(v in proptest::collection::vec(any::<u8>(), 0..300), header in any::<bool>()) {
            let mut v = v;
            if header && v.len() >= HEADER {
                v[..8].copy_from_slice(&MAGIC);
                let s = sum(&v[..HEADER - 8]);
                v[HEADER - 8..HEADER].copy_from_slice(&s.to_le_bytes());
            }
            let _ = decode(&v);
        }
    }
}
