//! What can be decided about a loop: how its iterations are dealt, and how many of the team's threads are
//! fed.

use crate::{Kind, Schedule};
use core::fmt;
use core::str::FromStr;

/// A decision. Chunks are parts of the iteration space, so that it holds for all loops of a trip-count class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deal {
    /// As the program says.
    Given,
    /// One block a thread.
    Blocks,
    /// N/parts iterations at a time, round robin.
    Cyclic {
        /// Into how many chunks.
        parts: u32,
    },
    /// First come, first served, N/parts iterations at a time.
    Dynamic {
        /// Into how many chunks.
        parts: u32,
    },
    /// Shrinking chunks, not smaller than N/parts.
    Guided {
        /// The smallest chunk is this part.
        parts: u32,
    },
}

/// A decision about a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// How iterations are dealt.
    pub deal: Deal,
    /// To how many threads; 0: to all.
    pub threads: u32,
}

/// The bit of a packed choice that tells a round robin from a `Given`.
const CYCLIC: u64 = 1 << 18;

impl Choice {
    /// Everything as the program says.
    pub const GIVEN: Self = Self { deal: Deal::Given, threads: 0 };

    /// The schedule for `total` iterations that the program deals by `given` to `p` threads. Chunks are whole
    /// numbers of the program's own: that a thread gets several at once nobody can observe. Where k of p
    /// threads are fed, the first to come get the k blocks.
    pub fn schedule(self, total: u64, given: Schedule, p: u32) -> Schedule {
        let unit = given.chunk.max(1);
        let whole = |n: u64| n.div_ceil(unit).max(1).saturating_mul(unit);
        let part = |parts: u32| whole(total / u64::from(parts.max(1)));
        match self.deal {
            _ if (1..p).contains(&self.threads) => {
                Schedule::new(Kind::Dynamic, whole(total.div_ceil(u64::from(self.threads))))
            }
            Deal::Given => given,
            Deal::Blocks if unit == 1 => Schedule::BLOCKS,
            Deal::Blocks => Schedule::new(Kind::Static, whole(total.div_ceil(u64::from(p.max(1))))),
            Deal::Cyclic { parts } => Schedule::new(Kind::Static, part(parts)),
            Deal::Dynamic { parts } => Schedule::new(Kind::Dynamic, part(parts)),
            Deal::Guided { parts } => Schedule::new(Kind::Guided, part(parts)),
        }
    }

    /// In a word of 64 bits.
    pub fn pack(self) -> u64 {
        let (kind, parts) = match self.deal {
            Deal::Given => (0, 0),
            Deal::Blocks => (1, 0),
            Deal::Dynamic { parts } => (2, parts),
            Deal::Guided { parts } => (3, parts),
            Deal::Cyclic { parts } => (CYCLIC, parts),
        };
        kind | u64::from(self.threads & 0xffff) << 2 | u64::from(parts) << 32
    }

    /// From such a word.
    pub fn unpack(w: u64) -> Self {
        let parts = (w >> 32) as u32;
        let deal = match w & (CYCLIC | 3) {
            0 => Deal::Given,
            1 => Deal::Blocks,
            2 => Deal::Dynamic { parts },
            CYCLIC => Deal::Cyclic { parts },
            _ => Deal::Guided { parts },
        };
        Self { deal, threads: (w >> 2 & 0xffff) as u32 }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.deal {
            Deal::Given => f.write_str("given")?,
            Deal::Blocks => f.write_str("static")?,
            Deal::Cyclic { parts } => write!(f, "static,N/{parts}")?,
            Deal::Dynamic { parts } => write!(f, "dynamic,N/{parts}")?,
            Deal::Guided { parts } => write!(f, "guided,N/{parts}")?,
        }
        match self.threads {
            0 => Ok(()),
            n => write!(f, "@{n}"),
        }
    }
}

impl FromStr for Choice {
    type Err = ();

    fn from_str(s: &str) -> Result<Self, ()> {
        let (deal, threads) = match s.split_once('@') {
            Some((d, t)) => (d, t.parse().ok().filter(|t| (1..=0xffff).contains(t)).ok_or(())?),
            None => (s, 0),
        };
        let parts = |text: &str| text.parse().ok().filter(|p: &u32| *p > 0).ok_or(());
        let deal = match deal.split_once(",N/") {
            None if deal == "given" => Deal::Given,
            None if deal == "static" => Deal::Blocks,
            Some(("static", p)) => Deal::Cyclic { parts: parts(p)? },
            Some(("dynamic", p)) => Deal::Dynamic { parts: parts(p)? },
            Some(("guided", p)) => Deal::Guided { parts: parts(p)? },
            _ => return Err(()),
        };
        Ok(Self { deal, threads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_choice() -> impl Strategy<Value = Choice> {
        let deal = prop_oneof![
            Just(Deal::Given),
            Just(Deal::Blocks),
            (1u32..).prop_map(|parts| Deal::Cyclic { parts }),
            (1u32..).prop_map(|parts| Deal::Dynamic { parts }),
            (1u32..).prop_map(|parts| Deal::Guided { parts }),
        ];
        (deal, 0u32..=0xffff).prop_map(|(deal, threads)| Choice { deal, threads })
    }

    proptest! {
        #[test]
        fn words_and_texts_come_back(c in any_choice()) {
            prop_assert_eq!(Choice::unpack(c.pack()), c);
            prop_assert_eq!(c.to_string().parse(), Ok(c));
        }

        #[test]
        fn any_text_is_taken_or_refused(s in "\\PC{0,20}") {
            let _ = s.parse::<Choice>();
        }
    }

    #[test]
    fn chunks_are_parts() {
        let c: Choice = "dynamic,N/16".parse().unwrap();
        let given: Schedule = "dynamic".parse().unwrap();
        assert_eq!(c.schedule(1000, given, 2), Schedule::new(Kind::Dynamic, 62));
        assert_eq!(c.schedule(3, given, 2), Schedule::new(Kind::Dynamic, 1));
        assert_eq!(Choice::GIVEN.schedule(9, given, 2), given);
        // Whole chunks of the program's own.
        let four: Schedule = "dynamic,4".parse().unwrap();
        assert_eq!(c.schedule(1000, four, 2), Schedule::new(Kind::Dynamic, 64));
        let blocks = Choice { deal: Deal::Blocks, threads: 0 };
        assert_eq!(blocks.schedule(1001, four, 2), Schedule::new(Kind::Static, 504));
        assert_eq!(blocks.schedule(1001, given, 2), Schedule::BLOCKS);
        let one = Choice { deal: Deal::Given, threads: 1 };
        assert_eq!(one.schedule(10, four, 2), Schedule::new(Kind::Dynamic, 12));
        // Two of four threads: two blocks, of whole chunks.
        let two = Choice { deal: Deal::Given, threads: 2 };
        assert_eq!(two.schedule(1001, given, 4), Schedule::new(Kind::Dynamic, 501));
        assert_eq!(two.schedule(1001, four, 4), Schedule::new(Kind::Dynamic, 504));
        assert_eq!(two.schedule(1001, given, 2), given);
        for bad in
            ["dynamic", "dynamic,N/0", "static,4", "static,N/", "given@0", "guided,N/x", "static@65536"]
        {
            assert!(bad.parse::<Choice>().is_err(), "{bad}");
        }
    }
}
