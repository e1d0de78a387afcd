//! A visit of a segment, while it lasts: what its thread does from one synchronisation to the next.

use super::clock;
use crate::observe::event::{Construct, Work};
use crate::sys::time;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use promp_report::live::{CellRead, SegmentRow};
use promp_report::words::{self, State, Sync};
use promp_settings::schedules::Sched;

/// States that a thread can be in: their numbers are below this.
const STATES: usize = 8;
const _: () = assert!(State::ALL.len() == STATES);

/// What the moments differ by at which the two clocks are read.
const READINGS_NS: u64 = 1_000;

/// A visit in progress. Times are in stamps (clock.rs) where they are not in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    /// Return address of the call that it began with, and its kind.
    pub site: usize,
    /// See `site`.
    pub from: Sync,
    /// Was it interrupted by a rollback?
    pub again: bool,
    /// Depth of the region.
    pub level: u32,
    /// When it began.
    pub began: u64,
    /// When the thread arrived at its end.
    pub arrived: u64,
    /// Time in each state.
    spent: [u64; STATES],
    /// Time in the runtime before the visit began.
    ahead: u64,
    /// Time in inner regions, which have segments of their own.
    pub inner: u64,
    /// Its time in the program's code, and that of it without a CPU, in nanoseconds, when it is over.
    pub busy_ns: u64,
    /// See `busy_ns`.
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
    work: Option<Work>,
    /// Its loop's schedule.
    schedule: u64,
}

impl Visit {
    /// A visit that begins at `now`.
    #[inline(always)]
    pub(super) fn new(site: usize, from: Sync, level: u32, now: u64) -> Self {
        Self {
            site,
            from,
            again: false,
            level,
            began: now,
            arrived: now,
            spent: [0; STATES],
            ahead: 0,
            inner: 0,
            busy_ns: 0,
            stolen_ns: 0,
            cpu: (0, 0),
            chunks: 0,
            iterations: 0,
            taken: 0,
            dealt: (0, 0, 1),
            work: None,
            schedule: 0,
        }
    }

    /// Another one begins in its place.
    #[inline(always)]
    pub(super) fn restart(&mut self, site: usize, from: Sync, level: u32, now: u64) {
        *self = Self::new(site, from, level, now);
    }

    /// `time` more in the state with number `state`.
    #[inline(always)]
    pub(super) fn spend(&mut self, state: u32, time: u64) {
        self.spent[state as usize % STATES] += time;
    }

    /// Time in the program's code.
    #[inline(always)]
    pub(super) fn busy(&self) -> u64 {
        self.spent[State::Busy as usize] + self.spent[State::Serial as usize]
    }

    /// Time in the runtime.
    #[inline(always)]
    pub(super) fn runtime(&self) -> u64 {
        self.spent[State::Runtime as usize]
    }

    /// Time waiting.
    #[inline(always)]
    pub(super) fn wait(&self) -> u64 {
        self.spent[State::Waiting as usize]
    }

    /// Of its waiting, `late` was none.
    pub(super) fn waits_less(&mut self, late: u64) {
        self.spent[State::Waiting as usize] -= late;
    }

    /// The region's making counts for its first visit.
    pub(super) fn made_in(&mut self, runtime: u64) {
        self.spend(State::Runtime as u32, runtime);
        self.ahead = runtime;
    }

    /// Looks at the CPU time of the calling thread, which is about to begin it.
    #[cold]
    pub(super) fn look_at_cpu(&mut self, thr: &Thread) {
        self.cpu = cpu(thr);
    }

    /// A rollback has struck it.
    #[cold]
    pub(super) fn is_lived_again(&mut self) {
        self.again = true;
        self.cpu.0 = 0;
    }

    /// The thread has done its work in it.
    #[inline]
    pub(super) fn is_over(&mut self, thr: &Thread) {
        self.busy_ns = clock::ns(self.busy());
        if self.cpu.0 != 0 {
            self.find_stolen(thr);
        }
    }

    /// How much of its busy time it had no CPU.
    #[cold]
    fn find_stolen(&mut self, thr: &Thread) {
        let (used, host) = cpu(thr);
        // Behind an inner region the two clocks would not be of the same time.
        if host != self.cpu.1 || self.inner != 0 {
            return;
        }
        let own = used.saturating_sub(self.cpu.0);
        let awake = clock::ns(self.busy() + self.runtime() - self.ahead);
        let stolen = awake.saturating_sub(own).min(self.busy_ns);
        self.stolen_ns = if stolen < READINGS_NS { 0 } else { stolen };
    }

    /// A construct begins in it.
    pub(super) fn begin_work(&mut self, work: Work, c: Construct, taken: u64, threads: u32) {
        self.work = Some(work);
        self.taken = taken;
        let kind = Sched::from_number(c.schedule.into());
        // In chunks of one size they can be counted; else they are taken for dealt out evenly.
        let differ = kind.and_then(|k| k.size(1, 1, 1, 1)).is_some();
        self.dealt = (c.total, if differ { 0 } else { c.chunk }, threads);
        if work == Work::Loop
            && let Some(kind) = kind
        {
            self.schedule = words::schedule_code(kind, c.chunk);
        }
    }

    /// It ends.
    pub(super) fn end_work(&mut self, taken: u64) {
        let (total, chunk, threads) = self.dealt;
        let chunks = taken.saturating_sub(self.taken);
        self.chunks += chunks;
        self.iterations += match chunk {
            0 => total / u64::from(threads.max(1)),
            _ => chunks.saturating_mul(chunk).min(total),
        };
    }

    /// What it adds to its segment's cell if it waits for `wait` more.
    pub(super) fn measured(&self, wait: u64) -> CellRead {
        CellRead {
            visits: 1,
            busy_ns: self.busy_ns - self.stolen_ns,
            wait_ns: clock::ns(self.wait() + wait),
            runtime_ns: clock::ns(self.runtime()),
            stolen_ns: self.stolen_ns,
            iterations: self.iterations,
            chunks: self.chunks,
            longest_ns: self.busy_ns,
        }
    }

    /// What its segment is.
    pub(super) fn describe(&self, row: &SegmentRow) {
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
