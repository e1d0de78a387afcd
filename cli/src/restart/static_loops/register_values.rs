//! What registers and places in the stack hold, as far as it comes of a static loop's numbers.

use iced_x86::{Instruction, OpKind, Register};
use std::collections::BTreeMap;

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tag {
    /// n, by the call that returns to this address.
    Size(u64),
    /// t.
    Number(u64),
    Quotient,
    Remainder,
    /// A multiple of q.
    Part,
    /// q * t; q * t + r, where the thread begins; where it ends.
    Product,
    Low,
    End,
    /// What comes of the beginning: an element's address.
    Along,
    /// ... and of q: the address behind the last element.
    Bound,
}
use Tag::*;

impl Tag {
    /// May not be used otherwise.
    pub fn is_followed(self) -> bool {
        !matches!(self, Product | Low | Along)
    }
}

pub fn followed(t: Option<&Tag>) -> Result<(), Option<Tag>> {
    match t {
        Some(t) if t.is_followed() => Err(Some(*t)),
        _ => Ok(()),
    }
}

/// What a conditional jump would depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Flags {
    #[default]
    Else,
    /// q.
    Count,
    /// Has the thread iterations? By the beginning and the end, or the end and the beginning.
    LowEnd,
    EndLow,
}

/// What registers (by their full width) and places in the stack (by register and distance) hold.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Held {
    pub registers: BTreeMap<u32, Tag>,
    pub stack: BTreeMap<(u32, u64), Tag>,
    /// t and r have been compared, and t is not multiplied yet: nothing else is done in between.
    pub compared: bool,
    pub flags: Flags,
    /// The thread has iterations, as was tested.
    pub inside: bool,
}

/// Registers that a called function keeps.
pub const KEPT: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

impl Held {
    pub fn any(&self) -> Option<Tag> {
        self.registers.values().chain(self.stack.values()).find(|t| t.is_followed()).copied()
    }

    pub fn after_call(&mut self) {
        self.registers.retain(|r, _| KEPT.iter().any(|k| *k as u32 == *r));
    }

    /// A place in the stack's frame.
    pub fn place(i: &Instruction) -> Option<(u32, u64)> {
        let frame = matches!(i.memory_base(), Register::RSP | Register::RBP);
        (frame && i.memory_index() == Register::None)
            .then(|| (i.memory_base() as u32, i.memory_displacement64()))
    }

    pub fn get(&self, i: &Instruction, k: u32) -> Option<Tag> {
        match i.op_kind(k) {
            OpKind::Register => self.registers.get(&(i.op_register(k).full_register() as u32)).copied(),
            OpKind::Memory => self.stack.get(&Self::place(i)?).copied(),
            _ => None,
        }
    }

    /// Operand 0 is written.
    pub fn set(&mut self, i: &Instruction, tag: Option<Tag>) -> Result<(), Option<Tag>> {
        match i.op_kind(0) {
            OpKind::Register => {
                let r = i.op_register(0).full_register() as u32;
                match tag {
                    Some(t) => self.registers.insert(r, t),
                    None => self.registers.remove(&r),
                };
            }
            OpKind::Memory => match (Self::place(i), tag) {
                (Some(p), Some(t)) => drop(self.stack.insert(p, t)),
                (Some(p), None) => drop(self.stack.remove(&p)),
                (None, t) => followed(t.as_ref())?,
            },
            _ => {}
        }
        Ok(())
    }
}
