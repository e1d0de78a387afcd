//! The kernel's object (vDSO) over a restart: the one of the run, which libc's pointers lead to, under a
//! kernel that has another one (sys/kernel/vdso.rs).
//!
//! A checkpoint names it by its content, and the directory has a copy. No checkpoint is taken while a
//! thread executes it: what it has read there would not be true any more. A restart under another kernel is
//! refused all the same if a thread may have been interrupted in it by a signal, in whose handler it is:
//! that is seen by what is on its stack.

use crate::image::{self, Context, Description, Map, MappedFile, file_copies};
use crate::keep;
use crate::memory;
use crate::seats::Seat;
use crate::sys::maps;
use crate::sys::signals::Interrupted;
use crate::sys::vdso::{self, Own};
use core::sync::atomic::{AtomicUsize, Ordering::*};
use std::fs::File;
use std::path::Path;

/// Where it is, in the kept region. Zeroed memory: not known.
#[derive(Default)]
pub struct Places {
    /// The kernel's own: first address, and the one behind it.
    own: [AtomicUsize; 2],
    /// The one of the run, if that is another one.
    former: [AtomicUsize; 2],
}

impl Places {
    fn holds(range: &[AtomicUsize; 2], at: usize) -> bool {
        (range[0].load(Relaxed)..range[1].load(Relaxed)).contains(&at)
    }

    fn set(range: &[AtomicUsize; 2], start: usize, end: usize) {
        range[0].store(start, Relaxed);
        range[1].store(end, Relaxed);
    }

    /// Is the one of the run put in the place of the kernel's?
    pub fn are_two(&self) -> bool {
        self.former[1].load(Relaxed) != 0
    }
}

/// Is `m` the object of the run, put there by [`settle`]?
pub fn is_former(m: &Map) -> bool {
    keep::if_on().is_some_and(|k| Places::holds(&k.kernel.former, m.start))
}

/// Does the thread that is frozen in `seat` execute it?
pub fn is_executed_by(seat: &Seat) -> bool {
    let context = seat.context.load(Relaxed) as *const libc::c_void;
    // SAFETY: the kernel's, of a thread that is frozen.
    let pc = unsafe { Interrupted::from_context(context) }.pc;
    let places = &keep::get().kernel;
    Places::holds(&places.own, pc) || Places::holds(&places.former, pc)
}

/// Looks where it is; how to know it again. The first time, at the beginning of a run or of a restart.
pub fn recognise() -> Option<MappedFile> {
    let own = vdso::own()?;
    let places = &keep::get().kernel;
    if !places.are_two() {
        Places::set(&places.own, own.start, own.end);
    }
    Some(known(own.bytes()))
}

fn known(bytes: &[u8]) -> MappedFile {
    MappedFile { path: "[vdso]".into(), length: bytes.len() as u64, sum: image::sum(bytes), changed: 0 }
}

/// Keeps a copy of it in `dir`, if there is none; as [`file_copies::keep`].
pub fn keep_copy(dir: &Path, which: &MappedFile) -> Result<Option<File>, String> {
    if keep::get().kernel.are_two() {
        return Ok(None);
    }
    let own = vdso::own().ok_or("the kernel does not say where it is")?;
    file_copies::keep(dir, which, Some(own.bytes())).map(Some)
}

/// In a process that goes on from the checkpoint that `about` describes, with libraries where they were:
/// the object that there was is where it was. True if that is not the kernel's own.
pub fn settle(dir: &Path, about: &Description) -> Result<bool, String> {
    let mut own = vdso::own().ok_or("the kernel's vDSO is not to be found")?;
    let places = &keep::get().kernel;
    Places::set(&places.own, own.start, own.end);
    let Some(kernel) = &about.kernel else {
        return match own.start == about.vdso {
            true => Ok(false),
            false => {
                Err("the kernel's vDSO lies at another address, and the checkpoint does not have it".into())
            }
        };
    };
    if own.start == about.vdso && known(own.bytes()).sum == kernel.sum {
        return Ok(false);
    }
    let differs = |why: String| format!("this kernel's vDSO is another one than that of the run, and {why}");
    let copy = file_copies::place(dir, kernel);
    let mut old = image::open_directory(dir)
        .and_then(|folder| file_copies::read(&folder, dir, kernel))
        .map_err(|why| differs(format!("of that one there is no copy: {why}")))?;
    if known(&old).sum != kernel.sum
        || old.len() % image::PAGE != 0
        || !about.vdso.is_multiple_of(image::PAGE)
    {
        return Err(differs(format!("its copy {} is damaged", copy.display())));
    }
    let (start, end) = (about.vdso, about.vdso + old.len());
    let new = own.bytes().to_vec();
    if own.meets(start, end) || about.maps.iter().any(|m| own.meets(m.start, m.end)) {
        make_room(&mut own, &new, &about.maps, (start, end)).map_err(differs)?;
        Places::set(&places.own, own.start, own.end);
    }
    vdso::lead(&mut old, &new, own.start).map_err(differs)?;
    // SAFETY: only where nothing is mapped; the object of a kernel for such processes.
    unsafe { vdso::put(&old, start) }
        .map_err(|e| differs(format!("its place at {start:x} is taken (error {e})")))?;
    Places::set(&places.former, start, end);
    Ok(true)
}

/// The kernel's own object goes where there is nothing, now or in `maps`, nor in [start, end).
fn make_room(own: &mut Own, new: &[u8], maps: &[Map], (start, end): (usize, usize)) -> Result<(), String> {
    const MARGIN: usize = 1 << 20;
    const LOWEST: usize = 1 << 32;
    let functions = vdso::functions(new).ok_or("it has no table of functions")?;
    let mut taken: Vec<(usize, usize)> = maps::all().iter().chain(maps).map(|m| (m.start, m.end)).collect();
    taken.push((start, end));
    taken.sort_unstable();
    let len = own.span().1;
    // The highest gap but the one into which the stack grows.
    let top = taken.iter().rposition(|t| maps::all().iter().any(|m| m.path == "[stack]" && m.start == t.0));
    let below = &taken[..top.unwrap_or(taken.len())];
    let to = (1..below.len()).rev().find_map(|i| {
        let before = below[..i].iter().map(|t| t.1).max().unwrap_or(0);
        let to = below[i].0.checked_sub(MARGIN + len)?;
        (to >= LOWEST && to >= before + MARGIN).then_some(to)
    });
    let to = to.ok_or("there is no place to move it to")?;
    let from: Vec<usize> = functions.iter().map(|f| own.start + f.at).collect();
    // SAFETY: nothing is there, and only this host is at work; none of its calls reads a clock until the
    // pointers follow.
    unsafe { own.make_room(to) }.map_err(|e| format!("it cannot be moved (error {e})"))?;
    let now: Vec<usize> = functions.iter().map(|f| own.start + f.at).collect();
    const MOST: usize = 64 << 20;
    let holds_pointers = |m: &Map| {
        m.prot & (libc::PROT_READ | libc::PROT_EXEC) == libc::PROT_READ
            && !m.shared
            && m.end - m.start <= MOST
    };
    for m in memory::mappings().iter().filter(|m| holds_pointers(m)) {
        // SAFETY: private memory of a process whose program has not begun.
        unsafe { vdso::redirect(m, &from, &now) };
    }
    Ok(())
}

/// With the program's memory put back, under a kernel with another object: is a thread in the one of then,
/// or in a handler that has interrupted it there? Then it cannot go on.
pub fn is_free(contexts: &[Context], maps: &[Map]) -> Result<(), String> {
    /// So much of a stack is looked at.
    const MOST: usize = 1 << 20;
    let places = &keep::get().kernel;
    if !places.are_two() {
        return Ok(());
    }
    let [start, end] = places.former.each_ref().map(|w| w.load(Relaxed));
    // SAFETY: put there by `settle`.
    let object = unsafe { core::slice::from_raw_parts(start as *const u8, end - start) };
    let beginnings: Vec<usize> =
        vdso::functions(object).unwrap_or_default().iter().map(|f| start + f.at).chain([start]).collect();
    // Below the functions lie the object's tables: what points there is data.
    let code = beginnings.iter().copied().filter(|b| *b > start).min().unwrap_or(start);
    let is_within = |word: usize| (code..end).contains(&word) && !beginnings.contains(&word);
    for c in contexts {
        // SAFETY: the kernel's context of the thread, in memory that was put back.
        let at = unsafe { Interrupted::from_context(c.context as *const libc::c_void) };
        let stack = maps.iter().find(|m| m.start <= at.sp && at.sp < m.end && m.prot & libc::PROT_READ != 0);
        let words = stack.map_or(0, |m| (m.end - at.sp).min(MOST) / 8);
        // SAFETY: the thread's stack.
        let is_on_stack = |i: usize| is_within(unsafe { ((at.sp + 8 * i) as *const usize).read_unaligned() });
        if is_within(at.pc) || (0..words).any(is_on_stack) {
            return Err(
                "this kernel's vDSO is another one, and a thread was executing that of the run; an older \
                 checkpoint may do (`promp restart --generation`)"
                    .into(),
            );
        }
    }
    Ok(())
}
