//! GCC's device plugins, unchanged: `libgomp-plugin-nvptx.so.1` and `-gcn`, found as libgomp finds them. A
//! plugin exports GOMP_OFFLOAD_*; what it needs of the runtime (GOMP_PLUGIN_*) is in entry/goacc.rs.

use super::backend::{Addr, Backend, Failed, Image, Launch, Properties, Queue};
use super::cuda;
use super::signature::{self, Signature};
use crate::acc::profiling_interface::Heard;
use crate::say;
use crate::sys::lock::Locked;
use crate::sys::syscall::gettid;
use core::ffi::{CStr, c_void};
use std::collections::BTreeMap;
use std::ffi::CString;

/// The version of the interface that this runtime knows (GOMP_VERSION).
const VERSION: u32 = 1;
const NVIDIA: i32 = 5;
const CAP_OPENMP: u32 = 1 << 2;
const CAP_OPENACC: u32 = 1 << 3;

type Queues = usize;

/// Declares the functions of the interface and finds them.
macro_rules! functions {
    ($($(#[$need:ident])? $name:ident($($arg:ty),*) $(-> $r:ty)?;)*) => {
        #[derive(Clone, Copy)]
        #[allow(clippy::type_complexity)]
        struct Functions { $($name: Option<unsafe extern "C" fn($($arg),*) $(-> $r)?>,)* }
        impl Functions {
            /// The first that is needed and not there is the error.
            fn find(handle: *mut c_void) -> Result<Self, String> {
                Ok(Self { $($name: {
                    let name = concat!("GOMP_OFFLOAD_", stringify!($name), "\0");
                    // SAFETY: a handle from dlopen; the function has this type by the interface.
                    let p = unsafe { libc::dlsym(handle, name.as_ptr().cast()) };
                    let needed = [$(stringify!($need))?].contains(&"needed");
                    if p.is_null() && needed {
                        return Err(format!("it has no {}", name.trim_end_matches('\0')));
                    }
                    // SAFETY: as above.
                    (!p.is_null()).then(|| unsafe {
                        core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) $(-> $r)?>(p)
                    })
                },)* })
            }
        }
    };
}

functions! {
    #[needed] version() -> u32;
    #[needed] get_caps() -> u32;
    #[needed] get_type() -> i32;
    #[needed] get_num_devices(u32) -> i32;
    #[needed] init_device(i32) -> bool;
    #[needed] fini_device(i32) -> bool;
    #[needed] load_image(i32, u32, *const c_void, *mut *mut [usize; 2], *mut c_void) -> i32;
    #[needed] unload_image(i32, u32, *const c_void) -> bool;
    #[needed] alloc(i32, usize) -> usize;
    #[needed] free(i32, usize) -> bool;
    #[needed] dev2host(i32, usize, usize, usize) -> bool;
    #[needed] host2dev(i32, usize, usize, usize) -> bool;
    #[needed] dev2dev(i32, usize, usize, usize) -> bool;
    run(i32, usize, usize, *const usize);
    openacc_exec(usize, usize, *const usize, *const usize, *const u32, *mut c_void);
    openacc_async_exec(usize, usize, *const usize, *const usize, *const u32, *mut c_void, Queues);
    openacc_create_thread_data(i32) -> usize;
    openacc_async_construct(i32) -> Queues;
    openacc_async_test(Queues) -> i32;
    openacc_async_synchronize(Queues) -> bool;
    openacc_async_serialize(Queues, Queues) -> bool;
    openacc_async_host2dev(i32, usize, usize, usize, Queues) -> bool;
    openacc_async_dev2host(i32, usize, usize, usize, Queues) -> bool;
    openacc_get_property(i32, i32) -> usize;
    openacc_cuda_get_current_device() -> usize;
    openacc_cuda_get_current_context() -> usize;
    openacc_cuda_get_stream(Queues) -> usize;
}

/// One device of a plugin.
pub(crate) struct Plugin {
    properties: Properties,
    number: i32,
    f: Functions,
    queues: Locked<BTreeMap<i32, Queues>>,
    cache: Locked<Cache>,
    compare: cuda::Compare,
    sign: cuda::Sign,
}

/// Small blocks that are wanted again: the driver's own allocation costs more than an empty region.
#[derive(Default)]
struct Cache {
    /// The sizes of all small blocks that the driver has given, kept ones among them.
    sizes: BTreeMap<Addr, usize>,
    /// Those that are kept, by the logarithm of the size.
    free: [Vec<Addr>; SIZES],
}

const SIZES: usize = CACHED.ilog2() as usize + 1;

/// Larger ones go to the driver.
const CACHED: usize = 64 << 10;
/// So many bytes of a size are kept.
const KEPT: usize = 1 << 20;

/// What the plugin asks for of the calling thread (oacc-int.h's struct goacc_thread, of which it reads
/// three members).
#[repr(C)]
pub(crate) struct AccThread {
    base: usize,
    device: usize,
    bound: usize,
    mapped: usize,
    profile: usize,
    api: usize,
    callbacks: usize,
    next: usize,
    own: usize,
}

/// By kernel thread.
static THREADS: Locked<BTreeMap<u32, usize>> = Locked::new(BTreeMap::new());

/// GOMP_PLUGIN_goacc_thread: the calling thread's; null if it has not run a kernel.
pub fn acc_thread() -> *mut c_void {
    THREADS.with(|t| t.get(&gettid()).copied()).unwrap_or(0) as *mut c_void
}

/// GOMP_PLUGIN_acc_thread: what the plugin keeps for the thread.
pub fn acc_thread_data() -> *mut c_void {
    let p = acc_thread().cast::<AccThread>();
    // SAFETY: null or one of `THREADS`, which are never freed.
    if p.is_null() { core::ptr::null_mut() } else { unsafe { (*p).own as *mut c_void } }
}

/// The devices of a plugin, if it and its driver are there. `asked`: the user has named it, and is told
/// what is missing.
pub(crate) fn devices(name: &'static str, asked: bool) -> Vec<Box<dyn Backend>> {
    let file = format!("libgomp-plugin-{name}.so.1");
    let tell = |why: &str| {
        if asked {
            // The loader begins with the name, too.
            let why = why.strip_prefix(&*file).and_then(|w| w.strip_prefix(": ")).unwrap_or(why);
            say!("PROMP_DEVICES={name}: {file}: {why}; target regions run on the host");
        }
        Vec::new()
    };
    let Ok(path) = CString::new(&*file) else { return Vec::new() };
    // SAFETY: a library that the user has installed for this purpose.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
    if handle.is_null() {
        // SAFETY: after a failure there is a text.
        let why = unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned();
        return tell(&why);
    }
    let f = match Functions::find(handle) {
        Ok(f) => f,
        Err(why) => {
            say!("{file} cannot be used: {why}");
            return Vec::new();
        }
    };
    let (version, count, caps) = f.asked();
    if version != VERSION {
        say!("{file} cannot be used: it has version {version} of the interface, expected {VERSION}");
        return Vec::new();
    }
    if caps & CAP_OPENMP == 0 || count <= 0 {
        return tell("it finds no device (is the driver there?)");
    }
    // SAFETY: the interface.
    let acc_type = f.get_type.map_or(NVIDIA, |f| unsafe { f() });
    let openacc = caps & CAP_OPENACC != 0;
    let properties = Properties { name, acc_type, shared_memory: false, native: false, openacc };
    let one = |number| {
        let (queues, cache, compare, sign) = Default::default();
        Box::new(Plugin { properties, number, f, queues, cache, compare, sign }) as Box<dyn Backend>
    };
    (0..count).map(one).collect()
}

impl Functions {
    fn asked(&self) -> (u32, i32, u32) {
        // SAFETY: the interface; no arguments that could be wrong.
        unsafe {
            match (self.version, self.get_num_devices, self.get_caps) {
                (Some(v), Some(n), Some(c)) => (v(), n(0), c()),
                _ => (0, 0, 0),
            }
        }
    }
}

impl Plugin {
    /// Calls a function of the interface; `None` if the plugin lacks it.
    fn queue(&self, n: i32) -> Option<Queues> {
        self.queues.with(|q| {
            if let Some(&q) = q.get(&n) {
                return Some(q);
            }
            // SAFETY: the interface.
            let new = unsafe { self.f.openacc_async_construct?(self.number) };
            (new != 0).then(|| *q.entry(n).or_insert(new))
        })
    }

    /// Gives the driver back what is kept. False if that was nothing.
    fn let_go(&self) -> bool {
        let kept = self.cache.with(|c| {
            let kept = core::mem::take(&mut c.free);
            for at in kept.iter().flatten() {
                c.sizes.remove(at);
            }
            kept
        });
        let freed = kept.into_iter().flatten().filter(|&at| {
            // SAFETY: the interface; nobody uses the block.
            self.f.free.is_some_and(|f| unsafe { f(self.number, at) })
        });
        freed.count() > 0
    }

    /// The calling thread becomes known to the plugin.
    fn attach_thread(&self) {
        let tid = gettid();
        THREADS.with(|t| {
            t.entry(tid).or_insert_with(|| {
                // SAFETY: the interface.
                let own = self.f.openacc_create_thread_data.map_or(0, |f| unsafe { f(self.number) });
                let new = AccThread {
                    base: 0,
                    device: 0,
                    bound: 0,
                    mapped: 0,
                    profile: 0,
                    api: 0,
                    callbacks: 0,
                    next: 0,
                    own,
                };
                Box::into_raw(Box::new(new)) as usize
            });
        });
    }

    fn all_queues(&self) -> Vec<Queues> {
        self.queues.with(|q| q.values().copied().collect())
    }
}

// SAFETY (all calls below): functions of the plugin with arguments of this device, as the trait's contract
// says.
impl Backend for Plugin {
    fn properties(&self) -> Properties {
        self.properties
    }
    fn open(&self) -> Result<(), String> {
        match self.f.init_device.is_some_and(|f| unsafe { f(self.number) }) {
            true => {
                crate::ckpt::process::device_opens();
                Ok(())
            }
            false => Err("the plugin could not initialise it".into()),
        }
    }
    fn close(&self) {
        if let Some(f) = self.f.fini_device {
            unsafe { f(self.number) };
        }
    }
    fn alloc(&self, bytes: usize) -> Option<Addr> {
        let get = |bytes| self.f.alloc.map(|f| unsafe { f(self.number, bytes) }).filter(|&at| at != 0);
        let insist = |bytes| get(bytes).or_else(|| self.let_go().then(|| get(bytes)).flatten());
        if bytes > CACHED {
            return insist(bytes);
        }
        let size = bytes.next_power_of_two().max(256);
        if let Some(at) = self.cache.with(|c| c.free[size.ilog2() as usize].pop()) {
            return Some(at);
        }
        let at = insist(size)?;
        self.cache.with(|c| c.sizes.insert(at, size));
        Some(at)
    }
    fn free(&self, at: Addr) -> bool {
        let kept = self.cache.with(|c| {
            let size = *c.sizes.get(&at)?;
            let list = &mut c.free[size.ilog2() as usize];
            if list.len() >= KEPT / size {
                c.sizes.remove(&at);
                return None;
            }
            list.push(at);
            Some(())
        });
        kept.is_some() || self.f.free.is_some_and(|f| unsafe { f(self.number, at) })
    }
    fn copy_in(&self, to: Addr, from: usize, bytes: usize, queue: Queue) -> bool {
        match (queue.and_then(|q| self.queue(q)), self.f.openacc_async_host2dev) {
            (Some(q), Some(f)) => unsafe { f(self.number, to, from, bytes, q) },
            _ => self.f.host2dev.is_some_and(|f| unsafe { f(self.number, to, from, bytes) }),
        }
    }
    fn copy_out(&self, to: usize, from: Addr, bytes: usize, queue: Queue) -> bool {
        match (queue.and_then(|q| self.queue(q)), self.f.openacc_async_dev2host) {
            (Some(q), Some(f)) => unsafe { f(self.number, to, from, bytes, q) },
            _ => self.f.dev2host.is_some_and(|f| unsafe { f(self.number, to, from, bytes) }),
        }
    }
    fn copy_within(&self, to: Addr, from: Addr, bytes: usize) -> bool {
        bytes == 0 || self.f.dev2dev.is_some_and(|f| unsafe { f(self.number, to, from, bytes) })
    }
    fn load(&self, image: &Image) -> Result<Vec<(Addr, Addr)>, String> {
        let Some(f) = self.f.load_image else { return Err("the plugin loads none".into()) };
        let mut pairs: *mut [usize; 2] = core::ptr::null_mut();
        let n = unsafe { f(self.number, image.version, image.data, &mut pairs, core::ptr::null_mut()) };
        if n < 0 || (n > 0 && pairs.is_null()) {
            return Err("the plugin could not load it".into());
        }
        // SAFETY: the plugin has allocated `n` pairs with GOMP_PLUGIN_malloc.
        let list = unsafe {
            let v = (0..n as usize).map(|i| (*pairs.add(i)).into()).collect();
            libc::free(pairs.cast());
            v
        };
        Ok(list)
    }
    fn unload(&self, image: &Image) {
        if let Some(f) = self.f.unload_image {
            unsafe { f(self.number, image.version, image.data) };
        }
    }
    fn launch(&self, launch: &Launch, queue: Queue) -> bool {
        let (block, hosts) = (launch.block as *const usize, launch.hosts);
        let Some(dims) = launch.dims else {
            let Some(f) = self.f.run else { return false };
            const NONE: [usize; 1] = [0];
            let args = if launch.args.is_null() { NONE.as_ptr() } else { launch.args };
            unsafe { f(self.number, launch.func, launch.block, args) };
            return true;
        };
        self.attach_thread();
        let null = core::ptr::null_mut();
        match (queue.and_then(|q| self.queue(q)), self.f.openacc_async_exec, self.f.openacc_exec) {
            (Some(q), Some(f), _) => unsafe {
                f(launch.func, launch.count, hosts, block, dims.as_ptr(), null, q)
            },
            (_, _, Some(f)) => unsafe { f(launch.func, launch.count, hosts, block, dims.as_ptr(), null) },
            _ => return false,
        }
        true
    }
    fn idle(&self, queue: Queue) -> bool {
        let list = queue.map_or_else(|| self.all_queues(), |q| self.queue(q).into_iter().collect());
        list.into_iter().all(|q| self.f.openacc_async_test.is_none_or(|f| unsafe { f(q) } != 0))
    }
    fn wait(&self, queue: Queue) -> bool {
        let list = queue.map_or_else(|| self.all_queues(), |q| self.queue(q).into_iter().collect());
        list.into_iter().all(|q| self.f.openacc_async_synchronize.is_none_or(|f| unsafe { f(q) }))
    }
    fn wait_in(&self, queue: i32, other: i32) -> bool {
        match (self.queue(other), self.queue(queue), self.f.openacc_async_serialize) {
            (Some(first), Some(then), Some(f)) => unsafe { f(first, then) },
            _ => self.wait(Some(other)),
        }
    }
    fn number(&self, property: i32) -> usize {
        self.f.openacc_get_property.map_or(0, |f| unsafe { f(self.number, property) })
    }
    fn text(&self, property: i32) -> Option<&'static CStr> {
        let p = self.number(property) as *const core::ffi::c_char;
        // SAFETY: constant texts of the plugin's.
        (!p.is_null()).then(|| unsafe { CStr::from_ptr(p) })
    }
    fn handle(&self, which: i32) -> usize {
        self.attach_thread();
        let f = if which == 0 {
            self.f.openacc_cuda_get_current_device
        } else {
            self.f.openacc_cuda_get_current_context
        };
        f.map_or(0, |f| unsafe { f() })
    }
    fn stream(&self, queue: i32) -> usize {
        match (self.queue(queue), self.f.openacc_cuda_get_stream) {
            (Some(q), Some(f)) => unsafe { f(q) },
            _ => 0,
        }
    }
    fn compare(&self, pairs: &[(Addr, Addr, usize)]) -> Result<Option<(usize, usize)>, Failed> {
        if self.properties.name == "nvptx" && self.compare.is_usable() {
            self.compare.run(self, pairs)
        } else {
            super::backend::compare_on_host(self, pairs)
        }
    }
    fn signs(&self) -> bool {
        self.properties.name == "nvptx" && self.sign.is_usable(self)
    }
    fn sign(&self, pieces: &[(Addr, usize)]) -> Result<Vec<Signature>, Failed> {
        if self.properties.name == "nvptx" {
            self.sign.run(self, pieces)
        } else {
            signature::by_host(self, pieces)
        }
    }
    fn tell_tools(&self, heard: Option<&mut Heard>) {
        self.attach_thread();
        let (profile, api) = heard.map_or((0, 0), |h| (&raw mut h.info as usize, &raw mut h.api as usize));
        let p = acc_thread().cast::<AccThread>();
        // SAFETY: the calling thread's, attached above; nobody else uses it.
        unsafe { ((*p).profile, (*p).api) = (profile, api) };
    }
}
