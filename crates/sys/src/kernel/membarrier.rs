//! A fence that one thread makes all others of its process pass (membarrier(2)), so that what they do often
//! needs none: between two of their instructions the kernel has each of them that runs pass a full fence;
//! those that do not run have passed one when they were taken off their CPU.
//!
//! A process must say that it will ask for that, which takes the kernel some milliseconds in one with several
//! threads. So it is said when it is first asked for: a new process that goes on with this one's memory has
//! not said it either, and finds out in the same way.

use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering::*};

const QUERY: i32 = 0;
const PRIVATE_EXPEDITED: i32 = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;

fn call(command: i32) -> isize {
    // SAFETY: changes no memory.
    unsafe { sys!(libc::SYS_membarrier, command, 0, 0) }
}

/// Can the kernel do it, and may this process ask for it? Asked once.
pub fn is_there() -> bool {
    const NO: u32 = 1;
    const YES: u32 = 2;
    static ANSWER: AtomicU32 = AtomicU32::new(0);
    let known = ANSWER.load(Relaxed);
    if known != 0 {
        return known == YES;
    }
    let can = call(QUERY);
    let there = can > 0 && can & PRIVATE_EXPEDITED as isize != 0;
    ANSWER.store(if there { YES } else { NO }, Relaxed);
    there
}

/// The caller and all other threads of the process have passed a full fence since it was called. False: the
/// kernel has refused.
pub fn fence_all() -> bool {
    const UNSAID: isize = -libc::EPERM as isize;
    match call(PRIVATE_EXPEDITED) {
        UNSAID => call(REGISTER_PRIVATE_EXPEDITED) == 0 && call(PRIVATE_EXPEDITED) == 0,
        r => r == 0,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_kernel_offers_it_does() {
        let offered = super::is_there();
        assert_eq!(super::fence_all(), offered);
        assert_eq!(super::fence_all(), offered, "said before");
    }
}
