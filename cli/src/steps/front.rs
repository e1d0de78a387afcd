//! A step of a script: this process has taken the place of a program that is linked with OpenMP, and looks
//! what there is of it.

use super::redirections::{Stream, Streams};
use super::step_place::{self, Place};
use super::step_record::{self, Record};
use super::{FOLDER, Given};
use crate::restart::{self, End, Terms, Watch, checkpoint_directory, cut};
use crate::{Failure, Outcome, inheritance};
use promp_image::Directory;
use promp_image::on_signal::OnSignal;
use promp_image::run_record::{Run, Started};
use promp_image::state::EXIT_STATUS;
use promp_settings::internal::STEP_FILES;
use promp_settings::{CKPT_DIR, ON_SIGNAL, STEPS, VERBOSE};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The name by which this command is called as one.
pub(crate) const NAME: &str = "promp-step";

/// A step.
struct Step {
    given: Given,
    program: PathBuf,
    /// The command, beginning with the name by which it was called.
    words: Vec<OsString>,
    streams: Streams,
    place: Place,
    /// Where it is in its input.
    input: Option<i64>,
}

/// What there is of a step.
enum There {
    Nothing,
    Cut,
    Ended(i32),
}

/// `program`, called by these words: it runs, goes on or has ended.
pub(crate) fn step(program: PathBuf, words: Vec<OsString>) -> Outcome {
    let mut plain = Command::new(&program);
    plain.arg0(words.first().map_or(OsStr::new(""), |w| w)).args(words.iter().skip(1)).env_remove(STEPS.name);
    let value = std::env::var(STEPS.name).ok();
    let given = value.as_deref().and_then(Given::parse).filter(|g| is_there(g.front));
    let step = given.ok_or_else(|| "the run that it belongs to has ended".to_owned());
    match step.and_then(|given| Step::begin(given, program, words)) {
        Ok((step, there)) => step.go(plain, there),
        Err(why) => {
            eprintln!("promp: no step: {why}; this program is executed again each time");
            let e = inheritance::exec(&mut plain);
            Err(Failure::new(126, format!("the program cannot be started: {e}")))
        }
    }
}

fn is_there(pid: u32) -> bool {
    // SAFETY: no signal is sent.
    unsafe { libc::kill(pid as i32, 0) == 0 }
}

impl Step {
    /// Takes its place, which is empty if it is to run from its beginning.
    fn begin(given: Given, program: PathBuf, words: Vec<OsString>) -> Result<(Self, There), String> {
        let streams = Streams::look(given.front);
        let said = |e: std::io::Error| e.to_string();
        let kind = step_place::kind(&program, &words, given.front, &streams).map_err(said)?;
        let place = Place::take(&given.dir.join(FOLDER), &kind, &given.nonce).map_err(said)?;
        let input = step_record::offset(&streams);
        let step = Self { given, program, words, streams, place, input };
        let mut there = step.there();
        if let Some(why) = step.begins_anew(&there).map_err(said)? {
            step.say(format_args!("is executed again: {why}"));
            there = There::Nothing;
        }
        if let There::Nothing = there {
            step.place.clear().map_err(said)?;
        }
        if !matches!(there, There::Ended(_)) {
            step.place.note_others().map_err(said)?;
        }
        checkpoint_directory::prepare(&step.place.dir).map_err(|f| f.message)?;
        Ok((step, there))
    }

    fn there(&self) -> There {
        match Directory::open(&self.place.dir) {
            Ok(d) if d.finished() => d.ended().map_or(There::Nothing, |e| There::Ended(e.status)),
            Ok(d) if !d.generations().is_empty() => There::Cut,
            _ => There::Nothing,
        }
    }

    /// Why what is there does not count, if so.
    fn begins_anew(&self, there: &There) -> std::io::Result<Option<String>> {
        let ended = match there {
            There::Nothing => return Ok(None),
            There::Cut => false,
            There::Ended(_) => true,
        };
        if let Some(why) = self.streams.is_read() {
            return Ok(Some(why.into()));
        }
        let record = Record::read(&self.place.dir).filter(|_| ended);
        if let Some(path) = step_record::changed(&self.place, record.as_ref())? {
            return Ok(Some(format!("{} is not what it was", path.display())));
        }
        let other = *self.streams.input() == Stream::Other;
        if ended {
            let has_read = other && record.as_ref().is_none_or(|r| r.has_read);
            let moved = || record.as_ref().and_then(|r| r.go_to_input(&self.streams).err());
            return Ok(if has_read { Some(INPUT.into()) } else { moved() });
        }
        Ok(self.cut_from_its_streams(other))
    }

    /// Why a step that was cut cannot go on with its streams, if so. `other`: its input is a pipe.
    fn cut_from_its_streams(&self, other: bool) -> Option<String> {
        let d = Directory::open(&self.place.dir).ok()?;
        let files = d.newest(|_| true, drop)?.about.files;
        if other && files.iter().any(|f| f.fd == 0 && f.was_read) {
            return Some(INPUT.into());
        }
        let was = |fd: i32| files.iter().find(|f| f.fd == fd && f.regular).map_or(0, |f| f.length);
        let mut all = self.streams.output_files();
        let emptied = all.find(|(fd, _)| step_record::emptied(*fd, was(*fd)));
        emptied.map(|(_, path)| format!("its output, {}, has been emptied", path.display()))
    }

    /// One line, where the run's own messages go.
    fn say(&self, what: std::fmt::Arguments) {
        let quiet = std::env::var(VERBOSE.name).is_ok_and(|v| v.trim() == "0");
        if self.streams.is_heard() && !quiet {
            let name = self.words.first().unwrap_or(&self.program.clone().into()).display().to_string();
            eprintln!("promp: step {}, {name}, {what}", self.place.number);
        }
    }

    /// Ends as it has ended, continues it, or starts it.
    fn go(&self, mut c: Command, there: There) -> Outcome {
        let dir = &self.place.dir;
        if let There::Ended(status) = there {
            self.say(format_args!("has ended before, with status {status}"));
            std::process::exit(status);
        }
        let on = OnSignal::parse(self.given.on_signal.trim()).unwrap_or_default();
        let watch = Watch::standard_input();
        let at_end = |end: &End| self.ends(end, &watch);
        let terms = Terms {
            dir: Some(dir),
            goes_on: on.goes_on,
            ends: on.ends,
            at_end: Some(&at_end),
            ..Terms::default()
        };
        if let There::Cut = there {
            self.say(format_args!("goes on from its last checkpoint"));
            return restart::go_on(dir, self.given.auto_restart, None, terms);
        }
        let failed = |e| Failure::new(74, format!("{}: {e}", dir.display()));
        step_record::note(&self.place, &self.program, &self.streams).map_err(failed)?;
        let run = Run::new(&self.words, &self.program).map_err(failed)?;
        run.write(dir).map_err(failed)?;
        c.env(CKPT_DIR.name, dir).env(STEP_FILES.name, self.place.beside("files"));
        if !self.given.on_signal.is_empty() {
            c.env(ON_SIGNAL.name, &self.given.on_signal);
        }
        let terms = Terms { run: Some(Started::now(&run.nonce, true)), ..terms };
        match self.given.auto_restart {
            Some(most) => restart::supervise(c, None, &restart::from_checkpoint(dir, most, terms)),
            None => restart::stand_for(c, None, terms),
        }
    }

    /// The program has ended: notes what it has left. If it was cut the script must not go on behind it.
    fn ends(&self, end: &End, watch: &Watch) {
        let dir = &self.place.dir;
        if let Some(status) = restart::is_to_go_on(dir, end) {
            self.say(format_args!(
                "has ended, with status {status}, after a request to end: it goes on next time"
            ));
            return;
        }
        let finished = Directory::open(dir).is_ok_and(|d| d.finished());
        if finished {
            if let Err(e) = Record::write(&self.place, &self.streams, self.input, watch.was_read()) {
                eprintln!("promp: {}: {e}; the step is executed again next time", dir.display());
                let _ = self.place.clear();
            }
        } else if end.status.code() == Some(EXIT_STATUS) {
            self.outlive_the_script();
        }
    }

    /// Ends when the script has: what the script has started, the `promp` in front of it inherits.
    fn outlive_the_script(&self) -> ! {
        // SAFETY: plain calls; the kernel reads the set.
        unsafe {
            let mut all: libc::sigset_t = core::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &all, core::ptr::null_mut());
        }
        cut::tell(self.given.front);
        // SAFETY: plain call.
        while unsafe { libc::getppid() } as u32 != self.given.front && is_there(self.given.front) {
            std::thread::sleep(LOOK);
        }
        std::process::exit(EXIT_STATUS)
    }
}

const INPUT: &str = "it has read from its standard input, a pipe";
/// Who was cut looks that often whether the script has ended.
const LOOK: Duration = Duration::from_millis(20);
