//! The checkpoint protocol: the published one, whose two holes these models show, and ours (crates/ckpt/src/keeper/mod.rs, seats.rs).
//!
//! Both have CKPT_Started and CKPT_Counter. A thread is a small program of steps on shared data; a checkpoint is right if the
//! data it holds are what the threads' saved positions say: a thread saved before its writes has written nothing, one
//! saved after the first has written that one.

use crate::sys::futex;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::*, fence};
use loom::thread;

const WORKERS: usize = 2;
/// Added to the barrier's word by the signal: a sleep that is about to begin does not.
const SIGNALLED: u32 = 100;

/// What the threads share.
#[derive(Default)]
struct World {
    started: AtomicU32,
    counter: AtomicU32,
    /// Lets frozen threads go (ours: the order in a seat).
    go: AtomicU32,
    /// The program's data: two words a worker.
    data: [[AtomicU32; 2]; WORKERS],
    /// The position at which a worker was saved.
    saved: [AtomicU32; WORKERS],
    /// The program's barrier.
    arrived: AtomicU32,
}

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut b = loom::model::Builder::new();
    b.preemption_bound = Some(preemptions);
    b.check(f);
}

/// The snapshot that the master has copied against the saved positions.
fn consistent(w: &World, snapshot: &[[u32; 2]], workers: usize) {
    for (i, s) in snapshot.iter().enumerate().take(workers) {
        let position = w.saved[i].load(SeqCst);
        assert_eq!(
            *s,
            [u32::from(position >= 1), u32::from(position >= 2)],
            "worker {i} saved at {position}"
        );
    }
}

fn copy(w: &World) -> [[u32; 2]; WORKERS] {
    core::array::from_fn(|i| core::array::from_fn(|k| w.data[i][k].load(Acquire)))
}

/// P3: at its point a worker that sees Started saves itself and counts down; before its next write it waits for
/// Counter = 0 — not for the master's copy.
fn literal_worker(w: &World, i: usize) {
    if w.started.load(Acquire) == 1 {
        w.saved[i].store(0, SeqCst);
        w.counter.fetch_sub(1, AcqRel);
        while w.counter.load(Acquire) != 0 {
            thread::yield_now();
        }
    }
    w.data[i][0].store(1, Release);
    w.data[i][1].store(1, Release);
}

/// The first hole: the worker writes while the master still copies, so the checkpoint mixes old and new.
#[test]
#[should_panic(expected = "saved at 0")]
fn the_published_protocol_mixes_old_and_new_data() {
    model(3, || {
        let w = Arc::new(World::default());
        // Started is set by the first thread at its point: here before the worker reaches its own.
        w.counter.store(2, Relaxed);
        w.started.store(1, Release);
        let v = w.clone();
        let worker = thread::spawn(move || literal_worker(&v, 0));
        w.counter.fetch_sub(1, AcqRel);
        while w.counter.load(Acquire) != 0 {
            thread::yield_now();
        }
        let snapshot = copy(&w);
        w.started.store(0, Release);
        worker.join().unwrap();
        consistent(&w, &snapshot, 1);
    });
}

/// The second hole: a thread that passed its point just before Started was set waits in a barrier for the master, and the
/// master waits for it. (The waits are states here, not loops: when both are waited in, nobody is left to end either.)
#[test]
#[should_panic(expected = "each waits for the other")]
fn the_published_protocol_deadlocks_with_a_barrier() {
    model(3, || {
        let w = Arc::new(World::default());
        let v = w.clone();
        let worker = thread::spawn(move || {
            if v.started.load(Acquire) == 1 {
                v.counter.fetch_sub(1, AcqRel);
            }
            // From here on it waits in the barrier, which is no point, until two have arrived.
            v.arrived.fetch_add(1, AcqRel);
        });
        w.counter.store(2, Relaxed);
        w.started.store(1, Release);
        w.counter.fetch_sub(1, AcqRel);
        worker.join().unwrap();
        // The master waits for Counter = 0 before it goes to the barrier.
        let (master_waits, worker_waits) = (w.counter.load(Acquire) != 0, w.arrived.load(Acquire) < 2);
        assert!(!(master_waits && worker_waits), "each waits for the other");
    });
}

/// Ours: the freeze signal can find a thread before any of its steps and in any wait. It notes its position, counts down
/// and waits until it is let go.
fn maybe_frozen(w: &World, i: usize, position: u32, done: &mut bool) {
    if !*done && w.started.load(Acquire) == 1 {
        *done = true;
        w.saved[i].store(position, SeqCst);
        w.counter.fetch_sub(1, AcqRel);
        futex::wake(&w.counter, 1);
        while w.go.load(Acquire) == 0 {
            futex::wait(&w.go, 0);
        }
    }
}

fn our_worker(w: &World, i: usize, members: u32) {
    let mut done = false;
    maybe_frozen(w, i, 0, &mut done);
    w.data[i][0].store(1, Release);
    maybe_frozen(w, i, 1, &mut done);
    w.data[i][1].store(1, Release);
    maybe_frozen(w, i, 2, &mut done);
    w.arrived.fetch_add(1, AcqRel);
    futex::wake(&w.arrived, u32::MAX);
    loop {
        let n = w.arrived.load(Acquire);
        if n % SIGNALLED >= members {
            break;
        }
        maybe_frozen(w, i, 2, &mut done);
        // The signal ends this sleep too.
        futex::wait(&w.arrived, n);
    }
    // A thread that is sent the signal always comes to it: at the latest here, where it waits for what is next.
    while w.started.load(Acquire) == 0 && !done && w.go.load(Acquire) == 0 {
        futex::wait(&w.started, 0);
    }
    maybe_frozen(w, i, 2, &mut done);
}

fn ours(workers: usize, preemptions: usize) {
    model(preemptions, move || {
        let w = Arc::new(World::default());
        let threads: Vec<_> = (0..workers)
            .map(|i| {
                let v = w.clone();
                thread::spawn(move || our_worker(&v, i, workers as u32))
            })
            .collect();
        w.counter.store(workers as u32, Relaxed);
        w.started.store(1, Release);
        // The signal: whatever sleeps wakes up and looks.
        futex::wake(&w.started, u32::MAX);
        w.arrived.fetch_add(SIGNALLED, AcqRel);
        futex::wake(&w.arrived, u32::MAX);
        loop {
            let left = w.counter.load(Acquire);
            if left == 0 {
                break;
            }
            futex::wait(&w.counter, left);
        }
        let snapshot = copy(&w);
        w.go.store(1, Release);
        futex::wake(&w.go, u32::MAX);
        consistent(&w, &snapshot, workers);
        for t in threads {
            t.join().unwrap();
        }
    });
}

#[test]
fn our_protocol_with_two_threads() {
    ours(1, 3);
}

#[test]
fn our_protocol_with_three_threads() {
    ours(2, 2);
}

/// A host that is being replaced (`transition_begins`) and a freeze that starts (`Freezer::freeze`): at most one goes on.
#[test]
fn a_freeze_and_a_replacement_exclude_each_other() {
    model(4, || {
        let w = Arc::new((AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)));
        let v = w.clone();
        let failing = thread::spawn(move || {
            let (started, transitions, busy) = (&v.0, &v.1, &v.2);
            transitions.fetch_add(1, SeqCst);
            fence(SeqCst);
            if started.load(SeqCst) == 0 {
                assert_eq!(busy.fetch_add(1, AcqRel), 0);
                busy.fetch_sub(1, AcqRel);
            }
            transitions.fetch_sub(1, SeqCst);
        });
        let (started, transitions, busy) = (&w.0, &w.1, &w.2);
        started.store(1, SeqCst);
        fence(SeqCst);
        if transitions.load(SeqCst) == 0 {
            assert_eq!(busy.fetch_add(1, AcqRel), 0);
            busy.fetch_sub(1, AcqRel);
        }
        started.store(0, SeqCst);
        failing.join().unwrap();
    });
}

/// States of a seat, and orders to it (crates/ckpt/src/freeze/seats.rs).
const RUNNING: u32 = 0;
const FROZEN: u32 = 1;
const HELD: u32 = 2;
const GO: u32 = 1;

#[derive(Default)]
struct OneSeat {
    started: AtomicU32,
    /// Changes when there are orders.
    orders: AtomicU32,
    state: AtomicU32,
    order: AtomicU32,
    /// Times the host has gone on.
    gone_on: AtomicU32,
}

impl OneSeat {
    /// The handler, entered for a signal that may be an old one.
    fn freeze(&self) {
        if self.started.load(Acquire) == 0 {
            return;
        }
        self.order.store(0, Relaxed);
        self.state.store(FROZEN, Release);
        fence(SeqCst); // the locked countdown
        loop {
            let before = self.orders.load(Acquire);
            if self.order.load(Acquire) == GO {
                break;
            }
            if self.started.load(SeqCst) == 0
                && self.state.compare_exchange(FROZEN, RUNNING, AcqRel, Relaxed).is_ok()
            {
                break;
            }
            futex::wait(&self.orders, before);
        }
        self.gone_on.fetch_add(1, AcqRel);
    }

    fn hold(&self) -> bool {
        self.state.compare_exchange(FROZEN, HELD, AcqRel, Acquire).is_ok() || self.state.load(Relaxed) == HELD
    }

    fn thaw(&self) {
        self.started.store(0, SeqCst);
        fence(SeqCst);
        if self.hold() {
            self.state.store(RUNNING, Relaxed);
            self.order.store(GO, Release);
        }
        self.orders.fetch_add(1, Release);
        futex::wake(&self.orders, u32::MAX);
    }
}

/// A freeze that is given up, and another one after it, with a host that answers the first signal late: it always goes on, and
/// never runs while it is held.
#[test]
fn a_late_host_is_neither_forgotten_nor_held_while_it_runs() {
    model(4, || {
        let seat = Arc::new(OneSeat::default());
        let s = seat.clone();
        let host = thread::spawn(move || {
            s.freeze();
            s.freeze();
        });
        // Given up at once.
        seat.started.store(1, SeqCst);
        seat.thaw();
        // The next one: what is held does not run.
        seat.started.store(1, SeqCst);
        if seat.hold() {
            let before = seat.gone_on.load(Acquire);
            thread::yield_now();
            assert_eq!(before, seat.gone_on.load(Acquire), "it runs and is held");
        }
        seat.thaw();
        host.join().unwrap();
    });
}
