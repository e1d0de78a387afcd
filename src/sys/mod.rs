//! Everything bound to the platform (x86-64 Linux, glibc): system calls, futexes, the arena allocator,
//! thread-local identity, context capture, hosts, signals. Together with `entry/` this is where `unsafe`
//! lives; the layers above work with `&'static` references to arena objects that are never unmapped.

pub mod allowed;
pub mod anew;
pub mod arena;
pub mod asked;
pub mod asm;
pub mod attempt;
pub mod cache;
pub mod cfi;
mod cgroup;
pub mod claim;
pub mod code;
pub mod cpu_limit;
pub mod cpu_time;
pub mod door;
pub mod dynamic;
pub mod env;
pub mod follow;
pub mod fp_control;
pub mod futex;
pub mod handles;
pub mod held;
pub mod host;
pub mod jumps;
pub mod keep;
pub mod left;
pub mod libc_locks;
pub mod limits;
pub mod lock;
pub mod locks;
pub mod maps;
pub mod membarrier;
pub mod midway;
pub mod mutexes;
pub mod objects;
pub mod out;
pub mod own;
pub mod pagemap;
pub mod pending;
pub mod random;
pub mod reach;
pub mod rights;
pub mod runtimes;
pub mod sanitizer;
pub mod scheduling;
pub mod signals;
pub mod stack_copy;
pub mod stat;
pub mod sync;
pub mod syscall;
pub mod tables;
pub mod time;
pub mod timers;
pub mod tls;
pub mod uffd;
pub mod unwind;
pub mod variables;
pub mod vdso;
pub mod waiting;
pub mod watch;

/// What a negative system call result means. Not by libc's `strerror`, which needs a thread of libc's own.
pub fn why(result: isize) -> std::io::ErrorKind {
    std::io::Error::from_raw_os_error(-result as i32).kind()
}
