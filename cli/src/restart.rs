//! `promp restart`, and running a program again and again until it ends by itself.

pub mod checkpoint_directory;
mod child;
mod clocks;
pub(crate) mod cut;
mod instructions;
mod left_record;
mod orphans;
mod private_pipes;
mod program_from_copies;
mod static_loops;
mod thread_count;

use crate::sober::sober;
use crate::{Failure, Outcome, args, inheritance};
pub(crate) use child::{End, Terms, may_choose_number};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::personality::{self, Persona};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::Mode;
use private_pipes::Private;
use promp_image::end_record::Ended;
use promp_image::on_signal::OnSignal;
use promp_image::state::EXIT_STATUS;
use promp_image::state::stands_at_load;
use promp_image::{Directory, Generation, Word, file_copies, fit, open_if_there, run_record};
use promp_settings::internal::{RESTART, RESTART_INPUT, RESTART_THREADS};
use promp_settings::{CKPT_DIR, ON_SIGNAL};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Exit status when what is there is not continued.
pub const REFUSED: u8 = 71;
const NONE_YET: &str = "holds no checkpoint: the program died before its first one was complete. Start it again from its beginning, if \
                        what it did before may be done twice (`promp run --auto-restart N --from-start` does so by itself).";

/// Continues the program from its last whole checkpoint.
pub fn restart(r: &args::Restart) -> Outcome {
    let set = std::env::var("OMP_NUM_THREADS").ok().filter(|_| r.threads.is_none());
    let asked = Asked { threads: r.threads.map(|n| (n, r.vouch)), generation: r.generation, set };
    let (mut c, pid) = command(&r.dir, &asked)?;
    let (on, dir) = (on_signal_of(&c), &r.dir);
    let terms = Terms { dir: Some(dir), goes_on: on.goes_on, ends: on.ends, ..Terms::default() };
    match r.auto_restart {
        Some(most) => supervise(c, Some(pid), &from_checkpoint(dir, most, terms)),
        None => match start(&mut c, Some(pid), terms) {
            Ok(end) => end.follow(),
            // Only a new process gets clocks of its own.
            Err(_) => Err(cannot_start(&inheritance::exec(&mut c))),
        },
    }
}

/// Continues the program of `dir` in place of the one that `promp run` would start with so many threads.
pub fn go_on(dir: &Path, most: Option<u32>, threads: Option<u32>, terms: Terms) -> Outcome {
    let set = threads.map(|n| n.to_string()).or_else(|| std::env::var("OMP_NUM_THREADS").ok());
    let (c, pid) = command(dir, &Asked { set, ..Asked::default() })?;
    match most {
        Some(most) => supervise(c, Some(pid), &from_checkpoint(dir, most, terms)),
        None => stand_for(c, Some(pid), terms),
    }
}

/// Runs `c`, as process `pid` if possible, and ends as it does.
pub fn stand_for(mut c: Command, pid: Option<u32>, terms: Terms) -> Outcome {
    let end = start(&mut c, pid, terms)?;
    follow(&end, terms)
}

/// So long a process that has been sent SIGKILL may look as if it lived.
const DYING: Duration = Duration::from_millis(50);
/// So long one that has ended may keep its number: some of those that stand for init in containers ask only
/// every other second who has.
const UNREAPED: Duration = Duration::from_secs(5);

/// Runs `c`, as process `pid` if possible, until it has ended. A process of that number that is ending,
/// which may be the one whose checkpoints these are, is waited for.
pub fn start(c: &mut Command, pid: Option<u32>, terms: Terms) -> Result<End, Failure> {
    let since = Instant::now();
    loop {
        match (child::run(c, pid, terms), pid) {
            (Ok(end), _) => return Ok(end),
            (Err(e), None) => return Err(cannot_start(&e)),
            (Err(e), Some(pid)) if e.kind() == io::ErrorKind::AlreadyExists => {
                // Between the signal and the flag nothing tells that it is.
                let (waited, ending) = (since.elapsed(), child::is_ending(pid));
                if waited < DYING || (ending && waited < UNREAPED) {
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                }
                let why = if ending { "that one has ended, unasked by its parent" } else { "it is in use" };
                eprintln!("promp: the process cannot have its number, {pid}, again: {why}");
            }
            // Not everybody may choose.
            (Err(_), Some(_)) => {}
        }
        return child::run(c, None, terms).map_err(|e| cannot_start(&e));
    }
}

/// Ends as the program has. If the checkpoints are of a descendant of what was started, status 85 is not
/// its own: the same line continues nothing. Where both have ended by themselves, that is noted.
fn follow(end: &End, terms: Terms) -> Outcome {
    if let Some(f) = terms.at_end {
        f(end);
    }
    let of = terms.dir.and_then(|dir| Some((dir, checkpoint_directory::of_a_descendant(dir)?)));
    let Some((dir, (run, owner))) = of else {
        terms.dir.inspect(|dir| say_what_comes_next(end, terms, dir));
        end.follow()
    };
    let finished = Directory::open(dir).is_ok_and(|d| d.finished());
    let code = end.status.code();
    if code == Some(EXIT_STATUS) {
        return Err(Failure::new(
            REFUSED,
            checkpoint_directory::not_the_started(dir, &run, &owner, finished),
        ));
    }
    if code == Some(0) && finished && !end.asked {
        let arguments = run.command.clone();
        let record = Ended { program: run.program.to_string(), arguments, status: 0 };
        if let Err(e) = record.write(dir) {
            eprintln!("promp: {}: {e}; --resume will not know that it has ended", dir.display());
        }
    }
    end.follow()
}

/// The program has ended, not by itself: what the next run with `--resume` makes of it.
fn say_what_comes_next(end: &End, terms: Terms, dir: &Path) {
    let alone = terms.at_end.is_none() && !terms.steps;
    if let Some(status) = is_to_go_on(dir, end) {
        eprintln!(
            "promp: the program has ended, with status {status}, after a request to end: with --resume it goes \
             on from its last checkpoint"
        );
    } else if alone && end.status.signal().is_some() && checkpoint_directory::is_begun(dir) {
        eprintln!(
            "promp: the program has ended before its first checkpoint was complete: with --resume it begins \
             anew, and what it has done is done again"
        );
    }
}

/// The program has recorded its end in `dir`, but had been asked to end by a signal that it got: takes the
/// record back. The status.
pub(crate) fn is_to_go_on(dir: &Path, end: &End) -> Option<i32> {
    let asked = |d: &Directory| end.on_request & !left_record::kept_from(d) != 0;
    let opened = (end.on_request != 0).then(|| Directory::open(dir).ok())?;
    let d = opened.filter(|d| asked(d) && !d.generations().is_empty())?;
    let status = d.ended()?.status;
    let taken = d.take_end_back().inspect_err(|e| {
        eprintln!("promp: {}: {e}; --resume will take the program to be done", dir.display());
    });
    taken.is_ok().then_some(status)
}

/// What the program was told of signals.
fn on_signal_of(c: &Command) -> OnSignal {
    let value = c.get_envs().find(|(name, _)| *name == ON_SIGNAL.name).and_then(|(_, v)| v?.to_str());
    value.and_then(|v| OnSignal::parse(v.trim()).ok()).unwrap_or_default()
}

fn cannot_start(e: &io::Error) -> Failure {
    Failure::new(126, format!("the program cannot be started: {e}"))
}

fn refused(why: impl std::fmt::Display) -> Failure {
    Failure::new(REFUSED, format!("restart refused: {why}"))
}

/// How a program is to be continued.
#[derive(Default)]
struct Asked {
    /// With so many threads; has somebody vouched that it may?
    threads: Option<(u32, bool)>,
    /// From this generation, instead of the newest that is whole.
    generation: Option<u64>,
    /// The number of threads that it would begin with now (OMP_NUM_THREADS): another one is refused.
    set: Option<String>,
}

/// Has a program been started with this directory that has died before it could write a page?
fn died_early(dir: &Path) -> bool {
    matches!(run_record::Run::read(dir), Ok(Some(_))) && matches!(open_if_there(dir, "pages"), Ok(None))
}

/// The directory, if its program can be continued.
fn opened(dir: &Path) -> Result<Directory, Failure> {
    match Directory::open(dir) {
        Ok(d) if d.finished() => Err(refused(format_args!(
            "the program of {} has ended by itself: there is nothing to continue",
            dir.display()
        ))),
        Err(_) if died_early(dir) => Err(refused(format_args!("{} {NONE_YET}", dir.display()))),
        d => d.map_err(refused),
    }
}

/// The command that makes a process go on from a generation in `dir`, and the number that the process had.
fn command(dir: &Path, how: &Asked) -> Result<(Command, u32), Failure> {
    let (asked, chosen) = (how.threads, how.generation);
    let d = opened(dir)?;
    let newest = || {
        d.newest(|_| true, |problem| eprintln!("promp: {}", sober(&problem))).ok_or_else(|| {
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
        && let Some(older) = d.newest(|o| o.number < g.number && o.about.alone, drop)
    {
        let (new, old) = (g.number, older.number);
        eprintln!(
            "promp: checkpoint {new} was taken while several threads were in the program; going \
             back to checkpoint {old}"
        );
        g = older;
    }
    if let Some(why) = fit::obstacle(&g.about, how.set.as_deref()) {
        return Err(refused(why));
    }
    let moved = file_copies::moved(dir, &g.about).map_err(refused)?;
    let missing = fit::missing(&g.about);
    if !missing.is_empty()
        && let Some(why) = instructions::refusal(&g.about, &moved, &missing)
    {
        return Err(refused(why));
    }
    let folder = g.about.directory.open_again().map_err(|why| {
        refused(format!("the program's working directory {}: {why}", g.about.directory.path))
    })?;
    let start = program_from_copies::start(dir, &g.about, &moved).map_err(refused)?;
    let mut c = process(dir, &g, &start, folder);
    if let Some((n, vouched)) = asked {
        if let Some(why) = thread_count::refusal(&g.about, n, vouched) {
            return Err(refused(why));
        }
        if n != g.about.threads {
            c.env(RESTART_THREADS.name, n.to_string());
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

fn process(dir: &Path, g: &Generation, start: &program_from_copies::Start, folder: OwnedFd) -> Command {
    let a = &g.about;
    let mut c = Command::new(&start.program);
    if let Some((name, rest)) = a.arguments.split_first() {
        c.arg0(name.as_os_str()).args(rest.iter().map(Word::as_os_str));
    }
    c.env_clear().envs(a.environment.iter().filter_map(variable));
    c.env(CKPT_DIR.name, std::path::absolute(dir).unwrap_or_else(|_| dir.into()));
    c.env(RESTART.name, g.number.to_string());
    c.envs(start.environment.iter().map(|(name, value)| (name, value)));
    private_pipes::not_given(&mut c);
    let (umask, stack) = (a.umask, a.stack_limit);
    // SAFETY: only system calls between fork and exec.
    unsafe {
        c.pre_exec(move || {
            nix::unistd::fchdir(&folder)?;
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
    /// How it is begun anew where there is no checkpoint yet.
    pub again: Option<FromStart<'a>>,
    /// It may be, though it has done something.
    pub from_start: bool,
    /// The run that has begun it.
    pub begun: Option<&'a run_record::Run>,
    /// What it runs under.
    pub terms: Terms<'a>,
}

impl Supervision<'_> {
    /// The program has been killed by `signal` before its first checkpoint was whole: begins it anew, if what
    /// it did may be done twice. Has it `read` from its standard input?
    fn begins_anew(&self, signal: i32, read: bool) -> Result<Command, Failure> {
        let stood = self.begun.is_some_and(|run| stands_at_load(self.dir, run));
        let Some(again) = self.again.filter(|_| self.from_start || stood) else {
            return Err(refused(format_args!("{} {NONE_YET}", self.dir.display())));
        };
        if read {
            return Err(refused(
                "the program died before its first checkpoint was complete, and what it has read from its \
                 standard input cannot be read again",
            ));
        }
        let what = if stood { "complete, and has done nothing yet" } else { "complete" };
        eprintln!(
            "promp: the program was killed by signal {signal} before its first checkpoint was {what}; \
             beginning anew"
        );
        again()
    }
}

/// Of a program that goes on from a checkpoint, and is never begun anew.
pub(crate) fn from_checkpoint<'a>(dir: &'a Path, most: u32, terms: Terms<'a>) -> Supervision<'a> {
    Supervision { dir, most, again: None, from_start: false, begun: None, terms }
}

/// Runs `c`, if possible as process `pid`; each time it fails (a signal kills it that nobody has sent to
/// end it), continues it. Ends as the program does.
pub fn supervise(mut c: Command, mut pid: Option<u32>, s: &Supervision) -> Outcome {
    let input = Watch::standard_input();
    let private = Private::new();
    let mut read = false;
    // What the folder holds of another run is nothing to continue this one from.
    let mut old = if pid.is_none() { generations(s.dir) } else { Vec::new() };
    for done in 0.. {
        private.give_to(&mut c);
        let end = start(&mut c, pid, s.terms)?;
        let Some(signal) = end.failure() else { return follow(&end, s.terms) };
        if let Some((run, owner)) =
            checkpoint_directory::of_a_descendant(s.dir).filter(|_| s.terms.run.is_some())
        {
            let why = checkpoint_directory::not_the_started(s.dir, &run, &owner, false);
            return Err(refused(format_args!("what was started was killed by signal {signal}; {why}")));
        }
        // The record is made when all has been done and written: of that a death takes nothing back.
        if let Some(status) = end.recorded {
            eprintln!(
                "promp: the program was killed by signal {signal} after it had ended by itself, with \
                 status {status}"
            );
            std::process::exit(status);
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
            (c, pid) = (s.begins_anew(signal, read)?, None);
            continue;
        }
        old.clear();
        eprintln!("promp: the program was killed by signal {signal}; continuing from its last checkpoint");
        let (again, before) = command(s.dir, &Asked::default())?;
        (c, pid) = (again, Some(before));
        if read {
            c.env(RESTART_INPUT.name, "read");
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
pub(crate) struct Watch(Option<Inotify>);

impl Watch {
    /// Watches that of the calling process from now on.
    pub(crate) fn standard_input() -> Self {
        let watch = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        // A watch of a descriptor that is not there is none.
        let once = AddWatchFlags::IN_ACCESS | AddWatchFlags::IN_ONESHOT;
        Self(watch.filter(|w| w.add_watch("/proc/self/fd/0", once).is_ok()))
    }

    /// Has somebody read from it since this was asked last? True, too, where it cannot be known.
    pub(crate) fn was_read(&self) -> bool {
        self.0.as_ref().is_some_and(|w| w.read_events().is_ok_and(|e| !e.is_empty()))
    }
}
