//! Verdicts on segments, and what functions do with all that they call.

use super::*;
use crate::join::call_effects::know_results;
use crate::join::facts::{Call, Summary};
use std::collections::HashMap;

fn behind(k: u32, writes: bool, bytes: Option<(i64, i64)>) -> Touch {
    Touch { at: At::Behind(k), writes, bytes, always: bytes.is_some() }
}
fn variable(address: usize, writes: bool) -> Touch {
    Touch { at: At::Variable(address, 8), writes, bytes: None, always: false }
}
fn call(target: usize, arguments: &[Argument]) -> Call {
    Call {
        target,
        gone: false,
        quiet: false,
        always: true,
        library: false,
        result: false,
        guard: 0,
        name: "f",
        line: 7,
        arguments: arguments.to_vec(),
    }
}
fn own(at: Option<At>) -> Actor {
    actor(What::Own, at)
}
fn actor(what: What, at: Option<At>) -> Actor {
    Actor { what, at, saved: false, slot: None, name: "v", line: 3 }
}
/// A segment that calls function 1 with one pointer; the actors meet each other.
fn segment(actors: [Actor; 2]) -> Assumptions {
    Assumptions {
        verdict: 0,
        fenced: false,
        place: "x.c:1",
        calls: vec![call(1, &[Argument::Pointer])],
        actors: actors.to_vec(),
        pairs: vec![(vec![0], vec![1])],
    }
}
fn verdict(a: &Assumptions, touches: &[Touch]) -> u32 {
    let f = Summary { touches: touches.to_vec(), ..Summary::default() };
    decide(a, &HashMap::from([(1, f)])).verdict
}

/// Function 1 calls 2, and hands what it returns to 4, which writes there; 2 returns what 3 does.
fn makes(three: Summary) -> u32 {
    let from = |target| Call { result: true, ..call(target, &[]) };
    let calls = vec![call(2, &[]), call(4, &[Argument::Result(0)])];
    let one = Summary { calls, ..Summary::default() };
    let two = Summary { makes: true, calls: vec![from(3)], ..Summary::default() };
    let four = Summary { touches: vec![behind(0, true, None)], ..Summary::default() };
    let mut f = HashMap::from([(1, one), (2, two), (3, three), (4, four)]);
    know_results(&mut f);
    decide(&segment([own(None), actor(What::WritesElsewhere(0), None)]), &f).verdict
}

#[test]
fn what_functions_write_into_blocks_of_others_that_allocate_does_not_count() {
    assert_eq!(makes(Summary { makes: true, ..Summary::default() }), 0);
    assert_eq!(makes(Summary::default()), 2, "a pointer that it had before");
    let again = Summary { makes: true, calls: vec![call(2, &[])], ..Summary::default() };
    assert_eq!(makes(again), 0, "what it calls beside that");
    let other = Call { result: true, ..call(4, &[Argument::Private]) };
    assert_eq!(makes(Summary { makes: true, calls: vec![other], ..Summary::default() }), 2);
}

#[test]
fn a_function_without_a_summary_resolves_nothing() {
    let a = segment([own(None), actor(What::Writes(0, 0), None)]);
    let d = decide(&a, &HashMap::new());
    assert_eq!(
        (d.verdict, d.text.as_str()),
        (2, "x.c:1: opaque: calls f at line 7, which promp-cc has not built")
    );
    let opaque = Summary { opaque: true, text: "y.c:2: f: prints", ..Summary::default() };
    assert_eq!(decide(&a, &HashMap::from([(1, opaque)])).verdict, 2);
}

#[test]
fn what_does_not_hold_is_cut_off_where_that_can_be() {
    let guarded = |guard, target| Call { guard, ..call(target, &[Argument::Pointer]) };
    let mut a = segment([own(None), actor(What::Writes(0, 0), None)]);
    a.calls[0] = guarded(8, 1);
    let d = decide(&a, &HashMap::new());
    assert_eq!(
        (d.verdict, d.text.as_str()),
        (0, "x.c:1: in parts: calls f at line 7, which promp-cc has not built; else idempotent")
    );
    assert_eq!(d.guards, BTreeMap::from([(8, 1)]));
    // It writes what was read: a mark helps, too.
    let writes = Summary { touches: vec![behind(0, true, None)], ..Summary::default() };
    let d = decide(&a, &HashMap::from([(1, writes)]));
    assert_eq!((d.verdict, d.guards), (0, BTreeMap::from([(8, 1)])));
    let inner = HashMap::from([(1, calls(Call { name: "g", ..call(2, &[]) }))]);
    assert!(
        decide(&a, &inner).text.contains("calls f at line 7, which calls g, which promp-cc has not built")
    );
    // A call that it makes is cut off, if it can be; else itself. Behind it there are save points.
    let through = |guard| HashMap::from([(1, calls(guarded(guard, 2)))]);
    let d = decide(&a, &through(16));
    assert_eq!((d.verdict, d.guards), (0, BTreeMap::from([(8, 2), (16, 1)])));
    assert_eq!(decide(&a, &through(0)).guards, BTreeMap::from([(8, 1)]));
    a.calls[0].guard = 0;
    assert_eq!(decide(&a, &through(0)).verdict, 2);
    // Marks that are there anyway.
    a.calls[0].guard = 8;
    let prints = Summary { marked: true, text: "y.c:2: f: prints", ..Summary::default() };
    let d = decide(&a, &HashMap::from([(1, prints)]));
    assert_eq!((d.verdict, d.guards), (0, BTreeMap::from([(8, 2)])));
    assert!(d.text.contains("in parts") && d.text.contains("y.c:2"), "{}", d.text);
}

#[test]
fn operators_must_be_the_librarys() {
    let mut a = segment([own(None), own(None)]);
    a.pairs.clear();
    (a.calls[0].library, a.calls[0].guard) = (true, 8);
    let decided = |library| {
        let f = Summary { library, ..Summary::default() };
        decide(&a, &HashMap::from([(1, f)]))
    };
    assert_eq!((decided(true).verdict, decided(true).guards), (0, BTreeMap::new()));
    let other = decided(false);
    assert_eq!((other.verdict, other.guards), (0, BTreeMap::from([(8, 1)])), "a mark in front of it");
    assert!(other.text.contains("which is not the library's own"), "{}", other.text);
    // One that is called as any function is not known to be freed late.
    a.calls[0].library = false;
    let f = Summary { library: true, ..Summary::default() };
    assert_eq!(decide(&a, &HashMap::from([(1, f)])).guards, BTreeMap::from([(8, 1)]));
}

#[test]
fn what_a_function_does_not_do_does_not_count() {
    let a = segment([own(None), actor(What::Writes(0, 0), None)]);
    assert_eq!(verdict(&a, &[behind(0, false, None)]), 0);
    assert_eq!(verdict(&a, &[behind(0, true, None)]), 2);
    let mut saved = a;
    saved.actors[1].saved = true;
    assert_eq!(verdict(&saved, &[behind(0, true, None)]), 1);
}

#[test]
fn reads_of_what_was_written_before_are_covered() {
    let a = segment([actor(What::Reads(0, 0, 8), None), own(None)]);
    assert_eq!(verdict(&a, &[behind(0, false, Some((0, 8)))]), 0);
    assert_eq!(verdict(&a, &[behind(0, false, Some((0, 9)))]), 2);
    assert_eq!(verdict(&a, &[behind(0, false, Some((-1, 8)))]), 2);
    assert_eq!(verdict(&a, &[behind(0, false, None)]), 2);
}

#[test]
fn variables_are_told_apart_by_their_addresses() {
    let write = own(Some(At::Variable(100, 8)));
    let a = segment([actor(What::ReadsElsewhere(0), None), write]);
    assert_eq!(verdict(&a, &[variable(108, false)]), 0);
    assert_eq!(verdict(&a, &[variable(107, false)]), 2);
    assert_eq!(verdict(&a, &[Touch { at: At::Thread("t"), ..variable(0, false) }]), 0);
    // A write through a pointer of the segment may go anywhere.
    let a = segment([actor(What::ReadsElsewhere(0), None), own(None)]);
    assert_eq!(verdict(&a, &[variable(108, false)]), 2);
    let a = segment([own(Some(At::Thread("t"))), actor(What::WritesElsewhere(0), None)]);
    assert_eq!(verdict(&a, &[Touch { at: At::Thread("t"), ..variable(0, true) }]), 2);
    assert_eq!(verdict(&a, &[Touch { at: At::Thread("u"), ..variable(0, true) }]), 0);
}

#[test]
fn a_function_that_reads_and_writes_different_bytes_updates_nothing() {
    let a = segment([actor(What::Reads(0, 0, 0), None), actor(What::Writes(0, 0), None)]);
    assert_eq!(verdict(&a, &[behind(0, false, Some((0, 8))), behind(0, true, Some((8, 16)))]), 0);
    assert_eq!(verdict(&a, &[behind(0, false, Some((0, 8))), behind(0, true, Some((7, 16)))]), 2);
    assert_eq!(verdict(&a, &[behind(0, false, None), behind(0, true, Some((8, 16)))]), 2);
}

#[test]
fn what_a_function_surely_updates_is_saved_in_front_of_it() {
    let mut a = segment([actor(What::Reads(0, 0, 0), None), actor(What::Writes(0, 0), None)]);
    a.actors[1].slot = Some(64);
    let decided = |touches: &[Touch]| {
        let f = Summary { touches: touches.to_vec(), ..Summary::default() };
        let d = decide(&a, &HashMap::from([(1, f)]));
        (d.verdict, d.slots)
    };
    let read = |l, h| behind(0, false, Some((l, h)));
    let write = |l, h| behind(0, true, Some((l, h)));
    assert_eq!(decided(&[read(0, 8), write(0, 8)]), (1, vec![(64, 0, 8)]));
    assert_eq!(decided(&[read(0, 8), write(0, 8), write(8, 16)]), (1, vec![(64, 0, 16)]));
    // A hole, which may be another thread's; a write that happens or not.
    assert_eq!(decided(&[read(0, 8), write(0, 8), write(16, 24)]).0, 2);
    let perhaps = Touch { always: false, ..write(8, 16) };
    assert_eq!(decided(&[read(0, 8), write(0, 8), perhaps.clone()]).0, 2);
    assert_eq!(decided(&[read(0, 16), write(0, 8), perhaps]), (1, vec![(64, 0, 16)]), "it is read anyway");
    assert_eq!(decided(&[read(0, 8), behind(0, true, None)]).0, 2);
}

#[test]
fn functions_save_what_they_write_if_their_words_are_set() {
    let word = |behind, at, bits| Word { behind, at, bits };
    let saving = |touches: &[Touch], words: &[Word]| Summary {
        saves: true,
        touches: touches.to_vec(),
        words: words.to_vec(),
        ..Summary::default()
    };
    let a = segment([own(None), actor(What::Writes(0, 0), None)]);
    let words = [word(Some(0), 8, 2), word(Some(1), 8, 4), word(None, 16, 1)];
    let d = decide(&a, &HashMap::from([(1, saving(&[behind(0, true, None)], &words))]));
    assert_eq!((d.verdict, d.guards), (1, BTreeMap::from([(8, 2)])));
    // What it writes elsewhere, in functions that it calls.
    let a = segment([own(None), actor(What::WritesElsewhere(0), None)]);
    let inner = Summary { writes_more: true, ..saving(&[behind(0, true, None)], &[word(Some(0), 24, 2)]) };
    let outer = |argument| Summary { calls: vec![call(2, &[argument])], ..saving(&[], &words[2..]) };
    let set = |argument, inner: &Summary| {
        let d = decide(&a, &HashMap::from([(1, outer(argument)), (2, inner.clone())]));
        (d.verdict, d.guards)
    };
    assert_eq!(set(Argument::Anything, &inner), (1, BTreeMap::from([(16, 1), (24, 2)])));
    assert_eq!(set(Argument::Variable(100, 8), &inner), (1, BTreeMap::from([(16, 1), (24, 2)])));
    assert_eq!(set(Argument::Private, &inner), (1, BTreeMap::from([(16, 1)])), "a stack's");
    assert_eq!(set(Argument::Private, &Summary { saves: false, ..inner.clone() }).0, 2);
    let fenced = Assumptions { fenced: true, ..a.clone() };
    assert_eq!(decide(&fenced, &HashMap::from([(1, inner.clone())])).verdict, 2, "it may be a flag");
    // Nothing is read that it could meet.
    let mut unread = a.clone();
    unread.pairs.clear();
    assert_eq!(decide(&unread, &HashMap::from([(1, inner)])).verdict, 0);
}

fn effects(functions: Functions) -> Result<Effects, Broken> {
    effects_of(&call(1, &[]), &functions, &Cut::new())
}
fn calls(c: Call) -> Summary {
    Summary { calls: vec![c], ..Summary::default() }
}

#[test]
fn calls_are_followed_through_arguments() {
    let leaf = Summary { touches: vec![behind(0, true, Some((0, 8)))], ..Summary::default() };
    let through = |a: Argument| effects(HashMap::from([(1, calls(call(2, &[a]))), (2, leaf.clone())]));
    let touched = |a| through(a).unwrap().touches.into_iter().collect::<Vec<_>>();
    assert_eq!(touched(Argument::Parameter(3, Some(16))), [behind(3, true, Some((16, 24)))]);
    assert_eq!(touched(Argument::Parameter(3, None)), [behind(3, true, None)]);
    assert_eq!(touched(Argument::Private), []);
    assert_eq!(touched(Argument::Variable(64, 8)), [variable(64, true)]);
    assert!(through(Argument::Anything).is_err() && through(Argument::None).is_err());
}

#[test]
fn functions_that_call_each_other_come_to_an_end() {
    let step = |to| calls(call(to, &[Argument::Parameter(0, Some(8))]));
    let mut two = step(1);
    two.touches = vec![behind(0, true, Some((0, 8)))];
    let e = effects(HashMap::from([(1, step(2)), (2, two)])).unwrap();
    assert!(e.touches.contains(&behind(0, true, None)), "the offset grows without end: {e:?}");
}

#[test]
fn exceptions_count_where_somebody_would_see_them() {
    let throws = Summary { throws: true, ..Summary::default() };
    let program = |quiet| HashMap::from([(1, calls(Call { quiet, ..call(2, &[]) })), (2, throws.clone())]);
    assert!(effects(program(false)).is_ok() && effects(program(true)).is_err());
}
