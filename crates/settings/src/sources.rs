//! The product's sources name settings by their rows: a name is written in the table only. In texts for users
//! it may stand, if it is one.

use crate::{ALL, internal, names};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Rust files in a folder of the product, without this crate's and those of tests alone.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for e in fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()) {
        let is_test = ["tests", "tests.rs"].iter().any(|t| e.ends_with(t));
        match e.extension().and_then(|x| x.to_str()) {
            _ if is_test || e.ends_with("crates/settings") => {}
            Some("rs") => found.push(e),
            _ if e.is_dir() => sources(&e, found),
            _ => {}
        }
    }
}

/// A file's code without its unit tests, which stand at its end.
fn product(text: &str) -> &str {
    let module = text
        .match_indices("#[cfg(test)]\nmod ")
        .find(|(at, _)| text[*at..].lines().nth(1).is_some_and(|line| line.ends_with('{')));
    module.map_or(text, |(at, _)| &text[..at])
}

/// Files that are modules of tests: the names behind `#[cfg(test)]` in the file that has them.
fn is_module_of_tests(file: &Path) -> bool {
    let name = file.file_stem().unwrap_or_default().display();
    let above = ["mod.rs", "lib.rs", "main.rs"].map(|f| file.with_file_name(f));
    let declared = |text: String| text.contains(&format!("#[cfg(test)]\nmod {name};"));
    above.iter().filter_map(|f| fs::read_to_string(f).ok()).any(declared)
}

fn files() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    ["src", "cli/src", "crates", "plugin/analysis/src"]
        .iter()
        .for_each(|f| sources(&root().join(f), &mut found));
    found.retain(|f| !is_module_of_tests(f));
    let read = |f: PathBuf| (f.clone(), fs::read_to_string(f).expect("a text"));
    found.into_iter().map(read).collect()
}

/// The words of a text that may be names of variables, each with what stands before and behind it.
fn words(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let of_name = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    text.match_indices("PROMP_").map(move |(at, _)| {
        let begins = at - text[..at].bytes().rev().take_while(|b| of_name(*b)).count();
        let ends = at + text[at..].bytes().take_while(|b| of_name(*b)).count();
        (&text[..begins], &text[begins..ends], &text[ends..])
    })
}

/// A literal that is a name, or a line of the environment with it; not a sentence that begins with one.
fn literals(text: &str) -> Vec<&str> {
    let is_one = |(before, name, behind): &(&str, &str, &str)| {
        let is_line = behind.starts_with('=')
            && behind.split('"').next().is_some_and(|v| v.len() > 1 && !v.contains([' ', '\n']));
        !name.ends_with('_') && before.ends_with('"') && (behind.starts_with('"') || is_line)
    };
    words(text).filter(is_one).map(|(_, name, _)| name).collect()
}

#[test]
fn names_are_written_in_the_table_only() {
    for (file, text) in files() {
        let found = literals(product(&text));
        assert!(found.is_empty(), "{}: {found:?}: use promp_settings' rows", file.display());
    }
}

#[test]
fn literals_are_told_from_sentences() {
    let text =
        r#"f("PROMP_A"); c"PROMP_B"; b"PROMP_C=x"; "PROMP_D is set"; "PROMP_E=x is not"; "set PROMP_F""#;
    assert_eq!(literals(text), ["PROMP_A", "PROMP_B", "PROMP_C"]);
    assert_eq!(product("a\n#[cfg(test)]\nmod tests {\nb"), "a\n");
    assert_eq!(product("#[cfg(test)]\nmod table;\na"), "#[cfg(test)]\nmod table;\na");
}

#[test]
fn names_in_sources_and_documents_are_known() {
    let mut all = files();
    let documents = fs::read_dir(root().join("docs")).expect("docs").map(|e| e.expect("an entry").path());
    for page in documents.filter(|p| p.is_file()).chain([root().join("README.md")]) {
        let text = fs::read_to_string(&page).expect("a text");
        all.push((page, text));
    }
    assert!(all.len() > 300, "{}", all.len());
    let header = fs::read_to_string(root().join("include/promp.h")).expect("a header");
    for (file, text) in all {
        for (_, name, behind) in words(product(&text)) {
            // A beginning that several have: PROMP_SDC_*.
            let several = name.ends_with('_') || behind.starts_with(['*', '…']);
            let of_header = words(&header).any(|(_, own, _)| own == name);
            assert!(several || of_header || names::is_known(name), "{}: {name}", file.display());
        }
    }
}

#[test]
fn all_settings_are_read() {
    let texts: String = files().into_iter().map(|(_, text)| text).collect();
    let here: String = ["devices.rs", "needs.rs"]
        .map(|f| {
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(f)).expect("a text")
        })
        .concat();
    for s in ALL {
        let row = s.name.trim_start_matches("PROMP_").trim_start_matches("OMP_");
        let used = |text: &str| [format!("&{row}"), format!("{row}.")].iter().any(|u| text.contains(u));
        assert!(used(&texts) || used(&here), "nobody reads {}", s.name);
    }
    assert!(internal::ALL.len() > 10);
}
