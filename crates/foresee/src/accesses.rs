//! What is loaded, stored, read and written while a program is executed on the side.

use super::blocks::{Block, Set};
use super::bytecode::{Done, End};
use super::machine::{LOCALS, Machine, Write};
use super::value::{Type, UNKNOWN, Value};

/// So many writes are remembered.
const CELLS: usize = 8192;

/// Bytes that were written, and with what; `None`: it is not known.
pub(crate) struct Cell {
    pub start: i64,
    pub end: i64,
    pub value: Option<Value>,
    pub at: u64,
}

impl Machine<'_> {
    /// The bytes that an access of `size` bytes at `a` may touch; `None`: the locals of functions.
    fn hull(&self, a: &Value, size: i64) -> Done<Option<(i64, i64)>> {
        let (low, high) = a.hull(&self.counts).ok_or(End)?;
        let (low, high) = (i64::try_from(low).map_err(|_| End)?, i64::try_from(high).map_err(|_| End)?);
        let end = high.checked_add(size).ok_or(End)?;
        match (low >= LOCALS, end > LOCALS) {
            _ if size <= 0 => Err(End),
            (true, _) => Ok(None),
            (false, false) if low >= 0 => Ok(Some((low, end))),
            _ => Err(End),
        }
    }

    pub(crate) fn reads(&mut self, a: &Value, size: i64) -> Done {
        if self.dry {
            return Ok(());
        }
        let Some((low, end)) = self.hull(a, size)? else { return Ok(()) };
        let is_written = block(a, size, &self.counts)
            .is_some_and(|b| self.found.written.contains(&b) || self.is_written_before(a, size, &b));
        if !is_written {
            let new = (low as usize, end as usize);
            match self.found.read.last_mut() {
                Some(last) if new.0 <= last.1 && last.0 <= new.1 => {
                    *last = (last.0.min(new.0), last.1.max(new.1));
                }
                _ => self.found.read.push(new),
            }
        }
        Ok(())
    }

    /// Is it written in the same iteration, before?
    fn is_written_before(&self, a: &Value, size: i64, b: &Block) -> bool {
        let mut all: Option<Set> = None;
        for w in self.pending.iter().filter(|w| self.is_before(w, a, size).unwrap_or(false)) {
            if let Some(b) = block(&w.to, w.size, &w.counts) {
                all.get_or_insert_with(|| self.found.written.clone()).add(b);
            }
        }
        all.is_some_and(|s| s.contains(b))
    }

    /// Are the bytes of `w` that an access to `size` bytes at `a` touches those of the same iteration?
    fn is_before(&self, w: &Write, a: &Value, size: i64) -> Option<bool> {
        let same = w.around.iter().zip(&self.around).take_while(|(w, a)| **w == a.id).count();
        // By the same steps, so that the two are as far apart in each iteration.
        if w.to.terms[..same] != a.terms[..same] {
            return Some(false);
        }
        let within = |v: &Value, counts: &[i64], size: i64| {
            let mut v = *v;
            v.terms[..same].fill(0);
            v.hull(counts).map(|h| (h.0, h.1 + i128::from(size)))
        };
        let (x, y) = (within(&w.to, &w.counts, w.size)?, within(a, &self.counts, size)?);
        // What different iterations touch is apart.
        let mut length = x.1.max(y.1).checked_sub(x.0.min(y.0))?;
        let mut steps: Vec<(i128, i128)> = (0..same)
            .filter(|&d| self.counts[d] > 1 && (a.terms[d] != 0 || self.around[d].shared))
            .map(|d| (i128::from(a.terms[d]).abs(), i128::from(self.counts[d])))
            .collect();
        steps.sort_unstable();
        for (stride, count) in steps {
            if stride < length {
                return Some(false);
            }
            length = length.checked_add(stride.checked_mul(count - 1)?)?;
        }
        Some(true)
    }

    pub(crate) fn load(&mut self, a: &Value, size: i64, t: Type) -> Done<Value> {
        let Some(at) = a.exact() else { return Ok(UNKNOWN) };
        let end = at.checked_add(size).ok_or(End)?;
        if !self.around.is_empty() {
            self.loaded.push((at, end));
        }
        if let Some(c) = self.cells.iter().rev().find(|c| c.start < end && at < c.end) {
            let is_it = c.start == at && c.end == end;
            return Ok(c.value.filter(|_| is_it).map_or(UNKNOWN, |v| v.fits(t, &self.counts)));
        }
        if !(1..=8).contains(&size) || !(0..LOCALS).contains(&at) {
            return Ok(UNKNOWN);
        }
        let mut bytes = [0; 8];
        let is_there = (self.memory)(at as usize, &mut bytes[..size as usize]);
        Ok(if is_there { Value::of(t.of(i64::from_le_bytes(bytes))) } else { UNKNOWN })
    }

    /// `ours`: nobody but this unit's own code reads it. `sure`: it is written in each iteration
    /// of the loops around.
    pub(crate) fn write(
        &mut self,
        to: &Value,
        size: i64,
        (ours, sure): (bool, bool),
        value: Option<Value>,
    ) -> Done {
        if self.dry {
            return Err(End);
        }
        let hull = self.hull(to, size)?;
        let (low, high) = to.hull(&self.counts).ok_or(End)?;
        let (start, end) = (low as i64, (high as i64).checked_add(size).ok_or(End)?);
        if self.loaded.iter().any(|l| l.0 < end && start < l.1) || self.cells.len() >= CELLS {
            return Err(End);
        }
        let whole = self.is_whole();
        // What `single` writes to private memory is one thread's.
        let of_one = self.is_in_single() && hull.is_none();
        // In a loop it is known in the iteration that has put it into private memory (`forget_cells`).
        let is_known = |v: &Value| if whole { sure && hull.is_none() } else { v.exact().is_some() };
        let value = value.filter(|v| !of_one && to.exact().is_some() && is_known(v));
        self.clock += 1;
        match self.cells.last_mut() {
            Some(c) if c.start == start && c.end == end && c.value.is_none() && value.is_none() => {
                c.at = self.clock;
            }
            _ => self.cells.push(Cell { start, end, value, at: self.clock }),
        }
        // What depends on where a chunk begins is not written for all that it may be.
        let is_all = to.terms[..self.levels_of_chunk()].iter().all(|t| *t == 0);
        if ours && sure && hull.is_some() && to.more == 0 && is_all {
            let around = self.around.iter().map(|a| a.id).collect();
            let w = Write { to: *to, size, around, counts: self.counts.clone() };
            if whole { self.pending.push(w) } else { self.add(&w) }
        }
        Ok(())
    }

    /// What was put into memory since is not known any more.
    pub(crate) fn forget_cells(&mut self, clock: u64) {
        self.cells.iter_mut().rev().take_while(|c| c.at > clock).for_each(|c| c.value = None);
    }

    pub(crate) fn add(&mut self, w: &Write) {
        if let Some(b) = block(&w.to, w.size, &w.counts) {
            if self.in_region { self.found.unsynced.add(b) } else { self.found.written.add(b) }
        }
    }
}

/// The bytes of all iterations.
fn block(a: &Value, size: i64, counts: &[i64]) -> Option<Block> {
    let loops: Vec<(i64, i64)> = a.terms.iter().copied().zip(counts.iter().copied()).collect();
    Block::new(a.first, a.more.checked_add(size)?, &loops)
}
