//! The dynamic loader's locks. They are recursive: each notes the kernel thread id of its owner, which the owner's descriptor has, too. A
//! logical thread that goes on on another host, in the middle of dlopen, say, has another id from then on, and could neither take
//! such a lock again nor give it back. So the notes are brought up to date with the descriptor.

use core::sync::atomic::{AtomicUsize, Ordering::*};

/// The loader's data (`_rtld_global`), [start, end); zeros if they are not known.
static DATA: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Words of a mutex that matter (see [`super::mutexes::Mutex`]).
const WORDS: usize = 5;
const RECURSIVE: u32 = 1;
/// More levels of recursion than a lock of the loader's has.
const DEEP: u32 = 1 << 16;

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

/// Finds the loader's data, by the symbol table: call once, on an ordinary thread.
pub fn learn() {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::uninit();
    let mut symbol = core::ptr::null::<libc::Elf64_Sym>();
    // SAFETY: looks up a symbol; both results are written before they are read.
    unsafe {
        let start = libc::dlsym(libc::RTLD_DEFAULT, c"_rtld_global".as_ptr());
        if !start.is_null()
            && dladdr1(start, info.as_mut_ptr(), &raw mut symbol, RTLD_DL_SYMENT) != 0
            && !symbol.is_null()
        {
            DATA[1].store(start as usize + (*symbol).st_size as usize, Relaxed);
            DATA[0].store(start as usize, Relaxed);
        }
    }
}

/// Those of `words` that are the owners of recursive locks held by thread `id`.
fn owners(words: &[u32], id: u32) -> impl Iterator<Item = usize> + '_ {
    words.windows(WORDS).enumerate().filter_map(move |(i, w)| {
        let &[lock, count, owner, users, kind] = w else { return None };
        let held = matches!(lock, 1 | 2) && (1..DEEP).contains(&count) && users >= 1;
        (held && owner == id && kind == RECURSIVE).then_some(i + 2)
    })
}

/// The logical thread whose id was `before` has the id `now`.
pub fn owner_has_moved(before: u32, now: u32) {
    let (start, end) = (DATA[0].load(Relaxed), DATA[1].load(Relaxed));
    if start == 0 || before == now || before == 0 {
        return;
    }
    // SAFETY: the loader's data stays mapped. Others may take and give locks back meanwhile, but not those that `before` holds.
    unsafe {
        let words = core::slice::from_raw_parts(start as *const u32, (end - start) / 4);
        for i in owners(words, before) {
            *(start as *mut u32).add(i) = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_recursive_locks_are_found() {
        let words = [7, 1, 2, 41, 1, 1, 0, 0, 41, 0, 0, 1, 41, 1, 0, 1, 1, 41, 1, 1];
        assert_eq!(owners(&words, 41).collect::<Vec<_>>(), [3, 17]);
        assert_eq!(owners(&words, 40).count(), 0);
    }

    /// glibc holds one of the loader's locks while it visits the loaded objects.
    #[test]
    fn a_lock_of_the_loader_is_found_while_it_is_held() {
        learn();
        let (start, end) = (DATA[0].load(Relaxed), DATA[1].load(Relaxed));
        assert!(start != 0, "the loader's data are not where they are looked for");
        unsafe extern "C" fn visit(_: *mut libc::dl_phdr_info, _: usize, held: *mut libc::c_void) -> i32 {
            let (start, end) = (DATA[0].load(Relaxed), DATA[1].load(Relaxed));
            // SAFETY: the loader's data; `held` is the caller's variable.
            unsafe {
                let words = core::slice::from_raw_parts(start as *const u32, (end - start) / 4);
                *held.cast::<usize>() = owners(words, crate::sys::syscall::gettid()).count();
            }
            1
        }
        assert!(end - start >= 2048);
        let mut held = 0usize;
        // SAFETY: the visitor keeps to the interface.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut held).cast()) };
        assert_eq!(held, 1);
    }
}
