//! Timers whose expirations start threads (SIGEV_THREAD). Libc gives them to a helper that blocks all
//! signals, which no freeze could find. This one blocks all but ours; else it does what libc's does: it waits
//! for the timers' signal and makes a thread for each, which executes the program's function.

use crate::sys;
use crate::sys::lock::Locked;
use crate::sys::pending_signals::Info;
use crate::sys::timers::LOCK;
use crate::sys::{futex, host, pending_signals, reach, signals};
use crate::timers::Event;
use crate::{lost, seats};
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

/// The signal that libc uses for that, too: the program cannot block or send it.
const SIGNAL: i32 = 32;

/// What a thread can block.
const ALL: u64 = !(1 << 31 | 1 << 32);

type Function = unsafe extern "C" fn(u64);

/// A timer's.
struct Record {
    id: i32,
    /// The value that the kernel sends.
    key: u64,
    function: Function,
    value: u64,
    attributes: libc::pthread_attr_t,
}

// SAFETY: the attributes are libc's, which may be used by any thread.
unsafe impl Send for Record {}

static RECORDS: Locked<Vec<Record>> = Locked::new(Vec::new());
/// The helper's thread pointer; 0: there is none.
static HELPER: AtomicUsize = AtomicUsize::new(0);
/// Becomes 1 when it has begun.
static BEGUN: AtomicU32 = AtomicU32::new(0);
/// Of the next record.
static KEY: AtomicUsize = AtomicUsize::new(1);

/// Is host `tid` the helper's?
pub(crate) fn is_helper(tid: u32) -> bool {
    let helper = HELPER.load(Acquire);
    helper != 0 && host::id_if_there(helper) == Some(tid)
}

/// In a child after fork there is nobody else.
pub(crate) fn after_fork() {
    HELPER.store(0, Relaxed);
    BEGUN.store(0, Relaxed);
    RECORDS.raw().reset();
    RECORDS.with(Vec::clear);
}

/// A timer has been deleted.
pub(crate) fn removed(id: i32) {
    RECORDS.with(|all| all.retain(|r| r.id != id));
}

/// Attributes like those, of which the program may do away with.
///
/// # Safety
/// Null, or attributes.
unsafe fn like(given: *const libc::pthread_attr_t) -> libc::pthread_attr_t {
    let mut own = MaybeUninit::<libc::pthread_attr_t>::zeroed();
    // SAFETY: plain calls with attributes that have been made.
    unsafe {
        libc::pthread_attr_init(own.as_mut_ptr());
        if !given.is_null() {
            let (mut bytes, mut n, mut param) = (0usize, 0, core::mem::zeroed());
            libc::pthread_attr_getstacksize(given, &raw mut bytes);
            libc::pthread_attr_setstacksize(own.as_mut_ptr(), bytes);
            libc::pthread_attr_getguardsize(given, &raw mut bytes);
            libc::pthread_attr_setguardsize(own.as_mut_ptr(), bytes);
            libc::pthread_attr_getschedpolicy(given, &raw mut n);
            libc::pthread_attr_setschedpolicy(own.as_mut_ptr(), n);
            libc::pthread_attr_getschedparam(given, &raw mut param);
            libc::pthread_attr_setschedparam(own.as_mut_ptr(), &raw const param);
            libc::pthread_attr_getinheritsched(given, &raw mut n);
            libc::pthread_attr_setinheritsched(own.as_mut_ptr(), n);
        }
        libc::pthread_attr_setdetachstate(own.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        own.assume_init()
    }
}

/// timer_create(2) for a `SIGEV_THREAD`.
///
/// # Safety
/// The caller's arguments.
pub(crate) unsafe fn create(clock: c_int, event: &Event, id: *mut usize) -> c_int {
    let mask = signals::block_all();
    let made = LOCK.with(|| {
        let Some(tid) = helper() else { return -(libc::EAGAIN as isize) };
        let key = KEY.fetch_add(1, Relaxed) as u64;
        let mut own = [0u64; 8];
        own[0] = key;
        own[1] = SIGNAL as u64 | (libc::SIGEV_THREAD_ID as u64) << 32;
        own[2] = u64::from(tid);
        let mut number = 0i32;
        // SAFETY: the kernel reads a sigevent and writes a number.
        let r = unsafe { sys!(libc::SYS_timer_create, clock, own.as_ptr(), &raw mut number) };
        if r == 0 {
            // SAFETY: by the caller's promise: a function of that type, and null or attributes.
            let (function, attributes) = unsafe {
                let function = core::mem::transmute::<usize, Function>(event.rest[0] as usize);
                (function, like(event.rest[1] as *const libc::pthread_attr_t))
            };
            let record = Record { id: number, key, function, value: event.value, attributes };
            RECORDS.with(|all| all.push(record));
            // SAFETY: by the caller's promise.
            unsafe { *id = number as usize };
        }
        r
    });
    signals::set_mask(mask);
    reach::with_errno(made) as c_int
}

/// The helper's host; makes it if there is none. All signals are blocked, the lock is held.
fn helper() -> Option<u32> {
    if HELPER.load(Acquire) == 0 {
        let mask = signals::set_mask(!seats::signals());
        let mut thread = 0;
        // SAFETY: a function of that type; the attributes are libc's own.
        let r = unsafe {
            libc::pthread_create(&raw mut thread, &like(core::ptr::null()), helps, core::ptr::null_mut())
        };
        signals::set_mask(mask);
        if r != 0 {
            return None;
        }
        HELPER.store(thread as usize, Release);
        while BEGUN.load(Acquire) == 0 {
            futex::wait(&BEGUN, 0);
        }
    }
    host::id_if_there(HELPER.load(Acquire))
}

extern "C" fn helps(_: *mut c_void) -> *mut c_void {
    signals::set_mask(!seats::signals());
    BEGUN.store(1, Release);
    futex::wake(&BEGUN, 1);
    let set = pending_signals::bit(SIGNAL);
    loop {
        let mut info: Info = [0; 16];
        // SAFETY: the kernel reads a set and writes a description.
        let r = unsafe { sys!(libc::SYS_rt_sigtimedwait, &raw const set, info.as_mut_ptr(), 0, 8) };
        if r as i32 == SIGNAL && info[1] as i32 == libc::SI_TIMER {
            starts(info[3]);
        }
    }
}

/// Has a thread execute the function of the timer that sends `key`.
fn starts(key: u64) {
    let found = RECORDS.with(|all| {
        all.iter().find(|r| r.key == key).map(|r| (Box::new((r.function, r.value)), r.attributes))
    });
    let Some((what, attributes)) = found else { return };
    let (mut thread, what) = (0, Box::into_raw(what));
    // SAFETY: a function of that type, and what it expects. One that is not made is one expiration less, as
    // with libc's.
    unsafe {
        if libc::pthread_create(&raw mut thread, &raw const attributes, executes, what.cast()) != 0 {
            drop(Box::from_raw(what));
        }
    }
}

extern "C" fn executes(what: *mut c_void) -> *mut c_void {
    // SAFETY: `starts` has made it, for this thread alone; the program's function.
    unsafe {
        let (function, value) = *Box::from_raw(what.cast::<(Function, u64)>());
        // As libc's: it blocks everything.
        signals::set_mask(lost::left_open(libc::SIG_SETMASK, ALL & !seats::signals()));
        function(value);
    }
    core::ptr::null_mut()
}
