//! What a construct's clauses mean before anything is copied: which ranges are there already and have one
//! user more, which are new, and where those lie in the construct's block.

use super::super::fail;
use super::super::items::{Item, Items};
use super::super::kinds::{self, *};
use super::super::present::Key;
use super::{For, Mapping, Value, Values, not_there};
use smallvec::{SmallVec, smallvec};

/// Variables up to this size are copied together.
const SMALL: usize = 16 << 10;
/// What an allocation is aligned to.
const ALIGNED: usize = 256;

/// New memory for a variable, or for a structure with its members.
pub(super) struct Unit {
    start: usize,
    bytes: usize,
    align: usize,
    keys: SmallVec<[Key; 1]>,
}

type Units = SmallVec<[Unit; 2]>;

impl Mapping<'_> {
    /// Finds what is there; enters what is not.
    pub(super) fn plan(&mut self, items: &Items, fixed: &mut usize) -> (Values, Units) {
        let (mut values, mut units): (Values, _) = (smallvec![Value::Null; items.list.len()], Units::new());
        let mut i = 0;
        while i < items.list.len() {
            let item = &items.list[i];
            kinds::check(item.kind);
            let at = i;
            values[at] = match item.kind {
                FIRSTPRIVATE_INT | USE_DEVICE_PTR | USE_DEVICE_PTR_IF_PRESENT | ALWAYS_POINTER => Value::Same,
                _ if item.addr == 0 => Value::Same,
                ATTACH | ATTACH_ZERO_LEN => Value::Null,
                FIRSTPRIVATE => {
                    *fixed = fixed.next_multiple_of(item.align.min(ALIGNED)) + item.size;
                    Value::InBlock(*fixed - item.size)
                }
                ZERO_LEN => match self.table.holding(item.addr) {
                    Some(key) => self.use_present(item, key),
                    None => Value::Null,
                },
                IF_PRESENT => match self.table.find(item.addr, item.size) {
                    Some(key) => self.use_present(item, key),
                    None => {
                        // Nor is there anything for the pointer to it to point to.
                        if items.list.get(i + 1).is_some_and(|next| is_pointer(next.kind)) {
                            i += 1;
                            values[i] = Value::Same;
                        }
                        Value::Same
                    }
                },
                k if must_be_there(k) => match self.table.find(item.addr, item.size) {
                    Some(key) => self.use_present(item, key),
                    None => not_there(item),
                },
                STRUCT | STRUCT_UNORDERED => {
                    let n = item.size.min(items.list.len() - i - 1);
                    self.plan_structure(
                        item.addr,
                        &items.list[i + 1..i + 1 + n],
                        &mut values[i + 1..i + 1 + n],
                        &mut units,
                    );
                    i += n;
                    values[i - n] = Value::Null;
                    i += 1;
                    continue;
                }
                k if is_data(k) || is_pointer(k) || matches!(k, TO_PSET | FORCE_DEVICEPTR) => {
                    self.plan_one(item, &mut units)
                }
                k => fail(format_args!("map kind {k:#x} has no meaning where data are mapped")),
            };
            i += 1;
        }
        (values, units)
    }

    fn plan_one(&mut self, item: &Item, units: &mut Units) -> Value {
        let bytes = item.bytes();
        if let Some(key) = self.table.find(item.addr, bytes) {
            if forced(item.kind) && !self.is_fresh(key) {
                fail(format_args!(
                    "[{:#x}..{:#x}) is to be mapped anew, but [{:#x}..{:#x}) is mapped already",
                    item.addr,
                    item.addr + bytes,
                    key.0,
                    key.1
                ));
            }
            return self.use_present(item, key);
        }
        let key = (item.addr, item.addr + bytes);
        self.enter(key);
        units.push(Unit { start: item.addr, bytes, align: item.align, keys: smallvec![key] });
        Value::At(key, item.addr)
    }

    /// Members lie on the device as on the host, from the first to the last.
    fn plan_structure(&mut self, base: usize, members: &[Item], values: &mut [Value], units: &mut Units) {
        let Some(start) = members.iter().map(|m| m.addr).min() else { return };
        let end = members.iter().map(|m| m.addr + m.bytes()).max().unwrap_or(start);
        let from = base.min(start);
        if self.table.find(from, end.saturating_sub(from)).is_some() {
            for (m, v) in members.iter().zip(values) {
                *v = match self.table.find(m.addr, m.bytes()) {
                    Some(key) => self.use_range(m, key, true),
                    None => fail(format_args!(
                        "[{:#x}..{:#x}) of a structure is to be mapped, but other members of it were mapped \
                         before, without this one",
                        m.addr,
                        m.addr + m.bytes()
                    )),
                };
            }
            return;
        }
        let mut keys = SmallVec::new();
        for (m, v) in members.iter().zip(values) {
            let key = (m.addr, m.addr + m.bytes());
            if !keys.contains(&key) {
                self.table.insert(key, self.block, 0, 1);
                keys.push(key);
            }
            *v = Value::At(key, m.addr);
        }
        if self.purpose == For::Acc {
            self.held.extend_from_slice(&keys);
        } else {
            self.table.join(&keys);
            self.held.push(keys[0]);
        }
        let align = members.iter().map(|m| m.align).max().unwrap_or(1);
        units.push(Unit { start, bytes: end - start, align, keys });
    }

    fn enter(&mut self, key: Key) {
        self.table.insert(key, self.block, 0, 1);
        self.held.push(key);
    }

    /// A range that is there has one user more, however many items of the construct lie in it.
    fn use_present(&mut self, item: &Item, key: Key) -> Value {
        self.use_range(item, key, false)
    }

    /// ... where OpenACC counts every member of a structure.
    fn use_range(&mut self, item: &Item, key: Key, member: bool) -> Value {
        let (start, end) = (item.addr, item.addr.saturating_add(item.bytes()));
        if (start < key.0 || end > key.1) && !implicit(item.kind) && item.kind != ZERO_LEN {
            fail(format_args!(
                "[{start:#x}..{end:#x}) is to be mapped, but only [{:#x}..{:#x}) of it is mapped already",
                key.0, key.1
            ));
        }
        let counted = self.table.counted(key);
        if !self.held.contains(&counted) || (member && self.purpose == For::Acc) {
            self.held.push(counted);
            self.table.hold(counted);
        }
        Value::At(key, start)
    }

    /// Allocates the block and says where each new range lies in it.
    pub(super) fn place(&mut self, fixed: usize, mut units: Units) {
        // Stable: in the order of the clauses otherwise.
        units.sort_by_key(|u| u.bytes > SMALL);
        let (mut size, mut staged) = (fixed, fixed);
        let most = units.iter().map(|u| u.align).max().unwrap_or(1);
        let mut offsets = SmallVec::<[usize; 2]>::new();
        for u in &units {
            size = size.next_multiple_of(u.align.max(1));
            offsets.push(size);
            size += u.bytes;
            if u.bytes <= SMALL {
                staged = size;
            }
        }
        if size == 0 && units.is_empty() {
            return;
        }
        let spare = if most > ALIGNED { most } else { 0 };
        let at = match self.backend.alloc(size.max(1) + spare) {
            Some(at) => at,
            None => fail(format_args!("the device has no memory for another {size} bytes")),
        };
        self.table.place(self.block, at);
        let shift = if spare > 0 { at.next_multiple_of(most) - at } else { 0 };
        self.base = at + shift;
        // What nobody writes is nobody's: not zeros.
        self.staged.resize(staged, 0xff);
        for (u, offset) in units.iter().zip(offsets) {
            for &key in &u.keys {
                if let Some(e) = self.table.get_mut(key) {
                    e.offset = shift + offset + (key.0 - u.start);
                }
            }
        }
    }
}
