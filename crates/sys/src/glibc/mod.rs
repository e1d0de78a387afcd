//! What is bound to glibc and its loader: threads, locks, shared objects, tables of functions.

pub mod asked;
pub mod dynamic;
pub mod handles;
pub mod held;
pub mod host;
pub mod libc_locks;
pub mod mutexes;
pub mod objects;
pub mod runtimes;
pub mod sanitizer;
pub mod second;
pub mod tables;
