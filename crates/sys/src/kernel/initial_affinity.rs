//! The CPUs that the process may use, as it was started: the initial thread's affinity mask before anybody's constructor ran. Later is too late:
//! libgomp, which programs linked with it load even if this library is preloaded, has a constructor that binds the initial thread
//! to its first place if OMP_PROC_BIND or OMP_PLACES ask for it, and it runs before ours.
//!
//! The dynamic loader calls the resolver of an indirect function (`STT_GNU_IFUNC`) while it relocates this library, which is before
//! all constructors. Ours makes the system call, and returns an address that nobody calls. It must not refer to other libraries,
//! which may not be relocated yet.

use crate::syscall::CpuSet;
use core::arch::global_asm;

/// What `sched_getaffinity` has written, and how many bytes (a negative errno on failure). Written before anything else of this
/// library runs.
#[repr(C)]
struct AtLoad {
    mask: CpuSet,
    bytes: isize,
}

global_asm!(
    ".pushsection .bss.promp_at_load,\"aw\",@nobits",
    ".balign 8",
    ".hidden promp_at_load",
    ".globl promp_at_load",
    "promp_at_load:",
    ".skip {size}",
    ".popsection",
    ".pushsection .text.promp_resolver,\"ax\",@progbits",
    ".type promp_resolver, @gnu_indirect_function",
    ".hidden promp_resolver",
    ".globl promp_resolver",
    "promp_resolver:",
    "mov eax, {getaffinity}",
    "xor edi, edi",
    "mov esi, {bytes}",
    "lea rdx, [rip + promp_at_load]",
    "syscall",
    "mov qword ptr [rip + promp_at_load + {bytes}], rax",
    "lea rax, [rip + promp_at_load]",
    "ret",
    ".popsection",
    size = const size_of::<AtLoad>(),
    bytes = const size_of::<CpuSet>(),
    getaffinity = const libc::SYS_sched_getaffinity,
);

unsafe extern "C" {
    static mut promp_at_load: AtLoad;
    fn promp_resolver();
}

/// What makes the loader call the resolver.
#[used]
static RELOCATED: unsafe extern "C" fn() = promp_resolver;

/// See the module's text; `None` if there are more CPUs than [`CpuSet`] holds.
pub fn at_load() -> Option<&'static CpuSet> {
    // SAFETY: written by the resolver, before all other code of this library, and by `renew`.
    let at_load = unsafe { (&raw const promp_at_load).as_ref() }?;
    (at_load.bytes > 0).then_some(&at_load.mask)
}

/// This process, which has the memory of another one now, was started with `set`: what the other one was
/// started with does not count here.
///
/// # Safety
/// No other thread uses this library.
pub unsafe fn renew(set: Option<CpuSet>) {
    let before = at_load().cloned();
    let Some(now) = set else { return };
    if let Some(before) = before {
        crate::retired_cpus::goes_on(&before, &now);
    }
    // SAFETY: by the caller's promise nobody reads it meanwhile.
    unsafe { (&raw mut promp_at_load).write(AtLoad { mask: now, bytes: size_of::<CpuSet>() as isize }) };
}

/// Lets the calling host, one of the runtime's own, run on all of them: its creator may have been bound.
pub fn use_all() {
    if let Some(set) = at_load() {
        set.apply(0);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_this_thread_s_where_nobody_binds() {
        let now: Vec<u32> = crate::syscall::CpuSet::of_host(0).expect("fits").cpus().collect();
        assert_eq!(super::at_load().expect("fits").cpus().collect::<Vec<_>>(), now);
    }
}
