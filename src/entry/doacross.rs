//! `GOMP_doacross_*`.
//!
//! A nest of one or two loops has light ways (see light.rs): to post is a store and a look at whether
//! somebody sleeps, to wait is a load and, for a while, another one. From seeing a note to writing one's own
//! nothing else then lies on the way: in a loop whose iterations wait for each other that is what counts.
//! Nor is there a fence: what the iteration has written, mostly to lines that other threads have read, goes
//! out while the next one is computed.
//!
//! They are save points (save/across_points.rs); where these are left out they go their light ways as where
//! nothing is saved.

use super::light::light;
use crate::save::across_points;
use crate::stub;
use crate::sys::cfi::{grow, push, shrink};
use crate::task::lightness::{ACROSS, PLAIN};
use crate::team::event_count::{Patience, SLEEPERS};
use crate::team::member::Member;
use crate::team::team::Team;
use crate::team::thread::current;
use crate::work::doacross::{Doacross, Quick};
use crate::work::share::Share;
use core::arch::naked_asm;
use core::mem::offset_of;
use smallvec::SmallVec;

extern "C" fn post(counts: *const u64) {
    let thr = current();
    if let Some(d) = thr.member().share.get().and_then(|s| s.doacross()) {
        // SAFETY: the compiler passes one count a loop of the nest.
        d.post(&thr.team().event, unsafe { core::slice::from_raw_parts(counts, d.depth()) });
    }
    across_points::point(thr, true);
}

/// `registers`: the first six arguments; `stack`: the others.
extern "C" fn wait(registers: *const u64, stack: *const u64) {
    let thr = current();
    if let Some(d) = thr.member().share.get().and_then(|s| s.doacross()) {
        const IN_REGISTERS: usize = 6;
        let n = d.depth();
        // SAFETY: the compiler passes one count a loop of the nest, six in registers.
        let (first, rest) = unsafe {
            let rest = n.saturating_sub(IN_REGISTERS);
            let first = core::slice::from_raw_parts(registers, n - rest);
            (first, core::slice::from_raw_parts(stack, rest))
        };
        let v: SmallVec<[u64; IN_REGISTERS]> = first.iter().chain(rest).copied().collect();
        let team = thr.team();
        across_points::waiting(thr, || d.wait(&team.event, &team.patience, || team.is_cancelled(), &v));
    }
    across_points::point(thr, true);
}

/// The body of the variadic entries: spills the register arguments into an array. On entry rsp is the frame.
#[unsafe(naked)]
unsafe extern "C" fn spill_and_wait() {
    naked_asm!(
        // At [rsp]: the return address into the stub, then the frame (56 bytes) and the caller's return address.
        ".cfi_startproc",
        "lea rax, [rsp + 72]",
        push!("r9" "r8" "rcx" "rdx" "rsi" "rdi"),
        "mov rdi, rsp",
        "mov rsi, rax",
        grow!(8),
        "call {f}",
        shrink!(56),
        "ret",
        ".cfi_endproc",
        f = sym wait,
    )
}

const QUICK: usize = offset_of!(Doacross, quick);

/// A light way for a nest of one or two loops: the lines, with the member in r11, the `Doacross` in rax and
/// the address of the counter of the outer iteration `$outer`, if it is below `$below`, in r10. rdi to r9 are
/// as the call has them.
macro_rules! light_doacross {
    ($($name:ident)* => $usual:ident, $outer:literal, $below:ident, $lines:tt, $operands:tt) => {
        $(light_doacross! { @ $name => $usual, $outer, $below, $lines, $operands })*
    };
    (
        @ $name:ident => $usual:ident, $outer:literal, $below:ident,
        [$($line:literal),*], [$($operand:tt)*]
    ) => { light! {
        @
        /// See the module's text.
        $name => $usual, thread in "rax", where PLAIN | ACROSS,
        [
            "add dword ptr [rax + {progress}], 1",
            "mov r11, qword ptr [rax + {member}]",
            "mov rax, qword ptr [r11 + {share}]",
            "test rax, rax",
            "jz 2f",
            "mov rax, qword ptr [rax + {doacross}]",
            "test rax, rax",
            "jz 2f",
            $outer,
            "cmp r10, qword ptr [rax + {below}]",
            "jae 2f",
            "imul r10, qword ptr [rax + {stride}]",
            "and r10, qword ptr [rax + {mask}]",
            "shl r10, 3",
            "add r10, qword ptr [rax + {base}]",
            $($line),*
        ],
        progress = const crate::sys::asm::PROGRESS,
        member = const crate::sys::asm::MEMBER,
        share = const offset_of!(Member, share),
        team = const offset_of!(Member, team),
        doacross = const offset_of!(Share, doacross),
        below = const QUICK + offset_of!(Quick, $below),
        base = const QUICK + offset_of!(Quick, base),
        stride = const QUICK + offset_of!(Quick, stride),
        mask = const QUICK + offset_of!(Quick, mask),
        second = const QUICK + offset_of!(Quick, second),
        $($operand)*
    } };
}

light_doacross! {
    // rdi points to the iteration's numbers.
    GOMP_doacross_post GOMP_doacross_ull_post => promp_doacross_post, "mov r10, qword ptr [rdi]", posts,
    [
        // The second number, if there are two loops: it is not there otherwise.
        "mov rdx, qword ptr [rax + {second}]",
        "mov ecx, edx",
        "and ecx, 8",
        "and rdx, qword ptr [rdi + rcx]",
        "add rdx, 1",
        // Unless it is posted already: release, by the architecture. No fence: see event.rs, "Without a
        // fence".
        "cmp qword ptr [r10], rdx",
        "jae 2f",
        "mov qword ptr [r10], rdx",
        "mov r11, qword ptr [r11 + {team}]",
        "cmp dword ptr [r11 + {sleepers}], 0",
        "jne 2f",
        "ret"
    ],
    [sleepers = const offset_of!(Team, event) + SLEEPERS,]
}

light_doacross! {
    // rdi, rsi and so on are the iteration's numbers; they stay as they are for the usual way.
    GOMP_doacross_wait GOMP_doacross_ull_wait => promp_doacross_wait, "mov r10, rdi", outer,
    [
        "mov rax, qword ptr [rax + {second}]",
        "and rax, rsi",
        // Acquire, by the architecture.
        "cmp qword ptr [r10], rax",
        "ja 4f",
        "mov r11, qword ptr [r11 + {team}]",
        "mov r11d, dword ptr [r11 + {rounds}]",
        "shr r11d, 1",
        "jz 2f",
        "3:",
        "cmp qword ptr [r10], rax",
        "ja 4f",
        "pause",
        "sub r11d, 1",
        "jnz 3b",
        "jmp 2f",
        "4:",
        "ret"
    ],
    [rounds = const offset_of!(Team, patience) + offset_of!(Patience, rounds),]
}

stub! {
    promp_doacross_post => post;
    promp_doacross_wait => spill_and_wait;
}
