//! Assembles small programs, and runs them.

use super::super::dead;
use super::{BYTES, LONG, SIZE};
use Word::{At, Here, Item, N};
use promp_layouts::{FORESIGHT_MAGIC as MAGIC, Instruction as I, Op};

/// A word: a number, where a record is, so many words behind the record's beginning, an item.
#[derive(Clone, Copy)]
pub(super) enum Word {
    N(u64),
    At(usize),
    Here(u64),
    Item(usize, u64),
}

pub(super) fn n(x: i64) -> [Word; 2] {
    [N(0), N(x as u64)]
}
pub(super) fn r(register: u64) -> [Word; 2] {
    [N(1), N(register)]
}

pub(super) fn block(code: &[&[Word]]) -> Vec<Word> {
    [[Here(2), N(0)].as_slice(), &code.concat()].concat()
}
/// From one block to another, maybe into a loop, and registers that get numbers.
pub(super) fn edge(to: usize, into: Option<usize>, moves: &[(u64, i64)]) -> Vec<Word> {
    let mut e = vec![At(to), into.map_or(N(0), At), N(moves.len() as u64)];
    moves.iter().for_each(|m| e.extend([N(m.0), N(0), N(m.1 as u64)]));
    e
}
pub(super) fn jump(edge: usize) -> Vec<Word> {
    vec![N(I::Jump as u64), At(edge)]
}
/// Is the register not 0?
pub(super) fn test(register: u64, yes: usize, no: usize) -> Vec<Word> {
    [&[N(I::Test as u64), N(Op::Ne as u64), N(LONG)], &r(register)[..], &n(0), &[At(yes), At(no)]].concat()
}
pub(super) fn assign(op: Op, register: u64, a: [Word; 2], b: [Word; 2]) -> Vec<Word> {
    [&[N(I::Assign as u64), N(op as u64), N(register), N(SIZE), N(SIZE)], &a[..], &b].concat()
}
pub(super) fn load(register: u64, at: [Word; 2]) -> Vec<Word> {
    [&[N(I::Load as u64), N(register), N(LONG), N(8)], &at[..]].concat()
}
pub(super) fn store(at: [Word; 2]) -> Vec<Word> {
    [&[N(I::Store as u64), N(8), N(1)], &at[..], &[N(3), N(0)]].concat()
}
pub(super) fn fill(at: u64, bytes: i64) -> Vec<Word> {
    [&[N(I::Fill as u64), N(1)], &n(at as i64)[..], &n(bytes)].concat()
}
pub(super) fn back() -> Vec<Word> {
    vec![N(I::Return as u64), N(3), N(0)]
}
/// Register 0 from `from` by `step`, tested at the end; others: register, first value, step.
pub(super) fn whole(
    header: usize,
    (from, step): ([Word; 2], i64),
    (op, bound): (Op, [Word; 2]),
    leaves: usize,
    others: &[(u64, i64, i64)],
) -> Vec<Word> {
    let mut l = vec![N(1), At(header), N(1), N(op as u64), N(LONG), N(0), N(step as u64)];
    l.extend(bound);
    l.extend([At(leaves), N(1 + others.len() as u64), N(0), N(1)]);
    l.extend(from);
    l.extend([N(step as u64), N(LONG)]);
    for o in others {
        l.extend([N(o.0), N(1), N(0), N(o.1 as u64), N(o.2 as u64), N(LONG)]);
    }
    l.extend([N(1), Item(header, 2)]);
    l
}

/// The words of a program whose records are these; the first block is record 0.
pub(super) fn program(in_region: bool, records: &[Vec<Word>]) -> Vec<u64> {
    let function = vec![N(16), N(64), N(0), At(0), N(0), N(0)];
    let all: Vec<&Vec<Word>> = records.iter().chain([&function]).collect();
    let mut offsets = vec![7];
    for r in &all {
        offsets.push(offsets[offsets.len() - 1] + r.len() as u64);
    }
    let mut words = vec![MAGIC, 0, 0, offsets[records.len()], offsets[0] + 2, in_region.into(), 0];
    for (k, r) in all.iter().enumerate() {
        words.extend(r.iter().map(|w| match w {
            N(x) => *x,
            At(k) => offsets[*k],
            Here(by) => offsets[k] + by,
            Item(k, flags) => offsets[*k] << 2 | flags,
        }));
    }
    words[1] = words.len() as u64;
    words
}

pub(super) fn run(words: &[u64]) -> Vec<(u64, u64)> {
    let all = dead(words, &[], 1, &|_, to| {
        to.fill(0);
        true
    });
    all.into_iter().map(|(a, b)| (a as u64, b as u64)).collect()
}
pub(super) fn of(in_region: bool, records: &[Vec<Word>]) -> Vec<(u64, u64)> {
    run(&program(in_region, records))
}
pub(super) fn all_of(at: u64) -> (u64, u64) {
    (at, at + BYTES)
}
