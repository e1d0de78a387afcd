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

/// What an instruction makes of it.
pub fn step(i: &Instruction, held: &mut Held, info: &mut InstructionInfoFactory) -> Result<(), Option<Tag>> {
    let (a, b) = (held.get(i, 0), held.get(i, 1));
    let (rax, rdx) = (Register::RAX as u32, Register::RDX as u32);
    if i.mnemonic() == Mnemonic::Nop {
        return Ok(());
    }
    let in_memory = (0..i.op_count()).any(|k| i.op_kind(k) == OpKind::Memory);
    if in_memory && i.mnemonic() != Mnemonic::Lea {
        for r in [i.memory_base(), i.memory_index()] {
            followed(held.registers.get(&(r.full_register() as u32)))?;
        }
    }
    let two = i.op_count() == 2;
    let between = [
        Mnemonic::Mov,
        Mnemonic::Movsxd,
        Mnemonic::Lea,
        Mnemonic::Add,
        Mnemonic::Inc,
        Mnemonic::Xor,
        Mnemonic::Nop,
        Mnemonic::Imul,
    ];
    if held.compared && (!between.contains(&i.mnemonic()) || i.op0_kind() == OpKind::Memory) {
        return Err(held.any());
    }
    let is_immediate = !two || !matches!(i.op1_kind(), OpKind::Register | OpKind::Memory);
    match i.mnemonic() {
        // None left over.
        Mnemonic::Mov if a == Some(Remainder) && held.compared && is_immediate && i.immediate(1) == 0 => {
            return Ok(());
        }
        Mnemonic::Mov | Mnemonic::Movsxd => return held.set(i, b),
        Mnemonic::Cdqe => return Ok(()),
        Mnemonic::Cdq | Mnemonic::Cqo => {
            followed(held.registers.get(&rax))?;
            held.registers.remove(&rdx);
            return Ok(());
        }
        Mnemonic::Idiv | Mnemonic::Div if matches!(a, Some(Size(_))) => {
            followed(held.registers.get(&rax))?;
            followed(held.registers.get(&rdx))?;
            held.registers.insert(rax, Quotient);
            held.registers.insert(rdx, Remainder);
            return Ok(());
        }
        Mnemonic::Cmp
            if matches!((a, b), (Some(Number(_)), Some(Remainder)) | (Some(Remainder), Some(Number(_)))) =>
        {
            held.compared = true;
            return Ok(());
        }
        Mnemonic::Cmp if matches!((a, b), (Some(Low), Some(End)) | (Some(End), Some(Low))) => {
            held.flags = if a == Some(Low) { Flags::LowEnd } else { Flags::EndLow };
            return Ok(());
        }
        Mnemonic::Cmp if counted(a, b) || counted(b, a) => {
            let end = [a, b].contains(&Some(End));
            held.flags = if end { Flags::Else } else { Flags::Count };
            return Ok(());
        }
        Mnemonic::Shl if two && is_immediate => {
            let tag = scaled(a)?;
            return held.set(i, tag);
        }
        Mnemonic::Imul if i.op_count() == 3 && b.is_some() => {
            let tag = scaled(b)?;
            return held.set(i, tag);
        }
        Mnemonic::Imul if two && (can_be_scaled(a, b) || can_be_scaled(b, a)) => {
            let tag = scaled(a.or(b))?;
            return held.set(i, tag);
        }
        Mnemonic::Imul
            if two
                && matches!(
                    (a, b),
                    (Some(Number(_)), Some(Quotient)) | (Some(Quotient), Some(Number(_)))
                ) =>
        {
            held.compared = false;
            return held.set(i, Some(Product));
        }
        // One more for each, or none left over.
        Mnemonic::Add | Mnemonic::Inc | Mnemonic::Sub | Mnemonic::Dec
            if matches!(a, Some(Quotient | End)) && is_immediate =>
        {
            held.flags = Flags::Count;
            return Ok(());
        }
        Mnemonic::Add if two && !is_immediate => {
            let tag = sum(a, b)?;
            return held.set(i, tag);
        }
        Mnemonic::Lea => {
            let of = |r: Register| held.registers.get(&(r.full_register() as u32)).copied();
            let (base, mut index) = (of(i.memory_base()), of(i.memory_index()));
            if i.memory_index_scale() != 1 {
                index = scaled(index)?;
            }
            let tag = match (i.memory_base(), i.memory_index()) {
                (_, Register::None) if base == Some(Quotient) => base,
                (Register::None, _) if matches!(index, Some(Part)) => index,
                _ => sum(base, index)?,
            };
            return held.set(i, tag);
        }
        Mnemonic::Xor
            if two
                && !is_immediate
                && i.op0_register() == i.op1_register()
                && i.op1_kind() == OpKind::Register =>
        {
            // Of a remainder it is still one: none.
            return held.set(i, a.filter(|t| *t == Remainder && held.compared));
        }
        _ => {}
    }
    let used = info.info(i);
    for r in used.used_registers() {
        if !matches!(r.access(), OpAccess::Write | OpAccess::CondWrite | OpAccess::None) {
            followed(held.registers.get(&(r.register().full_register() as u32)))?;
        }
    }
    if in_memory {
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
