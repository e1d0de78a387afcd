//! What a restart will refuse, the checkpoint says when it is taken: a checkpoint that is whole is a promise.

use crate::common::draws::Draws;
use crate::common::kept::*;
use crate::common::saved::*;
use crate::common::*;

const SAID: &str = "these checkpoints are for rollbacks only, a restart is refused: ";

fn folder(scratch: &Scratch) -> std::path::PathBuf {
    let folder = scratch.path("folder");
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn descriptors_and_memory_that_a_new_process_can_have() {
    let exe = build_kept("ckpt/kinds.c");
    for kind in ["path", "path-folder", "scratch", "status", "zero", "room", "holds", "wide"] {
        let scratch = Scratch::new(&format!("kinds-{kind}"));
        let folder = folder(&scratch);
        let args = |steps| [kind, steps, text(&folder)];
        kept(&reference(&exe, &args("20"), &[]), "without promp");
        kept_throughout(&exe, &args("1500"), 2, |seed| [700 + 10 * (seed % 50), 1400], "60ms");
    }
}

/// They go back; no restart, and both the run and the restart say why.
#[test]
fn what_no_other_process_can_have() {
    let exe = build("ckpt/kinds.c", &[]);
    let kinds = [
        ("path-link", "it is a link itself"),
        ("path-gone", "it has no name"),
        ("gone", "it has no name"),
        ("folder-gone", "it has no name"),
        ("namespace", "it has no name"),
        ("linked", "it has another name, which the system does not tell"),
        ("mapped-gone", "is gone (/"),
        ("huge", "(MAP_HUGETLB)"),
        ("owner", "it sends the program signals"),
        ("notify", "it sends the program signals"),
    ];
    for (kind, why) in kinds {
        let scratch = Scratch::new(&format!("kinds-{kind}"));
        let (folder, dir) = (folder(&scratch), scratch.path("ckpt"));
        let args = [kind, "1500", text(&folder)];
        if reference(&exe, &args, &[]).status == 77 {
            println!("SKIPPED: {kind}: the system does not have it");
            continue;
        }
        let (mut back, mut draws) = (false, Draws::between(1, 20));
        while let Some(seed) = draws.next(back) {
            let fault = format!("memerr@mtbf=60ms,count=3,seed={seed}");
            let set = [("PROMP_FAULT", &fault[..]), ("PROMP_CKPT_INTERVAL", "15ms"), ("PROMP_VERBOSE", "1")];
            let r = checkpointed(&exe, &args, &dir, &set);
            if !too_early(&r) {
                assert_eq!((r.status, &r.out[..]), (0, "kept\n"), "{kind}: {}", r.err);
                assert!(!r.err.contains("rolled back") || r.err.contains(SAID), "{kind}: {}", r.err);
                assert!(!r.err.contains(SAID) || r.err.contains(why), "{kind}: {}", r.err);
            }
            back |= r.err.contains("rolled back");
        }
        assert!(back, "{kind}: no rollback");
        // The first two may be of the beginning.
        let saved = |_| promp_image::generation_files(&dir).last().is_some_and(|&oldest| oldest >= 3);
        let _ = std::fs::remove_dir_all(&dir);
        let first = first_run(&exe, &[kind, "1000000", text(&folder)], &dir);
        assert!(start_with(first, &scratch.path("out"), Some(&saved), |_| ()).is_none(), "{kind}: it ended");
        refused(restart(&dir), &scratch.path("out"), why);
    }
}

/// Asynchronous input and output of the kernel's is named.
#[test]
fn contexts_of_the_kernels_are_refused() {
    let exe = build("ckpt/kinds.c", &[]);
    let scratch = Scratch::new("kinds-aio");
    let set = [("PROMP_CKPT_INTERVAL", "10ms"), ("PROMP_VERBOSE", "1")];
    let folder = folder(&scratch);
    let r = checkpointed(&exe, &["aio", "3000", text(&folder)], &scratch.path("ckpt"), &set);
    assert!(r.out == "kept\n" || r.status == 77, "{r:?}");
    assert!(r.status == 77 || r.err.contains("(io_setup); the run goes on"), "{r:?}");
}
