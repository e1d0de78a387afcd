//! Light ways of static loops in regions that go without save points (work/equal_shares.rs): the share, that
//! there is nothing more, and the end where nobody waits.

use super::light;
use crate::entry::loops;
use crate::stub;
use crate::sys::asm::{MEMBER, PROGRESS};
use crate::task::lightness::DEALT;
use crate::team::member::Member;
use crate::team::thread::current;
use crate::work::bounds::Bounds;
use crate::work::ledger::CONSTRUCT;
use core::mem::offset_of;

/// Light ways of what is called in such a loop, in which no construct is the thread's own.
macro_rules! light_in_share {
    ($($name:ident => $usual:ident, [$($line:literal),*] $(, $operand:ident = $at:expr)?;)*) => { $(
        light! {
            @
            /// See the module's text.
            $name => $usual, thread in "rax", where DEALT,
            [
                "mov rdx, qword ptr [rax + {member}]",
                "cmp qword ptr [rdx + {share}], 0",
                "jne 2f",
                "add dword ptr [rax + {progress}], 1",
                $($line,)*
                "ret"
            ],
            progress = const PROGRESS,
            member = const MEMBER,
            share = const offset_of!(Member, share),
            $($operand = const $at)?
        }
    )* };
}

light_in_share! {
    GOMP_loop_static_next => promp_static_next, ["xor eax, eax"];
    GOMP_loop_ull_static_next => promp_static_next, ["xor eax, eax"];
    // The share in flight is done.
    GOMP_loop_end_nowait => promp_loop_end_nowait, ["mov qword ptr [rdx + {construct}], 0"],
        construct = offset_of!(Member, ledger) + CONSTRUCT;
}

/// The light way into such a loop, unless it is dealt out in chunks: their size is in the register that is
/// named.
macro_rules! light_into_share {
    ($($name:ident => $usual:ident, $chunk:literal, $share:ident;)*) => { $(
        light! {
            @
            /// See the module's text.
            $name => $usual, thread in "rax", where DEALT,
            [
                concat!("test ", $chunk, ", ", $chunk),
                "jnz 2f",
                "add dword ptr [rax + {progress}], 1",
                "jmp {share}"
            ],
            progress = const PROGRESS,
            share = sym $share,
        }
    )* };
}

light_into_share! {
    GOMP_loop_static_start => promp_static_start, "rcx", share_of_long;
    GOMP_loop_ull_static_start => promp_ull_static_start, "r8", share_of_ull;
}

stub! {
    promp_static_next => loops::next_dealt;
    promp_loop_end_nowait => loops::end_nowait;
    promp_static_start => loops::start_long::<1, true, false>;
    promp_ull_static_start [1] => loops::start_ull::<1, true, false>;
}

extern "C" fn share_of_long(
    first: i64,
    end: i64,
    incr: i64,
    _chunk: i64,
    istart: *mut u64,
    iend: *mut u64,
) -> bool {
    loops::fill(current().begin_share(Bounds::long(first, end, incr)), istart, iend)
}

extern "C" fn share_of_ull(
    up: bool,
    first: u64,
    end: u64,
    incr: u64,
    _chunk: u64,
    istart: *mut u64,
    iend: *mut u64,
) -> bool {
    loops::fill(current().begin_share(Bounds::ull(up, first, end, incr)), istart, iend)
}
