//! What is bound to x86-64: assembly, machine code, the thread-local words.

pub mod asm;
pub mod attempt;
pub mod cache;
pub mod cfi;
pub mod code;
pub mod fp_control;
pub mod jumps;
pub mod midway;
pub mod stack_copy;
pub mod tls;
pub mod unwind;
