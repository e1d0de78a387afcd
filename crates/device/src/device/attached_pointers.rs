//! Pointers in mapped memory that are attached: on the device they point to the device's copy of what the
//! host's point to. Copies of the memory around them, to the device or back, leave them as they are.

use super::backend::{Addr, Backend, Queue};
use super::fail;
use super::items::Item;
use super::present::{Entry, Id, Table};

/// Counts a pointer in mapped memory as attached: where it lies on the device and, if this is the first
/// time, what is to be written there. `None`: it is not mapped.
pub(crate) fn attach(table: &mut Table, item: &Item, may_be_empty: bool) -> Option<(Addr, Option<usize>)> {
    let id = table.find(item.addr, size_of::<usize>())?;
    let entry = table.get_mut(id)?;
    let (at, offset) = (entry.translate(item.addr), item.addr - entry.key.0);
    let times = entry.attached_mut().entry(offset).or_insert(0);
    *times += 1;
    if *times > 1 {
        return Some((at, None));
    }
    let to = table.pointers.host(item.addr);
    let first = to.wrapping_add(item.size);
    let target = match table.find(first, 0) {
        _ if to == 0 => 0,
        Some(k) => table.translate(k, first).wrapping_sub(item.size),
        None if may_be_empty => 0,
        None => fail(format_args!(
            "the pointer at {:#x} is to be attached to {first:#x}, which is not mapped",
            item.addr
        )),
    };
    let done = set_declared(table, id, item.addr, target);
    Some((at, (!done).then_some(target)))
}

/// The reverse of [`attach`]: where the host's pointer is to be written, if it is no longer attached and lies
/// elsewhere on the device.
pub(crate) fn detach(table: &mut Table, addr: usize, finally: bool) -> Option<Addr> {
    let id = table.find(addr, size_of::<usize>())?;
    let entry = table.get_mut(id)?;
    let offset = addr - entry.key.0;
    let attached = entry.attached_mut();
    let times = attached.get_mut(&offset)?;
    *times = if finally { 0 } else { *times - 1 };
    let gone = *times == 0;
    if gone {
        attached.remove(&offset);
    }
    if gone && table.is_host(id) {
        table.pointers.forget(addr);
        return None;
    }
    gone.then(|| table.translate(id, addr))
}

/// Writes the host's pointer over the device's.
pub(crate) fn restore(backend: &dyn Backend, at: Addr, addr: usize, queue: Queue) {
    if !backend.copy_in(at, addr, size_of::<usize>(), queue) {
        fail(format_args!("a pointer could not be copied to the device"));
    }
}

/// Sets a pointer in the range `id` on the device: true if it is one of the host's, and nothing is left
/// to be written.
pub(crate) fn set_declared(table: &mut Table, id: Id, addr: usize, to: usize) -> bool {
    let host = table.is_host(id);
    if host {
        table.pointers.set(addr, to);
    }
    host
}

/// Hands over the parts of `[from, to)` of the host's memory, which lies in the range `entry`, that hold no
/// attached pointers: of what has a counterpart on the device.
#[inline]
pub(crate) fn between(entry: &Entry, (from, to): (usize, usize), mut f: impl FnMut(usize, usize)) {
    let mut at = from;
    if entry.is_host() {
        return;
    }
    if entry.is_plain() {
        if from < to {
            f(from, to);
        }
        return;
    }
    for offset in entry.attached() {
        let pointer = entry.key.0 + offset;
        if pointer + size_of::<usize>() <= at || pointer >= to {
            continue;
        }
        if at < pointer {
            f(at, pointer);
        }
        at = pointer + size_of::<usize>();
    }
    if at < to {
        f(at, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_pointers_are_left_out_of_copies() {
        let mut t = Table::default();
        let block = t.block(4096, false);
        let id = t.insert((1000, 1100), block, 4096, 1);
        let parts = |t: &Table, range| {
            let mut list = Vec::new();
            between(t.get(id).expect("there"), range, |a, b| list.push((a, b)));
            list
        };
        assert_eq!(parts(&t, (1000, 1100)), [(1000, 1100)]);
        let pointers = [1000, 1016, 1024, 1092];
        *t.get_mut(id).expect("there").attached_mut() = pointers.map(|p| (p - 1000, 1)).into();
        assert_eq!(parts(&t, (1000, 1100)), [(1008, 1016), (1032, 1092)]);
        assert_eq!(parts(&t, (1010, 1040)), [(1010, 1016), (1032, 1040)]);
        assert_eq!(parts(&t, (1016, 1024)), []);
        assert_eq!(parts(&t, (1040, 1041)), [(1040, 1041)]);
    }
}
