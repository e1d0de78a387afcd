//! The `promp` command as users run it.

use crate::common::*;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

fn cli(args: &[&str], env: &[(&str, &str)]) -> Run {
    let exe = library().with_file_name("promp");
    assert!(exe.exists(), "{} is missing: run `cargo build --release --workspace` first", exe.display());
    let mut c = Command::new(exe);
    c.args(args).envs(env.iter().copied());
    limited(c, LIMIT)
}

#[test]
fn run_passes_everything_through() {
    let exe = build("npb/ep.c", &["-DDYNAMIC=8"]);
    let exe = exe.to_str().unwrap();
    let report = out_dir().join("cli.json");
    let report = report.to_str().unwrap();
    let run = cli(
        &[
            "run",
            "--threads",
            "3",
            "--replay",
            "assume",
            "--fault",
            "kill@thread=1,delay=4ms",
            "--report",
            report,
            "--",
            exe,
            "S",
        ],
        &[],
    );
    assert!(
        run.status == 0 && run.out.contains("successful") && run.err.contains("thread 1 failed"),
        "{run:?}"
    );
    let text = cli(&["report", report], &[]);
    assert!(text.out.contains("recompute") && text.out.contains("kill"), "{text:?}");
    let json = cli(&["report", "--json", report], &[]);
    assert!(json.out.starts_with('{'));
    let exit = build("ft/exit.c", &[]);
    assert_eq!(cli(&["run", exit.to_str().unwrap()], &[]).status, 23);
    assert_eq!(cli(&["run", "sh", "-c", "exit 5"], &[]).status, 5);
    // The name by which it was called, not the file that was found.
    assert_eq!(cli(&["run", "sh", "-c", "echo $0"], &[]).out, "sh\n");
}

#[test]
fn what_cannot_be_run_is_refused_with_a_reason() {
    let dir = out_dir();
    std::fs::create_dir_all(&dir).unwrap();
    let (src, fixed, suid, plain, text) = (
        dir.join("one.c"),
        dir.join("static-one"),
        dir.join("suid-one"),
        dir.join("plain-file"),
        dir.join("text-file"),
    );
    std::fs::write(&src, "int main(void) { return 0; }\n").unwrap();
    let gcc = |args: &[&str], out: &std::path::Path| {
        assert!(Command::new("gcc").args(args).arg("-o").arg(out).arg(&src).status().unwrap().success());
    };
    gcc(&["-static"], &fixed);
    gcc(&[], &suid);
    std::fs::write(&plain, "x").unwrap();
    std::fs::write(&text, "x").unwrap();
    use std::os::unix::fs::PermissionsExt;
    let mode =
        |p: &std::path::Path, m| std::fs::set_permissions(p, std::fs::Permissions::from_mode(m)).unwrap();
    mode(&suid, 0o4755);
    mode(&text, 0o755);
    for (what, status, word) in [
        ("/nonexistent/prog", 127, "no such program"),
        ("no-such-program-anywhere", 127, "not found in PATH"),
        (fixed.to_str().unwrap(), 126, "statically linked"),
        (suid.to_str().unwrap(), 126, "set-user-ID"),
        (plain.to_str().unwrap(), 126, "not executable"),
        (text.to_str().unwrap(), 126, "neither an ELF program nor a script"),
        ("/tmp/", 126, "directory"),
    ] {
        let run = cli(&["run", "--", what], &[]);
        assert!(run.status == status && run.err.contains(word), "{what}: {run:?}");
    }
    let run = cli(&["run", "true"], &[("PROMP_LIBRARY", "/nonexistent/libpromp.so")]);
    assert!(run.status == 69 && run.err.contains("/nonexistent/libpromp.so"), "{run:?}");
    let run = cli(&["run", "true"], &[("PROMP_LIBRARY", text.to_str().unwrap())]);
    assert!(run.status == 69 && run.err.contains("not a library"), "{run:?}");
    assert_eq!(cli(&["run"], &[]).status, 64);
    assert_eq!(cli(&["run", "--threads", "0", "true"], &[]).status, 64);
}

#[test]
fn reports_that_are_none() {
    let dir = out_dir();
    std::fs::create_dir_all(&dir).unwrap();
    let bad = dir.join("bad.json");
    std::fs::write(&bad, "{\"promp\": 1").unwrap();
    let run = cli(&["report", bad.to_str().unwrap()], &[]);
    assert!(run.status == 65 && run.err.contains("bad.json"), "{run:?}");
    assert_eq!(cli(&["report", "/nonexistent.json"], &[]).status, 66);
}

#[test]
fn doctor_man_and_completions() {
    let run = cli(&["doctor"], &[]);
    assert!(run.status == 0 && run.out.contains("kernel") && run.out.contains("processors"), "{run:?}");
    let json: serde_json::Value = serde_json::from_str(&cli(&["doctor", "--json"], &[]).out).unwrap();
    assert!(json.as_array().unwrap().len() > 5);
    assert!(cli(&["man"], &[]).out.contains(".TH promp"));
    assert!(cli(&["completions", "bash"], &[]).out.contains("_promp"));
}

/// `promp ... | head`: nobody reads any more.
#[test]
fn output_that_nobody_reads() {
    for args in [&["doctor"][..], &["man"], &["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut c = Command::new(library().with_file_name("promp"));
        let out =
            c.args(args).stdout(writer).stderr(Stdio::piped()).spawn().and_then(|c| c.wait_with_output());
        let out = out.expect("the command");
        assert_eq!((out.status.signal(), &*out.stderr), (Some(libc::SIGPIPE), &b""[..]), "{args:?}");
    }
}
