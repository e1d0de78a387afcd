//! Programs that start another one, which does not get the library then: what `promp run` in front of them
//! cannot do is said before the work.

use super::Reason;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Those that hand their environment on to the program behind their own options.
const HAND_ON: [&str; 12] = [
    "chrt", "env", "ionice", "nice", "nohup", "numactl", "prlimit", "setsid", "stdbuf", "taskset", "time",
    "timeout",
];
/// Those whose command is executed by somebody else, or somewhere else.
const ELSEWHERE: [&str; 12] = [
    "at",
    "batch",
    "docker",
    "kubectl",
    "nsenter",
    "podman",
    "qsub",
    "sbatch",
    "ssh",
    "su",
    "systemd-run",
    "tmux",
];
/// What helps.
const BEHIND: &str = "put promp run behind it, in front of the program";

/// Why the program at the command's end does not get the library, if that can be seen.
pub fn without_library(command: &[OsString]) -> Option<Reason> {
    let name = |word: &OsStr| Path::new(word).file_name().and_then(OsStr::to_str).map(str::to_owned);
    let first = name(command.first()?)?;
    if ELSEWHERE.contains(&&*first) {
        return Some(Reason::new("has its command executed by others, without the library", BEHIND));
    }
    if !HAND_ON.contains(&&*first) {
        return None;
    }
    let mut words = command.iter();
    while let Some(word) = words.next() {
        if name(word).as_deref() == Some("env") && clears(words.clone()) {
            return Some(Reason::new("takes the library's name (LD_PRELOAD) out of the environment", BEHIND));
        }
    }
    None
}

/// Do env's options clear the environment, or take our variable out?
fn clears<'a>(words: impl Iterator<Item = &'a OsString>) -> bool {
    let options = words.map_while(|w| w.to_str().filter(|w| w.starts_with('-') || w.contains('=')));
    let mut unset = false;
    for w in options {
        let short = w.strip_prefix('-').filter(|w| !w.starts_with('-'));
        if w == "-" || w == "--ignore-environment" || short.is_some_and(|s| s.contains('i')) {
            return true;
        }
        unset |= w == "-uLD_PRELOAD" || w == "--unset=LD_PRELOAD";
    }
    unset
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        without_library(&words).map(|r| r.is)
    }

    #[test]
    fn those_that_clear_the_environment_are_seen() {
        for line in [
            "env -i ./a",
            "/usr/bin/env - ./a",
            "env --ignore-environment PATH=/bin ./a",
            "env A=1 -i ./a",
            "env -vi ./a",
            "nice -n 5 env -i ./a",
            "timeout 10 env -i ./a",
            "env --unset=LD_PRELOAD ./a",
        ] {
            assert!(why(line).is_some_and(|w| w.contains("LD_PRELOAD")), "{line}");
        }
        for line in
            ["env ./a", "env A=1 ./a -i", "env -u X ./a", "./a env -i", "nice ./a -i", "timeout 5 ./a"]
        {
            assert_eq!(why(line), None, "{line}");
        }
        for line in ["ssh host ./a", "/usr/bin/docker run x", "systemd-run ./a"] {
            assert!(why(line).is_some_and(|w| w.contains("others")), "{line}");
        }
    }
}
