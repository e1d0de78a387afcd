//! Files that would grow longer than the process may make them (RLIMIT_FSIZE, `ulimit -f`), and pipes that
//! nobody reads.

/// What the kernel sends to a thread that writes to these.
const SIGNALS: u64 = 1 << (libc::SIGXFSZ - 1) | 1 << (libc::SIGPIPE - 1);

/// Does something by which a file may become too long, or a pipe may have no reader: that is an error then
/// (EFBIG, EPIPE), and not the signal that ends the program. System calls only; `errno` stays as it is.
pub fn within_limit<R>(make: impl FnOnce() -> R) -> R {
    let (mut before, mut pending, size) = (0u64, 0u64, size_of::<u64>());
    let (now, none) = (libc::timespec { tv_sec: 0, tv_nsec: 0 }, core::ptr::null_mut::<u64>());
    // SAFETY: the kernel reads and writes words of ours; `errno` is the calling thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let kept = *errno;
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &SIGNALS, &raw mut before, size);
        libc::syscall(libc::SYS_rt_sigpending, &raw mut pending, size);
        let made = make();
        let before_it = pending;
        libc::syscall(libc::SYS_rt_sigpending, &raw mut pending, size);
        let ours = SIGNALS & pending & !before_it;
        if ours != 0 {
            // Nobody shall get it.
            libc::syscall(libc::SYS_rt_sigtimedwait, &raw const ours, none, &raw const now, size);
        }
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const before, none, size);
        // The runtime's own hosts may have a thread's that goes on meanwhile.
        if *errno != kept {
            *errno = kept;
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_pipe_without_a_reader_is_an_error() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        drop(reader);
        // SAFETY: tests of this process do not write to such pipes otherwise.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let e = within_limit(|| writer.write(&[1])).unwrap_err();
        assert_eq!(e.kind(), std::io::ErrorKind::BrokenPipe);
    }

    /// In a process of its own: the limit is the process's.
    #[test]
    fn too_long_is_an_error() {
        let s = crate::Scratch::new("promp-file-size").unwrap();
        let path = s.path().join("a");
        // SAFETY: the child makes system calls, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let limit = libc::rlimit { rlim_cur: 1000, rlim_max: 1000 };
            // SAFETY: reads a structure of ours.
            unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
            let mut f = std::fs::File::create(&path).unwrap();
            let first = within_limit(|| f.write(&[1; 2000]));
            let then = within_limit(|| f.write(&[1; 2000]));
            let replaced = crate::replace(&path, &[2; 2000]);
            let good = matches!(first, Ok(1000))
                && [then.map(drop), replaced]
                    .iter()
                    .all(|r| r.as_ref().is_err_and(|e| e.raw_os_error() == Some(libc::EFBIG)));
            // SAFETY: ends the process.
            unsafe { libc::_exit(if good { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: waits for the child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(std::fs::read(&path).unwrap(), [1; 1000], "nothing has taken its place");
    }
}
