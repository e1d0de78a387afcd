//! What the settings say of failures: PROMP_FAULT (docs/environment.md).

use super::spec::{self, Fault};
use crate::icv::read::{Reader, reported};
use crate::icv::silent;
use crate::sys::env;
use crate::sys::own::Own;
use promp_settings::FAULT;

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// PROMP_FAULT but for the silent errors in it.
    pub faults: Vec<Fault>,
}

impl Settings {
    /// Reads them; bad values are handed on.
    pub(crate) fn read(from: &mut Reader) -> Self {
        // What is wrong with the silent ones is said where these are read.
        let faults = from.parsed(&FAULT, |v| match silent::split(v) {
            Ok((_, Some(rest))) => spec::parse(&rest),
            _ => Ok(Vec::new()),
        });
        Self { faults: faults.unwrap_or_default() }
    }
}

/// Written once, while the runtime is initialised.
static SETTINGS: Own<Option<&'static Settings>> = Own::new(None);
static DEFAULT: Settings = Settings { faults: Vec::new() };

/// Reads them, while the runtime is initialised.
pub(crate) fn begin() -> &'static Settings {
    if !env::secure() {
        SETTINGS.set(Some(Box::leak(Box::new(reported(Settings::read)))));
    }
    get()
}

/// The settings; until the runtime is initialised the defaults.
pub(crate) fn get() -> &'static Settings {
    SETTINGS.get().unwrap_or(&DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::environment_reader::of_pairs as of;
    use proptest::prelude::*;

    fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>, Vec<String>) {
        of(pairs, Settings::read)
    }

    #[test]
    fn defaults_are_those_of_the_table() {
        let (said, warn, stop) = read(&crate::sys::environment_reader::defaults());
        assert!(warn.is_empty() && stop.is_empty(), "{warn:?} {stop:?}");
        assert_eq!(format!("{said:?}"), format!("{:?}", Settings::default()));
        assert_eq!(format!("{:?}", read(&[]).0), format!("{:?}", Settings::default()));
    }

    #[test]
    fn values_are_read_or_named() {
        let (s, warn, stop) = read(&[("PROMP_FAULT", "kill@thread=1")]);
        assert!(warn.is_empty() && stop.is_empty(), "{warn:?} {stop:?}");
        assert_eq!(s.faults.len(), 1);
        let (s, warn, stop) = read(&[("PROMP_FAULT", "explode")]);
        assert!(warn.is_empty(), "{warn:?}");
        assert!(stop.len() == 1 && stop[0].contains("PROMP_FAULT=explode"), "{stop:?}");
        assert!(s.faults.is_empty());
    }

    #[test]
    fn silent_errors_are_told_from_the_others() {
        let both = "sdc@kernel=1,pattern=bit;kill@thread=1";
        let (s, warn, stop) = read(&[("PROMP_FAULT", both)]);
        assert!(warn.is_empty() && stop.is_empty(), "{warn:?} {stop:?}");
        assert_eq!(s.faults.len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(v in "\\PC{0,30}") {
            let _ = read(&[("PROMP_FAULT", &v)]);
        }
    }
}
