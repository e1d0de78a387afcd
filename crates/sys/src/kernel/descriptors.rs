//! What is to be known of a descriptor beside its flags.

use std::os::fd::RawFd;

/// Arguments and results of fcntl(2) and of seals that libc has no name for yet.
const F_GETOWN_EX: i32 = 16;
const SEAL_EXEC: i32 = 0x20; // Linux 6.3
/// Where message queues of POSIX are.
const MQUEUE_MAGIC: i64 = 0x1980_0202;

fn file_system(fd: RawFd) -> Option<i64> {
    // SAFETY: zeros are a value of it; the kernel writes it.
    unsafe {
        let mut s: libc::statfs = core::mem::zeroed();
        (libc::syscall(libc::SYS_fstatfs, fd, &raw mut s) == 0).then_some(s.f_type)
    }
}

/// Is it a POSIX message queue? It looks like a file.
pub fn is_queue(fd: RawFd) -> bool {
    file_system(fd) == Some(MQUEUE_MAGIC)
}

/// May memory of memfd_create never be sealed? The error says why it cannot be made anew.
pub fn is_unsealable(fd: RawFd) -> Result<bool, &'static str> {
    // SAFETY: no pointers.
    let seals = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_GET_SEALS) as i32 };
    match seals & !SEAL_EXEC {
        _ if file_system(fd) != Some(libc::TMPFS_MAGIC) => Err("which has huge pages"),
        0 => Ok(false),
        libc::F_SEAL_SEAL => Ok(true),
        _ => Err("which is sealed"),
    }
}

/// Does it send signals to this process, one of its threads, or its group? (F_SETOWN, F_NOTIFY, leases)
pub fn sends_signals(fd: RawFd) -> bool {
    const GROUP: i32 = 2;
    let mut owner = [0i32; 2];
    // SAFETY: the kernel writes two integers.
    let r = unsafe { libc::syscall(libc::SYS_fcntl, fd, F_GETOWN_EX, owner.as_mut_ptr()) };
    let [kind, whose] = owner;
    if r != 0 || whose == 0 {
        return false;
    }
    match kind {
        // SAFETY: no pointers.
        GROUP => whose == unsafe { libc::getpgrp() },
        _ => std::fs::metadata(format!("/proc/self/task/{whose}")).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn owners_are_told_apart() {
        let (from, _to) = std::io::pipe().unwrap();
        let fd = from.as_raw_fd();
        let own = |who: i32| {
            // SAFETY: no pointers.
            assert_eq!(unsafe { libc::fcntl(fd, libc::F_SETOWN, who) }, 0);
            sends_signals(fd)
        };
        assert!(!sends_signals(fd));
        let (me, group) = (std::process::id() as i32, unsafe { libc::getpgrp() });
        assert_eq!([me, -group, 1, 0].map(own), [true, true, me == 1, false]);
    }

    #[test]
    fn memory_and_files() {
        // SAFETY: a C string; the descriptors stay open until the test ends.
        let [plain, sealable] =
            [0, libc::MFD_ALLOW_SEALING].map(|f| unsafe { libc::memfd_create(c"m".as_ptr(), f) });
        assert_eq!([plain, sealable].map(is_unsealable), [Ok(true), Ok(false)]);
        // SAFETY: no pointers.
        unsafe { libc::fcntl(sealable, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) };
        assert_eq!(is_unsealable(sealable), Err("which is sealed"));
        assert!(!is_queue(plain));
    }
}
