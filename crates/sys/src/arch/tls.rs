//! The thread-local words of the runtime. The one that matters is the calling logical thread's: a pointer to
//! what the runtime knows of the logical thread (`team/thread.rs`), or, before its first call, to [`NOBODY`].
//! Here only its first [`asm::STUBS_KNOW`] bytes are known.
//!
//! It is an initial-exec TLS symbol (one load through the GOT, no `__tls_get_addr`) defined in assembly, and
//! lies in the application's TLS block: it belongs to the logical thread, so a new host that takes over the
//! thread pointer finds the same value.

use crate::asm;
use core::arch;
use core::cell::UnsafeCell;
use core::ptr::NonNull;

arch::global_asm!(
    ".pushsection .tdata.promp_self,\"awT\",@progbits",
    ".globl promp_self",
    ".hidden promp_self",
    ".type promp_self,@object",
    ".size promp_self,8",
    ".balign 8",
    "promp_self:",
    ".quad {nobody}",
    ".popsection",
    nobody = sym NOBODY,
);

// Two words of each thread's in which ckpt/interpose/exec.rs notes its mask; zeros at first.
arch::global_asm!(
    ".pushsection .tbss.promp_mask,\"awT\",@nobits",
    ".globl promp_mask",
    ".hidden promp_mask",
    ".type promp_mask,@object",
    ".size promp_mask,16",
    ".balign 8",
    "promp_mask:",
    ".zero 16",
    ".popsection",
);

/// Where the calling thread's note of its mask is.
pub fn mask_note() -> *mut [u64; 2] {
    let p: *mut [u64; 2];
    // SAFETY: computes the address of the words defined above.
    unsafe {
        arch::asm!("mov {0}, qword ptr [rip + promp_mask@GOTTPOFF]", "add {0}, qword ptr fs:[0]", out(reg) p,
             options(pure, readonly, nostack));
    }
    p
}

/// What stubs note of a thread that the runtime does not know, they note here, where nobody looks, and what
/// they look at is 0: no call is light. So they need not ask whether it is known.
static NOBODY: Nobody = Nobody(UnsafeCell::new([0; asm::STUBS_KNOW]));

#[repr(C, align(64))]
struct Nobody(UnsafeCell<[u8; asm::STUBS_KNOW]>);

// SAFETY: written to by stubs only, in assembly, and never read but for what is never written to.
unsafe impl Sync for Nobody {}

/// What the runtime knows of the calling logical thread; None if it has not called the runtime yet.
#[inline(always)]
pub fn logical_thread() -> Option<NonNull<()>> {
    let p: *mut ();
    // SAFETY: reads the TLS word defined above: the address of `NOBODY`, or what `set_logical_thread` was
    // given.
    unsafe {
        arch::asm!("mov {0}, qword ptr [rip + promp_self@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]", out(reg)
             p, options(pure, readonly, nostack, preserves_flags)); // So that nobody asks again.
        core::hint::assert_unchecked(!p.is_null());
        if p.cast_const().cast() == &raw const NOBODY { None } else { Some(NonNull::new_unchecked(p)) }
    }
}

/// Where, from the thread pointer on, the address of what is known of the calling thread is, or of `NOBODY`:
/// the same in all threads. Code built by promp-cc looks there whether the word at [`asm::BASE`] is 0
/// (plugin/src/segments/sites.cc): then it need not ask.
pub fn place() -> usize {
    const { assert!(asm::BASE == promp_layouts::THREAD_BASE && asm::BASE < asm::STUBS_KNOW) };
    let p: usize;
    // SAFETY: reads a word of the global offset table.
    unsafe {
        arch::asm!("mov {0}, qword ptr [rip + promp_self@GOTTPOFF]", out(reg) p,
             options(pure, readonly, nostack, preserves_flags));
    }
    p
}

/// The frame of the call by which the calling thread became known: the stub noted it where nobody looks, and
/// where another thread may have noted its own since. So it is taken only if it lies on the caller's stack,
/// not far up; 0 if not.
pub fn first_frame() -> usize {
    const NEAR: usize = 64 << 10;
    let sp = stack_pointer();
    // SAFETY: reads a word that stubs write in one piece.
    let frame = unsafe { (NOBODY.0.get() as *const u8).add(asm::FRAME).cast::<usize>().read_volatile() };
    if (sp..sp + NEAR).contains(&frame) { frame } else { 0 }
}

/// The stack pointer of the function that this is inlined into.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: reads the stack pointer.
    unsafe { arch::asm!("mov {0}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// Sets what the runtime knows of the calling logical thread: at least [`asm::STUBS_KNOW`] bytes that stubs
/// write to and that are never freed.
pub fn set_logical_thread(who: Option<NonNull<()>>) {
    let p: *const () = who.map_or((&raw const NOBODY).cast(), |p| p.as_ptr().cast_const());
    // SAFETY: writes the TLS word defined above.
    unsafe {
        arch::asm!("mov {0}, qword ptr [rip + promp_self@GOTTPOFF]", "mov qword ptr fs:[{0}], {1}", out(reg)
             _, in(reg) p, options(nostack, preserves_flags));
    }
}

/// The host whose thread pointer is to be `tp` is no thread that the runtime knows.
///
/// # Safety
/// `tp` has room for all threads' static data below it, and nobody uses it yet.
pub unsafe fn set_unknown(tp: usize) {
    // SAFETY: the word's place in it, by the caller's promise.
    unsafe { *(tp.wrapping_add(place()) as *mut usize) = (&raw const NOBODY).expose_provenance() };
}

/// The thread pointer (FS base): glibc keeps its own address in the first word of the thread control block.
#[inline(always)]
pub fn thread_pointer() -> usize {
    let p: usize;
    // SAFETY: the x86-64 TLS ABI stores the thread pointer at fs:0.
    unsafe {
        arch::asm!("mov {0}, qword ptr fs:[0]", out(reg) p, options(pure, readonly, nostack, preserves_flags))
    };
    p
}
