//! What was asked for that needs promp in the program, and what is said where promp has no part in it.

use super::{Part, Reason};
use crate::args::Run;
use crate::{Failure, Outcome};
use std::path::Path;
use std::process::Command;

/// What there will not be, and by which options or variables it was asked for.
fn asked(r: &Run, set: impl Fn(&str) -> bool) -> Vec<(String, &'static str)> {
    let asked = [
        (r.ckpt.is_some(), "--ckpt", "PROMP_CKPT_DIR", "checkpoints"),
        (r.fault.is_some(), "--fault", "PROMP_FAULT", "failures"),
        (r.monitor.is_some(), "--monitor", "PROMP_MONITOR", "measurements"),
        (r.report.is_some(), "--report", "PROMP_REPORT", "report"),
        (r.tune.is_some(), "--tune", "PROMP_TUNE", "tuning"),
        (r.sdc.is_some(), "--sdc", "PROMP_SDC", "search for silent errors"),
    ];
    let by = |(given, flag, name, what): (bool, &str, &str, _)| {
        let by = if given { flag } else { Some(name).filter(|n| set(n))? };
        Some((by.to_owned(), what))
    };
    let mut all: Vec<_> = asked.into_iter().filter_map(by).collect();
    if r.resume {
        all.insert(0, ("--resume".into(), "checkpoints"));
    }
    all
}

/// One line.
fn line(program: &str, why: &Reason, asked: &[(String, &str)]) -> String {
    let by: Vec<&str> = asked.iter().map(|(by, _)| &**by).collect();
    let mut what: Vec<&str> = asked.iter().map(|(_, what)| *what).collect();
    what.dedup();
    let (is, todo, by, what) = (&why.is, why.todo, by.join(", "), what.join(", no "));
    format!("{program} {is}: no {what} ({by}); {todo}, or leave {by} out")
}

/// Before the program is started: what was asked for and cannot be had. With --strict it is not started then.
pub fn say_what_cannot_be_had(r: &Run, program: &Path) -> Outcome {
    let is_set = |name: &str| std::env::var(name).is_ok_and(|v| !["", "off"].contains(&v.trim()));
    let asked = asked(r, is_set);
    if asked.is_empty() && !r.strict {
        return Ok(());
    }
    let Part::Nothing(why) = super::of(program) else { return Ok(()) };
    if r.strict {
        let (is, todo) = (&why.is, why.todo);
        return Err(Failure::new(126, format!("--strict: {} {is}; {todo}", program.display())));
    }
    eprintln!("promp: {}", line(&program.display().to_string(), &why, &asked));
    Ok(())
}

/// Variables whose names begin with `PROMP_` and mean nothing: one line each, and the program's processes say
/// nothing more of them.
pub fn say_unknown_names(c: &mut Command) {
    let names = std::env::vars_os().filter_map(|(name, _)| promp_settings::unknown(name.to_str()?));
    for what in names {
        eprintln!("promp: {what}");
        c.env(promp_settings::CHECKED, "1");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_what_was_typed() {
        let r = Run { ckpt: Some("d".into()), resume: true, report: Some("f".into()), ..Run::default() };
        let asked = asked(&r, |name| name == "PROMP_SDC");
        let why = Reason { is: "uses no OpenMP".into(), todo: "build it with -fopenmp" };
        assert_eq!(
            line("./a", &why, &asked),
            "./a uses no OpenMP: no checkpoints, no report, no search for silent errors (--resume, --ckpt, \
             --report, PROMP_SDC); build it with -fopenmp, or leave --resume, --ckpt, --report, PROMP_SDC out"
        );
        assert!(super::asked(&Run::default(), |_| false).is_empty());
    }
}
