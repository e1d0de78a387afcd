//! The program's timers (timer_create) go on: with a thread that changes hosts (sys/kernel/timers.rs), and
//! through checkpoints, with the numbers, the time that was left and the interval that they had.
//!
//! The program's calls lead here. What libc's own functions could not do: `SIGEV_THREAD`, whose expirations
//! libc gives to a helper of its own that blocks all signals and could not be stopped (sigev_thread.rs); the
//! number of a thread's former host; expirations that were delivered before a timer was made again.

use super::resource::{Frozen, No, Resource};
use crate::image::{self, Description};
use crate::sys::got::calls_instead;
use crate::sys::lock::Locked;
use crate::sys::timers::{self, LOCK, Timer, To};
use crate::sys::{cpu_time, host, mutexes, signals, syscall, time};
use crate::{keep, sigev_thread};
use core::ffi::c_int;

/// For so many timers there is room.
const ROOM: usize = 1024;

/// A timer that has been made again.
#[derive(Clone, Copy)]
struct Overrun {
    id: i32,
    /// Expirations beyond the one delivered last.
    count: i32,
    /// Until then nobody knows better.
    until_ns: u64,
}

/// Those with expirations beyond the one delivered last. Memory that goes back with the program's, and which
/// the keeper fills, too: so nothing is allocated, which would lie in the region that stays.
struct Overruns {
    used: usize,
    all: [Overrun; ROOM],
}

static OVERRUNS: Locked<Overruns> =
    Locked::new(Overruns { used: 0, all: [Overrun { id: 0, count: 0, until_ns: 0 }; ROOM] });

impl Overruns {
    /// Of timer `id`, if nobody knows better by now.
    fn of(&self, id: i32) -> Option<i32> {
        let one = self.all[..self.used].iter().find(|o| o.id == id);
        one.filter(|o| time::now_ns() < o.until_ns).map(|o| o.count)
    }

    fn remove(&mut self, id: i32) {
        if let Some(at) = self.all[..self.used].iter().position(|o| o.id == id) {
            self.used -= 1;
            self.all[at] = self.all[self.used];
        }
    }

    /// [`Timers::obstacle`] sees to it that there is room.
    fn set(&mut self, one: Overrun) {
        self.remove(one.id);
        if one.count > 0 && self.used < ROOM {
            self.all[self.used] = one;
            self.used += 1;
        }
    }
}

/// This one has been made again.
pub fn made(t: &Timer) {
    let until_ns = if t.left == 0 { u64::MAX } else { time::now_ns() + t.left };
    OVERRUNS.with(|all| all.set(Overrun { id: t.id, count: t.overrun, until_ns }));
}

/// What a timer's id is for the kernel. `None`: libc's for a timer with a thread.
fn number(id: usize) -> Option<i32> {
    i32::try_from(id).ok()
}

/// Runs `f` while no timer is being made again.
fn alone<R>(f: impl FnOnce() -> R) -> R {
    let mask = signals::block_all();
    let r = LOCK.with(f);
    signals::set_mask(mask);
    r
}

/// A child after fork has no timers.
pub fn after_fork() {
    LOCK.reset();
    OVERRUNS.raw().reset();
    OVERRUNS.with(|all| all.used = 0);
    sigev_thread::after_fork();
}

/// The event of timer_create(2), with the present number of the host that is meant.
///
/// # Safety
/// Null, or a `struct sigevent`.
unsafe fn present(event: *const Event) -> Option<Event> {
    // SAFETY: by the caller's promise.
    let mut e = unsafe { *event.as_ref()? };
    if e.notify == libc::SIGEV_THREAD_ID {
        let tid = e.rest[0] as u32;
        let gone = tid == syscall::getpid() || !syscall::tgkill(tid, 0);
        let thread = mutexes::ids_before().find(|b| gone && b.1 == tid);
        if let Some(now) = thread.and_then(|(thread, _)| host::id_if_there(thread)) {
            e.rest[0] = u64::from(now);
        }
    }
    Some(e)
}

/// `struct sigevent`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    /// What comes with the signal.
    pub value: u64,
    /// The signal.
    pub signal: c_int,
    /// How it is told.
    pub notify: c_int,
    /// A host's number; or a function, and attributes of threads.
    pub rest: [u64; 6],
}

/// `struct itimerspec`: seconds and nanoseconds of the interval, and until or when it expires.
type Spec = [i64; 4];

/// What is to be set where a time of a clock of CPU time is meant: by the kernel's clock.
///
/// # Safety
/// `new` is null, or times.
unsafe fn until_here(id: usize, flags: c_int, new: *const Spec) -> Option<Spec> {
    if flags & libc::TIMER_ABSTIME == 0 || new.is_null() || !cpu_time::is_ahead() {
        return None;
    }
    let timer = timers::all().into_iter().find(|t| Some(t.id) == number(id))?;
    let before = cpu_time::before_clock(timer.clock) as i64;
    // SAFETY: by the caller's promise.
    let [a, b, s, ns] = unsafe { *new };
    let when = s.checked_mul(1_000_000_000)?.checked_add(ns)?;
    if before == 0 || when <= 0 || !(0..1_000_000_000).contains(&ns) {
        return None;
    }
    // One that is due already, not one that is stopped.
    let here = (when - before).max(1);
    Some([a, b, here / 1_000_000_000, here % 1_000_000_000])
}

calls_instead! {
    fn timer_create(clock: c_int, event: *const Event, id: *mut usize) -> c_int {
        let own = present(event);
        let event = own.as_ref().map_or(event, core::ptr::from_ref);
        let clock = cpu_time::for_timer(clock);
    } = |real| match own.filter(|e| e.notify == libc::SIGEV_THREAD && keep::if_on().is_some()) {
        // SAFETY: the caller's arguments.
        Some(e) => unsafe { sigev_thread::create(clock, &e, id) },
        None => alone(real),
    };
    fn timer_settime(id: usize, flags: c_int, new: *const Spec, old: *mut Spec) -> c_int {
        let here = until_here(id, flags, new);
        let new = here.as_ref().map_or(new, core::ptr::from_ref);
    } = |real| alone(|| {
        let r = real();
        if let (0, Some(id)) = (r, number(id)) {
            OVERRUNS.with(|all| all.remove(id));
        }
        r
    });
    fn timer_gettime(id: usize, now: *mut Spec) -> c_int = |real| alone(real);
    fn timer_getoverrun(id: usize) -> c_int = |real| alone(|| {
        let noted = number(id).and_then(|id| OVERRUNS.with(|all| all.of(id)));
        let r = real();
        if r == 0 { noted.unwrap_or(0) } else { r }
    });
    fn timer_delete(id: usize) -> c_int = |real| alone(|| {
        let r = real();
        if let (0, Some(id)) = (r, number(id)) {
            OVERRUNS.with(|all| all.remove(id));
            sigev_thread::removed(id);
        }
        r
    });
}

/// All of them.
#[derive(Default)]
pub(crate) struct Timers;

impl Resource for Timers {
    /// Before the signals that wait: what expires in between is not lost.
    fn look(&mut self, process: &Frozen, about: &mut Description) -> Result<(), No> {
        about.timers = saved(process.hosts);
        Ok(())
    }

    /// A timer that no checkpoint can have.
    fn obstacle(&self) -> Option<String> {
        let all = timers::all();
        let gone = |tid| tid == 0 || !syscall::tgkill(tid, 0);
        if all.iter().filter_map(|t| cpu_time::thread_of(t.clock)).any(gone) {
            return Some(
                "the program has a timer (timer_create) by the CPU time of a thread that has ended, or that \
                 the kernel does not name"
                    .into(),
            );
        }
        if all.len() > ROOM {
            return Some(format!(
                "the program has {} timers (timer_create), of which {ROOM} can be saved",
                all.len()
            ));
        }
        let made_again = all.is_empty() || timers::can_be_made_again();
        (!made_again)
            .then(|| "the program has a timer (timer_create), which needs Linux 6.15 to be made again".into())
    }

    fn resume(&mut self, _: bool, about: &Description) -> Result<Vec<String>, String> {
        timers::all().iter().for_each(|t| timers::remove(t.id));
        for t in &about.timers {
            let to = match (t.notifies, t.thread) {
                (false, _) => To::Nobody,
                (true, None) => To::Process,
                // One that had ended gets nothing.
                (true, Some(thread)) => match host::id_if_there(thread).filter(|_| thread != 0) {
                    Some(tid) => To::Host(tid),
                    None => To::Nobody,
                },
            };
            let clock = match t.clock_of {
                None => Some(t.clock),
                Some(thread) => host::id_if_there(thread).filter(|_| thread != 0).map(time::clock_of_thread),
            };
            let Some(clock) = clock else {
                return Err(format!(
                    "timer {} counts the CPU time of a thread that had ended (timer_create)",
                    t.id
                ));
            };
            let again = Timer {
                id: t.id,
                clock,
                signal: t.signal,
                value: t.value,
                to,
                left: t.left,
                interval: t.interval,
                overrun: t.overrun,
            };
            if !again.make() {
                return Err(format!(
                    "the system does not give the program its timer {} back (timer_create)",
                    t.id
                ));
            }
            made(&again);
        }
        Ok(Vec::new())
    }
}

/// All timers, for the description of the frozen process.
fn saved(hosts: &[(u32, usize)]) -> Vec<image::Timer> {
    let thread = |tid| hosts.iter().find(|h| h.0 == tid).map(|h| h.1);
    let one = |t: Timer| image::Timer {
        id: t.id,
        clock: t.clock,
        clock_of: cpu_time::thread_of(t.clock).map(|tid| thread(tid).unwrap_or(0)),
        signal: t.signal,
        value: t.value,
        notifies: t.to != To::Nobody,
        thread: match t.to {
            To::Host(tid) => Some(thread(tid).unwrap_or(0)),
            _ => None,
        },
        left: t.left,
        interval: t.interval,
        overrun: OVERRUNS.with(|all| all.of(t.id)).unwrap_or(t.overrun),
    };
    timers::all().into_iter().map(one).collect()
}

/// The signals by which they tell, a bit a signal.
pub(crate) fn signals_of(about: &Description) -> u64 {
    let telling = about.timers.iter().filter(|t| t.notifies && (1..65).contains(&t.signal));
    telling.fold(0, |set, t| set | crate::sys::pending_signals::bit(t.signal))
}
