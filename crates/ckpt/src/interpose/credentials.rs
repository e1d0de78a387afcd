//! Rights that the program gives up. Users, groups and the like are the kernel's affair for each thread;
//! libc's functions (`setuid` and its kin) have all threads change that libc knows of, which the runtime's
//! own hosts are not. So the program's calls lead here as soon as there is such a host, and the hosts
//! become what the caller is.
//!
//! Also calls that change the calling thread alone (`capset`, `prctl`, the same system calls made by
//! `syscall`): the runtime's hosts never have more rights than a thread of the program has given up.
//! Filters of system calls are not copied: one made for the program would end the hosts, or the process.

use crate::attributes::memory_advice;
use crate::sys;
use crate::sys::door::Door;
use crate::sys::follow::{self, Call};
use crate::sys::got::{self, Instead, calls_instead};
use crate::sys::rights::{self, capability_words};
use crate::sys::{cpu_limit, cpu_time, maps, reach, syscall};
use crate::{ends, exits, irreversible_calls, keep, say, system_v, timers};
use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_ulong};
use core::sync::atomic::Ordering::*;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};

/// The agent's host, 0 if there is none. With checkpoints it is among the keeper's notes, too.
pub static AGENT: AtomicU32 = AtomicU32::new(0);
/// Do the program's calls lead here?
static FOLLOWED: AtomicBool = AtomicBool::new(false);

/// There is, or soon will be, a host of the runtime's own.
pub fn begin() {
    if !FOLLOWED.swap(true, AcqRel) {
        follow::install();
        let list = instead();
        list.iter().for_each(Instead::learn);
        let (maps, door) = (maps::all(), Door::open());
        for object in got::objects(&maps) {
            got::lead(&maps, object, &list, &door);
        }
    }
}

/// What objects that are loaded from now on are to call.
pub fn instead() -> Vec<Instead> {
    let syscall =
        Instead { name: c"syscall", version: None, real: &SYSCALL, address: by_number as *const () as usize };
    let of_time = [cpu_time::instead(), cpu_limit::instead(), timers::instead()].concat();
    let of_process = [irreversible_calls::instead(), ends::instead(), exits::instead()].concat();
    [caught_calls(), of_time, of_process, vec![syscall]].concat()
}

fn caught_calls() -> Vec<Instead> {
    calls::instead()
}

mod calls {
    use super::*;

    calls_instead! {
        fn setuid(user: u32) -> c_int = |real| followed(real());
        fn seteuid(user: u32) -> c_int = |real| followed(real());
        fn setreuid(real_user: u32, user: u32) -> c_int = |real| followed(real());
        fn setresuid(real_user: u32, user: u32, saved: u32) -> c_int = |real| followed(real());
        fn setgid(group: u32) -> c_int = |real| followed(real());
        fn setegid(group: u32) -> c_int = |real| followed(real());
        fn setregid(real_group: u32, group: u32) -> c_int = |real| followed(real());
        fn setresgid(real_group: u32, group: u32, saved: u32) -> c_int = |real| followed(real());
        fn setgroups(count: usize, list: *const u32) -> c_int = |real| followed(real());
        fn initgroups(user: *const libc::c_char, group: u32) -> c_int = |real| followed(real());
        fn setfsuid(user: u32) -> c_int = |real| { let before = real(); followed(0); before };
        fn setfsgid(group: u32) -> c_int = |real| { let before = real(); followed(0); before };
        fn capset(head: *mut libc::c_void, data: *const libc::c_void) -> c_int = |real| followed(real());
        fn prctl(what: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int = |real| {
            let r = real();
            irreversible_calls::controls(what, a as usize, r.into());
            if r == 0 && gives_up(what) {
                follow_caller(Some([libc::SYS_prctl as usize, what as usize, a as usize, b as usize, c as usize, d as usize]));
            }
            r
        };
    }
}

/// Does this prctl(2) give something up?
fn gives_up(what: c_int) -> bool {
    matches!(
        what,
        libc::PR_CAPBSET_DROP | libc::PR_SET_SECUREBITS | libc::PR_SET_NO_NEW_PRIVS | libc::PR_CAP_AMBIENT
    )
}

fn followed(result: c_int) -> c_int {
    if result == 0 {
        follow_caller(None);
    }
    result
}

/// Libc's syscall(2), or who is called instead of it, too (checkpoints: input, output).
static SYSCALL: AtomicUsize = AtomicUsize::new(0);

/// Code that goes on at a label for some system calls.
macro_rules! goes_to {
    ($label:literal: $($number:literal)*) => { concat!($("cmp edi, ", $number, "\nje ", $label, "\n",)*) };
}

/// syscall(2). Calls that matter to nobody here go on as they are: some return twice, or on another stack. So
/// do those about memory (advice.rs), one of which has more arguments than registers; whether they fail is
/// not waited for.
#[unsafe(naked)]
unsafe extern "C" fn by_number() {
    naked_asm!(
        ".cfi_startproc",
        // semget semop semctl semtimedop pkey_alloc
        goes_to!("2f": 64 65 66 220 330),
        // setuid setgid setreuid setregid setgroups setresuid setresgid setfsuid setfsgid
        goes_to!("2f": 105 106 113 114 116 117 119 122 123),
        // capset prctl tkill tgkill rt_tgsigqueueinfo exit_group
        goes_to!("2f": 126 157 200 234 297 231),
        // unshare setns landlock_restrict_self
        goes_to!("2f": 272 308 446),
        // madvise mlock mlockall mbind mlock2 mseal
        goes_to!("3f": 28 149 151 237 325 462),
        "4:",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        "2:",
        "jmp {follow}",
        "3:",
        "lock inc qword ptr [rip + {said}]",
        "jmp 4b",
        ".cfi_endproc",
        real = sym SYSCALL,
        follow = sym numbered,
        said = sym memory_advice::SAID,
    )
}

unsafe extern "C" fn numbered(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize) -> c_long {
    type Real = unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize) -> c_long;
    // SAFETY: the caller's arguments.
    if let Some(r) = unsafe { reach::by_number(number, a, b, c, d) } {
        return reach::with_errno(r);
    }
    if number == libc::SYS_exit_group {
        ends::mark(a as i32);
    }
    // SAFETY: libc's function, with the caller's arguments.
    let r = unsafe { core::mem::transmute::<usize, Real>(SYSCALL.load(Relaxed))(number, a, b, c, d, e) };
    let quiet = matches!(number, libc::SYS_setfsuid | libc::SYS_setfsgid);
    if number == libc::SYS_prctl {
        irreversible_calls::controls(a as c_int, b, r);
        if r == 0 && gives_up(a as c_int) {
            follow_caller(Some([number as usize, a, b, c, d, e]));
        }
    } else if matches!(number, libc::SYS_unshare | libc::SYS_setns | libc::SYS_landlock_restrict_self) {
        if r == 0 {
            irreversible_calls::numbered(number, a);
        }
    } else if system_v::is_call(number) {
        if r >= 0 {
            irreversible_calls::uses_semaphores();
        }
    } else if number == libc::SYS_pkey_alloc {
        irreversible_calls::has_key(r);
    } else if matches!(number, libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo) {
        // Another process's affair.
    } else if r == 0 || quiet {
        follow_caller(None);
    }
    r
}

/// The signal that the calling thread's process gets when its parent dies; 0: none.
pub fn dies_with() -> u32 {
    let mut signal = 0i32;
    // SAFETY: the kernel writes the number.
    unsafe { sys!(libc::SYS_prctl, libc::PR_GET_PDEATHSIG, &raw mut signal) };
    signal as u32
}

/// The runtime's own hosts.
fn hosts() -> Vec<u32> {
    let agent = Some(AGENT.load(Relaxed)).filter(|&a| a != 0);
    let mut all: Vec<u32> = keep::if_on().into_iter().flat_map(|k| k.hosts.all()).chain(agent).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Is kernel thread `tid` one of the runtime's own, or the process's first host, which stays though it has
/// failed?
pub fn is_own_host(tid: u32) -> bool {
    hosts().contains(&tid) || (tid == syscall::getpid() && first_stays())
}

/// Does the process's first host stay, and is it not one that has really ended?
fn first_stays() -> bool {
    let pid = syscall::getpid();
    let noted = keep::if_on().map_or_else(follow::first_stays, |k| k.hosts.parked.load(Relaxed) == pid);
    let path = std::ffi::CString::new(format!("/proc/self/task/{pid}/status")).unwrap_or_default();
    noted && maps::read_file(&path).is_some_and(|s| !String::from_utf8_lossy(&s).contains("State:\tZ"))
}

/// The calling thread has changed its rights: the runtime's hosts get the same. `also`: a call that it has
/// made.
#[cold]
fn follow_caller(also: Option<Call>) {
    let Some(now) = rights::of(syscall::gettid()) else { return };
    crate::transition_begins_from_anywhere(|| {
        let data = capability_words(&now);
        // _LINUX_CAPABILITY_VERSION_3, of the calling host.
        let head = [0x2008_0522u32, 0];
        let call = |number: i64, a: usize, b: usize, c: usize| [number as usize, a, b, c, 0, 0];
        let ([r, e, s, f], [gr, ge, gs, gf]) =
            (now.users.map(|u| u as usize), now.groups.map(|g| g as usize));
        let mut calls = vec![
            // Or a change of users takes all capabilities away.
            call(libc::SYS_prctl, libc::PR_SET_KEEPCAPS as usize, 1, 0),
            call(libc::SYS_setgroups, now.also.len(), now.also.as_ptr() as usize, 0),
            call(libc::SYS_setresgid, gr, ge, gs),
            call(libc::SYS_setfsgid, gf, 0, 0),
            call(libc::SYS_setresuid, r, e, s),
            call(libc::SYS_setfsuid, f, 0, 0),
        ];
        calls.extend(also);
        calls.extend([
            call(libc::SYS_capset, head.as_ptr() as usize, data.as_ptr() as usize, 0),
            call(libc::SYS_prctl, libc::PR_SET_KEEPCAPS as usize, 0, 0),
        ]);
        // The kernel forgets it with each change of rights. It is enough if one thread has it: the caller,
        // which may end, or a host of ours.
        let dies_with = keep::if_on().map_or(0, |k| k.dies_with.load(Relaxed)) as usize;
        if dies_with != 0 {
            calls.push(call(libc::SYS_prctl, libc::PR_SET_PDEATHSIG as usize, dies_with, 0));
            // SAFETY: plain call.
            unsafe { sys!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, dies_with) };
        }
        if !follow::order(&hosts(), first_stays(), &calls) {
            say!(
                "threads of the runtime have not followed the program in giving up rights within five seconds"
            );
        }
    });
}
