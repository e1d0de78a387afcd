//! What copies of private states take, and whether the time that has passed pays for them.

use promp_settings::save_budget::Budget;

/// Up to this size private states are copied at every save point.
pub(crate) const SMALL: usize = 256 << 10;
/// Larger ones than this are never copied.
const MOST: usize = 16 << 20;

/// Why a private state was not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotCopied {
    /// It costs too much.
    Price,
    /// There is more than [`MOST`].
    Most,
    /// There was no memory for a copy.
    NoMemory,
}

impl NotCopied {
    /// What was not copied, of the function at `place`, whose state has `bytes`.
    pub(crate) fn text(self, place: &str, bytes: usize) -> String {
        let reason = match self {
            NotCopied::Price => String::new(),
            NotCopied::Most => format!(", and at most {} KiB are copied", MOST >> 10),
            NotCopied::NoMemory => ", and no memory for a copy".into(),
        };
        format!("{place}: {} KiB of private data on the stack{reason}", bytes.div_ceil(1024))
    }
}

/// What copying a KiB takes into memory that is new, as long as nothing was measured, and what is believed at
/// most: an interruption is not the copy's (ticks).
const NEW_KIB: u64 = 1000;

/// What a thread's copies have taken of its time, in ticks. A copy has to be earned by the time that has
/// passed since the last one was paid for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Price {
    /// All time before this is paid with; 0: nothing was copied so far.
    paid: u64,
    /// What a KiB took the last time; 0: not known.
    kib: u64,
}

impl Price {
    /// What a copy of `bytes` would take, and the time that has passed for it, at `now`.
    pub(crate) fn would_take(&mut self, bytes: usize, now: u64) -> (u64, u64) {
        let takes = self.of(bytes);
        (takes, self.earned(now).max(takes))
    }

    /// What a copy of `bytes` will take.
    fn of(&self, bytes: usize) -> u64 {
        bytes.div_ceil(1024) as u64 * if self.kib == 0 { NEW_KIB } else { self.kib }
    }

    /// May there be a copy of `bytes` at `now`? `covers`: there is credit for so many ticks.
    pub(crate) fn affords(
        &mut self,
        bytes: usize,
        now: u64,
        budget: Budget,
        covers: impl FnOnce(u64) -> bool,
    ) -> Result<(), NotCopied> {
        let (takes, earned) = (self.of(bytes), self.earned(now));
        match budget {
            _ if bytes > MOST => Err(NotCopied::Most),
            Budget::Share(share) if takes as f64 > share * earned as f64 && !covers(takes) => {
                Err(NotCopied::Price)
            }
            _ => Ok(()),
        }
    }

    /// The time that is not paid with, at `now`.
    fn earned(&mut self, now: u64) -> u64 {
        // The counter of another machine may show less.
        if self.paid == 0 || self.paid > now {
            self.paid = now;
        }
        now - self.paid
    }

    /// A copy of `bytes` has taken the time from `began` to `now`.
    pub(crate) fn pay(&mut self, bytes: usize, began: u64, now: u64, budget: Budget) {
        let Budget::Share(share) = budget else { return };
        let kibs = bytes.div_ceil(1024) as u64;
        self.kib = (now.saturating_sub(began) / kibs.max(1)).clamp(1, NEW_KIB);
        let time = self.of(bytes) as f64 / share.max(f64::MIN_POSITIVE);
        self.paid = self.paid.saturating_add(time as u64).min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_pays_for_copies() {
        let mut price = Price::default();
        let took = |price: &mut Price, ticks, now| price.pay(1 << 20, now - ticks, now, Budget::DEFAULT);
        assert_eq!(price.earned(1000), 0, "nothing has passed");
        let takes = price.of(1 << 20);
        assert_eq!(takes, 1024 * NEW_KIB);
        let now = 1000 + 2 * takes * 50;
        assert_eq!(price.earned(now), 2 * takes * 50);
        took(&mut price, takes, now);
        assert!(price.earned(now).abs_diff(takes * 50) < 100, "half of it is left");
        took(&mut price, takes * 99, now);
        assert!(price.earned(now) < 100, "an interruption is not the copy's");
        took(&mut price, takes, now);
        assert_eq!(price.earned(now), 0, "there are no debts");
        took(&mut price, 1024 * 10, now);
        assert_eq!(price.of(2 << 20), 2048 * 10, "measured");
    }

    #[test]
    fn copies_are_earned_or_on_credit_up_to_a_size() {
        let now = 1 << 40;
        let may = |bytes, budget, credit| Price::default().affords(bytes, now, budget, |_| credit);
        assert_eq!(may(SMALL + 1, Budget::DEFAULT, false), Err(NotCopied::Price), "nothing has passed");
        assert_eq!(may(SMALL + 1, Budget::DEFAULT, true), Ok(()));
        assert_eq!(may(MOST, Budget::Unlimited, false), Ok(()));
        assert_eq!(may(MOST + 1, Budget::Unlimited, true), Err(NotCopied::Most));
        assert!(NotCopied::Most.text("f", MOST + 1).ends_with("and at most 16384 KiB are copied"));
    }

    #[test]
    fn the_counter_of_another_machine_begins_anew() {
        let mut price = Price::default();
        assert_eq!([1 << 40, 5, 9].map(|now| price.earned(now)), [0, 0, 4]);
    }
}
