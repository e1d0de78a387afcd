//! What the kernel keeps of the process beside memory, files and threads: its folder, its umask, timers, children.

use crate::image::{Description, Place, Word};
use crate::sys;
use crate::sys::lock::Locked;
use crate::sys::{maps, pending, signals, syscall, time};
use crate::{alarms, apart, attributes, timers};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;

/// How long a rollback waits for children that it has ended.
const PATIENCE_NS: u64 = 10_000_000_000;

/// What a file of /proc holds, as words with a zero byte behind each.
pub fn words(path: &core::ffi::CStr) -> Vec<Word> {
    let bytes = maps::read_file(path).unwrap_or_default();
    let mut words: Vec<Word> = bytes.split(|&b| b == 0).map(Word::from).collect();
    words.pop();
    words
}

/// The program's file and its arguments.
pub fn command() -> (String, Vec<Word>) {
    let program = fs::read_link("/proc/thread-self/exe");
    let program = program.map(|l| l.to_string_lossy().into_owned()).unwrap_or_default();
    (program, words(c"/proc/thread-self/cmdline"))
}

/// What the process began with: the kernel does not show it to one that has made itself not dumpable.
static ENVIRONMENT: Locked<Vec<Word>> = Locked::new(Vec::new());

/// The process begins.
pub fn begin() {
    ENVIRONMENT.with(|e| *e = words(c"/proc/self/environ"));
}

/// The environment that it began with.
pub fn environment() -> Vec<Word> {
    ENVIRONMENT.with(|e| e.clone())
}

/// A device is open whose memory no image holds.
static DEVICE: AtomicBool = AtomicBool::new(false);

/// From here on there is such a device.
pub fn device_opens() {
    DEVICE.store(true, Relaxed);
}

/// What could not be put back.
pub fn obstacles() -> Option<String> {
    if DEVICE.load(Relaxed) {
        return Some("the program uses a device with memory of its own".into());
    }
    if let Some(what) = apart::what() {
        return Some(what.into());
    }
    if has_children() {
        let who = children_of(syscall::getpid()).first().map_or_else(String::new, |pid| format!(" ({pid})"));
        return Some(format!("the program has a child process{who}"));
    }
    attributes::values::obstacle().or_else(timers::obstacle)
}

/// The permissions that its new files do not get.
pub fn umask() -> Option<u32> {
    let status = maps::read_file(c"/proc/thread-self/status")?;
    let status = String::from_utf8_lossy(&status);
    status.lines().find_map(|l| u32::from_str_radix(l.strip_prefix("Umask:")?.trim(), 8).ok())
}

/// For a rollback: folder and umask are those of the checkpoint; interval timers stop, until
/// [`alarms::put_back`].
pub fn put_back(about: &Description) -> Result<(), String> {
    alarms::stop();
    // SAFETY: plain call.
    unsafe { sys!(libc::SYS_umask, about.umask) };
    if about.directory.is_still(&Place::of_work().unwrap_or_default()) {
        return Ok(());
    }
    let failed = |why: String| format!("cannot go back to the folder {}: {why}", about.directory.path);
    let folder = about.directory.open_again().map_err(failed)?;
    // SAFETY: a descriptor of ours.
    match unsafe { sys!(libc::SYS_fchdir, folder.as_raw_fd()) } {
        0 => Ok(()),
        e => Err(failed(sys::why(e).to_string())),
    }
}

/// For a rollback: ends the processes that the program has started since the checkpoint, and theirs, since it will start them again; how many.
/// SIGCHLD is ignored afterwards.
pub fn end_children() -> Result<usize, String> {
    if !has_children() {
        return Ok(0);
    }
    // While one is stopped it makes no more, and those of its that have ended keep their numbers.
    let mut all: Vec<u32> = Vec::new();
    let mut next = children_of(syscall::getpid());
    while !next.is_empty() {
        next.iter().for_each(|&pid| send(pid, libc::SIGSTOP));
        all.extend(&next);
        next = all.iter().flat_map(|&pid| children_of(pid)).filter(|pid| !all.contains(pid)).collect();
        if next.is_empty() {
            next = children_of(syscall::getpid()).into_iter().filter(|pid| !all.contains(pid)).collect();
        }
    }
    // No signal is left to the program's handler.
    signals::ignore(libc::SIGCHLD);
    all.iter().rev().for_each(|&pid| send(pid, libc::SIGKILL));
    let began = time::now_ns();
    while has_children() {
        // SAFETY: nothing is written.
        let r = unsafe { sys!(libc::SYS_wait4, -1isize, 0, libc::WNOHANG | libc::__WALL, 0) };
        if r == 0 && time::now_ns() - began > PATIENCE_NS {
            let who = children_of(syscall::getpid());
            return Err(format!("processes started since the checkpoint cannot be ended ({who:?})"));
        }
        if r == 0 {
            syscall::sched_yield();
        }
    }
    Ok(all.len())
}

/// Signals that have been sent to the process and that everybody blocks, of whom `blocked` tells.
pub fn pending(blocked: impl Iterator<Item = u64>) -> u64 {
    let blocked = blocked.reduce(|a, b| a & b).unwrap_or(0);
    if blocked == 0 { 0 } else { pending::set_of(0, "ShdPnd").unwrap_or(0) & blocked }
}

/// Sends those in `set` that do not wait.
pub fn send_pending(set: u64) {
    if set != 0 {
        let there = pending::set_of(0, "ShdPnd").unwrap_or(0);
        pending::of_set(set & !there).for_each(|s| send(syscall::getpid(), s));
    }
}

/// Changes whenever a child of the program has ended and the program has asked for it.
pub fn children_ended() -> u64 {
    let mut r = [0u64; 18];
    // SAFETY: the kernel writes a rusage of 18 words.
    unsafe { sys!(libc::SYS_getrusage, libc::RUSAGE_CHILDREN, r.as_mut_ptr()) };
    // Faults of pages that needed no disk: no process comes to its end without one.
    r[8]
}

fn send(pid: u32, signal: i32) {
    // SAFETY: plain call.
    unsafe { sys!(libc::SYS_kill, pid, signal) };
}

/// Has it children, or some that have ended and nobody has asked for?
fn has_children() -> bool {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: nothing is written.
    unsafe { sys!(libc::SYS_waitid, libc::P_ALL, 0, 0, options) >= 0 }
}

/// The children of process `pid`, whichever of its threads has made them.
fn children_of(pid: u32) -> Vec<u32> {
    let path = |rest: &str| CString::new(format!("/proc/{pid}/task{rest}")).unwrap_or_default();
    let of = |host: &String| maps::read_file(&path(&format!("/{host}/children"))).unwrap_or_default();
    let numbers = |text: Vec<u8>| -> Vec<u32> {
        String::from_utf8_lossy(&text).split_whitespace().filter_map(|n| n.parse().ok()).collect()
    };
    maps::names(&path("")).iter().flat_map(|host| numbers(of(host))).collect()
}
