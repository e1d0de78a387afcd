//! Where the indirect jump of a `switch` can go, read from the compiler's table.
//!
//! GCC and Clang make two kinds of tables. In position-independent code a table has distances from its own beginning, in 32 bits:
//!
//! ```text
//! lea  table(%rip), %b  …  movslq (%b,%i,4), %r ;  add %b, %r ;  jmp *%r
//! ```
//!
//! and in code for a fixed place addresses: `jmp *table(,%i,8)`. The `lea` may stand far before the jump, and the number of entries nowhere. So
//! every object whose address the function takes is tried as a table, up to the next one of them, and read for as long as its entries lead to
//! instructions. More places than there are do no harm (who asks wants to know where control *can* have been); fewer would. Where the
//! jump has another shape (a function pointer, a `goto` to a label's address) there is no answer.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Instructions of a function, and entries of a table, at most.
const MOST: usize = 100_000;
/// Instructions before a jump among which the others of its shape are looked for.
const NEAR: usize = 24;

/// A function's instructions, in the order of their addresses.
type Function = Rc<[Instruction]>;

/// Code as it can be looked at.
pub struct Code<'a> {
    /// The instruction at an address.
    pub decode: &'a dyn Fn(usize) -> Option<Instruction>,
    /// May so many bytes at an address be read?
    pub readable: &'a dyn Fn(usize, usize) -> bool,
    /// The beginning of the function that the instruction at an address belongs to; 0 if that is not known.
    pub function: &'a dyn Fn(usize) -> usize,
}

/// Functions that have been looked at.
#[derive(Default)]
pub struct Jumps {
    functions: RefCell<HashMap<usize, Function>>,
}

impl Jumps {
    /// Where `jump`, an indirect one, can go; none if that cannot be told.
    pub fn targets(&self, jump: &Instruction, code: &Code<'_>) -> Option<Vec<usize>> {
        let function = self.function(jump.ip() as usize, code);
        let at = function.binary_search_by_key(&jump.ip(), Instruction::ip).ok()?;
        let targets = match shape(&function[..=at])? {
            Shape::Addresses(table) => self.entries(code, usize::MAX, |i| read::<usize>(code, table + 8 * i)),
            Shape::Distances(base) => {
                let mut tables = taken(&function);
                let known =
                    function.iter().any(|i| i.mnemonic() == Mnemonic::Lea && i.op0_register() == base);
                if !known && !function.iter().any(|i| is_move_to(i, base)) {
                    return None;
                }
                tables.sort_unstable();
                tables.dedup();
                let ends = tables.iter().skip(1).copied().chain([usize::MAX]);
                let parts = tables.iter().zip(ends).map(|(&table, end)| {
                    self.entries(code, (end - table) / 4, |i| {
                        read::<i32>(code, table + 4 * i).and_then(|d| table.checked_add_signed(d as isize))
                    })
                });
                parts.flatten().collect()
            }
        };
        (!targets.is_empty()).then_some(targets)
    }

    /// The entries of a table, `most` at most, for as long as they lead to instructions.
    fn entries(&self, code: &Code<'_>, most: usize, entry: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
        let leads =
            |&to: &usize| self.function(to, code).binary_search_by_key(&(to as u64), Instruction::ip).is_ok();
        (0..most.min(MOST)).map_while(entry).take_while(leads).collect()
    }

    /// The function that the instruction at `at` belongs to; empty if it cannot be decoded as a whole.
    fn function(&self, at: usize, code: &Code<'_>) -> Function {
        let start = (code.function)(at);
        if let Some(f) = self.functions.borrow().get(&start) {
            return f.clone();
        }
        let mut all = Vec::new();
        let mut next = start;
        while start != 0 && (code.function)(next) == start {
            match (code.decode)(next).filter(|_| all.len() < MOST) {
                Some(i) => {
                    next = i.next_ip() as usize;
                    all.push(i);
                }
                None => {
                    all.clear();
                    break;
                }
            }
        }
        self.functions.borrow_mut().entry(start).or_insert(all.into()).clone()
    }
}

/// How a jump finds its target.
enum Shape {
    /// In a table of addresses at this place.
    Addresses(usize),
    /// In a table of distances whose address is in this register.
    Distances(Register),
}

/// The shape of the jump at the end of `code`.
fn shape(code: &[Instruction]) -> Option<Shape> {
    let (jump, before) = code.split_last()?;
    if let Some(table) = table_of_addresses(jump) {
        return Some(Shape::Addresses(table));
    }
    if jump.op0_kind() != OpKind::Register {
        return None;
    }
    // What has been done to the register in a row, last first.
    let target = jump.op0_register();
    let mut info = InstructionInfoFactory::new();
    let mut steps =
        before.iter().rev().take(NEAR).take_while(|i| i.flow_control() == iced_x86::FlowControl::Next);
    let mut step = || steps.find(|i| writes(info.info(i), target));
    let last = step()?;
    if last.mnemonic() == Mnemonic::Mov {
        return table_of_addresses(last).map(Shape::Addresses);
    }
    let is_sum = last.mnemonic() == Mnemonic::Add
        && last.op0_register() == target
        && last.op1_kind() == OpKind::Register;
    let widened = is_sum.then(&mut step).flatten()?;
    let distance = match widened.mnemonic() {
        Mnemonic::Movsxd => widened.op1_kind() == OpKind::Memory,
        Mnemonic::Cdqe => {
            step().is_some_and(|i| i.mnemonic() == Mnemonic::Mov && i.op1_kind() == OpKind::Memory)
        }
        _ => false,
    };
    distance.then(|| Shape::Distances(last.op1_register()))
}

/// The table in an operand of the form `table(,%index,8)`.
fn table_of_addresses(i: &Instruction) -> Option<usize> {
    let kind = if i.mnemonic() == Mnemonic::Jmp { i.op0_kind() } else { i.op1_kind() };
    let indexed = i.memory_base() == Register::None && i.memory_index() != Register::None;
    (kind == OpKind::Memory && indexed && i.memory_index_scale() == 8)
        .then(|| i.memory_displacement64() as usize)
}

/// Whether an instruction writes to `register` or a part of it.
fn writes(info: &iced_x86::InstructionInfo, register: Register) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    info.used_registers().iter().any(|u| {
        u.register().full_register() == register.full_register()
            && matches!(u.access(), Write | CondWrite | ReadWrite | ReadCondWrite)
    })
}

/// Whether it puts into `register` what was elsewhere.
fn is_move_to(i: &Instruction, register: Register) -> bool {
    matches!(i.mnemonic(), Mnemonic::Mov | Mnemonic::Pop) && i.op0_register() == register
}

/// The objects whose addresses `function` takes.
fn taken(function: &[Instruction]) -> Vec<usize> {
    let lea = |i: &&Instruction| i.mnemonic() == Mnemonic::Lea && i.is_ip_rel_memory_operand();
    function.iter().filter(lea).map(|i| i.ip_rel_memory_address() as usize).collect()
}

/// The number at `at`, if it may be read. A table need not be aligned where it is none.
fn read<T: Copy>(code: &Code<'_>, at: usize) -> Option<T> {
    // SAFETY: memory that may be read; any bytes are a number.
    (code.readable)(at, size_of::<T>()).then(|| unsafe { (at as *const T).read_unaligned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    /// 0: lea 28(rip), rdx (35); 7: nop; 8: movslq (rdx,rax,4), rax; 12: add rdx, rax; 15: jmp rax; 17, 18, 20, 21: alternatives; 35: a
    /// table of four; 51: what is none of its entries.
    const DISTANCES: [u8; 64] = {
        let mut code = [0x90; 64];
        let start = [
            0x48, 0x8d, 0x15, 28, 0, 0, 0, 0x90, 0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0, 0xff, 0xe0, 0xc3,
            0x31, 0xc0, 0xc3, 0xc3,
        ];
        let (mut i, to) = (0, [17i32, 18, 20, 21, 19]);
        while i < start.len() {
            code[i] = start[i];
            i += 1;
        }
        i = 0;
        while i < to.len() * 4 {
            code[35 + i] = (to[i / 4] - 35).to_le_bytes()[i % 4];
            i += 1;
        }
        code
    };

    /// The targets of the jump at `jump` in `code`, whose function is the first `length` bytes.
    fn targets(code: &[u8], length: usize, jump: usize) -> Option<Vec<usize>> {
        let base = code.as_ptr() as usize;
        let inside = |a: usize, n: usize| a >= base && a + n <= base + code.len();
        let decode = |a: usize| {
            let i = Decoder::with_ip(64, &code[a - base..], a as u64, DecoderOptions::NONE).decode();
            (!i.is_invalid()).then_some(i)
        };
        let function = |a: usize| if inside(a, 1) && a < base + length { base } else { 0 };
        let all = Code { decode: &decode, readable: &inside, function: &function };
        let found = Jumps::default().targets(&decode(base + jump)?, &all)?;
        Some(found.iter().map(|t| t - base).collect())
    }

    #[test]
    fn a_table_ends_where_entries_lead_to_no_instruction() {
        assert_eq!(targets(&DISTANCES, 35, 15), Some(vec![17, 18, 20, 21]));
    }

    #[test]
    fn the_table_is_looked_for_wherever_its_address_is_taken() {
        let mut code = DISTANCES;
        code[3] = 0x60; // the address of something else
        assert_eq!(targets(&code, 35, 15), None);
        code[25..32].copy_from_slice(&[0x48, 0x8d, 0x15, 3, 0, 0, 0]); // lea 3(rip), rdx: the table
        assert_eq!(targets(&code, 35, 15), Some(vec![17, 18, 20, 21]));
        code[27] = 0x1d; // into rbx: the jump's own register may have got it through the stack or not
        code[20..25].copy_from_slice(&[0x48, 0x8b, 0x14, 0x24, 0xc3]); // mov (rsp), rdx; ret
        code[43..47].copy_from_slice(&(20 - 35i32).to_le_bytes());
        code[47..51].copy_from_slice(&(24 - 35i32).to_le_bytes());
        assert_eq!(targets(&code, 35, 15), Some(vec![17, 18, 20, 24]));
    }

    #[test]
    fn a_table_of_addresses() {
        // 0: jmp *table(,%rax,8); 8: ret; 9: nop; 10: ret
        let (prot, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT);
        // SAFETY: new memory, where an instruction can name its address.
        let code = unsafe {
            let p = libc::mmap(core::ptr::null_mut(), 64, prot, flags, -1, 0);
            assert!(p != libc::MAP_FAILED);
            core::slice::from_raw_parts_mut(p.cast::<u8>(), 64)
        };
        let base = code.as_ptr() as usize;
        let table = i32::try_from(base + 16).expect("within 2 GiB");
        code.fill(0x90);
        code[..3].copy_from_slice(&[0xff, 0x24, 0xc5]);
        code[3..7].copy_from_slice(&table.to_le_bytes());
        code[8] = 0xc3;
        for (i, to) in [8, 9, 7, 100].iter().enumerate() {
            code[16 + 8 * i..24 + 8 * i].copy_from_slice(&(base + to).to_le_bytes());
        }
        assert_eq!(targets(code, 11, 0), Some(vec![8, 9, 7]));
    }

    #[test]
    fn other_jumps_and_unknown_functions_have_no_answer() {
        assert_eq!(targets(&DISTANCES, 0, 15), None);
        for (at, bytes) in [
            (8, &[0x48, 0x8b, 0x04, 0x82][..]), // mov (rdx,rax,4), rax: no distance
            (12, &[0x48, 0x29, 0xd0]),          // sub rdx, rax
            (12, &[0x90, 0x90, 0x90]),
            (15, &[0xff, 0xe1]), // jmp rcx
            (15, &[0xff, 0x20]), // jmp *(rax)
        ] {
            let mut code = DISTANCES;
            code[at..at + bytes.len()].copy_from_slice(bytes);
            assert_eq!(targets(&code, 35, 15), None, "{at} {bytes:x?}");
        }
    }
}
