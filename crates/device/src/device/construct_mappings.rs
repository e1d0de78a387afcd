//! What a construct has mapped, and how it ends: data come back where the clauses say so, what nobody uses
//! any more goes.

use super::backend::{Addr, Backend, Queue};
use super::fetch::Copies;
use super::items::Item;
use super::kinds::*;
use super::map::For;
use super::present::{BlockId, Entry, Id, Left, Table};
use super::{State, attached_pointers, fail};
use crate::observe::event::Mapping;
use smallvec::SmallVec;

/// Ranges that a construct holds, and where each begins.
pub(crate) type Held = SmallVec<[(Id, usize); 2]>;

/// What a construct has mapped: undone by [`Mapped::unmap`].
pub(crate) struct Mapped {
    pub(super) block: Option<BlockId>,
    pub(super) items: SmallVec<[Done; 1]>,
    pub(super) held: Held,
    pub(super) purpose: For,
    /// The argument block on the device.
    pub args: Addr,
    /// Its contents, where there is a function that gets them.
    pub values: Vec<usize>,
}

/// An item that was carried out.
pub(crate) struct Done {
    pub(super) item: Item,
    pub(super) id: Option<Id>,
    pub(super) attached: bool,
}

/// How an item maps a variable, as tools are told; `None`: it is no variable of a map clause.
pub(crate) fn mapping(table: &Table, item: &Item, id: Id) -> Option<Mapping> {
    let kind = item.kind;
    let how = match kind {
        DELETE | DELETE_ZERO_LEN => Mapping::DELETE,
        RELEASE | ZERO_LEN => Mapping::RELEASE,
        k if is_data(k) || k == FORCE_PRESENT => {
            let both = [(copies_to(k), Mapping::TO), (copies_from(k), Mapping::FROM)];
            match both.iter().filter(|(yes, _)| *yes).map(|(_, how)| how).sum() {
                0 => Mapping::ALLOC,
                how => how,
            }
        }
        _ => return None,
    };
    let how = how | if implicit(kind) { Mapping::IMPLICIT } else { 0 };
    Some(Mapping { host: item.addr, device: table.translate(id, item.addr), bytes: item.size, how })
}

impl Mapped {
    /// What tools are told of.
    pub(crate) fn mappings(&self, table: &Table) -> impl Iterator<Item = Mapping> {
        let variables = self.items.iter().filter(|d| d.item.kind != ZERO_LEN);
        variables.filter_map(|d| mapping(table, &d.item, d.id?))
    }
}

/// Gives memory back that a table has let go of.
#[inline]
pub(crate) fn give_back(backend: &dyn Backend, left: Left, queue: Queue) {
    if let Left::Free(at) = left
        && at != 0
    {
        if queue.is_some() {
            backend.wait(queue);
        }
        if !backend.free(at) {
            fail(format_args!("device memory at {at:#x} could not be freed"));
        }
    }
}

/// Copies a part of the host's memory to the device.
pub(crate) fn send(backend: &dyn Backend, entry: &Entry, start: usize, bytes: usize, queue: Queue) {
    attached_pointers::between(entry, (start, start + bytes), |from, to| {
        if !backend.copy_in(entry.translate(from), from, to - from, queue) {
            fail(format_args!("{} bytes could not be copied to the device", to - from));
        }
    });
}

impl Mapped {
    /// The construct ends: data come back where the clauses say so, what nobody uses any more goes.
    pub(crate) fn unmap(mut self, state: &mut State, backend: &dyn Backend, copy: bool, queue: Queue) {
        let table = &mut state.table;
        for d in self.items.iter().filter(|d| d.attached) {
            if let Some(at) = attached_pointers::detach(table, d.item.addr, false) {
                attached_pointers::restore(backend, at, d.item.addr, queue);
            }
        }
        let mut copies = Copies::new(table, self.items.len());
        for d in &self.items {
            let Some(id) = d.id.and_then(|id| now(table, id, d.item.addr)) else { continue };
            let (always, from) = (always_from(d.item.kind), copies_from(d.item.kind));
            if copy && (always || (from && self.is_last(table, id))) {
                copies.add(table, id, (d.item.addr, d.item.size), self.purpose);
            }
        }
        copies.run(table, backend, queue);
        for &(id, start) in &self.held {
            if let Some(id) = now(table, id, start) {
                release(backend, table, id, 1, queue);
            }
        }
        if let Some(block) = self.block.take() {
            give_back(backend, table.leave(block), queue);
        }
    }

    /// Does nobody else hold the range?
    fn is_last(&self, table: &Table, id: Id) -> bool {
        match table.count(id) {
            1 => true,
            // OpenACC holds a structure once for each member that it names.
            n if self.purpose == For::Acc => {
                let counted = table.counted(id);
                self.held.iter().filter(|h| h.0 == counted).count() as u64 == n
            }
            _ => false,
        }
    }

    /// What was mapped stays (enter data): only the construct itself goes.
    pub(crate) fn keep(mut self, state: &mut State, backend: &dyn Backend) {
        if let Some(block) = self.block.take() {
            give_back(backend, state.table.leave(block), None);
        }
    }

    /// Does it have memory of its own?
    pub(crate) fn has_memory(&self, state: &State) -> bool {
        self.block.is_some_and(|b| state.table.at(b) != 0)
    }

    /// The ranges that it uses.
    pub(crate) fn held(&self) -> &[(Id, usize)] {
        &self.held
    }
}

/// The range `id`; if it was deleted within the construct, and its data were mapped again, the one that
/// holds `start` now.
#[inline]
fn now(table: &Table, id: Id, start: usize) -> Option<Id> {
    if table.get(id).is_some() { Some(id) } else { mapped_again(table, start) }
}

#[cold]
fn mapped_again(table: &Table, start: usize) -> Option<Id> {
    table.find(start, 1)
}

/// Takes `n` references away (all, with `u64::MAX`); what has none left is removed.
#[inline]
pub(crate) fn release(backend: &dyn Backend, table: &mut Table, id: Id, n: u64, queue: Queue) {
    let left = table.release(id, n);
    give_back(backend, left, queue);
}
