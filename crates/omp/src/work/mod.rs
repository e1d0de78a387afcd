//! Worksharing: constructs and their descriptors (share), the dispenser of chunks with orphans, the ledger, the schedules,
//! ordered and doacross, locks and critical sections.

pub(crate) mod batch;
pub(crate) mod batch_size;
pub mod bounds;
pub mod dispenser;
pub mod doacross;
pub(crate) mod equal_shares;
pub(crate) mod holders;
pub mod ledger;
pub mod locks;
#[cfg(test)]
mod loop_cache_lines;
pub mod loops;
pub mod ordered_loops;
pub mod shape;
pub(crate) mod shape_choice;
pub mod share;
pub(crate) mod shared_batches;
pub mod site;
pub(crate) mod survivors;
pub mod tune;
pub mod want;
