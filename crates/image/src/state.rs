//! `DIR/state`: a page of words that the running program, the next process after its death, and the `promp`
//! command share. The runtime has it mapped.

/// How many there are.
pub const WORDS: usize = 512;
/// Where a process that takes checkpoints has them.
pub const MAPPED_AT: usize = 0x1010_0000_0000;
/// Not 0: the program has ended by itself.
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
/// Why there was none: text, ended by a zero byte.
pub const WHY: core::ops::Range<usize> = 408..440;

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
