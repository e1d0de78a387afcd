//! Copying memory that may be gone, as fast as memory can be read: where it is, the crash handler ends the copy. For hosts of the runtime's own, in
//! which signals are blocked otherwise.

use crate::pending_signals::bit;
use crate::signals::{self, Handler};
use core::arch::naked_asm;

/// Bytes that are copied at once.
const WORD: usize = 8;
/// `rep movsq`, and how long it is.
const COPY: [u8; 3] = [0xf3, 0x48, 0xa5];

/// While there is one the calling host may copy what may be gone.
#[derive(Debug)]
pub struct Attempt {
    /// The host's signal mask without it.
    mask: u64,
}

impl Attempt {
    /// `None` if `handler`, which calls [`end`], does not handle crashes now: another one would be called.
    pub fn begin(handler: Handler) -> Option<Self> {
        let raised = [libc::SIGSEGV, libc::SIGBUS];
        let caught = raised.iter().all(|&sig| signals::is_handled(sig, handler));
        caught.then(|| Self { mask: signals::set_mask(!raised.iter().fold(0, |set, &s| set | bit(s))) })
    }

    /// Copies the memory at `from`. False if some of it is not there, or cannot be read.
    pub fn copy(&self, from: usize, to: &mut [u8]) -> bool {
        debug_assert!(to.len().is_multiple_of(WORD));
        // SAFETY: `to` is ours; while this lives a fault in reading is caught.
        unsafe { copy(to.as_mut_ptr(), from, to.len() / WORD) == 0 }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        signals::set_mask(self.mask);
    }
}

/// Copies `words` words. Returns how many are not.
///
/// # Safety
/// `to` can be written; a fault in reading is caught ([`end`]).
#[unsafe(naked)]
unsafe extern "C" fn copy(_to: *mut u8, _from: usize, _words: usize) -> usize {
    naked_asm!(".cfi_startproc", "mov rcx, rdx", "rep movsq", "mov rax, rcx", "ret", ".cfi_endproc")
}

/// For a handler of crashes: was it a copy that went wrong? Then it comes to its end when the handler returns.
///
/// # Safety
/// The handler's third argument, of a signal that the kernel has raised.
pub unsafe fn end(context: *mut libc::c_void) -> bool {
    // SAFETY: by the caller's promise.
    let pc = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] };
    // Behind the first instruction.
    let of_copy = (*pc as usize).wrapping_sub(copy as *const () as usize) == COPY.len();
    *pc += if of_copy { COPY.len() as i64 } else { 0 };
    of_copy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;

    const LEN: usize = 4 * 4096;
    /// Far from where the kernel puts mappings: what is unmapped here stays unmapped, whatever the other tests map meanwhile.
    const PLACE: usize = 0x2000_0000_0000;

    extern "C" fn on_crash(sig: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel's argument.
        if !unsafe { end(context) } {
            signals::give_back(sig);
        }
    }

    #[test]
    fn what_is_gone_is_not_copied() {
        // SAFETY: the code of a function.
        let code = unsafe { core::slice::from_raw_parts(copy as *const () as *const u8, 6) };
        assert_eq!(code[3..], COPY);
        for sig in [libc::SIGSEGV, libc::SIGBUS] {
            assert!(signals::install(sig, on_crash, false));
        }
        let mut to = vec![0; LEN];
        let p = PLACE as *mut u8;
        // SAFETY: memory of ours, which nobody else uses.
        unsafe {
            let (prot, flags) = (
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
            );
            assert_eq!(sys!(libc::SYS_mmap, PLACE, LEN, prot, flags, usize::MAX, 0), PLACE as isize);
            p.write_bytes(7, LEN);
            let before = signals::block_all();
            let attempt = Attempt::begin(on_crash).unwrap();
            assert!(attempt.copy(p as usize, &mut to));
            assert!(to.iter().all(|&b| b == 7));
            for (page, prot) in [(3, libc::PROT_NONE), (0, libc::PROT_NONE)] {
                sys!(libc::SYS_mprotect, p.add(page * 4096), 4096, prot);
                assert!(!attempt.copy(p as usize, &mut to));
            }
            assert!(attempt.copy(p as usize + 4096, &mut to[..8192]));
            sys!(libc::SYS_munmap, p, LEN);
            assert!(!attempt.copy(p as usize, &mut to) && !attempt.copy(8, &mut to));
            drop(attempt);
            assert_eq!(signals::set_mask(before), !(bit(libc::SIGKILL) | bit(libc::SIGSTOP)));
        }
        // Others' handlers are not ours.
        signals::ignore(libc::SIGBUS);
        assert!(Attempt::begin(on_crash).is_none());
        signals::give_back(libc::SIGBUS);
        signals::give_back(libc::SIGSEGV);
    }
}
