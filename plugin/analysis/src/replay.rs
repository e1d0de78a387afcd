//! May a segment be executed again?
//!
//! A *segment* is the code that can be executed between one runtime call (its entry) and the next ones. After
//! a failure in it the private state (registers, stack) is put back to what it was at the entry, and the
//! segment is executed again. That gives the failure-free result if no location that is *exposed* (read
//! before the segment itself has written it) is one that the segment writes: a partial execution then leaves
//! every value that will be read as it was.
//!
//! - **Idempotent**: no write can touch an exposed location.
//! - **Undo**: some may; the old values of those writes are saved before they happen and put back before the segment is
//!   executed again. Which reads they could have met does not matter then: at a race-free program's replay every location this
//!   segment writes holds its value from the entry, and no other thread touches it.
//! - **Opaque**: the segment does something that memory does not show (input and output, unknown functions, volatile accesses).
//!
//! The rule is on whole segments, not on single iterations: it does not lean on the iterations' independence.
//!
//! A read is covered only by a write of the *same expression* that dominates it within the segment. In SSA form the two then name
//! the same location: on a path between them no name in the expression can get a new value, since each definition dominates the write and a path
//! from it to the read leads through the write.

use crate::graph::Graph;

/// A location, as an expression of the program.
#[derive(Clone, Debug)]
pub struct Place {
    /// The variable, or what a pointer points to.
    pub object: u32,
    /// Bytes within the object, if they are the same whenever the segment is executed: offset and length. A variable, or a
    /// pointer that does not change.
    pub fixed: Option<(i64, i64)>,
}

/// An access to memory that others can see.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// In this node of the segment's graph; accesses of a node come in program order.
    pub node: usize,
    /// To this location.
    pub place: usize,
    /// Does it write (or read)?
    pub writes: bool,
    /// The location is written whole, whenever control passes: reads behind it are covered.
    pub whole: bool,
    /// An atomic read-modify-write. The runtime never executes work behind one again; where nothing follows, it does not count.
    pub atomic: bool,
    /// An atomic addition that is taken back before the work is executed again (plugin/src/segments/additions.cc).
    pub adds: bool,
    /// Source line.
    pub line: u32,
    /// An access that writes a block (memset, memcpy) through the same pointer before. Within the block it has written last, reads
    /// are covered; whether an access lies within it is seen when the program runs.
    pub fill: Option<usize>,
    /// Nothing is known of it before the program is linked: what a function of another unit may do. It takes
    /// no part in the verdict, only in [`pairs`].
    pub assumed: bool,
}

/// Something that cannot be executed twice.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Completes "opaque: ".
    pub what: String,
    /// Source line.
    pub line: u32,
    /// Where it is.
    pub node: usize,
}

/// A segment.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// Control flow; node 0 is the entry.
    pub graph: Graph,
    /// Locations.
    pub places: Vec<Place>,
    /// Accesses, grouped by node, in program order.
    pub accesses: Vec<Access>,
    /// Effects.
    pub effects: Vec<Effect>,
    /// Nodes that end where more work of the same construct is asked for.
    pub asks: Vec<usize>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// May be executed again as it is.
    Idempotent,
    /// May be executed again when the old values of these accesses have been put back.
    Undo {
        /// In the order of the accesses.
        writes: Vec<Saved>,
        /// An exposed read and a write that may meet.
        because: (usize, usize),
    },
    /// May not be executed again.
    Opaque {
        /// Completes "opaque: ".
        why: String,
        /// Source line.
        line: u32,
    },
}

/// A write whose old value must be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// An access.
    pub write: usize,
    /// Only where the access lies outside of the block of its fill.
    pub outside: bool,
    /// The exposed reads that it may meet. If it turns out when the program runs that it meets none of them, nothing needs to be saved.
    pub meets: Vec<usize>,
}

/// What is known about objects.
pub trait Aliases {
    /// Can two objects overlap? An object overlaps itself.
    fn may_overlap(&self, a: u32, b: u32) -> bool;
}

impl<F: Fn(u32, u32) -> bool> Aliases for F {
    fn may_overlap(&self, a: u32, b: u32) -> bool {
        self(a, b)
    }
}

/// Decides on `s`.
pub fn decide(s: &Segment, aliases: &dyn Aliases) -> Verdict {
    if let Some(e) = s.effects.first() {
        return Verdict::Opaque { why: e.what.clone(), line: e.line };
    }
    if let Some(a) = s.accesses.iter().enumerate().find(|(i, a)| a.atomic && !a.adds && goes_on_behind(s, *i))
    {
        return Verdict::Opaque { why: "atomic update".into(), line: a.1.line };
    }
    let mut exposed: Vec<usize> = exposed(s);
    exposed.retain(|&r| !s.accesses[r].assumed);
    let mut because = None;
    let mut writes = Vec::new();
    let counts = |a: &Access| a.writes && (a.adds || !a.atomic) && !a.assumed;
    for (w, write) in s.accesses.iter().enumerate().filter(|(_, a)| counts(a)) {
        if write.adds {
            // Whether or not anything is read.
            because.get_or_insert((w, w));
            writes.push(Saved { write: w, outside: false, meets: Vec::new() });
            continue;
        }
        let met: Vec<usize> = exposed
            .iter()
            .copied()
            .filter(|&r| !behind_its_fill(s, r, w) && meet(s, aliases, s.accesses[r].place, write.place))
            .collect();
        if let Some(&r) = met.first() {
            because.get_or_insert((r, w));
            let outside = write.fill.is_some() && met.iter().all(|&r| s.accesses[r].fill == write.fill);
            writes.push(Saved { write: w, outside, meets: met });
        }
    }
    match because {
        None => Verdict::Idempotent,
        Some(because) => Verdict::Undo { writes, because },
    }
}

/// The exposed reads and the writes that may meet, where one at least is assumed: if both turn out to happen,
/// the write's old value is needed.
pub fn pairs(s: &Segment, aliases: &dyn Aliases) -> Vec<(usize, usize)> {
    if !s.accesses.iter().any(|a| a.assumed) {
        return Vec::new();
    }
    let exposed = exposed(s);
    let writes = || (0..s.accesses.len()).filter(|&w| s.accesses[w].writes && !s.accesses[w].atomic);
    let meets = |r: usize, w: usize| {
        (s.accesses[r].assumed || s.accesses[w].assumed)
            && meet(s, aliases, s.accesses[r].place, s.accesses[w].place)
    };
    exposed.iter().flat_map(|&r| writes().filter(move |&w| meets(r, w)).map(move |w| (r, w))).collect()
}

/// Is `w` the fill of read `r`, and can it not change what `r` has read? Such a read is exposed outside of the block last filled only.
/// There the next fill of a loop could strike, unless a write of the same expression follows the read: its old value is saved.
fn behind_its_fill(s: &Segment, r: usize, w: usize) -> bool {
    let (read, fill) = (&s.accesses[r], &s.accesses[w]);
    read.fill == Some(w)
        && (!(s.graph.behind(read.node)[fill.node] || (fill.node == read.node && w > r))
            || s.accesses[r + 1..].iter().any(|x| {
                x.writes && !x.atomic && x.node == read.node && x.place == read.place && x.fill == read.fill
            }))
}

fn meet(s: &Segment, aliases: &dyn Aliases, a: usize, b: usize) -> bool {
    let (a, b) = (&s.places[a], &s.places[b]);
    match (a.fixed, b.fixed) {
        (Some((x, n)), Some((y, m))) if a.object == b.object => {
            x < y.saturating_add(m) && y < x.saturating_add(n)
        }
        _ => aliases.may_overlap(a.object, b.object),
    }
}

/// The reads that can see a value from before the segment.
pub fn exposed(s: &Segment) -> Vec<usize> {
    let dom = s.graph.dominators();
    let covers = |w: usize, r: usize| {
        let (a, b) = (&s.accesses[w], &s.accesses[r]);
        a.writes
            && a.whole
            && !a.atomic
            && !a.assumed
            && a.place == b.place
            && if a.node == b.node { w < r } else { dom[b.node].contains(a.node) }
    };
    (0..s.accesses.len())
        .filter(|&r| !s.accesses[r].writes && !s.accesses[r].atomic)
        .filter(|&r| !(0..s.accesses.len()).any(|w| covers(w, r)))
        .collect()
}

/// Is there a write, or a request for more work, behind the access?
fn goes_on_behind(s: &Segment, access: usize) -> bool {
    let a = &s.accesses[access];
    let behind = s.graph.behind(a.node);
    let later = |i: usize, b: &Access| {
        if b.node == a.node { i > access || (behind[b.node] && !b.atomic) } else { behind[b.node] }
    };
    s.accesses.iter().enumerate().any(|(i, b)| i != access && b.writes && !b.atomic && later(i, b))
        || s.asks.iter().any(|&n| n == a.node || behind[n])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(node: usize, place: usize) -> Access {
        Access {
            node,
            place,
            writes: false,
            whole: false,
            atomic: false,
            adds: false,
            line: 1,
            fill: None,
            assumed: false,
        }
    }
    fn write(node: usize, place: usize) -> Access {
        Access { writes: true, whole: true, line: 2, ..read(node, place) }
    }
    fn variable(object: u32) -> Place {
        Place { object, fixed: None }
    }
    fn straight(accesses: Vec<Access>) -> Segment {
        Segment {
            graph: Graph::new(2, [(0, 1)]),
            places: (0..4).map(variable).collect(),
            accesses,
            ..Segment::default()
        }
    }
    const APART: fn(u32, u32) -> bool = |a, b| a == b;
    fn saved(write: usize, outside: bool, meets: &[usize]) -> Saved {
        Saved { write, outside, meets: meets.to_vec() }
    }

    #[test]
    fn reading_one_and_writing_another_is_idempotent() {
        let s = straight(vec![read(0, 0), write(0, 1)]);
        assert_eq!(decide(&s, &APART), Verdict::Idempotent);
    }

    #[test]
    fn an_update_needs_undo() {
        let s = straight(vec![read(0, 0), write(0, 0)]);
        assert_eq!(
            decide(&s, &APART),
            Verdict::Undo { writes: vec![saved(1, false, &[0])], because: (0, 1) }
        );
    }

    #[test]
    fn a_read_behind_the_write_is_covered() {
        assert_eq!(decide(&straight(vec![write(0, 0), read(1, 0)]), &APART), Verdict::Idempotent);
        assert_eq!(
            decide(&straight(vec![write(0, 0), read(0, 0), write(1, 0)]), &APART),
            Verdict::Idempotent
        );
    }

    #[test]
    fn a_conditional_write_covers_nothing() {
        // 0 -> 1 (writes) -> 2 (reads), 0 -> 2
        let mut s = straight(vec![write(1, 0), read(2, 0)]);
        s.graph = Graph::new(3, [(0, 1), (1, 2), (0, 2)]);
        assert!(matches!(decide(&s, &APART), Verdict::Undo { .. }));
    }

    #[test]
    fn a_write_in_a_later_iteration_meets_an_earlier_read() {
        // A loop at node 1: reads before it writes.
        let mut s = straight(vec![read(1, 0), write(2, 0)]);
        s.graph = Graph::new(4, [(0, 1), (1, 2), (2, 1), (1, 3)]);
        assert!(matches!(decide(&s, &APART), Verdict::Undo { .. }));
    }

    #[test]
    fn possible_aliases_count() {
        let s = straight(vec![read(0, 0), write(0, 1)]);
        assert!(matches!(decide(&s, &|_, _| true), Verdict::Undo { .. }));
    }

    #[test]
    fn parts_of_one_object_are_told_apart() {
        let mut s = straight(vec![read(0, 0), write(0, 1)]);
        s.places = vec![Place { object: 7, fixed: Some((0, 8)) }, Place { object: 7, fixed: Some((8, 8)) }];
        assert_eq!(decide(&s, &APART), Verdict::Idempotent);
        s.places[1].fixed = Some((7, 8));
        assert!(matches!(decide(&s, &APART), Verdict::Undo { .. }));
    }

    #[test]
    fn an_atomic_at_the_end_is_the_runtimes_affair_one_in_a_loop_is_not() {
        let merge = Access { atomic: true, ..write(1, 0) };
        let mut s = straight(vec![read(0, 1), merge]);
        assert_eq!(decide(&s, &APART), Verdict::Idempotent);
        s.graph = Graph::new(2, [(0, 1), (1, 1)]);
        assert_eq!(decide(&s, &APART), Verdict::Idempotent, "its own retry loop");
        s.asks = vec![1];
        assert!(matches!(decide(&s, &APART), Verdict::Opaque { .. }));
    }

    #[test]
    fn additions_are_taken_back_whatever_is_read() {
        let add = Access { atomic: true, adds: true, ..write(1, 0) };
        let mut s = straight(vec![read(0, 1), add, write(1, 2)]);
        s.asks = vec![1];
        let undo = Verdict::Undo { writes: vec![saved(1, false, &[])], because: (1, 1) };
        assert_eq!(decide(&s, &APART), undo);
        // Beside another atomic update: not known to the runtime as one that is taken back.
        s.accesses.push(Access { adds: false, ..add });
        assert!(matches!(decide(&s, &APART), Verdict::Opaque { .. }));
        // A read that covers nothing: the value from before comes back.
        let s = straight(vec![read(0, 0), add]);
        assert_eq!(decide(&s, &APART), Verdict::Undo { writes: vec![saved(1, false, &[])], because: (1, 1) });
    }

    #[test]
    fn a_block_that_was_filled_needs_undo_outside_of_it_only() {
        // memset(p); p[i]++, and a read through another pointer that may lead there.
        let mut s = straight(vec![write(0, 0), read(0, 1), write(0, 1), read(0, 2)]);
        s.accesses[0].whole = false;
        s.accesses[1].fill = Some(0);
        s.accesses[2].fill = Some(0);
        s.accesses[2].whole = false;
        let same = |a: u32, b: u32| a == b || (a < 2 && b < 2);
        assert_eq!(decide(&s, &same), Verdict::Undo { writes: vec![saved(2, true, &[1])], because: (1, 2) });
        let Verdict::Undo { writes, .. } = decide(&s, &|_, _| true) else { panic!("they may meet") };
        assert_eq!(writes, [saved(0, false, &[3]), saved(2, false, &[1, 3])]);
    }

    #[test]
    fn a_read_outside_of_its_block_meets_the_next_fill() {
        // A loop at node 1 fills a block and reads.
        let fill = Access { whole: false, ..write(1, 0) };
        let behind = |a: Access| Access { fill: Some(0), ..a };
        let mut s = straight(vec![fill, behind(read(1, 1))]);
        s.graph = Graph::new(2, [(0, 1)]);
        let same = |a: u32, b: u32| a / 2 == b / 2;
        assert_eq!(decide(&s, &same), Verdict::Idempotent);
        s.graph = Graph::new(2, [(0, 1), (1, 1)]);
        assert_eq!(decide(&s, &same), Verdict::Undo { writes: vec![saved(0, false, &[1])], because: (1, 0) });
        // Updated, its old value is saved outside of the block.
        s.accesses.push(behind(write(1, 1)));
        assert_eq!(decide(&s, &same), Verdict::Undo { writes: vec![saved(2, true, &[1])], because: (1, 2) });
    }

    #[test]
    fn effects_are_opaque() {
        let mut s = straight(vec![]);
        s.effects.push(Effect { what: "calls printf".into(), line: 3, node: 0 });
        assert_eq!(decide(&s, &APART), Verdict::Opaque { why: "calls printf".into(), line: 3 });
    }

    #[test]
    fn what_is_assumed_counts_in_pairs_only() {
        let assumed = |a: Access| Access { assumed: true, ..a };
        // A value is written, a call may read and write it, and what another pointer leads to.
        let s = straight(vec![
            write(0, 0),
            assumed(read(0, 0)),
            assumed(read(0, 1)),
            assumed(write(1, 1)),
            read(1, 2),
        ]);
        assert_eq!(decide(&s, &APART), Verdict::Idempotent);
        assert_eq!(pairs(&s, &APART), [(2, 3)], "the first read is covered");
        assert_eq!(pairs(&s, &|_, _| true), [(2, 0), (2, 3), (4, 3)], "two that are known are no pair");
        assert!(pairs(&straight(vec![read(0, 0), write(0, 0)]), &APART).is_empty());
    }

    // Executes a segment's accesses along a path: what is read goes into what is written.
    fn run(
        s: &Segment,
        path: &[usize],
        memory: &mut [u64],
        stop: usize,
        log: Option<&[usize]>,
    ) -> Vec<(usize, u64)> {
        let (mut register, mut steps, mut old) = (1u64, 0, Vec::new());
        for &n in path {
            for (i, a) in s.accesses.iter().enumerate().filter(|(_, a)| a.node == n) {
                if steps == stop {
                    return old;
                }
                steps += 1;
                let at = s.places[a.place].object as usize;
                if a.writes {
                    if log.is_some_and(|l| l.contains(&i)) {
                        old.push((at, memory[at]));
                    }
                    register = register.wrapping_mul(31).wrapping_add(i as u64);
                    memory[at] = register;
                } else {
                    register = register.wrapping_mul(17).wrapping_add(memory[at]);
                }
            }
        }
        old
    }

    proptest! {
        /// By interpretation: stopped anywhere, undone as the verdict says, and executed again, every path gives the same memory.
        #[test]
        fn executing_again_gives_the_same_memory(
            edges in prop::collection::vec((0usize..5, 0usize..5), 1..12),
            raw in prop::collection::vec((0usize..5, 0usize..3, any::<bool>()), 0..10),
            steps in prop::collection::vec(0usize..4, 0..12),
            stop in 0usize..30,
        ) {
            let mut accesses: Vec<Access> = raw.iter().map(|&(n, p, w)| if w { write(n, p) } else { read(n, p) }).collect();
            accesses.sort_by_key(|a| a.node);
            let s = Segment { graph: Graph::new(5, edges), places: (0..3).map(variable).collect(), accesses, ..Segment::default() };
            let mut path = vec![0];
            for k in steps {
                let next = s.graph.successors(*path.last().unwrap());
                if next.is_empty() { break; }
                path.push(next[k % next.len()]);
            }
            let undo = match decide(&s, &APART) { Verdict::Undo { writes, .. } => writes.into_iter().map(|w| w.write).collect(), _ => vec![] };
            let first = [11u64, 22, 33];
            let mut expected = first;
            run(&s, &path, &mut expected, usize::MAX, None);
            let mut memory = first;
            for (at, v) in run(&s, &path, &mut memory, stop, Some(&undo)).into_iter().rev() {
                memory[at] = v;
            }
            run(&s, &path, &mut memory, usize::MAX, None);
            prop_assert_eq!(memory, expected);
        }
    }
}
