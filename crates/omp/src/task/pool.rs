//! Where a team's ready tasks are, who may execute which, and when all are done.
//!
//! A ready task lies in the deque of the thread that created it, or in the team's list: tasks with a
//! priority, with dependences, or whose event came from elsewhere. Every member counts the tasks it has
//! created and those it has done; all are done when the sums are equal. The sums can be taken while others
//! count: first of what is done, then of what was created. What is done was created before, so if they are
//! equal they were so at a time in between, when nobody could create any. (That everybody has arrived, and
//! so creates none by the implicit tasks, the barrier knows.)

use super::Task;
use super::depend::{Children, Dep};
use super::deque::Deque;
use super::list::{List, Scope};
use super::steal_backoff::Pace;
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use crate::sys::sync::{full_fence, spin_hint};
use crate::team::team::Team;
use crate::team::thread::Thread;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use crossbeam_utils::CachePadded;

/// Most tasks in a thread's deque.
const PLACES: usize = 256;
/// Tasks in a thread's deque that are enough, for each thread of the team: below that every task is left to
/// whoever is idle. It may wait for what its creator, or another task of its creator's, does next: programs
/// rely on it, since other runtimes let them. (Whether they do before that many wait nobody can tell from a
/// task's function, or from how long it took before.)
const ENOUGH_FOR_EACH: u64 = 64;

/// The team's part. See the module's text.
#[derive(Default)]
pub(crate) struct TaskPool {
    /// Was any task created in this region?
    used: AtomicBool,
    list: Locked<List>,
    /// Tasks in the list (hint; changed under the lock).
    listed: AtomicU32,
    /// Tasks done by threads that are not members.
    pub(super) ended_elsewhere: AtomicU64,
}

/// A member's part. [`Own`] fields are the member's thread's.
pub struct MemberTasks {
    deque: Deque<PLACES>,
    /// Tasks in the deque from which on the thread executes new ones at once.
    enough: Own<u64>,
    /// Where the deque's entries of the current task begin.
    floor: Own<u64>,
    /// Whose deque had something last.
    victim: Own<u32>,
    /// How its thefts pay.
    pub(super) pace: Pace,
    /// Is the thread awake, and looking for any task of the team's? See team/event_count.rs.
    pub(super) looks: CachePadded<AtomicBool>,
    /// Deferred tasks created in this region (release: before the task can be taken).
    made: AtomicU64,
    /// Tasks done (release: what they did).
    ended: AtomicU64,
}

/// What entry/light.rs looks at to see whether a thread has enough tasks waiting: top and bottom of its
/// deque, and how many are enough.
pub const ENOUGH: [usize; 3] = [
    offset_of!(MemberTasks, deque) + Deque::<PLACES>::OFFSETS.0,
    offset_of!(MemberTasks, deque) + Deque::<PLACES>::OFFSETS.1,
    offset_of!(MemberTasks, enough),
];

impl Default for MemberTasks {
    fn default() -> Self {
        Self {
            deque: Deque::default(),
            enough: Own::new(ENOUGH_FOR_EACH),
            floor: Own::default(),
            victim: Own::default(),
            pace: Pace::default(),
            looks: CachePadded::default(),
            made: AtomicU64::default(),
            ended: AtomicU64::default(),
        }
    }
}

impl MemberTasks {
    /// The team has `n` members.
    pub(crate) fn share_with(&self, n: u32) {
        self.enough.set((ENOUGH_FOR_EACH * u64::from(n)).min(PLACES as u64));
    }

    /// A region begins for the member.
    #[inline]
    pub(crate) fn begin_region(&self) {
        self.made.store(0, Relaxed);
        self.ended.store(0, Relaxed);
        self.floor.set(self.deque.floor());
    }

    /// The member's host has failed, whatever it was looking for.
    pub fn looks_no_more(&self) {
        self.looks.store(false, Relaxed);
    }

    /// What the thread pushes from here on is the current task's; where that began before.
    pub(crate) fn raise_floor(&self) -> u64 {
        let before = self.floor.get();
        self.floor.set(self.deque.floor());
        before
    }

    /// Is there a task in the deque that the current one has made?
    pub(crate) fn has_some(&self) -> bool {
        self.deque.has(self.floor.get())
    }

    /// Back to what [`MemberTasks::raise_floor`] gave.
    pub(crate) fn set_floor(&self, floor: u64) {
        self.floor.set(floor);
    }

    /// The thread has done one.
    #[inline]
    pub(super) fn count_done(&self) {
        Self::count(&self.ended);
    }

    #[inline]
    fn count(n: &AtomicU64) {
        n.store(n.load(Relaxed) + 1, Release);
    }
}

fn word(t: &'static Task) -> u64 {
    core::ptr::from_ref(t).addr() as u64
}

/// The task that a deque's entry stands for.
fn task(word: u64) -> &'static Task {
    // SAFETY: entries are made by `word`; a task's memory always holds one.
    unsafe { &*(word as *const Task) }
}

impl TaskPool {
    /// A region begins; its members are not in it yet.
    #[inline]
    pub(crate) fn begin_region(&self) {
        if self.used.load(Relaxed) {
            self.used.store(false, Relaxed);
            self.ended_elsewhere.store(0, Relaxed);
        }
    }

    /// Has the region had tasks?
    #[inline]
    pub(crate) fn has_been_used(&self) -> bool {
        self.used.load(Relaxed)
    }

    /// Is no task waiting, ready or running? Asked when all members have arrived.
    #[inline]
    pub(crate) fn idle(&self, team: &'static Team) -> bool {
        !self.used.load(Relaxed) || self.all_ended(team)
    }

    #[inline(never)] // in a barrier's code its loop would take registers that the barrier then saves
    fn all_ended(&self, team: &'static Team) -> bool {
        let members = || team.members().iter().map(|m| &m.tasks);
        let ended =
            members().map(|m| m.ended.load(Acquire)).sum::<u64>() + self.ended_elsewhere.load(Acquire);
        ended == members().map(|m| m.made.load(Acquire)).sum::<u64>()
    }

    /// Does `thr` have so many tasks waiting that it should execute a new one itself?
    #[inline]
    pub(crate) fn is_enough(&self, thr: &'static Thread) -> bool {
        let mine = &thr.member().tasks;
        let enough = mine.enough.get();
        mine.deque.holds(enough) || u64::from(self.listed.load(Relaxed)) >= 2 * enough
    }

    /// Adds a deferred task of the caller's current task; then call [`TaskPool::call_helper`].
    #[inline]
    pub(crate) fn add(&self, thr: &'static Thread, t: &'static Task) {
        self.count_new(thr, t);
        self.put(thr, t);
    }

    /// `thr` puts a task that is ready where it can be found.
    #[inline]
    pub(crate) fn put(&self, thr: &'static Thread, t: &'static Task) {
        if t.clauses.priority.get() > 0 || !thr.member().tasks.deque.push(word(t)) {
            self.enlist(t);
        }
    }

    /// A task of the team's has become ready: a helper that sleeps is woken, unless one looks for tasks.
    #[inline]
    pub(crate) fn call_helper(team: &'static Team) {
        team.event.notify_task(|| Self::is_looked_for(team));
    }

    /// Does a member look for tasks? Of a large team some are asked: one member more is woken at worst.
    #[cold]
    fn is_looked_for(team: &'static Team) -> bool {
        const SOME: usize = 64;
        team.members().iter().take(SOME).any(|m| m.tasks.looks.load(Relaxed))
    }

    /// `thr`, which has looked for tasks, has found one, and passed a full fence since it has ceased to look:
    /// the next one is called if there are more.
    #[inline]
    fn pass_on(&'static self, thr: &'static Thread, scope: Scope) {
        if matches!(scope, Scope::Any(_)) && thr.team().event.has_sleepers() {
            self.pass_on_to_sleepers(thr, scope);
        }
    }

    #[cold]
    fn pass_on_to_sleepers(&'static self, thr: &'static Thread, scope: Scope) {
        if self.is_any_ready(thr, scope) {
            // As if it had created it.
            Self::call_helper(thr.team());
        }
    }

    /// Adds one with dependences, a child of the current task, among whose `children` they are. If it is
    /// ready, call [`TaskPool::call_helper`] then; else whoever meets the last dependence sees to it.
    pub(crate) fn add_dependent<const TELL: bool>(
        &self,
        thr: &'static Thread,
        t: &'static Task,
        children: &Children,
        deps: &[Dep],
    ) -> bool {
        self.count_new(thr, t);
        let ready = children.register::<TELL>(thr, t, deps, true);
        if ready {
            self.put(thr, t);
        }
        ready
    }

    #[inline]
    fn count_new(&self, thr: &'static Thread, t: &'static Task) {
        thr.task().children.add();
        if let Some(g) = t.group.get() {
            g.add(thr);
        }
        MemberTasks::count(&thr.member().tasks.made);
        if !self.used.load(Relaxed) {
            self.used.store(true, Relaxed);
        }
    }

    /// A task that is ready goes to the list.
    pub(super) fn enlist(&self, t: &'static Task) {
        self.list.with(|list| self.push(list, t));
    }

    /// Those that are linked behind `first` do.
    pub(super) fn enlist_all(&self, mut first: Option<&'static Task>) {
        self.list.with(|list| {
            while let Some(t) = first {
                first = t.links.get().0;
                self.push(list, t);
            }
        });
    }

    fn push(&self, list: &mut List, t: &'static Task) {
        list.push(t);
        self.listed.fetch_add(1, Relaxed);
    }

    /// Takes a ready task in `scope`: from the list, or the thread's own deque.
    #[inline]
    pub(super) fn take(&'static self, thr: &'static Thread, scope: Scope) -> Option<&'static Task> {
        let mine = &thr.member().tasks;
        if self.listed.load(Relaxed) != 0
            && let Some(t) = self.take_listed(scope)
        {
            full_fence();
            self.pass_on(thr, scope);
            return Some(t);
        }
        mine.deque.pop(mine.floor.get()).map(task)
    }

    #[cold]
    fn take_listed(&self, scope: Scope) -> Option<&'static Task> {
        self.list.with(|list| {
            let t = list.find(scope)?;
            list.remove(t);
            self.listed.fetch_sub(1, Relaxed);
            Some(t)
        })
    }

    #[inline(never)]
    pub(super) fn steal(&'static self, thr: &'static Thread, scope: Scope) -> Option<&'static Task> {
        let (me, team) = (thr.member(), thr.team());
        let (n, first) = (team.size(), me.tasks.victim.get());
        for i in 0..n {
            let v = (first + i) % n;
            if v == me.num.get() {
                continue;
            }
            let victim = &team.member(v).tasks;
            if let Some(t) = victim.deque.steal(|t| scope.allows(task(t))) {
                me.tasks.victim.set(v);
                self.pass_on(thr, scope);
                return Some(task(t));
            }
        }
        None
    }

    /// Would [`TaskPool::run_one`] find something? For those who wait.
    pub(crate) fn has_ready(&'static self, thr: &'static Thread, scope: Scope) -> bool {
        if !self.used.load(Relaxed) {
            return false;
        }
        if thr.member().tasks.pace.pauses() {
            spin_hint();
            return true;
        }
        self.is_any_ready(thr, scope)
    }

    /// Is there a task in `scope` in the list, or in another's deque?
    fn is_any_ready(&'static self, thr: &'static Thread, scope: Scope) -> bool {
        let listed = || match scope {
            Scope::Any(_) => true,
            Scope::Below(_) => self.list.with(|l| l.find(scope).is_some()),
        };
        if self.listed.load(Relaxed) != 0 && listed() {
            return true;
        }
        let me = thr.member();
        let others = thr.team().members().iter().filter(|m| !core::ptr::eq(*m, me));
        others.into_iter().any(|m| m.tasks.deque.offers(|t| scope.allows(task(t))))
    }
}
