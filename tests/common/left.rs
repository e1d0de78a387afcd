//! Who is left behind by what a test has run.

use super::jobs::{is_gone, kill};
use super::saved::read;
use super::{LIMIT, Run, started};
use std::fs;
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
pub fn start_into(mut c: Command, log: &Path) -> Child {
    let mut output = fs::OpenOptions::new();
    let output = output.create(true).append(true).open(log).expect("the output");
    let messages = fs::File::create(log.with_extension("err")).expect("the messages");
    started(c.stdin(Stdio::null()).stdout(output).stderr(messages))
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
