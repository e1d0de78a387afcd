//! Initialisation, at the first call of a thread; fork; the end of the program's own threads.

use super::barrier_way::Way;
use super::member::Member;
use super::team::Team;
use super::thread::{self, HOT_DEPTH, Thread};
use super::{bind, carrier, cpu_spread, promises, setup, worker_pool};
use crate::icv::read::fatal;
use crate::icv::{self, Globals};
use crate::observe::Event;
use crate::sys::lock::Lock;
use crate::sys::own::Own;
use crate::sys::{cpu_time, env, host, out, reach, runtimes, signals, syscall};
use crate::{composition, recovery};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

static INIT: Lock = Lock::new();
static EXIT_KEY: Own<libc::pthread_key_t> = Own::new(0);
/// Is the runtime initialised as a whole? (The globals can be seen before.)
static COMPLETE: AtomicBool = AtomicBool::new(false);
/// The thread (kernel id) that initialises it: a tool that it starts may call the runtime.
static INITIALISES: AtomicU32 = AtomicU32::new(0);

/// Has [`prepare`] been done?
static PREPARED: Own<bool> = Own::new(false);

/// What must come before all else, a restart above all: done when the library is loaded, or at the first use where a
/// constructor of another library, which ran before ours, uses OpenMP. A wrong PROMP_FAULT or PROMP_CKPT_* stops the program here.
/// Without these variables it costs a walk over the environment; everything else waits for the first use.
pub fn prepare() {
    INIT.with(prepare_once);
}

/// The caller holds [`INIT`].
fn prepare_once() {
    if !PREPARED.get() {
        PREPARED.set(true);
        crate::ckpt::runtime::set(composition().runtime);
        out::begin();
        check_settings();
        if crate::ckpt::restart::prepare() {
            recovery().begins_with_checkpoints();
        }
        if crate::ckpt::start_at_load() {
            attend_forks();
        }
    }
}

/// Stops the process if a setting is wrong that must not be.
fn check_settings() {
    if env::any_begins_with(b"PROMP_") && !env::secure() {
        fatal(|from| {
            let general = icv::settings::Settings::read(from);
            recovery().check_settings(from);
            crate::ckpt::settings::Settings::read(from, general.verbose);
        });
    }
}

/// Has [`attend_forks`] been done?
static ATTENDED: Own<bool> = Own::new(false);

/// Registers what is done at `fork`, once. The caller holds [`INIT`].
fn attend_forks() {
    if !ATTENDED.get() {
        ATTENDED.set(true);
        // SAFETY: the handlers live as long as the library; libpromp is never unloaded (-z nodelete).
        unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork_parent), Some(after_fork_child)) };
    }
}

/// Initialises the runtime if nobody has. Loading the library alone does not.
#[cold]
pub(crate) fn runtime() -> &'static Globals {
    INIT.with(|| {
        if let Some(g) = icv::globals_if_ready() {
            return g;
        }
        // Objects without the compiler's start-up code may have come since the library was loaded.
        runtimes::look();
        prepare_once();
        INITIALISES.store(syscall::gettid(), Relaxed);
        let g = icv::install(icv::environment::read());
        // SAFETY: registers a handler that lives as long as the library; libpromp is never unloaded (-z nodelete).
        unsafe {
            let mut key = 0;
            libc::pthread_key_create(&mut key, Some(thread_exits));
            EXIT_KEY.set(key);
        }
        attend_forks();
        if g.promp.ft {
            host::learn_libc_layout();
        } else {
            host::learn_ids();
        }
        (composition().start)(g);
        if g.display_env > 0 {
            let text = icv::display::text(g, g.display_env == 2, g.default_device());
            out::write(text.as_bytes());
        }
        COMPLETE.store(true, Release);
        g
    })
}

/// Makes the calling thread of the program a logical thread with a team of its own.
#[cold]
pub(crate) fn adopt_caller() -> &'static Thread {
    let g = icv::globals();
    if let Some(thr) = thread::known() {
        // A tool that was started just now has called the runtime.
        return thr;
    }
    if !COMPLETE.load(Acquire) && INITIALISES.load(Relaxed) != syscall::gettid() {
        // Another thread is about to finish it.
        INIT.with(|| ());
    }
    let thr = worker_pool::take_thread();
    thr.in_runtime.store(1, Relaxed);
    let team = match thr.member.get() {
        Some(m) => m.team(),
        None => Team::create(1),
    };
    team.size.set(1);
    team.way.set(Way::of(1));
    team.origin.icvs.set(g.initial.get());
    let m: &'static Member = team.member(0);
    m.thread.set(Some(thr));
    m.place.set(bind::initial(g));
    m.implicit.begin_initial(thr, g.initial.get());
    thr.enter(m);
    thr.set_saving(promises::saves_private_state(&g.promp));
    thread::set_current(Some(thr));
    bind::follow(thr, m);
    if g.promp.ft {
        signals::ensure_alt_stack();
    }
    carrier::begin(thr);
    thr.tell(Event::ThreadBegin { worker: false });
    // SAFETY: the key was created by `runtime`.
    unsafe { libc::pthread_setspecific(EXIT_KEY.get(), (thr as *const Thread).cast()) };
    thr
}

extern "C" fn thread_exits(p: *mut libc::c_void) {
    // SAFETY: `adopt_caller` stored a `&'static Thread`.
    let thr: &'static Thread = unsafe { &*p.cast_const().cast::<Thread>() };
    thr.in_runtime.store(1, Relaxed);
    setup::release_hot(thr);
    thr.tell(Event::ThreadEnd);
    cpu_spread::move_out(&thr.home);
    carrier::end(thr);
    thread::set_current(None);
    worker_pool::give_back_thread(thr);
}

fn locks() -> [&'static Lock; 3] {
    [&INIT, worker_pool::fork_lock(), crate::ARENA.fork_lock()]
}

/// While the locks are held, a stop of the calling thread waits.
fn mark_in_runtime(yes: bool) {
    if let Some(thr) = thread::known() {
        thr.in_runtime.store(u32::from(yes), Relaxed);
    }
}

extern "C" fn before_fork() {
    crate::ckpt::note_fork();
    mark_in_runtime(true);
    locks().iter().for_each(|l| l.lock());
}

extern "C" fn after_fork_parent() {
    locks().iter().rev().for_each(|l| l.unlock());
    mark_in_runtime(false);
    crate::ckpt::note_fork();
}

/// The child has one host. Its logical thread keeps its place in the regions it is in; all other threads are gone, so the
/// pool starts afresh and no team of theirs is used again.
extern "C" fn after_fork_child() {
    locks().iter().rev().for_each(|l| l.unlock());
    reach::after_fork();
    cpu_time::after_fork();
    worker_pool::forget_workers();
    if let Some(thr) = thread::known() {
        thr.host.store(syscall::gettid(), Relaxed);
        let mut hot = thr.hot.get();
        for slot in hot.iter_mut().skip(thr.depth.get() as usize) {
            *slot = None;
        }
        debug_assert!(hot.len() == HOT_DEPTH);
        thr.hot.set(hot);
        thr.unprepare();
        carrier::after_fork(thr);
        recovery().after_fork();
    } else {
        crate::ckpt::after_fork(None);
    }
    mark_in_runtime(false);
}
