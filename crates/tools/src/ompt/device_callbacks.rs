//! Devices: what happens on them, as the tool's callbacks have it. Where the tool has registered the callback
//! of 5.1 (`_emi`) it is called, and not the older one. There is no tracing on devices.

use super::abi::{self, call, scope};
use super::points;
use super::tell::Me;
use crate::icv::INITIAL_DEVICE;
use crate::observe::event::{DataOp, Mapping, Moved, Target};
use core::ptr::{null, null_mut};

/// The numbers of callbacks that take the older ones' places.
const TARGET_EMI: usize = 33;
const DATA_EMI: usize = 34;
const SUBMIT_EMI: usize = 35;
const MAP_EMI: usize = 36;
/// What is not known of an image (`ompt_addr_none`).
const UNKNOWN: usize = usize::MAX;

fn kind_of(t: Target) -> u32 {
    match t {
        Target::Region => 1,
        Target::Enter => 2,
        Target::Exit => 3,
        Target::Update => 4,
    }
}

fn kind_of_operation(op: DataOp) -> u32 {
    match op {
        DataOp::Alloc => 1,
        DataOp::In => 2,
        DataOp::Out => 3,
        DataOp::Free => 4,
    }
}

/// The number that tools know a device by: the host's is behind all others.
fn number(device: i32) -> i32 {
    if device == INITIAL_DEVICE { points::host() } else { device }
}

fn end_of(end: bool) -> u32 {
    if end { scope::END } else { scope::BEGIN }
}

impl Me {
    pub(super) fn device_begins(self, device: i32, name: &str) {
        let mut text = [0u8; 32];
        let n = name.len().min(text.len() - 1);
        text[..n].copy_from_slice(&name.as_bytes()[..n]);
        // No functions to look up: there is no tracing.
        self.calls(|_| call::device_initialize(device, text.as_ptr().cast(), 0, 0, null()));
    }

    pub(super) fn device_ends(self, device: i32) {
        self.calls(|_| call::device_finalize(device));
    }

    /// An image is in the program's memory, and was in no file of its own; where the device has it only the
    /// device knows.
    pub(super) fn image_is_loaded(self, device: i32, image: usize) {
        self.calls(|_| call::device_load(device, null(), -1, UNKNOWN, 0, image, UNKNOWN, image as u64));
    }

    pub(super) fn target_maps(self, mapped: &[Mapping]) {
        let of = |f: fn(&Mapping) -> usize| mapped.iter().map(f).collect::<Vec<_>>();
        let (host, device, bytes) = (of(|m| m.host), of(|m| m.device), of(|m| m.bytes));
        let how: Vec<u32> = mapped.iter().map(|m| m.how).collect();
        let n = mapped.len() as u32;
        let (host, device, bytes, how) = (host.as_ptr(), device.as_ptr(), bytes.as_ptr(), how.as_ptr());
        let (id, data) = (self.info.target.id.get(), self.target_data());
        if abi::get(MAP_EMI) != 0 {
            self.calls(|site| call::target_map_emi(data, n, host, device, bytes, how, site));
        } else {
            self.calls(|site| call::target_map(id, n, host, device, bytes, how, site));
        }
    }

    pub(super) fn target_begins(self, target: Target, device: i32) {
        let t = &self.info.target;
        t.depth.set(t.depth.get() + 1);
        if t.depth.get() == 1 {
            t.data.clear();
            t.id.set(points::unique_id());
            t.device.set(number(device));
            self.tell_target(target, scope::BEGIN);
        }
    }

    pub(super) fn target_ends(self, target: Target) {
        let t = &self.info.target;
        if t.depth.get() == 1 {
            self.tell_target(target, scope::END);
            t.id.set(0);
        }
        t.depth.set(t.depth.get().saturating_sub(1));
    }

    fn tell_target(self, target: Target, endpoint: u32) {
        let (t, (_, task)) = (&self.info.target, self.words());
        let (kind, device, id, data) = (kind_of(target), t.device.get(), t.id.get(), t.data.ptr());
        if abi::get(TARGET_EMI) != 0 {
            self.calls(|site| call::target_emi(kind, endpoint, device, task, null_mut(), data, site));
        } else {
            self.calls(|site| call::target(kind, endpoint, device, task, id, site));
        }
    }

    /// The construct that an operation is part of: the tool's word of it, null outside of one.
    fn target_data(self) -> *mut u64 {
        let t = &self.info.target;
        if t.depth.get() > 0 { t.data.ptr() } else { null_mut() }
    }

    pub(super) fn target_moves(self, end: bool, op: DataOp, m: Moved) {
        let (t, data) = (&self.info.target, self.target_data());
        let op = kind_of_operation(op);
        let (from, from_device) = (m.from.0, number(m.from.1));
        let (to, to_device) = (m.to.0, number(m.to.1));
        if !end {
            t.operation.clear();
        }
        if abi::get(DATA_EMI) != 0 {
            let (endpoint, id) = (end_of(end), t.operation.ptr());
            self.calls(|site| {
                call::target_data_op_emi(
                    endpoint,
                    null_mut(),
                    data,
                    id,
                    op,
                    from,
                    from_device,
                    to,
                    to_device,
                    m.bytes,
                    site,
                );
            });
        } else if end {
            let (target, id) = (t.id.get(), points::unique_id());
            self.calls(|site| {
                call::target_data_op(target, id, op, from, from_device, to, to_device, m.bytes, site);
            });
        }
    }

    pub(super) fn target_is_submitted(self, end: bool, teams: u32) {
        let (t, data) = (&self.info.target, self.target_data());
        if !end {
            t.operation.clear();
        }
        if abi::get(SUBMIT_EMI) != 0 {
            let id = t.operation.ptr();
            self.calls(|_| call::target_submit_emi(end_of(end), data, id, teams));
        } else if !end {
            let (target, id) = (t.id.get(), points::unique_id());
            self.calls(|_| call::target_submit(target, id, teams));
        }
    }
}
