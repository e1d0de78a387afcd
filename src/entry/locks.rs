//! `omp_*_lock` and `omp_*_nest_lock`, in both versions and for Fortran.
//!
//! A simple lock is a 32-bit word in all of them. A nestable lock since OMP_3.0 is {word, count, owner task}, 16 bytes; Fortran's
//! variable holds a pointer to one. In OMP_1.0 it is {word, count} owned by a thread: 8 bytes, and Fortran's holds it itself.

use super::light;
use crate::icv::globals_if_ready;
use crate::observe;
use crate::observe::event::{Event, Mutex, Set};
use crate::save::{self, SaveKind};
use crate::stub;
use crate::sys::lock::Lock;
use crate::team::hold::{guarded, hold_off};
use crate::team::thread::{self, Thread, current};
use crate::tools::ompt;
use crate::work::locks::address;
use crate::work::locks::{acquire, release, try_acquire};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

fn done(thr: &'static Thread, r: usize) {
    save::point(thr, SaveKind::After(r));
}

/// # Safety
/// `p` is the program's lock variable.
unsafe fn simple(p: *mut u32) -> &'static Lock {
    // SAFETY: `Lock` is one 32-bit word; the program keeps the variable while it is used.
    unsafe { &*p.cast::<Lock>() }
}

/// A lock is made or comes to its end, which concerns no thread: nobody is made one for it, unless a tool may
/// want to hear of it.
fn tell_of(event: Event) {
    if globals_if_ready().is_none() && ompt::is_likely() {
        current();
    }
    if observe::wants(Set::LOCKS)
        && let Some(thr) = thread::known()
    {
        hold_off(thr, || thr.tell(event));
    }
}

extern "C" fn init(p: *mut u32) {
    // SAFETY: the program's variable.
    unsafe { simple(p) }.reset();
    tell_of(Event::LockInit { mutex: Mutex::Lock, at: p.addr() });
}

extern "C" fn destroy(p: *mut u32) {
    tell_of(Event::LockDestroy { mutex: Mutex::Lock, at: p.addr() });
}

extern "C" fn nest_destroy(p: *mut u32) {
    tell_of(Event::LockDestroy { mutex: Mutex::Nest, at: p.addr() });
}

pub(super) extern "C" fn set(p: *mut u32) {
    let thr = current();
    // SAFETY: the program's variable.
    acquire(thr, unsafe { simple(p) }, Mutex::Lock);
    done(thr, 0);
}

/// A named critical section, whose lock is in a variable of the compiler's.
pub(super) extern "C" fn enter_critical(p: *mut u32) {
    let thr = current();
    // SAFETY: the compiler's variable.
    acquire(thr, unsafe { simple(p) }, Mutex::Critical);
    done(thr, 0);
}

/// Its end.
pub(super) extern "C" fn leave_critical(p: *mut u32) {
    let thr = current();
    // SAFETY: the compiler's variable.
    release(thr, unsafe { simple(p) }, Mutex::Critical);
    done(thr, 0);
}

pub(super) extern "C" fn unset(p: *mut u32) {
    let thr = current();
    // SAFETY: the program's variable.
    release(thr, unsafe { simple(p) }, Mutex::Lock);
    done(thr, 0);
}

/// The rest of `unset` where the lock is free again and somebody may sleep for it.
pub(super) extern "C" fn wake_for(p: *mut u32) {
    let thr = current();
    // SAFETY: the program's variable.
    unsafe { simple(p) }.wake();
    thr.hold(-1);
    done(thr, 0);
}

extern "C" fn test(p: *mut u32) -> i32 {
    let thr = current();
    // SAFETY: the program's variable.
    let r = i32::from(try_acquire(thr, unsafe { simple(p) }, Mutex::Lock));
    done(thr, r as usize);
    r
}

/// A nestable lock of OMP_3.0.
#[repr(C)]
pub(crate) struct Nest {
    lock: Lock,
    count: AtomicU32,
    owner: AtomicUsize,
}

impl Nest {
    /// Where the count lies, for light.rs; the lock comes first.
    pub(crate) const COUNT: usize = core::mem::offset_of!(Nest, count);
    /// Where the owner lies.
    pub(crate) const OWNER: usize = core::mem::offset_of!(Nest, owner);

    fn init(&self) {
        self.lock.reset();
        self.count.store(0, Relaxed);
        self.owner.store(0, Relaxed);
    }
    /// Takes it once more if `me` owns it: the new count.
    fn again(&self, thr: &'static Thread, me: usize, test: bool) -> Option<u32> {
        // Only the owner itself can find its own identity here.
        if self.owner.load(Relaxed) != me {
            return None;
        }
        let n = self.count.fetch_add(1, Relaxed) + 1;
        thr.tell(Event::LockNest { at: address(self), more: true, test });
        Some(n)
    }
    fn first(&self, me: usize) -> u32 {
        self.owner.store(me, Relaxed);
        self.count.store(1, Relaxed);
        1
    }
    fn set(&self, thr: &'static Thread, me: usize) {
        if self.again(thr, me, false).is_none() {
            acquire(thr, &self.lock, Mutex::Nest);
            self.first(me);
        }
    }
    fn unset(&self, thr: &'static Thread) {
        if self.count.fetch_sub(1, Relaxed) == 1 {
            self.owner.store(0, Relaxed);
            release(thr, &self.lock, Mutex::Nest);
        } else {
            thr.tell(Event::LockNest { at: address(self), more: false, test: false });
        }
    }
    fn test(&self, thr: &'static Thread, me: usize) -> i32 {
        if let Some(n) = self.again(thr, me, true) {
            return n as i32;
        }
        if try_acquire(thr, &self.lock, Mutex::Nest) { self.first(me) as i32 } else { 0 }
    }
}

fn owner(thr: &'static Thread) -> usize {
    core::ptr::from_ref(thr.task()) as usize
}

/// # Safety
/// `p` is the program's nestable lock.
unsafe fn nest(p: *mut u32) -> &'static Nest {
    // SAFETY: 16 bytes, by the ABI.
    unsafe { &*p.cast::<Nest>() }
}

extern "C" fn nest_init(p: *mut u32) {
    // SAFETY: the program's variable.
    unsafe { nest(p) }.init();
    tell_of(Event::LockInit { mutex: Mutex::Nest, at: p.addr() });
}

pub(super) extern "C" fn nest_set(p: *mut u32) {
    let thr = current();
    // SAFETY: the program's variable.
    unsafe { nest(p) }.set(thr, owner(thr));
    done(thr, 0);
}

pub(super) extern "C" fn nest_unset(p: *mut u32) {
    let thr = current();
    // SAFETY: the program's variable.
    unsafe { nest(p) }.unset(thr);
    done(thr, 0);
}

extern "C" fn nest_test(p: *mut u32) -> i32 {
    let thr = current();
    // SAFETY: the program's variable.
    let r = unsafe { nest(p) }.test(thr, owner(thr));
    done(thr, r as usize);
    r
}

// Fortran: the variable holds a pointer to the lock.

extern "C" fn nest_init_f(p: *mut *mut Nest) {
    let n = guarded(|| {
        Box::new(Nest { lock: Lock::new(), count: AtomicU32::new(0), owner: AtomicUsize::new(0) })
    });
    tell_of(Event::LockInit { mutex: Mutex::Nest, at: address(&*n) });
    // SAFETY: the program's variable.
    unsafe { *p = Box::into_raw(n) };
}

extern "C" fn nest_destroy_f(p: *mut *mut Nest) {
    // SAFETY: set by `nest_init_f`; the program is done with it.
    unsafe {
        if !(*p).is_null() {
            tell_of(Event::LockDestroy { mutex: Mutex::Nest, at: (*p).addr() });
            guarded(|| drop(Box::from_raw(*p)));
            *p = core::ptr::null_mut();
        }
    }
}

extern "C" fn nest_set_f(p: *mut *mut u32) {
    // SAFETY: set by `nest_init_f`.
    nest_set(unsafe { *p });
}

extern "C" fn nest_unset_f(p: *mut *mut u32) {
    // SAFETY: set by `nest_init_f`.
    nest_unset(unsafe { *p });
}

extern "C" fn nest_test_f(p: *mut *mut u32) -> i32 {
    // SAFETY: set by `nest_init_f`.
    nest_test(unsafe { *p })
}

/// A nestable lock of OMP_1.0: {owner thread, count}; the owner's word is a hash of its identity, never 0.
#[repr(C)]
struct Nest25 {
    owner: AtomicU32,
    count: AtomicU32,
}

impl Nest25 {
    fn try_take(&self, me: u32) -> u32 {
        if self.owner.load(Relaxed) == me || self.owner.compare_exchange(0, me, Acquire, Relaxed).is_ok() {
            return self.count.fetch_add(1, Relaxed) + 1;
        }
        0
    }
}

/// # Safety
/// `p` is the program's OMP_1.0 nestable lock.
unsafe fn nest25(p: *mut u32) -> &'static Nest25 {
    // SAFETY: 8 bytes, by the ABI.
    unsafe { &*p.cast::<Nest25>() }
}

/// Identifies a logical thread in 32 bits: objects of `Thread` are at least 128 bytes apart.
fn short_id(thr: &'static Thread) -> u32 {
    (core::ptr::from_ref(thr) as usize >> 7) as u32 | 1 << 31
}

extern "C" fn nest25_init(p: *mut u32) {
    // SAFETY: the program's variable.
    let n = unsafe { nest25(p) };
    n.owner.store(0, Relaxed);
    n.count.store(0, Relaxed);
    tell_of(Event::LockInit { mutex: Mutex::Nest, at: p.addr() });
}

/// A nestable lock was taken, for the time `count` of its owner's.
fn tell_taken(thr: &'static Thread, at: usize, count: u32, test: bool) {
    thr.tell(if count == 1 {
        Event::LockGot { mutex: Mutex::Nest, at }
    } else {
        Event::LockNest { at, more: true, test }
    });
}

extern "C" fn nest25_set(p: *mut u32) {
    let thr = current();
    // SAFETY: the program's variable.
    let n = unsafe { nest25(p) };
    let (at, mut spins) = (address(n), 0u32);
    if n.owner.load(Relaxed) != short_id(thr) {
        thr.tell(Event::LockWait { mutex: Mutex::Nest, at, test: false });
    }
    let count = loop {
        let count = n.try_take(short_id(thr));
        if count != 0 {
            break count;
        }
        spins += 1;
        if spins > 1000 { crate::sys::syscall::sched_yield() } else { core::hint::spin_loop() }
    };
    thr.hold(1);
    tell_taken(thr, at, count, false);
    done(thr, 0);
}

extern "C" fn nest25_unset(p: *mut u32) {
    let thr = current();
    // SAFETY: the program's variable.
    let n = unsafe { nest25(p) };
    let last = n.count.fetch_sub(1, Relaxed) == 1;
    if last {
        n.owner.store(0, Release);
    }
    thr.hold(-1);
    let at = address(n);
    thr.tell(if last {
        Event::LockGive { mutex: Mutex::Nest, at }
    } else {
        Event::LockNest { at, more: false, test: false }
    });
    done(thr, 0);
}

extern "C" fn nest25_test(p: *mut u32) -> i32 {
    let thr = current();
    // SAFETY: the program's variable.
    let n = unsafe { nest25(p) };
    if n.owner.load(Relaxed) != short_id(thr) {
        thr.tell(Event::LockWait { mutex: Mutex::Nest, at: address(n), test: true });
    }
    let r = n.try_take(short_id(thr));
    if r > 0 {
        thr.hold(1);
        tell_taken(thr, address(n), r, true);
    }
    done(thr, r as usize);
    r as i32
}

stub! {
    omp_test_lock => test;
    omp_test_lock_ => test;
    omp_test_nest_lock => nest_test;
    omp_set_nest_lock_ => nest_set_f;
    omp_unset_nest_lock_ => nest_unset_f;
    omp_test_nest_lock_ => nest_test_f;
    promp_nest25_set => nest25_set;
    promp_nest25_unset => nest25_unset;
    promp_nest25_test => nest25_test;
}

// Making and destroying locks concerns no thread: these need no stub.
macro_rules! plain {
    ($($name:ident($t:ty) => $inner:ident;)*) => {$(
        /// See the module's text.
        ///
        /// # Safety
        /// The argument is the program's lock variable.
        pub(crate) unsafe extern "C" fn $name(p: *mut $t) {
            $inner(p)
        }
        crate::export_names!($name);
    )*};
}

plain! {
    omp_init_lock(u32) => init;
    omp_init_lock_(u32) => init;
    omp_destroy_lock(u32) => destroy;
    omp_destroy_lock_(u32) => destroy;
    omp_init_nest_lock(u32) => nest_init;
    omp_destroy_nest_lock(u32) => nest_destroy;
    omp_init_nest_lock_(*mut Nest) => nest_init_f;
    omp_destroy_nest_lock_(*mut Nest) => nest_destroy_f;
    promp_nest25_init(u32) => nest25_init;
}

// The OMP_1.0 versions. Simple locks are the same words as today; nestable ones are smaller.
macro_rules! old_versions {
    ($($alias:ident = $name:literal => $target:path;)*) => {$(
        #[doc = concat!("`", $name, "@OMP_1.0`.")]
        ///
        /// # Safety
        /// The argument is the program's lock variable.
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $alias() {
            core::arch::naked_asm!(
                crate::exported_label!($alias),
                concat!(".symver ", stringify!($alias), ", ", $name, "@OMP_1.0"),
                ".cfi_startproc",
                "jmp {t}",
                ".cfi_endproc",
                t = sym $target,
            )
        }
        crate::keep!($alias);
    )*};
}

old_versions! {
    promp_old_init_lock = "omp_init_lock" => omp_init_lock;
    promp_old_init_lock_f = "omp_init_lock_" => omp_init_lock;
    promp_old_destroy_lock = "omp_destroy_lock" => omp_destroy_lock;
    promp_old_destroy_lock_f = "omp_destroy_lock_" => omp_destroy_lock;
    promp_old_set_lock = "omp_set_lock" => light::omp_set_lock;
    promp_old_set_lock_f = "omp_set_lock_" => light::omp_set_lock;
    promp_old_unset_lock = "omp_unset_lock" => light::omp_unset_lock;
    promp_old_unset_lock_f = "omp_unset_lock_" => light::omp_unset_lock;
    promp_old_test_lock = "omp_test_lock" => omp_test_lock;
    promp_old_test_lock_f = "omp_test_lock_" => omp_test_lock;
    promp_old_init_nest_lock = "omp_init_nest_lock" => promp_nest25_init;
    promp_old_init_nest_lock_f = "omp_init_nest_lock_" => promp_nest25_init;
    promp_old_destroy_nest_lock = "omp_destroy_nest_lock" => omp_destroy_nest_lock;
    promp_old_destroy_nest_lock_f = "omp_destroy_nest_lock_" => omp_destroy_nest_lock;
    promp_old_set_nest_lock = "omp_set_nest_lock" => promp_nest25_set;
    promp_old_set_nest_lock_f = "omp_set_nest_lock_" => promp_nest25_set;
    promp_old_unset_nest_lock = "omp_unset_nest_lock" => promp_nest25_unset;
    promp_old_unset_nest_lock_f = "omp_unset_nest_lock_" => promp_nest25_unset;
    promp_old_test_nest_lock = "omp_test_nest_lock" => promp_nest25_test;
    promp_old_test_nest_lock_f = "omp_test_nest_lock_" => promp_nest25_test;
}
