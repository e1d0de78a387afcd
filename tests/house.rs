//! The checks of the house itself: each is in order, and sees what it is there to see.

use crate::common::root;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs one of the project's checks in `folder`.
fn check(tool: &str, args: &[&str], folder: &Path) -> Output {
    let mut c = Command::new("python3");
    c.arg(root().join("tools").join(tool)).args(args).current_dir(folder);
    c.output().expect("python3")
}

/// A copy of the runtime's sources in a folder of its own, with `text` in front of `file`.
fn copied(name: &str, file: &str, text: &str) -> PathBuf {
    let to = root().join("target/house").join(name);
    let _ = std::fs::remove_dir_all(&to);
    std::fs::create_dir_all(&to).expect("target is writable");
    let mut copy = Command::new("cp");
    copy.args(["-r", "--parents", "src", "crates/device/src", "crates/omp/src"]).arg(&to).current_dir(root());
    assert!(copy.status().expect("cp").success());
    let path = to.join(file);
    let old = std::fs::read_to_string(&path).expect("a source file");
    std::fs::write(&path, format!("{text}\n{old}")).expect("target is writable");
    to
}

/// What is not in the list is not built.
#[test]
fn every_file_of_tests_is_in_their_list() {
    let list = std::fs::read_to_string(root().join("tests/main.rs")).expect("the list");
    for file in std::fs::read_dir(root().join("tests")).expect("a folder").flatten() {
        let name = file.file_name().into_string().expect("a name");
        if let Some(name) = name.strip_suffix(".rs").filter(|&n| n != "main") {
            let row = format!("mod {name};");
            assert!(
                list.lines().any(|l| l == row),
                "tests/{name}.rs is never run: tests/main.rs lacks `{row}`"
            );
        }
    }
}

/// An error of the system's in words: that calls libc's strerror, which the keeper has no thread for. There
/// it is the kind that is said. (Files, and what `e` is in them where it is no such error.)
#[test]
fn errors_of_the_system_are_said_by_their_kind() {
    const OTHERS: [(&str, &str); 6] = [
        ("ckpt/src/resources/journal/undo.rs", "parse(&bytes).map_err(|e| format!(\"{name}: {e}\"))"),
        ("ckpt/src/restart/vdso.rs", "(error {e})"),
        // Settings are read by a thread of the program's.
        ("image/src/checkpoint_plan.rs", ""),
        ("image/src/directory.rs", "say(format!(\"checkpoint {n} is not used: {e}\"));"),
        ("image/src/format.rs", "serde_json::from_slice(json)"),
        ("image/src/run_record.rs", "no record of promp's ({e})"),
    ];
    let crates = root().join("crates");
    let mut seen = 0;
    for part in ["calls", "ckpt", "files", "image", "recover", "store", "sys"] {
        let mut folders = vec![crates.join(part).join("src")];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path()) {
                let name = path.strip_prefix(&crates).expect("in it").to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).expect("a source file");
                let product = text.split("#[cfg(test)]").next().unwrap_or("");
                for line in product.lines().filter(|_| !name.ends_with("tests.rs")) {
                    let in_words = line.contains("{e}") || line.contains("e.to_string()");
                    let other = OTHERS.iter().any(|(file, what)| name == *file && line.contains(what));
                    seen += usize::from(in_words && other);
                    assert!(!in_words || other, "{name}: {line}: say e.kind(), or which error it is");
                }
            }
        }
    }
    assert!(seen >= OTHERS.len(), "{seen}: what is no more is taken out of the list");
}

#[test]
fn the_layers_are_kept() {
    let o = check("layers.py", &[], root());
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stdout));
}

#[test]
fn an_upward_arrow_is_seen() {
    for (i, (file, text, above)) in [
        ("crates/omp/src/icv/environment.rs", "use crate::entry::omp;", "entry"),
        ("crates/omp/src/icv/parse.rs", "use crate::{observe::event, work::{loops, site}};", "work"),
        ("crates/omp/src/work/batch_size.rs", "fn f() { crate::device::is_used() }", "device"),
        ("crates/device/src/acc/profiling_interface.rs", "use crate::device;", "device"),
    ]
    .into_iter()
    .enumerate()
    {
        let at = copied(&format!("up{i}"), file, text);
        let o = check("layers.py", &["--root", at.to_str().expect("UTF-8")], root());
        let said = String::from_utf8_lossy(&o.stdout).into_owned();
        let fault = format!("{file} names {above}/");
        assert!(!o.status.success() && said.contains(&fault), "{text}: {said}");
    }
}

#[test]
fn a_downward_arrow_and_a_comment_are_not_faults() {
    for (i, (file, text)) in [
        ("src/entry/omp.rs", "use crate::observe::event as _;"),
        ("crates/omp/src/icv/environment.rs", "// use crate::entry::omp;"),
        ("crates/omp/src/work/batch_size.rs", "use crate::task::count as _;"),
    ]
    .into_iter()
    .enumerate()
    {
        let at = copied(&format!("down{i}"), file, text);
        let o = check("layers.py", &["--root", at.to_str().expect("UTF-8")], root());
        assert!(o.status.success(), "{text}: {}", String::from_utf8_lossy(&o.stdout));
    }
}

/// house.toml with the project's rules, and no ceilings above them.
fn rules() -> String {
    let text = std::fs::read_to_string(root().join("house.toml")).expect("house.toml");
    text.lines().filter(|l| !l.starts_with('"')).map(|l| format!("{l}\n")).collect()
}

/// A small repository with a crate, a document and these files.
fn tree(name: &str, files: &[(&str, String)]) -> PathBuf {
    let at = root().join("target/house").join(name);
    let _ = std::fs::remove_dir_all(&at);
    let own = [
        ("Cargo.toml", "[package]".to_string()),
        ("house.toml", rules()),
        ("src/lib.rs", "mod a;\nmod b;\n".to_string()),
        (
            "src/a.rs",
            "//! See `src/b.rs`.\nuse crate::b;\npub struct A { x: u8 }\nfn f() { b::g() }\n".to_string(),
        ),
        ("src/b.rs", "pub fn g() {}\n".to_string()),
        ("docs/page.md", "What there is to say is said in few words.\n".to_string()),
    ];
    for (file, text) in own.iter().chain(files) {
        let path = at.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("target is writable");
        std::fs::write(path, text).expect("target is writable");
    }
    let made = Command::new("git").args(["init", "-q"]).current_dir(&at).status();
    assert!(made.expect("git").success());
    at
}

/// What tools/house.py says of a tree, and whether nothing was above its ceiling.
fn measured(tree: &Path, args: &[&str]) -> (bool, String) {
    let root = tree.to_str().expect("UTF-8");
    let o = check("house.py", &[&["--root", root], args].concat(), tree);
    (o.status.success(), String::from_utf8_lossy(&[o.stdout, o.stderr].concat()).into_owned())
}

#[test]
fn the_house_is_below_its_ceilings() {
    let (fine, said) = measured(root(), &[]);
    assert!(fine, "{said}");
}

#[test]
fn a_small_house_is_in_order() {
    let (fine, said) = measured(&tree("order", &[]), &[]);
    assert!(fine && said.contains("nothing is above its ceiling"), "{said}");
}

/// A module that names `next`.
fn naming(next: usize) -> String {
    format!("use crate::c{next}::f as other;\nfn f() {{ other() }}\n")
}

#[test]
fn each_breach_is_seen() {
    let lines = |n: usize, line: &str| format!("{line}\n").repeat(n);
    let ring: Vec<(String, String)> =
        (0..21).map(|i| (format!("src/c{i}.rs"), naming((i + 1) % 21))).collect();
    let ring: Vec<(&str, String)> = ring.iter().map(|(f, t)| (f.as_str(), t.clone())).collect();
    let many: Vec<String> = (0..41).map(|i| format!("src/many/d{i}.rs")).collect();
    let many: Vec<(&str, String)> = many.iter().map(|f| (f.as_str(), String::new())).collect();
    let exception = "[[exception]]\nfile = \"a/x.rs\"\nto = \"b\"\nreason = \"it is so\"\n".to_string();
    let long = format!("{}end.\n", lines(41, "word"));
    let one = |file: &'static str, text: String| vec![(file, text)];
    for (measure, named, files) in [
        ("crate_lines", "src: 21", one("src/c.rs", lines(21_000, "//"))),
        ("file_lines", "tests/t.rs: 501 lines", one("tests/t.rs", lines(501, "//"))),
        ("folder_files", "src/many: 41 files", many),
        ("circle", "src: 21 files", ring),
        ("arrows_up", "a to b: 1 files", one("layers.toml", exception)),
        (
            "functions",
            "src/c.rs f: 63 lines",
            one("src/c.rs", format!("fn f() {{\n{}}}\n", lines(61, "g();"))),
        ),
        (
            "functions",
            "plugin/src/p.cc take: 63 lines",
            one("plugin/src/p.cc", format!("bool take(int x) {{\n{}}}\n", lines(61, "if (x) { x--; }"))),
        ),
        (
            "classes",
            "plugin/src/p.cc Reader: 252 lines",
            one("plugin/src/p.cc", format!("class Reader {{\n{}}};\n", lines(250, "int f();"))),
        ),
        (
            "fields",
            "src/c.rs S: 21 fields",
            one("src/c.rs", format!("struct S {{\n{}}}\n", lines(21, "x: Map<u8, m::T>,"))),
        ),
        ("public", "src: 63 items", one("src/c.rs", lines(61, "pub fn f() {}"))),
        ("names_twice", "b: 2 files", one("src/deep/b.rs", String::new())),
        ("participles", "src: 1 files", one("src/written.rs", String::new())),
        ("document_words", "docs/long.md: 2501 words", one("docs/long.md", lines(2501, "word"))),
        ("decision_words", "decisions/001.md: 901 words", one("decisions/001.md", lines(901, "word"))),
        ("all_words", "documents: 24", one("docs/internals/long.md", lines(24_000, "word"))),
        ("sentence_words", "docs/long.md: 42 words", one("docs/long.md", long.clone())),
        ("long_sentences", "docs/long.md: 1 sentences", one("docs/long.md", long)),
        ("made", "docs/picture.svg: 3 lines", one("docs/picture.svg", lines(3, "<svg/>"))),
        ("made", "src/k.ptx: 1 lines", one("src/k.ptx", ".entry main$_omp_fn$0\n".to_string())),
        ("dead_names", "src/c.rs: 1 names", one("src/c.rs", "// See src/gone.rs.\n".to_string())),
        ("dead_names", "docs/dead.md: 1 names", one("docs/dead.md", "See src/gone.rs.\n".to_string())),
    ] {
        let (fine, said) = measured(&tree("breach", &files), &[]);
        let line = said.lines().find(|l| l.contains(&format!("({measure})")));
        assert!(!fine && line.is_some_and(|l| l.starts_with(named)), "{measure}, {named}: {said}");
    }
}

#[test]
fn tests_comments_and_strings_are_not_measured() {
    let text = format!(
        "fn f() {{\n    let text = \"{}\";\n/*{}*/}}\n#[cfg(test)]\nmod tests {{\nfn long() {{\n{}}}\n}}\n",
        "fn g() { ",
        "{ pub fn h()",
        "g();\n".repeat(70)
    );
    let (fine, said) = measured(&tree("quiet", &[("src/c.rs", text)]), &[]);
    assert!(fine, "{said}");
}

#[test]
fn a_ceiling_is_lowered_and_never_raised() {
    let older = |n: u32| {
        rules().replace("[file_lines.older]\n", &format!("[file_lines.older]\n\"src/c.rs\" = {n}\n"))
    };
    let of = |lines: usize, ceiling: u32| {
        let at = tree("lower", &[("src/c.rs", "//\n".repeat(lines)), ("house.toml", older(ceiling))]);
        let first = measured(&at, &[]).0;
        let lowered = measured(&at, &["--lower"]).0;
        let text = std::fs::read_to_string(at.join("house.toml")).expect("house.toml");
        (first, lowered, text)
    };
    for (lines, ceiling, fine, after) in
        [(600, 700, true, 600), (700, 700, true, 700), (701, 700, false, 700), (500, 700, true, 0)]
    {
        let (first, lowered, text) = of(lines, ceiling);
        assert_eq!((first, lowered), (fine, fine), "{lines} lines, {ceiling}");
        assert_eq!(text, if after == 0 { rules() } else { older(after) }, "{lines} lines, {ceiling}");
    }
}

/// Tests run side by side: what they write lies in their own folders, and what they share is locked.
#[test]
fn what_tests_share_is_locked() {
    let mut folders = vec![root().join("tests")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("loom") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("common/mod.rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let named = text.contains(concat!("target", "/c-tests"));
                let shared = text.contains(concat!("shared_", "folder(")) && !text.contains("built::");
                assert!(!named && !shared, "{}: out_folder() is a test's own", path.display());
            }
        }
    }
}
