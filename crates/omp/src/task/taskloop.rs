//! taskloop (OpenMP 5.1, section 2.12.2): how iterations are dealt to tasks.

use super::included::{PLAIN, Several, is_special};
use super::ranges::{self, MANY};
use super::spawn::{Spec, is_just_a_call, spawn_or_execute};
use super::{flag, group, reduction};
use crate::observe::event::{Construct, Event, Work};
use crate::team::thread::Thread;
use crate::work::bounds::Bounds;

/// Numbers of tasks and iterations: `tasks` tasks, the first `larger` of which have `each + 1` iterations, the others `each`;
/// with `last` > 0 the last one has that many instead (strict grainsize).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deal {
    tasks: u64,
    each: u64,
    larger: u64,
    last: u64,
}

/// Deals `n` > 0 iterations. `number` is the grainsize or num_tasks value, 0 for neither.
pub(crate) fn deal(n: u64, number: u64, flags: u32, threads: u64) -> Deal {
    let (grain, strict) = (flags & flag::GRAINSIZE != 0, flags & flag::STRICT != 0);
    if grain && strict {
        let g = number.max(1);
        let tasks = n.div_ceil(g);
        return Deal { tasks, each: g.min(n), larger: 0, last: n - (tasks - 1) * g };
    }
    let tasks = if grain {
        (n / number.max(1)).max(1)
    } else if number == 0 {
        threads.min(n)
    } else {
        number.min(n)
    };
    Deal { tasks, each: n / tasks, larger: n % tasks, last: 0 }
}

impl Deal {
    /// How many tasks.
    pub(crate) fn tasks(self) -> u64 {
        self.tasks
    }

    /// Iterations of all tasks before task `i`; of all, if there is none with that number.
    pub(crate) fn before(self, i: u64) -> u64 {
        if self.last > 0 && i == self.tasks {
            (i - 1) * self.each + self.last
        } else {
            i * self.each + i.min(self.larger)
        }
    }

    /// Iterations of task `i`, and of how many tasks from there on.
    pub(crate) fn run_from(self, i: u64) -> (u64, u64) {
        if self.last > 0 && i + 1 == self.tasks {
            (self.last, 1)
        } else if i < self.larger {
            (self.each + 1, self.larger - i)
        } else {
            (self.each, self.tasks - i - u64::from(self.last > 0))
        }
    }
}

/// Most tasks that are executed at once before it is looked again whether others need some.
const AT_ONCE: u64 = 16;

/// Creates the tasks. The first two words of each task's block are its bounds; with reductions the third points to their
/// description.
pub fn run(thr: &'static Thread, base: &Spec, b: Bounds, number: u64) {
    let n = b.iterations();
    if n == 0 {
        if base.flags & (flag::NOGROUP | flag::REDUCTION) == flag::REDUCTION {
            group::start(thr);
            // SAFETY: the block's third word, by the ABI.
            unsafe { reduction::register_taskgroup(thr, *(base.data as *const usize).add(2)) };
            group::end(thr);
        }
        return;
    }
    let d = deal(n, number, base.flags, u64::from(thr.team().size()));
    let construct = Construct { schedule: 0, total: d.tasks, chunk: 0 };
    thr.tell(Event::WorkBegin { work: Work::Taskloop, construct });
    let grouped = base.flags & flag::NOGROUP == 0;
    if grouped {
        group::start(thr);
        if base.flags & flag::REDUCTION != 0 {
            // SAFETY: as above.
            unsafe { reduction::register_taskgroup(thr, *(base.data as *const usize).add(2)) };
        }
    }
    let spec = Spec {
        deferred: base.flags & flag::IF != 0,
        flags: base.flags & !(flag::DEPEND | flag::DETACH),
        ..*base
    };
    if d.tasks > 1 && ranges::suits(thr, &spec) {
        let may_call = !is_special(spec.flags, 0);
        ranges::start(thr, &spec, d, (b.start, b.step), may_call);
    } else {
        one_by_one(thr, &spec, d, b);
    }
    if grouped {
        group::end(thr);
    }
    thr.tell(Event::WorkEnd { work: Work::Taskloop });
}

/// The creator makes the tasks, or executes them.
fn one_by_one(thr: &'static Thread, spec: &Spec, d: Deal, b: Bounds) {
    let (mut at, mut i) = (b.start, 0);
    // Of many tasks the first are tried out, and now and then one again: as long as they are short, they are not worth handing over.
    let may = !is_special(spec.flags, thr.light.get()) && spec.copy.is_none();
    let many = may && thr.light.get() & PLAIN != 0 && d.tasks >= MANY * u64::from(thr.team().size());
    let mut trial = 0;
    while i < d.tasks {
        let (len, alike) = d.run_from(i);
        let step = len.wrapping_mul(b.step);
        let next = at.wrapping_add(step);
        let short = many && i >= trial;
        if short || may && is_just_a_call(thr, spec) {
            let count = alike.min(if short { MANY } else { AT_ONCE });
            let done = Several { thr, call: (spec.func, spec.data), count, bounds: (at, next, step) }.run();
            at = at.wrapping_add(step.wrapping_mul(done));
            i += done;
            if short && done < count {
                trial = i + MANY;
            }
        } else {
            spawn_or_execute(thr, &Spec { bounds: Some((at, next)), ..*spec });
            at = next;
            i += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(d: Deal) -> Vec<u64> {
        (0..d.tasks)
            .map(|i| {
                let (len, alike) = d.run_from(i);
                assert_eq!(d.before(i) + len, d.before(i + 1));
                assert!((i..i + alike).all(|j| j < d.tasks && d.run_from(j).0 == len));
                len
            })
            .collect()
    }

    proptest! {
        #[test]
        fn every_iteration_is_dealt_once(n in 1u64..5000, number in 0u64..300, grain: bool, strict: bool, t in 1u64..9) {
            let flags = if grain { flag::GRAINSIZE } else { 0 } | if strict { flag::STRICT } else { 0 };
            let s = sizes(deal(n, number, flags, t));
            prop_assert_eq!(s.iter().sum::<u64>(), n);
            prop_assert!(s.iter().all(|&x| x > 0));
            if grain && !strict && number > 0 && n >= number {
                prop_assert!(s.iter().all(|&x| x >= number && x < 2 * number));
            }
            if !grain && number > 0 {
                prop_assert_eq!(s.len() as u64, number.min(n));
            }
        }
    }
}
