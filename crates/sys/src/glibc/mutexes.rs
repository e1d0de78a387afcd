//! Mutexes that note who holds them (recursive and robust ones, and those that check for errors) note the kernel's thread id, and so do read-write locks that
//! are held for writing. A logical thread that goes on on another host has another id: it could neither take such a lock again nor give it
//! back, and all others would wait for ever.
//!
//! So from the first change of a host on, the program's calls of libc's functions for these locks lead here
//! (`got.rs`): a lock whose owner is an id that the caller has had before gets its present one. A restart
//! sees to it that no thread gets an id that another one has had ([`ids_before`], `host::use_up`). The locks
//! that libc itself takes are another matter (`libc_locks.rs`).

use crate::cfi::{grow, pop, push, shrink};
use crate::door::Door;
use crate::got::{self, Instead, c_name};
use crate::{host, maps, syscall, tls};
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

/// The runtime's own hosts, which hold none of these locks. In a new process those that help to restore it may have ids that
/// threads of the old one had, since numbers are given out in the same order.
static OWN_HOSTS: [AtomicU32; 16] = [const { AtomicU32::new(0) }; 16];

/// The thread with this thread pointer had the id `before`.
pub fn note(thread_pointer: usize, before: u32) {
    let (tp, id) = &IDS_BEFORE[COUNT.fetch_add(1, Relaxed) % IDS];
    id.store(0, Relaxed);
    tp.store(thread_pointer, Release);
    id.store(before, Release);
}

#[inline(always)]
fn had(thread_pointer: usize, id: u32) -> bool {
    ids_before().any(|before| before == (thread_pointer, id))
}

/// All that are remembered: thread pointers and ids.
#[inline(always)]
pub fn ids_before() -> impl Iterator<Item = (usize, u32)> {
    let n = COUNT.load(Relaxed).min(IDS);
    let noted = IDS_BEFORE[..n].iter().map(|(tp, id)| (id.load(Acquire), tp.load(Acquire)));
    noted.filter(|(id, _)| *id != 0).map(|(id, tp)| (tp, id))
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

/// The words of a `pthread_rwlock_t` that matter here.
#[repr(C)]
pub struct RwLock {
    readers: AtomicU32,
    others: [AtomicU32; 5],
    writer: AtomicU32,
}

/// Of a mutex's kind: what it does when its owner takes it again; what the kernel knows of it.
const KIND: u32 = 3;
const RECURSIVE: u32 = 1;
const CHECKING: u32 = 2;
const ROBUST: u32 = 16;
const BY_PRIORITY: u32 = 32;
/// The owner's id in the first word of a robust mutex.
const ID: u32 = 0x3fff_ffff;

/// The id of the calling thread, if `owner` is one that it has had before.
#[inline(always)]
fn present_id_of(owner: u32) -> Option<u32> {
    let id = host::id_for_libc();
    if owner == 0 || owner == id || !had(tls::thread_pointer(), owner) {
        return None;
    }
    // Another thread of the process may have got the id since; but not that of the first host, which parks when it has failed.
    let nobodys = owner == syscall::getpid() || OWN_HOSTS.iter().any(|own| own.load(Relaxed) == owner);
    (nobodys || !syscall::tgkill(owner, 0)).then_some(id)
}

/// Before a call on `m`: if its owner is the calling thread by a former id, it is by its present one.
///
/// # Safety
/// `m` is a mutex.
#[unsafe(link_section = "promp_locks")]
unsafe extern "C" fn settle(m: *const Mutex) {
    // SAFETY: by the caller's promise.
    let m = unsafe { &*m };
    let kind = m.kind.load(Relaxed);
    let robust = kind & ROBUST != 0;
    if kind & BY_PRIORITY != 0 || !(robust || matches!(kind & KIND, RECURSIVE | CHECKING)) {
        return;
    }
    if let Some(id) = present_id_of(m.owner.load(Relaxed)) {
        m.owner.store(id, Relaxed);
    }
    if robust {
        // Who begins to wait sets a bit beside the id.
        let _ = m.lock.fetch_update(Relaxed, Relaxed, |w| Some(w & !ID | present_id_of(w & ID)?));
    }
}

/// Before a call on `l`: the same.
///
/// # Safety
/// `l` is a read-write lock.
#[unsafe(link_section = "promp_locks")]
unsafe extern "C" fn settle_writer(l: *const RwLock) {
    // SAFETY: by the caller's promise.
    let l = unsafe { &*l };
    if let Some(id) = present_id_of(l.writer.load(Relaxed)) {
        l.writer.store(id, Relaxed);
    }
}

/// Defines the functions that are called instead: by the register in which the lock comes, and what
/// is done to it before. They jump on, so that who waits in libc's and is cancelled
/// finds nothing of ours on its stack.
macro_rules! lock_calls {
    ($($name:ident $version:expr, $register:literal, $settle:ident;)*) => {
        const NAMES: &[(&CStr, Option<&CStr>)] = &[$((c_name(concat!(stringify!($name), "\0")), $version)),*];
        static REAL: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];
        mod settled {
            use super::*;
            #[allow(non_camel_case_types)]
            enum Number { $($name),* }
            $(
                #[unsafe(naked)]
                #[unsafe(link_section = "promp_locks")]
                pub(crate) unsafe extern "C" fn $name() {
                    naked_asm!(
                        ".cfi_startproc",
                        push!("rdi" "rsi" "rdx" "rcx"),
                        grow!(8),
                        concat!("mov rdi, ", $register),
                        "call {settle}",
                        shrink!(8),
                        pop!("rcx" "rdx" "rsi" "rdi"),
                        "mov rax, qword ptr [rip + {real} + {at}]",
                        "jmp rax",
                        ".cfi_endproc",
                        settle = sym $settle,
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

lock_calls! {
    pthread_mutex_lock None, "rdi", settle;
    pthread_mutex_trylock None, "rdi", settle;
    pthread_mutex_timedlock None, "rdi", settle;
    pthread_mutex_clocklock None, "rdi", settle;
    pthread_mutex_unlock None, "rdi", settle;
    pthread_cond_wait Some(c"GLIBC_2.3.2"), "rsi", settle;
    pthread_cond_timedwait Some(c"GLIBC_2.3.2"), "rsi", settle;
    pthread_cond_clockwait None, "rsi", settle;
    mtx_lock None, "rdi", settle;
    mtx_trylock None, "rdi", settle;
    mtx_timedlock None, "rdi", settle;
    mtx_unlock None, "rdi", settle;
    cnd_wait None, "rsi", settle;
    cnd_timedwait None, "rsi", settle;
    pthread_rwlock_rdlock None, "rdi", settle_writer;
    pthread_rwlock_tryrdlock None, "rdi", settle_writer;
    pthread_rwlock_timedrdlock None, "rdi", settle_writer;
    pthread_rwlock_clockrdlock None, "rdi", settle_writer;
    pthread_rwlock_wrlock None, "rdi", settle_writer;
    pthread_rwlock_trywrlock None, "rdi", settle_writer;
    pthread_rwlock_timedwrlock None, "rdi", settle_writer;
    pthread_rwlock_clockwrlock None, "rdi", settle_writer;
    pthread_rwlock_unlock None, "rdi", settle_writer;
}

/// Finds libc's functions: when the runtime is initialised.
pub fn learn() {
    all().iter().for_each(Instead::learn);
}

/// The code that is executed instead: all of what brings a note up to date, and goes on to libc's function,
/// but for what it calls.
pub fn stands_in() -> (usize, usize) {
    unsafe extern "C" {
        #[link_name = "__start_promp_locks"]
        static START: u8;
        #[link_name = "__stop_promp_locks"]
        static STOP: u8;
    }
    // Both are addresses that the linker defines.
    (&raw const START as usize, &raw const STOP as usize)
}

/// Their own addresses; 0: there is no such function.
pub fn functions() -> impl Iterator<Item = usize> {
    REAL.iter().map(|real| real.load(Relaxed))
}

/// What objects that are loaded from now on are to call. While no host has changed: libc's functions, without
/// being led there by the loader at the first call. A thread that is at that in a checkpoint would come to
/// them on another host, too, and have the loader lead later calls past what stands in for them.
pub fn instead() -> Vec<Instead> {
    let mut all = all();
    if !FOLLOWED.load(Acquire) {
        all.iter_mut().for_each(|i| i.address = i.real.load(Relaxed));
    }
    all
}

/// Memory has been put back, and threads go on on other hosts, which are none of the runtime's `own`.
pub fn follow_after_return(own: impl Iterator<Item = u32>) {
    let own = own.chain(core::iter::repeat(0));
    OWN_HOSTS.iter().zip(own).for_each(|(place, id)| place.store(id, Relaxed));
    follow();
}

/// A thread goes on on another host: from now on the program's calls lead here.
pub fn follow() {
    if !FOLLOWED.swap(true, AcqRel) {
        let (maps, door, list) = (maps::all(), Door::open(), all());
        for object in got::objects(&maps) {
            got::lead(&maps, object, &list, &door);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // No thread has these ids: the kernel gives none so large.
    const FORMER: u32 = 0x3fff_fff0;
    const OTHERS: u32 = FORMER + 1;

    /// The calling thread's id, after it has had another.
    fn present_id() -> u32 {
        host::learn_libc_layout();
        note(tls::thread_pointer(), FORMER);
        note(tls::thread_pointer() + 1, OTHERS);
        assert_eq!(host::id_for_libc(), syscall::gettid());
        syscall::gettid()
    }

    #[test]
    fn mutexes_of_a_former_id() {
        let id = present_id();
        let waiters = 1 << 31;
        // Kind, first word and owner; both afterwards.
        for (kind, before, then) in [
            (1, (1, FORMER), (1, id)),
            (2, (1, FORMER), (1, id)),
            (0, (1, FORMER), (1, FORMER)),
            (1 | 32, (FORMER, FORMER), (FORMER, FORMER)),
            (1, (1, OTHERS), (1, OTHERS)),
            (1, (1, 0), (1, 0)),
            (16, (FORMER, FORMER), (id, id)),
            (16 | 1, (waiters | FORMER, FORMER), (waiters | id, id)),
            (16, (OTHERS, OTHERS), (OTHERS, OTHERS)),
            (16, (0, 0), (0, 0)),
        ] {
            let m = Mutex {
                lock: AtomicU32::new(before.0),
                count: AtomicU32::new(1),
                owner: AtomicU32::new(before.1),
                users: AtomicU32::new(1),
                kind: AtomicU32::new(kind),
            };
            // SAFETY: a mutex.
            unsafe { settle(&m) };
            assert_eq!((m.lock.into_inner(), m.owner.into_inner()), then, "kind {kind}, {before:x?}");
        }
    }

    /// A host of the runtime's that has the id now holds no lock by it; another thread may.
    #[test]
    fn former_ids_that_are_had_again() {
        let id = present_id();
        let (ended, may_end) = std::sync::mpsc::channel::<()>();
        let (its_id, got) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            its_id.send(syscall::gettid()).unwrap();
            let _ = may_end.recv();
        });
        let again = got.recv().unwrap();
        note(tls::thread_pointer(), again);
        assert_eq!(present_id_of(again), None, "another thread's");
        OWN_HOSTS[15].store(again, Relaxed);
        assert_eq!(present_id_of(again), Some(id), "nobody's");
        drop(ended);
        thread.join().unwrap();
    }

    #[test]
    fn read_write_locks_of_a_former_id() {
        let id = present_id();
        for (before, then) in [(FORMER, id), (OTHERS, OTHERS), (id, id), (0, 0)] {
            let word = AtomicU32::new;
            let l = RwLock { readers: word(3), others: [0; 5].map(word), writer: word(before) };
            // SAFETY: a read-write lock.
            unsafe { settle_writer(&l) };
            assert_eq!(l.writer.into_inner(), then);
        }
    }
}
