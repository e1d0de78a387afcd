//! Looks at machine code: can an atomic read-modify-write instruction have been executed between two points of a function?
//!
//! GCC merges the private results of a reduction into the shared variable with such an instruction (`lock add`, a
//! `lock cmpxchg` loop), outside any runtime call. Work after it must not be executed again. The walk follows the control flow from
//! the resume point, steps over calls, and ends where an entry stub is called: that is a save point, the resume point would
//! be there. The jump of a `switch` goes wherever its table says (jumps.rs); another indirect jump cannot be followed: then the answer is that it
//! can have been executed.

use super::asm;
use super::jumps::{self, Jumps};
use super::unwind;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use std::collections::HashSet;

const MAX_INSTRUCTIONS: usize = 200_000;

/// Do the bytes at these addresses belong to executable code that may be read? Asked before every read.
pub type Readable<'a> = &'a dyn Fn(usize, usize) -> bool;

struct Walk<'a> {
    readable: Readable<'a>,
    jumps: &'a Jumps,
    seen: HashSet<usize>,
    atomics: Vec<usize>,
    /// Something could not be followed.
    blind: bool,
    /// Control can have returned to a caller.
    returned: bool,
}

impl<'a> Walk<'a> {
    fn new(readable: Readable<'a>, jumps: &'a Jumps) -> Self {
        Walk { readable, jumps, seen: HashSet::new(), atomics: Vec::new(), blind: false, returned: false }
    }

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
                FlowControl::Return => self.returned = true,
                FlowControl::Exception | FlowControl::Interrupt => {}
                // A tail call through the linkage table: a save point, or like a call and a return.
                FlowControl::IndirectBranch if self.slot(&i).is_some() => {
                    self.returned |= !self.slot(&i).is_some_and(asm::is_stub);
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

/// Is `addr` the address behind a call instruction?
pub fn follows_call(addr: usize, readable: Readable<'_>) -> bool {
    if addr < 8 || !readable(addr - 7, 7) {
        return false;
    }
    // SAFETY: `readable` vouches for the bytes.
    let b = unsafe { core::slice::from_raw_parts((addr - 7) as *const u8, 7) };
    b[2] == 0xe8 || (2..=7).any(|n| b[7 - n] == 0xff && b[8 - n] >> 3 & 7 == 2)
}

/// Where control was at the save point, and where it is now.
pub struct Path<'a> {
    /// Where execution would be resumed.
    pub from: usize,
    /// Return addresses of the callers at that time (or more: any word that looks like one).
    pub callers: &'a [usize],
    /// The program counter at the failure.
    pub pc: usize,
    /// Where the functions between may go on, if the program counter lies in code that they called: likewise.
    pub returns: &'a [usize],
}

/// Can an atomic read-modify-write have been executed on the way from the save point to the failure, in the function of
/// the save point or in one that it has returned to?
pub fn atomic_between(path: &Path<'_>, readable: Readable<'_>) -> bool {
    // Control goes outwards: from the save point's function, on its return, to its caller, and so on.
    let starts: Vec<usize> = core::iter::once(path.from).chain(path.callers.iter().copied()).collect();
    let jumps = Jumps::default();
    let mut everywhere = HashSet::new();
    let mut behind = HashSet::new();
    for (k, &start) in starts.iter().enumerate() {
        let mut walk = Walk::new(readable, &jumps);
        walk.run(start);
        let mut after = Walk::new(readable, &jumps);
        for a in &walk.atomics {
            if let Some(i) = after.decode(*a) {
                after.run(i.next_ip() as usize);
            }
        }
        if after.returned {
            starts[k + 1..].iter().for_each(|&c| after.run(c));
        }
        if walk.blind || after.blind {
            return true;
        }
        everywhere.extend(walk.seen);
        behind.extend(after.seen);
        if !walk.returned {
            break;
        }
    }
    let here = [path.pc];
    let to = if everywhere.contains(&path.pc) { &here[..] } else { path.returns };
    to.iter().any(|t| behind.contains(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &[u8], from: usize, to: usize) -> bool {
        let base = code.as_ptr() as usize;
        let end = base + code.len();
        let path = Path { from: base + from, callers: &[], pc: base + to, returns: &[] };
        atomic_between(&path, &|a, n| a >= base && a + n <= end)
    }

    /// 0: loop body nop; 1: dec ecx; 3: jne 0; 5: lock add [rdi],eax; 8: nop; 9: ret, and padding.
    const MERGE: [u8; 26] = [
        0x90, 0xff, 0xc9, 0x75, 0xfb, 0xf0, 0x01, 0x07, 0x90, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
        0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
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
    fn what_a_caller_does_after_the_return_counts() {
        // 0: ret; 1: lock add [rdi],eax; 4: nop; 5: ret
        let mut code = [0x90u8; 26];
        code[..6].copy_from_slice(&[0xc3, 0xf0, 0x01, 0x07, 0x90, 0xc3]);
        let base = code.as_ptr() as usize;
        let ok = |a: usize, n: usize| a >= base && a + n <= base + 26;
        let at = |callers: &[usize], pc| {
            atomic_between(&Path { from: base, callers, pc: base + pc, returns: &[] }, &ok)
        };
        assert!(at(&[base + 1], 4));
        assert!(!at(&[base + 1], 1));
    }

    #[test]
    fn call_sites_are_recognised() {
        let code = [0x90u8, 0x90, 0xe8, 1, 2, 3, 4, 0x90, 0xff, 0x15, 0, 0, 0, 0, 0x90, 0xff, 0xd0, 0x90];
        let base = code.as_ptr() as usize;
        let hits: Vec<usize> = (7..18).filter(|&i| follows_call(base + i, &|_, _| true)).collect();
        assert!(
            hits.contains(&7) && hits.contains(&14) && hits.contains(&17) && !hits.contains(&8),
            "{hits:?}"
        );
    }

    #[test]
    fn an_indirect_jump_hides_nothing() {
        let mut code = MERGE;
        code[8..10].copy_from_slice(&[0xff, 0xe0]); // jmp rax
        assert!(check(&code, 0, 0));
    }
}
