//! Light ways through calls that are often made and mostly have little to do, without a frame: a task that is executed at once
//! (task/included.rs), `taskwait` with nothing to wait for, `taskyield`, `single`, locks that are free. Where
//! [`Thread::light`](crate::team::thread::Thread::light) does not allow them, and for all that is more than that, the calls go on to the
//! usual stubs.
//!
//! A stop finds a thread in one of these as if it were in application code: nothing here leaves the runtime's state half changed but for
//! the count of held locks, which matters only where calls are save points, and there these ways are closed.

use super::locks::{Nest, enter_critical, leave_critical, nest_set, nest_unset, set, unset, wake_for};
use super::omp::{num_threads, thread_num};
use super::single::start as single;
use super::sync::{atomic_end, atomic_start, critical_end, critical_start, reduction_end, reduction_start};
use super::task::{CALL, at_once, task, task_reduction_remap, taskwait, taskwait_told, taskyield};
use crate::fault::save::{self, SaveKind};
use crate::sys::asm::{FRAME, HELD, IN_RUNTIME, LAZY, LIGHT, MEMBER, PENDING, PROGRESS, TASK};
use crate::sys::cfi::{off_frame, save_registers};
use crate::sys::lock::CONTENDED;
use crate::task::group::Group;
use crate::task::included::{self, INCLUDED, LAST, PLAIN, SPECIAL};
use crate::task::pool::ENOUGH;
use crate::task::{GROUP, SPAWNED, flag};
use crate::team::member::Member;
use crate::team::team::Team;
use crate::team::thread::current;
use crate::work::locks::{ATOMIC, CRITICAL, REDUCTION};
use crate::{exported_label, keep, stub};
use core::arch::naked_asm;
use core::mem::offset_of;

/// `GOMP_task`. Registers: rdi function, rsi data, rdx copy function, r9 if clause; on the stack the flags. The usual way says
/// whether the task is to be executed at once, too: then it is called from here, with the frame gone, or, if it is more than a
/// call, with nothing but the frame. Should a stop be pending
/// then, the task is executed within the runtime call instead, where stops are seen to.
///
/// # Safety
/// For compiled OpenMP code.
#[unsafe(naked)]
#[unsafe(link_section = "promp_stubs")]
#[allow(non_snake_case)]
pub unsafe extern "C" fn GOMP_task() {
    naked_asm!(
        exported_label!(GOMP_task),
        ".cfi_startproc",
        "mov rax, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "test rdx, rdx",
        "jnz 5f",
        "test dword ptr [rsp + 8], {special}",
        "jnz 9f",
        "mov r10d, dword ptr [rax + {light}]",
        "test r10b, {plain}",
        "jz 5f",
        "test r9b, r9b",
        "jz 3f",
        "test r10b, {included}",
        "jnz 3f",
        // Are enough waiting? A hint: thieves may be at it.
        "mov r10, qword ptr [rax + {member}]",
        "mov r11, qword ptr [r10 + {bottom}]",
        "sub r11, qword ptr [r10 + {top}]",
        "cmp r11, qword ptr [r10 + {enough}]",
        "jb 5f",
        // At once: a call.
        "3:",
        "add dword ptr [rax + {lazy}], 1",
        "add dword ptr [rax + {progress}], 1",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_offset 3, -16",
        "mov rbx, rax",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "sub dword ptr [rbx + {lazy}], 1",
        "jc 4f",
        ".cfi_remember_state",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore 3",
        "ret",
        "4:",
        ".cfi_restore_state",
        ".cfi_def_cfa_offset 16",
        "mov dword ptr [rbx + {lazy}], 0",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore 3",
        "jmp {end}",
        // Of all that is special only `final`, in a final task?
        "9:",
        "test dword ptr [rsp + 8], {more}",
        "jnz 5f",
        "test byte ptr [rax + {light}], {last}",
        "jnz 3b",
        // The usual way.
        "5:",
        save_registers!(),
        "mov dword ptr [rax + {in_runtime}], 1",
        "mov qword ptr [rax + {frame}], rsp",
        "add dword ptr [rax + {progress}], 1",
        "mov r12, rdi",
        "mov r13, rsi",
        ".rept 4", "push qword ptr [rsp + 88]", ".cfi_adjust_cfa_offset 8", ".endr",
        "call {task}",
        "add rsp, 32",
        ".cfi_adjust_cfa_offset -32",
        "cmp rax, {call}",
        "ja 6f",
        "2:",
        "mov rcx, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rcx, qword ptr fs:[rcx]",
        "mov dword ptr [rcx + {in_runtime}], 0",
        "cmp dword ptr [rcx + {pending}], 0",
        "jne 7f",
        "test al, al",
        "mov rdi, r12",
        "mov rsi, r13",
        "mov r13, qword ptr [rsp + 24]",
        "mov r12, qword ptr [rsp + 32]",
        ".cfi_remember_state",
        "lea rsp, [rsp + 56]",
        off_frame!(),
        "mov rax, rcx",
        "jnz 3b",
        "ret",
        ".cfi_restore_state",
        "7:",
        "test al, al",
        "jz 8f",
        "mov dword ptr [rcx + {in_runtime}], 1",
        "mov rdi, r12",
        "mov rsi, r13",
        "call {within}",
        "mov rcx, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rcx, qword ptr fs:[rcx]",
        "mov dword ptr [rcx + {in_runtime}], 0",
        "8:",
        "mov r13, qword ptr [rsp + 24]",
        "mov r12, qword ptr [rsp + 32]",
        "xor eax, eax",
        "jmp {stop}",
        "6:",
        "mov rdi, rax",
        "call {at_once}",
        "xor eax, eax",
        "jmp 2b",
        ".cfi_endproc",
        call = const CALL,
        at_once = sym at_once,
        special = const SPECIAL,
        more = const SPECIAL & !flag::FINAL,
        last = const LAST,
        plain = const PLAIN,
        included = const INCLUDED,
        member = const MEMBER,
        top = const offset_of!(Member, tasks) + ENOUGH[0],
        bottom = const offset_of!(Member, tasks) + ENOUGH[1],
        enough = const offset_of!(Member, tasks) + ENOUGH[2],
        light = const LIGHT,
        lazy = const LAZY,
        in_runtime = const IN_RUNTIME,
        pending = const PENDING,
        frame = const FRAME,
        progress = const PROGRESS,
        end = sym promp_task_settled,
        task = sym task,
        within = sym within,
        stop = sym crate::sys::asm::promp_stop_at_exit,
    )
}
keep!(GOMP_task);

/// Executes a task within the runtime call.
extern "C" fn within(func: usize, data: usize) {
    included::call(current(), (func, data));
}

/// A task that began as a call and had to be made is over.
extern "C" fn settled() {
    let thr = current();
    included::end_settled(thr);
    // Calls may have become save points meanwhile: none that lies in the task counts any more.
    save::point(thr, SaveKind::After(0));
}

/// A light way into `$usual`: the lines, with the thread in rcx or the register that is named, which end in `ret` or go on behind them, where
/// the usual way begins. Calls are counted here unless the lines do it.
macro_rules! light {
    ($(#[$doc:meta])* $name:ident => $usual:path, [$($line:literal),*] $(, $($operand:tt)*)?) => {
        light! { $(#[$doc])* $name => $usual, thread in "rcx", [$($line),*] $(, $($operand)*)? }
    };
    ($(#[$doc:meta])* $name:ident => $usual:path, thread in $r:literal, [$($line:literal),*] $(, $($operand:tt)*)?) => {
        light! {
            $(#[$doc])* $name => $usual, thread in $r, counted by
            [concat!("add dword ptr [", $r, " + {progress}], 1") $(, $line)*],
            progress = const $crate::sys::asm::PROGRESS, $($($operand)*)?
        }
    };
    ($(#[$doc:meta])* $name:ident => $usual:path, thread in $r:literal, counted by [$($line:expr),*], $($operand:tt)*) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// For compiled OpenMP code: the arguments are what the ABI says.
        #[unsafe(naked)]
        #[unsafe(link_section = "promp_stubs")]
        #[allow(non_snake_case)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                // One line of the cache for most of these.
                ".p2align 6",
                $crate::exported_label!($name),
                ".cfi_startproc",
                concat!("mov ", $r, ", qword ptr [rip + promp_self@GOTTPOFF]"),
                concat!("mov ", $r, ", qword ptr fs:[", $r, "]"),
                concat!("test byte ptr [", $r, " + {light}], {plain}"),
                "jz 2f",
                $($line,)*
                "2:",
                "jmp {usual}",
                ".cfi_endproc",
                light = const $crate::sys::asm::LIGHT,
                plain = const $crate::task::included::PLAIN,
                usual = sym $usual,
                $($operand)*
            )
        }
        $crate::keep!($name);
    };
}
pub(super) use light;

light! {
    /// `GOMP_taskwait`: a task that is only counted has no children, others may have none since they last waited.
    GOMP_taskwait => promp_taskwait_told,
    [
        "cmp dword ptr [rcx + {lazy}], 0",
        "jne 3f",
        "mov rdx, qword ptr [rcx + {task}]",
        "cmp byte ptr [rdx + {spawned}], 0",
        "jne {children}",
        "3:",
        "ret"
    ],
    lazy = const LAZY,
    task = const TASK,
    spawned = const SPAWNED,
    children = sym promp_taskwait,
}

light! {
    /// `GOMP_taskyield`: a task goes on here, whatever else is ready.
    GOMP_taskyield => promp_taskyield, ["ret"]
}

light! {
    /// `GOMP_task_reduction_remap`: rdi pointers at rdx, mostly to the variables of the innermost registration, in its order, of which only
    /// the copies are asked for (task/reduction.rs has the format). A pointer that has been replaced already may be given again.
    GOMP_task_reduction_remap => promp_task_reduction_remap,
    [
        "test rdi, rdi",
        "jz 2f",
        "test rsi, rsi",
        "jnz 2f",
        "mov rax, qword ptr [rcx + {task}]",
        "mov rax, qword ptr [rax + {group}]",
        "test rax, rax",
        "jz 2f",
        "mov rax, qword ptr [rax + {reductions}]",
        "test rax, rax",
        "jz 2f",
        // The thread's block.
        "mov r9, qword ptr [rcx + {member}]",
        "mov r9d, dword ptr [r9 + {num}]",
        "imul r9, qword ptr [rax + 8]",
        "add r9, qword ptr [rax + 8 * 2]",
        "xor r10d, r10d",
        "3:",
        "cmp r10, qword ptr [rax]",
        "jae 2f",
        "lea r11, [r10 + 2 * r10]",
        "mov r8, qword ptr [rdx + 8 * r10]",
        "cmp r8, qword ptr [rax + 8 * r11 + 8 * 7]",
        "jne 2f",
        "mov r8, qword ptr [rax + 8 * r11 + 8 * 8]",
        "add r8, r9",
        "mov qword ptr [rdx + 8 * r10], r8",
        "add r10, 1",
        "cmp r10, rdi",
        "jb 3b",
        "ret"
    ],
    task = const TASK,
    group = const GROUP,
    reductions = const offset_of!(Group, reductions),
    member = const MEMBER,
    num = const offset_of!(Member, num),
}

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

/// What programs ask in their innermost loops: a number in the member or its team. These are no save points, and so not among the stubs (sys/code.rs).
macro_rules! light_query {
    ($($name:ident => $usual:path, [$($line:literal),*], $operand:ident = $at:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// Like a C function without arguments.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
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
    omp_get_num_threads => num_threads, ["mov rax, qword ptr [rax]", "mov eax, dword ptr [rax + {size}]"], size = offset_of!(Team, size);
    omp_get_num_threads_ => num_threads, ["mov rax, qword ptr [rax]", "mov eax, dword ptr [rax + {size}]"], size = offset_of!(Team, size);
}
const _: () = assert!(offset_of!(Member, team) == 0);

/// What is done to a lock's word, whose address is in rdi, and then, with both counts as one word, to the counts of locks held and of calls:
/// `$counts` is added. With `of` the word is a static of the runtime's.
macro_rules! light_lock {
    ($name:ident => $usual:path, $counts:literal, $lines:tt, $operands:tt) => {
        light_lock! { @ $name, $usual, $counts, [], $lines, [], $operands }
    };
    ($name:ident of $word:path => $usual:path, $counts:literal, $lines:tt, $operands:tt) => {
        light_lock! { @ $name, $usual, $counts, ["lea rdi, [rip + {word}]",], $lines, [word = sym $word,], $operands }
    };
    (@ $name:ident, $usual:path, $counts:literal, [$($load:literal,)?], [$($line:literal),*], [$($word:tt)*], [$($operand:tt)*]) => {
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

/// Gives a lock back. Where somebody may sleep for it the thread counts as its holder until it has woken one: should it fail before that, nobody
/// believes that all locks are free. (The lower count's carry is what the upper one counts.)
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
    promp_task_settled => settled;
    promp_taskwait => taskwait;
    promp_taskwait_told => taskwait_told;
    promp_taskyield => taskyield;
    promp_task_reduction_remap => task_reduction_remap;
    promp_single_start => single;
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
