//! How threads are brought to a stand, and go on.

pub mod again;
pub(crate) mod busy;
pub(crate) mod protocol;
pub mod seats;
