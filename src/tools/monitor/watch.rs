//! What a thread does with its time, from event to event.
//!
//! A thread is in one *state* at a time; each event that changes it adds the time since the last one to it. A
//! *visit* of a segment begins where a synchronisation is left and ends where the thread arrives at the next
//! one; its waiting there counts for it, too, for it is that segment's imbalance that is waited out. When the
//! wait is over the visit is recorded, and the next one begins.
//!
//! ```text
//! worker:   idle → (region begins) busy ⇄ runtime → (arrives) waiting → (leaves) busy … → (region ends) idle
//! primary:  busy in serial code → (region) runtime → busy → … → waiting → (region ends) busy in serial code
//! ```
//! While a thread waits it may execute tasks: busy; while it waits for a lock or for tasks: runtime.
//!
//! Times are in stamps (clock.rs) until they are recorded. All is written by the thread itself. Its team's
//! member 0 reads `slots` behind the synchronisation; they alternate, and nobody comes to the next but one
//! before the member 0 has come to the next one.

use super::clock;
use super::tables::{self, Key};
use super::trace::Ring;
use crate::ckpt;
use crate::observe::event::{Construct, Work};
use crate::sys::own::Own;
use crate::sys::time;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use promp_report::live::SegmentRow;
use promp_report::words::{self, State, Sync};

/// Nesting of states, and of regions.
const DEPTH: usize = 16;

/// A visit in progress.
#[derive(Clone, Copy)]
pub struct Visit {
    /// Return address of the call that it began with, and its kind.
    pub site: usize,
    /// See `site`.
    pub from: Sync,
    /// Depth of the region.
    pub level: u32,
    /// When it began.
    pub began: u64,
    /// Time in the program's code.
    pub busy: u64,
    /// Time in the runtime.
    pub runtime: u64,
    /// That before the visit began.
    ahead: u64,
    /// Time waiting.
    pub wait: u64,
    /// Time in inner regions, which have segments of their own.
    pub inner: u64,
    /// When the thread arrived at its end.
    pub arrived: u64,
    /// Busy time without a CPU, in nanoseconds.
    pub stolen_ns: u64,
    /// CPU time at its beginning in nanoseconds, and whose; 0: not looked at.
    cpu: (u64, u32),
    /// Chunks and iterations.
    pub chunks: u64,
    /// See `chunks`.
    pub iterations: u64,
    /// Chunks taken in the region when its construct began; iterations in that, chunk size, threads.
    taken: u64,
    dealt: (u64, u64, u32),
    /// What the work in it is.
    pub work: Option<Work>,
    /// Its loop's schedule.
    pub schedule: u64,
    /// Was it interrupted by a rollback?
    pub again: bool,
}

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
pub struct TeamWatch {
    /// Where its region was encountered.
    pub site: Own<usize>,
    /// The segment in front of it, for those who have nothing to do there; plus 1.
    pub before: Own<u32>,
    /// Its depth.
    pub level: Own<u32>,
    /// Regions begun, and when the last two ended. (Workers may look later than the region's end.)
    pub regions: AtomicU64,
    /// See `regions`.
    pub ended: [AtomicU64; 2],
}

/// What member 0 needs to know of a member's visit.
#[derive(Default)]
#[repr(align(64))]
struct Slot {
    busy_ns: AtomicU64,
    own_ns: AtomicU64,
    arrived: AtomicU64,
}

/// Segments that a thread has visited, for a quick way to their numbers.
const RECENT: usize = 64; // as many as six bits can tell

/// See the module's text.
#[repr(align(128))]
pub struct Watch {
    /// Its row in the tables.
    pub row: Own<u32>,
    /// When it was looked at last.
    pub last: AtomicU64,
    /// Its [`State`].
    pub state: AtomicU32,
    epoch: Own<u32>,
    /// The visit in progress.
    pub visit: Own<Visit>,
    /// Visits in this region.
    visits: Own<u64>,
    /// The region of its team that it is in.
    region: Own<u64>,
    team: Own<Option<&'static TeamWatch>>,
    before: [Own<u32>; DEPTH],
    nested: Own<usize>,
    outside: [Own<Option<Outside>>; DEPTH],
    depth: Own<usize>,
    recent: [Own<Option<(Key, u32)>>; RECENT],
    /// CPU times are looked at where the last visit was long.
    long: Own<bool>,
    slots: [Slot; 2],
    /// What PROMP_MONITOR=trace keeps.
    pub ring: Own<Option<&'static Ring>>,
}

/// What the moments differ by at which the two clocks are read.
const READINGS_NS: u64 = 1_000;

/// `omp_sched_guided`.
const GUIDED: u8 = 3;

/// Visits from this on are worth two looks at the CPU time.
const LONG_NS: u64 = 100_000;

impl Watch {
    /// Of a thread that begins; `None` if there is no row for it.
    pub fn new(ring: Option<&'static Ring>) -> Option<&'static Watch> {
        let row = tables::take_row()?;
        Some(Box::leak(Box::new(Watch {
            row: Own::new(row),
            last: AtomicU64::new(clock::stamp()),
            state: AtomicU32::new(State::Idle as u32),
            epoch: Own::new(ckpt::epoch()),
            visit: Own::new(Visit::new(0, Sync::Start, 0, 0)),
            visits: Own::new(0),
            region: Own::new(0),
            team: Own::new(None),
            before: [const { Own::new(0) }; DEPTH],
            nested: Own::new(0),
            outside: [const { Own::new(None) }; DEPTH],
            depth: Own::new(0),
            recent: [const { Own::new(None) }; RECENT],
            long: Own::new(true),
            slots: Default::default(),
            ring: Own::new(ring),
        })))
    }

    /// Adds the time since the last look to the state; the time now. Time that a rollback has undone is
    /// nobody's.
    pub fn look(&self) -> u64 {
        let now = clock::stamp();
        let since = now.saturating_sub(self.last.load(Relaxed));
        self.last.store(now, Relaxed);
        let mut v = self.visit.get();
        if self.epoch.get() != ckpt::epoch() {
            self.epoch.set(ckpt::epoch());
            v.again = true;
            v.cpu.0 = 0;
            self.visit.set(v);
            return now;
        }
        match State::from_code(self.state.load(Relaxed).into()) {
            Some(State::Busy | State::Serial) => v.busy += since,
            Some(State::Runtime) => v.runtime += since,
            Some(State::Waiting) => v.wait += since,
            _ => return now,
        }
        self.visit.set(v);
        now
    }

    /// Another state from here on.
    pub fn enter(&self, state: State) {
        self.state.store(state as u32, Relaxed);
        tables::thread(self.row.get()).state.store(state as u64, Relaxed);
    }

    /// A state within the present one, until [`Watch::back`].
    pub fn within(&self, state: State) {
        self.look();
        let n = self.nested.get();
        if let Some(b) = self.before.get(n) {
            b.set(self.state.load(Relaxed));
            self.enter(state);
        }
        self.nested.set(n + 1);
    }

    /// See [`Watch::within`].
    pub fn back(&self) {
        self.look();
        let n = self.nested.get().saturating_sub(1);
        self.nested.set(n);
        if let Some(s) = self.before.get(n).and_then(|b| State::from_code(b.get().into())) {
            self.enter(s);
        }
    }

    /// A visit begins at `now`, in `state`.
    pub fn begin(&self, thr: &Thread, now: u64, visit: Visit, state: State) {
        let cpu = if self.long.get() { cpu(thr) } else { (0, 0) };
        self.visit.set(Visit { began: now, cpu, ..visit });
        self.enter(state);
        let row = tables::thread(self.row.get());
        row.number.store(u64::from(thr.num()), Relaxed);
        row.level.store(u64::from(visit.level), Relaxed);
        row.tid.store(u64::from(thr.host.load(Relaxed)), Relaxed);
        row.since_ns.store(clock::monotonic_ns(now), Relaxed);
    }

    /// The first visit of a region that this thread takes part in.
    pub fn begin_region(&self, thr: &Thread, team: &'static TeamWatch) {
        let now = self.look();
        self.visits.set(0);
        self.nested.set(0);
        self.region.set(team.regions.load(Relaxed));
        self.team.set(Some(team));
        let visit = Visit::new(team.site.get(), Sync::Region, team.level.get(), now);
        // The primary thread has been in the runtime since it encountered the region.
        let runtime = if thr.num() == 0 { self.visit.peek().runtime } else { 0 };
        self.begin(thr, now, Visit { runtime, ahead: runtime, ..visit }, State::Busy);
    }

    /// The thread encounters a region: what it does outside of it goes on behind it.
    ///
    /// `recorded`: what it did there is recorded already, up to the last look.
    pub fn suspend(&self, recorded: bool) {
        let now = if recorded { self.last.load(Relaxed) } else { self.look() };
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
        self.visit.set(Visit::new(0, Sync::Region, 0, now));
        self.enter(State::Runtime);
    }

    /// The region has ended.
    pub fn resume(&self) {
        let left = self.last.load(Relaxed);
        let now = self.look();
        let d = self.depth.get().saturating_sub(1);
        self.depth.set(d);
        let Some(o) = self.outside.get(d).and_then(Own::get) else { return };
        let inner = o.visit.inner + left.saturating_sub(o.since);
        let runtime = o.visit.runtime + now.saturating_sub(left);
        self.visit.set(Visit { inner, runtime, ..o.visit });
        self.nested.set(o.nested);
        self.visits.set(o.visits);
        if let Some(s) = State::from_code(o.state.into()) {
            self.enter(s);
        }
    }

    /// The thread arrives at the end of its visit.
    pub fn arrive(&self, thr: &Thread) {
        let now = self.look();
        let mut v = self.visit.get();
        v.arrived = now;
        v.find_stolen(thr);
        let busy_ns = clock::ns(v.busy);
        self.long.set(busy_ns >= LONG_NS);
        self.visit.set(v);
        let slot = &self.slots[(self.visits.get() & 1) as usize];
        let inner = clock::ns(v.inner);
        slot.busy_ns.store(busy_ns + inner, Relaxed);
        slot.own_ns.store(busy_ns - v.stolen_ns + inner, Relaxed);
        slot.arrived.store(now, Relaxed);
        self.enter(State::Waiting);
    }

    /// It leaves: the visit is recorded as one that ended with `to`, called from `site`. The time now.
    pub fn leave(&self, thr: &'static Thread, site: usize, to: Sync) -> u64 {
        let now = self.look();
        let v = self.visit.get();
        let segment = self.segment(Key { begin: v.site, end: site, from: v.from, to, level: v.level }, &v);
        if let Some(s) = segment {
            self.record(thr.num(), s, &v);
            if thr.num() == 0 {
                self.record_team(thr, s, &v, now);
            }
        }
        if let Some(ring) = self.ring.get() {
            ring.visit(&v, now, thr.num(), segment);
        }
        self.visits.set(self.visits.get() + 1);
        now
    }

    /// A worker's last visit of a region: it may have slept for longer than that.
    pub fn leave_region(&self, thr: &'static Thread, team: &TeamWatch) {
        self.look();
        let mut v = self.visit.get();
        if thr.num() != 0 {
            let ended = team.ended[(self.region.get() & 1) as usize].load(Relaxed);
            let late = self.last.load(Relaxed).saturating_sub(ended);
            if ended >= v.arrived && late < v.wait {
                v.wait -= late;
                self.visit.set(v);
                self.last.store(ended, Relaxed);
                self.enter(State::Idle);
                let now = self.leave_at(thr, ended);
                self.last.store(now, Relaxed);
                return;
            }
        }
        let now = self.leave(thr, 0, Sync::RegionEnd);
        team.ended[(self.region.get() & 1) as usize].store(now, Relaxed);
        self.enter(State::Idle);
    }

    /// [`Watch::leave`] at the end of a region that was over at `ended`.
    fn leave_at(&self, thr: &'static Thread, ended: u64) -> u64 {
        let v = self.visit.get();
        let key = Key { begin: v.site, end: 0, from: v.from, to: Sync::RegionEnd, level: v.level };
        let segment = self.segment(key, &v);
        if let Some(s) = segment {
            self.record(thr.num(), s, &v);
        }
        if let Some(ring) = self.ring.get() {
            ring.visit(&v, ended, thr.num(), segment);
        }
        ended
    }

    fn segment(&self, key: Key, v: &Visit) -> Option<u32> {
        let mix = (key.begin ^ key.end.rotate_left(7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        let recent = &self.recent[mix];
        if let Some((k, s)) = recent.get()
            && k == key
        {
            return Some(s);
        }
        let s = tables::find(key, |row| v.describe(row))?;
        recent.set(Some((key, s)));
        Some(s)
    }

    fn record(&self, number: u32, s: u32, v: &Visit) {
        let c = tables::cell(self.row.get(), s);
        // Its only writer is this thread.
        let add = |word: &AtomicU64, n: u64| word.store(word.load(Relaxed) + n, Relaxed);
        let busy_ns = clock::ns(v.busy);
        add(&c.visits, 1);
        add(&c.busy_ns, busy_ns - v.stolen_ns);
        add(&c.wait_ns, clock::ns(v.wait));
        add(&c.runtime_ns, clock::ns(v.runtime));
        add(&c.stolen_ns, v.stolen_ns);
        add(&c.iterations, v.iterations);
        add(&c.chunks, v.chunks);
        if busy_ns > c.longest_ns.load(Relaxed) {
            c.longest_ns.store(busy_ns, Relaxed);
        }
        tables::number(self.row.get(), s).store(number as u16, Relaxed);
        tables::thread(self.row.get()).segment.store(u64::from(s) + 1, Relaxed);
    }

    /// Member 0 adds what the team has measured. Its members' slots were written before they arrived.
    fn record_team(&self, thr: &'static Thread, s: u32, v: &Visit, now: u64) {
        let slot = (self.visits.get() & 1) as usize;
        let team = thr.team();
        let (mut most, mut sum, mut own_most, mut own_sum, mut arrived) = (0, 0, 0, 0, 0);
        for m in team.members() {
            let Some(w) = m.thread.get().and_then(super::watch_of) else { continue };
            let (busy, own) = (w.slots[slot].busy_ns.load(Relaxed), w.slots[slot].own_ns.load(Relaxed));
            most = most.max(busy);
            own_most = own_most.max(own);
            sum += busy;
            own_sum += own;
            arrived = arrived.max(w.slots[slot].arrived.load(Relaxed));
        }
        let n = u64::from(team.size().max(1));
        let row = tables::segment(s);
        row.threads.fetch_max(n, Relaxed);
        row.visits.fetch_add(1, Relaxed);
        row.tp_ns.fetch_add(most, Relaxed);
        row.mean_ns.fetch_add(sum / n, Relaxed);
        row.least_wait_ns.fetch_add(clock::ns(now.saturating_sub(arrived)), Relaxed);
        row.wall_ns.fetch_add(clock::ns(now.saturating_sub(v.began)), Relaxed);
        if v.again {
            row.visits_again.fetch_add(1, Relaxed);
        }
        let beside = tables::beside(s);
        beside.tp_own_ns.fetch_add(own_most, Relaxed);
        beside.mean_own_ns.fetch_add(own_sum / n, Relaxed);
    }

    /// Ends a visit of serial code, with the region that is encountered at `site` or the end of the program,
    /// by `threads` threads that could have shared it; its segment.
    pub fn end_serial(&self, thr: &'static Thread, site: usize, to: Sync, threads: u32) -> Option<u32> {
        let now = self.look();
        let mut v = self.visit.get();
        v.find_stolen(thr);
        let s = self.segment(Key { begin: v.site, end: site, from: v.from, to, level: 0 }, &v)?;
        self.record(thr.num(), s, &v);
        let (row, busy_ns) = (tables::segment(s), clock::ns(v.busy));
        self.long.set(busy_ns >= LONG_NS);
        row.threads.fetch_max(threads.into(), Relaxed);
        row.visits.fetch_add(1, Relaxed);
        row.tp_ns.fetch_add(busy_ns, Relaxed);
        row.mean_ns.fetch_add(busy_ns / u64::from(threads.max(1)), Relaxed);
        row.wall_ns.fetch_add(clock::ns(now.saturating_sub(v.began)), Relaxed);
        tables::header().serial_ns.fetch_add(clock::ns(now.saturating_sub(v.began)), Relaxed);
        tables::note_serial(s);
        if let Some(ring) = self.ring.get() {
            ring.visit(&v, now, thr.num(), Some(s));
        }
        Some(s)
    }

    /// A worker had nothing to do until now: in segment `s` if that is known.
    pub fn idle(&self, s: Option<u32>) {
        let now = clock::stamp();
        let since = now.saturating_sub(self.last.load(Relaxed));
        self.last.store(now, Relaxed);
        if self.epoch.get() != ckpt::epoch() {
            self.epoch.set(ckpt::epoch());
        } else if let Some(s) = s {
            let c = tables::cell(self.row.get(), s);
            c.wait_ns.store(c.wait_ns.load(Relaxed) + clock::ns(since), Relaxed);
        }
    }

    /// In a child after fork: the numbers of segments are its parent's.
    pub fn forget(&self) {
        self.recent.iter().for_each(|r| r.set(None));
        self.last.store(clock::stamp(), Relaxed);
        let now = self.last.load(Relaxed);
        let v = self.visit.get();
        self.visit.set(Visit { began: now, ..Visit::new(v.site, v.from, v.level, now) });
    }

    /// At the end, asked by another thread: what it has not recorded, as (row, segment, busy, waiting) in
    /// nanoseconds. Its last visit, if it sleeps at the end of a region that is over; and that it is idle.
    pub fn unrecorded(&self, end: u64) -> Vec<(u32, u32, u64, u64)> {
        let (v, row) = (self.visit.get(), self.row.get());
        let mut all = Vec::new();
        let mut since = self.last.load(Relaxed);
        match State::from_code(self.state.load(Relaxed).into()) {
            Some(State::Idle) => {}
            Some(State::Waiting) => {
                let Some(team) = self.team.get() else { return all };
                let ended = team.ended[(self.region.get() & 1) as usize].load(Relaxed);
                if ended < v.arrived {
                    return all;
                }
                let key = Key { begin: v.site, end: 0, from: v.from, to: Sync::RegionEnd, level: v.level };
                let wait = clock::ns(v.wait + ended.saturating_sub(since));
                if let Some(s) = tables::find(key, |row| v.describe(row)) {
                    all.push((row, s, clock::ns(v.busy), wait));
                }
                since = ended;
            }
            _ => return all,
        }
        if let Some(s) = tables::last_serial() {
            all.push((row, s, 0, clock::ns(end.saturating_sub(since))));
        }
        all
    }

    /// A construct begins in the visit.
    pub fn work(&self, work: Work, c: Construct, taken: u64, threads: u32) {
        let mut v = self.visit.get();
        v.work = Some(work);
        v.taken = taken;
        // In chunks of one size they can be counted; else they are taken for dealt out evenly.
        v.dealt = (c.total, if c.schedule == GUIDED { 0 } else { c.chunk }, threads);
        if work == Work::Loop
            && let Some(kind) = words::Kind::from_code(c.schedule.into())
        {
            v.schedule = words::schedule_code(kind, c.chunk);
        }
        self.visit.set(v);
    }

    /// It ends.
    pub fn work_ends(&self, taken: u64) {
        let mut v = self.visit.get();
        let (total, chunk, threads) = v.dealt;
        let chunks = taken.saturating_sub(v.taken);
        v.chunks += chunks;
        v.iterations += match chunk {
            0 => total / u64::from(threads.max(1)),
            _ => chunks.saturating_mul(chunk).min(total),
        };
        self.visit.set(v);
    }
}

impl Visit {
    /// A visit that begins at `now`.
    pub fn new(site: usize, from: Sync, level: u32, now: u64) -> Self {
        Self {
            site,
            from,
            level,
            began: now,
            busy: 0,
            runtime: 0,
            ahead: 0,
            wait: 0,
            inner: 0,
            arrived: now,
            stolen_ns: 0,
            cpu: (0, 0),
            chunks: 0,
            iterations: 0,
            taken: 0,
            dealt: (0, 0, 1),
            work: None,
            schedule: 0,
            again: false,
        }
    }

    /// At its end: how much of its busy time it had no CPU.
    fn find_stolen(&mut self, thr: &Thread) {
        let busy_ns = clock::ns(self.busy);
        if self.cpu.0 != 0 {
            let (used, host) = cpu(thr);
            // Behind an inner region the two clocks would not be of the same time.
            if host == self.cpu.1 && self.inner == 0 {
                let own = used.saturating_sub(self.cpu.0);
                let awake = clock::ns(self.busy + self.runtime - self.ahead);
                self.stolen_ns = awake.saturating_sub(own).min(busy_ns);
            }
        }
        if self.stolen_ns < READINGS_NS {
            self.stolen_ns = 0;
        }
    }

    /// What its segment is.
    fn describe(&self, row: &SegmentRow) {
        let construct = match self.work {
            _ if self.level == 0 => words::Construct::Serial,
            Some(Work::Loop) => words::Construct::Loop,
            Some(Work::Sections) => words::Construct::Sections,
            Some(Work::Taskloop) => words::Construct::Taskloop,
            Some(Work::Scope) | None => words::Construct::Region,
        };
        row.construct.store(construct as u64, Relaxed);
        row.schedule.store(self.schedule, Relaxed);
    }
}

/// The CPU time of the calling thread's host, and which host that is.
fn cpu(thr: &Thread) -> (u64, u32) {
    (time::of_caller_ns(), thr.host.load(Relaxed))
}
