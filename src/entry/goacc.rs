//! The constructs of OpenACC as GCC compiles them, and the functions that libgomp has for device plugins.

use super::omp::export;
use crate::acc::profile::{COMPUTE, Construct, ENTER_DATA, EXIT_DATA, Event, UPDATE};
use crate::acc::{self, SYNC};
use crate::{complain, exported_label, keep};
use core::ffi::{c_char, c_void};

/// Map kinds (the low byte) by what they tell of the construct they belong to.
mod kind {
    pub const FROM: u8 = 0x02;
    pub const POINTER: u8 = 0x04;
    pub const TO_PSET: u8 = 0x05;
    pub const DELETE: u8 = 0x07;
    pub const USE_DEVICE_PTR: u8 = 0x0e;
    pub const USE_DEVICE_PTR_IF_PRESENT: u8 = 0x10;
    pub const RELEASE: u8 = 0x17;
    pub const STRUCT: u8 = 0x1c;
    pub const DETACH: u8 = 0x51;
    pub const FORCE_FROM: u8 = 0x82;
    pub const FORCE_DETACH: u8 = 0xd1;
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

fn construct(which: Construct, events: (i32, i32), queue: i32) {
    acc::need();
    Event::of(which, queue).around(events, || {});
}

export! {
    /// A compute construct: the outlined function runs here. Launch arguments (after the sixth) say how to use a device.
    fn GOACC_parallel_keyed(_flags: i32, func: extern "C" fn(usize), _n: usize, addrs: usize) {
        acc::need();
        Event::of(Construct::Parallel, SYNC).around(COMPUTE, || func(addrs));
    }
    /// A compute construct, by GCC 5.
    fn GOACC_parallel(flags: i32, func: extern "C" fn(usize), n: usize, addrs: usize) {
        GOACC_parallel_keyed(flags, func, n, addrs);
    }
    /// enter data; waits for nothing, since nothing is ever under way.
    fn GOACC_enter_data(_flags: i32, _n: usize, _addrs: usize, _sizes: usize, _kinds: *const u16, queue: i32) {
        construct(Construct::EnterData, ENTER_DATA, queue);
    }
    /// exit data.
    fn GOACC_exit_data(_flags: i32, _n: usize, _addrs: usize, _sizes: usize, _kinds: *const u16, queue: i32) {
        construct(Construct::ExitData, EXIT_DATA, queue);
    }
    /// enter data or exit data, by GCC before 12.
    fn GOACC_enter_exit_data(flags: i32, n: usize, addrs: usize, sizes: usize, kinds: *const u16, queue: i32) {
        // SAFETY: the compiler's arguments.
        let f = if unsafe { leaves(n, kinds) } { GOACC_exit_data } else { GOACC_enter_data };
        f(flags, n, addrs, sizes, kinds, queue);
    }
    /// update.
    fn GOACC_update(_flags: i32, _n: usize, _addrs: usize, _sizes: usize, _kinds: *const u16, queue: i32) {
        construct(Construct::Update, UPDATE, queue);
    }
    /// data and host_data; the end does not tell which of the two it ends.
    fn GOACC_data_start(_flags: i32, n: usize, _addrs: usize, _sizes: usize, kinds: *const u16) {
        // SAFETY: the compiler's arguments.
        let first = if n > 0 { unsafe { *kinds as u8 } } else { 0 };
        let host_data = matches!(first, kind::USE_DEVICE_PTR | kind::USE_DEVICE_PTR_IF_PRESENT);
        construct(if host_data { Construct::HostData } else { Construct::Data }, ENTER_DATA, SYNC);
    }
    /// The end of data and host_data.
    fn GOACC_data_end() { construct(Construct::Data, EXIT_DATA, SYNC) }
    /// declare.
    fn GOACC_declare(_flags: i32, _n: usize, _addrs: usize, _sizes: usize, _kinds: *const u16) { acc::need() }
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
extern "C" fn wait(_queue: i32, n: i32, args: &VaList) {
    acc::need();
    for i in 0..n.max(0) as usize {
        // SAFETY: the compiler passes `n` integers after the two fixed arguments.
        acc::check_queue(unsafe { args.word(2, i) } as i32);
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

/// Exports a variadic function: `inner` gets the fixed arguments and, in the register after them, the list of the others.
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
    /// The thread's device state: none on the host.
    fn GOMP_PLUGIN_goacc_thread() -> *mut c_void { core::ptr::null_mut() }
    /// See `GOMP_PLUGIN_goacc_thread`.
    fn GOMP_PLUGIN_acc_thread() -> *mut c_void { core::ptr::null_mut() }
    /// The default of a dimension (GOMP_OPENACC_DIM): 0, the device chooses.
    fn GOMP_PLUGIN_acc_default_dim(_dimension: u32) -> i32 { 0 }
    /// Does a device dispatch events? There is none.
    fn GOMP_PLUGIN_goacc_profiling_dispatch(_info: *mut c_void, _event: *mut c_void, _api: *mut c_void) {}
}
