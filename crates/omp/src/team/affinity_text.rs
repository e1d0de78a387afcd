//! A thread's binding, as OMP_AFFINITY_FORMAT has it.

use super::thread::Thread;
use crate::icv::{affinity_format, globals};
use crate::sys::{limits, out, syscall};

/// OMP_DISPLAY_AFFINITY: shows a thread's binding when it starts a region on a host or place it has not shown
/// yet.
pub(crate) fn show_once(thr: &'static Thread) {
    let m = thr.member();
    let key = (m.num.get(), m.team().size(), m.place.get().2);
    if thr.shown.get() != key && m.team().level.get() > 0 {
        thr.shown.set(key);
        let text = affinity_format::expand(&globals().affinity_format, &fields(thr));
        out::stderr(format_args!("{text}\n"));
    }
}

/// The fields of the affinity format for `thr`.
pub fn fields(thr: &'static Thread) -> affinity_format::Fields {
    let (m, team) = (thr.member(), thr.team());
    affinity_format::Fields {
        team: thr.league.get(),
        level: team.level.get(),
        thread: (m.num.get(), team.size()),
        ancestor: team.primary.parent.get().map_or(-1, |p| p.num.get() as i32),
        affinity: affinity_format::ranges(&limits::affinity_mask()),
        native: syscall::gettid(),
    }
}
