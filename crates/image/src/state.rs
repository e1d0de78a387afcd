//! `DIR/state`: a page of words that the running program, the next process after its death, and the `promp`
//! command share. The runtime has it mapped.

use crate::open_if_there;
use crate::run_record::Run;
use core::sync::atomic::{AtomicU64, Ordering::*};
use std::fs::File;
use std::path::Path;

/// How many there are.
pub const WORDS: usize = 512;
/// Where a process that takes checkpoints has them.
pub const MAPPED_AT: usize = 0x1010_0000_0000;
/// Not 0: the program has ended by itself; 1 more than its status. From bit 32: the signal by which somebody
/// else has ended the process since. From bit 40: the set of signals, up to 24, that the runtime took in
/// the program's place then.
pub const ENDED: usize = 0;
/// How often each fault of PROMP_FAULT has struck.
pub const FAULTS: core::ops::Range<usize> = 1..400;
/// Rollbacks and restarts so far.
pub const EPOCH: usize = 400;
/// Number of the last request for a checkpoint from outside; whoever asks adds 1, under the file's lock.
pub const REQUEST: usize = 401;
/// What is to be done after it: see [`Then`].
pub const THEN: usize = 402;
/// The request that was answered last.
pub const ANSWERED: usize = 403;
/// The generation that it led to; 0: none.
pub const GENERATION: usize = 404;
/// [`standing`]: the process stands still in the loader until its first checkpoint is whole, and the program
/// has done nothing that others could see.
const STANDS_AT_LOAD: usize = 405;
/// Until then (CLOCK_MONOTONIC, ns) the process may be about to end by a request that it handles. Whoever
/// went on from a checkpoint of that time would end again, so none is taken that nobody asks for.
pub const ASKED_TO_END: usize = 406;
/// Why there was none: text, ended by a zero byte.
pub const WHY: core::ops::Range<usize> = 408..440;

fn standing(nonce: &str) -> u64 {
    crate::sum(nonce.as_bytes()) | 1
}

/// The process stands in the loader, started by the run with this number; none: it goes on.
pub fn stand_at_load(state: &[AtomicU64; WORDS], nonce: Option<&str>) {
    state[STANDS_AT_LOAD].store(nonce.map_or(0, standing), Release);
}

/// Does the process that run `run` has started in directory `dir` stand there?
pub fn stands_at_load(dir: &Path, run: &Run) -> bool {
    use std::os::unix::fs::FileExt;
    let mut word = [0; 8];
    let read = |file: File| file.read_exact_at(&mut word, 8 * STANDS_AT_LOAD as u64).is_ok();
    open_if_there(dir, "state").ok().flatten().is_some_and(read)
        && u64::from_le_bytes(word) == standing(&run.nonce)
}

/// What a program does after a checkpoint that was asked for from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Then {
    /// It goes on.
    GoOn = 0,
    /// It ends, with status [`EXIT_STATUS`].
    Exit = 1,
    /// It stops, as by SIGSTOP.
    Stop = 2,
}

impl Then {
    /// From its word.
    pub fn of(word: u64) -> Self {
        match word {
            1 => Self::Exit,
            2 => Self::Stop,
            _ => Self::GoOn,
        }
    }
}

/// With this status a program ends that was asked for a checkpoint and to end.
pub const EXIT_STATUS: i32 = 85;

/// The signal that makes a process look for a request: the one that freezes its threads for checkpoints.
pub fn bell() -> i32 {
    libc::SIGRTMAX() - 4
}
