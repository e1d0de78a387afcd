//! Memory of a thread's tasks: a list that only the thread touches, and one to which others give tasks back.

use super::Task;
use crate::sys::own::Own;
use core::sync::atomic::{AtomicPtr, Ordering::*};

/// Tasks made at a time.
const BATCH: usize = 16;

/// See the module's text. Part of a [`Thread`](crate::team::thread::Thread), which is never freed.
#[derive(Default)]
pub(crate) struct Slab {
    /// The thread's own.
    free: Own<Option<&'static Task>>,
    /// A stack: anybody pushes (release), the thread takes all at once (acquire). So there is no A-B-A.
    returned: AtomicPtr<Task>,
}

impl Slab {
    /// The thread takes a task.
    #[inline]
    pub(crate) fn take(&'static self) -> &'static Task {
        match self.free.get() {
            Some(t) => {
                self.free.set(t.links.get().0);
                t
            }
            None => self.refill(),
        }
    }

    #[cold]
    fn refill(&'static self) -> &'static Task {
        // SAFETY: null or a task of this slab.
        let mut list = unsafe { self.returned.swap(core::ptr::null_mut(), Acquire).as_ref() };
        if list.is_none() {
            let batch: &'static [Task] =
                (0..BATCH).map(|_| Task::blank(Some(self))).collect::<Vec<_>>().leak();
            for t in batch {
                t.links.set((list, None));
                list = Some(t);
            }
        }
        let t = list.expect("returned or made");
        self.free.set(t.links.get().0);
        t
    }

    /// Gives a task of this slab back; `own`: the caller is its thread.
    #[inline]
    pub(crate) fn give(&self, t: &'static Task, own: bool) {
        if own {
            t.links.set((self.free.get(), None));
            self.free.set(Some(t));
            return;
        }
        let mut head = self.returned.load(Relaxed);
        loop {
            // SAFETY: null or a task of this slab.
            t.links.set((unsafe { head.as_ref() }, None));
            let new = core::ptr::from_ref(t).cast_mut();
            match self.returned.compare_exchange_weak(head, new, Release, Relaxed) {
                Ok(_) => return,
                Err(h) => head = h,
            }
        }
    }
}
