//! The table of settings, a row each. The runtime's readers, the options of `promp run` and their help, the
//! names that are proposed for wrong ones and the tables of docs/environment.md come from it (`make docs`).

use crate::row::Check::{Is, Nothing, Says};
use crate::row::Values::{Described, Listed, Number, Words};
use crate::row::{Flag, Group, Setting, Takes};
use crate::{devices, quantities, replay_policy::Replay, save_budget::Budget, spec, times};

/// One of some words, the second argument if nothing is said.
const fn words(all: &'static [&'static str], default: &'static str, meaning: &'static str) -> Setting {
    Setting::new(Words(all), Some(default), meaning)
}

/// Where checkpoints are kept: options that have no sense without.
const CKPT: &str = "--ckpt";

/// Declares each row, and the list of all.
macro_rules! settings {
    ($($group:ident { $($id:ident = $name:literal: $row:expr;)* })*) => {
        $($(
            #[doc = concat!("`", $name, "`.")]
            pub static $id: Setting = $row.named($name, concat!($name, "\0"), Group::$group);
        )*)*
        /// All settings.
        pub static ALL: &[&Setting] = &[$($(&$id,)*)*];
    };
}

settings! {
    Run {
        VERBOSE = "PROMP_VERBOSE": words(&["0", "1", "2", "3"], "1",
            "1: one line a failure and recovery on stderr; 2: also one a checkpoint");
        LIBRARY = "PROMP_LIBRARY": Setting::new(Described("file", Nothing), None,
            "for the command: the libpromp.so that it uses; that beside `promp`, if there is one");
    }
    Failures {
        FT = "PROMP_FT": words(&["off", "on"], "on",
            "off: a plain runtime; on: ledger, private saves, detection, recovery");
        FAULT = "PROMP_FAULT": Setting::new(Described("faults, see below", Says(spec::check)), None,
            "inject failures")
            .by(Flag::new("--fault", Takes::Value("SPEC"),
                "Inject failures, e.g. `kill@thread=1,region=2,delay=200us`")).stops();
        REPLAY = "PROMP_REPLAY": Setting::new(Listed(
            "proven, assume, never, or a list of function-name globs", Is(|v| Replay::parse(v).is_some())),
            Some("proven"), "which work counts as replayable")
            .by(Flag::new("--replay", Takes::Value("WHICH"),
                "Which work may be executed again: proven, assume, never, or function-name globs"));
        RECOMPUTE = "PROMP_RECOMPUTE": words(&["dynamic", "static"], "dynamic",
            "how orphans are scheduled over the survivors");
        REPRODUCIBLE = "PROMP_REPRODUCIBLE": words(&["0", "1"], "0",
            "1: an orphan goes to its own logical thread, so results are bit-identical");
        AFTER = "PROMP_AFTER": words(&["respawn", "shrink"], "respawn",
            "later regions get a replacement thread, or one thread fewer");
        CRASHES = "PROMP_CRASHES": words(&["program", "runtime"], "program",
            "who gets a crash for which the program has a handler of its own");
        WATCHDOG = "PROMP_WATCHDOG": Setting::new(
            Listed(times::WATCHDOG, Is(|v| times::watchdog_ns(v).is_some())),
            Some("off"), "a thread that holds up its team longer than this has failed")
            .by(Flag::new("--watchdog", Takes::Value("DURATION"),
                "Take a thread for failed that holds up its team longer than this, e.g. `500ms`"));
        SAVE_BUDGET = "PROMP_SAVE_BUDGET": Setting::new(
            Listed("a share of a loop's time like 2%, or all", Is(|v| Budget::parse(v).is_some())),
            Some("2%"),
            "code built by promp-cc, whatever `-fpromp-budget` says: old values are saved where that takes \
             at most this share of a loop's time, and large private data (of any code); regions and \
             taskloops have save points where these take at most as much, or 1%; by default when saving \
             has taken 20 ms of each CPU that the program's threads have; chunks that PROMP_SDC=chunks \
             verifies save at any cost ([compile-side.md](internals/compile-side.md))");
    }
    Checkpoints {
        CKPT_DIR = "PROMP_CKPT_DIR": Setting::new(Described("a directory", Is(|v| !v.is_empty())), None,
            "turns checkpoints on ([checkpoints.md](internals/checkpoints.md)); made with mode 0700")
            .by(Flag::new(CKPT, Takes::Path("DIR"),
                "Take checkpoints and keep them in this directory")).stops();
        STEPS = "PROMP_STEPS": Setting::new(Described("a run", Nothing), None,
            "set by `promp run --steps` for a script: the run whose step a program that is linked with \
             OpenMP is ([workflows.md](howto/workflows.md))")
            .by(Flag::new("--steps", Takes::Nothing("1"),
                "Execute a script again from its beginning, and leave out or continue its OpenMP programs \
                 that have ended or were cut. Safe to repeat").needs(CKPT));
        CKPT_INTERVAL = "PROMP_CKPT_INTERVAL": Setting::new(
            Described(times::INTERVAL, Says(|v| times::Interval::parse(v).map(drop))), Some("30s"),
            "auto: Daly's interval, from PROMP_MTBF and what checkpoints are measured to cost (the report \
             has `cost_s` and `interval_s` for each); reliability:R: no failure within it with probability \
             R, T = −ln(R)·MTBF")
            .by(Flag::new("--every", Takes::Value("DURATION"),
                "How often, e.g. `30s`").needs(CKPT)).stops();
        MTBF = "PROMP_MTBF": Setting::new(
            Described(times::DURATION, Is(|v| times::duration_ns(v).is_some())), None,
            "mean time between failures of the system").stops();
        CKPT_KEEP = "PROMP_CKPT_KEEP": Setting::new(Number(1, 1000), Some("1"),
            "so many checkpoints, the newest ones, stay whole ([jobs.md](internals/jobs.md))")
            .by(Flag::new("--keep", Takes::Value("N"),
                "Keep this many of them, the newest ones; 1 unless given")
                .needs(CKPT)).stops();
        CKPT_LIVE = "PROMP_CKPT_LIVE": words(&["on", "off"], "on",
            "leave out of checkpoints what `promp_dead` or promp-cc says is dead \
             ([live-sets.md](internals/live-sets.md))")
            .stops();
        CKPT_POISON = "PROMP_CKPT_POISON": words(&["0", "1"], "0",
            "fill what was left out with NaNs after rollbacks and restarts, and name who reads it: shows \
             what was wrongly said to be dead ([live-sets.md](internals/live-sets.md))").stops();
        CKPT_THREADS = "PROMP_CKPT_THREADS": words(&["inside", "team", "all"], "inside",
            "threads of the program's own. inside: those that compute, or wait for other threads, a time, \
             a signal or something to read are saved, no checkpoint while one waits for anything else; \
             all: all are saved; team: no checkpoint while there are any")
            .by(Flag::new("--all-threads", Takes::Nothing("all"), "Save the program's own threads, too")
                .needs(CKPT)).stops();
        CKPT_PLAN = "PROMP_CKPT_PLAN": Setting::new(Described("file", Nothing), None,
            "at which visits of its places a program takes checkpoints, as `promp plan` has found \
             ([live-sets.md](internals/live-sets.md))")
            .by(Flag::new("--plan", Takes::Path("FILE"),
                "Take checkpoints where this file says: `promp plan` makes it").needs(CKPT)).stops();
        CKPT_WHERE = "PROMP_CKPT_WHERE": words(&["anywhere", "serial"], "anywhere",
            "serial: checkpoints are taken at ends of outermost regions, if the program comes to one in \
             time: they can be gone on from with another number of threads \
             ([restart-elsewhere.md](internals/restart-elsewhere.md))")
            .by(Flag::new("--any-threads", Takes::Nothing("serial"),
                "Take checkpoints in serial code, if the program comes there in time: from those it can be \
                 continued with another number of threads").needs(CKPT)).stops();
        CKPT_CPU = "PROMP_CKPT_CPU": Setting::new(Words(&["x86-64-v2", "x86-64-v3", "x86-64-v4"]), None,
            "the level that the run has been bound to: set by `promp run --cpu`, together with \
             GLIBC_TUNABLES ([restart-elsewhere.md](internals/restart-elsewhere.md))")
            .by(Flag::new("--cpu", Takes::Value("LEVEL"),
                "Bind the program to what CPUs of this level have, so that it can be continued on machines \
                 with no more").needs(CKPT)).stops();
        CKPT_SELF_CONTAINED = "PROMP_CKPT_SELF_CONTAINED": words(&["0", "1"], "0",
            "1: copies of the program, its libraries and promp are kept with the checkpoints \
             ([restart-elsewhere.md](internals/restart-elsewhere.md))")
            .by(Flag::new("--self-contained", Takes::Nothing("1"),
                "Keep copies of the program, its libraries and promp with the checkpoints: a restart does \
                 not need the files to be what they were").needs(CKPT)).stops();
        CKPT_TRACK = "PROMP_CKPT_TRACK": words(&["auto", "compare"], "auto",
            "how changed pages are found").stops();
        CKPT_COPY = "PROMP_CKPT_COPY": words(&["auto", "stopped", "running", "small"], "auto",
            "when memory is copied: auto: what has changed as a whole, from 64 MiB on, while the program \
             runs, where the system allows it (`promp doctor`); stopped: all of it while the threads are \
             stopped; running: while it runs wherever possible, small: as auto, but from 2 MiB on, for \
             tests").stops();
        CKPT_FILES = "PROMP_CKPT_FILES": Setting::new(
            Described("a size like 64M", Is(|v| quantities::stack_size(v).is_some())), Some("64M"),
            "how much of the content of files is kept with a checkpoint: of those that are open for \
             writing, or written to as shared memory, and of those that are changed later (each; in KiB \
             without a unit, like OMP_STACKSIZE)").stops();
        ON_SIGNAL = "PROMP_ON_SIGNAL": Setting::new(
            Described("SIG[,SIG…]=checkpoint-exit or =checkpoint", Nothing), None,
            "a checkpoint on these signals; checkpoint-exit then ends with status 85 \
             ([jobs.md](internals/jobs.md))")
            .by(Flag::new("--on-signal", Takes::Several("SPEC"),
                "Take a checkpoint on signals, e.g. `TERM,USR1=checkpoint-exit` (then end with status 85) \
                 or `USR2=checkpoint`").needs(CKPT)).stops();
    }
    Measuring {
        REPORT = "PROMP_REPORT": Setting::new(Listed(
            "a path, or - for stderr", Is(|v| !v.is_empty())), None,
            "JSON report at exit")
            .by(Flag::new("--report", Takes::Path("FILE"), "Write a JSON report"));
        MONITOR = "PROMP_MONITOR": words(&["off", "segments", "trace"], "off",
            "measure where threads wait for each other ([monitor.md](internals/monitor.md))")
            .by(Flag::new("--monitor", Takes::Optional("WHAT", "segments"),
                "Measure where threads wait for each other; trace: events with times, too"));
        TOOL = "OMP_TOOL": words(&["enabled", "disabled"], "enabled",
            "may a tool look on by OMPT ([ompt.md](ompt.md))?");
        TOOL_LIBRARIES = "OMP_TOOL_LIBRARIES": Setting::new(
            Described("libraries, separated by `:`", Nothing), None,
            "where a tool is looked for, if the program has none");
        TOOL_VERBOSE_INIT = "OMP_TOOL_VERBOSE_INIT": Setting::new(
            Listed(
                "disabled, stdout, stderr, or a \
                 file", Nothing), Some("disabled"), "says how a tool was looked for");
        STATS = "PROMP_STATS": words(&["0", "1"], "0", "1: statistics on stderr at the end");
        EVENTS = "PROMP_EVENTS": words(&["off", "count"], "off",
            "at exit, how often what happened (crates/omp/src/observe/event.rs)")
            .for_developers();
    }
    Tuning {
        TUNE = "PROMP_TUNE": Setting::new(Listed("off, on, or a file", Is(|v| !v.is_empty())), Some("off"),
            "choose how loops are dealt by model and measurement ([tuning.md](internals/tuning.md)); file: \
             what was found is kept there")
            .by(Flag::new("--tune", Takes::Path("FILE"),
                "Deal loops as this file says, and search for what it does not say: `promp tune` makes \
                 it"));
        TUNE_THREADS = "PROMP_TUNE_THREADS": words(&["keep", "soft", "fewer"], "soft",
            "soft: one thread may get all of a short loop; fewer: teams may be smaller, too, where dyn-var \
             is true; keep: neither");
        TUNE_EXACT = "PROMP_TUNE_EXACT": words(&["off", "on"], "off",
            "compare all ways to execute a loop on the same work, by going back to a checkpoint: `promp \
             tune --exact` ([tuning.md](internals/tuning.md)); needs PROMP_TUNE and PROMP_CKPT_DIR");
    }
    Devices {
        DEVICES = "PROMP_DEVICES": Setting::new(Listed(
            "auto, none, separate, separate:N (1 to 64), each separate also with ,guard, nvptx, gcn",
            Is(|v| devices::which(v).is_some())), Some("auto"),
            "devices for target regions ([devices.md](internals/devices.md)); separate: host devices with \
             memory of their own")
            .by(Flag::new("--devices", Takes::Value("DEVICES"),
                "Devices for target regions: auto, none, separate[:N][,guard], nvptx, gcn")).stops();
        SDC = "PROMP_SDC": Setting::new(Listed(
            "off, eager, lazy, lazy:auto, lazy:N (kernels a section), chunks:P% (above 0, to 100)",
            Is(|v| devices::mode(v).is_some())), Some("off"),
            "find and repair silent errors of device kernels, or of chunks on CPUs \
             ([silent-errors.md](internals/silent-errors.md))")
            .by(Flag::new("--sdc", Takes::Value("MODE"),
                "Find and repair silent errors of devices, or of chunks on CPUs: off, eager, lazy[:N], \
                 chunks:P%"))
            .stops();
        SDC_ASSUME = "PROMP_SDC_ASSUME": Setting::new(
            Listed("a list of globs of kernel names", Is(|v| devices::globs(v).is_some())), None,
            "these kernels are repeatable").stops();
        SDC_LATENCY = "PROMP_SDC_LATENCY": Setting::new(
            Described(times::DURATION, Is(|v| times::duration_ns(v).is_some())), Some("1s"),
            "an error is found at most this late").stops();
        SDC_LOG = "PROMP_SDC_LOG": Setting::new(
            Described("a size like 256M (at least 1M)", Is(|v| devices::log(v).is_some())), Some("256M"),
            "what a section may note").stops();
        SDC_KEEP = "PROMP_SDC_KEEP": words(&["auto", "copies", "signatures"], "auto",
            "what is kept of a section's results, to compare").stops();
    }
}
