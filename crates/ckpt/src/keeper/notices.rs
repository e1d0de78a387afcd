//! What users are told of checkpoints.

use crate::say;

/// What they have been told: once of a kind.
pub(super) struct Notices {
    /// PROMP_VERBOSE.
    verbose: u32,
    told: Vec<String>,
}

impl Notices {
    pub(super) fn new(verbose: u32) -> Self {
        Self { verbose, told: Vec::new() }
    }

    /// Says something, once of a kind.
    pub(super) fn once(&mut self, what: &str, kind: &str) {
        if self.verbose >= 1 && !self.told.iter().any(|t| t == kind) {
            say!("{what}");
            self.told.push(kind.into());
        }
    }

    /// There is no checkpoint now.
    pub(super) fn refused(&mut self, why: &str) {
        self.once(&format!("no checkpoint now: {why}; the run goes on"), &kind(why));
    }
}

/// What a reason has in common with others of its kind: no numbers of processes and descriptors, no names.
fn kind(why: &str) -> String {
    why.chars().take_while(|&c| c != '(').filter(|c| !c.is_ascii_digit()).collect()
}
