//! Light ways of tasks: one that is executed at once (task/included_tasks.rs), `taskwait` with nothing to
//! wait for, `taskyield`, and pointers to reductions' copies.

use super::light;
use crate::entry::task::{CALL, at_once, task, task_reduction_remap, taskwait, taskwait_told, taskyield};
use crate::save::{self, SaveKind};
use crate::sys::asm::{FRAME, IN_RUNTIME, LAZY, LIGHT, MEMBER, PENDING, PROGRESS, TASK};
use crate::sys::cfi::{off_frame, save_registers};
use crate::task::group::Group;
use crate::task::included_tasks;
use crate::task::lightness::{INCLUDED, LAST, PLAIN, SPECIAL};
use crate::task::pool::ENOUGH;
use crate::task::{GROUP, SPAWNED, flag};
use crate::team::member::Member;
use crate::team::thread::current;
use crate::{exported_label, keep, stub};
use core::arch::naked_asm;
use core::mem::offset_of;

/// Bytes, and alignment, of the largest block that a task's copy function may make on the stack in the light
/// way: it must not reach beyond the page that guards the stack.
const LARGEST: usize = 2048;
/// See [`LARGEST`].
const ALIGNED: usize = 64;

/// The task is called at once: 3. At 9: is all that is special `final`, in a final task?
macro_rules! at_once {
    () => {
        "3:
        add dword ptr [rax + {lazy}], 1
        add dword ptr [rax + {progress}], 1
        push rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset 3, -16
        mov rbx, rax
        mov rax, rdi
        mov rdi, rsi
        call rax
        sub dword ptr [rbx + {lazy}], 1
        jc 4f
        .cfi_remember_state
        pop rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore 3
        ret
        4:
        .cfi_restore_state
        .cfi_def_cfa_offset 16
        mov dword ptr [rbx + {lazy}], 0
        pop rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore 3
        jmp {end}
        # Of all that is special only `final`, in a final task?
        9:
        test dword ptr [rsp + 8], {more}
        jnz 5f
        test byte ptr [rax + {light}], {last}
        jnz 3b"
    };
}

/// The usual way, behind 5: it says whether the task is to be executed at once, too. Then that is called, at
/// 3 or 6, with nothing but the frame at most.
macro_rules! usual {
    () => {
        "mov dword ptr [rax + {in_runtime}], 1
        mov qword ptr [rax + {frame}], rsp
        add dword ptr [rax + {progress}], 1
        mov r12, rdi
        mov r13, rsi
        .rept 4
        push qword ptr [rsp + 88]
        .cfi_adjust_cfa_offset 8
        .endr
        call {task}
        add rsp, 32
        .cfi_adjust_cfa_offset -32
        cmp rax, {call}
        ja 6f
        2:
        mov rcx, qword ptr [rip + promp_self@GOTTPOFF]
        mov rcx, qword ptr fs:[rcx]
        mov dword ptr [rcx + {in_runtime}], 0
        cmp dword ptr [rcx + {pending}], 0
        jne 7f
        test al, al
        mov rdi, r12
        mov rsi, r13
        mov r13, qword ptr [rsp + 24]
        mov r12, qword ptr [rsp + 32]
        .cfi_remember_state
        lea rsp, [rsp + 56]"
    };
}

/// Behind that. Should a stop be pending (7), a task that is to be called is executed within the runtime call
/// instead, where stops are seen to.
macro_rules! answer {
    () => {
        "mov rax, rcx
        jnz 3b
        ret
        .cfi_restore_state
        7:
        test al, al
        jz 8f
        mov dword ptr [rcx + {in_runtime}], 1
        mov rdi, r12
        mov rsi, r13
        call {within}
        mov rcx, qword ptr [rip + promp_self@GOTTPOFF]
        mov rcx, qword ptr fs:[rcx]
        mov dword ptr [rcx + {in_runtime}], 0
        8:
        mov r13, qword ptr [rsp + 24]
        mov r12, qword ptr [rsp + 32]
        xor eax, eax
        jmp {stop}
        6:
        mov rdi, rax
        call {at_once}
        xor eax, eax
        jmp 2b"
    };
}

/// With a copy function, behind 20: rcx bytes and r8 alignment of the block that it makes, on the stack.
macro_rules! with_copy {
    () => {
        "test dword ptr [rsp + 8], {special}
        jnz 24f
        21:
        mov r10d, dword ptr [rax + {light}]
        test r10b, {plain}
        jz 5b
        test r9b, r9b
        jz 22f
        test r10b, {included}
        jnz 22f
        mov r10, qword ptr [rax + {member}]
        mov r11, qword ptr [r10 + {bottom}]
        sub r11, qword ptr [r10 + {top}]
        cmp r11, qword ptr [r10 + {enough}]
        jb 5b
        22:
        cmp rcx, {largest}
        ja 5b
        cmp r8, {aligned}
        ja 5b
        add dword ptr [rax + {lazy}], 1
        add dword ptr [rax + {progress}], 1
        push rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset 6, -16
        mov rbp, rsp
        .cfi_def_cfa_register 6
        push rbx
        .cfi_offset 3, -24
        push r12
        .cfi_offset 12, -32
        mov rbx, rax
        mov r12, rdi
        sub rsp, rcx
        neg r8
        and rsp, r8
        and rsp, -16
        mov rdi, rsp
        call rdx
        mov rdi, rsp
        call r12
        lea rsp, [rbp - 16]
        sub dword ptr [rbx + {lazy}], 1
        pop r12
        .cfi_restore 12
        pop rbx
        .cfi_restore 3
        pop rbp
        .cfi_restore 6
        .cfi_def_cfa 7, 8
        # By the subtraction; nothing since then has changed the flags.
        jc 23f
        ret
        23:
        mov rax, qword ptr [rip + promp_self@GOTTPOFF]
        mov rax, qword ptr fs:[rax]
        mov dword ptr [rax + {lazy}], 0
        jmp {end}
        24:
        test dword ptr [rsp + 8], {more}
        jnz 5b
        test byte ptr [rax + {light}], {last}
        jnz 22b
        jmp 5b"
    };
}

/// `GOMP_task`. Registers: rdi function, rsi data, rdx copy function, rcx and r8 size and alignment of what
/// that makes, r9 if clause; on the stack the flags.
///
/// # Safety
/// For compiled OpenMP code.
#[unsafe(naked)]
#[unsafe(link_section = "promp_stubs")]
#[allow(non_snake_case)]
pub(super) unsafe extern "C" fn GOMP_task() {
    naked_asm!(
        exported_label!(GOMP_task),
        ".cfi_startproc",
        "mov rax, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "test rdx, rdx",
        "jnz 20f",
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
        at_once!(),
        "5:",
        save_registers!(),
        usual!(),
        off_frame!(),
        answer!(),
        "20:",
        off_frame!(),
        with_copy!(),
        ".cfi_endproc",
        largest = const LARGEST,
        aligned = const ALIGNED,
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
    included_tasks::call(current(), (func, data));
}

/// A task that began as a call and had to be made is over.
extern "C" fn settled() {
    let thr = current();
    included_tasks::end_settled(thr);
    // Calls may have become save points meanwhile: none that lies in the task counts any more.
    save::point(thr, SaveKind::After(0));
}

light! {
    /// `GOMP_taskwait`: a task that is only counted has no children, others may have none since they last
    /// waited.
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
    /// `GOMP_task_reduction_remap`: rdi pointers at rdx, mostly to the variables of the innermost
    /// registration, in its order, of which only the copies are asked for (task/reduction.rs has the format).
    /// A pointer that has been replaced already may be given again.
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

stub! {
    promp_task_settled => settled;
    promp_taskwait => taskwait;
    promp_taskwait_told => taskwait_told;
    promp_taskyield => taskyield;
    promp_task_reduction_remap => task_reduction_remap;
}
