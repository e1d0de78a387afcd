//! Names of kernels and whether they may be run again and compared: from PTX text, or because the user
//! vouches.

use super::ptx::Program;
use crate::device::backend::{Addr, Image, Properties};
use crate::device::declare_target;
use crate::device::images::{self, Table};
use crate::recover::unmade::NO_PTX;
use crate::sys::lock::Locked;
use crate::sys::{maps, objects};
use core::ffi::{CStr, c_char};
use std::collections::{BTreeMap, BTreeSet};

/// The type of device whose images hold PTX.
const NVIDIA: i32 = 5;

/// What is known of a kernel.
#[derive(Clone)]
struct Known {
    name: String,
    /// Why it is not repeatable.
    reason: Option<String>,
    /// Was it to be executed?
    met: bool,
}

impl Known {
    fn new(name: String, reason: Option<String>) -> Self {
        Self { name, reason, met: false }
    }

    /// For the report.
    fn unverified(&self) -> Option<String> {
        self.reason.as_ref().filter(|_| self.met).map(|r| format!("{}: {r}", self.name))
    }
}

/// A device's kernels.
pub(crate) struct Verdicts {
    assume: Vec<String>,
    native: bool,
    known: Locked<Kernels>,
}

/// Those that are known, by address.
struct Kernels {
    at: BTreeMap<usize, Known>,
    /// Of libraries that were closed: what the report says of them.
    gone: BTreeSet<String>,
    /// The loaded objects to which these addresses belong ([`objects::changes`]).
    objects: u64,
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
        let texts = list(p.objects, p.objects_n).iter().map(|o| {
            let bytes = core::slice::from_raw_parts(o.text, o.bytes);
            let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
            core::str::from_utf8(&bytes[..end]).unwrap_or("")
        });
        let text = |p: *const c_char| CStr::from_ptr(p).to_string_lossy().into_owned();
        let variables = core::slice::from_raw_parts(p.variables, p.variables_n as usize);
        let variables = if p.variables_n == 0 { &[] } else { variables };
        let program = Program::read(texts, variables.iter().map(|&v| text(v)));
        let functions = core::slice::from_raw_parts(p.functions, p.functions_n as usize);
        let known = functions.iter().map(|f| {
            let symbol = text(f.name);
            let shared = native && program.uses_variables(&symbol);
            let reason = program.verdict(&symbol).or_else(|| {
                shared.then(|| "a variable of declare target, which this device shares with the host".into())
            });
            Known::new(symbol.replace('$', "."), reason)
        });
        known.collect()
    }
}

impl Verdicts {
    /// Of a device of these properties.
    pub(crate) fn new(assume: Vec<String>, properties: Properties) -> Self {
        let none = Kernels { at: BTreeMap::new(), gone: BTreeSet::new(), objects: 0 };
        Self { assume, native: properties.native, known: Locked::new(none) }
    }

    /// An image was loaded: its functions are at these addresses.
    pub(crate) fn learn(&self, image: &Image, pairs: &[(Addr, Addr)]) {
        self.put(read(image, self.native), pairs);
    }

    /// Notes the functions of an image, at these addresses.
    fn put(&self, known: Vec<Known>, pairs: &[(Addr, Addr)]) {
        self.known.with(|all| {
            for (mut k, &(at, _)) in known.into_iter().zip(pairs) {
                self.vouch(&mut k);
                all.at.insert(at, k);
            }
        });
    }

    fn vouch(&self, k: &mut Known) {
        if self.assume.iter().any(|g| maps::glob(g.as_bytes(), k.name.as_bytes())) {
            // More is not looked at before and after each kernel.
            let many = self.native && declare_target::size() > declare_target::MOST;
            k.reason =
                many.then(|| "there are many variables of declare target, which it could change".into());
        }
    }

    /// On a device that executes the host's functions their addresses mean something else as soon as a
    /// library has been closed, and another one opened.
    fn refresh(&self) {
        let objects = if self.native { objects::changes() } else { 0 };
        self.known.with(|all| {
            if all.objects != objects {
                all.objects = objects;
                let before = core::mem::take(&mut all.at);
                all.gone.extend(before.values().filter_map(Known::unverified));
            }
        });
    }

    /// What is known of the function; `to_run`: it is to be executed.
    fn of(&self, func: usize, to_run: bool) -> Known {
        let look = || {
            self.known.with(|all| {
                let k = all.at.get_mut(&func)?;
                k.met |= to_run;
                Some(k.clone())
            })
        };
        self.refresh();
        if let Some(k) = look() {
            return k;
        }
        self.learn_of_host(func);
        look().unwrap_or_else(|| {
            let name = maps::function_name(func).unwrap_or_else(|| format!("{func:#x}"));
            let k = Known::new(name, Some(NO_PTX.into()));
            self.put(vec![k], &[(func, func)]);
            look().expect("just noted")
        })
    }

    /// The host's function: GCC may have written PTX for it, too. Then its whole image becomes known, for to
    /// read the text takes some 10 ms.
    fn learn_of_host(&self, func: usize) {
        let of = |image: &Image| Table::of(image).functions.contains(&func);
        let Some(image) = images::of_type(NVIDIA).into_iter().find(of) else { return };
        let pairs: Vec<_> = Table::of(&image).functions.iter().map(|&f| (f, f)).collect();
        self.put(read(&image, true), &pairs);
    }

    /// A kernel's name.
    pub(crate) fn name(&self, func: usize) -> String {
        self.of(func, false).name
    }

    /// It is to be executed: must that not be repeated?
    pub(crate) fn is_order_dependent(&self, func: usize) -> bool {
        self.of(func, true).reason.is_some()
    }

    /// Those that were met and could not be verified, with the reason.
    pub(crate) fn unverified(&self) -> Vec<String> {
        self.known.with(|all| {
            let there = all.at.values().filter_map(Known::unverified);
            all.gone.iter().cloned().chain(there).collect::<BTreeSet<_>>().into_iter().collect()
        })
    }
}

/// Has the program libraries loaded that write to a device's memory by themselves?
pub(crate) fn others_use_devices() -> bool {
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
    objects::loaded().iter().any(|o| NAMES.iter().any(|n| o.path.contains(n)))
}
