//! Task dependences (OpenMP 5.1, section 2.19.11): the clause's encoding, and a map per generating task from addresses to
//! the sibling tasks that touch them and are not done.
//!
//! mutexinoutset is taken as inout, which also excludes the tasks from each other, in creation order.

use super::Task;
use crate::sys::own::Own;
use core::sync::atomic::Ordering::*;
use std::cell::UnsafeCell;
use std::collections::HashMap;

/// How a task depends on an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// in
    In,
    /// out, inout, mutexinoutset
    Out,
    /// inoutset
    Set,
}

/// One dependence.
pub type Dep = (usize, Kind);

/// Decodes a `depend` argument of `GOMP_task`.
///
/// # Safety
/// `depend` points to an array in the format that GCC emits.
pub unsafe fn decode(depend: *const usize) -> Vec<Dep> {
    let mut out = Vec::new();
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
                if i < writes + mutexes {
                    out.push((entry, Kind::Out));
                } else if i < writes + mutexes + reads {
                    out.push((entry, Kind::In));
                } else {
                    let obj = entry as *const usize;
                    let kind = match *obj.add(1) {
                        1 => Kind::In,
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

/// A task's part in the graph. Guarded by the pool's lock.
#[derive(Default)]
pub struct Node {
    inner: UnsafeCell<(Vec<usize>, Vec<&'static Task>)>,
}

// SAFETY: used under the pool's lock only.
unsafe impl Sync for Node {}

impl Node {
    /// # Safety
    /// The pool's lock is held.
    #[allow(clippy::mut_from_ref)]
    unsafe fn get(&self) -> &mut (Vec<usize>, Vec<&'static Task>) {
        // SAFETY: by the caller's promise.
        unsafe { &mut *self.inner.get() }
    }

    /// The tasks that wait for this one; called under the lock, once.
    pub fn take_dependents(&self) -> Vec<&'static Task> {
        // SAFETY: `TaskPool::done` holds the lock.
        core::mem::take(&mut unsafe { self.get() }.1)
    }
}

type Touch = (Kind, &'static Task);
type Map = HashMap<usize, Vec<Touch>>;

/// Address → the tasks that touch it, in creation order. Guarded by the pool's lock.
#[derive(Default)]
pub struct DependMap {
    map: UnsafeCell<Option<Box<Map>>>,
    used: Own<bool>,
}

// SAFETY: used under the pool's lock only.
unsafe impl Sync for DependMap {}

impl DependMap {
    /// Has any child had dependences?
    pub fn in_use(&self) -> bool {
        self.used.get()
    }

    #[allow(clippy::mut_from_ref)]
    fn map(&self) -> &mut Map {
        self.used.set(true);
        // SAFETY: the pool's lock is held by every caller.
        unsafe { (*self.map.get()).get_or_insert_default() }
    }

    /// Makes `t` wait for what `deps` say. With `enter`, later tasks wait for it in turn. Under the lock.
    pub fn register(&self, t: &'static Task, deps: &[Dep], enter: bool) {
        let map = self.map();
        for &(addr, kind) in deps {
            let touches = map.entry(addr).or_default();
            for &(k, before) in touches.iter() {
                let ordered = match (k, kind) {
                    (Kind::In, Kind::In) | (Kind::Set, Kind::Set) => false,
                    _ => !core::ptr::eq(before, t),
                };
                if ordered {
                    // SAFETY: under the lock.
                    unsafe { before.depends.get() }.1.push(t);
                    t.unmet.fetch_add(1, Relaxed);
                }
            }
            if enter {
                if kind == Kind::Out {
                    // Whoever comes later waits for `t`, which waits for these.
                    touches.retain(|(_, b)| core::ptr::eq(*b, t));
                }
                if !touches.iter().any(|(k, b)| core::ptr::eq(*b, t) && (*k == kind || *k == Kind::Out)) {
                    touches.push((kind, t));
                }
                // SAFETY: under the lock.
                unsafe { t.depends.get() }.0.push(addr);
            }
        }
    }

    /// `t` is done: nobody waits for it any more. Under the lock.
    pub fn forget(&self, t: &'static Task) {
        if !self.used.get() {
            return;
        }
        let map = self.map();
        // SAFETY: under the lock.
        for addr in core::mem::take(&mut unsafe { t.depends.get() }.0) {
            if let Some(touches) = map.get_mut(&addr) {
                touches.retain(|(_, b)| !core::ptr::eq(*b, t));
                if touches.is_empty() {
                    map.remove(&addr);
                }
            }
        }
    }
}
