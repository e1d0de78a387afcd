//! OpenACC with the host as the only device: it shares the program's memory, so data constructs have
//! nothing to move and compute constructs run in the encountering thread. What remains is the device's
//! state and the profiling events.

pub mod profiling_interface;

use crate::complain;
use crate::sys::own::Own;
use crate::team::hold::guarded;
use core::fmt::Arguments;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::Relaxed};
use profiling_interface::Construct;

/// acc_device_t.
pub const NONE: i32 = 0;
/// acc_device_default.
pub const DEFAULT: i32 = 1;
/// acc_device_host.
pub const HOST: i32 = 2;
const NOT_HOST: i32 = 4;
const NVIDIA: i32 = 5;
const RADEON: i32 = 8;

/// acc_async_sync.
pub const SYNC: i32 = -2;

/// Is a device initialised? Read and set with Relaxed order: it guards no data.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// The types of which a device was initialised and not shut down since: bits. Relaxed, as above.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// Its type and its number among those of the type.
static TYPE: AtomicI32 = AtomicI32::new(HOST);
static NUMBER: AtomicI32 = AtomicI32::new(0);

/// How many devices of a type there are beside the host; set by who knows them, when the library is loaded.
pub static OTHERS: Own<Option<Count>> = Own::new(None);

/// How many there are of a type.
pub(crate) type Count = fn(i32) -> i32;

fn others(device_type: i32) -> i32 {
    OTHERS.get().map_or(0, |count| guarded(|| count(device_type)))
}

/// The type that a general one means here.
fn meant(device_type: i32) -> i32 {
    let first = || [NVIDIA, RADEON, NOT_HOST].into_iter().find(|&t| others(t) > 0);
    match device_type {
        DEFAULT => match variable("ACC_DEVICE_TYPE") {
            Some(name) => named_type(&name).map_or(HOST, |t| if t == NOT_HOST { meant(t) } else { t }),
            None => first().unwrap_or(HOST),
        },
        NOT_HOST => first().unwrap_or(NOT_HOST),
        t => t,
    }
}

fn named_type(name: &str) -> Option<i32> {
    const NAMES: [(&str, i32); 4] =
        [("host", HOST), ("not_host", NOT_HOST), ("nvidia", NVIDIA), ("radeon", RADEON)];
    NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|n| n.1)
}

/// Type and number of the device in use: the host's is always 0.
pub(crate) fn in_use() -> (i32, i32) {
    (TYPE.load(Relaxed), NUMBER.load(Relaxed))
}

/// Are tools being told of the initialisation? Then there is no current device yet.
static STARTING: AtomicBool = AtomicBool::new(false);

/// acc_get_device_type.
pub fn current_type() -> i32 {
    if STARTING.load(Relaxed) {
        return NONE;
    }
    if !ACTIVE.load(Relaxed) {
        resolve(DEFAULT);
        return meant(DEFAULT);
    }
    TYPE.load(Relaxed)
}

/// acc_get_device_num: what was set, or the default.
pub fn current_number(device_type: i32) -> i32 {
    resolve(device_type);
    if ACTIVE.load(Relaxed) { NUMBER.load(Relaxed) } else { default_number() }
}

/// Prints the message and ends the program like libgomp: with status 1, running its exit handlers.
pub fn fatal(message: Arguments) -> ! {
    complain!("{message}");
    // SAFETY: ends the process like any C program.
    unsafe { libc::exit(1) }
}

fn variable(name: &str) -> Option<String> {
    guarded(|| std::env::var(name).ok().filter(|v| !v.is_empty()))
}

/// ACC_DEVICE_NUM (OpenACC 2.6, section 4.2); a malformed value was complained about at start.
pub(crate) fn default_number() -> i32 {
    variable("ACC_DEVICE_NUM").and_then(|v| v.trim().parse().ok()).filter(|&n| n >= 0).unwrap_or(0)
}

/// What libgomp does when it is loaded: complains about a malformed ACC_DEVICE_NUM, loads the tools of
/// ACC_PROFLIB, which get `routines` ([`profiling_interface::load_libraries`]).
pub fn at_load(routines: [usize; 3]) {
    use crate::sys::env::is_set;
    if is_set(c"ACC_DEVICE_NUM")
        && variable("ACC_DEVICE_NUM").is_some_and(|v| v.trim().parse::<i32>().is_err())
    {
        complain!("Invalid value for environment variable ACC_DEVICE_NUM");
    }
    if is_set(c"ACC_PROFLIB") && !crate::sys::env::secure() {
        profiling_interface::load_libraries(routines);
    }
}

/// Why a device type cannot be used here.
fn why_not(device_type: i32) -> Option<String> {
    let named = |name: &str| format!("device type {name} not supported");
    match device_type {
        DEFAULT => match variable("ACC_DEVICE_TYPE") {
            Some(name) => match named_type(&name) {
                Some(HOST) => None,
                Some(t) if others(meant(t)) > 0 => None,
                _ => Some(named(&name)),
            },
            None => None,
        },
        HOST => None,
        NONE => Some(named("none")),
        NOT_HOST | NVIDIA | RADEON if others(meant(device_type)) > 0 => None,
        NOT_HOST => Some("no device found".into()),
        NVIDIA => Some(named("nvidia")),
        RADEON => Some(named("radeon")),
        other => Some(format!("unknown device type {}", other as u32)),
    }
}

/// Is this one of acc_device_t's types?
pub fn is_known(device_type: i32) -> bool {
    matches!(device_type, NONE | DEFAULT | HOST | NOT_HOST | NVIDIA | RADEON)
}

/// The number of devices of a type; unknown types end the program.
pub fn count(device_type: i32) -> i32 {
    match device_type {
        NONE => 0,
        NOT_HOST | NVIDIA | RADEON => others(meant(device_type)),
        _ => match why_not(device_type) {
            None if meant(device_type) != HOST => others(meant(device_type)),
            None => 1,
            Some(_) if device_type == DEFAULT => 0,
            Some(why) => fatal(format_args!("{why}")),
        },
    }
}

/// Ends the program unless the type is one that exists here.
pub fn resolve(device_type: i32) {
    if let Some(why) = why_not(device_type) {
        fatal(format_args!("{why}"));
    }
}

/// Ends the program unless `number` is a device of the existing type `device_type`.
pub fn resolve_number(device_type: i32, number: i32) {
    resolve(device_type);
    let number = if number < 0 { default_number() } else { number };
    if number >= count(device_type).max(1) {
        fatal(format_args!("device {number} out of range"));
    }
}

/// Makes the device active without telling tools (acc_set_device_type, acc_set_device_num).
pub fn attach(device_type: i32, number: i32) {
    select(device_type, number);
    ACTIVE.store(true, Relaxed);
}

fn select(device_type: i32, number: i32) {
    let device_type = meant(if device_type == NONE { DEFAULT } else { device_type });
    TYPE.store(device_type, Relaxed);
    let number = if number < 0 { default_number() } else { number };
    NUMBER.store(if device_type == HOST { 0 } else { number }, Relaxed);
    STARTED.fetch_or(1 << device_type, Relaxed);
}

/// acc_init.
pub fn init(device_type: i32) {
    resolve_number(device_type, -1);
    if STARTED.load(Relaxed) >> meant(device_type) & 1 != 0 {
        fatal(format_args!("device already active"));
    }
    start(device_type, Construct::RuntimeApi, false);
}

fn start(device_type: i32, construct: Construct, implicit: bool) {
    select(device_type, -1);
    let mut event = profiling_interface::Event {
        device_type,
        implicit,
        ..profiling_interface::Event::of(construct, SYNC)
    };
    STARTING.store(true, Relaxed);
    event.around(profiling_interface::DEVICE_INIT, |_| ACTIVE.store(true, Relaxed));
    STARTING.store(false, Relaxed);
}

/// The device is needed: it is initialised if it was not.
pub fn need() {
    if !ACTIVE.load(Relaxed) {
        resolve_number(DEFAULT, -1);
        start(DEFAULT, Construct::Parallel, true);
    }
}

/// acc_shutdown.
pub fn shutdown(device_type: i32) {
    resolve(device_type);
    let device_type = meant(device_type);
    if STARTED.fetch_and(!(1 << device_type), Relaxed) >> device_type & 1 == 0 {
        fatal(format_args!("no device initialized"));
    }
    if TYPE.load(Relaxed) == device_type {
        ACTIVE.store(false, Relaxed);
    }
}

/// An async argument of a routine that wants an active device.
pub fn check_queue(queue: i32) {
    if !ACTIVE.load(Relaxed) {
        fatal(format_args!("no device active"));
    }
    if queue < SYNC {
        fatal(format_args!("invalid async-argument: {queue}"));
    }
}
