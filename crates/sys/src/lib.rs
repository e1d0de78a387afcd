//! Everything bound to the platform (x86-64 Linux, glibc): system calls, futexes, the arena allocator,
//! thread-local identity, context capture, hosts, signals. No word of OpenMP. Together with the exported
//! entries this is where `unsafe` lives; the layers above work with `&'static` references to arena objects
//! that are never unmapped.

#![deny(unsafe_op_in_unsafe_fn)]

#[macro_use]
pub mod out;
pub mod arch;
pub mod env;
pub mod environment_reader;
pub mod glibc;
pub mod kernel;
pub mod memory;
pub mod random;

pub use arch::{asm, attempt, cache, cfi, code, fp_control, jumps, midway, stack_copy, tls, unwind};
pub use glibc::{
    dynamic, got, handles, host, libc_locks, lock_owners, mutexes, objects, runtimes, sanitizer, second,
    thread_count_queries,
};
pub use kernel::{
    anew, blocking_call, cpu_limit, cpu_time, death_watch, descriptors, door, fcntl_locks, follow, futex,
    initial_affinity, limits, maps, membarrier, pagemap, pending_signals, reach, retired_cpus, rights,
    scheduling, signals, silence, stat, syscall, time, timers, uffd, vdso,
};
pub use memory::{arena, claim, guards, lock, own, preserved_memory, ranges, shared_text, sync};

/// What a negative system call result means. Not by libc's `strerror`, which needs a thread of libc's own.
pub fn why(result: isize) -> std::io::ErrorKind {
    std::io::Error::from_raw_os_error(-result as i32).kind()
}
