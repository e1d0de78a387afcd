//! A thread followed from system call to system call (ptrace), to kill its process at a certain one.

use std::mem::zeroed;

/// A system call that begins, or has been made.
pub struct Call {
    pub number: i64,
    pub arguments: [u64; 6],
    /// What it has returned.
    pub result: Option<i64>,
}

/// The kernel's `struct ptrace_syscall_info`.
#[repr(C)]
struct Info {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    places: [u64; 2],
    /// Entry: the number, the arguments. Exit: the result.
    words: [u64; 7],
}

/// Follows the first thread of process `pid`, and kills the process when `here` says so. False: it has ended
/// before. The error: the system does not let us.
pub fn kill_at(pid: i32, mut here: impl FnMut(&Call) -> bool) -> std::io::Result<bool> {
    let all = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
    let ask = |what, with: usize| {
        // SAFETY: nothing of this process is written.
        unsafe { libc::ptrace(what, pid, 0usize, with) }
    };
    if ask(libc::PTRACE_SEIZE, all as usize) < 0 {
        let why = std::io::Error::last_os_error();
        return if why.raw_os_error() == Some(libc::ESRCH) { Ok(false) } else { Err(why) };
    }
    ask(libc::PTRACE_INTERRUPT, 0);
    let mut call = Call { number: -1, arguments: [0; 6], result: None };
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes an integer.
        if unsafe { libc::waitpid(pid, &mut status, libc::__WALL) } != pid || !libc::WIFSTOPPED(status) {
            return Ok(false);
        }
        let signal = libc::WSTOPSIG(status);
        if signal == libc::SIGTRAP | 0x80 {
            // SAFETY: zeros are a value of it; the kernel writes at most so many bytes.
            let info: Info = unsafe {
                let mut i: Info = zeroed();
                libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size_of::<Info>(), &raw mut i);
                i
            };
            if info.op == libc::PTRACE_SYSCALL_INFO_ENTRY {
                let mut arguments = [0; 6];
                arguments.copy_from_slice(&info.words[1..]);
                call = Call { number: info.words[0] as i64, arguments, result: None };
            } else {
                call.result = Some(info.words[0] as i64);
            }
            if here(&call) {
                // SAFETY: plain calls. It dies where it is; its end is taken note of.
                unsafe {
                    libc::kill(pid, libc::SIGKILL);
                    while libc::waitpid(pid, &mut status, libc::__WALL) == pid && libc::WIFSTOPPED(status) {}
                }
                return Ok(true);
            }
        }
        // Stops that are no signal's: by us, or because the process is.
        let own = signal == libc::SIGTRAP | 0x80 || status >> 16 != 0;
        ask(libc::PTRACE_SYSCALL, if own { 0 } else { signal as usize });
    }
}
