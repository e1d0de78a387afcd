//! `promp restart`, and running a program again and again until it ends by itself.

mod same_process;

use crate::{Failure, Outcome, args};
use promp_image::{Directory, Generation, Word, fit};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;

const REFUSED: u8 = 71;
const NONE_YET: &str = "holds no checkpoint: the program died before its first one was complete. Start it again from its beginning, if \
                        what it did before may be done twice.";

/// Continues the program from its last whole checkpoint.
pub fn restart(r: &args::Restart) -> Outcome {
    let (c, pid) = command(&r.dir)?;
    match r.auto_restart {
        Some(n) => supervise(c, Some(pid), &r.dir, n),
        None => same_process::run(c, pid),
    }
}

fn cannot_start(e: &std::io::Error) -> Failure {
    Failure::new(126, format!("the program cannot be started: {e}"))
}

fn refused(why: impl std::fmt::Display) -> Failure {
    Failure::new(REFUSED, format!("restart refused: {why}"))
}

/// The command that makes a process go on from the newest whole generation in `dir`, and the number that the process had.
fn command(dir: &Path) -> Result<(Command, u32), Failure> {
    let d = Directory::open(dir).map_err(refused)?;
    if d.finished() {
        return Err(refused(format_args!(
            "the program of {} has ended by itself: there is nothing to continue",
            dir.display()
        )));
    }
    let g = d.newest(|problem| eprintln!("promp: {problem}")).ok_or_else(|| {
        let why = if d.generations().is_empty() {
            NONE_YET
        } else {
            "holds no checkpoint that is whole (`promp inspect --verify` says more)"
        };
        refused(format_args!("{} {why}", dir.display()))
    })?;
    let threads = std::env::var("OMP_NUM_THREADS").ok();
    if let Some(why) = fit::obstacle(&g.about, threads.as_deref()) {
        return Err(refused(why));
    }
    Ok((process(dir, &g), g.about.pid))
}

/// Switches address-space randomisation off for what this process executes from here on. False: not allowed.
pub fn fix_addresses() -> bool {
    // SAFETY: plain calls.
    unsafe {
        let now = libc::personality(0xffff_ffff);
        now >= 0 && libc::personality((now | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) >= 0
    }
}

pub use same_process::may_choose_number;

/// It depends on the limit on the stack where the mappings of what is executed from here on lie.
fn limit_stack(soft: u64) {
    let mut stack = fit::stack_limit();
    stack.rlim_cur = soft.min(stack.rlim_max);
    // SAFETY: reads the structure.
    unsafe { libc::setrlimit(libc::RLIMIT_STACK, &stack) };
}

/// Name and value of a line of the environment.
fn variable(line: &Word) -> Option<(&OsStr, &OsStr)> {
    let bytes = line.as_os_str().as_bytes();
    let i = bytes.iter().position(|&b| b == b'=')?;
    Some((OsStr::from_bytes(&bytes[..i]), OsStr::from_bytes(&bytes[i + 1..])))
}

fn process(dir: &Path, g: &Generation) -> Command {
    let a = &g.about;
    let mut c = Command::new(&a.program);
    if let Some((name, rest)) = a.arguments.split_first() {
        c.arg0(name.as_os_str()).args(rest.iter().map(Word::as_os_str));
    }
    c.env_clear().envs(a.environment.iter().filter_map(variable));
    c.env("PROMP_CKPT_DIR", std::path::absolute(dir).unwrap_or_else(|_| dir.into()));
    c.env("PROMP_RESTART", g.number.to_string());
    c.current_dir(&a.directory);
    let (umask, stack) = (a.umask, a.stack_limit);
    // SAFETY: only system calls between fork and exec.
    unsafe {
        c.pre_exec(move || {
            libc::umask(umask);
            limit_stack(stack);
            fix_addresses();
            Ok(())
        });
    }
    c
}

/// Runs `c`, if possible as process `pid`; each time a signal kills it, continues from `dir`, at most `most` times. Ends with the program's own status.
pub fn supervise(mut c: Command, mut pid: Option<u32>, dir: &Path, most: u32) -> Outcome {
    let input = Watch::standard_input();
    let mut read = false;
    for done in 0.. {
        let status = same_process::status(&mut c, pid).map_err(|e| cannot_start(&e))?;
        let Some(signal) = status.signal() else {
            std::process::exit(status.code().unwrap_or(1));
        };
        if done == most {
            eprintln!(
                "promp: the program was killed by signal {signal}; restarted {done} times already, giving up"
            );
            std::process::exit(128 + signal);
        }
        eprintln!("promp: the program was killed by signal {signal}; continuing from its last checkpoint");
        if !dir.join("pages").exists() {
            return Err(refused(format_args!("{} {NONE_YET}", dir.display())));
        }
        let (again, before) = command(dir)?;
        (c, pid) = (again, Some(before));
        read |= input.was_read();
        if read {
            c.env("PROMP_RESTART_INPUT", "read");
        }
    }
    Ok(())
}

/// Whether somebody has read from standard input: where it is a pipe, a new process cannot read that again.
struct Watch(libc::c_int);

impl Watch {
    fn standard_input() -> Self {
        // SAFETY: plain calls with a C string. A watch of a descriptor that is not there is none.
        unsafe {
            let fd = libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC);
            libc::inotify_add_watch(fd, c"/proc/self/fd/0".as_ptr(), libc::IN_ACCESS | libc::IN_ONESHOT);
            Self(fd)
        }
    }

    fn was_read(&self) -> bool {
        let mut event = [0u8; 64];
        // SAFETY: a buffer of that length.
        unsafe { libc::read(self.0, event.as_mut_ptr().cast(), event.len()) > 0 }
    }
}
