//! Signals around a change of host, a freeze and a rollback: what is sent to one thread is delivered once, to
//! that thread, on its own stack, with its mask; nobody hears that there is no such thread; a collector that
//! stops the world by signals works.

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use std::path::PathBuf;

/// How a signal is sent to a thread: by libc's functions, by libc's with the id that the thread had at first,
/// and by system calls with it.
const WAYS: [&str; 6] = ["kill", "queue", "tgkill", "syscall", "tkill", "info"];

const RIGHT: &str = "lost 0 strange 0 errors 0 ";

fn directed() -> PathBuf {
    build("signals/directed.c", &[])
}

fn failures(run: &Run) -> usize {
    run.err.matches("failed (kill)").count()
}

#[test]
fn sent_to_one_thread_whatever_becomes_of_its_host() {
    let exe = directed();
    let want = reference(&exe, &["kill"], &[]);
    assert!(want.out.starts_with(RIGHT), "{want:?}");
    for way in WAYS {
        let (mut seen, mut draws) = (0, Draws::between(scale(), 100 * scale()));
        while let Some(seed) = draws.next(seen >= 20) {
            let fault = format!("kill@mtbf=3ms,count=30,seed={seed}");
            let env = [("PROMP_REPLAY", "assume"), ("PROMP_FAULT", &fault)];
            let run = promp(&exe, &[way, "1500", "60"], &env);
            let right = (run.status, &run.out) == (0, &want.out) || run.was_in_serial_work();
            assert!(right, "{way}, {fault}: {run:?}");
            seen += failures(&run);
        }
        assert!(seen >= 20, "{way}: the faults do not strike");
    }
}

#[test]
fn sent_to_one_thread_through_checkpoints_and_rollbacks() {
    let exe = directed();
    let want = reference(&exe, &["kill"], &[]);
    let s = Scratch::new("signals");
    for way in ["kill", "queue", "syscall"] {
        let (mut back, mut draws) = (0, Draws::between(scale(), 60 * scale()));
        while let Some(seed) = draws.next(back >= 3) {
            // A kill often finds a thread where nothing is lost; lost memory always needs a rollback.
            let fault = format!("{}@mtbf=25ms,count=6,seed={seed}", ["memerr", "kill"][seed as usize % 2]);
            let env = [("PROMP_CKPT_THREADS", "all"), ("PROMP_FAULT", &fault)];
            let run = checkpointed(&exe, &[way, "1500", "150"], &s.path("ckpt"), &env);
            assert_eq!((run.status, &run.out), (0, &want.out), "{way}, {fault}: {}", run.err);
            back += run.err.matches("rolled back").count();
        }
        assert!(back >= 3, "{way}: the faults do not strike");
    }
}

/// Debian's libgc stops all threads by signals, one by one, whenever memory is short. Kills wait until no
/// library's function is in progress; where they cannot wait the run is refused, never wrong, and never
/// hangs.
#[test]
fn a_collector_stops_the_world() {
    if !available("libgc-dev", std::path::Path::new("/usr/include/gc.h").exists()) {
        return;
    }
    let exe = build("signals/collector.c", &["-Wl,--no-as-needed", "-lgc"]);
    let threads = ("OMP_NUM_THREADS", "4");
    for by in [&["60"][..], &["60", "all"]] {
        let want = reference(&exe, by, &[threads]);
        assert_eq!(want.status, 0, "{want:?}");
        let plain = promp(&exe, by, &[threads]);
        assert_eq!((plain.status, &plain.out), (0, &want.out), "{}", plain.err);
        let (mut seen, mut right, mut draws) = (0, 0, Draws::between(scale(), 200 * scale()));
        while let Some(seed) = draws.next(seen >= 20 && right >= 2) {
            let fault = format!("kill@mtbf=10ms,count=20,seed={seed}");
            let run = promp(&exe, by, &[threads, ("PROMP_REPLAY", "assume"), ("PROMP_FAULT", &fault)]);
            let refused = run.status == 70 && run.err.contains("no checkpoint to return to");
            assert!(refused || (run.status, &run.out) == (0, &want.out), "{fault}: {run:?}");
            seen += failures(&run);
            right += usize::from(!refused);
        }
        assert!(seen >= 20 && right >= 2, "{seen} failures, {right} right");
    }
}

/// The first thread that goes on after a rollback sends signals to the others, whose hosts may be new; and
/// while one has failed and the rollback is yet to come, the others send to it.
#[test]
fn sent_by_the_first_that_goes_on_after_a_rollback() {
    let exe = build("signals/early.c", &[]);
    let s = Scratch::new("early");
    let (mut back, mut draws) = (0, Draws::between(scale(), 200 * scale()));
    while let Some(seed) = draws.next(back >= 40) {
        let fault = format!("memerr@mtbf=10ms,count=12,seed={seed}");
        let env = [("PROMP_CKPT_INTERVAL", "20ms"), ("PROMP_FAULT", &fault)];
        let run = checkpointed(&exe, &["20000"], &s.path("ckpt"), &env);
        assert_eq!((run.status, &run.out[..]), (0, "20000 rounds, signals taken\n"), "{fault}: {}", run.err);
        back += run.err.matches("rolled back").count();
    }
    assert!(back >= 40, "the faults do not strike");
}

/// `sigsuspend` and `pause` in a program with handlers end when a handler has been executed, `sem_timedwait`
/// in one without when it is posted: not by freezes, nor by stops that wait until they have returned.
#[test]
fn a_wait_ends_by_what_it_waits_for() {
    let exe = build("signals/waits.c", &[]);
    let s = Scratch::new("waits");
    let stops = "kill@region=2,thread=1,at=region,delay=30ms;kill@region=4,thread=1,at=region,delay=5ms";
    for how in ["suspend", "pause", "semaphore"] {
        let want = reference(&exe, &[how, "6"], &[]);
        assert_eq!((want.status, &want.out[..]), (0, "6 rounds\n"), "{want:?}");
        for fault in ["kill@region=999", stops] {
            let env = [("PROMP_CKPT_INTERVAL", "10ms"), ("PROMP_FAULT", fault)];
            let run = checkpointed(&exe, &[how, "6"], &s.path("ckpt"), &env);
            assert_eq!((run.status, &run.out), (0, &want.out), "{how}, {fault}: {}", run.err);
        }
    }
}

/// One that a handler has ended is over, also if a freeze comes at the instruction behind it.
#[test]
fn a_wait_that_has_ended_is_not_made_again() {
    let exe = build("signals/ended.c", &[]);
    let s = Scratch::new("ended");
    let env = [("PROMP_CKPT_INTERVAL", "10ms"), ("PROMP_VERBOSE", "2")];
    let run = checkpointed(&exe, &["100"], &s.path("ckpt"), &env);
    let right = (false, 0, "100 rounds, 0 wrong\n");
    assert_eq!((run.hung, run.status, &run.out[..]), right, "{}", run.err);
    assert!(run.err.contains("checkpoint 2 taken"), "{}", run.err);
}

/// Threads that block all signals: what they are sent waits, and they are told that they block what is left
/// open for lost memory.
#[test]
fn what_is_blocked_waits() {
    let exe = build("signals/blocked.c", &[]);
    let s = Scratch::new("blocked");
    for args in [&[][..], &["late"]] {
        let want = reference(&exe, args, &[]);
        assert!(want.status == 0 && want.out.ends_with("ended by 11\n"), "{want:?}");
        for _ in 0..5 {
            let run = checkpointed(&exe, args, &s.path("ckpt"), &[("PROMP_CKPT_INTERVAL", "10ms")]);
            assert_eq!((run.status, &run.out), (0, &want.out), "{args:?}: {}", run.err);
        }
    }
}

/// The same as in [`a_collector_stops_the_world`] with checkpoints in quick succession, kills and lost
/// memory: rollbacks from any moment of a collection to any other. It counts who answers, so nobody may wake
/// up, hear of a thread that is not there, or have a signal that is not meant.
#[test]
fn a_collector_stops_the_world_through_rollbacks() {
    if !available("libgc-dev", std::path::Path::new("/usr/include/gc.h").exists()) {
        return;
    }
    let exe = build("signals/collector.c", &["-Wl,--no-as-needed", "-lgc"]);
    let s = Scratch::new("collector");
    let want = reference(&exe, &["60"], &[("OMP_NUM_THREADS", "4")]);
    for (kind, least) in [("memerr", 20), ("kill", 3)] {
        let (mut back, mut draws) = (0, Draws::between(scale(), 100 * scale()));
        while let Some(seed) = draws.next(back >= least) {
            let fault = format!("{kind}@mtbf=40ms,count=5,seed={seed}");
            let env =
                [("PROMP_CKPT_THREADS", "all"), ("PROMP_CKPT_INTERVAL", "20ms"), ("PROMP_FAULT", &fault)];
            let run = checkpointed(&exe, &["60"], &s.path("ckpt"), &env);
            assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
            back += run.err.matches("rolled back").count();
        }
        assert!(back >= least, "{kind}: {back} rollbacks");
    }
}

/// Programs that are executed inherit the mask that the program has set: not what promp has in its place, and
/// its own signals, too.
#[test]
fn what_is_executed_inherits_the_mask() {
    let exe = build("signals/executed.c", &[]);
    let s = Scratch::new("executed");
    let want = reference(&exe, &[], &[]);
    assert!(want.status == 0 && want.out.matches("SigBlk").count() > 150, "{want:?}");
    let run = checkpointed(&exe, &[], &s.path("ckpt"), &[("PROMP_CKPT_INTERVAL", "50ms")]);
    assert_eq!((run.status, &run.out), (0, &want.out), "{}", run.err);
    assert!(run.err.contains("child process"), "checkpoints were tried: {}", run.err);
}

/// A thread that has not answered a freeze signal, which somebody has taken from it, is sent another.
#[test]
fn a_freeze_signal_that_is_lost_is_sent_again() {
    let exe = build("signals/taken.c", &[]);
    let s = Scratch::new("taken");
    let env = [("PROMP_CKPT_INTERVAL", "50ms"), ("PROMP_VERBOSE", "2")];
    let run = checkpointed(&exe, &[], &s.path("ckpt"), &env);
    assert_eq!((run.status, &run.out[..]), (0, "taken 1\n"), "{}", run.err);
    assert!(run.err.contains("checkpoint 1 taken"), "{}", run.err);
    assert!(!run.err.contains("does not answer"), "{}", run.err);
}
