//! LazyFT (docs/silent-errors.md): silent errors of a device's arithmetic are found before they reach the
//! host, and repaired.
//!
//! [`Guarded`] stands between the present table and a device and is a device itself. A *section* opens at
//! the first kernel: B holds the device's blocks as they were then. Kernels and copies to the device are
//! logged with their data. The section ends before anything is copied from the device, after as many
//! kernels as the time model says, when the log is full, and when the device closes. Then the results are
//! set aside (C), B is put back, the log is run again, and the blocks are compared with C on the device,
//! bit for bit. Equal: C is the next B. Different: the log is run again until two executions in succession
//! agree. Addresses are the same each time, so no data structure needs to be known.
//!
//! A kernel that need not give the same bits twice (ptx.rs) runs once, between sections, and is reported
//! as unverified.
//!
//! States of a section: closed → (first kernel) open → (end) closed. Blocks whose B is not `valid` are
//! copied when it opens.

pub mod inject;
pub mod model;
pub mod ptx;
pub mod report;
pub mod verdict;

use super::backend::{Addr, Backend, Direction, Failed, Image, Launch, Properties, Queue};
use super::fail;
use super::ranges::Ranges;
use crate::icv::devices::{Mode, Settings};
use crate::icv::globals;
use crate::icv::silent::Fault;
use crate::say;
use crate::sys::lock::Locked;
use crate::sys::time::now_ns;
use inject::Injector;
use model::Costs;
use report::Totals;
use std::collections::{BTreeMap, BTreeSet};
use verdict::Verdicts;

/// Smaller pieces of memory share blocks of this size.
const SLAB: usize = 1 << 20;
const SMALL: usize = 64 << 10;
const ALIGN: usize = 256;
/// Executions of a section in all, before the device is given up.
const TRIES: usize = 6;

/// A kernel's launch that can be repeated.
struct Kernel {
    launch: Launch,
    args: Vec<usize>,
    devices: Vec<usize>,
    hosts: Vec<usize>,
}

/// What is done again when a section is run again.
enum Step {
    Run(Kernel),
    In(Addr, Vec<u8>),
    Within(Addr, Addr, usize),
}

/// Memory of the device's own and its two copies.
struct Block {
    bytes: usize,
    /// As it was when the section began; 0 until it is needed.
    before: Addr,
    /// Results set aside.
    aside: Addr,
    /// `before` is what the block was, but for `changed`.
    valid: bool,
    changed: Vec<(usize, usize)>,
    /// For small pieces.
    pieces: Option<Ranges>,
    /// Freed by the program, while a section needs it.
    gone: bool,
    /// An image's, never freed.
    foreign: bool,
}

#[derive(Default)]
struct Section {
    blocks: BTreeMap<Addr, Block>,
    open: bool,
    /// Ends where the program says only, and where it must.
    by_hand: bool,
    /// Another library can write to the device's memory, behind our back: nothing can be verified.
    handed: bool,
    log: Vec<Step>,
    logged: usize,
    kernels: u64,
    began_ns: u64,
    run_ns: u64,
    /// Call sites of the last kernels.
    sites: Vec<usize>,
    costs: Option<Costs>,
    /// Kernels that a section shall have.
    wanted: u64,
    totals: Totals,
    injector: Injector,
}

/// A device that is watched.
pub struct Guarded {
    inner: Box<dyn Backend>,
    number: u32,
    mode: Mode,
    settings: Settings,
    verdicts: Verdicts,
    section: Locked<Section>,
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

impl Section {
    fn sections_begun(&self) -> u64 {
        self.totals.sections + u64::from(self.open)
    }
}

impl Block {
    fn new(bytes: usize) -> Self {
        let pieces = None;
        Self {
            bytes,
            before: 0,
            aside: 0,
            valid: false,
            changed: Vec::new(),
            pieces,
            gone: false,
            foreign: false,
        }
    }
    /// The part that can hold anything.
    fn used(&self) -> usize {
        self.pieces.as_ref().map_or(self.bytes, Ranges::top)
    }
}

impl Guarded {
    /// Watches a device.
    pub fn new(inner: Box<dyn Backend>, number: u32, settings: Settings, faults: &[Fault]) -> Self {
        let mode = settings.sdc;
        let faults: Vec<Fault> = faults.iter().filter(|f| !f.chunk).cloned().collect();
        let verdicts = Verdicts::new(settings.assume.clone(), inner.properties());
        let section = Section {
            wanted: if let Mode::Lazy(n) = mode { n.max(1) } else { 1 },
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

    /// What verification costs on this device, measured once with two sizes.
    fn measure(&self) -> Costs {
        const LARGE: usize = 8 << 20;
        let (Some(a), Some(b)) = (self.inner.alloc(LARGE), self.inner.alloc(LARGE)) else {
            return Costs { fixed: 1e-4, copy: 1e9, compare: 1e9 };
        };
        self.copies(&[(a, b, LARGE)]);
        let best = |f: &dyn Fn()| {
            let time = |_| {
                let t = now_ns();
                f();
                seconds(now_ns() - t)
            };
            (0..3).map(time).fold(f64::MAX, f64::min).max(1e-7)
        };
        let compare = |n: usize| {
            let _ = self.inner.compare(&[(a, b, n)]);
        };
        let small = best(&|| {
            self.copies(&[(a, b, 4096), (b, a, 4096)]);
            compare(4096);
        });
        let copy = LARGE as f64 / best(&|| self.copies(&[(a, b, LARGE)]));
        let compare = LARGE as f64 / best(&|| compare(LARGE));
        self.inner.free(a);
        self.inner.free(b);
        Costs { fixed: small, copy, compare }
    }

    /// Copies of a block for the two ends of a section.
    fn provide(&self, block: &mut Block) {
        let bytes = block.bytes;
        for copy in [&mut block.before, &mut block.aside] {
            if *copy == 0 {
                *copy = self.inner.alloc(bytes).unwrap_or_else(|| {
                    fail(format_args!(
                        "no memory left on device {} for the two copies of {bytes} bytes that PROMP_SDC \
                         needs \
                         (PROMP_SDC=off runs without)",
                        self.number
                    ))
                });
            }
        }
    }

    fn open_section(&self, s: &mut Section) {
        s.costs.get_or_insert_with(|| self.measure());
        let start = now_ns();
        let mut pairs = Vec::new();
        for (&at, b) in &mut s.blocks {
            self.provide(b);
            if !b.valid {
                pairs.push((b.before, at, b.used()));
            } else {
                pairs.extend(b.changed.iter().map(|&(from, n)| (b.before + from, at + from, n)));
            }
            b.valid = true;
            b.changed.clear();
        }
        self.copies(&pairs);
        let now = now_ns();
        s.totals.copy_ns += now - start;
        (s.open, s.began_ns, s.run_ns) = (true, now, 0);
    }

    /// Memory changed outside of a section.
    fn note_change(s: &mut Section, to: Addr, bytes: usize) {
        if let Some((&at, b)) = s.blocks.range_mut(..=to).next_back()
            && to < at + b.bytes
        {
            // Many small changes are one large one.
            if b.changed.len() >= 32 {
                b.valid = false;
                b.changed.clear();
            }
            if b.valid {
                b.changed.push((to - at, bytes.min(b.bytes - (to - at))));
            }
        }
    }

    /// The section ends: its results are verified. `s` holds for all threads.
    fn end_section(&self, s: &mut Section) {
        if !s.open {
            return;
        }
        s.open = false;
        if s.kernels > 0 {
            self.verify(s);
        }
        s.log.clear();
        (s.kernels, s.logged) = (0, 0);
        let gone: Vec<Addr> = s.blocks.iter().filter(|(_, b)| b.gone).map(|(&at, _)| at).collect();
        gone.into_iter().for_each(|at| self.release(s, at));
    }

    fn verify(&self, s: &mut Section) {
        let begin = now_ns();
        let pairs = |s: &Section, f: &dyn Fn(Addr, &Block) -> (Addr, Addr)| -> Vec<(Addr, Addr, usize)> {
            s.blocks
                .iter()
                .map(|(&at, b)| (f(at, b), b.used()))
                .map(|((to, from), n)| (to, from, n))
                .collect()
        };
        let keep = pairs(s, &|at, b| (b.aside, at));
        let back = pairs(s, &|at, b| (at, b.before));
        let bytes: usize = keep.iter().map(|p| p.2).sum();
        self.copies(&keep);
        let (mut again_ns, mut found, mut place) = (0, 0u64, None);
        let mut checks_ns = now_ns() - begin;
        let mut agreed = false;
        for _ in 1..TRIES {
            let t0 = now_ns();
            self.copies(&back);
            let t1 = now_ns();
            self.replay(s);
            let t2 = now_ns();
            let differs = self.inner.compare(&keep).unwrap_or_else(|Failed| self.failed());
            again_ns += t2 - t1;
            checks_ns += (t1 - t0) + (now_ns() - t2);
            match differs {
                None => {
                    agreed = true;
                    break;
                }
                Some((pair, offset)) => {
                    found += 1;
                    place.get_or_insert((keep[pair].1, offset));
                    self.copies(&keep);
                }
            }
        }
        let names = self.names(s);
        if !agreed {
            fail(format_args!(
                "device {}: {TRIES} executions of {} kernels ({names}) never gave the same result twice: the \
                 device is \
                 faulty, or a kernel is not repeatable",
                self.number, s.kernels
            ));
        }
        let costs = s.costs.get_or_insert(Costs { fixed: 1e-4, copy: 1e9, compare: 1e9 });
        s.totals.predicted_s += 2.0 * seconds(s.run_ns) + costs.verification(bytes as f64);
        if found == 0 {
            costs.correct(bytes as f64, seconds(checks_ns));
        } else {
            s.totals.found += 1;
            s.totals.repaired += 1;
            if globals().promp.verbose >= 1 {
                let (at, offset) = place.unwrap_or_default();
                say!(
                    "silent error on device {}: {} kernels ({names}) gave two results (block {at:#x}, byte \
                     {offset}); \
                     repaired by running them {} times",
                    self.number,
                    s.kernels,
                    found + 2
                );
            }
        }
        s.injector.section_ends();
        s.totals.sections += 1;
        s.totals.kernels += s.kernels;
        s.totals.bytes = s.totals.bytes.max(bytes as u64);
        s.totals.run_ns += s.run_ns;
        s.totals.again_ns += again_ns;
        s.totals.check_ns += checks_ns;
        let per_kernel = seconds(s.run_ns) / s.kernels as f64;
        self.adapt(s, per_kernel, bytes as f64);
        // The results are in the blocks and in C alike: C is the next B.
        for b in s.blocks.values_mut() {
            core::mem::swap(&mut b.before, &mut b.aside);
            (b.valid, b.changed) = (true, Vec::new());
        }
    }

    /// How many kernels the next section shall have.
    fn adapt(&self, s: &mut Section, per_kernel: f64, bytes: f64) {
        s.wanted = match self.mode {
            Mode::Lazy(0) => {
                let verification = s.costs.map_or(0.0, |c| c.verification(bytes));
                let period = model::period(&s.sites) as u64;
                let rate = model::rate(self.settings.mtbf_ns.map(seconds));
                model::choose(rate, per_kernel, verification, seconds(self.settings.latency_ns), period)
            }
            Mode::Lazy(n) => n,
            _ => 1,
        };
        s.totals.wanted = s.wanted;
    }

    fn replay(&self, s: &mut Section) {
        let log = core::mem::take(&mut s.log);
        let mut kernel = s.totals.kernels;
        for step in &log {
            let done = match step {
                Step::In(to, data) => self.inner.copy_in(*to, data.as_ptr() as usize, data.len(), None),
                Step::Within(to, from, n) => self.inner.copy_within(*to, *from, *n),
                Step::Run(k) => {
                    kernel += 1;
                    self.run(s, k, kernel, false)
                }
            };
            if !done {
                self.failed();
            }
        }
        s.log = log;
    }

    /// Runs a kernel, with whatever is to go wrong.
    fn run(&self, s: &mut Section, k: &Kernel, ordinal: u64, first: bool) -> bool {
        let mut launch = k.launch;
        if !k.args.is_empty() {
            launch.args = k.args.as_ptr();
        }
        if launch.dims.is_some() {
            (launch.block, launch.hosts) = (k.devices.as_ptr() as usize, k.hosts.as_ptr());
        }
        if s.injector.is_empty() {
            return self.inner.launch(&launch, None) && self.inner.wait(None);
        }
        let name = self.verdicts.name(launch.func);
        let blocks: Vec<(Addr, usize)> = s.blocks.iter().map(|(&at, b)| (at, b.used())).collect();
        let run = || self.inner.launch(&launch, None) && self.inner.wait(None);
        s.injector.around(self.inner.as_ref(), &blocks, (&name, ordinal, first), run)
    }

    fn names(&self, s: &Section) -> String {
        let of = |k: &Step| match k {
            Step::Run(k) => Some(self.verdicts.name(k.launch.func)),
            _ => None,
        };
        let set: BTreeSet<String> = s.log.iter().filter_map(of).collect();
        let more = if set.len() > 4 { ", …" } else { "" };
        set.into_iter().take(4).collect::<Vec<_>>().join(", ") + more
    }

    fn kernel(launch: &Launch) -> Kernel {
        let mut args = Vec::new();
        // SAFETY: the compiler's list, ended by 0; a value may follow its head
        // (GOMP_TARGET_ARG_SUBSEQUENT_PARAM).
        unsafe {
            let mut at = launch.args;
            while !at.is_null() && *at != 0 {
                args.push(*at);
                if *at & 0x80 != 0 {
                    at = at.add(1);
                    args.push(*at);
                }
                at = at.add(1);
            }
        }
        if !launch.args.is_null() {
            args.push(0);
        }
        // SAFETY: OpenACC hands over `count` addresses of each kind.
        let words = |p: *const usize| unsafe {
            if launch.dims.is_some() && !p.is_null() {
                core::slice::from_raw_parts(p, launch.count).to_vec()
            } else {
                Vec::new()
            }
        };
        Kernel {
            launch: *launch,
            args,
            devices: words(launch.block as *const usize),
            hosts: words(launch.hosts),
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

    /// A piece of a shared block.
    fn small(&self, s: &mut Section, bytes: usize) -> Option<Addr> {
        let open = s.open;
        for (&at, b) in &mut s.blocks {
            let Some(pieces) = &mut b.pieces else { continue };
            let top = pieces.top();
            let Some(from) = pieces.take(bytes) else { continue };
            let grown = pieces.top() - top;
            // What was never used before is in no copy of the block yet.
            if grown > 0 && open {
                self.copies(&[(b.before + top, at + top, grown)]);
            } else if grown > 0 && b.valid {
                b.changed.push((top, grown));
            }
            return Some(at + from);
        }
        let at = self.inner.alloc(SLAB)?;
        let mut block = Block::new(SLAB);
        let mut pieces = Ranges::new(SLAB);
        let from = pieces.take(bytes)?;
        block.pieces = Some(pieces);
        self.enter(s, at, block);
        Some(at + from)
    }

    fn enter(&self, s: &mut Section, at: Addr, mut block: Block) {
        if s.open {
            // Whatever is in it now is what it has each time the section runs.
            self.provide(&mut block);
            self.copies(&[(block.before, at, block.bytes)]);
            block.valid = true;
        }
        s.blocks.insert(at, block);
    }

    fn release(&self, s: &mut Section, at: Addr) {
        if let Some(b) = s.blocks.remove(&at) {
            for memory in [at, b.before, b.aside] {
                if memory != 0 && !self.inner.free(memory) {
                    self.failed();
                }
            }
        }
    }

    /// Logs a step of an open section, which ends if the log is full.
    fn logged(&self, s: &mut Section, step: Step, bytes: usize) {
        s.log.push(step);
        s.logged += bytes + 64;
        if s.logged > self.settings.log {
            self.end_section(s);
        }
    }
}

impl Backend for Guarded {
    fn properties(&self) -> Properties {
        self.inner.properties()
    }
    fn open(&self) -> Result<(), String> {
        self.inner.open()?;
        report::watch(self);
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
            let at = self.inner.alloc(bytes)?;
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
                return done;
            }
            if !s.open {
                self.open_section(s);
            }
            let kernel = Self::kernel(launch);
            let (start, ordinal) = (now_ns(), s.totals.kernels + s.kernels + 1);
            let done = self.run(s, &kernel, ordinal, true);
            let now = now_ns();
            s.run_ns += now - start;
            s.kernels += 1;
            if s.sites.len() >= 64 {
                s.sites.remove(0);
            }
            s.sites.push(launch.func);
            self.logged(s, Step::Run(kernel), 256);
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
}
