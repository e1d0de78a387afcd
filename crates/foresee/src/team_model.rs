//! What the threads of a team do together. Who goes ahead stands for all of them.
//!
//! Threads part where a worksharing loop or `single` begins, and meet again at one block, which those come to
//! at once that have nothing to do (the compiler says which). What those that have something to do know there
//! by registers and private memory is unknown: the others do not know it. A path that comes to a barrier or
//! to another construct before ends it: the compiler has joined it with something else.
//!
//! ## Chunks
//! A chunk is any piece of a worksharing loop: it begins at iteration c0 and has c1 + 1 of them, and nobody
//! knows which. So c0 and c1 are the first two of the loops around: the chunk's first iteration is
//! `from + step * c0`, and it ends at `from + step * (c0 + c1 + 1)`. Of what depends on them only reads
//! count, of all that it may be. A loop that begins at the one and ends at the other is executed once for
//! each iteration, by whomever. Its counter is known, and what is as far from the counter in each chunk
//! (an address). A number that a thread carries from one iteration or chunk to the next is not.

use super::accesses::Cell;
use super::bytecode::{Done, End};
use super::machine::{Around, LOCALS, Machine};
use super::value::{UNKNOWN, Value};
use promp_layouts::Op;

/// Levels that stand for a chunk's first iteration and its length.
const OF_CHUNK: usize = 2;

/// The threads have parted, in this frame, at this time, and meet at this block.
#[derive(Clone, Copy)]
pub(crate) struct Apart {
    pub frame: usize,
    pub since: u64,
    pub meets: usize,
    pub shared: Option<Shared>,
}

/// A worksharing loop.
#[derive(Clone, Copy)]
pub(crate) struct Shared {
    from: i64,
    by: i64,
    /// Block of a chunk.
    chunk: usize,
    /// They have met, and are not behind its end.
    met: bool,
}

impl Machine<'_> {
    fn shared(&self) -> Option<Shared> {
        self.apart.and_then(|a| a.shared).filter(|s| !s.met)
    }

    pub(crate) fn levels_of_chunk(&self) -> usize {
        if self.shared().is_some() { OF_CHUNK } else { 0 }
    }

    pub(crate) fn is_in_single(&self) -> bool {
        self.apart.is_some_and(|a| a.shared.is_none())
    }

    /// May the team do something together here?
    fn is_together(&self) -> Done {
        if self.in_region && self.apart.is_none() && !self.is_whole() { Ok(()) } else { Err(End) }
    }

    pub(crate) fn region(&mut self, function: usize, data: Value) -> Done {
        if self.in_region || self.is_whole() {
            return Err(End);
        }
        self.in_region = true;
        self.call(function, &[data], true)?;
        self.barrier()?;
        self.in_region = false;
        Ok(())
    }

    pub(crate) fn barrier(&mut self) -> Done {
        self.is_together()?;
        let mut unsynced = core::mem::take(&mut self.found.unsynced);
        self.found.written.take(&mut unsynced);
        Ok(())
    }

    /// A worksharing loop begins; `at` are where its chunks' bounds are put. Has it iterations?
    pub(crate) fn start(
        &mut self,
        bounds: [Value; 3],
        at: [Value; 2],
        (chunk, meets): (usize, usize),
    ) -> Done<bool> {
        self.is_together()?;
        let [Some(from), Some(to), Some(by)] = bounds.map(|v| v.exact()) else { return Err(End) };
        let (low, high, step) = (i128::from(from), i128::from(to), i128::from(by));
        let (far, step) = if by > 0 { (high - low, step) } else { (low - high, -step) };
        if step == 0 {
            return Err(End);
        }
        let n = if far > 0 { i64::try_from((far + step - 1) / step).map_err(|_| End)? } else { 0 };
        let (mut first, mut end) = (Value::of(from), Value::of(from.checked_add(by).ok_or(End)?));
        (first.terms[0], end.terms[0], end.terms[1]) = (by, by, by);
        for (to, value) in at.into_iter().zip([first, end]) {
            let to = to.exact().filter(|a| *a >= LOCALS).ok_or(End)?;
            self.clock += 1;
            let at = self.clock;
            self.cells.push(Cell { start: to, end: to.checked_add(8).ok_or(End)?, value: Some(value), at });
        }
        let shared = Some(Shared { from, by, chunk, met: false });
        self.apart = Some(Apart { frame: self.frames.len(), since: self.clock, meets, shared });
        self.ids += 1;
        self.around = vec![Around { id: self.ids, shared: false }; OF_CHUNK];
        self.counts = vec![n.max(1); OF_CHUNK];
        self.loaded.clear();
        Ok(n > 0)
    }

    /// All chunks are behind; the one that was looked at was any of them.
    pub(crate) fn next(&self, chunk: usize, meets: usize) -> Done {
        let is_it = self.apart.is_some_and(|a| {
            a.frame == self.frames.len() && a.meets == meets && a.shared.is_some_and(|s| s.chunk == chunk)
        });
        if is_it && self.shared().is_some() && !self.is_whole() { Ok(()) } else { Err(End) }
    }

    pub(crate) fn end(&mut self, barrier: bool) -> Done {
        let apart = self.apart.take().ok_or(End)?;
        if self.is_whole() || apart.frame != self.frames.len() || !apart.shared.is_some_and(|s| s.met) {
            return Err(End);
        }
        if barrier { self.barrier() } else { Ok(()) }
    }

    pub(crate) fn single(&mut self, meets: usize) -> Done {
        self.is_together()?;
        self.apart = Some(Apart { frame: self.frames.len(), since: self.clock, meets, shared: None });
        Ok(())
    }

    /// On the way to `block`: are its variables unknown? Others come to it by other ways: the threads meet
    /// there, or it is that of a chunk.
    pub(crate) fn comes_to(&mut self, block: usize) -> Done<bool> {
        let Some(apart) = self.apart.filter(|a| a.frame == self.frames.len()) else { return Ok(false) };
        if block != apart.meets {
            return Ok(apart.shared.is_some_and(|s| s.chunk == block));
        }
        self.forget_since(apart.since)?;
        for c in self.cells.iter_mut().filter(|c| c.at >= apart.since && c.start >= LOCALS) {
            c.value = None;
        }
        self.around.clear();
        self.counts.clear();
        self.loaded.clear();
        self.apart = apart.shared.map(|s| Apart { shared: Some(Shared { met: true, ..s }), ..apart });
        Ok(true)
    }

    /// Does the loop at level `d`, whose counter is `first` by `step` and which goes on while that, next, is
    /// OP `bound`, execute a chunk's iterations? How many has the worksharing loop?
    pub(crate) fn iterations(
        &self,
        d: usize,
        (first, step): (Value, i64),
        op: Op,
        bound: Value,
    ) -> Option<i64> {
        let s = self.shared().filter(|_| d == OF_CHUNK)?;
        let (mut low, mut high) = (Value::of(s.from), Value::of(s.from.checked_add(s.by)?));
        (low.terms[0], high.terms[0], high.terms[1]) = (s.by, s.by, s.by);
        let goes_on = if s.by > 0 { op == Op::Lt } else { op == Op::Gt } || (op == Op::Ne && s.by.abs() == 1);
        (goes_on && step == s.by && first == low && bound == high).then(|| self.counts[0])
    }

    /// A variable of that loop, `first` where a chunk begins: in each iteration. Unknown, if it depends on
    /// where the chunk began.
    pub(crate) fn of_iteration(first: Value, step: i64) -> Value {
        if !first.is_known || first.terms[0] != step || first.terms[1] != 0 {
            return UNKNOWN;
        }
        let mut v = first;
        (v.terms[0], v.terms[OF_CHUNK]) = (0, step);
        v
    }
}
