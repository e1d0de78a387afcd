//! `promp help TOPIC`: the pages for users, as they are in docs/.

use crate::args::Cli;
use clap::CommandFactory;
use std::ffi::{OsStr, OsString};

/// A page: its topic, its text.
type Page = (&'static str, &'static str);

macro_rules! pages {
    ($($topic:literal: $file:literal)*) => {
        [$(($topic, include_str!(concat!("../../docs/", $file, ".md")))),*]
    };
}

/// All pages, in the order in which they are listed.
const PAGES: [Page; 20] = pages! {
    "install": "install"
    "tutorial": "tutorial"
    "fortran-batch": "howto/fortran-batch"
    "python": "howto/python"
    "r": "howto/r"
    "workflows": "howto/workflows"
    "build-systems": "howto/build-systems"
    "containers": "howto/containers"
    "slow-loop": "howto/slow-loop"
    "gpus": "howto/gpus"
    "environment": "environment"
    "commands": "command"
    "exit-statuses": "exit-statuses"
    "reports": "report"
    "ompt": "ompt"
    "api": "api"
    "limits": "limits"
    "comparison": "comparison"
    "security": "security"
    "faq": "faq"
};

/// The page that `promp help TOPIC` asks for, if these are its words. A subcommand's name is clap's matter.
pub(crate) fn asked(mut words: impl Iterator<Item = OsString>) -> Option<&'static str> {
    let (help, topic, more) = (words.next()?, words.next()?, words.next());
    let is_command = |name: &OsStr| Cli::command().get_subcommands().any(|c| name == c.get_name());
    if help != "help" || more.is_some() || is_command(&topic) {
        return None;
    }
    PAGES.iter().find(|(name, _)| topic == *name).map(|(_, text)| *text)
}

/// The topics, for help.
pub(crate) fn list() -> String {
    format!("Pages: promp help {}.", PAGES.map(|(topic, _)| topic).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn of(words: &[&str]) -> Option<&'static str> {
        asked(words.iter().map(OsString::from))
    }

    #[test]
    fn pages_are_found() {
        for (topic, text) in PAGES {
            assert!(text.starts_with("# ") && of(&["help", topic]) == Some(text), "{topic}");
            assert!(list().contains(topic));
        }
        for other in [&["help"][..], &["help", "run"], &["help", "report"], &["help", "x"], &["run", "faq"]] {
            assert_eq!(of(other), None, "{other:?}");
        }
        assert_eq!(of(&["help", "faq", "x"]), None);
    }

    #[test]
    fn no_page_is_missing() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let in_folder = |folder: &str| {
            let names = std::fs::read_dir(docs.join(folder)).expect("docs").flatten().map(|e| e.path());
            names.filter(|p| p.extension().is_some_and(|e| e == "md")).collect::<Vec<_>>()
        };
        let texts: BTreeSet<_> = PAGES.map(|(_, text)| text.to_owned()).into();
        for path in [in_folder(""), in_folder("howto")].concat() {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_owned();
            let is_page = texts.contains(&std::fs::read_to_string(&path).expect("a page"));
            assert!(is_page || ["SUMMARY.md", "papers.md", "versions.md"].contains(&&*name), "{name}");
        }
    }
}
