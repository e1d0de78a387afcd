//! The list of the files that a step of a script opens (`promp run --steps`): the runtime adds to it, a line
//! for each; the command compares them when the step is to be continued, or left out.

use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use twox_hash::XxHash3_64;

/// What the mark beside a step's list ends with: another step is, or was, at work at the same time.
pub const AT_ONCE: &str = "at-once";
/// The content of longer ones is not read: when they were written counts.
const LONGEST: u64 = 64 << 20;
/// Bytes read at once: it happens on the program's stack, which may be a signal's.
const PIECE: usize = 2048;
/// What a file that was opened holds, as far as it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Held {
    /// So many bytes, with this sum.
    Bytes(u64, u64),
    /// It was not there.
    Nothing,
    /// It was opened for writing, too: what it held does not matter.
    Any,
}

impl Held {
    /// That of the regular file behind `fd`, whose offset stays. System calls only, and no memory.
    pub fn of(fd: RawFd) -> Option<Self> {
        // SAFETY: zeros are a value of it; the kernel writes it.
        let about = unsafe {
            let mut about: libc::stat64 = core::mem::zeroed();
            (libc::fstat64(fd, &raw mut about) == 0).then_some(about)?
        };
        let size = about.st_size as u64;
        if about.st_mode & libc::S_IFMT != libc::S_IFREG {
            return None;
        }
        if size > LONGEST {
            let sum = (about.st_mtime as u64) << 30 ^ about.st_mtime_nsec as u64;
            return Some(Self::Bytes(size, sum));
        }
        let (mut sum, mut at, mut piece) = (0, 0, [0u8; PIECE]);
        loop {
            // SAFETY: the kernel writes at most that many bytes.
            let n = unsafe { libc::pread64(fd, piece.as_mut_ptr().cast(), PIECE, at) };
            if n <= 0 {
                return (n == 0).then_some(Self::Bytes(at as u64, sum));
            }
            at += n as i64;
            sum = XxHash3_64::oneshot_with_seed(sum, &piece[..n as usize]);
        }
    }

    /// The head of a line; the path follows it, and a zero.
    pub fn head(self) -> [u8; HEAD] {
        let (kind, size, sum) = match self {
            Self::Bytes(size, sum) => (b'r', size, sum),
            Self::Nothing => (b'n', 0, 0),
            Self::Any => (b'w', 0, 0),
        };
        let mut head = [kind; HEAD];
        for (at, number) in [(1, size), (1 + DIGITS, sum)] {
            for i in 0..DIGITS {
                head[at + i] = b"0123456789abcdef"[(number >> (60 - 4 * i)) as usize & 15];
            }
        }
        head
    }
}

/// A number in hexadecimal digits.
const DIGITS: usize = 16;
/// Bytes in front of a line's path: what for, its length, its sum.
pub const HEAD: usize = 2 * DIGITS + 1;

/// Reads the list: files, from the root, and what they held. An error if it is none; a last line that is cut
/// off counts as none.
pub fn parse(list: &[u8]) -> io::Result<Vec<(PathBuf, Held)>> {
    let number = |digits: &[u8]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let line = |line: &[u8]| {
        let (head, path) = line.split_at_checked(HEAD)?;
        let held = match head[0] {
            b'w' => Held::Any,
            b'n' => Held::Nothing,
            _ => Held::Bytes(number(&head[1..=DIGITS])?, number(&head[1 + DIGITS..])?),
        };
        Some((OsStr::from_bytes(path).into(), held))
    };
    let Some(end) = list.iter().rposition(|b| *b == 0) else { return Ok(Vec::new()) };
    let all = list[..end].split(|b| *b == 0).map(line).collect::<Option<Vec<_>>>();
    all.ok_or_else(|| io::Error::other("it is no list of files"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::fd::AsRawFd;

    #[test]
    fn lines_are_read_as_written() {
        let held = Held::Bytes(7, u64::MAX);
        let mut list = Vec::new();
        for (held, path) in [(held, "/a b"), (Held::Any, "/x\ny"), (Held::Nothing, "/")] {
            list.extend(held.head());
            list.extend(path.as_bytes());
            list.push(0);
        }
        let all = parse(&list).unwrap();
        assert_eq!(all[0], ("/a b".into(), held));
        assert_eq!([all[1].1, all[2].1], [Held::Any, Held::Nothing]);
        // Cut off in its last line.
        assert_eq!(parse(&list[..list.len() - 1]).unwrap().len(), 2);
        assert_eq!(parse(b"").unwrap(), []);
        assert!(parse(b"short\0").is_err() && parse(&[b'z'; 40]).unwrap().is_empty());
        let bad = [&[b'r'; HEAD][..], b"/a\0"].concat();
        assert!(parse(&bad).is_err());
    }

    #[test]
    fn contents_differ() {
        let folder = promp_files::Scratch::new("opened").unwrap();
        let of = |text: &[u8]| {
            let path = folder.path().join("f");
            fs::write(&path, text).unwrap();
            Held::of(File::open(&path).unwrap().as_raw_fd()).unwrap()
        };
        let long = vec![b'x'; 3 * PIECE + 1];
        let mut other = long.clone();
        other[PIECE] = b'y';
        let all = [of(b""), of(b"a"), of(b"b"), of(&long), of(&other), of(&long[1..])];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "{i}");
        }
        assert_eq!(of(&long), all[3]);
        assert_eq!(Held::of(File::open(folder.path()).unwrap().as_raw_fd()), None);
    }
}
