//! Call-frame information of code that is written in assembly: what a debugger, a profiler or an unwinder
//! reads to find a function's caller. The
//! compiler writes it for all other code; without it a stack would end at the first stub, and whoever called
//! the region would not be seen.
//!
//! Behind a `.cfi_restore_state` the assembler adjusts the offset of the frame from what it was before: there
//! it has to be given anew.
//!
//! Registers are named by their DWARF numbers (x86-64 ABI): rbx 3, rbp 6, rsp 7, r12 to r15 12 to 15, the
//! return address 16.

/// Pushes the callee-saved registers, and eight bytes more: from here on rsp is a *frame* (asm.rs).
#[macro_export]
#[doc(hidden)]
macro_rules! save_registers {
    () => {
        "push rbp
        .cfi_adjust_cfa_offset 8
        push rbx
        .cfi_adjust_cfa_offset 8
        push r12
        .cfi_adjust_cfa_offset 8
        push r13
        .cfi_adjust_cfa_offset 8
        push r14
        .cfi_adjust_cfa_offset 8
        push r15
        .cfi_adjust_cfa_offset 8
        sub rsp, 8
        .cfi_adjust_cfa_offset 8
        .cfi_offset 6, -16
        .cfi_offset 3, -24
        .cfi_offset 12, -32
        .cfi_offset 13, -40
        .cfi_offset 14, -48
        .cfi_offset 15, -56"
    };
}

/// From here on rsp is a frame, whatever it was before.
#[macro_export]
#[doc(hidden)]
macro_rules! on_frame {
    () => {
        ".cfi_def_cfa 7, 64
        .cfi_offset 6, -16
        .cfi_offset 3, -24
        .cfi_offset 12, -32
        .cfi_offset 13, -40
        .cfi_offset 14, -48
        .cfi_offset 15, -56"
    };
}

/// From here on the frame is gone, and the registers have their caller's values.
#[macro_export]
#[doc(hidden)]
macro_rules! off_frame {
    () => {
        ".cfi_def_cfa_offset 8
        .cfi_restore 6
        .cfi_restore 3
        .cfi_restore 12
        .cfi_restore 13
        .cfi_restore 14
        .cfi_restore 15"
    };
}

/// Takes the registers of a frame back, and the frame away.
#[macro_export]
#[doc(hidden)]
macro_rules! restore_registers {
    () => {
        "add rsp, 8
        .cfi_adjust_cfa_offset -8
        pop r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore 15
        pop r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore 14
        pop r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore 13
        pop r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore 12
        pop rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore 3
        pop rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore 6"
    };
}

/// Pushes registers that the function behind need not find unchanged: the frame grows with each.
#[macro_export]
#[doc(hidden)]
macro_rules! push {
    ($($register:literal)*) => { concat!($("push ", $register, "\n.cfi_adjust_cfa_offset 8\n"),*) };
}

/// Takes back what [`push`] has put there; the caller gives the registers in the opposite order.
#[macro_export]
#[doc(hidden)]
macro_rules! pop {
    ($($register:literal)*) => { concat!($("pop ", $register, "\n.cfi_adjust_cfa_offset -8\n"),*) };
}

/// Moves rsp down by that many bytes, without anything in them.
#[macro_export]
#[doc(hidden)]
macro_rules! grow {
    ($bytes:literal) => {
        concat!("sub rsp, ", $bytes, "\n.cfi_adjust_cfa_offset ", $bytes)
    };
}

/// Takes back what [`grow`] did, or pushed words that nobody needs.
#[macro_export]
#[doc(hidden)]
macro_rules! shrink {
    ($bytes:literal) => {
        concat!("add rsp, ", $bytes, "\n.cfi_adjust_cfa_offset -", $bytes)
    };
}

pub use {grow, off_frame, on_frame, pop, push, restore_registers, save_registers, shrink};
