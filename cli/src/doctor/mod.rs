//! `promp doctor`: what this machine supports.

mod program;
mod set;

use crate::{Failure, Outcome, args, library, run};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use serde::Serialize;
use std::path::Path;
use std::process::Command;

#[derive(Serialize)]
struct Finding {
    what: &'static str,
    ok: bool,
    detail: String,
}

/// Prints the findings. What a machine lacks is said, not judged; a program that
/// cannot run has the status that `promp run` would have, a machine without the library that of a missing
/// one.
pub fn doctor(d: &args::Doctor) -> Outcome {
    let (all, status) = match &d.program {
        Some(name) => {
            library::find()?;
            program::findings(&run::locate(name)?)?
        }
        None => {
            let machine = [kernel(), limits(), compilers()].into_iter().flatten();
            (std::iter::once(installed()).chain(machine).chain(set::findings()).collect(), 0)
        }
    };
    print(d, &all)?;
    if status != 0 {
        return Err(Failure::new(status, "the program cannot run under promp"));
    }
    library::find().map(|_| ())
}

fn print(d: &args::Doctor, all: &[Finding]) -> Outcome {
    if d.json {
        println!("{}", serde_json::to_string_pretty(all).map_err(|e| Failure::new(74, e.to_string()))?);
        return Ok(());
    }
    for f in all {
        println!("{} {:<22} {}", if f.ok { "yes" } else { "no " }, f.what, f.detail);
    }
    Ok(())
}

/// Is the library there?
fn installed() -> Finding {
    let lib = library::find();
    let ok = lib.is_ok();
    Finding { what: "library", ok, detail: lib.map_or_else(|f| f.message, |p| p.display().to_string()) }
}

/// What the kernel and the processor allow.
fn kernel() -> Vec<Finding> {
    let mut v = Vec::new();
    let mut add = |what, ok, detail: String| v.push(Finding { what, ok, detail });
    let release =
        std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string();
    let kernel = version(&release);
    add("kernel", kernel >= (5, 3), format!("Linux {release} (5.3 or later wanted)"));
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |f: &str| {
        flags.lines().find(|l| l.starts_with("flags")).is_some_and(|l| l.split(' ').any(|w| w == f))
    };
    add("fsgsbase", has("fsgsbase"), "thread pointer readable and writable without a system call".into());
    add(
        "dirty page tracking",
        kernel >= (6, 7) && userfaultfd(USER_MODE_ONLY),
        "PAGEMAP_SCAN with userfaultfd write protection (Linux 6.7, and allowed here); without it checkpoints compare all pages".into(),
    );
    let device = || std::fs::File::options().read(true).write(true).open("/dev/userfaultfd").is_ok();
    add(
        "copying while running",
        kernel >= (6, 7) && (userfaultfd(0) || device()),
        "writes by system calls can be held, too (root, CAP_SYS_PTRACE, vm.unprivileged_userfaultfd=1, or /dev/userfaultfd); without it \
         memory that changes as a whole is copied while the threads are stopped, and needs as much memory again"
            .into(),
    );
    add(
        "restarts",
        crate::restart::fix_addresses(),
        "address-space randomisation can be switched off (personality(2), which containers may forbid); without it there are only rollbacks"
            .into(),
    );
    add(
        "same process number",
        crate::restart::may_choose_number(),
        "a restarted program has the process number that it had (CAP_CHECKPOINT_RESTORE or root); without it, it has another"
            .into(),
    );
    v
}

/// How much of what a process may have.
fn limits() -> Vec<Finding> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let detail = format!("{cpus} by affinity mask and cgroup quota: the default number of threads");
    let processors = Finding { what: "processors", ok: true, detail };
    let resources = [
        ("threads limit", Resource::RLIMIT_NPROC),
        ("address space limit", Resource::RLIMIT_AS),
        ("stack limit", Resource::RLIMIT_STACK),
    ];
    let of = |(what, resource)| Finding { what, ok: true, detail: limit(resource) };
    std::iter::once(processors).chain(resources.map(of)).collect()
}

/// What programs are built with, and what GCC has to go with it.
fn compilers() -> Vec<Finding> {
    let mut v = Vec::new();
    let mut add = |what, ok, detail: String| v.push(Finding { what, ok, detail });
    for c in ["gcc", "g++", "gfortran"] {
        let out = Command::new(c).arg("--version").output();
        let line =
            out.ok().and_then(|o| String::from_utf8(o.stdout).ok()?.lines().next().map(str::to_string));
        add(c, line.is_some(), line.unwrap_or_else(|| format!("not found: apt-get install {c}")));
    }
    let plugin = gccs_file("plugin");
    let headers =
        plugin.as_deref().map(str::trim).is_some_and(|p| Path::new(p).join("include/gcc-plugin.h").exists());
    add("gcc plugin headers", headers, "for building the compile side, promp-cc (gcc-12-plugin-dev)".into());
    let gomp = gccs_file("libgomp.so.1").map(|g| g.trim().to_string()).filter(|g| g.contains('/'));
    add("libgomp", gomp.is_some(), gomp.unwrap_or_else(|| "not found; only needed to compare with".into()));
    v
}

/// Where GCC says that its file or folder `name` is.
fn gccs_file(name: &str) -> Option<String> {
    let out = Command::new("gcc").arg(format!("-print-file-name={name}")).output().ok()?;
    String::from_utf8(out.stdout).ok()
}

/// Major and minor of a kernel release.
fn version(release: &str) -> (u32, u32) {
    let mut parts = release.split(['.', '-']).map(|p| p.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// For what happens in user mode only.
const USER_MODE_ONLY: libc::c_int = 1;

/// Can a userfaultfd with `flags` be had? Containers may forbid it.
fn userfaultfd(flags: libc::c_int) -> bool {
    // SAFETY: makes a descriptor, which is closed.
    unsafe {
        let fd = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | flags);
        fd >= 0 && libc::close(fd as libc::c_int) == 0
    }
}

fn limit(resource: Resource) -> String {
    match getrlimit(resource) {
        Err(_) => "unknown".into(),
        Ok((RLIM_INFINITY, _)) => "unlimited".into(),
        Ok((soft, _)) => soft.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions() {
        assert_eq!(super::version("6.18.44-fc"), (6, 18));
        assert_eq!(super::version(""), (0, 0));
    }
}
