//! The one thread-local word of the runtime: a pointer to the calling logical thread's [`Thread`].
//!
//! It is an initial-exec TLS symbol (one load through the GOT, no `__tls_get_addr`) defined in assembly, and lies in
//! the application's TLS block: it belongs to the logical thread, so a new host that takes over the thread pointer
//! finds the same value.

use crate::team::thread::Thread;
use core::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss.promp_self,\"awT\",@nobits",
    ".globl promp_self",
    ".hidden promp_self",
    ".type promp_self,@object",
    ".size promp_self,8",
    ".balign 8",
    "promp_self:",
    ".zero 8",
    ".popsection",
);

/// The calling logical thread, or null if it has not called the runtime yet.
#[inline(always)]
pub fn get() -> *const Thread {
    let p: *const Thread;
    // SAFETY: reads the TLS word defined above.
    unsafe {
        asm!("mov {0}, qword ptr [rip + promp_self@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]", out(reg) p,
             options(pure, readonly, nostack, preserves_flags));
    }
    p
}

/// Sets the calling thread's identity.
pub fn set(p: *const Thread) {
    // SAFETY: writes the TLS word defined above.
    unsafe {
        asm!("mov {0}, qword ptr [rip + promp_self@GOTTPOFF]", "mov qword ptr fs:[{0}], {1}", out(reg) _, in(reg) p,
             options(nostack, preserves_flags));
    }
}

/// The thread pointer (FS base): glibc keeps its own address in the first word of the thread control block.
#[inline(always)]
pub fn thread_pointer() -> usize {
    let p: usize;
    // SAFETY: the x86-64 TLS ABI stores the thread pointer at fs:0.
    unsafe {
        asm!("mov {0}, qword ptr fs:[0]", out(reg) p, options(pure, readonly, nostack, preserves_flags))
    };
    p
}
