//! PROMP_EVENTS=count: how often what happened. For those who add an event, and for the tests that hold the
//! events against the specification. At exit it prints a line for each row of the table that was told, with
//! its sorts.

use crate::observe::event::{Row, Set};
use crate::observe::{self, Listener, Told};
use crate::say;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// By row, and by sort or, for rows without, at 0. Nothing is ordered by them.
static COUNTS: [[AtomicU64; SORTS]; Row::ALL.len()] =
    [const { [const { AtomicU64::new(0) }; SORTS] }; Row::ALL.len()];
const SORTS: usize = 8;

/// Starts to count if the setting says so.
pub(crate) fn start(asked: bool) {
    if !asked {
        return;
    }
    // Not those that are told in handlers of signals.
    let wants = Set::ALL.without(Set::of(&[Row::Failure, Row::Recovery]));
    observe::register(Listener { wants, told });
    // SAFETY: the handler lives as long as the process.
    unsafe { libc::atexit(print) };
}

fn told(t: &Told) {
    let sort = t.event.sort().unwrap_or(0);
    COUNTS[t.event.row() as usize][usize::from(sort)].fetch_add(1, Relaxed);
}

extern "C" fn print() {
    for (row, counts) in Row::ALL.iter().zip(&COUNTS) {
        for (i, n) in counts.iter().map(|n| n.load(Relaxed)).enumerate().filter(|&(_, n)| n > 0) {
            let (name, sort) = (row.name(), row.sorts().get(i).copied().unwrap_or(""));
            say!("event {name}{}{sort}: {n}", if sort.is_empty() { "" } else { " " });
        }
    }
}
