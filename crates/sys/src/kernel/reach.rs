//! Signals that are sent to one thread reach it at every moment. A logical thread changes hosts, and between
//! two hosts there is nobody whom the kernel knows: what is sent to the old one then is lost, or the sender
//! hears that there is no such thread, and a collector that stops the world goes on without it.
//!
//! So `pthread_kill`, `pthread_sigqueue` and `tgkill` are this library's (and the same system calls by
//! `syscall` from the first change of a host on). They send as libc's do, but under a lock:
//!
//! ```text
//! at home --leaves--> on its way (what is sent is kept here) --arrives (and takes it)--> at home
//! ```
//!
//! The old host takes what waits for it when it has left, so nobody sends to it any more; the new one gives
//! it to itself, with what was kept, while it blocks all signals. Handlers run when it stands on the
//! thread's own stack. Who holds the lock blocks all signals, ours included: it can neither be stopped nor
//! frozen, and a handler that sends does not find the lock held by what it has interrupted.
//!
//! A thread whose host has ended without a word, and that nobody has found yet (death_watch.rs), is on its
//! way, too. A kernel's id that a thread had on an earlier host means the thread, as long as no other has it.
//!
//! All this is memory of the program's, and goes back with it: what was sent after a checkpoint is sent
//! again. A thread that fails in a way that only a rollback helps is on its way until then: its senders go
//! on until they are stopped for that.

use crate::lock::Locked;
use crate::pending_signals::{self, Info};
use crate::sys;
use crate::syscall::{self, getpid};
use crate::{death_watch, host, mutexes, signals};
use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicBool, Ordering::*};

/// Threads that can be on their way at once.
const TRAVELLERS: usize = 1024;
/// Signals that can be kept for them.
const LETTERS: usize = 256;
/// What the kernel says of a signal that tgkill(2) has sent.
const SI_TKILL: c_int = -6;

/// Who is on its way, and what was sent to it.
struct Post {
    /// Thread pointers and last ids; the first so many are in use.
    travellers: [(usize, u32); TRAVELLERS],
    count: usize,
    /// For whom, and what.
    letters: [(usize, Info); LETTERS],
    kept: usize,
}

static POST: Locked<Post> = Locked::new(Post {
    travellers: [(0, 0); TRAVELLERS],
    count: 0,
    letters: [(0, [0; 16]); LETTERS],
    kept: 0,
});

/// Can hosts change? Before that all is libc's affair alone.
static ON: AtomicBool = AtomicBool::new(false);

impl Post {
    /// Notes that a thread is on its way, if fewer than `most` are; false if there is no room.
    fn leaves(&mut self, thread: usize, id: u32, most: usize) -> bool {
        let room = self.count < most;
        if room {
            self.travellers[self.count] = (thread, id);
            self.count += 1;
        }
        room
    }

    fn is_away(&self, thread: usize) -> bool {
        self.travellers[..self.count].iter().any(|t| t.0 == thread)
    }

    /// Keeps a letter; false if there is no room.
    fn keep(&mut self, thread: usize, info: Info) -> bool {
        // One of the ordinary signals waits once.
        let signal = info[0] as u32;
        let same = |l: &(usize, Info)| l.0 == thread && l.1[0] as u32 == signal;
        if signal < 32 && self.letters[..self.kept].iter().any(same) {
            return true;
        }
        let room = self.kept < LETTERS;
        if room {
            self.letters[self.kept] = (thread, info);
            self.kept += 1;
        }
        room
    }

    /// Takes the next letter for `thread`.
    fn next(&mut self, thread: usize) -> Option<Info> {
        let i = self.letters[..self.kept].iter().position(|l| l.0 == thread)?;
        let info = self.letters[i].1;
        self.letters.copy_within(i + 1..self.kept, i);
        self.kept -= 1;
        Some(info)
    }
}

/// From now on hosts can change, and a child after fork is told of it ([`after_fork`]).
pub fn begin() {
    ON.store(true, Relaxed);
}

/// In a child after fork: nobody else is there.
pub fn after_fork() {
    POST.raw().reset();
    POST.with(|p| (p.count, p.kept) = (0, 0));
}

/// The thread with this thread pointer, whose host is `id`, is on its way. By the host itself, or for one
/// that has ended. All signals are blocked.
pub fn leaves(thread: usize, id: u32) {
    while !POST.with(|p| p.leaves(thread, id, TRAVELLERS)) {
        syscall::sched_yield(); // as many as there can be: they arrive
    }
}

/// The same for one that does not arrive: memory will be put back, and with it this note and what is sent
/// until then. Room is left for those that arrive; without any senders hear until then that there is no such
/// thread.
pub fn is_to_go_back(thread: usize, id: u32) {
    POST.with(|p| p.leaves(thread, id, TRAVELLERS / 2));
}

/// The calling host is the thread's now, and blocks all signals: it gets what has been kept.
pub fn arrives(thread: usize) {
    POST.with(|p| {
        while let Some(info) = p.next(thread) {
            pending_signals::give(&[info]);
        }
        if let Some(i) = p.travellers[..p.count].iter().position(|t| t.0 == thread) {
            p.count -= 1;
            p.travellers[i] = p.travellers[p.count];
        }
    });
}

/// Runs `f` with all signals blocked and the lock held.
fn undisturbed<R>(f: impl FnOnce(&mut Post) -> R) -> R {
    let mask = signals::block_all();
    let r = POST.with(f);
    signals::set_mask(mask);
    r
}

/// A signal as the kernel describes it.
fn letter(signal: c_int, code: c_int, value: u64) -> Info {
    // SAFETY: plain call.
    let user = unsafe { sys!(libc::SYS_getuid) } as u64;
    let mut info = [0; 16];
    info[0] = u64::from(signal as u32);
    info[1] = u64::from(code as u32);
    info[2] = u64::from(getpid()) | user << 32;
    info[3] = value;
    info
}

/// Is it one that can be sent to a thread, or 0, which only asks whether it is there?
fn is_signal(signal: c_int) -> bool {
    (0..32).contains(&signal) || (libc::SIGRTMIN()..=libc::SIGRTMAX()).contains(&signal)
}

/// What becomes of a signal for a thread that is on its way: an error's number.
fn keep(p: &mut Post, thread: usize, signal: c_int, letter: impl Fn() -> Info) -> c_int {
    if signal == 0 || p.keep(thread, letter()) { 0 } else { libc::EAGAIN }
}

/// Sends to the thread with this thread pointer: keeps it where it is on its way, else `real` does it.
fn send(thread: usize, signal: c_int, letter: impl Fn() -> Info, real: impl Fn() -> c_int) -> c_int {
    if !ON.load(Relaxed) || !is_signal(signal) {
        return real();
    }
    undisturbed(|p| {
        // SAFETY: a thread, by the promise of who calls libc's function.
        let ended = || unsafe { host::id_word(thread) }.is_some_and(|w| w.load(Acquire) == 0);
        if p.is_away(thread) || ended() && death_watch::unseen(thread, 0).is_some() {
            keep(p, thread, signal, letter)
        } else {
            real()
        }
    })
}

/// Who is meant by a kernel's id.
enum Meant {
    /// The thread with this thread pointer, which is on its way.
    Away(usize),
    /// The host with this id.
    Host(u32),
}

impl Meant {
    fn of(p: &Post, id: u32) -> Self {
        let away = p.travellers[..p.count].iter().find(|t| t.1 == id).map(|t| t.0);
        if let Some(thread) = away.or_else(|| death_watch::unseen(0, id)) {
            return Self::Away(thread);
        }
        // The process's first host stays when it has failed.
        let nobodys = |id| id == getpid() || !syscall::tgkill(id, 0);
        match mutexes::ids_before().find(|b| b.1 == id).filter(|_| nobodys(id)) {
            Some((thread, _)) if p.is_away(thread) => Self::Away(thread),
            Some((thread, _)) => Self::Host(host::id_if_there(thread).unwrap_or(id)),
            None => Self::Host(id),
        }
    }
}

/// Is it this process, by its number now or one that it had before a restart?
fn is_ours(process: u32) -> bool {
    process == getpid() || mutexes::ids_before().any(|b| b.1 == process)
}

/// Sends to a host of this process by the kernel's id. The kernel's result.
fn send_by_id(id: c_int, signal: c_int, letter: impl Fn() -> Info, real: impl Fn(u32) -> isize) -> isize {
    if !ON.load(Relaxed) || id <= 0 || !is_signal(signal) {
        return real(id as u32);
    }
    undisturbed(|p| match Meant::of(p, id as u32) {
        Meant::Away(thread) => -(keep(p, thread, signal, letter) as isize),
        Meant::Host(id) => real(id),
    })
}

/// tgkill(2), tkill(2) and rt_tgsigqueueinfo(2) as system calls: the kernel's result. `None`: another call,
/// or for another process.
///
/// # Safety
/// The arguments are what the kernel expects.
pub unsafe fn by_number(number: c_long, a: usize, b: usize, c: usize, d: usize) -> Option<isize> {
    let (id, signal) = match number {
        libc::SYS_tkill => (a as c_int, b as c_int),
        libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo if is_ours(a as u32) => (b as c_int, c as c_int),
        _ => return None,
    };
    Some(if number == libc::SYS_rt_tgsigqueueinfo {
        // SAFETY: by the caller's promise a description; it is read only if it is kept.
        let letter = || unsafe {
            let mut info = *(d as *const Info);
            info[0] = u64::from(signal as u32);
            info
        };
        // SAFETY: the caller's arguments, but for the ids.
        send_by_id(id, signal, letter, |id| unsafe { sys!(number, getpid(), id, c, d) })
    } else {
        // SAFETY: no pointers.
        let real = |id| unsafe { sys!(libc::SYS_tgkill, getpid(), id, signal) };
        send_by_id(id, signal, || letter(signal, SI_TKILL, 0), real)
    })
}

/// How libc's functions do it: with the kernel's error for `errno`.
pub fn with_errno(r: isize) -> c_long {
    if (-4095..0).contains(&r) {
        // SAFETY: the caller's own word.
        unsafe { *libc::__errno_location() = -r as c_int };
        return -1;
    }
    r as c_long
}

/// Functions of libc's by this library's names for them.
#[cfg(not(test))]
mod calls {
    use super::*;
    use crate::handles::Next;

    static KILL: Next = Next::new(c"pthread_kill");
    static QUEUE: Next = Next::new(c"pthread_sigqueue");

    #[unsafe(no_mangle)]
    unsafe extern "C" fn pthread_kill(thread: usize, signal: c_int) -> c_int {
        // SAFETY: libc's function, with the caller's arguments.
        let real = || unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(usize, c_int) -> c_int>(KILL.address())(
                thread, signal,
            )
        };
        send(thread, signal, || letter(signal, SI_TKILL, 0), real)
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn pthread_sigqueue(thread: usize, signal: c_int, value: usize) -> c_int {
        type Real = unsafe extern "C" fn(usize, c_int, usize) -> c_int;
        // SAFETY: libc's function, with the caller's arguments.
        let real = || unsafe { core::mem::transmute::<usize, Real>(QUEUE.address())(thread, signal, value) };
        send(thread, signal, || letter(signal, libc::SI_QUEUE, value as u64), real)
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn tgkill(process: c_int, id: c_int, signal: c_int) -> c_int {
        let [a, b, c] = [process, id, signal].map(|n| n as usize);
        // SAFETY: no pointers.
        let r = unsafe {
            by_number(libc::SYS_tgkill, a, b, c, 0).unwrap_or_else(|| sys!(libc::SYS_tgkill, a, b, c))
        };
        with_errno(r) as c_int
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host::learn_libc_layout, tls};

    #[test]
    fn what_is_sent_to_one_on_its_way_waits_for_it() {
        learn_libc_layout();
        begin();
        let mask = signals::block_all();
        let (me, id) = (tls::thread_pointer(), syscall::gettid());
        let (usr, rt) = (libc::SIGUSR1, libc::SIGRTMIN() + 2);
        leaves(me, id);
        let nobody = || unreachable!("the old host is not asked");
        for _ in 0..2 {
            assert_eq!(send(me, usr, || letter(usr, SI_TKILL, 0), nobody), 0);
            assert_eq!(send(me, rt, || letter(rt, libc::SI_QUEUE, 5), nobody), 0);
        }
        assert_eq!(send(me, 0, || unreachable!("nothing is sent"), nobody), 0);
        // SAFETY: no pointers.
        let by_id = |signal: c_int| unsafe {
            by_number(libc::SYS_tgkill, getpid() as usize, id as usize, signal as usize, 0)
        };
        assert_eq!(by_id(libc::SIGUSR2), Some(0));
        assert_eq!(pending_signals::of_host(id, 0), 0);
        arrives(me);
        let all: Vec<_> = pending_signals::take(0).iter().map(|i| (i[0] as i32, i[1] as i32, i[3])).collect();
        let count = |w| all.iter().filter(|a| **a == w).count();
        assert_eq!(count((usr, SI_TKILL, 0)), 1, "an ordinary signal waits once: {all:?}");
        assert_eq!(count((rt, libc::SI_QUEUE, 5)), 2, "{all:?}");
        assert_eq!(all.len(), 4, "{all:?}");
        // At home it is libc's affair again.
        assert_eq!(send(me, usr, || unreachable!(), || 77), 77);
        signals::set_mask(mask);
    }

    #[test]
    fn more_than_can_be_kept_is_refused_as_the_system_does() {
        let mut p = Box::new(Post {
            travellers: [(0, 0); TRAVELLERS],
            count: 0,
            letters: [(0, [0; 16]); LETTERS],
            kept: 0,
        });
        let rt = libc::SIGRTMIN() + 3;
        for i in 0..LETTERS {
            assert_eq!(keep(&mut p, 7 + i % 2, rt, || letter(rt, libc::SI_QUEUE, i as u64)), 0);
        }
        assert_eq!(keep(&mut p, 7, rt, || letter(rt, libc::SI_QUEUE, 0)), libc::EAGAIN);
        // In the order in which they were sent.
        let of =
            |p: &mut Post, t| core::iter::from_fn(|| p.next(t)).map(|i| i[3] as usize).collect::<Vec<_>>();
        assert_eq!(of(&mut p, 8), (0..LETTERS).filter(|i| i % 2 == 1).collect::<Vec<_>>());
        assert_eq!(of(&mut p, 7), (0..LETTERS).filter(|i| i % 2 == 0).collect::<Vec<_>>());
    }
}
