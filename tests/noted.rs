//! Calls on files are noted with their flags, by their names and numbers: what they do goes back with the
//! program, or there is no way back, and the reason is said.

use crate::common::draws::Draws;
use crate::common::kept::*;
use crate::common::saved::*;
use crate::common::*;

/// Programs of c-tests/ckpt/noted.c find in each step what the one before it has left.
fn go_back(kinds: &[&str]) {
    let exe = build_kept("ckpt/noted.c");
    for kind in kinds {
        let scratch = Scratch::new(&format!("noted-{kind}"));
        let folder = scratch.path("folder");
        let want = reference(&exe, &[kind, "20", text(&folder)], &[]);
        if want.out.contains("not here") {
            println!("SKIPPED: {kind}: the system does not have it");
            continue;
        }
        kept(&want, "without promp");
        std::fs::remove_dir_all(&folder).expect("its folder");
        let died = |seed| [400 + 10 * (seed % 50), 900];
        kept_throughout(&exe, &[kind, "1000", text(&folder)], 2, died, "60ms");
    }
}

#[test]
fn what_was_opened_to_append_and_is_overwritten() {
    go_back(&["fcntl", "memory", "pwritev2"]);
}

#[test]
fn ranges_that_are_taken_away() {
    go_back(&["collapse", "punch", "zero"]);
}

#[test]
fn names_in_shared_memory_and_special_files() {
    go_back(&["shared", "semaphore", "nodes"]);
}

#[test]
fn calls_by_their_numbers() {
    go_back(&["number", "openat2"]);
}

#[test]
fn streams_opened_again_and_files_that_get_a_name() {
    go_back(&["reopen", "nameless"]);
}

/// What the journal keeps of removed files is not counted as a link of theirs.
#[test]
fn links_are_the_programs_own() {
    go_back(&["links"]);
}

/// Where nothing undoes it the program ends, and a restart is refused, with the reason.
#[test]
fn what_cannot_be_undone_is_refused() {
    let exe = build("ckpt/undone.c", &["-lrt"]);
    let kinds = [
        ("whiteout", "renameat2 RENAME_WHITEOUT"),
        ("root", "openat2 RESOLVE_IN_ROOT"),
        ("sendfile", "sendfile to a pipe"),
        ("splice", "splice to a pipe"),
        ("tee", "tee to a pipe"),
        ("vmsplice", "vmsplice to a pipe"),
        ("pwritev2", "pwritev2 to a pipe"),
        ("writev", "syscall(SYS_writev) to a pipe"),
        ("rings", "io_uring"),
        ("messages", "a message queue of System V"),
        ("number", "a message queue of System V"),
        ("memory", "shared memory of System V"),
        ("queue", "a message queue of POSIX"),
        ("command", "fcntl command 0x7d0"),
    ];
    for (kind, name) in kinds {
        let scratch = Scratch::new(&format!("undone-{kind}"));
        let (folder, dir) = (scratch.path("folder"), scratch.path("ckpt"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let args = [kind, "2000", text(&folder)];
        let said = format!("the program has used {name} since the checkpoint, which cannot be undone");
        let (mut refused, mut draws) = (false, Draws::between(1, 20));
        while let Some(seed) = draws.next(refused) {
            let fault = format!("memerr@mtbf=150ms,count=9,seed={seed}");
            let set = [("PROMP_FAULT", &fault[..]), ("PROMP_CKPT_INTERVAL", "20ms")];
            let r = checkpointed(&exe, &args, &dir, &set);
            if r.err.contains("not here") {
                println!("SKIPPED: {kind}: {}", r.err);
                break;
            }
            // There may be no failure, or none between the call and the next checkpoint.
            assert!([0, 70].contains(&r.status), "{kind}: {r:?}");
            refused |= r.status == 70 && r.err.contains(&said);
            assert!(r.status == 0 || refused || too_early(&r), "{kind}: {r:?}");
            if refused {
                let again = limited(restart(&dir), LIMIT);
                assert!(again.status == 71 && again.err.contains(&said), "{kind}: {again:?}");
            }
        }
    }
}
