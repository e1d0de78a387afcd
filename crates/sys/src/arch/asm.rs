//! The border between the application and the runtime, in assembly.
//!
//! **Entry stubs** (`stub!`). An exported function that matters to recovery is a naked stub: it pushes the
//! callee-saved registers, so that everything a logical thread needs to go on is on its stack at one address, the
//! *frame*; notes the frame in its `Thread`; marks the thread as in the runtime; and calls the Rust function. On the
//! way back it clears the mark and looks whether a stop is pending. A stop (recover/stop.rs) that comes while the mark is
//! set waits for this point: no thread dies inside the runtime, and no Rust frame ever returns twice.
//!
//! Frame, from low to high addresses: pad, r15, r14, r13, r12, rbx, rbp, return address. The stack arguments, if any,
//! follow. A logical thread's private state at a call is the memory from its frame to the *base* of its activation.
//!
//! **The trampoline** (`promp_call`) calls application code (an outlined function) and notes where its frames begin:
//! the base. What lies above belongs to the runtime and the caller. Its own frame has a frame pointer, by
//! which tools know it (tools/ompt).
//!
//! **What is called back** stands above, in the code that has threads: it defines the names
//! `promp_stops_at_exit(thread, frame, rax)`, `promp_stops_at_enter(thread, base)` and `promp_redo(thread)` by
//! [`callback!`]. They are weak: a program without them, as this code's own unit tests, never gets there.
//!
//! **Resuming.** `promp_return` continues after a call with a given result; `promp_repeat` continues by making the
//! call again, through `promp_redo`; `promp_reenter` calls the activation's function from its start.

use crate::cfi::{on_frame, restore_registers, save_registers};
use core::arch::{global_asm, naked_asm};

/// Offsets of the fields of `Thread` that assembly knows; checked there.
pub const IN_RUNTIME: usize = 0;
/// See [`IN_RUNTIME`].
pub const PENDING: usize = 4;
/// See [`IN_RUNTIME`].
pub const FRAME: usize = 8;
/// See [`IN_RUNTIME`].
pub const BASE: usize = 16;
/// See [`IN_RUNTIME`].
pub const HELD: usize = 24;
/// See [`IN_RUNTIME`].
pub const PROGRESS: usize = 28;
/// See [`IN_RUNTIME`].
pub const TASK: usize = 32;
/// See [`IN_RUNTIME`].
pub const LAZY: usize = 40;
/// See [`IN_RUNTIME`].
pub const LIGHT: usize = 44;
/// See [`IN_RUNTIME`].
pub const MEMBER: usize = 48;
/// Bytes of a `Thread` that stubs may look at or write to, whether it is one or nobody (tls.rs).
pub const STUBS_KNOW: usize = 64;
/// Bytes of a frame below the return address.
pub const FRAME_BYTES: usize = 56;
/// Where in a frame a frame pointer to it points: to the caller's, with the return address above.
pub const FRAME_POINTER: usize = FRAME_BYTES - 8;
/// Bytes of a frame with its return address.
pub const FRAME_TOTAL: usize = FRAME_BYTES + 8;

/// Defines exported entry points as naked stubs around Rust functions of the same arguments. `[k]` says that the
/// function takes `k` words on the stack (beyond six integer arguments).
#[macro_export]
#[doc(hidden)]
macro_rules! stub {
    ($($name:ident $([$k:tt])? => $inner:path $(, where $bit:ident by $light:path)?;)*) => {
        $($crate::stub_one!($name $([$k])? => $inner $(, where $bit by $light)?);)*
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! stub_one {
    ($name:ident => $inner:path) => { $crate::stub_one!(@ $name, "", "", $inner); };
    // Another way, with the thread in rax, where its `light` has a bit.
    ($name:ident => $inner:path, where $bit:ident by $light:path) => {
        $crate::stub_one!(
            @ $name, "", "", $inner,
            ["test byte ptr [rax + {light_word}], {bit}", "jnz {light}"],
            light_word = const $crate::asm::LIGHT, bit = const $bit, light = sym $light,
        );
    };
    ($name:ident [1] => $inner:path) => {
        $crate::stub_one!(@ $name, 16: "sub rsp, 8\n .cfi_adjust_cfa_offset 8\n ", 1 of 72, $inner);
    };
    ($name:ident [2] => $inner:path) => {
        $crate::stub_one!(@ $name, 16: "", 2 of 72, $inner);
    };
    ($name:ident [3] => $inner:path) => {
        $crate::stub_one!(@ $name, 32: "sub rsp, 8\n .cfi_adjust_cfa_offset 8\n ", 3 of 88, $inner);
    };
    ($name:ident [4] => $inner:path) => {
        $crate::stub_one!(@ $name, 32: "", 4 of 88, $inner);
    };
    ($name:ident [5] => $inner:path) => {
        $crate::stub_one!(@ $name, 48: "sub rsp, 8\n .cfi_adjust_cfa_offset 8\n ", 5 of 104, $inner);
    };
    // Passes `$n` words on, `$bytes` with what aligns the stack.
    (@ $name:ident, $bytes:literal: $align:literal, $n:literal of $from:literal, $inner:path) => {
        $crate::stub_one!(
            @ $name,
            concat!(
                ".cfi_remember_state\n", $align,
                ".rept ", $n, "\n push qword ptr [rsp + ", $from, "]\n .cfi_adjust_cfa_offset 8\n .endr"
            ),
            concat!("add rsp, ", $bytes, "\n .cfi_restore_state"),
            $inner
        );
    };
    (
        @ $name:ident, $copy:expr, $drop:expr, $inner:path
        $(, [$($first:literal),*], $($operand:tt)*)?
    ) => {
        #[doc = concat!("Entry stub of `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// For compiled OpenMP code: the arguments are what the ABI says.
        #[unsafe(naked)]
        #[unsafe(link_section = "promp_stubs")]
        #[allow(non_snake_case)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                $crate::exported_label!($name),
                ".cfi_startproc",
                "mov rax, qword ptr [rip + promp_self@GOTTPOFF]",
                "mov rax, qword ptr fs:[rax]",
                $($($first,)*)?
                $crate::cfi::save_registers!(),
                "mov dword ptr [rax + {in_runtime}], 1",
                "mov qword ptr [rax + {frame}], rsp",
                "add dword ptr [rax + {progress}], 1",
                $copy,
                "call {inner}",
                $drop,
                "mov rcx, qword ptr [rip + promp_self@GOTTPOFF]",
                "mov rcx, qword ptr fs:[rcx]",
                "mov dword ptr [rcx + {in_runtime}], 0",
                "cmp dword ptr [rcx + {pending}], 0",
                "jne {stop}",
                "add rsp, 56",
                $crate::cfi::off_frame!(),
                "ret",
                ".cfi_endproc",
                inner = sym $inner,
                stop = sym $crate::asm::promp_stop_at_exit,
                in_runtime = const $crate::asm::IN_RUNTIME,
                pending = const $crate::asm::PENDING,
                frame = const $crate::asm::FRAME,
                progress = const $crate::asm::PROGRESS,
                $($($operand)*)?
            )
        }
        $crate::keep!($name);
    };
}

/// The assembly that gives the code behind it an exported name. rustc does not know such names: it would put them into
/// its own anonymous version script, which wins over ours (build.rs).
#[macro_export]
#[doc(hidden)]
macro_rules! exported_label {
    ($name:ident) => {
        concat!(
            ".globl ",
            stringify!($name),
            "\n.type ",
            stringify!($name),
            ", @function\n",
            stringify!($name),
            ":"
        )
    };
}

/// Makes the compiler emit a function that only the linker's tables refer to.
#[macro_export]
#[doc(hidden)]
macro_rules! keep {
    ($name:ident) => {
        const _: () = {
            #[used]
            static KEEP: unsafe extern "C" fn() = $name;
        };
    };
}

/// Exports Rust functions under their own names, as jumps.
#[macro_export]
#[doc(hidden)]
macro_rules! export_names {
    ($($name:ident)*) => {$(
        const _: () = {
            #[unsafe(naked)]
            unsafe extern "C" fn entry() {
                core::arch::naked_asm!(
                    $crate::exported_label!($name),
                    ".cfi_startproc",
                    "jmp {f}",
                    ".cfi_endproc",
                    f = sym $name
                )
            }
            $crate::keep!(entry);
        };
    )*};
}

/// Gives a function the hidden name by which the assembly here calls it back.
#[macro_export]
#[doc(hidden)]
macro_rules! callback {
    ($name:ident => $inner:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                // As where it is called: an assembler that gets both says so otherwise.
                concat!(".weak ", stringify!($name), "\n.hidden ", stringify!($name)),
                concat!(".type ", stringify!($name), ", @function\n", stringify!($name), ":"),
                ".cfi_startproc",
                "jmp {f}",
                ".cfi_endproc",
                f = sym $inner
            )
        }
        $crate::keep!($name);
    };
}

/// A stub met a pending stop on its way out: rcx the thread, rax the result, rsp the frame.
///
/// # Safety
/// For the stubs only.
#[unsafe(naked)]
pub unsafe extern "C" fn promp_stop_at_exit() {
    naked_asm!(
        ".cfi_startproc",
        on_frame!(),
        "mov rdi, rcx",
        "mov rsi, rsp",
        "mov rdx, rax",
        ".weak promp_stops_at_exit",
        ".hidden promp_stops_at_exit",
        "call promp_stops_at_exit",
        "ud2",
        ".cfi_endproc",
    )
}

/// Calls `func(data)` for `thread` as the body of an activation. The `BASE` word of the thread is set; the caller keeps
/// the previous value.
///
/// # Safety
/// `func` must be callable with `data`; `thread` is what is known of the calling thread (tls.rs).
#[unsafe(naked)]
pub unsafe extern "C" fn promp_call(func: usize, data: usize, thread: usize) {
    naked_asm!(
        ".cfi_startproc",
        save_registers!(),
        "mov rbx, rdx",
        "mov r12, rdi",
        "mov r13, rsi",
        "mov qword ptr [rbx + {base}], rsp",
        "lea rbp, [rsp + {pointer}]",
        ".globl promp_call_enter",
        ".hidden promp_call_enter",
        "promp_call_enter:",
        "mov dword ptr [rbx + {in_runtime}], 0",
        "cmp dword ptr [rbx + {pending}], 0",
        "jne 2f",
        "mov rdi, r13",
        "call r12",
        ".globl promp_call_left",
        ".hidden promp_call_left",
        "promp_call_left:",
        "mov dword ptr [rbx + {in_runtime}], 1",
        "mov qword ptr [rbx + {frame}], 0",
        ".cfi_remember_state",
        restore_registers!(),
        "ret",
        "2:",
        ".cfi_restore_state",
        "mov rdi, rbx",
        "mov rsi, rsp",
        ".weak promp_stops_at_enter",
        ".hidden promp_stops_at_enter",
        "call promp_stops_at_enter",
        "ud2",
        ".cfi_endproc",
        in_runtime = const IN_RUNTIME,
        pending = const PENDING,
        frame = const FRAME,
        base = const BASE,
        pointer = const FRAME_POINTER,
    )
}

unsafe extern "C" {
    static promp_call_left: u8;
}

/// Does a function that returns to `addr` return to the trampoline? So does one that ends in a jump to an
/// entry point.
pub fn is_trampoline(addr: usize) -> bool {
    addr == (&raw const promp_call_left).addr()
}

/// Sets the calling host's signal mask to that in rdx; on the logical thread's stack, where signals that have waited are then taken. Keeps rax, rbx,
/// rsi, r12 and r13. Below the stack pointer nothing is in use.
macro_rules! unblock {
    () => {
        "push rax
        .cfi_adjust_cfa_offset 8
        push rsi
        .cfi_adjust_cfa_offset 8
        push rdx
        .cfi_adjust_cfa_offset 8
        mov edi, 2
        mov rsi, rsp
        xor edx, edx
        mov r10d, 8
        mov eax, 14
        syscall
        pop rdx
        .cfi_adjust_cfa_offset -8
        pop rsi
        .cfi_adjust_cfa_offset -8
        pop rax
        .cfi_adjust_cfa_offset -8"
    };
}

/// Continues on the frame at `frame` as if its call had returned `rax`, with the signal mask `mask`.
///
/// # Safety
/// The calling host has the frame's thread's identity, the frame is intact, and no other host runs on that stack.
#[unsafe(naked)]
pub unsafe extern "C" fn promp_return(frame: usize, rax: usize, mask: u64) -> ! {
    naked_asm!(
        ".cfi_startproc",
        "mov rsp, rdi",
        on_frame!(),
        "mov rax, rsi",
        unblock!(),
        ".globl promp_leave_frame",
        ".hidden promp_leave_frame",
        "promp_leave_frame:",
        "mov rcx, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rcx, qword ptr fs:[rcx]",
        "mov dword ptr [rcx + {in_runtime}], 0",
        "cmp dword ptr [rcx + {pending}], 0",
        "jne {stop}",
        restore_registers!(),
        "ret",
        ".cfi_endproc",
        stop = sym promp_stop_at_exit,
        in_runtime = const IN_RUNTIME,
        pending = const PENDING,
    )
}

/// Continues on the frame at `frame` by performing its call again (`redo`), then returning to its caller, with the signal mask `mask`.
///
/// # Safety
/// As for [`promp_return`].
#[unsafe(naked)]
pub unsafe extern "C" fn promp_repeat(frame: usize, thread: usize, mask: u64) -> ! {
    naked_asm!(
        ".cfi_startproc",
        "mov rsp, rdi",
        on_frame!(),
        "mov dword ptr [rsi + {in_runtime}], 1",
        "mov qword ptr [rsi + {frame}], rsp",
        unblock!(),
        "mov rdi, rsi",
        ".weak promp_redo",
        ".hidden promp_redo",
        "call promp_redo",
        "jmp promp_leave_frame",
        ".cfi_endproc",
        in_runtime = const IN_RUNTIME,
        frame = const FRAME,
    )
}

/// Calls an activation's function from its start, on its base, with the signal mask `mask`.
///
/// # Safety
/// As for [`promp_return`]; `base` is the activation's.
#[unsafe(naked)]
pub unsafe extern "C" fn promp_reenter(base: usize, thread: usize, mask: u64, func: usize, data: usize) -> ! {
    naked_asm!(
        ".cfi_startproc",
        "mov rsp, rdi",
        on_frame!(),
        "mov rbx, rsi",
        "mov r12, rcx",
        "mov r13, r8",
        unblock!(),
        "lea rbp, [rsp + {pointer}]",
        "jmp promp_call_enter",
        ".cfi_endproc",
        pointer = const FRAME_POINTER,
    )
}

// Entry stubs are in a section of their own, whose ends the linker names: a call into it is a save point.
global_asm!(
    // So that the section exists in programs that link no stub (unit tests).
    ".pushsection promp_stubs,\"ax\",@progbits",
    "ud2",
    ".popsection",
    ".hidden __start_promp_stubs",
    ".hidden __stop_promp_stubs",
    ".globl __start_promp_stubs",
    ".globl __stop_promp_stubs",
);

unsafe extern "C" {
    static __start_promp_stubs: u8;
    static __stop_promp_stubs: u8;
}

/// Is `addr` the address of an entry stub?
pub fn is_stub(addr: usize) -> bool {
    (&raw const __start_promp_stubs).addr() <= addr && addr < (&raw const __stop_promp_stubs).addr()
}
