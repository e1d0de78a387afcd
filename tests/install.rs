//! What `make install` has installed works where it is moved to, and goes again as a whole.

use crate::common::prefix::{Installed, below, make, newer};
use crate::common::saved::{Scratch, text};
use crate::common::*;
use std::fs;
use std::path::Path;

/// Regions one behind the other; prints sums, and the runtimes that are in it if asked.
const PROGRAM: &str = include_str!("../c-tests/install/regions.c");
const THREADS: (&str, &str) = ("OMP_NUM_THREADS", "4");

fn program() -> std::path::PathBuf {
    compiled("install", "regions", PROGRAM, &["-fopenmp"])
}

/// The runtimes that a run with an argument has named.
fn runtimes(run: &Run) -> Vec<&str> {
    run.err.lines().filter(|l| l.starts_with('/')).collect()
}

#[test]
fn a_moved_prefix_survives() {
    let i = Installed::moved("install-moved");
    let (promp, exe) = (i.file("bin/promp"), program());
    let want = reference(&exe, &[], &[THREADS]);
    let fault = draws::spaced("kill@thread=1,region=20");
    let killed = i.run(
        &promp,
        &["run", "--threads", "4", "--replay", "assume", "--fault", &fault, "--", text(&exe)],
        &[],
    );
    assert_eq!((killed.status, &*killed.out), (0, &*want.out), "{}", killed.err);
    assert!(killed.err.contains("thread 1 failed (kill)"), "{}", killed.err);
    let options = ["run", "--threads", "4", "--ckpt", "ckpt", "--every", "10ms", "--fault"];
    let died = i.run(&promp, &[&options[..], &["die@region=120", "--", text(&exe)]].concat(), &[]);
    assert_eq!(died.status, 137, "{}", died.err);
    let on = i.run(&promp, &["restart", "ckpt"], &[]);
    assert_eq!(on.status, 0, "{}", on.err);
    // The pipe of the first has gone; what was sent to it after the checkpoint is sent again.
    assert!(want.out.starts_with(&died.out) && want.out.ends_with(&on.out) && !on.out.is_empty(), "{on:?}");
}

#[test]
fn each_subcommand_has_a_page_and_is_completed() {
    let i = Installed::moved("install-pages");
    let help = i.run(i.file("bin/promp"), &["--help"], &[]).out;
    let commands = help.split("Commands:").nth(1).and_then(|t| t.split("Options:").next()).expect("a list");
    let names: Vec<&str> = commands
        .lines()
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
        .filter(|n| *n != "help")
        .collect();
    assert!(names.len() > 10, "{help}");
    let main = fs::read_to_string(i.file("share/man/man1/promp.1")).expect("text");
    for name in names {
        let page = fs::read_to_string(i.file(&format!("share/man/man1/promp-{name}.1"))).expect("text");
        assert!(
            page.contains(".SH NAME") && main.replace('\\', "").contains(&format!("promp-{name}")),
            "{name}"
        );
        for file in [
            "bash-completion/completions/promp",
            "zsh/site-functions/_promp",
            "elvish/lib/promp.elv",
            "fish/vendor_completions.d/promp.fish",
        ] {
            assert!(
                fs::read_to_string(i.file(&format!("share/{file}"))).expect("text").contains(name),
                "{file}: {name}"
            );
        }
    }
    for page in ["promp-cc.1", "promp-fc.1", "promp-model-check.1"] {
        i.file(&format!("share/man/man1/{page}"));
    }
    let script = format!(
        "source '{}'; COMP_WORDS=(promp insp); COMP_CWORD=1; _promp promp insp promp; echo $COMPREPLY",
        i.file("share/bash-completion/completions/promp").display()
    );
    assert_eq!(i.run("bash", &["-c", &script], &[]).out, "inspect\n");
}

#[test]
fn programs_are_built() {
    if driver("promp-cc").is_none() {
        return;
    }
    let i = Installed::moved("install-drivers");
    fs::write(i.beside("a.c"), PROGRAM).expect("writable");
    let want = reference(&program(), &[], &[THREADS]);
    let cc = i.file("bin/promp-cc");
    for (name, more) in [("plain", &[][..]), ("lto", &["-flto"]), ("bare", &["-no-promp-rpath"])] {
        let built = i.run(&cc, &[&["-O2", "-fopenmp", "a.c", "-o", name][..], more].concat(), &[]);
        assert_eq!(built.status, 0, "{name}: {}", built.err);
        let dynamic = i.run("readelf", &["-d", name], &[]).out;
        let library = text(&i.prefix).to_string() + "/lib";
        assert!(dynamic.contains("[libpromp.so.0]"), "{dynamic}");
        assert_eq!(dynamic.contains(&format!("[{library}]")), name != "bare", "{dynamic}");
        let fault = draws::spaced("kill@thread=1,region=20");
        let path = if name == "bare" { library.as_str() } else { "/nowhere" };
        let run =
            i.run(i.beside(name), &["x"], &[THREADS, ("PROMP_FAULT", &fault), ("LD_LIBRARY_PATH", path)]);
        assert_eq!((run.status, &run.out), (0, &want.out), "{name}: {}", run.err);
        assert!(run.err.contains("thread 1 failed") && runtimes(&run).len() == 1, "{name}: {}", run.err);
    }
    let other = i.run(&cc, &["-fopenmp", "a.c"], &[("PROMP_CC", "/bin/echo")]);
    assert!(
        other.status == 1 && other.err.contains("promp_plugin.so") || other.err.contains("PROMP_CC"),
        "{other:?}"
    );
}

#[test]
fn other_build_systems_find_it() {
    let i = Installed::moved("install-found");
    let sources = root().join("c-tests/install");
    let lib = text(&i.prefix).to_string() + "/lib";
    let path = ("PKG_CONFIG_PATH", &*(lib.clone() + "/pkgconfig"));
    if available("pkg-config", Path::new("/usr/bin/pkg-config").exists()) {
        let build = "eval gcc -fopenmp $(pkg-config --cflags promp) \"$0\" -o";
        let script =
            format!("{build} without && {build} with $(pkg-config --libs promp) && ./without && ./with");
        let source = sources.join("version.c");
        let run = i.run("sh", &["-c", &script, text(&source)], &[path, ("LD_LIBRARY_PATH", &lib)]);
        assert_eq!((run.status, &*run.out), (0, "0\n100\n"), "{}", run.err);
    }
    if !available("cmake", Path::new("/usr/bin/cmake").exists()) {
        return;
    }
    let chain = format!("-DCMAKE_TOOLCHAIN_FILE={lib}/cmake/promp/promp-toolchain.cmake");
    let drivers = driver("promp-cc").map(|_| ("chain", chain.as_str(), "100\n100\n100\n"));
    for (name, more, want) in [("plain", "-Wno-dev", "0\n100\n0\n")].into_iter().chain(drivers) {
        let prefix = format!("-DCMAKE_PREFIX_PATH={}", text(&i.prefix));
        let made = i.run("cmake", &["-S", text(&sources), "-B", name, &prefix, more], &[]);
        assert_eq!(made.status, 0, "{name}: {}{}", made.out, made.err);
        let built = i.run("cmake", &["--build", name], &[]);
        assert_eq!(built.status, 0, "{name}: {}{}", built.out, built.err);
        let run = i.run("sh", &["-c", &format!("{name}/api && {name}/linked && {name}/fortran")], &[]);
        assert_eq!((run.status, &*run.out), (0, want), "{name}: {}", run.err);
    }
}

#[test]
fn the_loaders_path_alone_is_enough() {
    let i = Installed::moved("install-path");
    let exe = program();
    let want = reference(&exe, &[], &[THREADS]);
    let fault = draws::spaced("kill@thread=1,region=20");
    let folder = i.file("lib/promp/libgomp.so.1");
    let path = ("LD_LIBRARY_PATH", text(folder.parent().expect("a folder")));
    let run = i.run(&exe, &["x"], &[THREADS, path, ("PROMP_REPLAY", "assume"), ("PROMP_FAULT", &fault)]);
    assert_eq!((run.status, &run.out), (0, &want.out), "{}", run.err);
    assert!(run.err.contains("thread 1 failed (kill)"), "{}", run.err);
    assert_eq!(runtimes(&run), [text(&folder)], "the system's libgomp is not loaded");
    fs::write(i.beside("a.c"), PROGRAM).expect("writable");
    let lib = text(&i.prefix).to_string() + "/lib";
    i.run(
        "gcc",
        &["-fopenmp", "-o", "linked", "a.c", "-L", &lib, "-lpromp", "-Xlinker", "-rpath", "-Xlinker", &lib],
        &[],
    );
    let run = i.run(i.beside("linked"), &["x"], &[THREADS, path]);
    assert_eq!(
        runtimes(&run),
        [text(&folder)],
        "what is linked with promp does not have it twice: {}",
        run.err
    );
}

#[test]
fn two_of_them_in_one_program() {
    let i = Installed::moved("install-two");
    let (exe, other) = (program(), i.beside("libpromp.so.0.2.0"));
    fs::write(&other, newer(&i.file("lib/libpromp.so.0.1.0"))).expect("writable");
    let want = reference(&exe, &[], &[THREADS]);
    let both = |first: &Path, second: &Path, dir: &str| {
        let list = format!("{}:{}", first.display(), second.display());
        let run = i.run(&exe, &[], &[THREADS, ("LD_PRELOAD", &list), ("PROMP_CKPT_DIR", dir)]);
        assert_eq!((run.status, &run.out), (0, &want.out), "{}", run.err);
        run.err
    };
    let said = both(&other, &library(), "two");
    assert!(said.contains("libpromp.so.0.2.0, which comes first, is used"), "{said}");
    fs::copy(library(), i.beside("libgomp.so.1")).expect("writable");
    assert_eq!(both(&library(), &i.beside("libgomp.so.1"), "three"), "", "of one version: nothing to say");
    // The inner one of two commands runs its own.
    let outer = library().with_file_name("promp");
    let run = i.run(&outer, &["run", text(&i.file("bin/promp")), "run", text(&exe), "x"], &[THREADS]);
    let promps: Vec<_> = runtimes(&run).into_iter().filter(|p| p.contains("promp")).collect();
    assert_eq!(promps, [text(&i.file("lib/libpromp.so.0.1.0"))], "{}", run.err);
}

#[test]
fn nothing_is_left() {
    let scratch = Scratch::new("install-left");
    let prefix = scratch.path("pre fix");
    let to = [("PREFIX", text(&prefix)), ("LIBDIR", "lib64")];
    assert_eq!(make("install", &to).status, 0);
    let first = below(&prefix);
    assert!(first.contains(&"lib64/libpromp.so.0".to_string()) && !first.contains(&"lib".to_string()));
    // Over itself: the same; over an older version: what that had and this has not is removed.
    assert_eq!(make("install", &to).status, 0);
    assert_eq!(below(&prefix), first);
    let manifest = prefix.join("share/promp/manifest");
    let older = fs::read_to_string(&manifest).expect("text") + "f lib64/libpromp.so.0.0.9\n";
    fs::write(&manifest, older).expect("writable");
    fs::write(prefix.join("lib64/libpromp.so.0.0.9"), "").expect("writable");
    assert_eq!(make("install", &to).status, 0);
    assert_eq!(below(&prefix), first);
    // A user's own file stays, with its folders.
    fs::write(prefix.join("bin/mine"), "").expect("writable");
    assert_eq!(make("uninstall", &to).status, 0);
    assert_eq!(below(&prefix), ["bin", "bin/mine"]);
    fs::remove_file(prefix.join("bin/mine")).expect("is there");
    // For a package, in part, and away again.
    let stage = text(&scratch.0).to_string() + "/stage";
    let package = [("PREFIX", "/usr"), ("DESTDIR", &*stage), ("PARTS", "lib bin")];
    assert_eq!(make("install", &package).status, 0);
    assert!(
        Path::new(&stage).join("usr/lib/libpromp.so.0").exists()
            && !Path::new(&stage).join("usr/include").exists()
    );
    assert_eq!(make("uninstall", &package).status, 0);
    assert_eq!(below(Path::new(&stage)), Vec::<String>::new());
}

#[test]
fn what_cannot_be_done_is_said() {
    let scratch = Scratch::new("install-refused");
    let (file, locked) = (scratch.path("file"), scratch.path("locked"));
    fs::write(&file, "").expect("writable");
    fs::create_dir(&locked).expect("writable");
    for (what, variables, word) in [
        ("install", vec![("PREFIX", text(&file))], "is not a folder"),
        ("install", vec![("PREFIX", text(&scratch.0)), ("LIBDIR", "/elsewhere/lib")], "choose one of these"),
        ("install", vec![("PREFIX", text(&scratch.0)), ("PARTS", "lib bins")], "there is no bins"),
        ("uninstall", vec![("PREFIX", text(&scratch.0))], "has installed nothing"),
    ] {
        let run = make(what, &variables);
        assert!(run.status == 1 && run.err.contains(word) && run.err.lines().count() == 1, "{run:?}");
    }
    // Without rights, also as root.
    let script = format!(
        "chmod 555 \"$0\"; exec $1 PREFIX=\"$0/p\" python3 '{}' install",
        root().join("tools/install.py").display()
    );
    let bounded = if is_root() { "setpriv --bounding-set=-all --inh-caps=-all env" } else { "env" };
    let mut c = std::process::Command::new("sh");
    c.args(["-c", &script, text(&locked), bounded]);
    let run = limited(c, LIMIT);
    assert!(
        run.status == 1 && run.err.contains("nothing can be written") && run.err.contains("PREFIX=$HOME"),
        "{run:?}"
    );
    assert_eq!(below(&scratch.0), ["file", "locked"]);
}

fn is_root() -> bool {
    // SAFETY: a plain system call.
    unsafe { libc::geteuid() == 0 }
}
