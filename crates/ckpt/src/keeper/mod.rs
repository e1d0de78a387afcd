//! The keeper: a host of its own that takes checkpoints and rolls back. It lives in the kept region and has
//! no part in what it saves.
//!
//! How a checkpoint is taken, and why nobody writes between: README.md, "The protocol". Writing to disk comes
//! after all threads go on.

mod attempts;
mod carriers;
mod committer;
mod concurrent_copy;
mod copier;
mod copy;
mod dead_pages;
mod freeze;
mod memory_restore;
mod notices;
mod poison;
mod precopy;
pub(crate) mod program_copies;
mod ready;
mod restore;
mod rewind;
mod strangers;
mod take;

use crate::image::Generation;
use crate::image::state::Then;
use crate::keep::{self, Keep};
use crate::requests;
use crate::resources::resource::No;
use crate::resources::table::Resources;
use crate::rewind_request::ASKED;
use crate::seats::Seat;
use crate::settings::Settings;
use crate::store::Store;
use crate::sys;
use crate::sys::{death_watch, futex, initial_affinity, signals, syscall, time};
use crate::taken::TakenList;
use attempts::Schedule;
use committer::Committer;
use copier::{Copier, Lent};
use core::sync::atomic::Ordering::*;
use dead_pages::Standing;
use freeze::Freezer;
use notices::Notices;
use poison::Poison;
use rewind::Rewinds;

/// When something is under way: tried again after this time.
const RETRY_NS: u64 = 500_000;

/// The keeper: it says in which order its parts do what they do. None of them knows it, or another one but
/// by what it is given.
pub(crate) struct Keeper {
    settings: Settings,
    schedule: Schedule,
    freezer: Freezer,
    standing: Standing,
    resources: Resources,
    copier: Copier,
    committer: Committer,
    poison: Poison,
    rewinds: Rewinds,
    notices: Notices,
}

impl Keeper {
    /// A keeper for `settings`, with the page store open. On the keeper's own stack.
    pub(crate) fn new(settings: Settings, store: Store, taken: &'static TakenList) -> Self {
        let copier = Copier::new(&settings, &store.slots());
        keep::get().journal.begin(&settings.dir, store.descriptors()[0], settings.files);
        Self {
            schedule: Schedule::new(&settings),
            freezer: Freezer { saved: settings.strangers, stranger: None },
            standing: Standing::new(&settings),
            resources: Resources::default(),
            copier,
            committer: Committer::new(store, taken),
            poison: Poison::new(settings.poison),
            rewinds: Rewinds::default(),
            notices: Notices::new(settings.verbose),
            settings,
        }
    }

    /// Goes on from a generation that a new process has been made from.
    pub(crate) fn resume_from(&mut self, g: Generation) {
        self.committer.resume_from(g);
    }

    /// The loop.
    pub(crate) fn run(&mut self) -> ! {
        let k = keep::get();
        self.schedule.tell();
        k.place.in_serial.store(u32::from(self.settings.in_serial), Relaxed);
        let mut due = time::now_ns() + self.schedule.interval_ns;
        loop {
            let bell = k.bell.load(Acquire);
            death_watch::look_after();
            if k.failed.load(Acquire) > 0 {
                self.roll_back();
                due = time::now_ns() + self.schedule.interval_ns;
                continue;
            }
            if k.rewind.asked.load(Acquire) == ASKED {
                self.rewind();
                continue;
            }
            let asked = requests::waiting();
            self.schedule.then = asked.map_or(Then::GoOn, |(_, then)| then);
            // The signal may have come when the last one was in memory already.
            let ends = k.ending.signal.load(Acquire) != 0 && self.schedule.ends_since.is_none();
            let wanted = k.asking.is_wanted() || asked.is_some() || ends;
            due = due.max(requests::ends_until(k));
            let now = time::now_ns();
            // A program with places takes its checkpoints there, unless it does not come to one in time.
            let has_places = self.standing.has_places();
            let is_late = now >= due + if has_places { self.schedule.interval_ns / 2 } else { 0 };
            if !wanted && now >= due && !is_late {
                let until = due + self.schedule.interval_ns / 2;
                futex::wait_until(&k.bell, bell, until.min(now + death_watch::LOOK_NS));
                continue;
            }
            if wanted || is_late {
                due = self.attempt(asked, wanted);
                continue;
            }
            let until = due.min(self.work_ahead(due));
            while k.bell.load(Acquire) == bell && time::now_ns() < until {
                futex::wait_until(&k.bell, bell, until.min(time::now_ns() + death_watch::LOOK_NS));
                death_watch::look_after();
            }
        }
    }

    /// Does what can be done before the checkpoint that is due at `due`. Returns when to go on with it.
    fn work_ahead(&mut self, due: u64) -> u64 {
        // Away from a place it is not known what a checkpoint there will need: that could be dead.
        if self.standing.at_place || self.standing.has_places() {
            return u64::MAX;
        }
        let (copier, mut lent) = self.lend();
        let noting = copier.time_to_note(due, &lent);
        if time::now_ns() >= noting {
            copier.note(&mut lent);
            return 0;
        }
        noting.min(copier.make_ready(due, &mut lent))
    }

    /// The copier, and what the others lend it while the program runs.
    fn lend(&mut self) -> (&mut Copier, Lent<'_>) {
        let Committer { store, generation, last, .. } = &mut self.committer;
        let lent = Lent {
            store,
            generation: *generation,
            last,
            interval_ns: self.schedule.interval_ns,
            freezer: &mut self.freezer,
            owners: &mut self.resources.shared.owners,
            dead: self.standing.dead(),
        };
        (&mut self.copier, lent)
    }

    /// What was copied is whole, or of no use any more.
    fn is_over(&mut self) {
        let last = &keep::get().last;
        self.copier.staging.offer();
        last.in_memory.store(0, Release);
        futex::wake(&last.in_memory, u32::MAX);
        // A thread that has failed has waited for that, and does not answer before.
        self.copier.stop_holding(&self.committer.store, &mut self.freezer);
    }

    /// Tries to take a checkpoint; `asked`: a request for it, `wanted`: somebody waits. Returns when the next
    /// one is due.
    fn attempt(&mut self, asked: Option<(u64, Then)>, wanted: bool) -> u64 {
        let k = keep::get();
        let taken = self.take();
        self.is_over();
        self.schedule.refused = matches!(taken, Err(No::Refused(_)));
        let soon = match taken {
            Err(No::Later) => {
                self.standing.release();
                let due = time::now_ns() + RETRY_NS;
                if wanted {
                    futex::wait_until(&k.bell, k.bell.load(Acquire), due);
                }
                return due;
            }
            Ok(()) => {
                if let Some((number, _)) = asked {
                    requests::answer(number, Ok(self.committer.generation));
                }
                self.schedule.interval_ns
            }
            Err(No::Refused(why)) => {
                k.rewind.why.set(&why);
                self.notices.refused(&why);
                if let Some((number, _)) = asked {
                    requests::answer(number, Err(&why));
                }
                let to_end = self.schedule.try_again_to_end(self.committer.generation, &why);
                to_end.unwrap_or(self.schedule.interval_ns.max(50_000_000))
            }
        };
        let due = time::now_ns() + soon;
        self.standing.is_over();
        due
    }

    /// The checkpoint that was asked for is whole, and the threads are where they were in it.
    fn end_or_stop(&self) {
        let ending = keep::get().ending.signal.load(Acquire);
        if let Some((number, _)) = requests::waiting() {
            requests::answer(number, Ok(self.committer.generation));
        }
        if ending != 0 || self.schedule.then == Then::Exit {
            requests::end(self.committer.generation, ending, self.settings.verbose);
        }
        // SAFETY: plain call. This host stops with all others.
        unsafe { sys!(libc::SYS_kill, syscall::getpid(), libc::SIGSTOP) };
    }

    /// Descriptors that are no files of the program.
    fn ours(&self) -> Vec<i32> {
        [
            &self.committer.store.descriptors()[..],
            &self.copier.tracker.descriptors(),
            &[self.copier.door.0, self.resources.streams.descriptor()],
            &keep::get().sent.descriptors(),
            &self.poison.descriptors(),
        ]
        .concat()
    }
}

impl Keep {
    /// The number of a seat.
    pub fn number(&self, s: &Seat) -> u32 {
        ((core::ptr::from_ref(s) as usize - self.seats.as_ptr() as usize) / size_of::<Seat>()) as u32
    }
}

/// The keeper's host.
///
/// # Safety
/// For [`host::spawn_with`]; `arg` is a leaked [`Start`](crate::begin::Start).
pub(crate) unsafe extern "C" fn main(arg: usize) -> ! {
    // SAFETY: by the caller's promise.
    let start = unsafe { &*(arg as *const crate::begin::Start) };
    let k = keep::get();
    k.hosts.own[0].store(syscall::gettid(), Relaxed);
    signals::block_all();
    crate::sys::follow::begin();
    initial_affinity::use_all();
    start.work()
}
