//! Everything bound to the platform (x86-64 Linux, glibc): system calls, futexes, the arena allocator,
//! thread-local identity, context capture, hosts, signals. No word of OpenMP. Together with the exported
//! entries this is where `unsafe` lives; the layers above work with `&'static` references to arena objects
//! that are never unmapped.

#![deny(unsafe_op_in_unsafe_fn)]

#[macro_use]
pub mod out;
pub mod arch;
pub mod env;
pub mod glibc;
pub mod kernel;
pub mod memory;
pub mod random;
pub mod variables;

pub use arch::{asm, attempt, cache, cfi, code, fp_control, jumps, midway, stack_copy, tls, unwind};
pub use glibc::{
    asked, dynamic, handles, held, host, libc_locks, mutexes, objects, runtimes, sanitizer, second, tables,
};
pub use kernel::{
    allowed, anew, cpu_limit, cpu_time, descriptors, door, follow, futex, left, limits, locks, maps,
    membarrier, pagemap, pending, reach, rights, scheduling, signals, silence, stat, syscall, time, timers,
    uffd, vdso, waiting, watch,
};
pub use memory::{arena, claim, guards, keep, lock, own, ranges, sync};

/// What a negative system call result means. Not by libc's `strerror`, which needs a thread of libc's own.
pub fn why(result: isize) -> std::io::ErrorKind {
    std::io::Error::from_raw_os_error(-result as i32).kind()
}
