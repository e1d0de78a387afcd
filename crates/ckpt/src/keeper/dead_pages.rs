//! What a checkpoint leaves out: memory that is dead at the place where all threads stand
//! (ckpt/control/checkpoint_site.rs). Its pages are neither copied nor in the index, so that their slots are
//! free; a rollback or a restart makes them fresh.
//!
//! A page that was left out and has not been written to since is still dead, wherever the next checkpoint
//! is taken: on the way that the program has gone nothing of it was written, so nothing of it will be read
//! before that. So a page that has not changed and is in no index stays out; one that was written to
//! becomes part of the image again. Pages that are left out are not armed: they are about to be written.

use crate::foresee;
use crate::image::{DeadWord, Map, PAGE};
use crate::keep;
use crate::ranges;
use crate::request_protocol::{AWAY, CLAIMED, STANDS};
use crate::seats::Seat;
use crate::settings::Settings;
use crate::sys::door::Door;
use crate::tracker::{self, Run};
use core::sync::atomic::Ordering::*;

/// So many words about what is dead are part of an image.
const WORDS: usize = 1024;

/// Memory: [start, end), in order, apart from each other.
type Ranges = Vec<(usize, usize)>;

/// Where the program is while a checkpoint is tried: threads stand at a place until the attempt is over, and
/// whoever waits for the checkpoint is told once.
#[derive(Default)]
pub(super) struct Standing {
    /// PROMP_CKPT_LIVE, PROMP_CKPT_WHERE=serial.
    live: bool,
    in_serial: bool,
    /// Those that stand.
    seats: Vec<u32>,
    /// Whole pages of what is dead there.
    dead: Ranges,
    /// What was said of it.
    words: Vec<DeadWord>,
    /// Is the initial thread alone in the program, in serial code, while all are frozen?
    alone: bool,
    /// Has the last attempt found something to leave out?
    pub(super) at_place: bool,
    /// Have those been told who waited for this attempt?
    answered: bool,
}

/// The whole pages of what is `dead` and not `live`.
fn whole_pages(dead: Ranges, live: Ranges) -> Ranges {
    let pages =
        |(start, end): (usize, usize)| Some((start.checked_next_multiple_of(PAGE)?, end / PAGE * PAGE));
    let dead = ranges::without(&ranges::ordered(dead), &ranges::ordered(live));
    dead.into_iter().filter_map(pages).filter(|r| r.0 < r.1).collect()
}

impl Standing {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { live: settings.live, in_serial: settings.in_serial, ..Self::default() }
    }

    /// Has the program come to a place for a checkpoint since the last one?
    pub(super) fn has_places(&self) -> bool {
        let k = keep::get();
        (self.live || self.in_serial) && k.place.was_visited_since(k.last.taken_ns.load(Relaxed))
    }

    /// An attempt begins.
    pub(super) fn begins(&mut self) {
        self.answered = false;
    }

    /// Those who asked for a checkpoint go on: it is safe in memory, or there is none.
    pub(super) fn answer(&mut self) {
        let k = keep::get();
        self.answered = true;
        k.place.forget();
        k.asking.answer(|| self.dismiss());
    }

    /// The attempt is over. Who has come since the copy was made waits for the next one.
    pub(super) fn is_over(&mut self) {
        if !self.answered {
            self.answer();
        }
    }

    /// Somebody waits for a checkpoint: do threads stand at a place? They stay until the attempt is over.
    pub(super) fn claim(&mut self, door: &Door) {
        let k = keep::get();
        if !self.live || !k.asking.is_wanted() {
            return;
        }
        let claim = |s: &Seat| s.standing.compare_exchange(STANDS, CLAIMED, SeqCst, SeqCst).is_ok();
        let standing: Vec<&'static Seat> = k.seats.iter().filter(|s| claim(s)).collect();
        let (mut dead, mut live, mut known) = (Vec::new(), Vec::new(), true);
        let mut words = Vec::new();
        for s in &standing {
            let said = s.logical().and_then(|t| t.claims());
            match said.and_then(|said| said.ranges()) {
                Some((d, l)) => {
                    dead.extend(d);
                    live.extend(l);
                }
                None => known = false,
            }
            for (r, name) in said.into_iter().flat_map(|said| said.named()) {
                words.push(word(r, name, said.map_or(0, |said| said.at()), door));
            }
        }
        if known {
            let ahead = foreseen(&standing, door);
            let said = standing.iter().find_map(|s| s.logical().and_then(|t| t.claims()));
            let (name, at) = said.map_or((0, 0), |said| (said.foreseen_name(), said.at()));
            words.extend(ahead.iter().map(|&r| word(r, name, at, door)));
            dead.extend(ahead);
        }
        // Each thread of a team says the same.
        self.words = sorted(words);
        self.dead = if known { whole_pages(dead, live) } else { Vec::new() };
        self.seats = standing.iter().map(|s| k.number(s)).collect();
    }

    /// The threads in `seats` are frozen: is the initial one alone in the program? Can what is dead for
    /// those that stand be left out? Only if all others are idle, and no handler of a signal can have been
    /// in the way. Otherwise nothing is.
    pub(super) fn confirm(&mut self, seats: &[&'static Seat]) {
        let k = keep::get();
        let is_idle = |s: &Seat| s.logical().is_some_and(|t| t.is_worker() && !t.is_at_work());
        let is_in_serial_code = |s: &Seat| {
            let waits = s.standing.load(SeqCst) != AWAY;
            s.initial.load(Relaxed) != 0 && s.logical().is_some_and(|t| t.is_in_serial_code(waits))
        };
        let is_claimed = |s: &Seat| s.standing.load(SeqCst) == CLAIMED;
        let stands = |s: &&'static Seat| is_claimed(s) && self.seats.contains(&k.number(s));
        self.alone = seats.iter().all(|s| is_idle(s) || is_in_serial_code(s));
        let all_stand = seats.iter().all(|s| stands(s) || is_idle(s));
        if !all_stand || k.freeze.handlers.load(Relaxed) != 0 {
            self.dead.clear();
        }
        self.at_place = !self.dead.is_empty();
    }

    /// The attempt is put off: they may go on, and stand there for the next one if they do not.
    pub(super) fn release(&mut self) {
        self.let_go_as(STANDS);
    }

    /// Those that are claimed are not any more. Where memory was put back nobody stands.
    fn let_go_as(&mut self, what: u32) {
        for &n in &self.seats {
            let _ = keep::get().seats[n as usize].standing.compare_exchange(CLAIMED, what, SeqCst, SeqCst);
        }
        (self.seats, self.dead, self.words) = Default::default();
    }

    /// The attempt is over: they go on.
    pub(super) fn dismiss(&mut self) {
        self.let_go_as(AWAY);
    }

    /// Is the initial thread alone in the program, in serial code, while all are frozen?
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whole pages of what is dead where threads stand.
    pub(super) fn dead(&self) -> &Ranges {
        &self.dead
    }

    /// What is left out of `maps`, if they are what the checkpoint is taken of.
    pub(super) fn left_out(&self, maps: &[Map]) -> Ranges {
        if self.dead.is_empty() {
            return Vec::new();
        }
        let private: Ranges = maps.iter().filter(|m| !m.shared).map(|m| (m.start, m.end)).collect();
        ranges::within(&private, &self.dead)
    }

    /// Those of `runs` that are not dead.
    pub(super) fn without_dead(&self, runs: Vec<Run>) -> Vec<Run> {
        tracker::outside(&self.dead, runs)
    }

    /// What was said of memory that the checkpoint does without: now, or earlier (`last`), of what still is.
    pub(super) fn words(&self, dead: &Ranges, last: &[DeadWord]) -> Vec<DeadWord> {
        let all = self.words.iter().chain(last);
        sorted(all.filter(|w| ranges::meet(dead, w.start, w.end)).cloned().collect())
    }
}

/// So many `words` as are part of an image, in order, of the same memory one.
fn sorted(mut words: Vec<DeadWord>) -> Vec<DeadWord> {
    words.sort_by_key(|w| (w.start, w.end));
    words.dedup_by_key(|w| (w.start, w.end));
    words.truncate(WORDS);
    words
}

/// A thread at a place, called from `at`, says that `r` is dead; `name` is what promp-cc says of it, if it
/// does.
fn word(r: (usize, usize), name: usize, at: usize, door: &Door) -> DeadWord {
    let mut text = [0; 512];
    // It may end where its page does.
    let n = text.len().min(PAGE - name % PAGE);
    let read = name != 0 && (door.read(name, &mut text) || door.read(name, &mut text[..n]));
    let mut texts = text.split(|&b| b == 0).map(|t| String::from_utf8_lossy(t).into_owned());
    let mut next = || if read { texts.next().unwrap_or_default() } else { String::new() };
    DeadWord { start: r.0, end: r.1, what: next(), place: next(), at }
}

/// What comes of going ahead, if all that stand say the same program: where their numbers differ they are not
/// known.
fn foreseen(standing: &[&'static Seat], door: &Door) -> Ranges {
    let said = || standing.iter().filter_map(|s| s.logical().and_then(|t| t.claims()));
    let all: Vec<_> = said().filter_map(|s| s.foresight()).collect();
    let Some(first) = all.first().filter(|_| all.len() == standing.len()) else { return Vec::new() };
    if all.iter().any(|f| !core::ptr::eq(f.program, first.program)) {
        return Vec::new();
    }
    let of_all = |k: usize| {
        let n = first.slots[k].get();
        all.iter().all(|f| f.slots[k].get() == n).then_some(n)
    };
    let slots: Vec<Option<u64>> = (0..first.slots.len()).map(of_all).collect();
    let dead = foresee::dead(first.program, &slots, PAGE as i64, &|at, to| door.read(at, to));
    said().for_each(|s| s.has_foreseen(ranges::bytes(&dead) as u64));
    dead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dead_is_whole_pages_without_what_is_live() {
        let p = |n: usize| n * PAGE;
        let dead = vec![(p(20) + 1, p(30)), (p(1), p(10)), (p(5), p(12) + 7), (p(40) + 3, p(41) - 1)];
        let live = vec![(p(25), p(25) + 8), (p(3) - 1, p(3) + 1), (p(11) + 9, p(11) + 10)];
        let want = [(1, 2), (4, 11), (21, 25), (26, 30)].map(|(a, b)| (p(a), p(b)));
        assert_eq!(whole_pages(dead, live), want);
        assert!(whole_pages(vec![(usize::MAX - 5, usize::MAX)], vec![]).is_empty());
    }
}
