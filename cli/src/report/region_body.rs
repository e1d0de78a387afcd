//! The function that a compiler has made of a region's body, found in front of the call that starts it.
//!
//! GCC gives that call the line of what stands in front of the directive. The function's own code begins with
//! the directive's.

use super::last_calls::Code;
use iced_x86::{Code as Op, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory};
use iced_x86::{Mnemonic, OpAccess, OpKind, Register};
use std::collections::HashSet;

/// In the name of such a function.
pub(super) const OUTLINED: &str = "._omp_fn.";

/// The beginning of the outlined function that the call, or the last jump, of which `call` is a byte hands
/// over; none where there is any doubt. `symbols`: beginning, end and name of the module's functions, by
/// beginning.
pub(super) fn handed_over(code: &Code, symbols: &[(u64, u64, String)], call: u64) -> Option<u64> {
    let (begin, end, _) = symbols[..symbols.partition_point(|s| s.0 <= call)].last()?;
    let bytes = code.from(*begin)?.get(..usize::try_from(end.checked_sub(*begin)?).ok()?)?;
    let all: Vec<Instruction> =
        Decoder::with_ip(64, bytes, *begin, DecoderOptions::NONE).into_iter().collect();
    let start = all.iter().position(|i| (i.ip()..i.next_ip()).contains(&call))?;
    if !is_call(&all[start]) && !ends_path(&all[start]) {
        return None;
    }
    let to = Function::of(&all).handed(Register::RDI, start)?;
    let i = symbols.binary_search_by_key(&to, |s| s.0).ok()?;
    symbols[i].2.contains(OUTLINED).then_some(to)
}

struct Function<'a> {
    all: &'a [Instruction],
    /// Where its jumps go.
    targets: HashSet<u64>,
}

impl<'a> Function<'a> {
    fn of(all: &'a [Instruction]) -> Self {
        let targets = all.iter().filter(|i| !is_call(i));
        Self { all, targets: targets.map(Instruction::near_branch_target).collect() }
    }

    /// The address that `register` has in front of instruction number `at`, if it is one that the function
    /// names.
    fn handed(&self, register: Register, at: usize) -> Option<u64> {
        for (n, i) in self.all[..at].iter().enumerate().rev() {
            if self.targets.contains(&i.next_ip()) || ends_path(i) {
                return self.everywhere(register);
            }
            if is_call(i) && !is_kept(register) {
                return None;
            }
            if writes(i, register) {
                let moved = i.mnemonic() == Mnemonic::Mov && i.op1_kind() == OpKind::Register;
                return if moved { self.handed(i.op1_register().full_register(), n) } else { address(i) };
            }
        }
        None
    }

    /// What `register` has where other paths come in: the only address that it is ever given. What the caller
    /// had there is put back at the end.
    fn everywhere(&self, register: Register) -> Option<u64> {
        let given = self.all.iter().filter(|i| i.mnemonic() != Mnemonic::Pop && writes(i, register));
        let mut given = given.map(address);
        let first = given.next().flatten().filter(|_| is_kept(register))?;
        given.all(|other| other == Some(first)).then_some(first)
    }
}

fn is_call(i: &Instruction) -> bool {
    matches!(i.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
}

/// Does what stands behind it not follow?
fn ends_path(i: &Instruction) -> bool {
    use FlowControl::{IndirectBranch, Return, UnconditionalBranch};
    matches!(i.flow_control(), UnconditionalBranch | IndirectBranch | Return)
}

/// Do calls keep it?
fn is_kept(register: Register) -> bool {
    use Register::{R12, R13, R14, R15, RBP, RBX};
    matches!(register, RBX | RBP | R12 | R13 | R14 | R15)
}

fn writes(i: &Instruction, register: Register) -> bool {
    let mut info = InstructionInfoFactory::new();
    info.info(i).used_registers().iter().any(|u| {
        let writes = !matches!(u.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
        writes && u.register().full_register() == register
    })
}

/// The address that it puts into a register.
fn address(i: &Instruction) -> Option<u64> {
    match i.code() {
        Op::Lea_r64_m if i.is_ip_rel_memory_operand() => Some(i.ip_rel_memory_address()),
        Op::Mov_r32_imm32 => Some(u64::from(i.immediate32())),
        Op::Mov_r64_imm64 => Some(i.immediate64()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: u64 = 0x200;

    /// Which function the call at the end of `bytes`, at 0x100, hands over.
    fn handed(bytes: &[u8]) -> Option<u64> {
        let mut code = vec![0x90; 0x120];
        code[..bytes.len()].copy_from_slice(bytes);
        let end = 0x100 + bytes.len() as u64;
        let symbols = [(0x100, end, "f".to_owned()), (BODY, 0x210, "f._omp_fn.0".to_owned())];
        handed_over(&Code::at(0x100, code), &symbols, end - 1)
    }

    /// `lea BODY(%rip), REGISTER` that ends at 0x107.
    fn lea(rex: u8, modrm: u8) -> Vec<u8> {
        [&[rex, 0x8d, modrm][..], &(BODY as u32 - 0x107).to_le_bytes()].concat()
    }

    const CALL: [u8; 5] = [0xe8, 0, 0, 0, 0];

    #[test]
    fn in_front_of_the_call() {
        let rdi = lea(0x48, 0x3d);
        assert_eq!(handed(&[&rdi[..], &CALL].concat()), Some(BODY));
        // mov $BODY, %edi
        assert_eq!(handed(&[&[0xbf, 0, 2, 0, 0], &CALL[..]].concat()), Some(BODY));
        // Another address; a call in between; xor %edi, %edi behind it.
        assert_eq!(handed(&[&[0xbf, 1, 2, 0, 0], &CALL[..]].concat()), None);
        assert_eq!(handed(&[&rdi[..], &CALL, &CALL].concat()), None);
        assert_eq!(handed(&[&rdi[..], &[0x31, 0xff], &CALL].concat()), None);
        assert_eq!(handed(&CALL), None);
        // jmp instead of call.
        assert_eq!(handed(&[&rdi[..], &[0xe9, 0, 1, 0, 0]].concat()), Some(BODY));
    }

    #[test]
    fn in_a_loop() {
        // lea BODY, %rbp; mov %rbp, %rdi; call; jne back to the mov: the call in the loop.
        let rbp = lea(0x48, 0x2d);
        let again = [&rbp[..], &[0x48, 0x89, 0xef], &CALL].concat();
        assert_eq!(handed(&again), Some(BODY));
        // jmp in front of the mov, from behind another value of %rbp: which of them is not known.
        let other = [&rbp[..], &[0xeb, 0x02], &[0x31, 0xed], &[0x48, 0x89, 0xef], &CALL].concat();
        assert_eq!(handed(&other), None);
        let same = [&rbp[..], &[0xeb, 0x01], &[0x90], &[0x48, 0x89, 0xef], &CALL].concat();
        assert_eq!(handed(&same), Some(BODY));
    }
}
