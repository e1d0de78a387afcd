//! Comparison of blocks: one launch looks at a whole table of pairs. Each thread compares 16 bytes at a
//! time; who finds a difference writes pair and offset, any of several will do.

use super::super::backend::{Addr, Backend, Failed, compare_on_host};
use super::{Kernel, Loaded, is_there};
use crate::sys::own::Own;
use core::ffi::c_void;

const PTX: &str = concat!(include_str!("compare.ptx"), "\0");

const BLOCKS: u32 = 1056;
const THREADS: u32 = 256;
/// Pairs a launch.
const MOST: usize = 4096;
const SAME: u64 = u64::MAX;

/// The kernel on one device, loaded at the first comparison. Used under the section's lock.
#[derive(Default)]
pub(crate) struct Compare(Own<Option<Loaded>>);

impl Compare {
    fn load(&self, device: &dyn Backend) -> Result<Loaded, Failed> {
        if let Some(l) = self.0.get() {
            return Ok(l);
        }
        // The plugin makes its context the calling thread's with this.
        let (Some(table), Some(out)) = (device.alloc(24 * MOST), device.alloc(8)) else { return Err(Failed) };
        let loaded = Loaded { kernel: Kernel::load(PTX, c"promp_compare")?, table, out };
        self.test(device, loaded)?;
        self.0.set(Some(loaded));
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
        unsafe { l.kernel.run(BLOCKS, THREADS, &args)? };
        if !device.copy_out((&raw mut found) as usize, l.out, 8, None) {
            return Err(Failed);
        }
        Ok((found != SAME).then_some(((found >> 40) as usize, (found & ((1 << 40) - 1)) as usize)))
    }

    /// Is the driver's library there?
    pub(crate) fn is_usable(&self) -> bool {
        self.0.get().is_some() || is_there()
    }

    /// Compares pairs of blocks; those that do not fit 16 bytes are compared by the host.
    pub(crate) fn run(
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
