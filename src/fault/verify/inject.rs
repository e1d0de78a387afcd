//! Injection of silent errors into what chunks have written (PROMP_FAULT=sdc@where=chunk,…): when a chunk is
//! done, bits of it are turned over. A chunk that has written nothing is not hit, and does not count.

use super::written::Written;
use crate::icv::silent::{Fault, Pattern, Run};
use crate::sys::lock::Locked;
use crate::sys::time::now_ns;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

struct Planned {
    fault: Fault,
    struck: u64,
    met: u64,
    random: u64,
    next_ns: u64,
}

static PLANNED: Locked<Vec<Planned>> = Locked::new(Vec::new());
static ANY: AtomicBool = AtomicBool::new(false);
static STRUCK: AtomicU64 = AtomicU64::new(0);

/// For the faults of the settings.
pub fn start(faults: &[Fault]) {
    let plan = |f: &Fault| Planned { fault: f.clone(), struck: 0, met: 0, random: f.seed, next_ns: 0 };
    PLANNED.with(|v| *v = faults.iter().filter(|f| f.chunk).map(plan).collect());
    ANY.store(PLANNED.with(|v| !v.is_empty()), Relaxed);
}

/// Is there anything to inject?
pub fn any() -> bool {
    ANY.load(Relaxed)
}

/// How often it has struck.
pub fn struck() -> u64 {
    STRUCK.load(Relaxed)
}

impl Planned {
    fn below(&mut self, n: u64) -> u64 {
        // splitmix64
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.random;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % n.max(1)
    }

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
            let now = now_ns();
            if now < self.next_ns {
                return false;
            }
            let u = (self.below(1 << 30) + 1) as f64 / (1u64 << 30) as f64;
            let next = now + (-libm::log(u) * mean as f64) as u64;
            return core::mem::replace(&mut self.next_ns, next) != 0;
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
        let mut offset = self.below(bytes) as usize;
        let (start, n) = *pieces
            .iter()
            .find(|p| {
                p.1 > offset || {
                    offset -= p.1;
                    false
                }
            })
            .expect("within");
        let bit = self.fault.bit.unwrap_or(self.below(8) as u32);
        let flip = |at: usize, mask: u8| {
            if at < n {
                // SAFETY: the chunk has written this byte, and nobody else does.
                unsafe { *((start + at) as *mut u8) ^= mask };
            }
        };
        match self.fault.pattern {
            Pattern::Bit => flip(offset, 1 << bit),
            Pattern::Two => {
                flip(offset, 1 << bit);
                if bit == 7 { flip(offset + 1, 1) } else { flip(offset, 2 << bit) }
            }
            Pattern::Word => (0..4).for_each(|k| flip((offset & !3) + k, 0xff)),
            Pattern::Warp => (0..32).for_each(|k| flip(offset + 4 * k, 1 << bit)),
        }
        true
    }
}

/// A chunk that has written `written` on `cpu` is done: strikes where it is time to.
pub fn strike(written: &Written, first: bool, cpu: u32) {
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
