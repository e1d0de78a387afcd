//! The scripts that a command names: a run is not continued by a command whose script has another text now.

use crate::Word;
use crate::format::sum;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// No script is longer.
const LONGEST: u64 = 16 << 20;
/// What files are called that interpreters execute; `#!` makes any file one.
const ENDINGS: [&str; 12] = ["R", "bash", "jl", "js", "lua", "m", "pl", "py", "r", "rb", "sh", "zsh"];

/// A script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Script {
    /// As it was typed; the program's own file if that is one.
    pub path: Word,
    sum: u64,
}

/// Those of `command`, whose program is `program`.
pub(crate) fn of(command: &[OsString], program: &Path) -> Vec<Script> {
    let words = command.iter().skip(1).map(Path::new);
    std::iter::once(program).chain(words).filter_map(read).collect()
}

fn read(path: &Path) -> Option<Script> {
    // To open a pipe could be seen at its other end.
    let regular = path.metadata().ok()?.is_file().then_some(path)?;
    let named = path.extension().and_then(|e| e.to_str()).is_some_and(|e| ENDINGS.contains(&e));
    let text = promp_files::read(regular, LONGEST).ok()?;
    let is_one = named || text.starts_with(b"#!");
    is_one.then(|| Script { path: path.as_os_str().as_bytes().into(), sum: sum(&text) })
}

/// The first of them that has another text now.
pub(crate) fn changed<'a>(then: &'a [Script], now: &[Script]) -> Option<&'a Word> {
    let other = |s: &&Script| now.iter().any(|n| n.path == s.path && n.sum != s.sum);
    then.iter().find(other).map(|s| &s.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared() {
        let folder = promp_files::Scratch::new("scripts").unwrap();
        let at = |name: &str, text: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.into_os_string()
        };
        let words = [at("a", b"#!/bin/sh\n"), at("b.py", b"1"), at("data", b"1"), "no/such.py".into()];
        let before = of(&words, Path::new(&words[0]));
        assert_eq!(before.len(), 2);
        assert_eq!(changed(&before, &of(&words, Path::new(&words[0]))), None);
        at("data", b"2");
        assert_eq!(changed(&before, &of(&words, Path::new(&words[0]))), None);
        at("b.py", b"2");
        let named = changed(&before, &of(&words, Path::new(&words[0]))).map(Word::to_string);
        assert!(named.is_some_and(|n| n.ends_with("b.py")));
    }
}
