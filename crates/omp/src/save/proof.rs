//! What promp-cc has proved of the work behind a thread's save point.

use super::SaveKind;
use crate::icv::globals;
use crate::icv::settings::Replay;
use crate::proofs::segment_tables;
use crate::team::thread::Thread;

/// Does only a proof of promp-cc's make the work of `thr`'s activation replayable, not the user's word?
pub fn is_proved(thr: &'static Thread) -> bool {
    thr.vouched.get() == 0 && globals().promp.replay == Replay::Proven
}

/// The segment behind the save point, if promp-cc has built it.
pub fn segment(thr: &'static Thread) -> Option<segment_tables::Entry> {
    thr.save.current().and_then(|s| match s.kind.get() {
        SaveKind::Enter => segment_tables::at_entry(thr.call.get().0),
        SaveKind::None | SaveKind::TooLarge => None,
        _ => s.resumes_at().and_then(segment_tables::behind_call),
    })
}

/// The old values that `thr`'s work needs are not saved any more. Is that why it would be refused?
#[cold]
pub(crate) fn is_given_up(thr: &'static Thread) -> bool {
    is_proved(thr) && segment(thr).is_some_and(|s| s.verdict == segment_tables::Verdict::Undo)
}
