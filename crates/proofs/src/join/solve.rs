//! What functions do with all that they call, and whether the assumptions of a segment hold. Plain data:
//! section_reader.rs makes it of the sections.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Where memory is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum At {
    /// Where a parameter leads.
    Behind(u32),
    /// A variable: its address and size.
    Variable(usize, usize),
    /// A thread-local variable, by its name.
    Thread(&'static str),
}

/// An access of a function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Touch {
    pub at: At,
    pub writes: bool,
    /// Between these two bytes only.
    pub bytes: Option<(i64, i64)>,
    /// It accesses all of them whenever it returns.
    pub always: bool,
}

/// What a call hands over for one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Nothing that leads to memory.
    None,
    /// Memory that does not count.
    Private,
    /// What a parameter of the calling function leads to, and how many bytes behind that if it is known.
    Parameter(u32, Option<i64>),
    /// A variable.
    Variable(usize, usize),
    /// A pointer of a segment, which knows by itself what it may lead to.
    Pointer,
    /// Anything.
    Anything,
    /// What this call of the calling function has returned, until [`know_results`].
    Result(u32),
}

/// A call of a function of another unit.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The address that it is bound to, 0 if none.
    pub target: usize,
    /// Nothing is left of it in the code.
    pub gone: bool,
    /// No exception may come out of it.
    pub quiet: bool,
    /// It is made whenever the function returns that makes it.
    pub always: bool,
    /// It is taken for the C++ library's own function.
    pub library: bool,
    /// The function may return what it returns.
    pub result: bool,
    /// The address of a word: if its lowest bit is set, there is a mark in front of the call; if it is not
    /// 0, a save point behind it (plugin/src/segments/split.cc). 0: there is none.
    pub guard: usize,
    pub name: &'static str,
    pub line: u32,
    pub arguments: Vec<Argument>,
}

/// A word that has a function save what it writes by itself (plugin/src/segments/inside.cc).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Word {
    /// The parameter behind which it writes; `None`: any other memory.
    pub behind: Option<u32>,
    pub at: usize,
    pub bits: u32,
}

/// What a function does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// It does what cannot be repeated, or is not told.
    pub opaque: bool,
    pub throws: bool,
    /// It reads memory that is not listed.
    pub reads_more: bool,
    /// There are marks in it, in front of what cannot be repeated.
    pub marked: bool,
    /// What it writes it saves by itself, if `words` are set.
    pub saves: bool,
    /// It writes memory that is not listed.
    pub writes_more: bool,
    /// It is the C++ library's own (bound.rs): for calls that say so only.
    pub library: bool,
    /// It returns a block that it has allocated, or what those of its calls return that say so.
    pub makes: bool,
    /// "file:line: function: effect".
    pub text: &'static str,
    pub touches: Vec<Touch>,
    pub calls: Vec<Call>,
    pub words: Vec<Word>,
}

/// What takes part in pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The segment's own access: to a variable, a thread-local one, or of which no more is known.
    Own,
    /// A call reads behind an argument, beyond so many bytes from its start.
    Reads(usize, u32, i64),
    Writes(usize, u32),
    ReadsElsewhere(usize),
    WritesElsewhere(usize),
}

impl What {
    /// The call that does it.
    fn call(self) -> Option<usize> {
        match self {
            What::Own => None,
            What::Reads(c, ..) | What::Writes(c, _) | What::ReadsElsewhere(c) | What::WritesElsewhere(c) => {
                Some(c)
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Actor {
    pub what: What,
    /// Of the segment's own accesses.
    pub at: Option<At>,
    pub saved: bool,
    /// Of writes behind an argument: the slot that says what of it is saved in front of the call.
    pub slot: Option<usize>,
    pub name: &'static str,
    pub line: u32,
}

/// Under which a segment's verdict holds.
#[derive(Clone, Debug)]
pub(super) struct Assumptions {
    pub verdict: u32,
    /// There are fences in it: others may wait for what it writes, and may have changed it since.
    pub fenced: bool,
    /// "file:line".
    pub place: &'static str,
    pub calls: Vec<Call>,
    pub actors: Vec<Actor>,
    /// Reads and writes of which each of the first may meet each of the second: if both happen, the written
    /// value must be saved.
    pub pairs: Vec<(Vec<usize>, Vec<usize>)>,
}

/// 0 idempotent, 1 undo, 2 opaque, and "file:line: verdict".
pub(super) struct Decision {
    pub verdict: u32,
    pub text: String,
    /// What has to be saved in front of calls: slot, first byte, bytes.
    pub slots: Vec<(usize, i64, i64)>,
    /// Words that must be set ([`Call::guard`]), and the bits.
    pub guards: BTreeMap<usize, u32>,
}

/// The accesses of a function, those of the functions that it calls among them.
#[derive(Clone, Default, Debug)]
struct Effects {
    touches: BTreeSet<Touch>,
    reads_more: bool,
    writes_more: bool,
    /// All that is written is saved if these are set.
    saves: bool,
    words: BTreeSet<Word>,
    /// There are marks in it; what they stand in front of.
    marked: Option<String>,
}

/// Why an assumption does not hold, and the guard of a call in front of which a mark would help.
type Broken = (String, usize);

/// The guards of calls that have marks in front of them: what they do does not count.
type Cut = BTreeSet<usize>;

type Functions = HashMap<usize, Summary>;

/// Finds the functions that return blocks which were allocated in them, and makes such results private to
/// those that have called them: executed again, they have other blocks.
pub(super) fn know_results(functions: &mut Functions) {
    let mut makers: BTreeSet<usize> =
        functions.iter().filter(|(_, f)| f.makes && !f.opaque).map(|(&at, _)| at).collect();
    let holds = |at: &usize, makers: &BTreeSet<usize>| {
        let results = |c: &&Call| c.result;
        functions[at].calls.iter().filter(results).all(|c| !c.gone && makers.contains(&c.target))
    };
    loop {
        let kept: BTreeSet<usize> = makers.iter().copied().filter(|at| holds(at, &makers)).collect();
        if kept.len() == makers.len() {
            break;
        }
        makers = kept;
    }
    for f in functions.values_mut() {
        let made: Vec<bool> = f.calls.iter().map(|c| !c.gone && makers.contains(&c.target)).collect();
        for a in f.calls.iter_mut().flat_map(|c| &mut c.arguments) {
            if let Argument::Result(i) = a {
                let is_made = made.get(*i as usize).copied().unwrap_or(false);
                *a = if is_made { Argument::Private } else { Argument::Anything };
            }
        }
    }
}

/// Decides on a segment.
pub(super) fn decide(a: &Assumptions, functions: &Functions) -> Decision {
    let (mut cut, mut parts) = (Cut::new(), None);
    loop {
        match check(a, functions, &cut) {
            Ok(found) => {
                let verdict = if found.saves { 1 } else { a.verdict };
                let word = if verdict == 0 { "idempotent" } else { "undo: with functions of other files" };
                let text = match parts.or(found.marked) {
                    Some(why) => format!("{}: in parts: {why}; else {word}", a.place),
                    None => format!("{}: {word}", a.place),
                };
                let mut guards = found.guards;
                cut.iter().for_each(|&g| *guards.entry(g).or_default() |= 1);
                return Decision { verdict, text, slots: found.slots, guards };
            }
            Err((why, guard)) if guard != 0 && cut.insert(guard) => {
                parts.get_or_insert(why);
            }
            Err((why, _)) => {
                let text = format!("{}: opaque: {why}", a.place);
                return Decision { verdict: 2, text, slots: Vec::new(), guards: BTreeMap::new() };
            }
        }
    }
}

/// Slots and what they are to say: first byte, bytes.
type Slots = Vec<(usize, i64, i64)>;

/// What holds for a segment.
struct Found {
    /// Are saved values needed for it, and which?
    saves: bool,
    slots: Slots,
    guards: BTreeMap<usize, u32>,
    marked: Option<String>,
}

/// Does it hold? An error says why it does not.
fn check(a: &Assumptions, functions: &Functions, cut: &Cut) -> Result<Found, Broken> {
    let mut effects = Vec::new();
    let (mut guards, mut marked) = (BTreeMap::new(), None);
    for c in &a.calls {
        let calls = |why: &str| format!("calls {} at line {}, {why}", c.name, c.line);
        let e = effects_of(c, functions, cut).map_err(|(why, guard)| (calls(&why), guard))?;
        if let Some(what) = &e.marked {
            marked.get_or_insert(calls(what));
            if c.guard != 0 && !cut.contains(&c.guard) {
                guards.insert(c.guard, 2);
            }
        }
        for t in &e.touches {
            if let At::Behind(k) = t.at
                && matches!(c.arguments.get(k as usize), None | Some(Argument::None))
            {
                let why = "which accesses memory through what was not passed as a pointer";
                return Err((calls(why), c.guard));
            }
        }
        let elsewhere = |t: &Touch| t.writes && !matches!(t.at, At::Behind(_));
        if a.fenced && (e.writes_more || e.touches.iter().any(elsewhere)) {
            return Err((calls("which may write what others wait for"), c.guard));
        }
        effects.push(e);
    }
    let (mut saves, mut slots) = (false, Slots::new());
    let pairs = a.pairs.iter().flat_map(|(rs, ws)| rs.iter().flat_map(|&r| ws.iter().map(move |&w| (r, w))));
    for (r, w) in pairs {
        let (read, write) = (&a.actors[r], &a.actors[w]);
        if !meet(read, write, &effects) {
            continue;
        }
        let slot = match write.what {
            What::Writes(c, k) => write.slot.zip(exact(&effects[c], k)),
            _ => None,
        };
        if let Some((slot, (low, high))) = slot {
            slots.push((slot, low, high - low));
        } else if let Some(words) = saved_inside(write.what, &effects) {
            words.for_each(|w| *guards.entry(w.at).or_default() |= w.bits);
        } else if !write.saved {
            let why = format!("{} what {} at line {}", says(write, a), says_reads(read, a), read.line);
            let guard = write.what.call().or(read.what.call()).map_or(0, |c| a.calls[c].guard);
            return Err((why, guard));
        }
        saves = true;
    }
    Ok(Found { saves, slots, guards, marked })
}

/// The words that have the functions save what this call writes; `None`: they do not, or it is no call.
fn saved_inside(what: What, effects: &[Effects]) -> Option<impl Iterator<Item = &Word>> {
    let (call, behind) = match what {
        What::Writes(c, k) => (c, Some(k)),
        What::WritesElsewhere(c) => (c, None),
        _ => return None,
    };
    effects[call].saves.then(|| effects[call].words.iter().filter(move |w| w.behind == behind))
}

/// The bytes behind parameter `k` that are written, if the function accesses each of them whenever it
/// returns: then no other thread does meanwhile, and old values may be put back.
fn exact(e: &Effects, k: u32) -> Option<(i64, i64)> {
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for t in behind(e, k, true) {
        let (l, h) = t.bytes?;
        (low, high) = (low.min(l), high.max(h));
    }
    let mut sure: Vec<(i64, i64)> =
        e.touches.iter().filter(|t| t.always && t.at == At::Behind(k)).filter_map(|t| t.bytes).collect();
    sure.sort_unstable();
    let mut reached = low;
    for (l, h) in sure {
        if l <= reached {
            reached = reached.max(h);
        }
    }
    (low < high && reached >= high).then_some((low, high))
}

fn says(write: &Actor, a: &Assumptions) -> String {
    match write.what {
        What::Writes(c, _) | What::WritesElsewhere(c) => format!("{} may write", a.calls[c].name),
        _ => format!("{}, written at line {}, may be", write.name, write.line),
    }
}

fn says_reads(read: &Actor, a: &Assumptions) -> String {
    match read.what {
        What::Reads(c, ..) | What::ReadsElsewhere(c) => format!("{} reads", a.calls[c].name),
        _ => format!("is read as {}", read.name),
    }
}

/// The places that `actor` accesses in variables; `None`: it may access other memory, too.
fn places<'a>(actor: &'a Actor, effects: &'a [Effects]) -> Option<Vec<&'a Touch>> {
    let variables = |c: usize, writes: bool| -> Vec<&Touch> {
        effects[c].touches.iter().filter(|t| t.writes == writes && !matches!(t.at, At::Behind(_))).collect()
    };
    match actor.what {
        What::ReadsElsewhere(c) if !effects[c].reads_more => Some(variables(c, false)),
        What::WritesElsewhere(c) if !effects[c].writes_more => Some(variables(c, true)),
        _ => None,
    }
}

fn behind(effects: &Effects, k: u32, writes: bool) -> impl Iterator<Item = &Touch> {
    effects.touches.iter().filter(move |t| t.at == At::Behind(k) && t.writes == writes)
}

/// Does the actor do anything, given what its function does?
fn happens(actor: &Actor, effects: &[Effects]) -> bool {
    match actor.what {
        What::Own => true,
        What::Reads(c, k, n) => {
            behind(&effects[c], k, false).any(|t| !t.bytes.is_some_and(|(low, high)| low >= 0 && high <= n))
        }
        What::Writes(c, k) => behind(&effects[c], k, true).next().is_some(),
        What::ReadsElsewhere(_) | What::WritesElsewhere(_) => {
            places(actor, effects).is_none_or(|p| !p.is_empty())
        }
    }
}

/// May they access the same memory?
fn meet(read: &Actor, write: &Actor, effects: &[Effects]) -> bool {
    if !happens(read, effects) || !happens(write, effects) {
        return false;
    }
    if let (What::Reads(c, k, _), What::Writes(d, l)) = (read.what, write.what)
        && (c, k) == (d, l)
    {
        let all = |t: &Touch, f: &dyn Fn((i64, i64)) -> bool| t.bytes.is_none_or(f);
        return behind(&effects[c], k, false)
            .any(|r| behind(&effects[c], k, true).any(|w| all(r, &|x| all(w, &|y| x.0 < y.1 && y.0 < x.1))));
    }
    match (places(read, effects), places(write, effects)) {
        (Some(r), Some(w)) => r.iter().any(|x| w.iter().any(|y| overlap(&x.at, &y.at))),
        (Some(p), None) => write.at.as_ref().is_none_or(|at| p.iter().any(|t| overlap(&t.at, at))),
        (None, Some(p)) => read.at.as_ref().is_none_or(|at| p.iter().any(|t| overlap(&t.at, at))),
        (None, None) => true,
    }
}

fn overlap(a: &At, b: &At) -> bool {
    match (a, b) {
        (At::Variable(x, n), At::Variable(y, m)) => x < &y.saturating_add(*m) && y < &x.saturating_add(*n),
        (At::Thread(x), At::Thread(y)) => x == y,
        (At::Behind(_), _) | (_, At::Behind(_)) => true,
        _ => false,
    }
}

/// What the function does that `call` is bound to.
fn effects_of(call: &Call, functions: &Functions, cut: &Cut) -> Result<Effects, Broken> {
    if call.gone {
        return Ok(Effects { saves: true, ..Effects::default() });
    }
    if cut.contains(&call.guard) {
        let marked = Some("which is not executed again".into());
        return Ok(Effects { marked, saves: true, ..Effects::default() });
    }
    let counts = |c: &&Call| !c.gone && !cut.contains(&c.guard);
    let mut all: HashMap<usize, Effects> = HashMap::new();
    let mut todo = vec![(call, call.quiet, call.guard)];
    let mut seen = BTreeSet::new();
    let mut marked = None;
    while let Some((c, quiet, guard)) = todo.pop() {
        let target = c.target;
        if !seen.insert((target, quiet)) {
            continue;
        }
        let Some(s) = functions.get(&target).filter(|s| s.library == c.library) else {
            let inner =
                if core::ptr::eq(c, call) { String::new() } else { format!("which calls {}, ", c.name) };
            let why =
                if c.library { "which is not the library's own" } else { "which promp-cc has not built" };
            return Err((format!("{inner}{why}"), guard));
        };
        if s.opaque {
            return Err((format!("which cannot be executed again ({})", s.text), guard));
        }
        if quiet && s.throws {
            return Err(("which may throw an exception".into(), guard));
        }
        all.entry(target).or_insert_with(|| Effects {
            touches: s.touches.iter().cloned().collect(),
            reads_more: s.reads_more,
            writes_more: s.writes_more,
            saves: s.saves || !(s.writes_more || s.touches.iter().any(|t| t.writes)),
            words: s.words.iter().cloned().collect(),
            marked: None,
        });
        if s.marked {
            marked.get_or_insert(format!("which cannot be executed again ({})", s.text));
        }
        for c in s.calls.iter().filter(|c| !c.gone) {
            if counts(&c) {
                todo.push((c, quiet || c.quiet, if c.guard != 0 { c.guard } else { guard }));
            } else {
                marked.get_or_insert(format!("which calls {}", c.name));
            }
        }
    }
    // Until nothing is added any more; offsets that go on growing are given up.
    for round in 0.. {
        let mut changed = false;
        for &f in all.keys().copied().collect::<Vec<_>>().iter() {
            let mut e = all[&f].clone();
            for c in functions[&f].calls.iter().filter(counts) {
                let called = all[&c.target].clone();
                e.reads_more |= called.reads_more;
                e.writes_more |= called.writes_more;
                e.saves &= called.saves;
                e.words.extend(called.words.iter().filter_map(|w| at_call(w, c)));
                for t in &called.touches {
                    let guard = if c.guard != 0 { c.guard } else { call.guard };
                    add(&mut e, t, c, round > 8).map_err(|why| (why, guard))?;
                }
            }
            let old = &all[&f];
            let sizes = |e: &Effects| (e.touches.len(), e.words.len());
            let kinds = |e: &Effects| (e.reads_more, e.writes_more, e.saves);
            changed |= sizes(&e) != sizes(old) || kinds(&e) != kinds(old);
            all.insert(f, e);
        }
        if !changed {
            break;
        }
    }
    let found = all.remove(&call.target).expect("the called function is among them");
    Ok(Effects { marked, ..found })
}

/// The word of a function that `c` calls, by what of the calling function's it is for. What is private needs
/// none.
fn at_call(w: &Word, c: &Call) -> Option<Word> {
    let behind = match w.behind.map(|k| c.arguments.get(k as usize)) {
        Some(Some(Argument::Private)) => return None,
        Some(Some(Argument::Parameter(p, _))) => Some(*p),
        _ => None,
    };
    Some(Word { behind, ..w.clone() })
}

/// Adds what `c` does by touching `t`, in terms of its own parameters.
fn add(e: &mut Effects, t: &Touch, c: &Call, coarse: bool) -> Result<(), String> {
    let At::Behind(k) = t.at else {
        e.touches.insert(t.clone());
        return Ok(());
    };
    match c.arguments.get(k as usize) {
        Some(Argument::Private) => {}
        Some(Argument::Parameter(p, offset)) => {
            let moved =
                |(low, high): (i64, i64)| Some((low.checked_add((*offset)?)?, high.checked_add((*offset)?)?));
            let bytes = t.bytes.and_then(moved).filter(|_| !coarse);
            let always = t.always && c.always && bytes.is_some();
            e.touches.insert(Touch { at: At::Behind(*p), bytes, always, ..t.clone() });
        }
        Some(Argument::Variable(at, size)) => {
            e.touches.insert(Touch { at: At::Variable(*at, *size), bytes: None, always: false, ..t.clone() });
        }
        _ if t.writes && !e.saves => return Err(format!("where {} writes what is not known", c.name)),
        _ if t.writes => e.writes_more = true,
        _ => e.reads_more = true,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            decide(&a, &inner)
                .text
                .contains("calls f at line 7, which calls g, which promp-cc has not built")
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
        assert_eq!(
            decided(&[read(0, 16), write(0, 8), perhaps]),
            (1, vec![(64, 0, 16)]),
            "it is read anyway"
        );
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
        let inner =
            Summary { writes_more: true, ..saving(&[behind(0, true, None)], &[word(Some(0), 24, 2)]) };
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
        let program =
            |quiet| HashMap::from([(1, calls(Call { quiet, ..call(2, &[]) })), (2, throws.clone())]);
        assert!(effects(program(false)).is_ok() && effects(program(true)).is_err());
    }
}
