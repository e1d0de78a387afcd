//! What teams, tasks and worksharing ask of recovery, answered (team/recovery.rs says what each is for).

use super::{agent, failure_records, inject, settings, stop, verify};
use crate::sys::environment_reader::Reader;
use crate::team::recovery::Recovery;
use crate::team::thread::Thread;

/// This one.
pub struct Ours;

impl Recovery for Ours {
    /// What leaves signals open in threads that block them (ckpt/interpose/lost.rs) needs their handlers.
    fn begins_with_checkpoints(&self) {
        let _ = stop::install(false);
    }

    fn check_settings(&self, from: &mut Reader) {
        settings::Settings::read(from);
    }

    fn workers_come(&self) {
        stop::install_at_last();
    }

    fn after_fork(&self) {
        agent::after_fork();
        inject::after_fork();
    }

    fn deliver(&self, thr: &'static Thread) {
        stop::deliver(thr);
    }

    fn chunk_begins(&self, thr: &'static Thread) {
        verify::chunk_begins(thr);
    }

    fn chunk_ends(&self, thr: &'static Thread) {
        verify::chunk_ends(thr);
    }

    fn recomputed(&self, failure: u32, by: u32, iterations: u64) {
        failure_records::credit(failure, by, iterations);
    }

    fn chunk_left_behind(&self) -> ! {
        stop::orphans_left_behind()
    }
}
