//! `promp restart`, and running a program again and again until it ends by itself.

mod child;
mod clocks;
mod contained;
mod instructions;
mod private;
mod static_loops;
mod threads;

use crate::{Failure, Outcome, args};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::personality::{self, Persona};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::Mode;
use private::Private;
use promp_image::on_signal::OnSignal;
use promp_image::{Directory, Generation, Word, fit, kept};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const REFUSED: u8 = 71;
const NONE_YET: &str = "holds no checkpoint: the program died before its first one was complete. Start it again from its beginning, if \
                        what it did before may be done twice (`promp run --auto-restart N --from-start` does so by itself).";

/// Continues the program from its last whole checkpoint.
pub fn restart(r: &args::Restart) -> Outcome {
    let (c, pid) = command(&r.dir, r.threads.map(|n| (n, r.vouch)), r.generation)?;
    let goes_on = on_signal_of(&c).goes_on;
    match r.auto_restart {
        Some(most) => supervise(c, Some(pid), &Supervision { dir: &r.dir, most, from_start: None, goes_on }),
        None => stand_for(c, pid, goes_on),
    }
}

/// Continues the program of `dir` as `r` says. None: there is nothing to continue, and it is to be started.
/// The program must be the one that `r` names: another one's checkpoint is neither continued nor
/// overwritten.
pub fn resume(dir: &Path, r: &args::Run, program: &Path, goes_on: u64) -> Option<Outcome> {
    let there = promp_image::generation_files(dir);
    let mut problems = Vec::new();
    let opened = Directory::open(dir).map_err(|e| problems.push(e)).ok();
    let ended = opened.as_ref().and_then(Directory::ended);
    let newest = |d: &Directory| {
        d.generations().into_iter().find_map(|n| d.read(n).map_err(|e| problems.push(e)).ok())
    };
    let g = opened.as_ref().and_then(newest);
    let finished = opened.as_ref().is_some_and(Directory::finished);
    let of_whom = ended.as_ref().map(|e| (&e.program, &e.arguments));
    let Some(saved) = of_whom.or(g.as_ref().map(|g| (&g.about.program, &g.about.arguments))) else {
        // What cannot be read is not overwritten: it may be all that there is of a long run.
        let what = match (finished, there.is_empty()) {
            (false, true) => return None,
            (true, _) => "is of a program that has ended by itself, and it cannot be read which one that was",
            (false, false) => "holds checkpoints, and none of them can be read",
        };
        let why = if problems.is_empty() { String::new() } else { format!(" ({})", problems.join("; ")) };
        return Some(Err(refused(format_args!("{} {what}{why}; remove it to begin anew", dir.display()))));
    };
    if !is_same(program, r, saved) {
        let what: Vec<String> = saved.1.iter().map(Word::to_string).collect();
        return Some(Err(refused(format_args!(
            "{} holds checkpoints of another command ({}); remove it, or give another directory",
            dir.display(),
            what.join(" ")
        ))));
    }
    if finished {
        let status = ended.map_or(0, |e| e.status);
        let how = if status == 0 { String::new() } else { format!(", with status {status}") };
        eprintln!(
            "promp: the program of {} has ended by itself{how}: there is nothing to do. To run it again, remove the directory.",
            dir.display()
        );
        std::process::exit(status);
    }
    let continued = || -> Outcome {
        let (c, pid) = command(dir, None, None)?;
        match r.auto_restart {
            Some(most) => supervise(c, Some(pid), &Supervision { dir, most, from_start: None, goes_on }),
            None => stand_for(c, pid, goes_on),
        }
    };
    Some(continued())
}

/// Is what `r` runs the command that was `saved`?
fn is_same(program: &Path, r: &args::Run, saved: (&String, &Vec<Word>)) -> bool {
    let arguments: Vec<&OsStr> = saved.1.iter().skip(1).map(Word::as_os_str).collect();
    let wanted: Vec<&OsStr> = r.command[1..].iter().map(OsString::as_os_str).collect();
    // Of a script the interpreter is the program, and the script one of its arguments.
    if matches!(crate::elf::kind(program), Ok(crate::elf::Kind::Script)) {
        return arguments.ends_with(&wanted);
    }
    let real = program.canonicalize().ok();
    real.is_some() && real == Path::new(saved.0).canonicalize().ok() && arguments == wanted
}

/// Runs `c` as process `pid`, if possible, and ends as it does.
fn stand_for(mut c: Command, pid: u32, goes_on: u64) -> Outcome {
    match child::run(&mut c, Some(pid), goes_on) {
        Ok(end) => end.follow(),
        // Only a new process gets clocks of its own.
        Err(_) => match child::run(&mut c, None, goes_on) {
            Ok(end) => end.follow(),
            Err(_) => Err(cannot_start(&c.exec())),
        },
    }
}

/// What the program was told of signals.
fn on_signal_of(c: &Command) -> OnSignal {
    let value = c.get_envs().find(|(name, _)| *name == "PROMP_ON_SIGNAL").and_then(|(_, v)| v?.to_str());
    value.and_then(|v| OnSignal::parse(v.trim()).ok()).unwrap_or_default()
}

fn cannot_start(e: &io::Error) -> Failure {
    Failure::new(126, format!("the program cannot be started: {e}"))
}

fn refused(why: impl std::fmt::Display) -> Failure {
    Failure::new(REFUSED, format!("restart refused: {why}"))
}

/// The command that makes a process go on from the newest whole generation in `dir`, or from the `chosen`
/// one, and the number that the process had. `asked`: with so many threads, and has somebody vouched that it
/// may?
fn command(dir: &Path, asked: Option<(u32, bool)>, chosen: Option<u64>) -> Result<(Command, u32), Failure> {
    let d = Directory::open(dir).map_err(refused)?;
    if d.finished() {
        return Err(refused(format_args!(
            "the program of {} has ended by itself: there is nothing to continue",
            dir.display()
        )));
    }
    let newest = || {
        d.newest(|problem| eprintln!("promp: {problem}")).ok_or_else(|| {
            let why = if d.generations().is_empty() {
                NONE_YET
            } else {
                "holds no checkpoint that is whole (`promp inspect --verify` says more)"
            };
            format!("{} {why}", dir.display())
        })
    };
    let one = |n| {
        let all: Vec<String> = d.generations().iter().map(u64::to_string).collect();
        if !d.generations().contains(&n) {
            return Err(format!("{} has no checkpoint {n}; it has {}", dir.display(), all.join(", ")));
        }
        let g = d.read(n).and_then(|g| d.verify(&g, |_| ()).map(|()| g));
        g.map_err(|e| format!("checkpoint {n} cannot be used: {e}"))
    };
    let mut g = chosen.map_or_else(newest, one).map_err(refused)?;
    if let (Some((n, _)), None) = (asked, chosen)
        && fit::another(&g.about, n).is_some()
        && let Some(older) = d.newest_where(|o| o.number < g.number && o.about.alone)
    {
        let (new, old) = (g.number, older.number);
        eprintln!(
            "promp: checkpoint {new} was taken while several threads were in the program; going \
             back to checkpoint {old}"
        );
        g = older;
    }
    let set = std::env::var("OMP_NUM_THREADS").ok().filter(|_| asked.is_none());
    if let Some(why) = fit::obstacle(&g.about, set.as_deref()) {
        return Err(refused(why));
    }
    let moved = kept::moved(dir, &g.about).map_err(refused)?;
    let missing = fit::missing(&g.about);
    if !missing.is_empty()
        && let Some(why) = instructions::refusal(&g.about, &moved, &missing)
    {
        return Err(refused(why));
    }
    let folder = &g.about.directory;
    if !Path::new(folder).is_dir() {
        return Err(refused(format!("the program's working directory {folder} is not there")));
    }
    let start = contained::start(dir, &g.about, &moved).map_err(refused)?;
    let mut c = process(dir, &g, &start);
    if let Some((n, vouched)) = asked {
        if let Some(why) = threads::refusal(&g.about, n, vouched) {
            return Err(refused(why));
        }
        if n != g.about.threads {
            c.env("PROMP_RESTART_THREADS", n.to_string());
        }
    }
    clocks::go_on_from(&g.about.clocks);
    Ok((c, g.about.pid))
}

/// Switches address-space randomisation off for what this process executes from here on. False: not allowed.
pub fn fix_addresses() -> bool {
    let fixed = |now: Persona| personality::set(now | Persona::ADDR_NO_RANDOMIZE);
    personality::get().and_then(fixed).is_ok()
}

pub use child::may_choose_number;

/// It depends on the limit on the stack where the mappings of what is executed from here on lie.
fn limit_stack(soft: u64) {
    let most = fit::stack_limit().rlim_max;
    let _ = setrlimit(Resource::RLIMIT_STACK, soft.min(most), most);
}

/// Name and value of a line of the environment.
fn variable(line: &Word) -> Option<(&OsStr, &OsStr)> {
    let bytes = line.as_os_str().as_bytes();
    let i = bytes.iter().position(|&b| b == b'=')?;
    Some((OsStr::from_bytes(&bytes[..i]), OsStr::from_bytes(&bytes[i + 1..])))
}

fn process(dir: &Path, g: &Generation, start: &contained::Start) -> Command {
    let a = &g.about;
    let mut c = Command::new(&start.program);
    if let Some((name, rest)) = a.arguments.split_first() {
        c.arg0(name.as_os_str()).args(rest.iter().map(Word::as_os_str));
    }
    c.env_clear().envs(a.environment.iter().filter_map(variable));
    c.env("PROMP_CKPT_DIR", std::path::absolute(dir).unwrap_or_else(|_| dir.into()));
    c.env("PROMP_RESTART", g.number.to_string());
    c.envs(start.environment.iter().map(|(name, value)| (name, value)));
    private::not_given(&mut c);
    c.current_dir(&a.directory);
    let (umask, stack) = (a.umask, a.stack_limit);
    // SAFETY: only system calls between fork and exec.
    unsafe {
        c.pre_exec(move || {
            nix::sys::stat::umask(Mode::from_bits_truncate(umask));
            limit_stack(stack);
            fix_addresses();
            Ok(())
        });
    }
    c
}

/// Makes the command that runs a program from its beginning.
pub type FromStart<'a> = &'a dyn Fn() -> Result<Command, Failure>;

/// What is done when a program fails.
pub struct Supervision<'a> {
    /// Its checkpoints.
    pub dir: &'a Path,
    /// How often it is continued, at most.
    pub most: u32,
    /// If it may be begun anew where there is no checkpoint yet.
    pub from_start: Option<FromStart<'a>>,
    /// Signals that ask for a checkpoint only.
    pub goes_on: u64,
}

/// Runs `c`, if possible as process `pid`; each time it fails (a signal kills it that nobody has sent to
/// end it), continues it. Ends as the program does.
pub fn supervise(mut c: Command, mut pid: Option<u32>, s: &Supervision) -> Outcome {
    let input = Watch::standard_input();
    let private = Private::new();
    let mut read = false;
    // What the folder holds of another run is nothing to continue this one from.
    let mut old = if pid.is_none() { generations(s.dir) } else { Vec::new() };
    let old_end = identity(&s.dir.join(promp_image::ended::FILE));
    for done in 0.. {
        private.give_to(&mut c);
        let end = match child::run(&mut c, pid, s.goes_on) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => child::run(&mut c, None, s.goes_on),
            r => r,
        }
        .map_err(|e| cannot_start(&e))?;
        let Some(signal) = end.failure() else { end.follow() };
        // The record is made when all has been done and written: of that a death takes nothing back.
        let record = Directory::open(s.dir).ok().and_then(|d| d.ended());
        let its_own = identity(&s.dir.join(promp_image::ended::FILE)) != old_end;
        if let Some(ended) = record.filter(|_| its_own) {
            eprintln!(
                "promp: the program was killed by signal {signal} after it had ended by itself, with \
                 status {}",
                ended.status
            );
            std::process::exit(ended.status);
        }
        if done == s.most {
            eprintln!(
                "promp: the program was killed by signal {signal}; restarted {done} times already, giving up"
            );
            std::process::exit(128 + signal);
        }
        read |= input.was_read();
        let now = generations(s.dir);
        if now.iter().all(|g| old.contains(g)) {
            let Some(again) = s.from_start else {
                return Err(refused(format_args!("{} {NONE_YET}", s.dir.display())));
            };
            if read {
                return Err(refused(
                    "the program died before its first checkpoint was complete, and what it has read from its standard input \
                     cannot be read again",
                ));
            }
            eprintln!(
                "promp: the program was killed by signal {signal} before its first checkpoint was complete; beginning anew"
            );
            (c, pid) = (again()?, None);
            continue;
        }
        old.clear();
        eprintln!("promp: the program was killed by signal {signal}; continuing from its last checkpoint");
        let (again, before) = command(s.dir, None, None)?;
        (c, pid) = (again, Some(before));
        if read {
            c.env("PROMP_RESTART_INPUT", "read");
        }
    }
    Ok(())
}

/// The generations in `dir`, each with what tells it from another one of the same number.
fn generations(dir: &Path) -> Vec<(u64, Identity)> {
    let about = |n: u64| Some((n, identity(&dir.join(format!("gen-{n}")))?));
    promp_image::generation_files(dir).into_iter().filter_map(about).collect()
}

/// What tells a file from another one of the same name: its number, and when it was written.
type Identity = (u64, i64, i64);

fn identity(file: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let m = std::fs::symlink_metadata(file).ok()?;
    Some((m.ino(), m.mtime(), m.mtime_nsec()))
}

/// Whether somebody has read from standard input: where it is a pipe, a new process cannot read that again.
struct Watch(Option<Inotify>);

impl Watch {
    fn standard_input() -> Self {
        let watch = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        // A watch of a descriptor that is not there is none.
        let once = AddWatchFlags::IN_ACCESS | AddWatchFlags::IN_ONESHOT;
        Self(watch.filter(|w| w.add_watch("/proc/self/fd/0", once).is_ok()))
    }

    fn was_read(&self) -> bool {
        self.0.as_ref().is_some_and(|w| w.read_events().is_ok_and(|e| !e.is_empty()))
    }
}
