//! The clock by which saving is measured (gauge.rs, price.rs): the time stamp counter. Under valgrind and in
//! emulators, where instructions take many times as long and the counter goes on as ever, it is slowed down
//! by as much. So what costs too much there is what does elsewhere, and instructions that are counted under
//! callgrind are those that a CPU would execute.

use crate::sys::time;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Instructions of [`work`], about: what it takes a CPU in ticks, at most some times as many.
const USUAL: u64 = 512;
/// As long as this is no CPU.
const SLOW: u64 = 4 * USUAL;
/// Not known yet.
const UNKNOWN: u8 = u8::MAX;

/// By how many bits ticks are shifted. Whoever finds it not known finds it out (Relaxed: two threads may).
static SHIFT: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Now, in ticks.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    let known = SHIFT.load(Relaxed);
    time::ticks() >> if known == UNKNOWN { find() } else { known }
}

#[cold]
fn find() -> u8 {
    let took = || {
        let start = time::ticks();
        work();
        time::ticks().wrapping_sub(start)
    };
    // The least: an interruption is not the machine's.
    let shift = shift((0..8).map(|_| took()).min().unwrap_or(0));
    SHIFT.store(shift, Relaxed);
    shift
}

/// ... where the work took so many.
fn shift(took: u64) -> u8 {
    // A CPU executes some instructions a tick.
    if took < SLOW { 0 } else { (took * 4 / USUAL).ilog2() as u8 }
}

/// Loads, stores, branches: what saving consists of.
#[inline(never)]
fn work() {
    let words = [const { AtomicU64::new(1) }; 8];
    for i in 0..USUAL / 8 {
        let (from, to) = (&words[i as usize % 8], &words[(i as usize + 3) % 8]);
        let n = core::hint::black_box(from.load(Relaxed));
        to.store(n.wrapping_mul(i) ^ n, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_keep_their_time_and_emulators_get_more() {
        assert_eq!([0, USUAL / 4, USUAL, SLOW - 1].map(shift), [0; 4]);
        assert_eq!([4, 16, 64].map(|times| shift(times * USUAL)), [4, 6, 8]);
    }

    #[test]
    fn time_goes_on() {
        let (a, _, b) = (ticks(), work(), ticks());
        assert!(a <= b && SHIFT.load(Relaxed) != UNKNOWN);
    }
}
