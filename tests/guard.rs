//! Who is left when `promp run` has been killed: nobody. And when it has ended: whoever would be left without
//! it.

use crate::common::jobs::*;
use crate::common::left::*;
use crate::common::saved::*;
use std::fs;
use std::path::PathBuf;

/// A folder to work in, by which processes are known.
fn folder(s: &Scratch) -> PathBuf {
    let folder = s.0.canonicalize().expect("the folder").join("work");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The guard of a `promp`.
fn guard_of(promp: u32) -> Option<i32> {
    let name = |pid: &u32| read(format!("/proc/{pid}/comm").as_ref());
    descendants(promp).into_iter().find(|pid| name(pid).trim() == "promp-guard").map(|pid| pid as i32)
}

#[test]
fn nobody_is_left_by_one_that_is_killed() {
    let s = Scratch::new("guard");
    let (folder, dir, log) = (folder(&s), s.path("ckpt"), s.path("log"));
    let exe = steps();
    let (e, promp) = (text(&exe), command());
    let inner = format!("{} run --ckpt {} -- \"$0\" 1000000 & wait", text(&promp), text(&s.path("inner")));
    for (script, least) in [
        ("\"$0\" 1 - 100000000; true", 2),
        ("\"$0\" 1 - 100000000 & \"$0\" 1000000 & wait", 3),
        ("setsid -f \"$0\" 1000000; \"$0\" 1 - 100000000; true", 3),
        ("nohup \"$0\" 1000000 & sleep 1000 & (\"$0\" 1000000 &) ; wait", 4),
        (&inner, 3),
    ] {
        for group in [false, true] {
            for old in ["ckpt", "inner"] {
                let _ = fs::remove_dir_all(s.path(old));
            }
            let mut c = run(&dir, &["--every", "50ms"], "bash".as_ref(), &["-c", script, e]);
            c.current_dir(&folder);
            let promp = start_into(c, &log);
            wait("all of them", || working_in(&folder).len() > least);
            let pid = promp.id() as i32;
            kill(if group { -pid } else { pid }, libc::SIGKILL);
            let end = end_of(promp, &log);
            assert_eq!(end.status, 128 + libc::SIGKILL, "{script}: {}", end.err);
            wait_for_none(&folder, &format_args!("{script}, all of the group: {group}"));
        }
    }
}

/// A service that is left behind on purpose stays; and a guard that is killed changes nothing.
#[test]
fn who_is_left_on_purpose_stays() {
    let s = Scratch::new("guard-end");
    let (folder, log) = (folder(&s), s.path("log"));
    let exe = steps();
    let script = "setsid -f sleep 1000; \"$0\" 20; exit 7";
    for kills in [false, true] {
        let mut c = run(&s.path("ckpt"), &["--every", "50ms"], "bash".as_ref(), &["-c", script, text(&exe)]);
        c.current_dir(&folder);
        let _ = (fs::remove_dir_all(s.path("ckpt")), fs::remove_file(&log));
        let promp = start_into(c, &log);
        if kills {
            wait("the guard", || guard_of(promp.id()).is_some());
            kill(guard_of(promp.id()).expect("the guard"), libc::SIGKILL);
        }
        let end = end_of(promp, &log);
        assert_eq!(end.status, 7, "{}", end.err);
        assert!(end.out.contains("step 19"), "{}", end.out);
        let left = working_in(&folder);
        assert_eq!(left.len(), 1, "{left:?}");
        kill(left[0], libc::SIGKILL);
        wait_for_none(&folder, &"killed by the test");
    }
}
