//! How threads are brought to a stand, and go on.

pub(crate) mod busy;
pub(crate) mod protocol;
pub mod seats;
pub mod syscall_restart;
