//! Archives, images and live files that were changed, or made to do harm: the command ends soon, says what is
//! wrong, and takes neither the memory nor the disk.

use crate::common::archive::{FORMS, before, begin};
use crate::common::hostile::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A checkpoint directory of a program that was killed, and its archive.
fn saved(s: &Scratch) -> (PathBuf, PathBuf) {
    let (dir, out, file) = (s.path("ckpt"), s.path("out"), s.path("file"));
    let saved = |since| since > Duration::from_millis(200) && has_generation(&dir);
    let ended =
        start_with(first_run(&build("ckpt/elastic.c", &[]), &["100000"], &dir), &out, Some(&saved), |_| ());
    assert!(ended.is_none(), "{}", messages(&out));
    let exported = run(&["export", text(&dir), "-o", text(&file)]);
    assert_eq!(exported.status, 0, "{exported:?}");
    (dir, file)
}

/// An archive that says that it takes `room` bytes on a disk, of one file that has `length` bytes, all the
/// same: four bytes of the archive for 128 KiB.
fn small(form: u32, room: u64, length: u64) -> Vec<u8> {
    const BLOCK: u64 = 128 << 10;
    let (header, inside) = begin(form, room, length);
    // A frame of zstd: magic number, no checksum, a window of a block's size.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    let block = |size: usize, kind: u32| (size as u32) << 3 | kind << 1;
    frame.extend(&block(inside.len(), 0).to_le_bytes()[..3]);
    frame.extend(inside);
    for _ in 0..length.min(20 << 30).div_ceil(BLOCK) {
        frame.extend(&block(BLOCK as usize, 1).to_le_bytes()[..3]);
        frame.push(7);
    }
    [header, frame].concat()
}

#[test]
fn small_files_that_take_a_disk() {
    const MUCH: u64 = 20 << 30;
    let s = Scratch::new("small");
    let (file, dir) = (s.path("file"), s.path("dir"));
    let cases = [
        (1 << 60, 1 << 60, 74, "make room"),
        (1 << 60, MUCH, 74, "make room"),
        (u64::MAX, u64::MAX, 74, "make room"),
        (0, 1, 65, "more than its header says"),
        (1 << 20, MUCH, 65, "more than its header says"),
        (1 << 20, 1 << 62, 65, "more than its header says"),
        (1 << 20, 1 << 19, 65, "truncated"),
    ];
    for (form, (room, length, status, says)) in FORMS.iter().flat_map(|f| cases.map(|c| (*f, c))) {
        let archive = small(form, room, length);
        assert!(archive.len() < 660_000, "{}", archive.len());
        fs::write(&file, archive).expect("a file");
        let run = run(&["import", text(&file), text(&dir)]);
        assert!(run.status == status && run.err.contains(says), "{form} {room} {length}: {run:?}");
        assert!(run.took < Duration::from_secs(20), "{form} {room} {length}: {run:?}");
        assert!(!dir.exists(), "{form} {room} {length}");
    }
}

/// On a small disk: by its size, and under a limit on the size of files.
#[test]
fn no_room_for_an_archive() {
    let s = Scratch::new("no-room");
    let (file, dir) = (s.path("file"), s.path("small/dir"));
    fs::write(&file, small(FORMS[0], 200 << 20, 100 << 20)).expect("a file");
    fs::create_dir(s.path("small")).expect("a folder");
    let mut c = Command::new("unshare");
    clean(&mut c);
    let script =
        "mount -t tmpfs -o size=64m none \"$1\" && \"$2\" import \"$3\" \"$4\"; echo status $?; ls \"$1\"";
    c.args(["--mount", "sh", "-c", script, "sh"]).args([s.path("small"), command(), file.clone(), dir]);
    let ran = limited(c, LIMIT);
    if available("unshare(1), with the right to mount,", !ran.err.contains("unshare: ")) {
        assert!(ran.out == "status 74\n" && ran.err.contains("make room"), "{ran:?}");
    }
    let mut c = Command::new("sh");
    clean(&mut c);
    c.args(["-c", "ulimit -f 1000; exec \"$@\"", "sh"]).args([
        command(),
        "import".into(),
        file,
        s.path("dir"),
    ]);
    let ran = limited(c, LIMIT);
    assert!(ran.status == 74 && ran.err.contains("File too large"), "{ran:?}");
    assert!(!s.path("dir").exists());
}

#[test]
fn archives_that_were_changed() {
    let s = Scratch::new("archives");
    let (_, file) = saved(&s);
    let (good, changed, dir) = (fs::read(&file).expect("a file"), s.path("changed"), s.path("dir"));
    let mut rng = Seeded(11);
    let mut imported = 0;
    let tar = zstd::decode_all(&good[..]).expect("zstd");
    let forms = [before(&good), good];
    for _ in 0..rounds(100) {
        let form = rng.below(3) as usize;
        let good = forms.get(form).unwrap_or(&tar);
        let mut bytes = mutated(good, &[0, 1, 2, 0x28, 0xfd], &mut rng);
        if form == 2 {
            bytes = zstd::encode_all(&bytes[..], 1).expect("zstd");
        } else if rng.below(2) == 0 && bytes.len() > 40 {
            // The header holds: what is behind it is looked at.
            bytes[..40].copy_from_slice(&good[..40]);
        }
        fs::write(&changed, &bytes).expect("a file");
        let run = run(&["import", text(&changed), text(&dir)]);
        assert!([0, 65, 74].contains(&run.status), "{run:?}");
        assert_eq!(run.status == 0, dir.exists(), "{run:?}");
        imported += u32::from(run.status == 0);
        let _ = fs::remove_dir_all(&dir);
    }
    assert!(imported < rounds(100) / 10, "{imported}");
}

fn write(path: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(path);
    fs::write(path, bytes).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a file");
}

/// Files of the directory, of which nothing but the checksums says that they were changed.
#[test]
fn images_that_were_changed() {
    let s = Scratch::new("images");
    let (dir, _) = saved(&s);
    let out = s.path("exported");
    let mut rng = Seeded(13);
    let files: Vec<PathBuf> =
        fs::read_dir(&dir).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    let files: Vec<(Vec<u8>, PathBuf)> =
        files.into_iter().filter(|f| f.is_file()).map(|f| (fs::read(&f).expect("a file"), f)).collect();
    let files: Vec<_> = files.into_iter().filter(|f| !f.0.is_empty()).collect();
    for _ in 0..rounds(60) {
        let (good, path) = rng.pick(&files);
        write(path, &mutated(good, b"0123456789-{}[],:\"\\", &mut rng));
        for args in [&["inspect", "--verify", text(&dir)][..], &["export", text(&dir), "-o", text(&out)]] {
            let run = run(args);
            assert!([0, 65, 66].contains(&run.status), "{}: {run:?}", path.display());
        }
        write(path, good);
    }
}

/// A description in which one value is another one, under a checksum that is right.
fn other(about: &serde_json::Value, rng: &mut Seeded) -> serde_json::Value {
    use serde_json::{Value, json};
    let mut about = about.clone();
    let mut at = &mut about;
    loop {
        let n = match at {
            Value::Array(a) => a.len(),
            Value::Object(o) => o.len(),
            _ => 0,
        } as u64;
        if n == 0 || (n > 1 && at.is_array() && rng.below(8) == 0) {
            break;
        }
        let i = rng.below(n) as usize;
        at = match at {
            Value::Array(a) => &mut a[i],
            Value::Object(o) => o.values_mut().nth(i).expect("as many"),
            _ => break,
        };
    }
    *at = match &*at {
        Value::Array(a) => {
            Value::Array(if rng.below(2) == 0 { Vec::new() } else { [&a[..], &a[..]].concat() })
        }
        Value::String(_) => {
            json!(*rng.pick(&["", "/", "/dev/zero", "../../x", "/proc/self/mem", "a\u{1b}[2J"]))
        }
        Value::Bool(b) => json!(!b),
        _ => rng
            .pick(&[
                json!(0),
                json!(1),
                json!(-1),
                json!(u64::MAX),
                json!(1u64 << 47),
                json!(null),
                json!(3.5),
            ])
            .clone(),
    };
    about
}

/// Who forges an image is obeyed, for it is a program; but the command says what it can, and a restart ends
/// at worst. By a user who is nobody, where that is possible: what a restart does then is the image's affair.
#[test]
fn images_that_were_forged() {
    let s = Scratch::new("forged");
    fs::set_permissions(&s.0, fs::Permissions::from_mode(0o755)).expect("our folder");
    let (dir, _) = saved(&s);
    let number = promp_image::generation_files(&dir)[0];
    let good = promp_image::Directory::open(&dir).and_then(|d| d.read(number)).expect("a checkpoint");
    let json = serde_json::to_value(&good.about).expect("plain data");
    let path = dir.join(format!("gen-{number}"));
    let mut rng = Seeded(17);
    let (mut seen, mut restarted) = (0, 0);
    // SAFETY: no pointers.
    let root = unsafe { libc::geteuid() } == 0;
    let may_restart = available("root, to be somebody else,", root);
    while seen < rounds(60) {
        let Ok(about) = serde_json::from_value(other(&json, &mut rng)) else { continue };
        write(&path, &promp_image::encode(number, &about, &good.index, promp_image::Sums::Inside));
        for args in [&["inspect", "--verify", text(&dir)][..], &["inspect", "--json", text(&dir)]] {
            let run = run(args);
            assert!([0, 65, 66].contains(&run.status), "{about:?}: {run:?}");
        }
        if may_restart && seen % 4 == 0 {
            restart_as_nobody(&s, &dir);
            restarted += 1;
        }
        seen += 1;
    }
    eprintln!("{seen} forged, {restarted} restarted");
}

/// The restart ends, or is ended soon; in a copy of the directory, which is another user's.
fn restart_as_nobody(s: &Scratch, dir: &Path) {
    const NOBODY: u32 = 64003;
    let copy = s.path("copy");
    let _ = fs::remove_dir_all(&copy);
    fs::create_dir(&copy).expect("a folder");
    let own = |p: &Path, mode| {
        fs::set_permissions(p, fs::Permissions::from_mode(mode)).expect("a file");
        std::os::unix::fs::chown(p, Some(NOBODY), Some(NOBODY)).expect("we are root");
    };
    for e in fs::read_dir(dir).expect("a folder").flatten().filter(|e| e.path().is_file()) {
        let to = copy.join(e.file_name());
        fs::copy(e.path(), &to).expect("a file");
        own(&to, 0o600);
    }
    own(&copy, 0o700);
    let mut c = Command::new("timeout");
    clean(&mut c);
    let script = "ulimit -c 0; cd /; exec setpriv --reuid=64003 --regid=64003 --clear-groups \"$@\"";
    c.args(["-s", "KILL", "2", "sh", "-c", script, "sh"]).arg(command()).arg("restart").arg(&copy);
    let run = limited(c, LIMIT);
    assert!(!run.hung, "{run:?}");
}
