//! The profiling interface (OpenACC 2.6, chapter 5): callbacks for events, counted registrations, toggles.

use crate::sys::lock::Lock;
use crate::team::hold::guarded;
use crate::team::thread::current;
use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

/// Pairs of event numbers: start and end.
pub(crate) const DEVICE_INIT: (i32, i32) = (1, 2);
/// See [`DEVICE_INIT`].
pub const ENTER_DATA: (i32, i32) = (10, 11);
/// See [`DEVICE_INIT`].
pub const EXIT_DATA: (i32, i32) = (12, 13);
/// See [`DEVICE_INIT`].
pub const UPDATE: (i32, i32) = (14, 15);
/// See [`DEVICE_INIT`].
pub const COMPUTE: (i32, i32) = (16, 17);
/// See [`DEVICE_INIT`].
pub(crate) const LAUNCH: (i32, i32) = (18, 19);
const LAST: usize = 26;

/// acc_construct_t, as far as events name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Construct {
    /// A compute construct, or whatever first needs the device.
    Parallel = 0,
    /// data.
    Data = 3,
    /// enter data.
    EnterData = 4,
    /// exit data.
    ExitData = 5,
    /// host_data.
    HostData = 6,
    /// update.
    Update = 12,
    /// A routine.
    RuntimeApi = 15,
}

/// acc_prof_info.
#[repr(C)]
pub struct Info {
    event_type: i32,
    valid_bytes: i32,
    version: i32,
    device_type: i32,
    device_number: i32,
    thread_id: i32,
    queue: isize,
    queue_number: isize,
    src_file: *const u8,
    func_name: *const u8,
    lines: [i32; 4],
}

/// acc_event_info: the part that all kinds of it share, with room for the largest.
#[repr(C)]
pub struct EventInfo {
    event_type: i32,
    valid_bytes: i32,
    construct: i32,
    implicit: i32,
    tool_info: *mut c_void,
    room: [usize; 4],
}

/// acc_api_info.
#[repr(C)]
pub struct ApiInfo {
    /// One of [`api`]: a plugin says which.
    pub device_api: i32,
    valid_bytes: i32,
    device_type: i32,
    vendor: i32,
    handles: [*const c_void; 3],
}

const OTHER_EVENT_BYTES: i32 = 24;

/// acc_prof_callback.
pub type Callback = extern "C" fn(&mut Info, &mut EventInfo, &mut ApiInfo);

#[derive(Clone)]
struct Registered {
    callback: Callback,
    count: u32,
    enabled: bool,
}

struct Table {
    events: [Vec<Registered>; LAST],
    enabled: [bool; LAST],
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(null_mut());
static LOCK: Lock = Lock::new();
/// The quick answer to "does anybody listen?"; a late reader misses an event that raced with the registration.
static LISTENED: AtomicBool = AtomicBool::new(false);
static ENABLED: AtomicBool = AtomicBool::new(true);

fn with<R>(f: impl FnOnce(&mut Table) -> R) -> R {
    guarded(|| {
        LOCK.with(|| {
            let mut p = TABLE.load(Relaxed);
            if p.is_null() {
                p = Box::into_raw(Box::new(Table {
                    events: [const { Vec::new() }; LAST],
                    enabled: [true; LAST],
                }));
                TABLE.store(p, Relaxed);
            }
            // SAFETY: only used under the lock; never freed.
            f(unsafe { &mut *p })
        })
    })
}

/// acc_prof_register and acc_prof_unregister: `on` tells which; `how` is acc_register_t. What makes no sense has no effect.
pub fn register(on: bool, event: i32, callback: Option<Callback>, how: i32) {
    const COUNT: i32 = 0;
    const TOGGLE: i32 = 1;
    const TOGGLE_THREAD: i32 = 2;
    let valid = (1..LAST as i32).contains(&event);
    match (how, callback) {
        (COUNT, Some(callback)) if valid => with(|t| {
            let list = &mut t.events[event as usize];
            match (list.iter().position(|r| core::ptr::fn_addr_eq(r.callback, callback)), on) {
                (Some(i), true) => list[i].count += 1,
                (None, true) => list.push(Registered { callback, count: 1, enabled: true }),
                (Some(i), false) => {
                    list[i].count -= 1;
                    if list[i].count == 0 {
                        list.remove(i);
                    }
                }
                (None, false) => {}
            }
            LISTENED.store(true, Relaxed);
        }),
        (TOGGLE, None) if event == 0 => ENABLED.store(on, Relaxed),
        (TOGGLE, None) if valid => with(|t| t.enabled[event as usize] = on),
        (TOGGLE, Some(callback)) if valid => with(|t| {
            let same = |r: &&mut Registered| core::ptr::fn_addr_eq(r.callback, callback);
            if let Some(r) = t.events[event as usize].iter_mut().find(same) {
                r.enabled = on;
            }
        }),
        (TOGGLE_THREAD, None) if event == 0 => current().tools_off.set(!on),
        _ => {}
    }
}

/// Callbacks of end events are called in the reverse order of their registration.
fn is_end(event: i32) -> bool {
    [DEVICE_INIT, ENTER_DATA, EXIT_DATA, UPDATE, COMPUTE, LAUNCH].iter().any(|(_, end)| *end == event)
}

/// acc_device_api: how the device in use is programmed.
pub(crate) mod api {
    /// The host.
    pub(crate) const NONE: i32 = 0;
    /// Another one.
    pub(crate) const OTHER: i32 = 4;
}

/// The kernel of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Launched<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// Gangs, workers, length of vectors.
    pub dims: [usize; 3],
}

/// What an event tells beside its number.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// acc_device_t.
    pub device_type: i32,
    /// Its number among those of the type.
    pub device_number: i32,
    /// The construct that causes it.
    pub construct: Construct,
    /// Did the program not ask for it?
    pub implicit: bool,
    /// The async argument.
    pub queue: i32,
    /// One of [`api`].
    pub api: i32,
    /// For launches.
    pub(crate) launched: Option<Launched<'a>>,
}

/// What a device's plugin tells of its own events with, while a construct is carried out.
pub struct Heard {
    /// acc_prof_info.
    pub info: Info,
    /// acc_api_info.
    pub api: ApiInfo,
}

fn anybody_listens() -> bool {
    LISTENED.load(Relaxed) && ENABLED.load(Relaxed) && !current().tools_off.get()
}

/// Calls the callbacks of an event.
pub fn dispatch(info: &mut Info, event: &mut EventInfo, api: &mut ApiInfo) {
    let n = info.event_type;
    if !anybody_listens() || !(1..LAST as i32).contains(&n) {
        return;
    }
    // Called without the lock: a tool may register and unregister.
    let mut list = with(|t| if t.enabled[n as usize] { t.events[n as usize].clone() } else { Vec::new() });
    if is_end(n) {
        list.reverse();
    }
    for r in list.iter().filter(|r| r.enabled) {
        (r.callback)(info, event, api);
    }
}

impl Event<'_> {
    /// An event of a construct on the device in use.
    pub fn of(construct: Construct, queue: i32) -> Self {
        let (device_type, device_number) = super::in_use();
        let (api, launched) = (api::NONE, None);
        Self { device_type, device_number, construct, implicit: false, queue, api, launched }
    }

    /// Runs `body` between the two events. What a tool leaves at the first in `tool_info`, it finds at the
    /// second; what is known only then is filled in by `body`.
    pub fn around<R>(&mut self, (start, end): (i32, i32), body: impl FnOnce(&mut Self) -> R) -> R {
        let tool = self.tell(start, null_mut());
        let r = body(self);
        self.tell(end, tool);
        r
    }

    /// For a plugin; `None` if nobody listens.
    pub(crate) fn heard(&self) -> Option<Heard> {
        anybody_listens().then(|| Heard { info: self.info(0), api: self.api() })
    }

    fn info(&self, event: i32) -> Info {
        let queue = self.queue as isize;
        Info {
            event_type: event,
            valid_bytes: size_of::<Info>() as i32,
            version: 201_711,
            device_type: self.device_type,
            device_number: self.device_number,
            thread_id: -1,
            queue,
            queue_number: queue,
            src_file: null_mut(),
            func_name: null_mut(),
            lines: [-1; 4],
        }
    }

    fn api(&self) -> ApiInfo {
        ApiInfo {
            device_api: self.api,
            valid_bytes: size_of::<ApiInfo>() as i32,
            device_type: self.device_type,
            vendor: -1,
            handles: [null_mut(); 3],
        }
    }

    fn tell(&self, event: i32, tool_info: *mut c_void) -> *mut c_void {
        if !anybody_listens() {
            return tool_info;
        }
        let (valid_bytes, room) = match self.launched {
            Some(Launched { name, dims: [gangs, workers, length] }) => {
                (size_of::<EventInfo>() as i32, [name.as_ptr() as usize, gangs, workers, length])
            }
            None => (OTHER_EVENT_BYTES, [0; 4]),
        };
        let (construct, implicit) = (self.construct as i32, i32::from(self.implicit));
        let mut told = EventInfo { event_type: event, valid_bytes, construct, implicit, tool_info, room };
        dispatch(&mut self.info(event), &mut told, &mut self.api());
        told.tool_info
    }
}

/// ACC_PROFLIB: libraries, separated by semicolons, whose `acc_register_library` is called at start
/// with `routines`: acc_prof_register, acc_prof_unregister, acc_prof_lookup.
pub(crate) fn load_libraries(routines: [usize; 3]) {
    type Register = extern "C" fn(usize, usize, usize);
    let Some(list) = super::variable("ACC_PROFLIB") else { return };
    for path in list.split(';').filter(|p| !p.is_empty()) {
        let Ok(path) = std::ffi::CString::new(path) else { continue };
        // SAFETY: a library that the user named, and the function that section 5.2 says it has.
        unsafe {
            let handle = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
            let f = if handle.is_null() {
                null_mut()
            } else {
                libc::dlsym(handle, c"acc_register_library".as_ptr())
            };
            if f.is_null() {
                let why = core::ffi::CStr::from_ptr(libc::dlerror()).to_string_lossy();
                crate::complain!("while loading ACC_PROFLIB \"{}\": {why}", path.to_string_lossy());
                continue;
            }
            let f: Register = core::mem::transmute(f);
            let [register, unregister, lookup] = routines;
            f(register, unregister, lookup);
        }
    }
}
