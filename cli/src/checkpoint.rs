//! `promp checkpoint`: asks a running program for a checkpoint, by words of its `DIR/state` and the signal
//! that makes it look.

use crate::{Failure, Outcome, args, process_stat};
use memmap2::{MmapOptions, MmapRaw};
use nix::time::ClockId;
use promp_image::state::{self, Then};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

const UNREADABLE: u8 = 66;
const NONE_TAKEN: u8 = 70;
/// A program that has not come to its checkpoints may sleep so long before it is taken for one without.
const STARTING: Duration = Duration::from_secs(2);
/// On a busy machine one that is about to start waits for a CPU; it may take so long.
const LATE: Duration = Duration::from_secs(60);
/// Bytes in a lock's file.
const MOST: u64 = 64;

/// Asks, and waits if that is asked for.
pub fn checkpoint(c: &args::Checkpoint) -> Outcome {
    let (pid, dir) = find(c)?;
    let s = State::open(&dir)?;
    let then = match c.then {
        None => Then::GoOn,
        Some(args::Then::Exit) => Then::Exit,
        Some(args::Then::Stop) => Then::Stop,
    };
    let number = s.ask(then);
    // SAFETY: plain call.
    if unsafe { libc::kill(pid, state::bell()) } != 0 {
        let e = std::io::Error::last_os_error();
        return Err(Failure::new(UNREADABLE, format!("process {pid} cannot be asked for a checkpoint: {e}")));
    }
    if !c.wait {
        return Ok(());
    }
    let answered = || s.word(state::ANSWERED).load(Acquire) >= number;
    while !answered() {
        if !serves(pid, &dir) && !answered() {
            let why = format!("process {pid} has ended before it took the checkpoint");
            return Err(Failure::new(NONE_TAKEN, why));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    match s.word(state::GENERATION).load(Relaxed) {
        0 => Err(Failure::new(NONE_TAKEN, format!("process {pid} has taken no checkpoint: {}", s.why()))),
        n => {
            println!("checkpoint {n} of process {pid} is whole: {}", dir.display());
            Ok(())
        }
    }
}

/// The process, and its directory.
fn find(c: &args::Checkpoint) -> Result<(i32, PathBuf), Failure> {
    let shown = c.whose.display();
    let failed = |why: String| Failure::new(UNREADABLE, why);
    let path = Path::new(&c.whose);
    if path.is_dir() {
        let dir = path.canonicalize().map_err(|e| failed(format!("{shown}: {e}")))?;
        let text = promp_files::read(&dir.join("lock"), MOST).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let pid = text.trim().parse().ok().filter(|p| serves(*p, &dir));
        let none = || failed(format!("no running program has its checkpoints in {shown}"));
        return pid.map(|pid| (pid, dir)).ok_or_else(none);
    }
    let Some(pid) = c.whose.to_str().and_then(|s| s.parse::<i32>().ok()) else {
        return Err(failed(format!("{shown} is neither the number of a process nor a checkpoint directory")));
    };
    // `promp run` that has just been called has not started its program yet.
    let (begin, mut busy) = (Instant::now(), Instant::now());
    loop {
        if let Some(found) = family(pid).find_map(|pid| Some((pid, directory_of(pid)?))) {
            return Ok(found);
        }
        if family(pid).any(is_about_to_start) {
            busy = Instant::now();
        }
        // SAFETY: sends nothing.
        if busy.elapsed() > STARTING || begin.elapsed() > LATE || unsafe { libc::kill(pid, 0) } != 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(failed(format!(
        "process {shown} takes no checkpoints (`promp run --ckpt DIR` makes a program do so)"
    )))
}

/// A process and its children.
fn family(pid: i32) -> impl Iterator<Item = i32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children: Vec<_> = children.split_whitespace().filter_map(|c| c.parse().ok()).collect();
    std::iter::once(pid).chain(children)
}

/// Does a process have things to do, of which it has not done much yet? (Its state; CPU time, in ticks, the
/// twelfth and thirteenth field behind the name.)
fn is_about_to_start(pid: i32) -> bool {
    const FEW: u64 = 20;
    let Some(fields) = process_stat::fields(pid) else { return false };
    let sleeps = fields.first().is_none_or(|state| state == "S") || process_stat::has_ended(&fields);
    let used: u64 = fields.iter().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    !sleeps && used < FEW
}

/// Where a process keeps its checkpoints: it has the directory's state mapped, and the handler of the signal.
fn directory_of(pid: i32) -> Option<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let line = maps.lines().find(|l| l.starts_with(&format!("{:x}-", state::MAPPED_AT)))?;
    let path = line.splitn(6, ' ').nth(5)?.trim_start().strip_suffix("/state")?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let caught = status.lines().find_map(|l| l.strip_prefix("SigCgt:"))?;
    let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
    (caught & 1 << (state::bell() - 1) != 0).then(|| path.into())
}

fn serves(pid: i32, dir: &Path) -> bool {
    directory_of(pid).is_some_and(|d| d == dir)
}

/// The process that has its checkpoints in `dir` is about to get a request to end, and has so long to do it
/// ([`state::ASKED_TO_END`]); none: it begins.
pub(crate) fn asks_to_end(dir: &Path, grace: Option<Duration>) {
    let now = || Duration::from(ClockId::CLOCK_MONOTONIC.now().expect("every Linux has this clock"));
    let until = grace.map_or(0, |g| (now() + g).as_nanos() as u64);
    if let Ok(s) = State::open(dir) {
        s.word(state::ASKED_TO_END).store(until, Release);
    }
}

/// The words of a directory's state, shared with the process.
struct State {
    file: File,
    map: MmapRaw,
}

impl State {
    fn open(dir: &Path) -> Result<Self, Failure> {
        let path = dir.join("state");
        let failed = |e: &dyn std::fmt::Display| Failure::new(UNREADABLE, format!("{}: {e}", path.display()));
        let folder = promp_image::open_directory(dir).map_err(|e| Failure::new(UNREADABLE, e))?;
        let how = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = promp_files::open_in(&folder, "state".as_ref(), how, 0);
        let file = file.map(File::from).map_err(|e| failed(&e))?;
        if file.metadata().map_err(|e| failed(&e))?.len() < 8 * state::WORDS as u64 {
            return Err(failed(&"it is too short"));
        }
        let map = MmapOptions::new().len(8 * state::WORDS).map_raw(&file).map_err(|e| failed(&e))?;
        Ok(Self { file, map })
    }

    fn word(&self, i: usize) -> &AtomicU64 {
        assert!(i < state::WORDS);
        // SAFETY: within the mapping, which lives as long as this; others use atomic operations, too.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().cast::<u64>().add(i)) }
    }

    /// Notes a request; its number.
    fn ask(&self, then: Then) -> u64 {
        // One that asks at a time, where the file can be locked; it is let go with the file.
        let _ = self.file.lock();
        self.word(state::THEN).store(then as u64, Relaxed);
        let number = self.word(state::REQUEST).fetch_add(1, Release) + 1;
        let _ = self.file.unlock();
        number
    }

    fn why(&self) -> String {
        let bytes: Vec<u8> = state::WHY.flat_map(|i| self.word(i).load(Relaxed).to_ne_bytes()).collect();
        String::from_utf8_lossy(bytes.split(|&b| b == 0).next().unwrap_or(&[])).into_owned()
    }
}
