//! How the members of a team meet at its barriers (meet.rs).

use crate::observe;
use crate::observe::event::Set;

/// How many meet at a team's barriers, as far as ways differ, and whether that is told: one word for both, so
/// that a barrier which nobody looks at asks nothing more.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum Way {
    /// There is one member.
    #[default]
    Alone,
    /// Two tell each other.
    Pair,
    /// More.
    Several,
    /// As many as there are, and somebody listens.
    Told,
}

impl Way {
    /// That of a team of `n`.
    pub fn of(n: u32) -> Self {
        if observe::wants(Set::SYNC) { Self::Told } else { Self::by_number(n) }
    }

    pub(super) fn by_number(n: u32) -> Self {
        match n {
            0 | 1 => Self::Alone,
            2 => Self::Pair,
            _ => Self::Several,
        }
    }
}
