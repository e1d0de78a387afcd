//! Private pipes for the program, each for one of the pipes that it is to write to: what it sends goes by
//! them, so that after its death the next process knows how much was taken
//! (crates/ckpt/src/resources/pipes/sent/private_pipe.rs). They outlive the program because this process has
//! them, too.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use promp_settings::internal::PRIVATE_PIPES;
use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::process::Command;

/// So many pipes are followed.
const MOST: usize = 4;
/// Programs use low numbers, and the library those from 700 on.
const NUMBER: i32 = 900;

/// The pipes, which programs that are started from here on inherit.
pub struct Private(Vec<OwnedFd>);

impl Private {
    /// As many as there are pipes among this process' descriptors that are open for writing.
    pub fn new() -> Self {
        Self((0..written_to().min(MOST)).map_while(|_| one()).collect())
    }

    /// Tells the program that `c` starts of them: "descriptor:inode" each, separated by commas.
    pub fn give_to(&self, c: &mut Command) {
        let inode = |fd: &OwnedFd| Some(File::from(fd.try_clone().ok()?).metadata().ok()?.ino());
        let each = |fd: &OwnedFd| Some(format!("{}:{}", fd.as_raw_fd(), inode(fd)?));
        let all: Vec<String> = self.0.iter().filter_map(each).collect();
        match all.is_empty() {
            true => not_given(c),
            false => _ = c.env(PRIVATE_PIPES.name, all.join(",")),
        }
    }
}

/// The program that `c` starts has none, whatever its environment was.
pub fn not_given(c: &mut Command) {
    c.env_remove(PRIVATE_PIPES.name);
}

/// Pipes that this process can write to, and the program after it.
fn written_to() -> usize {
    let pipe = |entry: fs::DirEntry| {
        let m = fs::metadata(entry.path()).ok().filter(|m| m.file_type().is_fifo())?;
        let number = entry.file_name().to_str()?.parse().ok()?;
        // SAFETY: it is open: it has just been listed, and this process has one thread.
        let flags = fcntl(unsafe { BorrowedFd::borrow_raw(number) }, FcntlArg::F_GETFL).ok()?;
        let writes = OFlag::from_bits_retain(flags) & OFlag::O_ACCMODE == OFlag::O_WRONLY;
        writes.then_some((m.dev(), m.ino()))
    };
    let listed = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let mut all: Vec<(u64, u64)> = listed.filter_map(|e| pipe(e.ok()?)).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// A pipe, by one descriptor for both of its ends, which does not wait.
fn one() -> Option<OwnedFd> {
    let (from, _to) = std::io::pipe().ok()?;
    let path = format!("/proc/self/fd/{}", from.as_raw_fd());
    let both = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let high = fcntl(both.as_fd(), FcntlArg::F_DUPFD(NUMBER)).ok()?;
    // SAFETY: a new descriptor, which nobody else has.
    Some(unsafe { OwnedFd::from_raw_fd(high) })
}
