//! PROMP_SDC=chunks:P%: silent errors of CPUs, found in the user's own job by sampling.
//!
//! A share P of the chunks of loops and sections is executed again, by the same logical thread on another
//! CPU or, where the way there would take too long, on the same one ([`Check::goes_away`]), and both results
//! are compared: what the chunk has written, as far as others can see it, and the thread's private state.
//! Where they differ, further executions on further CPUs say which CPU was wrong (judge.rs).
//! It is named, and nobody of the process runs on it any more (sys/left.rs).
//!
//! Executing a chunk again is what recovery does, too, with the same conditions (policy.rs), the same saved
//! state (save.rs) and the same old values (undo.rs); only that nothing has failed. What a chunk writes is
//! known if promp-cc has built it with -fpromp-sdc (written.rs). Any other chunk is executed once, and its
//! loop is reported as unverified.
//!
//! States of a thread's check: idle → (chunk taken: [`chunk_begins`]) watched → (next chunk wanted:
//! [`chunk_ends`]) idle, or, for one more execution, watched again. A stop in between gives it up
//! ([`abandon`]). The mark in the ledger says that a check is under way; nothing is looked at without it.

mod inject;
pub mod judge;
pub mod report;
pub mod written;

use super::save::SaveKind;
use super::{policy, tables};
use crate::icv::devices::{MILLION, Mode};
use crate::icv::{Globals, globals};
use crate::say;
use crate::sys::own::Own;
use crate::sys::random::Random;
use crate::sys::syscall::{self, CpuSet};
use crate::sys::time::now_ns;
use crate::sys::{asm, left, signals};
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use judge::{Judgement, MOST_RUNS, Run, judge};
use report::Kind;
use written::Written;

/// Millionths of the chunks that are verified; 0: off.
static SHARE: AtomicU32 = AtomicU32::new(0);
/// Chunks that are verified out of turn, since an error was seen of which nobody knows where.
static ALERT: AtomicU32 = AtomicU32::new(0);
/// So many: a CPU that errs in one of 10,000 executions does so in them, as good as certainly.
const ALERTED: u32 = 50_000;
/// What the way to another CPU and back takes (ns), until it is known.
const WAY_NS: u64 = 50_000;

/// A thread's check.
pub struct Check {
    /// Is the chunk in flight watched? What it writes is noted then.
    watched: Own<bool>,
    /// It is executed again, and not only hit by an injected error.
    sampled: Own<bool>,
    /// What it has written.
    written: Written,
    runs: Own<[Run; MOST_RUNS]>,
    count: Own<usize>,
    /// The CPU that the execution under way began on.
    cpu: Own<u32>,
    began_ns: Own<u64>,
    /// What its first execution took.
    first_ns: Own<u64>,
    /// The executions after the first one are on other CPUs.
    away: Own<bool>,
    /// When the thread took its first chunk, and what its checks have taken since.
    since_ns: Own<u64>,
    spent_ns: Own<u64>,
    /// ... those on other CPUs among them.
    away_ns: Own<u64>,
    /// What the way to another CPU and back takes, as a moving mean.
    way_ns: Own<u64>,
    /// Chunks until one is chosen, with it.
    gap: Own<u64>,
    /// Chunks handed out. Written by its thread, read by the report (Relaxed).
    seen: AtomicU64,
    /// Where the host could run before it was sent to another CPU.
    mask: Own<Option<&'static CpuSet>>,
    random: Own<Random>,
    /// The segment that could not be verified when this was looked at last.
    refused: Own<usize>,
}

/// Prepares what the settings ask for.
pub fn start(g: &'static Globals) {
    let Mode::Chunks(share) = g.promp.devices.sdc else {
        if g.promp.silent.iter().any(|f| f.chunk) && g.promp.verbose >= 1 {
            say!("the silent errors of chunks in PROMP_FAULT are ignored: they need PROMP_SDC=chunks:P%");
        }
        return;
    };
    if left::usable().len() < 2 {
        say!("PROMP_SDC=chunks compares CPUs, and the process may use only one; stopping");
        syscall::exit_group(64);
    }
    inject::start(&g.promp.silent);
    SHARE.store(share, Relaxed);
    report::start();
}

/// A chunk has been taken; the call that handed it out is a save point of the kind `kind`.
#[inline(always)]
pub fn chunk_begins(thr: &'static Thread, kind: SaveKind) {
    if SHARE.load(Relaxed) != 0 && matches!(kind, SaveKind::Next(..) | SaveKind::Section) {
        begin(thr);
    }
}

fn check_of(thr: &'static Thread) -> &'static Check {
    if let Some(c) = thr.check.get() {
        return c;
    }
    let c: &'static Check = Box::leak(Box::new(Check {
        watched: Own::new(false),
        sampled: Own::new(false),
        written: Written::new(),
        runs: Own::new([Run::default(); MOST_RUNS]),
        count: Own::new(0),
        cpu: Own::new(0),
        began_ns: Own::new(0),
        first_ns: Own::new(0),
        away: Own::new(true),
        since_ns: Own::new(now_ns()),
        spent_ns: Own::new(0),
        away_ns: Own::new(0),
        way_ns: Own::new(WAY_NS),
        gap: Own::new(0),
        seen: AtomicU64::new(0),
        mask: Own::new(None),
        random: Own::new(Random::new(core::ptr::from_ref(thr).addr() as u64 ^ now_ns())),
        refused: Own::new(0),
    }));
    c.draw();
    report::watch(c);
    thr.check.set(Some(c));
    c
}

impl Check {
    fn below(&self, n: u64) -> u64 {
        let mut random = self.random.get();
        let below = random.below(n);
        self.random.set(random);
        below
    }

    /// Draws how many chunks it is until the next one that is verified: as if each were asked with the
    /// probability of the share, without drawing each time.
    fn draw(&self) {
        let mut random = self.random.get();
        self.gap.set(random.trials(f64::from(SHARE.load(Relaxed)) / MILLION as f64));
        self.random.set(random);
    }

    /// A chunk is handed out: is it one of those to be verified?
    #[inline]
    fn is_next(&self) -> bool {
        self.seen.store(self.seen.load(Relaxed) + 1, Relaxed);
        let gap = self.gap.get() - 1;
        self.gap.set(gap);
        gap == 0
    }

    /// What checks may have taken by now, of the time of the thread. 100 %: whatever they take.
    fn allowed_ns(&self, share: u32) -> u64 {
        if u64::from(share) >= MILLION {
            return u64::MAX;
        }
        ((now_ns() - self.since_ns.get()) as f64 * f64::from(share) / MILLION as f64) as u64
    }

    /// Is the chunk in flight, which has been executed once, to be executed on another CPU? What goes wrong
    /// now and then shows on the same one as well, and the way to another takes longer than a small chunk.
    /// So half of the time is for chunks on other CPUs, whatever the way takes; those that are longer than
    /// the way always go.
    fn goes_away(&self) -> bool {
        let allowed = self.allowed_ns(SHARE.load(Relaxed));
        self.first_ns.get() >= self.way_ns.get() || self.away_ns.get() <= allowed / 2
    }

    /// A check is over that has taken `ns`, without the first execution.
    fn took(&self, ns: u64, runs: usize) {
        self.spent_ns.set(self.spent_ns.get() + ns);
        if self.away.get() {
            self.away_ns.set(self.away_ns.get() + ns);
            if runs == 2 {
                let way = ns.saturating_sub(self.first_ns.get());
                self.way_ns.set((7 * self.way_ns.get() + way) / 8);
            }
        }
    }

    fn watch(&self) {
        self.written.clear();
        self.watched.set(true);
        self.cpu.set(syscall::cpu());
    }
}

#[inline(never)]
fn begin(thr: &'static Thread) {
    let c = check_of(thr);
    c.watched.set(false);
    let next = c.is_next();
    if next || ALERT.load(Relaxed) != 0 || inject::any() {
        chosen(thr, c, next);
    }
}

/// A chunk that has just been taken is watched: it is to be verified (`next`), or for other reasons.
#[cold]
#[inline(never)]
fn chosen(thr: &'static Thread, c: &'static Check, next: bool) {
    let mut sampled = false;
    if next {
        c.draw();
        sampled = c.spent_ns.get() <= c.allowed_ns(SHARE.load(Relaxed));
    }
    let alerted = !sampled && ALERT.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok();
    sampled |= alerted;
    if !sampled && !inject::any() {
        return;
    }
    let here = thr.save.current().and_then(super::save::Slot::resumes_at).unwrap_or(0);
    if let Err(why) = may_repeat(thr) {
        if c.refused.get() != here {
            c.refused.set(here);
            report::unverified(here, why);
        }
        return;
    }
    c.sampled.set(sampled);
    c.away.set(!alerted);
    c.count.set(0);
    c.began_ns.set(now_ns());
    thr.member().ledger.watch(true);
    c.watch();
}

/// May the chunk be executed again, and is it known what it writes?
fn may_repeat(thr: &'static Thread) -> Result<(), &'static str> {
    let save = policy::may_repeat(thr).map_err(|r| r.why)?;
    let m = thr.member();
    let Some(s) = m.share.get() else { return Err("no worksharing construct") };
    if s.shape.peek().ordered || s.doacross().is_some() {
        return Err("iterations that wait for those before them");
    }
    if globals().cancellation {
        return Err("cancellation (OMP_CANCELLATION)");
    }
    match save.resumes_at().and_then(tables::behind_call) {
        None => Err("not built by promp-cc"),
        Some(e) if !e.told => {
            Err("its code does not say what it writes (promp-cc -fpromp-sdc -fpromp-report tells why)")
        }
        Some(_) => Ok(()),
    }
}

/// The watched chunk in flight is done. Returns when its result stands; else the chunk is executed again,
/// and this call with all that is around it never returns.
#[cold]
#[inline(never)]
pub fn chunk_ends(thr: &'static Thread) {
    let m = thr.member();
    m.ledger.watch(false);
    let Some(c) = thr.check.get() else { return };
    if !c.watched.get() {
        return;
    }
    c.watched.set(false);
    let first = c.count.get() == 0;
    let cpu = Some(syscall::cpu()).filter(|&cpu| cpu == c.cpu.get());
    if !is_whole(thr, c) {
        report::count(Kind::Lost);
        back_home(c);
        return;
    }
    inject::strike(&c.written, first, c.cpu.get());
    if !c.sampled.get() {
        return;
    }
    let run = Run { cpu, memory: c.written.hash(), private: private(thr) };
    let (mut runs, n) = (c.runs.get(), c.count.get() + 1);
    runs[n - 1] = run;
    c.runs.set(runs);
    c.count.set(n);
    if first {
        let now = now_ns();
        c.first_ns.set(now - c.began_ns.get());
        report::took(&report::FIRST_NS, c.first_ns.get());
        c.began_ns.set(now);
        if !c.away.get() || !c.goes_away() {
            c.away.set(false);
            repeat(thr, c);
        }
    }
    // On the same CPU twice: that they agree is all that was asked.
    let here = n == 2 && !c.away.get();
    match judge(&runs[..n], here || left::is_single()) {
        Judgement::Again if n < MOST_RUNS => {
            c.away.set(true);
            if let Some(to) = judge::choose(&runs[..n], &left::usable(), c.below(1 << 32)) {
                again(thr, c, to);
            }
            back_home(c);
        }
        Judgement::Again => never_twice(thr, n),
        Judgement::Agreed { wrong } => {
            back_home(c);
            let took = now_ns() - c.began_ns.get();
            report::took(&report::AGAIN_NS, took);
            c.took(took, n);
            report::count(Kind::Verified);
            if n > 2 {
                found(thr, &runs[..n], &wrong);
            }
        }
    }
}

/// Is what is known of the chunk complete: was its beginning the last save point, and all that it has
/// written noted? And can the saved state be put back under the feet of this call: does it not reach to
/// where its frames are?
fn is_whole(thr: &'static Thread, c: &Check) -> bool {
    let Some(save) = thr.save.current() else { return false };
    matches!(save.kind.get(), SaveKind::Next(..) | SaveKind::Section)
        && thr.held.get() == 0
        && thr.frame.get() <= save.frame.get()
        && !c.written.is_lost()
        && thr.undo.lost() == 0
}

/// The private state at the end of the chunk: the saved registers, and the stack above them.
fn private(thr: &'static Thread) -> u64 {
    let (frame, base) = (thr.frame.get(), thr.base.load(Relaxed));
    let save = thr.save.current().map_or(frame, |s| s.frame.get());
    let mut h = written::Hash::of_nothing();
    // SAFETY: the frame of the current call, and the activation's stack from the frame of the chunk's
    // beginning to its base: this thread's own. The first word of a frame is padding.
    unsafe {
        h.add(frame + 8, asm::FRAME_BYTES - 8);
        h.add(save + asm::FRAME_TOTAL, base.saturating_sub(save + asm::FRAME_TOTAL));
    }
    h.value()
}

/// Executes the chunk again, on `cpu`.
fn again(thr: &'static Thread, c: &'static Check, cpu: u32) -> ! {
    if c.mask.get().is_none() {
        let now = CpuSet::of_host(0).unwrap_or_else(|| CpuSet::of(&left::usable()));
        c.mask.set(Some(Box::leak(Box::new(now))));
    }
    CpuSet::of(&[cpu]).apply(0);
    repeat(thr, c)
}

/// Executes the chunk again, wherever its thread is.
fn repeat(thr: &'static Thread, c: &'static Check) -> ! {
    let mask = signals::block_all();
    thr.member().ledger.watch_again();
    c.watch();
    let save = thr.save.current().expect("looked at by is_whole");
    // SAFETY: the chunk is done and its thread is here, so nobody executes it. What is put back of the stack
    // lies above all frames of this call (is_whole), and the host is that of the thread.
    unsafe {
        thr.undo.put_back();
        save.restore();
        save.fp.get().load();
        asm::promp_repeat(save.frame.get(), core::ptr::from_ref(thr).addr(), mask)
    }
}

/// Lets the host run where it could before.
fn back_home(c: &Check) {
    if let Some(mask) = c.mask.get() {
        c.mask.set(None);
        mask.apply(0);
        // SAFETY: leaked in `again`, and nobody refers to it any more.
        drop(unsafe { Box::from_raw(core::ptr::from_ref(mask).cast_mut()) });
    }
}

/// The thread has failed, and its chunk goes another way. Called on its new host.
pub fn abandon(thr: &'static Thread) {
    if let Some(c) = thr.check.get() {
        c.watched.set(false);
        thr.member().ledger.watch(false);
        back_home(c);
    }
}

/// Notes what the chunk in flight is about to write.
#[inline(always)]
pub fn wrote(thr: &'static Thread, grid: super::undo::Grid) {
    if let Some(c) = thr.check.get()
        && c.watched.get()
    {
        c.written.note(grid);
    }
}

/// Is the chunk in flight watched?
pub fn is_watched(thr: &'static Thread) -> bool {
    thr.check.get().is_some_and(|c| c.watched.get())
}

/// Are chunks verified at all?
pub fn is_on() -> bool {
    SHARE.load(Relaxed) != 0
}

fn never_twice(thr: &'static Thread, n: usize) -> ! {
    say!(
        "{}: {n} executions on different CPUs never gave a result that two of them agree on: a CPU is \
         broken for good and there are too few others to say which, or the chunk is not repeatable; stopping",
        report::chunk(thr)
    );
    syscall::exit_group(70)
}

fn found(thr: &'static Thread, runs: &[Run], wrong: &[u32]) {
    report::count(Kind::Found);
    // What lies in unused places of the stack can come from before the chunk: that accuses nobody.
    let wrong = if judge::in_memory(runs) { wrong } else { &[] };
    let names: Vec<String> = wrong.iter().map(|c| format!("CPU {c}")).collect();
    let left: Vec<bool> = wrong.iter().map(|&c| left::leave(c)).collect();
    wrong.iter().for_each(|&c| report::accuse(c));
    if judge::in_memory(runs) && !left::is_single() {
        // It was somewhere: who errs now and then is found soon if every chunk is looked at.
        ALERT.store(if wrong.is_empty() { ALERTED } else { 0 }, Relaxed);
    }
    if globals().promp.verbose >= 1 {
        let who = if names.is_empty() { "which CPU was wrong is not known".into() } else { names.join(", ") };
        let end = match left.iter().all(|&l| l) {
            _ if names.is_empty() => "",
            true => " was wrong and is not used any more",
            false => " was wrong, but there is no other",
        };
        say!(
            "silent error in {}: {} executions gave different results; repaired; {who}{end}",
            report::chunk(thr),
            runs.len()
        );
    }
}
