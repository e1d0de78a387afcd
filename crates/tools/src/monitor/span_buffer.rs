//! PROMP_MONITOR=trace: spans of each thread in a ring of fixed size. When it is full, every other visit is
//! thrown out and from then on only one in twice as many is kept; so the whole run stays in it, ever more
//! coarsely, and nobody waits for anything. Written by its thread alone, read at the end.

use super::clock;
use super::visit::Visit;
use crate::sys::own::Own;
use promp_report::Span;

/// Visits that a thread's ring holds.
const ROOM: usize = 4096;

/// A visit, as it was.
#[derive(Clone, Copy)]
struct Kept {
    nth: u64,
    began: u64,
    arrived: u64,
    left: u64,
    runtime: u64,
    segment: u32,
    number: u16,
    level: u16,
    again: bool,
}

const NONE: Kept = Kept {
    nth: 0,
    began: 0,
    arrived: 0,
    left: 0,
    runtime: 0,
    segment: u32::MAX,
    number: 0,
    level: 0,
    again: false,
};

/// See the module's text.
pub(super) struct Ring {
    kept: Box<[Own<Kept>]>,
    count: Own<usize>,
    seen: Own<u64>,
    every: Own<u64>,
}

/// A span, whose it is: number and depth.
pub(super) type Whose = (u32, u32, Span);

impl Ring {
    /// An empty one.
    pub(super) fn new() -> &'static Ring {
        Box::leak(Box::new(Ring {
            kept: (0..ROOM).map(|_| Own::new(NONE)).collect(),
            count: Own::new(0),
            seen: Own::new(0),
            every: Own::new(1),
        }))
    }

    /// Notes a visit that ended at `left`.
    pub(super) fn visit(&self, v: &Visit, left: u64, number: u32, segment: Option<u32>) {
        let nth = self.seen.get();
        self.seen.set(nth + 1);
        // A power of two.
        let is_kept = || nth & (self.every.get() - 1) == 0;
        if !is_kept() {
            return;
        }
        if self.count.get() == ROOM {
            self.thin_out();
            if !is_kept() {
                return;
            }
        }
        let n = self.count.get();
        self.kept[n].set(Kept {
            nth,
            began: v.began,
            arrived: if v.level == 0 { left } else { v.arrived },
            left,
            runtime: v.runtime(),
            segment: segment.unwrap_or(u32::MAX),
            number: number as u16,
            level: v.level as u16,
            again: v.again,
        });
        self.count.set(n + 1);
    }

    #[cold]
    fn thin_out(&self) {
        let every = self.every.get() * 2;
        let mut n = 0;
        for i in 0..self.count.get() {
            let k = self.kept[i].get();
            if k.nth.is_multiple_of(every) {
                self.kept[n].set(k);
                n += 1;
            }
        }
        self.count.set(n);
        self.every.set(every);
    }

    /// What was seen, what of it is here, one in how many.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        (self.seen.get(), self.count.get() as u64, self.every.get())
    }

    /// Its spans, with times from `began_ns` on the monotonic clock.
    pub(super) fn spans(&self, began_ns: u64) -> Vec<Whose> {
        let mut all = Vec::new();
        for k in self.kept[..self.count.get()].iter().map(Own::get) {
            let mut span = |what: &str, from: u64, to: u64| {
                let at_s = clock::monotonic_ns(from).saturating_sub(began_ns) as f64 * 1e-9;
                let for_s = clock::ns(to.saturating_sub(from)) as f64 * 1e-9;
                let segment = (k.segment != u32::MAX).then_some(k.segment);
                let span = Span { at_s, for_s, what: what.into(), segment, again: k.again };
                all.push((k.number.into(), k.level.into(), span));
            };
            if k.runtime > 0 {
                // Of what else it was in the runtime the times are not kept: that lies within.
                span("runtime", k.began.saturating_sub(k.runtime), k.began);
            }
            span("busy", k.began, k.arrived);
            if k.left > k.arrived {
                span("wait", k.arrived, k.left);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use promp_report::words::Sync;

    #[test]
    fn a_full_ring_keeps_the_whole_run_more_coarsely() {
        let ring = Ring::new();
        let visits = 10 * ROOM as u64;
        for i in 0..visits {
            let mut v = Visit::new(0, Sync::Region, 1, i);
            v.arrived = i + 1;
            ring.visit(&v, i + 2, 0, Some(0));
        }
        let (seen, kept, every) = ring.counts();
        assert_eq!((seen, every), (visits, 16));
        assert_eq!(kept, visits.div_ceil(every));
        let began: Vec<u64> = ring.kept[..kept as usize].iter().map(|k| k.get().began).collect();
        assert!(began.iter().enumerate().all(|(i, &b)| b == i as u64 * every), "evenly spread");
    }
}
