//! Turns the symbol table (abi/symbols.tsv) into the linker's version script and the list of functions that
//! are used first (abi/first_use.txt) into an order, and finds the unwinder.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::{env, fs, path::Path, process::Command};

/// The name by which programs ask for the library: another number where programs that were linked with one
/// version cannot run with the next.
const SONAME: &str = "libpromp.so.0";

fn main() {
    println!("cargo:rerun-if-changed=abi/symbols.tsv");
    let table = fs::read_to_string("abi/symbols.tsv").expect("abi/symbols.tsv");
    let mut nodes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in table.lines().filter(|l| !l.starts_with('#')) {
        let f: Vec<&str> = line.split('\t').collect();
        let [name, version, ..] = f[..] else { panic!("abi/symbols.tsv: {line}: expected six columns") };
        // Old versions get their symbols by .symver (entry/locks.rs); the node must exist.
        let names = nodes.entry(version.trim_start_matches('@')).or_default();
        if !version.starts_with('@') {
            names.push(name);
        }
    }
    let mut script = String::new();
    let mut family: BTreeMap<String, &str> = BTreeMap::new();
    for (node, names) in &nodes {
        if names.is_empty() && *node != "OMP_1.0" {
            continue;
        }
        let kind = node.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_string();
        let parent = family.insert(kind, node).unwrap_or("");
        let global: String = names.iter().fold(String::new(), |mut s, n| {
            let _ = write!(s, " {n};");
            s
        });
        let _ = writeln!(script, "{node} {{ global:{global} }} {parent};");
    }
    println!("cargo:rerun-if-changed=abi/own.txt");
    let own = fs::read_to_string("abi/own.txt").expect("abi/own.txt");
    let own: Vec<&str> = own.lines().filter(|l| !l.starts_with('#')).chain(["__gmon_start__"]).collect();
    script.push_str(&format!(
        "PROMP_1.0 {{ global: {}; local: promp_old_*; promp_nest25_*; }};\n",
        own.join("; ")
    ));
    let out = Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("promp.map");
    fs::write(&out, script).expect("the build folder is writable");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={}", out.display());
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
    link_by_soname();
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    order();
    link_unwinder();
    // Sections are found by the names of their ends, which nobody else is to see.
    println!("cargo:rustc-link-arg=-Wl,-z,nostart-stop-gc");
    println!("cargo:rustc-link-arg=-Wl,-z,start-stop-visibility=hidden");
}

/// The library by its SONAME, where cargo leaves it: programs that were linked with it there find it.
fn link_by_soname() {
    let out = env::var("OUT_DIR").expect("set by cargo");
    // PROFILE/build/PACKAGE/out
    let Some(folder) = Path::new(&out).ancestors().nth(3) else { return };
    let link = folder.join(SONAME);
    if fs::symlink_metadata(&link).is_err() {
        std::os::unix::fs::symlink("libpromp.so", link).expect("the build folder is writable");
    }
}

/// Puts the functions that nearly every program executes side by side: the kernel maps code by windows of
/// 64 KiB, and a program that starts would touch nearly all of them. A part of a linker script, beside the
/// linker's own, may use patterns, where files of symbols' names may not.
fn order() {
    println!("cargo:rerun-if-changed=abi/first_use.txt");
    let list = fs::read_to_string("abi/first_use.txt").expect("abi/first_use.txt");
    let mut script = String::from("SECTIONS { .text : {\n");
    for name in list.lines().filter(|l| !l.starts_with('#')) {
        let _ = writeln!(script, "*(.text.{name} .text.unlikely.{name})");
    }
    script.push_str("} } INSERT AFTER .fini;\n");
    let out = Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("first.ld");
    fs::write(&out, script).expect("the build folder is writable");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-T,{}", out.display());
}

/// Links the unwinder into the library: loading libgcc_s for it was half of what the library cost a program that starts. Where the compiler has no
/// such archive it stays libgcc_s's.
fn link_unwinder() {
    println!("cargo:rerun-if-env-changed=CC");
    let cc = env::var("CC").unwrap_or_else(|_| "cc".into());
    let Ok(out) = Command::new(cc).arg("-print-file-name=libgcc_eh.a").output() else { return };
    let answer = String::from_utf8_lossy(&out.stdout);
    // The bare name: it does not know one.
    let archive = Path::new(answer.trim());
    if let Some(dir) = archive.parent().filter(|_| archive.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", dir.display());
        println!("cargo:rustc-link-lib=static:+whole-archive,-bundle=gcc_eh");
    }
}
