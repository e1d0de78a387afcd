//! Limits on resources (getrlimit(2)), soft and hard ones. What the process was started with is its
//! surroundings' affair; what the program has set holds after a rollback and a restart, too. Everything is
//! put back under limits as wide as they may be: the program may have opened a file, made a thread or mapped
//! memory, and lowered the limit afterwards.

use super::BEGAN;
use crate::image::{Description, Limit};
use crate::resources::resource::{self, Frozen, No};
use crate::sys;
use crate::sys::cpu_limit::{self, Resource};

/// Kinds of limits (`RLIM_NLIMITS`).
pub(super) const COUNT: usize = 16;
const CPU: u32 = libc::RLIMIT_CPU;

/// Their names, by number.
const NAMES: [&str; COUNT] = [
    "RLIMIT_CPU",
    "RLIMIT_FSIZE",
    "RLIMIT_DATA",
    "RLIMIT_STACK",
    "RLIMIT_CORE",
    "RLIMIT_RSS",
    "RLIMIT_NPROC",
    "RLIMIT_NOFILE",
    "RLIMIT_MEMLOCK",
    "RLIMIT_AS",
    "RLIMIT_LOCKS",
    "RLIMIT_SIGPENDING",
    "RLIMIT_MSGQUEUE",
    "RLIMIT_NICE",
    "RLIMIT_RTPRIO",
    "RLIMIT_RTTIME",
];

/// No limits.
pub(super) const NONE: [Resource; COUNT] = [Resource { soft: u64::MAX, hard: u64::MAX }; COUNT];

/// Those of the process.
pub(super) fn now() -> [Resource; COUNT] {
    core::array::from_fn(|i| resource(i as u32).unwrap_or(NONE[i]))
}

/// All of them.
#[derive(Default)]
pub(crate) struct Limits;

impl resource::Resource for Limits {
    fn save(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        (about.stack_limit, about.limits) = (stack_limit(), limits());
        Ok(())
    }

    fn leave(&mut self) {
        lift();
    }

    fn resume(&mut self, new_process: bool, about: &Description) -> Result<Vec<String>, String> {
        put_limits_back(&about.limits, new_process)
    }
}

/// The limit on the stack that the process began with, which decides where mappings lie.
fn stack_limit() -> u64 {
    BEGAN.with(|b| b.limits[libc::RLIMIT_STACK as usize].soft)
}

/// The process' limits, as the program knows them.
fn limits() -> Vec<Limit> {
    let now = (0..).map_while(|number| {
        let r = resource(number)?;
        Some((number, if number == CPU { cpu_limit::for_program(r) } else { r }))
    });
    BEGAN.with(|b| {
        now.zip(&b.limits)
            .map(|((resource, r), began)| {
                let hard = (r.hard != began.hard).then_some(r.hard);
                Limit { resource, soft: r.soft, hard, own: r.soft != began.soft }
            })
            .collect()
    })
}

/// While everything is put back: soft limits are what the hard ones allow.
fn lift() {
    for (number, now) in (0u32..).zip(now()).filter(|(number, now)| *number != CPU && now.soft < now.hard) {
        set(number, Resource { soft: now.hard, ..now });
    }
}

/// Puts the process' limits back; what a rollback cannot raise again is returned. A new process keeps what it
/// has been given more of, unless the program has set that itself: the old one may have ended because of a
/// limit. After CPU time has been put back.
fn put_limits_back(limits: &[Limit], new_process: bool) -> Result<Vec<String>, String> {
    let mut lower = Vec::new();
    for l in limits {
        let (Some(before), number) = (resource(l.resource), l.resource as usize) else { continue };
        let began = BEGAN.with(|b| b.limits.get(number).copied()).unwrap_or(before);
        let given = new_process && !l.own;
        let mut now = match l.resource {
            CPU => of_cpu_time(l, before, began, given),
            _ => Resource {
                soft: if given { l.soft.max(began.soft) } else { l.soft },
                hard: l.hard.unwrap_or(began.hard),
            },
        };
        if now != before && !set(l.resource, Resource { soft: now.soft.min(now.hard), ..now }) {
            let name = NAMES.get(number).unwrap_or(&"a limit");
            let text = format!("{name}: its hard limit was {}, and is {} now", now.hard, before.hard);
            if new_process {
                return Err(format!("the program has set {text}, which may not be raised (ulimit -H)"));
            }
            lower.push(text);
            now.hard = before.hard;
            set(l.resource, Resource { soft: now.soft.min(now.hard), ..now });
        }
        if l.own && l.soft > now.hard && new_process && l.resource != CPU {
            return Err(format!(
                "the program has set {} to {}, and here it cannot be more than {} (ulimit -H)",
                NAMES.get(number).unwrap_or(&"a limit"),
                l.soft,
                now.hard
            ));
        }
        if given {
            let soft = if l.resource == CPU { l.soft.max(before.soft) } else { now.soft.min(now.hard) };
            BEGAN.with(|b| b.limits[number].soft = soft);
        }
    }
    Ok(lower)
}

/// What the process has been given counts for it alone; what the program has set goes on counting.
fn of_cpu_time(l: &Limit, before: Resource, began: Resource, given: bool) -> Resource {
    let soft = if given { l.soft.max(before.soft) } else { l.soft };
    let own = Resource { soft, hard: l.hard.unwrap_or(began.hard) };
    let goes_on = cpu_limit::that_go_on(own);
    let hard = if l.hard.is_some() { goes_on.hard.min(before.hard) } else { before.hard };
    let now = Resource { soft: if l.own { goes_on.soft } else { own.soft }.min(hard), hard };
    cpu_limit::note(Resource { hard: l.hard.unwrap_or(hard), ..own }, now);
    now
}

fn set(number: u32, to: Resource) -> bool {
    // SAFETY: the kernel reads two words.
    unsafe { sys!(libc::SYS_prlimit64, 0, number, &raw const to, 0) == 0 }
}

fn resource(number: u32) -> Option<Resource> {
    let mut r = Resource::default();
    // SAFETY: the kernel writes two words.
    let ok = unsafe { sys!(libc::SYS_prlimit64, 0, number, 0, &raw mut r) } == 0;
    ok.then_some(r)
}
