//! Binding hosts to places.

use super::member::Member;
use super::thread::Thread;
use crate::icv::places::{ProcBind, assign};
use crate::icv::{Globals, globals};

/// Binds the host under `thr` to place `place` if it is not there already.
pub(crate) fn bind_host(thr: &Thread, place: u32) {
    if place == u32::MAX || thr.home.bound.get() == place {
        return;
    }
    move_host(thr, place);
}

#[cold]
#[inline(never)]
fn move_host(thr: &Thread, place: u32) {
    let Some(p) = globals().places.get(place as usize) else { return };
    crate::sys::retired_cpus::binds();
    crate::sys::syscall::CpuSet::of(p).apply(0);
    thr.home.bound.set(place);
}

/// The place triple (offset, length, place) of member `num` of `size` under policy `bind`, given the primary's triple.
pub(crate) fn place_of(
    g: &Globals,
    bind: ProcBind,
    num: u32,
    size: u32,
    primary: (u32, u32, u32),
) -> (u32, u32, u32) {
    if g.places.is_empty() || bind == ProcBind::False {
        return primary;
    }
    let (off, len, at) = primary;
    let at = if at == u32::MAX { off } else { at };
    let (p, o, l) = assign(bind, num, size, at, off, len);
    (o, l, p)
}

/// The triple a thread starts with: all places, on the first one.
pub(crate) fn initial(g: &Globals) -> (u32, u32, u32) {
    if g.places.is_empty() { (0, 0, u32::MAX) } else { (0, g.places.len() as u32, 0) }
}

/// Binds the calling member's host to its place.
pub(crate) fn follow(thr: &Thread, m: &Member) {
    bind_host(thr, m.place.get().2);
}
