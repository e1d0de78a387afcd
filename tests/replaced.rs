//! What is opened again is the file that it was: where others may write to a folder, they may put links,
//! pipes or other files there, and neither a restart nor a rollback writes, cuts, makes or removes anything
//! by them.

use crate::common::saved::*;
use crate::common::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PRECIOUS: &str = "precious\n";

/// What others do with the program's folder, when the program is dead.
type Attack = fn(&Path, &Scratch);

/// The regular files in `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    all.filter(|p| fs::symlink_metadata(p).is_ok_and(|m| m.is_file())).collect()
}

/// A file that nobody shall change.
fn precious(s: &Scratch, i: usize) -> PathBuf {
    let path = s.path("precious").join(i.to_string());
    fs::write(&path, PRECIOUS).expect("a file");
    path
}

fn links(folder: &Path, s: &Scratch) {
    for (i, f) in files(folder).iter().enumerate() {
        let there = precious(s, i);
        fs::remove_file(f).expect("a file");
        symlink(there, f).expect("a link");
    }
}

fn second_names(folder: &Path, s: &Scratch) {
    for (i, f) in files(folder).iter().enumerate() {
        let there = precious(s, i);
        fs::remove_file(f).expect("a file");
        fs::hard_link(there, f).expect("a name");
    }
}

fn links_to_nothing(folder: &Path, s: &Scratch) {
    for (i, f) in files(folder).iter().enumerate() {
        fs::remove_file(f).expect("a file");
        symlink(s.path("precious").join(format!("none-{i}")), f).expect("a link");
    }
}

fn pipes(folder: &Path, _: &Scratch) {
    for f in files(folder) {
        fs::remove_file(&f).expect("a file");
        let name = std::ffi::CString::new(text(&f)).expect("a name");
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o666) }, 0);
    }
}

/// The folder leads to another one, which has files of the same names.
fn the_folder(folder: &Path, s: &Scratch) {
    for (i, f) in files(folder).iter().enumerate() {
        let from = precious(s, i);
        fs::rename(from, s.path("precious").join(f.file_name().expect("a name"))).expect("a file");
    }
    fs::rename(folder, folder.with_extension("before")).expect("the folder");
    symlink(s.path("precious"), folder).expect("a link");
}

fn nothing(_: &Path, _: &Scratch) {}

#[test]
fn what_others_have_put_there_is_left_alone() {
    let s = Scratch::new("replaced");
    let (dir, out, outer) = (s.path("ckpt"), s.path("out"), s.path("open"));
    let attacks: [(&str, Attack); 6] = [
        ("nothing", nothing),
        ("links", links),
        ("second names", second_names),
        ("links to nothing", links_to_nothing),
        ("pipes", pipes),
        ("the folder", the_folder),
    ];
    for (source, steps) in [("ckpt/files.c", "60"), ("ckpt/updates.c", "150"), ("ckpt/names.c", "200")] {
        let exe = build(source, &[]);
        for (what, attack) in attacks {
            for d in [&outer, &s.path("precious")] {
                let _ = fs::remove_dir_all(d);
                fs::create_dir(d).expect("a folder");
            }
            let folder = outer.join("files");
            fs::create_dir(&folder).expect("a folder");
            let input: String = (0..60).map(|i| format!("{}\n", i * 37 % 11)).collect();
            fs::write(folder.join("input"), input).expect("the input");
            let _ = (fs::remove_dir_all(&dir), fs::remove_file(&out));
            let c = first_run(&exe, &[text(&folder), steps, "5"], &dir);
            let saved = |since| since > Duration::from_millis(300) && has_generation(&dir);
            if start_with(c, &out, Some(&saved), |_| ()).is_some() {
                continue;
            }
            // Everybody may write there, as in many a shared folder.
            for d in [&outer, &folder] {
                fs::set_permissions(d, Permissions::from_mode(0o777)).expect("our folder");
            }
            attack(&folder, &s);
            let before = files(&s.path("precious")).len();
            let ended = start(restart(&dir), &out, None);
            let err = messages(&out);
            let kept = files(&s.path("precious"));
            assert_eq!(kept.len(), before, "{source}, {what}: {kept:?} {err}");
            for f in kept {
                let content = fs::read(&f).expect("a file");
                assert!(
                    content == PRECIOUS.as_bytes(),
                    "{source}, {what}: {} was changed; {err}",
                    f.display()
                );
            }
            let code = ended.and_then(|e| e.code());
            match what {
                "nothing" => assert_eq!(code, Some(0), "{source}: {err}"),
                _ => assert_eq!(code, Some(71), "{source}, {what}: {err}"),
            }
        }
    }
}

/// Where nobody else may write, another file of that name is the user's own affair.
#[test]
fn what_the_user_has_put_there_is_used() {
    let s = Scratch::new("own");
    let (dir, out, folder) = (s.path("ckpt"), s.path("out"), s.path("files"));
    let exe = build("ckpt/files.c", &[]);
    fs::create_dir(&folder).expect("a folder");
    let input: String = (0..60).map(|i| format!("{}\n", i * 37 % 11)).collect();
    fs::write(folder.join("input"), input).expect("the input");
    let want = reference(&exe, &[text(&folder), "60", "5"], &[THREADS]);
    let c = first_run(&exe, &[text(&folder), "60", "5"], &dir);
    let saved = |since| since > Duration::from_millis(200) && has_generation(&dir);
    assert!(start_with(c, &out, Some(&saved), |_| ()).is_none(), "it has ended: {}", messages(&out));
    let copies: Vec<_> = files(&folder).into_iter().map(|f| (fs::read(&f).expect("a file"), f)).collect();
    for (content, f) in copies {
        fs::remove_file(&f).expect("a file");
        fs::write(&f, content).expect("a file");
    }
    let ended = start(restart(&dir), &out, None).expect("it ends");
    assert!(ended.success(), "{}", messages(&out));
    assert_eq!(read(&out), want.out);
}

/// Whoever writes a file that takes another's place does it by crates/files, or, where only system calls may
/// be made, in a directory of promp's own.
#[test]
fn files_take_places_in_one_way() {
    const OWN: [&str; 2] = ["crates/store/src/end_record_file.rs", "crates/store/src/write.rs"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("checks/ is in it");
    let mut left: Vec<PathBuf> = ["src", "cli/src", "crates"].map(|d| root.join(d)).into();
    let mut found = 0;
    while let Some(path) = left.pop() {
        if path.file_name().is_some_and(|n| n == "tests.rs" || n == "tests") || path.ends_with("crates/files")
        {
            continue;
        }
        if path.is_dir() {
            left.extend(fs::read_dir(&path).expect("a folder").map(|e| e.expect("an entry").path()));
            continue;
        }
        let whole = read(&path);
        let code = whole.split("#[cfg(test)]").next().unwrap_or_default();
        let name = text(path.strip_prefix(root).expect("below it"));
        let renames =
            ["fs::rename(", "sys!(libc::SYS_rename", "libc::rename("].iter().any(|w| code.contains(w));
        let noted = name.starts_with("crates/ckpt/src/resources/journal/");
        assert!(!renames || noted || OWN.contains(&name), "{name} renames files by itself");
        assert!(!code.contains("temp_dir().join("), "{name} makes a temporary file by a name of its own");
        found += usize::from(renames);
    }
    assert!(found >= OWN.len(), "{found}");
}
