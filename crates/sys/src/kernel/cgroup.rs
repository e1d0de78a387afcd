//! The control groups of the process: what containers and batch systems allow it. A limit holds for a group
//! and all below it.

use std::fs;
use std::path::Path;

/// A group.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Its folder.
    pub dir: String,
    /// Has it the files of the interface's second version?
    pub unified: bool,
}

impl Group {
    /// The content of one of its files.
    pub(super) fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(format!("{}/{file}", self.dir)).ok()
    }

    /// The number in one of its files; `None` if there is none (`max`).
    pub(super) fn number(&self, file: &str) -> Option<i64> {
        self.text(file)?.trim().parse().ok()
    }
}

/// The groups that the process is in and that may have `controller`, from its own outwards. Not all need
/// exist: in a container only some are seen.
pub(super) fn groups(controller: &str) -> Vec<Group> {
    list(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default(), controller)
}

/// As [`groups`], of a process with `own` in /proc/self/cgroup.
fn list(own: &str, controller: &str) -> Vec<Group> {
    let mut out = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let unified = controllers.is_empty();
        let root = match unified {
            true => "/sys/fs/cgroup".to_string(),
            false if controllers.split(',').any(|c| c == controller) => {
                format!("/sys/fs/cgroup/{controllers}")
            }
            false => continue,
        };
        let dirs = Path::new(path).ancestors().filter_map(Path::to_str);
        out.extend(dirs.map(|d| Group { dir: format!("{root}{}", d.trim_end_matches('/')), unified }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_from_the_inside() {
        let of = |own, controller| {
            list(own, controller).into_iter().map(|g| (g.dir, g.unified)).collect::<Vec<_>>()
        };
        let want = |dirs: &[(&str, bool)]| dirs.iter().map(|d| (d.0.to_string(), d.1)).collect::<Vec<_>>();
        assert_eq!(
            of("0::/user.slice/a:b\n", "memory"),
            want(&[
                ("/sys/fs/cgroup/user.slice/a:b", true),
                ("/sys/fs/cgroup/user.slice", true),
                ("/sys/fs/cgroup", true)
            ])
        );
        let old = "4:memory:/docker/c\n3:cpuset:/\n2:cpu,cpuacct:/\n";
        assert_eq!(
            of(old, "memory"),
            want(&[
                ("/sys/fs/cgroup/memory/docker/c", false),
                ("/sys/fs/cgroup/memory/docker", false),
                ("/sys/fs/cgroup/memory", false)
            ])
        );
        assert_eq!(of(old, "cpu"), want(&[("/sys/fs/cgroup/cpu,cpuacct", false)]));
        assert_eq!(of("", "cpu"), want(&[]));
        assert_eq!(of("nonsense\n1:x\n", "cpu"), want(&[]));
    }
}
