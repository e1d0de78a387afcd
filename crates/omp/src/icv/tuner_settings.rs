//! PROMP_TUNE, PROMP_TUNE_THREADS, PROMP_TUNE_EXACT.

use super::read::Reader;
use promp_settings::{TUNE, TUNE_EXACT, TUNE_THREADS};

/// Does the runtime choose schedules and numbers of threads?
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No: as the program says.
    #[default]
    Off,
    /// Yes; what it finds is forgotten at the end.
    On,
    /// Yes; by what the file has, and it is kept there.
    File(String),
}

/// What it may do about the number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Threads {
    /// Nothing.
    Keep,
    /// Teams stay as they are, but one member may get all of a short loop.
    #[default]
    Soft,
    /// Teams may be smaller, too, where that conforms.
    Fewer,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// PROMP_TUNE.
    pub mode: Mode,
    /// PROMP_TUNE_THREADS.
    pub(crate) threads: Threads,
    /// PROMP_TUNE_EXACT.
    pub exact: bool,
}

impl Settings {
    /// Reads them; bad values are handed on.
    pub(crate) fn read(from: &mut Reader, reproducible: bool) -> Self {
        let mode = from.value(&TUNE, |v| match v {
            "off" => Some(Mode::Off),
            "on" => Some(Mode::On),
            file => (!file.is_empty()).then(|| Mode::File(file.into())),
        });
        let mut s = Self {
            mode: mode.unwrap_or_default(),
            threads: [Threads::Keep, Threads::Soft, Threads::Fewer][from.word(&TUNE_THREADS)],
            exact: from.word(&TUNE_EXACT) == 1,
        };
        if s.exact && s.mode == Mode::Off {
            from.warn("PROMP_TUNE_EXACT=on is ignored because PROMP_TUNE is off".into());
        }
        if reproducible && s.mode != Mode::Off {
            from.warn(
                "PROMP_TUNE is off because PROMP_REPRODUCIBLE=1: results that do not depend on the run need \
                 schedules that do not"
                    .into(),
            );
            s.mode = Mode::Off;
        }
        s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)], reproducible: bool) -> (Settings, Vec<String>) {
        let (s, bad, stop) =
            crate::sys::environment_reader::of_pairs(pairs, |from| Settings::read(from, reproducible));
        assert!(stop.is_empty(), "{stop:?}");
        (s, bad)
    }

    #[test]
    fn good_values() {
        let (s, bad) = read(&[("PROMP_TUNE", "on"), ("PROMP_TUNE_THREADS", "fewer")], false);
        assert!(s == Settings { mode: Mode::On, threads: Threads::Fewer, exact: false } && bad.is_empty());
        let (s, bad) = read(&[("PROMP_TUNE", "/a/b.tune"), ("PROMP_TUNE_THREADS", "keep")], false);
        assert!(s.mode == Mode::File("/a/b.tune".into()) && s.threads == Threads::Keep && bad.is_empty());
        assert_eq!(read(&[("PROMP_TUNE", "off")], true), (Settings::default(), vec![]));
    }

    #[test]
    fn bad_values_are_named() {
        for (name, value) in [("PROMP_TUNE", ""), ("PROMP_TUNE_THREADS", "many")] {
            let (s, bad) = read(&[(name, value)], false);
            assert!(s == Settings::default() && bad.len() == 1 && bad[0].contains(name), "{bad:?}");
        }
        let (s, bad) = read(&[("PROMP_TUNE", "on"), ("PROMP_TUNE_EXACT", "on")], false);
        assert!(s.exact && bad.is_empty());
        let (s, bad) = read(&[("PROMP_TUNE_EXACT", "very")], false);
        assert!(!s.exact && bad.len() == 1 && bad[0].contains("accepted are off, on"));
        let (_, bad) = read(&[("PROMP_TUNE_EXACT", "on")], false);
        assert!(bad.len() == 1 && bad[0].contains("PROMP_TUNE is off"));
        let (s, bad) = read(&[("PROMP_TUNE", "on")], true);
        assert!(s.mode == Mode::Off && bad[0].contains("PROMP_REPRODUCIBLE"));
    }
}
