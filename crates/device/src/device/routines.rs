//! The memory routines of OpenMP (section 3.8) over devices; the host is one, with the highest number.

use super::backend::{Backend, Direction};
use super::fetch::Copies;
use super::host_device::Host;
use super::present::FOR_EVER;
use super::{Device, all, construct_mappings, map, numbered};
use crate::icv::{DEFAULT_DEVICE, INITIAL_DEVICE};
use crate::team::thread::current;

/// Where an address of a routine's argument lies.
#[derive(Clone, Copy)]
pub enum Side {
    /// The host.
    Host,
    /// A device beside it.
    Device(&'static Device),
}

/// The number's device; `None` if there is none of it.
pub fn side(number: i32) -> Option<Side> {
    let number = match number {
        DEFAULT_DEVICE => super::default_of(&current().task().icvs.get()),
        n => n,
    };
    if number == all().len() as i32 || number == INITIAL_DEVICE {
        return Some(Side::Host);
    }
    numbered(number).filter(|d| d.with(|_| ()).is_some()).map(Side::Device)
}

impl Side {
    /// What it is.
    pub(crate) fn backend(&self) -> &'static dyn Backend {
        match self {
            Side::Host => &Host,
            Side::Device(d) => d.backend.as_ref(),
        }
    }
    fn shared(&self) -> bool {
        self.backend().properties().shared_memory
    }
}

/// omp_target_alloc.
pub fn alloc(bytes: usize, number: i32) -> usize {
    match side(number) {
        // As malloc(0) does.
        Some(Side::Host) => Host.alloc(bytes.max(1)).unwrap_or(0),
        Some(s) if bytes > 0 => s.backend().alloc(bytes).unwrap_or(0),
        _ => 0,
    }
}

/// omp_target_free.
pub fn free(at: usize, number: i32) {
    if at == 0 {
        return;
    }
    match side(number) {
        Some(s) if s.backend().free(at) => {}
        Some(_) => super::fail(format_args!("omp_target_free: {at:#x} is not memory of device {number}")),
        None => {}
    }
}

/// omp_target_is_present.
pub fn is_present(addr: usize, number: i32) -> bool {
    match side(number) {
        Some(Side::Host) => addr != 0,
        Some(Side::Device(d)) => d.with(|s| s.table.holding(addr).is_some()).unwrap_or(false),
        None => false,
    }
}

/// omp_get_mapped_ptr.
pub fn mapped(addr: usize, number: i32) -> usize {
    if let Some(Side::Device(d)) = side(number) {
        d.backend.handed_out();
    }
    match side(number) {
        Some(Side::Host) => addr,
        Some(Side::Device(d)) => {
            d.with(|s| s.table.holding(addr).map(|k| s.table.translate(k, addr))).flatten().unwrap_or(0)
        }
        None => 0,
    }
}

/// omp_target_associate_ptr.
pub fn associate(host: usize, device: usize, bytes: usize, offset: usize, number: i32) -> bool {
    let Some(Side::Device(d)) = side(number) else { return false };
    if d.backend.properties().shared_memory {
        return false;
    }
    d.with(|s| {
        if let Some(id) = s.table.find(host, bytes) {
            // The same once more is no error.
            let key = s.table.key(id);
            return key.0 <= host
                && host + bytes <= key.1
                && s.table.translate(id, host) == device + offset
                && s.table.count(id) == FOR_EVER;
        }
        s.table.insert_for_ever((host, host + bytes), device + offset);
        true
    })
    .unwrap_or(false)
}

/// omp_target_disassociate_ptr.
pub fn disassociate(host: usize, number: i32) -> bool {
    let Some(Side::Device(d)) = side(number) else { return false };
    d.with(|s| match s.table.holding(host) {
        Some(id) if s.table.key(id).0 == host && s.table.count(id) == FOR_EVER => {
            let _ = s.table.remove(id);
            true
        }
        _ => false,
    })
    .unwrap_or(false)
}

/// The way between two sides, and whose it is: `None` where it goes by way of the host.
fn way(to: Side, from: Side) -> Option<(&'static dyn Backend, Direction)> {
    Some(match (to.shared(), from.shared()) {
        (true, true) => (&Host, Direction::Within),
        (false, true) => (to.backend(), Direction::In),
        (true, false) => (from.backend(), Direction::Out),
        (false, false) => {
            let (Side::Device(a), Side::Device(b)) = (to, from) else { return None };
            if a.number != b.number {
                return None;
            }
            (a.backend.as_ref(), Direction::Within)
        }
    })
}

/// Copies rows of `bytes` bytes between two sides.
pub fn copy(to: Side, from: Side, rows: &[(usize, usize)], bytes: usize) -> bool {
    if let Some((backend, direction)) = way(to, from) {
        return backend.copy_rows(direction, rows, bytes);
    }
    let mut buffer = vec![0u8; bytes];
    let between = buffer.as_mut_ptr() as usize;
    rows.iter().all(|&(t, f)| {
        from.backend().copy_out(between, f, bytes, None) && to.backend().copy_in(t, between, bytes, None)
    })
}

/// omp_pause_resource on a device: forgets nothing that is in use.
pub fn pause(number: i32) -> bool {
    side(number).is_some()
}

/// OpenACC's acc_map_data: memory of the program's own on both sides.
pub fn acc_map(d: &'static Device, host: usize, device: usize, bytes: usize) -> Result<(), String> {
    d.with(|s| {
        if host == 0 || device == 0 || bytes == 0 {
            return Err(format!("[{host:#x},+{bytes}]->[{device:#x},+{bytes}] is a bad map"));
        }
        if s.table.find(host, bytes).is_some() {
            return Err(format!("host address [{host:#x}, +{bytes}] is already mapped"));
        }
        if s.table.host(device).is_some() {
            return Err(format!("device address [{device:#x}, +{bytes}] is already mapped"));
        }
        s.table.insert_for_ever((host, host + bytes), device);
        Ok(())
    })
    .unwrap_or(Ok(()))
}

/// OpenACC's exit data for one range: `finally` takes all dynamic references away, `copy` brings the data
/// back with the last.
pub fn acc_leave(
    d: &'static Device,
    addr: usize,
    bytes: usize,
    copy: bool,
    finally: bool,
    queue: Option<i32>,
) -> bool {
    let backend = d.backend.as_ref();
    d.with(|s| {
        // Nothing leaves where there is nothing.
        let Some(id) = s.table.find(addr, bytes).filter(|_| bytes > 0) else { return false };
        let count = s.table.count(id);
        let Some(e) = s.table.get_mut(id) else { return false };
        if count != FOR_EVER {
            let n = if finally { e.dynamic } else { e.dynamic.min(1) };
            e.dynamic -= n;
            let last = count == n && n > 0;
            if last && copy {
                let mut copies = Copies::new(&mut s.table, 1);
                copies.add(&s.table, id, (addr, bytes), map::For::Acc);
                copies.run(&mut s.table, backend, queue);
            }
            if n > 0 {
                construct_mappings::release(backend, &mut s.table, id, n, queue);
            }
        }
        true
    })
    .unwrap_or(true)
}
