//! Loops that are looked at as a whole: one pass over the body finds what all iterations read and write.

use super::blocks::DIMS;
use super::bytecode::{Done, End};
use super::machine::{Around, Machine};
use super::value::{Type, UNKNOWN, Value};
use promp_layouts::{Instruction, Op};

/// A variable that is a sum of a loop's steps, or another one of its header's.
struct Phi {
    register: u64,
    first: Value,
    step: i64,
    kind: Type,
}

impl Machine<'_> {
    /// Looks at the loop as a whole, an outermost one. If that is not possible nothing has happened.
    pub(crate) fn as_a_whole(&mut self, l: usize) -> Done {
        let (depth, levels) = (self.frames.len(), self.around.len());
        let frame = self.frame()?;
        let (registers, set) = (frame.registers.clone(), frame.set.clone());
        let clock = self.clock;
        let done = self.summary(l, true);
        self.forget_cells(clock);
        let pending = core::mem::take(&mut self.pending);
        self.around.truncate(levels);
        self.counts.truncate(levels);
        // What a chunk has loaded must be the same until the threads meet.
        if levels == 0 {
            self.loaded.clear();
        }
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

    /// The variables of a loop's header.
    fn phis(&mut self, l: usize) -> Done<Vec<Phi>> {
        let p = self.program;
        let mut all = Vec::new();
        for k in 0..p.offset(l + 10)? {
            let at = l + 11 + 6 * k;
            let (register, step, kind) = (p.word(at)?, p.word(at + 4)? as i64, p.kind(at + 5)?);
            let first = if p.word(at + 1)? == 0 { UNKNOWN } else { self.operand(at + 2)? };
            all.push(Phi { register, first, step, kind });
        }
        Ok(all)
    }

    /// The variables are what they are in any iteration of the loop at level `d`; `shared`: of a chunk.
    fn begin_iterations(&mut self, all: &[Phi], shared: bool, d: usize) -> Done {
        for p in all {
            let v = if shared {
                Self::of_iteration(p.first, p.step)
            } else {
                let mut v = p.first;
                v.terms[d] = p.step;
                v
            };
            self.set(p.register, v.fits(p.kind, &self.counts))?;
        }
        Ok(())
    }

    /// The variables are what they are after `n` iterations, as far as that is known.
    fn end_iterations(&mut self, all: &[Phi], n: i64) -> Done {
        for p in all {
            let last = p.first.exact().and_then(|x| x.checked_add(p.step.checked_mul(n)?));
            if let Some(x) = last {
                self.set(p.register, Value::of(x).fits(p.kind, &[]))?;
            }
        }
        Ok(())
    }

    /// A loop, for all of its iterations; `sure`: it is executed in every one of those around.
    fn summary(&mut self, l: usize, sure: bool) -> Done {
        self.step()?;
        let (d, p) = (self.around.len(), self.program);
        if p.word(l)? == 0 || d >= DIMS {
            return Err(End);
        }
        let (header, at_end) = (p.offset(l + 1)?, p.word(l + 2)? != 0);
        let (op, t) = (Op::of(p.word(l + 3)?).ok_or(End)?, p.kind(l + 4)?);
        let (counter, plus) = (p.word(l + 5)?, p.word(l + 6)? as i64);
        let clock = self.clock;
        let all = self.phis(l)?;
        let init = all.iter().find(|p| p.register == counter).ok_or(End)?;
        // Those of a chunk, whichever it is.
        let bound = self.operand(l + 7)?;
        let shared = self
            .iterations(d, (init.first, init.step), op, bound)
            .filter(|_| at_end && plus == init.step && (t.bits >= 32 && t.signed));
        self.ids += 1;
        // Where its iterations are whose is not known, nobody's are the same.
        self.around.push(Around { id: self.ids, shared: self.levels_of_chunk() == d && d > 0 });
        self.counts.push(1);
        self.begin_iterations(&all, shared.is_some(), d)?;
        if !at_end {
            let dry = core::mem::replace(&mut self.dry, true);
            let code = p.offset(header)?;
            self.instructions(code, sure, true)?;
            self.dry = dry;
        }
        // How often?
        let bound = self.operand(l + 7)?.exact();
        let n = match shared {
            Some(n) => n,
            None => {
                let from = init.first.exact().and_then(|x| x.checked_add(plus)).ok_or(End)?;
                let n = repetitions(op, t, (from, init.step), bound.ok_or(End)?).ok_or(End)?;
                n.checked_add(at_end.into()).ok_or(End)?
            }
        };
        self.counts[d] = n.max(1);
        self.begin_iterations(&all, shared.is_some(), d)?;
        if !at_end {
            let code = p.offset(header)?;
            self.instructions(code, sure, true)?;
            if self.operand(l + 7)?.exact() != bound {
                return Err(End);
            }
        }
        if n > 0 {
            self.items(l + 11 + 6 * all.len(), sure)?;
        }
        self.around.pop();
        self.counts.pop();
        self.forget_since(clock)?;
        self.forget_cells(clock);
        if !at_end {
            self.end_iterations(&all, n)?;
        }
        Ok(())
    }

    /// Blocks and loops, in order.
    pub(crate) fn items(&mut self, at: usize, sure: bool) -> Done {
        let p = self.program;
        for k in 0..p.offset(at)? {
            let item = p.word(at + 1 + k)?;
            let (record, sure) = ((item >> 2) as usize, sure && item & 2 != 0);
            if item & 1 != 0 {
                self.summary(record, sure)?;
                continue;
            }
            self.step()?;
            self.joins(record + 1)?;
            let code = p.offset(record)?;
            let end = self.instructions(code, sure, false)?;
            match p.instruction(end)? {
                Instruction::Jump | Instruction::Test => {}
                Instruction::Return => self.returned = self.operand(end + 1)?,
                _ => return Err(End),
            }
        }
        Ok(())
    }

    /// What comes from several blocks: known if it is the same from all.
    fn joins(&mut self, mut at: usize) -> Done {
        let p = self.program;
        let n = p.offset(at)?;
        at += 1;
        let mut values = Vec::new();
        for _ in 0..n {
            let (register, m) = (p.word(at)?, p.offset(at + 1)?);
            let all = self.operands(at + 2, m)?;
            let first = all.first().copied().unwrap_or(UNKNOWN);
            values.push((register, if all.iter().all(|v| *v == first) { first } else { UNKNOWN }));
            at += 2 + 2 * m;
        }
        for (register, v) in values {
            self.set(register, v)?;
        }
        Ok(())
    }
}

/// How often the counter, from `from` by `step`, goes on while it is OP `bound`.
pub(crate) fn repetitions(op: Op, t: Type, (from, step): (i64, i64), bound: i64) -> Option<i64> {
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
