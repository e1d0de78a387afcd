//! What time stamps are: the processor's counter where it runs at one rate whatever the processor does (an
//! *invariant* counter, which all CPUs share), else the monotonic clock. Figures are kept in nanoseconds.

use crate::sys::own::Own;
use crate::sys::time;
use core::arch::x86_64::{__cpuid, __get_cpuid_max};

/// How a stamp becomes nanoseconds: (it − `from`) · `rate` / 2³².
#[derive(Clone, Copy)]
struct Scale {
    counter: bool,
    from: u64,
    rate: u64,
    from_ns: u64,
}

/// Written once, when the monitor starts.
static SCALE: Own<Scale> = Own::new(Scale { counter: false, from: 0, rate: 1 << 32, from_ns: 0 });

/// So long the counter is compared with the clock: reading the clock takes less than a ten thousandth of it.
const COMPARED_NS: u64 = 2_000_000;

fn is_invariant() -> bool {
    const POWER: u32 = 0x8000_0007;
    __get_cpuid_max(0x8000_0000).0 >= POWER && __cpuid(POWER).edx & 1 << 8 != 0
}

/// The counter and the clock at the same time: of several tries the one between whose ends the least time
/// passed, for a thread can lose its CPU between any two instructions.
fn both() -> (u64, u64) {
    const TRIES: usize = 32;
    let tries = (0..TRIES).map(|_| {
        let before = time::ticks();
        let ns = time::now_ns();
        let gap = time::ticks() - before;
        (gap, before + gap / 2, ns)
    });
    tries.min().map_or((0, 0), |(_, ticks, ns)| (ticks, ns))
}

/// Before the first stamp.
pub(super) fn start() {
    let (from, from_ns) = both();
    if !is_invariant() {
        SCALE.set(Scale { from: from_ns, from_ns, ..SCALE.get() });
        return;
    }
    while time::now_ns() - from_ns < COMPARED_NS {
        core::hint::spin_loop();
    }
    let (to, to_ns) = both();
    let rate = (u128::from(to_ns - from_ns) << 32) / u128::from((to - from).max(1));
    SCALE.set(Scale { counter: true, from, rate: rate as u64, from_ns });
}

/// The stamp of [`start`].
pub(super) fn first() -> u64 {
    SCALE.peek().from
}

/// The same on the monotonic clock.
pub(super) fn began_ns() -> u64 {
    SCALE.peek().from_ns
}

/// A time stamp.
#[inline]
pub(super) fn stamp() -> u64 {
    if SCALE.peek().counter { time::ticks() } else { time::now_ns() }
}

/// The nanoseconds that `stamps` stamps last.
#[inline]
pub(super) fn ns(stamps: u64) -> u64 {
    ((u128::from(stamps) * u128::from(SCALE.peek().rate)) >> 32) as u64
}

/// A stamp on the monotonic clock.
pub(super) fn monotonic_ns(stamp: u64) -> u64 {
    SCALE.peek().from_ns + ns(stamp.saturating_sub(SCALE.peek().from))
}
