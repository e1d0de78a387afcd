//! Waits that a freeze has interrupted go on. The kernel makes most system calls again after a signal
//! (SA_RESTART); but `poll`, `select`, `epoll_wait`, `nanosleep` and their like return EINTR after any
//! handler (signal(7)), and a program that has no handlers need not reckon with that.
//!
//! The handler of the freeze signal changes the interrupted context, so that the call is made once more:
//! with the time that is left, where the kernel has noted it or it is known, so a checkpoint has it too.
//! What cannot be made again exactly returns EINTR as ever. So does everything where the program has a
//! handler, but for `sigsuspend`: a signal that has come in the meantime must end the wait. So do the
//! handlers of other signals of ours that have done nothing yet: of a stop that has to wait, of a request.

use crate::sys::door::Door;
use crate::sys::{follow, pending_signals, signals, time};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use libc::{REG_R8, REG_R9, REG_R10, REG_RAX, REG_RDI, REG_RDX, REG_RIP, REG_RSI};

/// How libc makes a system call: `mov eax, NUMBER; syscall`.
const CALL: usize = 7;
const PAGE: usize = 4096;
/// Nanoseconds.
const MS: u64 = 1_000_000;
/// What libc's semaphores call futex(2) for, with a time limit, but for FUTEX_PRIVATE_FLAG: until a time of a
/// clock that no boot begins anew.
const UNTIL: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME;
/// Registers of arguments.
const ARGUMENTS: [i32; 6] = [REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9];

/// When a thread's wait ends that has been interrupted. It belongs to the call whose time limit has `mark`
/// in the upper half of its register, which the kernel does not look at. Only the thread itself uses it;
/// zeroed memory has none.
#[repr(C)]
#[derive(Default)]
pub struct Due {
    mark: AtomicU32,
    at_ns: AtomicU64,
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// It returns EINTR.
    Interrupted,
    /// This call is made, with the arguments as they are now.
    Make(i64),
    /// It returns 0.
    TimedOut,
}

/// Has the wait that `context` was interrupted in made again, by a handler of ours that has changed nothing:
/// what would return EINTR, if the program has no handlers, and sigsuspend(2). `ours`: the set of our
/// signals.
///
/// # Safety
/// A context that the kernel has made for a handler on the calling thread.
pub unsafe fn go_on(context: usize, due: Option<&Due>, ours: u64, handlers: impl FnOnce() -> bool) {
    // SAFETY: by the caller's promise.
    let (registers, before) = unsafe {
        let c = &mut *(context as *mut libc::ucontext_t);
        (&mut c.uc_mcontext.gregs, *(&raw const c.uc_sigmask).cast::<u64>())
    };
    if registers[REG_RAX as usize] != -i64::from(libc::EINTR) {
        return;
    }
    // SAFETY: the instruction that was executed last ends there.
    let number = unsafe { number_before(registers[REG_RIP as usize] as usize) };
    let Some(number) = number.map(i64::from) else { return };
    if number == libc::SYS_rt_sigsuspend {
        // SAFETY: the kernel has read the set there.
        let meanwhile = unsafe { *(registers[REG_RDI as usize] as *const u64) };
        let handled = signals::handled() & !pending_signals::bit(follow::signal()); // that comes to no thread
        if stays_suspended(handled, ours, meanwhile, before) {
            registers[REG_RAX as usize] = number;
            registers[REG_RIP as usize] -= 2;
        }
    } else if let Some(due) = due.filter(|_| !handlers()) {
        make(registers, number, due);
    }
}

/// May a sigsuspend(2) that blocks `meanwhile`, of a thread that blocks `before` otherwise, be made again? It
/// ends when a handler has been executed, for one of the signals in `handled`.
///
/// It has not ended if `ours` are blocked otherwise (suspend.rs). And the signals that may end it must be,
/// too: one that comes while the thread is in our handler waits then, and ends the call that is made again.
/// Those that are not blocked would have their handlers executed before.
fn stays_suspended(handled: u64, ours: u64, meanwhile: u64, before: u64) -> bool {
    (ours | handled & !meanwhile) & !before == 0
}

/// The call `number` that has returned EINTR is made again, as far as that is possible.
fn make(registers: &mut [i64; 23], number: i64, due: &Due) {
    let mut arguments = ARGUMENTS.map(|r| registers[r as usize] as usize);
    match next(number, &mut arguments, due, time::now_ns(), &timespec) {
        Next::Interrupted => {}
        Next::TimedOut => registers[REG_RAX as usize] = 0,
        Next::Make(number) => {
            ARGUMENTS.iter().zip(arguments).for_each(|(&r, a)| registers[r as usize] = a as i64);
            registers[REG_RAX as usize] = number;
            registers[REG_RIP as usize] -= 2;
        }
    }
}

/// Seconds and nanoseconds at an address, if there is something.
fn timespec(at: usize) -> Option<[u64; 2]> {
    let mut bytes = [0; 16];
    let there = Door::open().read(at, &mut bytes);
    there.then(|| u128::from_le_bytes(bytes)).map(|t| [t as u64, (t >> 64) as u64])
}

/// The number of the system call that was made before `rip`, if it was made as libc does.
///
/// # Safety
/// There is code at `rip`.
unsafe fn number_before(rip: usize) -> Option<u32> {
    if rip % PAGE < CALL {
        return None;
    }
    // SAFETY: the same page.
    let code = unsafe { *((rip - CALL) as *const [u8; CALL]) };
    match code {
        [0xb8, a, b, c, d, 0x0f, 0x05] => Some(u32::from_le_bytes([a, b, c, d])),
        _ => None,
    }
}

/// What becomes of call `number` with arguments `a`, interrupted at `now_ns`.
fn next(
    number: i64,
    a: &mut [usize; 6],
    due: &Due,
    now_ns: u64,
    timespec: &dyn Fn(usize) -> Option<[u64; 2]>,
) -> Next {
    let again = Next::Make(number);
    let unlimited = |limit: usize| if limit == 0 { Next::Make(number) } else { Next::Interrupted };
    match number {
        // Whatever it was at first.
        _ if due.is_of(a[2]) => due.limit(libc::SYS_poll, &mut a[2], now_ns),
        libc::SYS_poll => due.limit(number, &mut a[2], now_ns),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => due.limit(number, &mut a[3], now_ns),
        // The kernel has noted the time that is left where the limit is.
        libc::SYS_ppoll | libc::SYS_select | libc::SYS_pselect6 => again,
        libc::SYS_clock_nanosleep if a[1] & libc::TIMER_ABSTIME as usize != 0 => again,
        // Or elsewhere.
        libc::SYS_nanosleep if a[1] != 0 => {
            a[0] = a[1];
            again
        }
        libc::SYS_clock_nanosleep if a[3] != 0 => {
            a[2] = a[3];
            again
        }
        // Or nowhere (`usleep`); a limit in a register does as well.
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => {
            let at = if number == libc::SYS_nanosleep { a[0] } else { a[2] };
            let Some([seconds, ns]) = timespec(at) else { return Next::Interrupted };
            let ms = seconds.saturating_mul(1000).saturating_add(ns.div_ceil(MS));
            *a = [0, 0, ms.min(i32::MAX as u64) as usize, 0, 0, 0];
            due.limit(libc::SYS_poll, &mut a[2], now_ns)
        }
        libc::SYS_epoll_pwait2 | libc::SYS_semtimedop => unlimited(a[3]),
        libc::SYS_rt_sigtimedwait => unlimited(a[2]),
        libc::SYS_futex if a[1] as i32 & !libc::FUTEX_PRIVATE_FLAG == UNTIL => again,
        libc::SYS_pause | libc::SYS_semop | libc::SYS_msgsnd | libc::SYS_msgrcv => again,
        _ => Next::Interrupted,
    }
}

impl Due {
    /// Is it that of a call with this limit?
    fn is_of(&self, register: usize) -> bool {
        let mark = (register as u64 >> 32) as u32;
        mark != 0 && mark == self.mark.load(Relaxed)
    }

    /// A call with a limit in milliseconds (negative: none). It is not known when it was made, so it waits
    /// longer than it should by at most the time up to its first interruption.
    fn limit(&self, number: i64, register: &mut usize, now_ns: u64) -> Next {
        let limit = *register as i32;
        if limit < 0 {
            return Next::Make(number);
        }
        if !self.is_of(*register) {
            self.mark.store(now_ns as u32 | 1, Relaxed);
            self.at_ns.store(now_ns + limit as u64 * MS, Relaxed);
        }
        match self.at_ns.load(Relaxed).saturating_sub(now_ns).div_ceil(MS) {
            0 => Next::TimedOut,
            left => {
                *register = ((u64::from(self.mark.load(Relaxed)) << 32) | left) as usize;
                Next::Make(number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLL: i64 = libc::SYS_poll;

    fn nothing(_: usize) -> Option<[u64; 2]> {
        None
    }

    fn of(number: i64, a: [usize; 6]) -> (Next, [usize; 6]) {
        let mut now = a;
        (next(number, &mut now, &Due::default(), 5, &nothing), now)
    }

    fn limited(a: &mut [usize; 6], due: &Due, now_ms: u64) -> (Next, u32) {
        (next(POLL, a, due, now_ms * MS, &nothing), a[2] as u32)
    }

    #[test]
    fn what_can_be_made_again_exactly() {
        let none = u32::MAX as usize;
        let (sleep, timed) = (libc::SYS_nanosleep, libc::SYS_clock_nanosleep);
        assert_eq!(of(POLL, [1, 2, none, 0, 0, 0]), (Next::Make(POLL), [1, 2, none, 0, 0, 0]));
        assert_eq!(of(sleep, [7, 8, 0, 0, 0, 0]), (Next::Make(sleep), [8, 8, 0, 0, 0, 0]));
        assert_eq!(of(timed, [1, 0, 7, 8, 0, 0]), (Next::Make(timed), [1, 0, 8, 8, 0, 0]));
        assert_eq!(of(timed, [1, 1, 7, 8, 0, 0]), (Next::Make(timed), [1, 1, 7, 8, 0, 0]));
        assert_eq!(of(sleep, [7, 0, 0, 0, 0, 0]).0, Next::Interrupted);
        assert_eq!(of(libc::SYS_epoll_pwait2, [1, 2, 3, 4, 0, 0]).0, Next::Interrupted);
        // By libc's semaphores: private, a time of CLOCK_REALTIME. The other one waits for as long.
        let (until, futex) = ([1, 0x189, 0, 7, 0, 9], libc::SYS_futex);
        assert_eq!(of(futex, until), (Next::Make(futex), until));
        assert_eq!(of(futex, [1, 0x80, 0, 7, 0, 0]).0, Next::Interrupted);
        assert_eq!(of(futex, [1, 0x89, 0, 7, 0, 9]).0, Next::Interrupted, "a clock of this boot");
        assert_eq!(of(libc::SYS_read, [0; 6]).0, Next::Interrupted);
    }

    #[test]
    fn a_thread_stays_suspended_until_a_handler_has_been_executed() {
        let (stop, go, other, ours) = (1 << 29, 1 << 23, 1 << 14, 3 << 59);
        let all = u64::MAX;
        // In the handler of `stop`, which blocks all.
        assert!(stays_suspended(stop | go | ours, ours, all & !go & !ours, all));
        assert!(stays_suspended(stop | go | other, ours, 0, all));
        // `other` may be taken before the call is made again.
        assert!(!stays_suspended(stop | go | other, ours, all & !go & !other, all & !other));
        // It may have ended.
        assert!(!stays_suspended(stop, ours, 0, stop));
        assert!(!stays_suspended(stop, ours, 0, stop | 1 << 60), "one of two");
    }

    #[test]
    fn limits_are_kept_over_interruptions() {
        let due = Due::default();
        let mut a = [1, 2, 100, 0, 0, 0];
        assert_eq!(limited(&mut a, &due, 50), (Next::Make(POLL), 100));
        assert_eq!(limited(&mut a, &due, 90), (Next::Make(POLL), 60));
        // In a new process nothing is known of the old one's limits.
        assert_eq!(limited(&mut { a }, &Due::default(), 900), (Next::Make(POLL), 60));
        assert_eq!(limited(&mut a, &due, 150).0, Next::TimedOut);
        assert_eq!(limited(&mut [1, 2, 60, 0, 0, 0], &due, 200), (Next::Make(POLL), 60), "a new call");
    }

    #[test]
    fn a_sleep_without_a_place_for_what_is_left() {
        let (due, timespec) = (Due::default(), |at: usize| (at == 7).then_some([2, 1]));
        for (number, mut a) in
            [(libc::SYS_nanosleep, [7, 0, 0, 0, 0, 0]), (libc::SYS_clock_nanosleep, [1, 0, 7, 0, 0, 0])]
        {
            assert_eq!(next(number, &mut a, &due, MS, &timespec), Next::Make(POLL));
            assert_eq!((a[0], a[1], a[2] as u32), (0, 0, 2001));
            assert_eq!(
                next(number, &mut a, &due, 1001 * MS, &timespec),
                Next::Make(POLL),
                "the code is as before"
            );
            assert_eq!(a[2] as u32, 1001);
        }
    }

    #[test]
    fn calls_as_libc_makes_them() {
        #[repr(align(4096))]
        struct Code([u8; 16]);
        let mut code = Code([0; 16]);
        code.0[2..9].copy_from_slice(&[0xb8, 7, 0, 0, 0, 0x0f, 0x05]);
        let at = &raw const code as usize;
        // SAFETY (both): the bytes above.
        unsafe {
            assert_eq!(number_before(at + 9), Some(7));
            assert_eq!(number_before(at + 10), None);
            assert_eq!(number_before(at + 5), None);
        }
    }
}
