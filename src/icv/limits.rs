//! What this process may use of the machine: processors by affinity mask and by cgroup CPU quota.

use crate::sys::{allowed, syscall};

/// The processors that the process could use when it was loaded, in order: before libgomp may have bound the initial thread.
pub fn at_load() -> Vec<u32> {
    allowed::at_load().map_or_else(online, |set| set.cpus().collect())
}

/// The processors of the calling thread's affinity mask, in order.
pub fn affinity_mask() -> Vec<u32> {
    syscall::affinity().map_or_else(online, |set| set.cpus().collect())
}

fn online() -> Vec<u32> {
    // SAFETY: no pointers.
    (0..unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as u32).collect()
}

/// The CPU quota of the process's cgroups in whole processors, rounded up; `None` without one. Containers set it; the
/// affinity mask does not show it.
pub fn cgroup_quota() -> Option<u32> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut least: Option<u32> = None;
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (root, v2) = match controllers {
            "" => ("/sys/fs/cgroup".to_string(), true),
            c if c.split(',').any(|c| c == "cpu") => (format!("/sys/fs/cgroup/{c}"), false),
            _ => continue,
        };
        let mut dir = path.to_string();
        loop {
            let base = format!("{root}{}", dir.trim_end_matches('/'));
            if let Some(q) = if v2 { quota_v2(&base) } else { quota_v1(&base) } {
                least = Some(least.map_or(q, |l| l.min(q)));
            }
            match dir.rfind('/') {
                Some(0) if dir.len() > 1 => dir = "/".into(),
                Some(i) if i > 0 => dir.truncate(i),
                _ => break,
            }
        }
    }
    least
}

fn quota_v2(dir: &str) -> Option<u32> {
    parse_cpu_max(&std::fs::read_to_string(format!("{dir}/cpu.max")).ok()?)
}

fn quota_v1(dir: &str) -> Option<u32> {
    let read = |f: &str| std::fs::read_to_string(format!("{dir}/{f}")).ok()?.trim().parse::<i64>().ok();
    ceil_quota(read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)
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
}
