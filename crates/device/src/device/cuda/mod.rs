//! Small kernels of our own on an NVIDIA device, in PTX, that the driver compiles: comparison of blocks
//! (compare.rs) and signatures of pieces (sign.rs). No CUDA toolkit is needed: the driver's library is the
//! one that the plugin has loaded.

mod compare;
mod sign;

pub(crate) use compare::Compare;
pub(crate) use sign::Sign;

use super::backend::{Addr, Failed};
use core::ffi::{CStr, c_char, c_void};
use core::ptr::{null, null_mut};

type LaunchKernel = unsafe extern "C" fn(
    usize,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    usize,
    *const *const c_void,
    *const c_void,
) -> i32;

/// A kernel that the driver has compiled.
#[derive(Clone, Copy)]
struct Kernel {
    launch: LaunchKernel,
    synchronize: unsafe extern "C" fn() -> i32,
    function: usize,
}

/// A kernel on a device, with memory for the table that it works through, and for what it finds.
#[derive(Clone, Copy)]
struct Loaded {
    kernel: Kernel,
    table: Addr,
    out: Addr,
}

/// A function of the driver's library.
fn driver(name: &CStr) -> Result<*mut c_void, Failed> {
    // SAFETY: the library is loaded; RTLD_NOLOAD gives its handle.
    unsafe {
        let handle = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let p = if handle.is_null() { null_mut() } else { libc::dlsym(handle, name.as_ptr()) };
        if p.is_null() { Err(Failed) } else { Ok(p) }
    }
}

/// Is the driver's library there?
fn is_there() -> bool {
    driver(c"cuModuleLoadData").is_ok()
}

impl Kernel {
    /// Has the driver compile `ptx`, which ends with a zero, for the calling thread's context: `name` is one
    /// of its kernels.
    fn load(ptx: &str, name: &CStr) -> Result<Self, Failed> {
        type Load = unsafe extern "C" fn(*mut usize, *const c_char) -> i32;
        type Get = unsafe extern "C" fn(*mut usize, usize, *const c_char) -> i32;
        debug_assert!(ptx.ends_with('\0'));
        // SAFETY: functions of the driver's interface, by their documented types.
        unsafe {
            let load = core::mem::transmute::<*mut c_void, Load>(driver(c"cuModuleLoadData")?);
            let get = core::mem::transmute::<*mut c_void, Get>(driver(c"cuModuleGetFunction")?);
            let (mut module, mut function) = (0, 0);
            if load(&mut module, ptx.as_ptr().cast()) != 0 || get(&mut function, module, name.as_ptr()) != 0 {
                return Err(Failed);
            }
            Ok(Self {
                launch: core::mem::transmute::<*mut c_void, LaunchKernel>(driver(c"cuLaunchKernel")?),
                synchronize: core::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> i32>(driver(
                    c"cuCtxSynchronize",
                )?),
                function,
            })
        }
    }

    /// Runs it to its end: so many blocks of so many threads.
    ///
    /// # Safety
    /// The arguments are those that the kernel takes, and its context is the calling thread's.
    unsafe fn run(&self, blocks: u32, threads: u32, args: &[*const c_void]) -> Result<(), Failed> {
        // SAFETY: by the caller's promise.
        let done = unsafe {
            (self.launch)(self.function, blocks, 1, 1, threads, 1, 1, 0, 0, args.as_ptr(), null()) == 0
                && (self.synchronize)() == 0
        };
        if done { Ok(()) } else { Err(Failed) }
    }
}
