//! The present table: which ranges of the host's memory have a counterpart on a device, and how many
//! constructs hold each.
//!
//! What one construct maps anew lies in one block of device memory, which is freed when the last of its
//! ranges is gone. Members of a structure that were mapped together have one count, and leave together
//! (OpenMP 5.0, section 2.19.7.1).

use super::backend::Addr;
use super::declared::Pointers;
use core::cell::Cell;
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

/// So many keys that were found lately are remembered, by where their ranges begin.
const RECENT: usize = 32;

/// A device's table.
#[derive(Default)]
pub struct Table {
    /// Places in `entries`.
    keys: BTreeMap<Key, usize>,
    /// Keys that were found lately, and their places: a construct asks for each of its own several times.
    recent: [Cell<Option<(Key, usize)>>; RECENT],
    /// `None`: not in use.
    entries: Vec<Option<Entry>>,
    /// Places in `entries` that are not in use.
    free: Vec<usize>,
    blocks: Vec<Option<Block>>,
    /// Numbers of blocks that are no more.
    unused: Vec<BlockId>,
    /// Members of structures that were mapped together, by the structure's number.
    structures: BTreeMap<usize, Vec<Key>>,
    last_structure: usize,
    /// For variables that stand for themselves.
    pub pointers: Pointers,
    /// Memory for what a construct copies in one piece.
    pub staging: Vec<u8>,
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
        let place = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        self.entries[place] = Some(entry);
        if let Some(old) = self.keys.insert(key, place) {
            self.entries[old] = None;
            self.free.push(old);
        }
        self.recent(key.0).set(Some((key, place)));
    }

    /// What is remembered of ranges that begin at `start`, if anything is, or of another one.
    #[inline]
    fn recent(&self, start: usize) -> &Cell<Option<(Key, usize)>> {
        &self.recent[(start >> 2 ^ start >> 7 ^ start >> 12) % RECENT]
    }

    /// Where the entry of this name is.
    #[inline]
    fn place_of(&self, key: Key) -> Option<usize> {
        if let Some((last, place)) = self.recent(key.0).get()
            && last == key
        {
            return Some(place);
        }
        let place = *self.keys.get(&key)?;
        self.recent(key.0).set(Some((key, place)));
        Some(place)
    }

    /// Takes the entry of this name out.
    fn take(&mut self, key: Key) -> Option<Entry> {
        let place = self.keys.remove(&key)?;
        let recent = self.recent(key.0);
        if recent.get().is_some_and(|(last, _)| last == key) {
            recent.set(None);
        }
        self.free.push(place);
        self.entries[place].take()
    }

    /// The ranges are members of one structure: they have one count from here on, the first's.
    pub fn join(&mut self, members: &[Key]) {
        self.last_structure += 1;
        let number = self.last_structure;
        for key in members {
            if let Some(e) = self.get_mut(*key) {
                e.structure = number;
            }
        }
        self.structures.insert(self.last_structure, members.to_vec());
    }

    /// The range whose count is that of `key`: itself, or the first member of its structure.
    pub fn counted(&self, key: Key) -> Key {
        if self.structures.is_empty() {
            return key;
        }
        let structure = self.get(key).map_or(0, |e| e.structure);
        self.structures.get(&structure).map_or(key, |members| members[0])
    }

    /// References to a range; [`FOR_EVER`] for what stays.
    pub fn count(&self, key: Key) -> u64 {
        self.get(self.counted(key)).map_or(0, |e| e.count)
    }

    /// One reference more.
    pub fn hold(&mut self, key: Key) {
        let key = self.counted(key);
        if let Some(e) = self.get_mut(key).filter(|e| e.count != FOR_EVER) {
            e.count += 1;
        }
    }

    /// `n` references less (all, with `u64::MAX`); true if none is left. What stays for ever stays.
    pub fn drop_references(&mut self, key: Key, n: u64) -> bool {
        let key = self.counted(key);
        match self.get_mut(key).filter(|e| e.count != FOR_EVER) {
            Some(e) => {
                e.count = e.count.saturating_sub(n);
                e.count == 0
            }
            None => false,
        }
    }

    /// Removes a range, with all members of its structure.
    pub fn remove(&mut self, key: Key) -> Left {
        let Some(e) = self.take(key) else { return Left::Used };
        let mut left = self.leave(e.block);
        if e.structure == 0 {
            return left;
        }
        for member in self.structures.remove(&e.structure).unwrap_or_default() {
            if let Some(e) = self.take(member) {
                // They lie in one block: its last user is the last of them at the earliest.
                left = self.leave(e.block);
            }
        }
        left
    }

    /// The entry of this name.
    pub fn get(&self, key: Key) -> Option<&Entry> {
        self.entries[self.place_of(key)?].as_ref()
    }

    /// See [`Table::get`].
    pub fn get_mut(&mut self, key: Key) -> Option<&mut Entry> {
        let place = self.place_of(key)?;
        self.entries[place].as_mut()
    }

    /// All ranges.
    pub fn keys(&self) -> Vec<Key> {
        self.keys.keys().copied().collect()
    }

    /// The range that overlaps `[start, end)`, which is not empty.
    fn overlapping(&self, start: usize, end: usize) -> Option<Key> {
        // No two ranges overlap.
        if let Some((last, _)) = self.recent(start).get()
            && last.0 <= start
            && end <= last.1
            && start < end
        {
            return Some(last);
        }
        let mut before = self.keys.range(..(end, 0)).rev();
        let (&key, &place) = before.find(|(k, _)| k.0 != k.1).filter(|(k, _)| k.1 > start)?;
        self.recent(key.0).set(Some((key, place)));
        Some(key)
    }

    /// The range that `[start, start + bytes)` lies in or overlaps. Nothing has no extent: then the range
    /// that holds the address, else one that ends there, else an empty one of this name.
    pub fn find(&self, start: usize, bytes: usize) -> Option<Key> {
        if bytes > 0 {
            return self.overlapping(start, start.saturating_add(bytes));
        }
        self.holding(start)
            .or_else(|| start.checked_sub(1).and_then(|s| self.overlapping(s, start)))
            .or_else(|| self.keys.contains_key(&(start, start)).then_some((start, start)))
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
        self.get(key).map_or(0, |e| self.at(e.block) + e.offset)
    }

    /// The device's address of a host address in the range `key`.
    pub fn translate(&self, key: Key, address: usize) -> Addr {
        self.device(key).wrapping_add(address.wrapping_sub(key.0))
    }

    /// The host's address of a device address, if the device's memory there belongs to a range.
    pub fn host(&self, at: Addr) -> Option<usize> {
        self.keys.keys().find_map(|&k| {
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

    proptest::proptest! {
        /// What is remembered of keys never outlives them: against a plain list of ranges.
        #[test]
        fn as_a_list_of_ranges(steps in proptest::collection::vec((0usize..3, 0usize..40), 1..300)) {
            let (mut t, mut list) = (Table::default(), Vec::<Key>::new());
            for (what, n) in steps {
                // Two lengths, so that a later range of another length begins where one began before.
                let key = (64 * (n / 2 + 1), 64 * (n / 2 + 1) + 16 + 32 * (n % 2));
                let there = list.iter().copied().find(|k| k.0 < key.1 && key.0 < k.1);
                proptest::prop_assert_eq!(t.find(key.0, key.1 - key.0), there);
                proptest::prop_assert_eq!(t.holding(key.1 - 1), there.filter(|k| k.1 >= key.1));
                match (what, there) {
                    (0, None) => {
                        let b = t.block(key.1, false);
                        t.insert(key, b, 0, n as u64 + 1);
                        t.leave(b);
                        list.push(key);
                    }
                    (1, Some(k)) => {
                        t.remove(k);
                        list.retain(|&l| l != k);
                    }
                    _ => {}
                }
                for &k in &list {
                    proptest::prop_assert_eq!((t.device(k), t.count(k) > 0), (k.1, true));
                }
                proptest::prop_assert_eq!(t.get(key).is_some(), list.contains(&key));
            }
        }
    }
}
