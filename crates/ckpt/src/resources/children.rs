//! Processes that the program has started. While there are some no checkpoint is taken; a rollback ends those
//! that it has started since.

use super::resource::{Frozen, No, Resource};
use crate::image::Description;
use crate::sys;
use crate::sys::{maps, signals, syscall, time};
use std::ffi::CString;

/// How long a rollback waits for children that it has ended.
const PATIENCE_NS: u64 = 10_000_000_000;

/// [`children_ended`] at the last attempt of a checkpoint, and at the last whole one.
#[derive(Default)]
pub(crate) struct Children {
    trying: u64,
    whole: u64,
}

impl Children {
    /// Have some ended since the last checkpoint?
    pub(crate) fn have_ended(&self) -> bool {
        children_ended() != self.whole
    }
}

impl Resource for Children {
    fn obstacle(&self) -> Option<String> {
        has_children().then(|| {
            let first =
                children_of(syscall::getpid()).first().map_or_else(String::new, |p| format!(" ({p})"));
            format!("the program has a child process{first}")
        })
    }

    fn save(&mut self, _: &Frozen, _: &mut Description) -> Result<(), No> {
        self.trying = children_ended();
        Ok(())
    }

    fn whole(&mut self, _: &Description) {
        self.whole = self.trying;
    }

    fn leave(&mut self) {
        self.whole = children_ended();
    }
}

/// For a rollback: ends the processes that the program has started since the checkpoint, and theirs, since it
/// will start them again; how many. SIGCHLD is ignored afterwards.
pub(crate) fn end_children() -> Result<usize, String> {
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

/// Changes whenever a child of the program has ended and the program has asked for it.
pub(crate) fn children_ended() -> u64 {
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
