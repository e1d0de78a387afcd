//! The schedules of OpenMP's worksharing loops.

use core::fmt;
use core::str::FromStr;

/// How chunks are dealt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// In blocks decided at the start: one a thread, or of the given chunk round robin.
    Static,
    /// First come, first served.
    Dynamic,
    /// As dynamic, a p-th of what is left at a time, not less than the chunk.
    Guided,
}

impl Kind {
    /// Its name in a schedule clause.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Static => "static",
            Kind::Dynamic => "dynamic",
            Kind::Guided => "guided",
        }
    }
}

/// A kind and a chunk. Chunk 0: one block a thread with static, else 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Schedule {
    /// How chunks are dealt.
    pub kind: Kind,
    /// Iterations in a chunk.
    pub chunk: u64,
}

impl Schedule {
    /// One block a thread.
    pub const BLOCKS: Self = Self { kind: Kind::Static, chunk: 0 };

    /// Of this kind, with this chunk.
    pub fn new(kind: Kind, chunk: u64) -> Self {
        Self { kind, chunk }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chunk {
            0 => f.write_str(self.kind.name()),
            n => write!(f, "{},{n}", self.kind.name()),
        }
    }
}

impl FromStr for Schedule {
    type Err = ();

    fn from_str(s: &str) -> Result<Self, ()> {
        let (name, chunk) = match s.split_once(',') {
            Some((name, chunk)) => (name, chunk.parse().map_err(|_| ())?),
            None => (s, 0),
        };
        let kind = [Kind::Static, Kind::Dynamic, Kind::Guided].into_iter().find(|k| k.name() == name);
        Ok(Self { kind: kind.ok_or(())?, chunk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_and_read_as_in_a_clause() {
        for (s, text) in [
            (Schedule::BLOCKS, "static"),
            (Schedule::new(Kind::Static, 4), "static,4"),
            (Schedule::new(Kind::Dynamic, 0), "dynamic"),
            (Schedule::new(Kind::Guided, u64::MAX), "guided,18446744073709551615"),
        ] {
            assert_eq!((s.to_string().as_str(), text.parse()), (text, Ok(s)));
        }
        for bad in ["", "auto", "dynamic,", "dynamic,x", "dynamic,-1", "static,18446744073709551616"] {
            assert!(bad.parse::<Schedule>().is_err(), "{bad}");
        }
    }
}
