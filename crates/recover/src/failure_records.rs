//! Records of failures: for the message, the report and `promp_failures`.

use super::spec::Kind;
use crate::ckpt::{self, rollback_limits::NoProgress};
use crate::icv::{Globals, globals};
use crate::observe::event::{Event, Row, Set};
use crate::observe::{self, Listener, Told};
use crate::say;
use crate::sys::own::Own;
use crate::sys::{preserved_memory, time};
use core::fmt::Write;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

/// Iterations recomputed are counted by thread up to this number; those of higher ones together.
pub(crate) const BY: usize = 64;

/// How the program went on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Recovery {
    /// Rung 1: lost work was executed again.
    Recompute = 1,
    /// Rung 0: nothing was lost.
    Resume = 2,
    /// Rung 2: memory was put back to a checkpoint.
    Rollback = 3,
    /// The process was stopped.
    Refused = 5,
}

impl Recovery {
    /// The report's word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Recovery::Recompute => "recompute",
            Recovery::Resume => "resume",
            Recovery::Rollback => "rollback",
            Recovery::Refused => "refused",
        }
    }
}

/// Where a failure struck.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Logical thread number.
    pub thread: u32,
    /// Ordinal of the outermost region; 0 before the first.
    pub region: u64,
    /// "loop", "sections", "task", "region" or "serial".
    pub construct: &'static str,
    /// Which construct of the region, from 1; 0 if none.
    pub ordinal: u64,
    /// The chunk in flight, in the loop's own values.
    pub chunk: Option<(i64, i64)>,
    /// Iterations in it.
    pub iterations: u64,
}

/// One failure. Written by the failing host and then by those who recover.
pub struct Record {
    /// What happened.
    pub kind: Kind,
    /// Where.
    pub place: Place,
    /// Monotonic time of the failure (ns).
    pub at_ns: u64,
    /// How it was recovered.
    pub recovery: Own<Recovery>,
    /// Was the lost chunk given to survivors?
    pub shared: Own<bool>,
    /// Iterations not executed again yet.
    pub remaining: AtomicU64,
    /// Iterations executed again, by thread.
    pub by: [AtomicU64; BY],
    /// Time until everything was recovered (ns); 0: not yet.
    pub took_ns: AtomicU64,
    /// The checkpoint gone back to: its number, its region, nanoseconds of work lost.
    pub back_to: Own<(u64, u64, u64)>,
    /// Its number in the list.
    number: Own<u32>,
    closed: AtomicU32,
}

/// Most failures that are recorded; later ones share the last record.
const MOST: usize = 1 << 16;

/// The records. Zeroed memory is the empty list.
pub(crate) struct List {
    count: AtomicU32,
    /// Release store after the record is whole.
    records: [AtomicPtr<Record>; MOST],
}

/// The list of a process without checkpoints.
static LIST: List = List { count: AtomicU32::new(0), records: [const { AtomicPtr::new(null_mut()) }; MOST] };
/// That of one with them, in the kept region; the same before and after every rollback.
static KEPT: AtomicPtr<List> = AtomicPtr::new(null_mut());

/// From now on what is recorded outlives rollbacks. False if there is no memory.
pub(crate) fn keep() -> bool {
    let Some(p) = preserved_memory::pages(size_of::<List>()) else { return false };
    KEPT.store(p.cast(), Release);
    true
}

fn list() -> &'static List {
    // SAFETY: null, or memory of the kept region.
    let kept = unsafe { KEPT.load(Acquire).as_ref() };
    kept.filter(|_| preserved_memory::on()).unwrap_or(&LIST)
}

/// All records.
pub fn all() -> Vec<&'static Record> {
    let l = list();
    (0..(l.count.load(Acquire) as usize).min(MOST) as u32).map(get).collect()
}

/// Opens a record; returns its index.
pub(crate) fn open(kind: Kind, place: Place, recovery: Recovery) -> u32 {
    if recovery == Recovery::Refused {
        let _ = ckpt::take_end_back(); // what has failed is said
    }
    let r: &'static Record = preserved_memory::leak(Record {
        kind,
        place,
        at_ns: time::now_ns(),
        recovery: Own::new(recovery),
        shared: Own::new(false),
        remaining: AtomicU64::new(0),
        by: [const { AtomicU64::new(0) }; BY],
        took_ns: AtomicU64::new(0),
        back_to: Own::new((0, 0, 0)),
        number: Own::new(0),
        closed: AtomicU32::new(0),
    });
    let l = list();
    let i = (l.count.fetch_add(1, AcqRel) as usize).min(MOST - 1);
    r.number.set(i as u32);
    l.records[i].store(core::ptr::from_ref(r).cast_mut(), Release);
    observe::tell_of_nobody(Event::Failure { record: r.number.get() });
    i as u32
}

/// Record number `i`.
pub(crate) fn get(i: u32) -> &'static Record {
    loop {
        // SAFETY: null, or a record that is never freed.
        if let Some(r) = unsafe { list().records[i as usize].load(Acquire).as_ref() } {
            return r;
        }
        core::hint::spin_loop();
    }
}

/// Thread `by` has executed `n` lost iterations again.
pub(crate) fn credit(i: u32, by: u32, n: u64) {
    let r = get(i);
    r.by[(by as usize).min(BY - 1)].fetch_add(n, Relaxed);
    if r.remaining.fetch_sub(n, AcqRel) == n {
        close(r);
    }
}

/// `n` lost iterations of record `i` were lost again and now count for a later failure.
pub(crate) fn transfer(i: u32, n: u64) {
    let r = get(i);
    if r.remaining.fetch_sub(n, AcqRel) == n {
        close(r);
    }
}

/// Everything of this failure is recovered: notes the time and tells it, once.
pub(crate) fn close(r: &'static Record) {
    r.took_ns.store((time::now_ns() - r.at_ns).max(1), Release);
    if r.closed.swap(1, AcqRel) == 0 {
        observe::tell_of_nobody(Event::Recovery { record: r.number.get() });
    }
}

/// Memory was put back: what only a rollback could help, this one has. `back_to`: see [`Record::back_to`].
/// With `said` it is said where nobody is registered for that yet.
pub(crate) fn went_back(back_to: (u64, u64, u64), said: bool) {
    for r in all() {
        if r.recovery.get() == Recovery::Rollback && r.took_ns.load(Acquire) == 0 {
            r.back_to.set(back_to);
            close(r);
            if said && !SAID.load(Relaxed) {
                say!("{}", Text(r));
            }
        }
    }
}

/// Are recoveries said? As old as the memory that it lies in: not so after a rollback to a checkpoint that
/// was taken when the library was loaded, before the runtime's start.
static SAID: AtomicBool = AtomicBool::new(false);

/// Has recoveries said, one line each.
pub(crate) fn start(g: &Globals) {
    SAID.store(true, Relaxed);
    if g.promp.verbose >= 1 {
        let told = |t: &Told| {
            if let Event::Recovery { record } = *t.event {
                say!("{}", Text(get(record)));
            }
        };
        observe::register(Listener { wants: Set::of(&[Row::Recovery]), told });
    }
}

/// The start of every message about a failure.
fn head(f: &mut core::fmt::Formatter<'_>, kind: Kind, p: &Place) -> core::fmt::Result {
    write!(f, "thread {} failed ({}) in ", p.thread, kind.name())?;
    if p.construct == "serial" {
        return write!(f, "serial code after region {}", p.region);
    }
    write!(f, "region {}", p.region)?;
    if p.ordinal > 0 {
        write!(f, ", {} {}", p.construct, p.ordinal)?;
    } else if p.construct == "task" {
        f.write_str(", a task")?;
    } else if p.construct == "loop" {
        write!(f, ", a static loop, a share of {} iterations", p.iterations)?;
    }
    match p.chunk {
        Some((lo, hi)) => write!(f, ", chunk [{lo},{hi})"),
        None => Ok(()),
    }
}

struct Text(&'static Record);

impl core::fmt::Display for Text {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let r = self.0;
        head(f, r.kind, &r.place)?;
        let ms = r.took_ns.load(Relaxed) as f64 / 1e6;
        match r.recovery.get() {
            Recovery::Resume => write!(f, "; nothing was lost, it goes on on another host after {ms:.1} ms"),
            Recovery::Recompute if r.place.chunk.is_some() => {
                write!(f, "; {} iterations recomputed by ", r.place.iterations)?;
                let mut who: Vec<usize> = (0..BY).filter(|&i| r.by[i].load(Relaxed) > 0).collect();
                if who.is_empty() {
                    who.push(r.place.thread as usize);
                }
                f.write_str(if who.len() == 1 { "thread " } else { "threads " })?;
                for (k, i) in who.iter().enumerate() {
                    if k > 0 {
                        f.write_char(',')?;
                    }
                    write!(f, "{i}")?;
                }
                write!(f, " in {ms:.1} ms")
            }
            Recovery::Recompute => write!(
                f,
                "; its work since the last save point is repeated by thread {} on another host, after {ms:.1} ms",
                r.place.thread
            ),
            Recovery::Rollback => {
                let (number, region, lost) = r.back_to.get();
                write!(
                    f,
                    "; rolled back to checkpoint {number} (region {region}, {:.1} s of work) in {ms:.0} ms",
                    lost as f64 / 1e9
                )
            }
            Recovery::Refused => f.write_str("; stopping"),
        }
    }
}

/// Where it struck, as messages begin.
struct Head<'a>(Kind, &'a Place);

impl core::fmt::Display for Head<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        head(f, self.0, self.1)
    }
}

/// The refusal's message.
pub(crate) fn say_refused(kind: Kind, place: &Place, why: &str, advice: &str) {
    if globals().promp.verbose >= 1 {
        say!("{} in {why}, and no checkpoint to return to; stopping.\n       {advice}", Head(kind, place));
    }
}

/// Rollbacks do not help.
pub(crate) fn say_no_progress(kind: Kind, place: &Place, after: NoProgress) {
    if globals().promp.verbose >= 1 {
        let doing = match kind {
            Kind::Ended => "the system call, or the filter of system calls, that ends the thread",
            Kind::Hang => "a wait for what never comes, or PROMP_WATCHDOG is too short",
            _ => "its own error",
        };
        say!(
            "{} again after {after}, without progress: this is the program's own doing ({doing}); stopping",
            Head(kind, place)
        );
    }
}
