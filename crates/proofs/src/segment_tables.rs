//! What promp-cc has proved: the tables of the loaded objects.
//!
//! An object built with promp-cc has a section of segments (crates/layouts/src/segment_entries.rs has its
//! layout; plugin/src/segments/tables.cc writes it), and registers it when it is loaded. Lookups happen at
//! failures, and once for each call site of a worksharing construct (work/site.rs).
//!
//! The list of entries is replaced as a whole: a release store after it is made, acquire loads. Old lists
//! are kept: a reader may be at work, and objects are loaded rarely.

use crate::sys::lock::Locked;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
pub use promp_layouts::Verdict;
use promp_layouts::{
    SEGMENT_DEALT, SEGMENT_ENTRY, SEGMENT_SHARED, SEGMENT_TOLD, SEGMENT_VERDICT, SEGMENT_WORDS,
};

/// An entry, with absolute addresses.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The return address of the call at the segment's start lies behind this one …
    first: usize,
    /// … and not behind this one.
    last: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// What is lost of a chunk may be executed by any thread of the team.
    pub shared: bool,
    /// Its code says what it writes, as far as others can see it (`promp_wrote`).
    pub told: bool,
    /// The iterations of the static loop that starts here may be dealt in any way.
    pub dealt: bool,
    entry: bool,
    text: usize,
    /// The object's code can save old values in this runtime.
    undoes: bool,
}

impl Entry {
    /// "file:line: verdict".
    pub fn text(&self) -> &'static str {
        // SAFETY: a text in the object's constant data; the object is loaded while its entries are in the
        // list.
        unsafe { core::ffi::CStr::from_ptr(self.text as *const libc::c_char) }.to_str().unwrap_or("?")
    }

    /// "file:line".
    pub fn place(&self) -> &'static str {
        self.text().split(": ").next().unwrap_or("?")
    }
}

static LIST: AtomicPtr<Vec<Entry>> = AtomicPtr::new(core::ptr::null_mut());
/// The sections that make it up: (start, entries).
static OBJECTS: Locked<Vec<(usize, Vec<Entry>)>> = Locked::new(Vec::new());
/// Changes with the list: what was learned of call sites before is out of date.
pub static GENERATION: AtomicU32 = AtomicU32::new(0);

fn list() -> &'static [Entry] {
    // SAFETY: null, or a list that is never freed.
    unsafe { LIST.load(Acquire).as_ref() }.map_or(&[], |v| v)
}

/// Has any object tables?
#[inline]
pub fn any() -> bool {
    !LIST.load(Relaxed).is_null()
}

/// Has an object one, where `here` says so of addresses?
pub fn any_at(here: impl Fn(usize) -> bool) -> bool {
    list().iter().any(|e| here(e.last))
}

/// Changes whenever objects come or go. Acquire: who reads the list afterwards sees one not older than this.
#[inline]
pub fn generation() -> u32 {
    GENERATION.load(Acquire)
}

/// Reads a section of `words`. `undoes`: the object's code can save old values in this runtime.
///
/// # Safety
/// A section as promp-cc writes it.
unsafe fn read(words: &[i32], undoes: bool) -> Vec<Entry> {
    let target = |w: &i32| (core::ptr::from_ref(w) as usize).wrapping_add_signed(*w as isize);
    words
        .chunks_exact(SEGMENT_WORDS)
        .map(|e| (e, e[2] as u32))
        .map(|(e, word)| Entry {
            first: target(&e[0]),
            last: target(&e[1]),
            verdict: match Verdict::of(word & SEGMENT_VERDICT) {
                Some(Verdict::Idempotent) => Verdict::Idempotent,
                Some(Verdict::Undo) if undoes => Verdict::Undo,
                _ => Verdict::Opaque,
            },
            shared: word & SEGMENT_SHARED != 0,
            told: word & SEGMENT_TOLD != 0,
            dealt: word & SEGMENT_DEALT != 0,
            entry: word & SEGMENT_ENTRY != 0,
            text: target(&e[3]),
            undoes,
        })
        .collect()
}

fn change(f: impl FnOnce(&mut Vec<(usize, Vec<Entry>)>)) {
    OBJECTS.with(|objects| {
        f(objects);
        let mut all: Vec<Entry> = objects.iter().flat_map(|o| o.1.iter().copied()).collect();
        all.sort_by_key(|e| (e.last, e.entry));
        LIST.store(Box::into_raw(Box::new(all)), Release);
        GENERATION.fetch_add(1, Release);
    });
}

/// An object has been loaded whose section lies from `start` to `stop`.
///
/// # Safety
/// As the code that promp-cc adds calls it.
pub unsafe fn register(start: *const i32, stop: *const i32, undoes: bool) {
    // SAFETY: by the caller's promise.
    let entries =
        unsafe { read(core::slice::from_raw_parts(start, stop.offset_from(start) as usize), undoes) };
    change(|o| {
        o.retain(|(s, _)| *s != start as usize);
        o.push((start as usize, entries));
    });
}

/// Segments whose assumptions have been looked at (join): the second label of each, its verdict, its text.
/// An entry that assumes nothing is not among them.
pub fn improve(verdicts: Vec<(usize, Verdict, usize)>) {
    change(|objects| {
        for e in objects.iter_mut().flat_map(|o| o.1.iter_mut()) {
            for &(_, verdict, text) in verdicts.iter().filter(|v| v.0 == e.last) {
                let possible = verdict != Verdict::Undo || e.undoes;
                (e.verdict, e.text) = (if possible { verdict } else { Verdict::Opaque }, text);
            }
        }
    });
}

/// An object goes.
pub fn unregister(start: *const i32) {
    change(|o| o.retain(|(s, _)| *s != start as usize));
}

/// Does the call that returns to `address` stand in the object whose section starts at `start`?
pub fn is_of(start: *const i32, address: usize) -> bool {
    let Some(e) = behind_call(address) else { return false };
    OBJECTS.with(|o| o.iter().any(|(s, all)| *s == start as usize && all.iter().any(|x| x.last == e.last)))
}

/// The segment behind the call that returns to `address`.
pub fn behind_call(address: usize) -> Option<Entry> {
    find(list(), address)
}

fn find(list: &[Entry], address: usize) -> Option<Entry> {
    let i = list.partition_point(|e| e.last < address);
    list[i..].iter().take_while(|e| e.last == list[i].last).find(|e| !e.entry && e.first < address).copied()
}

/// The segment at the start of the outlined function at `address`.
pub fn at_entry(address: usize) -> Option<Entry> {
    let l = list();
    let i = l.partition_point(|e| e.last < address);
    l[i..].iter().take_while(|e| e.last == address).find(|e| e.entry).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(first: usize, last: usize) -> Entry {
        Entry {
            first,
            last,
            verdict: Verdict::Idempotent,
            shared: false,
            told: false,
            dealt: false,
            entry: false,
            text: 0,
            undoes: true,
        }
    }

    #[test]
    fn only_a_return_address_between_the_labels_counts() {
        let l = [call(10, 20), call(30, 42)];
        assert_eq!(find(&l, 15).map(|e| e.last), Some(20));
        assert_eq!(find(&l, 20).map(|e| e.last), Some(20));
        assert!(
            find(&l, 10).is_none()
                && find(&l, 25).is_none()
                && find(&l, 30).is_none()
                && find(&l, 43).is_none()
        );
        assert_eq!(find(&l, 31).map(|e| e.last), Some(42));
    }

    #[test]
    fn sections_are_read_as_written() {
        let mut words = vec![0i32; 8];
        let base = words.as_ptr() as usize;
        for (i, (target, flags)) in [(base + 100, 0x801), (base + 300, 0x302)].into_iter().enumerate() {
            for (k, t) in [(0, target), (1, target + 8), (3, target + 64)] {
                words[i * 4 + k] = (t as isize - (base + (i * 4 + k) * 4) as isize) as i32;
            }
            words[i * 4 + 2] = flags;
        }
        // SAFETY: well formed.
        let e = unsafe { read(&words, true) };
        assert_eq!(
            (e[0].first, e[0].last, e[0].verdict, e[0].entry),
            (base + 100, base + 108, Verdict::Undo, false)
        );
        assert_eq!(
            (e[1].text, e[1].verdict, e[1].entry, e[1].shared, e[1].dealt),
            (base + 364, Verdict::Opaque, true, true, false)
        );
        assert!(e[0].dealt && !e[0].shared);
        // SAFETY: well formed.
        assert_eq!(unsafe { read(&words, false) }[0].verdict, Verdict::Opaque);
    }
}
