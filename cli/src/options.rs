//! The options of `promp run` that set settings. They are made of the table of settings, which has their
//! names, their help and what they take; the values are checked by the settings' own parsers.

use crate::typed_values as typed;
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use promp_settings::{ALL, Flag, Setting, Takes, Values};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What was typed: settings with their values.
#[derive(Clone, Debug, Default)]
pub struct Options(Vec<(&'static Setting, OsString)>);

impl Options {
    /// One more.
    pub fn with(mut self, setting: &'static Setting, value: impl Into<OsString>) -> Self {
        self.0.push((setting, value.into()));
        self
    }

    /// All, in the order of the table.
    pub fn all(&self) -> impl Iterator<Item = (&'static Setting, &OsStr)> {
        self.0.iter().map(|(setting, value)| (*setting, value.as_os_str()))
    }

    /// What was typed for this one.
    pub fn get(&self, setting: &Setting) -> Option<&OsStr> {
        self.all().find(|(s, _)| s.name == setting.name).map(|(_, value)| value)
    }

    /// The same, of one that is a text.
    pub fn text(&self, setting: &Setting) -> Option<&str> {
        self.get(setting)?.to_str()
    }

    /// The same, of one that is a path.
    pub fn path(&self, setting: &Setting) -> Option<&Path> {
        self.get(setting).map(Path::new)
    }
}

/// The settings that have an option.
fn table() -> impl Iterator<Item = (&'static Setting, Flag)> {
    ALL.iter().filter_map(|s| Some((*s, s.flag?)))
}

/// How values of a setting are read.
fn parser(setting: &'static Setting) -> ValueParser {
    match setting.values {
        Values::Words(words) => PossibleValuesParser::new(words).map(OsString::from).into(),
        _ => ValueParser::new(move |text: &str| typed::of(setting)(text).map(OsString::from)),
    }
}

/// The option of a setting.
fn option(setting: &'static Setting, flag: Flag) -> Arg {
    let sets = match flag.takes {
        Takes::Nothing(value) => format!("{}={value}", setting.name),
        _ => setting.name.into(),
    };
    let word = flag.word();
    let arg = Arg::new(word).long(word).help(format!("{} ({sets})", flag.help));
    let arg = arg.help_heading(setting.group.title());
    let arg = match flag.needs {
        Some(other) => arg.requires(other.trim_start_matches('-')),
        None => arg,
    };
    match flag.takes {
        Takes::Nothing(_) => arg.action(ArgAction::SetTrue),
        Takes::Value(name) => arg.value_name(name).value_parser(parser(setting)),
        Takes::Several(name) => arg.value_name(name).value_parser(parser(setting)).action(ArgAction::Append),
        Takes::Path(name) => {
            arg.value_name(name).value_parser(PathBufValueParser::new().map(PathBuf::into_os_string))
        }
        Takes::Optional(name, missing) => {
            let arg = arg.value_name(name).value_parser(parser(setting)).default_missing_value(missing);
            arg.num_args(0..=1).require_equals(true)
        }
    }
}

/// What was typed by a setting's option.
fn value(matches: &ArgMatches, flag: Flag) -> Option<OsString> {
    let word = flag.word();
    match flag.takes {
        Takes::Nothing(value) => matches.get_flag(word).then(|| value.into()),
        Takes::Several(_) => {
            let all: Vec<&OsStr> = matches.get_many::<OsString>(word)?.map(OsString::as_os_str).collect();
            Some(all.join(OsStr::new(";")))
        }
        _ => matches.get_one::<OsString>(word).cloned(),
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(table().filter_map(|(s, flag)| Some((s, value(matches, flag)?))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        command.args(table().map(|(s, flag)| option(s, flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use promp_settings::{CKPT_CPU, CKPT_DIR, CKPT_KEEP, CKPT_WHERE, MONITOR, ON_SIGNAL};

    fn typed(words: &[&str]) -> Result<Options, clap::Error> {
        let all = ["run"].iter().chain(words);
        Options::augment_args(Command::new("run"))
            .try_get_matches_from(all)
            .map(|m| Options::from_arg_matches(&m).expect("what was parsed"))
    }

    #[test]
    fn options_set_what_the_table_says() {
        let o = typed(&["--ckpt", "d", "--any-threads", "--keep=3", "--monitor"]).expect("good");
        assert_eq!((o.text(&CKPT_DIR), o.text(&CKPT_WHERE)), (Some("d"), Some("serial")));
        assert_eq!((o.text(&CKPT_KEEP), o.text(&MONITOR)), (Some("3"), Some("segments")));
        let twice = ["--ckpt", "d", "--on-signal", "TERM=checkpoint", "--on-signal", "INT=checkpoint"];
        let o = typed(&twice).expect("good");
        assert_eq!((o.text(&ON_SIGNAL), o.all().count()), (Some("TERM=checkpoint;INT=checkpoint"), 2));
        for bad in [&["--keep", "3"][..], &["--ckpt"], &["--ckpt", ""], &["--monitor=x"], &["--fault", "kil"]]
        {
            assert!(typed(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn levels_are_those_of_the_table() {
        let Values::Words(words) = CKPT_CPU.values else { panic!("words") };
        assert_eq!(promp_image::cpu::LEVELS.map(promp_image::cpu::Level::name), words);
    }
}
