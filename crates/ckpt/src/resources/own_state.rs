//! What the kernel keeps for a thread and lets only the thread itself ask for or change: its memory policy,
//! its timer slack, its rights, the CPU time that it has used, what prctl(2) and arch_prctl(2) have set. So
//! a thread notes it when it freezes, and the keeper has a host that becomes a thread make the system calls
//! that are needed. Where one fails the process stops: a thread is never silently different.

use crate::attributes::thread_values;
use crate::image::{self, Attributes};
use crate::sys;
use crate::sys::anew;
use crate::sys::cpu_time::{self, Used};
use crate::sys::follow::Call;
use crate::sys::rights::{Rights, capability_words};
use crate::sys::{syscall, tls};
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
    death_signal: AtomicU32,
    /// By [`PRCTLS`].
    prctls: [AtomicU32; PRCTLS.len()],
    /// By [`thread_values::ALL`].
    values: [AtomicU64; thread_values::ALL.len()],
    gs: AtomicUsize,
    keyring: AtomicU32,
    shadow_stack: AtomicU32,
    used: [AtomicU64; 3],
}

/// Prctl(2)s that ask for something and set it, the latter with an argument in front of the value.
const PRCTLS: [(i32, i32, Option<usize>); 3] = [
    (libc::PR_MCE_KILL_GET, libc::PR_MCE_KILL, Some(1)),
    (PR_GET_IO_FLUSHER, PR_SET_IO_FLUSHER, None),
    (libc::PR_GET_SECUREBITS, libc::PR_SET_SECUREBITS, None),
];
const PR_SET_IO_FLUSHER: i32 = 57;
const PR_GET_IO_FLUSHER: i32 = 58;
const SECUREBITS: usize = 2;
/// One of the securebits: capabilities stay when the user changes.
const KEEP_CAPS: u32 = 1 << 4;
const ARCH_SET_GS: usize = 0x1001;
const ARCH_GET_GS: usize = 0x1004;

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
        self.death_signal.store(anew::death_signal() as u32, Relaxed);
        for (to, (get, ..)) in self.prctls.iter().zip(PRCTLS) {
            // SAFETY: no pointers.
            to.store(unsafe { sys!(libc::SYS_prctl, get, 0, 0, 0, 0, 0) } as u32, Relaxed);
        }
        self.values.iter().zip(thread_values::of_caller()).for_each(|(to, v)| to.store(v, Relaxed));
        self.shadow_stack.store(u32::from(thread_values::has_shadow_stack()), Relaxed);
        let mut gs = 0usize;
        // SAFETY: the kernel writes a word.
        unsafe { sys!(libc::SYS_arch_prctl, ARCH_GET_GS, &raw mut gs) };
        self.gs.store(gs, Relaxed);
        self.keyring.store(u32::from(anew::has_keyring()), Relaxed);
        self.set_used(cpu_time::of_thread(tls::thread_pointer(), syscall::gettid()));
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

    /// What the thread has that no other can have.
    pub fn obstacle(&self) -> Option<&'static str> {
        if self.keyring.load(Relaxed) != 0 {
            return Some("a thread has a keyring of its own (keyctl)");
        }
        let shadowed = self.shadow_stack.load(Relaxed) != 0;
        shadowed.then_some("a thread has a shadow stack (ARCH_SHSTK_ENABLE), which cannot be put back")
    }

    /// By [`thread_values::ALL`].
    fn values(&self) -> [u64; thread_values::ALL.len()] {
        self.values.each_ref().map(|v| v.load(Relaxed))
    }

    /// CPU time.
    pub fn used(&self) -> Used {
        let [ns, user, system] = self.used.each_ref().map(|w| w.load(Relaxed));
        Used { ns, user, system }
    }

    /// The thread has used so much.
    pub fn set_used(&self, u: Used) {
        self.used.iter().zip([u.ns, u.user, u.system]).for_each(|(w, v)| w.store(v, Relaxed));
    }

    /// Of a host that the caller makes: what it does not have from the caller.
    pub fn is_made_anew(&self) {
        self.death_signal.store(0, Relaxed);
    }

    /// For an image of a process that began with `began`.
    pub fn others(&self, began: Option<&Own>) -> image::Own {
        let differs = |of: &dyn Fn(&Own) -> u32| Some(of(self)).filter(|v| began.map(of) != Some(*v));
        let prctl = |i: usize| differs(&move |o| o.prctls[i].load(Relaxed));
        let Used { ns, user, system } = self.used();
        image::Own {
            death_signal: differs(&|o| o.death_signal.load(Relaxed)),
            memory_failure: prctl(0),
            flusher: prctl(1),
            securebits: prctl(SECUREBITS),
            values: thread_values::others(&self.values(), began.map(Own::values).as_ref().map(|b| &b[..])),
            gs: self.gs.load(Relaxed),
            used: [ns, user, system],
        }
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

/// Takes away from `want` the capabilities that a thread with `may` cannot have: are there any?
fn give_up(want: &mut Rights, may: &Rights) -> bool {
    let have = may.capabilities[1];
    let less = want.capabilities[1] & !have != 0;
    // Inheritable ones as far as permitted or inheritable; permitted, effective and ambient ones as far as
    // permitted.
    want.capabilities[0] &= have | may.capabilities[0];
    for set in [1, 2, 4] {
        want.capabilities[set] &= have;
    }
    less
}

/// A system call with three arguments.
fn call(n: i64, a: usize, b: usize, c: usize) -> Call {
    [n as usize, a, b, c, 0, 0]
}

/// What a host with `now` and rights `may` has to call to have what `a` says; `began`: what the process
/// began with. In a rollback a thread may go on without capabilities that have been given up since: the
/// program is about to give them up again. The second value says whether one does.
pub(crate) fn changes(
    now: &Own,
    may: Option<Rights>,
    a: &Attributes,
    began: &Own,
    rollback: bool,
) -> Result<(Vec<Call>, bool), String> {
    let mut less = false;
    let mut calls: Vec<Call> = Vec::new();
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
            less = give_up(&mut want, &may);
        }
        let bits = |o: &Own| o.prctls[SECUREBITS].load(Relaxed);
        let bits = (bits(now), a.own.as_ref().map_or(bits(now), |o| o.securebits.unwrap_or(bits(began))));
        calls.extend(to_have(&want, &may, bits)?);
    }
    if let Some(own) = &a.own {
        for (i, wanted) in [own.memory_failure, own.flusher].into_iter().enumerate() {
            let (have, (_, set, first)) = (now.prctls[i].load(Relaxed), PRCTLS[i]);
            let wanted = wanted.unwrap_or(began.prctls[i].load(Relaxed));
            if wanted != have {
                let [x, y] = first.map_or([wanted as usize, 0], |f| [f, wanted as usize]);
                calls.push(call(libc::SYS_prctl, set as usize, x, y));
            }
        }
        calls.extend(thread_values::changes(&now.values(), &own.values, &began.values()));
        if own.gs != now.gs.load(Relaxed) {
            calls.push(call(libc::SYS_arch_prctl, ARCH_SET_GS, own.gs, 0));
        }
        // A change of users takes it away. If the program has not set one, the surroundings' stays.
        let have = now.death_signal.load(Relaxed);
        let wanted = own.death_signal.unwrap_or(have);
        if wanted != 0 || have != 0 {
            calls.push(call(libc::SYS_prctl, libc::PR_SET_PDEATHSIG as usize, wanted as usize, 0));
        }
    }
    if calls.len() > MOST {
        return Err("a thread's rights differ in too much".into());
    }
    Ok((calls, less))
}

/// Has a thread filters of system calls that one with `others` has not?
pub(crate) fn has_more_filters(have: &Rights, others: (u32, u32)) -> bool {
    have.filters.1 > others.1 || have.filters.0 > others.0
}

/// From rights `may` to `want`; `bits`: securebits, from and to.
fn to_have(want: &Rights, may: &Rights, bits: (u32, u32)) -> Result<Vec<Call>, String> {
    let mut calls: Vec<Call> = Vec::new();
    let prctl = libc::SYS_prctl;
    if has_more_filters(want, may.filters) {
        return Err("a thread had a filter of system calls (seccomp), which cannot be put back".into());
    }
    let [inheritable, permitted, effective, bounding, ambient] = want.capabilities;
    for c in (0..64).filter(|c| (may.capabilities[3] & !bounding) >> c & 1 == 1) {
        calls.push(call(prctl, libc::PR_CAPBSET_DROP as usize, c, 0));
    }
    if (bits.0 ^ bits.1) & !KEEP_CAPS != 0 {
        let bits = (bits.1 & !KEEP_CAPS) | (bits.0 & KEEP_CAPS);
        calls.push(call(prctl, libc::PR_SET_SECUREBITS as usize, bits as usize, 0));
    }
    let ids = want.users != may.users || want.groups != may.groups || want.also != may.also;
    if ids {
        calls.push(call(prctl, libc::PR_SET_KEEPCAPS as usize, 1, 0));
        calls.extend(to_be(want, may));
    }
    if ids || want.capabilities[..3] != may.capabilities[..3] {
        let all = Rights { capabilities: [inheritable, permitted, effective, 0, 0], ..Rights::default() };
        // _LINUX_CAPABILITY_VERSION_3, of the calling host.
        let head = Box::leak(Box::new([0x2008_0522u32, 0]));
        let data = Box::leak(Box::new(capability_words(&all)));
        calls.push(call(libc::SYS_capset, head.as_ptr() as usize, data.as_ptr() as usize, 0));
    }
    if ambient != may.capabilities[4] {
        let ambient_calls = libc::PR_CAP_AMBIENT as usize;
        calls.push(call(prctl, ambient_calls, libc::PR_CAP_AMBIENT_CLEAR_ALL as usize, 0));
        for c in (0..64).filter(|c| ambient >> c & 1 == 1) {
            calls.push(call(prctl, ambient_calls, libc::PR_CAP_AMBIENT_RAISE as usize, c));
        }
    }
    if want.no_new && !may.no_new {
        calls.push(call(prctl, libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0));
    }
    // The file system's follow the effective ones, unless the program has set them apart.
    for (n, of) in [(libc::SYS_setfsgid, want.groups), (libc::SYS_setfsuid, want.users)] {
        if ids && of[3] != of[1] {
            calls.push(call(n, of[3] as usize, 0, 0));
        }
    }
    if ids || (bits.0 ^ bits.1) & KEEP_CAPS != 0 {
        let keeps = usize::from(bits.1 & KEEP_CAPS != 0);
        calls.push(call(prctl, libc::PR_SET_KEEPCAPS as usize, keeps, 0));
    }
    Ok(calls)
}

/// From the users and groups of `may` to those of `want`.
fn to_be(want: &Rights, may: &Rights) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    if want.also != may.also {
        let list = want.also.clone().leak();
        calls.push(call(libc::SYS_setgroups, list.len(), list.as_ptr() as usize, 0));
    }
    if want.groups != may.groups {
        let [r, e, s, _] = want.groups.map(|g| g as usize);
        calls.push(call(libc::SYS_setresgid, r, e, s));
    }
    if want.users != may.users {
        let [r, e, s, _] = want.users.map(|u| u as usize);
        calls.push(call(libc::SYS_setresuid, r, e, s));
    }
    calls
}

#[cfg(test)]
mod tests;
