//! Mappings whose writes are held instead of noted: those that are copied while the program runs (`ckpt/cow/`).

use super::{Run, Tracker, pieces};
use crate::cow::Guard;
use crate::image::Map;
use crate::keeper_crew::Crew;
use crate::ranges;
use core::sync::atomic::{AtomicBool, Ordering::*};

/// Is `m` one of the mappings `held`, in order?
pub(crate) fn is_among(held: &[(usize, usize)], m: &Map) -> bool {
    ranges::meet(held, m.start, m.end)
}

impl Tracker {
    /// What holds writes, unless the system does not let it.
    pub(crate) fn guard(&self) -> Option<&'static Guard> {
        self.guard
    }

    /// Have writes to what is held been held all the time?
    pub(crate) fn is_guarded(&self) -> bool {
        match (&self.uffd, self.guard) {
            (Some(noting), Some(guard)) => guard.is_intact(noting),
            _ => true,
        }
    }

    /// The mappings whose writes are held, in order.
    pub(crate) fn held(&self) -> &[(usize, usize)] {
        &self.held
    }

    /// While nobody can write to them: looks which of `maps` are those whose writes are held. What has been mapped in the place of one since
    /// counts as changed. False if writes to those that are still there may have gone by unheard.
    pub(crate) fn find_held(&mut self, maps: &[Map]) -> bool {
        let (Some(noting), Some(guard)) = (&self.uffd, self.guard) else { return true };
        for to in guard.moved() {
            let m = maps.iter().find(|m| (m.start..m.end).contains(&to));
            m.into_iter().for_each(|m| guard.uffd.unwatch((m.start, m.end)));
        }
        if self.held.is_empty() {
            return true;
        }
        let mut held = Vec::new();
        for m in maps.iter().filter(|m| !m.shared && is_among(&self.held, m)) {
            if noting.watch((m.start, m.end)) {
                // It was nobody's, so that nothing keeps it from being cleared.
                let _ = noting.clear((m.start, m.end));
                self.unwatched.push(m.start);
            } else {
                held.push((m.start, m.end));
            }
        }
        self.held = held;
        guard.hold(&self.held);
        self.is_guarded()
    }

    /// While nobody can write to them: writes to the mappings `chosen`, in order, are held from here on, with those of mappings beside them that the
    /// kernel would make one with them, and so are writes to what has changed (`runs`) in others. Where that cannot be they are noted, from the
    /// next [`Tracker::watch_rest`] on.
    pub(crate) fn hold(&mut self, maps: &[Map], chosen: &[usize], runs: &[Run], crew: &Crew) {
        let (Some(noting), Some(guard)) = (&self.uffd, self.guard) else { return };
        let mut wanted: Vec<bool> = maps.iter().map(|m| is_among(&self.held, m)).collect();
        chosen.iter().for_each(|&i| wanted[i] = true);
        let goes_on = |a: &Map, b: &Map| {
            let anonymous = |m: &Map| m.inode == 0 && !m.shared;
            anonymous(a) && anonymous(b) && a.end == b.start && a.prot == b.prot && a.path == b.path
        };
        for i in (1..maps.len()).chain((1..maps.len()).rev()) {
            if goes_on(&maps[i - 1], &maps[i]) && (wanted[i - 1] || wanted[i]) {
                (wanted[i - 1], wanted[i]) = (true, true);
            }
        }
        let mut held = Vec::new();
        for m in maps.iter().zip(wanted).filter_map(|(m, wanted)| wanted.then_some(m)) {
            let range = (m.start, m.end);
            let new = !is_among(&self.held, m);
            if new {
                noting.hand_over(range);
            }
            let failed = AtomicBool::new(new && !guard.uffd.watch(range));
            if !failed.load(Relaxed) {
                let inside =
                    runs.iter().filter(|r| m.start <= r.start && r.start < m.end && (new || r.changed));
                let pieces: Vec<_> = inside.flat_map(|r| pieces(r.start, r.end)).collect();
                crew.share(pieces.len(), &|i| {
                    failed.fetch_or(guard.uffd.hold(pieces[i]).is_err(), Relaxed);
                });
            }
            self.unwatched.retain(|s| *s != m.start);
            match failed.into_inner() {
                true => {
                    guard.uffd.unwatch(range);
                    self.unwatched.push(m.start);
                }
                false => held.push(range),
            }
        }
        self.held = held;
        guard.hold(&self.held);
    }

    /// While nobody can write to them: writes to what was held of `maps` are noted instead, from here on.
    pub(crate) fn note_held(&mut self, maps: &[Map], crew: &Crew) {
        let released = self.release(maps);
        if let Some(noting) = &self.uffd {
            for &range in &released {
                noting.watch(range);
            }
        }
        self.arm(&released, crew);
    }

    /// While nobody can write to them: writes to what was held of `maps` are not held any more. It is noted from the next [`Tracker::watch`] on; until
    /// then all of it counts as changed.
    pub(crate) fn let_go(&mut self, maps: &[Map]) {
        let released = self.release(maps);
        self.unwatched.extend(released.into_iter().map(|r| r.0));
    }

    /// Those of `maps` that were held are nobody's affair any more; they are returned.
    fn release(&mut self, maps: &[Map]) -> Vec<(usize, usize)> {
        let Some(guard) = self.guard else { return Vec::new() };
        let held = core::mem::take(&mut self.held);
        guard.hold(&[]);
        let mine = maps.iter().filter(|m| !m.shared && is_among(&held, m)).map(|m| (m.start, m.end));
        mine.inspect(|&range| guard.uffd.unwatch(range)).collect()
    }
}
