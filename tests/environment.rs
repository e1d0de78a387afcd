//! What the environment says, in random combinations, right and wrong: promp understands it as libgomp does.

use crate::common::*;

/// Variables and values. Numbers of threads fit the places: where they do not, libgomp gives the threads left over to the first places,
/// promp keeps consecutive threads together (OpenMP 5.1, section 2.6.2). OMP_DYNAMIC=true asks libgomp for the system's load.
const VALUES: [(&str, &[&str]); 17] = [
    ("OMP_NUM_THREADS", &["1", "2", "4", "2,2", "4,2,2", "2,1", "1,2,2", " 4 ", "0", "-1", "x", "4,0"]),
    ("OMP_DYNAMIC", &["false", "FALSE", "1", "yes"]),
    ("OMP_NESTED", &["true", "false", "x"]),
    ("OMP_MAX_ACTIVE_LEVELS", &["0", "1", "2", "3", "5", "-1", "x", "1000"]),
    (
        "OMP_PROC_BIND",
        &[
            "true",
            "false",
            "close",
            "spread",
            "master",
            "primary",
            "spread,close",
            "close,close,spread",
            "x",
            "true,close",
        ],
    ),
    (
        "OMP_PLACES",
        &[
            "cores",
            "threads",
            "sockets",
            "{0},{1}",
            "{1},{0}",
            "{0:2}",
            "{0}:2",
            "{0:1}:2:1",
            "cores(1)",
            "x",
            "{0,1}",
            "!{0}",
            "{0},{0}",
            "{0}:2:-1",
            "{0},{1},{0},{1}",
            "{0,1},{0},{1},{0,1}",
        ],
    ),
    ("GOMP_CPU_AFFINITY", &["0", "0 1", "1 0", "0-1", "0-1:1", "x", "1"]),
    (
        "OMP_SCHEDULE",
        &[
            "static",
            "dynamic,4",
            "guided",
            "auto",
            "monotonic:dynamic",
            "nonmonotonic:static,3",
            "dynamic,0",
            "x",
            "nonmonotonic:guided,7",
            "STATIC , 5",
            "monotonic:static,2",
        ],
    ),
    ("OMP_CANCELLATION", &["true", "false", "x"]),
    ("OMP_NUM_TEAMS", &["3", "0", "x"]),
    ("OMP_TEAMS_THREAD_LIMIT", &["5", "0", "x"]),
    ("OMP_DEFAULT_DEVICE", &["0", "3", "-1", "x"]),
    ("OMP_WAIT_POLICY", &["active", "passive", "x"]),
    ("OMP_STACKSIZE", &["1M", "200k", "1", "x"]),
    ("OMP_THREAD_LIMIT", &["8", "40", "0", "x"]),
    ("OMP_MAX_TASK_PRIORITY", &["3", "x"]),
    ("GOMP_SPINCOUNT", &["0", "1000", "infinite", "x"]),
];

#[test]
fn means_what_libgomp_makes_of_it() {
    let cpus = std::thread::available_parallelism().expect("known").get();
    if cpu_quota() || !cpus.is_power_of_two() {
        eprintln!(
            "skipped: the default number of threads ({cpus} CPUs, or a CPU quota) does not fit the places"
        );
        return;
    }
    let exe = build("constructs/icvs.c", &[]);
    for seed in 1..=if long() { 2000 } else { 100 } {
        let mut random = Seeded(seed);
        let mut env = Vec::new();
        for (name, values) in VALUES {
            let often = ["OMP_PLACES", "OMP_PROC_BIND", "OMP_MAX_ACTIVE_LEVELS"].contains(&name);
            if random.below(10) < if often { 6 } else { 2 } {
                env.push((name, *random.pick(values)));
            }
        }
        let (want, got) = (reference(&exe, &[], &env), promp(&exe, &[], &env));
        assert_eq!((got.status, &got.out), (want.status, &want.out), "seed {seed}, {env:?}: {}", got.err);
    }
}
