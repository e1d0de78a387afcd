//! What this process may use of the machine: processors by affinity mask and by cgroup CPU quota, memory by
//! what the system and its cgroups have left.

use super::cgroup::{Group, groups};
use crate::initial_affinity;
use crate::syscall::CpuSet;

/// The processors that the process could use when it was loaded, in order: before libgomp may have bound
/// the initial thread.
pub fn at_load() -> Vec<u32> {
    initial_affinity::at_load().map_or_else(online, |set| set.cpus().collect())
}

/// The processors of the calling thread's affinity mask, in order.
pub fn affinity_mask() -> Vec<u32> {
    CpuSet::of_host(0).map_or_else(online, |set| set.cpus().collect())
}

fn online() -> Vec<u32> {
    // SAFETY: no pointers.
    (0..unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as u32).collect()
}

/// The CPU quota of the process's cgroups in whole processors, rounded up; `None` without one. Containers set
/// it; the affinity mask does not show it.
pub fn cgroup_quota() -> Option<u32> {
    let quota = |g: &Group| match g.unified {
        true => parse_cpu_max(&g.text("cpu.max")?),
        false => ceil_quota(g.number("cpu.cfs_quota_us")?, g.number("cpu.cfs_period_us")?),
    };
    groups("cpu").iter().filter_map(quota).min()
}

/// How many threads the system can have, at most.
pub fn threads() -> u32 {
    let read = |file: &str| std::fs::read_to_string(file).ok()?.trim().parse().ok();
    let number = |file: &str| read(file).unwrap_or(u32::MAX);
    number("/proc/sys/kernel/threads-max").min(number("/proc/sys/kernel/pid_max"))
}

/// Bytes of memory that the process can still get: of the system and within its cgroups.
pub fn memory_left() -> usize {
    let system = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let system = field(&system, "MemAvailable:").unwrap_or(0) * 1024;
    groups("memory").iter().filter_map(left).fold(system, i64::min).max(0) as usize
}

/// Bytes that a cgroup has left; `None` without a limit.
fn left(g: &Group) -> Option<i64> {
    let (limits, used, cached): (&[&str], _, _) = match g.unified {
        true => (&["memory.max", "memory.high"], "memory.current", "inactive_file"),
        false => (&["memory.limit_in_bytes"], "memory.usage_in_bytes", "total_inactive_file"),
    };
    let limit = limits.iter().filter_map(|file| g.number(file)).min()?;
    // The system takes this back before it refuses memory.
    let cached = field(&g.text("memory.stat")?, cached).unwrap_or(0);
    Some(limit - (g.number(used)? - cached).max(0))
}

/// The number behind `name` in lines of names and numbers.
fn field(text: &str, name: &str) -> Option<i64> {
    text.lines().find_map(|l| {
        let mut words = l.split_ascii_whitespace();
        (words.next()? == name).then(|| words.next()?.parse().ok())?
    })
}

/// The content of `cpu.max`: `max PERIOD` or `QUOTA PERIOD`.
fn parse_cpu_max(s: &str) -> Option<u32> {
    let (quota, period) = s.trim().split_once(' ')?;
    ceil_quota(quota.parse().ok()?, period.parse().ok()?)
}

fn ceil_quota(quota: i64, period: i64) -> Option<u32> {
    (quota > 0 && period > 0).then(|| (quota as u64).div_ceil(period as u64).clamp(1, 1 << 16) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_max_is_rounded_up() {
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("150000 100000\n"), Some(2));
        assert_eq!(parse_cpu_max("50000 100000"), Some(1));
        assert_eq!(parse_cpu_max(""), None);
        assert_eq!(parse_cpu_max("-1 0"), None);
    }

    #[test]
    fn what_cgroups_have_left() {
        let dir = std::env::temp_dir().join(format!("promp-cgroup-{}", std::process::id()));
        let left_with = |unified, files: &[(&str, &str)]| {
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir(&dir).unwrap();
            files.iter().for_each(|(name, text)| std::fs::write(dir.join(name), text).unwrap());
            let left = left(&Group { dir: dir.to_str().unwrap().into(), unified });
            std::fs::remove_dir_all(&dir).unwrap();
            left
        };
        let new = [("memory.current", "700\n"), ("memory.stat", "anon 5\ninactive_file 100\n")];
        let with = |more: &[(&'static str, &'static str)]| [&new, more].concat();
        assert_eq!(left_with(true, &with(&[("memory.max", "1000\n"), ("memory.high", "max\n")])), Some(400));
        assert_eq!(left_with(true, &with(&[("memory.max", "1000\n"), ("memory.high", "500\n")])), Some(-100));
        assert_eq!(left_with(true, &with(&[("memory.max", "max\n"), ("memory.high", "max\n")])), None);
        assert_eq!(left_with(true, &new), None);
        let old = [
            ("memory.limit_in_bytes", "1000\n"),
            ("memory.usage_in_bytes", "900\n"),
            ("memory.stat", "inactive_file 1\ntotal_inactive_file 300\n"),
        ];
        assert_eq!(left_with(false, &old), Some(400));
        assert_eq!(left_with(true, &old), None);
    }

    #[test]
    fn fields_of_lists() {
        let meminfo = "MemTotal:       24676400 kB\nMemAvailable:   22889876 kB\nCached\n";
        assert_eq!(field(meminfo, "MemAvailable:"), Some(22889876));
        assert_eq!(field(meminfo, "Cached"), None);
        assert_eq!(field("file 3\ninactive_file 4096\n", "inactive_file"), Some(4096));
        assert_eq!(field(meminfo, "inactive_file"), None);
        assert!(memory_left() > 1 << 20);
    }
}
