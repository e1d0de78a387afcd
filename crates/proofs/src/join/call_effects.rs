//! What functions do, with all that they call.

use super::facts::{Argument, At, Call, Summary, Touch, Word};
use std::collections::{BTreeSet, HashMap};

/// The accesses of a function, those of the functions that it calls among them.
#[derive(Clone, Default, Debug)]
pub(super) struct Effects {
    pub touches: BTreeSet<Touch>,
    pub reads_more: bool,
    pub writes_more: bool,
    /// All that is written is saved if these are set.
    pub saves: bool,
    pub words: BTreeSet<Word>,
    /// There are marks in it; what they stand in front of.
    pub marked: Option<String>,
}

/// Why an assumption does not hold, and the guard of a call in front of which a mark would help.
pub(super) type Broken = (String, usize);

/// The guards of calls that have marks in front of them: what they do does not count.
pub(super) type Cut = BTreeSet<usize>;

pub(super) type Functions = HashMap<usize, Summary>;

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

/// What the function does that `call` is bound to.
pub(super) fn effects_of(call: &Call, functions: &Functions, cut: &Cut) -> Result<Effects, Broken> {
    if call.gone {
        return Ok(Effects { saves: true, ..Effects::default() });
    }
    if cut.contains(&call.guard) {
        let marked = Some("which is not executed again".into());
        return Ok(Effects { marked, saves: true, ..Effects::default() });
    }
    let (mut all, marked) = reached(call, functions, cut)?;
    // Until nothing is added any more; offsets that go on growing are given up.
    for round in 0.. {
        let mut changed = false;
        for &f in all.keys().copied().collect::<Vec<_>>().iter() {
            let e = with_calls(f, &all, (call, functions, cut), round > 8)?;
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

/// Calls that are followed.
fn counts(cut: &Cut) -> impl Fn(&&Call) -> bool {
    |c| !c.gone && !cut.contains(&c.guard)
}

/// The functions that `call` comes to, each with what it does itself, and what cannot be repeated in them.
fn reached(
    call: &Call,
    functions: &Functions,
    cut: &Cut,
) -> Result<(HashMap<usize, Effects>, Option<String>), Broken> {
    let counts = counts(cut);
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
    Ok((all, marked))
}

/// What function `f` does, with what is known by now of those that it calls.
/// `coarse`: offsets are given up.
fn with_calls(
    f: usize,
    all: &HashMap<usize, Effects>,
    (call, functions, cut): (&Call, &Functions, &Cut),
    coarse: bool,
) -> Result<Effects, Broken> {
    let mut e = all[&f].clone();
    for c in functions[&f].calls.iter().filter(counts(cut)) {
        let called = &all[&c.target];
        e.reads_more |= called.reads_more;
        e.writes_more |= called.writes_more;
        e.saves &= called.saves;
        e.words.extend(called.words.iter().filter_map(|w| at_call(w, c)));
        for t in &called.touches {
            let guard = if c.guard != 0 { c.guard } else { call.guard };
            add(&mut e, t, c, coarse).map_err(|why| (why, guard))?;
        }
    }
    Ok(e)
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
