//! Injection of silent errors (PROMP_FAULT=sdc@…): after a kernel, bits that it has written are turned
//! over in the device's memory. What it has written is found by comparing the memory with what it was
//! before the kernel; a kernel that has changed nothing is not hit, and does not count.

use crate::device::backend::{Addr, Backend};
use crate::icv::silent::{Clock, Fault, Hit, Kernel, Run};
use crate::sys::maps;
use crate::sys::random::Random;
use crate::sys::time::now_ns;

/// A fault and how far it is.
struct Planned {
    fault: Fault,
    struck: u64,
    met: u64,
    random: Random,
    clock: Clock,
    /// It has struck in the first execution of the kernel with this number, and is to strike in the second.
    again: Option<u64>,
    /// Block and byte that it has hit in the first execution.
    place: Option<(usize, usize)>,
}

/// Bytes between the places of two errors in one section.
const APART: usize = 256;

/// A block of the device's memory.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// Its address.
    pub at: Addr,
    /// What of it can hold anything.
    pub bytes: usize,
    /// Its copy from the section's beginning; 0 if there is none.
    pub copy: Addr,
}

/// A device's faults.
#[derive(Default)]
pub(crate) struct Injector {
    planned: Vec<Planned>,
    struck: u64,
}

impl Planned {
    /// Does it strike at this kernel?
    fn is_due(&mut self, (name, ordinal, first): (&str, u64, bool)) -> bool {
        if !first {
            return self.again == Some(ordinal);
        }
        if self.struck >= self.fault.count {
            return false;
        }
        if let Some(mean) = self.fault.mtbf_ns {
            return self.clock.strikes(now_ns(), mean, &mut self.random);
        }
        let hit = match &self.fault.kernel {
            Kernel::From(n) => ordinal >= *n,
            Kernel::Named(glob) => maps::glob(glob.as_bytes(), name.as_bytes()),
        };
        if hit {
            self.met += 1;
        }
        hit && (self.met - 1).is_multiple_of(self.fault.nth)
    }
}

impl Injector {
    /// For the faults of the settings.
    pub(crate) fn new(faults: &[Fault]) -> Self {
        let plan = |f: &Fault| Planned {
            fault: f.clone(),
            struck: 0,
            met: 0,
            random: Random::new(f.seed),
            clock: Clock::default(),
            again: None,
            place: None,
        };
        Self { planned: faults.iter().map(plan).collect(), struck: 0 }
    }

    /// Is there nothing to inject?
    pub(crate) fn is_empty(&self) -> bool {
        self.planned.is_empty()
    }

    /// How often it has struck.
    pub(crate) fn struck(&self) -> u64 {
        self.struck
    }

    /// Runs a kernel (its name, its number, first execution or a later one) and strikes where it is time
    /// to.
    pub(crate) fn around(
        &mut self,
        device: &dyn Backend,
        blocks: &[Target],
        kernel: (&str, u64, bool),
        run: impl FnOnce() -> bool,
    ) -> bool {
        let mut due = Vec::new();
        for (i, p) in self.planned.iter_mut().enumerate() {
            if p.is_due(kernel) {
                if kernel.2 && p.fault.run == Run::Again {
                    p.again = Some(kernel.1);
                } else {
                    due.push(i);
                }
            }
        }
        if due.is_empty() {
            return run();
        }
        let before: Vec<Vec<u8>> = blocks.iter().map(|b| read(device, b.at, b.bytes)).collect();
        if !run() {
            return false;
        }
        for i in due {
            let plan = &mut self.planned[i];
            if kernel.2 {
                plan.place = None;
            }
            let hit = strike(plan, device, blocks, &before);
            let (first, ordinal) = (kernel.2, kernel.1);
            plan.again = None;
            if hit {
                plan.struck += 1;
                self.struck += 1;
                plan.again = (first && plan.fault.run == Run::Both).then_some(ordinal);
            }
        }
        true
    }

    /// A section has ended.
    pub(crate) fn section_ends(&mut self) {
        self.planned.iter_mut().for_each(|p| p.again = None);
    }
}

fn read(device: &dyn Backend, at: Addr, bytes: usize) -> Vec<u8> {
    let mut v = vec![0u8; bytes];
    device.copy_out(v.as_mut_ptr() as usize, at, bytes, None);
    v
}

/// Turns bits over that the kernel has written; false if it has written nothing there.
fn strike(plan: &mut Planned, device: &dyn Backend, blocks: &[Target], before: &[Vec<u8>]) -> bool {
    let largest = blocks.iter().map(|b| b.bytes).max().unwrap_or(0);
    let chosen = |&i: &usize| match plan.fault.block {
        Hit::Largest => blocks[i].bytes == largest,
        Hit::Written => true,
        Hit::Number(n) => i == n,
        Hit::Copy => blocks[i].copy != 0,
    };
    let candidates: Vec<usize> = (0..blocks.len()).filter(chosen).collect();
    // A block at random first; the others where the kernel has not written to it.
    let first = plan.random.below(candidates.len() as u64) as usize;
    for k in 0..candidates.len() {
        let i = candidates[(first + k) % candidates.len()];
        let mut after = read(device, blocks[i].at, blocks[i].bytes);
        let n = after.len();
        // The second execution is hit elsewhere: two errors alike are none that could be found.
        let other = |o: &usize| plan.place.is_none_or(|(b, p)| b != i || o.abs_diff(p) > APART);
        let changed: Vec<usize> = (0..n).filter(|&o| after[o] != before[i][o]).filter(other).collect();
        if changed.is_empty() {
            continue;
        }
        let at = changed[plan.random.below(changed.len() as u64) as usize];
        plan.place = Some((i, at));
        let mut to = blocks[i].at;
        if plan.fault.block == Hit::Copy {
            to = blocks[i].copy;
            after = read(device, to, n);
        }
        let bit = plan.fault.bit.unwrap_or(plan.random.below(8) as u32);
        let flip = |at: usize, mask: u8| {
            if let Some(b) = after.get_mut(at) {
                *b ^= mask;
            }
        };
        plan.fault.pattern.masks(at, bit, flip);
        return device.copy_in(to, after.as_ptr() as usize, n, None);
    }
    false
}
