//! What of libc's is called by way of here.

pub(crate) mod executed;
pub mod lost;
pub(crate) mod masks;
pub mod rights;
pub(crate) mod suspend;
