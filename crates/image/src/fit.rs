//! Does a machine fit an image? Whether its files do: file_copies.rs.

use crate::{Description, Map, Peculiarity};
use promp_settings::CKPT_WHERE;

/// Why a process cannot go on here from the generation that `about` describes; `None` if it can. `threads`: the
/// OMP_NUM_THREADS of the restart, if it is set.
pub fn obstacle(about: &Description, threads: Option<&str>) -> Option<String> {
    // One that has its own promp with it is started by any that can read it.
    if about.promp != env!("CARGO_PKG_VERSION") && !about.contained {
        return Some(format!(
            "it was written by promp {}, this is {}",
            about.promp,
            env!("CARGO_PKG_VERSION")
        ));
    }
    let saved =
        about.environment.iter().find_map(|e| e.as_os_str().to_str()?.strip_prefix("OMP_NUM_THREADS="));
    if threads.is_some() && threads != saved {
        return Some(format!(
            "OMP_NUM_THREADS={} differs from the run's ({}): unset it, or say `promp restart --threads N`",
            threads.unwrap_or(""),
            saved.unwrap_or("unset")
        ));
    }
    let stack = stack_limit();
    if stack.rlim_max < about.stack_limit {
        let bytes = |n| if n == u64::MAX { "unlimited".into() } else { format!("{n} bytes") };
        return Some(format!(
            "the run began with a stack limit of {}, here it cannot be more than {} (ulimit -H -s)",
            bytes(about.stack_limit),
            bytes(stack.rlim_max)
        ));
    }
    let missing = missing(about);
    if !missing.is_empty() {
        let Some(level) = about.level else {
            return Some(format!(
                "this machine's CPUs lack features that the run may use: {} (`promp run --cpu LEVEL` binds a run to \
                 those of a level)",
                missing.join(" ")
            ));
        };
        let of_level = level.missing(&crate::cpu_features());
        if !of_level.is_empty() {
            return Some(format!(
                "the run was bound to {}, and this machine's CPUs lack of that: {}",
                level.name(),
                of_level.join(" ")
            ));
        }
    }
    only_here(about)
}

/// What no other process can have of what `about` describes: going back to it is all that can be done.
pub fn only_here(about: &Description) -> Option<String> {
    if let Some(f) = about.files.iter().find(|f| !f.can_be_opened_again()) {
        let why = match f.peculiarity {
            Some(Peculiarity::Link) => "it is a link itself (O_PATH, O_NOFOLLOW)",
            Some(Peculiarity::Signals) => "it sends the program signals (F_SETOWN, F_NOTIFY)",
            Some(Peculiarity::OtherName) => "it has another name, which the system does not tell",
            _ => "it has no name",
        };
        return Some(format!("descriptor {} ({}) cannot be opened again: {why}", f.fd, f.path));
    }
    let nameless: Vec<&Map> = about.maps.iter().filter(|m| m.is_nameless()).collect();
    let gone = |m: &&Map| {
        let apart = m.content.is_some() || (m.shared && nameless.iter().any(|o| o.is_of(m)));
        m.inode != 0 && m.path.ends_with(" (deleted)") && !apart
    };
    about.maps.iter().find(gone).map(|m| match m.path.strip_prefix("/anon_hugepage") {
        Some(_) => format!("the memory at {:x} has huge pages of its own (MAP_HUGETLB)", m.start),
        None => format!("the file that is mapped at {:x} is gone ({})", m.start, m.path),
    })
}

/// Why a process cannot go on from `about` with `threads` threads where it had another number; `None` if it
/// can.
pub fn another(about: &Description, threads: u32) -> Option<String> {
    let now = about.threads;
    let line = format!("{}=serial", CKPT_WHERE.name);
    let asked = about.environment.iter().any(|e| e.as_os_str() == line.as_str());
    let serial = if asked {
        "--any-threads takes them at the end of an outermost region, if the program comes to one until half \
         an interval after they are due; a longer interval may help"
    } else {
        "`promp run --any-threads` takes checkpoints in serial code"
    };
    // Nobody has asked for the number yet.
    let begins = now == 0 && about.contexts.len() == 1;
    (threads != now && !about.alone && !begins).then(|| match now {
        0 => format!(
            "it was taken before the program first used OpenMP, while it had threads of its own: {serial}"
        ),
        _ => format!(
            "it was taken while several threads were in the program, so there must be {now} again: {serial}"
        ),
    })
}

/// This process' limits on the stack.
pub fn stack_limit() -> libc::rlimit {
    let mut stack = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills the structure.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut stack) };
    stack
}

/// Features of the CPUs of the run that this machine's do not have.
pub fn missing(about: &Description) -> Vec<&str> {
    let have = crate::cpu_features();
    about.cpu.iter().filter(|f| matters(f) && !have.contains(f)).map(String::as_str).collect()
}

/// Features that programs use; the others are the kernel's.
fn matters(feature: &str) -> bool {
    const NAMES: [&str; 7] = ["pni", "xsave", "xsavec", "xsaveopt", "rtm", "rdpid", "fsgsbase"];
    const PREFIXES: [&str; 18] = [
        "sse", "ssse", "avx", "fma", "bmi", "aes", "pclmul", "popcnt", "movbe", "f16c", "sha", "vaes",
        "vpclmul", "gfni", "amx", "rdrand", "rdseed", "abm",
    ];
    NAMES.contains(&feature) || PREFIXES.iter().any(|p| feature.starts_with(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_there_cannot_be_another_number_of_threads() {
        let about = |threads, alone| Description { threads, alone, ..Description::default() };
        assert!(another(&about(4, false), 4).is_none() && another(&about(4, true), 2).is_none());
        assert!(another(&about(4, false), 2).unwrap().contains("so there must be 4 again: `promp run --any"));
        let asked =
            Description { environment: vec![b"PROMP_CKPT_WHERE=serial"[..].into()], ..about(4, false) };
        assert!(another(&asked, 2).unwrap().ends_with("a longer interval may help"));
        let begins = |threads| {
            let context = serde_json::json!({"seat": 0, "thread": 0, "context": 0, "thread_pointer": 0,
                "robust_head": 0, "initial": true, "attributes": {"name": "", "cpus": null,
                "scheduling": null}});
            let contexts = vec![serde_json::from_value(context).expect("a context"); threads];
            Description { contexts, ..about(0, false) }
        };
        assert!(another(&begins(1), 2).is_none());
        assert!(another(&begins(2), 2).unwrap().contains("before the program first used OpenMP"));
    }
}
