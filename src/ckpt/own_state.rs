//! What the kernel keeps for a thread and lets only the thread itself ask for or change: its memory policy,
//! its timer slack, its rights. So a thread notes it when it freezes, and the keeper has a host that
//! becomes a thread make the system calls that are needed. Where one fails the process stops: a thread is
//! never silently different.

use super::image::{Attributes, Rights as Saved};
use crate::sys;
use crate::sys::follow::Call;
use crate::sys::rights::Rights;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// Words of a set of memory nodes: as many as the kernel can have.
const NODES: usize = 16;
/// Most calls: all capabilities may have to be dropped one by one.
const MOST: usize = 112;

/// What a thread notes of itself. Zeroed memory is the usual policy.
#[repr(C)]
#[derive(Default)]
pub struct Own {
    mode: AtomicU32,
    nodes: [AtomicU64; NODES],
    slack: AtomicU64,
}

impl Own {
    /// The caller's.
    pub fn note(&self) {
        let (mut mode, mut nodes) = (0u32, [0u64; NODES]);
        // SAFETY: the kernel writes a word and a set of that many bits.
        unsafe { sys!(libc::SYS_get_mempolicy, &raw mut mode, nodes.as_mut_ptr(), 64 * NODES) };
        self.mode.store(mode, Relaxed);
        self.nodes.iter().zip(nodes).for_each(|(to, n)| to.store(n, Relaxed));
        // SAFETY: no pointers.
        let slack = unsafe { sys!(libc::SYS_prctl, libc::PR_GET_TIMERSLACK) };
        self.slack.store(slack as u64, Relaxed);
    }

    /// The caller's, noted now.
    pub fn of_caller() -> Self {
        let own = Self::default();
        own.note();
        own
    }

    /// The memory policy.
    pub fn policy(&self) -> (u32, Vec<u64>) {
        let mut nodes: Vec<u64> = self.nodes.iter().map(|n| n.load(Relaxed)).collect();
        while nodes.last() == Some(&0) {
            nodes.pop();
        }
        (self.mode.load(Relaxed), nodes)
    }

    /// The timer slack.
    pub fn slack(&self) -> u64 {
        self.slack.load(Relaxed)
    }
}

/// System calls that a host makes when it becomes a thread.
#[repr(C)]
pub struct Changes {
    count: AtomicUsize,
    calls: [[AtomicUsize; 6]; MOST],
}

impl Changes {
    /// These.
    pub fn set(&self, calls: &[Call]) {
        for (to, from) in self.calls.iter().zip(calls) {
            to.iter().zip(from).for_each(|(t, f)| t.store(*f, Relaxed));
        }
        self.count.store(calls.len(), Relaxed);
    }

    /// Makes them; the number and the error of the one that failed.
    pub fn make(&self) -> Result<(), (usize, i32)> {
        for call in &self.calls[..self.count.swap(0, Relaxed).min(MOST)] {
            let [nr, a, b, c, d, e] = call.each_ref().map(|w| w.load(Relaxed));
            // SAFETY: made by `changes`, of data that is never freed.
            let r = unsafe { sys!(nr, a, b, c, d, e, 0) };
            if r < 0 {
                return Err((nr, -r as i32));
            }
        }
        Ok(())
    }
}

/// Saved rights.
pub fn saved(r: Rights) -> Saved {
    let Rights { users, groups, also, capabilities, no_new, filters } = r;
    Saved { users, groups, also, capabilities, no_new, filters }
}

/// What a host with `now` and rights `may` has to call to have what `a` says; `began`: what the process
/// began with. In a rollback a thread may go on without capabilities that have been given up since: the
/// program is about to give them up again. The second value says whether one does.
pub fn changes(
    now: &Own,
    may: Option<Rights>,
    a: &Attributes,
    began: &Own,
    rollback: bool,
) -> Result<(Vec<Call>, bool), String> {
    let mut less = false;
    let mut calls: Vec<Call> = Vec::new();
    let call = |n: i64, a: usize, b: usize, c: usize| [n as usize, a, b, c, 0, 0];
    let policy = a.memory_policy.clone().unwrap_or_else(|| began.policy());
    if now.policy() != policy {
        let (mode, mut nodes) = policy;
        nodes.resize(NODES, 0);
        let empty = nodes.iter().all(|n| *n == 0);
        let (at, bits) = if empty { (0, 0) } else { (nodes.leak().as_ptr() as usize, 64 * NODES) };
        calls.push(call(libc::SYS_set_mempolicy, mode as usize, at, bits));
    }
    let slack = a.timer_slack.unwrap_or(began.slack());
    if now.slack() != slack {
        calls.push(call(libc::SYS_prctl, libc::PR_SET_TIMERSLACK as usize, slack as usize, 0));
    }
    if let (Some(want), Some(may)) = (&a.rights, may) {
        let mut want = want.clone();
        if rollback {
            let have = may.capabilities[1];
            less = want.capabilities[1] & !have != 0;
            // Inheritable ones as far as permitted or inheritable; permitted, effective and ambient ones as
            // far as permitted.
            want.capabilities[0] &= have | may.capabilities[0];
            for set in [1, 2, 4] {
                want.capabilities[set] &= have;
            }
        }
        calls.extend(to_have(&want, &may)?);
    }
    if calls.len() > MOST {
        return Err("a thread's rights differ in too much".into());
    }
    Ok((calls, less))
}

/// From rights `may` to `want`.
fn to_have(want: &Saved, may: &Rights) -> Result<Vec<Call>, String> {
    let mut calls: Vec<Call> = Vec::new();
    let mut call = |n: i64, a: usize, b: usize, c: usize| calls.push([n as usize, a, b, c, 0, 0]);
    let prctl = libc::SYS_prctl;
    if want.filters.1 > may.filters.1 || want.filters.0 > may.filters.0 {
        return Err("a thread had a filter of system calls (seccomp), which cannot be put back".into());
    }
    let [inheritable, permitted, effective, bounding, ambient] = want.capabilities;
    for c in (0..64).filter(|c| (may.capabilities[3] & !bounding) >> c & 1 == 1) {
        call(prctl, libc::PR_CAPBSET_DROP as usize, c, 0);
    }
    let ids = want.users != may.users || want.groups != may.groups || want.also != may.also;
    if ids {
        call(prctl, libc::PR_SET_KEEPCAPS as usize, 1, 0);
    }
    if want.also != may.also {
        let list = want.also.clone().leak();
        call(libc::SYS_setgroups, list.len(), list.as_ptr() as usize, 0);
    }
    if want.groups != may.groups {
        let [r, e, s, _] = want.groups.map(|g| g as usize);
        call(libc::SYS_setresgid, r, e, s);
    }
    if want.users != may.users {
        let [r, e, s, _] = want.users.map(|u| u as usize);
        call(libc::SYS_setresuid, r, e, s);
    }
    if ids || want.capabilities[..3] != may.capabilities[..3] {
        let all = Rights { capabilities: [inheritable, permitted, effective, 0, 0], ..Rights::default() };
        // _LINUX_CAPABILITY_VERSION_3, of the calling host.
        let head = Box::leak(Box::new([0x2008_0522u32, 0]));
        let data = Box::leak(Box::new(all.capability_words()));
        call(libc::SYS_capset, head.as_ptr() as usize, data.as_ptr() as usize, 0);
    }
    if ambient != may.capabilities[4] {
        call(prctl, libc::PR_CAP_AMBIENT as usize, libc::PR_CAP_AMBIENT_CLEAR_ALL as usize, 0);
        for c in (0..64).filter(|c| ambient >> c & 1 == 1) {
            call(prctl, libc::PR_CAP_AMBIENT as usize, libc::PR_CAP_AMBIENT_RAISE as usize, c);
        }
    }
    if want.no_new && !may.no_new {
        call(prctl, libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0);
    }
    // The file system's follow the effective ones, unless the program has set them apart.
    for (n, of) in [(libc::SYS_setfsgid, want.groups), (libc::SYS_setfsuid, want.users)] {
        if ids && of[3] != of[1] {
            call(n, of[3] as usize, 0, 0);
        }
    }
    if ids {
        call(prctl, libc::PR_SET_KEEPCAPS as usize, 0, 0);
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> Rights {
        Rights { capabilities: [0, 0xff, 0xff, 0xff, 0], ..Rights::default() }
    }

    #[test]
    fn equal_rights_need_no_calls() {
        assert_eq!(to_have(&saved(root()), &root()), Ok(Vec::new()));
    }

    #[test]
    fn rights_given_up_are_given_up_again() {
        let mut want = saved(root());
        want.users = [7; 4];
        want.capabilities = [0, 0, 0, 0x7f, 0];
        want.no_new = true;
        let numbers: Vec<i64> =
            to_have(&want, &root()).expect("possible").iter().map(|c| c[0] as i64).collect();
        let (p, u, c) = (libc::SYS_prctl, libc::SYS_setresuid, libc::SYS_capset);
        assert_eq!(numbers, [p, p, u, c, p, p]);
    }

    #[test]
    fn a_filter_is_not_put_back() {
        let want = Saved { filters: (2, 1), ..saved(root()) };
        assert!(to_have(&want, &root()).is_err());
        let more = Rights { filters: (2, 1), ..root() };
        assert_eq!(to_have(&saved(root()), &more), Ok(Vec::new()), "fewer rights than it had");
    }

    #[test]
    fn what_the_caller_has() {
        let own = Own::of_caller();
        assert!(own.slack() > 0 || own.policy().0 == 0);
        let none = Attributes {
            name: super::super::image::Word::from(&b"x"[..]),
            cpus: None,
            scheduling: None,
            pending: 0,
            memory_policy: None,
            io_priority: None,
            timer_slack: Some(own.slack() + 1),
            rights: None,
        };
        let (calls, less) = changes(&own, None, &none, &own, false).expect("possible");
        assert!(!less);
        assert_eq!(calls.len(), 1);
        let c = Changes {
            count: AtomicUsize::new(0),
            calls: [const { [const { AtomicUsize::new(0) }; 6] }; MOST],
        };
        c.set(&calls);
        assert_eq!(c.make(), Ok(()));
        assert_eq!(Own::of_caller().slack(), own.slack() + 1);
    }
}
