//! Which of several executions of one chunk were right, and which CPUs were wrong.
//!
//! A result stands when two different CPUs have computed it; or when one has computed it twice while all
//! others have contradicted themselves. Where only one is left, two executions on it have to do: they find
//! what happens now and then. The last execution must have it: its result is what is in memory.

/// Executions of one chunk in all.
pub(crate) const MOST_RUNS: usize = 8;

/// One execution.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The CPU; `None`: it was moved meanwhile.
    pub cpu: Option<u32>,
    /// Of what was written.
    pub memory: u64,
    /// Of the thread's private state.
    pub private: u64,
}

impl Run {
    fn result(&self) -> (u64, u64) {
        (self.memory, self.private)
    }
}

/// What follows from the executions so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// One more is needed.
    Again,
    /// The last one's result is right.
    Agreed {
        /// CPUs that have computed something else.
        wrong: Vec<u32>,
    },
}

/// Judges `runs`, which are not empty. `single`: there is only one CPU.
pub(crate) fn judge(runs: &[Run], single: bool) -> Judgement {
    let Some(last) = runs.last() else { return Judgement::Again };
    let right = |r: &Run| r.result() == last.result();
    // An execution whose CPU is not known may have been on any.
    let elsewhere =
        runs[..runs.len() - 1].iter().any(|r| right(r) && (single || r.cpu != last.cpu || r.cpu.is_none()));
    let contradicts = |cpu: Option<u32>| {
        let mut own = runs.iter().filter(|r| r.cpu == cpu).map(Run::result);
        own.next().is_some_and(|one| own.any(|r| r != one))
    };
    let alone = last.cpu.is_some()
        && runs.iter().filter(|r| right(r)).count() >= 2
        && !contradicts(last.cpu)
        && runs.iter().all(|r| right(r) || (r.cpu.is_some() && contradicts(r.cpu)));
    if !elsewhere && !alone {
        return Judgement::Again;
    }
    let differing = runs.iter().filter(|r| !right(r) && !single);
    let mut wrong: Vec<u32> = differing.filter_map(|r| r.cpu).collect();
    wrong.sort_unstable();
    wrong.dedup();
    Judgement::Agreed { wrong }
}

/// Do the results differ in memory, and not only in the private state?
pub(crate) fn in_memory(runs: &[Run]) -> bool {
    runs.iter().any(|r| r.memory != runs[0].memory)
}

/// The CPU for the next execution: one that has not been asked, else that which has been asked least, but
/// not the last one again if there is another. `random` chooses among equals.
pub(crate) fn choose(runs: &[Run], usable: &[u32], random: u64) -> Option<u32> {
    let last = runs.last().and_then(|r| r.cpu);
    let asked = |c: u32| runs.iter().filter(|r| r.cpu == Some(c)).count();
    let mut others: Vec<u32> = usable.iter().copied().filter(|&c| Some(c) != last).collect();
    if others.is_empty() {
        others.extend(usable);
    }
    let least = others.iter().map(|&c| asked(c)).min()?;
    let best: Vec<u32> = others.into_iter().filter(|&c| asked(c) == least).collect();
    Some(best[(random % best.len() as u64) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(cpu: u32, memory: u64) -> Run {
        Run { cpu: Some(cpu), memory, private: 0 }
    }

    fn judge(runs: &[Run]) -> Judgement {
        super::judge(runs, false)
    }

    fn agreed(wrong: &[u32]) -> Judgement {
        Judgement::Agreed { wrong: wrong.to_vec() }
    }

    #[test]
    fn two_of_three_win() {
        let (a, b, c) = (run(0, 1), run(1, 2), run(2, 2));
        assert_eq!(judge(&[a]), Judgement::Again);
        assert_eq!(judge(&[a, b]), Judgement::Again);
        assert_eq!(judge(&[b, c]), agreed(&[]));
        assert_eq!(judge(&[a, b, c]), agreed(&[0]));
        assert_eq!(judge(&[b, a, c]), agreed(&[0]));
        // Two CPUs: who contradicts himself was wrong.
        assert_eq!(judge(&[a, b, run(0, 2)]), agreed(&[0]));
        assert_eq!(judge(&[a, b, run(0, 1)]), Judgement::Again);
        assert_eq!(judge(&[a, b, run(0, 1), run(1, 1)]), agreed(&[1]));
        assert_eq!(judge(&[a, b, run(0, 1), run(1, 3)]), Judgement::Again);
        assert_eq!(judge(&[a, b, run(0, 1), run(1, 3), run(0, 1)]), agreed(&[1]));
        // Only one is left: what happens twice stands, and nobody is accused.
        assert_eq!(super::judge(&[a, run(0, 2)], true), Judgement::Again);
        assert_eq!(super::judge(&[a, run(0, 2), a], true), agreed(&[]));
        // Two that contradict each other for ever: nobody knows.
        assert_eq!(judge(&[a, b, a, b, a, b]), Judgement::Again);
        // On whichever CPU the first one was.
        let moved = Run { cpu: None, memory: 2, private: 0 };
        assert_eq!(judge(&[moved, b]), agreed(&[]));
        assert_eq!(judge(&[Run { memory: 5, ..moved }, b, c]), agreed(&[]));
    }

    #[test]
    fn the_next_cpu_is_another_one() {
        assert_eq!(choose(&[run(0, 1)], &[0, 1], 7), Some(1));
        assert_eq!(choose(&[run(0, 1), run(1, 2)], &[0, 1, 2], 7), Some(2));
        assert_eq!(choose(&[run(0, 1), run(1, 2)], &[0, 1], 7), Some(0));
        assert_eq!(choose(&[run(0, 1)], &[0], 7), Some(0));
        assert_eq!(choose(&[run(0, 1)], &[], 7), None);
    }

    proptest! {
        /// One CPU is wrong now and then, never twice in the same way: with others there the right result
        /// stands, and nobody else is accused.
        #[test]
        fn the_wrong_one_is_found(cpus in 2u32..6, bad in 0u32..6, at in 0u32..6, errors: u32, random: u64) {
            let (bad, usable) = (bad % cpus, (0..cpus).collect::<Vec<_>>());
            let mut runs = vec![];
            let mut cpu = at % cpus;
            let found = loop {
                let n = runs.len() as u64;
                let wrong = cpu == bad && errors >> n & 1 == 1;
                runs.push(run(cpu, if wrong { 100 + n } else { 1 }));
                if let Judgement::Agreed { wrong } = judge(&runs) {
                    break Some(wrong);
                }
                if runs.len() == MOST_RUNS {
                    break None;
                }
                cpu = choose(&runs, &usable, random >> n).unwrap();
            };
            prop_assert_eq!(runs.last().unwrap().memory, 1, "{:?}", runs);
            let erred = runs.iter().any(|r| r.memory != 1);
            prop_assert_eq!(found, Some(if erred { vec![bad] } else { vec![] }), "{:?}", runs);
        }
    }
}
