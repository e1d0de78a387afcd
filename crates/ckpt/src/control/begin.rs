//! How checkpoints begin: at the first use of the runtime, or when the library is loaded. The kept region is
//! mapped, the keeper's host is started, and the calling thread waits until it is ready.
//!
//! A program that starts others hands PROMP_CKPT_DIR down to them. The directory serves one process of the
//! family: the one that `promp run` has started (whose.rs), else the first one. The others have no
//! checkpoints.

use crate::exec;
use crate::image::state::stand_at_load;
use crate::keeper::{self, Keeper};
use crate::runtime::runtime;
use crate::say;
use crate::store::Store;
use crate::sys;
use crate::sys::own::Own;
use crate::sys::stat::Stat;
use crate::sys::{futex, host, midway, preserved_memory as region, signals, syscall};
use crate::timers;
use crate::whose::{self, Whose};
use crate::{
    Settings, command_line, credentials, ends, exits, journal, keep, memory, process, program_requests,
    requests, restart, seats, settings, step_files, steps, taken,
};
use core::sync::atomic::{AtomicBool, Ordering::*};
use promp_settings::internal::CKPT_OWNER;
use promp_settings::{CKPT_DIR, STEPS};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the keeper's host starts with.
pub(crate) struct Start {
    /// What checkpoints are to be.
    pub settings: Settings,
    /// Whether the keeper begins anew.
    pub job: restart::Job,
}

impl Start {
    /// The keeper's life; on its own stack.
    pub(crate) fn work(&'static self) -> ! {
        match &self.job {
            restart::Job::Fresh(whose) => match self.open(whose.as_ref()) {
                Ok(store) => {
                    let mut k = Keeper::new(self.settings.clone(), store, taken::list());
                    let s = &self.settings;
                    keep::get().sent.begin(&s.inherited, None, s.verbose);
                    keep::get().received.begin(&s.inherited);
                    keep::get().ready.store(1, Release);
                    futex::wake(&keep::get().ready, u32::MAX);
                    k.run()
                }
                Err(why) => self.go_on_without(&why, whose.as_ref()),
            },
            restart::Job::Restart(first, libraries) => restart::work(&self.settings, first, libraries),
        }
    }

    /// Opens the directory of a new run.
    fn open(&self, whose: Option<&Whose>) -> Result<Store, String> {
        let s = &self.settings;
        let store = Store::open(&s.dir, None, s.keep)?;
        store.map_state(region::STATE, true)?;
        let run = whose.filter(|_| AT_LOAD.load(Relaxed));
        stand_at_load(crate::state(), run.map(Whose::nonce));
        match whose {
            Some(w) => w.note(&s.dir, &process::command().0, s.verbose)?,
            None => whose::of_no_run(&s.dir),
        }
        Ok(store)
    }

    /// The directory cannot be had: the process ends, unless another one of its family has it, or it is not
    /// the one that was started.
    fn go_on_without(&self, why: &str, whose: Option<&Whose>) -> ! {
        let Settings { dir, verbose, .. } = &self.settings;
        let other = whose.is_some_and(|w| !w.is_started());
        match Store::holder(dir).filter(|&pid| is_relative(pid)) {
            Some(pid) if *verbose >= if other { 2 } else { 1 } => say_of_family(dir, pid),
            None if !other => {
                say!("{}={}: {why}", CKPT_DIR.name, dir.display());
                syscall::exit_group(64)
            }
            None if *verbose >= 2 => say!("no checkpoints of this process: {why}"),
            _ => {}
        }
        keep::get().ready.store(NOT_READY, Release);
        futex::wake(&keep::get().ready, u32::MAX);
        syscall::exit()
    }
}

/// [`keep::Keep::ready`] of a process that gets no checkpoints.
const NOT_READY: u32 = 2;

/// Is process `pid` an ancestor or a descendant of this one? A program that starts others hands
/// PROMP_CKPT_DIR down to them.
fn is_relative(pid: u32) -> bool {
    let parent = |pid: u32| -> Option<u32> {
        let path = std::ffi::CString::new(format!("/proc/{pid}/stat")).ok()?;
        Stat::read(&path).map(|s| s.field(4) as u32)
    };
    let descends = |from: u32, of: u32| core::iter::successors(Some(from), |&p| parent(p)).any(|p| p == of);
    let me = syscall::getpid();
    pid != me && (descends(me, pid) || descends(pid, me))
}

/// Maps the kept region and gives everything its place in it, in every process the same.
pub(crate) fn region_ready() -> bool {
    region::map() && keep::create() && taken::create() && runtime().keep()
}

/// Starts the keeper's host. All signals are blocked in it.
pub(crate) fn spawn(start: Start) -> bool {
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

/// Do checkpoints begin when the library is loaded?
static AT_LOAD: AtomicBool = AtomicBool::new(false);

/// The first checkpoint where they begin at load: whole before the program has done what others could see.
pub fn at_load() {
    exits::at_load();
    program_requests::first();
    if let Some(k) = keep::if_on() {
        k.asking.program_begins();
        program_requests::until_written(k);
        stand_at_load(crate::state(), None);
    }
}

/// Has [`begin`] been called in this process?
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Turns checkpoints on if the settings ask for them and nobody has yet: at the first use of the runtime,
/// which has read PROMP_FT and PROMP_VERBOSE.
pub fn start(ft: bool, verbose: u32) {
    if BEGUN.load(Relaxed) {
        return;
    }
    let Some(settings) = settings::ask(verbose) else {
        if verbose >= 1 && ft {
            steps::has_come_late();
        }
        return;
    };
    if !ft {
        if verbose >= 1 {
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
    let asked = !env::secure() && [CKPT_DIR.c_name, STEPS.c_name].into_iter().any(env::is_set);
    if !asked || !sys::objects::any_needs(&["libgomp", "libpromp"]) {
        return false;
    }
    steps::become_one();
    if let Some(c) = settings::ask_at_load()
        // Descendants of what was started may never compute: only the first that does has checkpoints.
        && Whose::of(&c.dir).is_none_or(|w| w.is_started())
    {
        host::learn_libc_layout();
        AT_LOAD.store(true, Relaxed);
        begin(c.clone());
    }
    region::on()
}

/// Turns checkpoints on: called while the program has one thread in the runtime, or none.
fn begin(mut settings: Settings) {
    BEGUN.store(true, Relaxed);
    let whose = Whose::of(&settings.dir).inspect(|w| settings.verbose = w.verbose(settings.verbose));
    let other = whose.as_ref().and_then(|w| w.may_take(&settings.dir).err());
    if let Some(pid) = other.or_else(|| ancestor_with(&settings.dir)) {
        if settings.verbose >= if whose.is_some() { 2 } else { 1 } {
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
    midway::learn();
    seats::install();
    credentials::begin();
    let (dir, on_signal) = (settings.dir.clone(), settings.on_signal);
    // The end of a descendant is not that of the run, nor do its relatives die with `promp run`.
    let is_run = whose.as_ref().is_none_or(Whose::is_started);
    let dies_with = if is_run && whose.is_some() { credentials::dies_with() } else { 0 };
    keep::get().dies_with.store(dies_with, Relaxed);
    if !spawn(Start {
        settings: Settings { inherited: restart::inherited(), ..settings },
        job: restart::Job::Fresh(whose),
    }) {
        say!("no checkpoints: the system gives no thread that takes them (ulimit -u?)");
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
    step_files::begin();
    journal::file_calls::begin(&k.journal);
    command_line::learn();
    if is_run {
        let (program, arguments) = process::command();
        ends::prepare(k, program, arguments);
    }
    ends::begin();
    requests::install(&on_signal);
    tell_descendants(&dir);
}

/// Tells descendants that the directory in their PROMP_CKPT_DIR serves an ancestor: "pid:directory". The
/// lock alone would not do: a child that outlives the ancestor, or has yet to start when it is killed,
/// would find the directory free and overwrite what the ancestor is to be restarted from.
fn tell_descendants(dir: &Path) {
    let mut owner = OsString::from(format!("{}:", syscall::getpid()));
    owner.push(dir);
    // SAFETY: initialisation: either the program has not begun yet, or it is in its first call of the
    // runtime.
    unsafe { std::env::set_var(CKPT_OWNER.name, owner) };
}

/// The ancestor that `dir` serves.
fn ancestor_with(dir: &Path) -> Option<u32> {
    let owner = std::env::var_os(CKPT_OWNER.name)?;
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

/// In a child after fork: checkpoints are the parent's, and so is the seat of the only thread.
pub fn after_fork(seat_number: Option<&Own<u32>>) {
    timers::after_fork();
    exec::after_fork();
    if region::on() {
        region::forget();
        if let Some(number) = seat_number {
            number.set(0);
        }
    }
    BEGUN.store(false, Relaxed);
}
