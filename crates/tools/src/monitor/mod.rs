//! The monitor: where threads wait for each other (PROMP_MONITOR; docs/internals/monitor.md; paper P5). It
//! listens to what happens to threads (observe/), adds up what they do between two synchronisations
//! (watch.rs) in tables of fixed size (live_tables.rs), and works out the report's figures at the end
//! (figures.rs).

mod clock;
mod figures;
mod live_tables;
mod origin;
mod record;
mod span_buffer;
mod visit;
mod watch;

use crate::observe::event::{Event, Pause, Row, Set, Sync};
use crate::observe::{self, Listener, OfTeam, Told, Word};
use crate::recover;
use crate::say;
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use crate::sys::time;
use crate::team::thread::{self, Thread};
use core::sync::atomic::Ordering::*;
use promp_report::live::Snapshot;
use promp_report::words::{self, State};
use span_buffer::Ring;
use watch::{TeamWatch, Watch};

/// The listener's place; written once.
static WORD: Own<Option<Word>> = Own::new(None);
/// PROMP_MONITOR=trace?
static TRACES: Own<bool> = Own::new(false);
static RINGS: Locked<Vec<&'static Ring>> = Locked::new(Vec::new());

/// So long the end waits for threads that wake at this very moment, and record what they did: beside others
/// each may wait for a CPU. (One that was killed there never does.)
const PATIENCE_NS: u64 = 2_000_000_000;

/// What it wants. Nothing of it happens in calls that have light ways.
const WANTS: Set = Set::of(&[
    Row::ThreadBegin,
    Row::ThreadEnd,
    Row::ParallelBegin,
    Row::ParallelEnd,
    Row::ImplicitBegin,
    Row::ImplicitEnd,
    Row::SyncArrive,
    Row::SyncLeave,
    Row::WorkBegin,
    Row::WorkEnd,
    Row::HelpBegin,
    Row::HelpEnd,
    Row::PauseBegin,
    Row::PauseEnd,
]);

/// Starts to measure if PROMP_MONITOR says so: which of its words.
pub(crate) fn start(mode: usize) {
    if mode == 0 {
        return;
    }
    clock::start();
    if !live_tables::start(is_shared()) {
        say!("PROMP_MONITOR: the system gives no memory for the tables; nothing is measured");
        return;
    }
    TRACES.set(mode == 2);
    WORD.set(observe::register(Listener { wants: WANTS, told }));
    recover::report::also(figures::fill);
    // SAFETY: handlers that live as long as the process.
    unsafe {
        libc::atexit(at_exit);
        libc::pthread_atfork(None, None, Some(after_fork));
    }
}

/// Can others read the tables while the program runs? Where memory goes back in rollbacks it is all the
/// process's own.
fn is_shared() -> bool {
    crate::ckpt::settings::asked().is_none()
}

extern "C" fn at_exit() {
    live_tables::end();
}

/// A child begins anew, in plain memory (many end by `_exit`, and would leave their files behind): the thread
/// that called fork goes on where it was.
extern "C" fn after_fork() {
    live_tables::after_fork();
    RINGS.raw().reset();
    RINGS.with(Vec::clear);
    if let Some(w) = thread::known().and_then(watch_of) {
        w.forget(live_tables::take_row().unwrap_or(0));
        w.ring.set(ring());
    }
}

/// The rings of all threads.
fn rings() -> Vec<&'static Ring> {
    RINGS.with(|r| r.clone())
}

fn ring() -> Option<&'static Ring> {
    if !TRACES.get() {
        return None;
    }
    let ring = Ring::new();
    RINGS.with(|r| r.push(ring));
    Some(ring)
}

/// What is known of a thread's time.
fn watch_of(thr: &'static Thread) -> Option<&'static Watch> {
    let at = thr.words.of(WORD.get()?).get() as *const Watch;
    // SAFETY: null, or set by `begin` to a `Watch`, which lives for ever.
    unsafe { at.as_ref() }
}

fn begin(thr: &'static Thread, worker: bool) {
    let Some(word) = WORD.get() else { return };
    match watch_of(thr) {
        Some(w) => w.move_to(live_tables::take_row().unwrap_or(0)),
        None => {
            let Some(w) = Watch::new(ring()) else { return };
            thr.words.of(word).set(core::ptr::from_ref(w).addr());
        }
    }
    let Some(w) = watch_of(thr) else { return };
    let now = w.look();
    if worker {
        w.enter(State::Idle);
        if live_tables::header().regions.load(Relaxed) <= 1 {
            // Before the first region was there its threads had nothing to do.
            w.last.store(clock::first(), Relaxed);
        }
    } else {
        let from = if live_tables::header().regions.load(Relaxed) == 0 { clock::first() } else { now };
        w.last.store(from, Relaxed);
        w.is_in(thr, thr.num(), 0);
        w.visit.change(|v| v.restart(0, words::Sync::Start, 0, from));
        w.begin(thr, from, State::Serial);
    }
}

fn team_watch(team: &'static OfTeam) -> Option<&'static TeamWatch> {
    let word = team.of(WORD.get()?);
    if word.get() == 0 {
        // By the thread that encounters the team's first region, before its members are there.
        word.set(core::ptr::from_ref::<TeamWatch>(Box::leak(Box::default())).addr());
    }
    // SAFETY: set above, to what lives for ever.
    unsafe { (word.get() as *const TeamWatch).as_ref() }
}

fn told(t: &Told) {
    let Some(thr) = t.thread.map(Thread::of) else { return };
    let Some(w) = watch_of(thr) else { return told_of_more(thr, None, t.event) };
    match *t.event {
        Event::SyncArrive { sync } => {
            if w.visit.peek().level > 0 && kind(sync).is_some() {
                w.arrive(thr);
            }
        }
        Event::SyncLeave { sync } => {
            let level = w.visit.peek().level;
            if let Some(to) = kind(sync)
                && level > 0
                && sync != Sync::Join
            {
                let site = thr.call_place();
                let now = w.leave(thr, thr.num(), site, to);
                w.visit.change(|v| v.restart(site, to, level, now));
                w.begin(thr, now, State::Busy);
            }
        }
        _ => told_of_more(thr, Some(w), t.event),
    }
}

/// [`told`] of what is rarer than synchronisations.
#[inline(never)]
fn told_of_more(thr: &'static Thread, w: Option<&'static Watch>, event: &Event) {
    if let Event::ThreadBegin { worker } = *event {
        return begin(thr, worker);
    }
    let Some(w) = w else { return };
    match *event {
        Event::ThreadEnd => {
            if w.visit.peek().level == 0 && State::Serial as u32 == w.state.load(Relaxed) {
                w.end_serial(thr, 0, words::Sync::Exit, 1);
            }
            w.enter(State::Free);
        }
        Event::ParallelBegin { team, size, level, function, .. } => {
            if let Some(tw) = team_watch(team) {
                let site = origin::of_region(thr.call_place(), function);
                region_begins(thr, (w, tw), size, (site, level));
            }
        }
        Event::ImplicitBegin { team } => {
            let Some(tw) = team_watch(team) else { return };
            if thr.num() != 0 {
                w.idle(tw.before.get().checked_sub(1));
            }
            w.begin_region(thr, tw);
        }
        Event::ImplicitEnd { team } => {
            if let Some(tw) = team_watch(team) {
                w.leave_region(thr, tw);
            }
        }
        Event::ParallelEnd { team } => {
            let level = thr.team().level.get();
            if level == 0 {
                live_tables::header().region_since_ns.store(0, Relaxed);
                w.leave_for_serial(thr, team_watch(team).map_or(0, |t| t.site.get()));
            } else {
                w.resume(thr, level);
            }
        }
        Event::WorkBegin { work, construct } => {
            let (taken, threads) = (thr.member().ledger.chunks(), thr.team().size());
            w.visit.change(|v| v.begin_work(work, construct, taken, threads));
        }
        Event::WorkEnd { .. } => w.visit.change(|v| v.end_work(thr.member().ledger.chunks())),
        Event::HelpBegin => w.within(State::Busy),
        Event::PauseBegin { pause: Pause::Lock { .. } } => w.within(State::Runtime),
        Event::PauseBegin { .. } => w.within(State::Waiting),
        Event::HelpEnd | Event::PauseEnd { .. } => w.back(),
        _ => {}
    }
}

/// A region of `size` threads begins at `site`, so many levels deep.
fn region_begins(
    thr: &'static Thread,
    (w, tw): (&'static Watch, &'static TeamWatch),
    size: u32,
    (site, level): (usize, u32),
) {
    let before = if level == 1 {
        let before = w.end_serial(thr, site, words::Sync::Region, size);
        live_tables::region_begins(clock::monotonic_ns(w.last.load(Relaxed)), size);
        w.enter_region();
        before
    } else {
        w.suspend();
        None
    };
    if tw.size.get() != size {
        tw.size.set(size);
        tw.part.set((1 << 32) / u64::from(size.max(1)));
    }
    tw.before.set(before.map_or(0, |s| s + 1));
    tw.site.set(site);
    tw.level.set(level);
    tw.regions.store(tw.regions.load(Relaxed) + 1, Relaxed);
}

/// Team synchronisations, by the words of the report.
fn kind(sync: Sync) -> Option<words::Sync> {
    match sync {
        Sync::Barrier => Some(words::Sync::Barrier),
        Sync::Work | Sync::Copy => Some(words::Sync::ConstructEnd),
        Sync::Join => Some(words::Sync::RegionEnd),
        Sync::Taskwait | Sync::Taskgroup => None,
    }
}

/// The tables at the end, and the time up to which they are complete, on the monotonic clock: with what the
/// threads have not recorded yet, which is the caller's serial code, and what others did before they fell
/// asleep.
fn at_the_end() -> Option<(u64, Snapshot)> {
    let me = thread::known();
    let mut end = clock::stamp();
    if let Some((thr, w)) = me.and_then(|thr| Some((thr, watch_of(thr)?)))
        && w.state.load(Relaxed) == State::Serial as u32
    {
        let size = live_tables::header().team.load(Relaxed).max(1) as u32;
        w.end_serial(thr, 0, words::Sync::Exit, size);
        end = w.last.load(Relaxed);
        w.visit.change(|v| v.restart(0, words::Sync::Exit, 0, end));
    }
    let is_me = |t: &Thread| me.is_some_and(|m| core::ptr::eq(m, t));
    let others: Vec<&Watch> =
        crate::team::registry::threads().into_iter().filter(|t| !is_me(t)).filter_map(watch_of).collect();
    let leaving = || others.iter().map(|w| w.leaving.now()).collect::<Vec<u32>>();
    let since = time::now_ns();
    loop {
        let before = leaving();
        let asleep: Vec<_> = others.iter().map(|w| w.unrecorded(end)).collect();
        let mut shot = live_tables::snapshot()?;
        let is_still: Vec<_> = before.iter().zip(leaving()).map(|(b, now)| b % 2 == 0 && *b == now).collect();
        if is_still.iter().all(|is| *is) || time::now_ns() - since > PATIENCE_NS {
            // Who has not stood still is recording that itself.
            for u in asleep.into_iter().zip(is_still).filter(|(_, is)| *is).flat_map(|(all, _)| all) {
                let row = shot.cells.get_mut(u.row as usize);
                if let Some(c) = row.and_then(|c| c.get_mut(u.segment as usize)) {
                    c.add(&u.cell);
                }
            }
            return Some((clock::monotonic_ns(end), shot));
        }
        std::thread::yield_now();
    }
}
