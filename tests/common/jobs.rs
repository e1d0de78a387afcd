//! Jobs that are run by `promp run`, and what is sent to them.

use super::saved::command;
use super::*;
use std::fs;

/// Steps of serial work before the first region, then regions, with a line each.
pub fn steps() -> std::path::PathBuf {
    build("jobs/steps.c", &[])
}

/// `promp run` with checkpoints in `dir`.
pub fn run(dir: &Path, options: &[&str], exe: &Path, args: &[&str]) -> Command {
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(["run", "--threads", "2", "--ckpt"]).arg(dir).args(options).arg("--").arg(exe).args(args);
    c.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A shell that runs the tests in the background has them ignore SIGINT and SIGQUIT (nohup: SIGHUP), and
    // what is ignored is inherited.
    // SAFETY: plain system calls in the child.
    unsafe {
        c.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        })
    };
    c
}

/// Waits until `at` says so.
pub fn wait(what: &str, mut at: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !at() {
        assert!(begin.elapsed() < LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// When a process began: processes of one number differ by that.
pub fn began(pid: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_string)
}

/// The process of the program that `promp` runs, as soon as it is more than a copy of that, and another one
/// than that which began at `before`.
pub fn program_of(promp: &Child, exe: &Path, before: Option<&str>) -> i32 {
    let mut child = 0;
    wait("a child", || {
        child = child_of(promp).unwrap_or(0);
        let is_it = fs::read_link(format!("/proc/{child}/exe"))
            .is_ok_and(|p| p == exe.canonicalize().expect("the program"));
        is_it && began(child).is_some_and(|b| Some(b.as_str()) != before)
    });
    child
}

/// The child of `promp`, whatever it is at the moment; the guard is not meant.
pub fn child_of(promp: &Child) -> Option<i32> {
    let pid = promp.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let is_guard = |child: &&str| {
        fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name.trim() == "promp-guard")
    };
    children.split_whitespace().rfind(|c| !is_guard(c))?.parse().ok()
}

/// Kills the program; its number in its next process.
pub fn die(promp: &Child, exe: &Path) -> i32 {
    let program = program_of(promp, exe, None);
    let before = began(program);
    kill(program, libc::SIGKILL);
    program_of(promp, exe, before.as_deref())
}

/// A set of signals that /proc tells of a process: "SigCgt:".
pub fn signals_of(pid: i32, set: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let word = status.lines().find_map(|l| l.strip_prefix(set)).unwrap_or("0");
    u64::from_str_radix(word.trim(), 16).unwrap_or(0)
}

pub fn kill(pid: i32, signal: i32) {
    // SAFETY: our own child, or its.
    unsafe { libc::kill(pid, signal) };
}

/// CPU time that process `pid` and its descendants have used, in milliseconds.
pub fn used_ms(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = rest.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok());
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let theirs = children.split_whitespace().filter_map(|c| c.parse().ok()).map(used_ms);
    ticks.sum::<u64>() * 10 + theirs.sum::<u64>()
}

/// Waits until process `pid` and its descendants have used so much CPU time: however busy the machine is they
/// have done as much. Or until it has ended.
pub fn let_use(pid: i32, ms: u64, limit: Duration) {
    let start = Instant::now();
    while used_ms(pid) < ms && !is_gone(pid) && start.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Is there no such process, or only what its parent has not asked for yet?
pub fn is_gone(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}
