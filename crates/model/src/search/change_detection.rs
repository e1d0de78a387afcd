//! What is settled is watched: a rival may turn out to be better, and after a step of cost it is searched
//! again.

use super::{KEPT, MOST_RESETS, Run, Search};
use crate::Estimate;
use crate::choice::Choice;
use crate::rival_check::Check;
use crate::samples::{self, IN_A_ROW};

impl Search {
    /// A rival has turned out to be better.
    pub(super) fn change(&mut self, winner: Choice) {
        let old = self.current();
        let expected = self.near.iter().find(|n| n.0 == winner).map(|n| n.1).filter(|e| *e > 0.0);
        self.check.changed(old);
        (self.runs, self.best) = (vec![Run::new(winner, None)], 0);
        self.predicted = expected.map(|e| Estimate::normal(e, e * samples::LEAST / 2.0));
        self.usual = 0.0;
        self.recent.clear();
    }

    /// A settled execution: is it as usual?
    pub(super) fn watch(&mut self, one: f64, total: u64) {
        self.recent.push(one);
        if self.recent.len() > KEPT + self.patience() {
            self.recent.remove(0);
        }
        if self.usual == 0.0 {
            if self.recent.len() >= IN_A_ROW {
                self.usual = samples::median(&self.recent);
            }
            return;
        }
        if !self.is_fixed()
            && self.resets < MOST_RESETS
            && samples::has_stepped(self.usual, &self.recent, self.patience())
        {
            self.stepped(total);
        } else if self.is_alone()
            && self.recent.len() == KEPT + self.patience()
            && samples::have_left(self.usual, &self.recent)
        {
            // Else all that follow would be odd, and looked at.
            self.usual = samples::median(&self.recent);
        }
    }

    /// What was decided is out of date.
    fn stepped(&mut self, total: u64) {
        self.resets += 1;
        let now = samples::median(&self.recent[self.recent.len() - IN_A_ROW..]) * total as f64;
        (self.runs, self.best) = (vec![Run::new(self.current(), None)], 0);
        (self.usual, self.predicted) = (0.0, None);
        self.recent.clear();
        self.own.clear();
        self.check = Check::default();
        self.warm(total, now);
    }

    fn patience(&self) -> usize {
        IN_A_ROW << self.resets
    }
}
