//! The compiler drivers promp-cc, promp-c++ and promp-fc, one program under three names: find the plugin and the library, pass everything else through, become the compiler.
//!
//! With `-fopenmp` the plugin is loaded and, where code is optimised, GCC's points-to analysis looks at the whole unit
//! (`-fipa-pta`), so that it sees through the regions' data blocks. When linking, libpromp comes before libgomp.
//! `--explain` compiles nothing: it says what the verdicts have come to (explain.rs).
//! Options of our own: `-fpromp-report`, `-fpromp-elements`, `-fpromp-budget=P%`, `-fpromp-foresee`,
//! `-fpromp-sdc`, `-fno-promp-runtime`, `-no-promp-rpath`.

mod explain;
mod fortran_directives;
mod gcc;
mod link;
#[path = "../prefix.rs"]
mod prefix;

use promp_files::Scratch;
use promp_settings::internal::{CC, CXX, FC};
use promp_settings::save_budget::{self, Budget};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, exit};

/// A driver.
struct Driver {
    name: &'static str,
    variable: &'static str,
    compiler: &'static str,
}

/// By the end of the name that the program was called by; the first is the default.
static DRIVERS: [Driver; 3] = [
    Driver { name: "promp-cc", variable: CC.name, compiler: "gcc" },
    Driver { name: "promp-c++", variable: CXX.name, compiler: "g++" },
    Driver { name: "promp-fc", variable: FC.name, compiler: "gfortran" },
];

/// Everything the command line says that matters here.
#[derive(Default, Debug, PartialEq, Eq)]
struct Wishes {
    openmp: bool,
    optimises: bool,
    links: bool,
    report: bool,
    elements: bool,
    /// What a site says of it; 0: not given.
    budget: u32,
    foresee: bool,
    sdc: bool,
    runtime: bool,
    rpath: bool,
}

/// Options whose argument is the next word: it is not an input file.
const WITH_ARGUMENT: [&str; 22] = [
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-MF",
    "-MT",
    "-MQ",
    "-J",
    "-T",
    "-u",
    "-z",
    "-e",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
];

/// Splits the arguments into what they ask for and what goes to the compiler. An error is a message.
fn read(args: &[OsString]) -> Result<(Wishes, Vec<OsString>), String> {
    let mut w = Wishes { links: true, runtime: true, rpath: true, ..Wishes::default() };
    let (mut rest, mut inputs, mut skip) = (Vec::new(), false, false);
    for a in args {
        let s = a.to_string_lossy();
        if std::mem::take(&mut skip) {
            rest.push(a.clone());
            continue;
        }
        match &*s {
            "-fpromp-report" => {
                w.report = true;
                continue;
            }
            "-fpromp-elements" => {
                w.elements = true;
                continue;
            }
            o if o.strip_prefix(save_budget::OPTION).is_some_and(|v| v.is_empty() || v.starts_with('=')) => {
                let value = &o[save_budget::OPTION.len()..];
                w.budget = Budget::of_option(value.trim_start_matches('='))?.word();
                continue;
            }
            "-fpromp-foresee" => {
                w.foresee = true;
                continue;
            }
            "-fpromp-sdc" => {
                w.sdc = true;
                continue;
            }
            "-fpromp-runtime" | "-fno-promp-runtime" => {
                w.runtime = s == "-fpromp-runtime";
                continue;
            }
            "-no-promp-rpath" => {
                w.rpath = false;
                continue;
            }
            "-fopenmp" => w.openmp = true,
            "-fno-openmp" => w.openmp = false,
            "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" | "-r" => w.links = false,
            "-static" | "-nostdlib" | "-nodefaultlibs" => w.runtime = false,
            o if o.starts_with("-O") => w.optimises = o != "-O0",
            o if WITH_ARGUMENT.contains(&o) => skip = true,
            "-" => inputs = true,
            o if !o.starts_with('-') => inputs = true,
            _ => {}
        }
        rest.push(a.clone());
    }
    w.links &= inputs;
    Ok((w, rest))
}

fn option(prefix: &str, value: &Path) -> OsString {
    let mut o = OsString::from(prefix);
    o.push(value);
    o
}

fn fail(d: &Driver, message: &str) -> ! {
    fail_with(d, 1, message)
}

fn fail_with(d: &Driver, status: i32, message: &str) -> ! {
    eprintln!("{}: {message}", d.name);
    exit(status)
}

/// Replaces Fortran files that have `!$promp` lines by copies in which these are calls; returns the folder of the copies.
fn with_calls(d: &Driver, args: &mut Vec<OsString>) -> Option<Scratch> {
    let mut scratch = None;
    let mut folders = Vec::new();
    for (i, a) in args.iter_mut().enumerate() {
        let name = a.to_string_lossy().into_owned();
        if !fortran_directives::is_source(&name) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&name) else { continue };
        match fortran_directives::rewrite(&name, &text) {
            Err(e) => {
                drop(scratch);
                fail(d, &e)
            }
            Ok(None) => {}
            Ok(Some(new)) => {
                // The same file name: the compiler names its output after it.
                let made = match scratch.take() {
                    Some(there) => Ok(there),
                    None => Scratch::new(d.name),
                };
                let made =
                    made.unwrap_or_else(|e| fail(d, &format!("no folder for {name} can be made: {e}")));
                let at = scratch.insert(made).path().join(i.to_string());
                let path = at.join(Path::new(&name).file_name().unwrap_or_default());
                if let Err(e) = std::fs::create_dir_all(&at).and_then(|()| std::fs::write(&path, new)) {
                    drop(scratch);
                    fail(d, &format!("{} cannot be written: {e}", path.display()));
                }
                let folder = Path::new(&name).parent().filter(|p| !p.as_os_str().is_empty());
                folders.push(option("-I", folder.unwrap_or(Path::new("."))));
                *a = path.into();
            }
        }
    }
    if folders.is_empty() {
        return None;
    }
    args.append(&mut folders);
    args.push("-ffree-line-length-none".into());
    scratch
}

/// Runs the compiler in this process's place.
fn main() {
    let mut args = std::env::args_os();
    let called = args.next().unwrap_or_default();
    let called = Path::new(&called).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let d = DRIVERS.iter().find(|d| called.ends_with(d.name)).unwrap_or(&DRIVERS[0]);
    let args: Vec<OsString> = args.collect();
    match explain::wanted(&args) {
        None => {}
        Some(Ok(what)) => explain::explain(d, what),
        Some(Err(e)) => fail_with(d, 64, &e),
    }
    let compiler =
        std::env::var_os(d.variable).filter(|v| !v.is_empty()).unwrap_or_else(|| d.compiler.into());
    let (w, mut rest) = read(&args).unwrap_or_else(|why| fail_with(d, 64, &why));
    if w.openmp {
        let mut ours = gcc::options(d, &compiler, &w);
        ours.append(&mut rest);
        ours.append(&mut link::options(d, &w));
        rest = ours;
    }
    let copies = if w.openmp && d.name == "promp-fc" { with_calls(d, &mut rest) } else { None };
    if let Some(scratch) = copies {
        let status = Command::new(&compiler).args(rest).status();
        drop(scratch);
        match status {
            Ok(s) => exit(s.code().unwrap_or(1)),
            Err(e) => fail(d, &format!("{} cannot be executed: {e}", compiler.to_string_lossy())),
        }
    }
    let e = Command::new(&compiler).args(rest).exec();
    fail(d, &format!("{} cannot be executed: {e}", compiler.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn wishes(line: &str) -> (Wishes, String) {
        let (w, r) = read(&words(line)).expect("understood");
        (w, r.iter().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn command_lines_are_understood() {
        let (w, r) = wishes("-O2 -fopenmp -fpromp-report -c a.c -o a.o");
        assert_eq!(
            w,
            Wishes {
                openmp: true,
                optimises: true,
                links: false,
                report: true,
                elements: false,
                budget: 0,
                foresee: false,
                sdc: false,
                runtime: true,
                rpath: true
            }
        );
        assert_eq!(r, "-O2 -fopenmp -c a.c -o a.o");
        assert!(wishes("-fopenmp a.o b.o -o a").0.links);
        assert!(!wishes("-fopenmp -o a").0.links, "no input: a question to the compiler");
        assert!(!wishes("-fopenmp -O2 -O0 a.c").0.optimises);
        assert!(!wishes("-fopenmp -fno-promp-runtime a.c").0.runtime);
        assert!(!wishes("a.c -fopenmp -fno-openmp").0.openmp);
        assert!(!wishes("-fopenmp -static a.c").0.runtime);
        let (w, r) = wishes("-no-promp-rpath -fopenmp a.c");
        assert!(!w.rpath && w.runtime && r == "-fopenmp a.c", "{w:?} {r}");
    }

    #[test]
    fn the_last_budget_counts_and_bad_ones_are_refused() {
        let (w, r) = wishes("-fpromp-budget=all -O2 -fpromp-budget=5% a.c");
        assert_eq!((w.budget, &*r), (Budget::Share(0.05).word(), "-O2 a.c"));
        for bad in ["", "=", "=5", "=-5%", "=1001%", "=x"] {
            let why = read(&words(&format!("-c -fpromp-budget{bad} a.c"))).expect_err(bad);
            let value = bad.trim_start_matches('=');
            assert!(why.contains(&format!("-fpromp-budget={value}: expected 0% to 1000%")), "{bad}: {why}");
        }
        assert!(wishes("-fpromp-budgets=5%").1.contains("-fpromp-budgets"), "not ours");
    }
}
