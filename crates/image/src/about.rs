//! What a checkpoint is about: the process, its mappings, and all else but threads and open files.

use super::format::Sum;
use super::open_files::{OpenFile, Place, Received, Sent};
use super::threads::Context;
use super::{cpu, xsave};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

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
    pub directory: Place,
    /// File creation mask.
    pub umask: u32,
    /// The soft limit on the stack when it began, on which it depends where mappings lie; `u64::MAX`: none.
    pub stack_limit: u64,
    /// Its limits.
    pub limits: Vec<Limit>,
    /// What else the kernel keeps of it as one number, where it began with another one; names as in
    /// docs/internals/attributes.md.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, u64)>,
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
    /// CPU time of the process and of the children that it has waited for, as in [`Own`](super::Own).
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
    /// Files that are not open, and that the program writes to as shared memory. (Their descriptors have been
    /// the runtime's.)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unopened: Vec<OpenFile>,
    /// The era of the journal of files that begins with it (`DIR/undo-ERA`).
    pub era: u64,
    /// Signal dispositions.
    pub signals: Vec<Disposition>,
    /// What it has with the kernel.
    #[serde(flatten)]
    pub registered: Registered,
    /// Signals that have been sent to the process and that everybody blocks, a bit a signal.
    #[serde(default)]
    pub pending: u64,
    /// Its timers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<Timer>,
    /// Its interval timers (setitimer): by the time of day, by its own CPU time, by all of its CPU time. Of
    /// each how long until it expires (0: it does not) and from then on, in microseconds. Empty: none runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<[u64; 2]>,
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
    /// What the program had said of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<DeadWord>,
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

/// What the kernel keeps for a process as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// What it has registered for with membarrier(2), a bit for each command.
    #[serde(default)]
    pub registrations: u32,
    /// Sets of semaphores of System V that it has made for itself: their ids; of each semaphore the value,
    /// and what is added to it when the process ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub semaphores: Vec<(i32, Vec<(u16, i32)>)>,
}

/// A word of the program's about memory that is dead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadWord {
    /// First address.
    pub start: usize,
    /// Behind the last.
    pub end: usize,
    /// What it is; empty: promp-cc has not said it.
    pub what: String,
    /// Where a checkpoint may leave it out; empty: promp-cc has not said that.
    pub place: String,
    /// ... the code there: a return address.
    pub at: usize,
}

/// A mapping of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// First address.
    pub start: usize,
    /// Behind the last.
    pub end: usize,
    /// PROT_* bits.
    pub prot: i32,
    /// Can it be shared with others? (MAP_SHARED)
    pub shared: bool,
    /// Offset in the file.
    pub offset: usize,
    /// Device of the file, as in /proc/self/maps.
    pub dev: String,
    /// Inode of the file; 0: anonymous memory.
    pub inode: u64,
    /// Path of the file, `[heap]`, `[stack]`, or empty.
    pub path: String,
    /// Shared memory that is a file whose content is saved: its number, as in
    /// [`OpenFile::content`](super::OpenFile::content).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<u32>,
    /// What the program has said of it (madvise(2), mlock(2)), in the words of /proc/PID/smaps.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// The memory policy that it has given it (mbind(2)): mode and nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<(u32, Vec<u64>)>,
    /// Where it has guards: [start, end) in memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<(usize, usize)>,
}

/// The name of shared memory that is put back and had none.
pub const SHARED: &std::ffi::CStr = c"promp-shared";

impl Map {
    /// Is it shared memory that no name leads to: of MAP_ANONYMOUS, of memfd_create, or of a file in /dev/shm
    /// whose first name is gone (semaphores)? What cannot be written to may be another process', but for the
    /// first of these.
    pub fn is_nameless(&self) -> bool {
        let Some(name) = self.path.strip_suffix(" (deleted)") else { return false };
        let writable = self.prot & libc::PROT_WRITE != 0;
        let file = name.starts_with("/dev/shm/") || name.starts_with("/memfd:");
        self.shared && self.content.is_none() && (name == "/dev/zero" || (writable && file))
    }

    /// Is it a mapping of the same file, or the same shared memory?
    pub fn is_of(&self, other: &Map) -> bool {
        (self.inode, &self.dev) == (other.inode, &other.dev)
    }

    /// Is its content part of a checkpoint, as far as it is not a file's?
    pub fn is_saved(&self) -> bool {
        !self.shared || self.is_nameless()
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

/// How to know a mapped file again; none for what is no regular file.
pub fn recognise(path: &str) -> Option<MappedFile> {
    const TOO_LARGE: u64 = 256 << 20;
    let m = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let sum = if m.len() > TOO_LARGE { 0 } else { sum_of_file(path)? };
    let changed = i128::from(m.mtime()) * 1_000_000_000 + i128::from(m.mtime_nsec());
    Some(MappedFile { path: path.into(), length: m.len(), sum, changed })
}

/// The checksum of what a file holds, read piece by piece: memory for all of it costs more than reading it.
fn sum_of_file(path: &str) -> Option<u64> {
    const PIECE: usize = 128 << 10;
    let (mut file, mut sum, mut piece) = (fs::File::open(path).ok()?, Sum::default(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Some(sum.value()),
            Ok(n) => sum.add(&piece[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// A limit on a resource of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// RLIMIT_CPU (0) …
    pub resource: u32,
    /// The soft limit; `u64::MAX`: none.
    pub soft: u64,
    /// The hard one, if the program has set it.
    #[serde(default)]
    pub hard: Option<u64>,
    /// Has the program set it itself?
    pub own: bool,
}

/// A timer of timer_create(2). Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Its number.
    pub id: i32,
    /// Its clock; of a thread's CPU time: whatever that had been.
    pub clock: i32,
    /// Thread pointer of the thread whose CPU time it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_of: Option<usize>,
    /// The signal that it sends.
    pub signal: i32,
    /// What comes with it.
    pub value: u64,
    /// Does it send one?
    pub notifies: bool,
    /// Thread pointer of the thread that it sends to; none: to the process; 0: to one that has ended.
    pub thread: Option<usize>,
    /// Until it expires; 0: it does not.
    pub left: u64,
    /// From then on.
    pub interval: u64,
    /// Expirations beyond the one that was delivered last.
    pub overrun: i32,
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

/// Seconds; compared in tests only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds(pub f64);
impl Eq for Seconds {}

/// Features of this machine's CPUs.
pub fn cpu_features() -> Vec<String> {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find_map(|l| l.strip_prefix("flags")?.split_once(':').map(|x| x.1.to_string()));
    flags.unwrap_or_default().split_whitespace().map(str::to_string).collect()
}
