//! `promp doctor PROGRAM`: would it run under the library with one OpenMP runtime? What the library asks of
//! the loader when it is loaded (crates/sys/src/glibc/runtimes.rs), asked of the files. Libraries that the
//! program loads later are looked at when it loads them.

use crate::doctor::Finding;
use crate::elf::{self, Kind};
use crate::part::{self, OF_GCC, Object, Part, Symbol};
use crate::{Failure, library};
use std::collections::BTreeSet;
use std::path::Path;

/// A program for which this is the status would be stopped when it begins.
pub const TWO_RUNTIMES: u8 = 76;

/// What the loader ends with where it does not find a library.
const NOT_FOUND: u8 = 127;

/// Does `object` mean a runtime of GCC's by `symbol`, which `other` would answer? As in the library.
fn is_of_a_runtime(object: &Object, (name, version): &Symbol, other: &Object) -> bool {
    let begins = |text: &str, with: &[&str]| with.iter().any(|p| text.starts_with(p));
    begins(name, &OF_GCC)
        || !object.wants(&["__kmpc_"])
            && (object.wants(&OF_GCC) || !other.has_name("__kmpc_fork_call"))
            && (version.as_deref().is_some_and(|v| begins(v, &["OMP_", "GOMP_", "OACC_"]))
                || other.has_name("GOMP_parallel")
                || other.has_name("GOMP_barrier"))
}

/// What is to be said of the program, and the status that says it.
pub fn findings(program: &Path) -> Result<(Vec<Finding>, u8), Failure> {
    let library = library::find()?;
    let mut all = Vec::new();
    let mut add = |what, ok, detail: String| all.push(Finding { what, ok, detail });
    let name = program.display().to_string();
    if let Err(why) = part::check(program) {
        add("program", false, why.message);
        return Ok((all, why.status));
    }
    let script = matches!(elf::kind(program), Ok(Kind::Script));
    let what =
        if script { " is a script: whether what it starts uses OpenMP shows when it runs" } else { "" };
    add("program", true, format!("{name}{what}"));
    if script {
        return Ok((all, 0));
    }
    match part::of(program) {
        Part::Runtime => add("OpenMP", true, "of GCC's kind: promp is its runtime".into()),
        Part::NotKnown => add("OpenMP", true, "none so far; what it loads or starts may use some".into()),
        Part::Nothing(why) => add("OpenMP", false, format!("it {}; {}", why.is, why.todo)),
    }
    let unreadable = |e: String| Failure::new(66, e);
    let own = Object::read(&library).map_err(unreadable)?;
    let (paths, missing) = part::loaded(program).map_err(unreadable)?;
    add(
        "its libraries",
        missing.is_empty(),
        if missing.is_empty() {
            format!("{} found", paths.len() - 1)
        } else {
            format!("not found: {}", missing.join(", "))
        },
    );
    let objects: Vec<Object> = paths.iter().filter_map(|p| Object::read(p).ok()).collect();
    let mixes = mixes(&objects, &own);
    let one = mixes.is_empty();
    if one {
        let names: BTreeSet<&Symbol> =
            objects.iter().flat_map(|o| &o.wanted).filter(|(n, _)| !n.starts_with("__kmpc_")).collect();
        add(
            "one OpenMP runtime",
            true,
            format!("all of {} names that it and its libraries ask for", names.len()),
        );
    }
    for m in mixes {
        add("one OpenMP runtime", false, m);
    }
    Ok((
        all,
        if !one {
            TWO_RUNTIMES
        } else if missing.is_empty() {
            0
        } else {
            NOT_FOUND
        },
    ))
}

/// Names of a runtime's that `own`, this library, does not have, and another of the program's objects would
/// answer: a sentence each.
fn mixes(objects: &[Object], own: &Object) -> Vec<String> {
    let mut mixes = Vec::new();
    for o in objects {
        for s in o.wanted.iter().filter(|s| !s.0.starts_with("__kmpc_") && !own.answers(s)) {
            let other = objects.iter().find(|p| p.path != o.path && p.answers(s));
            if let Some(other) = other.filter(|other| is_of_a_runtime(o, s, other)) {
                let version = s.1.as_deref().unwrap_or("(none)");
                mixes.push(format!(
                    "{} calls {}, version {version}, which this promp does not have: {} would answer",
                    o.path.display(),
                    s.0,
                    other.path.display()
                ));
            }
        }
    }
    mixes
}
