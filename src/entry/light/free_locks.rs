//! Light ways of locks that are free, and of critical sections: `lock cmpxchg` to take, `xchg` to give back.

use super::light;
use crate::entry::locks::{Nest, enter_critical, leave_critical, nest_set, nest_unset, set, unset, wake_for};
use crate::entry::sync::{
    atomic_end, atomic_start, critical_end, critical_start, reduction_end, reduction_start,
};
use crate::stub;
use crate::sys::asm::{HELD, LAZY, PROGRESS, TASK};
use crate::sys::lock::CONTENDED;
use crate::work::locks::{ATOMIC, CRITICAL, REDUCTION};

/// What is done to a lock's word, whose address is in rdi, and then, with both counts as one word, to the
/// counts of locks held and of calls: `$counts` is added. With `of` the word is a static of the runtime's.
macro_rules! light_lock {
    ($name:ident => $usual:path, $counts:literal, $lines:tt, $operands:tt) => {
        light_lock! { @ $name, $usual, $counts, [], $lines, [], $operands }
    };
    ($name:ident of $word:path => $usual:path, $counts:literal, $lines:tt, $operands:tt) => {
        light_lock! {
            @ $name, $usual, $counts, ["lea rdi, [rip + {word}]",], $lines, [word = sym $word,], $operands
        }
    };
    (
        @ $name:ident, $usual:path, $counts:literal, [$($load:literal,)?], [$($line:literal),*],
        [$($word:tt)*], [$($operand:tt)*]
    ) => {
        light! {
            #[doc = concat!("`", stringify!($name), "`.")]
            $name => $usual, thread in "rcx", counted by
            [
                $($load,)?
                $($line,)*
                concat!("mov rdx, ", $counts),
                "add qword ptr [rcx + {held}], rdx",
                "ret"
            ],
            held = const HELD,
            $($operand)*
            $($word)*
        }
    };
}

/// Takes a lock that is free.
macro_rules! light_take {
    ($($name:ident $(of $word:path)? => $usual:path;)*) => { $(light_lock! {
        $name $(of $word)? => $usual, "0x100000001",
        ["xor eax, eax", "mov edx, 1", "lock cmpxchg dword ptr [rdi], edx", "jne 2f"],
        []
    })* };
}

/// Gives a lock back. Where somebody may sleep for it the thread counts as its holder until it has woken one:
/// should it fail before that, nobody believes that all locks are free. (The lower count's carry is what the
/// upper one counts.)
macro_rules! light_give {
    ($($name:ident $(of $word:path)? => $usual:path;)*) => { $(light_lock! {
        $name $(of $word)? => $usual, "0xFFFFFFFF",
        ["xor edx, edx", "xchg dword ptr [rdi], edx", "cmp edx, {contended}", "je {wake}"],
        [contended = const CONTENDED, wake = sym promp_wake_for_lock,]
    })* };
}

// A named critical section's lock is the first word of a variable that the compiler reserves for the name.
light_take! {
    omp_set_lock => promp_set_lock;
    omp_set_lock_ => promp_set_lock;
    GOMP_critical_name_start => promp_enter_critical;
    GOMP_critical_start of CRITICAL => promp_critical_start;
    GOMP_atomic_start of ATOMIC => promp_atomic_start;
    GOMP_reduction_start of REDUCTION => promp_reduction_start;
}
light_give! {
    omp_unset_lock => promp_unset_lock;
    omp_unset_lock_ => promp_unset_lock;
    GOMP_critical_name_end => promp_leave_critical;
    GOMP_critical_end of CRITICAL => promp_critical_end;
    GOMP_atomic_end of ATOMIC => promp_atomic_end;
    GOMP_reduction_end of REDUCTION => promp_reduction_end;
}

light! {
    /// `omp_set_nest_lock`: free, or the current task's already. Its task must be one: see [`Nest`].
    omp_set_nest_lock => promp_set_nest_lock, thread in "rcx", counted by
    [
        "cmp dword ptr [rcx + {lazy}], 0",
        "jne 2f",
        "mov rdx, qword ptr [rcx + {task}]",
        "xor eax, eax",
        "mov r8d, 1",
        // First of all: to look whose it is would fetch the line once more.
        "lock cmpxchg dword ptr [rdi], r8d",
        "jne 3f",
        "mov dword ptr [rdi + {count}], r8d",
        "mov qword ptr [rdi + {owner}], rdx",
        "mov rdx, 0x100000001",
        "add qword ptr [rcx + {held}], rdx",
        "ret",
        "3:",
        "cmp qword ptr [rdi + {owner}], rdx",
        "jne 2f",
        "add dword ptr [rdi + {count}], r8d",
        "add dword ptr [rcx + {progress}], r8d",
        "ret"
    ],
    lazy = const LAZY,
    task = const TASK,
    held = const HELD,
    progress = const PROGRESS,
    count = const Nest::COUNT,
    owner = const Nest::OWNER,
}

light! {
    /// `omp_unset_nest_lock`.
    omp_unset_nest_lock => promp_unset_nest_lock, thread in "rcx", counted by
    [
        "cmp dword ptr [rdi + {count}], 1",
        "jne 3f",
        "xor edx, edx",
        "mov dword ptr [rdi + {count}], edx",
        "mov qword ptr [rdi + {owner}], rdx",
        "xchg dword ptr [rdi], edx",
        "cmp edx, {contended}",
        "je {wake}",
        "mov edx, 0xFFFFFFFF",
        "add qword ptr [rcx + {held}], rdx",
        "ret",
        "3:",
        "sub dword ptr [rdi + {count}], 1",
        "add dword ptr [rcx + {progress}], 1",
        "ret"
    ],
    held = const HELD,
    progress = const PROGRESS,
    count = const Nest::COUNT,
    owner = const Nest::OWNER,
    contended = const CONTENDED,
    wake = sym promp_wake_for_lock,
}

stub! {
    promp_set_nest_lock => nest_set;
    promp_unset_nest_lock => nest_unset;
    promp_set_lock => set;
    promp_unset_lock => unset;
    promp_enter_critical => enter_critical;
    promp_leave_critical => leave_critical;
    promp_wake_for_lock => wake_for;
    promp_critical_start => critical_start;
    promp_critical_end => critical_end;
    promp_atomic_start => atomic_start;
    promp_atomic_end => atomic_end;
    promp_reduction_start => reduction_start;
    promp_reduction_end => reduction_end;
}
