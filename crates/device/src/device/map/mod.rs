//! A construct's map clauses carried out: what is there is used, what is not gets memory, data are copied,
//! pointers in mapped memory are made to point to the device's copies.
//!
//! What one construct maps anew lies in one block: first the argument block of a target region and the
//! firstprivate copies, then the small variables, which travel in one copy with it, then the large ones.

mod fill;
mod placement;

use super::backend::{Addr, Backend, Queue};
use super::construct_mappings::{Held, Mapped};
use super::fetch::Part;
use super::items::{Item, Items};
use super::present::{BlockId, Id, Table};
use super::{State, fail};
use std::collections::BTreeMap;

/// What stands for an item in the argument block.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// The host's address, or the value itself.
    Same,
    Null,
    /// At this distance from the beginning of the new block.
    InBlock(usize),
    /// The device's counterpart of an address in the range.
    At(Id, usize),
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

struct Mapping<'a> {
    backend: &'a dyn Backend,
    table: &'a mut Table,
    links: &'a BTreeMap<usize, (usize, Addr)>,
    queue: Queue,
    block: BlockId,
    base: Addr,
    /// What is copied at the end in one piece, at the beginning of the block.
    staged: Vec<u8>,
    held: Held,
    purpose: For,
}

/// What stands for the items, one by one.
type Values = Vec<Value>;

/// Lists that every construct needs for a while, kept empty between them.
#[derive(Default)]
pub(crate) struct Lists {
    values: Values,
    new: placement::New,
    /// Of what comes back.
    pub parts: Vec<Part>,
}

/// Stops the program: what a clause says to be there is not.
pub(crate) fn not_there(item: &Item) -> ! {
    fail(format_args!(
        "present clause: not present on the device (address {:#x}, {} bytes)",
        item.addr, item.size
    ))
}

/// Maps `items` for a construct.
pub(crate) fn map(
    state: &mut State,
    backend: &dyn Backend,
    items: &Items,
    purpose: For,
    queue: Queue,
) -> Mapped {
    let arguments = purpose == For::Target;
    let block = state.table.block(0, false);
    let staged = core::mem::take(&mut state.table.staging);
    let mut m = Mapping {
        backend,
        table: &mut state.table,
        links: &state.links,
        queue,
        block,
        base: 0,
        staged,
        held: Held::with_capacity(items.list.len()),
        purpose,
    };
    let mut fixed = if arguments { 8 * items.entries() } else { 0 };
    let (values, new) = m.plan(items, &mut fixed);
    m.place(fixed, new);
    let done = m.fill(items, &values);
    let each = items.list.iter().zip(&values).enumerate();
    let arguments_of = match purpose {
        // They have no function that would want to know.
        For::Data => Vec::new(),
        For::Acc => each.map(|(i, (item, &v))| m.value(items, i, item, v)).collect(),
        For::Target => {
            for (i, (item, &v)) in each {
                let (at, value) = (8 * items.slot(i), m.value(items, i, item, v));
                m.staged[at..at + 8].copy_from_slice(&value.to_ne_bytes());
            }
            Vec::new()
        }
    };
    m.flush();
    m.table.staging = core::mem::take(&mut m.staged);
    m.table.staging.clear();
    m.translate_for_host(items);
    m.table.lists.values = values;
    let args = if arguments { m.base } else { 0 };
    Mapped { block: Some(block), items: done, held: m.held, purpose, args, values: arguments_of }
}
