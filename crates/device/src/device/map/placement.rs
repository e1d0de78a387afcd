//! What a construct's clauses mean before anything is copied: which ranges are there already and have one
//! user more, which are new, and where those lie in the construct's block.

use super::super::fail;
use super::super::items::{Item, Items};
use super::super::kinds::{self, *};
use super::super::present::{Id, Key};
use super::{For, Mapping, Value, Values, not_there};

/// Variables up to this size are copied together.
const SMALL: usize = 16 << 10;
/// What an allocation is aligned to.
const ALIGNED: usize = 256;

/// New memory for a variable, or for a structure with its members.
pub(super) struct Unit {
    start: usize,
    bytes: usize,
    align: usize,
    /// Behind the block's beginning.
    offset: usize,
    /// Its ranges begin there in the list of all.
    first: usize,
}

/// What is new: memory, and the ranges in it.
#[derive(Default)]
pub(super) struct New {
    units: Vec<Unit>,
    ranges: Vec<Id>,
}

impl New {
    fn unit(&mut self, start: usize, bytes: usize, align: usize) {
        self.units.push(Unit { start, bytes, align, offset: 0, first: self.ranges.len() });
    }
}

impl Mapping<'_> {
    /// Finds what is there; enters what is not.
    pub(super) fn plan(&mut self, items: &Items, fixed: &mut usize) -> (Values, New) {
        let mut values = core::mem::take(&mut self.table.lists.values);
        let mut new = core::mem::take(&mut self.table.lists.new);
        values.clear();
        values.resize(items.list.len(), Value::Null);
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
                    Some(id) => self.use_present(item, id),
                    None => Value::Null,
                },
                IF_PRESENT => match self.table.find(item.addr, item.size) {
                    Some(id) => self.use_present(item, id),
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
                    Some(id) => self.use_present(item, id),
                    None => not_there(item),
                },
                STRUCT | STRUCT_UNORDERED => {
                    let n = item.size.min(items.list.len() - i - 1);
                    self.plan_structure(
                        item.addr,
                        &items.list[i + 1..i + 1 + n],
                        &mut values[i + 1..i + 1 + n],
                        &mut new,
                    );
                    i += n;
                    values[i - n] = Value::Null;
                    i += 1;
                    continue;
                }
                k if is_data(k) || is_pointer(k) || matches!(k, TO_PSET | FORCE_DEVICEPTR) => {
                    self.plan_one(item, &mut new)
                }
                k => fail(format_args!("map kind {k:#x} has no meaning where data are mapped")),
            };
            i += 1;
        }
        (values, new)
    }

    fn plan_one(&mut self, item: &Item, new: &mut New) -> Value {
        let bytes = item.bytes();
        let spot = match self.table.look(item.addr, bytes) {
            Ok(id) => return self.plan_present(item, bytes, id),
            Err(spot) => spot,
        };
        new.unit(item.addr, bytes, item.align);
        let key = (item.addr, item.addr + bytes);
        let id = self.table.enter(spot, key, self.block, 0, 1);
        new.ranges.push(id);
        self.held.push((id, item.addr));
        Value::At(id, item.addr)
    }

    /// An item whose range is there, or a part of it.
    fn plan_present(&mut self, item: &Item, bytes: usize, id: Id) -> Value {
        if forced(item.kind) && !self.is_fresh(id) {
            let key = self.table.key(id);
            fail(format_args!(
                "[{:#x}..{:#x}) is to be mapped anew, but [{:#x}..{:#x}) is mapped already",
                item.addr,
                item.addr + bytes,
                key.0,
                key.1
            ));
        }
        self.use_present(item, id)
    }

    /// Members lie on the device as on the host, from the first to the last.
    fn plan_structure(&mut self, base: usize, members: &[Item], values: &mut [Value], new: &mut New) {
        let Some(start) = members.iter().map(|m| m.addr).min() else { return };
        let end = members.iter().map(|m| m.addr + m.bytes()).max().unwrap_or(start);
        let from = base.min(start);
        if self.table.find(from, end.saturating_sub(from)).is_some() {
            for (m, v) in members.iter().zip(values) {
                *v = match self.table.find(m.addr, m.bytes()) {
                    Some(id) => self.use_range(m, id, true),
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
        let align = members.iter().map(|m| m.align).max().unwrap_or(1);
        new.unit(start, end - start, align);
        let first = new.ranges.len();
        for (m, v) in members.iter().zip(values) {
            let key = (m.addr, m.addr + m.bytes());
            let id = match self.table.look(m.addr, m.bytes()) {
                // Named twice, or a part of another one.
                Ok(id) => {
                    self.check_within(m, self.table.key(id));
                    id
                }
                Err(spot) => {
                    let id = self.table.enter(spot, key, self.block, 0, 1);
                    new.ranges.push(id);
                    id
                }
            };
            *v = Value::At(id, m.addr);
        }
        let ranges = &new.ranges[first..];
        if self.purpose == For::Acc {
            self.held.extend(ranges.iter().map(|&id| (id, self.table.key(id).0)));
        } else {
            self.table.join(ranges);
            self.held.push((ranges[0], self.table.key(ranges[0]).0));
        }
    }

    /// Stops the program where the item is not within a range that is there.
    fn check_within(&self, item: &Item, key: Key) {
        let (start, end) = (item.addr, item.addr.saturating_add(item.bytes()));
        if (start < key.0 || end > key.1) && !implicit(item.kind) && item.kind != ZERO_LEN {
            fail(format_args!(
                "[{start:#x}..{end:#x}) is to be mapped, but only [{:#x}..{:#x}) of it is mapped already",
                key.0, key.1
            ));
        }
    }

    /// A range that is there has one user more, however many items of the construct lie in it.
    fn use_present(&mut self, item: &Item, id: Id) -> Value {
        self.use_range(item, id, false)
    }

    /// ... where OpenACC counts every member of a structure.
    fn use_range(&mut self, item: &Item, id: Id, member: bool) -> Value {
        self.check_within(item, self.table.key(id));
        let counted = self.table.counted(id);
        if let Some(start) = self.table.hold(counted, member && self.purpose == For::Acc) {
            self.held.push((counted, start));
        }
        Value::At(id, item.addr)
    }

    /// The device's pointer to a variable of `declare target link` leads to what was mapped of it.
    #[cold]
    fn link(&self, id: Id) {
        let Some(e) = self.table.get(id) else { return };
        let before = self.links.range(..e.key.1).next_back();
        if let Some((&start, &(end, pointer))) = before
            && e.key.0 < end
        {
            let to = e.translate(start);
            if !self.backend.copy_in(pointer, (&raw const to) as usize, size_of::<usize>(), None) {
                fail(format_args!("the link to {start:#x} could not be copied to the device"));
            }
        }
    }

    /// Allocates the block and says where each new range lies in it: what is small lies in front.
    pub(super) fn place(&mut self, fixed: usize, mut new: New) {
        let (mut size, mut staged, mut most) = (fixed, fixed, 1);
        for large in [false, true] {
            for u in new.units.iter_mut().filter(|u| (u.bytes > SMALL) == large) {
                u.offset = size.next_multiple_of(u.align.max(1));
                size = u.offset + u.bytes;
                most = most.max(u.align);
            }
            if !large {
                staged = size;
            }
        }
        if size == 0 && new.units.is_empty() {
            self.table.lists.new = new;
            return;
        }
        let spare = if most > ALIGNED { most } else { 0 };
        let at = match self.backend.alloc(size.max(1) + spare) {
            Some(at) => at,
            None => fail(format_args!("the device has no memory for another {size} bytes")),
        };
        self.table.place(self.block, at);
        self.base = if spare > 0 { at.next_multiple_of(most) } else { at };
        // What nobody writes is nobody's: not zeros.
        self.staged.resize(staged, 0xff);
        for (i, u) in new.units.iter().enumerate() {
            let end = new.units.get(i + 1).map_or(new.ranges.len(), |next| next.first);
            for &id in &new.ranges[u.first..end] {
                if let Some(e) = self.table.get_mut(id) {
                    e.at = self.base + u.offset + (e.key.0 - u.start);
                }
            }
        }
        if !self.links.is_empty() {
            new.ranges.iter().for_each(|&id| self.link(id));
        }
        new.units.clear();
        new.ranges.clear();
        self.table.lists.new = new;
    }
}
