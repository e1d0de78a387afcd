//! How settings are read from environment variables: each room has a `Settings` that asks a [`Reader`] for
//! its own and hands it what it does not understand.

use crate::env;
use promp_settings::{OnBad, Setting, internal};

/// What a bad value leads to.
enum Bad {
    /// One line, and the default is used.
    Warn(String),
    /// The program stops with exit status 64 before it has done anything.
    Stop(String),
}

/// Where settings come from, and where bad values go.
pub struct Reader<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
    bad: &'a mut dyn FnMut(Bad),
}

impl<'a> Reader<'a> {
    /// Reads through `get`; bad values are handed to `bad`.
    fn new(get: &'a dyn Fn(&str) -> Option<String>, bad: &'a mut dyn FnMut(Bad)) -> Self {
        Self { get, bad }
    }

    /// The variable's value.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.get)(name)
    }

    /// [`Self::get`] alone.
    pub fn getter(&self) -> &'a dyn Fn(&str) -> Option<String> {
        self.get
    }

    /// One line says `why`, and the default is used.
    pub fn warn(&mut self, why: String) {
        (self.bad)(Bad::Warn(why));
    }

    /// The program is stopped because of `why`.
    pub fn stop(&mut self, why: String) {
        (self.bad)(Bad::Stop(why));
    }

    /// The value of `setting` is bad because of `why`.
    fn refuse(&mut self, setting: &Setting, value: &str, why: &str) {
        let complaint = setting.complaint(value, why);
        match setting.on_bad {
            OnBad::Line => self.warn(complaint),
            OnBad::Stop => self.stop(complaint),
        }
    }

    /// What `parse` makes of the setting's value. Where it is not set, or is not understood, which is said:
    /// nothing.
    pub fn parsed<T>(
        &mut self,
        setting: &Setting,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.get(setting.name)?;
        parse(value.trim()).map_err(|why| self.refuse(setting, &value, &why)).ok()
    }

    /// The same where `parse` does not say what is wrong: the table says what is expected.
    pub fn value<T>(&mut self, setting: &Setting, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        self.parsed(setting, |v| parse(v).ok_or_else(|| setting.expected()))
    }

    /// The number of the word that holds: the setting's value, or the default.
    pub fn word(&mut self, setting: &Setting) -> usize {
        self.value(setting, |v| setting.word(v)).unwrap_or_else(|| setting.default_word())
    }

    /// The number that holds: the setting's value, or the default.
    pub fn number(&mut self, setting: &Setting) -> u64 {
        self.value(setting, |v| setting.number(v)).unwrap_or_else(|| setting.default_number())
    }
}

/// What `read` makes of the environment; of none, in set-user-ID programs. Bad values are reported, and stop
/// the program where they must.
pub fn reported<T>(read: impl FnOnce(&mut Reader) -> T) -> T {
    let get = |name: &str| if env::secure() { None } else { env::get(name) };
    read(&mut Reader::new(&get, &mut |bad| match bad {
        Bad::Warn(m) => say!("{m}"),
        Bad::Stop(m) => stop(&m),
    }))
}

/// Names of variables that begin with `PROMP_` and mean nothing are said, one line each; not where
/// `promp run` has done so, before it started this process or one that has started it.
pub fn say_unknown() {
    if env::is_set(internal::RUN.c_name) {
        return;
    }
    env::any(|line| {
        let name = line.to_str().ok().and_then(|l| l.split('=').next());
        if let Some(what) = name.and_then(promp_settings::unknown) {
            say!("{what}");
        }
        false
    });
}

/// The same when the library is loaded, when only what stops the program is said.
pub fn fatal<T>(read: impl FnOnce(&mut Reader) -> T) -> T {
    read(&mut Reader::new(&env::get, &mut |bad| {
        if let Bad::Stop(m) = bad {
            stop(&m);
        }
    }))
}

fn stop(why: &str) {
    say!("{why}");
    crate::syscall::exit_group(64);
}

/// For tests: all settings that have a default, with it.
pub fn defaults() -> Vec<(&'static str, &'static str)> {
    promp_settings::ALL.iter().filter_map(|s| Some((s.name, s.default?))).collect()
}

/// For tests: what `read` makes of these variables, the lines, and the reasons for stopping.
pub fn of_pairs<T>(
    pairs: &[(&str, &str)],
    read: impl FnOnce(&mut Reader) -> T,
) -> (T, Vec<String>, Vec<String>) {
    let (mut warn, mut stop) = (vec![], vec![]);
    let get = |n: &str| pairs.iter().find(|(k, _)| *k == n).map(|(_, v)| v.to_string());
    let t = read(&mut Reader::new(&get, &mut |b| match b {
        Bad::Warn(m) => warn.push(m),
        Bad::Stop(m) => stop.push(m),
    }));
    (t, warn, stop)
}
