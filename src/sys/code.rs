//! Looks at machine code: can an atomic read-modify-write instruction have been executed between two points of a function?
//!
//! GCC merges the private results of a reduction into the shared variable with such an instruction (`lock add`, a
//! `lock cmpxchg` loop), outside any runtime call. Work after it must not be executed again. The walk follows the control flow from
//! the resume point, steps over calls, and ends where an entry stub is called: that is a save point, the resume point would
//! be there. An indirect jump cannot be followed: then the answer is that it can have been executed.

use super::asm;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use std::collections::HashSet;

const MAX_INSTRUCTIONS: usize = 200_000;

/// Do the bytes at these addresses belong to executable code that may be read? Asked before every read.
pub type Readable<'a> = &'a dyn Fn(usize, usize) -> bool;

struct Walk<'a> {
    readable: Readable<'a>,
    seen: HashSet<usize>,
    atomics: Vec<usize>,
    /// Something could not be followed.
    blind: bool,
}

impl Walk<'_> {
    fn decode(&self, at: usize) -> Option<Instruction> {
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
    fn run(&mut self, start: usize) {
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
            if is_atomic(&i) {
                self.atomics.push(at);
            }
            let next = i.next_ip() as usize;
            match i.flow_control() {
                FlowControl::Next => todo.push(next),
                FlowControl::UnconditionalBranch => todo.push(i.near_branch_target() as usize),
                FlowControl::ConditionalBranch => todo.extend([next, i.near_branch_target() as usize]),
                FlowControl::Call | FlowControl::IndirectCall => {
                    if !self.call_target(&i).is_some_and(asm::is_stub) {
                        todo.push(next);
                    }
                }
                FlowControl::Return | FlowControl::Exception | FlowControl::Interrupt => {}
                FlowControl::IndirectBranch | FlowControl::XbeginXabortXend => self.blind = true,
            }
        }
    }

    /// Where a call goes, through the procedure linkage table if need be.
    fn call_target(&self, call: &Instruction) -> Option<usize> {
        if call.op0_kind() == OpKind::Memory {
            return self.slot(call);
        }
        let mut at = call.near_branch_target() as usize;
        for _ in 0..3 {
            if asm::is_stub(at) {
                return Some(at);
            }
            let i = self.decode(at)?;
            if i.mnemonic() == Mnemonic::Jmp && i.op0_kind() == OpKind::Memory {
                return self.slot(&i);
            }
            at = i.next_ip() as usize;
        }
        None
    }

    /// The address in the table slot that a RIP-relative operand names.
    fn slot(&self, i: &Instruction) -> Option<usize> {
        let slot = i.is_ip_rel_memory_operand().then(|| i.ip_rel_memory_address() as usize)?;
        // SAFETY: a jump or call through this slot is part of the program: the slot is mapped.
        (self.readable)(slot, 8).then(|| unsafe { *(slot as *const usize) })
    }
}

fn is_atomic(i: &Instruction) -> bool {
    i.has_lock_prefix() || (i.mnemonic() == Mnemonic::Xchg && (0..2).any(|k| i.op_kind(k) == OpKind::Memory))
}

/// Can an atomic read-modify-write reachable from `from` (without a save point between) have been executed before control
/// came to `pc`? If `pc` lies in code called from there, one of `returns` is where the function goes on.
pub fn atomic_between(from: usize, pc: usize, returns: &[usize], readable: Readable<'_>) -> bool {
    let mut walk = Walk { readable, seen: HashSet::new(), atomics: Vec::new(), blind: false };
    walk.run(from);
    if walk.blind {
        return true;
    }
    let here = [pc];
    let to = if walk.seen.contains(&pc) { &here[..] } else { returns };
    let mut after = Walk { readable, seen: HashSet::new(), atomics: Vec::new(), blind: false };
    for a in walk.atomics {
        if let Some(i) = after.decode(a) {
            after.run(i.next_ip() as usize);
        }
    }
    after.blind || to.iter().any(|t| after.seen.contains(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &[u8], from: usize, to: usize) -> bool {
        let base = code.as_ptr() as usize;
        let end = base + code.len();
        atomic_between(base + from, base + to, &[], &|a, n| a >= base && a + n <= end)
    }

    /// 0: loop body nop; 1: dec ecx; 3: jne 0; 5: lock add [rdi],eax; 8: nop; 9: ret, and padding.
    const MERGE: [u8; 26] = [
        0x90, 0xff, 0xc9, 0x75, 0xfb, 0xf0, 0x01, 0x07, 0x90, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
        0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
    ];

    #[test]
    fn before_the_merge_is_safe_behind_it_is_not() {
        assert!(!check(&MERGE, 0, 0));
        assert!(!check(&MERGE, 0, 3));
        assert!(!check(&MERGE, 0, 5), "the instruction itself has not been executed");
        assert!(check(&MERGE, 0, 8));
        assert!(check(&MERGE, 0, 9));
    }

    #[test]
    fn an_atomic_in_a_loop_is_seen_everywhere_in_it() {
        let mut code = MERGE;
        code[8..10].copy_from_slice(&[0xeb, 0xf6]); // jmp 0
        assert!(check(&code, 0, 0));
    }

    #[test]
    fn an_indirect_jump_hides_nothing() {
        let mut code = MERGE;
        code[8..10].copy_from_slice(&[0xff, 0xe0]); // jmp rax
        assert!(check(&code, 0, 0));
    }
}
