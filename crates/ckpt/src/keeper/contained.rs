//! Self-contained checkpoints: copies of the program, its libraries, the loader and promp itself are kept
//! with them (crates/image/src/kept.rs), so that a restart does not need these files to be what they were.
//!
//! A file is known by its content, which is looked at when it is first seen to be mapped. If it is replaced
//! or removed while the program runs (an update of the system), the kernel goes on to tell of it as "PATH
//! (deleted)", with its number: from then on the checkpoints name its copy.
//!
//! Only files are copied that are mapped privately. What is shared is data, of any size, and has to stay.

use super::Keeper;
use crate::image::{self, Description, Map, kept};
use crate::memory;
use crate::sys::lock::Locked;
use crate::sys::maps;
use crate::sys::objects;
use crate::vdso;
use std::fs::File;

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
pub(crate) struct Known {
    /// Device and inode, as the kernel tells them of a mapping.
    number: (String, u64),
    /// How to know it again.
    file: image::MappedFile,
    /// Is there a copy?
    kept: bool,
}

const GONE: &str = " (deleted)";

impl Keeper {
    /// What files `about` has mapped. If checkpoints are self-contained: copies them. Returns the copies that
    /// are yet to be synced.
    pub(super) fn recognise(&mut self, about: &mut Description) -> Vec<File> {
        let (mut out, mut written): (Vec<image::MappedFile>, _) = (Vec::new(), Vec::new());
        let (mut moved, mut copies) = (Vec::new(), Vec::new());
        let mut known: Vec<Known> = Vec::new();
        let is_apart = memory::apart(&about.maps);
        for m in about.maps.iter().filter(|m| m.inode != 0 && !is_apart(m)) {
            let number = (m.dev.clone(), m.inode);
            if known.iter().any(|k| k.number == number) {
                continue;
            }
            let before = self.mapped.iter().position(|k| k.number == number);
            let mut k = match before.map(|i| self.mapped.swap_remove(i)) {
                Some(k) => k,
                None => match image::recognise(&m.path) {
                    Some(file) => Known { number, file, kept: false },
                    None => continue,
                },
            };
            if self.settings.contained && !k.kept && k.file.sum != 0 && is_private(&about.maps, m) {
                written.extend(self.copy_file(&mut k));
            }
            let mut file = k.file.clone();
            if m.path.ends_with(GONE) && k.kept {
                file.path = kept::place(&self.settings.dir, &k.file).to_string_lossy().into_owned();
                copies.push((k.number.clone(), file.path.clone()));
                moved.push(kept::Moved { from: k.file.path.clone(), to: file.path.clone() });
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
        self.has_unnamed |= self.mapped.iter().any(|k| k.kept);
        self.mapped = known;
        match about.kernel.as_ref().map_or(Ok(None), |k| vdso::keep_copy(&self.settings.dir, k)) {
            Ok(copy) => written.extend(copy),
            Err(why) => {
                self.tell(&format!("the checkpoints have no copy of the kernel's vDSO: {why}"), "vDSO")
            }
        }
        about.mapped = out;
        about.contained = self.settings.contained;
        if self.generation > 0 {
            about.libraries.clone_from(&self.last.libraries);
            about.loader.clone_from(&self.last.loader);
            about.executable.clone_from(&self.last.executable);
        } else {
            (about.libraries, about.loader) = loaded();
        }
        about.load_from(&moved);
        written
    }
}

impl Keeper {
    /// Makes a file's copy, if there is none yet. Returns it if it is yet to be synced.
    fn copy_file(&mut self, k: &mut Known) -> Option<File> {
        let (copy, path) = (kept::keep(&self.settings.dir, &k.file, None), &k.file.path);
        k.kept = copy.is_ok();
        copy.unwrap_or_else(|why| {
            let what = format!("the checkpoints have no copy of {path}: {why}; a restart needs that file");
            self.tell(&what, path);
            None
        })
    }

    /// A checkpoint is complete, and an older one may be gone: so are the copies that none names any more.
    pub(super) fn remove_unnamed(&mut self) {
        if !self.settings.contained || !self.has_unnamed {
            return;
        }
        match kept::remove_unnamed(&self.settings.dir) {
            Ok(all) => self.has_unnamed = !all,
            Err(why) => self
                .tell(&format!("copies that no checkpoint needs are not removed: {why}"), "unnamed copies"),
        }
    }
}

/// Has the file of `m` no shared mapping?
fn is_private(maps: &[Map], m: &Map) -> bool {
    !maps.iter().any(|o| o.shared && (&o.dev, o.inode) == (&m.dev, m.inode))
}
