//! What was asked for that needs promp in the program, and what is said where promp has no part in it.

use super::{Part, Reason, launchers};
use crate::Failure;
use crate::args::Run;
use std::path::Path;

/// What there will not be, and by which options or variables it was asked for.
fn asked(r: &Run, set: impl Fn(&str) -> bool) -> Vec<(String, &'static str)> {
    let given = |name: &str| match name {
        "PROMP_CKPT_DIR" => r.ckpt.is_some(),
        "PROMP_FAULT" => r.fault.is_some(),
        "PROMP_MONITOR" => r.monitor.is_some(),
        "PROMP_REPORT" => r.report.is_some(),
        "PROMP_TUNE" => r.tune.is_some(),
        "PROMP_SDC" => r.sdc.is_some(),
        _ => false,
    };
    let by = |&(name, what): &(&'static str, &'static str)| {
        let flag = promp_settings::flag(name).filter(|_| given(name));
        Some((flag.or_else(|| Some(name).filter(|n| set(n)))?.to_owned(), what))
    };
    let mut all: Vec<_> = promp_settings::NEED_PROMP.iter().filter_map(by).collect();
    if r.resume {
        all.insert(0, ("--resume".into(), "checkpoints"));
    }
    all
}

/// One line.
fn line(program: &str, why: &Reason, asked: &[(String, &str)]) -> String {
    let by: Vec<&str> = asked.iter().map(|(by, _)| &**by).collect();
    let (is, todo, lacks) = (&why.is, why.todo, promp_settings::lacks(asked, false));
    format!("{program} {is}: {lacks}; {todo}, or leave {} out", by.join(", "))
}

/// Before the program is started: what was asked for and cannot be had. With --strict it is not started then.
/// Was there anything to say?
pub fn say_what_cannot_be_had(r: &Run, program: &Path) -> Result<bool, Failure> {
    let is_set = |name: &str| std::env::var(name).is_ok_and(|v| promp_settings::asks(&v));
    let asked = asked(r, is_set);
    if asked.is_empty() && !r.strict {
        return Ok(false);
    }
    let why = match super::of(program) {
        Part::Nothing(why) => why,
        _ => match launchers::without_library(&r.command) {
            Some(why) => why,
            None => return Ok(false),
        },
    };
    if r.strict {
        let (is, todo) = (&why.is, why.todo);
        return Err(Failure::new(126, format!("--strict: {} {is}; {todo}", program.display())));
    }
    eprintln!("promp: {}", line(&program.display().to_string(), &why, &asked));
    Ok(true)
}

/// Variables whose names begin with `PROMP_` and mean nothing: one line each. The program's processes, which
/// know that they were started by `promp run` (PROMP_RUN), say nothing more of them.
pub fn say_unknown_names() {
    let names = std::env::vars_os().filter_map(|(name, _)| promp_settings::unknown(name.to_str()?));
    for what in names {
        eprintln!("promp: {what}");
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
