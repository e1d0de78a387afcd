//! Where in the code a thread must not be frozen: where it is about to use the kernel's id of a thread. On
//! another host it would go on with the former one.
//!
//! - In its functions for locks: it has read its id, or the note of who holds the lock, and compares or notes
//!   it next. Or it has come there by a call that has not led to ours (`mutexes.rs`), which it does from the
//!   first change of a host on only.
//! - In what stands in for these (`mutexes.rs`): it has brought the note up to date, and goes on to libc's.
//! - In `raise` and `pthread_kill`: it sends a signal to an id that nobody has any more.
//! - Anywhere with its id as what a call has just returned, or as an argument of the next system call: the
//!   program has asked for it (gettid(2)) and uses it ([`Where::Soon`]). In another register it may have been
//!   left behind, or the number is not its id at all ([`Where::Maybe`]).
//!
//! It is out of there within a few instructions, and is called again then. It may sleep in a function for
//! locks, though, for as long as others hold one: it may be frozen at and behind a system call. None of them
//! has an id in a register that is read before the call. Elsewhere in these functions it is called again
//! also where no register has its id ([`Where::Soon`]): at their beginning it has not read it yet, and would
//! compare the former one, which the lock has, with the present one. Not for ever: it may wait there for a
//! page that a frozen thread, or who freezes, is to bring.

use crate::mutexes;
use crate::signals::Interrupted;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Ranges of code, [start, end); zeros are none.
type Ranges<const N: usize> = [[AtomicUsize; 2]; N];

static LOCKS: Ranges<8> = [const { [const { AtomicUsize::new(0) }; 2] }; 8];
static KILLS: Ranges<2> = [const { [const { AtomicUsize::new(0) }; 2] }; 2];
/// What those call between the question for an id and its use. Not always called for that.
static BETWEEN: Ranges<1> = [const { [const { AtomicUsize::new(0) }; 2] }; 1];
/// What stands in for libc's functions for locks.
static OWN: Ranges<1> = [const { [const { AtomicUsize::new(0) }; 2] }; 1];

/// Functions no further from each other belong to the same files: what they share lies between them.
const NEAR: usize = 4096;
/// … or in front of the first one, this far at most.
const LOCKS_SHARE: usize = 2048;
const KILLS_SHARE: usize = 512;

/// A system call, and its length.
const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// What libc's functions do in front of it: `mov eax, NUMBER`.
const NUMBER: (u8, usize) = (0xb8, 5);
const PAGE: usize = 4096;

unsafe extern "C" {
    /// See dladdr(3); glibc.
    fn dladdr1(
        addr: *const libc::c_void,
        info: *mut libc::Dl_info,
        more: *mut *const libc::Elf64_Sym,
        flags: i32,
    ) -> i32;
}
const RTLD_DL_SYMENT: i32 = 1;

/// Finds the code: call once, on an ordinary thread, when [`mutexes::learn`] has found its functions. It
/// takes half a millisecond, since dladdr(3) reads all of libc's table for each of 27 functions: for programs
/// with checkpoints.
pub fn learn() {
    note(&LOCKS, &groups(mutexes::functions(), LOCKS_SHARE));
    note(&KILLS, &groups([c"raise", c"pthread_kill"].map(address).into_iter(), KILLS_SHARE));
    note(&BETWEEN, &groups([address(c"getpid")].into_iter(), 0));
    note(&OWN, &[mutexes::stands_in()]);
}

fn note(to: &[[AtomicUsize; 2]], groups: &[(usize, usize)]) {
    for (r, (start, end)) in to.iter().zip(groups) {
        r[1].store(*end, Relaxed);
        r[0].store(*start, Relaxed);
    }
}

/// The address of a function of libc's, where this library has one of that name, too; 0: there is none.
fn address(name: &CStr) -> usize {
    // SAFETY: looks up a symbol.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize }
}

/// Where the function or object at an address lies, by the symbol table.
pub fn extent(start: usize) -> Option<(usize, usize)> {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::uninit();
    let mut symbol = core::ptr::null::<libc::Elf64_Sym>();
    let at = start as *const libc::c_void;
    // SAFETY: looks up a symbol; both results are written before they are read.
    let found = start != 0
        && unsafe { dladdr1(at, info.as_mut_ptr(), &raw mut symbol, RTLD_DL_SYMENT) } != 0
        && !symbol.is_null();
    // SAFETY: an entry of the object's symbol table.
    found.then(|| (start, start + unsafe { (*symbol).st_size } as usize))
}

/// The code of `functions`, those that are near each other in one piece; each with `before` bytes in front.
fn groups(functions: impl Iterator<Item = usize>, before: usize) -> Vec<(usize, usize)> {
    let mut all: Vec<_> = functions.filter_map(extent).collect();
    all.sort_unstable();
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for (start, end) in all {
        match groups.last_mut() {
            Some(g) if start < g.1 + NEAR => g.1 = g.1.max(end),
            _ => groups.push((start - before, end)),
        }
    }
    groups
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Where {
    /// It may be frozen there.
    Elsewhere,
    /// It may be on its way to the use of an id.
    Maybe,
    /// It is on its way to the use of an id, if it does not keep that in a register for later.
    Soon,
    /// It is about to use an id.
    Midway,
}

fn contains(ranges: &[[AtomicUsize; 2]], pc: usize) -> bool {
    ranges.iter().any(|r| (r[0].load(Relaxed)..r[1].load(Relaxed)).contains(&pc))
}

/// Where the calling thread is, interrupted in `context`, and at which address. `ids`: its id for libc, and
/// the kernel's; 0: not known.
///
/// # Safety
/// `context` is the pointer that the kernel gave the handler.
pub unsafe fn of(context: *const libc::c_void, ids: [u32; 2]) -> (Where, usize) {
    // SAFETY: by the caller's promise.
    let Interrupted { pc, .. } = unsafe { Interrupted::from_context(context) };
    // SAFETY: by the caller's promise.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let is_id = |r: i32| ids.iter().any(|&id| id != 0 && registers[r as usize] == i64::from(id));
    let has_id = || (libc::REG_R8..=libc::REG_RCX).any(is_id);
    if contains(&LOCKS, pc) {
        // SAFETY: code that is executed, and what is in front of it: no function of these is the first one of
        // its object.
        let [before, at] = unsafe { *((pc - SYSCALL.len()) as *const [[u8; 2]; 2]) };
        let at = match () {
            () if before == SYSCALL || at == SYSCALL => Where::Elsewhere,
            () if has_id() => Where::Midway,
            () => Where::Soon,
        };
        return (at, pc);
    }
    let at = match has_id() {
        _ if contains(&KILLS, pc) || contains(&OWN, pc) => Where::Midway,
        false => Where::Elsewhere,
        true if contains(&BETWEEN, pc) => Where::Midway,
        true if is_id(libc::REG_RAX) => Where::Soon,
        // SAFETY: it was interrupted there.
        true if unsafe { is_before_system_call(pc) } => Where::Soon,
        true => Where::Maybe,
    };
    (at, pc)
}

/// Is a system call what is executed next, but for its number?
///
/// # Safety
/// Code is executed at `pc`.
unsafe fn is_before_system_call(pc: usize) -> bool {
    let end = (pc | (PAGE - 1)) + 1;
    // SAFETY: of the same page.
    let code =
        unsafe { core::slice::from_raw_parts(pc as *const u8, (end - pc).min(NUMBER.1 + SYSCALL.len())) };
    let behind_number = if code.first() == Some(&NUMBER.0) { code.get(NUMBER.1..) } else { Some(code) };
    behind_number.is_some_and(|c| c.starts_with(&SYSCALL))
}

#[cfg(test)]
mod tests {
    use super::Where::*;
    use super::*;

    /// Where a thread with id 41 is that is interrupted at `pc`, with `value` in `register`.
    fn at(pc: usize, register: i32, value: i64) -> Where {
        // SAFETY: a context without pointers that are followed.
        let mut c: Box<libc::ucontext_t> = Box::new(unsafe { core::mem::zeroed() });
        c.uc_mcontext.gregs[libc::REG_RIP as usize] = pc as i64;
        c.uc_mcontext.gregs[register as usize] = value;
        // SAFETY: such a context; the code is libc's.
        unsafe { of((&raw const *c).cast(), [41, 43]).0 }
    }

    #[test]
    fn functions_that_use_ids() {
        crate::host::learn_libc_layout();
        learn();
        for function in mutexes::functions() {
            let (start, end) = extent(function).expect("a function of libc's");
            for pc in [start, start + 1] {
                assert!(end > pc && at(pc, libc::REG_RAX, 0) == Soon);
                assert_eq!(at(pc, libc::REG_R13, 41), Midway);
            }
        }
        for function in [c"raise", c"pthread_kill"].map(address) {
            let (start, end) = extent(function).expect("a function of libc's");
            assert!((start..end).all(|pc| at(pc, libc::REG_RAX, 0) == Midway));
        }
        let (start, end) = mutexes::stands_in();
        assert!(end > start && (start..end).all(|pc| at(pc, libc::REG_RAX, 0) == Midway));
        let (start, end) = extent(address(c"getpid")).expect("a function of libc's");
        for pc in start..end {
            assert_eq!([40, 41].map(|value| at(pc, libc::REG_RBX, value)), [Elsewhere, Midway]);
        }
        for pc in [end, address(c"qsort")] {
            assert_eq!([40, 41, 43].map(|value| at(pc, libc::REG_RBX, value)), [Elsewhere, Maybe, Maybe]);
        }
    }

    /// What a call has just returned, and what is an argument of the next one, is used at once.
    #[test]
    fn ids_that_were_asked_for() {
        assert_eq!([40, 43].map(|value| at(address(c"qsort"), libc::REG_RAX, value)), [Elsewhere, Soon]);
        let (start, end) = extent(address(c"getppid")).expect("a function of libc's");
        // SAFETY: libc's code.
        let code = unsafe { core::slice::from_raw_parts(start as *const u8, end - start) };
        let call = code.windows(2).position(|w| w == SYSCALL).expect("a system call");
        let number = call - NUMBER.1;
        assert_eq!([number, call].map(|pc| at(start + pc, libc::REG_RDI, 43)), [Soon; 2]);
        assert_eq!(at(start + call + 2, libc::REG_RDI, 43), Maybe);
        assert_eq!(at(start + call, libc::REG_RDI, 40), Elsewhere);
    }

    /// A thread may sleep there.
    #[test]
    fn system_calls_for_locks() {
        crate::host::learn_libc_layout();
        learn();
        let mut calls = 0;
        for [start, end] in LOCKS.each_ref().map(|r| r.each_ref().map(|a| a.load(Relaxed))) {
            // SAFETY: libc's code, or none.
            let code = unsafe { core::slice::from_raw_parts(start.max(1) as *const u8, end - start) };
            for (i, _) in code.windows(2).enumerate().filter(|(_, w)| *w == SYSCALL) {
                assert_eq!([start + i, start + i + 2].map(|pc| at(pc, libc::REG_RAX, 41)), [Elsewhere; 2]);
                calls += 1;
            }
        }
        assert!(calls > 4, "{calls}");
    }

    #[test]
    fn functions_near_each_other_are_one_piece() {
        let [lock, again] = [c"pthread_mutex_lock", c"pthread_mutex_trylock"].map(address);
        let far = address(c"qsort");
        let mut all = groups([again, far, lock, 0].into_iter(), 16);
        all.retain(|g| g.0 != far - 16);
        assert_eq!(all, [(lock.min(again) - 16, extent(lock.max(again)).expect("a function").1)]);
    }
}
