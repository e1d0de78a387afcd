//! What is passed to functions.

use super::call_targets::Code64;
use super::register_values::{Held, Tag, followed};
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register};
use std::collections::BTreeSet;

/// Registers that pass arguments.
pub const ARGUMENTS: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];

/// A function is called: nothing may be passed to it.
pub fn call(code: &Code64, i: &Instruction, held: &Held) -> Result<(), Option<Tag>> {
    let takes_so_many = code.leads_to(i).and_then(|s| code.takers.get(&s).copied());
    let passed = |r: &&Register| held.registers.get(&(**r as u32)).is_some_and(|t| t.is_followed());
    let target = (i.op0_kind() == OpKind::NearBranch64).then(|| i.near_branch_target());
    match ARGUMENTS
        .iter()
        .take(takes_so_many.unwrap_or(ARGUMENTS.len()))
        .find(|r| passed(r) && target.is_none_or(|t| takes(code, t, **r)))
    {
        Some(r) => followed(held.registers.get(&(*r as u32))),
        None => Ok(()),
    }
}

/// May the function at `at` use what a register holds when it is called?
pub fn takes(code: &Code64, at: u64, register: Register) -> bool {
    let (mut seen, mut todo, mut info) = (BTreeSet::new(), vec![at], InstructionInfoFactory::new());
    while let Some(at) = todo.pop() {
        if !seen.insert(at) {
            continue;
        }
        let Some(i) = code.decoder(at).map(|mut d| d.decode()).filter(|i| !i.is_invalid()) else {
            return true;
        };
        let mine = |r: &&iced_x86::UsedRegister| r.register().full_register() == register;
        let (mut reads, mut writes) = (false, false);
        for r in info.info(&i).used_registers().iter().filter(mine) {
            let only_writes = r.access() == OpAccess::Write && r.register().size() >= 4;
            writes |= only_writes;
            reads |= !only_writes;
        }
        if reads || seen.len() > 2000 {
            return true;
        }
        match i.flow_control() {
            _ if writes => {}
            FlowControl::Next => todo.push(i.next_ip()),
            FlowControl::UnconditionalBranch => todo.push(i.near_branch_target()),
            FlowControl::ConditionalBranch => todo.extend([i.next_ip(), i.near_branch_target()]),
            FlowControl::Return | FlowControl::Exception => {}
            _ => return true,
        }
    }
    false
}
