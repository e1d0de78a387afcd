//! Sections: how they open, what they log, how they end: run again, compared, repaired.

use super::super::backend::Addr;
use super::super::fail;
use super::super::signature::PIECE;
use super::Guarded;
use super::comparison::Place;
use super::device_bit_flips::{Injector, Target};
use super::error_totals::Totals;
use super::kernel::{Kernel, Step};
use super::memory_blocks::Block;
use super::time_model::{self, Costs};
use crate::icv::devices::{Keep, Mode};
use crate::icv::globals;
use crate::say;
use crate::sys::time::now_ns;
use std::collections::{BTreeMap, BTreeSet};

/// Executions of a section in all, before the device is given up.
const TRIES: usize = 6;

#[derive(Default)]
pub(super) struct Section {
    pub(super) blocks: BTreeMap<Addr, Block>,
    pub(super) open: bool,
    /// Ends where the program says only, and where it must.
    pub(super) by_hand: bool,
    /// Results are compared by signatures; once it is decided.
    pub(super) signs: bool,
    pub(super) decided: bool,
    /// Another library can write to the device's memory, behind our back: nothing can be verified.
    pub(super) handed: bool,
    pub(super) log: Vec<Step>,
    pub(super) logged: usize,
    pub(super) kernels: u64,
    pub(super) began_ns: u64,
    pub(super) run_ns: u64,
    /// Call sites of the last kernels.
    pub(super) sites: Vec<usize>,
    pub(super) costs: Option<Costs>,
    /// Kernels that a section shall have.
    pub(super) wanted: u64,
    pub(super) totals: Totals,
    pub(super) injector: Injector,
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

impl Section {
    pub(super) fn sections_begun(&self) -> u64 {
        self.totals.sections + u64::from(self.open)
    }

    /// Counts it: bytes of its blocks and of their copies; how long it was executed again, and compared.
    fn is_verified(&mut self, (bytes, kept): (u64, u64), (again_ns, check_ns): (u64, u64)) {
        let t = &mut self.totals;
        t.sections += 1;
        t.kernels += self.kernels;
        t.bytes = t.bytes.max(bytes);
        t.kept = t.kept.max(kept);
        t.signed = self.signs;
        t.run_ns += self.run_ns;
        t.again_ns += again_ns;
        t.check_ns += check_ns;
    }
}

impl Guarded {
    /// What verification costs on this device, measured once, on the largest block and its copy: on so much
    /// of it that it takes a while. Memory of its own for that would cost more than a short program does.
    pub(super) fn measure(&self, s: &Section) -> Costs {
        const MOST: usize = 8 << 20;
        const WHILE: f64 = 5e-5;
        let kind = if s.signs { Costs::SIGNATURES } else { Costs::COPIES };
        let blocks = s.blocks.iter().filter(|(_, b)| b.before != 0);
        let Some((&at, block)) = blocks.max_by_key(|(_, b)| b.used()) else { return kind };
        let (before, all) = (block.before, block.used().min(MOST));
        let best = |f: &dyn Fn()| {
            let time = |_| {
                let t = now_ns();
                f();
                seconds(now_ns() - t)
            };
            (0..3).map(time).fold(f64::MAX, f64::min).max(1e-7)
        };
        // It is what it was already.
        let copy = |n: usize| self.copies(&[(before, at, n)]);
        let look = |n: usize| {
            if s.signs {
                let piece = |from| (before + from, PIECE.min(n - from));
                let _ = self.inner.sign(&(0..n).step_by(PIECE).map(piece).collect::<Vec<_>>());
            } else {
                let _ = self.inner.compare(&[(before, at, n)]);
            }
        };
        let least = all.min(4096);
        let fixed = best(&|| {
            copy(least);
            copy(least);
            look(least);
        });
        let rate = |f: &dyn Fn(usize)| {
            let mut n = all.min(256 << 10);
            loop {
                let took = best(&|| f(n));
                if took >= WHILE || n == all {
                    return n as f64 / took;
                }
                n = (2 * n).min(all);
            }
        };
        Costs { fixed, copy: rate(&copy), look: rate(&look), ..kind }
    }

    pub(super) fn open_section(&self, s: &mut Section) {
        let signs = s.signs;
        if !s.decided {
            s.decided = true;
            s.signs |= self.settings.keep == Keep::Auto && self.inner.signs();
        }
        while let Some(b) = s.blocks.values_mut().find_map(|b| (!self.provide(b, s.signs)).then_some(b.bytes))
        {
            self.is_short(s, b);
        }
        let unknown = s.costs.is_none() || s.signs != signs;
        let start = now_ns();
        let mut pairs = Vec::new();
        for (&at, b) in &mut s.blocks {
            if !b.valid {
                pairs.push((b.before, at, b.used()));
                b.renewed(0, b.used());
            }
            for (from, n) in core::mem::take(&mut b.changed) {
                pairs.push((b.before + from, at + from, n));
                b.renewed(from, n);
            }
            b.valid = true;
        }
        self.copies(&pairs);
        if s.signs {
            self.sign_copies(s);
        }
        let now = now_ns();
        s.totals.copy_ns += now - start;
        if unknown {
            s.costs = Some(self.measure(s));
        }
        let now = now_ns();
        (s.open, s.began_ns, s.run_ns) = (true, now, 0);
    }

    /// The section ends: its results are verified. `s` holds for all threads.
    pub(super) fn end_section(&self, s: &mut Section) {
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

    pub(super) fn verify(&self, s: &mut Section) {
        let begin = now_ns();
        let bytes: usize = s.blocks.values().map(Block::used).sum();
        let kept: usize = s.blocks.values().map(Block::kept).sum();
        let mut results = self.set_aside(s);
        let (mut again_ns, mut found, mut place) = (0, 0u64, None);
        let mut checks_ns = now_ns() - begin;
        let mut agreed = false;
        for _ in 1..TRIES {
            let t0 = now_ns();
            self.put_back(&results);
            let t1 = now_ns();
            self.replay(s);
            let t2 = now_ns();
            let differs = self.agrees(&mut results).err();
            again_ns += t2 - t1;
            checks_ns += (t1 - t0) + (now_ns() - t2);
            match differs {
                None => {
                    agreed = true;
                    break;
                }
                Some(p) => {
                    found += 1;
                    place.get_or_insert(p);
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
        let adopting = now_ns();
        let changed = self.adopt(s, results);
        checks_ns += now_ns() - adopting;
        let costs = s.costs.get_or_insert(if s.signs { Costs::SIGNATURES } else { Costs::COPIES });
        s.totals.predicted_s += 2.0 * seconds(s.run_ns) + costs.verification(bytes as f64);
        costs.copied = 2.0 * changed as f64 / bytes.max(1) as f64;
        if found == 0 {
            costs.correct(bytes as f64, seconds(checks_ns));
        } else {
            s.totals.found += 1;
            s.totals.repaired += 1;
            if globals().promp.verbose >= 1 {
                self.say_repaired((s.kernels, &names), place.unwrap_or_default(), found + 2);
            }
        }
        s.injector.section_ends();
        s.is_verified((bytes as u64, kept as u64), (again_ns, checks_ns));
        let per_kernel = seconds(s.run_ns) / s.kernels as f64;
        self.adapt(s, per_kernel, bytes as f64);
    }

    /// Says that kernels gave two results, at `place`, and were run so many `times`.
    fn say_repaired(&self, (kernels, names): (u64, &str), place: Place, times: u64) {
        let Place { block, from, bytes } = place;
        let to = if bytes > 1 { format!(" to {}", from + bytes - 1) } else { String::new() };
        say!(
            "silent error on device {}: {kernels} kernels ({names}) gave two results (block {block:#x}, \
             byte {from}{to}); repaired by running them {times} times",
            self.number
        );
    }

    /// How many kernels the next section shall have.
    pub(super) fn adapt(&self, s: &mut Section, per_kernel: f64, bytes: f64) {
        s.wanted = match self.mode {
            Mode::Lazy(0) => {
                let verification = s.costs.map_or(0.0, |c| c.verification(bytes));
                let period = time_model::period(&s.sites) as u64;
                let rate = time_model::rate(self.settings.mtbf_ns.map(seconds));
                time_model::choose(rate, per_kernel, verification, seconds(self.settings.latency_ns), period)
            }
            Mode::Lazy(n) => n,
            _ => 1,
        };
        s.totals.wanted = s.wanted;
    }

    pub(super) fn replay(&self, s: &mut Section) {
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
    pub(super) fn run(&self, s: &mut Section, k: &Kernel, ordinal: u64, first: bool) -> bool {
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
        let target = |(&at, b): (&Addr, &Block)| Target { at, bytes: b.used(), copy: b.before };
        let blocks: Vec<Target> = s.blocks.iter().map(target).collect();
        let run = || self.inner.launch(&launch, None) && self.inner.wait(None);
        s.injector.around(self.inner.as_ref(), &blocks, (&name, ordinal, first), run)
    }

    pub(super) fn names(&self, s: &Section) -> String {
        let of = |k: &Step| match k {
            Step::Run(k) => Some(self.verdicts.name(k.launch.func)),
            _ => None,
        };
        let set: BTreeSet<String> = s.log.iter().filter_map(of).collect();
        let more = if set.len() > 4 { ", …" } else { "" };
        set.into_iter().take(4).collect::<Vec<_>>().join(", ") + more
    }

    /// Logs a step of an open section, which ends if the log is full.
    pub(super) fn logged(&self, s: &mut Section, step: Step, bytes: usize) {
        s.log.push(step);
        s.logged += bytes + 64;
        if s.logged > self.settings.log {
            self.end_section(s);
        }
    }
}
