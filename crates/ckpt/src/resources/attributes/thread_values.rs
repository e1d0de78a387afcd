//! What the kernel keeps of a thread as one number that only the thread itself may ask for and set: a row
//! each. A thread notes them in the handler of the freeze signal, and the host that becomes it sets them:
//! system calls, nothing else. A new host in place of a failed one has them from that one, which makes it.

use crate::sys;
use crate::sys::follow::Call;

/// A row.
pub(crate) struct ThreadValue {
    /// In images and docs/internals/attributes.md.
    pub name: &'static str,
    /// What asks for it, and sets it.
    #[cfg_attr(not(test), expect(dead_code, reason = "a column of docs/internals/attributes.md"))]
    pub by: &'static str,
    get: fn() -> u64,
    /// The call that makes it the second number where it is the first; none: nothing can.
    set: fn(u64, u64) -> Option<Call>,
}

const PR_GET_SPECULATION_CTRL: usize = 52;
const PR_SET_SPECULATION_CTRL: usize = 53;
/// Of what a thread is told of speculation: it may choose; it has forbidden it for ever.
const MAY_CHOOSE: u64 = 1;
const FOR_EVER: u64 = 8;
const ARCH_GET_CPUID: usize = 0x1011;
const ARCH_SET_CPUID: usize = 0x1012;
const ARCH_SHSTK_STATUS: usize = 0x5005;
const PERSONALITY_QUERY: usize = 0xffff_ffff;

/// All of them. What may disturb the host that sets it comes last.
pub(crate) const ALL: [ThreadValue; 6] = [
    ThreadValue {
        name: "personality",
        by: "personality(2)",
        get: || ask(libc::SYS_personality, PERSONALITY_QUERY, 0),
        set: |_, v| Some([libc::SYS_personality as usize, v as usize, 0, 0, 0, 0]),
    },
    speculation::<0>("speculation past stores"),
    speculation::<1>("speculation of indirect branches"),
    speculation::<2>("first-level cache flushed"),
    ThreadValue {
        name: "CPUID instruction",
        by: "arch_prctl(ARCH_SET_CPUID)",
        get: || ask(libc::SYS_arch_prctl, ARCH_GET_CPUID, 0),
        set: |_, v| Some([libc::SYS_arch_prctl as usize, ARCH_SET_CPUID, v as usize, 0, 0, 0]),
    },
    ThreadValue {
        name: "time stamp counter",
        by: "prctl(PR_SET_TSC)",
        get: || {
            let mut v = 0i32;
            ask(libc::SYS_prctl, libc::PR_GET_TSC as usize, (&raw mut v).expose_provenance());
            v as u64
        },
        set: |_, v| Some([libc::SYS_prctl as usize, libc::PR_SET_TSC as usize, v as usize, 0, 0, 0]),
    },
];

const fn speculation<const KIND: usize>(name: &'static str) -> ThreadValue {
    ThreadValue {
        name,
        by: "prctl(PR_SET_SPECULATION_CTRL)",
        get: || ask(libc::SYS_prctl, PR_GET_SPECULATION_CTRL, KIND),
        set: |now, v| {
            let may = now & MAY_CHOOSE != 0 && now & FOR_EVER == 0 && v & MAY_CHOOSE != 0;
            let control = (v & !MAY_CHOOSE) as usize;
            may.then_some([libc::SYS_prctl as usize, PR_SET_SPECULATION_CTRL, KIND, control, 0, 0])
        },
    }
}

/// The system's answer; 0 where it has none, or no such thing.
fn ask(number: i64, a: usize, b: usize) -> u64 {
    // SAFETY: the kernel writes at most a word of the caller's.
    u64::try_from(unsafe { sys!(number, a, b, 0, 0, 0, 0) }).unwrap_or(0)
}

/// Those of the caller.
pub(crate) fn of_caller() -> [u64; ALL.len()] {
    ALL.each_ref().map(|v| (v.get)())
}

/// Those of `now` that are others in `began`, for an image.
pub(crate) fn others(now: &[u64], began: Option<&[u64]>) -> Vec<(String, u64)> {
    let each = ALL.iter().zip(now).enumerate();
    let differ = each.filter(|(i, (_, now))| began.and_then(|b| b.get(*i)) != Some(*now));
    differ.map(|(_, (v, now))| (v.name.into(), *now)).collect()
}

/// The calls by which a host that has `now` gets what was `saved`, or what the process began with.
pub(crate) fn changes(now: &[u64], saved: &[(String, u64)], began: &[u64]) -> Vec<Call> {
    let wanted = |v: &ThreadValue, began: u64| saved.iter().find(|s| s.0 == v.name).map_or(began, |s| s.1);
    let each = ALL.iter().zip(now).zip(began).map(|((v, now), began)| (v, *now, wanted(v, *began)));
    each.filter(|(_, now, to)| now != to).filter_map(|(v, now, to)| (v.set)(now, to)).collect()
}

/// Has the calling thread a shadow stack (bits of arch_prctl(ARCH_SHSTK_STATUS))?
pub(crate) fn has_shadow_stack() -> bool {
    let mut features = 0u64;
    // SAFETY: the kernel writes a word.
    unsafe { sys!(libc::SYS_arch_prctl, ARCH_SHSTK_STATUS, &raw mut features) };
    features != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_differs_is_made_what_it_was() {
        std::thread::spawn(|| {
            let began = of_caller();
            let name = |n: &str| ALL.iter().position(|v| v.name == n).expect("a row");
            let mut then = began;
            then[name("time stamp counter")] = 2;
            let saved = others(&then, Some(&began));
            assert_eq!(saved, [("time stamp counter".to_string(), 2)]);
            assert!(changes(&then, &saved, &began).is_empty());
            let calls = changes(&began, &saved, &began);
            assert_eq!(calls.len(), 1);
            assert_eq!(changes(&then, &[], &began).len(), 1, "taken back");
        })
        .join()
        .expect("the thread");
    }

    #[test]
    fn what_is_forbidden_for_ever_is_not_asked_for() {
        let v = speculation::<1>("x");
        assert!((v.set)(1 | 8, 1 | 2).is_none() && (v.set)(0, 1 | 4).is_none());
        assert_eq!((v.set)(1 | 2, 1 | 4).map(|c| c[1..4].to_vec()), Some(vec![53, 1, 4]));
    }
}
