//! The tuning file: read at the start, written at the end.
//!
//! It is written to a temporary file that is renamed, with the folder locked: two processes that end at the
//! same time put their entries together. Whatever is wrong with it leads to one line and to tuning without
//! it.

use super::site_names;
use super::site_table::{self, Key};
use crate::icv::{globals, globals_if_ready};
use crate::say;
use crate::sys::lock::Locked;
use crate::team::thread;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use promp_model::choice::Choice;
use promp_model::tuning_file::{self, Entry, Tuning};
use std::fs::File;
use std::path::{Path, PathBuf};

struct Store {
    path: PathBuf,
    tuning: Tuning,
    machine: String,
}

static STORE: Locked<Option<Store>> = Locked::new(None);
/// Entries of the file that were of use.
static HITS: AtomicU32 = AtomicU32::new(0);
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// Reads the file, and arranges for it to be written at the end.
pub(crate) fn open(path: &str, verbose: u32) {
    let machine = site_names::machine(globals_procs());
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let tuning = match read(&path) {
        Ok(text) => match Tuning::read(&text) {
            Some(t) => t,
            None => {
                say!(
                    "{} is not a tuning file of promp (PROMP_TUNE); it is left alone, and nothing is kept",
                    path.display()
                );
                return;
            }
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Tuning::default(),
        Err(e) => {
            say!("the tuning file {} cannot be read: {e}; nothing is kept", path.display());
            return;
        }
    };
    if verbose >= 1 {
        if let Some(line) = tuning.damaged.first() {
            let n = tuning.damaged.len();
            say!(
                "{}: line {line} is no entry{}",
                path.display(),
                if n > 1 { format!(", nor are {} others", n - 1) } else { String::new() }
            );
        }
        if !tuning.entries.is_empty() && tuning.entries.iter().all(|e| e.key.machine != machine) {
            say!(
                "{} was tuned on another machine ({}, not {machine}): searching anew",
                path.display(),
                tuning.entries[0].key.machine
            );
        }
    }
    STORE.with(|s| *s = Some(Store { path, tuning, machine }));
    // SAFETY: the handler lives as long as the process.
    unsafe { libc::atexit(at_exit) };
}

/// The file's text. A pipe or a device may never end.
fn read(path: &Path) -> std::io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    std::fs::read_to_string(path)
}

fn globals_procs() -> u32 {
    crate::sys::limits::affinity_mask().len().max(1) as u32
}

fn key(k: &Key, machine: &str) -> Option<(tuning_file::Key, String)> {
    let (module, offset, function) = site_names::of(k.at, k.what == tuning_file::What::Loop)?;
    let key = tuning_file::Key {
        what: k.what,
        module: tuning_file::word(&module),
        offset,
        class: k.class,
        threads: k.threads,
        machine: machine.into(),
    };
    Some((key, function))
}

/// Is there a file that decisions are kept in?
pub(crate) fn is_kept() -> bool {
    STORE.with(|s| s.is_some())
}

/// What the file says of a loop: the choice, and what it takes for an iteration.
pub(crate) fn kept(k: &Key) -> Option<(Choice, f64)> {
    STORE.with(|s| {
        let s = s.as_ref().filter(|s| !s.tuning.entries.is_empty())?;
        let e = s.tuning.find(&key(k, &s.machine)?.0)?;
        HITS.fetch_add(1, Relaxed);
        // What was taken from one state, with cold caches, is not what executions usually take.
        Some((e.choice, if e.tried.is_empty() { e.takes } else { 0.0 }))
    })
}

extern "C" fn at_exit() {
    if let Some(thr) = thread::known() {
        // A stop would find the arena's lock held: from here on it waits.
        thr.in_runtime.store(1, Relaxed);
    }
    if globals_if_ready().is_none() || WRITTEN.swap(true, AcqRel) {
        return;
    }
    let Some((path, machine, had)) = STORE.with(|s| {
        let s = s.as_ref()?;
        let mine = s.tuning.entries.iter().filter(|e| e.key.machine == s.machine).count();
        Some((s.path.clone(), s.machine.clone(), mine))
    }) else {
        return;
    };
    let found = found(&machine);
    if had > 0 && HITS.load(Relaxed) == 0 && !found.is_empty() && globals().promp.verbose >= 1 {
        say!(
            "none of the {had} entries of {} is of this program as it is now: searched anew",
            path.display()
        );
    }
    if !found.is_empty()
        && let Err(e) = add(&path, found)
    {
        say!("the tuning file {} cannot be written: {e}", path.display());
    }
}

/// What this process has decided or confirmed.
fn found(machine: &str) -> Vec<Entry> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    site_table::all()
        .filter_map(|site| {
            let (choice, takes, own, tried) = site.search.with(|s| {
                // Nothing was searched: the file has it already, or there was nothing to choose.
                let searched = s.searched() > 0;
                let tried = || s.tried().iter().map(|t| (t.choice, t.least())).collect();
                s.settled().filter(|_| searched).map(|c| (c, s.takes(), s.takes_own(), tried()))
            })?;
            let (key, function) = key(&site.key, machine)?;
            let function = tuning_file::word(&function);
            Some(Entry { key, function, choice, takes, own, tried, date: tuning_file::date(now) })
        })
        .collect()
}

/// Adds entries to the file, as it is now.
fn add(path: &Path, entries: Vec<Entry>) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let lock = File::open(folder)?;
    // Where the file system has no locks, the rename alone has to do.
    while lock.lock().is_err_and(|e| e.kind() == std::io::ErrorKind::Interrupted) {}
    let mut all = match read(path) {
        Ok(text) => {
            Tuning::read(&text).ok_or_else(|| std::io::Error::other("it is no tuning file any more"))?
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Tuning::default(),
        Err(e) => return Err(e),
    };
    entries.into_iter().for_each(|e| all.put(e));
    promp_files::replace(path, all.text().as_bytes())
}
