//! Fault injection: PROMP_FAULT at exact points, repeatably. It listens to the events (observe/) that are
//! points.
//!
//! A fault without delay strikes where the point is reached: the thread is in the runtime, so it stops when
//! the call returns, with nothing in flight. One with a delay, or with `mtbf`, is sent by the agent,
//! asynchronously.

use super::spec::{At, Fault, Kind, Loses, POINTS, Sent};
use super::{agent, library_calls, thread_state};
use crate::ckpt;
use crate::ckpt::image::state::FAULTS;
use crate::ckpt::syscall_restart::Due;
use crate::icv::Globals;
use crate::observe::event::{Event, Mutex, Row, Set, Sync, Work};
use crate::observe::{self, Listener, Told};
use crate::say;
use crate::sys::own::Own;
use crate::sys::random;
use crate::sys::signals::{stop_signal, value_of};
use crate::sys::syscall::{getpid, tgqueue};
use crate::team::region;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

/// How often each fault has struck.
static STRUCK: Own<Option<&'static [AtomicU64]>> = Own::new(None);

/// A thread's part of the injection.
pub(crate) struct PerThread {
    /// It is in a hang that was injected.
    hanging: AtomicBool,
    /// It hangs, and nobody has injected that.
    hangs_by_itself: AtomicBool,
    /// The watchdog lets a hung thread go on to fail.
    fence: AtomicU32,
    /// The region the counts are of, and how often each point was reached in it.
    region: Own<u64>,
    counts: Own<[u64; POINTS]>,
    /// Crashes, since so many save points were passed.
    crashes: Own<(u64, u32)>,
    /// A hang came in serial code, where no team could notice it: it waits for the next region, and for a
    /// rollback no longer. The epoch in which it came.
    late_hang: Own<Option<u32>>,
    /// A stop that waits for a library's function to return.
    pub library: library_calls::Waiting,
    /// When a wait ends that a stop has interrupted which has to wait.
    pub due: Due,
}

impl PerThread {
    /// Is it in an injected hang?
    pub(crate) fn hanging(&self) -> &AtomicBool {
        &self.hanging
    }
    /// Was it found to hang without an injected hang? Until it has failed of that.
    pub(crate) fn hangs_by_itself(&self) -> &AtomicBool {
        &self.hangs_by_itself
    }
    /// Where a hung thread waits.
    pub(crate) fn fence(&self) -> &AtomicU32 {
        &self.fence
    }
    /// A hang in serial code takes effect in the thread's next region: nobody waits for a thread outside one,
    /// so nothing could tell it from long work.
    pub(crate) fn defer_hang(&self) {
        self.late_hang.set(Some(ckpt::epoch()));
    }
}

/// That of `thr`.
#[inline(always)]
pub(crate) fn state(thr: &'static Thread) -> &'static PerThread {
    &thread_state::of(thr).inject
}

/// One more crash of `thr` since its last save point.
pub(crate) fn count_crash(thr: &'static Thread) -> u32 {
    let (crashes, passed) = (&state(thr).crashes, thr.save.passed.get());
    let (at, n) = crashes.get();
    let n = if at == passed { n + 1 } else { 1 };
    crashes.set((passed, n));
    n
}

fn faults() -> &'static [Fault] {
    &super::settings::get().faults
}

/// Prepares the faults of the settings.
pub(crate) fn start(g: &'static Globals) {
    if faults().is_empty() && g.promp.watchdog_ns.is_none() {
        return;
    }
    super::stop::install_stop_signal();
    // With checkpoints, the counts outlive rollbacks and the process.
    let n = faults().len();
    STRUCK.set(Some(match ckpt::keep::if_on() {
        Some(_) if n <= FAULTS.len() => &ckpt::state()[FAULTS][..n],
        _ => Box::leak(faults().iter().map(|_| AtomicU64::new(0)).collect()),
    }));
    if !faults().is_empty() {
        observe::register(Listener { wants: POINTS_TOLD, told });
    }
    let hang = |f: &Fault| f.kind.loses() == Loses::Progress;
    if g.promp.watchdog_ns.is_none() && faults().iter().any(hang) && g.promp.verbose >= 1 {
        say!("PROMP_FAULT asks for a hang and PROMP_WATCHDOG is off: nothing will notice it");
    }
}

/// In a child after fork: its strikes do not count as the parent's.
pub(crate) fn after_fork() {
    if let Some(struck) = STRUCK.get() {
        STRUCK.set(Some(Box::leak(struck.iter().map(|n| AtomicU64::new(n.load(Relaxed))).collect())));
    }
}

/// Faults that have not struck as often as they should.
pub(crate) fn not_fired() -> u64 {
    let struck = STRUCK.get().unwrap_or(&[]);
    faults().iter().zip(struck).filter(|(f, n)| n.load(Relaxed) < f.count).count() as u64
}

/// The events that are points, and the end of a member's part of a region.
const POINTS_TOLD: Set = Set::of(&[
    Row::Chunk,
    Row::SyncArrive,
    Row::SyncLeave,
    Row::Single,
    Row::LockGot,
    Row::TaskBegin,
    Row::ImplicitBegin,
    Row::ParallelEnd,
]);

fn told(t: &Told) {
    let Some(thr) = t.thread.map(Thread::of) else { return };
    let at = match *t.event {
        Event::Chunk { work: Work::Sections, .. } => At::Sections,
        Event::Chunk { .. } => At::Chunk,
        Event::SyncArrive { sync: Sync::Join } => return last_chance(thr),
        Event::SyncLeave { sync: Sync::Barrier | Sync::Work | Sync::Copy } => At::Barrier,
        Event::Single { executes: true } => At::Single,
        Event::LockGot { mutex: Mutex::Ordered, .. } => At::Ordered,
        Event::LockGot { .. } => At::Critical,
        Event::TaskBegin { .. } => At::Task,
        Event::ImplicitBegin { .. } => At::Region,
        Event::ParallelEnd { .. } if thr.team().level.get() == 0 => At::Serial,
        _ => return,
    };
    reached(thr, at);
}

/// Takes one of fault `i`'s strikes, if any is left.
fn claim(i: usize, f: &Fault) -> bool {
    let n = &STRUCK.get().unwrap_or(&[])[i];
    n.fetch_update(Relaxed, Relaxed, |n| (n < f.count).then_some(n + 1)).is_ok()
}

/// Strike `i` of fault `f` was announced but did not happen.
pub(crate) fn unclaim(i: usize) {
    STRUCK.get().unwrap_or(&[])[i].fetch_sub(1, Relaxed);
}

/// How often fault `i` has struck, in former processes of the run, too.
pub(crate) fn struck(i: usize) -> u64 {
    STRUCK.get().and_then(|all| all.get(i)).map_or(0, |n| n.load(Relaxed))
}

/// Claims one strike for the agent.
pub(crate) fn claim_random(i: usize) -> bool {
    claim(i, &faults()[i])
}

/// Does fault `f` choose this thread? `any` is a seeded choice a region, where every thread reaches the
/// point; at points that one thread reaches, it is that one.
fn chooses(f: &Fault, thr: &'static Thread, region: u64, at: At) -> bool {
    match f.thread {
        Some(t) => t == thr.num(),
        None if matches!(
            at,
            At::Single | At::Critical | At::Ordered | At::Sections | At::Task | At::Serial
        ) =>
        {
            true
        }
        None => {
            random::mix(f.seed.wrapping_mul(0x9E37).wrapping_add(region)) % u64::from(thr.team().size())
                == u64::from(thr.num())
        }
    }
}

fn reached(thr: &'static Thread, at: At) {
    let region = if at == At::Serial { region::count() } else { thr.team().primary.region.get() };
    if thr.team().level.get() == 0 && at != At::Serial {
        return;
    }
    let p = state(thr);
    let late = p.late_hang.get();
    if at == At::Region && late.is_some() {
        p.late_hang.set(None);
    }
    if at == At::Region && late == Some(ckpt::epoch()) {
        thr.pending.store(Kind::Hang as u32, Relaxed);
    }
    let mut counts = if p.region.get() == region { p.counts.get() } else { [0; POINTS] };
    counts[at as usize] += 1;
    p.region.set(region);
    p.counts.set(counts);
    for (i, f) in faults().iter().enumerate() {
        if f.mtbf_ns.is_some() || f.region.is_some_and(|r| r != region) || !chooses(f, thr, region, at) {
            continue;
        }
        let by_default = f.at.is_none();
        if by_default && at == At::Chunk && counts[at as usize] == 1 {
            // The region does hand out chunks: a strike that was set for a region without is taken back.
            agent::disarm(thr, i);
        }
        let nth = counts[at as usize] == f.nth;
        if by_default && at == At::Region && f.nth == 1 && f.delay_ns > 0 && claim(i, f) {
            agent::arm(thr, i, f.kind, f.delay_ns, true);
        } else if nth && f.at.unwrap_or(At::Chunk) == at && claim(i, f) {
            strike(thr, i, f);
        }
    }
}

/// Default faults of a region that has handed out no chunk to this thread strike at its end.
fn last_chance(thr: &'static Thread) {
    let region = thr.team().primary.region.get();
    let counts = state(thr).counts.get();
    if state(thr).region.get() != region || counts[At::Chunk as usize] > 0 {
        return;
    }
    for (i, f) in faults().iter().enumerate() {
        let here = f.region.is_none_or(|r| r == region) && chooses(f, thr, region, At::Region);
        if f.mtbf_ns.is_none() && f.at.is_none() && f.nth == 1 && f.delay_ns == 0 && here && claim(i, f) {
            strike(thr, i, f);
        }
    }
}

fn strike(thr: &'static Thread, i: usize, f: &Fault) {
    if f.delay_ns > 0 {
        agent::arm(thr, i, f.kind, f.delay_ns, false);
    } else if f.kind.sent() == Sent::Process {
        die();
    } else {
        thr.pending.store(f.kind as u32, Relaxed);
    }
}

/// SIGKILL to the whole process.
pub(crate) fn die() {
    // SAFETY: no pointers.
    unsafe { crate::sys!(libc::SYS_kill, getpid(), libc::SIGKILL) };
}

/// Marks the values of the signals that are stops.
const MARK: u64 = 0x7072_6f6d << 32;

/// Sends a stop of the given kind to the host under `thr`. The signal carries the kind: several can be under
/// way at once.
pub fn send(thr: &'static Thread, kind: Kind) {
    let sig = match kind.sent() {
        Sent::Process => return die(),
        Sent::Signal(sig) => sig,
        Sent::Stop | Sent::Never => stop_signal(),
    };
    tgqueue(thr.host.load(Relaxed), sig, MARK | kind as u64);
}

/// The kind of stop that a signal stands for; `None` if it is not one of ours.
///
/// # Safety
/// `info` is the pointer the kernel gave the handler.
pub(crate) unsafe fn sent(info: *const libc::siginfo_t) -> Option<Kind> {
    // SAFETY: by the caller's promise.
    let value = unsafe { value_of(info) }?;
    if value >> 32 == MARK >> 32 { Kind::from_u32(value as u32) } else { None }
}
