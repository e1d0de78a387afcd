//! Locks, critical and atomic constructs, and the merging of reductions, as the tool's callbacks have them.

use super::abi::{call, mutex, scope, state, sync};
use super::tell::Me;
use crate::observe::event::{Event, Mutex};

fn kind_of_lock(m: Mutex, test: bool) -> u32 {
    match (m, test) {
        (Mutex::Lock, false) => mutex::LOCK,
        (Mutex::Lock, true) => mutex::TEST_LOCK,
        (Mutex::Nest, false) => mutex::NEST_LOCK,
        (Mutex::Nest, true) => mutex::TEST_NEST_LOCK,
        (Mutex::Critical, _) => mutex::CRITICAL,
        (Mutex::Atomic | Mutex::Reduction, _) => mutex::ATOMIC,
        (Mutex::Ordered, _) => mutex::ORDERED,
    }
}

pub(super) fn state_of_lock(m: Mutex) -> u32 {
    match m {
        Mutex::Lock | Mutex::Nest => state::WAIT_LOCK,
        Mutex::Critical => state::WAIT_CRITICAL,
        Mutex::Atomic | Mutex::Reduction => state::WAIT_ATOMIC,
        Mutex::Ordered => state::WAIT_ORDERED,
    }
}

impl Me {
    /// An event of a lock.
    pub(super) fn tell_of_lock(self, event: &Event) {
        match *event {
            Event::LockInit { mutex, at } => {
                self.calls(|site| call::lock_init(kind_of_lock(mutex, false), 0, 0, at, site));
            }
            Event::LockDestroy { mutex, at } => {
                self.calls(|site| call::lock_destroy(kind_of_lock(mutex, false), at, site));
            }
            Event::LockWait { mutex: Mutex::Reduction, .. } => {}
            Event::LockGot { mutex: Mutex::Reduction, .. } => self.reduction(scope::BEGIN),
            Event::LockGive { mutex: Mutex::Reduction, .. } => self.reduction(scope::END),
            Event::LockWait { mutex, at, test } => {
                self.info.tests.set(test);
                self.calls(|site| call::mutex_acquire(kind_of_lock(mutex, test), 0, 0, at, site));
            }
            Event::LockGot { mutex, at } => {
                let kind = kind_of_lock(mutex, self.info.tests.get());
                self.calls(|site| call::mutex_acquired(kind, at, site));
            }
            Event::LockGive { mutex, at } => {
                self.calls(|site| call::mutex_released(kind_of_lock(mutex, false), at, site));
            }
            Event::LockNest { at, more, test } => {
                if more {
                    // It was asked for like any other.
                    let kind = kind_of_lock(Mutex::Nest, test);
                    self.calls(|site| call::mutex_acquire(kind, 0, 0, at, site));
                }
                self.calls(|site| call::nest_lock(if more { scope::BEGIN } else { scope::END }, at, site));
            }
            _ => {}
        }
    }

    fn reduction(self, endpoint: u32) {
        let (region, task) = self.words();
        self.calls(|site| call::reduction(sync::REDUCTION, endpoint, region, task, site));
        if endpoint == scope::BEGIN {
            self.info.enter(state::WORK_REDUCTION);
        } else {
            self.info.leave();
        }
    }
}
