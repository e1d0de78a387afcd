//! What is bound to glibc and its loader: threads, locks, shared objects, tables of functions.

pub mod dynamic;
pub mod got;
pub mod handles;
pub mod host;
pub mod libc_locks;
pub mod lock_owners;
pub mod mutexes;
pub mod objects;
pub mod runtimes;
pub mod sanitizer;
pub mod second;
pub mod thread_count_queries;
