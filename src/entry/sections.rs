//! `GOMP_sections_*`. Sections are numbered from 1; 0 means that none is left.

use super::loops::{end, end_cancel, end_nowait, enter_with};
use crate::save::{self, SaveKind};
use crate::stub;
use crate::team::thread::{Thread, current};
use crate::work::dispenser::Range;
use crate::work::loops::{self, Light};
use crate::work::want::Want;

#[inline(never)]
fn hand_out(thr: &'static Thread) -> u32 {
    give(thr, loops::next(thr, thr.member()))
}

fn give(thr: &'static Thread, section: Option<Range>) -> u32 {
    let n = section.map_or(0, |r| r.lo as u32 + 1);
    save::point(thr, if n > 0 { SaveKind::Section } else { SaveKind::After(0) });
    n
}

extern "C" fn start(count: u32) -> u32 {
    let thr = current();
    let m = thr.member();
    match loops::enter_plain(thr, m, &Want::of_sections(count, thr.call_site(), false)) {
        (_, Light::Chunk(i, _)) => i as u32 + 1,
        (_, Light::Nothing) => 0,
        (share, Light::Ask) => give(thr, loops::first(thr, m, share)),
    }
}

extern "C" fn start_with(count: u32, reductions: *mut usize, mem: *mut usize) -> u32 {
    let thr = current();
    let want = Want::of_sections(count, thr.call_site(), false);
    // SAFETY: the compiler's arguments.
    unsafe { enter_with(thr, Some(&want), |_| (), reductions, mem) };
    hand_out(thr)
}

extern "C" fn next() -> u32 {
    let thr = current();
    if thr.saving.get() {
        return hand_out(thr);
    }
    match loops::next_lightly(thr) {
        Light::Chunk(i, _) => i as u32 + 1,
        Light::Nothing => 0,
        Light::Ask => hand_out(thr),
    }
}

stub! {
    GOMP_sections_start => start;
    GOMP_sections2_start => start_with;
    GOMP_sections_next => next;
    GOMP_sections_end => end;
    GOMP_sections_end_nowait => end_nowait;
    GOMP_sections_end_cancel => end_cancel;
}
