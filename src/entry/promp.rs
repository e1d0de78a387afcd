//! The `promp_*` interface of include/promp.h: what a program says (what it asks: api_figures.rs), and what the code
//! of promp-cc calls.

use super::omp::export;
use crate::ckpt;
use crate::ckpt::foresee;
use crate::device::sdc;
use crate::icv::globals_if_ready;
use crate::proofs::{join, segment_tables};
use crate::recover::{report, site_arrival, verify};
use crate::save::across_points;
use crate::save::price::Site;
use crate::save::site_visits;
use crate::save::unsaved_time;
use crate::sys::door::Door;
use crate::sys::tls;
use crate::team::hold::{guarded, hold_off};
use crate::team::promises;
use crate::team::thread::{self, Thread, current};
use crate::undo::{Grid, addition};
use core::sync::atomic::{AtomicI64, AtomicUsize, Ordering::*};

export! {
    /// The version, as 10000·major + 100·minor + patch.
    fn promp_version() -> i32 { crate::sys::second::VERSION }
    /// [start, start + bytes) is dead at the next such place: on every way from there it is written before it
    /// is read.
    fn promp_dead(start: usize, bytes: usize) {
        guarded(|| site_arrival::dead(current(), start, bytes))
    }
    /// For the code that promp-cc adds: it is live there, whatever else is said of it.
    fn promp_live(start: usize, bytes: usize) {
        guarded(|| site_arrival::live(current(), start, bytes))
    }
    /// For the code that promp-cc adds: what the nests of loops of this list write is dead there
    /// (`team::loop_nests` has its form).
    fn promp_dead_written(list: *const usize) {
        // SAFETY: the first word is the number of them.
        let list = unsafe { core::slice::from_raw_parts(list, *list) };
        guarded(|| site_arrival::written(current(), list))
    }
    /// For the code that promp-cc adds: what is dead there comes of going ahead (`ckpt::foresee` has the form
    /// of the program), with the numbers that it asks for.
    fn promp_dead_foreseen(program: *const u64, slots: *const u64) {
        // SAFETY: promp-cc's: its second word is the number of its words, its third one that of the slots.
        // It is a constant of the program's or a library's, that stays as long as code of it is executed.
        let (program, slots) = unsafe {
            let words = *program.add(1) as usize;
            let slots = core::slice::from_raw_parts(slots, *program.add(2) as usize);
            (core::slice::from_raw_parts(program, words), slots)
        };
        guarded(|| site_arrival::foresee(current(), program, slots, program[5] != 0))
    }
    /// What comes of going ahead, where `known` is not 0: at most so many ranges, first bytes and those behind
    /// the last ones. For tests (c-tests/compiler/poison.c): the program stands where the numbers are of.
    fn promp_look_ahead(
        program: *const u64, slots: *const u64, known: *const u8, out: *mut usize, most: usize
    ) -> usize {
        // SAFETY: as above; `known` has as many elements as there are slots, `out` twice `most`.
        let (program, slots, out) = unsafe {
            let (words, n) = (*program.add(1) as usize, *program.add(2) as usize);
            let slots: Vec<Option<u64>> =
                (0..n).map(|k| (*known.add(k) != 0).then_some(*slots.add(k))).collect();
            let out = core::slice::from_raw_parts_mut(out, 2 * most);
            (core::slice::from_raw_parts(program, words), slots, out)
        };
        let door = Door::open();
        let dead = foresee::dead(program, &slots, 1, &|at, to| door.read(at, to));
        for (to, r) in out.chunks_exact_mut(2).zip(&dead) {
            to.copy_from_slice(&[r.0, r.1]);
        }
        dead.len().min(most)
    }
    /// The next construct may (1) or may not (0) be executed again.
    fn promp_replayable(yes: i32) { promises::vouch(current(), yes != 0) }
    /// A section of kernels begins whose results are verified together.
    fn promp_sdc_checkpoint() { guarded(|| sdc::error_totals::mark(true)) }
    /// ... and ends: silent errors in it are found here.
    fn promp_sdc_detect() { guarded(|| sdc::error_totals::mark(false)) }
    /// PR_FRAGS for the next loop: static chunks are handed out in m fragments; below 1: as the runtime sees fit.
    fn promp_frags(m: i32) {
        let thr = current();
        thr.fragments.set(m.max(0) as u32);
        thr.unprepare();
    }
    /// PR_SCHE for the next loop: 1 static, 2 dynamic; anything else: as PROMP_RECOMPUTE says.
    fn promp_recompute(kind: i32) {
        let thr = current();
        thr.recompute.set(if (1..=2).contains(&kind) { kind as u8 } else { 0 });
        thr.unprepare();
    }
}

/// A place where a checkpoint would be welcome, called from `from`. Without checkpointing it does nothing.
pub(super) extern "C" fn potential_ckpt(_: usize, from: usize) {
    if !guarded(|| site_arrival::visit(current(), from)) {
        ckpt::potential();
    }
}

/// Constructors may run before the runtime is wanted: they must not be what starts it.
fn when_loading(f: impl FnOnce()) {
    if globals_if_ready().is_some() { guarded(f) } else { f() }
}

/// An object built with promp-cc is loaded: its tables lie from `start` to `stop`; `undo` is what it calls to save old values.
///
/// # Safety
/// For the code that promp-cc adds.
pub(crate) unsafe extern "C" fn promp_register_segments(start: *const i32, stop: *const i32, undo: usize) {
    // SAFETY: by the caller's promise.
    when_loading(|| unsafe { segment_tables::register(start, stop, undo != 0) });
}

/// Such an object goes.
pub(crate) extern "C" fn promp_unregister_segments(start: *const i32) {
    when_loading(|| {
        report::object_goes(start);
        segment_tables::unregister(start);
    });
}

/// An object built with promp-cc is loaded: it has summaries of functions, and verdicts with assumptions,
/// between these addresses.
///
/// # Safety
/// For the code that promp-cc adds.
pub(crate) unsafe extern "C" fn promp_register_proofs(
    summaries: usize,
    behind: usize,
    assumptions: usize,
    end: usize,
) {
    // SAFETY: by the caller's promise.
    when_loading(|| unsafe { join::register((summaries, behind), (assumptions, end)) });
}

/// Such an object goes.
pub(crate) extern "C" fn promp_unregister_proofs(
    summaries: usize,
    behind: usize,
    assumptions: usize,
    end: usize,
) {
    when_loading(|| join::unregister((summaries, behind), (assumptions, end)));
}

/// Saves the old values of `count0` elements of `size` bytes, `stride0` bytes apart, and that `count1` times.
///
/// # Safety
/// For the code that promp-cc adds: the elements are about to be written.
pub(crate) unsafe extern "C" fn promp_undo(
    start: usize,
    size: usize,
    count0: usize,
    stride0: isize,
    count1: usize,
    stride1: isize,
) {
    // A thread that the runtime does not know is in no region. Serial work is never executed again, nor is
    // what has been given up.
    let Some(thr) = thread::known() else { return };
    if !thr.saving.get() || !thr.is_in_region() || thr.undo.lost() != 0 {
        return;
    }
    // What lies on the thread's own stack is put back with it.
    if (tls::stack_pointer()..thr.base.load(Relaxed)).contains(&start) {
        return;
    }
    // SAFETY: by the caller's promise.
    unsafe {
        if thr.gauge.is_due() {
            save_measured(start, size, count0, stride0, count1, stride1);
        } else if (count0, count1) == (1, 1) {
            save_one(start, size, thr);
        } else {
            save_grid(start, size, count0, stride0, count1, stride1);
        }
    }
}

/// One element, of `thr`. Apart, as what follows: so none of the short ways needs registers saved.
///
/// # Safety
/// As for [`promp_undo`], where something is to be saved.
#[inline(never)]
unsafe extern "C" fn save_one(start: usize, size: usize, thr: &'static Thread) {
    // SAFETY: by the caller's promise.
    unsafe {
        if !thr.undo.save_one(start, size) {
            save_grid(start, size, 1, 0, 1, 0);
        }
    }
}

/// # Safety
/// As for [`save_one`].
#[inline(never)]
unsafe extern "C" fn save_grid(
    start: usize,
    size: usize,
    count0: usize,
    stride0: isize,
    count1: usize,
    stride1: isize,
) {
    let g = Grid { start, size, count: [count0, count1], stride: [stride0, stride1] };
    // SAFETY: by the caller's promise.
    unsafe { record_old(current(), g) };
}

/// The same, measured.
///
/// # Safety
/// As for [`save_one`].
#[inline(never)]
unsafe extern "C" fn save_measured(
    start: usize,
    size: usize,
    count0: usize,
    stride0: isize,
    count1: usize,
    stride1: isize,
) {
    let thr = current();
    let g = Grid { start, size, count: [count0, count1], stride: [stride0, stride1] };
    // SAFETY: by the caller's promise.
    thr.gauge.measured(g.length(), || unsafe {
        match g.count {
            [1, 1] if thr.undo.save_one(start, size) => {}
            _ => record_old(thr, g),
        }
    });
}

/// Adds `value` to the `size` bytes at `at`, atomically, so that it can be taken back.
///
/// # Safety
/// For the code that promp-cc adds: an aligned number of 1, 2, 4 or 8 bytes, to which others add atomically.
pub(crate) unsafe extern "C" fn promp_add(at: usize, size: usize, value: u64) {
    let noted = |thr: &&'static Thread| {
        thr.saving.get()
            && thr.is_in_region()
            && thr.undo.lost() == 0
            // What lies on the thread's own stack is put back with it.
            && !(tls::stack_pointer()..thr.base.load(Relaxed)).contains(&at)
    };
    let Some(thr) = thread::known().filter(noted) else {
        // SAFETY: by the caller's promise.
        return unsafe { addition::add(at, size, value) };
    };
    // SAFETY: likewise. If it is not there, that is the program's crash, not the runtime's.
    unsafe { core::arch::asm!("cmp byte ptr [{}], 0", in(reg) at, options(nostack, readonly)) };
    hold_off(thr, || {
        let note = || thr.undo.note_addition(at, size, value);
        if thr.gauge.is_due() {
            thr.gauge.measured(size, note)
        } else {
            note()
        }
        // SAFETY: likewise.
        unsafe { addition::add(at, size, value) };
    });
    if thr.undo.lost() != 0 {
        unsaved_time::begins(thr);
    }
}

/// Says what is about to be written: elements as for [`promp_undo`]. Of use to those that verify chunks.
///
/// # Safety
/// For the code that promp-cc adds.
pub(crate) unsafe extern "C" fn promp_wrote(
    start: usize,
    size: usize,
    count0: usize,
    stride0: isize,
    count1: usize,
    stride1: isize,
) {
    verify::wrote(current(), Grid { start, size, count: [count0, count1], stride: [stride0, stride1] });
}

/// A loop begins that has a version which saves old values, or something that cannot be executed twice: is
/// it to save them?
///
/// # Safety
/// For the code that promp-cc adds: `site` lives as long as the code.
pub(crate) unsafe extern "C" fn promp_saves(site: *const Site) -> i32 {
    // SAFETY: by the caller's promise.
    thread::known().map_or(0, |thr| site_visits::begin(thr, unsafe { &*site }))
}

/// The same of a loop whose iterations wait for each other.
///
/// # Safety
/// As for [`promp_saves`].
pub(crate) unsafe extern "C" fn promp_saves_across(site: *const Site) -> i32 {
    // SAFETY: by the caller's promise.
    thread::known().map_or(0, |thr| across_points::begin(thr, unsafe { &*site }))
}

/// The same of the region that is encountered next: the answer is kept for that.
///
/// # Safety
/// As for [`promp_saves`].
pub(crate) unsafe extern "C" fn promp_saves_region(site: *const Site) {
    // SAFETY: by the caller's promise.
    unsafe { ask(site, false) }
}

/// The same of the taskloop that is encountered next.
///
/// # Safety
/// As for [`promp_saves`].
pub(crate) unsafe extern "C" fn promp_saves_taskloop(site: *const Site) {
    // SAFETY: by the caller's promise.
    unsafe { ask(site, true) }
}

#[inline(always)]
unsafe fn ask(site: *const Site, tasks: bool) {
    if let Some(thr) = thread::known() {
        // SAFETY: by the caller's promise.
        thr.asks_of_points(unsafe { &*site }, tasks);
    }
}

/// An object built with promp-cc is loaded whose functions see for themselves whether they are executed in a
/// region: what they need for that goes to `slot` ([`tls::place`]).
///
/// # Safety
/// For the code that promp-cc adds: `slot` is the object's own.
pub(crate) unsafe extern "C" fn promp_shows_thread(slot: *const AtomicUsize) {
    // SAFETY: by the caller's promise.
    unsafe { (*slot).store(tls::place(), Relaxed) };
}

/// A loop goes on in its version that does not save.
///
/// # Safety
/// As for [`promp_saves`].
pub(crate) unsafe extern "C" fn promp_leaves(site: *const Site) {
    // SAFETY: by the caller's promise.
    site_visits::leaves(current(), unsafe { &*site });
}

/// Behind what `promp_saves` was told of as something that cannot be executed twice.
pub(super) extern "C" fn point(site: usize) {
    // SAFETY: for the code that promp-cc adds: a site, which lives as long as the code.
    site_visits::point(current(), unsafe { &*(site as *const Site) });
}

/// Saves the elements of `g`.
///
/// # Safety
/// They are about to be written by the calling thread.
#[inline(always)]
unsafe fn record_old(thr: &'static Thread, g: Grid) {
    // With room, a record is whole before it counts: a stop in the middle finds the log as it was, and
    // nothing has been overwritten yet. Only growing must not be interrupted. SAFETY: by the caller's
    // promise.
    unsafe {
        if thr.undo.has_room(&g) {
            thr.undo.save(g);
            return;
        }
        guarded(|| thr.undo.save(g));
    }
    if thr.undo.lost() != 0 {
        unsaved_time::begins(thr);
    }
}

/// Saves what lies behind `pointer`, as `slot` says: from which byte on, and how many. The call that follows
/// writes there.
///
/// # Safety
/// For the code that promp-cc adds.
pub(crate) unsafe extern "C" fn promp_undo_behind(pointer: usize, slot: *const [AtomicI64; 2]) {
    // SAFETY: by the caller's promise; the runtime has filled the slot (join), or it is empty.
    let (offset, bytes) = unsafe { ((*slot)[0].load(Relaxed), (*slot)[1].load(Relaxed)) };
    // SAFETY: the function that is called writes these bytes whenever it returns.
    unsafe { promp_undo(pointer.wrapping_add_signed(offset as isize), bytes as usize, 1, 0, 1, 0) };
}

crate::stub! {
    promp_point => point;
}

crate::export_names! {
    promp_register_segments
    promp_unregister_segments
    promp_undo_behind
    promp_register_proofs
    promp_unregister_proofs
    promp_undo
    promp_add
    promp_wrote
    promp_saves
    promp_saves_across
    promp_saves_region
    promp_saves_taskloop
    promp_shows_thread
    promp_leaves
}
