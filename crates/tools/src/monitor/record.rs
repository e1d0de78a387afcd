//! How visits come into the tables: each thread adds to its own cell, and member 0 what the team has measured
//! as a whole.
//!
//! A thread that comes to the same segments again and again finds them by their call sites among its own
//! (`recent`), without a lock; it then is some fifteen loads and stores. The team's figures have one writer
//! at a time as long as all teams that come there have the same primary thread: the first one *owns* them
//! (live_tables.rs). Others add theirs atomically, in words beside.

use super::clock;
use super::live_tables::{self, Key};
use super::visit::Visit;
use super::watch::{TeamWatch, Watch};
use crate::ckpt;
use crate::sys::own::Own;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU64, Ordering::*};
use promp_report::live::{Cell, CellRead, SegmentRow};
use promp_report::words::{State, Sync};

/// Segments that a thread has visited, for a quick way to them.
pub(super) const RECENT: usize = 64;

/// Whose the figures of a segment's team are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Not asked yet.
    Unknown,
    /// The thread's own.
    Me,
    /// Another one's.
    Another,
}

/// A segment that a thread has visited.
pub(super) struct Known {
    key: Own<Key>,
    segment: Own<u32>,
    rows: Own<Option<(&'static Cell, &'static SegmentRow)>>,
    /// Its number in the team then.
    number: Own<u32>,
    owner: Own<Owner>,
}

impl Known {
    /// None.
    pub(super) const fn none() -> Self {
        Self {
            key: Own::new(Key::NONE),
            segment: Own::new(0),
            rows: Own::new(None),
            number: Own::new(u32::MAX),
            owner: Own::new(Owner::Unknown),
        }
    }

    /// It is not known any more.
    pub(super) fn forget(&self) {
        self.key.set(Key::NONE);
    }

    fn become_known(&self, key: Key, segment: u32, cell: &'static Cell) {
        self.segment.set(segment);
        self.rows.set(Some((cell, live_tables::segment(segment))));
        self.number.set(u32::MAX);
        self.owner.set(Owner::Unknown);
        self.key.set(key);
    }
}

/// What a thread has not put into the tables yet.
pub(super) struct Unrecorded {
    /// Its row there.
    pub row: u32,
    /// Of which segment.
    pub segment: u32,
    /// What it adds.
    pub cell: CellRead,
}

/// What a team has measured of a visit, in nanoseconds.
struct Whole {
    threads: u64,
    tp: u64,
    mean: u64,
    least: u64,
    wall: u64,
}

/// Adds to a word that the calling thread alone writes.
#[inline(always)]
fn add(word: &AtomicU64, n: u64) {
    word.store(word.load(Relaxed) + n, Relaxed);
}

impl Watch {
    /// It leaves: the visit is recorded as one that ended with `to`, called from `site`. The time now.
    #[inline(always)]
    pub(super) fn leave(&self, thr: &'static Thread, number: u32, site: usize, to: Sync) -> u64 {
        let now = self.look();
        self.close(thr, number, site, to, now);
        now
    }

    #[inline]
    fn close(&self, thr: &'static Thread, number: u32, site: usize, to: Sync, now: u64) {
        let v = self.visit.peek();
        let known = self.segment(Key::new(v.site, site, v.from, to, v.level), v);
        if let Some(k) = known {
            self.record(number, k, v);
            if number == 0 {
                self.record_team(thr, k, v, now);
            }
        }
        if let Some(ring) = self.ring.get() {
            ring.visit(v, now, number, known.map(|k| k.segment.get()));
        }
        self.visits.set(self.visits.get() + 1);
    }

    /// The last visit of a region.
    pub(super) fn leave_region(&self, thr: &'static Thread, team: &TeamWatch) {
        let number = thr.num();
        let end = &team.ended[(self.region.get() & 1) as usize];
        if number == 0 {
            let now = self.look();
            end.store(now, Relaxed);
            self.close(thr, number, 0, Sync::RegionEnd, now);
            return self.enter(State::Idle);
        }
        self.leaving.within(|| {
            let mut now = self.look();
            let (ended, v) = (end.load(Relaxed), self.visit.peek());
            // A worker may have slept for longer than the region. It may also be the first to leave, and
            // member 0 look at the clock later: then the wait is as long as it was.
            if let Some(late) = now.checked_sub(ended)
                && ended >= v.arrived
                && late < v.wait()
            {
                self.visit.change(|v| v.waits_less(late));
                self.last.store(ended, Relaxed);
                now = ended;
            }
            self.close(thr, number, 0, Sync::RegionEnd, now);
            self.enter(State::Idle);
        });
    }

    /// The segment with this key; `None` if there is no room for one more.
    #[inline]
    fn segment(&self, key: Key, v: &Visit) -> Option<&Known> {
        let known = &self.recent[key.mix() % RECENT];
        if known.key.get() == key { Some(known) } else { self.look_up(known, key, v) }
    }

    #[cold]
    #[inline(never)]
    fn look_up<'a>(&self, known: &'a Known, key: Key, v: &Visit) -> Option<&'a Known> {
        let s = live_tables::find(key, |row| v.describe(row))?;
        known.become_known(key, s, &self.rows.peek().cells[s as usize]);
        Some(known)
    }

    #[inline]
    fn record(&self, number: u32, k: &Known, v: &Visit) {
        let Some((c, _)) = k.rows.get() else { return };
        add(&c.visits, 1);
        add(&c.busy_ns, v.busy_ns - v.stolen_ns);
        add(&c.wait_ns, clock::ns(v.wait()));
        if v.runtime() | v.stolen_ns | v.chunks | v.iterations != 0 {
            add(&c.runtime_ns, clock::ns(v.runtime()));
            add(&c.stolen_ns, v.stolen_ns);
            add(&c.iterations, v.iterations);
            add(&c.chunks, v.chunks);
        }
        if v.busy_ns > c.longest_ns.load(Relaxed) {
            c.longest_ns.store(v.busy_ns, Relaxed);
        }
        let rows = self.rows.peek();
        if k.number.get() != number {
            k.number.set(number);
            rows.numbers[k.segment.get() as usize].store(number as u16, Relaxed);
        }
        rows.thread.segment.store(u64::from(k.segment.get()) + 1, Relaxed);
    }

    /// Member 0 adds what the team has measured. Its members' slots were written before they arrived.
    #[inline]
    fn record_team(&self, thr: &'static Thread, k: &Known, v: &Visit, now: u64) {
        let Some(shared) = self.team.get() else { return };
        let slot = (self.visits.get() & 1) as usize;
        let (mut most, mut sum, mut own_most, mut own_sum, mut arrived) = (0, 0, 0, 0, 0);
        for m in thr.team().members() {
            let Some(w) = m.thread.get().and_then(super::watch_of) else { continue };
            let s = &w.slots[slot];
            let (busy, own) = (s.busy_ns.load(Relaxed), s.own_ns.load(Relaxed));
            most = most.max(busy);
            own_most = own_most.max(own);
            sum += busy;
            own_sum += own;
            arrived = arrived.max(s.arrived.load(Relaxed));
        }
        let part = |sum: u64| ((u128::from(sum) * u128::from(shared.part.get())) >> 32) as u64;
        let whole = Whole {
            threads: shared.size.get().into(),
            tp: most,
            mean: part(sum),
            least: clock::ns(now.saturating_sub(arrived)),
            wall: clock::ns(now.saturating_sub(v.began)),
        };
        self.add_whole(k, &whole);
        if v.again {
            self.row_of(k).visits_again.fetch_add(1, Relaxed);
        }
        if own_sum != sum {
            let beside = live_tables::beside(k.segment.get());
            beside.tp_stolen_ns.fetch_add(most - own_most, Relaxed);
            beside.mean_stolen_ns.fetch_add(part(sum - own_sum), Relaxed);
        }
    }

    fn row_of(&self, k: &Known) -> &'static SegmentRow {
        live_tables::segment(k.segment.get())
    }

    #[inline]
    fn add_whole(&self, k: &Known, w: &Whole) {
        let Some((_, row)) = k.rows.get() else { return };
        if w.threads > row.threads.load(Relaxed) {
            row.threads.fetch_max(w.threads, Relaxed);
        }
        if k.owner.get() != Owner::Me {
            return self.add_as_another(k, w);
        }
        add(&row.visits, 1);
        add(&row.tp_ns, w.tp);
        add(&row.mean_ns, w.mean);
        add(&row.least_wait_ns, w.least);
        add(&row.wall_ns, w.wall);
    }

    /// [`Watch::add_whole`] where somebody else owns the figures, or it is not known who does.
    #[cold]
    #[inline(never)]
    fn add_as_another(&self, k: &Known, w: &Whole) {
        if k.owner.get() == Owner::Unknown {
            let mine = live_tables::own(k.segment.get(), self.rows.peek().number);
            k.owner.set(if mine { Owner::Me } else { Owner::Another });
            if mine {
                return self.add_whole(k, w);
            }
        }
        let row = self.row_of(k);
        row.others_visits.fetch_add(1, Relaxed);
        row.others_tp_ns.fetch_add(w.tp, Relaxed);
        row.others_mean_ns.fetch_add(w.mean, Relaxed);
        row.others_least_wait_ns.fetch_add(w.least, Relaxed);
        row.others_wall_ns.fetch_add(w.wall, Relaxed);
    }

    /// Ends a visit of serial code, with the region that is encountered at `site` or the end of the program,
    /// by `threads` threads that could have shared it; its segment.
    pub(super) fn end_serial(
        &self,
        thr: &'static Thread,
        site: usize,
        to: Sync,
        threads: u32,
    ) -> Option<u32> {
        let now = self.look();
        self.visit.change(|v| v.is_over(thr));
        let v = self.visit.peek();
        let k = self.segment(Key::new(v.site, site, v.from, to, 0), v)?;
        self.record(thr.num(), k, v);
        self.was_long(v.busy_ns);
        let wall = clock::ns(now.saturating_sub(v.began));
        let mean = v.busy_ns / u64::from(threads.max(1));
        self.add_whole(k, &Whole { threads: threads.into(), tp: v.busy_ns, mean, least: 0, wall });
        live_tables::header().serial_ns.fetch_add(wall, Relaxed);
        live_tables::note_serial(k.segment.get());
        if let Some(ring) = self.ring.get() {
            ring.visit(v, now, thr.num(), Some(k.segment.get()));
        }
        Some(k.segment.get())
    }

    /// A worker had nothing to do until now: in segment `s` if that is known.
    pub(super) fn idle(&self, s: Option<u32>) {
        let now = clock::stamp();
        let since = now.saturating_sub(self.last.load(Relaxed));
        self.last.store(now, Relaxed);
        if self.epoch.get() != ckpt::epoch() {
            self.epoch.set(ckpt::epoch());
        } else if let Some(s) = s {
            add(&self.rows.peek().cells[s as usize].wait_ns, clock::ns(since));
        }
    }

    /// At the end, asked by another thread: what it has not recorded. Its last visit, if it sleeps at the end
    /// of a region that is over; and that it is idle.
    pub(super) fn unrecorded(&self, end: u64) -> Vec<Unrecorded> {
        let (v, rows) = (self.visit.get(), self.rows.peek());
        let of = |segment, cell| Unrecorded { row: rows.number, segment, cell };
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
                let key = Key::new(v.site, 0, v.from, Sync::RegionEnd, v.level);
                if let Some(s) = live_tables::find(key, |row| v.describe(row)) {
                    // As it will do itself, if it ever wakes.
                    let number = rows.thread.number.load(Relaxed);
                    rows.numbers[s as usize].store(number as u16, Relaxed);
                    all.push(of(s, v.measured(ended.saturating_sub(since))));
                }
                since = ended;
            }
            _ => return all,
        }
        if let Some(s) = live_tables::last_serial() {
            let wait_ns = clock::ns(end.saturating_sub(since));
            all.push(of(s, CellRead { wait_ns, ..CellRead::default() }));
        }
        all
    }
}
