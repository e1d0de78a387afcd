//! The keeper: a host of its own that takes checkpoints and rolls back. It lives in the kept region and has
//! no part in what it saves.
//!
//! Taking a checkpoint (the repaired protocol; docs/internals/checkpoints.md): Started is set; every thread
//! arrives — wherever it is, the freeze signal finds it, so nobody waits for one who waits for him — and
//! counts Counter down; the keeper waits for everybody, notes the contexts, copies what has changed, arms the
//! tracking of writes anew, and only then lets the threads go and clears Started: what they write
//! afterwards belongs to the next checkpoint. Writing to disk comes after.

mod ahead;
pub(crate) mod contained;
mod copy;
mod dead;
mod freeze;
mod poison;
mod ready;
mod restore;
mod rewind;
mod running;
mod strangers;
mod take;

use crate::Settings;
use crate::attributes::memory_advice::Advice;
use crate::crew::{self, Crew};
use crate::image::state::Then;
use crate::image::{self, Description};
use crate::keep::{self, Keep};
use crate::lookout::Lookout;
use crate::requests;
use crate::rewind::ASKED;
use crate::say;
use crate::seats::Seat;
use crate::shared::Owners;
use crate::staging::Staging;
use crate::store::Store;
use crate::streams::Streams;
use crate::sys;
use crate::sys::door::Door;
use crate::sys::{allowed, futex, signals, syscall, time, watch};
use crate::taken::TakenList;
use crate::tracker::Tracker;
use contained::Known;
pub(crate) use copy::Held;
use core::sync::atomic::Ordering::*;
use promp_model::interval;
pub(crate) use running::Copying;
use std::sync::Arc;

/// When something is under way: tried again after this time.
const RETRY_NS: u64 = 500_000;
/// The shortest interval.
const LEAST_NS: u64 = 1_000_000;

/// What checkpoints cost.
#[derive(Default)]
struct Cost {
    /// Lately.
    lately_ns: u64,
    /// The keeper's CPU time when the one being taken began.
    began_cpu_ns: u64,
}

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
    stopped: running::Stopped,
    ahead: Option<ahead::Ahead>,
    /// A checkpoint has needed much more staging memory than there was; the next one may again.
    grows: bool,
    /// The generation after which it was tried to note what had changed.
    tried: Option<u64>,
    ready: ready::Ready,
    /// The last attempt was refused; so may the next one be.
    refused: bool,
    cost: Cost,
    /// Threads at a place where memory is dead.
    standing: dead::Standing,
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
    /// May there be copies of files that no checkpoint names, or only older ones?
    has_unnamed: bool,
    /// Files whose content is not part of the checkpoint just taken, and why.
    left_out: Vec<String>,
    /// A thread without a seat, and since when it has been seen.
    stranger: Option<strangers::Stranger>,
    owners: Owners,
    advice: Advice,
    streams: Streams,
    /// [`crate::process::children_ended`] at the last checkpoint.
    children_ended: u64,
    taken: &'static TakenList,
    mapped: Vec<Known>,
    /// The kernel's object, or that of the run's kernel.
    kernel: Option<image::MappedFile>,
    cpu: Vec<String>,
    /// How often one was put off because of signals that threads were about to take.
    unsettled: u32,
    /// How often it was put off in a row because a thread was executing the kernel's object.
    in_kernels: u32,
    /// What follows the checkpoint that was asked for.
    then: Then,
    /// Since when the program is to end, and there was no checkpoint.
    ends_since: Option<u64>,
    rewinds: rewind::Rewinds,
    /// Since when checkpoints are put off because a thread is about to stop.
    stops_since: Option<u64>,
    started_ns: u64,
}

/// Why there is no checkpoint now.
enum No {
    /// Try again soon: something is under way.
    Later,
    /// Not possible in this state of the program.
    Refused(String),
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
            stopped: running::Stopped::default(),
            ahead: None,
            grows: true,
            tried: None,
            ready: ready::Ready::new(settings.copying, &store.slots()),
            refused: false,
            cost: Cost::default(),
            standing: dead::Standing::default(),
            lookout: None,
            alone: false,
            answered: false,
            at_place: false,
            told: Vec::new(),
            has_unnamed: true,
            left_out: Vec::new(),
            stranger: None,
            owners: Owners::default(),
            advice: Advice::default(),
            streams: Streams::inherited(),
            children_ended: 0,
            taken,
            mapped: Vec::new(),
            kernel: crate::vdso::recognise(),
            cpu: image::cpu_features(),
            unsettled: 0,
            in_kernels: 0,
            then: Then::GoOn,
            ends_since: None,
            rewinds: rewind::Rewinds::default(),
            stops_since: None,
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
        keep::get().generation.store(g.number, Release);
        keep::get().taken_ns.store(time::now_ns(), Release);
    }

    /// The loop.
    pub(crate) fn run(&mut self) -> ! {
        let k = keep::get();
        self.tell_interval();
        let mut due = time::now_ns() + self.settings.interval_ns;
        loop {
            let bell = k.bell.load(Acquire);
            watch::look_after();
            if k.failed.load(Acquire) > 0 {
                self.roll_back();
                due = time::now_ns() + self.settings.interval_ns;
                continue;
            }
            if k.rewind.asked.load(Acquire) == ASKED {
                self.rewind();
                continue;
            }
            let asked = requests::waiting();
            self.then = asked.map_or(Then::GoOn, |(_, then)| then);
            // The signal may have come when the last one was in memory already.
            let ends = k.ending.load(Acquire) != 0 && self.ends_since.is_none();
            let wanted = k.asking.is_wanted() || asked.is_some() || ends;
            let now = time::now_ns();
            // A program with places takes its checkpoints there, unless it does not come to one in time.
            let is_late = now >= due + if self.has_places() { self.settings.interval_ns / 2 } else { 0 };
            if !wanted && now >= due && !is_late {
                let until = due + self.settings.interval_ns / 2;
                futex::wait_until(&k.bell, bell, until.min(now + watch::LOOK_NS));
                continue;
            }
            if wanted || is_late {
                let taken = self.take();
                self.is_over();
                self.refused = matches!(taken, Err(No::Refused(_)));
                let soon = match taken {
                    Ok(()) => {
                        if let Some((number, _)) = asked {
                            requests::answer(number, Ok(self.generation));
                        }
                        self.settings.interval_ns
                    }
                    Err(No::Later) => {
                        self.release();
                        RETRY_NS
                    }
                    Err(No::Refused(why)) => {
                        k.rewind.why.set(&why);
                        self.tell(&format!("no checkpoint now: {why}; the run goes on"), &kind(&why));
                        if let Some((number, _)) = asked {
                            requests::answer(number, Err(&why));
                        }
                        self.try_again_to_end(&why).unwrap_or(self.settings.interval_ns.max(50_000_000))
                    }
                };
                due = time::now_ns() + soon;
                if soon != RETRY_NS {
                    // Who has come since the copy was made waits for the next one.
                    if !self.answered {
                        self.answer();
                    }
                } else if wanted {
                    futex::wait_until(&k.bell, k.bell.load(Acquire), due);
                }
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
                futex::wait_until(&k.bell, bell, until.min(time::now_ns() + watch::LOOK_NS));
                watch::look_after();
            }
        }
    }

    /// What was copied is whole, or of no use any more.
    fn is_over(&mut self) {
        let k = keep::get();
        self.staging.offer();
        k.in_memory.store(0, Release);
        futex::wake(&k.in_memory, u32::MAX);
        // A thread that has failed has waited for that, and does not answer before.
        self.stop_holding();
    }

    /// Those who decide when a checkpoint is due go by this interval from here on.
    fn tell_interval(&self) {
        let (k, ns) = (keep::get(), self.settings.interval_ns);
        k.interval_ns.store(ns, Relaxed);
        k.place.interval_ns.store(if self.settings.live { ns } else { 0 }, Relaxed);
        k.place.in_serial.store(u32::from(self.settings.in_serial), Relaxed);
    }

    /// A checkpoint has been taken, for which threads were stopped for `stop_ns`. Returns what it has cost;
    /// with PROMP_CKPT_INTERVAL=auto the interval goes by that.
    fn adapt(&mut self, stop_ns: u64) -> u64 {
        let cpu_ns = time::of_thread_ns(syscall::gettid()).saturating_sub(self.cost.began_cpu_ns);
        let cost_ns = stop_ns + cpu_ns / crew::cpus();
        if let Some(mtbf_ns) = self.settings.auto_mtbf_ns {
            self.cost.lately_ns = interval::smoothed_ns(self.cost.lately_ns, cost_ns);
            self.settings.interval_ns = interval::daly_ns(self.cost.lately_ns, mtbf_ns).max(LEAST_NS);
            self.tell_interval();
        }
        cost_ns
    }

    /// Has the program come to a place for a checkpoint since the last one?
    fn has_places(&self) -> bool {
        let k = keep::get();
        (self.settings.live || self.settings.in_serial) && k.place.was_visited_since(k.taken_ns.load(Relaxed))
    }

    /// Will the next checkpoint most likely be taken at a place? It is not known, away from there, what that
    /// will need: what is written ahead would be dead.
    fn expects_a_place(&self) -> bool {
        self.at_place || self.has_places()
    }

    /// There was no checkpoint. If the program is to end after one: when to try again.
    fn try_again_to_end(&mut self, why: &str) -> Option<u64> {
        const AGAIN_NS: u64 = 50_000_000;
        let signal = keep::get().ending.load(Acquire);
        if signal == 0 {
            return None;
        }
        let now = time::now_ns();
        if now > *self.ends_since.get_or_insert(now) + requests::GRACE_NS {
            requests::end_without(signal as i32, self.generation, why);
        }
        Some(AGAIN_NS)
    }

    /// Is what follows a checkpoint the end of the program, or a stop? Its threads then stay where they are.
    fn stays_frozen(&self) -> bool {
        keep::get().ending.load(Acquire) != 0 || self.then != Then::GoOn
    }

    /// The checkpoint that was asked for is whole, and the threads are where they were in it.
    fn end_or_stop(&self) {
        let ending = keep::get().ending.load(Acquire);
        if let Some((number, _)) = requests::waiting() {
            requests::answer(number, Ok(self.generation));
        }
        if ending != 0 || self.then == Then::Exit {
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
            &[self.door.0, self.streams.descriptor()],
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
    k.own_hosts[0].store(syscall::gettid(), Relaxed);
    signals::block_all();
    crate::sys::follow::begin();
    allowed::use_all();
    start.work()
}
