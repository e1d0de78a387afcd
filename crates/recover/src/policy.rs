//! May lost work be executed again? (README.md in this folder.)

use super::failure_records::Place;
use super::spec::Kind;
use super::{addition_visibility, inject, library_calls};
use crate::icv::globals;
use crate::icv::settings::Replay;
use crate::observe::event::Work;
use crate::proofs::segment_tables;
use crate::save::proof::{is_proved, segment};
use crate::save::{SaveKind, Slot, price};
use crate::sys::maps::{self, Mapping};
use crate::sys::{asm, code, lock_owners, signals::Interrupted, syscall::gettid, tls, unwind};
use crate::task::Task;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::*;
use promp_settings::save_budget::{Budget, named, points_of, told};

/// Why work in flight cannot be executed again, and what the user can do.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Completes "thread 1 failed (kill) in region 2 in …".
    pub why: &'static str,
    /// A sentence.
    pub advice: &'static str,
}

const ADVICE: &str =
    "Build with promp-cc, or set PROMP_CKPT_DIR, or PROMP_REPLAY=assume if repeating this work is safe.";
const NEEDS_CKPT: &str = "Repeating it could change the result; only a checkpoint helps here.";

fn refuse<T>(why: &'static str, advice: &'static str) -> Result<T, Refusal> {
    Err(Refusal { why, advice })
}

/// Does the user, or a proof, vouch for the work of `thr`'s activation since its save point?
fn vouched(thr: &'static Thread) -> Result<(), Refusal> {
    let user = match thr.vouched.get() {
        1 => true,
        2 => false,
        _ => match &globals().promp.replay {
            Replay::Assume => true,
            Replay::Never => false,
            Replay::Proven => return proven(thr),
            Replay::Functions(globs) => maps::function_name(thr.call.get().0)
                .is_some_and(|n| globs.iter().any(|g| maps::glob(g.as_bytes(), n.as_bytes()))),
        },
    };
    if user { Ok(()) } else { refuse("work not known to be replayable", ADVICE) }
}

/// May any thread of the team execute what `thr` has lost of a chunk, whatever it has had before? The user's
/// word holds for that, too; of what is proved that needs a proof.
pub(crate) fn goes_to_anybody(thr: &'static Thread) -> bool {
    !is_proved(thr) || segment(thr).is_some_and(|s| s.shared)
}

/// Only a checkpoint helps; and where the work began, if that is known.
fn needs_ckpt(thr: &'static Thread) -> &'static str {
    match segment(thr).map(|s| s.place()) {
        Some(place) => String::leak(format!("It began at {place}. {NEEDS_CKPT}")),
        None => NEEDS_CKPT,
    }
}

/// May work in a critical, ordered or lock section be executed again? What was written there nobody may look
/// at before the section ends, which is a save point. So of what is proved the thread, which still holds the
/// lock, puts the old values back, and goes on from the save point that it came to in there: the lock's own,
/// or a later one. Nobody else can: a chunk would be handed out without the lock. The user's word is on
/// chunks.
fn repeats_in_section(thr: &'static Thread) -> bool {
    let by_itself = thr.save.current().is_some_and(|s| matches!(s.kind.get(), SaveKind::After(_)));
    by_itself && is_proved(thr)
}

/// What helps where there is no proof; and in which library, if promp-cc has built the program without that.
fn built_elsewhere(thr: &'static Thread) -> &'static str {
    let maps = maps::all();
    let Some(library) = library_calls::is_foreign(thr, &maps) else {
        let from = thr.save.current().and_then(|s| s.resumes_at());
        let Some(name) = from.and_then(maps::function_name) else { return ADVICE };
        return String::leak(format!("It began in {name}. {ADVICE}"));
    };
    let file = library.path.rsplit('/').next().unwrap_or("");
    let of = maps::function_name(thr.call.get().0).map(|n| format!("{n} of ")).unwrap_or_default();
    String::leak(format!("It is in {of}{file}, which promp-cc has not built. {ADVICE}"))
}

/// The private data at the save point was not copied, which `site` says.
fn not_copied<T>(site: &price::Site) -> Result<T, Refusal> {
    let (what, took, (budget, _)) = (site.text(), site.percent(), site.budget());
    let price = match took {
        0.0 => String::new(),
        _ => format!(
            ": copying it would take {} of the time between two save points, more than \
             PROMP_SAVE_BUDGET={budget}; PROMP_SAVE_BUDGET=all always copies",
            told(took, false)
        ),
    };
    let advice = format!("{what}{price}. Put large private arrays on the heap, or set PROMP_CKPT_DIR.");
    refuse("work whose private data is not saved", String::leak(advice))
}

/// What promp-cc has found out about the segment behind the save point.
fn proven(thr: &'static Thread) -> Result<(), Refusal> {
    match segment(thr) {
        None => refuse("work not known to be replayable", built_elsewhere(thr)),
        Some(s) if s.verdict == segment_tables::Verdict::Opaque => {
            refuse("work that cannot be executed again", String::leak(format!("{}. {NEEDS_CKPT}", s.text())))
        }
        Some(s) => match price::culprit(&thr.undo) {
            // Old values are saved in case that a function of another file reads them: where it does not,
            // they may be missing.
            Some(site) if s.verdict == segment_tables::Verdict::Undo || site.is_opaque() => {
                lost(s.text(), site)
            }
            _ => Ok(()),
        },
    }
}

/// Are save points left out of all of a region, or of a taskloop?
fn is_of_all(points_of: Option<&str>) -> bool {
    points_of.is_some_and(|of| of != "loop")
}

/// `site` has made work that could be executed again, as `segment` says, work that cannot.
fn lost(segment: &str, site: &price::Site) -> Result<(), Refusal> {
    if site.is_opaque() {
        return refuse(
            "work that cannot be executed again",
            String::leak(format!("{}. {NEEDS_CKPT}", site.text())),
        );
    }
    if let Some(why) = site.unkept() {
        return refuse(why, String::leak(format!("{segment}. {NEEDS_CKPT}")));
    }
    let (took, (budget, compiled)) = (site.percent(), site.budget());
    let named = named(&budget.to_string(), compiled, promp_settings::SAVE_BUDGET.name);
    let of = points_of(site.text());
    let (why, what) = match of.is_some() {
        true => ("work whose save points are left out", "Save points there"),
        false => ("work whose old values are not saved", "Saving them"),
    };
    let cause = match budget {
        _ if is_of_all(of) && took == 0.0 => {
            format!("It is one of a few that have none, to learn what they take (budget: {named})")
        }
        Budget::Share(0.0) if compiled => format!("It was built with {named}"),
        _ => {
            let (price, whole) = (told(took, of.is_some()), of.unwrap_or("loop"));
            format!("{what} took {price} of the {whole}'s time, more than {named}")
        }
    };
    let advice = format!("{segment}. {cause}; PROMP_SAVE_BUDGET=all always saves. {NEEDS_CKPT}");
    refuse(why, String::leak(advice))
}

/// The part of the verdict that does not ask where the thread is: what would be executed again, from which
/// address.
fn repeatable(thr: &'static Thread) -> Result<(&'static Slot, usize), Refusal> {
    if !thr.is_in_region() {
        return refuse("serial work", NEEDS_CKPT);
    }
    if globals().promp.replay == Replay::Never {
        return refuse("work not known to be replayable", ADVICE);
    }
    if let Some(save) = thr.save.current()
        && save.kind.get() == SaveKind::TooLarge
        && let Some(site) = price::culprit(&thr.undo)
    {
        return not_copied(site);
    }
    if thr.undo.has_left_out()
        && let Some(site) = price::culprit(&thr.undo)
    {
        // All of a region has no save points: what was saved last is of one before it.
        let all = is_of_all(points_of(site.text()));
        let place = if all { site.text() } else { segment(thr).map_or("?", |s| s.text()) };
        lost(place, site)?;
    }
    vouched(thr)?;
    if thr.undo.has_additions() && addition_visibility::others_may_see(thr) {
        return refuse("atomic updates that others than its team may have seen", needs_ckpt(thr));
    }
    if thr.held.get() > 0 && !repeats_in_section(thr) {
        return refuse("a critical, ordered or lock section", needs_ckpt(thr));
    }
    let task = thr.task.get();
    if task.is_some_and(Task::children_may_use_stack) {
        return refuse("a task whose child tasks may use its variables", NEEDS_CKPT);
    }
    if task.and_then(|t| t.group.get()).is_some_and(|g| g.reductions.get() != 0) {
        // The private copies lie in memory of the runtime, not on the stack: what was added to them is not
        // taken back.
        return refuse("work with task reductions", needs_ckpt(thr));
    }
    if thr.member().scanning.get() {
        // The compiler's code for scans updates the scratch memory in place.
        return refuse("a scan or a conditional lastprivate", needs_ckpt(thr));
    }
    let Some(save) = thr.save.current() else {
        return refuse("work before its first save point", NEEDS_CKPT);
    };
    match save.kind.get() {
        SaveKind::None | SaveKind::TooLarge => refuse("work before its first save point", NEEDS_CKPT),
        SaveKind::Enter => Ok((save, thr.call.get().0)),
        _ => Ok((save, save.resumes_at().expect("a saved frame has a return address"))),
    }
}

/// May the chunk that `thr` has just been handed be executed again when it is done, with nothing lost? Where
/// its execution would begin.
pub(crate) fn may_repeat(thr: &'static Thread) -> Result<&'static Slot, Refusal> {
    repeatable(thr).map(|(save, _)| save)
}

/// The verdict on a thread that has ended by itself: where it was is not known, so whatever it can have come
/// to since its save point counts. `tries`: endings
/// at one save point that are not taken for the program's own doing.
pub(crate) fn verdict_unseen(thr: &'static Thread, tries: u32) -> Result<(), Refusal> {
    if thr.in_runtime.load(Acquire) != 0 {
        return refuse("a call of the runtime", NEEDS_CKPT);
    }
    let (save, from) = repeatable(thr)?;
    if inject::count_crash(thr) > tries {
        return refuse(
            "work that ends its thread each time it is executed",
            "This is the program's own doing: the system call, or the filter of system calls, that ends it.",
        );
    }
    let maps = maps::all();
    let readable = readable(&maps);
    let saved = saved_words(save);
    let callers = return_addresses(&maps, saved.iter().copied().skip(asm::FRAME_TOTAL / 8), &readable);
    let callees = library_calls::callees(thr, &maps);
    if code::is_harmless(from, &callers, &callees, &readable) {
        Ok(())
    } else {
        refuse(
            "work with an atomic update, or a library's function that may hold a lock; where it was is not known",
            needs_ckpt(thr),
        )
    }
}

fn readable(maps: &[Mapping]) -> impl Fn(usize, usize) -> bool {
    |a, n| maps::find(maps, a).is_some_and(|m| m.prot & libc::PROT_READ != 0 && a + n <= m.end)
}

/// The saved frame and what is above it.
fn saved_words(save: &Slot) -> &[usize] {
    if save.kind.get() == SaveKind::Enter { &[] } else { save.words() }
}

/// The verdict on a failure in application code, with work in flight.
pub(crate) fn verdict(thr: &'static Thread, at: &Interrupted, kind: Kind) -> Result<(), Refusal> {
    let (save, resume_at) = repeatable(thr)?;
    let maps = maps::all();
    if library_calls::in_progress(thr, &maps, at, kind) {
        return refuse("a library function that may hold a lock", needs_ckpt(thr));
    }
    let readable = readable(&maps);
    let saved = saved_words(save);
    let callers = return_addresses(&maps, saved.iter().copied().skip(asm::FRAME_TOTAL / 8), &readable);
    let path = code::Path {
        from: resume_at,
        callers: &callers,
        pc: at.pc,
        returns: &return_addresses(&maps, live_stack(at.sp, thr.base.load(Relaxed)), &readable),
        // promp-cc has seen to them.
        fences: !is_proved(thr),
    };
    // Who calls nothing that may take a lock holds none: then memory need not be looked through.
    if !code::is_harmless(resume_at, &callers, &library_calls::callees(thr, &maps), &readable) {
        if let Some(at) = lock_owners::lock_of(tls::thread_pointer(), gettid(), &maps) {
            let file = maps::find(&maps, at).map_or("", |m| &m.path);
            return refuse(
                "work that holds a lock of the program's, which would be taken again",
                String::leak(format!(
                    "The lock is at {at:#x}, {}. {}",
                    if file.is_empty() { "the heap" } else { file },
                    needs_ckpt(thr)
                )),
            );
        }
        if may_hold_unowned(thr, &maps, &path, &readable) {
            return refuse(
                "work that may hold a lock of the program's of which nobody notes who holds it (a spin lock, \
                 a semaphore, a read lock, the first use of a static variable)",
                needs_ckpt(thr),
            );
        }
    }
    // Of what promp-cc has proved, too: behind the merge of a reduction there is no mark.
    if code::atomic_between(&path, &readable) {
        return refuse("work behind an atomic update", needs_ckpt(thr));
    }
    Ok(())
}

/// Can the thread have taken, on this way, a lock whose owner is noted nowhere? A static variable that is
/// being made is, by a function that is in progress.
fn may_hold_unowned(
    thr: &'static Thread,
    maps: &[Mapping],
    path: &code::Path<'_>,
    readable: code::Readable<'_>,
) -> bool {
    let locks = library_calls::named(thr, maps, &library_calls::UNOWNED, true);
    if code::may_call(path.from, path.callers, &locks, readable) {
        return true;
    }
    let guards = library_calls::named(thr, maps, &library_calls::GUARD, false);
    let begun = [path.pc].into_iter().chain(path.returns.iter().copied()).map(unwind::function_around);
    let starts = begun.filter(|f| *f != 0).chain([path.from]);
    starts.into_iter().any(|from| code::may_call(from, &[], &guards, readable))
}

/// Libraries whose code never merges a program's reductions: what stands on the stack of them (often stale
/// words in unused parts of a frame) does not matter to [`code::atomic_between`].
fn is_system_library(path: &str) -> bool {
    const NAMES: [&str; 12] = [
        "libc.so",
        "libc-",
        "libm.so",
        "libm-",
        "libmvec",
        "ld-linux",
        "libpthread",
        "libpromp",
        "libgomp",
        "libgcc_s",
        "libstdc++",
        "libgfortran",
    ];
    let name = path.rsplit('/').next().unwrap_or("");
    path.starts_with('[') || NAMES.iter().any(|n| name.starts_with(n))
}

/// The words of the live stack between `sp` and `base`.
fn live_stack(sp: usize, base: usize) -> impl Iterator<Item = usize> {
    let sp = sp & !7;
    // SAFETY: between a stack pointer of the activation and its base lies the failed thread's stack; its
    // host has stopped.
    (sp..base.min(sp + (1 << 22))).step_by(8).map(|a| unsafe { *(a as *const usize) })
}

/// Those of `words` that look like return addresses into the program or its libraries.
fn return_addresses(
    maps: &[Mapping],
    words: impl Iterator<Item = usize>,
    readable: code::Readable<'_>,
) -> Vec<usize> {
    let in_code = |w: usize| {
        maps::find(maps, w).is_some_and(|m| m.prot & libc::PROT_EXEC != 0 && !is_system_library(&m.path))
    };
    words.filter(|&w| in_code(w) && code::follows_call(w, readable)).collect()
}

/// Where `thr` is, for the record.
pub(crate) fn place(thr: &'static Thread) -> Place {
    let (m, team) = (thr.member(), thr.team());
    let mut p = Place {
        thread: m.num.get(),
        region: team.primary.region.get(),
        construct: "region",
        ordinal: 0,
        chunk: None,
        iterations: 0,
    };
    if team.level.get() == 0 {
        p.construct = "serial";
        p.region = crate::team::region::count();
        return p;
    }
    if thr.in_explicit_task() {
        p.construct = "task";
        return p;
    }
    if let Some(n) = m.ledger.dealt(m.num.get(), team.size()) {
        p.construct = "loop";
        p.iterations = n;
    } else if let (Some((_, r)), Some(s)) = (m.ledger.in_flight(), m.share.get()) {
        let sh = s.shape.peek();
        p.construct = if sh.work == Work::Sections { "sections" } else { "loop" };
        p.ordinal = s.seq() + 1;
        p.chunk = Some((sh.value(r.lo) as i64, sh.value(r.hi) as i64));
        p.iterations = r.len();
    }
    p
}
