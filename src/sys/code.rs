//! Looks at machine code: can an atomic read-modify-write instruction have been executed between two points of a function?
//!
//! GCC merges the private results of a reduction into the shared variable with such an instruction (`lock add`, a
//! `lock cmpxchg` loop), outside any runtime call. Work after it must not be executed again. The walk follows the control flow from
//! the resume point, steps over calls, and ends where an entry stub is called: that is a save point, the resume point would
//! be there. But the thread may have failed on the way there, in the linkage table or among a stub's first instructions, or on its way back
//! to the runtime from a function that has ended: then all that is behind it has been executed. The jump of a `switch` goes wherever its
//! table says (jumps.rs); another indirect jump cannot be followed: then the answer is that it can have been executed.

use super::asm;
use super::jumps::{self, Jumps};
use super::unwind;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::HashSet;

const MAX_INSTRUCTIONS: usize = 200_000;

/// Do the bytes at these addresses belong to executable code that may be read? Asked before every read.
pub type Readable<'a> = &'a dyn Fn(usize, usize) -> bool;

struct Walk<'a> {
    readable: Readable<'a>,
    jumps: &'a Jumps,
    seen: HashSet<usize>,
    atomics: Vec<usize>,
    /// Do fences count like atomic updates?
    fences: bool,
    /// Something could not be followed.
    blind: bool,
    /// Control can have returned to a caller.
    returned: bool,
    /// Where stubs that are called return to.
    behind_stubs: HashSet<usize>,
    /// A stub is jumped to: it returns to the caller.
    ends_in_stub: bool,
    /// Other functions that are called, or jumped to; `None`: it is not known which.
    callees: HashSet<Option<Call>>,
}

impl<'a> Walk<'a> {
    fn new(readable: Readable<'a>, jumps: &'a Jumps) -> Self {
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
                        todo.push(next);
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
    /// Do fences count like atomic updates?
    pub fences: bool,
}

/// Can an atomic read-modify-write have been executed on the way from the save point to the failure, in the function of
/// the save point or in one that it has returned to?
pub fn atomic_between(path: &Path<'_>, readable: Readable<'_>) -> bool {
    // Control goes outwards: from the save point's function, on its return, to its caller, and so on.
    let starts: Vec<usize> = core::iter::once(path.from).chain(path.callers.iter().copied()).collect();
    let jumps = Jumps::default();
    let (mut everywhere, mut behind) = (HashSet::new(), HashSet::new());
    // Return addresses of stubs that can be called, and can be behind an atomic.
    let (mut calls, mut calls_behind) = (HashSet::new(), HashSet::new());
    // Control can have left the functions that are walked through, and it can behind an atomic.
    let (mut can_leave, mut leaves_behind) = (false, false);
    for (k, &start) in starts.iter().enumerate() {
        let mut walk = Walk { fences: path.fences, ..Walk::new(readable, &jumps) };
        walk.run(start);
        let mut after = Walk { fences: path.fences, ..Walk::new(readable, &jumps) };
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
        for w in [&mut walk, &mut after] {
            if w.ends_in_stub {
                w.behind_stubs.extend(&starts[k + 1..]);
            }
        }
        can_leave |= walk.returned || walk.ends_in_stub;
        leaves_behind |= after.returned || after.ends_in_stub;
        everywhere.extend(walk.seen);
        calls.extend(walk.behind_stubs);
        behind.extend(after.seen);
        calls_behind.extend(after.behind_stubs);
        if !walk.returned {
            break;
        }
    }
    if everywhere.contains(&path.pc) {
        return behind.contains(&path.pc);
    }
    let is_in =
        |a: &HashSet<usize>, b: &HashSet<usize>| path.returns.iter().any(|t| a.contains(t) || b.contains(t));
    match is_in(&everywhere, &calls) {
        true => is_in(&behind, &calls_behind),
        // It has left, or come on a way that cannot be followed.
        false => leaves_behind || !can_leave,
    }
}

/// A call of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    /// The function's address; before the first call through a table that of what has the loader find it.
    pub at: usize,
    /// The entry of the table that it stands in; 0: none.
    pub slot: usize,
}

/// What a function is that is called.
pub enum Callee {
    /// One to be looked at like the caller.
    Walk,
    /// One that may be executed again wherever it has ended.
    Harmless,
    /// Another.
    Unknown,
}

/// May what is executed from `from` on, up to the next call of a stub, be executed again wherever it has
/// ended: does it come to no atomic
/// read-modify-write, and to no function that is not harmless? `callers` as in [`Path`].
pub fn is_harmless(
    from: usize,
    callers: &[usize],
    callee: &dyn Fn(Call) -> Callee,
    readable: Readable<'_>,
) -> bool {
    let jumps = Jumps::default();
    let mut called = HashSet::new();
    let look = |start: usize, called: &mut HashSet<Option<Call>>| {
        let mut walk = Walk::new(readable, &jumps);
        walk.run(start);
        called.extend(&walk.callees);
        (!walk.blind && walk.atomics.is_empty(), walk.returned)
    };
    for &start in core::iter::once(&from).chain(callers) {
        let (fine, returned) = look(start, &mut called);
        if !fine {
            return false;
        }
        if !returned {
            break;
        }
    }
    let mut known = HashSet::new();
    while let Some(&next) = called.iter().find(|c| !known.contains(*c)) {
        known.insert(next);
        let fine = match next.map(|call| (call, callee(call))) {
            Some((_, Callee::Harmless)) => true,
            Some((call, Callee::Walk)) => look(call.at, &mut called).0,
            Some((_, Callee::Unknown)) | None => false,
        };
        if !fine {
            return false;
        }
    }
    true
}

/// Can what is executed from `from` on, up to the next call of a stub, come to a call of a function that
/// `callee` does not know? What cannot be followed calls none. `callers` as in [`Path`].
pub fn may_call(
    from: usize,
    callers: &[usize],
    callee: &dyn Fn(Call) -> Callee,
    readable: Readable<'_>,
) -> bool {
    let jumps = Jumps::default();
    let mut called = HashSet::new();
    let look = |start: usize, called: &mut HashSet<Option<Call>>| {
        let mut walk = Walk::new(readable, &jumps);
        walk.run(start);
        called.extend(&walk.callees);
        walk.returned || walk.blind
    };
    for &start in core::iter::once(&from).chain(callers) {
        if !look(start, &mut called) {
            break;
        }
    }
    let mut known = HashSet::new();
    while let Some(&next) = called.iter().find(|c| !known.contains(*c)) {
        known.insert(next);
        match next.map(|call| (call, callee(call))) {
            Some((_, Callee::Unknown)) => return true,
            Some((call, Callee::Walk)) => _ = look(call.at, &mut called),
            Some((_, Callee::Harmless)) | None => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_harmless_wherever_it_ends() {
        // 0: call 16; 5: ret; 16: nop (or an atomic); 19: ret
        let mut code = [0x90u8; 48];
        code[..6].copy_from_slice(&[0xe8, 11, 0, 0, 0, 0xc3]);
        code[19] = 0xc3;
        let ask = |code: &[u8; 48], of: Callee| {
            let base = code.as_ptr() as usize;
            let of = core::cell::Cell::new(Some(of));
            let callee = |call: Call| {
                assert_eq!(call, Call { at: base + 16, slot: 0 });
                of.take().expect("asked once")
            };
            is_harmless(base, &[], &callee, &|a, n| a >= base && a + n <= base + code.len())
        };
        assert!(ask(&code, Callee::Walk) && ask(&code, Callee::Harmless) && !ask(&code, Callee::Unknown));
        code[16..19].copy_from_slice(&[0xf0, 0x01, 0x07]);
        assert!(!ask(&code, Callee::Walk) && ask(&code, Callee::Harmless));
        code[..2].copy_from_slice(&[0xff, 0xd0]); // call rax
        assert!(!is_harmless(code.as_ptr() as usize, &[], &|_| Callee::Harmless, &|_, _| true));
        code[..3].copy_from_slice(&[0x0f, 0x05, 0xc3]); // a system call
        assert!(is_harmless(code.as_ptr() as usize, &[], &|_| Callee::Unknown, &|_, _| true));
    }

    #[test]
    fn what_may_be_called() {
        // 0: call 16; 5: ret; 16: call 32 (or by a register); 21: ret; 32: ret
        let mut code = [0x90u8; 48];
        code[..6].copy_from_slice(&[0xe8, 11, 0, 0, 0, 0xc3]);
        code[16..22].copy_from_slice(&[0xe8, 11, 0, 0, 0, 0xc3]);
        code[32] = 0xc3;
        let ask = |code: &[u8; 48], from: usize, unknown: usize, otherwise: fn() -> Callee| {
            let base = code.as_ptr() as usize;
            let callee = |c: Call| if c.at == base + unknown { Callee::Unknown } else { otherwise() };
            may_call(base + from, &[], &callee, &|a, n| a >= base && a + n <= base + code.len())
        };
        assert!(ask(&code, 0, 16, || Callee::Harmless) && ask(&code, 0, 32, || Callee::Walk));
        assert!(!ask(&code, 0, 32, || Callee::Harmless) && !ask(&code, 5, 16, || Callee::Walk));
        code[16..19].copy_from_slice(&[0xff, 0xd0, 0xc3]);
        assert!(!ask(&code, 0, 32, || Callee::Walk) && ask(&code, 0, 16, || Callee::Walk));
    }

    fn check(code: &[u8], from: usize, to: usize) -> bool {
        let base = code.as_ptr() as usize;
        let end = base + code.len();
        let path = Path { from: base + from, callers: &[], pc: base + to, returns: &[], fences: true };
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
            atomic_between(&Path { from: base, callers, pc: base + pc, returns: &[], fences: true }, &ok)
        };
        assert!(at(&[base + 1], 4));
        assert!(!at(&[base + 1], 1));
    }

    /// 0: lock add [rdi],eax; 3: a call of a stub, or a jump there; 9: jmp 0; 24: the stub's address.
    fn stub_behind_an_atomic(call: u8, atomic: bool) -> [u8; 40] {
        let mut code = [0x90u8; 40];
        code[..11].copy_from_slice(&[0xf0, 0x01, 0x07, 0xff, call, 15, 0, 0, 0, 0xeb, 0xf5]);
        code[24..32].copy_from_slice(&(crate::entry::sync::GOMP_barrier as *const () as usize).to_ne_bytes());
        if !atomic {
            code[..3].fill(0x90);
        }
        code
    }

    /// With the program counter outside of `code`, having come from `from`, with `returns` on the stack.
    fn left(code: &[u8], from: usize, callers: &[usize], returns: &[usize]) -> bool {
        let base = code.as_ptr() as usize;
        let ok = |a: usize, n: usize| a >= base && a + n <= base + code.len();
        let [callers, returns] = [callers, returns].map(|l| l.iter().map(|a| base + a).collect::<Vec<_>>());
        atomic_between(
            &Path { from: base + from, callers: &callers, pc: 1, returns: &returns, fences: true },
            &ok,
        )
    }

    #[test]
    fn on_the_way_to_a_stub_what_is_before_it_has_been_executed() {
        const CALL: u8 = 0x15;
        let [with, without] = [true, false].map(|atomic| stub_behind_an_atomic(CALL, atomic));
        // The next call is that which the resume point is behind of.
        assert!(left(&with, 9, &[], &[9]) && !left(&without, 9, &[], &[9]));
        assert!(check(&with, 9, 3) && !check(&with, 9, 9));
        // By a jump: to the runtime's own code, or to that behind the call of a function (20), which has been walked through or not.
        const JUMP: u8 = 0x25;
        let [with, without] = [true, false].map(|atomic| stub_behind_an_atomic(JUMP, atomic));
        assert!(left(&with, 0, &[], &[]) && !left(&without, 0, &[], &[]));
        assert!(left(&with, 0, &[20], &[20]) && !left(&without, 0, &[20], &[20]));
    }

    #[test]
    fn on_the_way_back_to_the_runtime_all_has_been_executed() {
        let mut code = [0x90u8; 40];
        code[..4].copy_from_slice(&[0xf0, 0x01, 0x07, 0xc3]);
        assert!(left(&code, 0, &[], &[]) && !left(&code, 3, &[], &[]));
    }

    #[test]
    fn where_it_cannot_have_come_to_is_behind_anything() {
        let mut code = [0x90u8; 40];
        code[1..3].copy_from_slice(&[0xeb, 0xfd]); // jmp 0
        assert!(left(&code, 0, &[], &[]) && !left(&code, 0, &[], &[1]) && left(&code, 0, &[], &[20]));
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
    fn fences_count_where_nobody_has_seen_to_them() {
        // lock or dword ptr [rsp], 0 (or 1); nop
        let behind = |value: u8, fences: bool| {
            let mut code = [0x90u8; 40];
            code[..7].copy_from_slice(&[0xf0, 0x83, 0x0c, 0x24, value, 0x90, 0xc3]);
            let base = code.as_ptr() as usize;
            let path = Path { from: base, callers: &[], pc: base + 5, returns: &[], fences };
            atomic_between(&path, &|a, n| a >= base && a + n <= base + code.len())
        };
        assert!(behind(0, true) && !behind(0, false) && behind(1, false));
    }

    #[test]
    fn an_indirect_jump_hides_nothing() {
        let mut code = MERGE;
        code[8..10].copy_from_slice(&[0xff, 0xe0]); // jmp rax
        assert!(check(&code, 0, 0));
    }
}
