//! The runtime by the handle of its file. A program's own libgomp is loaded beside this library, and whoever
//! looks the runtime up among the loaded files finds it: `dlopen("libgomp.so.1")`, threadpoolctl, ctypes. The
//! functions that they get by its handle would be a second runtime's, whose settings this one does not know.
//!
//! So `dlsym` and `dlvsym` are this library's. Asked for a name of an OpenMP runtime they answer with
//! this library's function where libc's would have answered with one of another GCC runtime, in the same
//! namespace. A name that the other has and this one lacks is not found, as in an older runtime. All
//! else is libc's: the stubs jump on, so that libc sees who has called.
//!
//! Where another runtime comes first in the loader's order it answers everybody, by handles, too.

// Unit tests go by libc's own functions.
#![cfg_attr(test, allow(dead_code))]

use crate::dynamic::{Dynamic, Wanted};
use crate::runtimes::{self, OF_WHOLE, first, wanted};
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// What a stub does: jump on to `to` (libc's function), or return it if `answered` is not 0.
#[repr(C)]
struct Answer {
    to: usize,
    answered: usize,
}

/// A function of libc's that this library has one of the same name for, or that of whoever stands before it.
pub struct Next {
    name: &'static CStr,
    /// 0: not looked for yet. It is found again by whoever reads 0, with the same result.
    at: AtomicUsize,
}

impl Next {
    /// The one of this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, at: AtomicUsize::new(0) }
    }

    /// Its address: that of the next one in the loader's order.
    pub fn address(&self) -> usize {
        let known = self.at.load(Relaxed);
        if known != 0 {
            return known;
        }
        let address = behind_this(wanted(self.name));
        // Each libc has them: without, nothing of the program could have been loaded.
        let Some(address) = address else { crate::syscall::exit_group(70) };
        self.at.store(address, Relaxed);
        address
    }
}

static DLSYM: Next = Next::new(c"dlsym");
static DLVSYM: Next = Next::new(c"dlvsym");

/// The next object after the caller's.
const NEXT: usize = usize::MAX;

/// The names that begin so are runtimes'.
const BEGINNINGS: [&[u8]; 4] = [b"omp_", b"GOMP_", b"acc_", b"GOACC_"];

#[cfg(not(test))]
mod stubs {
    use crate::cfi::{pop, push};
    use core::arch::naked_asm;
    /// Defines a stub that asks `$answer`, with the caller's return address as fourth argument.
    macro_rules! by_handle {
        ($name:ident, $answer:path) => {
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                naked_asm!(
                    ".cfi_startproc",
                    push!("rdi" "rsi" "rdx"),
                    "mov rcx, qword ptr [rsp + 24]",
                    "call {answer}",
                    "test rdx, rdx",
                    pop!("rdx" "rsi" "rdi"),
                    "jnz 2f",
                    "jmp rax",
                    "2: ret",
                    ".cfi_endproc",
                    answer = sym $answer,
                )
            }
        };
    }
    by_handle!(dlsym, super::of_default_version);
    by_handle!(dlvsym, super::of_version);
}

/// For dlsym(3).
///
/// # Safety
/// The arguments are what libc's function expects.
unsafe extern "C" fn of_default_version(
    handle: usize,
    name: *const c_char,
    _: usize,
    caller: usize,
) -> Answer {
    let real = DLSYM.address();
    // SAFETY: libc's function and its arguments.
    let found = |h| unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(usize, *const c_char) -> *const c_void>(real)(
            h, name,
        )
    };
    // SAFETY: by the caller's promise.
    unsafe { answer(handle, name, None, caller, real, &found) }
}

/// For dlvsym(3).
///
/// # Safety
/// The arguments are what libc's function expects.
unsafe extern "C" fn of_version(
    handle: usize,
    name: *const c_char,
    version: *const c_char,
    caller: usize,
) -> Answer {
    type Real = unsafe extern "C" fn(usize, *const c_char, *const c_char) -> *const c_void;
    let real = DLVSYM.address();
    // SAFETY: libc's function and its arguments.
    let found = |h| unsafe { core::mem::transmute::<usize, Real>(real)(h, name, version) };
    // SAFETY: by the caller's promise.
    unsafe { answer(handle, name, Some(version), caller, real, &found) }
}

/// # Safety
/// `name` and `version` are C strings.
unsafe fn answer(
    handle: usize,
    name: *const c_char,
    version: Option<*const c_char>,
    caller: usize,
    real: usize,
    found: &dyn Fn(usize) -> *const c_void,
) -> Answer {
    let go_on = Answer { to: real, answered: 0 };
    // SAFETY: by the caller's promise; of a name no more is read than is compared.
    if !BEGINNINGS.iter().any(|b| unsafe { begins(name, b) }) || handle == 0 {
        return go_on; // for everybody's names the loader asks this library first
    }
    // SAFETY: by the caller's promise.
    let asked = unsafe { Wanted { name: CStr::from_ptr(name), version: version.map(|v| CStr::from_ptr(v)) } };
    if handle == NEXT {
        // libc's function must see its caller, so the objects behind that one are asked here.
        let to = behind(caller, asked).and_then(|(other, _)| instead_of(&other, asked));
        return to.map_or(go_on, |to| Answer { to, answered: 1 });
    }
    let there = found(handle) as usize;
    let holder = if there == 0 { None } else { first(|d| d.memory.contains(&there)) };
    let to = holder.and_then(|(other, _)| instead_of(&other, asked)).unwrap_or(there);
    if to == 0 && there != 0 {
        note_that_nobody_has(found);
    }
    Answer { to, answered: 1 }
}

/// This library's function where `other` is another GCC runtime that has it, and is not the one that answers
/// everybody; 0: this library has no such function.
fn instead_of(other: &Dynamic, asked: Wanted) -> Option<usize> {
    let own = first(|d| d.has(wanted(OF_WHOLE)))?.0;
    let ours = own.memory.contains(&(answer as *const () as usize)) && own.memory != other.memory;
    (ours && other.has(wanted(OF_WHOLE))).then(|| own.function(asked).unwrap_or(0))
}

/// The first object behind the one that `caller` lies in that has what is asked for.
fn behind(caller: usize, asked: Wanted) -> runtimes::Found {
    let passed = core::cell::Cell::new(false);
    first(|d| {
        if passed.get() {
            return d.has(asked);
        }
        passed.set(d.memory.contains(&caller));
        false
    })
}

/// Has dlerror(3) say that the runtime has no such name: libc notes it when it is asked by this library's
/// handle.
fn note_that_nobody_has(found: &dyn Fn(usize) -> *const c_void) {
    let Some((_, path)) = first(|d| d.memory.contains(&(answer as *const () as usize))) else { return };
    // SAFETY: opens what is open already; the library is never unloaded.
    let own = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if !own.is_null() {
        found(own as usize);
    }
}

/// Does the string at `name` begin so?
///
/// # Safety
/// It is a C string.
unsafe fn begins(name: *const c_char, with: &[u8]) -> bool {
    // SAFETY: reads no further than to the first difference, which the string's end is.
    !name.is_null() && with.iter().enumerate().all(|(i, b)| unsafe { *name.add(i) } as u8 == *b)
}

/// The loader's list of what it has loaded (`struct r_debug` and `link_map` of link.h): what debuggers read.
#[repr(C)]
struct List {
    version: i32,
    first: *const Map,
}
/// See [`List`].
#[repr(C)]
struct Map {
    base: usize,
    name: *const c_char,
    dynamic: *const c_void,
    next: *const Map,
}

/// The first object behind this library that has what is asked for. Where a sanitizer has put itself before
/// `dl_iterate_phdr`, it looks functions up before it can do that itself: so the list is read in place.
fn behind_this(asked: Wanted) -> Option<usize> {
    unsafe extern "C" {
        static _r_debug: List;
    }
    let mut passed = false;
    // SAFETY: the loader keeps its list whole, for debuggers may look at any time; what stands behind a
    // library that is loaded with the program was, too, and is not unloaded.
    unsafe {
        let mut map = (&raw const _r_debug.first).read_volatile();
        while let Some(m) = map.as_ref() {
            map = m.next;
            // At its base an object has its header; not so a program that cannot be moved.
            let header = m.base as *const libc::Elf64_Ehdr;
            if header.is_null() || !(*header).e_ident.starts_with(b"\x7fELF") {
                continue;
            }
            let mut info: libc::dl_phdr_info = core::mem::zeroed();
            info.dlpi_addr = m.base as u64;
            info.dlpi_phdr = (m.base + (*header).e_phoff as usize) as *const _;
            info.dlpi_phnum = (*header).e_phnum;
            let Some(d) = Dynamic::of(&info) else { continue };
            if passed && d.has(asked) {
                return d.function(asked);
            }
            passed |= d.memory.contains(&(answer as *const () as usize));
        }
    }
    None
}
