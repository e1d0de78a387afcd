//! The OpenACC routines (OpenACC 2.6, chapter 3) for C and, by reference, for Fortran. The host shares its own memory: what
//! moves data elsewhere has nothing to do here, but checks its arguments and initialises the device like libgomp.

use super::omp::export;
use crate::acc::{self, profiling_interface};
use crate::device::{self, Device, routines};
use crate::team::hold::guarded;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;

type Ptr = *mut c_void;

/// Data that comes to the device: it must be there. `copy`: with its contents.
fn enter(p: Ptr, size: usize, copy: bool, queue: i32) -> Ptr {
    if p.is_null() || size == 0 {
        acc::fatal(format_args!("[{},+{size}] is a bad range", Shown(p)));
    }
    acc::need();
    on_device(|d| device::openacc::bring(d, p as usize, size, copy, queue_of(queue)) as Ptr).unwrap_or(p)
}

/// Data that leaves it.
fn leave(p: Ptr, size: usize, copy: bool, finally: bool, queue: i32) {
    acc::need();
    on_device(|d| routines::acc_leave(d, p as usize, size, copy, finally, queue_of(queue)));
}

/// Data that moves while it stays on both sides.
fn update(p: Ptr, size: usize, to: bool, queue: i32) {
    acc::need();
    if on_device(|d| device::openacc::move_data(d, p as usize, size, to, queue_of(queue))) == Some(false) {
        acc::fatal(format_args!("[{},{size}] is not mapped", Shown(p)));
    }
}

/// Waits for a queue, or for all.
fn wait(queue: Option<i32>) {
    on_device(|d| device::openacc::wait_for(d, queue.as_slice(), queue.is_none(), None));
}

use crate::device::openacc::queue as queue_of;

fn detach(p: *mut Ptr, finally: bool) {
    acc::need();
    on_device(|d| device::openacc::detach(d, p as usize, finally, None));
}

/// With the device in use, if it is not the host.
fn on_device<R>(f: impl FnOnce(&'static Device) -> R) -> Option<R> {
    guarded(|| device::openacc::current().map(f))
}

/// A pointer as C's `%p` shows it.
struct Shown(Ptr);
impl core::fmt::Display for Shown {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        if self.0.is_null() { f.write_str("(nil)") } else { write!(f, "{:p}", self.0) }
    }
}

/// A copy between host and device memory; on the host they are one.
fn copy(to: Ptr, from: Ptr, bytes: usize, to_device: bool, queue: i32) {
    acc::need();
    let (t, f, q) = (to as usize, from as usize, queue_of(queue));
    let done = on_device(|d| match to_device {
        true => d.with(|_| d.backend.copy_in(t, f, bytes, q)),
        false => d.with(|_| d.backend.copy_out(t, f, bytes, q)),
    });
    match done {
        Some(Some(true)) => {}
        Some(_) => device::fail(format_args!("{bytes} bytes could not be copied to or from the device")),
        // SAFETY: the program's pointers and length.
        None => unsafe { core::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), bytes) },
    }
}

/// acc_device_property_t: the bit of those that are strings.
const TEXT: i32 = 0x10000;
const NAME: i32 = 0x10001;
const VENDOR: i32 = 0x10002;
const DRIVER: i32 = 0x10003;

/// A device whose property is asked for.
fn asked(number: i32, device_type: i32) {
    if !acc::is_known(device_type) {
        acc::resolve(device_type);
    }
    acc::need();
    acc::resolve_number(device_type, number);
}

export! {
    /// Section 3.2.1.
    fn acc_get_num_devices(device_type: i32) -> i32 { acc::count(device_type) }
    /// Section 3.2.2.
    fn acc_set_device_type(device_type: i32) {
        acc::resolve_number(device_type, -1);
        acc::attach(device_type, -1);
    }
    /// Section 3.2.3.
    fn acc_get_device_type() -> i32 { acc::current_type() }
    /// Section 3.2.4.
    fn acc_set_device_num(number: i32, device_type: i32) {
        acc::resolve_number(if device_type == acc::NONE { acc::DEFAULT } else { device_type }, number);
        acc::attach(device_type, number);
    }
    /// Section 3.2.5.
    fn acc_get_device_num(device_type: i32) -> i32 { acc::current_number(device_type) }
    /// Section 3.2.6.
    fn acc_get_property(number: i32, device_type: i32, property: i32) -> usize {
        if property & TEXT == 0 {
            asked(number, device_type);
        }
        // The host does not tell its memory.
        let plain = property & TEXT == 0;
        on_device(|d| d.with(|_| if plain { d.backend.number(property) } else { 0 })).flatten().unwrap_or(0)
    }
    /// Section 3.2.6.
    fn acc_get_property_string(number: i32, device_type: i32, property: i32) -> *const c_char {
        if property & TEXT == 0 {
            return core::ptr::null();
        }
        asked(number, device_type);
        if let Some(text) = on_device(|d| d.with(|_| d.backend.text(property))) {
            return text.flatten().map_or(core::ptr::null(), CStr::as_ptr);
        }
        match property {
            NAME => c"GOMP".as_ptr(),
            VENDOR => c"GNU".as_ptr(),
            DRIVER => c"1.0".as_ptr(),
            _ => core::ptr::null(),
        }
    }
    /// Section 3.2.7.
    fn acc_init(device_type: i32) { acc::init(device_type) }
    /// Section 3.2.8.
    fn acc_shutdown(device_type: i32) { acc::shutdown(device_type) }
    /// Section 3.2.9: on the host nothing is ever under way.
    fn acc_async_test(queue: i32) -> i32 {
        acc::check_queue(queue);
        on_device(|d| i32::from(d.backend.idle(queue_of(queue)))).unwrap_or(1)
    }
    /// Section 3.2.11.
    fn acc_async_test_all() -> i32 {
        acc::check_queue(acc::SYNC);
        on_device(|d| i32::from(d.backend.idle(None))).unwrap_or(1)
    }
    /// Section 3.2.13.
    fn acc_wait(queue: i32) {
        acc::check_queue(queue);
        wait(Some(queue));
    }
    /// Its name in OpenACC 1.0.
    fn acc_async_wait(queue: i32) { acc_wait(queue) }
    /// Section 3.2.15.
    fn acc_wait_async(queue: i32, other: i32) {
        acc::check_queue(queue);
        on_device(|d| device::openacc::wait_for(d, &[queue], false, queue_of(other)));
    }
    /// Section 3.2.17.
    fn acc_wait_all() { wait(None) }
    /// Its name in OpenACC 1.0.
    fn acc_async_wait_all() { wait(None) }
    /// Section 3.2.18.
    fn acc_wait_all_async(queue: i32) {
        acc::check_queue(queue);
        wait(None);
    }
    /// Section 3.2.19.
    fn acc_on_device(device_type: i32) -> i32 { i32::from(device_type == acc::HOST || device_type == acc::NONE) }
    /// Section 3.2.20.
    fn acc_malloc(bytes: usize) -> Ptr {
        if bytes == 0 {
            return null_mut();
        }
        acc::need();
        if let Some(at) = on_device(|d| d.with(|_| d.backend.alloc(bytes))) {
            return at.flatten().unwrap_or(0) as Ptr;
        }
        // SAFETY: plain libc allocation.
        unsafe { libc::malloc(bytes) }
    }
    /// Section 3.2.21.
    fn acc_free(p: Ptr) {
        match on_device(|d| p.is_null() || d.with(|_| d.backend.free(p as usize)) == Some(true)) {
            Some(true) => return,
            Some(false) => device::fail(format_args!("acc_free: {} is not memory of the device", Shown(p))),
            None => {}
        }
        // SAFETY: from `acc_malloc`.
        unsafe { libc::free(p) }
    }
    /// Section 3.2.22.
    fn acc_copyin(p: Ptr, size: usize) -> Ptr { enter(p, size, true, acc::SYNC) }
    /// See `acc_copyin`.
    fn acc_present_or_copyin(p: Ptr, size: usize) -> Ptr { enter(p, size, true, acc::SYNC) }
    /// See `acc_copyin`.
    fn acc_pcopyin(p: Ptr, size: usize) -> Ptr { enter(p, size, true, acc::SYNC) }
    /// See `acc_copyin`.
    fn acc_copyin_async(p: Ptr, size: usize, queue: i32) { enter(p, size, true, queue); }
    /// Section 3.2.23.
    fn acc_create(p: Ptr, size: usize) -> Ptr { enter(p, size, false, acc::SYNC) }
    /// See `acc_create`.
    fn acc_present_or_create(p: Ptr, size: usize) -> Ptr { enter(p, size, false, acc::SYNC) }
    /// See `acc_create`.
    fn acc_pcreate(p: Ptr, size: usize) -> Ptr { enter(p, size, false, acc::SYNC) }
    /// See `acc_create`.
    fn acc_create_async(p: Ptr, size: usize, queue: i32) { enter(p, size, false, queue); }
    /// Section 3.2.24.
    fn acc_copyout(p: Ptr, size: usize) { leave(p, size, true, false, acc::SYNC) }
    /// See `acc_copyout`.
    fn acc_copyout_async(p: Ptr, size: usize, queue: i32) { leave(p, size, true, false, queue) }
    /// See `acc_copyout`.
    fn acc_copyout_finalize(p: Ptr, size: usize) { leave(p, size, true, true, acc::SYNC) }
    /// See `acc_copyout`.
    fn acc_copyout_finalize_async(p: Ptr, size: usize, queue: i32) { leave(p, size, true, true, queue) }
    /// Section 3.2.25.
    fn acc_delete(p: Ptr, size: usize) { leave(p, size, false, false, acc::SYNC) }
    /// See `acc_delete`.
    fn acc_delete_async(p: Ptr, size: usize, queue: i32) { leave(p, size, false, false, queue) }
    /// See `acc_delete`.
    fn acc_delete_finalize(p: Ptr, size: usize) { leave(p, size, false, true, acc::SYNC) }
    /// See `acc_delete`.
    fn acc_delete_finalize_async(p: Ptr, size: usize, queue: i32) { leave(p, size, false, true, queue) }
    /// Section 3.2.26.
    fn acc_update_device(p: Ptr, size: usize) { update(p, size, true, acc::SYNC) }
    /// See `acc_update_device`.
    fn acc_update_device_async(p: Ptr, size: usize, queue: i32) { update(p, size, true, queue) }
    /// Section 3.2.27.
    fn acc_update_self(p: Ptr, size: usize) { update(p, size, false, acc::SYNC) }
    /// See `acc_update_self`.
    fn acc_update_self_async(p: Ptr, size: usize, queue: i32) { update(p, size, false, queue) }
    /// Section 3.2.28.
    fn acc_map_data(host: Ptr, device: Ptr, size: usize) {
        acc::need();
        let (h, at) = (host as usize, device as usize);
        match on_device(|d| routines::acc_map(d, h, at, size)) {
            Some(Ok(())) => return,
            Some(Err(why)) => acc::fatal(format_args!("{why}")),
            None => {}
        }
        if host != device {
            acc::fatal(format_args!("cannot map data on shared-memory system"));
        }
    }
    /// Section 3.2.29.
    fn acc_unmap_data(host: Ptr) {
        acc::need();
        if let Some(Err(why)) = on_device(|d| device::openacc::unmap(d, host as usize)) {
            acc::fatal(format_args!("{why}"));
        }
    }
    /// Section 3.2.30.
    fn acc_deviceptr(p: Ptr) -> Ptr {
        acc::need();
        on_device(|d| device::openacc::pointer(d, p as usize) as Ptr).unwrap_or(p)
    }
    /// Section 3.2.31.
    fn acc_hostptr(p: Ptr) -> Ptr {
        acc::need();
        on_device(|d| device::openacc::host(d, p as usize) as Ptr).unwrap_or(p)
    }
    /// Section 3.2.32.
    fn acc_is_present(p: Ptr, size: usize) -> i32 {
        if p.is_null() || size == 0 {
            return 0;
        }
        acc::need();
        i32::from(on_device(|d| device::openacc::is_present(d, p as usize, size)).unwrap_or(true))
    }
    /// Section 3.2.33.
    fn acc_memcpy_to_device(to: Ptr, from: Ptr, bytes: usize) { copy(to, from, bytes, true, acc::SYNC) }
    /// See `acc_memcpy_to_device`.
    fn acc_memcpy_to_device_async(to: Ptr, from: Ptr, bytes: usize, queue: i32) {
        copy(to, from, bytes, true, queue)
    }
    /// Section 3.2.34.
    fn acc_memcpy_from_device(to: Ptr, from: Ptr, bytes: usize) { copy(to, from, bytes, false, acc::SYNC) }
    /// See `acc_memcpy_from_device`.
    fn acc_memcpy_from_device_async(to: Ptr, from: Ptr, bytes: usize, queue: i32) {
        copy(to, from, bytes, false, queue)
    }
    /// Section 3.2.35.
    fn acc_memcpy_device(to: Ptr, from: Ptr, bytes: usize) {
        acc::need();
        let done = on_device(|d| d.with(|_| d.backend.copy_within(to as usize, from as usize, bytes)));
        match done {
            Some(Some(true)) => {}
            Some(_) => device::fail(format_args!("{bytes} bytes could not be copied on the device")),
            // SAFETY: the program's pointers and length.
            None => unsafe { core::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), bytes) },
        }
    }
    /// See `acc_memcpy_device`.
    fn acc_memcpy_device_async(to: Ptr, from: Ptr, bytes: usize, queue: i32) {
        wait(Some(queue));
        acc_memcpy_device(to, from, bytes);
    }
    /// Section 3.2.36: on the host, pointers of the device are pointers of the host.
    fn acc_attach(p: *mut Ptr) {
        acc::need();
        on_device(|d| device::openacc::attach(d, p as usize));
    }
    /// See `acc_attach`.
    fn acc_attach_async(p: *mut Ptr, _queue: i32) { acc_attach(p) }
    /// Section 3.2.37.
    fn acc_detach(p: *mut Ptr) { detach(p, false) }
    /// See `acc_detach`.
    fn acc_detach_async(p: *mut Ptr, _queue: i32) { detach(p, false) }
    /// See `acc_detach`.
    fn acc_detach_finalize(p: *mut Ptr) { detach(p, true) }
    /// See `acc_detach`.
    fn acc_detach_finalize_async(p: *mut Ptr, _queue: i32) { detach(p, true) }
    /// Section A.2.1.1: null where there is no CUDA.
    fn acc_get_current_cuda_device() -> Ptr {
        on_device(|d| d.backend.handle(0) as Ptr).unwrap_or(null_mut())
    }
    /// Section A.2.1.2.
    fn acc_get_current_cuda_context() -> Ptr {
        on_device(|d| d.backend.handle(1) as Ptr).unwrap_or(null_mut())
    }
    /// Section A.2.1.3.
    fn acc_get_cuda_stream(queue: i32) -> Ptr {
        if queue < 0 {
            return null_mut();
        }
        on_device(|d| d.backend.stream(queue) as Ptr).unwrap_or(null_mut())
    }
    /// Section A.2.1.4.
    fn acc_set_cuda_stream(queue: i32, stream: Ptr) -> i32 {
        if queue < 0 || stream.is_null() {
            return 0;
        }
        acc::need();
        -1
    }
    /// Section 5.3.
    fn acc_prof_register(event: i32, callback: Option<profiling_interface::Callback>, how: i32) {
        profiling_interface::register(true, event, callback, how);
    }
    /// Section 5.3.
    fn acc_prof_unregister(event: i32, callback: Option<profiling_interface::Callback>, how: i32) {
        profiling_interface::register(false, event, callback, how);
    }
    /// Section 5.3: no further functions are offered to tools.
    fn acc_prof_lookup(_name: *const c_char) -> Ptr { null_mut() }
    /// Section 5.2: tools define a function of this name of their own; this one is called by mistake only.
    fn acc_register_library(_register: Ptr, _unregister: Ptr, _lookup: Ptr) {}
}

/// What a tool's `acc_register_library` gets (section 5.2): the addresses of the three above.
pub(crate) fn profiling_routines() -> [usize; 3] {
    [acc_prof_register as *const (), acc_prof_unregister as *const (), acc_prof_lookup as *const ()]
        .map(|f| f as usize)
}

/// The bytes of a contiguous array from gfortran's descriptor: element length at 16, rank at 28, per dimension from 40 on
/// (stride, lower bound, upper bound).
///
/// # Safety
/// A descriptor of gfortran 9 or later.
unsafe fn described(d: *const u8) -> (Ptr, usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        let word = |at: usize| *d.add(at).cast::<isize>();
        let rank = usize::from(*d.add(28));
        let extent = |i: usize| (word(40 + 24 * i + 16) - word(40 + 24 * i + 8) + 1).max(0) as usize;
        (word(0) as Ptr, (0..rank).map(extent).product::<usize>() * word(16) as usize)
    }
}

/// The Fortran entries of a routine on data: with 4- and 8-byte lengths and with an array.
macro_rules! fortran_data {
    ($($l32:ident $l64:ident $array:ident = $c:ident($($q:ident)?) $(-> $r:ty)?;)*) => {$(
        /// Fortran entry.
        ///
        /// # Safety
        /// The arguments are readable.
        pub(crate) unsafe extern "C" fn $l32(p: Ptr, n: *const i32 $(, $q: *const i32)?) $(-> $r)? {
            // SAFETY: by the caller's promise.
            $c(p, unsafe { *n } as usize $(, unsafe { *$q })?) $(as $r)?
        }
        /// Fortran entry.
        ///
        /// # Safety
        /// The arguments are readable.
        pub(crate) unsafe extern "C" fn $l64(p: Ptr, n: *const i64 $(, $q: *const i32)?) $(-> $r)? {
            // SAFETY: by the caller's promise.
            $c(p, unsafe { *n } as usize $(, unsafe { *$q })?) $(as $r)?
        }
        /// Fortran entry.
        ///
        /// # Safety
        /// The first argument is an array's descriptor, the others are readable.
        pub(crate) unsafe extern "C" fn $array(d: *const u8 $(, $q: *const i32)?) $(-> $r)? {
            // SAFETY: by the caller's promise.
            let (p, n) = unsafe { described(d) };
            $c(p, n $(, unsafe { *$q })?) $(as $r)?
        }
        crate::export_names!($l32 $l64 $array);
    )*};
}

// Those that return a pointer to C are subroutines in Fortran.
fn copyin(p: Ptr, n: usize) {
    enter(p, n, true, acc::SYNC);
}

fn create(p: Ptr, n: usize) {
    enter(p, n, false, acc::SYNC);
}

fortran_data! {
    acc_copyin_32_h_ acc_copyin_64_h_ acc_copyin_array_h_ = copyin();
    acc_present_or_copyin_32_h_ acc_present_or_copyin_64_h_ acc_present_or_copyin_array_h_ = copyin();
    acc_create_32_h_ acc_create_64_h_ acc_create_array_h_ = create();
    acc_present_or_create_32_h_ acc_present_or_create_64_h_ acc_present_or_create_array_h_ = create();
    acc_copyin_async_32_h_ acc_copyin_async_64_h_ acc_copyin_async_array_h_ = acc_copyin_async(q);
    acc_create_async_32_h_ acc_create_async_64_h_ acc_create_async_array_h_ = acc_create_async(q);
    acc_copyout_32_h_ acc_copyout_64_h_ acc_copyout_array_h_ = acc_copyout();
    acc_copyout_finalize_32_h_ acc_copyout_finalize_64_h_ acc_copyout_finalize_array_h_ = acc_copyout_finalize();
    acc_copyout_async_32_h_ acc_copyout_async_64_h_ acc_copyout_async_array_h_ = acc_copyout_async(q);
    acc_delete_32_h_ acc_delete_64_h_ acc_delete_array_h_ = acc_delete();
    acc_delete_finalize_32_h_ acc_delete_finalize_64_h_ acc_delete_finalize_array_h_ = acc_delete_finalize();
    acc_delete_async_32_h_ acc_delete_async_64_h_ acc_delete_async_array_h_ = acc_delete_async(q);
    acc_copyout_finalize_async_32_h_ acc_copyout_finalize_async_64_h_ acc_copyout_finalize_async_array_h_
        = acc_copyout_finalize_async(q);
    acc_delete_finalize_async_32_h_ acc_delete_finalize_async_64_h_ acc_delete_finalize_async_array_h_
        = acc_delete_finalize_async(q);
    acc_update_device_32_h_ acc_update_device_64_h_ acc_update_device_array_h_ = acc_update_device();
    acc_update_device_async_32_h_ acc_update_device_async_64_h_ acc_update_device_async_array_h_ = acc_update_device_async(q);
    acc_update_self_32_h_ acc_update_self_64_h_ acc_update_self_array_h_ = acc_update_self();
    acc_update_self_async_32_h_ acc_update_self_async_64_h_ acc_update_self_async_array_h_ = acc_update_self_async(q);
    acc_is_present_32_h_ acc_is_present_64_h_ acc_is_present_array_h_ = acc_is_present() -> i32;
}

/// Fortran entries of the other routines: integers by reference.
macro_rules! fortran {
    ($($name:ident = $c:ident($($arg:ident),*) $(-> $r:ty)?;)*) => {$(
        /// Fortran entry.
        ///
        /// # Safety
        /// The arguments are readable.
        pub(crate) unsafe extern "C" fn $name($($arg: *const i32),*) $(-> $r)? {
            // SAFETY: by the caller's promise.
            $c($(unsafe { *$arg }),*)
        }
        crate::export_names!($name);
    )*};
}

fortran! {
    acc_get_num_devices_h_ = acc_get_num_devices(t) -> i32;
    acc_set_device_type_h_ = acc_set_device_type(t);
    acc_get_device_type_h_ = acc_get_device_type() -> i32;
    acc_set_device_num_h_ = acc_set_device_num(n, t);
    acc_get_device_num_h_ = acc_get_device_num(t) -> i32;
    acc_async_test_h_ = acc_async_test(q) -> i32;
    acc_async_test_all_h_ = acc_async_test_all() -> i32;
    acc_wait_h_ = acc_wait(q);
    acc_wait_async_h_ = acc_wait_async(q, r);
    acc_wait_all_h_ = acc_wait_all();
    acc_wait_all_async_h_ = acc_wait_all_async(q);
    acc_init_h_ = acc_init(t);
    acc_shutdown_h_ = acc_shutdown(t);
    acc_on_device_h_ = acc_on_device(t) -> i32;
}

/// Fortran entry; this routine and the next one take their integers by value.
pub(crate) extern "C" fn acc_get_property_h_(number: i32, device_type: i32, property: i32) -> usize {
    acc_get_property(number, device_type, property)
}

/// Fortran entry: the string is filled up with blanks.
///
/// # Safety
/// `string` has `len` characters.
pub(crate) unsafe extern "C" fn acc_get_property_string_h_(
    number: i32,
    device_type: i32,
    property: i32,
    string: *mut u8,
    len: usize,
) {
    // SAFETY: by the caller's promise; the properties are constants.
    unsafe {
        let p = acc_get_property_string(number, device_type, property);
        let bytes = if p.is_null() { &[][..] } else { CStr::from_ptr(p).to_bytes() };
        let target = core::slice::from_raw_parts_mut(string, len);
        target.fill(b' ');
        let n = bytes.len().min(len);
        target[..n].copy_from_slice(&bytes[..n]);
    }
}
crate::export_names!(acc_get_property_h_ acc_get_property_string_h_);
