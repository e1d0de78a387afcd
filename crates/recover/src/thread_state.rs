//! What recovery keeps of a thread. It lies in the thread's own memory, so that it is there as long as the
//! thread, and handlers of signals find it.

use super::inject::PerThread;
use super::verify::Check;
use crate::sys::own::Own;
use crate::team::recovery_state::Room;
use crate::team::thread::Thread;

/// See the module's text. Zeroed memory is one that nothing has happened to.
pub(crate) struct ThreadState {
    /// State of fault injection.
    pub inject: PerThread,
    /// The check of its chunks by repeating them, once one was chosen.
    pub check: Own<Option<&'static Check>>,
}

const _: () = assert!(size_of::<ThreadState>() <= size_of::<Room>());
const _: () = assert!(align_of::<ThreadState>() <= align_of::<Room>());

/// That of `thr`.
#[inline(always)]
pub(crate) fn of(thr: &'static Thread) -> &'static ThreadState {
    // SAFETY: it fits (above); its fields are numbers, flags and an optional reference, of which zeros are
    // values; and nobody else uses this memory.
    unsafe { thr.room.memory().cast().as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inject::count_crash;
    use core::sync::atomic::Ordering::Relaxed;

    #[test]
    fn nothing_has_happened_to_a_new_thread() {
        let thr = crate::team::thread::current();
        let state = of(thr);
        assert!(state.check.get().is_none() && !state.inject.hanging().load(Relaxed));
        assert_eq!(state.inject.fence().load(Relaxed), 0);
        assert_eq!([count_crash(thr), count_crash(thr)], [1, 2]);
        thr.save.passed.set(1);
        assert_eq!(count_crash(thr), 1, "behind another save point");
    }
}
