//! Where a step's input comes from and its output goes to. What it has written to somebody who reads it (a
//! pipe, `x=$(./a)`) is gone, so it is written again; what goes where the output of the run itself goes is
//! there already.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What a descriptor is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Closed, a terminal, or a device like /dev/null.
    Nothing,
    /// The output of the run itself.
    Own,
    /// A regular file.
    File(PathBuf),
    /// A pipe or a socket.
    Other,
}

/// Standard input, output and error of this process.
#[derive(Clone, Debug)]
pub(super) struct Streams([Stream; 3]);

fn place(path: &str) -> Option<(u64, u64, u64)> {
    fs::metadata(path).ok().map(|m| (m.dev(), m.ino(), m.rdev()))
}

impl Streams {
    /// Those of the calling process, in the run of process `front`.
    pub(super) fn look(front: u32) -> Self {
        let run = [1, 2].map(|fd| place(&format!("/proc/{front}/fd/{fd}")));
        Self([0, 1, 2].map(|fd| {
            let path = format!("/proc/self/fd/{fd}");
            let Ok(about) = fs::metadata(&path) else { return Stream::Nothing };
            let (kind, own) = (about.file_type(), place(&path));
            if fd != 0 && run.contains(&own) {
                return Stream::Own;
            }
            match fs::read_link(&path) {
                _ if kind.is_char_device() => Stream::Nothing,
                Ok(name) if kind.is_file() => Stream::File(name),
                _ => Stream::Other,
            }
        }))
    }

    /// The regular files among them.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|s| match s {
            Stream::File(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// The input.
    pub(super) fn input(&self) -> &Stream {
        &self.0[0]
    }

    /// The regular files that the output goes to, with their descriptors.
    pub(super) fn output_files(&self) -> impl Iterator<Item = (i32, &Path)> {
        (1..).zip(&self.0[1..]).filter_map(|(fd, s)| match s {
            Stream::File(path) => Some((fd, path.as_path())),
            _ => None,
        })
    }

    /// Why what it has written has to be written again, if so.
    pub(super) fn is_read(&self) -> Option<&'static str> {
        self.0[1..].contains(&Stream::Other).then_some("its output goes to a pipe")
    }

    /// Are messages heard where those of the run are?
    pub(super) fn is_heard(&self) -> bool {
        self.0[2] == Stream::Own
    }
}
