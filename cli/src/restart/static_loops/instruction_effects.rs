//! What an instruction makes of what is held.

use super::register_values::Tag::*;
use super::register_values::{Flags, Held, Tag, followed};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

/// The sum of two.
pub fn sum(a: Option<Tag>, b: Option<Tag>) -> Result<Option<Tag>, Option<Tag>> {
    match (a, b) {
        (Some(Product), Some(Remainder)) | (Some(Remainder), Some(Product)) => Ok(Some(Low)),
        (Some(Low), Some(Quotient)) | (Some(Quotient), Some(Low)) => Ok(Some(End)),
        (Some(Low | Along), Some(Quotient | Part)) | (Some(Quotient | Part), Some(Low | Along)) => {
            Ok(Some(Bound))
        }
        (Some(End | Bound), x) if !x.is_some_and(Tag::is_followed) => Ok(a),
        (x, Some(End | Bound)) if !x.is_some_and(Tag::is_followed) => Ok(b),
        _ => {
            followed(a.as_ref()).and_then(|()| followed(b.as_ref()))?;
            Ok([a, b].iter().any(|t| matches!(t, Some(Low | Along))).then_some(Along))
        }
    }
}

/// A multiple of it.
pub fn scaled(tag: Option<Tag>) -> Result<Option<Tag>, Option<Tag>> {
    match tag {
        Some(Quotient | Part) => Ok(Some(Part)),
        Some(Low | Along) => Ok(Some(Along)),
        Some(End | Bound) => Ok(tag),
        tag => followed(tag.as_ref()).map(|()| None),
    }
}

/// May what comes of q be compared with the other?
pub fn counted(a: Option<Tag>, b: Option<Tag>) -> bool {
    matches!(a, Some(Quotient | Part | End | Bound)) && !b.is_some_and(Tag::is_followed)
}

/// A place multiplied by what has nothing to do with it: a stride.
pub fn can_be_scaled(a: Option<Tag>, b: Option<Tag>) -> bool {
    matches!(a, Some(Low | Along | End | Bound)) && b.is_none()
}

/// What stands between the comparison of t and r and t's multiplication.
const BETWEEN: [Mnemonic; 8] = [
    Mnemonic::Mov,
    Mnemonic::Movsxd,
    Mnemonic::Lea,
    Mnemonic::Add,
    Mnemonic::Inc,
    Mnemonic::Xor,
    Mnemonic::Nop,
    Mnemonic::Imul,
];

fn uses_memory(i: &Instruction) -> bool {
    (0..i.op_count()).any(|k| i.op_kind(k) == OpKind::Memory)
}

/// What an instruction makes of it.
pub fn step(i: &Instruction, held: &mut Held, info: &mut InstructionInfoFactory) -> Result<(), Option<Tag>> {
    if i.mnemonic() == Mnemonic::Nop {
        return Ok(());
    }
    if uses_memory(i) && i.mnemonic() != Mnemonic::Lea {
        for r in [i.memory_base(), i.memory_index()] {
            followed(held.registers.get(&(r.full_register() as u32)))?;
        }
    }
    if held.compared && (!BETWEEN.contains(&i.mnemonic()) || i.op0_kind() == OpKind::Memory) {
        return Err(held.any());
    }
    if is_of_a_static_loop(i, held)? { Ok(()) } else { other(i, held, info) }
}

/// An instruction like those that GCC makes of a static loop: what it makes of what is held. False: none.
fn is_of_a_static_loop(i: &Instruction, held: &mut Held) -> Result<bool, Option<Tag>> {
    let (a, b) = (held.get(i, 0), held.get(i, 1));
    let two = i.op_count() == 2;
    let is_immediate = !two || !matches!(i.op1_kind(), OpKind::Register | OpKind::Memory);
    let tag = match i.mnemonic() {
        // None left over.
        Mnemonic::Mov if a == Some(Remainder) && held.compared && is_immediate && i.immediate(1) == 0 => {
            return Ok(true);
        }
        Mnemonic::Mov | Mnemonic::Movsxd => b,
        Mnemonic::Cdqe => return Ok(true),
        Mnemonic::Cdq | Mnemonic::Cqo | Mnemonic::Idiv | Mnemonic::Div => return division(i, a, held),
        Mnemonic::Cmp => return Ok(comparison(a, b, held)),
        Mnemonic::Shl if two && is_immediate => scaled(a)?,
        Mnemonic::Imul if i.op_count() == 3 && b.is_some() => scaled(b)?,
        Mnemonic::Imul if two && (can_be_scaled(a, b) || can_be_scaled(b, a)) => scaled(a.or(b))?,
        Mnemonic::Imul
            if two
                && matches!(
                    (a, b),
                    (Some(Number(_)), Some(Quotient)) | (Some(Quotient), Some(Number(_)))
                ) =>
        {
            held.compared = false;
            Some(Product)
        }
        // One more for each, or none left over.
        Mnemonic::Add | Mnemonic::Inc | Mnemonic::Sub | Mnemonic::Dec
            if matches!(a, Some(Quotient | End)) && is_immediate =>
        {
            held.flags = Flags::Count;
            return Ok(true);
        }
        Mnemonic::Add if two && !is_immediate => sum(a, b)?,
        Mnemonic::Lea => address(i, held)?,
        Mnemonic::Xor
            if two
                && !is_immediate
                && i.op0_register() == i.op1_register()
                && i.op1_kind() == OpKind::Register =>
        {
            // Of a remainder it is still one: none.
            a.filter(|t| *t == Remainder && held.compared)
        }
        _ => return Ok(false),
    };
    held.set(i, tag).map(|()| true)
}

/// The iterations are divided, `by` n; or what goes before that. False: it is another division.
fn division(i: &Instruction, by: Option<Tag>, held: &mut Held) -> Result<bool, Option<Tag>> {
    let (rax, rdx) = (Register::RAX as u32, Register::RDX as u32);
    if matches!(i.mnemonic(), Mnemonic::Cdq | Mnemonic::Cqo) {
        followed(held.registers.get(&rax))?;
        held.registers.remove(&rdx);
        return Ok(true);
    }
    if !matches!(by, Some(Size(_))) {
        return Ok(false);
    }
    followed(held.registers.get(&rax))?;
    followed(held.registers.get(&rdx))?;
    held.registers.insert(rax, Quotient);
    held.registers.insert(rdx, Remainder);
    Ok(true)
}

/// Two are compared as a static loop does; or not.
fn comparison(a: Option<Tag>, b: Option<Tag>, held: &mut Held) -> bool {
    match (a, b) {
        (Some(Number(_)), Some(Remainder)) | (Some(Remainder), Some(Number(_))) => held.compared = true,
        (Some(Low), Some(End)) => held.flags = Flags::LowEnd,
        (Some(End), Some(Low)) => held.flags = Flags::EndLow,
        _ if counted(a, b) || counted(b, a) => {
            let end = [a, b].contains(&Some(End));
            held.flags = if end { Flags::Else } else { Flags::Count };
        }
        _ => return false,
    }
    true
}

/// What an address that is computed comes of.
fn address(i: &Instruction, held: &Held) -> Result<Option<Tag>, Option<Tag>> {
    let of = |r: Register| held.registers.get(&(r.full_register() as u32)).copied();
    let (base, mut index) = (of(i.memory_base()), of(i.memory_index()));
    if i.memory_index_scale() != 1 {
        index = scaled(index)?;
    }
    match (i.memory_base(), i.memory_index()) {
        (_, Register::None) if base == Some(Quotient) => Ok(base),
        (Register::None, _) if matches!(index, Some(Part)) => Ok(index),
        _ => sum(base, index),
    }
}

/// Any other instruction: nothing that it reads may be followed; what it writes is held no more.
fn other(i: &Instruction, held: &mut Held, info: &mut InstructionInfoFactory) -> Result<(), Option<Tag>> {
    let used = info.info(i);
    for r in used.used_registers() {
        if !matches!(r.access(), OpAccess::Write | OpAccess::CondWrite | OpAccess::None) {
            followed(held.registers.get(&(r.register().full_register() as u32)))?;
        }
    }
    if uses_memory(i) {
        followed(Held::place(i).and_then(|p| held.stack.get(&p)))?;
    }
    for r in used.used_registers() {
        let full = r.register().full_register();
        if matches!(r.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::None | OpAccess::NoMemAccess)
        {
            continue;
        }
        // The frame goes: what is in it is followed no more. One that grows would have other distances.
        if full == Register::RSP || full == Register::RBP {
            let of_it = |p: &(u32, u64)| p.0 == full as u32;
            if !matches!(i.mnemonic(), Mnemonic::Pop | Mnemonic::Leave | Mnemonic::Add) {
                held.stack.iter().filter(|s| of_it(s.0)).try_for_each(|(_, t)| followed(Some(t)))?;
            }
            held.stack.retain(|p, _| !of_it(p));
        }
        held.registers.remove(&(full as u32));
    }
    Ok(())
}
