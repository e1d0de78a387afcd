//! Sections against what they must be on every way.

use super::*;
use Kind::{Back as W, Begin as B, End as E, Kernel as K, Mixed as F, Neither as N};
use proptest::prelude::*;

fn graph(n: usize, edges: &[(usize, usize)]) -> Graph {
    Graph::new(n, edges.iter().copied())
}

fn line(kinds: &[Kind]) -> (Kind, Vec<(bool, Vec<usize>)>) {
    let edges: Vec<_> = (1..kinds.len()).map(|i| (i - 1, i)).collect();
    short(sections(&graph(kinds.len(), &edges), kinds, kinds.len() - 1, true))
}

fn short((k, marks): (Kind, Vec<Mark>)) -> (Kind, Vec<(bool, Vec<usize>)>) {
    let mut m: Vec<_> = marks
        .into_iter()
        .map(|m| {
            let mut nodes = m.nodes;
            nodes.sort_unstable();
            (m.begins, nodes)
        })
        .collect();
    m.sort_by(|a, b| (a.1[0], !a.0).cmp(&(b.1[0], !b.0)));
    (k, m)
}

fn pair(begin: &[usize], end: &[usize]) -> [(bool, Vec<usize>); 2] {
    [(true, begin.to_vec()), (false, end.to_vec())]
}

#[test]
fn blocks() {
    assert_eq!(line(&[N, N]), (N, vec![]));
    assert_eq!(line(&[N, W]), (W, vec![]));
    assert_eq!(line(&[N, K, N, K, N]), (K, pair(&[1], &[3]).to_vec()));
    // Before each write-back, and after it.
    let expected = [pair(&[0], &[1]), pair(&[3], &[3])].concat();
    assert_eq!(line(&[K, K, W, K, N, W]), (F, expected));
    // A kernel that brings its data back cuts, too.
    assert_eq!(line(&[K, F, K]), (F, [pair(&[0], &[0]), pair(&[2], &[2])].concat()));
}

#[test]
fn branches() {
    // 0 → 1 (condition) → 2 | 3 → 4
    let g = graph(5, &[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)]);
    let s = |kinds: [Kind; 5]| short(sections(&g, &kinds, kinds.len() - 1, true));
    // Marks go in front of the condition and behind the whole …
    assert_eq!(s([K, N, K, N, N]), (K, vec![(true, vec![0]), (false, vec![1, 2, 3])]));
    assert_eq!(s([N, N, K, N, K]), (K, pair(&[1, 2, 3], &[4]).to_vec()));
    // … but the kernel of a branch that would get both is a section by itself, as it is beside a
    // write-back.
    assert_eq!(s([N, N, K, N, W]), (F, pair(&[2], &[2]).to_vec()));
    assert_eq!(s([N, N, K, W, N]), (F, pair(&[2], &[2]).to_vec()));
    let both = [pair(&[2], &[2]), pair(&[3], &[3])].concat();
    assert_eq!(s([N, N, K, K, W]), (F, both));
    // if without else
    let g = graph(4, &[(0, 1), (1, 2), (1, 3), (2, 3)]);
    let s = |kinds: [Kind; 4]| short(sections(&g, &kinds, kinds.len() - 1, true));
    assert_eq!(s([K, N, K, W]), (F, vec![(true, vec![0]), (false, vec![1, 2])]));
    assert_eq!(s([K, N, W, K]), (F, [pair(&[0], &[0]), pair(&[3], &[3])].concat()));
}

#[test]
fn loops() {
    // 0 → 1 (condition) ⇄ 2, 1 → 3
    let g = graph(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
    let s = |kinds: [Kind; 4]| sections(&g, &kinds, 3, true);
    let (k, m) = s([N, N, K, W]);
    let around = |begins| Mark { begins, nodes: vec![1, 2], inside: false };
    assert_eq!((k, m), (F, vec![around(true), around(false)]));
    assert_eq!(s([N, N, K, N]).1, vec![around(true), around(false)]);
    // do-while with a write-back in each iteration: 0 → 1 K → 2 W → 3 (condition) → 1 | 4
    let g = graph(5, &[(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)]);
    assert_eq!(
        short(sections(&g, &[N, K, W, N, K], 4, true)),
        (F, [pair(&[1], &[1]), pair(&[4], &[4])].concat())
    );
    // do-while without one, which comes behind it: 0 → 1 K → 2 (condition) → 1 | 3 W
    let g = graph(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]);
    let m = sections(&g, &[N, K, N, W], 3, true).1;
    assert!(m.iter().all(|m| m.nodes.len() == 2 && !m.inside) && m.len() == 2, "{m:?}");
    // A loop of itself.
    let g = graph(3, &[(0, 1), (1, 1), (1, 2)]);
    let m = sections(&g, &[N, K, N], 2, true).1;
    assert_eq!(m.iter().map(|m| (m.begins, m.nodes.clone())).collect::<Vec<_>>(), pair(&[1], &[1]));
    assert!(m.iter().all(|m| !m.inside));
}

#[test]
fn marks_by_hand() {
    let line = |kinds: &[Kind]| {
        let edges: Vec<_> = (1..kinds.len()).map(|i| (i - 1, i)).collect();
        check(&graph(kinds.len(), &edges), kinds).into_iter().map(|w| w.0).collect::<Vec<_>>()
    };
    assert!(line(&[N, B, K, N, K, E, W, B, K, E]).is_empty());
    assert_eq!(line(&[N, K, B, E]), [1]);
    assert_eq!(line(&[B, K, W, E]), [2]);
    assert_eq!(line(&[B, B, E, E]), [1, 3]);
    assert_eq!(line(&[B, K]), [1]);
    assert_eq!(line(&[B, F, E]), [1]);
    // On one way only.
    let g = graph(4, &[(0, 1), (0, 2), (1, 2), (2, 3)]);
    assert_eq!(check(&g, &[N, B, K, E]).len(), 2);
}

/// Walks through the graph and checks P4's rules on the way.
fn walk(g: &Graph, kinds: &[Kind], marks: &[Mark], mut choices: u64) -> Result<(), TestCaseError> {
    let (mut at, mut from, mut open) = (0, usize::MAX, false);
    for _ in 0..60 {
        // On the edge: what ends, then what begins.
        for begins in [false, true] {
            for m in marks.iter().filter(|m| m.begins == begins) {
                let crosses = match (m.begins, m.inside) {
                    (true, true) => m.nodes[0] == at,
                    (true, false) => m.nodes.contains(&at) && !m.nodes.contains(&from),
                    (false, _) => m.nodes.contains(&from) && !m.nodes.contains(&at),
                };
                if crosses {
                    prop_assert_eq!(open, !begins, "at {} {:?}", at, marks);
                    open = begins;
                }
            }
        }
        prop_assert!(kinds[at] != K || open, "kernel {} outside: {:?}", at, marks);
        prop_assert!(kinds[at] != W || !open, "write-back {} inside: {:?}", at, marks);
        let next = g.successors(at);
        if next.is_empty() {
            break;
        }
        from = at;
        at = next[(choices % next.len() as u64) as usize];
        choices = choices.rotate_right(3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn the_rules_hold_on_every_way(
        n in 1usize..12,
        edges in prop::collection::vec((0usize..12, 0usize..12), 0..20),
        kinds in prop::collection::vec(prop::sample::select(vec![N, N, K, K, W]), 12),
        choices in prop::collection::vec(any::<u64>(), 4),
    ) {
        // A way through all of them, and more edges anywhere.
        // Nothing leads back to the entry.
        let more = edges.into_iter().map(|(a, b)| (a % n, b % n)).filter(|e| e.1 != 0);
        let g = graph(n, &(1..n).map(|i| (i - 1, i)).chain(more).collect::<Vec<_>>());
        let (_, marks) = sections(&g, &kinds[..n], n - 1, true);
        for c in choices {
            walk(&g, &kinds, &marks, c)?;
        }
    }
}
