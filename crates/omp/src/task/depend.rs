//! Task dependences (OpenMP 5.1, section 2.19.11): the clause's encoding, and a map per generating task from addresses to
//! the sibling tasks that touch them and are not done. The map has a lock, which a task's creation and its end take once each.
//!
//! `omp_all_memory`, a null address, stands for all addresses: such a task waits for every sibling with
//! dependences that is not done, and later ones for it.
//!
//! mutexinoutset is taken as inout, which also excludes the tasks from each other, in creation order.
//!
//! Memory is kept for reuse: that of a task's node with the task, an address's entry in the map for as long as not too many lie idle.

use super::Task;
pub use crate::observe::event::Dep;
use crate::observe::event::{Depend as Kind, Event};
use crate::sys::lock::Locked;
use crate::team::thread::Thread;
use core::hash::{BuildHasherDefault, Hasher};
use core::sync::atomic::Ordering::*;
use smallvec::SmallVec;
use std::cell::UnsafeCell;
use std::collections::HashMap;

/// A clause's dependences: most have a few.
pub(crate) type Deps = SmallVec<[Dep; 8]>;

/// Decodes a `depend` argument of `GOMP_task`.
///
/// # Safety
/// `depend` points to an array in the format that GCC emits.
pub unsafe fn decode(depend: *const usize) -> Deps {
    let mut out = Deps::new();
    // SAFETY: by the caller's promise the counts at the front describe the array; a depobj is two words.
    unsafe {
        let word = |i: usize| *depend.add(i);
        if word(0) != 0 {
            let (n, writes) = (word(0), word(1));
            for i in 0..n {
                out.push((word(2 + i), if i < writes { Kind::Out } else { Kind::In }));
            }
        } else {
            let (n, writes, mutexes, reads) = (word(1), word(2), word(3), word(4));
            for i in 0..n {
                let entry = word(5 + i);
                if i < writes {
                    out.push((entry, Kind::Out));
                } else if i < writes + mutexes {
                    out.push((entry, Kind::Mutex));
                } else if i < writes + mutexes + reads {
                    out.push((entry, Kind::In));
                } else {
                    let obj = entry as *const usize;
                    let kind = match *obj.add(1) {
                        1 => Kind::In,
                        4 => Kind::Mutex,
                        5 => Kind::Set,
                        _ => Kind::Out,
                    };
                    out.push((*obj, kind));
                }
            }
        }
    }
    out
}

/// A task's part in the graph, guarded by the lock of its parent's map.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Node {
    /// Is the task in the graph, and not done?
    active: Guarded<bool>,
    /// The tasks that wait for it.
    dependents: Guarded<SmallVec<[&'static Task; 4]>>,
    /// Entries of the addresses it depends on.
    touched: Guarded<SmallVec<[u32; 4]>>,
}

/// Data guarded by the map's lock, which every user of this module holds.
#[derive(Default)]
struct Guarded<T>(UnsafeCell<T>);

// SAFETY: used under the map's lock only.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    #[allow(clippy::mut_from_ref)]
    fn get(&self) -> &mut T {
        // SAFETY: the lock is held, and no caller keeps the reference.
        unsafe { &mut *self.0.get() }
    }
}

/// The tasks that touch an address and are not done, in creation order; those before the last `Out` are left out.
#[derive(Default)]
struct Entry {
    address: usize,
    touches: SmallVec<[(Kind, &'static Task); 2]>,
}

/// Entries without tasks that are kept.
const IDLE: usize = 1024;

#[derive(Default)]
struct Map {
    index: HashMap<usize, u32, BuildHasherDefault<Multiply>>,
    entries: Vec<Entry>,
    /// Entries of no address.
    free: Vec<u32>,
    /// Entries of an address that no task touches.
    idle: usize,
    /// Tasks not done that depend on all memory.
    all: usize,
}

/// The address that the compiler gives for `omp_all_memory`.
const ALL_MEMORY: usize = 0;

impl Map {
    /// Makes `t` wait for tasks that depend on all memory, or, if it does so itself, for all.
    fn wait_across(&self, t: &'static Task, deps: &[Dep], waits: impl Fn(&'static Task)) -> u32 {
        let everything = deps.iter().any(|d| d.0 == ALL_MEMORY);
        if !everything && self.all == 0 {
            return 0;
        }
        let mut unmet = 0;
        for e in self.entries.iter().filter(|e| everything || e.address == ALL_MEMORY) {
            for &(_, before) in e.touches.iter().filter(|(_, b)| !core::ptr::eq(*b, t)) {
                before.node.dependents.get().push(t);
                waits(before);
                unmet += 1;
            }
        }
        unmet
    }

    fn entry(&mut self, address: usize) -> u32 {
        let (free, entries, idle) = (&mut self.free, &mut self.entries, &mut self.idle);
        let i = *self.index.entry(address).or_insert_with(|| {
            *idle += 1;
            free.pop().unwrap_or_else(|| {
                entries.push(Entry::default());
                (entries.len() - 1) as u32
            })
        });
        self.entries[i as usize].address = address;
        i
    }

    fn forget(&mut self, t: &'static Task, i: u32) {
        let e = &mut self.entries[i as usize];
        let before = e.touches.len();
        e.touches.retain(|(_, b)| !core::ptr::eq(*b, t));
        if e.address == ALL_MEMORY {
            self.all = e.touches.len();
        }
        if before > 0 && e.touches.is_empty() {
            self.idle += 1;
            if self.idle > IDLE {
                self.idle -= 1;
                self.index.remove(&e.address);
                self.free.push(i);
            }
        }
    }
}

/// Addresses are hashed by a multiplication (Knuth, The Art of Computer Programming, vol. 3, section 6.4): they come from the program itself.
#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_usize(b.into()));
    }
    fn write_usize(&mut self, n: usize) {
        let x = (self.0 ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = x ^ x >> 32;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// The dependences among a task's children.
#[derive(Default)]
pub(crate) struct Children(Locked<Map>);

impl Children {
    /// Those of `parent`'s children; made when they are needed first, by the thread that executes it.
    pub(crate) fn of(parent: &Task) -> &'static Children {
        parent.depends.get().unwrap_or_else(|| {
            let c: &'static Children = Box::leak(Box::default());
            parent.depends.set(Some(c));
            c
        })
    }

    /// Makes `t`, which `thr` has created, wait for what `deps` say. With `enter`, later tasks wait for it in
    /// turn. True if it has nothing to wait for. With `TELL` somebody may listen.
    pub(crate) fn register<const TELL: bool>(
        &self,
        thr: &'static Thread,
        t: &'static Task,
        deps: &[Dep],
        enter: bool,
    ) -> bool {
        let waits = |before: &'static Task| {
            if TELL {
                thr.tell(Event::TaskWaits { task: &t.words, before: &before.words });
            }
        };
        self.0.with(|map| {
            let mut unmet = map.wait_across(t, deps, waits);
            for &(address, kind) in deps {
                let i = map.entry(address);
                let touches = &mut map.entries[i as usize].touches;
                // Tasks that depend on all memory have been seen to.
                for &(k, before) in touches.iter().filter(|_| address != ALL_MEMORY) {
                    let free = matches!((k, kind), (Kind::In, Kind::In) | (Kind::Set, Kind::Set));
                    if !free && !core::ptr::eq(before, t) {
                        before.node.dependents.get().push(t);
                        waits(before);
                        unmet += 1;
                    }
                }
                if !enter {
                    continue;
                }
                if touches.is_empty() {
                    map.idle -= 1;
                }
                if kind >= Kind::Out {
                    // Whoever comes later waits for `t`, which waits for these.
                    touches.retain(|(_, b)| core::ptr::eq(*b, t));
                }
                if !touches.iter().any(|(k, b)| core::ptr::eq(*b, t) && (*k == kind || *k >= Kind::Out)) {
                    touches.push((kind, t));
                }
                if address == ALL_MEMORY {
                    map.all = touches.len();
                }
                t.node.touched.get().push(i);
            }
            *t.node.active.get() = enter;
            t.unmet.store(unmet, Relaxed);
            unmet == 0
        })
    }

    /// `t` is done: nobody waits for it any more. `next` gets the tasks that have nothing to wait for now.
    pub(crate) fn done(&self, t: &'static Task, mut next: impl FnMut(&'static Task)) {
        self.0.with(|map| {
            *t.node.active.get() = false;
            for d in t.node.dependents.get().drain(..) {
                if d.unmet.fetch_sub(1, AcqRel) == 1 {
                    next(d);
                }
            }
            for i in t.node.touched.get().drain(..) {
                map.forget(t, i);
            }
        });
    }

    /// Returns when nobody is in [`Children::done`] who began before.
    pub(crate) fn settle(&self) {
        self.0.with(|_| ());
    }
}

impl Node {
    /// Is the task in the graph? Asked by the thread that has executed it.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        // SAFETY: written when the task is registered, before it can be executed, and when it is done, by its thread.
        unsafe { *self.active.0.get() }
    }
}
