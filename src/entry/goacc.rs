//! The constructs of OpenACC as GCC compiles them, and the functions that libgomp has for device plugins.

use super::omp::export;
use crate::acc::profiling_interface::{
    self, ApiInfo, COMPUTE, Construct, ENTER_DATA, EXIT_DATA, Event, EventInfo, Info, UPDATE,
};
use crate::acc::{self, SYNC};
use crate::device::items::Items;
use crate::device::map::For;
use crate::device::openacc::Arguments;
use crate::device::{self, Device, constructs, gcc_plugin};
use crate::team::hold::guarded;
use crate::team::thread::current;
use crate::{complain, exported_label, keep};
use core::ffi::{c_char, c_void};

/// Map kinds (the low byte) by what they tell of the construct they belong to.
mod kind {
    pub(super) const FROM: u8 = 0x02;
    pub(super) const POINTER: u8 = 0x04;
    pub(super) const TO_PSET: u8 = 0x05;
    pub(super) const DELETE: u8 = 0x07;
    pub(super) const USE_DEVICE_PTR: u8 = 0x0e;
    pub(super) const USE_DEVICE_PTR_IF_PRESENT: u8 = 0x10;
    pub(super) const RELEASE: u8 = 0x17;
    pub(super) const STRUCT: u8 = 0x1c;
    pub(super) const DETACH: u8 = 0x51;
    pub(super) const FORCE_FROM: u8 = 0x82;
    pub(super) const FORCE_DETACH: u8 = 0xd1;
}

/// Does a directive of GCC before 12, which had one function for both, bring data back (`exit data`)?
///
/// # Safety
/// `kinds` has `n` entries.
unsafe fn leaves(n: usize, kinds: *const u16) -> bool {
    use kind::*;
    // SAFETY: by the caller's promise.
    let mut all = (0..n).map(|i| unsafe { *kinds.add(i) } as u8);
    // Pointers, descriptors and structures only accompany what is moved.
    let first = all.find(|k| !matches!(*k, POINTER | TO_PSET | STRUCT));
    matches!(first, Some(FROM | DELETE | RELEASE | DETACH | FORCE_FROM | FORCE_DETACH))
}

/// The device of a construct: `None` for the host, also where an `if` clause says so.
fn chosen(flags: i32) -> Option<&'static Device> {
    const HOST_FALLBACK: i32 = 1;
    // The flags are passed inverted.
    if !flags & HOST_FALLBACK != 0 {
        return None;
    }
    guarded(device::openacc::current)
}

fn task() -> usize {
    core::ptr::from_ref(current().task()) as usize
}

/// What stands behind the five arguments of a data construct: async, the number of queues to wait for,
/// these.
struct Words {
    queue: i32,
    waits: i32,
    rest: *const usize,
}

impl Words {
    fn wait(&self, d: &Device) {
        let n = self.waits.max(0) as usize;
        // SAFETY: the compiler passes so many.
        let list: Vec<i32> = (0..n).map(|i| unsafe { *self.rest.add(i) } as i32).collect();
        device::openacc::wait_for(d, &list, self.waits == -1, device::openacc::queue(self.queue));
    }
}

/// The outlined function runs on the device, or here.
fn compute(
    flags: i32,
    func: extern "C" fn(usize),
    n: usize,
    addrs: *mut usize,
    sizes: *const usize,
    kinds: *const u16,
    launch: *const usize,
) {
    acc::need();
    Event::of(Construct::Parallel, SYNC).around(COMPUTE, |e| {
        let done = chosen(flags).is_some_and(|d| {
            // SAFETY: the compiler's arguments.
            let (items, a) = unsafe { (Items::read(n, addrs, sizes, kinds), Arguments::read(launch)) };
            device::openacc::compute(d, func as usize, &items, &a, e)
        });
        if !done {
            func(addrs as usize);
        }
    });
}

fn data(which: Construct, events: (i32, i32), flags: i32, items: impl Fn() -> Items, w: &Words) {
    acc::need();
    Event::of(which, w.queue).around(events, |e| {
        let Some(d) = chosen(flags) else { return };
        guarded(|| {
            device::openacc::telling(d, e, || {
                w.wait(d);
                let (items, queue) = (items(), device::openacc::queue(w.queue));
                match which {
                    Construct::EnterData => device::openacc::enter(d, &items, queue),
                    Construct::ExitData => device::openacc::exit(d, &items, queue),
                    _ => device::openacc::update(d, &items, queue),
                }
            });
        });
    });
}

fn enter_data(flags: i32, n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u16, w: &Words) {
    // SAFETY: the compiler's arguments.
    data(Construct::EnterData, ENTER_DATA, flags, || unsafe { Items::read(n, addrs, sizes, kinds) }, w);
}

fn exit_data(flags: i32, n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u16, w: &Words) {
    // SAFETY: the compiler's arguments.
    data(Construct::ExitData, EXIT_DATA, flags, || unsafe { Items::read(n, addrs, sizes, kinds) }, w);
}

fn update(flags: i32, n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u16, w: &Words) {
    // SAFETY: the compiler's arguments.
    data(Construct::Update, UPDATE, flags, || unsafe { Items::read(n, addrs, sizes, kinds) }, w);
}

/// Exports functions that have more arguments than six: `inner` gets, as the seventh, where the others lie
/// on the stack.
macro_rules! behind_six {
    ($($name:ident => $inner:path;)*) => {$(
        const _: () = {
            #[unsafe(naked)]
            unsafe extern "C" fn entry() {
                core::arch::naked_asm!(
                    exported_label!($name),
                    ".cfi_startproc",
                    "lea rax, [rsp + 8]",
                    "push rax",
                    ".cfi_adjust_cfa_offset 8",
                    "call {inner}",
                    "add rsp, 8",
                    ".cfi_adjust_cfa_offset -8",
                    "ret",
                    ".cfi_endproc",
                    inner = sym $inner,
                )
            }
            keep!(entry);
        };
    )*};
}

behind_six! {
    GOACC_parallel_keyed => keyed;
    GOACC_enter_data => enter_words;
    GOACC_exit_data => exit_words;
    GOACC_update => update_words;
}

extern "C" fn keyed(
    flags: i32,
    func: extern "C" fn(usize),
    n: usize,
    addrs: *mut usize,
    sizes: *const usize,
    kinds: *const u16,
    launch: *const usize,
) {
    compute(flags, func, n, addrs, sizes, kinds, launch);
}

/// The functions of data constructs: async is the sixth argument, the number of waits the seventh, on the
/// stack.
macro_rules! words {
    ($($name:ident => $inner:ident;)*) => {$(
        extern "C" fn $name(
            flags: i32,
            n: usize,
            addrs: *mut usize,
            sizes: *const usize,
            kinds: *const u16,
            queue: i32,
            rest: *const usize,
        ) {
            // SAFETY: the compiler passes the number.
            let w = unsafe { Words { queue, waits: *rest as i32, rest: rest.add(1) } };
            $inner(flags, n, addrs, sizes, kinds, &w);
        }
    )*};
}

words! {
    enter_words => enter_data;
    exit_words => exit_data;
    update_words => update;
}

export! {
    /// enter data or exit data, by GCC before 12.
    fn GOACC_enter_exit_data(flags: i32, n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u16, queue: i32) {
        // SAFETY: the compiler's arguments; those behind, of queues to wait for, are not passed on.
        let back = unsafe { leaves(n, kinds) };
        let words = Words { queue, waits: 0, rest: core::ptr::null() };
        if back { exit_data(flags, n, addrs, sizes, kinds, &words) } else { enter_data(flags, n, addrs, sizes, kinds, &words) }
    }
    /// A compute construct, by GCC 5: without launch arguments in their later form.
    fn GOACC_parallel(flags: i32, func: extern "C" fn(usize), n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u16) {
        const NONE: [usize; 1] = [0];
        compute(flags, func, n, addrs, sizes, kinds, NONE.as_ptr());
    }
    /// data and host_data; the end does not tell which of the two it ends.
    fn GOACC_data_start(flags: i32, n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u16) {
        // SAFETY: the compiler's arguments.
        let first = if n > 0 { unsafe { *kinds as u8 } } else { 0 };
        let host_data = matches!(first, kind::USE_DEVICE_PTR | kind::USE_DEVICE_PTR_IF_PRESENT);
        let which = if host_data { Construct::HostData } else { Construct::Data };
        acc::need();
        Event::of(which, SYNC).around(ENTER_DATA, |e| guarded(|| {
            if !device::all().is_empty() {
                // SAFETY: as above.
                let items = unsafe { Items::read(n, addrs, sizes, kinds) };
                let d = chosen(flags);
                device::openacc::telling_if(d, e, || constructs::begin_data(task(), d, &items, For::Acc));
            }
        }));
    }
    /// The end of data and host_data.
    fn GOACC_data_end() {
        acc::need();
        Event::of(Construct::Data, SYNC).around(EXIT_DATA, |e| guarded(|| {
            if !device::all().is_empty() {
                device::openacc::telling_if(device::openacc::current(), e, || constructs::end_data(task()));
            }
        }));
    }
    /// declare.
    fn GOACC_declare(flags: i32, n: usize, addrs: *mut usize, sizes: *const usize, kinds: *const u16) {
        acc::need();
        if let Some(d) = chosen(flags) {
            // SAFETY: the compiler's arguments.
            guarded(|| device::openacc::declare(d, &unsafe { Items::read(n, addrs, sizes, kinds) }));
        }
    }
    /// init. Without the clause the number is −1, the type 0.
    fn GOACC_init(number: i32, device_type: i32) {
        let t = if device_type == acc::NONE { acc::DEFAULT } else { device_type };
        acc::init(t);
        if number >= 0 {
            acc::resolve_number(t, number);
        }
    }
    /// shutdown.
    fn GOACC_shutdown(_number: i32, device_type: i32) {
        acc::shutdown(if device_type == acc::NONE { acc::DEFAULT } else { device_type });
    }
    /// set.
    fn GOACC_set_device(number: i32, device_type: i32) { super::acc::acc_set_device_num(number, device_type) }
    /// The number of threads of a compute construct on the host.
    fn GOACC_get_num_threads() -> i32 { 1 }
    /// The number of the thread.
    fn GOACC_get_thread_num() -> i32 { 0 }
}

/// The wait directive.
extern "C" fn wait(queue: i32, n: i32, args: &VaList) {
    acc::need();
    // SAFETY: the compiler passes `n` integers after the two fixed arguments.
    let list: Vec<i32> = (0..n.max(0) as usize).map(|i| unsafe { args.word(2, i) } as i32).collect();
    list.iter().for_each(|&q| acc::check_queue(q));
    if let Some(d) = guarded(device::openacc::current) {
        guarded(|| device::openacc::wait_for(d, &list, list.is_empty(), device::openacc::queue(queue)));
    }
}

/// The argument list of a variadic function, as the System V ABI lays it out (section 3.5.7).
#[repr(C)]
struct VaList {
    gp_offset: u32,
    fp_offset: u32,
    overflow: *const usize,
    registers: *const usize,
}

impl VaList {
    /// The `i`th integer argument after `fixed` ones.
    ///
    /// # Safety
    /// The caller passed it.
    unsafe fn word(&self, fixed: usize, i: usize) -> usize {
        let n = fixed + i;
        // SAFETY: by the caller's promise: six words in registers, the rest on the stack.
        unsafe { if n < 6 { *self.registers.add(n) } else { *self.overflow.add(n - 6) } }
    }
}

/// Exports a variadic function: `inner` gets the fixed arguments and, in the register after them, the list
/// of the others.
macro_rules! variadic {
    ($($name:ident ($fixed:literal, $register:literal) => $inner:path;)*) => {$(
        const _: () = {
            #[unsafe(naked)]
            unsafe extern "C" fn entry() {
                core::arch::naked_asm!(
                    exported_label!($name),
                    ".cfi_startproc",
                    "sub rsp, 216",
                    ".cfi_adjust_cfa_offset 216",
                    "mov [rsp + 32], rdi", "mov [rsp + 40], rsi", "mov [rsp + 48], rdx",
                    "mov [rsp + 56], rcx", "mov [rsp + 64], r8", "mov [rsp + 72], r9",
                    "movaps [rsp + 80], xmm0", "movaps [rsp + 96], xmm1", "movaps [rsp + 112], xmm2",
                    "movaps [rsp + 128], xmm3", "movaps [rsp + 144], xmm4", "movaps [rsp + 160], xmm5",
                    "movaps [rsp + 176], xmm6", "movaps [rsp + 192], xmm7",
                    concat!("mov dword ptr [rsp], ", $fixed, " * 8"),
                    "mov dword ptr [rsp + 4], 48",
                    "lea rax, [rsp + 224]", "mov [rsp + 8], rax",
                    "lea rax, [rsp + 32]", "mov [rsp + 16], rax",
                    concat!("mov ", $register, ", rsp"),
                    "call {inner}",
                    "add rsp, 216",
                    ".cfi_adjust_cfa_offset -216",
                    "ret",
                    ".cfi_endproc",
                    inner = sym $inner,
                )
            }
            keep!(entry);
        };
    )*};
}

variadic! {
    GOACC_wait (2, "rdx") => wait;
    GOMP_PLUGIN_error (1, "rsi") => plugin_error;
    GOMP_PLUGIN_fatal (1, "rsi") => plugin_fatal;
    GOMP_PLUGIN_debug (2, "rdx") => plugin_debug;
}

unsafe extern "C" {
    fn vsnprintf(text: *mut c_char, size: usize, format: *const c_char, args: &mut VaList) -> i32;
}

fn formatted(format: *const c_char, args: &mut VaList) -> String {
    let mut text = [0u8; 1024];
    // SAFETY: the plugin's format and arguments; what does not fit is cut off.
    unsafe { vsnprintf(text.as_mut_ptr().cast(), text.len(), format, args) };
    String::from_utf8_lossy(text.split(|&b| b == 0).next().unwrap_or(&[])).into_owned()
}

extern "C" fn plugin_error(format: *const c_char, args: &mut VaList) {
    complain!("{}", formatted(format, args));
}

extern "C" fn plugin_fatal(format: *const c_char, args: &mut VaList) -> ! {
    acc::fatal(format_args!("{}", formatted(format, args)))
}

extern "C" fn plugin_debug(_kind: i32, format: *const c_char, args: &mut VaList) {
    if std::env::var_os("GOMP_DEBUG").is_some_and(|v| v == "1") {
        crate::sys::out::stderr(format_args!("{}", formatted(format, args)));
    }
}

fn allocated(p: *mut c_void, bytes: usize) -> *mut c_void {
    if p.is_null() {
        acc::fatal(format_args!("Out of memory allocating {bytes} bytes"));
    }
    p
}

// SAFETY (all three allocations): plain libc calls with the plugin's arguments.
export! {
    /// For plugins: memory or the end of the program.
    fn GOMP_PLUGIN_malloc(bytes: usize) -> *mut c_void { allocated(unsafe { libc::malloc(bytes) }, bytes) }
    /// See `GOMP_PLUGIN_malloc`; zeroed.
    fn GOMP_PLUGIN_malloc_cleared(bytes: usize) -> *mut c_void { allocated(unsafe { libc::calloc(1, bytes) }, bytes) }
    /// See `GOMP_PLUGIN_malloc`.
    fn GOMP_PLUGIN_realloc(p: *mut c_void, bytes: usize) -> *mut c_void { allocated(unsafe { libc::realloc(p, bytes) }, bytes) }
    /// A device's tasks: there is no device, so no plugin has one.
    fn GOMP_PLUGIN_target_task_completion(_task: *mut c_void) {}
    /// See `GOMP_PLUGIN_target_task_completion`.
    fn GOMP_PLUGIN_async_unmap_vars(_vars: *mut c_void, _queue: i32) {}
    /// A device's call of a target region on the host: there is no device.
    fn GOMP_PLUGIN_target_rev() { acc::fatal(format_args!("a target region called back by a device, and there is none")) }
    /// The thread's device state, for OpenACC.
    fn GOMP_PLUGIN_goacc_thread() -> *mut c_void { gcc_plugin::acc_thread() }
    /// See `GOMP_PLUGIN_goacc_thread`.
    fn GOMP_PLUGIN_acc_thread() -> *mut c_void { gcc_plugin::acc_thread_data() }
    /// The default of a dimension (GOMP_OPENACC_DIM): 0, the device chooses.
    fn GOMP_PLUGIN_acc_default_dim(_dimension: u32) -> i32 { 0 }
    /// A device's events: what it fills in is of the types of OpenACC's profiling interface.
    fn GOMP_PLUGIN_goacc_profiling_dispatch(info: &mut Info, event: &mut EventInfo, api: &mut ApiInfo) {
        profiling_interface::dispatch(info, event, api);
    }
}
