//! The items of a construct's map clauses, as the compiler hands them over: three arrays of one length.

use super::kinds;
use smallvec::SmallVec;

/// One item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The host's address, or what the kind makes of it.
    pub addr: usize,
    /// Bytes, or what the kind makes of it.
    pub size: usize,
    /// Map kind.
    pub kind: u8,
    /// Alignment in bytes.
    pub align: usize,
}

impl Item {
    /// Bytes of host memory that the item is about.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        if kinds::has_a_pointers_size(self.kind) { size_of::<usize>() } else { self.size }
    }
    /// Is `other` within it?
    pub(crate) fn holds(&self, other: &Item) -> bool {
        (self.addr..self.addr.saturating_add(self.size)).contains(&other.addr)
    }
}

/// All of them.
pub struct Items {
    /// Where host_data and use_device_ptr leave what they have found.
    pub addrs: *mut usize,
    /// In order.
    pub list: SmallVec<[Item; 4]>,
    /// Where an iterator stands for several items: for each of the list the entry of the compiler's arrays.
    /// Empty if they are the same.
    pub slots: Vec<usize>,
}

/// The size that says that an entry has iterators: its address is that of a list, the number of items and
/// address and size of each.
const ITERATED: usize = usize::MAX;
/// No list on a stack is that long. A pointer that does not depend on the iterators of its clause has their
/// size, but its own address.
const LONGEST: usize = 1 << 32;

impl Items {
    /// Of the present interface.
    ///
    /// # Safety
    /// The arrays have `n` entries.
    #[inline]
    pub unsafe fn read(n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u16) -> Self {
        let mut items = Self { addrs, list: SmallVec::new(), slots: Vec::new() };
        if n > items.list.inline_size() {
            items.list.reserve_exact(n);
        }
        let mut iterated = false;
        for i in 0..n {
            // SAFETY: by the caller's promise.
            let (addr, size, kind) = unsafe { (*addrs.add(i), *sizes.add(i), *kinds.add(i)) };
            iterated |= size == ITERATED;
            items.list.push(Item { addr, size, kind: kind as u8, align: 1 << (kind >> 8).min(20) });
        }
        if iterated {
            // SAFETY: by the caller's promise.
            unsafe { items.iterate() };
        }
        items
    }

    /// Puts every item of an iterator in the place of the entry.
    ///
    /// # Safety
    /// The entries are in the compiler's format.
    #[cold]
    unsafe fn iterate(&mut self) {
        let mut list = Vec::new();
        for (slot, entry) in core::mem::take(&mut self.list).into_iter().enumerate() {
            let read = |i: usize| {
                // SAFETY: a list with that many entries, or a pointer.
                unsafe { (entry.addr as *const usize).add(i).read_unaligned() }
            };
            let count = if entry.size == ITERATED && entry.addr != 0 { Some(read(0)) } else { None };
            match count {
                None => list.push((slot, entry)),
                Some(n) if n >= LONGEST => list.push((slot, Item { size: 0, ..entry })),
                Some(n) => {
                    let one = |i| Item { addr: read(2 * i + 1), size: read(2 * i + 2), ..entry };
                    list.extend((0..n).map(|i| (slot, one(i))));
                }
            }
        }
        (self.slots, self.list) = list.into_iter().unzip();
    }

    /// Entry of the compiler's arrays that item `i` comes from.
    #[inline]
    pub(crate) fn slot(&self, i: usize) -> usize {
        self.slots.get(i).copied().unwrap_or(i)
    }

    /// How many entries the compiler's arrays have, as far as items come from them.
    pub(crate) fn entries(&self) -> usize {
        self.slots.iter().max().map_or(self.list.len(), |last| last + 1)
    }

    /// See the function of this name.
    pub(crate) fn private_attach(&self, i: usize) -> Option<usize> {
        let of = |slot: usize| self.list.iter().enumerate().position(|(j, _)| self.slot(j) == slot);
        let item = |slot: usize| of(slot).map_or(self.list[i], |j| self.list[j]);
        private_attach(self.addrs as usize, self.slot(i), &self.list[i], item).and_then(of)
    }

    /// Of the first interface (GCC 4.9): kinds are bytes, with the alignment in the upper five bits.
    ///
    /// # Safety
    /// The arrays have `n` entries.
    pub unsafe fn read_old(n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u8) -> Self {
        let one = |i: usize| {
            // SAFETY: by the caller's promise.
            let (addr, size, kind) = unsafe { (*addrs.add(i), *sizes.add(i), *kinds.add(i)) };
            Item { addr, size, kind: kind & 7, align: 1 << (kind >> 3).min(20) }
        };
        Self { addrs, list: (0..n).map(one).collect(), slots: Vec::new() }
    }

    /// How many items from `i` on belong together where data come to stay: a structure and its members, a
    /// descriptor and its pointers, data and the pointer that is attached to them.
    pub(crate) fn group(&self, i: usize) -> usize {
        let (first, rest) = (&self.list[i], &self.list[i + 1..]);
        match first.kind {
            kinds::STRUCT | kinds::STRUCT_UNORDERED => {
                let members = first.size.min(rest.len());
                // The pointers among the members are attached behind them.
                1 + members + rest[members..].iter().take_while(|r| kinds::attaches(r.kind)).count()
            }
            kinds::TO_PSET => {
                let inside = |r: &&Item| {
                    (kinds::is_pointer(r.kind) || r.kind == kinds::ALWAYS_POINTER || kinds::attaches(r.kind))
                        && first.holds(r)
                };
                1 + rest.iter().take_while(inside).count()
            }
            _ => {
                let follows = |r: &&Item| {
                    kinds::attaches(r.kind)
                        || kinds::is_pointer(r.kind)
                        || matches!(r.kind, kinds::TO_PSET | kinds::ALWAYS_POINTER)
                };
                1 + rest.iter().take_while(follows).count()
            }
        }
    }

    /// Some of them.
    pub(crate) fn part(&self, from: usize, n: usize) -> Self {
        let addrs = self.addrs.wrapping_add(self.slot(from));
        Self { addrs, list: SmallVec::from_slice(&self.list[from..from + n]), slots: Vec::new() }
    }
}

/// An attach item whose address lies among the items' own addresses: the pointer in the private copy of
/// the item with that number, `size` bytes from its beginning, gets the private copy of the item before.
/// So newer compilers pass Fortran's arrays with descriptors in firstprivate clauses. `None`: it attaches a
/// pointer of the program.
pub fn private_attach(addrs: usize, i: usize, item: &Item, of: impl Fn(usize) -> Item) -> Option<usize> {
    let from = item.addr.checked_sub(addrs)?;
    let k = from / size_of::<usize>();
    if k >= i {
        return None;
    }
    let descriptor = of(k);
    let whole =
        from % size_of::<usize>() == 0 && item.size.saturating_add(size_of::<usize>()) <= descriptor.size;
    if !whole || k + 1 >= i || [k, i - 1].iter().any(|&j| of(j).kind != kinds::FIRSTPRIVATE) {
        super::fail(format_args!(
            "map kind {:#x} of a private variable is not known in this form: a newer compiler than this \
             runtime knows has built the program",
            item.kind
        ));
    }
    Some(k)
}

/// Launch arguments: num_teams.
pub(crate) const NUM_TEAMS: usize = 1 << 8;
/// thread_limit.
pub const THREAD_LIMIT: usize = 2 << 8;

/// One of a target construct's launch arguments, 0 if it is not among them.
///
/// # Safety
/// `args` is null or a list in the compiler's format, ended by 0.
pub unsafe fn argument(mut args: *const usize, which: usize) -> u32 {
    const DEVICES: usize = 0x7f;
    const SEPARATE: usize = 1 << 7;
    const WHICH: usize = 0xff00;
    // SAFETY: by the caller's promise.
    unsafe {
        while !args.is_null() && *args != 0 {
            let id = *args;
            args = args.add(1);
            let value = if id & SEPARATE != 0 {
                args = args.add(1);
                *args.sub(1) as isize
            } else {
                (id as isize) >> 16
            };
            if id & DEVICES == 0 && id & WHICH == which {
                return value.clamp(0, i32::MAX as isize) as u32;
            }
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_together() {
        let item = |kind, addr, size| Item { addr, size, kind, align: 8 };
        let items = Items {
            addrs: core::ptr::null_mut(),
            slots: Vec::new(),
            list: smallvec::smallvec![
                item(kinds::STRUCT, 100, 2),
                item(1, 100, 8),
                item(1, 116, 8),
                item(kinds::ATTACH, 116, 0),
                item(1, 300, 8),
                item(kinds::TO_PSET, 400, 64),
                item(kinds::POINTER, 400, 0),
                item(kinds::POINTER, 900, 0),
                item(1, 500, 8),
            ],
        };
        assert_eq!([0, 4, 5, 8].map(|i| items.group(i)), [4, 4, 2, 1]);
    }

    #[test]
    fn both_interfaces() {
        let (mut addrs, sizes, kinds, old) = ([16usize, 32], [4usize, 8], [0x203u16, 0x301], [0x13u8, 0x19]);
        // SAFETY: two entries each.
        let (a, b) = unsafe {
            let p = addrs.as_mut_ptr();
            (
                Items::read(2, p, sizes.as_ptr(), kinds.as_ptr()),
                Items::read_old(2, p, sizes.as_ptr(), old.as_ptr()),
            )
        };
        assert_eq!(a.list, b.list);
        assert_eq!((a.list[0].kind, a.list[0].align, a.list[1].align), (3, 4, 8));
    }
}
