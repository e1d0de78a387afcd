//! Devices of GCC's plugins, without a GPU: c-tests/device/fake_plugin.c is a plugin whose device is the
//! process itself with other memory. libgomp uses it, too, and says what comes out.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// The folder with the plugin, built once.
fn plugin() -> &'static str {
    static FOLDER: OnceLock<String> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = shared_folder("plugin");
        let exe = folder.join("libgomp-plugin-nvptx.so.1");
        let flags = ["-O2", "-shared", "-fPIC", "-w", "-Wl,-soname,libgomp-plugin-nvptx.so.1"];
        built::once(&built::Request { exe: &exe, compiler: Path::new("gcc"), words: &flags }, |tmp, read| {
            let mut c = Command::new("gcc");
            c.args(flags).args(["-MMD".as_ref(), "-MF".as_ref(), read.as_os_str()]);
            c.arg("-o").arg(tmp).arg(root().join("c-tests/device/fake_plugin.c"));
            let r = limited(c, Duration::from_secs(60));
            assert_eq!(r.status, 0, "{}", r.err);
        });
        folder.to_str().expect("UTF-8").into()
    })
}

/// A program with an image for the plugin's device.
fn with_image(source: &str, flags: &[&str]) -> PathBuf {
    let header = root().join("c-tests/device/image.h");
    build(source, &[&["-include", header.to_str().expect("UTF-8")], flags].concat())
}

fn under_libgomp(exe: &Path, args: &[&str]) -> Run {
    reference(exe, args, &[("LD_LIBRARY_PATH", plugin())])
}

fn under_promp(exe: &Path, args: &[&str], more: &[(&str, &str)]) -> Run {
    promp(exe, args, &[&[("LD_LIBRARY_PATH", plugin()), ("FAKE_TELL", "1")], more].concat())
}

/// Everything that was taken of the device is given back but for the blocks that are kept for the next
/// region.
#[test]
fn programs_run_on_the_device_as_under_libgomp() {
    for (source, flags, args) in [
        ("device/counts.c", &[][..], &["device"][..]),
        ("device/large.c", &[], &[]),
        ("device/classes.cpp", &["-fpermissive"], &[]),
        ("device/many.c", &[], &["20"]),
        ("device/openacc.c", &["-fno-openmp", "-fopenacc"], &[]),
    ] {
        let exe = with_image(source, flags);
        let want = under_libgomp(&exe, args);
        assert_eq!(want.status, 0, "{source} under libgomp: {}{}", want.out, want.err);
        for sdc in ["off", "lazy:3", "eager"] {
            let assume = [("PROMP_SDC", sdc), ("PROMP_SDC_ASSUME", "*")];
            let r = under_promp(&exe, args, &assume);
            assert_eq!(r.status, 0, "{source} {sdc}: {}{}", r.out, r.err);
            // Times differ.
            assert!(source.ends_with("many.c") || r.out == want.out, "{source} {sdc}: {}{}", r.out, r.err);
            assert!(r.err.contains("device 0:") && !r.err.contains(" 0 runs"), "{source}: {}", r.err);
        }
    }
}

/// The memory routines answer and move the same on two devices as under libgomp: on those of a plugin, and on
/// *separate*.
#[test]
fn memory_routines_as_under_libgomp() {
    let exe = with_image("device/routines.c", &[]);
    let want = under_libgomp(&exe, &[]);
    assert_eq!(want.status, 0, "{}{}", want.out, want.err);
    assert!(want.out.starts_with("2 devices") && !want.out.contains("WRONG"), "{}", want.out);
    for (name, value) in [
        ("PROMP_DEVICES", "auto"),
        ("PROMP_DEVICES", "separate:2"),
        ("PROMP_SDC", "lazy:2"),
        ("OMP_NUM_THREADS", "1"),
    ] {
        let r = under_promp(&exe, &[], &[(name, value), ("PROMP_SDC_ASSUME", "*")]);
        assert_eq!((r.status, &r.out), (0, &want.out), "{name}={value}: {}", r.err);
    }
    let guarded = [("PROMP_DEVICES", "separate:2,guard")];
    let r = under_promp(&exe, &[], &guarded);
    assert_eq!((r.status, &r.out), (0, &want.out), "{}", r.err);
}

/// Pointers of `declare target link` lead to what is mapped, as under libgomp; to a part of a variable so
/// that kernels find it.
#[test]
fn links_lead_to_what_is_mapped() {
    let exe = with_image("device/links.c", &[]);
    let want = under_libgomp(&exe, &[]);
    assert_eq!((want.status, want.out.as_str()), (0, "1 1 1 1 3 0\n"), "{}", want.err);
    for sdc in ["off", "lazy:2"] {
        let r = under_promp(&exe, &[], &[("PROMP_SDC", sdc), ("PROMP_SDC_ASSUME", "*")]);
        assert_eq!((r.status, r.out.as_str()), (0, "1 1 1 1 3 1\n"), "{sdc}: {}", r.err);
    }
}

/// Blocks that are kept for the next construct do not stand in the way of one that needs the device's memory.
#[test]
fn what_is_kept_goes_where_memory_is_short() {
    let exe = with_image("device/tight.c", &[]);
    let want = under_libgomp(&exe, &[]);
    assert_eq!(want.status, 0, "{}{}", want.out, want.err);
    let tight = ("FAKE_MEMORY", "1000000");
    let r = under_promp(&exe, &[], &[tight]);
    assert_eq!((r.status, &r.out), (0, &want.out), "{}", r.err);
    // There is too little of it all the same.
    let r = under_promp(&exe, &[], &[("FAKE_MEMORY", "700000")]);
    assert_eq!((r.status, r.err.contains("the device has no memory for another")), (70, true), "{r:?}");
}

/// An OMPT tool is told of the image that is loaded, and of what is mapped.
#[test]
fn a_tool_is_told_of_images() {
    let exe = with_image("device/counts.c", &[]);
    let tool = build("ompt/recorder.c", &["-shared", "-fPIC"]);
    let log = out_dir().join(format!("plugin-ompt-{}", std::process::id()));
    let (tool, file) = (tool.to_str().expect("UTF-8"), log.to_str().expect("UTF-8"));
    let r = under_promp(&exe, &["device"], &[("OMP_TOOL_LIBRARIES", tool), ("RECORDER_OUT", file)]);
    assert_eq!(r.status, 0, "{}", r.err);
    let told = std::fs::read_to_string(&log).expect("the record");
    let _ = std::fs::remove_file(&log);
    let at = |what: &str| {
        told.lines().position(|l| l.starts_with(what)).unwrap_or_else(|| panic!("{what}: {told}"))
    };
    let loaded = told.lines().nth(at("device_load ")).expect("a line");
    assert!(loaded.contains("device=0 file=0 offset=-1 host=1 module="), "{loaded}");
    assert!(at("device_initialize ") < at("device_load ") && at("device_load ") < at("target_submit_emi "));
    assert!(at("target_map_emi ") < at("target_submit_emi "), "{told}");
    assert_eq!(told.lines().filter(|l| l.starts_with("device_load ")).count(), 1, "{told}");
}

#[test]
fn what_goes_wrong_ends_the_program_or_leaves_it_to_the_host() {
    let exe = with_image("device/large.c", &[]);
    // The host does what no device can.
    for (fake, words) in [
        ("none", ""),
        ("version", "has version 7 of the interface, expected 1"),
        ("init", "cannot be used"),
        ("image", "an image for nvptx cannot be used"),
    ] {
        let r = under_promp(&exe, &[], &[("FAKE", fake)]);
        assert_eq!((r.status, r.out.as_str()), (0, "host 262144\n"), "{fake}: {}", r.err);
        assert!(r.err.contains(words), "{fake}: {}", r.err);
        let r = under_promp(&exe, &[], &[("FAKE", fake), ("OMP_TARGET_OFFLOAD", "mandatory")]);
        assert_eq!(r.status, 1, "{fake}, mandatory: {}{}", r.out, r.err);
    }
    let r = under_promp(&exe, &[], &[("FAKE", "none"), ("PROMP_DEVICES", "nvptx")]);
    assert!(r.status == 0 && r.err.contains("it finds no device"), "{}{}", r.out, r.err);
    // There is no plugin, or no driver and no device for it.
    for kind in ["gcn", "nvptx"] {
        let r = promp(&exe, &[], &[("PROMP_DEVICES", kind)]);
        let on_device = kind == "nvptx" && r.out.starts_with("device ");
        assert!(r.status == 0 && (on_device || r.out == "host 262144\n"), "{kind}: {}{}", r.out, r.err);
        let said = r.err.contains(&format!("PROMP_DEVICES={kind}: libgomp-plugin-{kind}.so.1: "));
        assert!(on_device || said && r.err.contains("target regions run on the host"), "{kind}: {}", r.err);
    }
    // What has begun cannot go on.
    for (fake, status, words) in [
        ("memory", 70, "the device has no memory for another"),
        ("copy", 70, "could not be copied to the device"),
        ("kernel", 1, "the kernel failed with error 42"),
    ] {
        for sdc in ["off", "lazy"] {
            let env = [("FAKE", fake), ("PROMP_SDC", sdc), ("PROMP_SDC_ASSUME", "*")];
            let r = under_promp(&exe, &[], &env);
            assert_eq!((r.status, r.out.as_str()), (status, ""), "{fake} {sdc}: {}", r.err);
            assert!(r.err.contains(words), "{fake} {sdc}: {}", r.err);
        }
    }
}

/// An image that another type of device is for is none for this one.
#[test]
fn an_image_for_another_device() {
    let exe = with_image("device/large.c", &["-DOTHER_DEVICE"]);
    let r = under_promp(&exe, &[], &[]);
    assert_eq!((r.status, r.out.as_str()), (0, "host 262144\n"), "{}", r.err);
}

const OPENACC: [&str; 2] = ["-fno-openmp", "-fopenacc"];

/// OpenACC's tools are told of what happens on the device as under libgomp, also by the plugin: that one
/// says which structures it finds.
#[test]
fn tools_of_openacc_are_told_as_under_libgomp() {
    let exe = with_image("device/acc_events.c", &OPENACC);
    let want = under_libgomp(&exe, &["short"]);
    assert_eq!(want.status, 0, "{}", want.err);
    for what in ["enter_data_start", "exit_data_end", "update_end", "compute_end", "launch_start"] {
        assert!(want.out.contains(what), "{what}: {}", want.out);
    }
    let got = under_promp(&exe, &["short"], &[]);
    assert_eq!((got.status, &got.out), (0, &want.out), "{}", got.err);
    // Memory is kept for later constructs, so there are fewer blocks.
    let got = under_promp(&exe, &[], &[]);
    assert!(got.status == 0 && got.out.contains("alloc device 5.0"), "{}{}", got.out, got.err);
}

/// The driver's library for the device: it executes the PTX of promp's kernels.
fn driver_library() -> String {
    let file = Path::new(plugin()).join("libcuda.so.1");
    let mut c = Command::new("gcc");
    c.args(["-O2", "-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", "-o"])
        .arg(&file)
        .arg(root().join("c-tests/device/fake_cuda.c"));
    let r = limited(c, Duration::from_secs(60));
    assert_eq!(r.status, 0, "{}", r.err);
    file.to_str().expect("UTF-8").into()
}

/// Results are compared on the device, by a kernel that compares or by one that signs; errors are found and
/// repaired, and the host does what the device's kernel does not do right.
#[test]
fn kernels_of_our_own_compare_and_sign() {
    let exe = with_image("sdc/sums.c", &[]);
    let cuda = driver_library();
    let report = out_dir().join(format!("plugin-sdc-{}.json", std::process::id()));
    let path = report.to_str().expect("UTF-8");
    for (keep, bad, kernel, words) in [
        ("copies", "", "promp_compare: ", ""),
        ("signatures", "", "promp_sign: ", ""),
        ("signatures", "promp_sign", "promp_sign: 1 launches", "the device cannot sign its memory"),
    ] {
        let env = [
            ("FAKE_CUDA", cuda.as_str()),
            ("FAKE_CUDA_BAD", bad),
            ("PROMP_SDC", "lazy:6"),
            ("PROMP_SDC_KEEP", keep),
            ("PROMP_SDC_ASSUME", "*"),
            ("PROMP_FAULT", "sdc@count=6,nth=6,pattern=warp"),
            ("PROMP_REPORT", path),
        ];
        let r = under_promp(&exe, &["40000", "36"], &env);
        assert_eq!((r.status, r.out.as_str()), (0, "0 wrong\n"), "{keep}: {}", r.err);
        assert!(r.err.contains(kernel) && r.err.contains(words), "{keep}: {}", r.err);
        let text = std::fs::read_to_string(&report).expect("a report");
        let sdc: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let number = |name: &str| sdc["sdc"][name].as_u64();
        let counts = ["injected", "found", "repaired"].map(number);
        assert_eq!(counts, [Some(6); 3], "{keep}: {text}");
        let copies = if keep == "copies" { 2 } else { 1 };
        assert!(number("bytes_kept") >= number("bytes"), "{text}");
        assert!(number("bytes_kept") <= number("bytes").map(|n| copies * (n + (1 << 20))), "{text}");
    }
    let _ = std::fs::remove_file(&report);
    // A comparison that finds nothing where there is something is none.
    let env = [
        ("FAKE_CUDA", cuda.as_str()),
        ("FAKE_CUDA_BAD", "promp_compare"),
        ("PROMP_SDC", "lazy"),
        ("PROMP_SDC_KEEP", "copies"),
        ("PROMP_SDC_ASSUME", "*"),
    ];
    let r = under_promp(&exe, &["4000", "4"], &env);
    assert!(r.status == 70 && r.err.contains("failed while a section was verified"), "{}{}", r.out, r.err);
}
