//! How thieves keep out of the way.
//!
//! Each look at a deque takes its lines from the owner, who needs them for the next task; where all who
//! wait looked at all deques all the time, a task of nothing took microseconds with 16 threads. So each
//! looks now and then, the more seldom the more there are, and not at the same time as the others.
//!
//! A thief that finds tasks of nothing, one after the other, keeps away from the deques for a while after
//! each: what it needs for them is the time that their lines, and the deque's, take to come over, and the
//! owner, who waits for those to come back, executes them faster itself once enough are waiting. It comes
//! back soon: a task that waits for what its creator does next is not left where it is.

use crate::sys::own::Own;
use crate::sys::time;

/// When a member that waits looks at deques: every so many rounds.
pub(crate) struct Looks {
    every: u32,
    round: u32,
}

impl Looks {
    /// Those of member `me` of `n`.
    pub(crate) fn of(me: u32, n: u32) -> Self {
        Self { every: (n / 2).max(1), round: me }
    }

    /// Another round: does it look?
    #[inline]
    pub(crate) fn due(&mut self) -> bool {
        self.round += 1;
        if self.round < self.every {
            return false;
        }
        self.round = 0;
        true
    }
}

/// How a thief's thefts pay.
#[derive(Default)]
pub(crate) struct Pace {
    /// Such tasks in a row.
    row: Own<u32>,
    /// When (in clock ticks) it looks at deques again.
    until: Own<u64>,
}

impl Pace {
    /// What a thief needs for a task of nothing, in ticks: up to most of a microsecond.
    const NOTHING: u64 = 2400;
    /// So many in a row make a thief slow.
    const ENOUGH: u32 = 16;
    /// So many times what it has needed it keeps away.
    const PAUSE: u64 = 8;

    /// It has stolen a task and executed it in `ticks`, until `now`.
    pub(crate) fn measured(&self, ticks: u64, now: u64) {
        if ticks >= Self::NOTHING {
            self.row.set(0);
        } else if self.row.get() < Self::ENOUGH {
            self.row.set(self.row.get() + 1);
        } else {
            self.until.set(now + Self::PAUSE * ticks);
        }
    }

    /// Does it keep away now?
    #[inline]
    pub(crate) fn pauses(&self) -> bool {
        let until = self.until.get();
        if until != 0 {
            // A clock that has gone back by more (another machine) does not count.
            if until.wrapping_sub(time::ticks()) <= Self::PAUSE * Self::NOTHING {
                return true;
            }
            self.until.set(0);
        }
        false
    }
}
