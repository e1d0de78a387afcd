//! Light ways through the calls that task programs make most, without a frame: a task that is executed at once
//! (task/included.rs), `taskwait` with nothing to wait for, `taskyield`. Where [`Thread::light`] does not allow them, and for all that
//! is more than that, the calls go on to the usual stubs.

use super::task::{task, taskwait, taskyield};
use crate::sys::asm::{FRAME, IN_RUNTIME, LAZY, LIGHT, PENDING, PROGRESS, TASK};
use crate::task::included::{self, PLAIN, SPECIAL};
use crate::task::{SPAWNED, spawn};
use crate::team::thread::current;
use crate::{exported_label, keep, stub};
use core::arch::naked_asm;

/// `GOMP_task`. Registers: rdi function, rsi data, rdx copy function, r9 if clause; on the stack the flags. The usual way says
/// whether the task is to be executed at once, too: then it is called from here, with the frame gone. Should a stop be pending
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
        "mov rax, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "test rax, rax",
        "jz 5f",
        "test rdx, rdx",
        "jnz 5f",
        "test dword ptr [rsp + 8], {special}",
        "jnz 5f",
        "mov r10d, dword ptr [rax + {light}]",
        "test r9b, r9b",
        "jz 2f",
        "shr r10d, 1",
        "2:",
        "test r10b, {plain}",
        "jz 5f",
        // At once: a call.
        "3:",
        "add dword ptr [rax + {lazy}], 1",
        "add dword ptr [rax + {progress}], 1",
        "sub rsp, 8",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "add rsp, 8",
        "mov rax, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "sub dword ptr [rax + {lazy}], 1",
        "jc 4f",
        "ret",
        "4:",
        "mov dword ptr [rax + {lazy}], 0",
        "jmp {end}",
        // The usual way.
        "5:",
        "push rbp", "push rbx", "push r12", "push r13", "push r14", "push r15", "sub rsp, 8",
        "test rax, rax",
        "jz 6f",
        "mov dword ptr [rax + {in_runtime}], 1",
        "mov qword ptr [rax + {frame}], rsp",
        "add dword ptr [rax + {progress}], 1",
        "6:",
        "mov r12, rdi",
        "mov r13, rsi",
        ".rept 4", "push qword ptr [rsp + 88]", ".endr",
        "call {task}",
        "add rsp, 32",
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
        "lea rsp, [rsp + 56]",
        "mov rax, rcx",
        "jnz 3b",
        "ret",
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
        special = const SPECIAL,
        plain = const PLAIN,
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
    spawn::execute_at_once(current(), (func, data));
}

/// A task that began as a call and had to be made is over.
extern "C" fn settled() {
    included::end_settled(current());
}

/// `GOMP_taskwait`: a task that is only counted has no children, others may have none since they last waited.
///
/// # Safety
/// For compiled OpenMP code.
#[unsafe(naked)]
#[unsafe(link_section = "promp_stubs")]
#[allow(non_snake_case)]
pub unsafe extern "C" fn GOMP_taskwait() {
    naked_asm!(
        exported_label!(GOMP_taskwait),
        "mov rax, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "test rax, rax",
        "jz 3f",
        "test byte ptr [rax + {light}], {plain}",
        "jz 3f",
        "add dword ptr [rax + {progress}], 1",
        "cmp dword ptr [rax + {lazy}], 0",
        "jne 2f",
        "mov rcx, qword ptr [rax + {task}]",
        "cmp byte ptr [rcx + {spawned}], 0",
        "jne 3f",
        "2:",
        "ret",
        "3:",
        "jmp {usual}",
        plain = const PLAIN,
        light = const LIGHT,
        lazy = const LAZY,
        progress = const PROGRESS,
        task = const TASK,
        spawned = const SPAWNED,
        usual = sym promp_taskwait,
    )
}
keep!(GOMP_taskwait);

/// `GOMP_taskyield`: a task goes on here, whatever else is ready.
///
/// # Safety
/// For compiled OpenMP code.
#[unsafe(naked)]
#[unsafe(link_section = "promp_stubs")]
#[allow(non_snake_case)]
pub unsafe extern "C" fn GOMP_taskyield() {
    naked_asm!(
        exported_label!(GOMP_taskyield),
        "mov rax, qword ptr [rip + promp_self@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "test rax, rax",
        "jz 2f",
        "test byte ptr [rax + {light}], {plain}",
        "jz 2f",
        "add dword ptr [rax + {progress}], 1",
        "ret",
        "2:",
        "jmp {usual}",
        plain = const PLAIN,
        light = const LIGHT,
        progress = const PROGRESS,
        usual = sym promp_taskyield,
    )
}
keep!(GOMP_taskyield);

stub! {
    promp_task_settled => settled;
    promp_taskwait => taskwait;
    promp_taskyield => taskyield;
}
