//! The host as a device: its memory is the program's, kernels run in the calling thread.

use super::backend::{Addr, Backend, Image, Launch, Properties, Queue};
use super::native;

/// The initial device.
pub(crate) struct Host;

/// acc_device_host.
pub(crate) const ACC_HOST: i32 = 2;

fn copy(to: usize, from: usize, bytes: usize) -> bool {
    // SAFETY: by the trait's contract memory of the program, at least `bytes` long; it may overlap.
    unsafe { core::ptr::copy(from as *const u8, to as *mut u8, bytes) };
    true
}

impl Backend for Host {
    fn properties(&self) -> Properties {
        Properties { name: "host", acc_type: ACC_HOST, shared_memory: true, native: true, openacc: true }
    }
    fn open(&self) -> Result<(), String> {
        Ok(())
    }
    fn alloc(&self, bytes: usize) -> Option<Addr> {
        // The program's own allocator: it may give the memory to `free`.
        // SAFETY: plain libc allocation.
        let p = unsafe { libc::malloc(bytes) };
        (!p.is_null()).then_some(p as usize)
    }
    fn free(&self, at: Addr) -> bool {
        // SAFETY: from `alloc`.
        unsafe { libc::free(at as *mut libc::c_void) };
        true
    }
    fn copy_in(&self, to: Addr, from: usize, bytes: usize, _queue: Queue) -> bool {
        copy(to, from, bytes)
    }
    fn copy_out(&self, to: usize, from: Addr, bytes: usize, _queue: Queue) -> bool {
        copy(to, from, bytes)
    }
    fn copy_within(&self, to: Addr, from: Addr, bytes: usize) -> bool {
        copy(to, from, bytes)
    }
    fn load(&self, _image: &Image) -> Result<Vec<(Addr, Addr)>, String> {
        Ok(Vec::new())
    }
    fn launch(&self, launch: &Launch, _queue: Queue) -> bool {
        native::run((launch.func, launch.block), launch.limit, None);
        true
    }
}
