//! What comes back from a device at a time. A driver's copy takes microseconds, however few bytes it is of:
//! small neighbours in a block come in one, and are taken apart here.

use super::attached_pointers;
use super::backend::{Addr, Backend, Queue};
use super::fail;
use super::map::For;
use super::present::{BlockId, Id, Table};

/// Parts up to this size come with their neighbours ...
const SMALL: usize = 16 << 10;
/// ... that are no farther away than this.
const GAP: usize = 4 << 10;

/// A part of a range, here and there.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    block: BlockId,
    host: usize,
    device: Addr,
    bytes: usize,
}

/// Copies to the host, collected before they are made.
pub(crate) struct Copies {
    list: Vec<Part>,
}

impl Copies {
    /// None yet; perhaps `n`.
    #[inline]
    pub(crate) fn new(table: &mut Table, n: usize) -> Self {
        let mut list = core::mem::take(&mut table.lists.parts);
        list.reserve(n);
        Self { list }
    }

    /// Of a range a part of the host's memory. OpenMP leaves pointers alone that are attached to the
    /// device's memory; OpenACC brings the device's addresses.
    #[inline]
    pub(crate) fn add(&mut self, table: &Table, id: Id, (start, bytes): (usize, usize), purpose: For) {
        let Some(entry) = table.get(id) else { return };
        let (start, end) = (start.max(entry.key.0), (start + bytes).min(entry.key.1));
        let mut part = |from: usize, to: usize| {
            if from < to && !entry.is_host() {
                let (device, bytes) = (entry.translate(from), to - from);
                self.list.push(Part { block: entry.block, host: from, device, bytes });
            }
        };
        if purpose == For::Acc {
            part(start, end)
        } else {
            attached_pointers::between(entry, (start, end), part)
        }
    }

    /// Makes them, in their order. What comes in one piece lies in `staging` meanwhile.
    #[inline]
    pub(crate) fn run(mut self, table: &mut Table, backend: &dyn Backend, queue: Queue) {
        if !self.list.is_empty() {
            self.make(&mut table.staging, backend, queue);
            self.list.clear();
        }
        table.lists.parts = self.list;
    }

    fn make(&self, staging: &mut Vec<u8>, backend: &dyn Backend, queue: Queue) {
        let mut rest = &self.list[..];
        while let Some((first, _)) = rest.split_first() {
            // A queue gets to it when nobody is here any more to take it apart.
            let n = if queue.is_some() { 1 } else { neighbours(rest) };
            let (now, later) = rest.split_at(n);
            if n == 1 {
                copy(backend, first.host, first.device, first.bytes, queue);
            } else {
                let last = now[n - 1];
                let all = last.device + last.bytes - first.device;
                staging.resize(all, 0);
                copy(backend, staging.as_mut_ptr() as usize, first.device, all, queue);
                for p in now {
                    let from = &staging[p.device - first.device..][..p.bytes];
                    // SAFETY: the program's memory, which it has mapped to be written.
                    unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), p.host as *mut u8, p.bytes) };
                }
            }
            rest = later;
        }
        staging.clear();
    }
}

fn copy(backend: &dyn Backend, to: usize, from: Addr, bytes: usize, queue: Queue) {
    if !backend.copy_out(to, from, bytes, queue) {
        fail(format_args!("{bytes} bytes could not be copied from the device"));
    }
}

/// How many parts from the first on come in one piece.
fn neighbours(parts: &[Part]) -> usize {
    let joins = |pair: &[Part]| {
        let (a, b) = (pair[0], pair[1]);
        let behind = b.device.checked_sub(a.device + a.bytes).is_some_and(|gap| gap <= GAP);
        a.block == b.block && behind && a.bytes <= SMALL && b.bytes <= SMALL
    };
    1 + parts.windows(2).take_while(|pair| joins(pair)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_neighbours_of_one_block_come_together() {
        let part = |block, device, bytes| Part { block, host: 0, device, bytes };
        let joined = |parts: &[Part]| neighbours(parts);
        assert_eq!(joined(&[part(1, 0, 4), part(1, 8, 4), part(1, 16, SMALL), part(1, 40_000, 4)]), 3);
        assert_eq!(joined(&[part(1, 0, 4), part(2, 8, 4)]), 1);
        assert_eq!(joined(&[part(1, 0, 4), part(1, 4 + GAP, 4), part(1, 0, 4)]), 2);
        assert_eq!(joined(&[part(1, 0, SMALL + 1), part(1, SMALL + 1, 4)]), 1);
        // One that overlaps the one before is another copy.
        assert_eq!(joined(&[part(1, 0, 8), part(1, 4, 8)]), 1);
    }
}
