//! Worksharing: constructs and their descriptors (share), the dispenser of chunks with orphans, the ledger, the schedules,
//! ordered and doacross, locks and critical sections.

pub mod asked;
pub mod batch;
pub mod bounds;
pub mod dispenser;
pub mod doacross;
pub mod holders;
pub mod ledger;
#[cfg(test)]
mod lines;
pub mod locks;
pub mod loops;
pub mod many;
pub mod ordered;
pub mod pace;
pub mod share;
pub mod site;
pub mod survivors;
pub mod tune;
