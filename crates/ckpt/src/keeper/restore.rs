//! Putting everything back to a checkpoint: a rollback in process, or a new process that becomes the old one.

use super::{Keeper, No};
use crate::image::{self, Context, Entry, Map, PAGE};
use crate::resources::resource::Back;
use crate::rewind_request::NO;
use crate::runtime::{WentBack, runtime};
use crate::seats::{self, LEAVE, PARK, Seat, TAKE};
use crate::sys;
use crate::sys::{cpu_time::Used, futex, guards, host, mutexes, out, syscall, time};
use crate::tracker::Run;
use crate::{attributes, children, ends, irreversible_calls, keep, memory, ranges, say, vdso, xsave};
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
        let behind = self.last.contexts.iter().any(|c| c.ends.is_some());
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
        if let Some(why) = k.journal.no_way_back(self.last.era) {
            stop_for_good(&why);
        }
        let since = self.resources.streams.since(self.generation, &self.last, others);
        if let Some(what) = since.lost {
            stop_for_want_of(&what);
        }
        let mut again = since.again;
        if others {
            again.push(format!(
                "the program has started other processes since checkpoint {} ({ended} were ended now); what they \
                 have done is done again",
                self.generation
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
            generation: self.generation,
            region: self.last.region,
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
        let k = keep::get();
        let contexts = self.last.contexts.clone();
        self.resources.leave();
        // Threads that did not exist then go first: the kernel writes to their memory as they end.
        let stays = |s: &Seat| contexts.iter().any(|c| c.thread_pointer == s.thread_pointer.load(Relaxed));
        let leaving: Vec<_> = seats.iter().filter(|s| !stays(s)).collect();
        leaving.iter().for_each(|s| s.order(LEAVE));
        k.freeze.send_orders();
        // The first host's id stays as long as the process.
        for tid in leaving.iter().map(|s| s.host.load(Relaxed)).filter(|tid| *tid != syscall::getpid()) {
            while syscall::tgkill(tid, 0) {
                syscall::sched_yield();
            }
        }
        let carriers: Vec<(u32, usize)> = seats
            .iter()
            .filter(|s| stays(s))
            .map(|s| (k.number(s), s.thread_pointer.load(Relaxed)))
            .collect();
        self.put_memory_back()?;
        let host = |(n, _): &(u32, usize)| k.seats[*n as usize].host.load(Relaxed);
        self.put_the_rest_back(false, &carriers.iter().map(host).collect::<Vec<_>>())?;
        self.close_records(began);
        if self.settings.verbose >= 1 {
            again.iter().for_each(|what| say!("{what}"));
        }
        let seats = self.hand_out(&contexts, &carriers)?;
        self.let_go(&seats);
        Ok(())
    }

    /// Gives every context a host: the frozen one of the same thread, or a new one. `carriers`: seats of
    /// frozen hosts, with the threads they carry. Returns the seats, for [`Keeper::let_go`].
    fn hand_out(
        &mut self,
        contexts: &[Context],
        carriers: &[(u32, usize)],
    ) -> Result<Vec<&'static Seat>, String> {
        let k = keep::get();
        // A thread that has got another seat since: its host waits in that one.
        let mut orders: Vec<(&'static Seat, bool, &Context)> = Vec::new();
        let mut taken: Vec<u32> = carriers.iter().map(|(n, _)| *n).collect();
        let hosts: Vec<u32> = carriers.iter().map(|(n, _)| k.seats[*n as usize].host.load(Relaxed)).collect();
        for s in &k.seats {
            s.leave();
        }
        self.dismiss();
        k.place.forget();
        for c in contexts {
            let carrier = carriers.iter().position(|(_, tp)| *tp == c.thread_pointer);
            let seat = match carrier {
                Some(i) => carriers[i].0,
                None => core::iter::once(c.seat)
                    .chain(0..seats::SEATS as u32)
                    .find(|n| !taken.contains(n))
                    .ok_or("too many threads")?,
            };
            taken.push(seat);
            let s = give(seat, c, carrier.map_or(u32::MAX, |i| hosts[i]));
            orders.push((s, carrier.is_some(), c));
        }
        // One number for all processes of the run: what was arranged in another one does not count here,
        // either.
        let before = crate::state()[image::state::EPOCH].fetch_add(1, Relaxed);
        k.epoch.store(before as u32 + 1, Relaxed);
        k.freeze.started.store(0, SeqCst);
        let rollback = k.ready.load(Relaxed) != 0;
        let (mut without, mut ends) = (false, None);
        for (s, has_host, c) in &orders {
            let of_thread = &c.attributes;
            let tid = match has_host {
                true => s.host.load(Relaxed),
                false => s.make_host().ok_or("the system gives no host for a thread (ulimit -u?)")?,
            };
            // Before any of them goes on, and sends it a signal, say: it would hear that there is no such
            // thread.
            // SAFETY: libc has made all threads that are saved, their memory has been put back, and the host
            // waits.
            unsafe { host::is_carried_by(s.thread_pointer.load(Relaxed), tid) };
            let now = has_host.then_some(&s.own);
            let (calls, less) = attributes::changes(tid, now, of_thread, &self.last.values, rollback)?;
            s.changes.set(&calls);
            // What it has used since the checkpoint it has used.
            let [ns, user, system] = of_thread.own.as_ref().map_or([0; 3], |o| o.used);
            if !*has_host || s.own.used().ns < ns {
                s.own.set_used(Used { ns, user, system });
            }
            without |= less;
            attributes::put_back(tid, of_thread)?;
            ends = ends.or(c.ends.map(|status| (tid, status)));
        }
        for what in self.resources.resume(!rollback, &self.last)? {
            self.tell(&format!("a rollback cannot put back {what}: the program goes on so"), &what);
        }
        if let Some((tid, status)) = ends {
            ends::has_recorded(k, tid, status);
        }
        if without {
            self.tell(
                "capabilities that the program has given up since the checkpoint cannot be had again: threads go on \
                 without them",
                "capabilities",
            );
        }
        Ok(orders.iter().map(|o| o.0).collect())
    }

    /// The threads in `seats` go on: what is to be said has been, for the program may end at once.
    pub(crate) fn let_go(&self, seats: &[&'static Seat]) {
        // A host that is not asleep goes on as soon as it has its order.
        seats.iter().for_each(|s| s.order(TAKE));
        keep::get().freeze.send_orders();
        self.freezer.wake_agent();
    }

    /// What the kernel keeps of the process is what it was; `hosts` go on.
    fn put_the_rest_back(&mut self, new_process: bool, hosts: &[u32]) -> Result<(), String> {
        let (ours, files) = (self.ours(), self.settings.files);
        let to = Back { new_process, hosts, ours: &ours, files, store: &self.store };
        self.resources.put_back(&to, &mut self.last)?;
        // Some threads get new hosts.
        mutexes::follow_after_return(keep::get().hosts.all());
        Ok(())
    }

    fn put_memory_back(&mut self) -> Result<(), String> {
        self.look_no_more(true);
        // What was noted ahead has changed, too, but the kernel does not say so any more.
        let noted = self.ahead.take().map_or(Vec::new(), |a| a.noted);
        memory::reshape(&self.last.maps, self.last.brk)?;
        let maps = self.last.maps.clone();
        let index = core::mem::take(&mut self.store.index);
        self.unknown |= !self.tracker.find_held(&maps);
        let mut runs = self.tracker.runs(&maps, &self.store.dense, &self.crew);
        self.tracker.let_go(&maps);
        self.tracker.watch(&maps);
        let made = memory::renew(&maps)?;
        for m in &made {
            self.tracker.watch(core::slice::from_ref(m));
            runs.retain(|r| r.end <= m.start || m.end <= r.start);
        }
        let memory = index.partition_point(|e| e.page < image::FILES);
        let r = self.put_pages_back(&maps, &runs, &noted, &index[..memory]);
        self.store.index = index;
        r?;
        memory::protect(&made);
        self.tracker.put_guards_back(&runs, &maps)?;
        let missing = self.poison(&maps)?;
        self.tracker.arm_all(&maps, &self.crew);
        self.unknown = !self.tracker.notes_writes();
        self.look_out(&missing)
    }

    /// Makes memory in `runs` of `maps`, of which the pages `noted` have changed in any case, what it was
    /// by `index`.
    fn put_pages_back(
        &mut self,
        maps: &[Map],
        runs: &[Run],
        noted: &[(u64, u64)],
        index: &[Entry],
    ) -> Result<(), String> {
        // Present pages that the checkpoint does not have were zero, or the file's.
        let mut i = 0;
        let mut unchanged: Vec<(u64, u64)> = Vec::new(); // page ranges that are as they were
        for r in runs {
            let (mut p, end) = ((r.start / PAGE) as u64, (r.end / PAGE) as u64);
            if !r.changed && !self.unknown {
                unchanged.push((p, end));
            }
            while p < end {
                while i < index.len() && index[i].page < p {
                    i += 1;
                }
                let next = index.get(i).map_or(end, |e| e.page.min(end));
                if next > p {
                    self.empty(maps, p as usize * PAGE, next as usize * PAGE)?;
                }
                p = next.max(p + 1);
            }
        }
        let unchanged = ranges::without(&unchanged, noted);
        // The rest: saved pages but those that have not changed.
        let mut content = vec![0u8; 1 << 20];
        let mut u = 0;
        let mut i = 0;
        while i < index.len() {
            let e = index[i];
            while u < unchanged.len() && unchanged[u].1 <= e.page {
                u += 1;
            }
            let stop = match unchanged.get(u) {
                Some((a, b)) if *a <= e.page => {
                    i += index[i..].partition_point(|x| x.page < *b);
                    continue;
                }
                Some((a, _)) => *a,
                None => u64::MAX,
            };
            let mut n = 1;
            while n < content.len() / PAGE
                && index.get(i + n).is_some_and(|x| {
                    x.page == e.page + n as u64 && x.slot == e.slot + n as u64 && x.page < stop
                })
            {
                n += 1;
            }
            let bytes = &mut content[..n * PAGE];
            self.store.read(&index[i..i + n], bytes)?;
            let to = e.page as usize * PAGE;
            let wrote = self.door.write(to, bytes) || {
                // They may have become guards since.
                guards::change(&[(to, to + bytes.len())], &[]).is_ok() && self.door.write(to, bytes)
            };
            if !wrote {
                return Err(format!("the memory at {to:x} cannot be written"));
            }
            i += n;
        }
        Ok(())
    }

    /// Makes pages what they are without a saved content.
    pub(super) fn empty(&self, maps: &[Map], a: usize, b: usize) -> Result<(), String> {
        const MADV_DONTNEED_LOCKED: i32 = 24; // since Linux 5.18
        // SAFETY: private memory of the program, whose threads are frozen.
        let advise = |how: i32| unsafe { sys!(libc::SYS_madvise, a, b - a, how) };
        let r = match advise(libc::MADV_DONTNEED) {
            0 => 0,
            _ => advise(MADV_DONTNEED_LOCKED),
        };
        if r < 0 {
            let zero = [0u8; PAGE];
            let anonymous = maps.iter().any(|m| m.start <= a && b <= m.end && m.inode == 0);
            if !anonymous || !(a..b).step_by(PAGE).all(|p| self.door.write(p, &zero)) {
                return Err(format!("the memory at {a:x} cannot be emptied (error {})", -r));
            }
        }
        Ok(())
    }

    /// In a new process: makes it the one that `generation` describes. The first host waits in `first`.
    /// `threads`: its regions have so many from now on, if another number is asked for. Returns the seats
    /// that are to go on ([`Keeper::let_go`]).
    pub(crate) fn become_generation(
        &mut self,
        first: &'static Seat,
        threads: Option<u32>,
    ) -> Result<Vec<&'static Seat>, String> {
        let contexts = self.last.contexts.clone();
        self.unknown = true;
        self.resources.leave();
        let surroundings = attributes::Surroundings::take();
        let place = out::place();
        let done = self.put_memory_back();
        out::go_on(place);
        done?;
        surroundings.put_back();
        memory::number_anew(&mut self.last.maps);
        vdso::is_free(&contexts, &self.last.maps)?;
        xsave::adapt(&contexts, &self.last)?;
        self.put_the_rest_back(true, &[])?;
        if let Some(n) = threads {
            let initial = contexts.iter().find(|c| c.initial).map(|c| c.thread);
            first.assign(initial.ok_or("the initial thread is not in it")?);
            match first.logical() {
                Some(thread) => thread.resize(n),
                None if self.last.threads == 0 => runtime().begin_with(n),
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
        let number = k.number(first);
        self.hand_out(&contexts, &[(number, tp)])
    }
}

/// Gives seat `number` to the thread that is saved as `c`, and has this host; `u32::MAX`: none yet.
fn give(number: u32, c: &Context, host: u32) -> &'static Seat {
    let s = &keep::get().seats[number as usize];
    s.context.store(c.context, Relaxed);
    s.thread_pointer.store(c.thread_pointer, Relaxed);
    s.robust_head.store(c.robust_head, Relaxed);
    s.assign(c.thread);
    s.initial.store(u32::from(c.initial), Relaxed);
    s.host.store(host, Relaxed);
    // The thread's own note of its seat, in memory that was put back.
    if let Some(thr) = s.logical() {
        thr.seat_number().set(number + 1);
    }
    s
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
