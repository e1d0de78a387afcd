//! The settings that are set where `promp doctor` is called, and whether their values can be taken.

use super::Finding;
use promp_settings::ALL;

/// A finding for each, in the order of the table.
pub(super) fn findings() -> Vec<Finding> {
    let one = |setting: &&'static promp_settings::Setting| {
        let value = std::env::var_os(setting.name)?;
        let text = value.to_str().ok_or_else(|| "not UTF-8".to_owned());
        let wrong = text.and_then(|v| setting.check(v).map_err(|why| setting.complaint(v, &why))).err();
        let detail = wrong.clone().unwrap_or_else(|| format!("set to {}", value.display()));
        Some(Finding { what: setting.name, ok: wrong.is_none(), detail })
    };
    ALL.iter().filter_map(one).collect()
}
