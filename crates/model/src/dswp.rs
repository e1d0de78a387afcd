//! DSWP: a pipeline of two stages. The primary thread does the first stage of each of n iterations and makes
//! a task of the second; the others execute the tasks. (P2's formula; with more than two threads the second
//! stage is shared by p − 1.)
//!
//! T = T_parallel + T_master + W_master + max(W_master, W_aux) · (n − 1) + W_aux, where W_master contains
//! making the task and W_aux getting it.

use crate::Estimate;

/// A two-stage pipeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pipeline {
    /// Starting the region, T_parallel.
    pub parallel: Estimate,
    /// Entering the block that one thread executes, T_master.
    pub master: Estimate,
    /// The first stage of one iteration.
    pub first: Estimate,
    /// Making a task.
    pub make: Estimate,
    /// The second stage of one iteration.
    pub second: Estimate,
    /// Getting a task.
    pub get: Estimate,
    /// Iterations, n.
    pub n: u64,
    /// The primary thread executes tasks, too, when it has made them all, or many wait.
    pub helps: bool,
}

impl Pipeline {
    /// T with p threads.
    pub fn time(&self, p: u32) -> Estimate {
        if self.n == 0 {
            return self.parallel.plus(self.master);
        }
        let n = Estimate::exact((self.n - 1) as f64);
        let start = self.parallel.plus(self.master);
        let first = self.first.plus(self.make);
        let second = self.second.plus(self.get);
        if p <= 1 {
            return start.plus(first.plus(second).times(Estimate::exact(self.n as f64)));
        }
        let others = Estimate::exact(1.0 / f64::from(p - 1));
        let mut slower = if first.mean >= second.mean * others.mean { first } else { second.times(others) };
        if self.helps && first.mean < second.mean * others.mean {
            // All of both stages, on all threads: not less than the first stage alone.
            slower = first.plus(second).times(Estimate::exact(1.0 / f64::from(p)));
        }
        start.plus(first).plus(slower.times(n)).plus(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipeline(first: f64, second: f64, n: u64, helps: bool) -> Pipeline {
        let e = Estimate::exact;
        Pipeline {
            parallel: e(10.0),
            master: e(1.0),
            first: e(first),
            make: e(0.5),
            second: e(second),
            get: e(0.25),
            n,
            helps,
        }
    }

    #[test]
    fn by_hand() {
        // 10 + 1 + 4.5 + max(4.5, 2.25) · 9 + 2.25.
        assert_eq!(pipeline(4.0, 2.0, 10, false).time(2).mean, 58.25);
        // The second stage is the longer one: 10 + 1 + 2.5 + 4.25 · 9 + 4.25.
        assert_eq!(pipeline(2.0, 4.0, 10, false).time(2).mean, 56.0);
        // Three threads: two share the second stage: 2.125 < 2.5.
        assert_eq!(pipeline(2.0, 4.0, 10, false).time(3).mean, 11.0 + 2.5 + 2.5 * 9.0 + 4.25);
        // The primary thread helps: (2.5 + 4.25) / 2 = 3.375.
        assert_eq!(pipeline(2.0, 4.0, 10, true).time(2).mean, 11.0 + 2.5 + 3.375 * 9.0 + 4.25);
        // One thread does it all.
        assert_eq!(pipeline(4.0, 2.0, 10, false).time(1).mean, 11.0 + 6.75 * 10.0);
        assert_eq!(pipeline(4.0, 2.0, 0, false).time(2).mean, 11.0);
    }
}
