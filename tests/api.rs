//! docs/api.md's programs, and every function of promp.h from everywhere it may be called: in C99, C++11,
//! Fortran and Python, with promp, without it, and linked with it. (One by one: api_table.rs.)

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of the document in this language.
fn programs(language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs/api.md")).expect("docs/api.md");
    let fence = format!("```{language}\n");
    let all = text.split(&fence).skip(1).map(|t| t.split("```").next().unwrap_or_default().to_owned());
    all.collect()
}

/// A way to compile.
struct Way {
    name: &'static str,
    compiler: &'static str,
    words: &'static [&'static str],
    /// The file's ending.
    ending: &'static str,
}

const C99: Way = Way { name: "c99", compiler: "gcc", words: &["-std=c99", "-pedantic", "-O1"], ending: "c" };
const CPP11: Way =
    Way { name: "cpp11", compiler: "g++", words: &["-std=c++11", "-pedantic", "-O2"], ending: "cc" };
const FORTRAN: Way = Way { name: "fortran", compiler: "gfortran", words: &["-O1"], ending: "f90" };

impl Way {
    /// `text` as a program, and once more linked with `-lpromp`.
    fn built(&self, name: &str, text: &str) -> [PathBuf; 2] {
        let folder = out_folder(&format!("api/{}-{name}", self.name));
        let source = folder.join(format!("program.{}", self.ending));
        std::fs::write(&source, text).expect("room for a program");
        let libraries = library().parent().expect("a folder").display().to_string();
        ["", "-lpromp"].map(|linked| {
            let exe = folder.join(format!("program{linked}"));
            let mut c = Command::new(self.compiler);
            c.current_dir(&folder).arg(format!("-I{}", root().join("include").display()));
            c.args(["-fopenmp", "-Wall", "-Wextra", "-Werror", "-foffload=disable"]).args(self.words);
            c.arg("-o").arg(&exe);
            if self.name == "fortran" {
                c.arg(root().join("include/promp.f90"));
            }
            c.arg(&source).arg(format!("-L{libraries}"));
            match (self.name, linked) {
                (_, "-lpromp") => c.args(["-lpromp", &format!("-Wl,-rpath,{libraries}")]),
                ("fortran", _) => c.arg("-lpromp-stubs"),
                _ => &mut c,
            };
            let ran = limited(c, LIMIT);
            assert_eq!(ran.status, 0, "{} {name} {linked}: {}", self.name, ran.err);
            exe
        })
    }

    /// Without promp, with it, and linked with it the program prints `want`.
    fn prints(&self, name: &str, text: &str, want: &str) {
        let [plain, linked] = self.built(name, text);
        let threads = [("OMP_NUM_THREADS", "3")];
        let linked_with = |exe: &Path| {
            let mut c = Command::new(exe);
            clean(&mut c);
            c.envs(threads);
            limited(c, LIMIT)
        };
        for (how, ran) in [
            ("without", reference(&plain, &[], &threads)),
            ("with", promp(&plain, &[], &threads)),
            ("off", promp(&plain, &[], &[threads[0], ("PROMP_FT", "off")])),
            ("linked", linked_with(&linked)),
        ] {
            assert_eq!((ran.status, &*ran.out), (0, want), "{} {name} {how}: {}", self.name, ran.err);
        }
    }
}

/// What the document's programs print, in their order.
const PRINT: [&str; 8] = [
    "version 0\n",
    "sum 249750.0\n",
    "sum 499500\n",
    "result 6.0\n",
    "sum 4950\n",
    "sum 4498500, no such thread: -1\n",
    "0 failures\n",
    "sum 4950, 0 failures\n",
];

#[test]
fn the_documents_programs_in_c_and_cpp() {
    let all = programs("c");
    assert_eq!(all.len(), PRINT.len());
    for way in [C99, CPP11] {
        for (i, (text, want)) in all.iter().zip(PRINT).enumerate() {
            way.prints(&i.to_string(), text, want);
        }
    }
}

#[test]
fn the_documents_program_in_fortran() {
    let all = programs("fortran");
    assert_eq!(all.len(), 1);
    FORTRAN.prints("0", &all[0], "sum 500500\nfailures 0, no such thread -1\n");
}

#[test]
fn the_documents_program_in_python() {
    let all = programs("python");
    assert_eq!(all.len(), 1);
    let folder = empty_folder("api/python");
    let (site, program) = (crate::common::prefix::python_site(&folder), folder.join("program.py"));
    std::fs::write(&program, &all[0]).expect("room for a program");
    let (python, program) = (Path::new("python3"), program.to_str().expect("UTF-8"));
    let site = ("PYTHONPATH", site.to_str().expect("UTF-8"));
    // Where no OpenMP is loaded, promp is there all the same.
    for (how, ran, want) in [
        ("without", reference(python, &[program], &[site]), "no such thread: -1, 0 failures, None\n"),
        ("with", promp(python, &[program], &[site]), "no such thread: -1, 0 failures, 0 regions\n"),
    ] {
        assert_eq!((ran.status, &*ran.out), (0, want), "{how}: {}", ran.err);
    }
}

/// Names of functions that a text declares or names.
fn functions(text: &str) -> std::collections::BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = |w: &&str| w.starts_with("promp_") && !w.ends_with('_');
    let types = ["promp_fault", "promp_recovery", "promp_schedule", "promp_failure", "promp_statistics"];
    let all = words.filter(name).filter(|w| !types.contains(w) && *w != "promp_h" && *w != "promp_stubs");
    all.map(str::to_owned).collect()
}

#[test]
fn the_document_the_header_the_stubs_and_the_module_have_the_same_functions() {
    let read = |f: &str| std::fs::read_to_string(root().join(f)).expect(f);
    let header = functions(&read("include/promp.h"));
    assert!(header.len() >= 14, "{header:?}");
    let document = functions(&read("docs/api.md"));
    let missing: Vec<_> = header.difference(&document).collect();
    assert!(missing.is_empty(), "not in docs/api.md: {missing:?}");
    for f in ["include/promp_stubs.c", "include/promp.f90"] {
        let theirs = functions(&read(f));
        let inline = |function: &String| f.ends_with(".c") && function == "promp_present";
        let missing: Vec<_> = header.iter().filter(|f| !inline(f) && !theirs.contains(*f)).collect();
        assert!(missing.is_empty(), "not in {f}: {missing:?}");
    }
    let own = read("abi/own.txt");
    let exported = |f: &&String| own.lines().any(|l| l == f.as_str());
    let missing: Vec<_> = header.iter().filter(|f| *f != "promp_present" && !exported(f)).collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
}

#[test]
fn the_header_is_of_this_version() {
    let header = std::fs::read_to_string(root().join("include/promp.h")).expect("promp.h");
    let parts: Vec<&str> = env!("CARGO_PKG_VERSION").split('.').collect();
    for (name, value) in ["MAJOR", "MINOR", "PATCH"].iter().zip(&parts) {
        assert!(header.contains(&format!("#define PROMP_VERSION_{name} {value}\n")), "{name} {value}");
    }
    let number = |i: usize| parts[i].parse::<u32>().expect("a number");
    let version = 10_000 * number(0) + 100 * number(1) + number(2);
    let module = std::fs::read_to_string(root().join("include/promp.f90")).expect("promp.f90");
    assert!(module.contains(&format!("promp_module_version = {version}\n")), "promp.f90: {version}");
}

#[test]
fn from_serial_code_regions_tasks_other_threads_and_handlers() {
    let text = std::fs::read_to_string(root().join("c-tests/header/places.c")).expect("a program");
    let text = text.as_str();
    for way in [C99, CPP11] {
        way.prints("places", text, "done\n");
    }
}
