//! Small programs, written by hand, and what is dead behind them; then damaged ones.

mod assembler;

use super::loop_footprint::repetitions;
use super::value::Type;
use Word::{At, Here, Item, N};
use assembler::*;
use promp_layouts::{FORESIGHT_NONE as NONE, Instruction as I, Op};

/// Memory with nothing in it, of so many bytes each.
const X: u64 = 0x10000;
const Y: u64 = 0x20000;
const BYTES: u64 = 4096;
const LONG: u64 = 64 | 1 << 8;
const SIZE: u64 = 64;
/// Addresses of locals: where a chunk begins and ends.
const FIRST: [Word; 2] = [N(4), N(0)];
const END: [Word; 2] = [N(4), N(16)];

#[test]
fn what_is_written_before_it_is_read() {
    let whole = fill(X, BYTES as i64);
    assert_eq!(of(false, &[block(&[&whole, &back()])]), [all_of(X)]);
    let one = load(NONE, n(X as i64 + 16));
    assert_eq!(of(false, &[block(&[&whole, &one, &back()])]), [all_of(X)]);
    assert_eq!(of(false, &[block(&[&one, &whole, &back()])]), [(X, X + 16), (X + 24, X + BYTES)]);
    // What others may know of is not.
    let mut others = whole.clone();
    others[1] = N(0);
    assert_eq!(of(false, &[block(&[&others, &back()])]), []);
    // Behind what is not known nothing counts.
    assert_eq!(of(false, &[block(&[&whole, &[N(23)], &fill(Y, 64)])]), [all_of(X)]);
    assert_eq!(of(false, &[block(&[&whole, &load(2, [N(3), N(0)]), &fill(Y, 64), &back()])]), [all_of(X)]);
    // Copies: first the one, then the other.
    let copy = |to: u64, from: u64| {
        [&[N(I::Copy as u64), N(1)], &n(to as i64)[..], &n(from as i64), &n(BYTES as i64)].concat()
    };
    assert_eq!(of(false, &[block(&[&copy(X, Y), &fill(Y, BYTES as i64), &back()])]), [all_of(X)]);
    assert_eq!(of(false, &[block(&[&copy(X, X), &back()])]), []);
}

#[test]
fn in_a_region_it_counts_from_the_next_barrier_on() {
    let (whole, one) = (fill(X, BYTES as i64), load(NONE, n(X as i64)));
    assert_eq!(of(true, &[block(&[&whole, &one, &back()])]), [(X + 8, X + BYTES)]);
    assert_eq!(of(true, &[block(&[&whole, &[N(I::Barrier as u64)], &one, &back()])]), [all_of(X)]);
    // There is none in serial code.
    assert_eq!(of(false, &[block(&[&[N(I::Barrier as u64)], &whole, &back()])]), []);
}

/// A loop over X, from `from` by `step` while OP `bound`; in each iteration `body`, whose register 0 counts.
fn over(from: i64, step: i64, (op, bound): (Op, i64), body: &[Vec<Word>]) -> Vec<(u64, u64)> {
    behind(&[], from, step, (op, bound), body)
}

/// ... behind `before`.
fn behind(
    before: &[Word],
    from: i64,
    step: i64,
    (op, bound): (Op, i64),
    body: &[Vec<Word>],
) -> Vec<(u64, u64)> {
    let body: Vec<&[Word]> = body.iter().map(Vec::as_slice).collect();
    let ends: Vec<Word> = test(0, 4, 4);
    of(
        false,
        &[
            block(&[before, &jump(1)]),
            edge(2, Some(3), &[]),
            block(&[&body, [&ends[..]].as_slice()].concat()),
            whole(2, (n(from), step), (op, n(bound)), 4, &[]),
            edge(5, None, &[]),
            block(&[&fill(Y, 64), &back()]),
        ],
    )
}

/// Register `to` is X's element of the counter, so many further.
fn element(to: u64, further: i64) -> Vec<Word> {
    let by = assign(Op::Mul, 8, r(0), n(8));
    [by, assign(Op::Add, to, r(8), n(X as i64 + 8 * further))].concat()
}

#[test]
fn loops_write_what_their_counters_say() {
    let (y, write) = ((Y, Y + 64), vec![element(1, 0), store(r(1))]);
    assert_eq!(over(0, 1, (Op::Lt, 512), &write), [all_of(X), y]);
    assert_eq!(over(511, -1, (Op::Gt, -1), &write), [all_of(X), y]);
    assert_eq!(over(511, -1, (Op::Ge, 0), &write), [all_of(X), y]);
    assert_eq!(over(1, 1, (Op::Le, 510), &write), [(X + 8, X + 511 * 8), y]);
    assert_eq!(over(0, 1, (Op::Ne, 4), &write), [(X, X + 32), y]);
    // With gaps: each for itself.
    assert_eq!(over(0, 2, (Op::Lt, 3), &write), [(X, X + 8), (X + 16, X + 24), y]);
    // The loop's end is not reached.
    assert_eq!(over(0, -1, (Op::Lt, 8), &write), []);
}

#[test]
fn of_a_loop_s_reads_only_those_behind_writes_of_the_same_iteration_are_left_out() {
    let (y, write) = ((Y, Y + 64), [element(1, 0), store(r(1))]);
    let all = |read: Vec<Vec<Word>>, first: bool, behind_x: i64| {
        let body = if first { [read, write.to_vec()] } else { [write.to_vec(), read] }.concat();
        // The two at the ends are written before.
        let ends = [fill(X, 8), fill(X + BYTES, behind_x)].concat();
        behind(&ends, 1, 1, (Op::Lt, 512), &body)
    };
    let with = |read, first| all(read, first, 8);
    let read = |further| vec![element(2, further), load(3, r(2))];
    assert_eq!(with(read(0), false), [(X, X + BYTES + 8), y]);
    assert_eq!(with(read(0), true), [(X, X + 8), (X + BYTES, X + BYTES + 8), y]);
    // The neighbour's is written in another one.
    assert_eq!(with(read(1), false), [(X, X + 16), y]);
    assert_eq!(with(read(-1), false), [(X + 4088, X + BYTES + 8), y]);
    // A stride of another size comes to other iterations' elements.
    let double = vec![assign(Op::Mul, 8, r(0), n(16)), assign(Op::Add, 2, r(8), n(X as i64)), load(3, r(2))];
    assert_eq!(all(double, false, BYTES as i64), [(X, X + 16), (X + 8184, X + 8192), y]);
    let half = vec![assign(Op::Mul, 8, r(0), n(4)), assign(Op::Add, 2, r(8), n(X as i64)), load(3, r(2))];
    assert_eq!(with(half, false), [(X, X + 4), (X + 2052, X + BYTES + 8), y]);
}

/// A loop with one in it: `body` is executed for each of 8 times 64, register 0 and 10 count.
fn nested(outer: i64, inner: i64, flags: u64, body: &[Vec<Word>]) -> Vec<(u64, u64)> {
    let mut around = whole(2, (n(0), 1), (Op::Lt, n(outer)), 4, &[]);
    around.truncate(around.len() - 2);
    around.extend([N(3), Item(2, 2), Item(6, flags | 1), Item(9, 2)]);
    let counts = Op::Lt;
    // The inner one is tested at its beginning, so it may be executed never.
    let mut within = whole(7, (n(0), 1), (counts, n(inner)), 8, &[]);
    (within[2], within[5], within[6], within[11]) = (N(0), N(10), N(0), N(10));
    within.truncate(within.len() - 2);
    within.extend([N(1), Item(10, 2)]);
    of(
        false,
        &[
            block(&[&jump(1)]),
            edge(2, Some(3), &[]),
            block(&[&jump(8)]),
            around,
            edge(5, None, &[]),
            block(&[&fill(Y, 64), &back()]),
            within,
            block(&[&test(10, 8, 8)]),
            edge(9, None, &[]),
            block(&[&test(0, 4, 4)]),
            block(&[&body.concat(), &jump(8)]),
        ],
    )
}

#[test]
fn what_is_written_now_and_then_does_not_count() {
    let y = (Y, Y + 64);
    let write = [
        assign(Op::Mul, 7, r(0), n(64)),
        assign(Op::Add, 7, r(7), r(10)),
        assign(Op::Mul, 7, r(7), n(8)),
        assign(Op::Add, 7, r(7), n(X as i64)),
        store(r(7)),
    ];
    assert_eq!(nested(8, 64, 2, &write), [all_of(X), y]);
    // Not in every iteration; never.
    assert_eq!(nested(8, 64, 0, &write), [y]);
    assert_eq!(nested(8, 0, 2, &write), [y]);
    // At an element that is not known.
    let somewhere =
        [assign(Op::And, 7, [N(3), N(0)], n(504)), assign(Op::Add, 7, r(7), n(X as i64)), store(r(7))];
    assert_eq!(nested(8, 64, 2, &somewhere), [y]);
}

/// What a loop puts into private memory is known in the iteration that has put it there, and only then.
#[test]
fn private_memory_is_known_in_its_iteration() {
    let (y, here) = ((Y, Y + 64), [N(4), N(32)]);
    // The counter goes there, comes back as register 5, and says which element of X is written.
    let put = |value: [Word; 2]| [&[N(I::Store as u64), N(8), N(0)], &here[..], &value[..]].concat();
    let at = [assign(Op::Mul, 8, r(5), n(8)), assign(Op::Add, 6, r(8), n(X as i64)), store(r(6))];
    let back_again = [&[load(5, here)], &at[..]].concat();
    let with = |body: &[&[Vec<Word>]]| over(0, 1, (Op::Lt, 512), &body.concat());
    assert_eq!(with(&[&[put(r(0))], &back_again]), [all_of(X), y]);
    // The last one counts.
    assert_eq!(with(&[&[put(n(7)), put(r(0))], &back_again]), [all_of(X), y]);
    // Not known; a part of it is another's; the iteration before has put it there.
    assert_eq!(with(&[&[put(r(0)), put([N(3), N(0)])], &back_again]), []);
    let part = [&[N(I::Store as u64), N(4), N(0), N(4), N(36)], &n(0)[..]].concat();
    assert_eq!(with(&[&[put(r(0)), part], &back_again]), []);
    assert_eq!(with(&[&back_again, &[put(r(0))]]), []);
    // Not in every iteration.
    let inner = |flags, body: &[Vec<Word>]| nested(8, 64, flags, body);
    let both = [&[put(r(10))], &back_again[..]].concat();
    assert_eq!(inner(2, &both), [(X, X + 512), y]);
    assert_eq!(inner(0, &both), []);
    // Behind the loop.
    let behind = |read: &[Word]| {
        of(
            false,
            &[
                block(&[&jump(1)]),
                edge(2, Some(3), &[]),
                block(&[&put(r(0)), &test(0, 4, 4)]),
                whole(2, (n(0), 1), (Op::Lt, n(8)), 4, &[]),
                edge(5, None, &[]),
                block(&[read, &fill(Y, 64), &back()]),
            ],
        )
    };
    assert_eq!(behind(&[]), [y]);
    let element = [&load(5, here)[..], &at.concat()].concat();
    assert_eq!(behind(&element), []);
    // In the next loop.
    let next = [
        block(&[&jump(1)]),
        edge(2, Some(3), &[]),
        block(&[&put(r(0)), &test(0, 4, 4)]),
        whole(2, (n(0), 1), (Op::Lt, n(512)), 4, &[]),
        edge(5, None, &[]),
        block(&[&jump(6)]),
        edge(7, Some(8), &[]),
        block(&[&element, &test(0, 9, 9)]),
        whole(7, (n(0), 1), (Op::Lt, n(512)), 9, &[]),
        edge(10, None, &[]),
        block(&[&fill(Y, 64), &back()]),
    ];
    assert_eq!(of(false, &next), []);
}

/// A header that reads, and is executed once more when the loop ends.
#[test]
fn headers_are_executed_once_more() {
    let header = |code: &[Word]| {
        let mut l = whole(2, (n(0), 1), (Op::Lt, n(512)), 4, &[]);
        (l[2], l[6]) = (N(0), N(0));
        l.truncate(l.len() - 2);
        l.extend([N(1), Item(6, 2)]);
        let body = [element(1, 0), store(r(1))].concat();
        of(
            false,
            &[
                block(&[&jump(1)]),
                edge(2, Some(3), &[]),
                block(&[code, &test(0, 7, 4)]),
                l,
                edge(5, None, &[]),
                block(&[&fill(Y, 64), &fill(Y + BYTES, 8), &back()]),
                block(&[&body, &jump(8)]),
                edge(6, None, &[]),
                edge(2, None, &[]),
            ],
        )
    };
    let (y, last) = ((Y, Y + 64), (Y + BYTES, Y + BYTES + 8));
    assert_eq!(header(&[]), [all_of(X), y, last]);
    assert_eq!(header(&load(NONE, n(Y as i64))), [all_of(X), (Y + 8, Y + 64), last]);
    // One element more than there are iterations: not as a whole.
    let read = [assign(Op::Mul, 8, r(0), n(8)), assign(Op::Add, 8, r(8), n(Y as i64)), load(NONE, r(8))];
    assert_eq!(header(&read.concat()), []);
}

/// What comes of a loop, or of several blocks, is known if it is the same each time.
#[test]
fn what_may_be_this_or_that_is_unknown() {
    // Register 7 is set in the loop, and tested behind it.
    let sets = assign(Op::Copy, 7, n(1), [N(3), N(0)]);
    let after = |sets: Vec<Word>, on: Vec<Word>| {
        of(
            false,
            &[
                block(&[&fill(X, 8), &jump(1)]),
                edge(2, Some(3), &[]),
                block(&[&sets, &test(0, 4, 4)]),
                whole(2, (n(0), 1), (Op::Lt, n(8)), 4, &[]),
                edge(5, None, &[]),
                block(&[&on, &test(7, 6, 6)]),
                edge(7, None, &[]),
                block(&[&fill(Y, 64), &back()]),
            ],
        )
    };
    assert_eq!(after(sets.clone(), vec![]), [(X, X + 8)]);
    assert_eq!(after(sets.clone(), sets), [(X, X + 8), (Y, Y + 64)]);
    // An address of several blocks.
    let join = |other: u64| {
        let phi = [N(1), N(7), N(2), N(0), N(X), N(0), N(other)];
        let mut l = whole(2, (n(0), 1), (Op::Lt, n(8)), 4, &[]);
        l.truncate(l.len() - 2);
        l.extend([N(2), Item(2, 2), Item(6, 2)]);
        of(
            false,
            &[
                block(&[&jump(1)]),
                edge(2, Some(3), &[]),
                block(&[&test(0, 7, 7)]),
                l,
                edge(5, None, &[]),
                block(&[&fill(Y, 64), &back()]),
                [&[Here(8)], &phi[..], &store(r(7)), &test(0, 4, 4)].concat(),
                edge(6, None, &[]),
            ],
        )
    };
    assert_eq!(join(X), [(X, X + 8), (Y, Y + 64)]);
    assert_eq!(join(X + 64), []);
    // In memory: what a loop writes there is not known, whatever was there before.
    let put = [&[N(I::Store as u64), N(8), N(0)], &n(Y as i64 + 128)[..], &n(1)].concat();
    let get = load(7, n(Y as i64 + 128));
    assert_eq!(after(put.clone(), get.clone()), [(X, X + 8)]);
    assert_eq!(after(vec![], [put, get].concat()), [(X, X + 8), (Y, Y + 64)]);
}

/// A branch for one thread, that goes on at record `to`; the others go to record 5.
fn single(branch: &[&[Word]], to: usize, behind: &[&[Word]]) -> Vec<(u64, u64)> {
    of(
        true,
        &[
            block(&[&[N(I::Single as u64), N(2), At(5)], &test(2, 1, 4)]),
            edge(2, None, &[]),
            block(&[branch, [&jump(3)[..]].as_slice()].concat()),
            edge(to, None, &[(3, 7)]),
            edge(5, None, &[(3, 7)]),
            block(&[behind, [&back()[..]].as_slice()].concat()),
            block(&[&[N(I::Barrier as u64)], &fill(Y, 64), &back()]),
            edge(5, None, &[]),
            edge(6, None, &[]),
        ],
    )
}

#[test]
fn threads_that_do_not_execute_single_come_to_where_they_meet() {
    let (whole, barrier) = (fill(X, BYTES as i64), [N(I::Barrier as u64)]);
    let y = (Y, Y + 64);
    assert_eq!(single(&[&whole], 5, &[&barrier, &fill(Y, 64)]), [all_of(X), y]);
    // The branch goes on without the others, as far as the barrier.
    assert_eq!(single(&[&whole], 6, &[]), [all_of(X)]);
    assert_eq!(single(&[&whole, &barrier], 5, &[&fill(Y, 64)]), [all_of(X)]);
    // Only the one knows what it has set: nothing can depend on it.
    let on_it = test(3, 8, 8);
    assert_eq!(single(&[&whole], 5, &[&on_it]), [all_of(X)]);
    let sets = [assign(Op::Copy, 4, n(1), [N(3), N(0)])].concat();
    assert_eq!(single(&[&whole, &sets], 5, &[&test(4, 8, 8)]), [all_of(X)]);
    // ... in memory of its own, too.
    let put = [&[N(I::Store as u64), N(8), N(0), N(4), N(32)], &n(1)[..]].concat();
    let get = load(4, [N(4), N(32)]);
    assert_eq!(single(&[&put], 5, &[&get, &test(4, 8, 8)]), []);
    // What was known before is.
    assert_eq!(single(&[&whole], 5, &[&assign(Op::Copy, 4, n(1), n(0)), &test(4, 8, 8)]), [all_of(X), y]);
}

/// A worksharing loop over [0, 512): in each chunk `chunk`, in each iteration `body`; register 5 is a number
/// that is carried from one to the next, 6 is as far from the counter in each chunk.
fn shared(chunk: &[Vec<Word>], body: &[Vec<Word>], end: &[Word]) -> Vec<(u64, u64)> {
    let start =
        [&[N(I::Start as u64), N(2)], &n(0)[..], &n(512), &n(1), &FIRST, &END, &[At(2), At(9)]].concat();
    of(
        true,
        &[
            block(&[&start, &test(2, 1, 8)]),
            edge(2, None, &[(5, 0)]),
            // A chunk.
            block(&[&load(3, FIRST), &load(4, END), &chunk.concat(), &jump(3)]),
            edge(4, Some(5), &[]),
            block(&[&body.concat(), &test(0, 6, 6)]),
            whole(4, (r(3), 1), (Op::Lt, r(4)), 6, &[(5, 0, 1)]),
            edge(7, None, &[]),
            block(&[&[N(I::Next as u64), N(2), At(2), At(9)], &test(2, 1, 8)]),
            edge(9, None, &[]),
            block(&[end, &fill(Y, 64), &back()]),
        ],
    )
}

#[test]
fn worksharing_loops_are_executed_by_whomever() {
    let (y, end) = ((Y, Y + 64), [N(I::End as u64), N(1)]);
    let write = [element(1, 0), store(r(1))];
    assert_eq!(shared(&[], &write, &end), [all_of(X), y]);
    // Without a barrier, and read behind: only what is not read is.
    let nowait = [&[N(I::End as u64), N(0)], &load(NONE, n(X as i64))[..]].concat();
    assert_eq!(shared(&[], &write, &nowait), [(X + 8, X + BYTES), y]);
    let wait = [&[N(I::End as u64), N(1)], &load(NONE, n(X as i64))[..]].concat();
    assert_eq!(shared(&[], &write, &wait), [all_of(X), y]);
    // An element that comes of a carried number is not known.
    let back = |register| {
        vec![
            assign(Op::Sub, 7, r(0), r(register)),
            assign(Op::Mul, 7, r(7), n(8)),
            assign(Op::Add, 7, r(7), n(Y as i64)),
            load(NONE, r(7)),
        ]
    };
    assert_eq!(shared(&[], &[write.concat(), back(5).concat()], &end), []);
    // Nor does what is written where a chunk begins count; what is read there may be any element.
    let at_first = |to| vec![assign(Op::Mul, 8, r(3), n(8)), assign(Op::Add, to, r(8), n(X as i64))];
    assert_eq!(shared(&[at_first(6), vec![store(r(6))]].concat(), &[], &end), [y]);
    assert_eq!(shared(&[at_first(6), vec![load(NONE, r(6))]].concat(), &write, &end), [y]);
    let read_first = [write.to_vec(), at_first(6), vec![load(NONE, r(6))]].concat();
    assert_eq!(shared(&[], &read_first, &end), [y]);
    // A flag in memory of a thread's own that changes: another chunk has another one.
    let put = [&[N(I::Store as u64), N(8), N(0), N(4), N(32)], &n(1)[..]].concat();
    let flag = [load(7, [N(4), N(32)]), put];
    assert_eq!(shared(&flag, &write, &end), []);
    // A carried number in front of the iterations.
    let carried = [assign(Op::Mul, 7, r(5), n(8)), assign(Op::Add, 7, r(7), n(Y as i64)), load(NONE, r(7))];
    assert_eq!(shared(&carried, &write, &end), []);
    // The same element in all iterations: others' too.
    let same = [store(n(X as i64)), load(NONE, n(X as i64))];
    assert_eq!(shared(&[], &same, &end), [y]);
    // A thread without a chunk does not have what is put there.
    let uses = |put: &[Word]| {
        let by =
            [load(7, [N(4), N(32)]), assign(Op::Add, 7, r(7), n(X as i64 - 1)), load(NONE, r(7))].concat();
        shared(&[put.to_vec()], &write, &[&end, &by[..]].concat())
    };
    assert_eq!(uses(&flag[1]), [all_of(X)]);
    // The end without its loop.
    assert_eq!(of(true, &[block(&[&end, &fill(Y, 64)])]), []);
}

#[test]
fn repetitions_are_those_of_the_loop() {
    for signed in [false, true] {
        let t = Type { bits: 8, signed };
        for (from, bound, step) in (-9..9)
            .flat_map(|a| (-9..9).map(move |b| (a, b)))
            .flat_map(|(a, b)| [-3, -2, -1, 0, 1, 2, 3].map(move |s| (a, b, s)))
        {
            for op in [Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Ne] {
                let goes_on = |x: i64| match op {
                    Op::Lt => x < bound,
                    Op::Le => x <= bound,
                    Op::Gt => x > bound,
                    Op::Ge => x >= bound,
                    _ => x != bound,
                };
                let n = (0..1000).find(|k| !goes_on(from + step * k));
                let Some(have) = repetitions(op, t, (from, step), bound) else { continue };
                assert!(signed || from.min(bound) >= 0);
                assert_eq!(Some(have), n, "{op:?} {from} {bound} {step}");
            }
        }
        assert_eq!(repetitions(Op::Lt, t, (0, 1), 100), Some(100));
        assert_eq!(repetitions(Op::Le, t, (0, 1), if signed { 127 } else { 255 }), None);
    }
}

/// Any word may be any number: then it ends somewhere.
#[test]
fn damaged_programs_end() {
    let (mut state, mut seen) = (11u64, 0);
    let mut next = |most: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % most
    };
    let write = [element(1, 0), store(r(1)), element(2, 1), load(3, r(2))];
    let body: Vec<&[Word]> = write.iter().map(Vec::as_slice).collect();
    let start =
        [&[N(I::Start as u64), N(2)], &n(0)[..], &n(512), &n(1), &FIRST, &END, &[At(7), At(9)]].concat();
    let copy = [&[N(I::Copy as u64), N(1)], &n(X as i64)[..], &n(Y as i64), &n(64)].concat();
    let whole_one = program(
        true,
        &[
            block(&[&copy, &jump(1)]),
            edge(2, Some(3), &[]),
            block(&[&body, [&test(0, 4, 4)[..]].as_slice()].concat()),
            whole(2, (n(1), 1), (Op::Lt, n(512)), 4, &[(5, 0, 3)]),
            edge(5, None, &[(6, 1)]),
            block(&[&start, &test(2, 6, 8)]),
            edge(7, None, &[(5, 0)]),
            block(&[&load(3, FIRST), &[N(I::Next as u64), N(2), At(7), At(9)], &test(2, 6, 8)]),
            edge(9, None, &[]),
            block(&[&[N(I::End as u64), N(1), N(I::Single as u64), N(2), At(10)], &fill(Y, 64), &jump(11)]),
            block(&[&back()]),
            edge(10, None, &[]),
        ],
    );
    assert!(!run(&whole_one).is_empty());
    for _ in 0..3000 {
        let mut words = whole_one.clone();
        for _ in 0..1 + next(3) {
            let at = next(words.len() as u64) as usize;
            let bit = 1u64 << next(64);
            let any = [0, 1, 2, 7, bit, !bit, bit - 1, u64::MAX, i64::MAX as u64, words[at] ^ bit];
            words[at] = any[next(any.len() as u64) as usize];
            if next(8) == 0 {
                words[at] = next(words.len() as u64);
            }
        }
        seen += run(&words).len();
    }
    assert!(seen > 300);
}
