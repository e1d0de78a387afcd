//! Checkpoints: rungs 2 (roll back in process) and 3 (restart after the process died) of the recovery
//! ladder. docs/checkpoints.md has the protocol and the reasons.
//!
//! The keeper's code must not call what uses the program's `malloc` (`opendir`, `realpath`): its lock may
//! be held by a frozen thread. Files are read and written by system calls that libc merely wraps,
//! directories by `sys::maps::names`.

pub mod again;
pub mod anonymous;
pub mod apart;
pub mod asking;
pub mod attributes;
pub mod busy;
pub mod contents;
pub mod cow;
pub mod crew;
pub mod ends;
pub mod files;
pub mod foresee;
pub mod free;
pub mod interval;
pub mod journal;
pub mod keep;
pub mod keeper;
pub mod layout;
pub mod lost;
pub mod masks;
pub mod memory;
pub mod own_state;
pub mod pages;
pub mod pipes;
pub mod place;
pub mod process;
pub mod ranges;
pub mod requests;
pub mod restart;
pub mod rewind;
pub mod rights;
pub mod round;
pub mod seats;
pub mod semaphores;
pub mod settings;
pub mod slots;
pub mod staging;
pub mod store;
pub mod streams;
pub mod suspend;
pub mod text;
pub mod tracker;
pub mod vdso;
pub mod xsave;

use crate::fault::record::{self, Recovery};
use crate::fault::spec::Kind;
use crate::icv::{Globals, globals_if_ready};
use crate::say;
use crate::sys;
use crate::sys::{futex, host, keep as region, reach, signals, syscall};
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*, fence};
use keeper::{Keeper, Taken};
pub use promp_image as image;
pub use semaphores::note_fork;
pub use settings::Settings;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use store::Store;

/// Rollbacks by a crash to one checkpoint before the crash is taken for the program's own error.
const CRASHES: u32 = 2;

/// Checkpoints taken in this process, for the report; in the kept region. Zeroed memory is the empty list.
pub struct TakenList {
    count: AtomicU32,
    list: [[AtomicU64; 9]; TakenList::MOST],
}

impl TakenList {
    const MOST: usize = 1 << 14;

    /// Adds one; beyond the list's size the last is replaced.
    pub fn push(&self, t: Taken) {
        let i = (self.count.load(Relaxed) as usize).min(Self::MOST - 1);
        let words = [
            t.generation,
            t.at_ns,
            t.bytes,
            t.dirty_pages,
            t.stop_ns,
            t.write_ns,
            t.left_out,
            t.cost_ns,
            t.interval_ns,
        ];
        for (w, v) in self.list[i].iter().zip(words) {
            w.store(v, Relaxed);
        }
        self.count.store(i as u32 + 1, Release);
    }

    fn all(&self) -> Vec<Taken> {
        let n = self.count.load(Acquire) as usize;
        let get = |i: usize| self.list[i].each_ref().map(|w| w.load(Relaxed));
        (0..n)
            .map(get)
            .map(
                |[
                    generation,
                    at_ns,
                    bytes,
                    dirty_pages,
                    stop_ns,
                    write_ns,
                    left_out,
                    cost_ns,
                    interval_ns,
                ]| Taken {
                    generation,
                    at_ns,
                    bytes,
                    dirty_pages,
                    stop_ns,
                    write_ns,
                    left_out,
                    cost_ns,
                    interval_ns,
                },
            )
            .collect()
    }
}

/// The list's address; the same before and after every rollback.
static TAKEN: AtomicPtr<TakenList> = AtomicPtr::new(core::ptr::null_mut());

/// Checkpoints taken so far.
pub fn taken() -> Vec<Taken> {
    // SAFETY: null, or memory of the kept region.
    match unsafe { TAKEN.load(Acquire).as_ref() } {
        Some(t) if region::on() => t.all(),
        _ => Vec::new(),
    }
}

/// The counters that outlive the process: [`image::state`]; the last: journal::broken, before it:
/// pipes::sent::WORDS.
pub fn state() -> &'static [AtomicU64; image::state::WORDS] {
    // SAFETY: mapped when checkpoints are on; callers know that.
    unsafe { &*(region::STATE as *const [AtomicU64; image::state::WORDS]) }
}

/// What the keeper's host starts with.
pub struct Start {
    settings: Settings,
    job: restart::Job,
}

impl Start {
    /// The keeper's life; on its own stack.
    pub fn work(&'static self) -> ! {
        match &self.job {
            restart::Job::Fresh => match Store::open(&self.settings.dir, None, self.settings.keep)
                .and_then(|s| s.map_state(region::STATE, true).map(|()| s))
            {
                Ok(store) => {
                    let mut k = Keeper::new(self.settings.clone(), store, list());
                    let s = &self.settings;
                    keep::get().sent.begin(&s.dir, &s.inherited, None, s.verbose);
                    keep::get().received.begin(&s.inherited);
                    keep::get().ready.store(1, Release);
                    futex::wake(&keep::get().ready, u32::MAX);
                    k.run()
                }
                Err(why) => {
                    let dir = self.settings.dir.display();
                    match Store::holder(&self.settings.dir).filter(|&pid| is_relative(pid)) {
                        Some(pid) => {
                            if self.settings.verbose >= 1 {
                                say_of_family(&self.settings.dir, pid);
                            }
                            keep::get().ready.store(NOT_READY, Release);
                            futex::wake(&keep::get().ready, u32::MAX);
                            syscall::exit()
                        }
                        None => {
                            say!("PROMP_CKPT_DIR={dir}: {why}");
                            syscall::exit_group(64)
                        }
                    }
                }
            },
            restart::Job::Restart(first, libraries) => restart::work(&self.settings, first, libraries),
        }
    }
}

/// [`keep::Keep::ready`] of a process that gets no checkpoints.
const NOT_READY: u32 = 2;

/// Is process `pid` an ancestor or a descendant of this one? A program that starts others hands
/// PROMP_CKPT_DIR down to them.
fn is_relative(pid: u32) -> bool {
    let parent = |pid: u32| -> Option<u32> {
        let path = std::ffi::CString::new(format!("/proc/{pid}/stat")).ok()?;
        let text = sys::maps::read_file(&path)?;
        // The name, in parentheses, may hold anything.
        let text = String::from_utf8_lossy(&text);
        text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let descends = |from: u32, of: u32| core::iter::successors(Some(from), |&p| parent(p)).any(|p| p == of);
    let me = syscall::getpid();
    pid != me && (descends(me, pid) || descends(pid, me))
}

fn list() -> &'static TakenList {
    // SAFETY: `start` has made it.
    unsafe { &*TAKEN.load(Acquire) }
}

fn region_ready() -> bool {
    if !region::map() || !keep::create() {
        return false;
    }
    match region::pages(size_of::<TakenList>()) {
        Some(p) => {
            TAKEN.store(p.cast(), Release);
            true
        }
        None => false,
    }
}

/// Starts the keeper's host. All signals are blocked in it.
fn spawn(start: Start) -> bool {
    let start = region::leak(start);
    let old = signals::block_all();
    let ok = match (host::new_kept_stack(), host::own_thread_pointer()) {
        // SAFETY: a fresh stack and a control block of its own; `main` keeps to what such a host may do.
        (Some(stack), Some(tp)) => unsafe {
            host::spawn_with(stack, tp, keeper::main, core::ptr::from_ref(start) as usize).is_some()
        },
        _ => false,
    };
    signals::set_mask(old);
    ok
}

/// Has [`begin`] been called in this process?
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Turns checkpoints on if the settings ask for them and nobody has yet: at the first use of the runtime.
pub fn start(g: &'static Globals) {
    if BEGUN.load(Relaxed) {
        return;
    }
    let Some(settings) = settings::ask(g.promp.verbose) else { return };
    if !g.promp.ft {
        if g.promp.verbose >= 1 {
            say!("PROMP_CKPT_DIR is ignored because PROMP_FT=off");
        }
        return;
    }
    begin(settings.clone());
}

/// Turns checkpoints on when the library is loaded, in a program that has been linked with an OpenMP
/// runtime: what it does before its first region is not lost, either. Others (an interpreter, a shell that
/// starts the program) may never use it: there they begin with the first use. True if they are on.
pub fn start_at_load() -> bool {
    use crate::sys::env;
    if env::secure() || !env::is_set(c"PROMP_CKPT_DIR") || !sys::objects::any_needs(&["libgomp", "libpromp"])
    {
        return false;
    }
    if let Some(c) = settings::ask_at_load() {
        host::learn_libc_layout();
        begin(c.clone());
    }
    region::on()
}

/// Default number of threads of a region; before the runtime knows it, `otherwise`.
pub fn default_threads(otherwise: u32) -> u32 {
    globals_if_ready().map_or(otherwise, |g| g.initial.get().threads)
}

/// In a process that goes on from a checkpoint: there is an agent again, if there was one.
pub fn agent_again() {
    crate::fault::agent::start_again();
}

/// Turns checkpoints on: called while the program has one thread in the runtime, or none.
fn begin(settings: Settings) {
    BEGUN.store(true, Relaxed);
    if let Some(pid) = ancestor_with(&settings.dir) {
        if settings.verbose >= 1 {
            say_of_family(&settings.dir, pid);
        }
        return;
    }
    if memory::mappings().is_empty() {
        say!("no checkpoints: {}", memory::NO_MAPS);
        return;
    }
    if !region_ready() {
        say!("no checkpoints: the system does not give the address space for them (ulimit -v?)");
        return;
    }
    if settings.verbose >= 1 && restart::randomised() {
        say!(
            "{}: failures are rolled back, but no restart is possible if the process dies",
            restart::RANDOMISED
        );
    }
    seats::install();
    rights::begin();
    let (dir, on_signal) = (settings.dir.clone(), settings.on_signal);
    if !spawn(Start {
        settings: Settings { inherited: restart::inherited(), ..settings },
        job: restart::Job::Fresh,
    }) {
        say!("no checkpoints: cannot start the thread that takes them");
        region::forget();
        return;
    }
    let k = keep::get();
    while k.ready.load(Acquire) == 0 {
        futex::wait(&k.ready, 0);
    }
    if k.ready.load(Acquire) == NOT_READY {
        region::forget();
        return;
    }
    journal::calls::begin(&k.journal);
    let (program, arguments) = process::command();
    ends::prepare(k, program, arguments);
    ends::begin();
    requests::install(&on_signal);
    let mut owner = OsString::from(format!("{}:", syscall::getpid()));
    owner.push(&dir);
    // SAFETY: initialisation: either the program has not begun yet, or it is in its first call of the
    // runtime.
    unsafe { std::env::set_var(OWNER, owner) };
}

/// Tells descendants that the directory in their PROMP_CKPT_DIR serves an ancestor: "pid:directory". The
/// lock alone would not do: a child that outlives the ancestor, or has yet to start when it is killed,
/// would find the directory free and overwrite what the ancestor is to be restarted from.
const OWNER: &str = "PROMP_CKPT_OWNER";

/// The ancestor that `dir` serves.
fn ancestor_with(dir: &Path) -> Option<u32> {
    let owner = std::env::var_os(OWNER)?;
    let bytes = owner.as_bytes();
    let colon = bytes.iter().position(|&b| b == b':')?;
    let pid: u32 = core::str::from_utf8(&bytes[..colon]).ok()?.parse().ok()?;
    (pid != syscall::getpid() && &bytes[colon + 1..] == dir.as_os_str().as_bytes()).then_some(pid)
}

fn say_of_family(dir: &Path, pid: u32) {
    say!(
        "no checkpoints of this process: PROMP_CKPT_DIR={} serves process {pid}, of the same family",
        dir.display()
    );
}

/// The first checkpoint: as soon as the program's thread has its seat.
pub fn first() {
    if let Some(k) = keep::if_on()
        && k.asking.is_new()
    {
        ask_and_wait(k);
    }
}

fn ask_and_wait(k: &keep::Keep) {
    // After a rollback or a restart the thread's seat may be another one.
    let says = |what| {
        if let Some(s) = sys::tls::get().and_then(keep::seat_of) {
            s.standing.store(what, Release);
        }
    };
    says(asking::ASKS);
    k.asking.ask_and_wait(|| ring(k));
    says(asking::AWAY);
}

/// Asks for a checkpoint, and does not wait for it.
pub fn ask() {
    if let Some(k) = keep::if_on() {
        k.asking.ask(|| ring(k));
    }
}

fn ring(k: &keep::Keep) {
    k.bell.fetch_add(1, Release);
    futex::wake(&k.bell, 1);
}

/// `promp_potential_ckpt`: a good place for a checkpoint; taken if half the interval has gone by since the
/// last one.
pub fn potential() {
    let Some(k) = keep::if_on() else { return };
    let interval = k.interval_ns.load(Relaxed);
    if sys::time::now_ns().saturating_sub(k.last_ns()) >= interval / 2 {
        ask_and_wait(k);
    }
}

/// Is there a checkpoint to go back to?
pub fn can_roll_back() -> bool {
    let Some(k) = keep::if_on() else { return false };
    // The first one is safe in memory, and soon whole on disk.
    while k.generation.load(Acquire) == 0 && k.in_memory.load(Acquire) != 0 {
        futex::wait_until(&k.in_memory, 1, sys::time::now_ns() + 10_000_000);
    }
    k.generation.load(Acquire) > 0
}

/// Has a thread failed for which memory will be put back?
pub fn rollback_is_due() -> bool {
    keep::if_on().is_some_and(|k| k.failed.load(Acquire) > 0)
}

/// For a thread that is no logical one and has crashed, in the handler of that: if memory will be put back,
/// waits until it is stopped for that. True: try again, for nothing was put back, or without this thread.
pub fn await_rollback() -> bool {
    if !rollback_is_due() {
        return false;
    }
    // Woken by the freeze's signal only, and from time to time.
    let mask = signals::set_mask(!(1u64 << (seats::signal() - 1)));
    while rollback_is_due() {
        futex::wait_for(&keep::get().epoch, epoch(), Duration::from_millis(1));
    }
    signals::set_mask(mask);
    true
}

/// May a crash of the program's own be answered by a rollback?
pub fn may_roll_back_a_crash() -> bool {
    if !can_roll_back() {
        return false;
    }
    let k = keep::get();
    k.crashes.fetch_add(1, AcqRel) < CRASHES
}

/// The calling host fails in a way that only a rollback helps. All signals are blocked.
pub fn roll_back(thr: &'static Thread, kind: Kind) -> ! {
    roll_back_after(thr, kind, || ())
}

/// Like [`roll_back`]; `spoil` runs when the failure is known, so that what others suffer from it counts as
/// the same one.
pub fn roll_back_after(thr: &'static Thread, kind: Kind, spoil: impl FnOnce()) -> ! {
    let k = keep::get();
    record::open(kind, crate::fault::policy::place(thr), Recovery::Rollback);
    let Some(seat) = keep::seat_of(thr) else { syscall::exit_group(70) };
    note_parked();
    // Who sends to it meanwhile may go on for a while, and must not hear that there is no such thread.
    reach::is_to_go_back(sys::tls::thread_pointer(), syscall::gettid());
    seat.going.store(1, Relaxed);
    k.failed.fetch_add(1, AcqRel);
    spoil();
    seat.host.store(0, Release);
    ring(k);
    // The keeper may wait for this thread to arrive.
    futex::wake(&k.counter, 1);
    host::vanish(&seat.going)
}

/// `thr`, whose host `id` has ended by itself, fails in a way that only a rollback helps. All signals are
/// blocked.
pub fn roll_back_ended(thr: &'static Thread, kind: Kind, id: u32) {
    let k = keep::get();
    record::open(kind, crate::fault::policy::place(thr), Recovery::Rollback);
    note_parked_host(id);
    if let Some(identity) = thr.identity.get() {
        reach::is_to_go_back(identity.thread_pointer, id);
    }
    if let Some(seat) = keep::seat_of(thr) {
        seat.host.store(0, Release);
    }
    k.failed.fetch_add(1, AcqRel);
    ring(k);
    futex::wake(&k.counter, 1);
}

/// Rollbacks so far: what was arranged before one does not count after it.
#[inline]
pub fn epoch() -> u32 {
    keep::if_on().map_or(0, |k| k.epoch.load(Relaxed))
}

/// The calling host is about to vanish: the process' first one parks instead.
pub fn note_parked() {
    note_parked_host(syscall::gettid());
}

/// Host `id` has gone: the process' first one stays as a shell, even if it has ended.
pub fn note_parked_host(id: u32) {
    if let Some(k) = keep::if_on()
        && id == syscall::getpid()
    {
        k.parked.store(syscall::getpid(), Release);
    }
}

/// A host begins to be replaced, or a call that changes files is noted: no checkpoint until
/// [`transition_ends`] or [`transition_is_over`]. Called with all signals blocked.
pub fn transition_begins() {
    let Some(k) = keep::if_on() else { return };
    loop {
        k.transitions.fetch_add(1, SeqCst);
        // Pairs with the one in `Keeper::freeze` (loom model: a freeze and a replacement exclude each other).
        fence(SeqCst);
        if k.started.load(SeqCst) == 0 {
            return;
        }
        k.transitions.fetch_sub(1, SeqCst);
        // Lets the freeze find this thread here.
        let mask = signals::set_mask(!(1u64 << (seats::signal() - 1)));
        syscall::sched_yield();
        signals::set_mask(mask);
    }
}

/// Does `f` with no freeze on its way, from code of the program's as from the runtime's. A stop waits.
pub fn transition_begins_from_anywhere(f: impl FnOnce()) {
    let undisturbed = |f: &mut dyn FnMut()| match sys::tls::get() {
        Some(thr) => crate::fault::stop::hold_off(thr, f),
        None => f(),
    };
    let mut f = Some(f);
    undisturbed(&mut || {
        let mask = signals::block_all();
        transition_begins();
        if let Some(f) = f.take() {
            f();
        }
        transition_is_over();
        signals::set_mask(mask);
    });
}

/// The thread has its new host.
pub fn transition_ends(thr: &'static Thread, tid: u32) {
    if keep::if_on().is_some()
        && let Some(s) = keep::seat_of(thr)
    {
        s.host.store(tid, Release);
    }
    transition_is_over();
}

/// What began with [`transition_begins`] is over: no host has changed.
pub fn transition_is_over() {
    if let Some(k) = keep::if_on() {
        k.transitions.fetch_sub(1, SeqCst);
    }
}

/// In a child after fork: checkpoints are the parent's.
pub fn after_fork(thr: Option<&'static Thread>) {
    if region::on() {
        region::forget();
        if let Some(thr) = thr {
            thr.seat_number.set(0);
        }
    }
    BEGUN.store(false, Relaxed);
}

/// The program ends by itself: soon there is nothing to restart.
///
/// Called by the library's destructor. Libraries that are left after it may still have something to write
/// (Fortran's has all that the program has written), so the mark is made when all have been: `exit` does
/// what it is given meanwhile after what it is doing.
pub fn program_ends() {
    unsafe extern "C" {
        fn on_exit(what: unsafe extern "C" fn(i32, *mut libc::c_void), with: *mut libc::c_void) -> i32;
    }
    /// # Safety
    /// Any thread may call it, and does so once.
    unsafe extern "C" fn has_ended(status: i32, _: *mut libc::c_void) {
        // What waits in buffers is written first: after the mark nothing would write it.
        // SAFETY: flushes all streams.
        unsafe { libc::fflush(core::ptr::null_mut()) };
        ends::mark(status);
    }
    if region::on() {
        // SAFETY: a function for which nobody but the process has to be there. If there is no memory for it
        // there is no mark, either.
        unsafe { on_exit(has_ended, core::ptr::null_mut()) };
    }
}
