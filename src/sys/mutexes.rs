//! Mutexes that note who holds them (recursive ones, and those that check for errors) note the kernel's thread id. A logical thread that goes on
//! on another host has another id: it could neither take such a mutex again nor give it back, and all others would wait for ever.
//!
//! So from the first change of a host on, the program's calls of libc's functions for mutexes lead here (`tables.rs`): a mutex whose owner is an id
//! that the caller has had before gets its present one. The dynamic loader's own locks are another matter (`loader.rs`).

use super::door::Door;
use super::tables::{self, Instead, c_name};
use super::{host, maps, syscall, tls};
use core::arch::naked_asm;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};

/// Former ids that are remembered; the oldest are forgotten.
const IDS: usize = 512;

/// Thread pointers and ids that they have had. In memory that goes back with the program's, like what mutexes note. An entry's id is written last
/// and read first: of one that is being replaced either nothing is read or all.
static IDS_BEFORE: [(AtomicUsize, AtomicU32); IDS] =
    [const { (AtomicUsize::new(0), AtomicU32::new(0)) }; IDS];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Do the program's calls lead here?
static FOLLOWED: AtomicBool = AtomicBool::new(false);

/// The thread with this thread pointer had the id `before`.
pub fn note(thread_pointer: usize, before: u32) {
    let (tp, id) = &IDS_BEFORE[COUNT.fetch_add(1, Relaxed) % IDS];
    id.store(0, Relaxed);
    tp.store(thread_pointer, Release);
    id.store(before, Release);
}

fn had(thread_pointer: usize, id: u32) -> bool {
    let n = COUNT.load(Relaxed).min(IDS);
    IDS_BEFORE[..n].iter().any(|(tp, i)| i.load(Acquire) == id && tp.load(Acquire) == thread_pointer)
}

/// The words of a `pthread_mutex_t` (x86-64 ABI of glibc; fixed, since programs contain such objects).
#[repr(C)]
pub struct Mutex {
    lock: AtomicU32,
    count: AtomicU32,
    owner: AtomicU32,
    users: AtomicU32,
    kind: AtomicU32,
}

/// Recursive, or checking for errors; of neither of the kinds (robust, with priorities) whose owner the kernel knows, too.
const KIND: u32 = 0x7f;
const NOTING: [u32; 2] = [1, 2];

/// Before a call on `m`: if its owner is the calling thread by a former id, it is by its present one.
///
/// # Safety
/// `m` is a mutex.
unsafe extern "C" fn settle(m: *const Mutex) {
    // SAFETY: by the caller's promise.
    let m = unsafe { &*m };
    if !NOTING.contains(&(m.kind.load(Relaxed) & KIND)) {
        return;
    }
    let (owner, id) = (m.owner.load(Relaxed), host::id_for_libc());
    if owner == 0 || owner == id || !had(tls::thread_pointer(), owner) {
        return;
    }
    // Another thread of the process may have got the id since; but not that of the first host, which parks when it has failed.
    if owner == syscall::getpid() || !syscall::tgkill(owner, 0) {
        m.owner.store(id, Relaxed);
    }
}

/// Defines the functions that are called instead: by the register in which the mutex comes. They jump on, so that who waits in libc's and is cancelled
/// finds nothing of ours on its stack.
macro_rules! mutex_calls {
    ($($name:ident $version:expr, $register:literal;)*) => {
        const NAMES: &[(&CStr, Option<&CStr>)] = &[$((c_name(concat!(stringify!($name), "\0")), $version)),*];
        static REAL: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];
        mod settled {
            use super::*;
            #[allow(non_camel_case_types)]
            enum Number { $($name),* }
            $(
                #[unsafe(naked)]
                pub unsafe extern "C" fn $name() {
                    naked_asm!(
                        "push rdi", "push rsi", "push rdx", "push rcx", "sub rsp, 8",
                        concat!("mov rdi, ", $register),
                        "call {settle}",
                        "add rsp, 8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                        "mov rax, qword ptr [rip + {real} + {at}]",
                        "jmp rax",
                        settle = sym settle,
                        real = sym REAL,
                        at = const Number::$name as usize * size_of::<usize>(),
                    )
                }
            )*
        }
        fn all() -> Vec<Instead> {
            let addresses = [$(settled::$name as *const () as usize),*];
            let one = |i: usize| {
                let (name, version) = NAMES[i];
                Instead { name, version, real: &REAL[i], address: addresses[i] }
            };
            (0..NAMES.len()).map(one).collect()
        }
    };
}

mutex_calls! {
    pthread_mutex_lock None, "rdi";
    pthread_mutex_trylock None, "rdi";
    pthread_mutex_timedlock None, "rdi";
    pthread_mutex_clocklock None, "rdi";
    pthread_mutex_unlock None, "rdi";
    pthread_cond_wait Some(c"GLIBC_2.3.2"), "rsi";
    pthread_cond_timedwait Some(c"GLIBC_2.3.2"), "rsi";
    pthread_cond_clockwait None, "rsi";
}

/// Finds libc's functions: when the runtime is initialised.
pub fn learn() {
    all().iter().for_each(Instead::learn);
}

/// What objects that are loaded from now on are to call; nothing while no host has changed.
pub fn instead() -> Vec<Instead> {
    if FOLLOWED.load(Acquire) { all() } else { Vec::new() }
}

/// A thread goes on on another host: from now on the program's calls lead here.
pub fn follow() {
    if !FOLLOWED.swap(true, AcqRel) {
        let (maps, door, list) = (maps::all(), Door::open(), all());
        for object in tables::objects(&maps) {
            tables::lead(&maps, object, &list, &door);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recursive_mutex_of_a_former_id() {
        host::learn_libc_layout();
        let (tp, id) = (tls::thread_pointer(), host::id_for_libc());
        assert_eq!(id, syscall::gettid());
        // No thread has this id: the kernel gives none so large.
        const FORMER: u32 = 0x3fff_fff0;
        let mutex = |kind, owner| Mutex {
            lock: AtomicU32::new(1),
            count: AtomicU32::new(1),
            owner: AtomicU32::new(owner),
            users: AtomicU32::new(1),
            kind: AtomicU32::new(kind),
        };
        note(tp, FORMER);
        note(tp + 1, FORMER + 1);
        // Kind, owner, owner afterwards.
        for (kind, owner, then) in [
            (1, FORMER, id),
            (2, FORMER, id),
            (0, FORMER, FORMER),
            (1 | 32, FORMER, FORMER),
            (1, FORMER + 1, FORMER + 1),
            (1, 0, 0),
        ] {
            let m = mutex(kind, owner);
            // SAFETY: a mutex.
            unsafe { settle(&m) };
            assert_eq!(m.owner.load(Relaxed), then, "kind {kind}, owner {owner:x}");
        }
    }
}
