//! What a thread does with its time, from event to event.
//!
//! A thread is in one *state* at a time; each event that changes it adds the time since the last one to it. A
//! *visit* of a segment begins where a synchronisation is left and ends where the thread arrives at the next
//! one; its waiting there counts for it, too, for it is that segment's imbalance that is waited out. When the
//! wait is over the visit is recorded (record.rs), and the next one begins.
//!
//! ```text
//! worker:   idle → (region begins) busy ⇄ runtime → (arrives) waiting → (leaves) busy … → (region ends) idle
//! primary:  busy in serial code → (region) runtime → busy → … → waiting → (region ends) busy in serial code
//! ```
//! While a thread waits it may execute tasks: busy; while it waits for a lock or for tasks: runtime.
//!
//! All is written by the thread itself, in place. Its team's member 0 reads `slots` behind the
//! synchronisation; they alternate, and nobody comes to the next but one before the member 0 has come to the
//! next one.

use super::clock;
use super::live_tables::{self, Rows};
use super::record::{Known, RECENT};
use super::span_buffer::Ring;
use super::visit::Visit;
use crate::ckpt;
use crate::sys::own::Own;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, fence};
use promp_report::words::{State, Sync};

/// Nesting of states, and of regions.
const DEPTH: usize = 16;

/// Visits from this on are worth two looks at the CPU time.
const LONG_NS: u64 = 100_000;
/// So many visits behind a long one are looked at: between two long ones there may be short ones.
const LOOKS: u32 = 4;

/// What a thread returns to when an inner region has ended.
#[derive(Clone, Copy)]
struct Outside {
    visit: Visit,
    state: u32,
    nested: usize,
    visits: u64,
    since: u64,
}

/// What a team shares; written by its primary thread.
#[derive(Default)]
pub(super) struct TeamWatch {
    /// Where its region was encountered.
    pub site: Own<usize>,
    /// The segment in front of it, for those who have nothing to do there; plus 1.
    pub before: Own<u32>,
    /// Its depth.
    pub level: Own<u32>,
    /// Its threads, and 2³² divided by them.
    pub size: Own<u32>,
    /// See `size`.
    pub part: Own<u64>,
    /// Regions begun, and when the last two ended. (Workers may look later than the region's end.)
    pub regions: AtomicU64,
    /// See `regions`.
    pub ended: [AtomicU64; 2],
}

/// What member 0 needs to know of a member's visit.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Slot {
    /// Its busy time, and that on a CPU.
    pub busy_ns: AtomicU64,
    /// See `busy_ns`.
    pub own_ns: AtomicU64,
    /// When it arrived.
    pub arrived: AtomicU64,
}

/// Odd while a worker leaves a region. It may have slept at the region's end until the program's, when its
/// figures are read by another thread: what that finds counts if the number was even and the same before and
/// after (a sequence lock; the edges are those of `within` and `now`).
#[derive(Default)]
pub(super) struct Leaving(AtomicU32);

impl Leaving {
    /// The calling thread, whose it is, leaves a region by `f`.
    #[inline]
    pub(super) fn within(&self, f: impl FnOnce()) {
        let n = self.0.load(Relaxed);
        self.0.store(n.wrapping_add(1), Relaxed);
        // Who sees anything of what `f` writes sees that the number was odd.
        fence(Release);
        f();
        self.0.store(n.wrapping_add(2), Release);
    }

    /// The number; what was read before is older than it, what is read from here on is not.
    pub(super) fn now(&self) -> u32 {
        fence(Acquire);
        self.0.load(Acquire)
    }
}

/// See the module's text.
#[repr(align(128))]
pub(super) struct Watch {
    /// When it was looked at last.
    pub last: AtomicU64,
    /// Its [`State`].
    pub state: AtomicU32,
    /// The checkpoints' epoch that it was looked at in.
    pub epoch: Own<u32>,
    /// CPU times are looked at in so many visits more.
    looks: Own<u32>,
    /// Visits in this region.
    pub visits: Own<u64>,
    /// Its rows of the tables.
    pub rows: Own<Rows>,
    /// What PROMP_MONITOR=trace keeps.
    pub ring: Own<Option<&'static Ring>>,
    /// The region of its team that it is in.
    pub region: Own<u64>,
    /// Is it about to leave that?
    pub leaving: Leaving,
    /// The team.
    pub team: Own<Option<&'static TeamWatch>>,
    /// The visit in progress.
    pub visit: Own<Visit>,
    /// For member 0.
    pub slots: [Slot; 2],
    /// Segments that it has visited.
    pub recent: [Known; RECENT],
    before: [Own<u32>; DEPTH],
    nested: Own<usize>,
    /// That of serial code, while the thread is in a region that it has begun there.
    nested_in_serial: Own<usize>,
    outside: [Own<Option<Outside>>; DEPTH],
    depth: Own<usize>,
}

impl Watch {
    /// Of a thread that begins; `None` if there is no row for it.
    pub(super) fn new(ring: Option<&'static Ring>) -> Option<&'static Watch> {
        let row = live_tables::take_row()?;
        Some(Box::leak(Box::new(Watch {
            last: AtomicU64::new(clock::stamp()),
            state: AtomicU32::new(State::Idle as u32),
            epoch: Own::new(ckpt::epoch()),
            looks: Own::new(LOOKS),
            visits: Own::new(0),
            rows: Own::new(live_tables::rows(row)),
            ring: Own::new(ring),
            region: Own::new(0),
            leaving: Leaving::default(),
            team: Own::new(None),
            visit: Own::new(Visit::new(0, Sync::Start, 0, 0)),
            slots: Default::default(),
            recent: [const { Known::none() }; RECENT],
            before: [const { Own::new(0) }; DEPTH],
            nested: Own::new(0),
            nested_in_serial: Own::new(0),
            outside: [const { Own::new(None) }; DEPTH],
            depth: Own::new(0),
        })))
    }

    /// Its figures go to row `row` from here on.
    pub(super) fn move_to(&self, row: u32) {
        self.recent.iter().for_each(Known::forget);
        self.rows.set(live_tables::rows(row));
    }

    /// Adds the time since the last look to the state; the time now. Time that a rollback has undone is
    /// nobody's.
    #[inline]
    pub(super) fn look(&self) -> u64 {
        let now = clock::stamp();
        let since = now.saturating_sub(self.last.load(Relaxed));
        self.last.store(now, Relaxed);
        if self.epoch.get() == ckpt::epoch() {
            let state = self.state.load(Relaxed);
            self.visit.change(|v| v.spend(state, since));
        } else {
            self.epoch.set(ckpt::epoch());
            self.visit.change(Visit::is_lived_again);
        }
        now
    }

    /// Another state from here on. (Release: who takes over a free row sees all that was written there.)
    #[inline]
    pub(super) fn enter(&self, state: State) {
        self.state.store(state as u32, Relaxed);
        self.rows.peek().thread.state.store(state as u64, Release);
    }

    /// A state within the present one, until [`Watch::back`].
    pub(super) fn within(&self, state: State) {
        self.look();
        let n = self.nested.get();
        if let Some(b) = self.before.get(n) {
            b.set(self.state.load(Relaxed));
            self.enter(state);
        }
        self.nested.set(n + 1);
    }

    /// See [`Watch::within`].
    pub(super) fn back(&self) {
        self.look();
        let n = self.nested.get().saturating_sub(1);
        self.nested.set(n);
        if let Some(s) = self.before.get(n).and_then(|b| State::from_code(b.get().into())) {
            self.enter(s);
        }
    }

    /// The visit that has been set as the present one begins at `now`, in `state`.
    #[inline(always)]
    pub(super) fn begin(&self, thr: &Thread, now: u64, state: State) {
        if self.looks.get() > 0 {
            self.visit.change(|v| v.look_at_cpu(thr));
        }
        self.enter(state);
        self.rows.peek().thread.since_ns.store(clock::monotonic_ns(now), Relaxed);
    }

    /// The thread is member `number` of a team at depth `level`, for those who watch it.
    pub(super) fn is_in(&self, thr: &Thread, number: u32, level: u32) {
        let row = self.rows.peek().thread;
        row.number.store(number.into(), Relaxed);
        row.level.store(level.into(), Relaxed);
        row.tid.store(u64::from(thr.host.load(Relaxed)), Relaxed);
    }

    /// The first visit of a region that this thread takes part in. What a worker did was looked at by
    /// [`Watch::idle`]: no time passes between that and this visit.
    pub(super) fn begin_region(&self, thr: &Thread, team: &'static TeamWatch) {
        let now = if thr.num() == 0 { self.look() } else { self.last.load(Relaxed) };
        self.visits.set(0);
        if thr.num() != 0 {
            self.nested.set(0);
        }
        self.region.set(team.regions.load(Relaxed));
        self.team.set(Some(team));
        let number = thr.num();
        // The primary thread has been in the runtime since it encountered the region.
        let ahead = if number == 0 { self.visit.peek().runtime() } else { 0 };
        self.visit.change(|v| {
            v.restart(team.site.get(), Sync::Region, team.level.get(), now);
            v.made_in(ahead);
        });
        self.is_in(thr, number, team.level.get());
        self.begin(thr, now, State::Busy);
    }

    /// The thread arrives at the end of its visit.
    #[inline]
    pub(super) fn arrive(&self, thr: &Thread) {
        let now = self.look();
        self.visit.change(|v| {
            v.arrived = now;
            v.is_over(thr);
        });
        let v = self.visit.peek();
        self.was_long(v.busy_ns);
        let slot = &self.slots[(self.visits.get() & 1) as usize];
        let inner = if v.inner == 0 { 0 } else { clock::ns(v.inner) };
        slot.busy_ns.store(v.busy_ns + inner, Relaxed);
        slot.own_ns.store(v.busy_ns - v.stolen_ns + inner, Relaxed);
        slot.arrived.store(now, Relaxed);
        self.enter(State::Waiting);
    }

    /// A visit took so long.
    #[inline]
    pub(super) fn was_long(&self, busy_ns: u64) {
        self.looks.set(if busy_ns >= LONG_NS { LOOKS } else { self.looks.get().saturating_sub(1) });
    }

    /// The thread encounters a region from serial code, which it has recorded up to the last look.
    pub(super) fn enter_region(&self) {
        self.nested_in_serial.set(self.nested.get());
        let now = self.last.load(Relaxed);
        self.visit.change(|v| v.restart(0, Sync::Region, 0, now));
        self.enter(State::Runtime);
    }

    /// That region has ended, which it left at the last look: serial code from there on, for what lies
    /// between belongs to nobody else. It began at `site`.
    pub(super) fn leave_for_serial(&self, thr: &Thread, site: usize) {
        let left = self.last.load(Relaxed);
        self.nested.set(self.nested_in_serial.get());
        self.visit.change(|v| v.restart(site, Sync::RegionEnd, 0, left));
        self.is_in(thr, 0, 0);
        self.begin(thr, left, State::Serial);
    }

    /// The thread encounters a region in another one: what it does outside of it goes on behind it.
    pub(super) fn suspend(&self) {
        let now = self.look();
        let d = self.depth.get();
        if let Some(o) = self.outside.get(d) {
            o.set(Some(Outside {
                visit: self.visit.get(),
                state: self.state.load(Relaxed),
                nested: self.nested.get(),
                visits: self.visits.get(),
                since: now,
            }));
        }
        self.depth.set(d + 1);
        self.visit.change(|v| v.restart(0, Sync::Region, 0, now));
        self.enter(State::Runtime);
    }

    /// The inner region has ended.
    pub(super) fn resume(&self, thr: &Thread, level: u32) {
        let left = self.last.load(Relaxed);
        let now = self.look();
        let d = self.depth.get().saturating_sub(1);
        self.depth.set(d);
        self.is_in(thr, thr.num(), level);
        let Some(Some(o)) = self.outside.get(d).map(Own::peek) else { return };
        self.visit.set(o.visit);
        self.visit.change(|v| {
            v.inner += left.saturating_sub(o.since);
            v.spend(State::Runtime as u32, now.saturating_sub(left));
        });
        self.nested.set(o.nested);
        self.visits.set(o.visits);
        if let Some(s) = State::from_code(o.state.into()) {
            self.enter(s);
        }
    }

    /// In a child after fork: the numbers of segments are its parent's.
    pub(super) fn forget(&self, row: u32) {
        self.move_to(row);
        let now = clock::stamp();
        self.last.store(now, Relaxed);
        self.visit.change(|v| v.restart(v.site, v.from, v.level, now));
    }
}
