//! Signals that have been sent and wait to be taken: the kernel keeps them with the host, or with the process. Sets are words, a bit a signal.

use crate::sys;
use crate::{maps, signals, syscall};
use std::ffi::CString;

/// A signal as the kernel describes it (`siginfo_t`): its number is in the first word's lower half.
pub type Info = [u64; 16];
const _: () = assert!(size_of::<Info>() == size_of::<libc::siginfo_t>());

/// A set of one.
pub fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The signals in a set.
pub fn of_set(set: u64) -> impl Iterator<Item = i32> {
    (1..65).filter(move |&s| set & bit(s) != 0)
}

/// What /proc tells of host `tid` (0: of the process).
pub fn status(tid: u32) -> Option<String> {
    let task = if tid == 0 { String::new() } else { format!("task/{tid}/") };
    let path = CString::new(format!("/proc/self/{task}status")).unwrap_or_default();
    Some(String::from_utf8_lossy(&maps::read_file(&path)?).into_owned())
}

/// A set in a [`status`]: `SigBlk`, `SigPnd` (the host's own), `ShdPnd` (the process').
pub fn set_in(status: &str, name: &str) -> Option<u64> {
    let word = status.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
    u64::from_str_radix(word.trim(), 16).ok()
}

/// The same, asked for now.
pub fn set_of(tid: u32, name: &str) -> Option<u64> {
    set_in(&status(tid)?, name)
}

/// Signals that wait for host `tid` itself, but for those in `ours`.
pub fn of_host(tid: u32, ours: u64) -> u64 {
    set_of(tid, "SigPnd").unwrap_or(0) & !ours
}

/// Takes the signals that wait for the calling host itself, which blocks all, but for those in `ours`.
pub fn take(ours: u64) -> Vec<Info> {
    let mut taken = Vec::new();
    loop {
        let set = of_host(syscall::gettid(), ours);
        if set == 0 {
            return taken;
        }
        // Those that wait for the host come before those for the process.
        let Some(info) = take_one(set) else { return taken };
        taken.push(info);
    }
}

/// Takes a signal in `set` that waits for the calling host, which blocks all, or for the process.
pub fn take_one(set: u64) -> Option<Info> {
    let (mut info, no_time) = ([0; 16], [0u64; 2]);
    // SAFETY: the kernel reads a set and a time, and writes a description.
    let r =
        unsafe { sys!(libc::SYS_rt_sigtimedwait, &raw const set, info.as_mut_ptr(), no_time.as_ptr(), 8) };
    (r >= 0).then_some(info)
}

/// Takes the signals in `set` that wait for the process; none of them waits for the calling host, which
/// blocks all.
pub(crate) fn take_of_process(set: u64) -> Vec<Info> {
    let waits = || set != 0 && set_of(0, "ShdPnd").unwrap_or(0) & set != 0;
    core::iter::from_fn(|| if waits() { take_one(set) } else { None }).collect()
}

/// Gives them back to the process.
pub fn give_process(taken: &[Info]) {
    let pid = syscall::getpid();
    for info in taken {
        // SAFETY: what the kernel has written.
        unsafe { sys!(libc::SYS_rt_sigqueueinfo, pid, info[0] as i32, info.as_ptr()) };
    }
}

/// Gives them to the calling host, which blocks them.
pub fn give(taken: &[Info]) {
    let (pid, tid) = (syscall::getpid(), syscall::gettid());
    for info in taken {
        // SAFETY: what the kernel has written.
        unsafe { sys!(libc::SYS_rt_tgsigqueueinfo, pid, tid, info[0] as i32, info.as_ptr()) };
    }
}

/// Nobody gets those in `set` that wait. Their dispositions must be set anew afterwards.
pub fn forget(set: u64) {
    for signal in of_set(set) {
        signals::ignore(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_one_host_is_given_to_another() {
        let mask = signals::block_all();
        let (usr, rt) = (libc::SIGUSR1, libc::SIGRTMIN() + 1);
        let value = libc::sigval { sival_ptr: 77 as *mut _ };
        // SAFETY: the calling thread, which blocks all signals.
        unsafe {
            assert_eq!(libc::pthread_kill(libc::pthread_self(), usr), 0);
            assert_eq!(libc::pthread_sigqueue(libc::pthread_self(), rt, value), 0);
            assert_eq!(libc::pthread_sigqueue(libc::pthread_self(), rt, value), 0);
        }
        let tid = syscall::gettid();
        assert_eq!(of_host(tid, 0), bit(usr) | bit(rt));
        assert_eq!(of_host(tid, bit(usr)), bit(rt));
        let taken = take(0);
        assert_eq!((taken.len(), of_host(tid, 0)), (3, 0));
        std::thread::spawn(move || {
            signals::block_all();
            give(&taken);
            let all: Vec<_> = take(0).iter().map(|i| (i[0] as i32, i[3])).collect();
            assert_eq!(all.len(), 3);
            assert!(all.contains(&(rt, 77)) && all.iter().any(|i| i.0 == usr), "{all:?}");
        })
        .join()
        .expect("the other host");
        signals::set_mask(mask);
    }
}
