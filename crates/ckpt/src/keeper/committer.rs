//! The committer: copies that are in the store become an image, the last whole checkpoint.

use super::copy::Held;
use super::notices::Notices;
use super::program_copies::MappedFiles;
use crate::image::{self, Asked, Description, Map, PAGE, Seconds};
use crate::runtime::runtime;
use crate::settings::Settings;
use crate::store::{Committed, Store};
use crate::sys;
use crate::sys::{syscall, thread_count_queries, time};
use crate::taken::{Taken, TakenList};
use crate::{attributes, keep, memory, ranges};
use core::sync::atomic::Ordering::*;

/// When the threads were stopped for a checkpoint.
pub(super) struct Stop {
    pub(super) began_ns: u64,
    /// When they went on.
    pub(super) ended_ns: u64,
    /// For how long, with what was noted before it.
    pub(super) ns: u64,
}

/// The last whole checkpoint, and what each one says of the run. `store.index`, `generation` and `last` are
/// of the same checkpoint, always.
pub(super) struct Committer {
    /// The pages.
    pub(super) store: Store,
    /// Its number; 0: there is none.
    pub(super) generation: u64,
    /// What was saved, but for the pages.
    pub(super) last: Description,
    /// All that this process has taken.
    taken: &'static TakenList,
    mapped: MappedFiles,
    /// The kernel's object, or that of the run's kernel.
    kernel: Option<image::MappedFile>,
    cpu: Vec<String>,
    started_ns: u64,
}

impl Committer {
    /// Without a checkpoint, with the page store open.
    pub(super) fn new(store: Store, taken: &'static TakenList) -> Self {
        Self {
            store,
            generation: 0,
            last: Description::default(),
            taken,
            mapped: MappedFiles::default(),
            kernel: crate::vdso::recognise(),
            cpu: image::cpu_features(),
            started_ns: time::now_ns(),
        }
    }

    /// Goes on from a generation that a new process has been made from.
    pub(super) fn resume_from(&mut self, g: image::Generation) {
        self.generation = g.number;
        self.last = g.about;
        // Its memory has what was found out of the CPUs then, and was chosen by that.
        self.cpu.clone_from(&self.last.cpu);
        if self.last.kernel.is_some() {
            self.kernel.clone_from(&self.last.kernel);
        }
        keep::get().trials.made_from.store(g.number, Relaxed);
        keep::get().last.generation.store(g.number, Release);
        keep::get().last.taken_ns.store(time::now_ns(), Release);
    }

    /// What there is to say of the run and its memory, without what the kernel keeps beside that.
    pub(super) fn describe(&self, maps: Vec<Map>, settings: &Settings, alone: bool) -> Description {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        // SAFETY: asks for the break.
        let brk = unsafe { sys!(libc::SYS_brk, 0) } as usize;
        Description {
            promp: env!("CARGO_PKG_VERSION").into(),
            pid: syscall::getpid(),
            written: since_1970.map_or(0, |d| d.as_secs()),
            at_s: Seconds((time::now_ns() - self.started_ns) as f64 / 1e9),
            region: runtime().region(),
            threads: runtime().threads().unwrap_or(settings.threads),
            brk,
            vdso: memory::vdso(),
            cpu: self.cpu.clone(),
            maps,
            kernel: self.kernel.clone(),
            level: settings.level,
            registers: image::xsave::here(),
            clocks: image::Clocks::now(),
            alone,
            asked: thread_count_queries::all()
                .map(|(routine, at)| Asked { routine: routine.into(), at })
                .collect(),
            ..Description::default()
        }
    }

    /// All that is `held` has been written: makes it, with `about`, the last whole checkpoint.
    pub(super) fn commit(
        &mut self,
        mut about: Description,
        held: Held,
        settings: &Settings,
        notices: &mut Notices,
    ) -> Result<Committed, String> {
        let last = (self.generation > 0).then_some(&self.last);
        for (what, kind) in self.mapped.recognise(&mut about, settings, last) {
            notices.once(&what, &kind);
        }
        if let Some(why) = image::fit::only_here(&about).or_else(|| attributes::only_here(&about)) {
            let what = format!("these checkpoints are for rollbacks only, a restart is refused: {why}");
            notices.once(&what, &why);
        }
        let entries = held.index(&self.store.index);
        if let Some(w) = entries.windows(2).find(|w| w[0].page == w[1].page) {
            return Err(format!("the kernel has told of the page at {:x} twice", w[0].page as usize * PAGE));
        }
        let number = self.generation + 1;
        let committed = self.store.commit(number, &about, entries, &self.mapped.unsynced);
        let committed = committed.inspect_err(|_| self.mapped.is_in_vain())?;
        self.mapped.unsynced.clear();
        self.generation = number;
        // Older generations may still be gone back to, should this one be damaged.
        keep::get().journal.forget(self.store.oldest_era());
        if let Some((what, kind)) = self.mapped.remove_unnamed(settings) {
            notices.once(&what, &kind);
        }
        self.last = about;
        Ok(committed)
    }

    /// The last checkpoint was taken in `stop`; lists it.
    pub(super) fn list(&self, committed: &Committed, stop: &Stop, cost_ns: u64, interval_ns: u64) {
        self.taken.push(Taken {
            generation: self.generation,
            at_ns: stop.began_ns,
            bytes: committed.bytes,
            dirty_pages: committed.dirty_pages,
            stop_ns: stop.ns,
            write_ns: time::now_ns() - stop.ended_ns,
            left_out: ranges::bytes(&self.last.dead) as u64,
            cost_ns,
            interval_ns,
        });
    }

    /// What there is to say of it; `looked_at` pages were copied while the program ran.
    pub(super) fn summary(&self, committed: &Committed, stop: &Stop, looked_at: usize) -> String {
        let part = |n: usize, what: &str| if n == 0 { String::new() } else { format!(", {n} {what}") };
        format!(
            "checkpoint {} taken: {} pages, {:.1} ms stopped{}{}{}",
            self.generation,
            committed.dirty_pages,
            stop.ns as f64 / 1e6,
            part(looked_at, "looked at while it ran"),
            part(committed.from_ready, "written to slots made ready"),
            part(ranges::bytes(&self.last.dead) / PAGE, "dead pages left out"),
        )
    }
}
