//! The silent errors that PROMP_FAULT injects, and when those strike that come at random times.

use crate::sys::random::Random;
pub use promp_settings::silent_faults::{Fault, Hit, Kernel, Run, split};

/// When a fault strikes that has a mean time between two.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// 0: it has not been looked at yet.
    next_ns: u64,
}

impl Clock {
    /// Is it time at `now`? The next time is drawn.
    pub fn strikes(&mut self, now: u64, mean_ns: u64, random: &mut Random) -> bool {
        if now < self.next_ns {
            return false;
        }
        let next = now + random.exponential(mean_ns as f64);
        core::mem::replace(&mut self.next_ns, next) != 0
    }
}
