//! Light ways of what a member asks of its team: its number, the team's size, and whether a `single` is its
//! own.

use super::light;
use crate::entry::omp::{num_threads, thread_num};
use crate::entry::single::start as single;
use crate::sys::asm::MEMBER;
use crate::team::member::Member;
use crate::team::team::Team;
use crate::{exported_label, keep, stub};
use core::arch::naked_asm;
use core::mem::offset_of;

light! {
    /// `GOMP_single_start`: see single.rs.
    GOMP_single_start => promp_single_start,
    [
        "mov rdx, qword ptr [rcx + {member}]",
        "mov eax, dword ptr [rdx + {own}]",
        "lea ecx, [rax + 1]",
        "mov dword ptr [rdx + {own}], ecx",
        "cmp dword ptr [rdx + {known}], eax",
        "jne 3f",
        "mov r8, qword ptr [rdx + {team}]",
        "lock cmpxchg dword ptr [r8 + {met}], ecx",
        "cmovne ecx, eax",
        "mov dword ptr [rdx + {known}], ecx",
        "3:",
        "sete al",
        "movzx eax, al",
        "ret"
    ],
    member = const MEMBER,
    own = const offset_of!(Member, singles),
    known = const offset_of!(Member, singles_met),
    team = const offset_of!(Member, team),
    met = const offset_of!(Team, singles),
}

/// What programs ask in their innermost loops: a number in the member or its team. These are no save points,
/// and so not among the stubs (sys/arch/code.rs).
macro_rules! light_query {
    ($($name:ident => $usual:path, [$($line:literal),*], $operand:ident = $at:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// Like a C function without arguments.
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                exported_label!($name),
                ".cfi_startproc",
                "mov rax, qword ptr [rip + promp_self@GOTTPOFF]",
                "mov rax, qword ptr fs:[rax]",
                "mov rax, qword ptr [rax + {member}]",
                "test rax, rax",
                "jz 2f",
                $($line,)*
                "ret",
                "2:",
                "jmp {usual}",
                ".cfi_endproc",
                member = const MEMBER,
                $operand = const $at,
                usual = sym $usual,
            )
        }
        keep!($name);
    )* };
}

light_query! {
    omp_get_thread_num => thread_num, ["mov eax, dword ptr [rax + {num}]"], num = offset_of!(Member, num);
    omp_get_thread_num_ => thread_num, ["mov eax, dword ptr [rax + {num}]"], num = offset_of!(Member, num);
    omp_get_num_threads => num_threads,
        ["mov rax, qword ptr [rax]", "mov eax, dword ptr [rax + {size}]"], size = offset_of!(Team, size);
    omp_get_num_threads_ => num_threads,
        ["mov rax, qword ptr [rax]", "mov eax, dword ptr [rax + {size}]"], size = offset_of!(Team, size);
}
const _: () = assert!(offset_of!(Member, team) == 0);

stub! {
    promp_single_start => single;
}
