//! A construct's map clauses carried out: what is there is used, what is not gets memory, data are copied,
//! pointers in mapped memory are made to point to the device's copies.
//!
//! What one construct maps anew lies in one block: first the argument block of a target region and the
//! firstprivate copies, then the small variables, which travel in one copy with it, then the large ones.

use super::backend::{Addr, Backend, Queue};
use super::items::{Item, Items};
use super::kinds::{self, *};
use super::mapped::{Done, Mapped, send};
use super::present::{BlockId, Key, Table};
use super::{State, fail, pointers};
use std::collections::BTreeSet;

/// Variables up to this size are copied together.
const SMALL: usize = 16 << 10;
/// What an allocation is aligned to.
const ALIGNED: usize = 256;

/// What stands for an item in the argument block.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// The host's address, or the value itself.
    Same,
    Null,
    /// At this distance from the beginning of the new block.
    InBlock(usize),
    /// The device's counterpart of an address in the range.
    At(Key, usize),
}

/// What is mapped, and by whose rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// A target region, which needs an argument block.
    Target,
    /// A data construct of OpenMP.
    Data,
    /// A construct of OpenACC: members of a structure count one by one.
    Acc,
}

/// New memory for a variable, or for a structure with its members.
struct Unit {
    start: usize,
    bytes: usize,
    align: usize,
    keys: Vec<Key>,
}

struct Mapping<'a> {
    backend: &'a dyn Backend,
    table: &'a mut Table,
    queue: Queue,
    block: BlockId,
    base: Addr,
    /// What is copied at the end in one piece, at the beginning of the block.
    staged: Vec<u8>,
    held: Vec<Key>,
    fresh: BTreeSet<Key>,
    purpose: For,
}

/// Stops the program: what a clause says to be there is not.
pub fn not_there(item: &Item) -> ! {
    fail(format_args!(
        "present clause: not present on the device (address {:#x}, {} bytes)",
        item.addr, item.size
    ))
}

/// Maps `items` for a construct.
pub fn map(state: &mut State, backend: &dyn Backend, items: &Items, purpose: For, queue: Queue) -> Mapped {
    let arguments = purpose == For::Target;
    let block = state.table.block(0, false);
    let mut m = Mapping {
        backend,
        table: &mut state.table,
        queue,
        block,
        base: 0,
        staged: Vec::new(),
        held: Vec::new(),
        fresh: BTreeSet::new(),
        purpose,
    };
    let mut fixed = if arguments { 8 * items.entries() } else { 0 };
    let (values, units) = m.plan(items, &mut fixed);
    m.place(fixed, units);
    let done = m.fill(items, &values);
    let values: Vec<usize> = items
        .list
        .iter()
        .zip(&values)
        .enumerate()
        .map(|(i, (item, v))| m.value(items, i, item, *v))
        .collect();
    if arguments {
        for (i, v) in values.iter().enumerate() {
            let at = 8 * items.slot(i);
            m.staged[at..at + 8].copy_from_slice(&v.to_ne_bytes());
        }
    }
    m.flush();
    m.translate_for_host(items);
    let args = if arguments { m.base } else { 0 };
    Mapped { block: Some(block), items: done, held: m.held, purpose, args, values }
}

impl Mapping<'_> {
    /// Finds what is there; enters what is not.
    fn plan(&mut self, items: &Items, fixed: &mut usize) -> (Vec<Value>, Vec<Unit>) {
        let (mut values, mut units) = (vec![Value::Null; items.list.len()], Vec::new());
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

    fn plan_one(&mut self, item: &Item, units: &mut Vec<Unit>) -> Value {
        let bytes = item.bytes();
        if let Some(key) = self.table.find(item.addr, bytes) {
            if forced(item.kind) && !self.fresh.contains(&key) {
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
        units.push(Unit { start: item.addr, bytes, align: item.align, keys: vec![key] });
        Value::At(key, item.addr)
    }

    /// Members lie on the device as on the host, from the first to the last.
    fn plan_structure(&mut self, base: usize, members: &[Item], values: &mut [Value], units: &mut Vec<Unit>) {
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
        let mut keys: Vec<Key> = Vec::new();
        for (m, v) in members.iter().zip(values) {
            let key = (m.addr, m.addr + m.bytes());
            if !keys.contains(&key) {
                self.table.insert(key, self.block, 0, 1);
                self.fresh.insert(key);
                keys.push(key);
            }
            *v = Value::At(key, m.addr);
        }
        if self.purpose == For::Acc {
            self.held.extend(&keys);
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
        self.fresh.insert(key);
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
    fn place(&mut self, fixed: usize, mut units: Vec<Unit>) {
        // Stable: in the order of the clauses otherwise.
        units.sort_by_key(|u| u.bytes > SMALL);
        let (mut size, mut staged) = (fixed, fixed);
        let most = units.iter().map(|u| u.align).max().unwrap_or(1);
        let mut offsets = Vec::with_capacity(units.len());
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
        self.staged = vec![0xff; staged];
        for (u, offset) in units.iter().zip(offsets) {
            for &key in &u.keys {
                if let Some(e) = self.table.get_mut(key) {
                    e.offset = shift + offset + (key.0 - u.start);
                }
            }
        }
    }

    /// Copies what the clauses say, in their order.
    fn fill(&mut self, items: &Items, values: &[Value]) -> Vec<Done> {
        let mut done = Vec::with_capacity(items.list.len());
        for (i, (item, &value)) in items.list.iter().zip(values).enumerate() {
            let key = match value {
                Value::At(key, _) => Some(key),
                _ => None,
            };
            match (item.kind, value) {
                (FIRSTPRIVATE, Value::InBlock(at)) => self.put(self.base + at, item.addr, item.size),
                (k, Value::At(key, addr)) => {
                    let at = self.table.translate(key, addr);
                    let fresh = self.fresh.contains(&key);
                    let inside = |b: &Item| b.kind == TO_PSET && b.holds(item);
                    if is_pointer(k) {
                        // A descriptor that was there has its pointers already.
                        if fresh || items.list[..i].iter().any(|b| inside(b) && self.again(items, b)) {
                            let to = self.pointed(item, k == POINTER_TO_ZERO_LEN);
                            if !pointers::set_declared(self.table, key, addr, to) {
                                self.write(at, &to.to_ne_bytes());
                            }
                        }
                    } else if (fresh && (copies_to(k) || matches!(k, TO_PSET | FORCE_DEVICEPTR)))
                        || always_to(k)
                        || (k == TO_PSET && self.again(items, item))
                    {
                        if fresh {
                            self.put(at, addr, item.bytes());
                        } else {
                            send(self.backend, self.table, key, addr, item.bytes(), self.queue);
                        }
                    }
                }
                _ => {}
            }
            done.push(Done { item: *item, key, attached: false });
        }
        // Pointers at last: nothing is copied over them.
        for (i, item) in items.list.iter().enumerate().filter(|(_, item)| item.addr != 0) {
            match item.kind {
                ALWAYS_POINTER if i > 0 => {
                    let descriptor = items.list[..i].iter().any(|b| b.kind == TO_PSET && b.holds(item));
                    let to = if descriptor {
                        self.pointed(item, true)
                    } else {
                        self.before(items, values, i).wrapping_sub(item.size)
                    };
                    self.set_pointer(item, to);
                }
                ATTACH | ATTACH_ZERO_LEN if self.attach_private(items, i, values) => {}
                ATTACH | ATTACH_ZERO_LEN => done[i].attached = self.attach(item),
                _ => {}
            }
        }
        done
    }

    /// Is the descriptor copied although it is there: does the item that it describes say `always`, or was it
    /// allocated since, or is its pointer set anew?
    fn again(&self, items: &Items, pset: &Item) -> bool {
        let i = items.list.iter().position(|b| b == pset).unwrap_or(0);
        let anew = |b: &&Item| b.kind == ALWAYS_POINTER && pset.holds(b);
        let describes_anew = items.list[..i].last().is_some_and(|data| {
            let key = self.table.find(data.addr, data.bytes()).filter(|_| data.addr != 0);
            always_to(data.kind) || (is_data(data.kind) && key.is_some_and(|k| self.fresh.contains(&k)))
        });
        describes_anew || items.list[i + 1..].iter().any(|b| anew(&b))
    }

    /// What stands in the argument block for item `i`.
    fn value(&self, items: &Items, i: usize, item: &Item, v: Value) -> usize {
        match v {
            Value::Same => item.addr,
            Value::InBlock(at) => self.base + at,
            Value::At(key, addr) => self.table.translate(key, addr),
            Value::Null if is_structure(item.kind) && i + 1 < items.list.len() => {
                let first = items.list[i + 1].addr;
                match self.table.find(first, items.list[i + 1].bytes()) {
                    Some(key) => self.table.translate(key, first).wrapping_sub(first - item.addr),
                    None => 0,
                }
            }
            Value::Null => 0,
        }
    }

    /// Where on the device what the pointer at the item's address points to lies.
    fn pointed(&self, item: &Item, may_be_empty: bool) -> usize {
        let to = self.table.pointers.host(item.addr);
        if to == 0 {
            return 0;
        }
        let first = to.wrapping_add(item.size);
        match self.table.find(first, 0) {
            Some(key) => self.table.translate(key, first).wrapping_sub(item.size),
            None if may_be_empty => 0,
            None => fail(format_args!(
                "the pointer at {:#x} points to {first:#x}, which is not mapped",
                item.addr
            )),
        }
    }

    /// What a pointer that is item `i` gets: the address on the device of the item before it. Of several
    /// pointers in a row each gets that of what stands before them all.
    fn before(&self, items: &Items, values: &[Value], i: usize) -> usize {
        let before = items.list[..i].iter().rposition(|b| b.kind != ALWAYS_POINTER);
        let Some(at) = before else { return 0 };
        let item = &items.list[at];
        match self.table.find(item.addr, size_of::<usize>()) {
            Some(key) if attaches(item.kind) => self.table.translate(key, item.addr),
            _ => self.value(items, at, item, values[at]),
        }
    }

    fn set_pointer(&mut self, item: &Item, to: usize) {
        match self.table.find(item.addr, size_of::<usize>()) {
            Some(key) => {
                if !pointers::set_declared(self.table, key, item.addr, to) {
                    self.write(self.table.translate(key, item.addr), &to.to_ne_bytes());
                }
            }
            None => fail(format_args!("the pointer at {:#x} is to be set, but is not mapped", item.addr)),
        }
    }

    /// True if the pointer is one in a private copy, which is made to point to another one.
    fn attach_private(&mut self, items: &Items, i: usize, values: &[Value]) -> bool {
        let Some(k) = items.private_attach(i) else { return false };
        if let (Value::InBlock(at), Value::InBlock(to)) = (values[k], values[i - 1]) {
            self.write(self.base + at + items.list[i].size, &(self.base + to).to_ne_bytes());
        }
        true
    }

    /// True if the pointer is attached by this construct: one that is not mapped itself is left alone.
    fn attach(&mut self, item: &Item) -> bool {
        match pointers::attach(self.table, item, item.kind == ATTACH_ZERO_LEN) {
            Some((at, to)) => {
                if let Some(to) = to {
                    self.write(at, &to.to_ne_bytes());
                }
                true
            }
            None => false,
        }
    }

    fn put(&mut self, at: Addr, from: usize, bytes: usize) {
        // SAFETY: the program's data.
        self.write(at, unsafe { core::slice::from_raw_parts(from as *const u8, bytes) });
    }

    fn write(&mut self, at: Addr, bytes: &[u8]) {
        let from = at.wrapping_sub(self.base);
        if self.base != 0 && from < self.staged.len() && bytes.len() <= self.staged.len() - from {
            self.staged[from..from + bytes.len()].copy_from_slice(bytes);
        } else if !bytes.is_empty()
            && !self.backend.copy_in(at, bytes.as_ptr() as usize, bytes.len(), self.queue)
        {
            fail(format_args!("{} bytes could not be copied to the device", bytes.len()));
        }
    }

    fn flush(&mut self) {
        let (from, bytes) = (self.staged.as_ptr() as usize, self.staged.len());
        // What is staged is gone when the queue gets to it: it is copied at once.
        if bytes > 0 && !self.backend.copy_in(self.base, from, bytes, None) {
            fail(format_args!("{bytes} bytes could not be copied to the device"));
        }
    }

    /// use_device_ptr and host_data: the program gets the device's address.
    fn translate_for_host(&mut self, items: &Items) {
        for (i, item) in items.list.iter().enumerate() {
            if !matches!(item.kind, USE_DEVICE_PTR | USE_DEVICE_PTR_IF_PRESENT) || item.addr == 0 {
                continue;
            }
            self.backend.handed_out();
            match self.table.find(item.addr, 0) {
                // SAFETY: the compiler's array has an entry for each item.
                Some(key) => unsafe {
                    *items.addrs.add(items.slot(i)) = self.table.translate(key, item.addr)
                },
                None if item.kind == USE_DEVICE_PTR_IF_PRESENT => {}
                None => fail(format_args!("use_device_ptr: {:#x} is not mapped", item.addr)),
            }
        }
    }
}
