//! Variables of `declare target` on a device that runs the host's versions of functions. These name the
//! host's variables, so each stands for itself on the device: it is there, at its own address, and
//! nothing is copied.
//!
//! Pointers among them are an exception, and the pointers in Fortran's descriptors: as soon as one was mapped
//! with what it points to, the device's pointer differs from the host's. While a region runs the variable
//! holds the device's ([`Pointers`]).
//!
//! Which they are GCC writes into a section of each object, whether the object has an image for a device or
//! not: pairs of address and size, filled in by the loader.

use super::State;
use super::backend::{Backend, Properties};
use super::images::LINK;
use super::present::Key;
use crate::sys::lock::Locked;
use crate::sys::objects;
use std::collections::BTreeMap;

/// The variables that a device knows.
#[derive(Default)]
pub(crate) struct Declared {
    /// How often objects had come and gone when they were looked for; 0: never.
    seen: u64,
    variables: Vec<Key>,
}

/// Pointers of which the device has a value of its own.
#[derive(Default)]
pub(crate) struct Pointers {
    /// By address; the other side's value: the device's while no region runs, else the host's.
    other: BTreeMap<usize, usize>,
    regions: usize,
}

impl Pointers {
    /// The device's value of the pointer at `addr`.
    pub(crate) fn set(&mut self, addr: usize, value: usize) {
        match self.other.get_mut(&addr) {
            Some(v) if self.regions == 0 => *v = value,
            _ => {
                let known = self.other.contains_key(&addr);
                let before = exchange(addr, value);
                if self.regions == 0 {
                    exchange(addr, before);
                }
                if !known {
                    self.other.insert(addr, if self.regions == 0 { value } else { before });
                }
            }
        }
    }

    /// The host's value of the pointer at `addr`.
    pub(crate) fn host(&self, addr: usize) -> usize {
        match self.other.get(&addr) {
            Some(&value) if self.regions > 0 => value,
            // SAFETY: a pointer of the program.
            _ => unsafe { (addr as *const usize).read_unaligned() },
        }
    }

    /// The device uses the host's value again.
    pub(crate) fn forget(&mut self, addr: usize) {
        if let Some(value) = self.other.remove(&addr)
            && self.regions > 0
        {
            exchange(addr, value);
        }
    }

    /// Is there any?
    pub(crate) fn is_empty(&self) -> bool {
        self.other.is_empty()
    }

    /// A region begins (`1`) or ends (`-1`): the first and the last of several change sides.
    pub(crate) fn region(&mut self, n: isize) {
        let before = self.regions;
        self.regions = before.wrapping_add_signed(n);
        if before == 0 || self.regions == 0 {
            self.other.iter_mut().for_each(|(&addr, value)| *value = exchange(addr, *value));
        }
    }
}

fn exchange(addr: usize, value: usize) -> usize {
    // SAFETY: a pointer in a variable of the program that is loaded.
    unsafe { (addr as *mut usize).replace(value) }
}

/// A region begins on a device that runs the host's functions.
pub(crate) fn region_begins(state: &mut State, backend: &dyn Backend) {
    region(state, backend, 1);
}

/// ... and has ended.
pub(crate) fn region_ends(state: &mut State, backend: &dyn Backend) {
    region(state, backend, -1);
}

fn region(state: &mut State, backend: &dyn Backend, n: isize) {
    if !backend.properties().native {
        return;
    }
    // What is executed again to be verified has to find the same pointers.
    if !state.table.pointers.is_empty() {
        backend.handed_out();
    }
    state.table.pointers.region(n);
}

fn all() -> Vec<Key> {
    objects::section(b".gnu.offload_vars")
        .into_iter()
        .flat_map(|words| words.chunks_exact(2).map(|w| (w[0], w[0] + (w[1] & !LINK))).collect::<Vec<_>>())
        .filter(|v| v.0 != 0 && v.0 < v.1)
        .collect()
}

/// Bytes of all variables.
pub(crate) fn size() -> usize {
    known().iter().map(|v| v.1 - v.0).sum()
}

/// So many are looked at before and after a kernel that is to be executed again.
pub(crate) const MOST: usize = 1 << 20;

/// What is in the variables now; nothing if the device has its own.
pub(crate) fn contents(device: &Properties) -> Vec<u8> {
    if !device.native {
        return Vec::new();
    }
    // SAFETY: variables of loaded objects.
    let bytes = |&(start, end): &Key| unsafe { core::slice::from_raw_parts(start as *const u8, end - start) };
    known().iter().flat_map(bytes).copied().collect()
}

/// The variables as they were found last, with the state of the loaded objects then.
static KNOWN: Locked<(u64, Vec<Key>)> = Locked::new((0, Vec::new()));

fn known() -> Vec<Key> {
    let now = objects::changes();
    KNOWN.with(|(seen, list)| {
        if *seen != now {
            (*seen, *list) = (now, all());
        }
        list.clone()
    })
}

/// Enters the variables of what is loaded, if that has changed.
pub(crate) fn refresh(state: &mut State) {
    let now = objects::changes();
    if state.declared.seen == now {
        return;
    }
    let all = known();
    for gone in state.declared.variables.iter().filter(|v| !all.contains(v)) {
        if let Some(id) = state.table.exact(*gone) {
            let _ = state.table.remove(id);
        }
        state.table.pointers.other.retain(|&addr, _| addr < gone.0 || addr >= gone.1);
    }
    for &(start, end) in &all {
        if state.table.find(start, end - start).is_none() {
            state.table.insert_for_ever((start, end), start);
        }
    }
    state.declared = Declared { seen: now, variables: all };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_have_two_sides() {
        let (mut variable, mut late) = (1usize, 5usize);
        let (a, b) = ((&raw mut variable) as usize, (&raw mut late) as usize);
        // SAFETY (all reads): the variables above, which are written through their addresses.
        let now = || unsafe { ((a as *const usize).read_volatile(), (b as *const usize).read_volatile()) };
        let mut p = Pointers::default();
        p.set(a, 2);
        p.set(a, 3);
        assert_eq!(now(), (1, 5));
        p.region(1);
        assert_eq!(now(), (3, 5));
        p.region(1);
        p.set(b, 6);
        p.set(a, 4);
        assert_eq!(now(), (4, 6));
        p.region(-1);
        assert_eq!(now(), (4, 6));
        p.region(-1);
        assert_eq!(now(), (1, 5));
        p.forget(b);
        p.region(1);
        assert_eq!(now(), (4, 5));
        p.forget(a);
        assert_eq!(now(), (1, 5));
        p.region(-1);
        assert_eq!(now(), (1, 5));
    }
}
