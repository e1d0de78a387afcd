//! A program's static variables, by its debug information (DWARF): names, addresses, types. Fortran's
//! allocatable ones are where their descriptors in memory say.
//!
//! Left out are variables of types for which NumPy has none (pointers, unions), and allocatable ones that are
//! not allocated.

use super::saved_memory::Memory;
use super::types::{Element, Shape};
use crate::library;
use addr2line::gimli::{
    self, AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, EvaluationResult, Expression,
    LittleEndian, Location, Unit, UnitOffset, constants as dw,
};
use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSection, elf};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Die<'a> = DebuggingInformationEntry<Slice<'a>>;

/// Types that consist of others to this depth are looked at.
const DEEPEST: u32 = 16;

/// One.
pub struct Variable {
    /// Its name, behind those of the function, module or namespace that it belongs to.
    pub name: String,
    /// Where it is.
    pub address: u64,
    /// What it is.
    pub shape: Shape,
}

/// What was found.
#[derive(Default)]
pub struct Found {
    /// In the order of the debug information.
    pub variables: Vec<Variable>,
    /// Files with debug information.
    pub modules: usize,
}

/// Those of all files that are mapped and have debug information.
pub fn all(memory: &Memory) -> Result<Found, String> {
    let mut found = Found::default();
    let mut done: Vec<&str> = Vec::new();
    for m in memory.about.maps.iter().filter(|m| m.inode != 0 && m.offset == 0) {
        if done.contains(&&*m.path) || library::is_a_promp(m.path.as_bytes()) {
            continue;
        }
        done.push(&m.path);
        let Ok(data) = std::fs::read(&m.path) else { continue };
        let Ok(file) = ElfFile64::<Endianness>::parse(&*data) else { continue };
        let fixed = file.elf_header().e_type(file.endian()) == elf::ET_EXEC;
        let base = if fixed { 0 } else { m.start as u64 };
        let section = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
            let section = file.section_by_name(id.name()).and_then(|s| s.data().ok());
            Ok(EndianSlice::new(section.unwrap_or_default(), LittleEndian))
        };
        let dwarf = Dwarf::load(section).map_err(|e| format!("{}: {e}", m.path))?;
        let mut module = Module { memory, dwarf: &dwarf, base, found: &mut found, any: false };
        // What cannot be read of one unit is no reason to do without the others.
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            if let Ok(unit) = dwarf.unit(header) {
                let _ = module.unit(&unit);
            }
        }
        found.modules += usize::from(module.any);
    }
    Ok(found)
}

struct Module<'a, 'f> {
    memory: &'a Memory<'a>,
    dwarf: &'a Dwarf<Slice<'a>>,
    base: u64,
    found: &'f mut Found,
    any: bool,
}

impl<'a> Module<'a, '_> {
    fn unit(&mut self, unit: &Unit<Slice<'a>>) -> gimli::Result<()> {
        self.any = true;
        let mut names: Vec<(isize, String)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(die) = entries.next_dfs()? {
            let depth = die.depth();
            names.retain(|(d, _)| *d < depth);
            match die.tag() {
                dw::DW_TAG_subprogram | dw::DW_TAG_module | dw::DW_TAG_namespace => {
                    // gfortran names a main program by its own name; C's and C++'s functions likewise.
                    if let Some(name) = self.name(unit, die) {
                        names.push((depth, name));
                    }
                }
                dw::DW_TAG_variable | dw::DW_TAG_member => {
                    if let Some(v) = self.variable(unit, die, &names) {
                        self.found.variables.push(v);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn text(&self, unit: &Unit<Slice<'a>>, value: AttributeValue<Slice<'a>>) -> Option<String> {
        Some(self.dwarf.attr_string(unit, value).ok()?.to_string_lossy().into_owned())
    }

    fn name(&self, unit: &Unit<Slice<'a>>, die: &Die<'a>) -> Option<String> {
        die.attr_value(dw::DW_AT_name).and_then(|v| self.text(unit, v))
    }

    fn variable(&self, unit: &Unit<Slice<'a>>, die: &Die<'a>, names: &[(isize, String)]) -> Option<Variable> {
        let Some(AttributeValue::Exprloc(e)) = die.attr_value(dw::DW_AT_location) else { return None };
        let address = self.evaluate(unit, &e, 0)?;
        // A definition outside of the class or namespace has name and type there.
        let declared = match die.attr_value(dw::DW_AT_specification) {
            Some(AttributeValue::UnitRef(at)) => unit.entry(at).ok(),
            _ => None,
        };
        let of = declared.as_ref().unwrap_or(die);
        let name = self.name(unit, die).or_else(|| self.name(unit, of))?;
        let own = type_of(die).or_else(|| type_of(of))?;
        let (at, shape) = self.shape(unit, own, address, DEEPEST)?;
        let bytes = shape.bytes();
        if bytes == 0 || !self.memory.has(at, bytes as u64) {
            return None;
        }
        let path: Vec<&str> = names.iter().map(|(_, n)| &**n).chain([&*name]).collect();
        Some(Variable { name: path.join("."), address: at, shape })
    }

    /// The value of an expression, or the address that it leads to, of the object at `object`.
    fn evaluate(&self, unit: &Unit<Slice<'a>>, e: &Expression<Slice<'a>>, object: u64) -> Option<u64> {
        let mut evaluation = e.evaluation(unit.encoding());
        evaluation.set_object_address(object);
        // Of values that are on no stack of addresses there is none here.
        let mut state = evaluation.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRelocatedAddress(a) => {
                    evaluation.resume_with_relocated_address(self.base + a).ok()?
                }
                EvaluationResult::RequiresIndexedAddress { index, relocate } => {
                    let a = self.dwarf.address(unit, index).ok()?;
                    evaluation.resume_with_indexed_address(if relocate { self.base + a } else { a }).ok()?
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let n = self.memory.number(address, size)?;
                    evaluation.resume_with_memory(gimli::Value::Generic(n)).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.result().as_slice() {
            [piece] if piece.size_in_bits.is_none() => match piece.location {
                Location::Address { address } => Some(address),
                Location::Value { value: gimli::Value::Generic(n) } => Some(n),
                _ => None,
            },
            _ => None,
        }
    }

    /// A number that is one, or an expression for the object at `object`.
    fn number(&self, unit: &Unit<Slice<'a>>, die: &Die<'a>, which: gimli::DwAt, object: u64) -> Option<i64> {
        match die.attr_value(which)? {
            AttributeValue::Exprloc(e) => self.evaluate(unit, &e, object).map(|n| n as i64),
            v => v.sdata_value().or_else(|| v.udata_value().map(|n| n as i64)),
        }
    }

    /// The type at `at` of what is at `object`: where its elements are, and what they are.
    fn shape(&self, unit: &Unit<Slice<'a>>, at: UnitOffset, object: u64, deep: u32) -> Option<(u64, Shape)> {
        let deep = deep.checked_sub(1)?;
        let die = unit.entry(at).ok()?;
        let bytes =
            self.number(unit, &die, dw::DW_AT_byte_size, object).and_then(|n| usize::try_from(n).ok());
        let one = |kind, n| Some((object, Shape::one(Element::Number(kind, n))));
        match die.tag() {
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_atomic_type => self.shape(unit, type_of(&die)?, object, deep),
            dw::DW_TAG_base_type => {
                let Some(AttributeValue::Encoding(encoding)) = die.attr_value(dw::DW_AT_encoding) else {
                    return None;
                };
                let n = bytes?;
                match (encoding, n) {
                    (dw::DW_ATE_float, 2 | 4 | 8) => one('f', n),
                    // 80 bits in 16 bytes; the quadruple type has the same size, and no equal in NumPy.
                    (dw::DW_ATE_float, 16) => {
                        (self.name(unit, &die).as_deref() == Some("long double")).then(|| one('f', 16))?
                    }
                    (dw::DW_ATE_complex_float, 8 | 16) => one('c', n),
                    (dw::DW_ATE_boolean, 1) => one('b', 1),
                    (dw::DW_ATE_signed | dw::DW_ATE_signed_char | dw::DW_ATE_boolean, 1 | 2 | 4 | 8) => {
                        one('i', n)
                    }
                    (dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF, 1 | 2 | 4 | 8) => {
                        one('u', n)
                    }
                    _ => None,
                }
            }
            dw::DW_TAG_enumeration_type => one('i', bytes.filter(|n| [1, 2, 4, 8].contains(n))?),
            dw::DW_TAG_string_type => one('S', bytes.filter(|n| *n > 0)?),
            dw::DW_TAG_array_type => self.array(unit, &die, object, deep),
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type => {
                self.structure(unit, at, bytes?, deep).map(|e| (object, Shape::one(e)))
            }
            _ => None,
        }
    }

    fn array(&self, unit: &Unit<Slice<'a>>, die: &Die<'a>, object: u64, deep: u32) -> Option<(u64, Shape)> {
        for which in [dw::DW_AT_allocated, dw::DW_AT_associated] {
            if die.attr_value(which).is_some() && self.number(unit, die, which, object)? == 0 {
                return None;
            }
        }
        let data = match die.attr_value(dw::DW_AT_data_location) {
            Some(AttributeValue::Exprloc(e)) => self.evaluate(unit, &e, object)?,
            Some(_) => return None,
            None => object,
        };
        let by_columns = die.attr_value(dw::DW_AT_ordering)
            == Some(AttributeValue::Ordering(dw::DW_ORD_col_major))
            || self.is_fortran(unit);
        let (_, inner) = self.shape(unit, type_of(die)?, data, deep)?;
        let mut dimensions = Vec::new();
        let mut next = inner.bytes() as i64;
        let mut tree = unit.entries_tree(Some(die.offset())).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let die = child.entry();
            if die.tag() != dw::DW_TAG_subrange_type {
                continue;
            }
            let lower = self.number(unit, die, dw::DW_AT_lower_bound, object);
            let lower = lower.unwrap_or(i64::from(self.is_fortran(unit)));
            let count = match self.number(unit, die, dw::DW_AT_count, object) {
                Some(n) => n,
                None => {
                    let upper = self.number(unit, die, dw::DW_AT_upper_bound, object)?;
                    upper.checked_sub(lower)?.checked_add(1)?
                }
            };
            // Only what lies without gaps.
            let stride = self.number(unit, die, dw::DW_AT_byte_stride, object);
            if stride.is_some_and(|s| s != next && count > 1) {
                return None;
            }
            next = next.checked_mul(count)?;
            dimensions.push(u64::try_from(count).ok()?);
        }
        if dimensions.is_empty() {
            return None;
        }
        // An array of arrays is one of more dimensions; of a Fortran program there is none.
        dimensions.extend(inner.dimensions);
        Some((data, Shape { element: inner.element, dimensions, by_columns }))
    }

    fn structure(&self, unit: &Unit<Slice<'a>>, at: UnitOffset, bytes: usize, deep: u32) -> Option<Element> {
        let mut members = Vec::new();
        let mut tree = unit.entries_tree(Some(at)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let die = child.entry();
            match die.tag() {
                dw::DW_TAG_inheritance => return None,
                dw::DW_TAG_member if die.attr_value(dw::DW_AT_external).is_none() => {}
                _ => continue,
            }
            let bits = [dw::DW_AT_bit_size, dw::DW_AT_data_bit_offset];
            if bits.iter().any(|b| die.attr_value(*b).is_some()) {
                return None;
            }
            let offset = self.number(unit, die, dw::DW_AT_data_member_location, 0).unwrap_or(0);
            let name = self.name(unit, die).filter(|n| !n.contains(['\'', '\\']))?;
            // Descriptors of allocatable components lead elsewhere.
            let (data, shape) = self.shape(unit, type_of(die)?, 0, deep)?;
            let end = usize::try_from(offset).ok()?.checked_add(shape.bytes())?;
            let after = members.last().map_or(0, |(_, o, s): &(String, usize, Shape)| o + s.bytes());
            if data != 0 || end > bytes || (offset as usize) < after || shape.by_columns {
                return None;
            }
            members.push((name, offset as usize, shape));
        }
        (!members.is_empty()).then_some(Element::Structure(bytes, members))
    }

    fn is_fortran(&self, unit: &Unit<Slice<'a>>) -> bool {
        let mut entries = unit.entries();
        let language = match entries.next_dfs() {
            Ok(Some(root)) => root.attr_value(dw::DW_AT_language),
            _ => None,
        };
        matches!(
            language,
            Some(AttributeValue::Language(
                dw::DW_LANG_Fortran77
                    | dw::DW_LANG_Fortran90
                    | dw::DW_LANG_Fortran95
                    | dw::DW_LANG_Fortran03
                    | dw::DW_LANG_Fortran08
                    | dw::DW_LANG_Fortran18
            ))
        )
    }
}

fn type_of(die: &Die) -> Option<UnitOffset> {
    match die.attr_value(dw::DW_AT_type)? {
        AttributeValue::UnitRef(at) => Some(at),
        _ => None,
    }
}
