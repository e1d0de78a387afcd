//! LazyFT (docs/internals/silent-errors.md): silent errors of a device's arithmetic are found before they
//! reach the host, and repaired.
//!
//! [`Guarded`] stands between the present table and a device and is a device itself. A *section* opens at
//! the first kernel: B holds the device's blocks as they were then. Kernels and copies to the device are
//! logged with their data. The section ends before anything is copied from the device, after as many
//! kernels as the time model says, when the log is full, and when the device closes. Then the results are
//! set aside (C), B is put back, the log is run again, and the blocks are compared with C on the device,
//! bit for bit. Equal: C is the next B. Different: the log is run again until two executions in succession
//! agree. Signatures may stand for C (comparison.rs). Addresses are the same each time, so no data structure
//! needs to be known.
//!
//! A kernel that need not give the same bits twice (ptx.rs) runs once, between sections, and is reported
//! as unverified.
//!
//! States of a section: closed → (first kernel) open → (end) closed. Blocks whose B is not `valid` are
//! copied when it opens.

mod comparison;
mod kernel;
mod memory_blocks;
mod section;

pub(crate) mod device_bit_flips;
pub mod error_totals;
pub(crate) mod ptx;
pub(crate) mod time_model;
pub(crate) mod verdict;

use super::backend::{Addr, Backend, Direction, Failed, Image, Launch, Properties, Queue};
use super::signature::Signature;
use super::{declare_target, fail};
use crate::acc::profiling_interface::Heard;
use crate::icv::devices::{Keep, Mode, Settings};
use crate::icv::silent::Fault;
use crate::sys::lock::Locked;
use crate::sys::time::now_ns;
use device_bit_flips::Injector;
use error_totals::Totals;
use kernel::{Kernel, Step};
use memory_blocks::{ALIGN, Block, SMALL};
use section::{Section, seconds};
use verdict::Verdicts;

/// A device that is watched.
pub(crate) struct Guarded {
    inner: Box<dyn Backend>,
    number: u32,
    mode: Mode,
    settings: Settings,
    verdicts: Verdicts,
    section: Locked<Section>,
}

impl Guarded {
    /// Watches a device.
    pub(crate) fn new(inner: Box<dyn Backend>, number: u32, settings: Settings, faults: &[Fault]) -> Self {
        let mode = settings.sdc;
        let faults: Vec<Fault> = faults.iter().filter(|f| !f.chunk).cloned().collect();
        let verdicts = Verdicts::new(settings.assume.clone(), inner.properties());
        let section = Section {
            wanted: if let Mode::Lazy(n) = mode { n.max(1) } else { 1 },
            signs: settings.keep == Keep::Signatures,
            injector: Injector::new(&faults),
            ..Default::default()
        };
        Self { inner, number, mode, settings, verdicts, section: Locked::new(section) }
    }

    fn failed(&self) -> ! {
        fail(format_args!("device {} has failed while a section was verified", self.number))
    }

    fn copies(&self, pairs: &[(Addr, Addr, usize)]) {
        if !self.inner.copy_all(pairs) {
            self.failed();
        }
    }

    /// A section marked by hand begins or ends.
    fn mark_section(&self, begin: bool) {
        self.section.with(|s| {
            self.end_section(s);
            s.by_hand = begin;
        });
    }

    /// For the report: what was counted, and how many errors were injected. `None` if a kernel is under
    /// way.
    fn totals(&self) -> Option<(Totals, u64)> {
        self.section.raw().try_lock().then(|| {
            self.section.raw().unlock();
            self.section.with(|s| {
                self.end_section(s);
                (s.totals.clone(), s.injector.struck())
            })
        })
    }
}

impl Backend for Guarded {
    fn properties(&self) -> Properties {
        self.inner.properties()
    }
    fn open(&self) -> Result<(), String> {
        self.inner.open()?;
        error_totals::watch(self);
        Ok(())
    }
    fn close(&self) {
        // Not where the program ends inside of a kernel.
        if self.section.raw().try_lock() {
            self.section.raw().unlock();
            self.section.with(|s| self.end_section(s));
        }
        self.inner.close();
    }

    fn alloc(&self, bytes: usize) -> Option<Addr> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        self.section.with(|s| {
            if bytes <= SMALL {
                return self.small(s, bytes);
            }
            let at = self.obtain(s, bytes)?;
            self.enter(s, at, Block::new(bytes));
            Some(at)
        })
    }

    fn free(&self, at: Addr) -> bool {
        self.section.with(|s| {
            let Some((&start, b)) = s.blocks.range_mut(..=at).next_back() else { return false };
            if let Some(pieces) = &mut b.pieces {
                return pieces.put(at - start).is_some();
            }
            if start != at || b.gone || b.foreign {
                return false;
            }
            if s.open {
                b.gone = true;
            } else {
                self.release(s, at);
            }
            true
        })
    }

    fn copy_in(&self, to: Addr, from: usize, bytes: usize, _queue: Queue) -> bool {
        self.section.with(|s| {
            let done = self.inner.copy_in(to, from, bytes, None);
            if s.open {
                // SAFETY: the program's data.
                let data = unsafe { core::slice::from_raw_parts(from as *const u8, bytes) }.to_vec();
                self.logged(s, Step::In(to, data), bytes);
            } else {
                Self::note_change(s, to, bytes);
            }
            done
        })
    }

    fn copy_out(&self, to: usize, from: Addr, bytes: usize, _queue: Queue) -> bool {
        self.section.with(|s| {
            self.end_section(s);
            self.inner.copy_out(to, from, bytes, None)
        })
    }

    fn copy_within(&self, to: Addr, from: Addr, bytes: usize) -> bool {
        self.section.with(|s| {
            let done = self.inner.copy_within(to, from, bytes);
            if s.open {
                self.logged(s, Step::Within(to, from, bytes), 0);
            } else {
                Self::note_change(s, to, bytes);
            }
            done
        })
    }

    fn copy_rows(&self, direction: Direction, rows: &[(usize, usize)], bytes: usize) -> bool {
        rows.iter().all(|&(to, from)| match direction {
            Direction::In => self.copy_in(to, from, bytes, None),
            Direction::Out => self.copy_out(to, from, bytes, None),
            Direction::Within => self.copy_within(to, from, bytes),
        })
    }

    fn load(&self, image: &Image) -> Result<Vec<(Addr, Addr)>, String> {
        let pairs = self.inner.load(image)?;
        self.verdicts.learn(image, &pairs);
        self.section.with(|s| {
            self.end_section(s);
            // Variables of the image are data like others.
            let n = super::images::Table::of(image).functions.len();
            for &(at, end) in &pairs[n.min(pairs.len())..] {
                if at != 0 && end > at {
                    let block = Block { foreign: true, ..Block::new(end - at) };
                    s.blocks.insert(at, block);
                }
            }
        });
        Ok(pairs)
    }

    fn unload(&self, image: &Image) {
        self.section.with(|s| {
            self.end_section(s);
            let own: Vec<Addr> = s.blocks.iter().filter(|(_, b)| b.foreign).map(|(&at, _)| at).collect();
            for at in own {
                if let Some(b) = s.blocks.remove(&at) {
                    [b.before, b.aside].into_iter().filter(|&m| m != 0).for_each(|m| {
                        self.inner.free(m);
                    });
                }
            }
        });
        self.inner.unload(image);
    }

    fn launch(&self, launch: &Launch, _queue: Queue) -> bool {
        self.section.with(|s| {
            if s.sections_begun() == 0 {
                s.handed |= !self.properties().native && verdict::others_use_devices();
            }
            if s.handed || self.verdicts.is_order_dependent(launch.func) {
                self.end_section(s);
                let done = self.inner.launch(launch, None) && self.inner.wait(None);
                s.blocks.values_mut().for_each(|b| b.valid = false);
                s.totals.unverified += 1;
                s.totals.handed |= s.handed;
                return done;
            }
            if !s.open {
                self.open_section(s);
            }
            let kernel = Kernel::of(launch);
            let (start, ordinal) = (now_ns(), s.totals.kernels + s.kernels + 1);
            let variables = declare_target::contents(&self.properties());
            let done = self.run(s, &kernel, ordinal, true);
            if variables != declare_target::contents(&self.properties()) {
                fail(format_args!(
                    "PROMP_SDC_ASSUME vouches for {}, which changes variables of declare target: on this \
                     device they are the host's, and it cannot be executed again",
                    self.verdicts.name(launch.func)
                ));
            }
            let now = now_ns();
            s.run_ns += now - start;
            s.kernels += 1;
            if s.sites.len() >= 64 {
                s.sites.remove(0);
            }
            s.sites.push(launch.func);
            self.logged(s, Step::Run(kernel), 256);
            // The first section learns how long kernels take while it is open.
            if s.open && s.totals.sections == 0 {
                let bytes: usize = s.blocks.values().map(Block::used).sum();
                self.adapt(s, seconds(s.run_ns) / s.kernels as f64, bytes as f64);
            }
            let late = now - s.began_ns > self.settings.latency_ns;
            if s.open && (late || (!s.by_hand && s.kernels >= s.wanted)) {
                self.end_section(s);
            }
            done
        })
    }

    fn idle(&self, _queue: Queue) -> bool {
        true
    }
    fn wait(&self, _queue: Queue) -> bool {
        self.inner.wait(None)
    }
    fn number(&self, property: i32) -> usize {
        self.inner.number(property)
    }
    fn text(&self, property: i32) -> Option<&'static core::ffi::CStr> {
        self.inner.text(property)
    }
    fn handle(&self, which: i32) -> usize {
        self.section.with(|s| self.end_section(s));
        self.inner.handle(which)
    }
    fn handed_out(&self) {
        self.section.with(|s| {
            self.end_section(s);
            s.blocks.values_mut().for_each(|b| b.valid = false);
            s.handed |= !self.properties().native && verdict::others_use_devices();
        });
    }
    fn compare(&self, pairs: &[(Addr, Addr, usize)]) -> Result<Option<(usize, usize)>, Failed> {
        self.section.with(|s| {
            self.end_section(s);
            self.inner.compare(pairs)
        })
    }
    fn sign(&self, pieces: &[(Addr, usize)]) -> Result<Vec<Signature>, Failed> {
        self.section.with(|s| {
            self.end_section(s);
            self.inner.sign(pieces)
        })
    }
    fn tell_tools(&self, heard: Option<&mut Heard>) {
        self.inner.tell_tools(heard);
    }
}
