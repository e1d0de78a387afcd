//! Memory and words that threads share.

pub mod arena;
pub mod claim;
pub mod guards;
pub mod lock;
pub mod own;
pub mod preserved_memory;
pub mod ranges;
pub mod shared_text;
pub mod sync;
