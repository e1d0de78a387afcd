//! Executes, statement by statement.

use super::bytecode::{Done, End};
use super::machine::{LOCALS, Machine};
use super::value::{Type, UNKNOWN, Value};
use promp_layouts::{FORESIGHT_NONE, Instruction as is, Op};

const TRUTH: Type = Type { bits: 1, signed: false };

impl Machine<'_> {
    /// From `code` on until the function returns.
    pub(crate) fn go(&mut self, mut code: usize) -> Done<Value> {
        let p = self.program;
        loop {
            let end = self.instructions(code, true, false)?;
            let mut edge = match p.instruction(end)? {
                is::Jump => p.offset(end + 1)?,
                is::Test => {
                    let (op, t) = (Op::of(p.word(end + 1)?).ok_or(End)?, p.kind(end + 2)?);
                    let (a, b) = (self.operand(end + 3)?, self.operand(end + 5)?);
                    match self.operation(op, TRUTH, t, a, b).exact().ok_or(End)? {
                        0 => p.offset(end + 8)?,
                        _ => p.offset(end + 7)?,
                    }
                }
                is::Return => return self.operand(end + 1),
                _ => return Err(End),
            };
            loop {
                self.step()?;
                self.moves(edge)?;
                let entered = p.offset(edge + 1)?;
                if entered == 0 || p.word(entered)? == 0 || self.single_steps.contains(&entered) {
                    code = p.offset(p.offset(edge)?)?;
                    break;
                }
                if self.as_a_whole(entered).is_ok() {
                    edge = p.offset(entered + 9)?;
                } else {
                    self.single_steps.insert(entered);
                    code = p.offset(p.offset(edge)?)?;
                    break;
                }
            }
        }
    }

    fn moves(&mut self, edge: usize) -> Done {
        let p = self.program;
        let n = p.offset(edge + 2)?;
        let values: Done<Vec<Value>> = (0..n).map(|k| self.operand(edge + 4 + 3 * k)).collect();
        let from_elsewhere = self.comes_to(p.offset(edge)?)?;
        for (k, v) in values?.into_iter().enumerate() {
            self.set(p.word(edge + 3 + 3 * k)?, if from_elsewhere { UNKNOWN } else { v })?;
        }
        Ok(())
    }

    /// `a` OP `b`; what comes of a local's address, other than an address, is not known: it is made up.
    fn operation(&self, op: Op, to: Type, from: Type, a: Value, b: Value) -> Value {
        let is_made_up = |v: &Value| v.hull(&self.counts).is_some_and(|h| h.1 >= i128::from(LOCALS));
        let is_address = match op {
            Op::Copy | Op::Add | Op::Sub => to.bits == 64,
            Op::Eq | Op::Ne => [a, b].iter().any(|v| v.exact() == Some(0)),
            _ => false,
        };
        if !is_address && (is_made_up(&a) || is_made_up(&b)) {
            return UNKNOWN;
        }
        Value::operation(op, to, from, a, b, &self.counts)
    }

    /// Executes instructions up to the one that ends the block: where that is. `sure`: they are executed in
    /// each iteration of the loops around; `once_more`: and when the innermost one ends.
    pub(crate) fn instructions(&mut self, mut at: usize, sure: bool, once_more: bool) -> Done<usize> {
        let p = self.program;
        loop {
            self.step()?;
            at += match p.instruction(at)? {
                is::Assign => {
                    let op = Op::of(p.word(at + 1)?).ok_or(End)?;
                    let (to, from) = (p.kind(at + 3)?, p.kind(at + 4)?);
                    let v = self.operation(op, to, from, self.operand(at + 5)?, self.operand(at + 7)?);
                    self.set(p.word(at + 2)?, v)?;
                    9
                }
                is::Forget => {
                    self.set(p.word(at + 1)?, UNKNOWN)?;
                    2
                }
                is::Load | is::Store | is::Fill | is::Copy => self.memory_access(at, sure, once_more)?,
                // What a header's functions read when the loop ends is not looked at.
                is::Call if !once_more => {
                    let n = p.offset(at + 3)?;
                    let args = self.operands(at + 4, n)?;
                    let v = self.call(p.offset(at + 1)?, &args, sure)?;
                    let register = p.word(at + 2)?;
                    if register != FORESIGHT_NONE {
                        self.set(register, v)?;
                    }
                    4 + 2 * n
                }
                is::Region | is::Start | is::Next | is::End | is::Barrier | is::Single => {
                    self.together(at)?
                }
                is::Jump | is::Test | is::Return => return Ok(at),
                _ => return Err(End),
            };
        }
    }

    /// The instruction at `at`, which reads or writes memory: how long it is.
    fn memory_access(&mut self, at: usize, sure: bool, once_more: bool) -> Done<usize> {
        let p = self.program;
        Ok(match p.instruction(at)? {
            is::Load => {
                let (t, size, a) = (p.kind(at + 2)?, p.word(at + 3)? as i64, self.operand(at + 4)?);
                if once_more && self.around.len().checked_sub(1).is_some_and(|d| a.terms[d] != 0) {
                    return Err(End);
                }
                self.reads(&a, size)?;
                let register = p.word(at + 1)?;
                if register != FORESIGHT_NONE {
                    let v = self.load(&a, size, t)?;
                    self.set(register, v)?;
                }
                6
            }
            is::Store => {
                let (size, ours) = (p.word(at + 1)? as i64, p.word(at + 2)? != 0);
                let (to, value) = (self.operand(at + 3)?, self.operand(at + 5)?);
                self.write(&to, size, (ours, sure), Some(value).filter(|_| size <= 8))?;
                7
            }
            is::Fill => {
                let (ours, to) = (p.word(at + 1)? != 0, self.operand(at + 2)?);
                let n = self.bytes(at + 4)?;
                if n > 0 {
                    self.write(&to, n, (ours, sure), None)?;
                }
                6
            }
            is::Copy => {
                let (ours, all) = (p.word(at + 1)? != 0, self.operands(at + 2, 2)?);
                let n = self.bytes(at + 6)?;
                if n > 0 {
                    self.reads(&all[1], n)?;
                    self.write(&all[0], n, (ours, sure), None)?;
                }
                8
            }
            _ => return Err(End),
        })
    }

    /// The instruction at `at`, of what the threads of a team do together: how long it is.
    fn together(&mut self, at: usize) -> Done<usize> {
        let p = self.program;
        Ok(match p.instruction(at)? {
            is::Region => {
                self.region(p.offset(at + 1)?, self.operand(at + 2)?)?;
                4
            }
            is::Start => {
                let bounds = [self.operand(at + 2)?, self.operand(at + 4)?, self.operand(at + 6)?];
                let to = [self.operand(at + 8)?, self.operand(at + 10)?];
                let any = self.start(bounds, to, (p.offset(at + 12)?, p.offset(at + 13)?))?;
                self.set(p.word(at + 1)?, Value::of(any.into()))?;
                14
            }
            is::Next => {
                self.next(p.offset(at + 2)?, p.offset(at + 3)?)?;
                self.set(p.word(at + 1)?, Value::of(0))?;
                4
            }
            is::End => {
                self.end(p.word(at + 1)? != 0)?;
                2
            }
            is::Barrier => {
                self.barrier()?;
                1
            }
            is::Single => {
                self.single(p.offset(at + 2)?)?;
                self.set(p.word(at + 1)?, Value::of(1))?;
                3
            }
            _ => return Err(End),
        })
    }

    fn bytes(&self, at: usize) -> Done<i64> {
        self.operand(at)?.exact().filter(|n| *n >= 0).ok_or(End)
    }

    pub(crate) fn call(&mut self, f: usize, args: &[Value], sure: bool) -> Done<Value> {
        let p = self.program;
        let (n, flags) = (p.offset(f + 2)?, p.word(f + 4)?);
        self.enter(f)?;
        for (k, a) in args.iter().enumerate().take(n) {
            let register = p.word(f + 5 + k)?;
            if register != FORESIGHT_NONE {
                self.set(register, *a)?;
            }
        }
        let v = if !self.is_whole() {
            let code = p.offset(p.offset(f + 3)?)?;
            self.go(code)?
        } else if flags & 2 != 0 {
            self.returned = UNKNOWN;
            self.items(f + 5 + n, sure)?;
            if flags & 1 != 0 { self.returned } else { UNKNOWN }
        } else {
            return Err(End);
        };
        // Threads that have parted in it have met in it.
        if self.apart.is_some_and(|a| a.frame == self.frames.len()) {
            return Err(End);
        }
        self.frames.pop();
        Ok(v)
    }
}
