//! Proofs across files: what promp-cc's verdicts assume of functions of other units, joined with what is
//! known of these functions when the program is loaded.
//!
//! A unit built with promp-cc says what each of its functions does to memory (a *summary*), and, for each
//! segment that calls functions of other units, under which *assumptions* about them its verdict holds
//! (plugin/src/join.cc writes both). Which function a call is bound to stands in the global offset table of
//! its object: only if that is the very function of a summary the summary counts. So it does not matter how
//! the program was linked; a function of another compiler, another definition that the linker has chosen, or
//! one of a preloaded library has another address. What has no summary resolves nothing: the segment stays
//! opaque.
//!
//! Sections are kept as they are registered; they are read and joined at the next quiet moment ([`settle`]),
//! when constructs begin that ask for verdicts, and never at a failure.

mod read;
mod solve;

use super::tables::{self, Verdict};
use crate::sys::lock::Locked;
use core::sync::atomic::{AtomicBool, Ordering::*};
use std::collections::HashMap;

/// The sections of an object: from where to where.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Object {
    summaries: (usize, usize),
    assumptions: (usize, usize),
}

static OBJECTS: Locked<Vec<Object>> = Locked::new(Vec::new());
/// Objects have come or gone since the last joining. Set with release after the list has changed; whoever
/// takes it joins.
static CHANGED: AtomicBool = AtomicBool::new(false);

/// An object has been loaded that has such sections.
///
/// # Safety
/// As the code that promp-cc adds calls it: the sections are as plugin/src/join.cc writes them, and
/// stay until [`unregister`].
pub unsafe fn register(summaries: (usize, usize), assumptions: (usize, usize)) {
    OBJECTS.with(|o| o.push(Object { summaries, assumptions }));
    CHANGED.store(true, Release);
}

/// An object goes.
pub fn unregister(summaries: (usize, usize), assumptions: (usize, usize)) {
    let gone = Object { summaries, assumptions };
    OBJECTS.with(|objects| {
        if let Some(i) = objects.iter().position(|o| *o == gone) {
            objects.swap_remove(i);
        }
    });
    CHANGED.store(true, Release);
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
        if objects.iter().all(|o| o.assumptions.0 == o.assumptions.1) {
            return Vec::new();
        }
        // SAFETY: the sections of loaded objects, by the promise of `register`.
        let functions: HashMap<usize, solve::Summary> =
            objects.iter().flat_map(|o| unsafe { read::summaries(o.summaries) }).collect();
        objects
            .iter()
            // SAFETY: likewise.
            .flat_map(|o| unsafe { read::assumptions(o.assumptions) })
            .map(|(last, a)| (last, solve::decide(&a, &functions)))
            .collect::<Vec<_>>()
    });
    tables::improve(
        verdicts
            .into_iter()
            .map(|(last, d)| {
                let verdict = match d.verdict {
                    0 => Verdict::Idempotent,
                    1 => Verdict::Undo,
                    _ => Verdict::Opaque,
                };
                (last, verdict, String::leak(d.text + "\0").as_ptr() as usize)
            })
            .collect(),
    );
}
