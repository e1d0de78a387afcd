//! `promp run --steps`: a script whose OpenMP programs are left out, continued or run when the same line is
//! repeated.
//!
//! The script is executed again from its beginning. A program of it that is linked with OpenMP, and is no
//! descendant of another one, is a *step*: when the runtime is loaded into it, it executes this command in
//! its place (crates/ckpt/src/control/steps.rs), which is then in front of it, as `promp run --resume` in
//! the script would be (front.rs). A step has a place of its own below `DIR/steps` (step_place.rs), and
//! what there is says what becomes of it: ended: it ends with that status; cut: it goes on; nothing: it
//! runs. It is run again where its output went to somebody else (redirections.rs), and where files that it
//! has opened are not what they were (step_record.rs).
//!
//! ```text
//! DIR/run              what was started, and this run's number
//! DIR/steps/lock       held (flock) by the `promp` in front of the script
//! DIR/steps/NAME       a place: a checkpoint directory
//! DIR/steps/NAME.taken the last run in which a step had it, and as which one of all
//! DIR/steps/NAME.files what it has opened (crates/calls/src/file_list.rs)
//! DIR/steps/NAME.ended what it has left behind when it ended
//! DIR/steps/NAME.at-once another step is, or was, at work at the same time: this one must not cut its log
//! ```

pub(crate) mod front;
mod redirections;
mod step_place;
mod step_record;

use crate::args::Run;
use crate::restart::{self, Terms, checkpoint_directory};
use crate::{Failure, Outcome};
use promp_image::Directory;
use promp_image::on_signal::OnSignal;
use promp_image::run_record::{self, Started};
use promp_image::state::EXIT_STATUS;
use promp_settings::{CKPT_DIR, ON_SIGNAL, STEPS};
use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the places.
pub(crate) const FOLDER: &str = "steps";

/// Starts the script, whose steps have their places in `dir`, and ends as it does; with 85 where steps were
/// cut because somebody has asked for that.
pub(crate) fn run(r: &Run, dir: &Path, mut c: Command, on: OnSignal, said: bool) -> Outcome {
    if r.from_start {
        return Err(Failure::new(
            64,
            "--from-start has no sense with --steps: a step without a checkpoint begins anew next time",
        ));
    }
    let shown = dir.display();
    checkpoint_directory::prepare(dir)?;
    let program = Path::new(c.get_program());
    let now = run_record::Run::new(&r.command, program)
        .map_err(|e| Failure::new(66, format!("{}: {e}", program.display())))?;
    is_of_the_same(dir, &now)?;
    let cannot = |e| Failure::new(74, format!("{shown} cannot be written to: {e}"));
    let _lock = take(&dir.join(FOLDER)).map_err(|why| Failure::new(64, format!("--ckpt {shown}: {why}")))?;
    now.write(dir).map_err(cannot)?;
    let dir = dir.canonicalize().map_err(cannot)?;
    let typed = r.options.text(&ON_SIGNAL).map(str::to_owned);
    let given = Given {
        front: std::process::id(),
        nonce: now.nonce.clone(),
        auto_restart: r.auto_restart,
        on_signal: typed.or_else(|| std::env::var(ON_SIGNAL.name).ok()).unwrap_or_default(),
        dir: dir.clone(),
    };
    c.env_remove(CKPT_DIR.name).env_remove(ON_SIGNAL.name).env(STEPS.name, given.value());
    let run = Some(Started::now(&now.nonce, said));
    let terms = Terms { dir: Some(&dir), run, goes_on: on.goes_on, ends: on.ends, steps: true, at_end: None };
    let end = restart::start(&mut c, None, terms)?;
    let places = step_place::of_run(&dir.join(FOLDER), &now.nonce);
    if end.to_go_on && places.iter().any(|place| Directory::open(place).is_ok_and(|d| !d.finished())) {
        std::process::exit(EXIT_STATUS);
    }
    if places.is_empty() {
        eprintln!(
            "promp: --steps: no program that is linked with OpenMP was started: all of it is executed again \
             each time"
        );
    }
    end.follow()
}

/// What there is in `dir` must be of the same command, and of steps.
fn is_of_the_same(dir: &Path, now: &run_record::Run) -> Outcome {
    let shown = dir.display();
    let refused = |why: String| Err(Failure::new(restart::REFUSED, why));
    if !promp_image::generation_files(dir).is_empty() {
        return refused(format!(
            "{shown} holds checkpoints of a program, without --steps: `promp restart {shown}` continues it; \
             for this one give another directory"
        ));
    }
    let was = run_record::Run::read(dir).map_err(|why| Failure::new(restart::REFUSED, why))?;
    match was.filter(|_| dir.join(FOLDER).exists()).and_then(|was| was.difference(now)) {
        Some(what) => {
            refused(format!("{shown} holds the steps of {what}; for this one give another directory"))
        }
        None => Ok(()),
    }
}

/// Makes the folder of the places, and takes it until the file is closed.
fn take(folder: &Path) -> Result<File, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(failed(e)),
        _ => promp_image::check_owner(folder, true)?,
    }
    let mut how = File::options();
    how.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let path = folder.join("lock");
    let mut lock = how.open(&path).map_err(failed)?;
    if lock.try_lock().is_err() {
        let by = fs::read_to_string(&path).unwrap_or_default();
        return Err(format!("it is in use by another process ({})", by.trim()));
    }
    let number = format!("{}\n", std::process::id());
    let write = || lock.set_len(0).and_then(|()| lock.write_all(number.as_bytes()));
    promp_files::within_limit(write).map_err(failed)?;
    Ok(lock)
}

/// What PROMP_STEPS says: its fields, with colons between them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    /// The `promp` in front of the script.
    front: u32,
    /// The run's number.
    nonce: String,
    /// `--auto-restart`.
    auto_restart: Option<u32>,
    /// `--on-signal`.
    on_signal: String,
    /// Where the places are.
    dir: PathBuf,
}

impl Given {
    fn value(&self) -> std::ffi::OsString {
        let most = self.auto_restart.map_or_else(String::new, |n| n.to_string());
        let mut value = format!("{}:{}:{most}:{}:", self.front, self.nonce, self.on_signal).into();
        std::ffi::OsString::push(&mut value, &self.dir);
        value
    }

    fn parse(value: &str) -> Option<Self> {
        let mut fields = value.splitn(5, ':');
        let mut next = || fields.next();
        let (front, nonce) = (next()?.parse().ok()?, next()?.to_owned());
        let (most, on_signal) = (next()?, next()?.to_owned());
        let auto_restart = if most.is_empty() { None } else { Some(most.parse().ok()?) };
        Some(Self { front, nonce, auto_restart, on_signal, dir: next()?.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_read() {
        let nonce = "00ff".to_owned();
        let on_signal = "TERM,USR1=checkpoint-exit;USR2=checkpoint".to_owned();
        let g = Given { front: 7, nonce, auto_restart: Some(3), on_signal, dir: "/a:b/c d".into() };
        let text = |g: &Given| g.value().into_string().unwrap();
        assert_eq!(Given::parse(&text(&g)), Some(g.clone()));
        let g = Given { auto_restart: None, on_signal: String::new(), ..g };
        assert_eq!(Given::parse(&text(&g)), Some(g));
        for bad in ["", "1", "7:ab", "x:ab:::/d", "7:ab:x::/d", "7:ab::"] {
            assert_eq!(Given::parse(bad), None, "{bad}");
        }
    }
}
