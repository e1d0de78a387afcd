//! What a construct copies: data to new and old ranges, pointers into them, the words of the argument
//! block; at last what is staged, in one piece.

use super::super::backend::Addr;
use super::super::construct_mappings::{Done, send};
use super::super::items::{Item, Items};
use super::super::kinds::*;
use super::super::present::Id;
use super::super::{attached_pointers, fail};
use super::{Mapping, Value};
use smallvec::SmallVec;

impl Mapping<'_> {
    /// Copies what the clauses say, in their order.
    pub(super) fn fill(&mut self, items: &Items, values: &[Value]) -> SmallVec<[Done; 1]> {
        let mut done = SmallVec::<[Done; 1]>::with_capacity(items.list.len());
        for (i, (item, &value)) in items.list.iter().zip(values).enumerate() {
            let id = match value {
                Value::At(id, _) => Some(id),
                _ => None,
            };
            match (item.kind, value) {
                (FIRSTPRIVATE, Value::InBlock(at)) => self.put(self.base + at, item.addr, item.size),
                (k, Value::At(id, addr)) => {
                    let Some(entry) = self.table.get(id) else { unreachable!("held by this construct") };
                    let (at, fresh) = (entry.translate(addr), entry.block == self.block);
                    let inside = |b: &Item| b.kind == TO_PSET && b.holds(item);
                    if is_pointer(k) {
                        // A descriptor that was there has its pointers already.
                        if fresh || items.list[..i].iter().any(|b| inside(b) && self.again(items, b)) {
                            let to = self.pointed(item, k == POINTER_TO_ZERO_LEN);
                            if !attached_pointers::set_declared(self.table, id, addr, to) {
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
                            send(self.backend, entry, addr, item.bytes(), self.queue);
                        }
                    }
                }
                _ => {}
            }
            done.push(Done { item: *item, id, attached: false });
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

    /// Did this construct map it anew?
    pub(super) fn is_fresh(&self, id: Id) -> bool {
        self.table.get(id).is_some_and(|e| e.block == self.block)
    }

    /// Is the descriptor copied although it is there: does the item that it describes say `always`, or was it
    /// allocated since, or is its pointer set anew?
    fn again(&self, items: &Items, pset: &Item) -> bool {
        let i = items.list.iter().position(|b| b == pset).unwrap_or(0);
        let anew = |b: &&Item| b.kind == ALWAYS_POINTER && pset.holds(b);
        let describes_anew = items.list[..i].last().is_some_and(|data| {
            let id = self.table.find(data.addr, data.bytes()).filter(|_| data.addr != 0);
            always_to(data.kind) || (is_data(data.kind) && id.is_some_and(|id| self.is_fresh(id)))
        });
        describes_anew || items.list[i + 1..].iter().any(|b| anew(&b))
    }

    /// What stands in the argument block for item `i`.
    pub(super) fn value(&self, items: &Items, i: usize, item: &Item, v: Value) -> usize {
        match v {
            Value::Same => item.addr,
            Value::InBlock(at) => self.base + at,
            Value::At(id, addr) => self.table.translate(id, addr),
            Value::Null if is_structure(item.kind) && i + 1 < items.list.len() => {
                let first = items.list[i + 1].addr;
                match self.table.find(first, items.list[i + 1].bytes()) {
                    Some(id) => self.table.translate(id, first).wrapping_sub(first - item.addr),
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
            Some(id) => self.table.translate(id, first).wrapping_sub(item.size),
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
            Some(id) if attaches(item.kind) => self.table.translate(id, item.addr),
            _ => self.value(items, at, item, values[at]),
        }
    }

    fn set_pointer(&mut self, item: &Item, to: usize) {
        match self.table.find(item.addr, size_of::<usize>()) {
            Some(id) => {
                if !attached_pointers::set_declared(self.table, id, item.addr, to) {
                    self.write(self.table.translate(id, item.addr), &to.to_ne_bytes());
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
        match attached_pointers::attach(self.table, item, item.kind == ATTACH_ZERO_LEN) {
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

    pub(super) fn flush(&mut self) {
        let (from, bytes) = (self.staged.as_ptr() as usize, self.staged.len());
        // What is staged is gone when the queue gets to it: it is copied at once.
        if bytes > 0 && !self.backend.copy_in(self.base, from, bytes, None) {
            fail(format_args!("{bytes} bytes could not be copied to the device"));
        }
    }

    /// use_device_ptr and host_data: the program gets the device's address.
    pub(super) fn translate_for_host(&mut self, items: &Items) {
        for (i, item) in items.list.iter().enumerate() {
            if !matches!(item.kind, USE_DEVICE_PTR | USE_DEVICE_PTR_IF_PRESENT) || item.addr == 0 {
                continue;
            }
            self.backend.handed_out();
            match self.table.find(item.addr, 0) {
                // SAFETY: the compiler's array has an entry for each item.
                Some(id) => unsafe { *items.addrs.add(items.slot(i)) = self.table.translate(id, item.addr) },
                None if item.kind == USE_DEVICE_PTR_IF_PRESENT => {}
                None => fail(format_args!("use_device_ptr: {:#x} is not mapped", item.addr)),
            }
        }
    }
}
