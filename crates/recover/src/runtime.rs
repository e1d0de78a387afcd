//! What checkpoints ask of the runtime, answered (`ckpt/runtime.rs` says what each is for).

use super::{agent, ending_signals, failure_records, stop};
use crate::ckpt::logical_threads::LogicalThread;
use crate::ckpt::runtime::{General, Runtime, WentBack};
use crate::icv::{globals_if_ready, settings};
use crate::sys::environment_reader::Reader;
use crate::sys::signals::Handler;
use crate::team::hold::hold_off;
use crate::team::region;
use crate::team::thread::{self, Thread};
use core::ptr::NonNull;

/// This one.
pub struct Ours;

impl Runtime for Ours {
    fn general(&self, from: &mut Reader) -> General {
        let settings = settings::Settings::read(from);
        General { ft: settings.ft, verbose: settings.verbose }
    }

    fn keep(&self) -> bool {
        failure_records::keep()
    }

    unsafe fn logical(&self, address: NonNull<()>) -> &'static dyn LogicalThread {
        // SAFETY: by the caller's promise; threads are never freed.
        unsafe { address.cast::<Thread>().as_ref() }
    }

    fn region(&self) -> u64 {
        region::count()
    }

    fn threads(&self) -> Option<u32> {
        globals_if_ready().map(|g| g.initial.get().threads)
    }

    fn begin_with(&self, threads: u32) {
        crate::icv::environment::go_on_with(threads);
    }

    fn crash_handler(&self) -> Handler {
        stop::on_crash
    }

    fn stop_handler(&self) -> Handler {
        stop::on_signal
    }

    fn end_is_recorded(&self) {
        ending_signals::heed();
    }

    fn undisturbed(&self, f: &mut dyn FnMut()) {
        match thread::known() {
            Some(thr) => hold_off(thr, f),
            None => f(),
        }
    }

    fn ring_agent(&self) {
        agent::ring();
    }

    fn agent_again(&self) {
        agent::start_again();
    }

    fn went_back(&self, to: &WentBack) {
        failure_records::went_back((to.generation, to.region, to.lost_ns), to.said);
    }
}
