//! The light way into a region that the tuner has found to be best as the serial code that the compiler has
//! made it of (team/alone.rs): if all is as it was when that was noted, and this execution is not one to be
//! measured, its function is called here. What is compared is what `Alone::is_plain` compares, and that
//! nobody wants to be told.
//!
//! The thread does not enter the runtime: what stops it in the function finds it in serial code, as it finds
//! it there without the region.

use crate::entry::parallel::promp_parallel;
use crate::observe::{Set, WANTED};
use crate::proofs::segment_tables::GENERATION;
use crate::sys::asm::{LAZY, PROGRESS, TASK};
use crate::team::alone::at;
use crate::team::region::{REGIONS, SEVERAL};
use crate::team::region_request::Asked;
use crate::team::shrink::RETIRED;
use crate::team::thread::Thread;
use crate::team::worker_pool::WORKERS;
use core::arch::naked_asm;
use core::mem::offset_of;

const ALONE: usize = offset_of!(Thread, alone_in);
const ASKED: usize = ALONE + at::ASKED;
/// Events of which one who wants them is told by the usual way.
const TOLD: u64 = Set::BEGIN.and(Set::END).bits();
const _: () = assert!(TOLD < 1 << 31, "an immediate operand");

/// Where `GOMP_parallel` goes on when there are such regions, with the thread in rax.
///
/// # Safety
/// For that stub: the arguments are what the ABI says.
#[unsafe(naked)]
#[unsafe(link_section = "promp_stubs")]
pub(crate) unsafe extern "C" fn promp_parallel_plainly() {
    naked_asm!(
        ".cfi_startproc",
        "mov r8, qword ptr [rax + {task}]",
        "cmp r8, qword ptr [rax + {of_task}]",
        "jne 2f",
        "mov r8d, edi",
        "and r8d, {bits}",
        "lea r8, [rax + r8 + {plain}]",
        "cmp rdi, qword ptr [r8 + {call}]",
        "jne 2f",
        "mov r9d, dword ptr [r8 + {left}]",
        "sub r9d, 1",
        "jc 2f",
        "cmp edx, dword ptr [rax + {threads}]",
        "jne 2f",
        "cmp ecx, dword ptr [rax + {flags}]",
        "jne 2f",
        "mov r10d, dword ptr [rip + {retired_now}]",
        "cmp r10d, dword ptr [rax + {retired}]",
        "jne 2f",
        "mov r10d, dword ptr [rip + {tables_now}]",
        "cmp r10d, dword ptr [rax + {tables}]",
        "jne 2f",
        "mov r10d, dword ptr [rip + {workers_now}]",
        "cmp r10d, dword ptr [rax + {workers}]",
        "jne 2f",
        "cmp dword ptr [rax + {lazy}], 0",
        "jne 2f",
        "test dword ptr [rip + {wanted}], {told}",
        "jnz 2f",
        "mov dword ptr [r8 + {left}], r9d",
        "add dword ptr [rax + {progress}], 1",
        "movzx r8d, byte ptr [rax + {plainly}]",
        "push r8",
        ".cfi_adjust_cfa_offset 8",
        "mov byte ptr [rax + {plainly}], 1",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "mov rax, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "mov byte ptr [rax + {plainly}], cl",
        // Counted as `region::next_ordinal` does.
        "cmp byte ptr [rip + {several}], 0",
        "jne 3f",
        "add qword ptr [rip + {regions}], 1",
        "ret",
        "3:",
        "lock add qword ptr [rip + {regions}], 1",
        "ret",
        "2:",
        "jmp {usual}",
        ".cfi_endproc",
        task = const TASK,
        lazy = const LAZY,
        progress = const PROGRESS,
        of_task = const ALONE + at::TASK,
        plain = const ALONE + at::PLAIN,
        bits = const at::BITS,
        call = const at::CALL,
        left = const at::LEFT,
        threads = const ASKED + Asked::THREADS,
        flags = const ASKED + Asked::FLAGS,
        retired = const ASKED + Asked::RETIRED,
        tables = const ASKED + Asked::TABLES,
        workers = const ASKED + Asked::WORKERS,
        retired_now = sym RETIRED,
        tables_now = sym GENERATION,
        workers_now = sym WORKERS,
        wanted = sym WANTED,
        told = const TOLD,
        several = sym SEVERAL,
        regions = sym REGIONS,
        plainly = const offset_of!(Thread, plainly),
        usual = sym promp_parallel,
    )
}
