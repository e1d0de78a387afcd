//! Taking a checkpoint: what it needs is made ready, the threads are stopped, what has changed is described
//! and copied, they go on, and it is written and made the last whole one.

use super::committer::Stop;
use super::concurrent_copy::Running;
use super::copy::Held;
use super::rewind::ABOUT_TO_STOP;
use super::{Keeper, No};
use crate::busy::Busy;
use crate::image::state::Then;
use crate::image::{Context, Description};
use crate::logical_threads::address;
use crate::resources::resource::Frozen;
use crate::seats::Seat;
use crate::sys::{signals, time};
use crate::{attributes, ends, journal, keep, memory, ranges, requests, say, vdso};
use core::sync::atomic::Ordering::*;

/// A process as it was while its threads stood still, whose memory has been copied, or is held.
struct Copied {
    about: Description,
    held: Held,
    running: Running,
    /// Files whose content is not part of it, and why.
    left_out: Vec<String>,
}

impl Keeper {
    pub(super) fn take(&mut self) -> Result<(), No> {
        let k = keep::get();
        self.standing.begins();
        if !self.committer.store.intact() {
            return Err(No::Refused("the program has closed descriptors of the runtime's".into()));
        }
        if let Some(why) = self.poison.has_been_read() {
            return Err(No::Refused(why));
        }
        self.standing.claim(&self.copier.door);
        self.schedule.begins();
        let waits = !self.schedule.refused;
        let (copier, mut lent) = self.lend();
        let busy = copier.prepare(&mut lent, waits)?;
        let noting_ns = copier.noting_ns();
        let began_ns = time::now_ns();
        let seats = self.freeze()?;
        self.standing.confirm(&seats);
        self.rewinds.note_written();
        let copied = self.copy(&seats, busy);
        if copied.is_ok() {
            self.copier.unknown = true; // until it is whole
            k.last.in_memory.store(1, Release);
            // Whoever comes to a place from here on goes by this one.
            k.place.copied_ns.store(began_ns, Relaxed);
        }
        // Whoever asks for it to end, or to stop, gets it as it is now. Another request to end must find
        // somebody who takes it.
        let stays =
            copied.is_ok() && (k.ending.signal.load(Acquire) != 0 || self.schedule.then != Then::GoOn);
        let ended_ns = if stays { time::now_ns() } else { self.freezer.thaw() };
        let hears = stays.then(|| signals::set_mask(!(requests::handled(k) & k.ending.ends.load(Relaxed))));
        let stop = Stop { began_ns, ended_ns, ns: ended_ns - began_ns + noting_ns };
        let taken = copied.and_then(|c| self.complete(c, &stop));
        if let Some(mask) = hears {
            if taken.is_ok() {
                self.end_or_stop();
            }
            signals::set_mask(mask);
            self.freezer.thaw();
        }
        taken
    }

    /// Stops every thread, unless one of them is where it cannot be saved.
    fn freeze(&mut self) -> Result<Vec<&'static Seat>, No> {
        let (k, seats) = (keep::get(), self.freezer.freeze()?);
        // A stop waits for a call's exit: saved, it would strike again after every rollback.
        let stops = seats.iter().any(|s| s.is_about_to_stop());
        let for_long = self.schedule.waits_for_stops(stops);
        let until = requests::ends_until(k);
        let ends = until > time::now_ns();
        // One failed while the others were being stopped: first the rollback.
        let put_off = k.failed.load(Acquire) > 0 || stops || ends;
        if !put_off && !self.schedule.waits_for_kernel(seats.iter().any(|s| vdso::is_executed_by(s))) {
            return Ok(seats);
        }
        self.freezer.thaw();
        if for_long {
            k.rewind.why.set(ABOUT_TO_STOP);
        }
        if ends {
            // Who asks at places asks no more until then.
            k.place.copied_ns.store(until, Relaxed);
        }
        if for_long || ends {
            self.standing.answer(); // they go on without
        }
        Err(No::Later)
    }

    /// Describes the frozen process and copies the pages that have changed. Blocks that are `busy` are not
    /// armed anew.
    fn copy(&mut self, seats: &[&'static Seat], busy: Busy) -> Result<Copied, No> {
        self.poison.look_no_more(false, &self.copier.tracker);
        let copied = self.describe(seats).and_then(|about| self.copy_described(about, busy));
        self.resources.shared.close();
        copied
    }

    /// Copies the pages that have changed in the frozen process that `about` describes.
    fn copy_described(&mut self, mut about: Description, busy: Busy) -> Result<Copied, No> {
        let (copier, store) = (&mut self.copier, &mut self.committer.store);
        copier.begin(&about.maps);
        let left_out = self.standing.left_out(&about.maps);
        let runs = copier.tracker.runs_anew(&about.maps, &store.dense, &busy.unarmed(), &left_out);
        copier.tracker.note_guards(&runs, &mut about.maps);
        let last = &self.committer.last;
        // And what the last one left out and nobody has written to since.
        let still_out = ranges::within(&copier.unchanged(&runs), &last.dead);
        about.dead = ranges::ordered([left_out, still_out, self.poison.untouched()].concat());
        about.words = self.standing.words(&about.dead, &last.words);
        let runs = self.standing.without_dead(runs);
        let chosen = core::mem::take(&mut self.resources.shared.chosen);
        let (held, running) = copier.copy(&about.maps, runs, &chosen.files, busy, store)?;
        Ok(Copied { about, held, running, left_out: chosen.left_out })
    }

    /// Describes the frozen process.
    fn describe(&mut self, seats: &[&'static Seat]) -> Result<Description, No> {
        let maps = memory::mappings();
        if maps.is_empty() {
            return Err(memory::NO_MAPS.into());
        }
        let mut about = self.committer.describe(maps, &self.settings, self.standing.is_alone());
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
        if journal::file_calls::catch(journal, &about.maps, &self.copier.door) {
            return Err(No::Later); // not for a thread that is in the loader for a moment
        }
        journal.next_era(self.settings.files);
        about.era = journal.era.load(Relaxed);
        about.contexts = seats.iter().map(|s| context(s)).collect();
        self.schedule.settle(&about, seats)?;
        Ok(about)
    }

    /// Copies what is copied while the threads run, writes it all, and makes it the last whole checkpoint.
    fn complete(&mut self, copied: Copied, stop: &Stop) -> Result<(), No> {
        let k = keep::get();
        let Copied { about, mut held, running, left_out } = copied;
        let looked_at = running.pages();
        let store = &mut self.committer.store;
        self.copier.copy_running(running, &mut held, store)?;
        self.standing.answer();
        left_out.iter().for_each(|why| self.notices.once(why, why));
        self.copier.write(&mut held, store)?;
        let committed = self.committer.commit(about, held, &self.settings, &mut self.notices)?;
        self.resources.whole(&self.committer.last);
        let last_ns = k.last.taken_ns.swap(stop.began_ns, Relaxed);
        k.last.generation.store(self.committer.generation, Release);
        let cost_ns = self.schedule.taken(stop.ns);
        self.committer.list(&committed, stop, cost_ns, self.schedule.interval_ns);
        self.rewinds.whole();
        self.copier.is_whole(stop.began_ns.saturating_sub(last_ns));
        if self.settings.verbose >= 2 {
            say!("{}", self.committer.summary(&committed, stop, looked_at));
        }
        Ok(())
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
