//! What can be asked of a search.

use super::{Search, State, Ways};
use crate::choice::{Choice, Deal};
use crate::exhaustive_search::Tried;
use crate::{Estimate, candidates, samples};

impl Search {
    /// The choice, if the search is over.
    pub fn settled(&self) -> Option<Choice> {
        (self.state == State::Settled).then(|| self.current())
    }

    /// What the choice usually takes for an iteration; 0: not known.
    pub fn usual(&self) -> f64 {
        self.usual
    }

    /// What the program's own way took for an iteration, if it was tried.
    pub fn own(&self) -> Option<f64> {
        (!self.own.is_empty()).then(|| samples::median(&self.own))
    }

    /// What the model expected of the choice, for an iteration.
    pub fn predicted(&self) -> Option<Estimate> {
        self.predicted
    }

    /// Executions that were part of a search.
    pub fn searched(&self) -> u32 {
        self.searched
    }

    /// Executions in all.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// All ways to execute it, `total` iterations long, the program's own one first.
    pub fn ways(&self, total: u64) -> Vec<Choice> {
        let own = core::iter::once(Choice::GIVEN);
        match &self.ways {
            Ways::Modelled => candidates::every(self.p, self.given, self.may, total),
            Ways::Listed(list) => own.chain(list.iter().copied()).collect(),
            Ways::Threads(counts) => {
                own.chain(counts.iter().map(|n| Choice { deal: Deal::Given, threads: *n })).collect()
            }
        }
    }

    /// What all ways took from one state, if they were compared.
    pub fn tried(&self) -> &[Tried] {
        &self.compared
    }

    /// Likewise for the program's own way; 0: it was not tried.
    pub fn takes_own(&self) -> f64 {
        self.compared.first().map_or_else(|| self.own().unwrap_or(0.0), Tried::least)
    }

    /// What the choice takes: from one state, if that was measured; else what it usually does.
    pub fn takes(&self) -> f64 {
        match self.compared.get(self.best) {
            Some(t) => t.least(),
            None => self.usual,
        }
    }

    /// Is there nothing to be chosen?
    pub fn is_fixed(&self) -> bool {
        self.p <= 1 || !(self.may.schedule || self.may.threads)
    }

    /// Are candidates found by the model?
    pub fn is_modelled(&self) -> bool {
        !matches!(self.ways, Ways::Listed(_))
    }
}
