//! Raw system calls. They neither touch `errno` nor any other thread-local state, so that they can be made from
//! signal handlers and from hosts that have not taken a logical thread's identity yet.

use core::arch::asm;

/// Makes system call `nr` with up to six arguments; returns the kernel's value (a negative errno on failure).
///
/// # Safety
/// The caller answers for what the call does: pointers must be valid for the kernel's reads and writes.
#[inline(always)]
pub unsafe fn syscall6(nr: i64, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    let ret: isize;
    // SAFETY: the x86-64 Linux system call convention: rcx and r11 are clobbered, memory may change.
    unsafe {
        asm!("syscall", inlateout("rax") nr as isize => ret, in("rdi") a, in("rsi") b, in("rdx") c,
             in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    ret
}

/// Calls [`syscall6`] with the missing arguments 0.
#[macro_export]
#[doc(hidden)]
macro_rules! sys {
    ($nr:expr) => { $crate::sys!($nr, 0, 0, 0, 0, 0, 0) };
    ($nr:expr, $a:expr) => { $crate::sys!($nr, $a, 0, 0, 0, 0, 0) };
    ($nr:expr, $a:expr, $b:expr) => { $crate::sys!($nr, $a, $b, 0, 0, 0, 0) };
    ($nr:expr, $a:expr, $b:expr, $c:expr) => { $crate::sys!($nr, $a, $b, $c, 0, 0, 0) };
    ($nr:expr, $a:expr, $b:expr, $c:expr, $d:expr) => { $crate::sys!($nr, $a, $b, $c, $d, 0, 0) };
    ($nr:expr, $a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr) => {
        $crate::syscall::syscall6($nr as i64, $a as usize, $b as usize, $c as usize, $d as usize, $e as usize, $f as usize)
    };
}

/// The kernel's id of the calling host.
pub fn gettid() -> u32 {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_gettid) as u32 }
}

/// The parent's process id.
pub fn getppid() -> i32 {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_getppid) as i32 }
}

/// The process id.
pub fn getpid() -> u32 {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_getpid) as u32 }
}

/// Sends `sig` to host `tid` of this process; true if it was delivered.
pub fn tgkill(tid: u32, sig: i32) -> bool {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_tgkill, getpid(), tid, sig) == 0 }
}

/// Sends `sig` with `value` to host `tid` of this process (`si_code` is `SI_QUEUE`); true if it was delivered.
pub fn tgqueue(tid: u32, sig: i32, value: u64) -> bool {
    #[repr(C, align(8))]
    struct Info {
        signo: i32,
        errno: i32,
        code: i32,
        _pad: i32,
        sender: [u32; 2],
        value: u64,
        _rest: [u64; 12],
    }
    let info = Info {
        signo: sig,
        errno: 0,
        code: libc::SI_QUEUE,
        _pad: 0,
        sender: [getpid(), 0],
        value,
        _rest: [0; 12],
    };
    const _: () = assert!(size_of::<Info>() == size_of::<libc::siginfo_t>());
    // SAFETY: the kernel reads a siginfo_t, whose layout this is for SI_QUEUE on 64-bit Linux.
    unsafe { sys!(libc::SYS_rt_tgsigqueueinfo, getpid(), tid, sig, &raw const info) == 0 }
}

/// The CPU that the calling host runs on.
pub fn cpu() -> u32 {
    let mut cpu = 0u32;
    // SAFETY: the kernel writes one word.
    unsafe { sys!(libc::SYS_getcpu, &raw mut cpu) };
    cpu
}

/// CPUs that a host may run on.
#[repr(transparent)]
#[derive(Clone, PartialEq, Eq)]
pub struct CpuSet([u64; CpuSet::WORDS]);

impl CpuSet {
    /// Words of 64 CPUs.
    pub const WORDS: usize = 128;

    /// These.
    pub fn of(cpus: &[u32]) -> Self {
        let mut words = [0; Self::WORDS];
        for &c in cpus {
            if let Some(w) = words.get_mut(c as usize / 64) {
                *w |= 1 << (c % 64);
            }
        }
        Self(words)
    }

    /// Is `cpu` among them?
    pub fn has(&self, cpu: u32) -> bool {
        self.0.get(cpu as usize / 64).is_some_and(|w| w >> (cpu % 64) & 1 == 1)
    }

    /// They, in order.
    pub fn cpus(&self) -> impl Iterator<Item = u32> + Clone {
        // Nearly all words are 0, wherever there are fewer than thousands of CPUs.
        let used = (0u32..).zip(&self.0).filter(|w| *w.1 != 0);
        used.flat_map(|(i, &w)| (0..64).filter(move |b| w >> b & 1 == 1).map(move |b| 64 * i + b))
    }

    /// How many they are.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// Lets host `tid` (0: the caller) run on them only, but for those that have been left.
    pub fn apply(&self, tid: u32) {
        let rest = crate::retired_cpus::without(self);
        let set = &rest.as_ref().unwrap_or(self).0;
        // SAFETY: the kernel reads the given bytes.
        unsafe { sys!(libc::SYS_sched_setaffinity, tid, size_of_val(set), set.as_ptr()) };
    }

    /// Where host `tid` (0: the caller) may run; `None` if there are more CPUs than fit, or no such host.
    pub fn of_host(tid: u32) -> Option<Self> {
        let mut set = Self([0; Self::WORDS]);
        // SAFETY: the kernel fills at most the given bytes.
        let n = unsafe { sys!(libc::SYS_sched_getaffinity, tid, size_of_val(&set.0), set.0.as_mut_ptr()) };
        (n > 0).then_some(set)
    }
}

/// Gives the rest of the time slice away.
pub fn sched_yield() {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_sched_yield) };
}

/// Ends the calling host, which has no libc identity and whose stack is never used again.
pub fn exit() -> ! {
    loop {
        // SAFETY: no pointers; does not return.
        unsafe { sys!(libc::SYS_exit, 0) };
    }
}

/// Ends the whole process at once, without handlers of any kind.
pub fn exit_group(status: i32) -> ! {
    loop {
        // SAFETY: no pointers; does not return.
        unsafe { sys!(libc::SYS_exit_group, status) };
    }
}

/// Maps `len` bytes of zeroed private memory, committed on first touch; `None` when the system has none left.
pub fn map_anonymous(len: usize) -> Option<*mut u8> {
    let (prot, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let p = unsafe { sys!(libc::SYS_mmap, 0, len, prot, flags, usize::MAX, 0) };
    if (-4095..0).contains(&p) { None } else { Some(p as *mut u8) }
}

/// Unmaps what [`map_anonymous`] gave.
///
/// # Safety
/// Nothing may use the range afterwards.
pub unsafe fn unmap(p: *mut u8, len: usize) {
    // SAFETY: by the caller's promise.
    unsafe { sys!(libc::SYS_munmap, p, len) };
}

/// What is behind a descriptor; nothing if it is closed. A system call only.
pub fn stat(fd: i32) -> Option<libc::stat> {
    // SAFETY: zeros are a value of it; the kernel writes it.
    unsafe {
        let mut s: libc::stat = core::mem::zeroed();
        (sys!(libc::SYS_fstat, fd, &raw mut s) == 0).then_some(s)
    }
}

/// The kernel lets go of low descriptor numbers: programs use those, and some close all that they do not know.
pub fn high(fd: isize) -> i32 {
    if fd < 0 {
        return -1;
    }
    // SAFETY: plain calls on a descriptor of ours.
    unsafe {
        let r = sys!(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, 700);
        if r >= 0 {
            sys!(libc::SYS_close, fd);
            return r as i32;
        }
    }
    fd as i32
}

/// Writes all of `bytes` to a file, from `offset` on; the error is the system's.
pub fn write_all(fd: i32, mut bytes: &[u8], mut offset: u64) -> Result<(), isize> {
    while !bytes.is_empty() {
        // SAFETY: the slice is readable.
        let n = unsafe { sys!(libc::SYS_pwrite64, fd, bytes.as_ptr(), bytes.len(), offset) };
        if n <= 0 {
            return Err(if n == 0 { -(libc::ENOSPC as isize) } else { n });
        }
        bytes = &bytes[n as usize..];
        offset += n as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_of_a_set_are_those_that_it_has() {
        let list = [0, 1, 63, 64, 130, 64 * CpuSet::WORDS as u32 - 1];
        let set = CpuSet::of(&list);
        assert_eq!(set.cpus().collect::<Vec<_>>(), list);
        assert!(list.iter().all(|&c| set.has(c)) && !set.has(2) && !set.has(u32::MAX));
        assert_eq!(CpuSet::of(&[]).cpus().next(), None);
    }
}
