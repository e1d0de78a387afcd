//! What the kernel keeps of the process as one number that the process may ask for and set: a row each. The
//! keeper asks and sets; what a row forbids holds from then on, so the rows stand in the order in which they
//! are put back, when all else has been.

use super::BEGAN;
use crate::image::Description;
use crate::resources::resource::{Frozen, No, Resource};
use crate::sys;
use crate::sys::{maps, syscall};
use core::ffi::CStr;

/// A row.
pub(crate) struct Value {
    /// In images, messages and docs/internals/attributes.md.
    pub name: &'static str,
    /// What asks for it, and sets it.
    pub by: &'static str,
    /// None: this system has no such thing.
    get: fn() -> Option<u64>,
    /// The system's answer: negative where it has refused.
    set: fn(u64) -> isize,
    /// What it forbids, or asks for, stays, also in a rollback to a time before that: the program does so
    /// again, which changes nothing.
    pub stays: bool,
}

const PR_SET_MEMORY_MERGE: i32 = 67;
const PR_GET_MEMORY_MERGE: i32 = 68;
const PR_SET_MDWE: i32 = 65;
const PR_GET_MDWE: i32 = 66;
const ARCH_GET_XCOMP_PERM: usize = 0x1022;
const ARCH_REQ_XCOMP_PERM: usize = 0x1023;
/// The component of XSAVE that has AMX's tiles.
const TILES: u64 = 18;

/// All of them.
pub(crate) const ALL: [Value; 11] = [
    Value {
        name: "session of its own",
        by: "getsid(2), setsid(2)",
        get: || leads(libc::SYS_getsid),
        set: |v| if v == 1 { call(libc::SYS_setsid, 0, 0) } else { -(libc::EPERM as isize) },
        stays: false,
    },
    Value {
        name: "process group of its own",
        by: "getpgid(2), setpgid(2)",
        get: || leads(libc::SYS_getpgid),
        set: |v| if v == 1 { call(libc::SYS_setpgid, 0, 0) } else { -(libc::EPERM as isize) },
        stays: false,
    },
    Value {
        name: "reaper of descendants",
        by: "prctl(PR_SET_CHILD_SUBREAPER)",
        get: subreaper,
        set: |v| prctl(libc::PR_SET_CHILD_SUBREAPER, v as usize, 0),
        stays: false,
    },
    Value {
        name: "transparent huge pages disabled",
        by: "prctl(PR_SET_THP_DISABLE)",
        get: || asked(libc::PR_GET_THP_DISABLE),
        // What is disabled is told beside the switch.
        set: |v| prctl(libc::PR_SET_THP_DISABLE, usize::from(v != 0), (v & !1) as usize),
        stays: false,
    },
    Value {
        name: "memory merged with equal memory",
        by: "prctl(PR_SET_MEMORY_MERGE)",
        get: || asked(PR_GET_MEMORY_MERGE),
        set: |v| prctl(PR_SET_MEMORY_MERGE, v as usize, 0),
        stays: false,
    },
    Value {
        name: "memory locked as soon as it is mapped",
        by: "mlockall(MCL_FUTURE)",
        get: super::memory_advice::locks_future,
        set: super::memory_advice::lock_future,
        stays: false,
    },
    Value {
        name: "memory in core dumps",
        by: "/proc/PID/coredump_filter",
        get: || read(COREDUMP_FILTER, 16),
        set: |v| write(COREDUMP_FILTER, &format!("{v:#x}")),
        stays: false,
    },
    Value {
        name: "who is ended for want of memory",
        by: "/proc/PID/oom_score_adj",
        get: || read(OOM, 10),
        set: |v| write(OOM, &format!("{}", v as i64)),
        stays: false,
    },
    Value {
        name: "permission for AMX",
        by: "arch_prctl(ARCH_REQ_XCOMP_PERM)",
        get: || permitted().map(|p| p >> TILES & 1),
        set: |v| match v {
            1 => call(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILES as usize),
            _ => -(libc::EPERM as isize),
        },
        stays: true,
    },
    Value {
        name: "no memory both written and executed",
        by: "prctl(PR_SET_MDWE)",
        get: || asked(PR_GET_MDWE),
        set: |v| prctl(PR_SET_MDWE, v as usize, 0),
        stays: true,
    },
    DUMPABLE,
];

const DUMPABLE: Value = Value {
    name: "dumpable",
    by: "prctl(PR_SET_DUMPABLE)",
    get: || asked(libc::PR_GET_DUMPABLE),
    set: |v| match v {
        // It is the kernel's word about a change of users, which is put back, too; a process cannot say it.
        OF_ANOTHER_USER => 0,
        _ => prctl(libc::PR_SET_DUMPABLE, v as usize, 0),
    },
    stays: false,
};
/// Dumps are for root alone.
const OF_ANOTHER_USER: u64 = 2;

const COREDUMP_FILTER: &CStr = c"/proc/self/coredump_filter";
const OOM: &CStr = c"/proc/self/oom_score_adj";

/// All rows.
#[derive(Default)]
pub(crate) struct Values;

impl Resource for Values {
    fn obstacle(&self) -> Option<String> {
        obstacle()
    }

    fn save(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        about.values = saved();
        Ok(())
    }

    fn resume(&mut self, new_process: bool, about: &Description) -> Result<Vec<String>, String> {
        put_back(&about.values, !new_process)
    }
}

/// What they are now.
pub(super) fn now() -> [Option<u64>; ALL.len()] {
    ALL.each_ref().map(|v| (v.get)())
}

/// Those that are not what the process began with, for an image.
fn saved() -> Vec<(String, u64)> {
    let began = BEGAN.with(|b| b.values);
    let changed = ALL.iter().zip(now()).zip(began).filter(|((_, now), began)| now != began);
    changed.filter_map(|((v, now), _)| Some((v.name.into(), now?))).collect()
}

/// What `name` was, by an image's list.
fn of(saved: &[(String, u64)], name: &str) -> Option<u64> {
    saved.iter().find(|s| s.0 == name).map(|s| s.1)
}

/// Makes them what they were; what a rollback leaves as it is, is returned.
fn put_back(saved: &[(String, u64)], rollback: bool) -> Result<Vec<String>, String> {
    if let Some((name, _)) = saved.iter().find(|s| ALL.iter().all(|v| v.name != s.0)) {
        return Err(format!("the checkpoint has \"{name}\" of the process, which this promp does not know"));
    }
    let began = BEGAN.with(|b| b.values);
    let mut left = Vec::new();
    for (v, began) in ALL.iter().zip(began) {
        let (now, wanted) = ((v.get)(), of(saved, v.name).or(began));
        let Some(to) = wanted.filter(|_| wanted != now) else { continue };
        // The kernel tells and takes some of them by the initial thread only, which may have ended.
        let untold = rollback && now.is_none();
        if untold && of(saved, v.name).is_none() {
            continue;
        }
        let r = (v.set)(to);
        if r >= 0 {
            continue;
        }
        let have = now.map_or_else(|| "nothing".into(), |n| (n as i64).to_string());
        let text = format!("{} ({}): it was {}, and is {have} now", v.name, v.by, to as i64);
        if !(untold || (rollback && v.stays)) {
            return Err(format!("the system does not put back {text}: {}", sys::why(r)));
        }
        left.push(text);
    }
    Ok(left)
}

/// [`DUMPABLE`], as a thread has to set it after it has become another user's: the call's arguments.
pub(super) fn dumpable(saved: &[(String, u64)]) -> Option<[usize; 2]> {
    let began = BEGAN.with(|b| b.values[ALL.len() - 1]);
    let wanted = of(saved, DUMPABLE.name).or(began).filter(|v| *v != OF_ANOTHER_USER)?;
    Some([libc::PR_SET_DUMPABLE as usize, wanted as usize])
}

/// What the process has that no other could get.
fn obstacle() -> Option<String> {
    const ARCH_GET_UNTAG_MASK: usize = 0x4001;
    let mut entry = 0u64;
    // SAFETY: the kernel writes at most that many bytes.
    if unsafe { sys!(libc::SYS_modify_ldt, 0, &raw mut entry, size_of::<u64>()) } > 0 {
        return Some("the program has segments of its own (modify_ldt), which cannot be put back".into());
    }
    let mut mask = u64::MAX;
    // SAFETY: the kernel writes a word.
    unsafe { sys!(libc::SYS_arch_prctl, ARCH_GET_UNTAG_MASK, &raw mut mask) };
    (mask != u64::MAX).then(|| {
        "the program has addresses with tags (ARCH_ENABLE_TAGGED_ADDR), which cannot be put back".into()
    })
}

fn call(number: i64, a: usize, b: usize) -> isize {
    // SAFETY: no pointers.
    unsafe { sys!(number, a, b, 0) }
}

fn prctl(what: i32, a: usize, b: usize) -> isize {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_prctl, what, a, b, 0, 0, 0) }
}

/// The answer of a prctl(2) that returns it.
fn asked(what: i32) -> Option<u64> {
    u64::try_from(prctl(what, 0, 0)).ok()
}

/// Is the process the first of its session, or of its group?
fn leads(of: i64) -> Option<u64> {
    Some(u64::from(call(of, 0, 0) == syscall::getpid() as isize))
}

fn subreaper() -> Option<u64> {
    let mut is = 0i32;
    // SAFETY: the kernel writes a word.
    let r = unsafe { sys!(libc::SYS_prctl, libc::PR_GET_CHILD_SUBREAPER, &raw mut is) };
    (r == 0).then_some(is as u64)
}

fn permitted() -> Option<u64> {
    let mut mask = 0u64;
    // SAFETY: the kernel writes a word.
    let r = unsafe { sys!(libc::SYS_arch_prctl, ARCH_GET_XCOMP_PERM, &raw mut mask) };
    (r == 0).then_some(mask)
}

fn read(path: &CStr, base: u32) -> Option<u64> {
    let text = maps::read_file(path)?;
    i64::from_str_radix(core::str::from_utf8(text.trim_ascii()).ok()?, base).ok().map(|v| v as u64)
}

fn write(path: &CStr, text: &str) -> isize {
    // SAFETY: a C string and a readable slice.
    unsafe {
        let fd = sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return fd;
        }
        let r = sys!(libc::SYS_write, fd, text.as_ptr(), text.len());
        sys!(libc::SYS_close, fd);
        r
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_read() {
        // In a process of its own: other tests' values are left alone.
        // SAFETY: the child makes system calls alone, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let wanted = |v: &Value| match v.name {
                "memory in core dumps" => Some(0x21),
                "who is ended for want of memory" => Some(900),
                "reaper of descendants" | "transparent huge pages disabled" | "session of its own" => Some(1),
                "dumpable" => Some(0),
                _ => None,
            };
            let ok = ALL.iter().all(|v| {
                wanted(v).is_none_or(|w| (v.get)().is_none() || ((v.set)(w) >= 0 && (v.get)() == Some(w)))
            });
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!ok)) };
        }
        let mut status = 0;
        // SAFETY: the child made above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }

    #[test]
    fn an_unknown_one_is_refused() {
        let why = put_back(&[("colour".into(), 1)], false).expect_err("unknown");
        assert!(why.contains("\"colour\""), "{why}");
    }
}
