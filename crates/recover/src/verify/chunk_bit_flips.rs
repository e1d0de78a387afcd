//! Injection of silent errors into what chunks have written (PROMP_FAULT=sdc@where=chunk,…): when a chunk is
//! done, bits of it are turned over. A chunk that has written nothing is not hit, and does not count.

use super::write_set::Written;
use crate::icv::silent::{Clock, Fault, Run};
use crate::sys::lock::Locked;
use crate::sys::random::Random;
use crate::sys::time::now_ns;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

struct Planned {
    fault: Fault,
    struck: u64,
    met: u64,
    random: Random,
    clock: Clock,
}

static PLANNED: Locked<Vec<Planned>> = Locked::new(Vec::new());
static ANY: AtomicBool = AtomicBool::new(false);
static STRUCK: AtomicU64 = AtomicU64::new(0);

/// For the faults of the settings.
pub(super) fn start(faults: &[Fault]) {
    let plan = |f: &Fault| {
        let random = Random::new(f.seed);
        Planned { fault: f.clone(), struck: 0, met: 0, random, clock: Clock::default() }
    };
    PLANNED.with(|v| *v = faults.iter().filter(|f| f.chunk).map(plan).collect());
    ANY.store(PLANNED.with(|v| !v.is_empty()), Relaxed);
}

/// Is there anything to inject?
pub(super) fn any() -> bool {
    ANY.load(Relaxed)
}

/// How often it has struck.
pub(super) fn struck() -> u64 {
    STRUCK.load(Relaxed)
}

impl Planned {
    fn is_due(&mut self, first: bool, cpu: u32) -> bool {
        let f = &self.fault;
        let run = match f.run {
            Run::First => first,
            Run::Again => !first,
            Run::Both => true,
        };
        if !run || self.struck >= f.count || f.cpu.is_some_and(|c| c != cpu) {
            return false;
        }
        if let Some(mean) = f.mtbf_ns {
            return self.clock.strikes(now_ns(), mean, &mut self.random);
        }
        self.met += 1;
        self.met.is_multiple_of(f.nth)
    }

    /// Turns bits over; false if nothing was written.
    fn hit(&mut self, written: &Written) -> bool {
        let mut pieces = Vec::new();
        written.pieces(|at, n| pieces.push((at, n)));
        let bytes: u64 = pieces.iter().map(|p| p.1 as u64).sum();
        if bytes == 0 {
            return false;
        }
        let mut offset = self.random.below(bytes) as usize;
        let (start, n) = *pieces
            .iter()
            .find(|p| {
                p.1 > offset || {
                    offset -= p.1;
                    false
                }
            })
            .expect("within");
        let bit = self.fault.bit.unwrap_or(self.random.below(8) as u32);
        let flip = |at: usize, mask: u8| {
            if at < n {
                // SAFETY: the chunk has written this byte, and nobody else does.
                unsafe { *((start + at) as *mut u8) ^= mask };
            }
        };
        self.fault.pattern.masks(offset, bit, flip);
        true
    }
}

/// A chunk that has written `written` on `cpu` is done: strikes where it is time to.
pub(super) fn strike(written: &Written, first: bool, cpu: u32) {
    if !any() {
        return;
    }
    PLANNED.with(|v| {
        for p in v {
            if p.is_due(first, cpu) && p.hit(written) {
                p.struck += 1;
                STRUCK.fetch_add(1, Relaxed);
            }
        }
    });
}
