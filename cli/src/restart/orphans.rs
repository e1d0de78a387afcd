//! Nobody is left behind by a `promp` that is killed. Its child is killed by the kernel then; whom that has
//! started, a process of its own sees to, the guard: it waits for a word from `promp`, and where that ends
//! without one, it kills all that were started in the run (PROMP_RUN is in their environment).
//!
//! It is in a process group of its own, so that a signal to all of a job does not end it, too. To
//! waitpid(2) it is no child like others (no signal tells of its end): who waits for the program does not
//! see it.

use crate::process_stat;
use promp_image::run_record::{Run, Started};
use promp_settings::internal::RUN;
use std::ffi::CStr;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Its name, for those who look at processes.
const NAME: &CStr = c"promp-guard";
/// So long it looks for those that are left; a process that is being killed may still make another.
const PATIENCE: Duration = Duration::from_secs(2);

/// The guard of the calling process, until this is dropped.
pub struct Guard {
    /// Its process.
    pub pid: libc::pid_t,
    word: UnixStream,
}

impl Guard {
    /// For the run whose checkpoints are in `dir`. None: there is no such run, or no guard could be had.
    /// The caller blocks all signals, and has one thread.
    pub fn start(dir: Option<&Path>) -> Option<Self> {
        let nonce = Run::read(dir?).ok()??.nonce;
        let (word, heard) = UnixStream::pair().ok()?;
        // SAFETY: by the caller's promise.
        match unsafe { super::child::fork(None, 0) } {
            0 => keep_watch(&heard, &nonce),
            pid => (pid > 0).then_some(Self { pid: pid as libc::pid_t, word }),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: one byte, of which one that has been killed itself hears nothing; and our own child, whose
        // status is not asked for.
        unsafe {
            libc::send(self.word.as_raw_fd(), c".".as_ptr().cast(), 1, libc::MSG_NOSIGNAL);
            libc::waitpid(self.pid, core::ptr::null_mut(), libc::__WCLONE);
        }
    }
}

/// The guard: holds nothing but its end of the connection.
fn keep_watch(heard: &UnixStream, nonce: &str) -> ! {
    let mut byte = 0u8;
    // SAFETY: plain calls of a process that has one thread and uses nothing of what it closes; the kernel
    // writes one byte.
    let read = unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        libc::chdir(c"/".as_ptr());
        libc::dup2(heard.as_raw_fd(), 0);
        libc::close_range(1, u32::MAX, 0);
        loop {
            let n = libc::read(0, (&raw mut byte).cast(), 1);
            if n >= 0 || *libc::__errno_location() != libc::EINTR {
                break n;
            }
        }
    };
    let since = Instant::now();
    while read == 0 && kill_all(nonce) && since.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: plain call.
    unsafe { libc::_exit(0) }
}

/// Kills whoever is of the run. Was there anybody?
pub(super) fn kill_all(nonce: &str) -> bool {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|e| e.file_name().to_str()?.parse().ok());
    let all: Vec<libc::pid_t> = numbers.filter(|pid| is_of(*pid, nonce)).collect();
    for pid in &all {
        // SAFETY: plain call; a number found a moment ago.
        unsafe { libc::kill(*pid, libc::SIGKILL) };
    }
    !all.is_empty()
}

/// Is this process one of the run? The guard of a `promp run` within it is left to its own work.
fn is_of(pid: libc::pid_t, nonce: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let value = |line: &[u8]| {
        let rest = line.strip_prefix(RUN.name.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(rest.to_vec()).ok()
    };
    let mut lines = environment.split(|b| *b == 0).filter_map(value);
    let named = lines.next_back().is_some_and(|v| Started::parse(&v).is_some_and(|s| s.nonce == nonce));
    let alive = || process_stat::fields(pid).is_some_and(|f| !process_stat::has_ended(&f));
    let name = || fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    named && alive() && name().trim_ascii_end() != NAME.to_bytes()
}
