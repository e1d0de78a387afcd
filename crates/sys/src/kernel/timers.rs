//! POSIX timers (timer_create): what the kernel tells of them, and how one is made again under its number. It
//! sends an expiration to the host that a timer was made for, so when a thread changes hosts its timers are
//! made anew for the new one, with the time that was left, and what has expired meanwhile is sent. So are
//! those that count its CPU time, which goes on on the new host (sys/kernel/cpu_time.rs); the kernel has to
//! have been asked for them by the host's number, or it does not say whose time they count.
//!
//! Since Linux 6.15 a process can ask for a timer's number. Before, a timer cannot follow its thread.

use crate::pending_signals::{self, Info};
use crate::sys;
use crate::syscall::gettid;
use crate::{cpu_time, lock::Lock, maps, time};

/// To whom its expirations are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To nobody.
    Nobody,
    /// To the process.
    Process,
    /// To this host.
    Host(u32),
}

/// A timer. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Its number.
    pub id: i32,
    /// Its clock.
    pub clock: i32,
    /// The signal, and the value that comes with it.
    pub signal: i32,
    /// See above.
    pub value: u64,
    /// Who gets it.
    pub to: To,
    /// Until it expires; 0: it does not.
    pub left: u64,
    /// From then on.
    pub interval: u64,
    /// Expirations beyond the one that was delivered last.
    pub overrun: i32,
}

/// Held where a timer is made, set or asked for, and while one is made again: nobody finds it half done. With
/// all signals blocked.
pub static LOCK: Lock = Lock::new();

/// `struct itimerspec`: interval and time left.
type Spec = [i64; 4];

fn spec(left: u64, interval: u64) -> Spec {
    let [a, b, c, d] =
        [interval / 1_000_000_000, interval % 1_000_000_000, left / 1_000_000_000, left % 1_000_000_000];
    [a, b, c, d].map(|n| n as i64)
}

/// Time left and interval.
fn of_spec(s: Spec) -> (u64, u64) {
    let ns = |s: i64, n: i64| s as u64 * 1_000_000_000 + n as u64;
    (ns(s[2], s[3]), ns(s[0], s[1]))
}

impl Timer {
    /// Does it send to this host, or count its CPU time?
    pub fn is_of(&self, host: u32) -> bool {
        self.to == To::Host(host) || cpu_time::thread_of(self.clock) == Some(host)
    }

    /// What counts for it: CPU time, or the time that goes by.
    fn now(&self) -> u64 {
        if cpu_time::is_of_cpu(self.clock) { time::of_clock(self.clock) } else { time::now_ns() }
    }

    /// Reads how much is left.
    fn look(&mut self) -> bool {
        let mut s: Spec = [0; 4];
        // SAFETY: the kernel writes four words.
        let ok = unsafe { sys!(libc::SYS_timer_gettime, self.id, s.as_mut_ptr()) } == 0;
        (self.left, self.interval) = of_spec(s);
        // SAFETY: no pointers.
        self.overrun = unsafe { sys!(libc::SYS_timer_getoverrun, self.id) }.max(0) as i32;
        ok
    }

    /// Sets it. `how`: 0, or TIMER_ABSTIME.
    fn set(&self, how: i32, s: Spec) -> bool {
        // SAFETY: the kernel reads four words.
        unsafe { sys!(libc::SYS_timer_settime, self.id, how, s.as_ptr(), 0) == 0 }
    }

    /// Starts it with the time that is left.
    fn start(&self) -> bool {
        self.left == 0 || self.set(0, spec(self.left, self.interval))
    }

    /// Starts it so that it expires at `due` (0: never), by what counts for it, however late that is: the
    /// kernel counts what has expired since.
    fn start_due(&self, due: u64) -> bool {
        let (absolute, now) = (libc::TIMER_ABSTIME, self.now());
        match due {
            0 => true,
            _ if cpu_time::is_of_cpu(self.clock) || self.clock == libc::CLOCK_MONOTONIC => {
                self.set(absolute, spec(due, self.interval))
            }
            // By a clock that somebody may set, which does not matter to time that is left.
            _ if due > now => self.set(0, spec(due - now, self.interval)),
            _ => {
                let then = time::of_clock(self.clock).saturating_sub(now - due).max(1);
                self.set(absolute, spec(then, self.interval))
            }
        }
    }

    /// Stops it, and reads how much was left.
    fn stop(&mut self) {
        let (none, mut s) = (spec(0, 0), [0; 4]);
        // SAFETY: the kernel reads and writes four words.
        unsafe { sys!(libc::SYS_timer_settime, self.id, 0, none.as_ptr(), s.as_mut_ptr()) };
        (self.left, self.interval) = of_spec(s);
    }

    /// Makes it, under its number, and starts it. Only while nobody else makes one.
    pub fn make(&self) -> bool {
        self.exists() && self.start()
    }

    /// Makes it, without starting it.
    fn exists(&self) -> bool {
        let (notify, host) = match self.to {
            To::Nobody => (libc::SIGEV_NONE, 0),
            To::Process => (libc::SIGEV_SIGNAL, 0),
            To::Host(tid) => (libc::SIGEV_THREAD_ID, tid),
        };
        let mut event = [0u64; 8];
        event[0] = self.value;
        event[1] = u64::from(self.signal as u32) | u64::from(notify as u32) << 32;
        event[2] = u64::from(host);
        let mut id = self.id;
        // SAFETY: the kernel reads a sigevent and a number, and writes that.
        let made = unsafe {
            numbers(ASKED_FOR);
            let r = sys!(libc::SYS_timer_create, self.clock, event.as_ptr(), &raw mut id);
            numbers(FOUND);
            r
        };
        made == 0 && id == self.id
    }

    /// Its signal, as the kernel describes it.
    fn letter(&self, overrun: i32) -> Info {
        let mut info: Info = [0; 16];
        info[0] = u64::from(self.signal as u32);
        info[1] = u64::from(libc::SI_TIMER as u32);
        info[2] = u64::from(self.id as u32) | u64::from(overrun as u32) << 32;
        info[3] = self.value;
        info
    }

    /// The expirations beyond one that a signal of this timer's tells of; `None`: it is another one's.
    fn told_by(&self, info: &Info) -> Option<i32> {
        let its =
            info[0] as i32 == self.signal && info[1] as i32 == libc::SI_TIMER && info[2] as i32 == self.id;
        its.then_some((info[2] >> 32) as i32)
    }
}

const NUMBERS: usize = 77; // PR_TIMER_CREATE_RESTORE_IDS
const FOUND: usize = 0;
const ASKED_FOR: usize = 1;
const WHICH: usize = 2;

fn numbers(how: usize) -> isize {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_prctl, NUMBERS, how, 0, 0, 0, 0) }
}

/// Can one be made again under its number?
pub fn can_be_made_again() -> bool {
    numbers(WHICH) >= 0
}

/// Removes the timer with this number.
pub fn remove(id: i32) {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_timer_delete, id) };
}

/// All of the process' timers.
pub fn all() -> Vec<Timer> {
    let text = maps::read_file(c"/proc/self/timers").unwrap_or_default();
    let mut all = read(&String::from_utf8_lossy(&text));
    all.retain_mut(Timer::look);
    all
}

/// What the kernel says of all timers.
fn read(text: &str) -> Vec<Timer> {
    let mut all: Vec<Timer> = Vec::new();
    for (key, value) in text.lines().filter_map(|l| l.split_once(':')) {
        let value = value.trim();
        let number = value.parse().unwrap_or(0);
        if key == "ID" {
            all.push(Timer {
                id: number,
                clock: 0,
                signal: 0,
                value: 0,
                to: To::Nobody,
                left: 0,
                interval: 0,
                overrun: 0,
            });
        }
        let Some(t) = all.last_mut() else { continue };
        match key {
            "signal" => {
                let (signal, with) = value.split_once('/').unwrap_or((value, "0"));
                t.signal = signal.parse().unwrap_or(0);
                t.value = u64::from_str_radix(with.trim_start_matches("0x"), 16).unwrap_or(0);
            }
            "notify" => {
                t.to = match (value.starts_with("signal"), value.split_once("/tid.")) {
                    (_, Some((_, tid))) => To::Host(tid.parse().unwrap_or(0)),
                    (true, None) => To::Process,
                    _ => To::Nobody,
                }
            }
            "ClockID" => t.clock = number,
            _ => {}
        }
    }
    all
}

/// What a host leaves to the one that takes its thread over.
#[derive(Default)]
pub struct Left {
    /// With when each is due, by what counts for it; 0: it does not expire, or goes by the host's CPU time.
    timers: Vec<(Timer, u64)>,
    /// What waited for the process, or is due: a timer that is stopped takes it back.
    signals: Vec<Info>,
    host: u32,
}

/// How often it is looked whether none has expired since its signals were taken.
const LOOKS: usize = 100;

/// Two system calls take less, unless the host has lost its CPU.
const AT_ONCE_NS: u64 = 100_000;

/// The calling host, which blocks all signals, is to be replaced: takes the signals that wait for it but for
/// those in `ours`, and stops the timers that are its. If it has any nobody gets at timers until
/// [`Left::arrives`] has been called.
pub fn leaves(ours: u64) -> (Vec<Info>, Left) {
    let host = gettid();
    let mine = |t: &Timer| t.is_of(host);
    if !all().iter().any(mine) {
        return (pending_signals::take(ours), Left::default());
    }
    LOCK.lock();
    let mut timers: Vec<Timer> = all().into_iter().filter(mine).collect();
    let look = |timers: &mut [Timer]| -> Vec<u64> { timers.iter_mut().map(looked_at).collect() };
    let (mut signals, mut shared) = (Vec::new(), Vec::new());
    let to_process = |t: &&Timer| t.to == To::Process;
    let of_process = timers.iter().filter(to_process).fold(0, |set, t| set | pending_signals::bit(t.signal));
    let mut dues = look(&mut timers);
    for _ in 0..LOOKS {
        signals.extend(pending_signals::take(ours));
        shared.extend(pending_signals::take_of_process(of_process));
        let before = core::mem::replace(&mut dues, look(&mut timers));
        if timers.iter().zip(before.iter().zip(&dues)).all(|(t, (b, d))| expired(t.interval, *b, *d) == 0) {
            break;
        }
    }
    let mut stopped = Vec::new();
    for (mut t, due) in timers.into_iter().zip(dues) {
        let own = if t.to == To::Process { &mut shared } else { &mut signals };
        if let Some(told) = own.iter().filter_map(|s| t.told_by(s)).next_back() {
            t.overrun = told;
        }
        t.stop();
        // What has expired since is not delivered any more: it is due on the new host, which is late; but for
        // one whose clock begins anew there.
        if cpu_time::thread_of(t.clock) != Some(host) {
            stopped.push((t, due));
            continue;
        }
        let now = time::of_clock(t.clock);
        if let n @ 1.. = expired(t.interval, due, if t.left == 0 { 0 } else { now + t.left }) {
            t.overrun = (n - 1).min(i32::MAX as u64) as i32;
            own.push(t.letter(t.overrun));
        }
        stopped.push((t, 0));
    }
    (signals, Left { timers: stopped, signals: shared, host })
}

/// The same for a host that has ended: what had been sent to it is lost. None counted its CPU time.
pub fn left_by(host: u32) -> Left {
    let its = |t: &Timer| t.to == To::Host(host);
    if !all().iter().any(its) {
        return Left::default();
    }
    LOCK.lock();
    let stopped = |mut t: Timer| {
        let due = looked_at(&mut t);
        t.stop();
        (t, due)
    };
    Left { timers: all().into_iter().filter(its).map(stopped).collect(), signals: Vec::new(), host }
}

/// When a timer expires, by what counts for it, of which is known how much was left at `at`; 0: it does not.
fn due(t: &Timer, at: u64) -> u64 {
    if t.left == 0 { 0 } else { at + t.left }
}

/// Reads how much is left, and says when it expires. A host that loses its CPU in between looks again.
fn looked_at(t: &mut Timer) -> u64 {
    let mut at = t.now();
    for _ in 0..LOOKS {
        t.look();
        let then = core::mem::replace(&mut at, t.now());
        if at - then < AT_ONCE_NS {
            return due(t, then);
        }
    }
    due(t, at)
}

/// How often a timer has expired that was due at `before` and is due at `now`.
fn expired(interval: u64, before: u64, now: u64) -> u64 {
    match (before, now) {
        (0, _) => 0,
        (_, 0) => 1,
        (b, n) if interval != 0 => (n.saturating_sub(b) + interval / 2) / interval,
        _ => 0,
    }
}

impl Left {
    /// The calling host is the thread's now: its timers send to it. What becomes of each is told to `made`.
    pub fn arrives(&self, made: impl Fn(&Timer)) -> bool {
        if self.timers.is_empty() {
            return true;
        }
        let mut all = true;
        for (t, due) in &self.timers {
            // The thread's own time stood still.
            let by_own = cpu_time::thread_of(t.clock) == Some(self.host);
            let to = if t.to == To::Host(self.host) { To::Host(gettid()) } else { t.to };
            let clock = if by_own { time::clock_of_thread(gettid()) } else { t.clock };
            remove(t.id);
            let mut again = Timer { to, clock, ..*t };
            all &= again.exists() && if by_own { again.start() } else { again.start_due(*due) };
            if *due != 0 {
                again.left = due.saturating_sub(t.now()).max(1);
            }
            made(&again);
        }
        pending_signals::give_process(&self.signals);
        LOCK.unlock();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_read_as_the_kernel_writes_them() {
        let text = "ID: 0\nsignal: 39/000000000000002a\nnotify: signal/tid.71\nClockID: 1\n\
                    ID: 3\nsignal: 14/0000000000000000\nnotify: signal/pid.72\nClockID: 0\n\
                    ID: 5\nsignal: 0/0000000000000000\nnotify: none/pid.73\nClockID: -6\n";
        let t = read(text);
        assert_eq!(t.iter().map(|t| t.to).collect::<Vec<_>>(), [To::Host(71), To::Process, To::Nobody]);
        assert_eq!(t.iter().map(|t| (t.id, t.clock)).collect::<Vec<_>>(), [(0, 1), (3, 0), (5, -6)]);
        assert_eq!((t[0].signal, t[0].value), (39, 42));
    }

    #[test]
    fn what_has_expired_meanwhile() {
        assert_eq!([expired(0, 0, 0), expired(0, 50, 50), expired(0, 50, 0)], [0, 0, 1]);
        assert_eq!([expired(10, 50, 51), expired(10, 50, 61), expired(10, 50, 79)], [0, 1, 3]);
    }

    #[test]
    fn follows_to_another_host() {
        if !can_be_made_again() {
            println!("SKIPPED: the kernel gives no numbers to timers");
            return;
        }
        let (id, left) = std::thread::spawn(|| {
            crate::signals::block_all();
            let signal = libc::SIGRTMIN() + 1;
            let to = To::Host(gettid());
            let t = Timer {
                id: 4711,
                clock: 1,
                signal,
                value: 9,
                to,
                left: 1,
                interval: 60_000_000_000,
                overrun: 0,
            };
            assert!(t.make());
            while pending_signals::of_host(gettid(), 0) == 0 {
                crate::syscall::sched_yield();
            }
            let (signals, left) = leaves(0);
            assert_eq!(signals.iter().map(|s| t.told_by(s)).collect::<Vec<_>>(), [Some(0)]);
            (t.id, left)
        })
        .join()
        .expect("the host");
        let there = std::thread::spawn(move || {
            assert!(left.arrives(|_| {}));
            let t = all().into_iter().find(|t| t.id == id).expect("it is there");
            remove(id);
            (t.to == To::Host(gettid()), t.value, t.left)
        });
        let (its, value, left) = there.join().expect("the other host");
        assert!(its && value == 9 && (1..=60_000_000_000).contains(&left), "{its} {value} {left}");
    }
}
