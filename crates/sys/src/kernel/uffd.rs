//! userfaultfd(2). Three kinds: one that *notes* — the kernel itself lets every write go on and remembers
//! the page (Linux 6.7; pagemap.rs asks for them) —, one that *holds* writes until somebody lets them go on,
//! and one that *awaits* the first access to pages that are missing. A mapping belongs to one at a time.

use crate::sys;
use crate::syscall::high;

/// A userfaultfd.
#[derive(Debug)]
pub struct Uffd(pub i32);

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Range {
    start: u64,
    len: u64,
}

impl Range {
    fn of((start, end): (usize, usize)) -> Self {
        Self { start: start as u64, len: (end - start) as u64 }
    }
}

#[repr(C)]
struct Register {
    range: Range,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct WriteProtect {
    range: Range,
    mode: u64,
}

#[repr(C)]
struct Copy {
    to: u64,
    from: u64,
    len: u64,
    mode: u64,
    copied: i64,
}

#[repr(C)]
struct Zero {
    range: Range,
    mode: u64,
    done: i64,
}

const UFFDIO_WAKE: u64 = 0x8010_aa02;
const UFFDIO_COPY: u64 = 0xc028_aa03;
const UFFDIO_ZEROPAGE: u64 = 0xc020_aa04;
const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const UFFDIO_UNREGISTER: u64 = 0x8010_aa01;
const UFFDIO_WRITEPROTECT: u64 = 0xc018_aa06;
/// Of /dev/userfaultfd.
const USERFAULTFD_IOC_NEW: u64 = 0xaa00;
const REGISTER_MODE_MISSING: u64 = 1;
const REGISTER_MODE_WP: u64 = 2;
const PROTECT_MODE_WP: u64 = 1;
const USER_MODE_ONLY: i32 = 1;
const PAGEFAULT_FLAG_WP: u64 = 1 << 0;
const THREAD_ID: u64 = 1 << 8;
/// Linux 5.18; before, addresses are those of pages.
const EXACT_ADDRESS: u64 = 1 << 11;
const EVENT_REMAP: u64 = 1 << 2;
const EVENT_REMOVE: u64 = 1 << 3;
const EVENT_UNMAP: u64 = 1 << 6;
const WP_ASYNC: u64 = 1 << 15;
/// In a message: the access is a write; to a page that is there and protected.
const BY_WRITE: usize = 1 << 0;
const PROTECTED: usize = 1 << 1;
const TOLD_PAGEFAULT: u8 = 0x12;
const TOLD_REMAP: u8 = 0x14;
const TOLD_REMOVE: u8 = 0x15;
const TOLD_UNMAP: u8 = 0x16;

const FLAGS: i32 = libc::O_CLOEXEC | libc::O_NONBLOCK;

/// A userfaultfd that the kernel itself waits for, too, if we may have one. Negative: an error.
fn open() -> isize {
    // SAFETY (whole function): plain calls, a C string.
    let fd = unsafe { sys!(libc::SYS_userfaultfd, FLAGS) };
    if fd >= 0 {
        return fd;
    }
    let path = c"/dev/userfaultfd".as_ptr();
    let device = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_RDWR | libc::O_CLOEXEC) };
    if device < 0 {
        return fd;
    }
    let fd = unsafe { sys!(libc::SYS_ioctl, device, USERFAULTFD_IOC_NEW, FLAGS) };
    unsafe { sys!(libc::SYS_close, device) };
    fd
}

/// `request` takes a pointer to a `T`.
fn ioctl<T>(fd: i32, request: u64, arg: &mut T) -> isize {
    // SAFETY: the requests in this file are used with the structures they take.
    unsafe { sys!(libc::SYS_ioctl, fd, request, arg as *mut T) }
}

/// What has happened to a mapping whose writes are held, or whose missing pages are awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread waits to write here.
    Write(usize),
    /// A thread, which has this id, waits for a missing page, to read here or to write.
    Missing {
        /// Where.
        at: usize,
        /// Is it about to write?
        writes: bool,
        /// Who.
        by: u32,
    },
    /// What was in [.0, .1) is not there any more, or will not be when this is known; the thread that did it waits until then.
    Gone(usize, usize),
    /// It was moved: from where, to where, how many bytes.
    Moved(usize, usize, usize),
}

/// The kernel's `struct uffd_msg`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Message {
    event: u8,
    rest: [u8; 7],
    arg: [u64; 3],
}

impl Message {
    fn read(self) -> Option<Event> {
        let [a, b, c] = self.arg.map(|a| a as usize);
        match self.event {
            TOLD_PAGEFAULT if a & PROTECTED != 0 => Some(Event::Write(b)),
            TOLD_PAGEFAULT => Some(Event::Missing { at: b, writes: a & BY_WRITE != 0, by: c as u32 }),
            TOLD_REMAP => Some(Event::Moved(a, b, c)),
            TOLD_REMOVE | TOLD_UNMAP => Some(Event::Gone(a, b)),
            _ => None,
        }
    }
}

impl Uffd {
    /// One that notes writes, if this kernel can.
    pub fn noting() -> Option<Self> {
        let fd = match open() {
            // What is noted the kernel notes for its own writes, too.
            // SAFETY: plain call.
            e if e < 0 => unsafe { sys!(libc::SYS_userfaultfd, FLAGS | USER_MODE_ONLY) },
            fd => fd,
        };
        Self(high(fd)).begin(WP_ASYNC)
    }

    /// One that holds writes, those of system calls, too: it takes a privilege (CAP_SYS_PTRACE), the system's permission
    /// (vm.unprivileged_userfaultfd), or that to use /dev/userfaultfd.
    pub fn holding() -> Option<Self> {
        Self(high(open())).begin(PAGEFAULT_FLAG_WP | EVENT_REMAP | EVENT_REMOVE | EVENT_UNMAP)
    }

    /// One that awaits the first access to missing pages, by system calls, too; what it takes is what
    /// [`Uffd::holding`] takes.
    pub fn awaiting() -> Option<Self> {
        Self(high(open())).begin(THREAD_ID | EXACT_ADDRESS | EVENT_REMAP | EVENT_REMOVE | EVENT_UNMAP)
    }

    fn begin(self, features: u64) -> Option<Self> {
        let mut api = Api { api: 0xaa, features, ioctls: 0 };
        (self.0 >= 0 && ioctl(self.0, UFFDIO_API, &mut api) == 0).then_some(self)
    }

    /// Writes to the mappings in `range` are this one's affair, once their pages are armed or protected. False if they are another one's, or cannot be.
    pub fn watch(&self, range: (usize, usize)) -> bool {
        let mut arg = Register { range: Range::of(range), mode: REGISTER_MODE_WP, ioctls: 0 };
        ioctl(self.0, UFFDIO_REGISTER, &mut arg) == 0
    }

    /// Who comes to a missing page of `range` waits from here on until it is provided. False if it is another
    /// one's affair, or cannot be.
    pub fn await_missing(&self, range: (usize, usize)) -> bool {
        let mut arg = Register { range: Range::of(range), mode: REGISTER_MODE_MISSING, ioctls: 0 };
        ioctl(self.0, UFFDIO_REGISTER, &mut arg) == 0
    }

    /// The missing pages from `to` on, which are awaited, hold what is in `content` from here on, or zeros,
    /// for so many bytes; who waits there goes on. EEXIST if one is there already; other errors as of
    /// [`Uffd::hold`].
    pub fn provide(&self, to: usize, len: usize, content: Option<&[u8]>) -> Result<(), i32> {
        let e = match content {
            Some(c) => {
                let from = c[..len].as_ptr() as u64;
                let mut arg = Copy { to: to as u64, from, len: len as u64, mode: 0, copied: 0 };
                ioctl(self.0, UFFDIO_COPY, &mut arg)
            }
            None => {
                let mut arg = Zero { range: Range::of((to, to + len)), mode: 0, done: 0 };
                ioctl(self.0, UFFDIO_ZEROPAGE, &mut arg)
            }
        };
        if e == 0 { Ok(()) } else { Err(-e as i32) }
    }

    /// Who waits in `range` looks again. False if the descriptor is none of this kind any more.
    pub fn wake(&self, range: (usize, usize)) -> bool {
        ioctl(self.0, UFFDIO_WAKE, &mut Range::of(range)) == 0
    }

    /// They are nobody's affair any more. Threads that wait to write there go on, and marks are taken off.
    pub fn unwatch(&self, range: (usize, usize)) {
        ioctl(self.0, UFFDIO_UNREGISTER, &mut Range::of(range));
    }

    /// As [`Uffd::unwatch`], for a mapping to which nobody can write until it is another one's affair; marks may stay. To take them off takes 0.1 µs a page,
    /// one after the other. They are not looked at when a mapping is watched for something else (userfaultfd(2): pages that are missing), and not when
    /// it is given up then. Meanwhile the kernel itself may come to such a page; it waits, unless only a thread of the program's can wait.
    pub fn hand_over(&self, range: (usize, usize)) {
        let mut arg = Register { range: Range::of(range), mode: REGISTER_MODE_MISSING, ioctls: 0 };
        ioctl(self.0, UFFDIO_REGISTER, &mut arg);
        self.unwatch(range);
    }

    /// Writes to the pages of `range` that have content are held from here on. The error is the kernel's: EAGAIN while something else happens to
    /// a mapping of this one's of which nobody has heard yet.
    pub fn hold(&self, range: (usize, usize)) -> Result<(), i32> {
        self.mark(range, PROTECT_MODE_WP)
    }

    /// Takes marks off the pages of `range`, which is watched: all are written then, and who waits to write there goes on. Errors
    /// as of [`Uffd::hold`]; it is one if a part of `range` is not watched.
    pub fn clear(&self, range: (usize, usize)) -> Result<(), i32> {
        self.mark(range, 0)
    }

    fn mark(&self, range: (usize, usize), mode: u64) -> Result<(), i32> {
        let mut arg = WriteProtect { range: Range::of(range), mode };
        match ioctl(self.0, UFFDIO_WRITEPROTECT, &mut arg) {
            0 => Ok(()),
            e => Err(-e as i32),
        }
    }

    /// Waits until there is something to be read, at most `ns` nanoseconds, less than a second.
    pub fn wait(&self, ns: Option<u64>) {
        let mut fd = libc::pollfd { fd: self.0, events: libc::POLLIN, revents: 0 };
        let time = ns.map(|ns| libc::timespec { tv_sec: 0, tv_nsec: ns as i64 });
        let time = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: both outlive the call.
        unsafe { sys!(libc::SYS_ppoll, &raw mut fd, 1, time, 0, 0, 0) };
    }

    /// What has happened, one after the other; `None` when there is nothing more.
    pub fn read(&self) -> Option<Event> {
        loop {
            let mut m = Message::default();
            // SAFETY: a message is written.
            let n = unsafe { sys!(libc::SYS_read, self.0, &raw mut m, size_of::<Message>()) };
            if n != size_of::<Message>() as isize {
                return None;
            }
            if let Some(event) = m.read() {
                return Some(event);
            }
        }
    }
}

impl Drop for Uffd {
    fn drop(&mut self) {
        if self.0 >= 0 {
            // SAFETY: a descriptor of ours. Threads that wait go on.
            unsafe { sys!(libc::SYS_close, self.0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall;
    use core::sync::atomic::{AtomicBool, Ordering::*};

    const PAGE: usize = 4096;

    fn pages(n: usize) -> (usize, usize) {
        let at = syscall::map_anonymous(n * PAGE).unwrap() as usize;
        (0..n).for_each(|i| write(at + i * PAGE, 1));
        (at, at + n * PAGE)
    }

    fn write(at: usize, value: u8) {
        // SAFETY: memory that the tests have mapped.
        unsafe { (at as *mut u8).write_volatile(value) };
    }

    /// What happens next.
    fn next(uffd: &Uffd) -> Event {
        let events = core::iter::repeat_with(|| {
            uffd.wait(None);
            uffd.read()
        });
        events.flatten().next().unwrap()
    }

    #[test]
    fn writes_are_held_until_they_may_go_on() {
        let Some(uffd) = Uffd::holding() else {
            eprintln!("SKIPPED: no permission to hold writes of system calls (userfaultfd)");
            return;
        };
        let (start, end) = pages(4);
        assert!(uffd.watch((start, end)) && uffd.hold((start, end)).is_ok());
        let went_on = AtomicBool::new(false);
        std::thread::scope(|s| {
            // By a system call: the second page.
            s.spawn(|| {
                let (file, buffer) = (std::fs::File::open("/proc/self/maps").unwrap(), start + PAGE);
                // SAFETY: a page of the test's memory.
                let buffer = unsafe { core::slice::from_raw_parts_mut(buffer as *mut u8, 16) };
                let n = std::io::Read::read(&mut &file, buffer).unwrap();
                went_on.store(true, Release);
                assert_eq!(n, 16);
            });
            assert_eq!(next(&uffd), Event::Write(start + PAGE));
            // SAFETY: as above.
            assert_eq!(unsafe { ((start + PAGE) as *const u8).read_volatile() }, 1);
            assert!(!went_on.load(Acquire));
            assert_eq!(uffd.clear((start + PAGE, start + 2 * PAGE)), Ok(()));
        });
        assert!(went_on.load(Acquire));
        // It is told before a thread goes on that has given memory back.
        std::thread::scope(|s| {
            // SAFETY: the test's memory, which is not used any more.
            s.spawn(|| unsafe { sys!(libc::SYS_munmap, start + 2 * PAGE, PAGE) });
            uffd.wait(None);
            assert_eq!(uffd.hold((start, start + PAGE)), Err(libc::EAGAIN));
            assert_eq!(uffd.read(), Some(Event::Gone(start + 2 * PAGE, start + 3 * PAGE)));
        });
        uffd.unwatch((start, start + PAGE));
        write(start, 2);
    }

    #[test]
    fn a_mapping_is_handed_over() {
        let (Some(noting), Some(holding)) = (Uffd::noting(), Uffd::holding()) else { return };
        let range = pages(3);
        // Marked when it is handed over, and written to while it is nobody's.
        assert!(noting.watch(range) && noting.hold(range).is_ok());
        noting.hand_over(range);
        write(range.0, 2);
        assert!(holding.watch(range) && holding.hold(range).is_ok());
        std::thread::scope(|s| {
            for page in (range.0..range.1).step_by(PAGE) {
                s.spawn(move || write(page, 3));
            }
            for _ in 0..3 {
                let Event::Write(at) = next(&holding) else { panic!("not a write") };
                // SAFETY: a page of the test's.
                assert!(unsafe { (at as *const u8).read_volatile() } < 3);
                assert_eq!(holding.clear((at / PAGE * PAGE, at / PAGE * PAGE + PAGE)), Ok(()));
            }
        });
        // What is missing then is not this one's affair any more.
        let range = pages(1);
        assert!(noting.watch(range));
        noting.hand_over(range);
        // SAFETY: the test's memory.
        unsafe { sys!(libc::SYS_madvise, range.0, PAGE, libc::MADV_DONTNEED) };
        write(range.0, 1);
    }

    #[test]
    fn a_mapping_belongs_to_one() {
        let (Some(noting), Some(holding)) = (Uffd::noting(), Uffd::holding()) else { return };
        let range = pages(2);
        assert!(noting.watch(range) && !holding.watch(range));
        noting.unwatch(range);
        assert!(holding.watch(range) && !noting.watch(range));
    }
}
