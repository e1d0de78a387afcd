//! The team barrier: a combining tree, and for two members an exchange of notes.
//!
//! **Tree.** The members, in groups of four, arrive at the tree's leaves: each takes one off the leaf's
//! counter. The last of a group arrives at the node above for all of them, and so on; who is the last at
//! the root has come last of all. Nobody else waits for anything but the end, so it makes no difference
//! who sleeps, or whose CPU computes something else. Members count their rounds. At the end of round r
//! the last one stores r at the root; who waits there and was the last of its group stores it at the node
//! below, and so on: each line has a few readers only. Whoever waits at a node may look at the root
//! instead, and does so before it sleeps.
//!
//! States of a node: round r with k arrivals still to come. To arrive is `fetch_sub` (release: what was
//! written before the barrier, acquire for the last one: what the others wrote); the last one sets the
//! counter for the next round before it goes on, and nobody can arrive in that before this one has ended.
//! The round's number is stored as a release and loaded with acquire. It never goes back: who passes it
//! on is itself one of the node's next round.
//!
//! **Two members** tell each other: each stores the number of its round in its own line (release: what it
//! wrote before the barrier) and waits until the other's is not lower (acquire). The lines travel at the
//! same time. Rounds are counted for as long as the team lives, so nothing is reset; only where one
//! member may have left out a barrier (cancellation) both begin anew, while neither is inside. With its
//! note a member says whether the team has had tasks: if either says so, both go on to the tree, whose
//! last arriver waits for the tasks. They cannot disagree: a member whose note is one round ahead has
//! passed, so neither note had said so.
//!
//! **Failing members.** Arrival belongs to the logical thread: a host that fails before its logical
//! thread has arrived is replaced, and the new host arrives; one that fails afterwards does so in the
//! runtime, where the stop waits until the barrier is passed. So every round ends after exactly n
//! arrivals, whoever hosts them. Models: tests/loom/src/barriers.rs.

use crate::sys::sync::{AtomicU32, AtomicU64, Ordering::*, touch};
use crossbeam_utils::CachePadded;

/// How members are grouped: by how many bits their numbers become shorter from level to level.
const BY: u32 = 2;

/// A team's tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    n: u32,
    by: u32,
}

impl Shape {
    /// For `n` members.
    pub(crate) fn of(n: u32) -> Self {
        Self { n, by: BY }
    }

    /// A binary tree, for the models.
    #[cfg(test)]
    pub(crate) fn binary(n: u32) -> Self {
        Self { n, by: 1 }
    }

    /// The groups of `width` members of a level.
    fn groups(self, width: u32) -> u32 {
        (width + ((1 << self.by) - 1)) >> self.by
    }

    /// Nodes of all levels.
    fn nodes(self) -> u32 {
        let (mut width, mut sum) = (self.n.max(1), 0);
        loop {
            width = self.groups(width);
            sum += width;
            if width == 1 {
                return sum;
            }
        }
    }

    /// Of group `i` of `width` members: how many it has.
    fn size(self, width: u32, i: u32) -> u32 {
        (width - (i << self.by)).min(1 << self.by)
    }
}

/// One of the tree's nodes: arrivals to come, and the last round that has ended. Those who wait look at
/// the second all the time.
#[derive(Default)]
struct Node {
    remaining: CachePadded<AtomicU32>,
    ended: CachePadded<AtomicU32>,
}

impl Node {
    fn has_ended(&self, round: u32) -> bool {
        touch(&self.ended);
        self.ended.load(Acquire).wrapping_sub(round).cast_signed() >= 0
    }

    fn end(&self, round: u32) {
        touch(&self.ended);
        self.ended.store(round, Release);
    }
}

/// See the module's text.
pub(crate) struct Barrier {
    nodes: Box<[Node]>,
    /// The tree's shape: members, and bits; and the number of its root.
    shape: [AtomicU32; 2],
    root: AtomicU32,
    notes: [CachePadded<AtomicU64>; 2],
}

/// How a member has arrived.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    me: u32,
    round: u32,
    /// The node that it waits at.
    at: u32,
    /// How many groups it was the last of.
    won: u32,
    /// Did it come last of all? Then it calls [`Barrier::release`].
    pub last: bool,
}

impl Barrier {
    /// For up to as many members as `largest` has.
    pub(crate) fn new(largest: Shape) -> Self {
        let barrier = Self {
            nodes: (0..largest.nodes()).map(|_| Node::default()).collect(),
            shape: Default::default(),
            root: AtomicU32::default(),
            notes: Default::default(),
        };
        barrier.reset(largest);
        barrier
    }

    fn shape(&self) -> Shape {
        Shape { n: self.shape[0].load(Relaxed), by: self.shape[1].load(Relaxed) }
    }

    /// Prepares for rounds of members in `shape`, the first of which is number 1. No member may be inside.
    pub(crate) fn reset(&self, shape: Shape) {
        self.shape[0].store(shape.n, Relaxed);
        self.shape[1].store(shape.by, Relaxed);
        self.root.store(shape.nodes() - 1, Relaxed);
        let (mut width, mut first) = (shape.n, 0);
        loop {
            let groups = shape.groups(width);
            for i in 0..groups {
                let node = &self.nodes[(first + i) as usize];
                node.remaining.store(shape.size(width, i), Relaxed);
                node.ended.store(0, Relaxed);
            }
            if groups <= 1 {
                return;
            }
            (width, first) = (groups, first + groups);
        }
    }

    /// Member `me` arrives in its round number `round`.
    #[inline]
    pub(crate) fn arrive(&self, me: u32, round: u32) -> Arrival {
        let shape = self.shape();
        let (mut i, mut width, mut first, mut won) = (me, shape.n, 0, 0);
        loop {
            let (group, groups) = (i >> shape.by, shape.groups(width));
            let at = first + group;
            let node = &self.nodes[at as usize];
            let size = shape.size(width, group);
            if size > 1 {
                touch(&node.remaining);
                if node.remaining.fetch_sub(1, AcqRel) != 1 {
                    return Arrival { me, round, at, won, last: false };
                }
                node.remaining.store(size, Relaxed);
            }
            if groups == 1 {
                return Arrival { me, round, at, won, last: true };
            }
            (i, width, first, won) = (group, groups, first + groups, won + 1);
        }
    }

    /// Has the round ended, as far as is known where the member waits?
    #[inline]
    pub(crate) fn passed(&self, a: Arrival) -> bool {
        self.nodes[a.at as usize].has_ended(a.round)
    }

    /// Has the round ended?
    #[inline]
    pub(crate) fn passed_by_all(&self, a: Arrival) -> bool {
        self.nodes[self.root.load(Relaxed) as usize].has_ended(a.round)
    }

    /// The last of all ends the round. Like everybody else it calls [`Barrier::pass_on`] then.
    #[inline]
    pub(crate) fn release(&self, a: Arrival) {
        self.nodes[a.at as usize].end(a.round);
    }

    /// The round has ended: those who wait at nodes below may know.
    #[inline]
    pub(crate) fn pass_on(&self, a: Arrival) {
        if a.won > 0 {
            self.tell_below(a);
        }
    }

    #[inline(never)]
    fn tell_below(&self, a: Arrival) {
        let shape = self.shape();
        for level in (0..a.won).rev() {
            let (mut i, mut width, mut first) = (a.me >> shape.by, shape.n, 0);
            for _ in 0..level {
                width = shape.groups(width);
                first += width;
                i >>= shape.by;
            }
            self.nodes[(first + i) as usize].end(a.round);
        }
    }

    /// Member `me` of two has come to its barrier number `round`; `busy`: the team has had tasks.
    #[inline]
    pub(crate) fn tell(&self, me: usize, round: u64, busy: bool) {
        touch(&self.notes[me]);
        self.notes[me].store(round << 1 | u64::from(busy), Release);
    }

    /// Has the other member come to barrier number `round`?
    #[inline]
    pub(crate) fn is_met(&self, me: usize, round: u64) -> bool {
        touch(&self.notes[1 - me]);
        self.notes[1 - me].load(Acquire) >> 1 >= round
    }

    /// Both have come to barrier number `round`; `busy` as `me` has told. Do they go on to the tree?
    #[inline]
    pub(crate) fn goes_on(&self, me: usize, round: u64, busy: bool) -> bool {
        let theirs = self.notes[1 - me].load(Relaxed);
        theirs >> 1 == round && (busy || theirs & 1 != 0)
    }

    /// Both members' rounds begin at 0 again. No member may be inside.
    pub(crate) fn forget(&self) {
        self.notes.iter().for_each(|n| n.store(0, Relaxed));
    }
}
