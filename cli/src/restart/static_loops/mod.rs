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

mod arguments;
mod call_targets;
mod instruction_effects;
mod quotient_tests;
mod register_values;

use arguments::call;
use call_targets::{Code64, LAST, NUMBER, SHOWN, SIZE, TAKE_NOTHING, TAKE_SOME, routine};
use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Register,
};
use instruction_effects::step;
use object::read::elf::{ElfFile64, FileHeader as _, SectionHeader as _};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, elf};
use quotient_tests::Ways;
use register_values::Tag::*;
use register_values::{Flags, Held, Tag, followed};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// So many states of a function are looked at.
const MOST: usize = 20_000;

/// Calls: the routine, and where (in the file's own addresses), if that is known.
type Uses = Vec<(&'static str, Option<u64>)>;

/// Calls that are the user's, or may be.
pub fn uses(data: &[u8]) -> Uses {
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
    let mut code = match linked(&file, all) {
        Ok(code) => code,
        Err(uses) => return uses,
    };
    let linkage = sections(&file, &mut code);
    let (sizes, mut others) = match calls(&code, &linkage) {
        Ok(found) => found,
        Err(uses) => return uses,
    };
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

/// What the slots of the linkage table lead to; the code itself is not there yet. An error: the routines are
/// used otherwise than by calls; `all`: all of them may be.
fn linked<'a>(file: &ElfFile64<'a, Endianness>, all: impl Fn() -> Uses) -> Result<Code64<'a>, Uses> {
    let mut code = Code64 {
        sections: Vec::new(),
        slots: HashMap::new(),
        takers: HashMap::new(),
        last: BTreeSet::new(),
        shown: BTreeSet::new(),
    };
    let Some(symbols) = file.dynamic_symbol_table() else { return Ok(code) };
    for (at, r) in file.dynamic_relocations().into_iter().flatten() {
        let RelocationTarget::Symbol(s) = r.target() else { continue };
        let symbol = symbols.symbol_by_index(s).ok();
        let Some(name) = symbol.as_ref().and_then(|s| s.name().ok()) else { continue };
        if LAST.contains(&name) {
            code.last.insert(at);
        }
        if SHOWN.contains(&name) {
            code.shown.insert(at);
        }
        let takes = TAKE_SOME.iter().find(|t| t.0 == name).map(|t| t.1);
        if let Some(n) = takes.or(TAKE_NOTHING.contains(&name).then_some(0)) {
            code.takers.insert(at, n);
        }
        let Some(name) = routine(name) else { continue };
        let object::RelocationFlags::Elf { r_type } = r.flags() else { return Err(all()) };
        // Its address is somewhere else than in the linkage table.
        if ![elf::R_X86_64_JUMP_SLOT, elf::R_X86_64_GLOB_DAT].contains(&r_type) {
            return Err(vec![(name, None)]);
        }
        code.slots.insert(at, name);
    }
    Ok(code)
}

/// Adds the sections of code; where those of the linkage table begin.
fn sections<'a>(file: &ElfFile64<'a, Endianness>, code: &mut Code64<'a>) -> Vec<u64> {
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
    linkage
}

/// Calls of the routines, by where they return to: for n, and for t.
type Calls = (Vec<(u64, &'static str)>, BTreeMap<u64, &'static str>);

/// All of them. An error: one is used otherwise.
fn calls(code: &Code64, linkage: &[u64]) -> Result<Calls, Uses> {
    let (mut sizes, mut others) = (Vec::new(), BTreeMap::new());
    for (start, data) in code.sections.iter().filter(|(s, _)| !linkage.contains(s)) {
        // What a stub of promp-cc's does under another runtime: `cmp [shown], 0; je 1f; jmp [shown]; 1: jmp
        // [routine]`.
        let mut is_otherwise = false;
        for i in Decoder::with_ip(64, data, *start, DecoderOptions::NONE) {
            let jumps = [FlowControl::IndirectBranch, FlowControl::ConditionalBranch];
            if core::mem::take(&mut is_otherwise) && jumps.contains(&i.flow_control()) {
                continue;
            }
            is_otherwise = i.is_ip_rel_memory_operand() && code.shown.contains(&i.memory_displacement64());
            match (i.flow_control(), code.called(&i)) {
                (FlowControl::Call | FlowControl::IndirectCall, Some(name)) if SIZE.contains(&name) => {
                    sizes.push((i.next_ip(), name));
                }
                (FlowControl::Call | FlowControl::IndirectCall, Some(name)) => {
                    others.insert(i.next_ip(), name);
                }
                // A tail call; or the address is taken.
                (_, Some(name)) => return Err(vec![(name, Some(i.ip()))]),
                (_, None) => {
                    if let Some(name) = code.slot(&i) {
                        return Err(vec![(name, Some(i.ip()))]);
                    }
                }
            }
        }
    }
    Ok((sizes, others))
}

/// May what is held so not be followed to this instruction?
fn breaks_off(i: &Instruction, held: &Held) -> bool {
    let on = [FlowControl::Next, FlowControl::UnconditionalBranch, FlowControl::ConditionalBranch];
    let jumps = i.flow_control() == FlowControl::ConditionalBranch;
    held.compared && !on.contains(&i.flow_control())
        || held.flags == Flags::Count && i.rflags_read() != 0 && !(jumps && held.inside)
}

/// What is held behind a call. The call is `met` if it is of a routine. `None`: it does not return.
fn behind_call(
    code: &Code64,
    i: &Instruction,
    mut held: Held,
    met: &mut BTreeSet<u64>,
) -> Result<Option<Held>, Option<Tag>> {
    let name = code.called(i);
    if name.is_none() {
        call(code, i, &held)?;
    }
    if code.leads_to(i).is_some_and(|s| code.last.contains(&s)) {
        return Ok(None);
    }
    held.after_call();
    held.flags = Flags::Else;
    let next = i.next_ip();
    let result = match name {
        Some(n) if NUMBER.contains(&n) => Some(Number(next)),
        Some(_) => Some(Size(next)),
        None => None,
    };
    if let Some(tag) = result {
        met.insert(next);
        held.registers.insert(Register::RAX as u32, tag);
    }
    Ok(Some(held))
}

/// What is held where a conditional jump leads to, and behind it, if that tells whether the thread has
/// iterations.
fn parted(i: &Instruction, mut held: Held) -> (Held, Held) {
    use ConditionCode::{a, ae, b, be, g, ge, l, le};
    let mut jumped = held.clone();
    let (some, none) = match held.flags {
        Flags::Count | Flags::Else => return (jumped, held),
        Flags::LowEnd => ([b, l], [ae, ge]),
        Flags::EndLow => ([a, g], [be, le]),
    };
    jumped.inside = some.contains(&i.condition_code());
    held.inside = none.contains(&i.condition_code());
    (jumped, held)
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
        if breaks_off(&i, &held) {
            return Err(held.any());
        }
        let (from, seen_inside) = (todo.len(), held.inside);
        match i.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => {
                let Some(held) = behind_call(code, &i, held, &mut met)? else { continue };
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
                if held.flags == Flags::Count {
                    ways.counts.insert(at);
                }
                let (jumped, held) = parted(&i, held);
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

#[cfg(test)]
mod tests;
