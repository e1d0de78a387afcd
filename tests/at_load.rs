//! A program that is killed while it stands in the loader, before its first checkpoint is whole, has done
//! nothing: `--auto-restart` begins it anew (docs/internals/jobs.md). One that may have done something is not
//! begun anew. And who is asked for a checkpoint before he is there is waited for.

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Does the program stand in the loader, by the word of its directory?
fn stands(dir: &Path) -> bool {
    let run = promp_image::run_record::Run::read(dir).ok().flatten();
    run.is_some_and(|run| promp_image::state::stands_at_load(dir, &run))
}

/// Runs a program and kills it while it stands there, at most `times` times.
fn killed_at_load(dir: &Path, options: &[&str], args: &[&str], times: usize) -> Run {
    let exe = steps();
    let mut promp = started(&mut run(dir, &[&["--every", "1h"], options].concat(), &exe, args));
    let mut before = None;
    for _ in 0..times {
        let mut next = None;
        wait("it stands in the loader", || {
            let over = promp.try_wait().is_ok_and(|s| s.is_some());
            next = child_of(&promp).filter(|c| before != Some(*c) && runs(*c, &exe) && stands(dir));
            over || next.is_some()
        });
        let Some(program) = next else { break };
        kill(program, libc::SIGKILL);
        before = next;
    }
    ended(promp, LIMIT)
}

fn runs(pid: i32, exe: &Path) -> bool {
    let is = fs::read_link(format!("/proc/{pid}/exe"));
    is.is_ok_and(|is| is == exe.canonicalize().expect("the program"))
}

const ANEW: &str = "has done nothing yet; beginning anew";

#[test]
fn what_stands_in_the_loader_is_begun_anew() {
    let s = Scratch::new("at-load");
    let dir = s.path("ckpt");
    let want = reference(&steps(), &["20", "late"], &[]).out;
    let mut anew = 0;
    for (i, times) in [1, 1, 2, 3, 1, 2].into_iter().enumerate() {
        // The folder has what the run before has left, or nothing.
        if i % 2 == 0 {
            let _ = fs::remove_dir_all(&dir);
        }
        let end = killed_at_load(&dir, &["--auto-restart", "5"], &["20", "late"], times);
        // Killed too late, on a busy machine, it goes on from its checkpoint; too early, nobody knows.
        if end.status == 71 {
            assert!(end.err.contains("--from-start"), "{}", end.err);
            continue;
        }
        assert_eq!((end.status, &end.out), (0, &want), "{times}: {}", end.err);
        anew += end.err.matches(ANEW).count();
    }
    assert!(anew > 0, "never killed while it stood in the loader");
}

/// As often as is asked for.
#[test]
fn not_more_often_than_is_asked_for() {
    let s = Scratch::new("at-load-most");
    for _ in 0..10 {
        let dir = s.path("ckpt");
        let _ = fs::remove_dir_all(&dir);
        let end = killed_at_load(&dir, &["--auto-restart", "1"], &["20", "late"], 2);
        if end.err.contains(ANEW) && !end.err.contains("continuing") && end.status != 71 {
            assert_eq!((end.status, end.out.as_str()), (128 + libc::SIGKILL, ""), "{}", end.err);
            assert!(end.err.contains("restarted 1 times already"), "{}", end.err);
            return;
        }
    }
    panic!("never killed twice while it stood in the loader");
}

/// What an older run has left says nothing of this one; nor does a program that begins with a runtime later.
#[test]
fn what_is_not_known_is_refused() {
    let s = Scratch::new("at-load-not");
    let dir = s.path("ckpt");
    let end = killed_at_load(&dir, &[], &["20", "late"], 1);
    assert_eq!(end.status, 128 + libc::SIGKILL, "{}", end.err);
    let shell = Path::new("/bin/sh");
    let options = ["--auto-restart", "5"];
    let mut again = run(&dir, &options, shell, &["-c", "echo seen; kill -9 $$"]);
    again.env_remove("OMP_NUM_THREADS");
    let end = limited(again, LIMIT);
    assert!(end.status != 0 && !end.err.contains("beginning anew;"), "{}", end.err);
    // Where another command's checkpoints are it does not even begin.
    assert!(end.out.matches("seen").count() <= 1, "{}", end.out);
    let _ = fs::remove_dir_all(&dir);
    let end = limited(run(&dir, &options, shell, &["-c", "echo seen; kill -9 $$"]), LIMIT);
    assert_eq!((end.status, end.out.as_str()), (71, "seen\n"), "{}", end.err);
    assert!(end.err.contains("died before its first one was complete"), "{}", end.err);
}

/// `promp checkpoint` of a process that is yet to become what takes checkpoints, as on a busy machine: it
/// stands still for longer than a program may sleep that takes none.
#[test]
fn one_that_is_yet_to_start_is_waited_for() {
    let s = Scratch::new("yet-to-start");
    let mut c = Command::new("sh");
    clean(&mut c);
    c.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]).arg(command()).args(["run", "--threads", "2"]);
    c.args(["--every", "1h", "--ckpt"]).arg(s.path("ckpt")).arg("--").arg(steps()).arg("100000");
    let promp = started(c.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()));
    let asks = |pid: u32| {
        let mut c = Command::new(command());
        clean(&mut c);
        c.args(["checkpoint", &pid.to_string(), "--wait"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        started(&mut c)
    };
    let early = asks(promp.id());
    std::thread::sleep(Duration::from_secs(4));
    kill(promp.id() as i32, libc::SIGCONT);
    let asked = ended(early, LIMIT);
    assert!(asked.status == 0 && asked.out.contains("is whole"), "{asked:?}");
    kill(promp.id() as i32, libc::SIGTERM);
    assert_eq!(ended(promp, LIMIT).status, 128 + libc::SIGTERM);
    // One that sleeps, and takes none, is not.
    let mut sleeps = started(Command::new("sleep").arg("60").stdin(Stdio::null()));
    let asked = ended(asks(sleeps.id()), LIMIT);
    assert!(asked.status == 66 && asked.err.contains("takes no checkpoints"), "{asked:?}");
    let _ = (sleeps.kill(), sleeps.wait());
}
