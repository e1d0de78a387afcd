//! The place of a step: by its command, where it is executed, what the script has set for it, and which one
//! of its kind it is in this run.

use super::redirections::Streams;
use promp_calls::file_list::AT_ONCE;
use promp_files::replace;
use promp_image::Directory;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Characters of a program's name that a place's has.
const SHORT: usize = 24;
/// Variables that shells, make and promp set for their own sake.
const OWN: [&str; 11] = [
    "_",
    "SHLVL",
    "PWD",
    "OLDPWD",
    "LD_PRELOAD",
    "LINES",
    "COLUMNS",
    "MAKEFLAGS",
    "MFLAGS",
    "MAKE_TERMERR",
    "MAKE_TERMOUT",
];

/// A place.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its checkpoint directory.
    pub(super) dir: PathBuf,
    /// As which one of all steps of this run.
    pub(super) number: usize,
}

impl Place {
    /// Takes the first of the kind in `folder` that no step of run `nonce` has had.
    pub(super) fn take(folder: &Path, kind: &str, nonce: &str) -> io::Result<Self> {
        let lock = File::open(folder)?;
        lock.lock()?;
        let taken = all_taken(folder);
        let number = taken.values().filter(|t| t.nonce == nonce).count() + 1;
        for n in 1.. {
            let name = format!("{kind}-{n}");
            if taken.get(&name).is_none_or(|t| t.nonce != nonce) {
                let place = Self { dir: folder.join(name), number };
                replace(&place.beside("taken"), format!("{nonce} {number}\n").as_bytes())?;
                return Ok(place);
            }
        }
        Err(io::Error::other("no place is free"))
    }

    /// A file beside it.
    pub(super) fn beside(&self, what: &str) -> PathBuf {
        beside(&self.dir, what)
    }

    /// Removes what there is of the step, but for what is known of others at the same time.
    pub(super) fn clear(&self) -> io::Result<()> {
        for gone in ["files", "ended"].map(|what| fs::remove_file(self.beside(what))) {
            or_missing(gone)?;
        }
        or_missing(fs::remove_dir_all(&self.dir))
    }

    /// The step is about to run. If others are at work, or are to go on, it is noted for each of them: who
    /// goes back must not cut a log then that all of them write to.
    pub(super) fn note_others(&self) -> io::Result<()> {
        let Some(folder) = self.dir.parent() else { return Ok(()) };
        let lock = File::open(folder)?;
        lock.lock()?;
        let is_at_work = |dir: &PathBuf| !Directory::open(dir).is_ok_and(|d| d.finished());
        let all = all_taken(folder).into_keys().map(|name| folder.join(name));
        let others: Vec<_> = all.filter(|dir| *dir != self.dir && is_at_work(dir)).collect();
        let own = others.first().map(|_| &self.dir);
        others.iter().chain(own).try_for_each(|dir| replace(&beside(dir, AT_ONCE), b""))
    }

    /// The places of steps that come behind this one, or are at work at the same time, in their order.
    pub(super) fn later(&self) -> Vec<PathBuf> {
        let Some(folder) = self.dir.parent() else { return Vec::new() };
        let mut all: Vec<_> =
            all_taken(folder).into_iter().map(|(name, t)| (t.number, folder.join(name))).collect();
        all.sort();
        let at_once = |dir: &Path| beside(dir, AT_ONCE).exists();
        let own = at_once(&self.dir);
        let later = |(n, dir): &(usize, PathBuf)| *n > self.number || own && at_once(dir);
        all.into_iter().filter(later).map(|(_, dir)| dir).filter(|dir| *dir != self.dir).collect()
    }
}

/// A file beside the place `dir`.
pub(super) fn beside(dir: &Path, what: &str) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".");
    name.push(what);
    name.into()
}

fn or_missing(gone: io::Result<()>) -> io::Result<()> {
    match gone {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        gone => gone,
    }
}

/// The places in `folder` that steps of run `nonce` have had.
pub(super) fn of_run(folder: &Path, nonce: &str) -> Vec<PathBuf> {
    let all = all_taken(folder).into_iter().filter(|(_, t)| t.nonce == nonce);
    all.map(|(name, _)| folder.join(name)).collect()
}

struct Taken {
    nonce: String,
    number: usize,
}

/// By whom each was taken last.
fn all_taken(folder: &Path) -> BTreeMap<String, Taken> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.file_name());
    let one = |name: OsString| {
        let place = name.to_str()?.strip_suffix(".taken")?.to_owned();
        let text = promp_files::read(&folder.join(&name), 256).ok()?;
        let text = String::from_utf8(text).ok()?;
        let (nonce, number) = text.trim().split_once(' ')?;
        Some((place, Taken { nonce: nonce.into(), number: number.parse().ok()? }))
    };
    names.filter_map(one).collect()
}

/// The kind of a step: the program's name, and a sum of all that tells one from another.
pub(super) fn kind(
    program: &Path,
    arguments: &[OsString],
    front: u32,
    streams: &Streams,
) -> io::Result<String> {
    let mut text = Vec::new();
    let mut add = |word: &[u8]| {
        text.extend((word.len() as u64).to_le_bytes());
        text.extend(word);
    };
    add(program.canonicalize()?.as_os_str().as_bytes());
    add(std::env::current_dir()?.as_os_str().as_bytes());
    add(&(arguments.len() as u64).to_le_bytes());
    arguments.iter().for_each(|a| add(a.as_bytes()));
    for (name, value) in set_by_the_script(front) {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    streams.files().for_each(|path| add(path.as_os_str().as_bytes()));
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let short: String = name.chars().map(|c| if plain(c) { c } else { '_' }).take(SHORT).collect();
    Ok(format!("{short}-{:016x}", promp_image::sum(&text)))
}

/// The variables that are not what the `promp` in front of the script has, in the order of their names.
fn set_by_the_script(front: u32) -> BTreeMap<OsString, OsString> {
    let before = fs::read(format!("/proc/{front}/environ")).unwrap_or_default();
    let pair = |line: &[u8]| {
        let i = line.iter().position(|b| *b == b'=')?;
        Some((OsString::from_vec(line[..i].into()), OsString::from_vec(line[i + 1..].into())))
    };
    let before: BTreeMap<_, _> = before.split(|b| *b == 0).filter_map(pair).collect();
    let own = |name: &OsStr| name.as_bytes().starts_with(b"PROMP_") || OWN.iter().any(|own| *own == name);
    let mut set: BTreeMap<_, _> = std::env::vars_os().collect();
    set.retain(|name, value| !own(name) && before.get(name) != Some(value));
    let unset = before.into_keys().filter(|name| std::env::var_os(name).is_none() && !own(name));
    let unset: Vec<_> = unset.collect();
    set.extend(unset.into_iter().map(|name| (name, "unset".into())));
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_a_kind_has_one() {
        let folder = promp_files::Scratch::new("places").unwrap();
        let take = |kind, nonce| Place::take(folder.path(), kind, nonce).unwrap();
        let name = |p: &Place| p.dir.file_name().unwrap().to_str().unwrap().to_owned();
        let first = [take("a", "1"), take("b", "1"), take("a", "1")];
        assert_eq!(first.each_ref().map(name), ["a-1", "b-1", "a-2"]);
        assert_eq!(first.each_ref().map(|p| p.number), [1, 2, 3]);
        assert_eq!(first[0].later().len(), 2);
        // Another run has the same ones.
        let again = [take("a", "2"), take("b", "2"), take("a", "2"), take("c", "2")];
        assert_eq!(again.each_ref().map(name), ["a-1", "b-1", "a-2", "c-1"]);
        assert_eq!((of_run(folder.path(), "2").len(), of_run(folder.path(), "3").len()), (4, 0));
        again[3].clear().unwrap();
        fs::create_dir(&again[0].dir).unwrap();
        fs::write(again[0].beside("ended"), "x").unwrap();
        again[0].clear().unwrap();
        assert!(!again[0].dir.exists() && !again[0].beside("ended").exists());
    }
}
