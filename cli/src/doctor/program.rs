//! `promp doctor PROGRAM`: would it run under the library with one OpenMP runtime? What the library asks of
//! the loader when it is loaded (src/sys/runtimes.rs), asked of the files. Libraries that the program loads
//! later are looked at when it loads them.

use crate::doctor::Finding;
use crate::elf::{self, Kind};
use crate::{Failure, library};
use object::Endianness;
use object::read::elf::{ElfFile64, Sym as _};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program for which this is the status would be stopped when it begins.
pub const TWO_RUNTIMES: u8 = 76;

/// A name and its version.
type Symbol = (String, Option<String>);

/// The symbols of a file that matter here.
struct Object {
    path: PathBuf,
    wanted: Vec<Symbol>,
    has: BTreeSet<Symbol>,
}

impl Object {
    fn read(path: &Path) -> Result<Self, String> {
        let data = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let unreadable = |e: object::Error| format!("{}: {e}", path.display());
        let file = ElfFile64::<Endianness>::parse(&*data).map_err(unreadable)?;
        let (endian, sections) = (file.endian(), file.elf_section_table());
        let versions = sections.versions(endian, &*data).map_err(unreadable)?;
        let symbols = file.elf_dynamic_symbol_table();
        let mut o = Self { path: path.into(), wanted: Vec::new(), has: BTreeSet::new() };
        for (i, s) in symbols.enumerate() {
            let name = symbols.symbol_name(endian, s).map_err(unreadable)?;
            let Ok(name) = std::str::from_utf8(name) else { continue };
            if !["GOMP_", "GOACC_", "omp_", "acc_", "__kmpc_"].iter().any(|p| name.starts_with(p)) {
                continue;
            }
            let version =
                versions.as_ref().and_then(|v| v.version(v.version_index(endian, i).into()).ok()?);
            let version = version.map(|v| String::from_utf8_lossy(v.name()).into_owned());
            if s.is_undefined(endian) {
                o.wanted.push((name.into(), version));
            } else {
                // Asked for without a version, or with any where it has none, it is found, too.
                o.has.insert((name.into(), None));
                o.has.insert((name.into(), version));
            }
        }
        Ok(o)
    }

    fn answers(&self, (name, version): &Symbol) -> bool {
        let without_versions = || self.has.iter().all(|(_, v)| v.is_none());
        self.has.contains(&(name.clone(), version.clone()))
            || without_versions() && self.has.contains(&(name.clone(), None))
    }

    fn has_name(&self, name: &str) -> bool {
        self.has.contains(&(name.into(), None))
    }

    fn wants(&self, prefixes: &[&str]) -> bool {
        self.wanted.iter().any(|(n, _)| prefixes.iter().any(|p| n.starts_with(p)))
    }
}

/// Only GCC's runtime has such names.
const OF_GCC: [&str; 2] = ["GOMP_", "GOACC_"];

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
    let mut all = Vec::new();
    let mut add = |what, ok, detail: String| all.push(Finding { what, ok, detail });
    let name = program.display().to_string();
    let kind = elf::kind(program).map_err(|e| Failure::new(66, format!("{name}: {e}")))?;
    let why = match kind {
        Kind::Dynamic => None,
        Kind::Static => Some("statically linked: nothing can be preloaded"),
        Kind::Foreign => Some("built for another machine: x86-64 is wanted"),
        Kind::Script => Some("a script: name its interpreter, and see what it loads"),
        Kind::Unknown => Some("not a program"),
    };
    add("program", why.is_none(), why.map_or(name.clone(), |w| format!("{name} is {w}")));
    if why.is_some() {
        return Ok((all, 126));
    }
    let unreadable = |e: String| Failure::new(66, e);
    let own = Object::read(&library::find()?).map_err(unreadable)?;
    let (paths, missing) = loaded(program).map_err(unreadable)?;
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
    let names: BTreeSet<&Symbol> =
        objects.iter().flat_map(|o| &o.wanted).filter(|(n, _)| !n.starts_with("__kmpc_")).collect();
    let mut mixes = Vec::new();
    for o in &objects {
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
    let one = mixes.is_empty();
    if one {
        add(
            "one OpenMP runtime",
            true,
            format!("all of {} names that it and its libraries ask for", names.len()),
        );
    }
    for m in mixes {
        add("one OpenMP runtime", false, m);
    }
    Ok((all, if one { 0 } else { TWO_RUNTIMES }))
}

/// The program and the libraries that the loader would load with it, and those that it does not find.
fn loaded(program: &Path) -> Result<(Vec<PathBuf>, Vec<String>), String> {
    const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
    let out = Command::new(LOADER)
        .arg("--list")
        .arg(program)
        .env_remove("LD_PRELOAD")
        .output()
        .map_err(|e| format!("{LOADER}: {e}"))?;
    let (mut found, mut missing) = (vec![program.to_path_buf()], Vec::new());
    for line in String::from_utf8_lossy(&out.stdout).lines() {
        // NAME => PATH (ADDRESS), NAME => not found, PATH (ADDRESS)
        let (name, path) = line.split_once("=>").unwrap_or((line, line));
        match path.rsplit_once(" (") {
            Some((path, _)) => found.extend(Some(PathBuf::from(path.trim())).filter(|p| p.is_file())),
            None if path.trim() == "not found" => missing.push(name.trim().to_string()),
            None => {}
        }
    }
    Ok((found, missing))
}
