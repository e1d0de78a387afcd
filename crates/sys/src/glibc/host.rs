//! Hosts: the operating-system threads under logical threads.
//!
//! A spare host is made with raw `clone`: libc does not know it. It starts on a stack of ours and may use
//! only raw system calls and the arena until it has *adopted* a logical thread: taken its thread pointer,
//! told the kernel libc's per-thread registrations (tid word, robust list, rseq area), its signal mask and
//! alternate stack. From then on libc cannot tell it from the host it replaces.
//!
//! A host that has failed *vanishes*: it gives those registrations back and exits; the process's first
//! host, whose exit would turn the process into a zombie leader, parks instead with all signals blocked. It
//! never runs application code again.

use crate::door::Door;
use crate::sys;
use crate::syscall::{self, getpid, gettid};
use crate::{futex, libc_locks, mutexes, sanitizer, signals};
use core::arch::naked_asm;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

const CLONE_FLAGS: i32 = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_SETTLS;
const RSEQ_SIG: u32 = 0x5305_3053;
const RSEQ_UNREGISTER: u32 = 1;
/// Bytes of a spare host's bootstrap stack, later its alternate signal stack.
pub const STACK_BYTES: usize = 256 * 1024;

/// Offset of the cached kernel tid in libc's thread descriptor, found once by [`learn_libc_layout`]; 0 if
/// unknown.
static TID_OFFSET: AtomicUsize = AtomicUsize::new(0);
/// Offset of the rseq area from the thread pointer (as a signed number) and its registered length; length 0
/// if none.
static RSEQ_OFFSET: AtomicUsize = AtomicUsize::new(0);
static RSEQ_LEN: AtomicUsize = AtomicUsize::new(0);

/// Finds where libc keeps what belongs to the kernel's thread: call once, on an ordinary thread.
pub fn learn_libc_layout() {
    libc_locks::learn();
    mutexes::learn();
    sanitizer::learn();
    learn_ids();
    // SAFETY: looks up two data symbols that glibc 2.35 and later exports.
    unsafe {
        let off = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        if !off.is_null() && !size.is_null() && *size != 0 {
            RSEQ_OFFSET.store(*off as usize, Relaxed);
            RSEQ_LEN.store((*size).max(32) as usize, Relaxed);
        }
    }
}

/// The part of it that is needed to see that a thread has ended.
pub fn learn_ids() {
    let tp = crate::tls::thread_pointer();
    let tid = gettid();
    // The tid is a 4-byte word in the first kilobytes of `struct pthread`; its place has been 0x2d0 for
    // many years, and the kernel's robust-list head (registered by libc, `&pd->robust_head`) lies right
    // behind it.
    let mut head = 0usize;
    let mut len = 0usize;
    // SAFETY: the kernel writes the two words.
    let known = unsafe { sys!(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut len) } == 0 && head > tp;
    let last = if known && head - tp < 4096 { head - tp } else { 0x2d0 + 4 };
    let mut off = 0x200;
    while off < last {
        // SAFETY: within libc's thread descriptor, which extends beyond its own robust list head.
        if unsafe { *((tp + off) as *const u32) } == tid {
            TID_OFFSET.store(off, Relaxed);
            break;
        }
        off += 4;
    }
}

/// The calling thread's id as libc knows it; 0 where libc's layout is not known.
pub fn id_for_libc() -> u32 {
    // SAFETY: the caller's.
    unsafe { id_of(crate::tls::thread_pointer()) }.unwrap_or(0)
}

/// The word in which libc has the id of the thread with this thread pointer, and which the kernel clears when
/// its host ends.
///
/// # Safety
/// It is the thread pointer of a thread that libc has made, and the word is used as long as that is there.
pub unsafe fn id_word(thread_pointer: usize) -> Option<&'static AtomicU32> {
    let off = TID_OFFSET.load(Relaxed);
    // SAFETY: by the caller's promise.
    (off != 0).then(|| unsafe { &*((thread_pointer + off) as *const AtomicU32) })
}

/// The id that libc has for the thread with this thread pointer: its last host's. `None` where libc's
/// layout is not known.
///
/// # Safety
/// It is the thread pointer of a thread that libc has made.
pub unsafe fn id_of(thread_pointer: usize) -> Option<u32> {
    let off = TID_OFFSET.load(Relaxed);
    // SAFETY: by the caller's promise: the word of libc's thread descriptor.
    (off != 0).then(|| unsafe { *((thread_pointer + off) as *const u32) })
}

/// The thread with this thread pointer goes on on host `id`: libc has that id from now on, and so have locks
/// that note who holds them.
///
/// # Safety
/// It is the thread pointer of a thread that libc has made, which nobody carries yet but this host.
pub unsafe fn is_carried_by(thread_pointer: usize, id: u32) {
    let off = TID_OFFSET.load(Relaxed);
    if off == 0 {
        return;
    }
    // SAFETY: by the caller's promise: the word of libc's thread descriptor.
    let word = unsafe { &*((thread_pointer + off) as *const AtomicU32) };
    let before = word.load(Relaxed);
    if before != id {
        libc_locks::owner_has_moved(before, id);
        mutexes::note(thread_pointer, before);
        // Others send signals by it.
        word.store(id, Release);
    }
}

/// [`id_of`] for a thread that may be gone, with its descriptor.
pub fn id_if_there(thread_pointer: usize) -> Option<u32> {
    let off = TID_OFFSET.load(Relaxed);
    let mut word = [0; 4];
    let there = off != 0 && Door::open().read(thread_pointer + off, &mut word);
    there.then(|| u32::from_le_bytes(word)).filter(|id| *id != 0)
}

/// Ids are given out in ascending order, so those that lie this far ahead are soon given to new threads.
const SOON: u32 = 4096;

/// Has the system give away ids that it would soon give to new threads, until none of `former` is among the
/// next ones.
pub fn use_up(former: &[u32]) {
    unsafe extern "C" fn end(_: usize) -> ! {
        // SAFETY: ends the host, which has done nothing.
        unsafe { sys!(libc::SYS_exit, 0) };
        unreachable!()
    }
    let Some(stack) = new_kept_stack() else { return };
    loop {
        // SAFETY: an unused stack (the host before has ended); the entry does nothing.
        let Some(id) = (unsafe { spawn(stack, end, 0) }) else { return };
        while syscall::tgkill(id, 0) {
            syscall::sched_yield();
        }
        if !former.iter().any(|f| (id..id.saturating_add(SOON)).contains(f)) {
            return;
        }
    }
}

/// The rseq area that libc registers for the thread with this thread pointer.
fn rseq_area(thread_pointer: usize) -> usize {
    thread_pointer.wrapping_add(RSEQ_OFFSET.load(Relaxed))
}

/// Has the kernel watch the calling host's rseq area, where libc has it. Nothing if it does already.
pub fn register_rseq() {
    let len = RSEQ_LEN.load(Relaxed);
    if len != 0 {
        // SAFETY: the area belongs to the calling host's thread, for which libc had registered it.
        unsafe { sys!(libc::SYS_rseq, rseq_area(crate::tls::thread_pointer()), len, 0, RSEQ_SIG) };
    }
}

/// The kernel's note of the calling host's thread pointer. What it points to may be gone.
fn noted_thread_pointer() -> usize {
    const ARCH_GET_FS: usize = 0x1003;
    let mut p = 0usize;
    // SAFETY: the kernel writes the word.
    unsafe { sys!(libc::SYS_arch_prctl, ARCH_GET_FS, &raw mut p) };
    p
}

/// Has the kernel leave the calling host's rseq area alone: it writes to a registered one whenever the host
/// goes on after another has had its CPU. Returns whether it was registered. A critical section that the
/// host is in has been aborted if the caller is a signal handler.
pub fn unregister_rseq() -> bool {
    let len = RSEQ_LEN.load(Relaxed);
    // SAFETY: fails unless it is what libc has registered.
    len != 0
        && unsafe { sys!(libc::SYS_rseq, rseq_area(noted_thread_pointer()), len, RSEQ_UNREGISTER, RSEQ_SIG) }
            == 0
}

/// What a new host must take over from the one it replaces.
#[derive(Clone, Copy)]
pub struct Identity {
    /// Thread pointer (FS base).
    pub thread_pointer: usize,
    /// Head of libc's robust list, 0 if none.
    pub robust_head: usize,
    /// Signal mask to go on with.
    pub sigmask: u64,
    /// Alternate signal stack, its length 0 if there is none.
    pub alt_stack: (usize, usize),
}

impl Identity {
    /// The calling host's identity, with `sigmask` as the signal mask to go on with.
    pub fn of_caller(sigmask: u64) -> Self {
        let (mut head, mut len) = (0usize, 0usize);
        // SAFETY: the kernel writes the two words.
        unsafe { sys!(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut len) };
        let alt_stack = signals::alt_stack();
        Self { thread_pointer: crate::tls::thread_pointer(), robust_head: head, sigmask, alt_stack }
    }

    /// Has libc made the calling host, so that its registrations are where libc's are?
    pub fn is_libcs(&self) -> bool {
        let off = TID_OFFSET.load(Relaxed);
        // SAFETY: behind the thread pointer lies libc's thread descriptor, or whatever the thread has that
        // was made in another way: the caller has read thread-local memory in front of it, and the word is
        // in the same page or the next.
        off != 0 && unsafe { *((self.thread_pointer + off) as *const u32) } == gettid()
    }

    /// Makes the calling spare host the carrier of this identity; `alt_stack` becomes its alternate signal
    /// stack if the
    /// thread had none.
    /// Signals stay blocked. Returns the new kernel tid.
    pub fn adopt(&self, alt_stack: *mut u8) -> u32 {
        self.register();
        match self.alt_stack {
            (_, 0) => signals::set_alt_stack(alt_stack, STACK_BYTES / 2),
            (at, len) => signals::set_alt_stack(at as *mut u8, len),
        }
        gettid()
    }

    /// Takes the thread pointer and tells the kernel libc's registrations of that thread. Those that the
    /// calling host has already are made again without effect.
    pub fn register(&self) {
        let tid = gettid();
        if noted_thread_pointer() != self.thread_pointer {
            unregister_rseq(); // of the thread that this host leaves
            const ARCH_SET_FS: usize = 0x1002;
            // SAFETY: the thread pointer of a thread that only this host carries from now on.
            unsafe { sys!(libc::SYS_arch_prctl, ARCH_SET_FS, self.thread_pointer) };
        }
        // SAFETY: the descriptor belongs to the logical thread whose only host is now the caller; the
        // kernel calls re-register what libc had registered for it, with the same addresses.
        unsafe {
            let off = TID_OFFSET.load(Relaxed);
            is_carried_by(self.thread_pointer, tid);
            if off != 0 {
                sys!(libc::SYS_set_tid_address, self.thread_pointer + off);
            }
            if self.robust_head != 0 {
                sys!(libc::SYS_set_robust_list, self.robust_head, 24);
            }
        }
        register_rseq();
    }
}

/// Starts a host on `stack` (its lowest address, [`STACK_BYTES`] long) that runs `entry(arg)` with the
/// caller's thread pointer and all of the caller's blocked signals. `entry` must not return.
///
/// # Safety
/// `stack` is unused memory of that length; `entry` keeps to what a spare host may do.
pub unsafe fn spawn(stack: *mut u8, entry: unsafe extern "C" fn(usize) -> !, arg: usize) -> Option<u32> {
    // SAFETY: by the caller's promise.
    unsafe { spawn_with(stack, crate::tls::thread_pointer(), entry, arg) }
}

/// Like [`spawn`], with a thread pointer of its own.
///
/// # Safety
/// As for [`spawn`]; `thread_pointer` is a thread control block that is good for what `entry` does.
pub unsafe fn spawn_with(
    stack: *mut u8,
    thread_pointer: usize,
    entry: unsafe extern "C" fn(usize) -> !,
    arg: usize,
) -> Option<u32> {
    #[unsafe(naked)]
    unsafe extern "C" fn raw_clone(
        _flags: usize,
        _sp: usize,
        _tls: usize,
        _entry: usize,
        _arg: usize,
    ) -> isize {
        naked_asm!(
            ".cfi_startproc",
            "mov r9, rcx", // entry
            "mov r10, r8", // arg (kept in r12 below for the child)
            "push r12",
            ".cfi_adjust_cfa_offset 8",
            ".cfi_offset 12, -16",
            "push r13",
            ".cfi_adjust_cfa_offset 8",
            ".cfi_offset 13, -24",
            ".cfi_remember_state",
            "mov r12, r9",
            "mov r13, r10",
            "mov r8, rdx", // tls
            "xor edx, edx",
            "xor r10d, r10d",
            "mov eax, 56",
            "syscall",
            "test rax, rax",
            "jnz 2f",
            // The beginning of the host's stack.
            ".cfi_undefined 16",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "ud2",
            "2:",
            ".cfi_restore_state",
            ".cfi_def_cfa_offset 24",
            "pop r13",
            ".cfi_adjust_cfa_offset -8",
            ".cfi_restore 13",
            "pop r12",
            ".cfi_adjust_cfa_offset -8",
            ".cfi_restore 12",
            "ret",
            ".cfi_endproc",
        )
    }
    let top = (stack as usize + STACK_BYTES) & !15;
    // SAFETY: the child starts on its own stack; by the caller's promise `entry` behaves.
    let r = unsafe { raw_clone(CLONE_FLAGS as usize, top, thread_pointer, entry as usize, arg) };
    (r > 0).then_some(r as u32)
}

/// Ends the calling host for good. All signals must be blocked. `gone` becomes 0 (and is woken) when the
/// host no longer touches any memory: its stacks may then be used by another.
pub fn vanish(gone: &AtomicU32) -> ! {
    // An empty robust list for the kernel to walk: the logical thread's own one goes on elsewhere.
    static EMPTY: [usize; 3] = [0; 3];
    unregister_rseq(); // `adopt` registers it elsewhere
    // SAFETY: the list head points to itself (set up below).
    unsafe {
        // An all-zero head has a null first entry, which the kernel reads as a bad pointer and leaves alone.
        sys!(libc::SYS_set_robust_list, EMPTY.as_ptr(), 24);
        let park = gettid() == getpid();
        sys!(libc::SYS_set_tid_address, if park { core::ptr::null() } else { gone as *const AtomicU32 });
        if park {
            crate::follow::note_stay();
            park_for_good(gone)
        } else {
            exit_for_good()
        }
    }
}

/// The end of a host. Its stack is the logical thread's, which goes on elsewhere: nothing is read or
/// written there, and for a debugger it has none.
#[unsafe(naked)]
unsafe extern "C" fn exit_for_good() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined 16",
        "xor edi, edi",
        "mov eax, 60", // exit
        "syscall",
        "ud2",
        ".cfi_endproc",
    )
}

/// The same for the process's first host, which must not exit.
#[unsafe(naked)]
unsafe extern "C" fn park_for_good(_gone: *const AtomicU32) -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined 16",
        "mov dword ptr [rdi], 0",
        "mov esi, 129", // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
        "mov edx, 0x7fffffff",
        "mov eax, 202",
        "syscall",
        "jmp {stay}",
        ".cfi_endproc",
        stay = sym crate::follow::stay,
    )
}

/// Waits until a host that [`vanish`]es with `gone` has done so. The kernel's wake on exit is not a private
/// one.
pub fn wait_gone(gone: &AtomicU32) {
    let mut spins = 0u32;
    while gone.load(Acquire) != 0 {
        spins += 1;
        if spins < 200 {
            core::hint::spin_loop();
        } else {
            futex::wait_until(gone, 1, crate::time::now_ns() + 100_000);
        }
    }
}

/// A fresh stack for a spare host; `None` when memory is exhausted.
pub fn new_stack() -> Option<*mut u8> {
    syscall::map_anonymous(STACK_BYTES)
}

/// A fresh stack for a host of the runtime's own, which goes on through rollbacks.
pub fn new_kept_stack() -> Option<*mut u8> {
    if crate::preserved_memory::on() { crate::preserved_memory::pages(STACK_BYTES) } else { new_stack() }
}

const PAGE: usize = 4096;

/// How far below the thread pointer what such a host uses lies: `errno`, and what is ours. Whole pages.
fn thread_local_bytes() -> usize {
    let mine = crate::tls::thread_pointer();
    // SAFETY: asks for an address.
    let errno = unsafe { libc::__errno_location() } as usize;
    let lowest = errno.min(mine.wrapping_add(crate::tls::place()));
    // What else of libc's and ours is near them.
    (mine - lowest).next_multiple_of(PAGE) + PAGE
}

/// A thread control block for a host that is no thread of the program: `errno` and libc's system call
/// wrappers work, nothing else of libc may be used. The stack protector's and the pointer guard's words are
/// the caller's.
///
/// Thread-local data lie below it, the program's first: how far down `errno` is depends on how much the
/// program and the libraries loaded with it have.
pub fn own_thread_pointer() -> Option<usize> {
    const ABOVE: usize = 4 * PAGE;
    let (mine, below) = (crate::tls::thread_pointer(), thread_local_bytes());
    let tp = crate::preserved_memory::pages(below + ABOVE)? as usize + below;
    // SAFETY: fresh zeroed memory; the words of the ABI's thread control block header.
    unsafe {
        for offset in [0usize, 16] {
            *((tp + offset) as *mut usize) = tp;
        }
        for offset in [0x28usize, 0x30] {
            *((tp + offset) as *mut usize) = *((mine + offset) as *const usize);
        }
        crate::tls::set_unknown(tp);
    }
    Some(tp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::arch::{asm, global_asm};

    // A program's own thread-local data, in front of libc's.
    global_asm!(
        ".pushsection .tbss.promp_test_much,\"awT\",@nobits",
        ".balign 8",
        "promp_test_much:",
        ".zero 200000",
        ".popsection"
    );

    #[test]
    fn hosts_of_ours_have_room_for_errno() {
        let much: isize;
        // SAFETY: reads a word of the global offset table.
        unsafe { asm!("mov {0}, qword ptr [rip + promp_test_much@GOTTPOFF]", out(reg) much) };
        assert!(much <= -200_000);
        let mine = crate::tls::thread_pointer();
        // SAFETY: asks for an address.
        let errno = mine - unsafe { libc::__errno_location() } as usize;
        assert!(errno > 200_000 && errno <= thread_local_bytes(), "{errno} {}", thread_local_bytes());
    }
}
