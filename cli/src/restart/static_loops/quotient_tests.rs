//! Which tests of q can be GCC's, by where they stand.

use std::collections::BTreeSet;

/// The ways that were gone, and what has to be judged by them.
#[derive(Default)]
pub struct Ways {
    /// Instructions that are come to without the test whether there are iterations, too.
    pub outside: BTreeSet<u64>,
    /// From one to the next behind that test.
    pub inside: BTreeSet<(u64, u64)>,
    /// Jumps that depend on q.
    pub counts: BTreeSet<u64>,
}

impl Ways {
    pub fn went(&mut self, at: u64, inside: bool, to: impl Iterator<Item = u64>) {
        if inside {
            self.inside.extend(to.map(|to| (at, to)));
        } else {
            self.outside.insert(at);
        }
    }

    /// The instructions in cycles with `at`, of those that are only come to behind the test.
    fn cycle(&self, at: u64) -> BTreeSet<u64> {
        let reached = |forward: bool| {
            let (mut all, mut todo) = (BTreeSet::new(), vec![at]);
            while let Some(x) = todo.pop() {
                let next = self.inside.iter().map(|&(a, b)| if forward { (a, b) } else { (b, a) });
                for (_, y) in next.filter(|&(a, b)| a == x && !self.outside.contains(&b)) {
                    if all.insert(y) {
                        todo.push(y);
                    }
                }
            }
            all
        };
        reached(true).intersection(&reached(false)).copied().collect()
    }

    pub fn are_gccs(&self) -> bool {
        let ends_a_loop = |&at: &u64| {
            let cycle = self.cycle(at);
            let on = self.inside.range((at, 0)..=(at, u64::MAX)).filter(|(_, to)| cycle.contains(to)).count();
            cycle.contains(&at) && on == 1
        };
        let only_behind = |at: &u64| !self.outside.contains(at);
        self.counts.iter().all(|c| only_behind(c) && ends_a_loop(c))
    }
}
