//! The names of the files in which the journal of an era keeps what undoes it.

/// The beginning of the names of an era's files.
pub fn prefix(era: u64) -> String {
    format!("undo-{era}")
}

/// The era that a file of the checkpoint directory belongs to.
pub fn era_of(name: &str) -> Option<u64> {
    name.strip_prefix("undo-")?.split('-').next()?.parse().ok()
}
