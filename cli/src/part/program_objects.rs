//! The files that the loader would put together to a program, and what they ask of OpenMP runtimes.

use object::Endianness;
use object::read::elf::{ElfFile64, Sym as _};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A name and its version.
pub type Symbol = (String, Option<String>);

/// Only GCC's runtime has such names.
pub const OF_GCC: [&str; 2] = ["GOMP_", "GOACC_"];

/// By these an object loads other libraries, or starts other programs.
const BRINGS_OTHERS: [&str; 17] = [
    "dlopen",
    "dlmopen",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execveat",
    "execvp",
    "execvpe",
    "fexecve",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "syscall",
    "system",
    "wordexp",
];

/// The symbols of a file that matter here.
#[derive(Default)]
pub struct Object {
    /// The file.
    pub path: PathBuf,
    /// What it asks others for.
    pub wanted: Vec<Symbol>,
    /// What it has.
    pub has: BTreeSet<Symbol>,
    /// May it load other libraries, or start other programs? (libc has the means, and does not.)
    pub may_bring_others: bool,
}

impl Object {
    /// Reads the symbols of a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let unreadable = |e: object::Error| format!("{}: {e}", path.display());
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let file = std::fs::File::open(path).map_err(failed)?;
        // SAFETY: whoever changes a library's file while programs are started breaks those, too.
        let data = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
        let file = ElfFile64::<Endianness>::parse(&*data).map_err(unreadable)?;
        let (endian, sections) = (file.endian(), file.elf_section_table());
        let versions = sections.versions(endian, &*data).map_err(unreadable)?;
        let symbols = file.elf_dynamic_symbol_table();
        let mut o = Self { path: path.into(), ..Self::default() };
        for (i, s) in symbols.enumerate() {
            let name = symbols.symbol_name(endian, s).map_err(unreadable)?;
            let Ok(name) = std::str::from_utf8(name) else { continue };
            o.may_bring_others |= s.is_undefined(endian) && BRINGS_OTHERS.contains(&name);
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

    /// One that asks for these names.
    #[cfg(test)]
    pub fn asking(names: &[&str]) -> Self {
        Self { wanted: names.iter().map(|n| ((*n).into(), None)).collect(), ..Self::default() }
    }

    /// Would it answer who asks for that?
    pub fn answers(&self, (name, version): &Symbol) -> bool {
        let without_versions = || self.has.iter().all(|(_, v)| v.is_none());
        self.has.contains(&(name.clone(), version.clone()))
            || without_versions() && self.has.contains(&(name.clone(), None))
    }

    /// Has it such a name, whatever the version?
    pub fn has_name(&self, name: &str) -> bool {
        self.has.contains(&(name.into(), None))
    }

    /// Does it ask for names that begin so?
    pub fn wants(&self, prefixes: &[&str]) -> bool {
        self.wanted.iter().any(|(n, _)| prefixes.iter().any(|p| n.starts_with(p)))
    }

    /// Does it mean a runtime of GCC's, by the version of a name?
    pub fn asks_by_version(&self) -> bool {
        let is_gccs = |v: &String| ["OMP_", "GOMP_", "OACC_"].iter().any(|p| v.starts_with(p));
        !self.wants(&["__kmpc_"]) && self.wanted.iter().any(|(_, v)| v.as_ref().is_some_and(is_gccs))
    }
}

/// The program and the libraries that the loader would load with it, and those that it does not find.
pub fn loaded(program: &Path) -> Result<(Vec<PathBuf>, Vec<String>), String> {
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
