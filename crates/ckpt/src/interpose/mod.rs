//! What of libc's is called by way of here.

pub mod executed;
pub mod lost;
pub mod masks;
pub mod rights;
pub mod suspend;
