//! A team's list of ready tasks, for those that are not in a deque.

use super::Task;

/// Which tasks may be executed.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    /// Any of the team, in this region of it: the thread is in a barrier.
    Any(u64),
    /// Those below this task, which waits.
    Below(&'static Task),
}

impl Scope {
    /// Is `t` one of them?
    pub(crate) fn allows(self, t: &Task) -> bool {
        match self {
            Self::Any(_) => true,
            Self::Below(above) => t.is_below(above),
        }
    }
}

/// The ready list, highest priority and then newest last. Guarded by the pool's lock, like everything that
/// says so in [`Task`].
#[derive(Default)]
pub(crate) struct List {
    head: Option<&'static Task>,
    tail: Option<&'static Task>,
}

impl List {
    /// Adds a task.
    pub(crate) fn push(&mut self, t: &'static Task) {
        let p = t.clauses.priority.get();
        let mut after = self.tail;
        while let Some(a) = after {
            if a.clauses.priority.get() <= p {
                break;
            }
            after = a.links.get().0;
        }
        let before = match after {
            Some(a) => a.links.get().1,
            None => self.head,
        };
        t.links.set((after, before));
        match after {
            Some(a) => a.links.set((a.links.get().0, Some(t))),
            None => self.head = Some(t),
        }
        match before {
            Some(b) => b.links.set((Some(t), b.links.get().1)),
            None => self.tail = Some(t),
        }
    }

    /// Takes one out.
    pub(crate) fn remove(&mut self, t: &'static Task) {
        let (prev, next) = t.links.get();
        match prev {
            Some(p) => p.links.set((p.links.get().0, next)),
            None => self.head = next,
        }
        match next {
            Some(n) => n.links.set((prev, n.links.get().1)),
            None => self.tail = prev,
        }
    }

    /// The task to run next in `scope`.
    pub(crate) fn find(&self, scope: Scope) -> Option<&'static Task> {
        core::iter::successors(self.tail, |t| t.links.get().0).find(|t| scope.allows(t))
    }
}
