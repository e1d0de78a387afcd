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

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
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

/// How a program has ended.
pub struct End {
    /// Its status.
    pub status: ExitStatus,
    /// This process has passed a request to end on to it, and it has ended because of that as far as can be
    /// known.
    pub asked: bool,
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
        }
        std::process::exit(self.status.code().unwrap_or(1))
    }
}

/// Runs `c` as process `pid`, if one is given, until it ends. An error of kind `AddrInUse`: there can be no
/// process of that number. `goes_on`: signals after which the program goes on, because a checkpoint is all
/// that is asked for by them.
pub fn run(c: &mut Command, pid: Option<u32>, goes_on: u64) -> io::Result<End> {
    Ok(Child::start(c, pid)?.wait(goes_on))
}

/// The process of the program. This one blocks all signals.
struct Child {
    pid: libc::pid_t,
    /// The mask to go back to.
    mask: libc::sigset_t,
    /// Signals that this process got before the child was there: the terminal has sent them to this one only.
    before: u64,
}

/// The signals that wait for this process.
fn waiting() -> u64 {
    signals_of(0, "ShdPnd:") | signals_of(0, "SigPnd:")
}

/// A new process (fork), with number `pid` if one is given.
///
/// # Safety
/// The process has one thread, so its copy can do what it can.
unsafe fn fork(pid: Option<u32>) -> libc::c_long {
    let set = [pid.unwrap_or(0) as libc::pid_t];
    if pid.is_none() {
        // SAFETY: by the caller's promise.
        return unsafe { libc::fork() }.into();
    }
    // SAFETY: zeros are a value of it; the kernel reads it.
    unsafe {
        let mut how: libc::clone_args = core::mem::zeroed();
        how.exit_signal = libc::SIGCHLD as u64;
        how.set_tid = set.as_ptr().expose_provenance() as u64;
        how.set_tid_size = 1;
        libc::syscall(libc::SYS_clone3, &raw const how, size_of::<libc::clone_args>())
    }
}

impl Child {
    fn start(c: &mut Command, pid: Option<u32>) -> io::Result<Self> {
        // SAFETY: zeros are a value of these; the kernel reads the arguments.
        unsafe {
            let mut all: libc::sigset_t = core::mem::zeroed();
            let mut mask = all;
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &all, &mut mask);
            // Where it is ignored, nobody is told how a child ended.
            let chld = libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            let parent = libc::getpid();
            let r = fork(pid);
            if r < 0 {
                let e = io::Error::last_os_error();
                libc::sigprocmask(libc::SIG_SETMASK, &mask, core::ptr::null_mut());
                return Err(match pid {
                    Some(_) => io::Error::from(io::ErrorKind::AddrInUse),
                    None => e,
                });
            }
            if r > 0 {
                return Ok(Self { pid: r as libc::pid_t, mask, before: waiting() });
            }
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 || libc::getppid() != parent {
                libc::_exit(126);
            }
            libc::signal(libc::SIGCHLD, chld);
            libc::sigprocmask(libc::SIG_SETMASK, &mask, core::ptr::null_mut());
            eprintln!("promp: the program cannot be started: {}", c.exec());
            libc::_exit(126);
        }
    }

    /// Waits until it has ended. It gets the signals that this process gets, but for those from the
    /// terminal, which it has got itself; this process stops when it stops.
    fn wait(self, goes_on: u64) -> End {
        let mut asked: Option<Instant> = None;
        // The program catches or ignores what it was asked by: it goes on for as long as it likes.
        let mut handled = false;
        // SAFETY: zeros are a value of these, and the kernel writes them.
        unsafe {
            let mut all: libc::sigset_t = core::mem::zeroed();
            libc::sigfillset(&mut all);
            loop {
                let mut status = 0;
                match libc::waitpid(self.pid, &mut status, libc::WNOHANG | libc::WUNTRACED) {
                    0 => {}
                    pid if pid == self.pid && libc::WIFSTOPPED(status) => {
                        libc::raise(libc::SIGSTOP);
                        continue;
                    }
                    pid => {
                        // Somebody else has taken its end: it is not known how it was.
                        let status = if pid < 0 { 126 << 8 } else { status };
                        // Those that have come and have not been passed on.
                        let late: Vec<i32> =
                            REQUESTS.into_iter().filter(|s| waiting() & bit(*s) != 0).collect();
                        for signal in &late {
                            let before = libc::signal(*signal, libc::SIG_IGN);
                            libc::signal(*signal, before);
                        }
                        let asked = late.iter().any(|s| bit(*s) & goes_on == 0)
                            || asked.is_some_and(|at| !handled || at.elapsed() < GRACE);
                        libc::sigprocmask(libc::SIG_SETMASK, &self.mask, core::ptr::null_mut());
                        return End { status: ExitStatus::from_raw(status), asked };
                    }
                }
                let mut about: libc::siginfo_t = core::mem::zeroed();
                let signal = libc::sigwaitinfo(&all, &mut about);
                if signal <= 0 || signal == libc::SIGCHLD {
                    continue;
                }
                if REQUESTS.contains(&signal) && bit(signal) & goes_on == 0 {
                    let own = signals_of(self.pid, "SigCgt:") | signals_of(self.pid, "SigIgn:");
                    handled = own & bit(signal) != 0 && (handled || asked.is_none());
                    asked = Some(Instant::now());
                }
                let has_it = about.si_code > 0
                    && bit(signal) & self.before == 0
                    && libc::getpgid(self.pid) == libc::getpgrp();
                if !has_it {
                    libc::kill(self.pid, signal);
                }
            }
        }
    }
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
