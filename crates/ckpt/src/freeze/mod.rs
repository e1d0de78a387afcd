//! How threads are brought to a stand, and go on.

pub mod again;
pub mod busy;
pub mod seats;
