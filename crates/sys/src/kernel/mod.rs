//! What is bound to Linux: system calls and what the kernel tells of the process.

pub mod allowed;
pub mod anew;
mod cgroup;
pub mod cpu_limit;
pub mod cpu_time;
pub mod door;
pub mod follow;
pub mod futex;
pub mod left;
pub mod limits;
pub mod locks;
pub mod maps;
pub mod membarrier;
pub mod pagemap;
pub mod pending;
pub mod reach;
pub mod rights;
pub mod scheduling;
pub mod signals;
pub mod stat;
pub mod syscall;
pub mod time;
pub mod timers;
pub mod uffd;
pub mod vdso;
pub mod waiting;
pub mod watch;
