//! The pool of workers: logical threads with libc threads of their own, kept for the life of the process.

use super::cpu_yield::step_aside;
use super::cpus::cpus;
use super::event_count::Patience;
use super::team::Team;
use super::thread::{self, Thread};
use super::{carrier, cpu_spread, crew};
use crate::icv::globals;
use crate::observe::Event;
use crate::recovery;
use crate::say;
use crate::sys::limits;
use crate::sys::lock::{self, Locked};
use crate::sys::{signals, syscall};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// Workers that belong to no team, and teams without a primary thread.
pub(crate) struct Pool {
    idle: Vec<&'static Thread>,
    teams: Vec<&'static Team>,
    threads: Vec<&'static Thread>,
}

static POOL: Locked<Pool> = Locked::new(Pool { idle: Vec::new(), teams: Vec::new(), threads: Vec::new() });
/// How many workers there are.
pub static WORKERS: AtomicU32 = AtomicU32::new(0);

/// The pool's lock, for fork handlers.
pub(crate) fn fork_lock() -> &'static crate::sys::lock::Lock {
    POOL.raw()
}

/// In a child after fork: the workers are gone.
pub(crate) fn forget_workers() {
    POOL.with(|p| *p = Pool { idle: Vec::new(), teams: Vec::new(), threads: Vec::new() });
    WORKERS.store(0, Relaxed);
    cpu_spread::forget_others();
}

/// Workers created so far.
#[inline]
pub fn workers() -> u32 {
    WORKERS.load(Relaxed)
}

/// From so many threads on it is asked whether there can be so many.
pub(crate) const MANY: u32 = 1 << 15;

/// How many threads a team may have that is to have `wanted`, which are [`MANY`].
#[cold]
pub(crate) fn possible(wanted: u32) -> u32 {
    static MOST: AtomicU32 = AtomicU32::new(0);
    if MOST.load(Relaxed) == 0 {
        let most = limits::threads().max(1);
        MOST.store(most, Relaxed);
        if most < wanted && globals().promp.verbose >= 1 {
            say!(
                "a team of {wanted} threads was asked for; the system can have {most} (kernel.threads-max, \
                 kernel.pid_max): going on with at most so many"
            );
        }
    }
    wanted.min(MOST.load(Relaxed))
}

/// Takes an idle worker or creates one; `None` if the system refuses.
pub(crate) fn take_worker() -> Option<&'static Thread> {
    if let Some(w) = POOL.with(|p| p.idle.pop()) {
        return Some(w);
    }
    create_worker()
}

/// Gives workers back, with those that they keep for their own nested regions: else these would be out of reach for as
/// long as the worker serves in a place where it starts none.
pub(crate) fn give_back(workers: impl Iterator<Item = &'static Thread>) {
    for w in workers {
        super::setup::release_hot(w);
        POOL.with(|p| p.idle.push(w));
    }
}

/// Ends all idle workers (`omp_pause_resource`), and waits until they no longer count.
pub fn dismiss_idle() {
    let idle = POOL.with(|p| core::mem::take(&mut p.idle));
    let left = workers() - idle.len() as u32;
    idle.iter().for_each(|w| w.dock.dismiss());
    while workers() > left {
        syscall::sched_yield();
    }
}

/// Ends all idle workers, for [`Thread::resize`].
pub(crate) fn dismiss_without_waiting() {
    POOL.with(|p| p.idle.drain(..).for_each(|w| w.dock.dismiss_frozen()));
}

/// Is nobody at the pool?
pub(crate) fn is_free() -> bool {
    POOL.try_with(|_| ()).is_some()
}

/// A team with room for `n`, reused if possible.
pub fn take_team(n: u32) -> &'static Team {
    let found = POOL.with(|p| {
        let i = p.teams.iter().position(|t| t.capacity() >= n)?;
        Some(p.teams.swap_remove(i))
    });
    found.unwrap_or_else(|| Team::create(n.next_power_of_two()))
}

/// Gives a team back whose members have been given back.
pub fn give_back_team(t: &'static Team) {
    POOL.with(|p| p.teams.push(t));
}

/// A logical thread for a thread of the program's own: a recycled one or new.
pub(crate) fn take_thread() -> &'static Thread {
    static ONE: AtomicBool = AtomicBool::new(false);
    if ONE.swap(true, Relaxed) {
        super::region::several_primaries();
    }
    POOL.with(|p| p.threads.pop()).unwrap_or_else(|| Thread::create(false))
}

/// The program's thread has ended.
pub(crate) fn give_back_thread(t: &'static Thread) {
    POOL.with(|p| p.threads.push(t));
}

fn create_worker() -> Option<&'static Thread> {
    if workers() == 0 && globals().promp.ft {
        recovery().workers_come();
    }
    let thr = Thread::create(true);
    thr.dock.waker().is_here();
    // SAFETY: plain pthread calls; the attribute is initialised before use and the argument lives for ever.
    let ok = unsafe {
        let mut attr = MaybeUninit::<libc::pthread_attr_t>::uninit();
        libc::pthread_attr_init(attr.as_mut_ptr());
        let mut attr = attr.assume_init();
        libc::pthread_attr_setdetachstate(&mut attr, libc::PTHREAD_CREATE_DETACHED);
        let size = globals().stack_size;
        if size != 0 && libc::pthread_attr_setstacksize(&mut attr, size.next_multiple_of(4096)) != 0 {
            static SAID: AtomicBool = AtomicBool::new(false);
            if !SAID.swap(true, Relaxed) {
                crate::complain!("Stack size of {} bytes is not possible: using the default", size);
            }
        }
        let mut id = 0;
        let arg = (thr as *const Thread as *mut Thread).cast();
        let r = signals::lent(|| libc::pthread_create(&mut id, &attr, worker_start, arg));
        libc::pthread_attr_destroy(&mut attr);
        r == 0
    };
    if ok {
        WORKERS.fetch_add(1, Relaxed);
        let crowded = idle_patience().crowded;
        lock::crowded(crowded);
        if !crowded {
            // If the kernel has put it on this CPU, it can leave it at once.
            step_aside();
        }
        return Some(thr);
    }
    // SAFETY: the thread was never started; nobody else has the reference.
    drop(unsafe { Box::from_raw((thr as *const Thread).cast_mut()) });
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Relaxed) && globals().promp.verbose >= 1 {
        say!(
            "the system refuses to create another thread (ulimit -u?); going on with {} worker threads",
            workers()
        );
    }
    None
}

extern "C" fn worker_start(arg: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `create_worker` passed a `&'static Thread`.
    let thr: &'static Thread = unsafe { &*arg.cast_const().cast::<Thread>() };
    thread::set_current(Some(thr));
    if globals().promp.ft {
        signals::ensure_alt_stack();
    }
    carrier::begin(thr);
    thr.tell(Event::ThreadBegin { worker: true });
    thr.dock.waker().leave_cpu_to(idle_patience());
    let (mut seen, mut last) = (0, None);
    while let Some(order) = thr.dock.wait(seen, idle_patience, || crew::ahead(last), || crew::drowse(last)) {
        seen = seen.wrapping_add(1);
        super::region::work(thr, order, seen);
        last = Some(order);
    }
    thr.tell(Event::ThreadEnd);
    cpu_spread::move_out(&thr.home);
    carrier::end(thr);
    thread::set_current(None);
    WORKERS.fetch_sub(1, Relaxed);
    core::ptr::null_mut()
}

/// That of an idle worker for its next region.
fn idle_patience() -> Patience {
    patience(workers() + 1)
}

/// How often a thread that waits gives its CPU away before it sleeps, but with more threads a CPU than
/// [`HUNDREDS`].
const YIELDS: u8 = 32;
const HUNDREDS: u32 = 512;

/// How long threads wait awake when `threads` want to run.
pub(crate) fn patience(threads: u32) -> Patience {
    let g = globals();
    let crowded = threads > cpus();
    let rounds = match (g.spin_count, g.wait_active, crowded) {
        (Some(n), _, _) => n.min(u32::MAX as u64) as u32,
        (None, Some(false), _) => 0,
        (None, Some(true), false) => 50_000_000,
        (None, Some(true), true) => 1000,
        (None, None, false) => 4_000,
        (None, None, true) => 4,
    };
    // Where hundreds share a CPU each yield takes as long as all others take for theirs, and who has its CPU
    // again goes to sleep all the same.
    let yields = match threads.div_ceil(cpus()) {
        2..=HUNDREDS => YIELDS,
        _ => 0,
    };
    Patience { rounds, crowded, yields }
}
