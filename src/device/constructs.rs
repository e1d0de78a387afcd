//! target, target data, enter and exit data, update, over a device's present table.

use super::backend::{Launch, Queue};
use super::items::Items;
use super::kinds::*;
use super::map::{self, Mapped};
use super::{Device, fail};
use crate::sys::lock::Locked;
use std::collections::BTreeMap;

/// Data constructs that tasks are in: by the task, innermost last. `None`: the host's.
static INSIDE: Locked<BTreeMap<usize, Vec<Data>>> = Locked::new(BTreeMap::new());

type Data = Option<(&'static Device, Mapped)>;

/// A target region on `device`; false if the device has no version of the function, and nothing was done.
pub fn target(device: &'static Device, func: usize, items: &Items, args: *const usize, limit: u32) -> bool {
    let Some(func) = device.function(func) else { return false };
    let backend = device.backend.as_ref();
    let Some(mapped) = device.with(|s| map::map(s, backend, items, true, None)) else { return false };
    let launch =
        Launch { func, block: mapped.args, args, dims: None, count: 0, hosts: core::ptr::null(), limit };
    if !backend.launch(&launch, None) {
        fail(format_args!("a kernel failed on device {}", device.number));
    }
    device.with(|s| mapped.unmap(s, backend, true, None));
    true
}

/// A data construct begins.
pub fn begin_data(task: usize, device: Option<&'static Device>, items: &Items, queue: Queue) {
    let mapped =
        device.and_then(|d| d.with(|s| map::map(s, d.backend.as_ref(), items, false, queue)).map(|m| (d, m)));
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
        let mut i = 0;
        while i < items.list.len() {
            let n = items.group(i);
            map::map(s, backend, &items.part(i, n), false, None).keep(s, backend);
            i += n;
        }
    });
}

/// Data leave.
pub fn exit_data(device: &'static Device, items: &Items) {
    let backend = device.backend.as_ref();
    device.with(|s| {
        for item in &items.list {
            check(item.kind);
            if matches!(item.kind, DETACH | FORCE_DETACH)
                && let Some(at) = map::detach(&mut s.table, item.addr, item.kind == FORCE_DETACH)
            {
                map::restore_pointer(backend, at, item.addr, None);
            }
        }
        let mut held = Vec::new();
        for item in &items.list {
            let empty = matches!(item.kind, ZERO_LEN | DELETE_ZERO_LEN);
            match item.kind {
                DETACH | FORCE_DETACH | ALWAYS_POINTER | ATTACH | ATTACH_ZERO_LEN => continue,
                k if is_structure(k) => continue,
                k if is_data(k) || is_pointer(k) || empty || matches!(k, DELETE | RELEASE | TO_PSET) => {}
                k => fail(format_args!("map kind {k:#x} has no meaning where data leave the device")),
            }
            if item.addr == 0 {
                continue;
            }
            let Some(key) = s.table.find(item.addr, if empty { 0 } else { item.bytes() }) else {
                if must_be_there(item.kind) {
                    map::not_there(item);
                }
                continue;
            };
            let all = matches!(item.kind, DELETE | DELETE_ZERO_LEN);
            match held.iter_mut().find(|(k, _)| *k == key) {
                Some((_, n)) => *n = if all { u64::MAX } else { *n },
                None => held.push((key, if all { u64::MAX } else { 1 })),
            }
            let last = s.table.get(key).is_some_and(|e| e.count == 1);
            if always_from(item.kind) || (copies_from(item.kind) && last) {
                map::fetch(backend, &s.table, key, item.addr, item.size, None);
            }
        }
        for (key, n) in held {
            map::release(backend, &mut s.table, key, n, None);
        }
    });
}

/// Data move, nothing else changes. What is not there is left out, but for OpenACC's update without
/// if_present (`all`) and OpenMP's with `present`.
pub fn update(device: &'static Device, items: &Items, queue: Queue, all: bool) {
    let backend = device.backend.as_ref();
    device.with(|s| {
        for item in &items.list {
            check(item.kind);
            let (to, from) = (copies_to(item.kind), copies_from(item.kind));
            if !(to || from) || item.addr == 0 || item.size == 0 {
                continue;
            }
            let Some(key) = s.table.find(item.addr, item.size) else {
                if must_be_there(item.kind) {
                    map::not_there(item);
                }
                if all && forced(item.kind) {
                    fail(format_args!(
                        "update: [{:#x}..{:#x}) is not mapped",
                        item.addr,
                        item.addr + item.size
                    ));
                }
                continue;
            };
            if item.addr < key.0 || item.addr + item.size > key.1 {
                fail(format_args!(
                    "[{:#x}..{:#x}) is to be updated, but only [{:#x}..{:#x}) of it is mapped",
                    item.addr,
                    item.addr + item.size,
                    key.0,
                    key.1
                ));
            }
            let at = s.table.translate(key, item.addr);
            if to && !backend.copy_in(at, item.addr, item.size, queue) {
                fail(format_args!("{} bytes could not be copied to the device", item.size));
            }
            if from {
                map::fetch(backend, &s.table, key, item.addr, item.size, queue);
            }
            // An update brings the host's pointers along: those that are attached stay the device's.
            if to {
                map::attach_again(backend, &s.table, key, item.addr, item.size);
            }
        }
    });
}
