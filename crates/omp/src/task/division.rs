//! How the iterations of a taskloop are divided among its tasks.

use super::flag;

/// Numbers of tasks and iterations: `tasks` tasks, the first `larger` of which have `each + 1` iterations,
/// the others `each`; with `last` > 0 the last one has that many instead (strict grainsize).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deal {
    tasks: u64,
    each: u64,
    larger: u64,
    last: u64,
}

/// Deals `n` > 0 iterations. `number` is the grainsize or num_tasks value, 0 for neither.
pub(crate) fn deal(n: u64, number: u64, flags: u32, threads: u64) -> Deal {
    let (grain, strict) = (flags & flag::GRAINSIZE != 0, flags & flag::STRICT != 0);
    if grain && strict {
        let g = number.max(1);
        let tasks = n.div_ceil(g);
        return Deal { tasks, each: g.min(n), larger: 0, last: n - (tasks - 1) * g };
    }
    let tasks = if grain {
        (n / number.max(1)).max(1)
    } else if number == 0 {
        threads.min(n)
    } else {
        number.min(n)
    };
    Deal { tasks, each: n / tasks, larger: n % tasks, last: 0 }
}

impl Deal {
    /// How many tasks.
    pub(crate) fn tasks(self) -> u64 {
        self.tasks
    }

    /// Iterations of all tasks before task `i`; of all, if there is none with that number.
    pub(crate) fn before(self, i: u64) -> u64 {
        if self.last > 0 && i == self.tasks {
            (i - 1) * self.each + self.last
        } else {
            i * self.each + i.min(self.larger)
        }
    }

    /// Iterations of task `i`, and of how many tasks from there on.
    pub(crate) fn run_from(self, i: u64) -> (u64, u64) {
        if self.last > 0 && i + 1 == self.tasks {
            (self.last, 1)
        } else if i < self.larger {
            (self.each + 1, self.larger - i)
        } else {
            (self.each, self.tasks - i - u64::from(self.last > 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(d: Deal) -> Vec<u64> {
        (0..d.tasks)
            .map(|i| {
                let (len, alike) = d.run_from(i);
                assert_eq!(d.before(i) + len, d.before(i + 1));
                assert!((i..i + alike).all(|j| j < d.tasks && d.run_from(j).0 == len));
                len
            })
            .collect()
    }

    proptest! {
        #[test]
        fn every_iteration_is_dealt_once(
            n in 1u64..5000,
            number in 0u64..300,
            grain: bool,
            strict: bool,
            t in 1u64..9,
        ) {
            let flags = if grain { flag::GRAINSIZE } else { 0 } | if strict { flag::STRICT } else { 0 };
            let s = sizes(deal(n, number, flags, t));
            prop_assert_eq!(s.iter().sum::<u64>(), n);
            prop_assert!(s.iter().all(|&x| x > 0));
            if grain && !strict && number > 0 && n >= number {
                prop_assert!(s.iter().all(|&x| x >= number && x < 2 * number));
            }
            if !grain && number > 0 {
                prop_assert_eq!(s.len() as u64, number.min(n));
            }
        }
    }
}
