//! The program as a child of `promp`: with a number of its own choosing, never left behind, told of every
//! signal.
//!
//! Programs remember the number of their process (to find out whether they are a child made by fork, in
//! names of files, in messages to others). Linux lets root, and who has CAP_CHECKPOINT_RESTORE, choose the
//! number of a new process (clone3(2), 5.5); where it does not, or the number is somebody else's, the
//! program has another.
//!
//! From before the child is made until it has ended this process blocks all signals and takes them one by
//! one: what it gets, the child gets. If this process is killed, the kernel kills the child
//! (PR_SET_PDEATHSIG); a parent that has died before the child could ask for that is noticed by its number.
//! Whom the child has started, the guard kills (orphans.rs).
//!
//! The process that has the checkpoints may be a descendant of the child: a script's program. Then it gets
//! the signals of `--on-signal`, too, and what else the child has ended by; and this process, to which the
//! kernel gives those whose parents have ended (PR_SET_CHILD_SUBREAPER), does not end before it has.

use super::cut::{self, Cut};
use super::left_record::LeftRecord;
use super::orphans::Guard;
use crate::{checkpoint, inheritance, process_stat, steps};
use promp_image::run_record::{self, Started};
use promp_settings::internal::RUN;
use std::cell::Cell;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Signals by which somebody asks a program to end. Its death afterwards is no failure.
pub const REQUESTS: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];
/// A program that handles such a request may take that long to end, and still ends because of it.
const GRACE: Duration = Duration::from_secs(120);

/// May this process choose the number of a new one?
pub fn may_choose_number() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const CHECKPOINT_RESTORE: u64 = 1 << 40;
    signals_of(0, "CapEff:") & (SYS_ADMIN | CHECKPOINT_RESTORE) != 0
}

/// Has process `pid` been killed, or ended, though its number is not free yet? (PF_EXITING is among the
/// flags, the seventh field behind the name.)
pub fn is_ending(pid: u32) -> bool {
    const EXITING: u64 = 4;
    let Some(fields) = process_stat::fields(pid) else { return false };
    let flags = fields.get(6).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
    process_stat::has_ended(&fields) || flags & EXITING != 0
}

/// A set that /proc tells of process `pid` (0: this one).
fn signals_of(pid: libc::pid_t, name: &str) -> u64 {
    let whose = if pid == 0 { "self".into() } else { pid.to_string() };
    let status = std::fs::read_to_string(format!("/proc/{whose}/status")).unwrap_or_default();
    let word = status.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
    word.and_then(|w| u64::from_str_radix(w, 16).ok()).unwrap_or(0)
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// What a program is run under.
#[derive(Clone, Copy, Default)]
pub struct Terms<'a> {
    /// Where the checkpoints are.
    pub dir: Option<&'a Path>,
    /// The run, of a program that begins (`crates/image/src/run_record.rs`); its process is not known yet.
    pub run: Option<Started<'a>>,
    /// Signals after which the program goes on, because a checkpoint is all that is asked for by them.
    pub goes_on: u64,
    /// Signals after which it ends with a checkpoint.
    pub ends: u64,
    /// Is it a script of steps, below the directory (`promp run --steps`)?
    pub(crate) steps: bool,
    /// What is done when it has ended.
    pub(crate) at_end: Option<&'a dyn Fn(&End)>,
}

/// How a program has ended.
pub struct End {
    /// Its status.
    pub status: ExitStatus,
    /// This process has passed a request to end on to it, and it has ended because of that as far as can be
    /// known.
    pub asked: bool,
    /// The requests (a set) that were handled, if it has ended by an exit behind them.
    pub(crate) on_request: u64,
    /// The status by which it has ended by itself, as its end record says.
    pub(super) recorded: Option<i32>,
    /// A signal of [`Terms::ends`] has come, or a step of a script was asked to end with a checkpoint.
    pub(crate) to_go_on: bool,
}

impl End {
    /// The signal that killed the program, if that was a failure: nobody has asked it to end.
    pub fn failure(&self) -> Option<i32> {
        self.status.signal().filter(|s| !self.asked && !REQUESTS.contains(s) && *s != libc::SIGPIPE)
    }

    /// Ends this process as the program has.
    pub fn follow(&self) -> ! {
        if let Some(signal) = self.status.signal() {
            end_by(signal);
            // Number 1 of a container cannot end by a signal: shells say it so.
            std::process::exit(128 + signal);
        }
        std::process::exit(self.status.code().unwrap_or(1))
    }
}

/// Runs `c` as process `pid`, if one is given, until it ends. An error of kind `AlreadyExists`: there is one
/// of that number.
pub fn run(c: &mut Command, pid: Option<u32>, terms: Terms) -> io::Result<End> {
    let record = LeftRecord::before(&terms);
    Ok(Child::start(c, pid, &terms)?.wait(&terms, &record))
}

/// The process of the program. This one blocks all signals.
struct Child {
    pid: libc::pid_t,
    /// The mask to go back to.
    mask: libc::sigset_t,
    /// Signals that this process got before the child was there: the terminal has sent them to this one only.
    before: u64,
    guard: Option<Guard>,
    /// [`End::to_go_on`].
    to_go_on: Cell<bool>,
}

/// The signals that wait for this process.
fn waiting() -> u64 {
    signals_of(0, "ShdPnd:") | signals_of(0, "SigPnd:")
}

/// A new process (fork), with number `pid` if one is given; by `signal` its end is told of.
///
/// # Safety
/// The process has one thread, so its copy can do what it can.
pub(super) unsafe fn fork(pid: Option<u32>, signal: i32) -> libc::c_long {
    let set = [pid.unwrap_or(0) as libc::pid_t];
    if pid.is_none() && signal == libc::SIGCHLD {
        // SAFETY: by the caller's promise.
        return unsafe { libc::fork() }.into();
    }
    // SAFETY: zeros are a value of it; the kernel reads it.
    unsafe {
        let mut how: libc::clone_args = core::mem::zeroed();
        how.exit_signal = signal as u64;
        how.set_tid = pid.map_or(0, |_| set.as_ptr().expose_provenance() as u64);
        how.set_tid_size = pid.iter().len() as u64;
        libc::syscall(libc::SYS_clone3, &raw const how, size_of::<libc::clone_args>())
    }
}

impl Child {
    fn start(c: &mut Command, pid: Option<u32>, terms: &Terms) -> io::Result<Self> {
        // SAFETY: zeros are a value of these; the kernel reads the arguments.
        unsafe {
            let mut all: libc::sigset_t = core::mem::zeroed();
            let mut mask = all;
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &all, &mut mask);
            // Where it is ignored, nobody is told how a child ended.
            let chld = libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            let parent = libc::getpid();
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
            let guard = Guard::start(terms.dir);
            directories(terms).iter().for_each(|dir| checkpoint::asks_to_end(dir, None));
            let r = fork(pid, libc::SIGCHLD);
            if r < 0 {
                let e = io::Error::last_os_error();
                libc::sigprocmask(libc::SIG_SETMASK, &mask, core::ptr::null_mut());
                return Err(e);
            }
            if r > 0 {
                let (pid, before) = (r as libc::pid_t, waiting());
                return Ok(Self { pid, mask, before, guard, to_go_on: Cell::new(false) });
            }
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 || libc::getppid() != parent {
                libc::_exit(126);
            }
            libc::signal(libc::SIGCHLD, chld);
            if let Some(run) = terms.run {
                c.env(RUN.name, run.child(libc::getpid() as u32).value());
            }
            libc::sigprocmask(libc::SIG_SETMASK, &mask, core::ptr::null_mut());
            eprintln!("promp: the program cannot be started: {}", inheritance::exec(c));
            libc::_exit(126);
        }
    }

    /// Waits until it has ended, and who has the checkpoints. It gets the signals that this process gets, but
    /// for those from the terminal, which it has got itself; this process stops when it stops.
    fn wait(self, terms: &Terms, record: &LeftRecord) -> End {
        let mut asked: Option<(i32, Instant)> = None;
        // The program catches or ignores what it was asked by: it goes on for as long as it likes.
        let (mut handled, mut caught) = (false, 0);
        let mut cut: Option<Cut> = None;
        let status = loop {
            match reaped() {
                Some((pid, status)) if pid == self.pid && libc::WIFSTOPPED(status) => {
                    // SAFETY: plain call.
                    unsafe { libc::raise(libc::SIGSTOP) };
                    continue;
                }
                Some((pid, status)) if pid == self.pid => break Some(status),
                // One that has lost its parent.
                Some((pid, _)) if pid > 0 => continue,
                // Somebody else has taken its end: it is not known how it was.
                Some(_) => break None,
                None => {}
            }
            let Some(about) = self.next_signal(cut.is_some().then_some(LOOK), terms) else {
                cut.iter_mut().for_each(|c| c.look(!self.owners(terms).is_empty(), terms.dir));
                continue;
            };
            let signal = about.si_signo;
            if cut::is_told(&about) {
                cut.get_or_insert_default();
            }
            if REQUESTS.contains(&signal) && bit(signal) & terms.goes_on == 0 {
                let [catches, ignores] =
                    ["SigCgt:", "SigIgn:"].map(|set| signals_of(self.pid, set) & bit(signal));
                handled = catches | ignores != 0 && (handled || asked.is_none());
                caught |= catches;
                asked = Some((signal, Instant::now()));
                note_request(terms, ignores != 0);
            }
            if !self.has_it(self.pid, &about) {
                // SAFETY: our own child, which has not been waited for.
                unsafe { libc::kill(self.pid, signal) };
            }
            if bit(signal) & (terms.goes_on | terms.ends) != 0 || cut::is_told(&about) {
                self.tell(&self.owners(terms), &about);
            }
        };
        // Those that have come and have not been passed on.
        let late: Vec<i32> = REQUESTS.into_iter().filter(|s| waiting() & bit(*s) != 0).collect();
        let by_late = late.iter().copied().find(|s| bit(*s) & terms.goes_on == 0);
        let by_asked = asked.filter(|(_, at)| !handled || at.elapsed() < GRACE).map(|(signal, _)| signal);
        let asked = by_late.or(by_asked);
        self.await_owners(terms, by_asked);
        // SAFETY (both): plain calls; a mask that the kernel has given.
        for signal in &late {
            unsafe { libc::signal(*signal, libc::signal(*signal, libc::SIG_IGN)) };
        }
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.mask, core::ptr::null_mut()) };
        let known = status.map(ExitStatus::from_raw);
        let recorded = known.and_then(|status| record.agreed(status));
        let status = known.unwrap_or(ExitStatus::from_raw(126 << 8));
        let on_request = by_asked.and(status.code()).map_or(0, |_| caught);
        End { status, asked: asked.is_some(), on_request, recorded, to_go_on: self.to_go_on.get() }
    }

    /// Has process `pid` got this signal already, from the terminal?
    fn has_it(&self, pid: libc::pid_t, about: &libc::siginfo_t) -> bool {
        // SAFETY: plain calls.
        let group = unsafe { libc::getpgid(pid) == libc::getpgrp() };
        about.si_code > 0 && bit(about.si_signo) & self.before == 0 && group
    }

    /// Passes a signal on to those of the owners that have not got it already.
    fn tell(&self, owners: &[libc::pid_t], about: &libc::siginfo_t) {
        let others = owners.iter().filter(|pid| !self.has_it(**pid, about));
        others.for_each(|pid| send_on(*pid, about.si_signo));
    }

    /// The child has ended: waits until the processes that have the checkpoints have. They get the request by
    /// which the child has ended, unless they have got it already, and all signals that come from now on.
    fn await_owners(&self, terms: &Terms, request: Option<i32>) {
        let mut owners = self.owners(terms);
        if let Some(signal) = request.filter(|s| bit(*s) & terms.ends == 0) {
            owners.iter().for_each(|pid| send_on(*pid, signal));
        }
        while !owners.is_empty() {
            let come = self.next_signal(Some(LOOK), terms);
            if let Some(about) = come.filter(|about| !cut::is_told(about)) {
                self.tell(&owners, &about);
            }
            owners = self.owners(terms);
        }
        while reaped().is_some_and(|(pid, _)| pid > 0) {}
        if let Some(signal) = request {
            self.end_others(signal, terms);
        }
    }

    /// Asks those to end, too, that have lost their parents (its siblings, say): nobody is left behind by who
    /// was asked to end. What it gets meanwhile they get, but for the guard.
    fn end_others(&self, mut signal: i32, terms: &Terms) {
        let (since, mut told) = (Instant::now(), Vec::new());
        let guard = self.guard.as_ref().map(|g| g.pid);
        let left = || -> Vec<libc::pid_t> {
            let own = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
            own.split_whitespace().filter_map(|n| n.parse().ok()).filter(|n| Some(*n) != guard).collect()
        };
        loop {
            while reaped().is_some_and(|(pid, _)| pid > 0) {}
            let now = left();
            if now.is_empty() || since.elapsed() > GRACE {
                return;
            }
            for pid in now.into_iter().filter(|pid| !told.contains(pid)).collect::<Vec<_>>() {
                // SAFETY: a child, which has not been waited for.
                unsafe { libc::kill(pid, signal) };
                told.push(pid);
            }
            if let Some(about) = self.next_signal(Some(LOOK), terms) {
                signal = about.si_signo;
                told.clear();
            }
        }
    }

    /// Takes the next signal, as [`next_signal`] does.
    fn next_signal(&self, limit: Option<Duration>, terms: &Terms) -> Option<libc::siginfo_t> {
        let about = next_signal(limit)?;
        let ends = bit(about.si_signo) & terms.ends != 0 || cut::is_told(&about);
        self.to_go_on.set(self.to_go_on.get() || ends);
        Some(about)
    }

    /// The descendants, other than the child, that have checkpoints now: one, or steps.
    fn owners(&self, terms: &Terms) -> Vec<libc::pid_t> {
        let number = |dir: PathBuf| std::fs::read_to_string(dir.join("lock")).ok()?.trim().parse().ok();
        directories(terms).into_iter().filter_map(number).filter(|pid| self.is_descendant(*pid)).collect()
    }

    /// Is process `pid` a descendant of this one that has not ended, and not the child?
    fn is_descendant(&self, pid: libc::pid_t) -> bool {
        let own = std::process::id() as libc::pid_t;
        let parent = |pid: &libc::pid_t| {
            let fields = process_stat::fields(pid).filter(|f| !process_stat::has_ended(f))?;
            fields.get(1)?.parse().ok().filter(|p| *p > 1)
        };
        pid != self.pid && std::iter::successors(Some(pid), parent).skip(1).any(|p| p == own)
    }
}

/// Where checkpoints of the child or its descendants are.
fn directories(terms: &Terms) -> Vec<PathBuf> {
    let Some(dir) = terms.dir else { return Vec::new() };
    if !terms.steps {
        return vec![dir.to_path_buf()];
    }
    let places = std::fs::read_dir(dir.join(steps::FOLDER)).into_iter().flatten().flatten();
    places.map(|e| e.path()).collect()
}

/// It is about to get a request to end, which it may ignore.
fn note_request(terms: &Terms, ignored: bool) {
    let all = directories(terms).into_iter().filter(|_| !ignored);
    all.for_each(|dir| checkpoint::asks_to_end(&dir, Some(GRACE)));
}

/// So long it takes at most until it is seen that a process has ended that is not a child.
const LOOK: Duration = Duration::from_millis(50);

/// What a child has come to, if one has: its number (negative: there is none), and its status.
fn reaped() -> Option<(libc::pid_t, i32)> {
    let mut status = 0;
    // SAFETY: the kernel writes the status.
    let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | libc::WUNTRACED) };
    (pid != 0).then_some((pid, status))
}

/// Takes the next signal, all of which are blocked. None: a child has changed, or none has come in time.
fn next_signal(limit: Option<Duration>) -> Option<libc::siginfo_t> {
    // SAFETY: zeros are a value of these, and the kernel writes them.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&mut all);
        let mut about: libc::siginfo_t = core::mem::zeroed();
        let signal = match limit {
            None => libc::sigwaitinfo(&all, &mut about),
            Some(limit) => {
                let limit = libc::timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
                libc::sigtimedwait(&all, &mut about, &limit)
            }
        };
        (signal > 0 && signal != libc::SIGCHLD).then_some(about)
    }
}

/// Passes a signal on to a process that is not the child, as its parent would: one that has it already, from
/// somebody who has sent it to all, is asked once.
fn send_on(pid: libc::pid_t, signal: i32) {
    let value = libc::sigval { sival_ptr: core::ptr::without_provenance_mut(run_record::PASSED_ON) };
    // SAFETY: plain call.
    unsafe { libc::sigqueue(pid, signal, value) };
}

/// Ends this process by a signal.
fn end_by(signal: i32) {
    // SAFETY: plain calls; without a second core dump.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        let mut set: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, core::ptr::null_mut());
        libc::raise(signal);
    }
}
