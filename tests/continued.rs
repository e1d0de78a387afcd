//! What is continued is what was started, or nothing: the run record, launchers, scripts, siblings
//! (docs/internals/jobs.md).

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `promp run` with checkpoints in `dir`, of any command.
fn line(dir: &Path, options: &[&str], words: &[&str]) -> Command {
    run(dir, options, Path::new(words[0]), &words[1..])
}

const RESUME: [&str; 5] = ["--every", "20ms", "--resume", "--on-signal", "TERM=checkpoint-exit"];

/// The process that has the checkpoints, as soon as it has one.
fn owner(dir: &Path) -> i32 {
    wait("a checkpoint", || has_generation(dir));
    read(&dir.join("lock")).trim().parse().expect("a number")
}

/// Checkpoints of `words`, which was killed.
fn interrupted(dir: &Path, words: &[&str]) {
    let promp = started(&mut line(dir, &["--every", "20ms"], words));
    let program = owner(dir);
    kill(promp.id() as i32, libc::SIGKILL);
    ended(promp, LIMIT);
    wait("no orphan", || is_gone(program));
}

/// An executable script.
fn script(s: &Scratch, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = s.path(name);
    fs::write(&path, text).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

/// What another command was interrupted in is neither continued nor removed.
#[test]
fn another_command_is_not_continued() {
    let s = Scratch::new("another");
    let exe = steps();
    let copy = s.path("copy");
    fs::copy(&exe, &copy).expect("a copy");
    let (exe, copy) = (text(&exe), text(&copy));
    let other = script(&s, "other.sh", "#!/bin/sh\necho other\n");
    let (dir, long) = (s.path("ckpt"), "1000000");
    let commands: [&[&str]; 7] = [
        &[exe, long],
        &[exe, long, ""],
        &[copy, long],
        &["nice", exe, long],
        &["taskset", "-c", "0", exe, long],
        &["bash", "-c", "exec \"$0\" \"$@\"", exe, long],
        &[text(&other)],
    ];
    for (i, first) in commands[..6].iter().enumerate() {
        let _ = fs::remove_dir_all(&dir);
        interrupted(&dir, first);
        let newest = promp_image::generation_files(&dir)[0];
        for second in commands.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, c)| c) {
            for (options, status) in [(&["--resume"][..], 71), (&[], 64)] {
                let end = limited(line(&dir, options, second), LIMIT);
                let what = format!("{second:?} in place of {first:?}: {}", end.err);
                assert_eq!((end.status, end.out.as_str()), (status, ""), "{what}");
                assert!(end.err.contains("another command") && end.err.contains("promp restart"), "{what}");
                assert!(!end.err.contains("remove"), "{what}");
                assert_eq!(promp_image::generation_files(&dir).first(), Some(&newest), "{what}");
            }
        }
    }
    // Nor from another folder; the right one is, in the end.
    let again = |folder: &Path| {
        let mut c = line(&dir, &["--resume"], commands[5]);
        c.current_dir(folder);
        c
    };
    let end = limited(again(&s.0), LIMIT);
    assert_eq!(end.status, 71, "{}", end.err);
    assert!(end.err.contains("another working directory"), "{}", end.err);
    let promp = started(&mut again(&std::env::current_dir().expect("a folder")));
    wait("it goes on", || child_of(&promp).is_some_and(|c| c > 0));
    kill(promp.id() as i32, libc::SIGTERM);
    assert_eq!(ended(promp, LIMIT).status, 143);
}

/// Names need not be UTF-8, nor free of line ends: arguments that look alike are not.
#[test]
fn words_are_compared_byte_by_byte() {
    let s = Scratch::new("bytes");
    let (exe, dir) = (steps(), s.path("ckpt"));
    let with = |word: &[u8], options: &[&str]| {
        let mut c = line(&dir, options, &[text(&exe), "1000000"]);
        c.arg("").arg("1000").arg(OsStr::from_bytes(word));
        c
    };
    let promp = started(&mut with(b"\xff\n", &["--every", "20ms"]));
    owner(&dir);
    kill(promp.id() as i32, libc::SIGKILL);
    ended(promp, LIMIT);
    for word in [&b"\xfe\n"[..], b"\xef\xbf\xbd\n", b"\xff", b""] {
        let end = limited(with(word, &["--resume"]), LIMIT);
        assert_eq!(end.status, 71, "{word:?}: {}", end.err);
    }
    let promp = started(&mut with(b"\xff\n", &["--resume"]));
    owner(&dir);
    kill(promp.id() as i32, libc::SIGTERM);
    assert_eq!(ended(promp, LIMIT).status, 143);
}

/// A record that is cut, or of a newer version, is refused; without one the image's command line counts.
#[test]
fn records_that_cannot_be_read_and_none() {
    let s = Scratch::new("records");
    let (exe, dir) = (steps(), s.path("ckpt"));
    let words = [text(&exe), "1000000"];
    interrupted(&dir, &words);
    let record = dir.join("run");
    let whole = read(&record);
    for (bad, says) in [
        (whole[..whole.len() / 2].to_string(), "damaged"),
        (String::new(), "damaged"),
        (whole.replace("\"format\":1", "\"format\":9"), "another version"),
    ] {
        fs::write(&record, bad).expect("damage");
        for (options, status) in [(&["--resume"][..], 71), (&[], 64)] {
            let end = limited(line(&dir, options, &words), LIMIT);
            assert_eq!(end.status, status, "{}", end.err);
            assert!(end.err.contains(says) && has_generation(&dir), "{}", end.err);
        }
    }
    fs::remove_file(&record).expect("a record");
    let other = script(&s, "other.sh", "#!/bin/sh\necho other\n");
    for second in [&[text(&other)][..], &[text(&other), "1000000"], &[words[0]], &[words[0], "100000"]] {
        let end = limited(line(&dir, &["--resume"], second), LIMIT);
        assert_eq!((end.status, end.out.as_str()), (71, ""), "{second:?}: {}", end.err);
    }
    let promp = started(&mut line(&dir, &["--resume"], &words));
    program_of(&promp, &exe, None);
    kill(promp.id() as i32, libc::SIGTERM);
    assert_eq!(ended(promp, LIMIT).status, 143);
    // A run without `promp run` in the same folder is another one: the record is not its.
    let _ = fs::remove_dir_all(&dir);
    interrupted(&dir, &["nice", words[0], words[1]]);
    let end = checkpointed_in(&dir, &exe);
    assert_eq!(end.status, 0, "{}", end.err);
    assert!(!record.exists() && !dir.join("owner").exists());
}

fn checkpointed_in(dir: &Path, exe: &Path) -> Run {
    promp(exe, &["20"], &[THREADS, ("PROMP_CKPT_DIR", text(dir)), ("PROMP_CKPT_INTERVAL", "20ms")])
}

/// Launchers that execute the program: asked to end, or killed, again and again; the same line continues.
#[test]
fn launchers_that_become_the_program() {
    let s = Scratch::new("launchers");
    let exe = steps();
    let args = ["100", "", "4000"];
    let want = reference(&exe, &args, &[]).out;
    let launchers: [&[&str]; 10] = [
        &["taskset", "-c", "0,1"],
        &["env", "A=1"],
        &["nice"],
        &["stdbuf", "-o0"],
        &["setsid"],
        &["nohup"],
        &["bash", "-c", "exec \"$@\"", "sh"],
        &["bash", "-c", "\"$0\" \"$@\""],
        &["ionice", "-c", "3"],
        &["chrt", "-b", "0"],
    ];
    let mut rng = Seeded(7);
    let mut asked = 0;
    for launcher in launchers.iter().filter(|l| available(l[0], !found(l[0]).is_empty())) {
        let words: Vec<&str> = launcher.iter().copied().chain([text(&exe)]).chain(args).collect();
        let (dir, log) = (s.path("ckpt"), s.path("log"));
        let _ = (fs::remove_dir_all(&dir), fs::remove_file(&log));
        for turn in 0.. {
            assert!(turn < 40, "{words:?} does not come to its end");
            let out = fs::OpenOptions::new().create(true).append(true).open(&log).expect("the output");
            let promp = started(line(&dir, &RESUME, &words).stdout(out).stderr(Stdio::piped()));
            let pid = promp.id() as i32;
            let_use(pid, 60 + 30 * turn + rng.below(150), LIMIT);
            let program = child_of(&promp).unwrap_or(pid);
            match rng.below(3) {
                0 => kill(pid, libc::SIGTERM),
                1 => kill(-pid, libc::SIGTERM),
                // What was written since its last checkpoint would be written again.
                _ => kill(program, libc::SIGTERM),
            }
            let end = ended(promp, LIMIT);
            assert!(!end.hung && is_gone(program), "{words:?}: {}", end.err);
            match end.status {
                0 => break,
                85 => asked += 1,
                143 => {}
                other => panic!("{words:?}: status {other}: {}", end.err),
            }
        }
        assert_eq!(read(&log), want, "{words:?}");
    }
    assert!(asked > 0, "nobody was asked");
}

fn found(name: &str) -> String {
    let o = Command::new("which").arg(name).output().expect("which");
    String::from_utf8_lossy(&o.stdout).into_owned()
}

/// A script of steps: nothing of it is skipped, its program is not left behind, and it is said that it
/// cannot be continued.
#[test]
fn a_script_is_not_continued_in_the_middle() {
    let s = Scratch::new("script");
    let exe = steps();
    let text_of = |n: u32| format!("#!/bin/sh\n{0} 20 '' {n}\necho second\n{0} 20\necho third\n", text(&exe));
    let long = script(&s, "long.sh", &text_of(100_000_000));
    for (whom, signal) in [("promp", libc::SIGTERM), ("program", libc::SIGTERM), ("script", libc::SIGKILL)] {
        let dir = s.path("ckpt");
        let _ = fs::remove_dir_all(&dir);
        let promp = started(&mut line(&dir, &RESUME, &[text(&long)]));
        let program = owner(&dir);
        let child = child_of(&promp).expect("a child");
        match whom {
            "promp" => kill(promp.id() as i32, signal),
            "program" => {
                kill(child, signal);
                kill(program, signal)
            }
            _ => {
                kill(child, signal);
                kill(program, libc::SIGTERM)
            }
        }
        let end = ended(promp, LIMIT);
        assert!(!end.hung && is_gone(program), "{whom}: {}", end.err);
        assert!(![0, 85].contains(&end.status), "{whom}: {} {}", end.status, end.err);
        let says = "are those of jobs_steps";
        assert_eq!(end.err.matches(says).count(), 1, "{whom}: {}", end.err);
        let again = limited(line(&dir, &RESUME, &[text(&long)]), LIMIT);
        assert_eq!((again.status, again.out.as_str()), (71, ""), "{whom}: {}", again.err);
        assert!(
            again.err.contains("those of jobs_steps") && again.err.contains("promp restart"),
            "{}",
            again.err
        );
        assert!(has_generation(&dir));
    }
    // One that has ended is not run again, one that has ended with another status is.
    let short = script(&s, "short.sh", &text_of(4000));
    let want = reference(&short, &[], &[]).out;
    for (status, name) in [(0, "short.sh"), (3, "fails.sh")] {
        let path = script(&s, name, &format!("{}exit {status}\n", text_of(4000)));
        let dir = s.path(&format!("ckpt-{status}"));
        let first = limited(line(&dir, &RESUME, &[text(&path)]), LIMIT);
        assert_eq!((first.status, &first.out), (status, &want), "{}", first.err);
        let again = limited(line(&dir, &RESUME, &[text(&path)]), LIMIT);
        assert_eq!(
            (again.status, again.out.as_str()),
            (if status == 0 { 0 } else { 71 }, ""),
            "{}",
            again.err
        );
        let anew = limited(line(&dir, &["--every", "20ms"], &[text(&path)]), LIMIT);
        assert_eq!((anew.status, &anew.out), (status, &want), "{}", anew.err);
    }
}

/// Processes of one run side by side go on without checkpoints, or with them: none is ended, nothing is
/// missing.
#[test]
fn siblings_go_on() {
    let s = Scratch::new("siblings");
    let exe = steps();
    let one = reference(&exe, &["30"], &[]).out;
    let e = text(&exe);
    fs::write(s.path("Makefile"), format!("all: a b c\na b c:\n\t@{e} 30 > $@\n")).expect("a makefile");
    let makefile = s.path("Makefile");
    for (words, times) in [
        (vec!["bash", "-c", "\"$0\" 30 > a & \"$0\" 30 > b & wait; \"$0\" 30 > c", e], 3),
        (vec!["make", "-s", "-j2", "-f", text(&makefile)], 3),
        (vec!["sh", "-c", "printf 'a\\nb\\nc\\n' | xargs -P2 -I{} sh -c \"$0 30 > {}\"", e], 3),
        (vec!["sh", "-c", "(\"$0\" 30 > a; \"$0\" 30 > b) & wait; \"$0\" 30 > c", e], 3),
    ] {
        let dir = s.path("ckpt");
        let _ = fs::remove_dir_all(&dir);
        let mut c = line(&dir, &["--every", "20ms"], &words);
        c.current_dir(&s.0);
        let end = limited(c, LIMIT);
        assert_eq!(end.status, 0, "{words:?}: {}", end.err);
        let names = ["a", "b", "c"];
        names.iter().take(times).for_each(|n| assert_eq!(read(&s.path(n)), one, "{words:?}: {n}"));
        assert!(end.err.matches("promp:").count() <= 1, "{words:?}: {}", end.err);
        names.iter().for_each(|n| drop(fs::remove_file(s.path(n))));
    }
}

/// Who is asked to end leaves nobody behind: not the siblings of who has the checkpoints either.
#[test]
fn siblings_end_where_it_was_asked_for() {
    let s = Scratch::new("asked");
    let exe = steps();
    let e = text(&exe);
    for words in [
        ["bash", "-c", "\"$0\" 1 - 100000 & \"$0\" 1 - 100000 & wait", e],
        ["sh", "-c", "printf '100000\n100000\n' | xargs -P2 -n1 \"$0\" 1 -", e],
        ["sh", "-c", "(\"$0\" 1 - 100000 &) ; \"$0\" 1 - 100000", e],
    ] {
        let dir = s.path("ckpt");
        let _ = fs::remove_dir_all(&dir);
        let mut c = line(&dir, &["--every", "20ms"], &words);
        c.stdout(Stdio::null()).stderr(Stdio::piped());
        let promp = started(&mut c);
        owner(&dir);
        let all = descendants(promp.id());
        assert!(all.len() >= 3, "{words:?}: {all:?}");
        kill(promp.id() as i32, libc::SIGTERM);
        let end = ended(promp, LIMIT);
        assert!(!end.hung, "{words:?}: {}", end.err);
        all.iter().for_each(|&pid| assert!(is_gone(pid as i32), "{words:?}: {pid} is left; {}", end.err));
    }
}

/// What is somebody else's is not touched.
#[test]
fn directories_of_others() {
    let s = Scratch::new("others");
    let exe = steps();
    let words = [text(&exe), "20"];
    for name in ["results.csv", "run", "new-results.csv"] {
        let dir = s.path(name);
        fs::create_dir(&dir).expect("a folder");
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("its mode");
        fs::write(dir.join(name), "mine").expect("a file");
        let _ = fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o600));
        for (options, statuses) in [(&["--resume"][..], [64, 71]), (&[], [64, 64])] {
            let end = limited(line(&dir, options, &words), LIMIT);
            assert!(statuses.contains(&end.status) && end.err.contains(name), "{name}: {}", end.err);
            assert_eq!(fs::read_dir(&dir).expect("the folder").count(), 1, "{name}");
            assert_eq!(read(&dir.join(name)), "mine");
        }
    }
    // An empty one is taken, and its mode changed; that is said.
    let dir = s.path("empty");
    fs::create_dir(&dir).expect("a folder");
    let end = limited(line(&dir, &[], &words), LIMIT);
    assert_eq!(end.status, 0, "{}", end.err);
    assert!(end.err.contains("for its owner alone"), "{}", end.err);
}
