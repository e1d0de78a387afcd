//! What was asked for that needs promp in the program, and what is said where promp has no part in it.

use super::{Part, Reason, launchers};
use crate::Failure;
use crate::args::Run;
use promp_settings::{NEED_PROMP, Setting, asks, lacks};
use std::path::Path;

/// What there will not be, and by which options or variables it was asked for.
fn asked(r: &Run, set: impl Fn(&str) -> bool) -> Vec<(String, &'static str)> {
    let by = |&(setting, what): &(&'static Setting, &'static str)| {
        let by = match r.options.get(setting) {
            Some(value) => asks(&value.to_string_lossy()).then_some(setting.typed()),
            None => Some(setting.name).filter(|name| set(name)),
        };
        Some((by?.to_owned(), what))
    };
    let mut all: Vec<_> = NEED_PROMP.iter().filter_map(by).collect();
    if r.resume {
        all.insert(0, ("--resume".into(), "checkpoints"));
    }
    all
}

/// One line.
fn line(program: &str, why: &Reason, asked: &[(String, &str)]) -> String {
    let by: Vec<&str> = asked.iter().map(|(by, _)| &**by).collect();
    let (is, todo, lacks) = (&why.is, why.todo, lacks(asked, false));
    format!("{program} {is}: {lacks}; {todo}, or leave {} out", by.join(", "))
}

/// Before the program is started: what was asked for and cannot be had. With --strict it is not started then.
/// Was there anything to say?
pub fn say_what_cannot_be_had(r: &Run, program: &Path) -> Result<bool, Failure> {
    let is_set = |name: &str| std::env::var(name).is_ok_and(|v| asks(&v));
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
    use crate::options::Options;
    use promp_settings::{CKPT_DIR, REPORT, SDC, TUNE};

    #[test]
    fn the_line_names_what_was_typed() {
        let options = Options::default().with(&CKPT_DIR, "d").with(&REPORT, "f").with(&TUNE, "off");
        let r = Run { options, resume: true, ..Run::default() };
        let asked = asked(&r, |name| name == SDC.name);
        let why = Reason { is: "uses no OpenMP".into(), todo: "build it with -fopenmp" };
        assert_eq!(
            line("./a", &why, &asked),
            "./a uses no OpenMP: no checkpoints, no report, no search for silent errors (--resume, --ckpt, \
             --report, PROMP_SDC); build it with -fopenmp, or leave --resume, --ckpt, --report, PROMP_SDC out"
        );
        assert!(super::asked(&Run::default(), |_| false).is_empty());
    }
}
