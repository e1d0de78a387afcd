//! The present table: which ranges of the host's memory have a counterpart on a device, and how many
//! constructs hold each.
//!
//! What one construct maps anew lies in one block of device memory, which is freed when the last of its
//! ranges is gone. Members of a structure that were mapped together have one count, and leave together
//! (OpenMP 5.0, section 2.19.7.1).
//!
//! A range is looked for by its address once a construct; from then on its number stands for it. A number
//! is given anew when its range is gone, with another turn, so that an old one finds nothing.

use super::backend::Addr;
use super::declare_target::Pointers;
use super::order::{Order, Spot};
use std::collections::BTreeMap;

/// A range of host addresses, first and behind the last.
pub(crate) type Key = (usize, usize);

/// The number of a range in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    place: u32,
    turn: u32,
}

/// The count of what stays for ever (declare target).
pub(crate) const FOR_EVER: u64 = u64::MAX;

/// Number of a block.
pub(crate) type BlockId = usize;

/// One range.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The host's addresses.
    pub key: Key,
    /// The block that it lies in.
    pub block: BlockId,
    /// Where on the device it begins.
    pub at: Addr,
    /// References: [`FOR_EVER`] or those of constructs and routines. For members of a structure that of the
    /// first stands for all.
    count: u64,
    /// ... of these, the dynamic ones of OpenACC (enter data, acc_copyin …).
    pub dynamic: u64,
    /// Whose count is its own: itself, or the first member of its structure.
    counted: Id,
    /// The directive that has held it last.
    held_by: u32,
    /// What few ranges have.
    more: Option<Box<More>>,
}

#[derive(Debug, Default)]
struct More {
    /// Attached pointers in it: offset, times.
    attached: BTreeMap<usize, u32>,
    /// All members of the structure that it is the first of.
    members: Vec<Id>,
}

impl Entry {
    /// Where the address lies on the device.
    #[inline]
    pub(crate) fn translate(&self, address: usize) -> Addr {
        self.at.wrapping_add(address.wrapping_sub(self.key.0))
    }

    /// Does the range stand for itself on the device?
    #[inline]
    pub(crate) fn is_host(&self) -> bool {
        self.at == self.key.0
    }

    /// Has it no attached pointers, nor anything else that few have?
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.more.is_none()
    }

    /// Offsets of the pointers in it that are attached.
    pub(crate) fn attached(&self) -> impl Iterator<Item = usize> {
        self.more.iter().flat_map(|m| m.attached.keys().copied())
    }

    /// ... and how often each is.
    pub(crate) fn attached_mut(&mut self) -> &mut BTreeMap<usize, u32> {
        &mut self.more.get_or_insert_default().attached
    }
}

#[derive(Clone, Copy, Debug)]
struct Block {
    at: Addr,
    /// Entries in it, and constructs that hold its argument part.
    users: u32,
    /// Is the memory the program's own (associated, acc_map_data) or an image's?
    foreign: bool,
}

/// An entry of this turn, or none until the next.
struct Slot {
    turn: u32,
    entry: Entry,
}

/// A device's table.
#[derive(Default)]
pub(crate) struct Table {
    /// Ranges with bytes in them, by address.
    order: Order<Id>,
    /// Ranges without.
    empty: BTreeMap<usize, Id>,
    slots: Vec<Slot>,
    /// Places in `slots` that are not in use.
    free: Vec<u32>,
    blocks: Vec<Option<Block>>,
    /// Numbers of blocks that are no more.
    unused: Vec<BlockId>,
    /// The directive that is carried out.
    directive: u32,
    /// For variables that stand for themselves.
    pub pointers: Pointers,
    /// Memory for what a construct copies in one piece.
    pub staging: Vec<u8>,
    /// ... for lists while one is carried out.
    pub lists: super::map::Lists,
}

/// What to do with a block that nobody uses any more.
pub(crate) enum Left {
    /// Nothing: it is still used, or not ours.
    Used,
    /// Free this memory.
    Free(Addr),
}

impl Table {
    /// Another directive begins: it holds each range once, see [`Table::hold_once`].
    pub(crate) fn begin_directive(&mut self) {
        self.directive = self.directive.wrapping_add(1);
    }

    /// A block that has one user, its maker. `foreign`: it is never freed by us.
    pub(crate) fn block(&mut self, at: Addr, foreign: bool) -> BlockId {
        let new = Some(Block { at, users: 1, foreign });
        match self.unused.pop() {
            Some(i) => {
                self.blocks[i] = new;
                i
            }
            None => {
                self.blocks.push(new);
                self.blocks.len() - 1
            }
        }
    }

    /// The block's address becomes known.
    pub(crate) fn place(&mut self, id: BlockId, at: Addr) {
        if let Some(b) = &mut self.blocks[id] {
            b.at = at;
        }
    }

    /// Where a block lies.
    pub(crate) fn at(&self, id: BlockId) -> Addr {
        self.blocks[id].map_or(0, |b| b.at)
    }

    /// One user of the block less.
    #[inline]
    pub(crate) fn leave(&mut self, id: BlockId) -> Left {
        let Some(b) = &mut self.blocks[id] else { return Left::Used };
        b.users -= 1;
        if b.users > 0 {
            return Left::Used;
        }
        let (at, foreign) = (b.at, b.foreign);
        self.blocks[id] = None;
        self.unused.push(id);
        if foreign { Left::Used } else { Left::Free(at) }
    }

    /// Enters a range that begins at `at` on the device; it overlaps no other.
    pub(crate) fn insert(&mut self, key: Key, block: BlockId, at: Addr, count: u64) -> Id {
        match self.look(key.0, key.1 - key.0) {
            Ok(other) if key.0 < key.1 => {
                let other = self.key(other);
                super::fail(format_args!(
                    "[{:#x}..{:#x}) is to be mapped, but [{:#x}..{:#x}) is mapped already",
                    key.0, key.1, other.0, other.1
                ))
            }
            spot => self.enter(spot.err().flatten(), key, block, at, count),
        }
    }

    /// [`Table::find`], or what [`Table::enter`] wants to know. What is empty has no place in the order.
    #[inline]
    pub(crate) fn look(&self, start: usize, bytes: usize) -> Result<Id, Option<Spot>> {
        match bytes {
            0 => self.find(start, 0).ok_or(None),
            _ => self.order.look(start, start.saturating_add(bytes)).map_err(Some),
        }
    }

    /// [`Table::insert`] at a place that [`Table::look`] has found.
    #[inline]
    pub(crate) fn enter(&mut self, spot: Option<Spot>, key: Key, block: BlockId, at: Addr, count: u64) -> Id {
        if let Some(b) = &mut self.blocks[block] {
            b.users += 1;
        }
        let (held_by, new) = (self.directive, self.slots.len() as u32);
        let place = self.free.pop().unwrap_or(new);
        let turn = self.slots.get(place as usize).map_or(0, |s| s.turn);
        let id = Id { place, turn };
        let entry = Entry { key, block, at, count, dynamic: 0, counted: id, held_by, more: None };
        match self.slots.get_mut(place as usize) {
            Some(slot) => slot.entry = entry,
            None => self.slots.push(Slot { turn, entry }),
        }
        match spot {
            Some(spot) if key.0 < key.1 => self.order.insert(spot, key.0, key.1, id),
            _ => {
                self.empty.insert(key.0, id);
            }
        }
        id
    }

    /// A range and its memory, which are the program's own or an image's, for ever.
    pub(crate) fn insert_for_ever(&mut self, key: Key, at: Addr) {
        let block = self.block(at, true);
        self.insert(key, block, at, FOR_EVER);
        let _ = self.leave(block);
    }

    /// Takes the entry out: the block that it lay in, and what else it has.
    #[inline]
    fn take(&mut self, id: Id) -> Option<(BlockId, Option<Box<More>>)> {
        let slot = self.slots.get_mut(id.place as usize).filter(|s| s.turn == id.turn)?;
        let (key, block, more) = (slot.entry.key, slot.entry.block, slot.entry.more.take());
        slot.turn = slot.turn.wrapping_add(1);
        self.free.push(id.place);
        if key.0 == key.1 {
            self.empty.remove(&key.0);
        } else {
            self.order.remove(key.0);
        }
        Some((block, more))
    }

    /// The ranges are members of one structure: they have one count from here on, the first's.
    pub(crate) fn join(&mut self, members: &[Id]) {
        for &id in members {
            if let Some(e) = self.get_mut(id) {
                e.counted = members[0];
            }
        }
        if let Some(e) = self.get_mut(members[0]) {
            e.more.get_or_insert_default().members = members.to_vec();
        }
    }

    /// The range whose count is that of `id`: itself, or the first member of its structure.
    #[inline]
    pub(crate) fn counted(&self, id: Id) -> Id {
        self.get(id).map_or(id, |e| e.counted)
    }

    /// References to a range; [`FOR_EVER`] for what stays.
    #[inline]
    pub(crate) fn count(&self, id: Id) -> u64 {
        self.get(self.counted(id)).map_or(0, |e| e.count)
    }

    /// One reference more to a range that counts itself; if the present directive has held it before, only
    /// where `again`. Where the range begins, if so.
    #[inline]
    pub(crate) fn hold(&mut self, id: Id, again: bool) -> Option<usize> {
        let now = self.directive;
        let e = self.get_mut(id)?;
        let before = core::mem::replace(&mut e.held_by, now) == now;
        if before && !again {
            return None;
        }
        if e.count != FOR_EVER {
            e.count += 1;
        }
        Some(e.key.0)
    }

    /// The present directive holds the range, which counts itself: false if it did so before.
    #[inline]
    pub(crate) fn hold_once(&mut self, id: Id) -> bool {
        let now = self.directive;
        self.get_mut(id).is_some_and(|e| core::mem::replace(&mut e.held_by, now) != now)
    }

    /// `n` references less (all, with `u64::MAX`); what has none left is removed, with all members of its
    /// structure. What stays for ever stays.
    pub(crate) fn release(&mut self, id: Id, n: u64) -> Left {
        let id = self.counted(id);
        let Some(e) = self.get_mut(id).filter(|e| e.count != FOR_EVER) else { return Left::Used };
        e.count = e.count.saturating_sub(n);
        if e.count == 0 { self.remove_counted(id) } else { Left::Used }
    }

    /// Removes a range, with all members of its structure.
    pub(crate) fn remove(&mut self, id: Id) -> Left {
        self.remove_counted(self.counted(id))
    }

    #[inline]
    fn remove_counted(&mut self, id: Id) -> Left {
        let Some((block, more)) = self.take(id) else { return Left::Used };
        let left = self.leave(block);
        match more {
            Some(more) => self.remove_members(left, more.members),
            None => left,
        }
    }

    #[cold]
    fn remove_members(&mut self, mut left: Left, members: Vec<Id>) -> Left {
        for member in members {
            if let Some((block, _)) = self.take(member) {
                // They lie in one block: its last user is the last of them at the earliest.
                left = self.leave(block);
            }
        }
        left
    }

    /// The entry of this number, if its range is still there.
    #[inline]
    pub(crate) fn get(&self, id: Id) -> Option<&Entry> {
        self.slots.get(id.place as usize).filter(|s| s.turn == id.turn).map(|s| &s.entry)
    }

    /// See [`Table::get`].
    #[inline]
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Entry> {
        self.slots.get_mut(id.place as usize).filter(|s| s.turn == id.turn).map(|s| &mut s.entry)
    }

    /// The host's addresses of a range.
    #[inline]
    pub(crate) fn key(&self, id: Id) -> Key {
        self.get(id).map_or((0, 0), |e| e.key)
    }

    /// All ranges.
    fn all(&self) -> impl Iterator<Item = &Entry> {
        self.order.iter().chain(self.empty.values().copied()).filter_map(|id| self.get(id))
    }

    /// How many ranges there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all().count()
    }

    /// The range that `[start, start + bytes)` lies in or overlaps. Nothing has no extent: then the range
    /// that holds the address, else one that ends there, else an empty one that is there.
    #[inline]
    pub(crate) fn find(&self, start: usize, bytes: usize) -> Option<Id> {
        if bytes > 0 {
            return self.order.overlapping(start, start.saturating_add(bytes));
        }
        self.holding(start)
            .or_else(|| start.checked_sub(1).and_then(|s| self.order.overlapping(s, start)))
            .or_else(|| self.empty.get(&start).copied())
    }

    /// The range that holds the byte at `address`.
    #[inline]
    pub(crate) fn holding(&self, address: usize) -> Option<Id> {
        self.order.overlapping(address, address.saturating_add(1))
    }

    /// This very range.
    pub(crate) fn exact(&self, key: Key) -> Option<Id> {
        self.find(key.0, key.1 - key.0).filter(|&id| self.key(id) == key)
    }

    /// Does the range stand for itself on the device?
    pub(crate) fn is_host(&self, id: Id) -> bool {
        self.get(id).is_none_or(Entry::is_host)
    }

    /// Where the range begins on the device.
    #[cfg(test)]
    pub(crate) fn device(&self, id: Id) -> Addr {
        self.get(id).map_or(0, |e| e.at)
    }

    /// The device's address of a host address in the range.
    #[inline]
    pub(crate) fn translate(&self, id: Id, address: usize) -> Addr {
        self.get(id).map_or(0, |e| e.translate(address))
    }

    /// The host's address of a device address, if the device's memory there belongs to a range.
    pub(crate) fn host(&self, at: Addr) -> Option<usize> {
        let within =
            |e: &Entry| (e.at..e.at + (e.key.1 - e.key.0)).contains(&at).then(|| e.key.0 + (at - e.at));
        self.all().find_map(within)
    }
}

#[cfg(test)]
mod tests;
