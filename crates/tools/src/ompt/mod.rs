//! OMPT, OpenMP's interface for tools of others (OpenMP 5.1, chapter 4; docs/ompt.md): a listener
//! (observe/) that turns what happens into the callbacks which the tool has registered. `load` finds the
//! tool, `abi` has the specification's words, `info` what is kept with threads, tasks and teams, `points` the
//! functions that the tool may call, `tell` the events.
//!
//! While the tool is in a callback, the thread counts as in the runtime, whatever the tool does there: stops
//! wait (team/thread.rs, `calls_out`), and what happens in the tool's own calls is not told to it.

pub(crate) mod abi;
mod device_callbacks;
mod info;
mod league;
mod load;
mod lock_callbacks;
mod points;
mod task_callbacks;
mod tell;

use crate::observe::event::{Row, Set};
use crate::observe::{self, Listener};
use crate::sys::own::Own;
use crate::team::meet;
use crate::team::thread;
use abi::Started;
use core::sync::atomic::{AtomicU32, Ordering::*};
use info::WORD;

pub use load::is_likely;

/// What is told to every tool, whatever it has registered: what states, frames and informations come from.
const ALWAYS: Set = Set::of(&[
    Row::ThreadBegin,
    Row::ThreadEnd,
    Row::ParallelBegin,
    Row::ParallelEnd,
    Row::ImplicitBegin,
    Row::ImplicitEnd,
    Row::LeagueBegin,
    Row::InitialBegin,
    Row::InitialEnd,
    Row::LeagueEnd,
    Row::SyncArrive,
    Row::SyncLeave,
    Row::HelpBegin,
    Row::HelpEnd,
    Row::PauseBegin,
    Row::PauseEnd,
])
.and(Set::TASKS);

/// All that it may come to want.
const WANTS: Set = Set::ALL.without(Set::of(&[Row::Failure, Row::Recovery]));

/// Whether there is a tool: one of the constants below.
static PHASE: AtomicU32 = AtomicU32::new(NONE);
/// There is none, or no longer.
const NONE: u32 = 0;
/// It is being initialised: it registers callbacks.
const STARTS: u32 = 1;
/// It is there.
const ACTIVE: u32 = 2;

static TOOL: Own<Option<&'static Started>> = Own::new(None);

/// Is a tool there?
pub(crate) fn is_active() -> bool {
    PHASE.load(Relaxed) == ACTIVE
}

/// Looks for a tool and starts it. Under the initialisation lock, before anything happens.
pub(crate) fn start() {
    let Some(tool) = load::find() else { return };
    let Some(initialize) = tool.initialize else { return };
    // Before the tool asks for devices: they look whether somebody may listen.
    let listener = Listener { wants: WANTS, told: tell::told };
    let Some(word) = observe::register_for(listener, Set::NONE) else { return };
    WORD.set(Some(word));
    PHASE.store(STARTS, Relaxed);
    // Before the devices': they end first then.
    // SAFETY: the handler lives as long as the process.
    unsafe { libc::atexit(at_exit) };
    let wants_to = initialize(points::lookup as *const () as usize, points::host(), tool.data.ptr()) != 0;
    if !wants_to {
        PHASE.store(NONE, Relaxed);
        return;
    }
    TOOL.set(Some(tool));
    PHASE.store(ACTIVE, Release);
    observe::want(ALWAYS.and(points::wanted()));
    // The tool has called the runtime already, which had nobody to tell.
    if let Some(thr) = thread::known() {
        meet::listeners_came(thr);
        tell::thread_begins(thr, false);
    }
}

/// `omp_control_tool`: the tool's answer.
pub fn control(command: u64, modifier: u64, argument: *mut core::ffi::c_void) -> i32 {
    const NO_TOOL: i32 = -2;
    const NO_CALLBACK: i32 = -1;
    if !is_active() {
        return NO_TOOL;
    }
    let thr = crate::team::thread::current();
    if thr.calls_out.load(Relaxed) != 0 {
        return NO_CALLBACK;
    }
    let answer = thr.call_out(|| abi::call::control_tool(command, modifier, argument, thr.call_site()));
    answer.unwrap_or(NO_CALLBACK)
}

extern "C" fn at_exit() {
    end();
}

/// The tool's end: it is told that threads end, and finalised. Nothing is told from here on.
fn end() {
    if PHASE.load(Relaxed) != ACTIVE {
        return;
    }
    if let Some(thr) = thread::known() {
        tell::program_ends(thr);
    }
    if PHASE.compare_exchange(ACTIVE, NONE, AcqRel, Relaxed).is_err() {
        return;
    }
    if let Some(tool) = TOOL.get()
        && let Some(finalize) = tool.finalize
    {
        finalize(tool.data.ptr());
    }
}
