//! Liveness in OpenMP programs (P3's data-flow analysis, DAO): what must be in a checkpoint?
//!
//! A variable is *live* at a point if some path from it reads the variable before writing it. In an OpenMP program a name stands for
//! several variables, and the data-sharing clauses copy values between them without a statement that says so. They are written out
//! before solving: each parallel region appears once for the primary thread and once for a worker, every private
//! variable as a variable of its own, and at its borders stand the *implicit definitions* ([`Sharing`]). The sets are those of the
//! primary thread; a worker's set lacks the shared variables, which the primary thread's answer covers.
//!
//! Beyond P3, variables have *extents*: arrays are tracked by sections ([`Section`]), so that half an array can be live; and a write
//! kills only what it covers. An update reads what it writes: in P1's own example, `c(j,i) = a*b + c(j,i)`, `c` **is**
//! live at the loop's entry (the paper says it need not be saved; a partly executed iteration has changed it already).

use std::collections::{BTreeMap, BTreeSet};

/// A half-open range of an array's elements; a scalar is 0..1.
pub type Section = (u64, u64);

/// A set of elements of variables: disjoint, sorted sections for each name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set(BTreeMap<String, Vec<Section>>);

impl Set {
    /// The sections of `name`.
    pub fn of(&self, name: &str) -> &[Section] {
        self.0.get(name).map_or(&[], |v| v)
    }
    /// Is anything of `name` in it?
    pub fn has(&self, name: &str) -> bool {
        !self.of(name).is_empty()
    }
    /// The names.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().filter(|(_, v)| !v.is_empty()).map(|(n, _)| n.as_str()).collect()
    }
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.0.values().flatten().map(|s| s.1 - s.0).sum()
    }
    fn add(&mut self, name: &str, s: Section) {
        if s.0 >= s.1 {
            return;
        }
        let v = self.0.entry(name.into()).or_default();
        v.push(s);
        v.sort_unstable();
        let mut merged: Vec<Section> = Vec::with_capacity(v.len());
        for &(a, b) in v.iter() {
            match merged.last_mut() {
                Some(l) if a <= l.1 => l.1 = l.1.max(b),
                _ => merged.push((a, b)),
            }
        }
        *v = merged;
    }
    fn remove(&mut self, name: &str, (a, b): Section) {
        if let Some(v) = self.0.get_mut(name) {
            *v = v.iter().flat_map(|&(x, y)| [(x, y.min(a)), (x.max(b), y)]).filter(|s| s.0 < s.1).collect();
            if v.is_empty() {
                self.0.remove(name);
            }
        }
    }
    fn union(&mut self, other: &Set) {
        for (n, v) in &other.0 {
            v.iter().for_each(|&s| self.add(n, s));
        }
    }
}

/// What a statement does, in order: reads, then writes.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// Sections it may read.
    pub reads: Vec<(String, Section)>,
    /// Sections it certainly writes.
    pub writes: Vec<(String, Section)>,
}

impl Statement {
    /// Reads and writes whole scalars.
    pub fn scalar(reads: &[&str], writes: &[&str]) -> Self {
        let whole = |v: &[&str]| v.iter().map(|n| (n.to_string(), (0, 1))).collect();
        Self { reads: whole(reads), writes: whole(writes) }
    }
}

/// How a region shares a variable (the clauses of OpenMP 5.1, section 2.21.4, and P3's table).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Every thread has its own, undefined at entry.
    Private,
    /// Its own, with the value from outside.
    FirstPrivate,
    /// Its own, undefined at entry; the last iteration's value goes outside.
    LastPrivate,
    /// Its own, the operation's identity at entry; combined with the outside value at exit.
    Reduction,
    /// Its own, kept between regions; in copyin: the primary thread's value at entry.
    ThreadPrivate {
        /// Named in a copyin clause.
        copyin: bool,
    },
}

/// A program.
#[derive(Clone, Debug)]
pub enum Node {
    /// A statement.
    Do(Statement),
    /// A point at which a checkpoint may be taken, by name.
    Candidate(&'static str),
    /// One after the other.
    Sequence(Vec<Node>),
    /// One of them, or none if `maybe`.
    Branch {
        /// The ways.
        ways: Vec<Node>,
        /// Possibly none of them.
        maybe: bool,
    },
    /// Any number of times, including none.
    Loop(Box<Node>),
    /// A parallel region; what is not named is shared.
    Parallel {
        /// Sharing of variables: name, elements, how.
        sharing: Vec<(&'static str, u64, Sharing)>,
        /// Its body.
        body: Box<Node>,
    },
}

/// Which copy of the regions is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The thread that executes the serial parts, too.
    Primary,
    /// Another one.
    Worker,
}

/// What is live at each candidate.
pub type Live = BTreeMap<&'static str, Set>;

/// The name of a region's own copy of a variable. Thread-private variables have one copy for all regions.
fn own(name: &str, region: usize, how: Sharing) -> String {
    match how {
        Sharing::ThreadPrivate { .. } => format!("{name}@thread"),
        _ => format!("{name}@{region}"),
    }
}

/// Region numbers follow the text: the first one of each of `nodes`, from `id` on, which is behind them then.
/// For whoever walks backwards.
fn starts(nodes: &[Node], id: &mut usize) -> Vec<usize> {
    let start = |n: &Node| {
        let at = *id;
        *id += count(n);
        at
    };
    nodes.iter().map(start).collect()
}

struct Solver {
    role: Role,
    live: Live,
    regions: usize,
}

impl Solver {
    /// What is live before `node`, given what is live behind it; `names` maps to a region's own copies.
    fn before(
        &mut self,
        node: &Node,
        mut live: Set,
        names: &BTreeMap<&'static str, String>,
        id: &mut usize,
    ) -> Set {
        let own_name = |n: &String| names.get(n.as_str()).cloned().unwrap_or_else(|| n.clone());
        match node {
            Node::Do(s) => {
                s.writes.iter().for_each(|(n, x)| live.remove(&own_name(n), *x));
                s.reads.iter().for_each(|(n, x)| live.add(&own_name(n), *x));
                live
            }
            Node::Candidate(c) => {
                self.live.entry(c).or_default().union(&live);
                live
            }
            Node::Sequence(v) => {
                for (n, at) in v.iter().zip(starts(v, id)).rev() {
                    live = self.before(n, live, names, &mut { at });
                }
                live
            }
            Node::Branch { ways, maybe } => {
                let mut all = if *maybe { live.clone() } else { Set::default() };
                for w in ways {
                    all.union(&self.before(w, live.clone(), names, id));
                }
                all
            }
            Node::Loop(body) => {
                let at = *id;
                let mut now = live;
                loop {
                    let mut next = now.clone();
                    next.union(&self.before(body, now.clone(), names, &mut { at }));
                    *id = at + count(body);
                    if next == now {
                        return now;
                    }
                    now = next;
                }
            }
            Node::Parallel { sharing, body } => {
                let region = *id;
                *id += 1;
                self.regions += 1;
                self.region(sharing, body, live, names, region, id)
            }
        }
    }

    fn region(
        &mut self,
        sharing: &[(&'static str, u64, Sharing)],
        body: &Node,
        mut live: Set,
        outside: &BTreeMap<&'static str, String>,
        region: usize,
        id: &mut usize,
    ) -> Set {
        let outer = |n: &'static str| outside.get(n).cloned().unwrap_or_else(|| n.to_string());
        let mut names = outside.clone();
        // The implicit definitions at the region's exit.
        for &(n, len, how) in sharing {
            let mine = own(n, region, how);
            let (all, was) = ((0, len), outer(n));
            match how {
                Sharing::LastPrivate => {
                    live.remove(&was, all);
                    live.add(&mine, all);
                }
                Sharing::Reduction => {
                    live.add(&was, all);
                    live.add(&mine, all);
                }
                // The primary thread's copy is the one that serial code sees.
                Sharing::ThreadPrivate { .. } if self.role == Role::Primary && live.has(&was) => {
                    let seen = live.of(&was).to_vec();
                    seen.iter().for_each(|&s| live.remove(&was, s));
                    seen.iter().for_each(|&s| live.add(&mine, s));
                }
                _ => {}
            }
            names.insert(n, mine);
        }
        live = self.before(body, live, &names, id);
        // And those at its entry.
        for &(n, len, how) in sharing {
            let (mine, was, all) = (own(n, region, how), outer(n), (0, len));
            let wanted = live.of(&mine).to_vec();
            match how {
                Sharing::Private | Sharing::LastPrivate | Sharing::Reduction => live.remove(&mine, all),
                Sharing::FirstPrivate | Sharing::ThreadPrivate { copyin: true } => {
                    live.remove(&mine, all);
                    wanted.iter().for_each(|&s| live.add(&was, s));
                }
                Sharing::ThreadPrivate { copyin: false } if self.role == Role::Primary => {
                    live.remove(&mine, all);
                    wanted.iter().for_each(|&s| live.add(&was, s));
                }
                // A worker's copy keeps its value between regions.
                Sharing::ThreadPrivate { .. } => {}
            }
        }
        live
    }
}

fn count(n: &Node) -> usize {
    match n {
        Node::Do(_) | Node::Candidate(_) => 0,
        Node::Sequence(v) => v.iter().map(count).sum(),
        Node::Branch { ways, .. } => ways.iter().map(count).sum(),
        Node::Loop(b) => count(b),
        Node::Parallel { body, .. } => 1 + count(body),
    }
}

/// What a thread in `role` must have in a checkpoint at each candidate of `program`. A worker's sets hold its own variables only.
pub fn live(program: &Node, role: Role) -> Live {
    let mut s = Solver { role, live: Live::new(), regions: 0 };
    s.before(program, Set::default(), &BTreeMap::new(), &mut 0);
    if role == Role::Worker {
        for set in s.live.values_mut() {
            set.0.retain(|n, _| n.contains('@'));
        }
    }
    s.live
}

/// Variables that a segment both reads from before and writes: saved at its entry, so that it can be executed again (P1's state
/// saving, without the mistake in its example).
pub fn must_be_saved(segment: &Node) -> BTreeSet<String> {
    let at_entry = live(&Node::Sequence(vec![Node::Candidate("entry"), segment.clone()]), Role::Primary);
    let mut written = BTreeSet::new();
    fn collect(n: &Node, out: &mut BTreeSet<String>) {
        match n {
            Node::Do(s) => out.extend(s.writes.iter().map(|w| w.0.clone())),
            Node::Candidate(_) => {}
            Node::Sequence(v) => v.iter().for_each(|n| collect(n, out)),
            Node::Branch { ways, .. } => ways.iter().for_each(|n| collect(n, out)),
            Node::Loop(b) => collect(b, out),
            Node::Parallel { body, sharing } => {
                let mut inner = BTreeSet::new();
                collect(body, &mut inner);
                for (n, _, how) in sharing {
                    let goes_out = matches!(how, Sharing::LastPrivate | Sharing::Reduction);
                    if !goes_out {
                        inner.remove(*n);
                    }
                }
                out.extend(inner);
            }
        }
    }
    collect(segment, &mut written);
    written.into_iter().filter(|n| at_entry["entry"].has(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Node::*;
    use Sharing::*;

    fn s(reads: &[&str], writes: &[&str]) -> Node {
        Do(Statement::scalar(reads, writes))
    }
    fn seq(v: Vec<Node>) -> Node {
        Sequence(v)
    }
    fn region(sharing: &[(&'static str, Sharing)], body: Vec<Node>) -> Node {
        Parallel {
            sharing: sharing.iter().map(|&(n, h)| (n, 1, h)).collect(),
            body: Box::new(Sequence(body)),
        }
    }
    fn names(l: &Live, c: &str) -> Vec<String> {
        l[c].names().into_iter().map(String::from).collect()
    }

    /// P1, Figure 5: x is private in the region; its outer value is not live before it, if it is not read behind it either.
    #[test]
    fn a_private_variable_hides_the_outer_one() {
        let p = |private: bool| {
            let sharing: &[_] = if private { &[("x", Private)] } else { &[] };
            seq(vec![
                s(&[], &["x"]),
                Candidate("before"),
                region(sharing, vec![s(&[], &["t"]), s(&["x"], &["y"])]),
                s(&["y"], &[]),
            ])
        };
        assert!(!live(&p(true), Role::Primary)["before"].has("x"));
        assert!(live(&p(false), Role::Primary)["before"].has("x"));
    }

    #[test]
    fn a_private_variable_read_behind_the_region_stays_live_outside() {
        let p = seq(vec![
            s(&[], &["x"]),
            Candidate("c"),
            region(&[("x", Private)], vec![s(&[], &["x"]), Candidate("in"), s(&["x"], &[])]),
            s(&["x"], &[]),
        ]);
        let l = live(&p, Role::Primary);
        assert!(l["c"].has("x") && l["in"].has("x") && l["in"].has("x@0"));
        assert_eq!(names(&live(&p, Role::Worker), "in"), ["x@0"]);
    }

    #[test]
    fn clauses_define_and_use() {
        let p =
            |how| seq(vec![Candidate("c"), region(&[("x", how)], vec![s(&["x"], &["x"])]), s(&["x"], &[])]);
        assert!(live(&p(FirstPrivate), Role::Primary)["c"].has("x"), "its value comes in");
        assert!(live(&p(Reduction), Role::Primary)["c"].has("x"), "x = x op xi");
        assert!(!live(&p(LastPrivate), Role::Primary)["c"].has("x"), "it is overwritten at the end");
        assert!(live(&p(Private), Role::Primary)["c"].has("x"), "read behind the region");
    }

    #[test]
    fn thread_private_variables_live_between_regions() {
        let own = |copyin| ThreadPrivate { copyin };
        let p = |copyin| {
            seq(vec![
                region(&[("x", own(false))], vec![s(&[], &["x"])]),
                Candidate("between"),
                region(&[("x", own(copyin))], vec![s(&["x"], &[])]),
            ])
        };
        assert_eq!(names(&live(&p(false), Role::Worker), "between"), ["x@thread"]);
        assert!(
            names(&live(&p(true), Role::Worker), "between").is_empty(),
            "the primary thread's value is copied in"
        );
        assert!(live(&p(true), Role::Primary)["between"].has("x"));
    }

    /// P3's example, the main loop of CG: of three vectors of length d, two, two and one are live at its three points.
    #[test]
    fn cg_needs_2d_2d_d_instead_of_3d() {
        const D: u64 = 1000;
        let v = |n: &str| (n.to_string(), (0, D));
        let parallel = |reads: &[&str], writes: &[&str]| Parallel {
            sharing: vec![("j", 1, Private)],
            body: Box::new(Do(Statement {
                reads: reads.iter().map(|n| v(n)).collect(),
                writes: writes.iter().map(|n| v(n)).collect(),
            })),
        };
        // x from the last iteration; z = solve(x), through r; x = z / |z|.
        let body = seq(vec![
            parallel(&["x"], &["r"]),
            Candidate("solving"),
            parallel(&["r", "x"], &["z"]),
            Candidate("norms"),
            parallel(&["x", "z"], &[]),
            parallel(&["z"], &["x"]),
            Candidate("next"),
        ]);
        let p = seq(vec![
            Do(Statement { reads: vec![], writes: vec![v("x")] }),
            Loop(Box::new(body)),
            Do(Statement { reads: vec![v("x")], writes: vec![] }),
        ]);
        let l = live(&p, Role::Primary);
        let sizes: Vec<u64> = ["solving", "norms", "next"].iter().map(|c| l[c].elements() / D).collect();
        assert_eq!(sizes, [2, 2, 1]);
        assert!(sizes.iter().sum::<u64>() * 100 <= 56 * 9, "44 % less than three vectors at three points");
    }

    /// P1's matrix multiplication: c(j,i) = a(j,k) * b(k,i) + c(j,i) inside the loops. The paper does not save c.
    #[test]
    fn the_product_matrix_must_be_saved() {
        let m = |n: &str| (n.to_string(), (0, 64));
        let update = Do(Statement { reads: vec![m("a"), m("b"), m("c")], writes: vec![m("c")] });
        let loop_ = Parallel {
            sharing: vec![("i", 1, Private), ("j", 1, Private)],
            body: Box::new(Loop(Box::new(update.clone()))),
        };
        assert_eq!(must_be_saved(&loop_), BTreeSet::from(["c".to_string()]));
        // With c set to zero in the region first, it need not be.
        let fresh = seq(vec![Do(Statement { reads: vec![], writes: vec![m("c")] }), Loop(Box::new(update))]);
        assert!(must_be_saved(&fresh).is_empty());
    }

    #[test]
    fn halves_of_arrays_are_told_apart() {
        let half = |a, b| vec![("v".to_string(), (a, b))];
        let p = seq(vec![
            Candidate("c"),
            Do(Statement { reads: vec![], writes: half(0, 60) }),
            Do(Statement { reads: half(50, 100), writes: vec![] }),
        ]);
        assert_eq!(live(&p, Role::Primary)["c"].of("v"), [(60, 100)]);
    }

    #[test]
    fn branches_and_loops_join() {
        let p = seq(vec![
            Candidate("c"),
            Branch { ways: vec![s(&[], &["x"])], maybe: true },
            Loop(Box::new(seq(vec![s(&["y"], &[]), s(&[], &["y"])]))),
            s(&["x"], &[]),
        ]);
        assert_eq!(names(&live(&p, Role::Primary), "c"), ["x", "y"]);
    }

    #[test]
    fn two_regions_have_copies_of_their_own() {
        let r = || region(&[("x", FirstPrivate)], vec![Candidate("in"), s(&["x"], &["x"])]);
        let p = seq(vec![
            r(),
            s(&[], &["x"]),
            region(&[("x", FirstPrivate)], vec![Candidate("second"), s(&["x"], &[])]),
        ]);
        assert_eq!(names(&live(&p, Role::Worker), "in"), ["x@0"]);
        assert_eq!(names(&live(&p, Role::Worker), "second"), ["x@1"]);
    }
}
