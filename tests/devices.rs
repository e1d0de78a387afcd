//! Devices: the map clauses of C, C++ and Fortran on *separate*, what its guard finds, bad settings,
//! failures of threads in and around target regions.

use crate::common::*;

const DEVICES: [&str; 4] = ["none", "separate", "separate:3", "separate,guard"];

#[test]
fn maps_of_every_kind() {
    for source in [
        "device/maps.c",
        "device/counts.c",
        "device/linked.c",
        "device/maps.f90",
        "device/arrays.f90",
        "device/classes.cpp",
        "device/references.cpp",
    ] {
        let exe = build(source, &[]);
        let host = reference(&exe, &[], &[]);
        assert_eq!(host.status, 0, "{source} under libgomp: {}{}", host.out, host.err);
        for devices in DEVICES {
            let r = promp(&exe, &[], &[("PROMP_DEVICES", devices), ("OMP_NUM_THREADS", "2")]);
            assert!(!r.hung && r.status == 0, "{source} on {devices}: {}{}", r.out, r.err);
        }
    }
}

#[test]
fn openacc() {
    let exe = build("device/openacc.c", &["-fno-openmp", "-fopenacc"]);
    for (devices, kind) in [("none", "host"), ("separate", "device"), ("separate:2", "device")] {
        let r = promp(&exe, &[], &[("PROMP_DEVICES", devices)]);
        assert_eq!((r.status, r.out.trim()), (0, &*format!("{kind}: all right")), "{devices}: {}", r.err);
        let r = promp(&exe, &[], &[("PROMP_DEVICES", devices), ("ACC_DEVICE_TYPE", "host")]);
        assert_eq!((r.status, r.out.trim()), (0, "host: all right"), "{devices}: {}", r.err);
    }
}

/// Tools are told of data and kernels of compute constructs; tests/plugin.rs compares with libgomp.
#[test]
fn events_of_openacc() {
    let exe = build("device/acc_events.c", &["-fno-openmp", "-fopenacc"]);
    let r = promp(&exe, &[], &[("PROMP_DEVICES", "separate")]);
    assert_eq!(r.status, 0, "{}", r.err);
    let of = |part: &str| -> Vec<String> {
        let lines = r.out.lines().skip_while(|l| *l != part).skip(1);
        let told = lines.take_while(|l| l.contains(" device "));
        told.map(|l| l.split_whitespace().next().unwrap_or_default().into()).collect()
    };
    let inner = [
        "compute_start",
        "enter_data_start",
        "enter_data_end",
        "launch_start",
        "launch_end",
        "exit_data_start",
        "exit_data_end",
        "compute_end",
    ];
    for part in ["sizes", "async", "kernels", "inside"] {
        assert_eq!(of(part), inner, "{part}: {}", r.out);
    }
    // The host's version of a function has no sizes.
    assert!(r.out.contains(" kernel 1 1 1 1 ") && r.out.contains("device 4.0 queue 2,2 "), "{}", r.out);
    assert!(!r.out.contains("tool 0") && r.out.contains(" api 4 "), "{}", r.out);
}

#[test]
fn openacc_used_wrongly() {
    let exe = build("device/acc_wrong.c", &["-fno-openmp", "-fopenacc"]);
    for (what, status, words) in [
        ("map_null", 1, "is a bad map"),
        ("map_nowhere", 1, "is a bad map"),
        ("map_nothing", 1, "is a bad map"),
        ("map_twice", 1, "is already mapped"),
        ("unmap_other", 1, "is not a mapped block"),
        ("unmap_middle", 1, "surrounds"),
        ("unmap_copied", 1, "was not mapped by acc_map_data"),
        ("shutdown", 1, "no device initialized"),
        ("init_twice", 1, "device already active"),
        ("present", 70, "declare present"),
        ("update", 1, "is not mapped"),
        ("copyin_nothing", 1, "is a bad range"),
        ("member", 70, "without this one"),
    ] {
        let r = promp(&exe, &[what], &[("PROMP_DEVICES", "separate")]);
        assert_eq!((r.status, r.out.trim()), (status, "begun"), "{what}: {}", r.err);
        assert!(r.err.contains(words), "{what}: {}", r.err);
    }
    let r = promp(&exe, &[], &[("PROMP_DEVICES", "separate")]);
    assert_eq!((r.status, r.out.as_str()), (0, "begun\ndone\n"), "{}", r.err);
}

#[test]
fn another_device_is_the_default() {
    let exe = build("device/maps.c", &[]);
    let r = promp(&exe, &[], &[("PROMP_DEVICES", "separate:3"), ("OMP_DEFAULT_DEVICE", "2")]);
    assert!(r.status == 0 && r.out.contains("devices 3, separate"), "{}{}", r.out, r.err);
    let r = promp(&exe, &[], &[("PROMP_DEVICES", "separate"), ("OMP_TARGET_OFFLOAD", "disabled")]);
    assert!(r.status == 0 && r.out.contains("devices 0, host"), "{}{}", r.out, r.err);
}

#[test]
fn the_guard_finds_what_is_not_mapped() {
    let exe = build("device/wrong.c", &[]);
    let on = |what: &str, devices: &str| promp(&exe, &[what], &[("PROMP_DEVICES", devices)]);
    for (what, words) in [
        ("pointer", "has read host memory"),
        ("small", "has read host memory"),
        ("write", "has written host memory"),
        ("host", "the host has read device memory"),
    ] {
        let free = on(what, "separate");
        assert_eq!(free.status, 0, "{what} without guard: {}", free.err);
        let r = on(what, "separate,guard");
        assert!(r.status == 70 && r.err.contains(words), "{what}: {} {}{}", r.status, r.out, r.err);
    }
    // Of a map kind that nobody knows no guess is made.
    for construct in ["region", "enter", "exit"] {
        let r = promp(&exe, &[construct, "kind"], &[("PROMP_DEVICES", "separate")]);
        assert_eq!((r.status, r.out.as_str()), (70, ""), "{construct}: {}", r.err);
        assert!(r.err.contains("map kind 0x7e is not known"), "{construct}: {}", r.err);
    }
    let r = on("partly", "separate");
    assert!(r.status == 70 && r.err.contains("is mapped already"), "{}{}", r.out, r.err);
    // The host's answer is 200.
    let r = on("from", "separate,guard");
    assert!(r.status == 0 && r.out.trim() != "200", "{}{}", r.out, r.err);
    for (devices, what) in DEVICES.into_iter().flat_map(|d| [(d, "right"), (d, "own")]) {
        let r = on(what, devices);
        assert_eq!((r.status, r.out.trim()), (0, "200"), "{devices}, {what}: {}", r.err);
    }
}

#[test]
fn bad_settings_stop_the_program_before_it_does_anything() {
    let exe = build("device/maps.c", &[]);
    for (name, value) in [
        ("PROMP_DEVICES", "gpu"),
        ("PROMP_DEVICES", "separate:0"),
        ("PROMP_SDC", "always"),
        ("PROMP_SDC_ASSUME", ","),
        ("PROMP_SDC_LATENCY", "5"),
        ("PROMP_FAULT", "sdc@bit=9"),
    ] {
        let r = promp(&exe, &[], &[(name, value)]);
        assert!(
            r.status == 64 && r.out.is_empty() && r.err.contains(value),
            "{name}={value}: {}{}",
            r.out,
            r.err
        );
    }
}

/// A thread dies in a region that runs on *separate*, or beside one: recovered where the work may be
/// repeated.
#[test]
fn threads_fail_in_and_around_target_regions() {
    let exe = build("device/failing.c", &[]);
    let want = reference(&exe, &[], &[]);
    assert_eq!(want.status, 0, "{}", want.err);
    for fault in ["kill@region=2,thread=1", "crash@region=3,thread=1,nth=2", "kill@region=5,thread=0,nth=3"] {
        let env = [("OMP_NUM_THREADS", "3"), ("PROMP_DEVICES", "separate"), ("PROMP_FAULT", fault)];
        let r = promp(&exe, &[], &[&env[..], &[("PROMP_REPLAY", "assume")]].concat());
        assert_eq!((r.status, &r.out), (0, &want.out), "{fault}: {}", r.err);
        // Chunks go to whoever asks first: the thread may not get as many as the fault waits for.
        let struck =
            r.err.contains("failed (") || (fault.contains("nth") && r.err.contains("did not strike"));
        assert!(struck && !r.hung, "{fault}: {}", r.err);
    }
}

/// Wherever a thread dies, inside of a target region, between two or behind the last one: the result is
/// right, or the run is refused.
#[test]
fn threads_fail_anywhere() {
    let exe = build("device/failing.c", &[]);
    let want = reference(&exe, &[], &[]);
    let (mut struck, mut refused) = (0, 0);
    for kind in ["kill", "crash"] {
        for region in 1..=9 {
            for (thread, nth) in [(0, 1), (1, 1), (2, 2), (0, 3)] {
                for (devices, replay) in
                    [("separate", "assume"), ("separate,guard", "assume"), ("separate", "proven")]
                {
                    if nth > 1 && replay == "proven" {
                        continue;
                    }
                    let fault = format!("{kind}@region={region},thread={thread},nth={nth}");
                    let env = [
                        ("OMP_NUM_THREADS", "3"),
                        ("PROMP_DEVICES", devices),
                        ("PROMP_FAULT", fault.as_str()),
                        ("PROMP_REPLAY", replay),
                    ];
                    let r = promp(&exe, &[], &env);
                    struck += usize::from(r.err.contains("failed ("));
                    if r.was_refused(&want.out, &format!("{env:?}")) {
                        let said = r.out.is_empty() && r.err.contains("failed (");
                        assert!(said, "{env:?}: {}{}", r.out, r.err);
                        refused += 1;
                    }
                }
            }
        }
    }
    println!("{struck} struck, {refused} of them refused");
    // Threads 0 and 1 get the first chunk of static loops at least.
    assert!(struck > 20 && refused < struck, "{struck} struck, {refused} refused");
}

/// What cannot be repeated is refused without a checkpoint.
#[test]
fn memory_lost_in_target_regions() {
    let exe = build("device/failing.c", &[]);
    for devices in ["separate", "separate,guard"] {
        let env = [
            ("OMP_NUM_THREADS", "3"),
            ("PROMP_DEVICES", devices),
            ("PROMP_FAULT", "memerr@region=6,thread=any"),
        ];
        let r = promp(&exe, &[], &env);
        assert_eq!((r.status, r.out.as_str()), (70, ""), "{devices}: {}", r.err);
        assert!(r.err.contains("no checkpoint to return to"), "{devices}: {}", r.err);
    }
}

/// With one the program goes back to it: the device's memory and what is mapped come back, too.
#[test]
fn memory_lost_in_target_regions_comes_back_from_a_checkpoint() {
    let exe = build("device/failing.c", &[]);
    for devices in ["separate", "separate,guard"] {
        let dir = out_dir().join(format!("device-ckpt-{}", std::process::id()));
        let mut rollbacks = 0;
        // Later, if the failure comes before the first checkpoint.
        for steps in [200, 800, 3200, 12_800, 51_200] {
            let _ = std::fs::remove_dir_all(&dir);
            let (fault, text) = (format!("memerr@region={},thread=any", 2 * steps - 9), steps.to_string());
            // libgomp's threads that spin take half a minute where there are too few CPUs for them.
            let want = reference(&exe, &[&text], &[("OMP_WAIT_POLICY", "passive")]);
            let env = [
                ("OMP_NUM_THREADS", "3"),
                ("PROMP_DEVICES", devices),
                ("PROMP_FAULT", fault.as_str()),
                ("PROMP_CKPT_DIR", dir.to_str().expect("UTF-8")),
                ("PROMP_CKPT_INTERVAL", "10ms"),
            ];
            let r = promp(&exe, &[&text], &env);
            if r.status == 70 && r.err.contains("no checkpoint to return to") {
                continue;
            }
            assert_eq!((r.status, &r.out), (0, &want.out), "{devices} {steps}: {}", r.err);
            rollbacks += r.err.matches("rolled back to checkpoint").count();
            if rollbacks > 0 {
                break;
            }
        }
        let _ = std::fs::remove_dir_all(&dir);
        assert!(rollbacks > 0, "{devices}");
    }
}

/// Crashes while the guard keeps the heap shut are the thread's failures as elsewhere.
#[test]
fn threads_crash_behind_the_guard() {
    let exe = build("device/failing.c", &[]);
    let want = reference(&exe, &[], &[]);
    for fault in ["crash@region=3,at=serial", "kill@region=4,at=serial", "crash@region=5,at=region,thread=0"]
    {
        let env = [("OMP_NUM_THREADS", "3"), ("PROMP_DEVICES", "separate,guard"), ("PROMP_FAULT", fault)];
        let r = promp(&exe, &[], &[&env[..], &[("PROMP_REPLAY", "assume")]].concat());
        assert_eq!((r.status, &r.out), (0, &want.out), "{fault}: {}", r.err);
        assert!(r.err.contains("failed (") && !r.err.contains("handlers of its own"), "{fault}: {}", r.err);
    }
}

#[test]
fn variables_of_devices() {
    let exe = build("device/variables.c", &[]);
    let env = [
        ("PROMP_DEVICES", "separate:2"),
        ("OMP_NUM_THREADS", "2"),
        ("OMP_NUM_THREADS_DEV", "5"),
        ("OMP_NUM_THREADS_DEV_1", "7"),
        ("OMP_SCHEDULE", "dynamic,1"),
        ("OMP_SCHEDULE_DEV", "guided,3"),
        ("OMP_MAX_ACTIVE_LEVELS_ALL", "4"),
        ("OMP_DYNAMIC_DEV_0", "true"),
        ("OMP_THREAD_LIMIT", "8"),
        ("OMP_THREAD_LIMIT_DEV", "9"),
        ("OMP_NUM_TEAMS", "11"),
        ("OMP_NUM_TEAMS_DEV_1", "12"),
        ("OMP_TEAMS_THREAD_LIMIT_DEV", "6"),
        ("OMP_TEAMS_THREAD_LIMIT_DEV_0", "3"),
    ];
    let r = promp(&exe, &[], &env);
    // Threads, active levels, limit, dynamic, schedule (2 dynamic, 3 guided), teams and threads of each,
    // limit in a team; the last is the host.
    let want = "0: 5 4 9 1 3,3 teams 11 of 3, 3\n1: 7 4 9 0 3,3 teams 12 of 6, 6\n\
                2: 2 4 8 0 2,1 teams 11 of 0, 8\n";
    assert_eq!((r.status, r.out.as_str()), (0, want), "{}", r.err);
}

#[test]
fn mandatory_offload() {
    let exe = build("device/variables.c", &[]);
    let on = |devices: &str, device: &str| {
        promp(&exe, &[device], &[("PROMP_DEVICES", devices), ("OMP_TARGET_OFFLOAD", "mandatory")])
    };
    // The number behind the last device is the host's.
    for (devices, device) in [("separate:2", "0"), ("separate:2", "1"), ("separate:2", "2"), ("none", "0")] {
        let r = on(devices, device);
        assert!(
            r.status == 0 && r.out.starts_with(&format!("on {device}\n")),
            "{device}: {}{}",
            r.out,
            r.err
        );
    }
    // -1 is no device clause: the host is none that was asked for, unless it was.
    let r = on("separate:2", "-1");
    assert!(r.status == 0 && r.out.starts_with("on 0\n"), "{r:?}");
    let env = [("OMP_TARGET_OFFLOAD", "mandatory"), ("OMP_DEFAULT_DEVICE", "0"), ("PROMP_DEVICES", "none")];
    let r = promp(&exe, &["-1"], &env);
    assert!(r.status == 0 && r.out.starts_with("on 0\n"), "{r:?}");
    for (devices, device) in [("separate:2", "3"), ("none", "1"), ("none", "-1")] {
        let r = on(devices, device);
        assert_eq!((r.status, r.out.as_str()), (1, ""), "{devices} {device}");
        assert!(r.err.contains("MANDATORY"), "{}", r.err);
    }
}
