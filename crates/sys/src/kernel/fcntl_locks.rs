//! Which files are locked (fcntl(2)): a process gives such a lock back when it closes any of its descriptors for the file.

use crate::sys;

/// Longer than what matters of a line of /proc/locks.
const LINE: usize = 160;

/// May a file with this inode be locked, by this process or another? Yes, if the system does not say. System calls and memory of the stack only.
pub fn held(inode: u64) -> bool {
    // SAFETY: a C string; our descriptor; a writable buffer.
    unsafe {
        let fd =
            sys!(libc::SYS_openat, libc::AT_FDCWD, c"/proc/locks".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return true;
        }
        let mut lines = Lines { line: [0; LINE], len: 0, inode, found: false };
        let mut bytes = [0u8; 1024];
        loop {
            let n = sys!(libc::SYS_read, fd, bytes.as_mut_ptr(), bytes.len());
            if n <= 0 {
                break;
            }
            bytes[..n as usize].iter().for_each(|&b| lines.add(b));
        }
        sys!(libc::SYS_close, fd);
        lines.found
    }
}

/// Reads lines like `1: POSIX  ADVISORY  WRITE 3548 fd:00:1234567 0 EOF`.
struct Lines {
    line: [u8; LINE],
    len: usize,
    inode: u64,
    found: bool,
}

impl Lines {
    fn add(&mut self, b: u8) {
        if b != b'\n' {
            if self.len < LINE {
                self.line[self.len] = b;
                self.len += 1;
            }
            return;
        }
        let mut words = self.line[..self.len].split(|&b| b == b' ').filter(|w| !w.is_empty());
        let is_lock = words.any(|w| w == b"POSIX");
        let file = words.nth(3).and_then(|w| w.rsplit(|&b| b == b':').next());
        let inode = file.and_then(|f| core::str::from_utf8(f).ok()?.parse().ok());
        self.found |= is_lock && inode == Some(self.inode);
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_lock_of_this_process_is_seen() {
        let path = std::env::temp_dir().join(format!("promp-locks-{}", std::process::id()));
        let file = std::fs::File::create(&path).unwrap();
        let inode = file.metadata().unwrap().ino();
        assert!(!held(inode));
        // SAFETY: zeros are a lock on everything once its kind is set; the kernel reads it.
        unsafe {
            let mut lock: libc::flock = core::mem::zeroed();
            lock.l_type = libc::F_WRLCK as _;
            assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock), 0);
        }
        assert!(held(inode));
        std::fs::remove_file(path).unwrap();
    }
}
