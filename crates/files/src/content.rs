//! What a file holds that others may have written: regular, and no longer than is sensible.

use crate::{open, stat_of};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::RawFd;
use std::path::Path;

/// Reads a regular file of at most `most` bytes: a pipe or a device may never end.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path, libc::O_RDONLY | libc::O_NONBLOCK)?;
    let about = stat_of(&file)?;
    if about.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Err(io::Error::other("it is no regular file"));
    }
    limited(file.into(), most)
}

/// Reads at most `most` bytes of what a user has named, which may be a pipe; an error if there are more.
pub fn read_any(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    limited(File::open(path)?, most)
}

fn limited(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {} MiB", most >> 20)));
    }
    Ok(content)
}

/// Copies `length` bytes from the beginning of one file to another. System calls only; `errno` stays as it
/// is.
pub fn copy(from: RawFd, to: RawFd, length: u64) -> io::Result<()> {
    let (none, mut left) = (core::ptr::null_mut::<i64>(), length);
    crate::within_limit(|| {
        while left > 0 {
            let most = left.min(1 << 30);
            // SAFETY: plain calls.
            let mut n = unsafe { libc::syscall(libc::SYS_copy_file_range, from, none, to, none, most, 0) };
            if n <= 0 {
                // Other kinds of file systems.
                // SAFETY: as above.
                n = unsafe { libc::syscall(libc::SYS_sendfile, to, from, none, most) };
            }
            match n {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n if n < 0 => return Err(io::Error::last_os_error()),
                n => left -= n as u64,
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused() {
        for device in ["/dev/zero", "/dev/tty", "/"] {
            assert!(read(Path::new(device), 10).is_err(), "{device}");
        }
        assert!(read_any(Path::new("/dev/zero"), 1 << 20).is_err_and(|e| e.to_string().contains("1 MiB")));
        let s = crate::Scratch::new("promp-content").unwrap();
        let path = s.path().join("a");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert!(read(&path, 9).is_err());
        let pipe = s.path().join("pipe");
        let name = crate::c(pipe.as_os_str()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(read(&pipe, 9).is_err(), "nobody waits");
    }
}
