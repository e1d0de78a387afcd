//! Places (crates/ckpt/src/control/request_protocol.rs): threads stand for a checkpoint, the keeper claims
//! them, copies, and lets them go. Whoever has stood at a visit finds a copy that was made since the visit
//! began, and whoever was not alone finds one that was made while all stood.

use crate::request_protocol::{AWAY, Asking, CLAIMED, STANDS};
use crate::sys::futex;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::*};
use loom::thread;

const MOST: usize = 2;

#[derive(Default)]
struct World {
    asking: Asking,
    bell: AtomicU32,
    standing: [AtomicU32; MOST],
    /// The visit at which a thread is; those that have gone home.
    visit: [AtomicU32; MOST],
    home: AtomicU32,
    /// The last visit of a thread that is in a copy; that it was claimed at.
    copied: [AtomicU32; MOST],
    claimed: [AtomicU32; MOST],
}

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut b = loom::model::Builder::new();
    b.preemption_bound = Some(preemptions);
    b.check(f);
}

impl World {
    fn ring(&self) {
        self.bell.fetch_add(1, Release);
        futex::wake(&self.bell, 1);
    }

    /// Thread `i` comes to its `visits` places, at each of which a checkpoint is due.
    fn program(&self, i: usize, threads: usize, visits: u32) {
        for visit in 1..=visits {
            self.visit[i].store(visit, SeqCst);
            let here = || self.standing[..threads].iter().filter(|s| s.load(SeqCst) == STANDS).count();
            let team = (threads as u32, u64::MAX);
            self.asking.stand(|| &self.standing[i], here, team, || true, || self.ring());
            assert!(self.copied[i].load(SeqCst) >= visit, "nothing was copied since visit {visit} began");
            assert_eq!(self.claimed[i].load(SeqCst), visit, "visit {visit} was not stood for");
        }
        self.home.fetch_add(1, SeqCst);
        self.ring();
    }

    /// The keeper takes what is asked for until all have gone home. `answer`: how it ends an attempt.
    fn keeper(&self, threads: usize, answer: impl Fn(&World, &[usize])) {
        loop {
            let bell = self.bell.load(Acquire);
            if self.asking.is_wanted() {
                let claim =
                    |i: &usize| self.standing[*i].compare_exchange(STANDS, CLAIMED, SeqCst, SeqCst).is_ok();
                let claimed: Vec<usize> = (0..threads).filter(claim).collect();
                for i in 0..threads {
                    self.copied[i].store(self.visit[i].load(SeqCst), SeqCst);
                }
                if claimed.len() == threads {
                    claimed.iter().for_each(|&i| self.claimed[i].store(self.copied[i].load(SeqCst), SeqCst));
                }
                answer(self, &claimed);
                continue;
            }
            if self.home.load(SeqCst) as usize == threads {
                return;
            }
            futex::wait(&self.bell, bell);
        }
    }

    fn let_go(&self, claimed: &[usize]) {
        for &i in claimed {
            let _ = self.standing[i].compare_exchange(CLAIMED, AWAY, SeqCst, SeqCst);
        }
    }
}

fn places(
    threads: usize,
    visits: u32,
    preemptions: usize,
    answer: impl Fn(&World, &[usize]) + Copy + Sync + Send + 'static,
) {
    model(preemptions, move || {
        let w = Arc::new(World::default());
        let all: Vec<_> = (0..threads)
            .map(|i| {
                let v = w.clone();
                thread::spawn(move || v.program(i, threads, visits))
            })
            .collect();
        w.keeper(threads, answer);
        for t in all {
            t.join().unwrap();
        }
    });
}

fn ours(w: &World, claimed: &[usize]) {
    w.asking.answer(|| w.let_go(claimed));
}

/// Those who stood were let go first, and the attempt was over then: what they asked for at their next visit
/// in between was taken for answered.
#[test]
#[should_panic(expected = "nothing was copied since visit 2 began")]
fn let_go_before_the_attempt_is_over_a_request_is_lost() {
    places(1, 2, 3, |w, claimed| {
        w.let_go(claimed);
        w.asking.answer(|| ());
    });
}

#[test]
fn a_thread_in_serial_code_is_answered_at_each_visit() {
    places(1, 2, 3, ours);
}

/// Each of both may be the one that finds that all stand, or both are.
#[test]
fn a_team_stands_together_at_each_visit() {
    places(2, 2, 2, ours);
}
