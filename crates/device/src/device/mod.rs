//! Devices: what target regions and OpenACC run on. `backend` is what a kind of device must offer, `host`,
//! `separate` and `plugin` are the kinds; `present` knows what is mapped, `map` carries map clauses out,
//! `constructs` and `routines` are the directives and the functions of the specification over both.
//! docs/internals/devices.md is the user's view.
//!
//! A device has one lock, held while its table changes and data move, never while a kernel of the host's
//! functions runs.

pub(crate) mod attached_pointers;
pub mod backend;
pub(crate) mod construct_mappings;
pub mod constructs;
pub(crate) mod cuda;
pub(crate) mod declare_target;
pub(crate) mod fetch;
pub mod first_fit;
pub mod gcc_plugin;
pub(crate) mod guard;
pub(crate) mod host_device;
pub mod images;
pub mod items;
pub mod kinds;
pub mod map;
pub mod native;
pub(crate) mod observed_device;
pub mod openacc;
pub(crate) mod order;
pub(crate) mod present;
pub mod routines;
pub mod sdc;
pub(crate) mod separate;
pub(crate) mod signature;

#[cfg(test)]
mod tests;

use crate::icv::devices::{Mode, Which};
use crate::icv::{INVALID_DEVICE, Icvs, UNDECIDED_DEVICE, globals};
use crate::observe::{self, Set};
use crate::say;
use crate::sys::lock::{Lock, Locked};
use crate::sys::own::Own;
use crate::sys::syscall::exit_group;
use backend::{Addr, Backend};
use core::fmt::Arguments;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use std::collections::BTreeMap;

/// What a program does with a device cannot go on: says why, and ends it with status 70.
pub fn fail(why: Arguments) -> ! {
    say!("device: {why}; stopping");
    exit_group(70)
}

/// What changes about a device.
#[derive(Default)]
pub struct State {
    /// What is mapped.
    pub(crate) table: present::Table,
    /// The device's functions by the host's.
    pub functions: BTreeMap<usize, Addr>,
    /// declare target link: by the host's variable, its end and where the address of what is mapped goes.
    pub links: BTreeMap<usize, (usize, Addr)>,
    /// Variables of `declare target`, for a device that runs the host's functions.
    declared: declare_target::Declared,
    /// How many of the registered images it has looked at.
    loaded: usize,
    /// Is it open? An error stays.
    opened: Option<Result<(), String>>,
}

/// A device beside the host.
pub struct Device {
    /// Its number for the program.
    pub number: u32,
    /// What it is.
    pub backend: Box<dyn Backend>,
    /// Does it run the host's functions?
    pub native: bool,
    state: Locked<State>,
}

/// Their number and one more, once it is known: 0 before.
static KNOWN: AtomicUsize = AtomicUsize::new(0);
static DEVICES: Own<&'static [Device]> = Own::new(&[]);
static FINDING: Lock = Lock::new();

/// All devices beside the host, in the order of their numbers.
#[inline]
pub fn all() -> &'static [Device] {
    // Acquire: with the release below, the list is seen.
    if KNOWN.load(Acquire) == 0 {
        find();
    }
    DEVICES.get()
}

/// Has the program asked for devices, and are there any?
pub fn is_used() -> bool {
    KNOWN.load(Acquire) > 1
}

/// How many there will be, as far as can be said before they are looked for.
pub fn expected() -> usize {
    match globals().promp.devices.which {
        Which::Auto if KNOWN.load(Acquire) == 0 && images::is_empty() => 0,
        _ => all().len(),
    }
}

#[cold]
fn find() {
    FINDING.with(|| {
        if KNOWN.load(Relaxed) != 0 {
            return;
        }
        let g = globals();
        let list: Vec<Box<dyn Backend>> = match g.promp.devices.which {
            _ if g.target_offload == 2 => Vec::new(),
            Which::Nothing => Vec::new(),
            Which::Separate(n, guarded) => {
                (0..n).map(|i| Box::new(separate::Separate::new(i, guarded)) as Box<dyn Backend>).collect()
            }
            // Without an image there is nothing that a plugin could run.
            Which::Auto if images::is_empty() => Vec::new(),
            Which::Auto => {
                ["nvptx", "gcn"].iter().flat_map(|name| gcc_plugin::devices(name, false)).collect()
            }
            Which::Plugin(name) => gcc_plugin::devices(name, true),
        };
        let devices: Vec<Device> = list
            .into_iter()
            .enumerate()
            .map(|(i, backend)| {
                let number = i as u32;
                let settings = &g.promp.devices;
                let backend = match settings.sdc {
                    Mode::Off | Mode::Chunks(_) => backend,
                    _ => Box::new(sdc::Guarded::new(backend, number, settings.clone(), &g.promp.silent)),
                };
                let heard = observe::somebody_may_want(Set::TARGETS);
                let backend =
                    if heard { Box::new(observed_device::Told::new(backend, number)) } else { backend };
                let native = backend.properties().native;
                Device { number, backend, native, state: Locked::default() }
            })
            .collect();
        if !devices.is_empty() {
            // SAFETY: the handler lives as long as the process.
            unsafe { libc::atexit(close_all) };
        }
        DEVICES.set(Vec::leak(devices));
        KNOWN.store(DEVICES.get().len() + 1, Release);
    });
}

/// The program ends: what is open is closed. Images that are taken back from here on were loaded nowhere.
extern "C" fn close_all() {
    for d in DEVICES.get() {
        let was_open = d.state.with(|s| {
            let was_open = matches!(s.opened, Some(Ok(())));
            s.opened = Some(Err("the program ends".into()));
            was_open
        });
        if was_open {
            d.backend.close();
        }
    }
}

impl Device {
    /// Its state, the device being open and with all images loaded; `None` if it cannot be used (said
    /// once).
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> Option<R> {
        self.state.with(|state| {
            if !matches!(state.opened, Some(Ok(()))) && !self.open(state) {
                return None;
            }
            if self.native || images::is_new(state) {
                images::load_new(self.backend.as_ref(), state);
            }
            Some(f(state))
        })
    }

    /// False if it cannot be used.
    #[cold]
    fn open(&self, state: &mut State) -> bool {
        let opened = state.opened.get_or_insert_with(|| {
            let r = self.backend.open();
            if let Err(why) = &r {
                say!("device {} ({}) cannot be used: {why}", self.number, self.backend.properties().name);
            }
            r
        });
        opened.is_ok()
    }

    /// The device's version of a function of the host, if it has one.
    pub(crate) fn function(&self, func: usize) -> Option<usize> {
        if self.native {
            return self.with(|_| func);
        }
        self.with(|s| s.functions.get(&func).copied()).flatten()
    }
}

/// default-device-var. Where only a device will do and none is there, `omp_invalid_device`.
pub fn default_of(icvs: &Icvs) -> i32 {
    match icvs.default_device {
        UNDECIDED_DEVICE if all().is_empty() => INVALID_DEVICE,
        UNDECIDED_DEVICE => 0,
        n => n,
    }
}

/// The device with this number, if it is not the host.
pub fn numbered(number: i32) -> Option<&'static Device> {
    usize::try_from(number).ok().and_then(|n| all().get(n))
}
