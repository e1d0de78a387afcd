//! Worksharing: constructs and their descriptors (share), the dispenser of chunks with orphans, the ledger, the schedules,
//! ordered and doacross, locks and critical sections.

pub(crate) mod asked;
pub(crate) mod batch;
pub(crate) mod bounds;
pub(crate) mod dispenser;
pub(crate) mod doacross;
pub(crate) mod holders;
pub(crate) mod ledger;
#[cfg(test)]
mod lines;
pub(crate) mod locks;
pub(crate) mod loops;
pub(crate) mod many;
pub(crate) mod ordered;
pub(crate) mod pace;
pub(crate) mod share;
pub(crate) mod site;
pub(crate) mod survivors;
pub(crate) mod tune;
