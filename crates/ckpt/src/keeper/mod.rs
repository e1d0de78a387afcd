//! The keeper: a host of its own that takes checkpoints and rolls back. It lives in the kept region and has
//! no part in what it saves.
//!
//! How a checkpoint is taken, and why nobody writes between: README.md, "The protocol". Writing to disk comes
//! after all threads go on.

mod attempts;
mod concurrent_copy;
mod copy;
mod dead_pages;
mod freeze;
mod poison;
mod precopy;
pub(crate) mod program_copies;
mod ready;
mod restore;
mod rewind;
mod strangers;
mod take;

use crate::image::state::Then;
use crate::image::{self, Description};
use crate::keep::{self, Keep};
use crate::keeper_crew::Crew;
use crate::lookout::Lookout;
use crate::requests;
use crate::resources::resource::No;
use crate::resources::table::Resources;
use crate::rewind_request::ASKED;
use crate::say;
use crate::seats::Seat;
use crate::settings::{Copying, Settings};
use crate::staging::Staging;
use crate::store::Store;
use crate::sys;
use crate::sys::door::Door;
use crate::sys::{death_watch, futex, initial_affinity, signals, syscall, time};
use crate::taken::TakenList;
use crate::tracker::Tracker;
use attempts::Schedule;
use core::sync::atomic::Ordering::*;
use freeze::Freezer;
use program_copies::MappedFiles;
use std::sync::Arc;

/// When something is under way: tried again after this time.
const RETRY_NS: u64 = 500_000;

/// The keeper's own data.
pub(crate) struct Keeper {
    settings: Settings,
    store: Store,
    tracker: Tracker,
    door: Arc<Door>,
    /// What was saved last, but for the pages.
    last: Description,
    generation: u64,
    /// What has changed since the last checkpoint is not known: everything may have.
    unknown: bool,
    staging: Staging,
    crew: Crew,
    /// There is somebody who attends to threads that wait to write.
    guarded: bool,
    stopped: concurrent_copy::Stopped,
    ahead: Option<precopy::Ahead>,
    /// A checkpoint has needed much more staging memory than there was; the next one may again.
    grows: bool,
    /// The generation after which it was tried to note what had changed.
    tried: Option<u64>,
    ready: ready::Ready,
    schedule: Schedule,
    /// Threads at a place where memory is dead.
    standing: dead_pages::Standing,
    /// Who looks out for reads of what the last checkpoint does without.
    lookout: Option<&'static Lookout>,
    /// Is the initial thread alone in the program, in serial code, while all are frozen?
    alone: bool,
    /// Have those been told who waited for this attempt?
    answered: bool,
    /// Has the last attempt found something to leave out?
    at_place: bool,
    /// What users have been told: once of a kind.
    told: Vec<String>,
    /// Files whose content is not part of the checkpoint just taken, and why.
    left_out: Vec<String>,
    freezer: Freezer,
    resources: Resources,
    taken: &'static TakenList,
    mapped: MappedFiles,
    /// The kernel's object, or that of the run's kernel.
    kernel: Option<image::MappedFile>,
    cpu: Vec<String>,
    rewinds: rewind::Rewinds,
    started_ns: u64,
}

impl Keeper {
    /// A keeper for `settings`, with the page store open. On the keeper's own stack.
    pub(crate) fn new(settings: Settings, store: Store, taken: &'static TakenList) -> Self {
        let tracker = Tracker::new(settings.compare, settings.copying != Copying::Stopped);
        keep::get().journal.begin(&settings.dir, store.descriptors()[0], settings.files);
        Self {
            door: Arc::new(Door::open()),
            tracker,
            last: Description::default(),
            generation: 0,
            unknown: false,
            staging: Staging::default(),
            crew: Crew::default(),
            guarded: false,
            stopped: concurrent_copy::Stopped::default(),
            ahead: None,
            grows: true,
            tried: None,
            ready: ready::Ready::new(settings.copying, &store.slots()),
            schedule: Schedule::new(&settings),
            standing: dead_pages::Standing::default(),
            lookout: None,
            alone: false,
            answered: false,
            at_place: false,
            told: Vec::new(),
            left_out: Vec::new(),
            freezer: Freezer { saved: settings.strangers, stranger: None },
            resources: Resources::default(),
            taken,
            mapped: MappedFiles::default(),
            kernel: crate::vdso::recognise(),
            cpu: image::cpu_features(),
            rewinds: rewind::Rewinds::default(),
            started_ns: time::now_ns(),
            store,
            settings,
        }
    }

    /// Goes on from a generation that a new process has been made from.
    pub(crate) fn resume_from(&mut self, g: image::Generation) {
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
            let now = time::now_ns();
            // A program with places takes its checkpoints there, unless it does not come to one in time.
            let is_late = now >= due + if self.has_places() { self.schedule.interval_ns / 2 } else { 0 };
            if !wanted && now >= due && !is_late {
                let until = due + self.schedule.interval_ns / 2;
                futex::wait_until(&k.bell, bell, until.min(now + death_watch::LOOK_NS));
                continue;
            }
            if wanted || is_late {
                due = self.attempt(asked, wanted);
                continue;
            }
            let noting = self.time_to_note(due);
            if now >= noting {
                self.note();
                continue;
            }
            let again = self.make_ready(due);
            let until = due.min(noting).min(again);
            while k.bell.load(Acquire) == bell && time::now_ns() < until {
                futex::wait_until(&k.bell, bell, until.min(time::now_ns() + death_watch::LOOK_NS));
                death_watch::look_after();
            }
        }
    }

    /// What was copied is whole, or of no use any more.
    fn is_over(&mut self) {
        let last = &keep::get().last;
        self.staging.offer();
        last.in_memory.store(0, Release);
        futex::wake(&last.in_memory, u32::MAX);
        // A thread that has failed has waited for that, and does not answer before.
        self.stop_holding();
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
                self.release();
                let due = time::now_ns() + RETRY_NS;
                if wanted {
                    futex::wait_until(&k.bell, k.bell.load(Acquire), due);
                }
                return due;
            }
            Ok(()) => {
                if let Some((number, _)) = asked {
                    requests::answer(number, Ok(self.generation));
                }
                self.schedule.interval_ns
            }
            Err(No::Refused(why)) => {
                k.rewind.why.set(&why);
                self.tell(&format!("no checkpoint now: {why}; the run goes on"), &kind(&why));
                if let Some((number, _)) = asked {
                    requests::answer(number, Err(&why));
                }
                let to_end = self.schedule.try_again_to_end(self.generation, &why);
                to_end.unwrap_or(self.schedule.interval_ns.max(50_000_000))
            }
        };
        let due = time::now_ns() + soon;
        // Who has come since the copy was made waits for the next one.
        if !self.answered {
            self.answer();
        }
        due
    }

    /// Has the program come to a place for a checkpoint since the last one?
    fn has_places(&self) -> bool {
        let k = keep::get();
        (self.settings.live || self.settings.in_serial)
            && k.place.was_visited_since(k.last.taken_ns.load(Relaxed))
    }

    /// Will the next checkpoint most likely be taken at a place? It is not known, away from there, what that
    /// will need: what is written ahead would be dead.
    fn expects_a_place(&self) -> bool {
        self.at_place || self.has_places()
    }

    /// The checkpoint that was asked for is whole, and the threads are where they were in it.
    fn end_or_stop(&self) {
        let ending = keep::get().ending.signal.load(Acquire);
        if let Some((number, _)) = requests::waiting() {
            requests::answer(number, Ok(self.generation));
        }
        if ending != 0 || self.schedule.then == Then::Exit {
            requests::end(self.generation, ending, self.settings.verbose);
        }
        // SAFETY: plain call. This host stops with all others.
        unsafe { sys!(libc::SYS_kill, syscall::getpid(), libc::SIGSTOP) };
    }

    /// Says something about checkpoints, once of a kind.
    fn tell(&mut self, what: &str, kind: &str) {
        if self.settings.verbose >= 1 && !self.told.iter().any(|t| t == kind) {
            say!("{what}");
            self.told.push(kind.into());
        }
    }

    /// Descriptors that are no files of the program.
    fn ours(&self) -> Vec<i32> {
        [
            &self.store.descriptors()[..],
            &self.tracker.descriptors(),
            &[self.door.0, self.resources.streams.descriptor()],
            &keep::get().sent.descriptors(),
            &self.lookout.map_or([-1; 2], Lookout::descriptors),
        ]
        .concat()
    }
}

/// What a reason has in common with others of its kind: no numbers of processes and descriptors, no names.
fn kind(why: &str) -> String {
    why.chars().take_while(|&c| c != '(').filter(|c| !c.is_ascii_digit()).collect()
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
