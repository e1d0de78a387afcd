//! CPUs that nobody is to run on any more, because they have computed something wrong
//! (fault/verify): every mask that the runtime sets leaves them out, and the hosts there are move.
//!
//! Words are only added to. Relaxed: a mask that is set at the same moment is corrected by
//! [`leave`], which looks at all hosts after it has added the CPU.

use super::allowed;
use super::syscall::CpuSet;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static LEFT: [AtomicU64; CpuSet::WORDS] = [const { AtomicU64::new(0) }; CpuSet::WORDS];
static ANY: AtomicBool = AtomicBool::new(false);
static SINGLE: AtomicBool = AtomicBool::new(false);

/// Has `cpu` been left?
pub fn is_left(cpu: u32) -> bool {
    LEFT.get(cpu as usize / 64).is_some_and(|w| w.load(Relaxed) >> (cpu % 64) & 1 == 1)
}

/// CPUs that the process may use and has not left.
pub fn usable() -> Vec<u32> {
    let all = allowed::at_load().map_or_else(Vec::new, |set| set.cpus().collect());
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
