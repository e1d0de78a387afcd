//! Archives hold symbolic links that the program has removed since the checkpoint.

use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const STEPS: &str = "400";

fn promp_command(args: &[&str]) -> Run {
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(args);
    limited(c, LIMIT)
}

fn folder(s: &Scratch, name: &str) -> std::path::PathBuf {
    let folder = s.path(name);
    fs::create_dir_all(folder.join("inside")).expect("a folder");
    folder
}

/// Symbolic links that the journal has kept in a checkpoint directory.
fn kept(dir: &Path) -> usize {
    let all = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_kept = |e: &fs::DirEntry| e.file_name().to_string_lossy().starts_with("undo-");
    all.filter(|e| is_kept(e) && e.metadata().is_ok_and(|m| m.is_symlink())).count()
}

/// Killed, exported, imported, restarted, each from what the one before has left: it goes on.
#[test]
fn links_go_with_the_archive() {
    let s = Scratch::new("archived-links");
    let exe = build("ckpt/links.c", &[]);
    let (reference_folder, own) = (folder(&s, "reference"), folder(&s, "own"));
    let want = reference(&exe, &[text(&reference_folder), STEPS], &[THREADS]).out;
    let (out, file) = (s.path("out"), s.path("file"));
    let mut dir = s.path("ckpt");
    let mut links = 0;
    for i in 0..4 {
        let before = promp_image::generation_files(&dir).first().copied().unwrap_or(0);
        let newest = |d: &Path| promp_image::generation_files(d).first().copied().unwrap_or(0);
        let kill = |_: Duration| newest(&dir) >= before + 2 && kept(&dir) >= 4;
        let c = if i == 0 { first_run(&exe, &[text(&own), STEPS], &dir) } else { restart(&dir) };
        let ended = start_with(c, &out, Some(&kill), |_| ());
        assert!(ended.is_none(), "{i}: it has ended: {ended:?} {}", messages(&out));
        links += kept(&dir);
        let run = promp_command(&["export", text(&dir), "-o", text(&file)]);
        assert_eq!(run.status, 0, "{i}: {}", run.err);
        let there = s.path(&format!("there-{i}"));
        let run = promp_command(&["import", text(&file), text(&there)]);
        assert_eq!(run.status, 0, "{i}: {}", run.err);
        assert_eq!(kept(&there), kept(&dir), "{i}");
        fs::remove_dir_all(&dir).expect("removed");
        dir = there;
    }
    assert!(links >= 16, "{links} links were kept");
    let ended = start(restart(&dir), &out, None).expect("it ends");
    assert!(went_well(ended, &messages(&out)), "{}", messages(&out));
    assert_eq!(read(&out), want);
}
