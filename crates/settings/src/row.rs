//! What the table of settings has of each: the columns, and what follows from them for a value.

use core::ffi::CStr;

/// What settings are about: the sections of docs/environment.md and of `promp run --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// How a program is run, and what is said of it.
    Run,
    /// Failures of threads, and what becomes of their work.
    Failures,
    /// Checkpoints, and restarts from them.
    Checkpoints,
    /// What is measured, and who looks on.
    Measuring,
    /// How loops are dealt.
    Tuning,
    /// Devices, and silent errors.
    Devices,
}

impl Group {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Run, Self::Failures, Self::Checkpoints, Self::Measuring, Self::Tuning, Self::Devices];

    /// The title of its section.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Run => "Run",
            Self::Failures => "Failures",
            Self::Checkpoints => "Checkpoints",
            Self::Measuring => "Measuring",
            Self::Tuning => "Tuning",
            Self::Devices => "Devices",
        }
    }
}

/// For whom a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Who runs programs.
    Users,
    /// Who works on promp.
    Developers,
}

/// What a bad value does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBad {
    /// One line says so, and the default is used.
    Line,
    /// The program stops with exit status 64 before it has done anything.
    Stop,
}

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A number in these bounds.
    Number(u64, u64),
    /// What the text lists.
    Listed(&'static str, Check),
    /// What the text describes.
    Described(&'static str, Check),
}

/// How it is found out whether a value is one.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Any text may be one.
    Nothing,
    /// Whether it is one.
    Is(fn(&str) -> bool),
    /// The error says what is wrong.
    Says(fn(&str) -> Result<(), String>),
}

/// What an option of `promp run` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: the setting gets this value.
    Nothing(&'static str),
    /// A value, which help shows so.
    Value(&'static str),
    /// A value that may be left out; then it is the second.
    Optional(&'static str, &'static str),
    /// Values, by as many options as are given: they are joined by `;`.
    Several(&'static str),
    /// A path, of a file or a directory.
    Path(&'static str),
}

/// The option of `promp run` that sets a setting.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// As it is typed.
    pub name: &'static str,
    /// What stands behind it.
    pub takes: Takes,
    /// What it does: a sentence, for help.
    pub help: &'static str,
    /// Another option without which it has no sense.
    pub needs: Option<&'static str>,
}

impl Flag {
    /// One that needs no other.
    pub(crate) const fn new(name: &'static str, takes: Takes, help: &'static str) -> Self {
        Self { name, takes, help, needs: None }
    }

    /// It has no sense without this one.
    pub(crate) const fn needs(mut self, other: &'static str) -> Self {
        self.needs = Some(other);
        self
    }

    /// Its name without the dashes.
    pub fn word(&self) -> &'static str {
        self.name.trim_start_matches('-')
    }
}

/// One setting: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// The same, for getenv.
    pub c_name: &'static CStr,
    /// What it is about.
    pub group: Group,
    /// What its value may be.
    pub values: Values,
    /// The value that holds where it is not set, if there is one.
    pub default: Option<&'static str>,
    /// What a bad value does.
    pub on_bad: OnBad,
    /// What it means: docs/environment.md has this text.
    pub meaning: &'static str,
    /// For whom it is.
    pub audience: Audience,
    /// The version of promp that had it first.
    pub since: &'static str,
    /// The option of `promp run` that sets it.
    pub flag: Option<Flag>,
}

/// A name as a C string: `text` ends with a zero byte.
pub(crate) const fn c_name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name has no zero byte but the last"),
    }
}

impl Setting {
    /// One with these values, which has no name yet.
    pub(crate) const fn new(values: Values, default: Option<&'static str>, meaning: &'static str) -> Self {
        Self {
            name: "",
            c_name: c"",
            group: Group::Run,
            values,
            default,
            on_bad: OnBad::Line,
            meaning,
            audience: Audience::Users,
            since: "0.1.0",
            flag: None,
        }
    }

    /// Its name, with and without a zero byte, and what it is about.
    pub(crate) const fn named(mut self, name: &'static str, with_zero: &'static str, group: Group) -> Self {
        self.name = name;
        self.c_name = c_name(with_zero);
        self.group = group;
        self
    }

    /// A bad value stops the program.
    pub(crate) const fn stops(mut self) -> Self {
        self.on_bad = OnBad::Stop;
        self
    }

    /// It is for who works on promp.
    pub(crate) const fn for_developers(mut self) -> Self {
        self.audience = Audience::Developers;
        self
    }

    /// An option of `promp run` sets it.
    pub(crate) const fn by(mut self, flag: Flag) -> Self {
        self.flag = Some(flag);
        self
    }

    /// By what a user has set it: the option's name where `promp run` has one, else the variable's.
    pub fn typed(&self) -> &'static str {
        self.flag.map_or(self.name, |flag| flag.name)
    }

    /// Which of its words a value is; none where it is no word of its.
    pub fn word(&self, value: &str) -> Option<usize> {
        let Values::Words(words) = self.values else { return None };
        words.iter().position(|&w| w == value.trim())
    }

    /// Which of its words is the default.
    pub fn default_word(&self) -> usize {
        self.default.and_then(|word| self.word(word)).unwrap_or(0)
    }

    /// A value in its bounds; none where it is no number, or out of them.
    pub fn number(&self, value: &str) -> Option<u64> {
        let Values::Number(least, most) = self.values else { return None };
        value.trim().parse().ok().filter(|n| (least..=most).contains(n))
    }

    /// The default, if it is a number.
    pub fn default_number(&self) -> u64 {
        self.default.and_then(|text| self.number(text)).unwrap_or(0)
    }

    /// What is expected of a value: "accepted are off, on".
    pub fn expected(&self) -> String {
        match self.values {
            Values::Words(words) => format!("accepted are {}", words.join(", ")),
            Values::Number(least, most) => format!("expected a number from {least} to {most}"),
            Values::Listed(text, _) => format!("accepted are {text}"),
            Values::Described(text, _) => format!("expected {text}"),
        }
    }

    /// Is this a value? The error says what is wrong with it, or what is expected.
    pub fn check(&self, value: &str) -> Result<(), String> {
        let known = match self.values {
            Values::Words(_) => self.word(value).is_some(),
            Values::Number(..) => self.number(value).is_some(),
            Values::Listed(_, check) | Values::Described(_, check) => match check {
                Check::Nothing => true,
                Check::Is(is) => is(value.trim()),
                Check::Says(says) => return says(value.trim()),
            },
        };
        known.then_some(()).ok_or_else(|| self.expected())
    }

    /// What is said of a bad value: the variable, the value, what is wrong, and what happens then.
    pub fn complaint(&self, value: &str, why: &str) -> String {
        match self.on_bad {
            OnBad::Line => format!("{}={value} is not understood: {why}; using the default", self.name),
            OnBad::Stop => format!("{}={value}: {why}", self.name),
        }
    }
}
