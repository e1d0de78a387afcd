//! The end record of a job (`--resume` does not run it again), and older checkpoints (`--keep`):
//! docs/internals/jobs.md.

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// Ends with the status that it is given, before or after its first region; "waits" for ever instead.
const ENDS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int code;
static void handler(int s) { _exit(code); }
static void last(void) { write(1, "last\n", 5); }
int main(int argc, char **argv) {
    int n = 0;
    printf("begins\n");
    const char *how = argc > 2 ? argv[2] : "";
    int status = atoi(argv[1]);
    if (!strcmp(how, "early"))
        exit(status);
#pragma omp parallel reduction(+ : n)
    n++;
    printf("ends\n");
    fflush(stdout);
    while (!strcmp(how, "waits"))
        usleep(1000);
    /* Children of the program's, which end in the same ways: that is not its end. */
    if (!strcmp(how, "children"))
        for (int i = 0; i < 4; i++) {
            pid_t child = i % 2 ? vfork() : fork();
            if (child == 0 && i < 2) _exit(9);
            if (child == 0) syscall(SYS_exit_group, 9);
            waitpid(child, NULL, 0);
        }
    while (!strcmp(how, "children"))
        usleep(1000);
    if (!strcmp(how, "_exit"))
        _exit(status);
    if (!strcmp(how, "_Exit"))
        _Exit(status);
    if (!strcmp(how, "quick"))
        at_quick_exit(last), quick_exit(status);
    if (!strcmp(how, "number"))
        syscall(SYS_exit_group, status);
    if (!strcmp(how, "handler")) {
        code = status;
        signal(SIGALRM, handler);
        raise(SIGALRM);
    }
    if (!strcmp(how, "region"))
#pragma omp parallel
        _exit(status);
    return status;
}
"#;

fn ends() -> PathBuf {
    static DONE: OnceLock<PathBuf> = OnceLock::new();
    DONE.get_or_init(|| compiled("ended", "ends", ENDS, &["-O2", "-fopenmp"])).clone()
}

/// All that a folder holds.
fn content(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let all = fs::read_dir(dir).expect("the directory").map(|e| e.expect("an entry").path());
    let mut all: Vec<_> =
        all.filter(|p| p.is_file()).map(|p| (p.clone(), fs::read(p).expect("a file"))).collect();
    all.sort();
    all
}

/// A job that has ended, with or without a checkpoint, is not run again: `--resume` says so, and ends as it
/// did.
#[test]
fn a_job_that_has_ended_is_not_run_again() {
    let s = Scratch::new("ended");
    let exe = ends();
    let dir = s.path("ckpt");
    let resume =
        |every: &str, args: &[&str]| limited(run(&dir, &["--resume", "--every", every], &exe, args), LIMIT);
    for every in ["1h", "20ms"] {
        for args in [&["0"][..], &["3"], &["0", "early"], &["255", "early"]] {
            let _ = fs::remove_dir_all(&dir);
            let status: i32 = args[0].parse().expect("a status");
            let first = resume(every, args);
            assert!(first.status == status && first.out.starts_with("begins\n"), "{args:?}: {}", first.err);
            for _ in 0..2 {
                let before = content(&dir);
                let again = resume(every, args);
                assert_eq!((again.status, again.out.as_str()), (status, ""), "{args:?}: {}", again.err);
                assert!(again.err.contains("has ended by itself"), "{args:?}: {}", again.err);
                assert_eq!(again.err.contains("with status"), status != 0, "{}", again.err);
                assert!(content(&dir) == before, "something was written");
            }
            let other = resume(every, &["7"]);
            assert_eq!((other.status, other.out.as_str()), (71, ""), "{}", other.err);
            let restart = limited(restart(&dir), LIMIT);
            assert_eq!((restart.status, restart.out.as_str()), (71, ""), "{}", restart.err);
        }
    }
    // It has ended after a restart.
    let _ = fs::remove_dir_all(&dir);
    let args = ["150", "", "100"];
    let promp = started(&mut run(&dir, &["--resume", "--every", "20ms"], &steps(), &args));
    wait("a checkpoint", || has_generation(&dir));
    kill(promp.id() as i32, libc::SIGKILL);
    ended(promp, LIMIT);
    for out in [true, false] {
        let again = limited(run(&dir, &["--resume"], &steps(), &args), LIMIT);
        assert_eq!((again.status, again.out.is_empty()), (0, !out), "{}", again.err);
        assert_eq!(again.err.contains("has ended by itself"), !out, "{}", again.err);
    }
    // A run that is not to go on begins anew; killed, it has not ended.
    let promp = started(&mut run(&dir, &["--every", "20ms"], &exe, &["0", "waits"]));
    let its_own = |d: promp_image::Directory| {
        let g = d.generations().first().and_then(|n| d.read(*n).ok());
        !d.finished() && g.is_some_and(|g| Path::new(&g.about.program) == exe)
    };
    wait("a checkpoint", || promp_image::Directory::open(&dir).is_ok_and(its_own));
    kill(promp.id() as i32, libc::SIGKILL);
    ended(promp, LIMIT);
    let promp = started(&mut run(&dir, &["--every", "20ms", "--resume"], &exe, &["0", "waits"]));
    program_of(&promp, &exe, None);
    kill(promp.id() as i32, libc::SIGTERM);
    assert_eq!(ended(promp, LIMIT).status, 128 + libc::SIGTERM);
}

/// What a library has registered before the C library is there is called last of all, after the end record
/// is written: here that kills the process, once.
const KILLS: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void last(int status, void *unused) {
    char *once = getenv("KILLS_ONCE");
    if (once && open(once, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0)
        kill(getpid(), SIGKILL);
}
__attribute__((constructor)) static void first(void) { on_exit(last, 0); }
int nothing(void) { return 0; }
"#;

/// A death after the end takes nothing back: the program has ended as its record says, with all its output.
#[test]
fn killed_after_its_end() {
    let s = Scratch::new("killed-ended");
    let library = compiled("ended", "libkills.so", KILLS, &["-O2", "-shared", "-fPIC"]);
    let folder = library.parent().expect("a folder");
    let with = ["-O2", "-fopenmp", "-Wl,--no-as-needed", text(&library), "-Wl,-rpath", text(folder)];
    let exe = compiled("ended", "killed_ends", ENDS, &with);
    let (dir, once) = (s.path("ckpt"), s.path("once"));
    // The second time the folder holds a record of the first.
    for status in ["5", "0", "3"] {
        let _ = fs::remove_file(&once);
        let mut c = run(&dir, &["--every", "20ms", "--auto-restart", "9"], &exe, &[status]);
        c.env("KILLS_ONCE", &once);
        let end = limited(c, LIMIT);
        assert_eq!(
            (end.status.to_string().as_str(), end.out.as_str()),
            (status, "begins\nends\n"),
            "{}",
            end.err
        );
        let said = format!("killed by signal 9 after it had ended by itself, with status {status}\n");
        assert!(once.exists() && end.err.contains(&said), "{}", end.err);
    }
    // One that is killed before its end, with an older record there, has not ended: it goes on from its
    // beginning.
    let mut c = run(&dir, &["--auto-restart", "1", "--fault", "die@region=1"], &exe, &["0"]);
    c.env_remove("KILLS_ONCE");
    let end = limited(c, LIMIT);
    assert_eq!((end.status, end.out.as_str()), (0, "begins\nends\n"), "{}", end.err);
    assert!(end.err.contains("restarted from checkpoint"), "{}", end.err);
}

/// Programs that end at once, without what `exit` does.
#[test]
fn a_job_that_has_ended_at_once_is_not_run_again() {
    let s = Scratch::new("at-once");
    let (exe, dir) = (ends(), s.path("ckpt"));
    for (how, status) in
        [("_exit", 3), ("_Exit", 0), ("quick", 45), ("number", 100), ("handler", 255), ("region", 7)]
    {
        let text = status.to_string();
        let job = || limited(run(&dir, &["--resume", "--every", "20ms"], &exe, &[&text, how]), LIMIT);
        let first = job();
        assert!(first.status == status && first.out.contains("ends\n"), "{how}: {first:?}");
        assert_eq!(first.out.contains("last\n"), how == "quick", "{how}: {}", first.out);
        let before = content(&dir);
        let again = job();
        assert_eq!((again.status, again.out.as_str()), (status, ""), "{how}: {}", again.err);
        assert!(again.err.contains("has ended by itself"), "{how}: {}", again.err);
        assert!(content(&dir) == before, "{how}: something was written");
        fs::remove_dir_all(&dir).expect("the directory");
    }
    // The end of a child is not the program's.
    let promp = started(&mut run(&dir, &["--every", "20ms"], &exe, &["0", "children"]));
    wait("a checkpoint", || has_generation(&dir));
    std::thread::sleep(Duration::from_millis(100));
    assert!(!promp_image::Directory::open(&dir).is_ok_and(|d| d.finished()), "a child's end");
    kill(promp.id() as i32, libc::SIGKILL);
    ended(promp, LIMIT);
    let again = started(&mut run(&dir, &["--resume"], &exe, &["0", "children"]));
    program_of(&again, &exe, None);
    kill(again.id() as i32, libc::SIGKILL);
    ended(again, LIMIT);
}

/// A record that cannot be read: the job is not run again, and nothing is overwritten.
#[test]
fn an_end_record_that_cannot_be_read() {
    let s = Scratch::new("end-record");
    // Before its first region, with which a checkpoint is taken.
    let exe = ends();
    let dir = s.path("ckpt");
    let resume = || limited(run(&dir, &["--resume", "--every", "1h"], &exe, &["0", "early"]), LIMIT);
    assert_eq!(resume().status, 0);
    let record = dir.join("ended");
    // Behind it is room for longer statuses.
    let whole = fs::read(&record).expect("the record").trim_ascii_end().to_vec();
    for damage in [&b""[..], b"{}", &whole[..whole.len() - 1]] {
        fs::write(&record, damage).expect("damage");
        let before = content(&dir);
        let again = resume();
        assert_eq!((again.status, again.out.as_str()), (71, ""), "{}", again.err);
        assert!(again.err.contains("without --resume it is run again"), "{}", again.err);
        assert!(content(&dir) == before, "something was written");
    }
    fs::remove_dir_all(&dir).expect("removed");
    assert_eq!((resume().status, resume().out.as_str()), (0, ""));
}

/// Appends a line to one file a step, makes another one that must not be there, and removes an older one.
/// While a third file is there it takes its time.
const APPENDS: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
    unsigned long x = 1;
    if (chdir(argv[1]))
        return 9;
    for (int i = 0; i < atoi(argv[2]); i++) {
        if (!access(argv[3], F_OK))
            usleep(20000);
        clock_t end = clock() + CLOCKS_PER_SEC / 500;
        while (clock() < end)
            ;
#pragma omp parallel for reduction(+ : x)
        for (int k = 0; k < 1000; k++)
            x += k ^ i;
        FILE *f = fopen("lines", "a");
        fprintf(f, "%d %lu\n", i, x);
        fclose(f);
        char name[30];
        snprintf(name, sizeof name, "step.%d", i);
        int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0 || close(fd))
            return 10;
        snprintf(name, sizeof name, "step.%d", i - 5);
        if (i >= 5 && unlink(name))
            return 11;
    }
    printf("%lu\n", x);
    return 0;
}
"#;

/// As many checkpoints as are asked for stay whole, with what is needed to put files back; one that is not
/// the newest can be gone on from.
#[test]
fn older_checkpoints_are_kept() {
    let s = Scratch::new("keep");
    let exe = compiled("ended", "appends", APPENDS, &["-O2", "-fopenmp"]);
    let (dir, folder) = (s.path("ckpt"), s.path("folder"));
    let anew = || {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
    };
    let slow = s.path("slow");
    let args = [text(&folder), "400", text(&slow)];
    anew();
    let want = reference(&exe, &args, &[]).out;
    let files = content(&folder);
    assert_eq!(files.len(), 6);
    // Which of them is gone back to: the oldest one, the one before the newest; after another restart.
    for (keep, which) in [("4", &[3][..]), ("4", &[1, 1]), ("1", &[0])] {
        let _ = fs::remove_dir_all(&dir);
        anew();
        fs::write(&slow, "").expect("a file");
        let promp = started(&mut run(&dir, &["--every", "20ms", "--keep", keep], &exe, &args));
        let all = || promp_image::generation_files(&dir);
        wait("checkpoints", || all().first().is_some_and(|n| *n >= 6));
        kill(promp.id() as i32, libc::SIGKILL);
        assert_eq!(ended(promp, LIMIT).status, 128 + libc::SIGKILL, "it has ended too early");
        fs::remove_file(&slow).expect("removed");
        let n: usize = keep.parse().expect("a number");
        assert!((n..=n + 1).contains(&all().len()), "{keep}: {:?}", all());
        let verified =
            Command::new(command()).args(["inspect", "--verify"]).arg(&dir).output().expect("promp");
        let said = String::from_utf8_lossy(&verified.stdout).into_owned();
        // The one beyond is whole only until something is written.
        assert!(verified.status.success() && said.matches("every page verified").count() >= n, "{said}");
        for (i, older) in which.iter().enumerate() {
            let number = all()[*older].to_string();
            let mut c = restart(&dir);
            c.args(["--generation", &number]);
            if i + 1 < which.len() {
                // Killed again, on its way: newer ones are gone, older ones are there.
                c.stdin(std::process::Stdio::null());
                let promp =
                    started(c.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()));
                let before = all()[0];
                wait("it goes on", || all().first().is_some_and(|n| *n != before));
                kill(promp.id() as i32, libc::SIGKILL);
                ended(promp, LIMIT);
                continue;
            }
            let end = limited(c, LIMIT);
            assert_eq!((end.status, &end.out), (0, &want), "{keep} {number}: {}", end.err);
            assert!(end.err.contains(&format!("restarted from checkpoint {number}")), "{}", end.err);
            assert!(content(&folder) == files, "files are not as they should be, {keep} {number}");
        }
    }
}

/// What there is none of is refused.
#[test]
fn checkpoints_that_are_not_there() {
    let s = Scratch::new("not-kept");
    let dir = s.path("ckpt");
    let promp = started(&mut run(&dir, &["--every", "20ms"], &ends(), &["0", "waits"]));
    wait("a checkpoint", || has_generation(&dir));
    kill(promp.id() as i32, libc::SIGKILL);
    ended(promp, LIMIT);
    let before = content(&dir);
    let mut c = restart(&dir);
    c.args(["--generation", "999"]);
    let end = limited(c, LIMIT);
    assert_eq!((end.status, end.out.as_str()), (71, ""), "{}", end.err);
    assert!(end.err.contains("no checkpoint 999; it has"), "{}", end.err);
    assert!(content(&dir) == before);
    for keep in ["0", "-1", "many", "1001"] {
        let end = limited(run(&s.path("other"), &["--keep", keep], &ends(), &["0"]), LIMIT);
        assert!(end.status == 64 && end.out.is_empty(), "--keep {keep}: {} {}", end.status, end.err);
        let end = crate::common::promp(
            &ends(),
            &["0"],
            &[("PROMP_CKPT_KEEP", keep), ("PROMP_CKPT_DIR", text(&dir))],
        );
        assert!(end.status == 64 && end.out.is_empty() && end.err.contains("PROMP_CKPT_KEEP"), "{}", end.err);
    }
}
