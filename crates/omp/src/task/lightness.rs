//! What calls may be light (included_tasks.rs, entry/light.rs), as [`Thread::light`] says:
//!
//! | bit | meaning |
//! |---|---|
//! | [`PLAIN`] | calls are not save points: an undeferred task may be executed so |
//! | [`INCLUDED`] | … and so may every task: the current one is final, or there is no team |
//! | [`LAST`] | the current task is final: what the final clause says of tasks below it makes no difference |
//! | [`SERIAL`] | … and there are regions that are executed as serial code (entry/light/serial_region.rs) |
//! | [`ACROSS`] | save points are left out where iterations wait: doacross waits and posts are light |
//! | [`DEALT`] | the region goes without save points: static loops are dealt out |

use super::flag;
use crate::icv::globals;
use crate::observe::{self, Set};
use crate::team::thread::Thread;

/// See the module's table.
pub const PLAIN: u32 = 1;
/// See the module's table.
pub const INCLUDED: u32 = 2;
/// See the module's table. Set only with the others.
pub const LAST: u32 = 4;
/// See the module's table. Set only with [`PLAIN`].
pub const SERIAL: u32 = 8;
/// See the module's table. Without the others.
pub const ACROSS: u32 = 16;
/// See the module's table. As long as the thread goes by what it does (save/region_points.rs): a loop's calls
/// all go one way.
pub const DEALT: u32 = 32;

/// Flags of tasks that are more than a call; `FINAL` only where the current task is not.
pub const SPECIAL: u32 = flag::FINAL | flag::DEPEND | flag::PRIORITY | flag::DETACH;

/// Is a task with these flags more than a call, where calls may be as light as `light` says?
#[inline(always)]
pub(crate) fn is_special(flags: u32, light: u32) -> bool {
    let special = flags & SPECIAL;
    special != 0 && (special != flag::FINAL || light & LAST == 0)
}

/// Works [`Thread::light`] out. Call when the thread's team, its current task, whether it saves or has
/// regions that are serial code has changed.
#[inline]
pub fn lighten(thr: &'static Thread) {
    let (Some(m), Some(task)) = (thr.member.get(), thr.task.get()) else { return };
    let plain = !thr.saving.get() && nobody_looks();
    let below = match (task.clauses.in_final.get(), m.team().level.get()) {
        (true, _) => INCLUDED | LAST,
        (false, 0) if thr.alone_in.has_plain() => INCLUDED | SERIAL,
        (false, 0) => INCLUDED,
        (false, _) => 0,
    };
    let dealt = if thr.gauge.regions.deals() { DEALT } else { 0 };
    thr.light.set(dealt | if plain { PLAIN | below } else { 0 });
}

/// May calls be light as far as listeners and cancellation are concerned?
fn nobody_looks() -> bool {
    !observe::wants(Set::LIGHT) && !globals().cancellation
}

/// Save points are left out in a loop whose iterations wait for each other, or (`yes` is not) no longer.
pub(crate) fn lighten_across(thr: &'static Thread, yes: bool) {
    let light = thr.light.get();
    if yes != (light & ACROSS != 0) {
        thr.light.set(light & !ACROSS | if yes && nobody_looks() { ACROSS } else { 0 });
    }
}

impl Thread {
    /// Have any calls but those of loops that it deals out a light way here?
    #[inline(always)]
    pub(crate) fn has_light_calls(&self) -> bool {
        self.light.get() & !DEALT != 0
    }

    /// Are stacks copied at its save points from here on? Its calls are light only if not. In a region that
    /// goes without save points they never are: what has been left out there cannot be made good.
    pub(crate) fn set_saving(&'static self, yes: bool) {
        self.saving.set(yes && !self.gauge.regions.is_without());
        lighten(self);
    }
}
