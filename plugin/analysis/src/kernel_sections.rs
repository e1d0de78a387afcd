//! Where sections of kernels begin and end, found on the control tree of a function (LazyFT, P4).
//!
//! The nodes of a control-flow graph are *kernels*, *write-backs* (data come from a device) or neither; each
//! kernel and write-back is a node of its own. Structural analysis folds the graph into a tree of blocks,
//! branches and loops. Bottom up: what has kernels only is a kernel, what has write-backs only is a
//! write-back; what has both is *mixed* and cut there and then: in a block, sections begin at the first
//! kernel and at the first one behind a write-back, and end at the last kernel and at the last one in front
//! of a write-back; a kernel that is a branch beside write-backs is a section by itself. Top down, the marks
//! wander to where they belong: in front of a branch's condition or a loop, behind the whole of it.
//!
//! It follows, for every way through the function: marks come in pairs, every kernel lies in a pair, no
//! write-back does. The property test walks through random graphs.

use crate::graph::Graph;
use std::collections::BTreeSet;

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Nothing with devices.
    Neither,
    /// Runs a kernel.
    Kernel,
    /// Brings data back.
    Back,
    /// Both: its sections are its own business.
    Mixed,
    /// Says that a section begins, by hand.
    Begin,
    /// ... or ends.
    End,
}

/// Where a section begins or ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// It begins there.
    pub begins: bool,
    /// Nodes.
    pub nodes: Vec<usize>,
    /// In front of the (one) node itself, on every way to it; else on the edges into the nodes, or out of
    /// them.
    pub inside: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Leaf(usize),
    Block,
    /// The first child is the condition, or nothing is known of the order.
    Branch,
    Loop,
    Tangle,
}

#[derive(Clone, Debug)]
struct Tree {
    shape: Shape,
    kind: Kind,
    children: Vec<Tree>,
}

impl Tree {
    fn nodes(&self) -> Vec<usize> {
        match self.shape {
            Shape::Leaf(n) => vec![n],
            _ => self.children.iter().flat_map(Tree::nodes).collect(),
        }
    }
}

/// What is folded, and the marks so far.
struct Fold {
    trees: Vec<Option<Tree>>,
    to: Vec<BTreeSet<usize>>,
    from: Vec<BTreeSet<usize>>,
    /// The function returns there.
    returns: Vec<bool>,
    marks: Vec<Mark>,
}

/// What the function is as a whole, and its marks. A function of one kind has none: `whole` puts them
/// around it. The function returns at `exit`. Nodes that cannot be reached from node 0 do not count.
pub fn sections(graph: &Graph, kinds: &[Kind], exit: usize, whole: bool) -> (Kind, Vec<Mark>) {
    let mut f = Fold::new(graph, kinds, exit);
    let root = f.fold();
    if root.kind == Kind::Mixed {
        f.cut(&root);
    }
    if whole && root.kind == Kind::Kernel {
        f.mark(&root, true, true);
    }
    (root.kind, f.marks)
}

impl Fold {
    fn new(graph: &Graph, kinds: &[Kind], exit: usize) -> Self {
        let n = graph.len();
        let mut reached = vec![false; n];
        let mut todo = vec![0];
        reached[0] = true;
        while let Some(a) = todo.pop() {
            for &b in graph.successors(a) {
                if !std::mem::replace(&mut reached[b], true) {
                    todo.push(b);
                }
            }
        }
        let (mut to, mut from) = (vec![BTreeSet::new(); n], vec![BTreeSet::new(); n]);
        for a in (0..n).filter(|&a| reached[a]) {
            for &b in graph.successors(a) {
                to[a].insert(b);
                from[b].insert(a);
            }
        }
        let leaf = |i: usize| Tree { shape: Shape::Leaf(i), kind: kinds[i], children: vec![] };
        let trees = (0..n).map(|i| reached[i].then(|| leaf(i))).collect();
        let returns = (0..n).map(|i| i == exit).collect();
        Self { trees, to, from, returns, marks: vec![] }
    }

    fn live(&self) -> Vec<usize> {
        (0..self.trees.len()).filter(|&i| self.trees[i].is_some()).collect()
    }

    fn fold(&mut self) -> Tree {
        loop {
            let live = self.live();
            if live.len() == 1 && self.to[0].is_empty() {
                return self.trees[0].take().expect("live");
            }
            // The latest first: inner things lie behind outer ones mostly.
            let mut step = |last| live.iter().rev().any(|&n| self.step(n, last));
            if !step(false) && !self.natural_loop() && !live.iter().rev().any(|&n| self.step(n, true)) {
                let all = self.live();
                self.replace(Shape::Tangle, all);
            }
        }
    }

    /// Folds what begins at `n`, if it has one of the shapes. `last`: also what leads to the function's
    /// return is taken for a branch. Mostly it is what comes behind a loop.
    fn step(&mut self, n: usize, last: bool) -> bool {
        if self.to[n].contains(&n) {
            self.to[n].remove(&n);
            self.from[n].remove(&n);
            self.replace(Shape::Loop, vec![n]);
            return true;
        }
        let only = |set: &BTreeSet<usize>, x: usize| set.len() == 1 && set.contains(&x);
        let next: Vec<usize> = self.to[n].iter().copied().collect();
        // A condition stays what it is until its branches are folded.
        if let [m] = next[..]
            && m != 0
            && only(&self.from[m], n)
            && self.to[m].len() <= 1
            && !self.to[m].contains(&m)
        {
            let end = self.to[m].contains(&n);
            if !end {
                self.replace(Shape::Block, vec![n, m]);
                return true;
            }
        }
        if next.len() < 2 {
            return false;
        }
        if let Some(&body) = next.iter().find(|&&b| b != 0 && only(&self.from[b], n) && only(&self.to[b], n))
        {
            self.replace(Shape::Loop, vec![n, body]);
            return true;
        }
        // Branches: they come together at one place, or do not come back.
        let own = |b: usize| b != 0 && only(&self.from[b], n);
        let ends = |b: usize| self.to[b].is_empty() && (last || !self.returns[b]);
        let joins: BTreeSet<usize> = next
            .iter()
            .flat_map(|&b| match self.to[b].len() {
                0 if own(b) && ends(b) => BTreeSet::new(),
                1 if own(b) => self.to[b].clone(),
                _ => [b].into(),
            })
            .collect();
        // What ends by itself is a branch, or, if nothing else joins, the place where the others go.
        let join = match joins.iter().copied().collect::<Vec<_>>()[..] {
            [] => None,
            [j] if j != n => Some(j),
            _ => return false,
        };
        let branches: Vec<usize> = next
            .iter()
            .copied()
            .filter(|&b| Some(b) != join && own(b) && (ends(b) || join.is_some_and(|j| only(&self.to[b], j))))
            .collect();
        if branches.is_empty() || next.iter().any(|b| !branches.contains(b) && Some(*b) != join) {
            return false;
        }
        self.replace(Shape::Branch, [vec![n], branches].concat());
        true
    }

    /// Folds an innermost natural loop.
    fn natural_loop(&mut self) -> bool {
        let live = self.live();
        let mut best: Option<Vec<usize>> = None;
        for &head in &live {
            let mut body = BTreeSet::from([head]);
            let mut todo: Vec<usize> =
                self.from[head].iter().copied().filter(|&t| self.dominates(head, t)).collect();
            if todo.is_empty() {
                continue;
            }
            while let Some(b) = todo.pop() {
                if body.insert(b) {
                    todo.extend(&self.from[b]);
                }
            }
            let mut nodes: Vec<usize> = body.iter().copied().filter(|&b| b != head).collect();
            nodes.insert(0, head);
            if best.as_ref().is_none_or(|b| nodes.len() < b.len()) {
                best = Some(nodes);
            }
        }
        let Some(nodes) = best else { return false };
        self.replace(Shape::Loop, nodes);
        true
    }

    /// Do all ways from the start to `b` lead through `a`?
    fn dominates(&self, a: usize, b: usize) -> bool {
        if a == 0 || a == b {
            return true;
        }
        let (mut seen, mut todo) = (BTreeSet::from([0]), vec![0]);
        while let Some(x) = todo.pop() {
            if x == b {
                return false;
            }
            todo.extend(self.to[x].iter().copied().filter(|&y| y != a && seen.insert(y)));
        }
        true
    }

    /// The nodes become one, named by the first, through which it is entered; edges among them vanish.
    fn replace(&mut self, shape: Shape, nodes: Vec<usize>) {
        let first = nodes[0];
        let set: BTreeSet<usize> = nodes.iter().copied().collect();
        let children: Vec<Tree> = nodes.iter().map(|&n| self.trees[n].take().expect("live")).collect();
        let (mut to, mut from) = (BTreeSet::<usize>::new(), BTreeSet::<usize>::new());
        self.returns[first] = nodes.iter().any(|&n| self.returns[n]);
        for &n in &nodes {
            to.extend(std::mem::take(&mut self.to[n]).difference(&set));
            from.extend(std::mem::take(&mut self.from[n]).difference(&set));
        }
        for &t in &to {
            self.from[t].retain(|f| !set.contains(f));
            self.from[t].insert(first);
        }
        for &f in &from {
            self.to[f].retain(|t| !set.contains(t));
            self.to[f].insert(first);
        }
        (self.to[first], self.from[first]) = (to, from);
        let children = if shape == Shape::Block { flat(children) } else { children };
        let kinds: Vec<Kind> = children.iter().map(|c| c.kind).filter(|&k| k != Kind::Neither).collect();
        let kind = match kinds[..] {
            [] => Kind::Neither,
            [k, ..] if k != Kind::Mixed && kinds.iter().all(|&x| x == k) => k,
            _ => Kind::Mixed,
        };
        self.trees[first] = Some(Tree { shape, kind, children });
    }

    /// The marks within a mixed node, and the mixed ones in it.
    fn cut(&mut self, t: &Tree) {
        for c in t.children.iter().filter(|c| c.kind == Kind::Mixed) {
            self.cut(c);
        }
        if t.shape != Shape::Block {
            for c in t.children.iter().filter(|c| c.kind == Kind::Kernel) {
                self.mark(c, true, true);
            }
            return;
        }
        // Kernels with nothing but neither between them belong together.
        let mut piece: Vec<&Tree> = Vec::new();
        for c in t.children.iter().map(Some).chain([None]) {
            match c {
                Some(c) if c.kind == Kind::Kernel => piece.push(c),
                Some(c) if c.kind == Kind::Neither => {}
                _ => {
                    let n = piece.len();
                    for (i, k) in piece.drain(..).enumerate() {
                        self.mark(k, i == 0, i + 1 == n);
                    }
                }
            }
        }
    }

    /// A section begins and ends, or one of these, at `t`, a kernel.
    fn mark(&mut self, t: &Tree, begins: bool, ends: bool) {
        if !begins && !ends {
            return;
        }
        match t.shape {
            Shape::Block => {
                let kernels: Vec<&Tree> = t.children.iter().filter(|c| c.kind == Kind::Kernel).collect();
                let n = kernels.len();
                for (i, k) in kernels.into_iter().enumerate() {
                    self.mark(k, begins && i == 0, ends && i + 1 == n);
                }
            }
            Shape::Branch if begins && ends => {
                for c in t.children.iter().filter(|c| c.kind == Kind::Kernel) {
                    self.mark(c, true, true);
                }
            }
            _ => {
                let inside = matches!(t.shape, Shape::Leaf(_));
                if begins {
                    self.marks.push(Mark { begins: true, nodes: t.nodes(), inside });
                }
                if ends {
                    self.marks.push(Mark { begins: false, nodes: t.nodes(), inside: false });
                }
            }
        }
    }
}

/// Blocks within a block are its own children.
fn flat(children: Vec<Tree>) -> Vec<Tree> {
    children.into_iter().flat_map(|c| if c.shape == Shape::Block { c.children } else { vec![c] }).collect()
}

/// What is wrong with sections marked by hand: nodes and why. P4's rules: every kernel lies in a section, no
/// write-back does.
pub fn check(graph: &Graph, kinds: &[Kind]) -> Vec<(usize, &'static str)> {
    const OUT: u8 = 1;
    const IN: u8 = 2;
    let n = graph.len();
    let mut state = vec![0u8; n];
    state[0] = OUT;
    let mut todo = vec![0];
    while let Some(a) = todo.pop() {
        let after = match kinds[a] {
            Kind::Begin => IN,
            Kind::End => OUT,
            _ => state[a],
        };
        for &b in graph.successors(a) {
            if state[b] | after != state[b] {
                state[b] |= after;
                todo.push(b);
            }
        }
    }
    let wrong = |i: usize| match (kinds[i], state[i]) {
        (_, 0) => None,
        (Kind::Begin, s) if s & IN != 0 => Some("a section begins inside of another one"),
        (Kind::End, s) if s & OUT != 0 => Some("a section ends that has not begun on every way to here"),
        (Kind::Kernel, s) if s & OUT != 0 => Some("a kernel outside of a section"),
        (Kind::Back, s) if s & IN != 0 => Some("data come from the device inside of a section"),
        (Kind::Mixed, s) if s & IN != 0 => {
            Some("a kernel that brings its data back inside of a section; map them around the section")
        }
        (_, s) if graph.successors(i).is_empty() && s & IN != 0 && kinds[i] != Kind::End => {
            Some("the function ends inside of a section")
        }
        (Kind::Begin, _) if graph.successors(i).is_empty() => Some("the function ends inside of a section"),
        _ => None,
    };
    (0..n).filter_map(|i| wrong(i).map(|w| (i, w))).collect()
}

#[cfg(test)]
mod tests;
