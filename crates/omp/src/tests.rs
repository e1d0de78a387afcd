//! The core's own tests have nobody above: no failures, no checkpoints.

use super::Composition;
use crate::ckpt::logical_threads::LogicalThread;
use crate::ckpt::runtime::{General, Runtime, WentBack};
use crate::icv::Globals;
use crate::sys::environment_reader::Reader;
use crate::sys::signals::Handler;
use crate::team::recovery::Recovery;
use crate::team::thread::Thread;
use core::ptr::NonNull;

static NOBODY: Composition = Composition { runtime: &Nobody, recovery: &Nobody, start };

fn start(g: &'static Globals) {
    crate::sys::time::start();
    crate::work::tune::start(g);
}

crate::composed!(NOBODY);

struct Nobody;

impl Runtime for Nobody {
    fn general(&self, _from: &mut Reader) -> General {
        General { ft: false, verbose: 0 }
    }
    fn keep(&self) -> bool {
        false
    }
    unsafe fn logical(&self, _address: NonNull<()>) -> &'static dyn LogicalThread {
        unreachable!("no checkpoints")
    }
    fn region(&self) -> u64 {
        0
    }
    fn threads(&self) -> Option<u32> {
        None
    }
    fn begin_with(&self, _threads: u32) {}
    fn crash_handler(&self) -> Handler {
        unreachable!("no checkpoints")
    }
    fn stop_handler(&self) -> Handler {
        unreachable!("no checkpoints")
    }
    fn end_is_recorded(&self) {}
    fn undisturbed(&self, f: &mut dyn FnMut()) {
        f();
    }
    fn ring_agent(&self) {}
    fn agent_again(&self) {}
    fn went_back(&self, _to: &WentBack) {}
}

impl Recovery for Nobody {
    fn begins_with_checkpoints(&self) {}
    fn check_settings(&self, _from: &mut Reader) {}
    fn workers_come(&self) {}
    fn after_fork(&self) {}
    fn deliver(&self, _thr: &'static Thread) {}
    fn chunk_begins(&self, _thr: &'static Thread) {}
    fn chunk_ends(&self, _thr: &'static Thread) {}
    fn recomputed(&self, _failure: u32, _by: u32, _iterations: u64) {}
    fn chunk_left_behind(&self) -> ! {
        unreachable!("nothing is lost")
    }
}
