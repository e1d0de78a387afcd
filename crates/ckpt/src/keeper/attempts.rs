//! When a checkpoint is tried: how long it is from one to the next, what follows the one that was asked for,
//! and how often an attempt is put off.

use crate::image::Description;
use crate::image::state::Then;
use crate::keep;
use crate::keeper_crew;
use crate::requests;
use crate::resources::resource::No;
use crate::seats::Seat;
use crate::settings::Settings;
use crate::sys::{pending_signals, syscall, time};
use crate::timers;
use core::sync::atomic::Ordering::*;
use promp_model::interval;

/// The shortest interval.
const LEAST_NS: u64 = 1_000_000;
/// How often a checkpoint is put off because signals wait for threads that do not block them.
const UNSETTLED: u32 = 50;
/// How often because one executes the kernel's object.
const IN_KERNELS: u32 = 20;
/// How long those who have asked for a checkpoint wait for stops that wait, too, for them perhaps.
const STOPS_NS: u64 = 20_000_000;
/// After an attempt that was refused, a program that is to end tries again so soon.
const TO_END_NS: u64 = 50_000_000;

/// What the keeper goes by.
pub(super) struct Schedule {
    /// The time between two checkpoints.
    pub interval_ns: u64,
    /// PROMP_CKPT_INTERVAL=auto: it goes by this, and by what checkpoints have cost lately.
    mtbf_ns: Option<u64>,
    lately_ns: u64,
    /// The keeper's CPU time when the one being taken began.
    began_cpu_ns: u64,
    /// Is dead memory left out?
    live: bool,
    /// The last attempt was refused; so may the next one be.
    pub refused: bool,
    /// What follows the checkpoint that was asked for.
    pub then: Then,
    /// Since when the program is to end, and there was no checkpoint.
    pub ends_since: Option<u64>,
    /// Since when checkpoints are put off because a thread is about to stop.
    stops_since: Option<u64>,
    /// How often one was put off because of signals that threads were about to take.
    unsettled: u32,
    /// How often in a row because a thread was executing the kernel's object.
    in_kernels: u32,
}

impl Schedule {
    pub(super) fn new(s: &Settings) -> Self {
        Self {
            interval_ns: s.interval_ns,
            mtbf_ns: s.auto_mtbf_ns,
            lately_ns: 0,
            began_cpu_ns: 0,
            live: s.live,
            refused: false,
            then: Then::GoOn,
            ends_since: None,
            stops_since: None,
            unsettled: 0,
            in_kernels: 0,
        }
    }

    /// Those who decide when a checkpoint is due go by this interval from here on.
    pub(super) fn tell(&self) {
        let (k, ns) = (keep::get(), self.interval_ns);
        k.interval_ns.store(ns, Relaxed);
        k.place.interval_ns.store(if self.live { ns } else { 0 }, Relaxed);
    }

    /// An attempt begins.
    pub(super) fn begins(&mut self) {
        self.began_cpu_ns = time::of_thread_ns(syscall::gettid());
    }

    /// A checkpoint has been taken, for which threads were stopped for `stop_ns`. Returns what it has cost;
    /// with PROMP_CKPT_INTERVAL=auto the interval goes by that.
    pub(super) fn taken(&mut self, stop_ns: u64) -> u64 {
        let cpu_ns = time::of_thread_ns(syscall::gettid()).saturating_sub(self.began_cpu_ns);
        let cost_ns = stop_ns + cpu_ns / keeper_crew::cpus();
        if let Some(mtbf_ns) = self.mtbf_ns {
            self.lately_ns = interval::smoothed_ns(self.lately_ns, cost_ns);
            self.interval_ns = interval::daly_ns(self.lately_ns, mtbf_ns).max(LEAST_NS);
            self.tell();
        }
        cost_ns
    }

    /// There was no checkpoint after number `generation`. If the program is to end after one: when to try
    /// again.
    pub(super) fn try_again_to_end(&mut self, generation: u64, why: &str) -> Option<u64> {
        let signal = keep::get().ending.signal.load(Acquire);
        if signal == 0 {
            return None;
        }
        let now = time::now_ns();
        if now > *self.ends_since.get_or_insert(now) + requests::GRACE_NS {
            requests::end_without(signal as i32, generation, why);
        }
        Some(TO_END_NS)
    }

    /// `stops`: an attempt is put off because a thread is about to stop. Has that gone on for too long? The
    /// stop may wait for the end of a call that ends only when others come, of whom one waits for this
    /// checkpoint.
    pub(super) fn waits_for_stops(&mut self, stops: bool) -> bool {
        let now = time::now_ns();
        if !stops {
            self.stops_since = None;
        }
        stops && now - *self.stops_since.get_or_insert(now) > STOPS_NS
    }

    /// `inside`: a thread executes the kernel's object. Is the attempt put off? Under the same kernel one
    /// could go on from there.
    pub(super) fn waits_for_kernel(&mut self, inside: bool) -> bool {
        self.in_kernels += u32::from(inside);
        let waits = inside && (self.in_kernels < IN_KERNELS || keep::get().kernel.are_two());
        if !waits {
            self.in_kernels = 0;
        }
        waits
    }

    /// `unsettled`: signals wait that threads are about to take. Is the attempt put off?
    fn waits_for_signals(&mut self, unsettled: bool) -> bool {
        let waits = unsettled && self.unsettled < UNSETTLED;
        self.unsettled = if waits { self.unsettled + 1 } else { 0 };
        waits
    }

    /// Signals that wait for a thread which does not block them are taken as soon as it goes on: then there
    /// can be a checkpoint. Of others, and where they come again and again, it is saved which ones wait; of
    /// those of which several can wait the kernel does not tell how many do, and with which values.
    pub(super) fn settle(&mut self, about: &Description, seats: &[&'static Seat]) -> Result<(), No> {
        let each = || about.contexts.iter().map(|c| c.attributes.pending);
        // What a timer has sent comes with more than a number.
        let of_timers = timers::signals_of(about);
        let sent =
            || each().fold(pending_signals::set_of(0, "ShdPnd").unwrap_or(0), |set, p| set | p) & of_timers;
        let waits = |(waiting, s): (u64, &&Seat)| waiting & !s.blocked() != 0;
        if self.waits_for_signals(each().zip(seats).any(waits) || sent() != 0) {
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
}
