//! The recipes below packaging/ (docs/install.md): their tools can read them, they are of this version, and
//! what they name is there. None is built here: each needs its own system. decisions/083.md: what
//! was tried.

use crate::common::*;
use std::fs;
use std::process::Command;

const RECIPES: [&str; 5] =
    ["conda/meta.yaml", "spack/package.py", "rpm/promp.spec", "container/Containerfile", "ci/github.yml"];

fn text_of(recipe: &str) -> String {
    let path = root().join("packaging").join(recipe);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Runs Python, which every build needs, on `program`; false: a module is not there.
fn python(program: &str, recipe: &str) -> bool {
    let mut c = Command::new("python3");
    c.args(["-c", program]).arg(root().join("packaging").join(recipe));
    let end = limited(c, LIMIT);
    let missing = end.err.contains("ModuleNotFoundError");
    assert!(end.status == 0 || missing, "{recipe}: {}", end.err);
    available(&format!("Python's module for {recipe}"), !missing)
}

#[test]
fn they_are_of_this_version() {
    for recipe in &RECIPES[..3] {
        assert!(text_of(recipe).contains(env!("CARGO_PKG_VERSION")), "{recipe}");
    }
}

#[test]
fn what_they_make_is_there() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("Makefile");
    let parts = fs::read_to_string(root().join("packaging/files.txt")).expect("files.txt");
    for recipe in RECIPES {
        let text = text_of(recipe);
        let lines = text.lines().map(|l| l.split('#').next().unwrap_or(""));
        for line in lines.filter(|l| l.contains("make ") && !l.contains("install -y")) {
            let words = line.split("make ").nth(1).unwrap_or("").split("&&").next().unwrap_or("");
            let targets = words.split_whitespace().take_while(|w| !w.contains(['=', '"', '`', ',']));
            for target in targets {
                let is_one = makefile.lines().any(|l| {
                    l.split(':').next().is_some_and(|names| names.split_whitespace().any(|n| n == target))
                });
                assert!(is_one, "{recipe}: make {target}");
            }
        }
        for named in text.split("PARTS=").skip(1) {
            let named = named.trim_start_matches('"').split('"').next().unwrap_or("");
            for part in named.split_whitespace().filter(|p| !p.contains('{')) {
                assert!(parts.lines().any(|l| l.starts_with(part)), "{recipe}: {part}");
            }
        }
    }
}

/// Who makes Debian packages answers for them, if that is said as Debian's tools are told it.
#[test]
fn who_answers_for_packages() {
    for (name, address, want) in [
        ("", "", "The promp authors <promp@promp.invalid>"),
        ("A Packager", "a@example.org", "A Packager <a@example.org>"),
        ("", "a@example.org", "a@example.org <a@example.org>"),
        ("Another", "A <a@example.org>", "A <a@example.org>"),
    ] {
        let mut c = Command::new("python3");
        c.args(["-c", "from packing import debs; print(debs.maintainer())"])
            .current_dir(root().join("tools"));
        c.env("DEBFULLNAME", name).env("DEBEMAIL", address);
        let end = limited(c, LIMIT);
        assert_eq!((end.status, end.out.trim_end()), (0, want), "{}", end.err);
    }
}

#[test]
fn pythons_are_compiled() {
    python("import ast, sys; ast.parse(open(sys.argv[1]).read())", "spack/package.py");
}

#[test]
fn yaml_is_read() {
    let plain = "import sys, yaml; d = yaml.safe_load(open(sys.argv[1])); \
                 assert all('steps' in j and 'runs-on' in j for j in d['jobs'].values()), d";
    python(plain, "ci/github.yml");
    let form = "import sys, yaml; d = yaml.safe_load(open(sys.argv[1])); \
                assert d['name'] and d['description'] and d['body'], d; \
                assert all(f['type'] in ('input', 'textarea', 'markdown') for f in d['body']), d";
    python(form, "ci/bug.yml");
    // conda-build puts in what is in braces, and leaves out lines that begin with {%.
    let filled = "import re, sys, yaml\n\
                  t = re.sub(r'^{%.*%}$', '', open(sys.argv[1]).read(), flags=re.M)\n\
                  d = yaml.safe_load(re.sub(r'{{.*?}}', 'x', t))\n\
                  assert [o['name'] for o in d['outputs']] == ['promp', '_openmp_mutex'], d\n";
    python(filled, "conda/meta.yaml");
}

#[test]
fn the_spec_is_read() {
    let spec = root().join("packaging/rpm/promp.spec");
    let there = Command::new("rpmspec").arg("--version").output().is_ok_and(|o| o.status.success());
    if available("rpmspec", there) {
        let mut c = Command::new("rpmspec");
        c.arg("-P").arg(spec);
        let end = limited(c, LIMIT);
        assert!(end.status == 0 && end.out.contains("%files devel"), "{}", end.err);
    }
}

#[test]
fn the_container_runs_programs_under_promp() {
    let text = text_of("container/Containerfile");
    let words = ["FROM", "RUN", "WORKDIR", "COPY", "ENTRYPOINT", "CMD", "#"];
    for line in text.lines().filter(|l| !l.is_empty()) {
        assert!(words.contains(&line.split(' ').next().unwrap_or("")), "{line}");
    }
    assert!(text.contains(r#"ENTRYPOINT ["promp", "run", "--"]"#));
}
