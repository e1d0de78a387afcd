//! Names of kernels and whether they may be run again and compared: from PTX text, or because the user
//! vouches.

use super::ptx::Program;
use crate::device::backend::{Addr, Image, Properties};
use crate::device::declared;
use crate::device::images::{self, Table};
use crate::sys::lock::Locked;
use crate::sys::maps;
use core::ffi::{CStr, c_char};
use std::collections::BTreeMap;

/// The type of device whose images hold PTX.
const NVIDIA: i32 = 5;

/// What is known of a kernel.
#[derive(Clone)]
struct Known {
    name: String,
    /// Why it is not repeatable.
    reason: Option<String>,
}

/// A device's kernels.
pub struct Verdicts {
    assume: Vec<String>,
    native: bool,
    known: Locked<BTreeMap<usize, Known>>,
}

/// What GCC's mkoffload writes for nvptx (version 1 of the device's format).
#[repr(C)]
struct PtxImage {
    objects: *const PtxObject,
    objects_n: u32,
    variables: *const *const c_char,
    variables_n: u32,
    functions: *const PtxFunction,
    functions_n: u32,
}

#[repr(C)]
struct PtxObject {
    text: *const u8,
    bytes: usize,
}

#[repr(C)]
struct PtxFunction {
    name: *const c_char,
    dims: [u16; 3],
}

/// Names and verdicts of an image's kernels, in the order of its functions.
fn read(image: &Image, native: bool) -> Vec<Known> {
    const FIRST: u32 = 1;
    if image.target != NVIDIA || image.version & 0xffff != FIRST || image.data.is_null() {
        return Vec::new();
    }
    // SAFETY: constant data in the format of this version.
    unsafe {
        let p = &*image.data.cast::<PtxImage>();
        let list = |at: *const PtxObject, n: u32| core::slice::from_raw_parts(at, n as usize);
        let objects = list(p.objects, p.objects_n).iter().map(|o| {
            let bytes = core::slice::from_raw_parts(o.text, o.bytes);
            let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
            core::str::from_utf8(&bytes[..end]).unwrap_or("")
        });
        let text = |p: *const c_char| CStr::from_ptr(p).to_string_lossy().into_owned();
        let variables = core::slice::from_raw_parts(p.variables, p.variables_n as usize);
        let variables = if p.variables_n == 0 { &[] } else { variables };
        let program = Program::read(objects, variables.iter().map(|&v| text(v)));
        let functions = core::slice::from_raw_parts(p.functions, p.functions_n as usize);
        let known = functions.iter().map(|f| {
            let symbol = text(f.name);
            let shared = native && program.uses_variables(&symbol);
            let reason = program.verdict(&symbol).or_else(|| {
                shared.then(|| "a variable of declare target, which this device shares with the host".into())
            });
            Known { name: symbol.replace('$', "."), reason }
        });
        known.collect()
    }
}

impl Verdicts {
    /// Of a device of these properties.
    pub fn new(assume: Vec<String>, properties: Properties) -> Self {
        Self { assume, native: properties.native, known: Locked::new(BTreeMap::new()) }
    }

    /// An image was loaded: its functions are at these addresses.
    pub fn learn(&self, image: &Image, pairs: &[(Addr, Addr)]) {
        let known = read(image, self.native);
        self.known.with(|all| {
            for (mut k, &(at, _)) in known.into_iter().zip(pairs) {
                self.vouch(&mut k);
                all.insert(at, k);
            }
        });
    }

    fn vouch(&self, k: &mut Known) {
        if self.assume.iter().any(|g| maps::glob(g.as_bytes(), k.name.as_bytes())) {
            // More is not looked at before and after each kernel.
            let many = self.native && declared::size() > declared::MOST;
            k.reason =
                many.then(|| "there are many variables of declare target, which it could change".into());
        }
    }

    fn of(&self, func: usize) -> Known {
        if let Some(k) = self.known.with(|all| all.get(&func).cloned()) {
            return k;
        }
        // The host's function: GCC may have written PTX for it, too.
        let written = images::of_type(NVIDIA).into_iter().find_map(|image| {
            let i = Table::of(&image).functions.iter().position(|&f| f == func)?;
            read(&image, true).into_iter().nth(i)
        });
        let mut k = written.unwrap_or_else(|| Known {
            name: maps::function_name(func).unwrap_or_else(|| format!("{func:#x}")),
            reason: Some("no PTX to judge it by".into()),
        });
        self.vouch(&mut k);
        self.known.with(|all| all.insert(func, k.clone()));
        k
    }

    /// A kernel's name.
    pub fn name(&self, func: usize) -> String {
        self.of(func).name
    }

    /// Must it not be run again?
    pub fn is_order_dependent(&self, func: usize) -> bool {
        self.of(func).reason.is_some()
    }

    /// Those that were met and could not be verified, with the reason.
    pub fn unverified(&self) -> Vec<String> {
        self.known.with(|all| {
            let why = |k: &Known| k.reason.as_ref().map(|r| format!("{}: {r}", k.name));
            all.values().filter_map(why).collect()
        })
    }
}

/// Has the program libraries loaded that write to a device's memory by themselves?
pub fn others_use_devices() -> bool {
    const NAMES: [&str; 8] = [
        "libcudart",
        "libcublas",
        "libcufft",
        "libcusparse",
        "libcusolver",
        "libnccl",
        "libamdhip64",
        "librocblas",
    ];
    crate::sys::objects::loaded().iter().any(|o| NAMES.iter().any(|n| o.path.contains(n)))
}
