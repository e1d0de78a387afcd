//! Going on from a save point by making the call again. Runs on the new host, on the restored stack, as the logical thread.

use crate::save::SaveKind;
use crate::team::thread::Thread;
use crate::work::loops;

crate::callback!(promp_redo => redo);

/// Performs the call of the last save point again and returns its result; called from `promp_repeat`.
extern "C" fn redo(thr: &'static Thread) -> usize {
    match thr.save.current().map_or(SaveKind::None, |s| s.kind.get()) {
        SaveKind::After(rax) => rax,
        SaveKind::Next(start, end) => match loops::next_bounds(thr) {
            Some((lo, hi)) => {
                // SAFETY: the program gave these addresses in the call that is repeated; its frame has been restored.
                unsafe {
                    *(start as *mut u64) = lo;
                    *(end as *mut u64) = hi;
                }
                1
            }
            None => 0,
        },
        SaveKind::Section => loops::next(thr, thr.member()).map_or(0, |r| r.lo as usize + 1),
        SaveKind::Enter | SaveKind::None | SaveKind::TooLarge => unreachable!("no call to repeat"),
    }
}
