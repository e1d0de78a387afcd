//! What the settings say of failures and of saving: PROMP_FAULT, PROMP_SAVE_BUDGET (docs/environment.md).

use super::spec::{self, Fault};
use crate::icv::read::{Reader, reported};
use crate::icv::silent;
use crate::sys::env;
use crate::sys::own::Own;
use promp_settings::save_budget::Budget;
use promp_settings::{FAULT, SAVE_BUDGET};

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// PROMP_FAULT but for the silent errors in it.
    pub faults: Vec<Fault>,
    /// PROMP_SAVE_BUDGET.
    pub save_budget: Budget,
}

impl Settings {
    /// Reads them; bad values are handed on.
    pub(crate) fn read(from: &mut Reader) -> Self {
        // What is wrong with the silent ones is said where these are read.
        let faults = from.parsed(&FAULT, |v| match silent::split(v) {
            Ok((_, Some(rest))) => spec::parse(&rest),
            _ => Ok(Vec::new()),
        });
        Self {
            faults: faults.unwrap_or_default(),
            save_budget: from.value(&SAVE_BUDGET, Budget::parse).unwrap_or_default(),
        }
    }
}

/// Written once, while the runtime is initialised.
static SETTINGS: Own<Option<&'static Settings>> = Own::new(None);
static DEFAULT: Settings = Settings { faults: Vec::new(), save_budget: Budget::DEFAULT };

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

/// The settings' lines for OMP_DISPLAY_ENV: names and values.
pub(crate) fn shown() -> [(&'static str, String); 1] {
    [(SAVE_BUDGET.name, get().save_budget.to_string())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::variables::of_pairs as of;
    use proptest::prelude::*;

    fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>, Vec<String>) {
        of(pairs, Settings::read)
    }

    #[test]
    fn defaults_are_those_of_the_table() {
        let (said, warn, stop) = read(&crate::sys::variables::defaults());
        assert!(warn.is_empty() && stop.is_empty(), "{warn:?} {stop:?}");
        assert_eq!(format!("{said:?}"), format!("{:?}", Settings::default()));
        assert_eq!(format!("{:?}", read(&[]).0), format!("{:?}", Settings::default()));
    }

    #[test]
    fn values_are_read_or_named() {
        let (s, warn, stop) = read(&[("PROMP_FAULT", "kill@thread=1"), ("PROMP_SAVE_BUDGET", "all")]);
        assert!(warn.is_empty() && stop.is_empty(), "{warn:?} {stop:?}");
        assert_eq!((s.faults.len(), s.save_budget), (1, Budget::Unlimited));
        let (s, warn, stop) = read(&[("PROMP_FAULT", "explode"), ("PROMP_SAVE_BUDGET", "much")]);
        assert!(warn.len() == 1 && warn[0].contains("PROMP_SAVE_BUDGET=much"), "{warn:?}");
        assert!(stop.len() == 1 && stop[0].contains("PROMP_FAULT=explode"), "{stop:?}");
        assert_eq!((s.faults.len(), s.save_budget), (0, Budget::DEFAULT));
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
            for n in ["PROMP_FAULT", "PROMP_SAVE_BUDGET"] {
                let _ = read(&[(n, &v)]);
            }
        }
    }
}
