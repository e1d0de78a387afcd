//! Whether the assumptions of a segment hold.

use super::call_effects::{Broken, Cut, Effects, Functions, effects_of};
use super::facts::{Actor, Argument, Assumptions, At, Touch, What, Word};
use std::collections::BTreeMap;

/// 0 idempotent, 1 undo, 2 opaque, and "file:line: verdict".
pub(super) struct Decision {
    pub verdict: u32,
    pub text: String,
    /// What has to be saved in front of calls: slot, first byte, bytes.
    pub slots: Vec<(usize, i64, i64)>,
    /// Words that must be set ([`Call::guard`]), and the bits.
    pub guards: BTreeMap<usize, u32>,
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

#[cfg(test)]
mod tests;
