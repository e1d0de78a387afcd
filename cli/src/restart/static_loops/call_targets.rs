//! A file's code, and which functions its calls lead to.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use std::collections::{BTreeSet, HashMap};

/// The routines, in C and in Fortran.
pub const SIZE: [&str; 2] = ["omp_get_num_threads", "omp_get_num_threads_"];
pub const NUMBER: [&str; 2] = ["omp_get_thread_num", "omp_get_thread_num_"];
/// What promp-cc's code calls in place of them where it only shows the value; a stub of its own calls them
/// if there is no such function.
pub const SHOWN: [&str; 2] = ["promp_shown_num_threads", "promp_shown_thread_num"];
/// What takes no numbers and no pointers.
pub const TAKE_NOTHING: [&str; 24] = [
    "GOMP_barrier",
    "GOMP_critical_start",
    "GOMP_critical_end",
    "GOMP_atomic_start",
    "GOMP_atomic_end",
    "GOMP_single_start",
    "GOMP_taskwait",
    "GOMP_loop_end",
    "GOMP_loop_end_nowait",
    "GOMP_ordered_start",
    "GOMP_ordered_end",
    "exp",
    "log",
    "log10",
    "pow",
    "sin",
    "cos",
    "tan",
    "atan",
    "atan2",
    "sqrt",
    "fmod",
    "floor",
    "ceil",
];
/// What takes so many.
pub const TAKE_SOME: [(&str, usize); 9] = [
    ("malloc", 1),
    ("free", 1),
    ("calloc", 2),
    ("realloc", 2),
    ("memset", 3),
    ("memcpy", 3),
    ("memmove", 3),
    ("ldexp", 1),
    ("sincos", 2),
];
/// What does not return.
pub const LAST: [&str; 7] = [
    "abort",
    "exit",
    "__stack_chk_fail",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_os_error_at",
    "_gfortran_error_stop_string",
];

pub struct Code64<'a> {
    pub sections: Vec<(u64, &'a [u8])>,
    /// Slots of the linkage table that lead to the routines.
    pub slots: HashMap<u64, &'static str>,
    /// ... and to what is known to take so many numbers and pointers.
    pub takers: HashMap<u64, usize>,
    /// ... and to what does not return.
    pub last: BTreeSet<u64>,
    /// ... and to what only shows the value.
    pub shown: BTreeSet<u64>,
}

pub fn routine(name: &str) -> Option<&'static str> {
    SIZE.iter().chain(&NUMBER).find(|n| **n == name).copied()
}

impl<'a> Code64<'a> {
    pub fn decoder(&self, at: u64) -> Option<Decoder<'a>> {
        let (start, data) = self.sections.iter().find(|(s, d)| (*s..s + d.len() as u64).contains(&at))?;
        Some(Decoder::with_ip(64, &data[(at - start) as usize..], at, DecoderOptions::NONE))
    }

    /// The slot that an instruction uses.
    pub fn slot(&self, i: &Instruction) -> Option<&'static str> {
        let memory = (0..i.op_count()).any(|k| i.op_kind(k) == OpKind::Memory);
        (memory && i.is_ip_rel_memory_operand())
            .then(|| self.slots.get(&i.memory_displacement64()).copied())?
    }

    /// The slot of the linkage table that a call uses, by itself or by way of a stub.
    pub fn leads_to(&self, i: &Instruction) -> Option<u64> {
        let slot = |i: &Instruction, how: &[FlowControl]| {
            let indirect = how.contains(&i.flow_control());
            (indirect && i.is_ip_rel_memory_operand()).then(|| i.memory_displacement64())
        };
        if i.op0_kind() != OpKind::NearBranch64 {
            return slot(i, &[FlowControl::IndirectCall, FlowControl::IndirectBranch]);
        }
        let mut stub = self.decoder(i.near_branch_target())?.into_iter();
        let first = stub.next()?;
        slot(
            &if first.code() == Code::Endbr64 { stub.next()? } else { first },
            &[FlowControl::IndirectBranch],
        )
    }

    /// The routine that a call leads to.
    pub fn called(&self, i: &Instruction) -> Option<&'static str> {
        self.slots.get(&self.leads_to(i)?).copied()
    }
}
