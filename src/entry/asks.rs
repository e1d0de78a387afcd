//! The `omp_*` routines by which a program gets to know the number of threads, or sets it (OpenMP 5.1,
//! section 3.2). The first call of each is noted with its return address (sys/glibc/thread_count_queries.rs),
//! which the stubs here pass on in a second register. So is where a program lets a checkpoint be taken.

use super::omp::{ancestor, change, icvs};
use super::promp::potential_ckpt;
use crate::icv::globals;
use crate::sys::thread_count_queries::{self, Routine};
use crate::{exported_label, keep};
use core::arch::naked_asm;

/// Exported functions of at most one argument: `usual` gets the return address behind it.
macro_rules! asks {
    ($($name:ident => $usual:path;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As a C function of its arguments.
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                exported_label!($name),
                ".cfi_startproc",
                "mov rsi, qword ptr [rsp]",
                "jmp {usual}",
                ".cfi_endproc",
                usual = sym $usual,
            )
        }
        keep!($name);
    )* };
}

extern "C" fn max_threads(_: usize, from: usize) -> i32 {
    thread_count_queries::note(Routine::MaxThreads, from);
    icvs().threads as i32
}

extern "C" fn num_procs(_: usize, from: usize) -> i32 {
    thread_count_queries::note(Routine::NumProcs, from);
    globals().procs_now() as i32
}

extern "C" fn set_num_threads(n: i32, from: usize) {
    thread_count_queries::note(Routine::SetNumThreads, from);
    change(|i| i.threads = n.max(1) as u32);
}

extern "C" fn team_size(level: i32, from: usize) -> i32 {
    thread_count_queries::note(Routine::TeamSize, from);
    ancestor(level).map_or(-1, |m| m.team().size() as i32)
}

extern "C" fn ancestor_thread_num(level: i32, from: usize) -> i32 {
    thread_count_queries::note(Routine::AncestorThreadNum, from);
    ancestor(level).map_or(-1, |m| m.num.get() as i32)
}

/// Fortran's: the argument by reference, a default integer or an 8-byte one.
macro_rules! by_reference {
    ($($name:ident, $name8:ident = $c:ident $(-> $t:ty)?;)*) => {$(
        /// # Safety
        /// The argument is readable.
        unsafe extern "C" fn $name(n: *const i32, from: usize) $(-> $t)? {
            // SAFETY: by the caller's promise.
            $c(unsafe { *n }, from)
        }
        /// # Safety
        /// The argument is readable.
        unsafe extern "C" fn $name8(n: *const i64, from: usize) $(-> $t)? {
            // SAFETY: by the caller's promise.
            $c(unsafe { *n }.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32, from)
        }
    )*};
}

by_reference! {
    set_num_threads_4, set_num_threads_8 = set_num_threads;
    team_size_4, team_size_8 = team_size -> i32;
    ancestor_thread_num_4, ancestor_thread_num_8 = ancestor_thread_num -> i32;
}

asks! {
    promp_potential_ckpt => potential_ckpt;
    omp_get_max_threads => max_threads;
    omp_get_max_threads_ => max_threads;
    omp_get_num_procs => num_procs;
    omp_get_num_procs_ => num_procs;
    omp_set_num_threads => set_num_threads;
    omp_set_num_threads_ => set_num_threads_4;
    omp_set_num_threads_8_ => set_num_threads_8;
    omp_get_team_size => team_size;
    omp_get_team_size_ => team_size_4;
    omp_get_team_size_8_ => team_size_8;
    omp_get_ancestor_thread_num => ancestor_thread_num;
    omp_get_ancestor_thread_num_ => ancestor_thread_num_4;
    omp_get_ancestor_thread_num_8_ => ancestor_thread_num_8;
}
