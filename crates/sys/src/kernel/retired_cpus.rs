//! CPUs that nobody is to run on any more, because they have computed something wrong
//! (recover/verify): every mask that the runtime sets leaves them out, and the hosts there are move.
//!
//! Those too that a process may not use any more since it goes on from a checkpoint in other surroundings,
//! where the runtime binds threads to places of the old ones.
//!
//! Words of the former are only added to. Relaxed: a mask that is set at the same moment is corrected by
//! [`leave`], which looks at all hosts after it has added the CPU.

use crate::initial_affinity;
use crate::syscall::CpuSet;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static LEFT: [AtomicU64; CpuSet::WORDS] = [const { AtomicU64::new(0) }; CpuSet::WORDS];
static ANY: AtomicBool = AtomicBool::new(false);
static SINGLE: AtomicBool = AtomicBool::new(false);

/// CPUs that the process had before it was continued elsewhere.
static ELSEWHERE: [AtomicU64; CpuSet::WORDS] = [const { AtomicU64::new(0) }; CpuSet::WORDS];
/// Does the runtime bind threads to places?
static BINDS: AtomicBool = AtomicBool::new(false);

/// Has `cpu` been left?
pub fn is_left(cpu: u32) -> bool {
    let is_in = |set: &[AtomicU64]| {
        set.get(cpu as usize / 64).is_some_and(|w| w.load(Relaxed) >> (cpu % 64) & 1 == 1)
    };
    is_in(&LEFT) || is_in(&ELSEWHERE)
}

/// The runtime binds threads to places.
pub fn binds() {
    BINDS.store(true, Relaxed);
}

/// The process goes on where it may use `now`; its places may be of `before`. While there are no threads.
pub fn goes_on(before: &CpuSet, now: &CpuSet) {
    if BINDS.load(Relaxed) {
        let gone: Vec<u32> = before.cpus().filter(|&c| !now.has(c)).collect();
        for (i, word) in ELSEWHERE.iter().enumerate() {
            let of_word = gone.iter().filter(|&&c| c as usize / 64 == i);
            let gone_now = of_word.fold(0, |w, c| w | 1 << (c % 64));
            let had = word.load(Relaxed);
            let back = (0..64).filter(|b| now.has(64 * i as u32 + b)).fold(0, |w, b| w | 1 << b);
            word.store((had & !back) | gone_now, Relaxed);
        }
        ANY.store(true, Relaxed);
    }
}

/// CPUs that the process may use and has not left.
pub fn usable() -> Vec<u32> {
    let all = initial_affinity::at_load().map_or_else(Vec::new, |set| set.cpus().collect());
    all.into_iter().filter(|&c| !is_left(c)).collect()
}

/// Has all been left but one?
pub fn is_single() -> bool {
    SINGLE.load(Relaxed)
}

/// The CPUs of `set` that have not been left; where these are none, all that can be used.
pub fn without(set: &CpuSet) -> Option<CpuSet> {
    if !ANY.load(Relaxed) || !set.cpus().any(is_left) {
        return None;
    }
    let mut rest: Vec<u32> = set.cpus().filter(|&c| !is_left(c)).collect();
    if rest.is_empty() {
        rest = usable();
    }
    (!rest.is_empty()).then(|| CpuSet::of(&rest))
}

/// Nobody of this process runs on `cpu` any more; false if there is no other.
pub fn leave(cpu: u32) -> bool {
    if usable().iter().all(|&c| c == cpu) || cpu as usize >= 64 * CpuSet::WORDS {
        return false;
    }
    LEFT[cpu as usize / 64].fetch_or(1 << (cpu % 64), Relaxed);
    ANY.store(true, Relaxed);
    SINGLE.store(usable().len() == 1, Relaxed);
    let hosts = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    for tid in hosts.filter_map(|h| h.file_name().to_str()?.parse::<u32>().ok()) {
        if let Some(set) = CpuSet::of_host(tid).filter(|s| s.has(cpu)) {
            // Leaves it out by itself.
            set.apply(tid);
        }
    }
    true
}
