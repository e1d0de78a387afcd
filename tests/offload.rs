//! What GCC's offload compiler writes for NVIDIA's devices, read by the runtime as programs bring it: which
//! kernels may be executed again, and why not. The device is c-tests/device/fake_plugin.c.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs gcc on a file of `c-tests`.
fn compiled(source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let exe = shared_folder("offload").join(name);
    built::once(&built::Request { exe: &exe, compiler: Path::new("gcc"), words: flags }, |tmp, read| {
        let mut c = Command::new("gcc");
        c.args(flags).args(["-MMD".as_ref(), "-MF".as_ref(), read.as_os_str()]);
        c.arg("-o").arg(tmp).arg(root().join("c-tests").join(source)).arg("-lm");
        let r = limited(c, Duration::from_secs(300));
        assert_eq!(r.status, 0, "{source}: {}", r.err);
    });
    exe
}

/// Is there a compiler for the device?
fn compiler_for_devices() -> bool {
    let asked = Command::new("gcc").arg("-print-file-name=accel/nvptx-none/mkoffload").output();
    let path = String::from_utf8(asked.expect("gcc").stdout).expect("UTF-8");
    available("GCC's compiler for NVIDIA's devices", Path::new(path.trim()).is_file())
}

/// The kernels of a program that could not be verified, by number, each with the reason.
fn unverified(source: &str, name: &str) -> Vec<(u32, String)> {
    let plugin = "libgomp-plugin-nvptx.so.1";
    let soname = format!("-Wl,-soname,{plugin}");
    let plugin = compiled("device/fake_plugin.c", plugin, &["-O2", "-shared", "-fPIC", "-w", &soname]);
    let device =
        ["-foffload=nvptx-none", "-foffload-options=nvptx-none=-O3", "-foffload-options=nvptx-none=-lm"];
    let exe = compiled(source, name, &[&["-O2", "-fopenmp", "-w", "-no-pie"][..], &device].concat());
    let folder = plugin.parent().expect("a folder");
    let report = folder.join(format!("{name}-{}.json", std::process::id()));
    let env = [
        ("LD_LIBRARY_PATH", folder.to_str().expect("UTF-8")),
        ("FAKE_PTX", "1"),
        ("PROMP_DEVICES", "nvptx"),
        ("PROMP_SDC", "eager"),
        ("PROMP_REPORT", report.to_str().expect("UTF-8")),
    ];
    let r = promp(&exe, &[], &env);
    let text = std::fs::read_to_string(&report).unwrap_or_else(|e| panic!("{e}: {}{}", r.out, r.err));
    let _ = std::fs::remove_file(&report);
    let json: serde_json::Value = serde_json::from_str(&text).expect("a report");
    let listed = json["sdc"]["unverified"].as_array().unwrap_or_else(|| panic!("{text}{}", r.err));
    let parts =
        listed.iter().map(|l| l.as_str().and_then(|l| l.split_once(": ")).expect("a name and a reason"));
    let number = |name: &str| name.rsplit('.').next().and_then(|n| n.parse().ok()).expect("a number");
    let mut found: Vec<(u32, String)> = parts.map(|(name, why)| (number(name), why.to_string())).collect();
    found.sort();
    found
}

/// Kernels that are not named are verified.
#[test]
fn verdicts_of_what_gcc_makes() {
    if !compiler_for_devices() {
        return;
    }
    let kinds = &[
        (4, "compare-and-swap"), // floating-point atomics
        (6, "compare-and-swap"), // a reduction
        (8, "output (printf)"),
        (9, "random numbers (rand)"),
        (11, "an atomic whose answer is used"),
    ][..];
    let order = &[
        (0, "critical section"),
        (2, "no fixed order (GOMP_loop_nonmonotonic_dynamic_next)"),
        (4, "no fixed order (GOMP_task)"),
        (7, "compare-and-swap"), // a lock, as the library on the device takes it
        (9, "memory allocation"),
        (10, "the clock (clock)"),
        (11, "a call through a pointer"),
        (12, "the clock (omp_get_wtime)"),
        (13, "no fixed order (GOMP_cancel)"),
    ];
    for (source, name, expected) in [("sdc/kinds.c", "kinds", kinds), ("sdc/order.c", "order", order)] {
        let found = unverified(source, name);
        let numbers: Vec<u32> = found.iter().map(|f| f.0).collect();
        assert_eq!(numbers, expected.iter().map(|e| e.0).collect::<Vec<_>>(), "{source}: {found:?}");
        for ((_, why), (number, words)) in found.iter().zip(expected) {
            assert!(why.contains(words), "{source}, kernel {number}: {why}, not {words}");
        }
    }
}
