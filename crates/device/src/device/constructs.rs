//! target, target data, enter and exit data, update, over a device's present table.

use super::backend::{Backend, Launch, Queue};
use super::construct_mappings::{self, Mapped};
use super::fetch::Copies;
use super::items::{Item, Items};
use super::kinds::*;
use super::map::{self, For};
use super::present::{Id, Table};
use super::{Device, State, attached_pointers, declare_target, fail, observed_device};
use crate::sys::lock::Locked;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Data constructs that tasks are in: by the task, innermost last. `None`: the host's.
static INSIDE: Locked<BTreeMap<usize, Vec<Data>>> = Locked::new(BTreeMap::new());

type Data = Option<(&'static Device, Mapped)>;

/// Maps `items`; tools are told of what OpenMP's constructs map.
fn map_and_tell(s: &mut State, backend: &dyn Backend, items: &Items, purpose: For) -> Mapped {
    let mapped = map::map(s, backend, items, purpose, None);
    if purpose != For::Acc {
        observed_device::mapped(mapped.mappings(&s.table));
    }
    mapped
}

/// A target region on `device`; false if the device has no version of the function, and nothing was done.
pub fn target(device: &'static Device, func: usize, items: &Items, args: *const usize, limit: u32) -> bool {
    let Some(func) = device.function(func) else { return false };
    let backend = device.backend.as_ref();
    let launch = |block| {
        let hosts = core::ptr::null();
        let launch = Launch { func, block, args, dims: None, count: 0, hosts, limit };
        if !backend.launch(&launch, None) {
            fail(format_args!("a kernel failed on device {}", device.number));
        }
    };
    // Nothing to map, and no pointers to exchange.
    if items.list.is_empty() && !device.native {
        launch(0);
        return true;
    }
    let map = |s: &mut State| {
        s.table.begin_directive();
        let mapped = map_and_tell(s, backend, items, For::Target);
        if device.native {
            declare_target::region_begins(s, backend);
        }
        mapped
    };
    let Some(mapped) = device.with(map) else { return false };
    launch(mapped.args);
    device.with(|s| {
        if device.native {
            declare_target::region_ends(s, backend);
        }
        mapped.unmap(s, backend, true, None);
    });
    true
}

/// A data construct begins.
pub fn begin_data(task: usize, device: Option<&'static Device>, items: &Items, purpose: For) {
    let map = |d: &'static Device| {
        d.with(|s| {
            s.table.begin_directive();
            map_and_tell(s, d.backend.as_ref(), items, purpose)
        })
    };
    let mapped = device.and_then(|d| map(d).map(|m| (d, m)));
    INSIDE.with(|all| all.entry(task).or_default().push(mapped));
}

/// The device of the innermost data construct of the task, if it is not the host.
pub fn inside(task: usize) -> Option<&'static Device> {
    INSIDE.with(|all| Some(all.get(&task)?.last()?.as_ref()?.0))
}

/// The innermost data construct of the task ends.
pub fn end_data(task: usize) {
    let last = INSIDE.with(|all| {
        let stack = all.get_mut(&task)?;
        let last = stack.pop();
        if stack.is_empty() {
            all.remove(&task);
        }
        last
    });
    if let Some(Some((device, mapped))) = last {
        device.with(|s| mapped.unmap(s, device.backend.as_ref(), true, None));
    }
}

/// Data come to stay.
pub fn enter_data(device: &'static Device, items: &Items) {
    let backend = device.backend.as_ref();
    device.with(|s| {
        // However many items of the directive lie in a range: it has one user more.
        s.table.begin_directive();
        let mut i = 0;
        while i < items.list.len() {
            let n = items.group(i);
            let part = (n < items.list.len()).then(|| items.part(i, n));
            let mapped = map_and_tell(s, backend, part.as_ref().unwrap_or(items), For::Data);
            mapped.keep(s, backend);
            i += n;
        }
    });
}

fn may_be_empty(item: &Item) -> bool {
    matches!(item.kind, ZERO_LEN | DELETE_ZERO_LEN)
}

/// The range that an item of `exit data` is about, if it is there.
fn leaves(table: &Table, item: &Item) -> Option<Id> {
    let here =
        if may_be_empty(item) { table.holding(item.addr) } else { table.find(item.addr, item.bytes()) };
    here.filter(|_| item.addr != 0)
}

/// Data leave.
pub fn exit_data(device: &'static Device, items: &Items) {
    let backend = device.backend.as_ref();
    device.with(|s| {
        for item in &items.list {
            check(item.kind);
            if matches!(item.kind, DETACH | FORCE_DETACH)
                && let Some(at) =
                    attached_pointers::detach(&mut s.table, item.addr, item.kind == FORCE_DETACH)
            {
                attached_pointers::restore(backend, at, item.addr, None);
            }
        }
        let leaving = |item: &Item| construct_mappings::mapping(&s.table, item, leaves(&s.table, item)?);
        observed_device::mapped(items.list.iter().filter_map(leaving));
        s.table.begin_directive();
        let mut held = SmallVec::<[(Id, u64); 2]>::with_capacity(items.list.len());
        let mut copies = Copies::new(&mut s.table, 0);
        for item in &items.list {
            let empty = may_be_empty(item);
            match item.kind {
                DETACH | FORCE_DETACH | ALWAYS_POINTER | ATTACH | ATTACH_ZERO_LEN => continue,
                k if is_structure(k) => continue,
                k if is_data(k) || is_pointer(k) || empty || matches!(k, DELETE | RELEASE | TO_PSET) => {}
                k => fail(format_args!("map kind {k:#x} has no meaning where data leave the device")),
            }
            if item.addr == 0 {
                continue;
            }
            let Some(id) = leaves(&s.table, item) else {
                if must_be_there(item.kind) {
                    map::not_there(item);
                }
                continue;
            };
            let all = matches!(item.kind, DELETE | DELETE_ZERO_LEN);
            let counted = s.table.counted(id);
            let n = if all { u64::MAX } else { 1 };
            if s.table.hold_once(counted) {
                held.push((counted, n));
            } else if let Some(before) = held.iter_mut().find(|h| all && h.0 == counted) {
                before.1 = n;
            }
            let last = s.table.count(id) == 1;
            if always_from(item.kind) || (copies_from(item.kind) && last) {
                copies.add(&s.table, id, (item.addr, item.size), For::Data);
            }
        }
        copies.run(&mut s.table, backend, None);
        for (id, n) in held {
            construct_mappings::release(backend, &mut s.table, id, n, None);
        }
    });
}

/// Data move, nothing else changes. What is not there is left out, but for OpenACC's update without
/// if_present and OpenMP's with `present`.
pub fn update(device: &'static Device, items: &Items, purpose: For, queue: Queue) {
    let backend = device.backend.as_ref();
    device.with(|s| {
        let mut copies = Copies::new(&mut s.table, 0);
        for item in &items.list {
            check(item.kind);
            let (to, from) = (copies_to(item.kind), copies_from(item.kind));
            if !(to || from) || item.addr == 0 || item.size == 0 {
                continue;
            }
            let Some(id) = s.table.find(item.addr, item.size) else {
                if must_be_there(item.kind) {
                    map::not_there(item);
                }
                if purpose == For::Acc && forced(item.kind) {
                    fail(format_args!(
                        "update: [{:#x}..{:#x}) is not mapped",
                        item.addr,
                        item.addr + item.size
                    ));
                }
                continue;
            };
            let Some(entry) = s.table.get(id) else { continue };
            let key = entry.key;
            if item.addr < key.0 || item.addr + item.size > key.1 {
                fail(format_args!(
                    "[{:#x}..{:#x}) is to be updated, but only [{:#x}..{:#x}) of it is mapped",
                    item.addr,
                    item.addr + item.size,
                    key.0,
                    key.1
                ));
            }
            if to {
                construct_mappings::send(backend, entry, item.addr, item.size, queue);
            }
            if from {
                copies.add(&s.table, id, (item.addr, item.size), purpose);
            }
        }
        copies.run(&mut s.table, backend, queue);
    });
}
