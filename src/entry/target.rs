//! Device constructs: on a device beside the host where there is one (device/), else in the encountering
//! thread, as a new initial task, with nothing to move.

use super::omp::export;
use crate::complain;
use crate::device::backend::Image;
use crate::device::items::{self, Item, Items};
use crate::device::kinds;
use crate::device::map::For;
use crate::device::routines::{self, Side};
use crate::device::{self, Device, constructs, images, native};
use crate::icv::{DEFAULT_DEVICE, INITIAL_DEVICE, INVALID_DEVICE, globals};
use crate::observe::event::{Depend, Event, Target};
use crate::save::{self, SaveKind};
use crate::stub;
use crate::sys::syscall::exit_group;
use crate::task::{depend, spawn};
use crate::team::hold::guarded;
use crate::team::thread::{Thread, current};

/// `omp_invalid_device` is none; OMP_TARGET_OFFLOAD=mandatory forbids the host where a device was asked for
/// that does not exist.
#[cold]
fn check_offload(device: i32, by_default: bool) {
    if device == INVALID_DEVICE && by_default && globals().target_offload == 1 {
        complain!("OMP_TARGET_OFFLOAD is set to MANDATORY, but only the host device is available");
        exit_group(1);
    }
    if device == INVALID_DEVICE {
        complain!("omp_invalid_device encountered");
        exit_group(1);
    }
    // The number behind the last device is the host's.
    if device > device::all().len() as i32 {
        complain!("OMP_TARGET_OFFLOAD is set to MANDATORY, but device is not available");
        exit_group(1);
    }
}

/// The device of a clause or, without one, of default-device-var; `None` is the host. Within a region of a
/// device there is no other. The program ends where that device may not be used.
#[inline]
fn chosen(thr: &'static Thread, device: i32) -> Option<&'static Device> {
    const DEFAULT: i32 = -1;
    let icvs = thr.task().icvs.get();
    let by_default = matches!(device, DEFAULT | DEFAULT_DEVICE);
    let device = if by_default { device::default_of(&icvs) } else { device };
    if device == INVALID_DEVICE || globals().target_offload == 1 {
        check_offload(device, by_default);
    }
    if icvs.device != 0 { None } else { device::numbered(device) }
}

/// A region that was meant for a device runs on the host: not where that is forbidden.
fn check_fallback(on: Option<&'static Device>) {
    if let Some(d) = on
        && globals().target_offload == 1
    {
        complain!(
            "OMP_TARGET_OFFLOAD is set to MANDATORY, but device {} cannot be used for offloading",
            d.number
        );
        exit_group(1);
    }
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
        if kind as u8 == kinds::FIRSTPRIVATE && each(i).0 != 0 {
            total = place(total, kind) + size;
        }
    }
    let mut memory = vec![0u128; total.div_ceil(16) + 256];
    // Room for the largest alignment lies in front.
    let base = (memory.as_mut_ptr() as usize).next_multiple_of(4096);
    let mut at = 0usize;
    for i in 0..n {
        let (from, size, kind) = each(i);
        if kind as u8 == kinds::FIRSTPRIVATE && from != 0 {
            at = place(at, kind);
            // SAFETY: `memory` has room for all of them behind `base`.
            unsafe {
                core::ptr::copy_nonoverlapping(from as *const u8, (base + at) as *mut u8, size);
                *addrs.add(i) = base + at;
            }
            at += size;
        }
    }
    // Descriptors of arrays point to the copies of the arrays.
    let item = |i: usize| {
        let (addr, size, kind) = each(i);
        Item { addr, size, kind: kind as u8, align: 1 }
    };
    for i in (1..n).filter(|&i| kinds::attaches(item(i).kind)) {
        if let Some(k) = items::private_attach(addrs as usize, i, &item(i), item)
            && each(i - 1).0 != 0
        {
            // SAFETY: a pointer in the copy of item `k`, which is there because the array is.
            unsafe { ((each(k).0 + each(i).1) as *mut usize).write_unaligned(each(i - 1).0) };
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

/// A device construct, which is told to those who listen.
fn construct(thr: &'static Thread, target: Target, on: Option<&'static Device>, f: impl FnOnce()) {
    let device = on.map_or(INITIAL_DEVICE, |d| d.number as i32);
    thr.tell(Event::TargetBegin { target, device });
    f();
    thr.tell(Event::TargetEnd { target, device });
}

fn task(thr: &'static Thread) -> usize {
    core::ptr::from_ref(thr.task()) as usize
}

/// GCC 4.9's.
extern "C" fn target(
    device: i32,
    func: usize,
    _unused: usize,
    n: usize,
    addrs: *mut usize,
    sizes: *const usize,
    kinds: *const u8,
) {
    let thr = current();
    let on = chosen(thr, device);
    // SAFETY: the compiler's arguments.
    let items = || unsafe { Items::read_old(n, addrs, sizes, kinds) };
    construct(thr, Target::Region, on, || {
        if !on.is_some_and(|d| constructs::target(d, func, &items(), core::ptr::null(), 0)) {
            check_fallback(on);
            native::run((func, addrs as usize), 0, None);
        }
    });
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
    let on = chosen(thr, device);
    wait_depend(thr, depend);
    // SAFETY: the compiler's arguments.
    let (items, limit) =
        unsafe { (|| Items::read(n, addrs, sizes, kinds), items::argument(args, items::THREAD_LIMIT)) };
    construct(thr, Target::Region, on, || {
        if !on.is_some_and(|d| constructs::target(d, func, &items(), args, limit)) {
            check_fallback(on);
            // SAFETY: as above.
            let memory = unsafe { copy_firstprivate(n, addrs, sizes, kinds) };
            native::run((func, addrs as usize), limit, None);
            drop(memory);
        }
    });
    save::point(thr, SaveKind::After(0));
}

extern "C" fn data_old(
    device: i32,
    _unused: usize,
    n: usize,
    addrs: *mut usize,
    sizes: *const usize,
    kinds: *const u8,
) {
    // SAFETY: the compiler's arguments.
    begin_data(device, || unsafe { Items::read_old(n, addrs, sizes, kinds) });
}

extern "C" fn data(device: i32, n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u16) {
    // SAFETY: the compiler's arguments.
    begin_data(device, || unsafe { Items::read(n, addrs, sizes, kinds) });
}

fn begin_data(device: i32, items: impl Fn() -> Items) {
    let thr = current();
    let on = chosen(thr, device);
    construct(thr, Target::Enter, on, || {
        if !device::all().is_empty() {
            constructs::begin_data(task(thr), on, &items(), For::Data);
        }
    });
    save::point(thr, SaveKind::After(0));
}

extern "C" fn end_data() {
    let thr = current();
    let on = constructs::inside(task(thr));
    construct(thr, Target::Exit, on, || {
        if !device::all().is_empty() {
            constructs::end_data(task(thr));
        }
    });
    save::point(thr, SaveKind::After(0));
}

extern "C" fn update_old(
    device: i32,
    _unused: usize,
    n: usize,
    addrs: *mut usize,
    sizes: *const usize,
    kinds: *const u8,
) {
    let thr = current();
    let on = chosen(thr, device);
    construct(thr, Target::Update, on, || {
        if let Some(d) = on {
            // SAFETY: the compiler's arguments.
            constructs::update(d, &unsafe { Items::read_old(n, addrs, sizes, kinds) }, For::Data, None);
        }
    });
    save::point(thr, SaveKind::After(0));
}

extern "C" fn update(
    device: i32,
    n: usize,
    addrs: *mut usize,
    sizes: *const usize,
    kinds: *const u16,
    _flags: u32,
    depend: *const usize,
) {
    let thr = current();
    let on = chosen(thr, device);
    wait_depend(thr, depend);
    construct(thr, Target::Update, on, || {
        if let Some(d) = on {
            // SAFETY: the compiler's arguments.
            constructs::update(d, &unsafe { Items::read(n, addrs, sizes, kinds) }, For::Data, None);
        }
    });
    save::point(thr, SaveKind::After(0));
}

extern "C" fn enter_exit_data(
    device: i32,
    n: usize,
    addrs: *mut usize,
    sizes: *const usize,
    kinds: *const u16,
    flags: u32,
    depend: *const usize,
) {
    const EXIT: u32 = 2;
    let thr = current();
    let on = chosen(thr, device);
    wait_depend(thr, depend);
    let exit = flags & EXIT != 0;
    construct(thr, if exit { Target::Exit } else { Target::Enter }, on, || {
        if let Some(d) = on {
            // SAFETY: the compiler's arguments.
            let items = unsafe { Items::read(n, addrs, sizes, kinds) };
            if exit { constructs::exit_data(d, &items) } else { constructs::enter_data(d, &items) }
        }
    });
    save::point(thr, SaveKind::After(0));
}

stub! {
    GOMP_target [1] => target;
    GOMP_target_ext [3] => target_ext;
    GOMP_target_data => data_old;
    GOMP_target_data_ext => data;
    GOMP_target_end_data => end_data;
    GOMP_target_update => update_old;
    GOMP_target_update_ext [1] => update;
    GOMP_target_enter_exit_data [1] => enter_exit_data;
}

const EINVAL: i32 = libc::EINVAL;

/// Walks the rows of a box in two arrays of `dims` dimensions: hands over where each lies, and answers how
/// long it is.
///
/// # Safety
/// The index lists have `dims` entries, as section 3.8.6 describes.
#[allow(clippy::too_many_arguments)]
unsafe fn rows(
    dst: usize,
    src: usize,
    elem: usize,
    dims: usize,
    volume: *const usize,
    dst_off: *const usize,
    src_off: *const usize,
    dst_dims: *const usize,
    src_dims: *const usize,
    out: &mut Vec<(usize, usize)>,
) -> Option<usize> {
    // SAFETY: by the caller's promise; the products are checked.
    unsafe {
        let (mut d_slice, mut s_slice) = (elem, elem);
        for k in 1..dims {
            d_slice = d_slice.checked_mul(*dst_dims.add(k))?;
            s_slice = s_slice.checked_mul(*src_dims.add(k))?;
        }
        if dims == 1 {
            let len = elem.checked_mul(*volume)?;
            let (d, s) = (elem.checked_mul(*dst_off)?, elem.checked_mul(*src_off)?);
            out.push((dst.checked_add(d)?, src.checked_add(s)?));
            return Some(len);
        }
        let mut len = Some(0);
        for i in 0..*volume {
            let d = dst + (*dst_off + i) * d_slice;
            let s = src + (*src_off + i) * s_slice;
            let one = |p: *const usize| p.add(1);
            let (v, o, p, a, b) = (one(volume), one(dst_off), one(src_off), one(dst_dims), one(src_dims));
            len = rows(d, s, elem, dims - 1, v, o, p, a, b, out);
            len?;
        }
        len
    }
}

/// The dependence objects of an asynchronous routine as the runtime's list.
///
/// # Safety
/// `objs` has `n` pairs of words.
pub(super) unsafe fn wait_objects(n: i32, objs: *const [usize; 2]) {
    let deps: Vec<depend::Dep> = (0..n.max(0) as usize)
        // SAFETY: by the caller's promise.
        .map(|i| unsafe { *objs.add(i) })
        .map(|[addr, kind]| (addr, if kind == 1 { Depend::In } else { Depend::Out }))
        .collect();
    spawn::wait_for(current(), &deps);
}

/// Both sides of a copy.
fn sides(to: i32, from: i32) -> Option<(Side, Side)> {
    Some((routines::side(to)?, routines::side(from)?))
}

export! {
    /// Section 3.8.1.
    fn omp_target_alloc(size: usize, device: i32) -> *mut libc::c_void {
        guarded(|| routines::alloc(size, device) as *mut libc::c_void)
    }
    /// Section 3.8.2.
    fn omp_target_free(p: *mut libc::c_void, device: i32) { guarded(|| routines::free(p as usize, device)) }
    /// Section 3.8.3.
    fn omp_target_is_present(p: *const u8, device: i32) -> i32 {
        guarded(|| i32::from(routines::is_present(p as usize, device)))
    }
    /// Section 3.8.4.
    fn omp_target_is_accessible(p: *const u8, size: usize, device: i32) -> i32 {
        guarded(|| i32::from(!p.is_null() && size > 0 && routines::side(device).is_some_and(|s| matches!(s, Side::Host))))
    }
    /// Section 3.8.5.
    fn omp_target_memcpy(dst: *mut u8, src: *const u8, len: usize, d_off: usize, s_off: usize, d: i32, s: i32) -> i32 {
        guarded(|| {
            let Some((to, from)) = sides(d, s) else { return EINVAL };
            let one = [(dst as usize + d_off, src as usize + s_off)];
            if routines::copy(to, from, &one, len) { 0 } else { EINVAL }
        })
    }
    /// Section 3.8.9.
    fn omp_target_associate_ptr(h: *const u8, d: *const u8, size: usize, off: usize, device: i32) -> i32 {
        guarded(|| if routines::associate(h as usize, d as usize, size, off, device) { 0 } else { EINVAL })
    }
    /// Section 3.8.10.
    fn omp_target_disassociate_ptr(h: *const u8, device: i32) -> i32 {
        guarded(|| if routines::disassociate(h as usize, device) { 0 } else { EINVAL })
    }
    /// Section 3.8.11.
    fn omp_get_mapped_ptr(p: *const u8, device: i32) -> *const u8 {
        guarded(|| routines::mapped(p as usize, device) as *const u8)
    }
    /// Registers a device image: it is loaded when a device of its type is first used.
    fn GOMP_offload_register_ver(version: u32, table: usize, kind: i32, data: usize) {
        guarded(|| images::register(image(version, table, kind, data)));
    }
    /// See `GOMP_offload_register_ver`; GCC 4.9's.
    fn GOMP_offload_register(table: usize, kind: i32, data: usize) { GOMP_offload_register_ver(0, table, kind, data) }
    /// See `GOMP_offload_register_ver`.
    fn GOMP_offload_unregister_ver(version: u32, table: usize, kind: i32, data: usize) {
        guarded(|| images::unregister(image(version, table, kind, data)));
    }
    /// See `GOMP_offload_unregister_ver`.
    fn GOMP_offload_unregister(table: usize, kind: i32, data: usize) { GOMP_offload_unregister_ver(0, table, kind, data) }
}

fn image(version: u32, table: usize, target: i32, data: usize) -> Image {
    Image { version, table: table as *const [usize; 4], target, data: data as *const core::ffi::c_void }
}

macro_rules! device_copies {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $t:ty),*) $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The arguments are as the specification wants them.
        #[allow(clippy::too_many_arguments)]
        pub(crate) unsafe extern "C" fn $name($($arg: $t),*) -> i32 {
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
        guarded(|| {
            let Some((to, from)) = sides(d, s).filter(|_| dims >= 1) else { return EINVAL };
            let (mut list, n) = (Vec::new(), dims as usize);
            match rows(dst as usize, src as usize, elem, n, volume, d_off, s_off, d_dims, s_dims, &mut list) {
                Some(0) => 0,
                Some(len) if routines::copy(to, from, &list, len) => 0,
                _ => EINVAL,
            }
        })
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
