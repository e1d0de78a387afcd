//! taskloop (OpenMP 5.1, section 2.12.2).

use super::division::{Deal, deal};
use super::included_tasks::Several;
use super::lightness::{PLAIN, is_special};
use super::range_splits::{self, MANY};
use super::spawn::{Spec, is_just_a_call, spawn_or_execute};
use super::{flag, reduction, taskgroup};
use crate::observe::event::{Construct, Event, Work};
use crate::save::region_points::{self, Kind};
use crate::team::thread::Thread;
use crate::work::bounds::Bounds;

/// Most tasks that are executed at once before it is looked again whether others need some.
const AT_ONCE: u64 = 16;

/// Creates the tasks. The first two words of each task's block are its bounds; with reductions the third points to their
/// description.
pub fn run(thr: &'static Thread, base: &Spec, b: Bounds, number: u64) {
    let n = b.iterations();
    let (before, asked) = (thr.gauge.regions.now(), thr.gauge.regions.of_taskloop());
    if n == 0 {
        thr.gauge.regions.leave_out_taskloop();
        if base.flags & (flag::NOGROUP | flag::REDUCTION) == flag::REDUCTION {
            taskgroup::start(thr);
            // SAFETY: the block's third word, by the ABI.
            unsafe { reduction::register_taskgroup(thr, *(base.data as *const usize).add(2)) };
            taskgroup::end(thr);
        }
        return;
    }
    let d = deal(n, number, base.flags, u64::from(thr.team().size()));
    let construct = Construct { schedule: 0, total: d.tasks(), chunk: 0 };
    thr.tell(Event::WorkBegin { work: Work::Taskloop, construct });
    let grouped = base.flags & flag::NOGROUP == 0;
    // Without a group nothing says when its last task has ended.
    let without = if grouped { asked } else { before };
    if without != before {
        region_points::enter(thr, without);
    }
    if grouped {
        let group = taskgroup::start(thr);
        if without != before {
            group.without.set(without);
        }
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
    if d.tasks() > 1 && range_splits::suits(thr, &spec) {
        let may_call = !is_special(spec.flags, 0);
        range_splits::start(thr, &spec, d, (b.start, b.step), may_call);
    } else {
        one_by_one(thr, &spec, d, b);
    }
    if grouped {
        taskgroup::end(thr);
    }
    if without != before {
        region_points::enter(thr, before);
    }
    if thr.gauge.regions.is_measured(Kind::Taskloop) {
        region_points::ended(thr, Kind::Taskloop, without != before);
    }
    thr.tell(Event::WorkEnd { work: Work::Taskloop });
}

/// The creator makes the tasks, or executes them.
fn one_by_one(thr: &'static Thread, spec: &Spec, d: Deal, b: Bounds) {
    let (mut at, mut i) = (b.start, 0);
    // Of many tasks the first are tried out, and now and then one again: as long as they are short, they are not worth handing over.
    let may = !is_special(spec.flags, thr.light.get()) && spec.copy.is_none();
    let many = may && thr.light.get() & PLAIN != 0 && d.tasks() >= MANY * u64::from(thr.team().size());
    let mut trial = 0;
    while i < d.tasks() {
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
