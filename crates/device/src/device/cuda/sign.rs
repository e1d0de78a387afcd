//! Signatures of pieces: a warp signs a piece, 512 bytes at a time, and its lanes' sums and exclusive ors
//! are folded into one. A kernel that cannot be loaded, or that has not shown that it computes what
//! signature.rs says, is not used: the host signs then.

use super::super::backend::{Addr, Backend, Failed};
use super::super::signature::{self, PIECE, Signature};
use super::{Kernel, Loaded, is_there};
use crate::say;
use crate::sys::own::Own;
use crate::sys::random::Random;

const PTX: &str = concat!(include_str!("sign.ptx"), "\0");

const THREADS: u32 = 256;
/// Pieces of a block of threads.
const WARPS: usize = THREADS as usize / 32;
/// Pieces a launch.
const MOST: usize = 1 << 16;

/// The kernel on one device, loaded when it is first asked for; `None` inside if it cannot be used. Used
/// under the section's lock.
#[derive(Default)]
pub(crate) struct Sign {
    loaded: Own<Option<Option<Loaded>>>,
    told: Own<bool>,
}

impl Sign {
    fn load(&self, device: &dyn Backend) -> Option<Loaded> {
        if let Some(l) = self.loaded.get() {
            return l;
        }
        let loaded = is_there().then(|| Self::tested(device)).and_then(Result::ok);
        self.loaded.set(Some(loaded));
        loaded
    }

    /// Does the device sign?
    pub(crate) fn is_usable(&self, device: &dyn Backend) -> bool {
        self.load(device).is_some()
    }

    /// Loads it. It must compute what the host does, of pieces of many lengths with anything in them.
    fn tested(device: &dyn Backend) -> Result<Loaded, Failed> {
        const BYTES: usize = 1 << 20;
        let all: Vec<Option<Addr>> = [16 * MOST, 16 * MOST, BYTES].map(|n| device.alloc(n)).to_vec();
        let [Some(table), Some(out), Some(data)] = all[..] else {
            all.into_iter().flatten().for_each(|at| {
                device.free(at);
            });
            return Err(Failed);
        };
        let mut random = Random::new(1);
        let bytes: Vec<u8> = (0..BYTES / 8).flat_map(|_| random.number().to_le_bytes()).collect();
        let lengths = [PIECE, 16, 512, 528, PIECE - 16, 4096 + 256];
        let (mut pieces, mut at) = (Vec::new(), 0);
        while at + PIECE <= BYTES {
            let n = lengths[pieces.len() % lengths.len()];
            pieces.push((at, n));
            at += n;
        }
        let there: Vec<(Addr, usize)> = pieces.iter().map(|&(at, n)| (data + at, n)).collect();
        let result =
            Kernel::load(PTX, c"promp_sign").map(|kernel| Loaded { kernel, table, out }).and_then(|l| {
                if !device.copy_in(data, bytes.as_ptr() as usize, BYTES, None) {
                    return Err(Failed);
                }
                let found = l.launch(device, &there)?;
                let right = pieces.iter().map(|&(at, n)| signature::of(&bytes[at..at + n]));
                if right.eq(found) { Ok(l) } else { Err(Failed) }
            });
        device.free(data);
        if result.is_err() {
            device.free(table);
            device.free(out);
        }
        result
    }

    /// Signs pieces; those that do not fit 16 bytes are signed by the host.
    pub(crate) fn run(
        &self,
        device: &dyn Backend,
        pieces: &[(Addr, usize)],
    ) -> Result<Vec<Signature>, Failed> {
        let Some(l) = self.load(device) else {
            if !self.told.get() {
                self.told.set(true);
                say!("the device cannot sign its memory: the host does, slowly (or PROMP_SDC_KEEP=copies)");
            }
            return signature::by_host(device, pieces);
        };
        let even = |p: &(Addr, usize)| (p.0 | p.1).is_multiple_of(16);
        let (there, here): (Vec<usize>, Vec<usize>) = (0..pieces.len()).partition(|&i| even(&pieces[i]));
        let mut all = vec![Signature::default(); pieces.len()];
        for part in there.chunks(MOST) {
            let list: Vec<_> = part.iter().map(|&i| pieces[i]).collect();
            for (&i, signature) in part.iter().zip(l.launch(device, &list)?) {
                all[i] = signature;
            }
        }
        for i in here {
            all[i] = signature::by_host(device, &pieces[i..=i])?[0];
        }
        Ok(all)
    }
}

impl Loaded {
    fn launch(&self, device: &dyn Backend, pieces: &[(Addr, usize)]) -> Result<Vec<Signature>, Failed> {
        let table: Vec<[usize; 2]> = pieces.iter().map(|&(at, n)| [at, n]).collect();
        let (count, mut found) = (pieces.len() as u32, vec![Signature::default(); pieces.len()]);
        if !device.copy_in(self.table, table.as_ptr() as usize, 16 * table.len(), None) {
            return Err(Failed);
        }
        let args = [
            (&raw const self.table).cast(),
            (&raw const count).cast(),
            (&raw const self.out).cast::<core::ffi::c_void>(),
        ];
        // SAFETY: the kernel takes these three arguments; the copy above has made the plugin's context
        // current.
        unsafe { self.kernel.run(pieces.len().div_ceil(WARPS) as u32, THREADS, &args)? };
        if device.copy_out(found.as_mut_ptr() as usize, self.out, 16 * pieces.len(), None) {
            Ok(found)
        } else {
            Err(Failed)
        }
    }
}
