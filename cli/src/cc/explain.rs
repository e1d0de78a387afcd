//! `promp-cc --explain`: what the verdicts have come to when a program ran.
//!
//! Of a report (`promp-cc --explain run.json`), or of a run that is made for it (`promp-cc --explain --
//! ./program …`). Both are the `promp` command's work, which stands beside the drivers.

use super::prefix::candidates;
use super::{Driver, fail_with};
use promp_files::Scratch;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// The arguments behind `--explain`.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A report that is there.
    Report(PathBuf),
    /// A command to run.
    Run(Vec<OsString>),
}

/// Is this what the command line asks for? An error is a message.
pub fn wanted(args: &[OsString]) -> Option<Result<Wanted, String>> {
    let (first, rest) = args.split_first()?;
    if first != "--explain" {
        return None;
    }
    Some(match rest {
        [dashes, command @ ..] if dashes == "--" && !command.is_empty() => Ok(Wanted::Run(command.to_vec())),
        [file] if file != "--" => Ok(Wanted::Report(file.into())),
        _ => Err("--explain takes a report (PROMP_REPORT), or `--` and a command to run".into()),
    })
}

/// Explains, and ends with the program's exit status.
pub fn explain(d: &Driver, wanted: Wanted) -> ! {
    let Some(promp) = candidates("promp").into_iter().find(|p| p.exists()) else {
        fail_with(
            d,
            69,
            "the promp command is not beside this driver; build it with `make`, or install it, too",
        )
    };
    let start = |c: &mut Command| {
        c.status().unwrap_or_else(|e| fail_with(d, 126, &format!("{} cannot run: {e}", promp.display())))
    };
    let show = |file: &Path| start(Command::new(&promp).args(["report", "--explain"]).arg(file));
    let code = |s: std::process::ExitStatus| s.code().unwrap_or(1);
    let command = match wanted {
        Wanted::Report(file) => exit(code(show(&file))),
        Wanted::Run(command) => command,
    };
    let scratch = Scratch::new("promp-explain")
        .unwrap_or_else(|e| fail_with(d, 74, &format!("no folder for the report can be made: {e}")));
    let report = scratch.path().join("report.json");
    let ran = start(Command::new(&promp).args(["run", "--report"]).arg(&report).arg("--").args(&command));
    let ended = std::os::unix::process::ExitStatusExt::signal(&ran).map_or_else(|| code(ran), |s| 128 + s);
    if !report.exists() {
        drop(scratch);
        if matches!(ended, 126 | 127) {
            exit(ended); // it did not run, and that has been said
        }
        let name = command[0].to_string_lossy();
        fail_with(
            d,
            if ended == 0 { 65 } else { ended },
            &format!("{name} has left no report: it does not use OpenMP, or was killed (status {ended})"),
        );
    }
    println!();
    let shown = show(&report);
    drop(scratch);
    exit(if ended != 0 { ended } else { code(shown) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_and_commands_are_told_apart() {
        let of = |line: &str| wanted(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("-O2 -c a.c"), None);
        assert_eq!(of(""), None);
        assert_eq!(of("--explain a.json"), Some(Ok(Wanted::Report("a.json".into()))));
        assert_eq!(of("--explain -- ./a 3"), Some(Ok(Wanted::Run(vec!["./a".into(), "3".into()]))));
        for bad in ["--explain", "--explain --", "--explain a b"] {
            assert!(matches!(of(bad), Some(Err(_))), "{bad}");
        }
    }
}
