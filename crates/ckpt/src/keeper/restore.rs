//! Putting everything back to a checkpoint: a rollback in process, or a new process that becomes the old one.

use super::carriers::{self, Carrier, Threads};
use super::{Keeper, No};
use crate::image::{Context, state};
use crate::resources::resource::Back;
use crate::rewind_request::NO;
use crate::runtime::{WentBack, runtime};
use crate::seats::{PARK, Seat, TAKE};
use crate::sys;
use crate::sys::{futex, host, mutexes, out, syscall, time};
use crate::{attributes, children, ends, irreversible_calls, keep, memory, say, vdso, xsave};
use core::sync::atomic::Ordering::*;

/// How long a rollback tries to stop all threads. A checkpoint can do without one that comes or goes and
/// has no CPU, or waits for a slow disk; here the program would end.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Between two attempts.
const PAUSE_NS: u64 = 50_000;

impl Keeper {
    /// Puts everything back to the last checkpoint.
    pub(super) fn roll_back(&mut self) {
        let k = keep::get();
        let began = time::now_ns();
        let seats = self
            .stop_all(began)
            .unwrap_or_else(|why| stop(&format!("the threads cannot be stopped for a rollback: {why}")));
        // Hosts that have failed may still be on their way out, on stacks that will be written to.
        for s in &k.seats {
            while s.going.load(Acquire) != 0 {
                futex::wait_until(&s.going, 1, time::now_ns() + 100_000);
            }
        }
        k.failed.store(0, Release);
        let behind = self.committer.last.contexts.iter().any(|c| c.ends.is_some());
        if !behind && let Err(e) = ends::take_back_now() {
            stop(&format!("that the program has ended is noted, which cannot be undone: {}", sys::why(e)));
        }
        // Whoever has asked for one will not have asked.
        k.rewind.asked.store(NO, Relaxed);
        let ended = children::end_children().unwrap_or_else(|why| stop(&why));
        let others = ended > 0 || self.resources.children.have_ended();
        if let Some(what) = irreversible_calls::what() {
            stop(what);
        }
        if let Some(why) = k.journal.no_way_back(self.committer.last.era) {
            stop_for_good(&why);
        }
        let (generation, last) = (self.committer.generation, &self.committer.last);
        let since = self.resources.streams.since(generation, last, others);
        if let Some(what) = since.lost {
            stop_for_want_of(&what);
        }
        let mut again = since.again;
        if others {
            again.push(format!(
                "the program has started other processes since checkpoint {generation} ({ended} were ended now); what \
                 they have done is done again"
            ));
        }
        self.put_back(&seats, began, &again).unwrap_or_else(|why| stop(&why));
    }

    /// Stops every thread, however often that has to be tried. The error says what is in the way.
    pub(super) fn stop_all(&mut self, began: u64) -> Result<Vec<&'static Seat>, String> {
        let k = keep::get();
        loop {
            match self.freezer.freeze() {
                Ok(s) => return Ok(s),
                Err(No::Refused(why)) if time::now_ns() - began > PATIENCE_NS => return Err(why),
                Err(_) => {
                    crate::sys::death_watch::look_after();
                    let bell = k.bell.load(Acquire);
                    futex::wait_until(&k.bell, bell, time::now_ns() + PAUSE_NS);
                }
            }
        }
    }

    /// Says what the rollback that began at `began` has done for those who asked for it.
    fn close_records(&self, began: u64) {
        let k = keep::get();
        let lost = began.saturating_sub(k.last.taken_ns.load(Relaxed));
        k.last.taken_ns.store(time::now_ns(), Relaxed);
        runtime().went_back(&WentBack {
            generation: self.committer.generation,
            region: self.committer.last.region,
            lost_ns: lost,
            said: self.settings.verbose >= 1,
        });
    }

    /// Memory, files, dispositions and threads become what they were; threads that are frozen in `seats`
    /// take their contexts. `again`: what others see twice.
    pub(super) fn put_back(
        &mut self,
        seats: &[&'static Seat],
        began: u64,
        again: &[String],
    ) -> Result<(), String> {
        self.resources.leave();
        let contexts = self.committer.last.contexts.clone();
        // Threads that did not exist then go first.
        let carriers = carriers::of(seats, &contexts);
        self.copier.put_memory_back(&self.committer, &mut self.poison)?;
        self.put_the_rest_back(false, &carriers.iter().map(Carrier::host).collect::<Vec<_>>())?;
        self.close_records(began);
        if self.settings.verbose >= 1 {
            again.iter().for_each(|what| say!("{what}"));
        }
        let seats = self.hand_out(&contexts, &carriers)?;
        self.let_go(&seats);
        Ok(())
    }

    /// What the kernel keeps of the process is what it was; `hosts` go on.
    fn put_the_rest_back(&mut self, new_process: bool, hosts: &[u32]) -> Result<(), String> {
        let (ours, files) = (self.ours(), self.settings.files);
        let to = Back { new_process, hosts, ours: &ours, files, store: &self.committer.store };
        self.resources.put_back(&to, &mut self.committer.last)?;
        // Some threads get new hosts.
        mutexes::follow_after_return(keep::get().hosts.all());
        Ok(())
    }

    /// Gives every context a host: the frozen one of the same thread, or a new one. Returns the seats, for
    /// [`Keeper::let_go`].
    fn hand_out(&mut self, contexts: &[Context], carriers: &[Carrier]) -> Result<Vec<&'static Seat>, String> {
        let k = keep::get();
        self.standing.dismiss();
        k.place.forget();
        let threads = Threads::sit_down(contexts, carriers)?;
        // One number for all processes of the run: what was arranged in another one does not count here,
        // either.
        let before = crate::state()[state::EPOCH].fetch_add(1, Relaxed);
        k.epoch.store(before as u32 + 1, Relaxed);
        k.freeze.started.store(0, SeqCst);
        let (rollback, last) = (k.ready.load(Relaxed) != 0, &self.committer.last);
        let got = threads.get_hosts(&last.values, rollback)?;
        for what in self.resources.resume(!rollback, last)? {
            let told = format!("a rollback cannot put back {what}: the program goes on so");
            self.notices.once(&told, &what);
        }
        if let Some((tid, status)) = got.ends {
            ends::has_recorded(k, tid, status);
        }
        if got.without {
            self.notices.once(
                "capabilities that the program has given up since the checkpoint cannot be had again: threads go on \
                 without them",
                "capabilities",
            );
        }
        Ok(threads.seats())
    }

    /// The threads in `seats` go on: what is to be said has been, for the program may end at once.
    pub(crate) fn let_go(&self, seats: &[&'static Seat]) {
        // A host that is not asleep goes on as soon as it has its order.
        seats.iter().for_each(|s| s.order(TAKE));
        keep::get().freeze.send_orders();
        self.freezer.wake_agent();
    }

    /// In a new process: makes it the one that `generation` describes. The first host waits in `first`.
    /// `threads`: its regions have so many from now on, if another number is asked for. Returns the seats
    /// that are to go on ([`Keeper::let_go`]).
    pub(crate) fn become_generation(
        &mut self,
        first: &'static Seat,
        threads: Option<u32>,
    ) -> Result<Vec<&'static Seat>, String> {
        let contexts = self.committer.last.contexts.clone();
        self.copier.unknown = true;
        self.resources.leave();
        let surroundings = attributes::Surroundings::take();
        let place = out::place();
        let done = self.copier.put_memory_back(&self.committer, &mut self.poison);
        out::go_on(place);
        done?;
        surroundings.put_back();
        let last = &mut self.committer.last;
        memory::number_anew(&mut last.maps);
        vdso::is_free(&contexts, &last.maps)?;
        xsave::adapt(&contexts, last)?;
        self.put_the_rest_back(true, &[])?;
        if let Some(n) = threads {
            let initial = contexts.iter().find(|c| c.initial).map(|c| c.thread);
            first.assign(initial.ok_or("the initial thread is not in it")?);
            match first.logical() {
                Some(thread) => thread.resize(n),
                None if self.committer.last.threads == 0 => runtime().begin_with(n),
                None => return Err("the initial thread has never used OpenMP".into()),
            }
        }
        // Locks note their holders' ids of then: none of these must be another thread's now. In a container
        // that has just begun the next ids are the same.
        let former = former_ids(&contexts);
        host::use_up(&former.iter().map(|(_, id)| *id).collect::<Vec<_>>());
        let tp = contexts.iter().find(|c| c.initial).map_or(0, |c| c.thread_pointer);
        let k = keep::get();
        let me = syscall::getpid();
        if former.iter().any(|(whose, id)| *id == me && *whose != tp) {
            // As if its first host had failed.
            k.hosts.parked.store(me, Release);
            first.order(PARK);
            k.freeze.send_orders();
            return self.hand_out(&contexts, &[]);
        }
        self.hand_out(&contexts, &[Carrier { seat: k.number(first), thread_pointer: tp }])
    }
}

/// The ids that threads had when they were saved, and before: thread pointers and ids.
fn former_ids(contexts: &[Context]) -> Vec<(usize, u32)> {
    let saved = contexts.iter().filter_map(|c| {
        // SAFETY: libc has made all threads that are saved, and their memory has been put back.
        let id = unsafe { host::id_of(c.thread_pointer) }?;
        Some((c.thread_pointer, id))
    });
    saved.chain(mutexes::ids_before()).collect()
}

/// No rollback, and no restart: neither could undo it.
fn stop_for_good(why: &str) -> ! {
    say!("no rollback: {why}; stopping");
    end_with_70()
}

/// A rollback needs input that is gone.
fn stop_for_want_of(input: &str) -> ! {
    say!(
        "no rollback: {input}, and what it has taken from there cannot be read again; stopping. Programs that \
         read their input from a file (./app <file) can be rolled back."
    );
    end_with_70()
}

/// A rollback that cannot be finished leaves nothing to go on with.
pub(super) fn stop(why: &str) -> ! {
    say!(
        "the rollback failed: {why}; stopping. `promp restart` may still go on from the checkpoint directory."
    );
    end_with_70()
}

/// The process ends, and not as may have been recorded.
fn end_with_70() -> ! {
    let _ = ends::take_back_now();
    syscall::exit_group(70)
}
