//! Goes ahead: see mod.rs.

use super::super::ranges;
use super::blocks::{Block, DIMS, Set};
use super::value::{Op, Type, UNKNOWN, Value};
use std::collections::BTreeSet;

/// "prompahe", version 1.
const MAGIC: u64 = 0x7072_6f6d_7061_0001;
/// So many instructions and blocks; so many calls within each other.
const STEPS: u32 = 300_000;
const CALLS: usize = 24;
/// So many writes are remembered.
const CELLS: usize = 8192;
/// Locals of functions that are called have addresses from here on, which no memory has.
const LOCALS: i64 = 1 << 60;
/// So many pieces of a block with gaps are looked at.
const PIECES: i64 = 512;
/// No register.
const NONE: u64 = u64::MAX;

/// It ends here.
#[derive(Debug)]
struct End;
type Done<T = ()> = Result<T, End>;

struct Frame {
    registers: Vec<Value>,
    /// When each was set.
    set: Vec<u64>,
    locals: i64,
}

/// A loop that is looked at as a whole.
#[derive(Clone, Copy)]
struct Around {
    id: u32,
    /// Its iterations are several threads'.
    shared: bool,
}

/// A variable that is a sum of a loop's steps, or another one of its header's.
struct Phi {
    register: u64,
    first: Value,
    step: i64,
    kind: Type,
}

/// A write in such a loop, to `size` bytes at `to`.
struct Write {
    to: Value,
    size: i64,
    around: Vec<u32>,
    counts: Vec<i64>,
}

/// Bytes that were written, and with what; `None`: it is not known.
struct Cell {
    start: i64,
    end: i64,
    value: Option<i64>,
    at: u64,
}

struct Machine<'a> {
    words: &'a [u64],
    slots: &'a [Option<u64>],
    memory: &'a dyn Fn(usize, &mut [u8]) -> bool,
    frames: Vec<Frame>,
    clock: u64,
    steps: u32,
    around: Vec<Around>,
    counts: Vec<i64>,
    ids: u32,
    /// Loops that cannot be looked at as a whole.
    single_steps: BTreeSet<usize>,
    cells: Vec<Cell>,
    /// Where the loop that is looked at has loaded what must be the same each time.
    loaded: Vec<(i64, i64)>,
    pending: Vec<Write>,
    /// What is written: by now, from the next barrier on.
    written: Set,
    unsynced: Set,
    /// What is read before.
    read: Vec<(usize, usize)>,
    in_region: bool,
    in_single: bool,
    /// Within a worksharing loop: of which frame, since when.
    shared: Option<(usize, u64)>,
    locals: i64,
    returned: Value,
    /// Only to find out how often a loop is executed.
    dry: bool,
}

/// Ranges of `least` bytes or more that are written before they are read, by `program`, from where `slots`
/// say. `memory` reads the program's memory. None if the program is damaged.
pub fn dead(
    program: &[u64],
    slots: &[Option<u64>],
    least: i64,
    memory: &dyn Fn(usize, &mut [u8]) -> bool,
) -> Vec<(usize, usize)> {
    let mut m = Machine {
        words: program,
        slots,
        memory,
        frames: Vec::new(),
        clock: 1,
        steps: 0,
        around: Vec::new(),
        counts: Vec::new(),
        ids: 0,
        single_steps: BTreeSet::new(),
        cells: Vec::new(),
        loaded: Vec::new(),
        pending: Vec::new(),
        written: Set::default(),
        unsynced: Set::default(),
        read: Vec::new(),
        in_region: false,
        in_single: false,
        shared: None,
        locals: LOCALS,
        returned: UNKNOWN,
        dry: false,
    };
    // However it ends: what is known by then.
    let _ = m.begin();
    m.result(least)
}

impl Machine<'_> {
    fn word(&self, at: usize) -> Done<u64> {
        self.words.get(at).copied().ok_or(End)
    }

    fn offset(&self, at: usize) -> Done<usize> {
        self.word(at).map(|w| w as usize)
    }

    /// A number of things that follow.
    fn count(&self, at: usize) -> Done<usize> {
        self.offset(at).and_then(|n| if n < self.words.len() { Ok(n) } else { Err(End) })
    }

    fn step(&mut self) -> Done {
        self.steps += 1;
        if self.steps > STEPS { Err(End) } else { Ok(()) }
    }

    fn begin(&mut self) -> Done {
        if self.word(0)? != MAGIC || self.count(2)? != self.slots.len() {
            return Err(End);
        }
        let function = self.offset(3)?;
        self.in_region = self.word(5)? != 0;
        self.enter(function)?;
        for k in 0..self.count(6)? {
            let (slot, register) = (self.offset(7 + 2 * k)?, self.word(8 + 2 * k)?);
            let value = self.slots.get(slot).copied().flatten().map_or(UNKNOWN, |w| Value::of(w as i64));
            self.set(register, value)?;
        }
        let code = self.offset(4)?;
        self.go(code).map(drop)
    }

    fn result(mut self, least: i64) -> Vec<(usize, usize)> {
        let mut unsynced = core::mem::take(&mut self.unsynced);
        self.written.take(&mut unsynced);
        let mut all = Vec::new();
        for b in self.written.iter() {
            b.pieces(least, PIECES, |start, end| all.push((start as usize, end as usize)));
        }
        ranges::without(&ranges::ordered(all), &ranges::ordered(self.read))
    }

    fn frame(&mut self) -> Done<&mut Frame> {
        self.frames.last_mut().ok_or(End)
    }

    fn set(&mut self, register: u64, value: Value) -> Done {
        self.clock += 1;
        let clock = self.clock;
        let f = self.frame()?;
        *f.registers.get_mut(register as usize).ok_or(End)? = value;
        f.set[register as usize] = clock;
        Ok(())
    }

    /// All that this frame has set since is unknown.
    fn forget_since(&mut self, clock: u64) -> Done {
        let f = self.frame()?;
        for (r, set) in f.registers.iter_mut().zip(&f.set) {
            if *set > clock {
                *r = UNKNOWN;
            }
        }
        Ok(())
    }

    fn operand(&self, at: usize) -> Done<Value> {
        let (kind, word) = (self.word(at)?, self.word(at + 1)?);
        let frame = self.frames.last().ok_or(End)?;
        Ok(match kind {
            0 => Value::of(word as i64),
            1 => *frame.registers.get(word as usize).ok_or(End)?,
            2 => self.slots.get(word as usize).copied().ok_or(End)?.map_or(UNKNOWN, |w| Value::of(w as i64)),
            3 => UNKNOWN,
            4 => Value::of(frame.locals.checked_add(word as i64).ok_or(End)?),
            _ => return Err(End),
        })
    }

    fn kind(&self, at: usize) -> Done<Type> {
        let w = self.word(at)?;
        Ok(Type { bits: (w & 0xff) as u32, signed: w >> 8 & 1 == 1 })
    }

    /// A frame for the function at `f`.
    fn enter(&mut self, f: usize) -> Done {
        let (n, bytes) = (self.count(f)?, self.word(f + 1)?);
        if self.frames.len() >= CALLS || n > 1 << 16 || bytes > 1 << 40 {
            return Err(End);
        }
        let locals = self.locals;
        self.locals = locals.checked_add(bytes as i64 + 64).ok_or(End)?;
        self.frames.push(Frame { registers: vec![UNKNOWN; n], set: vec![0; n], locals });
        Ok(())
    }

    /// Executes, statement by statement, from `code` on until the function returns.
    fn go(&mut self, mut code: usize) -> Done<Value> {
        loop {
            let end = self.instructions(code, true, false)?;
            let mut edge = match self.word(end)? {
                20 => self.offset(end + 1)?,
                21 => {
                    let (op, t) = (Op::of(self.word(end + 1)?).ok_or(End)?, self.kind(end + 2)?);
                    let (a, b) = (self.operand(end + 3)?, self.operand(end + 5)?);
                    let truth = Type { bits: 1, signed: false };
                    match Value::operation(op, truth, t, a, b, &[]).exact().ok_or(End)? {
                        0 => self.offset(end + 8)?,
                        _ => self.offset(end + 7)?,
                    }
                }
                22 => return self.operand(end + 1),
                _ => return Err(End),
            };
            loop {
                self.step()?;
                self.moves(edge)?;
                let entered = self.offset(edge + 1)?;
                if entered == 0 || self.word(entered)? == 0 || self.single_steps.contains(&entered) {
                    code = self.offset(self.offset(edge)?)?;
                    break;
                }
                if self.as_a_whole(entered).is_ok() {
                    edge = self.offset(entered + 9)?;
                } else {
                    self.single_steps.insert(entered);
                    code = self.offset(self.offset(edge)?)?;
                    break;
                }
            }
        }
    }

    fn moves(&mut self, edge: usize) -> Done {
        let n = self.count(edge + 2)?;
        let values: Done<Vec<Value>> = (0..n).map(|k| self.operand(edge + 4 + 3 * k)).collect();
        for (k, v) in values?.into_iter().enumerate() {
            // Whoever does not execute `single` comes here by another way.
            self.set(self.word(edge + 3 + 3 * k)?, if self.in_single { UNKNOWN } else { v })?;
        }
        Ok(())
    }

    /// Looks at the loop as a whole, an outermost one. If that is not possible nothing has happened.
    fn as_a_whole(&mut self, l: usize) -> Done {
        let depth = self.frames.len();
        let frame = self.frame()?;
        let (registers, set) = (frame.registers.clone(), frame.set.clone());
        let done = self.summary(l, true);
        let pending = core::mem::take(&mut self.pending);
        self.around.clear();
        self.counts.clear();
        self.loaded.clear();
        self.dry = false;
        if done.is_err() {
            self.frames.truncate(depth);
            let frame = self.frame()?;
            (frame.registers, frame.set) = (registers, set);
            return Err(End);
        }
        for w in pending {
            self.add(&w);
        }
        Ok(())
    }

    fn add(&mut self, w: &Write) {
        if let Some(b) = block(&w.to, w.size, &w.counts) {
            if self.in_region { self.unsynced.add(b) } else { self.written.add(b) }
        }
    }

    /// A loop, for all of its iterations; `sure`: it is executed in every one of those around.
    fn summary(&mut self, l: usize, sure: bool) -> Done {
        self.step()?;
        let d = self.around.len();
        if self.word(l)? == 0 || d >= DIMS {
            return Err(End);
        }
        let (header, at_end) = (self.offset(l + 1)?, self.word(l + 2)? != 0);
        let (op, t) = (Op::of(self.word(l + 3)?).ok_or(End)?, self.kind(l + 4)?);
        let (counter, plus) = (self.word(l + 5)?, self.word(l + 6)? as i64);
        let phis = self.count(l + 10)?;
        let clock = self.clock;
        let mut first = Vec::new();
        for k in 0..phis {
            let at = l + 11 + 6 * k;
            let v = if self.word(at + 1)? == 0 { UNKNOWN } else { self.operand(at + 2)? };
            first.push(Phi {
                register: self.word(at)?,
                first: v,
                step: self.word(at + 4)? as i64,
                kind: self.kind(at + 5)?,
            });
        }
        let begin = |m: &mut Self| -> Done {
            for p in &first {
                let mut v = p.first;
                v.terms[d] = p.step;
                m.set(p.register, v.fits(p.kind, &m.counts))?;
            }
            Ok(())
        };
        let shared = d == 0 && self.shared.is_some();
        self.ids += 1;
        self.around.push(Around { id: self.ids, shared });
        self.counts.push(1);
        begin(self)?;
        if !at_end {
            let dry = core::mem::replace(&mut self.dry, true);
            let code = self.offset(header)?;
            self.instructions(code, sure, true)?;
            self.dry = dry;
        }
        // How often?
        let init = first.iter().find(|p| p.register == counter).ok_or(End)?;
        let from = init.first.exact().and_then(|x| x.checked_add(plus)).ok_or(End)?;
        let bound = self.operand(l + 7)?.exact().ok_or(End)?;
        let n = repetitions(op, t, (from, init.step), bound).ok_or(End)? + i64::from(at_end);
        self.counts[d] = n.max(1);
        begin(self)?;
        if !at_end {
            let code = self.offset(header)?;
            self.instructions(code, sure, true)?;
            if self.operand(l + 7)?.exact() != Some(bound) {
                return Err(End);
            }
        }
        if n > 0 {
            self.items(l + 11 + 6 * phis, sure)?;
        }
        self.around.pop();
        self.counts.pop();
        self.forget_since(clock)?;
        for p in first {
            let last = p.first.exact().and_then(|x| x.checked_add(p.step.checked_mul(n)?));
            if let Some(x) = last.filter(|_| !at_end) {
                self.set(p.register, Value::of(x).fits(p.kind, &[]))?;
            }
        }
        Ok(())
    }

    /// Blocks and loops, in order.
    fn items(&mut self, at: usize, sure: bool) -> Done {
        for k in 0..self.count(at)? {
            let item = self.word(at + 1 + k)?;
            let (record, sure) = ((item >> 2) as usize, sure && item & 2 != 0);
            if item & 1 != 0 {
                self.summary(record, sure)?;
                continue;
            }
            self.step()?;
            self.joins(record + 1)?;
            let code = self.offset(record)?;
            let end = self.instructions(code, sure, false)?;
            match self.word(end)? {
                20 | 21 => {}
                22 => self.returned = self.operand(end + 1)?,
                _ => return Err(End),
            }
        }
        Ok(())
    }

    /// What comes from several blocks: known if it is the same from all.
    fn joins(&mut self, mut at: usize) -> Done {
        let n = self.count(at)?;
        at += 1;
        let mut values = Vec::new();
        for _ in 0..n {
            let (register, m) = (self.word(at)?, self.count(at + 1)?);
            let all: Done<Vec<Value>> = (0..m).map(|k| self.operand(at + 2 + 2 * k)).collect();
            let all = all?;
            let same = all.iter().all(|v| *v == all[0]);
            values.push((register, if same && m > 0 { all[0] } else { UNKNOWN }));
            at += 2 + 2 * m;
        }
        for (register, v) in values {
            self.set(register, v)?;
        }
        Ok(())
    }

    /// Executes instructions up to the one that ends the block: where that is. `sure`: they are executed in
    /// each iteration of the loops around; `once_more`: and when the innermost one ends.
    fn instructions(&mut self, mut at: usize, sure: bool, once_more: bool) -> Done<usize> {
        loop {
            self.step()?;
            let whole = !self.around.is_empty();
            at += match self.word(at)? {
                1 => {
                    let op = Op::of(self.word(at + 1)?).ok_or(End)?;
                    let (to, from) = (self.kind(at + 3)?, self.kind(at + 4)?);
                    let (a, b) = (self.operand(at + 5)?, self.operand(at + 7)?);
                    let v = Value::operation(op, to, from, a, b, &self.counts);
                    self.set(self.word(at + 2)?, v)?;
                    9
                }
                2 => {
                    self.set(self.word(at + 1)?, UNKNOWN)?;
                    2
                }
                3 => {
                    let (t, size, a) = (self.kind(at + 2)?, self.word(at + 3)?, self.operand(at + 4)?);
                    if once_more && self.around.len().checked_sub(1).is_some_and(|d| a.terms[d] != 0) {
                        return Err(End);
                    }
                    self.reads(&a, size as i64)?;
                    let register = self.word(at + 1)?;
                    if register != NONE {
                        let v = self.load(&a, size as i64, t)?;
                        self.set(register, v)?;
                    }
                    6
                }
                4 => {
                    let (size, counts) = (self.word(at + 1)? as i64, self.word(at + 2)? != 0);
                    let (to, value) = (self.operand(at + 3)?, self.operand(at + 5)?);
                    self.write(&to, size, counts && sure, value.exact().filter(|_| size <= 8))?;
                    7
                }
                5 => {
                    let (counts, to) = (self.word(at + 1)? != 0, self.operand(at + 2)?);
                    let n = self.operand(at + 4)?.exact().filter(|n| *n >= 0).ok_or(End)?;
                    if n > 0 {
                        self.write(&to, n, counts && sure, None)?;
                    }
                    6
                }
                6 => {
                    let (counts, to, from) =
                        (self.word(at + 1)? != 0, self.operand(at + 2)?, self.operand(at + 4)?);
                    let n = self.operand(at + 6)?.exact().filter(|n| *n >= 0).ok_or(End)?;
                    if n > 0 {
                        self.reads(&from, n)?;
                        self.write(&to, n, counts && sure, None)?;
                    }
                    8
                }
                7 => {
                    let n = self.count(at + 3)?;
                    let args: Done<Vec<Value>> = (0..n).map(|k| self.operand(at + 4 + 2 * k)).collect();
                    let v = self.call(self.offset(at + 1)?, &args?, sure)?;
                    let register = self.word(at + 2)?;
                    if register != NONE {
                        self.set(register, v)?;
                    }
                    4 + 2 * n
                }
                8 if !whole && !self.in_region => {
                    let data = self.operand(at + 2)?;
                    self.in_region = true;
                    self.call(self.offset(at + 1)?, &[data], sure)?;
                    if self.shared.is_some() {
                        return Err(End);
                    }
                    self.barrier();
                    self.in_region = false;
                    4
                }
                9 if !whole && self.in_region && self.shared.is_none() && !self.in_single => {
                    let (from, to) = (self.operand(at + 2)?, self.operand(at + 4)?);
                    let by = self.operand(at + 6)?.exact().ok_or(End)?;
                    let (first, last) = (self.operand(at + 8)?, self.operand(at + 10)?);
                    let since = self.clock;
                    let (low, high) = (from.exact().ok_or(End)?, to.exact().ok_or(End)?);
                    self.write(&first, 8, false, Some(low))?;
                    self.write(&last, 8, false, Some(high))?;
                    self.shared = Some((self.frames.len(), since));
                    let any = if by > 0 { low < high } else { low > high };
                    self.set(self.word(at + 1)?, Value::of(any.into()))?;
                    12
                }
                10 if !whole && self.shared.is_some_and(|s| s.0 == self.frames.len()) => {
                    self.set(self.word(at + 1)?, Value::of(0))?;
                    2
                }
                11 if !whole => {
                    let (frame, since) = self.shared.take().ok_or(End)?;
                    if frame != self.frames.len() {
                        return Err(End);
                    }
                    // Private variables: each thread has those of its own chunks.
                    self.forget_since(since)?;
                    for c in &mut self.cells {
                        if c.at >= since && c.start >= LOCALS {
                            c.value = None;
                        }
                    }
                    if self.word(at + 1)? != 0 {
                        self.barrier();
                    }
                    2
                }
                12 if !whole && self.in_region && self.shared.is_none() => {
                    self.barrier();
                    1
                }
                13 if !whole && self.in_region && self.shared.is_none() && !self.in_single => {
                    self.in_single = true;
                    self.set(self.word(at + 1)?, Value::of(1))?;
                    2
                }
                20..=22 => return Ok(at),
                _ => return Err(End),
            };
        }
    }

    fn barrier(&mut self) {
        let mut unsynced = core::mem::take(&mut self.unsynced);
        self.written.take(&mut unsynced);
        self.in_single = false;
    }

    fn call(&mut self, f: usize, args: &[Value], sure: bool) -> Done<Value> {
        let n = self.count(f + 2)?;
        self.enter(f)?;
        for (k, a) in args.iter().enumerate().take(n) {
            let register = self.word(f + 5 + k)?;
            if register != NONE {
                self.set(register, *a)?;
            }
        }
        let v = if self.around.is_empty() {
            let code = self.offset(self.offset(f + 3)?)?;
            self.go(code)?
        } else {
            self.returned = UNKNOWN;
            self.items(f + 5 + n, sure)?;
            if self.word(f + 4)? != 0 { self.returned } else { UNKNOWN }
        };
        self.frames.pop();
        Ok(v)
    }

    /// The bytes that an access of `size` bytes at `a` may touch; `None`: the locals of functions.
    fn hull(&self, a: &Value, size: i64) -> Done<Option<(i64, i64)>> {
        let (low, high) = a.hull(&self.counts).ok_or(End)?;
        let (low, high) = (i64::try_from(low).map_err(|_| End)?, i64::try_from(high).map_err(|_| End)?);
        let end = high.checked_add(size).ok_or(End)?;
        match (low >= LOCALS, end > LOCALS) {
            (true, _) => Ok(None),
            (false, false) if low >= 0 && size > 0 => Ok(Some((low, end))),
            _ => Err(End),
        }
    }

    fn reads(&mut self, a: &Value, size: i64) -> Done {
        if self.dry {
            return Ok(());
        }
        let Some((low, end)) = self.hull(a, size)? else { return Ok(()) };
        let is_written = block(a, size, &self.counts)
            .is_some_and(|b| self.written.contains(&b) || self.is_written_before(a, size, &b));
        if !is_written {
            let new = (low as usize, end as usize);
            match self.read.last_mut() {
                Some(last) if new.0 <= last.1 && last.0 <= new.1 => {
                    *last = (last.0.min(new.0), last.1.max(new.1));
                }
                _ => self.read.push(new),
            }
        }
        Ok(())
    }

    /// Is it written in the same iteration, before?
    fn is_written_before(&self, a: &Value, size: i64, b: &Block) -> bool {
        let before = |w: &&Write| {
            let mut same = 0;
            while same < w.around.len() && same < self.around.len() && w.around[same] == self.around[same].id
            {
                same += 1;
            }
            // By the same steps, so that the two are as far apart in each iteration.
            if (0..same).any(|d| w.to.terms[d] != a.terms[d]) {
                return false;
            }
            let within = |v: &Value, counts: &[i64], size: i64| {
                let mut v = *v;
                v.terms[..same].fill(0);
                v.hull(counts).map(|h| (h.0, h.1 + i128::from(size)))
            };
            let (Some(x), Some(y)) = (within(&w.to, &w.counts, w.size), within(a, &self.counts, size)) else {
                return false;
            };
            // What different iterations touch is apart.
            let mut length = x.1.max(y.1) - x.0.min(y.0);
            let mut steps: Vec<(i128, i128)> = (0..same)
                .filter(|&d| self.counts[d] > 1 && (a.terms[d] != 0 || self.around[d].shared))
                .map(|d| (i128::from(a.terms[d]).abs(), i128::from(self.counts[d])))
                .collect();
            steps.sort_unstable();
            steps.into_iter().all(|(stride, count)| {
                let apart = stride >= length;
                length += stride * (count - 1);
                apart
            })
        };
        let mut all = self.written.clone();
        let mut any = false;
        for w in self.pending.iter().filter(before) {
            if let Some(b) = block(&w.to, w.size, &w.counts) {
                all.add(b);
                any = true;
            }
        }
        any && all.contains(b)
    }

    fn load(&mut self, a: &Value, size: i64, t: Type) -> Done<Value> {
        let Some(at) = a.exact() else { return Ok(UNKNOWN) };
        let end = at.checked_add(size).ok_or(End)?;
        if !self.around.is_empty() {
            self.loaded.push((at, end));
        }
        if let Some(c) = self.cells.iter().rev().find(|c| c.start < end && at < c.end) {
            let is_it = c.start == at && c.end == end;
            return Ok(c.value.filter(|_| is_it).map_or(UNKNOWN, |x| Value::of(t.of(x))));
        }
        if !(1..=8).contains(&size) || !(0..LOCALS).contains(&at) {
            return Ok(UNKNOWN);
        }
        let mut bytes = [0; 8];
        let is_there = (self.memory)(at as usize, &mut bytes[..size as usize]);
        Ok(if is_there { Value::of(t.of(i64::from_le_bytes(bytes))) } else { UNKNOWN })
    }

    /// `counts`: it is written for sure, and nobody but the program's own code of this unit reads it.
    fn write(&mut self, to: &Value, size: i64, counts: bool, value: Option<i64>) -> Done {
        if self.dry {
            return Err(End);
        }
        let hull = self.hull(to, size)?;
        let (low, high) = to.hull(&self.counts).ok_or(End)?;
        let (start, end) = (low as i64, (high as i64).checked_add(size).ok_or(End)?);
        let whole = !self.around.is_empty();
        if self.loaded.iter().any(|l| l.0 < end && start < l.1) || self.cells.len() >= CELLS {
            return Err(End);
        }
        // What `single` writes to private memory is one thread's.
        let value = value.filter(|_| !whole && to.exact().is_some() && !(self.in_single && hull.is_none()));
        self.clock += 1;
        match self.cells.last_mut() {
            Some(c) if c.start == start && c.end == end && c.value.is_none() && value.is_none() => {
                c.at = self.clock;
            }
            _ => self.cells.push(Cell { start, end, value, at: self.clock }),
        }
        if counts && hull.is_some() && to.more == 0 {
            let around = self.around.iter().map(|a| a.id).collect();
            let w = Write { to: *to, size, around, counts: self.counts.clone() };
            if whole { self.pending.push(w) } else { self.add(&w) }
        }
        Ok(())
    }
}

/// The bytes of all iterations.
fn block(a: &Value, size: i64, counts: &[i64]) -> Option<Block> {
    let loops: Vec<(i64, i64)> = a.terms.iter().copied().zip(counts.iter().copied()).collect();
    Block::new(a.first, a.more.checked_add(size)?, &loops)
}

/// How often the counter, from `from` by `step`, goes on while it is OP `bound`.
fn repetitions(op: Op, t: Type, (from, step): (i64, i64), bound: i64) -> Option<i64> {
    if !t.signed && (from < 0 || bound < 0) {
        return None;
    }
    let (a, b, s) = (i128::from(from), i128::from(bound), i128::from(step));
    // Towards `high`, which is not reached.
    let up = |a: i128, high: i128, s: i128| match (a >= high, s > 0) {
        (true, _) => Some(0),
        (false, true) => Some((high - a + s - 1) / s),
        _ => None,
    };
    let n = match op {
        Op::Lt => up(a, b, s),
        Op::Le => up(a, b + 1, s),
        Op::Gt => up(-a, -b, -s),
        Op::Ge => up(-a, -b + 1, -s),
        Op::Ne if a == b => Some(0),
        Op::Ne if s != 0 && (b - a) % s == 0 && (b - a) / s > 0 => Some((b - a) / s),
        _ => None,
    }?;
    let end = i64::try_from(a + s * n).ok()?;
    (t.of(end) == end).then_some(i64::try_from(n).ok()?)
}
