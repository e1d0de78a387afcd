//! Device constructs on a machine whose only device is the host: target regions run in the encountering thread, as a new initial
//! task; data constructs have nothing to move; the memory routines work on host memory.

use super::omp::export;
use crate::complain;
use crate::fault::save::{self, SaveKind};
use crate::icv::globals;
use crate::stub;
use crate::sys::syscall::exit_group;
use crate::task::{depend, included, spawn};
use crate::team::thread::{Thread, current};
use crate::team::{pool, region};

/// Map kinds with a meaning on the host (low byte; the log of the alignment is in the high one).
const FIRSTPRIVATE: u16 = 12;

/// OMP_TARGET_OFFLOAD=mandatory forbids the host where a device was asked for that does not exist.
fn check_offload(thr: &'static Thread, device: i32) {
    const DEFAULT: i32 = -1;
    let device = if device == DEFAULT { thr.task().icvs.get().default_device } else { device };
    if globals().target_offload == 1 && device > 0 {
        complain!("OMP_TARGET_OFFLOAD is set to MANDATORY, but device is not available");
        exit_group(1);
    }
}

/// Runs `call` as the initial task of an initial team of its own: the enclosing regions are not visible in it.
fn fallback(thr: &'static Thread, call: (usize, usize), thread_limit: u32) {
    let (member, task, league, held) = (thr.member(), Some(thr.task()), thr.league.get(), thr.held.get());
    let team = pool::take_team(1);
    team.size.set(1);
    team.level.set(0);
    team.active_level.set(0);
    team.primary.parent.set(None);
    let m = team.member(0);
    m.place.set(member.place.get());
    let mut icvs = globals().initial;
    icvs.default_device = thr.task().icvs.get().default_device;
    if thread_limit > 0 {
        icvs.thread_limit = thread_limit;
    }
    region::take_part(thr, m, team.begin_region());
    m.implicit.begin_initial(thr, icvs);
    thr.enter(m);
    included::lighten(thr);
    thr.set_league((0, 1));
    region::activate(thr, call, (0, 0));
    thr.enter(member);
    thr.task.set(task);
    included::lighten(thr);
    thr.set_league(league);
    thr.held.set(held);
    team.size.set(0);
    pool::give_back_team(team);
}

/// The thread_limit among a target construct's launch arguments, 0 if there is none.
///
/// # Safety
/// `args` is null or a list in the compiler's format, ended by 0.
unsafe fn thread_limit(mut args: *const usize) -> u32 {
    const DEVICES: usize = 0x7f;
    const SEPARATE: usize = 1 << 7;
    const WHICH: usize = 0xff00;
    const THREAD_LIMIT: usize = 2 << 8;
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
            if id & DEVICES == 0 && id & WHICH == THREAD_LIMIT {
                return value.clamp(0, i32::MAX as isize) as u32;
            }
        }
    }
    0
}

/// Copies of the firstprivate data: their addresses replace those in `addrs`.
///
/// # Safety
/// The arrays have `n` entries in the compiler's format.
unsafe fn copy_firstprivate(
    n: usize,
    addrs: *mut usize,
    sizes: *const usize,
    kinds: *const u16,
) -> Vec<u128> {
    let mut total = 0usize;
    // SAFETY: by the caller's promise.
    let each = |i: usize| unsafe { (*addrs.add(i), *sizes.add(i), *kinds.add(i)) };
    let place = |total: usize, kind: u16| total.next_multiple_of(1 << (kind >> 8).min(12));
    for i in 0..n {
        let (_, size, kind) = each(i);
        if kind & 0xff == FIRSTPRIVATE && each(i).0 != 0 {
            total = place(total, kind) + size;
        }
    }
    let mut memory = vec![0u128; total.div_ceil(16) + 256];
    // Room for the largest alignment lies in front.
    let base = (memory.as_mut_ptr() as usize).next_multiple_of(4096);
    let mut at = 0usize;
    for i in 0..n {
        let (from, size, kind) = each(i);
        if kind & 0xff == FIRSTPRIVATE && from != 0 {
            at = place(at, kind);
            // SAFETY: `memory` has room for all of them behind `base`.
            unsafe {
                core::ptr::copy_nonoverlapping(from as *const u8, (base + at) as *mut u8, size);
                *addrs.add(i) = base + at;
            }
            at += size;
        }
    }
    memory
}

fn wait_depend(thr: &'static Thread, d: *const usize) {
    if !d.is_null() {
        // SAFETY: the compiler's argument.
        spawn::wait_for(thr, &unsafe { depend::decode(d) });
    }
}

extern "C" fn target(device: i32, func: usize, _unused: usize, _n: usize, addrs: usize, _sizes: usize) {
    let thr = current();
    check_offload(thr, device);
    fallback(thr, (func, addrs), 0);
    save::point(thr, SaveKind::After(0));
}

#[allow(clippy::too_many_arguments)]
extern "C" fn target_ext(
    device: i32,
    func: usize,
    n: usize,
    addrs: *mut usize,
    sizes: *const usize,
    kinds: *const u16,
    _flags: u32,
    depend: *const usize,
    args: *const usize,
) {
    let thr = current();
    check_offload(thr, device);
    wait_depend(thr, depend);
    // SAFETY: the compiler's arguments.
    let (memory, limit) = unsafe { (copy_firstprivate(n, addrs, sizes, kinds), thread_limit(args)) };
    fallback(thr, (func, addrs as usize), limit);
    drop(memory);
    save::point(thr, SaveKind::After(0));
}

extern "C" fn data(device: i32) {
    let thr = current();
    check_offload(thr, device);
    save::point(thr, SaveKind::After(0));
}

extern "C" fn end_data() {
    save::point(current(), SaveKind::After(0));
}

extern "C" fn data_depend(
    device: i32,
    _n: usize,
    _addrs: usize,
    _sizes: usize,
    _kinds: usize,
    _flags: u32,
    depend: *const usize,
) {
    let thr = current();
    check_offload(thr, device);
    wait_depend(thr, depend);
    save::point(thr, SaveKind::After(0));
}

stub! {
    GOMP_target [1] => target;
    GOMP_target_ext [3] => target_ext;
    GOMP_target_data => data;
    GOMP_target_data_ext => data;
    GOMP_target_end_data => end_data;
    GOMP_target_update => data;
    GOMP_target_update_ext [1] => data_depend;
    GOMP_target_enter_exit_data [1] => data_depend;
}

const EINVAL: i32 = libc::EINVAL;

fn is_host(device: i32) -> bool {
    device == 0
}

/// Copies a box out of and into two arrays of `dims` dimensions.
///
/// # Safety
/// The arrays and index lists are as section 3.8.6 describes.
#[allow(clippy::too_many_arguments)]
unsafe fn copy_rect(
    dst: *mut u8,
    src: *const u8,
    elem: usize,
    dims: usize,
    volume: *const usize,
    dst_off: *const usize,
    src_off: *const usize,
    dst_dims: *const usize,
    src_dims: *const usize,
) -> i32 {
    // SAFETY: by the caller's promise; the products are checked.
    unsafe {
        let (mut d_slice, mut s_slice) = (elem, elem);
        for k in 1..dims {
            let (Some(d), Some(s)) =
                (d_slice.checked_mul(*dst_dims.add(k)), s_slice.checked_mul(*src_dims.add(k)))
            else {
                return EINVAL;
            };
            (d_slice, s_slice) = (d, s);
        }
        if dims == 1 {
            let (Some(len), Some(d), Some(s)) =
                (elem.checked_mul(*volume), elem.checked_mul(*dst_off), elem.checked_mul(*src_off))
            else {
                return EINVAL;
            };
            core::ptr::copy_nonoverlapping(src.add(s), dst.add(d), len);
            return 0;
        }
        for i in 0..*volume {
            let d = dst.add((*dst_off + i) * d_slice);
            let s = src.add((*src_off + i) * s_slice);
            let one = |p: *const usize| p.add(1);
            let r = copy_rect(
                d,
                s,
                elem,
                dims - 1,
                one(volume),
                one(dst_off),
                one(src_off),
                one(dst_dims),
                one(src_dims),
            );
            if r != 0 {
                return r;
            }
        }
        0
    }
}

/// The dependence objects of an asynchronous routine as the runtime's list.
///
/// # Safety
/// `objs` has `n` pairs of words.
unsafe fn wait_objects(n: i32, objs: *const [usize; 2]) {
    let deps: Vec<depend::Dep> = (0..n.max(0) as usize)
        // SAFETY: by the caller's promise.
        .map(|i| unsafe { *objs.add(i) })
        .map(|[addr, kind]| (addr, if kind == 1 { depend::Kind::In } else { depend::Kind::Out }))
        .collect();
    spawn::wait_for(current(), &deps);
}

export! {
    /// Section 3.8.1.
    fn omp_target_alloc(size: usize, device: i32) -> *mut libc::c_void {
        // SAFETY: plain libc allocation.
        if is_host(device) { unsafe { libc::malloc(size) } } else { core::ptr::null_mut() }
    }
    /// Section 3.8.2.
    fn omp_target_free(p: *mut libc::c_void, device: i32) {
        if is_host(device) {
            // SAFETY: allocated by `omp_target_alloc`.
            unsafe { libc::free(p) }
        }
    }
    /// Section 3.8.3.
    fn omp_target_is_present(p: *const u8, device: i32) -> i32 { i32::from(is_host(device) && !p.is_null()) }
    /// Section 3.8.4.
    fn omp_target_is_accessible(p: *const u8, _size: usize, device: i32) -> i32 {
        i32::from(is_host(device) && !p.is_null())
    }
    /// Section 3.8.5.
    fn omp_target_memcpy(dst: *mut u8, src: *const u8, len: usize, d_off: usize, s_off: usize, d: i32, s: i32) -> i32 {
        if !is_host(d) || !is_host(s) {
            return EINVAL;
        }
        // SAFETY: the program's pointers and lengths.
        unsafe { core::ptr::copy(src.add(s_off), dst.add(d_off), len) };
        0
    }
    /// Section 3.8.9.
    fn omp_target_associate_ptr(_h: *const u8, _d: *const u8, _size: usize, _off: usize, _device: i32) -> i32 { EINVAL }
    /// Section 3.8.10.
    fn omp_target_disassociate_ptr(_h: *const u8, _device: i32) -> i32 { EINVAL }
    /// Section 3.8.11.
    fn omp_get_mapped_ptr(p: *const u8, device: i32) -> *const u8 { if is_host(device) { p } else { core::ptr::null() } }
    /// Registers a device image: there is no device to run it.
    fn GOMP_offload_register(_table: usize, _kind: i32, _data: usize) {}
    /// See `GOMP_offload_register`.
    fn GOMP_offload_register_ver(_version: u32, _table: usize, _kind: i32, _data: usize) {}
    /// See `GOMP_offload_register`.
    fn GOMP_offload_unregister(_table: usize, _kind: i32, _data: usize) {}
    /// See `GOMP_offload_register`.
    fn GOMP_offload_unregister_ver(_version: u32, _table: usize, _kind: i32, _data: usize) {}
}

macro_rules! device_copies {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $t:ty),*) $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The arguments are as the specification wants them.
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($arg: $t),*) -> i32 {
            // SAFETY: by the caller's promise.
            unsafe { $body }
        }
        crate::export_names!($name);
    )*};
}

device_copies! {
    /// Section 3.8.6. With null pointers: the number of dimensions supported.
    fn omp_target_memcpy_rect(dst: *mut u8, src: *const u8, elem: usize, dims: i32, volume: *const usize, d_off: *const usize, s_off: *const usize, d_dims: *const usize, s_dims: *const usize, d: i32, s: i32) {
        if dst.is_null() && src.is_null() {
            return i32::MAX;
        }
        if dims < 1 || !is_host(d) || !is_host(s) {
            return EINVAL;
        }
        copy_rect(dst, src, elem, dims as usize, volume, d_off, s_off, d_dims, s_dims)
    }
    /// Section 3.8.7. Done at once, after its dependences.
    fn omp_target_memcpy_async(dst: *mut u8, src: *const u8, len: usize, d_off: usize, s_off: usize, d: i32, s: i32, n: i32, objs: *const [usize; 2]) {
        wait_objects(n, objs);
        omp_target_memcpy(dst, src, len, d_off, s_off, d, s)
    }
    /// Section 3.8.8. Done at once, after its dependences.
    fn omp_target_memcpy_rect_async(dst: *mut u8, src: *const u8, elem: usize, dims: i32, volume: *const usize, d_off: *const usize, s_off: *const usize, d_dims: *const usize, s_dims: *const usize, d: i32, s: i32, n: i32, objs: *const [usize; 2]) {
        if !(dst.is_null() && src.is_null()) {
            wait_objects(n, objs);
        }
        omp_target_memcpy_rect(dst, src, elem, dims, volume, d_off, s_off, d_dims, s_dims, d, s)
    }
}
