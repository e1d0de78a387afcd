//! Why a host of this process does not take a signal that it was sent, for messages.

use crate::{blocking_call, maps, pending_signals};

/// The kernel's letters for what a host does (proc(5)), and what keeps it from taking a signal.
const STATES: [(char, &str); 6] = [
    ('R', "runs, or waits for a CPU"),
    ('S', "sleeps"),
    ('D', "waits in the kernel where no signal reaches it, for a disk, say"),
    ('T', "is stopped"),
    ('t', "is stopped by a debugger"),
    ('Z', "has ended"),
];

/// What host `tid` does, that has been sent `signal`. `found`: where a handler has found it last; 0: nowhere.
pub fn of(tid: u32, signal: i32, found: usize) -> String {
    let Some(status) = pending_signals::status(tid) else { return format!("kernel thread {tid} has ended") };
    let letter = status.lines().find_map(|l| l.strip_prefix("State:")?.trim().chars().next());
    let state = STATES.iter().find(|s| Some(s.0) == letter).map_or("is in a state of its own", |s| s.1);
    let has = |set: &str| {
        pending_signals::set_in(&status, set).is_some_and(|s| s & pending_signals::bit(signal) != 0)
    };
    let mut text = format!("kernel thread {tid} {state}, {}", blocking_call::of(tid));
    let waits = where_it_waits(tid);
    for (at, how) in [(waits, "at"), (found, "found last at")] {
        if at != 0 {
            text += &format!(", {how} {}", place(at));
        }
    }
    if has("SigBlk") {
        text += ", and blocks signals";
    } else if has("SigPnd") {
        text += ", and has not taken the signal yet";
    }
    text
}

/// The address behind the system call in which host `tid` is; 0: it is in none.
fn where_it_waits(tid: u32) -> usize {
    let text = blocking_call::call(tid).unwrap_or_default();
    let last = text.split_whitespace().last().and_then(|w| w.strip_prefix("0x"));
    last.and_then(|w| usize::from_str_radix(w, 16).ok()).unwrap_or(0)
}

/// The object that an address is in, and where in its file.
fn place(at: usize) -> String {
    let all = maps::all();
    match maps::find(&all, at).filter(|m| m.inode != 0) {
        Some(m) => {
            let name = m.path.rsplit('/').next().unwrap_or(&m.path);
            format!("{name}+{:#x}", at - m.start + m.offset)
        }
        None => format!("{at:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{signals, syscall};
    use std::time::{Duration, Instant};

    #[test]
    fn a_host_that_blocks_a_signal_is_told_of() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, may_end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            signals::block_all();
            tell.send(syscall::gettid()).unwrap();
            let _ = may_end.recv();
        });
        let tid = told.recv().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        let want = |text: &str| {
            text.starts_with(&format!("kernel thread {tid} sleeps, at work, at libc.so"))
                && text.ends_with(", and blocks signals")
        };
        while !want(&of(tid, libc::SIGUSR1, 0)) {
            assert!(Instant::now() < until, "{}", of(tid, libc::SIGUSR1, 0));
            std::thread::yield_now();
        }
        drop(end);
        thread.join().unwrap();
        let here = of(syscall::gettid(), libc::SIGUSR1, of as *const () as usize);
        assert!(here.contains(" runs, ") && here.contains("found last at "), "{here}");
        assert_eq!(of(u32::MAX >> 2, 1, 0), format!("kernel thread {} has ended", u32::MAX >> 2));
    }
}
