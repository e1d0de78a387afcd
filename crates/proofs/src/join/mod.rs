//! Proofs across files: what promp-cc's verdicts assume of functions of other units, joined with what is
//! known of these functions when the program is loaded.
//!
//! A unit built with promp-cc says what each of its functions does to memory (a *summary*), and, for each
//! segment that calls functions of other units, under which *assumptions* about them its verdict holds
//! (plugin/src/segments/join.cc writes both). Which function a call is bound to stands in the global offset
//! table of its object: only if that is the very function of a summary the summary counts. So it does not
//! matter how the program was linked; a function of another compiler, another definition that the linker has
//! chosen, or one of a preloaded library has another address. What has no summary resolves nothing: the
//! segment stays opaque.
//!
//! Sections are kept as they are registered; they are read and joined at the next quiet moment ([`settle`]),
//! when constructs begin that ask for verdicts, and never at a failure.

mod call_effects;
mod facts;
mod section_reader;
mod solve;

pub(super) use facts::{At, Summary, Touch};

use crate::containers::{self, CONTAINERS};
use crate::operators::OPERATORS;
use crate::segment_tables::{self, Verdict};
use crate::sys::lock::Locked;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, Ordering::*};
use facts::Call;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The sections of an object: from where to where.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Object {
    summaries: (usize, usize),
    assumptions: (usize, usize),
    /// It has been joined once: its code may be at work.
    joined: bool,
}

/// Where their summaries begin, as of the last joining, for those that must not wait for the list: a vector
/// that is never freed. Stored with release when it is whole.
static BUILT: AtomicPtr<Vec<usize>> = AtomicPtr::new(core::ptr::null_mut());

static OBJECTS: Locked<Vec<Object>> = Locked::new(Vec::new());
/// Objects have come or gone since the last joining. Set with release after the list has changed; whoever
/// takes it joins.
static CHANGED: AtomicBool = AtomicBool::new(false);

/// An object has been loaded that has such sections.
///
/// # Safety
/// As the code that promp-cc adds calls it: the sections are as plugin/src/segments/join.cc writes them, and
/// stay until [`unregister`].
pub unsafe fn register(summaries: (usize, usize), assumptions: (usize, usize)) {
    OPERATORS.check();
    CONTAINERS.check();
    OBJECTS.with(|o| o.push(Object { summaries, assumptions, joined: false }));
    CHANGED.store(true, Release);
}

/// An object goes.
pub fn unregister(summaries: (usize, usize), assumptions: (usize, usize)) {
    OBJECTS.with(|objects| {
        if let Some(i) = objects.iter().position(|o| (o.summaries, o.assumptions) == (summaries, assumptions))
        {
            objects.swap_remove(i);
        }
    });
    CHANGED.store(true, Release);
}

/// Does an object have summaries, where `here` says so of addresses?
pub fn any_at(here: impl Fn(usize) -> bool) -> bool {
    // SAFETY: null, or a vector that stays.
    unsafe { BUILT.load(Acquire).as_ref() }.is_some_and(|all| all.iter().any(|&at| here(at)))
}

/// Joins what has come since the last time. Not for hot paths, and not for recovery: it allocates.
#[inline]
pub fn settle() {
    if CHANGED.load(Relaxed) {
        join();
    }
}

#[cold]
fn join() {
    if !CHANGED.swap(false, Acquire) {
        return;
    }
    let verdicts = OBJECTS.with(|objects| {
        let built: Vec<usize> =
            objects.iter().filter(|o| o.summaries.0 != o.summaries.1).map(|o| o.summaries.0).collect();
        BUILT.store(Box::leak(Box::new(built)), Release);
        if objects.iter().all(|o| o.assumptions.0 == o.assumptions.1) {
            return Vec::new();
        }
        // SAFETY: the sections of loaded objects, by the promise of `register`.
        let mut functions: HashMap<usize, Summary> =
            objects.iter().flat_map(|o| unsafe { section_reader::summaries(o.summaries) }).collect();
        // SAFETY: likewise.
        let assumed = objects.iter().flat_map(|o| unsafe { section_reader::assumptions(o.assumptions) });
        add_librarys(&mut functions, assumed.flat_map(|(_, a)| a.calls));
        call_effects::know_results(&mut functions);
        // Words that code which is at work may have looked at.
        // SAFETY: likewise.
        let looked_at: HashSet<usize> =
            objects.iter().filter(|o| o.joined).flat_map(|o| unsafe { guards(o) }).collect();
        let mut all = Vec::new();
        for o in objects {
            // SAFETY: likewise.
            for (last, a) in unsafe { section_reader::assumptions(o.assumptions) } {
                let mut d = solve::decide(&a, &functions);
                if !fill(&d.slots, !o.joined) || !set(&d.guards, &looked_at) {
                    (d.verdict, d.text) = (
                        Verdict::Opaque as u32,
                        format!("{}: opaque: it was at work when it was looked at", a.place),
                    );
                }
                all.push((last, d));
            }
            o.joined = true;
        }
        all
    });
    segment_tables::improve(
        verdicts
            .into_iter()
            .map(|(last, d)| {
                let verdict = Verdict::of(d.verdict).unwrap_or(Verdict::Opaque);
                (last, verdict, String::leak(d.text + "\0").as_ptr() as usize)
            })
            .collect(),
    );
}

/// Adds what those functions of the C++ library's do that the others call, or segments by `assumed`.
fn add_librarys(functions: &mut HashMap<usize, Summary>, assumed: impl Iterator<Item = Call>) {
    let called = functions.values().flat_map(|f| &f.calls).map(|c| (c.library, c.target));
    let called: HashSet<usize> = called
        .chain(assumed.map(|c| (c.library, c.target)))
        .filter_map(|(library, target)| library.then_some(target))
        .collect();
    for target in called {
        if OPERATORS.is_librarys(target) {
            functions.insert(target, Summary { library: true, ..Default::default() });
        } else if CONTAINERS.is_librarys(target) {
            functions.insert(target, containers::summary(target));
        }
    }
}

/// The words of an object that its code looks at: guards of calls, and those of functions.
///
/// # Safety
/// Its sections are those of a loaded object.
unsafe fn guards(o: &Object) -> Vec<usize> {
    // SAFETY: by the caller's promise.
    let (functions, segments) =
        unsafe { (section_reader::summaries(o.summaries), section_reader::assumptions(o.assumptions)) };
    let words: Vec<usize> = functions.iter().flat_map(|f| f.1.words.iter().map(|w| w.at)).collect();
    let calls =
        functions.into_iter().flat_map(|f| f.1.calls).chain(segments.into_iter().flat_map(|s| s.1.calls));
    calls.map(|c| c.guard).filter(|&g| g != 0).chain(words).collect()
}

/// Has marks be executed. What begun without them could not be executed again: false if it is too late.
fn set(guards: &BTreeMap<usize, u32>, looked_at: &HashSet<usize>) -> bool {
    guards.iter().all(|(&word, &bits)| {
        // SAFETY: a word of a loaded object, which only this function changes; code reads it as a whole.
        let at = unsafe { &*(word as *const AtomicU32) };
        let has = at.load(Relaxed);
        if has & bits != bits && looked_at.contains(&word) {
            return false;
        }
        at.store(has | bits, Relaxed);
        true
    })
}

/// Fills slots, so that old values are saved in front of calls. Only before the object's code is at work
/// (`early`): a segment that has begun without saving could not be executed again. False: they would have
/// to be filled, and it is too late.
fn fill(slots: &[(usize, i64, i64)], early: bool) -> bool {
    slots.iter().all(|&(slot, low, bytes)| {
        // SAFETY: a slot of a loaded object, two words that only this function changes; code that reads
        // them does so atomically, or compares the second one with zero.
        let slot = unsafe { &*(slot as *const [AtomicI64; 2]) };
        let has = (slot[0].load(Relaxed), slot[1].load(Relaxed));
        if early && has.1 == 0 {
            slot[0].store(low, Relaxed);
            slot[1].store(bytes, Relaxed);
            return true;
        }
        has == (low, bytes)
    })
}
