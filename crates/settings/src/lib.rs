//! promp's settings (docs/environment.md): one table of their names, from which the runtime and the command
//! know which variables there are, and which one was meant by a name that is none; and the parsers of their
//! values that both need: the command refuses what the runtime would.

pub mod debugger_signals;
pub mod devices;
mod near;
mod pairs;
pub mod quantities;
pub mod replay_policy;
pub mod save_budget;
pub mod silent_faults;
pub mod spec;
pub mod times;

pub use near::meant;

/// Who sets a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Users: docs/environment.md describes it.
    User,
    /// Who works on promp, or its tests.
    Developer,
    /// promp itself, for processes that it starts.
    Promp,
    /// Modules and CMake: where promp is installed.
    Installation,
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// Who sets it.
    pub by: By,
    /// The option of `promp run` that sets it.
    pub flag: Option<&'static str>,
}

const fn user(name: &'static str) -> Setting {
    Setting { name, by: By::User, flag: None }
}

const fn option(name: &'static str, flag: &'static str) -> Setting {
    Setting { name, by: By::User, flag: Some(flag) }
}

const fn developer(name: &'static str) -> Setting {
    Setting { name, by: By::Developer, flag: None }
}

const fn ours(name: &'static str) -> Setting {
    Setting { name, by: By::Promp, flag: None }
}

const fn elsewhere(name: &'static str) -> Setting {
    Setting { name, by: By::Installation, flag: None }
}

/// All variables whose names begin with `PROMP_` and mean something to promp.
pub const ALL: &[Setting] = &[
    user("PROMP_AFTER"),
    developer("PROMP_CC"),
    user("PROMP_CKPT_COPY"),
    option("PROMP_CKPT_CPU", "--cpu"),
    option("PROMP_CKPT_DIR", "--ckpt"),
    user("PROMP_CKPT_FILES"),
    option("PROMP_CKPT_INTERVAL", "--every"),
    option("PROMP_CKPT_KEEP", "--keep"),
    user("PROMP_CKPT_LIVE"),
    ours("PROMP_CKPT_OWNER"),
    option("PROMP_CKPT_PLAN", "--plan"),
    user("PROMP_CKPT_POISON"),
    option("PROMP_CKPT_SELF_CONTAINED", "--self-contained"),
    option("PROMP_CKPT_THREADS", "--all-threads"),
    user("PROMP_CKPT_TRACK"),
    option("PROMP_CKPT_WHERE", "--any-threads"),
    developer("PROMP_CONFORMANCE_DIR"),
    user("PROMP_CRASHES"),
    developer("PROMP_CXX"),
    option("PROMP_DEVICES", "--devices"),
    elsewhere("PROMP_DIR"),
    user("PROMP_EVENTS"),
    option("PROMP_FAULT", "--fault"),
    developer("PROMP_FC"),
    user("PROMP_FT"),
    elsewhere("PROMP_HOME"),
    user("PROMP_LIBRARY"),
    option("PROMP_MONITOR", "--monitor"),
    user("PROMP_MTBF"),
    option("PROMP_ON_SIGNAL", "--on-signal"),
    developer("PROMP_OWN_MOUNTS"),
    developer("PROMP_PLUGIN"),
    ours("PROMP_PRIVATE_PIPES"),
    user("PROMP_RECOMPUTE"),
    option("PROMP_REPLAY", "--replay"),
    option("PROMP_REPORT", "--report"),
    user("PROMP_REPRODUCIBLE"),
    ours("PROMP_RESTART"),
    ours("PROMP_RESTART_INPUT"),
    ours("PROMP_RESTART_LAYOUT"),
    ours("PROMP_RESTART_THREADS"),
    elsewhere("PROMP_ROOT"),
    ours("PROMP_RUN"),
    user("PROMP_SAVE_BUDGET"),
    option("PROMP_SDC", "--sdc"),
    user("PROMP_SDC_ASSUME"),
    user("PROMP_SDC_KEEP"),
    user("PROMP_SDC_LATENCY"),
    user("PROMP_SDC_LOG"),
    user("PROMP_STATS"),
    option("PROMP_TUNE", "--tune"),
    user("PROMP_TUNE_EXACT"),
    user("PROMP_TUNE_THREADS"),
    user("PROMP_VERBOSE"),
    option("PROMP_WATCHDOG", "--watchdog"),
    developer("PROMP_WRITE_DOCS"),
];

/// What is in vain where promp is not the program's OpenMP runtime: variables, and what there is not then.
pub const NEED_PROMP: [(&str, &str); 6] = [
    ("PROMP_CKPT_DIR", "checkpoints"),
    ("PROMP_FAULT", "failures"),
    ("PROMP_MONITOR", "measurements"),
    ("PROMP_REPORT", "report"),
    ("PROMP_TUNE", "tuning"),
    ("PROMP_SDC", "search for silent errors"),
];

/// Does the value of one of [`NEED_PROMP`] ask for anything?
pub fn asks(value: &str) -> bool {
    !["", "off"].contains(&value.trim())
}

/// What there is not, and by which options or variables it was asked for (these come first in `asked`): "no
/// checkpoints, no report (--ckpt, --report)". `empty`: there is a report, and nothing in it.
pub fn lacks<A: AsRef<str>>(asked: &[(A, &str)], empty: bool) -> String {
    let by: Vec<&str> = asked.iter().map(|(by, _)| by.as_ref()).collect();
    let mut what: Vec<&str> = asked.iter().map(|(_, what)| *what).collect();
    what.dedup();
    let is_not = |what: &&str| match *what {
        "report" if empty => "nothing in the report".into(),
        _ => format!("no {what}"),
    };
    format!("{} ({})", what.iter().map(is_not).collect::<Vec<_>>().join(", "), by.join(", "))
}

/// The option of `promp run` that sets a variable.
pub fn flag(name: &str) -> Option<&'static str> {
    ALL.iter().find(|s| s.name == name)?.flag
}

/// Is there such a setting? (Those of the project's own tests begin with `PROMP_TEST_`.)
pub fn is_known(name: &str) -> bool {
    name.starts_with("PROMP_TEST_") || ALL.iter().any(|s| s.name == name)
}

/// What is to be said of a variable's name: nothing where it is none of promp's or known.
pub fn unknown(name: &str) -> Option<String> {
    if is_known(name) {
        return None;
    }
    let mut users = ALL.iter().filter(|s| s.by == By::User).map(|s| s.name);
    let near = match name.starts_with("PROMP_") {
        true => meant(name, users),
        false => Some(users.find(|right| begins_nearly(name, right))?),
    };
    let hint = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "it is ignored (`promp help run` has the options)".into(),
    };
    Some(format!("{name} is not known: {hint}"))
}

/// Is `name` the setting `right`, but for one letter of its `PROMP_`?
fn begins_nearly(name: &str, right: &str) -> bool {
    let (begins, rest) = right.split_at("PROMP_".len());
    name.strip_suffix(rest).is_some_and(|other| near::distance(other, begins) == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_there_once_and_users_names_are_described() {
        let docs = include_str!("../../../docs/environment.md");
        for (i, s) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|o| o.name != s.name), "{} is there twice", s.name);
            assert!(s.by != By::User || docs.contains(s.name), "docs/environment.md lacks {}", s.name);
        }
    }

    /// The texts of all source files in a folder of the project.
    fn sources(folder: std::path::PathBuf, all: &mut Vec<String>) {
        for e in std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()) {
            match e.extension().and_then(|x| x.to_str()) {
                Some("rs") => all.push(std::fs::read_to_string(e).expect("a text")),
                // Not these tests' own.
                _ if e.is_dir() && !e.ends_with("crates/settings") => sources(e, all),
                _ => {}
            }
        }
    }

    #[test]
    fn every_variable_of_the_sources_is_in_the_table() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut texts = Vec::new();
        ["src", "cli/src", "crates"].iter().for_each(|f| sources(root.join(f), &mut texts));
        let named = |t: &str| t.bytes().take_while(|b| b.is_ascii_uppercase() || *b == b'_').count();
        for rest in texts.iter().flat_map(|t| t.split("\"PROMP_").skip(1)) {
            let (name, after) = rest.split_at(named(rest));
            if after.starts_with('"') && !name.is_empty() {
                assert!(is_known(&format!("PROMP_{name}")), "PROMP_{name} is not in the table");
            }
        }
    }

    #[test]
    fn one_letter_off_is_answered_with_the_right_one() {
        for s in ALL.iter().filter(|s| s.by == By::User) {
            let rest = s.name["PROMP_".len()..].to_owned();
            for i in 0..rest.len() {
                let (left, right) = (&rest[..i], &rest[i + 1..]);
                let swapped = format!("{}X{}", left, right);
                for wrong in [format!("{left}{right}"), swapped, format!("{left}X{}", &rest[i..])] {
                    let wrong = format!("PROMP_{wrong}");
                    let said = unknown(&wrong);
                    // One letter more or less may be another setting's name.
                    let right = said.as_deref().is_some_and(|t| t.contains(&format!("mean {}?", s.name)));
                    assert!(
                        right || is_known(&wrong) || another_is_as_near(&wrong, s.name),
                        "{wrong}: {said:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn one_letter_off_in_the_part_that_all_have() {
        for s in ALL.iter().filter(|s| s.by == By::User) {
            for wrong in ["ROMP_", "POMP_", "PROMPT_", "PRMOP_", "PROMP", "PROMO_", "PROMP__"] {
                let wrong = s.name.replacen("PROMP_", wrong, 1);
                let said = unknown(&wrong).unwrap_or_default();
                assert!(said.contains(&format!("mean {}?", s.name)), "{wrong}: {said}");
            }
        }
        for other in ["OMP_NUM_THREADS", "PATH", "DIR", "PROMPT_COMMAND", "GOMP_DEBUG", "PROMPT"] {
            assert_eq!(unknown(other), None, "{other}");
        }
    }

    fn another_is_as_near(wrong: &str, right: &str) -> bool {
        let near = |to: &str| near::distance(wrong, to);
        ALL.iter().any(|s| s.by == By::User && s.name != right && near(s.name) <= near(right))
    }

    #[test]
    fn what_there_is_not_is_there_once() {
        let what = [("--resume", "checkpoints"), ("--ckpt", "checkpoints"), ("--report", "report")];
        assert_eq!(lacks(&what, false), "no checkpoints, no report (--resume, --ckpt, --report)");
        assert_eq!(lacks(&what[1..], true), "no checkpoints, nothing in the report (--ckpt, --report)");
    }

    #[test]
    fn what_is_nothing_like_a_setting_is_said_to_be_ignored() {
        assert_eq!(unknown("OMP_NUM_THREADS"), None);
        assert_eq!(unknown("PROMP_CKPT_DIR"), None);
        assert!(unknown("PROMP_ROOM_TEMPERATURE").expect("unknown").contains("ignored"));
        assert!(unknown("PROMP_CKPT_DIRS").expect("unknown").contains("did you mean PROMP_CKPT_DIR?"));
        assert!(unknown("PROMP_CKPT_EVERY").is_some());
    }
}
