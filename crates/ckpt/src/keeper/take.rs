//! Taking a checkpoint.

use super::ahead::WORTH_IT;
use super::copy::Held;
use super::rewind::ABOUT_TO_STOP;
use super::running::Running;
use super::{Keeper, No};
use crate::busy::{BLOCK, Busy};
use crate::cow::{CLOSED, PLACES};
use crate::image::{self, Asked, Context, Description, Map, OpenFile, PAGE, Registered, Seconds, Word};
use crate::logical_threads::address;
use crate::pipes::sent;
use crate::runtime::runtime;
use crate::seats::Seat;
use crate::shared::{self, Obstacle, Unopened};
use crate::store::Committed;
use crate::sys;
use crate::sys::{asked, cpu_time, out, pending, signals, syscall, time};
use crate::taken::Taken;
use crate::{
    alarms, attributes, contents, files, journal, keep, masks, membarriers, memory, process, ranges,
    requests, say, semaphore_sets, timers, vdso,
};
use core::sync::atomic::Ordering::*;

/// Bytes from which on the crew is worth having.
const WORTH_SHARING: usize = 8 << 20;
/// How often memory is looked at before a checkpoint, at most, and how often it may be waited for.
const LOOKS: u32 = 10;
const WAITS: u32 = 6;
/// How often a checkpoint is put off because signals wait for threads that do not block them.
const UNSETTLED: u32 = 50;
/// How long those who have asked for a checkpoint wait for stops that wait, too, for them perhaps.
const STOPS_NS: u64 = 20_000_000;
/// How often because one executes the kernel's object.
const IN_KERNELS: u32 = 20;

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
        self.cost.began_cpu_ns = time::of_thread_ns(syscall::gettid());
        self.write_ahead()?;
        let had = self.staging.ready();
        let busy = self.prepare()?;
        let noting_ns = self.ahead.as_ref().map_or(0, |a| a.stop_ns);
        let began = time::now_ns();
        let seats = self.freeze()?;
        let stops = seats.iter().any(|s| s.is_about_to_stop());
        if k.failed.load(Acquire) > 0 || stops {
            // One failed while the others were being stopped: first the rollback. Or a stop waits for a
            // call's exit: saved, it would strike again after every rollback.
            self.thaw();
            self.let_stops_happen(stops);
            return Err(No::Later);
        }
        self.stops_since = None;
        if seats.iter().any(|s| vdso::is_executed_by(s)) {
            self.in_kernels += 1;
            // Under the same kernel it could be gone on from there.
            if self.in_kernels < IN_KERNELS || keep::get().kernel.are_two() {
                self.thaw();
                return Err(No::Later);
            }
        }
        self.in_kernels = 0;
        self.confirm(&seats);
        self.note_written();
        let copied = self.copy(&seats, busy);
        let children_ended = process::children_ended();
        if copied.is_ok() {
            self.unknown = true; // until it is whole
            k.in_memory.store(1, Release);
            // Whoever comes to a place from here on goes by this one.
            k.place.copied_ns.store(began, Relaxed);
        }
        // Whoever asks for it to end, or to stop, gets it as it is now. Another request to end must find
        // somebody who takes it.
        let stays = copied.is_ok() && self.stays_frozen();
        let thawed = if stays { time::now_ns() } else { self.thaw() };
        let hears =
            stays.then(|| signals::set_mask(!(requests::handled(k) & k.on_signal_ends.load(Relaxed))));
        let stop_ns = thawed - began + noting_ns;
        let taken = copied.and_then(|c| self.complete(c, children_ended, had, stop_ns, (began, thawed)));
        if let Some(mask) = hears {
            if taken.is_ok() {
                self.end_or_stop();
            }
            signals::set_mask(mask);
            self.thaw();
        }
        taken
    }

    /// A stop may wait for the end of a call that ends only when others come, of whom one waits for this
    /// checkpoint: it goes on without.
    fn let_stops_happen(&mut self, stops: bool) {
        let now = time::now_ns();
        if !stops {
            self.stops_since = None;
        } else if now - *self.stops_since.get_or_insert(now) > STOPS_NS {
            keep::get().rewind.why.set(ABOUT_TO_STOP);
            self.answer();
        }
    }

    /// Copies what is copied while the threads run, writes it all, and makes it the last whole checkpoint.
    /// `had`: bytes that were ready for staging.
    fn complete(
        &mut self,
        (about, mut held, running): (Description, Held, Running),
        children_ended: u64,
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
        let last_ns = k.taken_ns.load(Relaxed);
        let finished = self.finish(about, held, stop_ns, (began, thawed));
        let Committed { dirty_pages, from_ready, .. } = finished.map_err(No::Refused)?;
        self.children_ended = children_ended;
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
        let mut maps = memory::mappings();
        if maps.is_empty() {
            return Err(No::Refused(memory::NO_MAPS.into()));
        }
        self.advice.note(&mut maps).map_err(No::Refused)?;
        let mut files = files::open_files(&self.ours(), &self.settings.inherited).map_err(No::Refused)?;
        self.streams.look(&mut files).map_err(No::Refused)?;
        if let Some(why) = process::obstacles() {
            return Err(No::Refused(why));
        }
        if let Some(why) = seats.iter().find_map(|s| s.own.obstacle()) {
            return Err(No::Refused(why.into()));
        }
        let unopened = Unopened::of(&maps, &files).map_err(No::Refused)?;
        let open = files.len();
        files.extend_from_slice(&unopened.0);
        let chosen = contents::choose(&mut files, out::place().file(), self.settings.files);
        shared::bind(&mut maps, &files, &self.owners).map_err(|why| match why {
            Obstacle::Unknown => No::Later,
            Obstacle::Refused(why) => No::Refused(why),
        })?;
        let closed = files.split_off(open);
        let journal = &keep::get().journal;
        if journal::calls::catch(journal, &maps, &self.door) {
            return Err(No::Later); // not for a thread that is in the loader for a moment
        }
        journal.next_era(self.settings.files);
        let mut about = self.described(&maps, [files, closed], seats)?;
        // From here on it must go well, or it is not known what has changed.
        if !self.tracker.find_held(&maps) {
            self.in_vain(CLOSED);
            self.unknown = true;
            self.tracker.let_go(&maps);
        }
        let left_out = self.left_out(&maps);
        let runs = self.tracker.runs_anew(&maps, &self.store.dense, &busy.unarmed(), &left_out);
        self.tracker.note_guards(&runs, &mut about.maps);
        about.dead = self.still_out(&runs, &left_out);
        about.words = self.words(&about.dead);
        let runs = self.without_dead(runs);
        let mut running = self.hold(&maps, &runs);
        let runs = running.rest(runs);
        let old = core::mem::take(&mut self.store.index);
        let mut held = Held::new(self.ahead.take().unwrap_or_default(), busy);
        held.busy.forget(self.tracker.held());
        let copied = self.copy_changes(&maps, &runs, &chosen.files, &old, &mut held);
        self.store.index = old;
        copied.and_then(|()| self.expect(&mut running, &mut held)).map_err(|why| {
            self.unknown = true;
            No::Refused(why)
        })?;
        self.tracker.arm(&core::mem::take(&mut held.busy).calm(), &self.crew);
        self.tracker.watch_rest(&maps, &self.crew);
        self.left_out = chosen.left_out;
        Ok((about, held, running))
    }

    /// Describes the frozen process; `files`: those that are open, and others that are mapped.
    fn described(
        &mut self,
        maps: &[Map],
        [files, unopened]: [Vec<OpenFile>; 2],
        seats: &[&'static Seat],
    ) -> Result<Description, No> {
        let sent = keep::get().sent.positions();
        let received = keep::get().received.positions();
        let mut about = Description { unopened, sent, received, ..self.describe(maps, files, seats) };
        about.registered.semaphores = semaphore_sets::saved().map_err(No::Refused)?;
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
        let sent = || each().fold(pending::set_of(0, "ShdPnd").unwrap_or(0), |set, p| set | p) & of_timers;
        let waits = |(waiting, s): (u64, &&Seat)| waiting & !s.blocked() != 0;
        if (each().zip(seats).any(waits) || sent() != 0) && self.unsettled < UNSETTLED {
            self.unsettled += 1;
            return Err(No::Later);
        }
        self.unsettled = 0;
        if sent() != 0 {
            return Err(No::Refused("the signal of a timer waits for a thread".into()));
        }
        let waiting = each().fold(about.pending, |set, p| set | p);
        match pending::of_set(waiting).find(|s| *s >= libc::SIGRTMIN()) {
            None => Ok(()),
            Some(s) => Err(No::Refused(format!("signal {s} waits for a thread"))),
        }
    }

    fn describe(&mut self, maps: &[Map], files: Vec<OpenFile>, seats: &[&'static Seat]) -> Description {
        let k = keep::get();
        // Before the signals that wait: what expires in between is not lost.
        let timers = timers::saved(seats);
        let (alarms, of_alarms) = alarms::saved();
        let contexts = seats
            .iter()
            .map(|s| Context {
                seat: k.number(s),
                thread: s.logical().map_or(0, |t| address(t).expose_provenance()),
                context: s.context.load(Relaxed),
                thread_pointer: s.thread_pointer.load(Relaxed),
                robust_head: s.robust_head.load(Relaxed),
                initial: s.initial.load(Relaxed) != 0,
                attributes: attributes::of(s.host.load(Relaxed), &s.own),
            })
            .collect();
        let (program, arguments, environment) = self.command();
        // SAFETY: asks for the break.
        let brk = unsafe { sys!(libc::SYS_brk, 0) } as usize;
        Description {
            promp: env!("CARGO_PKG_VERSION").into(),
            program,
            arguments,
            environment,
            directory: image::Place::of_work().unwrap_or_default(),
            umask: process::umask().unwrap_or(0o022),
            stack_limit: attributes::stack_limit(),
            limits: attributes::limits(),
            values: attributes::values::saved(),
            pid: syscall::getpid(),
            written: std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |d| d.as_secs()),
            at_s: Seconds((time::now_ns() - self.started_ns) as f64 / 1e9),
            region: runtime().region(),
            threads: runtime().threads().unwrap_or(self.settings.threads),
            used: cpu_time::of_process().map(|u| [u.ns, u.user, u.system]),
            brk,
            vdso: memory::vdso(),
            cpu: self.cpu.clone(),
            maps: maps.to_vec(),
            mapped: Vec::new(),
            contained: false,
            executable: String::new(),
            libraries: Vec::new(),
            loader: String::new(),
            kernel: self.kernel.clone(),
            level: self.settings.level,
            registers: image::xsave::here(),
            contexts,
            files,
            unopened: Vec::new(),
            era: k.journal.era.load(Relaxed),
            timers,
            alarms,
            // Nobody tells the next process that a timer has sent it.
            pending: process::pending(seats.iter().map(|s| s.blocked())) | of_alarms,
            clocks: image::Clocks::now(),
            registered: Registered { registrations: membarriers::registered(), semaphores: Vec::new() },
            boot: sent::boot(),
            sent: Vec::new(),
            received: Vec::new(),
            dead: Vec::new(),
            words: Vec::new(),
            alone: self.alone,
            asked: asked::all().map(|(routine, at)| Asked { routine: routine.into(), at }).collect(),
            signals: masks::dispositions(),
        }
    }

    /// The program, its arguments and its environment, as they were when it began. The kernel shows a
    /// restarted process' own.
    fn command(&self) -> (String, Vec<Word>, Vec<Word>) {
        if self.generation > 0 {
            let l = &self.last;
            return (l.program.clone(), l.arguments.clone(), l.environment.clone());
        }
        let (program, arguments) = process::command();
        (program, arguments, process::environment())
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
        let copies = self.recognise(&mut about);
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
        let committed = self.store.commit(number, &about, entries, &copies)?;
        self.generation = number;
        self.streams.whole();
        // Older generations may still be gone back to, should this one be damaged.
        k.journal.forget(self.store.oldest_era());
        self.remove_unnamed();
        self.last = about;
        k.sent.whole(&self.last.sent);
        k.received.whole(&self.last.received);
        k.taken_ns.store(began, Relaxed);
        k.generation.store(number, Release);
        let cost_ns = self.adapt(stop_ns);
        self.taken.push(Taken {
            generation: number,
            at_ns: began,
            bytes: committed.bytes,
            dirty_pages: committed.dirty_pages,
            stop_ns,
            write_ns: time::now_ns() - thawed,
            left_out: ranges::bytes(&self.last.dead) as u64,
            cost_ns,
            interval_ns: self.settings.interval_ns,
        });
        Ok(committed)
    }
}
