//! Who is left behind by what a test has run.

use super::jobs::{is_gone, kill};
use super::saved::read;
use super::{LIMIT, Run, started};
use std::fs;
use std::os::fd::FromRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The numbers of those whose working directory is `folder`, which is without links.
pub fn working_in(folder: &Path) -> Vec<i32> {
    let numbers = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = numbers.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let here = |pid: &i32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|d| d == folder);
    numbers.filter(|pid| here(pid) && !is_gone(*pid)).collect()
}

/// Nobody is left there; one that the kernel is about to end may still be seen.
pub fn wait_for_none(folder: &Path, what: &dyn std::fmt::Display) {
    let since = Instant::now();
    let line = |pid: &i32| read(format!("/proc/{pid}/cmdline").as_ref()).replace('\0', " ");
    loop {
        let left = working_in(folder);
        if left.is_empty() {
            return;
        }
        let lines: Vec<String> = left.iter().map(line).collect();
        assert!(since.elapsed() < Duration::from_secs(5), "{what}: left are {left:?} {lines:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts `c`, its output added to the file `log`, its messages in one beside it.
pub fn start_into(c: Command, log: &Path) -> Child {
    start_with_input(c, Stdio::null(), log)
}

/// The same, with this input.
pub fn start_with_input(mut c: Command, input: Stdio, log: &Path) -> Child {
    let mut output = fs::OpenOptions::new();
    let output = output.create(true).append(true).open(log).expect("the output");
    let messages = fs::File::create(log.with_extension("err")).expect("the messages");
    started(c.stdin(input).stdout(output).stderr(messages))
}

/// A terminal: for who types, and for the program.
pub fn terminal() -> (fs::File, fs::File) {
    // SAFETY: plain calls; the descriptor becomes ours, and the name is copied.
    let (typed, name) = unsafe {
        let fd = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(fd >= 0 && libc::grantpt(fd) == 0 && libc::unlockpt(fd) == 0);
        let name = std::ffi::CStr::from_ptr(libc::ptsname(fd)).to_owned();
        (fs::File::from_raw_fd(fd), name)
    };
    // It would become the terminal of this process's session, and stop who reads from it in the background.
    let mut options = fs::OpenOptions::new();
    let terminal = options.read(true).write(true).custom_flags(libc::O_NOCTTY);
    (typed, terminal.open(name.to_str().expect("a name")).expect("the terminal"))
}

/// What it comes to. Unlike with [`ended`](super::ended) whom it leaves behind stays.
pub fn end_of(mut child: Child, log: &Path) -> Run {
    let (start, mut hung) = (Instant::now(), false);
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if start.elapsed() > LIMIT && !hung {
            hung = true;
            kill(-(child.id() as i32), libc::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    let err = read(&log.with_extension("err"));
    Run { out: read(log), err, status, hung, took: start.elapsed() }
}
