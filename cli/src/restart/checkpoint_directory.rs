//! The checkpoint directory of `promp run`, before anything is started: it is made, or must be one of
//! promp's; and what it holds is compared with what is to be run. `DIR/run` says what was started; where
//! there is none (checkpoints without `promp run`, older versions) the image's command line does.

use crate::part::{self, Part};
use crate::{Failure, steps};
use promp_image::run_record::{self, Owner, Run};
use promp_image::{Directory, Word};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// The command line, or what it names, cannot be taken.
const USAGE: u8 = 64;
/// Bytes in a lock's file.
const MOST: u64 = 64;
/// So long a process that has just been killed may still hold the directory.
const PATIENCE: Duration = Duration::from_secs(2);

/// What there is of the run that is to be started.
pub enum Held {
    /// Nothing.
    Nothing,
    /// It was begun, and has ended before its first checkpoint; what it has done is not known.
    Begun,
    /// Checkpoints.
    Checkpoints,
    /// It has ended by itself, with this status.
    Ended(i32),
}

/// Makes the directory, or finds out whether it may be used: it is ours, holds nothing of others', and is in
/// nobody's use.
pub fn prepare(dir: &Path) -> Result<(), Failure> {
    let shown = dir.display();
    let refused = |why: String| Failure::new(USAGE, format!("--ckpt {shown}: {why}"));
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            return Err(refused(format!("the directory cannot be made: {e}{}", todo(dir, &e))));
        }
        made => drop(made),
    }
    let names: Vec<_> = fs::read_dir(dir)
        .map_err(|e| refused(format!("the directory cannot be read: {e}{}", todo(dir, &e))))?
        .flatten()
        .map(|e| e.file_name())
        .collect();
    if let Some(other) = names.iter().find(|n| !is_known(n)) {
        let what = other.display();
        return Err(refused(format!(
            "it holds other files ({what}); give a directory for checkpoints alone"
        )));
    }
    if names.is_empty() {
        close_to_others(dir);
    }
    let check =
        |name: &OsStr| promp_image::check_owner(&dir.join(name), name == "files" || name == steps::FOLDER);
    let checked = promp_image::check_owner(dir, true).and_then(|()| names.iter().try_for_each(|n| check(n)));
    checked.map_err(|why| Failure::new(USAGE, format!("--ckpt {why}")))?;
    free(dir).map_err(refused)
}

/// An empty directory of ours is for us alone from now on: the very one that was looked at.
fn close_to_others(dir: &Path) {
    let how = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let Ok(folder) = File::options().read(true).custom_flags(how).open(dir) else { return };
    // SAFETY: no pointers.
    let is_ours = |m: &Metadata| m.mode() & 0o077 != 0 && m.uid() == unsafe { libc::geteuid() };
    if let Some(m) = folder.metadata().ok().filter(is_ours)
        && folder.set_permissions(Permissions::from_mode(0o700)).is_ok()
    {
        let (shown, was) = (dir.display(), m.mode() & 0o777);
        eprintln!("promp: {shown} is for its owner alone now (mode 700; it was {was:o})");
    }
}

/// What to do where the directory cannot be had.
fn todo(dir: &Path, e: &std::io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => {
            let parent = dir.parent().unwrap_or(dir);
            format!("; make {} first (mkdir -p)", parent.display())
        }
        ErrorKind::NotADirectory => "; give a directory, not a file".into(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; give one where you may write".into()
        }
        _ => String::new(),
    }
}

/// Is a file of this name one that promp puts into such a directory?
fn is_known(name: &OsStr) -> bool {
    const ALL: [&str; 9] = [
        "pages",
        "sums",
        "state",
        "lock",
        "files",
        "ended",
        steps::FOLDER,
        run_record::FILE,
        run_record::OWNER,
    ];
    let numbers =
        |rest: &str| rest.split('-').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let Some(name) = name.to_str() else { return false };
    let aside = name.strip_prefix("new-").is_some_and(|n| ALL.contains(&n) || numbers(n));
    let of = |p: &&str| name.strip_prefix(*p).is_some_and(numbers);
    ALL.contains(&name) || aside || ["gen-", "undo-", "sent-"].iter().any(of)
}

/// Waits until nobody writes to the directory.
fn free(dir: &Path) -> Result<(), String> {
    let Ok(Some(lock)) = promp_image::open_if_there(dir, "lock") else { return Ok(()) };
    let since = Instant::now();
    while lock.try_lock().is_err() {
        if since.elapsed() > PATIENCE {
            let mut by = String::new();
            let _ = lock.take(MOST).read_to_string(&mut by);
            return Err(format!("it is in use by another process ({})", by.trim()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Has what was started there last ended before its first checkpoint, and may it have done something?
pub fn is_begun(dir: &Path) -> bool {
    let Ok(Some(run)) = Run::read(dir) else { return false };
    promp_image::generation_files(dir).is_empty()
        && !dir.join(promp_image::end_record::FILE).exists()
        && has_done(dir, Path::new(run.program.as_os_str()))
}

/// A program that is linked with OpenMP has done nothing before it takes the directory.
pub(crate) fn has_done(dir: &Path, program: &Path) -> bool {
    part::of(program) != Part::Runtime || dir.join("lock").exists()
}

/// What `dir` holds of the run that `now` is of. An error: what is there is of another one, or cannot be
/// gone on from (`resume`), or must not be overwritten.
pub fn look(dir: &Path, now: &Run, resume: bool) -> Result<Held, String> {
    let shown = dir.display();
    if dir.join(steps::FOLDER).exists() {
        return Err(format!("{shown} holds the steps of a script: give --steps, or another directory"));
    }
    let mut problems = Vec::new();
    let opened = Directory::open(dir).map_err(|e| problems.push(e)).ok();
    let generation = opened
        .as_ref()
        .and_then(|d| d.generations().into_iter().find_map(|n| d.read(n).map_err(|e| problems.push(e)).ok()));
    let (ended, finished) = opened.as_ref().map_or((None, false), |d| (d.ended(), d.finished()));
    let saved = ended.as_ref().map(|e| (e.program.as_str(), &e.arguments[..]));
    let saved = saved.or(generation.as_ref().map(|g| (g.about.program.as_str(), &g.about.arguments[..])));
    if saved.is_none() && !promp_image::generation_files(dir).is_empty() {
        // What cannot be read is not overwritten: it may be all that there is of a long run.
        let all = problems.join("; ");
        let why = format!(
            "{shown} holds checkpoints, and none of them can be read ({all}); remove it to begin anew"
        );
        return if resume { Err(why) } else { Ok(Held::Nothing) };
    }
    let record = Run::read(dir)?;
    if (saved.is_none() && !finished) || (finished && !resume) {
        let begun = resume && record.is_some_and(|r| r.difference(now).is_none());
        return Ok(if begun { Held::Begun } else { Held::Nothing });
    }
    let difference = match (&record, saved) {
        (Some(record), _) => record.difference(now),
        (None, Some(saved)) => is_another(now, saved).then(|| format!("another command ({})", line(saved.1))),
        (None, None) => Some("a command that cannot be read".into()),
    };
    if let Some(what) = difference {
        return Err(match finished {
            true => format!("{shown} is of {what}, which has ended by itself; give another directory"),
            false => format!(
                "{shown} holds checkpoints of {what}: `promp restart {shown}` continues it; for this one \
                 give another directory"
            ),
        });
    }
    let owner = Owner::read(dir)?.filter(|o| !o.started);
    Ok(match (owner, ended) {
        (_, Some(ended)) => Held::Ended(ended.status),
        (Some(o), None) if resume => return Err(not_the_started(dir, now, &o, finished)),
        _ if finished => {
            return Err(format!(
                "the program of {shown} has ended by itself, and it cannot be read with which status; \
                 without --resume it is run again"
            ));
        }
        _ => Held::Checkpoints,
    })
}

/// Is the command that was `saved` another one than that of `now`?
fn is_another(now: &Run, saved: (&str, &[Word])) -> bool {
    let program = Path::new(saved.0).canonicalize().ok();
    program.as_deref() != Some(Path::new(now.program.as_os_str()))
        || saved.1.iter().skip(1).ne(now.command.iter().skip(1))
}

fn line(words: &[Word]) -> String {
    words.iter().map(Word::to_string).collect::<Vec<_>>().join(" ")
}

/// Why a run is not continued whose checkpoints are of a descendant of what was started.
pub fn not_the_started(dir: &Path, run: &Run, owner: &Owner, finished: bool) -> String {
    owner.is_not_the_started(run, dir, finished)
}

/// The descendant of what was started whose checkpoints `dir` has, and the run.
pub fn of_a_descendant(dir: &Path) -> Option<(Run, Owner)> {
    let run = Run::read(dir).ok()??;
    let owner = Owner::read(dir).ok()??;
    (!owner.started && owner.nonce == run.nonce).then_some((run, owner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn names_of_ours() {
        for name in [
            "pages",
            "gen-12",
            "undo-3",
            "undo-3-4",
            "sent-0",
            "new-7",
            "new-ended",
            "new-run",
            "files",
            "run",
        ] {
            assert!(is_known(name.as_ref()), "{name}");
        }
        for name in
            ["new-results.csv", "gen-", "gen-x", "run.sh", "undo-1-", "pages2", ".git", "new-", "\u{e9}"]
        {
            assert!(!is_known(name.as_ref()), "{name}");
        }
        assert!(!is_known(OsStr::from_bytes(b"gen-\xff")));
    }
}
