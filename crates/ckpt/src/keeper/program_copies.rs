//! Self-contained checkpoints: copies of the program, its libraries, the loader and promp itself are kept
//! with them (crates/image/src/file_copies.rs), so that a restart does not need these files to be what they
//! were.
//!
//! A file is known by its content, which is looked at when it is first seen to be mapped. If it is replaced
//! or removed while the program runs (an update of the system), the kernel goes on to tell of it as "PATH
//! (deleted)", with its number: from then on the checkpoints name its copy.
//!
//! Only files are copied that are mapped privately. What is shared is data, of any size, and has to stay.

use crate::image::{self, Description, Map, file_copies};
use crate::memory;
use crate::settings::Settings;
use crate::sys::lock::Locked;
use crate::sys::maps;
use crate::sys::{objects, syscall};
use crate::vdso;
use std::fs::File;
use std::os::fd::{FromRawFd, IntoRawFd};

/// What the loader has loaded, by the paths of the mappings: the libraries, and itself.
static LOADED: Locked<(Vec<String>, String)> = Locked::new((Vec::new(), String::new()));

/// While the library is being loaded, on a thread of libc's: notes what there is.
pub(crate) fn begin() {
    let have = memory::mappings();
    let path = |at: usize| maps::find(&have, at).map_or(String::new(), |m| m.path.clone());
    let libraries = objects::loaded().iter().map(|o| path(o.start)).collect();
    LOADED.with(|l| *l = (libraries, path(objects::loader())));
}

/// See [`LOADED`].
pub(crate) fn loaded() -> (Vec<String>, String) {
    LOADED.with(|l| l.clone())
}

/// A file that was mapped, and its number.
struct Known {
    /// Device and inode, as the kernel tells them of a mapping.
    number: (String, u64),
    /// How to know it again.
    file: image::MappedFile,
    /// Is there a copy?
    kept: bool,
}

const GONE: &str = " (deleted)";

/// What is known of the files that are mapped.
#[derive(Default)]
pub(crate) struct MappedFiles {
    known: Vec<Known>,
    /// Are all copies named by the newest checkpoint?
    is_tidy: bool,
    /// Is there a copy of the kernel's vDSO?
    has_kernel: bool,
    /// Copies that are yet to be synced: the next checkpoint that is whole counts on them.
    pub(super) unsynced: Vec<File>,
}

/// What users are to be told, and its kind.
type Told = (String, String);

/// Copies that are yet to be synced, and what was in the way of others.
#[derive(Default)]
struct Copied {
    written: Vec<File>,
    told: Vec<Told>,
}

impl Copied {
    /// Is there a copy?
    fn note(&mut self, copy: Result<Option<File>, Told>) -> bool {
        // SAFETY: the descriptor is the file's, which gives it up; programs use low numbers.
        let high = |file: File| unsafe { File::from_raw_fd(syscall::high(file.into_raw_fd() as isize)) };
        let why = copy.map(|file| self.written.extend(file.map(high))).err();
        let is_there = why.is_none();
        self.told.extend(why);
        is_there
    }
}

impl MappedFiles {
    /// What files `about` has mapped. If checkpoints are self-contained: copies them. `last`: the last
    /// checkpoint, if there is one.
    pub(super) fn recognise(
        &mut self,
        about: &mut Description,
        settings: &Settings,
        last: Option<&Description>,
    ) -> Vec<Told> {
        let (mut out, mut copied) = (Vec::new(), Copied::default());
        let (mut moved, mut copies) = (Vec::new(), Vec::new());
        let mut known: Vec<Known> = Vec::new();
        let is_apart = memory::apart(&about.maps);
        for m in about.maps.iter().filter(|m| m.inode != 0 && !is_apart(m)) {
            let number = (m.dev.clone(), m.inode);
            if known.iter().any(|k| k.number == number) {
                continue;
            }
            let Some(mut k) = self.known_as(number, &m.path) else { continue };
            if settings.contained && !k.kept && k.file.sum != 0 && is_private(&about.maps, m) {
                let copy = file_copies::keep(&settings.dir, &k.file, None);
                k.kept = copied.note(copy.map(Some).map_err(|why| (no_copy(&m.path, &why), m.path.clone())));
            }
            let mut file = k.file.clone();
            if m.path.ends_with(GONE) && k.kept {
                file.path = file_copies::place(&settings.dir, &k.file).to_string_lossy().into_owned();
                copies.push((k.number.clone(), file.path.clone()));
                moved.push(file_copies::Moved { from: k.file.path.clone(), to: file.path.clone() });
            }
            out.push(file);
            known.push(k);
        }
        for m in &mut about.maps {
            // The number stays: in this process the file is mapped.
            if let Some((_, to)) = copies.iter().find(|(n, _)| (&n.0, n.1) == (&m.dev, m.inode)) {
                m.path.clone_from(to);
            }
        }
        // What is not mapped any more only older checkpoints need.
        self.is_tidy &= !self.known.iter().any(|k| k.kept);
        self.known = known;
        if let Some(k) = about.kernel.as_ref().filter(|_| !self.has_kernel) {
            let copy = vdso::keep_copy(&settings.dir, k);
            let told = copy.map_err(|why| (no_copy("the kernel's vDSO", &why), "vDSO".into()));
            self.has_kernel = copied.note(told);
        }
        about.mapped = out;
        about.contained = settings.contained;
        if let Some(last) = last {
            about.libraries.clone_from(&last.libraries);
            about.loader.clone_from(&last.loader);
            about.executable.clone_from(&last.executable);
        } else {
            (about.libraries, about.loader) = loaded();
        }
        about.load_from(&moved);
        self.unsynced.append(&mut copied.written);
        copied.told
    }

    /// There is no checkpoint: copies that are there are looked for, and synced, anew.
    pub(super) fn is_in_vain(&mut self) {
        self.unsynced.clear();
        self.has_kernel = false;
        self.known.iter_mut().for_each(|k| k.kept = false);
    }

    /// The file with this number, which is mapped as `path`.
    fn known_as(&mut self, number: (String, u64), path: &str) -> Option<Known> {
        match self.known.iter().position(|k| k.number == number) {
            Some(i) => Some(self.known.swap_remove(i)),
            None => image::recognise(path).map(|file| Known { number, file, kept: false }),
        }
    }

    /// A checkpoint is complete, and an older one may be gone: so are the copies that none names any more.
    pub(super) fn remove_unnamed(&mut self, settings: &Settings) -> Option<Told> {
        if !settings.contained || self.is_tidy {
            return None;
        }
        let removed = file_copies::remove_unnamed(&settings.dir).map(|all| self.is_tidy = all);
        let why = removed.err()?;
        Some((format!("copies that no checkpoint needs are not removed: {why}"), "unnamed copies".into()))
    }
}

fn no_copy(path: &str, why: &dyn std::fmt::Display) -> String {
    format!("the checkpoints have no copy of {path}: {why}; a restart needs that file")
}

/// Has the file of `m` no shared mapping?
fn is_private(maps: &[Map], m: &Map) -> bool {
    !maps.iter().any(|o| o.shared && (&o.dev, o.inode) == (&m.dev, m.inode))
}

#[cfg(test)]
mod tests;
