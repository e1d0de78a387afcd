//! PROMP_SAVE_BUDGET and -fpromp-budget: the share of the program's time that saving may take, so that work
//! can be executed again.

/// So much time of a loop tells (ticks).
pub const ENOUGH: u64 = 150_000;
/// So much time of saving, too, if it is far too much for what was done meanwhile.
pub const DEAR: u64 = 30_000;

/// What a site saves that is a loop whose iterations wait for each other (plugin/src/undo/waits.cc).
const ACROSS: &str = "save points where iterations wait for each other";
/// ... and one that is a region (plugin/src/undo/short_regions.cc) ...
const REGION: &str = "save points of a region";
/// ... or a taskloop.
const TASKLOOP: &str = "save points of a taskloop";

/// The option of promp-cc for the budget of the code that it compiles.
pub const OPTION: &str = "-fpromp-budget";
/// At most this is its value, in tenths of a percent.
const MOST_TENTHS: u32 = 10_000;
/// In a site's word the runtime counts with these bits; what the option says lies above them
/// (plugin/src/segments/sites.cc).
pub const COUNTED: u32 = (1 << 18) - 1;
const UNLIMITED: u32 = u32::MAX >> COUNTED.count_ones();

/// How a budget is named that the option (`compiled`) gives, or the variable.
pub fn named(budget: &str, compiled: bool, variable: &str) -> String {
    format!("{}={budget}", if compiled { OPTION } else { variable })
}

/// The price of whose save points is it that `what` names: a loop's, a region's, a taskloop's? `None`: it is
/// that of saving.
pub fn points_of(what: &str) -> Option<&'static str> {
    [(ACROSS, "loop"), (REGION, "region"), (TASKLOOP, "taskloop")]
        .into_iter()
        .find_map(|(text, of)| what.ends_with(text).then_some(of))
}

/// A price in percent, as it is told: two digits are as much as is known of it, and of save points
/// (`points`) less.
pub fn told(percent: f64, points: bool) -> String {
    // Without logarithms, for which the runtime would need libm.
    let (percent, mut step) = (percent.min(1e15), 1.0);
    while percent / step >= 99.5 {
        step *= 10.0;
    }
    let digits = (percent / step + 0.5) as u64 as f64;
    format!("{:.0} %{}", digits * step, if points { " (to a factor of 3)" } else { "" })
}

/// What PROMP_SAVE_BUDGET says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// A share of a loop's time.
    Share(f64),
    /// Whatever it costs.
    Unlimited,
}

impl Default for Budget {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Budget {
    /// If nothing is said.
    pub const DEFAULT: Budget = Budget::Share(0.02);

    /// `2%`, `0.5 %`, `all`.
    pub fn parse(v: &str) -> Option<Budget> {
        if v == "all" {
            return Some(Budget::Unlimited);
        }
        let n: f64 = v.trim_end().strip_suffix('%')?.trim_end().parse().ok()?;
        (0.0..=100.0).contains(&n).then_some(Budget::Share(n / 100.0))
    }

    /// What `-fpromp-budget=` is followed by: `5%`, `0.5%`, `250%`, `all`; what is wrong with it.
    pub fn of_option(v: &str) -> Result<Budget, String> {
        if v == "all" {
            return Ok(Budget::Unlimited);
        }
        let tenths = v.strip_suffix('%').and_then(|n| n.parse::<f64>().ok()).map(|n| n * 10.0);
        match tenths {
            Some(n) if (0.0..=f64::from(MOST_TENTHS)).contains(&n) && (n - n.round()).abs() < 1e-6 => {
                Ok(Budget::Share(n.round() / 1000.0))
            }
            _ => Err(format!(
                "{OPTION}={v}: expected 0% to {}% of a loop's time, in steps of 0.1%, or all",
                MOST_TENTHS / 10
            )),
        }
    }

    /// What a site of compiled code says of -fpromp-budget, above the bits that the runtime counts in
    /// ([`COUNTED`]). The inverse of [`Budget::of_word`] for what [`Budget::of_option`] gives.
    pub fn word(self) -> u32 {
        let code = match self {
            Budget::Share(share) => 1 + (share * 1000.0).round() as u32,
            Budget::Unlimited => UNLIMITED,
        };
        code << COUNTED.count_ones()
    }

    /// The same, read. None: the code was compiled without it.
    pub fn of_word(word: u32) -> Option<Budget> {
        match word >> COUNTED.count_ones() {
            0 => None,
            UNLIMITED => Some(Budget::Unlimited),
            n => Some(Budget::Share(f64::from(n - 1) / 1000.0)),
        }
    }

    /// Is saving that has taken `cost` ticks of a loop worth it, where the rest has taken `time`? None: too
    /// little to tell.
    pub fn affords(self, cost: u64, time: u64) -> Option<bool> {
        let Budget::Share(budget) = self else { return Some(true) };
        let over = |times: f64| cost as f64 > times * budget * time as f64;
        match time >= ENOUGH {
            true => Some(!over(1.0)),
            false if cost >= DEAR && over(4.0) => Some(false),
            false => None,
        }
    }
}

impl core::fmt::Display for Budget {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Budget::Share(s) => write!(f, "{}%", s * 100.0),
            Budget::Unlimited => write!(f, "all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_understood() {
        assert_eq!(Budget::parse("2%"), Some(Budget::Share(0.02)));
        assert_eq!(Budget::parse("0.5 %"), Some(Budget::Share(0.005)));
        assert_eq!(Budget::parse("all"), Some(Budget::Unlimited));
        for bad in ["", "2", "-1%", "101%", "NaN%", "none"] {
            assert_eq!(Budget::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn options_are_understood_and_stand_in_a_sites_word() {
        for (v, budget) in [
            ("0%", Budget::Share(0.0)),
            ("0.1%", Budget::Share(0.001)),
            ("2%", Budget::DEFAULT),
            ("33.3%", Budget::Share(0.333)),
            ("1000%", Budget::Share(10.0)),
            ("all", Budget::Unlimited),
        ] {
            assert_eq!(Budget::of_option(v), Ok(budget), "{v}");
            let word = budget.word();
            assert_eq!((Budget::of_word(word | COUNTED), word & COUNTED), (Some(budget), 0), "{v}");
        }
        assert_eq!(Budget::of_word(COUNTED), None);
        for bad in ["", "5", "-1%", "1000.1%", "0.05%", "x%", "NaN%", "inf%", "%", "none", "ALL", "5 %"] {
            let why = Budget::of_option(bad).expect_err(bad);
            assert!(why.starts_with(&format!("-fpromp-budget={bad}: expected 0% to 1000%")), "{why}");
        }
        assert_eq!(named("5%", true, ""), "-fpromp-budget=5%");
    }

    #[test]
    fn decided_by_what_was_measured() {
        let two = Budget::Share(0.02);
        assert_eq!(two.affords(0, ENOUGH - 1), None);
        assert_eq!(two.affords(ENOUGH / 60, ENOUGH), Some(true));
        assert_eq!(two.affords(ENOUGH / 40, ENOUGH), Some(false));
        assert_eq!(two.affords(DEAR, DEAR), Some(false), "soon");
        assert_eq!(two.affords(DEAR - 1, 1), None, "too little to tell");
        assert_eq!(Budget::Unlimited.affords(10 * DEAR, 1), Some(true));
    }

    #[test]
    fn prices_have_two_digits() {
        let told = [0.4, 3.6, 31.4, 99.6, 156.0, 1534.0, 23_456.0].map(|p| told(p, false));
        assert_eq!(told, ["0 %", "4 %", "31 %", "100 %", "160 %", "1500 %", "23000 %"]);
        assert_eq!(super::told(1534.0, true), "1500 % (to a factor of 3)");
    }

    #[test]
    fn the_plugin_names_its_sites_so() {
        let plugin = include_str!("../../../plugin/src/undo/waits.cc");
        assert!(plugin.contains(&format!("\"{ACROSS}\")")));
        let plugin = include_str!("../../../plugin/src/undo/short_regions.cc");
        assert!([REGION, TASKLOOP].iter().all(|t| plugin.contains(&format!("\"{t}\""))));
        let sites = include_str!("../../../plugin/src/segments/sites.cc");
        assert!(sites.contains("state | (unsigned HOST_WIDE_INT) options.budget << 32"));
    }
}
