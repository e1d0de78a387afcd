//! Where a team's ready tasks are, who may execute which, and when all are done.
//!
//! A ready task lies in the deque of the thread that created it, or in the team's list: tasks with a
//! priority, with dependences, or whose event came from elsewhere. Every member counts the tasks it has
//! created and those it has done; all are done when the sums are equal. The sums can be taken while others
//! count: first of what is done, then of what was created. What is done was created before, so if they are
//! equal they were so at a time in between, when nobody could create any. (That everybody has arrived, and
//! so creates none by the implicit tasks, the barrier knows.)

use super::depend::{Children, Dep};
use super::deque::Deque;
use super::group::Group;
use super::list::{List, Scope};
use super::pace::{Looks, Pace};
use super::run::{self, run_body};
use super::{Task, detach, ranges};
use crate::observe::event::{Event, Pause, Sync};
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use crate::sys::sync::{full_fence, spin_hint};
use crate::sys::time;
use crate::team::event::{Patience, Waiters};
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
    ended_elsewhere: AtomicU64,
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
    pace: Pace,
    /// Is the thread awake, and looking for any task of the team's? See team/event.rs.
    looks: CachePadded<AtomicBool>,
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
        if t.priority.get() > 0 || !thr.member().tasks.deque.push(word(t)) {
            self.list.with(|list| self.push(list, t));
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

    fn push(&self, list: &mut List, t: &'static Task) {
        list.push(t);
        self.listed.fetch_add(1, Relaxed);
    }

    /// Takes a ready task in `scope`: from the list, or the thread's own deque.
    #[inline]
    fn take(&'static self, thr: &'static Thread, scope: Scope) -> Option<&'static Task> {
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
    fn steal(&'static self, thr: &'static Thread, scope: Scope) -> Option<&'static Task> {
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

    /// Runs one ready task in `scope`. False if there was none.
    #[inline]
    pub(crate) fn run_one(&'static self, thr: &'static Thread, scope: Scope) -> bool {
        if !self.used.load(Relaxed) {
            return false;
        }
        let (t, stolen) = match self.take(thr, scope) {
            Some(t) => (t, false),
            None if thr.member().tasks.pace.pauses() => return false,
            None => match self.steal(thr, scope) {
                Some(t) => (t, true),
                None => return false,
            },
        };
        if let Scope::Any(epoch) = scope
            && thr.team().primary.epoch.load(Relaxed) != epoch
        {
            // Of the team's next region, which the thread has not begun: for those who have. (Before, no
            // region of the team could begin without the task being done.)
            self.list.with(|list| self.push(list, t));
            thr.team().event.notify();
            return false;
        }
        thr.tell(Event::HelpBegin);
        let began = if stolen { time::ticks() } else { 0 };
        self.execute(thr, t);
        if stolen {
            let now = time::ticks();
            thr.member().tasks.pace.measured(now.wrapping_sub(began), now);
        }
        thr.tell(Event::HelpEnd);
        true
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

    /// Waits, as one of `kind`, until `done`, or until a task in `scope` is ready: at this it looks now
    /// and then, and before it sleeps.
    pub(crate) fn wait(
        &'static self,
        thr: &'static Thread,
        kind: Waiters,
        patience: Patience,
        scope: Scope,
        done: impl Fn() -> bool,
    ) {
        let team = thr.team();
        let mut looks = Looks::of(thr.num(), if patience.crowded { 1 } else { team.size() });
        let mark = &thr.member().tasks.looks;
        mark.store(matches!(scope, Scope::Any(_)), Relaxed);
        let awake = patience.stay(|| done() || (looks.due() && self.has_ready(thr, scope)));
        mark.store(false, Relaxed);
        if !awake {
            team.event.wait_as(kind, patience.after(false), || done() || self.has_ready(thr, scope));
        }
    }

    /// Waits in the current task until `done`, executing tasks below it meanwhile. `pause`: what for.
    #[inline]
    pub(crate) fn wait_below(thr: &'static Thread, pause: Pause, done: impl Fn() -> bool) {
        let team = thr.team();
        let scope = Scope::Below(thr.task());
        while !done() {
            if !team.tasks.run_one(thr, scope) {
                thr.tell(Event::PauseBegin { pause });
                team.tasks.wait(thr, Waiters::Inside, team.patience.get(), scope, &done);
                thr.tell(Event::PauseEnd { pause });
            }
        }
    }

    /// Executes `t`, and then one after the other what it was that the task before was waited for by.
    fn execute(&'static self, thr: &'static Thread, t: &'static Task) {
        let mut next = Some(t);
        while let Some(t) = next {
            next = self.execute_one(thr, t);
        }
    }

    /// Executes `t`; gives a task that has become ready by that, for the caller to execute.
    #[inline]
    fn execute_one(&'static self, thr: &'static Thread, t: &'static Task) -> Option<&'static Task> {
        // A block made by copy constructors is destroyed by the body: such a task runs even if it is
        // cancelled.
        let cancelled =
            !t.copied.get() && (thr.team().is_cancelled() || t.group.get().is_some_and(|g| g.is_cancelled()));
        if t.call.get().0 != 0 && !cancelled {
            run_body(thr, t);
        } else if ranges::is_range(t) {
            ranges::execute(self, thr, t, cancelled);
            return None;
        } else {
            thr.tell(Event::TaskSkipped { task: &t.words });
        }
        if t.detach.load(Relaxed) & detach::CLAUSE != 0 {
            t.children.close();
            let before = t.detach.fetch_or(detach::ENDED, AcqRel);
            if before & detach::FULFILLED == 0 && !cancelled {
                return None;
            }
        }
        let mut next = None;
        self.end(thr, t, &mut next);
        next
    }

    /// Task `t` of this pool is done, as `thr` has seen to: its dependents may become ready, who waits for
    /// it may go on.
    pub(crate) fn done(&'static self, thr: &'static Thread, t: &'static Task) {
        let mut next = None;
        self.end(thr, t, &mut next);
        if let Some(t) = next {
            self.list.with(|list| self.push(list, t));
            t.team.get().expect("a deferred task has a team").event.notify();
        }
    }

    #[inline]
    fn end(&'static self, thr: &'static Thread, t: &'static Task, next: &mut Option<&'static Task>) {
        let team = t.team.get().expect("a deferred task has a team");
        let parent = t.parent_task();
        let mut wake = t.node.is_active() && self.let_dependents_go(t, parent, next);
        let group = t.group.get();
        let in_group = group.is_some_and(|g| g.task_done(thr));
        let by_other = run::end(thr, t, parent, true);
        if core::ptr::eq(thr.team(), team) {
            MemberTasks::count(&thr.member().tasks.ended);
        } else {
            self.ended_elsewhere.fetch_add(1, Release);
            wake = true;
        }
        if wake {
            team.event.notify();
        } else if in_group || by_other {
            Self::wake_if_last(team, group, parent);
        }
    }

    /// A task in `group`, a child of `parent`, is done: who waits for the last one may go on.
    ///
    /// Who waits has counted its own before it sleeps, behind a fence: so either it sees that this one is
    /// done, or it is seen here that it was the last. (Nobody waits any more if the memory of the two has a
    /// new use.) Who waits for the end of all tasks is told by whoever has executed the last ones:
    /// [`Team::wait_at_end`].
    #[inline(never)]
    fn wake_if_last(team: &'static Team, group: Option<&'static Group>, parent: &'static Task) {
        full_fence();
        if team.event.has_sleepers() && (parent.children.none() || group.is_some_and(Group::is_over)) {
            team.event.wake_sleepers();
        }
    }

    /// Task `t`, which has dependences, is done. The first task that becomes ready by that is `next`,
    /// others go to the list. True if who waits may go on.
    #[cold]
    fn let_dependents_go(&self, t: &'static Task, parent: &Task, next: &mut Option<&'static Task>) -> bool {
        let Some(children) = parent.depends.get() else { return false };
        let (mut others, mut wake) = (None, false);
        children.done(t, |d| {
            if d.team.get().is_none() {
                wake = true; // somebody who waits
            } else if next.is_none() && d.priority.get() == 0 {
                *next = Some(d);
            } else {
                d.links.set((others, None));
                others = Some(d);
            }
        });
        if let Some(team) = others.and_then(|d| d.team.get()) {
            self.list.with(|list| {
                while let Some(d) = others {
                    others = d.links.get().0;
                    self.push(list, d);
                }
            });
            Self::call_helper(team);
        }
        wake
    }
}

/// A wait in the current task, as synchronisation `sync`.
pub fn tell_wait(thr: &'static Thread, sync: Sync, wait: impl FnOnce()) {
    thr.tell(Event::TaskSyncBegin { sync });
    thr.tell(Event::TaskSyncArrive { sync });
    wait();
    thr.tell(Event::TaskSyncLeave { sync });
}

/// `taskwait`: waits until the current task's children are done, executing them meanwhile.
pub fn taskwait(thr: &'static Thread) {
    let task = thr.task();
    TaskPool::wait_below(thr, Pause::Taskwait, || task.children.none());
    if task.children.all_gone() {
        task.spawned.set(false);
    }
}
