//! Restart: a new process of the same program becomes the one that a checkpoint describes.
//!
//! Memory must lie at the same addresses, so address-space randomisation is off whenever checkpoints are
//! on: the library re-executes the program once, at load. A restarting process is stopped at load too,
//! before the program has done anything: the keeper replaces its memory by the checkpoint's and its first
//! host takes the saved context up.

pub mod library_layout;
pub mod vdso;
pub mod xsave;

use crate::begin::Start;
use crate::keeper::{Keeper, program_copies};
use crate::open_descriptors::{Inherited, behind, numbers};
use crate::pipes::sent::private_pipe;
use crate::runtime::runtime;
use crate::say;
use crate::seats::Seat;
use crate::store::Store;
use crate::sys;
use crate::sys::lock::Locked;
use crate::sys::objects::{self, Object};
use crate::sys::{host, maps, midway, preserved_memory as region, signals, syscall};
use crate::whose::{self, Whose};
use crate::{Settings, attributes, begin, exits, image, keep, masks, memory, requests, streams, taken};
use core::sync::atomic::Ordering::*;
use promp_image::{Directory, Generation, file_copies, fit};
use promp_settings::internal::{RESTART, RESTART_INPUT, RESTART_THREADS};
use promp_settings::{CKPT_DIR, CKPT_SELF_CONTAINED, FT};
use std::ffi::CString;
use std::path::Path;

/// What the keeper's host does first.
pub enum Job {
    /// A new run, and what part this process has in it.
    Fresh(Option<Whose>),
    /// Go on from the checkpoint; the process' first host waits in this seat. The libraries that it has
    /// loaded.
    Restart(&'static Seat, Vec<Object>),
}

/// Descriptors open before the program has opened any.
static INHERITED: Locked<Vec<Inherited>> = Locked::new(Vec::new());

/// See [`INHERITED`].
pub fn inherited() -> Vec<Inherited> {
    INHERITED.with(|v| v.clone())
}

const NO_RANDOMIZE: usize = libc::ADDR_NO_RANDOMIZE as usize;
/// The argument of personality(2) that changes nothing.
const QUERY: usize = 0xffff_ffff;

/// Are this process' addresses random? Then rollbacks work, but no other process can take its place. The
/// filter for system calls that containers have (Docker's and Kubernetes' default) does not let a process
/// change that.
pub fn randomised() -> bool {
    // SAFETY: plain call.
    let now = unsafe { sys!(libc::SYS_personality, QUERY) };
    let off = maps::read_file(c"/proc/sys/kernel/randomize_va_space").is_some_and(|v| v.starts_with(b"0"));
    now as usize & NO_RANDOMIZE == 0 && !off
}

/// What a user is told where [`randomised`] says yes: why, and what to do.
pub const RANDOMISED: &str = "addresses are random here, and the process may not change that \
                              (personality(2); for Docker and Podman: --security-opt seccomp=unconfined)";

/// Before the program has done anything: re-executes it without address-space randomisation if checkpoints
/// are on and it has it, and hands over to the keeper if this process is to go on from a checkpoint. Are they
/// on?
pub fn prepare() -> bool {
    use crate::sys::env;
    if env::secure() || !env::is_set(CKPT_DIR.c_name) || env::get(FT.name).is_some_and(|v| v == "off") {
        return false;
    }
    // The program may go to another folder before its first use of the runtime.
    if let Some(dir) = std::env::var_os(CKPT_DIR.name).filter(|d| !d.is_empty() && Path::new(d).is_relative())
        && let Ok(dir) = std::path::absolute(dir)
    {
        // SAFETY: the library is being loaded, or is used for the first time.
        unsafe { std::env::set_var(CKPT_DIR.name, dir) };
    }
    // SAFETY: plain calls; the environment is that of this process.
    unsafe {
        let now = sys!(libc::SYS_personality, QUERY);
        if now >= 0
            && now as usize & NO_RANDOMIZE == 0
            && sys!(libc::SYS_personality, now as usize | NO_RANDOMIZE) >= 0
        {
            unsafe extern "C" {
                static environ: *const *const libc::c_char;
            }
            execute(environ);
            // It goes on with randomisation: see `randomised`.
            sys!(libc::SYS_personality, now);
        }
    }
    let own = private_pipe::find();
    let inherited: Vec<i32> = numbers().into_iter().filter(|fd| !own.contains(fd)).collect();
    streams::begin(&inherited);
    INHERITED.with(|v| *v = behind(inherited));
    attributes::begin();
    crate::irreversible_calls::begin();
    crate::process::begin();
    if env::get(RESTART.name).is_some() {
        restart();
    }
    if env::is_set(CKPT_SELF_CONTAINED.c_name) {
        program_copies::begin();
    }
    masks::begin();
    true
}

/// Executes this process' program again, with its arguments. Comes back only if that is not possible.
///
/// # Safety
/// `environment` is a list of C strings with a null at its end.
pub unsafe fn execute(environment: *const *const libc::c_char) {
    let Ok(path) = std::fs::read_link("/proc/thread-self/exe") else { return };
    let path = CString::new(path.into_os_string().into_encoded_bytes()).unwrap_or_default();
    let text = maps::read_file(c"/proc/thread-self/cmdline").unwrap_or_default();
    let mut arguments: Vec<_> = text.split_inclusive(|&b| b == 0).map(<[u8]>::as_ptr).collect();
    arguments.push(core::ptr::null());
    sys::initial_affinity::use_all();
    // SAFETY: the arguments, each ended by a zero byte, are those of this process; the rest by the caller's
    // promise.
    unsafe { sys!(libc::SYS_execve, path.as_ptr(), arguments.as_ptr(), environment) };
}

fn refuse(why: &str) -> ! {
    say!("restart refused: {why}");
    syscall::exit_group(exits::REFUSED)
}

fn restart() -> ! {
    let dir = crate::sys::env::get(CKPT_DIR.name).unwrap_or_default();
    host::learn_libc_layout();
    midway::learn();
    signals::block_all();
    if !begin::region_ready() {
        refuse("the system does not give the address space for checkpoints");
    }
    keep::get().dies_with.store(crate::credentials::dies_with(), Relaxed);
    let Some(settings) = crate::settings::again() else { refuse(&format!("{}={dir}", CKPT_DIR.name)) };
    let k = keep::get();
    let first = &k.seats[crate::seats::SEATS - 1];
    first.host.store(syscall::gettid(), Release);
    if !begin::spawn(Start { settings, job: Job::Restart(first, objects::loaded()) }) {
        refuse("the system gives no thread that restores the checkpoint (ulimit -u?)");
    }
    // SAFETY: all signals are blocked.
    unsafe { crate::seats::wait_to_be_replaced(first) }
}

/// Reads checkpoint `number`; the error says why this process cannot go on from it, with so many `threads`.
fn checkpoint(settings: &Settings, number: u64, threads: Option<u32>) -> Result<Generation, String> {
    let dir = Directory::open(&settings.dir)?;
    let g = dir.read(number)?;
    match fit::obstacle(&g.about, None).or_else(|| threads.and_then(|n| fit::another(&g.about, n))) {
        Some(why) => Err(why),
        None => Ok(g),
    }
}

/// What is to be said where the system's clock is behind the one that the program knows.
fn late_clock(known: &image::Clocks) -> Option<String> {
    let late = image::Clocks::now().behind(known).monotonic;
    (late > 0).then(|| {
        format!(
            "the system's clock is {} s behind the one that the program knows, and may not be set for it \
             (unshare(2), CLONE_NEWTIME): times that it measures go back once, and what it waits for until a time \
             takes so much longer",
            late.div_ceil(1_000_000_000)
        )
    })
}

/// The keeper of a restarting process.
pub fn work(settings: &Settings, first: &'static Seat, libraries: &[Object]) -> ! {
    let number: u64 = crate::sys::env::get(RESTART.name).and_then(|v| v.parse().ok()).unwrap_or(0);
    let threads: Option<u32> = crate::sys::env::get(RESTART_THREADS.name).and_then(|v| v.parse().ok());
    let mut g = checkpoint(settings, number, threads).unwrap_or_else(|why| refuse(&why));
    let moved = file_copies::moved(&settings.dir, &g.about).unwrap_or_else(|why| refuse(&why));
    g.about.take_from(&moved);
    if randomised() && memory::vdso() != g.about.vdso {
        refuse(RANDOMISED);
    }
    let read_since = crate::sys::env::is_set(RESTART_INPUT.c_name);
    let mut said: Vec<String> = moved.iter().map(|m| format!("{} is taken from its copy", m.from)).collect();
    said.extend(streams::fit(&g.about.files, read_since).unwrap_or_else(|why| refuse(&why)));
    library_layout::settle(&g.about.maps, libraries).unwrap_or_else(|why| refuse(&why));
    if vdso::settle(&settings.dir, &g.about).unwrap_or_else(|why| refuse(&why)) {
        said.push("this is another kernel than that of the run".into());
    }
    memory::number_anew(&mut g.about.maps);
    if !whose::is_of_a_descendant(&settings.dir) {
        crate::ends::prepare(keep::get(), g.about.program.clone(), g.about.arguments.clone());
    }
    let from = (number, g.about.era, g.index.clone());
    let store =
        Store::open(Path::new(&settings.dir), Some(from), settings.keep).unwrap_or_else(|why| refuse(&why));
    store.map_state(region::STATE, false).unwrap_or_else(|why| refuse(&why));
    let region_of = g.about.region;
    said.extend(late_clock(&g.about.clocks));
    let inherited =
        behind(g.about.files.iter().filter(|f| f.inherited).map(|f| f.duplicate_of.unwrap_or(f.fd)));
    let settings = Settings { threads: g.about.threads, inherited, ..settings.clone() };
    let verbose = settings.verbose;
    keep::get().asking.begin_anew();
    requests::follow(&settings.on_signal);
    let mut k = Keeper::new(settings.clone(), store, taken::list());
    said.extend(keep::get().sent.begin(&settings.inherited, Some(&g.about), settings.verbose));
    keep::get().received.begin(&settings.inherited);
    g.about.received = keep::get().received.positions();
    k.resume_from(g);
    while !first.hold() {
        syscall::sched_yield();
    }
    // Its last use of the memory that goes was before; now it waits without a stack.
    let seats = k.become_generation(first, threads).unwrap_or_else(|why| refuse(&why));
    if verbose >= 1 {
        said.iter().for_each(|what| say!("{what}"));
        let with = threads.map_or(String::new(), |n| format!(", with {n} threads"));
        say!("restarted from checkpoint {number} (region {region_of}){with}");
    }
    k.let_go(&seats);
    runtime().agent_again();
    keep::get().ready.store(1, Release);
    k.run()
}
