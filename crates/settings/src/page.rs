//! The tables of docs/environment.md, as those of settings and of faults say; `make docs` writes them.

use crate::internal::{self, By};
use crate::spec::Kind;
use crate::{ALL, Audience, Group, OnBad, Setting, Values};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/environment.md");
const SETTINGS: &str = "<!-- made from crates/settings/src/catalogue.rs: make docs -->\n";
const FAULTS: &str = "<!-- made from crates/values/src/fault_kinds.rs: make docs -->\n";
const END: &str = "<!-- end -->\n";

/// The version that began with most of them.
const FIRST: &str = "0.1.0";

/// A cell: a bar would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn values(s: &Setting) -> String {
    cell(&match s.values {
        Values::Words(words) => words.join(" · "),
        Values::Number(least, most) => format!("{least} to {most}"),
        Values::Listed(text, _) | Values::Described(text, _) => text.into(),
    })
}

fn row(s: &Setting) -> String {
    let flag = s.flag.map_or(String::new(), |f| format!(" `{}`", f.name));
    let mark = if s.on_bad == OnBad::Stop { " †" } else { "" };
    let whose = if s.audience == Audience::Developers { "for developers: " } else { "" };
    let since = if s.since == FIRST { String::new() } else { format!(" (since {})", s.since) };
    let meaning = cell(s.meaning);
    format!(
        "| {}{flag}{mark} | {} | {} | {whose}{meaning}{since} |\n",
        s.name,
        values(s),
        s.default.unwrap_or("none")
    )
}

/// A section a group, and what promp sets itself.
fn markdown() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        text += &format!(
            "\n### {}\n| variable | values | default | meaning |\n|---|---|---|---|\n",
            group.title()
        );
        text.extend(ALL.iter().filter(|s| s.group == group).map(|s| row(s)));
    }
    text += "\n### Set by promp itself\n| variable | says |\n|---|---|\n";
    let own = internal::ALL.iter().filter(|i| i.by == By::Promp);
    text.extend(own.map(|i| format!("| {} | {} |\n", i.name, cell(i.meaning))));
    text
}

/// The kinds of faults.
fn faults() -> String {
    let mut text = String::from("| kind | what it does |\n|---|---|\n");
    text.extend(Kind::injected().map(|k| format!("| {} | {} |\n", k.name(), k.text())));
    text + "| sdc | flips a bit of a result, and has keys of its own |\n"
}

/// `page` with `text` where `begin` stands, as far as to the end there.
fn with(page: &str, begin: &str, text: &str) -> String {
    let (head, rest) = page.split_once(begin).expect(begin);
    let (_, tail) = rest.split_once(END).expect(begin);
    [head, begin, text, END, tail].concat()
}

#[test]
fn the_document_is_the_tables() {
    let now = std::fs::read_to_string(PATH).expect("docs/environment.md");
    let want = with(&with(&now, SETTINGS, &markdown()), FAULTS, &faults());
    if std::env::var_os(internal::WRITE_DOCS.name).is_some() {
        std::fs::write(PATH, want).expect("written");
    } else {
        assert!(now == want, "docs/environment.md is not the tables: run `make docs`");
    }
}

#[test]
fn each_row_is_whole() {
    for s in ALL {
        let name = s.name;
        let words = name.strip_prefix("PROMP_").or(name.strip_prefix("OMP_")).expect(name);
        assert!(!words.is_empty() && s.c_name.to_str() == Ok(name), "{name}");
        assert!(!s.meaning.is_empty() && !s.since.is_empty(), "{name}");
        assert!(s.flag.is_none_or(|f| f.name.starts_with("--") && !f.help.ends_with('.')), "{name}");
    }
}

#[test]
fn defaults_are_values() {
    for (s, default) in ALL.iter().filter_map(|s| Some((s, s.default?))) {
        assert_eq!(s.check(default), Ok(()), "{}={default}", s.name);
    }
}

#[test]
fn options_give_values() {
    for (s, flag) in ALL.iter().filter_map(|s| Some((s, s.flag?))) {
        if let crate::Takes::Nothing(value) | crate::Takes::Optional(_, value) = flag.takes {
            assert_eq!(s.check(value), Ok(()), "{}", flag.name);
        }
        assert!(flag.needs.is_none_or(|n| ALL.iter().any(|o| o.flag.is_some_and(|f| f.name == n))));
    }
}

#[test]
fn what_is_said_of_bad_values() {
    let said = |s: &Setting, v: &str| s.check(v).map_err(|why| s.complaint(v, &why)).expect_err("it is bad");
    assert_eq!(
        said(&crate::FT, "yes"),
        "PROMP_FT=yes is not understood: accepted are off, on; using the default"
    );
    assert_eq!(said(&crate::CKPT_KEEP, "0"), "PROMP_CKPT_KEEP=0: expected a number from 1 to 1000");
    assert_eq!(said(&crate::CKPT_FILES, "many"), "PROMP_CKPT_FILES=many: expected a size like 64M");
    assert!(said(&crate::FAULT, "sdc@x=1").starts_with("PROMP_FAULT=sdc@x=1: "));
    assert!(said(&crate::CKPT_INTERVAL, "5").contains("like 20ms") && crate::MTBF.check("1us").is_err());
}
