//! Whose are a program's calls of `omp_get_num_threads` and `omp_get_thread_num`: GCC's, for a static loop,
//! or the user's?
//!
//! GCC divides a static loop's iterations by the team's size n for thread t: q = iterations / n, r =
//! iterations % n; if t < r, one more for each (q + 1, 0); from q * t + r on, q of them. What comes of that
//! is bounds, and n, t, q and r are not used otherwise. That is what is looked for here: behind a call, on
//! all ways to the function's end, the registers (and places in the stack) that hold them are followed. Any
//! other use, or one that cannot be followed, is the user's. Chunked loops (`schedule(static, 4)`) and those
//! that are vectorised with -O3 may be taken for the user's, too.
//!
//! Collapsed loops, and those that step through several arrays, count their iterations up to q. A test of q
//! is GCC's if it stands behind the test whether the thread has iterations at all, on every way, and ends the
//! outermost loop there is behind that: what the user does in an iteration is further in.
//!
//! Who has divided work like that by hand, and keeps the bounds in memory, could go on with them: they are
//! right as a list of work. To find them by the thread's number that would have to be used.

mod ways;

use iced_x86::{
    Code, ConditionCode, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};
use object::read::elf::{ElfFile64, FileHeader as _, SectionHeader as _};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, elf};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use ways::Ways;

/// The routines, in C and in Fortran.
const SIZE: [&str; 2] = ["omp_get_num_threads", "omp_get_num_threads_"];
const NUMBER: [&str; 2] = ["omp_get_thread_num", "omp_get_thread_num_"];
/// What takes no numbers and no pointers.
const TAKE_NOTHING: [&str; 24] = [
    "GOMP_barrier",
    "GOMP_critical_start",
    "GOMP_critical_end",
    "GOMP_atomic_start",
    "GOMP_atomic_end",
    "GOMP_single_start",
    "GOMP_taskwait",
    "GOMP_loop_end",
    "GOMP_loop_end_nowait",
    "GOMP_ordered_start",
    "GOMP_ordered_end",
    "exp",
    "log",
    "log10",
    "pow",
    "sin",
    "cos",
    "tan",
    "atan",
    "atan2",
    "sqrt",
    "fmod",
    "floor",
    "ceil",
];
/// What takes so many.
const TAKE_SOME: [(&str, usize); 9] = [
    ("malloc", 1),
    ("free", 1),
    ("calloc", 2),
    ("realloc", 2),
    ("memset", 3),
    ("memcpy", 3),
    ("memmove", 3),
    ("ldexp", 1),
    ("sincos", 2),
];
/// What does not return.
const LAST: [&str; 7] = [
    "abort",
    "exit",
    "__stack_chk_fail",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_os_error_at",
    "_gfortran_error_stop_string",
];
/// So many states of a function are looked at.
const MOST: usize = 20_000;

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Tag {
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
    fn is_followed(self) -> bool {
        !matches!(self, Product | Low | Along)
    }
}

fn followed(t: Option<&Tag>) -> Result<(), Option<Tag>> {
    match t {
        Some(t) if t.is_followed() => Err(Some(*t)),
        _ => Ok(()),
    }
}

/// What a conditional jump would depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Flags {
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
struct Held {
    registers: BTreeMap<u32, Tag>,
    stack: BTreeMap<(u32, u64), Tag>,
    /// t and r have been compared, and t is not multiplied yet: nothing else is done in between.
    compared: bool,
    flags: Flags,
    /// The thread has iterations, as was tested.
    inside: bool,
}

struct Code64<'a> {
    sections: Vec<(u64, &'a [u8])>,
    /// Slots of the linkage table that lead to the routines.
    slots: HashMap<u64, &'static str>,
    /// ... and to what is known to take so many numbers and pointers.
    takers: HashMap<u64, usize>,
    /// ... and to what does not return.
    last: BTreeSet<u64>,
}

fn routine(name: &str) -> Option<&'static str> {
    SIZE.iter().chain(&NUMBER).find(|n| **n == name).copied()
}

impl<'a> Code64<'a> {
    fn decoder(&self, at: u64) -> Option<Decoder<'a>> {
        let (start, data) = self.sections.iter().find(|(s, d)| (*s..s + d.len() as u64).contains(&at))?;
        Some(Decoder::with_ip(64, &data[(at - start) as usize..], at, DecoderOptions::NONE))
    }

    /// The slot that an instruction uses.
    fn slot(&self, i: &Instruction) -> Option<&'static str> {
        let memory = (0..i.op_count()).any(|k| i.op_kind(k) == OpKind::Memory);
        (memory && i.is_ip_rel_memory_operand())
            .then(|| self.slots.get(&i.memory_displacement64()).copied())?
    }

    /// The slot of the linkage table that a call uses, by itself or by way of a stub.
    fn leads_to(&self, i: &Instruction) -> Option<u64> {
        let slot = |i: &Instruction, how: &[FlowControl]| {
            let indirect = how.contains(&i.flow_control());
            (indirect && i.is_ip_rel_memory_operand()).then(|| i.memory_displacement64())
        };
        if i.op0_kind() != OpKind::NearBranch64 {
            return slot(i, &[FlowControl::IndirectCall, FlowControl::IndirectBranch]);
        }
        let mut stub = self.decoder(i.near_branch_target())?.into_iter();
        let first = stub.next()?;
        slot(
            &if first.code() == Code::Endbr64 { stub.next()? } else { first },
            &[FlowControl::IndirectBranch],
        )
    }

    /// The routine that a call leads to.
    fn called(&self, i: &Instruction) -> Option<&'static str> {
        self.slots.get(&self.leads_to(i)?).copied()
    }
}

/// Calls that are the user's, or may be: the routine, and where (in the file's own addresses).
pub fn uses(data: &[u8]) -> Vec<(&'static str, Option<u64>)> {
    let Ok(file) = ElfFile64::<Endianness>::parse(data) else { return Vec::new() };
    let Some(symbols) = file.dynamic_symbol_table() else { return Vec::new() };
    let wanted = |s: &'static str| symbols.symbols().any(|x| x.is_undefined() && x.name() == Ok(s));
    let named: Vec<&str> = SIZE.into_iter().chain(NUMBER).filter(|s| wanted(s)).collect();
    if named.is_empty() {
        return Vec::new();
    }
    let all = || named.iter().map(|n| (routine(n).unwrap_or_default(), None)).collect();
    if file.elf_header().e_machine(file.endian()) != elf::EM_X86_64 {
        return all();
    }
    let mut code =
        Code64 { sections: Vec::new(), slots: HashMap::new(), takers: HashMap::new(), last: BTreeSet::new() };
    for (at, r) in file.dynamic_relocations().into_iter().flatten() {
        let RelocationTarget::Symbol(s) = r.target() else { continue };
        let symbol = symbols.symbol_by_index(s).ok();
        let Some(name) = symbol.as_ref().and_then(|s| s.name().ok()) else { continue };
        if LAST.contains(&name) {
            code.last.insert(at);
        }
        let takes = TAKE_SOME.iter().find(|t| t.0 == name).map(|t| t.1);
        if let Some(n) = takes.or(TAKE_NOTHING.contains(&name).then_some(0)) {
            code.takers.insert(at, n);
        }
        let Some(name) = routine(name) else { continue };
        let object::RelocationFlags::Elf { r_type } = r.flags() else { return all() };
        // Its address is somewhere else than in the linkage table.
        if ![elf::R_X86_64_JUMP_SLOT, elf::R_X86_64_GLOB_DAT].contains(&r_type) {
            return vec![(name, None)];
        }
        code.slots.insert(at, name);
    }
    let mut linkage = Vec::new();
    for s in file.sections() {
        let flags = s.elf_section_header().sh_flags(file.endian());
        if flags.0 & elf::SHF_EXECINSTR.0 == 0 {
            continue;
        }
        if let Ok(data) = s.data() {
            code.sections.push((s.address(), data));
            if s.name().is_ok_and(|n| n.starts_with(".plt")) {
                linkage.push(s.address());
            }
        }
    }
    let (mut sizes, mut others) = (Vec::new(), BTreeMap::new());
    for (start, data) in code.sections.iter().filter(|(s, _)| !linkage.contains(s)) {
        for i in Decoder::with_ip(64, data, *start, DecoderOptions::NONE) {
            match (i.flow_control(), code.called(&i)) {
                (FlowControl::Call | FlowControl::IndirectCall, Some(name)) if SIZE.contains(&name) => {
                    sizes.push((i.next_ip(), name));
                }
                (FlowControl::Call | FlowControl::IndirectCall, Some(name)) => {
                    others.insert(i.next_ip(), name);
                }
                // A tail call; or the address is taken.
                (_, Some(name)) => return vec![(name, Some(i.ip()))],
                (_, None) => {
                    if let Some(name) = code.slot(&i) {
                        return vec![(name, Some(i.ip()))];
                    }
                }
            }
        }
    }
    // What GCC has made of a region returns nothing; of other functions it is not known.
    let regions: Vec<(u64, u64)> = file
        .symbols()
        .filter(|s| s.name().is_ok_and(|n| n.contains("._omp_fn.")))
        .map(|s| (s.address(), s.address() + s.size()))
        .collect();
    let returns = |at: u64| !regions.iter().any(|r| (r.0..r.1).contains(&at));
    // Of numbers that no static loop has asked for, too.
    let mut bad = Vec::new();
    for (at, name) in sizes {
        match follow(&code, at, returns(at)) {
            Ok(met) => others.retain(|at, _| !met.contains(at)),
            Err(Some(Number(n))) if others.contains_key(&n) => bad.push((others[&n], Some(n))),
            Err(Some(Size(n))) if n != at => bad.push((name, Some(n))),
            Err(_) => bad.push((name, Some(at))),
        }
    }
    bad.extend(others.into_iter().map(|(at, name)| (name, Some(at))));
    bad
}

/// Follows n from behind the call that returns to `at`. The calls whose results were used as a static loop
/// does; or what was used otherwise, if it is known. `returns`: may the function return something?
fn follow(code: &Code64, at: u64, returns: bool) -> Result<BTreeSet<u64>, Option<Tag>> {
    let mut met = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let first = Held { registers: [(Register::RAX as u32, Size(at))].into(), ..Held::default() };
    let mut todo = vec![(at, first)];
    let mut info = InstructionInfoFactory::new();
    let mut ways = Ways::default();
    while let Some((at, mut held)) = todo.pop() {
        if !seen.insert((at, held.clone())) {
            continue;
        }
        let i = code.decoder(at).map(|mut d| d.decode()).filter(|i| !i.is_invalid()).ok_or(None)?;
        if seen.len() > MOST {
            return Err(None);
        }
        let next = i.next_ip();
        let on = [FlowControl::Next, FlowControl::UnconditionalBranch, FlowControl::ConditionalBranch];
        if held.compared && !on.contains(&i.flow_control()) {
            return Err(held.any());
        }
        let jumps = i.flow_control() == FlowControl::ConditionalBranch;
        if held.flags == Flags::Count && i.rflags_read() != 0 && !(jumps && held.inside) {
            return Err(held.any());
        }
        let (from, seen_inside) = (todo.len(), held.inside);
        match i.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => {
                let name = code.called(&i);
                if name.is_none() {
                    call(code, &i, &held)?;
                }
                if code.leads_to(&i).is_some_and(|s| code.last.contains(&s)) {
                    continue;
                }
                held.after_call();
                held.flags = Flags::Else;
                let result = match name {
                    Some(n) if NUMBER.contains(&n) => Some(Number(next)),
                    Some(_) => Some(Size(next)),
                    None => None,
                };
                if let Some(tag) = result {
                    met.insert(next);
                    held.registers.insert(Register::RAX as u32, tag);
                }
                todo.push((next, held));
            }
            FlowControl::Next => {
                let flags = std::mem::take(&mut held.flags);
                step(&i, &mut held, &mut info)?;
                if i.rflags_modified() == 0 {
                    held.flags = flags;
                }
                todo.push((next, held));
            }
            // A call at the function's end: what that returns is returned.
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch if code.leads_to(&i).is_some() => {
                if held.compared || code.called(&i).is_some() {
                    return Err(held.any());
                }
                call(code, &i, &held)?;
            }
            FlowControl::UnconditionalBranch => todo.push((i.near_branch_target(), held)),
            FlowControl::ConditionalBranch => {
                let mut jumped = held.clone();
                match held.flags {
                    Flags::Count => drop(ways.counts.insert(at)),
                    Flags::Else => {}
                    tested => {
                        use ConditionCode::{a, ae, b, be, g, ge, l, le};
                        let low_first = tested == Flags::LowEnd;
                        let (some, none) = if low_first { ([b, l], [ae, ge]) } else { ([a, g], [be, le]) };
                        jumped.inside = some.contains(&i.condition_code());
                        held.inside = none.contains(&i.condition_code());
                    }
                }
                todo.push((i.near_branch_target(), jumped));
                todo.push((next, held));
            }
            FlowControl::Return if !returns => {}
            FlowControl::Return => followed(held.registers.get(&(Register::RAX as u32)))?,
            FlowControl::Exception => {}
            _ => return Err(held.any()),
        }
        ways.went(at, seen_inside, todo[from..].iter().map(|(to, _)| *to));
    }
    if ways.are_gccs() { Ok(met) } else { Err(None) }
}

/// Registers that pass arguments.
const ARGUMENTS: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];
/// Registers that a called function keeps.
const KEPT: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

impl Held {
    fn any(&self) -> Option<Tag> {
        self.registers.values().chain(self.stack.values()).find(|t| t.is_followed()).copied()
    }

    fn after_call(&mut self) {
        self.registers.retain(|r, _| KEPT.iter().any(|k| *k as u32 == *r));
    }

    /// A place in the stack's frame.
    fn place(i: &Instruction) -> Option<(u32, u64)> {
        let frame = matches!(i.memory_base(), Register::RSP | Register::RBP);
        (frame && i.memory_index() == Register::None)
            .then(|| (i.memory_base() as u32, i.memory_displacement64()))
    }

    fn get(&self, i: &Instruction, k: u32) -> Option<Tag> {
        match i.op_kind(k) {
            OpKind::Register => self.registers.get(&(i.op_register(k).full_register() as u32)).copied(),
            OpKind::Memory => self.stack.get(&Self::place(i)?).copied(),
            _ => None,
        }
    }

    /// Operand 0 is written.
    fn set(&mut self, i: &Instruction, tag: Option<Tag>) -> Result<(), Option<Tag>> {
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

/// A function is called: nothing may be passed to it.
fn call(code: &Code64, i: &Instruction, held: &Held) -> Result<(), Option<Tag>> {
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
fn takes(code: &Code64, at: u64, register: Register) -> bool {
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

/// The sum of two.
fn sum(a: Option<Tag>, b: Option<Tag>) -> Result<Option<Tag>, Option<Tag>> {
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
fn scaled(tag: Option<Tag>) -> Result<Option<Tag>, Option<Tag>> {
    match tag {
        Some(Quotient | Part) => Ok(Some(Part)),
        Some(Low | Along) => Ok(Some(Along)),
        Some(End | Bound) => Ok(tag),
        tag => followed(tag.as_ref()).map(|()| None),
    }
}

/// May what comes of q be compared with the other?
fn counted(a: Option<Tag>, b: Option<Tag>) -> bool {
    matches!(a, Some(Quotient | Part | End | Bound)) && !b.is_some_and(Tag::is_followed)
}

/// A place multiplied by what has nothing to do with it: a stride.
fn can_be_scaled(a: Option<Tag>, b: Option<Tag>) -> bool {
    matches!(a, Some(Low | Along | End | Bound)) && b.is_none()
}

/// What an instruction makes of it.
fn step(i: &Instruction, held: &mut Held, info: &mut InstructionInfoFactory) -> Result<(), Option<Tag>> {
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

#[cfg(test)]
mod tests;
