//! One file that holds a checkpoint: what `promp export` writes and `promp import` reads. It is a tar in
//! zstd, so that anybody can look in (`tar --zstd -tf FILE`). All of its files are regular ones:
//!
//! ```text
//! promp.json   the first: the format, the generation, what the files behind it take on a disk ([`on_disk`])
//! …            files of a checkpoint directory with one generation: `pages` has its pages only, in the order
//!              of its index; the content of `link/NAME` is what the symbolic link NAME leads to
//! sums         the last: a line for each file before it, as `xxhsum -c` reads it (XXH3)
//! ```
//!
//! Nothing in the file is trusted before the sums have been compared: names are looked at, lengths are read
//! for, not allocated. What promp wrote before is read as well (format_3.rs).

mod format_3;
mod tar_form;

use crate::Failure;
use std::io::{self, Read};
pub use tar_form::Writer;

/// The longest name of a file.
const LONGEST: usize = 64;

/// Why an archive is not read.
#[derive(Debug)]
pub enum Problem {
    /// It is not one, it is damaged, or of another version.
    Bad(String),
    /// The system refuses.
    System(io::Error),
    /// Who takes the files refuses.
    Taker(Failure),
}

impl Problem {
    fn damaged(how: impl std::fmt::Display) -> Self {
        Self::Bad(format!("it is damaged ({how})"))
    }

    fn other_format(version: u64) -> Self {
        let which = if version > tar_form::FORMAT { "a newer" } else { "an older" };
        let (from, to) = (format_3::FORMAT, tar_form::FORMAT);
        Self::Bad(format!(
            "it is of {which} format, version {version}; this promp reads versions {from} to {to}"
        ))
    }
}

impl From<io::Error> for Problem {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::UnexpectedEof => Self::Bad("it is truncated".into()),
            // What neither the decompressor nor tar can make sense of.
            io::ErrorKind::Other | io::ErrorKind::InvalidData => Self::damaged(e),
            _ => Self::System(e),
        }
    }
}

/// What an archive says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// The generation.
    pub number: u64,
    /// What all its files take on a disk.
    pub room: u64,
}

/// Takes the files of an archive.
pub trait Taker {
    /// One of `length` bytes, all of which have to be read.
    fn file(&mut self, name: &str, length: u64, content: &mut dyn Read) -> Result<(), Problem>;
}

/// Hands the files of an archive to what `begin` makes, which is returned if all was as it was written.
pub fn read<T: Taker>(
    mut from: impl Read,
    begin: impl FnOnce(Head) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let mut start = [0; 8];
    from.read_exact(&mut start)?;
    let whole = (&start[..]).chain(from);
    match start {
        format_3::MAGIC => format_3::read(whole, begin),
        _ if start.starts_with(&ZSTD) => tar_form::read(whole, begin),
        _ => Err(Problem::Bad(NOT_ONE.into())),
    }
}

/// How a frame of zstd begins.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const NOT_ONE: &str = "it is not a file that `promp export` has written";

/// What a file of `length` bytes takes on a disk, with its name.
pub fn on_disk(length: u64) -> u64 {
    const BLOCK: u64 = 4096;
    length.checked_next_multiple_of(BLOCK).map_or(u64::MAX, |n| n.saturating_add(BLOCK))
}

/// Where symbolic links are.
pub const LINKS: &str = "link/";
/// The longest text of one, with a zero byte (Linux).
const LONGEST_LINK: u64 = libc::PATH_MAX as u64;

/// May a file of this name be in an archive of generation `number`?
pub fn is_named(name: &str, number: u64) -> bool {
    let numbers = |rest: &str| {
        !rest.is_empty() && rest.split('-').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    if let Some(link) = name.strip_prefix(LINKS) {
        return link.strip_prefix("undo-").is_some_and(|n| n.contains('-') && numbers(n));
    }
    name == "pages"
        || name == "state"
        || name.strip_prefix("gen-").is_some_and(|n| n == number.to_string())
        || name.strip_prefix("files/").is_some_and(promp_image::file_copies::is_name)
        || ["undo-", "sent-"].iter().any(|p| name.strip_prefix(p).is_some_and(numbers))
}

impl Head {
    /// The name of the next file, which has `length` bytes: it may be there, and there is room for it.
    fn admit(&mut self, name: &[u8], length: u64) -> Result<String, Problem> {
        match self.room.checked_sub(on_disk(length)) {
            Some(rest) => self.room = rest,
            None => return Err(Problem::damaged("it holds more than its header says")),
        }
        let name = std::str::from_utf8(name).ok().filter(|n| is_named(n, self.number));
        match name {
            Some(name) if name.starts_with(LINKS) && length >= LONGEST_LINK => {
                Err(Problem::damaged(format_args!("{name} leads nowhere")))
            }
            Some(name) => Ok(name.into()),
            None => Err(Problem::damaged("the name of a file")),
        }
    }
}

/// `length` bytes of what is read, each of which is told to `seen`; to end before is an error.
struct Content<'a, R, F> {
    from: &'a mut R,
    left: u64,
    seen: F,
}

impl<R: Read, F: FnMut(&[u8])> Read for Content<'_, R, F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = self.left.min(bytes.len() as u64) as usize;
        let n = self.from.read(&mut bytes[..most])?;
        if n == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= n as u64;
        (self.seen)(&bytes[..n]);
        Ok(n)
    }
}

#[cfg(test)]
mod tests;
