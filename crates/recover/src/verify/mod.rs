//! PROMP_SDC=chunks:P%: silent errors of CPUs, found in the user's own job by sampling.
//!
//! A share P of the chunks of loops and sections is executed again, by the same logical thread on another
//! CPU or, where the way there would take too long, on the same one (chunk_selection.rs), and both results
//! are compared: what the chunk has written, as far as others can see it, and the thread's private state.
//! Where they differ, further executions on further CPUs say which CPU was wrong (judge.rs). It is named, and
//! nobody of the process runs on it any more (sys/kernel/retired_cpus.rs).
//!
//! Executing a chunk again is what recovery does, too, with the same conditions (policy.rs), the same saved
//! state (crates/omp/src/save) and the same old values (crates/undo); only that nothing has failed. What a
//! chunk writes is known if promp-cc has built it with -fpromp-sdc (write_set.rs). Any other chunk is
//! executed once, and its loop is reported as unverified.
//!
//! States of a thread's check: idle → (chunk taken: [`chunk_begins`]) watched → (next chunk wanted:
//! [`chunk_ends`]) idle, or, for one more execution, watched again. A stop in between gives it up
//! ([`abandon`]). The mark in the ledger says that a check is under way; nothing is looked at without it.

mod chunk_bit_flips;
pub mod chunk_counts;
mod chunk_selection;
pub(crate) mod judge;
pub(crate) mod write_set;

use super::{policy, thread_state};
use crate::icv::devices::Mode;
use crate::icv::{Globals, globals};
use crate::proofs::segment_tables;
use crate::save::{self, SaveKind, sample};
use crate::say;
use crate::sys::own::Own;
use crate::sys::random::Random;
use crate::sys::syscall::{self, CpuSet};
use crate::sys::time::now_ns;
use crate::sys::{asm, retired_cpus, signals};
use crate::team::member::Member;
use crate::team::thread::Thread;
use chunk_counts::Kind;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use judge::{Judgement, MOST_RUNS, Run, judge};
use write_set::Written;

/// Chunks that are verified out of turn, since an error was seen of which nobody knows where.
static ALERT: AtomicU32 = AtomicU32::new(0);
/// So many: a CPU that errs in one of 10,000 executions does so in them, as good as certainly.
const ALERTED: u32 = 50_000;

/// A thread's check.
pub(crate) struct Check {
    /// It is executed again, and not only hit by an injected error.
    sampled: Own<bool>,
    /// What it has written.
    written: Written,
    runs: Own<[Run; MOST_RUNS]>,
    count: Own<usize>,
    /// The CPU that the execution under way began on.
    cpu: Own<u32>,
    /// When the first execution began, then when it was over.
    began_ns: Own<u64>,
    /// What it took.
    first_ns: Own<u64>,
    /// What was waited before the second one, until its CPU was free.
    waited_ns: Own<u64>,
    /// Are the executions after the first one on other CPUs?
    away: Own<Away>,
    /// The chunk's name.
    name: Own<u64>,
    /// The construct of the chunk that was taken last, and how many were taken there before it.
    construct: Own<(usize, u64, u64)>,
    ordinal: Own<u64>,
    /// Chunks handed out. Written by its thread, read by the report (Relaxed).
    seen: AtomicU64,
    /// Where the host could run before it was sent to another CPU.
    mask: Own<Option<&'static CpuSet>>,
    random: Own<Random>,
    /// The segment that could not be verified when this was looked at last.
    refused: Own<usize>,
}

/// Is a chunk executed again on another CPU?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Away {
    No,
    /// If it takes longer than the way there.
    IfLong,
    Yes,
}

/// Prepares what the settings ask for.
pub(crate) fn start(g: &'static Globals) {
    let Mode::Chunks(share) = g.promp.devices.sdc else { return };
    if retired_cpus::usable().len() < 2 {
        say!("PROMP_SDC=chunks compares CPUs, and the process may use only one; stopping");
        syscall::exit_group(64);
    }
    chunk_bit_flips::start(&g.promp.silent);
    chunk_selection::start(share);
    chunk_counts::start();
    if share != 0 {
        sample::begin();
    }
}

fn check_of(thr: &'static Thread) -> &'static Check {
    if let Some(c) = thread_state::of(thr).check.get() {
        return c;
    }
    let c: &'static Check = Box::leak(Box::new(Check {
        sampled: Own::new(false),
        written: Written::new(),
        runs: Own::new([Run::default(); MOST_RUNS]),
        count: Own::new(0),
        cpu: Own::new(0),
        began_ns: Own::new(0),
        first_ns: Own::new(0),
        waited_ns: Own::new(0),
        away: Own::new(Away::No),
        name: Own::new(0),
        construct: Own::new((0, 0, 0)),
        ordinal: Own::new(0),
        seen: AtomicU64::new(0),
        mask: Own::new(None),
        random: Own::new(Random::new(core::ptr::from_ref(thr).addr() as u64 ^ now_ns())),
        refused: Own::new(0),
    }));
    chunk_counts::watch(c);
    thread_state::of(thr).check.set(Some(c));
    c
}

impl Check {
    fn below(&self, n: u64) -> u64 {
        let mut random = self.random.get();
        let below = random.below(n);
        self.random.set(random);
        below
    }

    /// Thread `m` has taken a chunk: is it one of those to be verified?
    #[inline]
    fn is_next(&self, m: &'static Member) -> bool {
        self.seen.store(self.seen.load(Relaxed) + 1, Relaxed);
        let seq = m.share.get().map_or(0, |s| s.seq());
        let construct = (core::ptr::from_ref(m.team()).addr(), m.epoch.get(), seq);
        let ordinal = if construct == self.construct.get() { self.ordinal.get() + 1 } else { 0 };
        self.construct.set(construct);
        self.ordinal.set(ordinal);
        let name = chunk_selection::name(construct.0, construct.1, construct.2, ordinal);
        self.name.set(name);
        chunk_selection::is_chosen(name)
    }

    /// The first execution is over. Is the next one on another CPU?
    fn goes_away(&self) -> bool {
        let now = now_ns();
        let ns = now - self.began_ns.get();
        self.first_ns.set(ns);
        self.waited_ns.set(0);
        self.began_ns.set(now);
        chunk_counts::took(&chunk_counts::FIRST_NS, ns);
        let is_long = chunk_selection::first_is_over(self.name.get(), ns, now);
        let away = self.away.get() == Away::Yes || self.away.get() == Away::IfLong && is_long;
        self.away.set(if away { Away::Yes } else { Away::No });
        away
    }

    /// The check is over, after `runs` executions.
    fn is_over(&self, runs: usize) {
        let (now, away) = (now_ns(), self.away.get() != Away::No);
        let took = now - self.began_ns.get();
        chunk_counts::took(&chunk_counts::AGAIN_NS, took);
        chunk_selection::took(self.name.get(), self.began_ns.get(), now, away);
        if away && runs == 2 {
            chunk_selection::learn_way(took.saturating_sub(self.first_ns.get() + self.waited_ns.get()));
        }
    }

    fn watch(&self, thr: &'static Thread) {
        self.written.clear();
        thr.watched.set(true);
        self.cpu.set(syscall::cpu());
    }

    /// The chunk in flight is no longer watched.
    fn unwatch(&self, thr: &'static Thread) {
        thr.watched.set(false);
        if self.count.get() == 0 {
            chunk_selection::ends_on(self.cpu.get(), self.name.get());
        }
    }

    /// The CPU for the next execution, after `runs`.
    fn next_cpu(&self, runs: &[Run]) -> Option<u32> {
        let usable = retired_cpus::usable();
        let partner = match runs {
            [Run { cpu: Some(cpu), .. }] => chunk_selection::partner(self.name.get(), *cpu, &usable),
            _ => None,
        };
        let cpu = partner.or_else(|| judge::choose(runs, &usable, self.below(1 << 32)))?;
        if runs.len() == 1 {
            self.waited_ns.set(chunk_selection::wait_for(cpu, self.name.get(), self.first_ns.get()));
        }
        Some(cpu)
    }
}

/// A chunk has been taken; the call that handed it out is a save point.
#[inline(never)]
pub(crate) fn chunk_begins(thr: &'static Thread) {
    let c = check_of(thr);
    thr.watched.set(false);
    let next = c.is_next(thr.member());
    if next || ALERT.load(Relaxed) != 0 || chunk_bit_flips::any() {
        chosen(thr, c, next);
    }
}

/// A chunk that has just been taken is watched: it is to be verified (`next`), or for other reasons.
#[cold]
#[inline(never)]
fn chosen(thr: &'static Thread, c: &'static Check, next: bool) {
    let time = if next { chunk_selection::has_time(c.name.get()) } else { None };
    let alerted = time.is_none() && ALERT.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok();
    let sampled = time.is_some() || alerted;
    if !sampled && !chunk_bit_flips::any() {
        return;
    }
    let here = thr.save.current().and_then(save::Slot::resumes_at).unwrap_or(0);
    if let Err(why) = may_repeat(thr) {
        if c.refused.get() != here {
            c.refused.set(here);
            chunk_counts::unverified(here, why);
        }
        return;
    }
    c.sampled.set(sampled);
    c.away.set(match time {
        _ if alerted => Away::No,
        Some(false) => Away::IfLong,
        _ => Away::Yes,
    });
    c.count.set(0);
    c.began_ns.set(now_ns());
    thr.member().ledger.watch(true);
    c.watch(thr);
    if sampled {
        chunk_selection::begins_on(c.cpu.get(), c.name.get());
    }
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
    match save.resumes_at().and_then(segment_tables::behind_call) {
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
pub(crate) fn chunk_ends(thr: &'static Thread) {
    let m = thr.member();
    m.ledger.watch(false);
    let Some(c) = thread_state::of(thr).check.get() else { return };
    if !thr.watched.get() {
        return;
    }
    let first = c.count.get() == 0;
    c.unwatch(thr);
    let cpu = Some(syscall::cpu()).filter(|&cpu| cpu == c.cpu.get());
    if !is_whole(thr, c) {
        chunk_counts::count(Kind::Lost);
        back_home(c);
        return;
    }
    chunk_bit_flips::strike(&c.written, first, c.cpu.get());
    if !c.sampled.get() {
        return;
    }
    let run = Run { cpu, memory: c.written.hash(), private: private(thr) };
    let (mut runs, n) = (c.runs.get(), c.count.get() + 1);
    runs[n - 1] = run;
    c.runs.set(runs);
    c.count.set(n);
    if first && !c.goes_away() {
        repeat(thr, c);
    }
    // On the same CPU twice: that they agree is all that was asked.
    let here = n == 2 && c.away.get() == Away::No;
    match judge(&runs[..n], here || retired_cpus::is_single()) {
        Judgement::Again if n < MOST_RUNS => {
            c.away.set(Away::Yes);
            if let Some(to) = c.next_cpu(&runs[..n]) {
                again(thr, c, to);
            }
            back_home(c);
        }
        Judgement::Again => never_twice(thr, n),
        Judgement::Agreed { wrong } => {
            back_home(c);
            c.is_over(n);
            chunk_counts::count(Kind::Verified);
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
    let mut h = write_set::Hash::of_nothing();
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
        let now = CpuSet::of_host(0).unwrap_or_else(|| CpuSet::of(&retired_cpus::usable()));
        c.mask.set(Some(Box::leak(Box::new(now))));
    }
    CpuSet::of(&[cpu]).apply(0);
    repeat(thr, c)
}

/// Executes the chunk again, wherever its thread is.
fn repeat(thr: &'static Thread, c: &'static Check) -> ! {
    let mask = signals::block_all();
    thr.member().ledger.watch_again();
    c.watch(thr);
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
pub(crate) fn abandon(thr: &'static Thread) {
    if let Some(c) = thread_state::of(thr).check.get() {
        c.unwatch(thr);
        thr.member().ledger.watch(false);
        back_home(c);
    }
}

/// Notes what the chunk in flight is about to write.
#[inline(always)]
pub fn wrote(thr: &'static Thread, grid: crate::undo::Grid) {
    if thr.watched.get()
        && let Some(c) = thread_state::of(thr).check.get()
    {
        c.written.note(grid);
    }
}

fn never_twice(thr: &'static Thread, n: usize) -> ! {
    say!(
        "{}: {n} executions on different CPUs never gave a result that two of them agree on: a CPU is \
         broken for good and there are too few others to say which, or the chunk is not repeatable; stopping",
        chunk_counts::chunk(thr)
    );
    syscall::exit_group(70)
}

fn found(thr: &'static Thread, runs: &[Run], wrong: &[u32]) {
    chunk_counts::count(Kind::Found);
    // What lies in unused places of the stack can come from before the chunk: that accuses nobody.
    let wrong = if judge::in_memory(runs) { wrong } else { &[] };
    let names: Vec<String> = wrong.iter().map(|c| format!("CPU {c}")).collect();
    let left: Vec<bool> = wrong.iter().map(|&c| retired_cpus::leave(c)).collect();
    wrong.iter().for_each(|&c| chunk_counts::accuse(c));
    if judge::in_memory(runs) && !retired_cpus::is_single() {
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
            chunk_counts::chunk(thr),
            runs.len()
        );
    }
}
