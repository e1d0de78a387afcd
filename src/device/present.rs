//! The present table: which ranges of the host's memory have a counterpart on a device, and how many
//! constructs hold each.
//!
//! What one construct maps anew lies in one block of device memory, which is freed when the last of its
//! ranges is gone. Members of a structure that were mapped together have one count, and leave together
//! (OpenMP 5.0, section 2.19.7.1).

use super::backend::Addr;
use super::declared::Pointers;
use std::collections::BTreeMap;

/// A range of host addresses, first and behind the last; the name of an entry.
pub type Key = (usize, usize);

/// The count of what stays for ever (declare target).
pub const FOR_EVER: u64 = u64::MAX;

/// Number of a block.
pub type BlockId = usize;

/// One range.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it lies.
    pub block: BlockId,
    /// ... and how far behind the block's beginning.
    pub offset: usize,
    /// References: [`FOR_EVER`] or those of constructs and routines. For members of a structure that of the
    /// first stands for all.
    count: u64,
    /// ... of these, the dynamic ones of OpenACC (enter data, acc_copyin …).
    pub dynamic: u64,
    /// Attached pointers in it: offset, times.
    pub attached: BTreeMap<usize, u32>,
    /// The structure that it is a member of; 0: none.
    structure: usize,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    at: Addr,
    /// Entries in it, and constructs that hold its argument part.
    users: u32,
    /// Is the memory the program's own (associated, acc_map_data) or an image's?
    foreign: bool,
}

/// A device's table.
#[derive(Default)]
pub struct Table {
    entries: BTreeMap<Key, Entry>,
    blocks: Vec<Option<Block>>,
    /// Numbers of blocks that are no more.
    unused: Vec<BlockId>,
    /// Members of structures that were mapped together, by the structure's number.
    structures: BTreeMap<usize, Vec<Key>>,
    last_structure: usize,
    /// For variables that stand for themselves.
    pub pointers: Pointers,
}

/// What to do with a block that nobody uses any more.
pub enum Left {
    /// Nothing: it is still used, or not ours.
    Used,
    /// Free this memory.
    Free(Addr),
}

impl Table {
    /// A block that has one user, its maker. `foreign`: it is never freed by us.
    pub fn block(&mut self, at: Addr, foreign: bool) -> BlockId {
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
    pub fn place(&mut self, id: BlockId, at: Addr) {
        if let Some(b) = &mut self.blocks[id] {
            b.at = at;
        }
    }

    /// Where a block lies.
    pub fn at(&self, id: BlockId) -> Addr {
        self.blocks[id].map_or(0, |b| b.at)
    }

    /// One user of the block less.
    pub fn leave(&mut self, id: BlockId) -> Left {
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

    /// Enters a range; it overlaps no other.
    pub fn insert(&mut self, key: Key, block: BlockId, offset: usize, count: u64) {
        if let Some(b) = &mut self.blocks[block] {
            b.users += 1;
        }
        let entry = Entry { block, offset, count, dynamic: 0, attached: BTreeMap::new(), structure: 0 };
        self.entries.insert(key, entry);
    }

    /// The ranges are members of one structure: they have one count from here on, the first's.
    pub fn join(&mut self, members: &[Key]) {
        self.last_structure += 1;
        for key in members {
            if let Some(e) = self.entries.get_mut(key) {
                e.structure = self.last_structure;
            }
        }
        self.structures.insert(self.last_structure, members.to_vec());
    }

    /// The range whose count is that of `key`: itself, or the first member of its structure.
    pub fn counted(&self, key: Key) -> Key {
        if self.structures.is_empty() {
            return key;
        }
        let structure = self.entries.get(&key).map_or(0, |e| e.structure);
        self.structures.get(&structure).map_or(key, |members| members[0])
    }

    /// References to a range; [`FOR_EVER`] for what stays.
    pub fn count(&self, key: Key) -> u64 {
        self.entries.get(&self.counted(key)).map_or(0, |e| e.count)
    }

    /// One reference more.
    pub fn hold(&mut self, key: Key) {
        let key = self.counted(key);
        if let Some(e) = self.entries.get_mut(&key).filter(|e| e.count != FOR_EVER) {
            e.count += 1;
        }
    }

    /// `n` references less (all, with `u64::MAX`); true if none is left. What stays for ever stays.
    pub fn drop_references(&mut self, key: Key, n: u64) -> bool {
        let key = self.counted(key);
        match self.entries.get_mut(&key).filter(|e| e.count != FOR_EVER) {
            Some(e) => {
                e.count = e.count.saturating_sub(n);
                e.count == 0
            }
            None => false,
        }
    }

    /// Removes a range, with all members of its structure.
    pub fn remove(&mut self, key: Key) -> Left {
        let Some(e) = self.entries.remove(&key) else { return Left::Used };
        let mut left = self.leave(e.block);
        for member in self.structures.remove(&e.structure).unwrap_or_default() {
            if let Some(e) = self.entries.remove(&member) {
                // They lie in one block: its last user is the last of them at the earliest.
                left = self.leave(e.block);
            }
        }
        left
    }

    /// The entry of this name.
    pub fn get(&self, key: Key) -> Option<&Entry> {
        self.entries.get(&key)
    }

    /// See [`Table::get`].
    pub fn get_mut(&mut self, key: Key) -> Option<&mut Entry> {
        self.entries.get_mut(&key)
    }

    /// All ranges.
    pub fn keys(&self) -> Vec<Key> {
        self.entries.keys().copied().collect()
    }

    /// The range that overlaps `[start, end)`, which is not empty.
    fn overlapping(&self, start: usize, end: usize) -> Option<Key> {
        let before = self.entries.range(..(end, 0)).rev();
        before.map(|(&k, _)| k).find(|k| k.0 != k.1).filter(|k| k.1 > start)
    }

    /// The range that `[start, start + bytes)` lies in or overlaps. Nothing has no extent: then the range
    /// that holds the address, else one that ends there, else an empty one of this name.
    pub fn find(&self, start: usize, bytes: usize) -> Option<Key> {
        if bytes > 0 {
            return self.overlapping(start, start.saturating_add(bytes));
        }
        self.holding(start)
            .or_else(|| start.checked_sub(1).and_then(|s| self.overlapping(s, start)))
            .or_else(|| self.entries.contains_key(&(start, start)).then_some((start, start)))
    }

    /// The range that holds the byte at `address`.
    pub fn holding(&self, address: usize) -> Option<Key> {
        self.overlapping(address, address.saturating_add(1))
    }

    /// Does the range stand for itself on the device?
    pub fn is_host(&self, key: Key) -> bool {
        self.device(key) == key.0
    }

    /// Where the range begins on the device.
    pub fn device(&self, key: Key) -> Addr {
        self.entries.get(&key).map_or(0, |e| self.at(e.block) + e.offset)
    }

    /// The device's address of a host address in the range `key`.
    pub fn translate(&self, key: Key, address: usize) -> Addr {
        self.device(key).wrapping_add(address.wrapping_sub(key.0))
    }

    /// The host's address of a device address, if the device's memory there belongs to a range.
    pub fn host(&self, at: Addr) -> Option<usize> {
        self.entries.keys().find_map(|&k| {
            let d = self.device(k);
            (d..d + (k.1 - k.0)).contains(&at).then(|| k.0 + (at - d))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(keys: &[Key]) -> Table {
        let mut t = Table::default();
        for &k in keys {
            let b = t.block(k.0 * 10, false);
            t.insert(k, b, 0, 1);
            t.leave(b);
        }
        t
    }

    #[test]
    fn overlaps_are_found() {
        let t = table(&[(100, 200), (200, 300), (400, 400), (500, 600)]);
        for (start, bytes, key) in [
            (100, 100, Some((100, 200))),
            (150, 1, Some((100, 200))),
            (90, 10, None),
            (90, 11, Some((100, 200))),
            (300, 100, None),
            (390, 200, Some((500, 600))),
            (200, 0, Some((200, 300))),
            (300, 0, Some((200, 300))),
            (400, 0, Some((400, 400))),
            (400, 8, None),
            (350, 0, None),
            (600, 0, Some((500, 600))),
        ] {
            assert_eq!(t.find(start, bytes), key, "{start}+{bytes}");
        }
        assert_eq!(t.translate((200, 300), 210), 2010);
        assert_eq!(t.host(5050), Some(550));
        assert_eq!(t.host(3000), None);
    }

    #[test]
    fn a_block_goes_with_its_last_range() {
        let mut t = Table::default();
        let b = t.block(4096, false);
        t.insert((10, 20), b, 0, 1);
        t.insert((30, 40), b, 64, 1);
        assert!(matches!(t.leave(b), Left::Used));
        assert!(matches!(t.remove((10, 20)), Left::Used));
        assert!(matches!(t.remove((30, 40)), Left::Free(4096)));
        let own = t.block(1, true);
        assert!(matches!(t.leave(own), Left::Used));
    }

    #[test]
    fn numbers_of_blocks_are_given_anew() {
        let mut t = Table::default();
        let ids: Vec<_> = (0..3).map(|at| t.block(at, false)).collect();
        assert!(matches!(t.leave(ids[1]), Left::Free(1)) && matches!(t.leave(ids[0]), Left::Free(0)));
        let mut anew = [t.block(7, false), t.block(8, false)];
        assert_eq!((t.at(anew[0]), t.at(anew[1]), t.at(ids[2])), (7, 8, 2));
        anew.sort();
        assert_eq!((anew[0], anew[1], t.block(9, false)), (ids[0], ids[1], 3));
    }

    #[test]
    fn members_of_a_structure_have_one_count() {
        let mut t = Table::default();
        let b = t.block(4096, false);
        let keys = [(10, 14), (16, 24), (24, 32)];
        keys.iter().for_each(|&k| t.insert(k, b, k.0 - 10, 1));
        t.join(&keys);
        t.insert((40, 44), b, 64, 1);
        t.leave(b);
        t.hold(keys[2]);
        assert_eq!((t.count(keys[1]), t.count((40, 44))), (2, 1));
        assert!(!t.drop_references(keys[0], 1) && t.drop_references(keys[1], 1));
        assert!(matches!(t.remove(keys[2]), Left::Used));
        assert_eq!(t.keys(), [(40, 44)]);
        assert!(matches!(t.remove((40, 44)), Left::Free(4096)));
    }
}
