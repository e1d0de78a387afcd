//! System calls that fail: the kernel asks us before it makes those by which files are opened, written and
//! named (seccomp's user notification), and we answer for it. So any program can be given any error at any
//! call.

use super::*;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It fails with this number.
    Error(i32),
    /// If it writes: one byte is written.
    Short,
}

/// What the kernel was asked for.
#[derive(Debug, Default)]
pub struct Seen {
    /// So many calls were about the files.
    pub calls: u64,
    /// The one that failed.
    pub failed: Option<String>,
}

const CALLS: [i64; 16] = [
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_mkdir,
    libc::SYS_flock,
];
const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;
const CONTINUE: u32 = 1;

/// Runs `c`; of the calls about files in whose path one of `words` is the one with number `at` fails (from 1
/// on; 0: none). None: the system does not let us.
pub fn run(mut c: Command, words: &[&str], at: u64, how: How) -> Option<(Run, Seen)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    let program = filter();
    // SAFETY: system calls only, of what was made before.
    unsafe {
        c.pre_exec(move || {
            listen(&program, theirs.as_raw_fd());
            Ok(())
        });
    }
    c.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    std::thread::scope(|s| {
        let answers = s.spawn(move || {
            let listener = receive(ours.as_raw_fd())?;
            Some(answer(&listener, words, at, how))
        });
        let child = started(&mut c);
        // The closure's end of the pair goes with it.
        drop(c);
        let run = ended(child, LIMIT);
        Some((run, answers.join().expect("it answers")?))
    })
}

/// The filter: these calls are told to us, all others are made.
fn filter() -> Vec<libc::sock_filter> {
    let op = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let load = op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0);
    let n = CALLS.len();
    let jump =
        |(i, nr): (usize, &i64)| op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, (n - i) as u8, *nr as u32);
    let end = |what| op(libc::BPF_RET | libc::BPF_K, 0, what);
    let mut all = vec![load];
    all.extend(CALLS.iter().enumerate().map(jump));
    all.extend([end(libc::SECCOMP_RET_ALLOW), end(libc::SECCOMP_RET_USER_NOTIF)]);
    all
}

/// In the child: the filter holds from now on; what is told goes to a descriptor that is sent to `to`, with a
/// byte that is not 0.
fn listen(program: &[libc::sock_filter], to: RawFd) {
    let whole = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: system calls of structures of ours.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let how = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        let fd =
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, how, &raw const whole) as RawFd;
        let mut text = [u8::from(fd >= 0)];
        let mut vector = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: 1 };
        let mut room = [0u64; 4];
        let mut message: libc::msghdr = zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut vector, 1);
        if fd >= 0 {
            (message.msg_control, message.msg_controllen) =
                (room.as_mut_ptr().cast(), libc::CMSG_SPACE(4) as usize);
            let c = libc::CMSG_FIRSTHDR(&raw const message);
            (*c).cmsg_level = libc::SOL_SOCKET;
            (*c).cmsg_type = libc::SCM_RIGHTS;
            (*c).cmsg_len = libc::CMSG_LEN(4) as usize;
            libc::CMSG_DATA(c).cast::<RawFd>().write_unaligned(fd);
        }
        libc::sendmsg(to, &raw const message, 0);
        libc::close(fd);
    }
}

fn receive(from: RawFd) -> Option<OwnedFd> {
    // SAFETY: system calls of structures of ours; the descriptor becomes ours.
    unsafe {
        let (mut text, mut room) = ([0u8], [0u64; 4]);
        let mut vector = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: 1 };
        let mut message: libc::msghdr = zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut vector, 1);
        (message.msg_control, message.msg_controllen) = (room.as_mut_ptr().cast(), size_of_val(&room));
        let n = libc::recvmsg(from, &raw mut message, libc::MSG_CMSG_CLOEXEC);
        let c = libc::CMSG_FIRSTHDR(&raw const message);
        if n != 1 || text[0] == 0 || c.is_null() {
            return None;
        }
        Some(OwnedFd::from_raw_fd(libc::CMSG_DATA(c).cast::<RawFd>().read_unaligned()))
    }
}

/// Answers until nobody is left who asks.
fn answer(listener: &OwnedFd, words: &[&str], at: u64, how: How) -> Seen {
    let mut seen = Seen::default();
    loop {
        let mut ready = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: structures of ours; zeros are values of them.
        unsafe {
            libc::poll(&raw mut ready, 1, -1);
            if ready.revents & libc::POLLIN == 0 {
                return seen;
            }
            let mut asked: libc::seccomp_notif = zeroed();
            if libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut asked) < 0 {
                continue;
            }
            let mut reply: libc::seccomp_notif_resp = zeroed();
            (reply.id, reply.flags) = (asked.id, CONTINUE);
            let about = described(&asked);
            if words.iter().any(|w| about.contains(w)) {
                seen.calls += 1;
                if seen.calls == at {
                    fail(&asked, how, &mut reply);
                    seen.failed = Some(about);
                }
            }
            libc::ioctl(listener.as_raw_fd(), SEND, &raw mut reply);
        }
    }
}

fn fail(asked: &libc::seccomp_notif, how: How, reply: &mut libc::seccomp_notif_resp) {
    let writes = [libc::SYS_write, libc::SYS_pwrite64].contains(&i64::from(asked.data.nr));
    match how {
        How::Error(number) => (reply.error, reply.flags) = (-number, 0),
        How::Short if writes && asked.data.args[2] > 1 => {
            let written = write_one(asked);
            if written.is_ok() {
                (reply.val, reply.flags) = (1, 0);
            }
        }
        How::Short => {}
    }
}

/// Writes the first byte for who asks.
fn write_one(asked: &libc::seccomp_notif) -> io::Result<()> {
    let byte = &text_at(asked, asked.data.args[1], 1)[..];
    let path = format!("/proc/{}/fd/{}", asked.pid, asked.data.args[0]);
    if i64::from(asked.data.nr) == libc::SYS_pwrite64 {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all_at(byte, asked.data.args[3]);
    }
    // Its descriptor, with its offset.
    // SAFETY: plain calls; the descriptor becomes ours.
    unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, asked.pid, 0) as RawFd;
        let fd = libc::syscall(libc::SYS_pidfd_getfd, process, asked.data.args[0], 0) as RawFd;
        libc::close(process);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        io::Write::write_all(&mut std::fs::File::from_raw_fd(fd), byte)
    }
}

/// Bytes of the memory of who asks.
fn text_at(asked: &libc::seccomp_notif, at: u64, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; most];
    let memory = std::fs::File::open(format!("/proc/{}/mem", asked.pid));
    let n = memory.and_then(|m| m.read_at(&mut bytes, at)).unwrap_or(0);
    bytes.truncate(n);
    bytes
}

/// The call, with the names of its files.
fn described(asked: &libc::seccomp_notif) -> String {
    let nr = i64::from(asked.data.nr);
    let a = asked.data.args;
    let name = |at: u64| {
        let text = text_at(asked, at, 256);
        String::from_utf8_lossy(text.split(|&b| b == 0).next().unwrap_or(&[])).into_owned()
    };
    let open = |fd: u64| {
        let link = std::fs::read_link(format!("/proc/{}/fd/{fd}", asked.pid));
        link.map_or(String::new(), |l| l.display().to_string())
    };
    match nr {
        libc::SYS_open | libc::SYS_unlink | libc::SYS_mkdir => format!("{nr} {}", name(a[0])),
        libc::SYS_rename => format!("{nr} {} {}", name(a[0]), name(a[1])),
        libc::SYS_openat | libc::SYS_unlinkat => format!("{nr} {}/{}", open(a[0]), name(a[1])),
        libc::SYS_renameat | libc::SYS_renameat2 => {
            format!("{nr} {}/{} {}/{}", open(a[0]), name(a[1]), open(a[2]), name(a[3]))
        }
        _ => format!("{nr} {}", open(a[0])),
    }
}
