//! The walk: visits every instruction that can be executed from a point of a function on. It steps over
//! calls, and ends where an entry stub is called.

use super::{Call, Readable};
use crate::asm;
use crate::jumps::{self, Jumps};
use crate::unwind;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::HashSet;

/// After so many instructions the walk gives up.
const MAX_INSTRUCTIONS: usize = 200_000;

/// What has been seen so far.
pub(super) struct Walk<'a> {
    pub(super) readable: Readable<'a>,
    pub(super) jumps: &'a Jumps,
    /// Where instructions begin that can be executed.
    pub(super) seen: HashSet<usize>,
    /// Those that are atomic updates.
    pub(super) atomics: Vec<usize>,
    /// Do fences count like atomic updates?
    pub(super) fences: bool,
    /// Something could not be followed.
    pub(super) blind: bool,
    /// Control can have returned to a caller.
    pub(super) returned: bool,
    /// Where stubs that are called return to.
    pub(super) behind_stubs: HashSet<usize>,
    /// A stub is jumped to: it returns to the caller.
    pub(super) ends_in_stub: bool,
    /// Other functions that are called, or jumped to; `None`: it is not known which.
    pub(super) callees: HashSet<Option<Call>>,
}

impl<'a> Walk<'a> {
    /// From nowhere yet.
    pub(super) fn new(readable: Readable<'a>, jumps: &'a Jumps) -> Self {
        Walk {
            readable,
            jumps,
            seen: HashSet::new(),
            atomics: Vec::new(),
            fences: true,
            blind: false,
            returned: false,
            behind_stubs: HashSet::new(),
            ends_in_stub: false,
            callees: HashSet::new(),
        }
    }

    /// The instruction at `at`.
    pub(super) fn decode(&self, at: usize) -> Option<Instruction> {
        let len = if (self.readable)(at, 15) {
            15
        } else if (self.readable)(at, 1) {
            1
        } else {
            return None;
        };
        // SAFETY: the caller's `readable` vouches for these bytes.
        let bytes = unsafe { core::slice::from_raw_parts(at as *const u8, len) };
        let i = Decoder::with_ip(64, bytes, at as u64, DecoderOptions::NONE).decode();
        (!i.is_invalid()).then_some(i)
    }

    /// Visits everything reachable from `start`.
    pub(super) fn run(&mut self, start: usize) {
        let mut todo = vec![start];
        while let Some(at) = todo.pop() {
            if !self.seen.insert(at) {
                continue;
            }
            if self.seen.len() > MAX_INSTRUCTIONS {
                self.blind = true;
                return;
            }
            let Some(i) = self.decode(at) else {
                self.blind = true;
                continue;
            };
            if is_atomic(&i) && (self.fences || !is_fence(&i)) {
                self.atomics.push(at);
            }
            let next = i.next_ip() as usize;
            match i.flow_control() {
                FlowControl::Next => todo.push(next),
                FlowControl::UnconditionalBranch => todo.push(i.near_branch_target() as usize),
                FlowControl::ConditionalBranch => todo.extend([next, i.near_branch_target() as usize]),
                FlowControl::Call | FlowControl::IndirectCall => {
                    let target = (i.mnemonic() != Mnemonic::Syscall).then(|| self.call(&i));
                    if target.flatten().is_some_and(|c| asm::is_stub(c.at)) {
                        self.behind_stubs.insert(next);
                    } else {
                        self.callees.extend(target);
                        todo.extend(may_return_to(at, next).then_some(next));
                    }
                }
                FlowControl::Return => self.returned = true,
                FlowControl::Exception | FlowControl::Interrupt => {}
                // A tail call through the linkage table: a save point, or like a call and a return.
                FlowControl::IndirectBranch if self.slot(&i).is_some() => {
                    let stub = self.slot(&i).is_some_and(asm::is_stub);
                    self.ends_in_stub |= stub;
                    self.returned |= !stub;
                    if !stub {
                        self.callees.insert(self.call(&i));
                    }
                }
                FlowControl::IndirectBranch => match self.targets(&i) {
                    Some(targets) => todo.extend(targets),
                    None => self.blind = true,
                },
                FlowControl::XbeginXabortXend => self.blind = true,
            }
        }
    }

    /// Where the jump of a `switch` can go.
    fn targets(&self, jump: &Instruction) -> Option<Vec<usize>> {
        let code = jumps::Code {
            decode: &|at| self.decode(at),
            readable: self.readable,
            function: &unwind::function_around,
        };
        self.jumps.targets(jump, &code)
    }

    /// Where a call or a jump out of the function goes, through the procedure linkage table if need be.
    fn call(&self, call: &Instruction) -> Option<Call> {
        let through = |i: &Instruction| {
            let at = self.slot(i)?;
            Some(Call { at, slot: i.ip_rel_memory_address() as usize })
        };
        match call.op0_kind() {
            OpKind::Memory => return through(call),
            OpKind::NearBranch64 => {}
            _ => return None,
        }
        let function = call.near_branch_target() as usize;
        let mut at = function;
        for _ in 0..3 {
            if asm::is_stub(at) {
                return Some(Call { at, slot: 0 });
            }
            let Some(i) = self.decode(at) else { break };
            if i.mnemonic() == Mnemonic::Jmp && i.op0_kind() == OpKind::Memory {
                return through(&i);
            }
            at = i.next_ip() as usize;
        }
        Some(Call { at: function, slot: 0 })
    }

    /// The address in the table slot that a RIP-relative operand names.
    fn slot(&self, i: &Instruction) -> Option<usize> {
        let slot = i.is_ip_rel_memory_operand().then(|| i.ip_rel_memory_address() as usize)?;
        // SAFETY: a jump or call through this slot is part of the program: the slot is mapped.
        (self.readable)(slot, 8).then(|| unsafe { (slot as *const usize).read_unaligned() })
    }
}

/// Can a call at `at` return to `next`? Not if that lies behind the function: who is called ends the program,
/// or throws.
fn may_return_to(at: usize, next: usize) -> bool {
    let function = unwind::function_around(at);
    function == 0 || unwind::function_around(next) == function
}

fn is_atomic(i: &Instruction) -> bool {
    i.has_lock_prefix() || (i.mnemonic() == Mnemonic::Xchg && (0..2).any(|k| i.op_kind(k) == OpKind::Memory))
}

/// GCC's fence: an atomic update of the stack's top that changes nothing.
fn is_fence(i: &Instruction) -> bool {
    let nothing =
        |k: OpKind| matches!(k, OpKind::Immediate8 | OpKind::Immediate8to32 | OpKind::Immediate8to64);
    i.mnemonic() == Mnemonic::Or
        && i.op0_kind() == OpKind::Memory
        && i.memory_base() == Register::RSP
        && i.memory_index() == Register::None
        && i.memory_displacement64() == 0
        && nothing(i.op1_kind())
        && i.immediate(1) == 0
}
