//! Which chunks are verified, and what that may take.
//!
//! The threads of a team choose together. Whether a chunk is verified follows from its *name*: the
//! construct's, and the how-manieth it is that its thread takes there. All threads find the same, without a
//! word between them. If each chose by itself, of n threads one would come late to the end of nearly n times
//! as many loops, and the others would wait for it; so all come late together. And each finds the CPU free
//! that it executes its chunk on for a second time, since whose it was has gone to another one, too.
//!
//! Names are mixed with a seed, which is another one in each process: every chunk is chosen with the
//! probability of the share. What all checks may take is bounded by the share, too. Whether a chosen chunk
//! is left out because of that, the first to come decides for all ([`Round`]). Of threads that verify at the
//! same time that one counts which holds the team up longest.
//!
//! Atomics here are relaxed: they decide what is verified, and never what is true of a result. A lost update
//! makes a check too many or too few.

use crate::icv::devices::MILLION;
use crate::sys::random::{Random, mix};
use crate::sys::syscall;
use crate::sys::time::now_ns;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Millionths of the chunks that are verified; 0: off.
static SHARE: AtomicU32 = AtomicU32::new(0);
/// Names below it are chosen.
static BELOW: AtomicU64 = AtomicU64::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);
/// When it began, and what the checks have held the program up since; those on other CPUs among them.
static BEGAN_NS: AtomicU64 = AtomicU64::new(0);
static SPENT_NS: AtomicU64 = AtomicU64::new(0);
static AWAY_NS: AtomicU64 = AtomicU64::new(0);
/// What the way to another CPU and back takes, as a moving mean.
static WAY_NS: AtomicU64 = AtomicU64::new(50_000);

/// What the threads of a team have agreed on for their chunks of one name.
struct Round {
    /// The name, but for the lowest two bits: [`YES`], [`AWAY`].
    word: AtomicU64,
    /// When the last of the first executions was over, so far.
    first_ns: AtomicU64,
    /// What has been counted of it.
    counted_ns: AtomicU64,
}

/// Later ones take the places of earlier ones. Who comes so late that its own is gone decides anew.
static ROUNDS: [Round; 64] = [const { Round::new() }; 64];
/// It is verified.
const YES: u64 = 1;
/// There is time for another CPU, however short the chunk is.
const AWAY: u64 = 2;

/// The names of chunks whose first execution is under way, by CPU.
static BUSY: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Millionths of the chunks that are verified; 0: off.
#[inline(always)]
pub(super) fn share() -> u32 {
    SHARE.load(Relaxed)
}

/// From now on `share` millionths are verified.
pub(super) fn start(share: u32) {
    let now = now_ns();
    SEED.store(mix(now ^ u64::from(std::process::id()) << 40), Relaxed);
    BEGAN_NS.store(now, Relaxed);
    BELOW.store(bound(share), Relaxed);
    SHARE.store(share, Relaxed);
}

fn bound(share: u32) -> u64 {
    if u64::from(share) >= MILLION { u64::MAX } else { u64::MAX / MILLION * u64::from(share) }
}

/// The name of the chunk that is its thread's number `ordinal` in construct `seq` of region `epoch` of `team`
/// (an address).
#[inline]
pub(super) fn name(team: usize, epoch: u64, seq: u64, ordinal: u64) -> u64 {
    mix(mix(SEED.load(Relaxed) ^ team as u64 ^ epoch << 20) ^ seq << 40 ^ ordinal)
}

/// Is it chosen, if there is time?
#[inline]
pub(super) fn is_chosen(name: u64) -> bool {
    name <= BELOW.load(Relaxed)
}

/// What checks may have taken by now. 100 %: whatever they take.
fn allowed_ns() -> u64 {
    let share = share();
    if u64::from(share) >= MILLION {
        return u64::MAX;
    }
    let since = now_ns().saturating_sub(BEGAN_NS.load(Relaxed));
    (since as f64 * f64::from(share) / MILLION as f64) as u64
}

/// A chunk named `name` was chosen: is there time for it, and (within) for another CPU, however short it is?
/// What goes wrong now and then shows on the same CPU as well, and the way to another takes longer than a
/// small chunk. So half of the time is for chunks on other CPUs, whatever the way takes.
pub(super) fn has_time(name: u64) -> Option<bool> {
    let round = Round::of(name);
    let mut now = round.word.load(Relaxed);
    while !is_of(now, name) {
        let allowed = allowed_ns();
        let yes = if SPENT_NS.load(Relaxed) <= allowed { YES } else { 0 };
        let away = if AWAY_NS.load(Relaxed) <= allowed / 2 { AWAY } else { 0 };
        let decided = name & !(YES | AWAY) | yes | away;
        now = match round.word.compare_exchange(now, decided, Relaxed, Relaxed) {
            Ok(_) => {
                round.first_ns.store(0, Relaxed);
                round.counted_ns.store(0, Relaxed);
                decided
            }
            Err(now) => now,
        };
    }
    (now & YES != 0).then_some(now & AWAY != 0)
}

fn is_of(word: u64, name: u64) -> bool {
    (word ^ name) & !(YES | AWAY) == 0
}

impl Round {
    const fn new() -> Self {
        Self { word: AtomicU64::new(0), first_ns: AtomicU64::new(0), counted_ns: AtomicU64::new(0) }
    }

    fn of(name: u64) -> &'static Round {
        &ROUNDS[(name >> 2) as usize % ROUNDS.len()]
    }

    fn is_of(&self, name: u64) -> bool {
        is_of(self.word.load(Relaxed), name)
    }
}

/// A chunk's first execution, which took `ns`, was over at `now`. Is it worth the way to another CPU?
pub(super) fn first_is_over(name: u64, ns: u64, now: u64) -> bool {
    let round = Round::of(name);
    if round.is_of(name) {
        round.first_ns.fetch_max(now, Relaxed);
    }
    ns >= WAY_NS.load(Relaxed)
}

/// A check of a chunk named `name` is over at `now`, whose first execution was over at `first`. `away`: it
/// was on other CPUs. The caches that a thread finds there are another's; for that the way counts twice.
pub(super) fn took(name: u64, first: u64, now: u64, away: bool) {
    let round = Round::of(name);
    let mut ns = now.saturating_sub(first);
    if round.is_of(name) {
        ns = now.saturating_sub(first.max(round.first_ns.load(Relaxed)));
        ns = ns.saturating_sub(round.counted_ns.fetch_max(ns, Relaxed));
    }
    if away && ns > 0 {
        ns += WAY_NS.load(Relaxed);
        AWAY_NS.fetch_add(ns, Relaxed);
    }
    SPENT_NS.fetch_add(ns, Relaxed);
}

/// The way to another CPU and back took `ns`.
pub(super) fn learn_way(ns: u64) {
    WAY_NS.store((7 * WAY_NS.load(Relaxed) + ns) / 8, Relaxed);
}

/// The CPU for the second execution of the chunk named `name`, from `cpu`. Threads of different CPUs are sent
/// to different ones.
pub(super) fn partner(name: u64, cpu: u32, usable: &[u32]) -> Option<u32> {
    let (n, i) = (usable.len(), usable.iter().position(|&c| c == cpu)?);
    let far = 1 + Random::new(name).below(n as u64 - u64::from(n > 1)) as usize;
    (n > 1).then(|| usable[(i + far) % n])
}

/// The first execution of a chunk named `name` begins on `cpu`.
pub(super) fn begins_on(cpu: u32, name: u64) {
    BUSY[cpu as usize % BUSY.len()].store(name, Relaxed);
}

/// It is over there.
pub(super) fn ends_on(cpu: u32, name: u64) {
    let _ = BUSY[cpu as usize % BUSY.len()].compare_exchange(name, 0, Relaxed, Relaxed);
}

/// Waits until nobody executes a chunk named `name` on `cpu` for the first time, but not longer than
/// `most_ns`. Returns for how long. Two threads on one CPU would both take twice as long, with nobody on the
/// other.
pub(super) fn wait_for(cpu: u32, name: u64, most_ns: u64) -> u64 {
    let busy = &BUSY[cpu as usize % BUSY.len()];
    let began = now_ns();
    let mut looks = 0u32;
    let mut waited = 0;
    while busy.load(Relaxed) == name && waited < most_ns {
        looks += 1;
        if looks.is_multiple_of(64) {
            syscall::sched_yield();
        }
        core::hint::spin_loop();
        waited = now_ns() - began;
    }
    waited
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn as_many_are_chosen_as_were_asked_for() {
        for share in [5_000, 50_000, 300_000] {
            let below = bound(share);
            let all = 200_000;
            let chosen = (0..all).filter(|&i| name(0x7000, i / 400, i / 20, i % 20) <= below).count();
            let want = all as f64 * f64::from(share) / MILLION as f64;
            assert!((chosen as f64 - want).abs() < 5.0 * want.sqrt(), "{share}: {chosen} of {want}");
        }
        assert_eq!((bound(0), bound(1_000_000)), (0, u64::MAX));
    }

    #[test]
    fn all_hear_the_same_answer_and_the_longest_counts() {
        // Another test's names would have to meet these by chance. Without a share there is no time at all...
        let (a, b) = (0x1234_5670, 0x9234_5674);
        assert_eq!(has_time(a), Some(true));
        let before = SPENT_NS.load(Relaxed);
        first_is_over(a, 10, 1000);
        first_is_over(a, 10, 1400);
        took(a, 1000, 1900, false); // 500 after the last of the first ones
        assert_eq!(SPENT_NS.load(Relaxed) - before, 500);
        took(a, 1400, 1800, false);
        assert_eq!(SPENT_NS.load(Relaxed) - before, 500, "it was over before");
        took(a, 1400, 2000, false);
        assert_eq!(SPENT_NS.load(Relaxed) - before, 600);
        // ... once some is spent.
        assert_eq!(has_time(b), None);
        assert_eq!(has_time(a), Some(true), "what was decided stays");
    }

    #[test]
    fn who_waits_is_told_or_has_waited_enough() {
        begins_on(1023, 77);
        assert!(wait_for(1023, 77, 1000) >= 1000);
        assert_eq!(wait_for(1023, 78, u64::MAX), 0);
        ends_on(1023, 78);
        assert!(wait_for(1023, 77, 1000) >= 1000, "another's end");
        ends_on(1023, 77);
        assert_eq!(wait_for(1023, 77, u64::MAX), 0);
    }

    proptest! {
        #[test]
        fn no_two_are_sent_to_the_same_cpu(name: u64, cpus in prop::collection::btree_set(0u32..200, 1..20)) {
            let usable: Vec<u32> = cpus.into_iter().collect();
            let mut to: Vec<u32> = usable.iter().filter_map(|&c| partner(name, c, &usable)).collect();
            prop_assert!(usable.len() > 1 || to.is_empty());
            prop_assert!(usable.iter().all(|&c| partner(name, c, &usable) != Some(c)));
            to.sort_unstable();
            prop_assert!(to == usable || usable.len() == 1);
            prop_assert_eq!(partner(name, 999, &usable), None);
        }
    }
}
