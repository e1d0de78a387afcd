//! OpenACC over devices: compute constructs with their queues, data that come to stay and leave with
//! dynamic references, the routines. The state that OpenACC itself has (device type, profiling) is in acc/.

use super::backend::{Launch, Queue};
use super::constructs;
use super::items::{Item, Items};
use super::kinds::{self, *};
use super::present::{FOR_EVER, Key};
use super::{Device, State, all, attached_pointers, declare_target, fail, map, routines};
use crate::acc;
use crate::acc::profiling_interface::{ENTER_DATA, EXIT_DATA, Event, LAUNCH, Launched, api};
use crate::sys::maps;
use std::ffi::CString;

/// acc_async_noval: the default queue.
const NO_VALUE: i32 = -1;

/// How many devices of an OpenACC type there are beside the host.
pub fn count(acc_type: i32) -> i32 {
    of_type(acc_type).count() as i32
}

fn of_type(acc_type: i32) -> impl Iterator<Item = &'static Device> {
    all().iter().filter(move |d| {
        let p = d.backend.properties();
        p.openacc && p.acc_type == acc_type
    })
}

/// The device in use; `None` is the host.
pub fn current() -> Option<&'static Device> {
    let (acc_type, number) = acc::in_use();
    if acc_type == acc::HOST { None } else { of_type(acc_type).nth(number as usize) }
}

/// An async argument as a queue.
pub fn queue(n: i32) -> Queue {
    match n {
        acc::SYNC => None,
        NO_VALUE => Some(0),
        n => Some(n),
    }
}

/// The launch arguments of a compute construct.
pub struct Arguments {
    dims: [u32; 3],
    /// async.
    pub queue: i32,
    waits: Vec<i32>,
    all: bool,
}

impl Arguments {
    /// Reads them.
    ///
    /// # Safety
    /// `list` is the compiler's, of words, ended by 0.
    pub unsafe fn read(mut list: *const usize) -> Self {
        const DIMENSIONS: u32 = 1;
        const ASYNC: u32 = 2;
        const WAIT: u32 = 3;
        const IN_NEXT: u32 = 0xffff;
        let mut a = Self { dims: [0; 3], queue: acc::SYNC, waits: Vec::new(), all: false };
        let mut next = || {
            // SAFETY: by the caller's promise.
            unsafe {
                list = list.add(1);
                *list.sub(1) as u32
            }
        };
        loop {
            let tag = next();
            let op = tag & 0xffff;
            match tag >> 28 {
                0 if tag == 0 => return a,
                DIMENSIONS => (0..3).filter(|i| op >> i & 1 == 1).for_each(|i| a.dims[i] = next()),
                ASYNC => a.queue = if op == IN_NEXT { next() as i32 } else { i32::from(op as i16) },
                WAIT if op as i16 == -1 => a.all = true,
                WAIT => a.waits = (0..op).map(|_| next() as i32).collect(),
                code => fail(format_args!("launch argument {code} is not known")),
            }
        }
    }

    /// What the construct waits for before it begins.
    pub(crate) fn wait(&self, d: &Device) {
        wait_for(d, &self.waits, self.all, queue(self.queue));
    }
}

/// Waits for queues, in a queue or here.
pub fn wait_for(d: &Device, waits: &[i32], everything: bool, queue: Queue) {
    let b = d.backend.as_ref();
    let done = if everything {
        b.wait(None)
    } else {
        waits.iter().all(|&w| match (queue, self::queue(w)) {
            (Some(q), Some(w)) if q != w => b.wait_in(q, w),
            (Some(_), Some(_)) => true,
            (_, w) => b.wait(w),
        })
    };
    if !done {
        fail(format_args!("a queue of device {} has failed", d.number));
    }
}

/// Does for a construct what `body` says; meanwhile a plugin tells tools of what it does, and says how its
/// device is programmed.
pub fn telling<R>(d: &Device, e: &mut Event, body: impl FnOnce() -> R) -> R {
    let Some(mut heard) = e.heard() else { return body() };
    d.backend.tell_tools(Some(&mut heard));
    let r = body();
    d.backend.tell_tools(None);
    e.api = if d.backend.properties().native { api::OTHER } else { heard.api.device_api };
    r
}

/// ... if there is a device at all.
pub fn telling_if<R>(d: Option<&Device>, e: &mut Event, body: impl FnOnce() -> R) -> R {
    match d {
        Some(d) => telling(d, e, body),
        None => body(),
    }
}

/// A compute construct; false if the device has no version of the function.
pub fn compute(d: &'static Device, func: usize, items: &Items, a: &Arguments, e: &mut Event) -> bool {
    let host = func;
    let Some(func) = d.function(func) else { return false };
    let (b, queue) = (d.backend.as_ref(), queue(a.queue));
    e.queue = a.queue;
    telling(d, e, || a.wait(d));
    let mut parts = Event { implicit: true, ..*e };
    let map = |s: &mut State| {
        s.table.begin_directive();
        let mapped = map::map(s, b, items, map::For::Acc, queue);
        declare_target::region_begins(s, b);
        mapped
    };
    let mapped = parts.around(ENTER_DATA, |p| telling(d, p, || d.with(map)));
    let Some(mapped) = mapped else { return false };
    let (block, count) = (mapped.values.as_ptr() as usize, mapped.values.len());
    let dims = Some(a.dims);
    let l = Launch { func, block, args: core::ptr::null(), dims, count, hosts: items.addrs, limit: 0 };
    if !launch(d, &l, queue, host, &mut parts) {
        fail(format_args!("a kernel failed on device {}", d.number));
    }
    let unmap = |s: &mut State| {
        declare_target::region_ends(s, b);
        // What only this construct has mapped goes when its kernel has ended.
        if queue.is_some() && mapped.has_memory(s) && !b.wait(queue) {
            fail(format_args!("a queue of device {} has failed", d.number));
        }
        mapped.unmap(s, b, true, None);
    };
    parts.around(EXIT_DATA, |p| telling(d, p, || d.with(unmap)));
    e.api = parts.api;
    true
}

/// Launches a kernel, and tells of it where no plugin does.
fn launch(d: &Device, l: &Launch, queue: Queue, host: usize, e: &mut Event) -> bool {
    let b = d.backend.as_ref();
    if !b.properties().native || e.heard().is_none() {
        return telling(d, e, || b.launch(l, queue));
    }
    let name = maps::function_name(host).and_then(|n| CString::new(n).ok()).unwrap_or_default();
    // What the compiler leaves open is one here.
    let dims = l.dims.unwrap_or_default().map(|n| n.max(1) as usize);
    Event { launched: Some(Launched { name: &name, dims }), ..*e }.around(LAUNCH, |_| b.launch(l, queue))
}

/// enter data.
pub fn enter(d: &'static Device, items: &Items, queue: Queue) {
    let b = d.backend.as_ref();
    d.with(|s| {
        let mut i = 0;
        while i < items.list.len() {
            let n = items.group(i);
            s.table.begin_directive();
            let mapped = map::map(s, b, &items.part(i, n), map::For::Acc, queue);
            for &(id, _) in mapped.held() {
                if let Some(e) = s.table.get_mut(id) {
                    e.dynamic += 1;
                }
            }
            mapped.keep(s, b);
            i += n;
        }
    });
}

/// exit data.
pub fn exit(d: &'static Device, items: &Items, queue: Queue) {
    for item in &items.list {
        kinds::check(item.kind);
        if matches!(item.kind, DETACH | FORCE_DETACH) {
            detach(d, item.addr, item.kind == FORCE_DETACH, queue);
        }
    }
    const FORCE_FROM: u8 = 0x82;
    for item in &items.list {
        let finally = matches!(item.kind, FORCE_FROM | DELETE | DELETE_ZERO_LEN);
        match item.kind {
            DETACH | FORCE_DETACH | ATTACH | ATTACH_ZERO_LEN | ALWAYS_POINTER => {}
            k if is_structure(k) => {}
            _ if item.addr == 0 => {}
            k => {
                routines::acc_leave(d, item.addr, item.bytes(), copies_from(k), finally, queue);
            }
        }
    }
}

/// declare: data of a routine or of the program come and go.
pub fn declare(d: &'static Device, items: &Items) {
    for i in 0..items.list.len() {
        let item = items.list[i];
        let one = items.part(i, 1);
        match item.kind {
            k if copies_from(k) && !copies_to(k) => exit(d, &one, None),
            DELETE | RELEASE => exit(d, &one, None),
            FORCE_PRESENT if !is_present(d, item.addr, item.size) => fail(format_args!(
                "declare present: [{:#x}..{:#x}) is not mapped",
                item.addr,
                item.addr + item.size
            )),
            k if is_data(k) => {
                let there = d.with(|s| s.table.find(item.addr, item.size).is_some());
                if there != Some(true) {
                    enter(d, &one, None);
                }
            }
            _ => {}
        }
    }
}

/// update.
pub fn update(d: &'static Device, items: &Items, queue: Queue) {
    constructs::update(d, items, map::For::Acc, queue);
}

fn single(addr: usize, size: usize, kind: u8) -> Items {
    Items {
        addrs: core::ptr::null_mut(),
        slots: Vec::new(),
        list: smallvec::smallvec![Item { addr, size, kind, align: 8 }],
    }
}

/// acc_copyin and acc_create: the address on the device.
pub fn bring(d: &'static Device, addr: usize, bytes: usize, copy: bool, queue: Queue) -> usize {
    enter(d, &single(addr, bytes, u8::from(copy)), queue);
    pointer(d, addr)
}

/// acc_deviceptr.
pub fn pointer(d: &'static Device, addr: usize) -> usize {
    d.backend.handed_out();
    d.with(|s| s.table.find(addr, 0).map_or(0, |k| s.table.translate(k, addr))).unwrap_or(0)
}

/// acc_hostptr.
pub fn host(d: &'static Device, at: usize) -> usize {
    d.with(|s| s.table.host(at).unwrap_or(0)).unwrap_or(0)
}

/// acc_is_present.
pub fn is_present(d: &'static Device, addr: usize, bytes: usize) -> bool {
    let whole = |key: Key| key.0 <= addr && addr + bytes <= key.1;
    d.with(|s| s.table.find(addr, bytes).is_some_and(|id| whole(s.table.key(id)))).unwrap_or(false)
}

/// acc_update_device and acc_update_self; false if the data are not there.
pub fn move_data(d: &'static Device, addr: usize, bytes: usize, to: bool, queue: Queue) -> bool {
    let there = is_present(d, addr, bytes);
    if there {
        constructs::update(d, &single(addr, bytes, if to { 1 } else { 2 }), map::For::Acc, queue);
    }
    there
}

/// acc_unmap_data: of what acc_map_data has mapped, from its beginning. The error says what is wrong.
pub fn unmap(d: &'static Device, addr: usize) -> Result<(), String> {
    let remove = |s: &mut State| {
        let Some(id) = s.table.holding(addr) else { return Err(format!("{addr:#x} is not a mapped block")) };
        let key = s.table.key(id);
        if key.0 != addr {
            return Err(format!("[{:#x},+{}] surrounds {addr:#x}", key.0, key.1 - key.0));
        }
        if s.table.count(id) != FOR_EVER {
            return Err(format!("the block at {addr:#x} was not mapped by acc_map_data"));
        }
        let _ = s.table.remove(id);
        Ok(())
    };
    d.with(remove).unwrap_or(Ok(()))
}

/// acc_attach.
pub fn attach(d: &'static Device, addr: usize) {
    let b = d.backend.as_ref();
    let item = Item { addr, size: 0, kind: ATTACH, align: 8 };
    d.with(|s| {
        if let Some((at, Some(to))) = attached_pointers::attach(&mut s.table, &item, false) {
            attached_pointers::restore(b, at, (&raw const to) as usize, None);
        }
    });
}

/// acc_detach.
pub fn detach(d: &'static Device, addr: usize, finally: bool, queue: Queue) {
    d.with(|s| {
        if let Some(at) = attached_pointers::detach(&mut s.table, addr, finally) {
            attached_pointers::restore(d.backend.as_ref(), at, addr, queue);
        }
    });
}
