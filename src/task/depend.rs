//! Task dependences (OpenMP 5.1, section 2.19.11): the clause's encoding, and a map per generating task from addresses to
//! the sibling tasks that touch them and are not done.
//!
//! mutexinoutset is taken as inout, which also excludes the tasks from each other, in creation order.

use super::Task;
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

/// A task's part in the graph: the addresses it depends on, and the tasks that wait for it. Guarded by the pool's lock.
#[derive(Default)]
pub struct Node {
    addresses: Guarded<Vec<usize>>,
    dependents: Guarded<Vec<&'static Task>>,
}

impl Node {
    /// The tasks that wait for this one; called under the lock, once.
    pub fn take_dependents(&self) -> Vec<&'static Task> {
        core::mem::take(self.dependents.get())
    }
}

/// Data guarded by the pool's lock, which every user of this module holds.
#[derive(Default)]
struct Guarded<T>(UnsafeCell<T>);

// SAFETY: used under the pool's lock only.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    #[allow(clippy::mut_from_ref)]
    fn get(&self) -> &mut T {
        // SAFETY: the lock is held, and no caller keeps the reference.
        unsafe { &mut *self.0.get() }
    }
}

type Touch = (Kind, &'static Task);

/// The dependences among a task's children: address → the tasks that touch it, in creation order. Guarded by the pool's lock.
#[derive(Default)]
pub struct Children {
    map: Guarded<HashMap<usize, Vec<Touch>>>,
}

impl Children {
    /// Those of `parent`'s children; made when they are needed first.
    pub fn of(parent: &Task) -> &'static Children {
        parent.depends.get().unwrap_or_else(|| {
            let c: &'static Children = Box::leak(Box::default());
            parent.depends.set(Some(c));
            c
        })
    }

    /// Makes `t` wait for what `deps` say. With `enter`, later tasks wait for it in turn. Under the lock.
    pub fn register(&self, t: &'static Task, deps: &[Dep], enter: bool) {
        t.unmet.store(0, Relaxed);
        let map = self.map.get();
        let node = enter.then(|| {
            let n: &'static Node = Box::leak(Box::default());
            t.node.set(Some(n));
            n
        });
        for &(addr, kind) in deps {
            let touches = map.entry(addr).or_default();
            for &(k, before) in touches.iter() {
                let ordered = match (k, kind) {
                    (Kind::In, Kind::In) | (Kind::Set, Kind::Set) => false,
                    _ => !core::ptr::eq(before, t),
                };
                if ordered && let Some(b) = before.node.get() {
                    b.dependents.get().push(t);
                    t.unmet.fetch_add(1, Relaxed);
                }
            }
            let Some(node) = node else { continue };
            if kind == Kind::Out {
                // Whoever comes later waits for `t`, which waits for these.
                touches.retain(|(_, b)| core::ptr::eq(*b, t));
            }
            if !touches.iter().any(|(k, b)| core::ptr::eq(*b, t) && (*k == kind || *k == Kind::Out)) {
                touches.push((kind, t));
            }
            node.addresses.get().push(addr);
        }
    }

    /// `t` is done: nobody waits for it any more. Under the lock.
    pub fn forget(&self, t: &'static Task, node: &Node) {
        let map = self.map.get();
        for addr in core::mem::take(node.addresses.get()) {
            if let Some(touches) = map.get_mut(&addr) {
                touches.retain(|(_, b)| !core::ptr::eq(*b, t));
                if touches.is_empty() {
                    map.remove(&addr);
                }
            }
        }
    }
}
