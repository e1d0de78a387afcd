//! Control-flow graphs: what is reachable, what dominates what.

/// A control-flow graph; node 0 is the entry.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    successors: Vec<Vec<usize>>,
}

impl Graph {
    /// A graph of `nodes` nodes with `edges`.
    pub fn new(nodes: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut successors = vec![Vec::new(); nodes];
        for (a, b) in edges {
            successors[a].push(b);
        }
        Self { successors }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.successors.len()
    }

    /// No node at all?
    pub fn is_empty(&self) -> bool {
        self.successors.is_empty()
    }

    /// Where control can go from `n`.
    pub fn successors(&self, n: usize) -> &[usize] {
        &self.successors[n]
    }

    /// The nodes that can be reached by at least one edge from `n`.
    pub fn behind(&self, n: usize) -> Vec<bool> {
        let mut seen = vec![false; self.len()];
        let mut todo = self.successors[n].clone();
        while let Some(m) = todo.pop() {
            if !core::mem::replace(&mut seen[m], true) {
                todo.extend(&self.successors[m]);
            }
        }
        seen
    }

    /// For each node the nodes that lie on every path from the entry to it, itself included. Of nodes that cannot be
    /// reached: nothing is said (all of them).
    pub fn dominators(&self) -> Vec<Set> {
        let n = self.len();
        let mut predecessors = vec![Vec::new(); n];
        for (a, bs) in self.successors.iter().enumerate() {
            for &b in bs {
                predecessors[b].push(a);
            }
        }
        let mut dom = vec![Set::full(n); n];
        if n > 0 {
            dom[0] = Set::of(n, 0);
        }
        loop {
            let mut changed = false;
            for b in 1..n {
                let mut new = Set::full(n);
                for &p in &predecessors[b] {
                    new.intersect(&dom[p]);
                }
                new.insert(b);
                if new != dom[b] {
                    dom[b] = new;
                    changed = true;
                }
            }
            if !changed {
                return dom;
            }
        }
    }
}

/// A set of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set(Vec<u64>);

impl Set {
    fn full(n: usize) -> Self {
        Self(vec![u64::MAX; n.div_ceil(64)])
    }
    fn of(n: usize, x: usize) -> Self {
        let mut s = Self(vec![0; n.div_ceil(64)]);
        s.insert(x);
        s
    }
    fn insert(&mut self, x: usize) {
        self.0[x / 64] |= 1 << (x % 64);
    }
    fn intersect(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }
    /// Is `x` in it?
    pub fn contains(&self, x: usize) -> bool {
        self.0[x / 64] >> (x % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// a dominates b exactly if b cannot be reached without a.
        #[test]
        fn dominators_agree_with_their_definition(n in 1usize..12, raw in prop::collection::vec((0usize..12, 0usize..12), 0..30)) {
            let edges: Vec<_> = raw.into_iter().filter(|&(a, b)| a < n && b < n).collect();
            let g = Graph::new(n, edges.iter().copied());
            let dom = g.dominators();
            let reach = |without: Option<usize>| {
                let mut seen = vec![false; n];
                let mut todo = if without == Some(0) { vec![] } else { vec![0] };
                while let Some(x) = todo.pop() {
                    if !core::mem::replace(&mut seen[x], true) {
                        todo.extend(g.successors(x).iter().filter(|&&y| Some(y) != without));
                    }
                }
                seen
            };
            let all = reach(None);
            for a in 0..n {
                let without = reach(Some(a));
                for b in 0..n {
                    if all[b] {
                        prop_assert_eq!(dom[b].contains(a), a == b || !without[b], "{} {}", a, b);
                    }
                }
            }
        }
    }
}
