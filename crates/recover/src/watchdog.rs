//! The watchdog: threads that hang are found by what they do not do.
//!
//! A thread outside the runtime that has made no call for `limit`, while another member of its team has
//! waited in the runtime for as long, has failed. Each time the same work is taken for hung again, the
//! patience with it doubles, through rollbacks, too: work that takes longer than the limit comes to its
//! end.
//!
//! **Which time counts.** Only time in which the thread could have got on. Time in which nobody could run
//! is nobody's failure: a job that a batch system stops (SIGSTOP, a frozen cgroup), a debugger, a machine
//! that is suspended, CPUs that others have. The agent, a thread like the others, then does not come to its
//! next look in time either, and what it comes too late is not counted; it looks often enough, while
//! somebody is suspected, that short stops are seen, too. A thread that is stopped alone (a debugger)
//! counts nothing; one that computes, or would if it had a CPU, or waits for a page or a disk, counts its CPU
//! time; one that sleeps the clock's, but for what it has waited for a CPU since the last look.
//!
//! What is noted of a thread is the agent's own: it holds for one epoch (rollbacks and restarts begin a new
//! one), and no time of another process gets in.

use super::{inject, spec::Kind};
use crate::ckpt::{self, rollback_limits};
use crate::sys::{futex, maps, time};
use crate::team::registry;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::*;
use std::ffi::CString;

/// While somebody is suspected the agent looks at least this often: shorter stops than this are not noticed.
const FINE_NS: u64 = 10_000_000;

/// What is known of one thread.
struct Seen {
    thread: &'static Thread,
    progress: u32,
    /// Time that counts without progress.
    idle_ns: u64,
    /// What it had used and waited for at the last look, if it was suspected then.
    then: Option<Used>,
    /// How often its work was taken for hung since the last progress.
    patience: u32,
}

/// Of a thread: CPU time, and time in which it was ready and had no CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Used {
    cpu_ns: u64,
    delay_ns: u64,
}

impl Used {
    fn of(tid: u32) -> Self {
        let path = CString::new(format!("/proc/self/task/{tid}/schedstat")).unwrap_or_default();
        let text = maps::read_file(&path).unwrap_or_default();
        Self { cpu_ns: time::of_thread_ns(tid), delay_ns: delay_in(&text) }
    }

    fn since(self, before: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            delay_ns: self.delay_ns.saturating_sub(before.delay_ns),
        }
    }
}

/// The second number of what the kernel tells in `schedstat`; 0 where it does not count that.
fn delay_in(schedstat: &[u8]) -> u64 {
    let text = str::from_utf8(schedstat).unwrap_or("");
    text.split_ascii_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// See the module's text.
pub(crate) struct Watchdog {
    limit_ns: u64,
    threads: Vec<Seen>,
    epoch: u32,
    looked_ns: u64,
    /// When the next look is due.
    due_ns: u64,
}

/// What a thread does: the kernel's letter (proc(5)).
fn state(tid: u32) -> u8 {
    let path = CString::new(format!("/proc/self/task/{tid}/stat")).unwrap_or_default();
    let text = maps::read_file(&path).unwrap_or_default();
    // The name, in parentheses, may hold anything.
    let at = text.iter().rposition(|&b| b == b')').map_or(0, |i| i + 2);
    text.get(at).copied().unwrap_or(b'S')
}

/// How much of `elapsed` counts for a thread in `state` that has `used` so much meanwhile.
fn counts(state: u8, elapsed: u64, used: Used) -> u64 {
    match state {
        b'T' | b't' => 0,
        b'R' | b'D' => used.cpu_ns.min(elapsed),
        _ => elapsed.saturating_sub(used.delay_ns),
    }
}

impl Watchdog {
    /// One with this limit.
    pub(crate) fn new(limit_ns: u64) -> Self {
        let now = time::now_ns();
        let mut w = Self { limit_ns, threads: Vec::new(), epoch: ckpt::epoch(), looked_ns: now, due_ns: 0 };
        w.due_ns = now + w.tick();
        w
    }

    /// Between two looks, while nobody is suspected.
    fn tick(&self) -> u64 {
        (self.limit_ns / 4).max(250_000)
    }

    /// When it wants to look.
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Looks at all threads if it is time.
    pub(crate) fn look(&mut self) {
        let now = time::now_ns();
        if now < self.due_ns {
            return;
        }
        let elapsed = self.due_ns - self.looked_ns;
        let suspects = self.look_after(elapsed);
        self.looked_ns = time::now_ns();
        self.due_ns = self.looked_ns + if suspects { self.tick().min(FINE_NS) } else { self.tick() };
    }

    /// `elapsed` has gone by since the last look in which threads could run. Is somebody suspected?
    fn look_after(&mut self, elapsed: u64) -> bool {
        if self.epoch != ckpt::epoch() {
            self.epoch = ckpt::epoch();
            self.threads.clear();
        }
        let all = registry::threads();
        self.threads.retain(|s| all.iter().any(|t| core::ptr::eq(*t, s.thread)));
        // Teams of which a member has made no progress in the runtime since the last look; those where it
        // has waited for as long as the limit.
        let (mut idle, mut waiting): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut outside: Vec<usize> = Vec::new();
        for t in all {
            let progress = t.progress.load(Relaxed);
            let Some(i) = self.threads.iter().position(|s| core::ptr::eq(s.thread, t)) else {
                self.threads.push(Seen { thread: t, progress, idle_ns: 0, then: None, patience: 0 });
                continue;
            };
            let s = &mut self.threads[i];
            if s.progress != progress {
                *s = Seen { progress, idle_ns: 0, then: None, patience: 0, ..*s };
            } else if t.in_runtime.load(Relaxed) != 0 {
                s.idle_ns += elapsed;
                idle.push(t.seat.0.load(Relaxed));
                if s.idle_ns >= self.limit_ns {
                    waiting.push(t.seat.0.load(Relaxed));
                }
            } else if t.is_in_region() {
                outside.push(i);
            }
        }
        // Nobody waits for the others. (A worker that does not call the runtime in a region shows by that
        // only that its team has got on.)
        outside.retain(|&i| {
            let s = &mut self.threads[i];
            let waited_for = idle.contains(&s.thread.seat.0.load(Relaxed));
            if !waited_for {
                (s.idle_ns, s.then) = (0, None);
            }
            waited_for
        });
        for &i in &outside {
            let s = &mut self.threads[i];
            let tid = s.thread.host.load(Relaxed);
            let now = Used::of(tid);
            if let Some(then) = s.then.replace(now) {
                s.idle_ns += counts(state(tid), elapsed, now.since(then));
            }
        }
        let hangs = rollback_limits::hangs();
        for &i in &outside {
            let s = &mut self.threads[i];
            let enough = self.limit_ns.saturating_mul(1 << s.patience.max(hangs).min(20));
            if s.idle_ns >= enough && waiting.contains(&s.thread.seat.0.load(Relaxed)) {
                (s.idle_ns, s.patience) = (0, s.patience + 1);
                fail(s.thread);
            }
        }
        !outside.is_empty()
    }
}

/// The thread has failed.
fn fail(t: &'static Thread) {
    let injected = inject::state(t).hanging().load(Relaxed);
    if !injected {
        rollback_limits::note_hang();
        inject::state(t).hangs_by_itself().store(true, Relaxed);
    }
    inject::state(t).fence().store(1, Release);
    futex::wake(inject::state(t).fence(), 1);
    // One that hangs already has only to be let go on to fail; of two stops, the second finds nobody.
    if !injected {
        inject::send(t, Kind::Hang);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_in_which_a_thread_could_run() {
        for (state, cpu_ns, delay_ns, want) in [
            (b'T', 9, 0, 0),
            (b't', 0, 0, 0),
            (b'R', 3, 7, 3),
            (b'R', 30, 0, 10),
            (b'S', 0, 0, 10),
            (b'S', 1, 8, 2),
            (b'S', 0, 80, 0),
            (b'D', 1, 0, 1),
        ] {
            assert_eq!(counts(state, 10, Used { cpu_ns, delay_ns }), want, "{} {delay_ns}", state as char);
        }
        let before = Used { cpu_ns: 5, delay_ns: 9 };
        let after = Used { cpu_ns: 8, delay_ns: 3 };
        assert_eq!(after.since(before), Used { cpu_ns: 3, delay_ns: 0 }, "another host");
    }

    #[test]
    fn the_time_that_a_thread_has_waited_for_a_cpu() {
        assert_eq!(delay_in(b"96127 1832 7\n"), 1832);
        assert_eq!((delay_in(b""), delay_in(b"0 0 0\n"), delay_in(b"1 x")), (0, 0, 0));
        assert!(Used::of(crate::sys::syscall::gettid()).cpu_ns > 0);
    }

    #[test]
    fn the_state_of_a_thread() {
        let me = crate::sys::syscall::gettid();
        assert_eq!(state(me), b'R');
        let (to, from) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            to.send(crate::sys::syscall::gettid()).expect("the receiver is there");
            let _ = wait.recv();
        });
        let tid = from.recv().expect("its id");
        while state(tid) != b'S' {
            std::thread::yield_now();
        }
        drop(end);
        other.join().expect("it ends");
    }
}
