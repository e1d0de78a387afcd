//! Comparison of blocks on an NVIDIA device: a small kernel of our own, in PTX, that the driver compiles.
//! One launch looks at a whole table of pairs. No CUDA toolkit is needed: the driver's library is the one
//! that the plugin has loaded.

use super::backend::{Addr, Backend, Failed, compare_on_host};
use crate::sys::own::Own;
use core::ffi::{c_char, c_void};
use core::ptr::null_mut;

/// Each thread compares 16 bytes at a time; who finds a difference writes pair and offset. Any of several
/// will do.
const PTX: &str = "
.version 6.0
.target sm_30
.address_size 64
.visible .entry promp_compare(.param .u64 table, .param .u32 count, .param .u64 out)
{
 .reg .pred %p<4>;
 .reg .u32 %r<8>;
 .reg .u64 %d<20>;
 ld.param.u64 %d1,[table];
 ld.param.u32 %r1,[count];
 ld.param.u64 %d2,[out];
 mov.u32 %r2,%ctaid.x;
 mov.u32 %r3,%ntid.x;
 mov.u32 %r4,%tid.x;
 mov.u32 %r5,%nctaid.x;
 mul.wide.u32 %d3,%r2,%r3;
 cvt.u64.u32 %d4,%r4;
 add.u64 %d3,%d3,%d4;
 shl.b64 %d3,%d3,4;
 mul.wide.u32 %d5,%r3,%r5;
 shl.b64 %d5,%d5,4;
 mov.u32 %r6,0;
PAIR:
 setp.ge.u32 %p1,%r6,%r1;
 @%p1 bra END;
 mul.wide.u32 %d6,%r6,24;
 add.u64 %d6,%d1,%d6;
 ld.global.u64 %d7,[%d6];
 ld.global.u64 %d8,[%d6+8];
 ld.global.u64 %d9,[%d6+16];
 mov.u64 %d10,%d3;
LOOP:
 setp.ge.u64 %p2,%d10,%d9;
 @%p2 bra NEXT;
 add.u64 %d11,%d7,%d10;
 add.u64 %d12,%d8,%d10;
 ld.global.v2.u64 {%d13,%d14},[%d11];
 ld.global.v2.u64 {%d15,%d16},[%d12];
 xor.b64 %d13,%d13,%d15;
 xor.b64 %d14,%d14,%d16;
 or.b64 %d13,%d13,%d14;
 setp.eq.u64 %p3,%d13,0;
 @%p3 bra SAME;
 cvt.u64.u32 %d17,%r6;
 shl.b64 %d17,%d17,40;
 or.b64 %d17,%d17,%d10;
 st.global.u64 [%d2],%d17;
SAME:
 add.u64 %d10,%d10,%d5;
 bra LOOP;
NEXT:
 add.u32 %r6,%r6,1;
 bra PAIR;
END:
 ret;
}
\0";

const BLOCKS: u32 = 1056;
const THREADS: u32 = 256;
/// Pairs a launch.
const MOST: usize = 4096;
const SAME: u64 = u64::MAX;

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

#[derive(Clone, Copy)]
struct Loaded {
    launch: LaunchKernel,
    synchronize: unsafe extern "C" fn() -> i32,
    function: usize,
    table: Addr,
    out: Addr,
}

/// The kernel on one device, loaded at the first comparison. Used under the section's lock.
#[derive(Default)]
pub struct Compare(Own<Option<Loaded>>);

/// A function of the driver's library.
fn driver(name: &core::ffi::CStr) -> Result<*mut c_void, Failed> {
    // SAFETY: the library is loaded; RTLD_NOLOAD gives its handle.
    unsafe {
        let handle = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let p = if handle.is_null() { null_mut() } else { libc::dlsym(handle, name.as_ptr()) };
        if p.is_null() { Err(Failed) } else { Ok(p) }
    }
}

impl Compare {
    fn load(&self, device: &dyn Backend) -> Result<Loaded, Failed> {
        if let Some(l) = self.0.get() {
            return Ok(l);
        }
        // The plugin makes its context the calling thread's with this.
        let (Some(table), Some(out)) = (device.alloc(24 * MOST), device.alloc(8)) else { return Err(Failed) };
        type Load = unsafe extern "C" fn(*mut usize, *const c_char) -> i32;
        type Get = unsafe extern "C" fn(*mut usize, usize, *const c_char) -> i32;
        // SAFETY: functions of the driver's interface, by their documented types.
        let loaded = unsafe {
            let load = core::mem::transmute::<*mut c_void, Load>(driver(c"cuModuleLoadData")?);
            let get = core::mem::transmute::<*mut c_void, Get>(driver(c"cuModuleGetFunction")?);
            let (mut module, mut function) = (0, 0);
            if load(&mut module, PTX.as_ptr().cast()) != 0
                || get(&mut function, module, c"promp_compare".as_ptr()) != 0
            {
                return Err(Failed);
            }
            Loaded {
                launch: core::mem::transmute::<*mut c_void, LaunchKernel>(driver(c"cuLaunchKernel")?),
                synchronize: core::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> i32>(driver(
                    c"cuCtxSynchronize",
                )?),
                function,
                table,
                out,
            }
        };
        self.0.set(Some(loaded));
        self.test(device, loaded)?;
        Ok(loaded)
    }

    /// A kernel that finds no difference must have proved that it would: one byte in each of some places.
    fn test(&self, device: &dyn Backend, l: Loaded) -> Result<(), Failed> {
        const BYTES: usize = 6 << 20;
        let (Some(a), Some(b)) = (device.alloc(BYTES), device.alloc(BYTES)) else { return Err(Failed) };
        let zeros = vec![0u8; BYTES];
        for at in [a, b] {
            if !device.copy_in(at, zeros.as_ptr() as usize, BYTES, None) {
                return Err(Failed);
            }
        }
        let one = 1u8;
        let right =
            [Some(0), Some(BYTES / 2 + 13), Some(BYTES - 1), None].into_iter().all(|place: Option<usize>| {
                let set = |v: &u8| {
                    place.is_none_or(|p| device.copy_in(b + p, core::ptr::from_ref(v) as usize, 1, None))
                };
                let planted = set(&one);
                let found = self.launch(device, l, &[(a, b, BYTES)]);
                planted && set(&0) && found == Ok(place.map(|p| (0, p & !15)))
            });
        device.free(a);
        device.free(b);
        if right { Ok(()) } else { Err(Failed) }
    }

    fn launch(
        &self,
        device: &dyn Backend,
        l: Loaded,
        pairs: &[(Addr, Addr, usize)],
    ) -> Result<Option<(usize, usize)>, Failed> {
        let table: Vec<usize> = pairs.iter().flat_map(|&(a, b, n)| [a, b, n]).collect();
        let (count, mut found) = (pairs.len() as u32, SAME);
        let put = |to, from: usize, n| device.copy_in(to, from, n, None);
        if !put(l.table, table.as_ptr() as usize, 8 * table.len())
            || !put(l.out, (&raw const found) as usize, 8)
        {
            return Err(Failed);
        }
        let args =
            [(&raw const l.table).cast(), (&raw const count).cast(), (&raw const l.out).cast::<c_void>()];
        // SAFETY: the kernel takes these three arguments; the copies above have made the plugin's context
        // current.
        let done = unsafe {
            (l.launch)(l.function, BLOCKS, 1, 1, THREADS, 1, 1, 0, 0, args.as_ptr(), core::ptr::null()) == 0
                && (l.synchronize)() == 0
        };
        if !done || !device.copy_out((&raw mut found) as usize, l.out, 8, None) {
            return Err(Failed);
        }
        Ok((found != SAME).then_some(((found >> 40) as usize, (found & ((1 << 40) - 1)) as usize)))
    }

    /// Is the driver's library there?
    pub fn is_usable(&self) -> bool {
        self.0.get().is_some() || driver(c"cuModuleLoadData").is_ok()
    }

    /// Compares pairs of blocks; those that do not fit 16 bytes are compared by the host.
    pub fn run(
        &self,
        device: &dyn Backend,
        pairs: &[(Addr, Addr, usize)],
    ) -> Result<Option<(usize, usize)>, Failed> {
        let l = self.load(device)?;
        let even = |p: &(Addr, Addr, usize)| (p.0 | p.1 | p.2).is_multiple_of(16);
        let (here, there): (Vec<usize>, Vec<usize>) = (0..pairs.len()).partition(|&i| !even(&pairs[i]));
        for part in there.chunks(MOST) {
            let list: Vec<_> = part.iter().map(|&i| pairs[i]).collect();
            if let Some((i, at)) = self.launch(device, l, &list)? {
                return Ok(Some((part[i], at)));
            }
        }
        for i in here {
            if let Some((_, at)) = compare_on_host(device, &pairs[i..=i])? {
                return Ok(Some((i, at)));
            }
        }
        Ok(None)
    }
}
