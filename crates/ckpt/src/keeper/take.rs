//! Taking a checkpoint.

use super::concurrent_copy::Running;
use super::copy::Held;
use super::precopy::WORTH_IT;
use super::rewind::ABOUT_TO_STOP;
use super::{Keeper, No};
use crate::busy::{BLOCK, Busy};
use crate::cow::{CLOSED, PLACES};
use crate::image::{self, Asked, Context, Description, Map, PAGE, Seconds};
use crate::logical_threads::address;
use crate::resources::resource::Frozen;
use crate::runtime::runtime;
use crate::seats::Seat;
use crate::store::Committed;
use crate::sys;
use crate::sys::{pending_signals, signals, syscall, thread_count_queries, time};
use crate::taken::Taken;
use crate::{attributes, ends, journal, keep, memory, ranges, requests, say, timers, vdso};
use core::sync::atomic::Ordering::*;

/// Bytes from which on the crew is worth having.
const WORTH_SHARING: usize = 8 << 20;
/// How often memory is looked at before a checkpoint, at most, and how often it may be waited for.
const LOOKS: u32 = 10;
const WAITS: u32 = 6;

impl Keeper {
    pub(super) fn take(&mut self) -> Result<(), No> {
        let k = keep::get();
        self.answered = false;
        if !self.store.intact() {
            return Err(No::Refused("the program has closed descriptors of the runtime's".into()));
        }
        if let Some(why) = self.has_read_what_is_dead() {
            return Err(No::Refused(why));
        }
        self.claim();
        self.schedule.begins();
        self.write_ahead()?;
        let had = self.staging.ready();
        let busy = self.prepare()?;
        let noting_ns = self.ahead.as_ref().map_or(0, |a| a.stop_ns);
        let began = time::now_ns();
        let seats = self.freezer.freeze()?;
        let stops = seats.iter().any(|s| s.is_about_to_stop());
        if k.failed.load(Acquire) > 0 || stops {
            // One failed while the others were being stopped: first the rollback. Or a stop waits for a
            // call's exit: saved, it would strike again after every rollback.
            self.freezer.thaw();
            // It goes on without.
            if self.schedule.waits_for_stops(stops) {
                k.rewind.why.set(ABOUT_TO_STOP);
                self.answer();
            }
            return Err(No::Later);
        }
        self.schedule.waits_for_stops(false);
        if self.schedule.waits_for_kernel(seats.iter().any(|s| vdso::is_executed_by(s))) {
            self.freezer.thaw();
            return Err(No::Later);
        }
        self.confirm(&seats);
        self.note_written();
        let copied = self.copy(&seats, busy);
        if copied.is_ok() {
            self.unknown = true; // until it is whole
            k.last.in_memory.store(1, Release);
            // Whoever comes to a place from here on goes by this one.
            k.place.copied_ns.store(began, Relaxed);
        }
        // Whoever asks for it to end, or to stop, gets it as it is now. Another request to end must find
        // somebody who takes it.
        let stays = copied.is_ok() && self.schedule.stays_frozen();
        let thawed = if stays { time::now_ns() } else { self.freezer.thaw() };
        let hears = stays.then(|| signals::set_mask(!(requests::handled(k) & k.ending.ends.load(Relaxed))));
        let stop_ns = thawed - began + noting_ns;
        let taken = copied.and_then(|c| self.complete(c, had, stop_ns, (began, thawed)));
        if let Some(mask) = hears {
            if taken.is_ok() {
                self.end_or_stop();
            }
            signals::set_mask(mask);
            self.freezer.thaw();
        }
        taken
    }

    /// Copies what is copied while the threads run, writes it all, and makes it the last whole checkpoint.
    /// `had`: bytes that were ready for staging.
    fn complete(
        &mut self,
        (about, mut held, running): (Description, Held, Running),
        had: usize,
        stop_ns: u64,
        (began, thawed): (u64, u64),
    ) -> Result<(), No> {
        let k = keep::get();
        let looked_at = running.pages();
        self.copy_running(running, &mut held)?;
        self.answer();
        for why in core::mem::take(&mut self.left_out) {
            self.tell(&why, &why);
        }
        let last_ns = k.last.taken_ns.load(Relaxed);
        let finished = self.finish(about, held, stop_ns, (began, thawed));
        let Committed { dirty_pages, from_ready, .. } = finished.map_err(No::Refused)?;
        self.whole_for_rewinds();
        self.unknown = false;
        self.stopped.checkpoints = self.stopped.checkpoints.saturating_sub(1);
        self.grows |= self.staging.ready() >= had + WORTH_IT;
        if self.settings.verbose >= 2 {
            let stop = stop_ns as f64 / 1e6;
            let while_running = match looked_at {
                0 => String::new(),
                n => format!(", {n} looked at while it ran"),
            };
            let in_ready = match from_ready {
                0 => String::new(),
                n => format!(", {n} written to slots made ready"),
            };
            let left_out = match ranges::bytes(&self.last.dead) / PAGE {
                0 => String::new(),
                n => format!(", {n} dead pages left out"),
            };
            say!(
                "checkpoint {} taken: {dirty_pages} pages, {stop:.1} ms stopped{while_running}{in_ready}{}",
                self.generation,
                left_out
            );
        }
        self.stopped.after_ns = began.saturating_sub(last_ns);
        Ok(())
    }

    /// Makes ready what the checkpoint needs, while the program runs. Returns the blocks that are busy.
    fn prepare(&mut self) -> Result<Busy, No> {
        let (mut busy, mut most) = (Busy::default(), usize::MAX);
        // Meanwhile more may change.
        for look in 0..LOOKS {
            let (maps, runs) = self.look();
            let (staged, running) = self.expected(&maps, &runs);
            if look < WAITS && self.come_to_rest(&maps, &runs, staged, &mut most)? {
                continue;
            }
            if !self.unknown {
                busy = self.busy(&runs);
            }
            if staged + running >= WORTH_SHARING {
                self.crew.hire();
            }
            let places = if running > 0 { PLACES * BLOCK } else { 0 };
            if running > 0 && !self.guarded {
                self.guarded = self.tracker.guard().is_some_and(|g| g.hire());
            }
            if !self.staging.prepare(staged + places, running, &self.crew) {
                break;
            }
        }
        Ok(busy)
    }

    /// Those who asked for a checkpoint go on: it is safe in memory, or there is none.
    pub(super) fn answer(&mut self) {
        let k = keep::get();
        self.answered = true;
        k.place.forget();
        k.asking.answer(|| self.dismiss());
    }

    /// Describes the frozen process and copies the pages that have changed. Blocks that are `busy` are not
    /// armed anew.
    fn copy(&mut self, seats: &[&'static Seat], busy: Busy) -> Result<(Description, Held, Running), No> {
        self.look_no_more(false);
        let copied = self.describe(seats).and_then(|about| self.copy_described(about, busy));
        self.resources.shared.close();
        copied
    }

    /// Copies the pages that have changed in the frozen process that `about` describes.
    fn copy_described(
        &mut self,
        mut about: Description,
        busy: Busy,
    ) -> Result<(Description, Held, Running), No> {
        // From here on it must go well, or it is not known what has changed.
        if !self.tracker.find_held(&about.maps) {
            self.in_vain(CLOSED);
            self.unknown = true;
            self.tracker.let_go(&about.maps);
        }
        let left_out = self.left_out(&about.maps);
        let runs = self.tracker.runs_anew(&about.maps, &self.store.dense, &busy.unarmed(), &left_out);
        self.tracker.note_guards(&runs, &mut about.maps);
        let maps = &about.maps;
        about.dead = self.still_out(&runs, &left_out);
        about.words = self.words(&about.dead);
        let runs = self.without_dead(runs);
        let mut running = self.hold(maps, &runs);
        let runs = running.rest(runs);
        let old = core::mem::take(&mut self.store.index);
        let chosen = core::mem::take(&mut self.resources.shared.chosen);
        let mut held = Held::new(self.ahead.take().unwrap_or_default(), busy);
        held.busy.forget(self.tracker.held());
        let copied = self.copy_changes(maps, &runs, &chosen.files, &old, &mut held);
        self.store.index = old;
        copied.and_then(|()| self.expect(&mut running, &mut held)).inspect_err(|_| self.unknown = true)?;
        self.tracker.arm(&core::mem::take(&mut held.busy).calm(), &self.crew);
        self.tracker.watch_rest(maps, &self.crew);
        self.left_out = chosen.left_out;
        Ok((about, held, running))
    }

    /// Describes the frozen process.
    fn describe(&mut self, seats: &[&'static Seat]) -> Result<Description, No> {
        let maps = memory::mappings();
        if maps.is_empty() {
            return Err(memory::NO_MAPS.into());
        }
        let mut about = self.describe_run(maps);
        let host = |s: &&Seat| (s.host.load(Relaxed), s.thread_pointer.load(Relaxed));
        let process = Frozen {
            hosts: &seats.iter().map(host).collect::<Vec<_>>(),
            blocked: seats.iter().map(|s| s.blocked()).reduce(|a, b| a & b).unwrap_or(0),
            ours: &self.ours(),
            inherited: &self.settings.inherited,
            files: self.settings.files,
        };
        self.resources.look(&process, &mut about)?;
        let of_a_thread = || seats.iter().find_map(|s| s.own.obstacle()).map(Into::into);
        if let Some(why) = self.resources.obstacle().or_else(of_a_thread) {
            return Err(No::Refused(why));
        }
        self.resources.save(&process, &mut about)?;
        let journal = &keep::get().journal;
        if journal::file_calls::catch(journal, &about.maps, &self.door) {
            return Err(No::Later); // not for a thread that is in the loader for a moment
        }
        journal.next_era(self.settings.files);
        about.era = journal.era.load(Relaxed);
        about.contexts = seats.iter().map(|s| context(s)).collect();
        self.settle(&about, seats)?;
        Ok(about)
    }

    /// Signals that wait for a thread which does not block them are taken as soon as it goes on: then there
    /// can be a checkpoint. Of others, and where they come again and again, it is saved which ones wait; of
    /// those of which several can wait the kernel does not tell how many do, and with which values.
    fn settle(&mut self, about: &Description, seats: &[&'static Seat]) -> Result<(), No> {
        let each = || about.contexts.iter().map(|c| c.attributes.pending);
        // What a timer has sent comes with more than a number.
        let of_timers = timers::signals_of(about);
        let sent =
            || each().fold(pending_signals::set_of(0, "ShdPnd").unwrap_or(0), |set, p| set | p) & of_timers;
        let waits = |(waiting, s): (u64, &&Seat)| waiting & !s.blocked() != 0;
        if self.schedule.waits_for_signals(each().zip(seats).any(waits) || sent() != 0) {
            return Err(No::Later);
        }
        if sent() != 0 {
            return Err(No::Refused("the signal of a timer waits for a thread".into()));
        }
        let waiting = each().fold(about.pending, |set, p| set | p);
        match pending_signals::of_set(waiting).find(|s| *s >= libc::SIGRTMIN()) {
            None => Ok(()),
            Some(s) => Err(No::Refused(format!("signal {s} waits for a thread"))),
        }
    }

    /// What there is to say of the run and its memory, without what the kernel keeps beside that.
    fn describe_run(&self, maps: Vec<Map>) -> Description {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        // SAFETY: asks for the break.
        let brk = unsafe { sys!(libc::SYS_brk, 0) } as usize;
        Description {
            promp: env!("CARGO_PKG_VERSION").into(),
            pid: syscall::getpid(),
            written: since_1970.map_or(0, |d| d.as_secs()),
            at_s: Seconds((time::now_ns() - self.started_ns) as f64 / 1e9),
            region: runtime().region(),
            threads: runtime().threads().unwrap_or(self.settings.threads),
            brk,
            vdso: memory::vdso(),
            cpu: self.cpu.clone(),
            maps,
            kernel: self.kernel.clone(),
            level: self.settings.level,
            registers: image::xsave::here(),
            clocks: image::Clocks::now(),
            alone: self.alone,
            asked: thread_count_queries::all()
                .map(|(routine, at)| Asked { routine: routine.into(), at })
                .collect(),
            ..Description::default()
        }
    }

    /// Writes what was copied, and makes it the last whole checkpoint.
    fn finish(
        &mut self,
        mut about: Description,
        mut held: Held,
        stop_ns: u64,
        (began, thawed): (u64, u64),
    ) -> Result<Committed, String> {
        let k = keep::get();
        self.write(&mut held)?;
        let last = (self.generation > 0).then_some(&self.last);
        for (what, kind) in self.mapped.recognise(&mut about, &self.settings, last) {
            self.tell(&what, &kind);
        }
        if let Some(why) = image::fit::only_here(&about).or_else(|| attributes::only_here(&about)) {
            self.tell(
                &format!("these checkpoints are for rollbacks only, a restart is refused: {why}"),
                &why,
            );
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
        k.journal.forget(self.store.oldest_era());
        if let Some((what, kind)) = self.mapped.remove_unnamed(&self.settings) {
            self.tell(&what, &kind);
        }
        self.last = about;
        self.resources.whole(&self.last);
        k.last.taken_ns.store(began, Relaxed);
        k.last.generation.store(number, Release);
        let cost_ns = self.schedule.taken(stop_ns);
        self.taken.push(Taken {
            generation: number,
            at_ns: began,
            bytes: committed.bytes,
            dirty_pages: committed.dirty_pages,
            stop_ns,
            write_ns: time::now_ns() - thawed,
            left_out: ranges::bytes(&self.last.dead) as u64,
            cost_ns,
            interval_ns: self.schedule.interval_ns,
        });
        Ok(committed)
    }
}

/// A thread that is frozen in its seat.
fn context(s: &Seat) -> Context {
    Context {
        seat: keep::get().number(s),
        thread: s.logical().map_or(0, |t| address(t).expose_provenance()),
        context: s.context.load(Relaxed),
        thread_pointer: s.thread_pointer.load(Relaxed),
        robust_head: s.robust_head.load(Relaxed),
        initial: s.initial.load(Relaxed) != 0,
        ends: ends::recorded_by(keep::get(), s.host.load(Relaxed)),
        attributes: attributes::of(s.host.load(Relaxed), &s.own),
    }
}
