//! What of libc's is called by way of here.

pub mod credentials;
pub(crate) mod exec;
pub mod lost;
pub(crate) mod masks;
pub(crate) mod suspend;
