//! How the kernel schedules a thread: sched_getattr(2), sched_setattr(2).

use crate::sys;
use core::mem::size_of;

/// The kernel's `struct sched_attr`, as far as it is needed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    size: u32,
    /// SCHED_OTHER (0), SCHED_FIFO …
    pub policy: u32,
    /// Of [`FLAGS`].
    pub flags: u64,
    /// Of SCHED_OTHER and SCHED_BATCH.
    pub nice: i32,
    /// Of SCHED_FIFO and SCHED_RR.
    pub priority: u32,
    /// Of SCHED_DEADLINE: runtime, deadline, period. Zero for others.
    pub times: [u64; 3],
}

const DEADLINE: u32 = 6;
/// Threads that it makes begin without (SCHED_RESET_ON_FORK), and two of SCHED_DEADLINE's.
const FLAGS: u64 = 1 | 2 | 4;

impl Scheduling {
    /// That of thread `tid` (0: the caller).
    pub fn of(tid: u32) -> Option<Self> {
        let mut a = Self::default();
        // SAFETY: the kernel writes at most the given bytes.
        let r = unsafe { sys!(libc::SYS_sched_getattr, tid, &raw mut a, size_of::<Self>(), 0) };
        (r == 0).then_some(Self::new(a.policy, a.flags, a.nice, a.priority, a.times))
    }

    /// From its parts.
    pub fn new(policy: u32, flags: u64, nice: i32, priority: u32, times: [u64; 3]) -> Self {
        // Others have a slice there, which is the kernel's own unless it was asked for.
        let times = if policy == DEADLINE { times } else { [0; 3] };
        Self { size: size_of::<Self>() as u32, policy, flags: flags & FLAGS, nice, priority, times }
    }

    /// Becomes that of thread `tid`; false if the system does not allow it.
    pub fn give(&self, tid: u32) -> bool {
        // SAFETY: the kernel reads the structure.
        unsafe { sys!(libc::SYS_sched_setattr, tid, core::ptr::from_ref(self), 0) == 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_what_was_given() {
        std::thread::spawn(|| {
            let now = Scheduling::of(0).expect("the caller's");
            assert!(now.give(0), "what it is already");
            let batch = Scheduling::new(3, 1, now.nice.min(18) + 1, 0, [7; 3]);
            assert_eq!(batch.times, [0; 3]);
            assert!(batch.give(0));
            assert_eq!(Scheduling::of(0), Some(batch));
        })
        .join()
        .expect("the thread");
    }
}
