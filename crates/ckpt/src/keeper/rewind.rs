//! Going back because somebody asks, without a failure (ckpt/memory/rewind_request.rs): done where nothing
//! has happened since the checkpoint that others could see, or that could not be undone; else the threads go
//! on.

use super::Keeper;
use super::committer::Committer;
use crate::keep::{self, Keep};
use crate::resources::table::Resources;
use crate::rewind_request::{ASKED, NO, REFUSED};
use crate::say;
use crate::sys::{futex, maps, time};
use core::sync::atomic::Ordering::*;
use std::ffi::CString;

/// Why there is no checkpoint, nor a way back.
pub(super) const ABOUT_TO_STOP: &str = "a thread is about to fail";
/// Users hear of it after so many seconds.
const TELL_NS: u64 = 5_000_000_000;

/// What there is to know of it: since the last whole checkpoint.
#[derive(Default)]
pub(super) struct Rewinds {
    /// What the program had written at the attempt of a checkpoint, and at the last whole one.
    trying: Option<u64>,
    whole: Option<u64>,
    /// To that one it has gone back so often, the first time then.
    times: u32,
    since_ns: u64,
    told_ns: u64,
}

impl Rewinds {
    /// A checkpoint is being taken; the threads are frozen.
    pub(super) fn note_written(&mut self) {
        let k = keep::get();
        self.trying = (k.rewind.notes.load(Relaxed) != 0).then(|| written(k)).flatten();
    }

    /// It is whole.
    pub(super) fn whole(&mut self) {
        *self = Self { whole: self.trying, ..Self::default() };
    }

    /// Why it cannot be that nothing has happened since the checkpoint of the committer's.
    fn stands_against(&self, from: &Committer, resources: &mut Resources) -> Option<String> {
        let k = keep::get();
        if k.rewind.point.load(Relaxed) != from.generation {
            return Some("another checkpoint was taken meanwhile".into());
        }
        let against = resources.obstacle().or_else(|| k.journal.no_way_back(from.last.era));
        if against.is_some() {
            return against;
        }
        let others = resources.children.have_ended();
        if others {
            return Some("it has started other processes".into());
        }
        let since = resources.streams.since(from.generation, &from.last, others);
        if let Some(why) = since.lost.or(since.again.into_iter().next()) {
            return Some(why);
        }
        match (self.whole, written(k)) {
            (Some(before), Some(now)) if before == now => None,
            (Some(before), Some(now)) => {
                Some(format!("it has written {} bytes to files or streams", now.saturating_sub(before)))
            }
            _ => Some("nobody can tell whether it writes to files (/proc/self/io)".into()),
        }
    }

    /// It has been gone back at `now`. Says how often, for those who wait.
    fn has_gone_back(&mut self, now: u64, says: bool) {
        self.times += 1;
        if self.times == 1 {
            (self.since_ns, self.told_ns) = (now, now);
        }
        if says && now - self.told_ns >= TELL_NS {
            self.told_ns = now;
            say!(
                "exact: {} executions from one state so far, {:.0} s",
                self.times,
                (now - self.since_ns) as f64 / 1e9
            );
        }
    }
}

impl Keeper {
    /// Goes back to the last checkpoint, as somebody has asked for, or says why not.
    pub(super) fn rewind(&mut self) {
        let k = keep::get();
        let began = time::now_ns();
        let seats = match self.stop_all(began) {
            Ok(seats) => seats,
            Err(why) => return refuse(k, &format!("the threads cannot be stopped: {why}")),
        };
        if k.failed.load(Acquire) > 0 {
            // It is answered first, and goes back further.
            self.freezer.thaw();
            return;
        }
        // One that is about to stop may do so only when the thread that has asked comes to a barrier.
        let stops = seats.iter().any(|s| s.is_about_to_stop());
        let against = match stops {
            true => Some(ABOUT_TO_STOP.into()),
            false => self.rewinds.stands_against(&self.committer, &mut self.resources),
        };
        if let Some(why) = against {
            refuse(k, &why);
            self.freezer.thaw();
            return;
        }
        k.rewind.asked.store(NO, Relaxed);
        self.put_back(&seats, began, &[]).unwrap_or_else(|why| super::restore::stop(&why));
        self.rewinds.has_gone_back(began, self.settings.verbose >= 1);
    }
}

/// Nothing is put back, and whoever has asked goes on.
fn refuse(k: &Keep, why: &str) {
    k.rewind.why.set(why);
    // Release: the reason.
    if k.rewind.asked.compare_exchange(ASKED, REFUSED, Release, Relaxed).is_ok() {
        futex::wake(&k.rewind.asked, 1);
    }
}

/// Bytes that the program has written so far, to whatever it was; the runtime's own hosts left out.
fn written(k: &Keep) -> Option<u64> {
    let by = |whose: &str| {
        let path = CString::new(format!("/proc/self/{whose}io")).ok()?;
        of_io(&String::from_utf8_lossy(&maps::read_file(&path)?))
    };
    let hosts = k.hosts.all();
    let own: u64 = hosts.filter_map(|h| by(&format!("task/{h}/"))).sum();
    Some(by("")?.saturating_sub(own))
}

/// What the kernel's account of reading and writing says was written.
fn of_io(text: &str) -> Option<u64> {
    text.lines().find_map(|l| l.strip_prefix("wchar:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read() {
        assert_eq!(of_io("rchar: 6976\nwchar: 41\nsyscr: 10\n"), Some(41));
        assert_eq!(of_io("rchar: 6976\n"), None);
        assert_eq!(of_io(""), None);
    }
}
