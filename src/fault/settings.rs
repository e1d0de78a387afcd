//! What the settings say of failures: PROMP_FAULT (docs/environment.md).

use super::spec::{self, Fault};
use crate::icv::read::{Reader, reported};
use crate::icv::silent;
use crate::sys::env;
use crate::sys::own::Own;

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// PROMP_FAULT but for the silent errors in it.
    pub faults: Vec<Fault>,
}

impl Settings {
    /// Reads them; bad values are handed on.
    pub(crate) fn read(from: &mut Reader) -> Self {
        let mut s = Self::default();
        if let Some(v) = from.get("PROMP_FAULT")
            && let Ok((_, Some(rest))) = silent::split(&v)
        {
            match spec::parse(&rest) {
                Ok(faults) => s.faults = faults,
                Err(e) => from.stop(format!("PROMP_FAULT={v}: {e}")),
            }
        }
        s
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
    use crate::sys::variables::of_pairs as of;
    use proptest::prelude::*;

    fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>, Vec<String>) {
        of(pairs, Settings::read)
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
