//! The guard of *separate* (PROMP_DEVICES=separate,guard): outside of regions the device's memory cannot
//! be touched, inside of them not the program's heap. A pointer that was not mapped, or one that was
//! mapped and is used on the wrong side, then fails here as on a device with memory of its own.
//!
//! Shut inside of a region are the heap (`brk`) and the blocks that libc's malloc has mapped by themselves,
//! which it marks in their first words. Stacks and variables of the program stay open: the region runs on
//! them. Libraries that the region calls may need the heap: then it is opened for the rest of the region, and
//! for later ones, which is said. The runtime itself lends it to libc where a team needs new threads
//! (`signals::lent`), and it is shut again: teams, parallel regions and loops inside are looked at like the
//! region's own code.

use crate::icv::globals;
use crate::say;
use crate::sys;
use crate::sys::lock::Lock;
use crate::sys::{maps, signals, syscall};
use crate::team::thread;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*};

/// `si_code` of memory that is there, but may not be used so.
const SEGV_ACCERR: i32 = 2;
const OPEN: i32 = libc::PROT_READ | libc::PROT_WRITE;

type Range = (usize, usize);

/// Device memory: first address and bytes; one entry a device. Written before the memory is first shut.
static DEVICES: [(AtomicUsize, AtomicUsize); MOST] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; MOST];
const MOST: usize = crate::icv::devices::MOST as usize;
/// Held while the protection of the devices or of the heap changes.
static CHANGING: Lock = Lock::new();
/// What is shut of the host, while a region runs: a list in a box. Written by the thread whose region it is.
static SHUT: AtomicPtr<Vec<Range>> = AtomicPtr::new(core::ptr::null_mut());
/// Those who read that list. It is freed when there are none.
static READERS: AtomicUsize = AtomicUsize::new(0);
/// The heap is open until the region ends: a library has needed it, or a thread has failed.
static OPENED: AtomicBool = AtomicBool::new(false);
/// A library has used the heap in a region: what the region got there is the device's own in later ones, too,
/// which are not looked at any more.
static USED: AtomicBool = AtomicBool::new(false);
/// The instruction of a library that needed the heap; 0: none.
static USED_BY: AtomicUsize = AtomicUsize::new(0);
/// Calls under way that the heap is lent to. Changed with `CHANGING` held.
static LENT: AtomicUsize = AtomicUsize::new(0);
/// Regions and copies under way that need the devices' memory open.
static USERS: AtomicUsize = AtomicUsize::new(0);
/// The function of the region that runs, for messages.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

fn protect((from, bytes): Range, how: i32) {
    if bytes > 0 {
        // SAFETY: memory of the device or of the program, whose contents stay as they are.
        unsafe { sys!(libc::SYS_mprotect, from, bytes, how) };
    }
}

/// The device's memory may be touched.
pub(crate) fn open(range: Range) {
    CHANGING.with(|| {
        USERS.fetch_add(1, Relaxed);
        protect(range, OPEN);
    });
}

/// ... and no longer, unless a region runs beside this.
pub(crate) fn shut(range: Range) {
    CHANGING.with(|| {
        let free = |d: &&(AtomicUsize, AtomicUsize)| [0, range.0].contains(&d.0.load(Relaxed));
        if let Some(d) = DEVICES.iter().find(free) {
            d.1.fetch_max(range.1, Relaxed);
            d.0.store(range.0, Relaxed);
        }
        if USERS.fetch_sub(1, Relaxed) == 1 {
            devices().for_each(|d| protect(d, libc::PROT_NONE));
        }
    });
}

fn devices() -> impl Iterator<Item = Range> {
    DEVICES.iter().map(|d| (d.0.load(Relaxed), d.1.load(Relaxed))).take_while(|d| d.0 != 0)
}

/// Runs a region: the device is open, the host's heap is not.
pub(crate) fn region(range: Range, _device: u32, func: usize, run: impl FnOnce()) {
    open(range);
    // One region at a time shuts the heap: others beside it need theirs.
    let first = RUNNING.compare_exchange(0, func, AcqRel, Relaxed).is_ok();
    if first {
        let list = Box::into_raw(Box::new(heap()));
        CHANGING.with(|| {
            let open = USED.load(Relaxed);
            OPENED.store(open, Relaxed);
            SHUT.store(list, SeqCst);
            set_heap(if open { OPEN } else { libc::PROT_NONE });
        });
    }
    run();
    if first {
        let list = CHANGING.with(|| {
            set_heap(OPEN);
            SHUT.swap(core::ptr::null_mut(), SeqCst)
        });
        say_opened(func);
        while READERS.load(SeqCst) > 0 {
            core::hint::spin_loop();
        }
        // SAFETY: made above; nobody looks at it any more.
        drop(unsafe { Box::from_raw(list) });
        RUNNING.store(0, Release);
    }
    shut(range);
}

/// Hands over what is shut of the host. For handlers, too: waits for nobody.
fn with_shut<R>(f: impl FnOnce(&[Range]) -> R) -> R {
    READERS.fetch_add(1, SeqCst);
    // SAFETY: a list that is in its box until there are no readers, or null.
    let r = f(unsafe { SHUT.load(SeqCst).as_ref() }.map_or(&[], Vec::as_slice));
    READERS.fetch_sub(1, SeqCst);
    r
}

/// Says once that not all of a region was looked at.
fn say_opened(func: usize) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let pc = USED_BY.swap(0, Relaxed);
    USED.fetch_or(pc != 0, Relaxed);
    if pc != 0 && globals().promp.verbose >= 1 && !SAID.swap(true, Relaxed) {
        say!(
            "guard: a library's function has used the heap in a target region (instruction {pc:#x}, region \
             {func:#x}); wrong maps behind that are not found: leave malloc, printf and the like out of the \
             region to have all of it looked at"
        );
    }
}

fn set_heap(how: i32) {
    with_shut(|list| list.iter().for_each(|&r| protect(r, how)));
}

/// The heap is lent to a call that begins (`on`), or given back.
extern "C" fn lend(on: bool) {
    CHANGING.with(|| {
        let others = if on { LENT.fetch_add(1, Relaxed) } else { LENT.fetch_sub(1, Relaxed) - 1 };
        if others > 0 || OPENED.load(Relaxed) {
            return;
        }
        set_heap(if on { OPEN } else { libc::PROT_NONE });
        // Opened for good meanwhile, by a handler, which waits for nobody.
        if OPENED.load(SeqCst) {
            set_heap(OPEN);
        }
    });
}

/// The program's heap, in whole pages.
fn heap() -> Vec<Range> {
    let mut out = Vec::new();
    let of_device = |at| devices().any(|(from, bytes)| (from..from + bytes).contains(&at));
    for m in maps::all() {
        if m.path == "[heap]" {
            out.push((m.start, m.end - m.start));
        } else if m.path.is_empty() && m.prot & OPEN == OPEN && !m.shared && !of_device(m.start) {
            blocks(m.start, m.end, &mut out);
        }
    }
    out
}

/// Blocks that malloc has mapped one by one: 0 and the size with bit 1 set at a page's beginning. Others'
/// memory may lie in the same mapping, before and behind them. Pages that nobody has touched are not looked
/// at.
fn blocks(mut at: usize, end: usize, out: &mut Vec<Range>) {
    const PAGE: usize = 4096;
    let mut touched = vec![0u8; (end - at).div_ceil(PAGE)];
    // SAFETY: fills the list, a byte a page.
    if unsafe { sys!(libc::SYS_mincore, at, end - at, touched.as_mut_ptr()) } != 0 {
        return;
    }
    let first = at;
    while at + 16 <= end {
        // SAFETY: the mapping is readable.
        let head = (touched[(at - first) / PAGE] & 1 == 1).then(|| unsafe { *(at as *const [usize; 2]) });
        at += match head {
            Some([0, size]) if size & (PAGE - 1) == 2 && size > PAGE && size - 2 <= end - at => {
                out.push((at, size - 2));
                size - 2
            }
            _ => PAGE,
        };
    }
}

/// Takes over what a touch of shut memory raises.
pub(crate) fn install() {
    signals::unguard_with(open_heap, lend);
    signals::put_first(on_fault);
}

extern "C" fn open_heap() {
    OPENED.store(true, SeqCst);
    set_heap(OPEN);
}

extern "C" fn on_fault(sig: i32, info: *mut libc::siginfo_t, ctx: *mut libc::c_void) {
    // SAFETY: the kernel's description of the fault.
    let (addr, pc, written, forbidden) = unsafe {
        let registers = &(*ctx.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        (
            (*info).si_addr() as usize,
            registers[libc::REG_RIP as usize] as usize,
            registers[libc::REG_ERR as usize] & 2 != 0,
            (*info).si_code == SEGV_ACCERR,
        )
    };
    let within = |&(from, bytes): &Range| (from..from + bytes).contains(&addr);
    let did = if written { "written" } else { "read" };
    if with_shut(|list| list.iter().any(within)) {
        let inside = in_region();
        if !inside || !of_region(pc) {
            USED_BY.store(if inside { pc } else { 0 }, Relaxed);
            open_heap();
            return;
        }
        first_of_all();
        say!(
            "guard: a target region has {did} host memory at {addr:#x}, which it reached by a pointer \
             that is not mapped (instruction {pc:#x}, region {:#x}); stopping",
            RUNNING.load(Relaxed)
        );
        syscall::exit_group(70);
    }
    if devices().any(|d| within(&d)) {
        first_of_all();
        say!(
            "guard: the host has {did} device memory at {addr:#x} outside of a target region \
             (instruction {pc:#x}); stopping"
        );
        syscall::exit_group(70);
    }
    // The region may have ended meanwhile: a second try shows.
    static TRIED: AtomicUsize = AtomicUsize::new(0);
    if forbidden && TRIED.swap(addr, Relaxed) != addr {
        return;
    }
    // Whoever is next may need the heap, and a second fault would not be survived.
    open_heap();
    pass_on(sig, info, ctx);
}

/// Of several threads that find something at once the first one returns, and stops the program.
fn first_of_all() {
    static FOUND: AtomicBool = AtomicBool::new(false);
    while FOUND.swap(true, Relaxed) {
        // SAFETY: waits for a signal.
        unsafe { sys!(libc::SYS_pause) };
    }
}

/// Does the caller execute a region of a device? The host's code beside one may use its heap.
fn in_region() -> bool {
    thread::known().and_then(|t| t.task.get()).is_some_and(|t| t.icvs.get().device != 0)
}

/// Is the instruction one of the program itself or of the library that has the region, not of another one?
fn of_region(pc: usize) -> bool {
    module(pc).is_some_and(|at| at == program() || Some(at) == module(RUNNING.load(Relaxed)))
}

/// First address of the program or library that an address lies in.
fn module(address: usize) -> Option<usize> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: looks up an address; filled if it is found.
    unsafe {
        let found = libc::dladdr(address as *const libc::c_void, info.as_mut_ptr()) != 0;
        found.then(|| info.assume_init().dli_fbase as usize)
    }
}

/// The program's first address.
fn program() -> usize {
    // SAFETY: reads the auxiliary vector: the program's headers lie in its first page.
    unsafe { libc::getauxval(libc::AT_PHDR) as usize & !4095 }
}

fn pass_on(sig: i32, info: *mut libc::siginfo_t, ctx: *mut libc::c_void) {
    let before = signals::behind_first();
    match before.map(|b| (b.sa_sigaction, b.sa_flags)) {
        Some((handler, flags)) if handler != libc::SIG_DFL && handler != libc::SIG_IGN => {
            // SAFETY: what was installed for this signal.
            unsafe {
                if flags & libc::SA_SIGINFO != 0 {
                    let f: signals::Handler = core::mem::transmute(handler);
                    f(sig, info, ctx);
                } else {
                    let f: extern "C" fn(i32) = core::mem::transmute(handler);
                    f(sig);
                }
            }
        }
        // SAFETY: back to the default; the instruction raises it again.
        _ => unsafe {
            libc::signal(sig, libc::SIG_DFL);
        },
    }
}
