//! A program that goes on as the process that it was: with the same number, which programs remember (to find out whether they are a child made by fork, in names of files, in
//! messages to others). Linux lets root, and who has CAP_CHECKPOINT_RESTORE, choose the number of a new process (clone3(2), 5.5); where it does not, or the number is somebody
//! else's, the program has another.

use super::cannot_start;
use crate::Outcome;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// Runs `c` as process `pid`, and ends as it does. As another process: becomes it.
pub fn run(mut c: Command, pid: u32) -> Outcome {
    let Some(child) = Child::start(&mut c, pid, true) else { return Err(cannot_start(&c.exec())) };
    let status = child.wait();
    if let Some(signal) = status.signal() {
        end_by(signal);
    }
    std::process::exit(status.code().unwrap_or(1));
}

/// Runs `c`, as process `pid` if possible, until it ends.
pub fn status(c: &mut Command, pid: Option<u32>) -> io::Result<ExitStatus> {
    match pid.and_then(|pid| Child::start(c, pid, false)) {
        Some(child) => Ok(child.wait()),
        None => c.status(),
    }
}

/// May this process choose the number of a new one?
pub fn may_choose_number() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const CHECKPOINT_RESTORE: u64 = 1 << 40;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let word = status.lines().find_map(|l| l.strip_prefix("CapEff:")).map(str::trim);
    let set = word.and_then(|w| u64::from_str_radix(w, 16).ok()).unwrap_or(0);
    set & (SYS_ADMIN | CHECKPOINT_RESTORE) != 0
}

/// A process made by [`Child::start`]. Signals wait until it has ended: they are for it.
struct Child {
    pid: libc::pid_t,
    mask: libc::sigset_t,
}

impl Child {
    /// Starts `c` as process `pid`. `stands_for_it`: if this process is killed, so is that.
    fn start(c: &mut Command, pid: u32, stands_for_it: bool) -> Option<Self> {
        let set = [pid as libc::pid_t];
        // SAFETY: zeros are a value of these; the kernel reads the arguments. This process has one thread, so its copy can do what it can.
        unsafe {
            let mut all: libc::sigset_t = core::mem::zeroed();
            let mut mask = all;
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &all, &mut mask);
            // Where it is ignored, nobody is told how a child ended.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            let mut how: libc::clone_args = core::mem::zeroed();
            how.exit_signal = libc::SIGCHLD as u64;
            how.set_tid = set.as_ptr().expose_provenance() as u64;
            how.set_tid_size = 1;
            let parent = libc::getpid();
            let r = libc::syscall(libc::SYS_clone3, &raw const how, size_of::<libc::clone_args>());
            if r != 0 {
                let child = Self { pid: r as libc::pid_t, mask };
                return (r > 0).then_some(child).or_else(|| {
                    libc::sigprocmask(libc::SIG_SETMASK, &mask, core::ptr::null_mut());
                    None
                });
            }
            if stands_for_it
                && (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 || libc::getppid() != parent)
            {
                libc::_exit(126);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &mask, core::ptr::null_mut());
            eprintln!("promp: the program cannot be started: {}", c.exec());
            libc::_exit(126);
        }
    }

    /// Waits until it has ended. It gets the signals that this process gets, but for those from the terminal, which it has got itself; this process stops when it
    /// stops.
    fn wait(self) -> ExitStatus {
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
                        libc::sigprocmask(libc::SIG_SETMASK, &self.mask, core::ptr::null_mut());
                        return ExitStatus::from_raw(status);
                    }
                }
                let mut about: libc::siginfo_t = core::mem::zeroed();
                let signal = libc::sigwaitinfo(&all, &mut about);
                if signal > 0 && signal != libc::SIGCHLD && about.si_code <= 0 {
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
        libc::raise(signal);
    }
}
